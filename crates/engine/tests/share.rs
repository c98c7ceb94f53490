//! The engine against stores in memory: stops, counts, windows, seeds, errors. No sockets.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod bed;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cosmark_adaptor_api::faulty::{Act, Faulty};
use cosmark_adaptor_api::mem::Mem;
use cosmark_adaptor_api::null::Null;
use cosmark_adaptor_api::{Adaptor, Error, ErrorKind};
use cosmark_engine::{EngineEvent, Flow, Mission, MissionTimes, SessionCache, StageShare, start};
use cosmark_metrics::{OpSnapshot, Phase, Sample};
use cosmark_workload::model::*;

use bed::{NoAuth, operation, work};

struct Outcome {
    phases: BTreeMap<Phase, Vec<OpSnapshot>>,
    samples: Vec<Sample>,
    times: MissionTimes,
    gave_up: Option<String>,
    examples: Vec<String>,
}

impl Outcome {
    fn all(&self, op: usize) -> OpSnapshot {
        let mut all = OpSnapshot::default();
        self.phases.values().for_each(|ops| all.merge(&ops[op]));
        all
    }

    fn window(&self, op: usize) -> OpSnapshot {
        self.phases.get(&Phase::Window).map(|ops| ops[op].clone()).unwrap_or_default()
    }
}

fn run(work: Work, adaptor: impl Adaptor + 'static) -> Outcome {
    run_with(work, adaptor, 1, 7, |_| {})
}

fn run_with(
    work: Work,
    adaptor: impl Adaptor + 'static,
    threads: usize,
    seed: u64,
    meanwhile: impl FnOnce(&Arc<Flow>),
) -> Outcome {
    let workers = work.workers;
    run_part(work, workers, adaptor, threads, seed, meanwhile)
}

/// The first `workers` of a work; others are elsewhere.
fn run_part(
    work: Work,
    workers: u32,
    adaptor: impl Adaptor + 'static,
    threads: usize,
    seed: u64,
    meanwhile: impl FnOnce(&Arc<Flow>),
) -> Outcome {
    let ops = work.operations.len();
    let mission = Mission {
        index: 0,
        work: Arc::new(work),
        first_worker: 0,
        workers,
        seed,
        adaptor: Arc::new(adaptor),
        sessions: SessionCache::new(Arc::new(NoAuth)),
        known: Vec::new(),
    };
    let share = StageShare {
        missions: vec![mission],
        threads,
        log_operations: true,
        drain: Duration::from_millis(300),
        grace: None,
        may_wait_awake: false,
        start_ns: None,
    };
    let (sender, mut receiver) = tokio::sync::mpsc::channel(64);
    let flow = Flow::new();
    let handle = start(share, sender, Arc::clone(&flow)).unwrap();
    let reading = std::thread::spawn(move || {
        let mut phases: BTreeMap<Phase, Vec<OpSnapshot>> = BTreeMap::new();
        let mut samples = Vec::new();
        while let Some(event) = receiver.blocking_recv() {
            match event {
                EngineEvent::Snapshot(snapshot) => {
                    let sums =
                        phases.entry(snapshot.phase).or_insert_with(|| vec![OpSnapshot::default(); ops]);
                    sums.iter_mut().zip(&snapshot.ops).for_each(|(sum, op)| sum.merge(op));
                }
                EngineEvent::Samples { samples: more, .. } => samples.extend(more),
                EngineEvent::SamplesLost { count } => panic!("{count} samples lost"),
            }
        }
        (phases, samples)
    });
    meanwhile(&flow);
    let (times, examples) = handle.wait().unwrap().remove(0);
    let (phases, samples) = reading.join().unwrap();
    let gave_up = flow.gave_up().map(|reason| reason.error.to_string());
    Outcome {
        phases,
        samples,
        times,
        gave_up,
        examples: examples.into_iter().map(|example| example.text).collect(),
    }
}

