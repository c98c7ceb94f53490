//! Rows of a stage's timeline that a kill kept from being written: one comes a moment after the lines of `intervals.csv` that it
//! is the sum of, and who adds up the rows of a stage is to have all that its lines tell.

use std::collections::BTreeMap;
use std::time::Duration;

use cosmark_metrics::OpSnapshot;
use jiff::Timestamp;

use super::parts_of;
use crate::csv::layout::StageLayout;
use crate::{HistogramLog, IntervalLine, Run, StageRecord};

/// A last row shorter than this part of the others belongs to the one before it, as in a run that lives.
const SHORTEST_ROW: f64 = 5.0;
/// Kinds of times of which a row has the mean.
const KINDS: [&str; 3] = ["response", "service", "first_byte"];
/// A kill comes before few rows. Where more is missing, of all rows and operations, the table was taken away, and is left so.
const MOST_VALUES: usize = 1_000_000;

/// A row of a timeline.
pub struct Row {
    /// End of the interval.
    pub ended: Timestamp,
    /// Its length in seconds.
    pub seconds: f64,
    operations: Vec<Sums>,
}

impl Row {
    /// One entry per operation of the stage; of times it has the means.
    pub fn operations(&self) -> Vec<OpSnapshot> {
        self.operations.iter().map(Sums::snapshot).collect()
    }
}

/// What one operation did in an interval.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    ok: u64,
    failed: u64,
    bytes: u64,
    /// Sums of times in ns and how many they are, of each kind.
    times: [(f64, f64); 3],
}

impl Sums {
    fn of(line: &IntervalLine) -> Self {
        Self { ok: line.ok, failed: line.failed, bytes: line.bytes, ..Self::default() }
    }

    fn merge(&mut self, other: &Self) {
        self.ok = self.ok.saturating_add(other.ok);
        self.failed = self.failed.saturating_add(other.failed);
        self.bytes = self.bytes.saturating_add(other.bytes);
        for (own, other) in self.times.iter_mut().zip(&other.times) {
            *own = (own.0 + other.0, own.1 + other.1);
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of times in ns")]
    fn snapshot(&self) -> OpSnapshot {
        let mean = |(sum_ns, count): (f64, f64)| (count > 0.0).then(|| (sum_ns / count) as u64);
        let [response, service, first_byte] = self.times.map(mean);
        let mut sums =
            OpSnapshot { ok: self.ok, failed: self.failed, bytes: self.bytes, ..OpSnapshot::default() };
        response.into_iter().for_each(|ns| sums.response.record(ns));
        // Without pacing the two are the same, and stand in the log once.
        service.or(response).into_iter().for_each(|ns| sums.service.record(ns));
        first_byte.into_iter().for_each(|ns| sums.first_byte.record(ns));
        sums
    }
}

/// An interval of which there is no row.
struct Open {
    end_s: f64,
    operations: Vec<Sums>,
}

impl Open {
    fn of(operations: usize) -> Self {
        Self { end_s: 0.0, operations: vec![Sums::default(); operations] }
    }

    fn merge(&mut self, later: &Self) {
        self.end_s = self.end_s.max(later.end_s);
        self.operations.iter_mut().zip(&later.operations).for_each(|(own, other)| own.merge(other));
    }
}

/// Successes of an operation, and their bytes.
type Counted = (u64, u64);

/// What `intervals.csv` tells.
struct Lines {
    /// The intervals without rows, by their numbers.
    open: BTreeMap<u64, Open>,
    /// Each operation in all intervals.
    all: Vec<Counted>,
    /// Until when it goes.
    end_s: f64,
}

/// The rows that follow on those `written` of the timeline of `stage`, whose rows are `length` long. What is damaged is read up to
/// there.
pub fn missing(
    run: &Run,
    stage: &StageRecord,
    layout: &StageLayout,
    length: Duration,
    written: u64,
) -> Vec<Row> {
    let Some(began) = stage.load_started.or(stage.started) else { return Vec::new() };
    let grid = Grid { length_ms: length.as_secs_f64() * 1e3, written };
    let places: BTreeMap<&str, usize> =
        layout.operations().enumerate().map(|(at, (_, names))| (names.tag.as_str(), at)).collect();
    let Some(Lines { mut open, all, end_s }) = lines_of(run, &places, &grid) else { return Vec::new() };
    let left = left_of(all, run, stage, layout, written);
    let is_complete = left.as_ref().is_some_and(|left| left.iter().all(|left| *left == (0, 0)));
    if open.is_empty() && left.is_some() && !is_complete {
        // It was told late, of an interval that had its row.
        open.insert(written, Open { end_s, ..Open::of(places.len()) });
    }
    add_times(run, began, &places, &grid, &mut open);
    let mut rows: Vec<(f64, Open)> =
        open.into_iter().map(|(number, open)| (open.end_s - grid.start_s(number), open)).collect();
    let is_short = |seconds: f64| seconds * 1e3 < grid.length_ms / SHORTEST_ROW;
    if rows.last().is_some_and(|(seconds, _)| is_short(*seconds))
        && let Some((rest_s, rest)) = rows.pop()
    {
        match rows.last_mut() {
            Some((seconds, last)) => {
                last.merge(&rest);
                *seconds += rest_s.max(0.0);
            }
            // The last row has it.
            None if is_complete => {}
            None => rows.push((grid.length_ms / 1e3, rest)),
        }
    }
    if let Some(left) = left {
        balance(&mut rows, &left);
    }
    let row = |(seconds, open): (f64, Open)| Row {
        ended: began.checked_add(Duration::from_secs_f64(open.end_s.clamp(0.0, 1e10))).unwrap_or(began),
        seconds: seconds.max(1e-3),
        operations: open.operations,
    };
    rows.into_iter().map(row).collect()
}

/// Makes rows have together what is left for them: lines that were told late are in the row that came next.
fn balance(rows: &mut [(f64, Open)], left: &[Counted]) {
    for (at, (ok, bytes)) in left.iter().enumerate() {
        let (mut ok_in_rows, mut bytes_in_rows) = (0_u64, 0_u64);
        for sums in rows.iter().filter_map(|(_, row)| row.operations.get(at)) {
            ok_in_rows = ok_in_rows.saturating_add(sums.ok);
            bytes_in_rows = bytes_in_rows.saturating_add(sums.bytes);
        }
        if let Some(first) = rows.first_mut().and_then(|(_, row)| row.operations.get_mut(at)) {
            first.ok = first.ok.saturating_add(*ok).saturating_sub(ok_in_rows);
            first.bytes = first.bytes.saturating_add(*bytes).saturating_sub(bytes_in_rows);
        }
    }
}

/// The intervals of a timeline.
struct Grid {
    length_ms: f64,
    written: u64,
}

impl Grid {
    /// The number of the interval of a moment in seconds since the load began; `None` where it has its row.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "intervals are counted from 0"
    )]
    fn number(&self, at_s: f64) -> Option<u64> {
        // Times have three digits; half of the last may be missing.
        let number = ((at_s * 1e3 + 0.5) / self.length_ms).max(0.0) as u64;
        (number >= self.written).then_some(number)
    }

