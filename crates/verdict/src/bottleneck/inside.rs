//! Where operations are while no sampled resource says why they take longer. By Little's law as many are inside a server as
//! come to it each second, times the time that it says they took: what is added beyond the knee of the throughput is inside
//! the part that limits it, and inside all that wait for this part.

use std::collections::BTreeMap;

use cosmark_archive::StageRecord;
use cosmark_capacity::ladder::Ladder;
use cosmark_metrics::NodeResult;
use cosmark_metrics::nodes::quantity as q;
use cosmark_metrics::nodes::server_time::{self, ServerTime};

use super::measuring;

const PROXY: &str = "Swift proxy";
const OBJECTS: &str = "Swift object server";
const OSD: &str = "Ceph OSD";
/// Servers from the outermost on: each waits for those behind it.
const SERVERS: [&str; 4] = [PROXY, "Ceph gateway", OBJECTS, OSD];
/// The share of what was added that is most of it.
const MOST: f64 = 0.5;
/// Fewer operations more, and not so many times as many, say nothing.
const LEAST_ADDED: f64 = 1.0;
const LEAST_TIMES: f64 = 2.0;
/// Of fewer daemons one always has much of it.
const LEAST_DAEMONS: usize = 3;

/// In which servers the operations are that were under way at the highest load, and not at the lowest; `None` where no server tells
/// its times, or none has most of them.
pub(super) fn inside(ladder: &Ladder, stages: &[&StageRecord]) -> Option<String> {
    let order = ladder.order();
    let (first, last) = (*order.first()?, *order.last()?);
    let (low, high) = (stages.get(first)?, stages.get(last)?);
    let (few, many) = (ladder.steps.get(first)?.in_flight, ladder.steps.get(last)?.in_flight);
    let added = many - few;
    if added < LEAST_ADDED || many < few * LEAST_TIMES {
        return None;
    }
    let (before, after) = (of_servers(low), of_servers(high));
    // One that is served by several requests at once is inside once.
    let more = |server: &str| Some((after.get(server)? - before.get(server)?).clamp(0.0, added));
    let grown: Vec<(&str, f64)> =
        SERVERS.into_iter().filter_map(|server| Some((server, more(server)?))).collect();
    let (innermost, _) = *grown.iter().rfind(|(_, more)| *more >= MOST * added)?;
    let daemon = if innermost == OSD { slowest(&low.nodes, &high.nodes) } else { None };
    let there =
        daemon.map_or_else(|| innermost.to_owned(), |daemon| format!("{innermost}, most of all {daemon},"));
    // The time of an HTTP server has that of the bodies in it, from and to the client as well.
    let has_bodies = innermost != OSD && ladder.steps.get(last)?.bytes_each > 0.0;
    let links = if has_bodies { " and the links that bodies come and go by" } else { "" };
    let each: Vec<String> = grown.iter().map(|(server, more)| format!("{more:.0} inside {server}")).collect();
    Some(format!(
        "of {added:.0} more operations under way at the highest load than at the lowest there are, by the servers' own times, {}: \
         look at {there} first, and at what is behind it{links}",
        each.join(" and ")
    ))
}

/// How many operations are inside each kind of server. What tells several times of it tells the whole by the longest.
fn of_servers(stage: &StageRecord) -> BTreeMap<&'static str, f64> {
    let times = server_time::of_stage(&stage.nodes);
    let mut by_way: BTreeMap<(&'static str, &'static str, &str), f64> = BTreeMap::new();
    for one in &times {
        let Some(copies) = copies(stage, &times, one) else { continue };
        let inside = one.requests_per_s * one.mean_ms / 1e3 / copies;
        *by_way.entry((one.server, one.of, one.source.as_str())).or_default() += inside;
    }
    let mut found = BTreeMap::new();
    for ((server, ..), inside) in by_way {
        let most = found.entry(server).or_insert(0.0_f64);
        *most = most.max(inside);
    }
    found
}

/// How many requests a server gets at once for each operation: a proxy of Swift writes and deletes all copies at the same time.
/// `None` where it is not known how many operations there are.
fn copies(stage: &StageRecord, times: &[ServerTime], one: &ServerTime) -> Option<f64> {
    if one.server != OBJECTS {
        return Some(1.0);
    }
    let proxies = times.iter().filter(|other| other.server == PROXY && other.sample == one.sample);
    let by_proxies = proxies.map(|other| other.requests_per_s).fold(0.0, f64::max);
    let by_clients: f64 =
        measuring(stage).filter(|op| op.op == one.sample).filter_map(|op| op.throughput_per_s).sum();
    let operations = if by_proxies > 0.0 { by_proxies } else { by_clients };
    (operations > 0.0).then(|| (one.requests_per_s / operations).max(1.0))
}

/// The OSD in which most of what was added is, where one has it.
fn slowest(low: &[NodeResult], high: &[NodeResult]) -> Option<String> {
    let grown = |kinds: &[&str]| -> Vec<(String, f64)> {
        let before = of_osds(low, kinds);
        let more = |(osd, inside): (String, f64)| {
            let more = inside - before.get(&osd).copied().unwrap_or(0.0);
            (osd, more.max(0.0))
        };
        of_osds(high, kinds).into_iter().map(more).collect()
    };
    let total = |all: &[(String, f64)]| all.iter().map(|one| one.1).sum::<f64>();
    // A write lasts as long as its slowest copy, whichever OSD it came to.
    let own = grown(&["read", "copy"]);
    let all = if total(&own) >= LEAST_ADDED { own } else { grown(&["write"]) };
    let enough = LEAST_ADDED.max(MOST * total(&all));
    let (osd, more) = all.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (all.len() >= LEAST_DAEMONS && *more >= enough).then(|| osd.clone())
}

/// How many operations of these kinds are inside each OSD. One that is read in several ways counts once.
fn of_osds(nodes: &[NodeResult], kinds: &[&str]) -> BTreeMap<String, f64> {
    let mut by_kind: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    let all = nodes.iter().flat_map(|node| &node.quantities);
    for one in all.filter(|one| one.quantity == q::SERVER_REQUEST_TIME.id) {
        let Some((daemon, kind)) = one.unit.rsplit_once(' ') else { continue };
        if daemon.starts_with("osd.") && kinds.contains(&kind) {
            let most = by_kind.entry((daemon, kind)).or_insert(0.0);
            *most = most.max(one.mean);
        }
    }
    let mut found = BTreeMap::new();
    for ((daemon, _), inside) in by_kind {
        *found.entry(daemon.to_owned()).or_insert(0.0) += inside;
    }
    found
}
