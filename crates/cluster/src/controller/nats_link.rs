//! A driver on another machine, as a [`DriverLink`].

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cosmark_wire::message::{ClockAnswer, Control, Order, Registration, StageMessage, decode};
use cosmark_wire::{
    ClockDrift, DriverEvent, DriverLink, EventSender, RunClock, StageOrder, TriggerOrder, TriggerReport,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::clocks::{self, Asked, Look, Looks};
use super::journal::Journal;
use super::publisher::Publisher;
use super::router::{Reception, Router, Task};
use crate::nats::{Bus, names};

const PROBE_PATIENCE: Duration = Duration::from_secs(1);
/// Clocks are compared so often while a stage runs.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// A last look that takes longer is of no use.
const LAST_LOOK: Duration = Duration::from_secs(1);

/// The link.
pub struct NatsLink {
    driver: Registration,
    clock: RunClock,
    bus: Bus,
    reception: Reception,
    publisher: Publisher,
    journal: Arc<Journal>,
    events: Option<EventSender>,
    looks: Arc<Mutex<Looks>>,
    probing: Option<JoinHandle<()>>,
}

impl NatsLink {
    pub fn new(
        driver: Registration,
        clock: RunClock,
        bus: &Bus,
        router: &Router,
        publisher: Publisher,
        journal: Arc<Journal>,
    ) -> Self {
        Self {
            driver,
            clock,
            bus: bus.clone(),
            reception: router.reception(),
            publisher,
            journal,
            events: None,
            looks: Arc::default(),
            probing: None,
        }
    }

    fn questions(&self) -> Questions {
        Questions::new(&self.bus, self.clock, &self.driver.name)
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

    fn goes_on_unheard(&self) -> Duration {
        self.reception.lost_after()
    }

    fn is_there(&mut self, step: u32) -> bool {
        let name = &self.driver.name;
        if self.journal.absent.contains(&(step, name.clone())) {
            return false;
        }
        // A predecessor has begun this step: it had written down who was absent before.
        if self
            .journal
            .ordered
            .range((step, String::new())..)
            .next()
            .is_some_and(|(ordered, _)| *ordered == step)
        {
            return true;
        }
        let there = self.reception.is_present(name);
        if !there {
            self.publisher.control(Control::Absent { driver: name.clone(), step });
        }
        there
    }

    fn start(&mut self, order: StageOrder, events: EventSender) {
        self.stop_probing();
        *self.looks.lock().unwrap_or_else(PoisonError::into_inner) = Looks::default();
        self.reception.begin_stage(&self.driver.name, order.step, events.clone());
        self.events = Some(events);
        self.publisher.order(&self.driver, &Order::Stage(StageMessage::of(&order)));
    }

    fn probe(&mut self, _step: u32) {
        let Some(events) = self.events.clone() else { return };
        self.stop_probing();
        let (questions, looks) = (self.questions(), Arc::clone(&self.looks));
        *looks.lock().unwrap_or_else(PoisonError::into_inner) = Looks::default();
        let (reception, name) = (self.reception.clone(), self.driver.name.clone());
        self.probing = Some(tokio::spawn(async move {
            let enter = |look| looks.lock().unwrap_or_else(PoisonError::into_inner).add(look);
            enter(clocks::look(&questions, clocks::MANY).await);
            reception.expect(&name, Task::Wait);
            let _ = events.send(None, DriverEvent::Probed).await;
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                enter(clocks::look(&questions, clocks::SOME).await);
            }
        }));
    }

    fn compare_again(&mut self, _step: u32) -> Option<mpsc::Receiver<ClockDrift>> {
        self.stop_probing();
        if !self.reception.is_present(&self.driver.name) {
            return None;
        }
        let (sender, receiver) = mpsc::channel(1);
        let (questions, looks) = (self.questions(), Arc::clone(&self.looks));
        self.probing = Some(tokio::spawn(async move {
            let last = tokio::time::timeout(LAST_LOOK, clocks::look(&questions, clocks::SOME)).await;
            let drift = last.ok().and_then(|last| {
                let mut looks = looks.lock().unwrap_or_else(PoisonError::into_inner);
                looks.add(last);
                looks.drift()
            });
            if let Some(drift) = drift {
                let _ = sender.send(drift).await;
            }
        }));
        Some(receiver)
    }

    fn go(&mut self, step: u32, at_unix_ns: Option<i64>) {
        let first = self.looks.lock().unwrap_or_else(PoisonError::into_inner).first();
        let Some(Look { offset_ns, fix, .. }) = first else { return };
        let unix_ns = at_unix_ns.unwrap_or_else(|| self.clock.now_ns());
        let start_ns = u64::try_from(unix_ns.saturating_add(offset_ns)).unwrap_or(0);
        self.reception.expect(&self.driver.name, Task::Begin);
        self.publisher.order(&self.driver, &Order::Go { step, start_ns, unix_ns, clock: fix });
    }

    fn finish(&self, step: u32) {
        self.publisher.order(&self.driver, &Order::Finish { step });
    }

    fn abort(&self, step: u32) {
        self.publisher.order(&self.driver, &Order::Abort { step });
    }

    fn trigger(&mut self, step: u32, trigger: TriggerOrder) -> mpsc::Receiver<TriggerReport> {
        let (sender, receiver) = mpsc::channel(1);
        self.reception.begin_trigger(&self.driver.name, step, sender);
        self.publisher.order(&self.driver, &Order::Trigger { step, trigger });
        receiver
    }
}

/// The driver, asked over NATS.
pub struct Questions {
    bus: Bus,
    clock: RunClock,
    subject: String,
}

impl Questions {
    /// Those to this driver, held against this clock.
    pub fn new(bus: &Bus, clock: RunClock, driver: &str) -> Self {
        Self { bus: bus.clone(), clock, subject: names::question(driver, "clock") }
    }
}

impl Asked for Questions {
    async fn ask(&self) -> Option<ClockAnswer> {
        let asking = self.bus.client().request(self.subject.clone(), Vec::new().into());
        let message = tokio::time::timeout(PROBE_PATIENCE, asking).await.ok()?.ok()?;
        decode::<ClockAnswer>(&message.payload).ok()
    }

    fn now_ns(&self) -> i64 {
        self.clock.now_ns()
    }
}
