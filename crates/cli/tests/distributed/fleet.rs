//! Many drivers in one process against one controller.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

use std::time::{Duration, Instant};

use cosmark_archive::{Run, RunState};
use cosmark_cluster::nats::{Bus, Limits, NatsOptions, names};

use crate::bed::{Bed, PATIENCE, Process, assert_sums_are_those_of_the_logs};
use crate::support::{self, cosmark};

const DRIVERS: u64 = 20;
/// Operations of each.
const EACH: u64 = 40;

/// One process that joins as all of them.
fn start_copies(bed: &Bed, copies: u64) -> Process {
    let mut command = cosmark(bed.path());
    command.args(["driver", "--join", &bed.url(), "--name", "d", "--copies", &copies.to_string()]);
    command.args(["--state", "state", "--threads", "1", "--no-ceiling"]);
    let drivers = Process::start(command, bed.path().join("copies.log"));
    let until = Instant::now() + PATIENCE;
    while drivers.log().matches("is registered").count() < usize::try_from(copies).unwrap() {
        assert!(Instant::now() < until, "not all register:\n{}", drivers.log());
        std::thread::sleep(Duration::from_millis(50));
    }
    drivers
}

fn assert_everything_was_told(run: &Run) {
    assert_eq!(run.record.state, RunState::Finished);
    let main = &run.record.stages[0];
    assert!(main.missing.is_empty());
    let operation = &main.operations[0];
    assert_eq!((operation.ok, operation.failed), (DRIVERS * EACH, 0));
    let own: Vec<_> = operation.drivers.iter().map(|one| (one.workers, one.sums.ok)).collect();
    assert_eq!(own, vec![(1, EACH); usize::try_from(DRIVERS).unwrap()]);
    assert_eq!(main.clients.len(), own.len());
    assert_sums_are_those_of_the_logs(run);
    // What was written while the load was on adds up, too.
    let rows: u64 =
        run.timeline(main).unwrap().iter().flat_map(|row| &row.operations).map(|op| op.count).sum();
    assert_eq!(rows, DRIVERS * EACH);
}

/// What waits to be heard: messages of the run in NATS, and what drivers keep for it on their disks.
fn backlog(bed: &Bed, bus: &Bus, runtime: &tokio::runtime::Runtime) -> (u64, usize) {
    let in_nats = runtime.block_on(async {
        let mut stream = bus.jetstream().get_stream(names::RUNS).await.unwrap();
        stream.info().await.unwrap().state.messages
    });
    let runs = |number| {
        let directory = bed.path().join(format!("state/drivers/d-{number}/runs"));
        std::fs::read_dir(directory).unwrap().count()
    };
    (in_nats, (1..=DRIVERS).map(runs).sum())
}

#[test]
fn twenty_drivers_of_one_process_do_exactly_what_was_ordered_and_leave_no_backlog() {
    let mut bed = Bed::new(0);
    let mut drivers = start_copies(&bed, DRIVERS);
    let text = format!(
        "name: fleet\nstorage: {{type: none}}\nstages:\n- name: main\n  works:\n  - name: main\n    workers: {DRIVERS}\n    \
         total_ops: {}\n    pace: {{rate_per_worker: 10/s}}\n    interval: 1s\n    operations:\n    \
         - {{type: read, ratio: 1, containers: c(1), objects: 'u(1,100)'}}\n",
        DRIVERS * EACH
    );
    std::fs::write(bed.path().join("fleet.yaml"), text).unwrap();
    let mut run = bed.start_run("fleet.yaml", &[]);
    assert_eq!(run.wait(), 0, "{}", bed.logs());
    assert_everything_was_told(&bed.run());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let options = NatsOptions { url: bed.url(), ..NatsOptions::default() };
    let bus = runtime.block_on(Bus::connect(&options, "test", Limits::default())).unwrap();
    let until = Instant::now() + PATIENCE;
    while backlog(&bed, &bus, &runtime) != (0, 0) {
        let left = backlog(&bed, &bus, &runtime);
        assert!(Instant::now() < until, "messages in NATS, runs on disks: {left:?}\n{}", bed.logs());
        std::thread::sleep(Duration::from_millis(50));
    }
    // One of the names is taken: nobody joins, and who has joined leaves.
    let mut command = cosmark(bed.path());
    command.args(["driver", "--join", &bed.url(), "--name", "d", "--copies", "3", "--no-ceiling"]);
    command.args(["--state", "elsewhere"]);
    let second = command.output().unwrap();
    assert_eq!(second.status.code(), Some(2), "{}", support::stderr(&second));
    assert!(support::stderr(&second).contains("a driver called d-"), "{}", support::stderr(&second));
    drivers.signal(libc::SIGINT);
    assert_eq!(drivers.wait(), 0, "{}", drivers.log());
}
