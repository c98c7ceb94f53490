//! Faults of submissions: a controller has agents make those that the operators of machines have named, and runs no
//! command itself.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::machines::{Bed, Process};
use crate::service::within;
use crate::support::{cosmark, key_of_controllers, signal};
use crate::{ask, finished, leader, log_of, wait_for_drivers};

/// An agent that allows one fault: a file that is there.
fn agent(bed: &Bed) -> Process {
    let there = bed.path().join("there").display().to_string();
    let text = format!(
        "faults:\n- {{name: file there, type: command, inject: 'touch {there}', heal: 'rm -f {there}', proof: 'test -e {there}', \
         longest: 10m, within: 20s}}\n"
    );
    let path = bed.path().join("faults.yaml");
    fs::write(&path, text).unwrap();
    // Whatever the mask of who runs this lets a group do.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let mut command = cosmark(bed.path());
    command.args(["node", "--join", &bed.url(), "--name", "s1", "--state", "state"]);
    command.args(["--faults", "faults.yaml", "--trust", &key_of_controllers(&bed.path().join("a"))]);
    let mut agent = Process::start(command, bed.path().join("s1.log"));
    agent.wait_for("waits to be asked");
    agent
}

fn broken(fault: &str, runtime_s: u32) -> String {
    format!(
        "name: broken\nstorage: {{type: mock, delay: 2ms}}\nstages:\n  - name: main\n    faults:\n      - {{name: gone, {fault}, \
         repeats: 1}}\n    works:\n      - {{name: main, workers: 4, runtime: {runtime_s}s, interval: 1s, rate: 100/s, operations: \
         [{{type: write, containers: c(1), objects: 'u(1,99)', sizes: c(1)KB}}]}}\n"
    )
}

#[test]
fn a_controller_has_agents_make_faults_and_refuses_those_that_nobody_can_make() {
    let bed = Bed::new(1);
    let there = bed.path().join("there");
    let c = leader(&bed, "a");
    wait_for_drivers(&c, 1);
    let refused = |fault: &str, words: &str| {
        let (status, answer) = c.send("POST", "runs", &json!({ "source": broken(fault, 900) }));
        assert!((400..500).contains(&status), "{fault}: {status} {answer}");
        assert!(answer.to_string().contains(words), "{fault}: {answer}");
    };
    let short = "at: 5 objects, hold: 3s, slot: 9s";
    refused(
        &format!("type: agent, agent: s1, fault: file there, {short}"),
        "cosmark node --name s1 --faults FILE",
    );
    refused(
        &format!("type: command, inject: touch there, heal: rm there, proof: test -e there, {short}"),
        "a controller makes no faults of type command itself",
    );
    refused("type: none, at: 5 objects, slot: 9s, whole: touch there", "runs none of a submission");
    let _agent = agent(&bed);
    refused(&format!("type: agent, agent: s1, fault: sh, {short}"), "allowed are: file there");
    refused("type: agent, agent: s1, fault: file there, at: 5 objects, hold: 11m, slot: 12m", "at most");
    assert!(!there.exists() && ask(&c, "runs").unwrap().as_array().unwrap().is_empty());

    let log = || format!("{}\n{}", log_of(bed.path()), bed.logs());
    // At its beginning: no machine that stands still has made the rate fall before it by then.
    let in_time = "type: agent, agent: s1, fault: file there, at: 5 objects, hold: 8s, slot: 18s";
    let id = c.submit(&broken(in_time, 47));
    within(|| there.exists().then_some(()));
    finished(&c, &id, log);
    assert!(!there.exists());
    let record = within(|| ask(&c, &format!("runs/{id}/record")));
    let slot = &record["stages"][0]["faults"][0]["slots"][0];
    assert!(
        slot["void"].is_null() && slot["proof"].as_str().is_some_and(|proof| proof.starts_with("s1: ")),
        "{slot}"
    );
    let events = record["events"].to_string();
    assert!(events.contains("gone 1: it is there") && events.contains("gone 1: healed"), "{events}");

    // Whoever ends the run, the fault ends with it.
    let long = "type: agent, agent: s1, fault: file there, at: 5 objects, hold: 500s, slot: 510s";
    let id = c.submit(&broken(long, 900));
    within(|| there.exists().then_some(()));
    let (status, answer) = c.send("POST", &format!("runs/{id}/cancel"), &json!({}));
    assert!((200..300).contains(&status), "{status} {answer}");
    within(|| (!there.exists()).then_some(()));
    c.wait_for(&id, &["cancelled"]);
    c.submit(&broken(long, 900));
    within(|| there.exists().then_some(()));
    signal(&c.child, libc::SIGKILL);
    within(|| (!there.exists()).then_some(()));
}
