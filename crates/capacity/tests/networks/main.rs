//! What is said of hundreds of random stores whose demands are known: stations of every kind that can be sampled, some that
//! nobody samples, limits that are no resource, noise. A wrong name never; the right one nearly always where it can be known.
//!
//! `COSMARK_NETWORKS` says how many are tried, `COSMARK_NETWORKS_SEED` which.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss, reason = "a test may stop at the first surprise")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers that were drawn")]

mod simulation;

use cosmark_capacity::bottleneck::{Answer, diagnose};
use cosmark_capacity::ladder::Kind;
use simulation::{Network, Random, Sampled, Station, ladder, simulate};

const LOADS: &[usize] = &[1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];

fn station(random: &mut Random, sampled: Sampled) -> Station {
    let servers = match sampled {
        Sampled::Processors => 1 + random.below(4),
        Sampled::ParallelDisk => 2 + random.below(7),
        Sampled::Quota | Sampled::Hidden => 1 + random.below(2),
        Sampled::Disk | Sampled::Thread | Sampled::Link => 1,
    };
    let background = if random.uniform() < 0.5 { random.between(0.0, 0.1) } else { 0.0 };
    let demand_s = 1e-3 * servers as f64 * random.between(0.1, 1.0);
    let is_contended = sampled == Sampled::Thread && random.uniform() < 0.5;
    let contention = if is_contended { random.between(0.0, 0.08) } else { 0.0 };
    let is_batched = matches!(sampled, Sampled::Thread | Sampled::Quota) && random.uniform() < 0.4;
    let saved = if is_batched { random.between(0.0, 0.35) } else { 0.0 };
    Station { sampled, servers, demand_s, background, contention, saved }
}

/// One to six stations, the slowest of which takes 2 ms for each operation; a delay of up to eight times that.
fn network(random: &mut Random) -> Network {
    const KINDS: &[Sampled] = &[
        Sampled::Processors,
        Sampled::Processors,
        Sampled::Disk,
        Sampled::ParallelDisk,
        Sampled::Thread,
        Sampled::Quota,
        Sampled::Link,
        Sampled::Hidden,
    ];
    let count = 1 + random.below(6);
    let mut stations: Vec<Station> = (0..count)
        .map(|_| {
            let kind = KINDS[random.below(KINDS.len())];
            station(random, kind)
        })
        .collect();
    let first = random.below(count);
    stations[first].demand_s = 2e-3 * stations[first].servers as f64;
    // Sometimes another one is nearly as slow, which is where names go wrong.
    if count > 1 && random.uniform() < 0.4 {
        let rival = (first + 1 + random.below(count - 1)) % count;
        stations[rival].demand_s = 2e-3 * stations[rival].servers as f64 * random.between(0.7, 1.0);
    }
    let delay_s = 1e-3 * random.between(0.5, 16.0);
    let limit = random.uniform();
    let slots = (limit < 0.1).then(|| 1 + random.below(8));
    let rate_per_s = (0.1..0.2).contains(&limit).then(|| random.between(100.0, 480.0));
    Network { stations, delay_s, slots, rate_per_s }
}

#[derive(Debug, PartialEq)]
enum Outcome {
    Right,
    /// Said to be two at once, one of which it is.
    Among,
    Missed,
    /// Nothing is to be named, and nothing was.
    Silent,
    NotReached,
    Wrong(String),
}