#[test]
fn an_uneven_total_is_done_exactly_by_any_number_of_workers_and_threads() {
    for (workers, total, threads) in [(4, 2, 1), (3, 1000, 2), (7, 7, 2), (1, 1, 2), (16, 1001, 2)] {
        let mut work = work(WorkKind::Normal, workers, vec![operation(OpKind::Read, "u(1,3)", "u(1,9)")]);
        work.total_ops = Some(total);
        let outcome = run_with(work, Null, threads, 1, |_| {});
        assert_eq!(outcome.window(0).ok, total, "{workers} workers");
        assert_eq!(outcome.samples.len() as u64, total);
    }
}

#[test]
fn sequential_names_are_each_touched_once_by_a_total_of_their_number() {
    let mut work = work(WorkKind::Normal, 5, vec![operation(OpKind::Write, "c(1)", "s(1,103)")]);
    work.total_ops = Some(103);
    let mem = Mem::new();
    mem.insert("c1", "seed", vec![]);
    let outcome = run_with(work, mem.clone(), 2, 3, |_| {});
    assert_eq!(outcome.window(0).ok, 103);
    assert_eq!(mem.names("c1").len(), 104);
}

#[test]
fn total_bytes_ends_with_the_operation_that_crosses_it() {
    let mut work = work(WorkKind::Normal, 2, vec![operation(OpKind::Write, "c(1)", "s(1,1000)")]);
    work.total_bytes = Some(10_500);
    let mem = Mem::new();
    mem.insert("c1", "seed", vec![]);
    let outcome = run(work, mem);
    assert_eq!(outcome.window(0).bytes, 12_000, "two workers with 5250 bytes each cross it with their sixth");
}

#[test]
fn the_same_seed_asks_for_the_same_things_and_another_does_not() {
    let asked = |seed| {
        let mut first = operation(OpKind::Read, "u(1,50)", "z(1,1000,0.9)");
        first.weight = 70.0;
        let mut second = operation(OpKind::Write, "u(1,5)", "s(1,100)");
        second.weight = 30.0;
        second.sizes = Some("u(1,64)KiB".parse().unwrap());
        let mut work = work(WorkKind::Normal, 3, vec![first, second]);
        work.total_ops = Some(300);
        let outcome = run_with(work, Null, 2, seed, |_| {});
        let mut asked: Vec<_> =
            outcome.samples.iter().map(|s| (s.worker, s.op, s.container, s.object, s.bytes)).collect();
        asked.sort_unstable();
        asked
    };
    assert_eq!(asked(5), asked(5));
    assert_ne!(asked(5), asked(6));
}

#[test]
fn prepare_cleanup_init_and_dispose_walk_everything_once() {
    let mem = Mem::new();
    let init = run(work(WorkKind::Init, 3, vec![operation(OpKind::Init, "r(1,4)", "")]), mem.clone());
    assert_eq!((init.window(0).ok, mem.container_names().len()), (4, 4));
    let mut prepare = operation(OpKind::Prepare, "r(1,4)", "r(1,25)");
    prepare.division = Division::Object;
    let prepared = run_with(work(WorkKind::Prepare, 7, vec![prepare]), mem.clone(), 2, 1, |_| {});
    assert_eq!((prepared.window(0).ok, prepared.window(0).bytes), (100, 100_000));
    assert!((1..=4).all(|container| mem.names(&format!("c{container}")).len() == 25));
    let mut cleanup = operation(OpKind::Cleanup, "r(1,4)", "r(1,25)");
    cleanup.division = Division::Object;
    cleanup.delete_container = true;
    let cleaned = run_with(work(WorkKind::Cleanup, 7, vec![cleanup]), mem.clone(), 2, 1, |_| {});
    assert_eq!(cleaned.window(0).ok, 100);
    assert!(mem.container_names().is_empty(), "the last worker deletes the containers");
    assert!(cleaned.examples.is_empty(), "{:?}", cleaned.examples);
}

#[test]
fn dispose_leaves_a_container_with_strange_objects_alone_unless_told_otherwise() {
    let mem = Mem::new();
    mem.insert("c1", "strange", vec![1]);
    let mut dispose = operation(OpKind::Dispose, "r(1,1)", "");
    let full = run(work(WorkKind::Dispose, 1, vec![dispose.clone()]), mem.clone());
    assert_eq!((full.window(0).failed, mem.names("c1").len()), (1, 1));
    assert!(full.examples[0].contains("emptyContainer=true"), "{:?}", full.examples);
    dispose.empty_container = true;
    let emptied = run(work(WorkKind::Dispose, 1, vec![dispose]), mem.clone());
    assert_eq!((emptied.window(0).ok, mem.container_names().len()), (1, 0));
}

