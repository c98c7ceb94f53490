//! The prober beside a load: keys with one writer each, whose changes are looked at from other connections at drawn times after
//! each acknowledgement. It sends no more than a share of what the load has done, ends soon after it is told to whatever the store
//! does, and takes away what it wrote.
//!
//! Times are drawn evenly over the logarithm, up to a reach that is drawn for each key, so that short windows and long ones are
//! both met in a run of minutes, and behind the last miss, so that its end is met. What is reported is the time at which a look
//! really began.

mod key;
mod requests;
mod sharing;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cosmark_adaptor_api::{Client, Session, clock};
use cosmark_history::Operation;
use cosmark_metrics::{ConsistencySums, LookClass, ProbeOperation};
use futures_util::StreamExt;
use futures_util::future::{LocalBoxFuture, join};
use futures_util::stream::FuturesUnordered;
use tokio::sync::Notify;

use crate::change::Change;
pub use sharing::Sharing;

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
    /// Requests that are recorded at most, of its own objects and as many of those that are shared: [`most_recorded`],
    /// [`Control::take_recorded`]. 0: none is.
    pub records: u64,
    /// Objects that drivers share; `None` = there is no other driver.
    pub sharing: Option<Sharing>,
}

/// Requests that are recorded of one driver and stage. A row takes about 100 bytes on its way.
const MOST_RECORDED: u64 = 100_000;
/// Drivers that may record so many each: all that is said of a run goes through one stream, which has an end.
const MOST_IN_FULL: u64 = 4;
/// Fewer are no history.
const LEAST_RECORDED: u64 = 10_000;

/// How many requests each of so many drivers may record in a stage, of its own objects and as many of those that are
/// shared.
#[must_use]
pub fn most_recorded(drivers: u32) -> u64 {
    (MOST_IN_FULL * MOST_RECORDED / u64::from(drivers.max(1))).clamp(LEAST_RECORDED, MOST_RECORDED)
}

/// How many of `most` requests may be recorded by now: evenly over the load, so that none of its parts is left out, and
/// some to begin with.
fn by_now(most: u64, (began_ns, ends_ns): (u64, u64), now_ns: u64) -> u64 {
    let whole_ns = ends_ns.saturating_sub(began_ns).max(1);
    let passed_ns = now_ns.saturating_sub(began_ns).min(whole_ns);
    let even = u128::from(most) * u128::from(passed_ns) / u128::from(whole_ns);
    u64::try_from(even).unwrap_or(most).saturating_add(most / 20).min(most)
}

/// Requests of the prober, for others.
#[derive(Debug, Default)]
struct Recorded {
    waiting: Vec<ProbeOperation>,
    own: u64,
    shared: u64,
    missed: u64,
}

/// What the prober hears of the load.
#[derive(Debug, Default)]
pub struct Control {
    operations: AtomicU64,
    is_ending: AtomicBool,
    is_at_once: AtomicBool,
    ended: Notify,
    recorded: Mutex<Recorded>,
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

    /// What was done and seen since this was asked for last, and how many requests are not recorded because there are too many. Of an
    /// object of its own all requests come together, or none.
    pub fn take_recorded(&self) -> (Vec<ProbeOperation>, u64) {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut recorded.waiting), std::mem::take(&mut recorded.missed))
    }

    /// All requests of an object that nobody else reads, unless there are more than `most` then.
    fn add_own(&self, life: &[Operation], most: u64) {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        let count = life.len() as u64;
        if recorded.own + count > most {
            recorded.missed += count;
            return;
        }
        recorded.own += count;
        recorded.waiting.extend(life.iter().map(sharing::recorded));
    }

    /// A request of an object that is shared.
    fn add_shared(&self, operation: ProbeOperation) {
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        recorded.shared += 1;
        recorded.waiting.push(operation);
    }

    /// There are `most` of them, and no more are recorded: without the changes no reading says anything.
    fn has_all_shared(&self, most: u64) -> bool {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner).shared >= most
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
        edges: RefCell::default(),
        next_key: Cell::new(0),
        there: RefCell::default(),
        shared: Cell::new(0),
        began_ns: clock::now_ns(),
    };
    let mut lives = FuturesUnordered::new();
    let (mut sharing, mut is_shared_over) = (Box::pin(field.share()), false);
    while !control.is_ending() {
        let has_room = lives.len() < MOST_KEYS && field.there.borrow().len() < MOST_THERE;
        if has_room && field.waiting.get() == 0 && field.may_begin() {
            lives.push(field.life());
        }
        tokio::select! {
            Some(()) = lives.next() => {}
            () = sharing.as_mut(), if !is_shared_over => is_shared_over = true,
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
    let is_at_once = control.is_at_once.load(Ordering::Acquire);
    let ending = async {
        let shared = async {
            if !is_shared_over {
                sharing.as_mut().await;
            }
        };
        join(async { while lives.next().await.is_some() {} }, shared).await
    };
    let _ = tokio::time::timeout(if is_at_once { Duration::ZERO } else { GRACE }, ending).await;
    // They may hold connections that are needed now.
    drop((lives, sharing));
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
    /// Where windows end, as far as it is known.
    edges: RefCell<BTreeMap<LookClass, key::Edge>>,
    next_key: Cell<u32>,
    /// What was written and not deleted.
    there: RefCell<BTreeSet<String>>,
    /// Of the requests that were sent, those for what is shared.
    shared: Cell<u64>,
    /// When the prober began.
    began_ns: u64,
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

    /// Requests that may be recorded by now; all where nobody knows when the load ends.
    fn may_record(&self) -> u64 {
        let most = self.plan.records;
        self.plan.ends_ns.map_or(most, |ends_ns| by_now(most, (self.began_ns, ends_ns), clock::now_ns()))
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
}

#[cfg(test)]
mod tests {
    use cosmark_history::{Kind, Outcome};

    use super::*;

    #[test]
    fn what_may_be_recorded_is_spread_over_the_whole_load() {
        let load = (1_000, 101_000);
        for (now_ns, most) in [(0, 500), (1_000, 500), (51_000, 5_500), (96_000, 10_000), (200_000, 10_000)] {
            assert_eq!(by_now(10_000, load, now_ns), most, "{now_ns}");
        }
        assert_eq!(by_now(0, load, 51_000), 0, "none is recorded");
        assert_eq!(by_now(u64::MAX, (5, 5), 6), u64::MAX);
    }

    #[test]
    fn what_all_drivers_record_together_has_an_end_however_many_there_are() {
        for (drivers, most) in [(0, 100_000), (1, 100_000), (4, 100_000), (10, 40_000), (1000, 10_000)] {
            assert_eq!(most_recorded(drivers), most, "{drivers}");
        }
        let read = Operation {
            call_ns: 1,
            return_ns: 2,
            value: 0,
            key: 0,
            process: 0,
            kind: Kind::Read,
            outcome: Outcome::Done,
        };
        let control = Control::default();
        control.add_own(&[read; 3], 4);
        control.add_own(&[read; 2], 4);
        control.add_shared(sharing::recorded(&read));
        // Of an object all, or none.
        let (recorded, missed) = control.take_recorded();
        assert_eq!((recorded.len(), missed), (4, 2));
        assert!(control.has_all_shared(1) && !control.has_all_shared(2));
    }
}
