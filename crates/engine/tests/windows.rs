//! The measured window against what was planned: a rate is a count over the time in which it could have been more. Each test
//! runs many works beside each other, so that it takes as long as the longest of them.
#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod bed;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cosmark_adaptor_api::clock;
use cosmark_adaptor_api::faulty::{Act, Faulty};
use cosmark_adaptor_api::null::Null;
use cosmark_adaptor_api::{Adaptor, Auth, Error, ErrorKind, OpFuture, Session};
use cosmark_engine::{EngineEvent, Flow, LoadEnd, Mission, MissionTimes, SessionCache, StageShare, start};
use cosmark_metrics::{OpSnapshot, Phase, Sample, SlicePlan};
use cosmark_workload::model::*;
use cosmark_workload::schedule::due_in_window;

use bed::{NoAuth, operation, work};

/// What became of one work.
struct Ended {
    work: Work,
    times: MissionTimes,
    /// Sums of what ended in the window.
    window: OpSnapshot,
    /// And of everything.
    all: OpSnapshot,
    samples: Vec<Sample>,
}

/// A share of a work: its first worker and its workers.
type Share = (Work, u32, u32, Arc<dyn Adaptor>);

fn whole(work: Work, adaptor: impl Adaptor + 'static) -> Share {
    let workers = work.workers;
    (work, 0, workers, Arc::new(adaptor))
}

/// What shares run under.
struct Around {
    auth: Arc<dyn Auth>,
    drain: Duration,
    grace: Option<Duration>,
    may_wait_awake: bool,
}

impl Default for Around {
    fn default() -> Self {
        Self { auth: Arc::new(NoAuth), drain: Duration::from_secs(5), grace: None, may_wait_awake: false }
    }
}

/// Runs shares beside each other on two threads.
fn run(shares: Vec<Share>, meanwhile: impl FnOnce(&Arc<Flow>)) -> Vec<Ended> {
    run_under(shares, Around::default(), meanwhile)
}

fn run_under(shares: Vec<Share>, around: Around, meanwhile: impl FnOnce(&Arc<Flow>)) -> Vec<Ended> {
    let works: Vec<Work> = shares.iter().map(|(work, ..)| work.clone()).collect();
    let missions = (0..).zip(shares).map(|(index, (work, first_worker, workers, adaptor))| Mission {
        index,
        work: Arc::new(work),
        known: Vec::new(),
        first_worker,
        workers,
        seed: u64::from(index) + 1,
        adaptor,
        sessions: SessionCache::new(Arc::clone(&around.auth)),
    });
    let share = StageShare {
        missions: missions.collect(),
        threads: 2,
        log_operations: true,
        drain: around.drain,
        grace: around.grace,
        may_wait_awake: around.may_wait_awake,
        start_ns: None,
    };
    let (sender, mut receiver) = tokio::sync::mpsc::channel(64);
    let flow = Flow::new();
    let handle = start(share, sender, Arc::clone(&flow)).unwrap();
    let count = works.len();
    let reading = std::thread::spawn(move || {
        let nothing = || (OpSnapshot::default(), OpSnapshot::default(), Vec::new());
        let mut told: Vec<_> = (0..count).map(|_| nothing()).collect();
        while let Some(event) = receiver.blocking_recv() {
            match event {
                EngineEvent::Snapshot(slice) => {
                    let (window, all, _) = &mut told[usize::from(slice.work)];
                    all.merge(&slice.ops[0]);
                    if slice.phase == Phase::Window {
                        window.merge(&slice.ops[0]);
                    }
                }
                EngineEvent::Samples { work, samples } => told[usize::from(work)].2.extend(samples),
                EngineEvent::SamplesLost { count } => panic!("{count} samples lost"),
            }
        }
        told
    });
    meanwhile(&flow);
    let times = handle.wait().unwrap().into_iter().map(|(times, _)| times);
    let told = reading.join().unwrap();
    works
        .into_iter()
        .zip(times)
        .zip(told)
        .map(|((work, times), (window, all, samples))| Ended { work, times, window, all, samples })
        .collect()
}

fn ms(number: u64) -> Duration {
    Duration::from_millis(number)
}

fn reads(workers: u32, runtime: Duration, load: Load) -> Work {
    let mut work = work(WorkKind::Normal, workers, vec![operation(OpKind::Read, "c(1)", "c(1)")]);
    (work.runtime, work.load, work.interval) = (runtime, load, ms(200));
    work
}

