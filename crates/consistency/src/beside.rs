//! The prober beside a load: keys with one writer each, whose changes are looked at from other connections at drawn times after
//! each acknowledgement. It sends no more than a share of what the load has done, ends soon after it is told to whatever the store
//! does, and takes away what it wrote.
//!
//! Times are drawn evenly over the logarithm, up to a reach that is drawn for each key, so that short windows and long ones are
//! both met in a run of minutes; what is reported is the time at which a look really began.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cosmark_adaptor_api::{
    BytesSource, Client, CollectSink, Error, ErrorKind, ListRequest, Marks, ObjectName, PutOptions, Session,
    clock,
};
use cosmark_history::{ABSENT, Kind, Operation, Outcome, Rules, Wrong, check};
use cosmark_metrics::{ConsistencySums, LookClass, LookFrom};
use futures_util::StreamExt;
use futures_util::future::{LocalBoxFuture, join, join_all};
use futures_util::stream::FuturesUnordered;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::life::{BYTES, CHANGES, Change, content, version_of};

/// How to probe beside a load.
#[derive(Debug, Clone, PartialEq)]
pub struct Beside {
    /// Requests for each million operations of the load, at most.
    pub share_per_million: u32,
    /// Connections that only read and list.
    pub readers: usize,
    /// Listings, too.
    pub lists: bool,
    /// Looks reach so far after an acknowledgement.
    pub reach: Duration,
    /// A request without an answer is given up after this.
    pub patience: Duration,
    /// Where the keys are.
    pub container: String,
    /// How the keys begin; nothing else in the container does.
    pub prefix: String,
    /// What is drawn follows from it.
    pub seed: u64,
    /// When the load ends by its plan, on the clock of [`clock::now_ns`]; `None` = that is not known.
    pub ends_ns: Option<u64>,
}

/// What the prober hears of the load.
#[derive(Debug, Default)]
pub struct Control {
    operations: AtomicU64,
    is_ending: AtomicBool,
    is_at_once: AtomicBool,
    ended: Notify,
}

impl Control {
    /// So many more operations of the load have ended.
    pub fn add_operations(&self, count: u64) {
        self.operations.fetch_add(count, Ordering::Relaxed);
    }

    /// Operations of the load that have ended.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// The load is over: nothing more is looked at, and what was written is taken away. `at_once`: what is under way is dropped,
    /// and there is less time to take away.
    pub fn end(&self, at_once: bool) {
        self.is_at_once.fetch_or(at_once, Ordering::Release);
        self.is_ending.store(true, Ordering::Release);
        self.ended.notify_waiters();
    }

    fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }
}

/// A connection, and the number of the login that it uses.
pub struct Joined {
    /// The connection.
    pub client: Box<dyn Client>,
    /// Of its login.
    pub generation: u64,
}

/// Where connections and logins come from.
pub trait Lines {
    /// A connection of its own.
    fn connect(&self) -> LocalBoxFuture<'_, Result<Joined, String>>;
    /// A later login than the one of this number.
    fn renew(&self, seen: u64) -> LocalBoxFuture<'_, Option<(u64, Arc<Session>)>>;
}

/// Connections that write.
const WRITERS: usize = 2;
/// Reads after each change, beside the one while it is made.
const READS: usize = 5;
/// Listings after a change that shows in one.
const LISTS: usize = 2;
/// Keys under way.
const MOST_KEYS: usize = 512;
/// Objects that may be there at the same time, those of failed writes included.
const MOST_THERE: usize = 4096;
/// How often it is looked whether more may be sent.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Looks under way may end for so long after the load.
const GRACE: Duration = Duration::from_millis(1500);
/// And what was written is taken away within this time, or within the second where all ends at once.
const CLEANING: [Duration; 2] = [Duration::from_secs(4), Duration::from_millis(1500)];
/// Such a share of all looks is sent at once after the acknowledgement.
const AT_ONCE: f64 = 0.12;
/// Reaches of keys, in ms, below the one that is asked for.
const REACHES_MS: [u64; 3] = [100, 1_000, 10_000];

