//! Check of steadiness: stretches without success, stalls, start-up, drift, rounds, changes of level. Each work is looked at
//! by itself: works of different length or kind add up to no curve.

mod failures;
mod stalls;
#[cfg(test)]
mod tests;
pub(super) mod unevenness;

use cosmark_metrics::ClientRecord;
use cosmark_stats::changepoint::{ChangePoint, change_points};
use cosmark_stats::steady::{drift, mean, mser5_cut, spread_of_rounds};

use crate::evidence::{Evidence, Pacing, PauseEvidence, Series};
use crate::finding::Finding;
use crate::numbers::{percent, plain};
use stalls::{Stretch, silences, stalls};
use unevenness::{Unevenness, changes_by_plan};

/// Fewer steps than this show nothing.
const LEAST_STEPS: usize = 10;

/// Grades of one way to be unsteady.
struct Symptom {
    value: f64,
    warn: f64,
    fail: f64,
    message: String,
    of: Of,
}

/// What is unsteady.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    /// The course of the window.
    Course,
    /// Stretches without which that course is looked at.
    Stretches,
    /// Stretches that pauses of the client make up, of which this check tells: every other symptom says more.
    Pauses(&'static str),
}

/// What is looked at in one work: the rate in a closed loop; in an open loop, whose rate is given, the response time with
/// twice the room.
struct Course<'a> {
    series: &'a Series,
    /// Each step's value and its number; without the steps of a stall, which is told by itself.
    steps: Vec<(usize, f64)>,
    what: &'static str,
    room: f64,
    is_open: bool,
    /// How uneven the times of its operations are.
    unevenness: Unevenness,
}

/// V8.
pub(super) fn steadiness(evidence: &Evidence) -> Finding {
    // Where each operation is longer than the window, none has a course, and nothing stood still.
    if let Some(under_way) = evidence.outlasting() {
        return super::data::outlasted(evidence, under_way);
    }
    let sound: Vec<Series> = evidence
        .series
        .iter()
        .filter(|series| is_sound(series))
        .map(|series| while_all_work(evidence, series))
        .collect();
    let (long, short): (Vec<_>, Vec<_>) =
        sound.iter().partition(|series| series.rate_per_s.len() >= LEAST_STEPS);
    let several = evidence.series.len() > 1;
    let named = |series: &Series, text: String| {
        if several { format!("work {}: {text}", series.work) } else { text }
    };
    let mut found = Vec::new();
    let mut moved: Option<(f64, f64, String)> = None;
    for series in long {
        let (symptoms, course) = symptoms_of(evidence, series);
        found.extend(symptoms.into_iter().map(|symptom| (series, symptom)));
        let found_drift = drift(&course.values());
        let (own, margin) = found_drift.map_or((0.0, 0.0), |found| (found.relative, found.margin));
        let certain = (own.abs() - margin).max(0.0);
        if moved.as_ref().is_none_or(|(most, ..)| certain > *most) {
            let limit = 0.05 * course.room;
            let chance = if own.abs() > limit {
                format!(", give or take {}: no more than chance does", percent(margin))
            } else {
                String::new()
            };
            let text =
                format!("{} moved by {} from start to end of the window{chance}", course.what, percent(own));
            moved = Some((certain, limit, named(series, text)));
        }
    }
    // A short stretch does not hide that all else is no number.
    let course_fails = found.iter().any(|(_, symptom)| symptom.of == Of::Course && symptom.fails());
    let counts = |symptom: &Symptom| !course_fails || symptom.of != Of::Stretches || symptom.fails();
    let found = found.into_iter().filter(|(_, symptom)| counts(symptom));
    let worst = found.max_by(|a, b| grade(&a.1).total_cmp(&grade(&b.1)));
    if let Some((series, Symptom { value, warn, fail, message, of })) =
        worst.filter(|(_, symptom)| symptom.is_worth_a_word())
    {
        if is_because_of_failures(evidence, series) {
            let message = format!("{message}; failures explain it (V12)");
            return Finding::graded(value, warn, fail, String::new, || named(series, message))
                .because_of("V12");
        }
        let finding = Finding::graded(value, warn, fail, String::new, || named(series, message));
        return if let Of::Pauses(id) = of { finding.because_of(id) } else { finding };
    }
    if let Some(series) = short.first() {
        let steps = series.rate_per_s.len();
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let (have, need) = (steps as f64, LEAST_STEPS as f64);
        let whole = evidence.series.iter().find(|whole| whole.work == series.work);
        let time = match whole.is_some_and(|whole| whole.rate_per_s.len() > steps) {
            true => "in which all workers worked",
            false => "in the window",
        };
        let text = format!("too short to tell: {steps} intervals of {} s {time}", plain(series.step_s));
        return Finding::too_little(have, need, named(series, text));
    }
    match moved {
        Some((value, limit, message)) => Finding::pass(value, limit, message),
        None => Finding::unknown("the course of the run over time was not recorded"),
    }
}

