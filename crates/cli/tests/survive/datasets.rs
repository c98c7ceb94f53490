//! Data sets: filled across a kill, read by later runs, checked and removed; refused where they do not lie.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use cosmark_archive::{CheckStatus, DataSet, DataSetState, open_run};
use serde_json::Value;

use crate::support::{Server, cosmark, run, run_json, signal, stderr, stdout};

const OBJECTS: u64 = 3001;
const FILL: &str = "name: filling
stages:
  - name: fill
    fill: {dataset: pebbles, objects: 3001, containers: 'r(1,3)', sizes: 'u(1,2000)B', workers: 8, order: scattered, interval: 1s,
           overwrite: 10 %, delete: 5 %}
";
const READS: &str = "name: reading
stages:
  - name: main
    works:
      - {name: main, workers: 2, total_ops: 400, operations: [{type: read, dataset: pebbles, verify: true}]}
";

fn file(directory: &Path, name: &str, text: &str) -> String {
    fs::write(directory.join(name), text).unwrap();
    name.to_owned()
}

fn state(directory: &Path) -> DataSetState {
    DataSet::find(&directory.join("archive"), "pebbles").unwrap().unwrap().state().unwrap()
}

/// `cosmark datasets check` of all objects: what it found, and its exit code.
fn checked(directory: &Path) -> (Value, Option<i32>) {
    let args =
        ["datasets", "check", "pebbles", "--sample", "0", "--json", "--quiet", "--target", "target.yaml"];
    let output = run(directory, &args);
    let value = serde_json::from_slice(&output.stdout);
    (value.unwrap_or_else(|error| panic!("{error}: {}", stderr(&output))), output.status.code())
}

#[test]
fn a_fill_that_is_killed_goes_on_without_a_gap_or_a_double_and_is_known_to_later_runs() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let store = Server::start(directory, &[]);
    store.target(directory, None);
    file(directory, "fill.yaml", FILL);
    file(directory, "reads.yaml", READS);
    let early = run(directory, &["run", "reads.yaml", "--target", "target.yaml", "--quiet"]);
    assert_eq!(early.status.code(), Some(2), "{}", stderr(&early));
    assert!(stderr(&early).contains("no data set is called `pebbles`"), "{}", stderr(&early));

    let filling = ["run", "fill.yaml", "--target", "target.yaml", "--quiet", "--no-report"];
    let mut first = cosmark(directory).args(filling).spawn().unwrap();
    let log = directory.join("archive/.datasets/pebbles/pass-0.log");
    crate::eventually("a part of the fill", || log.metadata().is_ok_and(|log| log.len() > 8 * 200));
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(state(directory), DataSetState::Partial);
    let refused = run(directory, &["run", "reads.yaml", "--target", "target.yaml", "--quiet"]);
    assert!(stderr(&refused).contains("it is not whole"), "{}", stderr(&refused));

    let (output, record) = run_json(directory, &filling);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let fill = record.stages[1].fill.as_ref().unwrap();
    assert!(fill.before > 200, "{fill:?}");
    assert_eq!((fill.done, fill.objects), (OBJECTS, OBJECTS));
    // What was acknowledged before the kill is not written again.
    assert_eq!(fill.before + record.stages[1].operations[0].ok, OBJECTS);
    assert_eq!(fill.curve.last().unwrap().objects, OBJECTS);
    assert_eq!(state(directory), DataSetState::Whole);
    let (found, code) = checked(directory);
    assert_eq!((found["right"].as_u64(), code), (Some(OBJECTS), Some(0)), "{found}");
    let (_, again) = run_json(directory, &filling);
    assert!(again.stages.iter().skip(1).all(|stage| stage.operations[0].ok == 0), "nothing was left to do");

    let (output, record) =
        run_json(directory, &["run", "reads.yaml", "--target", "target.yaml", "--no-report"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!((record.stages[0].operations[0].ok, record.stages[0].operations[0].failed), (400, 0));
    let of = |id: &str| record.verdict.checks.iter().find(|check| check.id == id).unwrap();
    assert_eq!(of("V13").status, CheckStatus::Pass, "{:?}", of("V13"));
    assert!(of("V14").message.contains("MB") || of("V14").value.is_some(), "{:?}", of("V14"));
    for (how, name) in [(libc::SIGINT, "Ctrl-C"), (libc::SIGTERM, "a service that is stopped")] {
        a_reading_of_a_store_that_stands_still_ends_when_it_is_asked_to(directory, &store, how, name);
    }
    what_is_elsewhere_or_damaged_is_found(directory);
}

/// Each of its questions may take five minutes.
fn a_reading_of_a_store_that_stands_still_ends_when_it_is_asked_to(
    directory: &Path,
    store: &Server,
    how: libc::c_int,
    name: &str,
) {
    store.signal(libc::SIGSTOP);
    let target = fs::read_to_string(directory.join("target.yaml")).unwrap();
    file(directory, "patient.yaml", &format!("{target}  timeout: 300s\n"));
    let args = ["datasets", "check", "pebbles", "--quiet", "--json", "--target", "patient.yaml"];
    let child = cosmark(directory).args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    crate::eventually(&format!("a handler of {name}"), || is_caught(child.id(), how));
    let asked = Instant::now();
    signal(&child, how);
    let output = child.wait_with_output().unwrap();
    store.signal(libc::SIGCONT);
    assert_eq!(output.status.code(), Some(5), "{name}: {}", stderr(&output));
    assert!(asked.elapsed() < Duration::from_secs(120), "it waited for the store: {:?}", asked.elapsed());
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((found["complete"].as_bool(), found["lost"].as_u64()), (Some(false), Some(0)), "{found}");
}

fn is_caught(process: u32, signal: libc::c_int) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.is_some_and(|mask| {
        u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask >> (signal - 1) & 1 == 1)
    })
}

