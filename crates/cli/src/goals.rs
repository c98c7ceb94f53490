//! Thresholds, searches and repetitions of a run, for people.

use std::collections::BTreeMap;

use cosmark_archive::{GoalStatus, IntervalRecord, RunRecord, SearchRecord, TrialRecord, UslRecord};
use cosmark_stats::bootstrap::median;

use crate::fit::{self, Column};
use crate::paint::Ink;
use crate::screen::room;
use crate::units;

/// All of it, empty where the run has none.
#[must_use]
pub fn text(record: &RunRecord) -> String {
    let mut parts: Vec<String> = record.searches.iter().map(search).collect();
    parts.extend(repetitions(record));
    parts.extend((!record.thresholds.is_empty()).then(|| thresholds(record)));
    parts.join("\n")
}

fn thresholds(record: &RunRecord) -> String {
    let mut lines = vec!["thresholds:".to_owned()];
    for one in &record.thresholds {
        let operation = record.operation_of(one).map(|name| format!(" {name}")).unwrap_or_default();
        lines.push(format!(
            "  {:<11} {}{operation}: {}: {}",
            one.status.word(),
            one.stage,
            one.threshold,
            one.message
        ));
    }
    lines.join("\n")
}

/// The table that storage people publish: load, 95 % response time, throughput; the best row marked.
fn trials(room: Option<usize>, search: &SearchRecord) -> String {
    let load_head = if search.over == "rate" { "rate/s" } else { "workers" };
    let columns = [
        Column::text(""),
        Column::number(load_head),
        Column::number("p95 ms"),
        Column::number("mean ms").goes(4),
        Column::number("op/s"),
        Column::number("bandwidth").goes(3),
        Column::number("failed").goes(1),
        Column::number(""),
        Column::number("").goes(2),
    ];
    let row = |trial: &TrialRecord| {
        let best = search.best == Some(trial.load)
            && !matches!(trial.purpose.as_str(), "confirm" | "again" | "repeat");
        trial_row(trial, best)
    };
    let rows: Vec<Vec<String>> = search.trials.iter().map(row).collect();
    fit::table_in(room, &columns, &rows, |_, _| Ink::Plain)
}

fn search(search: &SearchRecord) -> String {
    let mut lines = vec![format!("search {}: highest {} with {}", search.name, search.over, goal(search))];
    lines.push(trials(room(), search));
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
        trial.error_ratio.map_or_else(dash, units::rounded_share),
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
    let mut groups: BTreeMap<(&str, String), Vec<Round>> = BTreeMap::new();
    for stage in &record.stages {
        let Some(name) = without_round(&stage.name) else { continue };
        for op in &stage.operations {
            let values = (op.throughput_per_s, op.response_ms.p95);
            groups.entry((name, stage.name_of(&op.work, &op.name))).or_default().push(values);
        }
    }
    groups.retain(|_, rounds| rounds.len() > 1);
    if groups.is_empty() {
        return None;
    }
    let columns = [
        Column::text("repeated stage").least(8),
        Column::text("operation").least(9),
        Column::number("runs").goes(1),
        Column::number("op/s"),
        Column::number("least").goes(2),
        Column::number("most").goes(2),
        Column::number("p95 ms"),
        Column::number("least").goes(3),
        Column::number("most").goes(3),
    ];
    let mut rows: Vec<Vec<String>> = Vec::new();
    for ((stage, operation), rounds) in &groups {
        let of = |value: fn(&Round) -> Option<f64>, show: fn(f64) -> String| {
            let values: Vec<f64> = rounds.iter().filter_map(value).collect();
            let least = values.iter().copied().reduce(f64::min);
            let most = values.iter().copied().reduce(f64::max);
            [median(&values), least, most].map(|value| value.map_or_else(|| "-".to_owned(), show))
        };
        let mut row = vec![(*stage).to_owned(), operation.clone(), rounds.len().to_string()];
        row.extend(of(|r| r.0, units::rate));
        row.extend(of(|r| r.1, units::ms));
        rows.push(row);
    }
    Some(format!("medians over repetitions:\n{}", fit::table(&columns, &rows, |_, _| Ink::Plain)))
}

/// `main-workers8` of `main-workers8-r2`.
#[must_use]
fn without_round(name: &str) -> Option<&str> {
    let (stem, round) = name.rsplit_once("-r")?;
    (!round.is_empty() && round.bytes().all(|b| b.is_ascii_digit())).then_some(stem)
}

