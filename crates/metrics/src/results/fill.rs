//! What a pass over a data set came to: how far it is, and the rate over the objects that were stored by then, which is what
//! Zmanda's study of 2012 drew of Swift.

use serde::{Deserialize, Serialize};

/// A pass over a data set.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FillResult {
    /// Name of the data set.
    pub dataset: String,
    /// Objects of the pass.
    pub objects: u64,
    /// Of them, those that were done before this run: it went on from there.
    pub before: u64,
    /// Of them, those that are done now.
    pub done: u64,
    /// Objects of the whole data set.
    pub dataset_objects: u64,
    /// The rate over the objects that were done, in order.
    pub curve: Vec<FillPoint>,
    /// How full the store became, of a pass that ends when it is full enough; null for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full: Option<FullResult>,
}

/// How full a store became. All shares are of its whole capacity, with all copies, by what its machines say; 0 to 1.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FullResult {
    /// What was asked for.
    pub goal: f64,
    /// Whether it was reached.
    pub reached: bool,
    /// Before the load.
    pub before: Option<f64>,
    /// The last figure while there was load: where the goal was reached, the one that ended it.
    pub at_end: Option<f64>,
    /// How old that figure was then, seconds: what was written meanwhile is not in it.
    pub age_s: Option<f64>,
    /// After the load, when the figures had had time to follow.
    pub after: Option<f64>,
    /// The fullest device then, where they are known one by one.
    pub fullest: Option<f64>,
    /// Its name.
    pub fullest_device: Option<String>,
    /// Objects from the first on of which none is missing: what later runs may read; null where that is not known.
    pub objects: Option<u64>,
}

/// A stretch of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FillPoint {
    /// Objects that were done at its end, those of earlier runs included.
    pub objects: u64,
    /// Its end, seconds since the load began.
    pub at_s: f64,
    /// Successes per second in it.
    pub rate_per_s: f64,
    /// Their body bytes per second.
    pub bytes_per_s: f64,
    /// Share of the store's capacity that was used by the last figure of it, 0 to 1; null where nothing was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full: Option<f64>,
}
