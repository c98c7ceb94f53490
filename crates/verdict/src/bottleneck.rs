//! What limits the store, from a run whose stages measured one load at several rates: the ladder of its records, put before
//! `cosmark_capacity`.

mod dropped;
mod inside;
mod own_link;
mod volumes;
mod whole;

use std::collections::{BTreeMap, BTreeSet};

use cosmark_archive::{CheckStatus, ClientRecord, RunRecord, StageRecord};
use cosmark_capacity::bottleneck::{
    Against, Answer, Candidate, Confidence, Diagnosis, FAILED, Reported, diagnose,
};
use cosmark_capacity::ladder::{Ladder, Step, Unit, Usage};
use cosmark_capacity::saturation::Waits;
use cosmark_capacity::sentence::say;
use cosmark_metrics::nodes::{machines, quantity as q};
use cosmark_metrics::results::{Bound, Cause, Spread};
use cosmark_metrics::{
    BottleneckResult, CandidateResult, LadderStepResult, LoopKind, NodeResult, OperationResult, ResourceKind,
    SATURATED_SHARE, STOPPED_SHARE, Waiting,
};

pub(crate) use self::whole::Machines;

/// Stages of fewer loads are no ladder.
const LEAST_STEPS: usize = 3;
/// Sizes and shares of the mix may differ by so much within one ladder.
const ALIKE: f64 = 0.1;
/// Checks of the client's machine that say, where they fail, that it, and not the store, may have been full.
const CLIENT_CHECKS: &[&str] = &["V5", "V6", "V7"];
/// Where they only warn, they say so of trouble that can have moved the rate or the mean service time by more than this share.
const MOVED: f64 = 0.1;
/// What such trouble is, by the check that warns of it.
const TROUBLES: &[(&str, &[Cause])] =
    &[("V5", &[Cause::RunQueue, Cause::BusyThreads, Cause::Pauses]), ("V6", &[Cause::Pauses])];

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
    here.filter_map(|client| by_one_client(client, unit)).reduce(|a, b| a + b)
}

/// Of a client that is bound to some processors, each of these has a part of what it took, and the others none.
fn by_one_client(client: &ClientRecord, unit: &Unit) -> Option<f64> {
    let used = client.process_cpu_share?;
    let number = unit.name.strip_prefix("cpu").and_then(|number| number.parse::<u32>().ok());
    let number = number.filter(|_| unit.kind == ResourceKind::Core);
    match client.bound_to.as_deref().zip(number) {
        Some((own, number)) if own.contains(&number) => {
            Some(used / real(u64::try_from(own.len()).unwrap_or(u64::MAX)))
        }
        Some((own, _)) if !own.is_empty() => Some(0.0),
        _ => Some(used / f64::from(client.cpus?.max(1))),
    }
}

/// Of a machine's processors, what neither the client nor the daemons whose threads are looked at nor interrupts took; `None`
/// where no daemon is named, or where it is not known what the client took.
fn by_others(stage: &StageRecord, unit: &Unit, machines: &Machines) -> Option<f64> {
    let node = stage.nodes.iter().find(|node| node.name == unit.node)?;
    let of = |kind: ResourceKind| node.units.iter().filter(move |one| one.kind == kind).map(|one| one.busy);
    let sum = |row: &q::Quantity| -> f64 {
        node.quantities.iter().filter(|one| one.quantity == row.id).map(|one| one.mean).sum()
    };
    let (all, daemons) = (of(ResourceKind::Core).sum::<f64>(), machines.daemons_busy(stage, &unit.node));
    if unit.kind != ResourceKind::Machine || daemons <= 0.0 {
        return None;
    }
    let cores = real(u64::try_from(of(ResourceKind::Core).count()).ok().filter(|cores| *cores > 0)?);
    let has_client = stage.clients.iter().any(|client| machines::runs(node, client));
    let client = if has_client { by_client(stage, unit)? * cores } else { 0.0 };
    Some(((all - daemons - client - sum(&q::CPU_INTERRUPTS)) / cores).max(0.0))
}

