//! Service demands from utilisations: the utilisation law U = X D, fitted over the steps of a ladder. Source: Denning and
//! Buzen (1978), section 3; regression as in Lazowska et al. (1984), chapter 12.

use cosmark_stats::special::t_critical;

use crate::ladder::{Kind, Ladder};
use crate::number::real;
use crate::regression::{Line, is_noise, of_classes};

/// What one operation costs one unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Seconds of the unit per operation, D.
    pub seconds: f64,
    /// 95 % interval of it, lower end, not below 0.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Share of the unit that is busy without any operation, by the fit.
    pub idle: f64,
    /// The largest distance of a step from the line, in shares of the unit.
    pub residual: f64,
    /// The same demand at every load, within what the steps can show.
    pub constant: bool,
    /// Steps that the line was fitted to.
    pub steps: usize,
    /// Seconds that an operation costs beside [`Self::seconds`] where it finds the unit asleep: what it takes to wake it. A
    /// unit that is full never sleeps.
    pub waking: f64,
    /// 95 % interval of the throughput at which the unit has no time left, per second. It widens with the way from the steps to
    /// there.
    pub full_between_per_s: (f64, f64),
}

impl Demand {
    /// The throughput at which the unit has no time left, per second: (1 - idle) / D. Infinite where an operation does not
    /// need it.
    #[must_use]
    pub fn ceiling_per_s(&self) -> f64 {
        ceiling(self.idle, self.seconds)
    }

    /// The 95 % interval of the ceiling, per second; the ceiling alone where two points leave nothing to judge it by.
    #[must_use]
    pub fn ceiling_interval(&self) -> (f64, f64) {
        let ceiling = self.ceiling_per_s();
        let (low, high) = self.full_between_per_s;
        (low.min(ceiling), high.max(ceiling))
    }
}

fn ceiling(idle: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { (1.0 - idle).max(0.0) / seconds } else { f64::INFINITY }
}

/// Fewer steps with load need the idle machine beside them.
const LEAST_LOADED: usize = 4;

/// A step may lie this far from the line, in shares of the unit, before the demand is called not constant.
const LARGEST_RESIDUAL: f64 = 0.05;
/// The same where steps lie about the line as noise does.
const LARGEST_OF_NOISE: f64 = 0.12;

/// Fits a line through (X, U). `None` where there are fewer than two points, or their X are all alike. Two points have no
/// interval: nothing is left to judge the line by.
#[must_use]
pub fn fit(points: &[(f64, f64)]) -> Option<Demand> {
    let usable = |(x, u): &&(f64, f64)| x.is_finite() && u.is_finite() && *x >= 0.0;
    let points: Vec<(f64, f64)> = points.iter().filter(usable).copied().collect();
    if points.len() < 2 {
        return None;
    }
    let line = Line::through(&points)?;
    let degrees = real(points.len()) - 2.0;
    // What the sum of squares may grow by.
    let more = match degrees > 0.0 {
        true => line.squares / degrees * t_critical(0.05, degrees).powi(2),
        false => 0.0,
    };
    let residuals: Vec<f64> = points.iter().map(|(x, u)| u - line.at(*x)).collect();
    let residual = residuals.iter().map(|one| one.abs()).fold(0.0, f64::max);
    let rates: Vec<f64> = points.iter().map(|point| point.0).collect();
    let is_near = residual <= LARGEST_RESIDUAL;
    let constant = is_near || (residual <= LARGEST_OF_NOISE && is_noise(&rates, &residuals));
    let error = line.error(more);
    Some(Demand {
        seconds: line.slope.max(0.0),
        low: (line.slope - error).max(0.0),
        high: (line.slope + error).max(0.0),
        idle: line.idle.clamp(0.0, 1.0),
        residual,
        constant,
        steps: points.len(),
        waking: 0.0,
        full_between_per_s: line.full_between(more),
    })
}

/// Fewer points do not tell what waking costs from what work costs.
const LEAST_WAKING: usize = 6;
/// A unit that was never busier than this was asleep too much of the time to tell.
const AWAKE: f64 = 0.4;
/// What waking costs may be so many times the work itself.
const MOST_WAKING: f64 = 1.0;

/// U = idle + X (D + waking (1 - U)): who comes while the unit is busy need not wake it, so that an operation costs less the
/// busier it is. `None` where the points do not show that better than a line does.
fn fit_waking(points: &[(f64, f64)], line: &Demand) -> Option<Demand> {
    let busiest = points.iter().map(|point| point.1).fold(0.0, f64::max);
    if points.len() < LEAST_WAKING || busiest < AWAKE {
        return None;
    }
    let rows: Vec<(Vec<f64>, f64)> = points.iter().map(|(x, u)| (vec![*x, x * (1.0 - u)], *u)).collect();
    let plane = of_classes(&rows)?;
    let [seconds, waking] = plane.costs[..] else { return None };
    let squares = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(|point| of(point).powi(2)).sum::<f64>();
    let by_line = squares(&|(x, u)| u - line.idle - line.seconds * x);
    let by_plane = plane.residuals.iter().map(|one| one * one).sum::<f64>();
    let degrees = real(points.len()) - 3.0;
    let is_better = (by_line - by_plane) * degrees > t_critical(0.05, degrees).powi(2) * by_plane;
    (is_better && seconds > 0.0 && waking > 0.0 && waking <= seconds * MOST_WAKING).then(|| {
        // How sure it is: as the line is by its own distances, which are larger.
        let error = (line.high - line.seconds).max(0.0);
        let (low, high) = ((seconds - error).max(0.0), seconds + error);
        let idle = plane.idle.clamp(0.0, 1.0);
        Demand {
            seconds,
            low,
            high,
            idle,
            residual: plane.farthest(),
            constant: plane.farthest() <= LARGEST_RESIDUAL,
            steps: points.len(),
            waking,
            full_between_per_s: (ceiling(idle, high), ceiling(idle, low)),
        }
    })
}

/// The demand of one unit by the steps before the store breaks down whose throughput is at most `below_per_s`, with the idle
/// machine as a point of its own where it was looked at.
#[must_use]
pub fn of_unit(ladder: &Ladder, unit: usize, below_per_s: f64) -> Option<Demand> {
    let steps = ladder.low(below_per_s).into_iter();
    let seen = steps.filter_map(|step| Some((step.throughput_per_s, step.usage.get(unit)?.busy?)));
    let seen: Vec<(f64, f64)> = seen.collect();
    let idle = ladder.idle.get(unit).copied().flatten().map(|busy| (0.0, busy));
    let points: Vec<(f64, f64)> = idle.into_iter().chain(seen.iter().copied()).collect();
    let whole = fit(&points);
    if matches!(ladder.units.get(unit)?.kind, Kind::Thread | Kind::Core | Kind::Machine | Kind::CpuQuota)
        && let Some(found) = whole.as_ref().and_then(|line| fit_waking(&points, line))
    {
        return Some(found);
    }
    // What a server costs as soon as it has any work (waking up, timers) is no part of what an operation costs.
    let is_constant = |demand: &Demand| demand.constant;
    match whole {
        Some(whole) if !whole.constant && seen.len() >= LEAST_LOADED => {
            fit(&seen).filter(is_constant).or(Some(whole))
        }
        whole => whole,
    }
}
