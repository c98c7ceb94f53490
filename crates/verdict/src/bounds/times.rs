//! A measured distribution of times as the bounds need it: any quantile of it, and how many independent operations it is worth.

use cosmark_metrics::{Latencies, PERCENTILES};
use cosmark_stats::batches::Batches;
use cosmark_stats::bootstrap::{Estimate, estimate};
use cosmark_stats::settle::{quantile_bounds, share_with_memory};
use cosmark_stats::special::t_critical;

/// Of the intervals.
pub(super) const CONFIDENCE: f64 = 0.95;
/// Of the resampling: the same data give the same bounds.
pub(super) const SEED: u64 = 0xb0_07;

/// A distribution, whole where the histogram log has it, else what was published of it.
pub(super) struct Measured<'a> {
    /// How many times.
    count: f64,
    /// Times in ms with the share of operations that took no longer, both growing.
    points: Vec<(f64, f64)>,
    /// The window over time; without it the points are a few percentiles, and between them lie straight lines.
    batches: Option<&'a Batches>,
}

#[expect(clippy::cast_precision_loss, reason = "counts and times fit 53 bits")]
fn real(count: u64) -> f64 {
    count as f64
}

impl<'a> Measured<'a> {
    /// `None` when there is no time in it.
    pub(super) fn of(published: &Latencies, batches: Option<&'a Batches>) -> Option<Self> {
        let total = batches.map(Batches::total).unwrap_or_default();
        let count: u64 = total.times().map(|(_, count)| count).sum();
        if count > 0 {
            let mut below = 0_u64;
            let points = total.times().map(|(ns, times)| {
                below += times;
                (real(ns) / 1e6, real(below) / real(count))
            });
            return Some(Self { count: real(count), points: points.collect(), batches });
        }
        let values = [
            published.p50,
            published.p60,
            published.p80,
            published.p90,
            published.p95,
            published.p99,
            published.p99_9,
            published.p99_99,
        ];
        let mut points = vec![(published.min?, 0.0)];
        points.extend(PERCENTILES.iter().zip(values).filter_map(|(at, ms)| Some((ms?, at.quantile))));
        points.push((published.max?, 1.0));
        Some(Self { count: real(published.count), points, batches: None })
    }

    /// How many times there are.
    pub(super) fn count(&self) -> f64 {
        self.count
    }

    /// The time that this share of the operations does not exceed; 0 below all of them.
    pub(super) fn at(&self, share: f64) -> f64 {
        if share <= 0.0 {
            return 0.0;
        }
        // Shares are quotients of counts: the same one may differ in its last digit.
        let wanted = share - 1e-12;
        let reached = self.points.partition_point(|(_, below)| *below < wanted);
        let Some((ms, below)) = self.points.get(reached).or(self.points.last()).copied() else { return 0.0 };
        match reached.checked_sub(1).and_then(|before| self.points.get(before)) {
            Some((last_ms, last)) if self.batches.is_none() && below > *last && share < below => {
                last_ms + (ms - last_ms) * (share - last) / (below - last)
            }
            _ => ms,
        }
    }

    /// The share of the operations that took no longer than this.
    pub(super) fn share_up_to(&self, ms: f64) -> f64 {
        let reached = self.points.partition_point(|(time, _)| *time <= ms);
        let Some((last_ms, last)) = reached.checked_sub(1).and_then(|at| self.points.get(at)).copied() else {
            return 0.0;
        };
        match self.points.get(reached) {
            Some((next_ms, next)) if self.batches.is_none() && *next_ms > last_ms => {
                last + (next - last) * (ms - last_ms) / (next_ms - last_ms)
            }
            _ => last,
        }
    }

    /// The shares between which the true `quantile` lies. The upper one is `None` where nothing was seen beyond it.
    pub(super) fn sampled(&self, quantile: f64) -> (f64, Option<f64>) {
        let effective = self.effective(quantile);
        let (low, high) = quantile_bounds(quantile, effective, CONFIDENCE);
        (low, Some(high).filter(|high| (1.0 - high) * effective >= 0.5))
    }

    /// How many independent operations all of them are worth where this share is counted.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "nanoseconds of at most an hour"
    )]
    fn effective(&self, quantile: f64) -> f64 {
        let Some(batches) = self.batches else { return self.count };
        let limit_ns = (self.at(quantile) * 1e6) as u64;
        let counted = batches.batches().iter().map(|batch| (batch.ok, batch.beyond(limit_ns)));
        let (total, beyond): (Vec<u64>, Vec<u64>) = counted.unzip();
        let found = share_with_memory(&total, &beyond, CONFIDENCE, SEED);
        found.map_or(self.count, |share| share.effective).min(self.count)
    }

    /// By how much the mean may be off, as a share of it.
    pub(super) fn mean_error(&self) -> Option<f64> {
        let batches = self.batches?.batches();
        let parts: Vec<(f64, f64)> = batches
            .iter()
            .map(|batch| {
                let sum = batch.times().map(|(ns, count)| real(ns) * real(count)).sum::<f64>();
                (sum, batch.times().map(|(_, count)| real(count)).sum())
            })
            .collect();
        let means: Vec<f64> = parts.iter().map(|(sum, count)| sum / count.max(1.0)).collect();
        let mean = |weights: &[u32]| {
            let weighted = |of: fn(&(f64, f64)) -> f64| {
                parts.iter().zip(weights).map(|(part, weight)| of(part) * f64::from(*weight)).sum::<f64>()
            };
            let count = weighted(|part| part.1);
            (count > 0.0).then(|| weighted(|part| part.0) / count)
        };
        relative_error(&means, mean)
    }
}

/// By how much the mean of a series may be off, as a share of it; neighbours may resemble each other.
pub(super) fn relative_error(series: &[f64], statistic: impl FnMut(&[u32]) -> Option<f64>) -> Option<f64> {
    let Estimate { value, error, degrees } = estimate(series, SEED, statistic)?;
    (value > 0.0).then(|| t_critical(1.0 - CONFIDENCE, degrees) * error / value)
}
