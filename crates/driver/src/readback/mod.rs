//! Reads back what a store has acknowledged and says of each object what became of it. Objects come in the order of a
//! ledger, container by container: the container is listed once, its objects are read by several clients side by side, and
//! what is neither as acknowledged nor explained is looked at a second time before it is called broken. Nothing is written,
//! memory does not grow with the number of objects, and every call has a time limit.

mod listing;
mod reader;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::ops::ControlFlow;
use std::time::Duration;

use cosmark_adaptor_api::Capability;
use cosmark_ledger::{Class, Doubt, Entry, Key, Site, Space, judge};
use cosmark_workload::model::TargetSpec;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::catalog::Catalog;
use listing::Listing;
use reader::{Looked, Reader};

/// Objects that are read between two moments at which the reading can be ended and gone on with.
const MOST_IN_CHUNK: usize = 512;
/// Suspects that wait for their second look.
const MOST_SUSPECTS: usize = 4096;
/// Pages of a listing between two moments at which it is said how far the reading has come, and it can be ended.
const PAGES_BETWEEN: u64 = 100;
/// Names in a listing that are in no ledger and are asked for, of each container; others are only counted.
const MOST_STRANGERS: usize = 10_000;
/// So often a ghost is looked at again, after once, twice, .. the time in which things settle: stores like Swift promise their
/// listings only eventually, whatever protocol they are asked in.
const LOOKS_AT_GHOSTS: u32 = 3;
/// After so many rounds in which a listing did not come right within all these looks, those that follow get one.
const MOST_WAITED_FOR: u32 = 8;
/// What is on its way when the reading is ended has this long to come.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// How it is done.
#[derive(Debug, Clone, PartialEq)]
pub struct Manner {
    /// Clients that read side by side.
    pub workers: usize,
    /// Most objects per second; `None` = as fast as the store answers.
    pub rate_per_s: Option<f64>,
    /// What looks broken is looked at again after this time.
    pub settle: Duration,
    /// Compare with the listings of containers.
    pub listings: bool,
    /// The ledger misses changes.
    pub in_doubt: bool,
    /// Objects of it were removed later by Cosmark itself: what is missing is undecided.
    pub removed: bool,
}

/// Something worth telling of one object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Name of its container.
    pub container: String,
    /// Its name.
    pub object: String,
    /// What became of it.
    pub class: Class,
    /// What was expected and what was found, one sentence.
    pub detail: String,
}

/// An object that looked broken and waits for a second look.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Suspect {
    key: Key,
    entry: Entry,
    class: Class,
}

impl Suspect {
    /// Only its listing is not as it should be.
    fn is_ghost(&self) -> bool {
        matches!(self.class, Class::ListedNotThere | Class::ThereNotListed)
    }
}

/// How far it has come: with it a reading that was ended goes on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Standing {
    /// Number in the ledger of the first object of the container that is being read.
    pub container_from: u64,
    /// The same of the next object to be read.
    pub next: u64,
    /// Objects by what became of them.
    pub counts: BTreeMap<Class, u64>,
    /// Bytes that were read.
    pub bytes: u64,
    /// Containers whose listing was compared.
    pub listed_containers: u64,
    /// Containers that could not be listed.
    pub unlisted_containers: u64,
    /// Why the last of them could not.
    pub unlisted_why: Option<String>,
    /// Names that a listing had more than once.
    pub listed_twice: u64,
    /// Objects in listings that are there and in no ledger.
    pub others: u64,
    suspects: Vec<Suspect>,
    /// Of the last object that was answered for: its store, container and name.
    answered: Option<(Site, String, String)>,
}

impl Standing {
    /// Objects that were read and decided about.
    #[must_use]
    pub fn decided(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Of this class.
    #[must_use]
    pub fn count(&self, class: Class) -> u64 {
        self.counts.get(&class).copied().unwrap_or(0)
    }

    /// Objects of which the store broke its word.
    #[must_use]
    pub fn broken(&self) -> u64 {
        self.counts.iter().filter(|(class, _)| class.is_broken()).map(|(_, count)| count).sum()
    }
}

/// Who hears of it, and may end it.
pub trait ReadBackListener {
    /// Something was found.
    ///
    /// # Errors
    /// One sentence, when it cannot be kept: the reading ends.
    fn found(&mut self, finding: &Finding) -> Result<(), String>;

    /// Everything before is decided or in `standing`. False = end here.
    ///
    /// # Errors
    /// As [`ReadBackListener::found`].
    fn reached(&mut self, standing: &Standing) -> Result<bool, String>;
}

/// An object of a ledger, with its number in it.
pub type Numbered = (u64, Key, Entry);

/// What is to be read back.
pub struct ReadBack<'a> {
    /// The adaptors.
    pub catalog: Catalog,
    /// Stores and logins by where they stand in the workload.
    pub targets: BTreeMap<Site, (TargetSpec, TargetSpec)>,
    /// Kinds of names.
    pub spaces: &'a [Space],
    /// How.
    pub manner: Manner,
}

