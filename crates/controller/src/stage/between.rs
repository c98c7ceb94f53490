//! What drivers saw of what other drivers wrote, by clocks that were compared. A reading is held against the last change of its object
//! that had been acknowledged before it by more than both clocks may be off. Which readings count follows from times alone, never from
//! what they gave; what a lost driver has changed unheard counts against nobody.

use std::collections::BTreeMap;

use cosmark_metrics::{BetweenDrivers, ConsistencySums, LookClass, LookFrom, ProbeKind, ProbeOperation};
use cosmark_wire::ProbeShare;
use cosmark_workload::share::MissionShare;

use super::{StageRun, consistency};

/// Requests at shared objects that are held, of all drivers; one has about 50 bytes.
const MOST_SHARED: usize = 4_000_000;

/// Changes before the last one that a reading is counted at.
const MOST_BACK: usize = 50;

/// What probers have said until now.
#[derive(Default)]
pub(super) struct Heard {
    pub sums: Option<ConsistencySums>,
    /// Requests at objects that drivers share, by the driver that made them.
    pub shared: BTreeMap<usize, Vec<ProbeOperation>>,
    pub missed: u64,
}

/// A driver, and its requests at shared objects.
struct Driver<'a> {
    name: String,
    is_lost: bool,
    /// The common instant on its clock.
    origin_ns: u64,
    /// By how much its clock may be off.
    error_ns: u64,
    operations: &'a [ProbeOperation],
}

/// A change of an object on the common clock.
#[derive(Debug, Clone, Copy)]
struct Made {
    call_ns: i64,
    return_ns: i64,
    /// The version that it wrote; `None`: it deleted.
    version: Option<u64>,
    is_done: bool,
}

/// A reading on the common clock.
#[derive(Debug, Clone, Copy)]
struct Look {
    call_ns: i64,
    return_ns: i64,
    value: u64,
    error_ns: i64,
}

/// What a reading says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Nothing,
    NeverWritten,
    BeforeSent,
    /// The last change before it, and the first one that it missed, if it missed any: places in the changes of its object.
    Of {
        last: usize,
        missed: Option<usize>,
    },
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// The changes of one object, and where among them each version and the deletes are.
#[derive(Debug, Default)]
struct Object {
    /// In their order: one writer makes them one after the other.
    changes: Vec<Made>,
    /// Each version with its place in `changes`, by version.
    versions: Vec<(u64, usize)>,
    /// Places of deletes.
    deletes: Vec<usize>,
    /// The first write and the first delete without an answer.
    open_write: Option<usize>,
    open_delete: Option<usize>,
}

impl Object {
    /// To be called once all changes are there.
    fn sort(&mut self) {
        self.changes.sort_by_key(|change| change.call_ns);
        let places = || self.changes.iter().map(|change| change.version).zip(0..);
        self.deletes = places().filter_map(|(version, at)| version.is_none().then_some(at)).collect();
        self.versions = places().filter_map(|(version, at)| Some((version?, at))).collect();
        self.versions.sort_unstable();
        let first_open = |is_write: bool| {
            self.changes.iter().position(|change| !change.is_done && change.version.is_some() == is_write)
        };
        (self.open_write, self.open_delete) = (first_open(true), first_open(false));
    }

    /// The last change before place `end` that left what was read.
    fn last_with(&self, value: u64, end: usize) -> Option<usize> {
        if value == 0 {
            let count = self.deletes.partition_point(|at| *at < end);
            return count.checked_sub(1).and_then(|last| self.deletes.get(last)).copied();
        }
        let until = self.versions.partition_point(|row| *row < (value, end));
        let row = until.checked_sub(1).and_then(|last| self.versions.get(last));
        row.filter(|row| row.0 == value).map(|row| row.1)
    }

    fn is_open(&self, at: usize) -> bool {
        self.changes.get(at).is_some_and(|change| !change.is_done)
    }

