//! Evidence for the verdict from an archive: what the run recorded of a stage, and what its workload says of the data.

mod compared;
mod faults;
mod planned;
mod series;
mod times;
mod works;

use std::collections::BTreeMap;

use cosmark_archive::{
    BesideRecord, ClientRecord, DurabilityRecord, LoopKind, MissingRecord, OperationResult, PauseRecord, Run,
    StageRecord, StageState,
};
use cosmark_metrics::Latencies;
use cosmark_workload::Workload;
use cosmark_workload::model::{ConfigValue, Content, Effect, Load, OpKind, Stage, Work, WorkKind};
use cosmark_workload::reachability::{Missing, missing, read_bytes, read_bytes_of_stages};
use cosmark_workload::read_sizes::sizes_read;
use cosmark_workload::schedule::due_in_window;
use cosmark_workload::units::parse_size;

pub use planned::Places;

use crate::evidence::{
    ClockEvidence, DriverEvidence, DurabilityEvidence, Evidence, GapEvidence, Logged, Miss,
    OperationEvidence, Outside, Pacing, PauseEvidence, ScheduleEvidence, StoreEvidence, WRONG_LISTING,
    WorkEvidence,
};
use crate::numbers::plain;

/// True for what prepares a measurement and clears up after it: looked at for errors only.
#[must_use]
pub fn is_special(operation: &str) -> bool {
    matches!(operation, "init" | "prepare" | "mprepare" | "cleanup" | "dispose")
}

/// Operations of a stage that measure something; none in a stage that only prepares or clears up.
pub fn measured(stage: &StageRecord) -> impl Iterator<Item = &OperationResult> {
    stage.operations.iter().filter(|operation| !is_special(&operation.op))
}

/// Everything that the archive has on the stage at 0-based `index`.
#[must_use]
pub fn of_stage(run: &Run, index: usize, stage: &StageRecord, workload: Option<&Workload>) -> Evidence {
    let places = workload.map(|workload| Places::of(&run.record.stages, workload)).unwrap_or_default();
    let own = places.get(index);
    let planned = workload.and_then(|workload| places.plan(index, stage, workload));
    let plan = planned.as_deref();
    if let Some((plan, workload)) = plan.zip(workload)
        && let Some((stage, workload)) = works::apart(stage, plan, workload)
    {
        return of_stage(run, index, &stage, Some(&workload));
    }
    let counts = |at: usize, work: usize, op: usize| {
        let record = if own == Some(at) { index } else { places.first_of(at)? };
        calls_of(run, workload, (at, record), work, op)
    };
    let misses = own.and(workload).map(|workload| {
        missing(workload, Some(&counts)).iter().filter(|miss| own == Some(miss.stage)).map(miss_of).collect()
    });
    let compared = workload
        .map(|workload| compared::writes_compared(&run.record.stages, &places, (index, stage), workload))
        .unwrap_or_default();
    Evidence {
        window_s: stage.window_s.unwrap_or(0.0),
        rampup_s: plan
            .map(|plan| plan.works.iter().map(|work| work.rampup.as_secs_f64()).fold(0.0, f64::max)),
        works: works_of(stage, plan),
        operations: stage
            .operations
            .iter()
            .enumerate()
            .filter(|(_, operation)| !is_special(&operation.op))
            .map(|(at, operation)| {
                let sizes = workload.and_then(|workload| sizes_of(workload, own?, operation));
                let is_compared = compared.get(at).copied().unwrap_or_default();
                OperationEvidence { sizes, is_compared, ..operation_of(operation) }
            })
            .collect(),
        moving: None,
        // A file that cannot be read is as good as none: the check says that it had nothing to look at.
        series: series::series_of(run, stage, plan).unwrap_or_default(),
        clients: stage.clients.clone(),
        drivers: drivers_of(stage),
        clocks: clocks_of(stage),
        start_skew_s: stage.start_spread_ms.map(|ms| ms / 1000.0),
        start_skew_error_s: stage.start_spread_error_ms.map(|ms| ms / 1000.0),
        missing: stage.missing.iter().map(gap_of).collect(),
        pauses: stage.pauses.iter().map(|pause| pause_of(stage, pause)).collect(),
        in_faults: faults::in_slots(run, stage),
        is_cut: stage.cut_s.is_some() || !stage.state.is_over(),
        beside: stage.beside.iter().map(beside_of).collect(),
        misses,
        store: store_of(workload, own, &counts),
        repetitions: Vec::new(),
        nodes: stage.nodes.clone(),
        idle_nodes: run.record.idle_nodes.clone(),
        durability: run.record.durability.iter().map(durability_of).collect(),
        reads_back: workload.is_some_and(|workload| workload.durability),
    }
}

