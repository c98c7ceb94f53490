//! The laws and the answers on simulated stores whose demands are known.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss, reason = "a test may stop at the first surprise")]

use cosmark_capacity::bottleneck::{Answer, Confidence, Reported, diagnose};
use cosmark_capacity::ladder::{Kind, Ladder, Step, Unit, Usage, Waiting};
use cosmark_capacity::mva::{Station, closed};
use cosmark_capacity::sentence::say;

/// splitmix64: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }
}

/// A store: operations visit its stations one after the other. `slots` operations are let in at once.
#[derive(Clone)]
struct Store {
    demands_s: Vec<f64>,
    idle: Vec<f64>,
    slots: usize,
    delay_s: f64,
    /// What an operation costs beside its demand where it finds a station asleep.
    waking_s: Vec<f64>,
    /// The share of the first station's demand that an operation does not cost where four others wait, and less where fewer do.
    saved: f64,
}

struct Seen {
    throughput_per_s: f64,
    service_s: f64,
    busy: Vec<f64>,
    queue: Vec<f64>,
}

/// What happens next to an operation.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Door,
    Station(usize),
}

/// A closed loop of `workers`, event by event, `operations` of them after a tenth for warming up. What is not an operation
/// (`idle`) takes its share of each station by making it slower.
fn simulate(store: &Store, workers: usize, operations: usize, seed: u64) -> Seen {
    let mut random = Random(seed);
    let stations = store.demands_s.len();
    let mut queues: Vec<std::collections::VecDeque<usize>> = vec![Default::default(); stations];
    let mut door: std::collections::VecDeque<usize> = Default::default();
    let mut inside = 0_usize;
    // (time, order, worker, place where its present service ends; Door: the delay ends)
    let mut events: Vec<(f64, usize, Place)> = Vec::new();
    let mut began = vec![0.0; workers];
    let (mut now, mut done, mut counted, mut since) = (0.0_f64, 0_usize, 0_usize, 0.0_f64);
    let (mut service, mut busy, mut queued) = (0.0, vec![0.0; stations], vec![0.0; stations]);
    let mut arrivals: Vec<usize> = (0..workers).collect();
    loop {
        while let Some(worker) = arrivals.pop() {
            began[worker] = now;
            door.push_back(worker);
        }
        while inside < store.slots {
            let Some(worker) = door.pop_front() else { break };
            inside += 1;
            events.push((now + random.exponential(store.delay_s), worker, Place::Door));
        }
        let next = (0..events.len()).min_by(|a, b| events[*a].0.total_cmp(&events[*b].0)).unwrap();
        let (time, worker, place) = events.swap_remove(next);
        if done >= operations / 10 {
            for station in 0..stations {
                let length = queues[station].len();
                busy[station] += if length > 0 { time - now } else { 0.0 };
                queued[station] += length.saturating_sub(1) as f64 * (time - now);
            }
        } else {
            since = time;
        }
        now = time;
        let onward = match place {
            Place::Door => 0,
            Place::Station(station) => {
                queues[station].pop_front();
                if let Some(waiting) = queues[station].front() {
                    let others = (queues[station].len() - 1) as f64;
                    let saved = if station == 0 { store.saved * (others / 4.0).min(1.0) } else { 0.0 };
                    let demand = store.demands_s[station] * (1.0 - saved);
                    let end = now + random.exponential(demand / (1.0 - store.idle[station]));
                    events.push((end, *waiting, Place::Station(station)));
                }
                station + 1
            }
        };
        if onward < stations {
            queues[onward].push_back(worker);
            if queues[onward].len() == 1 {
                let demand = store.demands_s[onward] + store.waking_s.get(onward).copied().unwrap_or(0.0);
                let end = now + random.exponential(demand / (1.0 - store.idle[onward]));
                events.push((end, worker, Place::Station(onward)));
            }
            continue;
        }
        inside -= 1;
        done += 1;
        if done > operations / 10 {
            counted += 1;
            service += now - began[worker];
        }
        if done >= operations {
            let window = now - since;
            let busy = busy.iter().zip(&store.idle).map(|(busy, idle)| idle + (1.0 - idle) * busy / window);
            return Seen {
                throughput_per_s: counted as f64 / window,
                service_s: service / counted as f64,
                busy: busy.collect(),
                queue: queued.iter().map(|queued| queued / window).collect(),
            };
        }
        arrivals.push(worker);
    }
}

const LOADS: &[usize] = &[1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];

fn unit(node: &str, role: &str, kind: Kind, name: &str) -> Unit {
    Unit { node: node.into(), role: role.into(), kind, name: name.into() }
}

fn units() -> Vec<Unit> {
    vec![
        unit("proxy1", "proxy", Kind::Machine, "cpu"),
        unit("proxy1", "proxy", Kind::NetworkTransmit, "eth0"),
        unit("storage1", "storage", Kind::Machine, "cpu"),
        unit("storage1", "storage", Kind::Disk, "sda"),
    ]
}

fn ladder_of(store: &Store, units: Vec<Unit>, seed: u64) -> Ladder {
    let steps = LOADS.iter().map(|workers| {
        let seen = simulate(store, *workers, 6000, seed ^ *workers as u64);
        let usage = seen.busy.iter().zip(&seen.queue);
        Step {
            throughput_per_s: seen.throughput_per_s,
            in_flight: *workers as f64,
            service_s: seen.service_s,
            client_clear: true,
            usage: usage
                .map(|(busy, queue)| Usage {
                    busy: Some(*busy),
                    waiting: Some(Waiting::Queue(*queue)),
                    ..Usage::default()
                })
                .collect(),
            ..Step::default()
        }
    });
    Ladder { units, idle: store.idle.iter().copied().map(Some).collect(), steps: steps.collect() }
}

