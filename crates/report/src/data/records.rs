//! From the records of `run.json` to what the page shows.

use cosmark_archive::{
    Check, CheckStatus, DriversRecord, LatencyRecord, OperationRecord, Overall, PartRecord, Run, RunRecord,
    RunState, Verdict,
};

use super::model::{CheckData, GroupData, LatencyData, OperationData, RunFacts, Totals, VerdictData};

/// The run's facts.
pub fn run_facts(run: &Run) -> RunFacts {
    let record = &run.record;
    let time = |at: Option<cosmark_archive::Timestamp>| at.map(|at| at.to_string());
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
        hostname: record.host.hostname.clone(),
        cpus: record.host.cpus,
        kernel: record.host.kernel.clone(),
        drivers: record.drivers.as_ref().map(drivers_text),
        directory: run.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
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
    let Check { id, name, stage, status, allows: _, value, limit, message } = check;
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

/// A distribution; `None` when nothing was recorded.
pub fn latency(record: &LatencyRecord) -> Option<LatencyData> {
    let LatencyRecord { count, mean, min, p50, p60: _, p80: _, p90, p95, p99, p99_9, p99_99, max, withheld } =
        record.clone();
    let recorded = count > 0 || mean.is_some() || max.is_some();
    recorded.then_some(LatencyData { count, mean, min, p50, p90, p95, p99, p99_9, p99_99, max, withheld })
}

/// An operation's figures; the series are filled in by who reads them.
pub fn operation(record: &OperationRecord) -> OperationData {
    OperationData {
        work: record.work.clone(),
        name: record.name.clone(),
        op: record.op.clone(),
        sample: record.sample.clone(),
        tag: record.tag.clone(),
        workers: record.workers,
        totals: Totals {
            count: record.count,
            failures: record.failures,
            bytes: record.bytes,
            partial_bytes: record.partial_bytes,
            throughput_per_s: record.throughput_per_s,
            bandwidth_bytes_per_s: record.bandwidth_bytes_per_s,
            response_ms: latency(&record.response_ms),
            service_ms: latency(&record.service_ms),
            first_byte_ms: latency(&record.first_byte_ms),
        },
        missed: record.missed,
        delayed: record.delayed,
        unfinished: record.unfinished,
        intended: record.intended,
        checked: record.checked,
        in_flight_mean: record.in_flight_mean,
        window_s: record.window_s,
        failed_service_ms: latency(&record.failed_service_ms),
        connect_ms: latency(&record.connect_ms),
        lag_ms: latency(&record.lag_ms),
        unfinished_age_ms: latency(&record.unfinished_age_ms),
        errors: record.errors.clone(),
        error_codes: record.error_codes.clone(),
        error_examples: record.error_examples.clone(),
        requests: record.requests,
        retries: record.retries,
        connections: record.connections,
        renewals: record.renewals,
        accepted_only: record.accepted_only,
        series: None,
        latency: Vec::new(),
        distributions: Vec::new(),
        heat: None,
        size_classes: record
            .size_classes
            .iter()
            .map(|one| group(&one.label, None, &one.sums, record.window_s))
            .collect(),
        endpoints: record
            .endpoints
            .iter()
            .map(|one| group(&one.endpoint, None, &one.sums, record.window_s))
            .collect(),
        drivers: record
            .drivers
            .iter()
            .map(|one| group(&one.driver, Some(one.workers), &one.sums, record.window_s))
            .collect(),
    }
}

/// A part of an operation, with its rates over the operation's window.
fn group(label: &str, workers: Option<u32>, sums: &PartRecord, window_s: f64) -> GroupData {
    #[expect(clippy::cast_precision_loss, reason = "rates for people")]
    let per_s = |amount: u64| (window_s > 0.0).then(|| amount as f64 / window_s);
    let PartRecord { count, failures, bytes, response_ms, service_ms, first_byte_ms } = sums;
    GroupData {
        label: label.to_owned(),
        workers,
        totals: Totals {
            count: *count,
            failures: *failures,
            bytes: *bytes,
            partial_bytes: 0,
            throughput_per_s: per_s(*count),
            bandwidth_bytes_per_s: per_s(*bytes),
            response_ms: latency(response_ms),
            service_ms: latency(service_ms),
            first_byte_ms: latency(first_byte_ms),
        },
    }
}
