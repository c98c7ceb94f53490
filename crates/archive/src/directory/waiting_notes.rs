//! Notes that other processes have left in the directory of a run that this one writes.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

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
}

impl WaitingNotes {
    pub fn of(dir: &Path) -> Self {
        Self { path: dir.join(NOTES), read: 0 }
    }

    /// Those that are new: when they were made, and what they say. What cannot be read is left out.
    pub fn take(&mut self) -> Vec<(Timestamp, String)> {
        let Ok(mut file) = regular::open(&self.path) else { return Vec::new() };
        let mut bytes = Vec::new();
        let read =
            file.seek(SeekFrom::Start(self.read)).and_then(|_| file.take(MOST_BYTES).read_to_end(&mut bytes));
        let Some(end) = read.ok().and_then(|_| bytes.iter().rposition(|byte| *byte == b'\n')) else {
            return Vec::new();
        };
        self.read += end as u64 + 1;
        let text = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned();
        let of_line = |line: &str| {
            let (at, text) = line.split_once(' ')?;
            Some((at.parse().ok()?, text.to_owned()))
        };
        text.lines().filter_map(of_line).collect()
    }
}
