//! Repetitions compared by rank: exact Mann-Whitney test, Cliff's delta, Hodges-Lehmann shift with its interval. Sources: Mann
//! and Whitney, Ann. Math. Stat. 18, 1947; Hodges and Lehmann, Ann. Math. Stat. 34, 1963; Cliff, Psychological Bulletin
//! 114, 1993; Lehmann, Nonparametrics, 1975 (ties, normal approximation).

use super::bootstrap::median;
use super::special::{normal_cdf, normal_quantile};

/// Up to this many values in both samples together the distribution is counted out; beyond it is approximated.
const EXACT_UP_TO: usize = 40;
/// More repetitions are not looked at: pairs grow with the square.
const MOST: usize = 1000;

/// Sample B against sample A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankTest {
    /// Two-sided chance of ranks at least this far apart where there is no difference.
    pub p: f64,
    /// P(b > a) - P(b < a), -1 to 1.
    pub delta: f64,
    /// Median of all differences b - a.
    pub shift: f64,
    /// Lower end of its interval; `None` when so few values allow none at this level.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn real(n: usize) -> f64 {
    n as f64
}

/// Compares two samples at confidence 1 - `alpha`; `None` when one of them is empty, too long or has a value that is no
/// number.
#[must_use]
pub fn mann_whitney(a: &[f64], b: &[f64], alpha: f64) -> Option<RankTest> {
    let unusable = |s: &[f64]| s.is_empty() || s.len() > MOST || s.iter().any(|v| !v.is_finite());
    if unusable(a) || unusable(b) {
        return None;
    }
    let ranks = doubled_ranks(a, b);
    let sum_b: usize = ranks.iter().filter(|r| r.1).map(|r| r.0).sum();
    let all: Vec<usize> = ranks.iter().map(|r| r.0).collect();
    let exact = a.len() + b.len() <= EXACT_UP_TO;
    let p = if exact { exact_p(&all, b.len(), sum_b) } else { approximate_p(&all, a.len(), b.len(), sum_b) };
    let mut differences: Vec<f64> = b.iter().flat_map(|y| a.iter().map(move |x| y - x)).collect();
    differences.sort_by(f64::total_cmp);
    let more = differences.iter().filter(|d| **d > 0.0).count();
    let less = differences.iter().filter(|d| **d < 0.0).count();
    let reach = interval_index(a.len(), b.len(), alpha, exact);
    let end = |at: Option<usize>| at.and_then(|at| differences.get(at)).copied();
    Some(RankTest {
        p,
        delta: (real(more) - real(less)) / real(differences.len()),
        shift: median(&differences)?,
        low: end(reach),
        high: end(reach.map(|k| differences.len() - 1 - k)),
    })
}

/// The least p that two samples of these sizes can ever give.
#[must_use]
pub fn least_p(a: usize, b: usize) -> f64 {
    let small = a.min(b);
    let choose = (1..=small).fold(1.0, |c, k| c * real(a + b - small + k) / real(k));
    (2.0 / choose).min(1.0)
}

/// The least number of runs on each side with which a difference can be shown at `alpha`.
#[must_use]
pub fn runs_needed(alpha: f64) -> usize {
    (2..MOST).find(|n| least_p(*n, *n) <= alpha).unwrap_or(MOST)
}

/// Twice the midrank of every value, and whether it is of B.
fn doubled_ranks(a: &[f64], b: &[f64]) -> Vec<(usize, bool)> {
    let mut all: Vec<(f64, bool)> =
        a.iter().map(|v| (*v, false)).chain(b.iter().map(|v| (*v, true))).collect();
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    let mut ranks = Vec::with_capacity(all.len());
    for group in all.chunk_by(|x, y| x.0 == y.0) {
        let first = ranks.len() + 1;
        ranks.extend(group.iter().map(|(_, is_b)| (2 * first + group.len() - 1, *is_b)));
    }
    ranks
}

/// `ways[j][s]`: subsets of j ranks with sum s.
fn subset_sums(ranks: &[usize], chosen: usize) -> Vec<Vec<f64>> {
    let total: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0; total + 1]; chosen + 1];
    if let Some(none) = ways.first_mut().and_then(|row| row.first_mut()) {
        *none = 1.0;
    }
    for rank in ranks {
        for j in (1..=chosen).rev() {
            let (below, above) = ways.split_at_mut(j);
            let (Some(from), Some(to)) = (below.last(), above.first_mut()) else { continue };
            for (sum, ways) in from.iter().enumerate().filter(|(_, ways)| **ways > 0.0) {
                if let Some(slot) = to.get_mut(sum + rank) {
                    *slot += ways;
                }
            }
        }
    }
    ways
}

fn exact_p(ranks: &[usize], chosen: usize, observed: usize) -> f64 {
    let ways = subset_sums(ranks, chosen);
    let Some(row) = ways.last() else { return 1.0 };
    let total: f64 = row.iter().sum();
    let expected = real(ranks.iter().sum::<usize>()) * real(chosen) / real(ranks.len());
    let far = (real(observed) - expected).abs() - 1e-9;
    let extreme: f64 =
        row.iter().enumerate().filter(|(sum, _)| (real(*sum) - expected).abs() >= far).map(|(_, w)| w).sum();
    (extreme / total).min(1.0)
}

