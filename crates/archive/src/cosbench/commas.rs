//! Tables that a JVM of a locale with decimal commas wrote. COSBench formats numbers as its locale does and quotes nothing, so
//! `1,06` is two cells. Which cells belong together follows from what each column may hold: fractions have at most two digits
//! and never end in 0 (the pattern is `0.##`), and columns of one row agree with each other. Where more than one reading is
//! left, there is none.

use super::fields::{BEYOND_ALL_BUCKETS, number};
use crate::csv::number::NOT_AVAILABLE;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A number without a fraction.
    Whole,
    /// A number that may have one.
    Decimal,
    /// The same with a percent sign.
    Share,
}

/// Readings that are tried at most; a row of that many operations is left to who can write its numbers with points.
const MOST_STEPS: u32 = 200_000;
/// Cells of such a row, whose number counts twice: for the depth of the search, and squared for the room that it takes.
const MOST_CELLS: usize = 1000;

/// Steps that any table may take: of what COSBench writes, hardly a row takes a hundred.
const AT_FIRST: u64 = 5_000_000;
/// Steps more for each cell, so that a long table may take as many as a short one, row by row.
const PER_CELL: u64 = 64;
/// Steps of a table at most, however long it is.
const MOST_OF_TABLE: u64 = 200_000_000;
/// Looks at what a cell could be that cost as much as a step.
const LOOKS_PER_STEP: u64 = 8;

/// What the rows of one table have cost so far. Each row alone is bounded, and a table may have a million of them.
#[derive(Debug, Default)]
pub struct Effort {
    cells: u64,
    steps: u64,
}

impl Effort {
    /// Why the rows that follow are not read, once the table has cost too much.
    pub fn problem(&self) -> Option<String> {
        (self.left() == 0).then(|| {
            "the rows up to here have decimal commas (a locale) and can be read in too many ways; write the numbers \
             with points"
                .to_owned()
        })
    }

    fn left(&self) -> u64 {
        let granted = AT_FIRST.saturating_add(self.cells.saturating_mul(PER_CELL));
        granted.min(MOST_OF_TABLE).saturating_sub(self.steps)
    }

    /// Steps that a row of so many cells and columns may take.
    fn row(&mut self, cells: usize, columns: usize) -> u32 {
        self.cells = self.cells.saturating_add(cells as u64);
        self.spend(cells.saturating_mul(columns) as u64 / LOOKS_PER_STEP);
        u32::try_from(self.left()).unwrap_or(u32::MAX).min(MOST_STEPS)
    }

    fn spend(&mut self, steps: u64) {
        self.steps = self.steps.saturating_add(steps);
    }
}

/// What COSBench writes of one operation behind its names: counts, times, percentiles, rates, share. Of the times 0.3 has one.
pub fn results(cells: &[&str], has_processing: bool, effort: &mut Effort) -> Option<Vec<String>> {
    use Kind::{Decimal, Share, Whole};
    let times = vec![Decimal; 1 + usize::from(has_processing)];
    let kinds = [[Whole; 2].as_slice(), times.as_slice(), &[Whole; 6], &[Decimal; 2], &[Share]].concat();
    // Where the percentiles begin, and behind them the rates.
    let first = 2 + times.len();
    joined(cells, &kinds, effort, &|row| {
        let at = |index: usize| row.get(index).map_or("", String::as_str);
        let percentiles: Vec<f64> = row.iter().skip(first).take(6).filter_map(|cell| value(cell)).collect();
        let edges = row
            .iter()
            .skip(first)
            .take(6)
            .all(|cell| cell == BEYOND_ALL_BUCKETS || value(cell).is_none_or(|edge| edge % 10.0 == 0.0));
        edges
            && percentiles.is_sorted()
            && (!has_processing || agree(at(2), at(3)))
            && in_proportion([at(0), at(1), at(first + 6), at(first + 7)])
            && value(at(2)).zip(percentiles.last().copied()).is_none_or(|(mean, most)| mean <= most)
    })
}

/// What a timeline has of `operations` behind the time of the row: seven columns of each, six in 0.3, and three of versions.
pub fn timeline(
    cells: &[&str],
    operations: usize,
    has_processing: bool,
    effort: &mut Effort,
) -> Option<Vec<String>> {
    columns(cells, operations, (has_processing, 3), effort)
}

/// What a table of workers or drivers has of `operations` behind their types: seven columns of each.
pub fn shares(cells: &[&str], operations: usize, effort: &mut Effort) -> Option<Vec<String>> {
    columns(cells, operations, (true, 0), effort)
}

