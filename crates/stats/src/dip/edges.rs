//! Where a dip begins and ends. Near its ends a slow fall or rise hides in the noise, so that the last second outside the
//! band comes too early: a plateau with a straight side is fitted to what is missing, by least squares. What ends at once
//! is in a part of one second only, which says when. Where neither describes the series, the edge of the stretch is taken
//! as it is.

use super::segments::Segment;
use super::{Band, real};

/// Seconds beyond the stretch that are looked at.
const CONTEXT: usize = 30;
/// More points are summed up in pairs before they are fitted: the search grows with their square.
const MOST_POINTS: usize = 160;
/// A fit describes the series when it leaves at most so many times the noise's own variance.
const MOST_LEFT: f64 = 2.5;
/// And, where there is hardly any noise, so much of the depth squared.
const MOST_LEFT_OF_DEPTH: f64 = 0.0016;
/// A straight side has to leave so many times the noise's variance less than one that ends at once: it has more ways to
/// follow the noise.
const BEYOND_ABRUPT: f64 = 4.0;

/// From where on a side is looked at: where the dip is last deeper than this share of its depth.
const PARTS: [f64; 4] = [0.9, 0.6, 0.3, 0.1];

/// Beginning and end of the dip around `segment`, in bins. `room` is where its neighbours end and begin.
pub fn of(missing: &[f64], segment: Segment, room: (usize, usize), band: &Band) -> (f64, f64) {
    let from = segment.from.saturating_sub(CONTEXT).max(room.0);
    let to = (segment.to + CONTEXT).min(room.1).min(missing.len());
    let lowest = lowest(missing, segment);
    // Both sides are looked at as if they rose: the left one from its end.
    let right = missing.get(lowest..to).unwrap_or_default();
    let left: Vec<f64> = missing.get(from..=lowest).unwrap_or_default().iter().rev().copied().collect();
    let end = side(right, segment.to - lowest, band).map_or(real(segment.to), |end| real(lowest) + end);
    let begin = side(&left, lowest + 1 - segment.from, band)
        .map_or(real(segment.from), |begin| (real(lowest + 1) - begin).max(0.0));
    (begin.min(end), end)
}

/// The middle of the three seconds that lack most.
fn lowest(missing: &[f64], segment: Segment) -> usize {
    let part = missing.get(segment.from..segment.to).unwrap_or_default();
    let width = part.len().min(3);
    if width == 0 {
        return segment.from;
    }
    let sums = part.windows(width).map(|window| window.iter().sum::<f64>());
    let best = sums.enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(at, _)| at);
    segment.from + best + width / 2
}

/// Where what is missing has come to nothing, in bins from the first; `None` where no straight side describes it. `known`
/// is where the stretch ends.
fn side(missing: &[f64], known: usize, band: &Band) -> Option<f64> {
    // Only the last part of a long dip says how it ends: the less of it, the simpler its shape.
    PARTS.iter().find_map(|part| side_after(missing, known, last_above(missing, known, *part), band))
}

fn side_after(missing: &[f64], known: usize, skip: usize, band: &Band) -> Option<f64> {
    let part = missing.get(skip..)?;
    let every = part.len().div_ceil(MOST_POINTS).max(1);
    let points: Vec<f64> = part.chunks(every).map(|one| one.iter().sum::<f64>() / real(one.len())).collect();
    let noise = band.spread.powi(2) * band.memory / real(every);
    let straight = fit(&points)?;
    let abrupt = abrupt(&points).filter(|one| one.squares <= straight.squares + BEYOND_ABRUPT * noise);
    let best = abrupt.unwrap_or(straight);
    let allowed = (MOST_LEFT * noise).max(MOST_LEFT_OF_DEPTH * best.depth.powi(2));
    let left = best.squares / real(points.len().max(1));
    // The last of the points may stand for fewer seconds than the others.
    let end = (real(skip) + best.end * real(every)).min(real(missing.len()));
    // A side cannot end far from where the rate is known to be back.
    let near = (end - real(known)).abs() <= real(CONTEXT);
    (left <= allowed && best.depth > 0.0 && near).then_some(end)
}

/// Where the dip is last deeper than this share of its depth, less a few seconds of what is before.
fn last_above(missing: &[f64], known: usize, share: f64) -> usize {
    let part = missing.get(..known).unwrap_or_default();
    let smooth = |at: usize| {
        let window = part.get(at.saturating_sub(1)..(at + 2).min(part.len())).unwrap_or_default();
        window.iter().sum::<f64>() / real(window.len().max(1))
    };
    let most = (0..part.len()).map(smooth).fold(0.0, f64::max);
    let last = (0..part.len()).rev().find(|at| smooth(*at) > most * share).unwrap_or(0);
    last.saturating_sub(8)
}

struct Fit {
    /// Where the side comes to nothing, in points.
    end: f64,
    /// Height of the plateau.
    depth: f64,
    /// What the fit leaves, squared and summed up.
    squares: f64,
}

/// A plateau up to a point, then a straight line to nothing, then nothing: every pair of points is tried.
fn fit(points: &[f64]) -> Option<Fit> {
    let total: f64 = points.iter().map(|value| value * value).sum();
    let mut best: Option<Fit> = None;
    for end in 1..=points.len() {
        for begin in 0..=end {
            let (mut product, mut weight) = (0.0, 0.0);
            for (at, value) in points.iter().take(end).enumerate() {
                let share = height(real(at) + 0.5, real(begin), real(end));
                product += share * value;
                weight += share * share;
            }
            if weight <= 0.0 {
                continue;
            }
            let squares = (total - product * product / weight).max(0.0);
            if best.as_ref().is_none_or(|best| squares < best.squares) {
                best = Some(Fit { end: real(end), depth: product / weight, squares });
            }
        }
    }
    best
}

/// A plateau, a point of which a part is in it, then nothing.
fn abrupt(points: &[f64]) -> Option<Fit> {
    let mut after: f64 = points.iter().map(|value| value * value).sum();
    let (mut sum, mut squared) = (0.0, 0.0);
    let mut best: Option<Fit> = None;
    for (at, value) in points.iter().enumerate() {
        sum += value;
        squared += value * value;
        after -= value * value;
        let whole = real(at + 1);
        let depth = sum / whole;
        if depth <= 0.0 {
            continue;
        }
        let last = points.get(at + 1).copied().unwrap_or(0.0);
        let share = (last / depth).clamp(0.0, 1.0);
        let beside = squared - depth * sum + (last - share * depth).powi(2);
        let squares = (beside + after - last * last).max(0.0);
        if best.as_ref().is_none_or(|best| squares < best.squares) {
            best = Some(Fit { end: whole + share, depth, squares });
        }
    }
    best
}

fn height(at: f64, begin: f64, end: f64) -> f64 {
    if at <= begin {
        1.0
    } else if at >= end {
        0.0
    } else {
        (end - at) / (end - begin)
    }
}
