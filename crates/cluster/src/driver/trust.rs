//! The controllers whose orders this driver follows: those whose keys were given (`--trust`), or the one whose key the
//! cluster published when the driver first joined. A message that none of them signed, or that was signed for another
//! driver or for a run that is over, is counted and has no other effect.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cosmark_wire::message::{Envelope, EnvelopeKind};
use cosmark_wire::unix_ns;
use tokio::sync::watch;
use tokio::time::Instant;

use super::{Leave, Talk};
use crate::nats::private_file::write_whole;
use crate::nats::{Bus, Unsigned, claimed, open_signed};

/// Keys of controllers, one a line.
const FILE: &str = "trusted";
/// What is said of forged orders is said this often at most.
const TALK_EVERY: Duration = Duration::from_secs(60);
/// The key that the cluster publishes is asked for again this often while NATS is away.
const ASK_EVERY: Duration = Duration::from_millis(100);
/// Older orders are not followed: the stream of runs keeps none that long.
const OLDEST_NS: i64 = 30 * 24 * 3600 * 1_000_000_000;
/// A request to an agent that is further from its clock than this is not followed.
const FURTHEST_LOOK_NS: u64 = 3600 * 1_000_000_000;
/// Runs and questions that are remembered one by one. Of those before them the newest moment is.
const REMEMBERED: usize = 1024;

/// Whom a driver obeys, and what it will not hear again.
pub struct Trust {
    driver: String,
    file: PathBuf,
    keys: Vec<String>,
    /// Another key that the cluster was seen to publish.
    other: Option<String>,
    over: Ledger,
    asked: Ledger,
    /// The newest request to read the machine, or about a fault of it, by key and who asks.
    looks: HashMap<(String, String), i64>,
    forged: u64,
    untold: u64,
    reported: Option<Instant>,
    talk: Talk,
}

/// What was let in.
#[derive(Debug, PartialEq, Eq)]
pub struct Admitted {
    /// What it is about.
    pub envelope: Envelope,
    /// Who signed it.
    pub key: String,
    /// What is sealed in it.
    pub sealed: Vec<u8>,
}

