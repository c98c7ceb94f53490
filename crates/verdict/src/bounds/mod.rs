//! Between which values each figure lies: what a client that adds nothing would have measured. Two parts, kept apart: what the
//! client itself can have added (systematic, mostly to one side: a pause makes a time longer and never shorter), and how far a
//! window of this length may be off (statistical). `docs/reference/error-bounds.md` has the formulas and where they are from.
//!
//! The rule for times. If a share s(x) of the operations was made longer by more than x, whatever the store did meanwhile, the
//! true p-quantile is at least Q(p (1 - s(x))) - x: of the operations that truly took no longer than t, 1 - s(x) were seen to
//! take no longer than t + x. It holds for every x, so the best of them counts.

mod delays;
mod limits;
#[cfg(test)]
mod tests;
mod times;

use std::cell::OnceCell;
use std::collections::BTreeMap;

use cosmark_metrics::results::{Amount, Bound, Cause, METRICS, Metric, Spread, Statistic, Times, Unit};
use cosmark_metrics::{Latencies, OperationResult};
use cosmark_stats::batches::Batches;
use cosmark_stats::bootstrap::mean;
use cosmark_stats::settle::share;

use crate::evidence::{Evidence, OperationEvidence, Pacing, Step};
use crate::numbers::percent;

use delays::Added;
use times::{CONFIDENCE, Measured, SEED, relative_error};

pub use limits::{HEADLINE, HOLDS_WITHIN, USEFUL_WITHIN};
pub(crate) use limits::{Widened, figures_hold, widened_by};

/// Resolution of the histograms: three significant digits.
const RESOLUTION: f64 = 1e-3;

/// Puts its bounds beside the figures of every operation, unless they are there.
pub fn add(evidence: &mut Evidence) {
    let bounds: Vec<_> = evidence.operations.iter().map(|op| of_operation(evidence, op)).collect();
    for (op, bounds) in evidence.operations.iter_mut().zip(bounds) {
        op.bounds = bounds;
    }
}

/// The greatest share by which these causes alone can have made a headline figure of one operation wrong, and which one. Time
/// stamps measure what the client added and not why: it is of the causes of which what the drivers saw makes most, and of the
/// others no more than that.
fn moved_by(evidence: &Evidence, op: &OperationEvidence, causes: &[Cause]) -> Option<(f64, &'static Metric)> {
    let measured = Measured::of(&op.response, op.logged.response.as_ref())?;
    let of = |added: &Added, metric: &'static Metric| moves(evidence, op, &measured, added, metric);
    let own = Added::after_due(evidence, op).only(causes);
    let stamped = Added::stamped(op).map(|stamped| (stamped, Added::by_health(evidence, op)));
    let share = |metric: &'static Metric| {
        let direct = of(&own, metric)?;
        let Some((stamped, health)) = &stamped else { return Some(direct) };
        let seen = health.only(causes);
        if seen.causes().is_empty() {
            return Some(direct);
        }
        let others: Vec<Cause> =
            health.causes().into_iter().filter(|cause| !causes.contains(cause)).collect();
        let most = of(stamped, metric)?;
        let is_most = seen.mean_ms() >= health.only(&others).mean_ms();
        Some(direct.max(if is_most { most } else { most.min(of(&seen, metric)?) }))
    };
    let moved = limits::headline().filter_map(|metric| Some((share(metric)?, metric)));
    moved.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// By which share what was added can have made a headline figure wrong.
fn moves(
    evidence: &Evidence,
    op: &OperationEvidence,
    measured: &Measured<'_>,
    added: &Added,
    metric: &'static Metric,
) -> Option<f64> {
    match metric.statistic {
        Statistic::Quantile(quantile) => {
            let (here, shown) = (measured.at(quantile), limits::value_of(op, metric)?);
            let fell = (here - lowest(measured, quantile, &added.curve(shown))).min(shown).max(0.0);
            Some(fell / shown.max(f64::MIN_POSITIVE))
        }
        Statistic::Rate(_) if evidence.pacing_of(&op.work) != Some(Pacing::Open) => {
            lost(evidence, op, added).or(Some(1.0))
        }
        _ => None,
    }
}

/// By which share a closed loop would have done more without what was added to its operations; `None` when that was all.
fn kept_back(op: &OperationEvidence, added: &Added) -> Option<f64> {
    let share = added.mean_ms() / op.service.mean?.max(f64::MIN_POSITIVE);
    (share < 1.0).then(|| share / (1.0 - share))
}

