//! How one trial came out: its thresholds, whether the queue grew, and whether the client itself was to blame.

use cosmark_archive::{ClientRecord, GoalStatus, OperationRecord, StageRecord, ThresholdRecord};
use cosmark_metrics::stats::settle::Decision;
use cosmark_metrics::stats::steady::drift;
use cosmark_workload::model::{Load, Stage};

use super::machine::Outcome;
use crate::thresholds::{Measured, judgements};

/// A trial that was judged.
pub struct Judged {
    pub outcome: Outcome,
    pub status: GoalStatus,
    /// The first condition that was not met, or what else spoke against it.
    pub reason: Option<String>,
    pub thresholds: Vec<ThresholdRecord>,
}

/// How the client itself was doing in a trial; what is not known is 0 or empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientState {
    /// The machine was suspended, ms.
    pub suspended_ms: f64,
    /// Shares of the time in which it could not work, with what took it.
    pub lost: Vec<(f64, &'static str)>,
    /// How late operations were sent although a worker was free: shares, and the lag in ms that they exceed.
    pub lags: Vec<(f64, f64)>,
}

/// A client that was in trouble may be why a trial missed its thresholds if the share of requests in excess is at most so many
/// times the share of time that was lost: what waits behind a pause is late too.
const SPREADS: f64 = 10.0;
/// Less lost time than this is no trouble.
const LEAST_LOST: f64 = 0.003;
/// Waiting for a processor below this share is usual.
const USUAL_WAITS: f64 = 0.05;
/// More saturated seconds than this are trouble, as in V5 of the verdict.
const MOST_SATURATED: f64 = 0.05;
/// Sent later than by this part of the shortest limit is late.
const LATE: f64 = 0.25;

impl ClientState {
    /// Of the stage of a trial, the worst driver.
    pub fn of(record: &StageRecord) -> Self {
        let worst = |value: fn(&ClientRecord) -> Option<f64>| {
            record.clients.iter().filter_map(value).reduce(f64::max).unwrap_or(0.0)
        };
        let saturated = worst(|c| c.thread_busy_over_85_share);
        let waits = worst(|c| c.run_queue_wait_share_max);
        let lost = vec![
            (worst(|c| c.paused_share), "the client's machine was paused"),
            (worst(|c| c.steal_share), "the hypervisor took the processors"),
            (if waits > USUAL_WAITS { waits } else { 0.0 }, "load threads waited for a processor"),
            // A busy thread says that there was no more to be had, not how much is missing.
            (if saturated > MOST_SATURATED { 1.0 } else { 0.0 }, "a load thread was over 85 % busy"),
        ];
        let lag = |op: &OperationRecord| {
            let lag = &op.lag_ms;
            [(0.5, lag.p50), (0.2, lag.p80), (0.1, lag.p90), (0.05, lag.p95), (0.01, lag.p99)]
        };
        let lags = record.operations.iter().flat_map(lag);
        let lags = lags.filter_map(|(share, ms)| ms.map(|ms| (share, ms))).collect();
        Self { suspended_ms: worst(|c| c.suspended_ms), lost, lags }
    }

    /// The trouble that explains `excess`, the share of requests that were too slow, if one does. `limit_ms` is the shortest
    /// time that a threshold allows.
    pub fn explains(&self, excess: f64, limit_ms: Option<f64>) -> Option<String> {
        if self.suspended_ms > 0.0 {
            return Some(format!("the client's machine was suspended for {:.0} ms", self.suspended_ms));
        }
        let late = self.lags.iter().filter(|(_, ms)| limit_ms.is_some_and(|limit| *ms > LATE * limit));
        let late = late.map(|(share, _)| (*share, "the client sent requests late"));
        let (share, what) = self.lost.iter().copied().chain(late).max_by(|a, b| a.0.total_cmp(&b.0))?;
        let explains = share > LEAST_LOST && excess <= SPREADS * share;
        explains.then(|| format!("{what} ({:.1} %)", share * 100.0))
    }
}