/// Another store is refused, a lost object is named, and what was removed is gone.
fn what_is_elsewhere_or_damaged_is_found(directory: &Path) {
    let target = fs::read_to_string(directory.join("target.yaml")).unwrap();
    let other = target.replace("127.0.0.1", "localhost");
    file(directory, "other.yaml", &other);
    let elsewhere = run(directory, &["run", "reads.yaml", "--target", "other.yaml", "--quiet"]);
    assert_eq!(elsewhere.status.code(), Some(2), "{}", stderr(&elsewhere));
    assert!(stderr(&elsewhere).contains("lies in another store"), "{}", stderr(&elsewhere));
    // What is removed has to be the store's; both names here are addresses of one, and who knows that may say so.
    let clean = ["datasets", "clean", "pebbles", "--target", "other.yaml", "--dry-run"];
    let refused = run(directory, &clean);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("say --another-address"), "{}", stderr(&refused));
    let same = run(directory, &[clean.as_slice(), &["--another-address"]].concat());
    assert_eq!(same.status.code(), Some(0), "{}", stderr(&same));

    let loses = "name: loses\nstages:\n- {name: m, works: [{type: cleanup, workers: 1, containers: 'r(2,2)', container_prefix: \
                 pebbles-, objects: 'r(7,8)'}]}\n";
    file(directory, "loses.yaml", loses);
    let lost = run(directory, &["run", "loses.yaml", "--target", "target.yaml", "--quiet", "--no-report"]);
    assert_eq!(lost.status.code(), Some(0), "{}", stderr(&lost));
    let (found, code) = checked(directory);
    assert_eq!((found["lost"].as_u64(), found["right"].as_u64()), (Some(2), Some(OBJECTS - 2)), "{found}");
    assert_eq!(code, Some(9));

    let clean = ["datasets", "clean", "pebbles", "--target", "target.yaml"];
    let cleaned = run(directory, &clean);
    assert_eq!(cleaned.status.code(), Some(0), "{}", stderr(&cleaned));
    assert!(stdout(&cleaned).contains("2 999 objects and 3 containers removed"), "{}", stdout(&cleaned));
    assert_eq!(state(directory), DataSetState::Cleaned);
    let gone = run(directory, &["run", "reads.yaml", "--target", "target.yaml", "--quiet"]);
    assert!(stderr(&gone).contains("was removed"), "{}", stderr(&gone));
    let listed = run(directory, &["datasets", "list"]);
    assert!(stdout(&listed).contains("cleaned"), "{}", stdout(&listed));
    let run = open_run(&directory.join("archive/w2-filling")).unwrap();
    assert!(run.record.stages[1].fill.is_some());
    let noted = run
        .record
        .events
        .iter()
        .any(|event| event.text == "`cosmark datasets clean` removed 2 999 objects of pebbles");
    assert!(noted, "{:?}", run.record.events);
}
