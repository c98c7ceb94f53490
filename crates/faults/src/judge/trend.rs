//! Whether a rate without a fault was steady, and which of its last seconds were: a load that warms up, or a store that slows
//! down, is compared with what it was when the fault came.

use cosmark_stats::bootstrap::median;
use cosmark_stats::dip::LEAST_SECONDS;
use cosmark_stats::steady::{drift, lag1_autocorrelation, mser5_cut};

use super::{mean, real};

/// Less than this share of the rate is no rise and no fall.
const LEAST_SHARE: f64 = 0.05;
/// A straight line counts where chance makes one as steep as rarely as this.
const MOST_CHANCE: f64 = 0.001;
/// Two thirds differ where they do by so many standard errors: how far seconds resemble each other few of them hardly say.
const LEAST_ERRORS: f64 = 8.0;
/// More than this no second is taken to resemble the one before it.
const MOST_RESEMBLING: f64 = 0.9;
/// The standard deviation of a normal law in median absolute deviations, and the error of its median in that of its mean.
const NORMAL: f64 = 1.4826;
const OF_MEDIAN: f64 = 1.2533;
/// So often the beginning of what is not steady is cut.
const MOST_CUTS: usize = 3;

/// A rate that rose or fell: the medians of its first and its last third, per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Trend {
    pub from: f64,
    pub to: f64,
}

impl Trend {
    /// Of seconds without a fault; `None` where they are steady.
    pub fn of(rates: &[f64]) -> Option<Self> {
        let third = rates.len() / 3;
        let from = median(rates.get(..third)?)?;
        let to = median(rates.get(rates.len() - third..)?)?;
        let middle = median(rates).filter(|middle| *middle > 0.0)?;
        let apart = (to - from).abs() / middle;
        let steps: Vec<f64> =
            rates.iter().zip(rates.iter().skip(1)).map(|(one, next)| (next - one).abs()).collect();
        // From one second to the next a rise or fall is nothing beside the noise.
        let noise = median(&steps)? * NORMAL / std::f64::consts::SQRT_2 / middle;
        let error = noise * OF_MEDIAN * (2.0 / real(third)).sqrt() * resembling(rates, third);
        let are_thirds_apart = apart >= LEAST_SHARE && apart > LEAST_ERRORS * error;
        let is_line = apart >= LEAST_SHARE / 2.0
            && drift(rates)
                .is_some_and(|line| line.p_value < MOST_CHANCE && line.relative.abs() >= LEAST_SHARE);
        (are_thirds_apart || is_line).then_some(Self { from, to })
    }
}

/// How many times greater errors are because seconds resemble those before them, as where a store writes out for some seconds
/// what it has gathered. Of the last two thirds, each beside a straight line: those of a warm-up resemble each other anyway.
fn resembling(rates: &[f64], third: usize) -> f64 {
    let last = rates.get(rates.len().saturating_sub(2 * third)..).unwrap_or_default();
    let beside: Vec<f64> = last.chunks(third.max(1)).flat_map(beside_line).collect();
    let alike = lag1_autocorrelation(&beside).clamp(0.0, MOST_RESEMBLING);
    ((1.0 + alike) / (1.0 - alike)).sqrt()
}

/// What is left of a series beside the straight line through it.
fn beside_line(part: &[f64]) -> Vec<f64> {
    let Some(line) = drift(part) else { return Vec::new() };
    let (middle, length) = (mean(part), real(part.len()));
    let (slope, centre) = (line.relative * middle / length, (length - 1.0) / 2.0);
    (0..).zip(part).map(|(at, rate)| rate - middle - slope * (real(at) - centre)).collect()
}

/// The second from which on a rate was steady, as far as enough of them are left; 0 where all of it was. The beginning is cut
/// as MSER-5 does.
pub(super) fn steady_from(rates: &[f64]) -> usize {
    let mut from = 0;
    for _ in 0..MOST_CUTS {
        let Some(rest) = rates.get(from..).filter(|rest| Trend::of(rest).is_some()) else { break };
        let cut = mser5_cut(rest);
        if cut == 0 || rest.len() - cut < LEAST_SECONDS {
            break;
        }
        from += cut;
    }
    from
}
