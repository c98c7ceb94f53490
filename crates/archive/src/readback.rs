//! Files of a reading back in the directory of a run: `durability-N.csv`, a line for each object that is not simply right, and
//! while it is under way `durability-N.progress.json`, with which one that was killed goes on. What was found after the last
//! progress was kept is found again, so the table is cut to where it was then.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::csv::line::push_line;
use crate::directory::files::RECORD;
use crate::directory::files::{GrowingFile, read_bounded, write_whole};
use crate::directory::reader::read_record;
use crate::directory::run_dir::take_log;
use crate::ledger::checksum;
use crate::record::durability::{DurabilityFinding, DurabilityRecord};
use crate::{ArchiveError, RunRecord, regular};

const STEM: &str = "durability-";
const HEAD: [&str; 4] = ["class", "container", "object", "detail"];
/// More lines are counted and not kept.
const MOST_LINES: u64 = 1_000_000;
/// A larger progress is damage.
const MOST_BYTES: u64 = 256 << 20;

/// How far it has come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadBackProgress {
    /// What it is to read, and how: who goes on compares.
    pub settings: Value,
    /// How far it has come.
    pub standing: Value,
    /// What is known of its record.
    pub record: DurabilityRecord,
    lines: u64,
    table_bytes: u64,
    /// Of all the rest: nobody goes on with what was damaged. Earlier versions wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sum: Option<u64>,
}

impl ReadBackProgress {
    fn summed(self) -> Self {
        let rest = Self { sum: None, ..self };
        let sum = checksum(&serde_json::to_vec(&rest).unwrap_or_default());
        Self { sum: Some(sum), ..rest }
    }
}

/// The files of a reading back.
pub struct ReadBackFiles {
    dir: PathBuf,
    number: u32,
    table: GrowingFile,
    lines: u64,
    table_bytes: u64,
    /// Another process that begins takes another number, and one that goes on does not go on with these; let go of however this one
    /// ends.
    _lock: File,
}

