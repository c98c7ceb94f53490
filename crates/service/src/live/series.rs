//! The course of a run's stages for those who watch: filled by what goes into the archive, shown as the report shows it. Each
//! client is told what changed since it was last told; who comes late, or falls behind, is told everything there is.

use std::collections::{BTreeSet, VecDeque};

use cosmark_archive::{MissingRecord, StageRecord, TimeKind, Timestamp};
use cosmark_controller::{Measured, SliceNews};
use cosmark_metrics::{OpSnapshot, OperationResult, PartSums};
use cosmark_report::data::{
    Detail, PartName, PartSlice, SeriesNews, SeriesShown, StageSeries, missing_spans,
};
use cosmark_workload::Workload;
use cosmark_workload::model::Stage;

/// Stages in memory: the one that runs and the one before it. Earlier ones are in the archive.
const MOST_STAGES: usize = 2;
/// With more drivers or endpoints those that come later are left out: the archive has them.
const MOST_PARTS: usize = 64;
/// Changes that are remembered; who knows none of them is told everything.
const MOST_CHANGES: usize = 64;

/// The course of one stage.
struct Course {
    index: usize,
    id: String,
    series: StageSeries,
    results: Vec<OperationResult>,
    window_s: Option<f64>,
    missing: Vec<MissingRecord>,
    drivers: BTreeSet<String>,
    endpoints: BTreeSet<String>,
    left_out: BTreeSet<String>,
    /// Number of the last change, and where the last ones begin, microseconds since the load began.
    version: u64,
    changes: VecDeque<(u64, u64)>,
}

/// The course of a run.
#[derive(Default)]
pub struct Courses {
    /// How finely they are shown.
    pub(super) detail: Option<Detail>,
    courses: VecDeque<Course>,
}

/// What one client was told of a run's course.
#[derive(Debug, Default)]
pub struct CourseSeen {
    stages: Vec<(usize, u64, SeriesShown)>,
}

impl Courses {
    /// As finely as the report of `workload` shows it.
    pub fn show_as_report(&mut self, workload: &Workload) {
        let operations = workload.stages.iter().flat_map(|stage| &stage.works);
        self.detail = Some(Detail::for_operations(operations.map(|work| work.operations.len()).sum()));
    }

    /// A stage begins; one that begins anew forgets what it was.
    pub fn begin(&mut self, stage: &Stage, index: usize) {
        let nothing: Vec<_> = stage
            .works
            .iter()
            .map(|work| (0.0, vec![OpSnapshot::default(); work.operations.len()]))
            .collect();
        let mut record = StageRecord::waiting(stage, index, Timestamp::UNIX_EPOCH);
        record.set_results(stage, index, &nothing);
        let results = record.operations;
        let detail = self.detail.unwrap_or_else(|| Detail::for_operations(results.len()));
        self.courses.retain(|course| course.index != index);
        self.courses.push_back(Course {
            index,
            id: stage.id(index),
            series: StageSeries::new(results.len(), detail),
            results,
            window_s: None,
            missing: Vec::new(),
            drivers: BTreeSet::new(),
            endpoints: BTreeSet::new(),
            left_out: BTreeSet::new(),
            version: 0,
            changes: VecDeque::new(),
        });
        while self.courses.len() > MOST_STAGES {
            self.courses.pop_front();
        }
    }

    fn of(&mut self, index: usize) -> Option<&mut Course> {
        self.courses.iter_mut().find(|course| course.index == index)
    }

    /// Adds what went into the archive.
    pub fn add(&mut self, index: usize, measured: &Measured<'_>) {
        let Some(course) = self.of(index) else { return };
        match measured {
            Measured::Interval { first, lines } => {
                (*first..).zip(*lines).for_each(|(at, line)| course.series.add_interval(at, line));
            }
            Measured::Open(intervals) => {
                let lines = intervals.iter().flat_map(|(first, lines)| (*first..).zip(lines));
                course.series.set_open(lines);
            }
            Measured::Client(lines) => {
                for line in *lines {
                    if course.admits(&line.driver, |course| &mut course.drivers) {
                        course.series.add_client(line);
                    }
                }
            }
            Measured::Nodes { began_ns, looks } => {
                looks.iter().for_each(|look| course.series.add_node(look, *began_ns));
            }
            Measured::Slice { first, start_s, length_s, snapshot } => {
                let span = (*start_s, *length_s);
                for (at, op) in (*first..).zip(&snapshot.ops) {
                    for (kind, times) in
                        TimeKind::ALL.into_iter().filter_map(|kind| Some((kind, kind.of(op)?)))
                    {
                        course.series.add_times(at, kind, snapshot.phase, span, times.steps());
                    }
                }
            }
        }
    }