impl Trust {
    /// The trust of a driver with this state directory. `given` are the keys that its start named; they are all that count then.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn open(directory: &Path, driver: &str, given: &[String], talk: Talk) -> io::Result<Self> {
        let file = directory.join(FILE);
        let keys = match fs::read_to_string(&file) {
            _ if !given.is_empty() => given.to_vec(),
            Ok(text) => {
                text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
            }
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(cause) => return Err(cause),
        };
        Ok(Self {
            driver: driver.to_owned(),
            file,
            keys,
            other: None,
            over: Ledger::open(directory.join("over"))?,
            asked: Ledger::open(directory.join("asked"))?,
            looks: HashMap::new(),
            forged: 0,
            untold: 0,
            reported: None,
            talk,
        })
    }

    /// The keys.
    pub fn keys(&self) -> Vec<String> {
        self.keys.clone()
    }

    /// How much came that nobody whom it trusts had signed.
    pub fn forged(&self) -> u64 {
        self.forged
    }

    /// Takes note of the key that the cluster publishes: the first one is trusted, if none was given; another one later is not.
    pub fn note_published(&mut self, key: &str) {
        if self.keys.iter().any(|known| known == key) || self.other.as_deref() == Some(key) {
            return;
        }
        if !self.keys.is_empty() {
            self.other = Some(key.to_owned());
            return (self.talk)(&format!(
                "the controllers of this NATS have the key {key}, and driver {} obeys {} alone: if that is meant, start it with \
                 `--trust {key}`",
                self.driver,
                self.keys.join(", ")
            ));
        }
        if let Err(cause) = write_whole(&self.file, &format!("{key}\n")) {
            return (self.talk)(&format!("{} cannot be written: {cause}", self.file.display()));
        }
        (self.talk)(&format!(
            "{} obeys the controller with the key {key} from now on: it was the first to be there; `--trust {key}` says so \
             for certain",
            self.driver
        ));
        self.keys.push(key.to_owned());
    }

    /// An order, if it is to be followed.
    pub fn order(&mut self, run: &str, payload: &[u8]) -> Option<Admitted> {
        let admitted = self.open_message(payload, EnvelopeKind::Order, run)?;
        // One that is over came in its time; hearing of it again is no forgery.
        (!self.over.holds(&admitted.key, run, admitted.envelope.issued_ns)).then_some(admitted)
    }

    /// A question, if it is to be answered: each one once.
    pub fn probe(&mut self, payload: &[u8]) -> Option<Admitted> {
        let admitted = self.open_message(payload, EnvelopeKind::Probe, "")?;
        let Envelope { id, issued_ns, .. } = &admitted.envelope;
        if self.asked.holds(&admitted.key, id, *issued_ns) {
            self.count("it came a second time");
            return None;
        }
        if let Err(cause) = self.asked.enter(&admitted.key, id, *issued_ns) {
            (self.talk)(&format!("the state directory cannot be written: {cause}"));
            return None;
        }
        Some(admitted)
    }

    /// A request to read the machine, if it is to be followed: each one once, and none that is older than another of who asks. What
    /// was asked before a restart may come again: it lasts 15 seconds.
    pub fn look(&mut self, payload: &[u8]) -> Option<Admitted> {
        self.newest(payload, EnvelopeKind::Look)
    }

    /// A request about a fault of the machine, if it is to be followed: by the same rule. What was asked before a
    /// restart may come again, too, and means nothing to an agent that gave no ticket for it.
    pub fn fault(&mut self, payload: &[u8]) -> Option<Admitted> {
        self.newest(payload, EnvelopeKind::Fault)
    }

    /// Whether a request of this kind to an agent may be one that is followed, before its signature is looked at, which
    /// costs more than all else.
    pub fn may_be_followed(&self, payload: &[u8], kind: EnvelopeKind) -> bool {
        self.ruled_out(payload, kind).is_ok()
    }

    /// Counts a request of this kind that is not followed, and says why.
    pub fn say_of(&mut self, payload: &[u8], kind: EnvelopeKind) {
        match self.ruled_out(payload, kind) {
            Err(Some(why)) => self.count(why),
            // Nobody whom it trusts, says the message itself.
            Err(None) => drop(self.open_message(payload, kind, "")),
            Ok(()) => self.count("it is too large"),
        }
    }

    /// Why a request is not followed, by what it says of itself; `None` where it does not even say that somebody has signed
    /// it who is trusted.
    fn ruled_out(&self, payload: &[u8], kind: EnvelopeKind) -> Result<(), Option<&'static str>> {
        let Some((key, envelope)) = claimed(payload) else { return Err(None) };
        if !self.keys.iter().any(|known| known == key) {
            return Err(None);
        }
        let Envelope { id, issued_ns, .. } = &envelope;
        if envelope.kind != kind || envelope.driver != self.driver {
            return Err(Some("it is something else, or for another one"));
        }
        if unix_ns().abs_diff(*issued_ns) > FURTHEST_LOOK_NS {
            return Err(Some(
                "it was signed at another time; if it was not, set the clocks of this machine and the controller's",
            ));
        }
        let who = (key.to_owned(), format!("{kind:?} {id}"));
        match self.looks.get(&who) {
            Some(newest_ns) if issued_ns <= newest_ns => Err(Some("it came a second time")),
            _ => Ok(()),
        }
    }

    fn newest(&mut self, payload: &[u8], kind: EnvelopeKind) -> Option<Admitted> {
        if let Err(Some(why)) = self.ruled_out(payload, kind) {
            self.count(why);
            return None;
        }
        let admitted = self.open_message(payload, kind, "")?;
        let Envelope { id, issued_ns, .. } = &admitted.envelope;
        let who = (admitted.key.clone(), format!("{kind:?} {id}"));
        if self.looks.len() >= REMEMBERED {
            let now_ns = unix_ns();
            self.looks.retain(|_, at_ns| now_ns.saturating_sub(*at_ns) < FURTHEST_LOOK_NS.cast_signed());
        }
        if self.looks.len() < REMEMBERED {
            self.looks.insert(who, *issued_ns);
            return Some(admitted);
        }
        self.count("too many runs ask at once");
        None
    }

    /// The run is over by this word: nothing that was said of it until then counts again.
    pub fn end_run(&mut self, run: &str, admitted: &Admitted) {
        if let Err(cause) = self.over.enter(&admitted.key, run, admitted.envelope.issued_ns) {
            (self.talk)(&format!("the state directory cannot be written: {cause}"));
        }
    }

    fn open_message(&mut self, payload: &[u8], kind: EnvelopeKind, run: &str) -> Option<Admitted> {
        let opened = open_signed(payload, |key| self.keys.iter().any(|known| known == key));
        let signed = match opened {
            Ok(signed) => signed,
            Err(why) => {
                match why {
                    Unsigned::Unreadable => self.count("it is not signed"),
                    Unsigned::Untrusted(key) => self.count(&format!(
                        "it is signed by {key}, which this driver does not trust; if that is a controller of yours, start the \
                         driver with `--trust {key}`"
                    )),
                    Unsigned::Forged(key) => self.count(&format!("its signature is not that of {key}")),
                }
                return None;
            }
        };
        let envelope = &signed.envelope;
        let why = if envelope.kind != kind {
            "it is something else"
        } else if envelope.driver != self.driver {
            "it is for another driver"
        } else if envelope.run != run {
            "it is of another run"
        } else if unix_ns().saturating_sub(envelope.issued_ns) > OLDEST_NS {
            "it is more than 30 days old; if it is not, set the clocks"
        } else {
            return Some(Admitted { envelope: signed.envelope, key: signed.key, sealed: signed.sealed });
        };
        self.count(why);
        None
    }

    fn count(&mut self, why: &str) {
        self.forged += 1;
        self.untold += 1;
        if self.reported.is_none_or(|at| at.elapsed() > TALK_EVERY) {
            let count = std::mem::take(&mut self.untold);
            self.reported = Some(Instant::now());
            let what = if count == 1 {
                "an order or question is".to_owned()
            } else {
                format!("{count} orders or questions are")
            };
            (self.talk)(&format!("{what} not followed: {why}"));
        }
    }
}

