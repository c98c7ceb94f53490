//! The values that can be drawn, with their units. Names of the first seven are COSBench's columns.

use cosmark_archive::TimelineValue;

use super::source::PlotOperation;

/// A value of an operation.
pub struct Metric {
    /// What the user types.
    pub name: &'static str,
    /// COSBench's column; empty where it has none.
    pub column: &'static str,
    /// Title of the axis, without unit.
    pub title: &'static str,
    /// Units from small to large.
    pub units: Units,
    /// Of a whole stage.
    pub of_stage: fn(&PlotOperation) -> Option<f64>,
    /// Of one interval; `None` where timelines do not have it.
    pub of_interval: Option<fn(&TimelineValue) -> Option<f64>>,
}

impl std::fmt::Debug for Metric {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name)
    }
}

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

/// Every value that can be drawn.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "throughput",
        column: "Throughput",
        title: "Throughput",
        units: RATES,
        of_stage: |op| op.throughput_per_s,
        of_interval: Some(|value| Some(value.throughput_per_s)),
    },
    Metric {
        name: "bandwidth",
        column: "Bandwidth",
        title: "Bandwidth",
        units: BANDWIDTHS,
        of_stage: |op| op.bandwidth_bytes_per_s,
        of_interval: Some(|value| Some(value.bandwidth_bytes_per_s)),
    },
    Metric {
        name: "response",
        column: "Avg-ResTime",
        title: "Mean response time",
        units: TIMES,
        of_stage: |op| op.mean_ms,
        of_interval: Some(|value| value.response_ms),
    },
    Metric {
        name: "first-byte",
        column: "Avg-ProcTime",
        title: "Mean time to first byte",
        units: TIMES,
        of_stage: |op| op.processing_ms,
        of_interval: Some(|value| value.processing_ms),
    },
    Metric {
        name: "count",
        column: "Op-Count",
        title: "Operations",
        units: COUNTS,
        of_stage: |op| Some(float(op.count)),
        of_interval: Some(|value| Some(float(value.count))),
    },
    Metric {
        name: "bytes",
        column: "Byte-Count",
        title: "Transferred",
        units: BYTES,
        of_stage: |op| Some(float(op.bytes)),
        of_interval: Some(|value| Some(float(value.bytes))),
    },
    Metric {
        name: "success",
        column: "Succ-Ratio",
        title: "Success ratio",
        units: SHARES,
        of_stage: |op| op.success_ratio,
        of_interval: Some(|value| value.success_ratio),
    },
    Metric {
        name: "p50",
        column: "",
        title: "50 % response time",
        units: TIMES,
        of_stage: |op| op.percentile(0.5),
        of_interval: None,
    },
    Metric {
        name: "p90",
        column: "90%-ResTime",
        title: "90 % response time",
        units: TIMES,
        of_stage: |op| op.percentile(0.9),
        of_interval: None,
    },
    Metric {
        name: "p95",
        column: "95%-ResTime",
        title: "95 % response time",
        units: TIMES,
        of_stage: |op| op.percentile(0.95),
        of_interval: None,
    },
    Metric {
        name: "p99",
        column: "99%-ResTime",
        title: "99 % response time",
        units: TIMES,
        of_stage: |op| op.percentile(0.99),
        of_interval: None,
    },
    Metric {
        name: "max",
        column: "100%-ResTime",
        title: "Greatest response time",
        units: TIMES,
        of_stage: |op| op.percentile(1.0),
        of_interval: None,
    },
];

impl Metric {
    /// The metric of this name, or of this column of COSBench.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        METRICS.iter().find(|metric| metric.name == name || (!name.is_empty() && metric.column == name))
    }

    /// The unit that suits values up to `most`: how many base units it is, and its name.
    #[must_use]
    pub fn unit_for(&self, most: f64) -> (f64, &'static str) {
        unit_for(self.units, most)
    }
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
