//! What limits the store, from a run whose stages measured one load at several rates: the ladder of its records, put before
//! `cosmark_capacity`.

use std::collections::{BTreeMap, BTreeSet};

use cosmark_archive::{CheckStatus, ClientRecord, RunRecord, StageRecord};
use cosmark_capacity::bottleneck::{Against, Answer, Candidate, Confidence, diagnose};
use cosmark_capacity::ladder::{Ladder, Step, Unit, Usage};
use cosmark_capacity::saturation::Waits;
use cosmark_capacity::sentence::say;
use cosmark_metrics::nodes::{machines, quantity as q};
use cosmark_metrics::results::{Cause, Spread};
use cosmark_metrics::{
    BottleneckResult, CandidateResult, LadderStepResult, LoopKind, NodeResult, OperationResult, ResourceKind,
    SATURATED_SHARE, STOPPED_SHARE, Waiting,
};

/// Stages of fewer loads are no ladder.
const LEAST_STEPS: usize = 3;
/// Sizes and shares of the mix may differ by so much within one ladder.
const ALIKE: f64 = 0.1;
/// Checks of the client's machine, and from what status on they say that it, and not the store, may have been full.
const CLIENT_CHECKS: &[(&str, &[CheckStatus])] = &[
    ("V5", &[CheckStatus::Warn, CheckStatus::Fail]),
    ("V6", &[CheckStatus::Fail]),
    ("V7", &[CheckStatus::Fail]),
];
/// Pauses of the client's machine that can have moved the rate or the mean service time by more than this share say so, too.
const PAUSED: f64 = 0.1;

/// One answer for each load that the run measured at [`LEAST_STEPS`] or more rates; none without nodes.
#[must_use]
pub fn bottlenecks(run: &RunRecord) -> Vec<BottleneckResult> {
    groups(run).iter().map(|group| answer(run, group)).collect()
}

/// Stages that measured the same load at [`LEAST_STEPS`] or more rates, with nodes.
pub(crate) fn groups(run: &RunRecord) -> Vec<Vec<&StageRecord>> {
    let measured = run.stages.iter().filter(|stage| !stage.nodes.is_empty() && load_of(stage).is_some());
    let mut groups: Vec<Vec<&StageRecord>> = Vec::new();
    for stage in measured {
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| alike(first, stage))) {
            Some(group) => group.push(stage),
            None => groups.push(vec![stage]),
        }
    }
    groups.retain(|group| group.len() >= LEAST_STEPS);
    groups
}

/// What was done, whatever how often: operations that measure something.
pub(crate) fn measuring(stage: &StageRecord) -> impl Iterator<Item = &OperationResult> {
    stage.operations.iter().filter(|op| !matches!(op.op.as_str(), "init" | "prepare" | "cleanup" | "dispose"))
}

/// Throughput, load in flight and mean service time in seconds of all operations of a stage.
pub(crate) fn load_of(stage: &StageRecord) -> Option<(f64, f64, f64)> {
    let mut sums = (0.0, 0.0, 0.0);
    for operation in measuring(stage) {
        let Some(rate) = operation.throughput_per_s.filter(|rate| *rate > 0.0) else { continue };
        let service_s = operation.service_ms.mean? / 1e3;
        sums.0 += rate;
        sums.1 += operation.in_flight_mean.unwrap_or(rate * service_s);
        sums.2 += rate * service_s;
    }
    (sums.0 > 0.0).then(|| (sums.0, sums.1, sums.2 / sums.0))
}

/// Of the processors of a unit, what clients' own processes took: of those that run on its machine.
fn by_client(stage: &StageRecord, unit: &Unit) -> Option<f64> {
    let node = stage.nodes.iter().find(|node| node.name == unit.node)?;
    if !matches!(unit.kind, ResourceKind::Machine | ResourceKind::Core) {
        return None;
    }
    let here = stage.clients.iter().filter(|client| machines::runs(node, client));
    here.filter_map(|client| Some(client.process_cpu_share? / f64::from(client.cpus?.max(1))))
        .reduce(|a, b| a + b)
}

/// Of a machine's processors, what neither the client nor the daemons whose threads are looked at nor interrupts took; `None`
/// where no daemon is named, or where it is not known what the client took.
fn by_others(stage: &StageRecord, unit: &Unit) -> Option<f64> {
    let node = stage.nodes.iter().find(|node| node.name == unit.node)?;
    let of = |kind: ResourceKind| node.units.iter().filter(move |one| one.kind == kind).map(|one| one.busy);
    let sum = |row: &q::Quantity| -> f64 {
        node.quantities.iter().filter(|one| one.quantity == row.id).map(|one| one.mean).sum()
    };
    let (all, daemons) = (of(ResourceKind::Core).sum::<f64>(), sum(&q::DAEMONS_BUSY));
    if unit.kind != ResourceKind::Machine || daemons <= 0.0 {
        return None;
    }
    let cores = real(u64::try_from(of(ResourceKind::Core).count()).ok().filter(|cores| *cores > 0)?);
    let has_client = stage.clients.iter().any(|client| machines::runs(node, client));
    let client = if has_client { by_client(stage, unit)? * cores } else { 0.0 };
    Some(((all - daemons - client - sum(&q::CPU_INTERRUPTS)) / cores).max(0.0))
}

