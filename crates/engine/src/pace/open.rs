//! The open loop of one thread: arrivals by the clock, handed to free workers. The schedule itself is the queue: an
//! arrival that finds no free worker stays in it and grows old, or is dropped and counted.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use cosmark_adaptor_api::clock;
use cosmark_workload::model::WhenFull;

use super::Schedule;
use super::free::FreeWorkers;
use crate::source::Quota;
use crate::timer::Alarm;

/// Arrivals that are looked at before others on the thread get their turn: a schedule may ask for more than a processor can count.
const MOST_AT_ONCE: u64 = 1 << 14;

/// How long the dispatcher sleeps at most where no worker is free.
const NAP_NS: u64 = 1_000_000;

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
    free: RefCell<FreeWorkers>,
    places: RefCell<Vec<Place>>,
    /// `None` = the work has no total.
    shares: Option<Shares>,
    /// The dispatcher, while it sleeps because no worker is free.
    napping: RefCell<Option<Waker>>,
    /// Workers that will take no more.
    left: Cell<usize>,
}

#[derive(Default)]
struct Place {
    handed: Option<u64>,
    waker: Option<Waker>,
    /// What was left of the worker's share when it came last, as [`Shares::left`] says.
    left: u64,
}

/// How workers' shares of a total compare.
struct Shares {
    /// What an operation weighs: 1, or where bytes have a total, too, as many as come to one operation.
    op_weight: u64,
    /// What an operation took of a share last; 0 = that is not known yet.
    last_took: Cell<u64>,
}

impl Shares {
    fn of(total: Quota) -> Option<Self> {
        let (op_weight, took) = match (total.ops, total.bytes) {
            (None, None) => return None,
            (None, Some(_)) => (1, 0),
            (Some(_), None) => (1, 1),
            (Some(ops), Some(bytes)) => {
                let op_weight = (bytes / ops.max(1)).max(1);
                (op_weight, op_weight)
            }
        };
        Some(Self { op_weight, last_took: Cell::new(took) })
    }

    /// The one of the two that is used up first.
    fn left(&self, share: &Quota) -> u64 {
        let ops = share.ops.map_or(u64::MAX, |ops| ops.saturating_mul(self.op_weight));
        ops.min(share.bytes.unwrap_or(u64::MAX))
    }
}

impl ArrivalQueue {
    /// Arrivals after `stop_ns` do not count; `total` is the whole work's.
    #[must_use]
    pub fn new(mut schedule: Schedule, stop_ns: u64, when_full: WhenFull, total: Quota) -> Rc<Self> {
        let shares = Shares::of(total);
        let first = schedule.next_ns().filter(|due_ns| *due_ns < stop_ns);
        Rc::new(Self {
            schedule: RefCell::new(schedule),
            next_due_ns: Cell::new(first),
            stop_ns,
            when_full,
            over: Cell::new(first.is_none()),
            free: RefCell::new(FreeWorkers::new(shares.is_some())),
            places: RefCell::default(),
            shares,
            napping: RefCell::default(),
            left: Cell::new(0),
        })
    }

    /// A place for one more worker, which has this share to make; its number is for [`ArrivalQueue::take`].
    pub fn add_worker(&self, share: &Quota) -> usize {
        let left = self.shares.as_ref().map_or(u64::MAX, |shares| shares.left(share));
        let mut places = self.places.borrow_mut();
        places.push(Place { left, ..Place::default() });
        self.free.borrow_mut().reserve(places.len());
        places.len() - 1
    }

    /// `worker` takes nothing any more.
    pub fn leave(&self, worker: usize) {
        self.left.set(self.left.get() + 1);
        if let Some(place) = self.places.borrow_mut().get_mut(worker) {
            place.left = 0;
        }
    }

    /// Nobody is left to whom an arrival could go: the load is done.
    #[must_use]
    pub fn is_deserted(&self) -> bool {
        self.left.get() >= self.places.borrow().len()
    }

    /// What `worker` has left of its share; all the same where there are none.
    fn note_left(&self, worker: usize, share: &Quota) -> u64 {
        let Some(shares) = &self.shares else { return u64::MAX };
        let left = shares.left(share);
        if let Some(place) = self.places.borrow_mut().get_mut(worker) {
            let took = place.left.saturating_sub(left);
            if took > 0 {
                shares.last_took.set(took);
            }
            place.left = left;
        }
        left
    }

    /// With all workers busy: one of them will take another arrival, if each operation takes as much of a share as the last
    /// one did. What is due when each is on its last operation is no part of a work that ends by a total.
    fn goes_on(&self) -> bool {
        self.shares.as_ref().is_none_or(|shares| {
            let took = shares.last_took.get();
            self.places.borrow().iter().any(|place| place.left > took)
        })
    }

    fn pop(&self) -> Option<u64> {
        let due_ns = self.next_due_ns.get()?;
        let next = self.schedule.borrow_mut().next_ns().filter(|next_ns| *next_ns < self.stop_ns);
        self.next_due_ns.set(next);
        Some(due_ns)
    }

