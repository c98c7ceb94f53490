//! The measured windows of a stage over time, work by work: from the intervals, or from the histogram log where these are
//! too few.

use std::collections::BTreeMap;
use std::time::Duration;

use cosmark_archive::{ArchiveError, OperationResult, Run, StageRecord, TimeKind};
use cosmark_workload::model::{Stage, Work};
use cosmark_workload::schedule::due_by_step;

use super::measured;
use crate::evidence::Series;

/// Fewer intervals in the window than this, and the histogram log with its slices of a second is read instead.
const FEW_INTERVALS: usize = 20;

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
        for (own, fine) in found.iter_mut().zip(of_slices(run, &works)?) {
            let finer = |own: &Series, fine: &Series| own.rate_per_s.len() < fine.rate_per_s.len();
            let better = fine.as_ref().is_some_and(|fine| own.as_ref().is_none_or(|own| finer(own, fine)));
            if !is_long(own) && better {
                let failed = own.as_ref().map(|own| (own.step_s, own.failed_per_s.as_slice()));
                *own = fine.map(|fine| with_failures(fine, failed.unwrap_or_default()));
            }
        }
    }
    let whole = found.into_iter().zip(&works).filter_map(|(series, own)| Some((series?, own)));
    Ok(whole
        .map(|(series, own)| {
            let due = own.planned.map(|work| due_by_step(work, series.step_s, series.rate_per_s.len()));
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
fn with_failures(mut fine: Series, (step_s, failed_per_s): (f64, &[f64])) -> Series {
    let middle = |at: usize| (at as f64 + 0.5) * fine.step_s;
    let interval = |at| ((middle(at) / step_s).floor() as usize).min(failed_per_s.len().saturating_sub(1));
    let failed = (0..fine.rate_per_s.len()).map_while(|at| failed_per_s.get(interval(at)).copied());
    fine.failed_per_s = failed.collect();
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
    // A window rarely begins and ends where an interval does.
    let whole: Vec<Step> = steps.into_values().filter(|step| step.seconds > 0.9 * step_s).collect();
    (!whole.is_empty() && step_s > 0.0).then(|| Series {
        start_s: whole.first().map(|step| step.start_s),
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

/// From the histogram log, in steps of a second.
fn of_slices(run: &Run, works: &[Own<'_>]) -> Result<Vec<Option<Series>>, ArchiveError> {
    let tag = |operation: &&OperationResult| format!("{}.{}", operation.tag, TimeKind::Response.word());
    let tags: Vec<Vec<String>> = works.iter().map(|own| own.operations.iter().map(tag).collect()).collect();
    let mut slices: Vec<Vec<(Duration, f64, f64)>> = works.iter().map(|_| Vec::new()).collect();
    for entry in run.histograms()? {
        let entry = entry?;
        let own = tags.iter().position(|tags| tags.contains(&entry.tag));
        if let Some(slices) = own.and_then(|at| slices.get_mut(at)) {
            #[expect(clippy::cast_precision_loss, reason = "counts of a slice fit 53 bits")]
            slices.push((entry.start, entry.histogram.len() as f64, entry.histogram.mean()));
        }
    }
    let window_s = |own: &Own<'_>| own.operations.first().map_or(0.0, |operation| operation.window_s);
    Ok(works.iter().zip(slices).map(|(own, slices)| by_second(window_s(own), slices)).collect())
}

fn by_second(window_s: f64, slices: Vec<(Duration, f64, f64)>) -> Option<Series> {
    const STEP: Duration = Duration::from_secs(1);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds of a run")]
    let steps = (window_s + 0.05).floor().clamp(0.0, 1e6) as usize;
    let first = slices.iter().map(|(start, ..)| *start).min().filter(|_| steps > 0)?;
    let (mut counts, mut sums) = (vec![0.0; steps], vec![0.0; steps]);
    for (start, count, mean_ns) in slices {
        let since = start.saturating_sub(first) + Duration::from_millis(5);
        let at = usize::try_from(since.as_nanos() / STEP.as_nanos()).unwrap_or(usize::MAX);
        if let (Some(own), Some(sum)) = (counts.get_mut(at), sums.get_mut(at)) {
            *own += count;
            *sum += count * mean_ns / 1e6;
        }
    }
    let response_ms =
        counts.iter().zip(&sums).map(|(count, sum)| (*count > 0.0).then(|| sum / count)).collect();
    Some(Series { step_s: STEP.as_secs_f64(), rate_per_s: counts, response_ms, ..Series::default() })
}
