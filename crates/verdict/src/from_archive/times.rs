//! The times and counts of each operation over its window: distributions by slice from the histogram log, counts by interval
//! from `intervals.csv`. What they say beyond the published figures is how operations of one moment resemble each other, and
//! any quantile of all of them.

use std::collections::BTreeMap;
use std::time::Duration;

use cosmark_archive::{ArchiveError, Run, StageRecord, TimeKind};
use cosmark_stats::batches::{Slices, WholeSlices};

use super::is_special;
use crate::evidence::{Evidence, Logged, OperationEvidence, Outside, Step};

/// A longer log is not read: its run is so long that the published percentiles say the same.
const MOST_LOG_BYTES: u64 = 256 << 20;

/// Adds them to the operations of a stage. What cannot be read is left out: the bounds are then wider, or of the published
/// percentiles.
pub(super) fn add(run: &Run, stage: &StageRecord, evidence: &mut Evidence) {
    let Evidence { operations, moving, .. } = evidence;
    let measured = || stage.operations.iter().filter(|operation| !is_special(&operation.op));
    let tags: Vec<&str> = measured().map(|operation| operation.tag.as_str()).collect();
    let (steps, began) = steps(run, stage, &tags).unwrap_or_default();
    for (op, steps) in operations.iter_mut().zip(steps) {
        op.steps = steps;
    }
    let window = |op: &OperationEvidence| Duration::try_from_secs_f64(op.window_s.min(1e9)).ok();
    let windows: Vec<Window> = operations
        .iter()
        .enumerate()
        .map(|(at, op)| Window { began: began.get(at).copied().flatten(), length: window(op) })
        .collect();
    for (op, logged) in operations.iter_mut().zip(logged(run, &tags, &windows).unwrap_or_default()) {
        op.logged = logged;
    }
    if operations.iter().all(|op| op.ended() == 0) {
        let (found, window) = outside(run, stage, &tags).unwrap_or_default();
        for (op, outside) in operations.iter_mut().zip(found) {
            op.outside = outside;
        }
        let under_way = operations.iter().fold(0, |all: u64, op| all.saturating_add(op.unfinished));
        *moving = window.and_then(|window| carried(run, stage, window, under_way));
    }
}

/// The window of an operation, as far as it is known: when it began on the clock of the log, and how long it was.
#[derive(Clone, Copy)]
struct Window {
    began: Option<Duration>,
    length: Option<Duration>,
}

fn logged(run: &Run, tags: &[&str], windows: &[Window]) -> Result<Vec<Logged>, ArchiveError> {
    let mut found: Vec<Logged> = tags.iter().map(|_| Logged::default()).collect();
    if run.histogram_bytes() > MOST_LOG_BYTES || tags.iter().all(|tag| tag.is_empty()) {
        return Ok(found);
    }
    let mut places: BTreeMap<String, (usize, TimeKind)> = BTreeMap::new();
    for (at, tag) in tags.iter().enumerate() {
        for kind in TimeKind::ALL {
            places.insert(format!("{tag}.{}", kind.word()), (at, kind));
        }
    }
    let mut seen: Vec<Option<Slices>> = vec![None; tags.len()];
    for entry in run.histograms()? {
        let entry = entry?;
        let own = places.get(&entry.tag).and_then(|(at, _)| seen.get_mut(*at));
        if let Some(own) = own {
            *own = Some(Slices::and(*own, entry.start, entry.length));
        }
    }
    let whole = |(seen, window): (&Option<Slices>, &Window)| {
        seen.as_ref().map(|seen| seen.whole(window.began, window.length))
    };
    let slices: Vec<Option<WholeSlices>> = seen.iter().zip(windows).map(whole).collect();
    for entry in run.histograms()? {
        let entry = entry?;
        let Some((at, kind)) = places.get(&entry.tag) else { continue };
        let (Some(logged), Some(Some(whole))) = (found.get_mut(*at), slices.get(*at)) else { continue };
        let batches = match kind {
            TimeKind::Response => &mut logged.response,
            TimeKind::Service => &mut logged.service,
            TimeKind::FirstByte => &mut logged.first_byte,
        };
        let batches = batches.get_or_insert_with(|| whole.batches());
        whole.add(batches, entry.start, entry.length, &entry.histogram);
    }
    for (logged, whole) in found.iter_mut().zip(&slices) {
        let Some(whole) = whole else { continue };
        let Logged { response, service, first_byte } = logged;
        for batches in [response, service, first_byte].into_iter().flatten() {
            whole.close(batches);
        }
    }
    Ok(found)
}

