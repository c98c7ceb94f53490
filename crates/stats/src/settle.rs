//! Does a percentile meet its limit: yes, no, or not decided yet. The share of requests beyond the limit is compared with the
//! share that may be, with the Clopper-Pearson interval over an effective number of requests (Korn and Graubard, Survey
//! Methodology 24, 1998): requests of one second resemble each other, so n of them are worth fewer than n. That three-valued
//! trials make a search honest is the idea of RFC 9971 (MLRsearch).

use super::bootstrap::{Estimate, estimate, estimate_by_blocks};
use super::special::{beta_quantile, normal_quantile, t_critical};

/// How a test came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The whole interval is on the good side.
    Pass,
    /// The whole interval is on the bad side.
    Fail,
    /// The limit lies in the interval, or there is too little data.
    Undecided,
}

/// A share and its one-sided bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share {
    /// As counted.
    pub share: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// How many independent requests all of them are worth.
    pub effective: f64,
}

/// Requests beyond it that a percentile needs before it is believed.
pub const BEYOND: f64 = 10.0;

#[expect(clippy::cast_precision_loss, reason = "counts need no more than 53 bits")]
fn real(count: u64) -> f64 {
    count as f64
}

/// The share of `beyond` in `total`, counted batch by batch; each bound holds with `confidence`. `None` when nothing was
/// counted.
#[must_use]
pub fn share(total: &[u64], beyond: &[u64], confidence: f64, seed: u64) -> Option<Share> {
    share_of(total, beyond, confidence, seed, false)
}

/// The same of one run whose batches may resemble each other for longer than its blocks are, as [`estimate`] has it. The
/// trials of a search are put together until they decide, by [`share`].
#[must_use]
pub fn share_with_memory(total: &[u64], beyond: &[u64], confidence: f64, seed: u64) -> Option<Share> {
    share_of(total, beyond, confidence, seed, true)
}

fn share_of(total: &[u64], beyond: &[u64], confidence: f64, seed: u64, with_memory: bool) -> Option<Share> {
    let n: u64 = total.iter().sum();
    let k: u64 = beyond.iter().sum();
    if n == 0 || total.len() != beyond.len() {
        return None;
    }
    let (n, k) = (real(n), real(k.min(n)));
    let q = k / n;
    // What each batch has more than its part: its memory is the memory of the share.
    let residuals: Vec<f64> = total.iter().zip(beyond).map(|(n, k)| real(*k) - q * real(*n)).collect();
    let mut ratio = |weights: &[u32]| {
        let sum = |of: &[u64]| of.iter().zip(weights).map(|(x, w)| real(*x) * f64::from(*w)).sum::<f64>();
        let below = sum(total);
        (below > 0.0).then(|| sum(beyond) / below)
    };
    let binomial = q * (1.0 - q) / n;
    let found = if with_memory {
        estimate(&residuals, seed, &mut ratio)
    } else {
        estimate_by_blocks(&residuals, seed, &mut ratio)
    };
    let effective = match found {
        Some(Estimate { error, degrees, .. }) if error > 0.0 && binomial > 0.0 => {
            let widened = normal_quantile(confidence) / t_critical(2.0 * (1.0 - confidence), degrees);
            n / (error * error / binomial).max(1.0) * widened * widened
        }
        _ => n,
    };
    let k = q * effective;
    let alpha = 1.0 - confidence;
    let low = if k <= 0.0 { 0.0 } else { beta_quantile(alpha, k, effective - k + 1.0) };
    let high = if q >= 1.0 { 1.0 } else { beta_quantile(1.0 - alpha, k + 1.0, effective - k) };
    Some(Share { share: q, low, high, effective })
}

/// Compares a share with what is allowed. With fewer requests than leave `least_beyond` in what is allowed nothing passes:
/// [`BEYOND`] for a percentile, 0 for a share of failures.
#[must_use]
pub fn against(share: &Share, allowed: f64, least_beyond: f64) -> Decision {
    if share.low > allowed {
        Decision::Fail
    } else if share.high <= allowed && share.effective * allowed >= least_beyond {
        Decision::Pass
    } else {
        Decision::Undecided
    }
}

