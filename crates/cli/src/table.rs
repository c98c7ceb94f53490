//! The result table: what `run.json` says, for people.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, Table};
use cosmark_archive::{LatencyRecord, LoopKind, OperationRecord, RunRecord, StageRecord};

use cosmark_verdict::percent;

use crate::units;

const HEAD: [&str; 11] =
    ["stage", "operation", "ops", "failed", "op/s", "bandwidth", "mean", "p50", "p95", "p99", "max ms"];

/// All stages and operations of a run that have results.
#[must_use]
pub fn results(record: &RunRecord) -> String {
    let mut table = Table::new();
    table.load_style(crate::out::frame());
    table.set_header(HEAD.iter().enumerate().map(|(at, head)| {
        Cell::new(head).set_alignment(if at < 2 { CellAlignment::Left } else { CellAlignment::Right })
    }));
    for stage in &record.stages {
        for (at, operation) in stage.operations.iter().enumerate() {
            table.add_row(row(stage, operation, at == 0));
            if times_differ(operation) {
                table.add_row(service_row(operation));
            }
        }
    }
    table.set_constraints(HEAD.iter().map(|_| ColumnConstraint::ContentWidth));
    table.to_string()
}

fn row(stage: &StageRecord, operation: &OperationRecord, first: bool) -> Vec<Cell> {
    let dash = || "-".to_owned();
    let name = if operation.name == operation.work || stage.operations.len() == 1 {
        operation.name.clone()
    } else {
        let works: std::collections::BTreeSet<_> = stage.operations.iter().map(|op| &op.work).collect();
        if works.len() > 1 {
            format!("{} {}", operation.work, operation.name)
        } else {
            operation.name.clone()
        }
    };
    let numbers = [
        units::grouped(operation.count),
        failed(operation),
        operation.throughput_per_s.map_or_else(dash, units::rate),
        operation.bandwidth_bytes_per_s.filter(|rate| *rate > 0.0).map_or_else(dash, units::bandwidth),
    ];
    let left = [if first { stage.name.clone() } else { String::new() }, name];
    cells(left, numbers.into_iter().chain(times(&operation.response_ms)))
}

/// Response and service time are two numbers as soon as something was not sent when it was due.
fn times_differ(operation: &OperationRecord) -> bool {
    operation.count > 0 && times(&operation.response_ms) != times(&operation.service_ms)
}

/// The times from the moment of sending, under those from the moment that operations were due.
fn service_row(operation: &OperationRecord) -> Vec<Cell> {
    let nothing = std::iter::repeat_n(String::new(), 4);
    cells([String::new(), SERVICE.to_owned()], nothing.chain(times(&operation.service_ms)))
}

/// Name of such a row.
const SERVICE: &str = "  service time";

fn times(latency: &LatencyRecord) -> [String; 5] {
    [latency.mean, latency.p50, latency.p95, latency.p99, latency.max]
        .map(|value| value.map_or_else(|| "-".to_owned(), units::ms))
}

fn cells(left: [String; 2], right: impl Iterator<Item = String>) -> Vec<Cell> {
    left.into_iter()
        .map(Cell::new)
        .chain(right.map(|text| Cell::new(text).set_alignment(CellAlignment::Right)))
        .collect()
}

/// Failures with their share of all that ended: no rate without it.
fn failed(operation: &OperationRecord) -> String {
    match operation.success_ratio {
        Some(ratio) if operation.failures > 0 => {
            format!("{} ({})", units::grouped(operation.failures), percent(1.0 - ratio))
        }
        _ => units::grouped(operation.failures),
    }
}

/// What the table cannot say: errors by kind, arrivals missed, percentiles withheld.
#[must_use]
pub fn remarks(record: &RunRecord) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut withheld = false;
    for stage in &record.stages {
        if let (Some(_), Some(reason)) = (stage.cut_s, &stage.reason) {
            remarks.push(format!("{}: {reason}", stage.id));
        }
        for operation in &stage.operations {
            let place = format!("{} {}", stage.id, operation.name);
            if operation.failures > 0 {
                remarks.push(format!("{place}: {}", errors(operation)));
                if let Some(example) = operation.error_examples.first() {
                    remarks.push(format!("  for example: {example}"));
                }
            }
            for (count, what) in [
                (operation.missed, "arrivals were dropped: no worker was free"),
                (operation.delayed, "arrivals had to wait for a free worker"),
                (
                    // A closed loop always has some; in an open loop they are a queue that nobody served.
                    if operation.arrival == Some(LoopKind::Open) { operation.unfinished } else { 0 },
                    "arrivals were in flight or still waiting when the window ended",
                ),
                (operation.accepted_only, "writes were only accepted (202), not yet complete"),
                (operation.renewals, "logins were renewed"),
            ] {
                if count > 0 {
                    remarks.push(format!("{place}: {} {what}", units::grouped(count)));
                }
            }
            withheld |= operation.count > 0
                && (operation.response_ms.p99.is_none() || operation.response_ms.p50.is_none());
        }
    }
    if record.stages.iter().flat_map(|stage| &stage.operations).any(times_differ) {
        remarks.push(
            "service time = from sent; the line above it counts from when an operation was due".to_owned(),
        );
    }
    if withheld {
        remarks.push("- = too few operations for this percentile (p99 needs 1000)".to_owned());
    }
    remarks
}

fn errors(operation: &OperationRecord) -> String {
    let total = operation.count + operation.failures;
    #[expect(clippy::cast_precision_loss, reason = "a share for people")]
    let share = operation.failures as f64 / total as f64 * 100.0;
    let mut kinds: Vec<_> = operation.errors.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let kinds: Vec<String> = kinds.into_iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    let codes: Vec<String> =
        operation.error_codes.iter().map(|(code, count)| format!("{code} {count}")).collect();
    let codes = if codes.is_empty() { String::new() } else { format!(" ({})", codes.join(", ")) };
    format!("{share:.2} % failed: {}{codes}", kinds.join(", "))
}
