//! Waking at a given nanosecond. The runtime's own timer has steps of a millisecond; Linux's `timerfd` with an absolute
//! `CLOCK_MONOTONIC` time is late by some 15 us and sits in the same epoll as the sockets (timerfd_create(2)). In a virtual
//! machine each wake-up from sleep costs as much again, so that the last stretch before a due time is waited for awake,
//! where there is a processor to spare: the thread asks for answers instead of sleeping.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Poll, Waker};

use cosmark_adaptor_api::clock;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The last stretch before a due time that is waited for awake: more than a timer is late, less than two wake-ups cost.
const AWAKE_NS: u64 = 60_000;
/// A look for answers that takes less has found none: that time was spent on waiting and not on work.
const EMPTY_LOOK_NS: u64 = 2_500;

/// One thread's alarm clock: any number of sleepers, one timer.
pub struct Alarm {
    /// 0 where no processor is to spare.
    awake_ns: u64,
    /// Time that was waited for awake so far.
    idle_ns: Arc<AtomicU64>,
    fd: AsyncFd<OwnedFd>,
    state: RefCell<State>,
    armed_for_ns: Cell<u64>,
    released: Cell<bool>,
}

#[derive(Default)]
struct State {
    /// (when, ticket): the next to be woken on top.
    due: BinaryHeap<Reverse<(u64, u64)>>,
    wakers: HashMap<u64, Waker>,
    next_ticket: u64,
}

