//! Faults that a run makes are healed whatever ends it, are void where nothing proves them, and are made only where the user
//! allows it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use cosmark_archive::{EventKind, RunState, open_run};

use crate::daemons::kill_both;
use crate::support::{Server, cosmark, run, signal, stderr, stdout};
use crate::{bed, eventually, short_run};

/// A load of writes with one fault, whose file is its being there.
fn workload(directory: &Path, fault: &str, runtime_s: u32) {
    let text = format!(
        "name: broken\nstorage: {{type: mock, delay: 2ms}}\nstages:\n  - name: main\n    faults:\n      - {{name: gone, {fault}}}\n    \
         works:\n      - {{name: main, workers: 4, runtime: {runtime_s}s, interval: 1s, rate: 200/s, operations: [{{type: write, \
         containers: c(1), objects: u(1,99), sizes: c(1)KB}}]}}\n"
    );
    fs::write(directory.join("broken.yaml"), text).unwrap();
}

const FILE: &str =
    "type: command, inject: 'touch there', heal: 'rm -f there', proof: 'test -e there && echo it lies there'";

fn begin(directory: &Path, args: &[&str]) -> Child {
    let mut command = cosmark(directory);
    command.args(["run", "broken.yaml", "--no-report", "--allow-faults"]).args(args);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let there = directory.join("there");
    eventually("the fault", || there.exists());
    // What a person would see before pressing a key: the run has written down that it is there.
    let proved = || {
        let runs = fs::read_dir(directory.join("archive")).unwrap().flatten();
        let logs = runs.filter_map(|run| fs::read_to_string(run.path().join("events.csv")).ok());
        logs.filter(|text| text.contains("gone 1: it is there")).count()
    };
    eventually("its proof", || proved() == expected(directory));
    child
}

/// Runs of this workload so far, each of which proves its fault.
fn expected(directory: &Path) -> usize {
    let runs = fs::read_dir(directory.join("archive")).unwrap().flatten();
    runs.filter(|run| run.file_name().to_string_lossy().ends_with("-broken")).count()
}

fn until_exit(child: &mut Child) -> Option<i32> {
    let mut code = None;
    eventually("the end of the run", || {
        code = child.try_wait().unwrap().map(|status| status.code());
        code.is_some()
    });
    code.flatten()
}

#[test]
fn a_fault_of_a_killed_run_is_healed_by_the_command_and_by_the_next_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    workload(path, &format!("{FILE}, at: 5 objects, hold: 500s, slot: 510s, repeats: 1"), 900);
    for by_next_run in [false, true] {
        let child = begin(path, &[]);
        let alive = run(path, &["faults", "heal"]);
        assert_eq!(alive.status.code(), Some(4), "what has its run is left to it: {}", stderr(&alive));
        assert!(path.join("there").exists());
        kill_both(path, child);
        let listed = run(path, &["faults", "list"]);
        assert_eq!(listed.status.code(), Some(4));
        assert!(stdout(&listed).contains("gone 1: touch there"), "{}", stdout(&listed));
        assert!(stdout(&listed).contains("its run is gone"), "{}", stdout(&listed));
        let listed = run(path, &["faults", "list", "--json"]);
        let all: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
        assert!(listed.status.code() == Some(4) && all[0]["healer"] == "nobody", "{all:#}");
        assert!(all[0]["what"].as_str().unwrap().starts_with("touch there"), "{all:#}");
        if by_next_run {
            short_run(path);
        } else {
            let healed = run(path, &["faults", "heal", "w1"]);
            assert_eq!(healed.status.code(), Some(0), "{}", stderr(&healed));
            assert!(stdout(&healed).contains("is healed by `sh -c rm -f there`"), "{}", stdout(&healed));
            let again = run(path, &["faults", "heal"]);
            assert_eq!((again.status.code(), stdout(&again).as_str()), (Some(0), "nothing to heal\n"));
            assert_eq!(stdout(&run(path, &["faults", "list", "--json"])), "[]\n");
        }
        assert!(!path.join("there").exists());
        assert_eq!(run(path, &["faults", "list"]).status.code(), Some(0));
    }
    // What happened up to the kill is there, also beyond what run.json had taken.
    let events = open_run(&path.join("archive/w1-broken")).unwrap().events().unwrap();
    assert!(
        events.iter().any(|event| event.kind == EventKind::Fault && event.text.contains("gone 1")),
        "{events:?}"
    );
}

