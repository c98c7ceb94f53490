//! The directory of one run while it is written.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cosmark_metrics::nodes::reading::NodeLook;
use cosmark_metrics::{HealthSample, NodeResult, OpSnapshot, Snapshot};
use cosmark_workload::model::Stage;
use jiff::Timestamp;

use crate::csv::clients::{CLIENTS, client_lines};
use crate::csv::cosbench::{self as tables, StageTables, TimelineRow};
use crate::csv::events::EVENTS;
use crate::csv::intervals::INTERVALS;
use crate::csv::layout::{StageLayout, layout_of_stage};
use crate::directory::files::{GrowingFile, RECORD, write_whole};
use crate::directory::histograms::LogWriter;
use crate::directory::leftovers;
use crate::directory::log::line_of;
use crate::directory::reserve;
use crate::directory::timeline::Timeline;
use crate::directory::waiting_notes::WaitingNotes;
use crate::nodelog::NodeLog;
use crate::{
    Archive, ArchiveError, DriversRecord, IntervalLine, RunRecord, RunState, StageRecord, StageState,
};

/// The log of the run; whoever writes the run holds its lock.
const LOG: &str = "workload.log";
/// How long another one who ends a killed run may take.
const RECOVERY_PATIENCE: Duration = Duration::from_secs(60);

/// Where a trigger script belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptLevel {
    /// The whole workload.
    Workload,
    /// The stage with this 0-based index.
    Stage(usize),
}

/// A run directory that is being written. Dropped without [`RunDir::finish`], it stays as a killed run leaves it.
pub struct RunDir {
    archive: Archive,
    pub(super) path: PathBuf,
    stem: String,
    pub(super) record: RunRecord,
    pub(super) layout: Vec<StageLayout>,
    timelines: Vec<Timeline>,
    histograms: LogWriter,
    clients: GrowingFile,
    intervals: GrowingFile,
    pub(super) events: GrowingFile,
    pub(super) notes: WaitingNotes,
    log: GrowingFile,
    /// Outputs of the workload's scripts, then of each stage's.
    pub(super) scripts: Vec<String>,
    /// From the first look at a node on.
    nodes: Option<NodeLog>,
    /// From what the first prober did on.
    pub(super) probes: Option<GrowingFile>,
    indexed: bool,
}

/// Everything that belongs to a run that is over is there.
pub(crate) fn is_complete(dir: &Path) -> bool {
    let stem = dir.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    [".csv", "-rt-histogram.csv"].iter().all(|suffix| dir.join(format!("{stem}{suffix}")).exists())
        && !reserve::is_kept(dir)
}

