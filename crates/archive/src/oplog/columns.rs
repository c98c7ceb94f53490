//! The columns of the operation log, and how each is told by an operation.

use cosmark_metrics::{Sample, WireTimes};

use crate::parts::column::{Column, Value};

/// An operation that waits to be encoded.
pub(crate) struct Row {
    /// Numbers of words, each among the names of its column.
    pub(super) driver: u16,
    pub(super) stage: u16,
    pub(super) work: u16,
    pub(super) operation: u16,
    pub(super) outcome: u16,
    pub(super) phase: u16,
    /// What to add to the times of `sample` to get nanoseconds since the log's epoch.
    pub(super) clock_offset_ns: i64,
    pub(super) sample: Sample,
}

/// The columns of text, in the order of [`COLUMNS`].
pub(super) const WORDS: [&str; 6] = ["driver", "stage", "work", "operation", "outcome", "phase"];

/// The columns, in order; what comes later stands at the end. Documented in `docs/reference/archive.md`.
pub(crate) static COLUMNS: [Column<Row>; 28] = [
    Column::of("driver", Value::Text(|row: &Row| row.driver)).nullable().unordered(),
    Column::of("stage", Value::Text(|row: &Row| row.stage)),
    Column::of("work", Value::Text(|row: &Row| row.work)).unordered(),
    Column::of("worker", Value::U32(|row: &Row| Some(row.sample.worker))).differences(),
    Column::of("operation", Value::Text(|row: &Row| row.operation)).unordered(),
    Column::of("container", Value::I64(|row: &Row| some(row.sample.container))).nullable().differences(),
    Column::of("object", Value::I64(|row: &Row| some(row.sample.object))).nullable().differences(),
    Column::of("due_ns", Value::I64(|row: &Row| Some(row.at(row.sample.due_ns)))).differences(),
    Column::of("sent_ns", Value::I64(|row: &Row| Some(row.at(row.sample.sent_ns)))).differences(),
    Column::of("first_byte_ns", Value::I64(Row::first_byte)).nullable().differences(),
    Column::of("end_ns", Value::I64(|row: &Row| Some(row.at(row.sample.end_ns)))).differences(),
    Column::of("bytes", Value::I64(|row: &Row| Some(signed(row.sample.bytes)))).differences(),
    Column::of("status", Value::U16(|row: &Row| Some(row.sample.status).filter(|status| *status != 0)))
        .nullable()
        .differences(),
    Column::of("outcome", Value::Text(|row: &Row| row.outcome)).unordered(),
    Column::of("requests", Value::U32(|row: &Row| Some(row.sample.requests))).differences(),
    Column::of("retries", Value::U32(|row: &Row| Some(row.sample.retries))).differences(),
    Column::of("connections", Value::U32(|row: &Row| Some(row.sample.connections))).differences(),
    Column::of("connect_ns", Value::I64(|row: &Row| Some(signed(row.sample.connect_ns)))).differences(),
    Column::of("accepted_only", Value::Bool(|row: &Row| Some(row.sample.accepted_only))),
    Column::of("phase", Value::Text(|row: &Row| row.phase)).unordered(),
    Column::of("endpoint", Value::U16(|row: &Row| Some(row.sample.endpoint).filter(|number| *number != 0)))
        .nullable()
        .differences(),
    Column::of("asked_bytes", Value::I64(|row: &Row| some(row.sample.asked_bytes))).nullable().differences(),
    Column::of("wire_sent_ns", Value::I64(|row: &Row| Some(row.at(row.stamped()?.sent_ns)))).sparse(),
    Column::of("wire_first_byte_ns", Value::I64(|row: &Row| Some(row.at(row.stamped()?.first_byte_ns))))
        .sparse(),
    Column::of("wire_end_ns", Value::I64(|row: &Row| Some(row.at(row.stamped()?.end_ns)))).sparse(),
    Column::of("wire_ns", Value::I64(|row: &Row| Some(signed(row.stamped()?.spent_ns)))).sparse(),
    Column::of("wire_weight", Value::U32(|row: &Row| Some(row.stamped()?.weight))).sparse(),
    Column::of("version", Value::U32(|row: &Row| Some(row.sample.version).filter(|version| *version != 0)))
        .sparse(),
];

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Nothing for 0.
fn some(value: u64) -> Option<i64> {
    (value != 0).then(|| signed(value))
}

impl Row {
    /// A time of the driver's clock on the log's.
    fn at(&self, ns: u64) -> i64 {
        signed(ns).saturating_add(self.clock_offset_ns).max(0)
    }

    fn first_byte(&self) -> Option<i64> {
        let ns = self.sample.first_byte_ns;
        (ns != 0).then(|| self.at(ns))
    }

    /// Times of the wire, where the operation was stamped.
    fn stamped(&self) -> Option<&WireTimes> {
        Some(&self.sample.wire).filter(|wire| wire.weight != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_for_users_names_every_column_and_its_type() {
        let page = include_str!("../../../../docs/reference/archive.md");
        let section = page.split("## operations.parquet").nth(1).unwrap().split("\n## ").next().unwrap();
        for column in &COLUMNS {
            let row = format!("| `{}` | {} | ", column.name, column.value.word());
            assert!(section.contains(&row), "archive.md has no row {row}");
        }
    }

    #[test]
    fn every_field_of_a_sample_has_a_column_or_is_left_out_on_purpose() {
        // Exhaustive, so that a new field is decided on here.
        let Sample {
            op: _, // its name is the column `operation`
            worker: _,
            container: _,
            object: _,
            due_ns: _,
            sent_ns: _,
            first_byte_ns: _,
            end_ns: _,
            connect_ns: _,
            tls_ns: _,          // none
            request_sent_ns: _, // none
            stands_for: _,      // none
            bytes: _,
            asked_bytes: _,
            version: _,
            endpoint: _,
            status: _,
            outcome: _,
            requests: _,
            retries: _,
            connections: _,
            accepted_only: _,
            wire: WireTimes { sent_ns: _, first_byte_ns: _, end_ns: _, spent_ns: _, weight: _ },
        } = Sample::default();
        let text = COLUMNS.iter().filter(|column| matches!(column.value, Value::Text(_)));
        assert!(text.map(|column| column.name).eq(WORDS), "the names are given in this order");
    }
}
