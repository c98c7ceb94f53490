//! Many machines, as processes: a real NATS server, real drivers, a controller. Runs over them have the sums of their drivers'
//! operation logs; whatever dies, nothing hangs, no total is wrong, and what is missing is named.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "a test may stop at a surprise")]

#[path = "distributed/agent_faults.rs"]
mod agent_faults;
#[path = "distributed/agents.rs"]
mod agents;
#[path = "distributed/bed.rs"]
mod bed;
#[path = "distributed/clean.rs"]
mod clean;
#[path = "distributed/clocks.rs"]
mod clocks;
#[path = "distributed/fleet.rs"]
mod fleet;
#[path = "distributed/names.rs"]
mod names;
mod support;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bed::{Bed, Namespace, SlowLogin, assert_sums_are_those_of_the_logs};
use cosmark_archive::{CheckStatus, RunState, StageState};
use cosmark_cluster::nats::{Bus, Limits, NatsOptions};

/// Every kind of stage, on drivers with memory stores of their own: a store that answers to all of them is another process.
const FIVE_STAGES: &str = include_str!("../../../workloads/demo.yaml");

#[test]
fn the_results_of_four_drivers_are_the_sums_of_their_operation_logs() {
    let mut bed = Bed::new(0);
    for (number, zone) in [(1, "zone=a"), (2, "zone=a"), (3, "zone=b"), (4, "zone=b")] {
        bed.start_driver(number, &["--labels", zone]);
    }
    let server = support::Server::start(bed.path(), &[]);
    server.target(bed.path(), None);
    // Far below what the machine can do: the test is about sums.
    let text = FIVE_STAGES.replace("workers: 8\n", "workers: 9\n        pace: {rate_per_worker: 20/s}\n");
    std::fs::write(bed.path().join("demo.yaml"), text).unwrap();
    let mut run = bed.start_run(
        "demo.yaml",
        &["--target", "target.yaml", "--set", "main.runtime=6s", "--set", "cleanup.driver=zone=b"],
    );
    let code = run.wait();
    assert_eq!(code, 0, "{}", bed.logs());
    let run = bed.run();
    assert_eq!(run.record.state, RunState::Finished, "{}", bed.logs());
    assert_sums_are_those_of_the_logs(&run);
    let stage = |name: &str| run.record.stages.iter().find(|stage| stage.name == name).unwrap();
    // Nothing is written twice, nothing is left out, whoever did it.
    assert_eq!(stage("prepare").operations[0].ok, 200);
    let drivers = |name: &str| -> Vec<(String, u32)> {
        let of = &stage(name).operations[0].drivers;
        of.iter().map(|driver| (driver.driver.clone(), driver.workers)).collect()
    };
    let shares =
        [("d1", 3), ("d2", 2), ("d3", 2), ("d4", 2)].map(|(name, workers)| (name.to_owned(), workers));
    assert_eq!(drivers("main"), shares);
    assert_eq!(drivers("cleanup"), [("d3".to_owned(), 2), ("d4".to_owned(), 2)]);
    let main = stage("main");
    assert!(main.missing.is_empty());
    assert_spread_is_that_of_the_drivers(main);
    let clocks: Vec<_> = main.clients.iter().map(|client| client.clock_error_ms.unwrap()).collect();
    assert!(clocks.len() == 4 && clocks.iter().all(|ms| *ms > 0.0), "{clocks:?}");
    // One machine, one clock: what it gained on itself is what the questions leave open.
    for client in &main.clients {
        let (drift, error) = (client.clock_drift_ppm.unwrap(), client.clock_drift_error_ppm.unwrap());
        assert!(drift.abs() <= error && client.clock_offset_after_ms.is_some(), "{client:#?}");
    }
    let checked: Vec<_> =
        run.record.verdict.checks.iter().filter(|check| check.stage.as_deref() == Some("s3-main")).collect();
    for id in ["V15", "V16", "V17"] {
        let check = checked.iter().find(|check| check.id == id).unwrap();
        assert_ne!(check.status, CheckStatus::NotRun, "{id}: {}", check.message);
    }
    // The timeline adds up, too.
    let rows: u64 =
        run.timeline(main).unwrap().iter().flat_map(|row| &row.operations).map(|op| op.count).sum();
    let all = main.operations.iter().map(|op| op.ok).sum::<u64>();
    assert!(rows >= all, "the timeline has the ramps, too: {rows} {all}");
}

