//! Completed runs, and runs that could not begin: removed from the store's queue at once or as soon as it can be
//! written.

use std::sync::Arc;

use cosmark_archive::Timestamp;

use super::{MOST_RECENT, RunQueue};
use crate::ServiceError;
use crate::api::types::RunEvent;
use crate::queue::runner::Outcome;
use crate::queue::store::QueueEntry;

impl RunQueue {
    /// A run whose beginning could not be kept waits on.
    pub(super) fn postpone(&self, id: &str, resumed: bool, error: &ServiceError) {
        let text = error.to_string();
        let mut jobs = self.jobs();
        if jobs.trouble.as_ref() != Some(&text) {
            (self.tell)(&format!("{id} waits: {text}"));
            jobs.trouble = Some(text);
        }
        self.runner.pool.release(id);
        if let Some(job) = jobs.active.iter_mut().find(|job| job.entry.id == id) {
            job.stop = None;
            if !resumed {
                job.entry.drivers.clear();
                job.entry.started = None;
            }
        }
    }

    /// Takes an ended run out of the store's queue. Only then what its drivers told may go.
    async fn keep_end(&self, entry: &QueueEntry) -> Result<(), ServiceError> {
        self.store.end(entry.clone()).await?;
        self.runner.pool.clear(&entry.id).await;
        Ok(())
    }

    /// Tries again what could not be kept.
    pub(super) async fn record_completed(&self) {
        let _one_at_a_time = self.changing.lock().await;
        let mut unkept = std::mem::take(&mut self.jobs().unkept);
        while let Some(entry) = unkept.first() {
            if self.keep_end(entry).await.is_err() {
                break;
            }
            unkept.remove(0);
        }
        // Those that ended meanwhile come after them.
        self.jobs().unkept.splice(0..0, unkept);
    }

    /// Ends in this controller's archive the runs that others have taken up and ended in archives of their own. While one of
    /// them goes on it may still come back to this controller.
    pub(super) async fn end_what_was_let_go(&self) {
        let let_go = self.jobs().let_go.clone();
        if let_go.is_empty() {
            return;
        }
        let Ok(queue) = self.store.queue().await else { return };
        for entry in let_go.into_iter().filter(|entry| !queue.has(entry.number)) {
            self.jobs().let_go.retain(|known| known.number != entry.number);
            let (runner, id) = (self.runner.clone(), entry.id.clone());
            let closing = tokio::task::spawn_blocking(move || runner.close_let_go(&entry));
            if let Ok(Err(text)) = closing.await {
                (self.tell)(&format!("{id} ended elsewhere, and its archive here stays as it is: {text}"));
            }
        }
    }

    pub(super) async fn complete(&self, id: &str, outcome: Outcome) {
        self.runner.pool.release(id);
        let Some((entry, live)) = self.entry(id) else { return };
        let stopping = self.jobs().stopping;
        if let Err(error) = self.keep_end(&entry).await {
            (self.tell)(&format!(
                "{id} has ended, but the queue could not be written; that is tried again: {error}"
            ));
            self.jobs().unkept.push(entry.clone());
        }
        // One that failed before it went on has what it left.
        if let Some(dir) = live.path().is_none().then(|| self.runner.begun(&entry)).flatten() {
            live.begins_at(dir);
        }
        let verdict = live.path().and_then(|path| cosmark_archive::open_run(&path).ok());
        live.change(|summary| {
            summary.state.clone_from(&outcome.state);
            summary.reason.clone_from(&outcome.reason);
            summary.class = outcome.class.map(|class| crate::live::class_word(class).to_owned());
            summary.ended = Some(Timestamp::now().to_string());
            (summary.stage, summary.progress, summary.remaining_s) = (None, None, None);
            (summary.left_s, summary.left_open) = (None, 0);
            if let Some(run) = &verdict {
                let verdict = &run.record.verdict;
                summary.verdict = Some(crate::live::overall_word(verdict.overall).to_owned());
                summary.verdict_reason.clone_from(&verdict.reason);
            }
        });
        if let Some(run) = verdict {
            live.tell(&RunEvent::Verdict(crate::live::news_of(&run.record.verdict)));
        }
        if outcome.state == "finished" {
            // In COSBench's own spelling, for scripts that wait for this line.
            (self.tell)(&format!("sucessfully processed workload {id}"));
        }
        live.tell(&RunEvent::End { state: outcome.state });
        {
            let mut jobs = self.jobs();
            jobs.active.retain(|job| job.entry.id != id);
            jobs.recent.push(Arc::clone(&live));
            let surplus = jobs.recent.len().saturating_sub(MOST_RECENT);
            jobs.recent.drain(..surplus);
        }
        self.feed.push("run", &live.summary());
        if !stopping {
            self.tell_positions();
        }
        self.wake.notify_one();
    }
}