/// Of all operations that ended, what failed; or of all requests, what was a repetition, where that is more: a store that refuses
/// and is asked again until it does not refuses all the same.
pub(crate) fn failed_share(stage: &StageRecord) -> f64 {
    let sum = |of: fn(&OperationResult) -> u64| measuring(stage).map(of).sum::<u64>();
    let (failed, repeated) = (sum(|op| op.failed), sum(|op| op.retries));
    let of_operations = real(failed) / real((sum(|op| op.ok) + failed).max(1));
    of_operations.max(real(repeated) / real(sum(|op| op.requests).max(repeated).max(1)))
}

/// Of all operations that ended, what the store itself turned away.
fn refused_share(stage: &StageRecord) -> f64 {
    let by_store = |class: &str| class == "http_429" || class.starts_with("http_5");
    let refused = |op: &OperationResult| -> u64 {
        op.errors.iter().filter(|(class, _)| by_store(class)).map(|(_, count)| *count).sum()
    };
    let ended: u64 = measuring(stage).map(|op| op.ok + op.failed).sum();
    real(measuring(stage).map(refused).sum()) / real(ended.max(1))
}

/// Of a machine's processors or one of them, what a hypervisor gave to somebody else: it has no more time left than one that is
/// as much busier.
fn stolen(nodes: &[NodeResult], unit: &Unit) -> f64 {
    let Some(node) = nodes.iter().find(|node| node.name == unit.node) else { return 0.0 };
    let seen = node.quantities.iter().filter(|one| one.quantity == q::CPU_STEAL.id);
    let of_core = |name: &str| seen.clone().filter(|one| one.unit == name).map(|one| one.mean).sum::<f64>();
    let cores: Vec<&str> = match unit.kind {
        ResourceKind::Core => vec![unit.name.as_str()],
        ResourceKind::Machine => {
            let all = node.units.iter().filter(|one| one.kind == ResourceKind::Core);
            all.map(|one| one.name.as_str()).collect()
        }
        _ => Vec::new(),
    };
    let count = u64::try_from(cores.len()).unwrap_or(u64::MAX);
    cores.into_iter().map(of_core).sum::<f64>() / real(count.max(1))
}

/// Processors that ran for less of the time say little of what a hypervisor takes.
const RAN: f64 = 0.1;