/// A reading under way.
struct Reading<'r, 'a> {
    what: &'r ReadBack<'a>,
    readers: BTreeMap<Site, Reader>,
    standing: &'r mut Standing,
    listener: &'r mut dyn ReadBackListener,
    /// When the newest suspect was first looked at: each of them has its time to settle.
    suspected: Option<Instant>,
    /// The container that comes next was begun by a reading that was ended.
    goes_on: bool,
    /// Rounds in which a listing did not come right within all the looks that it got.
    stayed_wrong: u32,
}

impl ReadBack<'_> {
    /// Reads objects, which come in order; on a reading that goes on those from `standing.container_from` on. True when it came to
    /// the end, false when it was ended.
    ///
    /// # Errors
    /// One sentence: the store cannot be opened or reached, the ledger not be read, or nothing be kept.
    pub async fn run(
        &self,
        objects: &mut dyn Iterator<Item = Result<Numbered, String>>,
        standing: &mut Standing,
        listener: &mut dyn ReadBackListener,
    ) -> Result<bool, String> {
        let suspected = (!standing.suspects.is_empty()).then(Instant::now);
        let goes_on = standing.next > standing.container_from;
        let readers = BTreeMap::new();
        let mut reading =
            Reading { what: self, readers, standing, listener, suspected, goes_on, stayed_wrong: 0 };
        let mut objects = objects.peekable();
        loop {
            let place = match objects.peek() {
                None => break,
                Some(Ok((_, key, _))) => (key.space, key.container),
                Some(Err(_)) => (0, 0),
            };
            if !reading.container(&mut objects, place).await? {
                return Ok(false);
            }
        }
        reading.look_again().await?;
        reading.listener.reached(reading.standing)
    }

    /// As [`ReadBack::run`], but ends soon after `over` comes to its end, also where a store answers nothing at all. `standing` is
    /// then as it was before the objects that were on their way.
    ///
    /// # Errors
    /// As [`ReadBack::run`].
    pub async fn run_until(
        &self,
        objects: &mut dyn Iterator<Item = Result<Numbered, String>>,
        standing: &mut Standing,
        listener: &mut dyn ReadBackListener,
        over: impl Future<Output = ()>,
    ) -> Result<bool, String> {
        let patience = async {
            over.await;
            tokio::time::sleep(LAST_ANSWERS).await;
        };
        tokio::select! {
            biased;
            ended = self.run(objects, standing, listener) => ended,
            () = patience => Ok(false),
        }
    }
}

type Objects<'o> = Peekable<&'o mut dyn Iterator<Item = Result<Numbered, String>>>;

impl Reading<'_, '_> {
    fn space(&self, at: u16) -> Result<&Space, String> {
        self.what
            .spaces
            .get(usize::from(at))
            .ok_or_else(|| "the ledger names a kind of objects that it does not have".to_owned())
    }

    async fn reader(&mut self, space: u16) -> Result<(), String> {
        let site = self.space(space)?.site;
        if self.readers.contains_key(&site) {
            return Ok(());
        }
        let (auth, storage) =
            self.what.targets.get(&site).ok_or("the workload has not the store that the ledger is about")?;
        let manner = &self.what.manner;
        let mut reader =
            Reader::open(self.what.catalog, auth, storage, manner.workers, manner.rate_per_s).await?;
        let answered = self.standing.answered.clone().filter(|(of, ..)| *of == site);
        reader.answered = answered.map(|(_, container, object)| (container, object));
        self.readers.insert(site, reader);
        Ok(())
    }

    /// One container, to its end; false when it was ended.
    async fn container(&mut self, objects: &mut Objects<'_>, place: (u16, u64)) -> Result<bool, String> {
        self.reader(place.0).await?;
        let ControlFlow::Continue(mut listing) = self.list(place).await? else { return Ok(false) };
        if let Some(Ok((number, ..))) = objects.peek() {
            self.standing.container_from = *number;
        }
        loop {
            let mut chunk = Vec::new();
            while chunk.len() < self.chunk_len() {
                let is_own = |next: &Result<Numbered, String>| {
                    next.as_ref().map_or(true, |(_, key, _)| (key.space, key.container) == place)
                };
                let Some(next) = objects.next_if(is_own) else { break };
                let (number, key, entry) = next?;
                if number < self.standing.next {
                    // It was read before the reading was ended; its name is accounted for.
                    if let Some(listing) = &mut listing {
                        listing.has(key.object);
                    }
                    continue;
                }
                chunk.push((number, key, entry));
            }
            let Some((last, ..)) = chunk.last() else { break };
            let next = last + 1;
            self.chunk(chunk, &mut listing).await?;
            self.standing.next = next;
            if self.standing.suspects.len() >= MOST_SUSPECTS {
                self.look_again().await?;
            }
            if !self.listener.reached(self.standing)? {
                return Ok(false);
            }
        }
        if let Some(listing) = listing {
            self.strangers(place, listing).await?;
        }
        self.standing.container_from = self.standing.next;
        self.listener.reached(self.standing)
    }

