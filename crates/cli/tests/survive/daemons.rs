//! Faults of processes: stopped or limited, healed after a kill, made by two runs at once, healed by somebody else meanwhile.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cosmark_archive::{RunRecord, open_run};

use crate::eventually;
use crate::support::{Server, cosmark, run, signal, skipped, stderr, stdout};

/// A process that is there for good, and the file with its number.
pub struct Busy {
    pub child: Child,
    file: PathBuf,
}

impl Busy {
    /// It waits: a signal stops it as well as one that computes, and other tests want the processors.
    pub fn begin(directory: &Path) -> Self {
        Self::of(directory, Command::new("sleep").arg("100000"))
    }

    /// It computes, as what is held up by a limit has to.
    pub fn computing(directory: &Path) -> Self {
        Self::of(directory, Command::new("sh").args(["-c", "while :; do :; done"]))
    }

    fn of(directory: &Path, command: &mut Command) -> Self {
        let child = command.stdin(Stdio::null()).spawn().unwrap();
        let file = directory.join("busy.pid");
        fs::write(&file, child.id().to_string()).unwrap();
        Self { child, file }
    }

    pub fn fault(&self, what: &str) -> String {
        format!("{what}, pid_file: {}, at: 5 objects, repeats: 1", self.file.display())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub fn state_of(pid: u32) -> char {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    text.rsplit_once(") ").unwrap().1.chars().next().unwrap()
}

/// A load on the mock store for so many operations of 200 a second, with one fault.
pub fn workload(directory: &Path, fault: &str, operations: u32) {
    let text = format!(
        "name: broken\nstorage: {{type: mock, delay: 2ms}}\nstages:\n  - name: main\n    faults:\n      - {{name: gone, {fault}}}\n    \
         works:\n      - {{name: main, workers: 4, total_ops: {operations}, interval: 1s, rate: 200/s, operations: [{{type: write, \
         containers: c(1), objects: u(1,99), sizes: c(1)KB}}]}}\n"
    );
    fs::write(directory.join("broken.yaml"), text).unwrap();
}

pub const RUN: [&str; 5] = ["run", "broken.yaml", "--quiet", "--no-report", "--allow-faults"];

/// Begins a run and waits until its fault is proved, or void.
pub fn begin(directory: &Path, more: &[&str]) -> (Child, String) {
    let mut command = cosmark(directory);
    let child = command.args(RUN).args(more).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut said = String::new();
    eventually("the proof of the fault", || {
        said = fs::read_to_string(directory.join("archive/w1-broken/events.csv")).unwrap_or_default();
        said.contains("gone 1: it is there") || said.contains("gone 1: void")
    });
    (child, said)
}

pub fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The guardians of faults that stand in this directory's archive.
pub fn guardians(directory: &Path) -> Vec<u32> {
    let journal = directory.canonicalize().unwrap().join("archive/.faults/");
    let journal = journal.to_string_lossy().into_owned();
    let is_one = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.starts_with(b"cosmark-guard\0") && String::from_utf8_lossy(&line).contains(&journal)
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok()).filter(is_one).collect()
}

/// The run and whoever looks after its faults.
pub fn kill_both(directory: &Path, child: Child) {
    for pid in guardians(directory) {
        // SAFETY: a signal to a process of a run that this test has started.
        unsafe { libc::kill(libc::pid_t::try_from(pid).unwrap(), libc::SIGKILL) };
    }
    kill(child);
}

pub fn record(directory: &Path) -> RunRecord {
    open_run(&directory.join("archive/w1-broken")).unwrap().record
}

/// Why the only slot of the only fault says nothing.
pub fn void(directory: &Path) -> String {
    let record = record(directory);
    let slot = &record.stages[0].faults[0].slots[0];
    slot.void.clone().unwrap_or_else(|| panic!("it counts: {slot:?}"))
}

pub fn heal(directory: &Path, more: &[&str]) -> (Option<i32>, String) {
    let output = run(directory, &[&["faults", "heal"], more].concat());
    (output.status.code(), format!("{}{}", stdout(&output), stderr(&output)))
}

#[test]
fn a_server_that_a_killed_run_has_stopped_goes_on_when_it_is_healed_and_a_second_time_there_is_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let server = Server::start(path, &[]);
    server.target(path, None);
    let pid = server.child().id();
    fs::write(path.join("server.pid"), format!("{pid} and whatever else\n")).unwrap();
    fs::write(
        path.join("broken.yaml"),
        "name: broken\ndefaults: {containers: \"r(1,1)\", sizes: c(1)KB}\nstages:\n  - name: init\n    works: [{type: init, workers: \
         1}]\n  - name: main\n    faults:\n      - {name: gone, type: signal, signal: STOP, pid_file: server.pid, children: true, at: 5 \
         objects, hold: 500s, slot: 510s, repeats: 1}\n    works:\n      - {name: main, workers: 4, runtime: 900s, interval: 1s, rate: \
         50/s, operations: [{type: write, objects: u(1,99)}]}\n",
    )
    .unwrap();
    let (child, said) = begin(path, &["--target", "target.yaml"]);
    assert!(said.contains("stand still (state T)"), "{said}");
    assert_eq!(state_of(pid), 'T');
    // While its run is there it is left to it, and says so.
    let (code, text) = heal(path, &[]);
    assert!(code == Some(4) && text.contains("is left to its run"), "{text}");
    assert_eq!(state_of(pid), 'T');
    kill_both(path, child);
    assert_eq!(state_of(pid), 'T', "a kill of both heals nothing");
    let (code, text) = heal(path, &[]);
    assert_eq!(code, Some(0), "{text}");
    let healed = format!("is healed by SIGCONT to {pid}: 1 of 1 processes run again");
    assert!(text.contains("SIGSTOP to the process of server.pid") && text.contains(&healed), "{text}");
    assert_ne!(state_of(pid), 'T');
    assert_eq!(heal(path, &[]), (Some(0), "nothing to heal\n".to_owned()));
}

