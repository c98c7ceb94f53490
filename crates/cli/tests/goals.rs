//! Thresholds, searches, repetitions and comparisons with the real binary against a simulated store whose limits are known.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[path = "goals/durability.rs"]
mod durability;
#[path = "goals/full.rs"]
mod full;
mod support;

use std::path::Path;

use cosmark_archive::GoalStatus;
use cosmark_simstore::{Behaviour, Handle, SimStore};
use support::{run, run_json, skipped, stderr, stdout};

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
        "  - name: main\n    thresholds: [p90 <= 400 ms]\n    search: {{over: rate, from: 150, to: 700, width: 15 %, confirm: \
         2, max_time: 120s}}\n    works: [{{name: main, workers: 256, rampup: 1s, runtime: 4s, rate: 1/s, {READS}}}]\n"
    );
    let file = workload(directory.path(), &store, &stages);
    let (output, record) = run_json(directory.path(), &["run", &file, "--quiet"]);
    let search = &record.searches[0];
    assert_eq!(record.stages.len(), 2 + search.trials.len(), "every trial is a stage");
    for (stage, trial) in record.stages[2..].iter().zip(&search.trials) {
        assert_eq!(stage.id, trial.stage);
        assert!(directory.path().join(format!("archive/w1-goals/{}.csv", stage.id)).is_file());
    }
    let top = search.trials.iter().find(|trial| trial.load >= 400.0);
    assert!(
        top.is_none_or(|top| matches!(top.status, GoalStatus::Fail | GoalStatus::NotProven)),
        "twice the capacity is never met: {top:?}"
    );
    let log = store.log().unwrap();
    let held_up_ns = log.iter().map(|one| one.headers_ns.saturating_sub(one.due_ns)).max().unwrap_or(0);
    for (stage, trial) in record.stages[2..].iter().zip(&search.trials) {
        // What a long pause of the store or of the client holds up comes behind it, perhaps in a window of 4 s that
        // begins then.
        let pauses = stage.clients.iter().filter_map(|client| client.pause_max_ms);
        let paused_ms = pauses.fold(held_up_ns as f64 / 1e6, f64::max);
        let behind_per_s = if paused_ms > 50.0 { 200.0 * paused_ms / 4000.0 } else { 0.0 };
        let done_per_s = trial.throughput_per_s.unwrap_or(0.0);
        assert!(
            done_per_s <= 206.0 + behind_per_s,
            "no more than the capacity is ever completed, but {done_per_s}/s was with pauses of {paused_ms} ms"
        );
    }
    // More is never right: in 5 s a load 5 % above the capacity leaves a queue of 250 ms.
    assert!(search.best.is_none_or(|best| best <= 212.0), "{search:?}");
    assert_eq!(output.status.code(), Some(if search.best.is_some() { 0 } else { 6 }), "{}", stderr(&output));
    if search.settled {
        let (best, missed) = (search.best.unwrap(), search.missed_at.unwrap());
        // A store that was itself kept from its work did answer later than its script says.
        let held_up = held_up_ns > 100_000_000;
        assert!(
            best <= 206.0 && (missed >= 194.0 || held_up),
            "200 does not lie between {best} and {missed}: {search:?}"
        );
        assert!(missed / best <= 1.16 && search.confirmed >= 2, "{search:?}");
        for end in [best, missed] {
            let trials = search.trials.iter().filter(|trial| trial.load == end).count();
            assert!(trials >= 3, "{trials} trials at {end}");
        }
    } else {
        // A machine that does not keep up settles nothing, and says why.
        assert!(search.unsettled.as_ref().is_some_and(|why| !why.is_empty()), "{search:?}");
    }
    let shown = stdout(&run(directory.path(), &["show", "w1"]));
    assert!(shown.contains("search main: highest rate with p90 <= 400 ms"), "{shown}");
}

