//! Checks on the load itself: Little's law, idle workers, lag of the schedule, offered against served.

use cosmark_metrics::results::Cause;
use cosmark_stats::steady::{drift, mean};

use crate::bounds::{is_held_up, widened_by};
use crate::evidence::{Evidence, Pacing};
use crate::finding::{Finding, rank};
use crate::numbers::{grouped, percent, plain};

/// V1. N is the integral of "in flight" over the window, X and R are of all that ended in it. What was under way at an edge
/// of the window has its whole time in R and a part of it in N; where its ages at the edges are known, the two are equal.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
pub(super) fn littles_law(evidence: &Evidence) -> Finding {
    let known = evidence.operations.iter().filter_map(|op| op.in_flight_mean.map(|mean| (op, mean)));
    let (mut in_flight, mut product, mut time_s) = (0.0, 0.0, 0.0);
    // A driver that was lost tells neither what it had in flight nor since when.
    let mut exact = evidence.missing.is_empty();
    for (op, mean) in known.filter(|(op, _)| op.window_s > 0.0) {
        in_flight += mean;
        let ages = op.age_at_start_s.zip(op.age_at_end_s);
        exact &= ages.is_some();
        let (before_s, after_s) = ages.unwrap_or_default();
        product += (op.service_sum_s() - before_s + after_s) / op.window_s;
        time_s += op.service_sum_s();
    }
    let ended = evidence.ended();
    if in_flight <= 0.0 || ended == 0 {
        return Finding::unknown("nothing ended in a measured window, so there is no rate to audit");
    }
    let mean_s = time_s / ended as f64;
    // Without the ages an edge may hide that much; where the client stood still over the edge, that is all of it at once.
    let pauses_ms = evidence.clients.iter().filter_map(|client| client.pause_max_ms);
    let pause_s = pauses_ms.fold(0.0, f64::max) / 1000.0;
    let room_s = if exact { pause_s } else { (2.0 * mean_s).max(pause_s) };
    // What the edge hides is whole operations, also where less than one is in flight on average.
    let edges = room_s / evidence.window_s.max(f64::MIN_POSITIVE) * in_flight.max(1.0) / in_flight;
    let off = (in_flight - product).abs() / in_flight;
    let (warn, fail) = (0.02 + edges, 0.05 + edges);
    if off > warn
        && in_flight > product
        && let Some(why) = not_counted(evidence, exact)
    {
        return Finding::unknown(format!(
            "{} in flight on average, of which {} are of operations whose times are known: {why}, so whether operations are \
             missing from the record cannot be told",
            plain(in_flight),
            plain(product)
        ));
    }
    let numbers = format!(
        "{} in flight on average; rate times time gives {} (off by {})",
        plain(in_flight),
        plain(product),
        percent(off)
    );
    let bad = || {
        let what = if in_flight > product {
            "time was spent in operations that never ended"
        } else {
            "more ended than was under way"
        };
        format!("{numbers}: {what}, so operations are missing from the record")
    };
    Finding::graded(off, warn, fail, || numbers.clone(), bad)
}

/// Why time that was in flight may be in no operation that ended, although none is missing from the record.
fn not_counted(evidence: &Evidence, ages_known: bool) -> Option<&'static str> {
    let untimed = |op: &crate::evidence::OperationEvidence| {
        (op.failed > 0 && op.failed_service.mean.is_none()) || (op.ok > 0 && op.service.mean.is_none())
    };
    if evidence.operations.iter().any(untimed) {
        return Some("how long some of the others took is not recorded");
    }
    let who = match (evidence.is_cut, evidence.missing.is_empty()) {
        (true, _) => "what was under way when the load was cut ended in no record",
        (false, false) => "what a driver that was lost had under way ended in no record",
        (false, true) => return None,
    };
    Some(who).filter(|_| !ages_known)
}

