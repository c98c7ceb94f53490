//! Which key the drivers of this NATS trust when they first join: the first that a controller published. Whoever can
//! write that bucket is trusted; a driver's login cannot ([`crate::nats::roles`]).

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError};

use async_nats::jetstream::kv::{CreateErrorKind, Store};
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use cosmark_wire::message::{Envelope, EnvelopeKind, Order, Registration};
use cosmark_wire::{MESSAGE_VERSION, unix_ns};

use crate::nats::connect::Bus;
use crate::nats::error::BusError;
use crate::nats::keys::is_answer;
use crate::nats::names::TRUST;
use crate::nats::seal::seal;
use crate::nats::sign::{Identity, is_by, is_public_key};
use crate::nats::speaker::Speaker;

/// Key of the bucket.
const CONTROLLER: &str = "controller";

/// Proofs that are remembered.
const MOST_PROOFS: usize = 10_000;

/// A clock that is set back by no more than this is not followed: agents bear twice as much.
const SET_BACK_NS: i64 = 1800 * 1_000_000_000;

/// When the newest request to an agent was signed.
static NEWEST_NS: AtomicI64 = AtomicI64::new(i64::MIN);

/// A moment for a request that is signed at `now_ns`, later than that of the one before also where the clock was set
/// back meanwhile: of what one has asked an agent the newest counts, and one that hears of a run no more heals its fault.
fn later(newest_ns: &AtomicI64, now_ns: i64) -> i64 {
    let next = |newest_ns: i64| {
        let after_ns = newest_ns.saturating_add(1);
        let is_set_back = after_ns > now_ns && after_ns.saturating_sub(now_ns) <= SET_BACK_NS;
        if is_set_back { after_ns } else { now_ns }
    };
    let before =
        newest_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |newest_ns| Some(next(newest_ns)));
    before.map_or(now_ns, next)
}

impl Bus {
    /// The same connection, for a controller: what it orders is signed. Its key is published if none is.
    ///
    /// # Errors
    /// When NATS does not answer now.
    pub async fn as_controller(mut self, identity: Identity) -> Result<Self, BusError> {
        self.speaker = Speaker { identity: Some(Arc::new(identity)), ..Speaker::default() };
        self.publish_key().await?;
        Ok(self)
    }

    /// The same connection, for a driver: what it tells is signed.
    #[must_use]
    pub fn as_driver(mut self, identity: Identity) -> Self {
        self.speaker = Speaker { identity: Some(Arc::new(identity)), ..Speaker::default() };
        self
    }

    /// Who speaks over it.
    #[must_use]
    pub fn identity(&self) -> Option<&Identity> {
        self.speaker.identity.as_deref()
    }

    /// The key that the cluster publishes; `None` = no controller has been there yet.
    ///
    /// # Errors
    /// When NATS does not answer now.
    pub async fn published_key(&self) -> Result<Option<String>, BusError> {
        let there = self.published().await?;
        let key = there.filter(|there| !is_answer(&there.headers));
        let key = key.and_then(|there| String::from_utf8(there.payload.to_vec()).ok());
        Ok(key.filter(|key| is_public_key(key)))
    }

    /// What stands in the place of that key, as it was written: of a direct read nobody could tell whose headers it has.
    async fn published(&self) -> Result<Option<StreamMessage>, BusError> {
        let bucket = self.bucket(TRUST).await?;
        match bucket.stream.get_last_raw_message_by_subject(&format!("$KV.{TRUST}.{CONTROLLER}")).await {
            Ok(message) => Ok(Some(message)),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(error) => Err(self.problem(error.to_string())),
        }
    }

    /// Publishes this controller's key, if none is published.
    ///
    /// # Errors
    /// When NATS does not answer now, or does not let this login do it.
    pub async fn publish_key(&self) -> Result<(), BusError> {
        let Some(identity) = self.identity() else { return Ok(()) };
        let mut known = self.published_key().await?;
        if known.is_none() {
            let bucket = self.bucket(TRUST).await?;
            let me = identity.public().to_owned();
            match bucket.create(CONTROLLER, me.clone().into()).await {
                Ok(_) => known = Some(me),
                Err(error) if error.kind() == CreateErrorKind::AlreadyExists => {
                    self.replace_no_key(&bucket, &me).await?;
                    known = self.published_key().await?;
                }
                Err(error) => {
                    return Err(self.problem(format!(
                        "the key of this controller cannot be published: {error}; does its login have the role of a \
                         controller?"
                    )));
                }
            }
        }
        *self.speaker.published.lock().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(())
    }

