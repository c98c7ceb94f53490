//! Disks of which their queues say more than how busy they are. One that does so many requests a second and no more (a volume of a
//! cloud, what a hypervisor or an array lets through) is hardly busy until it comes to that, so that the low steps predict a ceiling
//! far above. In a closed network only the queue of what limits it goes on growing: one that takes up what is added is the limit.
//! And what lies on a disk whose use is limited (loops, volumes) has the queue that waits for that limit. Source: Denning and Buzen
//! (1978), section 3.

use std::collections::BTreeSet;

use cosmark_metrics::nodes::costs::is_stacked;

use super::{Against, Answer, Candidate, Confidence, Diagnosis, OWN, cheaper};
use crate::ladder::{FULL, Kind, Ladder, Step, Waiting};
use crate::saturation::Waits;

/// Of the operations that are added while throughput is level, the share that the queues of what is named take up at least.
const TAKES_UP: f64 = 0.7;

/// Names disks that are full, and whose queues take up what is added, where nothing else fits: against each of them speaks only
/// that the low steps predict another ceiling. The steps at which throughput is level.
pub(super) fn name(ladder: &Ladder, found: &mut Diagnosis, plateau: f64, level: &[&Step]) {
    let is_open = found.answer == Answer::Unexplained
        && found.unmeasured.is_empty()
        && found.candidates.iter().all(|one| !one.against.is_empty());
    if !is_open {
        return;
    }
    let units = below_all(ladder, found.candidates.iter().filter(|one| may_be(ladder, one)));
    let role = units.first().map(|unit| ladder.units[*unit].role.as_str());
    let are_alike = units.iter().all(|unit| Some(ladder.units[*unit].role.as_str()) == role);
    let is_named = |one: &&Candidate| units.contains(&one.unit);
    let is_contradicted = |one: &Candidate| cheaper::is_contradicted(ladder, one, plateau, &found.candidates);
    if !(are_alike && take_up(&units, level)) || found.candidates.iter().filter(is_named).any(is_contradicted)
    {
        return;
    }
    for one in found.candidates.iter_mut().filter(|one| units.contains(&one.unit)) {
        one.against.clear();
        one.when_full = Some((1.0 - one.demand.idle) / plateau);
    }
    found.answer = Answer::Named { units: units.into_iter().collect(), confidence: Confidence::Medium };
}

/// A disk that is full of what operations ask of it, and whose queue goes on growing.
fn may_be(ladder: &Ladder, one: &Candidate) -> bool {
    let idle = ladder.idle.get(one.unit).copied().flatten().unwrap_or(one.demand.idle);
    let is_its_own = |busy: f64| busy >= FULL && idle < OWN * busy && one.demand.idle < OWN;
    ladder.units[one.unit].kind == Kind::Disk
        && one.waits == Waits::Grows
        && one.busy_at_plateau.is_some_and(is_its_own)
        && one.against.iter().all(|why| matches!(why, Against::CeilingElsewhere | Against::BusyAnyway))
}

/// Their units, without those that lie on others of these.
fn below_all<'a>(ladder: &Ladder, all: impl Iterator<Item = &'a Candidate>) -> BTreeSet<usize> {
    let mut units: BTreeSet<usize> = all.map(|one| one.unit).collect();
    let is_below = |unit: &&usize| !is_stacked(&ladder.units[**unit].name);
    let with_disks: BTreeSet<&str> =
        units.iter().filter(is_below).map(|unit| ladder.units[*unit].node.as_str()).collect();
    units.retain(|unit| {
        let own = &ladder.units[*unit];
        !(is_stacked(&own.name) && with_disks.contains(own.node.as_str()))
    });
    units
}

/// What waits for all of them together grows by as much as the load does.
fn take_up(units: &BTreeSet<usize>, level: &[&Step]) -> bool {
    let [first, .., last] = *level else { return false };
    let queue = |step: &Step, unit: usize| match step.usage.get(unit)?.waiting? {
        Waiting::Queue(many) => Some(many),
        _ => None,
    };
    let grown = |unit: &usize| Some(queue(last, *unit)? - queue(first, *unit)?);
    let grown = units.iter().map(grown).sum::<Option<f64>>();
    !units.is_empty() && grown.is_some_and(|grown| grown >= TAKES_UP * (last.in_flight - first.in_flight))
}

/// The machines of these units that are limits of input and output.
pub(super) fn limited(ladder: &Ladder, units: impl Iterator<Item = usize>) -> BTreeSet<&str> {
    let limits = units.map(|unit| &ladder.units[unit]).filter(|unit| unit.kind == Kind::IoLimit);
    limits.map(|unit| unit.node.as_str()).collect()
}

/// A loop or a volume of a machine whose devices are limited: its queue is that of the limit.
pub(super) fn is_above(ladder: &Ladder, unit: usize, limited: &BTreeSet<&str>) -> bool {
    let own = &ladder.units[unit];
    own.kind == Kind::Disk && is_stacked(&own.name) && limited.contains(own.node.as_str())
}

/// All candidates but loops and volumes of machines where a limit is used up, and its ceiling meets the plateau; `None` where there
/// is no such limit.
pub(super) fn without_those_above(ladder: &Ladder, all: &[Candidate]) -> Option<Vec<Candidate>> {
    let is_used_up =
        |one: &&Candidate| one.against.is_empty() && one.busy_at_plateau.is_some_and(|busy| busy >= FULL);
    let limited = limited(ladder, all.iter().filter(is_used_up).map(|one| one.unit));
    if limited.is_empty() {
        return None;
    }
    Some(all.iter().filter(|one| !is_above(ladder, one.unit, &limited)).cloned().collect())
}
