//! Checks on the amount of data: length, censoring, support of percentiles, errors.

use std::collections::BTreeMap;

use cosmark_metrics::Latencies;
use cosmark_stats::proportions::clopper_pearson;

use crate::evidence::{Evidence, OperationEvidence, Pacing};
use crate::finding::Finding;
use crate::numbers::{list, percent, plain};

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
    let per_worker = ended as f64 / workers.max(1) as f64;
    if workers > 0 && evidence.any(Pacing::Closed) && per_worker < LEAST_PER_WORKER {
        let message = format!(
            "only {} operations per worker ended: times longer than the window are missing; set a longer runtime, or \
             fewer workers",
            plain(per_worker)
        );
        return Finding::too_little(per_worker, LEAST_PER_WORKER, message);
    }
    let longest = needs.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let (need, why) = longest.unwrap_or((LEAST_WINDOW_S, String::new()));
    // A stage that ends by time is a moment off what was asked.
    let long_enough = window >= 0.99 * need;
    if !long_enough {
        let message = format!(
            "the window of {} s is shorter than {} s ({why}); set runtime to {} s or more",
            plain(window),
            plain(need),
            plain(need.ceil())
        );
        return Finding::too_little(window, need, message);
    }
    let counted = match workers {
        0 => format!("{ended} operations"),
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

/// V10. What was in flight for less than the p99 says nothing against it.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
pub(super) fn censoring(evidence: &Evidence) -> Finding {
    let started: u64 = evidence.operations.iter().map(|op| op.ended() + op.unfinished).sum();
    let unfinished: u64 = evidence.operations.iter().map(|op| op.unfinished).sum();
    if started == 0 {
        return Finding::unknown("no operation was started in the window");
    }
    if unfinished == 0 {
        return Finding::pass(0.0, 0.005, "everything that was started has ended");
    }
    let aged: Option<Vec<(&OperationEvidence, &Latencies)>> = evidence
        .operations
        .iter()
        .filter(|op| op.unfinished > 0)
        .map(|op| op.unfinished_age.as_ref().filter(|ages| ages.count > 0).map(|ages| (op, ages)))
        .collect();
    let Some(aged) = aged else {
        let share = unfinished as f64 / started as f64;
        let what = format!(
            "{unfinished} operations ({}) were still running at the end and their ages are not recorded",
            percent(share)
        );
        return if share > 0.005 {
            Finding::warn(share, 0.005, format!("{what}: percentiles may lack the longest times"))
        } else {
            Finding::pass(share, 0.005, what)
        };
    };
    let (mut long, mut long_s, mut oldest_ms, mut beyond) = (0.0, 0.0, 0.0_f64, 0.0_f64);
    for (op, ages) in aged {
        let p99 = op.response.p99.or(op.response.max).unwrap_or(0.0);
        let older = above(ages, p99);
        long += older;
        long_s += older * ages.mean.unwrap_or(0.0).max(p99) / 1000.0;
        oldest_ms = oldest_ms.max(ages.max.unwrap_or(0.0));
        // A hundredth of what ended took longer than the p99, and so did these.
        if op.response.p99.is_some() {
            let ended = op.response.count as f64;
            beyond = beyond.max((0.01 * ended + older) / (ended + op.unfinished as f64));
        }
    }
    let share = long / started as f64;
    let capacity_s = evidence.workers().max(1) as f64 * evidence.window_s.max(f64::MIN_POSITIVE);
    let time = long_s / capacity_s;
    // Both have the same grades; what is worse counts.
    let (value, warn, fail) =
        if time / 0.01 > share / 0.005 { (time, 0.01, 0.05) } else { (share, 0.005, 0.02) };
    let good = || format!("{unfinished} operations were still running, too young or too few to matter");
    // One straggler in a small sample is no tendency.
    if long < 2.0 && time <= 0.05 {
        return Finding::pass(value, warn, good());
    }
    let counted =
        if beyond > 0.0 { format!(", {} of all took longer", percent(beyond)) } else { String::new() };
    Finding::graded(value, warn, fail, good, || {
        format!(
            "{} operations were still running after more than the p99{counted}, the oldest for {} s: the true percentiles \
             are higher than the ones shown; set a longer runtime",
            plain(long),
            plain(oldest_ms / 1000.0)
        )
    })
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
        let message = format!("p99 of {} is withheld: it needs 1000 operations, there are {count}", op.name);
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

/// V12. By number and by the workers' time: a store that refuses slowly fails few operations and much of the time.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
pub(super) fn errors(evidence: &Evidence) -> Finding {
    let (ended, failed) = (evidence.ended(), evidence.operations.iter().map(|op| op.failed).sum::<u64>());
    if ended == 0 {
        return Finding::fail(1.0, 0.01, "nothing ended in the window: the store gave no answer at all");
    }
    let by_count = failed as f64 / ended as f64;
    let time = |time: fn(&OperationEvidence) -> f64| evidence.operations.iter().map(time).sum::<f64>();
    let in_failures = time(|op| op.failed as f64 * op.failed_service.mean.unwrap_or(0.0) / 1000.0);
    let all = time(OperationEvidence::service_sum_s);
    let by_time = if all > 0.0 { in_failures / all } else { 0.0 };
    let share = by_count.max(by_time);
    Finding::graded(
        share,
        0.001,
        0.01,
        || good_errors(failed, ended),
        || bad_errors(evidence, by_count, by_time),
    )
}

fn good_errors(failed: u64, ended: u64) -> String {
    if failed == 0 {
        format!("none of {ended} operations failed")
    } else {
        format!("{failed} of {ended} operations failed")
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn bad_errors(evidence: &Evidence, by_count: f64, by_time: f64) -> String {
    let worst = evidence.operations.iter().filter(|op| op.failed > 0).max_by(|a, b| {
        let share = |op: &OperationEvidence| op.failed as f64 / op.ended() as f64;
        share(a).total_cmp(&share(b))
    });
    let mut classes: BTreeMap<&str, u64> = BTreeMap::new();
    for (class, count) in evidence.operations.iter().flat_map(|op| &op.errors) {
        *classes.entry(class).or_default() += count;
    }
    let mut classes: Vec<_> = classes.into_iter().collect();
    classes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let named: Vec<String> = classes.iter().map(|(class, count)| format!("{class} {count}")).collect();
    let named = if named.is_empty() { String::new() } else { format!(" ({})", list(&named)) };
    let who = worst.map_or_else(String::new, |op| {
        let share = op.failed as f64 / op.ended() as f64;
        if evidence.operations.len() > 1 {
            format!(", of {} {}", op.name, percent(share))
        } else {
            String::new()
        }
    });
    let time = if by_time > 2.0 * by_count && by_time > 0.001 {
        format!("; they took {} of the time in requests", percent(by_time))
    } else {
        String::new()
    };
    let missing = classes.first().is_some_and(|(class, _)| *class == "http_404");
    let cause = evidence
        .misses
        .iter()
        .flatten()
        .filter(|miss| !miss.may_succeed)
        .max_by(|a, b| a.share.total_cmp(&b.share));
    let why = match cause.filter(|_| missing || classes.is_empty()) {
        Some(miss) => format!(": {} (expected {} of {})", miss.cause, percent(miss.share), miss.operation),
        None => ": the rate of successes is not the rate of service".to_owned(),
    };
    format!("{} of all operations failed{who}{named}{time}{why}", percent(by_count))
}
