//! Objects that the drivers of a stage share. Each driver changes some of its own at times that all of them can work out, and reads those
//! of the others at drawn times behind that. Nobody waits for anybody: a driver that is lost takes its own objects and its own readings
//! with it, and nothing else. What a reading is worth is said by who knows both clocks.

use cosmark_adaptor_api::{Marks, clock};
use cosmark_metrics::{ProbeKind, ProbeOperation};
use futures_util::future::{join, join_all};

use super::{AT_ONCE, Field, WRITERS};
use crate::change::{Change, Place};

/// Time between two changes of an object, ns, on average: that of the first object, then twice as long for each.
const FIRST_GAP_NS: u64 = 1_000_000_000;
/// Objects that each driver changes.
const OBJECTS: u32 = 6;
/// Those who read objects of one gap.
const LOOKERS: u32 = 4;
/// The first time behind a change at which is read that is not at once, ns.
const SOON_NS: f64 = 1e6;
/// Of so many reads of an object of another driver one is followed by a listing of it.
const READS_A_LIST: u64 = 2;
/// Of what all probes of this driver may send, one part in so many is for objects that are shared.
const PART: u64 = 2;

/// What a driver knows of the others.
#[derive(Debug, Clone, PartialEq)]
pub struct Sharing {
    /// Times follow from it; all drivers have the same.
    pub tag: u64,
    /// This driver's number, a place in `places`.
    pub number: u32,
    /// Container of each driver's objects, and how their names begin.
    pub places: Vec<(String, String)>,
    /// The common instant of all drivers on this one's clock, ns.
    pub origin_ns: u64,
}

