//! What each kind of operation costs a unit, from loads that mix several: least squares with costs that are not negative.
//! Source: C. L. Lawson and R. J. Hanson, Solving Least Squares Problems (1974), chapter 23.

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
    let size = chosen.len();
    let mut matrix: Vec<Vec<f64>> = chosen
        .iter()
        .map(|a| {
            let row = chosen.iter().map(|b| dot(&columns[*a], &columns[*b]));
            row.chain([dot(&columns[*a], aim)]).collect()
        })
        .collect();
    for pivot in 0..size {
        let largest =
            (pivot..size).max_by(|a, b| matrix[*a][pivot].abs().total_cmp(&matrix[*b][pivot].abs()))?;
        matrix.swap(pivot, largest);
        let head = matrix[pivot].clone();
        if head[pivot].abs() < 1e-12 {
            return None;
        }
        for (at, row) in matrix.iter_mut().enumerate() {
            if at != pivot {
                let factor = row[pivot] / head[pivot];
                row.iter_mut().zip(&head).for_each(|(x, y)| *x -= factor * y);
            }
        }
    }
    let mut weights = vec![0.0; columns.len()];
    for (row, at) in chosen.into_iter().enumerate() {
        weights[at] = matrix[row][size] / matrix[row][row];
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

/// The value below which this share of an ordered list lies, between two neighbours where it falls there.
#[must_use]
pub fn quantile(ordered: &[f64], share: f64) -> Option<f64> {
    let last = ordered.len().checked_sub(1)?;
    let place = real(last) * share.clamp(0.0, 1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index of the list")]
    let low = (place.floor() as usize).min(last);
    let high = (low + 1).min(last);
    Some(ordered[low] + (ordered[high] - ordered[low]) * (place - real(low)))
}