/// By which share a loop that waits for its operations would have done more without what was added to them; `None` when that
/// was all, and nothing limits it. A rate per worker makes no more than it asks for, whatever its client is like.
fn lost(evidence: &Evidence, op: &OperationEvidence, added: &Added) -> Option<f64> {
    let back = kept_back(op, added);
    let behind = evidence.works.iter().find(|work| work.name == op.work).and_then(|work| {
        let due = work.pace_per_s.filter(|_| work.pacing == Pacing::Paced)? * op.window_s;
        behind(evidence, &work.name, due)
    });
    match (back, behind) {
        (Some(back), Some(behind)) => Some(back.min(behind)),
        (back, behind) => back.or(behind),
    }
}

/// By which share of what ended more was due of a work; 0 where all that was due has ended, `None` where nothing has.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn behind(evidence: &Evidence, work: &str, due: f64) -> Option<f64> {
    let ended: u64 = evidence.of_work(work).map(OperationEvidence::ended).sum();
    (ended > 0).then(|| ((due - ended as f64) / ended as f64).max(0.0))
}

/// Whether what its client can have added to the operations of a work explains that it made less than the `due` ones.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
pub(crate) fn is_held_up(evidence: &Evidence, work: &str, due: f64) -> bool {
    let known = || {
        let own = evidence.of_work(work).filter(|op| op.ended() > 0);
        own.filter_map(|op| Some((op, op.service.mean?)))
    };
    let taken_ms: f64 = known().map(|(op, mean_ms)| op.ended() as f64 * mean_ms).sum();
    let added_ms = |op: &OperationEvidence| Added::after_due(evidence, op).mean_ms();
    let added_ms: f64 = known().map(|(op, _)| op.ended() as f64 * added_ms(op)).sum();
    let left_ms = taken_ms - added_ms;
    // Without it as many operations would have taken what is left.
    behind(evidence, work, due).is_some_and(|behind| taken_ms > 0.0 && added_ms >= behind * left_ms)
}

/// What lies below and above a value: the client's part, then both parts together.
#[derive(Debug, Clone, Copy, Default)]
struct Sides {
    client: Spread,
    sampling: Spread,
    low: Option<f64>,
    high: Option<f64>,
}

/// Shares between which a delay is worth looking at.
const MOST_BEYOND: f64 = 0.95;
const LEAST_BEYOND: f64 = 1e-7;

/// The bounds of one operation by the names of its figures.
#[must_use]
pub fn of_operation(evidence: &Evidence, op: &OperationEvidence) -> BTreeMap<String, Bound> {
    let (after_sending, after_due) = (Added::after_sending(evidence, op), Added::after_due(evidence, op));
    let mut bounds = BTreeMap::new();
    for times in Times::ALL {
        let (published, batches, added) = match times {
            Times::Response => (&op.response, op.logged.response.as_ref(), &after_due),
            Times::Service => {
                // Without pacing the two are the same, and logged once.
                let logged =
                    op.logged.service.as_ref().or(op.logged.response.as_ref().filter(|_| op.lag.is_none()));
                (&op.service, logged, &after_sending)
            }
            Times::FirstByte => (&op.first_byte, op.logged.first_byte.as_ref(), &after_sending),
        };
        let is_response_too = times == Times::Service && op.lag.is_none() && op.service == op.response;
        let of_times =
            if is_response_too { renamed(&bounds) } else { of_times(op, times, published, batches, added) };
        bounds.extend(of_times);
    }
    for metric in METRICS.iter().filter(|metric| metric.has_bound()) {
        let bound = match metric.statistic {
            Statistic::Rate(amount) => of_rate(evidence, op, amount, &after_due),
            Statistic::Failures => {
                of_failures(op).map(|(value, sides)| finish(metric.unit, value, sides, None))
            }
            Statistic::Successes => of_failures(op).map(|(failed, sides)| {
                let turned = |spread: Spread| Spread { below: spread.above, above: spread.below };
                let one_less = |value: Option<f64>| value.map(|value| 1.0 - value);
                let sides = Sides {
                    client: turned(sides.client),
                    sampling: turned(sides.sampling),
                    low: one_less(sides.high),
                    high: one_less(sides.low),
                };
                finish(metric.unit, 1.0 - failed, sides, None)
            }),
            Statistic::Value | Statistic::Mean | Statistic::Quantile(_) => None,
        };
        bounds.extend(bound.map(|bound| (metric.id.to_owned(), bound)));
    }
    bounds
}

