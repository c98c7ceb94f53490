//! The load of one stage on simulated time: workers of all drivers against one store, event after event. What they did goes
//! through the recorder that a load thread uses, by the rules of `engine/src/worker.rs`.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use cosmark_metrics::{OpSnapshot, Recorder, Sample, SlicePlan, Snapshot};
use cosmark_simstore::Op;
use cosmark_wire::StageOrder;
use cosmark_workload::choose::{Chooser, SizeChooser, unit};
use cosmark_workload::model::{Arrivals, Load, OpKind, Stage, WhenFull, Work, WorkKind, slice_of};
use cosmark_workload::share::{Slice, WorkerIndex, own_numbers, share_of_total};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::machine::Machine;
use crate::store::{Answer, Request, Store, exponential};

/// What the drivers' clocks say when the load of a stage begins.
pub const ORIGIN_NS: u64 = 100_000_000_000;
/// What is in flight at the end of the load may end for this long.
const DRAIN_S: f64 = 30.0;
/// An operation that takes longer fails.
const TIME_LIMIT_S: f64 = 60.0;
/// Of opening a connection, and of a TLS handshake.
const CONNECT_S: f64 = 0.000_3;
const HANDSHAKE_S: f64 = 0.001_5;

/// Nanoseconds on a driver's clock.
pub fn ns(at_s: f64) -> u64 {
    ORIGIN_NS + (at_s * 1e9).round() as u64
}

/// What one driver did of one work.
pub struct Share {
    pub driver: usize,
    pub work: usize,
    pub plan: SlicePlan,
    pub snapshots: Vec<Snapshot>,
    pub window_s: f64,
    pub began_s: (f64, f64),
    pub ended_s: f64,
    pub workers: u32,
}

/// One worker.
struct Worker {
    share: usize,
    rng: Xoshiro256PlusPlus,
    operations: Vec<Choosers>,
    /// Answers on its connection; `None` = it has none.
    connection: Option<u32>,
    current: Option<Current>,
    next_due_s: f64,
    /// Operations that it may still begin.
    left: Option<u64>,
}

struct Choosers {
    up_to: f64,
    containers: Option<Chooser>,
    objects: Option<Chooser>,
    sizes: Option<SizeChooser>,
}

/// An operation in flight.
#[derive(Clone, Copy)]
struct Current {
    op: u16,
    due_s: f64,
    sent_s: f64,
    delayed: bool,
    connect_s: f64,
    opened: bool,
    retried: bool,
    asked_bytes: u64,
    verify: bool,
    answer: Answer,
}

/// How the workers of a share come to their operations.
enum Pace {
    Closed,
    /// Seconds between two due times of a worker, and pause after an operation.
    Paced {
        period_s: Option<f64>,
        think_s: f64,
    },
    /// Arrivals that are not due yet, those that wait, free workers.
    Open {
        waiting: VecDeque<f64>,
        free: Vec<usize>,
        drops: bool,
    },
}

struct Loop {
    driver: usize,
    work: usize,
    plan: SlicePlan,
    recorder: Recorder,
    pace: Pace,
    stop_s: f64,
    workers: std::ops::Range<usize>,
    began_s: (f64, f64),
    ended_s: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Begin(usize),
    End(usize),
    Arrival(usize),
}

/// One stage.
pub struct StageLoad<'a> {
    stage: &'a Stage,
    store: &'a mut Store,
    machines: &'a mut [Machine],
    loops: Vec<Loop>,
    workers: Vec<Worker>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    number: u64,
    lengths: Vec<(usize, usize, u64)>,
    arrivals: Vec<VecDeque<f64>>,
}

/// Runs the load of `orders`, one of each driver, and gives what each of them did.
pub fn run(orders: &[StageOrder], store: &mut Store, machines: &mut [Machine], seed: u64) -> Vec<Share> {
    let stage = std::sync::Arc::clone(&orders[0].stage);
    let known = orders[0].lengths.iter().filter(|length| length.least_bytes == length.most_bytes);
    let mut load = StageLoad {
        lengths: known.map(|length| (length.work, length.op, length.least_bytes)).collect(),
        stage: &stage,
        store,
        machines,
        loops: Vec::new(),
        workers: Vec::new(),
        events: BinaryHeap::new(),
        number: 0,
        arrivals: Vec::new(),
    };
    for (driver, order) in orders.iter().enumerate() {
        for share in &order.shares {
            load.add(driver, share.work, share.first_worker, share.workers, seed);
        }
    }
    load.go();
    load.loops.into_iter().map(Loop::share).collect()
}

