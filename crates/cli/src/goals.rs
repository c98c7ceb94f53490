//! Thresholds, searches and repetitions of a run, for people.

use std::collections::BTreeMap;

use comfy_table::{Cell, CellAlignment, ColumnConstraint, Table};
use cosmark_archive::{
    GoalStatus, IntervalRecord, RunRecord, SearchRecord, ThresholdRecord, TrialRecord, UslRecord,
};
use cosmark_stats::bootstrap::median;

use crate::units;

/// All of it, empty where the run has none.
#[must_use]
pub fn text(record: &RunRecord) -> String {
    let mut parts: Vec<String> = record.searches.iter().map(search).collect();
    parts.extend(repetitions(record));
    parts.extend((!record.thresholds.is_empty()).then(|| thresholds(&record.thresholds)));
    parts.join("\n")
}

/// A table whose first `left` columns are texts.
fn table(head: &[&str], left: usize) -> Table {
    let mut table = Table::new();
    table.load_style(crate::out::frame());
    table.set_header(head.iter().enumerate().map(|(at, text)| {
        Cell::new(text).set_alignment(if at < left { CellAlignment::Left } else { CellAlignment::Right })
    }));
    table
}

fn cells(texts: Vec<String>, left: usize) -> Vec<Cell> {
    let alignment = |at| if at < left { CellAlignment::Left } else { CellAlignment::Right };
    texts.into_iter().enumerate().map(|(at, text)| Cell::new(text).set_alignment(alignment(at))).collect()
}

fn thresholds(records: &[ThresholdRecord]) -> String {
    let mut lines = vec!["thresholds:".to_owned()];
    for record in records {
        let operation = record.operation.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
        lines.push(format!(
            "  {:<11} {}{operation}: {}: {}",
            record.status.word(),
            record.stage,
            record.threshold,
            record.message
        ));
    }
    lines.join("\n")
}

/// The table that storage people publish: load, 95 % response time, throughput; the best row marked.
fn search(search: &SearchRecord) -> String {
    let load_head = if search.over == "rate" { "rate/s" } else { "workers" };
    let mut table = table(&["", load_head, "p95 ms", "mean ms", "op/s", "bandwidth", "failed", "", ""], 1);
    for trial in &search.trials {
        let best = search.best == Some(trial.load)
            && !matches!(trial.purpose.as_str(), "confirm" | "again" | "repeat");
        table.add_row(cells(trial_row(trial, best), 1));
    }
    table.set_constraints((0..9).map(|_| ColumnConstraint::ContentWidth));
    let mut lines = vec![format!("search {}: highest {} with {}", search.name, search.over, goal(search))];
    lines.push(table.to_string());
    lines.push(answer(search));
    lines.extend(search.notes.iter().map(|note| format!("  {note}")));
    let missed = search
        .trials
        .iter()
        .rev()
        .find(|trial| search.missed_at == Some(trial.load) && trial.status != GoalStatus::Pass);
    if let Some(trial) = missed
        && let Some(reason) = &trial.reason
    {
        lines.push(format!("  at {}: {reason}", units::plain(trial.load)));
    }
    lines.extend(search.usl.as_ref().map(usl));
    lines.join("\n")
}

fn goal(search: &SearchRecord) -> String {
    if search.thresholds.is_empty() { "no threshold".to_owned() } else { search.thresholds.join(", ") }
}

fn trial_row(trial: &TrialRecord, best: bool) -> Vec<String> {
    let dash = || "-".to_owned();
    let ms = |value: Option<f64>| value.map_or_else(dash, units::ms);
    vec![
        if best { "*" } else { "" }.to_owned(),
        units::plain(trial.load),
        ms(trial.p95_ms),
        ms(trial.mean_ms),
        trial.throughput_per_s.map_or_else(dash, units::rate),
        trial.bandwidth_bytes_per_s.filter(|rate| *rate > 0.0).map_or_else(dash, units::bandwidth),
        trial.error_ratio.map_or_else(dash, |ratio| format!("{:.2} %", ratio * 100.0)),
        trial.status.word().to_owned(),
        trial.purpose.clone(),
    ]
}