fn open(arrivals: Arrivals) -> Load {
    Load::Open { arrivals, when_full: WhenFull::Wait }
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, from: u64, to: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        from + (self.0 >> 33) % (to - from + 1)
    }

    /// From `least` on over so many decades.
    fn rate(&mut self, least: f64, decades: f64) -> f64 {
        least * 10_f64.powf(decades * self.throw(0, 1000) as f64 / 1000.0)
    }

    /// Any schedule with an end by time, and ramps around it.
    fn work(&mut self) -> Work {
        let rate_per_s = self.rate(0.1, 3.4);
        let load = match self.throw(0, 7) {
            0 | 1 => open(Arrivals::Constant { rate_per_s }),
            2 => open(Arrivals::Poisson { rate_per_s }),
            3 => open(Arrivals::Ramp { from_per_s: rate_per_s, to_per_s: self.rate(0.1, 2.5) }),
            4 => {
                let length = ms(self.throw(50, 600));
                open(Arrivals::Step { steps: vec![(rate_per_s, length), (self.rate(0.1, 1.5), ms(10_000))] })
            }
            5 => {
                open(Arrivals::Step { steps: vec![(rate_per_s, ms(self.throw(50, 600))), (0.0, ms(10_000))] })
            }
            6 => Load::Paced { think_time: None, rate_per_worker: Some(self.rate(0.1, 2.0)) },
            _ => Load::Paced { think_time: Some(ms(self.throw(20, 900))), rate_per_worker: None },
        };
        let mut work = reads(self.throw(1, 5) as u32, ms(self.throw(300, 1600)), load);
        if self.throw(0, 1) == 1 {
            (work.rampup, work.rampdown) = (ms(self.throw(0, 300)), ms(self.throw(0, 200)));
        }
        work
    }
}

/// How many of these are due before a border and end after it.
fn crossing(samples: &[Sample], border_ns: u64) -> u64 {
    samples.iter().filter(|one| one.due_ns < border_ns && one.end_ns > border_ns).count() as u64
}

/// What ended in the window is what was due in it, less what was still under way at its end, and what was at its start.
fn audit(ended: &Ended, shares_of_it: &str) {
    let Ended { work, times, window, all, samples } = ended;
    let SlicePlan { window_start_ns, window_end_ns, stop_ns, .. } = times.plan;
    assert_eq!(
        (times.end, times.window()),
        (LoadEnd::Planned, work.runtime),
        "{shares_of_it}: {:?}",
        work.load
    );
    let inside = samples.iter().filter(|one| times.plan.phase_at(one.end_ns) == Phase::Window).count() as u64;
    assert_eq!(window.ok, inside, "{:?}", work.load);
    assert!(
        samples.iter().all(|one| one.due_ns < stop_ns),
        "something was due after the end: {:?}",
        work.load
    );
    if matches!(work.load, Load::Open { .. }) {
        let due = samples.iter().filter(|one| times.plan.is_due_in_window(one.due_ns)).count() as u64;
        // On a machine that stands still some arrivals get no worker before the end: they have no sample.
        let late =
            samples.iter().filter(|one| one.due_ns <= window_end_ns && one.end_ns > window_end_ns).count();
        assert_eq!(all.intended, due + all.unfinished - late as u64, "{:?}", work.load);
        let early =
            if window_start_ns > times.plan.start_ns { crossing(samples, window_start_ns) } else { 0 };
        assert_eq!(window.ok + crossing(samples, window_end_ns) - early, due, "{:?}", work.load);
    }
    let ended_ns = window.service.mean_ns().unwrap_or(0.0) * window.service.count() as f64;
    let known_ns = window.in_flight_ns as f64 + window.age_at_start_ns as f64 - window.age_at_end_ns as f64;
    assert!((ended_ns - known_ns).abs() < 1e3, "in flight {known_ns}, in times {ended_ns}: {:?}", work.load);
}

#[test]
fn the_window_of_a_work_with_a_runtime_is_what_was_planned_whatever_its_schedule() {
    let mut dice = Dice(11);
    let works: Vec<Work> = (0..40).map(|_| dice.work()).collect();
    for ended in run(works.into_iter().map(|work| whole(work, Null)).collect(), |_| {}) {
        audit(&ended, "whole");
        let Some(due) = due_in_window(&ended.work) else { continue };
        let told = match ended.work.load {
            Load::Open { .. } => ended.all.intended,
            _ => ended.samples.iter().filter(|one| ended.times.plan.is_due_in_window(one.due_ns)).count()
                as u64,
        };
        let by_chance = if due.spread > 0.0 { 5.0 * due.spread + 1.0 } else { 0.0 };
        if matches!(ended.work.load, Load::Paced { .. }) {
            // Each worker begins at its own moment; one that gets no processor makes less.
            assert!(told as f64 <= due.count + f64::from(ended.work.workers), "{told} of {due:?}");
        } else {
            assert!((told as f64 - due.count).abs() <= by_chance, "{told} of {due:?}: {:?}", ended.work.load);
        }
    }
}