impl StageLoad<'_> {
    fn add(&mut self, driver: usize, index: usize, first: u32, workers: u32, seed: u64) {
        let work = &self.stage.works[index];
        let late_s = self.machines[driver].plant.late_s;
        let drivers = self.machines.len();
        let plan = slice_plan(self.stage, work);
        let stop_s =
            if plan.stop_ns == u64::MAX { f64::INFINITY } else { (plan.stop_ns - ORIGIN_NS) as f64 / 1e9 };
        let begin = self.workers.len();
        let pace = match &work.load {
            Load::Closed => Pace::Closed,
            Load::Paced { think_time, rate_per_worker } => Pace::Paced {
                period_s: rate_per_worker.map(|rate| 1.0 / rate),
                think_s: think_time.unwrap_or_default().as_secs_f64(),
            },
            Load::Open { when_full, .. } => Pace::Open {
                waiting: VecDeque::new(),
                free: (begin..begin + workers as usize).rev().collect(),
                drops: *when_full == WhenFull::Drop,
            },
        };
        let paced = !matches!(pace, Pace::Closed);
        let mut arrivals = VecDeque::new();
        if let Load::Open { arrivals: law, .. } = &work.load {
            // Poisson arrivals are independent on each driver, others are dealt out.
            let is_split = matches!(law, Arrivals::Poisson { .. });
            let law = match law {
                Arrivals::Poisson { rate_per_s } => {
                    let share = f64::from(workers) / f64::from(work.workers);
                    Arrivals::Poisson { rate_per_s: rate_per_s * share }
                }
                other => other.clone(),
            };
            let own = seed ^ (index as u64) << 8 ^ (driver as u64) << 16;
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(own);
            let mut number = 0;
            due_times(&law, stop_s, &mut rng, |due_s| {
                if (is_split || number % drivers == driver) && due_s >= late_s {
                    arrivals.push_back(due_s);
                }
                number += 1;
            });
        }
        let total = work.total_ops.or_else(|| (work.kind != WorkKind::Normal).then(|| special_total(work)));
        let at = self.loops.len();
        for index in first..first + workers {
            let place = WorkerIndex { index, total: work.workers };
            let rng = Xoshiro256PlusPlus::seed_from_u64(
                seed.wrapping_mul(0x9e37_79b9) ^ u64::from(index) << 20 ^ at as u64,
            );
            let mut worker = Worker {
                share: at,
                rng,
                operations: choosers(work, place),
                connection: None,
                current: None,
                next_due_s: late_s,
                left: total.map(|total| share_of_total(total, index, work.workers)),
            };
            if let Pace::Paced { period_s: Some(period_s), .. } = &pace {
                worker.next_due_s += period_s * f64::from(index) / f64::from(work.workers);
            }
            let begins_s = worker.next_due_s;
            self.workers.push(worker);
            if !matches!(pace, Pace::Open { .. }) {
                self.push(begins_s, Event::Begin(begin + (index - first) as usize));
            }
        }
        if let Some(first_s) = arrivals.front().copied() {
            self.push(first_s, Event::Arrival(at));
        }
        self.arrivals.push(arrivals);
        self.loops.push(Loop {
            driver,
            work: index,
            plan,
            recorder: Recorder::new(index as u16, work.operations.len(), paced, plan),
            pace,
            stop_s,
            workers: begin..begin + workers as usize,
            began_s: (late_s, late_s + 0.000_05 * f64::from(workers)),
            ended_s: 0.0,
        });
    }

    fn push(&mut self, at_s: f64, event: Event) {
        self.number += 1;
        self.events.push(Reverse((ns(at_s), self.number, event)));
    }

    fn go(&mut self) {
        while let Some(Reverse((at_ns, _, event))) = self.events.pop() {
            let at_s = (at_ns - ORIGIN_NS) as f64 / 1e9;
            let at = match event {
                Event::Begin(worker) | Event::End(worker) => self.workers[worker].share,
                Event::Arrival(at) => at,
            };
            let Loop { driver, stop_s, .. } = self.loops[at];
            let lost = self.machines[driver].plant.lost_at_s.is_some_and(|lost_s| at_s > lost_s);
            if lost || at_s > stop_s + DRAIN_S {
                continue;
            }
            match event {
                Event::Begin(worker) => self.begin(worker, at_s),
                Event::End(worker) => self.end(worker, at_s),
                Event::Arrival(at) => self.arrive(at, at_s),
            }
        }
        for at in 0..self.loops.len() {
            self.close(at);
        }
    }

    /// A worker of a loop without arrivals has time.
    fn begin(&mut self, worker: usize, at_s: f64) {
        let at = self.workers[worker].share;
        let Loop { driver, stop_s, .. } = self.loops[at];
        if at_s >= stop_s || self.workers[worker].left == Some(0) {
            return;
        }
        let sent_s = self.machines[driver].act(at_s, 0.5);
        let due_s = if matches!(self.loops[at].pace, Pace::Closed) {
            sent_s
        } else {
            self.workers[worker].next_due_s
        };
        // What the last operation made late is no lag of the client.
        self.send(worker, due_s, sent_s, at_s > due_s);
    }

    fn arrive(&mut self, at: usize, due_s: f64) {
        self.arrivals[at].pop_front();
        if let Some(next_s) = self.arrivals[at].front().copied() {
            self.push(next_s, Event::Arrival(at));
        }
        let driver = self.loops[at].driver;
        let own = &mut self.loops[at];
        let Pace::Open { waiting, free, drops } = &mut own.pace else { return };
        match free.pop() {
            Some(worker) => {
                let sent_s = self.machines[driver].act(due_s, 0.5);
                self.send(worker, due_s, sent_s, false);
            }
            None if *drops => {
                let is_due = own.plan.is_due_in_window(ns(due_s));
                own.roll(&self.workers, due_s);
                if let Some(sums) = own.recorder.op_mut(0) {
                    sums.missed += 1;
                    sums.intended += u64::from(is_due);
                }
            }
            None => waiting.push_back(due_s),
        }
    }

    fn send(&mut self, worker: usize, due_s: f64, sent_s: f64, delayed: bool) {
        let at = self.workers[worker].share;
        self.loops[at].roll(&self.workers, sent_s);
        if let Some(left) = &mut self.workers[worker].left {
            *left = left.saturating_sub(1);
        }
        let (work, driver) = (self.loops[at].work, self.loops[at].driver);
        let own = &mut self.workers[worker];
        let (op, container, object, bytes) = own.choose();
        let operation = &self.stage.works[work].operations[usize::from(op)];
        let length = self.lengths.iter().find(|length| (length.0, length.1) == (work, usize::from(op)));
        let request = Request {
            op: op_of(operation.kind),
            container,
            object,
            bytes,
            verify: operation.verify || operation.hash_check,
            length: length.map(|length| length.2),
        };
        let opened = own.connection.is_none();
        let machine = &mut self.machines[driver];
        let handshake_s = if self.store.has_tls() { HANDSHAKE_S } else { 0.0 };
        let connect_s = if opened { CONNECT_S + handshake_s + machine.plant.away_ms / 1000.0 } else { 0.0 };
        let retried = machine.retries();
        let way_s = machine.plant.away_ms / 1000.0 + if retried { 0.05 } else { 0.0 };
        let resent_s = machine.moved(sent_s, 0, bytes);
        let mut answer = self.store.serve(sent_s + connect_s, &request);
        answer.end_s += way_s + resent_s;
        answer.first_byte_s += way_s + resent_s;
        if answer.end_s - sent_s > TIME_LIMIT_S {
            answer.end_s = sent_s + TIME_LIMIT_S;
            answer.outcome = cosmark_metrics::Outcome::failed("timeout");
        }
        let own = &mut self.workers[worker];
        let answers = own.connection.unwrap_or(0) + 1;
        let closed = answer.closes || self.store.close_after().is_some_and(|most| answers >= most);
        own.connection = (!closed).then_some(answers);
        own.current = Some(Current {
            op,
            due_s,
            sent_s,
            delayed,
            connect_s,
            opened,
            retried,
            asked_bytes: bytes,
            verify: request.verify,
            answer,
        });
        self.push(answer.end_s, Event::End(worker));
    }

    fn end(&mut self, worker: usize, at_s: f64) {
        let at = self.workers[worker].share;
        let driver = self.loops[at].driver;
        let end_s = self.machines[driver].act(at_s, 0.5);
        self.record(worker, end_s);
        let own = &mut self.loops[at];
        own.ended_s = own.ended_s.max(end_s);
        match &mut own.pace {
            Pace::Closed => self.push(end_s, Event::Begin(worker)),
            Pace::Paced { period_s, think_s } => {
                let (next, think_s) = (&mut self.workers[worker].next_due_s, *think_s);
                *next = period_s.map_or(end_s + think_s, |period_s| *next + period_s);
                let begins_s = next.max(end_s + if period_s.is_some() { think_s } else { 0.0 });
                self.push(begins_s, Event::Begin(worker));
            }
            Pace::Open { waiting, free, .. } => match waiting.pop_front().filter(|_| end_s < own.stop_s) {
                Some(due_s) => {
                    let sent_s = self.machines[driver].act(end_s, 0.5);
                    self.send(worker, due_s, sent_s, true);
                }
                None => free.push(worker),
            },
        }
    }

    fn record(&mut self, worker: usize, end_s: f64) {
        let at = self.workers[worker].share;
        self.loops[at].roll(&self.workers, end_s);
        let Some(current) = self.workers[worker].current.take() else { return };
        let Current { op, due_s, sent_s, delayed, connect_s, opened, retried, asked_bytes, verify, answer } =
            current;
        let own = &mut self.loops[at];
        let plan = own.plan;
        let (is_ok, received) = (answer.outcome.is_ok(), if asked_bytes == 0 { answer.bytes } else { 0 });
        let driver = own.driver;
        self.machines[driver].moved(end_s.min(own.stop_s), received, 0);
        let sample = Sample {
            op,
            worker: worker as u32,
            due_ns: ns(due_s),
            sent_ns: ns(sent_s),
            first_byte_ns: if is_ok { ns(answer.first_byte_s.min(end_s)) } else { 0 },
            end_ns: ns(end_s),
            connect_ns: (connect_s * 1e9) as u64,
            bytes: answer.bytes,
            asked_bytes,
            outcome: answer.outcome,
            requests: 1 + u32::from(retried),
            retries: u32::from(retried),
            connections: u32::from(opened),
            ..Sample::default()
        };
        own.recorder.record(&sample);
        let is_open = matches!(own.pace, Pace::Open { .. });
        let is_paced = !matches!(own.pace, Pace::Closed);
        let corrupt = answer.outcome.label() == "corrupt_body";
        if let Some(sums) = own.recorder.op_mut(op) {
            sums.checked += u64::from(verify && (is_ok || corrupt));
            if is_paced {
                sums.delayed += u64::from(delayed);
                sums.intended += u64::from(is_open && plan.is_due_in_window(sample.due_ns));
                if !delayed {
                    sums.lag.record(sample.sent_ns.saturating_sub(sample.due_ns));
                }
            }
            if sample.end_ns > plan.window_end_ns && sample.due_ns <= plan.window_end_ns {
                sums.unfinished += 1;
                sums.unfinished_age.record(plan.window_end_ns - sample.due_ns);
            }
        }
    }

    /// What is still in flight is given up, what still waits was never sent.
    fn close(&mut self, at: usize) {
        let own = &mut self.loops[at];
        if self.machines[own.driver].plant.lost_at_s.is_some() {
            return;
        }
        let is_timed = own.stop_s.is_finite();
        let now_s = if is_timed { own.stop_s + DRAIN_S } else { own.ended_s };
        let in_flight = own.workers.clone().any(|worker| self.workers[worker].current.is_some());
        let now_s = if in_flight { now_s } else { own.ended_s.max(if is_timed { own.stop_s } else { 0.0 }) };
        own.roll(&self.workers, now_s);
        let (plan, is_open) = (own.plan, matches!(own.pace, Pace::Open { .. }));
        for worker in own.workers.clone() {
            let Some(current) = self.workers[worker].current.take() else { continue };
            own.recorder.give_up(current.op, ns(current.sent_s), ns(now_s));
            if let Some(sums) = own.recorder.op_mut(current.op) {
                enter_unfinished(sums, &plan, ns(current.due_s), ns(now_s), is_open);
            }
        }
        if let Pace::Open { waiting, .. } = &mut own.pace {
            let unsent: Vec<f64> = waiting.drain(..).collect();
            for due_s in unsent {
                if let Some(sums) = own.recorder.op_mut(0) {
                    enter_unfinished(sums, &plan, ns(due_s), ns(now_s), true);
                }
            }
        }
        own.ended_s = now_s;
        own.recorder.finish(ns(now_s) + 1);
    }
}

