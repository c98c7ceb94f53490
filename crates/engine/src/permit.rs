//! Whether load may be made at all. Who makes load for somebody else does so for as long as he is known to want it; until
//! then nothing of the engine moves. Threads look by themselves: one that stood still for long (SIGSTOP, a suspended or
//! starved machine) does not send one more request before somebody has asked again.
//!
//! What is read where operations are made is one coarse clock per poll of a worker (clock_gettime(2), `CLOCK_MONOTONIC_COARSE`,
//! some nanoseconds and no system call), and nothing at all where no permit is needed.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use cosmark_adaptor_api::clock;

/// A thread that did not run for so long may have missed that nobody wants its load any more.
pub const JUMP: Duration = Duration::from_secs(2);
/// How often one who waits for a permit looks.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Why load was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// Nobody had said yet that it is wanted.
    New,
    /// Nobody said for too long that it is still wanted.
    Expired,
    /// This process stood still, or its machine was suspended.
    Jumped,
}

/// A time in which no load was made though it was to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// On the clock of [`clock::now_ns`].
    pub from_ns: u64,
    /// The same.
    pub to_ns: u64,
    /// Why.
    pub why: Held,
}

/// Shared by who grants it and by all who make load under it.
#[derive(Debug)]
pub struct LoadPermit {
    /// `false`: nobody is asked.
    is_needed: bool,
    is_held: AtomicBool,
    /// There will be none any more.
    is_revoked: AtomicBool,
    /// On [`coarse_ns`]: until when it is granted, and when it was granted last. What a thread missed before that is known.
    until_ns: AtomicU64,
    granted_ns: AtomicU64,
    held: Mutex<Option<(u64, Held)>>,
    pauses: Mutex<Vec<Pause>>,
}

/// A clock that is read without a system call and is right to some milliseconds; ns.
#[must_use]
pub fn coarse_ns() -> u64 {
    read_clock(libc::CLOCK_MONOTONIC_COARSE)
}

/// By how much the machine's time in suspension has grown so far, ns.
#[must_use]
pub fn suspended_ns() -> u64 {
    read_clock(libc::CLOCK_BOOTTIME).saturating_sub(read_clock(libc::CLOCK_MONOTONIC))
}

