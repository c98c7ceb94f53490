//! Threads and quotas of processor time whose operations cost less the more of them wait: servers fetch and answer several at
//! once, and are woken less often. The ceiling of such a unit moves up with the load, so that the steps below 60 % predict one
//! that is too low. That it is full is seen all the same, and by the utilisation law its throughput is then what it has left
//! over its demand at these loads. Source: Denning and Buzen (1978), section 3.
//!
//! A quota of which the kernel counts how often it stopped its group is better known: a group that is stopped in nearly every
//! period has work left at the end of nearly every period. Source: Linux kernel, scheduler/sched-bwc.rst.

use super::{Against, BUSY, Candidate, IDLE, MEETS, family};
use crate::ladder::{FULL, Kind, Ladder, Step, Unit, Usage};
use crate::number::real;
use crate::saturation::{LEAST_THROTTLED, STOPPED, Waits, awake, stopped};

/// The ceiling that is predicted from the low steps may be exceeded so many times.
const MOST: f64 = 1.5;
/// The same of a quota that is seen to stop its group where it is full and not before.
const MOST_OF_STOPPED: f64 = 4.0;
/// Of the plateau, what every step has to come to at which the unit was full already. What is only never idle while
/// operations are under way (one that looks for work all the time, a disk that serves many at once) is full long before.
const ONCE_FULL: f64 = 0.7;
/// The same of the predicted ceiling where that lies far below the plateau: few operations in turn cost more than as many that
/// come by the clock.
const ONCE_FULL_FAR: f64 = 0.6;
/// Share of the time that it has to be busy at the plateau. One whose queue is as long as it takes to keep up with a limit
/// elsewhere pauses more often.
const WITHOUT_PAUSE: f64 = 0.985;

/// What an operation costs a candidate at the plateau, where it is full there and only its ceiling, predicted from the low
/// steps, says that it cannot be; `None` where anything else speaks against it. All steps, and the last at which throughput
/// is level.
pub(super) fn at_plateau(
    unit: &Unit,
    one: &Candidate,
    plateau: f64,
    steps: &[&Step],
    last: &[&Step],
) -> Option<f64> {
    let by_prediction = [Against::CeilingElsewhere, Against::DemandChanges];
    let is_its_own = matches!(unit.kind, Kind::Thread | Kind::CpuQuota) && one.waits == Waits::Rises;
    let ceiling = one.demand.ceiling_per_s();
    let stops = unit.kind == Kind::CpuQuota && stops_where_full(one.unit, steps, last);
    let most = if stops { MOST_OF_STOPPED } else { MOST };
    // Costs that seem to fall with the load may stop to.
    let unfallen = (1.0 - one.demand.idle) / (one.demand.seconds + one.demand.waking);
    let is_cheaper = plateau >= unfallen.min(ceiling) * (1.0 - MEETS) && plateau <= ceiling * most;
    let is_far = plateau > MOST * ceiling;
    // A group that is stopped in every period is full, though a part of each processor's slice may be left.
    let is_excused = |why: &Against| by_prediction.contains(why) || (stops && *why == Against::NotFull);
    let alone = one.against.iter().all(is_excused);
    if one.against.is_empty() || !(alone && is_its_own && is_cheaper) {
        return None;
    }
    // A thread that is not given a processor at once has something to do all the same.
    let busy = |step: &Step| match unit.kind {
        Kind::Thread => awake(one.unit, step),
        _ => step.usage.get(one.unit)?.busy,
    };
    let at_last: Vec<f64> = last.iter().filter_map(|step| busy(step)).collect();
    let full_from = if stops { BUSY } else { WITHOUT_PAUSE };
    let is_full = at_last.iter().sum::<f64>() >= full_from * real(at_last.len().max(1));
    // One that works in larger batches the longer it is full is so from about the predicted ceiling on.
    let once_full = if is_far { ceiling * ONCE_FULL_FAR } else { plateau * ONCE_FULL };
    let is_stopped = |step: &Step| stops && stopped(one.unit, &[step]).any(|share| share >= STOPPED);
    let mut full =
        steps.iter().filter(|step| is_stopped(step) || busy(step).is_some_and(|busy| busy >= FULL));
    // What a hypervisor took from it at one load it would have let through there.
    let let_through =
        |step: &Step| step.throughput_per_s * step.usage.get(one.unit).map_or(1.0, Usage::undisturbed);
    let is_level = full.all(|step| let_through(step) >= once_full);
    // Of one that is stopped what is left of the slices is used by nobody.
    let used = if stops { 1.0 } else { one.busy_at_plateau? };
    let own = (used - one.demand.idle).max(0.0);
    (is_full && is_level && own > 0.0).then_some(own / plateau)
}

/// A quota stopped its group in nearly all periods at each of the last steps, and in few of them where it was not used up: what
/// fills it comes with the load. Where an operation costs most of what the group may use in a period, it is stopped in as large a
/// share of them as it uses of all, and no more: in each of those it has used everything.
pub(super) fn stops_where_full(unit: usize, steps: &[&Step], last: &[&Step]) -> bool {
    let busy = |step: &Step| step.usage.get(unit).and_then(|usage| usage.busy);
    let low: Vec<&Step> =
        steps.iter().copied().filter(|step| busy(step).is_some_and(|busy| busy < IDLE)).collect();
    let is_full = last.iter().all(|step| busy(step).is_some_and(|busy| busy >= FULL));
    let is_few = |step: &&Step| {
        let as_used = busy(step).filter(|_| is_full).unwrap_or_default();
        stopped(unit, &[*step]).all(|share| share < LEAST_THROTTLED || share <= as_used)
    };
    let at_last: Vec<f64> = stopped(unit, last).collect();
    stopped(unit, &low).next().is_some()
        && low.iter().all(is_few)
        && at_last.len() == last.len()
        && at_last.iter().all(|share| *share >= STOPPED)
}

/// Whether something else was as busy: a name without a predicted ceiling needs to be the only one. Where the processors are
/// full, that a thread always has something to do may be their doing. The farther the plateau lies from what was predicted, the
/// more has to be idle.
pub(super) fn is_contradicted(ladder: &Ladder, one: &Candidate, plateau: f64, all: &[Candidate]) -> bool {
    let own = &ladder.units[one.unit];
    let is_far = plateau > MOST * one.demand.ceiling_per_s();
    let are_its_processors =
        |other: &Unit| own.kind == Kind::Thread && other.kind == Kind::Machine && other.node == own.node;
    let is_beside_far = |other: &Unit| is_far && matches!(other.kind, Kind::Machine | Kind::Thread);
    all.iter().any(|other| {
        let unit = &ladder.units[other.unit];
        let busy_from = |share: f64| other.busy_at_plateau.is_none_or(|busy| busy >= share);
        if family(ladder, other, one) {
            busy_from(BUSY) && (are_its_processors(unit) || is_beside_far(unit))
        } else {
            busy_from(if is_far { IDLE } else { BUSY })
        }
    })
}
