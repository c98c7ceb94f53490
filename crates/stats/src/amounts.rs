//! Where an amount lies over repetitions: a rate, a time, a size, a ratio, which are never below 0. Student's interval of the
//! mean knows nothing of that. Here it is taken of logarithms, as is usual for amounts (Limpert, Stahel and Abbt, BioScience
//! 51, 2001), so that its lower end is above 0.

use crate::bootstrap::{deviation, mean};
use crate::special::t_critical;

/// Share of the intervals that do not hold what they are about.
const ALPHA: f64 = 0.05;

/// Student's 95 % interval of the mean, whatever the values are; `None` for fewer than two, or where one is no number.
#[must_use]
pub fn interval_of_mean(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "numbers of repetitions")]
    let number = values.len() as f64;
    let center = mean(values);
    let reach = t_critical(ALPHA, number - 1.0) * deviation(values) / number.sqrt();
    Some((center - reach, center + reach))
}

/// The 95 % interval of an amount. Of values that are all above 0 it is that of their logarithms, about the geometric mean; it
/// reaches to the mean where that lies beyond it, which of many values that differ much it does. Of equal values it is
/// their mean. A 0 has no logarithm: the interval is Student's, and what of it lies below 0 is cut off. Where a value is below
/// 0 it is no amount, and the interval is Student's. `None` for fewer than two values, or where one is no number.
#[must_use]
pub fn interval(values: &[f64]) -> Option<(f64, f64)> {
    let center = mean(values);
    if values.len() > 1
        && center.is_finite()
        && values.iter().all(|value| value.total_cmp(&values[0]).is_eq())
    {
        return Some((center, center));
    }
    if values.iter().all(|value| *value > 0.0) {
        let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let (low, high) = interval_of_mean(&logarithms)?;
        // Values that differ by more than all numbers have ends that are numbers.
        let (low, high) = (low.exp().max(f64::MIN_POSITIVE), high.exp().min(f64::MAX));
        return Some((low.min(center), high.max(center)));
    }
    let (low, high) = interval_of_mean(values)?;
    let is_amount = values.iter().all(|value| *value >= 0.0);
    Some((if is_amount { low.max(0.0) } else { low }, high))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn an_interval_of_amounts_has_no_end_below_0_and_holds_their_geometric_mean() {
        // Student's would be -45 to 111.
        let (low, high) = interval(&[10.0, 20.0, 69.0]).unwrap();
        assert!(interval_of_mean(&[10.0, 20.0, 69.0]).unwrap().0 < 0.0);
        let middle = (10.0_f64 * 20.0 * 69.0).cbrt();
        assert!(low > 0.0 && ((low * high).sqrt() - middle).abs() < 1e-9, "{low} to {high}");
        // Of values near each other both are the same but for a thousandth.
        let near = [99.0, 100.0, 101.0];
        let (own, student) = (interval(&near).unwrap(), interval_of_mean(&near).unwrap());
        assert!((own.0 - student.0).abs() < 0.1 && (own.1 - student.1).abs() < 0.1, "{own:?} {student:?}");
        // t(0.975, 2) = 4.302653.
        assert!((student.1 - 100.0 - 4.302_653 / 3.0_f64.sqrt()).abs() < 1e-5, "{student:?}");
    }

    #[test]
    fn an_interval_holds_the_mean_that_stands_beside_it() {
        // exp(ln(0.1)) is no 0.1, and of thirty values one tells the mean from the middle of the logarithms.
        for equal in [0.1, 5.0, 1e-9, 3e7] {
            let center = mean(&[equal; 3]);
            assert_eq!(interval(&[equal; 3]), Some((center, center)));
        }
        let mut skewed = [1.0; 30];
        skewed[7] = 1e6;
        let (low, high) = interval(&skewed).unwrap();
        assert!(low > 0.0 && low <= 1.0 && (high - mean(&skewed)).abs() < 1e-6, "{low} to {high}");
        assert_eq!(interval(&[f64::INFINITY; 2]), None);
        let (low, high) = interval(&[1e-60, 1e60]).unwrap();
        assert!(low > 0.0 && high.is_finite(), "{low} to {high}");
    }

    #[test]
    fn what_has_no_logarithm_has_an_interval_too() {
        let (low, high) = interval(&[0.0, 10.0]).unwrap();
        assert!(low == 0.0 && high > 10.0, "{low} to {high}");
        assert_eq!(interval(&[0.0, 0.0, 0.0]), Some((0.0, 0.0)));
        assert_eq!(interval(&[-1.0, 1.0]), interval_of_mean(&[-1.0, 1.0]));
        assert_eq!(interval(&[5.0, 5.0]).map(|(low, high)| (low.round(), high.round())), Some((5.0, 5.0)));
        for few in [&[][..], &[3.0], &[1.0, f64::NAN], &[1.0, f64::INFINITY]] {
            assert_eq!(interval(few), None, "{few:?}");
        }
    }
}