fn store(demands_ms: [f64; 4]) -> Store {
    Store {
        demands_s: demands_ms.iter().map(|ms| ms / 1e3).collect(),
        idle: vec![0.02, 0.0, 0.05, 0.01],
        slots: usize::MAX,
        delay_s: 0.004,
        waking_s: Vec::new(),
        saved: 0.0,
    }
}

#[test]
fn the_planted_unit_is_named_its_ceiling_is_right_and_no_other_is_ever_named() {
    for planted in 0..4 {
        for seed in 1..=5 {
            let mut demands = [0.3, 0.2, 0.35, 0.4];
            demands[planted] = 2.0;
            let planted_store = store(demands);
            let ladder = ladder_of(&planted_store, units(), seed * 1000);
            let found = diagnose(&ladder);
            let Answer::Named { units, .. } = &found.answer else { panic!("{planted}: {:?}", found.answer) };
            assert_eq!(units, &[planted], "{found:?}");
            let ceiling = found.candidates[0].demand.ceiling_per_s();
            let truth = (1.0 - planted_store.idle[planted]) / planted_store.demands_s[planted];
            assert!((ceiling / truth - 1.0).abs() < 0.1, "{ceiling} for {truth}");
            assert!(found.second().is_some_and(|second| second.unit != planted));
        }
    }
}

#[test]
fn a_limit_that_is_no_resource_names_none_and_tells_about_how_many_it_lets_in() {
    for slots in [1, 2, 4] {
        for seed in 1..=4 {
            let limited = Store { slots, ..store([0.3, 0.2, 0.35, 0.4]) };
            let found = diagnose(&ladder_of(&limited, units(), seed * 77));
            let Answer::Limit(about) = found.answer else { panic!("{slots}: {found:?}") };
            assert!((about / slots as f64 - 1.0).abs() < 0.35, "{about} for {slots}");
        }
    }
}

#[test]
fn a_resource_that_nobody_looked_at_is_never_replaced_by_a_wrong_name() {
    for hidden in 0..4 {
        for busy_too in [0.4, 1.2, 1.6, 1.7, 1.75, 1.8] {
            let mut demands = [0.3, 0.2, 0.35, 0.4];
            demands[hidden] = 2.0;
            demands[(hidden + 1) % 4] = busy_too;
            let mut ladder = ladder_of(&store(demands), units(), hidden as u64 + 5);
            for step in &mut ladder.steps {
                step.usage[hidden] = Usage::default();
            }
            ladder.idle[hidden] = None;
            let found = diagnose(&ladder);
            let unnamed = matches!(found.answer, Answer::Unexplained | Answer::Limit(_));
            assert!(unnamed, "hidden {hidden}, beside {busy_too} ms: {found:?}");
        }
    }
}

#[test]
fn two_that_are_full_at_the_same_rate_are_both_named() {
    let found = diagnose(&ladder_of(&store([0.3, 0.2, 2.0, 2.0]), units(), 3));
    match &found.answer {
        Answer::Several(units) => assert_eq!(units.iter().sum::<usize>(), 5, "{found:?}"),
        Answer::Named { units, .. } => panic!("{units:?} alone was named: {found:?}"),
        // Between two full units neither need be level by the steps that there are.
        other => assert!(matches!(other, Answer::Unexplained | Answer::NotReached(_)), "{found:?}"),
    }
}

#[test]
fn disks_that_share_the_work_evenly_are_one_name_and_one_hot_disk_is_a_sentence() {
    let disks: Vec<Unit> =
        (0..4).map(|n| unit("storage1", "storage", Kind::Disk, &format!("sd{n}"))).collect();
    let even = Store {
        demands_s: vec![2e-3; 4],
        idle: vec![0.0; 4],
        slots: usize::MAX,
        delay_s: 1e-3,
        waking_s: vec![],
        saved: 0.0,
    };
    let found = diagnose(&ladder_of(&even, disks.clone(), 9));
    if let Answer::Named { units, .. } = &found.answer {
        assert!(units.len() > 1, "{found:?}");
    }
    assert!(found.skewed.is_empty(), "{found:?}");
    let hot = Store { demands_s: vec![5e-4, 2e-3, 5e-4, 5e-4], ..even };
    let found = diagnose(&ladder_of(&hot, disks, 9));
    assert!(matches!(&found.answer, Answer::Named { units, .. } if units == &[1]), "{found:?}");
    assert!(found.skewed.len() == 1 && found.skewed[0].unit == 1 && found.skewed[0].peers == 4, "{found:?}");
}

