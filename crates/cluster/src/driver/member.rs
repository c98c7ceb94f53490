//! A driver that has joined: it follows orders in the order of the stream, holds the leases of their runs, reports its
//! state every two seconds, and sends everything that it has before it leaves.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cosmark_driver::Catalog;
use cosmark_wire::MESSAGE_VERSION;
use cosmark_wire::message::{Envelope, Order, Registration, decode};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio::time::{Interval, MissedTickBehavior};

use super::registration::{Busy, registration};
use super::state::{Position, State};
use super::stillness::Stillness;
use super::trust::{SharedTrust, Trust};
use super::work::{Answer, Work};
use super::{DriverError, Leave, RemoteOptions, Talk, ceiling, questions};
use crate::nats::{Bus, Key, LinkState, Message, Renewals, StreamError, StreamReader, names};

const BEAT_EVERY: Duration = Duration::from_secs(2);
/// How often leases and clocks are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long a driver that leaves waits for NATS to take what it has to tell.
const FAREWELL: Duration = Duration::from_secs(20);
const SHORT_FAREWELL: Duration = Duration::from_secs(3);

/// A driver and all that it holds while it takes part.
pub struct Member {
    bus: Bus,
    catalog: Catalog,
    options: RemoteOptions,
    name: String,
    key: Key,
    trust: SharedTrust,
    state: State,
    position: Position,
    reader: StreamReader,
    work: Work,
    registration: Registration,
    busy: Busy,
    stillness: Stillness,
    talk: Talk,
}

impl Member {
    /// Opens its state directory and finds its place in the stream of orders. The answers are those about leases that it will ask for.
    ///
    /// # Errors
    /// [`DriverError`]
    pub async fn open(
        bus: Bus,
        catalog: Catalog,
        options: RemoteOptions,
        talk: Talk,
    ) -> Result<(Self, mpsc::Receiver<Answer>), DriverError> {
        let name = options.options.name.clone();
        let state = State::open(&options.state, &name)?;
        let key = Key::load_or_create(&state.directory().join("driver.key"))?;
        let bus = bus.as_driver(key.identity()?);
        let in_state = |path: &Path, cause| DriverError::State { path: path.display().to_string(), cause };
        let trust = Trust::open(state.directory(), &name, &options.trust, Arc::clone(&talk));
        let trust = SharedTrust::new(trust.map_err(|cause| in_state(state.directory(), cause))?);
        refuse_double(&bus, &name, &key).await?;
        let position = find_place(&bus, &state, &talk).await;
        let runs = state.directory().join("runs");
        let work = Work::new(
            bus.clone(),
            catalog,
            options.options.clone(),
            runs.clone(),
            options.most_bytes,
            Arc::clone(&talk),
        );
        let (work, answers) = work.map_err(|cause| in_state(&runs, cause))?;
        let mut registration = registration(&bus, catalog, &options, &key)?;
        if options.measure_ceiling {
            registration.ceiling_ops_per_s = ceiling::measure(catalog, &options.options).await;
        }
        let reader = reader_from(&bus, &name, position);
        let (busy, stillness) = (Busy::default(), Stillness::default());
        let member = Self {
            bus,
            catalog,
            options,
            name,
            key,
            trust,
            state,
            position,
            reader,
            work,
            registration,
            busy,
            stillness,
            talk,
        };
        Ok((member, answers))
    }

    /// Answers questions about clocks and targets from now on.
    pub fn answer_questions(&self) -> JoinHandle<()> {
        tokio::spawn(questions::answer(
            self.bus.clone(),
            self.catalog,
            self.options.clone(),
            (self.key.clone(), self.trust.clone()),
            self.registration.life,
        ))
    }

    /// Renewals of leases, from now on.
    ///
    /// # Errors
    /// When NATS does not answer.
    pub async fn renewals(&self) -> Result<Renewals, DriverError> {
        Ok(self.bus.renewals().await?)
    }

    /// Joins: from now on controllers see it.
    ///
    /// # Errors
    /// When NATS does not answer.
    pub async fn register(&mut self) -> Result<(), DriverError> {
        self.trust.learn(&self.bus).await;
        self.registration.trusts = self.trust.get().keys();
        self.bus.register(&self.registration).await?;
        (self.talk)(&format!("driver {} is registered at {}", self.name, self.bus.url()));
        Ok(())
    }

    /// Takes part until it is to leave.
    pub async fn follow(
        &mut self,
        mut renewals: Renewals,
        mut answers: mpsc::Receiver<Answer>,
        leave: &mut watch::Receiver<Leave>,
    ) {
        let mut link = self.bus.state();
        let (mut beat, mut look) = (every(BEAT_EVERY), every(LOOK_EVERY));
        while *leave.borrow() == Leave::Stay {
            tokio::select! {
                // What is heard after this process stood still may be old: that is noticed before anything is heard.
                biased;
                _ = look.tick() => {}
                Some((run, lease)) = renewals.next() => {
                    self.look();
                    self.work.hears(&run, &lease);
                }
                Some(answer) = answers.recv() => {
                    self.look();
                    self.work.take_answer(&answer);
                }
                message = self.reader.next() => match message {
                    Ok(message) => self.take(&message, leave).await,
                    Err(error) => self.begin_again(&error).await,
                },
                _ = beat.tick() => self.beat(),
                changed = link.changed() => {
                    if changed.is_ok() {
                        let now = *link.borrow_and_update();
                        (self.talk)(if now == LinkState::Connected { "NATS is back" } else { "NATS is away; what there is to tell is kept" });
                    }
                }
                changed = leave.changed() => if changed.is_err() { break },
            }
            self.stillness.note_link(self.bus.is_connected());
            self.look();
        }
    }

