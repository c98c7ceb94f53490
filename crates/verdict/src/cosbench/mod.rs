//! What a reader must not believe of a run that COSBench made, recomputed from its own tables. Beside the rows of the
//! common table that its data allow there are five that come from how COSBench 0.4.2 counts (its classes Counter,
//! Histogram, Mark, Metrics and the operators).

mod ended;

use std::collections::BTreeMap;

use cosmark_archive::cosbench::{CosbenchOperation, CosbenchRun, CosbenchStage, LAST_BUCKET_MS};
use cosmark_archive::{Check, TimelineEntry, Verdict};
use cosmark_metrics::Latencies;
use cosmark_workload::model::{Stage, Work};
use cosmark_workload::reachability::{missing, read_bytes};
use cosmark_workload::{Environment, Format, Workload, parse_what_is_there};

use crate::checks::findings;
use crate::evidence::{ALL_WORKS, Evidence, OperationEvidence, Series, StoreEvidence, WorkEvidence};
use crate::finding::Finding;
use crate::from_archive::{is_special, miss_of};
use crate::judge::{check, named, verdict_of};
use crate::numbers::{grouped, percent, plain};

/// Rows of the common table that COSBench's tables have something for; of the others there is nothing to look at.
const KNOWN: &[&str] = &["V3", "V8", "V9", "V11", "V12", "V13", "V14", "V22", "V23", "V24"];

/// A check of COSBench's way of counting.
struct OwnCheck {
    id: &'static str,
    name: &'static str,
    look: fn(&StageView<'_>) -> Finding,
}

const OWN: &[OwnCheck] = &[
    OwnCheck { id: "C1", name: "workers_time", look: workers_time },
    OwnCheck { id: "C2", name: "summed_rates", look: summed_rates },
    OwnCheck { id: "C3", name: "timeline_sums", look: timeline_sums },
    OwnCheck { id: "C4", name: "coarse_percentiles", look: coarse_percentiles },
    OwnCheck { id: "C5", name: "silent_deletes", look: silent_deletes },
    OwnCheck { id: "C6", name: "missing_workers", look: ended::missing_workers },
    OwnCheck { id: "C7", name: "listings_sent", look: ended::listings_sent },
];

/// A stage with what belongs to it.
struct StageView<'a> {
    stage: &'a CosbenchStage,
    plan: Option<&'a Stage>,
    timeline: Vec<TimelineEntry>,
    /// Workers that reported, where the index file or a table of them tells.
    reported: Option<u64>,
    /// Misses that the workload predicts.
    misses: bool,
}

impl StageView<'_> {
    fn measured(&self) -> impl Iterator<Item = &CosbenchOperation> {
        self.stage.operations.iter().filter(|op| !is_special(&op.op))
    }

    /// Workers, where the workload or the index file tells.
    fn workers(&self) -> Option<u64> {
        self.planned_workers().or(self.reported)
    }

    fn planned_workers(&self) -> Option<u64> {
        let planned: u64 = self.plan?.works.iter().map(|work| u64::from(work.workers)).sum();
        (planned > 0).then_some(planned)
    }

    /// Seconds of the measured window where time ends the stage, else of the whole stage in whole seconds.
    fn window_s(&self) -> Option<f64> {
        self.runtime_s().or_else(|| self.stage.running_s())
    }

    /// Seconds of the runtime, where all works have the same and nothing but time has ended them.
    fn runtime_s(&self) -> Option<f64> {
        let works = &self.plan?.works;
        // What a total has ended before its time, or somebody cut, has not the length that was planned.
        let by_time = |work: &Work| work.total_ops.is_none() && work.total_bytes.is_none();
        let lasted = |work: &Work| {
            let planned_s = (work.rampup + work.runtime).as_secs_f64();
            self.stage.running_s().is_some_and(|seconds| seconds >= planned_s - 1.0)
        };
        let is_cut = matches!(self.stage.state.as_str(), "terminated" | "cancelled" | "aborted");
        if is_cut || !works.iter().all(|work| by_time(work) || lasted(work)) {
            return None;
        }
        let mut times = works.iter().map(|work| work.runtime.as_secs_f64());
        let first = times.next()?;
        (first > 0.0 && times.all(|time| (time - first).abs() < 1e-9)).then_some(first)
    }
}