#[test]
fn what_takes_no_part_in_the_load_does_not_make_the_rest_look_busy() {
    // A disk of the system, and a loop device that lies on the other one.
    let mut units: Vec<Unit> =
        ["vda", "vdb", "loop0", "vdc"].map(|name| unit("storage1", "storage", Kind::Disk, name)).into();
    let beside = Store { idle: vec![0.0; 4], ..store([0.03, 2.0, 0.2, 0.02]) };
    let ladder = ladder_of(&beside, units.clone(), 9);
    let found = diagnose(&ladder);
    assert!(matches!(&found.answer, Answer::Named { units, .. } if units == &[1]), "{found:?}");
    assert!(found.skewed.is_empty(), "{found:?}");
    // The quota of a proxy beside those of object servers.
    units.iter_mut().for_each(|unit| unit.kind = Kind::CpuQuota);
    assert!(diagnose(&Ladder { units, ..ladder }).skewed.is_empty());
    // Processors that the client fills on the machine of the store.
    let units = ["cpu0", "cpu1", "cpu2", "cpu3"].map(|name| unit("storage1", "storage", Kind::Core, name));
    let mut ladder = ladder_of(&store([0.2, 2.0, 0.2, 0.2]), units.into(), 9);
    assert_eq!(diagnose(&ladder).skewed.len(), 1);
    for step in &mut ladder.steps {
        step.usage.iter_mut().for_each(|usage| usage.by_client = Some(0.3));
    }
    assert!(diagnose(&ladder).skewed.is_empty());
}

#[test]
fn a_client_that_is_full_and_a_ladder_that_is_too_low_name_nothing() {
    let mut ladder = ladder_of(&store([0.3, 0.2, 0.35, 2.0]), units(), 1);
    let mut low = ladder.clone();
    low.steps.truncate(3);
    assert!(matches!(diagnose(&low).answer, Answer::NotReached(grew) if grew > 0.05), "{:?}", diagnose(&low));
    // One step at which the client was full is left out; without all of them there is no plateau.
    ladder.steps.last_mut().unwrap().client_clear = false;
    assert!(matches!(diagnose(&ladder).answer, Answer::Named { .. }));
    ladder.steps.iter_mut().skip(4).for_each(|step| step.client_clear = false);
    assert_eq!(diagnose(&ladder).answer, Answer::Client);
    assert_eq!(diagnose(&Ladder::default()).answer, Answer::TooFewSteps);
}

#[test]
fn a_store_that_refuses_and_a_machine_that_the_client_shares_are_no_names() {
    let mut ladder = ladder_of(&store([0.3, 0.2, 2.0, 0.4]), units(), 4);
    let mut refusing = ladder.clone();
    refusing.steps.last_mut().unwrap().failed_share = 0.3;
    assert_eq!(diagnose(&refusing).answer, Answer::Refused(0.3));
    assert!(matches!(diagnose(&ladder).answer, Answer::Named { .. }));
    for step in &mut ladder.steps {
        step.usage[2].by_client = step.usage[2].busy.map(|busy| busy * 0.4);
    }
    let found = diagnose(&ladder);
    assert!(matches!(found.answer, Answer::Shared(2, share) if (0.3..0.5).contains(&share)), "{found:?}");
    assert!(say(&ladder, &found).text.contains("the client's own work"), "{:?}", say(&ladder, &found));
}

#[test]
fn a_thread_that_is_full_is_named_although_nothing_waits_for_its_processor() {
    let mut units = units();
    units[0].kind = Kind::Thread;
    let mut ladder = ladder_of(&store([2.0, 0.2, 0.3, 0.4]), units, 6);
    for step in &mut ladder.steps {
        step.usage[0].waiting = Some(Waiting::Share(0.001));
    }
    let found = diagnose(&ladder);
    assert!(matches!(&found.answer, Answer::Named { units, .. } if units == &[0]), "{found:?}");
}

/// A thread that others keep waiting for its processor for this share of the time that it would run.
fn contended(ladder: &mut Ladder, unit: usize, share: f64) {
    for step in &mut ladder.steps {
        let awake = step.usage[unit].busy.unwrap();
        step.usage[unit].busy = Some(awake * (1.0 - share));
        step.usage[unit].waiting = Some(Waiting::Share(awake * share));
    }
}

#[test]
fn a_thread_that_never_sleeps_is_full_and_one_that_mostly_waits_for_a_processor_is_not_the_limit() {
    let mut units = units();
    units[0].kind = Kind::Thread;
    for (share, named) in [(0.03, true), (0.07, true), (0.3, false), (0.6, false)] {
        let mut ladder = ladder_of(&store([2.0, 0.2, 0.3, 0.4]), units.clone(), 6);
        contended(&mut ladder, 0, share);
        let found = diagnose(&ladder);
        assert_eq!(matches!(&found.answer, Answer::Named { units, .. } if units == &[0]), named, "{found:?}");
        let text = say(&ladder, &found).text;
        assert!(named || text.contains("no sampled resource explains"), "{text}");
    }
    // One that sleeps now and then, as much as the other waits, has time left.
    let mut ladder = ladder_of(&store([2.0, 0.2, 0.3, 0.4]), units.clone(), 6);
    contended(&mut ladder, 0, 0.07);
    ladder.steps.iter_mut().for_each(|step| step.usage[0].waiting = Some(Waiting::Share(0.01)));
    assert_eq!(diagnose(&ladder).answer, Answer::Unexplained);
    // One whose quota stops it is ready to run as well, and would run if it was given more.
    units[1].kind = Kind::CpuQuota;
    units[1].node = units[0].node.clone();
    let mut ladder = ladder_of(&store([2.0, 0.2, 0.3, 0.4]), units, 6);
    contended(&mut ladder, 0, 0.07);
    ladder
        .steps
        .iter_mut()
        .for_each(|step| step.usage[1] = Usage { waiting: Some(Waiting::Share(0.9)), ..step.usage[0] });
    let found = diagnose(&ladder);
    assert!(!matches!(&found.answer, Answer::Named { units, .. } if units.contains(&0)), "{found:?}");
}