fn durability_of(record: &DurabilityRecord) -> DurabilityEvidence {
    DurabilityEvidence {
        objects: record.objects,
        read: record.read(),
        broken: record.broken(),
        words: record.broken_words(),
        open: record.late + record.undecided + record.unreadable,
    }
}

/// The same with the times of each operation over the window, as far as the histogram log has them: what the bounds of its
/// figures need to be as narrow as they can be. Takes as long as the log is.
#[must_use]
pub fn of_whole_stage(run: &Run, index: usize, stage: &StageRecord, workload: Option<&Workload>) -> Evidence {
    let mut evidence = of_stage(run, index, stage, workload);
    times::add(run, stage, &mut evidence);
    evidence
}

/// The clocks of drivers on other machines than the controller. A driver that was lost may have begun anew, with a clock that
/// counts from then: what lies between the two is no drift.
fn clocks_of(stage: &StageRecord) -> Vec<ClockEvidence> {
    let clock = |client: &ClientRecord| {
        let is_there = !stage.missing.iter().any(|gap| gap.driver == client.driver);
        Some(ClockEvidence {
            driver: client.driver.clone(),
            offset_ms: client.clock_offset_ms?,
            offset_after_ms: client.clock_offset_after_ms,
            error_ms: client.clock_error_ms?.max(client.clock_error_after_ms.unwrap_or(0.0)),
            strayed_ms: client.clock_strayed_ms.filter(|_| is_there),
            drift: client.clock_drift_ppm.filter(|_| is_there).map(|ppm| ppm / 1e6),
            drift_error: client.clock_drift_error_ppm.unwrap_or(0.0) / 1e6,
        })
    };
    stage.clients.iter().filter_map(clock).collect()
}

fn beside_of(beside: &BesideRecord) -> String {
    let BesideRecord { driver, run, requests_per_s, same_driver, stores } = beside;
    let what = if stores.is_empty() { "one of the drivers".to_owned() } else { stores.join(", ") };
    let also = if *same_driver && !stores.is_empty() { ", a driver of this run," } else { "" };
    format!(
        "run {run} loaded {what}, too (driver {driver}{also} sent up to {} requests/s)",
        plain(requests_per_s.round())
    )
}

fn gap_of(missing: &MissingRecord) -> GapEvidence {
    let MissingRecord { driver, works: _, workers, from_s, to_s: _ } = missing;
    GapEvidence { driver: driver.clone(), workers: u64::from(*workers), from_s: *from_s }
}

/// With the workers that the driver had of each work; where one driver made all of the load its part is not told apart.
fn pause_of(stage: &StageRecord, pause: &PauseRecord) -> PauseEvidence {
    let PauseRecord { driver, from_s, to_s, reason } = pause;
    let mut works: Vec<&str> = Vec::new();
    let mut workers = 0;
    for operation in measured(stage) {
        if works.contains(&operation.work.as_str()) {
            continue;
        }
        works.push(&operation.work);
        let own = operation.drivers.iter().find(|part| part.driver == *driver).map(|part| part.workers);
        let all = operation.drivers.is_empty().then_some(operation.workers);
        workers += u64::from(own.or(all).unwrap_or(0));
    }
    PauseEvidence { driver: driver.clone(), workers, from_s: *from_s, to_s: *to_s, reason: reason.clone() }
}

/// Successes per second of everything that a stage measured.
#[must_use]
pub fn rate_of(stage: &StageRecord) -> f64 {
    measured(stage).filter_map(|operation| operation.throughput_per_s).sum()
}

fn drivers_of(stage: &StageRecord) -> usize {
    stage
        .operations
        .iter()
        .map(|operation| operation.drivers.len())
        .max()
        .unwrap_or(0)
        .max(stage.clients.len())
        .max(1)
}

