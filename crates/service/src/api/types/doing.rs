//! What a driver is really doing, as REST reports it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a driver does for one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DriverDoing {
    /// The run.
    pub run: String,
    /// This controller has ordered it.
    pub ordered: bool,
    /// Requests that it sends to stores.
    pub requests_per_s: f64,
    /// Whether it may: `makes`, `asks`, `rests` or `over`.
    pub lease: String,
    /// Seconds since it heard a renewal of the run's lease; null = never.
    pub lease_age_s: Option<f64>,
    /// The stores: host and port.
    pub stores: Vec<String>,
}
