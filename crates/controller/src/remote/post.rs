//! What the controller sends, in its order, until NATS has it. Nobody waits for it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cosmark_bus::{Bus, names, seal};
use cosmark_wire::message::{Control, Order, Registration, encode};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Messages that may wait while NATS is away. A run sends a few per stage and driver.
const MOST_WAITING: usize = 1 << 16;

/// How long the last words may take when NATS is away.
const LAST_WORDS: Duration = Duration::from_secs(10);

struct Letter {
    subject: String,
    id: String,
    step: Option<u32>,
    payload: Vec<u8>,
}

/// The way out. Clones share it.
#[derive(Clone)]
pub struct Post {
    run: Arc<str>,
    letters: mpsc::Sender<Letter>,
    /// How often each kind of decision was written down, for ids.
    counts: Arc<Mutex<HashMap<String, u32>>>,
    task: Arc<Mutex<Option<JoinHandle<()>>>>,
    waiting: Arc<AtomicUsize>,
    trouble: Arc<Mutex<Option<String>>>,
}

impl Post {
    /// Starts sending for a run.
    pub fn start(bus: Bus, run: String) -> Self {
        let (letters, mut waiting) = mpsc::channel::<Letter>(MOST_WAITING);
        let trouble: Arc<Mutex<Option<String>>> = Arc::default();
        let told = Arc::clone(&trouble);
        let waiting_for_nats = Arc::new(AtomicUsize::new(0));
        let unsent = Arc::clone(&waiting_for_nats);
        let task = tokio::spawn(async move {
            let tell = |text: String| *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
            while let Some(letter) = waiting.recv().await {
                let headers = Bus::headers(&letter.id, letter.step);
                let sent =
                    bus.publish(&letter.subject, &headers, &letter.payload, |text| tell(text.to_owned()));
                if let Err(refused) = sent.await {
                    tell(refused.0);
                }
                unsent.fetch_sub(1, Ordering::Release);
            }
        });
        Self {
            run: run.into(),
            letters,
            counts: Arc::default(),
            task: Arc::new(Mutex::new(Some(task))),
            waiting: waiting_for_nats,
            trouble,
        }
    }

    fn send(&self, letter: Letter) {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        if self.letters.try_send(letter).is_err() {
            self.waiting.fetch_sub(1, Ordering::AcqRel);
            let text = "NATS has been away for so long that orders were dropped".to_owned();
            *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
        }
    }

    /// An order to a driver, sealed for it. The same one twice is one.
    pub fn order(&self, driver: &Registration, order: &Order) {
        let step = match order {
            Order::Stage(stage) => Some(stage.step),
            Order::Go { step, .. }
            | Order::Finish { step }
            | Order::Abort { step }
            | Order::Trigger { step, .. } => Some(*step),
            Order::Forget => None,
        };
        let sealed = encode(order)
            .map_err(|error| error.to_string())
            .and_then(|plain| seal(driver.public_key, &plain));
        match sealed {
            Ok(payload) => self.send(Letter {
                subject: names::order(&self.run, &driver.name),
                id: format!("{}/{}/{}", self.run, driver.name, order.id()),
                step,
                payload,
            }),
            Err(text) => *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(text),
        }
    }

    /// A decision that a successor has to repeat.
    pub fn control(&self, control: Control) {
        let kind = match &control {
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
            Control::Lost { .. } => format!("{}/{kind}/{number}/{}", self.run, cosmark_bus::unix_ns()),
            _ => format!("{}/{kind}", self.run),
        };
        if let Ok(payload) = encode(&control) {
            self.send(Letter { subject: names::control(&self.run), id, step: None, payload });
        }
    }

    /// What keeps it from sending, if anything did since it was asked last.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Waits until everything is sent; at most some seconds, because NATS may be gone for good.
    pub async fn end(self) {
        let until = Instant::now() + LAST_WORDS;
        while self.waiting.load(Ordering::Acquire) > 0 && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        if let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}
