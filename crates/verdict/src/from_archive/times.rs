//! The times and counts of each operation over its window: distributions by slice from the histogram log, counts by interval
//! from `intervals.csv`. What they say beyond the published figures is how operations of one moment resemble each other, and
//! any quantile of all of them.

use std::collections::BTreeMap;
use std::time::Duration;

use cosmark_archive::{ArchiveError, Run, StageRecord, TimeKind};
use cosmark_stats::batches::Batches;

use super::is_special;
use crate::evidence::{Evidence, Logged, Outside, Step};

/// A longer log is not read: its run is so long that the published percentiles say the same.
const MOST_LOG_BYTES: u64 = 256 << 20;
/// Slices that differ by less are of one length.
const JITTER: u32 = 50;

/// Adds them to the operations of a stage. What cannot be read is left out: the bounds are then wider, or of the published
/// percentiles.
pub(super) fn add(run: &Run, stage: &StageRecord, evidence: &mut Evidence) {
    let Evidence { operations, moving, .. } = evidence;
    let measured = || stage.operations.iter().filter(|operation| !is_special(&operation.op));
    let tags: Vec<&str> = measured().map(|operation| operation.tag.as_str()).collect();
    for (op, logged) in operations.iter_mut().zip(logged(run, &tags).unwrap_or_default()) {
        op.logged = logged;
    }
    for (op, steps) in operations.iter_mut().zip(steps(run, stage, &tags).unwrap_or_default()) {
        op.steps = steps;
    }
    if operations.iter().all(|op| op.ended() == 0) {
        let (found, window) = outside(run, stage, &tags).unwrap_or_default();
        for (op, outside) in operations.iter_mut().zip(found) {
            op.outside = outside;
        }
        let under_way = operations.iter().fold(0, |all: u64, op| all.saturating_add(op.unfinished));
        *moving = window.and_then(|window| carried(run, stage, window, under_way));
    }
    for op in operations {
        let length = Duration::try_from_secs_f64(op.window_s.min(1e9)).unwrap_or_default();
        let Logged { response, service, first_byte } = &mut op.logged;
        for batches in [response, service, first_byte].into_iter().flatten() {
            // A slice may be missing at the front.
            let whole_ns = length.as_nanos().saturating_sub(u128::from(batches.width_ns() / 100));
            batches.close(u64::try_from(whole_ns).unwrap_or(u64::MAX));
        }
    }
}

/// Where the slices of an operation lie: when the first whole one begins, and how long it is.
#[derive(Clone, Copy)]
struct Grid {
    origin: Duration,
    width: Duration,
}

fn logged(run: &Run, tags: &[&str]) -> Result<Vec<Logged>, ArchiveError> {
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
    let mut grids: Vec<Option<Grid>> = vec![None; tags.len()];
    for entry in run.histograms()? {
        let entry = entry?;
        let Some((at, _)) = places.get(&entry.tag) else { continue };
        let width = entry.length.max(Duration::from_millis(50));
        let Some(grid) = grids.get_mut(*at) else { continue };
        *grid = Some(match *grid {
            Some(grid) if width > grid.width + grid.width / JITTER => Grid { origin: entry.start, width },
            Some(grid) if entry.start < grid.origin && width + width / JITTER >= grid.width => {
                Grid { origin: entry.start, ..grid }
            }
            Some(grid) => grid,
            None => Grid { origin: entry.start, width },
        });
    }
    for entry in run.histograms()? {
        let entry = entry?;
        let Some((at, kind)) = places.get(&entry.tag) else { continue };
        let (Some(logged), Some(Some(grid))) = (found.get_mut(*at), grids.get(*at)) else { continue };
        let batches = match kind {
            TimeKind::Response => &mut logged.response,
            TimeKind::Service => &mut logged.service,
            TimeKind::FirstByte => &mut logged.first_byte,
        };
        // The middle of a slice tells its batch; what lies before the first whole slice is left out.
        let middle = entry.start + entry.length / 2;
        let Some(offset) = middle.checked_sub(grid.origin) else { continue };
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let batches = batches.get_or_insert_with(|| Batches::new(nanoseconds(grid.width)));
        batches.add_times(nanoseconds(offset), &entry.histogram);
    }
    Ok(found)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "milliseconds of a run")]
fn steps(run: &Run, stage: &StageRecord, tags: &[&str]) -> Result<Vec<Vec<Step>>, ArchiveError> {
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
    Ok(found.into_iter().map(whole).collect())
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
