//! The table of metrics: one row each, from which tables, comparison, docs and console take names, units and direction.

use crate::Summary;

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better.
    Up,
    /// Less is better.
    Down,
}

/// One metric of an operation.
pub struct Metric {
    /// Name in machine-readable output.
    pub id: &'static str,
    /// Head of a column.
    pub title: &'static str,
    /// Unit of the value.
    pub unit: &'static str,
    /// Direction.
    pub better: Better,
    /// One sentence.
    pub help: &'static str,
    /// Reads it.
    pub get: fn(&Summary) -> Option<f64>,
}

#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
const fn number(count: u64) -> Option<f64> {
    Some(count as f64)
}

/// All metrics.
pub const METRICS: &[Metric] = &[
    Metric {
        id: "count",
        title: "ops",
        unit: "operations",
        better: Better::Up,
        help: "Operations that succeeded in the measured window.",
        get: |summary| number(summary.count),
    },
    Metric {
        id: "failures",
        title: "failed",
        unit: "operations",
        better: Better::Down,
        help: "Operations that failed in the measured window.",
        get: |summary| number(summary.failures),
    },
    Metric {
        id: "missed",
        title: "missed",
        unit: "operations",
        better: Better::Down,
        help: "Arrivals of an open loop that were dropped because no worker was free.",
        get: |summary| number(summary.missed),
    },
    Metric {
        id: "success_ratio",
        title: "success",
        unit: "share",
        better: Better::Up,
        help: "Successes of all operations that ended in the window.",
        get: |summary| summary.success_ratio,
    },
    Metric {
        id: "throughput_per_s",
        title: "op/s",
        unit: "operations/s",
        better: Better::Up,
        help: "Successes per second of the window.",
        get: |summary| summary.throughput_per_s,
    },
    Metric {
        id: "bandwidth_bytes_per_s",
        title: "bandwidth",
        unit: "bytes/s",
        better: Better::Up,
        help: "Body bytes of successes per second of the window.",
        get: |summary| summary.bandwidth_bytes_per_s,
    },
    Metric {
        id: "response_mean_ms",
        title: "mean ms",
        unit: "ms",
        better: Better::Down,
        help: "Mean response time of successes, from the moment each was due.",
        get: |summary| summary.response.mean,
    },
    Metric {
        id: "response_p50_ms",
        title: "p50 ms",
        unit: "ms",
        better: Better::Down,
        help: "Half of the successes answered within this response time.",
        get: |summary| summary.response.p50,
    },
    Metric {
        id: "response_p95_ms",
        title: "p95 ms",
        unit: "ms",
        better: Better::Down,
        help: "95 % of the successes answered within this response time.",
        get: |summary| summary.response.p95,
    },
    Metric {
        id: "response_p99_ms",
        title: "p99 ms",
        unit: "ms",
        better: Better::Down,
        help: "99 % of the successes answered within this response time.",
        get: |summary| summary.response.p99,
    },
    Metric {
        id: "response_max_ms",
        title: "max ms",
        unit: "ms",
        better: Better::Down,
        help: "The longest response time of a success.",
        get: |summary| summary.response.max,
    },
    Metric {
        id: "first_byte_p50_ms",
        title: "first byte p50 ms",
        unit: "ms",
        better: Better::Down,
        help: "Half of the successes had their first byte within this time after they were sent.",
        get: |summary| summary.first_byte.p50,
    },
];

/// The row with this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.id == id)
}
