//! Whether a stage reached its thresholds: each one met, missed or not decided.

use cosmark_archive::{GoalStatus, ThresholdRecord};
use cosmark_metrics::results::{Amount, Metric, Statistic};
use cosmark_metrics::{OpSnapshot, PERCENTILES};
use cosmark_stats::batches::{Batch, Batches};
use cosmark_stats::bootstrap::{self, estimate};
use cosmark_stats::settle::{self, BEYOND, Decision, Share};
use cosmark_stats::special::t_critical;
use cosmark_workload::model::{Load, Operation, Stage, Work, WorkKind};
use cosmark_workload::threshold::Threshold;

use crate::search::Excess;

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

    /// All operations together.
    #[must_use]
    pub fn total(&self) -> OpSnapshot {
        let mut sum = OpSnapshot::default();
        self.works.iter().flat_map(|work| &work.ops).for_each(|op| sum.merge(op));
        sum
    }

    /// What all works did per second, each over its own window; `None` without a window.
    #[must_use]
    pub fn per_s(&self, amount: impl Fn(&OpSnapshot) -> u64) -> Option<f64> {
        let timed = || self.works.iter().filter(|work| work.window_s > 0.0);
        let own = |work: &MeasuredWork| real(work.ops.iter().map(&amount).sum()) / work.window_s;
        timed().next()?;
        Some(timed().map(own).sum())
    }

    /// Operations of the works that are `wanted`.
    pub fn of_works<'a>(
        &'a self,
        stage: &'a Stage,
        wanted: impl Fn(&Work) -> bool + 'a,
    ) -> impl Iterator<Item = &'a OpSnapshot> {
        let works = stage.works.iter().zip(&self.works).filter(move |(work, _)| wanted(work));
        works.flat_map(|(_, measured)| &measured.ops)
    }

    /// Seconds of the longest window.
    #[must_use]
    pub fn longest_s(&self) -> f64 {
        self.works.iter().map(|work| work.window_s).fold(0.0, f64::max)
    }
}

