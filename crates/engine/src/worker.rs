//! The one loop over operations. Pacing says when, the source says what, the adaptor does it, the recorder keeps it.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cosmark_adaptor_api::{Client, Error, ErrorKind, Marks, ObjectName, Result, WireGap, clock};
use cosmark_metrics::{OpSnapshot, Outcome, Sample, SlicePlan, WireTimes};
use cosmark_workload::model::{Effect, OpKind};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::choice::{Choice, Mix};
use crate::content::{mix, which};
use crate::flow::{Flow, GiveUp};
use crate::guard::{Cut, Watched};
use crate::mission::{Left, Running};
use crate::names::NameTemplate;
use crate::ops::{self, Call, Done, Timing};
use crate::pace::{ArrivalQueue, Pace, Slot};
use crate::permit::Pulse;
use crate::recorder::ThreadRecorder;
use crate::source::{Quota, Source};
use crate::timer::Alarm;

/// One closed-loop client, or one slot of an open loop's pool.
pub struct Worker {
    pub missions: Arc<Vec<Running>>,
    /// Index of its mission.
    pub at: usize,
    /// Over all drivers, 0-based.
    pub index: u32,
    pub client: Box<dyn Client>,
    /// Of the session that `client` uses.
    pub generation: u64,
    pub rng: Xoshiro256PlusPlus,
    pub source: Source,
    pub quota: Quota,
    pub pace: Pace,
    /// Number in the thread's arrival queue, if there is one.
    pub queue_place: usize,
    pub alarm: Rc<Alarm>,
    pub watched: Rc<Watched>,
    pub pulse: Rc<Pulse>,
    pub recorder: Rc<ThreadRecorder>,
    pub flow: Arc<Flow>,
}

/// Buffers that live as long as the worker.
struct WorkerState {
    /// Of each operation: containers, objects.
    names: Vec<(NameTemplate, NameTemplate)>,
    marks: Marks,
    /// The recorder sees what is in flight.
    timing: Rc<Timing>,
    version: u64,
    /// Consecutive failures to reach the store.
    unreachable: u32,
    /// The container that a `prepare` with `createContainer=true` has just made sure of.
    created: Option<u64>,
    /// When the worker's last operation ended, which is when it became free; 0 = something came between.
    free_ns: u64,
}

impl WorkerState {
    /// The name written last for operation `choice.op`.
    fn name<'a>(&'a self, running: &'a Running, choice: Choice) -> ObjectName<'a> {
        let op = usize::from(choice.op);
        let (containers, objects) = &self.names[op];
        let object = match &running.files[op] {
            Some(files) => files.name(choice.object),
            None => objects.last(),
        };
        ObjectName { container: containers.last(), object }
    }
}

/// Works until the time is over, the quota is used up, the pass is done, or it is told to stop.
pub async fn run(mut worker: Worker) {
    let missions = Arc::clone(&worker.missions);
    let running = &missions[worker.at];
    let operations = &running.mission.work.operations;
    let mut state = WorkerState {
        names: operations
            .iter()
            .map(|op| (NameTemplate::containers(op), NameTemplate::objects(op)))
            .collect(),
        marks: Marks::default(),
        timing: worker.recorder.add_worker(),
        // Counts up from there, so that writes of a worker that come after one another are told apart in little space.
        version: u64::from(which(mix(running.mission.seed ^ mix(u64::from(worker.index) << 20)))),
        unreachable: 0,
        created: None,
        free_ns: 0,
    };
    worker.alarm.until(running.plan.start_ns).await;
    let now_ns = clock::now_ns();
    // A run that is stopped before its start lets its workers go, too, but to their end.
    if now_ns >= running.plan.start_ns {
        worker.recorder.note_began(now_ns);
    }
    let mut since_yield = 0_u32;
    let left = loop {
        if worker.quota.is_used_up() {
            break Left::Done;
        }
        if worker.flow.is_stopping() {
            break Left::Stopped;
        }
        let Some(slot) = worker.pace.next(worker.queue_place, &worker.quota, state.free_ns).await else {
            break worker.outlast(&running.plan).await;
        };
        if worker.flow.is_stopping() {
            break Left::Stopped;
        }
        if slot.due_ns >= running.plan.stop_ns {
            break Left::Planned;
        }
        // This thread stood still while the last operation ended: nothing more is polled before somebody has asked.
        if worker.pulse.stood_still_before(state.free_ns) {
            tokio::task::yield_now().await;
            if worker.flow.is_stopping() {
                break Left::Stopped;
            }
        }
        let Some(choice) = worker.source.next(&mut worker.rng) else { break Left::Done };
        worker.one(running, &mut state, slot, choice).await;
        // An adaptor that never has to wait (null, mock without delay) would keep the thread to itself.
        since_yield += 1;
        if since_yield >= 64 {
            since_yield = 0;
            tokio::task::yield_now().await;
            state.free_ns = 0;
        }
    };
    if left == Left::Done {
        if worker.pace.is_closed() {
            worker.recorder.note_done(clock::now_ns());
        }
        worker.pace.leave(worker.queue_place);
    }
    running.note_left(left);
    worker.tidy_up(running, &mut state).await;
}

