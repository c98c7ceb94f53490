//! Checks on the amount of data: length, censoring, support of percentiles, errors.

use std::collections::BTreeMap;

use cosmark_metrics::Latencies;
use cosmark_stats::proportions::clopper_pearson;

use super::{MEDIAN, P95, RATE, TAIL};
use crate::evidence::{ALL_WORKS, Evidence, OperationEvidence, Outside, Pacing, WorkEvidence};
use crate::finding::{Finding, Status};
use crate::numbers::{grouped, list, percent, plain};

/// Seconds that a window needs at least.
const LEAST_WINDOW_S: f64 = 60.0;
/// Operations that each worker has to end.
const LEAST_PER_WORKER: f64 = 20.0;

/// V9.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
pub(super) fn length(evidence: &Evidence) -> Finding {
    let window = evidence.window_s;
    // A window need not be longer because the client was slow: without what it can have added.
    let added = |op: &OperationEvidence| op.bound("response_ms.p99").and_then(|bound| bound.client.below);
    let p99_ms =
        |op: &OperationEvidence| Some(op.response.p99.or(op.response.max)? - added(op).unwrap_or(0.0));
    let p99_s = evidence.operations.iter().filter_map(p99_ms).fold(0.0, f64::max) / 1000.0;
    let rampup = evidence.rampup_s.unwrap_or(0.0);
    // Who looks at seconds on purpose does not ask for what happens less often.
    let short = evidence.store.short_intended && window < LEAST_WINDOW_S;
    let least = if short { 0.0 } else { LEAST_WINDOW_S };
    let needs = [
        (least, "what happens less often than every few seconds is not in it".to_owned()),
        (30.0 * p99_s, format!("30 times the p99 of {} s", plain(p99_s))),
        (5.0 * rampup, format!("5 times the rampup of {} s", plain(rampup))),
    ];
    let ended = evidence.ended();
    // COSBench's tables may not tell how many there were.
    let workers = evidence.workers();
    let of_closed = evidence.ended_per_closed_worker();
    let per_worker = of_closed.unwrap_or(ended as f64 / workers.max(1) as f64);
    if of_closed.is_some_and(|each| each < LEAST_PER_WORKER) {
        let why = if is_ended_by_total(evidence) {
            "too few to tell what is usual; ask for more operations, or for fewer workers"
        } else {
            "times longer than the window are missing; set a longer runtime, or fewer workers"
        };
        let message = format!("only {} operations per worker ended: {why}", plain(per_worker));
        return Finding::too_little(per_worker, LEAST_PER_WORKER, message);
    }
    let longest = needs.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let (need, why) = longest.unwrap_or((LEAST_WINDOW_S, String::new()));
    // A stage that ends by time is a moment off what was asked.
    let long_enough = window >= 0.99 * need;
    if !long_enough {
        let remedy = if is_ended_by_total(evidence) {
            "a total ended it: ask for more operations, or for a runtime".to_owned()
        } else {
            format!("set runtime to {} s or more", plain(need.ceil()))
        };
        let message =
            format!("the window of {} s is shorter than {} s ({why}); {remedy}", plain(window), plain(need));
        return Finding::too_little(window, need, message);
    }
    let counted = match workers {
        0 => format!("{} operations", grouped(ended)),
        _ => format!("{} operations per worker", plain(per_worker)),
    };
    if short {
        let message = format!(
            "the window of {} s is short on purpose (sut_window): what the store does less often is not in it; {counted}",
            plain(window)
        );
        return Finding::warn(window, LEAST_WINDOW_S, message);
    }
    Finding::pass(window, need, format!("{} s, {counted}", plain(window)))
}

/// Whether it is known that no time ended the works: their workload is at hand and planned nothing by time, and nothing was
/// under way at the end. COSBench's tables do not say what was.
fn is_ended_by_total(evidence: &Evidence) -> bool {
    let is_over = |op: &OperationEvidence| op.work != ALL_WORKS && op.unfinished == 0;
    let is_untimed = |work: &WorkEvidence| work.schedule.is_none() && work.pacing == Pacing::Closed;
    evidence.rampup_s.is_some()
        && evidence.works.iter().all(is_untimed)
        && evidence.operations.iter().all(is_over)
}