/// The trust of a driver, which more than one task looks at. Clones share it.
#[derive(Clone)]
pub struct SharedTrust(Arc<Mutex<Trust>>);

impl SharedTrust {
    /// Shares it.
    pub fn new(trust: Trust) -> Self {
        Self(Arc::new(Mutex::new(trust)))
    }

    /// For a look or a change.
    pub fn get(&self) -> MutexGuard<'_, Trust> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learns the key that the cluster publishes.
    pub async fn learn(&self, bus: &Bus) {
        if let Some(key) = bus.published_key().await.ok().flatten() {
            self.get().note_published(&key);
        }
    }

    /// The same before an order is judged, however long NATS is away: one that is refused is not read again.
    pub async fn learn_at_last(&self, bus: &Bus, leave: &watch::Receiver<Leave>) {
        while *leave.borrow() == Leave::Stay {
            match bus.published_key().await {
                Ok(Some(key)) => return self.get().note_published(&key),
                Ok(None) => return,
                Err(_) => tokio::time::sleep(ASK_EVERY).await,
            }
        }
    }
}

/// What will not be heard again: by key and name, the moment up to which. The oldest entries are forgotten one by one, and all
/// that was signed up to then by any key counts as heard.
struct Ledger {
    path: PathBuf,
    floor_ns: i64,
    entries: VecDeque<(String, String, i64)>,
}

impl Ledger {
    fn open(path: PathBuf) -> io::Result<Self> {
        let text = match fs::read_to_string(&path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => String::new(),
            other => other?,
        };
        let mut lines = text.lines();
        let floor_ns = lines.next().and_then(|line| line.parse().ok()).unwrap_or(i64::MIN);
        let entry = |line: &str| {
            let mut words = line.split(' ');
            Some((words.next()?.to_owned(), words.next()?.to_owned(), words.next()?.parse().ok()?))
        };
        Ok(Self { path, floor_ns, entries: lines.filter_map(entry).collect() })
    }

    fn holds(&self, key: &str, name: &str, issued_ns: i64) -> bool {
        let same = |entry: &&(String, String, i64)| entry.0 == key && entry.1 == name;
        issued_ns <= self.floor_ns
            || self.entries.iter().find(same).is_some_and(|(.., until)| issued_ns <= *until)
    }

