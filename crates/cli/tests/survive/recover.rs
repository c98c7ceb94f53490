//! kill -9 at any moment: what was measured is put together again, nothing is counted that was not done, and what is cut says so.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use cosmark_archive::{Run, RunState, StageState, open_run};
use serde_json::Value;

use crate::bed::{Controller, workload};
use crate::eventually;
use crate::support::{cosmark, run, stderr, stdout};

const TWO_STAGES: &str = "name: cut\nstorage: {type: mock, delay: 2ms}\nstages:\n  - name: first\n    works:\n      - {name: a, workers: 2, \
     total_ops: 40, operations: [{type: write, containers: c(1), objects: 'u(1,9)', sizes: c(1)KB}]}\n  - name: main\n    works:\n      \
     - {name: b, workers: 3, runtime: 600s, interval: 1s, operations: [{type: read, ratio: 80, containers: c(1), objects: 'u(1,9)'}, \
     {type: write, ratio: 20, containers: c(1), objects: 'u(1,9)', sizes: c(1)KB}]}\n  - name: last\n    works:\n      - {name: c, \
     workers: 1, total_ops: 5, operations: [{type: read, containers: c(1), objects: 'u(1,9)'}]}\n";

fn lines_of(path: &Path) -> usize {
    fs::read_to_string(path).map_or(0, |text| text.lines().count())
}

