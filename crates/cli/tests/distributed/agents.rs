//! Agents on the store's machines (`cosmark node`), over a real nats-server.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::io::Write as _;
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use cosmark_archive::RunRecord;
use cosmark_metrics::ResourceKind;

use super::bed::{Bed, PATIENCE, Process};
use crate::support::cosmark;

fn agent(bed: &Bed, name: &str, more: &[&str]) -> Process {
    let mut agent = start(bed, name, more);
    agent.wait_for("waits to be asked");
    agent
}

fn start(bed: &Bed, name: &str, more: &[&str]) -> Process {
    let mut command: Command = cosmark(bed.path());
    command.args(["node", "--join", &bed.url(), "--name", name, "--state", "state"]).args(more);
    Process::start(command, bed.path().join(format!("{name}-{}.log", more.len())))
}

/// A closed loop on an adaptor that only waits.
fn workload(bed: &Bed, seconds: u32) {
    let text = format!(
        "name: seen\nstorage: {{type: mock, delay: 5ms}}\nstages:\n  - name: main\n    works:\n      - {{name: main, workers: 2, \
         runtime: {seconds}s, operations: [{{type: read, containers: c(1), objects: c(1)}}]}}\n"
    );
    std::fs::write(bed.path().join("seen.yaml"), text).unwrap();
}

fn record_of(bed: &Bed, run: &mut Process) -> RunRecord {
    assert_eq!(run.wait(), 0, "{}\n{}", run.log(), bed.logs());
    bed.run().record
}

/// Publishes as anybody who reaches this NATS can.
fn publish(bed: &Bed, subject: &str, payload: &[u8]) {
    let mut stream = TcpStream::connect((bed.host.as_str(), bed.port)).unwrap();
    write!(stream, "CONNECT {{\"verbose\":false}}\r\nPUB {subject} {}\r\n", payload.len()).unwrap();
    stream.write_all(payload).unwrap();
    stream.write_all(b"\r\nPING\r\n").unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut said = [0; 4096];
    let mut all = String::new();
    while !all.contains("PONG") {
        let count = std::io::Read::read(&mut stream, &mut said).unwrap();
        assert!(count > 0, "{all}");
        all.push_str(&String::from_utf8_lossy(&said[..count]));
    }
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < until, "never {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_run_sees_the_machines_of_agents_and_one_that_goes_silent_is_a_fact() {
    let mut bed = Bed::new(1);
    let daemons = ["--role", "storage", "--daemons", "nats-server"];
    let (mut stays, mut goes) = (agent(&bed, "stays", &daemons), agent(&bed, "goes", &["--role", "proxy"]));
    workload(&bed, 20);
    let mut run = bed.start_run("seen.yaml", &[]);
    goes.wait_for("reads this machine");
    bed.wait_for_state(0, cosmark_archive::StageState::Running, &mut run);
    goes.signal(libc::SIGSTOP);
    let record = record_of(&bed, &mut run);
    let nodes = &record.stages[0].nodes;
    let of = |name: &str| nodes.iter().find(|node| node.name == name).unwrap();
    let (stayed, gone) = (of("stays"), of("goes"));
    assert_eq!((stayed.role.as_str(), stayed.source.as_str()), ("storage", "agent"));
    assert!(stayed.lost.is_none() && stayed.readings >= 3, "{stayed:?}");
    // It is this machine: the clocks are one, and its processors were seen.
    assert!(stayed.clock_ahead_ms.unwrap().abs() < 1000.0, "{stayed:?}");
    for kind in [ResourceKind::Machine, ResourceKind::Core] {
        assert!(stayed.units.iter().any(|unit| unit.kind == kind), "no {kind:?}: {:?}", stayed.units);
    }
    assert!(gone.lost.as_ref().unwrap().contains("cosmark node --name goes"), "{gone:?}");
    assert!(run.log().contains("looking at 2 nodes") && run.log().contains("stays"), "{}", run.log());
    assert!(bed.run().path.join("nodes.parquet").is_file());
    // Nobody asks any more: it ends by itself.
    stays.wait_for("nobody asks any more");
    goes.signal(libc::SIGCONT);
    stays.signal(libc::SIGTERM);
    assert_eq!(stays.wait(), 0, "{}", stays.log());
}

