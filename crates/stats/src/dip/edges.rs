//! Where a dip begins and ends. Near its ends a slow fall or rise hides in the noise, so that the last second outside the
//! band comes too early: a plateau with a straight side is fitted to what is missing, by least squares. What ends at once
//! is in a part of one second only, which says when. Where neither describes the series, the edge of the stretch is taken
//! as it is.

use super::segments::Segment;
use super::{Band, real, whole};

/// Seconds beyond the stretch that are looked at.
const CONTEXT: usize = 30;
/// More points are summed up in pairs before they are fitted: the search grows with their square.
const MOST_POINTS: usize = 160;
/// A fit describes the series when it leaves at most so many times the noise's own variance.
const MOST_LEFT: f64 = 2.5;
/// And, where there is hardly any noise, so much of the depth squared.
const MOST_LEFT_OF_DEPTH: f64 = 0.0016;
/// That is looked at on the side itself and in so many points behind it, at least so many of all: beyond its end any fit
/// is good, and would speak for one that passes over a step.
const BEHIND: usize = 3;
const LEAST_POINTS: usize = 14;
/// A straight side has to leave so many times the noise's variance less than one that ends at once: it has more ways to
/// follow the noise.
const BEYOND_ABRUPT: f64 = 4.0;

/// One that looks at less of a dip has to leave so many times the noise's variance less of that.
const BEYOND_FARTHER: f64 = 12.0;

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
    let noise = band.spread.powi(2) * band.memory;
    let mut found: Option<Side> = None;
    // Only the last part of a long dip says how it ends: the less of it, the simpler its shape.
    for part in PARTS {
        let skip = last_above(missing, known, part);
        if found.as_ref().is_some_and(|found| found.skip == skip) {
            continue;
        }
        let Some(nearer) = side_after(missing, known, skip, band) else { continue };
        // A line may pass over steps: whoever describes the last of them better is right about where they end.
        let is_better = found.as_ref().is_none_or(|found| {
            let to = (whole(nearer.end.ceil()) + BEHIND).max(skip + LEAST_POINTS);
            let [own, other] = [&nearer, found].map(|side| side.leaves(missing, skip, to));
            own + BEYOND_FARTHER * noise < other
        });
        if is_better {
            found = Some(nearer);
        }
    }
    found.map(|found| found.end)
}

/// A side that describes the series.
struct Side {
    fit: Fit,
    /// Bins before its first point, and those of each.
    skip: usize,
    every: usize,
    /// Where it has come to nothing, in bins from the first.
    end: f64,
}

impl Side {
    /// What it leaves of these bins, squared and summed up.
    fn leaves(&self, missing: &[f64], from: usize, to: usize) -> f64 {
        let part = missing.get(from..to.min(missing.len())).unwrap_or_default();
        let place = |at: usize| (real(at.saturating_sub(self.skip)) + 0.5) / real(self.every);
        let lacks = |at: usize| self.fit.depth * self.fit.share(place(at));
        (from..).zip(part).map(|(at, value)| (value - lacks(at)).powi(2)).sum()
    }
}

fn side_after(missing: &[f64], known: usize, skip: usize, band: &Band) -> Option<Side> {
    let part = missing.get(skip..)?;
    let every = part.len().div_ceil(MOST_POINTS).max(1);
    let points: Vec<f64> = part.chunks(every).map(|one| one.iter().sum::<f64>() / real(one.len())).collect();
    let noise = band.spread.powi(2) * band.memory / real(every);
    let straight = fit(&points)?;
    let abrupt = abrupt(&points).filter(|one| one.squares <= straight.squares + BEYOND_ABRUPT * noise);
    let best = abrupt.unwrap_or(straight);
    let allowed = (MOST_LEFT * noise).max(MOST_LEFT_OF_DEPTH * best.depth.powi(2));
    let left = best.left(&points);
    // The last of the points may stand for fewer seconds than the others.
    let end = (real(skip) + best.end * real(every)).min(real(missing.len()));
    // A side cannot end far from where the rate is known to be back.
    let near = (end - real(known)).abs() <= real(CONTEXT);
    let is_so = left <= allowed && best.depth > 0.0 && near;
    is_so.then_some(Side { fit: best, skip, every, end })
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
    /// Where a straight side begins, in points; `None` where it ends at once.
    begin: Option<f64>,
    /// Where the side comes to nothing, in points.
    end: f64,
    /// Height of the plateau.
    depth: f64,
    /// What the fit leaves, squared and summed up.
    squares: f64,
}

impl Fit {
    /// What it leaves of a point of the side, squared, on average.
    fn left(&self, points: &[f64]) -> f64 {
        let count = (whole(self.end.ceil()) + BEHIND).max(LEAST_POINTS).min(points.len());
        let part = points.iter().take(count).enumerate();
        let squares = part.map(|(at, value)| (value - self.depth * self.share(real(at) + 0.5)).powi(2));
        squares.sum::<f64>() / real(count.max(1))
    }

    /// How much of the depth is lacking there, in points: the middle of the first one is at a half.
    fn share(&self, at: f64) -> f64 {
        match self.begin {
            Some(begin) => height(at, begin, self.end),
            None => (self.end - at.floor()).clamp(0.0, 1.0),
        }
    }
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
                let (begin, end) = (Some(real(begin)), real(end));
                best = Some(Fit { begin, end, depth: product / weight, squares });
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
            best = Some(Fit { begin: None, end: whole + share, depth, squares });
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
