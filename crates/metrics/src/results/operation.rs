//! The results of one operation of one work over its measured window. The names in files are those
//! of `run.json`; inside the code a quantity has the name that it has in [`OpSnapshot`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Bound, DriverResult, EndpointResult, Latencies, SizeClassResult, TimeResult};

/// How operations of a work or stage are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// A worker starts the next when the last is over: while the store stalls nothing is asked, so stalls are
    /// under-sampled.
    Closed,
    /// The same, but not faster than a rate per worker, or with a pause between.
    Paced,
    /// Arrivals by the clock, whatever the store does.
    Open,
    /// Only of a stage: its works differ.
    Mixed,
}

impl LoopKind {
    /// The word in files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Paced => "paced",
            Self::Open => "open",
            Self::Mixed => "mixed",
        }
    }
}

/// Results of one operation of one work over its measured window, whole and by its parts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct OperationResult {
    /// Name of the work.
    pub work: String,
    /// Name of the operation, e.g. `1-read`.
    pub name: String,
    /// What it does, e.g. `read`, `prepare`.
    pub op: String,
    /// What its samples are, e.g. `read`, `write` for `prepare`.
    pub sample: String,
    /// `op1`, `op2`, .. over the whole stage.
    #[serde(default)]
    pub id: String,
    /// Its tag in `histograms.hlog`, without the kind of time.
    #[serde(default)]
    pub tag: String,
    /// Workers of the work, over all drivers.
    pub workers: u32,
    /// How its operations are started.
    #[serde(default)]
    pub arrival: Option<LoopKind>,
    /// Length of the measured window in seconds.
    pub window_s: f64,
    /// Arrivals that were due in the window, whatever became of them; null without an open loop.
    #[serde(default)]
    pub intended: Option<u64>,
    /// Successes.
    #[serde(rename = "count")]
    pub ok: u64,
    /// Failures.
    #[serde(rename = "failures")]
    pub failed: u64,
    /// Arrivals of an open loop that were dropped for want of a free worker.
    pub missed: u64,
    /// Arrivals that had to wait for a free worker.
    #[serde(default)]
    pub delayed: u64,
    /// Operations that were due by the end of the window and had not finished then.
    #[serde(default)]
    pub unfinished: u64,
    /// Bodies that were compared with what they should be; listings that ended with all that must be in them.
    #[serde(default)]
    pub checked: u64,
    /// Body bytes of successes.
    pub bytes: u64,
    /// Body bytes of failures: what had arrived of a read; what the driver's system had taken of a write, of which the store
    /// may have received less.
    #[serde(default)]
    pub partial_bytes: u64,
    /// Successes per second of the window; null without a window.
    pub throughput_per_s: Option<f64>,
    /// Body bytes of successes per second of the window; null without a window.
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Successes of all that ended, 0 to 1; null when nothing ended.
    pub success_ratio: Option<f64>,
    /// Mean number of operations in flight over the window; null without a window.
    pub in_flight_mean: Option<f64>,
    /// Seconds that the operations in flight at the start of the window had been in flight by then, all together; null where
    /// it was not recorded. With `age_at_end_s` it makes Little's law exact: `in_flight_mean x window_s` is the sum of all
    /// service times, less this, and `age_at_end_s` more.
    #[serde(default)]
    pub age_at_start_s: Option<f64>,
    /// Seconds that the operations in flight at the end of the window had been in flight by then, all together; null where it
    /// was not recorded.
    #[serde(default)]
    pub age_at_end_s: Option<f64>,
    /// Mean number, over the window, of the work's workers that had done their share of its total and waited for the others;
    /// with the first operation of each work, 0 with its others. Null without a window, and where it was not recorded.
    #[serde(default)]
    pub workers_done_mean: Option<f64>,
    /// From the moment each operation was due.
    #[cfg_attr(test, ts(type = "Latencies | null"))]
    pub response_ms: Latencies,
    /// From the moment each was sent.
    #[cfg_attr(test, ts(type = "Latencies | null"))]
    pub service_ms: Latencies,
    /// From sent to the first byte of the answer.
    #[cfg_attr(test, ts(type = "Latencies | null"))]
    pub first_byte_ms: Latencies,
    /// Time on the wire: from the moment a request left the client's host to the moment the last byte of its answer reached
    /// it, by the system's stamps; of an operation of several requests, the time in which at least one was under way. `count`
    /// is how many operations were stamped.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "Latencies | null"))]
    pub wire_ms: Latencies,
    /// What the client added to each of the operations that were stamped: its service time, without the opening of
    /// connections, less its time on the wire.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "Latencies | null"))]
    pub client_added_ms: Latencies,
    /// Why there are no times on the wire; null where there are, and where nothing succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(optional))]
    pub wire_unmeasured: Option<String>,
    /// Successes that should have been stamped and were not, by the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, ts(skip))]
    pub wire_unstamped: BTreeMap<String, u64>,
    /// To open a connection.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "Latencies | null"))]
    pub connect_ms: Latencies,
    /// Service times of failures.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "Latencies | null"))]
    pub failed_service_ms: Latencies,
    /// By how much arrivals were sent late though a worker was free: the lateness of the client itself.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "Latencies | null"))]
    pub lag_ms: Latencies,
    /// Ages, at the end of the window, of what was due in it and had not finished.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "Latencies | null"))]
    pub unfinished_age_ms: Latencies,
    /// What the mean response time went into; null where nothing succeeded or it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(skip))]
    pub time: Option<TimeResult>,
    /// By size; empty unless sizes of several classes occurred.
    #[serde(default)]
    #[cfg_attr(test, ts(skip))]
    pub size_classes: Vec<SizeClassResult>,
    /// By endpoint; empty unless the target has several.
    #[serde(default)]
    #[cfg_attr(test, ts(skip))]
    pub endpoints: Vec<EndpointResult>,
    /// By driver; empty unless there are several.
    #[serde(default)]
    #[cfg_attr(test, ts(skip))]
    pub drivers: Vec<DriverResult>,
    /// Failures by class, e.g. `http_503`, `timeout`.
    #[serde(default)]
    pub errors: BTreeMap<String, u64>,
    /// Failures by the protocol's own code, e.g. `SlowDown`.
    #[serde(default, rename = "error_codes")]
    pub codes: BTreeMap<String, u64>,
    /// The first error texts, secrets removed.
    #[serde(default)]
    pub error_examples: Vec<String>,
    /// Requests on the wire.
    #[serde(default)]
    pub requests: u64,
    /// Retries among them.
    #[serde(default)]
    pub retries: u64,
    /// Connections opened.
    #[serde(default)]
    pub connections: u64,
    /// Logins made again because the store said 401.
    #[serde(default)]
    pub renewals: u64,
    /// Successes that the store only accepted (Swift's 202).
    #[serde(default)]
    pub accepted_only: u64,
    /// Figures that have no field of their own, by name; what the data cannot support is not in it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, ts(type = "{ [id in string]: number } | undefined"))]
    pub metrics: BTreeMap<String, f64>,
    /// Between which values its figures lie, by name (`throughput_per_s`, `response_ms.p99`, `service_ms.p99`, ..). Empty
    /// before a run has ended.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(test, ts(type = "{ [id in string]: Bound } | undefined"))]
    pub bounds: BTreeMap<String, Bound>,
}
