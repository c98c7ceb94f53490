//! Intervals of a quantile from its order statistics: no assumption about the distribution. Source: H. A. David, H. N.
//! Nagaraja, "Order Statistics", 3rd edition (2003), section 7.1; for large samples the binomial ranks are approximated
//! by the normal law, as J.-Y. Le Boudec, "Performance Evaluation of Computer and Communication Systems" (2010), 2.2.2.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal};

/// Below this many values the ranks are exact.
const EXACT_BELOW: u64 = 1000;

/// The ranks (1-based, both included) of the values that enclose the quantile `p` of `count` values with at least
/// `confidence`. `None` when the sample is too small for an interval with two ends.
#[must_use]
pub fn enclosing_ranks(count: u64, p: f64, confidence: f64) -> Option<(u64, u64)> {
    if count == 0 || !(p > 0.0 && p < 1.0) || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    let (low, high) = if count < EXACT_BELOW { exact(count, p, tail)? } else { normal(count, p, tail)? };
    (low >= 1 && high <= count && low < high).then_some((low, high))
}

/// The interval [x(low), x(high)] misses the quantile when fewer than `low`, or `high` and more values lie below it.
fn exact(count: u64, p: f64, tail: f64) -> Option<(u64, u64)> {
    let law = Binomial::new(p, count).ok()?;
    let mut low = 0;
    while low < count && law.cdf(low) <= tail {
        low += 1;
    }
    let mut high = count;
    while high > 0 && law.sf(high - 1) <= tail {
        high -= 1;
    }
    // P(fewer than `low` below) <= tail, P(at least `high + 1` below) <= tail.
    Some((low, high + 1))
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "ranks of at most 2^53"
)]
fn normal(count: u64, p: f64, tail: f64) -> Option<(u64, u64)> {
    let z = Normal::new(0.0, 1.0).ok()?.inverse_cdf(1.0 - tail);
    let n = count as f64;
    let half = z * (n * p * (1.0 - p)).sqrt();
    let low = (n * p - half).floor().max(0.0) as u64;
    let high = (n * p + half).ceil() as u64 + 1;
    Some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_values_are_the_least_that_enclose_a_median() {
        // Least and greatest of six enclose the median with 1 - 2 * 0.5^6 = 96.9 %.
        assert_eq!(enclosing_ranks(6, 0.5, 0.95), Some((1, 6)));
        assert_eq!(enclosing_ranks(5, 0.5, 0.95), None);
        assert_eq!(enclosing_ranks(0, 0.5, 0.95), None);
    }

    #[test]
    fn the_ranks_of_a_median_are_those_of_published_tables() {
        // Le Boudec, appendix A, table of the 95 % interval for the median.
        for (count, expected) in [(10, (2, 9)), (20, (6, 15)), (50, (18, 33)), (70, (27, 44))] {
            assert_eq!(enclosing_ranks(count, 0.5, 0.95), Some(expected), "{count}");
        }
    }

    #[test]
    fn a_tail_quantile_needs_many_values_and_its_ranks_meet_the_share_they_promise() {
        assert_eq!(enclosing_ranks(300, 0.99, 0.95), None);
        let (low, high) = enclosing_ranks(100_000, 0.999, 0.95).unwrap();
        assert!(low > 99_870 && low < 99_900 && high > 99_900 && high < 99_930, "{low} {high}");
    }
}
