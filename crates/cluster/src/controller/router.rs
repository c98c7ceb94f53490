//! Reads the stream of a run in its order and passes each event to the step that waits for it; reports drivers that
//! have fallen silent. Duplicates are dropped, and an event that comes early waits for those before it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cosmark_wire::message::{Control, Event, Registration, decode};
use cosmark_wire::{DriverEvent, EventSender, Failure, FailureClass, MESSAGE_VERSION, TriggerReport};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::RemoteError;
use super::credible::Sayings;
use super::lessor::LeaseWords;
use super::publisher::Publisher;
use crate::nats::names::{About, all_of, read};
use crate::nats::{Bus, Message, Registry, open_signed};

/// Events of one driver and step that may wait for an earlier one, and their bytes.
const MOST_STASHED: usize = 8192;
const MOST_STASHED_BYTES: usize = 256 << 20;
/// How often silence is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Who waits for the events of a step.
enum Recipient {
    Stage(EventSender),
    Trigger(mpsc::Sender<TriggerReport>),
}

/// One driver.
struct Station {
    /// Its life when the run began: a heartbeat of another one says nothing about its work.
    life: u64,
    /// Its public key when the run began.
    identity: String,
    /// Its step and who waits for that; older steps are over.
    step: Option<u32>,
    recipient: Option<Recipient>,
    /// When its step began, or it was heard of, or the connection came back.
    heard: Instant,
    is_lost: bool,
    /// The last step that it has an order for.
    ordered: Option<u32>,
    order: Order,
    sayings: Sayings,
    /// What it has to do next, and since when.
    task: Task,
    since: Instant,
    /// Since when its heartbeats come without a gap.
    beats_since: Instant,
}

/// What a driver has to do next in a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Open, log in, ask the stores.
    Prepare,
    /// Tell its clock.
    TellClock,
    /// Nothing: it waits for the others.
    Wait,
    /// Begin.
    Begin,
    /// Make load, and tell what came of it.
    Tell,
}

impl Task {
    /// What is said when it was not done, and how many times the patience of the run it may take.
    fn late(self) -> Option<(&'static str, u32)> {
        match self {
            Self::Prepare => Some(("has not prepared its stage (opened, logged in, asked the stores)", 2)),
            Self::TellClock => Some(("has not told its clock", 1)),
            Self::Wait => None,
            Self::Begin => Some(("has not begun its load", 1)),
            Self::Tell => Some(("has told nothing of its load", 1)),
        }
    }
}

/// The least time for a step of a driver that is there.
const LEAST_PATIENCE: Duration = Duration::from_secs(30);
/// Heartbeats come every 2 s.
const BEAT_GAP: Duration = Duration::from_secs(7);

/// Sequence of the events of one step.
#[derive(Default)]
struct Order {
    next: u64,
    stash: BTreeMap<u64, Early>,
    stashed_bytes: usize,
}

/// An event that came before its turn, as it came: read it may take hundreds of times the memory.
struct Early {
    past: Option<i64>,
    payload: Vec<u8>,
}

impl Order {
    /// True when it is this event's turn; one that is early is put aside.
    fn enter(&mut self, seq: u64, past: Option<i64>, payload: Vec<u8>) -> bool {
        if seq == self.next {
            // The same may have come early, too, and is not needed twice.
            drop(self.take_early());
            self.next = seq + 1;
            return true;
        }
        let has_room = self.stash.len() < MOST_STASHED && self.stashed_bytes < MOST_STASHED_BYTES;
        if seq > self.next && has_room && !self.stash.contains_key(&seq) {
            self.stashed_bytes += payload.len();
            self.stash.insert(seq, Early { past, payload });
        }
        false
    }

    /// The event whose turn it is now, if it came early.
    fn next_early(&mut self) -> Option<Early> {
        let early = self.take_early()?;
        self.next += 1;
        Some(early)
    }

