//! The measured windows of a stage over time, work by work: from the intervals, or from the histogram log where these are
//! too few.

use std::collections::BTreeMap;
use std::time::Duration;

use cosmark_archive::{ArchiveError, OperationResult, Run, StageRecord, TimeKind};
use cosmark_stats::batches::Slices;
use cosmark_workload::model::{Stage, Work};
use cosmark_workload::schedule::due_by_step;

use super::measured;
use crate::evidence::Series;

/// Fewer intervals in the window than this, and the histogram log with its slices of a second at most is read instead.
const FEW_INTERVALS: usize = 20;
/// More slices of a window are not looked at.
const MOST_SLICES: usize = 1_000_000;

/// A work of the stage that measures something, with its operations.
struct Own<'a> {
    work: &'a str,
    planned: Option<&'a Work>,
    operations: Vec<&'a OperationResult>,
}

/// The window of each work over time: intervals where there are enough of them, else the slices of the histogram log.
///
/// # Errors
/// Of the archive.
pub fn series_of(run: &Run, stage: &StageRecord, plan: Option<&Stage>) -> Result<Vec<Series>, ArchiveError> {
    let mut works: Vec<Own<'_>> = Vec::new();
    for operation in measured(stage) {
        if let Some(own) = works.iter_mut().find(|own| own.work == operation.work) {
            own.operations.push(operation);
        } else {
            let planned = plan.and_then(|plan| plan.works.iter().find(|work| work.name == operation.work));
            works.push(Own { work: &operation.work, planned, operations: vec![operation] });
        }
    }
    let intervals = of_intervals(run, stage, &works)?;
    let is_long =
        |series: &Option<Series>| series.as_ref().is_some_and(|own| own.rate_per_s.len() >= FEW_INTERVALS);
    let mut found = intervals;
    if !found.iter().all(is_long) {
        let load = stage.load_started.zip(run.record.submitted);
        let load = load.and_then(|(load, base)| Duration::try_from(load.duration_since(base)).ok());
        let fine = of_slices(run, &works, &found, load)?;
        for (own, fine) in found.iter_mut().zip(fine) {
            let finer = |own: &Series, fine: &Series| own.rate_per_s.len() < fine.rate_per_s.len();
            let better = fine.as_ref().is_some_and(|fine| own.as_ref().is_none_or(|own| finer(own, fine)));
            if !is_long(own) && better {
                let with = match (fine, &*own) {
                    (Some(fine), Some(own)) => Some(with_failures(fine, own)),
                    (fine, _) => fine,
                };
                *own = with;
            }
        }
    }
    let whole = found.into_iter().zip(&works).filter_map(|(series, own)| Some((series?, own)));
    Ok(whole
        .map(|(series, own)| {
            let (steps, count) = ((series.head_s, series.step_s), series.rate_per_s.len());
            let due = own.planned.map(|work| due_by_step(work, steps, count));
            Series { work: own.work.to_owned(), due: due.unwrap_or_default(), ..series }
        })
        .collect())
}

/// The histogram log has successes only: what failed is that of the interval that a slice lies in.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "lengths of series"
)]
fn with_failures(mut fine: Series, own: &Series) -> Series {
    let failed_per_s = &own.failed_per_s;
    let middle_s = |at: usize| fine.head_s + (at as f64 + 0.5) * fine.step_s - own.head_s;
    let interval = |at: usize| (middle_s(at) / own.step_s).floor().max(0.0) as usize;
    let last = failed_per_s.len().saturating_sub(1);
    let failed: Vec<f64> = (0..fine.rate_per_s.len())
        .map_while(|at| failed_per_s.get(interval(at).min(last)).copied())
        .collect();
    fine.failed_per_s = failed;
    fine
}

#[derive(Default)]
struct Step {
    start_s: f64,
    seconds: f64,
    ok: f64,
    failed: f64,
    in_flight: f64,
}

impl Step {
    /// By Little's law: what was in flight is there for what failed, too.
    fn response_ms(&self) -> Option<f64> {
        let ended = self.ok + self.failed;
        (ended > 0.0).then(|| 1000.0 * self.in_flight * self.seconds / ended)
    }
}