    /// Looks after the leases of its runs.
    fn look(&mut self) {
        self.work.look(self.stillness.is_over(), self.stillness.was_away);
    }

    /// Takes a message of the stream and notes that it did.
    async fn take(&mut self, message: &Message, leave: &watch::Receiver<Leave>) {
        self.look();
        self.position.next = message.sequence + 1;
        if self.trust.get().keys().is_empty() {
            self.trust.learn_at_last(&self.bus, leave).await;
        }
        self.obey(message);
        self.state.set_position(self.position);
    }

    /// Follows an order that is one: nothing of this machine is touched for another.
    fn obey(&mut self, message: &Message) {
        let Some((run, names::About::Order(_))) = names::read(&message.subject) else { return };
        let Some(admitted) = self.trust.get().order(run, &message.payload) else { return };
        let name = &self.name;
        let Envelope { version, step, .. } = admitted.envelope;
        if version != MESSAGE_VERSION {
            let text = format!(
                "the controller speaks version {version} of the messages, driver {name} version {MESSAGE_VERSION}: use the same \
                 Cosmark on both"
            );
            return self.refuse(run, step, text);
        }
        let order = self.key.open(&admitted.sealed).and_then(|plain| decode::<Order>(&plain).ok());
        let Some(order) = order else {
            let text = format!(
                "driver {name} cannot open an order: it was sealed for another key; was its state directory replaced?"
            );
            return self.refuse(run, step, text);
        };
        if order == Order::Forget {
            self.trust.get().end_run(run, &admitted);
        }
        self.work.follow(run, order);
    }

    fn refuse(&mut self, run: &str, step: Option<u32>, text: String) {
        match step {
            Some(step) => self.work.refuse(run, step, text),
            None => (self.talk)(&text),
        }
    }

    /// NATS lost its data: all orders of its new stream were given after that.
    async fn begin_again(&mut self, error: &StreamError) {
        (self.talk)(&error.to_string());
        let stream = self.bus.stream_at_last().await;
        self.position = Position { next: 1, stream: Some(stream.made_ns) };
        self.state.set_position(self.position);
        self.reader = reader_from(&self.bus, &self.name, self.position);
    }

    /// Says how it is.
    fn beat(&mut self) {
        self.work.try_directory();
        let registration = &mut self.registration;
        (registration.runs, registration.waiting) = (self.work.running(), self.work.waiting_bytes());
        registration.trouble.clone_from(&self.work.trouble);
        registration.doing = self.work.doing();
        registration.load = self.busy.share();
        registration.trusts = self.trust.get().keys();
        registration.forged = self.trust.get().forged();
        if self.bus.is_connected() {
            // Not waited for: the orders are more important than a heartbeat.
            let (bus, registration, trust) = (self.bus.clone(), registration.clone(), self.trust.clone());
            tokio::spawn(async move {
                trust.learn(&bus).await;
                drop(bus.register(&registration).await);
            });
        }
    }

    /// Stops what is going on and waits until NATS has what is known of it.
    pub async fn say_farewell(&self, leave: &watch::Receiver<Leave>) {
        let mut at_once = *leave.borrow() == Leave::AtOnce;
        self.work.stop(at_once);
        let until = Instant::now() + if at_once { SHORT_FAREWELL } else { FAREWELL };
        while !self.work.is_quiet() && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(50)).await;
            if !at_once && *leave.borrow() == Leave::AtOnce {
                at_once = true;
                self.work.stop(true);
            }
        }
        if !self.work.is_quiet() {
            (self.talk)("NATS has not taken everything; it is sent when this driver is started again");
        }
    }

    /// Leaves: controllers no longer see it.
    pub async fn deregister(&self) {
        let _ = tokio::time::timeout(SHORT_FAREWELL, self.bus.deregister(&self.name)).await;
        let _ = tokio::time::timeout(SHORT_FAREWELL, self.bus.client().flush()).await;
    }
}

fn every(period: Duration) -> Interval {
    let mut interval = tokio::time::interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

/// Where it left off, or the end of the stream at the first start.
async fn find_place(bus: &Bus, state: &State, talk: &Talk) -> Position {
    let now = bus.stream_at_last().await;
    let stream = Some(now.made_ns);
    match state.position() {
        None => Position { next: now.last + 1, stream },
        Some(place)
            if place.stream.is_none_or(|made_ns| made_ns == now.made_ns) && place.next <= now.last + 1 =>
        {
            Position { next: place.next, stream }
        }
        Some(_) => {
            talk(
                "NATS has lost its data since this driver was here; it begins at the first order that is there",
            );
            Position { next: 1, stream }
        }
    }
}

fn reader_from(bus: &Bus, name: &str, position: Position) -> StreamReader {
    let orders = names::orders_to(name);
    position.stream.map_or_else(
        || bus.reader(&orders, position.next),
        |stream| bus.reader_in(&orders, position.next, stream),
    )
}

/// Two drivers of one name would take each other's orders.
async fn refuse_double(bus: &Bus, name: &str, key: &Key) -> Result<(), DriverError> {
    match bus.registered(name).await? {
        Some(other) if other.public_key != key.public() => Err(DriverError::Name(format!(
            "a driver called {name} is at work already, on {}; give this one another --name",
            other.host
        ))),
        _ => Ok(()),
    }
}
