//! The queue in buckets of JetStream, shared by the controllers of a cluster. What is in them outlives every controller;
//! submissions are sealed with the cluster's key.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_nats::jetstream::kv::{self, CreateErrorKind, UpdateErrorKind};
use cosmark_cluster::nats::{Bus, names};
use cosmark_workload::units::shown;
use data_encoding::HEXLOWER;

use super::{Answer, Leader, MOST_ENDED, QueueEntry, Queued, Store, is_id, opened, sealed};
use crate::ServiceError;
use crate::auth::keys::{ClusterKey, random};

/// Key of the lease.
const LEADER: &str = "leader";
/// Keys of the controllers that are there begin so. In each is where it is, and a mark of its own process.
const CONTROLLER: &str = "controller.";
/// Where a controller is that does not know it yet.
const NOWHERE: &str = "-";
/// Key of the last number.
const NUMBER: &str = "last-run";
/// Key of the cluster's id: who has another key must not seal into the same queue.
const CLUSTER: &str = "cluster";
/// What headers and subject add to a value, at most.
const HEADERS: usize = 512;
/// Attempts to change a value that others change as well.
const ATTEMPTS: u32 = 20;
/// Who is there says so every two seconds: it is looked so often, so far apart, whether one of this name does.
const LOOKS: u32 = 20;
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Buckets of JetStream.
pub struct KvStore {
    bus: Bus,
    key: Arc<ClusterKey>,
    me: String,
    /// No other process has it, be it of the same name.
    mark: String,
    /// Revision of the key by which this controller has its name.
    held: AtomicU64,
    /// Whether this controller led when it was asked last.
    leads: AtomicBool,
}

fn failed(what: &str, cause: impl Display) -> ServiceError {
    ServiceError::Bus(format!("NATS does not take {what} now: {cause}; it is tried again"))
}

impl KvStore {
    /// In the buckets of this connection, as the controller `me`.
    ///
    /// # Errors
    /// When NATS does not answer, the queue belongs to a cluster with another key, or a controller of this name is there.
    pub async fn open(bus: Bus, key: Arc<ClusterKey>, me: &str) -> Result<Self, ServiceError> {
        let mark = format!("{:016x}", u64::from_be_bytes(random()?));
        let (me, held, leads) = (me.to_owned(), AtomicU64::new(0), AtomicBool::new(false));
        let store = Self { bus, key, me, mark, held, leads };
        let meta = store.bucket(names::META).await?;
        let fingerprint = store.key.fingerprint();
        match meta.create(CLUSTER, fingerprint.clone().into()).await {
            Ok(_) => {}
            Err(error) if error.kind() == CreateErrorKind::AlreadyExists => {
                let known = meta.get(CLUSTER).await.map_err(|cause| failed("a question", cause))?;
                if known.is_some_and(|known| known != fingerprint.as_bytes()) {
                    return Err(ServiceError::Bus(
                        "the queue in this NATS belongs to controllers with another key; copy cluster.key from the state \
                         directory of one of them into this one's"
                            .to_owned(),
                    ));
                }
            }
            Err(error) => return Err(failed("the id of the cluster", error)),
        }
        store.take_name().await?;
        Ok(store)
    }

    /// Takes this name: of all that want it at one moment one gets it. Two of one name would take each other's lease
    /// for their own, and both lead. What a controller has left that was killed does not change any more, and runs out:
    /// who sees that first takes it over, as it was seen.
    async fn take_name(&self) -> Result<(), ServiceError> {
        let lease = self.bucket(names::LEASE).await?;
        let (here, value) = (self.here(), self.value(NOWHERE));
        let mut first = None;
        for look in 0..=LOOKS {
            let written = match there(&lease, &here).await? {
                None => match lease.create(&here, value.clone().into()).await {
                    Err(error) if error.kind() == CreateErrorKind::AlreadyExists => continue,
                    other => other.map_err(|cause| failed("the lease", cause)),
                },
                Some(entry) if *first.get_or_insert(entry.revision) != entry.revision => {
                    return Err(taken(&self.me, &entry.value));
                }
                Some(entry) if look == LOOKS => {
                    match lease.update(&here, value.clone().into(), entry.revision).await {
                        Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => break,
                        other => other.map_err(|cause| failed("the lease", cause)),
                    }
                }
                Some(_) => {
                    tokio::time::sleep(LOOK_EVERY).await;
                    continue;
                }
            };
            self.held.store(written?, Ordering::Relaxed);
            return Ok(());
        }
        // Somebody else was faster.
        let other = there(&lease, &here).await?.map(|entry| entry.value).unwrap_or_default();
        Err(taken(&self.me, &other))
    }

