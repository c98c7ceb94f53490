//! The drivers that have registered lately.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::jetstream::kv::Operation;
use cosmark_wire::message::{Registration, decode, encode};
use futures_util::StreamExt;
use tokio::time::Instant;

use crate::nats::connect::Bus;
use crate::nats::error::BusError;
use crate::nats::keys::ASKED_AT_ONCE;
use crate::nats::names::{DRIVERS, is_token};

const PAUSE: Duration = Duration::from_millis(500);
const SILENCE: Duration = Duration::from_secs(12);
/// Drivers that are known at a time, and the bytes of what one says of itself and all do: where names are free to
/// choose, new ones may come without end. Some hundred bytes are usual, and a controller of 10 000 drivers has room for
/// ten times as many.
const MOST_DRIVERS: usize = 100_000;
const MOST_BYTES: usize = 128 << 10;
const MOST_BYTES_OF_ALL: usize = 256 << 20;
/// Runs that a driver works on at a time, and stores of each; a store is a host and a port.
const MOST_DOING: usize = 256;
const MOST_STORES: usize = 1024;
const LONGEST_STORE: usize = 300;

/// A driver and when it was heard of.
#[derive(Debug, Clone)]
pub struct Present {
    /// What it said about itself.
    pub registration: Registration,
    /// When, on this machine's monotonic clock.
    pub heard: Instant,
}

/// Who is known, within bounds.
#[derive(Debug, Default)]
struct Known {
    drivers: BTreeMap<String, Entry>,
    /// Who was heard of when: the longest silent one is first, without a search among all of them.
    by_age: BTreeSet<(Instant, String)>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    present: Present,
    /// What it said, as it came.
    bytes: usize,
}

/// The drivers, kept up to date by a task of its own while this exists.
#[derive(Debug, Clone)]
pub struct Registry {
    known: Arc<Mutex<Known>>,
    _watching: Arc<Watching>,
}

