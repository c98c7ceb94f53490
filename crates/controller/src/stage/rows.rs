//! The rows of a stage's timeline and its histograms, written as soon as they are complete.

use std::time::Duration;

use cosmark_archive::{IntervalLine, TimelineRow};
use cosmark_metrics::Snapshot;

use super::StageRun;
use super::peer::Launch;
use crate::tally::WorkInterval;

impl StageRun<'_, '_> {
    /// Writes what is complete; with `all`, whatever there is.
    pub(super) fn write_intervals(&mut self, all: bool) {
        let up_to = self.watermark(all);
        let Some(launch) = self.first_launch().cloned() else { return };
        self.write_slices(&launch, up_to, all);
        for interval in self.tally.take_work_intervals(up_to, all) {
            let lines = self.lines_of(&interval);
            self.job.dir.append_work_interval(self.index, usize::from(interval.work), lines);
        }
        for interval in self.tally.take_intervals(up_to, all, &self.stage) {
            let row = TimelineRow {
                ended: launch.origin() + interval.ended,
                seconds: interval.seconds,
                operations: interval.operations.iter().collect(),
            };
            self.job.dir.append_interval(self.index, &row);
        }
    }

    fn lines_of(&self, interval: &WorkInterval) -> Vec<IntervalLine> {
        let driver = self.name_of(interval.driver);
        let (start_s, end_s) = (interval.start.as_secs_f64(), interval.end.as_secs_f64());
        let line = |op| IntervalLine::of(&driver, interval.phase, start_s, end_s, op);
        interval.operations.iter().map(line).collect()
    }

    /// Who watches sees intervals grow.
    pub(super) fn show_open_intervals(&mut self) {
        if !self.job.dir.is_heard() {
            return;
        }
        let open = self.tally.open_work_intervals();
        let lines = open.iter().map(|interval| (usize::from(interval.work), self.lines_of(interval)));
        let lines = lines.collect();
        self.job.dir.show_open(self.index, lines);
    }

    /// The histogram log knows no drivers: a slice of all of them is one entry.
    fn write_slices(&mut self, launch: &Launch, up_to: Duration, all: bool) {
        let up_to_ns = u64::try_from(up_to.as_nanos()).unwrap_or(u64::MAX);
        let complete = |slice: &Snapshot| all || slice.end_ns <= up_to_ns;
        let ready: Vec<_> =
            self.slices.iter().filter(|(_, slice)| complete(slice)).map(|(key, _)| *key).collect();
        for slice in ready.iter().filter_map(|key| self.slices.remove(key)) {
            let start = launch.origin() + Duration::from_nanos(slice.start_ns);
            self.job.dir.append_histograms(self.index, start, &slice);
        }
    }
}