/// A damaged file may hold what is no number.
fn is_sound(series: &Series) -> bool {
    let mut values = series.rate_per_s.iter().chain(series.response_ms.iter().flatten());
    series.step_s > 0.0 && values.all(|value| value.is_finite())
}

/// A series up to where the first worker has done its share of a total: from there on fewer and fewer work, and what that does
/// to the rate is no change of the store's (V2 tells it). How long workers waited in all is known; who is missing at the end,
/// step by step backwards, is what makes it up.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn while_all_work(evidence: &Evidence, series: &Series) -> Series {
    let mut cut = series.clone();
    let workers = evidence.works.iter().find(|work| work.name == series.work).map_or(0, |work| work.workers);
    let operations = || evidence.of_work(&series.work);
    let done: f64 = operations().filter_map(|op| op.workers_done_mean).sum();
    let window_s = operations().map(|op| op.window_s).fold(0.0, f64::max);
    let steps = series.rate_per_s.len();
    // The last piece of the window may be shorter than a step, and not among them; nor is what lies before the first.
    let outside_s = (window_s - series.head_s - series.step_s * steps as f64).max(0.0);
    let mut left_s = done * window_s - outside_s * workers as f64;
    let is_recorded = series.in_flight.len() == steps;
    // Not recorded in steps this fine: by Little's law.
    let by_law = |(rate, ms): (&f64, &Option<f64>)| rate * ms.unwrap_or(0.0) / 1000.0;
    let in_flight: Vec<f64> = match is_recorded {
        true => series.in_flight.clone(),
        false => series.rate_per_s.iter().zip(&series.response_ms).map(by_law).collect(),
    };
    let mut first_steps = steps;
    for busy in in_flight.iter().rev() {
        let missing = workers as f64 - busy;
        // Whoever is done does not come back.
        if left_s <= 0.0 || (is_recorded && missing < 0.5) {
            break;
        }
        left_s -= missing * series.step_s;
        first_steps -= 1;
    }
    cut.rate_per_s.truncate(first_steps);
    cut.response_ms.truncate(first_steps);
    cut.in_flight.truncate(first_steps);
    cut.due.truncate(first_steps);
    cut
}

/// Whether nothing is left of what a course shows when failures have taken what they can have taken of it.
fn is_because_of_failures(evidence: &Evidence, series: &Series) -> bool {
    failures::made_good(series)
        .is_some_and(|good| !symptoms_of(evidence, &good).0.iter().any(Symptom::is_worth_a_word))
}

/// The greatest share of the time in which a client had no processor, whoever took it.
fn lost_by_client(evidence: &Evidence) -> f64 {
    let lost =
        evidence.clients.iter().flat_map(|client| [client.run_queue_wait_share_max, client.steal_share]);
    lost.flatten().fold(0.0, f64::max).min(0.99)
}

/// Less than this is no trouble of the client's.
const LEAST_LOST: f64 = 0.05;

impl Symptom {
    /// Whether it is worth a word.
    fn is_worth_a_word(&self) -> bool {
        self.value > self.warn
    }

    fn fails(&self) -> bool {
        self.value > self.fail
    }

