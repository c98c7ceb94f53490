//! Samples as columns: a tenth of the bytes of a list of maps, with the names still there.

use cosmark_metrics::{Outcome, Sample, WireTimes};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Samples, one list per field. Times are kept as differences to the end of the sample before, or to the sample's own end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SampleColumns {
    op: Vec<u16>,
    worker: Vec<u32>,
    container: Vec<u64>,
    object: Vec<u64>,
    due_ns: Vec<i64>,
    sent_ns: Vec<i64>,
    /// From sent; 0 = no first byte.
    first_byte_ns: Vec<i64>,
    /// From the end of the sample before.
    end_ns: Vec<i64>,
    connect_ns: Vec<u64>,
    bytes: Vec<u64>,
    asked_bytes: Vec<u64>,
    version: Vec<u32>,
    endpoint: Vec<u16>,
    status: Vec<u16>,
    outcome: Vec<Outcome>,
    requests: Vec<u32>,
    retries: Vec<u32>,
    connections: Vec<u32>,
    accepted_only: Vec<bool>,
    /// Only of samples that were stamped, which these numbers in the list are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stamped: Vec<u32>,
    /// Of those: sent, first byte and end on the wire, from sent; time on the wire; for how many it stands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    wire: Vec<(i64, i64, i64, u64, u32)>,
}

fn less(a: u64, b: u64) -> i64 {
    a.wrapping_sub(b).cast_signed()
}

fn plus(a: u64, b: i64) -> u64 {
    a.wrapping_add(b.cast_unsigned())
}

impl SampleColumns {
    /// The columns of these samples.
    #[must_use]
    pub fn of(samples: &[Sample]) -> Self {
        let mut all = Self::default();
        let mut last_end_ns = 0;
        for sample in samples {
            // Exhaustive, so that a new field cannot be forgotten here.
            let Sample {
                op,
                worker,
                container,
                object,
                due_ns,
                sent_ns,
                first_byte_ns,
                end_ns,
                connect_ns,
                // Operation logs do not have these.
                tls_ns: _,
                request_sent_ns: _,
                stands_for: _,
                bytes,
                asked_bytes,
                version,
                endpoint,
                status,
                outcome,
                requests,
                retries,
                connections,
                accepted_only,
                wire,
            } = *sample;
            all.op.push(op);
            all.worker.push(worker);
            all.container.push(container);
            all.object.push(object);
            all.due_ns.push(less(end_ns, due_ns));
            all.sent_ns.push(less(end_ns, sent_ns));
            all.first_byte_ns.push(if first_byte_ns == 0 { i64::MIN } else { less(first_byte_ns, sent_ns) });
            all.end_ns.push(less(end_ns, last_end_ns));
            all.connect_ns.push(connect_ns);
            all.bytes.push(bytes);
            all.asked_bytes.push(asked_bytes);
            all.version.push(version);
            all.endpoint.push(endpoint);
            all.status.push(status);
            all.outcome.push(outcome);
            all.requests.push(requests);
            all.retries.push(retries);
            all.connections.push(connections);
            all.accepted_only.push(accepted_only);
            if wire.weight != 0 {
                let since = |ns: u64| less(ns, sent_ns);
                all.stamped.push(u32::try_from(all.op.len() - 1).unwrap_or(u32::MAX));
                all.wire.push((
                    since(wire.sent_ns),
                    since(wire.first_byte_ns),
                    since(wire.end_ns),
                    wire.spent_ns,
                    wire.weight,
                ));
            }
            last_end_ns = end_ns;
        }
        all
    }

    /// The samples again; `None` when the columns are not of one length.
    #[must_use]
    pub fn samples(&self) -> Option<Vec<Sample>> {
        let mut last_end_ns = 0;
        let mut samples = Vec::with_capacity(self.op.len());
        for at in 0..self.op.len() {
            let end_ns = plus(last_end_ns, *self.end_ns.get(at)?);
            let sent_ns = plus(end_ns, self.sent_ns.get(at)?.wrapping_neg());
            let first = *self.first_byte_ns.get(at)?;
            samples.push(Sample {
                op: *self.op.get(at)?,
                worker: *self.worker.get(at)?,
                container: *self.container.get(at)?,
                object: *self.object.get(at)?,
                due_ns: plus(end_ns, self.due_ns.get(at)?.wrapping_neg()),
                sent_ns,
                first_byte_ns: if first == i64::MIN { 0 } else { plus(sent_ns, first) },
                end_ns,
                connect_ns: *self.connect_ns.get(at)?,
                tls_ns: 0,
                request_sent_ns: 0,
                stands_for: 0,
                bytes: *self.bytes.get(at)?,
                asked_bytes: *self.asked_bytes.get(at)?,
                version: *self.version.get(at)?,
                endpoint: *self.endpoint.get(at)?,
                status: *self.status.get(at)?,
                outcome: *self.outcome.get(at)?,
                requests: *self.requests.get(at)?,
                retries: *self.retries.get(at)?,
                connections: *self.connections.get(at)?,
                accepted_only: *self.accepted_only.get(at)?,
                wire: WireTimes::default(),
            });
            last_end_ns = end_ns;
        }
        if self.stamped.len() != self.wire.len() {
            return None;
        }
        for (at, (sent, first_byte, end, spent_ns, weight)) in self.stamped.iter().zip(&self.wire) {
            let sample = samples.get_mut(usize::try_from(*at).ok()?)?;
            let at = |since: i64| plus(sample.sent_ns, since);
            let (sent_ns, first_byte_ns, end_ns) = (at(*sent), at(*first_byte), at(*end));
            sample.wire = WireTimes { sent_ns, first_byte_ns, end_ns, spent_ns: *spent_ns, weight: *weight };
        }
        Some(samples)
    }
}

pub(crate) fn serialize<S: Serializer>(samples: &[Sample], serializer: S) -> Result<S::Ok, S::Error> {
    SampleColumns::of(samples).serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Sample>, D::Error> {
    SampleColumns::deserialize(deserializer)?
        .samples()
        .ok_or_else(|| D::Error::custom("columns of samples differ in length"))
}
