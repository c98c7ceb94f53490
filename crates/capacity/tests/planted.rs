//! Limits that are planted in stores whose truth is known by theory, with noise, few loads, other programs, parts that nobody
//! looks at: what is named is the limit or one of several, or nothing is.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss, reason = "a test may stop at the first surprise")]

use cosmark_capacity::bottleneck::{Answer, diagnose};
use cosmark_capacity::ladder::{Kind, Ladder, Step, Unit, Usage, Waiting};
use cosmark_capacity::mva::{Station, closed};

#[derive(Clone, Copy, PartialEq)]
enum Seen {
    /// Two processors, the first of which gets the interrupts.
    Processors,
    /// The same of two threads each: the busier they are, the longer an operation takes them.
    Hyperthreads,
    Disk,
    /// Three more under way than those that wait, and busy whenever one is.
    ParallelDisk,
    Thread,
    /// Three that share the work evenly.
    Threads,
    Quota,
    Link,
    Reads,
    /// A lock, a link of unknown speed, a machine that is not listed.
    Nothing,
}

/// One place: how it is seen, milliseconds that an operation takes, share of it that is busy anyway.
type Place = (Seen, f64, f64);

struct Plant {
    what: &'static str,
    places: &'static [Place],
    delay_ms: f64,
    /// Operations that are let in at once; 0 for any number.
    slots: u32,
    /// Other programs take this share of what a place leaves, from this load on.
    others: Option<(usize, f64, usize)>,
    /// The places that may be named.
    limits: &'static [usize],
    /// Without noise, or with little, they are.
    is_known: bool,
}

const PLAIN: Plant =
    Plant { what: "", places: &[], delay_ms: 4.0, slots: 0, others: None, limits: &[], is_known: false };

const fn known(what: &'static str, places: &'static [Place], limits: &'static [usize]) -> Plant {
    Plant { what, places, limits, is_known: true, ..PLAIN }
}

const fn open(what: &'static str, places: &'static [Place], limits: &'static [usize]) -> Plant {
    Plant { what, places, limits, ..PLAIN }
}

use Seen::{Disk, Hyperthreads, Link, Nothing, ParallelDisk, Processors, Quota, Reads, Thread, Threads};