    /// A client that has no processor for a share w of the time at its worst, and all of it at its best, makes a rate differ by
    /// w / (1 - w) by itself: so much says nothing against the store.
    fn or_by_client(mut self, lost: f64) -> Self {
        let own = lost / (1.0 - lost);
        if lost > LEAST_LOST && self.value > self.fail && self.value <= self.fail + own {
            self.message = format!(
                "{}; the client had no processor for up to {} of the time, which may be why",
                self.message,
                percent(lost)
            );
        }
        if lost > LEAST_LOST {
            self.fail += own;
        }
        self
    }
}

fn symptoms_of<'a>(evidence: &Evidence, series: &'a Series) -> (Vec<Symptom>, Course<'a>) {
    let silences = silences(evidence, series);
    let is_open = evidence.pacing_of(&series.work) == Some(Pacing::Open);
    let values: Vec<Option<f64>> = if is_open {
        series.response_ms.clone()
    } else {
        series.rate_per_s.iter().map(|rate| Some(*rate)).collect()
    };
    let stalls = stalls(evidence, series, &values, is_open, &silences);
    let steps = (0..).zip(&values);
    let calm = steps.filter_map(|(at, value)| Some((at, (*value)?)));
    let calm = calm.filter(|(at, _)| !stalls.iter().any(|stall| stall.holds(*at))).collect();
    let (what, room) = if is_open { ("the response time", 2.0) } else { ("throughput", 1.0) };
    let unevenness = Unevenness::of(evidence, &series.work);
    let course = Course { series, steps: calm, what, room, is_open, unevenness };
    let mut symptoms = vec![silent(evidence, series, &silences, &stalls)];
    // What is offered changes because the workload says so: response times change with it, and that is no fault.
    if !changes_by_plan(series) {
        symptoms.extend(stalled(evidence, &course, &values, &stalls));
        let of_course = [rounds(&course), levels(&course), slope(&course), warm_up(&course)];
        let lost = lost_by_client(evidence);
        symptoms.extend(of_course.into_iter().flatten().map(|symptom| symptom.or_by_client(lost)));
    }
    (symptoms, course)
}

/// 1 = at the limit of a warning, 2 = at that of a failure. A stretch without any success comes first.
fn grade(symptom: &Symptom) -> f64 {
    if matches!(symptom.of, Of::Pauses(_)) || symptom.value <= 0.0 {
        f64::from(u8::from(symptom.is_worth_a_word()))
    } else if symptom.warn <= 0.0 {
        if symptom.fails() { f64::INFINITY } else { f64::MAX }
    } else if symptom.fails() {
        1.0 + symptom.value / symptom.fail
    } else {
        symptom.value / symptom.warn
    }
}

impl Course<'_> {
    fn values(&self) -> Vec<f64> {
        self.steps.iter().map(|(_, value)| *value).collect()
    }

    /// By how much two stretches of so many seconds differ by chance, as a share: how many operations end in one varies with
    /// how uneven their times are, and where workers go in step one more operation of each may end in it.
    fn chance(&self, stretch_s: f64, deviations: f64) -> f64 {
        let count = mean(&self.series.rate_per_s) * stretch_s;
        let by_count = deviations * self.unevenness.variance.max(1.0).sqrt() / count.max(1.0).sqrt();
        let in_step =
            if self.is_open { 0.0 } else { self.unevenness.mean_s / stretch_s.max(f64::MIN_POSITIVE) };
        by_count + in_step
    }

    /// Seconds of the window before the `at`-th of these values.
    #[expect(clippy::cast_precision_loss, reason = "lengths of series")]
    fn seconds_at(&self, at: usize) -> f64 {
        let step = self.steps.get(at).map_or(self.series.rate_per_s.len(), |(step, _)| *step);
        self.series.head_s + step as f64 * self.series.step_s
    }
}

/// `from 31 s to 34 s`; of several, the longest.
#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
fn place(stretches: &[Stretch], series: &Series) -> String {
    let Some(longest) = stretches.iter().max_by_key(|stretch| stretch.steps()) else { return String::new() };
    let of = match stretches.len() {
        1 => String::new(),
        more => format!(", the longest of {more} stretches"),
    };
    let at_s = |step: usize| plain(series.head_s + step as f64 * series.step_s);
    format!("from {} s to {} s{of}", at_s(longest.from), at_s(longest.to))
}

