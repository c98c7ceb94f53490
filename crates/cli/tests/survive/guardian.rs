//! The guardian of a fault: it heals when the run is killed or stands still, once, and ends with its work.

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use cosmark_archive::open_run;

use crate::daemons::{Busy, RUN, begin, guardians, heal, kill, record, state_of, void, workload};
use crate::eventually;
use crate::support::{Server, cosmark, run, signal, stderr, stdout};

/// A fault whose being there is a file, with a line in `heals` for each time that it was healed.
fn file_fault(heal: &str, more: &str) -> String {
    format!(
        "type: command, inject: 'touch there', heal: 'echo x >> heals; {heal}', proof: 'test -e there', at: 5 objects, repeats: \
         1, {more}"
    )
}

fn times_healed(directory: &Path) -> usize {
    fs::read_to_string(directory.join("heals")).unwrap_or_default().lines().count()
}

fn log(directory: &Path) -> String {
    fs::read_to_string(directory.join("archive/.faults/guardian.log")).unwrap_or_default()
}

/// The files of faults in force.
fn noted(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory.join("archive/.faults")) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect()
}

fn until_no_guardian(directory: &Path) {
    eventually("the end of the guardian", || guardians(directory).is_empty());
}

fn until_exit(child: &mut Child) {
    eventually("the end of the run", || child.try_wait().unwrap().is_some());
}

#[test]
fn a_server_that_a_killed_run_has_stopped_is_healed_by_the_guardian_which_holds_nothing_and_ends() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let server = Server::start(path, &[]);
    server.target(path, None);
    let pid = server.child().id();
    fs::write(path.join("server.pid"), format!("{pid}\n")).unwrap();
    fs::write(
        path.join("broken.yaml"),
        "name: broken\ndefaults: {containers: \"r(1,1)\", sizes: c(1)KB}\nstages:\n  - name: init\n    works: [{type: init, workers: \
         1}]\n  - name: main\n    faults:\n      - {name: gone, type: signal, signal: STOP, pid_file: server.pid, children: true, at: 5 \
         objects, hold: 500s, slot: 510s, repeats: 1}\n    works:\n      - {name: main, workers: 4, runtime: 900s, interval: 1s, rate: \
         50/s, operations: [{type: write, objects: u(1,99)}]}\n",
    )
    .unwrap();
    let mut command = cosmark(path);
    command.args(RUN).args(["--target", "target.yaml"]).process_group(0);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let events = path.join("archive/w1-broken/events.csv");
    eventually("the proof of the fault", || {
        fs::read_to_string(&events).is_ok_and(|text| text.contains("gone 1: it is there"))
    });
    assert_eq!(state_of(pid), 'T');
    assert_eq!(guardians(path).len(), 1, "each fault has one");
    // All that belongs to the run's terminal goes at once.
    let group = libc::pid_t::try_from(child.id()).unwrap();
    // SAFETY: a signal to the process group that this test has started.
    unsafe { libc::kill(-group, libc::SIGKILL) };
    child.wait().unwrap();
    eventually("the healing", || state_of(pid) != 'T');
    until_no_guardian(path);
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(noted(path), Vec::<PathBuf>::new());
    let healed = format!(
        "gone 1: healed by its guardian, because the run that made it is gone: SIGCONT to {pid}: 1 of 1 processes run again"
    );
    assert!(log(path).lines().count() == 1 && log(path).contains(&healed), "{}", log(path));
    // It stands in the timeline of the killed run, also when that was ended, and so does the fault with what became of it.
    let before = cosmark_archive::Timestamp::now();
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(run(path, &["recover", "w1"]).status.code(), Some(0));
    let ended = record(path);
    assert!(ended.ended.unwrap() < before, "{:?} {before}", ended.ended);
    let fault = &ended.stages[1].faults[0];
    let slot = &fault.slots[0];
    assert!(slot.void.as_ref().is_some_and(|why| why.starts_with("cut ")), "{slot:?}");
    assert!(slot.landed_s.unwrap() <= slot.healed_s.unwrap() && slot.proof.is_some(), "{slot:?}");
    assert!(fault.remarks.iter().any(|one| one.contains("gone 1: healed by its guardian")), "{fault:?}");
    let events = open_run(&path.join("archive/w1-broken")).unwrap().events().unwrap();
    assert_eq!(events.iter().filter(|event| event.text == healed).count(), 1, "{events:?}");
    assert_eq!(run(path, &["faults", "list"]).status.code(), Some(0));
    assert_eq!(heal(path, &[]), (Some(0), "nothing to heal\n".to_owned()));
}

