//! Pictures of what happened within runs: rates over time, and over the objects that were done.

use cosmark_report::plot::chart::{Axis, Mark, Scale, Series};

use super::lines::groups;
use super::{MOST_LINES, Sketch, Subject, axis_label, left_axis, scale_of};
use crate::course::Interval;
use crate::measured::Observation;

/// More points of a line nobody sees.
const MOST_POINTS: usize = 2000;

/// A line: its name, and the intervals of its first run.
struct Course {
    name: String,
    intervals: Vec<Interval>,
    is_false: bool,
    /// Cells of it that are not drawn.
    others: usize,
}

/// Rates over the time of a run.
pub fn over_time(subject: &Subject<'_>) -> Option<Sketch> {
    let courses = courses(subject)?;
    let metric = &subject.figure.metric;
    let value = |one: &Interval| {
        let raw = if metric == "throughput_per_s" { one.per_s } else { one.bytes_per_s };
        raw * scale_of(metric) * subject.figure.times
    };
    let line = |(look, one): (usize, &Course)| {
        let points = thinned(&one.intervals).map(|interval| (interval.at_s, value(interval))).collect();
        Series::new(one.name.clone(), look, Mark::Line, points)
    };
    Some(Sketch {
        x: Axis::new("Time since the first interval (s)", Scale::FromZero),
        left: left_axis(subject.figure),
        series: courses.iter().take(MOST_LINES).enumerate().map(line).collect(),
        note: notes(&courses),
    })
}

/// Rates over the objects that were done: those of each interval, and all that was done over the time since the start.
pub fn over_objects(subject: &Subject<'_>) -> Option<Sketch> {
    let courses = courses(subject)?;
    let mut series = Vec::new();
    for (look, one) in courses.iter().take(MOST_LINES).enumerate() {
        let (each, since) = over_done(&one.intervals);
        series.push(Series::new("", look, Mark::Thin, each));
        series.push(Series::new(one.name.clone(), look, Mark::Line, since));
    }
    let mut note = vec![
        "thin: the rate of each interval; bold: all that was done over the time since the start".to_owned(),
    ];
    note.extend(notes(&courses));
    Some(Sketch {
        x: Axis::new("Objects done", Scale::FromZero),
        left: Axis::new(axis_label(&subject.figure.metric), Scale::FromZero),
        series,
        note,
    })
}

/// The lines of a picture: of each the first run that has intervals; `None` where none has.
fn courses(subject: &Subject<'_>) -> Option<Vec<Course>> {
    let mut found = Vec::new();
    for (name, cells) in groups(subject) {
        let mut own: Vec<&Observation> =
            subject.all.iter().filter(|one| !one.unreadable && one.is_in(&cells)).collect();
        let first = own.iter().map(|one| one.repetition).min().unwrap_or(0);
        own.retain(|one| one.repetition == first);
        let Some(one) = own.first() else { continue };
        // What is not drawn is not read.
        let is_drawn = found.len() < MOST_LINES;
        let intervals = if is_drawn { intervals(subject, one) } else { Vec::new() };
        if !is_drawn || intervals.len() > 1 {
            found.push(Course { name, intervals, is_false: one.is_false(), others: own.len() - 1 });
        }
    }
    (!found.is_empty()).then_some(found)
}

/// The intervals of the stage of a point.
fn intervals(subject: &Subject<'_>, one: &Observation) -> Vec<Interval> {
    let design = subject.design;
    let is_own = |levels: &crate::design::Levels| {
        levels.iter().all(|(factor, level)| one.levels.get(factor) == Some(level))
    };
    let cells = design.cells.iter().filter(|cell| {
        one.levels.get("system") == Some(&design.spec.systems[cell.system].name) && is_own(&cell.levels)
    });
    let stage = cells.flat_map(|cell| &cell.points).find(|point| is_own(&point.levels));
    stage.map_or_else(Vec::new, |point| subject.courses.intervals(&one.place, &point.stage, &one.op))
}

/// At most so many of them, evenly.
fn thinned(intervals: &[Interval]) -> impl Iterator<Item = &Interval> {
    intervals.iter().step_by(intervals.len().div_ceil(MOST_POINTS).max(1))
}

/// Points of a line.
type Points = Vec<(f64, f64)>;

/// Over what was done up to the end of an interval: its own rate, and what was done over the time since the start.
fn over_done(intervals: &[Interval]) -> (Points, Points) {
    // The first interval began as long before its end as the second one lasted.
    let step = match intervals {
        [first, second, ..] => second.at_s - first.at_s,
        _ => 1.0,
    };
    let (mut each, mut since) = (Vec::new(), Vec::new());
    let mut done = 0.0;
    for one in intervals {
        #[expect(clippy::cast_precision_loss, reason = "a drawing needs no more than 53 bits")]
        let count = one.done as f64;
        done += count;
        each.push((done, one.per_s));
        since.push((done, done / (one.at_s + step).max(f64::MIN_POSITIVE)));
    }
    let every = intervals.len().div_ceil(MOST_POINTS).max(1);
    let thin = |points: Points| points.into_iter().step_by(every).collect();
    (thin(each), thin(since))
}

fn notes(courses: &[Course]) -> Vec<String> {
    let mut note = Vec::new();
    let doubted: Vec<&str> = courses.iter().filter(|one| one.is_false).map(|one| one.name.as_str()).collect();
    if !doubted.is_empty() {
        note.push(format!("FALSE, numbers that cannot be believed: {}", doubted.join(", ")));
    }
    let others: usize = courses.iter().map(|one| one.others).sum();
    if others > 0 {
        note.push(format!("{others} more cells of these lines are not drawn"));
    }
    match courses.len().saturating_sub(MOST_LINES) {
        0 => {}
        more => note.push(format!("lines that are not drawn: {more}")),
    }
    note
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_over_objects_are_those_of_each_interval_and_since_the_start() {
        let interval = |at_s: f64, done: u64, per_s: f64| Interval { at_s, done, per_s, bytes_per_s: 0.0 };
        let all = [interval(0.0, 500, 100.0), interval(5.0, 250, 50.0), interval(10.0, 0, 0.0)];
        let (each, since) = over_done(&all);
        assert_eq!(each, [(500.0, 100.0), (750.0, 50.0), (750.0, 0.0)]);
        assert_eq!(since, [(500.0, 100.0), (750.0, 75.0), (750.0, 50.0)]);
        for few in [&all[..0], &all[..1]] {
            assert_eq!(over_done(few).0.len(), few.len());
        }
        let many = vec![interval(0.0, 1, 1.0); 10 * MOST_POINTS];
        assert!(over_done(&many).0.len() <= MOST_POINTS && thinned(&many).count() <= MOST_POINTS);
    }
}
