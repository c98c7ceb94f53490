//! The difference between two estimates, as a ratio: how large, how sure, what could have been found, how long to measure.
//! Welch's approximation of the degrees of freedom (Biometrika 34, 1947) over block-bootstrap errors; reporting after
//! Kalibera and Jones, "Quantifying Performance Changes with Effect Size Confidence Intervals" (2012).

use super::bootstrap::Estimate;
use super::special::{t_critical, t_two_sided};

/// Chance of finding what is there for which run lengths are recommended: 9 of 10.
pub const POWER: f64 = 0.9;

/// B against A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// B / A.
    pub ratio: f64,
    /// Lower end of the interval of the ratio.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Chance of a difference at least this large where there is none.
    pub p: f64,
    /// Least relative difference that would have been found in 9 of 10 cases.
    pub detectable: f64,
    /// Degrees of freedom behind its error.
    pub degrees: f64,
}

/// Compares two estimates of *logarithms*, at confidence 1 - `alpha`.
#[must_use]
pub fn of_logarithms(a: Estimate, b: Estimate, alpha: f64) -> Difference {
    let shift = b.value - a.value;
    let error = a.error.hypot(b.error);
    let degrees = welch(a, b);
    let reach = t_critical(alpha, degrees) * error;
    let p = if error > 0.0 { t_two_sided(shift / error, degrees) } else { f64::from(u8::from(shift == 0.0)) };
    let detectable = (reach + t_critical(2.0 * (1.0 - POWER), degrees) * error).exp_m1();
    Difference {
        ratio: shift.exp(),
        low: (shift - reach).exp(),
        high: (shift + reach).exp(),
        p,
        detectable,
        degrees,
    }
}

/// Welch's degrees of freedom.
#[must_use]
pub fn welch(a: Estimate, b: Estimate) -> f64 {
    let (va, vb) = (a.error * a.error, b.error * b.error);
    if va + vb <= 0.0 {
        return 1e6;
    }
    let below = va * va / a.degrees.max(1.0) + vb * vb / b.degrees.max(1.0);
    ((va + vb).powi(2) / below).max(1.0)
}

/// By how much longer both sides have to run until a relative difference of `wanted` is found in 9 of 10 cases. The error that
/// was seen may have been a lucky one, so its upper 90 % bound is used (Kieser and Wassmer, Biometrical Journal 38, 1996;
/// chi-squared after Wilson and Hilferty, PNAS 17, 1931).
#[must_use]
pub fn longer_by(difference: &Difference, wanted: f64) -> f64 {
    let factor = difference.detectable.ln_1p() / wanted.ln_1p();
    let part = 2.0 / (9.0 * difference.degrees.max(2.0));
    let lucky = (1.0 - part - 1.281_55 * part.sqrt()).max(0.1).powi(3);
    factor * factor / lucky
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_difference_has_the_interval_of_the_textbook() {
        let a = Estimate { value: 100_f64.ln(), error: 0.01, degrees: 1e9 };
        let b = Estimate { value: 105_f64.ln(), error: 0.01, degrees: 1e9 };
        let found = of_logarithms(a, b, 0.05);
        let reach = 1.959_964 * 0.01 * 2_f64.sqrt();
        assert!((found.ratio - 1.05).abs() < 1e-9);
        assert!(
            (found.low - 1.05 * (-reach).exp()).abs() < 1e-6
                && (found.high - 1.05 * reach.exp()).abs() < 1e-6
        );
        assert!((found.detectable - ((1.959_964 + 1.281_552) * 0.01 * 2_f64.sqrt()).exp_m1()).abs() < 1e-5);
        assert!(found.p < 0.001);
        assert!((longer_by(&found, found.detectable) - 1.0).abs() < 1e-3);
        let few = Difference { degrees: 9.0, ..found };
        assert!((longer_by(&few, few.detectable) - 9.0 / 4.168).abs() < 0.01, "chi-squared(0.1, 9) is 4.168");
        assert!(
            (longer_by(&found, found.detectable / 2.0) - 4.0).abs() < 0.1,
            "half the effect, four times as long"
        );
    }

    #[test]
    fn equal_numbers_without_spread_are_no_difference() {
        let same = Estimate { value: 2.0, error: 0.0, degrees: 5.0 };
        let found = of_logarithms(same, same, 0.05);
        assert_eq!((found.ratio, found.p), (1.0, 1.0));
    }
}
