//! Several kinds of operation that cost differently: how often and how long each, of stores whose truth is known.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss, reason = "a test may stop at the first surprise")]

use std::collections::{BTreeMap, VecDeque};

use cosmark_capacity::change::More;
use cosmark_capacity::ladder::{Kind, Unit, Usage};
use cosmark_capacity::model::{Cannot, ClassLoad, Load, Observed};
use cosmark_capacity::mva::{Station, closed, closed_in_turn};
use cosmark_capacity::plan::{Demanded, Planner, Prediction, Wanted};
use cosmark_stats::bootstrap::Random;

/// Milliseconds that a read and a write need of processors and a disk, and elsewhere.
const DEMANDS_MS: [[f64; 2]; 2] = [[0.8, 1.0], [0.4, 3.0]];
const DELAY_MS: f64 = 4.0;
const LOADS: [u32; 9] = [1, 2, 3, 5, 8, 12, 20, 32, 48];

/// An operation under way: its kind, how much of its present service is left, and since when it is there.
struct Under {
    kind: usize,
    left_ms: f64,
    since_ms: f64,
}

/// Workers that draw each operation by these shares: elsewhere, then both stations. They serve in turn, or all at once.
fn simulate(in_turn: bool, shares: [f64; 2], workers: u32, operations: usize, seed: u64) -> Load {
    const ELSEWHERE: usize = 2;
    let mut random = Random::new(seed);
    let drawn = |random: &mut Random, mean: f64| -mean * (1.0 - random.unit()).ln();
    let mut queues: [VecDeque<Under>; 3] = [VecDeque::new(), VecDeque::new(), VecDeque::new()];
    let begin = |random: &mut Random, now: f64| Under {
        kind: usize::from(random.unit() >= shares[0]),
        left_ms: drawn(random, DELAY_MS),
        since_ms: now,
    };
    for _ in 0..workers {
        let first = begin(&mut random, 0.0);
        queues[ELSEWHERE].push_back(first);
    }
    let (mut now, mut since, mut done) = (0.0, 0.0, 0);
    let (mut busy, mut count, mut time) = ([0.0; 2], [0.0; 2], [0.0; 2]);
    while done < operations {
        // How fast each is served.
        let speed = |place: usize, at: usize, many: usize| match (place, in_turn) {
            (ELSEWHERE, _) => 1.0,
            (_, true) => f64::from(u8::from(at == 0)),
            (_, false) => 1.0 / many as f64,
        };
        let ends = queues.iter().enumerate().flat_map(|(place, queue)| {
            let many = queue.len();
            queue.iter().enumerate().map(move |(at, one)| (one.left_ms / speed(place, at, many), place, at))
        });
        let (step, place, at) = ends.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        for (place, queue) in queues.iter_mut().enumerate() {
            let many = queue.len();
            if place != ELSEWHERE && many > 0 && done >= operations / 10 {
                busy[place] += step;
            }
            queue.iter_mut().enumerate().for_each(|(at, one)| one.left_ms -= step * speed(place, at, many));
        }
        now += step;
        if done < operations / 10 {
            since = now;
        }
        let mut one = queues[place].remove(at).unwrap();
        let next = if place == ELSEWHERE { 0 } else { place + 1 };
        if next < ELSEWHERE {
            one.left_ms = drawn(&mut random, DEMANDS_MS[next][one.kind]);
            queues[next].push_back(one);
            continue;
        }
        done += 1;
        if done > operations / 10 {
            count[one.kind] += 1.0;
            time[one.kind] += now - one.since_ms;
        }
        let another = begin(&mut random, now);
        queues[ELSEWHERE].push_back(another);
    }
    let window_s = (now - since) / 1e3;
    let class = |kind: usize| ClassLoad {
        rate_per_s: count[kind] / window_s,
        bytes_each: 4096.0,
        service_s: time[kind] / f64::max(count[kind], 1.0) / 1e3,
    };
    load(workers, vec![class(0), class(1)], busy.map(|busy| busy / 1e3 / window_s))
}