/// As `engine/src/worker.rs` has it.
fn enter_unfinished(sums: &mut OpSnapshot, plan: &SlicePlan, due_ns: u64, now_ns: u64, is_open: bool) {
    sums.intended += u64::from(is_open && plan.is_due_in_window(due_ns));
    if due_ns <= plan.window_end_ns {
        sums.unfinished += 1;
        sums.unfinished_age.record(plan.window_end_ns.min(now_ns).saturating_sub(due_ns));
    }
}

impl Loop {
    fn roll(&mut self, workers: &[Worker], now_s: f64) {
        let now_ns = ns(now_s);
        if !self.recorder.is_over(now_ns) {
            return;
        }
        let own = &workers[self.workers.clone()];
        self.recorder.roll(now_ns, |each| {
            for current in own.iter().filter_map(|worker| worker.current) {
                each(current.op, ns(current.sent_s));
            }
        });
    }

    fn share(mut self) -> Share {
        let start_s = (self.plan.window_start_ns - ORIGIN_NS) as f64 / 1e9;
        let is_timed = self.plan.window_end_ns != u64::MAX;
        let planned_s = self.plan.window_end_ns.wrapping_sub(self.plan.window_start_ns) as f64 / 1e9;
        Share {
            driver: self.driver,
            work: self.work,
            plan: self.plan,
            snapshots: self.recorder.take_ready().collect(),
            window_s: if is_timed { planned_s } else { (self.ended_s - start_s).max(0.0) },
            began_s: self.began_s,
            ended_s: self.ended_s,
            workers: self.workers.len() as u32,
        }
    }
}

