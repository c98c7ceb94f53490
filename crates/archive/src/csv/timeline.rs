//! `<stage>.csv`, the timeline of a stage as COSBench writes it, read. Before 0.4 it has no Avg-ProcTime.

use std::ops::RangeInclusive;
use std::path::Path;

use crate::ArchiveError;
use crate::cosbench::commas::{self, Effort};
use crate::cosbench::fields::{count, mean, number, ratio};
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
    let mut head = Head::default();
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
            1 => {
                head.has_processing = has_processing(&fields)?;
                Ok(())
            }
            2 => {
                head.labels = head.labels_of(&fields)?;
                Ok(())
            }
            _ => {
                let entry = parse_row(&head, &fields, &mut effort)?;
                if fields.len() < head.fields_of(head.labels.len()) {
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

/// The metric that tables before 0.4 do not have.
const PROCESSING: &str = "Avg-ProcTime";

/// Whether the first line of a table has the mean time to about the first byte.
fn has_processing(fields: &[&str]) -> Result<bool, String> {
    let named = || fields.iter().filter(|field| !field.is_empty());
    let has = named().any(|field| *field == PROCESSING);
    let metrics = TIMELINE_METRICS.iter().filter(|metric| has || **metric != PROCESSING);
    let expected = ["Timestamp"].iter().chain(metrics).chain(&["Version-Info"]);
    if named().eq(expected) { Ok(has) } else { Err("not the header of a timeline".to_owned()) }
}

/// What the first two lines say.
#[derive(Default)]
struct Head {
    labels: Vec<String>,
    has_processing: bool,
}

impl Head {
    fn metrics(&self) -> usize {
        TIMELINE_METRICS.len() - usize::from(!self.has_processing)
    }

    /// How many fields a row of so many operations has: its time, their values, and three versions.
    fn fields_of(&self, operations: usize) -> usize {
        operations.saturating_mul(self.metrics()).saturating_add(4)
    }

    fn labels_of(&self, fields: &[&str]) -> Result<Vec<String>, String> {
        let columns = fields.len().saturating_sub(4);
        if columns == 0 || !columns.is_multiple_of(self.metrics()) {
            return Err(format!("{} columns do not make a timeline", fields.len()));
        }
        let labels = fields.iter().skip(1).take(columns / self.metrics());
        Ok(labels.map(|label| (*label).to_owned()).collect())
    }

    /// Whether a row of so many operations has shares where they belong, and versions behind them. What was cut off anywhere else
    /// has other numbers there.
    fn ends_as(&self, operations: usize, fields: &[&str]) -> bool {
        let is_share = |cell: &&str| cell.ends_with('%') || [NOT_AVAILABLE, "0"].contains(cell);
        let is_version = |cell: &&str| cell.parse::<i64>().is_ok();
        let columns = operations * self.metrics();
        let shares = fields.get(1 + columns - operations..=columns);
        fields.len() == self.fields_of(operations)
            && shares.is_some_and(|shares| shares.iter().all(is_share))
            && fields.iter().skip(columns + 1).all(is_version)
    }

    /// The row of so many operations that decimal commas have taken apart.
    fn joined(&self, operations: usize, fields: &[&str], effort: &mut Effort) -> Option<Vec<String>> {
        let (time, numbers) = fields.split_first()?;
        let numbers = commas::timeline(numbers, operations, self.has_processing, effort)?;
        Some([(*time).to_owned()].into_iter().chain(numbers).collect())
    }

    /// Numbers of operations that a row of decimal commas may have: of the values of one operation all but its counts may have a
    /// fraction.
    fn operations_in(&self, fields: usize) -> RangeInclusive<usize> {
        let (cells, metrics) = (fields.saturating_sub(4), self.metrics());
        cells.div_ceil(2 * metrics - 2).max(1)..=cells / metrics
    }
}

/// A row of another number of operations than the stage has: COSBench leaves works out that have nothing new to say, as those
/// whose operations take longer than an interval, and writes `na` of one operation when none has. Without a success it is one
/// of all operations; with some, nobody can tell of which.
fn of_some_works(head: &Head, fields: &[&str]) -> Option<TimelineEntry> {
    let count = fields.len().checked_sub(4)? / head.metrics();
    if count == 0 || !head.ends_as(count, fields) {
        return None;
    }
    let some = values(&vec![String::new(); count], head.has_processing, fields).ok()?;
    let nothing = |label: &String| TimelineValue { label: label.clone(), ..TimelineValue::default() };
    let operations = if some.iter().all(|value| value.count == 0) {
        head.labels.iter().map(nothing).collect()
    } else {
        Vec::new()
    };
    Some(TimelineEntry { time: time_of(fields), operations })
}

/// The same of a row with decimal commas, where these leave one number of operations only.
fn of_some_works_with_commas(head: &Head, fields: &[&str], effort: &mut Effort) -> Option<TimelineEntry> {
    let mut found = None;
    for operations in head.operations_in(fields.len()).filter(|count| *count != head.labels.len()) {
        if let Some(whole) = head.joined(operations, fields, effort) {
            if found.is_some() {
                return None;
            }
            found = Some(whole);
        }
    }
    let whole = found?;
    of_some_works(head, &whole.iter().map(String::as_str).collect::<Vec<&str>>())
}

fn time_of(fields: &[&str]) -> String {
    fields.first().map(|time| (*time).to_owned()).unwrap_or_default()
}

fn parse_row(head: &Head, fields: &[&str], effort: &mut Effort) -> Result<TimelineEntry, String> {
    let (labels, expected) = (&head.labels, head.fields_of(head.labels.len()));
    let entry = |fields: &[&str]| -> Result<TimelineEntry, String> {
        Ok(TimelineEntry { time: time_of(fields), operations: values(labels, head.has_processing, fields)? })
    };
    if fields.len() > expected {
        if let Some(whole) = head.joined(labels.len(), fields, effort) {
            return entry(&whole.iter().map(String::as_str).collect::<Vec<&str>>());
        }
        if let Some(problem) = effort.problem() {
            return Err(problem);
        }
    }
    // With commas a row of fewer works may have as many fields as one of all.
    if !head.ends_as(labels.len(), fields) {
        let plain = if fields.len() == expected { None } else { of_some_works(head, fields) };
        if let Some(some) = plain.or_else(|| of_some_works_with_commas(head, fields, effort)) {
            return Ok(some);
        }
    }
    if fields.len() != expected {
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
    entry(fields)
}

/// The values of operations with these labels, in a row of as many.
fn values(labels: &[String], has_processing: bool, fields: &[&str]) -> Result<Vec<TimelineValue>, String> {
    let field = |metric: usize, op: usize| fields.get(1 + metric * labels.len() + op).copied().unwrap_or("");
    let rates = 3 + usize::from(has_processing);
    let operations = labels.iter().enumerate().map(|(op, label)| {
        let ok = count(field(0, op))?;
        // A rate that is no number is one over no time where there are operations.
        let unknown = if ok > 0 { f64::INFINITY } else { 0.0 };
        Ok(TimelineValue {
            label: label.clone(),
            count: ok,
            bytes: count(field(1, op))?,
            response_ms: mean(field(2, op))?,
            processing_ms: if has_processing { mean(field(3, op))? } else { None },
            throughput_per_s: number(field(rates, op))?.unwrap_or(unknown),
            bandwidth_bytes_per_s: number(field(rates + 1, op))?.unwrap_or(unknown),
            success_ratio: ratio(field(rates + 2, op))?,
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
