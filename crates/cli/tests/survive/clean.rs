//! `cosmark clean`: what a run left in a store goes, what is somebody else's stays.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::eventually;
use crate::plain_store::PlainStore;
use crate::support::{Server, cosmark, run, signal, stderr, stdout};

/// Writes into container 1 and 2 until it is ended.
const FILLS: &str = "name: fills\nstages:\n  - name: init\n    works: [{type: init, workers: 1, containers: 'r(1,4)', container_prefix: cl-}]\n  \
    - name: prepare\n    works: [{type: prepare, workers: 2, containers: 'r(1,2)', container_prefix: cl-, objects: 'r(1,20)', object_prefix: \
    obj, sizes: c(1)KB}]\n  - name: main\n    works:\n      - {name: w, workers: 2, runtime: 600s, interval: 1s, operations: [{type: write, \
    containers: 'u(1,2)', container_prefix: cl-, objects: 'u(101,140)', object_prefix: obj, sizes: c(1)KB}]}\n  - name: cleanup\n    works: \
    [{type: cleanup, workers: 1, containers: 'r(1,2)', container_prefix: cl-, objects: 'r(1,140)', object_prefix: obj}]\n";

/// What somebody else has in the same containers: names that look alike, and one of each that does not.
const THEIRS: &str = "name: theirs\nstages:\n  - name: init\n    works: [{type: init, workers: 1, containers: 'r(2,4)', container_prefix: cl-}]\n  \
    - name: prepare\n    works:\n      - {name: alike, type: prepare, workers: 1, containers: 'r(2,3)', container_prefix: cl-, objects: \
    'r(21,25)', object_prefix: obj, sizes: c(1)KB}\n      - {name: zeros, type: prepare, workers: 1, containers: 'r(2,3)', container_prefix: \
    cl-, objects: 'r(1,3)', object_prefix: obj0, sizes: c(1)KB}\n      - {name: endings, type: prepare, workers: 1, containers: 'r(2,3)', \
    container_prefix: cl-, objects: 'r(1,3)', object_prefix: obj, object_suffix: .bak, sizes: c(1)KB}\n";

fn killed_in_main(directory: &Path) {
    fs::write(directory.join("fills.yaml"), FILLS).unwrap();
    let mut child = cosmark(directory)
        .args(["run", "fills.yaml", "--target", "target.yaml", "--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually("the main stage", || {
        let archive = fs::read_dir(directory.join("archive")).into_iter().flatten().flatten();
        archive.filter(|entry| entry.file_name().to_string_lossy().ends_with("-fills")).any(|entry| {
            fs::read_to_string(entry.path().join("intervals.csv"))
                .is_ok_and(|text| text.lines().filter(|line| line.starts_with("s3-main,")).count() > 1)
        })
    });
    child.kill().unwrap();
    child.wait().unwrap();
}

fn clean(directory: &Path, more: &[&str]) -> (Option<i32>, Value, String) {
    let args = [&["clean", "last", "--target", "target.yaml", "--json"], more].concat();
    let output = run(directory, &args);
    let said = stderr(&output);
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap_or(Value::Null), said)
}

fn theirs(directory: &Path) {
    fs::write(directory.join("theirs.yaml"), THEIRS).unwrap();
    let made = run(directory, &["run", "theirs.yaml", "--target", "target.yaml", "--quiet", "--no-report"]);
    assert!(made.status.success(), "{}", stderr(&made));
}

/// Containers 2 to 4 are theirs, two with 11 objects each and one with nothing; container 1 is ours. Gives what is said of them.
fn clean_and_look(directory: &Path) -> Value {
    theirs(directory);
    killed_in_main(directory);
    let (code, planned, said) = clean(directory, &["--dry-run"]);
    assert_eq!(code, Some(0), "{said}");
    let ours = planned["objects"].as_u64().unwrap();
    assert!(ours >= 40 && planned["others"] == 22, "{planned}");
    // A dry run has removed nothing: the same is there again.
    assert_eq!(clean(directory, &["--dry-run"]).1, planned);
    let (code, done, said) = clean(directory, &[]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!((done["objects"].as_u64(), &done["others"]), (Some(ours), &planned["others"]), "{done}");
    let (_, nothing, _) = clean(directory, &[]);
    assert_eq!((&nothing["objects"], &nothing["others"]), (&Value::from(0), &planned["others"]), "{nothing}");
    done
}

fn container<'a>(of: &'a Value, name: &str) -> &'a Value {
    of["containers"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap_or(&Value::Null)
}

