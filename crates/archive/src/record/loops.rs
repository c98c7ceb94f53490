//! How operations are started, as `run.json` says it, and which drivers a run got.

use cosmark_metrics::LoopKind;
use cosmark_workload::model::{Load, Stage, Work};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) fn loop_of(work: &Work) -> LoopKind {
    match work.load {
        Load::Closed => LoopKind::Closed,
        Load::Paced { .. } => LoopKind::Paced,
        Load::Open { .. } => LoopKind::Open,
    }
}

/// `None` when the stage has no works.
pub(crate) fn loop_of_stage(stage: &Stage) -> Option<LoopKind> {
    let mut kinds = stage.works.iter().map(loop_of);
    let first = kinds.next()?;
    Some(if kinds.all(|kind| kind == first) { first } else { LoopKind::Mixed })
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