const PLANTS: &[Plant] = &[
    known("processors", &[(Processors, 2.0, 0.05), (Disk, 0.5, 0.0)], &[0]),
    known("processors beside a disk that others use", &[(Processors, 2.0, 0.05), (Disk, 0.5, 0.3)], &[0]),
    open("processors of two threads each", &[(Hyperthreads, 2.0, 0.0), (Disk, 0.5, 0.0)], &[0]),
    known("a disk", &[(Processors, 0.6, 0.05), (Disk, 2.0, 0.0)], &[1]),
    open("a disk of many at once", &[(Processors, 0.6, 0.05), (ParallelDisk, 2.0, 0.0)], &[1]),
    open(
        "a lock beside a disk of many at once",
        &[(Processors, 0.6, 0.05), (Nothing, 2.0, 0.0), (ParallelDisk, 1.8, 0.0)],
        &[],
    ),
    known("one thread", &[(Thread, 2.0, 0.0), (Processors, 1.2, 0.02)], &[0]),
    known("three threads", &[(Threads, 2.0, 0.0), (Disk, 0.4, 0.0)], &[0]),
    Plant {
        delay_ms: 30.0,
        ..known("a thread that is far away", &[(Thread, 2.0, 0.0), (Disk, 0.4, 0.0)], &[0])
    },
    Plant { delay_ms: 8.0, ..known("a quota", &[(Quota, 2.0, 0.0), (Processors, 0.4, 0.1)], &[0]) },
    Plant {
        delay_ms: 8.0,
        ..known("a quota beside a disk that is nearly as full", &[(Quota, 2.0, 0.0), (Disk, 1.9, 0.0)], &[0])
    },
    known("a link", &[(Processors, 0.5, 0.02), (Link, 2.0, 0.0)], &[1]),
    open("a link of unknown speed", &[(Processors, 1.8, 0.02), (Nothing, 2.0, 0.0)], &[]),
    open("a link of unknown speed beside a disk", &[(Disk, 1.7, 0.02), (Nothing, 2.0, 0.0)], &[]),
    known("a limit of reads", &[(Processors, 0.5, 0.02), (Reads, 2.0, 0.0)], &[1]),
    open("a lock", &[(Processors, 0.9, 0.02), (Disk, 0.7, 0.0), (Nothing, 2.0, 0.0)], &[]),
    open("a thread beside a lock", &[(Thread, 1.75, 0.0), (Nothing, 2.0, 0.0)], &[]),
    open(
        "a thread that looks for work all the time beside a lock",
        &[(Thread, 0.05, 0.97), (Nothing, 2.0, 0.0)],
        &[],
    ),
    open(
        "processors beside a thread that looks for work all the time",
        &[(Processors, 2.0, 0.05), (Thread, 0.01, 0.97)],
        &[0],
    ),
    open("a quota beside a lock", &[(Quota, 1.7, 0.0), (Nothing, 2.0, 0.0)], &[]),
    Plant { slots: 4, ..open("four workers", &[(Processors, 0.9, 0.02), (Disk, 0.7, 0.0)], &[]) },
    Plant {
        slots: 7,
        delay_ms: 9.0,
        ..open("seven workers at processors that are nearly full", &[(Processors, 2.0, 0.0)], &[])
    },
    Plant {
        others: Some((1, 0.98, 5)),
        ..open(
            "a disk that others begin to use",
            &[(Processors, 0.5, 0.02), (Disk, 0.4, 0.0), (Nothing, 2.0, 0.0)],
            &[],
        )
    },
    Plant {
        others: Some((0, 0.97, 5)),
        ..open("processors that others begin to use", &[(Processors, 0.9, 0.02), (Nothing, 2.0, 0.0)], &[])
    },
    known("processors beside a disk that others fill", &[(Processors, 2.0, 0.02), (Disk, 0.1, 0.9)], &[0]),
    open("two disks", &[(Disk, 2.0, 0.0), (Disk, 1.96, 0.0)], &[0, 1]),
    open("a disk and a link of the same speed", &[(Disk, 2.0, 0.0), (Link, 1.99, 0.0)], &[0, 1]),
];

/// The units of a place.
fn units_of(at: usize, seen: Seen) -> Vec<Unit> {
    let named: &[(Kind, &str)] = match seen {
        Processors | Hyperthreads => &[(Kind::Machine, "cpu"), (Kind::Core, "cpu0"), (Kind::Core, "cpu1")],
        Disk | ParallelDisk => &[(Kind::Disk, "sda")],
        Thread => &[(Kind::Thread, "server/1")],
        Threads => &[(Kind::Thread, "server/1"), (Kind::Thread, "server/2"), (Kind::Thread, "server/3")],
        Quota => &[(Kind::CpuQuota, "group")],
        Link => &[(Kind::NetworkTransmit, "eth0")],
        Reads => &[(Kind::IoLimit, "group 8:0 reads")],
        Nothing => &[],
    };
    let unit = |(kind, name): &(Kind, &str)| Unit {
        node: format!("n{at}"),
        role: format!("r{at}"),
        kind: *kind,
        name: (*name).to_owned(),
    };
    named.iter().map(unit).collect()
}

/// How busy a unit is, and what waits for it, where operations keep its place busy for this share of the time that others leave,
/// and so many are there.
fn usage_of(unit: &Unit, (seen, _, anyway): Place, work: f64, there: f64) -> (f64, Option<Waiting>) {
    let work = if seen == Hyperthreads { work * (0.6 + 0.4 * work) } else { work };
    let busy = anyway + (1.0 - anyway) * work;
    match unit.kind {
        Kind::Machine => (busy, Some(Waiting::Share(busy.powi(4)))),
        Kind::Core => (busy * if unit.name == "cpu0" { 1.08 } else { 0.92 }, None),
        Kind::Disk if seen == ParallelDisk => {
            let there = there + 3.0 * work;
            (1.0 - (-there).exp(), Some(Waiting::Queue(there)))
        }
        Kind::Disk => (busy, Some(Waiting::Queue(there))),
        Kind::Thread => (busy, Some(Waiting::Share(0.002 * busy))),
        Kind::CpuQuota => {
            let stopped = if busy > 0.985 { 1.0 } else { 0.8 * busy.powi(6) };
            (busy, Some(Waiting::Share(stopped)))
        }
        Kind::NetworkTransmit | Kind::NetworkReceive => {
            (busy, Some(Waiting::Events(if busy > 0.97 { 50.0 } else { 0.0 })))
        }
        Kind::IoLimit => (busy, Some(Waiting::Share(busy.powi(3)))),
    }
}

