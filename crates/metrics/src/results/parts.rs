//! The results of the parts of an operation: by size, by endpoint, by driver.

use serde::{Deserialize, Serialize};

use super::{Latencies, TimeResult};
use crate::{OpSnapshot, PartSums, SizeClass};

/// Results of a part of an operation over the measured window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(default)]
pub struct PartResult {
    /// Successes.
    #[serde(rename = "count")]
    pub ok: u64,
    /// Failures; by size only those of writes, because the size of a read that failed is not known.
    #[serde(rename = "failures")]
    pub failed: u64,
    /// Body bytes of successes.
    pub bytes: u64,
    /// From the moment each operation was due.
    #[cfg_attr(test, ts(type = "Latencies | null"))]
    pub response_ms: Latencies,
    /// From the moment each was sent.
    #[cfg_attr(test, ts(type = "Latencies | null"))]
    pub service_ms: Latencies,
    /// From sent to the first byte of the answer.
    #[cfg_attr(test, ts(type = "Latencies | null"))]
    pub first_byte_ms: Latencies,
    /// On the wire, of those that the system stamped.
    #[cfg_attr(test, ts(type = "Latencies | null"))]
    pub wire_ms: Latencies,
    /// What the client added to these.
    #[cfg_attr(test, ts(type = "Latencies | null"))]
    pub client_added_ms: Latencies,
    /// What the mean response time went into; null where nothing succeeded or it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, ts(skip))]
    pub time: Option<TimeResult>,
}

impl From<&PartSums> for PartResult {
    fn from(sums: &PartSums) -> Self {
        let PartSums { ok, failed, bytes, connections: _, response: _, service, first_byte, wire, time: _ } =
            sums;
        Self {
            ok: *ok,
            failed: *failed,
            bytes: *bytes,
            response_ms: Latencies::of(sums.response_or_service()),
            service_ms: Latencies::of(service),
            first_byte_ms: Latencies::of(first_byte),
            wire_ms: Latencies::of_drawn(&wire.times, wire.stamped),
            client_added_ms: Latencies::of_drawn(&wire.added, wire.stamped),
            time: TimeResult::of_part(sums),
        }
    }
}

/// Operations of similar sizes; classes are powers of four from 1 KiB.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeClassResult {
    /// Such as `4 KiB..16 KiB`; the upper end is not in it.
    pub label: String,
    /// Least size in it.
    pub least_bytes: u64,
    /// Greatest size in it.
    pub most_bytes: u64,
    /// Its results.
    #[serde(flatten)]
    pub sums: PartResult,
}

/// Operations that one endpoint served.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndpointResult {
    /// The endpoint, as the target names it; where one name stands for several addresses, with the address.
    pub endpoint: String,
    /// Connections that were opened to it.
    #[serde(default)]
    pub connections: u64,
    /// Its results.
    #[serde(flatten)]
    pub sums: PartResult,
}

/// Operations that one driver made.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriverResult {
    /// Name of the driver.
    pub driver: String,
    /// Its workers.
    pub workers: u32,
    /// Its results.
    #[serde(flatten)]
    pub sums: PartResult,
}

impl DriverResult {
    /// What `op` says of one driver.
    #[must_use]
    pub fn of(driver: &str, workers: u32, op: &OpSnapshot) -> Self {
        Self { driver: driver.to_owned(), workers, sums: (&op.whole()).into() }
    }
}

pub(super) fn size_classes(op: &OpSnapshot) -> Vec<SizeClassResult> {
    let result = |(class, sums): (SizeClass, PartSums)| SizeClassResult {
        label: class.label(),
        least_bytes: class.least_bytes(),
        most_bytes: class.most_bytes(),
        sums: (&sums).into(),
    };
    op.sizes.several().into_iter().map(result).collect()
}

/// Endpoints by number, until somebody who knows the target names them.
pub(super) fn endpoints(op: &OpSnapshot) -> Vec<EndpointResult> {
    let result = |(number, sums): (usize, &PartSums)| EndpointResult {
        endpoint: number.to_string(),
        connections: sums.connections,
        sums: sums.into(),
    };
    (1..).zip(&op.endpoints).map(result).collect()
}
