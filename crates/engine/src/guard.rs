//! The time limit of operations. Timers per operation would cost more than the operation's own bookkeeping, so each
//! thread has one watch that looks at all its workers every few milliseconds and wakes those that are over their limit.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// How often the watch looks.
pub const WATCH_EVERY: std::time::Duration = std::time::Duration::from_millis(10);

/// Why an operation was cut short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// Over its own time limit.
    Timeout,
    /// The run is over.
    Aborted,
}

/// One worker's place under the watch.
#[derive(Debug, Default)]
pub struct Watched {
    /// Time limit of the operation in flight; 0 = nothing in flight; `u64::MAX` = no limit.
    limit_ns: Cell<u64>,
    /// When it is over its limit; 0 = the watch has not seen it yet. The watch counts from its first look, at most
    /// [`WATCH_EVERY`] after the start, so that no operation has to read the clock for this.
    deadline_ns: Cell<u64>,
    cut: Cell<Option<Cut>>,
    /// The run is over: nothing is begun any more.
    is_over: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Watched {
    /// The worker's side: runs `operation` until it is done or the watch cuts it.
    pub fn run<'w, F: Future + Unpin>(&'w self, operation: F, limit_ns: u64) -> Run<'w, F> {
        self.limit_ns.set(limit_ns.max(1));
        self.deadline_ns.set(0);
        self.cut.set(None);
        Run { watched: self, operation }
    }

    /// The watch's side: cuts the operation in flight if it is over its limit, or over `all_until_ns`.
    fn look(&self, now_ns: u64, all_until_ns: u64) {
        self.is_over.set(now_ns >= all_until_ns);
        let limit_ns = self.limit_ns.get();
        if limit_ns == 0 || self.cut.get().is_some() {
            return;
        }
        if self.deadline_ns.get() == 0 {
            self.deadline_ns.set(now_ns.saturating_add(limit_ns));
        }
        let cut = if now_ns >= all_until_ns {
            Cut::Aborted
        } else if now_ns >= self.deadline_ns.get() {
            Cut::Timeout
        } else {
            return;
        };
        self.cut.set(Some(cut));
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

/// See [`Watched::run`].
pub struct Run<'w, F> {
    watched: &'w Watched,
    operation: F,
}

impl<F: Future + Unpin> Future for Run<'_, F> {
    type Output = Result<F::Output, Cut>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let watched = self.watched;
        // Before anything else: an operation of several requests would send the next one.
        if watched.is_over.get() {
            watched.cut.set(None);
            watched.limit_ns.set(0);
            return Poll::Ready(Err(Cut::Aborted));
        }
        if let Poll::Ready(output) = Pin::new(&mut self.operation).poll(cx) {
            watched.limit_ns.set(0);
            return Poll::Ready(Ok(output));
        }
        if let Some(cut) = watched.cut.take() {
            watched.limit_ns.set(0);
            return Poll::Ready(Err(cut));
        }
        let mut slot = watched.waker.borrow_mut();
        if !slot.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            *slot = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl<F> Drop for Run<'_, F> {
    fn drop(&mut self) {
        self.watched.limit_ns.set(0);
    }
}

/// All workers of one thread.
#[derive(Debug, Default)]
pub struct Watch {
    workers: RefCell<Vec<Rc<Watched>>>,
}

impl Watch {
    /// A place for one more worker.
    pub fn add(&self) -> Rc<Watched> {
        let watched = Rc::new(Watched::default());
        self.workers.borrow_mut().push(Rc::clone(&watched));
        watched
    }

    /// Looks at all workers once.
    pub fn look(&self, now_ns: u64, all_until_ns: u64) {
        for watched in self.workers.borrow().iter() {
            watched.look(now_ns, all_until_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn a_hanging_operation_is_cut_and_a_quick_one_is_not() {
        let watch = Watch::default();
        let watched = watch.add();
        assert_eq!(watched.run(std::future::ready(7), 5).await, Ok(7));
        let hanging = watched.run(std::future::pending::<()>(), 100);
        let looking = async {
            tokio::task::yield_now().await;
            watch.look(1000, u64::MAX);
            watch.look(1099, u64::MAX);
            assert!(watched.cut.get().is_none(), "it had 99 of 100 ns");
            watch.look(1100, u64::MAX);
        };
        assert_eq!(tokio::join!(hanging, looking).0, Err(Cut::Timeout));
        let hanging = watched.run(std::future::pending::<()>(), u64::MAX);
        let looking = async {
            tokio::task::yield_now().await;
            watch.look(100, 50);
        };
        assert_eq!(tokio::join!(hanging, looking).0, Err(Cut::Aborted));
    }
}