#[test]
fn an_agent_obeys_controllers_that_it_trusts_and_nobody_else() {
    let mut bed = Bed::new(1);
    let stranger = "UAEKP6HYSVWDHYCMRRPELV7YUG42TW5PL6UPOQKVWTKGMNJEXOIOEXKX";
    let mut obeys = agent(&bed, "obeys", &[]);
    let refuses = agent(&bed, "refuses", &["--trust", &key_of_somebody(stranger)]);
    let mut readings = bed.hear("cosmark.agent.*.reading");
    for payload in [&b""[..], b"read", &[0x81; 500]] {
        publish(&bed, "cosmark.agent.obeys.look", payload);
    }
    obeys.wait_for("not followed");
    workload(&bed, 4);
    let mut run = bed.start_run("seen.yaml", &[]);
    let record = record_of(&bed, &mut run);
    let names: Vec<&str> = record.stages[0].nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["obeys"], "{}", bed.logs());
    assert!(
        run.log().contains("agent refuses is left out: it does not obey this controller"),
        "{}",
        run.log()
    );
    assert!(!refuses.log().contains("reads this machine"), "{}", refuses.log());
    assert!(readings.next().len() <= 256 << 10);
    let mut without = bed.start_run("seen.yaml", &["--no-nodes"]);
    assert_eq!(without.wait(), 0, "{}", without.log());
    assert!(!without.log().contains("looking at"), "{}", without.log());
    // A second agent of a name that is taken does not begin.
    let mut double = start(&bed, "obeys", &["--role", "proxy"]);
    assert_eq!(double.wait(), 2, "{}", double.log());
    assert!(double.log().contains("is there already"), "{}", double.log());
    for (wrong, words) in [
        (&["--role", "a b"][..], "--role a b"),
        (&["--trust", "me"], "not a controller's key"),
        (&["--daemons", "x;y"], "no name of a daemon"),
        (&["--links", "lo"], "is no link and its speed"),
        (&["--filesystems", "data"], "--filesystems: `data` is no directory"),
    ] {
        let mut refused = start(&bed, "wrong", wrong);
        assert_eq!(refused.wait(), 2, "{}", refused.log());
        wait_until("said", || refused.log().contains(words));
    }
}

/// A daemon of Ceph that answers each question with this text.
fn osd(socket: &std::path::Path, text: &'static str) {
    let listener = std::os::unix::net::UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let mut byte = [1];
            while std::io::Read::read_exact(&mut socket, &mut byte).is_ok() && byte != [0] {}
            let length = u32::try_from(text.len()).unwrap().to_be_bytes();
            let _ = socket.write_all(&[&length, text.as_bytes()].concat());
        }
    });
}

#[test]
fn an_agent_has_the_links_and_asks_the_daemons_of_ceph_that_its_operator_names() {
    let mut bed = Bed::new(1);
    let sockets = bed.path().join("sockets");
    std::fs::create_dir(&sockets).unwrap();
    osd(&sockets.join("ceph-osd.7.asok"), "{\"osd\":{\"op_wip\":2}}");
    let named = sockets.display().to_string();
    let options = ["--links", "lo=800Mbit/s", "--ceph-sockets", &named, "--filesystems", "/"];
    let _osds = agent(&bed, "osds", &options);
    workload(&bed, 6);
    let mut run = bed.start_run("seen.yaml", &[]);
    let record = record_of(&bed, &mut run);
    let node = &record.stages[0].nodes[0];
    let mean = |quantity: &str, unit: &str| {
        let own = |one: &&cosmark_metrics::QuantityResult| one.quantity == quantity && one.unit == unit;
        node.quantities.iter().find(own).map(|one| one.mean)
    };
    assert_eq!(mean("network_speed_bytes_per_s", "lo"), Some(1e8), "{node:?}");
    assert_eq!((mean("server_queue", "osd.7"), node.lost.as_deref()), (Some(2.0), None), "{node:?}");
    let room = |quantity: &str| mean(quantity, "/").unwrap_or_default();
    assert!(room("store_free_bytes") > 0.0, "{node:?}");
    assert!(room("store_capacity_bytes") > room("store_free_bytes"), "{node:?}");
}

/// Every machine has more than this share of its disks in use: nothing is left to write.
#[test]
fn a_fill_goes_by_the_file_systems_that_an_agent_reads() {
    let mut bed = Bed::new(1);
    let _reads = agent(&bed, "s1", &["--filesystems", "/"]);
    let text = "name: seen\nstorage: {type: mock}\nstages:\n  - name: fill\n    fill: {dataset: pebbles, to: 0.001 %, objects: 50, \
                sizes: c(1)KB, nodes: s1}\n";
    std::fs::write(bed.path().join("seen.yaml"), text).unwrap();
    let mut run = bed.start_run("seen.yaml", &[]);
    let record = record_of(&bed, &mut run);
    let stage = &record.stages[1];
    let full = stage.fill.as_ref().unwrap().full.clone().unwrap();
    assert!(full.reached && full.before.unwrap() > 1e-5 && full.before.unwrap() < 1.0, "{full:?}");
    assert_eq!(
        stage.operations.iter().map(|operation| operation.ok).sum::<u64>(),
        0,
        "{:?}",
        stage.operations
    );
}

/// A key that has the form of one, of a controller that is not there.
fn key_of_somebody(fallback: &str) -> String {
    cosmark_cluster::nats::Identity::derive(b"somebody", "controller")
        .map_or_else(|_| fallback.to_owned(), |identity| identity.public().to_owned())
}
