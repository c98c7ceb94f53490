//! Counts over time, brought from the archive's rows onto a stage's axis.

use std::collections::BTreeMap;

use cosmark_archive::{ArchiveError, Run, StageRecord};

use super::axis::Axis;
use super::model::CountSeries;

/// From a stage's timeline (COSBench's table), which has successes and their bytes: for archives that lack
/// `intervals.csv`. `None` when the table does not fit the stage.
pub fn from_timeline(
    run: &Run,
    stage: &StageRecord,
    axis: &Axis,
) -> Result<Option<Vec<CountSeries>>, ArchiveError> {
    let entries = run.timeline(stage)?;
    let bins = axis.time.bins as usize;
    let mut series: Vec<CountSeries> = stage
        .operations
        .iter()
        .map(|_| CountSeries { count: vec![0; bins], bytes: Some(vec![0; bins]), ..CountSeries::default() })
        .collect();
    let mut start_s = 0.0;
    for entry in &entries {
        if entry.operations.len() != series.len() {
            return Ok(None);
        }
        let bin = axis.bin_of(start_s, axis.slice_s);
        for (series, value) in series.iter_mut().zip(&entry.operations) {
            if let Some(count) = series.count.get_mut(bin) {
                *count += value.count;
            }
            if let Some(bytes) = series.bytes.as_mut().and_then(|bytes| bytes.get_mut(bin)) {
                *bytes += value.bytes;
            }
        }
        start_s += axis.slice_s;
    }
    Ok(Some(series))
}

/// Only successes, from the histograms.
pub fn from_histograms(count: &[u64]) -> CountSeries {
    CountSeries { count: count.to_vec(), errors: BTreeMap::new(), ..CountSeries::default() }
}
