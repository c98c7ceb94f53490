//! When the rows of a stage's timeline ended. The table, which is COSBench's, has whole seconds of the day; of our own runs the
//! workload and `intervals.csv` say it to the millisecond.

use std::collections::{BTreeMap, BTreeSet};

use cosmark_archive::{Run, StageRecord, TimelineEntry};
use cosmark_workload::{Environment, Format, parse};

/// A time of the day in the table is the second in which its row ended.
const WITHIN_S: f64 = 1.001;

/// What a run says of when rows ended, by the id of their stage.
#[derive(Debug, Default)]
pub struct RowEnds {
    stages: BTreeMap<String, Known>,
}

/// The same of one stage.
#[derive(Debug, Default)]
struct Known {
    /// Length of its intervals, as the workload has it.
    interval_s: Option<f64>,
    /// Ends of the lines of `intervals.csv`, ms since the load began.
    ends_ms: BTreeSet<u64>,
    /// How many of these lines are how long, in ms.
    lengths_ms: BTreeMap<u64, usize>,
    /// Where the load was over and only what was under way ended.
    loaded_ms: u64,
}

/// Rows with the seconds at which they ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TimedRows {
    /// Seconds since the end of the first row.
    pub rows: Vec<(f64, TimelineEntry)>,
    /// How long after the beginning of the load the first row ended.
    pub first_s: f64,
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an archive has no longer times")]
fn ms(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e3).round() as u64
}

#[expect(clippy::cast_precision_loss, reason = "times of a run in ms, and rows of a table")]
fn float(count: u64) -> f64 {
    count as f64
}