/// The steps of each operation, and when its window began on the clock of the log, where that is known.
type Course = (Vec<Vec<Step>>, Vec<Option<Duration>>);

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "milliseconds of a run")]
fn steps(run: &Run, stage: &StageRecord, tags: &[&str]) -> Result<Course, ArchiveError> {
    let mut found: Vec<BTreeMap<u64, Step>> = tags.iter().map(|_| BTreeMap::new()).collect();
    run.intervals(|line| {
        if line.stage != stage.id || line.phase != "window" {
            return;
        }
        let Some(steps) = tags.iter().position(|tag| *tag == line.tag).and_then(|at| found.get_mut(at))
        else {
            return;
        };
        // Drivers and late lines share an interval that begins at the same moment.
        let step = steps.entry((line.start_s.max(0.0) * 1e3) as u64).or_default();
        step.seconds = step.seconds.max(line.end_s - line.start_s);
        step.ok += line.ok;
        step.failed += line.failed;
        step.bytes += line.bytes;
    })?;
    let whole = |steps: BTreeMap<u64, Step>| {
        let longest = steps.values().map(|step| step.seconds).fold(0.0, f64::max);
        // A window rarely begins and ends where an interval does.
        steps.into_values().filter(|step| step.seconds > 0.9 * longest).collect()
    };
    let load = stage.load_started.zip(run.record.submitted);
    let load = load.and_then(|(load, base)| Duration::try_from(load.duration_since(base)).ok());
    let began = |steps: &BTreeMap<u64, Step>| {
        let (first_ms, _) = steps.first_key_value()?;
        Some(load?.saturating_add(Duration::from_millis(*first_ms)))
    };
    let began = found.iter().map(began).collect();
    Ok((found.into_iter().map(whole).collect(), began))
}

/// What ended outside of the window, and from when to when the window was, seconds since the load began.
type Around = (Vec<Outside>, Option<(f64, f64)>);

fn outside(run: &Run, stage: &StageRecord, tags: &[&str]) -> Result<Around, ArchiveError> {
    let mut found: Vec<Outside> = vec![Outside::default(); tags.len()];
    let mut window: Option<(f64, f64)> = None;
    run.intervals(|line| {
        let at = tags.iter().position(|tag| line.stage == stage.id && *tag == line.tag);
        let Some(outside) = at.and_then(|at| found.get_mut(at)) else { return };
        match line.phase.as_str() {
            "rampup" => outside.before += line.ok + line.failed,
            "window" => {
                let (from_s, to_s) = window.unwrap_or((line.start_s, line.end_s));
                window = Some((from_s.min(line.start_s), to_s.max(line.end_s)));
            }
            "rampdown" | "drain" => {
                outside.ok_after += line.ok;
                outside.failed_after += line.failed;
                outside.bytes_after += line.bytes;
            }
            _ => {}
        }
    })?;
    Ok((found, window))
}

/// Which part of a window the drivers' connections to the stores carried something; `None` where segments were not counted.
/// Who waits for an answer sends next to nothing: keepalives, and probes of a window that the other end has closed, which
/// come twice as late each time (RFC 9293, 3.8.6.1). Whoever sends sends segments, and who receives acknowledges them: more
/// than one a second for each operation that is `under_way`.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn carried(run: &Run, stage: &StageRecord, (from_s, to_s): (f64, f64), under_way: u64) -> Option<f64> {
    let (mut counted, mut all_s, mut moved_s) = (0_u64, 0.0, 0.0);
    let read = run.clients(|line| {
        let Some(segments) = line.tcp_segments_out.filter(|_| line.stage == stage.id) else { return };
        counted = counted.saturating_add(segments);
        let middle_s = line.time_s - 0.5 * line.span_s;
        if middle_s < from_s || middle_s > to_s {
            return;
        }
        all_s += line.span_s;
        if segments as f64 > line.span_s * under_way as f64 / stage.clients.len().max(1) as f64 {
            moved_s += line.span_s;
        }
    });
    // Nothing at all went over a connection that is counted: a file system, or a library with sockets of its own.
    (read.is_ok() && counted > 0 && all_s > 0.0).then(|| moved_s / all_s)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]