    /// Adds what one driver told, for the lines of single drivers and endpoints.
    pub fn add_slice(&mut self, slice: &SliceNews<'_>, several: bool) {
        let Some(course) = self.of(slice.index) else { return };
        let before = slice.stage.works.iter().take(usize::from(slice.snapshot.work));
        let first: usize = before.map(|work| work.operations.len()).sum();
        for (at, op) in (first..).zip(&slice.snapshot.ops) {
            if several && course.admits(slice.driver, |course| &mut course.drivers) {
                let name = PartName::Driver(slice.driver.to_owned());
                let part = PartSlice::of(op.ok, op.failed, op.bytes, op.response_or_service());
                course.add_part(at, name, slice, &part);
            }
            for (number, sums) in (1..).zip(&op.endpoints) {
                // A driver that does not tell their names.
                let name = slice.endpoints.get(number - 1).cloned().unwrap_or_else(|| number.to_string());
                if course.admits(&name, |course| &mut course.endpoints) {
                    course.add_part(at, PartName::Endpoint(name), slice, &part_of(sums));
                }
            }
        }
    }

    /// The results so far of a stage.
    pub fn set_results(&mut self, record: &StageRecord) {
        let Some(course) = self.courses.iter_mut().find(|course| course.id == record.id) else { return };
        if !record.operations.is_empty() {
            course.results.clone_from(&record.operations);
            course.missing.clone_from(&record.missing);
            course.window_s = record.window_s;
            course.changed_at(u64::MAX);
        }
    }

    /// Drivers of a stage whose part is missing now.
    pub fn set_missing(&mut self, index: usize, missing: &[MissingRecord]) {
        if let Some(course) = self.of(index) {
            course.missing = missing.to_vec();
            course.changed_at(u64::MAX);
        }
    }

    /// What has changed since `seen`, which then says what was told.
    pub fn news(&mut self, seen: &mut CourseSeen) -> Vec<SeriesNews> {
        let indices: Vec<usize> = self.courses.iter().map(|course| course.index).collect();
        seen.stages.retain(|(index, ..)| indices.contains(index));
        let mut all = Vec::new();
        for course in &mut self.courses {
            if let Some(changed_us) = course.series.take_changed_us() {
                course.changed_at(changed_us);
            }
            let at = seen.stages.iter().position(|(index, ..)| *index == course.index).unwrap_or_else(|| {
                seen.stages.push((course.index, 0, SeriesShown::default()));
                seen.stages.len() - 1
            });
            if let Some((_, version, shown)) = seen.stages.get_mut(at) {
                all.extend(course.news(version, shown));
            }
        }
        all
    }
}

impl Course {
    fn changed_at(&mut self, changed_us: u64) {
        self.version += 1;
        self.changes.push_back((self.version, changed_us));
        while self.changes.len() > MOST_CHANGES {
            self.changes.pop_front();
        }
    }

    fn news(&self, version: &mut u64, shown: &mut SeriesShown) -> Option<SeriesNews> {
        if *version >= self.version {
            return None;
        }
        let knows_the_rest = self.changes.front().is_some_and(|(oldest, _)| *oldest <= *version + 1);
        let missed = self.changes.iter().filter(|(number, _)| *number > *version);
        let changed_us = if knows_the_rest { missed.map(|(_, us)| *us).min().unwrap_or(0) } else { 0 };
        let left_out = u32::try_from(self.left_out.len()).unwrap_or(u32::MAX);
        let news = self.series.news(&self.id, self.window_s, &self.results, changed_us, shown)?;
        *version = self.version;
        let mut phases = news.phases;
        phases.extend(missing_spans(&self.missing, news.time.end_s));
        Some(SeriesNews { left_out, phases, ..news })
    }

    /// Whether a part has a line of its own.
    fn admits(&mut self, name: &str, of: impl Fn(&mut Self) -> &mut BTreeSet<String>) -> bool {
        let known = of(self);
        if known.contains(name) {
            return true;
        }
        if known.len() < MOST_PARTS {
            return known.insert(name.to_owned());
        }
        if !self.left_out.contains(name) {
            self.left_out.insert(name.to_owned());
        }
        false
    }

    #[expect(clippy::cast_precision_loss, reason = "seconds of a run")]
    fn add_part(&mut self, operation: usize, name: PartName, slice: &SliceNews<'_>, part: &PartSlice) {
        let snapshot = slice.snapshot;
        let start_s = snapshot.start_ns.saturating_sub(slice.start_ns) as f64 / 1e9;
        let length_s = snapshot.end_ns.saturating_sub(snapshot.start_ns) as f64 / 1e9;
        self.series.add_part(operation, name, snapshot.phase, (start_s, length_s), part);
    }
}

fn part_of(sums: &PartSums) -> PartSlice {
    let times = if sums.response.count() > 0 { &sums.response } else { &sums.service };
    PartSlice::of(sums.ok, sums.failed, sums.bytes, times)
}
