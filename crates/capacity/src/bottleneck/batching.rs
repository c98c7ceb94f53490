//! A limit that somebody has set (a quota of processor time, requests to a device a second) and that is used up at all of the
//! highest loads, while throughput still grows or not: a journal takes several operations into one write, the more of them the
//! longer they wait. The low loads predict no ceiling then, but what holds the operations up is seen. Source: Denning and Buzen
//! (1978), section 3: what is never idle limits its interval, whatever an operation costs it there.

use super::{
    Answer, BUSY, Candidate, Confidence, Diagnosis, FAILED, MEETS, OWN, PREDICTED_FROM, SHARED, beyond,
    busiest, candidate, cheaper, is_exceeded, last_growth, queued, unmeasured,
};
use crate::ceiling;
use crate::demand::fit;
use crate::ladder::{Kind, Ladder, Step, Usage};
use crate::number::real;
use crate::regression::{Line, quantile};
use crate::saturation::{Waits, is_used_up, is_waited_for, waits};

/// Over the steps at which a limit is used up there are so many at least, the load grows so many times, and over the highest of
/// them, from one part of so many on, throughput grows by less than this power of it.
const LEAST_STEPS: usize = 3;
const LOAD: f64 = 4.0;
const SHARES: f64 = 0.5;
/// Of the best throughput, what every load has to come to at which a quota of processor time was used up. A group that looks for
/// work as long as operations are under way uses all of it long before it does what it can.
const ONCE_FULL: f64 = 0.6;
/// Of the time, what operations have to take of a limit for their cost to be known from that.
const LEAST_OWN: f64 = 0.05;

/// Limits that were used up at all of the highest loads, although throughput still grew with each.
pub(super) fn named(ladder: &Ladder, all: &[&Step], steps: &[&Step]) -> Option<Diagnosis> {
    let mut found = look(ladder, all, steps)?;
    found.candidates.sort_by(|a, b| a.demand.ceiling_per_s().total_cmp(&b.demand.ceiling_per_s()));
    // No ceiling that was predicted speaks for it: it needs to be the only one.
    let is_contradicted = |one: &Candidate| {
        found.units.contains(&one.unit)
            && cheaper::is_contradicted(ladder, one, found.best_per_s, &found.candidates)
    };
    if found.candidates.iter().any(is_contradicted) {
        return None;
    }
    let is_waited_for = |unit: &usize| is_waited_for(*unit, beyond(found.upper)) == Some(true);
    let confidence = if found.units.iter().any(is_waited_for) { Confidence::Medium } else { Confidence::Low };
    Some(Diagnosis {
        answer: Answer::Named { units: found.units, confidence },
        plateau_per_s: Some(found.best_per_s),
        busiest_at_plateau: busiest(ladder, found.upper),
        candidates: found.candidates,
        skewed: Vec::new(),
        unmeasured: Vec::new(),
        still_grew: last_growth(steps),
    })
}

/// What is named is used up by what is counted: a group that runs while any operation is under way uses up its quota of processor
/// time, however little each needs.
pub(super) fn is_counted(ladder: &Ladder, found: &Diagnosis) -> bool {
    let Answer::Named { units, .. } = &found.answer else { return false };
    units.iter().all(|unit| ladder.units[*unit].kind == Kind::IoLimit)
}

/// What is limited so.
struct Found<'a> {
    /// The limits, all of one kind and role.
    units: Vec<usize>,
    /// The best throughput, operations per second.
    best_per_s: f64,
    /// All units whose demand is known.
    candidates: Vec<Candidate>,
    /// The steps at which the limits had nothing left.
    upper: &'a [&'a Step],
}