impl Worker {
    fn choose(&mut self) -> (u16, u64, u64, u64) {
        let total = self.operations.last().map_or(0.0, |op| op.up_to);
        let drawn = unit(&mut self.rng) * total;
        let at = self.operations.iter().position(|op| drawn < op.up_to).unwrap_or(0);
        let (own, rng) = (&mut self.operations[at], &mut self.rng);
        let container = own.containers.as_mut().map_or(0, |chooser| chooser.pick(rng));
        let object = own.objects.as_mut().map_or(0, |chooser| chooser.pick(rng));
        (at as u16, container, object, own.sizes.as_mut().map_or(0, |chooser| chooser.pick(rng)))
    }
}

fn choosers(work: &Work, worker: WorkerIndex) -> Vec<Choosers> {
    let mut up_to = 0.0;
    let of = |operation: &cosmark_workload::model::Operation| {
        up_to += operation.weight;
        let special = work.kind != WorkKind::Normal;
        let slice = Slice::of_objects(operation.division);
        let objects = operation.objects.as_ref().filter(|objects| !objects.is_nothing());
        // Works that go through their numbers once do so as a walk over all of them.
        let walk = |selector: &cosmark_workload::IntSelector| {
            let (lo, hi) = own_numbers(selector, Slice::Whole, worker).unwrap();
            cosmark_workload::IntSelector::Sequential { lo, hi }
        };
        let objects = objects.map(|objects| if special { walk(objects) } else { objects.clone() });
        Choosers {
            up_to,
            containers: operation
                .containers
                .as_ref()
                .map(|own| Chooser::new(own, Slice::Whole, worker).unwrap()),
            objects: objects
                .map(|own| Chooser::new(&own, if special { Slice::Whole } else { slice }, worker).unwrap()),
            sizes: operation.sizes.as_ref().map(|own| SizeChooser::new(own, worker).unwrap()),
        }
    };
    work.operations.iter().map(of).collect()
}