impl Worker {
    /// Nothing more is due: stays until the time is over, for the load that was planned has no operation until then. A
    /// schedule without a time to end at ends with its last arrival.
    async fn outlast(&self, plan: &SlicePlan) -> Left {
        if plan.stop_ns == u64::MAX && !self.flow.is_stopping() {
            return Left::Done;
        }
        self.alarm.until(plan.stop_ns).await;
        if clock::now_ns() < plan.stop_ns { Left::Stopped } else { Left::Planned }
    }

    /// One operation, from its names to the recorder.
    async fn one(&mut self, running: &Running, state: &mut WorkerState, slot: Slot, choice: Choice) {
        // Whatever becomes of it: only an operation that ended says when its worker became free.
        state.free_ns = 0;
        let operation = &running.mission.work.operations[usize::from(choice.op)];
        let files = running.files[usize::from(choice.op)].as_ref();
        let (containers, objects) = &mut state.names[usize::from(choice.op)];
        containers.write(choice.container);
        if files.is_none() {
            objects.write(choice.object);
        }
        self.use_newest_session(running).await;
        let creates = operation.kind == OpKind::Prepare && operation.create_container;
        if creates && state.created != Some(choice.container) && self.create(running, state, choice).await {
            return;
        }
        state.version = choice.version.unwrap_or_else(|| state.version.wrapping_add(1));
        state.marks = Marks::default();
        state.timing.reset(choice.op);
        let (containers, objects) = &state.names[usize::from(choice.op)];
        let call = Call {
            client: self.client.as_mut(),
            operation,
            files,
            container: containers.last(),
            object: files.map_or(objects.last(), |files| files.name(choice.object)),
            choice,
            known: running.mission.known.get(usize::from(choice.op)).copied().flatten(),
            version: state.version,
            marks: &mut state.marks,
            timing: &state.timing,
        };
        let outcome = {
            let call = std::pin::pin!(ops::perform(call));
            self.watched.run(call, running.limit_ns).await
        };
        let result = match outcome {
            Ok(result) => result,
            Err(Cut::Timeout) => {
                // An operation of several calls may have marked the end of an earlier one.
                state.timing.end_ns.set(0);
                Err(timed_out(running, state, choice))
            }
            Err(Cut::Aborted) => {
                self.count_unfinished(running, state, slot, choice);
                return;
            }
        };
        self.record(running, state, slot, choice, &result);
        if let Err(error) = &result {
            self.after_failure(running, state, choice.op, error).await;
        }
    }