impl Alarm {
    /// Needs a tokio runtime with I/O on this thread. One that may wait awake does so before sharp due times, and adds what
    /// it waited to `idle_ns`.
    ///
    /// # Errors
    /// Of the kernel, when there are no descriptors left.
    pub fn new(may_wait_awake: bool, idle_ns: Arc<AtomicU64>) -> io::Result<Rc<Self>> {
        // SAFETY: no pointers; the result is checked before it becomes an owned descriptor.
        let fd =
            unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just made and belongs to nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        // SAFETY: the descriptor is owned by the `AsyncFd`, so it stays open for as long as it is registered.
        let fd = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE)? };
        Ok(Rc::new(Self {
            awake_ns: if may_wait_awake { AWAKE_NS } else { 0 },
            idle_ns,
            fd,
            state: RefCell::default(),
            armed_for_ns: Cell::new(0),
            released: Cell::new(false),
        }))
    }

    /// Sleeps until [`clock::now_ns`] reaches `due_ns`. [`Alarm::run`] has to run beside it.
    pub async fn until(&self, due_ns: u64) {
        if clock::now_ns() >= due_ns || self.released.get() {
            return;
        }
        let mut ticket = None;
        poll_fn(|cx| {
            if clock::now_ns() >= due_ns || self.released.get() {
                return Poll::Ready(());
            }
            let mut state = self.state.borrow_mut();
            let mine = *ticket.get_or_insert_with(|| {
                let mine = state.next_ticket;
                state.next_ticket += 1;
                state.due.push(Reverse((due_ns, mine)));
                mine
            });
            state.wakers.insert(mine, cx.waker().clone());
            drop(state);
            self.arm();
            Poll::Pending
        })
        .await;
    }

    /// The same for a time at which something is to be sent: the last stretch is waited for awake, if this thread may.
    pub async fn until_sharply(&self, due_ns: u64) {
        self.until(due_ns.saturating_sub(self.awake_ns)).await;
        let mut now_ns = clock::now_ns();
        while now_ns < due_ns && !self.released.get() {
            tokio::task::yield_now().await;
            let looked_ns = clock::now_ns().saturating_sub(now_ns);
            if looked_ns < EMPTY_LOOK_NS {
                // Nobody else writes it.
                let before_ns = self.idle_ns.load(Ordering::Relaxed);
                self.idle_ns.store(before_ns + looked_ns, Ordering::Relaxed);
            }
            now_ns += looked_ns;
        }
    }

    /// Wakes all sleepers, now and from now on: the run is over.
    pub fn release(&self) {
        self.released.set(true);
        self.state.borrow_mut().wakers.drain().for_each(|(_, waker)| waker.wake());
    }

    /// Sets the timer to the first sleeper.
    fn arm(&self) {
        let first = self.state.borrow().due.peek().map(|Reverse((due_ns, _))| *due_ns);
        let Some(due_ns) = first else { return };
        if self.armed_for_ns.get() == due_ns {
            return;
        }
        self.armed_for_ns.set(due_ns);
        let wait_ns = due_ns.saturating_sub(clock::now_ns()).max(1);
        let spec = libc::itimerspec {
            it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: libc::timespec {
                tv_sec: libc::time_t::try_from(wait_ns / 1_000_000_000).unwrap_or(libc::time_t::MAX),
                tv_nsec: libc::c_long::try_from(wait_ns % 1_000_000_000).unwrap_or(0),
            },
        };
        // SAFETY: `spec` lives through the call; the descriptor is ours; a null old value is allowed.
        let _ =
            unsafe { libc::timerfd_settime(self.fd.as_raw_fd(), 0, &raw const spec, std::ptr::null_mut()) };
    }

    /// Wakes sleepers; never ends by itself.
    ///
    /// # Errors
    /// Of the runtime.
    pub async fn run(&self) -> io::Result<()> {
        loop {
            let mut ready = self.fd.readable().await?;
            let mut expirations = [0u8; 8];
            // SAFETY: the buffer is valid for the 8 bytes that a timerfd gives.
            unsafe { libc::read(self.fd.as_raw_fd(), expirations.as_mut_ptr().cast(), expirations.len()) };
            ready.clear_ready();
            self.armed_for_ns.set(0);
            self.wake_due();
            self.arm();
        }
    }

    fn wake_due(&self) {
        let now_ns = clock::now_ns();
        let mut state = self.state.borrow_mut();
        while let Some(Reverse((due_ns, ticket))) = state.due.peek().copied() {
            if due_ns > now_ns {
                break;
            }
            state.due.pop();
            if let Some(waker) = state.wakers.remove(&ticket) {
                waker.wake();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_awake_is_not_early_either_and_counts_what_it_waited() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let idle_ns = Arc::new(AtomicU64::new(0));
            let alarm = Alarm::new(true, Arc::clone(&idle_ns)).unwrap();
            let running = Rc::clone(&alarm);
            let task = tokio::task::spawn_local(async move { running.run().await });
            let start_ns = clock::now_ns();
            for number in 1..=200 {
                let due_ns = start_ns + number * 500_000;
                alarm.until_sharply(due_ns).await;
                assert!(clock::now_ns() >= due_ns);
            }
            let idle_ns = idle_ns.load(Ordering::Relaxed);
            assert!(idle_ns <= 200 * AWAKE_NS + 200 * EMPTY_LOOK_NS, "{idle_ns}");
            task.abort();
        });
    }

    #[test]
    fn sleepers_wake_in_order_and_never_early() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let alarm = Alarm::new(false, Arc::default()).unwrap();
            let running = Rc::clone(&alarm);
            let task = tokio::task::spawn_local(async move { running.run().await });
            let start_ns = clock::now_ns();
            let order = Rc::new(RefCell::new(Vec::new()));
            let sleepers: Vec<_> = [30u64, 10, 20, 10]
                .into_iter()
                .map(|ms| {
                    let (alarm, order) = (Rc::clone(&alarm), Rc::clone(&order));
                    tokio::task::spawn_local(async move {
                        alarm.until(start_ns + ms * 1_000_000).await;
                        assert!(clock::now_ns() >= start_ns + ms * 1_000_000);
                        order.borrow_mut().push(ms);
                    })
                })
                .collect();
            for sleeper in sleepers {
                sleeper.await.unwrap();
            }
            assert_eq!(*order.borrow(), [10, 10, 20, 30]);
            task.abort();
        });
    }
}