/// How many of `ages` lie above `limit_ms`, read from the percentiles that there are: the least share that they allow is
/// not known, so the greatest is taken.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn above(ages: &Latencies, limit_ms: f64) -> f64 {
    let count = ages.count as f64;
    if ages.max.is_none_or(|max| max <= limit_ms) {
        return 0.0;
    }
    let known = [
        (0.9999, ages.p99_99),
        (0.999, ages.p99_9),
        (0.99, ages.p99),
        (0.95, ages.p95),
        (0.9, ages.p90),
        (0.8, ages.p80),
        (0.6, ages.p60),
        (0.5, ages.p50),
    ];
    let below = known.into_iter().find(|(_, value)| value.is_some_and(|value| value <= limit_ms));
    let share = match below {
        Some((quantile, _)) => 1.0 - quantile,
        // Too few for percentiles: a straight line from the least to the greatest.
        None => {
            let (least, most) = (ages.min.unwrap_or(0.0), ages.max.unwrap_or(0.0));
            if most > least { ((most - limit_ms) / (most - least)).clamp(0.0, 1.0) } else { 1.0 }
        }
    };
    (share * count).max(1.0)
}

/// A percentile that operations which were still running can have moved.
#[derive(Debug, Clone, Copy)]
struct MovedPercentile {
    figure: &'static str,
    /// Those that were older than the p99, of all of their kind.
    count: f64,
    share: f64,
    /// Of all of the kind took longer than the p99 that is shown, with these; 0 where none is shown.
    beyond_p99: f64,
    /// Shares that are worth a word, and that make it another figure.
    warn: f64,
    fail: f64,
}

impl MovedPercentile {
    /// The highest percentile that is shown of an operation of which `older` were older than its p99 when the window ended.
    /// What is missing above a percentile moves it by ranks: half of what lies beyond it is worth a word, as much again and
    /// more makes it another one. Where there were too few for any, none can be wrong.
    #[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
    fn of(op: &OperationEvidence, older: f64) -> Self {
        let all = (op.ended() + op.unfinished).max(1) as f64;
        let times = &op.response;
        let (figure, warn, fail) = match (times.p99, times.p95) {
            (Some(_), _) => (TAIL, 0.005, 0.02),
            (None, Some(_)) => (P95, 0.025, 0.10),
            (None, None) if times.p50.is_some() => (MEDIAN, 0.10, 0.25),
            _ => (MEDIAN, 0.10, f64::INFINITY),
        };
        let ended = times.count as f64;
        let beyond_p99 = match times.p99 {
            // A hundredth of what ended took longer than the p99, and so did these.
            Some(_) => (0.01 * ended + older) / (ended + op.unfinished as f64),
            None => 0.0,
        };
        Self { figure, count: older, share: older / all, beyond_p99, warn, fail }
    }

    /// Above 1 a word is due; one straggler in a small sample is no tendency.
    fn grade(&self) -> f64 {
        if self.count < 2.0 { 0.0 } else { self.share / self.warn }
    }
}

/// What operations that were still running at the end of the window, longer than the p99, can have moved.
#[derive(Debug, Clone, Copy, Default)]
struct Censored {
    /// Operations, and their share of all that were started.
    long: f64,
    of_operations: f64,
    worst: Option<MovedPercentile>,
    /// Share of the time of all workers: the mean lacks it.
    of_time: f64,
    /// Operations of closed loops that hung for more than half of the window, and their share of those loops' time: for most
    /// of the window the rate was that of fewer workers.
    hung: (f64, f64),
    /// Age of the oldest, seconds.
    oldest_s: f64,
}

