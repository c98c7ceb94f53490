//! The exit codes, and how a problem becomes one.

use std::fmt;

use cosmark_archive::ArchiveError;
use cosmark_controller::EndClass;

/// What the caller's shell sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done,
    /// Our fault, or this machine's.
    Ours,
    /// Bad usage or a bad workload.
    Usage,
    /// The target cannot be reached, or refuses us.
    Target,
    /// A stage failed.
    StageFailed,
    /// Terminated or cancelled.
    Cancelled,
    /// A threshold was missed, or a comparison found what it was told to fail on.
    Missed,
    /// `--strict`, and the verdict is FALSE.
    Untrusted,
    /// A condition of a comparison could not be tested.
    Untested,
    /// What a store acknowledged is not there.
    Broken,
}

impl Exit {
    /// Code and meaning, for help and docs.
    pub const TABLE: &'static [(Exit, u8, &'static str)] = &[
        (Exit::Done, 0, "done"),
        (Exit::Ours, 1, "our fault, or this machine's: disk full, no threads, a bug"),
        (Exit::Usage, 2, "bad usage or a bad workload; nothing was sent"),
        (Exit::Target, 3, "the store or its login cannot be reached, or refuses us"),
        (Exit::StageFailed, 4, "a stage failed: more failures than its acceptable failure ratio"),
        (Exit::Cancelled, 5, "terminated or cancelled by the user; the archive is complete and says so"),
        (
            Exit::Missed,
            6,
            "a threshold is missed or not decided, a search found no load, a comparison fails on a difference, or certify --strict \
             has a question that is answered no",
        ),
        (Exit::Untrusted, 7, "--strict, and the verdict is FALSE: the numbers cannot be trusted"),
        (
            Exit::Untested,
            8,
            "a condition of compare --fail-on could not be tested: the runs are too short or too unlike",
        ),
        (
            Exit::Broken,
            9,
            "what the store acknowledged is lost, corrupt, stale or back: `check: durability` and verify-data",
        ),
    ];

    /// The number.
    #[must_use]
    pub fn code(self) -> u8 {
        Self::TABLE.iter().find(|row| row.0 == self).map_or(1, |row| row.1)
    }
}

impl From<EndClass> for Exit {
    fn from(class: EndClass) -> Self {
        match class {
            EndClass::Finished => Self::Done,
            EndClass::Missed => Self::Missed,
            EndClass::Failed => Self::StageFailed,
            EndClass::Target => Self::Target,
            EndClass::Workload => Self::Usage,
            EndClass::Internal => Self::Ours,
            EndClass::Cancelled => Self::Cancelled,
        }
    }
}

/// A problem that ends the program: one sentence and an exit code.
#[derive(Debug)]
pub struct Problem {
    exit: Exit,
    text: String,
}

impl Problem {
    /// The user can mend it.
    pub fn usage(text: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, text: text.into() }
    }

    /// This machine or this program.
    pub fn ours(text: impl Into<String>) -> Self {
        Self { exit: Exit::Ours, text: text.into() }
    }

    /// The store or its login.
    pub fn target(text: impl Into<String>) -> Self {
        Self { exit: Exit::Target, text: text.into() }
    }

    /// A place that the user named and that cannot be made or written is theirs to mend, unless the disk is full.
    pub fn place(text: impl Into<String>, cause: &std::io::Error) -> Self {
        let refused = ArchiveError::Output { path: std::path::PathBuf::new(), source: cause.kind().into() };
        Self { text: text.into(), ..refused.into() }
    }

    /// Why a tag or a note could not be added: what was asked for, or this machine.
    pub fn of_change(error: ArchiveError) -> Self {
        match &error {
            ArchiveError::Unreadable { .. } => Self::usage(error.to_string()),
            _ => error.into(),
        }
    }

    /// Its exit code.
    #[must_use]
    pub fn exit(&self) -> Exit {
        self.exit
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A file that was asked for and cannot be written is the user's to mend, unless the disk is full.
impl From<ArchiveError> for Problem {
    fn from(error: ArchiveError) -> Self {
        match &error {
            ArchiveError::Output { .. } if !error.wants_room() => Self::usage(error.to_string()),
            _ => Self::ours(error.to_string()),
        }
    }
}

/// Something of this machine: a file, a process that it was to start.
impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Self {
        Self { exit: EndClass::Internal.into(), text: error.to_string() }
    }
}

/// What every subcommand gives.
pub type Outcome = Result<Exit, Problem>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_this_machines_and_a_wrong_place_the_users() {
        let of = |kind: std::io::ErrorKind| {
            Problem::from(ArchiveError::Output { path: "there".into(), source: kind.into() }).exit()
        };
        for full in [std::io::ErrorKind::StorageFull, std::io::ErrorKind::QuotaExceeded] {
            assert_eq!(of(full), Exit::Ours, "{full}");
        }
        let place = |kind: std::io::ErrorKind| Problem::place("a directory", &kind.into()).exit();
        assert_eq!(place(std::io::ErrorKind::StorageFull), Exit::Ours);
        assert_eq!(place(std::io::ErrorKind::PermissionDenied), Exit::Usage);
        let change = |error: ArchiveError| Problem::of_change(error).exit();
        let full = std::io::ErrorKind::StorageFull;
        assert_eq!(
            change(ArchiveError::Io { action: "write", path: "there".into(), source: full.into() }),
            Exit::Ours
        );
        let (problem, remedy) = ("no tag".to_owned(), "");
        assert_eq!(change(ArchiveError::Unreadable { path: "there".into(), problem, remedy }), Exit::Usage);
        for wrong in [std::io::ErrorKind::NotFound, std::io::ErrorKind::PermissionDenied] {
            assert_eq!(of(wrong), Exit::Usage, "{wrong}");
        }
    }

    #[test]
    fn every_exit_has_its_own_code() {
        let codes: std::collections::BTreeSet<u8> = Exit::TABLE.iter().map(|row| row.0.code()).collect();
        assert_eq!(codes.len(), Exit::TABLE.len());
    }
}
