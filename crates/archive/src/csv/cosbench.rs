//! The rows of COSBench's tables. Header lines and columns: COSBench 0.4.2's exporters; what differs is listed in
//! `docs/reference/archive.md`.

use std::io::{self, Write};

use cosmark_metrics::{Latency, OpSnapshot};
use jiff::{Timestamp, tz::TimeZone};

use crate::csv::layout::StageLayout;
use crate::csv::line::push_line;
use crate::csv::number::{NOT_AVAILABLE, ms, percent, rate};
use crate::{OperationResult, RunRecord, StageRecord};

/// First line of `run-history.csv`.
pub const HISTORY_HEAD: &str = "Id,Name,Submitted-At,Started-At,Stopped-At,Op-Info,State,Detailed State\n";

/// First line of `workloads.csv`.
pub const WORKLOADS_HEAD: &str = "Id,Op-Name,Op-Count,Byte-Count,Worker-Count,Avg-ResTime,Avg-ProcTime,60%-ResTime,\
80%-ResTime,90%-ResTime,95%-ResTime,99%-ResTime,100%-ResTime,Throughput,Bandwidth,Succ-Ratio,Config-Info\n";

/// First line of `w<N>-<name>.csv`.
pub const SUMMARY_HEAD: &str = "Stage,Op-Name,Op-Type,Op-Count,Byte-Count,Avg-ResTime,Avg-ProcTime,60%-ResTime,\
80%-ResTime,90%-ResTime,95%-ResTime,99%-ResTime,100%-ResTime,Throughput,Bandwidth,Succ-Ratio,Status,\
Detailed Status\n";

/// The blocks of columns of a timeline.
pub const TIMELINE_METRICS: [&str; 7] =
    ["Op-Count", "Byte-Count", "Avg-ResTime", "Avg-ProcTime", "Throughput", "Bandwidth", "Succ-Ratio"];

/// Width of a bucket of the response-time histogram.
const BUCKET_NS: u64 = 10_000_000;
/// Buckets below 500 s; one more holds the rest.
const BUCKETS: usize = 50_000;

/// What happened in one interval of a stage.
#[derive(Debug, Clone)]
pub struct TimelineRow<'a> {
    /// End of the interval.
    pub ended: Timestamp,
    /// Its length in seconds.
    pub seconds: f64,
    /// One entry per operation of the stage, work by work: what ended in this interval, over all drivers.
    pub operations: Vec<&'a OpSnapshot>,
}

/// Response times of the operations of one stage, work by work; for the response-time histogram.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StageTables {
    /// One entry per operation; empty when the stage never ran.
    pub operations: Vec<OperationBuckets>,
}

/// Response times in COSBench's buckets of 10 ms, of which only the filled ones are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperationBuckets {
    filled: Vec<(u32, u64)>,
}

impl StageTables {
    /// From the merged sums of all operations of a stage over their measured windows.
    #[must_use]
    pub fn of<'a>(operations: impl IntoIterator<Item = &'a OpSnapshot>) -> Self {
        Self { operations: operations.into_iter().map(OperationBuckets::of).collect() }
    }
}

impl OperationBuckets {
    /// From the merged sums of one operation.
    #[must_use]
    pub fn of(op: &OpSnapshot) -> Self {
        Self::of_times(op.response_or_service())
    }

    fn of_times(times: &Latency) -> Self {
        let counts = times.buckets(BUCKET_NS, BUCKETS);
        Self { filled: (0..).zip(counts).filter(|(_, count)| *count > 0).collect() }
    }

    fn total(&self) -> u64 {
        self.filled.iter().map(|(_, count)| count).sum()
    }
}

/// The two header lines of a stage's timeline.
pub fn timeline_head(stage: &StageLayout) -> Vec<u8> {
    let labels: Vec<_> = stage.operations().map(|(_, op)| op.label.as_str()).collect();
    let mut first = vec!["Timestamp"];
    let mut second = vec![""];
    for metric in TIMELINE_METRICS {
        first.push(metric);
        first.extend(labels.iter().skip(1).map(|_| ""));
        second.extend(&labels);
    }
    first.extend(["Version-Info", "", ""]);
    second.extend(["Min-Version", "Version", "Max-Version"]);
    let mut text = Vec::new();
    push_line(&mut text, first);
    push_line(&mut text, second);
    text
}

