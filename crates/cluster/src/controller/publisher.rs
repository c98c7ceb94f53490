//! Publishes what the controller sends until NATS acknowledges it: several messages at a time, but the orders to one
//! driver in their order, and a decision alone. Nobody waits for it.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cosmark_wire::message::{Control, Order, Registration, encode};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::nats::{Bus, names};

/// Messages that may wait while NATS is away. A run sends a few per stage and driver.
const MOST_WAITING: usize = 1 << 16;

/// Orders that may be on the way at a time.
const MOST_ON_THE_WAY: usize = 64;

struct Outgoing {
    subject: String,
    id: String,
    step: Option<u32>,
    payload: Vec<u8>,
    /// A decision carries the signature in its headers, an order in itself.
    is_decision: bool,
}

/// The way out. Clones share it.
#[derive(Clone)]
pub struct Publisher {
    bus: Bus,
    run: Arc<str>,
    messages: mpsc::Sender<Outgoing>,
    /// How often each kind of decision was written down, for ids.
    counts: Arc<Mutex<HashMap<String, u32>>>,
    task: Arc<Mutex<Option<JoinHandle<()>>>>,
    waiting: Arc<AtomicUsize>,
    trouble: Arc<Mutex<Option<String>>>,
}

impl Publisher {
    /// Starts sending for a run.
    pub fn start(bus: Bus, run: String) -> Self {
        let (messages, mut waiting) = mpsc::channel::<Outgoing>(MOST_WAITING);
        let trouble: Arc<Mutex<Option<String>>> = Arc::default();
        let reported = Arc::clone(&trouble);
        let waiting_for_nats = Arc::new(AtomicUsize::new(0));
        let unsent = Arc::clone(&waiting_for_nats);
        let decisions = names::control(&run);
        let own = bus.clone();
        let send = move |message: Outgoing| {
            let (bus, reported, unsent) = (bus.clone(), Arc::clone(&reported), Arc::clone(&unsent));
            async move {
                let tell =
                    |text: String| *reported.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
                let headers = if message.is_decision {
                    bus.signed_headers(&message.id, &message.subject, &message.payload)
                } else {
                    Ok(bus.headers(&message.id, message.step))
                };
                match headers {
                    Ok(headers) => {
                        let trouble = |text: &str| tell(text.to_owned());
                        let sent = bus.publish(&message.subject, &headers, &message.payload, trouble);
                        if let Err(refused) = sent.await {
                            tell(refused.0);
                        }
                    }
                    Err(text) => tell(text),
                }
                unsent.fetch_sub(1, Ordering::Release);
                message.subject
            }
        };
        let task = tokio::spawn(async move { send_all(&mut waiting, &decisions, send).await });
        Self {
            bus: own,
            run: run.into(),
            messages,
            counts: Arc::default(),
            task: Arc::new(Mutex::new(Some(task))),
            waiting: waiting_for_nats,
            trouble,
        }
    }

    fn send(&self, message: Outgoing) {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        if self.messages.try_send(message).is_err() {
            self.waiting.fetch_sub(1, Ordering::AcqRel);
            let text = "NATS has been away for so long that orders were dropped".to_owned();
            *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
        }
    }

    /// An order to a driver, sealed for it and signed. The same one twice is one.
    pub fn order(&self, driver: &Registration, order: &Order) {
        match self.bus.signed_order(&self.run, driver, order) {
            Ok(payload) => self.send(Outgoing {
                subject: names::order(&self.run, &driver.name),
                id: format!("{}/{}/{}", self.run, driver.name, order.id()),
                step: order.step(),
                payload,
                is_decision: false,
            }),
            Err(text) => *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(text),
        }
    }