/// Also whoever asks for containers to go does not get those that were there before, be they empty.
fn only_its_own_container_is_gone(directory: &Path, done: &Value) {
    assert_eq!((&done["containers_removed"], &container(done, "cl-1")["removed"]), (&1.into(), &true.into()));
    let (_, again, _) = clean(directory, &["--containers"]);
    assert_eq!(again["containers_removed"], 0, "{again}");
    for name in ["cl-2", "cl-3", "cl-4"] {
        let stays = container(&again, name);
        assert_eq!(stays["removed"], false, "{again}");
        assert!(stays["note"].as_str().unwrap().contains("was there before the run"), "{again}");
    }
}

#[test]
fn what_a_killed_run_left_in_s3_goes_and_what_looks_alike_stays() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &[]);
    server.target(directory.path(), None);
    let done = clean_and_look(directory.path());
    assert_eq!(container(&done, "cl-2")["others"], 11, "{done}");
    assert!(container(&done, "cl-2")["examples"].to_string().contains("obj"), "{done}");
    only_its_own_container_is_gone(directory.path(), &done);
    // An archive that does not say who made them: they stay until somebody says so.
    let path = fs::read_dir(directory.path().join("archive")).unwrap().flatten().map(|entry| entry.path());
    let path = path.filter(|path| path.to_string_lossy().ends_with("-fills")).max().unwrap().join("run.json");
    let mut record: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for stage in record["stages"].as_array_mut().unwrap() {
        stage.as_object_mut().unwrap().remove("containers");
    }
    fs::write(&path, record.to_string()).unwrap();
    let (_, unknown, _) = clean(directory.path(), &[]);
    assert_eq!(unknown["containers_removed"], 0, "{unknown}");
    assert!(container(&unknown, "cl-4")["note"].as_str().unwrap().contains("--containers"), "{unknown}");
    let (_, removed, _) = clean(directory.path(), &["--containers"]);
    assert_eq!(removed["containers_removed"], 1, "{removed}");
    assert_eq!(container(&removed, "cl-4")["removed"], true, "{removed}");
    // Without the login there is nothing to be done, and it is said what to give.
    let blind = run(directory.path(), &["clean", "last"]);
    assert_eq!(blind.status.code(), Some(2));
    assert!(stderr(&blind).contains("--target"), "{}", stderr(&blind));
    // Another store has the same names, and nobody said that it is the same one.
    let target = directory.path().join("target.yaml");
    let text = fs::read_to_string(&target).unwrap();
    fs::write(&target, text.replace("127.0.0.1", "localhost")).unwrap();
    let (code, _, said) = clean(directory.path(), &["--dry-run"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("another store") && said.contains("its endpoint is http://localhost"), "{said}");
    assert_eq!(clean(directory.path(), &["--dry-run", "--another-address"]).0, Some(0));
    fs::write(&target, text).unwrap();
    // The store is gone: nothing is claimed.
    drop(server);
    let (code, _, said) = clean(directory.path(), &[]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("nothing was removed"), "{said}");
}

#[test]
fn what_a_killed_run_left_in_swift_goes_and_what_looks_alike_stays() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("behaviour.yaml"), "{}\n").unwrap();
    let server = Server::start(directory.path(), &["--behaviour", "behaviour.yaml"]);
    let url = server.lines[0].rsplit(' ').next().unwrap().to_owned();
    fs::write(
        directory.path().join("target.yaml"),
        format!("auth: {{type: swauth, auth_url: {url}/auth/v1.0, username: 'test:tester', password: testing}}\nstorage: {{type: swift}}\n"),
    )
    .unwrap();
    let done = clean_and_look(directory.path());
    only_its_own_container_is_gone(directory.path(), &done);
    let shown = run(directory.path(), &["clean", "last", "--target", "target.yaml", "--dry-run"]);
    assert!(
        stdout(&shown).contains("would be removed") && stderr(&shown).contains("of others stay"),
        "{}",
        stderr(&shown)
    );
}

/// Numbers far beyond what there is time for.
const COUNTS: &str = "name: counts\nstages:\n  - name: main\n    works:\n      - {name: w, workers: 2, runtime: 600s, interval: 1s, pace: \
    {rate_per_worker: 10/s}, operations: [{type: write, containers: c(1), container_prefix: cl-, objects: 's(1,5000)', object_prefix: \
    obj, sizes: c(1)KB}]}\n  - name: cleanup\n    works: [{type: cleanup, workers: 1, containers: 'r(1,1)', container_prefix: cl-, objects: \
    'r(1,5000)', object_prefix: obj}]\n";