#[test]
fn ctrl_c_once_and_twice_heals_before_the_run_is_over() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    workload(path, &format!("{FILE}, at: 5 objects, hold: 500s, slot: 510s, repeats: 1"), 900);
    for times in [1, 2] {
        let mut child = begin(path, &[]);
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        signal(&child, libc::SIGINT);
        if times == 2 {
            said.by_ref().map_while(Result::ok).find(|line| line.contains("stopping")).unwrap();
            signal(&child, libc::SIGINT);
        }
        std::thread::spawn(move || said.for_each(drop));
        assert_eq!(until_exit(&mut child), Some(5));
        assert!(!path.join("there").exists(), "after {times}");
        let record = open_run(&path.join(format!("archive/w{times}-broken"))).unwrap().record;
        assert_eq!(record.state, RunState::Cancelled);
        let texts: Vec<_> = record.events.iter().map(|event| event.text.as_str()).collect();
        assert!(texts.contains(&"gone 1: healed"), "{texts:?}");
        let slot = &record.stages[0].faults[0].slots[0];
        assert!(slot.void.as_ref().is_some_and(|why| why.contains("ended before")), "{slot:?}");
        assert_eq!(run(path, &["faults", "list"]).status.code(), Some(0));
    }
}

#[test]
fn a_fault_that_nothing_proves_is_void_and_one_that_cannot_be_healed_is_said_and_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let args = ["run", "broken.yaml", "--quiet", "--no-report", "--allow-faults"];
    let fault = "type: command, inject: 'echo done', heal: 'true', proof: 'false', at: 5 objects, hold: 1s, slot: 2s, repeats: 1";
    workload(path, fault, 30);
    let text = fs::read_to_string(path.join("broken.yaml")).unwrap();
    fs::write(path.join("broken.yaml"), text.replace("runtime: 30s", "total_ops: 3000")).unwrap();
    let output = run(path, &args);
    let record = open_run(&path.join("archive/w1-broken")).unwrap().record;
    let slot = &record.stages[0].faults[0].slots[0];
    assert!(
        slot.void.as_ref().is_some_and(|why| why.contains("nothing proves")),
        "{slot:?}; {}",
        stderr(&output)
    );
    assert_eq!((slot.dip, slot.lost_operations), (None, None));
    assert!(stdout(&output).contains("gone 1: void"), "{}", stdout(&output));
    assert!(
        record.events.iter().any(|event| event.kind == EventKind::Command && event.text == "gone 1: done")
    );

    let fault = "type: command, inject: 'touch there', heal: 'test ! -e stuck || sleep 600; rm -f there', proof: 'test -e there', at: 5 \
                 objects, hold: 1s, slot: 2s, repeats: 1, within: 4s";
    workload(path, fault, 30);
    let text = fs::read_to_string(path.join("broken.yaml")).unwrap();
    fs::write(path.join("broken.yaml"), text.replace("runtime: 30s", "total_ops: 3000")).unwrap();
    fs::write(path.join("stuck"), "").unwrap();
    let output = run(path, &args);
    let record = open_run(&path.join("archive/w2-broken")).unwrap().record;
    let said = record
        .events
        .iter()
        .any(|event| event.text.contains("COULD NOT BE HEALED") && event.text.contains("took longer"));
    assert!(said, "{:?} {}", record.events, stderr(&output));
    assert!(path.join("there").exists());
    let again = run(path, &["run", "broken.yaml", "--quiet", "--allow-faults"]);
    assert_eq!(again.status.code(), Some(2), "no run on what is broken: {}", stderr(&again));
    fs::remove_file(path.join("stuck")).unwrap();
    assert_eq!(run(path, &["faults", "heal", "w2"]).status.code(), Some(0));
    assert!(!path.join("there").exists());
}