impl Censored {
    /// `None` where the ages of some are not recorded.
    #[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
    fn of(evidence: &Evidence) -> Option<Self> {
        let (mut all, mut long_s, mut hung_s) = (Self::default(), 0.0, 0.0);
        let (half_ms, window_ms) = (500.0 * evidence.window_s, 1000.0 * evidence.window_s);
        for op in evidence.operations.iter().filter(|op| op.unfinished > 0) {
            let ages = op.unfinished_age.as_ref().filter(|ages| ages.count > 0)?;
            let p99 = op.response.p99.or(op.response.max).unwrap_or(0.0);
            let older = above(ages, p99);
            all.long += older;
            // What was sent before the window began took no more of it than all.
            long_s += older * ages.mean.unwrap_or(0.0).max(p99).min(window_ms) / 1000.0;
            all.oldest_s = all.oldest_s.max(ages.max.unwrap_or(0.0) / 1000.0);
            let moved = MovedPercentile::of(op, older);
            all.worst = all.worst.filter(|worst| worst.grade() >= moved.grade()).or(Some(moved));
            if evidence.pacing_of(&op.work) != Some(Pacing::Open) {
                let hung = above(ages, half_ms.max(p99));
                all.hung.0 += hung;
                hung_s += hung * ages.mean.unwrap_or(0.0).max(half_ms).max(p99).min(window_ms) / 1000.0;
            }
        }
        let started: u64 = evidence.operations.iter().map(|op| op.ended() + op.unfinished).sum();
        all.of_operations = all.long / started.max(1) as f64;
        let window_s = evidence.window_s.max(f64::MIN_POSITIVE);
        let closed: u64 =
            evidence.works.iter().filter(|work| work.pacing != Pacing::Open).map(|work| work.workers).sum();
        all.of_time = long_s / (evidence.workers().max(1) as f64 * window_s);
        all.hung.1 = (hung_s / (closed.max(1) as f64 * window_s)).min(1.0);
        Some(all)
    }
}

/// V10. What was in flight for less than the p99 says nothing against it. Each figure is moved by another share: percentiles
/// by how many operations are missing above them, the rate of a closed loop by workers that did nothing else for most of
/// the window, and the mean by the time that all of them took. A moment at the end of a short window, in which every worker
/// stands in one operation, is much of the time, few operations, and no word on the rate that was counted.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
pub(super) fn censoring(evidence: &Evidence) -> Finding {
    let started: u64 = evidence.operations.iter().map(|op| op.ended() + op.unfinished).sum();
    let unfinished: u64 = evidence.operations.iter().map(|op| op.unfinished).sum();
    if started == 0 {
        return Finding::unknown("no operation was started in the window");
    }
    if unfinished == 0 {
        return Finding::pass(0.0, MANY, "everything that was started has ended");
    }
    if evidence.ended() == 0 {
        return Finding::unknown(
            "nothing ended in the window: no figure is there that lacks something (V12)",
        );
    }
    match Censored::of(evidence) {
        Some(censored) => censored.finding(evidence, unfinished),
        None => {
            let share = unfinished as f64 / started as f64;
            let what = format!(
                "{} operations ({}) were still running at the end and their ages are not recorded",
                grouped(unfinished),
                percent(share)
            );
            if share > MANY {
                Finding::warn(share, MANY, format!("{what}: percentiles may lack the longest times"))
            } else {
                Finding::pass(share, MANY, what)
            }
        }
    }
}

/// Shares of the operations, and of the workers' time, that V10 warns of, and the one that makes a rate another one.
const MANY: f64 = 0.005;
const MUCH_TIME: f64 = 0.01;
const TOO_MUCH_TIME: f64 = 0.05;

fn were(count: f64) -> String {
    match count.round() {
        1.0 => "1 operation was".to_owned(),
        many => format!("{} operations were", plain(many)),
    }
}