/// V2. Of the work that idles most.
pub(super) fn idle_workers(evidence: &Evidence) -> Finding {
    let closed: Vec<_> = evidence.works.iter().filter(|work| work.pacing == Pacing::Closed).collect();
    if closed.is_empty() {
        return Finding::does_not_apply("no closed loop without pauses: workers may be idle");
    }
    let known = closed.into_iter().filter_map(|work| {
        idle_share(evidence, work).map(|share| (share, idle_share_error(evidence, work), work))
    });
    // What is certain of it decides which says most.
    let most =
        |a: &(f64, f64, _), b: &(f64, f64, _)| (a.0 - a.1).total_cmp(&(b.0 - b.1)).then(a.0.total_cmp(&b.0));
    let Some((share, error, work)) = known.max_by(most) else {
        return Finding::unknown("how many operations were in flight is not known");
    };
    let ended = ended_of(evidence, work);
    if share > LIMIT_IDLE && share <= LIMIT_IDLE + error {
        return Finding::unknown(format!(
            "{} ended {} operations with {} workers, too few to judge: they spent {} of their time outside requests, and \
             so few may do that by chance; ask for more operations, or for a runtime",
            work.name,
            grouped(ended),
            grouped(work.workers),
            percent(share)
        ));
    }
    let waiting = done_share(evidence, work);
    if share <= LIMIT_IDLE + error && waiting > LIMIT_WAITING {
        let busy = work.workers as f64 * (1.0 - waiting - share.max(0.0));
        return Finding::warn(
            waiting,
            LIMIT_WAITING,
            format!(
                "workers had done their share of the total and waited for slower ones for {} of their time: the throughput is of \
                 {} of {} workers on average; end the work by a runtime instead, or ask for more operations",
                percent(waiting),
                plain(busy),
                grouped(work.workers)
            ),
        )
        .moving("throughput_per_s", waiting);
    }
    let failed: u64 = evidence.of_work(&work.name).map(|op| op.failed).sum();
    let good = || match waiting > 0.0 {
        true => {
            format!("workers spent {} of their time in requests until they were done", percent(1.0 - share))
        }
        false => format!("workers spent {} of their time in requests", percent(1.0 - share)),
    };
    Finding::graded(share, LIMIT_IDLE + error, 0.10 + error, good, || {
        let who = if !evidence.missing.is_empty() {
            "those of drivers that were lost sent nothing any more (V16)"
        } else if evidence.pauses.iter().any(|pause| evidence.is_in_window(pause)) {
            "drivers made no load for a while (V16)"
        } else if failed > 0 {
            "workers pause after failures, or the client could not keep up"
        } else {
            "the client, not the store, limited the load: give it more threads, or fewer workers"
        };
        format!("workers spent {} of their time outside requests: {who}", percent(share))
    })
}

/// Workers may be outside requests for this share of their time.
const LIMIT_IDLE: f64 = 0.03;

/// Workers may wait for the others, once their share of a total is done, for this share of all their time: so much is the
/// throughput lower than what all of them have together, and figures hold that are right to as much.
const LIMIT_WAITING: f64 = 0.05;

/// By how much the share may be off where a total ended the work: the counting error of its operations, and half of one for each
/// worker, for who has made his share waits for the others. Where time ended it, what was in flight then is counted, too.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn idle_share_error(evidence: &Evidence, work: &crate::evidence::WorkEvidence) -> f64 {
    if work.schedule.is_some() {
        return 0.0;
    }
    let ended = ended_of(evidence, work).max(1) as f64;
    ended.sqrt().recip() + 0.5 * work.workers as f64 / ended
}

fn ended_of(evidence: &Evidence, work: &crate::evidence::WorkEvidence) -> u64 {
    evidence.of_work(&work.name).map(crate::evidence::OperationEvidence::ended).sum()
}

/// Share of its workers' time in which they had done what was theirs of a total.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn done_share(evidence: &Evidence, work: &crate::evidence::WorkEvidence) -> f64 {
    let done: f64 = evidence.of_work(&work.name).filter_map(|op| op.workers_done_mean).sum();
    if work.workers > 0 { (done / work.workers as f64).clamp(0.0, 1.0) } else { 0.0 }
}

/// Share of its workers' time outside operations while something was left for them to do.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn idle_share(evidence: &Evidence, work: &crate::evidence::WorkEvidence) -> Option<f64> {
    let known: Option<Vec<f64>> = evidence.of_work(&work.name).map(|op| op.in_flight_mean).collect();
    let busy: f64 = known.filter(|all| !all.is_empty())?.iter().sum();
    (work.workers > 0).then(|| 1.0 - busy / work.workers as f64 - done_share(evidence, work))
}

/// V3.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
pub(super) fn schedule_lag(evidence: &Evidence) -> Finding {
    if !evidence.any(Pacing::Open) {
        return Finding::unknown(
            "closed loop: stalls are under-sampled, for while the store stalls nothing is sent; percentiles as users of a \
             service see them need an open loop (rate:)",
        );
    }
    let open = || evidence.operations.iter().filter(|op| is_open(evidence, op));
    let due = open().filter_map(|op| op.intended).fold(0, u64::saturating_add);
    let accounted: u64 = open().map(|op| op.ended() + op.missed + op.unfinished).sum();
    let accounted = accounted.saturating_add(in_no_record(evidence));
    if due > 0 {
        let lost = 1.0 - accounted as f64 / due as f64;
        // Arrivals of the rampup that ended in the window count as ended here, so only a lack says something.
        if lost > 0.005 {
            return Finding::fail(
                lost,
                0.005,
                format!(
                    "{} of the arrivals that were due were never sent: the client could not keep up",
                    percent(lost)
                ),
            )
            .moving("throughput_per_s", lost);
        }
    }
    let lags = open().filter_map(|op| {
        let lag = op.lag.as_ref().filter(|lag| lag.count > 0)?;
        lag.p99.or(lag.max)
    });
    let Some(lag) = lags.reduce(f64::max) else {
        return Finding::unknown("how late operations were sent is not recorded");
    };
    let sent = format!("99 % were sent within {} ms of when they were due", plain(lag));
    let widened = widened_by(evidence, &[Cause::Lag]);
    super::client::widening(sent, widened, |sent, moved| {
        format!("{sent} although a worker was free: {moved}; give the client more threads or a lower rate")
    })
}