/// Probes until [`Control::end`] is called, and a few seconds longer at most. `sums` is right at any time, also when this is dropped.
///
/// # Errors
/// One sentence, when there are no connections.
pub async fn beside(
    plan: &Beside,
    control: &Control,
    lines: &dyn Lines,
    sums: &Mutex<ConsistencySums>,
) -> Result<(), String> {
    let mut hands = Vec::new();
    for _ in 0..WRITERS + plan.readers.clamp(1, 64) {
        hands.push(tokio::sync::Mutex::new(lines.connect().await?));
    }
    let field = Field {
        plan,
        control,
        lines,
        sums,
        hands,
        reserved: Cell::new(0),
        waiting: Cell::new(0),
        queued: Cell::new(0),
        random: Cell::new(plan.seed),
        next_key: Cell::new(0),
        there: RefCell::default(),
    };
    let mut lives = FuturesUnordered::new();
    while !control.is_ending() {
        let has_room = lives.len() < MOST_KEYS && field.there.borrow().len() < MOST_THERE;
        if has_room && field.waiting.get() == 0 && field.may_begin() {
            lives.push(field.life());
        }
        tokio::select! {
            Some(()) = lives.next() => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
    let is_at_once = control.is_at_once.load(Ordering::Acquire);
    let ending = async { while lives.next().await.is_some() {} };
    let _ = tokio::time::timeout(if is_at_once { Duration::ZERO } else { GRACE }, ending).await;
    drop(lives);
    field.clean(CLEANING[usize::from(is_at_once)]).await;
    Ok(())
}

/// What keys share.
struct Field<'a> {
    plan: &'a Beside,
    control: &'a Control,
    lines: &'a dyn Lines,
    sums: &'a Mutex<ConsistencySums>,
    /// The writers, then the readers.
    hands: Vec<tokio::sync::Mutex<Joined>>,
    /// Requests that were sent or are promised.
    reserved: Cell<u64>,
    /// Keys that wait for their next change.
    waiting: Cell<usize>,
    /// Requests that wait for their connection: while there are any, nothing more is begun, so that looks are seldom late.
    queued: Cell<usize>,
    random: Cell<u64>,
    next_key: Cell<u32>,
    /// What was written and not deleted.
    there: RefCell<BTreeSet<String>>,
}

/// What one key's looks need.
struct Life {
    /// Its writer.
    writer: usize,
    reach: Duration,
    history: RefCell<Vec<Operation>>,
    /// The last change that was begun.
    latest: Cell<u64>,
}

/// A look that had an answer.
type Looked = Option<(u64, bool)>;

impl Field<'_> {
    fn sum(&self, change: impl FnOnce(&mut ConsistencySums)) {
        change(&mut self.sums.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// From 0 to below 1 (SplitMix64, G. Steele and others, OOPSLA 2014).
    fn draw(&self) -> f64 {
        let state = self.random.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.random.set(state);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn draw_below(&self, bound: usize) -> usize {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below the bound")]
        let drawn = (self.draw() * bound as f64) as usize;
        drawn.min(bound.saturating_sub(1))
    }

    /// A reach for a key that begins now; `None` = the load ends too soon for any.
    fn reach(&self) -> Option<Duration> {
        let left_ns = self.plan.ends_ns.map(|ends_ns| ends_ns.saturating_sub(clock::now_ns()));
        // So that its first write, an overwrite and a delete have their time.
        let most = left_ns.map_or(Duration::MAX, |left_ns| Duration::from_nanos(left_ns / 3));
        let shorter = REACHES_MS.into_iter().map(Duration::from_millis).filter(|one| *one < self.plan.reach);
        let fit: Vec<Duration> = shorter.chain([self.plan.reach]).filter(|one| *one <= most).collect();
        fit.get(self.draw_below(fit.len())).copied()
    }

    /// Requests that a change takes.
    fn cost(&self, version: u64) -> u64 {
        let is_listed =
            self.plan.lists && Change { key: 0, version, object: "", processes: 0 }.class_of_list().is_some();
        (2 + READS + if is_listed { LISTS } else { 0 }) as u64
    }

    /// Whether so many requests more are within the share; if so they are promised.
    fn reserve(&self, requests: u64) -> bool {
        let allowed =
            u128::from(self.control.operations()) * u128::from(self.plan.share_per_million) / 1_000_000;
        let wanted = self.reserved.get() + requests;
        let fits = self.queued.get() == 0 && u128::from(wanted) <= allowed;
        if fits {
            self.reserved.set(wanted);
        }
        fits
    }

    /// The first change of a key and the delete at the end.
    fn may_begin(&self) -> bool {
        let soon = Duration::from_nanos(
            self.plan.ends_ns.map_or(u64::MAX, |ends| ends.saturating_sub(clock::now_ns())),
        );
        soon / 3 >= Duration::from_millis(REACHES_MS[0]).min(self.plan.reach)
            && self.reserve(self.cost(1) + 1)
    }

    /// Waits until a moment; `false` = the load is over before it.
    async fn until(&self, at_ns: u64) -> bool {
        let ended = self.control.ended.notified();
        if self.control.is_ending() {
            return false;
        }
        let left = Duration::from_nanos(at_ns.saturating_sub(clock::now_ns()));
        if left.is_zero() {
            return true;
        }
        tokio::select! {
            () = tokio::time::sleep(left) => true,
            () = ended => false,
        }
    }

    /// Waits until so many more requests may be sent; `false` = the load is over before it.
    async fn promised(&self, requests: u64) -> bool {
        self.waiting.set(self.waiting.get() + 1);
        let mut may = self.reserve(requests);
        while !may && self.until(clock::now_ns() + LOOK_EVERY.as_nanos() as u64).await {
            may = self.reserve(requests);
        }
        self.waiting.set(self.waiting.get() - 1);
        may
    }

    /// One key.
    async fn life(&self) {
        let Some(reach) = self.reach() else { return };
        let key = self.next_key.replace(self.next_key.get().wrapping_add(1));
        let object = format!("{}{key:08}", self.plan.prefix);
        let writer = key as usize % WRITERS;
        let life = Life { writer, reach, history: RefCell::default(), latest: Cell::new(0) };
        for version in 1..=CHANGES {
            if version > 1 && !self.promised(self.cost(version)).await {
                break;
            }
            let change = Change { key, version, object: &object, processes: 0 };
            if !self.change(&change, &life).await || self.control.is_ending() {
                break;
            }
        }
        self.judge(life);
    }

    /// Changes the key and looks at it; `false`: the change has no answer that can be built on.
    async fn change(&self, change: &Change<'_>, life: &Life) -> bool {
        life.latest.set(change.version);
        if !change.is_delete() {
            self.there.borrow_mut().insert(change.object.to_owned());
        }
        let beside = self.read(change, life, self.reader(), None);
        let (written, _) = join(self.write(change, life), beside).await;
        let Some((acked_ns, endpoint)) = written else { return false };
        if change.is_delete() {
            self.there.borrow_mut().remove(change.object);
        }
        self.sum(|sums| sums.changes += 1);
        let reads = join_all(self.times(READS, life.reach).into_iter().map(|after_ns| async move {
            if !self.until(acked_ns.saturating_add(after_ns)).await {
                return None;
            }
            // The connection that wrote is one of those that read.
            let of = self.draw_below(self.hands.len() - WRITERS + 1);
            let hand = if of == 0 { life.writer } else { WRITERS + of - 1 };
            self.read(change, life, hand, Some((acked_ns, endpoint))).await
        }));
        let wanted = change.class_of_list().filter(|_| self.plan.lists);
        let times = wanted.map(|_| self.times(LISTS, life.reach)).unwrap_or_default();
        let lists = join_all(times.into_iter().map(|after_ns| async move {
            if !self.until(acked_ns.saturating_add(after_ns)).await {
                return None;
            }
            self.list(change, acked_ns, endpoint).await
        }));
        let (reads, lists) = join(reads, lists).await;
        self.seen(change.class(), &reads);
        if let Some(class) = wanted {
            self.seen(class, &lists);
        }
        true
    }

    fn seen(&self, class: LookClass, looks: &[Looked]) {
        let all = || looks.iter().flatten();
        let Some(last_us) = all().map(|look| look.0).max() else { return };
        let last_stale_us = all().filter(|look| look.1).map(|look| look.0).max();
        self.sum(|sums| sums.change(class, last_us, last_stale_us));
    }

    /// Times after an acknowledgement, ns, one in each of as many parts of the axis.
    fn times(&self, count: usize, reach: Duration) -> Vec<u64> {
        let most_ms = (reach.as_secs_f64() * 1e3).max(1.0);
        let one = |number: usize| {
            let place = (number as f64 + self.draw()) / count as f64;
            if place < AT_ONCE {
                return 0;
            }
            let after_ms = most_ms.powf((place - AT_ONCE) / (1.0 - AT_ONCE));
            Duration::from_secs_f64(after_ms / 1e3).as_nanos() as u64
        };
        (0..count).map(one).collect()
    }

    fn reader(&self) -> usize {
        WRITERS + self.draw_below(self.hands.len() - WRITERS)
    }

    /// A connection, once it is free.
    async fn hand(&self, at: usize) -> Option<tokio::sync::MutexGuard<'_, Joined>> {
        let hand = self.hands.get(at)?;
        if let Ok(free) = hand.try_lock() {
            return Some(free);
        }
        self.queued.set(self.queued.get() + 1);
        let free = hand.lock().await;
        self.queued.set(self.queued.get() - 1);
        Some(free)
    }

    /// Gives when it was acknowledged, and by which endpoint.
    async fn write(&self, change: &Change<'_>, life: &Life) -> Option<(u64, u16)> {
        let mut hand = self.hand(life.writer).await?;
        let name = ObjectName { container: &self.plan.container, object: change.object };
        let bytes = content(change.key, change.version);
        let (source, mut marks, call_ns) = (BytesSource(&bytes), Marks::default(), clock::now_ns());
        let result = if change.is_delete() {
            self.within(hand.client.delete(name, &mut marks)).await
        } else {
            self.within(hand.client.put(name, &source, PutOptions::default(), &mut marks)).await.map(drop)
        };
        let return_ns = clock::now_ns();
        self.count(&marks);
        let (kind, value) =
            if change.is_delete() { (Kind::Delete, ABSENT) } else { (Kind::Write, change.version) };
        let outcome = if result.is_ok() { Outcome::Done } else { Outcome::Unknown };
        let (key, process) = (change.key, life.writer as u32);
        life.history.borrow_mut().push(Operation { call_ns, return_ns, value, key, process, kind, outcome });
        match result {
            Ok(()) => Some((return_ns, marks.endpoint)),
            Err(error) => {
                self.failed(&mut hand, &error).await;
                None
            }
        }
    }

    async fn read(&self, change: &Change<'_>, life: &Life, hand: usize, acked: Option<(u64, u16)>) -> Looked {
        let mut joined = self.hand(hand).await?;
        let name = ObjectName { container: &self.plan.container, object: change.object };
        let (mut sink, mut marks) = (CollectSink::new(BYTES * 4), Marks::default());
        let call_ns = clock::now_ns();
        let result = self.within(joined.client.get(name, None, Some(&mut sink), &mut marks)).await;
        let return_ns = clock::now_ns();
        self.count(&marks);
        let value = match result {
            // What is no version of this key was written by nobody.
            Ok(_) => version_of(&sink.bytes, change.key).unwrap_or(u64::MAX),
            Err(error) if error.status() == Some(404) => ABSENT,
            Err(error) => {
                self.failed(&mut joined, &error).await;
                return None;
            }
        };
        let (kind, outcome, key, process) = (Kind::Read, Outcome::Done, change.key, hand as u32);
        life.history.borrow_mut().push(Operation { call_ns, return_ns, value, key, process, kind, outcome });
        let (acked_ns, endpoint) = acked?;
        let from = match () {
            () if hand == life.writer => LookFrom::SameConnection,
            () if is_other(endpoint, marks.endpoint) => LookFrom::OtherEndpoint,
            () => LookFrom::OtherConnection,
        };
        let look = (call_ns.saturating_sub(acked_ns) / 1000, value != change.value());
        self.sum(|sums| sums.look(change.class(), from, look.0, look.1));
        Some(look)
    }

    async fn list(&self, change: &Change<'_>, acked_ns: u64, endpoint: u16) -> Looked {
        let class = change.class_of_list()?;
        let mut joined = self.hand(self.reader()).await?;
        let request = ListRequest {
            container: &self.plan.container,
            prefix: change.object,
            page_size: Some(10),
            want_names: true,
            ..ListRequest::default()
        };
        let (mut marks, call_ns) = (Marks::default(), clock::now_ns());
        let result = self.within(joined.client.list(request, &mut marks)).await;
        self.count(&marks);
        match result {
            Ok(page) => {
                let is_there = page.names.iter().any(|name| name == change.object);
                let look = (call_ns.saturating_sub(acked_ns) / 1000, is_there == change.is_delete());
                let other = is_other(endpoint, marks.endpoint);
                let from = if other { LookFrom::OtherEndpoint } else { LookFrom::OtherConnection };
                self.sum(|sums| sums.look(class, from, look.0, look.1));
                Some(look)
            }
            Err(error) => {
                self.failed(&mut joined, &error).await;
                None
            }
        }
    }

    async fn within<T>(&self, call: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        tokio::time::timeout(self.plan.patience, call).await.unwrap_or_else(|_| {
            let message = format!("no answer within {:.0} s", self.plan.patience.as_secs_f64());
            Err(Error::new(ErrorKind::Timeout, message))
        })
    }

    fn count(&self, marks: &Marks) {
        let operations = self.control.operations();
        self.sum(|sums| {
            sums.requests += u64::from(marks.requests.max(1));
            sums.load_operations = operations;
        });
    }

    async fn failed(&self, hand: &mut Joined, error: &Error) {
        self.sum(|sums| {
            sums.unanswered += 1;
            sums.unanswered_why.get_or_insert_with(|| error.message().to_owned());
        });
        if error.is_unauthorized()
            && let Ok(Some((generation, session))) =
                tokio::time::timeout(self.plan.patience, self.lines.renew(hand.generation)).await
        {
            hand.client.set_session(&session);
            hand.generation = generation;
        }
    }

    /// What a key's history says.
    fn judge(&self, life: Life) {
        let history = life.history.into_inner();
        let Ok(report) = check(&history, Rules::default()) else { return };
        let back = (0..self.hands.len())
            .map(|hand| went_back(&history, hand as u32, life.latest.get()))
            .sum::<u64>();
        self.sum(|sums| {
            sums.reads += report.counts.reads;
            sums.back_on_a_connection += back;
            sums.went_back += report.counts.of(Wrong::WentBack);
            sums.never_written += report.counts.of(Wrong::NeverWritten);
        });
    }

    /// Takes away what is there.
    async fn clean(&self, within: Duration) {
        let until = Instant::now() + within;
        let names: Vec<String> = self.there.borrow().iter().cloned().collect();
        let names = RefCell::new(names);
        let cleaning = join_all(self.hands.iter().map(|hand| async {
            let mut hand = hand.lock().await;
            while Instant::now() < until {
                let Some(object) = names.borrow_mut().pop() else { return };
                let (name, mut marks) =
                    (ObjectName { container: &self.plan.container, object: &object }, Marks::default());
                let deleted = tokio::time::timeout_at(until, hand.client.delete(name, &mut marks)).await;
                self.count(&marks);
                if matches!(&deleted, Ok(Ok(())))
                    || matches!(&deleted, Ok(Err(error)) if error.status() == Some(404))
                {
                    self.there.borrow_mut().remove(&object);
                }
            }
        }));
        let _ = tokio::time::timeout_at(until, cleaning).await;
        let left = self.there.take();
        let shown = left.iter().map(|object| format!("{}/{object}", self.plan.container)).take(100);
        self.sum(|sums| sums.left.extend(shown));
    }
}

/// Whether two numbers of endpoints are known and differ.
fn is_other(one: u16, other: u16) -> bool {
    one != 0 && other != 0 && one != other
}

/// Reads of one connection that gave an older version than one of its earlier reads: with the versions that it can have seen chosen
/// as well as they can be, since no object is what three of them look like.
fn went_back(history: &[Operation], process: u32, latest: u64) -> u64 {
    let mut reads: Vec<&Operation> =
        history.iter().filter(|one| one.kind == Kind::Read && one.process == process).collect();
    reads.sort_by_key(|one| one.call_ns);
    let (mut floor, mut back) = (0, 0);
    for read in reads {
        let absences =
            [0].into_iter().chain((1..=latest).filter(|version| {
                Change { key: 0, version: *version, object: "", processes: 0 }.is_delete()
            }));
        let seen = if read.value == ABSENT {
            absences.filter(|version| *version >= floor).min()
        } else {
            Some(read.value).filter(|version| *version >= floor)
        };
        match seen {
            // What nobody wrote is counted elsewhere.
            Some(u64::MAX) => {}
            Some(version) => floor = version,
            None => back += 1,
        }
    }
    back
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(call_ns: u64, value: u64) -> Operation {
        Operation {
            call_ns,
            return_ns: call_ns + 1,
            value,
            key: 0,
            process: 3,
            kind: Kind::Read,
            outcome: Outcome::Done,
        }
    }

    #[test]
    fn a_connection_went_back_only_where_no_order_of_the_versions_explains_it() {
        for (values, latest, back) in [
            (&[0, 1, 1, 2][..], 2, 0),
            (&[1, 0], 2, 1),
            // The absence after the second version is that of the delete.
            (&[1, 2, 0, 4, 0], 5, 0),
            (&[2, 1, 2, 1], 2, 2),
            (&[4, 0], 4, 1),
            (&[4, 2, 0], 4, 2),
            (&[2, u64::MAX, 2], 2, 0),
        ] {
            let mut history: Vec<_> = (0..).zip(values).map(|(at, value)| read(at * 10, *value)).collect();
            history.reverse();
            assert_eq!(went_back(&history, 3, latest), back, "{values:?}");
            assert_eq!(went_back(&history, 2, latest), 0);
        }
    }
}
