//! `<stage>.csv`, the timeline of a stage as COSBench writes it, read.

use std::path::Path;

use crate::ArchiveError;
use crate::cosbench::commas::{self, Effort};
use crate::cosbench::fields::{count, number, ratio};
use crate::csv::cosbench::TIMELINE_METRICS;
use crate::csv::line::read_records;
use crate::csv::number::NOT_AVAILABLE;
use crate::directory::counts::Counted;

/// One interval of a stage's timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct TimelineEntry {
    /// End of the interval, local time `HH:mm:ss` of the machine that ran it.
    pub time: String,
    /// One entry per operation of the stage, in order; none where COSBench left works out, and nothing says which.
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

impl TimelineValue {
    fn counted(&self) -> Counted {
        Counted { counts: u128::from(self.count), bytes: u128::from(self.bytes) }
    }
}

/// Values of operations in intervals in which works had nothing to say: COSBench writes all of an interval in a few bytes.
const MOST_UNSEEN: usize = 2_000_000;

/// Reads a timeline, COSBench's own included.
pub(crate) fn read_timeline(path: &Path) -> Result<Vec<TimelineEntry>, ArchiveError> {
    let mut labels = Vec::new();
    let mut entries = Vec::new();
    let mut seen = 0_u64;
    let mut unseen = 0_usize;
    let mut effort = Effort::default();
    // Whoever adds entries up may do so as they are.
    let mut counted = Counted::default();
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
                let entry = parse_row(&labels, &fields, &mut effort)?;
                if fields.len() < labels.len() * TIMELINE_METRICS.len() + 4 {
                    unseen = unseen.saturating_add(entry.operations.len());
                }
                if unseen > MOST_UNSEEN {
                    return Err("no run has so many intervals of so many operations without any".to_owned());
                }
                counted = entry.operations.iter().fold(counted, |sum, value| sum.and(value.counted()));
                if !counted.is_possible() {
                    return Err("the counts up to here are more than a run can have".to_owned());
                }
                entries.push(entry);
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

/// A row of another number of operations than the stage has: COSBench leaves works out that have nothing new to say, as those
/// whose operations take longer than an interval, and writes `na` of one operation when none has. Without a success it is one
/// of all operations; with some, nobody can tell of which.
fn of_some_works(labels: &[String], fields: &[&str]) -> Option<TimelineEntry> {
    let metrics = TIMELINE_METRICS.len();
    let columns = fields.len().checked_sub(4)?;
    let count = columns / metrics;
    let shares = fields.get(1 + (metrics - 1) * count..=columns)?;
    let versions = fields.get(columns + 1..)?;
    // What was cut off anywhere else has numbers there, too.
    let is_share = |cell: &&str| cell.ends_with('%') || [NOT_AVAILABLE, "0"].contains(cell);
    let is_version = |cell: &&str| cell.parse::<i64>().is_ok();
    if count == 0
        || !columns.is_multiple_of(metrics)
        || !shares.iter().all(is_share)
        || !versions.iter().all(is_version)
    {
        return None;
    }
    let some = values(&vec![String::new(); count], fields).ok()?;
    let nothing = |label: &String| TimelineValue { label: label.clone(), ..TimelineValue::default() };
    let operations = if some.iter().all(|value| value.count == 0) {
        labels.iter().map(nothing).collect()
    } else {
        Vec::new()
    };
    Some(TimelineEntry { time: time_of(fields), operations })
}

fn time_of(fields: &[&str]) -> String {
    fields.first().map(|time| (*time).to_owned()).unwrap_or_default()
}

fn parse_row(labels: &[String], fields: &[&str], effort: &mut Effort) -> Result<TimelineEntry, String> {
    let expected = labels.len() * TIMELINE_METRICS.len() + 4;
    if fields.len() > expected
        && let [time, numbers @ ..] = fields
        && let Some(numbers) = commas::timeline(numbers, labels.len(), effort)
    {
        let whole: Vec<&str> = std::iter::once(*time).chain(numbers.iter().map(String::as_str)).collect();
        return parse_row(labels, &whole, effort);
    }
    if fields.len() != expected {
        if let Some(entry) = of_some_works(labels, fields) {
            return Ok(entry);
        }
        if let Some(problem) = effort.problem() {
            return Err(problem);
        }
        let why = if fields.len() > expected {
            "; numbers with decimal commas are written with points"
        } else {
            ""
        };
        return Err(format!("{} fields instead of {expected}{why}", fields.len()));
    }
    Ok(TimelineEntry { time: time_of(fields), operations: values(labels, fields)? })
}

/// The values of operations with these labels, in a row of as many.
fn values(labels: &[String], fields: &[&str]) -> Result<Vec<TimelineValue>, String> {
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
    operations.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_bytes_are_no_interval_of_a_million_operations_again_and_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s1-main.csv");
        let read = |operations: usize, rows: usize| {
            let labels = "a,".repeat(TIMELINE_METRICS.len() * operations);
            let row = format!("18:54:05{}\n", ",0".repeat(TIMELINE_METRICS.len() + 3));
            let head = format!("Timestamp,{},Version-Info\n,{labels},,\n", TIMELINE_METRICS.join(","));
            std::fs::write(&path, head + &row.repeat(rows)).unwrap();
            read_timeline(&path).map(|entries| entries.len()).map_err(|error| error.to_string())
        };
        assert_eq!(read(3, 1000), Ok(1000));
        let error = read(MOST_UNSEEN / 2 + 1, 2).unwrap_err();
        assert!(error.contains("line 4: no run has so many intervals"), "{error}");
    }

    #[test]
    fn rows_whose_commas_have_many_readings_end_a_table_before_they_cost_hours() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s1-main.csv");
        // Each of these cells is a number, or a fraction of that before it: one of thousands of readings fits.
        let numbers = "9,3,9,6,153,9,99,42,4,2,2,8,1,1,1,1,1,4,6,1,6,5,17,13,8,11,45,5,100%,100%,100%,100%";
        let read = |rows: usize| {
            let labels = "a,b,c,d,".repeat(TIMELINE_METRICS.len());
            let head = format!("Timestamp,{},Version-Info\n,{labels},,\n", TIMELINE_METRICS.join(","));
            std::fs::write(&path, head + &format!("18:54:05,{numbers},0,0,0\n").repeat(rows)).unwrap();
            read_timeline(&path).map(|entries| entries.len()).map_err(|error| error.to_string())
        };
        assert_eq!(read(100), Ok(100));
        let error = read(5000).unwrap_err();
        assert!(error.contains("can be read in too many ways"), "{error}");
    }

    #[test]
    fn counts_that_no_run_has_together_are_damage() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s1-main.csv");
        let read = |count: u64, bytes: u64, rows: usize| {
            let head =
                format!("Timestamp,{},Version-Info\n,{},,\n", TIMELINE_METRICS.join(","), "read,".repeat(7));
            let row = format!("18:54:05,{count},{bytes},1,1,1,1,100%,0,0,0\n");
            std::fs::write(&path, head + &row.repeat(rows)).unwrap();
            read_timeline(&path).map(|entries| entries.len()).map_err(|error| error.to_string())
        };
        assert_eq!(read(1_000_000, 1 << 40, 1000), Ok(1000));
        for error in [read(1 << 56, 1, 300).unwrap_err(), read(1, 1 << 56, 300).unwrap_err()] {
            assert!(error.contains("more than a run can have"), "{error}");
        }
    }
}
