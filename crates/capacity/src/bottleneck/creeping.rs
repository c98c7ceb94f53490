//! Throughput that still grows a little with the last step, by luck or because more is done at once, while a thread or a quota of
//! processor time has had nothing left since half of that load. By the utilisation law such a unit lets through what it lets
//! through, whatever the last step adds. Source: Denning and Buzen (1978), section 3.

use crate::ladder::{CREEPS, Kind, Ladder, Step};
use crate::regression::Line;
use crate::saturation::is_used_up;

/// Over the steps at which a unit is full there are so many at least, the load grows so many times, and throughput no more than
/// chance and batches let it.
const LEAST_STEPS: usize = 3;
const LOAD: f64 = 2.0;
const GROWN: f64 = 1.2;
/// Over as many steps and as much more load, at which it is level but for the last, one step may come to more by chance.
const MANY_STEPS: usize = 5;
const MUCH_LOAD: f64 = 4.0;
const GROWN_ONCE: f64 = 1.3;

/// Threads and quotas that were full at all of the highest loads, from half of the highest on at least, and nowhere where much
/// less was done: one that looks for work all the time is full long before it does what it can.
pub(super) fn full_since_half(ladder: &Ladder, steps: &[&Step]) -> Vec<usize> {
    let is_one = |unit: &usize| {
        let kind = ladder.units[*unit].kind;
        let is_full = |step: &&&Step| is_full(*unit, kind, step);
        let at_end = steps.iter().rev().take_while(is_full).count();
        let first = steps.get(steps.len() - at_end).filter(|_| at_end >= LEAST_STEPS);
        let rates = steps.iter().filter(is_full).map(|step| step.throughput_per_s);
        let (least, most) = rates.fold((f64::INFINITY, 0.0_f64), |(a, b), rate| (a.min(rate), b.max(rate)));
        let more = first.zip(steps.last()).map_or(0.0, |(a, b)| b.in_flight / a.in_flight);
        let is_one_step = at_end >= MANY_STEPS
            && more >= MUCH_LOAD
            && most <= least * GROWN_ONCE
            && is_level_but_for_the_last(ladder, *unit, steps);
        more >= LOAD && (most <= least * GROWN || is_one_step)
    };
    (0..ladder.units.len()).filter(is_one).collect()
}

/// Of the loads at which a unit is full, only the last came to more. Where each came to more than the one before, what
/// is full may as well look for work all the time, or do what operations do not wait for.
pub(super) fn is_level_but_for_the_last(ladder: &Ladder, unit: usize, steps: &[&Step]) -> bool {
    let kind = ladder.units[unit].kind;
    let full = steps.iter().rev().take_while(|step| is_full(unit, kind, step)).skip(1);
    let rates: Vec<(f64, f64)> = full.map(|step| (step.in_flight.ln(), step.throughput_per_s.ln())).collect();
    Line::through(&rates).is_some_and(|line| line.slope < CREEPS)
}

fn is_full(unit: usize, kind: Kind, step: &Step) -> bool {
    matches!(kind, Kind::Thread | Kind::CpuQuota) && is_used_up(unit, kind, step)
}