/// What a client did not do.
struct Paused {
    longest_s: f64,
    in_all_s: f64,
    /// The check that tells of it.
    said_by: &'static str,
}

/// The pauses of the client's own machine, or of a driver's load about then, where these make up for stretches in which so
/// many seconds are lacking each: then they say nothing of the store. Of several drivers all have to have paused.
fn paused_through(
    evidence: &Evidence,
    series: &Series,
    stretches: &[Stretch],
    lost_s: &[f64],
) -> Option<Paused> {
    /// Pauses are known to a nap, and what had gathered in one is answered after it.
    const ROOM: f64 = 1.1;
    let of_client = |client: &ClientRecord| {
        let own = evidence.pauses.iter().filter(|pause| pause.driver == client.driver);
        let own = own.filter(|pause| is_about(series, stretches, pause));
        let own: Vec<f64> = own.map(|pause| (pause.to_s - pause.from_s).max(0.0)).collect();
        let machine_s = client.pause_max_ms.unwrap_or(0.0) / 1000.0;
        // Where only the longest is known there was one.
        let machine_in_all_s = client.paused_share.map_or(machine_s, |share| share * client.seconds);
        let said_by = if own.is_empty() { "V6" } else { "V16" };
        let in_all_s = machine_in_all_s.max(own.iter().sum());
        Paused { longest_s: own.into_iter().fold(machine_s, f64::max), in_all_s, said_by }
    };
    let least = |a: Paused, b: Paused| Paused {
        longest_s: a.longest_s.min(b.longest_s),
        in_all_s: a.in_all_s.min(b.in_all_s),
        said_by: if b.longest_s < a.longest_s { b.said_by } else { a.said_by },
    };
    let paused = evidence.clients.iter().map(of_client).reduce(least)?;
    let each = lost_s.iter().all(|lost_s| *lost_s <= ROOM * paused.longest_s);
    let all_s = lost_s.iter().sum::<f64>();
    Some(paused).filter(|paused| !lost_s.is_empty() && each && all_s <= ROOM * paused.in_all_s)
}

/// Whether a driver paused in one of these stretches, give or take a step; where it is not known when they were, it may have.
#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
fn is_about(series: &Series, stretches: &[Stretch], pause: &PauseEvidence) -> bool {
    let Some(start_s) = series.start_s else { return true };
    stretches.iter().any(|stretch| {
        let from_s = start_s + (stretch.from as f64 - 1.0) * series.step_s;
        let to_s = start_s + (stretch.to as f64 + 1.0) * series.step_s;
        pause.from_s < to_s && pause.to_s > from_s
    })
}

/// What is said of such a stretch, and what would have been said of the store.
fn or_by_pause(paused: Option<&Paused>, of_store: &str) -> String {
    let Some(Paused { longest_s, said_by, .. }) = paused else { return of_store.to_owned() };
    let seconds = plain(*longest_s);
    if *said_by == "V6" {
        format!(
            "the client's own machine paused for up to {seconds} s ({said_by}), so this says nothing of the store; measure from \
             a quieter machine"
        )
    } else {
        format!("no driver made load for up to {seconds} s ({said_by}), so this says nothing of the store")
    }
}

#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
fn silent(evidence: &Evidence, series: &Series, silences: &[Stretch], stalls: &[Stretch]) -> Symptom {
    let without: usize = silences.iter().map(Stretch::steps).sum();
    let lost_s: Vec<f64> = silences.iter().map(|silence| silence.steps() as f64 * series.step_s).collect();
    let paused = paused_through(evidence, series, silences, &lost_s);
    let is_apart = |silence: &Stretch| stalls.iter().any(|stall| stall.holds(silence.from));
    let of = if silences.iter().all(is_apart) { Of::Stretches } else { Of::Course };
    let of_store = match evidence.pacing_of(&series.work) {
        Some(Pacing::Open) => {
            "the store stood still or was gone; what came due meanwhile waited or was dropped, which response times and counts of \
             arrivals show, and service times only of what was under way"
        }
        _ => {
            "the store stood still or was gone; a closed loop sends nothing meanwhile, so neither rate nor percentiles show how bad \
             it was"
        }
    };
    Symptom {
        value: without as f64 / series.rate_per_s.len().max(1) as f64,
        warn: 0.0,
        fail: if paused.is_some() { f64::INFINITY } else { 0.05 },
        message: format!(
            "no operation succeeded in {} s of the window ({}): {}",
            plain(without as f64 * series.step_s),
            place(silences, series),
            or_by_pause(paused.as_ref(), of_store)
        ),
        of: paused.map_or(of, |paused| Of::Pauses(paused.said_by)),
    }
}

