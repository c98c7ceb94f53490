//! Whether a stage reached what it had to: each threshold met, missed or not decided.

use cosmark_archive::{GoalStatus, ThresholdRecord};
use cosmark_metrics::stats::batches::{Batch, Batches};
use cosmark_metrics::stats::settle::{self, BEYOND, Decision, Share};
use cosmark_metrics::{OpSnapshot, PERCENTILES};
use cosmark_workload::model::{Load, Operation, Stage, Work, WorkKind};
use cosmark_workload::threshold::{Metric, Threshold};

/// Each bound holds with this confidence; both together make an interval of 90 %.
const CONFIDENCE: f64 = 0.95;
/// Resampling is part of the result, so its seed is fixed.
const SEED: u64 = 0x5eed;

/// What a stage measured, work by work.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    works: Vec<MeasuredWork>,
}

#[derive(Debug, Clone)]
struct MeasuredWork {
    window_s: f64,
    ops: Vec<OpSnapshot>,
    batches: Vec<Batches>,
}

impl Measured {
    /// Windows with their lengths in seconds, and the same over time.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a window is positive and shorter than centuries"
    )]
    pub fn new(windows: Vec<(f64, Vec<OpSnapshot>)>, batches: Vec<Vec<Batches>>) -> Self {
        let batches = batches.into_iter().map(Some).chain(std::iter::repeat(None));
        let works = windows.into_iter().zip(batches).map(|((window_s, ops), batches)| {
            let mut batches = batches.unwrap_or_default();
            batches.iter_mut().for_each(|one| one.close((window_s * 1e9) as u64));
            MeasuredWork { window_s, ops, batches }
        });
        Self { works: works.collect() }
    }

    /// Puts the results of another run of the same stage behind these.
    pub fn append(&mut self, other: &Self) {
        if self.works.is_empty() {
            self.works.clone_from(&other.works);
            return;
        }
        for (work, other) in self.works.iter_mut().zip(&other.works) {
            work.window_s += other.window_s;
            work.ops.iter_mut().zip(&other.ops).for_each(|(op, other)| op.merge(other));
            work.batches.iter_mut().zip(&other.batches).for_each(|(one, other)| one.append(other));
        }
    }

    /// All operations together, and the seconds of the longest window.
    #[must_use]
    pub fn total(&self) -> (OpSnapshot, f64) {
        let mut sum = OpSnapshot::default();
        self.works.iter().flat_map(|work| &work.ops).for_each(|op| sum.merge(op));
        (sum, self.works.iter().map(|work| work.window_s).fold(0.0, f64::max))
    }
}

/// An operation with what it measured.
struct Found<'a> {
    operation: &'a Operation,
    work: &'a Work,
    op: &'a OpSnapshot,
    batches: &'a Batches,
    window_s: f64,
}

/// Judges every threshold of a stage.
#[must_use]
pub fn judge(stage: &Stage, stage_id: &str, measured: &Measured) -> Vec<ThresholdRecord> {
    let mut records = Vec::new();
    for threshold in &stage.thresholds {
        let found = found(stage, threshold, measured);
        let blank = |operation: Option<&str>| ThresholdRecord {
            stage: stage_id.to_owned(),
            operation: operation.or(threshold.operation.as_deref()).map(str::to_owned),
            threshold: threshold.text.clone(),
            metric: threshold.metric.word().to_owned(),
            unit: unit(threshold.metric).to_owned(),
            value: None,
            low: None,
            high: None,
            limit: None,
            status: GoalStatus::NotDecided,
            message: "nothing was measured".to_owned(),
        };
        if threshold.metric.is_time() && !found.is_empty() {
            for one in &found {
                let mut record = blank(Some(&one.operation.name));
                time(threshold, one, &mut record);
                records.push(record);
            }
        } else {
            let mut record = blank(None);
            if !found.is_empty() {
                together(threshold, &found, &mut record);
            }
            records.push(record);
        }
    }
    records
}

fn unit(metric: Metric) -> &'static str {
    match metric {
        Metric::ErrorRate => "share",
        Metric::Throughput => "per_s",
        Metric::Bandwidth => "bytes_per_s",
        _ => "ms",
    }
}

