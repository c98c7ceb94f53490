//! Repetitions put together: the mean, and the interval in which the value lies, by the rule of [`cosmark_stats::amounts`].

use cosmark_stats::amounts;

/// What is said below pictures with whiskers.
pub const WHISKERS: &str = "Whiskers: 95 % intervals over repetitions (Student's t of the logarithms).";

/// Values of repetitions as one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Together {
    /// Their mean.
    pub mean: f64,
    /// The interval of the value, for two values or more.
    pub interval: Option<(f64, f64)>,
}

/// Puts values together; `None` when there are none.
#[must_use]
pub fn together(values: &[f64]) -> Option<Together> {
    if values.is_empty() {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "repetitions are few")]
    let number = values.len() as f64;
    let mean = values.iter().sum::<f64>() / number;
    Some(Together { mean, interval: amounts::interval(values) })
}

impl Together {
    /// All divided by `by`.
    #[must_use]
    pub fn over(self, by: f64) -> Self {
        Self { mean: self.mean / by, interval: self.interval.map(|(low, high)| (low / by, high / by)) }
    }

    /// The interval, or the value alone.
    #[must_use]
    pub fn ends(self) -> (f64, f64) {
        self.interval.unwrap_or((self.mean, self.mean))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_become_their_mean_with_an_interval_that_stays_above_0() {
        assert_eq!(together(&[]), None);
        assert_eq!(together(&[3.0]), Some(Together { mean: 3.0, interval: None }));
        let three = together(&[9.0, 10.0, 11.0]).unwrap();
        let (low, high) = three.interval.unwrap();
        assert!((three.mean - 10.0).abs() < 1e-12, "{three:?}");
        assert!((low * high - 990.0_f64.powf(2.0 / 3.0)).abs() < 1e-9, "{low} to {high}");
        assert!(together(&[1.0, 2.0, 60.0]).unwrap().ends().0 > 0.0);
        assert_eq!(together(&[0.0, 10.0]).unwrap().ends().0, 0.0);
        assert_eq!(three.over(10.0).mean, 1.0);
    }
}
