//! Whether work waits for a unit where throughput is level. What is counted as waiting differs by the kind of unit, and so
//! does what it proves: the queue of a disk holds all that waits for it; a run queue holds threads and not operations, and a
//! server with a thread per processor never has a long one; a thread's own run queue says something of its processor and
//! nothing of what waits for the thread, but that one that never sleeps always has something to do; a link drops packets or has its senders wait elsewhere.
//!
//! Source: B. Gregg, Thinking Methodically about Performance (ACM Queue 10, 2012); Linux kernel, scheduler/sched-bwc.rst for
//! quotas.

use crate::ladder::{FULL, Kind, Step, Waiting};
use crate::number::real;

/// What waiting says of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// All that is added beyond the knee of the throughput waits here: only the bottleneck's queue goes on growing as the
    /// load does, other queues stay what they are however busy their units.
    Grows,
    /// More waits at higher service times.
    Rises,
    /// Nothing waits here although operations take longer, and something would if this was the limit.
    Never,
    /// What waits for it was not measured, or cannot be seen for units of this kind.
    Unknown,
}

/// Of the growth of the load in flight, the least that the bottleneck's queue shows over the plateau.
const GROWS: f64 = 0.85;
/// A plateau over which the load grew by less says nothing of queues that grow.
const LONG_PLATEAU: f64 = 1.9;
/// A group that is stopped in fewer of its periods than this had processor time left.
pub(crate) const LEAST_THROTTLED: f64 = 0.5;
/// One that is stopped in this share of them has none, whatever is left of each processor's slice.
pub(crate) const STOPPED: f64 = 0.9;
/// A queue that is shorter than this holds nobody up.
const LEAST_QUEUE: f64 = 0.05;
/// Nor does what waits for less of the time.
const LEAST_SHARE: f64 = 0.05;
/// Nor what drops fewer packets a second: one now and then is no sign of a link that is full.
const LEAST_EVENTS: f64 = 1.0;
/// What takes up all that is added has at least this waiting on average at the highest load. Where less does, what was added is
/// elsewhere, however many times the queue grew.
const LEAST_GROWN: f64 = 1.0;

/// Each kind of waiting has a scale of its own.
fn holds_up(waiting: Waiting) -> bool {
    match waiting {
        Waiting::Queue(many) => many >= LEAST_QUEUE,
        Waiting::Share(part) => part >= LEAST_SHARE,
        Waiting::Events(per_s) => per_s >= LEAST_EVENTS,
    }
}

/// What waiting says of a unit of this kind. All steps by rising load, and those at which throughput is level.
#[must_use]
pub(crate) fn waits(unit: usize, kind: Kind, steps: &[&Step], level: &[&Step]) -> Waits {
    let waiting = |step: &&Step| step.usage.get(unit).and_then(|usage| usage.waiting);
    let seen: Vec<(f64, Waiting)> =
        steps.iter().filter_map(|step| Some((step.service_s, waiting(step)?))).collect();
    let (true, Some(first), Some(last)) = (seen.len() >= 3, seen.first(), seen.last()) else {
        return Waits::Unknown;
    };
    let is_more = last.1.amount() > first.1.amount() * 1.5 && holds_up(last.1);
    let amounts: Vec<(f64, f64)> = seen.iter().map(|one| (one.0, one.1.amount())).collect();
    let rises = is_more && rank_correlation(&amounts) >= 0.6;
    match kind {
        Kind::Thread if never_sleeps(unit, level) => Waits::Rises,
        Kind::Thread => Waits::Unknown,
        Kind::Machine | Kind::Core if rises => keeps_growing(unit, level).unwrap_or(Waits::Rises),
        Kind::NetworkReceive | Kind::NetworkTransmit | Kind::IoLimit if rises => Waits::Rises,
        Kind::Machine | Kind::Core | Kind::NetworkReceive | Kind::NetworkTransmit | Kind::IoLimit => {
            Waits::Unknown
        }
        Kind::CpuQuota => match stopped(unit, level).reduce(f64::min) {
            Some(least) if least >= LEAST_THROTTLED => Waits::Rises,
            Some(_) => Waits::Never,
            None => Waits::Unknown,
        },
        Kind::Disk if rises => keeps_growing(unit, level).unwrap_or(Waits::Rises),
        Kind::Disk => Waits::Never,
    }
}

/// A thread that ran, or was ready to, all of the time: there was always more for it to do. Where it was not given a processor
/// at once, it had less of one than it could have used.
fn never_sleeps(unit: usize, level: &[&Step]) -> bool {
    let awake: Option<Vec<f64>> = level.iter().map(|step| awake(unit, step)).collect();
    awake.is_some_and(|awake| !awake.is_empty() && awake.iter().all(|share| *share >= FULL))
}

/// Share of the time in which a thread ran or was ready to.
pub(crate) fn awake(unit: usize, step: &Step) -> Option<f64> {
    let usage = step.usage.get(unit)?;
    Some(usage.busy? + usage.waiting?.amount())
}

/// A thread, a quota of processor time or a limit of input and output had nothing left at this load.
pub(crate) fn is_used_up(unit: usize, kind: Kind, step: &Step) -> bool {
    let busy = step.usage.get(unit).and_then(|usage| usage.busy);
    let is_full = busy.is_some_and(|busy| busy >= FULL);
    match kind {
        // One that is not given a processor at once has something to do all the same.
        Kind::Thread => awake(unit, step).or(busy).is_some_and(|share| share >= FULL),
        Kind::CpuQuota => is_full || stopped(unit, &[step]).any(|share| share >= STOPPED),
        Kind::IoLimit => is_full,
        _ => false,
    }
}

