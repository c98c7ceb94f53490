//! Files of a reading back in the directory of a run: `durability-N.csv`, a line for each object that is not simply right, and
//! while it is under way `durability-N.progress.json`, with which one that was killed goes on. What was found after the last
//! progress was kept is found again, so the table is cut to where it was then.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::csv::line::push_line;
use crate::directory::files::RECORD;
use crate::directory::files::{GrowingFile, read_bounded, write_whole};
use crate::directory::reader::read_record;
use crate::directory::run_dir::take_log;
use crate::record::durability::{DurabilityFinding, DurabilityRecord};
use crate::{ArchiveError, RunRecord};

const STEM: &str = "durability-";
const HEAD: [&str; 4] = ["class", "container", "object", "detail"];
/// More lines are counted and not kept.
const MOST_LINES: u64 = 1_000_000;
/// A larger progress is damage.
const MOST_BYTES: u64 = 256 << 20;

/// How far it has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReadBackProgress {
    /// What it is to read, and how: who goes on compares.
    pub settings: Value,
    /// How far it has come.
    pub standing: Value,
    /// What is known of its record.
    pub record: DurabilityRecord,
    lines: u64,
    table_bytes: u64,
}

/// The files of a reading back.
pub struct ReadBackFiles {
    dir: PathBuf,
    number: u32,
    table: GrowingFile,
    lines: u64,
    table_bytes: u64,
}

fn table_of(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("{STEM}{number}.csv"))
}

fn progress_of(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("{STEM}{number}.progress.json"))
}

/// Numbers of the readings of a run.
fn numbers(dir: &Path, end: &str) -> Result<Vec<u32>, ArchiveError> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(ArchiveError::io("read directory", dir))? {
        let name = entry.map_err(ArchiveError::io("read directory", dir))?.file_name();
        let name = name.to_string_lossy();
        let number = name.strip_prefix(STEM).and_then(|rest| rest.strip_suffix(end));
        found.extend(number.and_then(|number| number.parse::<u32>().ok()));
    }
    Ok(found)
}

impl ReadBackFiles {
    /// Of a new reading.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn begin(run: &Path) -> Result<Self, ArchiveError> {
        let number = numbers(run, ".csv")?.into_iter().max().unwrap_or(0) + 1;
        let mut head = Vec::new();
        push_line(&mut head, HEAD);
        let table = GrowingFile::create(&table_of(run, number), &head)?;
        Ok(Self { dir: run.to_owned(), number, table, lines: 0, table_bytes: head.len() as u64 })
    }

    /// Of the newest one that was not ended; `None` when there is none.
    ///
    /// # Errors
    /// When they cannot be read or written.
    pub fn go_on(run: &Path) -> Result<Option<(Self, ReadBackProgress)>, ArchiveError> {
        let Some(number) = numbers(run, ".progress.json")?.into_iter().max() else { return Ok(None) };
        let path = progress_of(run, number);
        let text = read_bounded(&path, MOST_BYTES)?;
        let progress: ReadBackProgress =
            serde_json::from_str(&text).map_err(|error| ArchiveError::Unreadable {
                path,
                problem: error.to_string(),
                remedy: "delete the file and begin anew, without --resume",
            })?;
        let table = table_of(run, number);
        let file = std::fs::OpenOptions::new().write(true).open(&table);
        let cut = file.and_then(|file| file.set_len(progress.table_bytes));
        cut.map_err(ArchiveError::io("write", &table))?;
        let table = GrowingFile::reopen(&table, &[])?;
        let (lines, table_bytes) = (progress.lines, progress.table_bytes);
        Ok(Some((Self { dir: run.to_owned(), number, table, lines, table_bytes }, progress)))
    }

    /// Name of the table.
    #[must_use]
    pub fn table_name(&self) -> String {
        format!("{STEM}{}.csv", self.number)
    }

    /// Lines that the table has no room for.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.lines >= MOST_LINES
    }

    /// Adds a line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, finding: &DurabilityFinding) -> Result<(), ArchiveError> {
        if self.is_full() {
            return Ok(());
        }
        let mut line = Vec::new();
        push_line(&mut line, [&finding.class, &finding.container, &finding.object, &finding.detail]);
        self.table.append(&line)?;
        self.lines += 1;
        self.table_bytes += line.len() as u64;
        Ok(())
    }

    /// Keeps how far it has come.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(
        &self,
        settings: &Value,
        standing: &Value,
        record: &DurabilityRecord,
    ) -> Result<(), ArchiveError> {
        let progress = ReadBackProgress {
            settings: settings.clone(),
            standing: standing.clone(),
            record: record.clone(),
            lines: self.lines,
            table_bytes: self.table_bytes,
        };
        let text = serde_json::to_vec(&progress).unwrap_or_default();
        write_whole(&progress_of(&self.dir, self.number), true, |out| out.write_all(&text))
    }

    /// It is over: there is nothing to go on with.
    ///
    /// # Errors
    /// When the progress cannot be removed.
    pub fn end(self) -> Result<(), ArchiveError> {
        let path = progress_of(&self.dir, self.number);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(ArchiveError::io("remove", &path)(error))
            }
            _ => Ok(()),
        }
    }
}

/// Adds a reading back to the `run.json` of a run that is over; `again` makes the rest of the record agree with it.
///
/// # Errors
/// When the run is being written by somebody else, or its record cannot be read or written.
pub fn add_durability(
    run: &Path,
    durability: DurabilityRecord,
    again: impl FnOnce(RunRecord) -> RunRecord,
) -> Result<RunRecord, ArchiveError> {
    // Whoever writes a run holds the lock of its log.
    let log = take_log(run)?;
    let path = run.join(RECORD);
    if log.is_none() {
        let source = std::io::Error::other("another process writes this run");
        return Err(ArchiveError::io("write", &path)(source));
    }
    let mut record = read_record(run)?;
    record.durability.push(durability);
    let record = again(record);
    write_whole(&path, true, |out| {
        serde_json::to_writer_pretty(&mut *out, &record)?;
        out.write_all(b"\n")
    })?;
    Ok(record)
}
