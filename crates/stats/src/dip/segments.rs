//! Stretches of a series that lie below its level for longer than chance explains. The score of a second is what it lacks
//! less an allowance; scores are summed up from where the sum was last 0. Source: E. S. Page, "Continuous Inspection
//! Schemes" (Biometrika 41, 1954).

use super::{Band, real};

/// Bins `from..to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    pub from: usize,
    pub to: usize,
}

/// What a second may lack before it counts, in units of what seconds scatter by, and as a share of the level.
const ALLOWANCE: f64 = 0.75;
const LEAST_ALLOWANCE: f64 = 0.01;
/// A stretch counts from this score on, in the same units: of 10^5 healthy seconds about one begins such a stretch, for
/// exp(-2 k h) with k = 0.75 and h = 8.5 is 3e-6.
const SCORE: f64 = 8.5;
/// And by so much more than the healthy seconds have of themselves.
const BEYOND_QUIET: f64 = 1.3;
/// And when at least so much of a second's work is lacking.
const LEAST_LOST: f64 = 0.1;
/// A stretch ends where the rate is seen to be back: in so many seconds it lacks less than half of what it lacked
/// before, by so many standard deviations of their sum. Two hiccups of a second with some seconds between them do not
/// add up.
const LEAST_BACK: usize = 5;
const SURELY_BACK: f64 = 5.0;

fn allowance(band: &Band) -> f64 {
    (ALLOWANCE * band.scatter * band.memory.sqrt()).max(LEAST_ALLOWANCE * band.level)
}

/// The score from which on a stretch is more than chance.
fn needed(band: &Band) -> f64 {
    (SCORE * band.scatter * band.memory.sqrt())
        .max(BEYOND_QUIET * band.quiet_score * band.noise)
        .max(LEAST_LOST * band.level)
}

/// All stretches of `missing` (level - rate) that are more than chance.
pub fn find(missing: &[f64], band: &Band) -> Vec<Segment> {
    let needed = needed(band);
    let noise = band.spread * band.memory.sqrt();
    let mut found: Vec<Segment> = Vec::new();
    for (segment, score) in stretches(missing, allowance(band), needed, noise) {
        if score < needed {
            continue;
        }
        // Stretches that touch are one.
        match found.last_mut() {
            Some(last) if segment.from <= last.to + 1 || is_one(missing, (*last, segment), band) => {
                last.to = segment.to;
            }
            _ => found.push(segment),
        }
    }
    found
}

/// Whether two stretches are one: what is shallow for long after it was deep looks back by chance, beside what was.
/// The rate has to be back from the less deep of them too, or for so long that it uses up the score of a stretch.
fn is_one(missing: &[f64], (one, next): (Segment, Segment), band: &Band) -> bool {
    let lacking = |from: usize, to: usize| missing.get(from..to).unwrap_or_default().iter().sum::<f64>();
    let each = |all: Segment| lacking(all.from, all.to) / real(all.to - all.from);
    let since = next.from - one.to;
    let between = lacking(one.to, next.from);
    let noise = band.spread * band.memory.sqrt();
    allowance(band) * real(since) - between < needed(band)
        && !is_back(each(one).min(each(next)), (between, since), noise)
}

/// The greatest score of any stretch.
pub fn greatest(missing: &[f64], band: &Band) -> f64 {
    let found = stretches(missing, allowance(band), needed(band), f64::INFINITY);
    found.into_iter().map(|(_, score)| score).fold(0.0, f64::max)
}

/// Stretches and their scores, in order. One ends where it has lost `closing` of its score again, or is seen to be over
/// in spite of this `noise`: what comes later is another.
fn stretches(missing: &[f64], allowance: f64, closing: f64, noise: f64) -> Vec<(Segment, f64)> {
    let mut found = Vec::new();
    let mut open: Option<(Segment, f64)> = None;
    let mut sum = 0.0;
    for (at, missing) in missing.iter().enumerate() {
        sum += missing - allowance;
        match &mut open {
            Some((segment, most)) => {
                let (length, since) = (segment.to - segment.from, at + 1 - segment.to);
                let before = *most / real(length) + allowance;
                let lacking = sum - *most + allowance * real(since);
                let is_over = is_back(before, (lacking, since), noise);
                if sum > *most {
                    (segment.to, *most) = (at + 1, sum);
                } else if sum <= 0.0 || *most - sum >= closing || is_over {
                    found.extend(open.take());
                    sum = 0.0;
                }
            }
            None if sum > 0.0 => open = Some((Segment { from: at, to: at + 1 }, sum)),
            None => sum = 0.0,
        }
    }
    found.extend(open);
    found
}

/// Whether a rate is back that lacked so much a second `before`, and `lacking` in so many seconds since.
fn is_back(before: f64, (lacking, since): (f64, usize), noise: f64) -> bool {
    let half = before / 2.0 * real(since);
    since >= LEAST_BACK && half - lacking > SURELY_BACK * noise * real(since).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_ends_where_its_score_is_highest() {
        let scores = [4.0, -5.0, 3.0, -3.0, 1.0, 2.0, -2.0, 2.0, -2.0, 1.0, 5.0];
        let found: Vec<_> = stretches(&scores, 0.0, 9.0, f64::INFINITY)
            .into_iter()
            .map(|(s, sum)| (s.from, s.to, sum))
            .collect();
        assert_eq!(found, [(0, 1, 4.0), (2, 3, 3.0), (4, 11, 7.0)]);
    }

    #[test]
    fn what_is_surely_over_ends_before_its_score_is_used_up() {
        let missing = |calm: usize| {
            let mut missing = vec![50.0; 10];
            missing.extend(vec![0.0; calm]);
            missing.extend([50.0; 3]);
            missing
        };
        let parts = |calm: usize, noise: f64| stretches(&missing(calm), 1.0, 12.0, noise).len();
        assert_eq!((parts(LEAST_BACK - 1, 1.0), parts(LEAST_BACK, 1.0)), (1, 2));
        assert_eq!((parts(8, 20.0), parts(8, f64::INFINITY)), (1, 1), "by chance, perhaps");
    }

    #[test]
    fn a_long_calm_parts_two_stretches_however_high_the_first_scored() {
        let mut missing = vec![50.0; 10];
        missing.extend([0.0; 30]);
        missing.extend([50.0; 3]);
        let found = stretches(&missing, 1.0, 12.0, f64::INFINITY);
        let found: Vec<_> = found.into_iter().map(|(s, _)| (s.from, s.to)).collect();
        assert_eq!(found, [(0, 10), (40, 43)]);
    }
}
