//! A driver that dials out to NATS, registers, and works on what controllers order. It keeps what it has to tell on disk
//! until NATS has it, so a connection that is cut, a NATS that is restarted or a controller that is gone costs nothing.

mod ceiling;
mod outbox;
mod sender;
mod state;
mod tenure;
mod trust;
mod work;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cosmark_adaptor_api::clock;
use cosmark_driver::{Catalog, Options, proc, try_target};
use cosmark_engine::{JUMP, coarse_ns, suspended_ns};
use cosmark_wire::message::{
    ClockAnswer, Envelope, Nic, Order, Registration, TargetAnswer, TargetQuestion, decode, encode,
};
use cosmark_wire::{Failure, FailureClass, MESSAGE_VERSION, stage_from_text, unix_ns};
use futures_util::StreamExt;
use thiserror::Error;
use tokio::sync::watch;

use crate::nats::{Bus, BusError, Key, LinkState, StreamReader, names};
use state::{Position, State};
use trust::Trust;
use work::Work;

/// Says a sentence to whoever watches the driver.
pub type Talk = Arc<dyn Fn(&str) + Send + Sync>;

/// What a driver is and where it keeps its state.
#[derive(Debug, Clone)]
pub struct RemoteOptions {
    /// How it works; its name is the one that it registers.
    pub options: Options,
    /// Labels.
    pub labels: Vec<(String, String)>,
    /// Directory for keys and outboxes; several drivers may share it.
    pub state: PathBuf,
    /// Most bytes that may wait for NATS.
    pub most_bytes: u64,
    /// Host name.
    pub host: String,
    /// Processors.
    pub cores: u32,
    /// Version of Cosmark.
    pub version: String,
    /// Measure its own ceiling at the start, about a second.
    pub measure_ceiling: bool,
    /// Public keys of the controllers that it obeys; none = the one that the cluster publishes when it first joins.
    pub trust: Vec<String>,
}

/// How urgently a driver is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leave {
    /// Not at all.
    Stay,
    /// Operations in flight may end, and what it has to tell is told.
    Politely,
    /// At once.
    AtOnce,
}

/// Why a driver cannot work. Each is one sentence with its remedy.
#[derive(Debug, Error)]
pub enum DriverError {
    /// NATS.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// Its name is taken or none.
    #[error("{0}")]
    Name(String),
    /// Its state directory.
    #[error("the state directory {path}: {cause}")]
    State {
        /// Where.
        path: String,
        /// Why.
        cause: std::io::Error,
    },
}

const BEAT_EVERY: Duration = Duration::from_secs(2);
/// How often leases and clocks are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Others may still be away for so long after NATS is back for us.
const RECONNECTING: Duration = Duration::from_secs(20);
/// How long a driver that leaves waits for NATS to take what it has to tell.
const FAREWELL: Duration = Duration::from_secs(20);
const SHORT_FAREWELL: Duration = Duration::from_secs(3);

