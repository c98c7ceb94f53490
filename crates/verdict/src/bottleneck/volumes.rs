//! Volumes that are read beside the disks that they lie on (LVM, encryption, a cache), and links beside those that carry for
//! them (a bridge, a pair, a VLAN): as busy as these at each load, they are no second place at which anything waits.

use cosmark_capacity::ladder::{Ladder, Step, Unit};
use cosmark_metrics::ResourceKind;
use cosmark_metrics::nodes::costs::is_stacked;

/// Two that differ by no more than this share of the time, and this part of what the busier one is, are as busy.
const WITHIN: f64 = 0.02;
const PART: f64 = 0.05;
/// Below this all are as busy.
const LEAST_BUSY: f64 = 0.1;
/// Fewer loads may be alike by chance.
const LEAST_LOADS: usize = 3;

/// A ladder without them. One that is slower than its disk, or has more to do, stays.
pub(super) fn left_out(ladder: Ladder) -> Ladder {
    let stays: Vec<bool> = (0..ladder.units.len()).map(|unit| !lies_on_another(&ladder, unit)).collect();
    let Ladder { units, idle, steps } = ladder;
    let steps = steps.into_iter().map(|step| Step { usage: those(step.usage, &stays), ..step });
    Ladder { units: those(units, &stays), idle: those(idle, &stays), steps: steps.collect() }
}

fn those<T>(all: Vec<T>, stays: &[bool]) -> Vec<T> {
    all.into_iter().zip(stays).filter(|(_, stays)| **stays).map(|(one, _)| one).collect()
}

fn lies_on_another(ladder: &Ladder, unit: usize) -> bool {
    let own = &ladder.units[unit];
    may_lie_on_another(own)
        && ladder.units.iter().enumerate().any(|(at, below)| {
            let may_be_below = below.kind == own.kind && below.node == own.node && !may_lie_on_another(below);
            may_be_below && are_as_busy(&ladder.steps, unit, at)
        })
}

fn may_lie_on_another(unit: &Unit) -> bool {
    const LINKS: [&str; 5] = ["bond", "team", "br", "vmbr", "vlan"];
    match unit.kind {
        // A loop is made to be a disk of its own.
        ResourceKind::Disk => is_stacked(&unit.name) && !unit.name.starts_with("loop"),
        ResourceKind::NetworkReceive | ResourceKind::NetworkTransmit => {
            unit.name.contains('.') || LINKS.iter().any(|link| unit.name.starts_with(link))
        }
        _ => false,
    }
}

fn are_as_busy(steps: &[Step], one: usize, other: usize) -> bool {
    let busy = |step: &Step, unit: usize| step.usage.get(unit).and_then(|usage| usage.busy);
    let pairs: Vec<(f64, f64)> =
        steps.iter().filter_map(|step| busy(step, one).zip(busy(step, other))).collect();
    pairs.len() >= LEAST_LOADS
        && pairs.iter().any(|(one, _)| *one >= LEAST_BUSY)
        && pairs.iter().all(|(one, other)| (one - other).abs() <= WITHIN + PART * one.max(*other))
}
