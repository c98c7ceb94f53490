//! Faults while a stage runs: they begin with its load, are told as they happen, and are healed before it is over.

use std::time::Duration;

use cosmark_archive::{EventKind, PauseRecord, StageRecord, Timestamp};
use cosmark_metrics::FaultResult;
use tokio::time::Instant;

use super::StageRun;
use crate::observe::Observer;

/// How often it is looked whether all is healed.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Whoever heals has time limits of its own, which are shorter.
const HEAL_PATIENCE: Duration = Duration::from_secs(15 * 60);

impl StageRun<'_, '_> {
    pub(super) fn begin_faults(&mut self, at: Timestamp) {
        if self.has_faults
            || self.stage.faults.is_empty()
            || self.failure.is_some()
            || *self.job.stop.borrow() != crate::job::StopLevel::Run
        {
            return;
        }
        if let Some(faults) = &mut self.job.faults {
            self.has_faults = true;
            faults.begin(&self.stage, &self.stage.id(self.index), at);
        }
    }

    /// Writes down and tells what happened.
    pub(super) fn hear_faults(&mut self, observer: &mut dyn Observer) {
        if !self.has_faults {
            return;
        }
        let news = self.job.faults.as_mut().map(|faults| faults.take()).unwrap_or_default();
        for one in news {
            let text = (self.job.redact)(&one.text);
            self.job.dir.event_at(one.at, one.kind, Some(self.index), &text);
            if one.kind == EventKind::Fault {
                observer.note(&text);
                self.job.dir.log("INFO", "Fault", &text);
            }
        }
    }

    /// The load is to end: what is in force is healed while operations in flight end.
    pub(super) fn stop_faults(&mut self) {
        if let Some(faults) = self.job.faults.as_mut().filter(|_| self.has_faults) {
            faults.stop();
        }
    }

    /// Waits until all is healed, and for a while until the store is whole again.
    pub(super) async fn end_faults(&mut self, observer: &mut dyn Observer) {
        if !self.has_faults {
            return;
        }
        self.stop_faults();
        let whole_within = self.stage.faults.iter().map(|fault| fault.whole_within).max().unwrap_or_default();
        let until = Instant::now() + HEAL_PATIENCE + whole_within;
        while Instant::now() < until && self.job.faults.as_ref().is_some_and(|faults| !faults.is_over()) {
            if *self.job.stop.borrow() != crate::job::StopLevel::Run {
                self.job.faults.iter_mut().for_each(|faults| faults.leave());
            }
            tokio::time::sleep(LOOK_EVERY).await;
            self.hear_faults(observer);
        }
        self.hear_faults(observer);
    }

    /// What they cost; the record has what is missing of drivers, and their pauses.
    pub(super) fn faults(&mut self, record: &StageRecord) -> Vec<FaultResult> {
        let stood = self.peers.iter().enumerate().flat_map(|(at, peer)| peer.stood(&self.name_of(at)));
        let pauses: Vec<PauseRecord> = record.pauses.iter().cloned().chain(stood).collect();
        let faults = self.job.faults.as_mut().filter(|_| self.has_faults);
        faults.map(|faults| faults.results(&record.missing, &pauses)).unwrap_or_default()
    }
}