    /// Says that this controller is there, at `url`. Its key may have run out while NATS was away, and an answer may have
    /// been lost; if another has the name by now, this one has it no longer.
    async fn renew_name(&self, lease: &kv::Store, url: &str) -> Result<(), ServiceError> {
        let (here, value) = (self.here(), self.value(url));
        let renewed = lease.update(&here, value.clone().into(), self.held.load(Ordering::Relaxed)).await;
        let revision = match renewed {
            Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => {
                match there(lease, &here).await? {
                    None => {
                        let again = lease.create(&here, value.into()).await;
                        again.map_err(|cause| failed("the lease", cause))?
                    }
                    Some(entry) if entry.value.ends_with(self.mark.as_bytes()) => {
                        let again = lease.update(&here, value.into(), entry.revision).await;
                        again.map_err(|cause| failed("the lease", cause))?
                    }
                    Some(entry) => return Err(taken(&self.me, &entry.value)),
                }
            }
            other => other.map_err(|cause| failed("the lease", cause))?,
        };
        self.held.store(revision, Ordering::Relaxed);
        Ok(())
    }

    fn here(&self) -> String {
        format!("{CONTROLLER}{}", self.me)
    }

    fn value(&self, url: &str) -> String {
        format!("{url} {}", self.mark)
    }

    async fn bucket(&self, name: &str) -> Result<kv::Store, ServiceError> {
        // Whoever asks is not to wait for a server that is known to be away.
        if !self.bus.is_connected() {
            return Err(ServiceError::Away { url: self.bus.url().to_owned() });
        }
        self.bus.bucket(name).await.map_err(|error| ServiceError::Bus(error.to_string()))
    }

    async fn named(&self, bucket: &kv::Store) -> Result<Vec<String>, ServiceError> {
        self.bus.named(bucket).await.map_err(|cause| failed("a question", cause))
    }

    /// Deletes a key. Not through the bucket, which would leave a mark: one for each run that ever was, and a bucket
    /// that is full has no room for it.
    async fn forget(&self, bucket: &kv::Store, id: &str) -> Result<(), ServiceError> {
        let purge = bucket.stream.purge().filter(format!("{}{id}", bucket.prefix));
        purge.await.map(drop).map_err(|cause| failed("the end of a run", cause))
    }

    /// Where NATS has no logins anybody may write any key: what is not a run of this cluster under its own name takes
    /// nothing from those that are.
    async fn read_queue(&self) -> Result<Queued, ServiceError> {
        let bucket = self.bucket(names::QUEUE).await?;
        let mut queued = Queued::default();
        // Submissions may be large: each is read once, and not many at a time.
        for id in self.named(&bucket).await? {
            if !is_id(&id) {
                queued.foreign.push(id);
                continue;
            }
            let bytes = bucket.get(&id).await.map_err(|cause| failed("a question", cause))?;
            match bytes.map(|bytes| opened(&self.key, &id, &bytes)) {
                Some(Ok(entry)) if entry.id == id => queued.entries.push(entry),
                Some(_) => queued.foreign.push(id),
                None => {}
            }
        }
        Ok(queued)
    }

    async fn write(&self, entry: &QueueEntry) -> Result<(), ServiceError> {
        let bytes = sealed(&self.key, entry)?;
        let bucket = self.bucket(names::QUEUE).await?;
        let (size, most) = (bytes.len().saturating_add(HEADERS), self.bus.most_bytes());
        if size > most {
            return Err(ServiceError::TooLarge { what: "submission".to_owned(), bytes: size, most });
        }
        bucket.put(&entry.id, bytes.into()).await.map(drop).map_err(|cause| failed("the submission", cause))
    }

    async fn move_to_ended(&self, entry: &QueueEntry) -> Result<(), ServiceError> {
        let history = self.bucket(names::HISTORY).await?;
        let bytes = sealed(&self.key, entry)?;
        if history.put(&entry.id, bytes.clone().into()).await.is_err() {
            // It may be full: then the older half has been there for long enough.
            self.forget_older_half(&history).await?;
            history.put(&entry.id, bytes.into()).await.map_err(|cause| failed("the end of a run", cause))?;
        }
        let queue = self.bucket(names::QUEUE).await?;
        self.forget(&queue, &entry.id).await?;
        let oldest = entry.number.saturating_sub(MOST_ENDED as u64);
        if oldest > 0 {
            // One in, one out; numbers that were never taken are no mistake.
            drop(self.forget(&history, &format!("w{oldest}")).await);
        }
        Ok(())
    }

