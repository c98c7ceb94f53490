//! Faults that agents make (`cosmark node --faults`), over a real nats-server: made and healed for a run by their names
//! alone, and healed whatever is killed.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cosmark_archive::{EventKind, FaultInForce, FaultJournal, Heal};

use super::bed::{Bed, PATIENCE, Process};
use crate::support::{cosmark, key_of_controllers, stdout};

/// Allows one fault: a file that is there.
fn allow(bed: &Bed) {
    let at = |name: &str| bed.path().join(name).display().to_string();
    let text = format!(
        "faults:\n  - name: file there\n    type: command\n    inject: echo x >>{made}; touch {there}\n    heal: rm -f {there}\n    \
         proof: test -e {there} && echo it lies there\n    whole: test ! -e {there}\n    longest: 10m\n    within: 20s\n",
        made = at("made"),
        there = at("there")
    );
    let path = bed.path().join("faults.yaml");
    fs::write(&path, text).unwrap();
    // Whatever the mask of who runs this lets a group do.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn start(bed: &Bed, name: &str, log: &str) -> Process {
    let mut command: Command = cosmark(bed.path());
    command.args([
        "node",
        "--join",
        &bed.url(),
        "--name",
        name,
        "--state",
        "state",
        "--faults",
        "faults.yaml",
        "--trust",
        &key_of_controllers(&bed.path().join(".state/cosmark")),
    ]);
    Process::start(command, bed.path().join(format!("{log}.log")))
}

fn agent(bed: &Bed, log: &str) -> Process {
    let mut agent = start(bed, "s1", log);
    agent.wait_for("waits to be asked");
    agent
}

/// A load of writes with one fault by an agent.
fn workload(bed: &Bed, fault: &str, runtime_s: u32) {
    let text = format!(
        "name: broken\nstorage: {{type: mock, delay: 2ms}}\nstages:\n  - name: main\n    faults:\n      - {{name: gone, type: agent, \
         {fault}, repeats: 1}}\n    works:\n      - {{name: main, workers: 4, runtime: {runtime_s}s, interval: 1s, \
         rate: 100/s, operations: [{{type: write, containers: c(1), objects: u(1,99), sizes: c(1)KB}}]}}\n"
    );
    fs::write(bed.path().join("broken.yaml"), text).unwrap();
}

fn eventually(what: &str, logs: impl Fn() -> String, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < until, "never {what}\n{}", logs());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// What is asked while it is there has time for that on a machine that is full, and so has the agent for what follows.
/// Before it begins there are no seconds in which such a machine could make the rate fall, which would make it void.
const IN_TIME: &str = "agent: s1, fault: file there, at: 5 objects, hold: 12s, slot: 26s";