impl Censored {
    #[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
    fn finding(&self, evidence: &Evidence, unfinished: u64) -> Finding {
        let Self { long, of_operations, worst, of_time, hung: (hung, of_workers), oldest_s } = *self;
        let oldest = format!("the oldest for {} s", plain(oldest_s));
        let percentiles = worst.filter(|worst| worst.grade() > 1.0).map(|worst| {
            let counted = match worst.beyond_p99 {
                0.0 => String::new(),
                beyond => format!(", {} of all took longer", percent(beyond)),
            };
            let message = format!(
                "{} still running after more than the p99{counted}, {oldest}: the true percentiles are higher than the ones \
                 shown; set a longer runtime",
                were(long)
            );
            Finding::graded(worst.share, worst.warn, worst.fail, String::new, || message)
                .moving(worst.figure, worst.share)
        });
        // Of few operations nobody knows whether times that long are usual: V9 says so.
        let per_worker = evidence
            .ended_per_closed_worker()
            .unwrap_or(evidence.ended() as f64 / evidence.workers().max(1) as f64);
        if of_workers > TOO_MUCH_TIME && per_worker >= LEAST_PER_WORKER {
            let message = format!(
                "{} still running after more than half of the window, {oldest}, and the workers of such did nothing else for \
                 {} of all workers' time: the rate is that of fewer workers; look for what those requests wait for, and set \
                 a timeout",
                were(hung),
                percent(of_workers)
            );
            let is_worse = percentiles.as_ref().is_none_or(|found| found.status != Status::Fail);
            if is_worse {
                return Finding::fail(of_workers, TOO_MUCH_TIME, message).moving(RATE, of_workers);
            }
        }
        if let Some(found) = percentiles {
            return found;
        }
        let much = if long < 2.0 { TOO_MUCH_TIME } else { MUCH_TIME };
        if of_time > much {
            let message = format!(
                "{} still running after more than the p99, {oldest}: {} of the operations and {} of the workers' time, which \
                 the mean lacks; percentiles and rate lack no more than those operations; set a longer runtime",
                were(long),
                percent(of_operations),
                percent(of_time)
            );
            return Finding::warn(of_time, much, message).moving(TAIL, of_operations);
        }
        let those = match unfinished {
            1 => "1 operation was".to_owned(),
            many => format!("{} operations were", grouped(many)),
        };
        let good = format!("{those} still running, too young or too few to matter");
        Finding::pass(of_operations, MANY, good)
    }
}

/// V11.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
pub(super) fn percentile_support(evidence: &Evidence) -> Finding {
    const GOOD: f64 = 100.0;
    const LEAST: f64 = 10.0;
    let least =
        evidence.operations.iter().filter(|op| op.ok > 0).min_by_key(|op| op.response.count.max(op.ok));
    let Some(op) = least else {
        return Finding::unknown("no operation succeeded, so there are no times");
    };
    let count = op.response.count.max(op.ok);
    let beyond = count as f64 * 0.01;
    if beyond < LEAST {
        let message = format!(
            "p99 of {} is withheld: it needs 1 000 operations, there are {}",
            op.name,
            grouped(count)
        );
        return Finding::warn(beyond, LEAST, message);
    }
    if beyond < GOOD {
        let (low, high) = clopper_pearson(count / 100, count, 0.95);
        let message = format!(
            "p99 of {} rests on {} operations beyond it: with 95 % certainty it is somewhere from the {:.1}th to the {:.1}th \
             percentile; {} times the runtime makes it stable",
            op.name,
            plain(beyond),
            100.0 * (1.0 - high),
            100.0 * (1.0 - low),
            plain((GOOD / beyond).ceil())
        );
        return Finding::warn(beyond, GOOD, message);
    }
    Finding::pass(beyond, GOOD, format!("at least {} operations lie beyond each p99", plain(beyond.floor())))
}

/// Shares of the operations, or of the workers' time, that go into failures.
const ERRORS_WARN: f64 = 0.001;
const ERRORS_FAIL: f64 = 0.01;

