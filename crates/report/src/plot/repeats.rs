//! Repetitions put together: the mean, and the interval that holds the true mean. Source: Student's t, NIST/SEMATECH e-Handbook
//! 1.3.5.2.

use cosmark_stats::special::t_critical;

/// Share of such intervals that do not hold the true mean.
const ALPHA: f64 = 0.05;

/// What is said below pictures with whiskers.
pub const WHISKERS: &str = "Whiskers: 95 % intervals of the mean over repetitions (Student's t).";

/// Values of repetitions as one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Together {
    /// Their mean.
    pub mean: f64,
    /// The interval of the mean, for two values or more.
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
    if values.len() < 2 {
        return Some(Together { mean, interval: None });
    }
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (number - 1.0);
    let half = t_critical(ALPHA, number - 1.0) * (variance / number).sqrt();
    // What is counted and timed is not negative.
    Some(Together { mean, interval: Some(((mean - half).max(0.0), mean + half)) })
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
    fn repetitions_become_their_mean_with_the_interval_of_the_tables() {
        assert_eq!(together(&[]), None);
        assert_eq!(together(&[3.0]), Some(Together { mean: 3.0, interval: None }));
        let three = together(&[9.0, 10.0, 11.0]).unwrap();
        let (low, high) = three.interval.unwrap();
        // t(0.975, 2) = 4.302653.
        assert!((three.mean - 10.0).abs() < 1e-12 && (high - 10.0 - 4.302_653 / 3.0_f64.sqrt()).abs() < 1e-5);
        assert!((10.0 - low - (high - 10.0)).abs() < 1e-9);
        assert_eq!(together(&[0.0, 10.0]).unwrap().ends().0, 0.0);
        assert_eq!(three.over(10.0).mean, 1.0);
    }
}
