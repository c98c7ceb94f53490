//! Sums over time whose resolution can be coarsened without loss: the same whether values came one by one while a run went
//! on or all at once from its archive, and whenever the resolution was coarsened in between.

use std::collections::BTreeMap;

use super::axis::{Axis, Span};

/// What can be added up.
pub trait Sum: Default {
    /// Adds another.
    fn merge(&mut self, other: &Self);
}

/// Sums by stretch of time. Until they are folded the stretches are those of the values; then they lie on a grid.
#[derive(Debug, Clone)]
pub struct Bins<T> {
    cells: BTreeMap<Span, T>,
    grid_us: Option<u64>,
    longest_us: u64,
}

/// Whether a stretch is as long as several of a grid.
fn is_longer(span: Span, grid_us: u64) -> bool {
    span.length_us > grid_us.saturating_mul(2)
}

impl<T> Default for Bins<T> {
    fn default() -> Self {
        Self { cells: BTreeMap::new(), grid_us: None, longest_us: 0 }
    }
}

impl<T: Sum> Bins<T> {
    /// The sums to which values of this stretch belong.
    pub fn at(&mut self, span: Span) -> &mut T {
        // One that is as long as several is of none of them.
        let grid_us = self.grid_us.filter(|grid_us| !is_longer(span, *grid_us));
        let span = grid_us.map_or(span, |grid_us| span.on_grid(grid_us));
        self.longest_us = self.longest_us.max(span.length_us);
        self.cells.entry(span).or_default()
    }

    /// Puts everything into stretches of `grid_us`. Each goes to where its middle lies, as it does on an [`Axis`], so that
    /// folding to a grid and then to twice that grid is folding to the latter.
    pub fn fold(&mut self, grid_us: u64) {
        if self.grid_us == Some(grid_us) {
            return;
        }
        self.grid_us = Some(grid_us);
        for (span, value) in std::mem::take(&mut self.cells) {
            self.at(span).merge(&value);
        }
    }

    /// Whether there is one stretch, and it is as long as several of the grid.
    pub fn only_is_longer_than(&self, grid_us: u64) -> bool {
        let mut spans = self.iter().map(|(span, _)| span);
        match (spans.next(), spans.next()) {
            (Some(only), None) => is_longer(only, grid_us),
            _ => false,
        }
    }

    /// Folds to the bins of `axis` when there are more stretches than memory should hold.
    pub fn fold_if_many(&mut self, axis: &Axis, most_bins: u32) {
        const SPARE: usize = 8;
        let most = most_bins as usize;
        let limit = if self.grid_us.is_some() { most + SPARE } else { 2 * most + SPARE };
        if self.cells.len() > limit {
            self.fold(axis.bin_us);
        }
    }

    /// All sums with their stretches.
    pub fn iter(&self) -> impl Iterator<Item = (Span, &T)> {
        self.cells.iter().map(|(span, value)| (*span, value))
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Sums of the bins of `axis`, `every` taken together, from number `from` (of those) on.
    pub fn merged(&self, axis: &Axis, every: u32, from: u32) -> Vec<T> {
        let every = every.max(1);
        let points = axis.time.bins.div_ceil(every);
        let mut sums: Vec<T> = (from..points).map(|_| T::default()).collect();
        let begin_us = u64::from(from.min(points.saturating_sub(1))) * u64::from(every) * axis.bin_us;
        let first = Span { start_us: begin_us.saturating_sub(self.longest_us), length_us: 0 };
        for (span, value) in self.cells.range(first..) {
            let point = axis.bin(*span) / every;
            let at = point.checked_sub(from).and_then(|at| sums.get_mut(at as usize));
            if let Some(sum) = at {
                sum.merge(value);
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::axis::Extent;
    use cosmark_metrics::Phase;

    impl Sum for u64 {
        fn merge(&mut self, other: &Self) {
            *self += other;
        }
    }

    #[test]
    fn folding_on_the_way_gives_what_folding_at_the_end_gives() {
        let mut extent = Extent::default();
        let (mut raw, mut folded) = (Bins::<u64>::default(), Bins::<u64>::default());
        for second in 0..5000_u64 {
            // Two pieces where a phase ends within the second.
            for (start_s, length_s) in [(0.0, 0.3), (0.3, 0.7)] {
                let span = Span::of(second as f64 + start_s, length_s);
                extent.add(Phase::Window, Span::of(second as f64, 1.0));
                *raw.at(span) += second;
                *folded.at(span) += second;
                folded.fold_if_many(&Axis::of(&extent, 100), 100);
            }
        }
        let axis = Axis::of(&extent, 100);
        assert_eq!((axis.time.bins, axis.time.bin_s), (79, 64.0));
        assert!(folded.iter().count() <= 108 && raw.iter().count() == 10_000);
        let whole = raw.merged(&axis, 1, 0);
        assert_eq!(whole, folded.merged(&axis, 1, 0));
        assert_eq!(whole.iter().sum::<u64>(), 2 * (0..5000).sum::<u64>());
        assert_eq!(folded.merged(&axis, 3, 20), raw.merged(&axis, 3, 0)[20..]);
    }
}