/// V12. By number and by the workers' time: a store that refuses slowly fails few operations and much of the time.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
pub(super) fn errors(evidence: &Evidence) -> Finding {
    let (ended, failed) = (evidence.ended(), evidence.operations.iter().map(|op| op.failed).sum::<u64>());
    if ended == 0 && was_asked_nothing(evidence) {
        let message = "nothing was asked of the store in the window: nothing was due in it, or all workers waited to \
                       ask; set a longer runtime";
        return Finding::too_little(0.0, 1.0, message);
    }
    // Tables of COSBench have no window where nothing ended in it.
    let has_works = evidence.operations.iter().all(|op| op.work != ALL_WORKS);
    if ended == 0 && has_works && evidence.window_s <= 0.0 {
        let message = "the stage was ended before its window began: nothing is known of the store; let it run longer than its \
                       rampup";
        return Finding::too_little(0.0, 1.0, message);
    }
    if ended == 0 {
        if let Some(under_way) = evidence.outlasting() {
            return outlasted(evidence, under_way);
        }
        return Finding::fail(1.0, 0.01, no_answer(evidence));
    }
    let in_faults = evidence.in_faults.as_ref().map_or(0, |faults| faults.failed.min(failed));
    if in_faults > 0 {
        return errors_beside_faults(evidence, (ended, failed), in_faults);
    }
    let by_count = failed as f64 / ended as f64;
    let time = |time: fn(&OperationEvidence) -> f64| evidence.operations.iter().map(time).sum::<f64>();
    let in_failures = time(|op| op.failed as f64 * op.failed_service.mean.unwrap_or(0.0) / 1000.0);
    let all = time(OperationEvidence::service_sum_s);
    let by_time = if all > 0.0 { in_failures / all } else { 0.0 };
    let share = by_count.max(by_time);
    Finding::graded(
        share,
        ERRORS_WARN,
        ERRORS_FAIL,
        || good_errors(failed, ended),
        || bad_errors(evidence, by_count, by_time),
    )
}

/// Nothing ended in the window although something was asked, and no size is the reason.
fn no_answer(evidence: &Evidence) -> String {
    let has_ended = |op: &OperationEvidence| op.outside != Outside::default();
    let is_all_under_way =
        evidence.operations.iter().any(|op| op.unfinished > 0) && !evidence.operations.iter().any(has_ended);
    let more = if evidence.late().is_some() {
        " until it was over, and then it answered: it stood still, or operations of this size take it longer than that; look \
         for what they waited for, or set a longer runtime"
    } else if is_all_under_way {
        "; if operations are meant to take longer, set a longer runtime, and a --drain in which they end"
    } else {
        ""
    };
    format!("nothing ended in the window: the store gave no answer at all{more}")
}

/// Of a window that is shorter than every operation.
pub(super) fn outlasted(evidence: &Evidence, under_way: u64) -> Finding {
    let which = if under_way == 1 {
        "the operation that was under way took"
    } else {
        "all operations that were under way took"
    };
    let message = format!(
        "nothing ended in the window of {} s: {which} longer, and ended well behind it; set a longer runtime, or use \
         smaller objects",
        plain(evidence.window_s)
    );
    Finding::too_little(0.0, 1.0, message)
}

/// Whether it is known that no operation was under way in the window, and that none had to be left out.
fn was_asked_nothing(evidence: &Evidence) -> bool {
    let is_idle = |op: &OperationEvidence| {
        op.missed == 0 && op.unfinished == 0 && op.in_flight_mean.is_some_and(|mean| mean <= 0.0)
    };
    !evidence.operations.is_empty() && evidence.operations.iter().all(is_idle)
}

