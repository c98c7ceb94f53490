//! Events that a driver reports while it works.

use cosmark_metrics::{
    ClientFacts, ConsistencySums, HealthSample, ProbeOperation, Sample, SlicePlan, Snapshot,
};
use serde::{Deserialize, Serialize};

/// What a driver tells while it works on a stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum DriverEvent {
    /// All logins were done and all stores answered.
    Authed,
    /// Its clock was compared with the controller's.
    Probed,
    /// The load is on.
    Launched(Launched),
    /// What does not change about the driver while the stage runs; comes before the first [`DriverEvent::Health`].
    Facts(ClientFacts),
    /// How the driver was doing, about every second from the start of the load to its end.
    Health(HealthSample),
    /// Sums of one work over one slice.
    Snapshot(Snapshot),
    /// All that ended before this moment of the driver's clock has been told, but for what came too late.
    Told {
        /// The moment.
        up_to_ns: u64,
    },
    /// Samples of one work.
    Samples {
        /// Index of the work.
        work: u16,
        /// The samples.
        #[serde(with = "crate::samples")]
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
    /// For some time no load was made although it was to be: it was not known whether the run lives.
    Paused {
        /// On the driver's clock.
        from_ns: u64,
        /// The same.
        to_ns: u64,
        /// Why.
        why: PauseReason,
    },
    /// What the prober beside the load has seen; once, before the end.
    Consistency(ConsistencySums),
    /// What the prober did and saw since it last said so; only where [`crate::StageOrder::probes`] asks for it.
    Probes {
        /// Its requests: those of an object of its own all together, once that is over.
        operations: Vec<ProbeOperation>,
        /// Requests that are left out, because there are too many.
        #[serde(default)]
        missed: u64,
    },
    /// What a trigger script did; the only event of its step.
    Triggered(TriggerReport),
    /// Nothing was heard of the driver for too long; said by the controller, and heard in its place among what the driver
    /// said. More may come after it.
    Lost {
        /// How long nothing was heard, ms.
        silent_ms: u64,
        /// What it did not do in time although it was there; `None` = it was not there.
        #[serde(default)]
        late: Option<String>,
    },
}

/// Why a driver made no load for some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PauseReason {
    /// Nobody renewed the lease of the run for too long.
    NotRenewed,
    /// The driver's process stood still, or its machine was suspended.
    StoodStill,
}

/// The beginning of a driver's load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Launched {
    /// Start of the load on the driver's clock ([`Snapshot::start_ns`] counts on it).
    pub start_ns: u64,
    /// The common instant of all drivers on the same clock; not after `start_ns`. Intervals count from it.
    pub origin_ns: u64,
    /// The same instant on the controller's clock, ns since 1970.
    pub origin_unix_ns: i64,
    /// How the two clocks were compared; `None` in one process.
    pub clock: Option<ClockFix>,
    /// Index of each work and its phases on the driver's clock.
    pub plans: Vec<(usize, SlicePlan)>,
    /// Index of each work and the endpoints that serve it, in the order of their numbers; only where there are several.
    #[serde(default)]
    pub endpoints: Vec<(usize, Vec<String>)>,
    /// The containers that its works are to make, as they were before.
    #[serde(default)]
    pub containers: ContainersBefore,
}

/// Containers that a stage is to make, before it did; one that stands in neither was not asked for, or the store did not say.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ContainersBefore {
    /// Names of those that were not there.
    pub missing: Vec<String>,
    /// Names of those that were.
    pub there: Vec<String>,
}

impl ContainersBefore {
    /// Adds what is known of others.
    pub fn add(&mut self, other: Self) {
        self.missing.extend(other.missing);
        self.there.extend(other.there);
    }
}

/// Two clocks compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockFix {
    /// The driver's wall clock minus the controller's, ns.
    pub wall_offset_ns: i64,
    /// By how much the common instant may be off: half of the fastest probe's round trip, ns.
    pub error_ns: u64,
}

/// What became of a driver's clocks between a first comparison and a last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockDrift {
    /// The last comparison.
    pub last: ClockFix,
    /// Time between the two, ns.
    pub over_ns: u64,
    /// What the clock that its times count on gained on the controller's meanwhile, ns; negative = it lost.
    pub gained_ns: i64,
    /// By how much that may be off: the errors of both comparisons, ns.
    pub gained_error_ns: u64,
    /// The most that this clock was away from the first comparison in any of them, ns.
    pub strayed_ns: u64,
}

/// The end of one share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// When its workers really began; `None` = none did, or the driver does not tell.
    #[serde(default)]
    pub began: Option<Began>,
}

/// When the workers of a share really began, on the driver's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Began {
    /// The first of them was let go, ns.
    pub first_ns: u64,
    /// The last of them, ns.
    pub last_ns: u64,
}

/// One of the first failures of a work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureExample {
    /// Index of the operation in its work.
    pub op: u16,
    /// `http_503`, `timeout`, ..
    pub label: String,
    /// The sentence.
    pub text: String,
}

/// Something that stops a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Name of the work.
    pub work: String,
    /// How it is to be taken.
    pub class: FailureClass,
    /// One sentence with its remedy.
    pub text: String,
}

/// What a failure means for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureClass {
    /// The store or its login cannot be reached, or refuses us: the rest of the workload is pointless.
    Target,
    /// The workload cannot be run as it is written.
    Workload,
    /// Nothing of this stage works; others may.
    Stage,
    /// The driver's machine: threads, descriptors, a bug; or the driver is gone.
    Driver,
    /// The driver was started again in the middle of the stage: what it had not told is gone.
    Restarted,
    /// The driver has stopped by itself, because nobody wanted its load any more: what it did is told, the rest is missing.
    Stopped,
}

/// What a trigger script did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TriggerReport {
    /// What it printed, bounded.
    pub output: String,
    /// Why it could not be run, or how it failed.
    pub error: Option<String>,
}

impl TriggerReport {
    /// The same with an output of `most` bytes at most, whose end says that something was left out.
    #[must_use]
    pub fn cut(mut self, most: usize) -> Self {
        const LEFT_OUT: &str = "\n[the rest of the output is left out]\n";
        if self.output.len() > most {
            self.output.truncate(self.output.floor_char_boundary(most.saturating_sub(LEFT_OUT.len())));
            self.output.push_str(LEFT_OUT);
        }
        self
    }
}
