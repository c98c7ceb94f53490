//! Units that are full at all of the highest loads, whose operations cost more at low ones. There the utilisation law gives
//! what an operation costs without a line through other loads. Source: Denning and Buzen (1978), section 3.

use cosmark_stats::bootstrap::Random;

use super::{LARGEST_RESIDUALS, LEAST_LOADS, Load, MATTERS, Observed, Row};
use crate::ladder::{FULL, Kind, Usage};
use crate::number::real;
use crate::regression::{Plane, is_noise};

/// Of the highest load, the share from which on (and at [`LEAST_LOADS`] at least) a unit has to be full for its costs to be
/// those of these loads.
const HIGHEST: f64 = 0.5;
/// A group that its quota stops in this share of its periods has no time left, though a part of each processor's slice may be:
/// it used at least [`USED_WHEN_STOPPED`]. Source: Linux kernel, scheduler/sched-bwc.rst.
const STOPPED: f64 = 0.9;
/// Of the quota.
const USED_WHEN_STOPPED: f64 = 0.9;
/// How far the costs at these loads may lie from their mean.
const STEADY_WHEN_FULL: f64 = 0.12;
/// The standard error that the mean of more than these may have: among many loads chance puts one of them farther off.
const ERROR_WHEN_FULL: f64 = 0.05;

/// A unit that is full at all of the highest loads: at all loads from some on, where it costs the same at them, or at the upper
/// half. There the utilisation law gives what an operation costs it without a line through other loads: a server that is
/// never idle looks less often for new work, and does it in larger batches.
#[derive(Clone)]
pub(super) struct Full {
    /// At each of these loads: how many times what the plane says.
    times: Vec<f64>,
    /// Share of the unit that is busy without load.
    pub idle: f64,
    /// The lowest and the highest of them, operations under way.
    pub in_flight: (f64, f64),
}

impl Full {
    /// `None` where the unit is not full at all of the highest loads, where these are too few or too near to each other to
    /// show that the cost stays, or where it does not.
    pub fn of(
        observed: &Observed,
        unit: usize,
        plane: &Plane,
        columns: impl Fn(&Load) -> Vec<f64>,
    ) -> Option<Self> {
        // By rising load, as they are sorted.
        let clear: Vec<&Load> = observed.loads.iter().filter(|load| load.client_clear).collect();
        let most = clear.last()?.in_flight;
        let idle = observed.idle.get(unit).copied().flatten().unwrap_or(plane.idle).clamp(0.0, 1.0);
        let kind = observed.units.get(unit)?.kind;
        let times = |load: &&Load| {
            let busy = when_full(kind, load.usage.get(unit)?)?;
            let work = plane.work(&columns(load));
            (work > 0.0).then(|| (busy - idle) / work)
        };
        let whole = clear.iter().rev().take_while(|load| times(load).is_some()).count();
        let half = clear.iter().filter(|load| load.in_flight >= most * HIGHEST).count().max(LEAST_LOADS);
        let of_highest = |many: usize| {
            let high = &clear[clear.len().saturating_sub(many)..];
            let least = high.first()?.in_flight;
            if high.len() < LEAST_LOADS || least > most * (1.0 + HIGHEST) / 2.0 {
                return None;
            }
            let times: Vec<f64> = high.iter().map(times).collect::<Option<_>>()?;
            let middle = mean(&times);
            let off: Vec<f64> = times.iter().map(|one| (one / middle - 1.0).abs()).collect();
            let are_within = |most: f64| off.iter().all(|off| *off <= most);
            let is_steady = if many <= half {
                are_within(STEADY_WHEN_FULL)
            } else {
                let squares: f64 = off.iter().map(|off| off * off).sum();
                are_within(2.0 * STEADY_WHEN_FULL) && squares.sqrt() / real(off.len()) <= ERROR_WHEN_FULL
            };
            // By the upper half alone it costs as much: nothing falls or rises on the way.
            let upper = mean(&times[times.len() / 2..]);
            let stays = many <= half || (upper / middle - 1.0).abs() <= LARGEST_RESIDUALS.0;
            (is_steady && stays).then_some(Self { times, idle, in_flight: (least, most) })
        };
        // The more loads it was full at, the less the chance of one of them is worth.
        of_highest(whole).or_else(|| of_highest(half))
    }

    /// How many times what the plane says an operation costs at these loads.
    pub fn mean(&self) -> f64 {
        mean(&self.times)
    }

    /// With the cost at one of these loads, which shows how sure the mean is.
    pub fn drawn(&self, random: &mut Random) -> Self {
        Self { times: vec![self.times[random.below(self.times.len())]], ..self.clone() }
    }
}

/// How busy a unit is where it is full; `None` where it is not.
pub(super) fn when_full(kind: Kind, usage: &Usage) -> Option<f64> {
    let busy = usage.busy?;
    let is_stopped = kind == Kind::CpuQuota && usage.waiting.is_some_and(|waits| waits.amount() >= STOPPED);
    match busy {
        _ if is_stopped && busy >= USED_WHEN_STOPPED => Some(1.0),
        _ if busy >= FULL => Some(busy),
        _ => None,
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / real(values.len().max(1))
}

/// The plane holds at every load, or the unit is hardly busy at any.
pub(super) fn is_constant(rows: &[Row], plane: &Plane) -> bool {
    let busiest = rows.iter().map(|row| row.1).fold(0.0, f64::max);
    is_near(plane) || is_scattered(rows, plane) || busiest <= MATTERS
}

/// Loads may lie so far from the plane, as in [`LARGEST_RESIDUALS`], where that is noise.
const SCATTERED: (f64, f64) = (0.1, 0.2);

/// All that was seen lies about the plane by chance. Only of one kind of operation, whose loads are in one order.
fn is_scattered(rows: &[Row], plane: &Plane) -> bool {
    let is_far = plane.deviation() > SCATTERED.0 || plane.farthest() > SCATTERED.1;
    let work: Vec<f64> = rows.iter().map(|row| plane.work(&row.0)).collect();
    !is_far && plane.costs.len() == 1 && is_noise(&work, &plane.residuals)
}

/// All that was seen lies near the plane.
pub(crate) fn is_near(plane: &Plane) -> bool {
    plane.deviation() <= LARGEST_RESIDUALS.0 && plane.farthest() <= LARGEST_RESIDUALS.1
}
