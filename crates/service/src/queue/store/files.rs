//! The queue in files of the state directory, for a controller without NATS. One file per run, renamed into place: a kill
//! leaves each run as it was or as it is.

use std::sync::Arc;

use super::{Answer, Leader, MOST_ENDED, QueueEntry, Queued, Store, is_id, opened, sealed};
use crate::ServiceError;
use crate::auth::keys::ClusterKey;
use crate::state::StateDir;

const QUEUE: &str = "queue";
const ENDED: &str = "ended";
const NUMBER: &str = "last-number";

/// Files of a state directory.
pub struct FileStore {
    state: Arc<StateDir>,
    key: Arc<ClusterKey>,
}

impl FileStore {
    /// In this state directory.
    ///
    /// # Errors
    /// When its directories cannot be made.
    pub fn open(state: Arc<StateDir>, key: Arc<ClusterKey>) -> Result<Self, ServiceError> {
        state.directory(QUEUE)?;
        state.directory(ENDED)?;
        Ok(Self { state, key })
    }

    fn read_queue(&self) -> Result<Queued, ServiceError> {
        let mut entries = Vec::new();
        for name in self.state.names(QUEUE)? {
            let file = format!("{QUEUE}/{name}");
            if let Some(bytes) = self.state.read(&file)? {
                entries.push(opened(&self.key, &self.state.path(&file).display().to_string(), &bytes)?);
            }
        }
        // Nobody else writes these files: what cannot be read is damage, or a key that was exchanged.
        Ok(Queued { entries, foreign: Vec::new() })
    }

    fn write_ended(&self, entry: &QueueEntry) -> Result<(), ServiceError> {
        self.state.write(&format!("{ENDED}/{}", entry.id), &sealed(&self.key, entry)?)?;
        self.state.remove(&format!("{QUEUE}/{}", entry.id))?;
        let number = |name: &String| name.strip_prefix('w').and_then(|digits| digits.parse::<u64>().ok());
        let mut names = self.state.names(ENDED)?;
        names.sort_by_key(number);
        let surplus = names.len().saturating_sub(MOST_ENDED);
        names.iter().take(surplus).try_for_each(|name| self.state.remove(&format!("{ENDED}/{name}")))
    }

    fn read_ended(&self, id: &str) -> Result<Option<QueueEntry>, ServiceError> {
        if !is_id(id) {
            return Ok(None);
        }
        let bytes = self.state.read(&format!("{ENDED}/{id}"))?;
        bytes.map(|bytes| opened(&self.key, id, &bytes)).transpose()
    }

    fn next_number(&self, least: u64) -> Result<u64, ServiceError> {
        let text = self.state.read(NUMBER)?.unwrap_or_default();
        let last = String::from_utf8_lossy(&text).trim().parse::<u64>().unwrap_or(0);
        let next = least.max(last.saturating_add(1));
        self.state.write(NUMBER, format!("{next}\n").as_bytes())?;
        Ok(next)
    }
}

/// Small files on a local disk: read and written where they are asked for.
fn now<'a, T: Send + 'a>(result: Result<T, ServiceError>) -> Answer<'a, T> {
    Box::pin(std::future::ready(result))
}

impl Store for FileStore {
    fn queue(&self) -> Answer<'_, Queued> {
        now(self.read_queue())
    }

    fn put(&self, entry: QueueEntry) -> Answer<'_, ()> {
        let written = sealed(&self.key, &entry)
            .and_then(|bytes| self.state.write(&format!("{QUEUE}/{}", entry.id), &bytes));
        now(written)
    }

    fn end(&self, entry: QueueEntry) -> Answer<'_, ()> {
        now(self.write_ended(&entry))
    }

    fn ended<'a>(&'a self, id: &'a str) -> Answer<'a, Option<QueueEntry>> {
        now(self.read_ended(id))
    }

    fn number(&self, least: u64) -> Answer<'_, u64> {
        now(self.next_number(least))
    }

    fn lead(&self, me: Leader) -> Answer<'_, Leader> {
        // The state directory is claimed: there is no other.
        now(Ok(me))
    }

    fn resign(&self) -> Answer<'_, ()> {
        now(Ok(()))
    }

    fn controllers(&self) -> Answer<'_, Vec<String>> {
        now(Ok(Vec::new()))
    }

    fn connection(&self) -> (bool, String) {
        (false, String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u64) -> QueueEntry {
        crate::queue::store::example(number, "key: s3cr3t-value".into())
    }

    #[tokio::test]
    async fn the_queue_outlives_its_process_and_is_sealed() {
        let dir = tempfile::tempdir().unwrap();
        let open = || {
            let state = Arc::new(StateDir::open(dir.path()).unwrap());
            let key = Arc::new(ClusterKey::open(&state).unwrap());
            FileStore::open(state, key).unwrap()
        };
        let store = open();
        for number in [3, 1] {
            store.put(entry(number)).await.unwrap();
        }
        assert_eq!(open().queue().await.unwrap().entries, vec![entry(1), entry(3)]);
        let raw = std::fs::read(dir.path().join("queue/w1")).unwrap();
        assert!(!String::from_utf8_lossy(&raw).contains("s3cr3t"));
        store.end(entry(1)).await.unwrap();
        assert_eq!(open().queue().await.unwrap().entries, vec![entry(3)]);
        assert_eq!(open().ended("w1").await.unwrap(), Some(entry(1)));
        for wrong in ["w9", "../queue/w3", "w", "w3/../../tokens"] {
            assert_eq!(open().ended(wrong).await.unwrap(), None, "{wrong}");
        }
        assert_eq!(store.number(5).await.unwrap(), 5);
        assert_eq!(open().number(2).await.unwrap(), 6, "a number is never given twice");
    }
}