#[test]
fn each_fault_of_killed_runs_is_healed_once_whoever_else_wants_to() {
    let directory = tempfile::tempdir().unwrap();
    let own = |name: &str| {
        let path = directory.path().join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let (first, second) = (own("first"), own("second"));
    let fault = file_fault("sleep 1; rm there", "hold: 500s, slot: 510s");
    let mut children = Vec::new();
    for path in [&first, &second] {
        workload(path, &fault, 180_000);
        children.push(begin(path, &[]).0);
    }
    children.into_iter().for_each(kill);
    for path in [&first, &second] {
        // Whoever comes first heals it, and who comes later waits for that and says it.
        let (code, text) = heal(path, &[]);
        assert_eq!(code, Some(0), "{text}");
        until_no_guardian(path);
        assert!(!path.join("there").exists(), "{text}");
        assert_eq!((times_healed(path), noted(path)), (1, Vec::new()), "{text} {}", log(path));
    }
}

#[test]
fn a_fault_of_a_run_that_stands_still_ends_in_its_time_and_its_slot_is_void() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    // A second healing would fail: there is nothing to remove.
    workload(path, &file_fault("rm there", "hold: 12s, slot: 14s, keep: 1s"), 7200);
    let (mut child, said) = begin(path, &[]);
    assert!(said.contains("it is there"), "{said}");
    signal(&child, libc::SIGSTOP);
    until_no_guardian(path);
    assert!(!path.join("there").exists() && noted(path).is_empty(), "{}", log(path));
    assert_eq!(state_of(child.id()), 'T', "the run still stands");
    signal(&child, libc::SIGCONT);
    until_exit(&mut child);
    let why = void(path);
    assert!(why.contains("healed by its guardian") && why.contains("stood still"), "{why}");
    assert_eq!(times_healed(path), 1, "{}", log(path));
    assert!(log(path).contains("no sign of life for"), "{}", log(path));
    let events = record(path).events;
    assert!(events.iter().all(|event| !event.text.contains("COULD NOT BE HEALED")), "{events:?}");
    assert_eq!(run(path, &["faults", "list"]).status.code(), Some(0));
}

#[test]
fn a_run_that_stands_still_while_it_makes_a_fault_leaves_nothing_broken_whether_it_goes_on_or_is_killed() {
    for is_killed in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let fault = "type: command, inject: 'touch begun; while test ! -e go; do sleep 0.05; done; touch there', heal: 'echo x >> \
                     heals; rm -f there', proof: 'test -e there', at: 5 objects, repeats: 1, hold: 1s, slot: 3s, keep: 1s, within: \
                     10s";
        workload(path, fault, 2400);
        let mut command = cosmark(path);
        let mut child = command.args(RUN).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        eventually("the fault's beginning", || path.join("begun").exists());
        signal(&child, libc::SIGSTOP);
        eventually("its healing", || times_healed(path) > 0);
        eventually("the log", || log(path).contains("healed by its guardian while it was made"));
        assert_eq!((noted(path).len(), guardians(path).len()), (1, 1), "it may be made yet");
        fs::write(path.join("go"), "").unwrap();
        eventually("the fault", || path.join("there").exists() || times_healed(path) > 1);
        if is_killed {
            kill(child);
        } else {
            signal(&child, libc::SIGCONT);
            until_exit(&mut child);
            let why = void(path);
            assert!(why.contains("while it was made") || why.contains("took longer"), "{why}");
        }
        until_no_guardian(path);
        assert!(!path.join("there").exists() && noted(path).is_empty(), "{is_killed}: {}", log(path));
    }
}