    #[expect(clippy::cast_precision_loss, reason = "intervals of a run")]
    fn start_s(&self, number: u64) -> f64 {
        number as f64 * self.length_ms / 1e3
    }
}

/// What the lines of a stage tell; `None` where that is more than a kill comes before.
fn lines_of(run: &Run, places: &BTreeMap<&str, usize>, grid: &Grid) -> Option<Lines> {
    let mut lines = Lines { open: BTreeMap::new(), all: vec![(0, 0); places.len()], end_s: 0.0 };
    let mut is_too_much = false;
    // What is damaged is read up to there.
    drop(run.intervals(|line| {
        let Some(at) = places.get(line.tag.as_str()).copied().filter(|_| !is_too_much) else { return };
        lines.end_s = lines.end_s.max(line.end_s);
        if let Some((ok, bytes)) = lines.all.get_mut(at) {
            (*ok, *bytes) = (ok.saturating_add(line.ok), bytes.saturating_add(line.bytes));
        }
        let Some(number) = grid.number(line.start_s) else { return };
        let row = lines.open.entry(number).or_insert_with(|| Open::of(places.len()));
        row.end_s = row.end_s.max(line.end_s);
        if let Some(sums) = row.operations.get_mut(at) {
            sums.merge(&Sums::of(&line));
        }
        is_too_much = lines.open.len().saturating_mul(places.len()) > MOST_VALUES;
    }));
    (!is_too_much).then_some(lines)
}

/// What the rows that are there do not have of `all`; `None` where they cannot be read.
fn left_of(
    mut all: Vec<Counted>,
    run: &Run,
    stage: &StageRecord,
    layout: &StageLayout,
    written: u64,
) -> Option<Vec<Counted>> {
    let mut rows = run.timeline(stage).unwrap_or_default();
    rows.retain(|row| row.operations.len() == all.len());
    if rows.len() as u64 != written {
        return None;
    }
    for (at, ((_, names), (ok, bytes))) in layout.operations().zip(&mut all).enumerate() {
        if names.silent {
            (*ok, *bytes) = (0, 0);
        }
        for value in rows.iter().filter_map(|row| row.operations.get(at)) {
            (*ok, *bytes) = (ok.saturating_sub(value.count), bytes.saturating_sub(value.bytes));
        }
    }
    Some(all)
}

/// Times of the histogram log that were taken in those intervals.
fn add_times(
    run: &Run,
    began: Timestamp,
    places: &BTreeMap<&str, usize>,
    grid: &Grid,
    open: &mut BTreeMap<u64, Open>,
) {
    if open.is_empty() {
        return;
    }
    // The log counts from when the run was submitted.
    let (Some(base), Ok(mut log)) = (run.record.submitted, HistogramLog::open(&run.path)) else { return };
    let offset_s = began.duration_since(base).as_secs_f64();
    let mut known = |tag: &str| {
        parts_of(tag).is_some_and(|(tag, kind, _)| KINDS.contains(&kind) && places.contains_key(tag))
    };
    while let Some(Ok(entry)) = log.next_wanted(&mut known) {
        let Some((tag, kind, _)) = parts_of(&entry.tag) else { continue };
        let middle_s = entry.start.as_secs_f64() + entry.length.as_secs_f64() / 2.0 - offset_s;
        let row = grid.number(middle_s).and_then(|number| open.get_mut(&number));
        let sums = row.zip(places.get(tag)).and_then(|(row, at)| row.operations.get_mut(*at));
        let time = sums.zip(KINDS.iter().position(|known| *known == kind));
        if let Some((sum_ns, count)) = time.and_then(|(sums, kind)| sums.times.get_mut(kind)) {
            #[expect(clippy::cast_precision_loss, reason = "a mean needs no more than 53 bits")]
            let more = entry.histogram.len() as f64;
            *sum_ns += entry.histogram.mean() * more;
            *count += more;
        }
    }
}