/// From `intervals.csv`. It has no latencies; by Little's law the time in flight per operation stands for them.
fn of_intervals(
    run: &Run,
    stage: &StageRecord,
    works: &[Own<'_>],
) -> Result<Vec<Option<Series>>, ArchiveError> {
    let mut steps: Vec<BTreeMap<u64, Step>> = works.iter().map(|_| BTreeMap::new()).collect();
    run.intervals(|line| {
        if line.stage != stage.id || line.phase != "window" {
            return;
        }
        let is_own = |own: &Own<'_>| own.operations.iter().any(|operation| operation.tag == line.tag);
        let Some(steps) = works.iter().position(is_own).and_then(|at| steps.get_mut(at)) else { return };
        let step = steps.entry(millis(line.start_s)).or_default();
        step.start_s = line.start_s;
        step.seconds = step.seconds.max(line.end_s - line.start_s);
        #[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
        let (ok, failed) = (line.ok as f64, line.failed as f64);
        step.ok += ok;
        step.failed += failed;
        step.in_flight += line.in_flight_mean.unwrap_or(0.0);
    })?;
    Ok(steps.into_iter().map(of_steps).collect())
}

fn of_steps(steps: BTreeMap<u64, Step>) -> Option<Series> {
    let step_s = steps.values().map(|step| step.seconds).fold(0.0, f64::max);
    let began_s = steps.values().next().map(|step| step.start_s);
    // A window rarely begins and ends where an interval does.
    let whole: Vec<Step> = steps.into_values().filter(|step| step.seconds > 0.9 * step_s).collect();
    let start_s = whole.first().map(|step| step.start_s);
    (!whole.is_empty() && step_s > 0.0).then(|| Series {
        start_s,
        head_s: start_s.zip(began_s).map_or(0.0, |(start_s, began_s)| start_s - began_s),
        step_s,
        rate_per_s: whole.iter().map(|step| step.ok / step.seconds).collect(),
        failed_per_s: whole.iter().map(|step| step.failed / step.seconds).collect(),
        response_ms: whole.iter().map(Step::response_ms).collect(),
        in_flight: whole.iter().map(|step| step.in_flight).collect(),
        ..Series::default()
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a run, not negative")]
fn millis(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1000.0).round() as u64
}

/// What the histogram log has of a work in one slice.
struct Slice {
    start: Duration,
    length: Duration,
    count: f64,
    mean_ns: f64,
}

/// From the histogram log, in its slices. When the window of each work began is known by its `intervals`, seconds behind `load`.
fn of_slices(
    run: &Run,
    works: &[Own<'_>],
    intervals: &[Option<Series>],
    load: Option<Duration>,
) -> Result<Vec<Option<Series>>, ArchiveError> {
    let tag = |operation: &&OperationResult| format!("{}.{}", operation.tag, TimeKind::Response.word());
    let tags: Vec<Vec<String>> = works.iter().map(|own| own.operations.iter().map(tag).collect()).collect();
    let mut slices: Vec<Vec<Slice>> = works.iter().map(|_| Vec::new()).collect();
    for entry in run.histograms()? {
        let entry = entry?;
        let own = tags.iter().position(|tags| tags.contains(&entry.tag));
        if let Some(slices) = own.and_then(|at| slices.get_mut(at)) {
            #[expect(clippy::cast_precision_loss, reason = "counts of a slice fit 53 bits")]
            let count = entry.histogram.len() as f64;
            let (start, length) = (entry.start, entry.length);
            slices.push(Slice { start, length, count, mean_ns: entry.histogram.mean() });
        }
    }
    let window_s = |own: &Own<'_>| own.operations.first().map_or(0.0, |operation| operation.window_s);
    let began = |own: &Option<Series>| {
        let own = own.as_ref()?;
        Duration::try_from_secs_f64(own.start_s? - own.head_s).ok()
    };
    let parts = works.iter().zip(&slices).zip(intervals);
    let series = parts.map(|((work, slices), own)| in_slices(window_s(work), slices, load, began(own)));
    Ok(series.collect())
}

/// The whole slices of a window of so many seconds that began `began` after the load did, which began at `load` on the clock
/// of the log. One in which nothing ended is not in the log, and those at both ends may be cut off.
fn in_slices(
    window_s: f64,
    slices: &[Slice],
    load: Option<Duration>,
    began: Option<Duration>,
) -> Option<Series> {
    let and = |seen: Option<Slices>, slice: &Slice| Some(Slices::and(seen, slice.start, slice.length));
    let seen = slices.iter().fold(None, and)?;
    let began = load.zip(began).map(|(load, began)| load.saturating_add(began));
    let whole = seen.whole(began, Duration::try_from_secs_f64(window_s.min(1e9)).ok());
    let steps = Some(whole.count()).filter(|steps| *steps > 0)?.min(MOST_SLICES);
    let (mut counts, mut sums) = (vec![0.0; steps], vec![0.0; steps]);
    for Slice { start, length, count, mean_ns } in slices {
        let Some(at) = whole.place(*start, *length) else { continue };
        if let (Some(own), Some(sum)) = (counts.get_mut(at), sums.get_mut(at)) {
            *own += count;
            *sum += count * mean_ns / 1e6;
        }
    }
    let step_s = whole.width().as_secs_f64();
    let behind_s = |moment: Duration| whole.start().saturating_sub(moment).as_secs_f64();
    let response_ms =
        counts.iter().zip(&sums).map(|(count, sum)| (*count > 0.0).then(|| sum / count)).collect();
    Some(Series {
        start_s: load.map(behind_s),
        head_s: began.map_or(0.0, behind_s).min(step_s),
        step_s,
        rate_per_s: counts.iter().map(|count| count / step_s).collect(),
        response_ms,
        ..Series::default()
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    /// A window that begins so many ms after its load and is so long, in slices of `slice_ms` since the load began: 100
    /// operations a second, and none in its first `silent_ms`.
    fn series(slice_ms: u64, (from_ms, window_ms): (u64, u64), silent_ms: u64) -> Series {
        const LOAD: Duration = Duration::from_millis(3217);
        let (mut slices, mut start_ms, to_ms) = (Vec::new(), from_ms, from_ms + window_ms);
        while start_ms < to_ms {
            let end_ms = to_ms.min((start_ms / slice_ms + 1) * slice_ms);
            if start_ms >= from_ms + silent_ms {
                let start = LOAD + Duration::from_millis(start_ms);
                let length = Duration::from_millis(end_ms - start_ms);
                slices.push(Slice { start, length, count: 100.0 * length.as_secs_f64(), mean_ns: 1e7 });
            }
            start_ms = end_ms;
        }
        let window_s = Duration::from_millis(window_ms).as_secs_f64();
        in_slices(window_s, &slices, Some(LOAD), Some(Duration::from_millis(from_ms))).unwrap()
    }

    #[test]
    fn a_steady_rate_is_even_wherever_its_window_begins_and_however_long_slices_are() {
        let windows = [
            (1000, (2000, 12_000), 12, 0.0),
            (1000, (1500, 13_000), 12, 0.5),
            (750, (1000, 24_000), 31, 0.5),
            (550, (0, 11_000), 20, 0.0),
        ];
        for (slice_ms, window, steps, head_s) in windows {
            let found = series(slice_ms, window, 0);
            assert_eq!(found.rate_per_s.len(), steps, "{window:?}: {found:?}");
            assert!(found.rate_per_s.iter().all(|rate| (rate - 100.0).abs() < 1e-6), "{window:?}: {found:?}");
            assert!((found.head_s - head_s).abs() < 1e-6, "{window:?}: {found:?}");
        }
    }

    #[test]
    fn a_silence_at_the_start_of_a_window_stays_there() {
        let found = series(1000, (2500, 30_000), 5500);
        let (silent, rest) = found.rate_per_s.split_at(5);
        assert!(silent.iter().all(|rate| *rate == 0.0), "{found:?}");
        assert!(rest.len() == 24 && rest.iter().all(|rate| (rate - 100.0).abs() < 1e-6), "{found:?}");
        assert!(found.start_s.is_some_and(|start_s| (start_s - 3.0).abs() < 1e-6), "{found:?}");
    }

    #[test]
    fn failures_of_an_interval_are_those_of_its_slices_wherever_both_begin() {
        // A window from 2 s on, in intervals of 5 s since the load began and slices of a second.
        let own = Series { head_s: 3.0, step_s: 5.0, failed_per_s: vec![0.0, 7.0, 0.0], ..Series::default() };
        let found = with_failures(series(1000, (2000, 18_000), 0), &own);
        let failing: Vec<usize> = (0..18).filter(|at| found.failed_per_s[*at] > 0.0).collect();
        assert_eq!(failing, (8..13).collect::<Vec<_>>());
    }
}
