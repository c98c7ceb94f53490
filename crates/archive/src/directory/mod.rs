//! The archive itself: one directory for many runs, possibly written by several processes at once.

pub(crate) mod counts;
pub(crate) mod files;
pub(crate) mod fio;
pub(crate) mod histograms;
pub(crate) mod in_force;
pub(crate) mod index;
mod indexed;
mod leftovers;
pub(crate) mod log;
mod lost;
pub(crate) mod notes;
pub(crate) mod open;
mod probes;
pub(crate) mod process;
pub(crate) mod raw;
pub(crate) mod reader;
pub(crate) mod remove;
mod reserve;
pub(crate) mod run_dir;
mod scripts;
pub(crate) mod signs;
mod target;
pub(crate) mod tickets;
mod timeline;
mod waiting_notes;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cosmark_workload::Workload;
use jiff::{Timestamp, tz::TimeZone};

use crate::csv::layout::{StageLayout, layout_of};
use crate::directory::files::{
    HISTORY, Lock, MOST_NUMBER, WORKLOADS, append_shared, number_of, read_bounded, safe_name, write_whole,
};
use crate::directory::reader::read_record;
use crate::{
    ArchiveError, HostRecord, Run, RunDir, RunRecord, RunState, StageTables, TimelineRow,
    csv::cosbench as tables, recover,
};

/// Number of the last workload; COSBench's name for it.
const META: &str = ".meta";
pub(crate) const LOCK: &str = ".lock";

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

/// A run whose process is gone, ready to be ended.
pub struct KilledRun {
    dir: RunDir,
    /// What it had measured.
    pub run: Run,
    /// What was run; `None` when its copy is gone.
    pub workload: Option<Workload>,
    tables: Vec<StageTables>,
    row_lengths: Vec<Option<Duration>>,
    /// It had ended, and only tables of it are missing.
    pub was_over: bool,
}

impl KilledRun {
    /// Writes it down as `record`: first that, then the tables.
    ///
    /// # Errors
    /// When anything cannot be written; what was written before is kept, and the rest can be tried again.
    pub fn end(mut self, record: &RunRecord) -> Result<RunRecord, ArchiveError> {
        let text = record.reason.clone().unwrap_or_default();
        self.add_rows();
        self.dir.finish(record, &self.tables)?;
        // Afterwards: until the record says when the run ended, its files do.
        let text = format!("put together from what was on disk: {text}");
        drop(self.dir.log(Timestamp::now(), "WARN", "Recovery", &text));
        Ok(self.dir.record().clone())
    }