/// What an operation did over its stage (its place in the workload, and in the record), ramps included as far as the rate in the window tells.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn calls_of(
    run: &Run,
    workload: Option<&Workload>,
    (stage, record): (usize, usize),
    work: usize,
    op: usize,
) -> Option<f64> {
    let works = &workload?.stages.get(stage)?.works;
    let before: usize = works.iter().take(work).map(|work| work.operations.len()).sum();
    let record = run.record.stages.get(record)?.operations.get(before + op)?;
    let plan = works.get(work)?;
    let window = plan.runtime.as_secs_f64();
    let ramps = if window > 0.0 { 1.0 + plan.rampup.as_secs_f64() / window } else { 1.0 };
    (plan.kind == WorkKind::Normal).then_some((record.ok + record.failed) as f64 * ramps)
}

/// In the words of the verdict.
#[must_use]
pub fn miss_of(missing: &Missing) -> Miss {
    Miss {
        work: missing.work.clone(),
        operation: missing.operation.clone(),
        kind: missing.kind.word().to_owned(),
        share: missing.share,
        may_succeed: missing.kind == OpKind::Delete,
        is_unwritten: missing.is_unwritten,
        cause: missing.cause.clone(),
    }
}

fn works_of(stage: &StageRecord, plan: Option<&Stage>) -> Vec<WorkEvidence> {
    let mut works: Vec<WorkEvidence> = Vec::new();
    // What was ended because enough was known has no length that was planned.
    let on_time = stage.state == StageState::Completed
        && stage.missing.is_empty()
        && stage.pauses.is_empty()
        && stage.stopped_early.is_none();
    for operation in measured(stage) {
        if works.iter().any(|work| work.name == operation.work) {
            continue;
        }
        let planned = plan.and_then(|plan| plan.works.iter().find(|work| work.name == operation.work));
        works.push(WorkEvidence {
            name: operation.work.clone(),
            workers: u64::from(operation.workers),
            window_s: operation.window_s,
            pacing: pacing_of(operation.arrival, planned),
            pace_per_s: planned.and_then(pace_of),
            schedule: planned.filter(|_| on_time).and_then(schedule_of),
        });
    }
    works
}

/// What a work was to do by the clock; `None` where totals may end it before.
fn schedule_of(work: &Work) -> Option<ScheduleEvidence> {
    let by_time = !work.runtime.is_zero() && work.total_ops.is_none() && work.total_bytes.is_none();
    let due = due_in_window(work);
    by_time.then(|| ScheduleEvidence {
        planned_s: work.runtime.as_secs_f64(),
        due: due.map(|due| due.count),
        spread: due.map_or(0.0, |due| due.spread),
    })
}

/// What a rate per worker makes of all workers, per second. A pause between operations makes it no more.
fn pace_of(work: &Work) -> Option<f64> {
    match &work.load {
        Load::Paced { rate_per_worker, .. } => rate_per_worker.map(|rate| rate * f64::from(work.workers)),
        Load::Open { .. } | Load::Closed => None,
    }
}

fn pacing_of(arrival: Option<LoopKind>, planned: Option<&Work>) -> Pacing {
    match (arrival, planned.map(|work| &work.load)) {
        (Some(LoopKind::Open), _) | (None, Some(Load::Open { .. })) => Pacing::Open,
        (Some(LoopKind::Paced), _) | (None, Some(Load::Paced { .. })) => Pacing::Paced,
        _ => Pacing::Closed,
    }
}

/// Storages that give reads a length of their own, or count what is on the wire and not what is in the object.
const OWN_LENGTHS: &[&str] = &["none", "mock", "plugin", "cdmi", "cdmi_swift"];

/// How long the objects are that a read finds, where the workload tells.
fn sizes_of(workload: &Workload, stage: usize, record: &OperationResult) -> Option<(u64, u64)> {
    let works = &workload.stages.get(stage)?.works;
    let at = works.iter().position(|work| work.name == record.work)?;
    let work = works.get(at).filter(|work| !OWN_LENGTHS.contains(&work.storage.kind.as_str()))?;
    let op = work.operations.iter().position(|operation| operation.name == record.name)?;
    sizes_read(workload, stage, at, op)
}

