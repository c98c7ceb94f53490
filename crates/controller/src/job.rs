//! A workload that is ready to run, with everything that its run needs, and the classes in which a run can end.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::time::Duration;

use cosmark_archive::{
    BesideRecord, DurabilityRecord, EventKind, MissingRecord, OpLog, PauseRecord, Timestamp,
};
use cosmark_metrics::nodes::reading::NodesSeen;
use cosmark_metrics::{FaultResult, NodeResult, RawLimits, Snapshot};
use cosmark_wire::{DriverLink, Failure, FailureClass, RunClock};
use cosmark_workload::model::{Stage, Workload};
use tokio::sync::watch;

use crate::archive_writer::ArchiveWriter;
use crate::fullness::Fullness;
use crate::observe::Observer;
use crate::settle::Settle;

/// How urgently the user wants it to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopLevel {
    /// Not at all.
    Run,
    /// Operations in flight may end.
    Finish,
    /// At once.
    Abort,
}

/// A workload that is ready to be run.
pub struct RunJob<'a> {
    /// What to do; `seed` is set.
    pub workload: &'a Workload,
    /// Where it is written down.
    pub dir: ArchiveWriter,
    /// Who makes the load.
    pub drivers: Vec<Box<dyn DriverLink>>,
    /// The operation log, if asked for, and the moment that its times count from.
    pub operation_log: Option<(OpLog, Timestamp)>,
    /// Whether to go on.
    pub stop: watch::Receiver<StopLevel>,
    /// Takes secrets out of a text before it is shown or kept.
    pub redact: &'a dyn Fn(&str) -> String,
    /// Operations in flight may end for this long after the load; `None` = as each driver was told at its start.
    pub drain: Option<Duration>,
    /// The controller's clock, by which drivers are told when to begin.
    pub clock: RunClock,
    /// A run that the user ends still does its stages that only delete: what it wrote is of no use to anybody. Asking again ends
    /// these, too.
    pub tidies_up: bool,
    /// What the store's machines were busy with before the first stage.
    pub(crate) idle_nodes: Vec<NodeResult>,
    /// What these machines can do by themselves, and the directory of the archive that says so.
    pub raw_limits: Option<(String, RawLimits)>,
    /// Stages that time ends stop before their time when their headline figures are known well enough.
    pub settle: Option<Settle>,
    /// Reads back what the store acknowledged, where the workload asks for that.
    pub reads_back: Option<Box<dyn ReadsBack>>,
    /// Index in the workload of the stage that goes on: one with a search has many in the record.
    pub(crate) planned_stage: usize,
    /// Stages and triggers that were begun.
    steps: u32,
    step_teller: Option<Box<dyn FnMut(u32)>>,
    link_news: Option<Box<dyn FnMut() -> Option<String>>>,
    beside: Option<Box<dyn Fn() -> Vec<BesideRecord>>>,
    nodes: Option<Box<dyn NodesSeen>>,
    /// How full the store is, as far as its machines say it.
    pub(crate) fullness: Fullness,
    pub(crate) faults: Option<Box<dyn FaultsPlayed>>,
}

/// Who makes the faults of a stage while its load runs. No call blocks.
pub trait FaultsPlayed {
    /// The load of this stage began.
    fn begin(&mut self, stage: &Stage, id: &str, at: Timestamp);

    /// What one driver did from `start_ns` to `end_ns` after that.
    fn slice(&mut self, start_ns: u64, end_ns: u64, snapshot: &Snapshot);

    /// What happened since the last call.
    fn take(&mut self) -> Vec<FaultNews>;

    /// The load is over, or to end: no further fault is made, and what is in force is healed.
    fn stop(&mut self);

    /// The user has ended the run: nothing is waited for that is not needed to heal.
    fn leave(&mut self);

    /// All is healed and the store whole again, or it was said what could not be.
    fn is_over(&self) -> bool;

    /// What the faults of the stage cost; it is over then. What is missing of drivers, and when they made no load, is
    /// not put down to the store.
    fn results(&mut self, missing: &[MissingRecord], pauses: &[PauseRecord]) -> Vec<FaultResult>;
}

/// A step of a fault.
#[derive(Debug, Clone)]
pub struct FaultNews {
    /// When.
    pub at: Timestamp,
    /// Its kind.
    pub kind: EventKind,
    /// One sentence, or what a command printed.
    pub text: String,
}

/// Somebody who can read from the store.
pub trait ReadsBack {
    /// Reads back what stands in the ledger of the run in `run`, which misses changes where `in_doubt`. Ends early when `stop` says so.
    fn read_back<'a>(
        &'a mut self,
        run: &'a Path,
        in_doubt: bool,
        stop: watch::Receiver<StopLevel>,
        observer: &'a mut dyn Observer,
    ) -> Pin<Box<dyn Future<Output = Result<DurabilityRecord, String>> + 'a>>;
}

/// The store's machines, looked at from before the first stage on.
pub struct NodesOfRun {
    /// What they were busy with before it.
    pub idle: Vec<NodeResult>,
    /// What is seen of them from then on.
    pub seen: Box<dyn NodesSeen>,
}

