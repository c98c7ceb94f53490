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
/// Of a second that lies farther out than so many times the noise no more counts: one pause is no measure of the
/// others.
const FARTHEST: f64 = 4.5;
/// More seconds lie far out than those of a normal law from so many times the noise on.
const SCATTERED: f64 = 1.2;
/// The standard deviation of a normal law in median absolute deviations.
const NORMAL: f64 = 1.4826;
/// Seconds are opposed to others from this correlation on. It is looked at as many seconds later as fit so often into all of
/// them, up to a minute later; fewer seconds than these show no period.
const OPPOSED: f64 = -0.5;
const LEAST_PERIODS: usize = 4;
const MOST_LAG: usize = 60;
const LEAST_TO_SWING: usize = 40;
/// What pauses take from a second on average counts from here on: in units of noise, and as a share of the median.
const LEAST_TAKEN: f64 = 0.3;
const LEAST_TAKEN_SHARE: f64 = 0.003;
/// And from so many seconds in each half on.
const LEAST_PAUSES: usize = 2;
/// And no more of it than so many times what they take in the half that has less of them.
const MOST_OF_HALF: f64 = 2.0;

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
    /// Mean of the seconds within the band, less what pauses take that come again and again: what a second without a
    /// fault is worth.
    pub level: f64,
    /// How much one second within the band differs from another, as a standard deviation.
    pub noise: f64,
    /// The same of all seconds, those cut that lie very far out, where more of them lie far out than of a normal law;
    /// else the noise. What is more than chance is measured by it.
    pub scatter: f64,
    /// The same of all seconds where pauses come again and again; else the scatter.
    pub spread: f64,
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
        let usual = within.iter().sum::<f64>() / real(within.len().max(1));
        let least = (LEAST_SHARE * median_rate).max(LEAST_OPERATIONS) / DEVIATIONS;
        // Where many seconds are alike the median says nothing of the others.
        let noise = (NORMAL * deviation).max(spread(&within, usual)).max(least);
        let cut: Vec<f64> = healthy
            .iter()
            .map(|rate| usual + (rate - usual).clamp(-FARTHEST * noise, FARTHEST * noise))
            .collect();
        let scattered = spread(&cut, usual);
        let scatter = if scattered > SCATTERED * noise { scattered } else { noise };
        let least_taken = (LEAST_TAKEN * noise).max(LEAST_TAKEN_SHARE * median_rate);
        let taken = taken_by_pauses(healthy, usual, (low, high), least_taken);
        let level = usual - taken;
        let resembling = if swings(healthy) { 0.0 } else { lag1_autocorrelation(healthy).clamp(0.0, 0.9) };
        Some(Self {
            median: median_rate,
            deviation,
            low,
            high,
            level,
            noise,
            scatter,
            spread: if taken > 0.0 { spread(healthy, level).max(scatter) } else { scatter },
            memory: (1.0 + resembling) / (1.0 - resembling),
            outside: 1.0 - real(within.len()) / real(healthy.len()),
            quiet_score: 0.0,
        })
    }
}

/// Whether a rate goes up and down in a period of its own, as where a store does something else every few seconds: seconds
/// resemble those before them then, and yet what they lack does not add up, for soon they are opposed to these.
fn swings(healthy: &[f64]) -> bool {
    let middle = healthy.iter().sum::<f64>() / real(healthy.len().max(1));
    let apart: Vec<f64> = healthy.iter().map(|rate| rate - middle).collect();
    let all: f64 = apart.iter().map(|apart| apart * apart).sum();
    let is_opposed = |lag: usize| {
        let products = apart.iter().zip(apart.iter().skip(lag)).map(|(one, later)| one * later);
        products.sum::<f64>() < OPPOSED * all
    };
    let mut lags = 2..=MOST_LAG.min(healthy.len() / LEAST_PERIODS);
    healthy.len() >= LEAST_TO_SWING && all > 0.0 && lags.any(is_opposed)
}

/// What pauses take from a second on average that come in both halves of the seconds, 0 where that is less than `least`:
/// a store that puts its data in order every few seconds does so after a fault, too. A single pause is none of them, nor
/// is one that is made up for at once.
fn taken_by_pauses(healthy: &[f64], usual: f64, (low, high): (f64, f64), least: f64) -> f64 {
    let taken = |part: &[f64]| {
        let outside = part.iter().filter(|rate| !(low..=high).contains(*rate));
        outside.map(|rate| usual - rate).sum::<f64>() / real(part.len().max(1))
    };
    let (first, second) = healthy.split_at(healthy.len() / 2);
    let of_half = taken(first).min(taken(second));
    let pauses = |part: &[f64]| part.iter().filter(|rate| **rate < low).count();
    let is_rare = pauses(first).min(pauses(second)) < LEAST_PAUSES;
    if is_rare || of_half < least { 0.0 } else { taken(healthy).min(MOST_OF_HALF * of_half) }
}

fn spread(values: &[f64], middle: f64) -> f64 {
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    (squares / real(values.len().max(1))).sqrt()
}
