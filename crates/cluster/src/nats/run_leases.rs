//! The leases of runs: one key of a bucket each. A controller replaces its own last entry, and learns from a conflict
//! that another one has taken the run over. Drivers receive each renewal as it is written, and read the bucket when
//! they are in doubt.

use async_nats::jetstream::kv::UpdateErrorKind;
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use cosmark_wire::lease::Lease;
use cosmark_wire::message::{decode, encode};
use futures_util::StreamExt;

use crate::nats::connect::Bus;
use crate::nats::error::BusError;
use crate::nats::keys::is_answer;
use crate::nats::names::ALIVE;

/// Why a lease was not renewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotRenewed {
    /// What was read last is not what is there: somebody else has written.
    Changed,
    /// NATS does not take it now.
    Trouble(String),
}

/// Renewals as they are written. What was written before is not in it, and what was said while the connection was away is lost.
#[derive(Debug)]
pub struct Renewals(async_nats::Subscriber);

impl Bus {
    /// The lease of a run as the bucket's leader has it now, with its revision.
    ///
    /// # Errors
    /// When NATS does not answer.
    pub async fn lease_of(&self, run: &str) -> Result<Option<(Lease, u64)>, BusError> {
        let problem = |cause: String| self.problem(format!("the lease of run {run} cannot be read: {cause}"));
        let stream = self
            .jetstream()
            .get_stream_no_info(format!("KV_{ALIVE}"))
            .await
            .map_err(|cause| problem(cause.to_string()))?;
        // Not by a direct get: a copy that lags behind the leader would tell an old beat.
        match stream.get_last_raw_message_by_subject(&crate::nats::names::lease(run)).await {
            Ok(message) if is_answer(&message.headers) => Ok(None),
            Ok(message) => Ok(decode(&message.payload).ok().map(|lease| (lease, message.sequence))),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(problem(error.to_string())),
        }
    }

    /// Writes a lease over the one with this revision (0 = there is none); gives the new revision.
    ///
    /// # Errors
    /// [`NotRenewed`]
    pub async fn renew(&self, run: &str, lease: &Lease, revision: u64) -> Result<u64, NotRenewed> {
        let bucket = self.bucket(ALIVE).await.map_err(|error| NotRenewed::Trouble(error.to_string()))?;
        let bytes = encode(lease).map_err(|error| NotRenewed::Trouble(error.to_string()))?;
        bucket.update(run, bytes.into(), revision).await.map_err(|error| match error.kind() {
            UpdateErrorKind::WrongLastRevision => NotRenewed::Changed,
            _ => NotRenewed::Trouble(error.to_string()),
        })
    }

    /// Hears the renewals of all runs from now on.
    ///
    /// # Errors
    /// When the connection is gone for good.
    pub async fn renewals(&self) -> Result<Renewals, BusError> {
        let heard = self.client().subscribe(crate::nats::names::lease("*")).await;
        heard.map(Renewals).map_err(|cause| self.problem(cause.to_string()))
    }

    /// Makes streams and buckets again that a server has lost.
    ///
    /// # Errors
    /// When it refuses.
    pub async fn mend(&self) -> Result<(), BusError> {
        crate::nats::setup::ensure(self, crate::nats::Limits::default()).await
    }
}

impl Renewals {
    /// The next one: its run, and the lease. `None` when the connection is gone for good.
    pub async fn next(&mut self) -> Option<(String, Lease)> {
        loop {
            let message = self.0.next().await?;
            if message.headers.as_ref().is_some_and(is_answer) {
                continue;
            }
            let run = message.subject.rsplit('.').next().unwrap_or_default().to_owned();
            if let Ok(lease) = decode::<Lease>(&message.payload) {
                return Some((run, lease));
            }
        }
    }
}
