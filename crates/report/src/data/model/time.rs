//! What the page gets to see of what response times went into.

use serde::Serialize;

/// What the response times of a stage went into.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TimeSpent {
    /// The parts in which some operation spent time, in the order in which it goes through them.
    pub parts: Vec<TimePartData>,
    /// Operations, each as a whole and by size where there are several classes.
    pub rows: Vec<TimeRow>,
    /// What the store's own servers say of the same operations.
    pub servers: Vec<ServerTimeData>,
    /// What a reader has to know, one sentence each.
    pub remarks: Vec<String>,
}

/// A part of the time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TimePartData {
    /// `wait`, `connect`, `tls`, `send`, `first_byte`, `body`, `several` or `rest`.
    pub id: String,
    /// For people.
    pub title: String,
    /// What it is.
    pub help: String,
    /// Number of its colour.
    pub colour: u32,
}

/// A bar.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TimeRow {
    /// Its operation.
    pub operation: String,
    /// Its class of sizes; null = all of the operation.
    pub size: Option<String>,
    /// Successes.
    pub count: u64,
    /// Mean response time in ms: the length of the bar.
    pub mean_ms: f64,
    /// Each part in ms, in the order of `parts`; null where it is not known.
    pub ms: Vec<Option<f64>>,
    /// What the client itself added, in ms; null where it is not known.
    pub client_added_ms: Option<f64>,
}

/// What a server of the store says how long an operation took it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ServerTimeData {
    /// What the operations' samples are called: `read`.
    pub sample: String,
    /// Which server.
    pub server: String,
    /// What its time is of.
    pub of: String,
    /// The way by which it was read.
    pub source: String,
    /// Mean in ms.
    pub mean_ms: f64,
    /// Its requests per second, all machines together.
    pub requests_per_s: f64,
    /// Operations per second that the clients measured of this kind.
    pub measured_per_s: f64,
}
