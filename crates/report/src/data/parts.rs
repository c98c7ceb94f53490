//! What single drivers and endpoints did of one operation while a stage runs: fewer points than the operation itself has, so
//! that hundreds of them fit into memory.

use std::collections::BTreeMap;

use cosmark_metrics::{Latencies, Latency, PartResult, Phase};

use super::axis::{Axis, Extent, Span};
use super::bins::{Bins, Sum};
use super::model::{GroupData, PartNews, Shown};
use super::sparse::Sparse;
use super::times::{bins_together, ms};

/// Points of all parts of a stage together.
const MOST_POINTS: u32 = 2400;
const LEAST_POINTS: u32 = 24;

/// Of whom a part is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartName {
    /// All operations that this driver made.
    Driver(String),
    /// All operations that this endpoint served.
    Endpoint(String),
}

/// What a part did in a stretch of time.
#[derive(Debug, Clone, Default)]
pub struct PartSlice {
    /// Successes.
    pub count: u64,
    /// Failures.
    pub failures: u64,
    /// Body bytes of successes.
    pub bytes: u64,
    response: Sparse,
}

impl PartSlice {
    /// With the response times of the successes.
    #[must_use]
    pub fn of(count: u64, failures: u64, bytes: u64, response: &Latency) -> Self {
        Self { count, failures, bytes, response: Sparse::of_steps(response.steps()) }
    }
}

impl Sum for PartSlice {
    fn merge(&mut self, other: &Self) {
        let Self { count, failures, bytes, response } = other;
        self.count += count;
        self.failures += failures;
        self.bytes += bytes;
        self.response.add_all(response);
    }
}

#[derive(Debug, Clone, Default)]
struct Part {
    bins: Bins<PartSlice>,
    window: PartSlice,
}

/// All parts of one operation.
#[derive(Debug, Clone, Default)]
pub struct Parts(BTreeMap<PartName, Part>);

impl Parts {
    pub fn add(&mut self, name: PartName, phase: Phase, span: Span, slice: &PartSlice) {
        let part = self.0.entry(name).or_default();
        part.bins.at(span).merge(slice);
        if phase == Phase::Window {
            part.window.merge(slice);
        }
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Keeps memory bounded; `series` are the parts of all operations.
    pub fn fold_if_many(&mut self, extent: &Extent, series: usize, most_bins: u32) {
        let most = most_points(series, most_bins);
        let axis = Axis::of(extent, most);
        self.0.values_mut().for_each(|part| part.bins.fold_if_many(&axis, most));
    }

    /// The part that did most in the measured window: how much, and its times per bin of `coarse`.
    pub fn busiest(&self, coarse: &Axis) -> Option<(u64, Vec<u64>)> {
        let busiest = self.0.values().max_by_key(|part| part.window.count)?;
        Some((busiest.window.count, totals(&busiest.bins, coarse)))
    }

    /// From the point that holds bin `from` on; as a whole where points were made of another number of bins than `every`
    /// when they were `shown`.
    pub fn news(
        &self,
        axis: &Axis,
        every: u32,
        from: u32,
        window_s: Option<f64>,
        shown: &mut u32,
    ) -> Vec<PartNews> {
        let from = if std::mem::replace(shown, every) == every { from / every } else { 0 };
        self.0.iter().map(|(name, part)| part.news(name, axis, every, from, window_s)).collect()
    }
}

/// How many bins of `axis` make a point of every part of a stage, so that points of different operations can be added up.
pub fn every<'a>(all: impl Iterator<Item = &'a Parts>, axis: &Axis, coarse: &Axis) -> u32 {
    let ratio = u32::try_from(coarse.bin_us / axis.bin_us.max(1)).unwrap_or(1).max(1);
    let busiest = all.filter_map(|parts| parts.busiest(coarse)).max_by_key(|(count, _)| *count);
    ratio * busiest.map_or(1, |(_, totals)| bins_together(&totals))
}

/// How many points a part may have where there are so many.
pub fn most_points(series: usize, most_bins: u32) -> u32 {
    let series = u32::try_from(series.max(1)).unwrap_or(u32::MAX);
    (MOST_POINTS / series).max(LEAST_POINTS).min(most_bins)
}

fn totals(bins: &Bins<PartSlice>, axis: &Axis) -> Vec<u64> {
    let mut totals = vec![0; axis.time.bins as usize];
    for (span, slice) in bins.iter() {
        if let Some(total) = totals.get_mut(axis.bin(span) as usize) {
            *total += slice.response.total();
        }
    }
    totals
}

impl Part {
    fn news(&self, name: &PartName, axis: &Axis, every: u32, from: u32, window_s: Option<f64>) -> PartNews {
        let points = self.bins.merged(axis, every, from);
        let (by, label) = match name {
            PartName::Driver(name) => ("driver", name),
            PartName::Endpoint(name) => ("endpoint", name),
        };
        PartNews {
            by: by.to_owned(),
            group: group_of(label, &self.window, window_s),
            from,
            every,
            series_count: points.iter().map(|point| point.count).collect(),
            series_bytes: points.iter().map(|point| point.bytes).collect(),
            p99: points.iter().map(|point| point.response.supported(0.99).map(ms)).collect(),
        }
    }
}

/// Of the measured window so far.
#[expect(clippy::cast_precision_loss, reason = "counts and bytes of a window fit 53 bits")]
fn group_of(label: &str, window: &PartSlice, window_s: Option<f64>) -> GroupData {
    let PartSlice { count, failures, bytes, response } = window;
    let per_s =
        |amount: u64| window_s.filter(|seconds| *seconds > 0.0).map(|seconds| amount as f64 / seconds);
    let at = |quantile| response.supported(quantile).map(ms);
    let response_ms = Latencies {
        count: response.total(),
        mean: None,
        min: response.min().map(ms),
        p50: at(0.5),
        p60: at(0.6),
        p80: at(0.8),
        p90: at(0.9),
        p95: at(0.95),
        p99: at(0.99),
        p99_9: at(0.999),
        p99_99: at(0.9999),
        max: response.max().map(ms),
        withheld: None,
    };
    GroupData {
        label: label.to_owned(),
        workers: None,
        part: Shown(PartResult {
            ok: *count,
            failed: *failures,
            bytes: *bytes,
            response_ms,
            ..PartResult::default()
        }),
        throughput_per_s: per_s(*count),
        bandwidth_bytes_per_s: per_s(*bytes),
    }
}
