//! `cosmark clean`: what a run left in a store goes, what is somebody else's stays.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::eventually;
use crate::support::{Server, cosmark, run, stderr, stdout};

/// Writes into container 1 and 2 until it is ended.
const FILLS: &str = "name: fills\nstages:\n  - name: init\n    works: [{type: init, workers: 1, containers: 'r(1,2)', container_prefix: cl-}]\n  \
    - name: prepare\n    works: [{type: prepare, workers: 2, containers: 'r(1,2)', container_prefix: cl-, objects: 'r(1,20)', object_prefix: \
    obj, sizes: c(1)KB}]\n  - name: main\n    works:\n      - {name: w, workers: 2, runtime: 600s, interval: 1s, operations: [{type: write, \
    containers: 'u(1,2)', container_prefix: cl-, objects: 'u(101,140)', object_prefix: obj, sizes: c(1)KB}]}\n  - name: cleanup\n    works: \
    [{type: cleanup, workers: 1, containers: 'r(1,2)', container_prefix: cl-, objects: 'r(1,140)', object_prefix: obj}]\n";

/// What somebody else has in the same containers: names that look alike, and one of each that does not.
const THEIRS: &str = "name: theirs\nstages:\n  - name: init\n    works: [{type: init, workers: 1, containers: 'r(2,3)', container_prefix: cl-}]\n  \
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

/// Container 2 is theirs, with 11 objects; container 1 is ours alone. Gives what is said of the two.
fn clean_and_look(directory: &Path) -> Value {
    theirs(directory);
    killed_in_main(directory);
    let (code, planned, said) = clean(directory, &["--dry-run"]);
    assert_eq!(code, Some(0), "{said}");
    let ours = planned["objects"].as_u64().unwrap();
    assert!(ours >= 40 && planned["others"] == 11, "{planned}");
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

#[test]
fn what_a_killed_run_left_in_s3_goes_and_what_looks_alike_stays() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &[]);
    server.target(directory.path(), None);
    let done = clean_and_look(directory.path());
    assert_eq!(container(&done, "cl-2")["others"], 11, "{done}");
    assert!(container(&done, "cl-2")["examples"].to_string().contains("obj"), "{done}");
    // Who made a bucket is not known: it stays until somebody says so, and goes only when it is empty.
    assert_eq!(done["containers_removed"], 0, "{done}");
    assert!(container(&done, "cl-1")["note"].as_str().unwrap().contains("--containers"), "{done}");
    let (_, removed, _) = clean(directory.path(), &["--containers"]);
    assert_eq!(removed["containers_removed"], 1, "{removed}");
    assert_eq!(container(&removed, "cl-1")["removed"], true, "{removed}");
    // Without the login there is nothing to be done, and it is said what to give.
    let blind = run(directory.path(), &["clean", "last"]);
    assert_eq!(blind.status.code(), Some(2));
    assert!(stderr(&blind).contains("--target"), "{}", stderr(&blind));
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
    let (_, removed, _) = clean(directory.path(), &["--containers"]);
    assert_eq!(removed["containers_removed"], 1, "{removed}");
    let stays = container(&removed, "cl-2");
    assert!(stays["removed"] == false && stays["note"].as_str().unwrap().contains("others"), "{removed}");
    drop(done);
    let shown = run(directory.path(), &["clean", "last", "--target", "target.yaml", "--dry-run"]);
    assert!(
        stdout(&shown).contains("would be removed") && stderr(&shown).contains("of others stay"),
        "{}",
        stderr(&shown)
    );
}
