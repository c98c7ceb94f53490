//! An agent on one of the store's machines (`cosmark node`): while a controller that it trusts asks for it, it reads the
//! machine's own counters once a second and sends them over NATS. Where its operator has named faults it makes those, by their
//! names, and heals them whatever happens. It opens no port, runs nothing else but `tc`, which tells of the queues of links, writes
//! nothing else but the keys that it trusts, and can be asked for nothing else; what is not asked for again ends by itself.

mod admission;
mod faults;
mod follow;
mod guard;
mod store;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::Subscriber;
use cosmark_faults::Injector;
use cosmark_metrics::nodes::reading::Reading;
use cosmark_nodes::collect::local::LocalReader;
use cosmark_nodes::collect::set_by_ns;
use cosmark_nodes::links;
use cosmark_wire::agent::{AgentPresence, AgentReading, FaultAsk, LONGEST_LOOK_S, Look, LookAnswer};
use cosmark_wire::message::{EnvelopeKind, decode, encode};
use cosmark_wire::{MESSAGE_VERSION, unix_ns};
use cosmark_workload::model::faults::AllowedFault;
use futures_util::StreamExt;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until, timeout};

use crate::driver::trust::{Admitted, SharedTrust, Trust};
use crate::driver::{DriverError, Leave, Talk};
use crate::nats::{Bus, names};

use admission::{Admission, Count};
use store::Store;

pub use faults::{OverNats, all_there};
pub use follow::{Joined, agents, everybody, joined};
pub use guard::{heal_left, injector_of};

/// Time between two readings.
pub const EVERY: Duration = Duration::from_secs(1);
/// Bytes of a reading at most: a machine with thousands of threads and disks needs less.
const MOST_BYTES: usize = 256 << 10;
/// A reading that takes longer is said once, and waited for.
const LONG_READING: Duration = Duration::from_secs(5);
/// An answer about a fault is given within this time, or it is asked again: the disk may stand still.
const ANSWERED: Duration = Duration::from_secs(5);
/// NATS takes a reading within this time, or it is left out.
const PUBLISH: Duration = Duration::from_millis(500);
/// How long it is waited for another agent of this name.
const ANYBODY: Duration = Duration::from_millis(500);

/// What an agent is.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// Its name: that of the machine in results.
    pub name: String,
    /// What the machine does for the store.
    pub role: String,
    /// Daemons whose threads and quotas are looked at one by one.
    pub daemons: Vec<String>,
    /// Directories at or below which is mounted what holds what the store stores; none = nobody is to know how full it is.
    pub filesystems: Vec<String>,
    /// Interfaces whose speed its operator knows better than the machine, and bytes per second of each direction.
    pub links: Vec<(String, f64)>,
    /// Whether the requests of the disks are followed while somebody asks.
    pub requests: bool,
    /// Directory of the administration sockets of Ceph's daemons, which may be asked for their counters; `None` = nobody is.
    pub ceph_sockets: Option<String>,
    /// Directory for the keys that it trusts.
    pub state: PathBuf,
    /// Public keys of the controllers that it obeys; none = the one that the cluster publishes when it first joins. Who makes
    /// faults has one.
    pub trust: Vec<String>,
    /// Faults that its operator lets controllers ask for.
    pub faults: Vec<AllowedFault>,
    /// The program that heals a fault when this one is killed, and its first words.
    pub guardian: Vec<OsString>,
    /// Host name.
    pub host: String,
    /// Version of Cosmark.
    pub version: String,
}

