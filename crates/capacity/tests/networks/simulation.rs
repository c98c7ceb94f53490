//! Closed queueing networks, event by event, and what a sampler of the store's machines would have seen of them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use cosmark_capacity::ladder::{Kind, Ladder, Step, Unit, Usage, Waiting};

/// splitmix64: the same numbers on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    pub fn below(&mut self, n: usize) -> usize {
        ((self.uniform() * n as f64) as usize).min(n - 1)
    }

    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.uniform()).ln()
    }
}

/// What a sampler sees of a station.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Sampled {
    /// Processors of one machine, as many as the station has servers: one unit together and one each. What waits is a share
    /// of the time (PSI).
    Processors,
    /// One request after the other, and their queue.
    Disk,
    /// As many at once as it has servers, and still busy whenever one is under way.
    ParallelDisk,
    /// The thread runs or it does not; its own run queue says nothing.
    Thread,
    /// Processor time of a group: how many periods it was stopped in.
    Quota,
    /// Bytes, and drops, of which there are none.
    Link,
    /// Nobody looks.
    Hidden,
}

#[derive(Clone, Debug)]
pub struct Station {
    pub sampled: Sampled,
    pub servers: usize,
    /// Seconds of one server for each operation.
    pub demand_s: f64,
    /// Share of its time that something else than operations takes.
    pub background: f64,
    /// Of the time that a thread would run, the share that it waits for its processor.
    pub contention: f64,
    /// The share of its demand that an operation does not cost where [`BATCH`] others wait, and less of it where fewer do.
    pub saved: f64,
}

/// So many operations that wait save all that can be saved.
const BATCH: f64 = 4.0;

impl Station {
    pub fn capacity_per_s(&self) -> f64 {
        self.servers as f64 * (1.0 - self.background) / (self.demand_s * (1.0 - self.saved))
    }
}

/// A store. Operations wait nowhere for `delay_s`, then visit the stations one after the other.
#[derive(Clone, Debug)]
pub struct Network {
    pub stations: Vec<Station>,
    pub delay_s: f64,
    /// So many operations are let in at once.
    pub slots: Option<usize>,
    /// So many are let in per second, evenly.
    pub rate_per_s: Option<f64>,
}

/// Sums over the window for one station.
#[derive(Clone, Default)]
struct Sums {
    /// Time in which more than k are there.
    more_than: Vec<f64>,
    inside: f64,
    waiting: f64,
}

pub struct Seen {
    pub throughput_per_s: f64,
    pub service_s: f64,
    window_s: f64,
    sums: Vec<Sums>,
}

impl Seen {
    /// Mean share of its servers that work for operations.
    pub fn used(&self, station: usize, servers: usize) -> f64 {
        let more_than = &self.sums[station].more_than;
        more_than.iter().take(servers).sum::<f64>() / servers as f64 / self.window_s
    }
}

const DOOR: usize = usize::MAX;
const ADMITTED: usize = usize::MAX - 1;

struct Run<'a> {
    network: &'a Network,
    random: Random,
    now: f64,
    /// (time as bits, order, worker, place whose service ends)
    events: BinaryHeap<Reverse<(u64, usize, usize, usize)>>,
    order: usize,
    queues: Vec<VecDeque<usize>>,
    door: VecDeque<usize>,
    inside: usize,
    next_admission: f64,
}

impl Run<'_> {
    fn after(&mut self, seconds: f64, worker: usize, place: usize) {
        self.order += 1;
        self.events.push(Reverse(((self.now + seconds).to_bits(), self.order, worker, place)));
    }

    fn admit(&mut self) {
        while self.inside < self.network.slots.unwrap_or(usize::MAX) {
            let Some(worker) = self.door.pop_front() else { return };
            self.inside += 1;
            let mut wait = 0.0;
            if let Some(rate) = self.network.rate_per_s {
                self.next_admission = self.next_admission.max(self.now) + 1.0 / rate;
                wait = self.next_admission - self.now;
            }
            self.after(wait, worker, ADMITTED);
        }
    }

    fn serve(&mut self, station: usize, worker: usize) {
        let own = &self.network.stations[station];
        let waiting = self.queues[station].len().saturating_sub(own.servers) as f64;
        let demand_s = own.demand_s * (1.0 - own.saved * (waiting / BATCH).min(1.0));
        let time = self.random.exponential(demand_s / (1.0 - own.background));
        self.after(time, worker, station);
    }

    fn arrive(&mut self, station: usize, worker: usize) {
        self.queues[station].push_back(worker);
        if self.queues[station].len() <= self.network.stations[station].servers {
            self.serve(station, worker);
        }
    }

    fn leave(&mut self, station: usize, worker: usize) {
        let servers = self.network.stations[station].servers;
        let place = self.queues[station].iter().take(servers).position(|one| *one == worker).unwrap();
        self.queues[station].remove(place);
        if self.queues[station].len() >= servers {
            let next = self.queues[station][servers - 1];
            self.serve(station, next);
        }
    }
}

