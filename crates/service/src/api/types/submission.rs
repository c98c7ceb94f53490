//! A submission: a workload, and how it is to be run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A workload to be run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Submission {
    /// The workload: COSBench's XML or native YAML.
    pub source: String,
    /// Name of its file; its ending may tell the format.
    #[serde(default)]
    pub file_name: Option<String>,
    /// A target file (YAML) that says where the store is; replaces what the workload says.
    #[serde(default)]
    pub target: Option<String>,
    /// Settings `KEY=VALUE`, as `--set`.
    #[serde(default)]
    pub settings: Vec<String>,
    /// Runs with a higher one come first; among equals the order of submission decides.
    #[serde(default)]
    pub priority: i32,
    /// Tags for the history.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Keep a log of every operation.
    #[serde(default)]
    pub operation_log: bool,
    /// Seed; drawn if none.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "number | null"))]
    pub seed: Option<u64>,
    /// How many drivers, or which: `3`, `zone=a`, `3,zone=a`; comes before what the workload says.
    #[serde(default)]
    pub drivers: Option<String>,
    /// How long drivers that are not there are waited for, such as `2m`.
    #[serde(default)]
    pub wait_for_drivers: Option<String>,
}
