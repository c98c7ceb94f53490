//! Faults on another machine over ssh: proved and healed there, healed by itself there when this side is gone, and nothing for who
//! may not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};

use cosmark_archive::{RunRecord, open_run};

use crate::daemons::{Busy, RUN, kill_both, record, state_of, void};
use crate::eventually;
use crate::sshd::{Far, far};
use crate::support::{cosmark, skipped, stderr, stdout};

const PROGRAMS: &str = "/usr/bin:/bin:/usr/sbin:/sbin";

/// A load on the mock store for so many operations of 200 a second, with these faults, in a directory of its own.
fn place(far: &Far, name: &str, faults: &[String], operations: u32) -> PathBuf {
    let directory = far.home.path().join(name);
    fs::create_dir(&directory).unwrap();
    let faults: String = faults.iter().map(|fault| format!("      - {{{fault}}}\n")).collect();
    let text = format!(
        "name: broken\nstages:\n  - name: main\n    faults:\n{faults}    works:\n      - {{name: main, workers: 4, total_ops: \
         {operations}, interval: 1s, rate: 200/s, operations: [{{type: write, containers: c(1), objects: u(1,99), sizes: \
         c(1)KB}}]}}\n"
    );
    fs::write(directory.join("broken.yaml"), text).unwrap();
    let target =
        "storage: {type: mock, delay: 2ms}\nnodes:\n  - {name: s1, role: storage, type: ssh, host: far}\n";
    fs::write(directory.join("target.yaml"), target).unwrap();
    directory
}

fn run(far: &Far, directory: &Path, args: &[&str]) -> Output {
    far.with_ssh(cosmark(directory)).args(args).output().unwrap()
}

fn whole(far: &Far, directory: &Path) -> Output {
    run(far, directory, &[&RUN[..], &["--target", "target.yaml"]].concat())
}

