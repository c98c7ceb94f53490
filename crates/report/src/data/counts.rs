//! Counts over time, brought from the archive's rows onto a stage's axis.

use std::collections::{BTreeMap, HashMap};

use cosmark_archive::{ArchiveError, IntervalLine, Run, StageRecord};

use super::axis::Axis;
use super::model::CountSeries;
use super::times::rounded;

/// One per operation of a stage.
type StageCounts = Vec<CountSeries>;

/// From `intervals.csv`; one entry per stage, `None` for a stage without an axis. The whole is `None` when the archive
/// lacks the file, or a kill left nothing but its head.
pub fn from_intervals(
    run: &Run,
    axes: &[Option<Axis>],
) -> Result<Option<Vec<Option<StageCounts>>>, ArchiveError> {
    let mut places = HashMap::new();
    let mut all: Vec<Option<StageCounts>> = Vec::new();
    for (at, (stage, axis)) in run.record.stages.iter().zip(axes).enumerate() {
        for (operation, record) in stage.operations.iter().enumerate() {
            places.insert((stage.id.clone(), record.tag.clone()), (at, operation));
        }
        all.push(axis.as_ref().map(|axis| stage.operations.iter().map(|_| empty(axis)).collect()));
    }
    let mut found = false;
    run.intervals(|line| {
        found = true;
        let key = (line.stage.clone(), line.tag.clone());
        let Some((stage, operation)) = places.get(&key).copied() else { return };
        let axis = axes.get(stage).and_then(Option::as_ref);
        let series = all.get_mut(stage).and_then(|stage| stage.as_mut()?.get_mut(operation));
        if let (Some(axis), Some(series)) = (axis, series) {
            add(series, &line, axis);
        }
    })?;
    for (stage, axis) in all.iter_mut().zip(axes) {
        if let (Some(stage), Some(axis)) = (stage, axis) {
            stage.iter_mut().for_each(|series| finish(series, axis));
        }
    }
    Ok(found.then_some(all))
}

fn empty(axis: &Axis) -> CountSeries {
    let bins = axis.time.bins as usize;
    let zeros = || vec![0; bins];
    CountSeries {
        count: zeros(),
        failures: Some(zeros()),
        bytes: Some(zeros()),
        missed: Some(zeros()),
        delayed: Some(zeros()),
        in_flight: Some(vec![0.0; bins]),
        errors: BTreeMap::new(),
        drivers: BTreeMap::new(),
    }
}

fn add(series: &mut CountSeries, line: &IntervalLine, axis: &Axis) {
    let length_s = line.end_s - line.start_s;
    let bin = axis.bin_of(line.start_s, length_s);
    let bins = axis.time.bins as usize;
    let more = |values: &mut Vec<u64>, amount: u64| {
        values.resize(bins, 0);
        if let Some(value) = values.get_mut(bin) {
            *value += amount;
        }
    };
    more(&mut series.count, line.ok);
    for (values, amount) in [
        (&mut series.failures, line.failed),
        (&mut series.bytes, line.bytes),
        (&mut series.missed, line.missed),
        (&mut series.delayed, line.delayed),
    ] {
        more(values.get_or_insert_with(Vec::new), amount);
    }
    if let (Some(mean), Some(values)) = (line.in_flight_mean, series.in_flight.as_mut())
        && let Some(value) = values.get_mut(bin)
    {
        // Seconds spent in operations for now: divided by the bin's length when all are added.
        *value += mean * length_s;
    }
    for (label, count) in &line.errors {
        more(series.errors.entry(label.clone()).or_default(), *count);
    }
    more(series.drivers.entry(line.driver.clone()).or_default(), line.ok);
}

/// A single driver needs no series of its own; time in flight becomes a mean.
fn finish(series: &mut CountSeries, axis: &Axis) {
    if series.drivers.len() < 2 {
        series.drivers.clear();
    }
    let last = axis.time.bins.saturating_sub(1);
    for (bin, value) in (0..=last).zip(series.in_flight.iter_mut().flatten()) {
        let begin_s = f64::from(bin) * axis.time.bin_s;
        let length_s = if bin == last { axis.time.end_s - begin_s } else { axis.time.bin_s };
        *value = rounded(*value / length_s.max(1e-9), 4);
    }
}

/// From a stage's timeline (COSBench's table), which has successes and their bytes: for archives that lack
/// `intervals.csv`. `None` when the table is not there or does not fit the stage.
pub fn from_timeline(
    run: &Run,
    stage: &StageRecord,
    axis: &Axis,
) -> Result<Option<StageCounts>, ArchiveError> {
    if !run.path.join(format!("{}.csv", stage.id)).exists() {
        return Ok(None);
    }
    let entries = run.timeline(stage)?;
    let bins = axis.time.bins as usize;
    let mut series: StageCounts = stage
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
    CountSeries { count: count.to_vec(), ..CountSeries::default() }
}