#[test]
fn init_and_dispose_that_are_to_leave_containers_alone_do_nothing() {
    let mem = Mem::new();
    mem.insert("c1", "strange", vec![1]);
    let mut init = operation(OpKind::Init, "r(1,3)", "");
    init.create_container = false;
    let made = run(work(WorkKind::Init, 2, vec![init]), mem.clone());
    assert_eq!((made.all(0).ok, made.all(0).failed, mem.container_names().len()), (0, 0, 1));
    let mut dispose = operation(OpKind::Dispose, "r(1,3)", "");
    (dispose.delete_container, dispose.empty_container) = (false, true);
    let left = run(work(WorkKind::Dispose, 2, vec![dispose]), mem.clone());
    assert_eq!((left.all(0).ok, left.all(0).failed, mem.names("c1").len()), (0, 0, 1));
}

#[test]
fn a_cleanup_empties_its_containers_only_where_that_is_asked_for_and_counts_those_that_stay() {
    let full = || {
        let mem = Mem::new();
        for container in ["c1", "c2"] {
            for object in ["o1", "o2", "strange"] {
                mem.insert(container, object, vec![1]);
            }
        }
        mem
    };
    let mut cleanup = operation(OpKind::Cleanup, "r(1,2)", "r(1,2)");
    cleanup.division = Division::Object;
    cleanup.delete_container = true;
    let cleaning = |cleanup: &Operation| work(WorkKind::Cleanup, 2, vec![cleanup.clone()]);
    let mem = full();
    let left = run(cleaning(&cleanup), mem.clone());
    assert_eq!((left.window(0).ok, left.window(0).failed), (4, 2), "{:?}", left.examples);
    assert_eq!((mem.names("c1"), mem.names("c2")), (vec!["strange".to_owned()], vec!["strange".to_owned()]));
    assert!(left.examples[0].contains("emptyContainer=true"), "{:?}", left.examples);
    // Another driver has its objects still to delete: nobody's failure.
    let part = run_part(cleaning(&cleanup), 1, full(), 1, 7, |_| {});
    assert_eq!((part.window(0).ok, part.window(0).failed, part.examples.len()), (2, 0, 2));
    cleanup.empty_container = true;
    let mem = full();
    let emptied = run(cleaning(&cleanup), mem.clone());
    assert_eq!((emptied.window(0).ok, emptied.window(0).failed), (4, 0), "{:?}", emptied.examples);
    assert!(mem.container_names().is_empty(), "{:?}", mem.container_names());
}

#[test]
fn a_container_that_a_cleanup_cannot_delete_as_its_listing_is_behind_is_no_failure() {
    let mut cleanup = operation(OpKind::Cleanup, "r(1,1)", "r(1,3)");
    cleanup.delete_container = true;
    for (strange, failed) in [(false, 0), (true, 1)] {
        let mem = Mem::new();
        ["o1", "o2", "o3"].iter().for_each(|object| mem.insert("c1", object, vec![1]));
        if strange {
            mem.insert("c1", "strange", vec![1]);
        }
        // The three objects, then the container.
        let refused = || Error::new(ErrorKind::Status(409), "it is not empty");
        let late = move |call: u64| Act { error: (call == 3).then(refused), ..Act::default() };
        let outcome = run(work(WorkKind::Cleanup, 1, vec![cleanup.clone()]), Faulty::new(mem, late));
        assert_eq!((outcome.window(0).ok, outcome.window(0).failed), (3, failed), "{:?}", outcome.examples);
        assert!(outcome.examples[0].contains("emptyContainer=true"), "{:?}", outcome.examples);
    }
}

