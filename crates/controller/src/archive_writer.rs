//! Writes the archive without ever stopping the measurement: when a disk is full the first failure is noted and
//! reported, the run goes on, and its results are still shown at the end.

use std::path::Path;

use cosmark_archive::{
    ArchiveError, IntervalLine, RunDir, RunRecord, ScriptLevel, StageLayout, StageRecord, StageState,
    StageTables, TimelineRow, Timestamp,
};
use cosmark_metrics::{HealthSample, Snapshot};
use cosmark_wire::ContainersBefore;
use cosmark_wire::RunClock;
use cosmark_workload::model::Stage;

/// Somebody who is told what goes into the archive, as it goes in. Called from the controller's task; must not block.
pub trait ArchiveListener {
    /// The stage at `index` (0-based) entered a state, or is new.
    fn stage(&mut self, index: usize, record: &RunRecord);

    /// A line of the run's log, secrets removed.
    fn log(&mut self, level: &str, from: &str, text: &str);
}

/// A run directory whose failures do not stop the run.
pub struct ArchiveWriter {
    dir: RunDir,
    listener: Option<Box<dyn ArchiveListener>>,
    trouble: Option<ArchiveError>,
    reported: bool,
    /// What is written down happened then, and not now.
    past: Option<Timestamp>,
    clock: RunClock,
    /// The latest moment that was written down: a run that is taken up on a machine whose clock is behind goes on from there.
    latest: Timestamp,
}

impl ArchiveWriter {
    /// Around a directory that could be made.
    #[must_use]
    pub fn new(dir: RunDir) -> Self {
        let latest = dir.record().submitted.unwrap_or(Timestamp::MIN);
        Self {
            dir,
            listener: None,
            trouble: None,
            reported: false,
            past: None,
            clock: RunClock::default(),
            latest,
        }
    }

    /// Tells `listener` what goes into it.
    #[must_use]
    pub fn heard_by(mut self, listener: Box<dyn ArchiveListener>) -> Self {
        self.listener = Some(listener);
        self
    }

    fn tell_stage(&mut self, stage: usize) {
        if let Some(listener) = &mut self.listener {
            listener.stage(stage, self.dir.record());
        }
    }

    /// What `run.json` says.
    #[must_use]
    pub fn record(&self) -> &RunRecord {
        self.dir.record()
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// What is written down from now on happened then (ns since 1970), because a run is taken up; `None` = it happens now.
    pub(crate) fn set_past(&mut self, unix_ns: Option<i64>) {
        self.past = unix_ns.and_then(|ns| Timestamp::from_nanosecond(i128::from(ns)).ok());
    }

    /// When what is written down happens. Wall-clock time as it was when the run began or was taken up, and what a monotonic
    /// clock says since: how long a stage took does not depend on who sets the machine's clock meanwhile.
    pub(crate) fn now(&self) -> Timestamp {
        self.past.unwrap_or_else(|| self.present())
    }

    /// The same, also while the past of a run that is taken up is written down.
    pub(crate) fn present(&self) -> Timestamp {
        let now = Timestamp::from_nanosecond(i128::from(self.clock.now_ns()));
        now.map_or(self.latest, |now| now.max(self.latest))
    }

    /// The same, and nothing that is written down later happens before it.
    fn mark(&mut self) -> Timestamp {
        let now = self.now();
        self.latest = self.latest.max(now);
        now
    }

    /// The names that its stages, works and operations have.
    #[must_use]
    pub fn layout(&self) -> &[StageLayout] {
        self.dir.layout()
    }

    /// The first failure, once.
    pub(crate) fn news(&mut self) -> Option<String> {
        let trouble = self.trouble.as_ref().filter(|_| !self.reported)?;
        self.reported = true;
        Some(format!("{trouble}; the run goes on, its results are shown at the end"))
    }

    pub(crate) fn into_parts(self) -> (RunDir, Option<ArchiveError>) {
        (self.dir, self.trouble)
    }

    fn keep(&mut self, result: Result<(), ArchiveError>) {
        if let Err(error) = result {
            self.trouble.get_or_insert(error);
        }
    }

    pub(crate) fn enter_stage(&mut self, stage: usize, state: StageState) {
        let now = self.mark();
        let result = self.dir.enter_stage(stage, state, now);
        self.keep(result);
        self.tell_stage(stage);
    }

    /// What is known of the containers that a stage is about to make. It stands there before the stage runs: a process that is
    /// killed later has said whose they are.
    pub(crate) fn note_containers(&mut self, stage: usize, before: &ContainersBefore) {
        let ContainersBefore { missing, there } = before;
        if !missing.is_empty() || !there.is_empty() {
            let result = self.dir.note_containers(stage, missing, there);
            self.keep(result);
        }
    }

    pub(crate) fn put_stage(&mut self, at: usize, stage: &Stage, instead: bool) {
        let now = self.mark();
        let result = self.dir.put_stage(at, stage, instead, now);
        self.keep(result);
        self.tell_stage(at);
    }

    pub(crate) fn append_interval(&mut self, stage: usize, row: &TimelineRow<'_>) {
        let result = self.dir.append_interval(stage, row);
        self.keep(result);
    }

    pub(crate) fn append_histograms(&mut self, stage: usize, start: Timestamp, snapshot: &Snapshot) {
        let result = self.dir.append_histograms(stage, start, snapshot);
        self.keep(result);
    }

    pub(crate) fn append_client(&mut self, stage: usize, driver: &str, start_ns: u64, sample: &HealthSample) {
        let result = self.dir.append_client(stage, driver, start_ns, sample);
        self.keep(result);
    }

    pub(crate) fn append_work_interval(&mut self, stage: usize, work: usize, lines: Vec<IntervalLine>) {
        let result = self.dir.append_work_interval(stage, work, lines);
        self.keep(result);
    }

    pub(crate) fn end_stage(&mut self, stage: usize, record: StageRecord) {
        let result = self.dir.end_stage(stage, record);
        self.keep(result);
        self.tell_stage(stage);
    }

    pub(crate) fn log(&mut self, level: &str, from: &str, text: &str) {
        let now = self.mark();
        let result = self.dir.log(now, level, from, text);
        self.keep(result);
        if let Some(listener) = &mut self.listener {
            listener.log(level, from, text);
        }
    }

    pub(crate) fn script_output(&mut self, level: ScriptLevel, text: &str) {
        let result = self.dir.script_output(level, text);
        self.keep(result);
    }

    /// Ends it. What there was no room for is no trouble any more when everything found its place in the end.
    pub(crate) fn finish(&mut self, record: &RunRecord, tables: &[StageTables]) {
        let result = self.dir.finish(record, tables);
        let whole = result.is_ok() && matches!(self.dir.catch_up(), Ok(true));
        if whole && self.trouble.as_ref().is_some_and(ArchiveError::wants_room) {
            self.trouble = None;
        }
        self.keep(result);
    }

    /// `run.json` says that the run is over, and how.
    pub(crate) fn says_its_end(&self) -> bool {
        self.dir.says_its_end()
    }
}