/// The lock of a table; an error where another process has it.
fn lock(path: &Path, file: &File) -> Result<(), ArchiveError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let why = "another process reads back into it: wait for its end".to_owned();
            Err(ArchiveError::InUse { path: path.to_owned(), why })
        }
        // A file system without locks has nobody who could hold one.
        Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(ArchiveError::io("lock", path)(error)),
    }
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
        let mut number = numbers(run, ".csv")?.into_iter().max().unwrap_or(0).saturating_add(1);
        let mut head = Vec::new();
        push_line(&mut head, HEAD);
        let (path, mut file) = loop {
            let path = table_of(run, number);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => break (path, file),
                // One that begins at the same moment has this number.
                Err(error) if error.kind() == ErrorKind::AlreadyExists && number < u32::MAX => number += 1,
                Err(error) => return Err(ArchiveError::io("create", &path)(error)),
            }
        };
        lock(&path, &file)?;
        file.write_all(&head).map_err(ArchiveError::io("write", &path))?;
        let table = GrowingFile::reopen(&path, &head)?;
        let table_bytes = head.len() as u64;
        Ok(Self { dir: run.to_owned(), number, table, lines: 0, table_bytes, _lock: file })
    }

    /// Of the newest one that was not ended; `None` when there is none.
    ///
    /// # Errors
    /// When they cannot be read or written, or another process is at it.
    pub fn go_on(run: &Path) -> Result<Option<(Self, ReadBackProgress)>, ArchiveError> {
        let Some(number) = numbers(run, ".progress.json")?.into_iter().max() else { return Ok(None) };
        let path = progress_of(run, number);
        let text = read_bounded(&path, MOST_BYTES)?;
        let damaged = |problem: String| ArchiveError::Unreadable {
            path: path.clone(),
            problem,
            remedy: "delete the file and begin anew, without --resume",
        };
        let progress: ReadBackProgress =
            serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        if progress.sum.is_some() && progress.clone().summed() != progress {
            return Err(damaged("it is damaged: its checksum is wrong".to_owned()));
        }
        let path = table_of(run, number);
        let there = regular::open(&path).and_then(|table| table.metadata()).map(|meta| meta.len());
        // What is counted stands in it: nothing is made up for what is gone, and it is made shorter only, whatever is said.
        if there.map_err(ArchiveError::io("read", &path))? < progress.table_bytes {
            return Err(ArchiveError::Unreadable {
                path,
                problem: "it is shorter than what was written to it".to_owned(),
                remedy: "begin anew, without --resume",
            });
        }
        let file = regular::open_to_write(&path, OpenOptions::new().write(true));
        let file = file.map_err(ArchiveError::io("write", &path))?;
        lock(&path, &file)?;
        file.set_len(progress.table_bytes).map_err(ArchiveError::io("write", &path))?;
        let table = GrowingFile::reopen(&path, &[])?;
        let (lines, table_bytes) = (progress.lines, progress.table_bytes);
        Ok(Some((Self { dir: run.to_owned(), number, table, lines, table_bytes, _lock: file }, progress)))
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
            sum: None,
        };
        let text = serde_json::to_vec(&progress.summed()).unwrap_or_default();
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

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(object: &str) -> DurabilityFinding {
        let [class, container, object, detail] = ["lost", "c", object, "404"].map(str::to_owned);
        DurabilityFinding { class, container, object, detail }
    }

    #[test]
    fn two_readings_of_one_run_at_once_take_nothing_from_each_other() {
        let run = tempfile::tempdir().unwrap();
        let mut first = ReadBackFiles::begin(run.path()).unwrap();
        first.add(&finding("a")).unwrap();
        let mut second = ReadBackFiles::begin(run.path()).unwrap();
        second.add(&finding("b")).unwrap();
        first.add(&finding("c")).unwrap();
        assert_eq!(
            (first.table_name().as_str(), second.table_name().as_str()),
            ("durability-1.csv", "durability-2.csv")
        );
        first.keep(&Value::Null, &Value::Null, &DurabilityRecord::default()).unwrap();
        let Err(error) = ReadBackFiles::go_on(run.path()) else { panic!("it went on with one that runs") };
        assert!(matches!(error, ArchiveError::InUse { .. }), "{error}");
        first.add(&finding("d")).unwrap();
        drop(first);
        let table = |number: u32| std::fs::read_to_string(table_of(run.path(), number)).unwrap();
        assert_eq!(table(1).lines().count(), 4, "{}", table(1));
        let (mut again, _) = ReadBackFiles::go_on(run.path()).unwrap().unwrap();
        again.add(&finding("d")).unwrap();
        let text = table(1);
        assert!(text.ends_with("lost,c,a,404\nlost,c,c,404\nlost,c,d,404\n"), "{text}");
        again.end().unwrap();
        assert!(ReadBackFiles::go_on(run.path()).unwrap().is_none());
    }

    #[test]
    fn a_reading_whose_table_was_cut_or_is_gone_does_not_go_on_with_less_than_it_counted() {
        let run = tempfile::tempdir().unwrap();
        let mut first = ReadBackFiles::begin(run.path()).unwrap();
        first.add(&finding("a")).unwrap();
        first.keep(&Value::Null, &Value::Null, &DurabilityRecord::default()).unwrap();
        drop(first);
        let path = table_of(run.path(), 1);
        let whole = std::fs::read(&path).unwrap();
        let refused = || {
            let Err(error) = ReadBackFiles::go_on(run.path()) else { panic!("it goes on") };
            error.to_string()
        };
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert!(refused().contains("begin anew, without --resume"), "{}", refused());
        assert_eq!(std::fs::read(&path).unwrap().len(), whole.len() - 1, "it is left as it is");
        std::fs::remove_file(&path).unwrap();
        assert!(refused().contains("durability-1.csv"), "{}", refused());
        assert!(!path.exists());
        std::fs::write(&path, [&whole[..], &b"lost,c,later,404\n"[..]].concat()).unwrap();
        assert!(ReadBackFiles::go_on(run.path()).unwrap().is_some());
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }

    #[test]
    fn nobody_goes_on_with_a_progress_of_which_a_single_sign_was_damaged() {
        let run = tempfile::tempdir().unwrap();
        let mut first = ReadBackFiles::begin(run.path()).unwrap();
        first.add(&finding("a")).unwrap();
        let standing =
            serde_json::json!({"container_from": 120, "next": 512, "counts": {"right": 511, "lost": 1}});
        let record = DurabilityRecord { objects: 1000, right: 511, lost: 1, ..DurabilityRecord::default() };
        first.keep(&serde_json::json!({"sample": null, "seed": 7}), &standing, &record).unwrap();
        drop(first);
        // A program that another test starts holds what is open here until it is another.
        let go_on = || {
            for _ in 0..1000 {
                match ReadBackFiles::go_on(run.path()) {
                    Err(error) if error.to_string().contains("another process") => {
                        std::thread::sleep(std::time::Duration::from_millis(10));
                    }
                    gone_on => return gone_on,
                }
            }
            panic!("somebody holds it")
        };
        let path = progress_of(run.path(), 1);
        let whole = std::fs::read(&path).unwrap();
        let (files, progress) = go_on().unwrap().unwrap();
        drop(files);
        assert_eq!((&progress.standing, &progress.record), (&standing, &record));
        for at in 0..whole.len() {
            let mut text = whole.clone();
            text[at] ^= 1;
            std::fs::write(&path, &text).unwrap();
            // The name of what is nought anyway may be any.
            match go_on() {
                Ok(Some((_, read))) => assert_eq!(read, progress, "{}", String::from_utf8_lossy(&text)),
                Ok(None) => panic!("it is there"),
                Err(error) => assert!(error.to_string().contains("begin anew"), "{error}"),
            }
        }
        // Of an earlier version, which wrote no checksum.
        let mut earlier: Value = serde_json::from_slice(&whole).unwrap();
        assert!(earlier.as_object_mut().unwrap().remove("sum").is_some());
        std::fs::write(&path, earlier.to_string()).unwrap();
        let (_, read) = go_on().unwrap().unwrap();
        assert_eq!((&read.standing, &read.record), (&standing, &record));
    }
}