/// Answers and reads until it is asked to leave; what it has made to fail is healed then. `injector` makes that
/// ([`injector_of`]).
///
/// # Errors
/// [`DriverError`] when it cannot begin, or its connection ends for good.
pub async fn serve(
    bus: Bus,
    options: AgentOptions,
    injector: Option<Injector>,
    mut leave: watch::Receiver<Leave>,
    talk: Talk,
) -> Result<(), DriverError> {
    let agent = Arc::new(Agent::open(bus, options, injector, talk).await?);
    let subscribe = |subject: String| {
        let client = agent.bus.client().clone();
        async move { client.subscribe(subject).await }
    };
    let problem = |cause: async_nats::SubscribeError| agent.bus.problem(cause.to_string());
    let who = subscribe(names::WHO.to_owned()).await.map_err(problem)?;
    let asked = subscribe(names::agent(&agent.options.name, "look")).await.map_err(problem)?;
    let mut tasks = JoinSet::new();
    // Each by itself: a reading that takes its time holds up no fault's end, and no fault holds up a reading.
    tasks.spawn(Arc::clone(&agent).answer_who(who));
    tasks.spawn(Arc::clone(&agent).answer_looks(asked));
    tasks.spawn(Arc::clone(&agent).read_while_asked());
    // A login from before may not hear of faults, and who neither makes any nor has left any need not.
    if agent.injector.is_some() {
        let faulted = subscribe(names::agent(&agent.options.name, "fault")).await.map_err(problem)?;
        tasks.spawn(Arc::clone(&agent).answer_about_faults(faulted));
    }
    (agent.talk)(&format!(
        "{} ({}) has joined {} and waits to be asked",
        agent.options.name,
        agent.options.role,
        agent.bus.url()
    ));
    let ended = tokio::select! {
        () = until_left(&mut leave) => None,
        // None ends but with the connection, or by a bug.
        ended = tasks.join_next() => ended,
    };
    if let Some(injector) = agent.injector.clone() {
        // Its run is answered meanwhile.
        drop(tokio::task::spawn_blocking(move || injector.end()).await);
    }
    tasks.shutdown().await;
    match ended.map(|ended| ended.map_err(JoinError::try_into_panic)) {
        // As any other bug, once all is healed.
        Some(Err(Ok(bug))) => std::panic::resume_unwind(bug),
        Some(Ok(())) => Err(agent.bus.problem("the connection has ended".to_owned()).into()),
        Some(Err(Err(_))) | None => Ok(()),
    }
}

/// For ever where nobody is there to ask for it.
async fn until_left(leave: &mut watch::Receiver<Leave>) {
    if leave.wait_for(|leave| *leave != Leave::Stay).await.is_err() {
        std::future::pending().await
    }
}

struct Agent {
    bus: Bus,
    options: AgentOptions,
    trust: SharedTrust,
    life: u64,
    /// It reads until then.
    until: Mutex<Option<Instant>>,
    /// Makes the faults that its operator has named, and heals what an earlier start has left; `None` without either.
    injector: Option<Arc<Injector>>,
    talk: Talk,
}

/// What a machine is read with.
struct Looking {
    /// `None` after it failed.
    reader: Option<LocalReader>,
    store: Store,
    is_cut: bool,
    is_late: bool,
}

impl Agent {
    async fn open(
        bus: Bus,
        options: AgentOptions,
        injector: Option<Injector>,
        talk: Talk,
    ) -> Result<Self, DriverError> {
        let AgentOptions { name, role, .. } = &options;
        if !names::is_token(role) {
            return Err(DriverError::Name(format!(
                "--role {role}: up to 64 of A to Z, a to z, 0 to 9, - and _; give another one"
            )));
        }
        let directory = guard::directory_of(&options.state, name)?;
        let fail = |cause| DriverError::State { path: directory.display().to_string(), cause };
        let trust = Trust::open(&directory, name, &options.trust, Arc::clone(&talk)).map_err(fail)?;
        let others = follow::who(&bus, ANYBODY).await?;
        if let Some(other) = others.iter().find(|other| other.name == *name) {
            return Err(DriverError::Name(format!(
                "an agent called {name} is there already, on host {}; give this one another --name",
                other.host.escape_default()
            )));
        }
        let trust = SharedTrust::new(trust);
        if options.trust.is_empty() {
            trust.learn(&bus).await;
        }
        let (life, until, injector) = (draw(), Mutex::new(None), injector.map(Arc::new));
        Ok(Self { bus, options, trust, life, until, injector, talk })
    }

    fn until(&self) -> MutexGuard<'_, Option<Instant>> {
        self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says who it is.
    async fn answer_who(self: Arc<Self>, mut who: Subscriber) {
        let mut count = Count::new();
        while let Some(message) = who.next().await {
            if count.take(Instant::now()) {
                self.say_who(message.reply).await;
            }
        }
    }

    /// Says that it reads.
    async fn answer_looks(self: Arc<Self>, mut asked: Subscriber) {
        let mut admission = Admission::new(EnvelopeKind::Look);
        while let Some(message) = asked.next().await {
            self.follow(&mut admission, &message.payload, message.reply).await;
        }
    }

    /// Has what it is asked about faults done.
    async fn answer_about_faults(self: Arc<Self>, mut faulted: Subscriber) {
        let mut admission = Admission::new(EnvelopeKind::Fault);
        while let Some(message) = faulted.next().await {
            self.about_fault(&mut admission, &message.payload, message.reply).await;
        }
    }