/// Operations of a work that goes through its numbers once; it uses one container.
fn special_total(work: &Work) -> u64 {
    let operation = &work.operations[0];
    let count = |selector: Option<&cosmark_workload::IntSelector>| {
        selector.map_or(1, |selector| selector.count().max(1))
    };
    assert_eq!(
        count(operation.containers.as_ref()),
        1,
        "special works of several containers are not simulated"
    );
    count(operation.objects.as_ref())
}

/// What the simulated store calls it.
fn op_of(kind: OpKind) -> Op {
    match kind {
        OpKind::Read => Op::Get,
        OpKind::Write | OpKind::Prepare => Op::Put,
        OpKind::Delete | OpKind::Cleanup => Op::Delete,
        OpKind::Head => Op::Head,
        OpKind::List => Op::List,
        OpKind::Init => Op::PutContainer,
        OpKind::Dispose => Op::DeleteContainer,
        other => panic!("{other:?} is not simulated"),
    }
}

/// As `engine/src/mission.rs` has it, of works that share the interval of their stage.
fn slice_plan(stage: &Stage, work: &Work) -> SlicePlan {
    let slice_ns = slice_of(stage.interval()).as_nanos() as u64;
    let window_start_ns = ns(work.rampup.as_secs_f64());
    if work.runtime.is_zero() {
        return SlicePlan {
            start_ns: ORIGIN_NS,
            window_start_ns: ORIGIN_NS,
            window_end_ns: u64::MAX,
            stop_ns: u64::MAX,
            slice_ns,
        };
    }
    let window_end_ns = window_start_ns + work.runtime.as_nanos() as u64;
    let stop_ns = window_end_ns + work.rampdown.as_nanos() as u64;
    SlicePlan { start_ns: ORIGIN_NS, window_start_ns, window_end_ns, stop_ns, slice_ns }
}