/// A run that was killed after some seconds of its second stage.
fn killed(directory: &Path) -> PathBuf {
    fs::write(directory.join("cut.yaml"), TWO_STAGES).unwrap();
    let mut child = cosmark(directory)
        .args(["run", "cut.yaml", "--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let path = directory.join("archive/w1-cut");
    eventually("four seconds of the second stage", || {
        fs::read_to_string(path.join("intervals.csv"))
            .is_ok_and(|text| text.lines().filter(|line| line.starts_with("s2-main,")).count() >= 8)
    });
    child.kill().unwrap();
    child.wait().unwrap();
    path
}

/// Successes of each operation that whole lines of `intervals.csv` tell, by tag.
fn on_disk(path: &Path) -> BTreeMap<String, u64> {
    let text = fs::read_to_string(path.join("intervals.csv")).unwrap();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut sums = BTreeMap::new();
    for line in whole.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        if fields[3] == "window" {
            *sums.entry(fields[1].to_owned()).or_default() += fields[6].parse::<u64>().unwrap();
        }
    }
    sums
}

/// What a run that was killed says of itself is what is on disk of it.
fn assert_true(run: &Run, what: &str) {
    let sums = on_disk(&run.path);
    let main = &run.record.stages[1];
    assert_eq!(main.state, StageState::Terminated, "{what}");
    let reason = main.reason.as_deref().unwrap();
    assert!(reason.starts_with("cut "), "{what}: {reason}");
    assert_eq!(run.record.stages[2].state, StageState::Aborted, "{what}");
    for operation in &main.operations {
        let told = sums.get(&operation.tag).copied().unwrap_or(0);
        assert_eq!(operation.ok, told, "{what}: {}", operation.tag);
        assert!(operation.response_ms.count <= told, "{what}: {}", operation.tag);
        let rate = operation.throughput_per_s.unwrap_or(0.0);
        assert!(operation.window_s == 0.0 || (rate * operation.window_s - told as f64).abs() < 0.5, "{what}");
    }
    assert_eq!(main.operations.is_empty(), !sums.keys().any(|tag| tag.starts_with("s2-")), "{what}");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_dir() {
            copy(&entry.path(), &to.join(entry.file_name()));
        } else {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// Ends of all lines, and a place inside of each.
fn cuts(text: &[u8]) -> Vec<usize> {
    let ends: Vec<usize> = (0..text.len()).filter(|at| text[*at] == b'\n').map(|at| at + 1).collect();
    ends.iter().flat_map(|end| [end - 1, *end, (*end + 7).min(text.len())]).collect()
}

#[test]
fn wherever_a_kill_cuts_the_files_the_totals_are_those_of_what_is_on_disk() {
    let directory = tempfile::tempdir().unwrap();
    let path = killed(directory.path());
    let whole = open_run(&path).unwrap();
    assert_eq!(whole.record.state, RunState::Killed);
    assert_true(&whole, "as it was left");
    let main = &whole.record.stages[1];
    assert!(main.cut_s.unwrap() >= 3.0 && main.operations.len() == 2, "{main:?}");
    for operation in &main.operations {
        assert_eq!(operation.response_ms.count, operation.ok, "times and counts end at the same moment");
        // A busy machine does few in four seconds: a median is published exactly where ten of them lie beyond it.
        assert_eq!(operation.response_ms.p50.is_some(), operation.ok >= 20, "{operation:?}");
        assert!(operation.in_flight_mean.unwrap() > 0.0, "{operation:?}");
    }
    assert!(!main.clients.is_empty() && main.clients[0].seconds > 0.0);
    let full: u64 = main.operations.iter().map(|operation| operation.ok).sum();

    let scratch = directory.path().join("scratch/w1-cut");
    copy(&path, &scratch);
    // Files of a copy are as old as the copy, and the run ended when it was killed.
    let day = SystemTime::now() + Duration::from_secs(86_400);
    let copied = fs::read_dir(&scratch).unwrap().map(|entry| entry.unwrap().path());
    for file in copied.filter(|path| path.is_file()) {
        fs::File::options().append(true).open(file).unwrap().set_modified(day).unwrap();
    }
    let later = open_run(&scratch).unwrap().record;
    let took = later.ended.unwrap().duration_since(later.started.unwrap()).as_secs();
    assert!((3..3600).contains(&took), "{took} s");
    for file in ["intervals.csv", "histograms.hlog", "clients.csv", "workload.log"] {
        let text = fs::read(path.join(file)).unwrap();
        let all = cuts(&text);
        let step = (all.len() / 60).max(1);
        for at in all.into_iter().step_by(step) {
            fs::write(scratch.join(file), &text[..at]).unwrap();
            let what = format!("{file} cut at {at}");
            let cut = open_run(&scratch).unwrap();
            assert_true(&cut, &what);
            let count: u64 = cut.record.stages[1].operations.iter().map(|operation| operation.ok).sum();
            assert!(count <= full, "{what}");
        }
        fs::write(scratch.join(file), &text).unwrap();
    }
    // Killed before an interval of its load was over.
    let counts = fs::read_to_string(path.join("intervals.csv")).unwrap();
    let early: String = counts.split_inclusive('\n').filter(|line| !line.starts_with("s2-main,")).collect();
    fs::write(scratch.join("intervals.csv"), early).unwrap();
    let early = open_run(&scratch).unwrap();
    let reason = early.record.stages[1].reason.as_deref().unwrap();
    assert!(early.record.stages[1].cut_s.is_none() && reason.starts_with("cut while running"), "{reason}");
    assert!(
        reason.ends_with("successes of an interval that was not over stand in histograms.hlog only"),
        "{reason}"
    );
    fs::write(scratch.join("intervals.csv"), counts).unwrap();

    fs::remove_file(scratch.join("workload.yaml")).unwrap();
    let blind = open_run(&scratch).unwrap();
    assert!(blind.record.stages[1].reason.as_deref().unwrap().starts_with("cut "));
}

/// The run is over, in every place that tells of it, once.
fn assert_ended(path: &Path) {
    let found = open_run(path).unwrap();
    assert_eq!(found.record.state, RunState::Terminated);
    assert_true(&found, "recovered");
    assert!(!found.record.verdict.checks.is_empty());
    for file in ["w1-cut.csv", "w1-cut-rt-histogram.csv", "s2-main.csv", "s3-last.csv"] {
        assert!(path.join(file).is_file(), "{file}");
    }
    let table = fs::read_to_string(path.join("w1-cut.csv")).unwrap();
    let read = table.lines().find(|line| line.starts_with("s2-main,read,")).unwrap();
    let told = found.record.stages[1].operations[0].ok;
    assert_eq!(read.split(',').nth(3).unwrap(), told.to_string(), "{table}");
    let rows = |name: &str| {
        let text = fs::read_to_string(path.join("..").join(name)).unwrap();
        text.lines().filter(|line| line.starts_with("w1,") || line.starts_with("w1-s2-main-1,")).count()
    };
    assert_eq!((rows("run-history.csv"), rows("workloads.csv")), (1, 1));
    let left: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name == ".reserve" || LEFT.iter().any(|own| name == own)), "{left:?}");
    // Whoever adds up the rows of its timeline has all that was counted, each with its times.
    let main = &found.record.stages[1];
    let rows = found.timeline(main).unwrap();
    for (at, operation) in main.operations.iter().enumerate() {
        let values: Vec<_> = rows.iter().map(|row| &row.operations[at]).collect();
        assert_eq!(values.iter().map(|value| value.count).sum::<u64>(), operation.ok, "{rows:?}");
        assert_eq!(values.iter().map(|value| value.bytes).sum::<u64>(), operation.bytes, "{rows:?}");
        assert!(values.iter().all(|value| value.response_ms.is_some() == (value.count > 0)), "{rows:?}");
    }
}

/// A part of an operation log that its process could not close, and a record that it could not put in its place. No process has so
/// great a number.
const LEFT: [&str; 2] = [".operations.part-00001.parquet.tmp-1", ".run.json.tmp-4194999-0"];

/// As if the kill had come a moment earlier: between the lines of the last interval and the row that is their sum.
fn take_last_row(path: &Path) {
    let file = path.join("s2-main.csv");
    let text = fs::read_to_string(&file).unwrap();
    let rows: Vec<&str> = text.split_inclusive('\n').collect();
    assert!(rows.len() > 3, "{text}");
    fs::write(&file, rows[..rows.len() - 1].concat()).unwrap();
}

#[test]
fn a_run_that_was_killed_is_ended_once_however_often_and_by_whomever_it_is_tried() {
    let directory = tempfile::tempdir().unwrap();
    let path = killed(directory.path());
    // Reading ends nothing, and shows everything.
    let shown = run(directory.path(), &["show", "w1"]);
    assert!(
        stdout(&shown).contains("read") && stderr(&shown).contains("cosmark recover"),
        "{}",
        stderr(&shown)
    );
    assert!(stdout(&shown).contains("cut at"), "{}", stdout(&shown));
    assert_eq!(open_run(&path).unwrap().record.state, RunState::Killed);
    // Whatever reads it has the same verdict, and a list does not count the stages that had ended as if they were all.
    let json = |arguments: &[&str]| -> Value {
        serde_json::from_str(&stdout(&run(directory.path(), arguments))).unwrap()
    };
    let seen = json(&["show", "w1", "--json"]);
    assert!(seen["verdict"]["checks"].as_array().is_some_and(|checks| !checks.is_empty()), "{seen}");
    assert_eq!(json(&["export", "w1", "--format", "json"])["verdict"], seen["verdict"]);
    let text = fs::read_to_string(path.join("run.json")).unwrap();
    let mut wrong: Value = serde_json::from_str(&text).unwrap();
    let operation = &mut wrong["stages"][0]["operations"][0];
    (operation["failed"], operation["errors"]) = (3.into(), serde_json::json!({"corrupt_body": 3}));
    fs::write(path.join("run.json"), wrong.to_string()).unwrap();
    let compared = json(&["compare", "w1", "w1", "--json"])["pairs"][0]["warnings"].to_string();
    assert!(compared.contains("the verdict on w1 is FALSE"), "{compared}");
    fs::write(path.join("run.json"), text).unwrap();
    let listed = &json(&["list", "--json"])[0];
    for field in ["operations", "failures", "headline", "verdict"] {
        assert!(listed[field].is_null(), "{field}: {listed}");
    }
    take_last_row(&path);
    for name in LEFT {
        // Written last so long ago that no machine writes it now.
        let file = fs::File::create(path.join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    }
    // The recovery is killed, too, at one moment after the other.
    for delay_ms in 0..12 {
        let mut child = cosmark(directory.path())
            .args(["recover", "w1"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(delay_ms * 6));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let recovering: Vec<_> = (0..3)
        .map(|_| {
            let mut command = cosmark(directory.path());
            command.args(["recover", "w1"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in recovering {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    assert_ended(&path);
    let again = run(directory.path(), &["recover", "w1"]);
    assert!(stdout(&again).contains("the run is over"), "{}", stdout(&again));
    assert!(stdout(&run(directory.path(), &["recover"])).contains("no run"));
    assert_ended(&path);
}

#[test]
fn what_cannot_be_ended_says_why_and_is_read_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = killed(directory.path());
    let file = path.join("run.json");
    let text = fs::read_to_string(&file).unwrap();
    // One that lives on another machine, as far as anybody here knows.
    let mut record: serde_json::Value = serde_json::from_str(&text).unwrap();
    record["process"]["hostname"] = "elsewhere".into();
    fs::write(&file, record.to_string()).unwrap();
    let refused = run(directory.path(), &["recover", "w1"]);
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
    assert!(
        stderr(&refused).contains("elsewhere") && stderr(&refused).contains("--force"),
        "{}",
        stderr(&refused)
    );
    // One of a later format.
    record["schema"] = 99.into();
    fs::write(&file, record.to_string()).unwrap();
    let refused = run(directory.path(), &["recover", "w1", "--force"]);
    assert!(stderr(&refused).contains("newer Cosmark"), "{}", stderr(&refused));
    assert_eq!(fs::read_to_string(&file).unwrap(), record.to_string(), "it is not touched");
    fs::write(&file, &text).unwrap();
    // One that nobody may write: where permissions bind this user, it is told; reading is enough for the results.
    let shown = run(directory.path(), &["show", "w1", "--json"]);
    let record: cosmark_archive::RunRecord = serde_json::from_slice(&shown.stdout).unwrap();
    assert!(record.stages[1].operations[0].ok > 0 && !record.verdict.checks.is_empty());
    // One that lives.
    fs::write(directory.path().join("living.yaml"), TWO_STAGES.replace("name: cut", "name: living")).unwrap();
    let mut child = cosmark(directory.path())
        .args(["run", "living.yaml", "--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let living = directory.path().join("archive/w2-living");
    eventually("a living run", || lines_of(&living.join("intervals.csv")) > 1);
    for args in [&["recover", "w2"][..], &["recover", "w2", "--force"]] {
        let refused = if args.len() == 2 { run(directory.path(), args) } else { break };
        assert_eq!(refused.status.code(), Some(1), "{}", stdout(&refused));
    }
    assert_eq!(open_run(&living).unwrap().record.state, RunState::Running);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(run(directory.path(), &["recover"]).status.success());
    let nowhere = run(directory.path(), &["recover", "--archive", "elsewhere"]);
    assert!(stderr(&nowhere).contains("there is no archive at elsewhere"), "{}", stderr(&nowhere));
    assert_ended(&path);
    assert_eq!(open_run(&living).unwrap().record.state, RunState::Terminated);
}

#[test]
fn a_controller_that_was_killed_has_the_stage_it_ran_when_it_starts_again() {
    let directory = tempfile::tempdir().unwrap();
    // Killed before, without a controller, in the same archive.
    let path = killed(directory.path());
    let mut c = Controller::start(directory.path());
    eventually("the end of what was killed before", || {
        open_run(&path).unwrap().record.state == RunState::Terminated
            && path.join("w1-cut-rt-histogram.csv").exists()
    });
    assert_ended(&path);
    let id = c.submit(&workload("long", 600));
    let own = directory.path().join(format!("archive/{id}-long"));
    eventually("three seconds of load", || lines_of(&own.join("intervals.csv")) > 3);
    c.child.kill().unwrap();
    c.child.wait().unwrap();
    drop(c);
    let told: u64 = on_disk(&own).values().sum();
    let c = Controller::start(directory.path());
    let cut = c.wait_for(&id, &["terminated"]);
    assert!(cut["reason"].as_str().unwrap().contains("controller ended"), "{cut}");
    let record = open_run(&own).unwrap().record;
    let stage = &record.stages[0];
    assert_eq!(stage.operations.iter().map(|operation| operation.ok).sum::<u64>(), told);
    assert!(
        told > 0 && stage.cut_s.unwrap() >= 2.0 && stage.reason.as_deref().unwrap().starts_with("cut at")
    );
    assert!(
        record.verdict.checks.iter().any(|check| check.message.contains("cut at")),
        "{:?}",
        record.verdict
    );
    // What the console shows of it.
    let listed = c.get("runs");
    let row = listed.as_array().unwrap().iter().find(|row| row["id"] == id.as_str()).unwrap();
    assert_eq!((row["state"].as_str(), row["verdict"].is_null()), (Some("terminated"), false), "{row}");
    let shown = c.get(&format!("runs/{id}/data")).to_string();
    assert!(shown.contains("cut at"), "the report and the console say it");
    assert!(own.join("report.html").exists() || !cosmark_report::html::page_is_built_in());
}
