//! One load thread: its workers, its watch, its alarm, its recorders.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use cosmark_adaptor_api::clock;
use cosmark_workload::model::Load;
use cosmark_workload::share::{WorkerIndex, share_of_total};
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, LocalSet};

use crate::choice::{Mix, Walk, generator};
use crate::fill::FillWalk;
use crate::flow::Flow;
use crate::guard::{WATCH_EVERY, Watch};
use crate::memory;
use crate::mission::{EngineError, EngineEvent, Running};
use crate::pace::{ArrivalQueue, Pace, Paced, Part, Schedule};
use crate::permit::Pulse;
use crate::recorder::ThreadRecorder;
use crate::source::{Quota, Source};
use crate::timer::Alarm;
use crate::worker::{self, Worker};

/// What a thread is to do.
pub struct Setup {
    pub missions: Arc<Vec<Running>>,
    pub number: usize,
    pub threads: usize,
    pub log_operations: bool,
    pub drain: Duration,
    pub grace: Option<Duration>,
    pub may_wait_awake: bool,
    pub events: mpsc::Sender<EngineEvent>,
    pub flow: Arc<Flow>,
    /// Where the thread adds up what it waited awake.
    pub idle_ns: Arc<AtomicU64>,
}

/// Operations in flight may still end for this long after the user asked to stop, who did not say how long.
const GRACE_NS: u64 = 5_000_000_000;

/// How often sessions are looked at for their end.
const SESSION_CHECK_NS: u64 = 1_000_000_000;

/// How long calls on the pool's threads may take to return once everything else is over.
const POOL_GRACE: Duration = Duration::from_secs(1);

/// Runs this thread's part of all missions to its end.
pub fn run(setup: Setup) -> Result<(), EngineError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = LocalSet::new().block_on(&runtime, work(setup));
    // A system call that never returns (a dead mount, a plugin that hangs) has a thread of the pool: it must not hold the
    // run open.
    runtime.shutdown_timeout(POOL_GRACE);
    result
}

async fn work(setup: Setup) -> Result<(), EngineError> {
    let alarm = Alarm::new(setup.may_wait_awake, Arc::clone(&setup.idle_ns))?;
    let running_alarm = Rc::clone(&alarm);
    let timer = tokio::task::spawn_local(async move { running_alarm.run().await });
    let watch = Rc::new(Watch::default());
    let pulse = Rc::new(Pulse::new(Arc::clone(setup.flow.permit())));
    let mut recorders = Vec::new();
    let mut queues: Vec<(Rc<ArrivalQueue>, AbortHandle)> = Vec::new();
    let mut tasks = Vec::new();
    for at in 0..setup.missions.len() {
        let made = make_when_permitted(&setup, at, &alarm, &watch, &pulse).await;
        let made = match made {
            Ok(made) => made,
            Err(error) => {
                setup.flow.abort();
                return Err(error);
            }
        };
        tasks.extend(made.workers.into_iter().map(|worker| {
            let pulse = Rc::clone(&pulse);
            tokio::task::spawn_local(async move { pulse.only_while_permitted(worker::run(worker)).await })
        }));
        if let Some(queue) = made.queue {
            let dispatching = tokio::task::spawn_local(crate::worker::dispatch(
                Rc::clone(&queue),
                Rc::clone(&alarm),
                Rc::clone(&made.recorder),
                made.mix,
                made.rng,
                setup.missions[at].plan,
            ));
            queues.push((queue, dispatching.abort_handle()));
            tasks.push(dispatching);
        }
        recorders.push(made.recorder);
    }
    let latest_stop_ns = setup.missions.iter().map(|running| running.plan.stop_ns).max().unwrap_or(0);
    let drain_ns = u64::try_from(setup.drain.as_nanos()).unwrap_or(u64::MAX);
    let mut grace_over_ns = None;
    let mut next_session_check_ns = 0;
    while !tasks.iter().all(tokio::task::JoinHandle::is_finished) {
        tokio::time::sleep(WATCH_EVERY).await;
        let now_ns = clock::now_ns();
        let is_held = pulse.watch(now_ns);
        if is_held && (now_ns >= latest_stop_ns || setup.flow.is_stopping()) {
            // It was told to stop, or its time went by, while it waited: nothing of it is sent late.
            setup.flow.abort();
        }
        if setup.flow.is_stopping() {
            grace_over_ns.get_or_insert_with(|| now_ns.saturating_add(grace_ns(&setup)));
            queues.iter().for_each(|(queue, _)| queue.close());
            alarm.release();
        }
        // Totals that are made leave nobody to whom arrivals could go: they are not part of the work any more.
        queues
            .iter()
            .filter(|(queue, _)| queue.is_deserted())
            .for_each(|(_, dispatching)| dispatching.abort());
        let all_until_ns = if setup.flow.is_aborting() {
            0
        } else {
            latest_stop_ns.saturating_add(drain_ns).min(grace_over_ns.unwrap_or(u64::MAX))
        };
        watch.look(now_ns, all_until_ns);
        // In this order: what was in flight is cut before it can move again.
        if setup.flow.is_aborting() {
            pulse.let_go();
        } else if !is_held {
            pulse.release();
        }
        if setup.number == 0 && !is_held && now_ns >= next_session_check_ns {
            next_session_check_ns = now_ns + SESSION_CHECK_NS;
            renew_expiring(&setup.missions, &recorders, &pulse);
        }
        for recorder in &recorders {
            recorder.roll(now_ns);
            recorder.sums.borrow_mut().prepare();
            recorder.hand_over(&setup.events, false);
        }
    }
    timer.abort();
    for (running, recorder) in setup.missions.iter().zip(&recorders) {
        let (last_end_ns, began) = recorder.times();
        running.note_end(last_end_ns);
        running.note_began(began);
    }
    finish(&setup, &recorders).await;
    Ok(())
}

