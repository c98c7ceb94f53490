//! The parts of `run.json` about goals: thresholds and how they came out, searches and their trials.

use cosmark_stats::usl::{Parameter, Usl};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a condition came out. What the data cannot decide is never a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GoalStatus {
    /// Met.
    Pass,
    /// Missed.
    Fail,
    /// The data allow both.
    NotDecided,
    /// A trial that did not meet them while the client itself was in trouble: it says nothing about the store.
    NotProven,
}

impl GoalStatus {
    /// The words for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "met",
            Self::Fail => "missed",
            Self::NotDecided => "not decided",
            Self::NotProven => "not proven",
        }
    }
}

/// One threshold of one stage, for one operation or for all together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThresholdRecord {
    /// Id of the stage.
    pub stage: String,
    /// Name of the operation; null = all of the stage together.
    pub operation: Option<String>,
    /// Name of its work; null where it is of several works together, and in records of older versions.
    pub work: Option<String>,
    /// As written in the workload.
    pub threshold: String,
    /// The metric's word, e.g. `p95`.
    pub metric: String,
    /// `ms`, `share`, `per_s` or `bytes_per_s`.
    pub unit: String,
    /// What was measured; null when nothing was.
    pub value: Option<f64>,
    /// Lower end of its interval; null where the value is a plain count or time.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// What it was compared with.
    pub limit: Option<f64>,
    /// How it came out.
    pub status: GoalStatus,
    /// One sentence.
    pub message: String,
}

/// A search for the highest load that meets the thresholds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchRecord {
    /// Name of the stage in the workload.
    pub name: String,
    /// What was varied: `rate` (per second) or `workers`.
    pub over: String,
    /// The conditions.
    pub thresholds: Vec<String>,
    /// The highest load that met them; of a list of steps, the one with the highest throughput. Null when none did.
    pub best: Option<f64>,
    /// The lowest load above it that did not; null when none was found.
    pub missed_at: Option<f64>,
    /// The gap between the two is as small as was asked, and both were confirmed by fresh trials.
    pub settled: bool,
    /// Why it is not settled; null when it is.
    #[serde(default)]
    pub unsettled: Option<String>,
    /// Fresh trials at the answer that passed, up to the last.
    pub confirmed: u32,
    /// What a reader should know: not monotonic, stopped early, a confirmation that failed.
    pub notes: Vec<String>,
    /// In the order in which they were made.
    pub trials: Vec<TrialRecord>,
    /// The scalability law fitted to (workers, throughput); null for rates and for fewer than 5 points.
    pub usl: Option<UslRecord>,
}

/// One trial: a stage of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRecord {
    /// Id of the stage.
    pub stage: String,
    /// Rate per second or workers.
    pub load: f64,
    /// Why it was made: `step`, `double`, `halve`, `again`, `repeat`, `above`, `confirm`.
    pub purpose: String,
    /// Successes per second over all operations.
    pub throughput_per_s: Option<f64>,
    /// Body bytes of successes per second.
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Mean response time of all operations together, ms.
    pub mean_ms: Option<f64>,
    /// 95th percentile of the response times of all operations together, ms.
    pub p95_ms: Option<f64>,
    /// Failures of all that ended.
    pub error_ratio: Option<f64>,
    /// How it came out, with the trials of the same load that it continues.
    pub status: GoalStatus,
    /// The first condition that was not met, or what else spoke against it.
    pub reason: Option<String>,
    /// Every condition of this trial.
    pub thresholds: Vec<ThresholdRecord>,
}

/// A value with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalRecord {
    /// Best value.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The universal scalability law, X(N) = one N / (1 + contention (N - 1) + coherence N (N - 1)).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UslRecord {
    /// Throughput of one worker, per second.
    pub one_per_s: IntervalRecord,
    /// Share that cannot be done at the same time.
    pub contention: IntervalRecord,
    /// What makes throughput fall with more workers.
    pub coherence: IntervalRecord,
    /// Workers with the highest throughput; null when the data show no fall.
    pub peak_workers: Option<IntervalRecord>,
    /// Largest relative distance of a point from the curve.
    pub largest_residual: f64,
    /// Number of points.
    pub points: u32,
}

impl From<Parameter> for IntervalRecord {
    fn from(Parameter { value, low, high }: Parameter) -> Self {
        Self { value, low, high }
    }
}

impl From<&Usl> for UslRecord {
    fn from(usl: &Usl) -> Self {
        Self {
            one_per_s: usl.one.into(),
            contention: usl.contention.into(),
            coherence: usl.coherence.into(),
            peak_workers: usl.peak_workers.map(IntervalRecord::from),
            largest_residual: usl.largest_residual,
            points: u32::try_from(usl.points).unwrap_or(u32::MAX),
        }
    }
}
