//! Registers with one writer and with deletes: its writes and deletes are versions in their order, and absence is a version, too,
//! perhaps several. A read may show any version from the last that was acknowledged before it began to the last that was begun
//! before it ended, but none older than what a read showed that had ended before. An absence is taken for the oldest that fits, which
//! asks least of later reads; so what is told is wrong whichever it was.
//!
//! What a write or delete without an answer explains is counted as undecided: it may take effect between any two later operations.
//! Beside such a delete an absence may be older than every acknowledged one that fits, so it says no more than that the
//! version before it was there.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::{ABSENT, Key, Kind, Mistake, Operation, Outcome, Violation, Wrong};

/// A version that was acknowledged; the first stands for the beginning.
struct Version<'a> {
    place: Option<u32>,
    write: Option<&'a Operation>,
}

struct Versions<'a> {
    key: &'a Key<'a>,
    /// In the order of the writer.
    all: Vec<Version<'a>>,
    /// Numbers of those that are absences.
    absent: Vec<usize>,
    /// Value and number, sorted.
    values: Vec<(u64, usize)>,
    /// Writes without an answer and refused ones: value and place, sorted.
    loose: Vec<(u64, u32)>,
    /// When the first delete without an answer began.
    loose_delete: Option<u64>,
}

/// What was shown last by the reads that are over, and by which of them.
type Floor = (usize, Option<u32>);

/// Reads that are decided, the first that is over first: when it is, what it showed, which it is.
type ByEnd = BinaryHeap<Reverse<(u64, usize, u32)>>;

/// What a process has seen itself. It may have many reads open, each for long: none of them is looked at twice.
#[derive(Default)]
struct Seen {
    floor: Floor,
    open: ByEnd,
}

/// Takes what is over before this time.
fn raise(floor: &mut Floor, by_end: &mut ByEnd, call_ns: u64) {
    while by_end.peek().is_some_and(|first| first.0.0 < call_ns) {
        let Some(Reverse((_, version, read))) = by_end.pop() else { break };
        if version > floor.0 {
            *floor = (version, Some(read));
        }
    }
}

/// What a read turned out to be.
enum Shown {
    Version(usize),
    Undecided,
    Wrong(Violation),
}

/// Whether one process did all writes, one after the other, and has an answer to each: then their order is known whatever the clocks
/// say.
pub(crate) fn is_ordered(key: &Key<'_>) -> bool {
    let mut last: Option<&Operation> = None;
    for (_, one) in key.operations().filter(|(_, one)| one.kind != Kind::Read) {
        let follows = last.is_none_or(|last| last.process == one.process && last.return_ns <= one.call_ns);
        if !follows || one.outcome == Outcome::Unknown {
            return false;
        }
        last = Some(one);
    }
    true
}

/// Gives the number of reads that are not decided.
pub(crate) fn judge(key: &Key<'_>, found: &mut dyn FnMut(Violation)) -> Result<u64, Mistake> {
    let versions = Versions::of(key)?;
    let mut undecided = 0;
    let (mut by_end, mut floor) = (ByEnd::new(), Floor::default());
    // What each process has seen itself, whatever the clocks of others say.
    let mut own: HashMap<u32, Seen> = HashMap::new();
    for (place, one) in key.operations() {
        if one.kind != Kind::Read || one.outcome != Outcome::Done {
            continue;
        }
        raise(&mut floor, &mut by_end, one.call_ns);
        let own = own.entry(one.process).or_default();
        raise(&mut own.floor, &mut own.open, one.call_ns);
        let floor = if own.floor.0 > floor.0 { own.floor } else { floor };
        match versions.read(place, one, floor) {
            Shown::Version(version) => {
                by_end.push(Reverse((key.over_ns(one), version, place)));
                own.open.push(Reverse((one.return_ns, version, place)));
            }
            Shown::Undecided => undecided += 1,
            Shown::Wrong(violation) => found(violation),
        }
    }
    Ok(undecided)
}

/// Whether a change is by the writer of the one before it, and later.
fn follows(last: Option<(u32, &Operation)>, (place, one): (u32, &Operation)) -> Result<(), Mistake> {
    let Some((before, write)) = last else { return Ok(()) };
    if write.process != one.process {
        return Err(Mistake::DeletesOfSeveral(before, place));
    }
    if write.outcome == Outcome::Done && one.call_ns < write.return_ns {
        return Err(Mistake::WriterOverlaps(before, place));
    }
    Ok(())
}

impl<'a> Versions<'a> {
    fn of(key: &'a Key<'a>) -> Result<Self, Mistake> {
        let mut versions = Self {
            key,
            all: vec![Version { place: None, write: None }],
            absent: Vec::new(),
            values: Vec::new(),
            loose: Vec::new(),
            loose_delete: None,
        };
        let mut last: Option<(u32, &Operation)> = None;
        for (place, one) in key.operations().filter(|(_, one)| one.kind != Kind::Read) {
            // Who was refused has written nothing.
            if one.outcome != Outcome::Failed {
                follows(last, (place, one))?;
                last = Some((place, one));
            }
            match (one.outcome, one.kind) {
                (Outcome::Done, _) => versions.all.push(Version { place: Some(place), write: Some(one) }),
                (Outcome::Unknown, Kind::Delete) => {
                    versions.loose_delete.get_or_insert(one.call_ns);
                }
                (_, Kind::Write) => versions.loose.push((one.value, place)),
                _ => {}
            }
        }
        for (number, version) in versions.all.iter().enumerate() {
            match version.write {
                Some(write) if write.kind == Kind::Write => versions.values.push((write.value, number)),
                _ => versions.absent.push(number),
            }
        }
        versions.values.sort_unstable();
        versions.leave_refused_values_to_others();
        versions.values_are_unique()?;
        Ok(versions)
    }