    /// Reads once a second while somebody asks.
    async fn read_while_asked(self: Arc<Self>) {
        let (reader, store) = (Some(self.reader()), Store::new(self.options.ceph_sockets.as_deref()));
        let mut looking = Looking { reader, store, is_cut: false, is_late: false };
        let mut tick = interval(EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            self.read_if_asked(&mut looking).await;
        }
    }

    fn reader(&self) -> LocalReader {
        let reader = LocalReader::new(self.options.daemons.clone());
        reader.with_filesystems(self.options.filesystems.clone())
    }

    /// A request of this kind that is to be followed.
    async fn admit(&self, admission: &mut Admission, payload: &[u8]) -> Option<Admitted> {
        let now = Instant::now();
        if self.trust.get().keys().is_empty() && admission.may_learn(now) {
            drop(timeout(PUBLISH, self.trust.learn(&self.bus)).await);
        }
        admission.admit(&self.trust, payload, now)
    }

    async fn say_who(&self, reply: Option<async_nats::Subject>) {
        let Some(reply) = reply else { return };
        let AgentOptions { name, role, host, version, .. } = self.options.clone();
        let injector = self.injector.clone();
        // Who asks for a fault has it written down, and the disk of a store that is under load takes its time for that.
        let presence = tokio::task::spawn_blocking(move || faults::presence(injector.as_deref()));
        let Ok(Ok((faults, held))) = timeout(ANSWERED, presence).await else { return };
        let presence = AgentPresence {
            name,
            role,
            host,
            version,
            message_version: MESSAGE_VERSION,
            life: self.life,
            trusts: self.trust.get().keys(),
            faults,
            held,
        };
        if let Ok(bytes) = encode(&presence) {
            self.publish(reply.into_string(), bytes).await;
        }
    }

    async fn follow(&self, admission: &mut Admission, payload: &[u8], reply: Option<async_nats::Subject>) {
        let Some(admitted) = self.admit(admission, payload).await else { return };
        let Ok(look) = decode::<Look>(&admitted.sealed) else { return };
        let seconds = look.for_s.min(LONGEST_LOOK_S);
        let until = Instant::now() + Duration::from_secs(u64::from(seconds));
        let before = {
            let mut reads = self.until();
            let before = *reads;
            *reads = Some(before.map_or(until, |before| before.max(until)));
            before
        };
        if before.is_none() {
            let run: String = look.run.chars().filter(char::is_ascii_graphic).take(80).collect();
            (self.talk)(&format!("reads this machine once a second for run {run}"));
        }
        if let (Some(reply), Ok(bytes)) = (reply, encode(&LookAnswer { unix_ns: unix_ns(), life: self.life }))
        {
            self.publish(reply.into_string(), bytes).await;
        }
    }

    async fn about_fault(
        &self,
        admission: &mut Admission,
        payload: &[u8],
        reply: Option<async_nats::Subject>,
    ) {
        let Some(admitted) = self.admit(admission, payload).await else { return };
        let (Some(injector), Ok(ask)) = (self.injector.clone(), decode::<FaultAsk>(&admitted.sealed)) else {
            return;
        };
        // It looks at files, and writes some.
        let answering = tokio::task::spawn_blocking(move || faults::answer(&injector, ask));
        let Ok(Ok(answer)) = timeout(ANSWERED, answering).await else { return };
        if let (Some(reply), Ok(bytes)) = (reply, encode(&answer)) {
            self.publish(reply.into_string(), bytes).await;
        }
    }

    /// Whether somebody asks for readings now; says when nobody does any more.
    fn is_asked(&self, looking: &mut Looking) -> bool {
        let mut reads = self.until();
        let Some(until) = *reads else { return false };
        if until > Instant::now() {
            return true;
        }
        *reads = None;
        drop(reads);
        looking.store.forget();
        if let Some(reader) = &mut looking.reader {
            reader.leave_requests();
        }
        (self.talk)("nobody asks any more; it waits");
        false
    }