/// The bounds of response times for service times that are the same.
fn renamed(bounds: &BTreeMap<String, Bound>) -> Vec<(String, Bound)> {
    let (from, to) = (Times::Response.field(), Times::Service.field());
    let own = bounds.iter().filter_map(|(name, bound)| Some((name.strip_prefix(from)?, bound)));
    own.map(|(which, bound)| (format!("{to}{which}"), bound.clone())).collect()
}

/// Mean and percentiles of one kind of times.
fn of_times(
    op: &OperationEvidence,
    times: Times,
    published: &Latencies,
    batches: Option<&Batches>,
    added: &Added,
) -> Vec<(String, Bound)> {
    let Some(measured) = Measured::of(published, batches) else { return Vec::new() };
    // A row of the table says which figure of any distribution it is.
    let figures = OperationResult { response_ms: published.clone(), ..OperationResult::default() };
    let rows =
        METRICS.iter().filter_map(|metric| Some((metric, metric.bound_of(times)?, metric.of(&figures)?)));
    let laws = Laws::of(added, published.max.unwrap_or(0.0));
    let bound = |metric: &Metric, value: f64| match metric.statistic {
        Statistic::Quantile(quantile) => of_quantile(op, &measured, quantile, value, &laws),
        _ => of_mean(op, &measured, value, added),
    };
    rows.map(|(metric, name, value)| (name, bound(metric, value))).collect()
}

/// Times in ms, and the share that was made longer by more.
type Curve = Vec<(f64, f64)>;

/// What was added, as shares beyond each time: by all causes, and by each alone.
struct Laws<'a> {
    all: Curve,
    /// Made when they are asked for: few figures need them.
    alone: OnceCell<Vec<(Cause, Curve)>>,
    added: &'a Added,
    most_ms: f64,
}

impl<'a> Laws<'a> {
    fn of(added: &'a Added, most_ms: f64) -> Self {
        Self { all: added.curve(most_ms), alone: OnceCell::new(), added, most_ms }
    }

    fn alone(&self) -> &[(Cause, Curve)] {
        let law = |cause| (cause, self.added.only(&[cause]).curve(self.most_ms));
        self.alone.get_or_init(|| self.added.causes().into_iter().map(law).collect())
    }
}

fn of_quantile(
    op: &OperationEvidence,
    measured: &Measured<'_>,
    quantile: f64,
    value: f64,
    laws: &Laws<'_>,
) -> Bound {
    let here = measured.at(quantile);
    let (least, most) = measured.sampled(quantile);
    let fell = |from: f64, curve: &[(f64, f64)]| (here - lowest(measured, from, curve)).min(value).max(0.0);
    let later = unfinished_beyond(op, value) / measured.count().max(1.0);
    let rose = |share: f64| {
        let share = share * (1.0 + later);
        (share <= 1.0).then(|| (measured.at(share) - here).max(0.0))
    };
    let step = RESOLUTION * value;
    let client = Spread { below: Some(fell(quantile, &laws.all)), above: rose(quantile) };
    let sampling = Spread {
        below: Some((here - measured.at(least)).min(value).max(0.0)),
        above: most.map(|most| (measured.at(most) - here).max(0.0)),
    };
    let sides = Sides {
        client,
        sampling,
        low: Some((value - fell(least, &laws.all) - step).max(0.0)),
        high: most.and_then(rose).map(|above| value + above + step),
    };
    let is_of_client = client.above.is_some_and(|above| Some(above) <= client.below);
    let worst = || {
        let alone = laws.alone().iter().map(|(cause, curve)| (fell(quantile, curve), *cause));
        alone.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, cause)| cause)
    };
    let counts = client.below > Some(step) && is_of_client;
    finish(Unit::Ms, value, sides, if counts { worst() } else { None })
}