/// Registers and works until it is told to leave.
///
/// # Errors
/// [`DriverError`] when it cannot begin.
pub async fn serve(
    bus: Bus,
    catalog: Catalog,
    options: RemoteOptions,
    mut leave: watch::Receiver<Leave>,
    talk: Talk,
) -> Result<(), DriverError> {
    let name = options.options.name.clone();
    if !names::is_token(&name) {
        return Err(DriverError::Name(format!(
            "`{name}` cannot be the name of a driver: up to 64 letters, digits, - and _; give --name"
        )));
    }
    let state = State::open(&options.state, &name)?;
    let key = Key::load_or_create(&state.directory().join("driver.key"))?;
    let bus = bus.as_driver(key.identity()?);
    let trust = Trust::open(state.directory(), &name, &options.trust, Arc::clone(&talk));
    let trust = Arc::new(Mutex::new(
        trust.map_err(|cause| DriverError::State { path: state.directory().display().to_string(), cause })?,
    ));
    refuse_double(&bus, &name, &key).await?;
    let mut position = find_place(&bus, &state, &talk).await;
    let runs = state.directory().join("runs");
    let fail = |cause| DriverError::State { path: runs.display().to_string(), cause };
    let (mut work, mut answers) = Work::new(
        bus.clone(),
        catalog,
        options.options.clone(),
        runs.clone(),
        options.most_bytes,
        Arc::clone(&talk),
    )
    .map_err(fail)?;
    let mut registration = registration(&bus, catalog, &options, &key)?;
    if options.measure_ceiling {
        registration.ceiling_ops_per_s = ceiling::measure(catalog, &options.options).await;
    }
    let answering = tokio::spawn(answer(
        bus.clone(),
        catalog,
        options.clone(),
        (key.clone(), Arc::clone(&trust)),
        registration.life,
    ));
    let mut reader = reader_from(&bus, &name, position);
    let mut renewals = bus.renewals().await?;
    let mut still = Stillness::default();
    look_whom_to_trust(&bus, &trust).await;
    registration.trusts = trusting(&trust).keys();
    bus.register(&registration).await?;
    talk(&format!("driver {name} is registered at {}", bus.url()));
    let mut beat = tokio::time::interval(BEAT_EVERY);
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut busy = Busy::default();
    let mut link = bus.state();
    let mut look = tokio::time::interval(LOOK_EVERY);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while *leave.borrow() == Leave::Stay {
        tokio::select! {
            // What is heard after this process stood still may be old: that is noticed before anything is heard.
            biased;
            _ = look.tick() => {}
            Some((run, lease)) = renewals.next() => {
                work.look(still.is_over(), still.was_away);
                work.hears(&run, &lease);
            }
            Some(answer) = answers.recv() => {
                work.look(still.is_over(), still.was_away);
                work.is_told(&answer);
            }
            message = reader.next() => match message {
                Ok(message) => {
                    work.look(still.is_over(), still.was_away);
                    position.next = message.sequence + 1;
                    if trusting(&trust).keys().is_empty() {
                        look_whom_to_trust_at_last(&bus, &trust, &leave).await;
                    }
                    take(&mut work, &key, &name, &trust, &message);
                    state.set_position(position);
                }
                Err(error) => {
                    talk(&error.to_string());
                    // All orders of the new stream were given after that.
                    let stream = bus.stream_at_last().await;
                    position = Position { next: 1, stream: Some(stream.made_ns) };
                    state.set_position(position);
                    reader = reader_from(&bus, &name, position);
                }
            },
            _ = beat.tick() => {
                work.try_directory();
                (registration.runs, registration.waiting) = (work.running(), work.waiting_bytes());
                registration.trouble.clone_from(&work.trouble);
                registration.doing = work.doing();
                registration.load = busy.share();
                registration.trusts = trusting(&trust).keys();
                registration.forged = trusting(&trust).forged();
                // Not waited for: the orders are more important than a heartbeat.
                let (bus, registration) = (bus.clone(), registration.clone());
                if bus.is_connected() {
                    let trust = Arc::clone(&trust);
                    tokio::spawn(async move {
                        look_whom_to_trust(&bus, &trust).await;
                        drop(bus.register(&registration).await);
                    });
                }
            }
            changed = link.changed() => {
                if changed.is_ok() {
                    let now = *link.borrow_and_update();
                    talk(if now == LinkState::Connected { "NATS is back" } else { "NATS is away; what there is to tell is kept" });
                }
            }
            changed = leave.changed() => if changed.is_err() { break },
        }
        still.note_link(bus.is_connected());
        work.look(still.is_over(), still.was_away);
    }
    say_farewell(&work, &mut leave, &talk).await;
    answering.abort();
    let _ = tokio::time::timeout(SHORT_FAREWELL, bus.deregister(&name)).await;
    let _ = tokio::time::timeout(SHORT_FAREWELL, bus.client().flush()).await;
    Ok(())
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

/// Notices that this process stood still, or its machine was suspended, and that NATS was away.
struct Stillness {
    looked_ns: u64,
    suspended_ns: u64,
    is_away: bool,
    back: Option<Instant>,
    /// The connection is away, or came back lately.
    was_away: bool,
}

impl Default for Stillness {
    fn default() -> Self {
        let (looked_ns, suspended_ns) = (coarse_ns(), suspended_ns());
        Self { looked_ns, suspended_ns, is_away: false, back: None, was_away: false }
    }
}

impl Stillness {
    /// True once after each time of standing still.
    fn is_over(&mut self) -> bool {
        let (looked_ns, suspended_ns) = (coarse_ns(), suspended_ns());
        let still_ns = looked_ns.saturating_sub(std::mem::replace(&mut self.looked_ns, looked_ns));
        let asleep_ns = suspended_ns.saturating_sub(std::mem::replace(&mut self.suspended_ns, suspended_ns));
        Duration::from_nanos(still_ns + asleep_ns) >= JUMP
    }

    fn note_link(&mut self, is_connected: bool) {
        if is_connected && self.is_away {
            self.back = Some(Instant::now());
        }
        self.is_away = !is_connected;
        self.was_away = self.is_away || self.back.is_some_and(|at| at.elapsed() < RECONNECTING);
    }
}

/// Stops what is going on and waits until it is told.
async fn say_farewell(work: &Work, leave: &mut watch::Receiver<Leave>, talk: &Talk) {
    let mut at_once = *leave.borrow() == Leave::AtOnce;
    work.stop(at_once);
    let until = Instant::now() + if at_once { SHORT_FAREWELL } else { FAREWELL };
    while !work.is_quiet() && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(50)).await;
        if !at_once && *leave.borrow() == Leave::AtOnce {
            at_once = true;
            work.stop(true);
        }
    }
    if !work.is_quiet() {
        talk("NATS has not taken everything; it is sent when this driver is started again");
    }
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