/// All that can be said.
#[must_use]
pub fn judge_cosbench(run: &CosbenchRun) -> Verdict {
    let asked = run
        .config_xml
        .as_deref()
        .and_then(|text| parse_what_is_there(text, Format::Xml, &Environment::default()).0);
    let other_stages = ended::other_stages(run, asked.as_ref());
    let workload = asked.filter(|workload| ended::is_of(workload, run));
    let mut found = Vec::new();
    let mut any = false;
    for (index, stage) in run.stages.iter().enumerate() {
        let plan = workload.as_ref().and_then(|workload| workload.stages.get(index));
        if !ended::measures(stage, plan) {
            found.extend(ended::unmeasured(stage, plan));
            continue;
        }
        any = true;
        let mut view = StageView {
            stage,
            plan,
            timeline: run.timeline(stage).unwrap_or_default(),
            reported: ended::reported_workers(run, stage, plan),
            misses: false,
        };
        if stage.operations.is_empty() {
            found.extend(ended::without_figures(&view));
            continue;
        }
        let evidence = evidence_of(run, index, &view, workload.as_ref());
        view.misses = evidence.misses.as_ref().is_some_and(|misses| !misses.is_empty());
        found.extend(common(&evidence, &view));
        found.extend(OWN.iter().map(|own| named(own.id, own.name, Some(&stage.id), (own.look)(&view))));
    }
    if !any {
        found.extend(ended::nothing_measured(run));
    }
    found.extend(ended::cut_table(run));
    found.extend(other_stages);
    verdict_of(found)
}

fn common(evidence: &Evidence, view: &StageView<'_>) -> Vec<Check> {
    findings(evidence)
        .into_iter()
        .filter(|(row, _)| !matches!(row.id, "V15" | "V16" | "V17"))
        .map(|(row, finding)| {
            let finding = match row.id {
                "V9" => ended::cut_off(view).unwrap_or(finding),
                "V12" => ended::without_success(view).unwrap_or(finding),
                id if KNOWN.contains(&id) => finding,
                "V10" => Finding::unknown(
                    "COSBench counts only what begins and ends inside the window: the longest operations are missing, and \
                     the more of them there are the higher it reports the rate",
                ),
                _ => Finding::unknown("COSBench keeps nothing that would tell"),
            };
            check(row, Some(&view.stage.id), finding)
        })
        .collect()
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts fit 53 bits"
)]
fn failed_of(op: &CosbenchOperation) -> u64 {
    match op.success_ratio {
        Some(ratio) if ratio > 0.0 => (op.count as f64 * (1.0 / ratio - 1.0)).round().max(0.0) as u64,
        // All failed: the table does not say how many.
        Some(_) => 1,
        None => 0,
    }
}

