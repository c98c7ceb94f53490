//! A limit of input and output of which the same large part is used at each of the highest loads, while throughput is level and nothing
//! else is busy: of what follows each other through it the rest of the time goes to waiting for the device (a journal that commits
//! between two writes), and what the kernel lets through in that time is used by nobody. By the utilisation law such a limit is what
//! an operation takes the longest for, though it is never full. Source: Denning and Buzen (1978), section 3.

use super::{Against, Answer, Candidate, Confidence, Diagnosis, MEETS, OWN, SHARED, beyond, family, queued};
use crate::ladder::{CREEPS, FULL, Kind, Ladder, Step};
use crate::regression::Line;
use crate::saturation::{Waits, is_waited_for};

/// Of the time, the least that the limit is used at each of the highest loads, and how far these may differ.
const NEARLY: f64 = 0.8;
const ALIKE: f64 = 0.05;
/// The least of these loads, and how many times the load grows over them, while throughput is as good as level.
const LEAST_STEPS: usize = 3;
const LOAD: f64 = 4.0;
/// What else is used is used for less of the time than this: nothing says that the limit comes before something that is nearly as
/// busy.
const OTHERS: f64 = 0.6;
/// Of what an operation costs the limit at the low loads, the least that it costs at these. Where it costs less, more could go
/// through.
const SHARES: f64 = 0.5;

/// The diagnosis that names the limits that are used so, all of one role; as it was where there are none.
pub(super) fn named(ladder: &Ladder, mut found: Diagnosis, plateau: f64, steps: &[&Step]) -> Diagnosis {
    let is_one = |one: &&Candidate| is_used_in_turn(ladder, one, plateau, steps);
    let used: Vec<&Candidate> = found.candidates.iter().filter(is_one).collect();
    let units: Vec<usize> = used.iter().map(|one| one.unit).collect();
    let Some(first) = used.first().filter(|_| found.unmeasured.is_empty()) else { return found };
    let upper = used.iter().map(|one| nearly_full(one.unit, steps)).min_by_key(|upper| upper.len());
    let last = beyond(upper.unwrap_or_default());
    let limited = queued::limited(ladder, units.iter().copied());
    let is_part = |unit: usize| units.contains(&unit) || queued::is_above(ladder, unit, &limited);
    let has_time = |unit: usize| is_part(unit) || busiest(unit, last).is_none_or(|busy| busy < OTHERS);
    let are_alike = used.iter().all(|one| family(ladder, one, first));
    if !are_alike || !(0..ladder.units.len()).all(has_time) {
        return found;
    }
    let is_waited_for = units.iter().any(|unit| is_waited_for(*unit, last) == Some(true));
    let confidence = if is_waited_for { Confidence::Medium } else { Confidence::Low };
    for one in found.candidates.iter_mut().filter(|one| units.contains(&one.unit)) {
        let is_met = !one.against.contains(&Against::CeilingElsewhere);
        // What it may be used is all that it lets through.
        one.when_full = (!is_met).then_some((1.0 - one.demand.idle) / plateau);
        one.against.clear();
    }
    Diagnosis { answer: Answer::Named { units, confidence }, ..found }
}

/// The highest loads, at each of which the limit is nearly full.
fn nearly_full<'a, 'b>(unit: usize, steps: &'b [&'a Step]) -> &'b [&'a Step] {
    let is_nearly = |step: &&&Step| busy(unit, step).is_some_and(|busy| busy >= NEARLY);
    &steps[steps.len() - steps.iter().rev().take_while(is_nearly).count()..]
}

fn is_used_in_turn(ladder: &Ladder, one: &Candidate, plateau: f64, steps: &[&Step]) -> bool {
    let upper = nearly_full(one.unit, steps);
    let [first, .., last] = upper else { return false };
    let points: Vec<(f64, f64)> =
        upper.iter().map(|step| (step.in_flight.ln(), step.throughput_per_s.ln())).collect();
    let is_level = upper.len() >= LEAST_STEPS
        && last.in_flight >= first.in_flight * LOAD
        && Line::through(&points).is_some_and(|line| line.slope < CREEPS);
    let seen = || upper.iter().filter_map(|step| busy(one.unit, step));
    let (least, most) = (seen().fold(f64::INFINITY, f64::min), seen().fold(0.0, f64::max));
    let idle = ladder.idle.get(one.unit).copied().flatten().unwrap_or(0.0).max(one.demand.idle);
    // What waits in a loop for something else uses up more with each operation, the more of them wait.
    let costs = (least - one.demand.idle) / plateau / one.demand.seconds;
    ladder.units[one.unit].kind == Kind::IoLimit
        && is_level
        && most < FULL
        && most - least <= ALIKE
        && idle < OWN * least
        && (SHARES..=1.0 + MEETS).contains(&costs)
        && one.by_client <= SHARED
        && one.waits != Waits::Never
        && !one.against.contains(&Against::BusyAnyway)
        && is_waited_for(one.unit, beyond(upper)) != Some(false)
}

fn busy(unit: usize, step: &Step) -> Option<f64> {
    step.usage.get(unit)?.busy
}

fn busiest(unit: usize, steps: &[&Step]) -> Option<f64> {
    steps.iter().filter_map(|step| busy(unit, step)).reduce(f64::max)
}