/// Of all that ended, what failed.
fn failed_share(stage: &StageRecord) -> f64 {
    let (ok, failed) = measuring(stage).fold((0, 0), |sums, op| (sums.0 + op.ok, sums.1 + op.failed));
    real(failed) / real((ok + failed).max(1))
}

/// Operations that came due per second by the clock; `None` where workers wait for answers.
fn offered_of(stage: &StageRecord) -> Option<f64> {
    let of = |op: &OperationResult| {
        let due = op.intended.filter(|_| op.arrival == Some(LoopKind::Open) && op.ok > 0)?;
        Some(op.throughput_per_s? * real(due) / real(op.ok))
    };
    measuring(stage).map(of).sum()
}

/// Bytes of bodies per second.
fn bytes_of(stage: &StageRecord) -> f64 {
    measuring(stage).filter_map(|op| op.bandwidth_bytes_per_s).sum()
}

/// The same operations, sizes and mix.
fn alike(a: &StageRecord, b: &StageRecord) -> bool {
    let total = |stage: &StageRecord| real(measuring(stage).map(|op| op.ok).sum::<u64>().max(1));
    let (all_a, all_b) = (total(a), total(b));
    measuring(a).count() == measuring(b).count()
        && measuring(a).zip(measuring(b)).all(|(x, y)| {
            let size = |op: &OperationResult| real(op.bytes) / real(op.ok.max(1));
            let sizes = (size(x), size(y));
            let mix = real(x.ok) / all_a - real(y.ok) / all_b;
            (&x.op, &x.name) == (&y.op, &y.name)
                && (sizes.0 - sizes.1).abs() <= ALIKE * sizes.0.max(sizes.1)
                && mix.abs() <= ALIKE
        })
}

#[expect(clippy::cast_precision_loss, reason = "counts and bytes of a stage")]
fn real(n: u64) -> f64 {
    n as f64
}

fn units_of(nodes: &[NodeResult]) -> impl Iterator<Item = (Unit, Usage)> + '_ {
    nodes.iter().flat_map(|node| {
        let named = |kind: ResourceKind, name: &str| Unit {
            node: node.name.clone(),
            role: node.role.clone(),
            kind,
            name: name.to_owned(),
        };
        let measured = node.units.iter().map(move |unit| {
            let usage =
                Usage { busy: Some(unit.busy), waiting: unit.waiting, by_client: None, by_others: None };
            (named(unit.kind, &unit.name), usage)
        });
        let unmeasured = quotas_of_unknown_use(node).map(move |(name, waiting)| {
            (named(ResourceKind::CpuQuota, name), Usage { waiting, ..Usage::default() })
        });
        measured.chain(unmeasured)
    })
}

/// Quotas whose use nobody counts, because their groups are not in the hierarchy cpuacct: with the share of its periods in
/// which the group was stopped. Counters that never moved are left out of the figures: without periods nothing ran in it.
fn quotas_of_unknown_use(node: &NodeResult) -> impl Iterator<Item = (&str, Option<Waiting>)> + '_ {
    let mean = |row: &q::Quantity, unit: &str| {
        let mut all = node.quantities.iter();
        all.find(|one| one.quantity == row.id && one.unit == unit).map(|one| one.mean)
    };
    let quotas = node.quantities.iter().filter(|one| one.quantity == q::QUOTA_PROCESSORS.id);
    let is_measured =
        |name: &str| node.units.iter().any(|unit| unit.kind == ResourceKind::CpuQuota && unit.name == name);
    quotas.filter(move |quota| !is_measured(&quota.unit)).map(move |quota| {
        let name = quota.unit.as_str();
        let periods = mean(&q::QUOTA_PERIODS, name).unwrap_or(0.0);
        let stopped = mean(&q::QUOTA_STOPPED_PERIODS, name).unwrap_or(0.0);
        let share = if periods > 0.0 { (stopped / periods).clamp(0.0, 1.0) } else { 0.0 };
        (name, Some(Waiting::Share(share)))
    })
}

