//! How uneven the times of a work's operations are, and whether its load changes because it is to: both make a healthy course
//! look like a curve. A count of renewals varies with the variance of the times between them (D. R. Cox, "Renewal Theory",
//! 1962, section 4.2).

use cosmark_metrics::Latencies;
use cosmark_stats::steady::{mean, spread_of_rounds};

use crate::evidence::{Evidence, Series};

/// Times of the operations of one work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unevenness {
    /// Mean in seconds.
    pub mean_s: f64,
    /// Variance over the square of the mean: 0 where all take the same, 1 for exponential times.
    pub variance: f64,
}

impl Unevenness {
    /// Of the work with this name. What only the slowest of a thousand are is left out: a stall is no property of the times.
    #[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
    pub fn of(evidence: &Evidence, work: &str) -> Self {
        let (mut count, mut first, mut second) = (0.0, 0.0, 0.0);
        for op in evidence.of_work(work) {
            let Some(course) = Quantiles::of(&op.response) else { continue };
            let own = op.ok as f64;
            count += own;
            first += own * course.mean_ms;
            second += own * course.mean_square_ms2();
        }
        if count <= 0.0 || first <= 0.0 {
            return Self { mean_s: 0.0, variance: 1.0 };
        }
        let (mean_ms, square_ms2) = (first / count, second / count);
        let variance = (square_ms2 / (mean_ms * mean_ms) - 1.0).max(0.0);
        Self { mean_s: mean_ms / 1000.0, variance }
    }

    /// Share of the time in this work's operations that is spent in those which take at least so many seconds.
    #[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
    pub fn share_of_time_above(evidence: &Evidence, work: &str, seconds: f64) -> f64 {
        let (mut above, mut all) = (0.0, 0.0);
        for op in evidence.of_work(work) {
            let Some(course) = Quantiles::of(&op.response) else { continue };
            above += op.ok as f64 * (course.mean_ms - course.below_ms(1000.0 * seconds)).max(0.0);
            all += op.ok as f64 * course.mean_ms;
        }
        if all > 0.0 { above / all } else { 0.0 }
    }
}

/// Times by their percentiles: shares of the operations and about what each takes, the rest of the mean in the greatest.
struct Quantiles {
    mean_ms: f64,
    /// Share, and from what to what.
    pieces: Vec<(f64, f64, f64)>,
    top_ms: f64,
}

impl Quantiles {
    fn of(times: &Latencies) -> Option<Self> {
        let known = [
            (0.0, times.min),
            (0.5, times.p50),
            (0.6, times.p60),
            (0.8, times.p80),
            (0.9, times.p90),
            (0.95, times.p95),
            (0.99, times.p99),
            (0.999, times.p99_9),
        ];
        let mut points: Vec<(f64, f64)> =
            known.into_iter().filter_map(|(at, value)| Some((at, value?))).collect();
        // Of a few operations there are no high percentiles: the greatest is one of them, and no stall that few of many met.
        points.extend(times.max.filter(|_| times.p99_9.is_none()).map(|max| (1.0, max)));
        let pieces = points.windows(2).filter_map(|pair| match pair {
            [(from, low), (to, high)] => Some((to - from, *low, *high)),
            _ => None,
        });
        let mean_ms = times.mean?;
        Some(Self { mean_ms, pieces: pieces.collect(), top_ms: points.last().map_or(mean_ms, |top| top.1) })
    }

    /// About what the times of one piece are: where it leaps nobody knows at which place, so that it counts as low.
    fn value_ms((_, low, high): &(f64, f64, f64)) -> f64 {
        if *high < 2.0 * low { (low + high) / 2.0 } else { *low }
    }

    /// What operations below `limit_ms` add to the mean, at least.
    fn below_ms(&self, limit_ms: f64) -> f64 {
        let short = self.pieces.iter().filter(|piece| piece.1 < limit_ms);
        short.map(|piece| piece.0 * Self::value_ms(piece).min(limit_ms)).sum()
    }

    fn mean_square_ms2(&self) -> f64 {
        let sum = |power: i32| {
            self.pieces.iter().map(|piece| piece.0 * Self::value_ms(piece).powi(power)).sum::<f64>()
        };
        sum(2) + (self.mean_ms - sum(1)).max(0.0) * self.top_ms
    }
}

/// True where more is due in some parts of the window than in others: a ramp, a burst, a recorded course.
pub fn changes_by_plan(series: &Series) -> bool {
    const ROUNDS: usize = 5;
    const MOST: f64 = 0.10;
    #[expect(clippy::cast_precision_loss, reason = "lengths of series")]
    let per_round = mean(&series.due) * series.due.len() as f64 / ROUNDS as f64;
    // One operation more or less is where the parts are cut.
    spread_of_rounds(&series.due, ROUNDS).is_some_and(|spread| spread > MOST + 1.0 / per_round.max(1.0))
}
