//! A driver on another machine, as a [`DriverLink`].

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cosmark_bus::{Bus, RunClock, names};
use cosmark_wire::message::{ClockAnswer, Control, Order, Registration, StageMessage, decode};
use cosmark_wire::{ClockFix, DriverEvent, DriverLink, EventSender, StageOrder, TriggerOrder, TriggerReport};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::book::Book;
use super::post::Post;
use super::router::{Reception, Router, Task};

/// Clocks are compared by the fastest of so many questions.
const PROBES: usize = 20;
const PROBE_PATIENCE: Duration = Duration::from_secs(1);
const PROBE_PAUSE: Duration = Duration::from_millis(2);

/// A clock that was compared with ours.
#[derive(Debug, Clone, Copy)]
struct Compared {
    /// The driver's run clock minus our clock (ns since 1970).
    offset_ns: i64,
    fix: ClockFix,
}

/// The link.
pub struct NatsLink {
    driver: Registration,
    clock: RunClock,
    bus: Bus,
    reception: Reception,
    post: Post,
    book: Arc<Book>,
    events: Option<EventSender>,
    compared: Arc<Mutex<Option<Compared>>>,
    probing: Option<JoinHandle<()>>,
}

impl NatsLink {
    pub fn new(
        driver: Registration,
        clock: RunClock,
        bus: &Bus,
        router: &Router,
        post: Post,
        book: Arc<Book>,
    ) -> Self {
        Self {
            driver,
            clock,
            bus: bus.clone(),
            reception: router.reception(),
            post,
            book,
            events: None,
            compared: Arc::default(),
            probing: None,
        }
    }

    fn stop_probing(&mut self) {
        if let Some(probing) = self.probing.take() {
            probing.abort();
        }
    }
}

impl Drop for NatsLink {
    fn drop(&mut self) {
        self.stop_probing();
    }
}

impl DriverLink for NatsLink {
    fn name(&self) -> &str {
        &self.driver.name
    }

    fn labels(&self) -> &[(String, String)] {
        &self.driver.labels
    }

    fn is_there(&mut self, step: u32) -> bool {
        let name = &self.driver.name;
        if self.book.absent.contains(&(step, name.clone())) {
            return false;
        }
        // A predecessor has begun this step: it had written down who was absent before.
        if self
            .book
            .ordered
            .range((step, String::new())..)
            .next()
            .is_some_and(|(ordered, _)| *ordered == step)
        {
            return true;
        }
        let there = self.reception.is_present(name);
        if !there {
            self.post.control(Control::Absent { driver: name.clone(), step });
        }
        there
    }

    fn start(&mut self, order: StageOrder, events: EventSender) {
        self.stop_probing();
        *self.compared.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.reception.begin_stage(&self.driver.name, order.step, events.clone());
        self.events = Some(events);
        self.post.order(&self.driver, &Order::Stage(StageMessage::of(&order)));
    }

    fn probe(&mut self, _step: u32) {
        let Some(events) = self.events.clone() else { return };
        self.stop_probing();
        let (bus, clock, compared) = (self.bus.clone(), self.clock, Arc::clone(&self.compared));
        let (reception, name) = (self.reception.clone(), self.driver.name.clone());
        let subject = names::question(&self.driver.name, "clock");
        self.probing = Some(tokio::spawn(async move {
            let best = compare(&bus, clock, &subject).await;
            *compared.lock().unwrap_or_else(PoisonError::into_inner) = Some(best);
            reception.expect(&name, Task::Wait);
            let _ = events.send(None, DriverEvent::Probed).await;
        }));
    }

    fn go(&mut self, step: u32, at_unix_ns: Option<i64>) {
        let compared = *self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Compared { offset_ns, fix }) = compared else { return };
        let unix_ns = at_unix_ns.unwrap_or_else(|| self.clock.now_ns());
        let start_ns = u64::try_from(unix_ns.saturating_add(offset_ns)).unwrap_or(0);
        self.reception.expect(&self.driver.name, Task::Begin);
        self.post.order(&self.driver, &Order::Go { step, start_ns, unix_ns, clock: fix });
    }

    fn finish(&self, step: u32) {
        self.post.order(&self.driver, &Order::Finish { step });
    }

    fn abort(&self, step: u32) {
        self.post.order(&self.driver, &Order::Abort { step });
    }

    fn trigger(&mut self, step: u32, trigger: TriggerOrder) -> mpsc::Receiver<TriggerReport> {
        let (sender, receiver) = mpsc::channel(1);
        self.reception.begin_trigger(&self.driver.name, step, sender);
        self.post.order(&self.driver, &Order::Trigger { step, trigger });
        receiver
    }
}

/// Compares the clocks by the question that was answered fastest: the answer was given somewhere between sent and received,
/// and half of that time bounds the error (Cristian, "Probabilistic clock synchronization", 1989). Asks until it has
/// enough answers; whoever does not need them any more stops it.
async fn compare(bus: &Bus, clock: RunClock, subject: &str) -> Compared {
    let mut best: Option<Compared> = None;
    let mut answers = 0;
    loop {
        let sent_ns = clock.now_ns();
        let asking = bus.client().request(subject.to_owned(), Vec::new().into());
        let answer = tokio::time::timeout(PROBE_PATIENCE, asking).await;
        let received_ns = clock.now_ns();
        if let Ok(Ok(message)) = answer
            && let Ok(answer) = decode::<ClockAnswer>(&message.payload)
        {
            answers += 1;
            let middle_ns = sent_ns + (received_ns - sent_ns) / 2;
            let error_ns = u64::try_from((received_ns - sent_ns + 1) / 2).unwrap_or(u64::MAX);
            if best.is_none_or(|best| error_ns < best.fix.error_ns) {
                let driver_ns = i64::try_from(answer.now_ns).unwrap_or(i64::MAX);
                best = Some(Compared {
                    offset_ns: driver_ns.saturating_sub(middle_ns),
                    fix: ClockFix { wall_offset_ns: answer.unix_ns.saturating_sub(middle_ns), error_ns },
                });
            }
        } else {
            tokio::time::sleep(PROBE_PAUSE * 50).await;
        }
        if answers >= PROBES
            && let Some(best) = best
        {
            return best;
        }
        tokio::time::sleep(PROBE_PAUSE).await;
    }
}