    fn take_early(&mut self) -> Option<Early> {
        let early = self.stash.remove(&self.next)?;
        self.stashed_bytes = self.stashed_bytes.saturating_sub(early.payload.len());
        Some(early)
    }
}

struct Shared {
    stations: Mutex<HashMap<String, Station>>,
    /// Changes with each registration of a step.
    begun: watch::Sender<u64>,
    trouble: Mutex<Option<String>>,
    connected_since: Mutex<Instant>,
    registry: Registry,
    lost_after: Duration,
    lease: LeaseWords,
    bus: Bus,
    /// Our own public key.
    me: String,
}

/// The router of one run; ends when it is dropped.
pub struct Router {
    shared: Arc<Shared>,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Router {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// A way to the router for a driver's link.
#[derive(Clone)]
pub struct Reception(Arc<Shared>);

impl Router {
    /// Starts reading a run from its first message. What came up to message `history_ends` is past.
    pub async fn start(
        bus: &Bus,
        run: &str,
        history_ends: u64,
        drivers: &[Registration],
        lost_after: Duration,
        publisher: Publisher,
        lease: LeaseWords,
    ) -> Result<Self, RemoteError> {
        let registry = bus.registry().await.map_err(|error| RemoteError::Bus(error.to_string()))?;
        let station = |driver: &Registration| Station {
            life: driver.life,
            identity: driver.identity.clone(),
            step: None,
            recipient: None,
            heard: Instant::now(),
            is_lost: false,
            ordered: None,
            order: Order::default(),
            sayings: Sayings::default(),
            task: Task::Wait,
            since: Instant::now(),
            beats_since: Instant::now(),
        };
        let stations = drivers.iter().map(|driver| (driver.name.clone(), station(driver))).collect();
        let shared = Arc::new(Shared {
            stations: Mutex::new(stations),
            begun: watch::channel(0).0,
            trouble: Mutex::default(),
            connected_since: Mutex::new(Instant::now()),
            registry,
            lost_after,
            lease,
            bus: bus.clone(),
            me: bus.identity().map(|identity| identity.public().to_owned()).unwrap_or_default(),
        });
        let reading = Arc::clone(&shared);
        let mut reader = bus.reader(&all_of(run), 1);
        let read = tokio::spawn(async move {
            loop {
                match reader.next().await {
                    Ok(message) => reading.take(message, history_ends).await,
                    Err(error) => return reading.give_up(&error.to_string()).await,
                }
            }
        });
        let watching = Arc::clone(&shared);
        let look = tokio::spawn(async move { watching.look_for_silence(publisher).await });
        Ok(Self { shared, tasks: vec![read, look] })
    }

    /// For the links.
    pub fn reception(&self) -> Reception {
        Reception(Arc::clone(&self.shared))
    }

    /// Who is there, and what he does.
    pub fn registry(&self) -> Registry {
        self.shared.registry.clone()
    }

    /// What went wrong, if anything did.
    pub fn trouble(&self) -> Option<String> {
        self.shared.trouble.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Reception {
    /// How long a driver may make load without a renewal of the run's lease.
    pub fn lost_after(&self) -> Duration {
        self.0.lost_after
    }

    fn begin(&self, driver: &str, step: u32, recipient: Recipient) {
        if let Some(station) = self.0.stations().get_mut(driver) {
            station.step = Some(step);
            station.recipient = Some(recipient);
            (station.order, station.sayings) = (Order::default(), Sayings::default());
            station.heard = Instant::now();
            station.is_lost = false;
            (station.task, station.since) = (Task::Prepare, Instant::now());
        }
        self.0.begun.send_modify(|count| *count += 1);
    }

    /// A stage begins on a driver.
    pub fn begin_stage(&self, driver: &str, step: u32, events: EventSender) {
        self.begin(driver, step, Recipient::Stage(events));
    }

    /// A trigger begins on a driver.
    pub fn begin_trigger(&self, driver: &str, step: u32, report: mpsc::Sender<TriggerReport>) {
        self.begin(driver, step, Recipient::Trigger(report));
    }

    /// What a driver has to do from now on.
    pub fn expect(&self, driver: &str, task: Task) {
        if let Some(station) = self.0.stations().get_mut(driver) {
            (station.task, station.since) = (task, Instant::now());
        }
    }

    /// Whether a driver was heard of lately.
    pub fn is_present(&self, driver: &str) -> bool {
        let Some(present) = self.0.registry.get(driver) else { return false };
        // While NATS was away nobody could be heard of.
        let connected_since = *self.0.connected_since.lock().unwrap_or_else(PoisonError::into_inner);
        present.heard.max(connected_since).elapsed() < self.0.lost_after
    }
}

impl Shared {
    fn stations(&self) -> MutexGuard<'_, HashMap<String, Station>> {
        self.stations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, text: String) {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(text);
    }

    async fn take(&self, message: Message, history_ends: u64) {
        let past = (message.sequence <= history_ends).then_some(message.unix_ns);
        match read(&message.subject) {
            Some((_, About::Event(driver))) => {
                let identity = self.stations().get(driver).map(|station| station.identity.clone());
                let Some(identity) = identity else { return };
                if !message.is_by(&identity) {
                    return self.tell(format!(
                        "somebody else than driver {driver} tells of it: what it has not signed is not counted; give each \
                         driver a login of its own"
                    ));
                }
                if message.version() != MESSAGE_VERSION {
                    let text = format!(
                        "driver {driver} speaks version {} of the messages, this controller version \
                         {MESSAGE_VERSION}: use the same Cosmark on both",
                        message.version()
                    );
                    let failure = Failure { work: String::new(), class: FailureClass::Driver, text };
                    return self.hand_on(driver, past, DriverEvent::Refused(failure)).await;
                }
                match decode::<Event>(&message.payload) {
                    Ok(event) => self.enter(driver, event, past, message.unix_ns, message.payload).await,
                    Err(error) => self.tell(format!("driver {driver}: {error}")),
                }
            }
            Some((_, About::Order(driver))) => {
                if let Ok(order) = open_signed(&message.payload, |key| key == self.me)
                    && let Some(station) = self.stations().get_mut(driver)
                {
                    station.ordered = station.ordered.max(order.envelope.step);
                }
            }
            Some((_, About::Control)) if message.is_by(&self.me) => {
                if let Ok(Control::Lost { driver, step, silent_ms, late }) = decode(&message.payload) {
                    self.lease.give_up(&driver, step);
                    self.lose(&driver, step, silent_ms, late, past).await;
                }
            }
            _ => {}
        }
    }

    async fn enter(&self, driver: &str, event: Event, past: Option<i64>, unix_ns: i64, payload: Vec<u8>) {
        let Event { step, seq, event } = event;
        if !self.is_ordered(driver, step) {
            return self.tell(format!(
                "driver {driver} speaks of step {step}, for which it has no order: that is not counted"
            ));
        }
        if !self.wait_for(driver, step).await {
            return;
        }
        {
            let mut stations = self.stations();
            let Some(station) = stations.get_mut(driver) else { return };
            if past.is_none() {
                station.heard = Instant::now();
            }
            station.is_lost = false;
            match &event {
                DriverEvent::Authed => (station.task, station.since) = (Task::TellClock, Instant::now()),
                DriverEvent::Launched(_) => (station.task, station.since) = (Task::Tell, Instant::now()),
                // That its machine lives says nothing of its load.
                DriverEvent::Health(_) => {}
                _ => station.since = Instant::now(),
            }
            if !station.order.enter(seq, past, payload) {
                return;
            }
        }
        let mut next = Some((past, event));
        while let Some((past, event)) = next {
            let event = self.credible(driver, unix_ns, event);
            self.hand_on(driver, past, event).await;
            next = self.next_early(driver);
        }
    }

    /// Whether a driver may have something to say of a step: an order for it stands before that in the stream.
    fn is_ordered(&self, driver: &str, step: u32) -> bool {
        let stations = self.stations();
        let station = stations.get(driver);
        station.is_some_and(|station| station.step.max(station.ordered).is_some_and(|last| step <= last))
    }

    /// The next event of a driver, if it came before its turn.
    fn next_early(&self, driver: &str) -> Option<(Option<i64>, DriverEvent)> {
        let Early { past, payload } = self.stations().get_mut(driver)?.order.next_early()?;
        // It was read before.
        decode::<Event>(&payload).ok().map(|read| (past, read.event))
    }

    /// The event, or that the driver is refused for it.
    fn credible(&self, driver: &str, unix_ns: i64, event: DriverEvent) -> DriverEvent {
        let mut stations = self.stations();
        let is_credible =
            stations.get_mut(driver).is_none_or(|station| station.sayings.are_credible(unix_ns, &event));
        if is_credible {
            return event;
        }
        let text = format!(
            "driver {driver} speaks of times that have not come, or of sums that no load makes: use the same Cosmark \
             there, and see whether somebody else has its key"
        );
        DriverEvent::Refused(Failure { work: String::new(), class: FailureClass::Driver, text })
    }

    /// Waits until the step has begun here, too: while a run is taken up, its stream is ahead of it. False when it is over.
    async fn wait_for(&self, driver: &str, step: u32) -> bool {
        let mut begun = self.begun.subscribe();
        loop {
            let at = self.stations().get(driver).map(|station| station.step);
            match at {
                None => return false,
                Some(Some(at)) if at >= step => return at == step,
                Some(_) => {}
            }
            if begun.changed().await.is_err() {
                return false;
            }
        }
    }

    async fn hand_on(&self, driver: &str, past: Option<i64>, event: DriverEvent) {
        let stage = match self.stations().get(driver).and_then(|station| station.recipient.as_ref()) {
            Some(Recipient::Stage(sender)) => sender.clone(),
            Some(Recipient::Trigger(sender)) => {
                if let Some(report) = report_of(event) {
                    let _ = sender.try_send(report);
                }
                return;
            }
            None => return,
        };
        let is_last = matches!(event, DriverEvent::Ended { .. } | DriverEvent::Refused(_));
        let gone = stage.send(past, event).await.is_err();
        if (gone || is_last)
            && let Some(station) = self.stations().get_mut(driver)
        {
            station.recipient = None;
        }
    }

    async fn lose(&self, driver: &str, step: u32, silent_ms: u64, late: Option<String>, past: Option<i64>) {
        if self.wait_for(driver, step).await {
            self.hand_on(driver, past, DriverEvent::Lost { silent_ms, late }).await;
        }
    }

    /// The stream is gone: no stage can go on.
    async fn give_up(&self, text: &str) {
        self.tell(text.to_owned());
        let names: Vec<String> = self.stations().keys().cloned().collect();
        let failure = Failure { work: String::new(), class: FailureClass::Driver, text: text.to_owned() };
        for name in names {
            self.hand_on(&name, None, DriverEvent::Refused(failure.clone())).await;
        }
    }

    /// What a driver that is there has not done in time.
    fn late(&self, station: &Station, connected_since: Instant) -> Option<String> {
        let (text, times) = station.task.late()?;
        let patience = (self.lost_after.saturating_mul(3) / 2).max(LEAST_PATIENCE) * times;
        let waited = station.since.max(station.beats_since).max(connected_since).elapsed();
        (waited > patience).then(|| text.to_owned())
    }

    /// Writes down which drivers are lost. Only what comes back through the stream counts, so that everybody who reads it
    /// comes to know it at the same place.
    async fn look_for_silence(&self, publisher: Publisher) {
        let mut tick = tokio::time::interval(LOOK_EVERY);
        let mut looked = Instant::now();
        loop {
            tick.tick().await;
            // Who was stopped himself, or cut off, cannot tell whether others were silent.
            if !self.bus.is_connected() || looked.elapsed() > 4 * LOOK_EVERY {
                *self.connected_since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            }
            let connected_since = *self.connected_since.lock().unwrap_or_else(PoisonError::into_inner);
            looked = Instant::now();
            for (name, station) in self.stations().iter_mut() {
                let (Some(step), Some(Recipient::Stage(_)), false) =
                    (station.step, &station.recipient, station.is_lost)
                else {
                    continue;
                };
                let beat = self.registry.get(name).filter(|one| one.registration.life == station.life);
                let heard = beat.map_or(station.heard, |beat| beat.heard.max(station.heard));
                let silence = heard.max(connected_since).elapsed();
                if silence > BEAT_GAP {
                    station.beats_since = Instant::now();
                }
                let late = self.late(station, connected_since);
                if silence > self.lost_after || late.is_some() {
                    station.is_lost = true;
                    let waited = if late.is_some() { station.since.elapsed() } else { silence };
                    let silent_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
                    publisher.control(Control::Lost { driver: name.clone(), step, silent_ms, late });
                }
            }
        }
    }
}

/// What the script of a trigger did. A driver whose report could not be sent says `Refused` in its place.
fn report_of(event: DriverEvent) -> Option<TriggerReport> {
    match event {
        DriverEvent::Triggered(report) => Some(report),
        DriverEvent::Refused(failure) => {
            Some(TriggerReport { output: String::new(), error: Some(failure.text) })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn duplicated_and_reordered_events_are_heard_once_and_in_their_order(
            (count, deliveries) in (1u64..60).prop_flat_map(|count| {
                let all: Vec<u64> = (0..count).collect();
                let again = prop::collection::vec(0..count, 0..60);
                (Just(count), again.prop_map(move |again| [all.clone(), again].concat()).prop_shuffle())
            }),
        ) {
            let mut order = Order::default();
            let mut heard = Vec::new();
            for seq in deliveries {
                if order.enter(seq, None, seq.to_be_bytes().to_vec()) {
                    heard.push(seq);
                    while let Some(early) = order.next_early() {
                        heard.push(u64::from_be_bytes(early.payload.try_into().unwrap()));
                    }
                }
            }
            prop_assert_eq!(heard, (0..count).collect::<Vec<_>>());
            prop_assert_eq!(order.stashed_bytes, 0);
        }
    }

    #[test]
    fn events_that_come_early_are_put_aside_up_to_a_bound() {
        let mut order = Order::default();
        for seq in 1..2000 {
            assert!(!order.enter(seq, None, vec![0; 1 << 20]));
        }
        assert_eq!(order.stash.len(), MOST_STASHED_BYTES >> 20);
        assert!(order.enter(0, None, Vec::new()));
        let mut count = 0;
        while order.next_early().is_some() {
            count += 1;
        }
        assert_eq!((count, order.stashed_bytes), (MOST_STASHED_BYTES >> 20, 0));
        assert!(!order.enter(3, None, Vec::new()), "its turn is over");
    }

    #[test]
    fn who_waits_for_a_script_hears_that_its_report_was_too_large() {
        let text = "an event of 2000000 bytes is lost".to_owned();
        let failure = Failure { work: String::new(), class: FailureClass::Driver, text: text.clone() };
        let report = report_of(DriverEvent::Refused(failure)).unwrap();
        assert_eq!((report.output.as_str(), report.error), ("", Some(text)));
        let report = TriggerReport { output: "o".to_owned(), error: None };
        assert_eq!(report_of(DriverEvent::Triggered(report.clone())), Some(report));
        assert_eq!(report_of(DriverEvent::SamplesLost { count: 1 }), None);
    }
}
