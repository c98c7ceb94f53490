//! A run as lists and pages show it: how it stands, what it came to, how long it will take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LostDriver;

/// A run, wherever it is: in the queue, running, or in the archive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RunSummary {
    /// Such as `w12`.
    pub id: String,
    /// Name of the workload.
    pub name: String,
    /// `queuing`, `processing`, `finished`, `failed`, `terminated` or `cancelled`, as in COSBench, or `killed`.
    pub state: String,
    /// Why it ended so, one sentence.
    pub reason: Option<String>,
    /// RFC 3339.
    pub submitted: Option<String>,
    /// RFC 3339.
    pub started: Option<String>,
    /// RFC 3339.
    pub ended: Option<String>,
    /// Priority in the queue.
    pub priority: i32,
    /// Place in the queue from 0; none when it does not wait.
    pub position: Option<u32>,
    /// Id of the stage that is running.
    pub stage: Option<String>,
    /// Stages that are over, and all.
    pub stages_done: u32,
    /// All stages.
    pub stages: u32,
    /// Part of the running stage that is over, 0 to 1.
    pub progress: Option<f64>,
    /// Seconds until the running stage ends, where that is known.
    pub remaining_s: Option<f64>,
    /// Seconds until the run ends, as far as its stages say how long they last; none when it waits or is over.
    #[serde(default)]
    pub left_s: Option<f64>,
    /// Stages that run or are to come of which nobody knows how long they last: they come on top of `left_s`.
    #[serde(default)]
    pub left_open: u32,
    /// The store: type and address of the first storage of its workload.
    #[serde(default)]
    pub target: Option<String>,
    /// Operations per second of its stage with the highest rate.
    #[serde(default)]
    pub throughput_per_s: Option<f64>,
    /// The 99th percentile of the response time of that stage's slowest operation, ms.
    #[serde(default)]
    pub p99_ms: Option<f64>,
    /// True: `p99_ms` is the least that it can be, since COSBench's tables say no more of a time above 500 s.
    #[serde(default)]
    pub p99_is_least: bool,
    /// `true`, `true_with_limits`, `not_proven` or `false`.
    pub verdict: Option<String>,
    /// First reason of the verdict.
    pub verdict_reason: Option<String>,
    /// Kinds of operations, such as `read` and `write`.
    pub operations: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// Whether it is the baseline of its workload.
    pub baseline: bool,
    /// Who submitted it: the name of the token.
    pub submitted_by: Option<String>,
    /// Drivers that work or worked on it.
    pub drivers: Vec<String>,
    /// Drivers that the running stage has lost: it goes on without them.
    #[serde(default)]
    pub lost: Vec<LostDriver>,
    /// What a run that waits waits for beside its turn, in words: `waiting for 250 drivers, 200 are there`.
    #[serde(default)]
    pub waits_for: Option<String>,
    /// What the exit code of `cosmark submit --wait` is made of: `finished`, `missed`, `failed`, `target`, `workload`, `ours` or
    /// `cancelled`; known of runs that ended lately.
    #[serde(default)]
    pub class: Option<String>,
}