    async fn read_if_asked(&self, looking: &mut Looking) {
        if !self.is_asked(looking) {
            return;
        }
        let mut reader = looking.reader.take().unwrap_or_else(|| self.reader());
        looking.store.ask();
        let requests = self.options.requests;
        // The files of hundreds of threads take milliseconds.
        let mut read = tokio::task::spawn_blocking(move || {
            if requests {
                reader.follow_requests();
            }
            let reading = reader.read();
            (reader, reading)
        });
        let read = match timeout(LONG_READING, &mut read).await {
            Ok(read) => read,
            Err(_) => {
                if !std::mem::replace(&mut looking.is_late, true) {
                    (self.talk)(&format!(
                        "reading this machine takes more than {} s; faults and questions do not wait for it",
                        LONG_READING.as_secs()
                    ));
                }
                read.await
            }
        };
        let Ok((reader, mut reading)) = read else { return };
        links::declare(&mut reading, &self.options.links);
        // Threads and groups come last, and are left out where there is no room.
        let mut samples = looking.store.answer().await;
        samples.append(&mut reading.samples);
        reading.samples = samples;
        let missing: Vec<String> = reader.missing().into_iter().chain(looking.store.missing()).collect();
        let missing = (!missing.is_empty()).then(|| missing.join("; "));
        looking.reader = Some(reader);
        let most_bytes = self.bus.most_bytes().min(MOST_BYTES);
        let Some((bytes, left_out)) = written(&reading, missing, self.life, most_bytes) else { return };
        if left_out > 0 && !std::mem::replace(&mut looking.is_cut, true) {
            (self.talk)(&format!(
                "{left_out} numbers of this machine have no room in a message and are left out; name fewer --daemons"
            ));
        }
        self.publish(names::agent(&self.options.name, "reading"), bytes).await;
    }

    /// What NATS does not take now is left out: it would be old.
    async fn publish(&self, subject: String, bytes: Vec<u8>) {
        if self.bus.is_connected() {
            drop(timeout(PUBLISH, self.bus.client().publish(subject, bytes.into())).await);
        }
    }
}

/// A reading as a message of so many bytes at most, and how many of its numbers had no room.
fn written(
    reading: &Reading,
    missing: Option<String>,
    life: u64,
    most_bytes: usize,
) -> Option<(Vec<u8>, u64)> {
    let all = reading.samples.iter().map(|one| (one.quantity.id.to_owned(), one.unit.clone(), one.value));
    let mut message = AgentReading {
        life,
        // By the clock that its controller asks for.
        unix_ns: i64::try_from(reading.at_ns).unwrap_or(i64::MAX).saturating_add(set_by_ns()),
        samples: all.collect(),
        left_out: 0,
        missing,
    };
    loop {
        let bytes = encode(&message).ok()?;
        let count = message.samples.len();
        if bytes.len() <= most_bytes {
            return Some((bytes, message.left_out));
        }
        // Threads and groups come last.
        let keep = count.checked_mul(most_bytes)? / bytes.len();
        let keep = keep.min(count.checked_sub(1)?);
        message.samples.truncate(keep);
        message.left_out = (reading.samples.len() - keep) as u64;
    }
}

/// A number that no other start of an agent has.
fn draw() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

/// Waits until this moment; `None` waits for ever.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use cosmark_metrics::nodes::quantity;

    use super::*;

    #[tokio::test]
    async fn an_agent_stays_until_it_is_asked_to_leave_also_where_nobody_can_ask() {
        let (level, mut leave) = watch::channel(Leave::Stay);
        level.send_replace(Leave::Politely);
        timeout(Duration::from_secs(20), until_left(&mut leave)).await.unwrap();
        level.send_replace(Leave::Stay);
        drop(level);
        assert!(timeout(Duration::from_millis(50), until_left(&mut leave)).await.is_err());
    }

    #[test]
    fn a_reading_that_is_too_large_keeps_what_comes_first_and_says_how_much_is_missing() {
        let mut reading = Reading { at_ns: 7, samples: Vec::new() };
        (0..3000).for_each(|at| reading.add(&quantity::THREAD_BUSY, &format!("osd/{at}"), f64::from(at)));
        let (bytes, left_out) = written(&reading, Some("tc".to_owned()), 1, 20_000).unwrap();
        let back: AgentReading = decode(&bytes).unwrap();
        assert!(bytes.len() <= 20_000 && left_out > 0, "{} {left_out}", bytes.len());
        assert_eq!((back.samples.len() as u64 + left_out, back.left_out), (3000, left_out));
        assert_eq!(back.missing.as_deref(), Some("tc"));
        assert_eq!(back.samples[0], ("thread_busy_s".to_owned(), "osd/0".to_owned(), 0.0));
        let (whole, nothing) = written(&reading, None, 1, 1 << 20).unwrap();
        assert_eq!((decode::<AgentReading>(&whole).unwrap().samples.len(), nothing), (3000, 0));
        assert_eq!(written(&reading, None, 1, 3), None, "there is no room for anything");
    }
}