/// The columns that all tables but the results have, seven of each operation or six, and so many of versions.
fn columns(
    cells: &[&str],
    operations: usize,
    (has_processing, versions): (bool, usize),
    effort: &mut Effort,
) -> Option<Vec<String>> {
    use Kind::{Decimal, Share, Whole};
    if operations > MOST_CELLS || cells.len() > MOST_CELLS {
        return None;
    }
    let times = vec![Decimal; 1 + usize::from(has_processing)];
    let columns = [[Whole; 2].as_slice(), times.as_slice(), &[Decimal; 2], &[Share]].concat();
    // Where the rates are.
    let first = 2 + times.len();
    let mut kinds: Vec<Kind> = columns.iter().flat_map(|kind| vec![*kind; operations]).collect();
    kinds.extend(vec![Kind::Whole; versions]);
    joined(cells, &kinds, effort, &|row| {
        (0..operations).all(|op| {
            let at = |column: usize| row.get(column * operations + op).map_or("", String::as_str);
            (!has_processing || agree(at(2), at(3)))
                && in_proportion([at(0), at(1), at(first), at(first + 1)])
        })
    })
}

/// A mean response time holds the mean processing time.
fn agree(response: &str, processing: &str) -> bool {
    value(response).zip(value(processing)).is_none_or(|(whole, part)| part <= whole)
}

/// Bytes per operation are those of the rates, but for rounding and for how workers differ.
fn in_proportion([count, bytes, throughput, bandwidth]: [&str; 4]) -> bool {
    let [Some(count), Some(bytes), Some(rate), Some(band)] = [count, bytes, throughput, bandwidth].map(value)
    else {
        return true;
    };
    if !rate.is_finite() || !band.is_finite() {
        return true;
    }
    if count == 0.0 || bytes == 0.0 {
        return band == 0.0;
    }
    let expected = rate * bytes / count;
    let rounding = 0.005 * bytes / count + 0.005;
    (band - expected).abs() <= 0.2 * expected + rounding
}

fn value(cell: &str) -> Option<f64> {
    number(cell.trim_end_matches('%')).ok().flatten()
}

/// The cells as the columns `kinds`, fractions joined by a point; `None` unless exactly one reading `fits`.
fn joined(
    cells: &[&str],
    kinds: &[Kind],
    effort: &mut Effort,
    fits: &dyn Fn(&[String]) -> bool,
) -> Option<Vec<String>> {
    if cells.len() > MOST_CELLS || kinds.len() > cells.len() {
        return None;
    }
    let most = effort.row(cells.len(), kinds.len());
    if most == 0 {
        return None;
    }
    let mut search =
        Search { cells, kinds, fits, leads: leads(cells, kinds), found: Vec::new(), steps: 0, most };
    search.go(0, &mut Vec::with_capacity(kinds.len()));
    effort.spend(search.steps.into());
    if search.steps >= most || search.found.len() != 1 {
        return None;
    }
    search.found.pop()
}

/// By column and cell: whether the cells from this one on can be the columns from this one on.
fn leads(cells: &[&str], kinds: &[Kind]) -> Vec<Vec<bool>> {
    let mut later = vec![false; cells.len() + 2];
    if let Some(end) = later.get_mut(cells.len()) {
        *end = true;
    }
    let mut leads = vec![later.clone()];
    for kind in kinds.iter().rev() {
        let ends = |at: usize| later.get(at).copied().unwrap_or(false);
        let mut here: Vec<bool> =
            (0..cells.len()).map(|at| steps(cells, at, *kind).any(|width| ends(at + width))).collect();
        here.extend([false, false]);
        later.clone_from(&here);
        leads.push(here);
    }
    leads.reverse();
    leads
}

/// How many cells a column of this kind may take from the cell `at` on.
fn steps(cells: &[&str], at: usize, kind: Kind) -> impl Iterator<Item = usize> {
    let whole = cells.get(at).copied().unwrap_or_default();
    let fraction = cells.get(at + 1).copied().unwrap_or_default();
    let alone = is_alone(whole, kind).then_some(1);
    let pair = (is_plain(whole) && is_fraction(fraction, kind)).then_some(2);
    alone.into_iter().chain(pair)
}

struct Search<'a> {
    cells: &'a [&'a str],
    kinds: &'a [Kind],
    fits: &'a dyn Fn(&[String]) -> bool,
    leads: Vec<Vec<bool>>,
    found: Vec<Vec<String>>,
    steps: u32,
    most: u32,
}

impl Search<'_> {
    /// From the cell `at` on; the columns before are in `row`.
    fn go(&mut self, at: usize, row: &mut Vec<String>) {
        self.steps += 1;
        let leads = self.leads.get(row.len()).and_then(|cells| cells.get(at)).copied().unwrap_or(false);
        if self.steps >= self.most || self.found.len() > 1 || !leads {
            return;
        }
        let Some(kind) = self.kinds.get(row.len()) else {
            if (self.fits)(row) {
                self.found.push(row.clone());
            }
            return;
        };
        for width in steps(self.cells, at, *kind) {
            row.push(self.cells.get(at..at + width).unwrap_or_default().join("."));
            self.go(at + width, row);
            row.pop();
        }
    }
}