    /// A decision that a successor has to repeat.
    pub fn control(&self, control: Control) {
        let kind = match &control {
            Control::Drivers { part, .. } => format!("drivers/{part}"),
            Control::Started { .. } => "started".to_owned(),
            Control::Cancelled { step, abort } => format!("cancelled/{step}/{abort}"),
            Control::Lost { driver, step, .. } => format!("lost/{step}/{driver}"),
            Control::Absent { driver, step } => format!("absent/{step}/{driver}"),
            Control::Ended => "ended".to_owned(),
        };
        let number = {
            let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            let count = counts.entry(kind.clone()).or_default();
            *count += 1;
            *count
        };
        // A driver may be lost twice in a step; everything else is said once, by whomever.
        let id = match control {
            Control::Lost { .. } => format!("{}/{kind}/{number}/{}", self.run, cosmark_wire::unix_ns()),
            _ => format!("{}/{kind}", self.run),
        };
        if let Ok(payload) = encode(&control) {
            let subject = names::control(&self.run);
            self.send(Outgoing { subject, id, step: None, payload, is_decision: true });
        }
    }

    /// What keeps it from sending, if anything did since it was asked last.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Waits until everything is sent; at most for `patience`, because NATS may be gone for good.
    pub async fn end(self, patience: Duration) {
        let until = Instant::now() + patience;
        while self.waiting.load(Ordering::Acquire) > 0 && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        if let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

/// Sends all messages by `send`, which gives the subject back when NATS has it. Messages of one subject follow each other, and
/// what was decided (subject `decisions`) is written down after all that was sent before it and before all that comes after it.
async fn send_all<S: Future<Output = String>>(
    messages: &mut mpsc::Receiver<Outgoing>,
    decisions: &str,
    send: impl Fn(Outgoing) -> S,
) {
    let mut on_the_way = FuturesUnordered::new();
    let mut subjects: HashSet<String> = HashSet::new();
    let mut next: Option<Outgoing> = None;
    let mut is_open = true;
    loop {
        let may_go = |message: &mut Outgoing| {
            if message.subject == decisions {
                subjects.is_empty()
            } else {
                subjects.len() < MOST_ON_THE_WAY
                    && !subjects.contains(decisions)
                    && !subjects.contains(&message.subject)
            }
        };
        if let Some(message) = next.take_if(may_go) {
            subjects.insert(message.subject.clone());
            on_the_way.push(send(message));
        }
        if !is_open && next.is_none() && subjects.is_empty() {
            return;
        }
        tokio::select! {
            message = messages.recv(), if is_open && next.is_none() => {
                is_open = message.is_some();
                next = message;
            }
            Some(subject) = on_the_way.next(), if !subjects.is_empty() => {
                subjects.remove(&subject);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[tokio::test]
    async fn each_driver_gets_its_orders_in_their_order_and_a_decision_is_a_line_between_them() {
        let (sender, mut messages) = mpsc::channel(64);
        let orders = ["a1", "b1", "c1", "a2", "!1", "b2", "a3", "!2", "!3", "c2"];
        for order in orders {
            let message = Outgoing {
                subject: order[..1].into(),
                id: order.into(),
                step: None,
                payload: Vec::new(),
                is_decision: false,
            };
            sender.try_send(message).unwrap_or_else(|_| panic!("no room"));
        }
        drop(sender);
        let said = RefCell::new(Vec::new());
        let most = RefCell::new((0, 0));
        let send = |message: Outgoing| {
            let (said, most) = (&said, &most);
            said.borrow_mut().push(format!("{} goes", message.id));
            most.borrow_mut().0 += 1;
            let now = most.borrow().0;
            let high = most.borrow().1.max(now);
            most.borrow_mut().1 = high;
            async move {
                // What was sent first arrives last.
                let turns = 20 - said.borrow().len().min(19);
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
                most.borrow_mut().0 -= 1;
                said.borrow_mut().push(format!("{} is there", message.id));
                message.subject
            }
        };
        send_all(&mut messages, "!", send).await;
        let said = said.into_inner();
        let at = |text: &str| {
            said.iter().position(|one| one == text).unwrap_or_else(|| panic!("{text}: {said:?}"))
        };
        for (place, later) in orders.iter().enumerate() {
            for earlier in &orders[..place] {
                if earlier[..1] == later[..1] || earlier.starts_with('!') || later.starts_with('!') {
                    let (there, goes) = (at(&format!("{earlier} is there")), at(&format!("{later} goes")));
                    assert!(there < goes, "{earlier} before {later}: {said:?}");
                }
            }
        }
        assert_eq!(said.len(), 2 * orders.len());
        assert_eq!(most.into_inner().1, 3, "what belongs to different drivers goes side by side: {said:?}");
    }
}