    async fn forget_older_half(&self, history: &kv::Store) -> Result<(), ServiceError> {
        let keys = self.named(history).await?;
        let mut numbers: Vec<u64> =
            keys.iter().filter_map(|key| key.strip_prefix('w')?.parse().ok()).collect();
        numbers.sort_unstable();
        for number in numbers.iter().take(numbers.len().div_ceil(2)) {
            self.forget(history, &format!("w{number}")).await?;
        }
        Ok(())
    }

    async fn read_ended(&self, id: &str) -> Result<Option<QueueEntry>, ServiceError> {
        if !names::is_token(id) {
            return Ok(None);
        }
        let history = self.bucket(names::HISTORY).await?;
        let bytes = history.get(id).await.map_err(|cause| failed("a question", cause))?;
        bytes.map(|bytes| opened(&self.key, id, &bytes)).transpose()
    }

    async fn take_number(&self, least: u64) -> Result<u64, ServiceError> {
        let meta = self.bucket(names::META).await?;
        let mut last = String::new();
        for _ in 0..ATTEMPTS {
            let entry = meta.entry(NUMBER).await.map_err(|cause| failed("a question", cause))?;
            let entry = entry.filter(|entry| entry.operation == kv::Operation::Put);
            let known =
                entry.as_ref().and_then(|entry| std::str::from_utf8(&entry.value).ok()?.parse::<u64>().ok());
            let next = least.max(known.unwrap_or(0).saturating_add(1));
            let written = match &entry {
                Some(entry) => meta
                    .update(NUMBER, next.to_string().into(), entry.revision)
                    .await
                    .map(drop)
                    .map_err(|e| e.to_string()),
                None => {
                    meta.create(NUMBER, next.to_string().into()).await.map(drop).map_err(|e| e.to_string())
                }
            };
            match written {
                Ok(()) => return Ok(next),
                Err(cause) => last = cause,
            }
        }
        Err(failed("the number of a run", last))
    }

    async fn ask_to_lead(&self, me: Leader) -> Result<Leader, ServiceError> {
        let lease = self.bucket(names::LEASE).await?;
        self.renew_name(&lease, &me.url).await?;
        let word = self.word_of(&me)?;
        let entry = lease.entry(LEADER).await.map_err(|cause| failed("a question", cause))?;
        let entry = entry.filter(|entry| entry.operation == kv::Operation::Put);
        let known = entry.as_ref().map(|entry| self.leader_in(&entry.value));
        let is_mine = match (entry, known) {
            (Some(_), Some(Some(known))) if known.name != me.name => {
                self.leads.store(false, Ordering::Relaxed);
                return Ok(known);
            }
            // Nobody of this cluster wrote that: who leads writes it anew, others wait until it has run out.
            (Some(_), Some(None)) if !self.leads.load(Ordering::Relaxed) => false,
            (Some(entry), _) => lease.update(LEADER, word.into(), entry.revision).await.is_ok(),
            (None, _) => lease.create(LEADER, word.into()).await.is_ok(),
        };
        self.leads.store(is_mine, Ordering::Relaxed);
        // Where somebody else has it now: who, is asked the next time.
        Ok(if is_mine { me } else { Leader::nobody() })
    }

    /// The word on who leads. It is signed: tokens, logins and secrets of whoever asks another controller are passed on to
    /// where it says, and where NATS has no logins anybody may write it.
    fn word_of(&self, leader: &Leader) -> Result<Vec<u8>, ServiceError> {
        let mut word = serde_json::to_vec(leader).map_err(|cause| failed("the lease", cause))?;
        let signature = HEXLOWER.encode(&self.key.sign(&what_is_signed(&word)));
        word.push(b' ');
        word.extend_from_slice(signature.as_bytes());
        Ok(word)
    }

    /// Who leads by this word; `None` where no controller of this cluster has written it.
    fn leader_in(&self, word: &[u8]) -> Option<Leader> {
        let (text, signature) = word.split_at(word.iter().rposition(|byte| *byte == b' ')?);
        let signature = HEXLOWER.decode(signature.get(1..)?).ok()?;
        let is_signed = self.key.is_signed(&what_is_signed(text), &signature);
        is_signed.then(|| serde_json::from_slice(text).ok()).flatten()
    }

