//! Small systems of linear equations, as least squares has them. Source: G. H. Golub and C. F. Van Loan, Matrix
//! Computations, chapter 3 (elimination with partial pivots).

/// A pivot below this share of the largest factor is 0, where nothing says how exact the factors are.
pub const LEAST_PIVOT: f64 = 1e-9;

/// Sums of products of columns: the transposed matrix times the matrix.
#[must_use]
pub fn products(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let columns = rows.first().map_or(0, Vec::len);
    let of = |a: usize, b: usize| -> f64 { rows.iter().map(|row| row[a] * row[b]).sum() };
    (0..columns).map(|a| (0..columns).map(|b| of(a, b)).collect()).collect()
}

/// The inverse of a square matrix; `None` where it has none, as [`solve`] says it.
#[must_use]
pub fn inverse(matrix: &[Vec<f64>], least_pivot: f64) -> Option<Vec<Vec<f64>>> {
    let size = matrix.len();
    let unit = |row: usize| (0..size).map(move |column| if column == row { 1.0 } else { 0.0 });
    let rows = matrix.iter().enumerate().map(|(at, row)| row.iter().copied().chain(unit(at)).collect());
    eliminate(rows.collect(), least_pivot)
}

/// What the unknowns are. Each row is an equation: as many factors as there are rows, then its right side. `None` where the
/// equations do not tell the unknowns apart: a pivot is no more than the share `least_pivot` of the largest factor, or no
/// number.
#[must_use]
pub fn solve(system: Vec<Vec<f64>>, least_pivot: f64) -> Option<Vec<f64>> {
    eliminate(system, least_pivot)?.into_iter().map(|right| right.first().copied()).collect()
}

/// Gauss and Jordan, with pivots by column: all that stands behind the square of factors, for each unknown.
fn eliminate(mut rows: Vec<Vec<f64>>, least_pivot: f64) -> Option<Vec<Vec<f64>>> {
    let size = rows.len();
    let factors = rows.iter().flat_map(|row| row.iter().take(size));
    let largest = factors.fold(0.0_f64, |most, one| most.max(one.abs()));
    for at in 0..size {
        let pivot = (at..size).max_by(|a, b| rows[*a][at].abs().total_cmp(&rows[*b][at].abs()))?;
        let found = rows[pivot][at].abs();
        if found.is_nan() || found <= largest * least_pivot {
            return None;
        }
        rows.swap(at, pivot);
        let scale = rows[at][at];
        rows[at].iter_mut().for_each(|one| *one /= scale);
        let own = rows[at].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(row, _)| *row != at) {
            let times = row[at];
            row.iter_mut().zip(&own).for_each(|(one, of)| *one -= times * of);
        }
    }
    Some(rows.into_iter().map(|row| row[size..].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_times_its_inverse_is_one_and_a_singular_one_has_none() {
        let matrix = vec![vec![0.0, 2.0, 1.0], vec![2.0, 5.0, 3.0], vec![1.0, 3.0, 9.0]];
        let found = inverse(&matrix, LEAST_PIVOT).unwrap();
        for (row, line) in matrix.iter().enumerate() {
            for column in 0..matrix.len() {
                let sum: f64 = line.iter().zip(&found).map(|(one, of)| one * of[column]).sum();
                assert!((sum - if row == column { 1.0 } else { 0.0 }).abs() < 1e-12, "{row} {column} {sum}");
            }
        }
        assert_eq!(inverse(&[vec![1.0, 2.0], vec![2.0, 4.0]], LEAST_PIVOT), None);
        assert_eq!(inverse(&[vec![f64::NAN]], LEAST_PIVOT), None);
        assert_eq!(products(&[vec![1.0, 2.0], vec![1.0, -1.0]]), [[2.0, 1.0], [1.0, 5.0]]);
    }

    #[test]
    fn equations_are_solved_whatever_their_order_and_size_and_nothing_is_made_of_too_few() {
        let found = solve(vec![vec![0.0, 2.0, 6.0], vec![4.0, 1.0, 11.0]], LEAST_PIVOT).unwrap();
        assert!((found[0] - 2.0).abs() < 1e-12 && (found[1] - 3.0).abs() < 1e-12, "{found:?}");
        let tiny = solve(vec![vec![1e-30, 2e-30]], LEAST_PIVOT);
        assert!((tiny.unwrap()[0] - 2.0).abs() < 1e-12);
        assert_eq!(solve(vec![vec![1.0, 1.0, 1.0], vec![1.0, 1.0, 2.0]], LEAST_PIVOT), None);
        assert_eq!(solve(vec![vec![0.0, 1.0]], LEAST_PIVOT), None);
        assert_eq!(solve(Vec::new(), LEAST_PIVOT), Some(Vec::new()));
    }
}
