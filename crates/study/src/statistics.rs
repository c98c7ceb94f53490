//! Intervals over repetitions. One value has none.

use cosmark_stats::amounts;
use cosmark_stats::bootstrap::mean;

/// A mean and where it lies with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Half its width in percent of the mean.
    #[must_use]
    pub fn half_percent(&self) -> f64 {
        if self.mean == 0.0 { f64::INFINITY } else { (self.high - self.low) / 2.0 / self.mean.abs() * 100.0 }
    }
}

/// Student's interval of the mean; `None` for fewer than two values.
#[must_use]
pub fn interval_of_mean(values: &[f64]) -> Option<Interval> {
    let (low, high) = amounts::interval_of_mean(values)?;
    Some(Interval { mean: mean(values), low, high })
}

/// The mean of an amount, which is never below 0, and where the amount lies ([`amounts::interval`]): the one rule for every
/// interval of a figure in tables, pictures and the grid; `None` for fewer than two values.
#[must_use]
pub fn interval_of_amount(values: &[f64]) -> Option<Interval> {
    let (low, high) = amounts::interval(values)?;
    Some(Interval { mean: mean(values), low, high })
}

/// The geometric mean with its interval where there are two values or more; `None` where a value is not above 0.
#[must_use]
pub fn interval_of_ratio(values: &[f64]) -> Option<(f64, Option<Interval>)> {
    if values.is_empty() || values.iter().any(|value| !(value.is_finite() && *value > 0.0)) {
        return None;
    }
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let center = mean(&logarithms).exp();
    let known = interval_of_mean(&logarithms);
    // Values that differ by more than all numbers have ends that are numbers.
    let ends = |known: Interval| (known.low.exp().max(f64::MIN_POSITIVE), known.high.exp().min(f64::MAX));
    let interval = known.map(ends).map(|(low, high)| Interval { mean: center, low, high });
    Some((center, interval))
}

/// The middle value; `None` without values.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    cosmark_stats::bootstrap::median(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_farther_apart_than_all_numbers_have_an_interval_of_numbers() {
        let (center, known) = interval_of_ratio(&[1e-150, 1e150]).unwrap_or_default();
        let known = known.unwrap_or(Interval { mean: 0.0, low: 0.0, high: f64::INFINITY });
        assert!((center - 1.0).abs() < 1e-9 && known.low > 0.0 && known.high.is_finite(), "{known:?}");
    }
}