    /// Publishes this key in place of what is none: nobody could join who is not given one.
    async fn replace_no_key(&self, bucket: &Store, me: &str) -> Result<(), BusError> {
        let there = self.published().await?;
        let is_key = |there: &StreamMessage| {
            !is_answer(&there.headers) && std::str::from_utf8(&there.payload).is_ok_and(is_public_key)
        };
        if let Some(there) = there.filter(|there| !is_key(there)) {
            // Where somebody was faster, that one's is published.
            drop(bucket.update(CONTROLLER, me.to_owned().into(), there.sequence).await);
        }
        Ok(())
    }

    /// Whether this driver follows this controller, and is who it says that it is.
    ///
    /// # Errors
    /// One sentence with the remedy.
    pub fn can_order(&self, driver: &Registration) -> Result<(), String> {
        let Registration { name, trusts, .. } = driver;
        let me = self.identity().map(Identity::public).unwrap_or_default();
        if !self.is_proved(driver) {
            return Err(format!(
                "the registration of driver {name} is not signed by the key that it names: somebody else wrote it; give \
                 each driver a login of its own"
            ));
        }
        let published = self.speaker.published.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let follows = match trusts.as_slice() {
            [] => published.as_deref() == Some(me),
            keys => keys.iter().any(|key| key == me),
        };
        if follows {
            return Ok(());
        }
        Err(format!(
            "driver {name} does not obey this controller, whose key is {me}: start the driver with `--trust {me}`, or give \
             this controller the file cluster.key of the one that the driver obeys"
        ))
    }

    fn is_proved(&self, driver: &Registration) -> bool {
        let proof = (driver.identity.clone(), driver.public_key, driver.proof.clone());
        let known = || self.speaker.proved.lock().unwrap_or_else(PoisonError::into_inner);
        if known().get(&driver.name) == Some(&proof) {
            return true;
        }
        if !is_by(&driver.identity, &driver.what_is_proved(), &driver.proof) {
            return false;
        }
        let mut known = known();
        if known.len() >= MOST_PROOFS {
            known.clear();
        }
        known.insert(driver.name.clone(), proof);
        true
    }

    /// An order, sealed for its driver and signed.
    ///
    /// # Errors
    /// A sentence; only by a bug.
    pub fn signed_order(&self, run: &str, driver: &Registration, order: &Order) -> Result<Vec<u8>, String> {
        let plain = cosmark_wire::message::encode(order).map_err(|cause| cause.to_string())?;
        let (id, step) = (order.id(), order.step());
        self.signed(EnvelopeKind::Order, driver, run.to_owned(), id, step, &plain)
    }

    /// A question, sealed for its driver and signed. `number` is one that no other question has.
    ///
    /// # Errors
    /// A sentence; only by a bug.
    pub fn signed_probe(
        &self,
        driver: &Registration,
        number: u64,
        question: &[u8],
    ) -> Result<Vec<u8>, String> {
        let id = format!("{number:016x}");
        self.signed(EnvelopeKind::Probe, driver, String::new(), id, None, question)
    }

    /// A request to an agent, signed. `id` is that of who asks: of what one has asked the newest counts.
    ///
    /// # Errors
    /// A sentence; only by a bug.
    pub fn signed_look(&self, agent: &str, id: &str, look: &[u8]) -> Result<Vec<u8>, String> {
        self.signed_for_agent(EnvelopeKind::Look, agent, id, look)
    }

    /// A request to an agent about a fault, signed. `id` is that of who asks: of what one has asked the newest counts.
    ///
    /// # Errors
    /// A sentence; only by a bug.
    pub fn signed_fault(&self, agent: &str, id: &str, ask: &[u8]) -> Result<Vec<u8>, String> {
        self.signed_for_agent(EnvelopeKind::Fault, agent, id, ask)
    }