#[test]
fn thresholds_are_shown_recorded_and_decide_the_exit_code() {
    let store = store("delay: [{law: {constant_ms: 30}}]");
    let directory = tempfile::tempdir().unwrap();
    let judged = |thresholds: &str, runtime_s: u32| {
        let stages = format!(
            "  - name: main\n    thresholds: [{thresholds}]\n    works: [{{name: main, workers: 8, runtime: {runtime_s}s, {READS}}}]\n"
        );
        let file = workload(directory.path(), &store, &stages);
        run_json(directory.path(), &["run", &file, "--quiet"])
    };
    for (thresholds, code, status) in [
        ("p50 <= 20 s, error_rate <= 5 %, throughput >= 1/s", 0, GoalStatus::Pass),
        ("read.p50_ms <= 20", 6, GoalStatus::Fail),
        ("p99_99 <= 20 s", 6, GoalStatus::NotDecided),
    ] {
        // A busy machine does too few operations in two seconds to tell that 5 % of them do not fail: then it has
        // longer.
        let is_so = |ran: &(std::process::Output, cosmark_archive::RunRecord)| {
            ran.1.thresholds.iter().all(|one| one.status == status)
        };
        let tried = [2, 8].into_iter().map(|runtime_s| judged(thresholds, runtime_s)).find(is_so);
        let (output, record) = tried.unwrap_or_else(|| judged(thresholds, 30));
        assert_eq!(output.status.code(), Some(code), "{thresholds}: {}", stderr(&output));
        assert!(record.thresholds.iter().all(|one| one.status == status), "{:?}", record.thresholds);
        assert_eq!(record.thresholds[0].stage, "s3-main");
    }
    let shown = stdout(&run(directory.path(), &["show", "last"]));
    assert!(shown.contains("not decided") && shown.contains("needs 100000"), "{shown}");
}