/// Short stretches that are unlike everything around them.
#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
fn stalled(
    evidence: &Evidence,
    course: &Course<'_>,
    values: &[Option<f64>],
    stalls: &[Stretch],
) -> Option<Symptom> {
    let usual = mean(&course.values());
    let step_s = course.series.step_s;
    let place = place(stalls, course.series);
    if stalls.is_empty() || usual <= 0.0 {
        return None;
    }
    let reaches_the_end = stalls.iter().any(|stall| stall.to == values.len());
    let (part, around) = match stalls.len() {
        _ if !reaches_the_end => ("in the middle of", "before and after which"),
        1 => ("at the end of", "before which"),
        _ => ("in the middle and at the end of", "outside of which"),
    };
    let inside = |stall: &Stretch| values.get(stall.from..stall.to).unwrap_or_default();
    let lost =
        |stall: &Stretch| inside(stall).iter().map(|rate| 1.0 - rate.unwrap_or(0.0) / usual).sum::<f64>();
    let worst = |stall: &Stretch| inside(stall).iter().flatten().copied().fold(0.0, f64::max);
    let (value, message, lost_s): (f64, String, Vec<f64>) = if course.is_open {
        let steps: usize = stalls.iter().map(|stall| inside(stall).len()).sum();
        let most = stalls.iter().map(worst).fold(0.0, f64::max);
        // Of stretches in which nothing ended there is no time, and what was silent is said as such.
        if most <= 0.0 {
            return None;
        }
        let text = format!(
            "the response time rose to {} times its usual {part} the window ({place})",
            plain(most / usual)
        );
        let excess_s = |stall: &Stretch| (worst(stall) - usual).max(0.0) / 1000.0;
        (steps as f64 / values.len() as f64, text, stalls.iter().map(excess_s).collect())
    } else {
        let lost_s: Vec<f64> = stalls.iter().map(|stall| lost(stall) * step_s).collect();
        let all_s: f64 = lost_s.iter().sum();
        let text = format!(
            "throughput broke down {part} the window ({place}), as if nothing was answered for {} s",
            plain(all_s)
        );
        (all_s / step_s / values.len() as f64, text, lost_s)
    };
    let paused = paused_through(evidence, course.series, stalls, &lost_s);
    let of_store = format!("a stall, {around} the store was as usual; look for what happened then");
    Some(Symptom {
        value,
        warn: 0.01,
        fail: if paused.is_some() { f64::INFINITY } else { 0.10 },
        message: format!("{message}: {}", or_by_pause(paused.as_ref(), &of_store)),
        of: paused.map_or(Of::Stretches, |paused| Of::Pauses(paused.said_by)),
    })
}

#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
fn rounds(course: &Course<'_>) -> Option<Symptom> {
    let Course { series, what, room, .. } = course;
    let values = course.values();
    let spread = spread_of_rounds(&values, 5)?;
    // Counting alone spreads five equal rounds by four standard deviations in about one of twenty runs.
    let round_s = (values.len() / 5) as f64 * series.step_s;
    // With fewer than two operations of each worker in a round its count says nothing.
    if !course.is_open && round_s < 2.0 * course.unevenness.mean_s {
        return None;
    }
    let chance = course.chance(round_s, 4.0);
    Some(Symptom {
        value: spread,
        warn: 0.20 * room + chance,
        fail: 0.50 * room + chance,
        message: format!(
            "{what} of five equal parts of the window differs by {}: this is a curve, not a number",
            percent(spread)
        ),
        of: Of::Course,
    })
}

