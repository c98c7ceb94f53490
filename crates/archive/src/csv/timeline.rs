//! `<stage>.csv`, the timeline of a stage as COSBench writes it, read.

use std::path::Path;

use crate::ArchiveError;
use crate::cosbench::commas;
use crate::cosbench::fields::{count, number, ratio};
use crate::csv::cosbench::TIMELINE_METRICS;
use crate::csv::line::read_records;

/// One interval of a stage's timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineEntry {
    /// End of the interval, local time `HH:mm:ss` of the machine that ran it.
    pub time: String,
    /// One entry per operation of the stage, in order.
    pub operations: Vec<TimelineValue>,
}

/// What one operation did in one interval.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimelineValue {
    /// Op-Name.
    pub label: String,
    /// Successes.
    pub count: u64,
    /// Their body bytes.
    pub bytes: u64,
    /// Mean response time; `None` when nothing succeeded.
    pub response_ms: Option<f64>,
    /// Mean time to first byte; `None` when nothing succeeded.
    pub processing_ms: Option<f64>,
    /// Successes per second.
    pub throughput_per_s: f64,
    /// Body bytes per second.
    pub bandwidth_bytes_per_s: f64,
    /// 0 to 1; `None` when nothing ended.
    pub success_ratio: Option<f64>,
}

/// Reads a timeline, COSBench's own included.
pub(crate) fn read_timeline(path: &Path) -> Result<Vec<TimelineEntry>, ArchiveError> {
    let mut labels = Vec::new();
    let mut entries = Vec::new();
    let mut seen = 0_u64;
    read_records(path, |_, record| {
        seen += 1;
        let fields: Vec<&str> = record.iter().collect();
        match seen {
            1 => check_head(&fields),
            2 => {
                labels = labels_of(&fields)?;
                Ok(())
            }
            _ => {
                entries.push(parse_row(&labels, &fields)?);
                Ok(())
            }
        }
    })?;
    Ok(entries)
}

fn check_head(fields: &[&str]) -> Result<(), String> {
    let named = fields.iter().filter(|field| !field.is_empty());
    let expected = ["Timestamp"].iter().chain(&TIMELINE_METRICS).chain(&["Version-Info"]);
    if named.eq(expected) { Ok(()) } else { Err("not the header of a timeline".to_owned()) }
}

fn labels_of(fields: &[&str]) -> Result<Vec<String>, String> {
    let columns = fields.len().saturating_sub(4);
    if columns == 0 || !columns.is_multiple_of(TIMELINE_METRICS.len()) {
        return Err(format!("{} columns do not make a timeline", fields.len()));
    }
    Ok(fields
        .iter()
        .skip(1)
        .take(columns / TIMELINE_METRICS.len())
        .map(|label| (*label).to_owned())
        .collect())
}

fn parse_row(labels: &[String], fields: &[&str]) -> Result<TimelineEntry, String> {
    let expected = labels.len() * TIMELINE_METRICS.len() + 4;
    if fields.len() == TIMELINE_METRICS.len() + 4 && labels.len() > 1 {
        // COSBench writes an interval in which nothing was seen as that of one operation called `na`.
        let nothing = |label: &String| TimelineValue { label: label.clone(), ..TimelineValue::default() };
        return Ok(TimelineEntry {
            time: fields.first().map(|time| (*time).to_owned()).unwrap_or_default(),
            operations: labels.iter().map(nothing).collect(),
        });
    }
    if fields.len() > expected
        && let [time, numbers @ ..] = fields
        && let Some(numbers) = commas::timeline(numbers, labels.len())
    {
        let whole: Vec<&str> = std::iter::once(*time).chain(numbers.iter().map(String::as_str)).collect();
        return parse_row(labels, &whole);
    }
    if fields.len() != expected {
        let why = if fields.len() > expected {
            "; numbers with decimal commas are written with points"
        } else {
            ""
        };
        return Err(format!("{} fields instead of {expected}{why}", fields.len()));
    }
    let field = |metric: usize, op: usize| fields.get(1 + metric * labels.len() + op).copied().unwrap_or("");
    let operations = labels.iter().enumerate().map(|(op, label)| {
        let ok = count(field(0, op))?;
        // A rate that is no number is one over no time where there are operations.
        let unknown = if ok > 0 { f64::INFINITY } else { 0.0 };
        Ok(TimelineValue {
            label: label.clone(),
            count: ok,
            bytes: count(field(1, op))?,
            response_ms: number(field(2, op))?,
            processing_ms: number(field(3, op))?,
            throughput_per_s: number(field(4, op))?.unwrap_or(unknown),
            bandwidth_bytes_per_s: number(field(5, op))?.unwrap_or(unknown),
            success_ratio: ratio(field(6, op))?,
        })
    });
    Ok(TimelineEntry {
        time: fields.first().map(|time| (*time).to_owned()).unwrap_or_default(),
        operations: operations.collect::<Result<_, String>>()?,
    })
}
