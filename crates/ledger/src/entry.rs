//! The changes of one object that may be the last one.

use serde::{Deserialize, Serialize};

use crate::change::{Change, What};

/// Changes without an answer that are kept of one object; with more of them whatever is found is taken.
const MOST_UNANSWERED: usize = 64;

/// What may have been the last change of an object. Changes may be added in any order and more than once.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Entry {
    changes: Vec<Change>,
}

impl Entry {
    /// Of one change.
    #[must_use]
    pub fn of(change: Change) -> Self {
        Self { changes: vec![change] }
    }

    /// Those that may be the last; never empty after the first was added.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Adds a change. An acknowledged change that ended before another acknowledged one was sent is over and done with. One
    /// without an answer may take effect at any time after it was sent, so it stays.
    pub fn add(&mut self, change: Change) {
        if self.changes.contains(&change) {
            return;
        }
        if !change.acknowledged {
            self.add_unanswered(change);
            return;
        }
        if self.changes.iter().any(|other| other.acknowledged && other.sent_ns > change.end_ns) {
            return;
        }
        self.changes.retain(|other| !other.acknowledged || other.end_ns >= change.sent_ns);
        self.changes.push(change);
    }

    fn add_unanswered(&mut self, change: Change) {
        if self.is_anything() {
            return;
        }
        if self.changes.iter().filter(|other| !other.acknowledged).count() < MOST_UNANSWERED {
            self.changes.push(change);
            return;
        }
        self.changes.retain(|other| other.acknowledged);
        self.changes.push(Change { what: What::Anything, version: 0, bytes: 0, ..change });
    }

    fn is_anything(&self) -> bool {
        self.changes.iter().any(|change| change.what == What::Anything)
    }

    /// Adds all of another one.
    pub fn merge(&mut self, other: &Entry) {
        other.changes.iter().for_each(|change| self.add(*change));
    }

    /// The store has said of some change that it was done.
    #[must_use]
    pub fn is_acknowledged(&self) -> bool {
        self.changes.iter().any(|change| change.acknowledged)
    }

    /// Acknowledged changes that may be the last: any of them makes an object.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.changes.iter().any(|change| change.acknowledged && change.what.leaves_an_object())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(sent_ns: i64, end_ns: i64, version: u32) -> Change {
        Change { sent_ns, end_ns, what: What::Random, acknowledged: true, version, bytes: 10 }
    }

    fn stored(changes: &[Change]) -> Vec<u32> {
        let mut entry = Entry::default();
        changes.iter().for_each(|change| entry.add(*change));
        let mut versions: Vec<u32> = entry.changes().iter().map(|change| change.version).collect();
        versions.sort_unstable();
        versions
    }

    #[test]
    fn what_ended_before_another_began_is_over_and_what_overlaps_stays() {
        assert_eq!(stored(&[put(0, 10, 1), put(11, 20, 2)]), [2]);
        assert_eq!(stored(&[put(0, 10, 1), put(5, 20, 2)]), [1, 2]);
        // The first and the third do not overlap, and the second overlaps both.
        assert_eq!(stored(&[put(0, 10, 1), put(5, 20, 2), put(15, 30, 3)]), [2, 3]);
        assert_eq!(stored(&[put(0, 10, 1), put(10, 20, 2)]), [1, 2], "the same instant has no order");
    }

    #[test]
    fn what_has_no_answer_stays_whatever_comes_later() {
        let lost = Change { acknowledged: false, ..put(0, 10, 1) };
        assert_eq!(stored(&[lost, put(100, 110, 2), put(200, 210, 3)]), [1, 3]);
        let many: Vec<Change> = (0..100).map(|at| Change { acknowledged: false, ..put(at, at, 7) }).collect();
        let mut entry = Entry::default();
        many.iter().for_each(|change| entry.add(*change));
        assert!(entry.is_anything() && entry.changes().len() < 100);
    }

    #[test]
    fn the_order_in_which_changes_are_heard_of_changes_nothing() {
        let mut state = 1_u64;
        let mut next = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % most
        };
        for round in 0..2000 {
            let changes: Vec<Change> = (0..1 + next(8))
                .map(|at| {
                    let sent = i64::try_from(next(40)).unwrap();
                    let end = sent + i64::try_from(next(20)).unwrap();
                    Change { acknowledged: next(4) > 0, ..put(sent, end, u32::try_from(at).unwrap()) }
                })
                .collect();
            let mut other = changes.clone();
            for at in (1..other.len()).rev() {
                other.swap(at, usize::try_from(next(at as u64 + 1)).unwrap());
            }
            let twice: Vec<Change> = other.iter().chain(&changes).copied().collect();
            assert_eq!(stored(&changes), stored(&other), "round {round}: {changes:?}");
            assert_eq!(stored(&changes), stored(&twice), "round {round}: {changes:?}");
            // By the definition, one against all.
            let over = |change: &Change| {
                change.acknowledged
                    && changes.iter().any(|other| other.acknowledged && other.sent_ns > change.end_ns)
            };
            let mut expected: Vec<u32> =
                changes.iter().filter(|change| !over(change)).map(|change| change.version).collect();
            expected.sort_unstable();
            assert_eq!(stored(&changes), expected, "round {round}: {changes:?}");
        }
    }
}
