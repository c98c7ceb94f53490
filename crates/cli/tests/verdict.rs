//! The verdict on real runs: the binary against a simulated store in which one thing is wrong, and one in which nothing is.
//! What this machine does meanwhile is its own affair: checks of the machine itself are not asserted to pass.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]

mod support;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cosmark_archive::{Check, CheckStatus, Overall, RunRecord, Verdict};
use cosmark_simstore::{Behaviour, Handle, SimStore};

use support::{cosmark, repository, run, stderr, stdout};

/// Runs share two processors with their store: one at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

const NULL: &str = "store: {mode: 'null', null_bytes: 4096}\ntime_zero: first_request\n";
const READS: &str = "operations: [{type: read, containers: c(1), objects: 'u(1,100)'}]";

fn start(behaviour: &str) -> Handle {
    SimStore::start(Behaviour::from_yaml(behaviour).unwrap(), "127.0.0.1:0").unwrap()
}

fn storage(store: &Handle, more: &str) -> String {
    format!(
        "{{type: s3, endpoint: '{}', accesskey: a, secretkey: b, path_style_access: true, timeout: 60s, sut_cache: \
         intended, sut_background: none{more}}}",
        store.url()
    )
}

fn one_work(store: &Handle, fields: &str) -> String {
    format!(
        "name: v\nseed: 7\nstorage: {}\nstages:\n  - name: main\n    works:\n      - {{name: main, \
         acceptable_failure_ratio: 1, interval: 1s, {fields}}}\n",
        storage(store, "")
    )
}

/// Runs a workload and gives what `run.json` says.
fn result(directory: &Path, workload: &str, more: &[&str]) -> RunRecord {
    std::fs::write(directory.join("v.yaml"), workload).unwrap();
    let output = cosmark(directory)
        .args(["run", "v.yaml", "--json", "--quiet", "--no-report"])
        .args(more)
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{}", stderr(&output)))
}

fn judged(behaviour: &str, fields: &str, more: &[&str]) -> Verdict {
    let _alone = alone();
    let store = start(behaviour);
    let directory = tempfile::tempdir().unwrap();
    let record = result(directory.path(), &one_work(&store, fields), more);
    store.stop();
    record.verdict
}

fn check<'a>(verdict: &'a Verdict, id: &str) -> &'a Check {
    verdict.checks.iter().find(|check| check.id == id).unwrap_or_else(|| panic!("no {id}: {verdict:?}"))
}

fn assert_fails(verdict: &Verdict, id: &str, words: &str) {
    let found = check(verdict, id);
    assert!(found.status == CheckStatus::Fail && found.message.contains(words), "{found:?}");
    assert_eq!(verdict.overall, Overall::False);
}

#[test]
fn a_healthy_run_fires_nothing_and_is_only_too_short() {
    let once = || {
        judged(
            &format!("{NULL}delay: {{op: get, law: {{constant_ms: 20}}}}\n"),
            &format!("workers: 16, rampup: 1s, runtime: 5s, {READS}"),
            &[],
        )
    };
    // Where the machine stands still at the end of the window, all that is under way there is older than the p99, where it
    // does so for seconds there was no load, and where others have opened many connections, ports are rare: that is so,
    // and says nothing of this store.
    let is_of_a_moment = |verdict: &Verdict| {
        let (ends, ports, stood) = (check(verdict, "V10"), check(verdict, "V18"), check(verdict, "V16"));
        ends.status != CheckStatus::Pass
            || ports.message.contains("of the ports of driver")
            || stood.status != CheckStatus::NotRun
    };
    let verdict = std::iter::repeat_with(once).take(6).find(|verdict| !is_of_a_moment(verdict));
    let verdict = verdict.unwrap_or_else(once);
    for check in &verdict.checks {
        // A busy machine is seen by its own checks; five seconds are too few for a stable p99.
        let own = matches!(check.id.as_str(), "V2" | "V5" | "V6" | "V8" | "V11" | "V19" | "V25");
        let fine = matches!(check.status, CheckStatus::Pass | CheckStatus::NotRun);
        assert!(fine || own, "{} {}", check.id, check.message);
    }
    for id in ["V1", "V10", "V12", "V13", "V18", "V21", "V23", "V24"] {
        assert_eq!(check(&verdict, id).status, CheckStatus::Pass, "{:?}", check(&verdict, id));
    }
    let length = check(&verdict, "V9");
    assert!(
        length.allows == Overall::NotProven && length.message.contains("shorter than 60 s"),
        "{length:?}"
    );
    assert_eq!(verdict.checks.len(), 26);
}