impl<'a> RunJob<'a> {
    /// A workload for these drivers, without an operation log.
    #[must_use]
    pub fn new(
        workload: &'a Workload,
        dir: ArchiveWriter,
        drivers: Vec<Box<dyn DriverLink>>,
        stop: watch::Receiver<StopLevel>,
        redact: &'a dyn Fn(&str) -> String,
    ) -> Self {
        Self {
            workload,
            dir,
            drivers,
            operation_log: None,
            stop,
            redact,
            drain: None,
            clock: RunClock::default(),
            tidies_up: false,
            idle_nodes: Vec::new(),
            raw_limits: None,
            settle: None,
            reads_back: None,
            planned_stage: 0,
            steps: 0,
            step_teller: None,
            link_news: None,
            beside: None,
            nodes: None,
            fullness: Fullness::default(),
            faults: None,
        }
    }

    /// Tells somebody whenever a step begins.
    pub fn on_step(&mut self, teller: Box<dyn FnMut(u32)>) {
        self.step_teller = Some(teller);
    }

    /// Asks about once a second whether there is something to say about the way to the drivers.
    pub fn on_news(&mut self, news: Box<dyn FnMut() -> Option<String>>) {
        self.link_news = Some(news);
    }

    /// Asks about once a second, while there is load, what else its drivers and stores are loaded with.
    pub fn on_beside(&mut self, beside: Box<dyn Fn() -> Vec<BesideRecord>>) {
        self.beside = Some(beside);
    }

    /// Asks about once a second what was seen of the store's machines, and at the end of each stage what they were busy with in
    /// its measured window.
    pub fn on_nodes(&mut self, nodes: Option<NodesOfRun>) {
        if let Some(NodesOfRun { idle, seen }) = nodes {
            (self.idle_nodes, self.nodes) = (idle, Some(seen));
        }
    }

    /// Has the faults of its stages made by somebody.
    pub fn on_faults(&mut self, faults: Box<dyn FaultsPlayed>) {
        self.faults = Some(faults);
    }

    pub(crate) fn nodes_between(&self, from: Timestamp, to: Timestamp) -> Vec<NodeResult> {
        let nanoseconds = |at: Timestamp| u64::try_from(at.as_nanosecond()).unwrap_or(0);
        let seen = self.nodes.as_ref().map(|nodes| nodes.between(nanoseconds(from), nanoseconds(to)));
        seen.unwrap_or_default()
    }

    /// Writes down what was seen of the store's machines since the last time, in stage `stage` (0-based) or before it.
    pub(crate) fn keep_nodes(&mut self, stage: usize) {
        let looks = self.nodes.as_ref().map(|nodes| nodes.take()).unwrap_or_default();
        self.fullness.hear(&looks);
        if !looks.is_empty() {
            self.dir.append_nodes(stage, looks);
        }
    }

    /// What keeps the store's machines, or parts of them, from being seen now, one sentence each.
    pub(crate) fn troubles_of_nodes(&self) -> Vec<String> {
        self.nodes.as_ref().map(|nodes| nodes.troubles()).unwrap_or_default()
    }

    /// True when somebody looks at the store's machines.
    pub(crate) fn has_nodes(&self) -> bool {
        self.nodes.is_some()
    }

    pub(crate) fn loaded_beside(&self) -> Vec<BesideRecord> {
        self.beside.as_ref().map(|beside| beside()).unwrap_or_default()
    }

    /// From here on only the wish to end at once counts.
    pub(crate) fn stop_only_at_once(&mut self) {
        let (level, stop) = watch::channel(StopLevel::Run);
        let mut asked = std::mem::replace(&mut self.stop, stop);
        tokio::spawn(async move {
            if asked.wait_for(|asked| *asked == StopLevel::Abort).await.is_ok() {
                level.send_replace(StopLevel::Abort);
            }
        });
    }

    pub(crate) fn news_of_the_link(&mut self) -> Option<String> {
        self.link_news.as_mut().and_then(|news| news())
    }

    /// The number of the step that begins now.
    pub(crate) fn next_step(&mut self) -> u32 {
        let step = self.steps;
        self.steps += 1;
        if let Some(teller) = &mut self.step_teller {
            teller(step);
        }
        step
    }
}

/// What the exit code is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndClass {
    /// All stages ran, within their acceptable failure ratios.
    Finished,
    /// All stages ran, but a threshold is missed or not decided, or a search found no load.
    Missed,
    /// A stage failed.
    Failed,
    /// The store or its login cannot be reached, or refuses us.
    Target,
    /// The workload cannot be run as it is written.
    Workload,
    /// This machine.
    Internal,
    /// The user.
    Cancelled,
}

/// What a driver's failure means for the run.
pub(crate) fn class_of(failure: &Failure) -> EndClass {
    match failure.class {
        FailureClass::Target => EndClass::Target,
        FailureClass::Workload => EndClass::Workload,
        FailureClass::Stage => EndClass::Failed,
        FailureClass::Driver | FailureClass::Restarted | FailureClass::Stopped => EndClass::Internal,
    }
}