    /// Writes the sample.
    #[inline]
    fn record(
        &mut self,
        running: &Running,
        state: &mut WorkerState,
        slot: Slot,
        choice: Choice,
        result: &Result<Done>,
    ) {
        // A failure before the first call (a file that cannot be opened) took no time; one that was cut ends now.
        let or_now = |at_ns: u64, now_ns: u64| if at_ns == 0 { now_ns } else { at_ns };
        let (mut sent_ns, mut end_ns) = (state.timing.sent_ns.get(), state.timing.end_ns.get());
        if sent_ns == 0 || end_ns == 0 {
            let now_ns = clock::now_ns();
            (sent_ns, end_ns) = (or_now(sent_ns, now_ns), or_now(end_ns, now_ns));
        }
        let marks = &state.marks;
        let (outcome, bytes, accepted_only, checked) = match result {
            Ok(done) => (Outcome::OK, done.bytes, done.accepted_only, done.checked),
            Err(error) => {
                let bytes = error.partial_bytes().max(marks.body_bytes);
                let is_corrupt = error.kind() == ErrorKind::CorruptBody;
                (Outcome::failed(&error.kind().label()), bytes, false, is_corrupt)
            }
        };
        let (wire, gap) = on_wire(marks);
        let sample = Sample {
            op: choice.op,
            worker: self.index,
            container: choice.container,
            object: choice.object,
            due_ns: if self.pace.is_closed() { sent_ns } else { slot.due_ns },
            sent_ns,
            first_byte_ns: marks.first_byte_ns,
            end_ns,
            connect_ns: marks.connect_ns,
            tls_ns: marks.tls_ns,
            request_sent_ns: marks.request_sent_ns,
            stands_for: if marks.request_sent_ns == 0 { 0 } else { marks.wire.weight },
            bytes,
            asked_bytes: choice.size_bytes,
            version: version_of(running, choice, state.version),
            endpoint: marks.endpoint,
            status: marks.status,
            outcome,
            requests: marks.requests,
            retries: marks.retries,
            connections: marks.connections,
            accepted_only,
            wire,
        };
        self.recorder.record(&sample);
        state.timing.clear();
        let plan = &running.plan;
        if sent_ns >= plan.window_start_ns {
            self.quota.take(if outcome.is_ok() { bytes } else { 0 });
        }
        let mut recorder = self.recorder.sums.borrow_mut();
        if let Some(sums) = recorder.op_mut(choice.op) {
            sums.checked += u64::from(checked);
            if let Some(gap) = gap.filter(|_| result.is_ok()) {
                sums.wire.miss(gap.words());
            }
            if !self.pace.is_closed() {
                sums.delayed += u64::from(slot.delayed);
                sums.intended += u64::from(self.pace.is_open() && plan.is_due_in_window(slot.due_ns));
                if !slot.delayed {
                    sums.lag.record(sent_ns.saturating_sub(slot.due_ns));
                }
            }
            if end_ns > plan.window_end_ns && sample.due_ns <= plan.window_end_ns {
                sums.unfinished += 1;
                sums.unfinished_age.record(plan.window_end_ns - sample.due_ns);
            }
            if let Err(error) = result
                && let Some(code) = error.code()
            {
                sums.add_code(code);
            }
        }
        drop(recorder);
        self.recorder.note_end(end_ns);
        state.free_ns = end_ns;
        if outcome.is_ok() {
            running.health.success();
            state.unreachable = 0;
        }
    }

    /// An operation that is cut short at the end of the run is in no count but that of the unfinished.
    fn count_unfinished(&self, running: &Running, state: &WorkerState, slot: Slot, choice: Choice) {
        let (now_ns, op) = (clock::now_ns(), choice.op);
        self.recorder.note_end(now_ns);
        let mut recorder = self.recorder.sums.borrow_mut();
        if let Some((op, sent_ns)) = state.timing.in_flight() {
            recorder.give_up(op, sent_ns, now_ns);
            let marks = &state.marks;
            self.recorder.log_given_up(&Sample {
                op,
                worker: self.index,
                container: choice.container,
                object: choice.object,
                due_ns: if self.pace.is_closed() { sent_ns } else { slot.due_ns },
                sent_ns,
                first_byte_ns: marks.first_byte_ns,
                end_ns: now_ns,
                connect_ns: marks.connect_ns,
                tls_ns: marks.tls_ns,
                request_sent_ns: 0,
                stands_for: 0,
                bytes: marks.body_bytes,
                asked_bytes: choice.size_bytes,
                version: version_of(running, choice, state.version),
                endpoint: marks.endpoint,
                status: marks.status,
                outcome: Outcome::failed(Outcome::GIVEN_UP),
                requests: marks.requests,
                retries: marks.retries,
                connections: marks.connections,
                accepted_only: false,
                wire: WireTimes::default(),
            });
            state.timing.clear();
        }
        if let Some(sums) = recorder.op_mut(op) {
            enter_unfinished(sums, &running.plan, slot.due_ns, now_ns, self.pace.is_open());
        }
    }

    /// Creates the container of a `prepare` with `createContainer=true`; true when it failed (and was entered).
    async fn create(&mut self, running: &Running, state: &mut WorkerState, choice: Choice) -> bool {
        let mut marks = Marks::default();
        let container = state.names[usize::from(choice.op)].0.last();
        let call = self.client.create_container(container, &mut marks);
        let result = match self.watched.run(call, running.limit_ns).await {
            Ok(result) => result,
            Err(Cut::Timeout) => Err(timed_out(running, state, choice)),
            Err(Cut::Aborted) => return true,
        };
        match result {
            Ok(()) => {
                // Not an operation of the mix, but requests on the wire.
                if let Some(sums) = self.recorder.sums.borrow_mut().op_mut(choice.op) {
                    sums.requests += u64::from(marks.requests);
                }
                state.created = Some(choice.container);
                false
            }
            Err(error) => {
                state.timing.reset(choice.op);
                state.marks = marks;
                let slot = Slot { due_ns: clock::now_ns(), delayed: false };
                self.record(running, state, slot, choice, &Err(error.clone()));
                self.after_failure(running, state, choice.op, &error).await;
                true
            }
        }
    }

