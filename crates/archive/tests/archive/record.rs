//! `run.json`: the form that scripts rely on, there and back, and its published schema.

use std::path::{Path, PathBuf};

use cosmark_archive::{Check, CheckStatus, Overall, RunRecord, RunState, Verdict, open_run};
use serde_json::{Value, json};

use crate::support::{failures, mixed, new_run, open, run_to_the_end, successes, text};

fn sample() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let model = mixed("sample");
    let mut run = open(dir.path()).begin(&new_run(&model)).unwrap();
    let mut read = successes(2000, 1.7, 4096);
    read.merge(&failures(12, "http_503"));
    read.merge(&failures(1, "timeout"));
    read.add_code("SlowDown");
    (read.unfinished, read.delayed, read.retries) = (2, 3, 4);
    let path = run_to_the_end_with_verdict(&mut run, &model, &[read, successes(15, 2.0, 10)]);
    (dir, path)
}

fn run_to_the_end_with_verdict(
    run: &mut cosmark_archive::RunDir,
    model: &cosmark_workload::Workload,
    ops: &[cosmark_metrics::OpSnapshot],
) -> PathBuf {
    let mut record = run.record().clone();
    record.state = RunState::Failed;
    record.reason = Some("stage s1-main missed its acceptable failure ratio".into());
    record.stages[0].set_results(&model.stages[0], 0, &[(30.0, ops.to_vec())]);
    record.stages[0].operations[0].error_examples = vec!["GET /b/o: 503 SlowDown".into()];
    record.verdict = Verdict {
        overall: Overall::TrueWithLimits,
        reason: None,
        checks: vec![Check {
            id: "V1".into(),
            name: "littles_law".into(),
            stage: Some("s1-main".into()),
            status: CheckStatus::NotRun,
            allows: Overall::True,
            value: None,
            limit: Some(0.05),
            message: "no operation log".into(),
            moves: None,
            because: None,
        }],
    };
    run.finish(&record, &[cosmark_archive::StageTables::of(ops)]).unwrap();
    run.path().to_owned()
}

#[test]
fn the_fields_that_scripts_rely_on_are_there() {
    let (_dir, path) = sample();
    let record: Value = serde_json::from_str(&text(path.join("run.json"))).unwrap();
    let operation = &record["stages"][0]["operations"][0];
    let fields = [
        "work",
        "name",
        "op",
        "sample",
        "id",
        "tag",
        "workers",
        "window_s",
        "count",
        "failures",
        "missed",
        "unfinished",
        "delayed",
        "retries",
        "bytes",
        "throughput_per_s",
        "bandwidth_bytes_per_s",
    ]
    .map(|key| &operation[key]);
    let picked = json!({
        "run": [record["schema"], record["id"], record["name"], record["state"], record["seed"], record["process"]],
        "host": record["host"],
        "submitted": record["submitted"],
        "stage": [record["stages"][0]["id"], record["stages"][0]["name"], record["stages"][0]["window_s"]],
        "operation": fields,
        "errors": [&operation["errors"], &operation["error_codes"], &operation["error_examples"]],
        "verdict": record["verdict"],
    });
    let expected = json!({
        "run": [1, "w1", "sample", "failed", 7, null],
        "host": {"hostname": "bench1", "cpus": 4, "kernel": "Linux 6.1"},
        "submitted": "2026-11-21T18:53:50Z",
        "stage": ["s1-main", "main", 30.0],
        "operation": ["main", "read", "read", "read", "op1", "s1-main.read", 4, 30.0, 2000, 13, 0, 2, 3, 4, 8_192_000,
            2000.0 / 30.0, 8_192_000.0 / 30.0],
        "errors": [{"http_503": 12, "timeout": 1}, {"SlowDown": 1}, ["GET /b/o: 503 SlowDown"]],
        "verdict": {"overall": "true_with_limits", "reason": null, "checks": [{"id": "V1", "name": "littles_law", "stage": "s1-main",
            "status": "not_run", "allows": "true", "value": null, "limit": 0.05, "message": "no operation log"}]},
    });
    assert_eq!(picked, expected);
    let response = &operation["response_ms"];
    assert_eq!((&response["count"], &response["p99_9"]), (&json!(2000), &Value::Null));
    assert_eq!(response["withheld"], "p99_9 and above need 10000 operations, there are 2000");
    assert!((response["mean"].as_f64().unwrap() - 1.7).abs() < 1e-9);
    assert_eq!(operation["connect_ms"]["mean"], Value::Null, "never 0");
}

