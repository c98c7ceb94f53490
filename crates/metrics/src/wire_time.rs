//! Time as the wire saw it: from the moment a request left the client's host to the moment the last byte of its answer
//! reached it, by the stamps of the system's network code. What the client itself added is the rest.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::is_nothing;
use crate::{Latency, Sample, WireTimes};

/// Reasons that are counted one by one; there are a few.
const MOST_REASONS: usize = 64;

/// The sum of the successes that were stamped. Each stands for as many operations as it was drawn from, and is counted so
/// often in the distributions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WireSums {
    /// Times on the wire.
    #[serde(skip_serializing_if = "is_nothing")]
    pub times: Latency,
    /// What the client added to each of them: its service time without what opening connections took, less its time on the
    /// wire.
    #[serde(skip_serializing_if = "is_nothing")]
    pub added: Latency,
    /// How many were stamped.
    #[serde(skip_serializing_if = "is_nothing")]
    pub stamped: u64,
    /// Successes that should have been stamped and were not, by the reason.
    #[serde(skip_serializing_if = "is_nothing")]
    pub unstamped: BTreeMap<String, u64>,
}

impl WireSums {
    /// Adds a success that was stamped.
    pub fn add(&mut self, sample: &Sample) {
        let WireTimes { spent_ns, weight, .. } = sample.wire;
        // Connections of parts side by side are opened at the same time.
        let added_ns = sample.service_ns().saturating_sub(sample.connect_ns).saturating_sub(spent_ns);
        self.times.record_many(spent_ns, weight);
        self.added.record_many(added_ns, weight);
        self.stamped += 1;
    }

    /// Counts a success that was not.
    #[cold]
    pub fn miss(&mut self, reason: &str) {
        if let Some(count) = self.unstamped.get_mut(reason) {
            *count += 1;
        } else {
            self.unstamped.insert(reason.to_owned(), 1);
        }
    }

    /// Adds others of the same operation. Order does not matter.
    pub fn merge(&mut self, other: &Self) {
        let Self { times, added, stamped, unstamped } = other;
        self.times.merge(times);
        self.added.merge(added);
        self.stamped += stamped;
        for (reason, count) in unstamped {
            let is_known = self.unstamped.len() < MOST_REASONS || self.unstamped.contains_key(reason);
            let reason: &str = if is_known { reason } else { "other reasons" };
            *self.unstamped.entry(reason.to_owned()).or_default() += count;
        }
    }

    /// Why nothing was measured of `ok` successes; `None` where something was, or nothing could be.
    #[must_use]
    pub fn unmeasured(&self, ok: u64) -> Option<String> {
        if self.stamped > 0 || ok == 0 {
            return None;
        }
        let usual = self.unstamped.iter().max_by_key(|(_, count)| **count).map(|(reason, _)| reason.as_str());
        Some(usual.unwrap_or("this adaptor has no sockets of its own that the system could stamp").to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::OperationResult;
    use crate::{OpSnapshot, Outcome};

    /// `ms` on the wire, and what the client added before and after.
    fn sample(ms: u64, added_ms: u64, weight: u32) -> Sample {
        let wire = WireTimes {
            sent_ns: 1 + added_ms * 500_000,
            first_byte_ns: 2 + added_ms * 500_000,
            end_ns: 1 + added_ms * 500_000 + ms * 1_000_000,
            spent_ns: ms * 1_000_000,
            weight,
        };
        Sample { sent_ns: 1, end_ns: 1 + (ms + added_ms) * 1_000_000, wire, ..Sample::default() }
    }

    fn close(value: Option<f64>, wanted: f64) -> bool {
        value.is_some_and(|value| (value - wanted).abs() <= wanted * 2e-3)
    }

    #[test]
    fn what_the_client_added_is_what_the_wire_did_not_see() {
        let mut op = OpSnapshot::default();
        (0..2000).for_each(|_| op.add(&sample(10, 20, 1), false));
        let opened = Sample { connect_ns: 5_000_000, ..sample(10, 25, 1) };
        (0..2000).for_each(|_| op.add(&opened, false));
        op.add(&Sample { outcome: Outcome::failed("timeout"), ..sample(9000, 0, 1) }, false);
        let result = OperationResult::of(&op, 1.0);
        assert!(close(result.wire_ms.p99, 10.0) && close(result.wire_ms.max, 10.0), "{:?}", result.wire_ms);
        let added = &result.client_added_ms;
        assert!(close(added.p50, 20.0) && close(added.p99, 20.0) && close(added.mean, 20.0), "{added:?}");
        assert_eq!((result.wire_ms.count, added.count, result.wire_unmeasured), (4000, 4000, None));
    }

    #[test]
    fn an_operation_that_stands_for_several_weighs_as_many() {
        let mut op = OpSnapshot::default();
        // A quiet time in which each of 500 was stamped, and a busy one in which one of 16 was.
        (0..500).for_each(|_| op.add(&sample(50, 1, 1), false));
        (0..500).for_each(|_| op.add(&sample(2, 1, 16), false));
        let wire = OperationResult::of(&op, 1.0).wire_ms;
        assert!(close(wire.p90, 2.0) && close(wire.p95, 50.0), "{wire:?}");
        assert!(close(wire.mean, (500.0 * 50.0 + 8000.0 * 2.0) / 8500.0), "{wire:?}");
        assert_eq!(
            (wire.count, wire.p99),
            (1000, Some(wire.p99.unwrap())),
            "the count is of those that were stamped"
        );
        assert_eq!(wire.p99_9, None, "and decides what they support");
    }

    #[test]
    fn nothing_measured_is_said_with_its_reason_and_is_no_time() {
        let mut op = OpSnapshot::default();
        let plain = Sample { sent_ns: 1, end_ns: 100, ..Sample::default() };
        op.add(&plain, false);
        let result = OperationResult::of(&op, 1.0);
        assert_eq!((result.wire_ms.count, result.wire_ms.mean, result.client_added_ms.p50), (0, None, None));
        assert!(result.wire_unmeasured.unwrap().contains("adaptor"));
        op.wire.miss("the network driver did not stamp the request");
        assert!(OperationResult::of(&op, 1.0).wire_unmeasured.unwrap().contains("driver"));
        op.add(&sample(1, 1, 1), false);
        let result = OperationResult::of(&op, 1.0);
        assert_eq!((result.wire_unmeasured, result.wire_unstamped.len()), (None, 1));
        assert_eq!(OperationResult::of(&OpSnapshot::default(), 1.0).wire_unmeasured, None);
    }
}