/// The best lower limit of the quantile over all x: with s the share that was made longer by more than x, and I(t) the part of
/// it that is below t all the same, it is at least t - x for every t with F(t) - I(t) <= p (1 - s). See
/// `docs/reference/error-bounds.md`.
fn lowest(measured: &Measured<'_>, share: f64, curve: &[(f64, f64)]) -> f64 {
    /// Halvings of the interval in which the best t lies: to less than a hundredth of it.
    const STEPS: usize = 8;
    let most_ms = measured.at(share);
    let limit = |at: usize, ms: f64, beyond: f64| {
        let longer = curve.get(at..).unwrap_or_default();
        let below_too = |time_ms: f64| -> f64 {
            let parts = longer.iter().zip(longer.iter().skip(1));
            let there = parts.filter(|((_, from), (ms, to))| from > to && *ms < time_ms);
            there.map(|((_, from), (ms, to))| (from - to) * measured.share_up_to(time_ms - ms)).sum()
        };
        let wanted = share * (1.0 - beyond);
        let (mut low, mut high) = (measured.at(wanted).min(most_ms), most_ms + ms);
        for _ in 0..STEPS {
            let middle = f64::midpoint(low, high);
            if measured.share_up_to(middle) - below_too(middle) <= wanted {
                low = middle
            } else {
                high = middle
            }
        }
        low - ms
    };
    // Where nearly all were made longer by more nothing is left; where nobody was the shortest is the best.
    let first = curve.partition_point(|(_, beyond)| *beyond > MOST_BEYOND);
    let last = curve.partition_point(|(_, beyond)| *beyond > LEAST_BEYOND);
    let useful = curve.iter().enumerate().take(last + 1).skip(first).filter(|(_, (ms, _))| *ms <= most_ms);
    let limits = useful.map(|(at, (ms, beyond))| limit(at, *ms, *beyond));
    limits.fold(0.0, f64::max).min(most_ms)
}

fn of_mean(op: &OperationEvidence, measured: &Measured<'_>, value: f64, added: &Added) -> Bound {
    let error = measured.mean_error().map(|share| share * value);
    let below = added.mean_ms().min(value);
    // What had not finished takes at least its age; nobody knows how much longer, so as much again.
    let ages_ms = op.unfinished_age.as_ref().map_or(0.0, |ages| 2.0 * ages.max.unwrap_or(0.0));
    let later = unfinished_beyond(op, measured.at(1.0));
    let above = later * (ages_ms - value).max(0.0) / (measured.count() + later).max(1.0);
    let step = RESOLUTION * value;
    let sides = Sides {
        client: Spread { below: Some(below), above: Some(above) },
        sampling: Spread { below: error.map(|error| error.min(value)), above: error },
        low: error.map(|error| (value - below - error - step).max(0.0)),
        high: error.map(|error| value + above + error + step),
    };
    finish(
        Unit::Ms,
        value,
        sides,
        worst_cause(added, |cause| added.only(&[cause]).mean_ms()).filter(|_| above <= below),
    )
}

/// How many had not finished, were older than this, and so would have been longer; with those that were dropped.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn unfinished_beyond(op: &OperationEvidence, ms: f64) -> f64 {
    let missed = op.missed as f64;
    let Some(ages) = &op.unfinished_age else { return missed };
    let older = match Measured::of(ages, None) {
        Some(known) => 1.0 - known.share_up_to(ms),
        None => 1.0,
    };
    missed + older * ages.count as f64
}

/// Operations or bytes per second. In an open loop the arrivals say how many there are; in a closed one every delay of the
/// client keeps a worker from the next operation, where a rate per worker does not let it wait anyway.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn of_rate(evidence: &Evidence, op: &OperationEvidence, amount: Amount, added: &Added) -> Option<Bound> {
    if op.window_s <= 0.0 {
        return None;
    }
    let total = match amount {
        Amount::Operations => op.ok,
        Amount::Bytes => op.bytes,
    };
    let value = total as f64 / op.window_s;
    if value <= 0.0 {
        return None;
    }
    let lost = match evidence.pacing_of(&op.work) {
        Some(Pacing::Open) => Some(op.missed as f64 / op.ended().max(1) as f64),
        _ => lost(evidence, op, added),
    };
    let error = rate_error(evidence, op, amount).map(|share| share * value);
    let above = lost.map(|share| share * value);
    let sides = Sides {
        client: Spread { below: Some(0.0), above },
        sampling: Spread { below: error.map(|error| error.min(value)), above: error },
        low: error.map(|error| (value - error).max(0.0)),
        high: error.zip(above).map(|(error, above)| value + above + error),
    };
    let cause = if evidence.pacing_of(&op.work) == Some(Pacing::Open) {
        (op.missed > 0).then_some(Cause::Unfinished)
    } else {
        worst_cause(added, |cause| added.only(&[cause]).mean_ms())
    };
    let unit = if amount == Amount::Bytes { Unit::BytesPerS } else { Unit::PerS };
    Some(finish(unit, value, sides, cause))
}