    fn enter(&mut self, key: &str, name: &str, issued_ns: i64) -> io::Result<()> {
        self.entries.retain(|(by, what, _)| by != key || what != name);
        self.entries.push_back((key.to_owned(), name.to_owned(), issued_ns));
        if self.entries.len() > REMEMBERED
            && let Some((.., oldest_ns)) = self.entries.pop_front()
        {
            self.floor_ns = self.floor_ns.max(oldest_ns);
        }
        let mut text = format!("{}\n", self.floor_ns);
        for (by, what, until) in &self.entries {
            text.push_str(&format!("{by} {what} {until}\n"));
        }
        write_whole(&self.path, &text)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use crate::nats::Identity;
    use cosmark_wire::MESSAGE_VERSION;

    use super::*;

    fn identity(secret: &[u8]) -> Identity {
        Identity::derive(secret, "controller").unwrap()
    }

    fn signed(by: &Identity, change: impl FnOnce(&mut Envelope)) -> Vec<u8> {
        let mut envelope = Envelope {
            version: MESSAGE_VERSION,
            kind: EnvelopeKind::Order,
            driver: "d1".into(),
            run: "w1".into(),
            id: "0/stage".into(),
            step: Some(0),
            issued_ns: unix_ns(),
        };
        change(&mut envelope);
        by.sign(&envelope, b"sealed").unwrap()
    }

    fn silent() -> Talk {
        Arc::new(|_: &str| {})
    }

    #[test]
    fn an_order_counts_for_its_driver_its_run_and_its_time_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (me, stranger) = (identity(b"me"), identity(b"stranger"));
        let given = vec![me.public().to_owned()];
        let mut trust = Trust::open(directory.path(), "d1", &given, silent()).unwrap();
        assert!(trust.order("w1", &signed(&me, |_| ())).is_some());
        let mut lies: Vec<(&str, Vec<u8>)> = vec![
            ("a stranger's", signed(&stranger, |_| ())),
            ("another driver's", signed(&me, |envelope| envelope.driver = "d2".into())),
            ("another run's", signed(&me, |envelope| envelope.run = "w2".into())),
            ("a question", signed(&me, |envelope| envelope.kind = EnvelopeKind::Probe)),
            ("very old", signed(&me, |envelope| envelope.issued_ns -= OLDEST_NS + 1_000_000_000)),
            ("nothing", Vec::new()),
            ("noise", vec![7; 500]),
        ];
        let mut stolen = signed(&stranger, |_| ());
        stolen[..56].copy_from_slice(me.public().as_bytes());
        lies.push(("a stranger's under my name", stolen));
        for (count, (what, lie)) in (1..).zip(&lies) {
            assert_eq!(trust.order("w1", lie), None, "{what}");
            assert_eq!(trust.forged(), count, "{what}");
        }
    }

