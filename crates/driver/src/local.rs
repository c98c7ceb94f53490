//! A driver inside this process, on its own threads.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cosmark_adaptor_api::{Adaptor, ErrorKind, clock};
use cosmark_consistency::Control;
use cosmark_engine::{
    EngineError, EngineEvent, Flow, GiveUp, Held, Known, LoadPermit, Mission, Pause, Pulse, SessionCache,
    ShareHandle, StageShare,
};
use cosmark_wire::{
    Began, ContainersBefore, DriverEvent, DriverLink, EventSender, Failure, FailureClass, FailureExample,
    Launched, MissionReport, PauseReason, StageOrder, TriggerOrder, TriggerReport,
};
use cosmark_workload::model::{TargetSpec, Work};
use tokio::sync::mpsc;

use crate::ask::{ask, class_of, failure};
use crate::before;
use crate::beside::{Prober, Running, recorded};
use crate::catalog::Catalog;
use crate::health::{self, Sampler};
use crate::permit::Permit;
use crate::proc;
use crate::slices::Slices;
use crate::start_barrier::{Start, StartBarrier, Waited};
use crate::target::{Opened, open_target};
use crate::trigger::Triggers;

/// How a driver works.
#[derive(Debug, Clone)]
pub struct Options {
    /// Its name.
    pub name: String,
    /// Load threads.
    pub threads: usize,
    /// Load threads of other drivers in this process.
    pub beside: usize,
    /// What workloads may reach on this machine.
    pub permit: Permit,
    /// Operations in flight may end for this long after the load was stopped.
    pub drain: Duration,
}

/// The in-process driver.
pub struct LocalDriver {
    options: Options,
    /// Not every processor has a load thread.
    may_wait_awake: bool,
    catalog: Catalog,
    sessions: Sessions,
    /// Whether load may be made.
    permit: Arc<LoadPermit>,
    /// Requests that stores were sent.
    requests: Arc<AtomicU64>,
    /// The stage at work.
    current: Option<Current>,
    triggers: Arc<Mutex<Triggers>>,
    /// Wall-clock time when the run clock began, as the machine's clock said when this driver was made.
    clock_began_unix_ns: i64,
}

struct Current {
    step: u32,
    flow: Arc<Flow>,
    barrier: Arc<StartBarrier>,
    events: EventSender,
}

/// Drops one stage.
pub struct Stopper(Option<(Arc<Flow>, Arc<StartBarrier>)>);

impl Stopper {
    /// Drops it: nothing more is sent, and operations in flight are given up.
    pub fn abort(&self) {
        if let Some((flow, barrier)) = &self.0 {
            flow.abort();
            barrier.stop();
        }
    }
}

/// Sessions outlive a stage: the same login serves every work that gives the same auth.
type Sessions = Arc<Mutex<HashMap<String, Arc<SessionCache>>>>;

/// Snapshots and samples that may wait for the controller.
const MOST_WAITING: usize = 1024;
/// Threads hand over a slice within this time after its end, unless they get no processor.
const THREADS_LAG_NS: u64 = 300_000_000;
/// And within this time also then; what comes later is in no row of the timeline but a later one.
const TOLD_LAG_NS: u64 = 1_500_000_000;
/// How often it is said how far the story goes.
const TELL_EVERY_NS: u64 = 450_000_000;
/// A stage that is ready and hears nothing for this long is forgotten.
const GO_PATIENCE: Duration = Duration::from_secs(900);

impl LocalDriver {
    /// A driver that speaks what is in `catalog`.
    #[must_use]
    pub fn new(catalog: Catalog, options: Options) -> Self {
        let triggers = Arc::new(Mutex::new(Triggers::new(options.permit.clone())));
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let may_wait_awake = options.threads + options.beside < processors;
        Self {
            options,
            may_wait_awake,
            catalog,
            sessions: Arc::default(),
            permit: LoadPermit::always(),
            requests: Arc::default(),
            current: None,
            triggers,
            clock_began_unix_ns: clock_began_unix_ns(),
        }
    }