fn operation_of(record: &OperationResult) -> OperationEvidence {
    let if_any = |times: &Latencies| (times.count > 0).then(|| times.clone());
    OperationEvidence {
        work: record.work.clone(),
        name: record.name.clone(),
        kind: record.sample.clone(),
        window_s: record.window_s,
        ok: record.ok,
        failed: record.failed,
        missed: record.missed,
        delayed: record.delayed,
        unfinished: record.unfinished,
        bytes: record.bytes,
        requests: record.requests,
        retries: record.retries,
        renewals: record.renewals,
        connections: record.connections,
        intended: record.intended,
        in_flight_mean: record.in_flight_mean,
        workers_done_mean: record.workers_done_mean,
        age_at_start_s: record.age_at_start_s,
        age_at_end_s: record.age_at_end_s,
        response: record.response_ms.clone(),
        service: record.service_ms.clone(),
        failed_service: record.failed_service_ms.clone(),
        connect: record.connect_ms.clone(),
        lag: if_any(&record.lag_ms),
        unfinished_age: if_any(&record.unfinished_age_ms),
        checked: Some(record.checked),
        is_compared: false,
        sizes: None,
        errors: record.errors.clone(),
        wrong_listing: example_of(record, WRONG_LISTING),
        drivers: record.drivers.iter().map(|driver| driver_of(driver, record.window_s)).collect(),
        first_byte: record.first_byte_ms.clone(),
        logged: Logged::default(),
        steps: Vec::new(),
        outside: Outside::default(),
        client_share: if_any(&record.client_added_ms).filter(|share| says_enough(share, record.ok)),
        wire: if_any(&record.wire_ms).filter(|wire| says_enough(wire, record.ok)),
        bounds: BTreeMap::new(),
    }
}

/// What was said of one failure of a class, without the remedy.
fn example_of(record: &OperationResult, class: &str) -> Option<String> {
    let said = |text: &String| Some(text.strip_prefix(class)?.strip_prefix(": ")?.to_owned());
    let text = record.error_examples.iter().find_map(said)?;
    Some(text.split_once("; ").map_or(text.clone(), |(what, _)| what.to_owned()))
}

/// Whether stamps speak for `ok` operations: of few that were drawn they say nothing of the slow ones, but where all were stamped
/// the slow ones are among them, however few they are.
fn says_enough(stamped: &Latencies, ok: u64) -> bool {
    const NEARLY_ALL: (u64, u64) = (99, 100);
    let are_nearly_all = stamped.count.saturating_mul(NEARLY_ALL.1) >= ok.saturating_mul(NEARLY_ALL.0);
    stamped.p99.is_some() || (stamped.p50.is_some() && are_nearly_all)
}

#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn driver_of(record: &cosmark_archive::DriverResult, window_s: f64) -> DriverEvidence {
    DriverEvidence {
        driver: record.driver.clone(),
        workers: u64::from(record.workers),
        rate_per_s: if window_s > 0.0 { record.sums.ok as f64 / window_s } else { 0.0 },
        response: record.sums.response_ms.clone(),
    }
}

/// What the storage entries of the stage say of the store, and what is read from it.
fn store_of(
    workload: Option<&Workload>,
    index: Option<usize>,
    counts: &dyn Fn(usize, usize, usize) -> Option<f64>,
) -> StoreEvidence {
    let own = workload.zip(index).and_then(|(all, index)| Some((all, index, all.stages.get(index)?)));
    let Some((workload, index, stage)) = own else { return StoreEvidence::default() };
    StoreEvidence {
        read_bytes: read_bytes(workload, index, Some(counts)),
        writes_zeros: writes_zeros(prepares_zeros(workload), stage),
        ..facts_of(stage)
    }
}

