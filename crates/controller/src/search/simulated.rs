//! Whole searches on virtual time: trials of stores whose answer is known, with noise that resembles itself from one second
//! to the next, heavy tails, and a client that pauses. What is called settled has to be right.

use std::sync::Arc;

use cosmark_metrics::OpSnapshot;
use cosmark_stats::batches::Batches;
use cosmark_stats::bootstrap::Random;
use cosmark_stats::special::{normal_cdf, normal_quantile};
use cosmark_workload::model::Stage;
use cosmark_workload::search::{Loads, Over, Search};
use cosmark_workload::{Environment, Format, parse};

use super::client::{ClientState, Delays};
use super::machine::{Answer, Machine, Purpose};
use super::trial::{judged, judged_with};
use crate::thresholds::Measured;

const TRIAL_S: f64 = 20.0;
const BATCHES: usize = 20;

fn stage() -> Arc<Stage> {
    let text = "name: x\nstorage: {type: mock}\nstages:\n  - name: main\n    thresholds: [p95 <= 200 ms]\n    works:\n      \
                - {name: main, workers: 500, runtime: 20s, rate: 1/s, operations: [{type: read, containers: c(1), objects: c(1)}]}\n";
    let (workload, mistakes) = parse(text, Format::Yaml, &Environment::default());
    Arc::new(workload.unwrap_or_else(|| panic!("{mistakes:?}")).stages.remove(0))
}

/// Box and Muller's.
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}

/// Response times in ms with their moments in s, as a trial.
fn trial(times: &[(f64, f64)], intended: usize) -> Measured {
    let mut batches = Batches::new((TRIAL_S * 1e9) as u64 / BATCHES as u64);
    let in_time = times.iter().filter(|(end_s, _)| *end_s < TRIAL_S);
    let mut op = OpSnapshot { intended: intended as u64, ..OpSnapshot::default() };
    for (end_s, ms) in in_time {
        // Steps of 2 % keep the test quick; on which side of the limit a time lies stays.
        let step = (0.02 * ((ms / 200.0).ln() / 0.02).ceil()).exp();
        batches.add_one((end_s * 1e9) as u64, (step * 200.0 * 1e6) as u64);
        op.ok += 1;
    }
    for (end_s, ms) in times.iter().filter(|(end_s, ms)| *end_s >= TRIAL_S && end_s - ms / 1e3 < TRIAL_S) {
        op.unfinished += 1;
        op.unfinished_age.record(((TRIAL_S - (end_s - ms / 1e3)) * 1e9) as u64);
    }
    Measured::new(vec![(TRIAL_S, vec![op])], vec![vec![batches]])
}

/// Runs a search; `law` makes a trial at a load.
fn found(search: &Search, mut law: impl FnMut(f64) -> (Measured, ClientState)) -> (Answer, usize) {
    let stage = stage();
    let mut machine = Machine::new(search);
    let (mut made, mut pooled, mut seen) = (0, Measured::default(), ClientState::default());
    while let Some(request) = machine.next() {
        made += 1;
        if made > search.max_trials as usize {
            let answer = machine.answer();
            return (Answer { unsettled: Some("too many trials".to_owned()), ..answer }, made);
        }
        if request.purpose != Purpose::Again {
            (pooled, seen) = (Measured::default(), ClientState::default());
        }
        let (last, client) = law(request.load);
        let all = client.clone().or_worse(&seen);
        let mut both = pooled.clone();
        both.append(&last);
        let judged = judged_with(&stage, "s1-main", (&both, &all), (&last, &client), None);
        if judged.pools {
            (pooled, seen) = (both, all);
        }
        machine.record(judged.outcome, request.load);
    }
    (machine.answer(), made)
}

/// How many searches settled, how many of them hold the truth, and how many trials one took.
fn coverage(seeds: u64, truth: (f64, f64), mut one: impl FnMut(u64) -> (Answer, usize)) -> (u64, u64, f64) {
    let (mut settled, mut right, mut trials) = (0, 0, 0);
    for seed in 0..seeds {
        let (answer, made) = one(seed);
        trials += made;
        if answer.unsettled.is_some() {
            continue;
        }
        settled += 1;
        let holds = answer.best.is_some_and(|best| best <= truth.1)
            && answer.missed_at.is_some_and(|missed| missed >= truth.0);
        right += u64::from(holds);
    }
    (settled, right, trials as f64 / seeds as f64)
}

/// A store whose response times are log-normal, in bursts of seconds that resemble each other, and whose median rises with the
/// load: 5 % are beyond 200 ms at exactly 200/s.
fn noisy(load: f64, burst: f64, random: &mut Random) -> Measured {
    const WITHIN: f64 = 0.6;
    let whole = (WITHIN * WITHIN + burst * burst).sqrt();
    let median = 200.0_f64.ln() - normal_quantile(0.95) * whole + 3.0 * (load / 200.0).ln();
    let count = (load * TRIAL_S) as usize;
    let mut state = normal(random);
    let mut times = Vec::with_capacity(count);
    for k in 0..count {
        let at_s = k as f64 / load;
        if k > 0 && at_s.floor() > ((k - 1) as f64 / load).floor() {
            state = 0.6 * state + 0.8 * normal(random);
        }
        times.push((at_s, (median + burst * state + WITHIN * normal(random)).exp()));
    }
    trial(&times, count)
}

