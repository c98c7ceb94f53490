//! Clocks that are not what they should be: a driver's that is ahead and too fast, and one that somebody sets in the middle of a run.

use std::path::{Path, PathBuf};
use std::process::Command;

use cosmark_archive::{CheckStatus, RunState, StageState, Timestamp, open_run};

use crate::bed::{Bed, Process, assert_sums_are_those_of_the_logs};
use crate::support;

/// The library that gives a process clocks of its own.
fn planted(directory: &Path) -> PathBuf {
    library(directory, "clock.c")
}

/// A library of this directory, compiled.
pub fn library(directory: &Path, source: &str) -> PathBuf {
    let library = directory.join(source).with_extension("so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/distributed").join(source);
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(source)
        .status()
        .unwrap();
    assert!(compiled.success());
    library
}

/// Two works of the same load, one on each driver.
fn paced(runtime_s: u32) -> String {
    format!(
        "name: paced\nstorage: {{type: mock, delay: 5ms}}\nstages:\n- name: main\n  works:\n  - name: main\n    workers: 4\n    \
         runtime: {runtime_s}s\n    pace: {{rate_per_worker: 20/s}}\n    operations:\n    - {{type: write, ratio: 1, \
         containers: c(1), objects: 's(1,100000)', sizes: c(1)KB}}\n"
    )
}

#[test]
fn a_drivers_clock_that_is_ahead_and_too_fast_is_told_as_what_it_is() {
    let mut bed = Bed::new(1);
    let library = planted(bed.path());
    let mut command = bed.driver_command(2, &[]);
    command.env("LD_PRELOAD", library).env("PLANTED_AHEAD_MS", "2000").env("PLANTED_FAST_PPM", "10000");
    bed.start_driver_by(command, 2);
    std::fs::write(bed.path().join("paced.yaml"), paced(10)).unwrap();
    let mut run = bed.start_run("paced.yaml", &[]);
    assert_eq!(run.wait(), 0, "{}", bed.logs());
    let run = bed.run();
    assert_sums_are_those_of_the_logs(&run);
    let main = &run.record.stages[0];
    let client = |name: &str| main.clients.iter().find(|client| client.driver == name).unwrap();
    let (own, far) = (client("d1"), client("d2"));
    // What it gained between its start and the comparison stands in the offset, too: 1 % of however long that took.
    let (offset, error) = (far.clock_offset_ms.unwrap(), far.clock_error_ms.unwrap());
    assert!(offset + error >= 2000.0, "{far:#?}");
    let (drift, error) = (far.clock_drift_ppm.unwrap(), far.clock_drift_error_ppm.unwrap());
    assert!((drift - 10_000.0).abs() <= error + 1.0, "{far:#?}");
    assert!(own.clock_drift_ppm.unwrap().abs() <= own.clock_drift_error_ppm.unwrap(), "{own:#?}");
    // By the end it is ahead by what it gained meanwhile.
    let after = far.clock_offset_after_ms.unwrap();
    let left_open = far.clock_error_ms.unwrap() + far.clock_error_after_ms.unwrap();
    assert!((after - offset - far.clock_gained_ms.unwrap()).abs() <= left_open + 1.0, "{far:#?}");
    let check = run.record.verdict.checks.iter().find(|check| check.id == "V15").unwrap();
    // What late answers leave open of the drift on a busy machine is no drift: it is told where a thousandth is certain.
    let is_told =
        check.message.contains("the clock of driver d2 goes ") && check.message.contains(" too fast (");
    assert_eq!(is_told, drift - error > 1000.0, "{drift} ppm, give or take {error}: {}", check.message);
    assert!(!is_told || check.status == CheckStatus::Fail, "{}", check.message);
    assert!(check.message.contains("ms ahead of that of d1, which is corrected for"), "{}", check.message);
}

/// Seconds between two times of day.
fn apart_s(row: &str, at: Timestamp) -> i64 {
    let parts: Vec<i64> = row.split(':').map(|part| part.parse().unwrap()).collect();
    let day = 86_400;
    let apart = (parts[0] * 3600 + parts[1] * 60 + parts[2] - at.as_second()).rem_euclid(day);
    apart.min(day - apart)
}

#[test]
fn a_wall_clock_that_is_set_while_a_run_is_on_moves_none_of_its_times() {
    for step_s in [-7200, 7200] {
        let directory = tempfile::tempdir().unwrap();
        let set = directory.path().join("set");
        let stage = "  works:\n  - {name: w, workers: 2, runtime: 2s, interval: 1s, pace: {rate_per_worker: 20/s}, operations: [{type: read, \
                     containers: c(1), objects: 'u(1,9)'}]}\n";
        let text =
            format!("name: set\nstorage: {{type: mock}}\nstages:\n- name: one\n{stage}- name: two\n{stage}");
        std::fs::write(directory.path().join("w.yaml"), text).unwrap();
        let mut command = support::cosmark(directory.path());
        command.args(["run", "w.yaml", "--archive", "archive", "--no-report"]).env("TZ", "UTC");
        command.env("LD_PRELOAD", planted(directory.path())).env("PLANTED_STEP_FILE", &set);
        command.env("PLANTED_STEP_S", step_s.to_string());
        let mut process = Process::start(command, directory.path().join("run.log"));
        let path = directory.path().join("archive/w1-set");
        // Or has been: whoever is held up may look when it is over.
        let has_begun = || {
            let history = open_run(&path).map(|run| run.record.stages[0].history.clone());
            history.is_ok_and(|all| all.iter().any(|change| change.state == StageState::Running))
        };
        while !has_begun() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        std::fs::write(&set, "").unwrap();
        assert_eq!(process.wait(), 0, "{}", process.log());
        let run = open_run(&path).unwrap();
        let record = &run.record;
        assert_eq!(record.state, RunState::Finished);
        let mut times = vec![record.submitted.unwrap(), record.started.unwrap()];
        for stage in &record.stages {
            times.extend(stage.history.iter().skip(1).map(|change| change.at));
            times.push(stage.ended.unwrap());
            let (began, ended) = (stage.started.unwrap(), stage.ended.unwrap());
            let took_s = ended.duration_since(began).as_secs();
            for row in run.timeline(stage).unwrap() {
                assert!(apart_s(&row.time, began) <= took_s + 1, "{} of {began}..{ended}", row.time);
            }
        }
        times.push(record.ended.unwrap());
        assert!(times.is_sorted(), "{step_s}: {times:#?}");
        // However slow the machine is, it is not that slow.
        let took = record.ended.unwrap().duration_since(record.submitted.unwrap());
        assert!(took.as_secs() < 3600, "{step_s}: {took}");
    }
}
