//! Drivers that do not do their part of a stage: lost, late, held, or silent after a stop; and load that is not the
//! stage's own.

use std::time::Duration;

use cosmark_archive::{BesideRecord, EventKind, StageState};
use cosmark_wire::{Failure, FailureClass, PauseReason};
use cosmark_workload::model::OnDriverLoss;
use tokio::time::Instant;

use super::StageRun;
use crate::job::StopLevel;
use crate::observe::Observer;

/// Drivers that were told to drop everything have done so within this time, or the run ends without them.
pub(super) const ABORT_PATIENCE: Duration = Duration::from_secs(4);
/// The same for those that let operations in flight end for 5 s, before they are told to drop them.
const FINISH_PATIENCE: Duration = Duration::from_secs(25);
/// What drivers need for it beside the operations.
const BESIDE_OPERATIONS: Duration = Duration::from_secs(20);

/// How long drivers may take that let operations in flight end; `drain` = how long these may take, where the user said it.
pub(super) fn finish_patience(drain: Option<Duration>) -> Duration {
    drain.map_or(FINISH_PATIENCE, |drain| FINISH_PATIENCE.max(drain.saturating_add(BESIDE_OPERATIONS)))
}

/// Other runs of drivers that are written down beside a stage: a driver may name new ones without end.
const MOST_BESIDE: usize = 1000;

impl StageRun<'_, '_> {
    pub(super) fn lose(
        &mut self,
        driver: usize,
        silent_ms: u64,
        late: Option<String>,
        observer: &mut dyn Observer,
    ) {
        let Some(peer) = self.peers.get_mut(driver).filter(|peer| peer.is_awaited()) else { return };
        (peer.is_lost, peer.is_cut) = (true, true);
        let seconds = Duration::from_millis(silent_ms).as_secs();
        let text = late.map_or_else(
            || format!("nothing was heard of it for {seconds} s"),
            |late| format!("it is there, and {late} within {seconds} s"),
        );
        self.cut(driver, &text, observer);
    }

    /// A driver's part will not be complete: the workload says whether that is the end.
    pub(super) fn cut(&mut self, driver: usize, why: &str, observer: &mut dyn Observer) {
        let text = format!("driver {} is lost: {why}", self.name_of(driver));
        self.job.dir.event(EventKind::Driver, Some(self.index), &text);
        match self.job.workload.loss.on_loss {
            OnDriverLoss::Fail => {
                let text = format!("{text}; on_driver_loss: continue would have gone on without it");
                self.fail(Failure { work: String::new(), class: FailureClass::Driver, text });
            }
            OnDriverLoss::Continue => {
                observer.note(&format!("{text}; the stage goes on without it"));
                self.job.dir.log("WARN", "Driver", &text);
            }
        }
    }

    /// A driver made no load for some time although it was to.
    pub(super) fn note_pause(
        &mut self,
        driver: usize,
        from_ns: u64,
        to_ns: u64,
        why: PauseReason,
        observer: &mut dyn Observer,
    ) {
        let Some(peer) = self.peers.get_mut(driver) else { return };
        peer.add_pause(from_ns, to_ns, why);
        let seconds = Duration::from_nanos(to_ns.saturating_sub(from_ns)).as_secs_f64();
        let why = match why {
            PauseReason::NotRenewed => "nobody renewed the lease of the run",
            PauseReason::StoodStill => "it stood still, and asked before it went on",
        };
        let text = format!("driver {} made no load for {seconds:.1} s: {why}", self.name_of(driver));
        self.job.dir.event(EventKind::Driver, Some(self.index), &text);
        observer.note(&text);
        self.job.dir.log("WARN", "Driver", &text);
    }

    /// To go on without a driver takes another one: a stage whose drivers were all lost before their load began has not run.
    pub(super) fn fail_if_nobody_began(&mut self) {
        let mut ordered = self.peers.iter().filter(|peer| !peer.shares.is_empty());
        let is_cancelled = *self.job.stop.borrow() != StopLevel::Run;
        if self.first_launch().is_none() && !is_cancelled && ordered.all(|peer| peer.is_lost) {
            let text = "every driver of the stage was lost before its load began".to_owned();
            self.fail(Failure { work: String::new(), class: FailureClass::Driver, text });
        }
    }

    /// The user waits for the end, and these drivers do not answer.
    pub(super) fn go_without_the_silent(&mut self, observer: &mut dyn Observer) {
        for (at, peer) in self.peers.iter_mut().enumerate().filter(|(_, peer)| peer.is_awaited()) {
            (peer.is_lost, peer.is_cut) = (true, true);
            let Some(driver) = self.job.drivers.get(at) else { continue };
            let mut text = format!(
                "driver {} has not answered the word to stop within {} s; the run ends without it",
                driver.name(),
                ABORT_PATIENCE.as_secs()
            );
            let unheard_s = driver.goes_on_unheard().as_secs_f64().ceil();
            if unheard_s > 0.0 {
                text.push_str(&format!(", and if it is cut off its load may go on for up to {unheard_s} s"));
            }
            observer.note(&text);
            self.job.dir.log("WARN", "Driver", &text);
        }
    }

    /// Notes what else loads the drivers and stores of this stage.
    pub(super) fn look_beside(&mut self, observer: &mut dyn Observer) {
        if self.state != StageState::Running {
            return;
        }
        for seen in self.job.loaded_beside() {
            let key = (seen.driver.clone(), seen.run.clone());
            if let Some(known) = self.beside.get_mut(&key) {
                known.requests_per_s = known.requests_per_s.max(seen.requests_per_s);
                continue;
            }
            if self.beside.len() >= MOST_BESIDE {
                continue;
            }
            let BesideRecord { driver, run, requests_per_s, stores, .. } = &seen;
            let what = if stores.is_empty() { "a driver of this one".to_owned() } else { stores.join(", ") };
            let text =
                format!("run {run} loads {what}, too: driver {driver} sends {requests_per_s:.0} requests/s");
            observer.note(&text);
            self.job.dir.log("WARN", "Driver", &text);
            self.beside.insert(key, seen);
        }
    }
}

/// Waits for a moment, if there is one.
pub(super) async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