#[test]
fn what_is_settled_holds_the_truth_although_seconds_resemble_each_other() {
    for (burst, width, seeds, least) in [(0.0, 0.2, 100, 50), (0.3, 0.5, 60, 20)] {
        let (settled, right, _) = coverage(seeds, (200.0, 200.0), |seed| {
            let mut random = Random::new(seed);
            let mut search = Search::new(Over::Rate, Loads::Between(40.0, 1000.0));
            search.width = width;
            found(&search, |load| (noisy(load, burst, &mut random), ClientState::default()))
        });
        assert!(settled >= least, "burst {burst}: {settled}");
        assert!(right * 100 >= settled * 95, "burst {burst}: {right} of {settled}");
    }
}

#[test]
fn a_trial_that_is_all_wrong_now_and_then_does_not_settle_a_wrong_answer() {
    // One trial in eight is bad as a whole: the machine, the network, a neighbour. Nothing inside the trial tells.
    let (settled, right, _) = coverage(100, (200.0, 200.0), |seed| {
        let mut random = Random::new(1000 + seed);
        let mut search = Search::new(Over::Rate, Loads::Between(40.0, 1000.0));
        search.width = 0.4;
        found(&search, |load| {
            let bad = if random.unit() < 0.125 { 2.0 } else { 1.0 };
            (noisy(load * bad, 0.2, &mut random), ClientState::default())
        })
    });
    assert!(settled >= 30 && right * 100 >= settled * 95, "{right} of {settled}");
}

/// Four servers, first come first served, 200/s, service times with a heavy tail, and a client that pauses.
struct Queue {
    servers: [f64; 4],
    /// Sigma of the log-normal service times.
    sigma: f64,
    /// Pauses of the client per second, and the shortest of them in s; Pareto with 1.5.
    pauses: (f64, f64),
}

const MEAN_S: f64 = 0.020;

impl Queue {
    fn new(sigma: f64, pauses: (f64, f64)) -> Self {
        Self { servers: [0.0; 4], sigma, pauses }
    }

    fn serve(&mut self, sent_s: f64, random: &mut Random) -> f64 {
        let service = (MEAN_S.ln() - self.sigma * self.sigma / 2.0 + self.sigma * normal(random)).exp();
        let free = self.servers.iter_mut().reduce(|a, b| if *b < *a { b } else { a }).unwrap();
        *free = free.max(sent_s) + service;
        *free
    }

    /// A trial with 5 s of rampup.
    fn trial(&mut self, load: f64, random: &mut Random) -> (Measured, ClientState) {
        const RAMPUP_S: f64 = 5.0;
        self.servers = [0.0; 4];
        let (mut times, mut intended, mut late) = (Vec::new(), 0, Vec::new());
        let (mut lost_s, mut longest_s, mut pauses) = (0.0, 0.0_f64, Vec::new());
        let (mut due_s, mut next_pause_s, mut paused_until_s) = (0.0, f64::INFINITY, 0.0_f64);
        if self.pauses.0 > 0.0 {
            next_pause_s = -random.unit().ln() / self.pauses.0;
        }
        while due_s < RAMPUP_S + TRIAL_S {
            due_s += -(1.0 - random.unit()).ln() / load;
            while next_pause_s <= due_s {
                let length_s = (self.pauses.1 * (1.0 - random.unit()).powf(-1.0 / 1.5)).min(3.0);
                paused_until_s = paused_until_s.max(next_pause_s + length_s);
                pauses.push((next_pause_s, paused_until_s));
                if next_pause_s > RAMPUP_S && length_s >= 0.010 {
                    lost_s += length_s;
                    longest_s = longest_s.max(length_s);
                }
                next_pause_s -= random.unit().ln() / self.pauses.0;
            }
            let sent_s = due_s.max(paused_until_s);
            let end_s = self.serve(sent_s, random);
            let in_window = (RAMPUP_S..RAMPUP_S + TRIAL_S).contains(&due_s);
            intended += usize::from(in_window);
            if in_window {
                late.push((sent_s - due_s) * 1e3);
            }
            times.push((due_s, end_s));
        }
        // What comes back in a pause is seen at its end.
        let seen_s = |end_s: f64| {
            let before = pauses.partition_point(|(from_s, _)| *from_s <= end_s);
            before.checked_sub(1).and_then(|last| pauses.get(last)).map_or(end_s, |last| end_s.max(last.1))
        };
        let times =
            times.into_iter().map(|(due_s, end_s)| (seen_s(end_s) - RAMPUP_S, (seen_s(end_s) - due_s) * 1e3));
        let times: Vec<(f64, f64)> = times.filter(|(end_s, _)| *end_s >= 0.0).collect();
        late.sort_by(f64::total_cmp);
        let at = |share: f64| late.get(((1.0 - share) * late.len() as f64) as usize).copied().unwrap_or(0.0);
        let lags = [0.5, 0.2, 0.1, 0.05, 0.01, 0.0].map(|share| (share, at(share))).to_vec();
        let mean = |values: &mut dyn ExactSizeIterator<Item = f64>| {
            let count = values.len().max(1) as f64;
            values.sum::<f64>() / count
        };
        let delays = Delays {
            underway_ms: mean(&mut times.iter().map(|(_, ms)| *ms)),
            lag_mean_ms: mean(&mut late.iter().copied()),
            lags,
        };
        let client = ClientState {
            lost: (lost_s / TRIAL_S, "paused"),
            longest_ms: Some(longest_s * 1e3),
            operations: vec![delays],
            ..ClientState::default()
        };
        (trial(&times, intended), client)
    }

