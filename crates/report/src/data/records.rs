//! From the records of `run.json` to what the page shows.

use cosmark_archive::{
    Check, CheckStatus, DriversRecord, OperationResult, Overall, Run, RunRecord, RunState, Verdict,
    text_of_name,
};

use cosmark_metrics::PartResult;

use super::model::{CheckData, GroupData, OperationData, RunFacts, Shown, VerdictData};

/// The run's facts.
pub fn run_facts(run: &Run) -> RunFacts {
    let record = &run.record;
    let time = |at: Option<cosmark_archive::Timestamp>| at.map(|at| at.to_string());
    let by_fio = record.fio.as_ref().map(|fio| fio.version.clone()).filter(|version| !version.is_empty());
    RunFacts {
        id: record.id.clone(),
        name: record.name.clone(),
        description: record.description.clone(),
        state: record.state.word().to_owned(),
        reason: record.reason.clone(),
        seed: record.seed.map(|seed| seed.to_string()),
        submitted: time(record.submitted),
        started: time(record.started),
        ended: time(record.ended),
        cosmark: record.cosmark.clone(),
        made_by: record.made_by.clone().or(by_fio),
        hostname: record.host.hostname.clone(),
        cpus: record.host.cpus,
        kernel: record.host.kernel.clone(),
        drivers: record.drivers.as_ref().map(drivers_text),
        directory: run.path.file_name().map(text_of_name).unwrap_or_default(),
    }
}

/// `3 of zone=a asked for, 3 took part: d1, d2, d3; they were waited for 12 s`.
fn drivers_text(drivers: &DriversRecord) -> String {
    const NAMED: usize = 20;
    let DriversRecord { wanted, waited_ms, got } = drivers;
    let names = got.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if got.len() > NAMED { ", .." } else { "" };
    let waited =
        if *waited_ms >= 1000 { format!("; waited for {} s", waited_ms / 1000) } else { String::new() };
    let names = if got.is_empty() { String::new() } else { format!(": {names}{more}") };
    format!("asked for {wanted}, got {}{names}{waited}", got.len())
}

fn overall_word(overall: Overall) -> &'static str {
    match overall {
        Overall::True => "true",
        Overall::TrueWithLimits => "true_with_limits",
        Overall::NotProven => "not_proven",
        Overall::False => "false",
    }
}

fn status_word(status: CheckStatus) -> &'static str {
    match status {
        CheckStatus::Pass => "pass",
        CheckStatus::Warn => "warn",
        CheckStatus::Fail => "fail",
        CheckStatus::NotRun => "not_run",
    }
}

/// The verdict with the sentence that decided it.
pub fn verdict(record: &RunRecord) -> VerdictData {
    let Verdict { overall, reason, checks } = &record.verdict;
    VerdictData {
        overall: overall_word(*overall).to_owned(),
        reason: reason.clone().unwrap_or_else(|| without_reason(record)),
        checks: checks.iter().map(check).collect(),
    }
}

fn check(check: &Check) -> CheckData {
    let Check { id, name, stage, status, allows: _, value, limit, message, moves: _, because: _ } = check;
    CheckData {
        id: id.clone(),
        name: name.replace('_', " "),
        stage: stage.clone(),
        status: status_word(*status).to_owned(),
        value: *value,
        limit: *limit,
        message: message.clone(),
    }
}

/// The sentence of a verdict that gives no reason: nothing speaks against the numbers, or nobody looked.
fn without_reason(record: &RunRecord) -> String {
    let checks = &record.verdict.checks;
    if record.state == RunState::Running {
        return "The run is not over.".to_owned();
    }
    if checks.is_empty() {
        return "No checks were made on this run, so nothing is known about whether its numbers can be believed."
            .to_owned();
    }
    let passed = checks.iter().filter(|check| check.status == CheckStatus::Pass).count();
    format!("{passed} of {} checks passed and none speaks against the numbers.", checks.len())
}

/// An operation's results; the series are filled in by who reads them.
pub fn operation(record: &OperationResult) -> OperationData {
    let window_s = record.window_s;
    let sizes = record.size_classes.iter().map(|one| group(&one.label, None, &one.sums, window_s));
    let endpoints = record.endpoints.iter().map(|one| group(&one.endpoint, None, &one.sums, window_s));
    let drivers = record.drivers.iter().map(|one| group(&one.driver, Some(one.workers), &one.sums, window_s));
    OperationData {
        result: Shown(record.clone()),
        series: None,
        latency: Vec::new(),
        distributions: Vec::new(),
        heat: None,
        size_classes: sizes.collect(),
        endpoints: endpoints.collect(),
        drivers: drivers.collect(),
    }
}

/// A part of an operation, with its rates over the operation's window.
fn group(label: &str, workers: Option<u32>, part: &PartResult, window_s: f64) -> GroupData {
    #[expect(clippy::cast_precision_loss, reason = "rates for people")]
    let per_s = |amount: u64| (window_s > 0.0).then(|| amount as f64 / window_s);
    GroupData {
        label: label.to_owned(),
        workers,
        throughput_per_s: per_s(part.ok),
        bandwidth_bytes_per_s: per_s(part.bytes),
        part: Shown(part.clone()),
    }
}