impl Measured {
    /// Mean response time in seconds, interval by interval, of all that succeeded, and the seconds of an interval; `None`
    /// where an interval had no success or there are too few.
    #[must_use]
    pub fn response_over_time(&self) -> Option<(Vec<f64>, f64)> {
        const LEAST: usize = 8;
        let batches: Vec<&Batches> = self.works.iter().flat_map(|work| &work.batches).collect();
        let first = batches.first()?;
        let at = |index: usize| -> Option<f64> {
            let parts = batches.iter().filter_map(|one| one.batches().get(index));
            let known = parts.filter_map(|batch| Some((batch.mean_ns()?, real(batch.ok))));
            let (sum, count) = known.fold((0.0, 0.0), |(sum, n), (mean, ok)| (sum + mean * ok, n + ok));
            (count > 0.0).then(|| sum / count / 1e9)
        };
        let times: Vec<f64> = (0..first.batches().len()).map(at).collect::<Option<_>>()?;
        (times.len() >= LEAST).then_some((times, real(first.width_ns()) / 1e9))
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

/// A threshold that was judged.
pub struct Judgement {
    pub record: ThresholdRecord,
    /// By how much it is certainly missed; of use only where it is.
    pub excess: Excess,
    /// How many times as much data would decide it, about; `None` where it is decided, or nobody can tell.
    pub lacks: Option<f64>,
    /// It is not decided because a percentile needs more requests than there are, and not because both are possible.
    pub is_starved: bool,
}

/// How many times as much data narrows an interval so far that the limit lies outside of it. Beyond this it is no advice.
const MOST_LACKS: f64 = 100.0;

/// Widths of intervals fall with the root of the data.
fn lacks(record: &ThresholdRecord, samples: Option<(f64, f64)>) -> Option<f64> {
    if record.status != GoalStatus::NotDecided {
        return None;
    }
    if let Some((needs, has)) = samples.filter(|(needs, has)| needs > has && *has > 0.0) {
        return Some(needs / has).filter(|factor| *factor < MOST_LACKS);
    }
    let (value, limit) = (record.value?, record.limit?);
    let half = (record.high? - value).max(value - record.low?);
    let off = (value - limit).abs().max(f64::MIN_POSITIVE);
    Some((half / off).powi(2)).filter(|factor| *factor > 1.0 && *factor < MOST_LACKS)
}

/// Judges every threshold of a stage.
#[must_use]
pub fn judge(stage: &Stage, stage_id: &str, measured: &Measured) -> Vec<ThresholdRecord> {
    judgements(stage, stage_id, measured).into_iter().map(|one| one.record).collect()
}

/// The same, with how far a threshold is missed.
#[must_use]
pub fn judgements(stage: &Stage, stage_id: &str, measured: &Measured) -> Vec<Judgement> {
    let mut judged = Vec::new();
    for threshold in &stage.thresholds {
        let found = found(stage, threshold, measured);
        let blank = |one: Option<&Found<'_>>| ThresholdRecord {
            stage: stage_id.to_owned(),
            operation: one
                .map_or_else(|| threshold.operation.clone(), |one| Some(one.operation.name.clone())),
            work: one.map(|one| one.work.name.clone()),
            threshold: threshold.text.clone(),
            metric: threshold.metric.names.threshold.to_owned(),
            unit: threshold.metric.unit.word().to_owned(),
            value: None,
            low: None,
            high: None,
            limit: None,
            status: GoalStatus::NotDecided,
            message: "nothing was measured".to_owned(),
        };
        if !is_summed(threshold.metric) && !found.is_empty() {
            for one in &found {
                let mut record = blank(Some(one));
                let excess = time(threshold, one, &mut record);
                let samples = samples(threshold, one, &record);
                let lacks = lacks(&record, samples);
                let is_starved = record.status == GoalStatus::NotDecided
                    && samples.is_some_and(|(needs, has)| needs > has);
                judged.push(Judgement { record, excess, lacks, is_starved });
            }
        } else {
            let mut record = blank(None);
            let excess =
                if found.is_empty() { Excess::Share(0.0) } else { together(threshold, &found, &mut record) };
            let lacks = lacks(&record, None);
            judged.push(Judgement { record, excess, lacks, is_starved: false });
        }
    }
    judged
}

/// What all operations of a stage do together is asked of them together; everything else of each.
fn is_summed(metric: &Metric) -> bool {
    matches!(metric.statistic, Statistic::Rate(_) | Statistic::Failures)
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

/// A response time of one operation, and what is in excess.
fn time(threshold: &Threshold, found: &Found<'_>, record: &mut ThresholdRecord) -> Excess {
    let op = found.op;
    if op.ok == 0 {
        if op.failed > 0 {
            record.status = GoalStatus::Fail;
            record.message = format!("all {} operations failed", op.failed);
            return Excess::Share(1.0);
        }
        return Excess::Share(0.0);
    }
    let limit_ms = threshold.limit.for_size(real(op.bytes) / real(op.ok));
    record.limit = Some(limit_ms);
    let times = op.response_or_service();
    let share = match threshold.metric.statistic {
        Statistic::Quantile(share) => share,
        Statistic::Mean => {
            return mean(found, times.mean_ns().map(|ns| ns / 1e6), limit_ms, record);
        }
        _ => return plain(threshold.metric, found, limit_ms, record),
    };
    let needs = PERCENTILES.iter().find(|p| p.quantile == share).map_or(0, |p| p.needs());
    record.value = ms(times.quantile_ns(share)).filter(|_| op.ok >= needs);
    let Some(beyond) = beyond(found, limit_ms) else { return Excess::Share(0.0) };
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
            // As people write it.
            let metric = record.metric.replace("p99_", "p99.");
            format!("{metric} needs {needs} independent requests, there are {:.0}", beyond.effective)
        } else {
            "both are possible: run longer".to_owned()
        };
        record.message = format!("{}; {text}", record.message);
    }
    if decision == Decision::Fail {
        in_excess(found, limit_ms, 1.0 - share)
    } else {
        Excess::Beyond(Vec::new())
    }
}

/// Independent requests that a percentile needs at least, and as many as there are.
fn samples(threshold: &Threshold, found: &Found<'_>, record: &ThresholdRecord) -> Option<(f64, f64)> {
    let Statistic::Quantile(share) = threshold.metric.statistic else { return None };
    let beyond = beyond(found, record.limit?)?;
    Some((BEYOND / (1.0 - share), beyond.effective))
}