#[test]
fn a_run_has_a_fault_made_by_the_name_that_an_agents_operator_gave_it() {
    let mut bed = Bed::new(1);
    allow(&bed);
    let there = bed.path().join("there");
    workload(&bed, IN_TIME, 55);
    for (said, words) in [
        (bed.start_run("broken.yaml", &[]), "there is no agent s1"),
        (bed.start_run("broken.yaml", &["--wait-for-drivers", "1s"]), "cosmark node --name s1 --faults FILE"),
    ] {
        let mut refused = said;
        assert_eq!(refused.wait(), 2, "{}", refused.log());
        assert!(refused.log().contains(words), "{}", refused.log());
    }
    let mut agent = agent(&bed, "s1");
    for (fault, words) in [
        ("agent: s1, fault: rm -rf, at: 5 objects, hold: 3s, slot: 4s", "allowed are: file there"),
        ("agent: s1, fault: file there, at: 5 objects, hold: 11m, slot: 12m", "at most"),
        ("agent: s2, fault: file there, at: 5 objects, hold: 3s, slot: 4s", "there is no agent s2"),
    ] {
        workload(&bed, fault, 900);
        let mut refused = bed.start_run("broken.yaml", &[]);
        assert_eq!(refused.wait(), 2, "{fault}: {}", refused.log());
        assert!(refused.log().contains(words), "{fault}: {}", refused.log());
    }
    assert!(!bed.path().join("made").exists());
    workload(&bed, IN_TIME, 55);
    let mut run = bed.start_run("broken.yaml", &[]);
    eventually("made", || bed.logs(), || there.exists());
    let list = || {
        let mut command = cosmark(bed.path());
        command.args(["faults", "list", "--nats", &bed.url()]).output().unwrap()
    };
    let held = list();
    assert_eq!(held.status.code(), Some(4), "{}", stdout(&held));
    assert!(stdout(&held).contains("s1 holds file there for run w1 (gone 1)"), "{}", stdout(&held));
    assert_eq!(run.wait(), 0, "{}\n{}", run.log(), bed.logs());
    assert!(!there.exists());
    assert_eq!(fs::read_to_string(bed.path().join("made")).unwrap().lines().count(), 1);
    let events = bed.run().events().unwrap();
    let said =
        |words: &str| events.iter().any(|event| event.kind == EventKind::Fault && event.text.contains(words));
    for words in ["gone 1: file there by agent s1", "gone 1: it is there: s1: ", "gone 1: healed"] {
        assert!(said(words), "{words}: {events:?}");
    }
    let record = bed.run().record;
    let slot = &record.stages[0].faults[0].slots[0];
    assert_eq!(slot.void, None, "{slot:?}");
    assert!(said("gone 1: redundancy is whole again"), "the agent's own question: {events:?}");
    let free = list();
    assert_eq!(free.status.code(), Some(0), "{}", stdout(&free));
    assert!(stdout(&free).contains("s1 holds nothing; its operator allows: file there"), "{}", stdout(&free));
    agent.signal(libc::SIGTERM);
    assert_eq!(agent.wait(), 0, "{}", agent.log());
    assert!(agent.log().contains("made file there for run w1") && agent.log().contains("healed file there"));
}

#[test]
fn what_an_agent_made_is_healed_whatever_is_killed() {
    let mut bed = Bed::new(4);
    allow(&bed);
    workload(&bed, "agent: s1, fault: file there, at: 5 objects, hold: 500s, slot: 510s", 900);
    let there = bed.path().join("there");
    let mut agent = agent(&bed, "s1");
    // The run is killed: the agent hears nothing of it any more.
    let mut first = bed.start_run("broken.yaml", &["--drivers", "d1"]);
    eventually("made", || bed.logs(), || there.exists());
    let mut second = bed.start_run("broken.yaml", &["--drivers", "d2"]);
    second.wait_for("it holds file there for run w1 (gone 1)");
    assert!(there.exists(), "who is refused heals nothing");
    second.signal(libc::SIGINT);
    second.wait();
    assert!(there.exists(), "{}", bed.logs());
    first.kill();
    eventually("healed", || bed.logs(), || !there.exists());
    agent.wait_for("nothing was heard of its run");
    // The agent is ended, and then killed: it heals, and then its guardian does.
    for (driver, number, why) in
        [("d3", libc::SIGTERM, "the agent ends"), ("d4", libc::SIGKILL, "healed by its guardian")]
    {
        let mut run = bed.start_run("broken.yaml", &["--drivers", driver]);
        eventually("made", || bed.logs(), || there.exists());
        eventually("written down", || bed.logs(), || run.log().contains("gone 1: it is there"));
        agent.signal(number);
        agent.wait();
        eventually("healed", || bed.logs(), || !there.exists());
        agent = self::agent(&bed, driver);
        run.signal(libc::SIGINT);
        assert_eq!(run.wait(), 5, "{}", run.log());
        // The next start of the agent says what became of the fault, and nothing is written down as in force.
        let log = run.log();
        assert!(log.contains("before its run asked for it, says agent s1: ") && log.contains(why), "{log}");
        assert!(!log.contains("COULD NOT BE HEALED") && !log.contains("IT IS NOT KNOWN"), "{log}");
        // What the run that was killed had left is asked after by the next one.
        let is_first = driver == "d3";
        assert_eq!(
            log.contains("s ago, says agent s1: it was healed already, because nothing"),
            is_first,
            "{log}"
        );
        for place in ["state/agents/s1", "archive"] {
            let mut command = cosmark(bed.path());
            let listed = command.args(["faults", "list", "--archive", place]).output().unwrap();
            assert!(listed.status.success(), "{place}: {}", stdout(&listed));
        }
    }
    assert!(!there.exists());
}

