//! What `run.json` says about the parts of an operation: by size, by endpoint, by driver.

use cosmark_metrics::{LatencySummary, OpSnapshot, PartSums, SizeClass};
use cosmark_workload::model::{Load, Stage, Work};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::LatencyRecord;

/// How operations of a work or stage are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// A worker starts the next when the last is over: while the store stalls nothing is asked, so stalls are
    /// under-sampled.
    Closed,
    /// The same, but not faster than a rate per worker, or with a pause between.
    Paced,
    /// Arrivals by the clock, whatever the store does.
    Open,
    /// Only of a stage: its works differ.
    Mixed,
}

impl LoopKind {
    /// Of one work.
    #[must_use]
    pub fn of(work: &Work) -> Self {
        match work.load {
            Load::Closed => Self::Closed,
            Load::Paced { .. } => Self::Paced,
            Load::Open { .. } => Self::Open,
        }
    }

    /// Of a stage; `None` when it has no works.
    #[must_use]
    pub fn of_stage(stage: &Stage) -> Option<Self> {
        let mut kinds = stage.works.iter().map(Self::of);
        let first = kinds.next()?;
        Some(if kinds.all(|kind| kind == first) { first } else { Self::Mixed })
    }

    /// The word in files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Paced => "paced",
            Self::Open => "open",
            Self::Mixed => "mixed",
        }
    }
}

/// Results of a part of an operation over the measured window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PartRecord {
    /// Successes.
    pub count: u64,
    /// Failures; by size only those of writes, because the size of a read that failed is not known.
    pub failures: u64,
    /// Body bytes of successes.
    pub bytes: u64,
    /// From the moment each operation was due.
    pub response_ms: LatencyRecord,
    /// From the moment each was sent.
    pub service_ms: LatencyRecord,
    /// From sent to the first byte of the answer.
    pub first_byte_ms: LatencyRecord,
}

/// Operations of similar sizes; classes are powers of four from 1 KiB.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SizeClassRecord {
    /// Such as `4 KiB..16 KiB`; the upper end is not in it.
    pub label: String,
    /// Least size in it.
    pub least_bytes: u64,
    /// Greatest size in it.
    pub most_bytes: u64,
    /// Its results.
    #[serde(flatten)]
    pub sums: PartRecord,
}

/// Operations that one endpoint served.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct EndpointRecord {
    /// The endpoint, as the target names it; where one name stands for several addresses, with the address.
    pub endpoint: String,
    /// Connections that were opened to it.
    #[serde(default)]
    pub connections: u64,
    /// Its results.
    #[serde(flatten)]
    pub sums: PartRecord,
}

/// Operations that one driver made.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DriverRecord {
    /// Name of the driver.
    pub driver: String,
    /// Its workers.
    pub workers: u32,
    /// Its results.
    #[serde(flatten)]
    pub sums: PartRecord,
}

impl From<&PartSums> for PartRecord {
    fn from(sums: &PartSums) -> Self {
        let PartSums { ok, failed, bytes, connections: _, response: _, service, first_byte } = sums;
        let record = |latency| LatencyRecord::from(&LatencySummary::of(latency));
        Self {
            count: *ok,
            failures: *failed,
            bytes: *bytes,
            response_ms: record(sums.response_or_service()),
            service_ms: record(service),
            first_byte_ms: record(first_byte),
        }
    }
}

impl DriverRecord {
    /// What `op` says of one driver.
    #[must_use]
    pub fn of(driver: &str, workers: u32, op: &OpSnapshot) -> Self {
        Self { driver: driver.to_owned(), workers, sums: (&PartSums::whole(op)).into() }
    }
}

pub(crate) fn size_classes(op: &OpSnapshot) -> Vec<SizeClassRecord> {
    let record = |(class, sums): (SizeClass, PartSums)| SizeClassRecord {
        label: class.label(),
        least_bytes: class.least_bytes(),
        most_bytes: class.most_bytes(),
        sums: (&sums).into(),
    };
    op.sizes.several().into_iter().map(record).collect()
}

/// Endpoints by number, until somebody who knows the target names them.
pub(crate) fn endpoints(op: &OpSnapshot) -> Vec<EndpointRecord> {
    let record = |(number, sums): (usize, &PartSums)| EndpointRecord {
        endpoint: number.to_string(),
        connections: sums.connections,
        sums: sums.into(),
    };
    (1..).zip(&op.endpoints).map(record).collect()
}

/// Which drivers a run asked for and got.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DriversRecord {
    /// What was asked for: `all`, `3`, `zone=a`, `3,zone=a`.
    pub wanted: String,
    /// How long it waited for them when it was its turn, milliseconds.
    pub waited_ms: u64,
    /// Names of those that it began with.
    pub got: Vec<String>,
}