/// By how much a rate may be off, as a share of it: from its steps over time, else from those of the histogram log or of the
/// work.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn rate_error(evidence: &Evidence, op: &OperationEvidence, amount: Amount) -> Option<f64> {
    const FEW: usize = 8;
    let of_steps = |step: &Step| match amount {
        Amount::Operations => step.ok as f64 / step.seconds,
        Amount::Bytes => step.bytes as f64 / step.seconds,
    };
    let steps: Vec<f64> = op.steps.iter().filter(|step| step.seconds > 0.0).map(of_steps).collect();
    let batches = op.logged.response.as_ref().map(Batches::batches).unwrap_or_default();
    let counts: Vec<f64> = batches.iter().map(|batch| batch.ok as f64).collect();
    let of_work = || {
        evidence.series.iter().find(|series| series.work == op.work).map(|series| series.rate_per_s.clone())
    };
    let series = if steps.len() >= FEW || counts.len() <= steps.len() { steps } else { counts };
    let series = if series.is_empty() { of_work()? } else { series };
    relative_error(&series, |weights| {
        let sum: f64 = series.iter().zip(weights).map(|(rate, weight)| rate * f64::from(*weight)).sum();
        let all: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
        (all > 0.0).then(|| sum / all)
    })
    .or_else(|| (mean(&series) > 0.0 && series.len() < 3).then_some(f64::INFINITY))
    .filter(|error| error.is_finite())
}

/// The share of failures. What was dropped, or had not finished, may have failed.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn of_failures(op: &OperationEvidence) -> Option<(f64, Sides)> {
    let ended = op.ended();
    if ended == 0 {
        return None;
    }
    let value = op.failed as f64 / ended as f64;
    let steps = || op.steps.iter().filter(|step| step.ok + step.failed > 0);
    let counted: u64 = steps().map(|step| step.ok + step.failed).sum();
    let (total, failed) = if counted > 0 {
        steps().map(|step| (step.ok + step.failed, step.failed)).unzip()
    } else {
        (vec![ended], vec![op.failed])
    };
    let found = share(&total, &failed, (1.0 + CONFIDENCE) / 2.0, SEED)?;
    let sampling = Spread {
        below: Some((value - found.low).min(value).max(0.0)),
        above: Some((found.high - value).clamp(0.0, 1.0 - value)),
    };
    let missed = op.missed as f64;
    let above = (op.failed as f64 + missed) / (ended as f64 + missed) - value;
    let sides = Sides {
        client: Spread { below: Some(0.0), above: Some(above) },
        sampling,
        low: sampling.below.map(|below| value - below),
        high: sampling.above.map(|more| (value + more + above).min(1.0)),
    };
    Some((value, sides))
}

/// The cause that alone widens most.
fn worst_cause(added: &Added, alone: impl Fn(Cause) -> f64) -> Option<Cause> {
    let widened = added.causes().into_iter().map(|cause| (alone(cause), cause));
    widened.filter(|(by, _)| *by > 0.0).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, cause)| cause)
}

/// Puts the parts together, and says whether the figure holds.
fn finish(unit: Unit, value: f64, sides: Sides, worst: Option<Cause>) -> Bound {
    // The sum of no delays at all is -0 in Rust, and was written down as such.
    let plain = |end: Option<f64>| end.map(|end| end + 0.0);
    let unsigned = |spread: Spread| Spread { below: plain(spread.below), above: plain(spread.above) };
    let (client, sampling) = (unsigned(sides.client), unsigned(sides.sampling));
    let (low, high) = (plain(sides.low), plain(sides.high));
    let longer = low.zip(high).map(|(low, high)| (value - low).max(high - value));
    let within = match unit {
        Unit::Share => longer,
        _ => longer.filter(|_| value > 0.0).map(|longer| longer / value),
    };
    let most = |spread: Spread| match (spread.below, spread.above) {
        (Some(below), Some(above)) => below.max(above),
        _ => f64::INFINITY,
    };
    let step = RESOLUTION * value;
    let cause = if most(client).max(most(sampling)) <= step {
        Cause::Resolution
    } else if most(sampling) >= most(client) {
        Cause::Sampling
    } else {
        // What is not of a delay is of what was not seen to its end.
        worst.unwrap_or(Cause::Unfinished)
    };
    let does_not_hold = match within {
        Some(within) if within <= USEFUL_WITHIN => None,
        Some(within) => Some(format!("known only within {}: {}", percent(within), cause.sentence())),
        None => Some(format!("no limit is known: {}", cause.sentence())),
    };
    Bound { low, high, client, sampling, within, cause: Some(cause), does_not_hold }
}