/// Tells `each` when operations of an open loop are due.
fn due_times(law: &Arrivals, stop_s: f64, rng: &mut Xoshiro256PlusPlus, mut each: impl FnMut(f64)) {
    match law {
        Arrivals::Constant { rate_per_s } => {
            (0..)
                .map(|number| f64::from(number) / rate_per_s)
                .take_while(|due_s| *due_s < stop_s)
                .for_each(each);
        }
        Arrivals::Poisson { rate_per_s } => {
            let mut due_s = exponential(rng) / rate_per_s;
            while due_s < stop_s {
                each(due_s);
                due_s += exponential(rng) / rate_per_s;
            }
        }
        Arrivals::Ramp { .. } | Arrivals::Step { .. } => {
            const STEP_S: f64 = 0.001;
            let (mut sum, mut number, mut at_s) = (0.0, 0.0, 0.0);
            while at_s < stop_s {
                let rate = rate_at(law, at_s, stop_s);
                while number < sum + rate * STEP_S - 1e-9 {
                    each(at_s + (number - sum).max(0.0) / rate);
                    number += 1.0;
                }
                sum += rate * STEP_S;
                at_s += STEP_S;
            }
        }
        Arrivals::Recorded { .. } => panic!("recorded arrivals are not simulated"),
    }
}

fn rate_at(law: &Arrivals, at_s: f64, length_s: f64) -> f64 {
    match law {
        Arrivals::Ramp { from_per_s, to_per_s } => from_per_s + (to_per_s - from_per_s) * at_s / length_s,
        Arrivals::Step { steps } => {
            let mut ends_s = 0.0;
            let found = steps.iter().find(|(_, length)| {
                ends_s += length.as_secs_f64();
                at_s < ends_s
            });
            found.or(steps.last()).map_or(0.0, |(rate, _)| *rate)
        }
        Arrivals::Constant { rate_per_s } | Arrivals::Poisson { rate_per_s } => *rate_per_s,
        Arrivals::Recorded { .. } => 0.0,
    }
}