fn approximate_p(ranks: &[usize], a: usize, b: usize, observed: usize) -> f64 {
    let n = real(a + b);
    let expected = real(b) * (n + 1.0);
    let squares: f64 = ranks.iter().map(|r| (real(*r) - (n + 1.0)).powi(2)).sum();
    let variance = real(a) * real(b) / (n * (n - 1.0)) * squares;
    if variance <= 0.0 {
        return 1.0;
    }
    // Half a rank is one in doubled ranks.
    let far = ((real(observed) - expected).abs() - 1.0).max(0.0);
    (2.0 * normal_cdf(-far / variance.sqrt())).min(1.0)
}

/// Index of the ordered difference where the interval begins.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be at least 0 and below the number of pairs"
)]
fn interval_index(a: usize, b: usize, alpha: f64, exact: bool) -> Option<usize> {
    if !exact {
        let (m, n) = (real(a), real(b));
        let reach = m * n / 2.0 - normal_quantile(1.0 - alpha / 2.0) * (m * n * (m + n + 1.0) / 12.0).sqrt();
        return (reach >= 1.0).then(|| reach as usize - 1);
    }
    let ranks: Vec<usize> = (1..=a + b).collect();
    let ways = subset_sums(&ranks, b);
    let row = ways.last()?;
    let total: f64 = row.iter().sum();
    let least = b * (b + 1) / 2;
    let mut tail = 0.0;
    let mut count = 0_usize;
    for ways in row.iter().skip(least) {
        tail += ways;
        if tail / total > alpha / 2.0 {
            break;
        }
        count += 1;
    }
    count.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_samples_have_the_p_of_the_tables() {
        // Complete separation: 2 / C(n+m, n).
        for (n, p) in [(3, 0.1), (4, 2.0 / 70.0), (5, 2.0 / 252.0)] {
            let a: Vec<f64> = (0..n).map(f64::from).collect();
            let b: Vec<f64> = (0..n).map(|k| 100.0 + f64::from(k)).collect();
            let found = mann_whitney(&a, &b, 0.05).unwrap();
            assert!((found.p - p).abs() < 1e-12, "{n}: {}", found.p);
            assert!((least_p(a.len(), b.len()) - p).abs() < 1e-12);
            assert_eq!((found.delta, found.shift), (1.0, 100.0));
        }
        assert_eq!((runs_needed(0.05), runs_needed(0.01)), (4, 5));
    }

    #[test]
    fn ties_are_counted_out_exactly() {
        // Ranks 1.5 1.5 3 and 4.5 4.5 6: by hand 2 of 20 subsets are as far out.
        let found = mann_whitney(&[1.0, 1.0, 2.0], &[3.0, 3.0, 4.0], 0.05).unwrap();
        assert!((found.p - 0.1).abs() < 1e-12, "{}", found.p);
        let same = mann_whitney(&[5.0; 6], &[5.0; 6], 0.05).unwrap();
        assert_eq!((same.p, same.delta, same.shift), (1.0, 0.0, 0.0));
    }

    #[test]
    fn the_interval_of_the_shift_is_that_of_the_tables() {
        // For 6 and 6 values the 95 % interval goes from the 6th to the 31st of 36 ordered differences.
        assert_eq!(interval_index(6, 6, 0.05, true), Some(5));
        assert_eq!(interval_index(4, 4, 0.05, true), Some(0));
        assert_eq!(interval_index(3, 3, 0.05, true), None, "no interval at this level");
        let close = interval_index(20, 20, 0.05, true)
            .unwrap()
            .abs_diff(interval_index(20, 20, 0.05, false).unwrap());
        assert!(close <= 1, "{close}");
    }

    #[test]
    fn exact_and_approximate_agree_where_both_are_good() {
        let a: Vec<f64> = (0..20).map(|k| f64::from(k * 7 % 20)).collect();
        let b: Vec<f64> = (0..20).map(|k| f64::from(k * 11 % 20) + 4.3).collect();
        let ranks = doubled_ranks(&a, &b);
        let all: Vec<usize> = ranks.iter().map(|r| r.0).collect();
        let sum = ranks.iter().filter(|r| r.1).map(|r| r.0).sum();
        let (exact, near) = (exact_p(&all, 20, sum), approximate_p(&all, 20, 20, sum));
        assert!((exact / near - 1.0).abs() < 0.1, "{exact} {near}");
    }

    #[test]
    fn what_is_no_number_is_no_test() {
        assert!(mann_whitney(&[], &[1.0], 0.05).is_none());
        assert!(mann_whitney(&[f64::NAN], &[1.0], 0.05).is_none());
        assert!(mann_whitney(&vec![0.0; 5000], &[1.0], 0.05).is_none());
    }
}
