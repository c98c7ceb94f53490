//! Runs side by side, and every result of the history in one table.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::StatusCode;
use cosmark_archive::{OperationResult, RunRecord, open_run};
use cosmark_metrics::Latencies;
use cosmark_report::compare::{Comparison, Loaded, Options, compare as put_side_by_side, load_by};
use cosmark_verdict::open_judged;
use serde::{Deserialize, Serialize};

use super::answer::{Given, Params, blocking, json};
use super::archived::directory;
use super::history::{Filter, select};
use super::{No, Shared};

/// Runs that are put side by side at most.
const MOST_RUNS: usize = 50;
/// Runs whose results go into one table.
const MOST_ROWS_OF: usize = 500;

/// What to compare.
#[derive(Debug, Deserialize)]
pub struct CompareWish {
    runs: String,
    threshold: Option<f64>,
}

/// `GET compare`
pub async fn compare(State(app): State<Shared>, Params(wish): Params<CompareWish>) -> Given<Comparison> {
    let least = match wish.threshold {
        None => Options::default().least,
        Some(percent) if (0.0..100.0).contains(&percent) => percent / 100.0,
        Some(_) => return Err(No::bad("threshold: give a number of per cent from 0 and below 100")),
    };
    json(
        blocking(move || {
            let sides: Vec<Vec<&str>> = wish
                .runs
                .split(',')
                .map(|side| side.split(['+', ' ']).map(str::trim).filter(|id| !id.is_empty()).collect())
                .collect();
            let count: usize = sides.iter().map(Vec::len).sum();
            if sides.len() < 2 || count > MOST_RUNS || sides.iter().any(Vec::is_empty) {
                return Err(No::bad(format!("runs: name 2 to {MOST_RUNS} runs by commas, such as w3,w4")));
            }
            let load_one = |id: &&str| Ok(load_by(id, &directory(&app, id)?, open_judged)?);
            let loaded: Result<Vec<Vec<Loaded>>, No> =
                sides.iter().map(|side| side.iter().map(load_one).collect()).collect();
            let effect = Options::default().effect.max(least);
            let comparison = put_side_by_side(&loaded?, &Options { least, effect, ..Options::default() });
            if comparison.is_empty() {
                let notes: Vec<&str> =
                    comparison.pairs.iter().flat_map(|pair| &pair.warnings).map(String::as_str).collect();
                let text = format!("nothing to compare: {}", notes.join("; "));
                return Err(No::new(StatusCode::CONFLICT, text));
            }
            Ok(comparison)
        })
        .await?,
    )
}

/// One operation of one stage of one run.
#[derive(Debug, Serialize)]
pub struct Row {
    run: String,
    name: String,
    submitted: Option<String>,
    state: String,
    verdict: Option<String>,
    tags: Vec<String>,
    stage: String,
    stage_state: &'static str,
    work: String,
    operation: String,
    op: String,
    workers: u32,
    window_s: f64,
    #[serde(rename = "count")]
    ok: u64,
    #[serde(rename = "failures")]
    failed: u64,
    missed: u64,
    bytes: u64,
    throughput_per_s: Option<f64>,
    bandwidth_bytes_per_s: Option<f64>,
    success_ratio: Option<f64>,
    response_ms: Latencies,
    service_ms: Latencies,
    first_byte_ms: Latencies,
    wire_ms: Latencies,
    client_added_ms: Latencies,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metrics: BTreeMap<String, f64>,
}

/// `GET matrix`
pub async fn matrix(State(app): State<Shared>, Params(mut filter): Params<Filter>) -> Given<Vec<Row>> {
    filter.limit = Some(filter.limit.unwrap_or(200).min(MOST_ROWS_OF));
    json(
        blocking(move || {
            let mut rows = Vec::new();
            for run in select(&app, &filter)? {
                // One that cannot be read does not hide the others.
                let Ok(path) = directory(&app, &run.id) else { continue };
                let Ok(open) = open_run(&path) else { continue };
                let RunRecord { stages, .. } = open.record;
                for stage in &stages {
                    let row = |op: &OperationResult| Row {
                        run: run.id.clone(),
                        name: run.name.clone(),
                        submitted: run.submitted.clone(),
                        state: run.state.clone(),
                        verdict: run.verdict.clone(),
                        tags: run.tags.clone(),
                        stage: stage.name.clone(),
                        stage_state: stage.state.word(),
                        work: op.work.clone(),
                        operation: op.name.clone(),
                        op: op.op.clone(),
                        workers: op.workers,
                        window_s: op.window_s,
                        ok: op.ok,
                        failed: op.failed,
                        missed: op.missed,
                        bytes: op.bytes,
                        throughput_per_s: op.throughput_per_s,
                        bandwidth_bytes_per_s: op.bandwidth_bytes_per_s,
                        success_ratio: op.success_ratio,
                        response_ms: op.response_ms.clone(),
                        service_ms: op.service_ms.clone(),
                        first_byte_ms: op.first_byte_ms.clone(),
                        wire_ms: op.wire_ms.clone(),
                        client_added_ms: op.client_added_ms.clone(),
                        metrics: op.metrics.clone(),
                    };
                    rows.extend(stage.operations.iter().map(row));
                }
            }
            Ok(rows)
        })
        .await?,
    )
}