fn registration(
    bus: &Bus,
    catalog: Catalog,
    options: &RemoteOptions,
    key: &Key,
) -> Result<Registration, DriverError> {
    let mut labels = options.labels.clone();
    labels.sort();
    let mut registration = Registration {
        name: options.options.name.clone(),
        message_version: MESSAGE_VERSION,
        version: options.version.clone(),
        labels,
        host: options.host.clone(),
        cores: options.cores,
        memory_bytes: proc::memory_bytes().unwrap_or(0),
        nics: nics(),
        adaptors: catalog.adaptors.iter().map(|def| def.name.to_owned()).collect(),
        ceiling_ops_per_s: None,
        public_key: key.public(),
        life: draw(),
        runs: Vec::new(),
        load: None,
        waiting: 0,
        trouble: None,
        doing: Vec::new(),
        trusts: Vec::new(),
        forged: 0,
        identity: String::new(),
        proof: Vec::new(),
    };
    if let Some(identity) = bus.identity() {
        identity.public().clone_into(&mut registration.identity);
        registration.proof =
            identity.sign_bytes(&registration.what_is_proved()).map_err(DriverError::Name)?;
    }
    Ok(registration)
}

fn nics() -> Vec<Nic> {
    let addresses = proc::addresses();
    let of = |name: &str| {
        addresses.iter().filter(|(nic, _)| nic == name).map(|(_, address)| address.to_string()).collect()
    };
    proc::interfaces()
        .into_iter()
        .map(|nic| Nic { addresses: of(&nic.name), speed_bits_per_s: nic.speed_bits_per_s, name: nic.name })
        .collect()
}

/// A number that no other start of a driver has.
fn draw() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// Learns the key that the cluster publishes.
async fn look_whom_to_trust(bus: &Bus, trust: &Mutex<Trust>) {
    if let Some(key) = trust::published(bus).await {
        trusting(trust).note_published(&key);
    }
}

/// The same before an order is judged, however long NATS is away: one that is refused is not read again.
async fn look_whom_to_trust_at_last(bus: &Bus, trust: &Mutex<Trust>, leave: &watch::Receiver<Leave>) {
    while *leave.borrow() == Leave::Stay {
        match bus.published_key().await {
            Ok(Some(key)) => return trusting(trust).note_published(&key),
            Ok(None) => return,
            Err(_) => tokio::time::sleep(LOOK_EVERY).await,
        }
    }
}

fn trusting(trust: &Mutex<Trust>) -> MutexGuard<'_, Trust> {
    trust.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Follows an order that is one: nothing of this machine is touched for another.