#[test]
fn ramps_stay_outside_the_window() {
    let mut work = work(WorkKind::Normal, 4, vec![operation(OpKind::Read, "c(1)", "c(1)")]);
    // Longer than a busy machine holds a thread up.
    let each = Duration::from_millis(1500);
    (work.rampup, work.runtime, work.rampdown) = (each, each, each);
    let adaptor = Faulty::new(Null, |_| Act { delay: Duration::from_millis(5), ..Act::default() });
    let outcome = run(work, adaptor);
    let plan = outcome.times.plan;
    assert_eq!(outcome.times.window(), each);
    for (phase, from, to) in [
        (Phase::Rampup, plan.start_ns, plan.window_start_ns),
        (Phase::Window, plan.window_start_ns, plan.window_end_ns),
        (Phase::Rampdown, plan.window_end_ns, plan.stop_ns),
    ] {
        let inside = outcome.samples.iter().filter(|s| s.end_ns > from && s.end_ns <= to).count() as u64;
        let counted = outcome.phases.get(&phase).map_or(0, |ops| ops[0].ok);
        assert_eq!(counted, inside, "{phase:?}");
        // A thread without a processor in all of a phase had four operations in flight, or had not begun.
        let lasting = outcome.samples.iter().filter(|s| s.sent_ns <= from && s.end_ns > to).count();
        let is_late = outcome.samples.iter().all(|s| s.sent_ns > to);
        assert!(counted > 0 || lasting == 4 || is_late, "{phase:?}: {lasting} operations lasted all of it");
    }
    let crossing = |s: &&Sample| s.due_ns <= plan.window_end_ns && s.end_ns > plan.window_end_ns;
    assert_eq!(outcome.all(0).unfinished, outcome.samples.iter().filter(crossing).count() as u64);
    let in_flight: u128 = outcome.window(0).in_flight_ns;
    let first_ns = outcome.samples.iter().map(|s| s.sent_ns).min().unwrap().max(plan.window_start_ns);
    let little = in_flight as f64 / (plan.window_end_ns - first_ns) as f64;
    assert!(little > 3.0 && little <= 4.0, "four workers had {little} operations in flight on average");
}

#[test]
fn a_hanging_call_is_cut_at_its_time_limit_and_counted_as_timeout() {
    let mut work = work(WorkKind::Normal, 2, vec![operation(OpKind::Read, "c(1)", "c(1)")]);
    work.total_ops = Some(20);
    let adaptor = Faulty::new(Null, |call| Act { hang: call % 5 == 4, ..Act::default() })
        .with_timeout(Duration::from_millis(50));
    let outcome = run(work, adaptor);
    assert_eq!((outcome.window(0).ok, outcome.window(0).failed), (16, 4));
    assert_eq!(
        outcome.window(0).errors.iter().map(|(e, n)| (e.label(), *n)).collect::<Vec<_>>(),
        [("timeout".into(), 4)]
    );
    assert!(outcome.examples[0].contains("50ms"));
}

#[test]
fn a_store_that_hangs_while_containers_are_made_or_deleted_does_not_hang_the_run() {
    let hanging = |call: u64| Act { hang: call == 0, ..Act::default() };
    let mut prepare = operation(OpKind::Prepare, "r(1,1)", "r(1,3)");
    prepare.create_container = true;
    let adaptor = Faulty::new(Mem::new(), hanging).with_timeout(Duration::from_millis(50));
    let outcome = run(work(WorkKind::Prepare, 1, vec![prepare]), adaptor);
    assert_eq!((outcome.window(0).ok, outcome.window(0).failed), (2, 1), "{:?}", outcome.examples);
    let mut cleanup = operation(OpKind::Cleanup, "r(1,1)", "r(1,3)");
    cleanup.delete_container = true;
    let last = |call: u64| Act { hang: call == 3, ..Act::default() };
    let adaptor = Faulty::new(Mem::new(), last).with_timeout(Duration::from_millis(50));
    let outcome = run(work(WorkKind::Cleanup, 1, vec![cleanup]), adaptor);
    assert_eq!((outcome.window(0).ok, outcome.window(0).failed), (3, 1), "{:?}", outcome.examples);
    assert!(outcome.examples[0].contains("within 50ms"), "{:?}", outcome.examples);
}