/// The quantiles between which the true `quantile` lies with two-sided `confidence`, when requests are worth `effective`
/// independent ones (order statistics).
#[must_use]
pub fn quantile_bounds(quantile: f64, effective: f64, confidence: f64) -> (f64, f64) {
    let alpha = (1.0 - confidence) / 2.0;
    let k = quantile * effective;
    let low = if k <= 0.0 { 0.0 } else { beta_quantile(alpha, k, effective - k + 1.0) };
    let high = if k >= effective { 1.0 } else { beta_quantile(1.0 - alpha, k + 1.0, effective - k) };
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::{Random, tests::series};

    fn spread(n: u64, k: u64) -> (Vec<u64>, Vec<u64>) {
        let mut random = Random::new(5);
        let mut beyond = vec![0; 60];
        (0..k).for_each(|_| beyond[random.below(60)] += 1);
        (vec![n / 60; 60], beyond)
    }

    #[test]
    fn independent_requests_have_the_interval_of_clopper_and_pearson() {
        // 0 of 100: 1 - 0.05^(1/100).
        let found = share(&[100], &[0], 0.95, 1).unwrap();
        assert!((found.high - 0.029_513).abs() < 1e-5 && found.low == 0.0, "{found:?}");
        // 10 of 100: 0.0553 to 0.1637 one-sided 95 %.
        let found = share(&[100], &[10], 0.95, 1).unwrap();
        assert!((found.low - 0.055_26).abs() < 1e-4 && (found.high - 0.163_72).abs() < 1e-4, "{found:?}");
        assert!(share(&[0], &[0], 0.95, 1).is_none());
    }

    #[test]
    fn the_answer_is_one_of_three() {
        for (n, k, expected) in [
            (6000, 200, Decision::Pass),
            (6000, 420, Decision::Fail),
            (6000, 295, Decision::Undecided),
            (120, 0, Decision::Undecided),
            (120, 60, Decision::Fail),
        ] {
            let (total, beyond) = spread(n, k);
            assert_eq!(
                against(&share(&total, &beyond, 0.95, 1).unwrap(), 0.05, BEYOND),
                expected,
                "{k} of {n}"
            );
        }
    }

    #[test]
    fn bursts_make_requests_worth_less() {
        let (total, even) = spread(6000, 240);
        let mut bursts = vec![0; 60];
        bursts[10..13].fill(80);
        let even = share(&total, &even, 0.95, 1).unwrap();
        let bursts = share(&total, &bursts, 0.95, 1).unwrap();
        assert!((even.share - bursts.share).abs() < 1e-12);
        assert!(bursts.effective < even.effective / 10.0, "{} {}", bursts.effective, even.effective);
        assert_eq!(against(&even, 0.05, BEYOND), Decision::Pass);
        assert_eq!(against(&bursts, 0.05, BEYOND), Decision::Undecided);
    }

    #[test]
    fn a_load_at_its_limit_passes_about_as_rarely_as_was_asked() {
        let mut random = Random::new(11);
        let wrong = (0..200)
            .filter(|seed| {
                // 6 % beyond where 5 % are allowed, and seconds that resemble each other.
                let shares = series(&mut random, 60, 0.5, 0.06, 0.3);
                let beyond: Vec<u64> = shares.iter().map(|q| (q * 100.0).round().max(0.0) as u64).collect();
                let found = share(&[100; 60], &beyond, 0.95, *seed).unwrap();
                against(&found, 0.05, BEYOND) == Decision::Pass
            })
            .count();
        assert!(wrong <= 10, "{wrong} of 200 passed");
    }

    /// A minute in which the share beyond the median wanders from second to second, and one in which chance alone moves it.
    #[test]
    fn seconds_that_resemble_each_other_for_long_are_worth_less_with_their_memory() {
        let mut random = Random::new(23);
        for (phi, least, most) in [(0.9, 25, 40), (0.0, 0, 2)] {
            let fewer = (0..40)
                .filter(|seed| {
                    let shares = series(&mut random, 60, phi, 0.5, 0.3);
                    let beyond: Vec<u64> =
                        shares.iter().map(|q| (q * 100.0).round().clamp(0.0, 100.0) as u64).collect();
                    let blocks = share(&[100; 60], &beyond, 0.95, *seed).unwrap();
                    let memory = share_with_memory(&[100; 60], &beyond, 0.95, *seed).unwrap();
                    assert!(memory.share.to_bits() == blocks.share.to_bits());
                    memory.effective < 0.8 * blocks.effective
                })
                .count();
            assert!((least..=most).contains(&fewer), "{phi}: {fewer} of 40");
        }
    }

    #[test]
    fn bounds_of_a_median_are_its_order_statistics() {
        let (low, high) = quantile_bounds(0.5, 100.0, 0.95);
        assert!((low - 0.3983).abs() < 1e-3 && (high - 0.6017).abs() < 1e-3, "{low} {high}");
    }
}