/// A run that its user ends at once.
fn ended_twice(directory: &Path, more: &[&str]) {
    fs::write(directory.join("counts.yaml"), COUNTS).unwrap();
    let runs = || -> Vec<_> {
        let archive = fs::read_dir(directory.join("archive")).into_iter().flatten().flatten();
        archive.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with("-counts")).collect()
    };
    let earlier = runs();
    let mut child = cosmark(directory)
        .args(["run", "counts.yaml", "--target", "target.yaml", "--no-report"])
        .args(more)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually("the load", || {
        assert!(child.try_wait().unwrap().is_none(), "it does not run");
        runs().iter().filter(|path| !earlier.contains(path)).any(|path| {
            fs::read_to_string(path.join("intervals.csv"))
                .is_ok_and(|text| text.lines().filter(|line| line.starts_with("s1-main,")).count() > 1)
        })
    });
    signal(&child, libc::SIGINT);
    std::thread::sleep(std::time::Duration::from_millis(50));
    signal(&child, libc::SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

#[test]
fn what_a_run_left_that_was_ended_by_two_ctrl_c_goes_and_by_its_operation_log_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &[]);
    server.target(directory.path(), None);
    // Somebody else's objects have names that the run could have come to, but did not.
    let theirs = "name: theirs\nstages:\n  - name: init\n    works: [{type: init, workers: 1, containers: 'r(1,1)', container_prefix: cl-}]\n  \
                  - name: prepare\n    works: [{type: prepare, workers: 1, containers: 'r(1,1)', container_prefix: cl-, objects: \
                  'r(4990,4994)', object_prefix: obj, sizes: c(1)KB}]\n";
    fs::write(directory.path().join("theirs.yaml"), theirs).unwrap();
    let made =
        run(directory.path(), &["run", "theirs.yaml", "--target", "target.yaml", "--quiet", "--no-report"]);
    assert!(made.status.success(), "{}", stderr(&made));
    ended_twice(directory.path(), &["--oplog"]);
    let (code, planned, said) = clean(directory.path(), &["--dry-run"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(planned["objects"].as_u64().unwrap() > 0 && planned["others"] == 5, "{planned}");
    let (code, done, said) = clean(directory.path(), &[]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!((&done["objects"], &done["others"]), (&planned["objects"], &planned["others"]), "{done}");
    let (_, again, _) = clean(directory.path(), &[]);
    assert_eq!((&again["objects"], &again["others"]), (&0.into(), &5.into()), "{again}");
    // Without a log, what could have been written has to do.
    ended_twice(directory.path(), &[]);
    let (_, planned, _) = clean(directory.path(), &["--dry-run"]);
    assert!(planned["objects"].as_u64().unwrap() > 5 && planned["others"] == 0, "{planned}");
}

#[test]
fn a_store_without_listings_is_cleaned_by_the_operation_log_or_else_by_all_names() {
    let directory = tempfile::tempdir().unwrap();
    let store = PlainStore::start();
    fs::write(
        directory.path().join("target.yaml"),
        format!("storage: {{type: sproxyd, hosts: '{}', base_path: /p}}\n", store.url),
    )
    .unwrap();
    store.put("/p/cl-1/obj4990");
    store.put("/p/cl-1/obj05");
    store.put("/p/cl-2/obj1");
    ended_twice(directory.path(), &["--oplog"]);
    let ours = store.names().len() - 3;
    let before = store.deleted();
    let (code, done, said) = clean(directory.path(), &[]);
    assert_eq!((code, &done["objects"]), (Some(0), &ours.into()), "{said} {done}");
    assert_eq!(store.names(), ["/p/cl-1/obj05", "/p/cl-1/obj4990", "/p/cl-2/obj1"]);
    // Names that the log has, and no others, are asked for.
    assert!(store.deleted() - before < 2 * ours + 100, "{} for {ours}", store.deleted() - before);
    ended_twice(directory.path(), &[]);
    let (code, _, said) = clean(directory.path(), &[]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(store.names(), ["/p/cl-1/obj05", "/p/cl-2/obj1"]);
}

/// Reads what no stage writes.
const WARNED: &str = "name: warned\nstages:\n  - name: main\n    works:\n      - {name: w, workers: 1, total_ops: 3, acceptable_failure_ratio: 1, \
    operations: [{type: read, containers: c(1), container_prefix: cl-, objects: c(1)}, {type: write, containers: c(1), container_prefix: \
    cl-, objects: c(2), sizes: c(1)KB}]}\n";

#[test]
fn what_was_warned_of_before_the_run_is_not_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &[]);
    server.target(directory.path(), None);
    fs::write(directory.path().join("warned.yaml"), WARNED).unwrap();
    let ran = run(directory.path(), &["run", "warned.yaml", "--target", "target.yaml", "--no-report"]);
    assert!(stderr(&ran).contains("warning"), "{}", stderr(&ran));
    let (code, planned, said) = clean(directory.path(), &["--dry-run"]);
    assert!(code == Some(0) && !said.contains("warning"), "{planned}\n{said}");
}
