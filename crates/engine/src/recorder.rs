//! What one work did on one thread, until it is handed over.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use cosmark_metrics::{Recorder, Sample};
use tokio::sync::mpsc;

use crate::mission::{Began, EngineEvent, Running};
use crate::ops::Timing;
use crate::sample_log::SampleLog;

/// What one work did on this thread: its sums, slice by slice, and its samples where they are logged.
pub struct ThreadRecorder {
    pub sums: RefCell<Recorder>,
    /// What each worker has in flight.
    in_flight: RefCell<Vec<Rc<Timing>>>,
    log: Option<RefCell<SampleLog>>,
    /// When the last operation ended; kept here because the threads share nothing while operations run.
    last_end_ns: Cell<u64>,
    /// When its workers were let go.
    began: Cell<Option<Began>>,
    work: u16,
    /// What is logged is handed over at once: a run that is killed is to know what was acknowledged.
    at_once: bool,
}

impl ThreadRecorder {
    /// Of the work with this index, which has so many operations.
    pub fn new(running: &Running, log_operations: bool) -> Self {
        let mission = &running.mission;
        let operations = mission.work.operations.len();
        Self {
            sums: RefCell::new(Recorder::new(mission.index, operations, running.is_paced(), running.plan)),
            in_flight: RefCell::default(),
            log: log_operations.then(RefCell::default),
            last_end_ns: Cell::new(0),
            began: Cell::new(None),
            work: mission.index,
            at_once: mission.work.pass.is_some(),
        }
    }

    /// When its last operation ended, and when its workers began.
    pub fn times(&self) -> (u64, Option<Began>) {
        (self.last_end_ns.get(), self.began.get())
    }

    /// A place for one more worker to say what it has in flight.
    pub fn add_worker(&self) -> Rc<Timing> {
        let timing = Rc::new(Timing::default());
        self.in_flight.borrow_mut().push(Rc::clone(&timing));
        timing
    }

    /// Closes the slices that are over.
    pub fn roll(&self, now_ns: u64) {
        let timings = self.in_flight.borrow();
        self.sums.borrow_mut().roll(now_ns, |each| {
            timings
                .iter()
                .filter_map(|timing| timing.in_flight())
                .for_each(|(op, sent_ns)| each(op, sent_ns));
        });
    }

    /// Records one operation, which its worker still shows as in flight.
    #[inline]
    pub fn record(&self, sample: &Sample) {
        if self.sums.borrow().is_over(sample.end_ns) {
            self.roll(sample.end_ns);
        }
        self.sums.borrow_mut().record(sample);
        if let Some(log) = &self.log {
            log.borrow_mut().enter(sample);
        }
    }

    /// Notes an operation that was given up: it is in the log, and in no count.
    pub fn log_given_up(&self, sample: &Sample) {
        if let Some(log) = &self.log {
            log.borrow_mut().enter(sample);
        }
    }

    /// Notes the end of an operation, whether or not it is a sample.
    #[inline]
    pub fn note_end(&self, end_ns: u64) {
        self.last_end_ns.set(self.last_end_ns.get().max(end_ns));
    }

    /// Notes that a worker has done its share of a total.
    pub fn note_done(&self, at_ns: u64) {
        self.roll(at_ns);
        self.sums.borrow_mut().worker_done(at_ns);
    }

    /// Notes that a worker begins.
    pub fn note_began(&self, at_ns: u64) {
        let own = Began::at(at_ns);
        self.began.set(Some(self.began.get().map_or(own, |began| began.with(own))));
    }

    /// Hands over what is complete; keeps what the receiver has no room for.
    pub fn hand_over(&self, events: &mpsc::Sender<EngineEvent>, all: bool) -> bool {
        let mut recorder = self.sums.borrow_mut();
        let ready: Vec<_> = recorder.take_ready().collect();
        let all = all || self.at_once;
        let mut refused_ones = Vec::new();
        for snapshot in ready {
            if !refused_ones.is_empty() {
                refused_ones.push(snapshot);
            } else if let Err(refused) = events.try_send(EngineEvent::Snapshot(snapshot))
                && let mpsc::error::TrySendError::Full(EngineEvent::Snapshot(snapshot)) = refused
            {
                refused_ones.push(snapshot);
            }
        }
        let all_taken = refused_ones.is_empty();
        refused_ones.into_iter().rev().for_each(|snapshot| recorder.put_back(snapshot));
        let log = self.log.as_ref();
        log.is_none_or(|log| log.borrow_mut().hand_over(self.work, events, all)) && all_taken
    }
}