/// The spread is from the first worker anywhere to the last one anywhere, its error that of the two clocks.
fn assert_spread_is_that_of_the_drivers(stage: &cosmark_archive::StageRecord) {
    let shown = format!("{stage:#?}");
    let clients = &stage.clients;
    let first = clients.iter().min_by(|a, b| a.began_ms.unwrap().total_cmp(&b.began_ms.unwrap())).unwrap();
    let last =
        clients.iter().max_by(|a, b| a.all_began_ms.unwrap().total_cmp(&b.all_began_ms.unwrap())).unwrap();
    assert!(clients.iter().all(|one| one.began_ms <= one.all_began_ms), "{shown}");
    let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
    assert!(
        near(stage.start_spread_ms.unwrap(), last.all_began_ms.unwrap() - first.began_ms.unwrap()),
        "{shown}"
    );
    if first.driver != last.driver {
        let errors = first.clock_error_ms.unwrap() + last.clock_error_ms.unwrap();
        assert!(near(stage.start_spread_error_ms.unwrap(), errors), "{shown}");
    }
}

#[test]
fn a_driver_that_begins_later_than_it_was_told_shows_in_the_spread() {
    let mut bed = Bed::new(2);
    let text = "name: late\nstorage: {type: mock, delay: 5ms}\nstages:\n- name: main\n  works:\n  - name: main\n    workers: 4\n    \
                runtime: 6s\n    operations:\n    - {type: write, ratio: 1, containers: c(1), objects: 's(1,100)', sizes: c(1)KB}\n";
    std::fs::write(bed.path().join("late.yaml"), text).unwrap();
    let mut is_found = false;
    // Between the word to begin and the beginning lies less than half a second: on a busy machine that may be missed.
    for _ in 0..15 {
        let mut orders = bed.hear("cosmark.run.*.order.d2");
        let mut run = bed.start_run("late.yaml", &[]);
        // To prepare; to begin.
        (0..2).for_each(|_| drop(orders.next()));
        bed.drivers[1].signal(libc::SIGSTOP);
        std::thread::sleep(Duration::from_secs(2));
        bed.drivers[1].signal(libc::SIGCONT);
        assert_eq!(run.wait(), 0, "{}", bed.logs());
        let record = bed.run().record;
        let main = &record.stages[0];
        assert_spread_is_that_of_the_drivers(main);
        let check = record.verdict.checks.iter().find(|check| check.id == "V16").unwrap();
        std::fs::remove_dir_all(bed.path().join("archive")).unwrap();
        if main.start_spread_ms.unwrap() > 1000.0 {
            let late = main.clients.iter().find(|client| client.driver == "d2").unwrap();
            assert!(late.began_ms.unwrap() > 1000.0, "{late:#?}");
            assert_eq!(check.status, CheckStatus::Fail, "{}", check.message);
            assert!(check.message.contains("the last worker began"), "{}", check.message);
            is_found = true;
            break;
        }
    }
    assert!(is_found, "the driver was never stopped in time");
}

/// Operations of the stage in the table of faults, over both drivers.
const TOTAL: u64 = 480;

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// A driver dies and does not come back; the workload says `continue`.
    KillDriver,
    /// The same; the workload says `fail`.
    KillDriverStrictly,
    /// A driver dies and is started again.
    RestartDriver,
    /// The controller dies; another process takes the run up.
    KillController,
    /// NATS dies and is started again.
    KillNats,
    /// A driver stands still for 10 s.
    StopDriver,
    /// A driver's network is cut for 10 s.
    CutNetwork,
}

/// Those that take long first: nothing is left over at the end then.
const FAULTS: [Fault; 7] = [
    Fault::StopDriver,
    Fault::CutNetwork,
    Fault::KillDriver,
    Fault::KillDriverStrictly,
    Fault::RestartDriver,
    Fault::KillController,
    Fault::KillNats,
];

const PHASES: [StageState; 4] =
    [StageState::Authing, StageState::Launching, StageState::Running, StageState::Closing];

fn workload(fault: Fault, target: &str) -> String {
    let loss = if fault == Fault::KillDriverStrictly { "fail" } else { "continue" };
    // Longer than what is away takes to come back on a machine that is full; who stays away is waited for.
    let comes_back =
        matches!(fault, Fault::StopDriver | Fault::CutNetwork | Fault::KillController | Fault::KillNats);
    let lost_after = if comes_back { 40 } else { 8 };
    format!(
        "name: faults\n{target}on_driver_loss: {loss}\nlost_after: {lost_after}s\nstages:\n- name: main\n  works:\n  \
         - name: main\n    workers: 8\n    total_ops: {TOTAL}\n    pace: {{rate_per_worker: 10/s}}\n    interval: 1s\n    \
         operations:\n    - {{type: write, ratio: 1, containers: c(1), objects: 's(1,100000)', sizes: c(1)KB}}\n\
         - name: after\n  works:\n  - name: after\n    workers: 4\n    total_ops: 40\n    operations:\n    \
         - {{type: write, ratio: 1, containers: c(1), objects: 's(1,100000)', sizes: c(1)KB}}\n"
    )
}

