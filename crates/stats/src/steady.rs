//! Whether a series is steady: where its start-up ends, whether it drifts, how far apart its parts are.
//!
//! Sources: K. P. White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69
//! (1997) and the MSER-5 rule made from it; rounds as in the SNIA Solid State Storage Performance Test Specification;
//! effective sample size after the lag-1 autocorrelation, as D. S. Wilks, "Statistical Methods in the Atmospheric
//! Sciences", 3rd edition (2011), section 5.2.4.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Means of this many neighbours are what MSER-5 works on.
const BATCH: usize = 5;

/// Mean; 0 for nothing.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Sum of squared distances from the mean.
fn squares(values: &[f64]) -> f64 {
    let middle = mean(values);
    values.iter().map(|value| (value - middle).powi(2)).sum()
}

/// Where the start-up of a series ends: the index from which the mean of the rest has the least standard error
/// (MSER-5). At most half of the series is cut; series of fewer than ten batches are not batched, those of fewer than ten
/// values not cut.
#[must_use]
pub fn mser5_cut(values: &[f64]) -> usize {
    let batch = if values.len() >= 10 * BATCH { BATCH } else { 1 };
    let means: Vec<f64> = values.chunks_exact(batch).map(mean).collect();
    if means.len() < 10 {
        return 0;
    }
    // Suffix sums, so that a long series costs one pass.
    let (mut sum, mut sum_of_squares, mut used) = (0.0, 0.0, 0.0_f64);
    let middle = mean(&means);
    let mut best = (f64::INFINITY, 0);
    for at in (0..means.len()).rev() {
        let value = means.get(at).copied().unwrap_or(middle) - middle;
        sum += value;
        sum_of_squares += value * value;
        used += 1.0;
        let spread = (sum_of_squares - sum * sum / used).max(0.0);
        let statistic = spread / (used * used);
        if at <= means.len() / 2 && statistic <= best.0 {
            best = (statistic, at);
        }
    }
    best.1 * batch
}

/// Correlation of each value with the next, within -1..1.
#[must_use]
pub fn lag1_autocorrelation(values: &[f64]) -> f64 {
    let total = squares(values);
    if values.len() < 3 || total <= 0.0 {
        return 0.0;
    }
    let middle = mean(values);
    let products: f64 =
        values.iter().zip(values.iter().skip(1)).map(|(a, b)| (a - middle) * (b - middle)).sum();
    (products / total).clamp(-1.0, 1.0)
}

/// How many independent values a series is worth: `n (1 - r) / (1 + r)`, at least 2 and at most n.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
pub fn effective_count(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let r = lag1_autocorrelation(values).clamp(0.0, 0.99);
    (n * (1.0 - r) / (1.0 + r)).clamp(2.0_f64.min(n), n)
}

/// A straight line through a series, and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Change over the whole series as a share of its mean: -0.3 = fell by 30 %.
    pub relative: f64,
    /// Half width of the 95 % interval of `relative`, autocorrelation of what is left beside line and bend allowed for.
    pub margin: f64,
    /// Chance of a slope at least as steep in a series without any.
    pub p_value: f64,
}

/// Least squares over equally spaced values; `None` for fewer than five values, a mean of 0, or what is no number. A drift
/// that bends is no less a drift: what is left beside the line and a parabola is the noise by which it is judged.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
pub fn drift(values: &[f64]) -> Option<Drift> {
    let n = values.len();
    let middle = mean(values);
    if n < 5 || middle.abs() < f64::MIN_POSITIVE || !middle.is_finite() {
        return None;
    }
    let centre = (n as f64 - 1.0) / 2.0;
    let x_squares: f64 = (0..n).map(|at| (at as f64 - centre).powi(2)).sum();
    let products: f64 =
        values.iter().enumerate().map(|(at, value)| (at as f64 - centre) * (value - middle)).sum();
    let slope = products / x_squares;
    // Orthogonal to the line and to the mean, so neither is moved by it.
    let flat = x_squares / n as f64;
    let bend = |at: usize| (at as f64 - centre).powi(2) - flat;
    let bend_squares: f64 = (0..n).map(|at| bend(at).powi(2)).sum();
    let curved = values.iter().enumerate().map(|(at, value)| bend(at) * value).sum::<f64>() / bend_squares;
    let residual =
        |(at, value): (usize, &f64)| value - middle - slope * (at as f64 - centre) - curved * bend(at);
    let residuals: Vec<f64> = values.iter().enumerate().map(residual).collect();
    let independent = effective_count(&residuals);
    let freedom = (independent - 3.0).max(1.0);
    let left: f64 = residuals.iter().map(|residual| residual * residual).sum();
    // What n values leave, spread over the degrees of freedom that the independent ones among them have.
    let error = (left / (n as f64) * independent / freedom / (x_squares * independent / n as f64)).sqrt();
    let law = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let p_value = if error > 0.0 { 2.0 * law.sf((slope / error).abs()) } else { f64::from(slope == 0.0) };
    let span = n as f64 / middle;
    Some(Drift {
        relative: slope * span,
        margin: (law.inverse_cdf(0.975) * error * span).abs(),
        p_value: p_value.clamp(0.0, 1.0),
    })
}

