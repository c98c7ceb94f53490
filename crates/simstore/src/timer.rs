//! Sleeps that are exact to tens of microseconds on a free core.
//!
//! tokio's own timer counts milliseconds, so scripted delays would come in bursts up to 1.7 ms late. One
//! absolute timerfd (timerfd_create(2)) for the thread sits in tokio's own epoll instead; all sleepers wait in
//! one heap. Where there is no timerfd, tokio's timer is used up to 2 ms before the time and the rest is spun.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::sync::Notify;

use crate::clock::Clock;

/// How long before the time the fallback stops trusting tokio's timer.
const COARSE_NS: u64 = 2_000_000;

struct Slot {
    fired: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

struct Waiting {
    due_ns: u64,
    order: u64,
    slot: Rc<Slot>,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        (self.due_ns, self.order) == (other.due_ns, other.order)
    }
}
impl Eq for Waiting {}
impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.due_ns, self.order).cmp(&(other.due_ns, other.order))
    }
}

struct Inner {
    clock: Clock,
    spin_ns: u64,
    heap: RefCell<BinaryHeap<Reverse<Waiting>>>,
    order: Cell<u64>,
    /// The time the alarm is set to; `u64::MAX` when it is off.
    armed_ns: Cell<u64>,
    alarm: Option<Alarm>,
    earlier: Notify,
}

/// Handle to the thread's timer; clones share it.
#[derive(Clone)]
pub(crate) struct Timer(Rc<Inner>);

impl Timer {
    /// Makes the timer. The future [`Timer::run`] must be running for sleeps to end.
    pub(crate) fn new(clock: Clock, spin_ns: u64, precise: bool) -> Timer {
        let alarm = if precise { Alarm::new().ok() } else { None };
        Timer(Rc::new(Inner {
            clock,
            spin_ns: if alarm.is_some() { spin_ns } else { spin_ns.max(COARSE_NS) },
            heap: RefCell::new(BinaryHeap::new()),
            order: Cell::new(0),
            armed_ns: Cell::new(u64::MAX),
            alarm,
            earlier: Notify::new(),
        }))
    }

    /// Sleeps until this time of the clock; returns at once if it is past.
    pub(crate) fn until(&self, due_ns: u64) -> Sleep {
        Sleep { timer: self.clone(), due_ns, slot: None }
    }

    /// Wakes sleepers when their time has come; never returns.
    pub(crate) async fn run(&self) {
        loop {
            match self.wake_due() {
                None => self.wait_alarm(u64::MAX).await,
                Some(next_ns) => {
                    let alarm_ns = next_ns.saturating_sub(self.0.spin_ns);
                    if alarm_ns > self.0.clock.now_ns() {
                        self.wait_alarm(alarm_ns).await;
                    } else {
                        // The rest is spun, but every other task gets its turn in between.
                        tokio::task::yield_now().await;
                    }
                }
            }
        }
    }

    /// Wakes all that are due and returns the time of the next one.
    fn wake_due(&self) -> Option<u64> {
        let mut heap = self.0.heap.borrow_mut();
        while let Some(Reverse(next)) = heap.peek() {
            if next.due_ns > self.0.clock.now_ns() {
                return Some(next.due_ns);
            }
            if let Some(Reverse(waiting)) = heap.pop() {
                waiting.slot.fired.set(true);
                if let Some(waker) = waiting.slot.waker.borrow_mut().take() {
                    waker.wake();
                }
            }
        }
        None
    }

    async fn wait_alarm(&self, at_ns: u64) {
        self.0.armed_ns.set(at_ns);
        match &self.0.alarm {
            Some(alarm) => {
                if at_ns != u64::MAX {
                    alarm.set(&self.0.clock, at_ns);
                }
                alarm.wait().await;
            }
            None if at_ns == u64::MAX => self.0.earlier.notified().await,
            None => {
                let left = Duration::from_nanos(at_ns.saturating_sub(self.0.clock.now_ns()));
                // An earlier sleeper or the end of the wait, whichever comes first.
                let _either = tokio::time::timeout(left, self.0.earlier.notified()).await;
            }
        }
        self.0.armed_ns.set(u64::MAX);
    }

    fn add(&self, due_ns: u64, waker: Waker) -> Rc<Slot> {
        let inner = &self.0;
        let slot = Rc::new(Slot { fired: Cell::new(false), waker: RefCell::new(Some(waker)) });
        let order = inner.order.get();
        inner.order.set(order + 1);
        inner.heap.borrow_mut().push(Reverse(Waiting { due_ns, order, slot: slot.clone() }));
        let alarm_ns = due_ns.saturating_sub(inner.spin_ns);
        if alarm_ns < inner.armed_ns.get() {
            inner.armed_ns.set(alarm_ns);
            match &inner.alarm {
                Some(alarm) => alarm.set(&inner.clock, alarm_ns),
                None => inner.earlier.notify_one(),
            }
        }
        slot
    }
}

