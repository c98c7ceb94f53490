//! Stretches of a window in which nothing succeeded though something was due, or little did between times as usual.

use super::unevenness::Unevenness;
use crate::evidence::{Evidence, Pacing, Series};

/// A stretch without success says something only where so many were to be expected in it.
const LEAST_EXPECTED: f64 = 15.0;
/// And where the schedule says exactly what was due.
const LEAST_DUE: f64 = 3.0;
/// With fewer to be expected, half of them may be missing by chance.
const LEAST_FOR_HALF: f64 = 60.0;
/// Stalls that take more of the window than this, or are more than so many, are what the store is like.
const MOST_SHARE: f64 = 0.20;
const MOST_STALLS: usize = 3;
/// A step with less than this share of the usual rate is one of a stall, and so is one with this many times the usual
/// response time.
const LITTLE: f64 = 0.5;
const LONG: f64 = 3.0;

/// Neighbouring steps, from the first to before the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    pub from: usize,
    pub to: usize,
}

impl Stretch {
    pub fn steps(&self) -> usize {
        self.to - self.from
    }

    pub fn holds(&self, step: usize) -> bool {
        (self.from..self.to).contains(&step)
    }
}

/// Longest stretches of steps that are `like` this.
fn stretches(steps: usize, like: impl Fn(usize) -> bool) -> Vec<Stretch> {
    let mut found: Vec<Stretch> = Vec::new();
    for at in (0..steps).filter(|at| like(*at)) {
        match found.last_mut() {
            Some(last) if last.to == at => last.to += 1,
            _ => found.push(Stretch { from: at, to: at + 1 }),
        }
    }
    found
}

/// Stretches in which no operation succeeded though some had to.
pub fn silences(evidence: &Evidence, series: &Series) -> Vec<Stretch> {
    let empty =
        stretches(series.rate_per_s.len(), |at| series.rate_per_s.get(at).is_some_and(|rate| *rate <= 0.0));
    let found: Vec<Stretch> =
        empty.into_iter().filter(|stretch| was_due(evidence, series, *stretch, LEAST_EXPECTED)).collect();
    if are_usual(evidence, series, &found) { Vec::new() } else { found }
}

/// Whether all workers are in long operations at once as often as chance has it: where there are few workers and the store
/// takes long for some operations, again and again.
#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
fn are_usual(evidence: &Evidence, series: &Series, found: &[Stretch]) -> bool {
    /// Chance may make it this much more.
    const ROOM: f64 = 3.0;
    let workers = evidence.works.iter().find(|work| work.name == series.work).map_or(0, |work| work.workers);
    let steps: usize = found.iter().map(Stretch::steps).sum();
    if found.len() <= MOST_STALLS || workers == 0 {
        return false;
    }
    let each_s = steps as f64 * series.step_s / found.len() as f64;
    // Long operations are not all equally long, and a stretch is made of whole steps.
    let in_long = Unevenness::share_of_time_above(evidence, &series.work, 0.5 * each_s);
    let by_chance = in_long.powi(i32::try_from(workers).unwrap_or(i32::MAX));
    steps as f64 / series.rate_per_s.len().max(1) as f64 <= ROOM * by_chance
}

/// Whether something had to succeed in a stretch: by the schedule where it says what was due, else by what the same workers
/// did in the rest of the window. Operations that take longer than the stretch, one after another by the same workers, leave
/// such gaps by themselves.
#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
fn was_due(evidence: &Evidence, series: &Series, stretch: Stretch, least: f64) -> bool {
    let seconds = stretch.steps() as f64 * series.step_s;
    let takes_ms = evidence.of_work(&series.work).filter_map(|op| op.service.p50.or(op.service.mean));
    if seconds < 3.0 * takes_ms.fold(0.0, f64::max) / 1000.0 {
        return false;
    }
    let work = evidence.works.iter().find(|work| work.name == series.work);
    if let Some(due) = series.due.get(stretch.from..stretch.to) {
        let by_chance = work.and_then(|work| work.schedule).is_some_and(|own| own.spread > 0.0);
        return due.iter().sum::<f64>() >= if by_chance { least } else { LEAST_DUE };
    }
    let is_open = work.is_some_and(|work| work.pacing == Pacing::Open);
    let in_flight = series.in_flight.get(stretch.from..stretch.to);
    if is_open && in_flight.is_some_and(|mean| mean.iter().all(|mean| *mean < 0.01)) {
        return false;
    }
    let all: f64 = series.rate_per_s.iter().sum();
    let others = series.rate_per_s.len().saturating_sub(stretch.steps());
    if all <= 0.0 {
        return true;
    }
    let usual_per_s = all / others as f64;
    // One round of all workers: they may well go in step.
    let workers = work.map_or(0.0, |work| work.workers as f64);
    let round_s = workers / usual_per_s;
    // Of uneven times as many end in a while as of so many fewer even ones.
    let uneven = Unevenness::of(evidence, &series.work).variance.max(1.0);
    let least = if least > LEAST_EXPECTED { least * uneven } else { least };
    usual_per_s * seconds >= least && (is_open || seconds > 2.0 * round_s)
}

/// Short stretches that are unlike what is before and after them; none where there are so many of them that this is how the
/// store is. What a window begins with is its warm-up, and what it ends with has nothing behind it.
#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
pub fn stalls(
    evidence: &Evidence,
    series: &Series,
    values: &[Option<f64>],
    is_open: bool,
    silences: &[Stretch],
) -> Vec<Stretch> {
    let mut known: Vec<f64> = values.iter().flatten().copied().collect();
    known.sort_by(f64::total_cmp);
    let Some(usual) = known.get(known.len() / 2).copied().filter(|usual| *usual > 0.0) else {
        return Vec::new();
    };
    let unlike = |at: usize| {
        let is_silent = silences.iter().any(|silence| silence.holds(at));
        is_silent
            || values
                .get(at)
                .copied()
                .flatten()
                .is_some_and(|value| if is_open { value > LONG * usual } else { value < LITTLE * usual })
    };
    let found = stretches(values.len(), unlike);
    let enough = |stretch: &Stretch| {
        let has_silence = silences.iter().any(|silence| stretch.holds(silence.from));
        is_open || has_silence || was_due(evidence, series, *stretch, LEAST_FOR_HALF)
    };
    let is_later = |stretch: &Stretch| stretch.from > 0;
    let share = found.iter().map(Stretch::steps).sum::<usize>() as f64 / values.len().max(1) as f64;
    let few = found.len() <= MOST_STALLS && share <= MOST_SHARE;
    if few {
        found.into_iter().filter(|stretch| is_later(stretch) && enough(stretch)).collect()
    } else {
        Vec::new()
    }
}
