//! Two processes, one archive.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use cosmark_archive::{RunState, list};

use crate::support::{mixed, new_run, open, run_to_the_end, successes, text};

const ROOT: &str = "COSMARK_TEST_ROOT";
const RUNS_EACH: usize = 5;
const NUMBERS_EACH: usize = 400;

/// The body of a second process: see the test below.
#[test]
#[ignore = "started by two_processes_share_one_archive"]
fn child_takes_numbers() {
    let Ok(root) = std::env::var(ROOT) else { return };
    let archive = open(root.as_ref());
    // Start together: the other process makes its file as well.
    let ours = format!("{root}/ready-{}", std::process::id());
    std::fs::write(&ours, "").unwrap();
    let ready = || {
        std::fs::read_dir(&root)
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("ready-"))
    };
    for _ in 0..1000 {
        if ready().count() == 2 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let numbers: Vec<_> = (0..NUMBERS_EACH).map(|_| archive.reserve().unwrap().to_string()).collect();
    std::fs::write(&ours, numbers.join("\n")).unwrap();
    for n in 0..RUNS_EACH {
        let model = mixed(&format!("p{}-{n}", std::process::id()));
        let run = archive.begin(&new_run(&model)).unwrap();
        run_to_the_end(run, &model, &[successes(1, 1.0, 1), successes(1, 1.0, 1)]);
    }
}

#[test]
fn two_processes_share_one_archive() {
    let dir = tempfile::tempdir().unwrap();
    let start = || {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "sharing::child_takes_numbers", "--ignored"])
            .env(ROOT, dir.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut children = [start(), start()];
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let runs = list(dir.path()).unwrap();
    let mut numbers: Vec<u64> = runs.iter().map(|run| run.number).collect();
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("ready-") {
            numbers.extend(text(path).lines().map(|line| line.parse::<u64>().unwrap()));
        }
    }
    let all = 2 * (NUMBERS_EACH + RUNS_EACH);
    assert_eq!(numbers.len(), all);
    let distinct: BTreeSet<u64> = numbers.into_iter().collect();
    assert_eq!(distinct, (1..=all as u64).collect(), "no number twice, none lost");
    assert!(
        runs.iter().all(|run| run.record.as_ref().unwrap().as_ref().unwrap().state == RunState::Finished)
    );
    let history = text(dir.path().join("run-history.csv"));
    assert_eq!(history.lines().count(), 1 + 2 * RUNS_EACH);
    assert!(history.lines().all(|line| line.matches(',').count() >= 7), "no line was torn:\n{history}");
    assert_eq!(text(dir.path().join("workloads.csv")).lines().count(), 1 + 2 * 2 * RUNS_EACH);
    assert_eq!(text(dir.path().join(".meta")), all.to_string());
}

#[test]
fn numbers_go_on_from_meta_and_from_the_directories() {
    let dir = tempfile::tempdir().unwrap();
    let archive = open(dir.path());
    assert_eq!(archive.reserve().unwrap(), 1);
    std::fs::write(dir.path().join(".meta"), "28\n").unwrap();
    assert_eq!(archive.reserve().unwrap(), 29);
    std::fs::create_dir(dir.path().join("w41-copied-here")).unwrap();
    for foreign in ["w+99-not-ours", "w18446744073709551615-the-last", "w9007199254740992-beyond"] {
        std::fs::create_dir(dir.path().join(foreign)).unwrap();
    }
    assert_eq!(archive.reserve().unwrap(), 42);
    std::fs::remove_file(dir.path().join(".meta")).unwrap();
    assert_eq!(archive.reserve().unwrap(), 42, "reserved numbers live in .meta only");
    for (meta, expected) in [
        ("many", "`many`"),
        ("18446744073709551615", "no workload number"),
        ("9007199254740991", "no workload number"),
        ("-1", "`-1`"),
    ] {
        std::fs::write(dir.path().join(".meta"), meta).unwrap();
        let error = archive.reserve().unwrap_err().to_string();
        assert!(
            error.contains(".meta") && error.contains(expected) && error.contains("delete it"),
            "{error}"
        );
    }
}

#[test]
fn opening_again_keeps_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let model = mixed("one");
    let run = open(dir.path()).begin(&new_run(&model)).unwrap();
    run_to_the_end(run, &model, &[successes(1, 1.0, 1), successes(1, 1.0, 1)]);
    let before = text(dir.path().join("run-history.csv"));
    open(dir.path());
    assert_eq!(text(dir.path().join("run-history.csv")), before);
    assert!(
        before
            .starts_with("Id,Name,Submitted-At,Started-At,Stopped-At,Op-Info,State,Detailed State\nw1,one,")
    );
}

#[test]
fn what_writes_can_move_between_threads() {
    fn moves<T: Send>() {}
    fn shared<T: Send + Sync>() {}
    moves::<cosmark_archive::RunDir>();
    moves::<cosmark_archive::OpLog>();
    shared::<cosmark_archive::Archive>();
    shared::<cosmark_archive::OpLogSender>();
}