/// Makes the fault in the phase and sees the run to its end. Gives what the table says.
fn suffer(fault: Fault, phase: StageState) -> String {
    let space = match fault {
        Fault::CutNetwork => match Namespace::new(PHASES.iter().position(|one| *one == phase).unwrap()) {
            Some(space) => Some(space),
            None => {
                support::skipped_part("CutNetwork", "no network namespaces here");
                return format!(
                    "{:<19} {:<10} SKIPPED: no network namespaces here",
                    "CutNetwork",
                    phase.word()
                );
            }
        },
        _ => None,
    };
    let mut bed = Bed::at(space.as_ref().map_or("127.0.0.1", |space| &space.address), 1);
    match &space {
        Some(space) => {
            let command = space.command(&bed.driver_command(2, &[]));
            bed.start_driver_by(command, 2);
        }
        None => bed.start_driver(2, &[]),
    }
    let login = SlowLogin::start(&bed.host);
    let text = workload(fault, &login.target());
    std::fs::write(bed.path().join("faults.yaml"), text).unwrap();
    let began = Instant::now();
    let mut run = bed.start_run("faults.yaml", &[]);
    bed.wait_for_state(0, StageState::Authing, &mut run);
    if phase != StageState::Authing {
        login.go_on();
    }
    match phase {
        // The end of the load is known to nobody before; this is about it.
        StageState::Closing => {
            bed.wait_for_state(0, StageState::Running, &mut run);
            std::thread::sleep(Duration::from_millis(TOTAL * 1000 / 80));
        }
        phase => bed.wait_for_state(0, phase, &mut run),
    }
    match fault {
        Fault::KillDriver | Fault::KillDriverStrictly => bed.drivers[1].kill(),
        Fault::RestartDriver => {
            bed.drivers[1].kill();
            bed.start_driver(2, &[]);
        }
        Fault::KillController => {
            run.kill();
            let id = run.log().split("cosmark: run ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
            std::thread::sleep(Duration::from_secs(1));
            run = bed.start_run("faults.yaml", &["--take-over", &id]);
        }
        Fault::KillNats => {
            bed.nats.take().unwrap().kill();
            std::thread::sleep(Duration::from_secs(3));
            bed.start_nats();
        }
        Fault::StopDriver => {
            bed.drivers[1].signal(libc::SIGSTOP);
            std::thread::sleep(Duration::from_secs(10));
            bed.drivers[1].signal(libc::SIGCONT);
        }
        Fault::CutNetwork => {
            // A store that was never reached is given up at once, and rightly.
            match phase {
                StageState::Authing => login.wait_for_questions(2),
                StageState::Running => std::thread::sleep(Duration::from_secs(2)),
                _ => {}
            }
            let space = space.as_ref().unwrap();
            space.cut();
            std::thread::sleep(Duration::from_secs(10));
            space.mend();
        }
    }
    login.go_on();
    let code = run.wait();
    let seconds = began.elapsed().as_secs();
    let shown = bed.logs();
    let run = bed.run();
    judge(fault, phase, code, &run, &shown);
    let main = &run.record.stages[0];
    let missing: Vec<String> = main
        .missing
        .iter()
        .map(|one| format!("{} ({} workers) from {:.1} s on", one.driver, one.workers, one.from_s))
        .collect();
    let count = main.operations.first().map_or(0, |operation| operation.ok);
    let missing = if missing.is_empty() { "nothing".to_owned() } else { missing.join(", ") };
    format!(
        "{:<19} {:<10} {:<10} {count:>4} of {TOTAL}   {missing:<32} {seconds:>3} s",
        format!("{fault:?}"),
        phase.word(),
        run.record.state.word()
    )
}

fn judge(fault: Fault, phase: StageState, code: i32, run: &cosmark_archive::Run, shown: &str) {
    let what = format!("{fault:?} in {}\n{shown}", phase.word());
    let main = &run.record.stages[0];
    let count = main.operations.first().map_or(0, |operation| operation.ok);
    assert!(count <= TOTAL, "{what}");
    // Also where another process took the run up, which hears of all that was at its own beginning. When that was written down
    // first is known to the first one alone.
    let entered: Vec<_> = main.history.iter().skip(1).map(|change| change.at).collect();
    assert!(entered.is_sorted() && run.record.started <= run.record.ended, "{:?}\n{what}", main.history);
    let reason = run.record.reason.as_deref().unwrap_or_default();
    match fault {
        // Begun, and cut off before its first operation was answered: that store is given up, with all that was done.
        Fault::CutNetwork if reason.contains("none of the first 10 operations succeeded") => {
            assert_eq!(
                (phase, code, run.record.state),
                (StageState::Launching, 3, RunState::Terminated),
                "{what}"
            );
            let own = main.operations[0].drivers.iter().find(|driver| driver.driver == "d2").unwrap();
            // What was under way then, one operation of each worker, is waited for.
            assert!(own.sums.failed >= 10 && own.sums.ok <= 4, "{what}");
            assert_sums_are_those_of_the_logs(run);
        }
        Fault::KillController | Fault::KillNats | Fault::StopDriver | Fault::CutNetwork => {
            assert_eq!((code, run.record.state), (0, RunState::Finished), "{what}");
            assert!(main.missing.is_empty(), "{what}");
            // Without a network the store cannot be reached either.
            let failed = if fault == Fault::CutNetwork { main.operations[0].failed } else { 0 };
            assert_eq!(count + failed, TOTAL, "{what}");
            assert_sums_are_those_of_the_logs(run);
        }
        Fault::KillDriverStrictly => {
            // At the end the driver may have told everything before it died.
            let told_all = main.state == StageState::Completed && count == TOTAL;
            let refused = code == 1 && reason.contains("d2");
            assert!(told_all || refused, "{what}");
        }
        Fault::KillDriver | Fault::RestartDriver => {
            assert_eq!((code, run.record.state), (0, RunState::Finished), "{what}");
            let lacks = count < TOTAL;
            assert!(count >= TOTAL / 2, "the other driver did its half: {what}");
            assert_eq!(lacks, !main.missing.is_empty(), "what is missing is named: {what}");
            if lacks {
                assert_eq!(main.missing[0].driver, "d2", "{what}");
                assert_eq!(main.missing[0].workers, 4, "{what}");
                let own = main.operations[0].drivers.iter().find(|driver| driver.driver == "d1").unwrap();
                assert_eq!(own.sums.ok, TOTAL / 2, "{what}");
            }
            // The next stage is done by who is left.
            assert_eq!(run.record.stages[1].operations[0].ok, 40, "{what}");
        }
    }
}

/// The next case, and its number.
fn numbered<T: Copy>(cases: &[T], next: &AtomicUsize) -> Option<(usize, T)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    cases.get(at).map(|case| (at, *case))
}

