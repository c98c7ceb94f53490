//! What the page gets to see of a pass over a data set.

use serde::Serialize;

/// A pass over a data set.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FillData {
    /// Name of the data set.
    pub dataset: String,
    /// Objects of the pass.
    pub objects: u64,
    /// Of them, those that were done before this run.
    pub before: u64,
    /// Of them, those that are done now.
    pub done: u64,
    /// The rate over the objects that were done, in order.
    pub curve: Vec<FillPointData>,
    /// The rate by how full the store was, 0 to 1, by that; empty where nobody said it.
    pub over_full: Vec<(f64, f64)>,
}

/// A stretch of a pass.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FillPointData {
    /// Objects that were done in its middle.
    pub objects: f64,
    /// Seconds since the load began, at its end.
    pub at_s: f64,
    /// Successes per second in it.
    pub per_s: f64,
    /// Their body bytes per second.
    pub bytes_per_s: f64,
}
