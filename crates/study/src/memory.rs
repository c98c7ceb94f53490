//! What was read of runs that are over. They do not change: whoever looks at a study again and again reads each of them once.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::design::Order;
use crate::journal::CellEnd;
use crate::measured::{Files, Left, Observation, Origin};

/// With more runs than this the memory begins anew.
const MOST_RUNS: usize = 50_000;

/// A run by its name, its place and the bits of its time: one that was done again is another.
type Key = (String, String, u64);

/// The runs that were read.
#[derive(Debug, Default)]
pub struct Memory {
    runs: Mutex<BTreeMap<Key, Arc<Left>>>,
}

/// The files of a study with what was read of them before; reads no more than some runs.
#[derive(Debug)]
pub struct Remembered<'a> {
    files: Files<'a>,
    memory: &'a Memory,
    counts: Cell<Counts>,
}

/// What became of the runs that were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counts {
    /// Runs that may still be read.
    allowed: u64,
    /// Runs that were not read.
    unread: u64,
    /// Bytes that those moved that are known.
    bytes: u64,
}

impl<'a> Remembered<'a> {
    /// Reads at most so many runs that the memory does not have.
    #[must_use]
    pub fn new(files: Files<'a>, memory: &'a Memory, most_reads: u64) -> Self {
        let counts = Cell::new(Counts { allowed: most_reads, ..Counts::default() });
        Self { files, memory, counts }
    }

    /// Runs that were asked for and not read.
    #[must_use]
    pub fn unread(&self) -> u64 {
        self.counts.get().unread
    }

    /// Bytes that the runs moved that were asked for, each as often as it was.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.counts.get().bytes
    }

    fn left_by(&self, order: &Order<'_>, end: &CellEnd) -> Option<Arc<Left>> {
        let key = (order.run.to_owned(), end.place.clone(), end.took_s.to_bits());
        let known = self.memory.runs.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        let mut counts = self.counts.get();
        let left = match known {
            Some(left) => left,
            None if counts.allowed == 0 => {
                self.counts.set(Counts { unread: counts.unread + 1, ..counts });
                return None;
            }
            None => {
                counts.allowed -= 1;
                let left = Arc::new(self.files.left_by(order, end));
                let mut runs = self.memory.runs.lock().unwrap_or_else(PoisonError::into_inner);
                if runs.len() >= MOST_RUNS {
                    runs.clear();
                }
                runs.insert(key, Arc::clone(&left));
                left
            }
        };
        counts.bytes = counts.bytes.saturating_add(left.bytes);
        self.counts.set(counts);
        Some(left)
    }
}

impl Origin for Remembered<'_> {
    fn measured(&self, order: &Order<'_>, end: &CellEnd) -> Vec<Observation> {
        self.left_by(order, end).map(|left| left.observations.clone()).unwrap_or_default()
    }
}