#[test]
fn a_death_of_anything_in_any_phase_hangs_nothing_and_makes_no_total_wrong() {
    let cases: Vec<(Fault, StageState)> =
        FAULTS.iter().flat_map(|fault| PHASES.iter().map(move |phase| (*fault, *phase))).collect();
    // Six at a time: most of a case is waiting.
    let next = AtomicUsize::new(0);
    let rows: Vec<OnceLock<Option<String>>> = cases.iter().map(|_| OnceLock::new()).collect();
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while let Some((at, (fault, phase))) = numbered(&cases, &next) {
                    // In a thread of its own: one that fails ends no other.
                    drop(rows[at].set(std::thread::spawn(move || suffer(fault, phase)).join().ok()));
                }
            });
        }
    });
    let mut failed = 0;
    eprintln!("fault               phase      run        operations   missing                          time");
    for ((fault, phase), row) in cases.iter().zip(&rows) {
        match row.get() {
            Some(Some(row)) => eprintln!("{row}"),
            _ => {
                failed += 1;
                eprintln!("{:<19} {:<10} FAILED, see above", format!("{fault:?}"), phase.word());
            }
        }
    }
    assert_eq!(failed, 0);
}

#[test]
fn drivers_of_another_version_or_a_taken_name_are_refused_and_a_polite_one_deregisters() {
    let mut bed = Bed::new(1);
    // The same name from another state directory is another driver.
    let mut command = support::cosmark(bed.path());
    command.args(["driver", "--join", &bed.url(), "--name", "d1", "--state", "elsewhere", "--no-ceiling"]);
    let second = command.output().unwrap();
    assert_eq!(second.status.code(), Some(2));
    let said = support::stderr(&second);
    assert!(said.contains("d1") && said.contains("--name"), "{said}");
    let second = bed.driver_command(1, &[]).output().unwrap();
    let said = support::stderr(&second);
    assert!(said.contains("runs on this machine already"), "{said}");
    // A driver from the future.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = NatsOptions { url: bed.url(), ..NatsOptions::default() };
        let bus = Bus::connect(&options, "test", Limits::default()).await.unwrap();
        let mut other = bus.registered("d1").await.unwrap().unwrap();
        assert!(other.cores > 0 && other.memory_bytes > 0 && !other.adaptors.is_empty());
        (other.name, other.message_version, other.version) = ("future".into(), 9, "7.0.0".into());
        bus.register(&other).await.unwrap();
    });
    std::fs::write(bed.path().join("w.yaml"), workload(Fault::KillDriver, "storage: {type: none}\n"))
        .unwrap();
    let mut run = bed.start_run("w.yaml", &["--drivers", "future"]);
    assert_eq!(run.wait(), 2);
    let said = run.log();
    let own = format!("this is version {}", cosmark_wire::MESSAGE_VERSION);
    assert!(said.contains("version 9") && said.contains("7.0.0") && said.contains(&own), "{said}");
    let mut run = bed.start_run("w.yaml", &["--drivers", "nobody"]);
    assert_eq!(run.wait(), 2);
    assert!(run.log().contains("no driver nobody has joined; there are: d1, future"), "{}", run.log());
    // Ctrl-C.
    bed.drivers[0].signal(libc::SIGINT);
    assert_eq!(bed.drivers[0].wait(), 0);
    runtime.block_on(async {
        let options = NatsOptions { url: bed.url(), ..NatsOptions::default() };
        let bus = Bus::connect(&options, "test", Limits::default()).await.unwrap();
        assert_eq!(bus.registered("d1").await.unwrap(), None);
    });
    // NATS is away: one sentence.
    bed.nats.take().unwrap().kill();
    let mut run = bed.start_run("w.yaml", &[]);
    assert_eq!(run.wait(), 1);
    assert!(run.log().contains("cannot be reached") && run.log().contains("nats-server"), "{}", run.log());
}

