//! A part of all combinations of factors with any numbers of levels: each level of each factor equally often, pairs of
//! levels of two factors as evenly as can be found, which in the best case is an orthogonal array such as a Latin
//! square. Found by swapping levels within columns (W. W. Li and C. F. J. Wu, "Columnwise-Pairwise Algorithms With
//! Applications to the Construction of Supersaturated Designs", Technometrics 1997). What it finds is decided by its
//! seed.

use std::collections::BTreeMap;

use cosmark_stats::bootstrap::Random;
use cosmark_stats::linear::{LEAST_PIVOT, inverse, products};

/// More combinations are not chosen.
const MOST_CELLS: usize = 256;
/// Beginnings that are tried.
const BEGINNINGS: usize = 20;
/// Swaps that are tried from all of them together, so that no choice takes longer than a moment.
const MOST_SWAPS: u64 = 60_000;

/// A balanced part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balanced {
    /// Levels of the factors by number, a row for each combination, sorted.
    pub rows: Vec<Vec<usize>>,
    /// All pairs of levels of two factors are there equally often.
    pub is_orthogonal: bool,
}

/// Whether so many combinations of factors with these numbers of levels can be balanced, and suffice for the effects of
/// all of them.
///
/// # Errors
/// Why not, with what would do.
pub fn check(levels: &[usize], cells: usize) -> Result<(), String> {
    if levels.is_empty() {
        return Err("there is no factor to take a part of".to_owned());
    }
    let all = levels.iter().try_fold(1_usize, |all, one| all.checked_mul(*one)).unwrap_or(usize::MAX);
    let step = levels.iter().fold(1_usize, |step, one| lcm(step, *one));
    let needed = 1 + levels.iter().map(|one| one.saturating_sub(1)).sum::<usize>();
    let least = needed.div_ceil(step.max(1)).saturating_mul(step);
    if cells > MOST_CELLS || cells > all {
        return Err(format!("{cells} cells are more than the {} that there may be", all.min(MOST_CELLS)));
    }
    if cells < needed {
        return Err(format!(
            "{cells} cells do not suffice for the effects of all levels, which need {needed}; give {least} or another \
             multiple of {step}"
        ));
    }
    if !cells.is_multiple_of(step) {
        return Err(format!(
            "with {cells} cells the levels of a factor cannot all be there equally often; give a multiple of {step}, at \
             least {least}"
        ));
    }
    Ok(())
}

/// A balanced part of so many combinations, from which the effect of each level can be read.
///
/// # Errors
/// As [`check`]; and where none was found.
pub fn balanced(levels: &[usize], cells: usize, seed: u64) -> Result<Balanced, String> {
    check(levels, cells)?;
    let mut random = Random::new(seed ^ 0x6261_6c61_6e63_6564);
    let mut left = MOST_SWAPS;
    let mut best: Option<(i64, Table)> = None;
    for _ in 0..BEGINNINGS {
        let mut table = Table::drawn(levels, cells, &mut random);
        table.improve(&mut left);
        let (doubles, uneven) = table.cost();
        let is_better = best.as_ref().is_none_or(|(known, _)| uneven < *known);
        if doubles == 0 && is_better && table.can_be_estimated() {
            best = Some((uneven, table));
        }
        let is_best = |(known, table): &(i64, Table)| *known == table.least_uneven();
        if left == 0 || best.as_ref().is_some_and(is_best) {
            break;
        }
    }
    let Some((uneven, table)) = best else {
        return Err(format!(
            "no {cells} cells were found that are balanced and all different; give another number or --seed"
        ));
    };
    let mut rows = table.rows;
    rows.sort_unstable();
    Ok(Balanced { rows, is_orthogonal: uneven == 0 })
}

fn lcm(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a.max(1), b.max(1));
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a.max(1) / x).saturating_mul(b.max(1))
}

/// Rows under construction. Each column has each of its levels equally often, whatever is swapped in it.
struct Table {
    levels: Vec<usize>,
    /// How many rows it is to have.
    wanted: usize,
    rows: Vec<Vec<usize>>,
    /// How often each combination is there.
    counts: BTreeMap<Vec<usize>, i64>,
    /// How often each pair of levels of two columns is there: by first and second column, then by levels.
    pairs: Vec<Vec<Vec<i64>>>,
    doubles: i64,
    uneven: i64,
}