    async fn give_up(&self) -> Result<(), ServiceError> {
        let lease = self.bucket(names::LEASE).await?;
        let entry = lease.entry(LEADER).await.map_err(|cause| failed("a question", cause))?;
        let known = entry.and_then(|entry| self.leader_in(&entry.value));
        if known.is_some_and(|known| known.name == self.me) {
            lease.delete(LEADER).await.map_err(|cause| failed("the lease", cause))?;
        }
        // Not that of another who has the name by now.
        let held = self.held.load(Ordering::Relaxed);
        drop(lease.delete_expect_revision(self.here(), Some(held)).await);
        Ok(())
    }

    async fn who_is_there(&self) -> Result<Vec<String>, ServiceError> {
        let lease = self.bucket(names::LEASE).await?;
        let keys = self.bus.keys(&lease).await.map_err(|cause| failed("a question", cause))?;
        let mut names: Vec<String> =
            keys.iter().filter_map(|key| key.strip_prefix(CONTROLLER)).map(str::to_owned).collect();
        names.sort();
        Ok(names)
    }
}

impl Store for KvStore {
    fn queue(&self) -> Answer<'_, Queued> {
        Box::pin(self.read_queue())
    }

    fn put(&self, entry: QueueEntry) -> Answer<'_, ()> {
        Box::pin(async move { self.write(&entry).await })
    }

    fn end(&self, entry: QueueEntry) -> Answer<'_, ()> {
        Box::pin(async move { self.move_to_ended(&entry).await })
    }

    fn ended<'a>(&'a self, id: &'a str) -> Answer<'a, Option<QueueEntry>> {
        Box::pin(self.read_ended(id))
    }

    fn number(&self, least: u64) -> Answer<'_, u64> {
        Box::pin(self.take_number(least))
    }

    fn lead(&self, me: Leader) -> Answer<'_, Leader> {
        Box::pin(self.ask_to_lead(me))
    }

    fn resign(&self) -> Answer<'_, ()> {
        Box::pin(self.give_up())
    }

    fn controllers(&self) -> Answer<'_, Vec<String>> {
        Box::pin(self.who_is_there())
    }

    fn connection(&self) -> (bool, String) {
        (self.bus.is_connected(), self.bus.url().to_owned())
    }
}

fn what_is_signed(leader: &[u8]) -> Vec<u8> {
    [&b"leader|"[..], leader].concat()
}

/// The key, where it is there.
async fn there(lease: &kv::Store, key: &str) -> Result<Option<kv::Entry>, ServiceError> {
    let entry = lease.entry(key).await.map_err(|cause| failed("a question", cause))?;
    Ok(entry.filter(|entry| entry.operation == kv::Operation::Put))
}

