//! Stores whose operations cost less the more of them wait, of which the truth is known: each is simulated, planned from a
//! ladder against one machine of a role, and simulated again with two.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss, reason = "a test may stop at the first surprise")]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use cosmark_capacity::change::More;
use cosmark_capacity::ladder::{Kind, Unit, Usage};
use cosmark_capacity::model::{Cannot, ClassLoad, Load, Observed};
use cosmark_capacity::plan::{Demanded, Planner, Prediction, Wanted, why_not};
use cosmark_stats::bootstrap::Random;

/// Seconds of one operation of a proxy at which so many are, itself among them.
type Cost = fn(f64) -> f64;

/// 30 % less from the fifth on.
const BATCHES: Cost = |many: f64| 2e-3 * (1.0 - 0.3 * ((many - 1.0) / 4.0).min(1.0));
const COSTS: &[(&str, Cost)] = &[
    ("constant", |_: f64| 2e-3),
    ("batches", BATCHES),
    ("logarithm", |many: f64| 2e-3 * (1.0 - 0.1 * many.ln()).max(0.4)),
    ("power", |many: f64| 2e-3 * many.powf(-0.15)),
    ("a part that all share", |many: f64| 1.2e-3 + 1e-3 / many),
    ("half of it shared", |many: f64| 1.5e-3 * (1.0 + 2.0 / many)),
];

struct Store {
    cost: Cost,
    /// Proxies, each of which has its own workers.
    proxies: usize,
    /// Seconds of one operation at each station behind them.
    behind_s: Vec<f64>,
    /// Seconds elsewhere.
    delay_s: f64,
}

/// Where nobody waits.
const ELSEWHERE: usize = usize::MAX;

fn simulate(store: &Store, workers: usize, operations: usize, seed: u64) -> Load {
    let mut random = Random::new(seed);
    let mut exponential = move |mean: f64| -mean * (1.0 - random.unit()).ln();
    let stations = store.proxies + store.behind_s.len();
    let mut queues: Vec<VecDeque<usize>> = vec![VecDeque::new(); stations];
    // Times are not negative: their bits are in their order.
    let mut events: BinaryHeap<Reverse<(u64, usize, usize)>> = BinaryHeap::new();
    for worker in 0..workers {
        events.push(Reverse((exponential(store.delay_s).to_bits(), worker, ELSEWHERE)));
    }
    let (mut now, mut since, mut done, mut service_s) = (0.0_f64, 0.0, 0, 0.0);
    let (mut busy, mut began) = (vec![0.0; stations], vec![0.0; workers]);
    let warm = operations / 10;
    while done < operations {
        let Reverse((bits, worker, place)) = events.pop().unwrap();
        let time = f64::from_bits(bits);
        if done >= warm {
            (0..stations).filter(|at| !queues[*at].is_empty()).for_each(|at| busy[at] += time - now);
        } else {
            since = time;
        }
        now = time;
        if place != ELSEWHERE {
            queues[place].pop_front();
        }
        let onward = match place {
            ELSEWHERE => worker % store.proxies,
            proxy if proxy < store.proxies => store.proxies,
            behind => behind + 1,
        };
        if onward < stations {
            queues[onward].push_back(worker);
        } else {
            done += 1;
            service_s += if done > warm { now - began[worker] } else { 0.0 };
            began[worker] = now;
            events.push(Reverse(((now + exponential(store.delay_s)).to_bits(), worker, ELSEWHERE)));
        }
        let is_next = onward < stations && queues[onward].len() == 1;
        let freed = (place != ELSEWHERE && !queues[place].is_empty()).then_some(place);
        for station in freed.into_iter().chain(is_next.then_some(onward)) {
            let many = queues[station].len() as f64;
            let mean = if station < store.proxies {
                (store.cost)(many)
            } else {
                store.behind_s[station - store.proxies]
            };
            events.push(Reverse(((now + exponential(mean)).to_bits(), queues[station][0], station)));
        }
    }
    let (window_s, counted) = (now - since, (done - warm) as f64);
    let usage = |busy: &f64| Usage { busy: Some(busy / window_s), ..Usage::default() };
    Load {
        classes: vec![ClassLoad {
            rate_per_s: counted / window_s,
            bytes_each: 4096.0,
            service_s: service_s / counted,
        }],
        in_flight: workers as f64,
        client_clear: true,
        usage: busy.iter().map(usage).collect(),
        ..Load::default()
    }
}

