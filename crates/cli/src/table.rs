//! The result table: what `run.json` says, for people.

use std::cmp::Ordering;

use cosmark_archive::{FioJobRecord, FioTimes, LoopKind, OperationResult, RunRecord};
use cosmark_metrics::Latencies;
use cosmark_metrics::results::{METRICS, Metric, Reading, Unit};

use cosmark_verdict::percent;

use crate::fit::{self, Column};
use crate::paint::Ink;
use crate::screen::room;
use crate::units;

/// The figures of the table; those that not every run has only where some operation has one.
fn columns(record: &RunRecord) -> Vec<&'static Metric> {
    let operations = || record.stages.iter().flat_map(|stage| &stage.operations);
    let is_there = |metric: &&Metric| !metric.is_measured() || operations().any(|op| metric.of(op).is_some());
    METRICS.iter().filter(|metric| !metric.names.terminal.is_empty()).filter(is_there).collect()
}

/// All stages and operations of a run that have results.
#[must_use]
pub fn results(record: &RunRecord) -> String {
    results_in(room(), record)
}

/// The same in this width.
fn results_in(room: Option<usize>, record: &RunRecord) -> String {
    let figures = columns(record);
    let heads: Vec<Column> = [Column::text("stage").least(8), Column::text("operation").least(12)]
        .into_iter()
        .chain(figures.iter().map(|metric| head(metric)))
        .collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |left: [String; 2], right: Vec<String>| rows.push(left.into_iter().chain(right).collect());
    for stage in &record.stages {
        for (at, operation) in stage.operations.iter().enumerate() {
            let name = stage.name_of(&operation.work, &operation.name);
            let left = [if at == 0 { stage.name.clone() } else { String::new() }, name];
            row(left, figures.iter().map(|metric| figure(metric, operation)).collect());
            if operation.bounds.values().any(|bound| bound.within.is_some()) {
                let left = [String::new(), WITHIN.to_owned()];
                row(left, figures.iter().map(|metric| within(metric, operation)).collect());
            }
            if times_differ(operation) {
                let left = [String::new(), SERVICE.to_owned()];
                row(left, figures.iter().map(|metric| service_time(metric, operation)).collect());
            }
        }
    }
    let failures = 2 + figures.iter().position(|metric| metric.id == "failures").unwrap_or(usize::MAX - 2);
    let ink = |column: usize, text: &str| match text {
        "no" => Ink::Doubtful,
        "0" | "" => Ink::Plain,
        _ if column == failures => Ink::Bad,
        _ => Ink::Plain,
    };
    fit::table_in(room, &heads, &rows, ink)
}

/// What is worth least goes first where the terminal is narrow: the rate, failures and p99 stay.
fn head(metric: &Metric) -> Column {
    let goes = match metric.id {
        "failures" | "throughput_per_s" | "response_ms.p99" => 0,
        "response_ms.p50" => 1,
        "bandwidth_bytes_per_s" => 2,
        "response_ms.p95" => 3,
        "response_ms.max" => 4,
        "count" => 5,
        "response_ms.mean" => 6,
        _ => 7,
    };
    Column::number(metric.names.terminal).goes(goes)
}

/// Name of the row that says how well the figures above it are known.
const WITHIN: &str = "  within";

/// How far a figure may be off, to the side on which it may be further: `-4%`, `+2%`, `±1%`. In whole percent, rounded up.
fn within(metric: &Metric, operation: &OperationResult) -> String {
    // A share of failures stands in its own cell with its count.
    let Some(bound) = operation.bounds.get(metric.id).filter(|_| metric.unit != Unit::Share) else {
        return String::new();
    };
    let sides = metric.of(operation).filter(|value| *value > 0.0).zip(bound.low.zip(bound.high));
    let Some((value, (low, high))) = sides.filter(|_| bound.holds()) else { return "no".to_owned() };
    let percent = |by: f64| (100.0 * by / value - 1e-6).max(0.0).ceil();
    let (below, above) = (percent(value - low), percent(high - value));
    let (sign, by) = match below.total_cmp(&above) {
        Ordering::Equal => (if crate::out::ascii_only() { "+-" } else { "±" }, below),
        Ordering::Greater => ("-", below),
        Ordering::Less => ("+", above),
    };
    format!("{sign}{by}%")
}

fn figure(metric: &Metric, operation: &OperationResult) -> String {
    if metric.id == "failures" { failed(operation) } else { shown(metric, metric.of(operation)) }
}