/// Without what a machine that is read by two ways has twice: by the node that is listed first, unless only the other
/// one tells of daemons and quotas, which go with their processors.
fn each_once(stages: &[&StageRecord], mut units: Vec<Unit>) -> Vec<Unit> {
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for stage in stages {
        for (first, second) in machines::same(&stage.nodes) {
            let names = (stage.nodes[first].name.as_str(), stage.nodes[second].name.as_str());
            *seen.entry(names).or_default() += 1;
        }
    }
    let has =
        |node: &str, kind: ResourceKind| units.iter().any(|unit| unit.node == node && unit.kind == kind);
    let has_daemons = |node: &str| has(node, ResourceKind::Thread) || has(node, ResourceKind::CpuQuota);
    // By chance two machines are as busy in one stage or another.
    let pairs = seen.into_iter().filter(|(_, times)| times * 2 > stages.len());
    let pairs =
        pairs.map(
            |((first, second), _)| {
                if has_daemons(second) && !has_daemons(first) { (second, first) } else { (first, second) }
            },
        );
    let pairs: Vec<(&str, &str)> = pairs.collect();
    let is_twice = |unit: &Unit| {
        let of_a_machine = matches!(
            unit.kind,
            ResourceKind::Machine
                | ResourceKind::Core
                | ResourceKind::Disk
                | ResourceKind::NetworkReceive
                | ResourceKind::NetworkTransmit
        );
        of_a_machine && pairs.iter().any(|(one, other)| *other == unit.node && has(one, unit.kind))
    };
    let twice: BTreeSet<Unit> = units.iter().filter(|unit| is_twice(unit)).cloned().collect();
    units.retain(|unit| !twice.contains(unit));
    units
}

/// A client that others stop and continue (`cpulimit`, a machine that is frozen for moments) is neither busy nor ready to run:
/// only its pauses show it. A tail that they moved says nothing of what limits the rate.
fn is_paused(run: &RunRecord, stage: &StageRecord) -> bool {
    let has_trouble = run.verdict.checks.iter().any(|check| {
        check.id == "V6" && check.stage.as_ref() == Some(&stage.id) && check.status == CheckStatus::Warn
    });
    let by_pauses = |op: &OperationResult,
                     figure: &str,
                     side: fn(Spread) -> Option<f64>,
                     value: Option<f64>| {
        let bound = op.bounds.get(figure).filter(|bound| bound.cause == Some(Cause::Pauses));
        // Where no limit is known, all of it may be theirs.
        bound.zip(value).is_some_and(|(bound, value)| side(bound.client).is_none_or(|by| by > PAUSED * value))
    };
    has_trouble
        && measuring(stage).any(|op| {
            by_pauses(op, "throughput_per_s", |client| client.above, op.throughput_per_s)
                || by_pauses(op, "service_ms.mean", |client| client.below, op.service_ms.mean)
        })
}

pub(crate) fn ladder(run: &RunRecord, stages: &[&StageRecord]) -> Ladder {
    let units: BTreeSet<Unit> =
        stages.iter().flat_map(|stage| units_of(&stage.nodes)).map(|one| one.0).collect();
    let units = each_once(stages, units.into_iter().collect());
    let usage_in = |nodes: &[NodeResult]| -> Vec<Usage> {
        let seen: Vec<(Unit, Usage)> = units_of(nodes).collect();
        // Threads that did next to nothing are left out of the figures of a machine that was read.
        let idle = |unit: &Unit| {
            let read = nodes.iter().any(|node| node.name == unit.node && !node.units.is_empty());
            let busy = (unit.kind == ResourceKind::Thread && read).then_some(0.0);
            Usage { busy, waiting: None, by_client: None, by_others: None }
        };
        let of = |unit: &Unit| seen.iter().find(|one| one.0 == *unit).map_or_else(|| idle(unit), |one| one.1);
        units.iter().map(of).collect()
    };
    // A thread that has to wait for a processor, or for its quota, never shows as busy, however much it has to do.
    let wanted = |client: &ClientRecord| {
        client.thread_busy_max.unwrap_or(0.0) + client.run_queue_wait_share_max.unwrap_or(0.0)
    };
    let stopped = |client: &ClientRecord| client.quota_stopped_share.unwrap_or(0.0) > STOPPED_SHARE;
    let full = |stage: &StageRecord| {
        stage.clients.iter().any(|client| wanted(client) > SATURATED_SHARE || stopped(client))
            || is_paused(run, stage)
            || run.verdict.checks.iter().any(|check| {
                check.stage.as_ref() == Some(&stage.id)
                    && CLIENT_CHECKS
                        .iter()
                        .any(|(id, status)| *id == check.id && status.contains(&check.status))
            })
    };
    let steps = stages.iter().filter_map(|stage| {
        let (throughput_per_s, in_flight, service_s) = load_of(stage)?;
        let mut usage = usage_in(&stage.nodes);
        let is_covered =
            |unit: &Unit| stage.nodes.iter().any(|node| node.name == unit.node && node.is_covered());
        for (unit, own) in units.iter().zip(&mut usage) {
            // A machine that did not answer in most of the window says what it did in the rest of it.
            if !is_covered(unit) {
                *own = Usage::default();
                continue;
            }
            own.by_client = by_client(stage, unit);
            own.by_others = by_others(stage, unit);
        }
        Some(Step {
            throughput_per_s,
            in_flight,
            service_s,
            client_clear: !full(stage),
            failed_share: failed_share(stage),
            offered_per_s: offered_of(stage),
            bytes_each: bytes_of(stage) / throughput_per_s,
            usage,
        })
    });
    let steps = steps.collect();
    let idle = usage_in(&run.idle_nodes).into_iter().map(|usage| usage.busy).collect();
    Ladder { units, idle, steps }
}