#[test]
fn an_operation_that_need_not_wake_a_server_costs_it_less_and_the_ceiling_is_that_of_a_server_awake() {
    let mut named = 0;
    for (waking_ms, seed) in [(0.6, 1), (1.2, 2), (1.2, 3), (1.8, 4), (1.8, 5), (1.8, 6)] {
        let mut units = units();
        units[0].kind = Kind::Thread;
        // Long alone elsewhere, so that several loads lie below the plateau.
        let sleepy = Store { waking_s: vec![waking_ms / 1e3], delay_s: 0.03, ..store([2.0, 0.2, 0.3, 0.4]) };
        let found = diagnose(&ladder_of(&sleepy, units, seed));
        let one = found.candidates.iter().find(|one| one.unit == 0).unwrap();
        let off = one.demand.ceiling_per_s() * 2e-3 - 1.0;
        match &found.answer {
            Answer::Named { units, .. } => {
                assert!(units == &[0] && off.abs() < 0.12, "{waking_ms} {seed}: {off}: {found:?}");
                named += 1;
            }
            answer => assert_eq!(*answer, Answer::Unexplained, "{found:?}"),
        }
        // By a line alone the ceiling of one that sleeps a lot would be far too low.
        if waking_ms > 1.0 {
            assert!(one.demand.waking > 0.0, "{waking_ms} {seed}: {one:?}");
        }
    }
    assert!(named >= 4, "{named}");
}

#[test]
fn a_thread_or_quota_that_does_more_at_once_the_more_waits_is_named_and_its_ceiling_is_in_the_interval() {
    for kind in [Kind::Thread, Kind::CpuQuota] {
        let mut unpredicted = 0;
        for (saved, seed) in [(0.15, 1), (0.2, 2), (0.25, 3), (0.3, 4), (0.3, 5)] {
            let mut units = units();
            units[0].kind = kind;
            // Long alone elsewhere, so that several loads lie below the plateau.
            let batches = Store { saved, delay_s: 0.03, ..store([2.0, 0.2, 0.3, 0.4]) };
            let mut ladder = ladder_of(&batches, units, seed);
            for step in &mut ladder.steps {
                let busy = step.usage[0].busy.unwrap();
                let waits = if kind == Kind::Thread { 0.0 } else { busy.powi(4) };
                step.usage[0].waiting = Some(Waiting::Share(waits));
            }
            let found = diagnose(&ladder);
            let Answer::Named { units, confidence } = &found.answer else { panic!("{saved}: {found:?}") };
            assert_eq!(units, &[0], "{saved}: {found:?}");
            let one = found.candidates.iter().find(|one| one.unit == 0).unwrap();
            // What it costs while it is full is what was made.
            let Some(seconds) = one.when_full else { continue };
            unpredicted += 1;
            let truth = 2e-3 * (1.0 - saved);
            assert!((seconds / truth - 1.0).abs() < 0.08, "{seconds} for {truth}");
            assert!(*confidence == Confidence::Medium && seconds < one.demand.seconds, "{found:?}");
            let (value, low, high) = one.forecast_per_s().unwrap();
            let plateau = found.plateau_per_s.unwrap();
            assert!(low <= plateau && plateau <= high && low < high, "{plateau} of {value} [{low}, {high}]");
            // Nearer than the straight line, which knows of no batches.
            let off = |per_s: f64| (per_s / plateau).ln().abs();
            assert!(off(value) <= off(one.demand.ceiling_per_s()) + 0.01, "{value} for {plateau}");
            let said = say(&ladder, &found);
            assert!(said.text.contains("costs that fall with the load (waking "), "{said:?}");
        }
        assert!(unpredicted >= 2, "{kind:?}: {unpredicted}");
    }
}

/// Shares of its periods in which a quota stops its group: all where it is used up, and few where it is not.
fn stopped_where_full(ladder: &mut Ladder) {
    for step in &mut ladder.steps {
        step.usage[0].waiting = step.usage[0].busy.map(|busy| Waiting::Share(busy.powi(4)));
    }
}

#[test]
fn a_quota_that_stops_its_group_where_it_is_full_is_named_however_much_less_an_operation_costs_it_there() {
    let mut units = units();
    units[0].kind = Kind::CpuQuota;
    let batches = |saved: f64| Store { saved, delay_s: 0.03, ..store([2.0, 0.2, 0.3, 0.4]) };
    let mut far = 0;
    for (saved, seed) in [(0.42, 1), (0.45, 2), (0.48, 3), (0.5, 4), (0.52, 5)] {
        let mut ladder = ladder_of(&batches(saved), units.clone(), seed);
        stopped_where_full(&mut ladder);
        let found = diagnose(&ladder);
        let Answer::Named { units, confidence } = &found.answer else { panic!("{saved}: {found:?}") };
        assert_eq!(
            (units.as_slice(), *confidence),
            ([0].as_slice(), Confidence::Medium),
            "{saved}: {found:?}"
        );
        let one = found.candidates.iter().find(|one| one.unit == 0).unwrap();
        let truth = 2e-3 * (1.0 - saved);
        assert!(one.when_full.is_some_and(|seconds| (seconds / truth - 1.0).abs() < 0.08), "{found:?}");
        far += usize::from(found.plateau_per_s.unwrap() > 1.5 * one.demand.ceiling_per_s());
        // Stopped at every load, it is filled by something else; where nobody counts it, nothing is known.
        for waiting in [Some(Waiting::Share(1.0)), None] {
            let mut other = ladder.clone();
            other.steps.iter_mut().for_each(|step| step.usage[0].waiting = waiting);
            let is_near = found.plateau_per_s.unwrap() <= 1.5 * one.demand.ceiling_per_s();
            let answer = diagnose(&other).answer;
            assert!(is_near || !matches!(answer, Answer::Named { .. }), "{saved} {waiting:?}: {answer:?}");
        }
    }
    assert!(far >= 2, "{far}");
    // A thread counts no periods: 1.5 times are the most for one.
    let mut threads = units.clone();
    threads[0].kind = Kind::Thread;
    let mut ladder = ladder_of(&batches(0.55), threads, 4);
    ladder.steps.iter_mut().for_each(|step| step.usage[0].waiting = Some(Waiting::Share(0.0)));
    assert!(!matches!(diagnose(&ladder).answer, Answer::Named { .. }));
}