impl RowEnds {
    /// Reads what there is; nothing in runs of other programs, and in ours without `intervals.csv`, whose tables have times still. Of
    /// one that is damaged what stands before the damage counts.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let mut stages: BTreeMap<String, Known> = BTreeMap::new();
        drop(run.intervals(|line| {
            let (start_ms, end_ms) = (ms(line.start_s), ms(line.end_s));
            let known = stages.entry(line.stage).or_default();
            known.ends_ms.insert(end_ms);
            *known.lengths_ms.entry(end_ms.saturating_sub(start_ms)).or_default() += 1;
            if line.phase != "drain" {
                known.loaded_ms = known.loaded_ms.max(end_ms);
            }
        }));
        if stages.is_empty() || run.record.fio.is_some() {
            return Self { stages };
        }
        let text = run.workload_yaml().ok().flatten();
        let workload = text.and_then(|text| parse(&text, Format::Yaml, &Environment::default()).0);
        for planned in workload.into_iter().flat_map(|workload| workload.stages) {
            let own = run.record.stages.iter().filter(|stage| stage.name == planned.name);
            for stage in own {
                if let Some(known) = stages.get_mut(&stage.id) {
                    known.interval_s = Some(planned.interval().as_secs_f64());
                }
            }
        }
        Self { stages }
    }

    /// Seconds from the beginning of the load to the end of each row; `None` where nothing that is known fits the times in the table.
    #[must_use]
    pub fn ends_s(&self, stage: &str, entries: &[TimelineEntry]) -> Option<Vec<f64>> {
        let known = self.stages.get(stage)?;
        let of_day: Vec<f64> =
            entries.iter().map(|entry| second_of_day(&entry.time)).collect::<Option<_>>()?;
        let since_first_s = elapsed(&of_day);
        let fits = |ends_s: &Vec<f64>| {
            let first_s = ends_s.first().copied().unwrap_or_default();
            ends_s.iter().zip(&since_first_s).all(|(end, since)| (end - first_s - since).abs() < WITHIN_S)
        };
        let usual = known.lengths_ms.iter().max_by_key(|(length, lines)| (**lines, **length));
        let lengths = known.interval_s.into_iter().chain(usual.map(|(length, _)| float(*length) / 1e3));
        let every = lengths.filter(|length| *length > 0.0).map(|length| known.every(length, entries.len()));
        every.chain(known.one_by_one(entries.len())).find(fits)
    }

    /// Seconds from the beginning of the load to the end of each row, to the millisecond, over midnight and where a clock was
    /// set back. Where nothing better is known, by the times of the table, the first row as long as the others; `None` for a
    /// row without one, and where rows are shorter than these times can tell.
    #[must_use]
    pub fn seconds(&self, stage: &str, entries: &[TimelineEntry]) -> Vec<Option<f64>> {
        let ends_s: Vec<Option<f64>> = match self.ends_s(stage, entries) {
            Some(ends_s) => ends_s.into_iter().map(Some).collect(),
            None => {
                let of_day: Vec<Option<f64>> =
                    entries.iter().map(|entry| second_of_day(&entry.time)).collect();
                let known: Vec<f64> = of_day.iter().copied().flatten().collect();
                if known.windows(2).any(|pair| pair.first() == pair.last()) {
                    return vec![None; entries.len()];
                }
                let first_s = usual_step(&known);
                let mut since_s = elapsed(&known).into_iter();
                of_day.iter().map(|second| second.and_then(|_| Some(first_s + since_s.next()?))).collect()
            }
        };
        ends_s.into_iter().map(|end| end.map(|end| (end * 1e3).round() / 1e3)).collect()
    }

    /// The rows of a stage as they are; where two of them ended in one second, with milliseconds behind the time of the day.
    #[must_use]
    pub fn distinguished(&self, stage: &StageRecord, mut entries: Vec<TimelineEntry>) -> Vec<TimelineEntry> {
        let alike = entries.windows(2).any(|pair| matches!(pair, [one, next] if one.time == next.time));
        let ends_s = if alike { self.ends_s(&stage.id, &entries) } else { None };
        if let (Some(ends_s), Some(began)) = (ends_s, stage.load_started) {
            for (entry, end_s) in entries.iter_mut().zip(ends_s) {
                let since_ns = i128::from(ms(end_s)) * 1_000_000;
                entry.time = with_ms(&entry.time, began.as_nanosecond() + since_ns);
            }
        }
        entries
    }

    /// The rows of a stage. One behind the load, shorter than the others, is left out: it would be drawn as a fall to nothing, or as
    /// a wild rate. Where nothing better is known, times are those of the table.
    #[must_use]
    pub fn timed(&self, stage: &str, entries: Vec<TimelineEntry>) -> TimedRows {
        let Some(ends_s) = self.ends_s(stage, &entries) else { return with_seconds(entries) };
        let first_s = ends_s.first().copied().unwrap_or_default();
        let loaded_s = self.stages.get(stage).map_or(0.0, |known| float(known.loaded_ms) / 1e3);
        let is_rest = |at: usize| match ends_s.get(..=at) {
            Some([.., before, last]) => {
                at + 1 == ends_s.len() && *before >= loaded_s - 5e-4 && last - before < 0.99 * first_s
            }
            _ => false,
        };
        let shown = entries.into_iter().zip(&ends_s).enumerate().filter(|(at, _)| !is_rest(*at));
        TimedRows { rows: shown.map(|(_, (entry, end))| (end - first_s, entry)).collect(), first_s }
    }
}

impl Known {
    /// Rows one as long as the other; the last one may be cut, or have a short rest in it.
    fn every(&self, length_s: f64, rows: usize) -> Vec<f64> {
        let last = self.ends_ms.last().map_or(0.0, |end| float(*end) / 1e3);
        let end = |at: usize| float(at as u64) * length_s;
        let is_last = last > end(rows.saturating_sub(1)) && last < end(rows) + length_s / 4.0;
        (1..=rows).map(|at| if at == rows && is_last { last } else { end(at) }).collect()
    }

    /// Rows of any length: each has the end of the lines that it is made of.
    fn one_by_one(&self, rows: usize) -> Option<Vec<f64>> {
        (self.ends_ms.len() == rows).then(|| self.ends_ms.iter().map(|end| float(*end) / 1e3).collect())
    }
}

/// A time of the day, which is a whole second, with the milliseconds of a moment in it.
fn with_ms(time: &str, moment_ns: i128) -> String {
    let of_minute = moment_ns.div_euclid(1_000_000_000).rem_euclid(60);
    let ms = moment_ns.rem_euclid(1_000_000_000) / 1_000_000;
    // The moment is known to a millisecond: it may lie a little beside its second.
    let own = time.rsplit(':').next().and_then(|second| second.parse::<i128>().ok()).unwrap_or(of_minute);
    let ms = match (of_minute - own).rem_euclid(60) {
        1 => 999,
        59 => 0,
        _ => ms,
    };
    format!("{time}.{ms:03}")
}