fn answer(search: &SearchRecord) -> String {
    let why = search.unsettled.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let Some(best) = search.best else { return format!("  no load met the thresholds{why}") };
    let unit = if search.over == "rate" { "/s" } else { " workers" };
    let missed = search.missed_at.map(|load| format!(", missed at {}{unit}", units::plain(load)));
    let settled = if search.settled {
        format!("; settled, both ends confirmed, {} times at the answer", search.confirmed)
    } else {
        format!("; not settled{why}")
    };
    format!("  met at {}{unit}{}{settled}", units::plain(best), missed.unwrap_or_default())
}

fn usl(usl: &UslRecord) -> String {
    let interval = |i: &IntervalRecord| format!("{:.3e} ({:.3e} to {:.3e})", i.value, i.low, i.high);
    let peak = usl.peak_workers.map_or_else(
        || "no retrograde scaling visible".to_owned(),
        |peak| format!("throughput peaks at {:.0} workers ({:.0} to {:.0})", peak.value, peak.low, peak.high),
    );
    format!(
        "  scalability law: {:.1} op/s with one worker ({:.1} to {:.1}), contention {}, coherence {}; {peak}; fits to {:.0} %",
        usl.one_per_s.value,
        usl.one_per_s.low,
        usl.one_per_s.high,
        interval(&usl.contention),
        interval(&usl.coherence),
        usl.largest_residual * 100.0
    )
}

/// Throughput per second and 95th percentile in ms of one repetition.
type Round = (Option<f64>, Option<f64>);

/// Stages named `x-r1`, `x-r2` .. put together: medians and ranges over the repetitions.
fn repetitions(record: &RunRecord) -> Option<String> {
    let mut groups: BTreeMap<(&str, &str), Vec<Round>> = BTreeMap::new();
    for stage in &record.stages {
        let Some(name) = without_round(&stage.name) else { continue };
        for op in &stage.operations {
            let values = (op.throughput_per_s, op.response_ms.p95);
            groups.entry((name, &op.name)).or_default().push(values);
        }
    }
    groups.retain(|_, rounds| rounds.len() > 1);
    if groups.is_empty() {
        return None;
    }
    let mut table = table(
        &["repeated stage", "operation", "runs", "op/s", "least", "most", "p95 ms", "least", "most"],
        2,
    );
    for ((stage, operation), rounds) in &groups {
        let of = |value: fn(&Round) -> Option<f64>, show: fn(f64) -> String| {
            let values: Vec<f64> = rounds.iter().filter_map(value).collect();
            let least = values.iter().copied().reduce(f64::min);
            let most = values.iter().copied().reduce(f64::max);
            [median(&values), least, most].map(|value| value.map_or_else(|| "-".to_owned(), show))
        };
        let mut row = vec![(*stage).to_owned(), (*operation).to_owned(), rounds.len().to_string()];
        row.extend(of(|r| r.0, units::rate));
        row.extend(of(|r| r.1, units::ms));
        table.add_row(cells(row, 2));
    }
    table.set_constraints((0..9).map(|_| ColumnConstraint::ContentWidth));
    Some(format!("medians over repetitions:\n{table}"))
}

/// `main-workers8` of `main-workers8-r2`.
#[must_use]
fn without_round(name: &str) -> Option<&str> {
    let (stem, round) = name.rsplit_once("-r")?;
    (!round.is_empty() && round.bytes().all(|b| b.is_ascii_digit())).then_some(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbered_rounds_are_repetitions() {
        assert_eq!(without_round("main-workers8-r12"), Some("main-workers8"));
        for name in ["main", "main-r", "main-rate400", "random-read"] {
            assert_eq!(without_round(name), None, "{name}");
        }
    }
}