fn is_digits(cell: &str) -> bool {
    !cell.is_empty() && cell.bytes().all(|byte| byte.is_ascii_digit())
}

/// A number before its point: `0.##` writes no zero before others, so what begins with one is a fraction.
fn is_plain(cell: &str) -> bool {
    is_digits(cell) && (cell == "0" || !cell.starts_with('0'))
}

fn is_alone(cell: &str, kind: Kind) -> bool {
    if cell == NOT_AVAILABLE || cell == BEYOND_ALL_BUCKETS {
        return true;
    }
    match kind {
        Kind::Whole => is_plain(cell),
        Kind::Decimal => is_plain(cell) || number(cell).is_ok_and(|value| value.is_none_or(f64::is_infinite)),
        Kind::Share => cell.strip_suffix('%').is_some_and(is_plain),
    }
}

fn is_fraction(cell: &str, kind: Kind) -> bool {
    let digits = match kind {
        Kind::Whole => return false,
        Kind::Decimal => cell,
        Kind::Share => match cell.strip_suffix('%') {
            Some(digits) => digits,
            None => return false,
        },
    };
    is_digits(digits) && digits.len() <= 2 && !digits.ends_with('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number as `0.##` writes it in a locale with commas.
    fn written(value: f64) -> String {
        let text = format!("{value:.2}");
        text.trim_end_matches('0').trim_end_matches('.').replace('.', ",")
    }

    fn results(cells: &[&str]) -> Option<Vec<String>> {
        super::results(cells, true, &mut Effort::default())
    }

    #[test]
    fn what_commas_took_apart_is_put_together_or_not_read_at_all() {
        let mut read = 0;
        for seed in 1..=2000_u32 {
            // Any numbers of many sizes, fractions of none, one and two digits among them.
            let of =
                |salt: u32, most: u32| f64::from(seed.wrapping_mul(2_654_435_761).rotate_left(salt) % most);
            let (count, size) = (of(3, 90_000) + 1.0, of(5, 70_000) + 1.0);
            let response = of(7, 40_000) / 100.0;
            let processing = (response - of(9, 500) / 100.0).max(0.01);
            let rate = of(11, 900_000) / 100.0 + 1.0;
            let edge = (response / 10.0).ceil().mul_add(10.0, of(13, 9) * 10.0) + 10.0;
            let values = [
                count,
                count * size,
                response,
                processing,
                10.0,
                10.0,
                10.0,
                10.0,
                edge,
                edge,
                rate,
                rate * size,
            ];
            let mut cells: Vec<String> = values.iter().map(|value| written(*value)).collect();
            cells.push(format!("{}%", written(100.0 - of(15, 1000) / 100.0)));
            let expected: Vec<String> = cells.iter().map(|cell| cell.replace(',', ".")).collect();
            let line = cells.join(",");
            if let Some(row) = results(&line.split(',').collect::<Vec<_>>()) {
                assert_eq!(row, expected, "{line}");
                read += 1;
            }
        }
        // Two means of which one has no fraction can be read in two ways; few rows have such.
        assert!(read > 1900, "{read} of 2000");
    }

    #[test]
    fn a_row_that_can_be_read_in_two_ways_is_not_read() {
        // 5,3 and 2, or 5 and 3,2.
        assert_eq!(results(&"10,0,5,3,2,10,10,10,10,10,10,1,0,100%".split(',').collect::<Vec<_>>()), None);
        // A second cell that begins with 0 can only be a fraction.
        let row = results(&"10,0,5,03,2,10,10,10,10,10,10,1,0,100%".split(',').collect::<Vec<_>>()).unwrap();
        assert_eq!(row.get(2..4).unwrap(), ["5.03", "2"]);
    }

    #[test]
    fn a_row_without_an_end_costs_a_bounded_number_of_steps() {
        let cells = vec!["1"; 400];
        let mut effort = Effort::default();
        assert_eq!(timeline(&cells, 50, true, &mut effort), None);
        assert_eq!(effort.problem(), None);
        // Nor does it go as deep as it is long.
        for (cells, operations) in [(20_000, 2_800), (200_000, 28_000), (3, usize::MAX)] {
            assert_eq!(timeline(&vec!["1"; cells], operations, true, &mut effort), None);
            assert_eq!(shares(&vec!["1"; cells], operations, &mut effort), None);
        }
    }
}
