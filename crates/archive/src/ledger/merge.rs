//! Many sorted runs as one: rows in order, and the entries that they make.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;

use cosmark_ledger::{Entry, Key, Row};

use crate::ArchiveError;
use crate::ledger::run_file::RunReader;

/// Rows of several runs, in order.
pub struct Merged {
    runs: Vec<RunReader>,
    heads: BinaryHeap<Reverse<(Row, usize)>>,
    trouble: Option<ArchiveError>,
}

impl Merged {
    /// Of these files.
    pub fn of(paths: &[PathBuf]) -> Result<Self, ArchiveError> {
        let runs = paths.iter().map(|path| RunReader::open(path)).collect::<Result<Vec<_>, _>>()?;
        let mut merged = Self { heads: BinaryHeap::with_capacity(runs.len()), runs, trouble: None };
        (0..merged.runs.len()).for_each(|at| merged.refill(at));
        Ok(merged)
    }

    fn refill(&mut self, at: usize) {
        match self.runs.get_mut(at).and_then(Iterator::next) {
            Some(Ok(row)) => self.heads.push(Reverse((row, at))),
            Some(Err(error)) => self.trouble = Some(error),
            None => {}
        }
    }
}

impl Iterator for Merged {
    type Item = Result<Row, ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.trouble.take() {
            self.heads.clear();
            return Some(Err(error));
        }
        let Reverse((row, at)) = self.heads.pop()?;
        self.refill(at);
        Some(Ok(row))
    }
}

/// Objects with the changes that may be their last, in order.
pub struct Entries<I: Iterator> {
    rows: std::iter::Peekable<I>,
}

impl<I: Iterator<Item = Result<Row, ArchiveError>>> Entries<I> {
    /// Of sorted rows.
    pub fn of(rows: I) -> Self {
        Self { rows: rows.peekable() }
    }
}

impl<I: Iterator<Item = Result<Row, ArchiveError>>> Iterator for Entries<I> {
    type Item = Result<(Key, Entry), ArchiveError>;

    fn next(&mut self) -> Option<Self::Item> {
        let first = match self.rows.next()? {
            Ok(row) => row,
            Err(error) => return Some(Err(error)),
        };
        let mut entry = Entry::of(first.change);
        while let Some(Ok(row)) = self.rows.next_if(|row| row.as_ref().is_ok_and(|row| row.key == first.key))
        {
            entry.add(row.change);
        }
        Some(Ok((first.key, entry)))
    }
}

/// The rows of entries again: what is over and done with is gone.
pub fn rows_of(
    entries: impl Iterator<Item = Result<(Key, Entry), ArchiveError>>,
) -> impl Iterator<Item = Result<Row, ArchiveError>> {
    entries.flat_map(|entry| {
        let (rows, trouble) = match entry {
            Ok((key, entry)) => {
                let mut rows: Vec<Row> =
                    entry.changes().iter().map(|change| Row { key, change: *change }).collect();
                rows.sort_unstable();
                (rows, None)
            }
            Err(error) => (Vec::new(), Some(Err(error))),
        };
        rows.into_iter().map(Ok).chain(trouble)
    })
}