    /// Another worker may have logged in again, or it is time to do so.
    #[inline]
    async fn use_newest_session(&mut self, running: &Running) {
        let sessions = &running.mission.sessions;
        if sessions.generation() != self.generation
            && let Ok((shared, _)) = sessions.newer_than(self.generation).await
        {
            self.generation = shared.generation;
            self.client.set_session(&shared.session);
        }
    }

    async fn after_failure(&mut self, running: &Running, state: &mut WorkerState, op: u16, error: &Error) {
        running.note_failure(op, error);
        state.free_ns = 0;
        let waited_ns = clock::now_ns().saturating_sub(running.plan.start_ns);
        // Of temporary keys it is known when they end; fixed ones would be had anew, and stay what they are, at every operation.
        if error.status() == Some(401) {
            self.renew(running).await;
        }
        if let Some(failures) = running.health.failure(error, waited_ns, running.mission.work.workers) {
            self.flow.give_up(GiveUp { work: running.mission.index, error: error.clone(), failures });
        }
        if error.kind().is_unreachable() && self.pace.is_closed() {
            // Nobody answers: asking as fast as possible would only heat this machine.
            let pause_ns = 10_000_000_u64 << state.unreachable.min(6);
            state.unreachable += 1;
            let until_ns = clock::now_ns() + pause_ns;
            self.alarm.until(until_ns.min(running.plan.stop_ns)).await;
        }
    }

    /// Logs in again after a 401, once for all workers that saw it. A login has a time limit of its own; the end of the run
    /// does not wait for that.
    async fn renew(&mut self, running: &Running) {
        let renewed = {
            let login = std::pin::pin!(running.mission.sessions.newer_than(self.generation));
            self.watched.run(login, u64::MAX).await
        };
        match renewed {
            Ok(Ok((shared, did_it))) => {
                self.generation = shared.generation;
                self.client.set_session(&shared.session);
                if did_it && let Some(sums) = self.recorder.sums.borrow_mut().op_mut(0) {
                    sums.renewals += 1;
                }
            }
            Ok(Err(error)) => running.note_failure(0, &error),
            Err(Cut::Aborted | Cut::Timeout) => {}
        }
    }

    /// The last worker of a `cleanup` with `deleteContainer=true` deletes the containers: before that they are not empty.
    async fn tidy_up(&mut self, running: &Running, state: &mut WorkerState) {
        let is_last = running.active.fetch_sub(1, Ordering::AcqRel) == 1;
        let Some(operation) = running.mission.work.operations.first() else { return };
        if !is_last
            || operation.kind != OpKind::Cleanup
            || !operation.delete_container
            || self.flow.is_stopping()
        {
            return;
        }
        let containers = operation.containers.as_ref().filter(|containers| !containers.is_nothing());
        let Some((first, last)) = containers.map(|containers| containers.bounds()) else { return };
        for container in first..=last {
            self.use_newest_session(running).await;
            let choice = Choice { container, ..Choice::default() };
            let (mut marks, timing) = (Marks::default(), Timing::default());
            let call = Call {
                client: self.client.as_mut(),
                operation,
                files: None,
                container: state.names[0].0.write(container),
                object: "",
                choice,
                known: None,
                version: 0,
                marks: &mut marks,
                timing: &timing,
            };
            let outcome = {
                let call = std::pin::pin!(ops::remove_container(call));
                self.watched.run(call, running.limit_ns).await
            };
            let result = match outcome {
                Ok(result) => result,
                Err(Cut::Timeout) => {
                    timing.end_ns.set(0);
                    Err(timed_out(running, state, choice))
                }
                Err(Cut::Aborted) => return,
            };
            // As in COSBench a container that was deleted is no operation; one that was not is a failure.
            let Err(error) = result else { continue };
            if !self.does_it_all(running) || self.is_only_late(running, state, container, &error).await {
                running.note_failure(0, &error);
                continue;
            }
            state.timing.reset(0);
            state.timing.sent_ns.set(timing.sent_ns.get());
            state.timing.end_ns.set(timing.end_ns.get());
            state.marks = marks;
            let slot = Slot { due_ns: clock::now_ns(), delayed: false };
            self.record(running, state, slot, choice, &Err(error.clone()));
            self.after_failure(running, state, 0, &error).await;
        }
    }

