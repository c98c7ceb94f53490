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
}