/// Arrivals that may have been sent and are in no record: each worker had one under way when the load was cut, or when
/// its driver was lost.
fn in_no_record(evidence: &Evidence) -> u64 {
    let open = evidence.works.iter().filter(|work| work.pacing == Pacing::Open).map(|work| work.workers);
    let lost = evidence.missing.iter().map(|gap| gap.workers);
    if evidence.is_cut { open.fold(0, u64::saturating_add) } else { lost.fold(0, u64::saturating_add) }
}

/// The sum of all; `None` where one is not known.
fn all_of(mut counts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    counts.try_fold(0, |sum: u64, count| Some(sum.saturating_add(count?)))
}

fn is_open(evidence: &Evidence, op: &crate::evidence::OperationEvidence) -> bool {
    evidence.works.iter().any(|work| work.name == op.work && work.pacing == Pacing::Open)
}

/// V4. Of the open loops and of every rate per worker, what says most.
pub(super) fn offered_is_achieved(evidence: &Evidence) -> Finding {
    if let Some(found) = evidence.works.iter().find_map(|work| off_schedule(evidence, work)) {
        return found;
    }
    let open = evidence.any(Pacing::Open).then(|| open_loops(evidence));
    // Of several rates per worker the one of which least was made.
    let paces = evidence.works.iter().filter_map(|work| pace_is_kept(evidence, work));
    let less = |finding: &Finding| (rank(finding), finding.value);
    let pace = paces.reduce(|worst, next| if less(&next) < less(&worst) { next } else { worst });
    let worst = open.into_iter().chain(pace);
    let worst = worst.reduce(|worst, next| if rank(&next) < rank(&worst) { next } else { worst });
    worst.unwrap_or_else(|| {
        Finding::does_not_apply(
            "no open loop, and no rate per worker: nothing was offered beyond what was taken",
        )
    })
}

/// V4 of all open loops together.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn open_loops(evidence: &Evidence) -> Finding {
    const LEAST: f64 = 0.99;
    // Pauses are known to a look at the clock, and those who come first after one may find no free worker.
    const ROOM: f64 = 1.1;
    let open = || evidence.operations.iter().filter(|op| is_open(evidence, op));
    // Who found no worker says that the store fell behind, however long each operation takes.
    if let Some(under_way) = evidence.outlasting().filter(|_| open().all(|op| op.missed == 0)) {
        return super::data::outlasted(evidence, under_way);
    }
    let known = all_of(open().map(|op| op.intended));
    let ended: u64 = open().map(crate::evidence::OperationEvidence::ended).sum();
    let offered = known.unwrap_or_else(|| open().map(|op| op.ended() + op.missed + op.unfinished).sum());
    if offered == 0 {
        return Finding::unknown("no arrival was due in the window");
    }
    // Works of different length: each over its own.
    let windows_s = || open().map(|op| op.window_s).filter(|seconds| *seconds > 0.0);
    let window_s = windows_s().reduce(f64::min).unwrap_or(evidence.window_s).max(f64::MIN_POSITIVE);
    let own_s =
        |op: &crate::evidence::OperationEvidence| if op.window_s > 0.0 { op.window_s } else { window_s };
    let served: f64 = open().map(|op| op.ended() as f64 / own_s(op)).sum();
    let due: f64 = open()
        .map(|op| op.intended.unwrap_or(op.ended() + op.missed + op.unfinished) as f64 / own_s(op))
        .sum();
    let ratio = ended as f64 / offered as f64;
    // Without a rampup what arrives in the last R seconds ends after the window.
    let mean_s =
        open().map(crate::evidence::OperationEvidence::service_sum_s).sum::<f64>() / (ended as f64).max(1.0);
    let edge = if evidence.rampup_s.unwrap_or(0.0) > 0.0 { 0.0 } else { (2.0 * mean_s / window_s).min(0.05) };
    // One operation more or less is chance.
    let limit = LEAST - edge - (1.0 + evidence.under_way_by_chance()) / offered as f64;
    let paused = evidence.paused_part();
    if ratio < limit && paused > 0.0 && 1.0 - ratio <= ROOM * paused + (1.0 - limit) {
        let message = format!(
            "offered {}/s, served {}/s: drivers made no load for a while (V16), and what came due meanwhile was \
             not sent",
            plain(due),
            plain(served)
        );
        return Finding::warn(ratio, limit, message).moving("throughput_per_s", paused).because_of("V16");
    }
    if ratio < limit {
        let message = format!(
            "offered {}/s, served {}/s: the store fell behind, so its latency depends on how long one \
             waits; offer less",
            plain(due),
            plain(served)
        );
        return Finding::fail(ratio, limit, message).moving("response_ms.p50", 1.0);
    }
    if let Some(growth) = growth_per_s(evidence).filter(|growth| *growth > 0.01 * served) {
        let message = format!(
            "served {} of what was offered, but {} more were in flight every second: the queue grew",
            percent(ratio.min(1.0)),
            plain(growth)
        );
        return Finding::warn(growth / served, 0.01, message).moving("response_ms.p50", growth / served);
    }
    Finding::pass(ratio, limit, format!("offered {}/s, served {}/s", plain(due), plain(served)))
}