fn found<'a>(stage: &'a Stage, threshold: &Threshold, measured: &'a Measured) -> Vec<Found<'a>> {
    let works = stage.works.iter().zip(&measured.works).filter(|(work, _)| work.kind == WorkKind::Normal);
    works
        .flat_map(|(work, measured)| {
            let parts = work.operations.iter().zip(&measured.ops).zip(&measured.batches);
            parts.map(move |((operation, op), batches)| Found {
                operation,
                work,
                op,
                batches,
                window_s: measured.window_s,
            })
        })
        .filter(|found| threshold.is_about(found.operation))
        .collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts and sizes need no more than 53 bits")]
fn real(count: u64) -> f64 {
    count as f64
}

fn ms(ns: Option<u64>) -> Option<f64> {
    ns.map(|ns| real(ns) / 1e6)
}

fn status(decision: Decision) -> GoalStatus {
    match decision {
        Decision::Pass => GoalStatus::Pass,
        Decision::Fail => GoalStatus::Fail,
        Decision::Undecided => GoalStatus::NotDecided,
    }
}

/// A response time of one operation.
fn time(threshold: &Threshold, found: &Found<'_>, record: &mut ThresholdRecord) {
    let op = found.op;
    if op.ok == 0 {
        if op.failed > 0 {
            record.status = GoalStatus::Fail;
            record.message = format!("all {} operations failed", op.failed);
        }
        return;
    }
    let limit_ms = threshold.limit.for_size(real(op.bytes) / real(op.ok));
    record.limit = Some(limit_ms);
    let times = op.response_or_service();
    let share = match threshold.metric {
        Metric::Quantile(share) => share,
        Metric::Mean => return plain(times.mean_ns().map(|ns| ns / 1e6), limit_ms, record),
        _ => return plain(ms(times.max_ns()), limit_ms, record),
    };
    let needs = PERCENTILES.iter().find(|p| p.quantile == share).map_or(0, |p| p.needs());
    record.value = ms(times.quantile_ns(share)).filter(|_| op.ok >= needs);
    let Some(beyond) = beyond(found, limit_ms) else { return };
    record_quantile(&found.batches.total(), share, &beyond, record);
    let decision = settle::against(&beyond, 1.0 - share, BEYOND);
    record.status = status(decision);
    let percent = |share: f64| format!("{:.3} %", share * 100.0);
    let failed = if op.failed > 0 { ", failures among them" } else { "" };
    record.message = format!(
        "{} of the requests took longer than {limit_ms:.3} ms{failed} ({} to {}); {} may",
        percent(beyond.share),
        percent(beyond.low),
        percent(beyond.high),
        percent(1.0 - share)
    );
    if decision == Decision::Undecided {
        let text = if beyond.effective * (1.0 - share) < BEYOND {
            format!("{} needs {needs} independent requests, there are {:.0}", record.metric, beyond.effective)
        } else {
            "both are possible: run longer".to_owned()
        };
        record.message = format!("{}; {text}", record.message);
    }
}

/// The order-statistic interval of the percentile itself.
fn record_quantile(total: &Batch, share: f64, beyond: &Share, record: &mut ThresholdRecord) {
    if record.value.is_some() {
        let (low, high) = settle::quantile_bounds(share, beyond.effective, 2.0 * CONFIDENCE - 1.0);
        record.low = ms(total.quantile_ns(low));
        record.high = ms(total.quantile_ns(high));
    }
}

/// The share of requests beyond the limit. Failures are beyond it, and so is what an open loop never finished; what a
/// closed loop has in flight at the end says nothing.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "limits are positive and below a century"
)]
fn beyond(found: &Found<'_>, limit_ms: f64) -> Option<Share> {
    let limit_ns = (limit_ms * 1e6) as u64;
    let batches = found.batches.batches();
    let total: Vec<u64> = batches.iter().map(|batch| batch.ok + batch.failed).collect();
    let beyond: Vec<u64> = batches.iter().map(|batch| batch.beyond(limit_ns) + batch.failed).collect();
    let share = settle::share(&total, &beyond, CONFIDENCE, SEED)?;
    if !matches!(found.work.load, Load::Open { .. }) {
        return Some(share);
    }
    let (ended, left) = (real(total.iter().sum()), real(found.op.unfinished));
    let with_left = |share: f64| (share * ended + left) / (ended + left);
    Some(Share {
        share: with_left(share.share),
        low: with_left(share.low),
        high: with_left(share.high),
        effective: share.effective,
    })
}

fn plain(value: Option<f64>, limit: f64, record: &mut ThresholdRecord) {
    record.value = value;
    let Some(value) = value else { return };
    record.status = if value <= limit { GoalStatus::Pass } else { GoalStatus::Fail };
    record.message = format!("{value:.3} ms; at most {limit:.3} ms");
}

/// What is asked of all operations together.
fn together(threshold: &Threshold, found: &[Found<'_>], record: &mut ThresholdRecord) {
    let limit = threshold.limit.for_size(0.0);
    record.limit = Some(limit);
    if threshold.metric == Metric::ErrorRate {
        return error_rate(found, limit, record);
    }
    let rate = |amount: fn(&OpSnapshot) -> u64| -> f64 {
        found.iter().filter(|f| f.window_s > 0.0).map(|f| real(amount(f.op)) / f.window_s).sum()
    };
    let value = if threshold.metric == Metric::Throughput { rate(|op| op.ok) } else { rate(|op| op.bytes) };
    record.value = Some(value);
    record.status = if value >= limit { GoalStatus::Pass } else { GoalStatus::Fail };
    let unit = if threshold.metric == Metric::Throughput { "/s" } else { " bytes/s" };
    record.message = format!("{value:.1}{unit}; at least {limit:.1}{unit}");
}

fn error_rate(found: &[Found<'_>], limit: f64, record: &mut ThresholdRecord) {
    let longest = found.iter().map(|f| f.batches.batches().len()).max().unwrap_or(0);
    let (mut total, mut failed) = (vec![0; longest], vec![0; longest]);
    for one in found {
        for ((total, failed), batch) in total.iter_mut().zip(&mut failed).zip(one.batches.batches()) {
            *total += batch.ok + batch.failed;
            *failed += batch.failed;
        }
    }
    let Some(share) = settle::share(&total, &failed, CONFIDENCE, SEED) else { return };
    record.value = Some(share.share);
    (record.low, record.high) = (Some(share.low), Some(share.high));
    let none_failed = found.iter().all(|one| one.op.failed == 0);
    let decision = match (limit > 0.0, none_failed) {
        (true, _) => settle::against(&share, limit, 0.0),
        // Nobody can prove that nothing ever fails; none did.
        (false, true) => Decision::Pass,
        (false, false) => Decision::Fail,
    };
    record.status = status(decision);
    record.message = format!(
        "{:.4} % failed ({:.4} to {:.4} %); at most {:.4} %{}",
        share.share * 100.0,
        share.low * 100.0,
        share.high * 100.0,
        limit * 100.0,
        if decision == Decision::Undecided { "; both are possible: run longer" } else { "" }
    );
}

#[cfg(test)]
mod tests;
