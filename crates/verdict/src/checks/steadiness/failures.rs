//! What operations that failed take from the rate of those that succeed.

use cosmark_stats::steady::mean;

use crate::evidence::Series;

/// The series with the rate that its workers would have had without failures, if those can have made it uneven: where the more
/// failed the fewer succeeded. As many as fail by a straight line through all steps; a failure may take longer than a success
/// (a timeout), or less. Failures that come as evenly as successes take nothing away.
pub fn made_good(series: &Series) -> Option<Series> {
    let (ok, failed) = (&series.rate_per_s, &series.failed_per_s);
    if failed.len() < ok.len() || failed.iter().any(|rate| !rate.is_finite()) {
        return None;
    }
    let failed = failed.get(..ok.len())?;
    let (mean_ok, mean_failed) = (mean(ok), mean(failed));
    let spread: f64 = failed.iter().map(|rate| (rate - mean_failed).powi(2)).sum();
    let together: f64 =
        ok.iter().zip(failed).map(|(ok, failed)| (ok - mean_ok) * (failed - mean_failed)).sum();
    let taken_by_each = -together / spread;
    // Also no number, where all steps are alike.
    if spread <= 0.0 || taken_by_each.is_nan() || taken_by_each <= 0.0 {
        return None;
    }
    let mut good = series.clone();
    for (rate, failed) in good.rate_per_s.iter_mut().zip(failed) {
        *rate += taken_by_each * failed;
    }
    Some(good)
}