#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
fn levels(course: &Course<'_>) -> Option<Symptom> {
    let Course { what, room, .. } = course;
    let values = course.values();
    let changes = change_points(&values, 0.001, 0.10 * room);
    // As much as so few operations as ended on the shorter side, between this change and the next, differ by chance is no change.
    let usual = mean(&values);
    let places: Vec<usize> =
        std::iter::once(0).chain(changes.iter().map(|change| change.at)).chain([values.len()]).collect();
    let is_beyond = |change: &ChangePoint, deviations: f64| {
        let sides = places.iter().zip(places.iter().skip(1));
        let own = sides.filter(|(from, to)| [**from, **to].contains(&change.at));
        let shorter = own.map(|(from, to)| to.saturating_sub(*from)).min().unwrap_or_default();
        let chance = course.chance(shorter as f64 * course.series.step_s, deviations);
        (change.after - change.before).abs() > chance.min(2.0) * usual
    };
    let found: Vec<&ChangePoint> = changes.iter().filter(|change| is_beyond(change, 3.0)).collect();
    let change = found.iter().max_by(|a, b| a.relative().abs().total_cmp(&b.relative().abs()))?;
    let relative = change.relative();
    let moved = if relative.is_finite() {
        format!("{} by {}", if relative < 0.0 { "fell" } else { "rose" }, percent(relative.abs()))
    } else {
        "rose from nothing".to_owned()
    };
    let (warn, fail) = (0.10 * room, 0.25 * room);
    // The place was looked for: of many, one is beyond three deviations more often than one that was given.
    let most = if is_beyond(change, 4.5) { 1e6 } else { fail };
    let more =
        if found.len() > 1 { format!(", one of {} changes of level", found.len()) } else { String::new() };
    Some(Symptom {
        value: relative.abs().min(most),
        warn,
        fail,
        message: format!(
            "{what} {moved} after {} s of the window{more}: two different things were measured; look for what happened then",
            plain(course.seconds_at(change.at))
        ),
        of: Of::Course,
    })
}

fn slope(course: &Course<'_>) -> Option<Symptom> {
    let (what, room) = (course.what, course.room);
    let found = drift(&course.values())?;
    // As much as is certain, not as much as is likely.
    let certain = (found.relative.abs() - found.margin).max(0.0);
    let (warn, fail) = (0.05 * room, 0.10 * room);
    let value = match found.p_value {
        _ if certain <= 0.02 => 0.0,
        p if p < 0.001 => found.relative.abs(),
        // One of a hundred sound runs has as much.
        p if p < 0.01 => found.relative.abs().min(fail),
        _ => 0.0,
    };
    let verb = if found.relative < 0.0 { "fell" } else { "rose" };
    Some(Symptom {
        value,
        warn,
        fail,
        message: format!(
            "{what} {verb} by {} of its mean (give or take {}) during the window: this is a curve, not a number; run longer, or report \
             it over time",
            percent(found.relative.abs()),
            percent(found.margin)
        ),
        of: Of::Course,
    })
}

/// The part that MSER-5 cuts, if it is slower than the rest, and was from its beginning on: a start-up starts at the start.
#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
fn warm_up(course: &Course<'_>) -> Option<Symptom> {
    let values = course.values();
    let cut = mser5_cut(&values);
    let (start, rest) =
        values.split_at_checked(cut).filter(|(start, rest)| !start.is_empty() && !rest.is_empty())?;
    let usual = mean(rest);
    let slower_in = |part: &[f64]| {
        let higher = mean(part) / usual - 1.0;
        if course.is_open { higher } else { -higher }
    };
    let warn = if course.is_open { 0.20 } else { 0.10 };
    let slower = slower_in(start);
    let beginning = start.get(..start.len().div_ceil(4)).unwrap_or(start);
    let counts =
        cut as f64 / values.len() as f64 >= 1.0 / 3.0 && slower.is_finite() && slower_in(beginning) > warn;
    Some(Symptom {
        value: if counts { slower } else { 0.0 },
        warn,
        fail: f64::INFINITY,
        message: format!(
            "the first {} s of the window still belong to the start-up: {} was {} off there; set a longer rampup",
            plain(course.seconds_at(cut)),
            course.what,
            percent(slower.abs())
        ),
        of: Of::Course,
    })
}
