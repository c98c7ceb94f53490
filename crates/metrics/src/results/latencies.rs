//! What is read from a distribution of times: its mean, its extremes, and percentiles where the data support them.

use serde::{Deserialize, Serialize};

use crate::Latency;

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

/// A distribution of times in milliseconds; what the data cannot support is null, never 0.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Latencies {
    /// How many times.
    #[serde(default)]
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
    /// Why a percentile is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withheld: Option<String>,
}

#[expect(clippy::cast_precision_loss, reason = "times below an hour in ns fit 53 bits")]
fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

impl Latencies {
    /// Reads a distribution.
    #[must_use]
    pub fn of(latency: &Latency) -> Self {
        Self::of_drawn(latency, latency.count())
    }

    /// Reads a distribution of which `count` operations were drawn, each of which is in it as often as it stands for others:
    /// what was drawn decides what is supported.
    #[must_use]
    pub fn of_drawn(latency: &Latency, count: u64) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_with_too_few_samples_is_withheld_with_its_reason() {
        let mut latency = Latency::default();
        (1..=999).for_each(|ns| latency.record(ns * 1_000_000));
        let summary = Latencies::of(&latency);
        assert!(summary.p95.is_some() && summary.p99.is_none() && summary.max.is_some());
        assert_eq!(summary.withheld.as_deref(), Some("p99 and above need 1000 operations, there are 999"));
        latency.record(5);
        assert!(Latencies::of(&latency).p99.is_some());
    }

    #[test]
    fn quantiles_of_a_known_law_are_right_to_a_thousandth() {
        let mut latency = Latency::default();
        (1..=100_000_u64).for_each(|n| latency.record(n * 1000));
        let summary = Latencies::of(&latency);
        for (value, expected) in [(summary.p50, 50.0), (summary.p99, 99.0), (summary.p99_9, 99.9)] {
            let value = value.unwrap();
            assert!((value / expected - 1.0).abs() < 1e-3, "{value} is not {expected}");
        }
        assert!((summary.mean.unwrap() - 50.0005).abs() < 1e-9);
    }
}