#[test]
fn a_run_that_is_killed_while_it_makes_a_fault_leaves_nothing_broken_whoever_goes_on_making_it() {
    // By the command itself, which is ended, also by a machine that needs seconds for it; by what that has started beyond its
    // reach, before the second healing.
    for (inject, comes) in [
        ("touch begun; sleep 15; touch there came", false),
        ("setsid sh -c \"touch begun; sleep 2; touch there came\"; true", true),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let fault = format!(
            "type: command, inject: '{inject}', heal: 'echo x >> heals; rm -f there', proof: 'test -e there', at: 5 objects, repeats: 1, \
             hold: 500s, slot: 510s, within: 16s"
        );
        workload(path, &fault, 180_000);
        let mut command = cosmark(path);
        let child = command.args(RUN).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        eventually("the fault's beginning", || path.join("begun").exists());
        kill(child);
        eventually("its healing", || times_healed(path) > 0);
        assert_eq!(noted(path).len(), 1, "it may be made yet: {}", log(path));
        // Whoever else wants to heal it waits for its guardian.
        let (code, text) = heal(path, &[]);
        assert!(code == Some(0) && text.contains("was healed by its guardian"), "{text}");
        until_no_guardian(path);
        assert_eq!((times_healed(path), path.join("came").exists()), (2, comes), "{inject}: {}", log(path));
        assert!(!path.join("there").exists() && noted(path).is_empty(), "{inject}: {}", log(path));
    }
}

#[test]
fn a_run_whose_guardian_is_killed_goes_on_says_so_and_heals_by_itself() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let busy = Busy::begin(path);
    workload(path, &busy.fault("type: signal, signal: STOP, hold: 8s, slot: 10s, keep: 1s"), 6000);
    let (mut child, said) = begin(path, &[]);
    assert!(said.contains("stand still"), "{said}");
    let pid = guardians(path)[0];
    // SAFETY: a signal to a process of a run that this test has started.
    unsafe { libc::kill(libc::pid_t::try_from(pid).unwrap(), libc::SIGKILL) };
    until_exit(&mut child);
    let record = record(path);
    let slot = &record.stages[0].faults[0].slots[0];
    assert!(slot.void.is_none() && slot.healed_s.is_some(), "{slot:?}");
    let texts: Vec<_> = record.events.iter().map(|event| event.text.as_str()).collect();
    let gone = format!("gone 1: its guardian (process {pid}) is gone");
    assert_eq!(texts.iter().filter(|text| text.starts_with(&gone)).count(), 1, "{texts:?}");
    assert!(texts.contains(&"gone 1: healed"), "{texts:?}");
    assert_ne!(state_of(busy.child.id()), 'T');
    assert!(guardians(path).is_empty() && log(path).is_empty());
}

#[test]
fn guardians_of_a_run_that_heals_end_with_each_fault_and_one_that_cannot_heal_says_so_and_ends() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    workload(
        path,
        &file_fault("rm there", "hold: 1s, slot: 3s, keep: 1s").replace("repeats: 1", "repeats: 2"),
        5000,
    );
    let output = run(path, &RUN);
    let slots = &record(path).stages[0].faults[0].slots;
    assert_eq!(slots.len(), 2, "{slots:?}");
    assert!(slots.iter().all(|slot| slot.void.is_none()), "{slots:?} {}", stderr(&output));
    assert_eq!((times_healed(path), guardians(path).len(), log(path).as_str()), (2, 0, ""));

    let second = path.join("second");
    fs::create_dir(&second).unwrap();
    workload(&second, &file_fault("test -e mended && rm there", "hold: 500s, slot: 510s"), 180_000);
    kill(begin(&second, &[]).0);
    until_no_guardian(&second);
    assert_eq!((times_healed(&second), noted(&second).len()), (3, 1));
    assert!(log(&second).contains("COULD NOT BE HEALED by its guardian"), "{}", log(&second));
    let listed = run(&second, &["faults", "list"]);
    assert!(
        listed.status.code() == Some(4) && stdout(&listed).contains("its run is gone"),
        "{}",
        stdout(&listed)
    );
    fs::write(second.join("mended"), "").unwrap();
    assert_eq!(heal(&second, &[]).0, Some(0));
    assert!(!second.join("there").exists() && noted(&second).is_empty());
}
