//! Sends an outbox to NATS: in order, several on the way at a time, each again until it was taken.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use cosmark_bus::{Bus, names};

use super::outbox::{Entry, Outbox};

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
            if outbox.is_ended() && next >= *written.borrow_and_update() {
                return;
            }
            if written.changed().await.is_err() {
                return;
            }
            continue;
        };
        match task.await {
            Ok(Ok(())) => outbox.acknowledged(entry.seq + 1),
            Ok(Err(text)) => {
                trouble(text);
                outbox.acknowledged(entry.seq + 1);
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
        let headers = Bus::headers(&id, None);
        let sent = bus.publish(&subject, &headers, &payload, |_| {}).await;
        sent.map(drop)
            .map_err(|refused| format!("an event of {} bytes is lost: {}", payload.len(), refused.0))
    })
}
