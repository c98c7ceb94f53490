//! Samples of the operation log as columns.

use cosmark_metrics::Sample;

/// Rows that wait to be encoded, column by column.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) driver: Vec<u16>,
    pub(super) stage: Vec<u16>,
    pub(super) work: Vec<u16>,
    pub(super) worker: Vec<u32>,
    pub(super) operation: Vec<u16>,
    pub(super) container: Vec<Option<i64>>,
    pub(super) object: Vec<Option<i64>>,
    pub(super) due_ns: Vec<i64>,
    pub(super) sent_ns: Vec<i64>,
    pub(super) first_byte_ns: Vec<Option<i64>>,
    pub(super) end_ns: Vec<i64>,
    pub(super) bytes: Vec<i64>,
    pub(super) status: Vec<Option<u16>>,
    pub(super) outcome: Vec<u16>,
    pub(super) requests: Vec<u32>,
    pub(super) retries: Vec<u32>,
    pub(super) connections: Vec<u32>,
    pub(super) connect_ns: Vec<i64>,
    pub(super) accepted_only: Vec<bool>,
    pub(super) phase: Vec<u16>,
    pub(super) endpoint: Vec<Option<u16>>,
    pub(super) asked_bytes: Vec<Option<i64>>,
    pub(super) version: Vec<Option<u32>>,
    pub(super) wire_sent_ns: Vec<Option<i64>>,
    pub(super) wire_first_byte_ns: Vec<Option<i64>>,
    pub(super) wire_end_ns: Vec<Option<i64>>,
    pub(super) wire_ns: Vec<Option<i64>>,
    pub(super) wire_weight: Vec<Option<u32>>,
}

impl Columns {
    pub(super) fn push_sample(&mut self, sample: &Sample, clock_offset_ns: i64) {
        let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let at = |ns: u64| signed(ns).saturating_add(clock_offset_ns).max(0);
        let some = |value: u64| (value != 0).then(|| signed(value));
        // Exhaustive, so that a new field cannot be forgotten here.
        let Sample {
            op: _,
            worker,
            container,
            object,
            due_ns,
            sent_ns,
            first_byte_ns,
            end_ns,
            connect_ns,
            tls_ns: _,
            request_sent_ns: _,
            stands_for: _,
            bytes,
            asked_bytes,
            version,
            endpoint,
            status,
            outcome: _,
            requests,
            retries,
            connections,
            accepted_only,
            wire,
        } = *sample;
        self.worker.push(worker);
        self.container.push(some(container));
        self.object.push(some(object));
        self.due_ns.push(at(due_ns));
        self.sent_ns.push(at(sent_ns));
        self.first_byte_ns.push((first_byte_ns != 0).then(|| at(first_byte_ns)));
        self.end_ns.push(at(end_ns));
        self.bytes.push(signed(bytes));
        self.status.push((status != 0).then_some(status));
        self.requests.push(requests);
        self.retries.push(retries);
        self.connections.push(connections);
        self.connect_ns.push(signed(connect_ns));
        self.accepted_only.push(accepted_only);
        self.endpoint.push((endpoint != 0).then_some(endpoint));
        self.asked_bytes.push(some(asked_bytes));
        self.version.push((version != 0).then_some(version));
        let stamped = (wire.weight != 0).then_some(wire);
        self.wire_sent_ns.push(stamped.map(|wire| at(wire.sent_ns)));
        self.wire_first_byte_ns.push(stamped.map(|wire| at(wire.first_byte_ns)));
        self.wire_end_ns.push(stamped.map(|wire| at(wire.end_ns)));
        self.wire_ns.push(stamped.map(|wire| signed(wire.spent_ns)));
        self.wire_weight.push(stamped.map(|wire| wire.weight));
    }
}
