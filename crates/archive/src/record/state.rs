//! How far a run and its stages came, as `run.json` says it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far a run came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Under way, or its process was killed: compare `process` with what runs.
    Running,
    /// Every stage stayed within its acceptable failure ratio.
    Finished,
    /// A stage missed its acceptable failure ratio.
    Failed,
    /// An error stopped it.
    Terminated,
    /// A user stopped it.
    Cancelled,
    /// Never written by a run: a reader says this of a run whose file says `running` while its process is gone.
    Killed,
}

impl RunState {
    /// The word in files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Terminated => "terminated",
            Self::Cancelled => "cancelled",
            Self::Killed => "killed",
        }
    }
}

/// How far a stage came; COSBench's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StageState {
    /// Not begun.
    Waiting,
    /// Drivers are being reached.
    Booting,
    /// Missions are on their way to the drivers.
    Submitting,
    /// Workers log in.
    Authing,
    /// Drivers are told to start.
    Launching,
    /// Load is on.
    Running,
    /// Results are being collected.
    Closing,
    /// Pause after the stage, or a stage that only waits.
    Sleeping,
    /// Done, within its acceptable failure ratio.
    Completed,
    /// Done, with more failures than accepted.
    Failed,
    /// An error stopped it.
    Terminated,
    /// A user stopped it.
    Cancelled,
    /// Never begun, because an earlier stage stopped the run.
    Aborted,
}

impl StageState {
    /// The word in files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Booting => "booting",
            Self::Submitting => "submitting",
            Self::Authing => "authing",
            Self::Launching => "launching",
            Self::Running => "running",
            Self::Closing => "closing",
            Self::Sleeping => "sleeping",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Terminated => "terminated",
            Self::Cancelled => "cancelled",
            Self::Aborted => "aborted",
        }
    }

    /// True when nothing more happens in the stage.
    #[must_use]
    pub fn is_over(self) -> bool {
        self.is_done() || self == Self::Aborted
    }

    /// True when the stage was begun and nothing more happens in it.
    #[must_use]
    pub fn is_done(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Terminated | Self::Cancelled)
    }
}
