//! Reads the result of an operation from its merged sums.

use std::collections::BTreeMap;

use super::parts::{endpoints, size_classes};
use super::{Latencies, METRICS, OperationResult, TimeResult};
use crate::OpSnapshot;

impl OperationResult {
    /// Reads the merged sums of an operation over a window of `window_s` seconds. What it is called, how it was loaded, its
    /// `error_examples` and its `drivers` are left for the caller, who alone knows them.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "rates and means need no more than 53 bits")]
    pub fn of(op: &OpSnapshot, window_s: f64) -> Self {
        let per_s = |amount: u64| (window_s > 0.0).then(|| amount as f64 / window_s);
        Self {
            window_s: if window_s.is_finite() { window_s } else { 0.0 },
            intended: Some(op.intended),
            ok: op.ok,
            failed: op.failed,
            missed: op.missed,
            delayed: op.delayed,
            unfinished: op.unfinished,
            checked: op.checked,
            bytes: op.bytes,
            partial_bytes: op.partial_bytes,
            throughput_per_s: per_s(op.ok),
            bandwidth_bytes_per_s: per_s(op.bytes),
            success_ratio: (op.total() > 0).then(|| op.ok as f64 / op.total() as f64),
            in_flight_mean: (window_s > 0.0).then(|| op.in_flight_ns as f64 / 1e9 / window_s),
            age_at_start_s: Some(op.age_at_start_ns as f64 / 1e9),
            age_at_end_s: Some(op.age_at_end_ns as f64 / 1e9),
            workers_done_mean: (window_s > 0.0)
                .then(|| (op.workers_done as f64 - op.workers_done_at_ns as f64 / 1e9 / window_s).max(0.0)),
            response_ms: Latencies::of(op.response_or_service()),
            service_ms: Latencies::of(&op.service),
            first_byte_ms: Latencies::of(&op.first_byte),
            wire_ms: Latencies::of_drawn(&op.wire.times, op.wire.stamped),
            client_added_ms: Latencies::of_drawn(&op.wire.added, op.wire.stamped),
            wire_unmeasured: op.wire.unmeasured(op.ok),
            wire_unstamped: op.wire.unstamped.clone(),
            connect_ms: Latencies::of(&op.connect),
            failed_service_ms: Latencies::of(&op.failed_service),
            lag_ms: Latencies::of(&op.lag),
            unfinished_age_ms: Latencies::of(&op.unfinished_age),
            time: TimeResult::of(op),
            size_classes: size_classes(op),
            endpoints: endpoints(op),
            errors: op.errors.iter().map(|(outcome, count)| (outcome.label(), *count)).collect(),
            codes: op.codes.clone(),
            requests: op.requests,
            retries: op.retries,
            connections: op.connections,
            renewals: op.renewals,
            accepted_only: op.accepted_only,
            metrics: Self::figures(op, window_s),
            ..Self::default()
        }
    }

    /// The figures that have no field of their own, measured over a window of `window_s` seconds.
    #[must_use]
    pub fn figures(op: &OpSnapshot, window_s: f64) -> BTreeMap<String, f64> {
        let value = |metric: &super::Metric| Some((metric.id.to_owned(), metric.measured(op, window_s)?));
        METRICS.iter().filter_map(value).collect()
    }
}

/// The time of an operation, or of its objects of one class of sizes.
#[derive(Debug, Clone, Copy)]
pub struct TimeOf<'a> {
    /// The class of sizes; `None` = all of the operation.
    pub size: Option<&'a str>,
    /// Successes.
    pub count: u64,
    /// The parts of their time.
    pub time: &'a TimeResult,
    /// What the client itself added; it lies within `send`, `first byte` and `body`.
    pub client_added_ms: &'a Latencies,
}

impl OperationResult {
    /// True where all or nearly all failed that ended, and how many did is not known: COSBench has a share of successes, and a
    /// share of 0 says not of how many.
    #[must_use]
    pub fn has_uncounted_failures(&self) -> bool {
        self.failed == 0 && self.success_ratio.is_some_and(|ratio| ratio <= 0.0)
    }

    /// The parts of its time, as a whole and by size where there are several classes; none where they are not known.
    pub fn times(&self) -> impl Iterator<Item = TimeOf<'_>> {
        let whole = self.time.as_ref().map(|time| TimeOf {
            size: None,
            count: self.ok,
            time,
            client_added_ms: &self.client_added_ms,
        });
        let classes = self.size_classes.iter().filter_map(|class| {
            Some(TimeOf {
                size: Some(&class.label),
                count: class.sums.ok,
                time: class.sums.time.as_ref()?,
                client_added_ms: &class.sums.client_added_ms,
            })
        });
        whole.into_iter().chain(classes)
    }
}
