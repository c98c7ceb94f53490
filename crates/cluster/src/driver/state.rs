//! A driver's state directory: its key, its place in the stream of orders, its outboxes; for one process at a time.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::DriverError;

/// The state of the driver with one name.
#[derive(Debug)]
pub struct State {
    directory: PathBuf,
    /// Locked while this process lives.
    _lock: File,
}

impl State {
    /// Opens the state of `name` below `root`, and makes it if it is not there.
    ///
    /// # Errors
    /// When another process has it, or it cannot be written.
    pub fn open(root: &Path, name: &str) -> Result<Self, DriverError> {
        let directory = root.join("drivers").join(name);
        let fail = |cause| DriverError::State { path: directory.display().to_string(), cause };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory).map_err(fail)?;
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(directory.join("lock"))
            .map_err(fail)?;
        // SAFETY: a plain system call on a descriptor that is open.
        if unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            let mut holder = String::new();
            drop(lock.read_to_string(&mut holder));
            return Err(DriverError::Name(format!(
                "a driver called {name} runs on this machine already (process {}); give this one another --name",
                holder.trim()
            )));
        }
        lock.set_len(0).and_then(|()| write!(lock, "{}", std::process::id())).map_err(fail)?;
        Ok(Self { directory, _lock: lock })
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The place in the stream from which orders are to be read; `None` at the first start.
    pub fn position(&self) -> Option<Position> {
        let text = fs::read_to_string(self.directory.join("position")).ok()?;
        let mut words = text.split_ascii_whitespace();
        let next = words.next()?.parse().ok()?;
        Some(Position { next, stream: words.next().and_then(|word| word.parse().ok()) })
    }

    /// Keeps it. What is lost in a crash is read twice, which changes nothing.
    pub fn set_position(&self, Position { next, stream }: Position) {
        let path = self.directory.join("position.new");
        let stream = stream.map_or_else(String::new, |stream| stream.to_string());
        if fs::write(&path, format!("{next} {stream}")).is_ok() {
            drop(fs::rename(&path, self.directory.join("position")));
        }
    }
}

/// A place in the stream of runs. It means nothing in another stream of the same name, which a server has after it lost its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Number of the next message.
    pub next: u64,
    /// When the stream was made, ns since 1970; `None` = written by a Cosmark that did not note it.
    pub stream: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_driver_of_the_same_name_is_refused_and_another_name_is_not() {
        let root = tempfile::tempdir().unwrap();
        let first = State::open(root.path(), "d1").unwrap();
        let error = State::open(root.path(), "d1").unwrap_err().to_string();
        assert!(error.contains(&std::process::id().to_string()) && error.contains("--name"), "{error}");
        let _second = State::open(root.path(), "d2").unwrap();
        assert_eq!(first.position(), None);
        let position = Position { next: 17, stream: Some(1_800_000_000_000_000_000) };
        first.set_position(position);
        drop(first);
        let again = State::open(root.path(), "d1").unwrap();
        assert_eq!(again.position(), Some(position));
        fs::write(again.directory().join("position"), "18").unwrap();
        assert_eq!(again.position(), Some(Position { next: 18, stream: None }));
    }
}