/// Of what a thread of this machine ran, what a hypervisor took in addition: at least as much as of the processor of which it took
/// least. A kernel counts it as nobody's (`CONFIG_PARAVIRT_TIME_ACCOUNTING`), and the thread could not have used it.
fn least_stolen(node: &NodeResult) -> f64 {
    let figures = node.quantities.iter().filter(|one| one.quantity == q::CPU_STEAL.id);
    let taken: BTreeMap<&str, f64> = figures.map(|one| (one.unit.as_str(), one.mean)).collect();
    let cores = node.units.iter().filter(|one| one.kind == ResourceKind::Core && one.busy >= RAN);
    let parts = cores.map(|core| taken.get(core.name.as_str()).copied().unwrap_or(0.0) / core.busy);
    parts.reduce(f64::min).unwrap_or(0.0)
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
            let usage = Usage { busy: Some(unit.busy), waiting: unit.waiting, ..Usage::default() };
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

/// The client's machine took much of the time of operations. One that others stop and continue (`cpulimit`, a machine that
/// is frozen for moments) is neither busy nor ready to run: only its pauses show it. A tail that was moved, or a processor
/// that a hypervisor takes from a client with little to do, says nothing of what limits the rate.
fn is_held_up(run: &RunRecord, stage: &StageRecord) -> bool {
    let warned = |check: &str| {
        run.verdict.checks.iter().any(|one| {
            one.id == check && one.stage.as_ref() == Some(&stage.id) && one.status == CheckStatus::Warn
        })
    };
    let is_moved = |causes: &[Cause], bound: Option<&Bound>, side: fn(Spread) -> Option<f64>, value: f64| {
        bound.is_some_and(|bound| match (side(bound.client), bound.cause) {
            // Where what makes the interval wide is chance, the client's part of it stands beside that.
            (Some(by), Some(cause)) => {
                (causes.contains(&cause) || cause == Cause::Sampling) && by > MOVED * value
            }
            // Where no limit is known, all of it may be theirs.
            (None, Some(cause)) => causes.contains(&cause),
            (_, None) => false,
        })
    };
    let is_by = |causes: &[Cause], op: &OperationResult| {
        let bound = |figure: &str| op.bounds.get(figure);
        op.throughput_per_s
            .is_some_and(|value| is_moved(causes, bound("throughput_per_s"), |client| client.above, value))
            || op
                .service_ms
                .mean
                .is_some_and(|value| is_moved(causes, bound("service_ms.mean"), |client| client.below, value))
    };
    TROUBLES.iter().any(|(check, causes)| warned(check) && measuring(stage).any(|op| is_by(causes, op)))
}

/// The client, and not the store, may have been what limited the rate.
fn is_client_full(run: &RunRecord, stage: &StageRecord) -> bool {
    // A thread that has to wait for a processor, or for its quota, never shows as busy, however much it has to do.
    let wanted = |client: &ClientRecord| {
        let waits = [client.run_queue_wait_share_max, client.steal_share];
        client.thread_busy_max.unwrap_or(0.0) + waits.into_iter().flatten().sum::<f64>()
    };
    let stopped = |client: &ClientRecord| client.quota_stopped_share.unwrap_or(0.0) > STOPPED_SHARE;
    stage.clients.iter().any(|client| wanted(client) > SATURATED_SHARE || stopped(client))
        || is_held_up(run, stage)
        || run.verdict.checks.iter().any(|check| {
            check.stage.as_ref() == Some(&stage.id)
                && check.status == CheckStatus::Fail
                && CLIENT_CHECKS.contains(&check.id.as_str())
        })
}

pub(crate) fn ladder(run: &RunRecord, stages: &[&StageRecord]) -> Ladder {
    let units: BTreeSet<Unit> =
        stages.iter().flat_map(|stage| units_of(&stage.nodes)).map(|one| one.0).collect();
    let units: Vec<Unit> = units.into_iter().collect();
    let machines = Machines::of(stages, &units);
    let units = machines.each_once(units);
    let usage_in = |nodes: &[NodeResult]| -> Vec<Usage> {
        let mut seen: BTreeMap<Unit, Usage> = BTreeMap::new();
        for (unit, usage) in units_of(nodes) {
            seen.entry(unit).or_insert(usage);
        }
        // Threads that did next to nothing are left out of the figures of a machine that was read.
        let idle = |unit: &Unit| {
            let read = nodes.iter().any(|node| node.name == unit.node && !node.units.is_empty());
            let busy = (unit.kind == ResourceKind::Thread && read).then_some(0.0);
            Usage { busy, ..Usage::default() }
        };
        let of_threads: BTreeMap<&str, f64> =
            nodes.iter().map(|node| (node.name.as_str(), least_stolen(node))).collect();
        let taken = |unit: &Unit, busy: f64| match unit.kind {
            ResourceKind::Thread => busy * of_threads.get(unit.node.as_str()).copied().unwrap_or(0.0),
            _ => stolen(nodes, unit),
        };
        let of = |unit: &Unit| {
            let own = seen.get(unit).copied().unwrap_or_else(|| idle(unit));
            let stolen = own.busy.map_or(0.0, |busy| taken(unit, busy).min(1.0 - busy).max(0.0));
            Usage { busy: own.busy.map(|busy| busy + stolen), stolen, ..own }
        };
        units.iter().map(of).collect()
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
            own.by_others = by_others(stage, unit, &machines);
        }
        Some(Step {
            throughput_per_s,
            counted: Some(measuring(stage).map(|op| op.ok).sum()),
            in_flight,
            service_s,
            // A store that turns operations away would not do more for a client that had more time.
            client_clear: !is_client_full(run, stage) || refused_share(stage) > FAILED,
            failed_share: failed_share(stage),
            offered_per_s: offered_of(stage),
            bytes_each: bytes_of(stage) / throughput_per_s,
            usage,
        })
    });
    let steps = steps.collect();
    let idle = usage_in(&run.idle_nodes).into_iter().map(|usage| usage.busy).collect();
    volumes::left_out(Ladder { units: machines.with_roles(units), idle, steps })
}

