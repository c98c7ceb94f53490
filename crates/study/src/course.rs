//! What happened within a run, interval by interval.

use cosmark_report::plot::PlotRun;

use crate::measured::Files;

/// An interval of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Interval {
    /// Its end in seconds after the end of the first one.
    pub at_s: f64,
    /// Operations that succeeded in it.
    pub done: u64,
    /// The same per second.
    pub per_s: f64,
    /// Their body bytes per second.
    pub bytes_per_s: f64,
}

/// Where intervals come from.
pub trait Courses {
    /// The intervals of an operation in a stage of the run at a place; empty where there are none.
    fn intervals(&self, place: &str, stage: &str, op: &str) -> Vec<Interval>;
}

impl Courses for Files<'_> {
    fn intervals(&self, place: &str, stage: &str, op: &str) -> Vec<Interval> {
        self.run_directory(place)
            .and_then(|directory| PlotRun::open(&directory, None).ok())
            .map(|run| of_run(&run, stage, op))
            .unwrap_or_default()
    }
}

/// Operations that do the same are one.
fn of_run(run: &PlotRun, stage: &str, op: &str) -> Vec<Interval> {
    let Some((index, stage)) = run.stages.iter().enumerate().find(|(_, one)| one.name == stage) else {
        return Vec::new();
    };
    let own: Vec<usize> = (0..stage.operations.len()).filter(|at| stage.operations[*at].op == op).collect();
    let interval = |(at_s, entry): &(f64, cosmark_archive::TimelineEntry)| {
        let mut interval = Interval { at_s: *at_s, ..Interval::default() };
        for value in own.iter().filter_map(|at| entry.operations.get(*at)) {
            interval.done += value.count;
            interval.per_s += value.throughput_per_s;
            interval.bytes_per_s += value.bandwidth_bytes_per_s;
        }
        interval
    };
    run.timeline(index).unwrap_or_default().iter().map(interval).collect()
}