    /// A change before place `end` that has no answer would have left what was read.
    fn may_be_open(&self, value: u64, end: usize) -> bool {
        if value == 0 {
            return self.open_delete.is_some_and(|at| at < end);
        }
        let from = self.versions.partition_point(|row| row.0 < value);
        let rows = self.versions.get(from..).unwrap_or_default();
        rows.iter().take_while(|row| **row < (value, end)).any(|row| self.is_open(row.1))
    }

    /// Some change wrote this version.
    fn has(&self, version: u64) -> bool {
        let at = self.versions.partition_point(|row| row.0 < version);
        self.versions.get(at).is_some_and(|row| row.0 == version)
    }
}

/// What a change is asked for by a reading behind it; what was there before is what was last known to be made.
fn class_of(changes: &[Made], at: usize) -> LookClass {
    let is_there = |change: &Made| change.version.is_some();
    let before = changes.get(..at).unwrap_or_default().iter().rfind(|change| change.is_done);
    match (before.is_some_and(is_there), changes.get(at).is_some_and(is_there)) {
        (_, false) => LookClass::ReadAfterDelete,
        (true, true) => LookClass::ReadAfterOverwrite,
        (false, true) => LookClass::ReadAfterCreate,
    }
}

/// Judges a reading by all changes of its object, in their order. One without an answer may be made at any time behind it, or never:
/// who sees it is right, who does not is, too, and who sees it after a later one that was acknowledged says nothing.
fn said(object: &Object, look: &Look) -> Said {
    let changes = &object.changes;
    let after_ns = look.return_ns.saturating_add(look.error_ns);
    let Some(last) = last_before(changes, look) else { return Said::Nothing };
    let sent = changes.partition_point(|change| change.call_ns <= after_ns);
    let missed_from = |from: usize| (from..=last).find(|at| !object.is_open(*at));
    match object.last_with(look.value, sent) {
        Some(seen) if seen >= last => Said::Of { last, missed: None },
        Some(_) if object.may_be_open(look.value, sent) => Said::Nothing,
        Some(seen) => Said::Of { last, missed: missed_from(seen + 1) },
        // Nothing was there before the first change, either.
        None if look.value == 0 => Said::Of { last, missed: missed_from(0) },
        // It is in none of the changes before.
        None if object.has(look.value) => Said::BeforeSent,
        None => Said::NeverWritten,
    }
}

/// The last change that was acknowledged before a look began; `None` where the look says nothing.
fn last_before(changes: &[Made], look: &Look) -> Option<usize> {
    let after_ns = look.return_ns.saturating_add(look.error_ns);
    // Behind the last change that was heard of, another one may have been made.
    let known_ns = changes.last().filter(|last| last.is_done).map(|last| last.return_ns);
    if known_ns.is_none_or(|known_ns| after_ns > known_ns) && !ends_before_the_unanswered(changes, after_ns) {
        return None;
    }
    // One writer makes them one after the other: both times ascend.
    let is_before = |change: &Made| change.return_ns.saturating_add(look.error_ns) < look.call_ns;
    let before = changes.get(..changes.partition_point(is_before)).unwrap_or_default();
    before.iter().rposition(|change| change.is_done)
}

/// What a listing says: which change made the object be there or gone, and whether the listing missed that. No listing
/// shows an overwrite.
fn listed(object: &Object, look: &Look) -> Option<(usize, bool)> {
    let changes = &object.changes;
    let last = last_before(changes, look)?;
    let after_ns = look.return_ns.saturating_add(look.error_ns);
    let sent = changes.partition_point(|change| change.call_ns <= after_ns);
    // So many changes within the clocks' error: anything may have been seen.
    if sent.saturating_sub(last) > MOST_BACK {
        return None;
    }
    let is_there = |at: usize| changes.get(at).is_some_and(|change| change.version.is_some());
    let (wanted, seen) = (is_there(last), look.value != 0);
    let is_one = |at: &usize| is_there(*at) == wanted && !object.is_open(*at);
    let made = (0..=last).rev().take(MOST_BACK).take_while(is_one).last()?;
    let open = if seen { object.open_write } else { object.open_delete };
    let may_be_seen = (last..sent.max(last + 1)).any(|at| is_there(at) == seen);
    let may_be_seen = may_be_seen || open.is_some_and(|at| at < sent);
    Some((made, !may_be_seen))
}

