//! Moments at which the level of a series changes. The candidate is where the energy distance between the two sides is
//! greatest (E-divisive: D. S. Matteson, N. A. James, "A nonparametric approach for multiple change point analysis of
//! multivariate data", JASA 109 (2014)); whether it is one is asked of a t-test and not of random permutations, so that
//! the same series always gives the same answer (M. Fleming et al., "Hunter: using change point detection to hunt for
//! performance regressions", ICPE 2023).

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::steady::{effective_count, mean};

/// Longer series are looked at as means of neighbours: the search is quadratic.
const MOST_POINTS: usize = 400;
/// Fewer values than this are no level.
const LEAST_SIDE: usize = 5;
/// Levels of division: 15 candidates at most.
const DEEPEST: usize = 4;

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value of the new level.
    pub at: usize,
    /// Mean before it, back to the previous change.
    pub before: f64,
    /// Mean from it on, up to the next change.
    pub after: f64,
    /// Chance of such a difference between two parts of one level: Welch's test, with autocorrelation and the choice of
    /// the place allowed for.
    pub p_value: f64,
}

impl ChangePoint {
    /// The change as a share of the level before.
    #[must_use]
    pub fn relative(&self) -> f64 {
        if self.before == 0.0 { f64::INFINITY } else { (self.after - self.before) / self.before.abs() }
    }
}

/// All changes that are less likely than `p_most` to be chance and move the level by at least `least_relative`, in order.
/// Candidates are found by dividing, whether certain or not, because one change can hide another; then the least certain
/// is taken back as long as one is not certain enough.
#[must_use]
pub fn change_points(values: &[f64], p_most: f64, least_relative: f64) -> Vec<ChangePoint> {
    let batch = values.len().div_ceil(MOST_POINTS).max(1);
    let points: Vec<f64> = values.chunks(batch).map(mean).collect();
    let mut cuts = Vec::new();
    divide(&points, 0, DEEPEST, &mut cuts);
    cuts.sort_unstable();
    loop {
        let changes: Vec<ChangePoint> =
            (0..cuts.len()).filter_map(|k| change_at(&points, &cuts, k)).collect();
        let weak = changes
            .iter()
            .enumerate()
            .filter(|(_, change)| change.p_value > p_most || change.relative().abs() < least_relative)
            .max_by(|(_, a), (_, b)| a.p_value.total_cmp(&b.p_value));
        let Some((weakest, _)) = weak else {
            return changes
                .into_iter()
                .map(|change| ChangePoint { at: change.at * batch, ..change })
                .collect();
        };
        cuts.remove(weakest);
    }
}

/// The `k`-th cut between its neighbours. That its place and the ends of its sides were chosen among many counts: the
/// chance is multiplied by the number of pairs of places that do not overlap.
#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
fn change_at(points: &[f64], cuts: &[usize], k: usize) -> Option<ChangePoint> {
    let at = *cuts.get(k)?;
    let from = k.checked_sub(1).and_then(|before| cuts.get(before)).copied().unwrap_or(0);
    let to = cuts.get(k + 1).copied().unwrap_or(points.len());
    let (left, right) = (points.get(from..at)?, points.get(at..to)?);
    let sides = points.len() as f64 / LEAST_SIDE as f64;
    let places = (sides * sides / 2.0).max(1.0);
    let p_value = (welch(left, right) * places).min(1.0);
    Some(ChangePoint { at, before: mean(left), after: mean(right), p_value })
}

fn divide(points: &[f64], offset: usize, depth: usize, cuts: &mut Vec<usize>) {
    let Some(cut) = best_cut(points).filter(|_| depth > 0) else { return };
    let (left, right) = points.split_at(cut);
    cuts.push(offset + cut);
    divide(left, offset, depth - 1, cuts);
    divide(right, offset + cut, depth - 1, cuts);
}

