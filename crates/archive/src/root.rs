//! The archive itself: one directory for many runs, possibly written by several processes at once.

use std::fs;
use std::path::{Path, PathBuf};

use cosmark_workload::Workload;
use jiff::{Timestamp, tz::TimeZone};

use crate::files::{Lock, append_shared, read_bounded, safe_name, write_whole};
use crate::layout::{StageLayout, layout_of};
use crate::run_dir::RECORD;
use crate::{ArchiveError, HostRecord, RunDir, RunRecord, RunState, StageState, open_run, process, tables};

/// Number of the last workload; COSBench's name for it.
const META: &str = ".meta";
pub(crate) const LOCK: &str = ".lock";
pub(crate) const HISTORY: &str = "run-history.csv";
pub(crate) const WORKLOADS: &str = "workloads.csv";

/// A directory of runs.
#[derive(Debug, Clone)]
pub struct Archive {
    root: PathBuf,
    zone: TimeZone,
}

/// The workload file as the user gave it.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Its name, without a directory.
    pub file_name: &'a str,
    /// Its text, secrets already removed.
    pub text: &'a str,
}

/// What is known of a run before it starts.
#[derive(Debug, Clone)]
pub struct NewRun<'a> {
    /// Number from [`Archive::reserve`]; `None` = take the next one now.
    pub number: Option<u64>,
    /// What will be run.
    pub workload: &'a Workload,
    /// The seed it is run with: its own, or the one that was drawn.
    pub seed: Option<u64>,
    /// The file it came from; `None` when there was none.
    pub source: Option<Source<'a>>,
    /// The expanded workload as COSBench XML, secrets already removed.
    pub config_xml: &'a str,
    /// The expanded workload as native YAML, secrets already removed.
    pub config_yaml: &'a str,
    /// This machine.
    pub host: HostRecord,
    /// When the user submitted it.
    pub submitted: Timestamp,
}

impl Archive {
    /// Opens the archive in `root` and makes it if it is not there.
    ///
    /// # Errors
    /// When the directory cannot be made, written or locked.
    pub fn open(root: &Path) -> Result<Self, ArchiveError> {
        fs::create_dir_all(root).map_err(ArchiveError::io("make directory", root))?;
        let archive = Self { root: root.to_owned(), zone: TimeZone::system() };
        let lock = archive.lock()?;
        for (name, head) in
            [(META, "0"), (HISTORY, tables::HISTORY_HEAD), (WORKLOADS, tables::WORKLOADS_HEAD)]
        {
            let path = archive.root.join(name);
            if fs::metadata(&path).map_or(true, |meta| meta.len() == 0) {
                write_whole(&path, false, |out| out.write_all(head.as_bytes()))?;
            }
        }
        drop(lock);
        Ok(archive)
    }

    /// Writes local times of `zone` instead of the machine's.
    #[must_use]
    pub fn with_zone(mut self, zone: TimeZone) -> Self {
        self.zone = zone;
        self
    }

    /// Where it is.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Takes the next workload number, for a run that has to queue. It is used up, whatever becomes of the run.
    ///
    /// # Errors
    /// When the archive cannot be read, written or locked.
    pub fn reserve(&self) -> Result<u64, ArchiveError> {
        let lock = self.lock()?;
        let number = self.next_number()?;
        write_whole(&self.root.join(META), false, |out| write!(out, "{number}"))?;
        drop(lock);
        Ok(number)
    }

    /// Makes the directory of a run and everything in it that is known before the run, so that a disk that cannot take
    /// the results is found out in second 0.
    ///
    /// # Errors
    /// When anything cannot be written.
    pub fn begin(&self, new: &NewRun<'_>) -> Result<RunDir, ArchiveError> {
        let number = match new.number {
            Some(number) => number,
            None => self.reserve()?,
        };
        let id = format!("w{number}");
        let stem = format!("{id}-{}", safe_name(&new.workload.name));
        let path = self.root.join(&stem);
        fs::create_dir(&path).map_err(ArchiveError::io("make directory", &path))?;
        write_given_files(&path, new)?;
        let mut record = RunRecord::begun(id, new.workload, new.host.clone(), new.submitted);
        record.seed = new.seed;
        record.process = Some(process::this_process());
        RunDir::create(self.clone(), path, stem, record, layout_of(new.workload))
    }

