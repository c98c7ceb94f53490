//! What is read from a merged snapshot: counts, rates, and percentiles where the data support them.

use serde::Serialize;

use crate::{Latency, OpSnapshot};

/// A published percentile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentile {
    /// Field name in `run.json`.
    pub name: &'static str,
    /// Share 0..1.
    pub quantile: f64,
}

/// The published percentiles.
pub const PERCENTILES: &[Percentile] = &[
    Percentile { name: "p50", quantile: 0.5 },
    Percentile { name: "p60", quantile: 0.6 },
    Percentile { name: "p80", quantile: 0.8 },
    Percentile { name: "p90", quantile: 0.9 },
    Percentile { name: "p95", quantile: 0.95 },
    Percentile { name: "p99", quantile: 0.99 },
    Percentile { name: "p99_9", quantile: 0.999 },
    Percentile { name: "p99_99", quantile: 0.9999 },
];

/// A percentile is published when at least this many samples lie beyond it.
const SAMPLES_BEYOND: f64 = 10.0;

impl Percentile {
    /// Samples needed to publish it.
    #[must_use]
    pub fn needs(&self) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small positive number"
        )]
        let needed = (SAMPLES_BEYOND / (1.0 - self.quantile)).round() as u64;
        needed
    }
}

/// A distribution of times in milliseconds; what the data cannot support is `None`, never 0.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct LatencySummary {
    /// How many times.
    pub count: u64,
    /// Exact mean.
    pub mean: Option<f64>,
    /// Least.
    pub min: Option<f64>,
    /// 50th percentile.
    pub p50: Option<f64>,
    /// 60th percentile.
    pub p60: Option<f64>,
    /// 80th percentile.
    pub p80: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p99_9: Option<f64>,
    /// 99.99th percentile.
    pub p99_99: Option<f64>,
    /// Greatest.
    pub max: Option<f64>,
    /// Why a percentile is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withheld: Option<String>,
}

#[expect(clippy::cast_precision_loss, reason = "times below an hour in ns fit 53 bits")]
fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

impl LatencySummary {
    /// Reads a distribution.
    #[must_use]
    pub fn of(latency: &Latency) -> Self {
        let count = latency.count();
        let supported: Vec<_> = PERCENTILES
            .iter()
            .map(|percentile| {
                if count >= percentile.needs() {
                    latency.quantile_ns(percentile.quantile).map(ms)
                } else {
                    None
                }
            })
            .collect();
        let withheld =
            PERCENTILES.iter().zip(&supported).find(|(_, value)| value.is_none()).map(|(first, _)| {
                format!("{} and above need {} operations, there are {count}", first.name, first.needs())
            });
        let [p50, p60, p80, p90, p95, p99, p99_9, p99_99] = <[_; 8]>::try_from(supported).unwrap_or_default();
        Self {
            count,
            mean: latency.mean_ns().map(|ns| ns / 1e6),
            min: latency.min_ns().map(ms),
            p50,
            p60,
            p80,
            p90,
            p95,
            p99,
            p99_9,
            p99_99,
            max: latency.max_ns().map(ms),
            withheld,
        }
    }
}

/// The results of one operation of one work over the measured window.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Length of the window in seconds.
    pub window_s: f64,
    /// Successes.
    pub count: u64,
    /// Failures.
    pub failures: u64,
    /// Arrivals dropped.
    pub missed: u64,
    /// Body bytes of successes.
    pub bytes: u64,
    /// Successes per second of the window; `None` without a window.
    pub throughput_per_s: Option<f64>,
    /// Body bytes of successes per second of the window.
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Successes / all that ended; `None` when nothing ended.
    pub success_ratio: Option<f64>,
    /// From due.
    pub response: LatencySummary,
    /// From sent.
    pub service: LatencySummary,
    /// To the first byte.
    pub first_byte: LatencySummary,
    /// To open a connection.
    pub connect: LatencySummary,
    /// Of failures.
    pub failed_service: LatencySummary,
}

impl Summary {
    /// Reads a merged snapshot of a window of `window_s` seconds.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "rates need no more than 53 bits")]
    pub fn of(op: &OpSnapshot, window_s: f64) -> Self {
        let rate = |amount: u64| (window_s > 0.0).then(|| amount as f64 / window_s);
        Self {
            window_s,
            count: op.ok,
            failures: op.failed,
            missed: op.missed,
            bytes: op.bytes,
            throughput_per_s: rate(op.ok),
            bandwidth_bytes_per_s: rate(op.bytes),
            success_ratio: (op.total() > 0).then(|| op.ok as f64 / op.total() as f64),
            response: LatencySummary::of(op.response_or_service()),
            service: LatencySummary::of(&op.service),
            first_byte: LatencySummary::of(&op.first_byte),
            connect: LatencySummary::of(&op.connect),
            failed_service: LatencySummary::of(&op.failed_service),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_with_too_few_samples_is_withheld_with_its_reason() {
        let mut latency = Latency::default();
        (1..=999).for_each(|ns| latency.record(ns * 1_000_000));
        let summary = LatencySummary::of(&latency);
        assert!(summary.p95.is_some() && summary.p99.is_none() && summary.max.is_some());
        assert_eq!(summary.withheld.as_deref(), Some("p99 and above need 1000 operations, there are 999"));
        latency.record(5);
        assert!(LatencySummary::of(&latency).p99.is_some());
    }

    #[test]
    fn quantiles_of_a_known_law_are_right_to_a_thousandth() {
        let mut latency = Latency::default();
        (1..=100_000_u64).for_each(|n| latency.record(n * 1000));
        let summary = LatencySummary::of(&latency);
        for (value, expected) in [(summary.p50, 50.0), (summary.p99, 99.0), (summary.p99_9, 99.9)] {
            let value = value.unwrap();
            assert!((value / expected - 1.0).abs() < 1e-3, "{value} is not {expected}");
        }
        assert!((summary.mean.unwrap() - 50.0005).abs() < 1e-9);
    }

    #[test]
    fn an_empty_operation_has_no_rates_and_no_ratio() {
        let summary = Summary::of(&OpSnapshot::default(), 0.0);
        assert_eq!(
            (summary.throughput_per_s, summary.success_ratio, summary.response.mean),
            (None, None, None)
        );
    }
}