fn load(workers: u32, classes: Vec<ClassLoad>, busy: [f64; 2]) -> Load {
    let usage = busy.map(|busy| Usage { busy: Some(busy), ..Usage::default() });
    Load { classes, in_flight: f64::from(workers), open: false, client_clear: true, usage: usage.into() }
}

/// What stations that all share do by theory: a worker's operations change their kind, so that by the arrival theorem each finds
/// what all kinds together leave of a store with one worker less.
fn exact(shares: [f64; 2], workers: u32) -> Load {
    let mean_s = DEMANDS_MS.map(|of| (shares[0] * of[0] + shares[1] * of[1]) / 1e3);
    let queue = |demand_s: f64| Station { demands_s: vec![demand_s], servers: 1 };
    let delay = Station { demands_s: vec![DELAY_MS / 1e3], servers: 0 };
    let stations = [queue(mean_s[0]), queue(mean_s[1]), delay];
    let rate = closed(&stations, &[workers], &[0.0]).unwrap().throughput_per_s[0];
    let found = match workers {
        1 => vec![0.0; 2],
        many => closed(&stations, &[many - 1], &[0.0]).unwrap().queue,
    };
    let class = |kind: usize| ClassLoad {
        rate_per_s: rate * shares[kind],
        bytes_each: 4096.0,
        service_s: (DELAY_MS
            + DEMANDS_MS[0][kind] * (1.0 + found[0])
            + DEMANDS_MS[1][kind] * (1.0 + found[1]))
            / 1e3,
    };
    load(workers, vec![class(0), class(1)], mean_s.map(|demand_s| rate * demand_s))
}

fn planner(loads: Vec<Load>) -> Planner {
    let unit =
        |kind: Kind, name: &str| Unit { node: "s1".into(), role: "storage".into(), kind, name: name.into() };
    let units = vec![unit(Kind::Machine, "cpu"), unit(Kind::Disk, "sda")];
    let classes = vec!["read".to_owned(), "write".to_owned()];
    Planner::of(&Observed { units, idle: vec![Some(0.0); 2], classes, loads }).unwrap()
}

fn predict(planner: &Planner, shares: [f64; 2], workers: u32) -> Prediction {
    let mix = BTreeMap::from([("read".to_owned(), shares[0]), ("write".to_owned(), shares[1])]);
    let load = Demanded::Closed(workers, 0.0);
    planner.predict(&Wanted { mix: Some(mix), bytes_each: None, load, more: More::default() }).unwrap()
}

fn near(said: f64, truth: f64, by: f64, what: &str) {
    assert!((said / truth - 1.0).abs() <= by, "{what}: {said} for {truth}");
}

fn near_all(said: &Prediction, truth: &Load, by: f64) {
    let names: Vec<&str> = said.classes.iter().map(|one| one.0.as_str()).collect();
    assert_eq!(names, ["read", "write"]);
    for (at, seen) in truth.classes.iter().enumerate() {
        let what = format!("{} of {:?} at {}", names[at], truth.classes, truth.in_flight);
        near(said.class_rates_per_s[at].value, seen.rate_per_s, by, &what);
        near(said.classes[at].1.value, seen.service_s, by, &what);
    }
}

fn ladder(in_turn: bool, shares: [f64; 2], seed: u64) -> Vec<Load> {
    LOADS.map(|workers| simulate(in_turn, shares, workers, 40_000, seed + u64::from(workers))).into()
}

#[test]
fn where_all_share_each_kind_is_predicted_as_theory_has_it() {
    let loads = [[1.0, 0.0], [0.5, 0.5]].map(|shares| LOADS.map(|workers| exact(shares, workers)));
    let planner = planner(loads.concat());
    for shares in [[0.25, 0.75], [0.8, 0.2], [0.5, 0.5]] {
        for workers in [1, 6, 20, 60] {
            near_all(&predict(&planner, shares, workers), &exact(shares, workers), 0.04);
        }
    }
}

