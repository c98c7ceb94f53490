//! Events for whoever watches a run.

use std::time::Duration;

use cosmark_archive::{MissingRecord, StageRecord, Timestamp};
use cosmark_metrics::{OpSnapshot, Snapshot};
use cosmark_workload::model::Stage;

/// Somebody who watches: a terminal, a console. Called from the controller's task; must not block.
pub trait Observer {
    /// A stage begins.
    fn stage_begins(&mut self, news: &StageNews<'_>);

    /// What one work did on one driver in one slice of time; many a second. For those who sum up themselves.
    fn slice(&mut self, _slice: &SliceNews<'_>) {}

    /// About once a second while a stage runs.
    fn progress(&mut self, progress: &Progress<'_>);

    /// A stage is over.
    fn stage_ends(&mut self, record: &StageRecord);

    /// Something that people should know: a trigger that failed, a wait, a lost sample.
    fn note(&mut self, text: &str);
}

/// A stage that begins.
#[derive(Debug, Clone, Copy)]
pub struct StageNews<'a> {
    /// The stage.
    pub stage: &'a Stage,
    /// 0-based.
    pub index: usize,
    /// How many stages there are.
    pub of: usize,
    /// How long it will take, where time ends it.
    pub planned: Option<Duration>,
}

/// What one work did on one driver in one slice of time.
#[derive(Debug, Clone, Copy)]
pub struct SliceNews<'a> {
    /// The stage.
    pub stage: &'a Stage,
    /// Its 0-based index.
    pub index: usize,
    /// The driver.
    pub driver: &'a str,
    /// When the load began on that driver.
    pub load_started: Timestamp,
    /// The same moment on the driver's own clock, on which the snapshot counts.
    pub start_ns: u64,
    /// Names of the work's endpoints, in the order of their numbers; none unless there are several.
    pub endpoints: &'a [String],
    /// Sums of the slice.
    pub snapshot: &'a Snapshot,
}

/// How a stage is doing.
#[derive(Debug, Clone)]
pub struct Progress<'a> {
    /// The stage.
    pub stage: &'a Stage,
    /// 0-based.
    pub index: usize,
    /// How many stages there are.
    pub of: usize,
    /// Since its load began.
    pub elapsed: Duration,
    /// Since its load began, up to where every driver that counts has told everything.
    pub watermark: Duration,
    /// Until its load ends, where time ends it.
    pub remaining: Option<Duration>,
    /// Share of it that is done, 0..=1, where that can be told.
    pub done: Option<f64>,
    /// Length of what `latest` sums up.
    pub latest_s: f64,
    /// All operations of all works, lately.
    pub latest: OpSnapshot,
    /// All operations of all works since the stage began.
    pub total_ok: u64,
    /// Failures since the stage began.
    pub total_failed: u64,
    /// Drivers whose part is missing from some moment on.
    pub missing: Vec<MissingRecord>,
}
