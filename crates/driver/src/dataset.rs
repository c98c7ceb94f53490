//! What the store has to have of a data set: no ledger is needed, since size and content of every object follow from the data
//! set's numbers. What was not acknowledged is not asked for.

use cosmark_engine::fill::{size_of, which_of};
use cosmark_ledger::{Change, Entry, Key, What};
use cosmark_workload::FillPass;
use cosmark_workload::SizeSelector;
use cosmark_workload::dataset::{Cell, number_of};

use crate::readback::Numbered;

/// A data set, and what of it was acknowledged.
pub struct Expected<'a> {
    /// Its passes, in order.
    pub passes: &'a [FillPass],
    /// Whether a pass deletes; in their order.
    pub deletes: Vec<bool>,
    /// Whether some position of a pass was acknowledged; in their order. Of such a pass others may have been done, too.
    pub begun: Vec<bool>,
    /// Whether the position of a pass was acknowledged.
    pub done: &'a dyn Fn(usize, u64) -> bool,
    /// What contents and sizes follow from.
    pub seed: u64,
    /// How long objects are.
    pub sizes: SizeSelector,
    /// First and last container.
    pub containers: (u64, u64),
    /// Objects over all containers.
    pub objects: u64,
}

impl Expected<'_> {
    /// What is to be found of this object (0-based); `None` where nothing was acknowledged.
    fn entry(&self, object: u64) -> Option<Entry> {
        let mut entry = Entry::default();
        for ((at, pass), time_ns) in self.passes.iter().enumerate().zip((0..).step_by(2)) {
            let Some(position) = pass.position_of(object) else { continue };
            let acknowledged = (self.done)(at, position);
            let is_set = |all: &[bool]| all.get(at).copied().unwrap_or(false);
            // What got no answer, or was under way when a pass was cut off, may have been done.
            if acknowledged || is_set(&self.begun) {
                let deletes = is_set(&self.deletes);
                let written = || size_of(&self.sizes, self.seed, object).unwrap_or(0);
                // One pass begins when the one before is over.
                entry.add(Change {
                    sent_ns: time_ns,
                    end_ns: time_ns + 1,
                    what: if deletes { What::Deleted } else { What::Random },
                    acknowledged,
                    version: if deletes { 0 } else { which_of(self.seed, pass.round, object) },
                    bytes: if deletes { 0 } else { written() },
                });
            }
        }
        entry.is_acknowledged().then_some(entry)
    }

    /// Objects in the order of their containers: all, or so many that `random` draws (Knuth, The Art of Computer Programming,
    /// volume 2, 3.4.2, algorithm S).
    pub fn entries<'e>(
        &'e self,
        sample: Option<u64>,
        mut random: impl FnMut() -> u64 + 'e,
    ) -> impl Iterator<Item = Result<Numbered, String>> + 'e {
        let (first, last) = self.containers;
        let grid = last.saturating_sub(first) + 1;
        let rows = self.objects.div_ceil(grid);
        let (mut left, mut wanted) = (self.objects, sample.unwrap_or(self.objects).min(self.objects));
        let cells =
            (0..grid).flat_map(move |container| (0..rows).map(move |object| Cell { container, object }));
        let inside = cells.filter_map(move |cell| {
            let number = number_of(cell, grid).filter(|number| *number < self.objects)?;
            Some((cell, number))
        });
        let drawn = inside.filter(move |_| {
            // The remainder of 128 bits is even to one part in 2^64.
            let drawn = (u128::from(random()) * u128::from(left.max(1))) >> 64;
            left = left.saturating_sub(1);
            let is_drawn = drawn < u128::from(wanted);
            wanted -= u64::from(is_drawn);
            is_drawn
        });
        let entries = drawn.filter_map(move |(cell, number)| {
            let key = Key { space: 0, container: first + cell.container, object: 1 + cell.object };
            Some((key, self.entry(number)?))
        });
        entries.zip(0..).map(|((key, entry), number)| Ok((number, key, entry)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(text: &str) -> FillPass {
        format!("d objects=103 steps=4 {text}").parse().unwrap()
    }

    #[test]
    fn the_last_acknowledged_pass_says_what_is_there_and_a_sample_is_as_large_as_asked() {
        let passes = [
            pass("step=0 count=103 order=scattered"),
            pass("step=1 count=20 order=scattered round=1"),
            pass("step=2 start=20 count=10 order=scattered round=1"),
            pass("step=3 start=20 count=10 order=scattered round=1"),
        ];
        let done = |step: usize, position: u64| match step {
            0 => position != 50,
            1 | 2 => true,
            _ => position < 4,
        };
        let expected = Expected {
            passes: &passes,
            deletes: vec![false, false, true, false],
            begun: vec![true, true, true, true],
            done: &done,
            seed: 7,
            sizes: "u(1,10)KB".parse().unwrap(),
            containers: (2, 5),
            objects: 103,
        };
        let all: Vec<_> = expected.entries(None, || 0).map(Result::unwrap).collect();
        assert_eq!(all.len(), 102, "what was not acknowledged is not asked for");
        assert!(all.windows(2).all(|pair| pair[0].1 < pair[1].1), "in the order of containers and objects");
        let gone = all.iter().filter(|(_, _, entry)| entry.changes()[0].what == What::Deleted).count();
        assert_eq!(gone, 6);
        // They may have been written again by the pass that was cut off.
        let open = all.iter().filter(|(_, _, entry)| entry.changes().len() == 2);
        assert!(
            open.clone().all(|(_, _, entry)| !entry.changes()[1].acknowledged),
            "{:?}",
            open.collect::<Vec<_>>()
        );
        assert_eq!(all.iter().filter(|(_, _, entry)| entry.changes().len() == 2).count(), 6);
        let round = |round: u32| {
            let of = |key: &Key| {
                number_of(Cell { container: key.container - 2, object: key.object - 1 }, 4).unwrap()
            };
            all.iter()
                .filter(|(_, key, entry)| entry.changes()[0].version == which_of(7, round, of(key)))
                .count()
        };
        assert_eq!((round(0), round(1)), (72, 24));
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state
        };
        let whole = |_: usize, _: u64| true;
        let expected = Expected { done: &whole, ..expected };
        for sample in [1, 10, 103, 5000] {
            assert_eq!(expected.entries(Some(sample), &mut random).count() as u64, sample.min(103));
        }
    }
}
