//! What planning is made from: the loads of a run, by kind of operation, with what the units of the store's machines were busy
//! with at each.

use std::collections::{BTreeMap, BTreeSet};

use cosmark_archive::{RunRecord, StageRecord};
use cosmark_capacity::bottleneck::FAILED;
use cosmark_capacity::energy::Drawn;
use cosmark_capacity::ladder::{LEVEL, Step};
use cosmark_capacity::model::{ClassLoad, Load, Observed};
use cosmark_metrics::nodes::{machines, quantity as q};
use cosmark_metrics::{LoopKind, NodeResult};

use crate::bottleneck::{Machines, failed_share, groups, ladder, load_of, measuring};

/// Loads that were measured together.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedLoads {
    /// Names of the stages.
    pub stages: Vec<String>,
    /// Names of stages that are left out, because the store refused or broke there.
    pub refused: Vec<String>,
    /// What was measured.
    pub observed: Observed,
    /// Most workers of a stage; 0 where arrivals came by the clock.
    pub most_workers: u32,
    /// Seconds between two operations of a worker, in the middle of the stages.
    pub think_s: f64,
    /// What the machines drew, at each load and before the first, where they tell it (RAPL).
    pub drawn: Vec<Drawn>,
}

/// The ladders of a run: stages of the same operations at several loads. None without nodes.
#[must_use]
pub fn ladders(run: &RunRecord) -> Vec<ObservedLoads> {
    groups(run).iter().map(|stages| observed(run, stages)).collect()
}

/// All stages of a run that measured something with nodes, whatever their operations.
#[must_use]
pub fn all_loads(run: &RunRecord) -> ObservedLoads {
    let stages: Vec<&StageRecord> =
        run.stages.iter().filter(|stage| !stage.nodes.is_empty() && load_of(stage).is_some()).collect();
    observed(run, &stages)
}

fn kinds_of(stage: &StageRecord) -> BTreeSet<&str> {
    measuring(stage).map(|op| op.op.as_str()).collect()
}

/// Stages that the store served, and the names of the others: an operation that it refuses, or that is repeated until it is taken,
/// costs it as well, and the rate knows nothing of that. What fails at each load, as reads of what is not there do, is a part of
/// what an operation costs.
fn served<'a>(stages: &[&'a StageRecord]) -> (Vec<&'a StageRecord>, Vec<String>) {
    let least = |of: &StageRecord| {
        let alike = stages.iter().filter(|stage| kinds_of(stage) == kinds_of(of));
        alike.map(|stage| failed_share(stage)).fold(f64::INFINITY, f64::min)
    };
    let (served, refused): (Vec<&StageRecord>, Vec<&StageRecord>) =
        stages.iter().copied().partition(|stage| failed_share(stage) <= least(stage) + FAILED);
    (served, refused.into_iter().map(|stage| stage.name.clone()).collect())
}

fn observed(run: &RunRecord, stages: &[&StageRecord]) -> ObservedLoads {
    let (stages, refused) = served(stages);
    let kinds: BTreeSet<String> =
        stages.iter().flat_map(|stage| measuring(stage)).map(|op| op.op.clone()).collect();
    let kinds: Vec<String> = kinds.into_iter().collect();
    let ladder = ladder(run, &stages);
    let machines = Machines::of(&stages, &ladder.units);
    // A step for each stage: none is here without a load.
    let loads = stages.iter().zip(ladder.steps).map(|(stage, step)| Load {
        classes: kinds.iter().map(|kind| class_of(stage, kind)).collect(),
        in_flight: step.in_flight,
        open: is_open(stage) && keeps_up(stage, &step),
        client_clear: step.client_clear,
        usage: step.usage,
    });
    let loads = loads.collect();
    let observed =
        Observed { units: machines.as_wholes(ladder.units), idle: ladder.idle, classes: kinds, loads };
    let closed = || stages.iter().filter(|stage| !is_open(stage));
    let mut pauses: Vec<f64> = closed().filter_map(|stage| pause_of(stage)).collect();
    pauses.sort_by(f64::total_cmp);
    ObservedLoads {
        stages: stages.iter().map(|stage| stage.name.clone()).collect(),
        refused,
        observed,
        most_workers: closed().map(|stage| workers_of(stage)).max().unwrap_or(0),
        think_s: pauses.get(pauses.len() / 2).copied().unwrap_or(0.0),
        drawn: drawn_at(run, &stages, &machines),
    }
}