#[test]
fn reads_behind_dear_writes_wait_as_long_as_these_where_they_are_served_in_turn_and_not_where_all_share() {
    for in_turn in [true, false] {
        let mut loads = ladder(in_turn, [1.0, 0.0], 3);
        loads.extend(ladder(in_turn, [0.3, 0.7], 4));
        let planner = planner(loads);
        for (shares, workers) in [([0.6, 0.4], 20), ([0.6, 0.4], 6), ([0.9, 0.1], 32)] {
            let truth = simulate(in_turn, shares, workers, 20_000, 5);
            let said = predict(&planner, shares, workers);
            near_all(&said, &truth, 0.15);
            for (at, seen) in truth.classes.iter().enumerate() {
                let range = said.classes[at].1;
                let holds = range.low * 0.95 <= seen.service_s && seen.service_s <= range.high * 1.05;
                assert!(holds && range.high < range.low * 2.0, "{in_turn} {shares:?}: {range:?} {seen:?}");
            }
        }
    }
}

#[test]
fn how_a_mix_waits_that_nobody_measured_is_left_open() {
    // A ladder of each kind by itself says what each costs, and nothing of how one waits behind the other.
    let mut loads = ladder(true, [1.0, 0.0], 7);
    loads.extend(ladder(true, [0.0, 1.0], 8));
    let said = predict(&planner(loads), [0.6, 0.4], 20);
    for in_turn in [true, false] {
        let truth = simulate(in_turn, [0.6, 0.4], 20, 20_000, 9);
        for (at, seen) in truth.classes.iter().enumerate() {
            near(said.class_rates_per_s[at].value, seen.rate_per_s, 0.12, "rate");
            let range = said.classes[at].1;
            let holds = range.low * 0.9 <= seen.service_s && seen.service_s <= range.high * 1.1;
            assert!(holds, "{in_turn}: {range:?} {seen:?}");
        }
    }
    let read = said.classes[0].1;
    assert!(read.high > 1.8 * read.low, "{read:?}");
}

#[test]
fn times_and_rates_of_all_kinds_are_those_of_the_whole() {
    for in_turn in [true, false] {
        let mut loads = ladder(in_turn, [0.9, 0.1], 11);
        loads.extend(ladder(in_turn, [0.2, 0.8], 12));
        let planner = planner(loads);
        for share in [0.05, 0.3, 0.5, 0.95] {
            for workers in [1, 4, 16, 64] {
                let said = predict(&planner, [share, 1.0 - share], workers);
                let rates = said.class_rates_per_s.iter().map(|rate| rate.value).sum::<f64>();
                near(rates, said.throughput_per_s.value, 1e-9, "rates");
                let times = said.classes[0].1.value * share + said.classes[1].1.value * (1.0 - share);
                near(times, said.service_s.value, 1e-6, "times");
            }
        }
    }
}

fn predict_apart(planner: &Planner, readers: u32, writers: u32) -> Result<Prediction, Cannot> {
    let workers = BTreeMap::from([("read".to_owned(), readers), ("write".to_owned(), writers)]);
    let load = Demanded::Apart(workers, 0.0);
    planner.predict(&Wanted { mix: None, bytes_each: None, load, more: More::default() })
}

#[test]
fn workers_that_do_one_kind_only_are_chains_of_their_own() {
    let loads = [[1.0, 0.0], [0.5, 0.5]].map(|shares| LOADS.map(|workers| exact(shares, workers)));
    let planner = planner(loads.concat());
    let queue = |of: [f64; 2]| Station { demands_s: of.map(|ms| ms / 1e3).into(), servers: 1 };
    let delay = Station { demands_s: vec![DELAY_MS / 1e3; 2], servers: 0 };
    let stations = [queue(DEMANDS_MS[0]), queue(DEMANDS_MS[1]), delay];
    for (readers, writers) in [(1, 1), (12, 4), (4, 12), (40, 1)] {
        let said = predict_apart(&planner, readers, writers).unwrap();
        let truth = closed(&stations, &[readers, writers], &[0.0, 0.0]).unwrap();
        for at in 0..2 {
            let what = format!("{at} of {readers} and {writers}");
            near(said.class_rates_per_s[at].value, truth.throughput_per_s[at], 0.1, &what);
            near(said.classes[at].1.value, truth.response_s[at], 0.1, &what);
        }
        // Little's law holds for each chain.
        let inside = said.class_rates_per_s[0].value * said.classes[0].1.value;
        near(inside, f64::from(readers), 1e-6, "readers");
        let all: f64 = truth.throughput_per_s.iter().sum();
        near(said.throughput_per_s.value, all, 0.1, "all");
    }
    assert!(matches!(predict_apart(&planner, 0, 0), Err(Cannot::NotMeasured(..))));
}

