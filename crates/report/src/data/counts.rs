//! Counts of one operation over time, from the lines of `intervals.csv`.

use std::collections::BTreeMap;

use cosmark_archive::{ArchiveError, IntervalLine, Run, StageRecord};

use super::axis::{Axis, Span};
use super::bins::{Bins, Sum};
use super::model::CountSeries;
use super::times::rounded;

/// A mean in `intervals.csv` has four digits: whole numbers of these add up the same in any order.
const MEAN_DIGITS: f64 = 1e4;

/// What was counted in one bin.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counted {
    count: u64,
    failures: u64,
    bytes: u64,
    missed: u64,
    delayed: u64,
    /// Time in flight: microseconds times [`MEAN_DIGITS`].
    in_flight: u128,
    errors: BTreeMap<String, u64>,
    drivers: BTreeMap<String, u64>,
}

impl Counted {
    /// Adds what a line says of `span`.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a mean in flight is not negative"
    )]
    pub fn add(&mut self, line: &IntervalLine, span: Span) {
        let mean = (line.in_flight_mean.unwrap_or(0.0).max(0.0) * MEAN_DIGITS).round() as u128;
        self.count += line.ok;
        self.failures += line.failed;
        self.bytes += line.bytes;
        self.missed += line.missed;
        self.delayed += line.delayed;
        self.in_flight += mean * u128::from(span.length_us);
        for (label, count) in &line.errors {
            *self.errors.entry(label.clone()).or_default() += count;
        }
        *self.drivers.entry(line.driver.clone()).or_default() += line.ok;
    }

    /// Mean in flight over so many seconds.
    #[expect(clippy::cast_precision_loss, reason = "a mean needs no more than 53 bits")]
    fn in_flight(&self, length_s: f64) -> f64 {
        rounded(self.in_flight as f64 / MEAN_DIGITS / 1e6 / length_s.max(1e-9), 4)
    }
}

impl Sum for Counted {
    fn merge(&mut self, other: &Self) {
        let Self { count, failures, bytes, missed, delayed, in_flight, errors, drivers } = other;
        self.count += count;
        self.failures += failures;
        self.bytes += bytes;
        self.missed += missed;
        self.delayed += delayed;
        self.in_flight += in_flight;
        for (mine, theirs) in [(&mut self.errors, errors), (&mut self.drivers, drivers)] {
            theirs.iter().for_each(|(name, count)| *mine.entry(name.clone()).or_default() += count);
        }
    }
}

/// The bins of `axis` from number `from` on; `open` is what belongs to intervals that are not over.
pub fn series(bins: &Bins<Counted>, open: &[(Span, Counted)], axis: &Axis, from: u32) -> CountSeries {
    let mut sums = bins.merged(axis, 1, from);
    for (span, counted) in open {
        let at = axis.bin(*span).checked_sub(from).and_then(|at| sums.get_mut(at as usize));
        if let Some(sum) = at {
            sum.merge(counted);
        }
    }
    let all = || bins.iter().map(|(_, counted)| counted).chain(open.iter().map(|(_, counted)| counted));
    let mut series = CountSeries {
        count: sums.iter().map(|sum| sum.count).collect(),
        failures: Some(sums.iter().map(|sum| sum.failures).collect()),
        bytes: Some(sums.iter().map(|sum| sum.bytes).collect()),
        missed: Some(sums.iter().map(|sum| sum.missed).collect()),
        delayed: Some(sums.iter().map(|sum| sum.delayed).collect()),
        in_flight: Some((from..).zip(&sums).map(|(bin, sum)| sum.in_flight(axis.length_s(bin))).collect()),
        errors: BTreeMap::new(),
        drivers: BTreeMap::new(),
    };
    for (into, of) in [
        (&mut series.errors, (|sum: &Counted| &sum.errors) as fn(&Counted) -> &BTreeMap<String, u64>),
        (&mut series.drivers, |sum: &Counted| &sum.drivers),
    ] {
        let mut names: Vec<&String> = all().flat_map(|counted| of(counted).keys()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let counts = sums.iter().map(|sum| of(sum).get(name).copied().unwrap_or(0)).collect();
            into.insert(name.clone(), counts);
        }
    }
    // A single driver needs no series of its own.
    if series.drivers.len() < 2 {
        series.drivers.clear();
    }
    series
}

/// From a stage's timeline (COSBench's table), which has successes and their bytes: for archives that lack
/// `intervals.csv`. `None` when the table is not there or does not fit the stage.
pub fn from_timeline(
    run: &Run,
    stage: &StageRecord,
    axis: &Axis,
) -> Result<Option<Vec<CountSeries>>, ArchiveError> {
    if run.record.made_by.is_none() && !run.path.join(format!("{}.csv", stage.id)).exists() {
        return Ok(None);
    }
    let entries = run.timeline(stage)?;
    if entries.is_empty() {
        return Ok(None);
    }
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
    CountSeries { count: count.to_vec(), ..CountSeries::default() }
}