/// One line of a stage's timeline, the `number`-th from 0. `operations` fits the stage.
pub fn timeline_line(stage: &StageLayout, row: &TimelineRow<'_>, number: u64, zone: &TimeZone) -> Vec<u8> {
    let nothing = OpSnapshot::default();
    let ops: Vec<_> = stage
        .operations()
        .zip(&row.operations)
        .map(|((_, names), op)| if names.silent { &nothing } else { *op })
        .collect();
    let mean = |times: &Latency| times.mean_ns().map(|ns| ns / 1e6);
    let processing =
        |op: &OpSnapshot| if op.first_byte.count() > 0 { mean(&op.first_byte) } else { mean(&op.service) };
    #[expect(clippy::cast_precision_loss, reason = "rates and ratios need no more than 53 bits")]
    let per_s = |amount: u64| (row.seconds > 0.0).then(|| amount as f64 / row.seconds);
    #[expect(clippy::cast_precision_loss, reason = "rates and ratios need no more than 53 bits")]
    let ratio = |op: &OpSnapshot| (op.total() > 0).then(|| op.ok as f64 / op.total() as f64);
    let mut fields = vec![row.ended.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string()];
    fields.extend(ops.iter().map(|op| op.ok.to_string()));
    fields.extend(ops.iter().map(|op| op.bytes.to_string()));
    fields.extend(ops.iter().map(|op| ms(mean(op.response_or_service()))));
    fields.extend(ops.iter().map(|op| ms(processing(op))));
    fields.extend(ops.iter().map(|op| rate(per_s(op.ok))));
    fields.extend(ops.iter().map(|op| rate(per_s(op.bytes))));
    fields.extend(ops.iter().map(|op| percent(ratio(op))));
    fields.extend([(); 3].map(|()| number.to_string()));
    let mut text = Vec::new();
    push_line(&mut text, fields);
    text
}

/// `w<N>-<name>.csv`.
pub fn summary(record: &RunRecord, layout: &[StageLayout], zone: &TimeZone) -> Vec<u8> {
    let mut text = SUMMARY_HEAD.as_bytes().to_vec();
    for (stage, names) in record.stages.iter().zip(layout) {
        let status = status_fields(stage, zone);
        if stage.operations.is_empty() {
            let mut fields = vec![stage.name.clone()];
            fields.extend([(); 15].map(|()| NOT_AVAILABLE.to_owned()));
            push_line(&mut text, fields.iter().chain(&status));
        }
        for (operation, (_, op)) in stage.operations.iter().zip(names.operations()) {
            let mut fields = vec![stage.id.clone(), op.label.clone(), op.op.to_string()];
            let (counts, values) = result_fields(operation, op.silent);
            fields.extend(counts);
            fields.extend(values);
            push_line(&mut text, fields.iter().chain(&status));
        }
    }
    text
}

/// Lines of `workloads.csv`.
pub fn workloads_lines(record: &RunRecord, layout: &[StageLayout]) -> Vec<u8> {
    let mut text = Vec::new();
    for (stage, names) in record.stages.iter().zip(layout) {
        for (n, (operation, (work, op))) in (1..).zip(stage.operations.iter().zip(names.operations())) {
            let (counts, values) = result_fields(operation, op.silent);
            let mut fields = vec![format!("{}-{}-{n}", record.id, stage.id), op.label.clone()];
            fields.extend(counts);
            fields.push(work.workers.to_string());
            fields.extend(values);
            fields.push(op.config_info.clone());
            push_line(&mut text, fields);
        }
    }
    text
}