    /// The same for somebody else's runs: load is made only while it is permitted.
    #[must_use]
    pub fn under(self, permit: Arc<LoadPermit>) -> Self {
        Self { permit, ..self }
    }

    /// Requests that it has sent to stores so far, all stages together; known some tenths of a second later.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Lets the load of a stage begin, at a moment of this process's clock.
    pub fn go_at(&mut self, step: u32, start: Start) {
        if let Some(current) = self.of_step(step) {
            current.barrier.open(start);
        }
    }

    /// A way for another thread to drop a stage.
    #[must_use]
    pub fn stopper(&self, step: u32) -> Stopper {
        let current = self.of_step(step);
        Stopper(current.map(|current| (Arc::clone(&current.flow), Arc::clone(&current.barrier))))
    }

    fn of_step(&self, step: u32) -> Option<&Current> {
        self.current.as_ref().filter(|current| current.step == step)
    }
}

impl DriverLink for LocalDriver {
    fn name(&self) -> &str {
        &self.options.name
    }

    fn start(&mut self, order: StageOrder, events: EventSender) {
        let (flow, barrier) = (Flow::under(Arc::clone(&self.permit)), Arc::new(StartBarrier::default()));
        self.current = Some(Current {
            step: order.step,
            flow: Arc::clone(&flow),
            barrier: Arc::clone(&barrier),
            events: events.clone(),
        });
        let job = Job {
            catalog: self.catalog,
            options: self.options.clone(),
            may_wait_awake: self.may_wait_awake,
            clock_began_unix_ns: self.clock_began_unix_ns,
            sessions: Arc::clone(&self.sessions),
            requests: Arc::clone(&self.requests),
            flow,
            barrier,
            order,
            events: events.clone(),
        };
        let spawned = std::thread::Builder::new().name("driver".into()).spawn(move || job.run());
        if let Err(cause) = spawned {
            let text = format!("cannot start a thread: {cause}");
            let failure = Failure { work: String::new(), class: FailureClass::Driver, text };
            events.try_send(DriverEvent::Refused(failure));
        }
    }

    fn probe(&mut self, step: u32) {
        // One process, one clock.
        if let Some(current) = self.of_step(step) {
            current.events.try_send(DriverEvent::Probed);
        }
    }

    fn go(&mut self, step: u32, _at_unix_ns: Option<i64>) {
        self.go_at(step, Start::default());
    }

    fn finish(&self, step: u32) {
        if let Some(current) = self.of_step(step) {
            current.flow.finish();
            current.barrier.stop();
        }
    }

    fn abort(&self, step: u32) {
        if let Some(current) = self.of_step(step) {
            current.flow.abort();
            current.barrier.stop();
        }
    }

    fn trigger(&mut self, _step: u32, order: TriggerOrder) -> mpsc::Receiver<TriggerReport> {
        let (sender, receiver) = mpsc::channel(1);
        let (triggers, permit) = (Arc::clone(&self.triggers), Arc::clone(&self.permit));
        std::thread::spawn(move || {
            if !permit.wait(|| false) {
                let error = Some("the script was not run: nobody wants its run any more".to_owned());
                let _ = sender.blocking_send(TriggerReport { output: String::new(), error });
                return;
            }
            let report = triggers.lock().unwrap_or_else(PoisonError::into_inner).run(&order);
            let _ = sender.blocking_send(report);
        });
        receiver
    }
}

/// One stage on its way.
struct Job {
    catalog: Catalog,
    options: Options,
    may_wait_awake: bool,
    clock_began_unix_ns: i64,
    sessions: Sessions,
    requests: Arc<AtomicU64>,
    flow: Arc<Flow>,
    barrier: Arc<StartBarrier>,
    order: StageOrder,
    events: EventSender,
}