    /// What was refused has not happened: another write of its value, as of one who tried again, is the only one.
    fn leave_refused_values_to_others(&mut self) {
        let Self { key, values, loose, .. } = self;
        let is_refused = |place: u32| key.at(place).outcome == Outcome::Failed;
        loose.sort_unstable_by_key(|(value, place)| (*value, is_refused(*place), *place));
        loose.dedup_by(|later, first| later.0 == first.0 && is_refused(later.1));
        loose.retain(|(value, place)| {
            !is_refused(*place) || values.binary_search_by_key(value, |(written, _)| *written).is_err()
        });
    }

    fn values_are_unique(&self) -> Result<(), Mistake> {
        let place = |number: usize| self.all[number].place.unwrap_or(0);
        let mut all: Vec<(u64, u32)> = self
            .values
            .iter()
            .map(|(value, number)| (*value, place(*number)))
            .chain(self.loose.iter().copied())
            .collect();
        all.sort_unstable();
        match all.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(Mistake::ValueTwice(pair[0].1, pair[1].1)),
            None => Ok(()),
        }
    }

    fn is_writer(&self, one: &Operation) -> bool {
        self.all.get(1).and_then(|version| version.write).is_some_and(|write| write.process == one.process)
    }

    /// From when on a write is over for a read.
    fn over_for(&self, write: &Operation, read: &Operation) -> u64 {
        if write.process == read.process { write.return_ns } else { self.key.over_ns(write) }
    }

    fn read(&self, place: u32, one: &Operation, floor: Floor) -> Shown {
        let over = if self.is_writer(one) { one.return_ns } else { self.key.over_ns(one) };
        let acked =
            |version: &Version<'_>| version.write.is_none_or(|write| self.over_for(write, one) < one.call_ns);
        let begun = |version: &Version<'_>| version.write.is_none_or(|write| write.call_ns <= over);
        // The first version is always both.
        let lower = self.all.partition_point(acked) - 1;
        let upper = self.all.partition_point(begun) - 1;
        let wrong = |wrong, evidence| Shown::Wrong(Violation::new(wrong, one.key, place, evidence));
        if one.value == ABSENT {
            return self.absence(place, one, (lower, upper), floor);
        }
        let Ok(at) = self.values.binary_search_by_key(&one.value, |(value, _)| *value) else {
            let Ok(at) = self.loose.binary_search_by_key(&one.value, |(value, _)| *value) else {
                return wrong(Wrong::NeverWritten, Vec::new());
            };
            let write = self.loose[at].1;
            return match self.key.at(write) {
                write_of if write_of.outcome == Outcome::Failed => wrong(Wrong::Refused, vec![write]),
                write_of if over < write_of.call_ns => wrong(Wrong::Future, vec![write]),
                _ => Shown::Undecided,
            };
        };
        let version = self.values[at].1;
        if version > upper {
            return wrong(Wrong::Future, self.all[version].place.into_iter().collect());
        }
        if version < lower {
            return Shown::Wrong(self.stale(place, one, version, lower));
        }
        if version < floor.0 {
            return Shown::Wrong(self.went_back(place, one, version, floor));
        }
        Shown::Version(version)
    }

    /// Nothing was there.
    fn absence(&self, place: u32, one: &Operation, (lower, upper): (usize, usize), floor: Floor) -> Shown {
        let from = lower.max(floor.0);
        let next = self.absent.partition_point(|number| *number < from);
        let may_be_loose = self.loose_delete.is_some_and(|call| call <= self.key.over_ns(one));
        if let Some(number) = self.absent.get(next).filter(|number| **number <= upper) {
            return Shown::Version(if may_be_loose { from } else { *number });
        }
        if may_be_loose {
            return Shown::Undecided;
        }
        // The last absence before; there is one at the beginning.
        let before = next.checked_sub(1).map_or(0, |at| self.absent[at]);
        if before >= lower {
            return Shown::Wrong(self.went_back(place, one, before, floor));
        }
        Shown::Wrong(self.stale(place, one, before, lower))
    }

    fn stale(&self, place: u32, one: &Operation, version: usize, lower: usize) -> Violation {
        let missed = &self.all[version + 1];
        let acked_ns = missed.write.map_or(0, |write| write.return_ns);
        let evidence = [self.all[version].place, missed.place].into_iter().flatten().collect();
        Violation {
            versions: (lower - version) as u64,
            age_ns: one.call_ns.saturating_sub(acked_ns),
            ..Violation::new(Wrong::Stale, one.key, place, evidence)
        }
    }

    fn went_back(&self, place: u32, one: &Operation, version: usize, floor: Floor) -> Violation {
        let evidence = [self.all[version].place, floor.1].into_iter().flatten().collect();
        Violation::new(Wrong::WentBack, one.key, place, evidence)
    }
}