#[test]
fn the_known_cases_of_low_rates_have_the_window_that_was_planned() {
    // A tenth of the seconds in which they were seen: 1/s for 10 s, 0.2/s for 20 s, a step down to 0.1/s, think time 3 s.
    let shares = [
        (ms(1000), open(Arrivals::Constant { rate_per_s: 10.0 }), Some(10)),
        (ms(2000), open(Arrivals::Constant { rate_per_s: 2.0 }), Some(4)),
        (ms(2000), open(Arrivals::Step { steps: vec![(100.0, ms(500)), (1.0, ms(1500))] }), Some(52)),
        (ms(1000), Load::Paced { think_time: Some(ms(300)), rate_per_worker: None }, None),
    ];
    let works =
        shares.iter().map(|(runtime, load, _)| whole(reads(1, *runtime, load.clone()), Null)).collect();
    for (ended, (_, _, due)) in run(works, |_| {}).iter().zip(&shares) {
        audit(ended, "whole");
        assert_eq!(due.unwrap_or(ended.all.intended), ended.all.intended);
        if due.is_none() {
            assert!(ended.window.ok <= 3, "{} operations with pauses of 0.3 s in a second", ended.window.ok);
        }
    }
}

#[test]
fn the_shares_of_several_drivers_have_the_same_window_and_add_up_to_the_schedule() {
    let works = [
        reads(7, ms(1500), open(Arrivals::Constant { rate_per_s: 4.0 })),
        reads(5, ms(1200), open(Arrivals::Step { steps: vec![(60.0, ms(400)), (1.0, ms(800))] })),
        reads(3, ms(900), open(Arrivals::Constant { rate_per_s: 0.1 })),
    ];
    let mut shares: Vec<Share> = Vec::new();
    for work in &works {
        let mut first = 0;
        for driver in 0..3 {
            let workers = work.workers / 3 + u32::from(driver < work.workers % 3);
            shares.push((work.clone(), first, workers, Arc::new(Null)));
            first += workers;
        }
    }
    let ended = run(shares, |_| {});
    for (work, parts) in works.iter().zip(ended.chunks(3)) {
        parts.iter().for_each(|part| audit(part, "a third"));
        let intended: u64 = parts.iter().map(|part| part.all.intended).sum();
        assert_eq!(intended as f64, due_in_window(work).unwrap().count, "{:?}", work.load);
    }
}

#[test]
fn totals_end_the_window_with_their_last_operation_and_the_load_with_them() {
    let limited = |total, load| {
        let mut work = reads(3, ms(60_000), load);
        work.total_ops = Some(total);
        work
    };
    let works = [
        limited(12, open(Arrivals::Constant { rate_per_s: 40.0 })),
        limited(6, Load::Paced { think_time: Some(ms(50)), rate_per_worker: None }),
        limited(500, Load::Closed),
    ];
    let begun_ns = clock::now_ns();
    let all = run(works.into_iter().map(|work| whole(work, Null)).collect(), |_| {});
    let last_stop_ns = all[0].times.plan.stop_ns;
    assert!(
        clock::now_ns() < last_stop_ns,
        "begun at {begun_ns}, nothing was left to do before {last_stop_ns}"
    );
    for ended in all {
        assert_eq!((Some(ended.window.ok), ended.times.end), (ended.work.total_ops, LoadEnd::Done));
        let last_ns = ended.samples.iter().map(|one| one.end_ns).max().unwrap();
        assert_eq!(ended.times.window(), Duration::from_nanos(last_ns - ended.times.plan.window_start_ns));
        assert_eq!(ended.all.unfinished, 0, "what is due after the total was made is no part of the work");
    }
    // A total that the time does not suffice for is no end.
    let short = Work { runtime: ms(400), ..limited(1000, open(Arrivals::Constant { rate_per_s: 20.0 })) };
    audit(&run(vec![whole(short, Null)], |_| {})[0], "whole");
}