/// Begins a run and waits until its fault is proved.
fn begin(far: &Far, directory: &Path) -> Child {
    let mut command = far.with_ssh(cosmark(directory));
    command.args(RUN).args(["--target", "target.yaml"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let events = directory.join("archive/w1-broken/events.csv");
    eventually("the proof of the fault", || {
        let said = fs::read_to_string(&events).unwrap_or_default();
        assert!(!said.contains("gone 1: void"), "{said}");
        said.contains("gone 1: it is there")
    });
    child
}

fn stop(busy: &Busy, more: &str) -> String {
    format!("name: gone, {}", busy.fault(&format!("type: signal, signal: STOP, {more}")))
}

/// What a run has left on the other machine.
fn left(run: u32) -> Vec<PathBuf> {
    let entries = fs::read_dir("/tmp").unwrap().flatten().map(|entry| entry.path());
    let start = format!("/tmp/cosmark-fault-{run}-");
    entries.filter(|path| path.to_string_lossy().starts_with(&start)).collect()
}

/// All that the server has started, and itself.
fn cut(far: &mut Far) {
    let parent_of = |number: i32| -> Option<i32> {
        let text = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
        text.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    let own = i32::try_from(far.server.id()).unwrap();
    let mut all = vec![own];
    let numbers: Vec<i32> = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_string_lossy().parse().ok())
        .collect();
    for _ in 0..4 {
        for &number in &numbers {
            let name = fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default();
            let is_of_it = parent_of(number).is_some_and(|parent| all.contains(&parent));
            if is_of_it && name.starts_with("sshd") && !all.contains(&number) {
                all.push(number);
            }
        }
    }
    assert!(all.len() > 1, "there is a session");
    for number in all {
        // SAFETY: a signal to a server that this test has started, and to its sessions.
        unsafe { libc::kill(number, libc::SIGKILL) };
    }
    far.server.wait().unwrap();
}

fn texts(record: &RunRecord) -> Vec<&str> {
    record.events.iter().map(|event| event.text.as_str()).collect()
}

#[test]
fn faults_on_another_machine_are_proved_and_healed_over_ssh_and_nothing_stays_there() {
    let far = match far(PROGRAMS) {
        Ok(far) => far,
        Err(why) => return skipped(&why),
    };
    let busy = Busy::begin(far.home.path());
    let there = far.home.path().join("there it is");
    let faults = [
        stop(&busy, "node: s1, hold: 9s, slot: 14s, keep: 1s"),
        format!(
            "name: file, type: command, inject: \"touch '{0}'\", heal: \"rm '{0}'\", proof: \"test -e '{0}' && echo it lies there\", \
             whole: \"test ! -e '{0}'\", host: far, at: 5 objects, hold: 2s, slot: 5s, keep: 1s, repeats: 1",
            there.display()
        ),
    ];
    let directory = place(&far, "both", &faults, 10_000);
    let mut child = begin(&far, &directory);
    assert_eq!((state_of(busy.child.id()), left(child.id()).len()), ('T', 1));
    eventually("the end of the run", || child.try_wait().unwrap().is_some());
    let record = record(&directory);
    let slots: Vec<_> = record.stages[0].faults.iter().map(|fault| &fault.slots[0]).collect();
    assert!(slots.iter().all(|slot| slot.void.is_none() && slot.healed_s.is_some()), "{slots:?}");
    assert_eq!(slots[0].proof.as_deref(), Some("far: 1 of 1 processes stand still (state T)"));
    assert_eq!(slots[1].proof.as_deref(), Some("far: it lies there"));
    let bound = "far heals it by itself ";
    assert!(texts(&record).iter().any(|text| text.contains(bound)), "{:?}", texts(&record));
    assert_ne!(state_of(busy.child.id()), 'T');
    assert!(!there.exists());
    assert_eq!(left(child.id()), Vec::<PathBuf>::new());
    assert_eq!(run(&far, &directory, &["faults", "list"]).status.code(), Some(0));
}

#[test]
fn a_process_on_another_machine_goes_on_in_its_time_when_run_and_guardian_are_killed() {
    let far = match far(PROGRAMS) {
        Ok(far) => far,
        Err(why) => return skipped(&why),
    };
    let busy = Busy::begin(far.home.path());
    let directory =
        place(&far, "killed", &[stop(&busy, "node: s1, hold: 10s, slot: 14s, keep: 1s, within: 1s")], 20_000);
    let child = begin(&far, &directory);
    let number = child.id();
    kill_both(&directory, child);
    assert_eq!(state_of(busy.child.id()), 'T');
    eventually("its healing over there", || state_of(busy.child.id()) != 'T');
    eventually("the record of it", || left(number).iter().any(|path| path.join("healed").exists()));
    let healed = run(&far, &directory, &["faults", "heal"]);
    let text = stdout(&healed);
    assert_eq!(healed.status.code(), Some(0), "{text}{}", stderr(&healed));
    assert!(text.contains("its own limit on that machine has healed it"), "{text}");
    assert_eq!(left(number), Vec::<PathBuf>::new());
}

#[test]
fn a_killed_run_leaves_a_fault_on_another_machine_to_its_guardian() {
    let far = match far(PROGRAMS) {
        Ok(far) => far,
        Err(why) => return skipped(&why),
    };
    let busy = Busy::begin(far.home.path());
    let directory = place(&far, "guarded", &[stop(&busy, "host: far, hold: 500s, slot: 510s")], 180_000);
    let child = begin(&far, &directory);
    let number = child.id();
    crate::daemons::kill(child);
    eventually("its healing", || state_of(busy.child.id()) != 'T');
    eventually("nothing left over there", || left(number).is_empty());
}

#[test]
fn a_machine_that_is_lost_in_the_middle_makes_the_slot_void_and_heals_by_itself() {
    let mut far = match far(PROGRAMS) {
        Ok(far) => far,
        Err(why) => return skipped(&why),
    };
    let busy = Busy::begin(far.home.path());
    let directory =
        place(&far, "lost", &[stop(&busy, "node: s1, hold: 10s, slot: 14s, keep: 1s, within: 1s")], 6000);
    let mut child = begin(&far, &directory);
    cut(&mut far);
    assert_eq!(state_of(busy.child.id()), 'T');
    eventually("its healing over there", || state_of(busy.child.id()) != 'T');
    eventually("the end of the run", || child.try_wait().unwrap().is_some());
    let why = void(&directory);
    assert!(why.contains("cannot be told: far: "), "{why}");
    let record = record(&directory);
    let said = texts(&record);
    let unhealed = |text: &&str| {
        text.contains("COULD NOT BE HEALED") && text.contains("heals it by itself at the latest")
    };
    assert!(said.iter().any(unhealed), "{said:?}");
    // What heals by itself may still write there.
    for path in left(child.id()) {
        eventually("what is left there can be removed", || {
            fs::remove_dir_all(&path).is_ok() || !path.exists()
        });
    }
}

#[test]
fn two_runs_do_not_stop_the_same_process_of_another_machine() {
    let far = match far(PROGRAMS) {
        Ok(far) => far,
        Err(why) => return skipped(&why),
    };
    let busy = Busy::begin(far.home.path());
    let first = place(&far, "first", &[stop(&busy, "node: s1, hold: 500s, slot: 510s")], 180_000);
    let second = place(&far, "second", &[stop(&busy, "host: far, hold: 1s, slot: 2s, keep: 0s")], 1200);
    let mut child = begin(&far, &first);
    let output = whole(&far, &second);
    assert!(void(&second).contains("another cosmark of this machine"), "{}", stderr(&output));
    assert_eq!(state_of(busy.child.id()), 'T', "what is not one's own is not healed");
    crate::support::signal(&child, libc::SIGINT);
    eventually("the end of the run", || child.try_wait().unwrap().is_some());
    assert_ne!(state_of(busy.child.id()), 'T');
    assert!(open_run(&first.join("archive/w1-broken")).is_ok());
}

#[test]
fn who_may_not_log_in_is_told_before_the_load_and_a_name_of_a_machine_runs_nothing() {
    let far = match far(PROGRAMS) {
        Ok(far) => far,
        Err(why) => return skipped(&why),
    };
    let refused = |name: &str, fault: &str, target: Option<&str>, expected: &str| {
        let more = "hold: 1s, slot: 3s, repeats: 1";
        let fault = format!("name: gone, type: signal, signal: STOP, process: x, {fault}, {more}");
        let directory = place(&far, &format!("refused {name}"), &[fault], 600);
        if let Some(target) = target {
            fs::write(directory.join("target.yaml"), target).unwrap();
        }
        let output = whole(&far, &directory);
        let text = stderr(&output);
        assert!(output.status.code() == Some(2) && text.contains(expected), "{name}: {text}");
        let begun = fs::read_dir(directory.join("archive")).map_or(0, |entries| {
            entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with('w')).count()
        });
        assert!(begun == 0 && !directory.join("pwned").exists(), "{name}: {text}");
    };
    refused("option", "host: '-oProxyCommand=touch pwned'", None, "no host for ssh");
    refused("words", "host: 'far;touch pwned'", None, "no host for ssh");
    refused("user", "host: '$(touch pwned)@far'", None, "no host for ssh");
    refused("node", "node: s2", None, "is not in nodes:");
    refused("both", "node: s1, host: far", None, "on one machine");
    let hostile = "storage: {type: mock}\nnodes:\n  - {name: s1, role: storage, type: ssh, host: '-oProxyCommand=touch pwned'}\n";
    refused("nodes", "node: s1", Some(hostile), "no host for ssh");
    let other = "storage: {type: mock}\nnodes:\n  - {name: s1, role: storage, type: local}\n";
    refused("local", "node: s1", Some(other), "over which nothing can be done");
    fs::write(far.home.path().join("key.pub"), "").unwrap();
    refused("key", "node: s1", None, "first make `ssh -oBatchMode=yes far true` work");
    refused("key again", "host: far", None, "Permission denied");
    let public = fs::read_to_string(far.home.path().join("hostkey.pub")).unwrap();
    fs::write(far.home.path().join("known"), format!("other {public}")).unwrap();
    refused("host", "host: far", None, "Host key verification failed");
}