/// Of a percentile beyond the last bucket the least that it can be.
fn times_of(op: &CosbenchOperation) -> Latencies {
    let least = |ms: Option<f64>| ms.map(|ms| if ms.is_finite() { ms } else { LAST_BUCKET_MS });
    Latencies {
        count: op.count,
        mean: op.response_ms,
        p60: least(op.p60_ms),
        p80: least(op.p80_ms),
        p90: least(op.p90_ms),
        p95: least(op.p95_ms),
        p99: least(op.p99_ms),
        max: least(op.max_ms),
        ..Latencies::default()
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn evidence_of(
    run: &CosbenchRun,
    index: usize,
    view: &StageView<'_>,
    workload: Option<&Workload>,
) -> Evidence {
    let counts = |stage: usize, work: usize, op: usize| {
        let works = &workload?.stages.get(stage)?.works;
        let before: usize = works.iter().take(work).map(|work| work.operations.len()).sum();
        let op = run.stages.get(stage)?.operations.get(before + op)?;
        (!is_special(&op.op)).then(|| (op.count + failed_of(op)) as f64)
    };
    let window_s = view.window_s().unwrap_or(0.0);
    let operations: Vec<OperationEvidence> = view
        .measured()
        .map(|op| OperationEvidence {
            work: ALL_WORKS.into(),
            name: op.label.clone(),
            kind: op.op.clone(),
            window_s,
            ok: op.count,
            failed: failed_of(op),
            bytes: op.bytes,
            response: times_of(op),
            service: times_of(op),
            ..OperationEvidence::default()
        })
        .collect();
    let works = view.plan.map(|plan| plan.works.as_slice()).unwrap_or_default();
    let mut kinds: Vec<String> = works.iter().map(|work| work.storage.kind.clone()).collect();
    kinds.dedup();
    Evidence {
        window_s,
        rampup_s: Some(works.iter().map(|work| work.rampup.as_secs_f64()).fold(0.0, f64::max)),
        works: vec![WorkEvidence {
            name: ALL_WORKS.into(),
            workers: view.workers().unwrap_or(0),
            window_s,
            ..WorkEvidence::default()
        }],
        operations,
        series: series_of(view).into_iter().collect(),
        drivers: 1,
        misses: workload.map(|workload| {
            missing(workload, Some(&counts)).iter().filter(|miss| miss.stage == index).map(miss_of).collect()
        }),
        store: StoreEvidence {
            kinds,
            read_bytes: workload.and_then(|workload| read_bytes(workload, index, Some(&counts))),
            ..StoreEvidence::default()
        },
        ..Evidence::default()
    }
}

/// Rates of the rows inside the window, of a stage with one work: with several, COSBench repeats rows of works that have
/// ended. A row of nothing before one of twice the rate is a snapshot that came late, not the store.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few rows")]
fn series_of(view: &StageView<'_>) -> Option<Series> {
    let [work] = view.plan?.works.as_slice() else { return None };
    let step_s = work.interval.as_secs_f64();
    let rows = |time: std::time::Duration| (time.as_secs_f64() / step_s).ceil() as usize;
    let inside = view.timeline.len().saturating_sub(rows(work.rampdown) + 1);
    let rates = view.timeline.iter().take(inside).skip(rows(work.rampup));
    let mut rates: Vec<f64> = rates
        .map(|row| row.operations.iter().map(|op| op.throughput_per_s).filter(|rate| rate.is_finite()).sum())
        .collect();
    for at in 1..rates.len() {
        let late = rates.get(at - 1).is_some_and(|before| *before == 0.0);
        let half = rates.get(at).map_or(0.0, |after| after / 2.0);
        if let Some(pair) = rates.get_mut(at - 1..=at).filter(|_| late) {
            pair.fill(half);
        }
    }
    let response_ms = vec![None; rates.len()];
    Some(Series { work: ALL_WORKS.into(), step_s, rate_per_s: rates, response_ms, ..Series::default() })
}

/// C1. Time of the workers against rate times mean: Little's law with what the tables have. Times are cut to whole
/// milliseconds before they are averaged, so the mean is up to 1 ms too small.
fn workers_time(view: &StageView<'_>) -> Finding {
    const LIMIT: f64 = 0.10;
    let Some(workers) = view.workers() else {
        return Finding::unknown("the number of workers is not known");
    };
    let Some(runtime_s) = view.runtime_s() else {
        return Finding::unknown("works of different length: their rates do not add up");
    };
    // Where the table has no rate (N/A, or one over no time), the count over the window is one.
    #[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
    let rate = |op: &CosbenchOperation| {
        op.throughput_per_s.filter(|rate| rate.is_finite()).unwrap_or(op.count as f64 / runtime_s)
    };
    let busy = |more_ms: f64| {
        view.measured().map(|op| rate(op) * (op.response_ms.unwrap_or(0.0) + more_ms) / 1000.0).sum::<f64>()
    };
    #[expect(clippy::cast_precision_loss, reason = "workers fit 53 bits")]
    let workers = workers as f64;
    let (least, most) = (1.0 - busy(1.0) / workers, 1.0 - busy(0.0) / workers);
    let numbers = format!(
        "{} workers, rate times mean response time accounts for {} of them",
        plain(workers),
        plain(busy(0.0))
    );
    if most < -0.02 {
        let message = format!("{numbers}: more than there are, so rates or times are wrong");
        return Finding::fail(most, LIMIT, message);
    }
    if least > LIMIT {
        let message = format!(
            "{numbers}, and with the millisecond that COSBench may cut from each time for {} at most: {} or more of the \
             workers' time is in no figure. Failed operations are in neither COSBench's mean nor its rate, and a slow client \
             does not show either",
            plain(busy(1.0)),
            percent(least)
        );
        return Finding::fail(least, LIMIT, message);
    }
    if most > LIMIT {
        return Finding::unknown(format!(
            "{numbers}; times are cut to whole milliseconds, which at this speed hides up to {} of the workers' time",
            percent(most - least.max(0.0))
        ));
    }
    Finding::pass(most.max(0.0), LIMIT, numbers)
}

/// C2. The published rate is a sum over workers, each over its own span.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn summed_rates(view: &StageView<'_>) -> Finding {
    let Some(runtime) = view.runtime_s() else {
        return Finding::unknown("no common runtime, so counts cannot be divided by a window");
    };
    let worst = view
        .measured()
        .filter(|op| op.count > 0)
        .filter_map(|op| {
            let published = op.throughput_per_s.filter(|rate| rate.is_finite())?;
            Some((op, published, op.count as f64 / runtime))
        })
        .max_by(|a, b| (a.1 / a.2).total_cmp(&(b.1 / b.2)));
    let Some((op, published, counted)) = worst else {
        return Finding::unknown("there are no rates");
    };
    let over = published / counted - 1.0;
    let numbers = format!(
        "{} is published with {}/s; its count over the window gives {}/s",
        op.label,
        plain(published),
        plain(counted)
    );
    if over > 0.10 {
        let message = format!("{numbers}: COSBench adds up rates of workers, each over its own shorter span");
        return Finding::fail(over, 0.10, message);
    }
    if over > 0.02 {
        return Finding::warn(over, 0.02, format!("{numbers}: {} too high", percent(over)));
    }
    Finding::pass(over.max(0.0), 0.02, numbers)
}

/// C3. Rows of the timeline against the table of results.
#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn timeline_sums(view: &StageView<'_>) -> Finding {
    if view.timeline.is_empty() {
        return Finding::unknown("the stage left no timeline");
    }
    let mut sums: BTreeMap<&str, (u64, bool)> = BTreeMap::new();
    for (at, row) in view.timeline.iter().enumerate() {
        for (k, op) in row.operations.iter().enumerate() {
            let same = |row: &TimelineEntry| {
                row.operations.get(k).is_some_and(|before| before == op && op.count > 0)
            };
            let repeated = at.checked_sub(1).and_then(|before| view.timeline.get(before)).is_some_and(same);
            let entry = sums.entry(op.label.as_str()).or_default();
            entry.0 += op.count;
            entry.1 |= repeated;
        }
    }
    let twice = view.measured().find_map(|op| {
        let (sum, repeated) = sums.get(op.label.as_str()).copied()?;
        (repeated && sum > op.count).then_some((op, sum))
    });
    if let Some((op, sum)) = twice {
        let message = format!(
            "rows of the timeline must not be added: {} gives {} there and {} in the results, because COSBench repeats the \
             last row of a work that has ended",
            op.label,
            grouped(sum),
            grouped(op.count)
        );
        return Finding::warn(sum as f64 / op.count as f64 - 1.0, 0.0, message);
    }
    let left_out = view.timeline.iter().filter(|row| row.operations.is_empty()).count();
    if left_out > 0 {
        return Finding::unknown(format!(
            "{left_out} of {} rows of the timeline lack works and do not say which: what was done in them is not known",
            view.timeline.len()
        ));
    }
    let lacks = view.measured().find(|op| {
        sums.get(op.label.as_str()).is_some_and(|(sum, _)| (*sum as f64) < 0.95 * op.count as f64)
    });
    if let Some(op) = lacks {
        let sum = sums.get(op.label.as_str()).map_or(0, |(sum, _)| *sum);
        let message = format!(
            "the timeline has {} of {}, the results {}: COSBench's timeline lacks the end of the stage",
            grouped(sum),
            op.label,
            grouped(op.count)
        );
        return Finding::warn(1.0 - sum as f64 / op.count as f64, 0.05, message);
    }
    Finding::pass(0.0, 0.0, "the timeline, ramps included, has at least what the results have")
}