#[cfg(test)]
mod tests {
    use cosmark_archive::OperationResult;

    use super::*;

    #[test]
    fn only_numbered_rounds_are_repetitions() {
        assert_eq!(without_round("main-workers8-r12"), Some("main-workers8"));
        for name in ["main", "main-r", "main-rate400", "random-read"] {
            assert_eq!(without_round(name), None, "{name}");
        }
    }

    /// A stage `s1-main` with reads of two works, of which each one failed, and what was asked of them.
    fn of_two_works() -> RunRecord {
        let operation = |work: &str| OperationResult {
            work: work.to_owned(),
            name: "read".to_owned(),
            ok: 9,
            failed: 1,
            errors: [("timeout".to_owned(), 1)].into(),
            ..OperationResult::default()
        };
        let threshold = |work: Option<&str>, operation: Option<&str>| {
            serde_json::json!({"stage": "s1-main", "work": work, "operation": operation, "threshold": "p95 <= 20 ms",
                "metric": "p95", "unit": "ms", "status": "fail", "message": "45 ms"})
        };
        let (hot, cold) = (threshold(Some("hot"), Some("read")), threshold(Some("cold"), Some("read")));
        let (both, all) = (threshold(None, Some("read")), threshold(None, None));
        let mut record: RunRecord = serde_json::from_value(
            serde_json::json!({"schema": 1, "cosmark": "0", "id": "w1", "name": "n", "state": "finished",
            "stages": [{"id": "s1-main", "name": "main", "state": "completed"}], "thresholds": [hot, cold, both, all]}),
        )
        .unwrap();
        record.stages[0].operations = vec![operation("hot"), operation("cold")];
        record
    }

    #[test]
    fn thresholds_and_lines_under_the_table_say_of_which_work_they_speak() {
        let record = of_two_works();
        let found: Vec<String> = text(&record).lines().skip(1).map(|line| line.trim().to_owned()).collect();
        let wanted = ["s1-main hot read", "s1-main cold read", "s1-main read", "s1-main"]
            .map(|of| format!("missed      {of}: p95 <= 20 ms: 45 ms"));
        assert_eq!(found, wanted);
        let remarks = crate::table::remarks(&record);
        for of in ["s1-main hot read: 10 % failed", "s1-main cold read: 10 % failed"] {
            assert_eq!(remarks.iter().filter(|line| line.starts_with(of)).count(), 1, "{of}: {remarks:?}");
        }
    }

    #[test]
    fn rounds_of_two_works_are_no_repetitions_of_each_other() {
        let mut record = of_two_works();
        let mut second = record.stages[0].clone();
        (record.stages[0].name, second.name) = ("main-r1".into(), "main-r2".into());
        record.stages.push(second);
        let shown = repetitions(&record).unwrap();
        let rows = ["hot read", "cold read"].map(|name| {
            shown
                .lines()
                .filter(|line| line.contains(name) && line.split_whitespace().any(|word| word == "2"))
                .count()
        });
        assert_eq!(rows, [1, 1], "{shown}");
    }

    #[test]
    fn trials_of_a_search_fit_from_forty_columns_on() {
        let trial = |load: f64, purpose: &str| TrialRecord {
            stage: "s1-main".to_owned(),
            load,
            purpose: purpose.to_owned(),
            throughput_per_s: Some(12_345.0),
            bandwidth_bytes_per_s: Some(123.4e6),
            mean_ms: Some(123.0),
            p95_ms: Some(1_234.0),
            error_ratio: Some(0.0123),
            status: GoalStatus::Pass,
            reason: None,
            thresholds: Vec::new(),
        };
        let search = SearchRecord {
            name: "main".to_owned(),
            over: "workers".to_owned(),
            thresholds: Vec::new(),
            best: Some(256.0),
            missed_at: None,
            settled: true,
            unsettled: None,
            confirmed: 2,
            notes: Vec::new(),
            trials: vec![trial(128.0, "double"), trial(256.0, "double"), trial(256.0, "confirm")],
            usl: None,
        };
        for room in [40, 60, 80, 120] {
            let text = trials(Some(room), &search);
            let widest = text.lines().map(crate::screen::columns_of).max();
            assert!(widest.is_some_and(|width| width <= room), "{room}:\n{text}");
            assert_eq!(text.matches("12 345").count(), 3, "{room}:\n{text}");
            assert_eq!(text.matches('*').count(), 1, "{room}:\n{text}");
        }
    }
}