#[test]
fn triggers_and_files_of_a_driver_are_those_that_its_operator_named() {
    let mut bed = Bed::new(0);
    for directory in ["scripts", "files/in"] {
        std::fs::create_dir_all(bed.path().join(directory)).unwrap();
    }
    std::fs::write(bed.path().join("scripts/say.sh"), "echo \"it was told $1\"\n").unwrap();
    std::fs::write(bed.path().join("files/in/one"), "12345").unwrap();
    bed.start_driver(1, &["--scripts", "scripts", "--files", "files"]);
    let text = |directory: &str| {
        format!(
            "name: f\ntrigger: {{script: say.sh, args: [yes]}}\nstorage: {{type: none}}\nstages:\n- name: main\n  works:\n  \
             - name: main\n    workers: 1\n    total_ops: 3\n    operations:\n    - {{type: filewrite, ratio: 1, \
             containers: c(1), files: {directory}}}\n"
        )
    };
    let inside = bed.path().join("files/in");
    std::fs::write(bed.path().join("in.yaml"), text(&inside.display().to_string())).unwrap();
    let mut run = bed.start_run("in.yaml", &[]);
    assert_eq!(run.wait(), 0, "{}", bed.logs());
    let run = bed.run();
    assert_eq!(run.record.stages[0].operations[0].bytes, 15);
    let scripts = std::fs::read_to_string(run.path.join("scripts.log")).unwrap();
    assert!(scripts.contains("it was told yes"), "{scripts}");
    std::fs::write(bed.path().join("out.yaml"), text("/etc")).unwrap();
    let mut run = bed.start_run("out.yaml", &[]);
    assert_eq!(run.wait(), 2, "{}", bed.logs());
    assert!(run.log().contains("not below files, the directory of this driver's --files"), "{}", run.log());
}

#[test]
fn a_mission_needs_no_controller_and_shares_add_up() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("w.yaml"), workload(Fault::KillDriver, "storage: {type: none}\n"))
        .unwrap();
    let mut all = 0;
    for share in ["1/3", "2/3", "3/3"] {
        let output = support::run(
            directory.path(),
            &["driver", "--mission", "w.yaml", "--stage", "after", "--share", share],
        );
        assert!(output.status.success(), "{}", support::stderr(&output));
        let text = support::stdout(&output);
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[0]["event"], "authed");
        assert_eq!(lines.last().unwrap()["event"], "ended");
        let slices = lines.iter().filter(|line| line["event"] == "slice");
        all += slices.map(|slice| slice["operations"][0]["ok"].as_u64().unwrap()).sum::<u64>();
    }
    assert_eq!(all, 40);
    let wrong = support::run(directory.path(), &["driver", "--mission", "w.yaml", "--share", "4/3"]);
    assert_eq!(wrong.status.code(), Some(2));
}
