//! What `run.json` says of a run whose load fio made.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What fio measured, and on what.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FioRecord {
    /// As it says of itself, e.g. `fio-3.33`; empty while it has not answered.
    pub version: String,
    /// Name of its JSON in the directory `source`; null while it has not answered.
    pub file: Option<String>,
    /// Bytes of memory of the machine that it ran on; null where nobody said.
    pub memory_bytes: Option<u64>,
    /// Its jobs, in the order of the run's stages and works.
    pub jobs: Vec<FioJobRecord>,
}

/// One job of fio.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FioJobRecord {
    /// Name of its stage: jobs of one group run at the same time.
    pub stage: String,
    /// Name of its work.
    pub work: String,
    /// fio's `ioengine`, e.g. `libaio`, `rbd`; empty where it does not say.
    pub engine: String,
    /// Device, file or directory, or `POOL/IMAGE` of RBD; empty where it does not say.
    pub target: String,
    /// fio's `rw`, e.g. `randread`.
    pub pattern: String,
    /// fio's `bs` as given; null where it does not say.
    pub block: Option<String>,
    /// Requests under way at once, of all its copies.
    pub depth: u32,
    /// Past the page cache of its machine (`direct`); null where it does not say, which is no.
    pub direct: Option<bool>,
    /// Bytes of the device, file or image that it used, of all its copies; null where it does not say.
    pub size_bytes: Option<u64>,
    /// Its files are no other job's (no `filename`).
    pub has_own_files: bool,
    /// Each write was over when it was on the device (`sync`).
    pub synced: bool,
    /// Writes after which it waited until they were on the device (`fsync`, `fdatasync`), which is in no time of a
    /// write; null where it did not.
    pub synced_every: Option<u64>,
    /// Seconds that it was to measure; null where its size ended it.
    pub runtime_s: Option<f64>,
    /// Seconds before that, which are in no figure.
    pub rampup_s: f64,
    /// Seconds that it measured; null while it has not answered.
    pub measured_s: Option<f64>,
    /// It compared what it read with what was written.
    pub verified: bool,
    /// It wrote zeros.
    pub zeros: bool,
    /// Share of one processor that each of its copies was busy with; null where it does not say.
    pub cpu_share: Option<f64>,
    /// Where its times come from.
    pub times: FioTimes,
    /// Its rates over time are known, from a log of them.
    pub has_course: bool,
}

/// Where times of fio come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FioTimes {
    /// From the bins of its histogram (`--output-format=json+`).
    Bins,
    /// From the percentiles that it printed: there is no histogram.
    Percentiles,
    /// It measured none (`gtod_reduce`, `disable_clat`).
    #[default]
    None,
}

impl FioJobRecord {
    /// Its requests pass by the page cache of the machine on which it ran.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        if self.direct == Some(true) {
            return true;
        }
        // Its engine gives commands to the device itself. Source: fio's HOWTO, `ioengine`; SPDK, fio plugin
        // (`external:PATH/spdk_nvme`).
        let name = self.engine.rsplit('/').next().unwrap_or_default();
        matches!(name, "io_uring_cmd" | "sg" | "libzbc") || name.starts_with("spdk")
    }

    /// It reached its data through a network or another process: the page cache of its machine is not on the way.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        matches!(
            self.engine.as_str(),
            "rbd" | "rados" | "http" | "nbd" | "libiscsi" | "nfs" | "gfapi" | "libhdfs"
        )
    }
}
