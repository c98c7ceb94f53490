//! The machines of the store: looked at while a run goes on here, and shown beside its results.

use std::collections::BTreeMap;

use cosmark_archive::{RunRecord, StageRecord};
use cosmark_controller::{NodesOfRun, StopLevel};
use cosmark_metrics::nodes::{costs, skew};
use cosmark_metrics::{NodeResult, ResourceKind, UnitResult, Waiting};
use cosmark_nodes::source::Source;
use cosmark_nodes::watch::{Agent, NodeWatch};
use cosmark_workload::Workload;
use cosmark_workload::model::ConfigValue;
use cosmark_workload::model::nodes::NodeSpec;
use tokio::sync::watch::Receiver;

use crate::exit::Problem;
use crate::fit::{self, Column};
use crate::paint::Ink;
use crate::screen::room;
use crate::units;

/// What is wrong with the nodes of a workload, as far as that can be known before references to secrets are resolved.
///
/// # Errors
/// The first mistake.
pub fn check(workload: &Workload) -> Result<(), Problem> {
    let known = |node: &&NodeSpec| {
        node.source.config.entries.iter().all(|entry| matches!(entry.value, ConfigValue::Text(_)))
    };
    let found = workload.nodes.iter().filter(known).try_for_each(|node| Source::of(node).map(|_| ()));
    found.map_err(Problem::usage)
}

/// Looks at the machines of a workload, and at those that agents read, from here on, and at how busy they are without its load;
/// `None` where there are none.
///
/// # Errors
/// For a node that cannot be read.
pub async fn watch(
    workload: &Workload,
    agents: Vec<Agent>,
    mut stop: Receiver<StopLevel>,
    quiet: bool,
) -> Result<Option<(NodeWatch, NodesOfRun)>, Problem> {
    if workload.nodes.is_empty() && agents.is_empty() {
        return Ok(None);
    }
    let count = workload.nodes.len() + agents.len();
    let watch = NodeWatch::start_with(&workload.nodes, agents).map_err(Problem::usage)?;
    if !quiet {
        let nodes = units::count(count as u64, "node");
        eprintln!("cosmark: looking at {nodes} before the load");
    }
    let idle = watch.rest(stop.changed()).await;
    watch.troubles().iter().for_each(|trouble| eprintln!("cosmark: {trouble}"));
    let nodes = NodesOfRun { idle, seen: Box::new(watch.figures()) };
    Ok(Some((watch, nodes)))
}

/// Of more rows than these only the stage with the highest rate is shown.
const MOST_ROWS: usize = 12;

/// The machines beside the results, and what limits the store; empty without nodes.
#[must_use]
pub fn text(record: &RunRecord) -> String {
    let mut stages: Vec<&StageRecord> =
        record.stages.iter().filter(|stage| !stage.nodes.is_empty()).collect();
    if stages.is_empty() {
        return String::new();
    }
    let rows: usize = stages.iter().map(|stage| stage.nodes.len()).sum();
    let mut lines = Vec::new();
    if rows > MOST_ROWS && stages.len() > 1 {
        let rate =
            |stage: &StageRecord| stage.operations.iter().filter_map(|op| op.throughput_per_s).sum::<f64>();
        stages.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
        stages.truncate(1);
        lines.push(format!("the store's machines at the highest rate ({} has all stages):", "run.json"));
    } else {
        lines.push("the store's machines:".to_owned());
    }
    let silent = stages.iter().flat_map(|stage| &stage.nodes).filter(|node| says_nothing(node)).count();
    if silent < stages.iter().map(|stage| stage.nodes.len()).sum::<usize>() {
        lines.push(table(room(), &stages));
    }
    if silent > 0 {
        let rows = units::count(silent as u64, "row");
        lines.push(format!("{rows} without any figure left out"));
    }
    lines.extend(stages.iter().filter_map(|stage| costs(stage)));
    lines.extend(troubles(&stages));
    lines.extend(stages.iter().flat_map(|stage| uneven(record, stage)));
    for found in &record.bottlenecks {
        lines.push(format!("limit: {}", found.text));
        lines.extend(found.second.iter().map(|text| format!("  {text}")));
        lines.extend(found.refute.iter().map(|text| format!("  to refute: {text}")));
        lines.extend(found.skewed.iter().map(|text| format!("  {text}")));
    }
    if record.bottlenecks.is_empty() {
        lines.push("limit: not named from a single load; run the same load at three or more rates (search:, matrix:)".into());
    }
    lines.join("\n")
}

