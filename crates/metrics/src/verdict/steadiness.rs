//! Check of steadiness: start-up, drift, rounds, changes of level, seconds without success.

use super::words::{percent, plain};
use super::{Evidence, Finding, Pacing, Series};
use crate::stats::changepoint::change_points;
use crate::stats::steady::{drift, mean, mser5_cut, spread_of_rounds};

/// Fewer steps than this show nothing.
const LEAST_STEPS: usize = 10;
/// A step without success says something only where so many were to be expected.
const LEAST_EXPECTED: f64 = 20.0;

/// Grades of one way to be unsteady.
struct Symptom {
    value: f64,
    warn: f64,
    fail: f64,
    message: String,
}

/// V8. The rate in a closed loop; in an open loop, whose rate is given, the response time with twice the room.
pub(super) fn steadiness(evidence: &Evidence) -> Finding {
    let Some(series) = &evidence.series else {
        return Finding::unknown("the course of the run over time was not recorded");
    };
    let steps = series.rate_per_s.len();
    if steps < LEAST_STEPS {
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let (have, need) = (steps as f64, LEAST_STEPS as f64);
        let message =
            format!("too short to tell: {steps} intervals of {} s in the window", plain(series.step_s));
        return Finding::too_little(have, need, message);
    }
    let open = evidence.any(Pacing::Open);
    let (values, what, room) = if open {
        (response(series), "the response time", 2.0)
    } else {
        (series.rate_per_s.clone(), "throughput", 1.0)
    };
    let mut symptoms = vec![dead(series)];
    symptoms.extend(rounds(&values, what, room, series));
    symptoms.extend(levels(&values, what, room, series.step_s));
    symptoms.extend(slope(&values, what, room));
    symptoms.extend(warm_up(&values, what, open, series.step_s));
    let worst = symptoms.into_iter().max_by(|a, b| grade(a).total_cmp(&grade(b)));
    match worst {
        Some(Symptom { value, warn, fail, message }) if value > warn => {
            Finding::graded(value, warn, fail, String::new, || message)
        }
        _ => {
            let moved = drift(&values).map_or(0.0, |found| found.relative);
            let message = format!("{what} moved by {} from start to end of the window", percent(moved));
            Finding::pass(moved.abs(), 0.05 * room, message)
        }
    }
}

/// 1 = at the limit of a warning, 2 = at that of a failure.
fn grade(symptom: &Symptom) -> f64 {
    if symptom.value > symptom.fail {
        1.0 + symptom.value / symptom.fail
    } else {
        symptom.value / symptom.warn
    }
}

fn response(series: &Series) -> Vec<f64> {
    series.response_ms.iter().copied().flatten().collect()
}

#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
fn dead(series: &Series) -> Symptom {
    let expected = mean(&series.rate_per_s) * series.step_s;
    let without = series.rate_per_s.iter().filter(|rate| **rate <= 0.0).count();
    let share = if expected >= LEAST_EXPECTED || without * 2 > series.rate_per_s.len() {
        without as f64 / series.rate_per_s.len() as f64
    } else {
        0.0
    };
    let seconds = without as f64 * series.step_s;
    Symptom {
        value: share,
        warn: 0.0,
        fail: 0.05,
        message: format!(
            "no operation succeeded in {} s of the window: the store stood still or was gone; a closed loop sends nothing \
             meanwhile, so neither rate nor percentiles show how bad it was",
            plain(seconds)
        ),
    }
}

#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
fn rounds(values: &[f64], what: &str, room: f64, series: &Series) -> Option<Symptom> {
    let spread = spread_of_rounds(values, 5)?;
    // Counting alone spreads five equal rounds by about two and a half standard deviations.
    let per_round = mean(&series.rate_per_s) * series.step_s * values.len() as f64 / 5.0;
    let chance = 2.5 / per_round.max(1.0).sqrt();
    Some(Symptom {
        value: spread,
        warn: 0.20 * room + chance,
        fail: 0.50 * room + chance,
        message: format!(
            "{what} of five equal parts of the window differs by {}: this is a curve, not a number",
            percent(spread)
        ),
    })
}

#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
fn levels(values: &[f64], what: &str, room: f64, step_s: f64) -> Option<Symptom> {
    let found = change_points(values, 0.001, 0.10 * room);
    let change = found.iter().max_by(|a, b| a.relative().abs().total_cmp(&b.relative().abs()))?;
    let relative = change.relative();
    let moved = if relative.is_finite() {
        format!("{} by {}", if relative < 0.0 { "fell" } else { "rose" }, percent(relative.abs()))
    } else {
        "rose from nothing".to_owned()
    };
    let more =
        if found.len() > 1 { format!(", one of {} changes of level", found.len()) } else { String::new() };
    Some(Symptom {
        value: relative.abs().min(1e6),
        warn: 0.10 * room,
        fail: 0.25 * room,
        message: format!(
            "{what} {moved} after {} s of the window{more}: two different things were measured; look for what happened then",
            plain(change.at as f64 * step_s)
        ),
    })
}

fn slope(values: &[f64], what: &str, room: f64) -> Option<Symptom> {
    let found = drift(values)?;
    // As much as is certain, not as much as is likely.
    let certain = (found.relative.abs() - found.margin).max(0.0);
    let value = if found.p_value < 0.01 && certain > 0.02 { found.relative.abs() } else { 0.0 };
    let verb = if found.relative < 0.0 { "fell" } else { "rose" };
    Some(Symptom {
        value,
        warn: 0.05 * room,
        fail: 0.10 * room,
        message: format!(
            "{what} {verb} by {} of its mean (give or take {}) during the window: this is a curve, not a number; run longer, or report \
             it over time",
            percent(found.relative.abs()),
            percent(found.margin)
        ),
    })
}

/// The part that MSER-5 cuts, if it is slower than the rest.
#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
fn warm_up(values: &[f64], what: &str, is_time: bool, step_s: f64) -> Option<Symptom> {
    let cut = mser5_cut(values);
    let (start, rest) =
        values.split_at_checked(cut).filter(|(start, rest)| !start.is_empty() && !rest.is_empty())?;
    let higher = mean(start) / mean(rest) - 1.0;
    let slower = if is_time { higher } else { -higher };
    let counts = cut as f64 / values.len() as f64 >= 1.0 / 3.0 && slower.is_finite();
    Some(Symptom {
        value: if counts { slower } else { 0.0 },
        warn: if is_time { 0.20 } else { 0.10 },
        fail: f64::INFINITY,
        message: format!(
            "the first {} s of the window still belong to the start-up: {what} was {} off there; set a longer rampup",
            plain(cut as f64 * step_s),
            percent(slower.abs())
        ),
    })
}
