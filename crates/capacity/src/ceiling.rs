//! The ceiling of a unit whose operations cost less the more of them there are, from the steps far below it. There the
//! utilisation curves downwards, so that a straight line predicts a ceiling that is too low; how far it goes on curving beyond
//! the steps no statistics can tell. So several laws are fitted ([`Law`]), of which each is the truth of some servers. What
//! each predicts is weighted by how well it predicts every single step from the others, and the interval holds all that any of
//! them lets be true.
//!
//! Sources: M. Stone, Cross-Validatory Choice (Journal of the Royal Statistical Society B 36, 1974) for leaving one out;
//! E. C. Fieller (1954) for the interval of where a line comes to 1. Tried by leaving steps out of ladders of a gateway and of
//! OSDs of Ceph under quotas: docs/reference/nodes.md.

use cosmark_stats::special::t_critical;

use crate::ladder::Ladder;
use crate::law::{KNOWN_TO, Law, MOST_TIMES, REFUTED};
use crate::number::real;
use crate::regression::Line;

/// What one step says of one unit.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    rate_per_s: f64,
    in_flight: f64,
    busy: f64,
    /// Operations that it was seen with, where that is known.
    operations: Option<u64>,
}

impl Point {
    /// Variance of the busy share by which operations it happened to be: their costs are taken to differ as exponential times
    /// do, and of few the mean may be any.
    fn by_chance(&self, idle: f64) -> f64 {
        let Some(operations) = self.operations else { return 0.0 };
        let count = usize::try_from(operations.max(1)).unwrap_or(usize::MAX);
        (self.busy - idle).max(0.0).powi(2) / real(count)
    }

    /// Operations a second, each counted by what it costs beside one at the unit that the line is of.
    fn counted(&self, law: Law, bend: f64) -> f64 {
        self.rate_per_s * law.times(bend, self.busy, self.in_flight)
    }
}

/// A ceiling by one law, operations per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ByLaw {
    /// The law.
    pub law: Law,
    /// The ceiling where it fits best.
    pub per_s: f64,
    /// 95 % interval, lower end.
    pub low: f64,
    /// Upper end; infinite where there is none.
    pub high: f64,
    /// How far a step lies from what the others predict for it, in shares of the unit: root mean square.
    pub error: f64,
}

/// A predicted ceiling, operations per second.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicted {
    /// The mean of what the laws say, by how well each predicts the steps.
    pub per_s: f64,
    /// Lower end of what any law that is not refuted lets be true at 95 %.
    pub low: f64,
    /// Upper end; infinite where there is none.
    pub high: f64,
    /// Each of these laws.
    pub by: Vec<ByLaw>,
}

impl Predicted {
    /// Whether it may come to so many operations per second.
    #[must_use]
    pub fn holds(&self, per_s: f64) -> bool {
        (self.low..=self.high).contains(&per_s)
    }
}

/// Of more steps these are looked at, spread over all of them: each is predicted by all others.
const MOST_STEPS: usize = 100;
/// Fewer steps say nothing of a bend.
const LEAST_STEPS: usize = 3;
/// What a law takes from the points: the share that is busy anyway, the cost and the bend.
const TAKEN: usize = 3;

/// The ceiling of one unit by the steps before the store breaks down whose throughput is at most `below_per_s`, where so many
/// operations are under way.
/// `None` where these steps are too few to show a bend.
#[must_use]
pub fn of_unit(ladder: &Ladder, unit: usize, below_per_s: f64, in_flight: f64) -> Option<Predicted> {
    let steps = ladder.low(below_per_s).into_iter();
    let points = steps.filter_map(|step| {
        let busy = step.usage.get(unit)?.busy?;
        Some(Point {
            rate_per_s: step.throughput_per_s,
            in_flight: step.in_flight,
            busy,
            operations: step.counted,
        })
    });
    predict(ladder.idle.get(unit).copied().flatten(), &thinned(points.collect()), in_flight)
}

/// No more than [`MOST_STEPS`], among them the first and the last.
fn thinned(points: Vec<Point>) -> Vec<Point> {
    let (count, last) = (points.len(), MOST_STEPS - 1);
    if count <= MOST_STEPS {
        return points;
    }
    (0..MOST_STEPS).filter_map(|at| points.get(at * (count - 1) / last).copied()).collect()
}