impl Job {
    fn run(self) {
        let last = match self.prepare() {
            Ok(Some((missions, containers))) => {
                self.load(missions, containers).unwrap_or_else(DriverEvent::Refused)
            }
            Ok(None) => DriverEvent::Ended { missions: Vec::new(), gave_up: None },
            Err(failure) => DriverEvent::Refused(failure),
        };
        self.tell_pauses();
        let _ = self.events.blocking_send(last);
    }

    /// Opens, logs in, asks each store once; `None` when it was stopped before it came so far.
    fn prepare(&self) -> Result<Option<(Vec<Mission>, ContainersBefore)>, Failure> {
        let workers: u64 = self.order.shares.iter().map(|share| u64::from(share.workers)).sum();
        if let Some(text) = too_many_workers(workers) {
            return Err(failure("", FailureClass::Workload, text));
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|cause| failure("", FailureClass::Driver, format!("cannot start: {cause}")))?;
        let is_over = || self.flow.is_over();
        if !self.permit().wait(is_over) {
            return Ok(None);
        }
        let pulse = Pulse::new(Arc::clone(self.permit()));
        let missions = tokio::task::LocalSet::new().block_on(&runtime, async {
            let mut asked: Vec<(&TargetSpec, &TargetSpec)> = Vec::new();
            let mut missions = Vec::with_capacity(self.order.shares.len());
            let mut containers = ContainersBefore::default();
            let permit = &self.options.permit;
            // All is decided before anything is opened or sent.
            let works = self.order.shares.iter().filter_map(|share| self.order.stage.works.get(share.work));
            for work in works {
                let decided = permit.check_work(&self.catalog, work);
                decided.map_err(|text| failure(&work.name, FailureClass::Workload, text))?;
            }
            for share in &self.order.shares {
                let Some(work) = self.order.stage.works.get(share.work) else { continue };
                let refused = |text| failure(&work.name, FailureClass::Workload, text);
                let admitted = permit.admit_work(work).map_err(refused)?;
                let opened =
                    open_target(&self.catalog, permit, &work.auth, &work.storage).map_err(refused)?;
                let sessions = self.session_cache(&work.auth, &opened);
                if !asked.contains(&(&work.auth, &work.storage)) {
                    let question = ask(&work.name, (&work.auth, &work.storage), &opened, &sessions);
                    match pulse.ask_while_permitted(question, is_over).await {
                        None => return Ok(None),
                        Some(answer) => answer?,
                    }
                    asked.push((&work.auth, &work.storage));
                    // A sign of life for who waits.
                    self.events.try_send(DriverEvent::Told { up_to_ns: 0 });
                }
                if share.first_worker == 0
                    && let Ok(shared) = sessions.get().await
                {
                    let question = before::look(work, &opened, &shared.session);
                    match pulse.ask_while_permitted(question, is_over).await {
                        None => return Ok(None),
                        Some(answer) => containers.add(answer),
                    }
                }
                // Slices of all works make up the rows of one timeline.
                let interval = self.order.stage.interval();
                missions.push(Mission {
                    known: known_of(&self.order, share.work, work.operations.len()),
                    index: u16::try_from(share.work).unwrap_or(u16::MAX),
                    work: Arc::new(Work { interval, ..admitted.into_owned() }),
                    first_worker: share.first_worker,
                    workers: share.workers,
                    seed: seed_of(self.order.seed, self.order.stage_index, share.work),
                    adaptor: opened.adaptor,
                    sessions,
                });
            }
            Ok(Some((missions, containers)))
        });
        runtime.shutdown_background();
        missions
    }

    /// As the first work with the same target knows them: that one was asked already.
    fn endpoints_of(&self, work: usize, works: &[usize], adaptors: &[Arc<dyn Adaptor>]) -> Vec<String> {
        let target = |work: usize| self.order.stage.works.get(work).map(|work| (&work.auth, &work.storage));
        let asked = works.iter().position(|other| target(*other) == target(work));
        asked.and_then(|at| adaptors.get(at)).map(|adaptor| adaptor.endpoints()).unwrap_or_default()
    }