/// Judges a trial by what all trials that it continues have measured (`pooled`, itself included) and by itself (`last`).
/// `failed` is why the stage failed, if it did.
pub fn judged(
    stage: &Stage,
    id: &str,
    pooled: &Measured,
    last: &Measured,
    failed: Option<String>,
    client: &ClientState,
) -> Judged {
    let mut missed = Vec::new();
    let mut open = None;
    let judged = judgements(stage, id, pooled);
    for one in &judged {
        let record = &one.record;
        let text = || format!("{} {}: {}", record.threshold, record.status.word(), record.message);
        match record.status {
            GoalStatus::Fail => missed.push((one.excess, text())),
            GoalStatus::Pass => {}
            _ => open = open.or_else(|| Some(text())),
        }
    }
    missed.extend(overloaded(stage, pooled));
    missed.extend(growing(stage, last).map(|text| (0.0, text)));
    missed.extend(failed.map(|text| (0.0, text)));
    let thresholds: Vec<ThresholdRecord> = judged.into_iter().map(|one| one.record).collect();
    let limit_ms = thresholds.iter().filter(|t| t.unit == "ms").filter_map(|t| t.limit).reduce(f64::min);
    // Meeting them in spite of the client's trouble is meeting them; missing them says nothing then.
    let excess = missed.iter().map(|(excess, _)| *excess).fold(0.0, f64::max);
    let first = missed.into_iter().next().map(|(_, text)| text);
    let met = first.is_none() && open.is_none();
    let trouble = if met { None } else { client.explains(excess, limit_ms) };
    let (status, outcome, reason) = match (trouble, first, open) {
        (Some(trouble), first, open) => {
            let seen = first.or(open).map(|seen| format!("; {seen}")).unwrap_or_default();
            (GoalStatus::NotProven, Outcome::NotProven, Some(format!("{trouble}{seen}")))
        }
        (None, Some(missed), _) => (GoalStatus::Fail, Outcome::Told(Decision::Fail), Some(missed)),
        (None, None, Some(open)) => (GoalStatus::NotDecided, Outcome::Told(Decision::Undecided), Some(open)),
        (None, None, None) => (GoalStatus::Pass, Outcome::Told(Decision::Pass), None),
    };
    Judged { outcome, status, reason, thresholds }
}

fn is_open(stage: &Stage) -> bool {
    stage.works.iter().any(|work| matches!(work.load, Load::Open { .. }))
}

/// An open loop that does not complete what is offered has no steady response time, whatever the completed ones say.
#[expect(clippy::cast_precision_loss, reason = "counts need no more than 53 bits")]
fn overloaded(stage: &Stage, measured: &Measured) -> Option<(f64, String)> {
    let (sum, window_s) = measured.total();
    if !is_open(stage) || window_s <= 0.0 {
        return None;
    }
    let (due, done) = (sum.intended as f64, sum.total() as f64);
    // What is in flight at the two ends of the window differs by chance.
    let least = due * 0.99 - 3.0 * due.sqrt().max(1.0);
    let text = || {
        let (due, done) = (due / window_s, done / window_s);
        format!("offered {due:.1}/s, completed {done:.1}/s: the queue grows all the time")
    };
    (done < least).then(|| (1.0 - done / due.max(1.0), text()))
}

/// Response times of an open loop that grow by more than this every second, with no more than this chance of being wrong,
/// belong to a queue that grows: by as much as the load is above the capacity.
const GROWTH: f64 = 0.005;
const GROWTH_CHANCE: f64 = 0.001;

/// A short trial a little above the capacity can be over before its queue is long enough to miss a threshold.
fn growing(stage: &Stage, last: &Measured) -> Option<String> {
    if !is_open(stage) {
        return None;
    }
    let (times_s, step_s) = last.response_over_time()?;
    let found = drift(&times_s).filter(|found| found.p_value < GROWTH_CHANCE)?;
    #[expect(clippy::cast_precision_loss, reason = "a number of intervals")]
    let span_s = step_s * times_s.len() as f64;
    let mean = times_s.iter().sum::<f64>() / (span_s / step_s);
    let growth = found.relative * mean / span_s;
    (growth > GROWTH).then(|| {
        format!("response times grew by {:.1} ms every second: the queue grows all the time", growth * 1e3)
    })
}