    fn signed_for_agent(
        &self,
        kind: EnvelopeKind,
        agent: &str,
        id: &str,
        plain: &[u8],
    ) -> Result<Vec<u8>, String> {
        let identity = self.identity().ok_or("this connection is no controller's; report this as a bug")?;
        let envelope = Envelope {
            version: MESSAGE_VERSION,
            kind,
            driver: agent.to_owned(),
            run: String::new(),
            id: id.to_owned(),
            step: None,
            issued_ns: later(&NEWEST_NS, unix_ns()),
        };
        identity.sign(&envelope, plain)
    }

    fn signed(
        &self,
        kind: EnvelopeKind,
        driver: &Registration,
        run: String,
        id: String,
        step: Option<u32>,
        plain: &[u8],
    ) -> Result<Vec<u8>, String> {
        let identity = self.identity().ok_or("this connection is no controller's; report this as a bug")?;
        let sealed = seal(driver.public_key, plain)?;
        let (driver, issued_ns) = (driver.name.clone(), unix_ns());
        identity.sign(&Envelope { version: MESSAGE_VERSION, kind, driver, run, id, step, issued_ns }, &sealed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nats::Limits;
    use crate::nats::names::DRIVERS;
    use crate::nats::seal::Key;
    use crate::nats::server::{LocalServer, ServerOptions};

    #[tokio::test]
    async fn a_key_is_published_in_place_of_what_is_none_and_over_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let server = LocalServer::start(ServerOptions::in_directory(&dir.path().join("nats"))).unwrap();
        let connect = async || Bus::connect(&server.nats_options(), "test", Limits::default()).await.unwrap();
        let identity = || Identity::derive(&Key::generate().public(), "test").unwrap();
        let (first, second) = (identity(), identity());
        let (one, other) = (first.public().to_owned(), second.public().to_owned());
        let bus = connect().await;
        for noise in ["{\"stream\":\"COSMARK_RUNS\",\"seq\":5}", ""] {
            bus.bucket(TRUST).await.unwrap().put(CONTROLLER, noise.into()).await.unwrap();
            assert_eq!(bus.published_key().await.unwrap(), None);
        }
        connect().await.as_controller(first).await.unwrap();
        assert_eq!(bus.published_key().await.unwrap(), Some(one.clone()));
        assert_ne!(one, other);
        connect().await.as_controller(second).await.unwrap();
        assert_eq!(bus.published_key().await.unwrap(), Some(one.clone()), "the first stays");
        // What a driver registered as, sent to the place of the key by JetStream.
        let mine = identity().public().to_owned();
        bus.bucket(DRIVERS).await.unwrap().put("d1", mine.into()).await.unwrap();
        let ask = format!("$JS.API.DIRECT.GET.KV_{DRIVERS}.$KV.{DRIVERS}.d1");
        let place = format!("$KV.{TRUST}.{CONTROLLER}");
        bus.client().publish_with_reply(ask, place, "".into()).await.unwrap();
        bus.client().flush().await.unwrap();
        let until = tokio::time::Instant::now() + std::time::Duration::from_secs(60);
        while bus.published_key().await.unwrap().is_some() {
            assert!(
                tokio::time::Instant::now() < until,
                "what was sent there is taken for a key, or never came"
            );
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        let third = identity();
        let again = third.public().to_owned();
        connect().await.as_controller(third).await.unwrap();
        assert_eq!(bus.published_key().await.unwrap(), Some(again));
    }

    #[test]
    fn what_is_signed_after_a_clock_was_set_back_is_later_than_what_was_before() {
        let (newest_ns, second) = (AtomicI64::new(i64::MIN), 1_000_000_000);
        let times = [100, 100, 95, 96, 101].map(|now_s| later(&newest_ns, now_s * second));
        assert!(times.is_sorted_by(|before, after| before < after), "{times:?}");
        assert_eq!((times[0], times[4]), (100 * second, 101 * second));
        // One that was hours ahead was wrong, and what it signed is not followed.
        assert_eq!(later(&newest_ns, 9000 * second), 9000 * second);
        assert_eq!(later(&newest_ns, 102 * second), 102 * second);
        assert_eq!(later(&newest_ns, 103 * second), 103 * second);
    }
}