/// A closed loop of `workers`, `operations` of them after a tenth for warming up.
pub fn simulate(network: &Network, workers: usize, operations: usize, seed: u64) -> Seen {
    let count = network.stations.len();
    let mut run = Run {
        network,
        random: Random(seed),
        now: 0.0,
        events: BinaryHeap::new(),
        order: 0,
        queues: vec![VecDeque::new(); count],
        door: (0..workers).collect(),
        inside: 0,
        next_admission: 0.0,
    };
    let mut began = vec![0.0; workers];
    let (mut done, mut since, mut service) = (0, 0.0, 0.0);
    let warm = operations / 10;
    let of = |station: &Station| Sums { more_than: vec![0.0; station.servers], ..Sums::default() };
    let mut sums: Vec<Sums> = network.stations.iter().map(of).collect();
    loop {
        run.admit();
        let Reverse((time, _, worker, place)) = run.events.pop().unwrap();
        let (time, before) = (f64::from_bits(time), run.now);
        run.now = time;
        if done >= warm {
            for (own, queue) in sums.iter_mut().zip(&run.queues) {
                let servers = own.more_than.len();
                own.more_than.iter_mut().take(queue.len()).for_each(|sum| *sum += time - before);
                own.inside += queue.len() as f64 * (time - before);
                own.waiting += if queue.len() > servers { time - before } else { 0.0 };
            }
        } else {
            since = time;
        }
        let onward = match place {
            ADMITTED => {
                let delay = run.random.exponential(network.delay_s);
                run.after(delay, worker, DOOR);
                continue;
            }
            DOOR => 0,
            station => {
                run.leave(station, worker);
                station + 1
            }
        };
        if onward < count {
            run.arrive(onward, worker);
            continue;
        }
        run.inside -= 1;
        done += 1;
        if done > warm {
            service += time - began[worker];
        }
        if done >= operations {
            let window_s = time - since;
            let counted = (done - warm) as f64;
            return Seen {
                throughput_per_s: counted / window_s,
                service_s: service / counted,
                window_s,
                sums,
            };
        }
        began[worker] = time;
        run.door.push_back(worker);
    }
}

fn unit(at: usize, kind: Kind, name: &str) -> Unit {
    Unit { node: format!("n{at}"), role: format!("r{at}"), kind, name: name.to_owned() }
}

/// The units that a sampler has of a station, and what each would show.
fn sampled(at: usize, station: &Station, seen: &Seen) -> Vec<(Unit, Usage)> {
    let own = &seen.sums[at];
    let share = |time: f64| time / seen.window_s;
    let busy = |used: f64| Some(station.background + (1.0 - station.background) * used);
    let usage = |used: f64, waiting| Usage { busy: busy(used), waiting, ..Usage::default() };
    let all = seen.used(at, station.servers);
    let waited = share(own.waiting);
    let any = share(own.more_than[0]);
    match station.sampled {
        Sampled::Hidden => Vec::new(),
        Sampled::Processors => {
            let together = (unit(at, Kind::Machine, "cpu"), usage(all, Some(Waiting::Share(waited))));
            let each = (0..station.servers).map(|core| {
                let used = share(own.more_than[core]);
                (unit(at, Kind::Core, &format!("cpu{core}")), usage(used, None))
            });
            std::iter::once(together).chain(each).collect()
        }
        Sampled::Disk | Sampled::ParallelDisk => {
            let queue = Waiting::Queue(share(own.inside));
            vec![(unit(at, Kind::Disk, "sda"), usage(any, Some(queue)))]
        }
        Sampled::Thread => {
            // Of the time that it would run it waits a part for its processor, which others use too.
            let waits = any * station.contention;
            vec![(unit(at, Kind::Thread, "server/1"), usage(any - waits, Some(Waiting::Share(waits))))]
        }
        Sampled::Quota => {
            vec![(unit(at, Kind::CpuQuota, "g"), usage(all, Some(Waiting::Share(waited))))]
        }
        Sampled::Link => {
            vec![(unit(at, Kind::NetworkTransmit, "eth0"), usage(all, Some(Waiting::Events(0.0))))]
        }
    }
}

/// A ladder over a network, with so much noise on each number that is measured (a share of it).
pub fn ladder(network: &Network, loads: &[usize], operations: usize, noise: f64, seed: u64) -> Ladder {
    let mut random = Random(seed ^ 0x5eed);
    let mut noisy = move |value: f64| {
        let normal = (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
        value * (1.0 + noise * normal)
    };
    let mut ladder = Ladder::default();
    for workers in loads {
        let seen = simulate(network, *workers, operations + 20 * workers, seed ^ *workers as u64);
        let stations = network.stations.iter().enumerate();
        let all: Vec<(Unit, Usage)> =
            stations.flat_map(|(at, station)| sampled(at, station, &seen)).collect();
        ladder.units = all.iter().map(|one| one.0.clone()).collect();
        let usage = all
            .into_iter()
            .map(|(_, usage)| Usage { busy: usage.busy.map(|busy| noisy(busy).clamp(0.0, 1.0)), ..usage });
        ladder.steps.push(Step {
            usage: usage.collect(),
            throughput_per_s: noisy(seen.throughput_per_s),
            in_flight: *workers as f64,
            service_s: seen.service_s,
            client_clear: true,
            ..Step::default()
        });
    }
    let idle = network.stations.iter().enumerate().flat_map(|(at, station)| {
        let units = ladder.units.iter().filter(move |unit| unit.node == format!("n{at}"));
        units.map(|_| Some(station.background)).collect::<Vec<_>>()
    });
    ladder.idle = idle.collect();
    ladder
}
