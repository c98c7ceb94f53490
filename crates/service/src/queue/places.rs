//! Where the runs of the queue are in the archive: the number of each may be that of a run that was copied in as well.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::RunQueue;
use crate::live::LiveRun;
use crate::queue::store::QueueEntry;

impl RunQueue {
    /// Where a run that waits, runs or has ended lately is in the archive: `Some(None)` where it has no place there. Blocks.
    #[must_use]
    pub fn place(&self, id: &str) -> Option<Option<PathBuf>> {
        let known = {
            let jobs = self.jobs();
            let active = jobs.active.iter().find(|job| job.entry.id == id);
            let active = active.map(|job| (Arc::clone(&job.live), Some(job.entry.clone())));
            let recent =
                || jobs.recent.iter().rev().find(|live| live.id == id).map(|live| (Arc::clone(live), None));
            active.or_else(recent)
        };
        known.map(|(live, entry)| self.place_of(&live, entry.as_ref()))
    }

    /// The same of all of them, by their ids. Blocks.
    #[must_use]
    pub fn places(&self) -> BTreeMap<String, Option<PathBuf>> {
        let known: Vec<(Arc<LiveRun>, Option<QueueEntry>)> = {
            let jobs = self.jobs();
            // What waits has none, unless it was begun before.
            let entry = |entry: &QueueEntry| entry.started.is_some().then(|| entry.clone());
            let recent = jobs.recent.iter().map(|live| (Arc::clone(live), None));
            recent.chain(jobs.active.iter().map(|job| (Arc::clone(&job.live), entry(&job.entry)))).collect()
        };
        known
            .into_iter()
            .map(|(live, entry)| (live.id.clone(), self.place_of(&live, entry.as_ref())))
            .collect()
    }

    fn place_of(&self, live: &LiveRun, entry: Option<&QueueEntry>) -> Option<PathBuf> {
        live.path().or_else(|| self.runner().begun(entry?))
    }

    /// Where a run of this id is that this controller has ended, as long as its submission is kept. Blocks.
    #[must_use]
    pub fn place_of_ended(&self, id: &str) -> Option<PathBuf> {
        let asking = tokio::runtime::Handle::try_current().ok()?;
        let entry = asking.block_on(self.store().ended(id)).ok()??;
        self.runner().begun(&entry)
    }

    /// Whether this controller has run it, and it is not in its place any more: another may have its number now. Blocks.
    #[must_use]
    pub fn is_taken_out(&self, id: &str) -> bool {
        let Ok(asking) = tokio::runtime::Handle::try_current() else { return false };
        let Ok(Some(entry)) = asking.block_on(self.store().ended(id)) else { return false };
        entry.started.is_some() && self.runner().begun(&entry).is_none()
    }

    /// Forgets a run that has ended and whose directory is no longer there: its number may be that of another one from now on.
    pub fn forget(&self, dir: &Path) {
        self.jobs().recent.retain(|live| live.path().as_deref() != Some(dir));
    }
}
