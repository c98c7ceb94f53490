//! Where the runs of the queue are in the archive: the number of each may be that of a run that was copied in as well.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::RunQueue;
use crate::ServiceError;
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

    /// The same of all of them, by their ids, and of those that were taken out. Blocks.
    #[must_use]
    pub fn places(&self) -> BTreeMap<String, Option<PathBuf>> {
        let taken_out = self.jobs().taken_out.clone();
        let known: Vec<(Arc<LiveRun>, Option<QueueEntry>)> = {
            let jobs = self.jobs();
            // What waits has none, unless it was begun before.
            let entry = |entry: &QueueEntry| entry.started.is_some().then(|| entry.clone());
            let recent = jobs.recent.iter().map(|live| (Arc::clone(live), None));
            let active = jobs.active.iter().map(|job| (Arc::clone(&job.live), entry(&job.entry)));
            recent.chain(active).collect()
        };
        // What was put back is known by what is in it.
        let taken_out = taken_out.into_iter().filter(|(_, dir)| !dir.exists()).map(|(id, _)| (id, None));
        let known = known.into_iter();
        let known = known.map(|(live, entry)| (live.id.clone(), self.place_of(&live, entry.as_ref())));
        taken_out.chain(known).collect()
    }

    fn place_of(&self, live: &LiveRun, entry: Option<&QueueEntry>) -> Option<PathBuf> {
        live.path().or_else(|| self.runner().begun(entry?))
    }

    /// Where a run of this id is that this controller has begun and ended, as long as its submission is kept: `Some(None)` where it
    /// is not in its place any more. Blocks.
    ///
    /// # Errors
    /// When the store cannot be asked: then nobody knows whose the number is.
    pub fn place_of_ended(&self, id: &str) -> Result<Option<Option<PathBuf>>, ServiceError> {
        let Ok(asking) = tokio::runtime::Handle::try_current() else { return Ok(None) };
        // One that is away would be waited for, for each run of an archive. A store of files has no URL.
        let (is_there, url) = self.store().connection();
        if !is_there && !url.is_empty() {
            return Err(ServiceError::Away { url });
        }
        let entry = asking.block_on(self.store().ended(id))?;
        let begun = entry.filter(|entry| entry.started.is_some());
        Ok(begun.map(|entry| self.runner().begun(&entry)))
    }

    /// A run that runs or has ended lately, if it is the one in this directory.
    #[must_use]
    pub fn live_at(&self, id: &str, dir: &Path) -> Option<Arc<LiveRun>> {
        self.live(id).filter(|live| live.path().is_none_or(|own| own == dir))
    }

    /// Forgets a run that has ended and whose directory was taken out, but not that its number was its own: `id` is the number of a
    /// run of the queue that was there.
    pub fn forget(&self, id: Option<String>, dir: &Path) {
        let mut jobs = self.jobs();
        let is_it = |live: &Arc<LiveRun>| live.path().as_deref() == Some(dir);
        let lately = jobs.recent.iter().find(|live| is_it(live)).map(|live| live.id.clone());
        jobs.recent.retain(|live| !is_it(live));
        if let Some(id) = lately.or(id) {
            jobs.taken_out.insert(id, dir.to_owned());
        }
    }
}