/// The log of the run in `dir`, for whoever is to write it alone; `None` when somebody else does and does not end.
pub(crate) fn take_log(dir: &Path) -> Result<Option<GrowingFile>, ArchiveError> {
    let began = std::time::Instant::now();
    loop {
        if let Some(log) = GrowingFile::take(&dir.join(LOG))? {
            return Ok(Some(log));
        }
        if began.elapsed() > RECOVERY_PATIENCE {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl RunDir {
    pub(crate) fn create(
        archive: Archive,
        path: PathBuf,
        stem: String,
        record: RunRecord,
        layout: Vec<StageLayout>,
    ) -> Result<Self, ArchiveError> {
        let base = record.submitted.unwrap_or_default();
        let run = Self {
            histograms: LogWriter::create(&path, base)?,
            clients: GrowingFile::create(&path.join(CLIENTS.file), &CLIENTS.head())?,
            intervals: GrowingFile::create(&path.join(INTERVALS.file), &INTERVALS.head())?,
            events: GrowingFile::create(&path.join(EVENTS.file), &EVENTS.head())?,
            notes: WaitingNotes::of(&path),
            log: GrowingFile::create(&path.join(LOG), b"")?,
            timelines: layout.iter().map(|_| Timeline::default()).collect(),
            scripts: vec![String::new(); layout.len() + 1],
            nodes: None,
            probes: None,
            indexed: false,
            archive,
            path,
            stem,
            record,
            layout,
        };
        run.log.lock()?;
        run.write_scripts()?;
        run.write_record(true)?;
        // Without it the run is no worse off than others; whoever begins it says so (`has_room`).
        drop(reserve::keep(&run.path, &run.layout, 0));
        Ok(run)
    }

    /// There is room for what the run comes to, whatever else fills the disk.
    #[must_use]
    pub fn has_room(&self) -> bool {
        reserve::is_kept(&self.path)
    }

    /// Goes on with what another process left, of which `log` was taken.
    pub(crate) fn reopen(
        archive: Archive,
        path: &Path,
        record: RunRecord,
        layout: Vec<StageLayout>,
        log: GrowingFile,
    ) -> Result<Self, ArchiveError> {
        let stem = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let base = record.submitted.unwrap_or_default();
        leftovers::remove(path, record.process.as_ref());
        let timelines = layout.iter().map(|stage| Timeline::reopen(&path.join(&stage.file), stage));
        Ok(Self {
            timelines: timelines.collect::<Result<_, _>>()?,
            histograms: LogWriter::reopen(path, base)?,
            clients: GrowingFile::reopen(&path.join(CLIENTS.file), &CLIENTS.head())?,
            intervals: GrowingFile::reopen(&path.join(INTERVALS.file), &INTERVALS.head())?,
            events: GrowingFile::reopen(&path.join(EVENTS.file), &EVENTS.head())?,
            notes: WaitingNotes::beyond(path, &record.events),
            log,
            scripts: vec![String::new(); layout.len() + 1],
            nodes: None,
            probes: None,
            indexed: false,
            archive,
            path: path.to_owned(),
            stem,
            record,
            layout,
        })
    }

    /// Keeps room for the figures of the store's machines, which each stage will have as they are now before the first.
    pub fn reserve_for_nodes(&self, idle: &[NodeResult]) {
        // A machine without load has some figures of 0, which are left out.
        let bytes = serde_json::to_vec_pretty(idle).map_or(0, |text| text.len() * 2);
        if bytes > 0 {
            drop(reserve::keep(&self.path, &self.layout, bytes));
        }
    }

    /// Adds what was seen of the store's machines to `nodes.parquet`, which is made by the first of it. What cannot be written is
    /// reported by [`Self::finish`]: the run goes on without it.
    ///
    /// # Errors
    /// When its writer cannot be started.
    pub fn append_nodes(&mut self, looks: Vec<NodeLook>) -> Result<(), ArchiveError> {
        let log = match self.nodes.take() {
            Some(log) => log,
            None => NodeLog::create(&self.path, self.record.submitted.unwrap_or_default())?,
        };
        self.nodes.insert(log).add(looks);
        Ok(())
    }

    /// Tries again what there was no room for while it ran; true when everything that was to be written is.
    ///
    /// # Errors
    /// When there still is no room.
    pub fn catch_up(&mut self) -> Result<bool, ArchiveError> {
        for stage in 0..self.timelines.len() {
            if self.timelines.get(stage).is_some_and(|timeline| !timeline.early.is_empty()) {
                self.open_stage(stage)?;
            }
        }
        let timelines = self.timelines.iter_mut().filter_map(|timeline| timeline.file.as_mut());
        let files =
            [&mut self.clients, &mut self.intervals, &mut self.events, &mut self.log, self.histograms.file()];
        let mut whole = true;
        for file in files.into_iter().chain(timelines).chain(&mut self.probes) {
            file.catch_up()?;
            whole &= file.is_whole();
        }
        Ok(whole)
    }

    /// `w<N>`.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.record.id
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What `run.json` says now.
    #[must_use]
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// The names that its stages, works and operations have in its files.
    #[must_use]
    pub fn layout(&self) -> &[StageLayout] {
        &self.layout
    }

    /// Rows that the timeline of stage `stage` (0-based) has.
    pub(super) fn rows_of(&self, stage: usize) -> u64 {
        self.timelines.get(stage).map_or(0, |timeline| timeline.rows)
    }

    /// Says which drivers the run asked for and got.
    ///
    /// # Errors
    /// When `run.json` cannot be written.
    pub fn set_drivers(&mut self, drivers: DriversRecord) -> Result<(), ArchiveError> {
        self.record.drivers = Some(drivers);
        self.write_record(false)
    }

    /// Ends a run of which no stage began, with the reason.
    ///
    /// # Errors
    /// When anything cannot be written.
    pub fn end_unbegun(&mut self, state: RunState, reason: &str) -> Result<(), ArchiveError> {
        // A clock that was set back since does not let it end before it was submitted.
        let now = Timestamp::now().max(self.record.submitted.unwrap_or(Timestamp::MIN));
        let mut record =
            RunRecord { state, reason: Some(reason.to_owned()), ended: Some(now), ..self.record.clone() };
        record.stages.iter_mut().for_each(|stage| stage.enter(StageState::Aborted, now));
        let tables = vec![StageTables::default(); record.stages.len()];
        self.finish(&record, &tables)
    }

    /// A sentence for the user when the directory's name is not quite `w<N>-<name>`.
    #[must_use]
    pub fn renamed(&self) -> Option<String> {
        let wanted = format!("{}-{}", self.record.id, self.record.name);
        (wanted != self.stem).then(|| {
            format!(
                "the directory is called {} because {wanted:?} cannot be the name of a directory",
                self.stem
            )
        })
    }

    /// Stage `stage` (0-based) enters a state. The first one after `waiting` makes its timeline file.
    ///
    /// # Errors
    /// When there is no such stage, or a file cannot be written.
    pub fn enter_stage(
        &mut self,
        stage: usize,
        state: StageState,
        at: Timestamp,
    ) -> Result<(), ArchiveError> {
        let record = self.record.stages.get_mut(stage).ok_or_else(|| no_stage(stage))?;
        record.enter(state, at);
        if self.record.started.is_none() && state != StageState::Aborted {
            self.record.started = Some(at);
        }
        if state != StageState::Aborted {
            self.open_stage(stage)?;
        }
        self.write_record(false)
    }

    /// Notes of containers that stage `stage` (0-based) is to make which were `missing` before, so that the run makes them, and
    /// which were `there`.
    ///
    /// # Errors
    /// When there is no such stage, or `run.json` cannot be written.
    pub fn note_containers(
        &mut self,
        stage: usize,
        missing: &[String],
        there: &[String],
    ) -> Result<(), ArchiveError> {
        let record = self.record.stages.get_mut(stage).ok_or_else(|| no_stage(stage))?;
        let containers = &mut record.containers;
        for (known, more) in [(&mut containers.created, missing), (&mut containers.found, there)] {
            // A run that is taken up hears it again.
            let new = more.iter().filter(|name| !known.contains(name)).cloned().collect::<Vec<_>>();
            known.extend(new);
        }
        self.write_record(false)
    }

    /// Puts a stage at 0-based `at`, in place of the one that waits there if `instead`; the ones behind move and are
    /// numbered again. Only stages that have not begun can move.
    ///
    /// # Errors
    /// When one of them has begun, or `run.json` cannot be written.
    pub fn put_stage(
        &mut self,
        at: usize,
        stage: &Stage,
        instead: bool,
        now: Timestamp,
    ) -> Result<(), ArchiveError> {
        let begun = self.timelines.iter().skip(at).any(|timeline| timeline.file.is_some());
        if begun || at > self.layout.len() || (instead && at == self.layout.len()) {
            return Err(no_stage(at));
        }
        if instead {
            self.layout.remove(at);
            self.timelines.remove(at);
            self.scripts.remove(at + 1);
            self.record.stages.remove(at);
        }
        self.layout.insert(at, layout_of_stage(stage, at));
        self.timelines.insert(at, Timeline::default());
        self.scripts.insert(at + 1, String::new());
        self.record.stages.insert(at, StageRecord::waiting(stage, at, now));
        for (index, (layout, record)) in
            self.layout.iter_mut().zip(&mut self.record.stages).enumerate().skip(at + 1)
        {
            layout.renumber(index);
            record.id.clone_from(&layout.id);
        }
        self.write_record(false)
    }

    /// The load of stage `stage` (0-based) began at `at`; written with the next state that the stage enters.
    pub fn set_load_started(&mut self, stage: usize, at: Timestamp) {
        if let Some(record) = self.record.stages.get_mut(stage) {
            record.load_started = Some(at);
        }
    }

    fn open_stage(&mut self, stage: usize) -> Result<(), ArchiveError> {
        let (Some(layout), Some(timeline)) = (self.layout.get(stage), self.timelines.get_mut(stage)) else {
            return Err(no_stage(stage));
        };
        if timeline.file.is_some() {
            return Ok(());
        }
        // COSBench leaves the file of a stage without operations empty.
        let head = if layout.works.is_empty() { Vec::new() } else { tables::timeline_head(layout) };
        let file = timeline.file.insert(GrowingFile::create(&self.path.join(&layout.file), &head)?);
        let early = std::mem::take(&mut timeline.early);
        let begun = if early.is_empty() { Ok(()) } else { file.append(&early) };
        let logged = self.log.append(separator(&format!("stage: {}", layout.id)).as_bytes());
        begun.and(logged)
    }

    /// Adds a row to the timeline of stage `stage` (0-based); it is on its way to the disk when this returns.
    ///
    /// # Errors
    /// When there is no such stage, the row does not have its operations, or the file cannot be written.
    pub fn append_interval(&mut self, stage: usize, row: &TimelineRow<'_>) -> Result<(), ArchiveError> {
        let opened = self.open_stage(stage);
        let (Some(layout), Some(timeline)) = (self.layout.get(stage), self.timelines.get_mut(stage)) else {
            return Err(no_stage(stage));
        };
        let (expected, got) = (layout.operations().count(), row.operations.len());
        if expected != got {
            return Err(ArchiveError::NoSuchPlace {
                what: format!("a row of {got} operations for stage {}, which has {expected},", layout.id),
            });
        }
        if expected == 0 {
            return opened;
        }
        let line = tables::timeline_line(layout, row, timeline.rows, self.archive.zone());
        // A file keeps what there is no room for.
        timeline.rows += 1;
        match &mut timeline.file {
            Some(file) => file.append(&line)?,
            None => timeline.early.extend_from_slice(&line),
        }
        opened
    }

    /// Adds the distributions of one slice of one work to the histogram log; `start` is the wall time of the slice's
    /// start.
    ///
    /// # Errors
    /// When there is no such stage or work, or the file cannot be written.
    pub fn append_histograms(
        &mut self,
        stage: usize,
        start: Timestamp,
        snapshot: &Snapshot,
    ) -> Result<(), ArchiveError> {
        let work = usize::from(snapshot.work);
        let names = self.layout.get(stage).and_then(|layout| layout.works.get(work)).ok_or_else(|| {
            ArchiveError::NoSuchPlace { what: format!("work {work} of stage {stage}, counted from 0,") }
        })?;
        let length = Duration::from_nanos(snapshot.end_ns.saturating_sub(snapshot.start_ns));
        for (names, op) in names.operations.iter().zip(&snapshot.ops) {
            self.histograms.append(&names.tag, snapshot.phase, start, length, op)?;
        }
        Ok(())
    }

    /// Adds the response times of each class of sizes over a window that is over, one entry in `ops` per operation of work `work`
    /// (0-based); `start` is the wall time of the window's start.
    ///
    /// # Errors
    /// When there is no such stage or work, or the file cannot be written.
    pub fn append_size_histograms(
        &mut self,
        stage: usize,
        work: usize,
        (start, length): (Timestamp, Duration),
        ops: &[OpSnapshot],
    ) -> Result<(), ArchiveError> {
        let names = self.layout.get(stage).and_then(|layout| layout.works.get(work)).ok_or_else(|| {
            ArchiveError::NoSuchPlace { what: format!("work {work} of stage {stage}, counted from 0,") }
        })?;
        for (names, op) in names.operations.iter().zip(ops) {
            self.histograms.append_sizes(&names.tag, start, length, op)?;
        }
        Ok(())
    }

    /// Adds one look at a driver to `clients.csv`; `start_ns` is when the load of stage `stage` (0-based) began on the
    /// driver's clock.
    ///
    /// # Errors
    /// When there is no such stage, or the file cannot be written.
    pub fn append_client(
        &mut self,
        stage: usize,
        driver: &str,
        start_ns: u64,
        sample: &HealthSample,
    ) -> Result<(), ArchiveError> {
        let layout = self.layout.get(stage).ok_or_else(|| no_stage(stage))?;
        self.clients.append(&client_lines(&layout.id, driver, start_ns, sample))
    }

    /// Adds what the operations of work `work` of stage `stage` (both 0-based) did in one interval on one driver to
    /// `intervals.csv`: one entry per operation of the work; `stage` and `tag` of the lines are filled in here.
    ///
    /// # Errors
    /// When there is no such stage or work, or the file cannot be written.
    pub fn append_work_interval(
        &mut self,
        stage: usize,
        work: usize,
        mut lines: Vec<IntervalLine>,
    ) -> Result<(), ArchiveError> {
        let layout = self.layout.get(stage).ok_or_else(|| no_stage(stage))?;
        let names = layout.works.get(work).ok_or_else(|| ArchiveError::NoSuchPlace {
            what: format!("work {work} of stage {}, counted from 0,", layout.id),
        })?;
        let mut text = Vec::new();
        for (line, names) in lines.iter_mut().zip(&names.operations) {
            line.stage.clone_from(&layout.id);
            line.tag.clone_from(&names.tag);
            line.push(&mut text);
        }
        self.intervals.append(&text)
    }

    /// Stage `stage` (0-based) is over with these results. A stage that was too short for a row gets one that says
    /// that nothing was seen, as COSBench does.
    ///
    /// # Errors
    /// When there is no such stage, or a file cannot be written.
    pub fn end_stage(&mut self, stage: usize, record: StageRecord) -> Result<(), ArchiveError> {
        let ended = record.ended.unwrap_or_default();
        *self.record.stages.get_mut(stage).ok_or_else(|| no_stage(stage))? = record;
        self.fill_timeline(stage, ended)?;
        self.write_record(false)
    }

    /// A timeline that has begun has at least one row: parsers take the first for granted.
    fn fill_timeline(&mut self, stage: usize, ended: Timestamp) -> Result<(), ArchiveError> {
        let unfilled = |timeline: &Timeline| timeline.file.is_some() && timeline.rows == 0;
        if !self.timelines.get(stage).is_some_and(unfilled) {
            return Ok(());
        }
        let operations = self.layout.get(stage).map_or(0, |layout| layout.operations().count());
        let nothing = cosmark_metrics::OpSnapshot::default();
        let row = TimelineRow { ended, seconds: 0.0, operations: vec![&nothing; operations] };
        self.append_interval(stage, &row)
    }

    /// Adds a line to `workload.log`: local time, level, where it comes from, what happened.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn log(&mut self, at: Timestamp, level: &str, from: &str, text: &str) -> Result<(), ArchiveError> {
        self.log.append(line_of(at, self.archive.zone(), level, from, text).as_bytes())
    }

    /// Ends the run: the tables, the archive's two index files, and `run.json` as given. `tables` has one entry per
    /// stage.
    ///
    /// # Errors
    /// When anything cannot be written; it may be called again.
    pub fn finish(&mut self, record: &RunRecord, tables: &[StageTables]) -> Result<(), ArchiveError> {
        let noted = self.take_last_notes();
        self.record = RunRecord {
            schema: crate::SCHEMA,
            id: self.record.id.clone(),
            process: None,
            events: std::mem::take(&mut self.record.events),
            ..record.clone()
        };
        if self.record.state == RunState::Running {
            // The caller has no more to say, so it is over.
            self.record.state = RunState::Terminated;
        }
        // What it came to comes first, and everything that can be made of it afterwards.
        reserve::release(&self.path);
        self.write_record(true)?;
        noted.and(self.take_notes_behind_the_end())?;
        self.catch_up()?;
        let ended = self.record.ended.or(self.record.started).unwrap_or_default();
        for stage in 0..self.layout.len() {
            self.fill_timeline(stage, ended)?;
        }
        for (layout, timeline) in self.layout.iter().zip(&mut self.timelines) {
            if timeline.file.is_none() {
                timeline.file = Some(GrowingFile::create(&self.path.join(&layout.file), b"")?);
            }
        }
        let file = |suffix: &str| self.path.join(format!("{}{suffix}", self.stem));
        let summary = tables::summary(&self.record, &self.layout, self.archive.zone());
        write_whole(&file(".csv"), false, |out| out.write_all(&summary))?;
        write_whole(&file("-rt-histogram.csv"), false, |out| {
            tables::write_histogram(out, &self.layout, tables)
        })?;
        self.nodes.take().map_or(Ok(()), NodeLog::finish)?;
        // What all runs share comes last: whatever is wrong with it costs no file of this run.
        if !self.indexed {
            self.archive.index(&self.record, &self.layout)?;
            self.indexed = true;
        }
        Ok(())
    }

    /// `run.json` says that the run is over.
    #[must_use]
    pub fn says_its_end(&self) -> bool {
        crate::directory::reader::read_record(&self.path)
            .is_ok_and(|record| !matches!(record.state, RunState::Running | RunState::Killed))
    }

    pub(super) fn write_record(&self, durable: bool) -> Result<(), ArchiveError> {
        write_whole(&self.path.join(RECORD), durable, |out| {
            serde_json::to_writer_pretty(&mut *out, &self.record)?;
            out.write_all(b"\n")
        })
    }
}

pub(super) fn no_stage(stage: usize) -> ArchiveError {
    ArchiveError::NoSuchPlace { what: format!("stage {stage}, counted from 0,") }
}

/// COSBench's line between two parts of a log.
pub(super) fn separator(text: &str) -> String {
    let bar = "=".repeat(50);
    let text = text.replace(char::is_control, " ");
    format!("{bar} {text} {bar}\n")
}

pub(super) fn push_text(all: &mut String, text: &str) {
    all.push_str(text);
    if !text.is_empty() && !text.ends_with('\n') {
        all.push('\n');
    }
}
