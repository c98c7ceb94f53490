//! Faults on real systems: proved, healed, and nothing lost; and what a killed run leaves in force is healed.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::own_prefix;
use crate::support::{cosmark, repository, run, run_json, stderr, stdout};

/// The number of a process of a bed, as its status says it.
fn pid_of(bed: &str, name: &str) -> u32 {
    let output = Command::new(repository().join("testbeds").join(bed).join("status")).output().unwrap();
    let text = stdout(&output);
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(name));
    let pid = line.and_then(|line| line.split_whitespace().last()).and_then(|word| word.parse().ok());
    pid.unwrap_or_else(|| panic!("{name} is not up: {text}"))
}

fn state_of(pid: u32) -> char {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    text.rsplit_once(") ").unwrap().1.chars().next().unwrap()
}

const BROKEN: &str = "name: broken
check: durability
defaults: {containers: \"r(1,1)\", container_prefix: PREFIX, sizes: c(4)KiB}
stages:
  - {name: init, works: [{type: init, workers: 1}]}
  - {name: prepare, works: [{type: prepare, workers: 4, objects: \"r(1,40)\"}]}
  - name: main
    faults:
      - {name: gone, FAULT, at: 3 objects, repeats: 1}
    works:
      - name: main
        workers: 32
        TOTAL
        interval: 1s
        acceptable_failure_ratio: 1
        rate: {shape: constant, rate: 10/s, when_full: drop}
        operations:
          - {type: read, ratio: 50, objects: \"u(1,40)\"}
          - {type: write, ratio: 50, objects: \"u(41,99)\"}
  - {name: cleanup, works: [{type: cleanup, workers: 4, objects: \"r(1,99)\", acceptable_failure_ratio: 1}]}
  - {name: dispose, works: [{type: dispose, workers: 1, acceptable_failure_ratio: 1}]}
";

fn workload(directory: &Path, fault: &str, total: &str) {
    let text = BROKEN.replace("PREFIX", &own_prefix()).replace("FAULT", fault).replace("TOTAL", total);
    std::fs::write(directory.join("broken.yaml"), text).unwrap();
}

#[test]
#[ignore = "needs testbeds/swift/up"]
fn swift_keeps_all_that_it_acknowledged_while_an_object_server_stands_still_and_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let pid = pid_of("swift", "node3.object-server");
    std::fs::write(path.join("server.pid"), pid.to_string()).unwrap();
    let fault =
        "type: signal, signal: STOP, pid_file: server.pid, children: true, hold: 5s, slot: 12s, keep: 3s";
    workload(path, fault, "total_ops: 220");
    let target = repository().join("testbeds/swift/target.yaml");
    let args = [
        "run",
        "broken.yaml",
        "--target",
        target.to_str().unwrap(),
        "--no-nodes",
        "--quiet",
        "--allow-faults",
    ];
    let (output, record) = run_json(path, &args);
    let slot = &record.stages[2].faults[0].slots[0];
    assert_eq!(slot.void, None, "{slot:?}; {}", stderr(&output));
    assert!(slot.proof.as_ref().is_some_and(|proof| proof.contains("stand still (state T)")), "{slot:?}");
    assert!(slot.landed_s.is_some() && slot.healed_s > slot.heal_s, "{slot:?}");
    assert_ne!(state_of(pid), 'T', "it goes on");
    let durability = &record.durability[0];
    assert_eq!((durability.broken(), durability.undecided), (0, 0), "{durability:?}");
    assert!(durability.right >= 40, "{durability:?}");
    assert_eq!(run(path, &["faults", "list"]).status.code(), Some(0));
}

#[test]
#[ignore = "needs testbeds/versitygw/up"]
fn versitygw_that_a_killed_run_has_paused_answers_again_when_it_is_healed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let bed = repository().join("testbeds/versitygw");
    let pid = pid_of("versitygw", "server");
    let fault = format!(
        "type: bed, bed: {}, verb: pause, target: server, hold: 500s, slot: 510s",
        bed.to_str().unwrap()
    );
    workload(path, &fault, "runtime: 900s");
    let target = bed.join("target.yaml");
    let args = [
        "run",
        "broken.yaml",
        "--target",
        target.to_str().unwrap(),
        "--no-nodes",
        "--quiet",
        "--allow-faults",
    ];
    let mut child = cosmark(path).args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let events = path.join("archive/w1-broken/events.csv");
    let until = Instant::now() + Duration::from_secs(120);
    let proved = || std::fs::read_to_string(&events).is_ok_and(|text| text.contains("gone 1: it is there"));
    while !proved() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    let was_proved = proved();
    child.kill().unwrap();
    child.wait().unwrap();
    let (stood_still, healed) = (state_of(pid) == 'T', run(path, &["faults", "heal"]));
    // Whatever this test says next, the bed is whole for the others.
    assert_eq!(healed.status.code(), Some(0), "{}", stderr(&healed));
    assert!(was_proved && stood_still);
    let said = stdout(&healed);
    assert!(said.contains("faults pause server") && said.contains("is healed by"), "{said}");
    assert_ne!(state_of(pid), 'T');
    let again = run(path, &["faults", "heal"]);
    assert_eq!((again.status.code(), stdout(&again).as_str()), (Some(0), "nothing to heal\n"));
    // It answers, and what the run left in it goes.
    let cleaned = run(path, &["clean", "w1", "--target", target.to_str().unwrap()]);
    assert_eq!(cleaned.status.code(), Some(0), "{}", stderr(&cleaned));
}
