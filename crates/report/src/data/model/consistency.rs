//! What the page gets to see of how soon writes were seen.

use serde::Serialize;

/// What a prober beside the load of a stage saw.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ConsistencyData {
    /// Requests of the prober.
    #[cfg_attr(test, ts(type = "number"))]
    pub requests: u64,
    /// Operations of the load in the same time.
    #[cfg_attr(test, ts(type = "number"))]
    pub load_operations: u64,
    /// Writes and deletes that were acknowledged.
    #[cfg_attr(test, ts(type = "number"))]
    pub changes: u64,
    /// Looks by class.
    pub classes: Vec<ConsistencyClassData>,
    /// What a reader should know.
    pub remarks: Vec<String>,
}

/// Looks of one class, from everywhere or from one place.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ConsistencyClassData {
    /// For people.
    pub title: String,
    /// Who looked, where it is a part of the class before it.
    pub from: Option<String>,
    /// Looks.
    #[cfg_attr(test, ts(type = "number"))]
    pub looks: u64,
    /// Those that missed the change.
    #[cfg_attr(test, ts(type = "number"))]
    pub stale: u64,
    /// Changes that were looked at; null of a part.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub changes: Option<u64>,
    /// Those that at least one look missed.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub missed_changes: Option<u64>,
    /// Upper end of the 95 % interval of their share.
    pub missed_at_most: Option<f64>,
    /// When the latest look that missed a change began, ms after the acknowledgement.
    pub longest_stale_ms: Option<f64>,
    /// From when on 90, 99 and 99.9 % of changes are missed by no look, ms, with 95 % confidence.
    pub visible_after_ms: Vec<Option<f64>>,
    /// By time since the acknowledgement.
    pub points: Vec<ConsistencyPointData>,
}

/// Looks between two times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ConsistencyPointData {
    /// Mean of the times since the acknowledgement, ms.
    pub mean_ms: f64,
    /// Looks.
    #[cfg_attr(test, ts(type = "number"))]
    pub looks: u64,
    /// Share that missed the change.
    pub share: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}