#[test]
fn a_store_that_hangs_at_the_end_does_not_hang_the_run() {
    let mut work = work(WorkKind::Normal, 3, vec![operation(OpKind::Read, "c(1)", "c(1)")]);
    // What a machine needs at most to make thirty calls that take nothing.
    work.runtime = Duration::from_millis(2500);
    let adaptor = Faulty::new(Null, |call| Act { hang: call >= 30, ..Act::default() });
    let outcome = run(work, adaptor);
    assert_eq!(outcome.all(0).ok, 30);
    assert_eq!(outcome.all(0).unfinished, 3);
    assert_eq!(outcome.all(0).failed, 0, "an operation that we cut at the end is not the store's failure");
    let given_up = outcome.samples.iter().filter(|one| one.outcome.label() == "given_up");
    assert_eq!((outcome.samples.len(), given_up.count()), (33, 3), "but the log has it");
}

/// Waits until the store was asked so often, by whichever workers.
fn until_called(store: &Faulty<Null>, times: u64) {
    let begun = Instant::now();
    while store.calls() < times {
        assert!(begun.elapsed() < Duration::from_secs(60), "{} of {times} calls", store.calls());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn finishing_lets_operations_end_and_aborting_does_not() {
    let endless = || {
        let mut work = work(WorkKind::Normal, 2, vec![operation(OpKind::Read, "c(1)", "c(1)")]);
        work.runtime = Duration::from_secs(600);
        work
    };
    let slow = Faulty::new(Null, |_| Act { delay: Duration::from_millis(100), ..Act::default() });
    let asked = slow.clone();
    let finished = run_with(endless(), slow, 1, 1, |flow| {
        until_called(&asked, 6);
        flow.finish();
    });
    assert_eq!(finished.all(0).unfinished, 0);
    assert!(finished.all(0).ok >= 6);
    let hanging = Faulty::new(Null, |_| Act { hang: true, ..Act::default() });
    let asked = hanging.clone();
    let begun = Instant::now();
    let aborted = run_with(endless(), hanging, 1, 1, |flow| {
        until_called(&asked, 2);
        flow.abort();
    });
    assert_eq!(aborted.all(0).unfinished, 2);
    assert!(begun.elapsed() < Duration::from_secs(60), "it would have run for ten minutes");
}

#[test]
fn a_mission_that_never_succeeds_is_given_up_with_its_reason() {
    let mut work = work(WorkKind::Normal, 4, vec![operation(OpKind::Read, "c(1)", "c(1)")]);
    work.runtime = Duration::from_secs(600);
    let refused = || Error::new(ErrorKind::Connect, "nothing listens at 127.0.0.1:9");
    let outcome = run(work, Faulty::new(Null, move |_| Act { error: Some(refused()), ..Act::default() }));
    assert_eq!(outcome.gave_up.as_deref(), Some("nothing listens at 127.0.0.1:9"));
    assert!(outcome.all(0).failed < 10_000, "nobody answers: the workers slow down");
}

#[test]
fn failures_beside_successes_do_not_stop_a_mission() {
    let mut work = work(WorkKind::Normal, 2, vec![operation(OpKind::Read, "c(1)", "c(1)")]);
    work.total_ops = Some(1000);
    let busy = || Error::new(ErrorKind::Status(503), "slow down").with_code("SlowDown");
    let adaptor = Faulty::new(Null, move |call| Act { error: (call % 4 == 0).then(busy), ..Act::default() });
    let outcome = run(work, adaptor);
    let window = outcome.window(0);
    assert_eq!((window.ok, window.failed, window.codes["SlowDown"]), (750, 250, 250));
    assert_eq!((window.service.count(), window.failed_service.count()), (750, 250));
    assert_eq!(outcome.gave_up, None);
}

#[test]
fn a_401_renews_the_session_once_for_all_workers_and_is_counted() {
    let mut work = work(WorkKind::Normal, 8, vec![operation(OpKind::Read, "c(1)", "c(1)")]);
    work.total_ops = Some(800);
    let expired = || Error::new(ErrorKind::Status(401), "token expired");
    let adaptor = Faulty::new(Null, move |call| Act { error: (call == 400).then(expired), ..Act::default() });
    let outcome = run(work, adaptor);
    assert_eq!((outcome.all(0).ok, outcome.all(0).failed, outcome.all(0).renewals), (799, 1, 1));
}

#[test]
fn written_objects_verify_and_damaged_ones_are_corrupt() {
    let mem = Mem::new();
    mem.insert("c1", "seed", vec![]);
    let mut write = operation(OpKind::Write, "c(1)", "s(1,20)");
    write.sizes = Some("u(1,40)KB".parse().unwrap());
    let mut writing = work(WorkKind::Normal, 2, vec![write]);
    writing.total_ops = Some(20);
    run(writing, mem.clone());
    let mut damaged = mem.content("c1", "o7").unwrap().to_vec();
    damaged[500] ^= 1;
    mem.insert("c1", "o7", damaged);
    let mut read = operation(OpKind::Read, "c(1)", "s(1,20)");
    read.verify = true;
    let mut reading = work(WorkKind::Normal, 2, vec![read]);
    reading.total_ops = Some(20);
    let outcome = run(reading, mem);
    assert_eq!((outcome.window(0).ok, outcome.window(0).failed), (19, 1));
    assert!(outcome.examples[0].contains("c1/o7"), "{:?}", outcome.examples);
}

#[test]
fn hash_check_guards_what_it_wrote_and_finds_damage() {
    let mem = Mem::new();
    mem.insert("c1", "seed", vec![]);
    let mut write = operation(OpKind::Write, "c(1)", "s(1,4)");
    write.hash_check = true;
    let mut writing = work(WorkKind::Normal, 1, vec![write]);
    writing.total_ops = Some(4);
    run(writing, mem.clone());
    let mut damaged = mem.content("c1", "o2").unwrap().to_vec();
    assert_eq!(damaged.len(), 1000);
    damaged[5] ^= 1;
    mem.insert("c1", "o2", damaged);
    mem.insert("c1", "o3", vec![1; 1000]);
    let mut read = operation(OpKind::Read, "c(1)", "s(1,4)");
    read.hash_check = true;
    let mut reading = work(WorkKind::Normal, 1, vec![read]);
    reading.total_ops = Some(4);
    let outcome = run(reading, mem);
    assert_eq!((outcome.window(0).ok, outcome.window(0).failed), (3, 1), "no guard is no failure");
}

#[test]
fn files_are_sent_in_order_of_their_names() {
    let directory = tempfile::tempdir().unwrap();
    for (name, size) in [("b", 20), ("a", 10), ("c", 0)] {
        std::fs::write(directory.path().join(name), vec![7; size]).unwrap();
    }
    std::fs::create_dir(directory.path().join("d")).unwrap();
    let mem = Mem::new();
    mem.insert("c1", "seed", vec![]);
    let mut write = operation(OpKind::FileWrite, "c(1)", "");
    write.files = Some(directory.path().to_str().unwrap().into());
    let mut work = work(WorkKind::Normal, 1, vec![write]);
    work.total_ops = Some(3);
    let outcome = run(work, mem.clone());
    assert_eq!((outcome.window(0).ok, outcome.window(0).bytes), (3, 30));
    assert_eq!(mem.names("c1"), ["a", "b", "c", "seed"]);
}

#[test]
fn local_write_writes_files_of_the_chosen_size() {
    let directory = tempfile::tempdir().unwrap();
    let mut write = operation(OpKind::LocalWrite, "c(1)", "s(1,3)");
    write.files = Some(directory.path().to_str().unwrap().into());
    let mut work = work(WorkKind::Normal, 2, vec![write]);
    work.total_ops = Some(3);
    let outcome = run(work, Null);
    assert_eq!((outcome.window(0).ok, outcome.window(0).bytes), (3, 3000));
    assert_eq!(std::fs::metadata(directory.path().join("c1/o3")).unwrap().len(), 1000);
}

#[test]
fn an_open_loop_sends_every_arrival_and_counts_response_from_due() {
    let mut work = work(WorkKind::Normal, 1, vec![operation(OpKind::Read, "c(1)", "c(1)")]);
    // A second's arrivals, and the time that a busy machine takes for them.
    (work.runtime, work.total_ops) = (Duration::from_secs(600), Some(200));
    work.load = Load::Open { arrivals: Arrivals::Constant { rate_per_s: 200.0 }, when_full: WhenFull::Wait };
    // The first call stalls: with one worker, arrivals queue up behind it.
    let adaptor = Faulty::new(Null, |call| Act {
        delay: if call == 0 { Duration::from_millis(300) } else { Duration::ZERO },
        ..Act::default()
    });
    let outcome = run_with(work, adaptor, 2, 1, |_| {});
    let all = outcome.all(0);
    assert_eq!((all.ok, all.intended, all.unfinished, outcome.samples.len()), (200, 200, 0, 200));
    assert!(all.delayed >= 55, "{} arrivals came during the stall", all.delayed);
    let response_p90 = all.response.quantile_ns(0.75).unwrap();
    let service_p90 = all.service.quantile_ns(0.75).unwrap();
    assert!(response_p90 > 20 * service_p90, "{response_p90} ns from due, {service_p90} ns from sent");
    let gaps = outcome.samples.windows(2).all(|pair| pair[1].due_ns - pair[0].due_ns == 5_000_000);
    assert!(gaps, "due times are the schedule, whatever happened");
}

#[test]
fn an_open_loop_may_drop_arrivals_and_then_counts_them_as_missed() {
    let mut work = work(WorkKind::Normal, 1, vec![operation(OpKind::Read, "c(1)", "c(1)")]);
    work.runtime = Duration::from_secs(1);
    work.load = Load::Open { arrivals: Arrivals::Constant { rate_per_s: 100.0 }, when_full: WhenFull::Drop };
    let adaptor = Faulty::new(Null, |_| Act { delay: Duration::from_millis(100), ..Act::default() });
    let outcome = run(work, adaptor);
    let all = outcome.all(0);
    // What ended after the window is in both counts, what was cut at the end of all is among the unfinished alone.
    let end_ns = outcome.times.plan.window_end_ns;
    let late = outcome.samples.iter().filter(|s| s.end_ns > end_ns && s.outcome.is_ok()).count() as u64;
    assert_eq!(all.ok + all.missed + all.unfinished - late, 100);
    assert!(all.missed >= 80, "{} of 100 were missed", all.missed);
}

#[test]
fn an_overloaded_open_loop_says_how_many_were_left() {
    let mut work = work(WorkKind::Normal, 1, vec![operation(OpKind::Read, "c(1)", "c(1)")]);
    work.runtime = Duration::from_secs(1);
    work.load = Load::Open { arrivals: Arrivals::Constant { rate_per_s: 100.0 }, when_full: WhenFull::Wait };
    let adaptor = Faulty::new(Null, |_| Act { delay: Duration::from_millis(20), ..Act::default() });
    let outcome = run(work, adaptor);
    assert_eq!(outcome.window(0).ok + outcome.all(0).unfinished, 100);
    assert!(outcome.all(0).unfinished >= 45, "{}", outcome.all(0).unfinished);
}

#[test]
fn a_paced_closed_loop_keeps_its_rate_per_worker() {
    let mut work = work(WorkKind::Normal, 4, vec![operation(OpKind::Read, "c(1)", "c(1)")]);
    // A second's operations, and the time that a busy machine takes for them.
    (work.runtime, work.total_ops) = (Duration::from_secs(600), Some(200));
    work.load = Load::Paced { think_time: None, rate_per_worker: Some(50.0) };
    let outcome = run(work, Null);
    assert_eq!(outcome.window(0).ok, 200);
    assert!(outcome.samples.iter().all(|s| s.sent_ns >= s.due_ns), "nothing is sent early");
    for worker in 0..4 {
        let due: Vec<u64> = outcome.samples.iter().filter(|s| s.worker == worker).map(|s| s.due_ns).collect();
        assert!(due.len() == 50 && due.windows(2).all(|pair| pair[1] - pair[0] == 20_000_000), "{due:?}");
    }
}