    /// Adds the rows that the kill kept from the timelines of the stages that it cut. What there is no room for is tried again, and
    /// told, when the run is ended.
    fn add_rows(&mut self) {
        for (at, (stage, length)) in self.run.record.stages.iter().zip(&self.row_lengths).enumerate() {
            let (Some(length), Some(layout)) = (length, self.dir.layout().get(at)) else { continue };
            if stage.cut_s.is_none() {
                continue;
            }
            let written = self.dir.rows_of(at);
            for row in recover::rows::missing(&self.run, stage, layout, *length, written) {
                let operations = row.operations();
                let row = TimelineRow {
                    ended: row.ended,
                    seconds: row.seconds,
                    operations: operations.iter().collect(),
                };
                drop(self.dir.append_interval(at, &row));
            }
        }
    }
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
        let stem = directory_named(number, &new.workload.name);
        let path = self.root.join(&stem);
        fs::create_dir(&path).map_err(ArchiveError::io("make directory", &path))?;
        let begun = write_given_files(&path, new).and_then(|()| {
            let mut record = RunRecord::begun(id, new.workload, new.host.clone(), new.submitted);
            record.seed = new.seed;
            record.process = Some(process::this_process());
            RunDir::create(self.clone(), path.clone(), stem, record, layout_of(new.workload))
        });
        begun.inspect_err(|_| leave_nothing(&path))
    }

    /// The same for a run that another process began and did not end: its incomplete directory is replaced.
    ///
    /// # Errors
    /// When the run in it has ended, or anything cannot be written.
    pub fn begin_again(&self, new: &NewRun<'_>) -> Result<RunDir, ArchiveError> {
        let Some(number) = new.number else { return self.begin(new) };
        let path = self.root.join(directory_named(number, &new.workload.name));
        if path.exists() && !crate::remove_unbegun(&path) {
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

    /// Takes up the run in `dir`, whose process is gone, to end it: what it had measured is put together from its files. `None`
    /// when it is over and everything of it is there. `is_gone` = the caller knows that nobody writes it.
    ///
    /// # Errors
    /// When its process lives, or may live on another machine; when it cannot be read or written.
    pub fn take_up_killed(&self, dir: &Path, is_gone: bool) -> Result<Option<KilledRun>, ArchiveError> {
        let in_use = |why: String| ArchiveError::InUse { path: dir.to_owned(), why };
        let look = || -> Result<Option<RunRecord>, ArchiveError> {
            let record = read_record(dir)?;
            if record.state == RunState::Running && !is_gone {
                let process = record.process.clone().unwrap_or_default();
                let host = process.hostname.unwrap_or_else(|| "another machine".to_owned());
                return Err(in_use(format!(
                    "process {} on {host} runs it, or may; if it is certainly gone, say --force",
                    process.pid
                )));
            }
            let over = !matches!(record.state, RunState::Running | RunState::Killed);
            let is_whole = over && run_dir::is_complete(dir) && self.has_indexed(&record)?;
            Ok((!is_whole).then_some(record))
        };
        if look()?.is_none() {
            return Ok(None);
        }
        let log = run_dir::take_log(dir)?
            .ok_or_else(|| in_use("another process writes it; wait for its end, or end it".to_owned()))?;
        // Somebody else may have done it while this one waited.
        let Some(record) = look()? else { return Ok(None) };
        let was_over = !matches!(record.state, RunState::Running | RunState::Killed);
        let mut run = Run { path: dir.to_owned(), record };
        let rebuilt = recover::rebuild(&mut run);
        if !was_over {
            run.record.state = RunState::Terminated;
            run.record.reason.get_or_insert_with(|| reader::WHY.to_owned());
        }
        let recover::Rebuilt { workload, layout, tables, row_lengths } = rebuilt;
        let new = RunDir::reopen(self.clone(), dir, run.record.clone(), layout, log)?;
        Ok(Some(KilledRun { dir: new, run, workload, tables, row_lengths, was_over }))
    }

    pub(crate) fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// Adds a run to the two index files.
    pub(crate) fn index(&self, record: &RunRecord, layout: &[StageLayout]) -> Result<(), ArchiveError> {
        let lock = self.lock()?;
        // A kill may have come between this and the end of the one who was here before.
        if self.has_indexed(record)? {
            return Ok(());
        }
        let history = tables::history_line(record, layout, &self.zone);
        append_shared(&self.root.join(HISTORY), tables::HISTORY_HEAD, &history)?;
        let rows = tables::workloads_lines(record, layout);
        append_shared(&self.root.join(WORKLOADS), tables::WORKLOADS_HEAD, &rows)?;
        drop(lock);
        Ok(())
    }

    /// The history has the line of a run.
    fn has_indexed(&self, record: &RunRecord) -> Result<bool, ArchiveError> {
        indexed::has_run(&self.root.join(HISTORY), &record.id, &record.name, record.submitted)
    }

    fn lock(&self) -> Result<Lock, ArchiveError> {
        Lock::take(&self.root.join(LOCK))
    }

    /// One more than `.meta`, than every `w<N>-..` that is there and than every run of the two index files, which may be
    /// COSBench's.
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
        for name in [HISTORY, WORKLOADS] {
            last = last.max(indexed::last_number(&self.root.join(name))?);
        }
        let next = last.checked_add(1).filter(|next| *next < MOST_NUMBER);
        next.ok_or_else(|| damaged("no workload number is left".to_owned()))
    }
}

/// What the directory of the run with this number is called, of a workload that is called `name`.
#[must_use]
pub fn directory_named(number: u64, name: &str) -> String {
    format!("w{number}-{}", safe_name(name))
}

/// What this process has just made and could not fill is no run, and takes room of a disk that may be full.
pub(crate) fn leave_nothing(path: &Path) {
    // Why it could not be filled says more than why it stays.
    drop(fs::remove_dir_all(path));
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