#[test]
fn a_quota_is_not_named_where_something_else_lets_no_more_through() {
    let mut units = units();
    units[0].kind = Kind::CpuQuota;
    let batches = Store { saved: 0.5, delay_s: 0.03, ..store([2.0, 0.2, 0.3, 0.4]) };
    let with = |store: &Store, hidden: Option<usize>, seed: u64| {
        let mut ladder = ladder_of(store, units.clone(), seed);
        stopped_where_full(&mut ladder);
        if let Some(hidden) = hidden {
            ladder.steps.iter_mut().for_each(|step| step.usage[hidden] = Usage::default());
            ladder.idle[hidden] = None;
        }
        diagnose(&ladder)
    };
    let unnamed =
        |found: &cosmark_capacity::bottleneck::Diagnosis| !matches!(found.answer, Answer::Named { .. });
    for seed in 1..=4 {
        // A lock beside it, at which the quota is used to 60 %, and workers that let in twelve.
        let locked = Store { demands_s: vec![2e-3, 3.2e-3, 3e-4, 4e-4], ..batches.clone() };
        let found = with(&locked, Some(1), seed);
        assert!(unnamed(&found), "{found:?}");
        let found = with(&Store { slots: 12, ..batches.clone() }, None, seed);
        assert!(unnamed(&found), "{found:?}");
        // A disk that is nearly as full leaves it open which of them it is.
        let rivals = Store { demands_s: vec![2e-3, 2e-4, 3e-4, 8e-4], ..batches.clone() };
        let found = with(&rivals, None, seed);
        assert!(unnamed(&found), "{found:?}");
    }
}

/// A gateway that may use 0.15 processors, as one of Ceph: full from half of what it comes to in the end.
fn gateway(stopped_at_low_loads: f64, quota_used: f64) -> Ladder {
    let rows = [
        (1.0, 38.0, 0.44, stopped_at_low_loads),
        (2.0, 70.0, 0.80, 0.4),
        (4.0, 92.0, 0.99, 0.9),
        (8.0, 121.0, 1.0, 0.97),
        (16.0, 151.0, 1.0, 1.0),
        (32.0, 178.0, 1.0, 1.0),
        (64.0, 182.0, 1.0, 1.0),
        (96.0, 181.0, 1.0, 1.0),
    ];
    let step = |(workers, rate, busy, stopped): (f64, f64, f64, f64)| {
        let usage = |busy: f64, waiting| Usage { busy: Some(busy), waiting, ..Usage::default() };
        Step {
            throughput_per_s: rate,
            in_flight: workers,
            service_s: workers / rate,
            client_clear: true,
            usage: vec![
                usage(busy * quota_used, Some(Waiting::Share(if quota_used < 1.0 { 0.0 } else { stopped }))),
                usage(0.1 + 0.3 * rate / 181.0, Some(Waiting::Share(0.05))),
            ],
            ..Step::default()
        }
    };
    Ladder {
        units: vec![
            unit("ceph1", "gateway", Kind::CpuQuota, "radosgw"),
            unit("ceph1", "gateway", Kind::Machine, "cpu"),
        ],
        idle: vec![Some(0.0), Some(0.1)],
        steps: rows.map(step).into(),
    }
}

#[test]
fn a_gateway_whose_operations_cost_half_under_load_is_named_by_the_periods_in_which_it_was_stopped() {
    let found = diagnose(&gateway(0.03, 1.0));
    assert!(matches!(&found.answer, Answer::Named { units, .. } if units == &[0]), "{found:?}");
    let one = found.candidates.iter().find(|one| one.unit == 0).unwrap();
    assert!(found.plateau_per_s.unwrap() > 1.7 * one.demand.ceiling_per_s(), "{found:?}");
    let (_, low, high) = one.forecast_per_s().unwrap();
    assert!(low < 181.0 && 181.0 < high, "{low} to {high}");
    assert!(say(&gateway(0.03, 1.0), &found).text.contains("predicted from these by costs that fall"));
    // Of two steps below 60 % nothing can be seen to fall.
    let mut few = gateway(0.03, 1.0);
    few.steps.remove(1);
    let found = diagnose(&few);
    assert!(matches!(&found.answer, Answer::Named { units, .. } if units == &[0]), "{found:?}");
    let one = found.candidates.iter().find(|one| one.unit == 0).unwrap();
    assert_eq!(one.forecast_per_s(), None);
    assert!(say(&few, &found).text.contains("no ceiling is predicted"), "{:?}", say(&few, &found));
    for (stopped, used) in [(0.7, 1.0), (0.03, 0.6)] {
        let found = diagnose(&gateway(stopped, used));
        assert!(!matches!(found.answer, Answer::Named { .. }), "{stopped} {used}: {found:?}");
    }
}

