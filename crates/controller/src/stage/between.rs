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
}

impl Object {
    /// To be called once all changes are there.
    fn sort(&mut self) {
        self.changes.sort_by_key(|change| change.call_ns);
        let places = || self.changes.iter().map(|change| change.version).zip(0..);
        self.deletes = places().filter_map(|(version, at)| version.is_none().then_some(at)).collect();
        self.versions = places().filter_map(|(version, at)| Some((version?, at))).collect();
        self.versions.sort_unstable();
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

    /// Some change wrote this version.
    fn has(&self, version: u64) -> bool {
        let at = self.versions.partition_point(|row| row.0 < version);
        self.versions.get(at).is_some_and(|row| row.0 == version)
    }
}

/// What a change is asked for by a reading behind it.
fn class_of(changes: &[Made], at: usize) -> LookClass {
    let is_there = |at: usize| changes.get(at).is_some_and(|change| change.version.is_some());
    match (at.checked_sub(1).is_some_and(is_there), is_there(at)) {
        (_, false) => LookClass::ReadAfterDelete,
        (true, true) => LookClass::ReadAfterOverwrite,
        (false, true) => LookClass::ReadAfterCreate,
    }
}

/// Judges a reading by all changes of its object, in their order.
fn said(object: &Object, look: &Look) -> Said {
    let changes = &object.changes;
    let after_ns = look.return_ns.saturating_add(look.error_ns);
    // Behind the last change that was heard of, another one may have been made.
    let known_ns = changes.last().filter(|last| last.is_done).map(|last| last.return_ns);
    if known_ns.is_none_or(|known_ns| after_ns > known_ns) && !ends_before_the_unanswered(changes, after_ns) {
        return Said::Nothing;
    }
    // One writer makes them one after the other: both times ascend.
    let is_before =
        |change: &Made| change.is_done && change.return_ns.saturating_add(look.error_ns) < look.call_ns;
    let Some(last) = changes.partition_point(is_before).checked_sub(1) else { return Said::Nothing };
    let sent = changes.partition_point(|change| change.call_ns <= after_ns);
    match object.last_with(look.value, sent) {
        Some(seen) => Said::Of { last, missed: (seen < last).then_some(seen + 1) },
        // Nothing was there before the first change, either.
        None if look.value == 0 => Said::Of { last, missed: Some(0) },
        // It is in none of the changes before.
        None if object.has(look.value) => Said::BeforeSent,
        None => Said::NeverWritten,
    }
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
        for one in own.filter(|one| one.kind != ProbeKind::Read) {
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

/// What a driver has read of each other one.
fn looks_of(drivers: &[Driver<'_>], number: u32, reader: &Driver<'_>) -> BTreeMap<u32, Vec<(u32, Look)>> {
    let mut looks: BTreeMap<u32, Vec<(u32, Look)>> = BTreeMap::new();
    for one in reader.operations.iter().filter(|one| one.kind == ProbeKind::Read && one.is_done) {
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
        for (writer, looks) in looks_of(drivers, number, reader) {
            found.reads += looks.len() as u64;
            let of = |key: &u32| objects.get(key).unwrap_or(&none);
            let has_seen = looks.iter().any(|(_, look)| look.value != 0);
            if !has_seen && looks.iter().any(|(key, look)| is_missed(of(key), look)) {
                let name = drivers.get(writer as usize).map(|writer| writer.name.clone());
                found.blind.push((reader.name.clone(), name.unwrap_or_default()));
                continue;
            }
            for (key, look) in &looks {
                count(&mut found, &mut counts, (*key, of(key)), look);
            }
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
}

impl Counts {
    fn sums(mut self, objects: &Objects) -> ConsistencySums {
        for ((key, at), (last_us, missed_us)) in &self.of_changes {
            let changes = objects.get(key).map(|object| object.changes.as_slice()).unwrap_or_default();
            self.sums.change(class_of(changes, *at), *last_us, *missed_us);
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
    let after_us = |at: usize| {
        let return_ns = changes.get(at).map_or(look.call_ns, |change| change.return_ns);
        u64::try_from((look.call_ns - return_ns) / 1000).unwrap_or(0)
    };
    let from = LookFrom::OtherDriver;
    counts.sums.look(class_of(changes, last), from, after_us(last), missed.is_some());
    // Of a long row of changes that were missed the first one and the last ones.
    let begin = missed.unwrap_or(last);
    let recent = begin.max(last.saturating_sub(MOST_BACK));
    for at in [begin].into_iter().filter(|begin| *begin < recent).chain(recent..=last) {
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
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn operation(key: u32, kind: ProbeKind, (from_ms, to_ms): (u64, u64), value: u64) -> ProbeOperation {
        let (call_ns, return_ns) = (from_ms * MS, to_ms * MS);
        ProbeOperation { key, process: 0, kind, call_ns, return_ns, value, is_done: true }
    }

    /// Writes version 1 at 100 ms, 2 at 1100 ms, deletes at 2100 ms, writes 4 at 3100 ms; each is acknowledged 10 ms later.
    fn writer() -> Vec<ProbeOperation> {
        let key = ProbeOperation::shared_key(0, 0);
        [(ProbeKind::Write, 1), (ProbeKind::Write, 2), (ProbeKind::Delete, 0), (ProbeKind::Write, 4)]
            .into_iter()
            .zip(0..)
            .map(|((kind, value), turn)| operation(key, kind, (100 + 1000 * turn, 110 + 1000 * turn), value))
            .collect()
    }

    /// The reader's clock is so many ms ahead of the writer's, and its readings are at these times of the writer's clock.
    fn seen(ahead_ms: u64, error_ms: u64, looks: &[(u64, u64)]) -> BetweenDrivers {
        let key = ProbeOperation::shared_key(0, 0);
        let reads = looks.iter().map(|(at_ms, value)| {
            operation(key, ProbeKind::Read, (at_ms + ahead_ms, at_ms + ahead_ms + 1), *value)
        });
        let (writes, reads) = (writer(), reads.collect::<Vec<_>>());
        let driver = |name: &str, origin_ms: u64, error_ms: u64, operations| Driver {
            name: name.to_owned(),
            is_lost: false,
            origin_ns: origin_ms * MS,
            error_ns: error_ms * MS,
            operations,
        };
        between(&[driver("a", 0, 0, &writes[..]), driver("b", ahead_ms, error_ms, &reads[..])])
            .unwrap_or_default()
    }

    fn totals(found: &BetweenDrivers) -> (u64, u64) {
        found.classes.iter().fold((0, 0), |(looks, stale), class| (looks + class.looks, stale + class.stale))
    }

    #[test]
    fn readings_by_another_clock_are_held_against_the_changes_that_were_acknowledged_before_them() {
        let fresh = seen(70_000, 5, &[(500, 1), (1500, 2), (2500, 0), (1104, 2), (2103, 0)]);
        assert_eq!(totals(&fresh), (5, 0), "{fresh:?}");
        // The old version 400 ms after the overwrite; and the first one 300 ms after the delete, 1300 ms after the overwrite.
        let stale = seen(70_000, 5, &[(1510, 1), (2410, 1)]);
        assert_eq!(totals(&stale), (2, 2), "{stale:?}");
        let longest = |class: LookClass| {
            let one = stale.classes.iter().find(|one| one.class == class);
            one.and_then(|one| one.longest_stale_ms)
        };
        assert_eq!(longest(LookClass::ReadAfterDelete), Some(300.0));
        assert_eq!(longest(LookClass::ReadAfterOverwrite), Some(1300.0));
        // Nothing where a version was acknowledged.
        assert_eq!(totals(&seen(70_000, 5, &[(500, 1), (1500, 0)])), (2, 1));
        assert_eq!((stale.changes, stale.clock_error_ms), (4, 5.0));
    }

    #[test]
    fn what_lies_within_the_clocks_error_is_held_against_nobody() {
        // 20 ms after the overwrite was acknowledged, and the clocks may be off by 40 ms.
        let found = seen(0, 40, &[(1130, 1)]);
        assert_eq!((totals(&found), found.within_clock_error), ((1, 0), 1), "{found:?}");
        assert_eq!(totals(&seen(0, 10, &[(1130, 1)])), (1, 1));
    }

    #[test]
    fn readings_that_no_known_change_surrounds_say_nothing_and_what_cannot_be_is_named() {
        // Before the first change, and behind the last one that is known: a lost driver may have made more.
        let found = seen(0, 5, &[(50, 0), (3200, 1), (3200, 4), (1500, 2)]);
        assert_eq!((found.unjudged, totals(&found)), (3, (1, 0)), "{found:?}");
        let found = seen(0, 5, &[(1500, 4), (1500, u64::MAX), (1500, 2)]);
        assert_eq!((found.before_sent, found.never_written, totals(&found)), (1, 1, (1, 0)), "{found:?}");
    }

    #[test]
    fn a_reader_that_sees_nothing_at_all_of_a_writer_is_named_and_accuses_nobody() {
        let found = seen(0, 5, &[(500, 0), (1500, 0), (1700, 0)]);
        assert_eq!((totals(&found), found.blind.len(), found.reads), ((0, 0), 1, 3), "{found:?}");
        assert_eq!(found.blind[0], ("b".to_owned(), "a".to_owned()));
    }

    #[test]
    fn each_of_many_drivers_is_held_against_each_other_one_once() {
        let drivers = 30_u32;
        let key = |writer| ProbeOperation::shared_key(writer, 0);
        let operations: Vec<Vec<ProbeOperation>> = (0..drivers)
            .map(|number| {
                let own = [(100, 1), (1100, 2), (2100, 3)]
                    .map(|(at, value)| operation(key(number), ProbeKind::Write, (at, at + 10), value));
                // Of its neighbour it sees the version before the last.
                let reads = (0..drivers).filter(|writer| *writer != number).map(|writer| {
                    let value = if writer == number + 1 { 1 } else { 2 };
                    operation(key(writer), ProbeKind::Read, (1500, 1501), value)
                });
                own.into_iter().chain(reads).collect()
            })
            .collect();
        let all: Vec<Driver<'_>> = operations
            .iter()
            .enumerate()
            .map(|(number, operations)| Driver {
                name: format!("d{number}"),
                is_lost: false,
                origin_ns: 0,
                error_ns: number as u64 * MS,
                operations,
            })
            .collect();
        let found = between(&all).unwrap_or_default();
        let pairs = u64::from(drivers * (drivers - 1));
        assert_eq!((found.reads, found.changes, totals(&found)), (pairs, 90, (pairs, 29)), "{found:?}");
        assert_eq!(found.clock_error_ms, 57.0, "the two that may be off most");
    }

    #[test]
    fn what_was_read_is_found_among_any_number_of_changes() {
        // Every third change is a delete; some were not heard of.
        let made = |at: u64| Made {
            call_ns: at as i64 * 10,
            return_ns: at as i64 * 10 + 5,
            version: (!at.is_multiple_of(3)).then_some(at),
            is_done: true,
        };
        let heard: Vec<u64> = (1..=3000).filter(|at| at % 7 != 0).collect();
        let mut object = Object { changes: heard.iter().map(|at| made(*at)).collect(), ..Object::default() };
        object.sort();
        for end in [0, 1, 2, 100, 1500, object.changes.len()] {
            let values = [0, 1, 2, 4, 7, 100, 151, 2999];
            for value in values {
                let before = &object.changes[..end];
                let wanted = before.iter().rposition(|change| change.version.unwrap_or(0) == value);
                assert_eq!(object.last_with(value, end), wanted, "{value} before {end}");
            }
        }
        assert!(object.has(100) && !object.has(7) && !object.has(3) && !object.has(9_999));
    }

    #[test]
    fn a_change_without_an_answer_ends_what_can_be_said() {
        let mut writes = writer();
        writes[3].is_done = false;
        let key = ProbeOperation::shared_key(0, 0);
        let look = |at_ms, value| operation(key, ProbeKind::Read, (at_ms, at_ms + 1), value);
        let reads = [look(2500, 2), look(3050, 0), look(3105, 0), look(4000, 2)];
        let driver = |name: &str, operations| Driver {
            name: name.to_owned(),
            is_lost: true,
            origin_ns: 0,
            error_ns: 0,
            operations,
        };
        let found = between(&[driver("a", &writes[..]), driver("b", &reads[..])]).unwrap_or_default();
        assert_eq!((totals(&found), found.unjudged), ((2, 1), 2), "{found:?}");
        assert_eq!(found.lost, ["a", "b"]);
        assert!(between(&[driver("a", &writes[..])]).is_none(), "nobody else reads it");
    }
}
