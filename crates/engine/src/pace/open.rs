//! The open loop of one thread: arrivals by the clock, handed to free workers. The schedule itself is the queue: an
//! arrival that finds no free worker stays in it and grows old, or is dropped and counted.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use cosmark_adaptor_api::clock;
use cosmark_workload::model::WhenFull;

use super::Schedule;
use crate::timer::Alarm;

/// Arrivals that are looked at before others on the thread get their turn: a schedule may ask for more than a processor can count.
const MOST_AT_ONCE: u64 = 1 << 14;

/// What a worker gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// An arrival.
    Due {
        /// When it was due.
        due_ns: u64,
        /// It had to wait for a free worker.
        delayed: bool,
    },
    /// There will be no more.
    Over,
}

/// Arrivals of one work on one thread, and its free workers.
pub struct ArrivalQueue {
    schedule: RefCell<Schedule>,
    /// The next arrival; `None` = the schedule is over.
    next_due_ns: Cell<Option<u64>>,
    stop_ns: u64,
    when_full: WhenFull,
    over: Cell<bool>,
    /// Free workers, the last freed on top: few connections stay warm rather than many lukewarm.
    free: RefCell<Vec<usize>>,
    places: RefCell<Vec<Place>>,
    /// Workers that will take no more.
    left: Cell<usize>,
}

#[derive(Default)]
struct Place {
    handed: Option<u64>,
    waker: Option<Waker>,
}

impl ArrivalQueue {
    /// Arrivals after `stop_ns` do not count.
    #[must_use]
    pub fn new(mut schedule: Schedule, stop_ns: u64, when_full: WhenFull) -> Rc<Self> {
        let first = schedule.next_ns().filter(|due_ns| *due_ns < stop_ns);
        Rc::new(Self {
            schedule: RefCell::new(schedule),
            next_due_ns: Cell::new(first),
            stop_ns,
            when_full,
            over: Cell::new(first.is_none()),
            free: RefCell::default(),
            places: RefCell::default(),
            left: Cell::new(0),
        })
    }

    /// A place for one more worker; its number is for [`ArrivalQueue::take`].
    pub fn add_worker(&self) -> usize {
        self.places.borrow_mut().push(Place::default());
        self.places.borrow().len() - 1
    }

    /// A worker takes nothing any more.
    pub fn leave(&self) {
        self.left.set(self.left.get() + 1);
    }

    /// Nobody is left to whom an arrival could go: the load is done.
    #[must_use]
    pub fn is_deserted(&self) -> bool {
        self.left.get() >= self.places.borrow().len()
    }

    fn pop(&self) -> Option<u64> {
        let due_ns = self.next_due_ns.get()?;
        let next = self.schedule.borrow_mut().next_ns().filter(|next_ns| *next_ns < self.stop_ns);
        self.next_due_ns.set(next);
        Some(due_ns)
    }

    /// The next arrival for `worker`, which has just become free.
    pub async fn take(&self, worker: usize) -> Taken {
        if self.over.get() {
            return Taken::Over;
        }
        let now_ns = clock::now_ns();
        if self.next_due_ns.get().is_some_and(|due_ns| due_ns <= now_ns)
            && let Some(due_ns) = self.pop()
        {
            // With other workers idle it waited for this thread to look, not for a worker.
            return Taken::Due { due_ns, delayed: self.free.borrow().is_empty() };
        }
        self.free.borrow_mut().push(worker);
        poll_fn(|cx| {
            let mut places = self.places.borrow_mut();
            let Some(place) = places.get_mut(worker) else { return Poll::Ready(Taken::Over) };
            if let Some(due_ns) = place.handed.take() {
                return Poll::Ready(Taken::Due { due_ns, delayed: false });
            }
            if self.over.get() {
                return Poll::Ready(Taken::Over);
            }
            place.waker = Some(cx.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Hands out arrivals as they fall due; ends when there are no more. `missed` is called for each one dropped.
    pub async fn dispatch(&self, alarm: &Alarm, mut missed: impl FnMut(u64)) {
        while let Some(due_ns) = self.next_due_ns.get() {
            if self.over.get() {
                break;
            }
            alarm.until_sharply(due_ns).await;
            let is_all = self.hand_out(clock::now_ns(), &mut missed);
            let now_ns = clock::now_ns();
            if now_ns >= self.stop_ns {
                break;
            }
            if !is_all {
                tokio::task::yield_now().await;
            } else if self.next_due_ns.get().is_some_and(|due_ns| due_ns <= now_ns) {
                // No worker is free: each takes what is due when it is done. Look again soon for those that fall idle.
                alarm.until(now_ns + 1_000_000).await;
            }
        }
        self.close();
    }

    /// False when there are so many that the thread's other tasks want their turn first.
    fn hand_out(&self, now_ns: u64, missed: &mut impl FnMut(u64)) -> bool {
        for _ in 0..MOST_AT_ONCE {
            if self.next_due_ns.get().is_none_or(|due_ns| due_ns > now_ns) {
                return true;
            }
            let Some(worker) = self.free.borrow_mut().pop() else {
                if self.when_full == WhenFull::Wait {
                    return true;
                }
                if let Some(due_ns) = self.pop() {
                    missed(due_ns);
                }
                continue;
            };
            let Some(due_ns) = self.pop() else { return true };
            if let Some(place) = self.places.borrow_mut().get_mut(worker) {
                place.handed = Some(due_ns);
                if let Some(waker) = place.waker.take() {
                    waker.wake();
                }
            }
        }
        false
    }

    /// Lets all free workers go.
    pub fn close(&self) {
        self.over.set(true);
        for place in self.places.borrow_mut().iter_mut() {
            if let Some(waker) = place.waker.take() {
                waker.wake();
            }
        }
    }

    /// Takes arrivals that were due before `until_ns` and are still waiting out of the schedule and calls `each` with when
    /// they were due. A long backlog gives the thread's other tasks their turns meanwhile.
    pub async fn drain_backlog(&self, until_ns: u64, mut each: impl FnMut(u64)) {
        let mut taken = 0_u64;
        while self.next_due_ns.get().is_some_and(|due_ns| due_ns < until_ns) {
            let Some(due_ns) = self.pop() else { return };
            each(due_ns);
            taken += 1;
            if taken.is_multiple_of(MOST_AT_ONCE) {
                tokio::task::yield_now().await;
            }
        }
    }
}