fn shown(metric: &Metric, value: Option<f64>) -> String {
    let dash = || "-".to_owned();
    let Some(value) = value else { return dash() };
    match metric.unit {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        Unit::Count(_) if value.fract() == 0.0 => units::grouped(value as u64),
        Unit::Count(_) | Unit::PerS => units::rate(value),
        Unit::Share => percent(value),
        Unit::Ms => units::ms(value),
        Unit::Bytes => units::bytes(value),
        Unit::BytesPerS if value > 0.0 => units::bandwidth(value),
        Unit::BytesPerS => dash(),
    }
}

/// Response and service time are two numbers as soon as something was not sent when it was due.
fn times_differ(operation: &OperationResult) -> bool {
    let times = |latency: &Latencies| {
        [latency.mean, latency.p50, latency.p95, latency.p99, latency.max].map(|ms| ms.map(units::ms))
    };
    // COSBench keeps no service time.
    let known = operation.service_ms.count > 0 || operation.service_ms.mean.is_some();
    known && operation.ok > 0 && times(&operation.response_ms) != times(&operation.service_ms)
}

/// The times from the moment of sending, under those from the moment that operations were due.
fn service_time(metric: &Metric, operation: &OperationResult) -> String {
    match metric.reading {
        Reading::Response(of) => shown(metric, of(&operation.service_ms)),
        _ => String::new(),
    }
}

/// Name of such a row.
const SERVICE: &str = "  service time";

/// Failures with their share of all that ended: no rate without it.
fn failed(operation: &OperationResult) -> String {
    match operation.success_ratio {
        Some(ratio) if operation.failed > 0 => {
            format!("{} ({})", units::grouped(operation.failed), units::rounded_share(1.0 - ratio))
        }
        _ if operation.has_uncounted_failures() => of_all(operation).to_owned(),
        _ => units::grouped(operation.failed),
    }
}

/// How much of it failures are that nobody counted.
fn of_all(operation: &OperationResult) -> &'static str {
    if operation.ok == 0 { "all" } else { "nearly all" }
}

/// The same of a single one: `1 arrival had to wait`.
fn for_count(what: &str, count: u64) -> String {
    let Some((noun, rest)) = what.split_once("s ").filter(|_| count == 1) else { return what.to_owned() };
    format!("{noun} {}", rest.replacen("were ", "was ", 1))
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
        remarks.extend(stage.stopped_early.iter().map(|why| format!("{}: {why}", stage.id)));
        for operation in &stage.operations {
            let place = format!("{} {}", stage.id, stage.name_of(&operation.work, &operation.name));
            if operation.failed > 0 || operation.has_uncounted_failures() {
                remarks.push(format!("{place}: {}", errors(operation)));
                if let Some(example) = example(operation) {
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
                    remarks.push(format!("{place}: {} {}", units::grouped(count), for_count(what, count)));
                }
            }
            remarks.extend(wire_time(operation).map(|text| format!("{place}: {text}")));
            withheld |= operation.ok > 0
                && (operation.response_ms.p99.is_none() || operation.response_ms.p50.is_none());
        }
    }
    if record.stages.iter().flat_map(|stage| &stage.operations).any(times_differ) {
        remarks.push(
            "service time = from sent; the line above it counts from when an operation was due".to_owned(),
        );
    }
    if record.stages.iter().flat_map(|stage| &stage.operations).any(|op| !op.bounds.is_empty()) {
        remarks.push("within = how far off the figure above it may be; no = it does not hold".to_owned());
    }
    if let Some(by) = record.made_by.as_ref().filter(|_| withheld) {
        remarks.push(format!("- = {by} does not tell; its percentiles are upper edges of buckets of 10 ms"));
    } else if withheld && record.fio.as_ref().is_some_and(|fio| !fio.jobs.iter().all(has_all_times)) {
        remarks.push(
            "- = fio did not print it; with --output-format=json+ it prints all times that it measures"
                .to_owned(),
        );
    } else if withheld {
        remarks.push("- = too few operations for this percentile (p99 needs 1000)".to_owned());
    }
    remarks
}

/// fio's own histogram, from which every percentile can be read.
fn has_all_times(job: &FioJobRecord) -> bool {
    job.times == FioTimes::Bins
}

/// Less of the client's own than this share of a service time, and than this time, is not worth a line.
const ADDED: (f64, f64) = (0.05, 0.1);