/// OSDs under a quota, whose operations cost the same until it stops them, and then ever less of it.
fn osds() -> Ladder {
    let rows = [
        (1.0, 25.0, 0.25, 0.02),
        (2.0, 50.0, 0.5, 0.1),
        (3.0, 75.0, 0.75, 0.3),
        (4.0, 95.0, 0.95, 0.45),
        (8.0, 130.0, 1.0, 0.95),
        (16.0, 160.0, 1.0, 1.0),
        (32.0, 181.0, 1.0, 1.0),
        (64.0, 182.0, 1.0, 1.0),
        (96.0, 181.0, 1.0, 1.0),
    ];
    let step = |(workers, rate, busy, stopped): (f64, f64, f64, f64)| Step {
        throughput_per_s: rate,
        in_flight: workers,
        service_s: workers / rate,
        client_clear: true,
        usage: vec![Usage { busy: Some(busy), waiting: Some(Waiting::Share(stopped)), ..Usage::default() }],
        ..Step::default()
    };
    Ladder {
        units: vec![unit("ceph1", "storage", Kind::CpuQuota, "osds")],
        idle: vec![Some(0.0)],
        steps: rows.map(step).into(),
    }
}

/// Those of a test bed, as measured: without any operation they use more than a third of their quota, few workers had somewhat
/// more done by the clock than in turn, and many have nearly three times as much done with what was full all along.
fn osds_of_a_bed() -> Ladder {
    let rows = [
        (0.12, 6.0, 0.40, 0.17),
        (0.19, 8.9, 0.53, 0.27),
        (0.23, 12.0, 0.61, 0.23),
        (0.75, 14.9, 0.82, 0.57),
        (0.78, 18.0, 0.87, 0.61),
        (2.0, 15.4, 0.92, 1.0),
        (4.0, 20.1, 0.94, 1.0),
        (8.0, 23.2, 0.96, 1.0),
        (16.0, 31.3, 0.97, 1.0),
        (32.0, 38.4, 0.98, 1.0),
        (64.0, 41.5, 0.99, 1.0),
        (96.0, 42.3, 0.99, 1.0),
    ];
    let step = |(in_flight, rate, busy, stopped): (f64, f64, f64, f64)| Step {
        throughput_per_s: rate,
        in_flight,
        service_s: in_flight / rate,
        client_clear: true,
        usage: vec![Usage { busy: Some(busy), waiting: Some(Waiting::Share(stopped)), ..Usage::default() }],
        ..Step::default()
    };
    Ladder { idle: vec![Some(0.387)], steps: rows.map(step).into(), ..osds() }
}

#[test]
fn a_quota_that_is_full_from_about_the_predicted_ceiling_on_is_named() {
    let found = diagnose(&osds_of_a_bed());
    assert!(matches!(&found.answer, Answer::Named { units, .. } if units == &[0]), "{found:?}");
    assert!(found.plateau_per_s.unwrap() > 1.5 * found.candidates[0].demand.ceiling_per_s(), "{found:?}");
    // One that is full at half of that ceiling is full of something else.
    let mut polled = osds_of_a_bed();
    polled.steps[1].usage[0] = polled.steps[7].usage[0];
    let found = diagnose(&polled);
    assert!(!matches!(found.answer, Answer::Named { .. }), "{found:?}");
}

#[test]
fn a_quota_of_which_an_operation_takes_most_of_a_period_stops_its_group_as_often_as_it_is_used() {
    // At the load at which it is used to 65 % it stops its group in so many periods; so much of it is used beyond.
    let said = |stopped: f64, used: f64| {
        let mut ladder = osds();
        let mut between = ladder.steps[1].clone();
        (between.throughput_per_s, between.in_flight) = (65.0, 2.6);
        between.usage[0].busy = Some(0.65);
        between.usage[0].waiting = Some(Waiting::Share(stopped));
        ladder.steps.insert(2, between);
        ladder.steps[5..].iter_mut().for_each(|step| step.usage[0].busy = Some(used));
        diagnose(&ladder)
    };
    for stopped in [0.3, 0.6] {
        let found = said(stopped, 1.0);
        assert!(
            matches!(&found.answer, Answer::Named { units, .. } if units == &[0]),
            "{stopped}: {found:?}"
        );
    }
    // More often than it was used, or with time left where throughput is level.
    for (stopped, used) in [(0.69, 1.0), (0.6, 0.93)] {
        let found = said(stopped, used);
        assert_eq!(found.answer, Answer::Unexplained, "{stopped} {used}: {found:?}");
    }
}

