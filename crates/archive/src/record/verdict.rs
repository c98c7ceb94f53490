//! What `run.json` says about whether the numbers of a run can be believed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the numbers of a run can be believed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// All checks taken together.
    pub overall: Overall,
    /// One sentence: the gravest reason why it is no better, or, when nothing speaks against the numbers, how well they are
    /// known; null when nobody looked.
    #[serde(default)]
    pub reason: Option<String>,
    /// One by one.
    pub checks: Vec<Check>,
}

/// All checks taken together, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overall {
    /// The numbers say what they seem to say.
    True,
    /// They do, within limits that the checks name.
    TrueWithLimits,
    /// Nobody looked, or the data do not suffice.
    #[default]
    NotProven,
    /// They do not.
    False,
}

impl Overall {
    /// The words that people read.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::True => "TRUE",
            Self::TrueWithLimits => "TRUE WITH LIMITS",
            Self::NotProven => "NOT PROVEN",
            Self::False => "FALSE",
        }
    }
}

/// One check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Short id, e.g. `V1`.
    pub id: String,
    /// Name, e.g. `littles_law`.
    pub name: String,
    /// Id of the stage it is about; null = the whole run.
    pub stage: Option<String>,
    /// How it came out.
    pub status: CheckStatus,
    /// The best overall verdict that this check leaves possible.
    #[serde(default)]
    pub allows: Overall,
    /// What was found.
    pub value: Option<f64>,
    /// What it was compared with.
    pub limit: Option<f64>,
    /// One sentence.
    pub message: String,
    /// Which headline figure what was found can have moved, and by how much; null where nobody can say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moves: Option<Moved>,
    /// Id of the check whose finding makes up for all of this one; null where none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// What a finding does to a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moved {
    /// Name of the figure, e.g. `throughput_per_s`.
    pub figure: String,
    /// By this share of it at most, 0 to 1.
    pub share: f64,
}

/// How a check came out. A check that was not run is never a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// Fine.
    Pass,
    /// Not fine, within limits.
    Warn,
    /// Not fine.
    Fail,
    /// Could not be made.
    NotRun,
}