#[test]
fn an_agent_that_is_started_again_is_asked_on_whether_all_is_whole() {
    let mut bed = Bed::new(1);
    allow(&bed);
    let (file, mended) = (bed.path().join("faults.yaml"), bed.path().join("mended"));
    let text = fs::read_to_string(&file).unwrap();
    let there = format!("test ! -e {}", bed.path().join("there").display());
    assert!(text.contains(&there), "{text}");
    fs::write(&file, text.replace(&there, &format!("test -e {}", mended.display()))).unwrap();
    workload(&bed, "agent: s1, fault: file there, at: 5 objects, hold: 6s, slot: 60s", 90);
    let mut agent = agent(&bed, "s1");
    let mut run = bed.start_run("broken.yaml", &[]);
    run.wait_for("gone 1: healed");
    agent.kill();
    let mut next = self::agent(&bed, "next");
    fs::write(&mended, "").unwrap();
    run.wait_for("gone 1: redundancy is whole again");
    next.signal(libc::SIGTERM);
    assert_eq!(next.wait(), 0, "{}", next.log());
    run.signal(libc::SIGINT);
    run.wait();
}

#[test]
fn an_agent_that_does_not_start_heals_what_an_earlier_one_left_and_says_what_is_wrong() {
    let bed = Bed::new(0);
    let there = bed.path().join("there");
    let own = bed.path().join("state/agents/s1");
    fs::create_dir_all(&own).unwrap();
    let leave = || {
        fs::write(&there, "").unwrap();
        let heal = Heal::Command {
            words: ["rm", "there"].map(str::to_owned).to_vec(),
            directory: bed.path().to_owned(),
            within: Duration::from_secs(30),
            proof: None,
        };
        let mut left = FaultInForce::made_here("w1", "s1-main", "gone 1", "x", heal);
        left.process.started_ticks = left.process.started_ticks.map(|ticks| ticks + 1);
        FaultJournal::of(&own).note(&left).unwrap();
    };
    let path = bed.path().join("faults.yaml");
    for (number, (text, words)) in [
        (
            "faults:\n- {name: a, type: proxy, of: 'h:1', stall: true, longest: 1m}\n",
            "line 2: an agent makes no fault",
        ),
        ("faults:\n- {name: a, type: signal, signal: STOP, process: x}\n", "needs `longest`"),
        ("faults: []\n", "names no faults"),
    ]
    .into_iter()
    .enumerate()
    {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        leave();
        let mut refused = start(&bed, "s1", &format!("wrong{number}"));
        assert_eq!(refused.wait(), 2, "{}", refused.log());
        assert!(refused.log().contains(words), "{words}: {}", refused.log());
        assert!(
            !there.exists() && refused.log().contains("w1 s1-main gone 1 (x) is healed by"),
            "{}",
            refused.log()
        );
    }
    // A file that is gone, and nobody's key.
    allow(&bed);
    let key = key_of_controllers(&bed.path().join(".state/cosmark"));
    for (options, words) in [
        (&["--faults", "none.yaml", "--trust", key.as_str()][..], "none.yaml"),
        (&["--faults", "faults.yaml"][..], "say whose by --trust KEY"),
    ] {
        leave();
        let mut command = cosmark(bed.path());
        command.args(["node", "--join", &bed.url(), "--name", "s1", "--state", "state"]).args(options);
        let refused = command.output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!((refused.status.code(), there.exists()), (Some(2), false), "{said}");
        assert!(said.contains(words), "{said}");
    }
    // NATS is away.
    leave();
    let mut command = cosmark(bed.path());
    command.args(["node", "--join", "nats://127.0.0.1:1", "--name", "s1", "--state", "state"]);
    let mut agent = Process::start(command, bed.path().join("away.log"));
    eventually("healed", || agent.log(), || !there.exists());
    agent.kill();
}