#[test]
fn a_mix_that_deletes_what_it_reads_is_false_and_the_missing_objects_are_named() {
    let _alone = alone();
    let store = start("store: {mode: full}\n");
    let directory = tempfile::tempdir().unwrap();
    let workload = format!(
        "name: v\nseed: 7\nstorage: {}\ndefaults: {{containers: 'r(1,1)', sizes: c(1)KB}}\nstages:\n  - {{name: init, works: \
         [{{type: init, workers: 1}}]}}\n  - {{name: prepare, works: [{{type: prepare, workers: 4, objects: 'r(1,100)'}}]}}\n  \
         - name: main\n    works:\n      - {{name: main, workers: 8, total_ops: 6000, acceptable_failure_ratio: 1, interval: \
         1s, operations: [{{type: read, ratio: 80, containers: c(1), objects: 'u(1,100)'}}, {{type: write, ratio: 15, \
         containers: c(1), objects: 'u(1,100)'}}, {{type: delete, ratio: 5, containers: c(1), objects: 'u(1,100)'}}]}}\n",
        storage(&store, "")
    );
    let before = {
        std::fs::write(directory.path().join("v.yaml"), &workload).unwrap();
        stdout(&run(directory.path(), &["check", "v.yaml"]))
    };
    assert!(
        before.contains("of read find nothing: `delete` of s3-main deletes objects 1 to 100"),
        "{before}"
    );
    let record = result(directory.path(), &workload, &[]);
    let verdict = &record.verdict;
    let read = support::operation(&record, "main", "read");
    let share = 1.0 - read.success_ratio.unwrap();
    let predicted = check(verdict, "V13").value.unwrap();
    assert!((share - predicted).abs() < 0.03, "observed {share}, predicted {predicted}");
    assert_fails(verdict, "V13", "objects 1 to 100 of container 1");
    assert_fails(verdict, "V12", "deletes objects 1 to 100 of container 1");
    // The same from the files, and a strict run of it ends with 7.
    let again = run(directory.path(), &["judge", "w1", "--json", "--strict"]);
    assert_eq!(again.status.code(), Some(7));
    assert_eq!(&serde_json::from_slice::<Verdict>(&again.stdout).unwrap(), verdict);
    let strict = run(directory.path(), &["run", "v.yaml", "--quiet", "--strict", "--color", "always"]);
    assert_eq!(strict.status.code(), Some(7), "{}", stderr(&strict));
    let shown = stdout(&run(directory.path(), &["show", "w1"]));
    assert!(shown.lines().nth(1).unwrap().starts_with("verdict: FALSE: s3-main: "), "{shown}");
    // Where colour is wanted, FALSE and each other check that failed are red, as the run ends and later.
    for shown in [stdout(&strict), stdout(&run(directory.path(), &["show", "w1", "--color", "always"]))] {
        let red = ["\nverdict: \x1b[31mFALSE\x1b[0m: ", "\n  \x1b[31mFAIL\x1b[0m "];
        assert!(red.iter().all(|text| shown.contains(text)), "{shown:?}");
    }
    store.stop();
}

