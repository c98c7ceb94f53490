//! What a published study got wrong, and the same cells looked at its way and the right way.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Quantity, Take, Where, throughput};

/// What the original got wrong.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flaw {
    /// What.
    pub what: String,
    /// How much it matters in the published numbers, as far as that is known.
    #[serde(default)]
    pub matters: Option<String>,
    /// What this study does instead.
    #[serde(default)]
    pub here: Option<String>,
    /// How much it matters here: numbers from cells of this study.
    #[serde(default)]
    pub weighs: Vec<Weigh>,
}

/// Cells of this study looked at the original's way and the right way.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Weigh {
    /// What is weighed, such as `best load of C`.
    pub says: String,
    /// The original's way.
    pub original: Way,
    /// The right way.
    pub right: Way,
}

/// A way to make a number of cells.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Way {
    /// What.
    #[serde(default = "throughput")]
    pub metric: String,
    /// Which cells.
    #[serde(default, rename = "where")]
    pub cells: Where,
    /// What is taken of them.
    #[serde(default)]
    pub take: Take,
    /// Factor that `take` goes over.
    #[serde(default)]
    pub over: Option<String>,
    /// The limit for `best` and `arg_best`.
    #[serde(default)]
    pub sla: Option<String>,
    /// The geometric mean over the levels of the efficiency of this name, in place of cells.
    #[serde(default)]
    pub formula: Option<String>,
    /// What is taken of the repetitions.
    #[serde(default)]
    pub across: Across,
    /// Times are read as the upper edge of buckets that are this many ms wide.
    #[serde(default)]
    pub bucket_ms: Option<f64>,
}

/// What is taken of the repetitions of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Across {
    /// Each by itself: both ways are compared run by run.
    #[default]
    Each,
    /// Their mean.
    Mean,
    /// The greatest: best of N.
    Best,
    /// The least.
    Worst,
}

impl From<&Way> for Quantity {
    fn from(way: &Way) -> Self {
        Self {
            metric: way.metric.clone(),
            cells: way.cells.clone(),
            take: way.take,
            over: way.over.clone(),
            sla: way.sla.clone(),
        }
    }
}