    /// A container that was not deleted, because its listing does not know yet that it is empty, is no failure of a healthy store.
    async fn is_only_late(
        &mut self,
        running: &Running,
        state: &mut WorkerState,
        container: u64,
        error: &Error,
    ) -> bool {
        if error.kind() != ErrorKind::Status(409) {
            return false;
        }
        let mut marks = Marks::default();
        let name = state.names[0].0.write(container);
        let look = std::pin::pin!(ops::lists_what_is_gone(self.client.as_mut(), name, &mut marks));
        matches!(self.watched.run(look, running.limit_ns).await, Ok(Ok(true)))
    }

    /// Whether nobody else deletes objects of its containers now, as far as can be seen here: what others still have to delete
    /// is no failure.
    fn does_it_all(&self, running: &Running) -> bool {
        let mission = &running.mission;
        mission.workers == mission.work.workers && mission.work.driver.is_none() && self.missions.len() == 1
    }
}

fn timed_out(running: &Running, state: &WorkerState, choice: Choice) -> Error {
    let limit = running.mission.adaptor.timeout().unwrap_or_default();
    let ObjectName { container, object } = state.name(running, choice);
    Error::new(ErrorKind::Timeout, format!("no complete answer for {container}/{object} within {limit:?}"))
        .with_hint("the store stalls, or `timeout` is too short for objects of this size")
        .with_partial_bytes(state.marks.body_bytes)
}

/// Which write it was; 0 where nothing of Cosmark's own is written.
#[inline]
fn version_of(running: &Running, choice: Choice, version: u64) -> u32 {
    let operation = running.mission.work.operations.get(usize::from(choice.op));
    let writes = operation.is_some_and(|operation| operation.kind.row().effect == Effect::Writes);
    if writes { which(version) } else { 0 }
}

/// When an operation was on the wire, or why that is not known of one of which it should be.
#[inline]
fn on_wire(marks: &Marks) -> (WireTimes, Option<WireGap>) {
    let wire = &marks.wire;
    match wire.complete(marks.requests) {
        Ok(weight) => {
            let (sent_ns, first_byte_ns, end_ns) = (wire.sent_ns, wire.first_byte_ns, wire.end_ns);
            (WireTimes { sent_ns, first_byte_ns, end_ns, spent_ns: wire.spent_ns, weight }, None)
        }
        Err(gap) => (WireTimes::default(), gap),
    }
}

/// Hands out the arrivals of an open loop and counts those that are dropped or never sent.
pub async fn dispatch(
    queue: Rc<ArrivalQueue>,
    alarm: Rc<Alarm>,
    recorder: Rc<ThreadRecorder>,
    mix: Option<Mix>,
    mut rng: Xoshiro256PlusPlus,
    plan: SlicePlan,
) {
    // Which operation it would have been is drawn by the weights of the mix.
    let mut draw = || mix.as_ref().map_or(0, |mix| mix.draw(&mut rng));
    let missed = |due_ns| {
        if let Some(sums) = recorder.sums.borrow_mut().op_mut(draw()) {
            sums.missed += 1;
            sums.intended += u64::from(plan.is_due_in_window(due_ns));
        }
    };
    // Workers that sleep until the same moment began to do so before: they stand ready when the first arrival is due.
    alarm.until(plan.start_ns).await;
    queue.dispatch(&alarm, missed).await;
    let now_ns = clock::now_ns();
    let unsent = |due_ns| {
        if let Some(sums) = recorder.sums.borrow_mut().op_mut(draw()) {
            enter_unfinished(sums, &plan, due_ns, now_ns, true);
        }
    };
    queue.drain_backlog(plan.window_end_ns.min(now_ns), unsent).await;
}

/// What was due at `due_ns` will have no sample; it is as old as it was at the end of the window.
fn enter_unfinished(sums: &mut OpSnapshot, plan: &SlicePlan, due_ns: u64, now_ns: u64, is_open: bool) {
    sums.intended += u64::from(is_open && plan.is_due_in_window(due_ns));
    if due_ns <= plan.window_end_ns {
        sums.unfinished += 1;
        sums.unfinished_age.record(plan.window_end_ns.min(now_ns).saturating_sub(due_ns));
    }
}
