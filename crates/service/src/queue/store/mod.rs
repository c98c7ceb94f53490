//! The store of the queue: one trait, implemented over files of the state directory and over buckets of JetStream.
//! Submissions may hold secrets; they are sealed with the cluster's key wherever they are stored.

mod files;
mod kv;

use cosmark_workload::units::shown;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::ServiceError;
use crate::api::types::Submission;
use crate::auth::keys::ClusterKey;

pub use files::FileStore;
pub use kv::KvStore;

/// Ended runs whose submission is kept, so that they can be submitted again.
pub const MOST_ENDED: usize = 1000;

/// What every operation of a store gives.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, ServiceError>>;

/// A run in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueEntry {
    /// Such as `w12`.
    pub id: String,
    /// 12.
    pub number: u64,
    /// What was submitted.
    pub submission: Submission,
    /// When, RFC 3339.
    pub submitted: String,
    /// By whom: name of the token.
    pub submitted_by: String,
    /// Name of the workload.
    pub name: String,
    /// How many stages it has.
    pub stages: u32,
    /// Kinds of its operations.
    pub operations: Vec<String>,
    /// Runs with a higher one come first.
    pub priority: i32,
    /// Order among those of the same priority.
    pub order: i64,
    /// Seed it is run with.
    pub seed: u64,
    /// When it was begun, RFC 3339; `None` while it waits.
    pub started: Option<String>,
    /// Somebody wants it to end: `Some(true)` at once.
    pub cancelled: Option<bool>,
    /// Which drivers it asks for, as `cosmark_workload::drivers` reads it; empty = all.
    #[serde(default)]
    pub wants: String,
    /// How long they are waited for, where that is said.
    #[serde(default)]
    pub wait_for_drivers_ms: Option<u64>,
    /// Those that it got.
    #[serde(default)]
    pub drivers: Vec<String>,
    /// How long it was its turn before it got them.
    #[serde(default)]
    pub waited_ms: u64,
}

/// What stands in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Queued {
    /// All runs that wait or run, in no order.
    pub entries: Vec<QueueEntry>,
    /// Names of what is there and can be no run of this cluster.
    pub foreign: Vec<String>,
}

impl Queued {
    /// Whether the run of this number is there, or something else in its place.
    #[must_use]
    pub fn has(&self, number: u64) -> bool {
        let name = format!("w{number}");
        self.entries.iter().any(|entry| entry.number == number) || self.foreign.contains(&name)
    }

    /// What is foreign, in a sentence; `None` where nothing is.
    #[must_use]
    pub fn foreign_in_words(&self) -> Option<String> {
        const NAMED: usize = 8;
        let named: Vec<String> = self.foreign.iter().take(NAMED).map(|name| shown(name)).collect();
        let more = self.foreign.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!named.is_empty()).then(|| {
            format!(
                "what stands in the queue as {}{more} is no run that this cluster took, and is passed over; somebody else \
                 wrote it, or a Cosmark of another version: where it is not wanted, delete it",
                named.join(", ")
            )
        })
    }
}

/// Who leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leader {
    /// Name of the controller.
    pub name: String,
    /// Where it is reached.
    pub url: String,
    /// SHA-256 of its certificate, where it has TLS of its own: other controllers take no other for it.
    #[serde(default)]
    pub certificate: Option<String>,
}

impl Leader {
    /// Nobody.
    #[must_use]
    pub fn nobody() -> Self {
        Self { name: String::new(), url: String::new(), certificate: None }
    }
}

/// A place for the queue, the submissions of ended runs, the numbers of runs, and the word on who leads.
pub trait Store: Send + Sync {
    /// What stands in the queue.
    fn queue(&self) -> Answer<'_, Queued>;

    /// Keeps a run, new or changed.
    fn put(&self, entry: QueueEntry) -> Answer<'_, ()>;

    /// Takes an ended run out of the queue and keeps its submission.
    fn end(&self, entry: QueueEntry) -> Answer<'_, ()>;

    /// The submission of an ended run, if it is still kept.
    fn ended<'a>(&'a self, id: &'a str) -> Answer<'a, Option<QueueEntry>>;

    /// Takes the next number of a run; at least `least`.
    fn number(&self, least: u64) -> Answer<'_, u64>;

    /// Asks to lead, or to go on leading; gives who leads then.
    fn lead(&self, me: Leader) -> Answer<'_, Leader>;

    /// Leads no longer.
    fn resign(&self) -> Answer<'_, ()>;

    /// Names of all controllers seen lately.
    fn controllers(&self) -> Answer<'_, Vec<String>>;

    /// Whether what it rests on can be reached, and where that is, without credentials.
    fn connection(&self) -> (bool, String);
}

/// `w12`: nothing that could be a path.
fn is_id(id: &str) -> bool {
    id.strip_prefix('w')
        .is_some_and(|n| !n.is_empty() && n.len() < 20 && n.bytes().all(|b| b.is_ascii_digit()))
}

/// An entry as it is kept.
pub fn sealed(key: &ClusterKey, entry: &QueueEntry) -> Result<Vec<u8>, ServiceError> {
    let text = serde_json::to_vec(entry)
        .map_err(|cause| ServiceError::Bus(format!("a submission could not be written as JSON: {cause}")))?;
    key.seal(&text)
}

/// An entry that was kept; the error says which.
pub fn opened(key: &ClusterKey, what: &str, bytes: &[u8]) -> Result<QueueEntry, ServiceError> {
    let text = key.open_sealed(bytes).ok_or_else(|| {
        ServiceError::Bus(format!(
            "{what} was sealed with another key; copy cluster.key from the controller that took the submission"
        ))
    })?;
    serde_json::from_slice(&text)
        .map_err(|cause| ServiceError::Bus(format!("{what} is not a submission of this version: {cause}")))
}

/// A submission, for tests.
#[cfg(test)]
pub(crate) fn example(number: u64, source: String) -> QueueEntry {
    QueueEntry {
        id: format!("w{number}"),
        number,
        submission: Submission { source, ..Default::default() },
        submitted: "2026-11-22T05:00:00Z".into(),
        submitted_by: "admin".into(),
        name: "mixed".into(),
        stages: 1,
        operations: vec!["read".into()],
        priority: 0,
        order: 0,
        seed: 1,
        started: None,
        cancelled: None,
        wants: String::new(),
        wait_for_drivers_ms: None,
        drivers: Vec::new(),
        waited_ms: 0,
    }
}