    #[test]
    fn what_was_said_until_the_end_of_a_run_does_not_count_again_also_after_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let me = identity(b"me");
        let given = vec![me.public().to_owned()];
        let mut trust = Trust::open(directory.path(), "d1", &given, silent()).unwrap();
        let stage = signed(&me, |envelope| envelope.issued_ns -= 5);
        let forget = trust.order("w1", &signed(&me, |_| ())).unwrap();
        assert!(trust.order("w1", &stage).is_some());
        trust.end_run("w1", &forget);
        for _ in 0..2 {
            assert_eq!(trust.order("w1", &stage), None);
            assert_eq!(trust.forged(), 0, "an old word is no forgery");
            trust = Trust::open(directory.path(), "d1", &given, silent()).unwrap();
        }
        // A cluster whose NATS was wiped may count from the beginning again.
        assert!(trust.order("w1", &signed(&me, |envelope| envelope.issued_ns += 1_000_000_000)).is_some());
        for number in 0..2 * REMEMBERED {
            let run = format!("x{number}");
            let word = signed(&me, |envelope| envelope.run = run.clone());
            let word = trust.order(&run, &word).unwrap();
            trust.end_run(&run, &word);
        }
        assert_eq!(trust.order("w1", &stage), None, "forgotten one by one, and still over");
        assert_eq!(trust.over.entries.len(), REMEMBERED);
    }

    #[test]
    fn a_question_is_answered_once() {
        let directory = tempfile::tempdir().unwrap();
        let me = identity(b"me");
        let given = vec![me.public().to_owned()];
        let question = signed(&me, |envelope| {
            (envelope.kind, envelope.run, envelope.id) = (EnvelopeKind::Probe, String::new(), "7".into());
        });
        let mut trust = Trust::open(directory.path(), "d1", &given, silent()).unwrap();
        assert!(trust.probe(&question).is_some());
        assert_eq!(trust.probe(&question), None);
        let mut again = Trust::open(directory.path(), "d1", &given, silent()).unwrap();
        assert_eq!(again.probe(&question), None, "nor after a restart");
    }

    #[test]
    fn a_request_to_read_counts_once_and_near_its_time() {
        let directory = tempfile::tempdir().unwrap();
        let (me, stranger) = (identity(b"me"), identity(b"stranger"));
        let mut trust = Trust::open(directory.path(), "d1", &[me.public().to_owned()], silent()).unwrap();
        let look = |by: &Identity, change: fn(&mut Envelope)| {
            signed(by, |envelope| {
                (envelope.kind, envelope.run, envelope.id) = (EnvelopeKind::Look, String::new(), "w1".into());
                change(envelope);
            })
        };
        let first = look(&me, |envelope| envelope.issued_ns -= 5_000_000_000);
        assert!(trust.look(&first).is_some());
        assert!(trust.look(&look(&me, |_| ())).is_some());
        let hour = |envelope: &mut Envelope| envelope.issued_ns -= 2 * 3600 * 1_000_000_000;
        let lies = [
            first,
            look(&stranger, |_| ()),
            look(&me, |envelope| envelope.driver = "d2".into()),
            look(&me, |envelope| envelope.kind = EnvelopeKind::Probe),
            look(&me, hour),
            vec![0; 300],
        ];
        for (count, lie) in (1..).zip(&lies) {
            assert_eq!(trust.look(lie), None, "{count}");
            assert_eq!(trust.forged(), count);
        }
        assert!(trust.order("", &look(&me, |_| ())).is_none(), "it is no order");
        // What is signed for one purpose counts for no other one.
        assert!(trust.fault(&look(&me, |_| ())).is_none(), "it is about no fault");
        let fault = look(&me, |envelope| envelope.kind = EnvelopeKind::Fault);
        assert!(trust.look(&fault).is_none(), "it asks to read nothing");
        assert!(trust.fault(&fault).is_some());
        assert_eq!(trust.fault(&fault), None, "a second time");
    }

    #[test]
    fn the_first_key_is_kept_and_another_one_is_refused_with_the_remedy() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = (identity(b"1"), identity(b"2"));
        let said = Arc::new(std::sync::Mutex::new(Vec::new()));
        let hear = Arc::clone(&said);
        let talk: Talk = Arc::new(move |text: &str| hear.lock().unwrap().push(text.to_owned()));
        let mut trust = Trust::open(directory.path(), "d1", &[], Arc::clone(&talk)).unwrap();
        assert_eq!(
            trust.order("w1", &signed(&first, |_| ())),
            None,
            "nobody is trusted before it is published"
        );
        trust.note_published(first.public());
        assert!(trust.order("w1", &signed(&first, |_| ())).is_some());
        let mut trust = Trust::open(directory.path(), "d1", &[], Arc::clone(&talk)).unwrap();
        trust.note_published(second.public());
        trust.note_published(second.public());
        assert_eq!(trust.order("w1", &signed(&second, |_| ())), None);
        assert_eq!(trust.keys(), [first.public()]);
        let remedy = format!("`--trust {}`", second.public());
        let about: Vec<String> =
            said.lock().unwrap().iter().filter(|text| text.contains(&remedy)).cloned().collect();
        assert_eq!(about.len(), 2, "once when it is published, once when it orders: {about:?}");
        let mut trust = Trust::open(directory.path(), "d1", &[second.public().into()], talk).unwrap();
        assert!(trust.order("w1", &signed(&second, |_| ())).is_some());
        assert_eq!(trust.order("w1", &signed(&first, |_| ())), None, "what is given is all that counts");
    }

    #[test]
    fn thousands_of_forged_orders_cost_a_count_and_one_line() {
        let directory = tempfile::tempdir().unwrap();
        let (me, stranger) = (identity(b"me"), identity(b"stranger"));
        let lines = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&lines);
        let talk: Talk = Arc::new(move |_: &str| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        let mut trust = Trust::open(directory.path(), "d1", &[me.public().into()], talk).unwrap();
        let forged = signed(&stranger, |_| ());
        for _ in 0..5000 {
            assert_eq!(trust.order("w1", &forged), None);
        }
        assert_eq!((trust.forged(), lines.load(Ordering::Relaxed)), (5000, 1));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