fn drawn_at(run: &RunRecord, stages: &[&StageRecord], machines: &Machines) -> Vec<Drawn> {
    let loads = stages.iter().filter_map(|stage| Some((load_of(stage)?.0, stage.nodes.as_slice())));
    let all = loads.chain([(0.0, run.idle_nodes.as_slice())]);
    all.map(|(rate_per_s, nodes)| Drawn { rate_per_s, watts_each: watts_each(nodes, machines) }).collect()
}

/// By role, what one machine drew on average: joules of all its packages per second.
fn watts_each(nodes: &[NodeResult], by_role: &Machines) -> BTreeMap<String, f64> {
    let watts = |node: &NodeResult| {
        let packages = node.quantities.iter().filter(|one| one.quantity == q::ENERGY.id);
        packages.map(|one| one.mean).reduce(|a, b| a + b)
    };
    let mut roles: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for node in machines::distinct(nodes, |node| watts(node).is_some()) {
        if let Some(watts) = watts(node).filter(|_| node.is_covered()) {
            let sums = roles.entry(by_role.role_of(node).to_owned()).or_default();
            *sums = (sums.0 + watts, sums.1 + 1.0);
        }
    }
    roles.into_iter().map(|(role, (watts, many))| (role, watts / many)).collect()
}

/// All operations of one kind of a stage together.
fn class_of(stage: &StageRecord, kind: &str) -> ClassLoad {
    let (mut rate, mut bytes_per_s, mut service_s) = (0.0, 0.0, 0.0);
    for operation in measuring(stage).filter(|operation| operation.op == kind) {
        let Some(own) = operation.throughput_per_s.filter(|rate| *rate > 0.0) else { continue };
        rate += own;
        bytes_per_s += operation.bandwidth_bytes_per_s.unwrap_or(0.0);
        service_s += own * operation.service_ms.mean.unwrap_or(0.0) / 1e3;
    }
    let of_one = |sum: f64| if rate > 0.0 { sum / rate } else { 0.0 };
    ClassLoad { rate_per_s: rate, bytes_each: of_one(bytes_per_s), service_s: of_one(service_s) }
}

fn is_open(stage: &StageRecord) -> bool {
    measuring(stage).any(|operation| operation.arrival == Some(LoopKind::Open))
}

/// Of all workers of an open loop, the share that is in use where what comes due has to wait for one.
const ALL_IN_USE: f64 = 0.9;

/// What comes due is served when it does. Else all workers are in use, and begin the next operation when the last is over.
fn keeps_up(stage: &StageRecord, step: &Step) -> bool {
    let workers = f64::from(workers_of(stage));
    let is_more_due = step.offered_per_s.is_some_and(|due| due > step.throughput_per_s * (1.0 + LEVEL));
    let all_in_use = workers > 0.0 && step.in_flight > workers * ALL_IN_USE;
    !is_more_due && !all_in_use
}

/// Each work's workers do all of its operations.
fn workers_of(stage: &StageRecord) -> u32 {
    let mut works: Vec<(&str, u32)> = measuring(stage).map(|op| (op.work.as_str(), op.workers)).collect();
    works.sort_unstable();
    works.dedup();
    works.iter().map(|work| work.1).sum()
}

/// By Little's law: what is left of a worker's time when its operations are taken away.
fn pause_of(stage: &StageRecord) -> Option<f64> {
    let (rate, in_flight, _) = load_of(stage)?;
    let workers = f64::from(workers_of(stage));
    (workers > 0.0).then(|| ((workers - in_flight) / rate).max(0.0))
}
