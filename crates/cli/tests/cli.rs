//! The binary from outside: what users and scripts see. Every server is the embedded store or the simulated one, on
//! loopback.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use cosmark_archive::{Check, CheckStatus, Overall, RunState, StageState, open_run};
use parquet::file::reader::{FileReader, SerializedFileReader};
use support::{Server, cosmark, operation, repository, run, run_json, signal, skipped, stderr, stdout};

fn workload(directory: &Path, text: &str) -> String {
    let path = directory.join("workload.yaml");
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Waits for something, within a bound.
fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_demo_finishes_and_leaves_a_complete_archive() {
    let directory = tempfile::tempdir().unwrap();
    let output = run(directory.path(), &["demo", "--runtime", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let path = directory.path().join("archive/w1-demo");
    let found = open_run(&path).unwrap();
    assert_eq!(found.record.state, RunState::Finished);
    assert_eq!(found.record.stages.len(), 5);
    let read = operation(&found.record, "main", "read");
    assert!(read.ok > 0 && read.failed == 0, "{read:?}");
    for file in
        ["w1-demo.csv", "w1-demo-rt-histogram.csv", "s3-main.csv", "histograms.hlog", "workload-config.xml"]
    {
        assert!(path.join(file).metadata().unwrap().len() > 0, "{file}");
    }
    assert!(stdout(&output).contains("read") && stdout(&output).contains("archive/w1-demo"));
    let shown = run(directory.path(), &["show", "w1"]);
    assert!(stdout(&shown).contains("w1 demo finished"), "{}", stdout(&shown));
    let listed = run(directory.path(), &["list"]);
    assert!(stdout(&listed).contains("finished"));
}

#[test]
fn a_demo_whose_archive_cannot_be_written_starts_no_store() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "precious").unwrap();
    let output = run(directory.path(), &["demo", "--runtime", "2", "--archive", "file"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot make directory file"), "{}", stderr(&output));
    assert!(!stderr(&output).contains("embedded S3 store"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(directory.path().join("file")).unwrap(), "precious");
}

#[test]
fn a_demo_that_is_ended_early_leaves_nothing_to_clean() {
    let directory = tempfile::tempdir().unwrap();
    let child = cosmark(directory.path())
        .args(["demo", "--runtime", "600"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let intervals = directory.path().join("archive/w1-demo/intervals.csv");
    eventually("the first interval", || {
        fs::read_to_string(&intervals).is_ok_and(|text| text.contains("s3-main,"))
    });
    signal(&child, libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert!(stderr(&output).contains("there is nothing to clean up"), "{}", stderr(&output));
}

#[test]
fn every_mistake_of_a_workload_is_shown_with_its_place_and_nothing_is_sent() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("bad.xml");
    fs::write(
        &file,
        "<workload name=\"bad\">\n<storage type=\"s4\" config=\"acceskey=a\"/>\n<workflow><workstage name=\"m\">\n\
         <work name=\"m\" workers=\"2\" runtimes=\"30\" totalOps=\"9\">\n\
         <operation type=\"reed\" ratio=\"60\" config=\"containers=u(1,2);objects=u(1,5)\"/>\n\
         <operation type=\"write\" ratio=\"40\" config=\"containers=u(1,2);objects=u(1,5);sizes=c(4)KX\"/>\n\
         </work></workstage></workflow></workload>\n",
    )
    .unwrap();
    for command in ["check", "run"] {
        let output = run(directory.path(), &[command, "bad.xml"]);
        assert_eq!(output.status.code(), Some(2));
        let text = stderr(&output);
        for expected in [
            "bad.xml:2:",
            "s4",
            "bad.xml:4:",
            "did you mean runtime",
            "bad.xml:5:",
            "did you mean read",
            "bad.xml:6:",
            "KX",
        ] {
            assert!(text.contains(expected), "{command}: {expected} is missing in\n{text}");
        }
    }
    let json = |args: &[&str], code: i32| -> serde_json::Value {
        let output = run(directory.path(), args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let bad = json(&["check", "bad.xml", "--json"], 2);
    let is_there = |line: u64, word: &str| {
        let mut all = bad["mistakes"].as_array().unwrap().iter();
        all.any(|one| one["line"] == line && one["hint"].as_str().is_some_and(|hint| hint.contains(word)))
    };
    assert!(
        bad["can_run"] == false && is_there(4, "did you mean runtime") && is_there(5, "did you mean read")
    );
    let good = "name: x\nstorage: {type: mock}\nstages:\n  - name: m\n    works:\n      - {name: m, workers: 1, runtime: 60s, \
                operations: [{type: read, containers: c(1), objects: c(1)}]}\n";
    fs::write(directory.path().join("good.yaml"), good).unwrap();
    let said = json(&["check", "good.yaml", "--json"], 0);
    assert!(said["can_run"] == true && said["errors"] == 0 && said["checks"].is_array(), "{said:#}");
    let set = json(&["check", "good.yaml", "--json", "--set", "main.wrokers=4"], 2);
    assert!(set["can_run"] == false && set["mistakes"][0]["line"].is_null(), "{set:#}");
    fs::write(directory.path().join("target.yaml"), "storage: {type: s3, endpoit: http://h}\n").unwrap();
    let target = json(&["check", "good.yaml", "--json", "--target", "target.yaml"], 2);
    assert_eq!(target["mistakes"][0]["file"], "target.yaml", "{target:#}");
    assert!(!directory.path().join("archive").exists());
}

#[test]
fn an_operation_that_the_storage_cannot_do_is_found_before_anything_is_sent() {
    let directory = tempfile::tempdir().unwrap();
    let text = "name: thaw\nSTORAGEdefaults: {containers: \"r(1,1)\", objects: \"r(1,5)\", sizes: c(1)KB}\nstages:\n- name: main\n  \
                works:\n  - {name: main, workers: 1, total_ops: 5, operations: [{type: read}, {type: restore}]}\n";
    fs::write(directory.path().join("own.yaml"), text.replace("STORAGE", "storage: {type: mock}\n")).unwrap();
    fs::write(directory.path().join("open.yaml"), text.replace("STORAGE", "")).unwrap();
    fs::write(directory.path().join("target.yaml"), "storage: {type: file, directory: .}\n").unwrap();
    let cases = [("mock", vec!["own.yaml"]), ("file", vec!["open.yaml", "--target", "target.yaml"])];
    for (storage, files) in cases {
        for command in ["check", "run"] {
            let output = run(directory.path(), &[&[command], &files[..]].concat());
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{said}");
            let expected = format!("storage {storage} has no archived objects to restore");
            assert!(said.contains(&expected) && said.contains("yaml:"), "{said}");
        }
    }
    assert!(!directory.path().join("archive").exists());
}

#[test]
fn a_cosbench_workload_runs_on_mock_and_prints_nothing_but_json() {
    let directory = tempfile::tempdir().unwrap();
    let file = repository().join("workloads/cosbench/demo.xml");
    let (output, record) =
        run_json(directory.path(), &["run", file.to_str().unwrap(), "--set", "runtime=2s"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(record.state, RunState::Finished);
    assert!(record.stages.iter().all(|stage| stage.state == StageState::Completed));
    let checks = &record.verdict.checks;
    assert!(!checks.is_empty() && record.verdict.overall != Overall::True, "two seconds prove nothing");
    let not_run = |check: &&Check| check.status == CheckStatus::NotRun;
    assert!(checks.iter().filter(not_run).all(|check| !check.message.is_empty()));
}

#[test]
fn a_workload_survives_the_way_from_xml_to_yaml_and_back() {
    let directory = tempfile::tempdir().unwrap();
    let original = repository().join("workloads/cosbench/demo.xml");
    let yaml = directory.path().join("demo.yaml");
    let xml = directory.path().join("demo.xml");
    let again = directory.path().join("again.yaml");
    for (from, to) in [(&original, &yaml), (&yaml, &xml), (&xml, &again)] {
        let output = run(directory.path(), &["convert", from.to_str().unwrap(), "-o", to.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    assert_eq!(fs::read_to_string(&yaml).unwrap(), fs::read_to_string(again).unwrap());
    // What is called `.xml` is read as XML: a name must not say what the text is not.
    for (from, to, better) in
        [(&original, "new.xml", ".yaml"), (&original, "NEW.XML", ".yaml"), (&yaml, "x.yml", ".xml")]
    {
        let output = run(directory.path(), &["convert", from.to_str().unwrap(), "-o", to]);
        assert_eq!(output.status.code(), Some(2), "{to}: {}", stderr(&output));
        assert!(stderr(&output).contains(&format!("ends with {better}")), "{to}: {}", stderr(&output));
        assert!(!directory.path().join(to).exists(), "{to}");
    }
    // What XML cannot carry is there to be mended by hand, and no script takes it for the same workload.
    let text = "name: w\nstorage: {type: mock}\nstages:\n- name: i\n  works:\n  - {type: init, workers: 1, \
                containers: 'r(1,2)', container_prefix: 'a;b'}\n";
    fs::write(directory.path().join("lost.yaml"), text).unwrap();
    let output = run(directory.path(), &["convert", "lost.yaml", "-o", "lost.xml"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("means something else"), "{}", stderr(&output));
    assert!(directory.path().join("lost.xml").exists());
}

#[test]
fn a_time_of_a_storage_says_its_unit_except_in_the_xml_of_cosbench() {
    let directory = tempfile::tempdir().unwrap();
    let stage = "defaults: {containers: c(1), objects: c(1)}\nstages:\n- name: main\n  works:\n  - {name: main, workers: 1, \
                 total_ops: 1, operations: [{type: read}]}\n";
    let yaml = |delay: &str| {
        let text = format!("name: unit\nstorage: {{type: mock, delay: {delay}}}\n{stage}");
        workload(directory.path(), &text)
    };
    let output = run(directory.path(), &["check", &yaml("30")]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("write 30s or 30ms"), "{}", stderr(&output));
    let file = yaml("30ms");
    assert_eq!(run(directory.path(), &["check", &file]).status.code(), Some(0));
    for (setting, code) in [
        ("storage.delay=1", 2),
        ("main.main.storage.delay=1", 2),
        ("storage.delay=1ms", 0),
        ("storage.delay=0", 0),
    ] {
        let output = run(directory.path(), &["run", &file, "--set", setting]);
        assert_eq!(output.status.code(), Some(code), "{setting}: {}", stderr(&output));
        assert_eq!(stderr(&output).contains("says no unit"), code == 2, "{setting}: {}", stderr(&output));
    }
    let xml = directory.path().join("old.xml");
    let text = r#"<workload name="old"><storage type="mock" config="delay=1"/><workflow><workstage name="main"><work
        name="main" workers="1" totalOps="1"><operation type="read" config="containers=c(1);objects=c(1)"/></work>
        </workstage></workflow></workload>"#;
    fs::write(&xml, text).unwrap();
    let converted = run(directory.path(), &["convert", xml.to_str().unwrap()]);
    assert!(stdout(&converted).contains("delay: 1ms"), "{}", stdout(&converted));
    let again = workload(directory.path(), &stdout(&converted));
    assert_eq!(run(directory.path(), &["check", &again]).status.code(), Some(0));
}

#[test]
fn a_workload_for_a_storage_that_is_not_spoken_is_converted_with_a_target() {
    let directory = tempfile::tempdir().unwrap();
    let xml = directory.path().join("old.xml");
    let text = r#"<workload name="old"><storage type="manta" config="user=u;key=k"/><workflow><workstage name="main"><work
        name="main" workers="1" totalOps="1"><operation type="read" config="containers=c(1);objects=c(1)"/></work>
        </workstage></workflow></workload>"#;
    fs::write(&xml, text).unwrap();
    let refused = run(directory.path(), &["convert", xml.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2), "{}", stdout(&refused));
    assert!(stderr(&refused).contains("manta"), "{}", stderr(&refused));
    let target = directory.path().join("target.yaml");
    fs::write(&target, "storage: {type: mock, delay: 2ms}\n").unwrap();
    let converted =
        run(directory.path(), &["convert", xml.to_str().unwrap(), "--target", target.to_str().unwrap()]);
    assert_eq!(converted.status.code(), Some(0), "{}", stderr(&converted));
    assert!(stdout(&converted).contains("delay: 2ms"), "{}", stdout(&converted));
    assert!(!stdout(&converted).contains("manta"), "{}", stdout(&converted));
    let again = workload(directory.path(), &stdout(&converted));
    assert_eq!(run(directory.path(), &["check", &again]).status.code(), Some(0));
}

#[test]
fn a_login_that_the_targets_storage_never_uses_is_refused_before_anything_is_sent() {
    let directory = tempfile::tempdir().unwrap();
    let home = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    home.set_nonblocking(true).unwrap();
    let at = home.local_addr().unwrap();
    let file = workload(
        directory.path(),
        &format!(
            "name: moved\nauth: {{type: swauth, auth_url: 'http://{at}/auth/v1.0', username: u, password: hunter2}}\nstorage: \
             {{type: swift}}\nstages:\n  - name: main\n    works:\n      - {{name: main, workers: 1, total_ops: 1, operations: \
             [{{type: write, containers: c(1), objects: c(1), sizes: c(1)KB}}]}}\n"
        ),
    );
    let target = directory.path().join("target.yaml");
    let target = target.to_str().unwrap();
    let never = "{type: s3, endpoint: 'http://127.0.0.1:1', accesskey: k, secretkey: s}";
    for storage in
        [never, "{type: mock}", "{type: gcs_xml}", "{type: webdav, endpoint: 'http://127.0.0.1:1'}"]
    {
        fs::write(target, format!("storage: {storage}\n")).unwrap();
        for command in [&["check", &file, "--target", target][..], &["run", &file, "--target", target]] {
            let output = run(directory.path(), command);
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{storage}: {said}");
            assert!(said.contains("the login of auth swauth would still go"), "{storage}: {said}");
            assert!(said.contains("`auth: {type: none}`") && !said.contains("hunter2"), "{storage}: {said}");
        }
    }
    let asked = home.accept().map(|(_, from)| from);
    assert_eq!(asked.map_err(|error| error.kind()), Err(std::io::ErrorKind::WouldBlock));
    let remedied = format!("auth: {{type: none}}\nstorage: {never}\n");
    let of_swift = "storage: {type: swift, timeout: 5s}\n".to_owned();
    let of_cdmi = |host: &str| format!("storage: {{type: cdmi_swift, endpoint: 'http://{host}:1'}}\n");
    for text in [remedied, of_swift, of_cdmi("127.0.0.1"), of_cdmi("localhost"), of_cdmi("[::1]")] {
        fs::write(target, &text).unwrap();
        let output = run(directory.path(), &["check", &file, "--target", target]);
        assert_eq!(output.status.code(), Some(0), "{text}: {}", stderr(&output));
        assert!(!stderr(&output).contains("only the target names"), "{text}: {}", stderr(&output));
    }
    // One that stays and is used is not refused: it is said where it goes then.
    fs::write(target, of_cdmi("store.invalid")).unwrap();
    let output = run(directory.path(), &["check", &file, "--target", target]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("auth swauth of this workload goes to store.invalid, which only the target names"),
        "{said}"
    );
    assert!(said.contains("to the target file") && !said.contains("hunter2"), "{said}");
}

#[test]
fn ctrl_c_ends_the_run_cleanly_with_an_archive_that_says_cancelled() {
    let directory = tempfile::tempdir().unwrap();
    let file = workload(
        directory.path(),
        "name: long\nstorage: {type: mock, delay: 5ms}\nstages:\n  - name: main\n    works:\n      - {name: main, workers: 4, \
         runtime: 600s, interval: 1s, operations: [{type: read, containers: c(1), objects: c(1)}]}\n  - name: after\n    works:\n      \
         - {name: after, workers: 1, total_ops: 1, operations: [{type: read, containers: c(1), objects: c(1)}]}\n",
    );
    let mut child = cosmark(directory.path())
        .args(["run", &file])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let path = directory.path().join("archive/w1-long");
    eventually("the first interval", || {
        fs::read_to_string(path.join("s1-main.csv")).is_ok_and(|text| text.lines().count() > 2)
    });
    signal(&child, libc::SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(5));
    let found = open_run(&path).unwrap();
    assert_eq!(found.record.state, RunState::Cancelled);
    let states: Vec<_> = found.record.stages.iter().map(|stage| stage.state).collect();
    assert_eq!(states, [StageState::Cancelled, StageState::Aborted]);
    let read = operation(&found.record, "main", "read");
    assert!(read.ok > 0 && read.throughput_per_s.is_some_and(|rate| rate > 0.0), "{read:?}");
}

#[test]
fn a_killed_run_leaves_a_readable_archive_that_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let file = workload(
        directory.path(),
        "name: killed\nstorage: {type: mock, delay: 5ms}\nstages:\n  - name: main\n    works:\n      - {name: main, workers: 4, \
         runtime: 600s, interval: 1s, operations: [{type: read, containers: c(1), objects: c(1)}]}\n",
    );
    let mut child = cosmark(directory.path())
        .args(["run", &file])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let path = directory.path().join("archive/w1-killed");
    eventually("the first interval", || {
        fs::read_to_string(path.join("s1-main.csv")).is_ok_and(|text| text.lines().count() > 2)
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let found = open_run(&path).unwrap();
    assert_eq!(found.record.state, RunState::Killed);
    assert!(!found.timeline(&found.record.stages[0]).unwrap().is_empty());
    // The next run takes the next number.
    let (_, next) = run_json(directory.path(), &["run", &file, "--set", "runtime=1s"]);
    assert_eq!(next.id, "w2");
}

const READ_ALL: &str = "name: reads\nstages:\n  - name: main\n    works:\n      - {name: main, workers: 4, runtime: 600s, \
     operations: [{type: read, containers: c(1), objects: \"u(1,9)\", container_prefix: nothing-here-}]}\n";

#[test]
fn a_dead_host_is_one_sentence_within_seconds() {
    let directory = tempfile::tempdir().unwrap();
    let file = workload(directory.path(), READ_ALL);
    let target = directory.path().join("dead.yaml");
    fs::write(
        &target,
        "storage: {type: s3, endpoint: \"http://127.0.0.1:9\", accesskey: a, secretkey: hunter2hunter2}\n",
    )
    .unwrap();
    let (output, record) = run_json(directory.path(), &["run", &file, "--target", target.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(record.state, RunState::Terminated);
    assert!(record.reason.unwrap().contains("nothing listens at 127.0.0.1:9"));
}

#[test]
fn a_wrong_key_is_one_sentence_and_no_secret_is_written_anywhere() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &[]);
    let secret = "a-secret-that-must-not-be-seen";
    let target = server.target(directory.path(), Some(secret));
    let file = workload(directory.path(), READ_ALL);
    let (output, record) = run_json(directory.path(), &["run", &file, "--target", target.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(record.reason.as_ref().unwrap().contains("SignatureDoesNotMatch"), "{:?}", record.reason);
    let mut texts = vec![stdout(&output), stderr(&output)];
    let run_directory = directory.path().join("archive/w1-reads");
    for entry in
        fs::read_dir(&run_directory).unwrap().chain(fs::read_dir(run_directory.join("source")).unwrap())
    {
        let path = entry.unwrap().path();
        if path.is_file() {
            texts.push(String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned());
        }
    }
    assert!(texts.iter().all(|text| !text.contains(secret)));
}

#[test]
fn a_missing_bucket_fails_the_stage_within_seconds_and_says_which() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &[]);
    let target = server.target(directory.path(), None);
    let file = workload(directory.path(), READ_ALL);
    let begun = Instant::now();
    let (output, record) = run_json(directory.path(), &["run", &file, "--target", target.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(begun.elapsed() < Duration::from_secs(300), "it would have run for ten minutes");
    assert_eq!(record.state, RunState::Failed);
    assert!(record.reason.as_ref().unwrap().contains("NoSuchBucket"));
    assert!(operation(&record, "main", "read").codes.contains_key("NoSuchBucket"));
}

#[test]
fn more_failures_than_accepted_fail_the_stage_but_not_the_next_one() {
    let directory = tempfile::tempdir().unwrap();
    let file = workload(
        directory.path(),
        "name: flaky\nstorage: {type: mock, delay: 0, errors: 0.3}\nstages:\n  - name: strict\n    works:\n      \
         - {name: strict, workers: 2, total_ops: 1000, operations: [{type: read, containers: c(1), objects: c(1)}]}\n  \
         - name: patient\n    works:\n      - {name: patient, workers: 2, total_ops: 1000, acceptable_failure_ratio: 0.5, \
         operations: [{type: read, containers: c(1), objects: c(1)}]}\n",
    );
    let (output, record) = run_json(directory.path(), &["run", &file]);
    assert_eq!(output.status.code(), Some(4));
    let states: Vec<_> = record.stages.iter().map(|stage| stage.state).collect();
    assert_eq!(states, [StageState::Failed, StageState::Completed]);
    assert_eq!(record.state, RunState::Failed);
    let read = operation(&record, "strict", "read");
    assert_eq!(read.ok + read.failed, 1000);
}

#[test]
fn one_stage_can_drive_two_systems_and_keeps_their_results_apart() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &[]);
    fs::create_dir(directory.path().join("store")).unwrap();
    let s3 = format!(
        "{{type: s3, endpoint: \"{}\", accesskey: {}, secretkey: {{env: TEST_SECRET}}, path_style_access: true}}",
        server.says("endpoint"),
        server.says("access key")
    );
    let files = format!("{{type: file, directory: \"{}\"}}", directory.path().join("store").display());
    let work = |kind: &str, name: &str, storage: &str, more: &str| {
        format!("      - {{type: {kind}, name: {name}, workers: 2, storage: {storage}{more}}}\n")
    };
    let both = |kind: &str, more: &str| work(kind, "s3", &s3, more) + &work(kind, "files", &files, more);
    let text = format!(
        "name: two\ndefaults: {{containers: \"r(1,1)\", container_prefix: both-, sizes: 4KiB}}\nstages:\n  - name: init\n    works:\n{}  \
         - name: prepare\n    works:\n{}  - name: main\n    works:\n{}",
        both("init", ""),
        both("prepare", ", objects: \"r(1,20)\""),
        both("normal", ", total_ops: 100, operations: [{type: read, objects: \"u(1,20)\", verify: true}]")
    );
    let file = workload(directory.path(), &text);
    let output = cosmark(directory.path())
        .args(["run", &file, "--json"])
        .env("TEST_SECRET", server.says("secret key"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let record: cosmark_archive::RunRecord = serde_json::from_slice(&output.stdout).unwrap();
    let main = record.stages.iter().find(|stage| stage.name == "main").unwrap();
    let counts: Vec<_> = main.operations.iter().map(|op| (op.work.as_str(), op.ok, op.failed)).collect();
    assert_eq!(counts, [("s3", 100, 0), ("files", 100, 0)]);
}

#[test]
fn keys_come_from_the_environment_or_a_profile_as_amazons_tools_have_it_and_are_written_nowhere() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &[]);
    let (access, secret) = (server.says("access key"), server.says("secret key"));
    let (access, secret) = (access.as_str(), secret.as_str());
    let target = |auth: &str| {
        let endpoint = server.says("endpoint");
        format!(
            "auth: {{type: aws{auth}}}\nstorage: {{type: s3, endpoint: \"{endpoint}\", path_style_access: true}}\n"
        )
    };
    let text = "name: keys\ndefaults: {containers: \"r(1,1)\", container_prefix: keys-}\nstages:\n  - {name: init, works: [{type: init, workers: 1}]}\n";
    let file = workload(directory.path(), text);
    let home = directory.path().join("home");
    fs::create_dir_all(home.join(".aws")).unwrap();
    let profiles = format!("[bench]\naws_access_key_id = {access}\naws_secret_access_key = {secret}\n");
    fs::write(home.join(".aws/credentials"), profiles).unwrap();
    let wrong = ("AWS_SECRET_ACCESS_KEY", "wrong-secret-of-the-environment");
    let cases = [
        ("", vec![("AWS_ACCESS_KEY_ID", access), ("AWS_SECRET_ACCESS_KEY", secret)], 0),
        ("", vec![("AWS_PROFILE", "bench")], 0),
        // What the workload says is not mixed with what the environment has.
        (", profile: bench", vec![("AWS_ACCESS_KEY_ID", access), wrong], 0),
        ("", vec![("AWS_ACCESS_KEY_ID", access), wrong], 3),
    ];
    for (at, (auth, variables, code)) in cases.into_iter().enumerate() {
        let path = directory.path().join(format!("target-{at}.yaml"));
        fs::write(&path, target(auth)).unwrap();
        let mut command = cosmark(directory.path());
        for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"] {
            command.env_remove(name);
        }
        command.env("HOME", &home).envs(variables);
        let output =
            command.args(["run", &file, "--json", "--target", path.to_str().unwrap()]).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{auth}: {}", stderr(&output));
        let shown = format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
        assert!(!shown.contains(secret) && !shown.contains(wrong.1), "{shown}");
    }
    for entry in fs::read_dir(directory.path().join("archive")).unwrap() {
        let run = entry.unwrap().path();
        for file in fs::read_dir(&run).into_iter().flatten() {
            let bytes = fs::read(file.unwrap().path()).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains(secret) && !text.contains(wrong.1), "{}", run.display());
        }
    }
}

#[test]
fn published_percentiles_are_those_of_the_operation_log() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &[]);
    let target = server.target(directory.path(), None);
    let file = workload(
        directory.path(),
        "name: logged\ndefaults: {containers: \"r(1,1)\", container_prefix: logged-, sizes: 4KiB}\nstages:\n  \
         - {name: init, works: [{type: init, workers: 1}]}\n  \
         - {name: prepare, works: [{type: prepare, workers: 2, objects: \"r(1,20)\"}]}\n  - name: main\n    works:\n      \
         - {name: main, workers: 4, rampup: 1s, runtime: 3s, operations: [{type: read, objects: \"u(1,20)\"}]}\n",
    );
    let (output, record) =
        run_json(directory.path(), &["run", &file, "--target", target.to_str().unwrap(), "--oplog"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = logged(&directory.path().join("archive/w1-logged/operations.parquet"));
    let read = operation(&record, "main", "read");
    let window: Vec<&Logged> = rows
        .iter()
        .filter(|row| row.stage == "s3-main" && row.phase == "window" && row.outcome == "ok")
        .collect();
    assert_eq!(window.len() as u64, read.ok);
    let of = |time: fn(&Logged) -> i64| window.iter().map(|row| time(row)).collect::<Vec<i64>>();
    same_times("service", of(|row| row.end_ns - row.sent_ns), &read.service_ms);
    same_times("response", of(|row| row.end_ns - row.due_ns), &read.response_ms);
    same_times("first byte", of(|row| row.first_byte_ns - row.sent_ns), &read.first_byte_ms);
    assert!((read.throughput_per_s.unwrap() - window.len() as f64 / 3.0).abs() < 1e-6);
    assert_eq!(window.iter().map(|row| row.bytes).sum::<i64>(), i64::try_from(read.bytes).unwrap());
}

/// A row of the operation log, read by the Parquet library alone.
struct Logged {
    stage: String,
    phase: String,
    outcome: String,
    due_ns: i64,
    sent_ns: i64,
    first_byte_ns: i64,
    end_ns: i64,
    bytes: i64,
}

fn logged(path: &Path) -> Vec<Logged> {
    use parquet::record::Field;
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let row = |row: parquet::record::Row| {
        let field = |name: &str| row.get_column_iter().find(|(column, _)| *column == name).unwrap().1.clone();
        let text = |name: &str| match field(name) {
            Field::Str(text) => text,
            other => panic!("{name} is {other:?}"),
        };
        let number = |name: &str| match field(name) {
            Field::Long(number) => number,
            other => panic!("{name} is {other:?}"),
        };
        Logged {
            stage: text("stage"),
            phase: text("phase"),
            outcome: text("outcome"),
            due_ns: number("due_ns"),
            sent_ns: number("sent_ns"),
            first_byte_ns: if field("first_byte_ns") == Field::Null { 0 } else { number("first_byte_ns") },
            end_ns: number("end_ns"),
            bytes: number("bytes"),
        }
    };
    reader.get_row_iter(None).unwrap().map(|one| row(one.unwrap())).collect()
}

/// Every published figure of a distribution against the sorted times: percentiles to 0.1 %, the mean to rounding.
fn same_times(what: &str, mut times_ns: Vec<i64>, published: &cosmark_metrics::Latencies) {
    times_ns.sort_unstable();
    let count = times_ns.len();
    assert_eq!(published.count, count as u64, "{what}");
    let mean = times_ns.iter().map(|ns| *ns as f64 / 1e6).sum::<f64>() / count as f64;
    assert!(
        (published.mean.unwrap() / mean - 1.0).abs() < 1e-6,
        "{what}: mean {:?} is not {mean}",
        published.mean
    );
    for (name, value, share) in [
        ("min", published.min, 0.0),
        ("p50", published.p50, 0.5),
        ("p60", published.p60, 0.6),
        ("p80", published.p80, 0.8),
        ("p90", published.p90, 0.9),
        ("p95", published.p95, 0.95),
        ("p99", published.p99, 0.99),
        ("p99.9", published.p99_9, 0.999),
        ("p99.99", published.p99_99, 0.9999),
        ("max", published.max, 1.0),
    ] {
        // However many there were: a percentile is published exactly where ten of them lie beyond it.
        let is_known = share <= 0.0 || share >= 1.0 || count as f64 * (1.0 - share) > 10.0 - 1e-6;
        assert_eq!(value.is_some(), is_known, "{what}: {name} of {count} operations");
        let Some(value) = value else { continue };
        let rank = ((count as f64 * share).ceil() as usize).clamp(1, count) - 1;
        let exact = times_ns[rank] as f64 / 1e6;
        assert!((value / exact - 1.0).abs() <= 1e-3, "{what}: {name} {value} is not {exact}");
    }
}

#[test]
fn the_same_seed_asks_for_the_same_things() {
    let directory = tempfile::tempdir().unwrap();
    let file = workload(
        directory.path(),
        "name: seeded\nstorage: {type: none}\nstages:\n  - name: main\n    works:\n      - {name: main, workers: 3, total_ops: 500, \
         operations: [{type: read, containers: \"u(1,9)\", objects: \"z(1,1000,0.9)\"}]}\n",
    );
    let asked = |seed: &str, number: u32| {
        let output = run(directory.path(), &["run", &file, "--seed", seed, "--oplog", "--quiet"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let found = open_run(&directory.path().join(format!("archive/w{number}-seeded"))).unwrap();
        let rows = found.operations().unwrap().unwrap();
        let mut rows: Vec<_> = rows
            .map(|row| row.map(|row| (row.sample.worker, row.sample.container, row.sample.object)).unwrap())
            .collect();
        rows.sort_unstable();
        rows
    };
    let first = asked("7", 1);
    assert_eq!(first.len(), 500);
    assert_eq!(first, asked("7", 2));
    assert_ne!(first, asked("8", 3));
}

#[test]
fn quick_measures_a_store_by_its_url_and_leaves_nothing_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &[]);
    let escaped: String = server.says("secret key").bytes().map(|byte| format!("%{byte:02X}")).collect();
    let address = server.says("endpoint").replace("http://", "");
    let url = format!("s3+http://{}:{escaped}@{address}", server.says("access key"));
    let args = [
        "quick",
        &url,
        "--runtime",
        "1s",
        "--objects",
        "20",
        "--workers",
        "2",
        "--mix",
        "read=50,write=30,list=10,head=10",
        "--verify",
    ];
    let (output, record) = run_json(directory.path(), &args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(operation(&record, "main", "read").ok > 0);
    let buckets = PathBuf::from(server.says("objects in")).join("buckets");
    let left: Vec<_> = fs::read_dir(buckets).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn two_runs_at_once_share_an_archive() {
    let directory = tempfile::tempdir().unwrap();
    let file = workload(
        directory.path(),
        "name: twin\nstorage: {type: mock, delay: 1ms}\nstages:\n  - name: main\n    works:\n      - {name: main, workers: 2, \
         total_ops: 300, operations: [{type: read, containers: c(1), objects: c(1)}]}\n",
    );
    let start = || {
        cosmark(directory.path())
            .args(["run", &file, "-q"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut children = [start(), start(), start()];
    for child in &mut children {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    for number in 1..=3 {
        let found = open_run(&directory.path().join(format!("archive/w{number}-twin"))).unwrap();
        assert_eq!(found.record.state, RunState::Finished);
    }
    let history = fs::read_to_string(directory.path().join("archive/run-history.csv")).unwrap();
    assert_eq!(history.lines().count(), 4, "{history}");
}

#[test]
fn ten_thousand_workers_fit_into_one_gibibyte() {
    let directory = tempfile::tempdir().unwrap();
    let file = workload(
        directory.path(),
        "name: crowd\nstorage: {type: mock, delay: 200ms}\nstages:\n  - name: main\n    works:\n      - {name: main, workers: 10000, \
         total_ops: 20000, operations: [{type: read, containers: c(1), objects: \"u(1,100)\"}, {type: write, containers: c(1), \
         objects: \"u(1,100)\", sizes: 4KiB}]}\n",
    );
    let mut child = cosmark(directory.path())
        .args(["run", &file, "-q"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut most_kib = 0;
    let code = loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        most_kib = peak
            .and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok())
            .unwrap_or(0)
            .max(most_kib);
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(code, Some(0));
    assert!(most_kib > 0 && most_kib < 1 << 20, "{most_kib} KiB");
    let found = open_run(&directory.path().join("archive/w1-crowd")).unwrap();
    let main = &found.record.stages[0];
    let count: u64 = main.operations.iter().map(|op| op.ok).sum();
    assert_eq!(count, 20_000, "every worker did its two");
}

#[test]
fn an_archive_that_cannot_be_written_is_said_before_anything_is_sent() {
    let directory = tempfile::tempdir().unwrap();
    let file = workload(directory.path(), READ_ALL);
    fs::write(directory.path().join("blocked"), "a file where the archive should be").unwrap();
    let output = run(directory.path(), &["run", &file, "--archive", "blocked"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("blocked"), "{}", stderr(&output));
}

#[test]
fn triggers_run_only_from_the_named_directory_and_their_output_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("hooks")).unwrap();
    fs::write(directory.path().join("hooks/mark.sh"), "echo \"mark $1\"").unwrap();
    let file = workload(
        directory.path(),
        "name: hooked\ntrigger: {script: mark.sh, args: [whole]}\nstorage: {type: none}\nstages:\n  - name: main\n    trigger: \
         {script: mark.sh, args: [\"one stage; id\"]}\n    works:\n      - {name: main, workers: 1, total_ops: 5, operations: \
         [{type: read, containers: c(1), objects: c(1)}]}\n",
    );
    let (output, _) = run_json(directory.path(), &["run", &file, "--scripts", "hooks"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let log = fs::read_to_string(directory.path().join("archive/w1-hooked/scripts.log")).unwrap();
    for expected in ["mark whole", "mark one stage; id", "mark -k"] {
        assert!(log.contains(expected), "{expected} is missing in\n{log}");
    }
}

#[test]
fn mistakes_have_colour_where_it_is_asked_for_and_nowhere_else() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("wrong.yaml"), "name: w\nstorage: {type: s4}\n").unwrap();
    let said = |when: &str| {
        let mut command = cosmark(directory.path());
        command.env("LC_ALL", "C.UTF-8").env_remove("CLICOLOR_FORCE");
        let refused = command.args(["--color", when, "check", "wrong.yaml"]).output().unwrap();
        String::from_utf8_lossy(&refused.stderr).into_owned()
    };
    let (always, never, auto) = (said("always"), said("never"), said("auto"));
    assert!(always.contains("\x1b[") && always.contains("wrong.yaml:"), "{always:?}");
    assert!(!never.contains('\x1b') && never.contains("wrong.yaml:"), "{never:?}");
    assert_eq!(auto, never, "a pipe is no terminal");
}

#[test]
fn certify_shows_a_mistake_in_the_file_that_was_given() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("bed")).unwrap();
    let text = "storage:\n  type: s3\n  acesskey: x\n";
    std::fs::write(directory.path().join("bed/target.yaml"), text).unwrap();
    let refused = run(directory.path(), &["certify", "bed/target.yaml"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("bed/target.yaml:3:3: error"), "{said}");
    assert!(said.contains("bed/target.yaml: 1 error, 0 warnings; nothing was sent"), "{said}");
    std::fs::write(directory.path().join("bed/target.yaml"), "auth: {type: none}\n").unwrap();
    let said = run(directory.path(), &["certify", "bed/target.yaml"]).stderr;
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("bed/target.yaml: no `storage:`"), "{said}");
}

#[test]
fn help_teaches_and_adaptors_list_their_keys() {
    let directory = tempfile::tempdir().unwrap();
    assert!(stdout(&run(directory.path(), &["--help"])).contains("cosmark demo"));
    assert!(stdout(&run(directory.path(), &["adaptors"])).contains("sproxyd"));
    let keys = stdout(&run(directory.path(), &["adaptors", "s3"]));
    for expected in ["accesskey", "secretkey", "path_style_access", "(secret)", "oss"] {
        assert!(keys.contains(expected), "{expected} is missing in\n{keys}");
    }
    for (arguments, remedy) in [
        (["demo", "--runtime", "soon"].as_slice(), "give 1s to 3600s"),
        (&["demo", "--runtime", "3601"], "give 1s to 3600s"),
        (&["check", "no-such-file.yaml"], "name a file that can be read"),
        (&["run", "."], "name a file that can be read"),
        (&["rnu", "x.yaml"], "'run'"),
        (&["cmp", "w1", "w2"], "`cosmark compare w1 w2`"),
        (&["quick", "s3://127.0.0.1"], "s3+https:// or s3+http://"),
        (&["run", "s3+http://key:hidden@127.0.0.1:1"], "`cosmark quick URL` measures a store"),
        (&["certify", "quetions"], "did you mean `cosmark certify questions`?"),
        (&["certify", "comapre", "a.json", "b.json"], "did you mean `cosmark certify compare`?"),
        (&["certify", "compare", "."], "compare takes two files"),
        (&["certify", "compare", ".", "."], "./certify.json"),
        (&["baseline", "nosuch.yaml"], "there is no file nosuch.yaml"),
        (&["study", "slidse"], "did you mean slides?"),
        (&["study", "slides", "--json"], "--json works with `study list` and `study status`"),
        (&["study", "status", "slides"], "no study was begun in this directory"),
        (&["study", "status", "--dir", "nowhere"], "it is no directory of a study"),
    ] {
        let refused = run(directory.path(), arguments);
        let text = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && text.contains(remedy), "{arguments:?}: {text}");
        assert!(!text.contains("hidden"), "a secret of an address stays out of a message: {text}");
    }
    let unknown = run(directory.path(), &["adaptors", "s4"]);
    assert_eq!(unknown.status.code(), Some(2));
    // Programs get the same names, and the same answer where there is none.
    let for_programs = run(directory.path(), &["adaptors", "s4", "--json"]);
    assert_eq!((for_programs.status.code(), for_programs.stderr), (Some(2), unknown.stderr));
    for (name, place) in [("SSH", "nodes"), ("S3", "storage"), ("keystone", "auth"), ("oss", "storage")] {
        let tables = stdout(&run(directory.path(), &["adaptors", name, "--json"]));
        let tables: serde_json::Value = serde_json::from_str(&tables).unwrap();
        let found = tables[place].as_array().unwrap();
        assert!(found.len() == 1 && !found[0]["keys"].as_array().unwrap().is_empty(), "{name}: {tables:#}");
    }
    let questions = stdout(&run(directory.path(), &["certify", "questions", "--json"]));
    let questions: serde_json::Value = serde_json::from_str(&questions).unwrap();
    let is_whole = |one: &serde_json::Value| one["id"].is_string() && one["right"].is_string();
    assert!(questions.as_array().unwrap().len() > 100 && questions.as_array().unwrap().iter().all(is_whole));
    let narrow =
        cosmark(directory.path()).args(["certify", "questions"]).env("COLUMNS", "80").output().unwrap();
    let widest = stdout(&narrow).lines().map(|line| line.chars().count()).max();
    assert!(widest.is_some_and(|width| width <= 80), "{widest:?}");
    assert_eq!(run(directory.path(), &["completions", "bash"]).status.code(), Some(0));
    assert!(stdout(&run(directory.path(), &["man"])).contains(".TH"));
}

#[test]
fn keys_of_adaptors_are_shown_in_the_width_of_the_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let keys = |columns: &str| {
        let mut command = cosmark(directory.path());
        stdout(&command.args(["adaptors", "s3"]).env("COLUMNS", columns).output().unwrap())
    };
    let is_framed = |line: &&str| line.contains(|sign| ('\u{2500}'..='\u{259f}').contains(&sign));
    for columns in [80, 100, 120, 200] {
        let text = keys(&columns.to_string());
        let widest = text.lines().filter(is_framed).map(|line| line.chars().count()).max();
        assert!(widest.is_none_or(|width| width <= columns), "{columns}: {widest:?}\n{text}");
        assert!(text.contains("secretkey") && text.contains("path_style_access"), "{text}");
    }
    let narrow = keys("40");
    assert!(narrow.contains("\nkey: accesskey") && narrow.contains("\n  meaning: "), "{narrow}");
    // A longer line is one of a single word, or of a sentence that is wrapped on a terminal only.
    let blocks = narrow.lines().skip_while(|line| !line.starts_with("key: "));
    let long = |line: &&str| line.chars().count() > 40 && line.trim().contains(' ');
    let long: Vec<&str> = blocks.take_while(|line| !line.starts_with("  any storage")).filter(long).collect();
    assert!(long.is_empty(), "{long:#?}");
}

/// A file system of 200 KiB, in a mount namespace of its own.
#[test]
fn a_full_disk_costs_the_archive_but_not_the_results() {
    // SAFETY: plain system calls without pointers; only this thread's view of the mounts changes.
    let can_mount = unsafe { libc::geteuid() == 0 };
    if !can_mount {
        return skipped("only root can mount a small file system");
    }
    let directory = tempfile::tempdir().unwrap();
    let file = repository().join("workloads/cosbench/demo.xml");
    let script = "mount -t tmpfs -o size=200k tmpfs \"$0\" && exec \"$1\" run \"$2\" --set runtime=2s --archive \"$0/archive\"";
    let output = std::process::Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .arg(directory.path())
        .arg(env!("CARGO_BIN_EXE_cosmark"))
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("No space left on device"), "{}", stderr(&output));
    // It is told before anything is measured.
    let (noted, begins) =
        (stderr(&output).find("has no room for what this run comes to"), stderr(&output).find(" begins"));
    assert!(noted.is_some_and(|noted| begins.is_some_and(|begins| noted < begins)), "{}", stderr(&output));
    assert!(stdout(&output).contains("main") && stdout(&output).contains("read"), "{}", stdout(&output));
    // A study that cannot even note that it begins.
    let script = "mount -t tmpfs -o size=64k tmpfs \"$0\" && cd \"$0\" && \"$1\" study new mine && echo 'storage: {type: mock}' > target.yaml \
                  && { cat /dev/zero > fill 2>&1 | true; } ; exec \"$1\" study mine --system here=target.yaml --dir there";
    let output = std::process::Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .arg(directory.path())
        .arg(env!("CARGO_BIN_EXE_cosmark"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("free some space, then the same command"), "{}", stderr(&output));
}

/// A line of an S3 server access log at this second past midnight.
fn s3_line(second: u32, operation: &str) -> String {
    format!(
        "79a59df900b949e5 bench [06/Feb/2019:00:00:{second:02} +0000] 192.0.2.3 79a59df9 3E57427F3EXAMPLE {operation} a%20b.jpg \
         \"GET /bench/a%20b.jpg HTTP/1.1\" 200 - 4096 4096 70 10 \"-\" \"S3Console/0.4\" - x= SigV4 E AuthHeader h TLSV1.2 - -\n"
    )
}

#[test]
fn an_access_log_becomes_arrivals_and_each_of_them_is_sent() {
    let directory = tempfile::tempdir().unwrap();
    let line = |number: u32| {
        s3_line(number / 10, if number.is_multiple_of(5) { "REST.PUT.OBJECT" } else { "REST.GET.OBJECT" })
    };
    let log: String = (0..40).map(line).collect();
    fs::write(directory.path().join("access.log"), &log).unwrap();
    let converted = run(
        directory.path(),
        &["convert", "access.log", "-o", "times.csv", "--time-warp", "2", "--only", "read"],
    );
    assert_eq!(converted.status.code(), Some(0), "{}", stderr(&converted));
    assert!(stderr(&converted).contains("32 arrivals over 2.0 s"), "{}", stderr(&converted));
    assert!(stderr(&converted).contains("8 requests were left out by --only"), "{}", stderr(&converted));
    let workload = "name: replay\nstorage: {type: mock}\nstages:\n  - name: main\n    works:\n      - {name: main, workers: 4, \
        runtime: 8s, rate: {shape: recorded, file: times.csv}, operations: [{type: read, containers: c(1), objects: c(1)}]}\n";
    fs::write(directory.path().join("replay.yaml"), workload).unwrap();
    let (_, record) = run_json(directory.path(), &["run", "replay.yaml", "--quiet"]);
    let read = operation(&record, "main", "read");
    assert_eq!((read.intended, read.ok), (Some(32), 32));
    let checked = run(directory.path(), &["check", "replay.yaml"]);
    assert_eq!(checked.status.code(), Some(0));
    assert!(stdout(&checked).contains("s1-main main: 32 arrivals in "), "{}", stdout(&checked));
}

#[test]
fn a_check_that_foresees_a_false_verdict_says_so_and_strict_makes_it_an_exit_code() {
    let directory = tempfile::tempdir().unwrap();
    let workload = |second: &str| {
        let text = format!(
            "name: t\nstorage: {{type: s3, endpoint: 'http://127.0.0.1:1', accesskey: a, secretkey: b}}\nstages:\n  \
             - {{name: fill, works: [{{type: prepare, workers: 1, containers: 'r(1,1)', objects: 'r(1,100)', \
             sizes: c(4)KB}}]}}\n  - {{name: main, works: [{{name: w, workers: 4, runtime: 100s, operations: \
             [{{type: read, ratio: 50, containers: c(1), objects: 'u(1,50)'}}, {{{second}, ratio: 50, containers: \
             c(1)}}]}}]}}\n"
        );
        fs::write(directory.path().join("t.yaml"), text).unwrap();
    };
    // (what is done beside the reads, arguments, exit code, whether FALSE is said)
    for (second, strict, code, foreseen) in [
        ("type: delete, objects: 'u(1,50)'", false, 0, true),
        ("type: delete, objects: 'u(1,50)'", true, 7, true),
        ("type: write, objects: 'u(51,100)', sizes: c(4)KB", false, 0, false),
    ] {
        workload(second);
        let arguments: &[&str] = if strict { &["check", "t.yaml", "--strict"] } else { &["check", "t.yaml"] };
        let output = run(directory.path(), arguments);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(code), "{second} {strict}: {text}");
        assert_eq!(text.contains("would be FALSE"), foreseen, "{second} {strict}: {text}");
        assert_eq!(text.contains("--strict"), foreseen && !strict, "{second} {strict}: {text}");
    }
}

#[test]
fn recorded_arrivals_that_cannot_be_replayed_are_found_before_anything_is_sent() {
    let directory = tempfile::tempdir().unwrap();
    let deeper = directory.path().join("deeper");
    fs::create_dir(&deeper).unwrap();
    let workload = "name: replay\nstorage: {type: mock}\nstages:\n  - name: main\n    works:\n      - {name: main, workers: 4, \
        runtime: 3s, rate: {shape: recorded, file: times.csv}, operations: [{type: read, containers: c(1), objects: c(1)}]}\n";
    fs::write(deeper.join("replay.yaml"), workload).unwrap();
    // What is there, the code and the words of a check, those of a run.
    for (text, code, checks, runs) in [
        (None, 0, "warning: s1-main main: there is no file times.csv", "there is no file times.csv"),
        (Some("0.5\n0.1\n"), 2, "times.csv, line 2: expected seconds", "times.csv, line 2: expected seconds"),
        (Some("# none\n"), 2, "times.csv has no arrivals", "times.csv has no arrivals"),
    ] {
        if let Some(text) = text {
            fs::write(directory.path().join("times.csv"), text).unwrap();
        }
        let checked = run(directory.path(), &["check", "deeper/replay.yaml"]);
        let said = stdout(&checked) + &stderr(&checked);
        assert!(checked.status.code() == Some(code) && said.contains(checks), "{said}");
        let refused = run(directory.path(), &["run", "deeper/replay.yaml"]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(stderr(&refused).contains(runs), "{}", stderr(&refused));
        assert!(!directory.path().join("archive").exists(), "nothing was begun");
    }
    fs::rename(directory.path().join("times.csv"), deeper.join("times.csv")).unwrap();
    let refused = run(directory.path(), &["run", "deeper/replay.yaml"]);
    assert!(
        stderr(&refused).contains("it lies beside the workload: write deeper/times.csv"),
        "{}",
        stderr(&refused)
    );
    fs::create_dir(directory.path().join("times.csv")).unwrap();
    let refused = run(directory.path(), &["run", "deeper/replay.yaml"]);
    assert!(stderr(&refused).contains("times.csv is no regular file"), "{}", stderr(&refused));
}

#[test]
fn lines_of_an_access_log_that_cannot_be_read_are_named_and_can_be_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let log = [&s3_line(1, "REST.GET.OBJECT"), "what is this?\n", &s3_line(2, "REST.GET.OBJECT")].concat();
    fs::write(directory.path().join("access.log"), log).unwrap();
    let refused = run(directory.path(), &["convert", "access.log"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("access.log:2: ") && stderr(&refused).contains("--skip-bad"),
        "{}",
        stderr(&refused)
    );
    let taken = run(directory.path(), &["convert", "access.log", "--skip-bad"]);
    assert_eq!(taken.status.code(), Some(0));
    assert_eq!(stdout(&taken).lines().count(), 3);
}