    fn permit(&self) -> &Arc<LoadPermit> {
        self.flow.permit()
    }

    /// Says when no load was made though it was to be.
    fn tell_pauses(&self) {
        for Pause { from_ns, to_ns, why } in self.permit().take_pauses() {
            let why = match why {
                Held::New | Held::Expired => PauseReason::NotRenewed,
                Held::Jumped => PauseReason::StoodStill,
            };
            let _ = self.events.blocking_send(DriverEvent::Paused { from_ns, to_ns, why });
        }
    }

    fn session_cache(&self, auth: &TargetSpec, opened: &Opened) -> Arc<SessionCache> {
        let key = format!("{} {:?}", auth.kind, auth.config);
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let cache = sessions.entry(key).or_insert_with(|| SessionCache::new(Arc::clone(&opened.auth)));
        Arc::clone(cache)
    }

    fn load(&self, missions: Vec<Mission>, mut containers: ContainersBefore) -> Result<DriverEvent, Failure> {
        let works: Vec<usize> = missions.iter().map(|mission| usize::from(mission.index)).collect();
        let adaptors: Vec<_> = missions.iter().map(|mission| Arc::clone(&mission.adaptor)).collect();
        let prober = Prober::open(&self.order, missions.first(), &self.flow)?;
        containers.missing.extend(prober.as_ref().and_then(Prober::made).map(str::to_owned));
        let _ = self.events.blocking_send(DriverEvent::Authed);
        let start = match self.barrier.wait(GO_PATIENCE) {
            Waited::Go(start) => start,
            Waited::Stopped => return Ok(DriverEvent::Ended { missions: Vec::new(), gave_up: None }),
            Waited::Forgotten => {
                let text = "the controller never said when to begin".to_owned();
                return Err(failure("", FailureClass::Driver, text));
            }
        };
        let share = StageShare {
            missions,
            threads: self.options.threads,
            log_operations: self.order.log_operations,
            drain: self.order.drain.unwrap_or(self.options.drain),
            // Who only started a driver did not say how long the end of somebody's run may take.
            grace: self.order.drain,
            start_ns: start.at_ns,
            may_wait_awake: self.may_wait_awake,
        };
        let (sender, mut engine_events) = mpsc::channel(MOST_WAITING);
        let running = cosmark_engine::start(share, sender, Arc::clone(&self.flow)).map_err(engine_failure)?;
        let start_ns = running.plan(0).map_or(0, |plan| plan.start_ns);
        let plans =
            works.iter().enumerate().filter_map(|(at, work)| Some((*work, running.plan(at)?))).collect();
        let origin_ns = start.at_ns.unwrap_or(start_ns);
        // A wall clock that was set since the run began moves no time of the run.
        let here = || self.clock_began_unix_ns.saturating_add_unsigned(origin_ns);
        let origin_unix_ns = start.unix_ns.unwrap_or_else(here);
        let endpoints = works.iter().map(|work| (*work, self.endpoints_of(*work, &works, &adaptors)));
        let endpoints = endpoints.filter(|(_, names)| !names.is_empty()).collect();
        let clock = start.clock;
        let launched = Launched { start_ns, origin_ns, origin_unix_ns, clock, plans, endpoints, containers };
        let _ = self.events.blocking_send(DriverEvent::Launched(launched));
        let ends = (0..works.len()).filter_map(|at| running.plan(at)).map(|plan| plan.stop_ns).max();
        let prober = prober.and_then(|prober| prober.start(ends, origin_ns));
        let sampler = self.watch_itself(&running);
        self.pass_on(&mut engine_events, prober.as_ref().map(|prober| prober.control()));
        if let Some(sampler) = sampler {
            sampler.stop();
        }
        self.end_prober(prober);
        let ends = running.wait().map_err(engine_failure)?;
        let missions = works
            .into_iter()
            .zip(ends)
            .zip(adaptors)
            .map(|((work, (times, examples)), adaptor)| MissionReport {
                work,
                workers: self.workers_of(work),
                endpoints: adaptor.endpoints(),
                window_s: times.window().as_secs_f64(),
                began: times.began.map(|began| Began { first_ns: began.first_ns, last_ns: began.last_ns }),
                examples: examples
                    .into_iter()
                    .map(|example| FailureExample {
                        op: example.op,
                        label: example.label,
                        text: example.text,
                    })
                    .collect(),
            })
            .collect();
        let gave_up = self.flow.gave_up().map(|reason| self.given_up(&reason));
        Ok(DriverEvent::Ended { missions, gave_up })
    }