fn integer(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Table {
    fn drawn(levels: &[usize], cells: usize, random: &mut Random) -> Self {
        let column = |count: &usize| {
            let mut column: Vec<usize> = (0..cells).map(|row| row % count).collect();
            random.shuffle(&mut column);
            column
        };
        let columns: Vec<Vec<usize>> = levels.iter().map(column).collect();
        let empty = |a: &usize| -> Vec<Vec<i64>> { levels.iter().map(|b| vec![0; a * b]).collect() };
        let mut table = Self {
            levels: levels.to_vec(),
            wanted: cells,
            rows: Vec::new(),
            counts: BTreeMap::new(),
            pairs: levels.iter().map(empty).collect(),
            doubles: 0,
            uneven: 0,
        };
        // What is not there yet is as uneven as it can be.
        let wanted = integer(cells);
        table.uneven = table.sizes().map(|size| size * wanted * wanted).sum();
        for at in 0..cells {
            let row: Vec<usize> = columns.iter().map(|column| column[at]).collect();
            table.count(&row, 1);
            table.rows.push(row);
        }
        table
    }

    /// How many pairs of levels each two columns have.
    fn sizes(&self) -> impl Iterator<Item = i64> {
        let of = move |a: usize| self.levels[a + 1..].iter().map(move |b| integer(self.levels[a] * b));
        (0..self.levels.len()).flat_map(of)
    }

    /// As even as pairs of levels can be: each as often as the others, or once more.
    fn least_uneven(&self) -> i64 {
        let wanted = integer(self.wanted);
        let of = |size: i64| {
            let (often, more) = (wanted / size, wanted % size);
            let away = |count: i64| (count * size - wanted) * (count * size - wanted);
            more * away(often + 1) + (size - more) * away(often)
        };
        self.sizes().map(of).sum()
    }

    /// Counts a row in or out.
    fn count(&mut self, row: &[usize], by: i64) {
        let there = self.counts.entry(row.to_vec()).or_default();
        let before = (*there - 1).max(0);
        *there += by;
        self.doubles += (*there - 1).max(0) - before;
        if *there == 0 {
            self.counts.remove(row);
        }
        let wanted = integer(self.wanted);
        for a in 0..row.len() {
            for b in a + 1..row.len() {
                let size = integer(self.levels[a] * self.levels[b]);
                let there = &mut self.pairs[a][b][row[a] * self.levels[b] + row[b]];
                let away = |count: i64| (count * size - wanted) * (count * size - wanted);
                let before = away(*there);
                *there += by;
                self.uneven += away(*there) - before;
            }
        }
    }

    /// Rows that are there already, and how uneven pairs of levels are: 0 of an orthogonal array.
    fn cost(&self) -> (i64, i64) {
        (self.doubles, self.uneven)
    }

    /// Swaps the levels of two rows in a column as long as that makes it better.
    fn improve(&mut self, left: &mut u64) {
        let best = (0, self.least_uneven());
        loop {
            let before = self.cost();
            for column in 0..self.levels.len() {
                for first in 0..self.rows.len() {
                    for second in first + 1..self.rows.len() {
                        if *left == 0 || self.cost() == best {
                            return;
                        }
                        if self.rows[first][column] != self.rows[second][column] {
                            *left -= 1;
                            self.swap_if_better(column, first, second);
                        }
                    }
                }
            }
            // Each round makes it better, so that there is a last one.
            if self.cost() >= before {
                return;
            }
        }
    }

    fn swap_if_better(&mut self, column: usize, first: usize, second: usize) {
        let before = self.cost();
        self.swap(column, first, second);
        if self.cost() >= before {
            self.swap(column, first, second);
        }
    }

    fn swap(&mut self, column: usize, first: usize, second: usize) {
        let (mut one, mut other) = (self.rows[first].clone(), self.rows[second].clone());
        self.count(&one, -1);
        self.count(&other, -1);
        std::mem::swap(&mut one[column], &mut other[column]);
        self.count(&one, 1);
        self.count(&other, 1);
        (self.rows[first], self.rows[second]) = (one, other);
    }

    /// Whether the effects of all levels can be estimated.
    fn can_be_estimated(&self) -> bool {
        let of_row = |row: &Vec<usize>| {
            let mut terms = vec![1.0];
            for (level, count) in row.iter().zip(&self.levels) {
                terms.extend((1..*count).map(|one| if one == *level { 1.0 } else { 0.0 }));
            }
            terms
        };
        let rows: Vec<Vec<f64>> = self.rows.iter().map(of_row).collect();
        inverse(&products(&rows), LEAST_PIVOT).is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const BALANCED: &[(&[usize], usize)] = &[
        (&[3, 3, 3], 9),
        (&[2, 3, 4], 12),
        (&[4, 4, 4], 16),
        (&[2, 2, 3, 3], 18),
        (&[2, 2, 2, 2, 2], 8),
        (&[3, 5], 15),
        (&[3, 3, 3], 18),
    ];
    const ORTHOGONAL: &[(&[usize], usize)] = &[(&[3, 3, 3], 9), (&[2, 2, 2], 4), (&[2, 3], 6), (&[4, 4], 16)];
    const REFUSED: &[(&[usize], usize, &str)] = &[
        (&[3, 3, 3], 6, "need 7; give 9"),
        (&[3, 3, 3], 10, "a multiple of 3, at least 9"),
        (&[2, 3], 7, "more than the 6"),
        (&[2, 5], 8, "a multiple of 10, at least 10"),
        (&[2, 2], 0, "do not suffice"),
        (&[], 4, "no factor"),
    ];

    fn times(found: &Balanced, of: &dyn Fn(&[usize]) -> Vec<usize>) -> BTreeMap<Vec<usize>, usize> {
        let mut counts = BTreeMap::new();
        for row in &found.rows {
            *counts.entry(of(row)).or_default() += 1;
        }
        counts
    }

    #[test]
    fn each_level_is_there_equally_often_and_no_combination_twice() {
        for (levels, cells) in BALANCED.iter().map(|(levels, cells)| (*levels, *cells)) {
            for seed in 0..3 {
                let found = balanced(levels, cells, seed).unwrap();
                assert_eq!(found.rows.iter().collect::<BTreeSet<_>>().len(), cells, "{levels:?} {cells}");
                for (at, count) in levels.iter().enumerate() {
                    let of_level = times(&found, &|row| vec![row[at]]);
                    assert_eq!(of_level.len(), *count);
                    assert!(of_level.values().all(|one| one * count == cells), "{levels:?} {of_level:?}");
                }
                assert_eq!(balanced(levels, cells, seed).unwrap(), found, "the same seed finds the same");
            }
        }
        let first = balanced(&[4, 4, 4], 16, 1).unwrap();
        assert!((2..20).any(|seed| balanced(&[4, 4, 4], 16, seed).unwrap() != first));
    }

    #[test]
    fn a_latin_square_is_found_where_there_is_one() {
        for (levels, cells) in ORTHOGONAL.iter().map(|(levels, cells)| (*levels, *cells)) {
            let found = balanced(levels, cells, 7).unwrap();
            assert!(found.is_orthogonal, "{levels:?} {found:?}");
            for a in 0..levels.len() {
                for b in a + 1..levels.len() {
                    let of_pair = times(&found, &|row| vec![row[a], row[b]]);
                    assert_eq!(of_pair.len(), levels[a] * levels[b]);
                    assert!(of_pair.values().all(|one| one * levels[a] * levels[b] == cells));
                }
            }
        }
        // In 12 cells not each of 16 pairs can be.
        assert!(!balanced(&[4, 4, 3], 12, 1).unwrap().is_orthogonal);
    }

    #[test]
    fn levels_beyond_any_number_are_refused_and_counted_nowhere() {
        // Their least common multiple, and the number of their combinations, have more than 64 bits.
        assert!(check(&[1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049], 100).is_err());
    }

    #[test]
    fn what_cannot_be_balanced_or_estimated_is_refused_with_what_would_do() {
        for (levels, cells, why) in REFUSED {
            let found = balanced(levels, *cells, 1);
            assert!(found.as_ref().is_err_and(|said| said.contains(why)), "{levels:?} {cells}: {found:?}");
        }
    }
}