#[test]
fn a_store_that_dies_in_a_closed_loop_does_not_look_fine() {
    let _alone = alone();
    let store = start(&format!("{NULL}delay: {{op: get, law: {{constant_ms: 10}}}}\n"));
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(
        directory.path().join("v.yaml"),
        one_work(&store, &format!("workers: 4, runtime: 12s, {READS}")),
    )
    .unwrap();
    let mut child = cosmark(directory.path())
        .args(["run", "v.yaml", "--quiet", "--json"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // Some seconds of load, whenever it began.
    let intervals = directory.path().join("archive/w1-v/intervals.csv");
    let patience = Instant::now();
    while std::fs::read_to_string(&intervals).map_or(0, |text| text.lines().count()) < 5 {
        assert!(patience.elapsed() < Duration::from_secs(120), "no load");
        assert!(child.try_wait().unwrap().is_none(), "the run ended before its store");
        std::thread::sleep(Duration::from_millis(50));
    }
    store.stop();
    child.wait().unwrap();
    let run = cosmark_archive::open_run(&directory.path().join("archive/w1-v")).unwrap();
    let verdict = run.record.verdict;
    assert_eq!(verdict.overall, Overall::False, "{verdict:?}");
    assert_fails(&verdict, "V8", "no operation succeeded in");
}

#[test]
fn operations_that_hang_are_not_forgotten() {
    let for_s = |runtime_s: u32| {
        judged(
            &format!(
                "{NULL}delay: [{{op: get, law: {{constant_ms: 5}}}}, {{op: get, every_nth: 300, law: {{constant_ms: 50000}}}}]\n"
            ),
            &format!("workers: 8, runtime: {runtime_s}s, {READS}"),
            &["--drain", "0"],
        )
    };
    // One of 300 hangs: a busy machine may not come to the first of them in half of a short window.
    let hung = |verdict: &Verdict| check(verdict, "V10").status == CheckStatus::Fail;
    let verdict = [6, 20].into_iter().map(for_s).find(hung).unwrap_or_else(|| for_s(60));
    assert_fails(&verdict, "V10", "still running after more than half of the window");
}

#[test]
fn errors_are_counted_against_the_rate() {
    let verdict = judged(
        &format!("{NULL}errors: {{op: get, status: 503, every_nth: 20}}\n"),
        &format!("workers: 4, total_ops: 2000, {READS}"),
        &[],
    );
    assert_fails(&verdict, "V12", "5 % of all operations failed (http_503 100)");
}

#[test]
fn an_overloaded_store_has_no_steady_latency() {
    let verdict = judged(
        &format!("{NULL}capacity: {{servers: 1, service_ms: 20, op: get}}\n"),
        &format!("workers: 400, runtime: 5s, rate: 100/s, {READS}"),
        &[],
    );
    assert_fails(&verdict, "V4", "the store fell behind");
}

#[test]
fn a_client_that_cannot_keep_up_is_blamed_and_not_the_store() {
    let verdict = judged(
        NULL,
        &format!("workers: 2000, runtime: 5s, rate: 200000/s, {READS}"),
        &["--threads", "1", "--drain", "1"],
    );
    let blamed = |id| matches!(check(&verdict, id).status, CheckStatus::Warn | CheckStatus::Fail);
    assert!(blamed("V3") || blamed("V5"), "{:?} {:?}", check(&verdict, "V3"), check(&verdict, "V5"));
    assert_eq!(verdict.overall, Overall::False);
}

#[test]
fn a_new_connection_for_every_request_is_seen() {
    let verdict =
        judged(&format!("{NULL}close_after: 1\n"), &format!("workers: 4, total_ops: 1000, {READS}"), &[]);
    assert_fails(&verdict, "V18", "opened a new connection");
}

#[test]
fn short_bodies_make_speed_moot() {
    let verdict = judged(
        &format!("{NULL}truncate: {{op: get, every_nth: 100}}\n"),
        &format!("workers: 4, total_ops: 1000, {READS}"),
        &[],
    );
    assert_fails(&verdict, "V20", "10 bodies were wrong or short");
}

#[test]
fn a_level_that_falls_during_the_run_is_a_curve() {
    // Both are long beside what a busy machine adds to each operation.
    let verdict = judged(
        &format!(
            "{NULL}delay: [{{op: get, until_s: 6, law: {{constant_ms: 60}}}}, {{op: get, from_s: 6, law: {{constant_ms: 240}}}}]\n"
        ),
        &format!("workers: 8, runtime: 12s, {READS}"),
        &[],
    );
    let found = check(&verdict, "V8");
    // What a client may do to a rate that has no processor for a part of the time is said, and is no proof against the
    // store.
    let is_false = found.status == CheckStatus::Fail
        || found.status == CheckStatus::Warn
            && found.message.contains("the client had no processor for up to");
    assert!(is_false && found.message.contains("throughput"), "{found:?}");
}

#[test]
fn a_data_set_that_fits_into_memory_measures_memory() {
    let _alone = alone();
    let store = start("store: {mode: full}\n");
    let directory = tempfile::tempdir().unwrap();
    let target = storage(&store, ", sut_ram: 64GiB").replace("sut_cache: intended, ", "");
    let workload = format!(
        "name: v\nseed: 7\nstorage: {target}\ndefaults: {{containers: 'r(1,1)', sizes: c(1)KB}}\nstages:\n  - {{name: prepare, \
         works: [{{type: prepare, workers: 2, create_container: true, objects: 'r(1,100)'}}]}}\n  - {{name: main, works: \
         [{{name: main, workers: 2, total_ops: 500, operations: [{{type: read, containers: c(1), objects: 'u(1,100)'}}]}}]}}\n"
    );
    let record = result(directory.path(), &workload, &[]);
    store.stop();
    assert_fails(&record.verdict, "V14", "this measures memory, not disks");
}

#[test]
fn runs_that_cosbench_made_are_judged_and_what_its_mock_cannot_miss_is_not_held_against_them() {
    let directory = tempfile::tempdir().unwrap();
    let archives = repository().join("crates/archive/tests/cosbench-runs");
    let output = run(
        directory.path(),
        &["judge", archives.join("w3-mock-full").to_str().unwrap(), "--json", "--strict"],
    );
    // By its workload a quarter of the reads would find nothing, but all succeeded: the mock finds every object.
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let verdict: Verdict = serde_json::from_slice(&output.stdout).unwrap();
    let objects = check(&verdict, "V13");
    assert!(
        objects.status == CheckStatus::NotRun && objects.message.contains("holds no objects"),
        "{objects:?}"
    );
    let coarse = check(&verdict, "C4");
    assert!(
        coarse.status == CheckStatus::Warn && coarse.message.contains("anywhere from 0 to 10 ms"),
        "{coarse:?}"
    );
    let twice =
        verdict.checks.iter().find(|check| check.id == "C3" && check.status == CheckStatus::Warn).unwrap();
    assert!(twice.message.contains("write gives 1 000 there and 500 in the results"), "{twice:?}");
    let output = run(directory.path(), &["judge", archives.join("w23-swift-real").to_str().unwrap()]);
    assert!(output.status.success() && stdout(&output).contains("made by COSBench"), "{}", stderr(&output));
}

#[test]
fn a_run_that_is_named_five_times_was_not_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let workload = "name: v\nstorage: {type: mock}\nstages:\n  - {name: main, works: [{name: main, workers: 1, total_ops: 50, \
                    operations: [{type: read, containers: c(1), objects: 'u(1,100)'}]}]}\n";
    result(directory.path(), workload, &[]);
    let place = directory.path().join("archive/w1-v");
    let output = run(directory.path(), &["judge", "w1", "w1", place.to_str().unwrap(), "w1", "w1", "--json"]);
    // One verdict, and no list of them.
    let verdict: Verdict = serde_json::from_slice(&output.stdout).unwrap();
    let found = check(&verdict, "V22");
    assert!(found.status == CheckStatus::NotRun && found.message.contains("one run"), "{found:?}");
    assert!(stderr(&output).contains("w1 is named twice"), "{}", stderr(&output));
}
