//! What can go wrong with an archive; every text names the file and the remedy.

use std::io;
use std::path::{Path, PathBuf};

/// An archive could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file system refused.
    #[error("cannot {action} {}: {source}; {}", path.display(), remedy(source))]
    Io {
        /// What was tried, e.g. `write`.
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file system refused an output file.
    #[error("cannot write {}: {source}; {}", path.display(), output_remedy(source))]
    Output {
        /// As the user named it.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{}: line {line}: {problem}; {remedy}", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// 1-based line.
        line: u64,
        /// What is wrong there.
        problem: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A binary file is not what it should be.
    #[error("{}: {problem}; {remedy}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
        /// What to do.
        remedy: &'static str,
    },
    /// `run.json` of a later format.
    #[error("{}: written in format {found}, this Cosmark reads up to {}; use a newer Cosmark", path.display(), crate::SCHEMA)]
    TooNew {
        /// Which file.
        path: PathBuf,
        /// Its `schema`.
        found: u64,
    },
    /// The directory holds no run of ours.
    #[error("{}: no run.json here; give the directory of one run, such as archive/w1-name", path.display())]
    NotARun {
        /// Which directory.
        path: PathBuf,
    },
    /// Another process holds the archive's lock and does not let go.
    #[error(
        "{}: another process has held this lock for {waited_s} s; end it, or give another directory with --archive",
        path.display()
    )]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// How long we waited.
        waited_s: u64,
    },
    /// A run is being written, or may be.
    #[error("{}: {why}", path.display())]
    InUse {
        /// Which run.
        path: PathBuf,
        /// By whom, and what to do.
        why: String,
    },
    /// The caller named a stage, work or operation that the workload does not have.
    #[error("{what} is not part of this run: the workload has no such place")]
    NoSuchPlace {
        /// Which place.
        what: String,
    },
    /// The thread that writes the operation log could not be started, or died.
    #[error("the operation log's writer stopped: {0}; run without --oplog if this comes again")]
    OpLog(String),
    /// What was seen of the store's machines could not all be kept.
    #[error("nodes.parquet is not complete: {0}; the figures in run.json are")]
    NodeLog(String),
}

impl ArchiveError {
    /// There was no room: with some room, the same may be done.
    #[must_use]
    pub fn wants_room(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        matches!(
            self,
            Self::Io { source, .. } | Self::Output { source, .. }
                if matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge)
        )
    }

    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

fn remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "the disk is full: free some space, or give another directory with --archive"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "the file system is read-only: give a writable directory with --archive"
        }
        io::ErrorKind::PermissionDenied => {
            "change its permissions or owner, or give another directory with --archive"
        }
        io::ErrorKind::NotFound => "check the path",
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "something else is in the way there: move it, or give another directory with --archive"
        }
        io::ErrorKind::Unsupported => {
            "this file system lacks what an archive needs (locks, renames): give a local directory with --archive"
        }
        _ => "check the disk, or give another directory with --archive",
    }
}

fn output_remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "the disk is full: free some space, or name a file elsewhere"
        }
        io::ErrorKind::PermissionDenied => "change its permissions or owner, or name a file elsewhere",
        io::ErrorKind::IsADirectory => "name a file in it",
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => "make its directory first",
        _ => "name a file elsewhere",
    }
}