#[test]
fn a_ceiling_that_the_low_steps_did_not_predict_is_that_of_the_cost_where_the_unit_is_full() {
    let ladder = osds();
    let found = diagnose(&ladder);
    assert!(matches!(&found.answer, Answer::Named { units, .. } if units == &[0]), "{found:?}");
    let plateau = found.plateau_per_s.unwrap();
    let Some(Reported::WhenFull(ceiling)) = found.candidates[0].reported(plateau) else {
        panic!("{found:?}")
    };
    assert!((ceiling / plateau - 1.0).abs() < 0.02, "{ceiling} for {plateau}");
    let text = say(&ladder, &found).text;
    assert!(text.contains("5.52 ms where it is full, 45 % less than the 10.0"), "{text}");
    assert!(text.contains("ceiling 181/s by the former"), "{text}");
    // A part of each processor's slice may be left of a quota that stops its group in every period: it is used up all the same.
    let mut slices = ladder.clone();
    for usage in slices.steps.iter_mut().skip(4).flat_map(|step| &mut step.usage) {
        usage.busy = Some(0.92);
    }
    let found = diagnose(&slices);
    assert!(matches!(&found.answer, Answer::Named { units, .. } if units == &[0]), "{found:?}");
    let Some(Reported::WhenFull(ceiling)) = found.candidates[0].reported(plateau) else {
        panic!("{found:?}")
    };
    assert!((ceiling / plateau - 1.0).abs() < 0.02, "{ceiling} for {plateau}");
    // Whatever is named, its ceiling lies within a tenth of what it came to.
    let mut units = units();
    units[0].kind = Kind::CpuQuota;
    for (saved, seed) in [(0.0, 1), (0.15, 2), (0.3, 3), (0.45, 4), (0.52, 5)] {
        let mut ladder =
            ladder_of(&Store { saved, delay_s: 0.03, ..store([2.0, 0.2, 0.3, 0.4]) }, units.clone(), seed);
        stopped_where_full(&mut ladder);
        let found = diagnose(&ladder);
        let Answer::Named { units, .. } = &found.answer else { continue };
        let plateau = found.plateau_per_s.unwrap();
        let one = found.candidates.iter().find(|one| units.contains(&one.unit)).unwrap();
        let (Reported::Predicted(per_s, ..) | Reported::WhenFull(per_s)) = one.reported(plateau).unwrap();
        assert!((per_s / plateau - 1.0).abs() <= 0.1, "{saved}: {per_s} for {plateau}");
    }
}

/// A unit that is busy while any operation is under way, in a store that lets `slots` of them in, each for `seconds`: loads by
/// the clock first, whose number under way is Poisson's, then closed loops.
fn never_idle_under_load(kind: Kind, slots: usize, seconds: f64, waits: f64) -> Ladder {
    let most = slots as f64 / seconds;
    let step = |throughput_per_s: f64, in_flight: f64, busy: f64| Step {
        throughput_per_s,
        in_flight,
        service_s: in_flight / throughput_per_s,
        client_clear: true,
        usage: vec![Usage {
            busy: Some(busy * (1.0 - waits)),
            waiting: Some(Waiting::Share(if kind == Kind::Thread { busy * waits } else { busy.powi(4) })),
            ..Usage::default()
        }],
        ..Step::default()
    };
    let by_the_clock = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6].map(|share| {
        let under_way = share * slots as f64;
        step(share * most, under_way, 1.0 - (-under_way).exp())
    });
    let loops = LOADS.iter().map(|workers| {
        let rate = most.min(*workers as f64 / seconds);
        // Each a little more than the one before, as batches give it.
        step(rate * (1.0 + 1e-4 * *workers as f64), *workers as f64, 1.0)
    });
    Ladder {
        units: vec![unit("proxy1", "proxy", kind, "one")],
        idle: vec![Some(0.0)],
        steps: by_the_clock.into_iter().chain(loops).collect(),
    }
}

#[test]
fn what_is_only_never_idle_under_load_is_not_taken_for_one_that_works_in_batches() {
    for kind in [Kind::Thread, Kind::CpuQuota, Kind::Core] {
        for slots in 2..=8 {
            for waits in [0.0, 0.06] {
                let found = diagnose(&never_idle_under_load(kind, slots, 0.01, waits));
                assert!(!matches!(found.answer, Answer::Named { .. }), "{kind:?} {slots}: {found:?}");
            }
        }
    }
}

#[test]
fn one_that_works_in_batches_is_not_named_beside_another_that_is_as_full() {
    let mut units = units();
    units[0].kind = Kind::Thread;
    let batches = Store { saved: 0.3, delay_s: 0.03, ..store([2.0, 0.2, 0.3, 1.35]) };
    for seed in 1..=4 {
        let mut ladder = ladder_of(&batches, units.clone(), seed);
        ladder.steps.iter_mut().for_each(|step| step.usage[0].waiting = Some(Waiting::Share(0.0)));
        let found = diagnose(&ladder);
        assert!(!matches!(found.answer, Answer::Named { .. }), "{found:?}");
    }
    // Nor where the processors that it runs on are full.
    let batches = Store { saved: 0.3, delay_s: 0.03, ..store([2.0, 0.2, 0.3, 0.4]) };
    for (busy, named) in [(0.96, false), (0.8, true)] {
        let mut ladder = ladder_of(&batches, units.clone(), 4);
        ladder.units[1] = unit("proxy1", "proxy", Kind::Machine, "cpu");
        let plateau = ladder.plateau().unwrap();
        for step in &mut ladder.steps {
            step.usage[0].waiting = Some(Waiting::Share(0.0));
            step.usage[1].busy = Some(busy * (step.throughput_per_s / plateau).powi(2).min(1.0));
        }
        let found = diagnose(&ladder);
        assert_eq!(matches!(found.answer, Answer::Named { .. }), named, "{busy}: {found:?}");
    }
}

#[test]
fn a_machine_that_others_fill_is_never_the_limit() {
    let mut ladder = ladder_of(&Store { slots: 2, ..store([0.3, 0.2, 0.35, 0.4]) }, units(), 6);
    let plateau = ladder.plateau().unwrap();
    for step in &mut ladder.steps {
        step.usage[0].busy = Some(0.99 + 0.01 * step.throughput_per_s / plateau);
    }
    ladder.idle[0] = Some(0.99);
    let found = diagnose(&ladder);
    assert_eq!(found.answer, Answer::Unexplained, "{found:?}");
}