    /// The load at which 5 % take longer than 200 ms in the long run, without any pause.
    fn knee(sigma: f64) -> f64 {
        let mut random = Random::new(99);
        let (mut low, mut high) = (50.0, 200.0);
        for _ in 0..9 {
            let load = f64::midpoint(low, high);
            let (mut queue, mut due_s, mut beyond) = (Queue::new(sigma, (0.0, 0.0)), 0.0, 0);
            const COUNT: usize = 60_000;
            for _ in 0..COUNT {
                due_s += -(1.0 - random.unit()).ln() / load;
                beyond += usize::from(queue.serve(due_s, &mut random) - due_s > 0.2);
            }
            if beyond * 20 <= COUNT { low = load } else { high = load }
        }
        f64::midpoint(low, high)
    }
}

fn queue_coverage(sigma: f64, pauses: (f64, f64), width: f64, seeds: u64, least: u64) {
    // A trial is finite: between the knee in the long run and the capacity either answer is right.
    let truth = (Queue::knee(sigma), 1.0 / MEAN_S * 4.0);
    let (settled, right, _) = coverage(seeds, truth, |seed| {
        let mut random = Random::new(2000 + seed);
        let mut queue = Queue::new(sigma, pauses);
        let mut search = Search::new(Over::Rate, Loads::Between(30.0, 1000.0));
        search.width = width;
        found(&search, |load| queue.trial(load, &mut random))
    });
    assert!(settled >= least, "{settled} of {seeds} settled");
    assert!(right * 100 >= settled * 95, "{right} of {settled} hold {truth:?}");
}

#[test]
fn the_capacity_of_a_queue_with_a_heavy_tail_is_held_by_what_is_settled() {
    queue_coverage(1.5, (0.0, 0.0), 0.6, 50, 15);
}

#[test]
fn a_client_that_pauses_does_not_make_the_store_look_slower() {
    queue_coverage(0.5, (0.2, 0.05), 0.15, 50, 15);
    // So bad that hardly anything can be said: then it is not said.
    queue_coverage(0.5, (2.0, 0.1), 0.15, 20, 0);
}

#[test]
fn a_client_that_never_has_its_processor_for_long_still_finds_the_capacity() {
    // A busy machine: five pauses every second, 5 ms or a little longer; a twelfth of the time is lost.
    queue_coverage(0.5, (5.0, 0.005), 0.3, 15, 5);
}

#[test]
fn trials_too_short_by_themselves_are_put_together_on_a_busy_machine_too() {
    // 80 requests in each trial, of which a p95 needs 200; the client is paused for a twentieth of the time.
    let busy = || ClientState {
        lost: (0.05, "paused"),
        longest_ms: Some(100.0),
        operations: vec![Delays { underway_ms: 20.0, ..Delays::default() }],
        ..ClientState::default()
    };
    let mut search = Search::new(Over::Rate, Loads::Steps(vec![4.0]));
    search.confirm = 0;
    let mut random = Random::new(5);
    let (answer, made) = found(&search, |load| (noisy(load, 0.0, &mut random), busy()));
    assert_eq!((answer.best, made), (Some(4.0), 3), "{answer:?}");
    // What the client may have made slow is not put together with what it did not.
    let stage = stage();
    let slow: Vec<(f64, f64)> =
        (0..400).map(|k| (f64::from(k) / 20.0, if k % 10 == 0 { 205.0 } else { 20.0 })).collect();
    let slow = trial(&slow, 400);
    let judged = judged(&stage, "s1-main", &slow, &slow, None, &busy().or_worse(&ClientState::default()));
    assert!(!judged.pools && judged.reason.is_some_and(|reason| reason.starts_with("paused")));
}

#[test]
fn shares_of_a_normal_law_are_what_the_noisy_store_is_made_of() {
    let mut random = Random::new(3);
    let beyond = (0..20_000).filter(|_| normal(&mut random) > 1.0).count();
    assert!((beyond as f64 / 20_000.0 - (1.0 - normal_cdf(1.0))).abs() < 0.01);
}