    /// What a prober came to, and what of it was not handed on yet.
    fn end_prober(&self, prober: Option<Running>) {
        let Some((sums, rest)) = prober.map(Running::end) else { return };
        for event in rest.into_iter().chain([DriverEvent::Consistency(sums)]) {
            let _ = self.events.blocking_send(event);
        }
    }

    /// Hands on what the engine says, the threads' slices put together; ends when the last load thread has dropped its
    /// sender.
    fn pass_on(&self, engine_events: &mut mpsc::Receiver<EngineEvent>, beside: Option<&Control>) {
        let mut slices = Slices::default();
        let mut watermark_ns = 0;
        let send = |event| {
            if self.events.blocking_send(event).is_err() {
                self.flow.abort();
            }
        };
        while let Some(event) = engine_events.blocking_recv() {
            match event {
                EngineEvent::Snapshot(snapshot) => {
                    let requests = snapshot.ops.iter().map(|op| op.requests).sum();
                    self.requests.fetch_add(requests, Ordering::Relaxed);
                    if let Some(control) = beside {
                        control.add_operations(snapshot.ops.iter().map(|op| op.ok + op.failed).sum());
                    }
                    slices.add(&snapshot);
                }
                EngineEvent::Samples { work, samples } => send(DriverEvent::Samples { work, samples }),
                EngineEvent::SamplesLost { count } => send(DriverEvent::SamplesLost { count }),
            }
            let now_ns = clock::now_ns();
            if now_ns.saturating_sub(watermark_ns) >= TELL_EVERY_NS {
                watermark_ns = now_ns;
                let ready = slices.take(now_ns.saturating_sub(THREADS_LAG_NS));
                ready.into_iter().for_each(|slice| send(DriverEvent::Snapshot(slice)));
                send(DriverEvent::Told { up_to_ns: now_ns.saturating_sub(TOLD_LAG_NS) });
                beside.map(recorded).into_iter().flatten().for_each(&send);
                self.tell_pauses();
            }
        }
        slices.take(u64::MAX).into_iter().for_each(|slice| send(DriverEvent::Snapshot(slice)));
    }

    /// Says every second how this driver is doing, until it is stopped.
    fn watch_itself(&self, running: &ShareHandle) -> Option<Sampler> {
        let _ = self.events.blocking_send(DriverEvent::Facts(health::facts(self.options.threads)));
        let events = self.events.clone();
        let threads = running.load_threads();
        Sampler::start(
            move || threads.now(),
            move |sample| {
                let _ = events.blocking_send(DriverEvent::Health(sample));
            },
        )
    }

    fn workers_of(&self, work: usize) -> u32 {
        self.order.shares.iter().find(|share| share.work == work).map_or(0, |share| share.workers)
    }

