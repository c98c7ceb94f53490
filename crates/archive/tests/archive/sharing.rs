//! Two processes, one archive.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use cosmark_archive::{NewRun, RunState, StageState, StageTables, TimeZone, list};

use crate::support::{at, mixed, new_run, open, run_to_the_end, successes, text};

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

/// An archive with the index files of COSBench on a machine with another locale.
fn beside_cosbench() -> (tempfile::TempDir, cosmark_archive::Archive) {
    let dir = tempfile::tempdir().unwrap();
    let archive = open(dir.path());
    let add = |name: &str, line: &[u8]| {
        let path = dir.path().join(name);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend_from_slice(line);
        std::fs::write(&path, bytes).unwrap();
    };
    let dates = b"2026-11-21 18:54:10,2026-11-21 18:54:11,2026-11-21 18:54:25,read,finished,";
    add("run-history.csv", &[&b"w29,caf\xe9,"[..], &dates[..], b"\n"].concat());
    add("workloads.csv", b"w31-s1-main-1,read,1,1,1,N/A\nw9007199254740992-s1,no number\n");
    (dir, archive)
}

#[test]
fn numbers_go_on_from_the_index_files_of_cosbench() {
    let (dir, archive) = beside_cosbench();
    assert_eq!(archive.reserve().unwrap(), 32, "of workloads.csv");
    let history = dir.path().join("run-history.csv");
    let bytes = [std::fs::read(&history).unwrap(), b"w40,other,\xfc\nw39,x,".to_vec()].concat();
    std::fs::write(&history, bytes).unwrap();
    assert_eq!(archive.reserve().unwrap(), 41, "of run-history.csv");
}

#[test]
fn a_run_is_whole_and_indexed_beside_runs_of_cosbench_with_its_number_and_names_in_other_encodings() {
    let (dir, archive) = beside_cosbench();
    // Of the same number and name, by COSBench: one of another day, and one of a minute before.
    let history = dir.path().join("run-history.csv");
    let dates = [
        "2026-11-19 18:53:50,2026-11-19 18:53:51,2026-11-19 18:54:25",
        "2026-11-21 18:52:50,2026-11-21 18:52:51,2026-11-21 18:53:25",
    ];
    let others = dates.map(|dates| format!("w29,ours,{dates},read,finished,\n")).concat();
    std::fs::write(&history, [std::fs::read(&history).unwrap(), others.into_bytes()].concat()).unwrap();
    let model = mixed("ours");
    let ops = [successes(1, 1.0, 1), successes(1, 1.0, 1)];
    let run = archive.begin(&NewRun { number: Some(29), ..new_run(&model) }).unwrap();
    let path = run_to_the_end(run, &model, &ops);
    assert!(path.join("w29-ours-rt-histogram.csv").exists());
    let lines = |name: &str, begin: &str| {
        let text = String::from_utf8_lossy(&std::fs::read(dir.path().join(name)).unwrap()).into_owned();
        text.lines().filter(|line| line.starts_with(begin)).count()
    };
    assert_eq!((lines("run-history.csv", "w29,ours,"), lines("run-history.csv", "w29,caf")), (3, 1));
    assert_eq!(lines("run-history.csv", "w29,ours,2026-11-21 18:53:50,"), 1);
    assert_eq!(lines("workloads.csv", "w29-"), 2);
    assert!(archive.take_up_killed(&path, true).unwrap().is_none(), "it is over and whole");
    // Who looks from another zone finds its line as well.
    let elsewhere = archive.with_zone(TimeZone::posix("ELSE-5:45").unwrap());
    assert!(elsewhere.take_up_killed(&path, true).unwrap().is_none());
}

#[test]
fn an_index_that_cannot_be_written_costs_no_file_of_the_run_and_is_made_up_for() {
    let (dir, archive) = beside_cosbench();
    let model = mixed("ours");
    let mut run = archive.begin(&new_run(&model)).unwrap();
    run.enter_stage(0, StageState::Running, at("18:54:00")).unwrap();
    let history = dir.path().join("run-history.csv");
    std::fs::remove_file(&history).unwrap();
    std::fs::create_dir(&history).unwrap();
    let path = run.path().to_owned();
    let tables = [StageTables::of(&[successes(1, 1.0, 1), successes(1, 1.0, 1)])];
    let error = run.finish(&run.record().clone(), &tables).unwrap_err().to_string();
    drop(run);
    assert!(error.contains("run-history.csv"), "{error}");
    assert!(path.join("w32-ours-rt-histogram.csv").exists() && path.join("w32-ours.csv").exists());
    std::fs::remove_dir(&history).unwrap();
    let killed = archive.take_up_killed(&path, true).unwrap().unwrap();
    assert!(killed.was_over);
    let record = killed.run.record.clone();
    killed.end(&record).unwrap();
    assert_eq!(text(&history).matches("\nw32,ours,").count(), 1);
    assert!(archive.take_up_killed(&path, true).unwrap().is_none());
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