#[test]
fn a_proxy_that_stalls_ends_with_the_run_that_is_killed_and_that_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let server = Server::start(path, &[]);
    server.target(path, None);
    let of = server.says("endpoint").replace("http://", "");
    let text = format!(
        "name: broken\ndefaults: {{containers: \"r(1,1)\", sizes: c(1)KB}}\nstages:\n  - name: init\n    works: [{{type: init, workers: \
         1}}]\n  - name: main\n    faults:\n      - {{name: gone, type: proxy, of: '{}', stall: true, at: 5 objects, hold: 500s, slot: \
         510s, repeats: 1}}\n    works:\n      - {{name: main, workers: 4, runtime: 900s, interval: 1s, rate: 50/s, operations: [{{type: \
         write, objects: u(1,99)}}]}}\n",
        of.trim_end_matches('/')
    );
    fs::write(path.join("broken.yaml"), text).unwrap();
    kill(begin(path, &["--target", "target.yaml"]).0);
    let (code, text) = heal(path, &[]);
    assert!(code == Some(0) && text.contains("ended with its process"), "{text}");
    assert_eq!(heal(path, &[]), (Some(0), "nothing to heal\n".to_owned()));
}

#[test]
fn two_runs_do_not_make_the_same_thing_fail_and_what_is_broken_already_is_not_called_ones_own() {
    let directory = tempfile::tempdir().unwrap();
    let busy = Busy::begin(directory.path());
    let own = |name: &str| {
        let path = directory.path().join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let (first, second, third) = (own("first"), own("second"), own("third"));
    let stop = busy.fault("type: signal, signal: STOP, hold: 500s, slot: 510s");
    workload(&first, &stop, 180_000);
    let (child, said) = begin(&first, &[]);
    assert!(said.contains("stand still"), "{said}");
    let brief = busy.fault("type: signal, signal: STOP, hold: 1s, slot: 2s");
    for path in [&second, &third] {
        workload(path, &brief, 1800);
    }
    let output = run(&second, &RUN);
    let why = void(&second);
    assert!(why.contains("another cosmark of this machine"), "{why}: {}", stderr(&output));
    assert_eq!(state_of(busy.child.id()), 'T', "what is not one's own is not healed");
    // The first is gone, and what it did is still there: it is not taken for what the third did.
    kill_both(&first, child);
    run(&third, &RUN);
    let why = void(&third);
    assert!(why.contains("it was there before it was made"), "{why}");
    assert_eq!(state_of(busy.child.id()), 'T');
    let (code, text) = heal(&first, &[]);
    assert_eq!(code, Some(0), "{text}");
    assert_ne!(state_of(busy.child.id()), 'T');
}

#[test]
fn a_slot_whose_fault_somebody_else_has_healed_is_void() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let busy = Busy::begin(path);
    workload(path, &busy.fault("type: signal, signal: STOP, hold: 10s, slot: 11s"), 4800);
    let (mut child, said) = begin(path, &[]);
    assert!(said.contains("stand still"), "{said}");
    let (code, text) = heal(path, &["--force"]);
    assert!(code == Some(0) && text.contains("is healed by SIGCONT"), "{text}");
    assert_ne!(state_of(busy.child.id()), 'T');
    let mut over = false;
    eventually("the end of the run", || {
        over = child.try_wait().unwrap().is_some();
        over
    });
    let why = void(path);
    assert!(why.contains("it was gone before it was to be healed"), "{why}");
    assert_eq!(run(path, &["faults", "list"]).status.code(), Some(0));
}

