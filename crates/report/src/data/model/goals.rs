//! Thresholds and searches, as the page shows them.

use serde::Serialize;

/// A threshold of one stage and operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ThresholdData {
    /// Id of its stage.
    pub stage: String,
    /// The operation; null = all together.
    pub operation: Option<String>,
    /// As written.
    pub threshold: String,
    /// `met`, `missed`, `not decided` or `not proven`.
    pub status: String,
    /// One sentence.
    pub message: String,
}

/// A search for the highest load.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SearchData {
    /// Name of its stage in the workload.
    pub name: String,
    /// `rate` or `workers`.
    pub over: String,
    /// What every trial had to meet.
    pub thresholds: Vec<String>,
    /// The answer in one sentence.
    pub answer: String,
    /// The highest load that met them; null = none did.
    pub best: Option<f64>,
    /// The lowest load above it that missed; null = none did.
    pub missed_at: Option<f64>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// Trials in their order.
    pub trials: Vec<TrialData>,
    /// The scalability law fitted to them; null where there is none.
    pub law: Option<LawData>,
}

/// A trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TrialData {
    /// Id of its stage.
    pub stage: String,
    /// Operations per second asked for, or workers.
    pub load: f64,
    /// What it was for: `step`, `halve`, `confirm`, ..
    pub purpose: String,
    /// Successes per second.
    pub throughput_per_s: Option<f64>,
    /// Mean response time.
    pub mean_ms: Option<f64>,
    /// 95th percentile of the response time.
    pub p95_ms: Option<f64>,
    /// Failures of all that ended, 0 to 1.
    pub error_ratio: Option<f64>,
    /// `met`, `missed`, `not decided` or `not proven`.
    pub status: String,
    /// Why it did not pass.
    pub reason: Option<String>,
}

/// The universal scalability law: throughput by workers N is `one N / (1 + contention (N - 1) + coherence N (N - 1))`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LawData {
    /// Operations per second of one worker, and what the others are.
    pub parts: Vec<LawPart>,
    /// Workers and the throughput that the law gives them.
    pub curve: Vec<(f64, f64)>,
    /// The largest distance of a trial from it, relative.
    pub largest_residual: f64,
    /// Trials that it was fitted to.
    pub points: u32,
}

/// A parameter with its interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LawPart {
    /// What it is.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}
