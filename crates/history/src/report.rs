//! What a history amounts to: counts, and the operations that no atomic register can have done.

use crate::{Kind, Operation, Outcome};

/// Violations that a report keeps; all are counted.
pub const MOST_SHOWN: usize = 1000;

/// What kind of wrong a violation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Wrong {
    /// The read missed a write that had been acknowledged before it began.
    Stale,
    /// The read gave an older version than another read that had ended before it began; no write that it missed had been
    /// acknowledged.
    WentBack,
    /// The read gave what nobody wrote.
    NeverWritten,
    /// The read gave what a refused write would have written.
    Refused,
    /// The read ended before the write of its value began.
    Future,
    /// The reads of two values contradict each other about which was first.
    Crossed,
}

impl Wrong {
    /// Every kind with its name and what it means.
    pub const TABLE: &'static [(Wrong, &'static str, &'static str)] = &[
        (Self::Stale, "stale", "the read missed a write that was acknowledged before it began"),
        (Self::WentBack, "went_back", "the read gave an older version than a read that had ended before"),
        (Self::NeverWritten, "never_written", "the read gave what nobody wrote"),
        (Self::Refused, "refused", "the read gave what a refused write would have written"),
        (Self::Future, "future", "the read ended before the write of its value began"),
        (Self::Crossed, "crossed", "reads of two values contradict each other about which was first"),
    ];

    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::TABLE.iter().find(|row| row.0 == self).map_or("wrong", |row| row.1)
    }
}

/// One violation. Places are those of the history that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Of which kind.
    pub wrong: Wrong,
    /// Which register.
    pub key: u32,
    /// The read that is wrong; of [`Wrong::Crossed`] the operation of the first value that began last.
    pub read: u32,
    /// The operations that it cannot stand beside: of a stale read the write of its value, if there is one, and the acknowledged
    /// write that it missed first; of one that went back the write of its value and an operation that had shown the newer one;
    /// of a refused or future one its write; of crossed ones the other three.
    pub evidence: Vec<u32>,
    /// Versions that a stale read is behind, at least.
    pub versions: u64,
    /// How long before a stale read began the first write that it missed had been acknowledged, ns.
    pub age_ns: u64,
}

impl Violation {
    pub(crate) fn new(wrong: Wrong, key: u32, read: u32, evidence: Vec<u32>) -> Self {
        Self { wrong, key, read, evidence, versions: 0, age_ns: 0 }
    }
}

/// How much there was, and how much of it was wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Registers.
    pub keys: u64,
    /// Reads that gave an answer.
    pub reads: u64,
    /// Writes and deletes that were acknowledged.
    pub writes: u64,
    /// Writes and deletes that may or may not have happened.
    pub unknown_writes: u64,
    /// Reads of a key with deletes whose value a write without an answer explains: they are neither right nor wrong.
    pub undecided_reads: u64,
    /// By [`Wrong::TABLE`]'s order.
    pub wrong: [u64; Wrong::TABLE.len()],
}

impl Counts {
    /// Violations of a kind.
    #[must_use]
    pub fn of(&self, wrong: Wrong) -> u64 {
        let at = Wrong::TABLE.iter().position(|row| row.0 == wrong);
        at.map_or(0, |at| self.wrong[at])
    }

    /// All violations.
    #[must_use]
    pub fn violations(&self) -> u64 {
        self.wrong.iter().sum()
    }

    pub(crate) fn count(&mut self, operation: &Operation) {
        match (operation.kind, operation.outcome) {
            (Kind::Read, Outcome::Done) => self.reads += 1,
            (Kind::Write | Kind::Delete, Outcome::Done) => self.writes += 1,
            (Kind::Write | Kind::Delete, Outcome::Unknown) => self.unknown_writes += 1,
            (Kind::Read, _) | (_, Outcome::Failed) => {}
        }
    }
}

/// What a history amounts to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// How much of what.
    pub counts: Counts,
    /// Most versions that a stale read was behind.
    pub most_versions: u64,
    /// The longest that a stale read was behind, ns.
    pub longest_ns: u64,
    /// The first [`MOST_SHOWN`] violations, by key.
    pub violations: Vec<Violation>,
}

impl Report {
    /// True when atomic registers can have done all of it.
    #[must_use]
    pub fn is_atomic(&self) -> bool {
        self.counts.violations() == 0
    }

    pub(crate) fn add(&mut self, violation: Violation) {
        if let Some(at) = Wrong::TABLE.iter().position(|row| row.0 == violation.wrong) {
            self.counts.wrong[at] += 1;
        }
        self.most_versions = self.most_versions.max(violation.versions);
        self.longest_ns = self.longest_ns.max(violation.age_ns);
        if self.violations.len() < MOST_SHOWN {
            self.violations.push(violation);
        }
    }
}
