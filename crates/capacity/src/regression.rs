//! What each kind of operation costs a unit, from loads that mix several: least squares with costs that are not negative.
//! And a line through the utilisations of one unit, with the interval of the place where it comes to 1.
//! Sources: C. L. Lawson and R. J. Hanson, Solving Least Squares Problems (1974), chapter 23; of the interval E. C. Fieller,
//! Some Problems in Interval Estimation (Journal of the Royal Statistical Society B 16, 1954).

use cosmark_stats::linear::solve;
use cosmark_stats::special::t_critical;

use crate::number::real;

/// A plane through the utilisations of one unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Plane {
    /// What one of each column's things costs the unit, seconds.
    pub costs: Vec<f64>,
    /// Share of the unit that is busy anyway.
    pub idle: f64,
    /// How far each row lies from it, in shares of the unit.
    pub residuals: Vec<f64>,
}

impl Plane {
    /// Share of the unit that these rates keep busy.
    #[must_use]
    pub fn work(&self, rates: &[f64]) -> f64 {
        rates.iter().zip(&self.costs).map(|(x, d)| x * d).sum()
    }

    /// The root mean square of the distances of the rows.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        norm(&self.residuals) / real(self.residuals.len().max(1)).sqrt()
    }

    /// The largest distance of a row from it.
    #[must_use]
    pub fn farthest(&self) -> f64 {
        self.residuals.iter().map(|one| one.abs()).fold(0.0, f64::max)
    }
}

/// A line through (x, busy).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Line {
    /// How busy the unit is at x = 0.
    pub idle: f64,
    /// What one x more keeps it busy with.
    pub slope: f64,
    /// Sum of the squared distances from it.
    pub squares: f64,
    /// Middle of the x; 0 where the line has to begin at 0.
    mean: f64,
    /// Sum of the squared distances from that.
    spread: f64,
    /// Of the variance of one point, that of the line's middle: one over the number of points; 0 where it begins at 0.
    of_middle: f64,
}

impl Line {
    /// By least squares. `None` with fewer than two points, or where their x are all alike or not finite.
    pub fn through(points: &[(f64, f64)]) -> Option<Self> {
        if points.len() < 2 || points.iter().any(|(x, u)| !x.is_finite() || !u.is_finite()) {
            return None;
        }
        let count = real(points.len());
        let mean = points.iter().map(|point| point.0).sum::<f64>() / count;
        let middle = points.iter().map(|point| point.1).sum::<f64>() / count;
        let spread = points.iter().map(|point| (point.0 - mean).powi(2)).sum::<f64>();
        if spread <= (mean * 0.01).powi(2) {
            return None;
        }
        let slope = points.iter().map(|(x, u)| (x - mean) * (u - middle)).sum::<f64>() / spread;
        let idle = middle - slope * mean;
        let line = Self { idle, slope, squares: 0.0, mean, spread, of_middle: 1.0 / count };
        Some(Self { squares: line.squares_of(points), ..line })
    }

    /// The same, but never below 0 without load: a unit cannot be less than idle.
    pub fn from_idle(points: &[(f64, f64)]) -> Option<Self> {
        let free = Self::through(points)?;
        if free.idle >= 0.0 {
            return Some(free);
        }
        let spread = points.iter().map(|point| point.0.powi(2)).sum::<f64>();
        let slope = points.iter().map(|(x, u)| x * u).sum::<f64>() / spread;
        let line = Self { idle: 0.0, slope, squares: 0.0, mean: 0.0, spread, of_middle: 0.0 };
        Some(Self { squares: line.squares_of(points), ..line })
    }

    fn squares_of(&self, points: &[(f64, f64)]) -> f64 {
        points.iter().map(|(x, u)| (u - self.at(*x)).powi(2)).sum()
    }

    /// How busy at this x.
    pub fn at(&self, x: f64) -> f64 {
        self.idle + self.slope * x
    }

    /// The x at which the unit has no time left; infinite where it is not busier at larger x.
    pub fn full_at(&self) -> f64 {
        if self.slope > 0.0 { (1.0 - self.idle).max(0.0) / self.slope } else { f64::INFINITY }
    }

    /// By how much the slope may be off while the sum of the squared distances grows by no more than `more`.
    pub fn error(&self, more: f64) -> f64 {
        (more.max(0.0) / self.spread).sqrt()
    }

