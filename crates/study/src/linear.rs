//! Least squares on small tables: the products of columns and their inverse.

/// A pivot below this share of the largest entry is 0.
const LEAST_PIVOT: f64 = 1e-9;

/// Sums of products of columns: the transposed matrix times the matrix.
pub(crate) fn products(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let columns = rows.first().map_or(0, Vec::len);
    let of = |a: usize, b: usize| -> f64 { rows.iter().map(|row| row[a] * row[b]).sum() };
    (0..columns).map(|a| (0..columns).map(|b| of(a, b)).collect()).collect()
}

/// The inverse of a square matrix (Gauss and Jordan, with pivots); `None` where it has none.
pub(crate) fn inverse(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let size = matrix.len();
    let largest = matrix.iter().flatten().fold(0.0_f64, |most, one| most.max(one.abs()));
    let unit = |row: usize| (0..size).map(move |column| if column == row { 1.0 } else { 0.0 });
    let mut left: Vec<Vec<f64>> =
        matrix.iter().enumerate().map(|(at, row)| row.iter().copied().chain(unit(at)).collect()).collect();
    for at in 0..size {
        let pivot = (at..size).max_by(|a, b| left[*a][at].abs().total_cmp(&left[*b][at].abs()))?;
        let found = left[pivot][at].abs();
        if found.is_nan() || found <= largest * LEAST_PIVOT {
            return None;
        }
        left.swap(at, pivot);
        let scale = left[at][at];
        left[at].iter_mut().for_each(|one| *one /= scale);
        let own = left[at].clone();
        for (_, line) in left.iter_mut().enumerate().filter(|(row, _)| *row != at) {
            let times = line[at];
            line.iter_mut().zip(&own).for_each(|(one, of)| *one -= times * of);
        }
    }
    Some(left.into_iter().map(|row| row[size..].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_times_its_inverse_is_one_and_a_singular_one_has_none() {
        let matrix = vec![vec![0.0, 2.0, 1.0], vec![2.0, 5.0, 3.0], vec![1.0, 3.0, 9.0]];
        let found = inverse(&matrix).unwrap();
        for (row, line) in matrix.iter().enumerate() {
            for column in 0..matrix.len() {
                let sum: f64 = line.iter().zip(&found).map(|(one, of)| one * of[column]).sum();
                assert!((sum - if row == column { 1.0 } else { 0.0 }).abs() < 1e-12, "{row} {column} {sum}");
            }
        }
        assert_eq!(inverse(&[vec![1.0, 2.0], vec![2.0, 4.0]]), None);
        assert_eq!(inverse(&[vec![f64::NAN]]), None);
        assert_eq!(products(&[vec![1.0, 2.0], vec![1.0, -1.0]]), [[2.0, 1.0], [1.0, 5.0]]);
    }
}