/// Timelines have times of day: a run may cross midnight, and a clock may be set back (the end of summer time, a
/// correction), where it is as if it had gone on. Of several rows of one second the fullest stands for it: where a ramp
/// ends or the load is over, slices of an interval have rows of their own, and would be drawn as a fall to nothing.
#[must_use]
pub fn with_seconds(entries: Vec<TimelineEntry>) -> TimedRows {
    let of_day = |entry: TimelineEntry| Some((second_of_day(&entry.time)?, entry));
    let rows: Vec<(f64, TimelineEntry)> = entries.into_iter().filter_map(of_day).collect();
    let seconds: Vec<f64> = rows.iter().map(|(second, _)| *second).collect();
    let first_s = usual_step(&seconds);
    let mut timed: Vec<(f64, TimelineEntry)> = Vec::new();
    for ((_, entry), at) in rows.into_iter().zip(elapsed(&seconds)) {
        let ended = |entry: &TimelineEntry| entry.operations.iter().map(|op| op.count).sum::<u64>();
        match timed.last_mut() {
            Some((last, other)) if last.total_cmp(&at).is_eq() => {
                if ended(&entry) > ended(other) {
                    *other = entry;
                }
            }
            _ => timed.push((at, entry)),
        }
    }
    TimedRows { rows: timed, first_s }
}

/// Seconds since the first of these.
fn elapsed(seconds: &[f64]) -> Vec<f64> {
    let usual_s = usual_step(seconds);
    let mut at = 0.0;
    let mut before = None;
    let later = |second: &f64| {
        at += before.map_or(0.0, |before| step(before, *second, usual_s));
        before = Some(*second);
        at
    };
    seconds.iter().map(later).collect()
}

const DAY_S: f64 = 86_400.0;

/// How much later a row is than the one before; no clock is set by half a day.
fn step(before: f64, second: f64, usual_s: f64) -> f64 {
    let later = second - before;
    if later < -DAY_S / 2.0 {
        later + DAY_S
    } else if (0.0..DAY_S / 2.0).contains(&later) {
        later
    } else {
        usual_s
    }
}

/// The middle one of the distances between rows; a second where there are none.
fn usual_step(seconds: &[f64]) -> f64 {
    let pairs = seconds.iter().zip(seconds.iter().skip(1));
    let mut steps: Vec<f64> = pairs
        .map(|(before, after)| after - before)
        .filter(|step| *step > 0.0 && *step < DAY_S / 2.0)
        .collect();
    steps.sort_by(f64::total_cmp);
    steps.get(steps.len() / 2).copied().unwrap_or(1.0)
}

