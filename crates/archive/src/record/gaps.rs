//! What of a stage's load was missing, held or not its own, in `run.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A driver's part of a stage that is missing in the results, because the driver was lost or restarted.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MissingRecord {
    /// Name of the driver.
    pub driver: String,
    /// Names of the works that it had a part of.
    pub works: Vec<String>,
    /// Its workers, over these works.
    pub workers: u32,
    /// From when on, seconds since the load began.
    pub from_s: f64,
    /// Until when, seconds since the load began; null where counts and not time end the stage.
    pub to_s: Option<f64>,
}

/// Load of another run, as its driver told it, while this stage ran.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BesideRecord {
    /// The driver that made it.
    pub driver: String,
    /// The other run.
    pub run: String,
    /// The highest rate that was seen.
    pub requests_per_s: f64,
    /// The driver took part in this stage, too.
    pub same_driver: bool,
    /// Stores that this stage loads, too: host and port.
    pub stores: Vec<String>,
}

/// A time in which a driver made no load although it was to.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PauseRecord {
    /// Its name.
    pub driver: String,
    /// From when, seconds since the stage's load began.
    pub from_s: f64,
    /// Until when.
    pub to_s: f64,
    /// Why, in words.
    pub reason: String,
}
