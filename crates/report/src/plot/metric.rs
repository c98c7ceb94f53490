//! The figures that can be drawn, with their axes: rows of the table of figures that have a name for it. COSBench's seven
//! are drawn over time as well.

use cosmark_archive::TimelineValue;
use cosmark_metrics::results::{METRICS, Metric, Unit};

/// Units of one quantity: how many of the base unit, and how it is written; ascending.
pub type Units = &'static [(f64, &'static str)];

const TIMES: Units = &[(1e-3, "µs"), (1.0, "ms"), (1e4, "s")];
const RATES: Units = &[(1.0, "operations/s")];
const COUNTS: Units = &[(1.0, "operations")];
const BYTES: Units = &[(1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")];
const BANDWIDTHS: Units = &[(1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s")];
const SHARES: Units = &[(0.01, "%")];

#[expect(clippy::cast_precision_loss, reason = "a drawing needs no more than 53 bits")]
fn float(count: u64) -> f64 {
    count as f64
}

/// Reads a figure of one interval.
type OfInterval = fn(&TimelineValue) -> Option<f64>;

/// The columns of COSBench's timelines, by the figures that they show.
const TIMELINE: [(&str, OfInterval); 7] = [
    ("throughput_per_s", |value| Some(value.throughput_per_s)),
    ("bandwidth_bytes_per_s", |value| Some(value.bandwidth_bytes_per_s)),
    ("response_ms.mean", |value| value.response_ms),
    ("first_byte_ms.mean", |value| value.processing_ms),
    ("count", |value| Some(float(value.count))),
    ("bytes", |value| Some(float(value.bytes))),
    ("success_ratio", |value| value.success_ratio),
];

/// Every figure that can be drawn.
pub fn drawn() -> impl Iterator<Item = &'static Metric> {
    METRICS.iter().filter(|metric| !metric.names.plot.is_empty())
}

/// The figure of this name, or of this column of COSBench.
#[must_use]
pub fn named(name: &str) -> Option<&'static Metric> {
    drawn().find(|metric| metric.names.plot == name || (!name.is_empty() && metric.column == name))
}

/// Reads the figure of one interval; `None` where timelines do not have it.
#[must_use]
pub fn of_interval(metric: &Metric) -> Option<OfInterval> {
    TIMELINE.iter().find(|(id, _)| *id == metric.id).map(|(_, of)| *of)
}

fn units(metric: &Metric) -> Units {
    match metric.unit {
        Unit::Count(_) => COUNTS,
        Unit::Share => SHARES,
        Unit::Ms => TIMES,
        Unit::PerS => RATES,
        Unit::Bytes => BYTES,
        Unit::BytesPerS => BANDWIDTHS,
    }
}

/// The unit that suits values of `metric` up to `most`: how many base units it is, and its name.
#[must_use]
pub fn unit_of(metric: &Metric, most: f64) -> (f64, &'static str) {
    unit_for(units(metric), most)
}

/// The largest unit of which `most` is at least one.
#[must_use]
pub fn unit_for(units: Units, most: f64) -> (f64, &'static str) {
    let fitting = units.iter().rev().find(|(size, _)| most >= *size);
    // Times above 10 s are shown in seconds, not in units of 10 s.
    match fitting.or_else(|| units.first()) {
        Some((_, "s")) => (1e3, "s"),
        Some(unit) => *unit,
        None => (1.0, ""),
    }
}

/// The unit that suits response times up to `most_ms`.
#[must_use]
pub fn time_unit(most_ms: f64) -> (f64, &'static str) {
    unit_for(TIMES, most_ms)
}