/// Greatest less least mean of `rounds` equal parts, as a share of the mean; `None` when a part would be empty or the mean
/// is 0.
#[must_use]
pub fn spread_of_rounds(values: &[f64], rounds: usize) -> Option<f64> {
    let length = values.len().checked_div(rounds).filter(|length| *length > 0)?;
    // What does not divide evenly is left out at the start.
    let whole = values.get(values.len() - length * rounds..)?;
    let means: Vec<f64> = whole.chunks_exact(length).map(mean).collect();
    let middle = mean(&means);
    let least = means.iter().copied().fold(f64::INFINITY, f64::min);
    let most = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (middle.abs() > 0.0).then(|| (most - least) / middle.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fixed noise between -1 and 1 (a linear congruence, no autocorrelation to speak of).
    pub(crate) fn noise(count: usize, seed: u64) -> Vec<f64> {
        let mut state = seed;
        (0..count)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as f64 / f64::from(1_u32 << 30) - 1.0
            })
            .collect()
    }

    #[test]
    fn a_drift_that_bends_is_as_certain_as_a_straight_one() {
        // Eight workers in a closed loop, whose reads go from 20 to 30 ms: no noise, and no straight line.
        let bends: Vec<f64> = (0..120).map(|at| 8000.0 / (20.0 + f64::from(at) / 12.0)).collect();
        let found = drift(&bends).unwrap();
        assert!((found.relative + 0.408).abs() < 0.01, "{found:?}");
        assert!(found.margin < 0.1 && found.p_value < 0.01, "{found:?}");
        // A hump goes nowhere.
        let hump: Vec<f64> = (0..120).map(|at| 100.0 - (f64::from(at) - 59.5).powi(2) / 100.0).collect();
        let found = drift(&hump).unwrap();
        assert!(found.relative.abs() < 1e-9 && found.p_value > 0.9, "{found:?}");
    }

    #[test]
    fn a_warm_up_is_cut_where_it_ends_and_a_steady_series_hardly() {
        let warm: Vec<f64> = noise(300, 1)
            .iter()
            .enumerate()
            .map(|(at, noise)| 100.0 - 90.0 * (-(at as f64) / 20.0).exp() + noise)
            .collect();
        let cut = mser5_cut(&warm);
        assert!((40..=120).contains(&cut), "{cut}");
        assert!((mean(&warm[cut..]) - 100.0).abs() < 1.0);
        let cuts: Vec<usize> = (0..50)
            .map(|seed| mser5_cut(&noise(300, seed).iter().map(|noise| 100.0 + noise).collect::<Vec<_>>()))
            .collect();
        let late = cuts.iter().filter(|cut| **cut > 100).count();
        assert!(late <= 10, "{cuts:?}");
        assert_eq!(mser5_cut(&[1.0, 2.0, 3.0]), 0);
    }

    #[test]
    fn a_drift_is_found_with_its_size_and_noise_has_none() {
        let falling: Vec<f64> =
            noise(120, 3).iter().enumerate().map(|(at, n)| 100.0 - 0.25 * at as f64 + 3.0 * n).collect();
        let found = drift(&falling).unwrap();
        assert!((found.relative + 30.0 / 85.0).abs() < found.margin + 0.01, "{found:?}");
        assert!(found.p_value < 1e-6 && found.margin < 0.03, "{found:?}");
        let alarms = (0..200)
            .filter(|seed| {
                drift(&noise(60, *seed).iter().map(|n| 50.0 + n).collect::<Vec<_>>()).unwrap().p_value < 0.01
            })
            .count();
        assert!(alarms <= 8, "{alarms} of 200 at p < 0.01");
        assert_eq!(drift(&[0.0; 20]), None);
    }

    #[test]
    fn a_random_walk_is_not_taken_for_a_certain_drift_more_than_its_correlation_allows() {
        let mut level = 0.0;
        let walk: Vec<f64> = noise(200, 9)
            .iter()
            .map(|n| {
                level = 0.95 * level + n;
                100.0 + level
            })
            .collect();
        assert!(effective_count(&walk) < 30.0, "{}", effective_count(&walk));
        assert!(lag1_autocorrelation(&walk) > 0.8);
    }

    #[test]
    fn rounds_are_equal_parts_of_the_end() {
        assert_eq!(spread_of_rounds(&[9.0, 1.0, 1.0, 1.0, 1.0, 2.0], 5), Some(1.0 / 1.2));
        assert_eq!(spread_of_rounds(&[1.0, 1.0], 5), None);
        assert_eq!(spread_of_rounds(&[0.0; 10], 5), None);
    }
}