#[derive(Debug)]
struct Watching(tokio::task::JoinHandle<()>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Bus {
    /// Registers a driver, or renews its registration.
    ///
    /// # Errors
    /// When NATS does not answer now.
    pub async fn register(&self, registration: &Registration) -> Result<(), BusError> {
        let bytes = encode(registration).map_err(|cause| self.problem(cause.to_string()))?;
        if self.put(registration, bytes.clone()).await.is_ok() {
            return Ok(());
        }
        // A server that lost its data has lost the buckets, too.
        self.ensure().await?;
        self.put(registration, bytes).await
    }

    async fn put(&self, registration: &Registration, bytes: Vec<u8>) -> Result<(), BusError> {
        let put = self.drivers().await?.put(&registration.name, bytes.into()).await;
        put.map(drop).map_err(|cause| self.problem(format!("the driver cannot be registered: {cause}")))
    }

    /// Takes a registration back.
    ///
    /// # Errors
    /// When NATS does not answer now.
    pub async fn deregister(&self, name: &str) -> Result<(), BusError> {
        let bucket = self.drivers().await?;
        bucket.delete(name).await.map_err(|cause| self.problem(format!("cannot deregister: {cause}")))
    }

    /// The driver that is registered under this name.
    ///
    /// # Errors
    /// When NATS does not answer now.
    pub async fn registered(&self, name: &str) -> Result<Option<Registration>, BusError> {
        Ok(self.registered_in(name).await?.map(|(registration, _)| registration))
    }

    /// The same, and in how many bytes it said that.
    async fn registered_in(&self, name: &str) -> Result<Option<(Registration, usize)>, BusError> {
        let bucket = self.drivers().await?;
        let value = bucket.get(name).await.map_err(|cause| self.problem(cause.to_string()))?;
        Ok(value.and_then(|bytes| Some((read(name, &bytes)?, bytes.len()))))
    }

    /// Watches who is there. Gives what is known at once; the rest follows.
    ///
    /// # Errors
    /// When NATS does not answer now.
    pub async fn registry(&self) -> Result<Registry, BusError> {
        let known: Arc<Mutex<Known>> = Arc::default();
        let bucket = self.bucket(DRIVERS).await?;
        let names = self.named(&bucket).await?;
        let asked = futures_util::stream::iter(&names).map(|name| self.registered_in(name));
        let mut answers = asked.buffer_unordered(ASKED_AT_ONCE);
        while let Some(answer) = answers.next().await {
            if let Some((registration, bytes)) = answer? {
                enter(&known, registration, bytes);
            }
        }
        drop(answers);
        let task = tokio::spawn(watch(self.clone(), Arc::clone(&known)));
        Ok(Registry { known, _watching: Arc::new(Watching(task)) })
    }
}

/// What stands under a key. The login of a driver may write its own key alone, and says with it nothing of another.
/// What it says that it does gets into the records of the runs beside it: numbers that are none would make them
/// unreadable.
fn read(key: &str, bytes: &[u8]) -> Option<Registration> {
    if bytes.len() > MOST_BYTES {
        return None;
    }
    let mut registration =
        decode::<Registration>(bytes).ok().filter(|registration| registration.name == key)?;
    let Registration { ceiling_ops_per_s, load, doing, .. } = &mut registration;
    for number in [ceiling_ops_per_s, load] {
        *number = number.filter(|number| number.is_finite());
    }
    doing.retain(|one| one.requests_per_s.is_finite() && is_token(&one.run));
    doing.truncate(MOST_DOING);
    for one in doing {
        one.stores.retain(|store| store.len() <= LONGEST_STORE);
        one.stores.truncate(MOST_STORES);
    }
    Some(registration)
}

impl Known {
    /// A driver that there is no room for is not entered.
    fn enter(&mut self, registration: Registration, bytes: usize) {
        let name = registration.name.clone();
        while !self.has_room(&name, bytes) {
            // Whoever has been silent for longest makes room, if it is gone.
            let silent = self.by_age.first().filter(|(heard, _)| heard.elapsed() > SILENCE);
            let Some(silent) = silent.map(|(_, name)| name.clone()) else { return };
            self.remove(&silent);
        }
        self.remove(&name);
        let heard = Instant::now();
        self.by_age.insert((heard, name.clone()));
        self.bytes += bytes;
        self.drivers.insert(name, Entry { present: Present { registration, heard }, bytes });
    }

    /// Whether a driver may say so much, in place of what it said before.
    fn has_room(&self, name: &str, bytes: usize) -> bool {
        let before = self.drivers.get(name);
        let others = self.bytes - before.map_or(0, |entry| entry.bytes);
        (before.is_some() || self.drivers.len() < MOST_DRIVERS) && others + bytes <= MOST_BYTES_OF_ALL
    }

    fn remove(&mut self, name: &str) {
        if let Some((name, entry)) = self.drivers.remove_entry(name) {
            self.bytes -= entry.bytes;
            self.by_age.remove(&(entry.present.heard, name));
        }
    }
}

fn enter(known: &Mutex<Known>, registration: Registration, bytes: usize) {
    known.lock().unwrap_or_else(PoisonError::into_inner).enter(registration, bytes);
}

async fn watch(bus: Bus, known: Arc<Mutex<Known>>) {
    loop {
        let Ok(bucket) = bus.bucket(DRIVERS).await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let Ok(mut changes) = bucket.watch_with_history(">").await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Drivers renew theirs every 2 s: a longer silence is nobody, or a watch that a restarted server has forgotten.
        while let Ok(Some(Ok(entry))) = tokio::time::timeout(SILENCE, changes.next()).await {
            match entry.operation {
                Operation::Put => {
                    if let Some(registration) = read(&entry.key, &entry.value) {
                        enter(&known, registration, entry.value.len());
                    }
                }
                Operation::Delete | Operation::Purge => {
                    known.lock().unwrap_or_else(PoisonError::into_inner).remove(&entry.key);
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

impl Registry {
    /// All drivers that were ever heard of while this watched, by name, with their age.
    #[must_use]
    pub fn all(&self) -> Vec<Present> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.drivers.values().map(|entry| entry.present.clone()).collect()
    }

    /// One of them.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Present> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.drivers.get(name).map(|entry| entry.present.clone())
    }
}

#[cfg(test)]
mod tests {
    use cosmark_wire::MESSAGE_VERSION;
    use cosmark_wire::lease::Standing;
    use cosmark_wire::message::Doing;

    use super::*;
    use crate::nats::Limits;
    use crate::nats::server::{LocalServer, ServerOptions};

    fn driver(name: &str, host: &str) -> Registration {
        Registration {
            name: name.to_owned(),
            message_version: MESSAGE_VERSION,
            version: "0".to_owned(),
            labels: Vec::new(),
            host: host.to_owned(),
            cores: 1,
            memory_bytes: 1,
            nics: Vec::new(),
            adaptors: Vec::new(),
            reaches: None,
            ceiling_ops_per_s: None,
            public_key: [7; 32],
            life: 1,
            runs: Vec::new(),
            load: None,
            waiting: 0,
            trouble: None,
            doing: Vec::new(),
            trusts: Vec::new(),
            forged: 0,
            identity: String::new(),
            proof: Vec::new(),
        }
    }

    #[test]
    fn what_a_driver_says_that_it_does_are_numbers_names_and_not_too_many() {
        let doing = |run: &str, requests_per_s: f64| Doing {
            run: run.to_owned(),
            requests_per_s,
            standing: Standing::FIRST,
            lease_age_ms: None,
            stores: vec!["h:1".to_owned(), "x".repeat(LONGEST_STORE + 1)],
        };
        let mut all = vec![doing("w1", 5.0), doing("w2", f64::INFINITY), doing("w3", f64::NAN)];
        all.extend([doing("w 4\u{1b}[2J", 5.0), doing(&"w".repeat(100), 5.0)]);
        all.extend(
            (0..260)
                .map(|number| Doing { stores: vec!["h:1".to_owned()], ..doing(&format!("x{number}"), 1.0) }),
        );
        let said = Registration {
            load: Some(f64::NEG_INFINITY),
            ceiling_ops_per_s: Some(f64::NAN),
            doing: all,
            ..driver("d1", "here")
        };
        let found = read("d1", &encode(&said).unwrap()).unwrap();
        assert_eq!((found.load, found.ceiling_ops_per_s), (None, None));
        assert_eq!((found.doing.len(), found.doing[0].run.as_str()), (MOST_DOING, "w1"));
        assert!(found.doing.iter().all(|one| one.requests_per_s.is_finite() && one.stores == ["h:1"]));
        assert!(!found.doing.iter().any(|one| ["w2", "w3"].contains(&one.run.as_str())));
        let honest = Registration { load: Some(0.5), doing: vec![doing("w1", 5.0)], ..driver("d1", "here") };
        let found = read("d1", &encode(&honest).unwrap()).unwrap();
        assert_eq!((found.load, found.doing.len(), found.doing[0].requests_per_s), (Some(0.5), 1, 5.0));
        let large = Registration { host: "h".repeat(MOST_BYTES), ..driver("d1", "here") };
        assert!(read("d1", &encode(&large).unwrap()).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn names_without_end_push_out_those_that_are_gone_and_nobody_else() {
        let mut known = Known::default();
        let mut enter = |name: &str, bytes: usize| {
            known.enter(driver(name, "here"), bytes);
            (known.drivers.contains_key(name), known.drivers.contains_key("d0"), known.drivers.len())
        };
        for number in 0..MOST_DRIVERS {
            assert!(enter(&format!("d{number}"), 1000).0);
        }
        assert_eq!(enter("new", 1000), (false, true, MOST_DRIVERS));
        tokio::time::advance(2 * SILENCE).await;
        assert_eq!(enter("d0", 1000), (true, true, MOST_DRIVERS));
        assert_eq!(enter("new", 1000), (true, true, MOST_DRIVERS));
        // All of them are heard of again.
        for number in 0..MOST_DRIVERS {
            enter(&format!("d{number}"), 1000);
        }
        assert_eq!(enter("newer", 1000), (false, true, MOST_DRIVERS));
        assert_eq!(known.by_age.len(), known.drivers.len());
        assert_eq!(known.bytes, 1000 * MOST_DRIVERS);
    }

    #[tokio::test(start_paused = true)]
    async fn drivers_that_say_much_take_the_room_of_many() {
        let mut known = Known::default();
        let most = MOST_BYTES_OF_ALL / MOST_BYTES;
        for number in 0..=most {
            known.enter(driver(&format!("d{number}"), "here"), MOST_BYTES);
        }
        assert_eq!((known.drivers.len(), known.bytes), (most, MOST_BYTES_OF_ALL));
        // Those that are there may go on, also with less.
        known.enter(driver("d0", "there"), MOST_BYTES);
        known.enter(driver("d1", "there"), MOST_BYTES / 2);
        known.enter(driver("new", "there"), MOST_BYTES / 2);
        let host = |name: &str| known.drivers.get(name).map(|entry| entry.present.registration.host.clone());
        assert_eq!([host("d0"), host("d1"), host("new")], ["there"; 3].map(|host| Some(host.to_owned())));
        tokio::time::advance(2 * SILENCE).await;
        known.enter(driver("newer", "here"), MOST_BYTES);
        assert_eq!((known.drivers.len(), known.bytes), (most + 1, MOST_BYTES_OF_ALL));
        known.remove("newer");
        known.remove("newer");
        assert_eq!((known.by_age.len(), known.bytes), (most, MOST_BYTES_OF_ALL - MOST_BYTES));
    }

    #[tokio::test]
    async fn what_stands_under_the_key_of_a_driver_is_no_word_of_another() {
        let dir = tempfile::tempdir().unwrap();
        let server = LocalServer::start(ServerOptions::in_directory(&dir.path().join("nats"))).unwrap();
        let bus = Bus::connect(&server.nats_options(), "test", Limits::default()).await.unwrap();
        let bucket = bus.bucket(DRIVERS).await.unwrap();
        let forged = || encode(&driver("d2", "elsewhere")).unwrap();
        bucket.put("d1", forged().into()).await.unwrap();
        assert!(bus.registered("d1").await.unwrap().is_none());
        let registry = bus.registry().await.unwrap();
        // While it is watched, too.
        bus.register(&driver("d2", "here")).await.unwrap();
        bucket.put("d1", forged().into()).await.unwrap();
        bus.register(&driver("d3", "here")).await.unwrap();
        let until = Instant::now() + Duration::from_secs(30);
        while registry.get("d3").is_none() && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let known = registry.all().into_iter().map(|one| one.registration);
        let known: Vec<String> = known.map(|one| format!("{} {}", one.name, one.host)).collect();
        assert_eq!(known, ["d2 here", "d3 here"]);
    }
}
