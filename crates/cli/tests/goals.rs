//! Thresholds, searches, repetitions and comparisons with the real binary against a simulated store whose limits are known.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod support;

use std::path::Path;

use cosmark_archive::GoalStatus;
use cosmark_simstore::{Behaviour, Handle, SimStore};
use support::{run, run_json, stderr, stdout};

fn store(behaviour: &str) -> Handle {
    SimStore::start(Behaviour::from_yaml(behaviour).unwrap(), "127.0.0.1:0").unwrap()
}

/// A workload of a prepare stage and these stages, in a file.
fn workload(directory: &Path, store: &Handle, stages: &str) -> String {
    let text = format!(
        "name: goals\nseed: 7\nstorage: {{type: s3, endpoint: \"{}\", accesskey: a, secretkey: b, \
         path_style_access: true}}\ndefaults: {{containers: \"r(1,1)\", objects: \"r(1,20)\", container_prefix: goals, \
         sizes: c(1)KiB}}\nstages:\n  - {{name: init, works: [{{type: init, workers: 1}}]}}\n  - {{name: prepare, works: \
         [{{type: prepare, workers: 4}}]}}\n{stages}",
        store.url()
    );
    std::fs::write(directory.join("goals.yaml"), text).unwrap();
    "goals.yaml".to_owned()
}

const READS: &str = "operations: [{type: read, objects: \"u(1,20)\"}]";

#[test]
fn a_search_finds_the_capacity_of_a_store_that_has_one() {
    // Four servers of 20 ms: 200/s, whatever this machine does, as long as it keeps up at all.
    let store = store("capacity: {servers: 4, service_ms: 20}");
    let directory = tempfile::tempdir().unwrap();
    let stages = format!(
        "  - name: main\n    thresholds: [p90 <= 400 ms]\n    search: {{over: rate, from: 100, to: 1600, width: 30 %, confirm: \
         1, extend: 2}}\n    works: [{{name: main, workers: 256, rampup: 1s, runtime: 3s, rate: 1/s, {READS}}}]\n"
    );
    let file = workload(directory.path(), &store, &stages);
    let (output, record) = run_json(directory.path(), &["run", &file, "--quiet"]);
    let search = &record.searches[0];
    assert_eq!(record.stages.len(), 2 + search.trials.len(), "every trial is a stage");
    for (stage, trial) in record.stages[2..].iter().zip(&search.trials) {
        assert_eq!(stage.id, trial.stage);
        assert!(directory.path().join(format!("archive/w1-goals/{}.csv", stage.id)).is_file());
    }
    let top = search.trials.iter().find(|trial| trial.load >= 400.0).unwrap();
    assert_eq!(top.status, GoalStatus::Fail, "twice the capacity is missed on any machine: {top:?}");
    let most = search.trials.iter().filter_map(|trial| trial.throughput_per_s).fold(0.0, f64::max);
    assert!(most <= 206.0, "no more than the capacity is ever completed, but {most}/s was");
    if let Some(best) = search.best {
        // A machine that does not keep up finds less, and says so; more is never right.
        assert!(best <= 260.0, "{search:?}");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    } else {
        assert_eq!(output.status.code(), Some(6));
    }
    let shown = stdout(&run(directory.path(), &["show", "w1"]));
    assert!(shown.contains("search main: highest rate with p90 <= 400 ms"), "{shown}");
}

#[test]
fn thresholds_are_shown_recorded_and_decide_the_exit_code() {
    let store = store("delay: [{law: {constant_ms: 30}}]");
    let directory = tempfile::tempdir().unwrap();
    let stages = |thresholds: &str| {
        format!(
            "  - name: main\n    thresholds: [{thresholds}]\n    works: [{{name: main, workers: 8, runtime: 2s, {READS}}}]\n"
        )
    };
    for (thresholds, code, status) in [
        ("p50 <= 20 s, error_rate <= 5 %, throughput >= 1/s", 0, GoalStatus::Pass),
        ("read.p50_ms <= 20", 6, GoalStatus::Fail),
        ("p99_99 <= 20 s", 6, GoalStatus::NotDecided),
    ] {
        let file = workload(directory.path(), &store, &stages(thresholds));
        let (output, record) = run_json(directory.path(), &["run", &file, "--quiet"]);
        assert_eq!(output.status.code(), Some(code), "{thresholds}: {}", stderr(&output));
        assert!(record.thresholds.iter().all(|one| one.status == status), "{:?}", record.thresholds);
        assert_eq!(record.thresholds[0].stage, "s3-main");
    }
    let shown = stdout(&run(directory.path(), &["show", "w3"]));
    assert!(shown.contains("not decided") && shown.contains("needs 100000"), "{shown}");
}

#[test]
fn a_slower_store_is_found_by_comparing_and_repetitions_are_put_together() {
    let directory = tempfile::tempdir().unwrap();
    let stages = format!(
        "  - name: main\n    works: [{{name: main, workers: 4, runtime: 4s, interval: 250ms, {READS}}}]\n"
    );
    for delay in [20, 60] {
        let store = store(&format!("delay: [{{law: {{constant_ms: {delay}}}}}]"));
        let file = workload(directory.path(), &store, &stages);
        let args: &[&str] =
            if delay == 20 { &["run", &file, "-q"] } else { &["run", &file, "-q", "--repeat", "2"] };
        let output = run(directory.path(), args);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let shown = stdout(&run(directory.path(), &["show", "w2"]));
    assert!(shown.contains("medians over repetitions"), "{shown}");
    let same = run(directory.path(), &["compare", "w1", "w1"]);
    assert!(same.status.success() && stdout(&same).contains("no difference shown"), "{}", stdout(&same));
    // The stages of the second run are called main-r1 and main-r2: only prepare is on both sides.
    let other = stdout(&run(directory.path(), &["compare", "w1", "w2"]));
    assert!(other.contains("main read: only on the first side"), "{other}");
    let store = store("delay: [{law: {constant_ms: 60}}]");
    let file = workload(directory.path(), &store, &stages);
    assert!(run(directory.path(), &["run", &file, "-q"]).status.success());
    let slower = run(directory.path(), &["compare", "w1", "w3", "--fail-on", "mean +20%"]);
    assert_eq!(slower.status.code(), Some(6), "{}", stdout(&slower));
    assert!(stdout(&slower).contains("WORSE (fails)"), "{}", stdout(&slower));
    let json = run(directory.path(), &["compare", "w1", "w3", "--format", "json"]);
    let value: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(value["pairs"][0]["rows"].as_array().unwrap().len() >= 5);
    let bad = run(directory.path(), &["compare", "w1", "w9"]);
    assert_eq!(bad.status.code(), Some(2), "{}", stderr(&bad));
}
