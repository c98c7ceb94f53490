//! Names of the keys of a bucket, by the subjects of its stream. Who reads them through a consumer until nothing is pending
//! may wait for ever: a key that is written again in the meantime stays pending for the server (nats-server 2.9) until
//! somebody asks for the consumer, and drivers write theirs every two seconds.

use async_nats::jetstream::kv::Store;
use futures_util::{StreamExt, TryStreamExt};

use super::connect::Bus;
use super::error::BusError;
use super::names::is_token;

/// Keys that are asked for at a time.
pub(super) const ASKED_AT_ONCE: usize = 64;

impl Bus {
    /// The keys that a bucket of small values has now, in no order: each value is read, to tell it from the mark that a
    /// deleted one leaves.
    ///
    /// # Errors
    /// When NATS does not answer.
    pub async fn keys(&self, bucket: &Store) -> Result<Vec<String>, BusError> {
        let names = self.named(bucket).await?;
        let asked = futures_util::stream::iter(names).map(|name| async move {
            let value = bucket.get(&name).await.map_err(|cause| self.problem(cause.to_string()))?;
            Ok(value.map(|_| name))
        });
        let found = asked.buffer_unordered(ASKED_AT_ONCE);
        found.try_filter_map(|name| std::future::ready(Ok(name))).try_collect().await
    }

    /// The same with those that are deleted and leave a mark, without reading anything. Where NATS has no logins
    /// anybody may write any subject: what is no key of ours is none.
    ///
    /// # Errors
    /// When NATS does not answer.
    pub async fn named(&self, bucket: &Store) -> Result<Vec<String>, BusError> {
        let trouble = |cause: async_nats::jetstream::stream::InfoError| self.problem(cause.to_string());
        let subjects =
            bucket.stream.info_with_subjects(format!("{}>", bucket.prefix)).await.map_err(trouble)?;
        let names = subjects.map_err(trouble).try_filter_map(|(subject, _)| {
            let name = subject.strip_prefix(&bucket.prefix).filter(|name| name.split('.').all(is_token));
            std::future::ready(Ok(name.map(str::to_owned)))
        });
        names.try_collect().await
    }
}

/// What JetStream answered to somebody who had the answer sent to this key: it sends answers wherever they are wanted, and does
/// not look at what the asker may write. Of a message that it reads directly it says from which stream that is, so that such
/// an answer can be told from what was written. Source: NATS ADR-31.
pub(crate) fn is_answer(headers: &async_nats::HeaderMap) -> bool {
    headers.get("Nats-Stream").is_some()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::nats::Limits;
    use crate::nats::names::{DRIVERS, META};
    use crate::nats::server::{LocalServer, ServerOptions};

    /// How often keys are asked for while others write.
    const ROUNDS: usize = 150;

    #[tokio::test]
    async fn keys_are_there_however_often_they_are_written_and_those_that_are_deleted_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let server = LocalServer::start(ServerOptions::in_directory(&dir.path().join("nats"))).unwrap();
        let connect = async || Bus::connect(&server.nats_options(), "test", Limits::default()).await.unwrap();
        let (bus, other) = (connect().await, connect().await);
        let bucket = bus.bucket(DRIVERS).await.unwrap();
        let busy = other.bucket(DRIVERS).await.unwrap();
        busy.put("d1", "0".into()).await.unwrap();
        let writing = tokio::spawn(async move {
            for number in 0_u32.. {
                if busy.put("d1", number.to_string().into()).await.is_err() {
                    break;
                }
            }
        });
        for round in 0..ROUNDS {
            let asked = tokio::time::timeout(Duration::from_secs(30), bus.keys(&bucket)).await;
            assert_eq!(asked.expect("an end").unwrap(), ["d1"], "{round}");
        }
        writing.abort();
        let meta = bus.bucket(META).await.unwrap();
        let before = bus.keys(&meta).await.unwrap();
        meta.put("drained.a", "".into()).await.unwrap();
        meta.put("drained.b", "".into()).await.unwrap();
        meta.purge("drained.a").await.unwrap();
        // A subject of the bucket that no key has.
        bus.client().request(format!("{}drained.@", meta.prefix), "".into()).await.unwrap();
        let after = bus.keys(&meta).await.unwrap();
        assert!(after.iter().any(|key| key == "drained.b"), "{after:?}");
        assert_eq!(after.len(), before.len() + 1, "{after:?}");
    }
}
