//! How far a study is: totals that the end of each run moves, so that nobody goes through all cells for each of them.

use crate::design::{Cell, Design, Order};
use crate::estimate;
use crate::journal::{CellEnd, CellState, Step, ended};

/// Runs that are over, runs of the least number of repetitions, and seconds that the rest will take: as estimated, times how much
/// longer or shorter than estimated those took that are over.
#[must_use]
pub fn how_far(design: &Design<'_>, steps: &[Step]) -> (u64, u64, f64) {
    let ended = ended(steps);
    Far::of(design, |run| ended.get(run)).said()
}

/// The totals, of the least number of repetitions.
#[derive(Default)]
pub(super) struct Far {
    /// Runs that are over.
    done: u64,
    /// All runs.
    of: u64,
    /// Seconds of those that are not over, as estimated.
    open_s: f64,
    /// Runs whose time says something of the others.
    timed: u64,
    /// Seconds that these took.
    took_s: f64,
    /// Seconds of these as estimated.
    expected_s: f64,
}

impl Far {
    /// By how runs ended.
    pub(super) fn of<'e>(design: &Design<'_>, end_of: impl Fn(&str) -> Option<&'e CellEnd>) -> Self {
        #[cfg(test)]
        GONE_THROUGH.with(|count| count.set(count.get() + 1));
        let mut far = Self::default();
        for cell in design.cells.iter().filter(|cell| cell.is_run()) {
            let cost_s = cost_s(design, cell);
            for repetition in 1..=design.scale.repetitions.least {
                far.of += 1;
                match end_of(&cell.run_name(&design.spec.name, repetition)) {
                    Some(end) => {
                        far.done += 1;
                        far.add(end, cost_s);
                    }
                    None => far.open_s += cost_s,
                }
            }
        }
        far
    }

    /// A run ended; before, it may have ended in another way, and is done again.
    pub(super) fn ends(&mut self, order: &Order<'_>, before: Option<&CellEnd>, end: &CellEnd) {
        let Order { design, cell, repetition, .. } = *order;
        if repetition > design.scale.repetitions.least || !cell.is_run() {
            return;
        }
        let cost_s = cost_s(design, cell);
        if let Some(before) = before {
            self.remove(before, cost_s);
        } else {
            self.done += 1;
            self.open_s -= cost_s;
        }
        self.add(end, cost_s);
    }

    fn add(&mut self, end: &CellEnd, cost_s: f64) {
        if is_timed(end) {
            self.timed += 1;
            self.took_s += end.took_s;
            self.expected_s += cost_s;
        }
    }

    fn remove(&mut self, end: &CellEnd, cost_s: f64) {
        if is_timed(end) {
            self.timed -= 1;
            // What rounding leaves of nothing would be a ratio of anything.
            let is_any = self.timed > 0;
            self.took_s = if is_any { self.took_s - end.took_s } else { 0.0 };
            self.expected_s = if is_any { self.expected_s - cost_s } else { 0.0 };
        }
    }

    /// Runs that are over, all runs, and seconds that the rest will take.
    pub(super) fn said(&self) -> (u64, u64, f64) {
        let is_known = self.expected_s > 0.0 && self.took_s.is_finite();
        let ratio = if is_known { self.took_s / self.expected_s } else { 1.0 };
        let open_s = if self.done < self.of { self.open_s.max(0.0) } else { 0.0 };
        (self.done, self.of, open_s * ratio)
    }
}

/// One that failed, or whose time is not known, says nothing of the others.
fn is_timed(end: &CellEnd) -> bool {
    end.state == CellState::Done && end.took_s > 0.0
}

/// Seconds that a run of a cell takes as estimated.
fn cost_s(design: &Design<'_>, cell: &Cell) -> f64 {
    estimate::cell_s(design, cell).unwrap_or(0.0)
}

#[cfg(test)]
thread_local! {
    /// How often all cells were gone through.
    pub(super) static GONE_THROUGH: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}
