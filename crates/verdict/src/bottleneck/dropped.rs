//! Connections and packets that are dropped while nothing that is looked at is full: a queue of connections that is too short, a
//! server that has no worker or no file left to accept them, a link or a policer on the way. Whoever is dropped tries again after
//! a time in which nothing is busy.

use cosmark_archive::StageRecord;
use cosmark_capacity::ladder::Ladder;
use cosmark_metrics::NodeResult;
use cosmark_metrics::nodes::quantity::{self as q, Quantity};

use super::real;

/// Fewer a second, and not so many times as many as at the lowest load, hold nobody up.
const LEAST_PER_S: f64 = 1.0;
const LEAST_TIMES: f64 = 2.0;
/// Nor do segments that are sent again while they are a smaller share of all.
const RESENT: f64 = 0.01;
/// So many are named.
const SHOWN: usize = 3;

/// What is dropped at the highest load, and not at the lowest; `None` where nothing is.
pub(super) fn dropped(ladder: &Ladder, stages: &[&StageRecord]) -> Option<String> {
    let order = ladder.order();
    let (low, high) = (stages.get(*order.first()?)?, stages.get(*order.last()?)?);
    let before = |node: &NodeResult| low.nodes.iter().find(|one| one.name == node.name);
    let refused = high.nodes.iter().filter_map(|node| {
        let per_s = of(node, &q::TCP_LISTEN_DROPS);
        let was = before(node).map_or(0.0, |node| of(node, &q::TCP_LISTEN_DROPS));
        (per_s >= LEAST_PER_S && per_s >= LEAST_TIMES * was)
            .then(|| format!("{per_s:.0}/s on {} ({})", node.name, node.role))
    });
    let resent = high.nodes.iter().filter_map(|node| {
        let was = before(node).map_or(0.0, |node| again(node).0);
        Some(again(node))
            .filter(|now| is_more(*now, was))
            .map(|(share, _)| format!("{:.1} % of those of {} ({})", share * 100.0, node.name, node.role))
    });
    let by_clients = Some(again_by_clients(high))
        .filter(|now| is_more(*now, again_by_clients(low).0))
        .map(|(share, _)| format!("{:.1} % of those of the client", share * 100.0));
    let refused: Vec<String> = refused.take(SHOWN).collect();
    let resent: Vec<String> = by_clients.into_iter().chain(resent).take(SHOWN).collect();
    let refused = (!refused.is_empty()).then(|| {
        format!(
            "connections were dropped as a queue of those that wait to be accepted was full, {}: look at its length (backlog), and at \
             what accepts them (workers, files that may be open)",
            refused.join(" and ")
        )
    });
    let resent = (!resent.is_empty()).then(|| {
        format!(
            "segments were sent again, {}: look for a link, a policer or a rule on the way that drops packets",
            resent.join(" and ")
        )
    });
    let all: Vec<String> = refused.into_iter().chain(resent).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn is_more((share, per_s): (f64, f64), was: f64) -> bool {
    share >= RESENT && per_s >= LEAST_PER_S && share >= LEAST_TIMES * was
}

fn of(node: &NodeResult, row: &Quantity) -> f64 {
    node.quantities.iter().filter(|one| one.quantity == row.id).map(|one| one.mean).sum()
}

/// Of the segments that a machine sent, what was sent again, and how many a second.
fn again(node: &NodeResult) -> (f64, f64) {
    let (resent, sent) = (of(node, &q::TCP_RESENT), of(node, &q::TCP_SENT));
    (if sent > 0.0 { resent / sent } else { 0.0 }, resent)
}

/// The same of the connections of all clients to the store.
fn again_by_clients(stage: &StageRecord) -> (f64, f64) {
    let known = || stage.clients.iter().filter(|one| one.seconds > 0.0);
    let resent: f64 = known().filter_map(|one| one.tcp_retransmitted).map(real).sum();
    let sent: f64 = known().filter_map(|one| one.tcp_segments_out).map(real).sum();
    let per_s = known().map(|one| real(one.tcp_retransmitted.unwrap_or(0)) / one.seconds).sum();
    (resent / sent.max(1.0), per_s)
}
