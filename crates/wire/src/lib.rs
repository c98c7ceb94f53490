//! What a controller says to its drivers and what they answer. A local run speaks the same over [`DriverLink`] inside one
//! process: there is no second way to run a workload.

pub mod api;

use std::sync::Arc;

use cosmark_metrics::{ClientFacts, HealthSample, Sample, SlicePlan, Snapshot};
use cosmark_workload::model::Stage;
use cosmark_workload::share::MissionShare;
use tokio::sync::mpsc;

/// A way to one driver.
pub trait DriverLink: Send {
    /// Name of the driver.
    fn name(&self) -> &str;

    /// Hands over a stage's shares. Events come on the receiver until [`DriverEvent::Ended`] or
    /// [`DriverEvent::Refused`]; they have to be read.
    fn start(&mut self, order: StageOrder) -> mpsc::Receiver<DriverEvent>;

    /// Starts no further operation; those in flight may end.
    fn finish(&self);

    /// Drops the operations in flight, too.
    fn abort(&self);

    /// Runs a trigger script, waits for it within a bound, and gives what it printed.
    fn trigger(&mut self, order: TriggerOrder) -> mpsc::Receiver<TriggerReport>;
}

/// One driver's part of one stage.
#[derive(Debug, Clone)]
pub struct StageOrder {
    /// Index of the stage.
    pub stage_index: usize,
    /// The stage.
    pub stage: Arc<Stage>,
    /// This driver's shares, at most one for each work.
    pub shares: Vec<MissionShare>,
    /// Seed of the run.
    pub seed: u64,
    /// Send every sample.
    pub log_operations: bool,
}

/// What a driver tells while it works on a stage.
#[derive(Debug)]
pub enum DriverEvent {
    /// All logins were done and all stores answered.
    Authed,
    /// The load is on.
    Launched {
        /// The driver's clock ([`Snapshot::start_ns`] counts on it) when this was sent.
        now_ns: u64,
        /// Start of the load on the same clock.
        start_ns: u64,
        /// Index of each work and its phases on the same clock.
        plans: Vec<(usize, SlicePlan)>,
    },
    /// What does not change about the driver while the stage runs; comes before the first [`DriverEvent::Health`].
    Facts(ClientFacts),
    /// How the driver was doing, about every second from the start of the load to its end.
    Health(HealthSample),
    /// Sums of one work over one slice.
    Snapshot(Snapshot),
    /// Samples of one work.
    Samples {
        /// Index of the work.
        work: u16,
        /// The samples.
        samples: Vec<Sample>,
    },
    /// Samples that were lost because nobody read them in time.
    SamplesLost {
        /// How many.
        count: u64,
    },
    /// The stage cannot be started here; nothing was sent to the store but the questions that showed it.
    Refused(Failure),
    /// All is over; every snapshot was sent before.
    Ended {
        /// One entry per share, in the order of the order.
        missions: Vec<MissionReport>,
        /// Why the stage was given up, if it was.
        gave_up: Option<Failure>,
    },
}

/// The end of one share.
#[derive(Debug, Clone, PartialEq)]
pub struct MissionReport {
    /// Index of the work.
    pub work: usize,
    /// Workers of this share.
    pub workers: u32,
    /// Length of the measured window in seconds.
    pub window_s: f64,
    /// The endpoints that served it, in the order of their numbers; empty unless there are several.
    pub endpoints: Vec<String>,
    /// The first failures: operation, label, sentence.
    pub examples: Vec<FailureExample>,
}

/// One of the first failures of a work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureExample {
    /// Index of the operation in its work.
    pub op: u16,
    /// `http_503`, `timeout`, ..
    pub label: String,
    /// The sentence.
    pub text: String,
}

/// Something that stops a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Name of the work.
    pub work: String,
    /// How it is to be taken.
    pub class: FailureClass,
    /// One sentence with its remedy.
    pub text: String,
}

/// What a failure means for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureClass {
    /// The store or its login cannot be reached, or refuses us: the rest of the workload is pointless.
    Target,
    /// The workload cannot be run as it is written.
    Workload,
    /// Nothing of this stage works; others may.
    Stage,
    /// This machine: threads, descriptors, a bug.
    Driver,
}

/// A trigger script to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerOrder {
    /// File name.
    pub script: String,
    /// Arguments; for the end of a run or stage just `-k`.
    pub args: Vec<String>,
}

/// What a trigger script did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriggerReport {
    /// What it printed, bounded.
    pub output: String,
    /// Why it could not be run, or how it failed.
    pub error: Option<String>,
}
