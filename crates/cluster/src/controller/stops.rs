//! The user's request to end a run: followed at once, and recorded with its step, so that a controller that takes the
//! run over follows it in the same step.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cosmark_controller::StopLevel;
use cosmark_wire::message::Control;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::journal::Journal;
use super::lessor::LeaseWords;
use super::publisher::Publisher;

/// How urgently a run is to end, from now and from before.
pub struct Stops {
    level: watch::Sender<StopLevel>,
    step: Arc<AtomicU32>,
    before: Vec<(u32, StopLevel)>,
    lease: LeaseWords,
    task: JoinHandle<()>,
}

impl Drop for Stops {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Stops {
    /// Follows what the user says from now on.
    pub fn start(
        mut wish: watch::Receiver<StopLevel>,
        journal: &Journal,
        publisher: Publisher,
        lease: LeaseWords,
    ) -> Self {
        let level = watch::channel(StopLevel::Run).0;
        let step = Arc::new(AtomicU32::new(0));
        let (sender, at, words) = (level.clone(), Arc::clone(&step), lease.clone());
        let task = tokio::spawn(async move {
            loop {
                let wanted = *wish.borrow_and_update();
                if wanted > *sender.borrow() {
                    sender.send_replace(wanted);
                    let step = at.load(Ordering::Acquire);
                    words.end_at(step, wanted == StopLevel::Abort);
                    publisher.control(Control::Cancelled { step, abort: wanted == StopLevel::Abort });
                }
                if wish.changed().await.is_err() {
                    return;
                }
            }
        });
        Self { level, step, before: journal.cancelled.clone(), lease, task }
    }

    /// What the run follows.
    pub fn level(&self) -> watch::Receiver<StopLevel> {
        self.level.subscribe()
    }

    /// To be told whenever a step begins.
    pub fn step_teller(&self) -> Box<dyn FnMut(u32)> {
        let (level, at, before) = (self.level.clone(), Arc::clone(&self.step), self.before.clone());
        let lease = self.lease.clone();
        Box::new(move |step| {
            at.store(step, Ordering::Release);
            let wanted = before.iter().filter(|(in_step, _)| *in_step <= step).map(|(_, level)| *level).max();
            if let Some(wanted) = wanted.filter(|wanted| *wanted > *level.borrow()) {
                lease.end_at(step, wanted == StopLevel::Abort);
                level.send_replace(wanted);
            }
        })
    }
}