/// How long operations in flight may take after a stop. Nobody waits longer than usual where nothing ever succeeded.
fn grace_ns(setup: &Setup) -> u64 {
    let asked_ns = setup.grace.map_or(GRACE_NS, |grace| u64::try_from(grace.as_nanos()).unwrap_or(u64::MAX));
    if setup.flow.gave_up().is_some() { asked_ns.min(GRACE_NS) } else { asked_ns }
}

/// Logs in again, beside the load, where a session is about to expire; the workers notice the new one by themselves.
fn renew_expiring(missions: &[Running], recorders: &[Rc<ThreadRecorder>], pulse: &Rc<Pulse>) {
    for (running, recorder) in missions.iter().zip(recorders) {
        let sessions = &running.mission.sessions;
        if sessions.is_expiring() {
            let (sessions, recorder, pulse) = (Arc::clone(sessions), Rc::clone(recorder), Rc::clone(pulse));
            let seen = sessions.generation();
            tokio::task::spawn_local(async move {
                // A failed renewal is no failure yet: the old session may still do, else a 401 will tell.
                if let Ok((_, true)) = pulse.only_while_permitted(sessions.newer_than(seen)).await
                    && let Some(sums) = recorder.sums.borrow_mut().op_mut(0)
                {
                    sums.renewals += 1;
                }
            });
        }
    }
}

