//! A smooth curve through noisy values: least squares with a polynomial of degree 6, as cosbench-plot draws it, in
//! Chebyshev's basis so that it stays well conditioned.

use cosmark_stats::linear::{LEAST_PIVOT, solve};

/// cosbench-plot's degree.
const DEGREE: usize = 6;
/// Values per coefficient below which the degree is lowered.
const VALUES_PER_COEFFICIENT: usize = 3;

/// Values of the fitted curve at the abscissas of `points`; empty when there are too few to fit anything.
pub fn smooth(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let terms = (points.len() / VALUES_PER_COEFFICIENT).min(DEGREE + 1);
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    let (middle, half) = ((first.0 + last.0) / 2.0, (last.0 - first.0) / 2.0);
    if terms < 2 || half <= 0.0 {
        return Vec::new();
    }
    let rows: Vec<Vec<f64>> = points.iter().map(|(x, _)| chebyshev((x - middle) / half, terms)).collect();
    let mut system = vec![vec![0.0; terms + 1]; terms];
    for (row, (_, y)) in rows.iter().zip(points) {
        for (equation, own) in system.iter_mut().zip(row) {
            for (cell, other) in equation.iter_mut().zip(row.iter().chain(std::iter::once(y))) {
                *cell += own * other;
            }
        }
    }
    let Some(coefficients) = solve(system, LEAST_PIVOT) else { return Vec::new() };
    rows.iter()
        .zip(points)
        .map(|(row, (x, _))| (*x, row.iter().zip(&coefficients).map(|(term, c)| term * c).sum()))
        .collect()
}

fn chebyshev(t: f64, terms: usize) -> Vec<f64> {
    let mut row = vec![1.0, t];
    while row.len() < terms {
        let next = match row.as_slice() {
            [.., before, last] => 2.0 * t * last - before,
            _ => 0.0,
        };
        row.push(next);
    }
    row.truncate(terms);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_polynomial_is_found_again() {
        let law = |x: f64| 3.0 + 0.5 * x - 0.02 * x * x + 0.0001 * x * x * x;
        let points: Vec<_> = (0..60).map(|n| f64::from(n) * 5.0).map(|x| (x, law(x))).collect();
        let found = smooth(&points);
        assert_eq!(found.len(), points.len());
        for (x, y) in found {
            assert!((y - law(x)).abs() < 1e-6 * law(x).abs().max(1.0), "{x}: {y}");
        }
    }

    #[test]
    fn few_or_equal_points_make_no_curve() {
        assert!(smooth(&[]).is_empty());
        assert!(smooth(&[(1.0, 2.0); 40]).is_empty());
        assert!(smooth(&[(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]).is_empty());
    }

    #[test]
    fn noise_is_smoothed_and_a_level_kept() {
        let points: Vec<_> =
            (0..100).map(|n| (f64::from(n), 10.0 + if n % 2 == 0 { 1.0 } else { -1.0 })).collect();
        let found = smooth(&points);
        assert_eq!(found.len(), points.len());
        assert!(found.iter().all(|(_, y)| (y - 10.0).abs() < 0.5), "{found:?}");
    }
}