fn class_of_list(changes: &[Made], at: usize) -> LookClass {
    let is_there = changes.get(at).is_some_and(|change| change.version.is_some());
    if is_there { LookClass::ListAfterCreate } else { LookClass::ListAfterDelete }
}

/// The last change has no answer, and the reading was over before it was sent.
fn ends_before_the_unanswered(changes: &[Made], after_ns: i64) -> bool {
    changes.last().is_some_and(|last| !last.is_done && after_ns < last.call_ns)
}

/// The objects that drivers share, by key.
type Objects = BTreeMap<u32, Object>;

fn objects_of(drivers: &[Driver<'_>]) -> Objects {
    let mut objects = Objects::new();
    for (number, driver) in (0_u32..).zip(drivers) {
        let own = driver.operations.iter().filter(|one| one.writer() == Some(number));
        for one in own.filter(|one| matches!(one.kind, ProbeKind::Write | ProbeKind::Delete)) {
            objects.entry(one.key).or_default().changes.push(Made {
                call_ns: signed(one.call_ns) - signed(driver.origin_ns),
                return_ns: signed(one.return_ns) - signed(driver.origin_ns),
                version: (one.kind == ProbeKind::Write).then_some(one.value),
                is_done: one.is_done,
            });
        }
    }
    objects.values_mut().for_each(Object::sort);
    objects
}

/// By how much the clocks of two drivers may be off together, at most, ns.
fn most_error_ns(drivers: &[Driver<'_>]) -> u64 {
    let mut errors: Vec<u64> = drivers.iter().map(|driver| driver.error_ns).collect();
    errors.sort_unstable_by_key(|error_ns| std::cmp::Reverse(*error_ns));
    errors.iter().take(2).fold(0, |sum, error_ns| sum.saturating_add(*error_ns))
}

/// What a driver has read, or listed, of each other one.
fn looks_of(
    drivers: &[Driver<'_>],
    (number, reader): (u32, &Driver<'_>),
    kind: ProbeKind,
) -> BTreeMap<u32, Vec<(u32, Look)>> {
    let mut looks: BTreeMap<u32, Vec<(u32, Look)>> = BTreeMap::new();
    for one in reader.operations.iter().filter(|one| one.kind == kind && one.is_done) {
        let Some(writer) = one.writer().filter(|writer| *writer != number) else { continue };
        let Some(of) = usize::try_from(writer).ok().and_then(|at| drivers.get(at)) else { continue };
        let error_ns = reader.error_ns.saturating_add(of.error_ns);
        looks.entry(writer).or_default().push((one.key, look_of(one, reader.origin_ns, error_ns)));
    }
    looks
}

/// What all readings say together; `None` where no driver has another.
fn between(drivers: &[Driver<'_>]) -> Option<BetweenDrivers> {
    if drivers.len() < 2 {
        return None;
    }
    let objects = objects_of(drivers);
    let changes = objects.values().flat_map(|object| &object.changes);
    let mut found = BetweenDrivers {
        drivers: drivers.iter().map(|driver| driver.name.clone()).collect(),
        lost: drivers.iter().filter(|driver| driver.is_lost).map(|driver| driver.name.clone()).collect(),
        changes: changes.filter(|change| change.is_done).count() as u64,
        clock_error_ms: most_error_ns(drivers) as f64 / 1e6,
        ..BetweenDrivers::default()
    };
    let (mut counts, none) = (Counts::default(), Object::default());
    for (number, reader) in (0_u32..).zip(drivers) {
        let of = |key: &u32| objects.get(key).unwrap_or(&none);
        let mut lists = looks_of(drivers, (number, reader), ProbeKind::List);
        for (writer, looks) in looks_of(drivers, (number, reader), ProbeKind::Read) {
            found.reads += looks.len() as u64;
            let has_seen = looks.iter().any(|(_, look)| look.value != 0);
            if !has_seen && looks.iter().any(|(key, look)| is_missed(of(key), look)) {
                let name = drivers.get(writer as usize).map(|writer| writer.name.clone());
                found.blind.push((reader.name.clone(), name.unwrap_or_default()));
                lists.remove(&writer);
                continue;
            }
            for (key, look) in &looks {
                count(&mut found, &mut counts, (*key, of(key)), look);
            }
        }
        for (key, look) in lists.values().flatten() {
            counts.count_list((*key, of(key)), look);
        }
    }
    found.classes = consistency::classes(&counts.sums(&objects));
    Some(found)
}

fn look_of(one: &ProbeOperation, origin_ns: u64, error_ns: u64) -> Look {
    Look {
        call_ns: signed(one.call_ns) - signed(origin_ns),
        return_ns: signed(one.return_ns) - signed(origin_ns),
        value: one.value,
        error_ns: signed(error_ns),
    }
}

fn is_missed(object: &Object, look: &Look) -> bool {
    matches!(said(object, look), Said::Of { missed: Some(_), .. })
}

/// What is summed of readings.
#[derive(Default)]
struct Counts {
    sums: ConsistencySums,
    /// Last reading and last miss of each change, us after it.
    of_changes: BTreeMap<(u32, usize), (u64, Option<u64>)>,
    /// The same of listings.
    of_listed: BTreeMap<(u32, usize), (u64, Option<u64>)>,
}

/// How long after a change a look began, us.
fn after_us(changes: &[Made], at: usize, look: &Look) -> u64 {
    let return_ns = changes.get(at).map_or(look.call_ns, |change| change.return_ns);
    u64::try_from((look.call_ns - return_ns) / 1000).unwrap_or(0)
}

impl Counts {
    fn count_list(&mut self, (key, object): (u32, &Object), look: &Look) {
        let Some((at, is_stale)) = listed(object, look) else { return };
        let after_us = after_us(&object.changes, at, look);
        let class = class_of_list(&object.changes, at);
        self.sums.look(class, LookFrom::OtherDriver, after_us, is_stale);
        let entry = self.of_listed.entry((key, at)).or_insert((0, None));
        entry.0 = entry.0.max(after_us);
        entry.1 = entry.1.max(is_stale.then_some(after_us));
    }

    fn sums(mut self, objects: &Objects) -> ConsistencySums {
        for ((key, at), (last_us, missed_us)) in &self.of_changes {
            let changes = objects.get(key).map(|object| object.changes.as_slice()).unwrap_or_default();
            self.sums.change(class_of(changes, *at), *last_us, *missed_us);
        }
        for ((key, at), (last_us, missed_us)) in &self.of_listed {
            let changes = objects.get(key).map(|object| object.changes.as_slice()).unwrap_or_default();
            self.sums.change(class_of_list(changes, *at), *last_us, *missed_us);
        }
        self.sums
    }
}

fn count(found: &mut BetweenDrivers, counts: &mut Counts, (key, object): (u32, &Object), look: &Look) {
    let changes = object.changes.as_slice();
    let near = |change: &Made| {
        change.is_done && change.return_ns.abs_diff(look.call_ns) <= look.error_ns.unsigned_abs()
    };
    let (last, missed) = match said(object, look) {
        Said::Nothing => {
            found.unjudged += 1;
            return;
        }
        Said::NeverWritten => {
            found.never_written += 1;
            return;
        }
        Said::BeforeSent => {
            found.before_sent += 1;
            return;
        }
        Said::Of { last, missed } => (last, missed),
    };
    let nearest = changes.partition_point(|change| change.return_ns < look.call_ns - look.error_ns);
    found.within_clock_error += u64::from(look.error_ns > 0 && changes.get(nearest).is_some_and(near));
    let after_us = |at: usize| after_us(changes, at, look);
    let from = LookFrom::OtherDriver;
    counts.sums.look(class_of(changes, last), from, after_us(last), missed.is_some());
    // Of a long row of changes that were missed the first one and the last ones.
    let begin = missed.unwrap_or(last);
    let recent = begin.max(last.saturating_sub(MOST_BACK));
    let is_done = |at: &usize| changes.get(*at).is_some_and(|change| change.is_done);
    let all = [begin].into_iter().filter(|begin| *begin < recent).chain(recent..=last);
    for at in all.filter(is_done) {
        let entry = counts.of_changes.entry((key, at)).or_insert((0, None));
        entry.0 = entry.0.max(after_us(at));
        if missed.is_some() {
            entry.1 = entry.1.max(Some(after_us(at)));
            counts.sums.missed(class_of(changes, at), from, after_us(at));
        }
    }
}

impl StageRun<'_, '_> {
    /// The part of each driver in the probes beside the load; `None` where it has none.
    pub(super) fn probe_shares(&self, shares: &[MissionShare]) -> Vec<Option<ProbeShare>> {
        let first_work =
            |driver: usize| shares.iter().find(|share| share.driver == driver).map(|share| share.work);
        let works: Vec<Option<usize>> = (0..self.job.drivers.len()).map(first_work).collect();
        if self.stage.consistency.is_none() {
            return vec![None; works.len()];
        }
        // A driver probes the store of its first work: only who probes the same one can be held against the others.
        let mut targets = works
            .iter()
            .flatten()
            .filter_map(|work| self.stage.works.get(*work))
            .map(|work| (&work.auth, &work.storage));
        let first = targets.next();
        let is_one = targets.all(|target| Some(target) == first);
        let count = u32::try_from(works.iter().flatten().count()).unwrap_or(u32::MAX);
        let (tag, mut number) = (self.probe_tag(), 0);
        let mut share = |_| {
            number += 1;
            ProbeShare { tag, number: number - 1, of: if is_one { count } else { 1 } }
        };
        works.into_iter().map(|work| work.map(&mut share)).collect()
    }

    /// Another one for each stage and run, and the same for a controller that takes the run up (FNV-1a).
    fn probe_tag(&self) -> u64 {
        let record = self.job.dir.record();
        let submitted_ns = record.submitted.map_or(0, |at| at.as_nanosecond());
        let seed = self.job.workload.seed.unwrap_or(0);
        let text = format!("{} {submitted_ns} {seed} {} {}", record.id, self.step, self.index);
        text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        })
    }

    /// Takes what a driver's prober did.
    pub(super) fn take_probes(&mut self, driver: usize, operations: &[ProbeOperation], missed: u64) {
        self.probed.missed = self.probed.missed.saturating_add(missed);
        // Of each driver the first part: readings behind its end say nothing.
        let room = MOST_SHARED.saturating_sub(self.probed.shared.values().map(Vec::len).sum());
        let shared = operations.iter().filter(|one| one.writer().is_some()).copied().take(room);
        self.probed.shared.entry(driver).or_default().extend(shared);
        let Some(launch) = self.peers.get(driver).and_then(|peer| peer.launch.as_ref()) else { return };
        let (origin_ns, error_ns) = (launch.origin_ns, launch.clock_error_ns().unsigned_abs());
        let name = self.name_of(driver);
        self.job.dir.append_probes(self.index, &name, (origin_ns, error_ns), operations);
    }

    /// What drivers saw of each other's objects; their numbers are those of [`Self::probe_shares`].
    pub(super) fn between_drivers(&self) -> Option<BetweenDrivers> {
        if self.probed.shared.values().all(Vec::is_empty) {
            return None;
        }
        let probing = self.peers.iter().enumerate().filter(|(_, peer)| !peer.shares.is_empty());
        let drivers: Vec<Driver<'_>> = probing
            .map(|(at, peer)| Driver {
                name: self.name_of(at),
                is_lost: peer.is_lost || peer.is_cut,
                origin_ns: peer.launch.as_ref().map_or(0, |launch| launch.origin_ns),
                error_ns: peer.clock_bound_ns(),
                operations: self.probed.shared.get(&at).map(Vec::as_slice).unwrap_or_default(),
            })
            .collect();
        between(&drivers)
    }
}

#[cfg(test)]
mod tests;