#[test]
fn commands_and_signals_of_a_workload_need_the_users_word_and_no_controller_makes_faults() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for fault in [
        format!("{FILE}, at: 5 objects, hold: 1s, slot: 2s"),
        "type: signal, signal: STOP, process: nobody, at: 5 objects, hold: 1s, slot: 2s".to_owned(),
        "type: cgroup, process: nobody, cpu: 5 %, at: 5 objects, hold: 1s, slot: 2s".to_owned(),
        "type: none, at: 5 objects, slot: 2s, noticed: 'touch there'".to_owned(),
    ] {
        workload(path, &fault, 100);
        let output = run(path, &["run", "broken.yaml", "--quiet"]);
        assert_eq!(output.status.code(), Some(2), "{fault}: {}", stderr(&output));
        assert!(stderr(&output).contains("--allow-faults"), "{}", stderr(&output));
        assert!(!path.join("archive").exists() && !path.join("there").exists());
    }
    fs::create_dir(path.join("c")).unwrap();
    let controller = bed::Controller::start(&path.join("c"));
    workload(path, &format!("{FILE}, at: 5 objects, hold: 1s, slot: 2s"), 100);
    let source = fs::read_to_string(path.join("broken.yaml")).unwrap();
    let (status, answer) = controller.send("POST", "runs", &serde_json::json!({ "source": source }));
    assert!((400..500).contains(&status), "{status} {answer}");
    assert!(answer.to_string().contains("a controller makes no faults"), "{answer}");
    assert!(!path.join("there").exists() && !path.join("c/there").exists());
}

#[test]
fn what_an_archive_from_elsewhere_says_is_not_run_unasked() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::create_dir_all(path.join("archive/.faults")).unwrap();
    // Which directory it is: whoever packs an archive cannot know.
    let there = fs::metadata(path.join("archive/.faults")).unwrap();
    let made_ns = there.created().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    let own = serde_json::json!({"inode": there.ino(), "made_ns": u64::try_from(made_ns).unwrap()});
    let plant = |boot: &str, journal: &serde_json::Value| {
        let command = format!("touch {}", path.join("planted").display());
        let text = serde_json::json!({
            "journal": journal,
            "run": "w9", "stage": "s1-main", "fault": "x 1", "what": "x", "since": "2026-01-05T08:00:00Z",
            "process": {"pid": 1, "hostname": fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim(), "started_ticks": 1,
                        "boot_id": boot},
            "heal": {"command": {"words": ["sh", "-c", command], "directory": "/", "within": {"secs": 60, "nanos": 0}}}
        });
        fs::write(path.join("archive/.faults/w9-1.json"), text.to_string()).unwrap();
    };
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let moved = serde_json::json!({"inode": there.ino() + 1, "made_ns": own["made_ns"]});
    for (boot, journal) in [("another", &own), (boot.trim(), &moved), (boot.trim(), &serde_json::Value::Null)]
    {
        plant(boot, journal);
        short_run(path);
        assert!(!path.join("planted").exists());
        let healed = run(path, &["faults", "heal"]);
        assert_eq!(healed.status.code(), Some(4));
        let said = stderr(&healed);
        assert!(said.contains("touch") && said.contains("--force"), "{said}");
        assert!(!path.join("planted").exists());
    }
    // The same of this machine and directory is what a killed run has left.
    plant(boot.trim(), &own);
    assert_eq!(run(path, &["faults", "heal"]).status.code(), Some(0));
    assert!(path.join("planted").exists());
}

#[test]
fn a_stall_on_the_way_to_a_store_costs_what_was_due_and_is_drawn() {
    assert!(
        (0..4).any(|_| is_stall_judged()),
        "four times the machine itself stood still before or in the slot"
    );
}

