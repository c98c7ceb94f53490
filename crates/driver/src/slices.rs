//! Merges the snapshots of several load threads of the same slice of time, so that a driver reports it once.

use std::collections::BTreeMap;

use cosmark_metrics::{OpSnapshot, Phase, Snapshot};

/// Start of the slice, work, phase.
type Key = (u64, u16, Phase);

/// Slices that are not handed on yet.
#[derive(Debug, Default)]
pub struct Slices {
    open: BTreeMap<Key, Snapshot>,
}

impl Slices {
    /// Adds what one thread says.
    pub fn add(&mut self, snapshot: &Snapshot) {
        let key = (snapshot.start_ns, snapshot.work, snapshot.phase);
        let nothing = || Snapshot { ops: vec![OpSnapshot::default(); snapshot.ops.len()], ..*snapshot };
        self.open.entry(key).or_insert_with(nothing).merge(snapshot);
    }

    /// Takes the slices that ended by `up_to_ns`, in the order of time. What a thread says later about one of them is a
    /// slice of its own: sums are the same.
    pub fn take(&mut self, up_to_ns: u64) -> Vec<Snapshot> {
        let ready: Vec<Key> =
            self.open.iter().filter(|(_, slice)| slice.end_ns <= up_to_ns).map(|(key, _)| *key).collect();
        ready.iter().filter_map(|key| self.open.remove(key)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_summed_slice_by_slice_and_late_ones_are_not_lost() {
        let of_thread = |start_ns: u64, ok: u64| Snapshot {
            work: 0,
            phase: Phase::Window,
            start_ns,
            end_ns: start_ns + 10,
            ops: vec![OpSnapshot { ok, ..OpSnapshot::default() }],
        };
        let mut slices = Slices::default();
        for (start_ns, ok) in [(0, 1), (10, 2), (0, 4), (10, 8), (20, 16)] {
            slices.add(&of_thread(start_ns, ok));
        }
        let sums = |taken: Vec<Snapshot>| -> Vec<(u64, u64)> {
            taken.iter().map(|slice| (slice.start_ns, slice.ops[0].ok)).collect()
        };
        assert_eq!(sums(slices.take(20)), [(0, 5), (10, 10)]);
        slices.add(&of_thread(10, 32));
        assert_eq!(sums(slices.take(u64::MAX)), [(10, 32), (20, 16)]);
    }
}