/// Where NATS has no logins anybody may say to be there, and where.
fn taken(name: &str, value: &[u8]) -> ServiceError {
    let text = String::from_utf8_lossy(value);
    let place = match text.rsplit_once(' ').map_or(&*text, |(url, _)| url) {
        NOWHERE | "" => "starting".to_owned(),
        url => format!("at {}", shown(url)),
    };
    ServiceError::NameTaken { name: name.to_owned(), place }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::StateDir;
    use cosmark_cluster::nats::Limits;
    use cosmark_cluster::nats::server::{LocalServer, ServerOptions};

    #[test]
    fn what_others_wrote_for_an_address_is_shown_in_one_line_without_signs_of_a_terminal() {
        let hostile = format!("http://x\u{1b}[2J\n{}", "y".repeat(9000));
        let said = taken("a", hostile.as_bytes()).to_string();
        assert!(said.contains("http://x") && said.contains("--name"), "{said}");
        assert!(!said.contains(char::is_control) && said.len() < 400, "{} {said:?}", said.len());
    }

    #[tokio::test]
    async fn a_second_controller_of_one_name_is_refused_while_the_first_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let server = LocalServer::start(ServerOptions::in_directory(&dir.path().join("nats"))).unwrap();
        let bus = Bus::connect(&server.nats_options(), "test", Limits::default()).await.unwrap();
        let key = Arc::new(ClusterKey::open(&StateDir::open(dir.path()).unwrap()).unwrap());
        let first = KvStore::open(bus.clone(), Arc::clone(&key), "a").await.unwrap();
        let me = Leader { name: "a".to_owned(), url: "http://first".to_owned(), certificate: None };
        assert_eq!(first.lead(me.clone()).await.unwrap(), me);
        let lives = async {
            for _ in 0..100 {
                first.lead(me.clone()).await.unwrap();
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
        };
        let refused = tokio::select! {
            opened = KvStore::open(bus.clone(), Arc::clone(&key), "a") => opened.err().map(|error| error.to_string()),
            () = lives => None,
        };
        assert!(refused.is_some_and(|why| why.contains("http://first") && why.contains("--name")));
        // Another name is free, and so is that of one that was killed.
        assert!(KvStore::open(bus.clone(), Arc::clone(&key), "b").await.is_ok());
        assert!(KvStore::open(bus, key, "a").await.is_ok());
    }

    #[tokio::test]
    async fn of_controllers_of_one_name_that_start_at_one_moment_one_gets_it() {
        let dir = tempfile::tempdir().unwrap();
        let server = LocalServer::start(ServerOptions::in_directory(&dir.path().join("nats"))).unwrap();
        let key = Arc::new(ClusterKey::open(&StateDir::open(dir.path()).unwrap()).unwrap());
        let me = Leader { name: "a".to_owned(), url: "http://one".to_owned(), certificate: None };
        let starts = async || {
            let bus = Bus::connect(&server.nats_options(), "test", Limits::default()).await.unwrap();
            let store = KvStore::open(bus, Arc::clone(&key), "a").await.map_err(|error| error.to_string())?;
            for _ in 0..12 {
                store.lead(me.clone()).await.map_err(|error| error.to_string())?;
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            Ok::<KvStore, String>(store)
        };
        // At the beginning, and when all of them see what one has left that was killed.
        let mut last = None;
        for round in 0..2 {
            let (a, b, c) = tokio::join!(starts(), starts(), starts());
            let (there, refused): (Vec<_>, Vec<_>) = [a, b, c].into_iter().partition(Result::is_ok);
            assert_eq!((there.len(), refused.len()), (1, 2), "{round}");
            for refused in refused {
                assert!(refused.err().unwrap().contains("--name"), "{round}");
            }
            last = there.into_iter().find_map(Result::ok);
        }
        // One whose key somebody else has by now says so, and takes nothing from the other when it ends.
        let store = last.unwrap();
        let bus = Bus::connect(&server.nats_options(), "test", Limits::default()).await.unwrap();
        let (me_too, mark) = ("a".to_owned(), "0".repeat(16));
        let (held, leads) = (AtomicU64::new(0), AtomicBool::new(false));
        let other = KvStore { bus, key, me: me_too, mark, held, leads };
        let bucket = other.bucket(names::LEASE).await.unwrap();
        bucket.put(other.here(), other.value("http://two").into()).await.unwrap();
        let error = store.lead(me.clone()).await.unwrap_err();
        assert!(
            matches!(&error, ServiceError::NameTaken { place, .. } if place == "at http://two"),
            "{error}"
        );
        store.resign().await.unwrap();
        assert!(bucket.get(other.here()).await.unwrap().is_some());
        // What ran out is taken again.
        bucket.purge(other.here()).await.unwrap();
        assert_eq!(store.lead(me.clone()).await.unwrap(), me);
    }

    #[tokio::test]
    async fn requests_are_passed_on_to_nobody_who_has_not_the_key_of_the_cluster() {
        let dir = tempfile::tempdir().unwrap();
        let server = LocalServer::start(ServerOptions::in_directory(&dir.path().join("nats"))).unwrap();
        let key = Arc::new(ClusterKey::open(&StateDir::open(dir.path()).unwrap()).unwrap());
        let open = async |name: &str| {
            let bus = Bus::connect(&server.nats_options(), "test", Limits::default()).await.unwrap();
            KvStore::open(bus, Arc::clone(&key), name).await.unwrap()
        };
        let leader = |name: &str| {
            let url = format!("http://{name} x");
            Leader { name: name.to_owned(), url, certificate: None }
        };
        let (first, second) = (open("a").await, open("b").await);
        assert_eq!(first.lead(leader("a")).await.unwrap(), leader("a"));
        assert_eq!(second.lead(leader("b")).await.unwrap(), leader("a"));
        let bucket = first.bucket(names::LEASE).await.unwrap();
        let forged = serde_json::to_vec(&leader("evil")).unwrap();
        let own = first.word_of(&leader("a")).unwrap();
        let signature = own.split(|byte| *byte == b' ').next_back().unwrap();
        for word in [forged.clone(), [&forged[..], b" ", signature].concat(), b"x ".to_vec(), Vec::new()] {
            bucket.put(LEADER, word.into()).await.unwrap();
            assert_eq!(second.lead(leader("b")).await.unwrap(), Leader::nobody());
            assert_eq!(first.lead(leader("a")).await.unwrap(), leader("a"));
            assert_eq!(second.lead(leader("b")).await.unwrap(), leader("a"));
        }
        first.resign().await.unwrap();
        assert_eq!(second.lead(leader("b")).await.unwrap(), leader("b"));
    }

    #[tokio::test]
    async fn what_others_write_into_the_queue_is_named_and_takes_nothing_from_the_runs() {
        let dir = tempfile::tempdir().unwrap();
        let server = LocalServer::start(ServerOptions::in_directory(&dir.path().join("nats"))).unwrap();
        let bus = Bus::connect(&server.nats_options(), "test", Limits::default()).await.unwrap();
        let key = Arc::new(ClusterKey::open(&StateDir::open(dir.path()).unwrap()).unwrap());
        let store = KvStore::open(bus, key, "a").await.unwrap();
        let (first, second) =
            (crate::queue::store::example(1, String::new()), crate::queue::store::example(2, String::new()));
        store.put(first.clone()).await.unwrap();
        let queue = store.bucket(names::QUEUE).await.unwrap();
        // Garbage, garbage in the name of a run, a run under the name of another, names of no run.
        let copied = queue.get("w1").await.unwrap().unwrap();
        queue.put("w7", vec![0xff; 4096].into()).await.unwrap();
        queue.put("w9", copied).await.unwrap();
        for name in ["garbage", "a.b", "w", "w-1"] {
            queue.put(name, "x".into()).await.unwrap();
        }
        store.put(second.clone()).await.unwrap();
        let mut queued = store.queue().await.unwrap();
        queued.entries.sort_by_key(|entry| entry.number);
        queued.foreign.sort();
        assert_eq!(queued.entries, [first, second]);
        assert_eq!(queued.foreign, ["a.b", "garbage", "w", "w-1", "w7", "w9"]);
        assert!(queued.has(1) && queued.has(7) && !queued.has(3));
        let said = queued.foreign_in_words().unwrap();
        assert!(said.contains("a.b, garbage") && said.contains("w9 is no run"), "{said}");
        queued.foreign = (0..100_000).map(|number| format!("{number}-{}", "y".repeat(200))).collect();
        let said = queued.foreign_in_words().unwrap();
        assert!(said.contains(" and 99992 more") && said.len() < 2000, "{said}");
        queued.foreign.clear();
        assert_eq!(queued.foreign_in_words(), None);
    }

    #[tokio::test]
    async fn a_history_that_is_full_makes_room_for_the_next_end() {
        let dir = tempfile::tempdir().unwrap();
        let server = LocalServer::start(ServerOptions::in_directory(&dir.path().join("nats"))).unwrap();
        let bus = Bus::connect(&server.nats_options(), "test", Limits::default()).await.unwrap();
        let key = Arc::new(ClusterKey::open(&StateDir::open(dir.path()).unwrap()).unwrap());
        let store = KvStore::open(bus.clone(), key, "a").await.unwrap();
        for number in 1..=12 {
            let large = crate::queue::store::example(number, "x".repeat(7_500_000));
            store.put(large.clone()).await.unwrap();
            store.end(large).await.unwrap();
        }
        assert_eq!(store.queue().await.unwrap().entries, [], "nothing that has ended waits");
        assert_eq!(store.ended("w12").await.unwrap().unwrap().number, 12);
        let queue = store.bucket(names::QUEUE).await.unwrap();
        assert!(bus.named(&queue).await.unwrap().is_empty(), "a mark for each run that ever was");
        let number = MOST_ENDED as u64 + 12;
        store.end(crate::queue::store::example(number, String::new())).await.unwrap();
        let history = store.bucket(names::HISTORY).await.unwrap();
        let ended = bus.named(&history).await.unwrap();
        assert!(ended.contains(&format!("w{number}")) && !ended.contains(&"w12".to_owned()), "{ended:?}");
        assert_eq!(store.ended("w1").await.unwrap(), None);
        let error = store.put(crate::queue::store::example(13, "x".repeat(9_000_000))).await.unwrap_err();
        assert!(matches!(error, ServiceError::TooLarge { .. }), "{error}");
    }
}
