//! Sends an outbox to NATS: in order, several messages at a time, each one again until it is acknowledged.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use cosmark_wire::message::{Event, encode};
use cosmark_wire::{DriverEvent, Failure, FailureClass};

use super::outbox::{Entry, Outbox};
use crate::nats::{Bus, names};

/// Events that may be on the way at a time. They may arrive in another order; the controller puts them right.
const WINDOW: usize = 16;
const PAUSE: Duration = Duration::from_millis(250);

/// Where the events of a step belong.
pub struct Address {
    pub run: String,
    pub step: u32,
    pub driver: String,
}

/// Sends until the step's last event was taken. `trouble` is told what goes wrong.
pub async fn send_all(
    bus: Bus,
    address: Address,
    outbox: Arc<Outbox>,
    trouble: impl Fn(String) + Send + 'static,
) {
    let subject = names::event(&address.run, &address.driver);
    let mut written = outbox.written();
    let mut next = outbox.first();
    let mut waiting: VecDeque<(Entry, tokio::task::JoinHandle<Result<(), String>>)> = VecDeque::new();
    loop {
        while waiting.len() < WINDOW {
            let entries = match outbox.read(next, WINDOW - waiting.len()) {
                Ok(entries) => entries,
                Err(error) => {
                    trouble(format!("the outbox cannot be read: {error}"));
                    tokio::time::sleep(PAUSE).await;
                    break;
                }
            };
            let Some(last) = entries.last() else { break };
            next = last.seq + 1;
            for entry in entries {
                let task = offer(&bus, &subject, &address, &entry);
                waiting.push_back((entry, task));
            }
        }
        let Some((entry, task)) = waiting.pop_front() else {
            // In this order: what is written between the two looks is seen by the second, or wakes.
            let is_ended = outbox.is_ended();
            let all = next >= *written.borrow_and_update();
            if all && (is_ended || written.changed().await.is_err()) {
                return;
            }
            continue;
        };
        match task.await {
            Ok(Ok(())) => outbox.acknowledged(entry.seq + 1),
            // Results without it would be wrong: the stage ends here instead.
            Ok(Err(text)) => {
                trouble(text.clone());
                let failure = Failure { work: String::new(), class: FailureClass::Driver, text };
                let event =
                    Event { step: address.step, seq: entry.seq, event: DriverEvent::Refused(failure) };
                let Ok(payload) = encode(&event) else { return };
                let instead = Entry { seq: entry.seq, payload };
                let task = offer(&bus, &subject, &address, &instead);
                waiting.push_front((instead, task));
            }
            Err(_) => waiting.push_front((entry.clone(), offer(&bus, &subject, &address, &entry))),
        }
    }
}

/// Offers one event until it is taken. An error is one that no repetition mends.
fn offer(
    bus: &Bus,
    subject: &str,
    address: &Address,
    entry: &Entry,
) -> tokio::task::JoinHandle<Result<(), String>> {
    let Address { run, step, driver } = address;
    let id = format!("{run}/{driver}/{step}/event/{}", entry.seq);
    let (bus, subject, payload) = (bus.clone(), subject.to_owned(), entry.payload.clone());
    tokio::spawn(async move {
        let headers = bus.signed_headers(&id, &subject, &payload)?;
        let sent = bus.publish(&subject, &headers, &payload, |_| {}).await;
        sent.map(drop)
            .map_err(|refused| format!("an event of {} bytes is lost: {}", payload.len(), refused.0))
    })
}