/// What the client added to the times of an operation, if much, or why a system that could measure it did not.
fn wire_time(operation: &OperationResult) -> Option<String> {
    let (wire, added) = (&operation.wire_ms, &operation.client_added_ms);
    if !operation.wire_unstamped.is_empty()
        && let Some(reason) = &operation.wire_unmeasured
    {
        return Some(format!("wire time: not measured: {reason}"));
    }
    let (name, wire_ms, added_ms) = [("p99", wire.p99, added.p99), ("p50", wire.p50, added.p50)]
        .into_iter()
        .find_map(|(name, wire_ms, added_ms)| Some((name, wire_ms?, added_ms?)))?;
    let is_much = added_ms > ADDED.0 * (wire_ms + added_ms) && added_ms > ADDED.1;
    is_much.then(|| {
        let (added, ms) = (units::ms(added_ms), units::ms(wire_ms));
        // Of a part of them a percentile may even be above that of all.
        let all = operation.response_ms.count;
        let seen = if wire.count < all {
            format!(" (seen of {} of {} operations)", units::grouped(wire.count), units::grouped(all))
        } else {
            String::new()
        };
        format!("the client added {added} ms at {name}; on the wire the {name} is {ms} ms{seen}")
    })
}

/// A text of a failure: of the class with the most failures of which there is one.
fn example(operation: &OperationResult) -> Option<&str> {
    let failures = |text: &str| {
        let class = text.split_once(": ").map_or("", |(class, _)| class);
        operation.errors.get(class).copied().unwrap_or(0)
    };
    // Of equals the last is taken, which is the first of them here.
    operation.error_examples.iter().rev().max_by_key(|text| failures(text)).map(String::as_str)
}

fn errors(operation: &OperationResult) -> String {
    if operation.has_uncounted_failures() {
        return format!("{} failed; how many, and of what, is not told", of_all(operation));
    }
    let total = operation.ok + operation.failed;
    #[expect(clippy::cast_precision_loss, reason = "a share for people")]
    let share = units::rounded_share(operation.failed as f64 / total as f64);
    let mut kinds: Vec<_> = operation.errors.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let kinds: Vec<String> = kinds.into_iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    let codes: Vec<String> = operation.codes.iter().map(|(code, count)| format!("{code} {count}")).collect();
    let codes = if codes.is_empty() { String::new() } else { format!(" ({})", codes.join(", ")) };
    if kinds.is_empty() && codes.is_empty() {
        return format!("{share} failed; of what is not told");
    }
    format!("{share} failed: {}{codes}", kinds.join(", "))
}

#[cfg(test)]
mod tests {
    use cosmark_archive::StageRecord;
    use cosmark_metrics::results::Bound;

    use super::*;

    #[test]
    fn one_of_anything_is_no_plural() {
        let waited = "arrivals had to wait for a free worker";
        assert_eq!(for_count(waited, 2), waited);
        assert_eq!(for_count(waited, 1), "arrival had to wait for a free worker");
        let dropped = for_count("arrivals were dropped: no worker was free", 1);
        assert_eq!(dropped, "arrival was dropped: no worker was free");
        assert_eq!(for_count("logins were renewed", 1), "login was renewed");
    }

    #[test]
    fn the_example_of_failures_is_one_of_the_most_frequent() {
        let text = |class: &str| format!("{class}: why: of {class}");
        let of = |counts: &[(&str, u64)], classes: &[&str]| {
            let operation = OperationResult {
                errors: counts.iter().map(|(class, count)| ((*class).to_owned(), *count)).collect(),
                error_examples: classes.iter().map(|class| text(class)).collect(),
                ..OperationResult::default()
            };
            example(&operation).map(str::to_owned)
        };
        let counts = [("connect", 15), ("reset", 1), ("timeout", 15)];
        assert_eq!(of(&counts, &["reset", "connect"]), Some(text("connect")));
        assert_eq!(of(&counts, &["reset", "timeout", "connect"]), Some(text("timeout")));
        assert_eq!(of(&counts, &["reset"]), Some(text("reset")), "of the others none was seen");
        assert_eq!(of(&[], &["odd", "other"]), Some(text("odd")));
        assert_eq!(of(&counts, &[]), None);
    }

    #[test]
    fn what_failed_as_a_whole_is_not_shown_without_failures_where_nobody_counted_them() {
        let of = |ok, failed, ratio| {
            let operation =
                OperationResult { ok, failed, success_ratio: ratio, ..OperationResult::default() };
            (super::failed(&operation), errors(&operation))
        };
        let (cell, remark) = of(0, 0, Some(0.0));
        assert_eq!(cell, "all");
        assert!(remark.starts_with("all failed; how many"), "{remark}");
        assert!(of(0, 7, Some(0.0)).0.starts_with("7 (100"));
        assert_eq!(of(1, 0, Some(0.0)).0, "nearly all", "the share has two digits");
        assert_eq!(of(7, 0, Some(1.0)).0, "0");
        assert_eq!(of(0, 0, None).0, "0", "nothing ended");
    }

