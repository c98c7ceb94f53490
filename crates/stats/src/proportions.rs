//! Intervals of a proportion. Source: C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated
//! in the case of the binomial", Biometrika 26 (1934).

use statrs::distribution::{Beta, ContinuousCDF};

/// The exact interval of a proportion after `hits` of `trials`, at `confidence` (0..1). It never covers less than it
/// says; without trials it is everything, 0 to 1.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts of operations fit 53 bits")]
pub fn clopper_pearson(hits: u64, trials: u64, confidence: f64) -> (f64, f64) {
    if trials == 0 {
        return (0.0, 1.0);
    }
    let hits = hits.min(trials);
    let tail = (1.0 - confidence.clamp(0.0, 1.0)) / 2.0;
    let (k, n) = (hits as f64, trials as f64);
    let quantile = |a: f64, b: f64, p: f64| Beta::new(a, b).map(|beta| beta.inverse_cdf(p));
    let low = if hits == 0 { 0.0 } else { quantile(k, n - k + 1.0, tail).unwrap_or(0.0) };
    let high = if hits == trials { 1.0 } else { quantile(k + 1.0, n - k, 1.0 - tail).unwrap_or(1.0) };
    (low.clamp(0.0, 1.0), high.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_published_tables() {
        // Brown, Cai, DasGupta (2001) and R's binom.test.
        let cases = [
            (0, 10, 0.0, 0.3085),
            (10, 10, 0.6915, 1.0),
            (5, 10, 0.1871, 0.8129),
            (1, 100, 0.000_253_2, 0.054_46),
        ];
        for (hits, trials, low, high) in cases {
            let found = clopper_pearson(hits, trials, 0.95);
            assert!(
                (found.0 - low).abs() < 2e-4 && (found.1 - high).abs() < 2e-4,
                "{hits}/{trials}: {found:?}"
            );
        }
    }

    #[test]
    fn nothing_seen_in_n_trials_excludes_three_in_n() {
        let (low, high) = clopper_pearson(0, 3000, 0.95);
        assert!(low == 0.0 && high > 0.001 && high < 0.001_3, "{high}");
        assert_eq!(clopper_pearson(0, 0, 0.95), (0.0, 1.0));
        let (low, high) = clopper_pearson(500_000, 1_000_000_000, 0.95);
        assert!(low > 0.000_49 && high < 0.000_51 && low < high, "{low} {high}");
    }
}
