//! What the machines of a store were busy with during one stage.

use serde::{Deserialize, Serialize};

/// What kind of thing can be full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ResourceKind {
    /// All processors of a machine together.
    Machine,
    /// One logical processor.
    Core,
    /// One thread of a named daemon: it can fill one processor while its machine is idle.
    Thread,
    /// The processor time that a control group may use.
    CpuQuota,
    /// Bytes or requests a second that a control group may do with a device.
    IoLimit,
    /// One block device.
    Disk,
    /// One direction of a network interface.
    NetworkReceive,
    /// The other direction.
    NetworkTransmit,
}

impl ResourceKind {
    /// As a sentence says it, singular.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Machine => "processors",
            Self::Core => "processor",
            Self::Thread => "thread",
            Self::CpuQuota => "CPU quota",
            Self::IoLimit => "limit of input and output",
            Self::Disk => "disk",
            Self::NetworkReceive => "network (receiving)",
            Self::NetworkTransmit => "network (sending)",
        }
    }
}

/// Work that waited for something, as its source counts it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// How many wait: runnable tasks, queued requests.
    Queue(f64),
    /// Share of the time in which something waits, 0 to 1: pressure stall information, throttled time.
    Share(f64),
    /// Events per second that come of waiting: drops, overflows. Only its order over several loads means anything.
    Events(f64),
}

impl Waiting {
    /// The number, whatever it counts.
    #[must_use]
    pub fn amount(self) -> f64 {
        match self {
            Self::Queue(amount) | Self::Share(amount) | Self::Events(amount) => amount,
        }
    }
}

/// One thing that can be full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnitResult {
    /// What it is.
    pub kind: ResourceKind,
    /// Its name on the machine: `cpu3`, `sda`, `eth0`, `swift-proxy-ser/1234`.
    pub name: String,
    /// Share of the time in which it was busy, 0 to 1.
    pub busy: f64,
    /// The same between the two successive readings where it was highest.
    pub highest_busy: f64,
    /// What waited for it; null where that was not measured.
    pub waiting: Option<Waiting>,
}

/// One quantity of one unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuantityResult {
    /// Its name, with its unit at the end: `disk_read_bytes`. Docs: `docs/reference/nodes.md`.
    pub quantity: String,
    /// Which one of the machine's; empty for what it has once.
    pub unit: String,
    /// Per second for what is counted up, the mean for what is not.
    pub mean: f64,
    /// The highest between two successive readings.
    pub highest: f64,
}

/// One machine of the store.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NodeResult {
    /// Its name in the workload.
    pub name: String,
    /// What it does for the store.
    pub role: String,
    /// Who gave its figures: `local`, `ssh`, `prometheus`.
    pub source: String,
    /// Readings in the measured window; with fewer than two there are no figures.
    pub readings: u64,
    /// Longest time in seconds between two readings that differ; null with fewer than two.
    pub renewed_every_s: Option<f64>,
    /// By how many milliseconds its clock is ahead of the controller's; null where it does not tell.
    pub clock_ahead_ms: Option<f64>,
    /// Counters that began anew, as after a restart.
    pub resets: u64,
    /// Why nothing came any more, or for how long nothing came and why; null if it answered all the time.
    pub lost: Option<String>,
    /// Share of the window in which it was seen, 0 to 1: from its first reading to its last one, without the time in
    /// which it did not answer. Null in archives of programs that did not measure it.
    #[serde(default)]
    pub covered_share: Option<f64>,
    /// What can be full.
    pub units: Vec<UnitResult>,
    /// All quantities.
    pub quantities: Vec<QuantityResult>,
}

/// A machine that was seen for less of a window says nothing of how busy it was in it.
const LEAST_COVERED: f64 = 0.5;

impl NodeResult {
    /// It was seen in most of the window, as far as that is known.
    #[must_use]
    pub fn is_covered(&self) -> bool {
        self.covered_share.is_none_or(|share| share >= LEAST_COVERED)
    }
}

/// What limits the store, from the stages of a run that differ in their load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BottleneckResult {
    /// `named`, `several`, `client`, `shared`, `refused`, `limit`, `unexplained`, `not_reached`, `too_few_steps` or
    /// `nothing_measured`.
    pub answer: String,
    /// `high`, `medium` or `low`; null unless something is named.
    pub confidence: Option<String>,
    /// What is named: `node kind name`, one entry each.
    pub units: Vec<String>,
    /// Operations per second where more load added nothing; null where that was not reached.
    pub plateau_per_s: Option<f64>,
    /// Operations per second at which the named unit has no time left; `ceiling_by` says whether that was predicted.
    pub ceiling_per_s: Option<f64>,
    /// 95 % interval of that: lower end; null where it was not predicted.
    #[serde(default)]
    pub ceiling_low_per_s: Option<f64>,
    /// Upper end; null where there is none.
    #[serde(default)]
    pub ceiling_high_per_s: Option<f64>,
    /// What it was predicted by from the lower loads: `line`, `waking` (a line beside what it takes to wake the unit), or
    /// `falling_costs` (several laws by which an operation costs less under load); `when_full` where these predict nothing that
    /// meets the plateau, for an operation costs the unit less where it is full: the ceiling is by that cost. Null where there is
    /// none.
    #[serde(default)]
    pub ceiling_by: Option<String>,
    /// The answer in words.
    pub text: String,
    /// What would be full next.
    pub second: Option<String>,
    /// What would prove it wrong.
    pub refute: Option<String>,
    /// Units that are much busier than others like them.
    pub skewed: Vec<String>,
    /// Ids of the stages that it is from.
    pub stages: Vec<String>,
    /// What these stages measured, by rising load.
    #[serde(default)]
    pub steps: Vec<LadderStepResult>,
    /// The units with the lowest ceilings, the lowest first.
    #[serde(default)]
    pub candidates: Vec<CandidateResult>,
}

/// A step of a ladder.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LadderStepResult {
    /// Id of its stage.
    pub stage: String,
    /// Operations under way on average.
    pub in_flight: f64,
    /// Operations per second.
    pub throughput_per_s: f64,
    /// Mean service time in milliseconds.
    pub service_ms: f64,
}

/// A unit of the store's machines, and what a ladder says of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CandidateResult {
    /// Its machine.
    pub node: String,
    /// What it is.
    pub kind: ResourceKind,
    /// Its name there.
    pub name: String,
    /// Milliseconds of it that an operation costs, by the steps below 60 % of the plateau.
    pub demand_ms: f64,
    /// 95 % interval of that: lower end.
    pub demand_low_ms: f64,
    /// Upper end.
    pub demand_high_ms: f64,
    /// Share of it that is busy without any operation.
    pub idle: f64,
    /// Operations per second at which it has no time left; null where an operation does not need it.
    pub ceiling_per_s: Option<f64>,
    /// 95 % interval of that: lower end.
    pub ceiling_low_per_s: Option<f64>,
    /// Upper end; null where there is none.
    pub ceiling_high_per_s: Option<f64>,
    /// Share of the time in which it was busy at each step of `steps`; null where that was not measured.
    pub busy: Vec<Option<f64>>,
    /// Whether work waits for it the longer operations take; null where waiting was not measured.
    pub waits: Option<bool>,
    /// Why it is not the limit; empty for one that may be.
    pub against: Vec<String>,
}

impl CandidateResult {
    /// As [`BottleneckResult::units`] names it.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {} {}", self.node, self.kind.word(), self.name)
    }
}
