//! Notes that other processes have left in the directory of a run that this one writes.

use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::record::events::{EventKind, EventRecord};
use crate::regular;

/// The file in which they wait.
pub const NOTES: &str = "notes.log";
/// No more is read of it at a time.
const MOST_BYTES: u64 = 1 << 20;

/// Reads notes that other processes have left in a directory that this one writes.
#[derive(Debug)]
pub struct WaitingNotes {
    path: PathBuf,
    read: u64,
    /// Those that somebody else has taken before.
    known: BTreeSet<(Timestamp, String)>,
}

impl WaitingNotes {
    pub fn of(dir: &Path) -> Self {
        Self { path: dir.join(NOTES), read: 0, known: BTreeSet::new() }
    }

    /// Those that are not among the events of a run that is gone on with.
    pub fn beyond(dir: &Path, events: &[EventRecord]) -> Self {
        let notes = events.iter().filter(|event| event.kind == EventKind::Note);
        Self { known: notes.map(|note| (note.at, note.text.clone())).collect(), ..Self::of(dir) }
    }

    /// Those that are new: when they were made, and what they say. What cannot be read is left out.
    pub fn take(&mut self) -> Vec<(Timestamp, String)> {
        let Ok(mut file) = regular::open(&self.path) else { return Vec::new() };
        let mut bytes = Vec::new();
        let read =
            file.seek(SeekFrom::Start(self.read)).and_then(|_| file.take(MOST_BYTES).read_to_end(&mut bytes));
        let Some(end) = read.ok().and_then(|_| bytes.iter().rposition(|byte| *byte == b'\n')) else {
            // A line that is longer than all that is read is no note, and those behind it are.
            self.read += if bytes.len() as u64 == MOST_BYTES { MOST_BYTES } else { 0 };
            return Vec::new();
        };
        self.read += end as u64 + 1;
        let text = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned();
        let of_line = |line: &str| {
            let (at, text) = line.split_once(' ')?;
            let note = EventRecord::new(at.parse().ok()?, EventKind::Note, None, text);
            (!self.known.contains(&(note.at, note.text.clone()))).then_some((note.at, note.text))
        };
        text.lines().filter_map(of_line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_an_end_hides_no_note_behind_it() {
        let run = tempfile::tempdir().unwrap();
        let mut notes = WaitingNotes::of(run.path());
        let long = "x".repeat(3 * 1024 * 1024 + 17);
        std::fs::write(run.path().join(NOTES), &long).unwrap();
        assert!((0..5).all(|_| notes.take().is_empty()));
        std::fs::write(run.path().join(NOTES), long + "\n2026-11-26T10:00:00Z after\n").unwrap();
        let found: Vec<(Timestamp, String)> = (0..5).flat_map(|_| notes.take()).collect();
        assert_eq!(found.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["after"]);
    }
}