/// Whether something waits for a unit at all of these loads at which that was measured; `None` where it was at none.
pub(crate) fn is_waited_for(unit: usize, steps: &[&Step]) -> Option<bool> {
    let measured = steps.iter().filter_map(|step| step.usage.get(unit)?.waiting);
    measured.map(holds_up).reduce(|all, one| all && one)
}

/// Share of its periods in which a group was stopped by its quota, at each of these steps at which that was counted.
pub(crate) fn stopped(unit: usize, steps: &[&Step]) -> impl Iterator<Item = f64> {
    steps.iter().filter_map(move |step| Some(step.usage.get(unit)?.waiting?.amount()))
}

/// Whether a queue goes on growing as the load does; `None` where the plateau is too short to tell, or where what waits is
/// no number of operations.
fn keeps_growing(unit: usize, level: &[&Step]) -> Option<Waits> {
    let queues: Vec<(f64, f64)> = level
        .iter()
        .filter_map(|step| match step.usage.get(unit)?.waiting? {
            Waiting::Queue(queue) => Some((step.in_flight, queue)),
            _ => None,
        })
        .collect();
    let ((load, queue), (more_load, longer)) = (*queues.first()?, *queues.last()?);
    if more_load < load * LONG_PLATEAU {
        return None;
    }
    let grows = longer >= LEAST_GROWN && longer >= queue.max(LEAST_QUEUE) * GROWS * more_load / load;
    Some(if grows { Waits::Grows } else { Waits::Rises })
}

fn rank_correlation(points: &[(f64, f64)]) -> f64 {
    let (a, b) = (ranks(points.iter().map(|point| point.0)), ranks(points.iter().map(|point| point.1)));
    let middle = (real(points.len()) + 1.0) / 2.0;
    let together: f64 = a.iter().zip(&b).map(|(a, b)| (a - middle) * (b - middle)).sum();
    let alone = |ranks: &[f64]| ranks.iter().map(|rank| (rank - middle).powi(2)).sum::<f64>();
    let both = (alone(&a) * alone(&b)).sqrt();
    if both > 0.0 { together / both } else { 0.0 }
}

/// Ranks from 1; equal values share the mean of theirs.
fn ranks(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let values: Vec<f64> = values.collect();
    let below = |x: f64| real(values.iter().filter(|y| **y < x).count());
    let equal = |x: f64| real(values.iter().filter(|y| **y == x).count());
    values.iter().map(|x| below(*x) + (equal(*x) + 1.0) / 2.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ladder::Usage;

    /// Loads that double, with what waits for one unit at each; throughput is level over the last three.
    fn said(kind: Kind, waiting: [Option<Waiting>; 6]) -> Waits {
        let step = |(load, waiting): (f64, Option<Waiting>)| Step {
            in_flight: load,
            service_s: load * 1e-3,
            usage: vec![Usage { busy: Some(0.93), waiting, ..Usage::default() }],
            ..Step::default()
        };
        let steps: Vec<Step> = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0].into_iter().zip(waiting).map(step).collect();
        let steps: Vec<&Step> = steps.iter().collect();
        waits(0, kind, &steps, &steps[3..])
    }

    #[test]
    fn a_queue_of_next_to_nothing_does_not_go_on_growing_however_many_times_it_grew() {
        let queues = |lengths: [f64; 6]| lengths.map(|length| Some(Waiting::Queue(length)));
        for kind in [Kind::Machine, Kind::Core, Kind::Disk] {
            for (lengths, waits) in [
                ([0.0, 0.0, 0.01, 0.02, 0.04, 0.08], Waits::Rises),
                ([0.0, 0.0, 0.0, 0.0, 0.02, 0.06], Waits::Rises),
                ([0.0, 0.01, 0.05, 0.15, 0.3, 0.6], Waits::Rises),
                ([0.0, 0.1, 0.5, 3.0, 6.5, 14.0], Waits::Grows),
                // It began with the plateau.
                ([0.0, 0.0, 0.0, 0.0, 6.0, 20.0], Waits::Grows),
                ([0.0, 0.1, 0.5, 3.0, 3.5, 4.0], Waits::Rises),
            ] {
                assert_eq!(said(kind, queues(lengths)), waits, "{kind:?} {lengths:?}");
            }
        }
    }

    #[test]
    fn each_kind_of_waiting_has_its_own_scale() {
        let drops = |rates: [f64; 6]| rates.map(|rate| Some(Waiting::Events(rate)));
        // One packet in a stage of many seconds.
        assert_eq!(said(Kind::NetworkTransmit, drops([0.0, 0.0, 0.0, 0.0, 0.06, 0.12])), Waits::Unknown);
        assert_eq!(said(Kind::NetworkTransmit, drops([0.0, 0.0, 0.0, 9.0, 40.0, 90.0])), Waits::Rises);
        let shares = |parts: [f64; 6]| parts.map(|part| Some(Waiting::Share(part)));
        assert_eq!(said(Kind::IoLimit, shares([0.0, 0.0, 0.01, 0.02, 0.03, 0.04])), Waits::Unknown);
        assert_eq!(said(Kind::IoLimit, shares([0.0, 0.0, 0.1, 0.4, 0.6, 0.7])), Waits::Rises);
    }

    #[test]
    fn a_quota_whose_stops_were_not_counted_at_the_plateau_is_not_said_to_have_stopped_its_group() {
        let shares = [Some(0.0), Some(0.1), Some(0.4), None, None, None];
        assert_eq!(said(Kind::CpuQuota, shares.map(|part| part.map(Waiting::Share))), Waits::Unknown);
        let shares = [0.0, 0.1, 0.4, 0.8, 0.9, 1.0].map(|part| Some(Waiting::Share(part)));
        assert_eq!(said(Kind::CpuQuota, shares), Waits::Rises);
    }
}
