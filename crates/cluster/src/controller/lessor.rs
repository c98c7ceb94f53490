//! Renews the lease of a run while this process controls it, and records in it what drivers must not miss: that the
//! user wants the run to end, that a driver was given up, that the run is over.

use std::hash::{BuildHasher, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cosmark_wire::lease::{Lease, Life};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::RemoteError;
use crate::nats::{Bus, NotRenewed};

const RENEW_EVERY: Duration = Duration::from_secs(1);
/// Drivers that get their first order wait for a renewal: the first ones come faster.
const FIRST_RENEWALS: u64 = 30;
const FIRST_EVERY: Duration = Duration::from_millis(100);
/// An answer of NATS that takes longer is none.
const PATIENCE: Duration = Duration::from_secs(3);
/// A NATS that answers and keeps nothing for so long is told of.
const STALLED_AFTER: Duration = Duration::from_secs(10);
/// After trouble it is tried again.
const PAUSE: Duration = Duration::from_millis(250);

/// The holder of a run's lease. Ends when it is dropped: nothing is renewed then.
pub struct Lessor {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    bus: Bus,
    run: String,
    /// As it is to be said next.
    lease: Mutex<Lease>,
    changed: Notify,
    /// The last beat that NATS has.
    written: watch::Sender<u64>,
    /// Another process has taken the run up.
    is_taken: watch::Sender<bool>,
    /// What is to be told about NATS.
    news: Mutex<Option<&'static str>>,
}

/// A server whose disk was full has switched JetStream off, and does not switch it on again (server/jetstream.go of nats-server).
const STALLED: &str = "NATS is there and has kept nothing for 10 s; drivers keep what they measure, and make no more load when `lost_after` is \
    over. If its disk is or was full, free space where its store_dir is and restart nats-server: it does not go on by itself";
const GOES_ON: &str = "NATS keeps again what it is told";

/// A way to say something in the lease. Clones share it.
#[derive(Clone)]
pub struct LeaseWords(Arc<Shared>);

impl Drop for Lessor {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn draw() -> u64 {
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

impl Lessor {
    /// Takes the lease of a run, a new one or that of a controller that is gone, and renews it from now on.
    pub async fn start(bus: &Bus, run: &str, lost_after: Duration) -> Result<Self, RemoteError> {
        let trouble = |text: String| RemoteError::Bus(text);
        let holder = draw();
        let lost_after_ms = u64::try_from(lost_after.as_millis()).unwrap_or(u64::MAX);
        let known = bus.lease_of(run).await.map_err(|error| trouble(error.to_string()))?;
        let (lease, revision) = match known {
            Some((lease, _)) if lease.life == Life::Over => return Err(RemoteError::Over(run.to_owned())),
            Some((lease, revision)) => (Lease { lost_after_ms, ..lease.renewed(holder) }, revision),
            None => (Lease::begin(holder, lost_after_ms), 0),
        };
        let revision = match bus.renew(run, &lease, revision).await {
            Ok(revision) => revision,
            // Whoever asks again reads what is there now.
            Err(NotRenewed::Changed) => return Err(trouble(format!("the lease of run {run} changes hands"))),
            Err(NotRenewed::Trouble(text)) => {
                drop(bus.mend().await);
                return Err(trouble(text));
            }
        };
        let shared = Arc::new(Shared {
            bus: bus.clone(),
            run: run.to_owned(),
            written: watch::channel(lease.beat).0,
            lease: Mutex::new(lease),
            changed: Notify::new(),
            is_taken: watch::channel(false).0,
            news: Mutex::default(),
        });
        let renewing = Arc::clone(&shared);
        let task = tokio::spawn(async move { renewing.renew(holder, revision).await });
        Ok(Self { shared, task })
    }

    /// To say something in it.
    pub fn words(&self) -> LeaseWords {
        LeaseWords(Arc::clone(&self.shared))
    }

    /// Waits until another process has taken the run up.
    pub async fn is_taken(&self) {
        let mut taken = self.shared.is_taken.subscribe();
        if taken.wait_for(|taken| *taken).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// The run is over. Waits until NATS knows, at most for `patience`: without renewals drivers stop, too, but later.
    pub async fn end(self, patience: Duration) {
        let last = {
            let mut lease = self.shared.lease();
            lease.life = Life::Over;
            lease.beat + 1
        };
        let mut written = self.shared.written.subscribe();
        self.shared.changed.notify_one();
        drop(tokio::time::timeout(patience, written.wait_for(|beat| *beat >= last)).await);
    }
}

impl LeaseWords {
    /// What there is to tell about NATS, once.
    pub fn news(&self) -> Option<&'static str> {
        self.0.news.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The user wants an end in this step.
    pub fn end_at(&self, step: u32, at_once: bool) {
        self.0.lease().end_at(step, at_once);
        self.0.changed.notify_one();
    }

    /// A driver was counted lost in this step.
    pub fn give_up(&self, driver: &str, step: u32) {
        self.0.lease().give_up(driver, step);
        self.0.changed.notify_one();
    }
}

impl Shared {
    fn lease(&self) -> MutexGuard<'_, Lease> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, text: &'static str) {
        *self.news.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }

    async fn renew(&self, holder: u64, mut revision: u64) {
        let (mut renewed, mut is_stalled) = (Instant::now(), false);
        loop {
            if !is_stalled && renewed.elapsed() > STALLED_AFTER && self.bus.is_connected() {
                is_stalled = true;
                self.tell(STALLED);
            }
            let beat = *self.written.borrow();
            let every = if beat < FIRST_RENEWALS { FIRST_EVERY } else { RENEW_EVERY };
            // What is said meanwhile wakes it.
            let _ = tokio::time::timeout(every, self.changed.notified()).await;
            let lease = {
                let mut lease = self.lease();
                *lease = lease.renewed(holder);
                lease.clone()
            };
            match tokio::time::timeout(PATIENCE, self.bus.renew(&self.run, &lease, revision)).await {
                Ok(Ok(written)) => {
                    revision = written;
                    self.written.send_replace(lease.beat);
                    renewed = Instant::now();
                    if std::mem::take(&mut is_stalled) {
                        self.tell(GOES_ON);
                    }
                }
                // Either somebody else's, or ours of which the word that it was taken has not come.
                Ok(Err(NotRenewed::Changed)) => match self.bus.lease_of(&self.run).await {
                    Ok(Some((other, _))) if other.holder != holder => {
                        self.is_taken.send_replace(true);
                        return;
                    }
                    found @ Ok(_) => {
                        // A server that lost its data has lost this, too.
                        revision = found.ok().flatten().map_or(0, |(_, found)| found);
                        self.changed.notify_one();
                    }
                    Err(_) => tokio::time::sleep(PAUSE).await,
                },
                Ok(Err(NotRenewed::Trouble(_))) => {
                    if self.bus.is_connected() {
                        drop(self.bus.mend().await);
                    }
                    self.changed.notify_one();
                    tokio::time::sleep(PAUSE).await;
                }
                Err(_) => self.changed.notify_one(),
            }
        }
    }
}