    #[test]
    fn a_wire_time_of_a_part_of_the_operations_says_of_how_many() {
        let times = |count, p99| Latencies { count, p99: Some(p99), ..Latencies::default() };
        let of = |seen| {
            wire_time(&OperationResult {
                response_ms: times(10_187, 1.06),
                wire_ms: times(seen, 1.11),
                client_added_ms: times(seen, 0.74),
                ..OperationResult::default()
            })
            .unwrap()
        };
        assert!(of(1_540).ends_with("1.11 ms (seen of 1 540 of 10 187 operations)"), "{}", of(1_540));
        assert!(of(10_187).ends_with("on the wire the p99 is 1.11 ms"), "{}", of(10_187));
    }

    fn operation(low: f64, high: f64, why: Option<&str>) -> OperationResult {
        let bound = Bound {
            low: Some(low),
            high: Some(high),
            within: Some(0.1),
            does_not_hold: why.map(str::to_owned),
            ..Bound::default()
        };
        let mut operation = OperationResult { throughput_per_s: Some(100.0), ..OperationResult::default() };
        operation.bounds.insert("throughput_per_s".to_owned(), bound);
        operation
    }

    #[test]
    fn a_figure_says_to_which_side_it_may_be_further_off_and_never_less_than_it_is() {
        let rate = METRICS.iter().find(|metric| metric.id == "throughput_per_s").unwrap();
        let shown = |low, high, why| within(rate, &operation(low, high, why));
        assert_eq!([shown(95.9, 100.2, None), shown(99.5, 103.0, None)], ["-5%", "+3%"]);
        // A locale without UTF-8 has its own sign.
        let even = [shown(99.2, 100.6, None), shown(100.0, 100.0, None)].map(|text| text.replace("+-", "±"));
        assert_eq!(even, ["±1%", "±0%"]);
        assert_eq!(shown(10.0, 100.0, Some("the client paused")), "no");
        assert_eq!(within(rate, &OperationResult::default()), "");
    }

    #[test]
    fn a_failure_among_a_million_is_no_share_of_nothing() {
        let operation = OperationResult {
            ok: 9_999_999,
            failed: 1,
            success_ratio: Some(0.999_999_9),
            errors: [("http_500".to_owned(), 1)].into(),
            ..OperationResult::default()
        };
        assert_eq!(errors(&operation), "< 0.001 % failed: http_500 1");
        assert_eq!(failed(&operation), "1 (< 0.001 %)");
    }

    #[test]
    fn results_fit_and_break_no_number_from_forty_columns_on() {
        let times = Latencies {
            count: 1_234_567,
            p50: Some(123.4),
            p95: Some(1_234.5),
            p99: Some(12_345.6),
            ..Latencies::default()
        };
        let operation = OperationResult {
            name: "read-of-what-was-written".into(),
            work: "read-of-what-was-written".into(),
            ok: 1_222_567,
            failed: 12_000,
            success_ratio: Some(0.99),
            throughput_per_s: Some(41_152.0),
            response_ms: times,
            ..OperationResult::default()
        };
        let stage =
            serde_json::json!({"id": "s1-main", "name": "main-with-a-long-name", "state": "completed"});
        let mut stage: StageRecord = serde_json::from_value(stage).unwrap();
        stage.operations = vec![operation.clone(), OperationResult { name: "write".into(), ..operation }];
        let mut record: RunRecord = serde_json::from_value(serde_json::json!({"schema": 1, "cosmark": "0", "id": "w1",
            "name": "n", "description": null, "state": "finished", "reason": null, "seed": 1, "submitted": null,
            "started": null, "ended": null, "process": null}))
        .unwrap();
        record.stages = vec![stage];
        for room in [40, 60, 80, 120] {
            let text = results_in(Some(room), &record);
            for line in text.lines() {
                assert!(crate::screen::columns_of(line) <= room, "{room}: {line}\n{text}");
            }
            for what in ["41 152", "12 000", "write"] {
                assert_eq!(
                    text.matches(what).count(),
                    if what == "write" { 1 } else { 2 },
                    "{room}:\n{text}"
                );
            }
        }
        let narrow = results_in(Some(40), &record);
        assert!(narrow.contains("stage: main-with-a-long-name\n  operation: "), "{narrow}");
    }
}