fn outcome(network: &Network, seed: u64) -> Outcome {
    let noise = [0.0, 0.005, 0.01, 0.02][seed as usize % 4];
    let ladder = ladder(network, LOADS, 1500, noise, seed);
    let found = diagnose(&ladder);
    // What the store comes to in the end.
    let most = simulate(network, 192, 4000, seed ^ 1).throughput_per_s;
    let station_of = |unit: usize| -> usize { ladder.units[unit].node[1..].parse().unwrap() };
    let capacity = |unit: usize| network.stations[station_of(unit)].capacity_per_s();
    let limits = |unit: usize| capacity(unit) < most * 1.06;
    match &found.answer {
        Answer::Named { units, .. } | Answer::Several(units) => {
            let is_one = matches!(found.answer, Answer::Named { .. });
            let wrong = units.iter().find(|unit| !limits(**unit));
            // The first of several: others may be full, too, without a ceiling that meets the plateau.
            let ceiling = found.candidates.iter().find(|one| one.unit == units[0]).unwrap();
            // Of one that works in batches none is predicted.
            let is_predicted = ceiling.when_full.is_none();
            // That of a thread is what it would do if it never had to wait for its processor.
            let contention = network.stations[station_of(ceiling.unit)].contention;
            let off = ceiling.demand.ceiling_per_s() * (1.0 - contention) / most - 1.0;
            match wrong {
                Some(unit) if is_one => {
                    Outcome::Wrong(format!("{:?}: {network:?}: {found:?}", ladder.units[*unit]))
                }
                _ if is_predicted && off.abs() > 0.12 => {
                    Outcome::Wrong(format!("ceiling off by {off}: {network:?}: {found:?}"))
                }
                _ if is_one => Outcome::Right,
                _ => Outcome::Among,
            }
        }
        Answer::NotReached(_) | Answer::TooFewSteps => Outcome::NotReached,
        _ => {
            // A disk that serves many at once cannot be known by how long it is busy.
            let knowable = |at: &usize| {
                !matches!(ladder.units[*at].kind, Kind::Core)
                    && network.stations[station_of(*at)].sampled != Sampled::ParallelDisk
            };
            let least = (0..ladder.units.len()).filter(knowable).any(limits);
            if least { Outcome::Missed } else { Outcome::Silent }
        }
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn of_hundreds_of_random_stores_no_wrong_unit_is_ever_named_and_the_right_one_mostly() {
    let (count, base) = (number("COSMARK_NETWORKS", 200), number("COSMARK_NETWORKS_SEED", 1));
    let (mut right, mut among, mut missed, mut silent, mut early) = (0, 0, 0, 0, 0);
    let mut wrong = Vec::new();
    for seed in base..base + count {
        let network = network(&mut Random(seed * 7919));
        match outcome(&network, seed) {
            Outcome::Right => right += 1,
            Outcome::Among => among += 1,
            Outcome::Missed => missed += 1,
            Outcome::Silent => silent += 1,
            Outcome::NotReached => early += 1,
            Outcome::Wrong(why) => wrong.push(format!("{seed}: {why}")),
        }
    }
    let counts =
        format!("right {right}, among {among}, missed {missed}, silent {silent}, not reached {early}");
    println!("{counts}, wrong {}", wrong.len());
    assert!(wrong.is_empty(), "{} of {count}: {}", wrong.len(), wrong[0]);
    assert!(silent > 0 && right + among > 4 * missed, "{counts}");
}

/// A quota whose operations cost up to 0.7 less the more of them wait, and beside it a lock that nobody looks at, or workers
/// that let in so many. The lock lets either more through than the quota ever can, or less than it can without batches: in
/// between the quota works in batches that just keep up with the lock, and is used up as well.
fn beside_a_quota(random: &mut Random) -> Network {
    let station = |sampled, demand_s, saved| Station {
        sampled,
        servers: 1,
        demand_s,
        background: 0.0,
        contention: 0.0,
        saved,
    };
    let saved = random.between(0.3, 0.7);
    let slots = (random.uniform() < 0.4).then(|| 2 + random.below(39));
    let lock_s = match random.uniform() {
        _ if slots.is_some() => 2e-4,
        drawn if drawn < 0.5 => 2e-3 * (1.0 - saved) * random.between(0.3, 0.8),
        _ => 2e-3 * random.between(1.15, 3.0),
    };
    let stations = vec![
        station(Sampled::Quota, 2e-3, saved),
        station(Sampled::Hidden, lock_s, 0.0),
        station(Sampled::Disk, 3e-4, 0.0),
    ];
    Network { stations, delay_s: 1e-3 * random.between(5.0, 30.0), slots, rate_per_s: None }
}

#[test]
fn a_quota_with_a_lock_or_workers_beside_it_is_named_where_more_of_it_would_help() {
    let (count, base) = (number("COSMARK_NETWORKS", 200) / 2, number("COSMARK_NETWORKS_SEED", 1));
    let (mut right, mut wrong) = (0, Vec::new());
    for seed in base..base + count {
        let network = beside_a_quota(&mut Random(seed * 104_729));
        let ladder = ladder(&network, LOADS, 1500, [0.0, 0.005, 0.01, 0.02][seed as usize % 4], seed);
        let found = diagnose(&ladder);
        let Answer::Named { units, .. } = &found.answer else { continue };
        let rate = |network: &Network| simulate(network, 64, 6000, seed ^ 1).throughput_per_s;
        let as_it_is = rate(&network);
        let mut twice = network.clone();
        twice.stations[0].demand_s /= 2.0;
        let is_limit =
            rate(&twice) > as_it_is * 1.03 || network.stations[0].capacity_per_s() < as_it_is * 1.06;
        match units.as_slice() {
            [unit] if ladder.units[*unit].kind == Kind::CpuQuota && is_limit => right += 1,
            _ => wrong.push(format!("{seed}: {network:?}: {found:?}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {count}: {}", wrong.len(), wrong[0]);
    assert!(right > count / 4, "right {right} of {count}");
}

/// A random store, some of whose stations take longer the more wait for them: memory that all processors share, locks that are spun
/// for, disks that seek between more requests. Throughput may fall again beyond its highest.
fn dearer(random: &mut Random) -> Network {
    let mut found = network(random);
    for station in &mut found.stations {
        if station.sampled != Sampled::Link && random.uniform() < 0.5 {
            station.saved = -random.between(0.1, 0.6);
        }
    }
    found
}

#[test]
fn where_operations_take_longer_the_more_wait_no_unit_is_named_that_had_time_left() {
    let (count, base) = (number("COSMARK_NETWORKS", 200) / 2, number("COSMARK_NETWORKS_SEED", 1));
    let (mut named, mut wrong) = (0, Vec::new());
    for seed in base..base + count {
        let network = dearer(&mut Random(seed * 15_485_863));
        let ladder = ladder(&network, LOADS, 1500, [0.0, 0.005, 0.01, 0.02][seed as usize % 4], seed);
        let found = diagnose(&ladder);
        let Answer::Named { units, .. } = &found.answer else { continue };
        let most = simulate(&network, 192, 4000, seed ^ 1).throughput_per_s;
        let most = most.max(found.plateau_per_s.unwrap());
        let capacity = |unit: &usize| {
            let station: usize = ladder.units[*unit].node[1..].parse().unwrap();
            network.stations[station].capacity_per_s()
        };
        named += 1;
        if units.iter().any(|unit| capacity(unit) >= most * 1.06) {
            wrong.push(format!("{seed}: {network:?}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {count}: {}", wrong.len(), wrong[0]);
    assert!(named * 10 > count, "{named} of {count} named");
}