fn take(work: &mut Work, key: &Key, name: &str, trust: &Mutex<Trust>, message: &crate::nats::Message) {
    let Some((run, names::About::Order(_))) = names::read(&message.subject) else { return };
    let Some(admitted) = trusting(trust).order(run, &message.payload) else { return };
    let Envelope { version, step, .. } = admitted.envelope;
    if version != MESSAGE_VERSION {
        let text = format!(
            "the controller speaks version {version} of the messages, driver {name} version {MESSAGE_VERSION}: use the same \
             Cosmark on both"
        );
        return refuse(work, run, step, text);
    }
    let order = key.open(&admitted.sealed).and_then(|plain| decode::<Order>(&plain).ok());
    let Some(order) = order else {
        let text = format!(
            "driver {name} cannot open an order: it was sealed for another key; was its state directory replaced?"
        );
        return refuse(work, run, step, text);
    };
    if order == Order::Forget {
        trusting(trust).end_run(run, &admitted);
    }
    work.follow(run, order);
}

fn refuse(work: &mut Work, run: &str, step: Option<u32>, text: String) {
    match step {
        Some(step) => work.refuse(run, step, text),
        None => (work.talk)(&text),
    }
}

/// Share of the machine's processors that was busy since the last question.
#[derive(Default)]
struct Busy(Option<(proc::Processors, Instant)>);

impl Busy {
    #[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
    fn share(&mut self) -> Option<f64> {
        let now = proc::processors()?;
        let (before, at) = self.0.replace((now, Instant::now()))?;
        let whole_ns = at.elapsed().as_nanos() as f64 * f64::from(now.cpus.max(1));
        (whole_ns > 0.0).then(|| now.busy_ns.saturating_sub(before.busy_ns) as f64 / whole_ns)
    }
}

/// Answers questions about clocks and targets.
async fn answer(
    bus: Bus,
    catalog: Catalog,
    options: RemoteOptions,
    (key, trust): (Key, Arc<Mutex<Trust>>),
    life: u64,
) {
    let name = options.options.name.clone();
    let (Ok(mut clocks), Ok(mut probes)) = (
        bus.client().subscribe(names::question(&name, "clock")).await,
        bus.client().subscribe(names::question(&name, "probe")).await,
    ) else {
        return;
    };
    loop {
        tokio::select! {
            Some(message) = clocks.next() => {
                let answer = ClockAnswer { now_ns: clock::now_ns(), unix_ns: unix_ns(), life };
                if let (Some(reply), Ok(bytes)) = (message.reply, encode(&answer)) {
                    drop(bus.client().publish(reply, bytes.into()).await);
                }
            }
            Some(message) = probes.next() => {
                let Some(reply) = message.reply else { continue };
                if trusting(&trust).keys().is_empty() {
                    look_whom_to_trust(&bus, &trust).await;
                }
                let Some(admitted) = trusting(&trust).probe(&message.payload) else { continue };
                let question = key.open(&admitted.sealed).and_then(|plain| decode::<TargetQuestion>(&plain).ok());
                let Some(question) = question else { continue };
                let (bus, options) = (bus.clone(), options.clone());
                tokio::task::spawn_blocking(move || {
                    let answer = ask_target(catalog, &options, &question);
                    if let Ok(bytes) = encode(&answer) {
                        // The runtime of this process; the thread is one of its blocking pool.
                        tokio::runtime::Handle::current()
                            .block_on(async { drop(bus.client().publish(reply, bytes.into()).await) });
                    }
                });
            }
            else => return,
        }
    }
}

fn ask_target(catalog: Catalog, options: &RemoteOptions, question: &TargetQuestion) -> TargetAnswer {
    let began = Instant::now();
    let tried = stage_from_text(&question.stage).and_then(|stage| {
        let permit = &options.options.permit;
        stage.works.iter().try_for_each(|work| try_target(&catalog, permit, &work.auth, &work.storage))
    });
    let failure = tried.err().map(|text| Failure { work: String::new(), class: FailureClass::Target, text });
    TargetAnswer { ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX), failure }
}