#[test]
fn a_quota_is_named_only_if_its_group_was_stopped_most_of_the_time() {
    let mut units = units();
    units[0].kind = Kind::CpuQuota;
    for (stopped, named) in [(0.98, true), (0.2, false)] {
        let mut ladder = ladder_of(&store([2.0, 0.2, 0.3, 0.4]), units.clone(), 6);
        for step in &mut ladder.steps {
            step.usage[0].waiting = step.usage[0].busy.map(|busy| Waiting::Share(busy * stopped));
        }
        let found = diagnose(&ladder);
        assert_eq!(matches!(&found.answer, Answer::Named { units, .. } if units == &[0]), named, "{found:?}");
    }
}

#[test]
fn a_resource_that_was_not_measured_is_not_called_idle_and_one_that_is_held_up_lets_no_other_be_named() {
    let mut units = units();
    units[0].kind = Kind::CpuQuota;
    let with = |others_ms: f64, stopped: Option<f64>| {
        let mut ladder = ladder_of(&store([2.0, 0.2, 0.3, others_ms]), units.clone(), 6);
        // Where throughput begins to be level, a group is stopped less often than beyond.
        let knee = ladder.plateau().unwrap() * 0.985;
        let at = ladder.steps.iter().position(|step| step.throughput_per_s >= knee).unwrap();
        for (place, step) in ladder.steps.iter_mut().enumerate() {
            let share = stopped.map(|share| if place <= at { share * 0.4 } else { share });
            step.usage[0] = Usage { waiting: share.map(Waiting::Share), ..Usage::default() };
        }
        ladder.idle[0] = None;
        let found = diagnose(&ladder);
        let text = say(&ladder, &found).text;
        (found, text)
    };
    for stopped in [Some(0.9), None] {
        let (found, text) = with(0.4, stopped);
        assert_eq!(
            (&found.answer, found.unmeasured.as_slice()),
            (&Answer::Unexplained, [0].as_slice()),
            "{text}"
        );
        assert!(text.contains("not known") && !text.contains("busier than"), "{text}");
    }
    let (found, text) = with(0.4, Some(0.2));
    assert!(matches!(found.answer, Answer::Limit(_)) && found.unmeasured.is_empty(), "{text}");
    assert!(!text.contains("busier than 0 %"), "{text}");
    // Another unit that is as full may be named, but not beside a quota that stopped its group.
    for (stopped, may_be_named) in [(0.9, false), (0.2, true)] {
        let (found, text) = with(2.4, Some(stopped));
        assert_eq!(matches!(found.answer, Answer::Named { .. }), may_be_named, "{text}");
    }
}

#[test]
fn the_laws_hold_on_what_is_simulated() {
    let store = store([0.3, 0.2, 0.35, 1.0]);
    for workers in [1, 4, 16] {
        let seen = simulate(&store, workers, 30_000, 11);
        let under_way = seen.throughput_per_s * seen.service_s;
        assert!((under_way / workers as f64 - 1.0).abs() < 0.02, "N = X R: {under_way} for {workers}");
        for ((busy, demand), idle) in seen.busy.iter().zip(&store.demands_s).zip(&store.idle) {
            let by_law = idle + seen.throughput_per_s * demand;
            assert!((busy - by_law).abs() < 0.04, "U = X D: {busy} for {by_law}");
        }
    }
}

#[test]
fn mean_value_analysis_predicts_what_is_simulated() {
    let store = Store { idle: vec![0.0; 4], ..store([0.6, 0.2, 0.9, 1.0]) };
    let mut stations: Vec<Station> =
        store.demands_s.iter().map(|d| Station { demands_s: vec![*d], servers: 1 }).collect();
    stations.push(Station { demands_s: vec![store.delay_s], servers: 0 });
    for workers in [1_u32, 3, 8, 20] {
        let seen = simulate(&store, workers as usize, 30_000, 5);
        let by_theory = closed(&stations, &[workers], &[0.0]).unwrap();
        let (rate, time) = (by_theory.throughput_per_s[0], by_theory.response_s[0]);
        assert!(
            (seen.throughput_per_s / rate - 1.0).abs() < 0.04,
            "{workers}: {} {rate}",
            seen.throughput_per_s
        );
        assert!((seen.service_s / time - 1.0).abs() < 0.04, "{workers}: {} {time}", seen.service_s);
    }
}

#[test]
fn the_sentence_has_the_name_the_numbers_the_next_limit_and_what_would_refute_it() {
    let ladder = ladder_of(&store([0.3, 0.2, 0.35, 2.0]), units(), 2);
    let said = say(&ladder, &diagnose(&ladder));
    assert!(said.text.starts_with("disk sda of storage1 (storage): the bottleneck ("), "{said:?}");
    assert!(said.text.contains("busy; an operation costs it ") && said.text.contains("observed"), "{said:?}");
    assert!(said.second.as_ref().is_some_and(|next| next.starts_with("next would be ")), "{said:?}");
    assert!(said.refute.as_ref().is_some_and(|text| text.contains("twice the disks")), "{said:?}");
    let limited = ladder_of(&Store { slots: 1, ..store([0.3, 0.2, 0.35, 0.4]) }, units(), 2);
    let said = say(&limited, &diagnose(&limited));
    assert!(said.text.contains("no sampled resource explains") && said.text.contains("one lock"), "{said:?}");
    assert_eq!((said.second, said.refute), (None, None));
}