fn answer(run: &RunRecord, stages: &[&StageRecord]) -> BottleneckResult {
    let ladder = ladder(run, stages);
    let found = diagnose(&Machines::of(stages, &ladder.units).joined(&ladder));
    let said = say(&ladder, &found);
    let text = with_what_else(said.text, &ladder, &found, stages);
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
    let ceiling = named.first().and_then(|first| found.candidates.iter().find(|one| one.unit == *first));
    let plateau_per_s = found.plateau_per_s.unwrap_or_default();
    let reported = ceiling.and_then(|one| one.reported(plateau_per_s));
    let (ceiling_per_s, low, high) = reported.map_or((None, None, None), numbers);
    BottleneckResult {
        answer: word.to_owned(),
        confidence: confidence.map(str::to_owned),
        units: named.iter().filter_map(name).collect(),
        plateau_per_s: found.plateau_per_s,
        ceiling_per_s,
        ceiling_low_per_s: low,
        ceiling_high_per_s: high,
        ceiling_by: reported.zip(ceiling).map(|(how, one)| reported_by(how, one).to_owned()),
        text,
        second: said.second,
        refute: said.refute,
        skewed: said.skewed,
        stages: stages.iter().map(|stage| stage.id.clone()).collect(),
        steps: steps_of(&ladder, stages),
        candidates: found
            .candidates
            .iter()
            .take(MOST_CANDIDATES)
            .filter_map(|one| candidate(&ladder, one, plateau_per_s))
            .collect(),
    }
}

/// The answer, with what no unit shows and may be the limit all the same.
fn with_what_else(text: String, ladder: &Ladder, found: &Diagnosis, stages: &[&StageRecord]) -> String {
    let is_disk = |unit: &usize| ladder.units[*unit].kind == ResourceKind::Disk;
    let (is_open, may_be_memory) = match &found.answer {
        // What is moved out of memory and back fills a disk, too.
        Answer::Named { units, .. } | Answer::Several(units) => (false, units.iter().any(is_disk)),
        Answer::Limit(_) | Answer::Unexplained => (true, true),
        answer => (*answer == Answer::NothingMeasured, false),
    };
    let silent = silent(stages).filter(|_| is_open);
    let inside = inside::inside(ladder, stages).filter(|_| is_open);
    let dropped = dropped::dropped(ladder, stages).filter(|_| is_open);
    let own_link = own_link::unknown(ladder, stages).filter(|_| is_open);
    let short = short_of_memory(ladder, stages).filter(|_| may_be_memory);
    let twice = whole::perhaps_twice(stages).filter(|_| is_open || may_be_twice(&found.answer));
    // Machines that are listed need not be.
    let is_listed =
        found.answer == Answer::NothingMeasured && found.unmeasured.is_empty() && silent.is_some();
    let first = Some(text).filter(|_| !is_listed);
    let besides = inside.into_iter().chain(dropped).chain(own_link).chain(silent).chain(short).chain(twice);
    first.into_iter().chain(besides).collect::<Vec<_>>().join("; ")
}

/// A name that a machine could have got, or taken from another, because it was counted twice.
fn may_be_twice(answer: &Answer) -> bool {
    matches!(answer, Answer::Named { .. } | Answer::Several(_))
}

/// Tasks that wait for memory in so much of the time, and in so many times as much as at the lowest load, are held up by it.
const SHORT: (f64, f64) = (0.1, 2.0);

/// Machines whose memory was short at the highest load.
fn short_of_memory(ladder: &Ladder, stages: &[&StageRecord]) -> Option<String> {
    let order = ladder.order();
    let (first, last) = (stages.get(*order.first()?)?, stages.get(*order.last()?)?);
    let share = |stage: &StageRecord, name: &str| -> f64 {
        let nodes = stage.nodes.iter().filter(|node| node.name == name);
        let all = nodes.flat_map(|node| &node.quantities);
        all.filter(|one| one.quantity == q::MEMORY_PRESSURE.id).map(|one| one.mean).sum()
    };
    let short = last.nodes.iter().filter_map(|node| {
        let (low, high) = (share(first, &node.name), share(last, &node.name));
        let is_short = high >= SHORT.0 && high >= SHORT.1 * low;
        is_short
            .then(|| format!("{} ({}) in {:.0} % of the time", node.name, node.role, high.min(1.0) * 100.0))
    });
    let short: Vec<String> = short.collect();
    (!short.is_empty())
        .then(|| format!("memory was short there: tasks waited for it on {}", short.join(" and ")))
}