    /// The next arrival for `worker`, which has just become free, and has so much left of its share.
    pub async fn take(&self, worker: usize, share: &Quota) -> Taken {
        if self.over.get() {
            return Taken::Over;
        }
        let left = self.note_left(worker, share);
        let now_ns = clock::now_ns();
        if self.next_due_ns.get().is_some_and(|due_ns| due_ns <= now_ns)
            && let Some(due_ns) = self.pop()
        {
            // With other workers idle it waited for this thread to look, not for a worker.
            return Taken::Due { due_ns, delayed: self.free.borrow().is_empty() };
        }
        self.free.borrow_mut().push(worker, left);
        if let Some(dispatcher) = self.napping.take() {
            dispatcher.wake();
        }
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
                // No worker is free: each takes what is due when it is done.
                self.nap(alarm, now_ns + NAP_NS).await;
            }
        }
        self.close();
    }

    /// Sleeps until then, or until a worker falls idle, because others took what was due: it is to have the next arrival on
    /// time.
    async fn nap(&self, alarm: &Alarm, until_ns: u64) {
        let mut sleep = pin!(alarm.until(until_ns));
        poll_fn(|cx| {
            if !self.free.borrow().is_empty() {
                return Poll::Ready(());
            }
            *self.napping.borrow_mut() = Some(cx.waker().clone());
            sleep.as_mut().poll(cx)
        })
        .await;
        self.napping.take();
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
                if let Some(due_ns) = self.pop()
                    && self.goes_on()
                {
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

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Wake};
    use std::time::Duration;

    use cosmark_workload::model::Arrivals;

    use super::super::Part;
    use super::*;
    use crate::choice::generator;

    fn queue(rate_per_s: f64, start_ns: u64, when_full: WhenFull, total: Quota) -> Rc<ArrivalQueue> {
        let arrivals = Arrivals::Constant { rate_per_s };
        let schedule =
            Schedule::new(&arrivals, Part::WHOLE, start_ns, Duration::ZERO, generator(1, 1)).unwrap();
        ArrivalQueue::new(schedule, u64::MAX, when_full, total)
    }

    fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn who_has_the_most_left_goes_first_and_what_is_due_behind_the_total_is_not_missed() {
        let ops = |count| Quota { ops: Some(count), bytes: None };
        let bytes = |count: u64| Quota { ops: None, bytes: Some(1000 * count) };
        let both = |count| Quota { ops: Some(count), bytes: Some(1000 * count) };
        let measures: [&dyn Fn(u64) -> Quota; 3] = [&ops, &bytes, &both];
        for of in measures {
            // An hour from now: what is due is what `hand_out` is given.
            let start_ns = clock::now_ns() + 3_600_000_000_000;
            let at = |second: u64| start_ns + second * 1_000_000_000;
            let due = |second| Poll::Ready(Taken::Due { due_ns: at(second), delayed: false });
            let queue = queue(1.0, start_ns, WhenFull::Drop, of(3));
            let (one, two) = (of(1), of(2));
            let (some, more) = (queue.add_worker(&one), queue.add_worker(&two));
            let mut missed = Vec::new();
            let mut last = pin!(queue.take(more, &two));
            let mut first = pin!(queue.take(some, &one));
            assert!(poll(last.as_mut()).is_pending() && poll(first.as_mut()).is_pending());
            assert!(queue.hand_out(at(1), &mut |due_ns| missed.push(due_ns)));
            assert_eq!((poll(last.as_mut()), poll(first.as_mut())), (due(0), due(1)));
            queue.hand_out(at(2), &mut |due_ns| missed.push(due_ns));
            queue.leave(some);
            let mut last = pin!(queue.take(more, &one));
            assert!(poll(last.as_mut()).is_pending());
            queue.hand_out(at(3), &mut |due_ns| missed.push(due_ns));
            assert_eq!(poll(last.as_mut()), due(3));
            queue.hand_out(at(9), &mut |due_ns| missed.push(due_ns));
            assert_eq!(missed, [at(2)], "the operation that is under way since then is the last");
        }
    }

    #[test]
    fn without_a_total_all_that_finds_nobody_is_missed() {
        let start_ns = clock::now_ns() + 3_600_000_000_000;
        let queue = queue(1.0, start_ns, WhenFull::Drop, Quota { ops: None, bytes: None });
        queue.add_worker(&Quota { ops: None, bytes: None });
        let mut missed = 0;
        queue.hand_out(start_ns + 9_000_000_000, &mut |_| missed += 1);
        assert_eq!(missed, 10);
    }

    struct Flag(AtomicBool);

    impl Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_worker_that_falls_idle_wakes_the_dispatcher_from_its_nap() {
        // Nobody runs it: it wakes no one.
        let alarm = Alarm::new(false, Arc::default()).unwrap();
        let endless = Quota { ops: None, bytes: None };
        let queue = queue(0.001, clock::now_ns() - 1, WhenFull::Wait, endless);
        let worker = queue.add_worker(&endless);
        let flag = Arc::new(Flag(AtomicBool::new(false)));
        let waker = Waker::from(Arc::clone(&flag));
        let mut dispatching = pin!(queue.dispatch(&alarm, |_| {}));
        assert!(dispatching.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(matches!(poll(pin!(queue.take(worker, &endless))), Poll::Ready(Taken::Due { .. })));
        assert!(!flag.0.load(Ordering::Relaxed), "nobody is idle");
        let mut idle = pin!(queue.take(worker, &endless));
        assert!(poll(idle.as_mut()).is_pending());
        assert!(flag.0.load(Ordering::Relaxed), "the next arrival would find it asleep");
        assert!(dispatching.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert!(queue.napping.borrow().is_none());
    }
}