/// From 0 to below 1, another one for each (SplitMix64).
fn drawn(tag: u64, parts: [u64; 3]) -> f64 {
    let mut mixed = tag;
    for part in parts {
        mixed = (mixed ^ part).wrapping_add(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
    }
    (mixed >> 11) as f64 / (1_u64 << 53) as f64
}

fn gap_ns(object: u32) -> u64 {
    FIRST_GAP_NS << object.min(OBJECTS)
}

impl Sharing {
    /// When a driver changes an object for the `turn`-th time (from 0), ns since the common instant: within the first half of its turn.
    fn change_ns(&self, driver: u32, object: u32, turn: u64) -> u64 {
        let share = drawn(self.tag, [u64::from(driver), u64::from(object), turn]);
        let gap_ns = gap_ns(object);
        turn.saturating_mul(gap_ns).saturating_add((gap_ns as f64 / 2.0 * share) as u64)
    }

    /// The turn in which this moment is, or `next` if that comes later.
    fn turn(&self, object: u32, next: u64, now_ns: u64) -> u64 {
        next.max(now_ns.saturating_sub(self.origin_ns) / gap_ns(object))
    }

    /// Driver number `at` of the others.
    fn other(&self, at: usize) -> u32 {
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        if at < self.number { at } else { at.saturating_add(1) }
    }
}

/// A request as others hear of it.
pub(super) fn recorded(operation: &cosmark_history::Operation) -> ProbeOperation {
    use cosmark_history::{Kind, Operation, Outcome};
    let Operation { call_ns, return_ns, value, key, process, kind, outcome } = *operation;
    let kind = match kind {
        Kind::Write => ProbeKind::Write,
        Kind::Delete => ProbeKind::Delete,
        Kind::Read => ProbeKind::Read,
    };
    ProbeOperation { key, process, kind, call_ns, return_ns, value, is_done: outcome == Outcome::Done }
}

fn name_of(prefix: &str, object: u32) -> String {
    format!("{prefix}shared-{object}")
}

impl Field<'_> {
    /// Changes and reads until the load is over; at once over where nobody shares.
    pub(super) async fn share(&self) {
        let Some(sharing) = &self.plan.sharing else { return };
        if sharing.places.len() < 2 {
            return;
        }
        let reach_ns = u64::try_from(self.plan.reach.as_nanos()).unwrap_or(u64::MAX);
        let objects = (0..OBJECTS).filter(|object| *object == 0 || gap_ns(*object) <= reach_ns);
        let objects: Vec<u32> = objects.collect();
        let writing = join_all(objects.iter().map(|object| self.change_shared(sharing, *object)));
        let lookers = objects.iter().flat_map(|object| (0..LOOKERS).map(move |_| *object));
        let looking = join_all(lookers.map(|object| self.look_at_shared(sharing, object)));
        join(writing, looking).await;
    }

    /// One more request for what is shared.
    fn reserve_shared(&self) -> bool {
        let allowed =
            u128::from(self.control.operations()) * u128::from(self.plan.share_per_million) / 1_000_000;
        let wanted = u128::from(self.shared.get()) + 1;
        // All of them are recorded.
        let has_room = self.shared.get() < self.may_record();
        let may = has_room && wanted * u128::from(PART) <= allowed && self.reserve(1);
        if may {
            self.shared.set(self.shared.get() + 1);
        }
        may
    }

    /// Changes one object, turn by turn; a change for which there is no room is left out.
    async fn change_shared(&self, sharing: &Sharing, object: u32) {
        let name = name_of(&self.plan.prefix, object);
        let key = ProbeOperation::shared_key(sharing.number, object);
        let (mut version, mut turn) = (0, 0);
        // The last change has no answer; one of them had none, and may be made at any time.
        let (mut is_open, mut was_open) = (false, false);
        loop {
            // Turns that passed while the store was silent are left out, and not made up for at once.
            turn = sharing.turn(object, turn, clock::now_ns());
            let at_ns = sharing.origin_ns.saturating_add(sharing.change_ns(sharing.number, object, turn));
            turn += 1;
            if !self.until(at_ns).await || self.control.has_all_shared(self.plan.records) {
                break;
            }
            if !self.reserve_shared() {
                continue;
            }
            version += 1;
            let change = Change { key, version, object: &name, processes: 0 };
            // Whether and when it happens is not known, and the next version is another one: readings of that say something again.
            is_open = !self.make_shared(&change, object, was_open).await;
            was_open |= is_open;
        }
        // What is there goes, and that says up to when the others' readings count.
        let change_of = |version| Change { key, version, object: &name, processes: 0 };
        if version > 0 && (is_open || !change_of(version).is_delete()) {
            let mut later = (version + 1..).take(3).map(change_of);
            if let Some(last) = later.find(Change::is_delete) {
                self.make_shared(&last, object, was_open).await;
            }
        }
    }

    /// `false`: it has no answer that can be built on. `was_open`: an earlier change had none, and may write the object after it was
    /// deleted.
    async fn make_shared(&self, change: &Change<'_>, object: u32, was_open: bool) -> bool {
        let at = object as usize % WRITERS;
        let Some(mut hand) = self.hand(at).await else { return false };
        if !change.is_delete() {
            self.there.borrow_mut().insert(change.object.to_owned());
        }
        let (place, mut marks) = (self.place(), Marks::default());
        let made = change.make(place, hand.client.as_mut(), &mut marks, at as u32).await;
        let (operation, result) = made;
        self.count(&marks);
        self.control.add_shared(recorded(&operation));
        match result {
            Ok(()) => {
                if change.is_delete() && !was_open {
                    self.there.borrow_mut().remove(change.object);
                }
                true
            }
            Err(error) => {
                self.failed(&mut hand, &error).await;
                false
            }
        }
    }

    /// Reads the others' objects of one gap, one look in a turn.
    async fn look_at_shared(&self, sharing: &Sharing, object: u32) {
        let mut turn = 0;
        loop {
            turn = sharing.turn(object, turn, clock::now_ns());
            let driver = sharing.other(self.draw_below(sharing.places.len() - 1));
            let place = self.draw();
            let behind_ns = if place < AT_ONCE {
                0
            } else {
                let most = gap_ns(object) as f64 / SOON_NS;
                (SOON_NS * most.powf((place - AT_ONCE) / (1.0 - AT_ONCE))) as u64
            };
            let change_ns = sharing.change_ns(driver, object, turn);
            let lists = self.plan.lists && turn.is_multiple_of(READS_A_LIST);
            turn += 1;
            let at_ns = sharing.origin_ns.saturating_add(change_ns).saturating_add(behind_ns);
            if !self.until(at_ns).await || self.control.has_all_shared(self.plan.records) {
                return;
            }
            let Some((container, prefix)) = sharing.places.get(driver as usize) else { continue };
            let key = ProbeOperation::shared_key(driver, object);
            let name = name_of(prefix, object);
            if self.reserve_shared() {
                self.read_shared(key, (container, &name)).await;
            }
            if lists && self.reserve_shared() {
                self.list_shared(key, (container, &name)).await;
            }
        }
    }

    async fn read_shared(&self, key: u32, (container, object): (&str, &str)) {
        let (at, mut marks) = (self.reader(), Marks::default());
        let Some(mut hand) = self.hand(at).await else { return };
        let change = Change { key, version: 1, object, processes: 0 };
        let place = Place { container, patience: self.plan.patience };
        let read = change.read(place, hand.client.as_mut(), &mut marks, at as u32).await;
        self.count(&marks);
        match read {
            Ok(operation) => self.control.add_shared(recorded(&operation)),
            Err(error) => self.failed(&mut hand, &error).await,
        }
    }

    async fn list_shared(&self, key: u32, (container, object): (&str, &str)) {
        let (at, mut marks) = (self.reader(), Marks::default());
        let Some(mut hand) = self.hand(at).await else { return };
        // Of a first write: what does not show it lacks the object.
        let change = Change { key, version: 1, object, processes: 0 };
        let (place, call_ns) = (Place { container, patience: self.plan.patience }, clock::now_ns());
        let listed = change.list(place, hand.client.as_mut(), &mut marks).await;
        self.count(&marks);
        match listed {
            Ok(is_absent) => self.control.add_shared(ProbeOperation {
                key,
                process: u32::try_from(at).unwrap_or(u32::MAX),
                kind: ProbeKind::List,
                call_ns,
                return_ns: clock::now_ns(),
                value: u64::from(!is_absent),
                is_done: true,
            }),
            Err(error) => self.failed(&mut hand, &error).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sharing(number: u32, drivers: u32) -> Sharing {
        let places = (0..drivers).map(|driver| (format!("c{driver}"), String::new())).collect();
        Sharing { tag: 7, number, places, origin_ns: 1_000 }
    }

    #[test]
    fn all_drivers_know_when_each_changes_its_objects_and_no_two_change_in_step() {
        let (one, other) = (sharing(0, 3), sharing(2, 3));
        for object in 0..OBJECTS {
            let times: Vec<u64> = (0..50).map(|turn| one.change_ns(1, object, turn)).collect();
            let known: Vec<u64> = (0..50).map(|turn| other.change_ns(1, object, turn)).collect();
            assert_eq!(times, known);
            for (turn, at_ns) in (0..).zip(&times) {
                let begin = turn * gap_ns(object);
                assert!((begin..begin + gap_ns(object) / 2 + 1).contains(at_ns), "{object} {turn}: {at_ns}");
            }
            assert_ne!(times, (0..50).map(|turn| one.change_ns(0, object, turn)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn turns_that_passed_are_not_made_up_for() {
        let sharing = sharing(0, 2);
        let at_s = |s: u64| sharing.origin_ns + s * 1_000_000_000;
        // The first object changes once a second, the third once in four.
        for (object, next, now_s, turn) in
            [(0, 0, 0, 0), (0, 1, 0, 1), (0, 1, 30, 30), (2, 1, 30, 7), (2, 8, 30, 8)]
        {
            assert_eq!(sharing.turn(object, next, at_s(now_s)), turn, "{object} {next} {now_s}");
        }
        assert_eq!(sharing.turn(0, 0, 0), 0, "before the common instant");
    }

    #[test]
    fn every_other_driver_is_read_and_none_reads_its_own() {
        for number in 0..4 {
            let sharing = sharing(number, 4);
            let others: Vec<u32> = (0..3).map(|at| sharing.other(at)).collect();
            let wanted: Vec<u32> = (0..4).filter(|driver| *driver != number).collect();
            assert_eq!(others, wanted);
        }
    }
}
