//! What ends a program from outside: a closed terminal is as good as SIGTERM, and a file that may not grow is a full disk.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};

use cosmark_archive::{RunState, open_run};

use crate::eventually;
use crate::support::{Server, cosmark, signal};

const LONG: &str = "name: long\nstorage: {type: mock}\nstages:\n  - name: main\n    works:\n      - {name: main, workers: 2, \
                    runtime: 300s, interval: 1s, operations: [{type: read, containers: c(1), objects: u(1,9)}]}\n";

fn begin(directory: &Path, prepare: impl FnOnce(&mut std::process::Command)) -> Child {
    fs::write(directory.join("long.yaml"), LONG).unwrap();
    let mut command = cosmark(directory);
    command.args(["run", "long.yaml", "--no-report"]).stdout(Stdio::null()).stderr(Stdio::null());
    prepare(&mut command);
    let child = command.spawn().unwrap();
    let path = directory.join("archive/w1-long/intervals.csv");
    eventually("a second of load", || fs::read_to_string(&path).is_ok_and(|text| text.lines().count() > 1));
    child
}

/// Whoever runs the tests by nohup ignores a closed terminal, and so would what they start.
fn hear_the_terminal() {
    // SAFETY: the default of a signal, which no other test of this program changes.
    unsafe { libc::signal(libc::SIGHUP, libc::SIG_DFL) };
}

#[test]
fn a_terminal_that_is_closed_ends_a_run_as_sigterm_does_and_costs_nothing_that_was_measured() {
    hear_the_terminal();
    let directory = tempfile::tempdir().unwrap();
    let mut child = begin(directory.path(), |_| {});
    // The system tells of it, and then the shell that ends: together they are one.
    signal(&child, libc::SIGHUP);
    signal(&child, libc::SIGHUP);
    assert_eq!(child.wait().unwrap().code(), Some(5));
    let record = open_run(&directory.path().join("archive/w1-long")).unwrap().record;
    assert_eq!(record.state, RunState::Cancelled);
    assert!(record.stages[0].operations[0].ok > 0);
}

#[test]
fn operations_in_flight_have_as_long_after_one_ctrl_c_as_the_run_was_asked() {
    let directory = tempfile::tempdir().unwrap();
    // Shorter than what they have where nothing is said.
    let mut child = begin(directory.path(), |command| {
        command.args(["--set", "storage.delay=4s", "--drain", "0"]);
    });
    signal(&child, libc::SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(5));
    let record = open_run(&directory.path().join("archive/w1-long")).unwrap().record;
    assert_eq!(record.stages[0].operations[0].unfinished, 2, "{:?}", record.stages[0]);
}

#[test]
fn what_was_started_to_outlive_its_terminal_does() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = begin(directory.path(), |command| {
        // SAFETY: ignoring a signal is allowed between fork and exec, and is what nohup does.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGHUP, libc::SIG_IGN);
                Ok(())
            })
        };
    });
    let lines = || {
        fs::read_to_string(directory.path().join("archive/w1-long/intervals.csv")).unwrap().lines().count()
    };
    let before = lines();
    signal(&child, libc::SIGHUP);
    eventually("another two seconds of load", || lines() >= before + 2);
    signal(&child, libc::SIGTERM);
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

#[test]
fn a_store_that_is_served_ends_with_its_terminal() {
    hear_the_terminal();
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::start(directory.path(), &[]);
    signal(server.child(), libc::SIGHUP);
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn a_file_that_may_not_grow_is_an_error_of_that_file_and_not_the_end() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("long.yaml"), LONG.replace("300s", "3s")).unwrap();
    let mut command = cosmark(directory.path());
    command.args(["run", "long.yaml", "--no-report"]);
    // SAFETY: a plain system call between fork and exec.
    unsafe {
        command.pre_exec(|| {
            let most = libc::rlimit { rlim_cur: 12_000, rlim_max: 12_000 };
            libc::setrlimit(libc::RLIMIT_FSIZE, &raw const most);
            Ok(())
        })
    };
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("File too large"), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("read"), "the results are shown all the same");
}

#[test]
fn a_write_without_an_end_is_ended_by_the_second_ctrl_c() {
    let endless = LONG
        .replace("type: read", "type: write")
        .replace("objects: u(1,9)", "objects: u(1,9), sizes: c(1000000)TB");
    assert_ends_by_the_second_ctrl_c(&endless);
}

#[test]
fn more_arrivals_than_a_processor_can_count_are_ended_by_the_second_ctrl_c() {
    for when_full in ["drop", "wait"] {
        let load = format!("rate: {{rate: 1000000000/s, when_full: {when_full}}}");
        let endless = LONG.replace("runtime: 300s", &format!("runtime: 300s, {load}"));
        assert_ne!(endless, LONG);
        assert_ends_by_the_second_ctrl_c(&endless);
    }
}

fn assert_ends_by_the_second_ctrl_c(workload: &str) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("endless.yaml"), workload).unwrap();
    let said = directory.path().join("said");
    let mut child = cosmark(directory.path())
        .args(["run", "endless.yaml", "--no-report", "--quiet"])
        .stdout(Stdio::null())
        .stderr(fs::File::create(&said).unwrap())
        .spawn()
        .unwrap();
    let path = directory.path().join("archive/w1-long/run.json");
    eventually("the load", || {
        fs::read_to_string(&path).is_ok_and(|text| text.contains("\"running\",\n          \"at\""))
    });
    signal(&child, libc::SIGINT);
    // Of two that come before it gets a processor it hears one.
    eventually("what it does then", || {
        fs::read_to_string(&said).is_ok_and(|text| text.contains("Ctrl-C again"))
    });
    signal(&child, libc::SIGINT);
    let mut code = None;
    eventually("its end", || {
        code = child.try_wait().unwrap();
        code.is_some()
    });
    assert_eq!(code.unwrap().code(), Some(5));
}
