//! Faults of the way to a store by the kernel's packet filter, in a network namespace of the test alone.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::daemons::{RUN, guardians, record};
use crate::eventually;
use crate::support::{Server, cosmark, signal, skipped, stderr, stdout};

/// A network of its own with a store in it.
struct Space {
    server: Server,
    net: String,
}

impl Space {
    /// Why there is none: the machine refuses it, or has no packet filter.
    fn begin(directory: &Path) -> Result<Self, String> {
        let up = "ip link set lo up && nft list tables && nft 'add table inet t; delete table inet t'";
        let tried = Command::new("unshare").args(["-n", "sh", "-c", up]).output();
        let why = match &tried {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(stderr(output)),
            Err(cause) => Some(cause.to_string()),
        };
        if let Some(why) = why {
            return Err(format!("no network namespace with a packet filter: {why}"));
        }
        let mut command = Command::new("unshare");
        command.args(["-n", "sh", "-c", "ip link set lo up && exec \"$0\" \"$@\""]);
        command.arg(cosmark(directory).get_program()).args(["serve", "--listen", "127.0.0.1:0"]);
        let server = Server::start_by(command);
        let net = format!("/proc/{}/ns/net", server.child().id());
        server.target(directory, None);
        Ok(Self { server, net })
    }

    fn of(&self) -> String {
        self.server.says("endpoint").replace("http://", "").trim_end_matches('/').to_owned()
    }

    /// A program in it.
    fn inside(&self, directory: &Path, program: &Command) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", self.net)).arg("--").arg(program.get_program());
        command.args(program.get_args()).current_dir(directory);
        command
    }

    fn tables(&self, directory: &Path) -> String {
        let mut list = Command::new("nft");
        list.args(["list", "tables"]);
        stdout(&self.inside(directory, &list).output().unwrap())
    }
}

fn workload(directory: &Path, fault: &str, operations: u32) {
    let text = format!(
        "name: broken\ndefaults: {{containers: \"r(1,1)\", sizes: c(1)KB}}\nstages:\n  - name: init\n    works: [{{type: init, \
         workers: 1}}]\n  - name: main\n    faults:\n      - {{name: gone, type: network, {fault}, at: 5 objects, repeats: 1, keep: \
         1s}}\n    works:\n      - {{name: main, workers: 64, total_ops: {operations}, interval: 1s, acceptable_failure_ratio: 1, \
         rate: {{shape: constant, rate: 100/s, when_full: drop}}, operations: [{{type: write, objects: u(1,99)}}]}}\n"
    );
    fs::write(directory.join("broken.yaml"), text).unwrap();
}

fn run(space: &Space, directory: &Path) -> Output {
    let mut command = cosmark(directory);
    command.args(RUN).args(["--target", "target.yaml"]);
    space.inside(directory, &command).output().unwrap()
}

#[test]
fn a_store_that_is_cut_off_by_the_packet_filter_answers_again_and_nobody_elses_rules_are_touched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let space = match Space::begin(path) {
        Ok(space) => space,
        Err(why) => return skipped(&why),
    };
    let mut own = Command::new("nft");
    own.arg(
        "add table inet of_somebody; add chain inet of_somebody c { type filter hook input priority 0; }",
    );
    assert!(space.inside(path, &own).status().unwrap().success());
    let before = space.tables(path);
    // By the process's own namespace, and by its name from within another one.
    for netns in [String::new(), format!(", netns: {}", space.net)] {
        drop(fs::remove_dir_all(path.join("archive")));
        workload(path, &format!("of: '{}', partition: true, hold: 5s, slot: 12s{netns}", space.of()), 2200);
        let output = run(&space, path);
        let record = record(path);
        let slot = &record.stages[1].faults[0].slots[0];
        assert_eq!(slot.void, None, "{:?} {}", record.events, stderr(&output));
        let proof = slot.proof.clone().unwrap_or_default();
        assert!(proof.contains("packets were dropped, and") && proof.contains("does not answer"), "{proof}");
        assert!(slot.healed_s.is_some());
        let texts: Vec<_> = record.events.iter().map(|event| event.text.as_str()).collect();
        assert!(
            texts.iter().any(|text| text.contains("no packet passes to and from 127.0.0.1:")),
            "{texts:?}"
        );
        assert_eq!(space.tables(path), before, "only what was set is gone");
        assert!(guardians(path).is_empty());
    }
}

#[test]
fn packets_are_lost_by_chance_and_a_killed_run_leaves_no_rule() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let space = match Space::begin(path) {
        Ok(space) => space,
        Err(why) => return skipped(&why),
    };
    let before = space.tables(path);
    workload(path, &format!("of: '{}', loss: 20 %, hold: 500s, slot: 510s", space.of()), 180_000);
    let mut command = cosmark(path);
    command.args(RUN).args(["--target", "target.yaml"]);
    let mut child = space.inside(path, &command).spawn().unwrap();
    let events = path.join("archive/w1-broken/events.csv");
    eventually("the proof of the fault", || {
        fs::read_to_string(&events).is_ok_and(|text| text.contains("packets were dropped"))
    });
    assert_ne!(space.tables(path), before);
    signal(&child, libc::SIGKILL);
    child.wait().unwrap();
    eventually("the healing", || space.tables(path) == before);
    eventually("the end of the guardian", || guardians(path).is_empty());
}

#[test]
fn what_does_not_answer_before_it_is_cut_off_proves_nothing_and_no_rule_is_left() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let space = match Space::begin(path) {
        Ok(space) => space,
        Err(why) => return skipped(&why),
    };
    let before = space.tables(path);
    // An address that no route leads to.
    workload(path, "of: '192.0.2.1:9', partition: true, hold: 1s, slot: 3s", 900);
    let output = run(&space, path);
    let record = record(path);
    let slot = &record.stages[1].faults[0].slots[0];
    let why = slot.void.clone().unwrap_or_default();
    assert!(why.contains("does not answer before it is cut off"), "{why} {}", stderr(&output));
    assert_eq!(space.tables(path), before);
}

#[test]
fn without_a_packet_filter_the_slot_is_void_says_what_is_missing_and_nothing_is_left_to_heal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let text = "name: broken\nstorage: {type: mock, delay: 2ms}\nstages:\n  - name: main\n    faults:\n      - {name: gone, type: \
                network, of: '127.0.0.1:9', partition: true, at: 5 objects, repeats: 1, hold: 1s, slot: 2s, keep: 1s}\n    works:\n      \
                - {name: main, workers: 4, total_ops: 600, interval: 1s, rate: 200/s, operations: [{type: write, containers: c(1), \
                objects: u(1,99), sizes: c(1)KB}]}\n";
    fs::write(path.join("broken.yaml"), text).unwrap();
    let output = cosmark(path).args(RUN).env("PATH", path).output().unwrap();
    let record = record(path);
    let why = record.stages[0].faults[0].slots[0].void.clone().unwrap_or_default();
    assert!(why.contains("package nftables"), "{why} {}", stderr(&output));
    let healed = cosmark(path).args(["faults", "heal"]).output().unwrap();
    assert_eq!((healed.status.code(), stdout(&healed).as_str()), (Some(0), "nothing to heal\n"));
}