    fn given_up(&self, reason: &GiveUp) -> Failure {
        let work = self.order.stage.works.get(usize::from(reason.work)).map_or("", |work| work.name.as_str());
        let class = match reason.error.kind() {
            kind if kind.is_unreachable() => FailureClass::Target,
            kind @ (ErrorKind::Denied | ErrorKind::Config | ErrorKind::Unsupported) => class_of(kind),
            _ => FailureClass::Stage,
        };
        let text = format!("none of the first {} operations succeeded: {}", reason.failures, reason.error);
        failure(work, class, text)
    }
}

/// When the run clock said 0, ns since 1970 by the wall clock.
fn clock_began_unix_ns() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_unix_ns = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
    now_unix_ns.saturating_sub_unsigned(clock::now_ns())
}

/// What a worker takes at the very least, without any connection.
const LEAST_WORKER_BYTES: u64 = 8 << 10;

/// Why this machine cannot have so many workers at a time; `None` where it can, or does not know.
#[must_use]
pub fn too_many_workers(workers: u64) -> Option<String> {
    too_many(workers, proc::available_memory_bytes())
}

/// Why so many workers cannot be: the system would end this process, or another one, in the middle of the run.
fn too_many(workers: u64, available_bytes: Option<u64>) -> Option<String> {
    let (needed, available) = (workers.saturating_mul(LEAST_WORKER_BYTES), available_bytes?);
    (needed > available).then(|| {
        format!(
            "{workers} workers take at least {} MiB of memory, and this machine has {} MiB to give; ask for fewer workers, or \
             for more drivers",
            needed >> 20,
            available >> 20
        )
    })
}

fn engine_failure(error: EngineError) -> Failure {
    let (work, class) = match &error {
        EngineError::Start(_) => ("", FailureClass::Driver),
        EngineError::Choose { work, .. }
        | EngineError::Files { work, .. }
        | EngineError::Arrivals { work, .. } => (work.as_str(), FailureClass::Workload),
        EngineError::Adaptor(cause) => ("", class_of(cause.kind())),
    };
    // The failure names the work itself.
    let text = error.to_string();
    let text = text.strip_prefix(&format!("work {work}: ")).unwrap_or(&text);
    failure(work, class, text.to_owned())
}

/// By operation of a work.
fn known_of(order: &StageOrder, work: usize, operations: usize) -> Vec<Option<Known>> {
    let mut known = vec![None; operations];
    let lengths = order.lengths.iter().filter(|one| one.work == work).map(|one| {
        let (least, most) = (one.least_bytes, one.most_bytes);
        (one.op, Known::Length { least, most })
    });
    let listings = order.listings.iter().filter(|one| one.work == work).map(|one| {
        let from_ns = u64::try_from(one.settle.as_nanos()).unwrap_or(u64::MAX);
        (one.op, Known::Names { least: one.least, from_ns })
    });
    for (op, one) in lengths.chain(listings) {
        if let Some(place) = known.get_mut(op) {
            *place = Some(one);
        }
    }
    known
}

/// Every work of every stage has its own streams of choices.
fn seed_of(run: u64, stage: usize, work: usize) -> u64 {
    let place = (stage as u64) << 32 | work as u64;
    run ^ (place.wrapping_add(1)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use cosmark_engine::EngineError;

    use super::{engine_failure, too_many};

    #[test]
    fn a_failure_says_once_of_which_work_it_is() {
        let cause = std::io::ErrorKind::NotFound.into();
        let files = EngineError::Files { work: "main".into(), directory: "/none".into(), cause };
        let failure = engine_failure(files);
        assert_eq!(failure.work, "main");
        assert!(failure.text.starts_with("cannot use the files in /none: "), "{}", failure.text);
    }

    #[test]
    fn workers_that_no_memory_holds_are_refused_and_others_are_not() {
        assert!(too_many(100_000, Some(1 << 30)).is_none());
        assert!(too_many(u64::MAX, None).is_none(), "who does not know does not refuse");
        let text = too_many(1_000_000, Some(1 << 30)).unwrap_or_default();
        assert!(text.contains("7812 MiB") && text.contains("has 1024 MiB"), "{text}");
    }
}