#[test]
fn workers_of_their_own_need_a_run_that_tells_the_kinds_apart() {
    let planner = planner(LOADS.map(|workers| exact([0.6, 0.4], workers)).into());
    assert!(matches!(predict_apart(&planner, 8, 8), Err(Cannot::OneMix(_))));
    // The mix that was measured is planned, all kinds together.
    let same = predict(&planner, [0.6, 0.4], 20);
    near(same.throughput_per_s.value, exact([0.6, 0.4], 20).rate_per_s(), 0.03, "the same mix");
}

#[test]
fn chains_that_are_served_in_turn_wait_alike() {
    // One station: whoever comes waits for all that are there, so that what a read waits is what a write waits.
    let stations = [Station { demands_s: vec![1e-3, 4e-3], servers: 1 }];
    let in_turn = closed_in_turn(&stations, &[10, 10], &[0.0, 0.0], 1.0).unwrap();
    let waits = [in_turn.response_s[0] - 1e-3, in_turn.response_s[1] - 4e-3];
    // A worker does not wait for itself: a tenth of its own kind's queue.
    near(waits[0], waits[1], 0.1, "waits");
    assert!((in_turn.busy[0] - 1.0).abs() < 1e-6, "{in_turn:?}");
    // By theory both have ten there: 10 and 10 of 2.5 ms on average, each served once a round.
    near(in_turn.throughput_per_s[0], 200.0, 0.1, "reads");
    let shared = closed_in_turn(&stations, &[10, 10], &[0.0, 0.0], 0.0).unwrap();
    near(shared.response_s[1] / shared.response_s[0], 4.0, 1e-6, "by cost");
    assert_eq!(shared, closed(&stations, &[10, 10], &[0.0, 0.0]).unwrap());
    // Of one kind it makes no difference.
    let one = [Station { demands_s: vec![2e-3], servers: 1 }];
    assert_eq!(closed_in_turn(&one, &[7], &[0.01], 1.0), closed(&one, &[7], &[0.01]));
}

/// However they are served, chains whose operations cost alike are those of theory, and what is hardly served in turn is as if nothing
/// was.
#[test]
fn chains_of_few_operations_that_are_served_in_turn_are_as_near_as_where_all_share() {
    let of = |demands_ms: [f64; 2]| Station { demands_s: demands_ms.map(|ms| ms / 1e3).into(), servers: 1 };
    let alike = [of([2.0, 2.0]), of([0.7, 0.7]), of([1.1, 1.1])];
    let unlike = [of([2.0, 1.0]), of([0.7, 2.5])];
    for (population, think_s) in
        [([1, 6], [1e-3, 8e-3]), ([16, 1], [5e-3, 2e-3]), ([2, 24], [0.0, 0.0]), ([0, 3], [0.0, 0.0])]
    {
        for (stations, part, by) in
            [(&alike[..], 0.01, 1e-6), (&alike[..], 1.0, 1e-6), (&unlike[..], 1e-7, 1e-4)]
        {
            let theory = closed(stations, &population, &think_s).unwrap();
            let said = closed_in_turn(stations, &population, &think_s, part).unwrap();
            for at in (0..2).filter(|at| population[*at] > 0) {
                let what = format!("{at} of {population:?}, {part}");
                near(said.throughput_per_s[at], theory.throughput_per_s[at], by, &what);
                near(said.response_s[at], theory.response_s[at], by, &what);
            }
        }
        for part in [0.3, 1.0] {
            let said = closed_in_turn(&unlike, &population, &think_s, part).unwrap();
            assert!(said.busy.iter().all(|busy| *busy <= 1.0 + 1e-9), "{population:?}, {part}: {said:?}");
        }
    }
}
