//! A limit of input and output of which the same large part is used at each of the loads at which throughput is level, while nothing
//! else is busy: of what follows each other through it the rest of the time goes to waiting for the device (a journal that commits
//! between two writes), and what the kernel lets through in that time is used by nobody. By the utilisation law such a limit is what
//! an operation takes the longest for, though it is never full. Source: Denning and Buzen (1978), section 3.

use super::{Against, Answer, Candidate, Confidence, Diagnosis, MEETS, OWN, SHARED, beyond, family, queued};
use crate::ladder::{FULL, Kind, Ladder, Step};
use crate::saturation::{Waits, is_waited_for};

/// Of the time, the least that the limit is used at each of the level loads, and how far these may differ.
const NEARLY: f64 = 0.8;
const ALIKE: f64 = 0.05;
/// Level loads, the least of them, and how many times the load grows over them.
const LEAST_STEPS: usize = 3;
const LOAD: f64 = 3.0;
/// What else is used is used for less of the time than this: nothing says that the limit comes before something that is nearly as
/// busy.
const OTHERS: f64 = 0.6;
/// Of what an operation costs the limit at the low loads, the least that it costs at the level ones. Where it costs less, more could
/// go through.
const SHARES: f64 = 0.5;

/// The diagnosis that names the limits that are used so, all of one role; as it was where there are none.
pub(super) fn named(ladder: &Ladder, mut found: Diagnosis, plateau: f64, level: &[&Step]) -> Diagnosis {
    let is_one = |one: &&Candidate| is_used_in_turn(ladder, one, plateau, level);
    let used: Vec<&Candidate> = found.candidates.iter().filter(is_one).collect();
    let units: Vec<usize> = used.iter().map(|one| one.unit).collect();
    let Some(first) = used.first().filter(|_| is_long(level) && found.unmeasured.is_empty()) else {
        return found;
    };
    let limited = queued::limited(ladder, units.iter().copied());
    let is_part = |unit: usize| units.contains(&unit) || queued::is_above(ladder, unit, &limited);
    let has_time =
        |unit: usize| is_part(unit) || busiest(unit, beyond(level)).is_none_or(|busy| busy < OTHERS);
    let are_alike = used.iter().all(|one| family(ladder, one, first));
    if !are_alike || !(0..ladder.units.len()).all(has_time) {
        return found;
    }
    let is_waited_for = units.iter().any(|unit| is_waited_for(*unit, beyond(level)) == Some(true));
    let confidence = if is_waited_for { Confidence::Medium } else { Confidence::Low };
    for one in found.candidates.iter_mut().filter(|one| units.contains(&one.unit)) {
        let is_met = !one.against.contains(&Against::CeilingElsewhere);
        let own = one.busy_at_plateau.map(|busy| (busy - one.demand.idle) / plateau);
        one.when_full = own.filter(|_| !is_met);
        one.against.clear();
    }
    Diagnosis { answer: Answer::Named { units, confidence }, ..found }
}

fn is_long(level: &[&Step]) -> bool {
    let [first, .., last] = level else { return false };
    level.len() >= LEAST_STEPS && last.in_flight >= first.in_flight * LOAD
}

fn is_used_in_turn(ladder: &Ladder, one: &Candidate, plateau: f64, level: &[&Step]) -> bool {
    let busy: Option<Vec<f64>> = level.iter().map(|step| step.usage.get(one.unit)?.busy).collect();
    let Some(busy) = busy.filter(|_| ladder.units[one.unit].kind == Kind::IoLimit) else { return false };
    let (least, most) =
        busy.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), busy| (low.min(*busy), high.max(*busy)));
    let is_alike = least >= NEARLY && most < FULL && most - least <= ALIKE;
    let idle = ladder.idle.get(one.unit).copied().flatten().unwrap_or(0.0).max(one.demand.idle);
    let comes_with_load = idle < OWN * least;
    // What waits in a loop for something else uses up more with each operation, the more of them wait.
    let costs = (least - one.demand.idle) / plateau / one.demand.seconds;
    let costs_as_much = (SHARES..=1.0 + MEETS).contains(&costs);
    is_alike
        && comes_with_load
        && costs_as_much
        && one.by_client <= SHARED
        && one.waits != Waits::Never
        && !one.against.contains(&Against::BusyAnyway)
        && is_waited_for(one.unit, beyond(level)) != Some(false)
}

fn busiest(unit: usize, steps: &[&Step]) -> Option<f64> {
    steps.iter().filter_map(|step| step.usage.get(unit)?.busy).reduce(f64::max)
}