fn unit(node: &str, role: &str, kind: Kind, name: &str) -> Unit {
    Unit { node: node.into(), role: role.into(), kind, name: name.into() }
}

/// A proxy under a quota, what is behind it on the same machine or another one, and a disk.
fn observed(store: &Store, behind: Unit, loads: &[usize], noise: f64, seed: u64) -> Observed {
    let units = vec![
        unit("p1", "proxy", Kind::CpuQuota, "proxies"),
        behind,
        unit("s1", "storage", Kind::Disk, "sda"),
    ];
    let mut random = Random::new(seed ^ 0x5eed);
    let mut noisy = move |value: f64| {
        let normal = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
        value * (1.0 + noise * normal)
    };
    let load = |workers: &usize| {
        let mut load = simulate(store, *workers, 2500, seed + *workers as u64);
        load.classes[0].rate_per_s = noisy(load.classes[0].rate_per_s);
        load.usage.iter_mut().for_each(|usage| usage.busy = usage.busy.map(|busy| noisy(busy).min(1.0)));
        load
    };
    let loads = loads.iter().map(load).collect();
    Observed { idle: vec![Some(0.0); units.len()], units, classes: vec!["read".into()], loads }
}

fn asked(workers: usize, more: More) -> Wanted {
    let workers = u32::try_from(workers).unwrap();
    Wanted { mix: None, bytes_each: None, load: Demanded::Closed(workers, 0.0), more }
}

fn proxies(many: usize) -> More {
    More { nodes: BTreeMap::from([("proxy".to_owned(), many)]), ..More::default() }
}

/// Of one ladder: what was said of one and of two proxies at several loads, and what they came to.
fn held(store: &Store, loads: &[usize], noise: f64, seed: u64) -> Vec<Result<(f64, Prediction), Cannot>> {
    let storage = unit("s1", "storage", Kind::Machine, "cpu");
    let seen = observed(store, storage, loads, noise, seed);
    let planner = Planner::of(&seen);
    let most = loads.last().copied().unwrap();
    let case = |(many, workers): (usize, usize)| -> Result<(f64, Prediction), Cannot> {
        let said = planner.as_ref().map_err(Clone::clone)?.predict(&asked(workers, proxies(many)))?;
        let larger = Store { proxies: many, behind_s: store.behind_s.clone(), ..*store };
        Ok((simulate(&larger, workers, 8000, seed + 77).rate_per_s(), said))
    };
    [(1, most), (2, most), (2, 2 * most)].map(case).into()
}

/// From low to high loads, and of a proxy that is full at nearly all of them.
const LADDERS: [&[usize]; 2] = [&[1, 2, 3, 5, 8, 12, 20, 32, 48], &[4, 8, 12, 16, 24, 32]];

#[test]
fn two_proxies_whose_costs_fall_with_the_load_are_planned_and_the_interval_holds_what_they_come_to() {
    let (mut held_in, mut all, mut refused, mut far) = (0, 0, 0, Vec::new());
    for (name, cost) in COSTS {
        for (at, loads) in LADDERS.iter().enumerate() {
            for (seed, delay_s) in [(1, 2e-3), (2, 8e-3), (3, 20e-3)] {
                let store = Store { cost: *cost, proxies: 1, behind_s: vec![0.2e-3, 0.3e-3], delay_s };
                for one in held(&store, loads, [0.005, 0.01][at], 1000 * seed + at as u64) {
                    let Ok((truth, said)) = one else {
                        refused += 1;
                        continue;
                    };
                    let range = said.throughput_per_s;
                    let is_held = (range.low..=range.high).contains(&truth);
                    (held_in, all) = (held_in + i32::from(is_held), all + 1);
                    if !is_held && (range.value / truth - 1.0).abs() > 0.15 {
                        far.push(format!("{name} {loads:?} {delay_s}: {truth} of {range:?}"));
                    }
                }
            }
        }
    }
    assert!(far.is_empty(), "{} of {all}: {}", far.len(), far[0]);
    assert!(f64::from(held_in) >= 0.9 * f64::from(all), "{held_in} of {all} held, {refused} refused");
    assert!(refused * 5 <= all, "{refused} refused, {all} not");
}

