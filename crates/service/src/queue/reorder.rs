//! Reorders runs that wait.

use super::{Job, Refused, RunQueue, unknown};
use crate::api::types::{QueueMove, RunSummary};
use crate::queue::store::QueueEntry;

impl RunQueue {
    /// Moves a run that waits.
    ///
    /// # Errors
    /// When it does not wait, or the one before which it is to go does not.
    pub async fn reorder(&self, id: &str, to: &QueueMove) -> Result<RunSummary, Refused> {
        let one_at_a_time = self.changing.lock().await;
        let (before, changed) = {
            let mut jobs = self.jobs();
            let places = |job: &Job| (job.entry.id.clone(), job.entry.priority, job.entry.order);
            let before: Vec<_> = jobs.active.iter().map(places).collect();
            (before, move_in(&mut jobs.active, id, to)?)
        };
        for entry in changed {
            if let Err(error) = self.store.put(entry).await {
                let mut jobs = self.jobs();
                for (id, priority, order) in before {
                    if let Some(job) = jobs.active.iter_mut().find(|job| job.entry.id == id) {
                        (job.entry.priority, job.entry.order) = (priority, order);
                    }
                }
                return Err(error.into());
            }
        }
        drop(one_at_a_time);
        self.tell_positions();
        self.wake.notify_one();
        self.find(id).ok_or_else(|| unknown(id))
    }
}

/// Moves a waiting run; gives the entries that changed.
fn move_in(active: &mut [Job], id: &str, to: &QueueMove) -> Result<Vec<QueueEntry>, Refused> {
    let waits = |active: &[Job], id: &str| {
        let job = active.iter().find(|job| job.entry.id == id).ok_or_else(|| unknown(id))?;
        match job.stop {
            None => Ok(job.entry.priority),
            Some(_) => Err(Refused::Conflict(format!("{id} runs already; only what waits can be moved"))),
        }
    };
    waits(active, id)?;
    let before = to.before.as_deref().filter(|before| *before != id);
    let priority = match before {
        Some(before) => Some(waits(active, before)?),
        None => to.priority,
    };
    let old: Vec<QueueEntry> = active.iter().map(|job| job.entry.clone()).collect();
    active.sort_by_key(Job::place);
    let mut order: Vec<String> = active.iter().map(|job| job.entry.id.clone()).collect();
    if let Some(before) = before {
        order.retain(|one| one != id);
        let at = order.iter().position(|one| one == before).unwrap_or(order.len());
        order.insert(at, id.to_owned());
    }
    for job in active.iter_mut() {
        if let Some(priority) = priority.filter(|_| job.entry.id == id) {
            job.entry.priority = priority;
        }
        let at = order.iter().position(|one| *one == job.entry.id).unwrap_or(0);
        job.entry.order = i64::try_from(at).unwrap_or(i64::MAX);
    }
    let changed = |entry: &&QueueEntry| !old.contains(entry);
    Ok(active.iter().map(|job| &job.entry).filter(changed).cloned().collect())
}