fn answer(run: &RunRecord, stages: &[&StageRecord]) -> BottleneckResult {
    let ladder = ladder(run, stages);
    let found = diagnose(&ladder);
    let said = say(&ladder, &found);
    let (word, named, confidence) = match &found.answer {
        Answer::Named { units, confidence } => ("named", units.as_slice(), Some(*confidence)),
        Answer::Several(units) => ("several", units.as_slice(), None),
        Answer::Client => ("client", [].as_slice(), None),
        Answer::Shared(..) => ("shared", [].as_slice(), None),
        Answer::Refused(_) => ("refused", [].as_slice(), None),
        Answer::Limit(_) => ("limit", [].as_slice(), None),
        Answer::Unexplained => ("unexplained", [].as_slice(), None),
        Answer::NotReached(_) => ("not_reached", [].as_slice(), None),
        Answer::TooFewSteps => ("too_few_steps", [].as_slice(), None),
        Answer::NothingMeasured => ("nothing_measured", [].as_slice(), None),
    };
    let confidence = confidence.map(|confidence| match confidence {
        Confidence::Low => "low",
        Confidence::Medium => "medium",
        Confidence::High => "high",
    });
    let name = |unit: &usize| {
        ladder.units.get(*unit).map(|unit| format!("{} {} {}", unit.node, unit.kind.word(), unit.name))
    };
    let ceiling = found.candidates.iter().find(|one| named.contains(&one.unit));
    BottleneckResult {
        answer: word.to_owned(),
        confidence: confidence.map(str::to_owned),
        units: named.iter().filter_map(name).collect(),
        plateau_per_s: found.plateau_per_s,
        ceiling_per_s: ceiling
            .filter(|one| one.when_full.is_none())
            .map(|one| one.demand.ceiling_per_s())
            .filter(|rate| rate.is_finite()),
        text: said.text,
        second: said.second,
        refute: said.refute,
        skewed: said.skewed,
        stages: stages.iter().map(|stage| stage.id.clone()).collect(),
        steps: steps_of(&ladder, stages),
        candidates: found
            .candidates
            .iter()
            .take(MOST_CANDIDATES)
            .filter_map(|one| candidate(&ladder, one))
            .collect(),
    }
}

/// Candidates that are kept: those whose ceilings are the lowest.
const MOST_CANDIDATES: usize = 24;

/// The stages by rising load, as [`Ladder::sorted`] has them.
fn steps_of(ladder: &Ladder, stages: &[&StageRecord]) -> Vec<LadderStepResult> {
    // A step for each stage with a load.
    let measured: Vec<&StageRecord> =
        stages.iter().filter(|stage| load_of(stage).is_some()).copied().collect();
    let step = |at: usize| {
        let (stage, step) = (measured.get(at)?, ladder.steps.get(at)?);
        Some(LadderStepResult {
            stage: stage.id.clone(),
            in_flight: step.in_flight,
            throughput_per_s: step.throughput_per_s,
            service_ms: step.service_s * 1e3,
        })
    };
    ladder.order().into_iter().filter_map(step).collect()
}