#[test]
fn what_is_written_is_what_is_read() {
    let (_dir, path) = sample();
    let read = open_run(&path).unwrap().record;
    let again: RunRecord = serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
    assert_eq!(again, read);
    assert_eq!(read.stages[0].operations[0].failed, 13);
}

#[test]
fn a_record_of_the_documented_minimum_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let latency = json!({"mean": 1.5, "min": 1, "p50": null, "p60": null, "p80": null, "p90": null, "p95": null,
        "p99": null, "p99_9": null, "p99_99": null, "max": 2.0});
    let record = json!({ "schema": 1, "cosmark": "0.1.0", "id": "w1", "name": "x", "state": "finished", "later": true,
        "stages": [{"id": "s1-main", "name": "main", "state": "completed", "started": "2026-11-21T18:53:50Z",
            "ended": "2026-11-21T18:54:20.5+01:00", "operations": [{"work": "main", "name": "read", "op": "read",
            "sample": "read", "workers": 8, "window_s": 30.0, "count": 1, "failures": 0, "missed": 0, "bytes": 5,
            "throughput_per_s": 0.03, "bandwidth_bytes_per_s": null, "response_ms": latency, "service_ms": latency,
            "first_byte_ms": latency, "errors": {}}]}],
        "verdict": {"overall": "not_proven", "checks": []} });
    std::fs::write(dir.path().join("run.json"), record.to_string()).unwrap();
    let read = open_run(dir.path()).unwrap().record;
    assert_eq!(read.stages[0].operations[0].response_ms.min, Some(1.0));
}

fn schema_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/run.schema.json")
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let mut generated = serde_json::to_value(schemars::schema_for!(RunRecord)).unwrap();
    generated["title"] = json!("Cosmark run.json, schema 1");
    let generated = serde_json::to_string_pretty(&generated).unwrap() + "\n";
    if std::env::var_os("COSMARK_WRITE_SCHEMA").is_some() {
        std::fs::write(schema_path(), &generated).unwrap();
    }
    assert!(
        generated == text(schema_path()),
        "docs/reference/run.schema.json is old: run this test once with COSMARK_WRITE_SCHEMA=1"
    );
}

#[test]
fn a_record_fits_the_published_schema_and_a_wrong_one_does_not() {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    let schema: Value = serde_json::from_str(&text(schema_path())).unwrap();
    compiler.add_resource("run.schema.json", schema).unwrap();
    let index = compiler.compile("run.schema.json", &mut schemas).unwrap();
    let (_dir, path) = sample();
    let record: Value = serde_json::from_str(&text(path.join("run.json"))).unwrap();
    if let Err(error) = schemas.validate(&record, index) {
        panic!("{error:#}");
    }
    let pointers =
        ["/state", "/stages/0/operations/0/count", "/verdict/checks/0/status", "/stages/0/history/0/at"];
    for pointer in pointers {
        let mut wrong = record.clone();
        *wrong.pointer_mut(pointer).unwrap() = json!({"not": "this"});
        assert!(schemas.validate(&wrong, index).is_err(), "{pointer} may not be anything");
    }
}

#[test]
fn a_run_that_was_never_ended_by_its_caller_does_not_stay_running() {
    let dir = tempfile::tempdir().unwrap();
    let model = mixed("x");
    let mut run = open(dir.path()).begin(&new_run(&model)).unwrap();
    run.finish(&run.record().clone(), &[]).unwrap();
    assert_eq!(open_run(run.path()).unwrap().record.state, RunState::Terminated);
    drop(run);
    let run = open(dir.path()).begin(&new_run(&model)).unwrap();
    let path = run_to_the_end(run, &model, &[successes(1, 1.0, 1), successes(1, 1.0, 1)]);
    assert_eq!(open_run(&path).unwrap().record.state, RunState::Finished);
}

#[test]
fn the_page_for_users_names_every_field() {
    let page = text(schema_path().with_file_name("archive.md"));
    let schema: Value = serde_json::from_str(&text(schema_path())).unwrap();
    let definitions = schema["$defs"].as_object().unwrap().values();
    for definition in definitions.chain([&schema]) {
        for field in definition["properties"].as_object().iter().flat_map(|fields| fields.keys()) {
            assert!(page.contains(&format!("`{field}`")), "archive.md does not speak of `{field}`");
        }
    }
}