/// The line of `run-history.csv`.
pub fn history_line(record: &RunRecord, layout: &[StageLayout], zone: &TimeZone) -> Vec<u8> {
    let when = |at: Option<Timestamp>| at.map_or_else(|| NOT_AVAILABLE.to_owned(), |at| date(at, zone));
    let mut kinds = Vec::<&str>::new();
    for stage in layout {
        let none = stage.works.is_empty().then_some("delay");
        for kind in stage.operations().map(|(_, op)| &*op.op).chain(none) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    let mut fields = vec![
        record.id.clone(),
        record.name.clone(),
        when(record.submitted),
        when(record.started),
        when(record.ended),
        kinds.join(" "),
        record.state.word().to_owned(),
    ];
    let detailed =
        [("queuing", record.submitted), ("processing", record.started), (record.state.word(), record.ended)];
    fields
        .extend(detailed.iter().filter_map(|(word, at)| at.map(|at| format!("{word} @ {}", date(at, zone)))));
    let mut text = Vec::new();
    push_line(&mut text, fields);
    text
}

/// Op-Count and Byte-Count, then Avg-ResTime to Succ-Ratio.
fn result_fields(operation: &OperationResult, silent: bool) -> ([String; 2], [String; 11]) {
    if silent {
        let n = || NOT_AVAILABLE.to_owned();
        let zero = || "0".to_owned();
        return ([zero(), zero()], [n(), n(), n(), n(), n(), n(), n(), n(), zero(), zero(), n()]);
    }
    let response = &operation.response_ms;
    (
        [operation.ok.to_string(), operation.bytes.to_string()],
        [
            ms(response.mean),
            ms(operation.first_byte_ms.mean.or(operation.service_ms.mean)),
            ms(response.p60),
            ms(response.p80),
            ms(response.p90),
            ms(response.p95),
            ms(response.p99),
            ms(response.max),
            rate(operation.throughput_per_s),
            rate(operation.bandwidth_bytes_per_s),
            percent(operation.success_ratio),
        ],
    )
}

/// Status, then one field per state.
fn status_fields(stage: &StageRecord, zone: &TimeZone) -> Vec<String> {
    let mut fields = vec![stage.state.word().to_owned()];
    fields.extend(
        stage.history.iter().map(|change| format!("{} @ {}", change.state.word(), date(change.at, zone))),
    );
    fields
}

fn date(at: Timestamp, zone: &TimeZone) -> String {
    at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// `w<N>-<name>-rt-histogram.csv`: one pair of columns per operation that had a success.
pub fn write_histogram(
    out: &mut dyn Write,
    layout: &[StageLayout],
    tables: &[StageTables],
) -> io::Result<()> {
    struct Column<'a> {
        rest: std::iter::Peekable<std::slice::Iter<'a, (u32, u64)>>,
        total: u64,
        so_far: u64,
        /// `,0,99.97%`: what the column shows in a row without a new count.
        repeated: String,
    }
    let mut head = vec!["ResTime"];
    let mut columns = Vec::new();
    for (stage, table) in layout.iter().zip(tables) {
        for ((_, names), buckets) in stage.operations().zip(&table.operations) {
            let total = buckets.total();
            if names.silent || total == 0 {
                continue;
            }
            head.extend([names.histogram_label.as_str(), "(%)"]);
            let rest = buckets.filled.iter().peekable();
            columns.push(Column { rest, total, so_far: 0, repeated: ",0,0%".to_owned() });
        }
    }
    let mut line = Vec::new();
    push_line(&mut line, head);
    out.write_all(&line)?;
    for bucket in 0..=BUCKETS {
        let from = bucket * 10;
        if bucket < BUCKETS {
            write!(out, "{from}~{}", from + 10)?;
        } else {
            write!(out, "{from}~+INF")?;
        }
        for column in &mut columns {
            let Some((_, count)) = column.rest.next_if(|(at, _)| *at as usize == bucket) else {
                out.write_all(column.repeated.as_bytes())?;
                continue;
            };
            column.so_far += count;
            #[expect(clippy::cast_precision_loss, reason = "a ratio needs no more than 53 bits")]
            let share = percent(Some(column.so_far as f64 / column.total as f64));
            write!(out, ",{count},{share}")?;
            column.repeated = format!(",0,{share}");
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}
