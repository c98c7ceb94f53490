//! Sessions that were ended before their time. They are written down, so that a cookie whose owner has logged out opens
//! nothing after a restart of the controller either.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ServiceError;
use crate::state::{self, StateDir};

const FILE: &str = "ended-sessions";
/// More are not remembered: the one whose time is over first makes room.
const MOST: usize = 10_000;

/// Numbers of sessions, and until when each would have lasted, s since 1970.
#[derive(Default)]
pub struct Ended {
    /// `None`: they are remembered by this process alone.
    path: Option<PathBuf>,
    known: Mutex<HashMap<String, i64>>,
    /// Held while the file is written: what is written last has all of them, and nobody who only looks waits for a disk.
    writing: Mutex<()>,
}

impl Ended {
    /// Those of a state directory. Lines that are none are left out.
    ///
    /// # Errors
    /// When its file is there and cannot be read.
    pub fn open(state: &StateDir) -> Result<Self, ServiceError> {
        let bytes = state.read(FILE)?.unwrap_or_default();
        let line = |line: &str| {
            let (nonce, until) = line.split_once(' ')?;
            Some((nonce.to_owned(), until.parse::<i64>().ok()?))
        };
        let known = String::from_utf8_lossy(&bytes).lines().take(MOST).filter_map(line).collect();
        Ok(Self { path: Some(state.path(FILE)), known: Mutex::new(known), writing: Mutex::default() })
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, i64>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this session was ended.
    pub fn has(&self, nonce: &str) -> bool {
        self.known().contains_key(nonce)
    }

    /// Ends a session that would have lasted until then. Blocks until the disk has it; where that does not take it, it has
    /// ended for this process.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&self, nonce: &str, until: i64, now: i64) -> Result<(), ServiceError> {
        let writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let text = self.with(nonce, until, now);
        let written = self.path.as_ref().map_or(Ok(()), |path| state::write(path, text.as_bytes()));
        drop(writing);
        written
    }

    /// The file with this one, too.
    fn with(&self, nonce: &str, until: i64, now: i64) -> String {
        let mut known = self.known();
        known.retain(|_, until| *until > now);
        if known.len() >= MOST
            && let Some(first) = known.iter().min_by_key(|(_, until)| **until).map(|(nonce, _)| nonce.clone())
        {
            known.remove(&first);
        }
        known.insert(nonce.to_owned(), until);
        known.iter().map(|(nonce, until)| format!("{nonce} {until}\n")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_ended_stays_so_until_its_time_is_over_and_there_is_always_room() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        let ended = Ended::open(&state).unwrap();
        ended.add("a", 100, 10).unwrap();
        ended.add("b", 50, 20).unwrap();
        std::fs::write(
            state.path(FILE),
            [&std::fs::read(state.path(FILE)).unwrap()[..], b"\xff\nx y\n"].concat(),
        )
        .unwrap();
        let again = Ended::open(&state).unwrap();
        assert!(again.has("a") && again.has("b") && !again.has("x"));
        again.add("c", 200, 60).unwrap();
        assert!(again.has("a") && !again.has("b"));
        // Without a file, which would be written so often.
        let full = Ended::default();
        full.known()
            .extend((0..MOST).map(|number| (number.to_string(), 1000 + i64::try_from(number).unwrap())));
        for more in ["more", "and more"] {
            full.add(more, 5000, 0).unwrap();
        }
        assert!(
            !full.has("0") && !full.has("1") && full.has("2") && full.has("more") && full.has("and more")
        );
        assert_eq!(full.known().len(), MOST);
    }
}