/// C4. Percentiles are upper edges of buckets of 10 ms.
fn coarse_percentiles(view: &StageView<'_>) -> Finding {
    const BUCKET_MS: f64 = 10.0;
    let all =
        || view.measured().flat_map(|op| [op.p60_ms, op.p80_ms, op.p90_ms, op.p95_ms, op.p99_ms]).flatten();
    if all().next().is_none() {
        return Finding::unknown("there are no percentiles");
    }
    if all().any(|value| value.is_finite() && (value % BUCKET_MS).abs() > 1e-6) {
        return Finding::pass(0.0, 0.2, "percentiles are not rounded to 10 ms");
    }
    let worst = view
        .measured()
        .filter_map(|op| op.p99_ms.filter(|p99| *p99 > 0.0 && p99.is_finite()).map(|p99| (op, p99)))
        .min_by(|a, b| a.1.total_cmp(&b.1));
    let Some((op, p99)) = worst else {
        return Finding::unknown("there are no percentiles below COSBench's last bucket");
    };
    let mean = op.response_ms.map(|mean| format!(" (mean {} ms)", plain(mean))).unwrap_or_default();
    let share = BUCKET_MS / p99;
    let message = format!(
        "percentiles are upper edges of buckets of 10 ms: a p99 of {} ms for {}{mean} lies anywhere from {} to {} ms",
        plain(p99),
        op.label,
        plain(p99 - BUCKET_MS),
        plain(p99)
    );
    if share > 0.2 { Finding::warn(share, 0.2, message) } else { Finding::pass(share, 0.2, message) }
}

/// C5. COSBench's deleter reports every failure of the store as a success.
fn silent_deletes(view: &StageView<'_>) -> Finding {
    let Some(op) = view.measured().find(|op| op.op == "delete") else {
        return Finding::does_not_apply("nothing was deleted");
    };
    let known = if view.misses { "; the workload predicts some" } else { "" };
    Finding::unknown(format!(
        "COSBench counts a delete that the store refused as a success: that all of {} succeeded says nothing{known}",
        op.label
    ))
}
