//! The guardian of a fault: a process of its own that heals it when whoever made it is killed, or stands still beyond the
//! fault's time. `parent.rs` is the side of the process that makes the fault, `watch.rs` that of the guardian.
//!
//! The two speak in lines over two pipes. To the guardian: [`BEAT`] every second, [`MAKING`] with number and start of a command
//! that makes the fault, [`MADE`] when making it is over, [`OVER`] when it need not look after it any more. From it: [`READY`],
//! then [`HEALED`] or [`FAILED`] with a sentence, or [`OVER`] where somebody else has healed it; before those [`STOOD`] where
//! the run stands still in the midst of making it.

mod parent;
mod watch;

use std::time::Duration;

use cosmark_workload::model::faults::FaultSpec;

pub use parent::Guardian;
pub use watch::{detach, watch};

const BEAT: &str = "beat";
const MAKING: &str = "making";
const MADE: &str = "made";
const OVER: &str = "over";
const READY: &str = "ready";
const HEALED: &str = "healed";
const FAILED: &str = "failed";
const STOOD: &str = "stood";

/// How often the process that makes the fault says that it lives.
const BEAT_EVERY: Duration = Duration::from_secs(1);
/// Who has said nothing for so long stands still.
const SILENT: Duration = Duration::from_secs(5);
/// So long after its time a fault may last that nobody heals who should have.
const GRACE: Duration = Duration::from_secs(5);
/// Making, proving, asking and healing are commands, each of which may take its time: so many, and as much beside them.
const COMMANDS: u32 = 8;
const BESIDE: Duration = Duration::from_secs(60);

/// How long a fault may last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Until whoever made it is to heal it. One that stands still is not waited for.
    pub hold: Duration,
    /// Until the guardian heals it also where whoever made it lives.
    pub longest: Duration,
}

impl Terms {
    /// Those of a fault of a workload.
    #[must_use]
    pub fn of(spec: &FaultSpec) -> Self {
        let beside = spec.within.saturating_mul(COMMANDS).saturating_add(BESIDE);
        Self { hold: spec.hold, longest: spec.hold.saturating_add(beside) }
    }
}