/// What a ladder shows of a plant: each rate and each share with noise, the same on every machine.
fn ladder(plant: &Plant, loads: &[u32], noise: (f64, f64), seed: f64) -> Ladder {
    let mut count = 0.0_f64;
    let mut noisy = move |value: f64, noise: f64| {
        count += 1.0;
        value * (1.0 + 1.4 * noise * (count * 7.31 + seed * 1.7).sin())
    };
    let demands: Vec<f64> = plant.places.iter().map(|(_, ms, anyway)| ms / 1e3 / (1.0 - anyway)).collect();
    let mut stations: Vec<Station> =
        demands.iter().map(|demand| Station { demands_s: vec![*demand], servers: 1 }).collect();
    stations.push(Station { demands_s: vec![plant.delay_ms / 1e3], servers: 0 });
    let units: Vec<(usize, Unit)> = plant
        .places
        .iter()
        .enumerate()
        .flat_map(|(at, place)| units_of(at, place.0).into_iter().map(move |unit| (at, unit)))
        .collect();
    let mut steps = Vec::new();
    for (load, workers) in loads.iter().enumerate() {
        let inside = if plant.slots > 0 { plant.slots.min(*workers) } else { *workers };
        let solved = closed(&stations, &[inside], &[0.0]).unwrap();
        let rate = solved.throughput_per_s[0];
        let throughput_per_s = noisy(rate, noise.0);
        let usage = units.iter().map(|(at, unit)| {
            let work = (rate * demands[*at]).min(1.0);
            let (busy, waiting) = usage_of(unit, plant.places[*at], work, solved.queue[*at]);
            let others = plant.others.filter(|(place, _, from)| place == at && load >= *from);
            let busy = busy + (1.0 - busy) * others.map_or(0.0, |one| one.1);
            Usage { busy: Some(noisy(busy, noise.1).min(1.0)), waiting, ..Usage::default() }
        });
        let usage = usage.collect();
        steps.push(Step {
            throughput_per_s,
            in_flight: f64::from(*workers),
            service_s: f64::from(*workers) / throughput_per_s,
            client_clear: true,
            usage,
            ..Step::default()
        });
    }
    let idle = units.iter().map(|(at, _)| Some(plant.places[*at].2)).collect();
    Ladder { units: units.into_iter().map(|one| one.1).collect(), idle, steps }
}

const MANY: &[u32] = &[1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
const FEW: &[u32] = &[1, 3, 8, 24, 64];
/// Of rates and of how busy a unit is.
const NOISES: [(f64, f64); 4] = [(0.0, 0.0), (0.02, 0.005), (0.05, 0.01), (0.1, 0.02)];

#[test]
fn what_is_named_is_what_was_planted_with_whatever_noise_and_however_few_loads() {
    let (mut wrong, mut missed) = (Vec::new(), Vec::new());
    for plant in PLANTS {
        for loads in [MANY, FEW] {
            for noise in NOISES {
                let mut named = 0;
                for seed in 1..=8 {
                    let ladder = ladder(plant, loads, noise, f64::from(seed));
                    let found = diagnose(&ladder);
                    let Answer::Named { units, .. } = &found.answer else { continue };
                    named += 1;
                    let place = |unit: &usize| ladder.units[*unit].node[1..].parse::<usize>().unwrap();
                    if !units.iter().all(|unit| plant.limits.contains(&place(unit))) {
                        wrong.push(format!("{} {loads:?} {noise:?} {seed}: {units:?}", plant.what));
                    }
                }
                let is_clear = noise.0 < 0.01 || (noise.0 < 0.03 && loads.len() > 8);
                if plant.is_known && is_clear && named < 8 {
                    missed.push(format!("{} {loads:?} {noise:?}: {named} of 8", plant.what));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(missed.is_empty(), "{missed:#?}");
}