/// Where the scaled energy distance (alpha = 1) between left and right is greatest.
#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
fn best_cut(points: &[f64]) -> Option<usize> {
    let n = points.len();
    if n < 2 * LEAST_SIDE {
        return None;
    }
    let distance = |one: usize, other: usize| match (points.get(one), points.get(other)) {
        (Some(a), Some(b)) => (a - b).abs(),
        _ => 0.0,
    };
    // Sums of distances within the left, within the right, and between; each value moves from right to left once.
    let (mut within_left, mut between) = (0.0, 0.0);
    let mut within_right: f64 =
        (0..n).map(|one| (one + 1..n).map(|other| distance(one, other)).sum::<f64>()).sum();
    let mut best: Option<(f64, usize)> = None;
    for moved in 0..n {
        let to_left: f64 = (0..moved).map(|other| distance(moved, other)).sum();
        let to_right: f64 = (moved + 1..n).map(|other| distance(moved, other)).sum();
        within_left += to_left;
        within_right -= to_right;
        between += to_right - to_left;
        let (left, right) = ((moved + 1) as f64, (n - moved - 1) as f64);
        if moved + 1 < LEAST_SIDE || n - moved - 1 < LEAST_SIDE {
            continue;
        }
        let energy = 2.0 * between / (left * right)
            - 2.0 * within_left / (left * (left - 1.0))
            - 2.0 * within_right / (right * (right - 1.0));
        let scaled = energy * left * right / (left + right);
        if best.is_none_or(|(most, _)| scaled > most) {
            best = Some((scaled, moved + 1));
        }
    }
    best.map(|(_, cut)| cut)
}

/// p of Welch's test that two samples have one mean, each counted as its effective number of values.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
pub fn welch(left: &[f64], right: &[f64]) -> f64 {
    if left.len() < 2 || right.len() < 2 {
        return 1.0;
    }
    let (a, b) = (mean(left), mean(right));
    let part = |values: &[f64], middle: f64| {
        let variance =
            values.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0);
        let independent = effective_count(values);
        (variance / independent, (independent - 1.0).max(1.0))
    };
    let ((one, one_free), (other, other_free)) = (part(left, a), part(right, b));
    let error = one + other;
    if error <= 0.0 {
        return if a == b { 1.0 } else { 0.0 };
    }
    let freedom = error * error / (one * one / one_free + other * other / other_free);
    StudentsT::new(0.0, 1.0, freedom.max(1.0))
        .map_or(1.0, |law| (2.0 * law.sf(((a - b) / error.sqrt()).abs())).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(count: usize, seed: u64) -> Vec<f64> {
        let mut state = seed;
        (0..count)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as f64 / f64::from(1_u32 << 30) - 1.0
            })
            .collect()
    }

    fn steps(levels: &[(usize, f64)], seed: u64, spread: f64) -> Vec<f64> {
        let count = levels.iter().map(|(count, _)| count).sum();
        let levels = levels.iter().flat_map(|(count, level)| std::iter::repeat_n(*level, *count));
        levels.zip(noise(count, seed)).map(|(level, noise)| level + spread * noise).collect()
    }

    #[test]
    fn steps_are_found_where_they_are() {
        let series = steps(&[(40, 100.0), (30, 70.0), (50, 100.0)], 5, 4.0);
        let found = change_points(&series, 0.001, 0.1);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].at.abs_diff(40) <= 1 && found[1].at.abs_diff(70) <= 1, "{found:?}");
        assert!((found[0].relative() + 0.3).abs() < 0.02, "{found:?}");
        assert_eq!(found, change_points(&series, 0.001, 0.1), "the same series, another answer");
    }

    #[test]
    fn noise_has_none_and_a_small_step_is_left_out() {
        let alarms = (0..200)
            .filter(|seed| !change_points(&steps(&[(60, 100.0)], *seed, 30.0), 0.001, 0.1).is_empty());
        let alarms = alarms.count();
        assert!(alarms <= 6, "{alarms} of 200 series of noise alone");
        assert_eq!(change_points(&steps(&[(50, 100.0), (50, 95.0)], 2, 2.0), 0.001, 0.1), vec![]);
        assert_eq!(change_points(&[1.0; 9], 0.001, 0.1), vec![]);
        assert_eq!(change_points(&[0.0; 60], 0.001, 0.1), vec![]);
    }

    #[test]
    fn a_long_series_is_searched_in_bounded_time() {
        let series = steps(&[(50_000, 100.0), (50_000, 50.0)], 7, 20.0);
        let found = change_points(&series, 0.001, 0.1);
        assert!(found.len() == 1 && found[0].at.abs_diff(50_000) <= 500, "{found:?}");
    }

    #[test]
    fn a_store_that_dies_is_a_change_to_nothing() {
        let found = change_points(&steps(&[(30, 200.0), (30, 0.0)], 1, 0.0), 0.001, 0.1);
        assert!(found.len() == 1 && found[0].at == 30 && found[0].after == 0.0, "{found:?}");
    }
}
