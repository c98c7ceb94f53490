//! What an object that was read back says about what was acknowledged.

use serde::{Deserialize, Serialize};

use crate::change::What;
use crate::entry::Entry;

/// What reading an object gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The store says that there is no such object.
    Absent,
    /// It is there.
    Present {
        /// Numbers of the changes of the entry that may have left it so, byte by byte.
        by: Vec<usize>,
        /// It is whole, and content that Cosmark writes under this name.
        is_own: bool,
    },
    /// The store gave no answer that says anything, asked several times.
    Unreadable,
}

/// What it comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// As acknowledged.
    Right,
    /// Acknowledged, and not there.
    Lost,
    /// There, and not what was written.
    Corrupt,
    /// There as it was before a change that was acknowledged.
    Stale,
    /// Its deletion was acknowledged, and it is there.
    Resurrected,
    /// In the listing of its container, and not there.
    ListedNotThere,
    /// There, and not in the listing of its container.
    ThereNotListed,
    /// At first something else, and right when it was looked at again.
    Late,
    /// A change without an answer has taken effect.
    UnansweredDone,
    /// A change without an answer has not taken effect.
    UnansweredNotDone,
    /// Wrong if the ledger had everything, but changes are missing in it.
    Undecided,
    /// It could not be read.
    Unreadable,
}

impl Class {
    /// Every class: itself, its word in files, what it means.
    pub const TABLE: &'static [(Class, &'static str, &'static str)] = &[
        (Self::Right, "right", "as acknowledged, byte by byte"),
        (Self::Lost, "lost", "acknowledged, and not there"),
        (Self::Corrupt, "corrupt", "there, and not what was written: wrong bytes, or too few or too many"),
        (Self::Stale, "stale", "there as it was before a write that was acknowledged"),
        (Self::Resurrected, "resurrected", "its deletion was acknowledged, and it is there"),
        (Self::ListedNotThere, "listed_not_there", "a ghost: in the listing of its container, and not there"),
        (Self::ThereNotListed, "there_not_listed", "a ghost: there, and not in the listing of its container"),
        (Self::Late, "late", "something else at first, and right when it was looked at again"),
        (Self::UnansweredDone, "unanswered_done", "a change that got no answer has taken effect"),
        (Self::UnansweredNotDone, "unanswered_not_done", "a change that got no answer has not taken effect"),
        (Self::Undecided, "undecided", "not as acknowledged, but changes are missing in the ledger"),
        (Self::Unreadable, "unreadable", "the store gave no answer that says anything, asked several times"),
    ];

    /// Its word in files.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::TABLE.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// The store broke its word.
    #[must_use]
    pub fn is_broken(self) -> bool {
        matches!(
            self,
            Self::Lost
                | Self::Corrupt
                | Self::Stale
                | Self::Resurrected
                | Self::ListedNotThere
                | Self::ThereNotListed
        )
    }

    /// Worth a second look, since a store may only be late.
    #[must_use]
    pub fn is_worth_a_second_look(self) -> bool {
        self.is_broken() || matches!(self, Self::Undecided | Self::Unreadable)
    }
}

/// What a ledger that misses changes cannot tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Doubt {
    /// A deletion of the object may be missing.
    pub deletions: bool,
    /// A write of the object may be missing.
    pub writes: bool,
    /// One of those may be a copy, zeros, or too short to say which write it was.
    pub anonymous: bool,
}

