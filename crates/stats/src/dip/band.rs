//! The band in which a rate lies while nothing is wrong.

use super::real;
use crate::bootstrap::median;
use crate::steady::lag1_autocorrelation;

/// Fewer seconds than these make no band.
pub const LEAST_SECONDS: usize = 20;
/// Half the width of the band, in median absolute deviations.
const DEVIATIONS: f64 = 3.0;
/// A band is at least this share of the median wide on either side: seconds do not cut operations evenly.
const LEAST_SHARE: f64 = 0.01;
/// And at least so many operations.
const LEAST_OPERATIONS: f64 = 1.5;
/// The standard deviation of a normal law in median absolute deviations.
const NORMAL: f64 = 1.4826;

/// How a rate is without a fault: the median of its seconds, and three median absolute deviations on either side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// Median of the seconds.
    pub median: f64,
    /// Median absolute deviation.
    pub deviation: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Mean of the seconds within the band: what a second without a fault is worth.
    pub level: f64,
    /// How much one second differs from another, as a standard deviation.
    pub noise: f64,
    /// How many seconds one independent second is worth: neighbours resemble each other.
    pub memory: f64,
    /// Share of the seconds that lie outside.
    pub outside: f64,
    /// The greatest score of a stretch in the healthy seconds themselves, in units of noise.
    pub quiet_score: f64,
}

impl Band {
    /// Of healthy seconds, before it is known how they score themselves.
    pub(super) fn unscored(healthy: &[f64]) -> Option<Self> {
        if healthy.len() < LEAST_SECONDS || healthy.iter().any(|rate| !rate.is_finite()) {
            return None;
        }
        let median_rate = median(healthy).filter(|median| *median > 0.0)?;
        let apart: Vec<f64> = healthy.iter().map(|rate| (rate - median_rate).abs()).collect();
        let deviation = median(&apart)?;
        let half = (DEVIATIONS * deviation).max(LEAST_SHARE * median_rate).max(LEAST_OPERATIONS);
        let (low, high) = (median_rate - half, median_rate + half);
        let within: Vec<f64> = healthy.iter().copied().filter(|rate| (low..=high).contains(rate)).collect();
        let level = within.iter().sum::<f64>() / real(within.len().max(1));
        let least = (LEAST_SHARE * median_rate).max(LEAST_OPERATIONS) / DEVIATIONS;
        // Where many seconds are alike the median says nothing of the others.
        let noise = (NORMAL * deviation).max(spread(&within, level)).max(least);
        let resembling = lag1_autocorrelation(healthy).clamp(0.0, 0.9);
        Some(Self {
            median: median_rate,
            deviation,
            low,
            high,
            level,
            noise,
            memory: (1.0 + resembling) / (1.0 - resembling),
            outside: 1.0 - real(within.len()) / real(healthy.len()),
            quiet_score: 0.0,
        })
    }
}

fn spread(values: &[f64], middle: f64) -> f64 {
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    (squares / real(values.len().max(1))).sqrt()
}