/// What would be in excess of longer and longer limits, until nothing is.
fn in_excess(found: &Found<'_>, limit_ms: f64, allowed: f64) -> Excess {
    const STEPS: i32 = 24;
    let first_ms = (limit_ms / 4.0).max(0.01);
    let margins = std::iter::once(0.0).chain((0..STEPS).map(|step| first_ms * 2.0_f64.powi(step)));
    let parts = margins.map_while(|margin_ms| {
        let low = beyond(found, limit_ms + margin_ms)?.low;
        (low > allowed).then_some((margin_ms, low - allowed))
    });
    Excess::Beyond(parts.collect())
}

/// The order-statistic interval of the percentile itself.
fn record_quantile(total: &Batch, share: f64, beyond: &Share, record: &mut ThresholdRecord) {
    if record.value.is_some() {
        let (low, high) = settle::quantile_bounds(share, beyond.effective, 2.0 * CONFIDENCE - 1.0);
        record.low = ms(total.quantile_ns(low));
        record.high = ms(total.quantile_ns(high));
    }
}

/// The share of requests beyond the limit. Failures are beyond it, and so is what an open loop had not finished when the
/// window ended and was older than the limit then; of what was younger nobody knows. What a closed loop has in flight at the
/// end says nothing.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "limits are positive and below a century"
)]
fn beyond(found: &Found<'_>, limit_ms: f64) -> Option<Share> {
    let limit_ns = (limit_ms * 1e6) as u64;
    let batches = found.batches.batches();
    let mut total: Vec<u64> = batches.iter().map(|batch| batch.ok + batch.failed).collect();
    let mut beyond: Vec<u64> = batches.iter().map(|batch| batch.beyond(limit_ns) + batch.failed).collect();
    if matches!(found.work.load, Load::Open { .. })
        && let (Some(total), Some(beyond)) = (total.last_mut(), beyond.last_mut())
    {
        let ages = &found.op.unfinished_age;
        let young = ages.filled().map_or(0, |ages| ages.count_between(0, limit_ns));
        let left = found.op.unfinished.saturating_sub(young);
        *total += left;
        *beyond += left;
    }
    settle::share(&total, &beyond, CONFIDENCE, SEED)
}

/// A figure of which only the value is known.
fn plain(metric: &Metric, found: &Found<'_>, limit: f64, record: &mut ThresholdRecord) -> Excess {
    record.value = metric.of_sums(found.op, found.window_s);
    let Some(value) = record.value else { return Excess::Most(0.0) };
    let (unit, more) = (metric.unit.sign(), metric.more_is_better());
    record.status = if (more && value >= limit) || (!more && value <= limit) {
        GoalStatus::Pass
    } else {
        GoalStatus::Fail
    };
    record.message = format!("{value:.3}{unit}; at {} {limit:.3}{unit}", if more { "least" } else { "most" });
    Excess::Most(if more { limit - value } else { value - limit })
}