/// The limits that had nothing left over a load that grew to [`LOAD`] times what it was, and which nothing contradicts: they had
/// something left without load, something waits for them wherever that was measured, everything else has time left, and nothing
/// fails. All steps, and those at which the client had time left.
fn look<'a>(ladder: &Ladder, all: &[&Step], steps: &'a [&'a Step]) -> Option<Found<'a>> {
    let (mut units, upper) = used_up(ladder, steps)?;
    let best_per_s = steps.iter().map(|step| step.throughput_per_s).reduce(f64::max)?;
    let is_sound = upper.iter().all(|step| step.failed_share <= FAILED)
        && !is_exceeded(all, best_per_s)
        && unmeasured(ladder, upper).is_empty();
    let is_busy = |unit: usize| mean_busy(unit, beyond(upper)).is_some_and(|busy| busy >= BUSY);
    if !is_sound || beside(ladder, &units).into_iter().any(is_busy) {
        return None;
    }
    // What is written behind the operations' backs uses up a limit for which none of them waits.
    let is_its_own = |one: &Candidate| {
        one.by_client <= SHARED
            && one.waits != Waits::Never
            && is_waited_for(one.unit, beyond(upper)) != Some(false)
            && costs_no_more(ladder, one.unit, steps, upper, best_per_s)
    };
    let limits = units.iter().filter_map(|unit| of_limit(ladder, *unit, best_per_s, steps, upper));
    let limits: Vec<Candidate> = limits.filter(is_its_own).collect();
    units.retain(|unit| limits.iter().any(|one| one.unit == *unit));
    let others = beside(ladder, &units).into_iter();
    let others = others.filter_map(|unit| candidate(ladder, unit, best_per_s, steps, upper));
    let candidates: Vec<Candidate> = limits.into_iter().chain(others).collect();
    (!units.is_empty()).then_some(Found { units, best_per_s, candidates, upper })
}

/// All other units, but for what waits for these limits only.
fn beside(ladder: &Ladder, units: &[usize]) -> Vec<usize> {
    let limited = queued::limited(ladder, units.iter().copied());
    let is_other = |unit: &usize| !units.contains(unit) && !queued::is_above(ladder, *unit, &limited);
    (0..ladder.units.len()).filter(is_other).collect()
}

/// A limit as it is named: what an operation costs it where it is used up, and at the loads that leave it something, or at the
/// lowest if none does.
fn of_limit(
    ladder: &Ladder,
    unit: usize,
    best_per_s: f64,
    steps: &[&Step],
    upper: &[&Step],
) -> Option<Candidate> {
    let idle = ladder.idle.get(unit).copied().flatten()?;
    let lowest = steps.iter().min_by(|a, b| a.throughput_per_s.total_cmp(&b.throughput_per_s))?;
    let at_lowest = fit(&[(0.0, idle), (lowest.throughput_per_s, lowest.usage.get(unit)?.busy?)])?;
    let mean = |of: fn(&Usage) -> Option<f64>| mean(unit, beyond(upper), of);
    let busy = mean(|usage| usage.busy)?;
    let mut one = candidate(ladder, unit, best_per_s, steps, upper).unwrap_or_else(|| Candidate {
        unit,
        demand: at_lowest,
        busy_at_plateau: Some(busy),
        by_client: mean(|usage| usage.by_client).unwrap_or(0.0),
        waits: waits(unit, ladder.units[unit].kind, steps, upper),
        when_full: None,
        predicted: None,
        against: Vec::new(),
    });
    one.against.clear();
    one.when_full = Some((busy - idle).max(0.0) / best_per_s).filter(|seconds| *seconds > 0.0);
    if one.demand.seconds <= 0.0 || one.demand.idle >= OWN * busy {
        // It was used up at these loads, too.
        (one.demand, one.predicted) = (at_lowest, None);
    } else {
        let last = beyond(upper);
        let in_flight = last.iter().map(|step| step.in_flight).sum::<f64>() / real(last.len().max(1));
        one.predicted = ceiling::of_unit(ladder, unit, best_per_s * PREDICTED_FROM, in_flight);
    }
    one.when_full.is_some().then_some(one)
}

/// Limits of one kind and role, and the steps at which all of them had nothing left.
fn used_up<'a>(ladder: &Ladder, steps: &'a [&'a Step]) -> Option<(Vec<usize>, &'a [&'a Step])> {
    let kind_of = |unit: usize| ladder.units[unit].kind;
    let at_end =
        |unit: usize| steps.iter().rev().take_while(|step| is_used_up(unit, kind_of(unit), step)).count();
    let is_set = |unit: &usize| matches!(kind_of(*unit), Kind::CpuQuota | Kind::IoLimit);
    let full: Vec<(usize, usize)> = (0..ladder.units.len())
        .filter(is_set)
        .map(|unit| (unit, at_end(unit)))
        .filter(|(_, count)| *count > 0)
        .collect();
    let count = full.iter().map(|(_, count)| *count).min().filter(|count| *count >= LEAST_STEPS)?;
    let upper = &steps[steps.len() - count..];
    let [first, .., last] = upper else { return None };
    let mut highest: Vec<&&Step> =
        upper.iter().filter(|step| step.in_flight * LOAD >= last.in_flight).collect();
    if highest.len() < LEAST_STEPS {
        highest = upper[upper.len() - LEAST_STEPS..].iter().collect();
    }
    let points = highest.iter().map(|step| (step.in_flight.ln(), step.throughput_per_s.ln()));
    let points: Vec<(f64, f64)> = points.collect();
    let shares = last.in_flight >= first.in_flight * LOAD
        && Line::through(&points).is_some_and(|line| line.slope < SHARES);
    // What is used up without any operation is used by something else.
    let comes_with_load = |unit: usize| {
        let idle = ladder.idle.get(unit).copied().flatten();
        idle.zip(mean_busy(unit, upper)).is_some_and(|(idle, busy)| idle < OWN * busy)
    };
    let units: Vec<usize> = full.iter().map(|(unit, _)| *unit).collect();
    let of = |unit: usize| (kind_of(unit), ladder.units[unit].role.as_str());
    let are_alike = units.iter().all(|unit| of(*unit) == of(units[0]));
    let is_sound = |unit: usize| comes_with_load(unit) && !is_full_early(unit, kind_of(unit), steps);
    (shares && are_alike && units.iter().all(|unit| is_sound(*unit))).then_some((units, upper))
}

/// A quota of processor time that was used up where much less was done.
fn is_full_early(unit: usize, kind: Kind, steps: &[&Step]) -> bool {
    let best = steps.iter().map(|step| step.throughput_per_s).fold(0.0, f64::max);
    let is_early = |step: &&Step| is_used_up(unit, kind, step) && step.throughput_per_s < best * ONCE_FULL;
    kind == Kind::CpuQuota && steps.iter().any(is_early)
}

/// By what an operation costs the limit at the loads that leave it something, no more than what was seen was to be expected: what
/// waits in a loop for something else uses up more with each operation, the more of them wait.
fn costs_no_more(ladder: &Ladder, unit: usize, steps: &[&Step], upper: &[&Step], best_per_s: f64) -> bool {
    let idle = ladder.idle.get(unit).copied().flatten().unwrap_or(0.0);
    let ceiling = |step: &&Step| {
        let own = step.usage.get(unit)?.busy? - idle;
        (own >= LEAST_OWN).then(|| step.throughput_per_s * (1.0 - idle) / own)
    };
    let mut low: Vec<f64> = steps[..steps.len() - upper.len()].iter().filter_map(ceiling).collect();
    low.sort_by(f64::total_cmp);
    quantile(&low, 0.5).is_none_or(|expected| best_per_s >= expected * (1.0 - MEETS))
}

fn mean_busy(unit: usize, steps: &[&Step]) -> Option<f64> {
    mean(unit, steps, |usage| usage.busy)
}

fn mean(unit: usize, steps: &[&Step], of: fn(&Usage) -> Option<f64>) -> Option<f64> {
    let seen: Vec<f64> = steps.iter().filter_map(|step| of(step.usage.get(unit)?)).collect();
    (!seen.is_empty()).then(|| seen.iter().sum::<f64>() / real(seen.len()))
}