#[test]
fn a_stop_ends_the_window_when_it_came_and_not_with_the_last_operation_before_it() {
    let works = [
        reads(1, ms(60_000), open(Arrivals::Constant { rate_per_s: 0.1 })),
        reads(2, ms(60_000), Load::Paced { think_time: Some(ms(20_000)), rate_per_worker: None }),
    ];
    let mut stopped_ns = 0;
    let all = run(works.into_iter().map(|work| whole(work, Null)).collect(), |flow| {
        std::thread::sleep(ms(500));
        flow.finish();
        stopped_ns = flow.stopped_ns().unwrap();
    });
    for ended in all {
        assert_eq!(ended.times.end, LoadEnd::Stopped { at_ns: stopped_ns });
        let since = Duration::from_nanos(stopped_ns - ended.times.plan.window_start_ns);
        assert_eq!(ended.times.window(), since, "{:?}", ended.work.load);
    }
}

#[test]
fn after_a_stop_operations_may_take_as_long_as_it_was_said_and_else_some_seconds() {
    for (grace, unfinished) in [(None, 0), (Some(ms(60_000)), 0), (Some(Duration::ZERO), 2)] {
        let slow = Faulty::new(Null, |_| Act { delay: ms(2_000), ..Act::default() });
        let asked = slow.clone();
        let around = Around { grace, ..Around::default() };
        let ended = run_under(vec![whole(reads(2, ms(600_000), Load::Closed), slow)], around, |flow| {
            let begun = Instant::now();
            while asked.calls() < 2 && begun.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(ms(5));
            }
            flow.finish();
        });
        assert_eq!(
            (ended[0].all.ok > 0, ended[0].all.unfinished),
            (unfinished == 0, unfinished),
            "{grace:?}"
        );
    }
}

#[test]
fn a_few_long_operations_fill_their_window_and_what_was_in_flight_at_its_edges_is_known() {
    let slow = || Faulty::new(Null, |_| Act { delay: ms(350), ..Act::default() });
    let mut ramped = reads(2, ms(800), Load::Closed);
    (ramped.rampup, ramped.rampdown) = (ms(500), ms(100));
    let works = [
        reads(2, ms(1000), Load::Closed),
        ramped,
        reads(4, ms(900), open(Arrivals::Constant { rate_per_s: 5.0 })),
    ];
    for ended in run(works.into_iter().map(|work| whole(work, slow())).collect(), |_| {}) {
        audit(&ended, "whole");
        let Ended { work, times, window, samples, .. } = &ended;
        let SlicePlan { start_ns, window_start_ns, window_end_ns, .. } = times.plan;
        let ages_at = |border_ns: u64| {
            let in_flight = samples.iter().filter(|one| one.sent_ns < border_ns && one.end_ns > border_ns);
            in_flight.map(|one| u128::from(border_ns - one.sent_ns)).sum::<u128>()
        };
        let starts_in_the_middle = window_start_ns > start_ns;
        let at_start_ns = if starts_in_the_middle { ages_at(window_start_ns) } else { 0 };
        assert_eq!((window.age_at_start_ns, window.age_at_end_ns), (at_start_ns, ages_at(window_end_ns)));
        // Who was at work before an edge was so at it, too.
        let is_closed = work.load == Load::Closed;
        let is_at_work_by = |border_ns: u64| is_closed && samples.iter().any(|one| one.sent_ns < border_ns);
        assert!(window.age_at_end_ns > 0 || !is_at_work_by(window_end_ns));
        assert!(window.age_at_start_ns > 0 || !is_at_work_by(window_start_ns) || !starts_in_the_middle);
    }
}

#[test]
fn who_has_done_a_share_of_a_total_waits_for_slower_ones_and_is_not_called_idle() {
    // One operation of forty takes long: three of four workers are done, with ten each, while the fourth waits for it.
    let uneven =
        Faulty::new(Null, |call| Act { delay: ms(if call == 3 { 800 } else { 1 }), ..Act::default() });
    let shared = Work { total_ops: Some(40), ..reads(4, ms(0), Load::Closed) };
    let ended = run(vec![whole(shared, uneven)], |_| {}).remove(0);
    let start_ns = ended.times.plan.window_start_ns;
    let of_worker = |worker| {
        ended.samples.iter().filter(move |one| one.worker == worker).map(|one| one.end_ns - start_ns)
    };
    let last_ns: u128 = (0..4).map(|worker| u128::from(of_worker(worker).max().unwrap())).sum();
    let (window_ns, done_ns) = (ended.times.window().as_nanos(), ended.window.workers_done_at_ns);
    assert_eq!((ended.window.ok, ended.window.workers_done), (40, 4));
    assert!(
        done_ns >= last_ns,
        "done {done_ns} ns after the start, the last operations ended {last_ns} ns after it"
    );
    assert!(done_ns - last_ns < (4 * window_ns - last_ns) / 2, "{done_ns} {last_ns} {window_ns}");
    let result = cosmark_metrics::OperationResult::of(&ended.window, ended.times.window().as_secs_f64());
    let (busy, done) = (result.in_flight_mean.unwrap(), result.workers_done_mean.unwrap());
    assert!(done > 0.0 && busy + done <= 4.001, "{busy} in flight, {done} done");
}