/// Machines that are listed and gave no figures in most of the steps, and what to do about it: what limits the store may be there.
fn silent(stages: &[&StageRecord]) -> Option<String> {
    const SHOWN: usize = 3;
    #[derive(Default)]
    struct Seen {
        steps: usize,
        silent: usize,
        answered: bool,
    }
    let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
    for node in stages.iter().flat_map(|stage| &stage.nodes) {
        let own = seen.entry(format!("{} ({})", node.name, node.role)).or_default();
        own.steps += 1;
        own.silent += usize::from(node.readings < 2);
        own.answered |= node.readings > 0;
    }
    seen.retain(|_, own| own.silent * 2 > own.steps);
    let all = seen.len();
    let answered = seen.values().any(|own| own.answered);
    let mut names: Vec<String> = seen.into_keys().take(SHOWN).collect();
    if all > SHOWN {
        names.push(format!("{} more", all - SHOWN));
    }
    let why = if answered {
        "new figures came less than twice in a step; let each step last three times as long as it takes to renew them (of an \
         exporter that does so every 15 s: 45 s), or read these machines another way (ssh, an agent)"
    } else {
        "no figures came; `nodes` of the stages says why"
    };
    (all > 0).then(|| format!("nothing is known of {}: {why}", names.join(" and ")))
}

/// A ceiling and the ends of its interval; those of what was not predicted, and an end that is none, are not known.
fn numbers(reported: Reported) -> (Option<f64>, Option<f64>, Option<f64>) {
    match reported {
        Reported::Predicted(per_s, low, high) => {
            (Some(per_s), Some(low), Some(high).filter(|high| high.is_finite()))
        }
        Reported::WhenFull(per_s) => (Some(per_s), None, None),
    }
}

/// What the ceiling of a unit was predicted by, or read from.
fn reported_by(reported: Reported, one: &Candidate) -> &'static str {
    match (reported, one.when_full, one.demand.waking > 0.0) {
        (Reported::WhenFull(_), ..) => "when_full",
        (_, Some(_), _) => "falling_costs",
        (_, None, true) => "waking",
        (_, None, false) => "line",
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

fn candidate(ladder: &Ladder, one: &Candidate, plateau_per_s: f64) -> Option<CandidateResult> {
    let unit = ladder.units.get(one.unit)?;
    let finite = |rate: f64| Some(rate).filter(|rate| rate.is_finite());
    let needs_none = || {
        let (low, high) = one.demand.ceiling_interval();
        (None, finite(low), finite(high))
    };
    let (per_s, low, high) = one.reported(plateau_per_s).map_or_else(needs_none, numbers);
    let against = one.against.iter().map(|why| match why {
        Against::CeilingElsewhere => "its ceiling lies away from the plateau",
        Against::NotBusy => "it had time left at the plateau",
        Against::NotMeasured => "how busy it was at the plateau was not measured",
        Against::NotFull => "it had a little time left at the plateau, and no queue of it goes on growing",
        Against::NothingWaits => "what waits for it does not grow with the load",
        Against::BusyAnyway => "most of what it is busy with is there without any operation",
        Against::DemandChanges => "what an operation costs it changes with the load",
        Against::SharesWork => "other processors of its machine are nearly as busy and take work from it",
    });
    Some(CandidateResult {
        node: unit.node.clone(),
        kind: unit.kind,
        name: unit.name.clone(),
        demand_ms: one.demand.seconds * 1e3,
        demand_low_ms: one.demand.low * 1e3,
        demand_high_ms: one.demand.high * 1e3,
        idle: one.demand.idle,
        ceiling_per_s: per_s,
        ceiling_low_per_s: low,
        ceiling_high_per_s: high,
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
mod tests;