#[test]
fn a_second_proxy_on_the_same_processors_adds_what_these_have_left() {
    // An operation costs the machine 0.9 ms whoever serves it: with a second proxy its processors are full first.
    let store = Store { cost: BATCHES, proxies: 1, behind_s: vec![0.9e-3, 0.3e-3], delay_s: 8e-3 };
    let here = unit("p1", "proxy", Kind::Machine, "cpu");
    for seed in [1, 2, 3] {
        let planner = Planner::of(&observed(&store, here.clone(), LADDERS[0], 0.005, 50 * seed)).unwrap();
        let twice = Store { proxies: 2, behind_s: store.behind_s.clone(), ..store };
        let truth = simulate(&twice, 48, 8000, seed).rate_per_s();
        let more = More { units: vec![("quota".to_owned(), 2.0)], ..More::default() };
        let same = planner.predict(&asked(48, more)).unwrap();
        let range = same.throughput_per_s;
        assert!((range.value / truth - 1.0).abs() < 0.12, "{truth} of {range:?}");
        assert!(range.low <= truth && same.limits[0].0 == 1, "the processors: {truth} of {same:?}");
        // On a machine of its own it is as good as the first.
        let other = planner.predict(&asked(48, proxies(2))).unwrap();
        assert!(other.throughput_per_s.value > range.value * 1.1, "{range:?} and {other:?}");
        assert_eq!(other.limits[0].0, 0, "the quotas: {other:?}");
    }
}

#[test]
fn processors_that_have_more_to_do_than_was_ever_seen_may_be_slower_and_others_not() {
    let store = Store { cost: COSTS[0].1, proxies: 1, behind_s: vec![0.9e-3, 0.3e-3], delay_s: 8e-3 };
    let here = unit("p1", "proxy", Kind::Machine, "cpu");
    let seen = observed(&store, here, LADDERS[0], 0.002, 4);
    let twice = || More { units: vec![("quota".to_owned(), 2.0)], ..More::default() };
    let below = |cores: usize, more: More| {
        let mut seen = seen.clone();
        for core in 0..cores {
            seen.units.push(unit("p1", "proxy", Kind::Core, &format!("cpu{core}")));
            seen.idle.push(Some(0.0));
            seen.loads.iter_mut().for_each(|load| load.usage.push(load.usage[1]));
        }
        let range = Planner::of(&seen).unwrap().predict(&asked(48, more)).unwrap().throughput_per_s;
        range.low / range.value
    };
    // They would be busy for 0.85 of the time instead of 0.45.
    let (same, other) = (below(0, twice()), below(0, proxies(2)));
    assert!(same < 0.85 && other > 0.86, "{same} and {other}");
    // Two groups that a quota stops may run at the same time: on two processors always side by side, on many hardly ever.
    let (two, many) = (below(2, twice()), below(32, twice()));
    assert!(two < 0.7 && many > 0.72, "{two} and {many}");
}

#[test]
fn a_load_far_beyond_those_at_which_costs_were_seen_is_refused_with_what_to_measure() {
    let store = Store { cost: BATCHES, proxies: 1, behind_s: vec![0.1e-3, 0.1e-3], delay_s: 8e-3 };
    let storage = unit("s1", "storage", Kind::Machine, "cpu");
    let seen = observed(&store, storage, LADDERS[0], 0.002, 5);
    let planner = Planner::of(&seen).unwrap();
    let why = planner.predict(&asked(500, More::default())).unwrap_err();
    assert!(matches!(why, Cannot::DemandChanges(0)), "{why:?}");
    assert!(why_not(&why, &seen.units).contains("measure loads nearer to this one"));
    let why = why_not(&Cannot::LawsDisagree(20.0, 117.0), &seen.units);
    assert!(why.contains("20.0 to 117.0") && why.contains("more loads"), "{why}");
}
