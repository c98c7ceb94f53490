//! The requests of a probe: a change, a look, and the deletes at the end, each within its time and counted.

use std::cell::RefCell;
use std::time::Duration;

use cosmark_adaptor_api::{Error, Marks, ObjectName, clock};
use cosmark_metrics::LookFrom;
use futures_util::future::join_all;
use tokio::time::Instant;

use super::{Field, Joined, Life, Looked, WRITERS};
use crate::change::{Change, Place};

impl Field<'_> {
    pub(super) fn reader(&self) -> usize {
        WRITERS + self.draw_below(self.hands.len() - WRITERS)
    }

    /// A connection, once it is free.
    pub(super) async fn hand(&self, at: usize) -> Option<tokio::sync::MutexGuard<'_, Joined>> {
        let hand = self.hands.get(at)?;
        if let Ok(free) = hand.try_lock() {
            return Some(free);
        }
        self.queued.set(self.queued.get() + 1);
        let free = hand.lock().await;
        self.queued.set(self.queued.get() - 1);
        Some(free)
    }

    /// Gives when it was acknowledged, and by which endpoint.
    pub(super) async fn write(&self, change: &Change<'_>, life: &Life) -> Option<(u64, u16)> {
        let (mut hand, mut marks) = (self.hand(life.writer).await?, Marks::default());
        let process = life.writer as u32;
        let (operation, result) = change.make(self.place(), hand.client.as_mut(), &mut marks, process).await;
        self.count(&marks);
        let return_ns = operation.return_ns;
        life.history.borrow_mut().push(operation);
        match result {
            Ok(()) => Some((return_ns, marks.endpoint)),
            Err(error) => {
                self.failed(&mut hand, &error).await;
                None
            }
        }
    }

    pub(super) async fn read(
        &self,
        change: &Change<'_>,
        life: &Life,
        hand: usize,
        acked: Option<(u64, u16)>,
    ) -> Looked {
        let (mut joined, mut marks) = (self.hand(hand).await?, Marks::default());
        let result = change.read(self.place(), joined.client.as_mut(), &mut marks, hand as u32).await;
        self.count(&marks);
        let operation = match result {
            Ok(operation) => operation,
            Err(error) => {
                self.failed(&mut joined, &error).await;
                return None;
            }
        };
        let (call_ns, value) = (operation.call_ns, operation.value);
        life.history.borrow_mut().push(operation);
        let (acked_ns, endpoint) = acked?;
        let from = match () {
            () if hand == life.writer => LookFrom::SameConnection,
            () if is_other(endpoint, marks.endpoint) => LookFrom::OtherEndpoint,
            () => LookFrom::OtherConnection,
        };
        let look = (call_ns.saturating_sub(acked_ns) / 1000, value != change.value());
        self.sum(|sums| sums.look(change.class(), from, look.0, look.1));
        Some(look)
    }

    pub(super) async fn list(&self, change: &Change<'_>, acked_ns: u64, endpoint: u16) -> Looked {
        let class = change.class_of_list()?;
        let mut joined = self.hand(self.reader()).await?;
        let (mut marks, call_ns) = (Marks::default(), clock::now_ns());
        let result = change.list(self.place(), joined.client.as_mut(), &mut marks).await;
        self.count(&marks);
        match result {
            Ok(is_stale) => {
                let look = (call_ns.saturating_sub(acked_ns) / 1000, is_stale);
                let other = is_other(endpoint, marks.endpoint);
                let from = if other { LookFrom::OtherEndpoint } else { LookFrom::OtherConnection };
                self.sum(|sums| sums.look(class, from, look.0, look.1));
                Some(look)
            }
            Err(error) => {
                self.failed(&mut joined, &error).await;
                None
            }
        }
    }

    pub(super) fn place(&self) -> Place<'_> {
        Place { container: &self.plan.container, patience: self.plan.patience }
    }

    pub(super) fn count(&self, marks: &Marks) {
        let operations = self.control.operations();
        self.sum(|sums| {
            sums.requests += u64::from(marks.requests.max(1));
            sums.load_operations = operations;
        });
    }

    pub(super) async fn failed(&self, hand: &mut Joined, error: &Error) {
        self.sum(|sums| {
            sums.unanswered += 1;
            sums.unanswered_why.get_or_insert_with(|| error.message().to_owned());
        });
        if error.status() == Some(401)
            && let Ok(Some((generation, session))) =
                tokio::time::timeout(self.plan.patience, self.lines.renew(hand.generation)).await
        {
            hand.client.set_session(&session);
            hand.generation = generation;
        }
    }

    /// Takes away what is there.
    pub(super) async fn clean(&self, within: Duration) {
        let until = Instant::now() + within;
        let names: Vec<String> = self.there.borrow().iter().cloned().collect();
        let names = RefCell::new(names);
        let cleaning = join_all(self.hands.iter().map(|hand| async {
            let mut hand = hand.lock().await;
            while Instant::now() < until {
                let Some(object) = names.borrow_mut().pop() else { return };
                let (name, mut marks) =
                    (ObjectName { container: &self.plan.container, object: &object }, Marks::default());
                let deleted = tokio::time::timeout_at(until, hand.client.delete(name, &mut marks)).await;
                self.count(&marks);
                if matches!(&deleted, Ok(Ok(())))
                    || matches!(&deleted, Ok(Err(error)) if error.status() == Some(404))
                {
                    self.there.borrow_mut().remove(&object);
                }
            }
        }));
        let _ = tokio::time::timeout_at(until, cleaning).await;
        let left = self.there.take();
        let shown = left.iter().map(|object| format!("{}/{object}", self.plan.container)).take(100);
        self.sum(|sums| sums.left.extend(shown));
    }
}

/// Whether two numbers of endpoints are known and differ.
fn is_other(one: u16, other: u16) -> bool {
    one != 0 && other != 0 && one != other
}