#[test]
fn a_limit_by_a_control_group_is_taken_away_after_ctrl_c_and_after_a_kill() {
    for is_killed in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let busy = Busy::computing(path);
        let groups = || fs::read_to_string(format!("/proc/{}/cgroup", busy.child.id())).unwrap();
        let before = groups();
        workload(path, &busy.fault("type: cgroup, cpu: 5 %, hold: 500s, slot: 510s"), 180_000);
        let (mut child, said) = begin(path, &[]);
        if said.contains("gone 1: void") && ["control group", "cgroup"].iter().any(|word| said.contains(word))
        {
            kill(child);
            return skipped(said.lines().find(|line| line.contains("void")).unwrap_or_default());
        }
        assert!(said.contains("1 processes are in control groups of version"), "{said}");
        assert!(groups().contains("cosmark-fault-"), "{}", groups());
        if is_killed {
            kill_both(path, child);
            assert!(groups().contains("cosmark-fault-"), "a kill of both heals nothing");
            let (code, text) = heal(path, &[]);
            assert!(code == Some(0) && text.contains("is healed by taking processes out of"), "{text}");
            assert_eq!(heal(path, &[]), (Some(0), "nothing to heal\n".to_owned()));
        } else {
            signal(&child, libc::SIGINT);
            eventually("the end of the run", || child.try_wait().unwrap().is_some());
            let texts: Vec<String> = record(path).events.into_iter().map(|event| event.text).collect();
            assert!(texts.iter().any(|text| text == "gone 1: healed"), "{texts:?}");
        }
        assert_eq!(groups(), before);
    }
}

/// A container of a prober that could not end is named, and `cosmark clean` takes it away.
#[test]
fn a_prober_beside_a_frozen_store_ends_with_the_run_and_what_it_left_is_cleaned() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let server = Server::start(path, &[]);
    let target = server.target(path, None);
    let text = fs::read_to_string(&target).unwrap();
    fs::write(&target, format!("{text}  timeout: 300s\n")).unwrap();
    fs::write(
        path.join("broken.yaml"),
        "name: broken\nconsistency: {share: 10%, reach: 1s}\ndefaults: {containers: \"r(1,1)\", objects: \"r(1,20)\", sizes: c(1)KB}\n\
         stages:\n  - {name: init, works: [{type: init, workers: 1}]}\n  - {name: prepare, works: [{type: prepare, workers: 2}]}\n  \
         - name: main\n    works: [{name: main, workers: 4, runtime: 25s, interval: 1s, rate: 100/s, operations: [{type: read}]}]\n",
    )
    .unwrap();
    let mut command = cosmark(path);
    command.args(["run", "broken.yaml", "--quiet", "--no-report", "--target", "target.yaml"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let intervals = path.join("archive/w1-broken/intervals.csv");
    let seconds = || {
        let text = fs::read_to_string(&intervals).unwrap_or_default();
        text.lines().filter(|line| line.starts_with("s3-main,")).count()
    };
    // Of each container a directory, whose name ends with that of the container.
    let buckets = Path::new(&server.says("objects in")).join("buckets");
    let named = |name: &str| {
        let all = fs::read_dir(&buckets).unwrap().flatten().map(|one| one.path());
        let own = |path: &PathBuf| path.file_name().is_some_and(|one| one.to_string_lossy().contains(name));
        all.filter(own).collect::<Vec<_>>()
    };
    let has_probed = || {
        let folders = named("-cosmark-probe-").into_iter().filter_map(|one| fs::read_dir(one).ok());
        folders
            .flat_map(|folders| folders.flatten())
            .any(|folder| fs::read_dir(folder.path()).is_ok_and(|mut files| files.next().is_some()))
    };
    eventually("a write of the prober", || has_probed() || child.try_wait().unwrap().is_some());
    let seen = seconds();
    eventually("some seconds of load", || {
        seconds() >= 4.max(seen + 2) || child.try_wait().unwrap().is_some()
    });
    signal(server.child(), libc::SIGSTOP);
    let began = Instant::now();
    eventually("the end of the run", || child.try_wait().unwrap().is_some());
    let took = began.elapsed();
    signal(server.child(), libc::SIGCONT);
    // Far from the time limit of a request, however slow this machine is.
    assert!(took < Duration::from_secs(150), "{took:?}");
    let record = record(path);
    let main = &record.stages[2];
    let found = main.consistency.as_ref().unwrap();
    assert!(found.changes > 0, "what was seen before is kept: {found:#?}");
    let made = &main.containers.created;
    assert!(made.len() == 1 && made[0].starts_with("cosmark-probe-"), "{made:?}");
    assert!(found.left.iter().any(|left| left.starts_with(made[0].as_str())), "{:?}", found.left);
    let clean = |more: &[&str]| {
        let output = run(path, &[&["clean", "w1", "--target", "target.yaml", "--json"], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let of_prober = |said: &serde_json::Value| {
        let all = said["containers"].as_array().unwrap().clone();
        all.into_iter().find(|one| one["name"] == made[0].as_str())
    };
    let is_stored = || named(&made[0]).iter().any(|one| one.join("bucket.json").exists());
    if let Some(planned) = of_prober(&clean(&["--dry-run"])) {
        assert!(is_stored(), "clean sees what is not there");
        assert_eq!((&planned["removed"], &planned["others"]), (&true.into(), &0.into()), "{planned}");
        let done = of_prober(&clean(&[])).unwrap();
        assert_eq!((&done["removed"], &done["objects"]), (&true.into(), &planned["objects"]), "{done}");
    } else {
        // The store may have carried out what the prober had ordered when it went on, and the container was empty then.
        assert!(!is_stored(), "clean does not see what is there");
    }
    assert_eq!(of_prober(&clean(&[])), None, "there is nothing left of it");
    assert!(!is_stored(), "the store has what clean says is gone");
}
