//! How a running share is stopped: by the user, or because it cannot work.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cosmark_adaptor_api::{Error, ErrorKind, clock};

use crate::permit::LoadPermit;

const RUN: u8 = 0;
const FINISH: u8 = 1;
const ABORT: u8 = 2;

/// Why a mission was given up: nothing of it ever succeeded.
#[derive(Debug, Clone)]
pub struct GiveUp {
    /// Index of the work in its stage.
    pub work: u16,
    /// The error that stood for all.
    pub error: Error,
    /// Failures until then.
    pub failures: u64,
}

/// Shared by all threads of a share, and by who started it. Read for each operation; written only to stop.
#[derive(Debug)]
pub struct Flow {
    state: AtomicU8,
    permit: Arc<LoadPermit>,
    /// When it was first stopped; 0 = it was not.
    stopped_ns: AtomicU64,
    gave_up: Mutex<Option<GiveUp>>,
}

impl Flow {
    /// A running one, which nobody has to permit.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Self::under(LoadPermit::always())
    }

    /// One that runs while it is permitted.
    #[must_use]
    pub fn under(permit: Arc<LoadPermit>) -> Arc<Self> {
        let (state, stopped_ns) = (AtomicU8::new(RUN), AtomicU64::new(0));
        Arc::new(Self { state, permit, stopped_ns, gave_up: Mutex::default() })
    }

    /// What it runs under.
    #[must_use]
    pub fn permit(&self) -> &Arc<LoadPermit> {
        &self.permit
    }

    /// True when it was stopped, in whatever way.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_stopping()
    }

    /// Starts no further operation; those in flight may end.
    pub fn finish(&self) {
        self.note_stop();
        self.state.fetch_max(FINISH, Ordering::Relaxed);
    }

    /// Drops the operations in flight, too.
    pub fn abort(&self) {
        self.note_stop();
        self.state.fetch_max(ABORT, Ordering::Relaxed);
    }

    /// Before the state, so that whoever sees the stop finds its moment.
    fn note_stop(&self) {
        let _ =
            self.stopped_ns.compare_exchange(0, clock::now_ns().max(1), Ordering::Release, Ordering::Relaxed);
    }

    /// When the load was stopped before its own end, on the clock of [`clock::now_ns`]; `None` = it was not.
    #[must_use]
    pub fn stopped_ns(&self) -> Option<u64> {
        Some(self.stopped_ns.load(Ordering::Acquire)).filter(|at_ns| *at_ns != 0)
    }

    /// Stops everything because a mission cannot work; the first reason is kept.
    pub fn give_up(&self, reason: GiveUp) {
        self.gave_up.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(reason);
        self.finish();
    }

    /// Why it was given up, if it was.
    #[must_use]
    pub fn gave_up(&self) -> Option<GiveUp> {
        self.gave_up.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    #[inline]
    pub(crate) fn is_stopping(&self) -> bool {
        self.state.load(Ordering::Relaxed) != RUN
    }

    /// True when operations in flight are dropped, too.
    #[must_use]
    pub fn is_aborting(&self) -> bool {
        self.state.load(Ordering::Relaxed) == ABORT
    }
}

/// Whether a mission has ever had a success. Until then its failures are counted over all threads; when there are
/// enough of them it is given up, in seconds instead of after its whole runtime.
#[derive(Debug, Default)]
pub(crate) struct Health {
    succeeded: AtomicBool,
    failures: AtomicU64,
}

/// Failures without one success after which a mission is given up, once it also ran for [`PATIENCE_NS`].
const ENOUGH: u64 = 10;
const PATIENCE_NS: u64 = 2_000_000_000;
/// Where no server answers at all, or says that it does not know us, waiting is pointless.
const PATIENCE_HOPELESS_NS: u64 = 500_000_000;

impl Health {
    #[inline]
    pub fn success(&self) {
        if !self.succeeded.load(Ordering::Relaxed) {
            self.succeeded.store(true, Ordering::Relaxed);
        }
    }

    /// Counts a failure; `Some(failures)` when it is time to give up. `waited_ns`: since the mission started.
    pub fn failure(&self, error: &Error, waited_ns: u64, workers: u32) -> Option<u64> {
        if self.succeeded.load(Ordering::Relaxed) {
            return None;
        }
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        let hopeless = error.kind().is_unreachable()
            || matches!(
                error.kind(),
                ErrorKind::Denied | ErrorKind::Config | ErrorKind::Unsupported | ErrorKind::Status(401 | 403)
            );
        let patience_ns = if hopeless { PATIENCE_HOPELESS_NS } else { PATIENCE_NS };
        let enough = ENOUGH.min(u64::from(workers).max(1) * 2);
        (failures >= enough && waited_ns >= patience_ns).then_some(failures)
    }
}