fn candidate(ladder: &Ladder, one: &Candidate) -> Option<CandidateResult> {
    let unit = ladder.units.get(one.unit)?;
    let finite = |rate: f64| Some(rate).filter(|rate| rate.is_finite());
    let (low, high) = one.demand.ceiling_interval();
    let against = one.against.iter().map(|why| match why {
        Against::CeilingElsewhere => "its ceiling lies away from the plateau",
        Against::NotBusy => "it had time left at the plateau",
        Against::NotMeasured => "how busy it was at the plateau was not measured",
        Against::NotFull => "it had a little time left at the plateau, and no queue of it goes on growing",
        Against::NothingWaits => "what waits for it does not grow with the load",
        Against::BusyAnyway => "most of what it is busy with is there without any operation",
        Against::DemandChanges => "what an operation costs it changes with the load",
    });
    Some(CandidateResult {
        node: unit.node.clone(),
        kind: unit.kind,
        name: unit.name.clone(),
        demand_ms: one.demand.seconds * 1e3,
        demand_low_ms: one.demand.low * 1e3,
        demand_high_ms: one.demand.high * 1e3,
        idle: one.demand.idle,
        ceiling_per_s: finite(one.demand.ceiling_per_s()),
        ceiling_low_per_s: finite(low),
        ceiling_high_per_s: finite(high),
        busy: ladder
            .sorted()
            .iter()
            .map(|step| step.usage.get(one.unit).and_then(|usage| usage.busy))
            .collect(),
        waits: match one.waits {
            Waits::Grows | Waits::Rises => Some(true),
            Waits::Never => Some(false),
            Waits::Unknown => None,
        },
        against: against.map(str::to_owned).collect(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use cosmark_metrics::results::Bound;
    use cosmark_metrics::{Latencies, QuantityResult, UnitResult};
    use serde_json::json;

    fn unit(kind: ResourceKind, name: &str, busy: f64, queue: f64) -> UnitResult {
        let waiting = Some(Waiting::Queue(queue));
        UnitResult { kind, name: name.to_owned(), busy, highest_busy: busy, waiting }
    }

    fn node(units: Vec<UnitResult>) -> NodeResult {
        NodeResult { name: "s1".into(), role: "storage".into(), readings: 9, units, ..NodeResult::default() }
    }

    /// Reads of 4 KiB by `workers`, each 2 ms of one disk and 3 ms elsewhere.
    fn stage(workers: u32, bytes_each: u64) -> StageRecord {
        let many = f64::from(workers);
        let rate = (many / 0.005).min(500.0);
        let service_ms = Latencies { mean: Some(many / rate * 1e3), ..Latencies::default() };
        let operation = OperationResult {
            name: "read".into(),
            op: "read".into(),
            ok: 1000,
            bytes: 1000 * bytes_each,
            throughput_per_s: Some(rate),
            in_flight_mean: Some(many),
            service_ms,
            ..OperationResult::default()
        };
        let text = json!({"id": format!("s{workers}-w"), "name": "w", "state": "completed"});
        let mut stage: StageRecord = serde_json::from_value(text).unwrap();
        stage.operations = vec![operation];
        let waits = (many - 2.5).max(0.1);
        stage.nodes = vec![node(vec![
            unit(ResourceKind::Disk, "sda", rate / 500.0, waits),
            unit(ResourceKind::Machine, "cpu", 0.05 + rate / 2500.0, 0.2),
        ])];
        stage
    }

    fn run(stages: Vec<StageRecord>) -> RunRecord {
        let text = json!({"schema": 1, "cosmark": "0", "id": "w1", "name": "n", "description": null, "state": "finished",
            "reason": null, "seed": 1, "submitted": null, "started": null, "ended": null, "process": null});
        let mut run: RunRecord = serde_json::from_value(text).unwrap();
        run.idle_nodes = vec![node(vec![
            unit(ResourceKind::Disk, "sda", 0.0, 0.0),
            unit(ResourceKind::Machine, "cpu", 0.05, 0.1),
        ])];
        run.stages = stages;
        run
    }

    #[test]
    fn the_disk_that_is_full_is_named_with_its_ceiling_and_another_size_is_another_load() {
        let mut stages: Vec<StageRecord> = [1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into();
        stages.push(stage(32, 1 << 20));
        let found = bottlenecks(&run(stages));
        let [one] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(
            (one.answer.as_str(), one.units.as_slice()),
            ("named", ["s1 disk sda".to_owned()].as_slice())
        );
        assert_eq!((one.stages.len(), one.plateau_per_s), (5, Some(500.0)));
        assert!((one.ceiling_per_s.unwrap() - 500.0).abs() < 25.0, "{one:?}");
        assert!(one.second.is_some() && one.refute.is_some(), "{one:?}");
    }

    /// A machine that has time left, and a group of which only is known how often its quota stopped it.
    fn quota_of_unknown_use(stage: &mut StageRecord, stopped: f64) {
        let figure = |quantity: &str, mean: f64| QuantityResult {
            quantity: quantity.to_owned(),
            unit: "proxies".to_owned(),
            mean,
            highest: mean,
        };
        let rate = load_of(stage).unwrap().0;
        stage.nodes = vec![NodeResult {
            quantities: vec![
                figure("quota_processors", 0.25),
                figure("quota_periods", 10.0),
                figure("quota_stopped_periods", 10.0 * stopped * rate / 500.0),
            ],
            ..node(vec![unit(ResourceKind::Machine, "cpu", 0.05 + rate / 2500.0, 0.2)])
        }];
    }

    #[test]
    fn a_quota_whose_use_nobody_counts_is_not_spoken_of_as_idle() {
        let ladder = |stopped: f64| {
            let mut stages: Vec<StageRecord> = [1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into();
            stages.iter_mut().for_each(|stage| quota_of_unknown_use(stage, stopped));
            let found = bottlenecks(&run(stages));
            (found[0].answer.clone(), found[0].text.clone())
        };
        let (answer, text) = ladder(0.95);
        assert_eq!(answer, "unexplained", "{text}");
        assert!(text.contains("how busy CPU quota proxies of s1 (storage) was there is not known"), "{text}");
        assert!(text.contains("cpuacct") && !text.contains("none is busier"), "{text}");
        // A group that is hardly ever stopped has time left.
        let (answer, text) = ladder(0.1);
        assert_eq!(answer, "limit", "{text}");
        assert!(text.contains("none is busier than 25 %"), "{text}");
    }

    #[test]
    fn a_machine_that_was_away_for_most_of_a_step_is_not_measured_there() {
        let answered = |covered: Option<f64>| {
            let mut stages: Vec<StageRecord> = [1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into();
            for stage in &mut stages[2..] {
                stage.nodes[0].covered_share = covered;
            }
            let run = run(stages);
            let stages: Vec<&StageRecord> = run.stages.iter().collect();
            let measured = ladder(&run, &stages).steps.iter().all(|step| step.usage[0].busy.is_some());
            (measured, bottlenecks(&run)[0].clone())
        };
        for covered in [None, Some(1.0), Some(0.6)] {
            let (measured, found) = answered(covered);
            assert!(measured && found.answer == "named", "{covered:?}: {found:?}");
        }
        let (measured, found) = answered(Some(0.03));
        assert!(!measured && found.answer == "nothing_measured", "{found:?}");
        assert!(found.text.contains("did not answer in most of the time"), "{}", found.text);
    }

    /// Processors that are full from four workers on, of a machine that is read by these ways, and a client that takes
    /// 40 % of them.
    fn on_one_machine(sources: &[&str], booted_s: f64) -> RunRecord {
        let mut stages: Vec<StageRecord> = [1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into();
        let figure = |quantity: &str, mean: f64| QuantityResult {
            quantity: quantity.to_owned(),
            unit: String::new(),
            mean,
            highest: mean,
        };
        for stage in &mut stages {
            let rate = load_of(stage).unwrap().0;
            let waits = stage.nodes[0].units[0].waiting;
            let nodes = sources.iter().map(|source| NodeResult {
                name: (*source).to_owned(),
                source: (*source).to_owned(),
                quantities: vec![figure("boot_time_s", booted_s), figure("memory_total_bytes", 8e9)],
                ..node(vec![UnitResult {
                    waiting: waits,
                    ..unit(ResourceKind::Machine, "cpu", rate / 500.0, 0.0)
                }])
            });
            stage.nodes = nodes.collect();
            stage.clients = vec![ClientRecord {
                process_cpu_share: Some(0.8 * rate / 500.0),
                cpus: Some(2),
                machine_busy_share: Some(rate / 500.0),
                boot_time_s: Some(1e9),
                memory_bytes: Some(8_000_000_000),
                ..ClientRecord::default()
            }];
        }
        let mut run = run(stages);
        run.idle_nodes = run.stages[0].nodes.clone();
        run.idle_nodes.iter_mut().for_each(|node| node.units[0].busy = 0.0);
        run
    }

    #[test]
    fn a_client_on_the_stores_machine_is_seen_by_whatever_way_the_machine_is_read() {
        for source in ["local", "prometheus", "ssh", "agent"] {
            let found = &bottlenecks(&on_one_machine(&[source], 1e9))[0];
            assert_eq!(found.answer, "shared", "{source}: {}", found.text);
        }
        let found = &bottlenecks(&on_one_machine(&["prometheus"], 2e9))[0];
        assert_eq!(found.answer, "named", "another machine: {}", found.text);
    }

    #[test]
    fn a_machine_that_is_read_by_two_ways_has_its_parts_once() {
        let of = |run: &RunRecord| {
            let stages: Vec<&StageRecord> = run.stages.iter().collect();
            let units = ladder(run, &stages).units.into_iter();
            units.map(|unit| format!("{} {}", unit.node, unit.kind.word())).collect::<Vec<_>>()
        };
        let mut run = on_one_machine(&["local", "prometheus"], 1e9);
        let processors = ResourceKind::Machine.word();
        assert_eq!(of(&run), [format!("local {processors}")]);
        // The processors stay with the daemons' threads.
        for stage in &mut run.stages {
            stage.nodes[1].units.push(unit(ResourceKind::Thread, "osd/7", 0.3, 0.0));
        }
        let thread = ResourceKind::Thread.word();
        assert_eq!(of(&run), [format!("prometheus {processors}"), format!("prometheus {thread}")]);
        for stage in &mut run.stages {
            stage.nodes[1].quantities[0].mean = 2e9;
        }
        assert_eq!(of(&run).len(), 3, "two machines");
    }

    #[test]
    fn what_neither_the_client_nor_a_named_daemon_took_of_a_machine_is_known_where_daemons_are_named() {
        let with = |source: &str, daemons: f64, client: Option<f64>| {
            let mut stage = stage(4, 4096);
            let units = vec![
                unit(ResourceKind::Core, "cpu0", 0.9, 0.0),
                unit(ResourceKind::Core, "cpu1", 0.7, 0.0),
                unit(ResourceKind::Machine, "cpu", 0.8, 0.0),
                unit(ResourceKind::Thread, "osd/7", 0.4, 0.0),
            ];
            let figure = |quantity: &str, mean: f64| QuantityResult {
                quantity: quantity.to_owned(),
                unit: String::new(),
                mean,
                highest: mean,
            };
            let quantities = vec![figure("cpu_interrupts_s", 0.1), figure("daemons_busy_s", daemons)];
            stage.nodes = vec![NodeResult { source: source.into(), quantities, ..node(units) }];
            stage.clients =
                vec![ClientRecord { process_cpu_share: client, cpus: Some(2), ..ClientRecord::default() }];
            let ladder = ladder(&run(vec![]), &[&stage]);
            let machine = ladder.units.iter().position(|unit| unit.kind == ResourceKind::Machine).unwrap();
            let others = ladder.steps[0].usage.iter().map(|usage| usage.by_others);
            assert!(others.enumerate().all(|(at, others)| at == machine || others.is_none()));
            ladder.steps[0].usage[machine].by_others
        };
        // Of 1.6 processors 0.5 are the daemons', 0.3 the client's, and 0.1 go to interrupts.
        assert!((with("local", 0.5, Some(0.3)).unwrap() - 0.35).abs() < 1e-9);
        // No client is on another machine.
        assert!((with("agent", 0.5, Some(0.3)).unwrap() - 0.5).abs() < 1e-9);
        assert_eq!(with("agent", 1.9, None), Some(0.0));
        for (source, daemons, client) in [("local", 0.0, Some(0.3)), ("local", 0.3, None), ("ssh", 0.0, None)]
        {
            assert_eq!(with(source, daemons, client), None, "{source} {daemons:?} {client:?}");
        }
    }

    #[test]
    fn the_busiest_unit_is_reported_also_where_no_load_is_low_enough_to_predict_from() {
        let stages: Vec<StageRecord> = [4, 8, 16, 32]
            .map(|workers| {
                let mut stage = stage(workers, 4096);
                stage.nodes[0].units.retain(|unit| unit.kind == ResourceKind::Machine);
                stage
            })
            .into();
        let mut run = run(stages);
        run.idle_nodes.clear();
        let text = bottlenecks(&run)[0].text.clone();
        assert!(text.contains("none is busier than 25 %"), "{text}");
    }

    #[test]
    fn a_full_client_one_load_and_a_run_without_nodes_name_nothing() {
        let mut full = run([1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into());
        let checks: Vec<_> = [4, 8, 16]
            .map(|workers| {
                json!({"id": "V5", "name": "client_cpu", "stage": format!("s{workers}-w"), "status": "fail",
                    "allows": "false", "value": 1.0, "limit": 0.9, "message": "full"})
            })
            .into();
        full.verdict =
            serde_json::from_value(json!({"overall": "false", "reason": null, "checks": checks})).unwrap();
        assert_eq!(bottlenecks(&full)[0].answer, "client");
        // The highest load alone is left out; those below it suffice.
        full.verdict.checks.drain(..2);
        assert_eq!(bottlenecks(&full)[0].answer, "named");
        // Nor does a client say anything of the store that its own quota stops.
        let stopped = |share: f64| {
            let mut run = run([1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into());
            let client = ClientRecord { quota_stopped_share: Some(share), ..ClientRecord::default() };
            run.stages[2..].iter_mut().for_each(|stage| stage.clients = vec![client.clone()]);
            bottlenecks(&run)[0].answer.clone()
        };
        assert_eq!((stopped(0.9).as_str(), stopped(0.1).as_str()), ("client", "named"));
        assert_eq!(bottlenecks(&run(vec![stage(1, 4096), stage(2, 4096)])), []);
        let mut bare = run([1, 2, 4, 8].map(|workers| stage(workers, 4096)).into());
        bare.stages.iter_mut().for_each(|stage| stage.nodes.clear());
        assert_eq!(bottlenecks(&bare), []);
    }
    /// What V6 says of the upper steps, whose figure is known only within a share of it because of this.
    fn widened(status: &str, figure: &str, share: f64, cause: Cause) -> RunRecord {
        let mut run = run([1, 2, 4, 8, 16].map(|workers| stage(workers, 4096)).into());
        let checks: Vec<_> = [4, 8, 16]
            .map(|workers| {
                json!({"id": "V6", "name": "pauses", "stage": format!("s{workers}-w"), "status": status,
                    "allows": "true", "value": 0.9, "limit": 0.05, "message": "paused"})
            })
            .into();
        run.verdict =
            serde_json::from_value(json!({"overall": "true", "reason": null, "checks": checks})).unwrap();
        for stage in &mut run.stages[2..] {
            let op = &mut stage.operations[0];
            let value = if figure == "throughput_per_s" { op.throughput_per_s } else { op.service_ms.mean };
            let by = value.map(|value| value * share);
            let client = Spread { below: by, above: by };
            op.bounds.insert(figure.to_owned(), Bound { client, cause: Some(cause), ..Bound::default() });
        }
        run
    }

    #[test]
    fn a_client_that_is_stopped_and_continued_is_the_limit_and_one_whose_tail_alone_pauses_moved_is_not() {
        for (status, figure, share, cause, said) in [
            ("warn", "service_ms.mean", 0.5, Cause::Pauses, "client"),
            ("warn", "throughput_per_s", 0.5, Cause::Pauses, "client"),
            ("fail", "service_ms.p99", 0.9, Cause::Pauses, "client"),
            ("warn", "service_ms.mean", 0.08, Cause::Pauses, "named"),
            ("warn", "service_ms.mean", 0.5, Cause::BusyThreads, "named"),
            ("warn", "service_ms.p99", 0.9, Cause::Pauses, "named"),
            ("pass", "service_ms.mean", 0.5, Cause::Pauses, "named"),
        ] {
            let found = bottlenecks(&widened(status, figure, share, cause));
            assert_eq!(found[0].answer, said, "{status} {figure} {share}: {}", found[0].text);
        }
        // A rate of which nobody can say how much higher it would have been.
        let mut run = widened("warn", "throughput_per_s", 0.0, Cause::Pauses);
        for stage in &mut run.stages[2..] {
            stage.operations[0].bounds.values_mut().for_each(|bound| bound.client.above = None);
        }
        assert_eq!(bottlenecks(&run)[0].answer, "client");
    }

    /// Reads that come by the clock, of which 64 workers take as many as they can: the disk does 500 a second.
    fn by_the_clock(rate: u32) -> StageRecord {
        let offered = f64::from(rate);
        let served = offered.min(500.0);
        let in_flight = if offered < 500.0 { offered * 0.005 } else { 64.0 };
        let mut stage = stage(rate, 4096);
        let op = &mut stage.operations[0];
        (op.throughput_per_s, op.in_flight_mean) = (Some(served), Some(in_flight));
        (op.service_ms.mean, op.arrival) = (Some(in_flight / served * 1e3), Some(LoopKind::Open));
        (op.ok, op.intended) = (u64::from(rate.min(500)) * 60, Some(u64::from(rate) * 60));
        op.bandwidth_bytes_per_s = Some(served * 4096.0);
        op.bytes = op.ok * 4096;
        stage.nodes[0].units[0] = unit(ResourceKind::Disk, "sda", served / 500.0, in_flight * 0.9);
        stage.nodes[0].units[1] = unit(ResourceKind::Machine, "cpu", 0.05 + served / 2500.0, 0.2);
        stage
    }

    #[test]
    fn rates_beyond_what_is_served_reach_the_limit_although_no_more_workers_are_in_use() {
        let rates = [50, 100, 200, 400, 1600, 800];
        let found = bottlenecks(&run(rates.map(by_the_clock).into()));
        assert_eq!(
            (found[0].answer.as_str(), found[0].units.as_slice()),
            ("named", ["s1 disk sda".to_owned()].as_slice()),
            "{}",
            found[0].text
        );
        let stages: Vec<&str> = found[0].steps.iter().map(|step| step.stage.as_str()).collect();
        assert_eq!(stages, ["s50-w", "s100-w", "s200-w", "s400-w", "s800-w", "s1600-w"]);
        assert_eq!(found[0].candidates[0].busy.last(), Some(&Some(1.0)));
        let run = run(rates.map(by_the_clock).into());
        let steps = ladder(&run, &run.stages.iter().collect::<Vec<_>>()).steps;
        assert_eq!((steps[4].offered_per_s, steps[4].bytes_each), (Some(1600.0), 4096.0));
    }
}