/// A window or a rate that is not what the workload asked for: no store can do that.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn off_schedule(evidence: &Evidence, work: &crate::evidence::WorkEvidence) -> Option<Finding> {
    const LIMIT: f64 = 0.005;
    let schedule = work.schedule.filter(|schedule| schedule.planned_s > 0.0)?;
    let off = schedule.planned_s / work.window_s.max(f64::MIN_POSITIVE) - 1.0;
    if off.abs() > LIMIT {
        let message = format!(
            "the window of work {} was to be {} s and its figures are over {} s: its rates are {} too {}",
            work.name,
            plain(schedule.planned_s),
            plain(work.window_s),
            percent(off.abs()),
            if off > 0.0 { "high" } else { "low" }
        );
        return Some(Finding::fail(off.abs(), LIMIT, message).moving("throughput_per_s", off.abs()));
    }
    let due = schedule.due?;
    let counted = evidence.of_work(&work.name);
    if work.pacing == Pacing::Open {
        let known = all_of(counted.map(|op| op.intended));
        let (told, room) = (known? as f64, 1.0 + (LIMIT * due).max(5.0 * schedule.spread));
        return ((told - due).abs() > room).then(|| {
            let message = format!(
                "the schedule of work {} has {} operations due in its window, {} were counted",
                work.name,
                plain(due),
                plain(told)
            );
            let share = (told - due).abs() / due.max(1.0);
            Finding::fail(share, room / due.max(1.0), message).moving("throughput_per_s", share)
        });
    }
    None
}

/// V4 of a rate per worker over a time that is known. Where it was not kept no arrivals queue up, so it is a smaller load and no
/// wrong number.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn pace_is_kept(evidence: &Evidence, work: &crate::evidence::WorkEvidence) -> Option<Finding> {
    let due = work.schedule?.due.filter(|due| *due > 0.0 && work.pacing == Pacing::Paced)?;
    let ended: u64 = evidence.of_work(&work.name).map(crate::evidence::OperationEvidence::ended).sum();
    // Each worker begins at its own moment, and may have one in flight.
    let (ratio, limit) = (ended as f64 / due, 0.99 - work.workers as f64 / due);
    let said = format!(
        "work {} was to make {}/s and made {}/s",
        work.name,
        plain(due / work.window_s),
        plain(ended as f64 / work.window_s)
    );
    if ratio >= limit {
        return Some(Finding::pass(ratio, limit, said));
    }
    let why = if is_held_up(evidence, &work.name, due) {
        "its operations take longer than its workers have time for, and the client can have added as much to them: give it more \
         threads, or a lower rate"
    } else {
        "its operations take longer than its workers have time for"
    };
    let message = format!("{said}: {why}");
    Some(Finding::warn(ratio, limit, message).moving("throughput_per_s", 1.0 - ratio))
}

/// Operations in flight more per second, where that is certain, over all open loops.
#[expect(clippy::cast_precision_loss, reason = "lengths of series")]
fn growth_per_s(evidence: &Evidence) -> Option<f64> {
    let open = |series: &&crate::evidence::Series| evidence.pacing_of(&series.work) == Some(Pacing::Open);
    let growth = |series: &crate::evidence::Series| {
        let found = drift(&series.in_flight).filter(|found| found.p_value < 0.01 && found.relative > 0.2)?;
        let span_s = series.step_s * series.in_flight.len() as f64;
        Some(found.relative * mean(&series.in_flight) / span_s.max(f64::MIN_POSITIVE))
    };
    evidence.series.iter().filter(open).filter_map(growth).reduce(|a, b| a + b)
}