/// Processors and the busiest disk stay where the terminal is narrow.
const COLUMNS: &[Column] = &[
    Column::text("stage").least(8),
    Column::text("node").least(12),
    Column::number("CPU"),
    Column::number("busiest core").goes(2),
    Column::number("waiting").goes(4),
    Column::number("busiest disk"),
    Column::number("network").goes(3),
    Column::number("speed").goes(1),
];

fn table(room: Option<usize>, stages: &[&StageRecord]) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for stage in stages {
        for (at, node) in stage.nodes.iter().filter(|node| !says_nothing(node)).enumerate() {
            let stage_name = if at == 0 { stage.name.clone() } else { String::new() };
            let left = [stage_name, format!("{} ({})", node.name, node.role)];
            rows.push(left.into_iter().chain(figures(node)).collect());
        }
    }
    fit::table_in(room, COLUMNS, &rows, |_, _| Ink::Plain)
}

/// A machine of which no figure is known: a row of dashes.
fn says_nothing(node: &NodeResult) -> bool {
    figures(node).iter().all(|text| text == DASH)
}

/// What stands where nothing is known.
const DASH: &str = "-";

fn figures(node: &NodeResult) -> [String; 6] {
    let of = |kind: ResourceKind| node.units.iter().filter(move |unit| unit.kind == kind);
    let busiest = |kind: ResourceKind| of(kind).max_by(|a, b| a.busy.total_cmp(&b.busy));
    let dash = || DASH.to_owned();
    let named = |unit: Option<&UnitResult>| {
        unit.map_or_else(dash, |unit| format!("{} {}", unit.name, share(unit.busy)))
    };
    let machine = busiest(ResourceKind::Machine);
    let disk = busiest(ResourceKind::Disk).map(|disk| match disk.waiting {
        Some(Waiting::Queue(queue)) => format!("{} {}, queue {queue:.1}", disk.name, share(disk.busy)),
        _ => format!("{} {}", disk.name, share(disk.busy)),
    });
    let link = [ResourceKind::NetworkReceive, ResourceKind::NetworkTransmit].into_iter().filter_map(busiest);
    let link = link.max_by(|a, b| a.busy.total_cmp(&b.busy));
    let moved = moved_most(node);
    [
        machine.map_or_else(dash, |unit| share(unit.busy)),
        named(busiest(ResourceKind::Core)),
        machine.and_then(|unit| unit.waiting).map_or_else(dash, waiting),
        disk.unwrap_or_else(dash),
        if moved > 0.0 { units::bandwidth(moved) } else { dash() },
        named(link),
    ]
}

/// Bytes per second of the link that moves most, both directions. All links together would have twice what goes through
/// a pair, a bridge or a VLAN, and through the links that these lie on.
fn moved_most(node: &NodeResult) -> f64 {
    let mut links: BTreeMap<&str, f64> = BTreeMap::new();
    for one in &node.quantities {
        if ["network_received_bytes", "network_sent_bytes"].contains(&one.quantity.as_str()) {
            *links.entry(one.unit.as_str()).or_insert(0.0) += one.mean;
        }
    }
    links.into_values().fold(0.0, f64::max)
}