    /// The same for a run that another process began and did not end: its incomplete directory is replaced.
    ///
    /// # Errors
    /// When the run in it has ended, or anything cannot be written.
    pub fn begin_again(&self, new: &NewRun<'_>) -> Result<RunDir, ArchiveError> {
        let Some(number) = new.number else { return self.begin(new) };
        let path = self.root.join(format!("w{number}-{}", safe_name(&new.workload.name)));
        if path.exists() {
            let record = crate::open_run(&path)?.record;
            if !matches!(record.state, crate::RunState::Running | crate::RunState::Killed) {
                return Err(ArchiveError::NoSuchPlace {
                    what: format!("an unfinished run in {}, which has ended,", path.display()),
                });
            }
            fs::remove_dir_all(&path).map_err(ArchiveError::io("remove directory", &path))?;
        }
        self.begin(new)
    }

    /// Ends the run in `dir`, whose process is gone: its record says so with `reason`, its table is written from what it
    /// has, and it enters the index files. Gives the record; nothing is changed when the run is over already.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn end_killed(
        &self,
        dir: &Path,
        workload: &Workload,
        reason: &str,
    ) -> Result<RunRecord, ArchiveError> {
        let mut record = open_run(dir)?.record;
        if !matches!(record.state, RunState::Killed | RunState::Running) {
            return Ok(record);
        }
        let now = Timestamp::now();
        record.state = RunState::Terminated;
        record.reason = Some(reason.to_owned());
        record.ended = Some(now);
        record.process = None;
        for stage in record.stages.iter_mut().filter(|stage| !stage.state.is_over()) {
            let begun = stage.started.is_some();
            stage.enter(if begun { StageState::Terminated } else { StageState::Aborted }, now);
        }
        let layout = layout_of(workload);
        // A search may have put stages in: then the layout is no longer that of the workload, and the table is left out.
        if layout.len() == record.stages.len() {
            let stem = dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let summary = tables::summary(&record, &layout, &self.zone);
            write_whole(&dir.join(format!("{stem}.csv")), false, |out| out.write_all(&summary))?;
            self.index(&record, &layout)?;
        }
        write_whole(&dir.join(RECORD), true, |out| {
            serde_json::to_writer_pretty(&mut *out, &record)?;
            out.write_all(b"\n")
        })?;
        Ok(record)
    }

    pub(crate) fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// Adds a run to the two index files.
    pub(crate) fn index(&self, record: &RunRecord, layout: &[StageLayout]) -> Result<(), ArchiveError> {
        let lock = self.lock()?;
        let history = tables::history_line(record, layout, &self.zone);
        append_shared(&self.root.join(HISTORY), tables::HISTORY_HEAD, &history)?;
        let rows = tables::workloads_lines(record, layout);
        append_shared(&self.root.join(WORKLOADS), tables::WORKLOADS_HEAD, &rows)?;
        drop(lock);
        Ok(())
    }

    fn lock(&self) -> Result<Lock, ArchiveError> {
        Lock::take(&self.root.join(LOCK))
    }

    /// One more than `.meta` and than every `w<N>-..` that is there.
    fn next_number(&self) -> Result<u64, ArchiveError> {
        let meta = self.root.join(META);
        let text = if meta.exists() { read_bounded(&meta, 4096)? } else { String::new() };
        let text = text.trim();
        let damaged = |problem| ArchiveError::Damaged {
            path: meta.clone(),
            line: 1,
            problem,
            remedy: "write the number of the last workload into it, or delete it",
        };
        let mut last = match text {
            "" => 0,
            text => text.parse::<u64>().map_err(|_| damaged(format!("`{text}` is not a workload number")))?,
        };
        let entries = fs::read_dir(&self.root).map_err(ArchiveError::io("read directory", &self.root))?;
        for entry in entries {
            let entry = entry.map_err(ArchiveError::io("read directory", &self.root))?;
            if let Some(number) = number_of(&entry.file_name().to_string_lossy()) {
                last = last.max(number);
            }
        }
        last.checked_add(1).ok_or_else(|| damaged("no workload number is left".to_owned()))
    }
}

/// `17` of `w17-name`.
pub(crate) fn number_of(directory: &str) -> Option<u64> {
    let (number, _) = directory.strip_prefix('w')?.split_once('-')?;
    if number.bytes().all(|byte| byte.is_ascii_digit()) { number.parse().ok() } else { None }
}

fn write_given_files(path: &Path, new: &NewRun<'_>) -> Result<(), ArchiveError> {
    let put = |path: PathBuf, text: &str| write_whole(&path, false, |out| out.write_all(text.as_bytes()));
    put(path.join("workload-config.xml"), new.config_xml)?;
    put(path.join("workload.yaml"), new.config_yaml)?;
    if let Some(source) = new.source {
        // In a directory of its own: a file called `s3-sample.xml` would be taken for a stage by existing plot scripts.
        let directory = path.join("source");
        fs::create_dir(&directory).map_err(ArchiveError::io("make directory", &directory))?;
        put(directory.join(safe_name(source.file_name)), source.text)?;
    }
    Ok(())
}
