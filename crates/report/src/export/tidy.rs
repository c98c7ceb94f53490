//! All results and intervals of a run in one tidy table, and in one JSON document.

use std::io::{self, Write};

use cosmark_archive::{OperationResult, Run, StageRecord, TimelineEntry, harmless};
use serde_json::{Value, json};

use cosmark_metrics::nodes::costs;

use super::{ExportError, id_of};
use crate::row_ends::RowEnds;

/// Columns of the table.
const HEAD: [&str; 14] = [
    "run",
    "workload",
    "stage",
    "work",
    "operation",
    "op",
    "scope",
    "time",
    "quantity",
    "value",
    "node",
    "unit",
    "id",
    "end_s",
];

/// Rows with the seconds from the beginning of the load to their ends: times of the day say neither the day nor the zone.
fn timeline(
    run: &Run,
    ends: &RowEnds,
    stage: &StageRecord,
) -> Result<Vec<(Option<f64>, TimelineEntry)>, ExportError> {
    // A stage that never ran has no file.
    if stage.started.is_none() {
        return Ok(Vec::new());
    }
    let entries = run.timeline(stage)?;
    let ends_s = ends.seconds(&stage.id, &entries);
    Ok(ends_s.into_iter().zip(ends.distinguished(stage, entries)).collect())
}

/// One line per number. `scope` is `window` for results, `interval` for values of the timeline, `node` for what one of the store's
/// machines did in the window, and `store` for what the stage cost all of them.
pub fn csv(run: &Run, out: &mut dyn Write) -> Result<(), ExportError> {
    let mut table = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    let refused = |error: csv::Error| ExportError::Output(io::Error::other(error));
    table.write_record(HEAD).map_err(refused)?;
    let (id, name) = (run.record.id.as_str(), run.record.name.as_str());
    let ends = RowEnds::of(run);
    for stage in &run.record.stages {
        for op in &stage.operations {
            let mut values = Vec::new();
            let record = serde_json::to_value(op).map_err(io::Error::other)?;
            flatten("", &record, &mut values);
            values.extend(op.bounds.iter().map(|(figure, bound)| {
                (format!("bounds.{figure}.holds"), u8::from(bound.holds()).to_string())
            }));
            for (quantity, value) in values {
                let names = line(run, stage, op, ["window", "", &quantity, &value, ""]);
                table.write_record(names.map(|cell| harmless(cell).into_owned())).map_err(refused)?;
            }
        }
        for (end_s, entry) in timeline(run, &ends, stage)? {
            let end_s = end_s.map(|end| end.to_string()).unwrap_or_default();
            for (value, op) in entry.operations.iter().zip(&stage.operations) {
                let optional = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
                let cells = [
                    ("count", value.count.to_string()),
                    ("bytes", value.bytes.to_string()),
                    ("response_ms.mean", optional(value.response_ms)),
                    ("first_byte_ms.mean", optional(value.processing_ms)),
                    ("throughput_per_s", value.throughput_per_s.to_string()),
                    ("bandwidth_bytes_per_s", value.bandwidth_bytes_per_s.to_string()),
                    ("success_ratio", optional(value.success_ratio)),
                ];
                for (quantity, cell) in cells.iter().filter(|(_, cell)| !cell.is_empty()) {
                    let names = line(run, stage, op, ["interval", &entry.time, quantity, cell, &end_s]);
                    table.write_record(names.map(|cell| harmless(cell).into_owned())).map_err(refused)?;
                }
            }
        }
        for [scope, quantity, value, node, unit] in of_nodes(stage) {
            let names = [
                id,
                name,
                &stage.id,
                "",
                "",
                "",
                scope.as_str(),
                "",
                &quantity,
                &value,
                &node,
                &unit,
                "",
                "",
            ];
            table.write_record(names.map(|cell| harmless(cell).into_owned())).map_err(refused)?;
        }
    }
    table.flush()?;
    Ok(())
}

/// A line about an operation: scope, time, quantity, value and end, among what it is of.
fn line<'l>(
    run: &'l Run,
    stage: &'l StageRecord,
    op: &'l OperationResult,
    [scope, time, quantity, value, end_s]: [&'l str; 5],
) -> [&'l str; 14] {
    let (id, name) = (run.record.id.as_str(), run.record.name.as_str());
    let own = id_of(op);
    [id, name, &stage.id, &op.work, &op.name, &op.op, scope, time, quantity, value, "", "", own, end_s]
}

/// Scope, quantity, value, machine and unit of everything that is known of the store's machines.
fn of_nodes(stage: &StageRecord) -> Vec<[String; 5]> {
    let mut lines = Vec::new();
    let costs = costs::of_stage(&stage.nodes, &stage.operations);
    for (cost, value) in costs::known(&costs) {
        lines.push(["store", cost.id, &value.to_string(), "", ""].map(str::to_owned));
    }
    for node in &stage.nodes {
        for unit in &node.units {
            let quantity = format!("busy: {}", unit.kind.word());
            lines
                .push(["node", &quantity, &unit.busy.to_string(), &node.name, &unit.name].map(str::to_owned));
        }
        for one in &node.quantities {
            lines.push(
                ["node", &one.quantity, &one.mean.to_string(), &node.name, &one.unit].map(str::to_owned),
            );
        }
    }
    lines
}

/// Numbers of a record with the way to them, such as `response_ms.p99`; what is null is left out.
fn flatten(path: &str, value: &Value, values: &mut Vec<(String, String)>) {
    // Figures stand at the top, whether they have a field of their own or not.
    let below = |name: &str| {
        if path.is_empty() || path == "metrics" { name.to_owned() } else { format!("{path}.{name}") }
    };
    match value {
        Value::Number(number) => values.push((path.to_owned(), number.to_string())),
        Value::Object(fields) => {
            for (name, field) in fields {
                flatten(&below(name), field, values);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                flatten(&below(&at.to_string()), item, values);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// `run.json`, and `timelines` by stage.
pub fn json(run: &Run, out: &mut dyn Write) -> Result<(), ExportError> {
    let mut document = serde_json::to_value(&run.record).map_err(io::Error::other)?;
    let mut timelines = serde_json::Map::new();
    let ends = RowEnds::of(run);
    for stage in &run.record.stages {
        let entries = timeline(run, &ends, stage)?;
        let rows: Vec<Value> = entries.iter().map(|(end_s, entry)| row(*end_s, entry, stage)).collect();
        timelines.insert(stage.id.clone(), Value::Array(rows));
    }
    document["timelines"] = Value::Object(timelines);
    serde_json::to_writer_pretty(&mut *out, &document).map_err(io::Error::other)?;
    Ok(out.write_all(b"\n")?)
}

fn row(end_s: Option<f64>, entry: &TimelineEntry, stage: &StageRecord) -> Value {
    let operations = entry.operations.iter().zip(&stage.operations).map(|(value, op)| {
        json!({
            "work": op.work, "operation": op.name, "count": value.count, "bytes": value.bytes,
            "response_ms": value.response_ms, "first_byte_ms": value.processing_ms,
            "throughput_per_s": value.throughput_per_s, "bandwidth_bytes_per_s": value.bandwidth_bytes_per_s,
            "success_ratio": value.success_ratio,
        })
    });
    json!({ "time": entry.time, "end_s": end_s, "operations": operations.collect::<Vec<_>>() })
}