/// Requests about faults to agent s1 that nobody signed, and some under the name of its controller, thousands in a second, as
/// anybody who reaches this NATS can send them; until `stop`.
fn flood(bed: &Bed, stop: &AtomicBool) -> u64 {
    let mut stream = TcpStream::connect((bed.host.as_str(), bed.port)).unwrap();
    write!(stream, "CONNECT {{\"verbose\":false}}\r\n").unwrap();
    let key = key_of_controllers(&bed.path().join(".state/cosmark"));
    let (stolen, noise) = ([key.as_bytes(), &[7_u8; 300][..]].concat(), [b'x'; 200]);
    let mut block = Vec::new();
    for at in 0..100 {
        let payload = if at % 4 == 0 { &stolen[..] } else { &noise[..] };
        write!(block, "PUB cosmark.agent.s1.fault {}\r\n", payload.len()).unwrap();
        block.extend_from_slice(payload);
        block.extend_from_slice(b"\r\n");
    }
    let mut sent = 0;
    while !stop.load(Ordering::Relaxed) && stream.write_all(&block).is_ok() {
        sent += 100;
        std::thread::sleep(Duration::from_millis(25));
    }
    sent
}

#[test]
fn a_flood_of_requests_that_nobody_signed_keeps_no_fault_from_being_made_and_healed() {
    let mut bed = Bed::new(1);
    allow(&bed);
    workload(&bed, "agent: s1, fault: file there, at: 5 objects, hold: 4s, slot: 20s", 50);
    let agent = agent(&bed, "s1");
    let (stop, there) = (AtomicBool::new(false), bed.path().join("there"));
    let mut run = bed.start_run("broken.yaml", &[]);
    let sent = std::thread::scope(|scope| {
        let flooding = scope.spawn(|| flood(&bed, &stop));
        let until = Instant::now() + PATIENCE;
        while !run.log().contains("gone 1: healed") && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(50));
        }
        stop.store(true, Ordering::Relaxed);
        flooding.join().unwrap()
    });
    run.wait();
    assert!(run.log().contains("gone 1: healed"), "{}\n{}", run.log(), agent.log());
    let record = bed.run().record;
    let slot = &record.stages[0].faults[0].slots[0];
    assert!(slot.landed_s.is_some() && slot.void.is_none(), "{slot:?}\n{}\n{}", run.log(), agent.log());
    // It was to be there for 4 s, and its slot lasts 20.
    assert!(slot.healed_s.unwrap() - slot.from_s < 18.0, "{slot:?}");
    assert!(!there.exists() && sent > 1000, "{sent}");
    assert!(agent.log().contains("not followed"), "{}", agent.log());
}

#[test]
fn a_killed_run_that_is_ended_has_what_its_agent_says_of_its_fault() {
    let mut bed = Bed::new(1);
    allow(&bed);
    workload(&bed, "agent: s1, fault: file there, at: 5 objects, hold: 500s, slot: 510s", 900);
    let there = bed.path().join("there");
    let agent = agent(&bed, "s1");
    let mut run = bed.start_run("broken.yaml", &[]);
    run.wait_for("gone 1: it is there");
    run.kill();
    eventually("healed", || bed.logs(), || !there.exists());
    // Later than the agent healed it: what it says counts from when it is asked.
    std::thread::sleep(Duration::from_secs(3));
    let mut command = cosmark(bed.path());
    let recovered = command.args(["recover", "w1", "--nats", &bed.url()]).output().unwrap();
    assert!(recovered.status.success(), "{}\n{}", stdout(&recovered), agent.log());
    let record = bed.run().record;
    let fault = &record.stages[0].faults[0];
    let slot = &fault.slots[0];
    assert!(fault.remarks.iter().any(|one| one.contains("s ago, says agent s1: ")), "{fault:?}");
    assert!(slot.void.is_some() && slot.healed_s > slot.landed_s, "{slot:?}");
    // Nothing is written down as in force any more.
    let mut command = cosmark(bed.path());
    let listed = command.args(["faults", "list", "--archive", "archive"]).output().unwrap();
    assert!(listed.status.success(), "{}", stdout(&listed));
}