/// False where the machine of the test stood still: the slot is void because the rate had fallen before it, or more was lost in it
/// than was due while the proxy stood.
fn is_stall_judged() -> bool {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let server = Server::start(path, &[]);
    let target = server.target(path, None);
    let of = fs::read_to_string(&target).unwrap();
    let of = of.split("http://").nth(1).unwrap().split(['\n', '"', '/']).next().unwrap().trim().to_owned();
    let text = format!(
        "name: stalled\ndefaults: {{containers: \"r(1,1)\", sizes: c(1)KB}}\nstages:\n  - name: init\n    works: [{{type: init, workers: \
         1}}]\n  - name: main\n    faults:\n      - {{name: stall, type: proxy, of: '{of}', stall: true, at: 25s, hold: 4s, slot: 11s, \
         repeats: 1, keep: 4s}}\n    works:\n      - {{name: main, workers: 8, runtime: 37s, interval: 1s, rate: {{shape: constant, rate: \
         100/s, when_full: drop}}, operations: [{{type: write, objects: u(1,99)}}]}}\n"
    );
    fs::write(path.join("stalled.yaml"), text).unwrap();
    let mut child = cosmark(path)
        .args(["run", "stalled.yaml", "--target", target.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let main = path.join("archive/w1-stalled/events.csv");
    eventually("the load", || {
        fs::read_to_string(&main).is_ok_and(|text| text.contains("s2-main,load begins"))
    });
    let noted = run(path, &["note", "w1", "the fan was swapped"]);
    assert_eq!(noted.status.code(), Some(0), "{}", stderr(&noted));
    assert_eq!(until_exit(&mut child), Some(0));
    let record = open_run(&path.join("archive/w1-stalled")).unwrap().record;
    let fault = &record.stages[1].faults[0];
    let slot = &fault.slots[0];
    if slot.void.as_ref().is_some_and(|why| why.contains("had fallen before it, and without a fault")) {
        return false;
    }
    assert_eq!(slot.void, None, "{fault:?}");
    assert!(slot.proof.as_ref().is_some_and(|proof| proof.contains("held back")), "{slot:?}");
    assert_eq!(slot.dip, Some(true), "{slot:?}");
    // Eight operations wait in the proxy; the others that were due in its four seconds, and until it was healed, are dropped.
    let lost = slot.lost_operations.unwrap();
    let stood_s = slot.healed_s.unwrap() - slot.from_s;
    let due = 100.0 * stood_s;
    assert!(stood_s > 3.9 && lost >= due - 100.0 && slot.depth.unwrap() > 0.9, "{lost} of {due}: {slot:?}");
    if lost > due + 80.0 || slot.dip_after_s.unwrap() > 1.5 {
        eprintln!("{lost} of {due}: {slot:?}");
        return false;
    }
    assert_eq!(slot.manual_steps, Some(0));
    let proxy = fault.proxy.as_ref().unwrap();
    assert!(proxy.bytes > 0 && proxy.mean_us.is_some() && proxy.of == of, "{proxy:?}");
    let note = record.events.iter().find(|event| event.kind == EventKind::Note).unwrap();
    assert_eq!((note.text.as_str(), note.stage.as_deref()), ("the fan was swapped", Some("s2-main")));
    assert!(record.events.windows(2).all(|two| two[0].at <= two[1].at + Duration::from_secs(5)));
    let later = run(path, &["note", "w1", "read it twice"]);
    assert_eq!(later.status.code(), Some(0));
    let again = open_run(&path.join("archive/w1-stalled")).unwrap();
    assert_eq!(again.record.events.last().unwrap().text, "read it twice");
    assert_eq!(again.record.events.len(), again.events().unwrap().len());
    let csv = fs::read_to_string(&main).unwrap();
    assert_eq!(csv.lines().count(), again.record.events.len() + 1, "{csv}");
    let page = cosmark_report::data::read(&path.join("archive/w1-stalled"), None).unwrap();
    let shown = &page.stages[1].faults[0];
    assert!(shown.slots[0].course_per_s.len() >= 30, "{shown:?}");
    assert!(page.stages[1].events.iter().any(|event| event.kind == "note"));
    true
}