#[test]
fn an_open_loop_has_workers_enough_for_the_last_arrivals_of_its_total_and_misses_none_behind_it() {
    assert!((0..5).any(|_| are_answered_soon()), "five times some had no worker or waited for one");
}

/// False where some were missed or sent late, as a machine that stands still for long does, too.
fn are_answered_soon() -> bool {
    // Four of ten workers on each thread have something to do at any time. Were they always the same, two would be left for
    // the last arrivals, which came in half the time that these two need.
    const DELAY: Duration = Duration::from_millis(300);
    let slow = || Faulty::new(Null, |_| Act { delay: DELAY, ..Act::default() });
    let limited = |when_full| {
        let load = Load::Open { arrivals: Arrivals::Constant { rate_per_s: 23.0 }, when_full };
        Work { total_ops: Some(100), ..reads(20, ms(600_000), load) }
    };
    let works = [WhenFull::Wait, WhenFull::Drop].map(|when_full| whole(limited(when_full), slow()));
    run(works.into(), |_| {}).into_iter().all(|ended| {
        if ended.all.missed > 0 {
            return false;
        }
        assert_eq!((ended.window.ok, ended.times.end), (100, LoadEnd::Done), "{:?}", ended.work.load);
        // How long they took themselves is the machine's affair, where that was more than their delay.
        let delay_ns = DELAY.as_nanos() as u64;
        let took_ns = |one: &Sample| one.end_ns - one.sent_ns;
        let answered_ns = |one: &Sample| one.sent_ns - one.due_ns + took_ns(one).min(delay_ns);
        // Where a thread stood still, what it had in flight took longer by that, and what fell due then was sent late.
        let still_ns = ended.samples.iter().map(|one| took_ns(one).saturating_sub(delay_ns)).max().unwrap();
        ended.samples.iter().map(answered_ns).max().unwrap() < 2 * delay_ns + still_ns
    })
}

#[test]
fn what_is_due_at_the_very_start_finds_its_workers_ready() {
    // Each thread has as many workers as arrivals: on a machine that stands still for all of the time, too, none is dropped.
    let load = Load::Open { arrivals: Arrivals::Constant { rate_per_s: 80.0 }, when_full: WhenFull::Drop };
    for _ in 0..3 {
        let around = Around { may_wait_awake: true, ..Around::default() };
        let work = reads(8, ms(100), load.clone());
        let ended = run_under(vec![whole(work, Null)], around, |_| {}).remove(0);
        assert_eq!((ended.all.missed, ended.all.intended), (0, 8));
    }
}

/// The first login succeeds, and no other one ever ends.
struct OneLogin(AtomicU64);

impl Auth for OneLogin {
    fn login(&self) -> OpFuture<'_, Session> {
        if self.0.fetch_add(1, Ordering::Relaxed) == 0 {
            return Box::pin(std::future::ready(Ok(Session::default())));
        }
        Box::pin(std::future::pending())
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(600)
    }
}

#[test]
fn a_login_that_hangs_holds_up_neither_an_abort_nor_the_end_of_the_run() {
    let expired = || Error::new(ErrorKind::Status(401), "token expired");
    // What a machine needs at most to make ten calls that take nothing.
    for (runtime, aborts) in [(ms(2500), false), (ms(600_000), true)] {
        let adaptor =
            Faulty::new(Null, move |call| Act { error: (call >= 10).then(expired), ..Act::default() });
        let around =
            Around { auth: Arc::new(OneLogin(AtomicU64::new(0))), drain: ms(100), ..Around::default() };
        let begun = Instant::now();
        let asked = adaptor.clone();
        let shares = vec![whole(reads(8, runtime, Load::Closed), adaptor)];
        let ended = run_under(shares, around, |flow| {
            if aborts {
                while asked.calls() <= 10 && begun.elapsed() < Duration::from_secs(60) {
                    std::thread::sleep(ms(5));
                }
                std::thread::sleep(ms(300));
                flow.abort();
            }
        });
        assert_eq!((ended[0].all.ok, ended[0].all.unfinished), (10, 0));
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "the login has ten minutes: {:?}",
            begun.elapsed()
        );
    }
}