fn read_clock(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec, which is ours. A clock that the kernel does not have leaves it 0.
    unsafe { libc::clock_gettime(id, &raw mut time) };
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl LoadPermit {
    fn new(is_needed: bool) -> Arc<Self> {
        Arc::new(Self {
            is_needed,
            is_held: AtomicBool::new(is_needed),
            is_revoked: AtomicBool::new(false),
            until_ns: AtomicU64::new(if is_needed { 0 } else { u64::MAX }),
            granted_ns: AtomicU64::new(0),
            held: Mutex::new(is_needed.then(|| (clock::now_ns(), Held::New))),
            pauses: Mutex::default(),
        })
    }

    /// For load that this process wants itself.
    #[must_use]
    pub fn always() -> Arc<Self> {
        Self::new(false)
    }

    /// For load that somebody else wants: held until it is granted.
    #[must_use]
    pub fn asked_for() -> Arc<Self> {
        Self::new(true)
    }

    /// Lets load be made for so long from now.
    pub fn grant(&self, length: Duration) {
        let now_ns = coarse_ns();
        self.until_ns.store(now_ns.saturating_add(ns(length)), Ordering::Release);
        self.granted_ns.store(now_ns, Ordering::Release);
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((from_ns, why)) = held
            && why != Held::New
        {
            let pause = Pause { from_ns, to_ns: clock::now_ns(), why };
            self.pauses.lock().unwrap_or_else(PoisonError::into_inner).push(pause);
        }
        self.is_held.store(false, Ordering::Release);
    }

    /// The load is still wanted, for so long from now. One that is held stays so: it has to be granted.
    pub fn renew(&self, length: Duration) {
        self.until_ns.store(coarse_ns().saturating_add(ns(length)), Ordering::Release);
    }

    /// Nothing more is sent until it is granted again.
    pub fn hold(&self, why: Held) {
        if self.is_needed && !self.is_held.swap(true, Ordering::AcqRel) {
            *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some((clock::now_ns(), why));
        }
    }

    /// It is held for good.
    pub fn revoke(&self) {
        self.is_revoked.store(true, Ordering::Release);
        self.hold(Held::Expired);
    }

    /// Whether nothing may be sent now.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.is_held.load(Ordering::Acquire)
    }

    /// Why and since when it is held.
    #[must_use]
    pub fn held(&self) -> Option<Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).map(|(_, why)| why)
    }

    /// Time for which it is still granted.
    #[must_use]
    pub fn left(&self) -> Duration {
        Duration::from_nanos(self.until_ns.load(Ordering::Acquire).saturating_sub(coarse_ns()))
    }

    /// The pauses that are over and were not asked for before.
    #[must_use]
    pub fn take_pauses(&self) -> Vec<Pause> {
        std::mem::take(&mut *self.pauses.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until load may be made; false when there will be none because it was revoked, or `is_over` says so. For threads
    /// that do nothing else.
    #[must_use]
    pub fn wait(&self, is_over: impl Fn() -> bool) -> bool {
        while self.is_held() {
            if is_over() || self.is_revoked.load(Ordering::Acquire) {
                return false;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        true
    }
}

/// One thread's look at its permit.
#[derive(Debug)]
pub struct Pulse {
    permit: Arc<LoadPermit>,
    /// When this thread looked last, on [`coarse_ns`] and on the clock of [`clock::now_ns`].
    looked_ns: Cell<u64>,
    seen_ns: Cell<u64>,
    suspended_ns: Cell<u64>,
    /// Nothing is polled: from when it was seen that load is held, until the watch says that it is not.
    holds: Cell<bool>,
    /// What is to be polled ends by itself, and sends nothing: it is not held back any more.
    is_over: Cell<bool>,
    waiting: RefCell<Vec<Waker>>,
}

impl Pulse {
    /// For the thread that calls.
    #[must_use]
    pub fn new(permit: Arc<LoadPermit>) -> Self {
        Self {
            holds: Cell::new(permit.is_held()),
            permit,
            looked_ns: Cell::new(coarse_ns()),
            seen_ns: Cell::new(clock::now_ns()),
            suspended_ns: Cell::new(suspended_ns()),
            is_over: Cell::new(false),
            waiting: RefCell::default(),
        }
    }

    /// Looks whether this thread stood still, or nobody wants its load any more.
    #[inline]
    pub fn look(&self) {
        if !self.permit.is_needed {
            return;
        }
        let now_ns = coarse_ns();
        let looked_ns = self.looked_ns.replace(now_ns).max(self.permit.granted_ns.load(Ordering::Acquire));
        if now_ns.saturating_sub(looked_ns) >= ns(JUMP) {
            self.permit.hold(Held::Jumped);
        } else if now_ns > self.permit.until_ns.load(Ordering::Acquire) {
            self.permit.hold(Held::Expired);
        }
        if self.permit.is_held() && !self.is_over.get() {
            self.holds.set(true);
        }
    }

    /// A moment that was read anyway, on the clock of [`clock::now_ns`]; true when the thread stood still before it.
    #[inline]
    pub fn stood_still_before(&self, now_ns: u64) -> bool {
        self.permit.is_needed && now_ns.saturating_sub(self.seen_ns.get()) >= ns(JUMP) && {
            self.look();
            self.holds.get()
        }
    }

    /// The watch's look, every 10 ms: the time in suspension, too, which no other clock shows. True while load is held.
    pub fn watch(&self, now_ns: u64) -> bool {
        if !self.permit.is_needed {
            return false;
        }
        self.look();
        self.seen_ns.set(now_ns);
        let suspended_ns = suspended_ns();
        if suspended_ns.saturating_sub(self.suspended_ns.replace(suspended_ns)) >= ns(JUMP) {
            self.permit.hold(Held::Jumped);
            self.holds.set(!self.is_over.get());
        }
        self.permit.is_held()
    }

    /// What waits ends: everything is aborted, and was told so.
    pub fn let_go(&self) {
        self.is_over.set(true);
        self.release();
    }

    /// What waits goes on.
    pub fn release(&self) {
        if self.holds.replace(false) {
            self.waiting.borrow_mut().drain(..).for_each(Waker::wake);
        }
    }

    #[inline]
    fn holds_back(&self, cx: &Context<'_>) -> bool {
        self.look();
        if !self.holds.get() {
            return false;
        }
        let mut waiting = self.waiting.borrow_mut();
        if !waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
            waiting.push(cx.waker().clone());
        }
        true
    }

    /// Polls `future` only while load may be made.
    pub async fn only_while_permitted<F: Future>(&self, future: F) -> F::Output {
        let mut future = std::pin::pin!(future);
        poll_fn(|cx| if self.holds_back(cx) { Poll::Pending } else { future.as_mut().poll(cx) }).await
    }

    /// The same where no watch looks after this thread, for one question before the load. `None` when `is_over` came first.
    pub async fn ask_while_permitted<F: Future>(
        &self,
        future: F,
        is_over: impl Fn() -> bool,
    ) -> Option<F::Output> {
        let watch = async {
            loop {
                let held = self.watch(clock::now_ns());
                if is_over() {
                    return;
                }
                if !held {
                    self.release();
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::select! {
            biased;
            () = watch => None,
            output = self.only_while_permitted(future) => Some(output),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn nothing_moves_before_it_is_granted_and_after_it_is_held() {
        let permit = LoadPermit::asked_for();
        let pulse = Pulse::new(Arc::clone(&permit));
        let moved = Cell::new(0);
        let work = pulse.only_while_permitted(async {
            loop {
                moved.set(moved.get() + 1);
                tokio::task::yield_now().await;
            }
        });
        let script = async {
            let turns = async || {
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
            };
            turns().await;
            assert_eq!(moved.get(), 0);
            permit.grant(Duration::from_secs(3600));
            turns().await;
            assert_eq!(moved.get(), 0, "the watch has not seen it");
            assert!(!pulse.watch(clock::now_ns()));
            pulse.release();
            turns().await;
            assert!(moved.get() > 0);
            permit.hold(Held::Expired);
            turns().await;
            let at = moved.get();
            turns().await;
            assert_eq!(moved.get(), at);
            assert!(permit.take_pauses().is_empty(), "to be new is no pause");
            permit.grant(Duration::from_secs(3600));
            assert_eq!(permit.take_pauses()[0].why, Held::Expired);
        };
        tokio::select! {
            () = work => {}
            () = script => {}
        }
    }

    #[test]
    fn a_thread_that_stood_still_holds_everything_and_one_that_runs_out_of_time_too() {
        let permit = LoadPermit::asked_for();
        permit.grant(Duration::from_secs(3600));
        let pulse = Pulse::new(Arc::clone(&permit));
        let ago = |time: Duration| coarse_ns() - ns(time);
        pulse.looked_ns.set(ago(JUMP));
        pulse.look();
        assert!(!permit.is_held(), "it was granted after that");
        permit.granted_ns.store(ago(JUMP), Ordering::Release);
        pulse.looked_ns.set(ago(JUMP));
        pulse.look();
        assert_eq!(permit.held(), Some(Held::Jumped));
        permit.grant(Duration::ZERO);
        std::thread::sleep(Duration::from_millis(20));
        pulse.look();
        assert_eq!(permit.held(), Some(Held::Expired));
        permit.grant(Duration::from_secs(1));
        pulse.seen_ns.set(clock::now_ns());
        assert!(!pulse.stood_still_before(clock::now_ns()));
        let always = Pulse::new(LoadPermit::always());
        always.looked_ns.set(0);
        always.look();
        assert!(!always.permit.is_held());
    }
}
