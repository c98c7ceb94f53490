//! `cosmark baseline` of a target: measured by programs that stand in for fio, or imported, kept, and beside later results.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::{cosmark, good, said};

const TARGET: &str = "storage: {type: mock, size: 100KB, delay: 2ms}\nnodes:\n  - {name: s1, role: storage, type: local}\n  - {name: \
                      s2, role: storage, type: prometheus, url: 'http://u:pw@127.0.0.1:9/metrics'}\n";
const FIO: &str = r#"{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "error": 0,
    "job options": {"rw": "read", "direct": "1", "directory": "/srv/a"},
    "read": {"io_bytes": 1000000000, "bw_bytes": 100000000, "iops": 100, "runtime": 10000}}]}"#;

/// Programs of the test come before those of the machine.
fn with_programs(home: &Path, fio: &str) -> Command {
    let programs = home.join("bin");
    fs::create_dir_all(&programs).unwrap();
    let program = programs.join("fio");
    fs::write(&program, format!("#!/bin/sh\n{fio}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = cosmark(home);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", programs.display()));
    command
}

#[test]
fn what_machines_can_do_is_imported_kept_and_beside_the_results_of_the_same_machines() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    fs::write(home.join("target.yaml"), TARGET).unwrap();
    fs::write(home.join("fio.json"), FIO).unwrap();
    fs::write(home.join("cut.json"), &FIO[..100]).unwrap();
    let text = good(home, "baseline target.yaml --import s1=fio.json --no-network");
    assert!(
        text.contains("disk /srv/a: sequential read of 1MB") && text.contains("w1-baseline-target"),
        "{text}"
    );
    assert!(good(home, "baseline target.yaml --import s1=fio.json --no-network").contains("nothing changed"));
    assert!(
        good(home, "show w1").contains("sequential read") && good(home, "list").contains("baseline target")
    );
    let kept = fs::read_to_string(home.join("archive/w1-baseline-target/baseline.json")).unwrap();
    assert!(!kept.contains("pw") && kept.contains("127.0.0.1:9"), "{kept}");

    fs::write(
        home.join("reads.yaml"),
        "name: reads\nstages:\n  - name: main\n    works:\n      - {name: main, workers: 2, runtime: 2s, operations: [{type: read, containers: \
         c(1), objects: c(1)}]}\n",
    )
    .unwrap();
    let text = good(home, "run reads.yaml --target target.yaml --no-report --quiet");
    assert!(text.contains("shares of what the machines can do by themselves (w2-baseline-target)"), "{text}");
    let record: Value = serde_json::from_str(&good(home, "show last --json")).unwrap();
    let share = &record["stages"][0]["efficiency"][0];
    let ratio = share["user_per_s"].as_f64().unwrap() / 1e8;
    assert!((share["share"].as_f64().unwrap() - ratio).abs() < 1e-9 && ratio > 0.0, "{share}");
    assert_eq!((&share["of"], &share["direction"]), (&"disk_bytes".into(), &"read".into()));

    for (arguments, words) in [
        ("baseline target.yaml --import s1=cut.json", "cut off"),
        ("baseline target.yaml --import s3=fio.json", "the nodes are s1, s2"),
        ("baseline target.yaml --directory /srv", "write --directory NODE=.."),
        ("baseline target.yaml --directory s2=/srv", "only on nodes of type local or ssh"),
        ("baseline target.yaml --size 5", "give 1MiB to 1TiB"),
        ("baseline reads.yaml", "reads.yaml"),
        ("baseline w1 --no-network", "give its file"),
    ] {
        let output = said(home, arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && error.contains(words), "{arguments}: {error}");
    }
}

/// What iperf3 printed elsewhere, beside a disk that is measured here.
#[test]
fn a_disk_that_is_named_is_measured_beside_what_is_imported() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    fs::write(home.join("target.yaml"), TARGET).unwrap();
    let network = r#"{"start": {"connecting_to": {"host": "s1"}},
        "end": {"sum_received": {"bits_per_second": 8e9, "bytes": 1e9, "seconds": 1}}}"#;
    fs::write(home.join("iperf3.json"), network).unwrap();
    let disk = home.join("disk");
    fs::create_dir(&disk).unwrap();
    let fio = r#"for word; do case $word in --rw=*) rw=${word#--rw=};; esac; done
        case $rw in *read) side=read;; *) side=write;; esac
        echo "{\"fio version\": \"fio-3\", \"jobs\": [{\"jobname\": \"$rw\", \"error\": 0, \"job options\": {\"rw\": \"$rw\"},
        \"$side\": {\"io_bytes\": 8192000, \"bw_bytes\": 4096000, \"iops\": 1000, \"runtime\": 2000}}]}""#;
    let directory = format!("s1={}", disk.display());
    let output = with_programs(home, fio)
        .args(["baseline", "target.yaml", "--size", "1MiB", "--import", "s1=iperf3.json", "--directory"])
        .arg(&directory)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    assert!(text.contains("network, to it") && text.contains("random write of"), "{text}");
    assert!(!text.contains("SHA-256"), "nothing else runs: {text}");
}

/// The program would write for an hour.
#[test]
fn a_baseline_that_is_interrupted_leaves_no_file_behind() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    fs::write(home.join("target.yaml"), TARGET).unwrap();
    let disk = home.join("disk");
    fs::create_dir(&disk).unwrap();
    let mut command = with_programs(home, "case $* in *probe*) exit 0;; esac; exec sleep 3600");
    let directory = format!("s1={}", disk.display());
    let mut child = command
        .args(["baseline", "target.yaml", "--size", "1MiB", "--no-network", "--directory", &directory])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let files = || fs::read_dir(&disk).unwrap().count();
    while files() == 0 {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it began");
        std::thread::sleep(Duration::from_millis(20));
    }
    // SAFETY: a signal to a child of this test.
    unsafe { libc::kill(i32::try_from(child.id()).unwrap(), libc::SIGINT) };
    assert_eq!(child.wait().unwrap().code(), Some(5));
    while files() > 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!home.join("archive").exists());
}

#[test]
fn a_trace_says_how_far_a_disk_seeks_and_what_is_none_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let line = |start: u64| format!("  8,16  1  1  0.1  7  D  R {start} + 8 [fio]\n");
    let trace: String = [0, 8, 16, 5_000_000, 5_000_008].into_iter().map(line).collect();
    fs::write(home.join("trace.txt"), trace).unwrap();
    let text = good(home, "lbn trace.txt");
    assert!(text.contains("disk 8,16: 5 requests; 25.0 % of them more than 2 500 000 blocks"), "{text}");
    let all: Value = serde_json::from_str(&good(home, "lbn trace.txt --json")).unwrap();
    assert_eq!((&all["8,16"]["far"], &all["8,16"]["by_log2"]["0"]), (&1.into(), &3.into()), "{all}");
    fs::write(home.join("other.txt"), [0_u8, 159, 146, 150].repeat(100_000)).unwrap();
    for (arguments, words) in [
        ("lbn other.txt", "no request in other.txt"),
        ("lbn nothing.txt", "cannot read nothing.txt"),
        ("lbn --device null --seconds 1", ""),
    ] {
        let output = said(home, arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && error.contains(words), "{arguments}: {error}");
    }
}