/// What the storage entries of the stage say.
fn facts_of(stage: &Stage) -> StoreEvidence {
    let works = || stage.works.iter().filter(|work| work.kind == WorkKind::Normal);
    let fact = |key: &str| works().find_map(|work| text_of(work, key));
    let mut kinds: Vec<String> = works().map(|work| work.storage.kind.clone()).collect();
    kinds.dedup();
    #[expect(clippy::cast_precision_loss, reason = "memory of servers fits 53 bits")]
    StoreEvidence {
        kinds,
        read_bytes: None,
        replicas: fact("sut_replicas").and_then(|text| text.parse().ok()),
        ram_bytes: fact("sut_ram").and_then(|text| parse_size(&text).ok()).map(|bytes| bytes as f64),
        cache_intended: fact("sut_cache").is_some_and(|text| text.eq_ignore_ascii_case("intended")),
        short_intended: is_short_on_purpose(stage),
        new_connections_intended: fact("sut_connections")
            .is_some_and(|text| text.eq_ignore_ascii_case("new")),
        writes_zeros: None,
        background: fact("sut_background").map(|text| text.to_ascii_lowercase()),
    }
}

/// A stage whose storages say so (`sut_window: short`).
#[must_use]
pub fn is_short_on_purpose(stage: &Stage) -> bool {
    let is_short =
        |work: &Work| text_of(work, "sut_window").is_some_and(|text| text.eq_ignore_ascii_case("short"));
    stage.works.iter().filter(|work| work.kind == WorkKind::Normal).any(is_short)
}

/// Whether anything that Cosmark writes, in this stage or for it in a prepare stage, is zeros; `None` when it writes nothing.
fn writes_zeros(prepared: Option<bool>, stage: &Stage) -> Option<bool> {
    let own = stage.works.iter().filter(|work| work.kind == WorkKind::Normal);
    prepared.into_iter().chain(zeros_in(own)).reduce(|a, b| a || b)
}

/// The same of all prepare stages.
fn prepares_zeros(workload: &Workload) -> Option<bool> {
    let works = workload.stages.iter().flat_map(|stage| &stage.works);
    zeros_in(works.filter(|work| work.kind == WorkKind::Prepare))
}

fn zeros_in<'a>(works: impl Iterator<Item = &'a Work>) -> Option<bool> {
    let writes = works.flat_map(|work| &work.operations).filter(|op| writes_made_content(op.kind));
    writes.map(|op| op.content == Content::Zero).reduce(|a, b| a || b)
}

/// Made content, not files of the user.
fn writes_made_content(kind: OpKind) -> bool {
    matches!(kind.row().effect, Effect::Writes | Effect::WritesLocally)
}

fn text_of(work: &Work, key: &str) -> Option<String> {
    let entry = work.storage.config.entries.iter().rev().find(|entry| entry.key.eq_ignore_ascii_case(key))?;
    match &entry.value {
        ConfigValue::Text(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        _ => None,
    }
}

/// What the workload alone says of each of its stages, before anything is sent. All at once: each stage depends on those before.
#[must_use]
pub fn before(workload: &Workload) -> Vec<Evidence> {
    let mut misses: Vec<Vec<Miss>> = workload.stages.iter().map(|_| Vec::new()).collect();
    for miss in missing(workload, None) {
        if let Some(own) = misses.get_mut(miss.stage) {
            own.push(miss_of(&miss));
        }
    }
    let zeros = prepares_zeros(workload);
    let evidence = workload.stages.iter().zip(misses).zip(read_bytes_of_stages(workload));
    evidence
        .map(|((stage, misses), read_bytes)| Evidence {
            misses: Some(misses),
            store: StoreEvidence { read_bytes, writes_zeros: writes_zeros(zeros, stage), ..facts_of(stage) },
            ..Evidence::default()
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_all_of_few_operations_count_and_those_of_a_few_of_many_do_not() {
        let of = |count: u64| {
            let mut times = cosmark_metrics::Latency::default();
            (1..=count).for_each(|at| times.record(at * 1_000_000));
            Latencies::of(&times)
        };
        // Large objects: 200 writes in the window, each of them stamped; one may have been missed.
        assert!(says_enough(&of(200), 200) && says_enough(&of(200), 202));
        assert!(!says_enough(&of(190), 200), "the slow ones may be among the ten");
        assert!(!says_enough(&of(200), 100_000), "drawn from many");
        assert!(says_enough(&of(2000), 100_000), "enough for a p99");
        assert!(!says_enough(&of(5), 5), "five are no median");
    }
}