/// The second of the day, of a time as the table has it.
#[must_use]
pub fn second_of_day(time: &str) -> Option<f64> {
    let mut parts = time.split(':').map(|part| part.parse::<u32>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    (parts.next().is_none() && hours < 24 && minutes < 60 && seconds < 61)
        .then(|| f64::from(hours * 3600 + minutes * 60 + seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cosmark_archive::TimelineValue;

    fn entry(time: &str, count: u64) -> TimelineEntry {
        TimelineEntry {
            time: time.to_owned(),
            operations: vec![TimelineValue { count, ..TimelineValue::default() }],
        }
    }

    fn seconds(times: &[&str]) -> Vec<f64> {
        let timed = with_seconds(times.iter().map(|time| entry(time, 0)).collect());
        timed.rows.iter().map(|(at, _)| *at).collect()
    }

    #[test]
    fn a_timeline_may_cross_midnight() {
        let times = ["23:59:58", "00:00:03", "broken", "00:00:08"];
        assert_eq!(seconds(&times), [0.0, 5.0, 10.0]);
        let rows = times.map(|time| entry(time, 0));
        let ends_s = RowEnds::default().seconds("s1-main", &rows);
        assert_eq!(ends_s, [Some(5.0), Some(10.0), None, Some(15.0)]);
    }

    #[test]
    fn a_clock_that_is_set_back_adds_no_day() {
        // The end of summer time, a correction of two seconds, and both beside a midnight.
        let summer = ["02:59:50", "02:59:55", "02:00:00", "02:00:05"];
        assert_eq!(seconds(&summer), [0.0, 5.0, 10.0, 15.0]);
        assert_eq!(seconds(&["12:00:00", "12:00:05", "12:00:03", "12:00:08"]), [0.0, 5.0, 10.0, 15.0]);
        assert_eq!(seconds(&["23:59:55", "00:00:05", "23:59:58"]), [0.0, 10.0, 11.0]);
        assert_eq!(seconds(&["00:30:00", "00:29:59"]), [0.0, 1.0]);
    }

    #[test]
    fn the_last_moments_of_a_stage_are_not_drawn_as_a_fall() {
        let rows = [("08:00:05", 3), ("08:00:05", 900), ("08:00:10", 1000), ("08:00:10", 4)];
        let timed = with_seconds(rows.map(|(time, count)| entry(time, count)).to_vec());
        let shown: Vec<_> = timed.rows.iter().map(|(at, entry)| (*at, entry.operations[0].count)).collect();
        assert_eq!(shown, [(0.0, 900), (5.0, 1000)]);
    }

    /// A stage of which these lines are known: their ends, and where the load was over.
    fn known(interval_s: Option<f64>, spans_ms: &[(u64, u64)], loaded_ms: u64) -> RowEnds {
        let mut known = Known { interval_s, loaded_ms, ..Known::default() };
        for (start_ms, end_ms) in spans_ms {
            known.ends_ms.insert(*end_ms);
            *known.lengths_ms.entry(end_ms - start_ms).or_default() += 1;
        }
        RowEnds { stages: BTreeMap::from([("s1-main".to_owned(), known)]) }
    }

    #[test]
    fn rows_of_less_than_a_second_are_all_there_at_their_times() {
        let spans: Vec<(u64, u64)> = (0..8).map(|at| (at * 250, at * 250 + 250)).collect();
        let with_rest = [spans.clone(), vec![(2_000, 2_069)]].concat();
        // The load began at 07:07:14.2; the last row is what ended behind it.
        let times: Vec<String> = (1..=8).map(|at| format!("07:07:{}", (14_200 + at * 250) / 1_000)).collect();
        let rows: Vec<TimelineEntry> = times.iter().map(|time| entry(time, 2)).collect();
        let with_last = [rows.clone(), vec![entry("07:07:16", 1)]].concat();
        let quarters: Vec<f64> = (0..8).map(|at| f64::from(at) * 0.25).collect();
        for interval_s in [Some(0.25), None] {
            let ends = known(interval_s, &with_rest, 2_000);
            assert_eq!(ends.ends_s("s1-main", &with_last).unwrap().last(), Some(&2.069));
            let timed = ends.timed("s1-main", with_last.clone());
            assert_eq!(timed.rows.iter().map(|(at, _)| *at).collect::<Vec<_>>(), quarters);
            assert_eq!(timed.first_s, 0.25);
        }
        // What ended behind the load for as long as the others has a row as they have.
        let ends = known(Some(0.25), &spans, 1_750);
        assert_eq!(ends.timed("s1-main", rows.clone()).rows.len(), 8);
        // A table of other times than these is believed, and of a stage that nothing is known of.
        let ends = known(Some(0.75), &[], 0);
        assert_eq!(ends.ends_s("s1-main", &rows), None);
        assert_eq!(ends.timed("s1-main", rows.clone()), with_seconds(rows.clone()));
        assert_eq!(ends.timed("s2-main", rows.clone()), with_seconds(rows));
    }

    #[test]
    fn a_time_of_the_day_has_the_milliseconds_of_its_second() {
        let at = |ms: i128| 1_795_935_634_000_000_000 + ms * 1_000_000;
        // That moment is the 34th second of a minute.
        for (time, ms, wanted) in [
            ("07:00:34", 417, "07:00:34.417"),
            ("07:00:34", 0, "07:00:34.000"),
            ("07:00:34", 1000, "07:00:34.999"),
            ("07:00:35", 999, "07:00:35.000"),
            ("06:59:59", 26_000, "06:59:59.999"),
        ] {
            assert_eq!(with_ms(time, at(ms)), wanted);
        }
    }

    #[test]
    fn rows_of_any_length_have_the_ends_of_their_lines() {
        let rows = ["08:00:02", "08:00:03", "08:00:07"].map(|time| entry(time, 1));
        let ends = known(None, &[(0, 2_000), (2_000, 3_500), (3_500, 7_000)], 7_000);
        assert_eq!(ends.ends_s("s1-main", &rows), Some(vec![2.0, 3.5, 7.0]));
    }
}
