//! Writes the archive without ever stopping the measurement: when a disk is full the first failure is noted and
//! reported, the run goes on, and its results are still shown at the end.

use std::path::Path;
use std::time::Duration;

use cosmark_archive::{
    ArchiveError, ClientLine, EventKind, EventRecord, IntervalLine, OpLog, RunDir, RunRecord, ScriptLevel,
    StageLayout, StageRecord, StageState, StageTables, TimelineRow, Timestamp,
};
use cosmark_metrics::nodes::reading::NodeLook;
use cosmark_metrics::{HealthSample, NodeResult, OpSnapshot, ProbeOperation, Snapshot};
use cosmark_wire::ContainersBefore;
use cosmark_wire::RunClock;
use cosmark_workload::Workload;
use cosmark_workload::model::Stage;

/// Somebody who is told what goes into the archive, as it goes in. Called from the controller's task; must not block.
pub trait ArchiveListener {
    /// The stage at `index` (0-based) entered a state, or is new.
    fn stage(&mut self, index: usize, record: &RunRecord);

    /// A line of the run's log, secrets removed.
    fn log(&mut self, level: &str, from: &str, text: &str);

    /// What was measured of the stage at `index` (0-based).
    fn measured(&mut self, _index: usize, _measured: &Measured<'_>) {}
}

/// What was measured, as it can be read from the archive. `first` is the number of the first operation that it is about, over
/// the whole stage.
#[derive(Debug)]
pub enum Measured<'a> {
    /// Lines of `intervals.csv`: one per operation of a work.
    Interval {
        /// The first operation.
        first: usize,
        /// The lines.
        lines: &'a [IntervalLine],
    },
    /// The same of intervals that are not over, in place of those that were told before: first operation and lines.
    Open(&'a [(usize, Vec<IntervalLine>)]),
    /// A slice that went into the histogram log.
    Slice {
        /// The first operation.
        first: usize,
        /// Start in seconds since the load began.
        start_s: f64,
        /// Length in seconds.
        length_s: f64,
        /// Its sums.
        snapshot: &'a Snapshot,
    },
    /// Lines of `clients.csv`: a look at one driver.
    Client(&'a [ClientLine]),
    /// What was seen of the store's machines.
    Nodes {
        /// When the stage's load began, nanoseconds since 1970.
        began_ns: u64,
        /// Looks at them, each machine's in order of time.
        looks: &'a [NodeLook],
    },
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

    /// Of a run that is taken up: what is written down happened when the run began (ns since 1970), until a driver's first event
    /// says when that did. A stage would begin after its end otherwise.
    #[must_use]
    pub fn taken_up(mut self, began_unix_ns: i64) -> Self {
        self.set_past(Some(began_unix_ns));
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

    /// Keeps every operation, or a ledger of what the store acknowledges, or both: see [`OpLog::wanted`].
    ///
    /// # Errors
    /// When nothing of it can be kept.
    pub fn keep_operations(
        &self,
        workload: &Workload,
        (operations, ledger): (bool, bool),
        epoch: Timestamp,
    ) -> Result<Option<OpLog>, ArchiveError> {
        OpLog::wanted(&self.dir, workload, (operations, ledger), epoch)
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
        let first = self.dir.record().stages.get(stage).is_some_and(|record| record.started.is_none());
        let result = self.dir.enter_stage(stage, state, now);
        self.keep(result);
        if state == StageState::Running {
            self.event_at(now, EventKind::Stage, Some(stage), "load begins");
        } else if first && !state.is_over() {
            self.event_at(now, EventKind::Stage, Some(stage), "stage begins");
        }
        self.tell_stage(stage);
    }

    /// Something happened in stage `stage` (0-based), now.
    pub(crate) fn event(&mut self, kind: EventKind, stage: Option<usize>, text: &str) {
        let now = self.now();
        self.event_at(now, kind, stage, text);
    }

    /// The same at a moment that is past.
    pub(crate) fn event_at(&mut self, at: Timestamp, kind: EventKind, stage: Option<usize>, text: &str) {
        let id = stage.and_then(|stage| self.dir.layout().get(stage)).map(|layout| layout.id.clone());
        let result = self.dir.event(EventRecord::new(at, kind, id, text));
        self.keep(result);
    }

    /// Takes what people have said about the run.
    pub(crate) fn take_notes(&mut self, stage: usize) {
        let id = self.dir.layout().get(stage).map(|layout| layout.id.clone());
        let result = self.dir.take_notes(id.as_deref());
        self.keep(result);
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

    /// Number over the whole stage of a work's first operation.
    fn first_of(&self, stage: usize, work: usize) -> usize {
        let works = self.dir.layout().get(stage).map(|layout| layout.works.iter().take(work));
        works.into_iter().flatten().map(|work| work.operations.len()).sum()
    }

    fn tell_measured(&mut self, stage: usize, measured: &Measured<'_>) {
        if let Some(listener) = &mut self.listener {
            listener.measured(stage, measured);
        }
    }

    /// Whether somebody wants to be told what goes in.
    pub(crate) fn is_heard(&self) -> bool {
        self.listener.is_some()
    }

    /// What is measured of intervals that are not over: work and lines.
    pub(crate) fn show_open(&mut self, stage: usize, intervals: Vec<(usize, Vec<IntervalLine>)>) {
        let written = |lines: Vec<IntervalLine>| lines.iter().map(IntervalLine::as_written).collect();
        let open: Vec<_> =
            intervals.into_iter().map(|(work, lines)| (self.first_of(stage, work), written(lines))).collect();
        self.tell_measured(stage, &Measured::Open(&open));
    }

    /// The load of a stage began.
    pub(crate) fn set_load_started(&mut self, stage: usize, at: Timestamp) {
        self.dir.set_load_started(stage, at);
    }

    /// Tells of a slice as the histogram log has it, whose times are milliseconds since the run was submitted.
    fn tell_slice(&mut self, stage: usize, start: Timestamp, snapshot: &Snapshot) {
        let record = self.dir.record();
        let began = record.stages.get(stage).and_then(|stage| stage.load_started);
        let Some((began, base)) = began.zip(record.submitted) else { return };
        let first = self.first_of(stage, usize::from(snapshot.work));
        let in_log = |seconds: f64| (seconds * 1e3).round() / 1e3;
        let origin_s = began.duration_since(base).as_secs_f64();
        let start_s = in_log(start.duration_since(base).as_secs_f64()) - origin_s;
        let length = Duration::from_nanos(snapshot.end_ns.saturating_sub(snapshot.start_ns));
        let length_s = in_log(length.as_secs_f64());
        self.tell_measured(stage, &Measured::Slice { first, start_s, length_s, snapshot });
    }

    pub(crate) fn append_histograms(&mut self, stage: usize, start: Timestamp, snapshot: &Snapshot) {
        if self.is_heard() {
            self.tell_slice(stage, start, snapshot);
        }
        let result = self.dir.append_histograms(stage, start, snapshot);
        self.keep(result);
    }

    /// What the operations of a work did in its whole window, by class of size.
    pub(crate) fn append_size_histograms(
        &mut self,
        stage: usize,
        work: usize,
        window: (Timestamp, Duration),
        ops: &[OpSnapshot],
    ) {
        let result = self.dir.append_size_histograms(stage, work, window, ops);
        self.keep(result);
    }

    pub(crate) fn append_client(&mut self, stage: usize, driver: &str, start_ns: u64, sample: &HealthSample) {
        if self.is_heard()
            && let Some(layout) = self.dir.layout().get(stage)
        {
            let lines = ClientLine::of_sample(&layout.id, driver, start_ns, sample);
            let lines: Vec<_> = lines.iter().map(ClientLine::as_written).collect();
            self.tell_measured(stage, &Measured::Client(&lines));
        }
        let result = self.dir.append_client(stage, driver, start_ns, sample);
        self.keep(result);
    }

    /// What a driver's prober did; `clock` is when the load began on its clock, and by how much that may be off, ns.
    pub(crate) fn append_probes(
        &mut self,
        stage: usize,
        driver: &str,
        clock: (u64, u64),
        operations: &[ProbeOperation],
    ) {
        let result = self.dir.append_probes(stage, driver, clock, operations);
        self.keep(result);
    }

    pub(crate) fn append_nodes(&mut self, stage: usize, looks: Vec<NodeLook>) {
        let began = self.dir.record().stages.get(stage).and_then(|stage| stage.load_started);
        if let Some(began) = began.filter(|_| self.is_heard()) {
            let began_ns = u64::try_from(began.as_nanosecond()).unwrap_or(0);
            self.tell_measured(stage, &Measured::Nodes { began_ns, looks: &looks });
        }
        let result = self.dir.append_nodes(looks);
        self.keep(result);
    }

    pub(crate) fn has_room(&self) -> bool {
        self.dir.has_room()
    }

    /// Keeps room for the figures of the store's machines.
    pub(crate) fn reserve_for_nodes(&self, idle: &[NodeResult]) {
        self.dir.reserve_for_nodes(idle);
    }

    pub(crate) fn append_work_interval(&mut self, stage: usize, work: usize, lines: Vec<IntervalLine>) {
        if self.is_heard() {
            let first = self.first_of(stage, work);
            let lines: Vec<_> = lines.iter().map(IntervalLine::as_written).collect();
            self.tell_measured(stage, &Measured::Interval { first, lines: &lines });
        }
        let result = self.dir.append_work_interval(stage, work, lines);
        self.keep(result);
    }

    pub(crate) fn end_stage(&mut self, stage: usize, record: StageRecord) {
        let at = record.ended.unwrap_or_else(|| self.now());
        self.event_at(at, EventKind::Stage, Some(stage), record.state.word());
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