mod tests {
    use cosmark_archive::{
        Archive, HostRecord, IntervalLine, NewRun, RunState, StageState, StageTables, Timestamp, open_run,
    };
    use cosmark_metrics::{OpSnapshot, Phase, Sample, Snapshot};
    use cosmark_workload::{Environment, Format, parse, to_yaml};

    use super::super::of_whole_stage;
    use super::*;

    /// How many reads there are in each batch of a window that begins so many ms after its load and is so long: 100 in each
    /// second, and none in its first.
    fn batches(from_ms: u64, window_ms: u64) -> Vec<u64> {
        let text = "name: known\nstorage: {type: none}\nstages:\n  - name: main\n    works:\n      - {name: main, workers: 4, \
                    runtime: 8s, operations: [{type: read, containers: c(1), objects: c(1)}]}\n";
        let (workload, mistakes) = parse(text, Format::Yaml, &Environment::default());
        let workload = workload.unwrap_or_else(|| panic!("{mistakes:?}"));
        let submitted: Timestamp = "2026-01-05T08:00:00Z".parse().unwrap();
        let begun = submitted + Duration::from_micros(3_217_400);
        let root = tempfile::tempdir().unwrap();
        let new = NewRun {
            number: None,
            workload: &workload,
            seed: Some(7),
            source: None,
            config_xml: "<workload/>",
            config_yaml: &to_yaml(&workload),
            host: HostRecord::default(),
            submitted,
        };
        let mut run = Archive::open(root.path()).unwrap().begin(&new).unwrap();
        run.set_load_started(0, begun);
        run.enter_stage(0, StageState::Running, begun).unwrap();
        let (mut all, mut start_ms) = (OpSnapshot::default(), from_ms);
        while start_ms < from_ms + window_ms {
            let end_ms = (from_ms + window_ms).min((start_ms / 1000 + 1) * 1000);
            let count = if start_ms < from_ms + 1000 { 0 } else { (end_ms - start_ms) / 10 };
            let mut op = OpSnapshot::default();
            let time = Sample { due_ns: 1, sent_ns: 1, end_ns: 10_000_001, ..Sample::default() };
            (0..count).for_each(|_| op.add(&time, false));
            let (start_ns, end_ns) = (start_ms * 1_000_000, end_ms * 1_000_000);
            let slice = Snapshot { work: 0, phase: Phase::Window, start_ns, end_ns, ops: vec![op.clone()] };
            run.append_histograms(0, begun + Duration::from_nanos(start_ns), &slice).unwrap();
            let (start_s, end_s) = (start_ms as f64 / 1e3, end_ms as f64 / 1e3);
            let line = IntervalLine::of("d1", Phase::Window, start_s, end_s, &op);
            run.append_work_interval(0, 0, vec![line]).unwrap();
            all.merge(&op);
            start_ms = end_ms;
        }
        let mut record = run.record().stages[0].clone();
        record.set_results(&workload.stages[0], 0, &[(window_ms as f64 / 1e3, vec![all.clone()])]);
        let ended = begun + Duration::from_millis(from_ms + window_ms);
        record.enter(StageState::Completed, ended);
        run.end_stage(0, record).unwrap();
        let mut record = run.record().clone();
        (record.state, record.ended) = (RunState::Finished, Some(ended));
        run.finish(&record, &[StageTables::of(&[all])]).unwrap();
        let read = open_run(run.path()).unwrap();
        let evidence = of_whole_stage(&read, 0, &read.record.stages[0], Some(&workload));
        let batches = evidence.operations[0].logged.response.as_ref().unwrap().batches();
        batches.iter().map(|batch| batch.ok).collect()
    }

    #[test]
    fn the_last_second_of_a_window_is_in_its_bounds_and_a_first_one_without_anything_is_too() {
        assert_eq!(batches(0, 8_000), [0, 100, 100, 100, 100, 100, 100, 100]);
        assert_eq!(batches(2_000, 7_990), [0, 100, 100, 100, 100, 100, 100, 99]);
        assert_eq!(batches(0, 8_010), [0, 100, 100, 100, 100, 100, 100, 100]);
        // What is cut off at both ends is no batch.
        assert_eq!(batches(500, 8_000), [0, 100, 100, 100, 100, 100, 100]);
    }
}
