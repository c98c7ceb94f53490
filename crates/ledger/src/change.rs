//! One change of one object: what a sample of an operation that writes, copies or deletes says.

use serde::{Deserialize, Serialize};

/// Which object: the names of its kind, the number of its container, its own number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Key {
    /// Index in [`crate::Plan::spaces`].
    pub space: u16,
    /// Number of the container; 0 where its name has none.
    pub container: u64,
    /// Number of the object; 0 where the whole container is meant.
    pub object: u64,
}

/// What became of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Written: content of its own in every block.
    Random,
    /// The same, with a hash in its last bytes.
    Guarded,
    /// Written: zeros.
    Zeros,
    /// Made of another object, in the state that this had.
    Copied,
    /// Deleted.
    Deleted,
    /// Deleted with everything in its container.
    Emptied,
    /// Whatever: there were too many changes without an answer to keep them all.
    Anything,
    /// Deleted, and the store said that it was not there: no promise, and over when a later change is acknowledged. Last,
    /// since what is before it has its number in files.
    NotThere,
}

impl What {
    const ALL: [What; 8] = [
        Self::Random,
        Self::Guarded,
        Self::Zeros,
        Self::Copied,
        Self::Deleted,
        Self::Emptied,
        Self::Anything,
        Self::NotThere,
    ];

    /// Its number in files.
    #[must_use]
    pub fn code(self) -> u8 {
        Self::ALL.iter().zip(0..).find(|(what, _)| **what == self).map_or(0, |(_, code)| code)
    }

    /// The one with this number.
    #[must_use]
    pub fn of_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// True when the object is gone afterwards.
    #[must_use]
    pub fn takes_away(self) -> bool {
        matches!(self, Self::Deleted | Self::Emptied | Self::NotThere)
    }

    /// True when the object is there afterwards.
    #[must_use]
    pub fn leaves_an_object(self) -> bool {
        matches!(self, Self::Random | Self::Guarded | Self::Zeros | Self::Copied)
    }
}

/// One change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Change {
    /// When it was sent, nanoseconds since the run's epoch; as early as the clocks allow.
    pub sent_ns: i64,
    /// When its answer was there, as late as the clocks allow.
    pub end_ns: i64,
    /// What it does.
    pub what: What,
    /// The store said that it was done; else nobody knows.
    pub acknowledged: bool,
    /// Of the content.
    pub version: u32,
    /// Length of the object; 0 = not known.
    pub bytes: u64,
}

/// A change and whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row {
    /// Whose.
    pub key: Key,
    /// Which.
    pub change: Change,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_into_files_is_read_as_it_was() {
        let known = [
            What::Random,
            What::Guarded,
            What::Zeros,
            What::Copied,
            What::Deleted,
            What::Emptied,
            What::Anything,
            What::NotThere,
        ];
        for (code, what) in (0_u8..).zip(known) {
            assert_eq!((what.code(), What::of_code(code)), (code, Some(what)));
        }
        assert_eq!(What::of_code(8), None);
    }
}