    fn chunk_len(&self) -> usize {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let in_a_second = self.what.manner.rate_per_s.map_or(MOST_IN_CHUNK, |rate| rate as usize);
        in_a_second.clamp(self.what.manner.workers.clamp(1, MOST_IN_CHUNK), MOST_IN_CHUNK)
    }

    /// The listing of a container, where it has one; it breaks where the reading is to end.
    async fn list(
        &mut self,
        (space, container): (u16, u64),
    ) -> Result<ControlFlow<(), Option<Listing>>, String> {
        let known = self.space(space)?.clone();
        let Some(reader) = self.readers.get_mut(&known.site) else { return Ok(ControlFlow::Continue(None)) };
        if !self.what.manner.listings || !reader.can(Capability::LIST) {
            return Ok(ControlFlow::Continue(None));
        }
        let mut listing = Listing::default();
        let failed = loop {
            match listing.page(reader, &known, container).await {
                Ok(true) => break None,
                Ok(false) => {}
                Err(error) => break Some(error),
            }
            if listing.pages().is_multiple_of(PAGES_BETWEEN) && !self.listener.reached(self.standing)? {
                return Ok(ControlFlow::Break(()));
            }
        };
        // A reading that goes on has counted this container when it came to it.
        let is_new = !std::mem::take(&mut self.goes_on);
        if let Some(error) = failed {
            self.standing.unlisted_containers += u64::from(is_new);
            self.standing.unlisted_why = Some(error.message().to_owned());
            return Ok(ControlFlow::Continue(None));
        }
        self.standing.listed_containers += u64::from(is_new);
        self.standing.listed_twice += if is_new { listing.listed_twice() } else { 0 };
        Ok(ControlFlow::Continue(Some(listing)))
    }

    async fn chunk(&mut self, chunk: Vec<Numbered>, listing: &mut Option<Listing>) -> Result<(), String> {
        let Some((_, first, _)) = chunk.first() else { return Ok(()) };
        let space = self.space(first.space)?.clone();
        let Some(reader) = self.readers.get_mut(&space.site) else { return Ok(()) };
        let looked = reader.look(&space, &chunk).await?;
        let answered = reader.answered.clone();
        self.standing.answered = answered.map(|(container, object)| (space.site, container, object));
        for ((_, key, entry), looked) in chunk.into_iter().zip(looked) {
            self.standing.bytes += looked.bytes;
            let is_listed = listing.as_mut().map(|listing| listing.has(key.object));
            let class = self.class(&space, &entry, &looked, is_listed);
            // What was removed does not come back.
            let is_removed = self.what.manner.removed && class == Class::Undecided;
            if class.is_worth_a_second_look() && !is_removed && !self.what.manner.settle.is_zero() {
                self.suspected = Some(Instant::now());
                self.standing.suspects.push(Suspect { key, entry, class });
            } else {
                self.decide(&space, key, &entry, class, &looked)?;
            }
        }
        Ok(())
    }

    /// What an object is, by itself and by the listing of its container.
    fn class(&self, space: &Space, entry: &Entry, looked: &Looked, is_listed: Option<bool>) -> Class {
        let Manner { in_doubt, removed, .. } = self.what.manner;
        let mut doubt = if in_doubt { space.doubt() } else { Doubt::default() };
        doubt.deletions |= removed;
        let class = judge(entry, &looked.found, doubt);
        let agrees = matches!(class, Class::Right | Class::UnansweredDone | Class::UnansweredNotDone);
        match (agrees, is_listed, looked.is_there()) {
            (true, Some(true), Some(false)) => Class::ListedNotThere,
            (true, Some(false), Some(true)) => Class::ThereNotListed,
            _ => class,
        }
    }

    fn decide(
        &mut self,
        space: &Space,
        key: Key,
        entry: &Entry,
        class: Class,
        looked: &Looked,
    ) -> Result<(), String> {
        *self.standing.counts.entry(class).or_insert(0) += 1;
        if class == Class::Right {
            return Ok(());
        }
        let (container, object) = space.names(key);
        self.listener.found(&Finding { container, object, class, detail: looked.detail(entry) })
    }