/// A sleep under way; see [`Timer::until`].
pub(crate) struct Sleep {
    timer: Timer,
    due_ns: u64,
    slot: Option<Rc<Slot>>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match &self.slot {
            Some(slot) if slot.fired.get() => Poll::Ready(()),
            Some(slot) => {
                *slot.waker.borrow_mut() = Some(cx.waker().clone());
                Poll::Pending
            }
            None if self.timer.0.clock.now_ns() >= self.due_ns => Poll::Ready(()),
            None => {
                let slot = self.timer.add(self.due_ns, cx.waker().clone());
                self.slot = Some(slot);
                Poll::Pending
            }
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(slot) = &self.slot {
            slot.waker.borrow_mut().take();
        }
    }
}

#[cfg(target_os = "linux")]
use linux::Alarm;
#[cfg(not(target_os = "linux"))]
use none::Alarm;

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    use crate::clock::Clock;

    /// One timerfd, set to absolute times.
    pub(super) struct Alarm(AsyncFd<OwnedFd>);

    impl Alarm {
        pub(super) fn new() -> io::Result<Alarm> {
            // SAFETY: no pointers; the result is checked before it is owned.
            let fd = unsafe {
                libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC)
            };
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: the descriptor is new and ours alone.
            let fd = unsafe { OwnedFd::from_raw_fd(fd) };
            // SAFETY: an OwnedFd always gives the same descriptor and keeps it open until it is dropped,
            // which only the AsyncFd does.
            let alarm = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) };
            alarm.map(Alarm).map_err(io::Error::from)
        }

        /// Sets the alarm; a time in the past rings at once.
        pub(super) fn set(&self, clock: &Clock, at_ns: u64) {
            let absolute = clock.epoch_monotonic_ns().saturating_add(at_ns).max(1);
            let value = libc::timespec {
                tv_sec: (absolute / 1_000_000_000) as libc::time_t,
                tv_nsec: (absolute % 1_000_000_000) as libc::c_long,
            };
            let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            let spec = libc::itimerspec { it_interval: zero, it_value: value };
            // SAFETY: the pointers are to live values; a null old value is allowed. With a valid
            // descriptor and a normalised time the call cannot fail.
            unsafe {
                libc::timerfd_settime(
                    self.0.as_raw_fd(),
                    libc::TFD_TIMER_ABSTIME,
                    &spec,
                    std::ptr::null_mut(),
                );
            }
        }

        /// Waits until the alarm rings.
        pub(super) async fn wait(&self) {
            let Ok(mut guard) = self.0.readable().await else { return };
            let mut count = [0_u8; 8];
            // SAFETY: eight writable bytes, as timerfd wants.
            unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
            guard.clear_ready();
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod none {
    use std::io;

    use crate::clock::Clock;

    /// There is no timerfd here.
    pub(super) enum Alarm {}

    impl Alarm {
        pub(super) fn new() -> io::Result<Alarm> {
            Err(io::Error::from(io::ErrorKind::Unsupported))
        }

        pub(super) fn set(&self, _: &Clock, _: u64) {
            match *self {}
        }

        pub(super) async fn wait(&self) {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_sleeps(precise: bool, spin_ns: u64) -> (Vec<usize>, Vec<i64>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, async {
            let clock = Clock::start();
            let timer = Timer::new(clock, spin_ns, precise);
            let driver = timer.clone();
            let running = tokio::task::spawn_local(async move { driver.run().await });
            let woken = Rc::new(RefCell::new(Vec::new()));
            let mut tasks = Vec::new();
            // Set in an order that makes the alarm move to earlier times again and again.
            for index in [4_usize, 2, 3, 0, 1] {
                let (timer, woken) = (timer.clone(), woken.clone());
                tasks.push(tokio::task::spawn_local(async move {
                    let due_ns = 5_000_000 + index as u64 * 3_000_000;
                    timer.until(due_ns).await;
                    let late_ns = clock.now_ns() as i64 - due_ns as i64;
                    woken.borrow_mut().push((index, late_ns));
                }));
            }
            for task in tasks {
                task.await.unwrap();
            }
            running.abort();
            let woken = woken.borrow();
            (woken.iter().map(|w| w.0).collect(), woken.iter().map(|w| w.1).collect())
        })
    }

    #[test]
    fn sleepers_wake_in_the_order_of_their_times_and_never_early() {
        for (precise, spin_ns) in [(true, 0), (true, 200_000), (false, 0)] {
            let (order, late_ns) = run_sleeps(precise, spin_ns);
            assert_eq!(order, [0, 1, 2, 3, 4], "precise {precise} spin {spin_ns}");
            assert!(late_ns.iter().all(|late| *late >= 0), "woken early: {late_ns:?}");
        }
    }

    #[test]
    fn a_sleep_until_the_past_does_not_wait_for_the_driver() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            // No driver runs here: only a sleep that is already over can return.
            Timer::new(Clock::start(), 0, true).until(0).await;
        });
    }
}