/// Hands over all that is left; waits for the receiver as long as there is one.
async fn finish(setup: &Setup, recorders: &[Rc<ThreadRecorder>]) {
    for recorder in recorders {
        recorder.sums.borrow_mut().finish(clock::now_ns());
        while !recorder.hand_over(&setup.events, true) && !setup.events.is_closed() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Makes the workers of a mission, which may have to log in.
async fn make_when_permitted(
    setup: &Setup,
    at: usize,
    alarm: &Rc<Alarm>,
    watch: &Rc<Watch>,
    pulse: &Rc<Pulse>,
) -> Result<Workers, EngineError> {
    while pulse.watch(clock::now_ns()) && !setup.flow.is_stopping() {
        tokio::time::sleep(WATCH_EVERY).await;
    }
    pulse.release();
    Workers::make(setup, at, alarm, watch, pulse).await
}

/// The workers of one mission on this thread.
struct Workers {
    workers: Vec<Worker>,
    recorder: Rc<ThreadRecorder>,
    queue: Option<Rc<ArrivalQueue>>,
    /// To tell which operation a dropped arrival would have been.
    mix: Option<Mix>,
    rng: Xoshiro256PlusPlus,
}

impl Workers {
    async fn make(
        setup: &Setup,
        at: usize,
        alarm: &Rc<Alarm>,
        watch: &Rc<Watch>,
        pulse: &Rc<Pulse>,
    ) -> Result<Self, EngineError> {
        let running = &setup.missions[at];
        let mission = &running.mission;
        let work = &mission.work;
        let recorder = Rc::new(ThreadRecorder::new(running, setup.log_operations));
        memory::make_ready(work.operations.len(), running.is_paced());
        let choose = |cause| EngineError::Choose { work: work.name.clone(), cause };
        let thread_index = WorkerIndex { index: mission.first_worker, total: work.workers };
        let queue = arrivals(setup, at)?;
        let mix = match &queue {
            Some(_) => Some(Mix::new(&work.operations, &running.files, thread_index).map_err(choose)?),
            None => None,
        };
        let shared = mission.sessions.get().await.map_err(EngineError::Adaptor)?;
        let mut workers = Vec::new();
        let step = setup.threads;
        for local in (setup.number..mission.workers as usize).step_by(step) {
            let index = mission.first_worker + u32::try_from(local).unwrap_or(u32::MAX);
            let place = WorkerIndex { index, total: work.workers };
            let client = mission.adaptor.client(&shared.session).map_err(EngineError::Adaptor)?;
            let quota = Quota {
                ops: work.total_ops.map(|total| share_of_total(total, index, work.workers)),
                bytes: work.total_bytes.map(|total| share_of_total(total, index, work.workers)),
            };
            workers.push(Worker {
                missions: Arc::clone(&setup.missions),
                at,
                index,
                client,
                generation: shared.generation,
                rng: generator(mission.seed, index),
                source: source(running, place).map_err(choose)?,
                quota,
                pace: pace(running, place, queue.as_ref(), alarm),
                queue_place: queue.as_ref().map_or(0, |queue| queue.add_worker(&quota)),
                alarm: Rc::clone(alarm),
                watched: watch.add(),
                pulse: Rc::clone(pulse),
                recorder: Rc::clone(&recorder),
                flow: Arc::clone(&setup.flow),
            });
        }
        let rng = generator(mission.seed ^ 0x6d69_7373, u32::try_from(setup.number).unwrap_or(0));
        Ok(Self { workers, recorder, queue, mix, rng })
    }
}

fn source(running: &Running, place: WorkerIndex) -> Result<Source, cosmark_workload::choose::ChooseError> {
    use cosmark_workload::model::WorkKind;
    let work = &running.mission.work;
    if let (Some(pass), Some(operation)) = (&work.pass, work.operations.first()) {
        return FillWalk::new(pass, operation, running.mission.seed, place).map(Source::Fill);
    }
    match (work.kind, work.operations.first()) {
        (WorkKind::Normal, _) | (_, None) => {
            Mix::new(&work.operations, &running.files, place).map(Source::Mix)
        }
        (_, Some(operation)) => Walk::new(operation, place).map(Source::Walk),
    }
}

fn pace(running: &Running, place: WorkerIndex, queue: Option<&Rc<ArrivalQueue>>, alarm: &Rc<Alarm>) -> Pace {
    match (&running.mission.work.load, queue) {
        (_, Some(queue)) => Pace::Open(Rc::clone(queue)),
        (Load::Paced { think_time, rate_per_worker }, None) => {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a period is positive and saturates"
            )]
            let period_ns = rate_per_worker.map(|rate| (1e9 / rate) as u64);
            let think_ns = think_time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
            // Workers start evenly spread over one period instead of all at once.
            let spread =
                u128::from(period_ns.unwrap_or(0)) * u128::from(place.index) / u128::from(place.total.max(1));
            let first_ns = running.plan.start_ns + u64::try_from(spread).unwrap_or(0);
            Pace::Paced(Paced::new(Rc::clone(alarm), first_ns, period_ns, think_ns, running.plan.stop_ns))
        }
        _ => Pace::Closed,
    }
}

fn arrivals(setup: &Setup, at: usize) -> Result<Option<Rc<ArrivalQueue>>, EngineError> {
    let running = &setup.missions[at];
    let mission = &running.mission;
    let Load::Open { arrivals, when_full } = &mission.work.load else { return Ok(None) };
    // Threads with workers of this mission share its arrivals.
    let with_workers = setup.threads.min(mission.workers as usize).max(1);
    if setup.number >= with_workers {
        return Ok(None);
    }
    let part = Part {
        all_workers: mission.work.workers,
        first_worker: mission.first_worker,
        workers: mission.workers,
        thread: u32::try_from(setup.number).unwrap_or(0),
        threads: u32::try_from(with_workers).unwrap_or(1),
    };
    let work = &mission.work;
    let length = work.rampup + work.runtime + work.rampdown;
    let rng = generator(mission.seed ^ 0x6172_7269, mission.first_worker.wrapping_add(part.thread));
    let schedule = Schedule::new(arrivals, part, running.plan.start_ns, length, rng)
        .map_err(|cause| EngineError::Arrivals { work: work.name.clone(), cause })?;
    let total = Quota { ops: work.total_ops, bytes: work.total_bytes };
    Ok(Some(ArrivalQueue::new(schedule, running.plan.stop_ns, *when_full, total)))
}