    /// The interval of [`Self::full_at`]: all x at which the line may come to 1 while the sum of its squared distances grows by
    /// no more than `more`. It widens with the way from the points to there, and has no upper end where the line may be level.
    pub fn full_between(&self, more: f64) -> (f64, f64) {
        let error = self.error(more);
        if self.slope <= error {
            let steepest = self.slope + error;
            let low = if steepest > 0.0 { (1.0 - self.idle).max(0.0) / steepest } else { f64::INFINITY };
            return (low, f64::INFINITY);
        }
        let way = (1.0 - self.idle) / self.slope - self.mean;
        let left = 1.0 - (error / self.slope).powi(2);
        let half =
            more.max(0.0).sqrt() / self.slope * (left * self.of_middle + way.powi(2) / self.spread).sqrt();
        ((self.mean + (way - half) / left).max(0.0), (self.mean + (way + half) / left).max(0.0))
    }
}

/// Costs of several kinds of operation at once: U = idle + sum of X_c D_c, by least squares with D_c >= 0. Each row is the
/// rate of each kind and the utilisation. `None` where there are not more rows than kinds, or the rates do not tell the
/// kinds apart.
#[must_use]
pub fn of_classes(rows: &[(Vec<f64>, f64)]) -> Option<Plane> {
    let classes = rows.first()?.0.len();
    let real_rows = rows.iter().all(|(rates, busy)| {
        rates.len() == classes && busy.is_finite() && rates.iter().all(|rate| rate.is_finite())
    });
    if classes == 0 || rows.len() <= classes || !real_rows {
        return None;
    }
    // The share of a unit that is busy anyway is one more kind, of which there is always one.
    let columns: Vec<Vec<f64>> = (0..=classes)
        .map(|class| rows.iter().map(|row| row.0.get(class).copied().unwrap_or(1.0)).collect())
        .collect();
    let scales: Vec<f64> = columns.iter().map(|column| norm(column)).collect();
    if scales.iter().any(|scale| *scale <= 0.0) || !told_apart(&columns) {
        return None;
    }
    let unit: Vec<Vec<f64>> = columns
        .iter()
        .zip(&scales)
        .map(|(column, scale)| column.iter().map(|x| x / scale).collect())
        .collect();
    let busy: Vec<f64> = rows.iter().map(|row| row.1).collect();
    let mut costs: Vec<f64> =
        nonnegative(&unit, &busy)?.iter().zip(&scales).map(|(x, scale)| x / scale).collect();
    let residuals = (0..rows.len()).map(|row| {
        busy[row] - columns.iter().zip(&costs).map(|(column, cost)| column[row] * cost).sum::<f64>()
    });
    let residuals = residuals.collect();
    let idle = costs.pop()?.min(1.0);
    Some(Plane { costs, idle, residuals })
}

/// Weights >= 0 of columns of length 1 that come nearest to `aim`: columns come in one by one while they help, and leave
/// when their weight would be negative.
fn nonnegative(columns: &[Vec<f64>], aim: &[f64]) -> Option<Vec<f64>> {
    let mut weights = vec![0.0; columns.len()];
    let mut inside = vec![false; columns.len()];
    let enough = 1e-12 * norm(aim).max(f64::MIN_POSITIVE);
    for _ in 0..3 * columns.len() + 1 {
        let left: Vec<f64> = (0..aim.len())
            .map(|row| {
                aim[row] - columns.iter().zip(&weights).map(|(column, x)| column[row] * x).sum::<f64>()
            })
            .collect();
        let gains = columns.iter().zip(&inside).enumerate().filter(|(_, (_, inside))| !**inside);
        let best = gains.map(|(at, (column, _))| (at, dot(column, &left))).max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((at, _)) = best.filter(|(_, gain)| *gain > enough) else { return Some(weights) };
        inside[at] = true;
        loop {
            let wanted = least_squares(columns, &inside, aim)?;
            let crossing = (0..columns.len())
                .filter(|at| inside[*at] && wanted[*at] <= 0.0)
                .map(|at| (at, weights[at] / (weights[at] - wanted[at])));
            let Some((leaves, step)) = crossing.min_by(|a, b| a.1.total_cmp(&b.1)) else {
                weights = wanted;
                break;
            };
            for (weight, to) in weights.iter_mut().zip(&wanted) {
                *weight += step.clamp(0.0, 1.0) * (to - *weight);
            }
            (weights[leaves], inside[leaves]) = (0.0, false);
        }
    }
    Some(weights)
}