#[test]
fn a_slower_store_is_found_by_comparing_and_repetitions_are_put_together() {
    let directory = tempfile::tempdir().unwrap();
    let stages = format!(
        "  - name: main\n    works: [{{name: main, workers: 4, runtime: 4s, interval: 250ms, {READS}}}]\n"
    );
    // So long that what a busy machine adds to both leaves one several times as slow as the other.
    for delay in [20, 120] {
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
    // The stages of the second run are called main-r1 and main-r2: two runs of main.
    let other = stdout(&run(directory.path(), &["compare", "w1", "w2"]));
    assert!(other.contains("1 and 2 runs can never show"), "{other}");
    let store = store("delay: [{law: {constant_ms: 120}}]");
    let file = workload(directory.path(), &store, &stages);
    assert!(run(directory.path(), &["run", &file, "-q"]).status.success());
    let slower = run(directory.path(), &["compare", "w1", "w3", "--fail-on", "mean +20%"]);
    assert_eq!(slower.status.code(), Some(6), "{}", stdout(&slower));
    assert!(stdout(&slower).contains("WORSE (fails)"), "{}", stdout(&slower));
    // Of so few operations there is no p99: that condition cannot be tested, which is no pass.
    let gate = ["compare", "w1", "w3", "--fail-on", "p99 +5%"];
    let untested = run(directory.path(), &gate);
    assert_eq!(untested.status.code(), Some(8), "{}", stderr(&untested));
    assert!(stderr(&untested).contains("not tested: p99: neither w1 nor w3 has it"), "{}", stderr(&untested));
    let allowed = run(directory.path(), &[&gate[..], &["--allow-untested"]].concat());
    assert!(allowed.status.success(), "{}", stderr(&allowed));
    let json = run(directory.path(), &["compare", "w1", "w3", "--format", "json"]);
    let value: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(value["pairs"][0]["rows"].as_array().unwrap().len() >= 5);
    let bad = run(directory.path(), &["compare", "w1", "w9"]);
    assert_eq!(bad.status.code(), Some(2), "{}", stderr(&bad));
}

#[test]
fn quick_looks_for_the_highest_load_that_meets_what_is_asked() {
    let store = store("delay: [{law: {constant_ms: 2}}]");
    let directory = tempfile::tempdir().unwrap();
    let url = store.url().replace("http://", "s3+http://a:b@");
    let quick = |more: &[&str]| {
        let mut args = vec!["quick", &url, "--search", "p50 <= 10 s", "--objects", "20"];
        args.extend(more);
        run(directory.path(), &args)
    };
    // Two loads that any machine makes, a busy one, too, which takes longer for operations enough to tell that 1 % of
    // them do not fail: what is found is the end of the range, and that is said.
    let searched = |runtime: &str| {
        quick(&["--over", "workers", "--from", "8", "--to", "16", "--runtime", runtime, "--quiet"])
    };
    let found = ["2s", "8s"].into_iter().map(searched).find(|output| output.status.success());
    let output = found.unwrap_or_else(|| searched("30s"));
    let shown = stdout(&output);
    assert!(output.status.success(), "{shown}{}", stderr(&output));
    assert!(shown.contains("highest workers with p50 <= 10 s, error_rate <= 1 %"), "{shown}");
    assert!(shown.contains("every load up to 16 met the thresholds: look higher"), "{shown}");
    let printed = stdout(&quick(&["--print"]));
    for part in ["over: rate, from: \"50/s\", to: \"1000000/s\"", "shape: poisson", "runtime: \"10s\""] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    assert!(printed.contains("thresholds: [\"p50 <= 10 s\", \"error_rate <= 1 %\"]"), "{printed}");
    let own = stdout(&quick(&["--search", "read.error_rate <= 5 %", "--print"]));
    assert!(own.contains("\"read.error_rate <= 5 %\"]"), "the user's own limit is the only one: {own}");
    let wrong = run(directory.path(), &["quick", &url, "--from", "5"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", stderr(&wrong));
}

/// One workload against stores with these medians.
struct Pairs {
    directory: tempfile::TempDir,
}

const COMPARED: [&str; 5] = ["throughput", "mean", "p50", "p95", "p99"];

impl Pairs {
    fn run(&self, median_ms: f64, seconds: f64) {
        let store =
            store(&format!("delay: [{{law: {{lognormal: {{median_ms: {median_ms}, sigma: 0.1}}}}}}]"));
        let stages = format!(
            "  - name: main\n    works: [{{name: main, workers: 16, rampup: 2s, runtime: {seconds:.0}s, interval: 1s, {READS}}}]\n"
        );
        let file = workload(self.directory.path(), &store, &stages);
        assert!(run(self.directory.path(), &["run", &file, "-q"]).status.success());
    }

    /// What is compared of the main stage, in the order of `COMPARED`.
    #[expect(clippy::print_stdout, reason = "make truth shows what was measured")]
    fn compared(&self, a: &str, b: &str) -> Vec<serde_json::Value> {
        let output = run(self.directory.path(), &["compare", a, b, "--format", "json"]);
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        println!("{}", stdout(&run(self.directory.path(), &["compare", a, b])));
        let rows = value["pairs"][0]["rows"].as_array().unwrap();
        let of = |metric: &&str| {
            rows.iter().find(|row| row["stage"] == "main" && row["metric"] == **metric).unwrap().clone()
        };
        COMPARED.iter().map(of).collect()
    }
}

/// Takes minutes of a quiet machine: `make truth`.
#[test]
#[ignore = "takes minutes of a quiet machine: make truth"]
fn a_slowdown_of_5_percent_is_found_in_the_length_that_compare_recommends() {
    /// Longer recommendations are those of a machine that is too busy for the metric: they are not followed.
    const LONGEST_S: f64 = 240.0;
    let pairs = Pairs { directory: tempfile::tempdir().unwrap() };
    pairs.run(40.0, 60.0);
    pairs.run(40.0, 60.0);
    let pilot = pairs.compared("w1", "w2");
    let length = |row: &serde_json::Value| row["recommended_s"].as_f64().filter(|s| *s <= LONGEST_S);
    let within: Vec<bool> = pilot.iter().map(|row| length(row).is_some()).collect();
    let Some(seconds) = pilot.iter().filter_map(length).reduce(f64::max) else {
        return skipped(&format!("on this machine no metric finds 5 % within {LONGEST_S} s"));
    };
    pairs.run(40.0, seconds);
    pairs.run(40.0, seconds);
    pairs.run(42.0, seconds);
    // On a machine that changes, its worst seconds may be too many to say anything of the tail.
    let quiet =
        |row: &serde_json::Value| row["outcome"] == "no_difference_shown" || row["outcome"] == "too_short";
    let same = pairs.compared("w3", "w4");
    assert!(same.iter().all(quiet), "two runs of the same thing: {same:?}");
    let slower = pairs.compared("w3", "w5");
    let found =
        slower.iter().zip(&within).filter(|(row, within)| **within && row["outcome"] == "worse").count();
    println!("{found} of {} metrics found 5 % in {seconds:.0} s", within.iter().filter(|one| **one).count());
    assert!(found > 0, "5 % were not found in {seconds} s: {slower:?}");
    assert!(slower.iter().all(|row| row["outcome"] != "better"), "{slower:?}");
}

/// Every reading of a window stands in the table, and the loss of the other machine; other programs get both.
fn what_was_seen_is_kept(
    archive: &std::path::Path,
    record: &cosmark_archive::RunRecord,
    directory: &std::path::Path,
) {
    use cosmark_metrics::nodes::reading::{Found, NodeLook};
    let kept = cosmark_archive::open_run(archive).unwrap();
    let looks: Vec<NodeLook> = kept.node_looks().unwrap().unwrap().map(Result::unwrap).collect();
    let of = |name: &'static str| looks.iter().filter(move |look| look.node.name == name);
    let readings: u64 = record.stages.iter().flat_map(|stage| &stage.nodes).map(|node| node.readings).sum();
    let kept = of("here").filter(|look| matches!(look.found, Found::Reading { .. })).count();
    assert!(kept as u64 >= readings && readings > 0, "{kept} of {readings}");
    assert!(of("gone").all(|look| matches!(look.found, Found::Lost { .. })));
    assert!(of("gone").count() > 0);
    let in_order = |name| of(name).map(NodeLook::at_ns).is_sorted();
    assert!(in_order("here") && in_order("gone"));
    for (format, words) in [
        ("csv", [",node,,cpu_busy_s,", ",store,,server_cpu_ms_per_op,"]),
        (
            "prometheus",
            ["cosmark_node_busy_ratio{kind=\"processors\"", "cosmark_server_cpu_seconds_per_operation{"],
        ),
    ] {
        let text = stdout(&run(directory, &["export", "last", "--format", format]));
        assert!(words.iter().all(|words| text.contains(words)), "{format}: {words:?}: {text}");
    }
}

const NODES: &str = "nodes:\n  - {name: here, role: proxy, type: local, interval: 200ms}\n  - {name: gone, role: storage, \
                     type: prometheus, url: \"http://127.0.0.1:1/metrics\", token: {env: COSMARK_TEST_TOKEN}}\n";

#[test]
fn the_stores_machines_stand_beside_the_results_and_a_limit_of_slots_is_blamed_on_none_of_them() {
    // Four operations at once, 20 ms each: whatever the machine does, it is not what limits this store.
    let store = store("capacity: {servers: 4, service_ms: 20}");
    let directory = tempfile::tempdir().unwrap();
    let stages = format!(
        "  - name: read\n    matrix: {{workers: [1, 2, 4, 8]}}\n    works: [{{name: main, workers: \"${{{{ matrix.workers \
         }}}}\", runtime: 4s, {READS}}}]\n{NODES}"
    );
    let file = workload(directory.path(), &store, &stages);
    let mut command = support::cosmark(directory.path());
    let output = command
        .args(["run", &file, "--json"])
        .env("COSMARK_TEST_TOKEN", "bearer-of-nothing")
        .output()
        .unwrap();
    let record: cosmark_archive::RunRecord = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let [here, gone] = record.idle_nodes.as_slice() else { panic!("{:?}", record.idle_nodes) };
    assert!(here.readings >= 2 && here.lost.is_none() && gone.lost.is_some(), "{:?}", record.idle_nodes);
    for stage in &record.stages[2..] {
        let [here, gone] = stage.nodes.as_slice() else { panic!("{}: {:?}", stage.id, stage.nodes) };
        assert!(here.units.iter().any(|unit| unit.name == "cpu" && unit.busy <= 1.0), "{here:?}");
        assert!(here.readings >= 2 && gone.readings == 0, "{here:?}");
    }
    let [limit] = record.bottlenecks.as_slice() else { panic!("{:?}", record.bottlenecks) };
    assert_eq!((limit.stages.len(), limit.units.len()), (4, 0), "{limit:?}");
    let shown = stdout(&run(directory.path(), &["show", "last"]));
    for words in ["the store's machines", "here (proxy)", "node gone: ", "limit: "] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let archive = directory.path().join("archive/w1-goals");
    what_was_seen_is_kept(&archive, &record, directory.path());
    for entry in std::fs::read_dir(archive).unwrap().flatten() {
        let bytes = std::fs::read(entry.path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("bearer-of-nothing"), "{} shows a secret", entry.path().display());
    }
    store.stop();
}

#[test]
fn a_certification_leaves_its_history_for_other_checkers_and_none_of_an_earlier_one() {
    let store = store("etag: md5");
    let directory = tempfile::tempdir().unwrap();
    let target = format!(
        "storage: {{type: s3, endpoint: \"{}\", accesskey: a, secretkey: b, path_style_access: true}}\n",
        store.url()
    );
    std::fs::write(directory.path().join("target.yaml"), target).unwrap();
    let asked = |only: &str| {
        let args = ["certify", "target.yaml", "--quick", "--quiet", "--only", only, "--output", "pages"];
        let output = run(directory.path(), &args);
        assert!(output.status.success(), "{}", stderr(&output));
    };
    let read = |file: &str| std::fs::read_to_string(directory.path().join("pages").join(file));
    asked("any.consistency.monotonic");
    let (events, lines) = (read("history.edn").unwrap(), read("history.jsonl").unwrap());
    assert!(events.starts_with("{:index 0, :type :invoke"), "{events}");
    let read_of = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    assert!(lines.lines().any(|line| read_of(line)["Input"]["Op"] == "delete"), "{lines}");
    asked("s3.error.no-such-key");
    assert!(read("history.edn").is_err() && read("history.jsonl").is_err() && read("certify.json").is_ok());
}
