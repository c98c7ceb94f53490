//! What the page shows of a run that COSBench made: its timelines and its histogram in buckets of 10 ms stand for what our
//! archives have.

use cosmark_archive::cosbench::{CosbenchRun, HistogramColumn};
use cosmark_archive::{ArchiveError, Run};
use cosmark_metrics::Phase;

use super::axis::{Extent, Span};
use super::model::{Distribution, StageData};
use super::series::StageSeries;

/// COSBench's interval where a timeline has one row: its default, seconds.
const INTERVAL_S: f64 = 5.0;
/// Operations beyond a quantile from which on it is more than chance.
const BEYOND: f64 = 10.0;

/// What is said on the page of such a run.
pub const NOTES: [&str; 3] = [
    "COSBench made this run: percentiles are upper edges of buckets of 10 ms, rates are sums of rates of its workers, and \
     counts of failures are worked out from the success ratio, which has four digits.",
    "The course over time is that of COSBench's timelines, which do not tell ramps from the measured time.",
    "workload-config.xml may hold secrets and is not shown.",
];

/// True when COSBench made it.
pub fn is_made_by_it(run: &Run) -> bool {
    run.record.made_by.is_some()
}

/// Lets each stage reach as far as its timeline, and says of which the rows do not tell what each operation did.
pub fn set_extents(run: &Run, series: &mut [StageSeries]) -> Result<Vec<String>, ArchiveError> {
    let mut notes = Vec::new();
    for (stage, own) in run.record.stages.iter().zip(series) {
        let entries = run.timeline(stage)?;
        if entries.is_empty() {
            continue;
        }
        let left_out = entries.iter().filter(|entry| entry.operations.is_empty()).count();
        if left_out > 0 {
            notes.push(format!(
                "COSBench left works out of {left_out} of {} intervals of {} and does not say which: its course over time is \
                 not shown.",
                entries.len(),
                stage.id
            ));
        }
        let width_s = width_s(entries.iter().map(|entry| entry.time.as_str()));
        let mut extent = Extent::default();
        let mut start_s = 0.0;
        for _ in &entries {
            extent.add(Phase::Window, Span::of(start_s, width_s));
            start_s += width_s;
        }
        own.set_extent(extent);
        own.settle();
    }
    Ok(notes)
}

/// Seconds between two rows: the middle one of all distances, so that midnight and a late row do not matter.
fn width_s<'a>(times: impl Iterator<Item = &'a str>) -> f64 {
    let seconds: Vec<f64> = times.filter_map(second_of_day).collect();
    let mut distances: Vec<f64> = seconds
        .iter()
        .zip(seconds.iter().skip(1))
        .map(|(before, after)| after - before)
        .filter(|distance| *distance > 0.0)
        .collect();
    distances.sort_by(f64::total_cmp);
    distances.get(distances.len() / 2).copied().unwrap_or(INTERVAL_S)
}

fn second_of_day(time: &str) -> Option<f64> {
    let mut parts = time.split(':').map(|part| part.parse::<u32>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    (parts.next().is_none() && hours < 24 && minutes < 60 && seconds < 61)
        .then(|| f64::from(hours * 3600 + minutes * 60 + seconds))
}

/// Adds the response times of each operation, where the histogram has a column of it.
pub fn add_distributions(run: &Run, stages: &mut [StageData]) -> Result<(), ArchiveError> {
    let columns = CosbenchRun::open(&run.path)?.histogram()?;
    for stage in stages {
        for (at, operation) in stage.operations.iter_mut().enumerate() {
            let is_own = |column: &&HistogramColumn| {
                column.stage.as_deref() == Some(&stage.id) && column.operation_at == Some(at)
            };
            operation.distributions.extend(columns.iter().find(is_own).and_then(distribution));
        }
    }
    Ok(())
}

/// A step for each bucket: whoever reads it off reads the bucket's upper edge, as COSBench does.
#[expect(clippy::cast_precision_loss, reason = "counts on an axis of quantiles")]
fn distribution(column: &HistogramColumn) -> Option<Distribution> {
    let total = column.count();
    let mut shown = Distribution {
        kind: "response".to_owned(),
        count: total,
        nines: Vec::new(),
        ms: Vec::new(),
        supported: 0,
    };
    let mut below = 0;
    let greatest = (total as f64).log10();
    for bucket in column.buckets.iter().filter(|bucket| bucket.count > 0) {
        let edge_ms = if bucket.to_ms.is_finite() { bucket.to_ms } else { bucket.from_ms };
        for count in [below, below + bucket.count] {
            let beyond = (total - count) as f64;
            let nines = if count == total { greatest } else { (total as f64 / beyond).log10() };
            // Both ends of the step, so that it is drawn as one.
            if shown.nines.last() != Some(&nines) || shown.ms.last() != Some(&edge_ms) {
                shown.nines.push(nines.min(greatest));
                shown.ms.push(edge_ms);
                shown.supported += u32::from(beyond >= BEYOND);
            }
        }
        below += bucket.count;
    }
    (total > 0).then_some(shown)
}