/// By the normal equations, over the columns that are `inside`; 0 for the others.
fn least_squares(columns: &[Vec<f64>], inside: &[bool], aim: &[f64]) -> Option<Vec<f64>> {
    let chosen: Vec<usize> = (0..columns.len()).filter(|at| inside[*at]).collect();
    let system = chosen.iter().map(|a| {
        let row = chosen.iter().map(|b| dot(&columns[*a], &columns[*b]));
        row.chain([dot(&columns[*a], aim)]).collect()
    });
    // Columns have the length 1.
    let solved = solve(system.collect(), 1e-12)?;
    let mut weights = vec![0.0; columns.len()];
    for (at, value) in chosen.into_iter().zip(solved) {
        weights[at] = value;
    }
    Some(weights)
}

fn norm(column: &[f64]) -> f64 {
    dot(column, column).sqrt()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// No column is nearly a combination of those before it (Gram-Schmidt).
fn told_apart(columns: &[Vec<f64>]) -> bool {
    let mut base: Vec<Vec<f64>> = Vec::new();
    for column in columns {
        let whole = norm(column);
        let mut rest = column.clone();
        for direction in &base {
            let along = dot(&rest, direction);
            for (left, x) in rest.iter_mut().zip(direction) {
                *left -= along * x;
            }
        }
        let left = norm(&rest);
        if left < NEARLY * whole {
            return false;
        }
        base.push(rest.iter().map(|x| x / left).collect());
    }
    true
}

/// The least share of a column that must lie outside of what the others explain.
const NEARLY: f64 = 0.05;

/// Of fewer points nobody can tell noise from what changes with the load.
const LEAST_OF_NOISE: usize = 7;
/// Of noise the squares of the differences of neighbours come to twice those of the residuals, of what changes with the load to
/// a part of them.
const LEAST_DIFFERENT: f64 = 1.0;

/// What is left of points beside a line is noise: neighbours differ as much from each other as from the line, and no curve lies
/// nearer by more than chance would have it. The points in the order of the load. Source: J. von Neumann, Distribution of the
/// Ratio of the Mean Square Successive Difference to the Variance (Annals of Mathematical Statistics 12, 1941).
pub(crate) fn is_noise(x: &[f64], residuals: &[f64]) -> bool {
    let squares = dot(residuals, residuals);
    let differences: f64 = residuals.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    x.len() >= LEAST_OF_NOISE && differences >= LEAST_DIFFERENT * squares && !bends(x, residuals)
}

fn bends(x: &[f64], residuals: &[f64]) -> bool {
    let most = x.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let level = vec![1.0; x.len()];
    let scaled: Vec<f64> = x.iter().map(|one| one / most).collect();
    let line = without(&scaled, &[&level]);
    let squared: Vec<f64> = scaled.iter().map(|one| one * one).collect();
    let curve = without(&squared, &[&level, &line]);
    let left = without(residuals, &[&level, &line]);
    let length = dot(&curve, &curve);
    if length <= f64::EPSILON {
        return false;
    }
    let gained = dot(&left, &curve).powi(2) / length;
    let degrees = real(x.len()) - 3.0;
    gained * degrees > t_critical(0.05, degrees).powi(2) * (dot(&left, &left) - gained)
}

/// What of a column is no part of others, each of which has nothing of those before it.
fn without(column: &[f64], others: &[&[f64]]) -> Vec<f64> {
    let mut rest = column.to_vec();
    for other in others {
        let length = dot(other, other);
        let along = if length > 0.0 { dot(&rest, other) / length } else { 0.0 };
        rest.iter_mut().zip(*other).for_each(|(left, x)| *left -= along * x);
    }
    rest
}

/// The value below which this share of an ordered list lies, between two neighbours where it falls there.
#[must_use]
pub fn quantile(ordered: &[f64], share: f64) -> Option<f64> {
    let last = ordered.len().checked_sub(1)?;
    let place = real(last) * share.clamp(0.0, 1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index of the list")]
    let low = (place.floor() as usize).min(last);
    let high = (low + 1).min(last);
    let (below, above, part) = (ordered[low], ordered[high], place - real(low));
    // Between what has no end and what has none, either, there is no difference that is a number.
    Some(if below == above || part <= 0.0 { below } else { below + (above - below) * part })
}