/// Compares what was found with what may have been the last change.
#[must_use]
pub fn judge(entry: &Entry, found: &Found, doubt: Doubt) -> Class {
    let changes = entry.changes();
    let unanswered = || changes.iter().filter(|change| !change.acknowledged);
    if unanswered().any(|change| change.what == What::Anything) {
        return match found {
            Found::Unreadable => Class::Unreadable,
            _ => Class::UnansweredDone,
        };
    }
    // What stands when nothing of what got no answer was done.
    let quiet = if unanswered().next().is_some() { Class::UnansweredNotDone } else { Class::Right };
    let unless = |doubtful: bool, class: Class| if doubtful { Class::Undecided } else { class };
    let gone = |acknowledged: bool| {
        changes.iter().any(|change| change.acknowledged == acknowledged && change.what.takes_away())
    };
    match found {
        Found::Unreadable => Class::Unreadable,
        Found::Absent if gone(true) => quiet,
        Found::Absent if gone(false) => Class::UnansweredDone,
        Found::Absent if entry.is_there() => unless(doubt.deletions, Class::Lost),
        Found::Absent => Class::UnansweredNotDone,
        Found::Present { by, is_own } => {
            let mut of = by.iter().filter_map(|at| changes.get(*at));
            if of.clone().any(|change| change.acknowledged) {
                return quiet;
            }
            if of.next().is_some() {
                return Class::UnansweredDone;
            }
            match (entry.is_there(), gone(true), *is_own) {
                // What was there before the run is not known.
                (false, false, _) => quiet,
                (false, true, _) => unless(doubt.writes, Class::Resurrected),
                (true, _, true) => unless(doubt.writes, Class::Stale),
                (true, _, false) => unless(doubt.writes && doubt.anonymous, Class::Corrupt),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Change;

    fn change(what: What, acknowledged: bool, version: u32) -> Change {
        let at = i64::from(version) * 10;
        Change { sent_ns: at, end_ns: at + 5, what, acknowledged, version, bytes: 100 }
    }

    fn entry(changes: &[Change]) -> Entry {
        let mut entry = Entry::default();
        changes.iter().for_each(|change| entry.add(*change));
        entry
    }

    fn present(entry: &Entry, version: u32) -> Found {
        let by = entry.changes().iter().enumerate().filter(|(_, change)| change.version == version);
        Found::Present { by: by.map(|(at, _)| at).collect(), is_own: true }
    }

    #[test]
    fn each_way_to_break_a_promise_has_its_name_and_nothing_else_has_one() {
        let (write, delete) = (change(What::Random, true, 1), change(What::Deleted, true, 2));
        let (lost_write, lost_delete) = (change(What::Random, false, 3), change(What::Deleted, false, 4));
        let again = change(What::Random, true, 5);
        let not_there = change(What::NotThere, false, 3);
        let wrong = Found::Present { by: Vec::new(), is_own: false };
        let other = Found::Present { by: Vec::new(), is_own: true };
        let none = Doubt::default();
        let rows = [
            (vec![write], Found::Absent, Class::Lost),
            (vec![write], wrong.clone(), Class::Corrupt),
            (vec![write, again], other.clone(), Class::Stale),
            (vec![write, delete], other.clone(), Class::Resurrected),
            (vec![write, delete], wrong.clone(), Class::Resurrected),
            (vec![write, delete], Found::Absent, Class::Right),
            (vec![write, delete, again], Found::Absent, Class::Lost),
            (vec![write], Found::Unreadable, Class::Unreadable),
            (vec![write, lost_delete], Found::Absent, Class::UnansweredDone),
            (vec![lost_delete, again], Found::Absent, Class::UnansweredDone),
            (vec![lost_write], Found::Absent, Class::UnansweredNotDone),
            (vec![lost_write], other.clone(), Class::UnansweredNotDone),
            (vec![write, delete, lost_write], Found::Absent, Class::UnansweredNotDone),
            // A deletion that was answered 404 is no promise, and hides nothing that was acknowledged after it.
            (vec![not_there], Found::Absent, Class::UnansweredDone),
            (vec![write, not_there], Found::Absent, Class::UnansweredDone),
            (vec![write, delete, not_there], Found::Absent, Class::UnansweredNotDone),
            (vec![write, delete, not_there], other.clone(), Class::Resurrected),
            (vec![not_there, again], Found::Absent, Class::Lost),
            (vec![not_there, again], wrong.clone(), Class::Corrupt),
            (vec![write, lost_write], wrong, Class::Corrupt),
            (vec![write, lost_write], other, Class::Stale),
        ];
        for (changes, found, class) in rows {
            assert_eq!(judge(&entry(&changes), &found, none), class, "{changes:?} {found:?}");
        }
        let both = entry(&[write, lost_write]);
        assert_eq!(judge(&both, &present(&both, 1), none), Class::UnansweredNotDone);
        assert_eq!(judge(&both, &present(&both, 3), none), Class::UnansweredDone);
        let plain = entry(&[write]);
        assert_eq!(judge(&plain, &present(&plain, 1), none), Class::Right);
    }

    #[test]
    fn a_ledger_that_misses_changes_accuses_nobody_of_what_they_may_explain() {
        let (write, delete) = (change(What::Random, true, 1), change(What::Deleted, true, 2));
        let both = Doubt { deletions: true, writes: true, anonymous: false };
        let other = Found::Present { by: Vec::new(), is_own: true };
        assert_eq!(judge(&entry(&[write]), &Found::Absent, both), Class::Undecided);
        assert_eq!(
            judge(&entry(&[write]), &Found::Absent, Doubt { writes: true, ..Doubt::default() }),
            Class::Lost
        );
        assert_eq!(judge(&entry(&[write]), &other, both), Class::Undecided);
        assert_eq!(judge(&entry(&[write, delete]), &other, both), Class::Undecided);
        // The bytes of a missing copy are those of another object; a missing write of its own says of itself that it is one.
        let wrong = Found::Present { by: Vec::new(), is_own: false };
        assert_eq!(judge(&entry(&[write]), &wrong, both), Class::Corrupt);
        assert_eq!(judge(&entry(&[write]), &wrong, Doubt { anonymous: true, ..both }), Class::Undecided);
        assert_eq!(judge(&entry(&[write]), &wrong, Doubt::default()), Class::Corrupt);
        assert_eq!(
            judge(
                &entry(&[write, delete]),
                &other,
                Doubt { deletions: true, writes: false, anonymous: true }
            ),
            Class::Resurrected
        );
    }
}
