//! A figure of one run with its error: what its batches, or its intervals, say of how far it may be off.

use cosmark_metrics::PERCENTILES;
use cosmark_metrics::results::{Amount, Metric, Statistic};
use cosmark_stats::batches::Batches;
use cosmark_stats::bootstrap::{Estimate, estimate};

use super::load::LoadedOperation;

/// Fewer operations, or fewer intervals with any, say nothing about times.
const LEAST_TIMES: u64 = 20;
const LEAST_FILLED: usize = 3;

/// Batches count ns, figures are in ms.
const NS_OF_MS: f64 = 1e6;

/// The logarithm of a figure, in its unit.
#[expect(clippy::cast_precision_loss, reason = "counts and times need no more than 53 bits")]
pub fn of_batches(op: &LoadedOperation, batches: &Batches, metric: &Metric, seed: u64) -> Option<Estimate> {
    let list = batches.batches();
    let counts: Vec<f64> = list.iter().map(|batch| batch.ok as f64).collect();
    let weigh = |values: &[f64], weights: &[u32]| -> f64 {
        values.iter().zip(weights).map(|(v, w)| v * f64::from(*w)).sum()
    };
    let total = |weights: &[u32]| weights.iter().map(|w| f64::from(*w)).sum::<f64>();
    let log = |value: f64| (value > 0.0).then(|| value.ln());
    let quantile = match metric.statistic {
        Statistic::Rate(Amount::Operations) => {
            let width_s = batches.width_ns() as f64 / (1e3 * NS_OF_MS);
            return estimate(&counts, seed, |w| log(weigh(&counts, w) / total(w) / width_s));
        }
        Statistic::Mean => None,
        Statistic::Quantile(quantile) => Some(quantile),
        Statistic::Rate(Amount::Bytes) | Statistic::Failures | Statistic::Successes | Statistic::Value => {
            return None;
        }
    };
    // Times that all come from one moment look as if they never varied.
    if op.published.ok < LEAST_TIMES || counts.iter().filter(|count| **count > 0.0).count() < LEAST_FILLED {
        return None;
    }
    let Some(quantile) = quantile else {
        let sums: Vec<f64> =
            list.iter().map(|batch| batch.mean_ns().unwrap_or(0.0) * batch.ok as f64).collect();
        let overall = weigh(&sums, &vec![1; sums.len()]) / counts.iter().sum::<f64>().max(1.0);
        let residuals: Vec<f64> = sums.iter().zip(&counts).map(|(s, n)| s - overall * n).collect();
        return estimate(&residuals, seed, |w| log(weigh(&sums, w) / weigh(&counts, w) / NS_OF_MS));
    };
    let needs = PERCENTILES.iter().find(|p| p.quantile == quantile).map_or(0, |p| p.needs());
    if op.published.ok < needs {
        return None;
    }
    let limit = batches.total().quantile_ns(quantile)?;
    // What each batch has beyond the quantile, more than its part.
    let residuals: Vec<f64> =
        list.iter().map(|b| b.beyond(limit) as f64 - (1.0 - quantile) * b.ok as f64).collect();
    let quantiles = batches.quantiles();
    estimate(&residuals, seed, |w| {
        quantiles.weighted_ns(w, quantile).and_then(|ns| log(ns as f64 / NS_OF_MS))
    })
}

/// The same of COSBench's timelines: means, and counts of an interval, of which nobody knows how long it is.
pub fn of_intervals(intervals: &[(f64, Option<f64>)], metric: &Metric, seed: u64) -> Option<Estimate> {
    let counts: Vec<f64> = intervals.iter().map(|interval| interval.0).collect();
    let weigh = |values: &[f64], weights: &[u32]| -> f64 {
        values.iter().zip(weights).map(|(v, w)| v * f64::from(*w)).sum()
    };
    let log = |value: f64| (value > 0.0 && value.is_finite()).then(|| value.ln());
    match metric.statistic {
        Statistic::Rate(Amount::Operations) => {
            estimate(&counts, seed, |w| log(weigh(&counts, w) / w.iter().map(|w| f64::from(*w)).sum::<f64>()))
        }
        Statistic::Mean => {
            let sums: Vec<f64> = intervals.iter().map(|(n, mean)| n * mean.unwrap_or(0.0)).collect();
            let overall = sums.iter().sum::<f64>() / counts.iter().sum::<f64>().max(1.0);
            let residuals: Vec<f64> = sums.iter().zip(&counts).map(|(s, n)| s - overall * n).collect();
            estimate(&residuals, seed, |w| log(weigh(&sums, w) / weigh(&counts, w)))
        }
        _ => None,
    }
}
