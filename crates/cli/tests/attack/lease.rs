//! No load without a living run: drivers that were away over the end of their run, and drivers whose controller is gone for good.
//! A server counts what they send.
use std::path::Path;
use std::time::{Duration, Instant};

use cosmark_archive::{PauseRecord, RunRecord, StageState};

use crate::fleet_bed::{Bed, Namespace, PATIENCE, Process, SlowLogin};
use crate::support::skipped_part;
use crate::table::Attacks;

/// How the run ends while a driver is away.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    ByItself,
    Cancelled,
    Aborted,
}

/// How it is away.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Away {
    /// Its process stands still.
    Stopped,
    /// Its network is cut.
    Cut,
}

const CASES: [(End, Away); 6] = [
    (End::ByItself, Away::Stopped),
    (End::Cancelled, Away::Stopped),
    (End::Aborted, Away::Stopped),
    (End::ByItself, Away::Cut),
    (End::Cancelled, Away::Cut),
    (End::Aborted, Away::Cut),
];

/// `d2` has ten minutes before it, the others as long as the case wants.
fn workload(target: &str, others_s: u32) -> String {
    let work = |name: &str, driver: &str, runtime_s: u32| {
        format!(
            "  - name: {name}\n    workers: 4\n    runtime: {runtime_s}s\n    driver: {driver}\n    pace: {{rate_per_worker: 25/s}}\n    \
             operations:\n    - {{type: write, ratio: 1, containers: c(1), objects: 's(1,100000)', sizes: c(1)KB}}\n"
        )
    };
    format!(
        "name: away\n{target}on_driver_loss: continue\nlost_after: 8s\nstages:\n- name: main\n  works:\n{}{}{}",
        work("one", "d1", others_s),
        work("two", "d2", 600),
        work("three", "d3", others_s)
    )
}

/// One operation at least for each of three drivers.
fn next_workload(target: &str) -> String {
    format!(
        "name: next\n{target}stages:\n- name: main\n  works:\n  - name: main\n    workers: 3\n    total_ops: 30\n    \
         pace: {{rate_per_worker: 20/s}}\n    operations:\n    - {{type: write, ratio: 1, containers: c(1), objects: \
         's(1,100000)', sizes: c(1)KB}}\n"
    )
}