/// What a stage cost all machines, in one line.
fn costs(stage: &StageRecord) -> Option<String> {
    let all = costs::shown(&stage.nodes, &stage.clients, &stage.operations);
    let said = all.into_iter().map(|(cost, value)| {
        let unit = cost.unit.sign();
        format!("{} {}{unit}", cost.title, units::ms(value))
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| format!("{}: {}", stage.id, said.join(", ")))
}

/// Units of a single load that are much busier than others like them; of the steps of a ladder it is said with its limit.
fn uneven(record: &RunRecord, stage: &StageRecord) -> Vec<String> {
    let is_step = record.bottlenecks.iter().any(|found| found.stages.contains(&stage.id));
    if is_step {
        return Vec::new();
    }
    let found = skew::of_stage(&stage.nodes, &record.idle_nodes, &stage.clients);
    found.into_iter().map(|(_, text)| format!("{}: {text}", stage.id)).collect()
}

fn waiting(waiting: Waiting) -> String {
    match waiting {
        Waiting::Queue(tasks) => format!("{tasks:.1} tasks"),
        Waiting::Share(part) => format!("{} of the time", share(part)),
        Waiting::Events(rate) => format!("{rate:.0}/s"),
    }
}

fn share(part: f64) -> String {
    format!("{:.0} %", part * 100.0)
}

/// Machines whose figures are missing, old, or from before a restart.
fn troubles(stages: &[&StageRecord]) -> Vec<String> {
    let mut said = Vec::new();
    for stage in stages {
        for node in &stage.nodes {
            let place = format!("{}: node {}", stage.id, node.name);
            if let Some(why) = &node.lost {
                said.push(format!("{place}: {why}"));
            } else if node.readings < 2 {
                said.push(format!(
                    "{place}: {} in the window: no figures",
                    units::count(node.readings, "reading")
                ));
            }
            if !node.is_covered() && node.readings >= 2 {
                let seen = share(node.covered_share.unwrap_or(0.0));
                said.push(format!("{place}: seen in {seen} of the window: no limit is looked for there"));
            }
            if let Some(age) = node.renewed_every_s.filter(|age| *age > OLD_S) {
                said.push(format!("{place}: its figures are renewed every {age:.0} s only"));
            }
            if node.resets > 0 {
                said.push(format!(
                    "{place}: {} began anew: it was restarted",
                    units::count(node.resets, "counter")
                ));
            }
        }
    }
    said
}

/// Figures that are renewed more rarely are said to be old.
const OLD_S: f64 = 4.0;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use cosmark_metrics::{BottleneckResult, QuantityResult};
    use serde_json::json;

    #[test]
    fn machines_without_figures_are_counted_and_no_rows_of_dashes() {
        let busy = UnitResult {
            kind: ResourceKind::Disk,
            name: "sda".to_owned(),
            busy: 0.5,
            highest_busy: 0.5,
            waiting: None,
        };
        let node = |name: &str, units: Vec<UnitResult>| NodeResult {
            name: name.to_owned(),
            role: "storage".to_owned(),
            readings: 9,
            units,
            ..NodeResult::default()
        };
        let mut record: RunRecord = serde_json::from_value(json!({"schema": 1, "cosmark": "0", "id": "w1", "name": "n",
            "description": null, "state": "finished", "reason": null, "seed": 1, "submitted": null, "started": null,
            "ended": null, "process": null}))
        .unwrap();
        let mut stage: StageRecord =
            serde_json::from_value(json!({"id": "s1-main", "name": "main", "state": "completed"})).unwrap();
        stage.nodes = vec![node("dumb1", vec![]), node("talks", vec![busy]), node("dumb2", vec![])];
        record.stages = vec![stage];
        let said = text(&record);
        assert!(said.contains("talks (storage)") && said.contains("main"), "{said}");
        assert!(!said.contains("dumb1 (storage)") && !said.contains("dumb2 (storage)"), "{said}");
        assert!(said.contains("2 rows without any figure left out"), "{said}");
        record.stages[0].nodes.remove(1);
        let said = text(&record);
        assert!(!said.contains("busiest disk") && said.contains("2 rows without"), "{said}");
    }

    #[test]
    fn one_hot_disk_of_36_is_a_line_below_a_single_load_and_said_once_of_a_ladder() {
        let disk = |at: usize, busy: f64| UnitResult {
            kind: ResourceKind::Disk,
            name: format!("sd{}", char::from(b'a' + u8::try_from(at).unwrap())),
            busy,
            highest_busy: busy,
            waiting: None,
        };
        let node = |name: &str, hot: Option<usize>| NodeResult {
            name: name.to_owned(),
            role: "storage".to_owned(),
            readings: 9,
            units: (0..12).map(|at| disk(at, if hot == Some(at) { 0.9 } else { 0.1 })).collect(),
            ..NodeResult::default()
        };
        let mut record: RunRecord = serde_json::from_value(json!({"schema": 1, "cosmark": "0", "id": "w1", "name": "n",
            "description": null, "state": "finished", "reason": null, "seed": 1, "submitted": null, "started": null,
            "ended": null, "process": null}))
        .unwrap();
        let mut stage: StageRecord =
            serde_json::from_value(json!({"id": "s1-main", "name": "main", "state": "completed"})).unwrap();
        stage.nodes = vec![node("s1", None), node("s2", None), node("s3", Some(6))];
        record.stages = vec![stage];
        let said = |record: &RunRecord| text(record).matches("the load is not spread").count();
        assert!(text(&record).contains("s1-main: disk sdg of s3 (storage) is "), "{}", text(&record));
        assert_eq!(said(&record), 1);
        let step = BottleneckResult { stages: vec!["s1-main".to_owned()], ..BottleneckResult::default() };
        record.bottlenecks = vec![step];
        assert_eq!(said(&record), 0);
        record.bottlenecks.clear();
        record.stages[0].nodes[2] = node("s3", None);
        assert_eq!(said(&record), 0);
    }

    #[test]
    fn what_a_pair_of_links_moves_stands_there_once() {
        let one = |quantity: &str, unit: &str, mean: f64| QuantityResult {
            quantity: quantity.to_owned(),
            unit: unit.to_owned(),
            mean,
            highest: mean,
        };
        let link = |unit: &str, received: f64, sent: f64| {
            [one("network_received_bytes", unit, received), one("network_sent_bytes", unit, sent)]
        };
        let pair = [link("bond0", 4e6, 2e6), link("eth0", 2e6, 1e6), link("eth1", 2e6, 1e6)];
        let on_it = [link("bond0.7", 4e6, 2e6), link("br0", 4e6, 2e6), link("veth1a", 1e6, 4e6)];
        let quantities = pair.into_iter().chain(on_it).flatten().collect();
        let node = NodeResult { readings: 9, quantities, ..NodeResult::default() };
        assert_eq!(figures(&node)[4], units::bandwidth(6e6));
        assert_eq!(figures(&NodeResult::default())[4], DASH);
    }

    #[test]
    fn machines_fit_from_forty_columns_on() {
        let unit = |kind: ResourceKind, name: &str, waiting: Option<Waiting>| UnitResult {
            kind,
            name: name.to_owned(),
            busy: 0.97,
            highest_busy: 1.0,
            waiting,
        };
        let node = NodeResult {
            name: "storage-with-a-long-name".to_owned(),
            role: "storage".to_owned(),
            readings: 9,
            units: vec![
                unit(ResourceKind::Machine, "machine", Some(Waiting::Share(0.61))),
                unit(ResourceKind::Core, "cpu3", None),
                unit(ResourceKind::Disk, "nvme0n1", Some(Waiting::Queue(3.2))),
                unit(ResourceKind::NetworkReceive, "eth0", None),
            ],
            ..NodeResult::default()
        };
        let mut stage: StageRecord =
            serde_json::from_value(json!({"id": "s1-main", "name": "main", "state": "completed"})).unwrap();
        stage.nodes = vec![node.clone(), node];
        for room in [40, 60, 80, 120] {
            let text = table(Some(room), &[&stage]);
            let widest = text.lines().map(crate::screen::columns_of).max();
            assert!(widest.is_some_and(|width| width <= room), "{room}:\n{text}");
            assert_eq!(text.matches("nvme0n1 97 %, queue 3.2").count(), 2, "{room}:\n{text}");
        }
    }
}