/// What is asked of all operations together, and what is in excess.
fn together(threshold: &Threshold, found: &[Found<'_>], record: &mut ThresholdRecord) -> Excess {
    let limit = threshold.limit.for_size(0.0);
    record.limit = Some(limit);
    if threshold.metric.statistic == Statistic::Failures {
        return error_rate(found, limit, record);
    }
    let throughput = threshold.metric.statistic == Statistic::Rate(Amount::Operations);
    let amount = |ok: u64, bytes: u64| real(if throughput { ok } else { bytes });
    let own = |f: &&Found<'_>| amount(f.op.ok, f.op.bytes) / f.window_s;
    let value: f64 = found.iter().filter(|f| f.window_s > 0.0).map(|f| own(&f)).sum();
    let series = over_time(found, |batch| amount(batch.ok, batch.bytes));
    let unit = if throughput { "/s" } else { " bytes/s" };
    interval(value, &series, record, |weights| weighted(&series, weights).map(|mean| value * mean));
    let (low, high) = (record.low.unwrap_or(value), record.high.unwrap_or(value));
    record.value = Some(value);
    record.status = status(if low >= limit {
        Decision::Pass
    } else if high < limit {
        Decision::Fail
    } else {
        Decision::Undecided
    });
    record.message = format!("{value:.1}{unit}{}; at least {limit:.1}{unit}{}", span(record), more(record));
    Excess::Share(if limit > 0.0 { 1.0 - high / limit } else { 0.0 })
}

/// What all of them did together, interval by interval, each as a share of the mean.
fn over_time(found: &[Found<'_>], amount: impl Fn(&Batch) -> f64) -> Vec<f64> {
    let longest = found.iter().map(|f| f.batches.batches().len()).max().unwrap_or(0);
    let mut sums = vec![0.0; longest];
    for one in found {
        for (sum, each) in sums.iter_mut().zip(one.batches.per_width(&amount)) {
            *sum += each;
        }
    }
    let mean = bootstrap::mean(&sums);
    if mean > 0.0 { sums.iter().map(|sum| sum / mean).collect() } else { Vec::new() }
}

/// Mean of a series whose parts count so often.
fn weighted(series: &[f64], weights: &[u32]) -> Option<f64> {
    let count: f64 = weights.iter().map(|w| f64::from(*w)).sum();
    let sum: f64 = series.iter().zip(weights).map(|(x, w)| x * f64::from(*w)).sum();
    (count > 0.0).then(|| sum / count)
}

/// Puts the interval around `value` into the record: what `statistic` says of resampled intervals of time. None where there
/// are too few of them.
fn interval(
    value: f64,
    series: &[f64],
    record: &mut ThresholdRecord,
    statistic: impl FnMut(&[u32]) -> Option<f64>,
) {
    let Some(found) = estimate(series, SEED, statistic) else { return };
    let half = t_critical(2.0 * (1.0 - CONFIDENCE), found.degrees) * found.error;
    (record.low, record.high) = (Some(value - half), Some(value + half));
}

fn span(record: &ThresholdRecord) -> String {
    match (record.low, record.high) {
        (Some(low), Some(high)) => format!(" ({low:.3} to {high:.3})"),
        _ => String::new(),
    }
}

fn more(record: &ThresholdRecord) -> &'static str {
    if record.status == GoalStatus::NotDecided { "; both are possible: run longer" } else { "" }
}

/// A mean response time, with the interval that its memory from one interval of time to the next allows.
fn mean(found: &Found<'_>, value: Option<f64>, limit: f64, record: &mut ThresholdRecord) -> Excess {
    let Some(value) = value else { return Excess::Mean(0.0) };
    let parts: Vec<(f64, f64)> = found
        .batches
        .batches()
        .iter()
        .map(|batch| (real(batch.ok), batch.mean_ns().map_or(0.0, |ns| ns / 1e6)))
        .collect();
    let residuals: Vec<f64> = parts.iter().map(|(ok, mean)| ok * (mean - value)).collect();
    let of = |weights: &[u32]| {
        let each = || parts.iter().zip(weights).map(|((ok, mean), w)| (ok * f64::from(*w), *mean));
        let count: f64 = each().map(|(count, _)| count).sum();
        (count > 0.0).then(|| each().map(|(count, mean)| count * mean).sum::<f64>() / count)
    };
    interval(value, &residuals, record, of);
    record.value = Some(value);
    let (low, high) = (record.low.unwrap_or(value), record.high.unwrap_or(value));
    record.status = status(if high <= limit {
        Decision::Pass
    } else if low > limit {
        Decision::Fail
    } else {
        Decision::Undecided
    });
    record.message = format!("{value:.3} ms{}; at most {limit:.3} ms{}", span(record), more(record));
    Excess::Mean(low - limit)
}

fn error_rate(found: &[Found<'_>], limit: f64, record: &mut ThresholdRecord) -> Excess {
    let longest = found.iter().map(|f| f.batches.batches().len()).max().unwrap_or(0);
    let (mut total, mut failed) = (vec![0; longest], vec![0; longest]);
    for one in found {
        for ((total, failed), batch) in total.iter_mut().zip(&mut failed).zip(one.batches.batches()) {
            *total += batch.ok + batch.failed;
            *failed += batch.failed;
        }
    }
    let Some(share) = settle::share(&total, &failed, CONFIDENCE, SEED) else { return Excess::Share(0.0) };
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
    Excess::Share((share.low - limit).max(0.0))
}

#[cfg(test)]
mod tests;
