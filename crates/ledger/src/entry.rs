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

    /// Adds a change. What had its answer (acknowledged, or not there to be deleted) before an acknowledged change was sent is
    /// over and done with. One without an answer may take effect at any time after it was sent, so it stays.
    pub fn add(&mut self, change: Change) {
        if self.changes.contains(&change) {
            return;
        }
        if !is_answered(&change) {
            self.add_unanswered(change);
            return;
        }
        if self.changes.iter().any(|other| other.acknowledged && other.sent_ns > change.end_ns) {
            return;
        }
        if !change.acknowledged {
            self.add_not_there(change);
            return;
        }
        self.changes.retain(|other| !is_answered(other) || other.end_ns >= change.sent_ns);
        self.changes.push(change);
    }

    /// All of them say the same; the one that ends last is over last.
    fn add_not_there(&mut self, change: Change) {
        if self.is_anything() {
            return;
        }
        match self.changes.iter_mut().find(|other| other.what == What::NotThere) {
            Some(other) => {
                if (other.end_ns, *other) < (change.end_ns, change) {
                    *other = change;
                }
            }
            None => self.changes.push(change),
        }
    }

    fn add_unanswered(&mut self, change: Change) {
        if self.is_anything() {
            return;
        }
        if self.changes.iter().filter(|other| !is_answered(other)).count() < MOST_UNANSWERED {
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

/// The store has said what came of it: nothing of it comes later.
fn is_answered(change: &Change) -> bool {
    change.acknowledged || change.what == What::NotThere
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
    fn what_was_not_there_to_be_deleted_is_over_when_a_later_change_is_acknowledged() {
        let not_there = |at, version| Change {
            what: What::NotThere,
            acknowledged: false,
            version,
            ..put(at, at + 10, 0)
        };
        for order in [[0, 1], [1, 0]] {
            let of = |both: [Change; 2]| stored(&order.map(|at: usize| both[at]));
            assert_eq!(of([not_there(0, 1), put(20, 30, 2)]), [2]);
            assert_eq!(of([not_there(0, 1), put(10, 30, 2)]), [1, 2], "the same instant has no order");
            assert_eq!(
                of([put(0, 10, 1), not_there(20, 2)]),
                [1, 2],
                "the store has said that it is not there"
            );
            let lost = Change { acknowledged: false, ..put(20, 30, 2) };
            assert_eq!(of([not_there(0, 1), lost]), [1, 2], "without an answer it may not have been done");
        }
        // However many there were, they do not make up for what is acknowledged later.
        let many: Vec<Change> = (0..200).map(|at| not_there(at, 7)).collect();
        assert_eq!(stored(&many), [7]);
        assert_eq!(stored(&[many, vec![put(1000, 1010, 8)]].concat()), [8]);
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
                    let (acknowledged, what) = match next(6) {
                        0 => (false, What::NotThere),
                        1 => (false, What::Random),
                        _ => (true, What::Random),
                    };
                    Change { acknowledged, what, ..put(sent, end, u32::try_from(at).unwrap()) }
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
            let last_of_its_kind =
                changes.iter().filter(|one| one.what == What::NotThere).max_by_key(|one| (one.end_ns, **one));
            let over = |change: &Change| {
                let is_past = changes.iter().any(|other| other.acknowledged && other.sent_ns > change.end_ns);
                let is_another = change.what == What::NotThere && Some(change) != last_of_its_kind;
                (is_answered(change) && is_past) || is_another
            };
            let mut expected: Vec<u32> =
                changes.iter().filter(|change| !over(change)).map(|change| change.version).collect();
            expected.sort_unstable();
            assert_eq!(stored(&changes), expected, "round {round}: {changes:?}");
        }
    }
}