/// V12 of a stage with faults: what failed in their slots is what they cost, and stands there; what failed beside them is judged
/// as ever, by number alone, for how long these took and how long those is not known apart.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn errors_beside_faults(evidence: &Evidence, (ended, failed): (u64, u64), in_faults: u64) -> Finding {
    let others = failed - in_faults;
    let (by_count, beside) = (failed as f64 / ended as f64, others as f64 / ended as f64);
    let errors = evidence.in_faults.as_ref().map(|faults| &faults.errors);
    let in_slots = |class: &str| errors.and_then(|errors| errors.get(class)).copied().unwrap_or(0);
    let cost = format!(
        "{} operations failed in the slots of faults that were made{}, which say what each cost",
        grouped(in_faults),
        classes_of(&evidence.operations, |class, all| all.min(in_slots(class))).1
    );
    let named = classes_of(&evidence.operations, |class, all| all.saturating_sub(in_slots(class))).1;
    if beside > ERRORS_WARN {
        let message = format!(
            "{} of all operations failed beside the faults that were made{named}: the rate of successes is not the rate of \
             service; {cost}",
            percent(beside)
        );
        return Finding::graded(beside, ERRORS_WARN, ERRORS_FAIL, String::new, || message);
    }
    let message = format!("{cost}, and {} of {} beside them{named}", grouped(others), grouped(ended));
    if by_count > ERRORS_WARN {
        Finding::warn(by_count, ERRORS_WARN, message)
    } else {
        Finding::pass(by_count, ERRORS_WARN, message)
    }
}

/// The most frequent class of the failures of these operations, and ` (timeout 48, http_503 2)`, with so many of all of a class
/// as `part` says.
fn classes_of(ops: &[OperationEvidence], part: impl Fn(&str, u64) -> u64) -> (Option<String>, String) {
    let mut classes: BTreeMap<&str, u64> = BTreeMap::new();
    for (class, count) in ops.iter().flat_map(|op| &op.errors) {
        *classes.entry(class).or_default() += count;
    }
    let left = classes.into_iter().map(|(class, count)| (class, part(class, count)));
    let mut left: Vec<(&str, u64)> = left.filter(|(_, count)| *count > 0).collect();
    left.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let named: Vec<String> =
        left.iter().map(|(class, count)| format!("{class} {}", grouped(*count))).collect();
    let named = if named.is_empty() { String::new() } else { format!(" ({})", list(&named)) };
    (left.first().map(|(class, _)| (*class).to_owned()), named)
}

fn good_errors(failed: u64, ended: u64) -> String {
    if failed == 0 {
        format!("none of {} operations failed", grouped(ended))
    } else {
        format!("{} of {} operations failed", grouped(failed), grouped(ended))
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn bad_errors(evidence: &Evidence, by_count: f64, by_time: f64) -> String {
    let worst = evidence.operations.iter().filter(|op| op.failed > 0).max_by(|a, b| {
        let share = |op: &OperationEvidence| op.failed as f64 / op.ended() as f64;
        share(a).total_cmp(&share(b))
    });
    let (first, named) = classes_of(&evidence.operations, |_, all| all);
    let who = worst.filter(|_| evidence.operations.len() > 1).map_or_else(String::new, |op| {
        let share = op.failed as f64 / op.ended() as f64;
        let (_, own) = classes_of(std::slice::from_ref(op), |_, all| all);
        // Where nothing else failed its classes are those of all.
        format!(", of {} {}{}", op.name, percent(share), if own == named { "" } else { own.as_str() })
    });
    let time = if by_time > 2.0 * by_count && by_time > 0.001 {
        format!("; they took {} of the time in requests", percent(by_time))
    } else {
        String::new()
    };
    let missing = first.as_deref() == Some("http_404");
    let cause = evidence
        .misses
        .iter()
        .flatten()
        .filter(|miss| !miss.may_succeed)
        .max_by(|a, b| a.share.total_cmp(&b.share));
    let why = match cause.filter(|_| missing || first.is_none()) {
        Some(miss) => format!(": {} (expected {} of {})", miss.cause, percent(miss.share), miss.operation),
        None => ": the rate of successes is not the rate of service".to_owned(),
    };
    format!("{} of all operations failed{named}{who}{time}{why}", percent(by_count))
}