fn record(bed: &Bed, id: &str) -> RunRecord {
    let archive = std::fs::read_dir(bed.path().join("archive")).unwrap().filter_map(Result::ok);
    let mut runs = archive.filter(|entry| entry.file_name().to_string_lossy().starts_with(id));
    let text = std::fs::read_to_string(runs.next().unwrap().path().join("run.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn is_empty(directory: &Path) -> bool {
    std::fs::read_dir(directory).unwrap().next().is_none()
}

fn wait_until(what: &str, bed: &Bed, is_so: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "never {what}:\n{}", bed.logs());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// How many requests have come once no more are on their way: nothing new for a second.
fn settled(login: &SlowLogin) -> u32 {
    let mut last = login.questions();
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let now = login.questions();
        if now == last {
            return now;
        }
        last = now;
    }
}

/// Takes a driver away, ends its run, lets it come back.
fn come_back(number: usize, end: End, away: Away) {
    let what = format!("{end:?}, {away:?}");
    let space = match away {
        Away::Stopped => None,
        Away::Cut => match Namespace::new(10 + number) {
            None => return skipped_part(&what, "no network namespaces here"),
            space => space,
        },
    };
    let mut bed = Bed::at(space.as_ref().map_or("127.0.0.1", |space| &space.address), 1);
    match &space {
        Some(space) => {
            let command = space.command(&bed.driver_command(2, &[]));
            bed.start_driver_by(command, 2);
        }
        None => bed.start_driver(2, &[]),
    }
    bed.start_driver(3, &[]);
    let login = SlowLogin::start(&bed.host);
    login.go_on();
    let others_s = if end == End::ByItself { 12 } else { 600 };
    std::fs::write(bed.path().join("away.yaml"), workload(&login.target(), others_s)).unwrap();
    std::fs::write(bed.path().join("next.yaml"), next_workload(&login.target())).unwrap();
    let mut run = bed.start_run("away.yaml", &[]);
    bed.wait_for_state(0, StageState::Running, &mut run);
    let begun = login.questions();
    wait_until("a hundred requests", &bed, || login.questions() > begun + 100);
    match &space {
        None => {
            // All wait for answers: a process that is stopped in the middle of a request sends it when it goes on.
            login.hold();
            settled(&login);
            bed.drivers[1].signal(libc::SIGSTOP);
            login.go_on();
        }
        Some(space) => space.cut(),
    }
    match end {
        End::ByItself => {}
        End::Cancelled => run.signal(libc::SIGINT),
        End::Aborted => {
            run.signal(libc::SIGINT);
            run.wait_for("Ctrl-C again");
            run.signal(libc::SIGINT);
        }
    }
    run.wait();
    let main = &record(&bed, "w1-").stages[0];
    assert!(main.missing.iter().any(|one| one.driver == "d2"), "{what}: {:?}\n{}", main.missing, bed.logs());
    let kept = bed.path().join("state/drivers/d2/runs");
    assert!(!is_empty(&kept), "{what}: it was in the middle of it");
    if away == Away::Cut {
        // Up to then it has its lease, and may send what it likes when its way to the store is back before the one to NATS.
        bed.drivers[1].wait_for("no more load before it is known that it lives");
    }
    let before = settled(&login);
    match &space {
        None => bed.drivers[1].signal(libc::SIGCONT),
        Some(space) => space.mend(),
    }
    bed.drivers[1].wait_for("is over");
    wait_until("forgotten", &bed, || is_empty(&kept));
    // What the kernel had taken when the cable was cut it delivers when it is mended: one request of each worker at most.
    let on_the_wire = if away == Away::Cut { 4 } else { 0 };
    let sent = settled(&login) - before;
    Attacks::on("lease").judge(
        &format!("a driver is away over the end of its run: {what}"),
        "the store",
        sent <= on_the_wire,
        &format!("{sent} requests after it came back"),
    );
    let mut next = bed.start_run("next.yaml", &["--drivers", "d1,d2,d3"]);
    assert_eq!(next.wait(), 0, "{what}\n{}", bed.logs());
    let of = &record(&bed, "w2-").stages[0].operations[0].drivers;
    let counts: Vec<_> = of.iter().map(|driver| (driver.driver.as_str(), driver.sums.ok)).collect();
    assert_eq!(counts, [("d1", 10), ("d2", 10), ("d3", 10)], "{what}");
}

#[test]
fn a_driver_that_was_away_when_its_run_ended_sends_not_one_request_and_takes_part_in_the_next() {
    let cases = CASES.iter().enumerate().map(|(number, (end, away))| {
        let (end, away) = (*end, *away);
        std::thread::spawn(move || come_back(number, end, away))
    });
    let failed = cases.collect::<Vec<_>>().into_iter().map(|case| case.join()).filter(Result::is_err).count();
    assert_eq!(failed, 0, "see above");
}

/// A controller that is killed, with its drivers in the middle of their load.
fn orphaned(bed: &mut Bed, login: &SlowLogin) -> Process {
    login.go_on();
    std::fs::write(bed.path().join("away.yaml"), workload(&login.target(), 600)).unwrap();
    let mut run = bed.start_run("away.yaml", &[]);
    bed.wait_for_state(0, StageState::Running, &mut run);
    let begun = login.questions();
    wait_until("a hundred requests", bed, || login.questions() > begun + 100);
    run.kill();
    run
}

#[test]
fn drivers_whose_controller_is_gone_for_good_stop_by_themselves_and_are_free() {
    let mut bed = Bed::new(3);
    let login = SlowLogin::start(&bed.host);
    let run = orphaned(&mut bed, &login);
    for driver in &mut bed.drivers {
        driver.wait_for("no more load before it is known that it lives");
    }
    let held = login.questions();
    for driver in &mut bed.drivers {
        driver.wait_for("has stopped by itself");
    }
    // What was on its way when the last of them held: at most one request of each of its workers.
    let ended = settled(&login);
    let said = format!("{} requests after the lease had run out", ended - held);
    Attacks::on("lease").judge("a controller is killed for good", "the store", ended <= held + 12, &said);
    std::fs::write(bed.path().join("next.yaml"), next_workload(&login.target())).unwrap();
    let mut next = bed.start_run("next.yaml", &["--drivers", "d1,d2,d3"]);
    assert_eq!(next.wait(), 0, "{}", bed.logs());
    assert_eq!(record(&bed, "w2-").stages[0].operations[0].ok, 30);
    // Whoever takes the first run up later hears what was done, and that the rest is missing.
    let id = run.log().split("cosmark: run ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let mut again = bed.start_run("away.yaml", &["--take-over", &id]);
    again.wait();
    let main = &record(&bed, "w1-").stages[0];
    assert_eq!(main.missing.len(), 3, "{}", bed.logs());
    assert!(main.operations.iter().all(|operation| operation.ok > 0), "{}", bed.logs());
}

/// One stage of so many operations, 40 of them a second.
fn pause_workload(target: &str, lost_after_s: u32, total_ops: u32) -> String {
    format!(
        "name: pause\n{target}lost_after: {lost_after_s}s\nstages:\n- name: main\n  works:\n  - name: main\n    workers: 4\n    \
         total_ops: {total_ops}\n    pace: {{rate_per_worker: 10/s}}\n    operations:\n    - {{type: write, ratio: 1, \
         containers: c(1), objects: 's(1,100000)', sizes: c(1)KB}}\n"
    )
}

/// Its run, which has begun its load.
fn start_pause(bed: &mut Bed, lost_after_s: u32, total_ops: u32) -> (SlowLogin, Process) {
    let login = SlowLogin::start(&bed.host);
    login.go_on();
    let text = pause_workload(&login.target(), lost_after_s, total_ops);
    std::fs::write(bed.path().join("pause.yaml"), text).unwrap();
    let mut run = bed.start_run("pause.yaml", &[]);
    bed.wait_for_state(0, StageState::Running, &mut run);
    (login, run)
}

/// A machine that is full may hold a driver up for so long that it asks before it goes on: that is no word about its lease.
fn stood_still(pause: &PauseRecord) -> bool {
    pause.reason.contains("stood still")
}

#[test]
fn a_nats_that_is_away_for_less_than_lost_after_changes_nothing() {
    let mut bed = Bed::new(1);
    let (_login, mut run) = start_pause(&mut bed, 60, 1000);
    bed.nats.take().unwrap().kill();
    std::thread::sleep(Duration::from_secs(10));
    bed.start_nats();
    bed.drivers[0].wait_for("NATS is back");
    assert_eq!(run.wait(), 0, "{}", bed.logs());
    assert!(!bed.drivers[0].log().contains("its lease was not renewed"), "{}", bed.logs());
    let main = &record(&bed, "w1-").stages[0];
    assert_eq!(main.operations[0].ok, 1000, "{}", bed.logs());
    assert!(main.missing.is_empty() && main.pauses.iter().all(stood_still), "{main:#?}");
}

#[test]
fn a_nats_that_is_away_for_longer_than_lost_after_is_a_pause() {
    let mut bed = Bed::new(1);
    let (login, mut run) = start_pause(&mut bed, 8, 1200);
    bed.nats.take().unwrap().kill();
    bed.drivers[0].wait_for("no more load before it is known that it lives");
    let held = settled(&login);
    std::thread::sleep(Duration::from_secs(2));
    let said = format!("{} requests while the lease had run out", login.questions() - held);
    Attacks::on("lease").judge(
        "NATS is away for longer than lost_after",
        "the store",
        login.questions() == held,
        &said,
    );
    bed.start_nats();
    assert_eq!(run.wait(), 0, "{}", bed.logs());
    let main = &record(&bed, "w1-").stages[0];
    assert_eq!(main.operations[0].ok, 1200, "{}", bed.logs());
    assert!(main.missing.is_empty() && !main.pauses.is_empty(), "{main:#?}");
    assert!(main.pauses.iter().all(|pause| pause.driver == "d1" && pause.to_s > pause.from_s), "{main:#?}");
    let of_lease = main.pauses.iter().filter(|pause| pause.reason.contains("lease")).count();
    assert!(of_lease == 1 || main.pauses.iter().any(stood_still), "{main:#?}");
}