fn predict(idle: Option<f64>, points: &[Point], in_flight: f64) -> Option<Predicted> {
    let known = points.len() + usize::from(idle.is_some());
    if points.len() < LEAST_STEPS || known <= TAKEN || !(in_flight.is_finite() && in_flight > 0.0) {
        return None;
    }
    let degrees = real(known - TAKEN);
    let all = Law::ALL.iter().filter_map(|law| by_law(*law, idle, points, in_flight, degrees));
    let all: Vec<ByLaw> = all.collect();
    let least = all.iter().map(|one| one.error).reduce(f64::min)?;
    let by: Vec<ByLaw> = all.into_iter().filter(|one| one.error <= REFUTED * least).collect();
    let weights: f64 = by.iter().map(|one| one.error.powi(-2)).sum();
    let logs: f64 = by.iter().map(|one| one.error.powi(-2) * one.per_s.ln()).sum();
    Some(Predicted {
        per_s: (logs / weights).exp(),
        low: by.iter().map(|one| one.low).fold(f64::INFINITY, f64::min),
        high: by.iter().map(|one| one.high).fold(0.0, f64::max),
        by,
    })
}

/// A line through what one bend makes of the points.
struct Bent {
    bend: f64,
    line: Line,
    /// How many operations cost as much as one that a step counts for one, where the unit is full.
    times: f64,
}

impl Bent {
    fn ceiling_per_s(&self) -> f64 {
        self.line.full_at() * self.times
    }
}

/// The lines of all bends, up to the one whose ceiling is too far from that of the straight line.
fn bent(law: Law, idle: Option<f64>, points: &[Point], in_flight: f64) -> Vec<Bent> {
    let line = |bend: f64| {
        let seen = points.iter().map(|point| (point.counted(law, bend), point.busy));
        let seen: Vec<(f64, f64)> = idle.map(|busy| (0.0, busy)).into_iter().chain(seen).collect();
        let line = Line::from_idle(&seen).filter(|line| line.slope > 0.0)?;
        Some(Bent { bend, line, times: law.when_full(bend, in_flight).recip() })
    };
    let mut found: Vec<Bent> = law.bends().filter_map(line).collect();
    let most = found.first().map_or(0.0, |straight| straight.ceiling_per_s() * MOST_TIMES);
    found.retain(|one| one.ceiling_per_s() <= most);
    found
}

fn nearest(all: &[Bent]) -> Option<&Bent> {
    all.iter().min_by(|a, b| a.line.squares.total_cmp(&b.line.squares))
}

fn by_law(law: Law, idle: Option<f64>, points: &[Point], in_flight: f64, degrees: f64) -> Option<ByLaw> {
    let all = bent(law, idle, points, in_flight);
    let best = nearest(&all)?;
    // Points that lie near a line by chance do not make it surer than what each of them was counted from.
    let by_chance = points.iter().map(|point| point.by_chance(idle.unwrap_or(0.0))).sum::<f64>();
    let by_chance = by_chance / real(points.len().max(1));
    let variance = (best.line.squares / degrees).max(KNOWN_TO.powi(2)).max(by_chance);
    // Bends and lines are as good as the best while the squares are no more than this.
    let most = best.line.squares + variance * t_critical(0.05, degrees).powi(2);
    let between = all.iter().filter(|one| one.line.squares <= most).map(|one| {
        let (low, high) = one.line.full_between(most - one.line.squares);
        (low * one.times, high * one.times)
    });
    let (low, high) = between.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    let per_s = best.ceiling_per_s();
    let error = left_out(law, idle, points, in_flight)?.max(KNOWN_TO);
    (per_s > 0.0).then_some(ByLaw { law, per_s, low, high, error })
}

/// Root mean square of the distances of the steps from what the law says of each by the others alone.
fn left_out(law: Law, idle: Option<f64>, points: &[Point], in_flight: f64) -> Option<f64> {
    let distance = |at: usize| {
        let others: Vec<Point> =
            points.iter().enumerate().filter(|(place, _)| *place != at).map(|(_, point)| *point).collect();
        let all = bent(law, idle, &others, in_flight);
        let best = nearest(&all)?;
        Some(best.line.at(points[at].counted(law, best.bend)) - points[at].busy)
    };
    let distances: Option<Vec<f64>> = (0..points.len()).map(distance).collect();
    let squares = distances?.iter().map(|one| one.powi(2)).sum::<f64>();
    Some((squares / real(points.len())).sqrt())
}

#[cfg(test)]
mod tests;