    /// Looks at all suspects again, once the newest of them has had its time; at ghosts more than once.
    async fn look_again(&mut self) -> Result<(), String> {
        let most = if self.stayed_wrong < MOST_WAITED_FOR { LOOKS_AT_GHOSTS } else { 1 };
        for look in 1..=most {
            if let Some(since) = self.suspected.take() {
                tokio::time::sleep_until(since + self.what.manner.settle * look).await;
            }
            if self.look_once(look == most).await?.is_break() {
                // What is left of them waits for whoever goes on.
                return Ok(());
            }
        }
        Ok(())
    }

    /// Looks at all suspects once: ghosts that still are some stay suspects, unless this is the last look.
    async fn look_once(&mut self, is_last: bool) -> Result<ControlFlow<()>, String> {
        let mut left = self.standing.suspects.len();
        let mut stays_wrong = false;
        while let Some(first) = self.standing.suspects.first().filter(|_| left > 0) {
            let at = first.key.space;
            self.reader(at).await?;
            let space = self.space(at)?.clone();
            let own = self.standing.suspects.iter().take(left).take_while(|one| one.key.space == at);
            let chunk: Vec<Numbered> =
                own.take(MOST_IN_CHUNK).map(|one| (0, one.key, one.entry.clone())).collect();
            let Some(reader) = self.readers.get_mut(&space.site) else { return Ok(ControlFlow::Break(())) };
            let looked = reader.look(&space, &chunk).await?;
            for ((_, key, entry), looked) in chunk.into_iter().zip(looked) {
                // Of what is not as acknowledged its listing says nothing more, and there may be very many of these.
                let is_broken = self.class(&space, &entry, &looked, None).is_worth_a_second_look();
                let is_listed = if is_broken { None } else { self.is_listed_now(&space, key).await };
                let was = self.standing.suspects.remove(0).class;
                left -= 1;
                let class = match self.class(&space, &entry, &looked, is_listed) {
                    now if now.is_worth_a_second_look() || !was.is_broken() => now,
                    _ => Class::Late,
                };
                let suspect = Suspect { key, entry, class };
                if suspect.is_ghost() && !is_last {
                    self.suspected = Some(Instant::now());
                    self.standing.suspects.push(suspect);
                } else {
                    stays_wrong |= suspect.is_ghost();
                    self.decide(&space, key, &suspect.entry, class, &looked)?;
                }
            }
            if !self.listener.reached(self.standing)? {
                return Ok(ControlFlow::Break(()));
            }
        }
        self.stayed_wrong += u32::from(stays_wrong);
        Ok(ControlFlow::Continue(()))
    }

    async fn is_listed_now(&mut self, space: &Space, key: Key) -> Option<bool> {
        if !self.what.manner.listings {
            return None;
        }
        let reader = self.readers.get_mut(&space.site).filter(|reader| reader.can(Capability::LIST))?;
        let (container, object) = space.names(key);
        listing::is_listed(reader, &container, &object).await
    }

    /// Names in the listing that no change in the ledger is about: either others wrote them, or they are not there at all.
    /// They are counted together, once all of them were asked for: a reading that is ended on the way asks for all of
    /// them again.
    async fn strangers(&mut self, (space, container): (u16, u64), listing: Listing) -> Result<(), String> {
        let (names, beyond) = listing.left(MOST_STRANGERS);
        let at = space;
        let space = self.space(at)?.clone();
        let (mut others, mut ghosts) = (beyond, Vec::new());
        for some in names.chunks(MOST_IN_CHUNK) {
            let of = |object: &u64| (0, Key { space: at, container, object: *object }, Entry::default());
            let some: Vec<Numbered> = some.iter().map(of).collect();
            let Some(reader) = self.readers.get_mut(&space.site) else { return Ok(()) };
            let looked = reader.look(&space, &some).await?;
            for ((_, key, entry), looked) in some.into_iter().zip(looked) {
                match looked.is_there() {
                    Some(true) => others += 1,
                    None => {}
                    Some(false) => ghosts.push((key, entry, looked)),
                }
            }
        }
        self.standing.others += others;
        if !ghosts.is_empty() && !self.what.manner.settle.is_zero() {
            self.suspected = Some(Instant::now());
        }
        for (key, entry, looked) in ghosts {
            if self.what.manner.settle.is_zero() {
                self.decide(&space, key, &entry, Class::ListedNotThere, &looked)?;
            } else {
                self.standing.suspects.push(Suspect { key, entry, class: Class::ListedNotThere });
            }
        }
        Ok(())
    }
}
