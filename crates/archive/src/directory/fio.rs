//! Runs whose load fio made: begun before it starts, so that a kill leaves a run which says so, and filled from what
//! it printed.

use std::fs;
use std::time::Duration;

use cosmark_metrics::{Latencies, OpSnapshot, Outcome, Phase, Snapshot};
use cosmark_workload::{Workload, to_expanded_xml, to_yaml};
use jiff::Timestamp;

use crate::csv::cosbench::{StageTables, TimelineRow};
use crate::directory::files::{safe_name, write_whole};
use crate::directory::run_dir::no_stage;
use crate::directory::{Archive, NewRun, leave_nothing};
use crate::fio::{Course, FioJob, FioOutput, Side, Step, workload_of};
use crate::{
    ArchiveError, FioJobRecord, FioRecord, HostRecord, IntervalLine, RunDir, RunRecord, RunState, StageState,
};

/// Who made the load, in `intervals.csv`.
const DRIVER: &str = "fio";

/// A run of fio before it starts.
#[derive(Debug, Clone)]
pub struct NewFio<'a> {
    /// Name of the run.
    pub name: &'a str,
    /// What it is, in a sentence.
    pub description: &'a str,
    /// Its jobs.
    pub jobs: &'a [FioJob],
    /// Bytes of memory of the machine that fio runs on; `None` where nobody said.
    pub memory_bytes: Option<u64>,
    /// This machine.
    pub host: HostRecord,
    /// When it was asked for.
    pub submitted: Timestamp,
}

/// A run of fio that is under way.
pub struct FioRun {
    dir: RunDir,
    workload: Workload,
    jobs: Vec<FioJob>,
}

/// One work of a stage with what came out.
struct Measured<'a> {
    job: &'a FioJob,
    sides: Vec<Option<&'a Side>>,
    window_s: f64,
    ops: Vec<OpSnapshot>,
}

impl Archive {
    /// Makes the directory of a run of fio.
    ///
    /// # Errors
    /// When anything cannot be written, or the jobs are none.
    pub fn begin_fio(&self, new: &NewFio<'_>) -> Result<FioRun, ArchiveError> {
        let refused = |problem: String| ArchiveError::Unreadable {
            path: self.root().to_owned(),
            problem,
            remedy: "give a name and jobs of which each reads or writes",
        };
        let workload = workload_of(new.name, new.description, new.jobs).map_err(refused)?;
        let mut dir = self.begin(&NewRun {
            number: None,
            workload: &workload,
            seed: None,
            source: None,
            config_xml: &to_expanded_xml(&workload, |_, _| false).0,
            config_yaml: &to_yaml(&workload),
            host: new.host.clone(),
            submitted: new.submitted,
        })?;
        let jobs = new.jobs.iter().map(|job| job.facts.clone()).collect();
        dir.record.fio = Some(FioRecord { memory_bytes: new.memory_bytes, jobs, ..FioRecord::default() });
        dir.write_record(true).inspect_err(|_| leave_nothing(dir.path()))?;
        Ok(FioRun { dir, workload, jobs: new.jobs.to_vec() })
    }
}

impl FioRun {
    /// The workload that it is archived as.
    #[must_use]
    pub fn workload(&self) -> &Workload {
        &self.workload
    }

    /// Its directory.
    #[must_use]
    pub fn dir(&self) -> &RunDir {
        &self.dir
    }

    /// fio starts.
    ///
    /// # Errors
    /// When the archive cannot be written.
    pub fn start(&mut self, at: Timestamp) -> Result<(), ArchiveError> {
        self.dir.set_load_started(0, at);
        self.dir.enter_stage(0, StageState::Running, at)
    }

    /// fio failed, or was ended: nothing was measured.
    ///
    /// # Errors
    /// When the archive cannot be written.
    pub fn fail(mut self, state: RunState, reason: &str) -> Result<RunRecord, ArchiveError> {
        let now = Timestamp::now().max(self.dir.record.submitted.unwrap_or(Timestamp::MIN));
        let mut record = self.dir.record.clone();
        let left = if state == RunState::Cancelled { StageState::Cancelled } else { StageState::Failed };
        for stage in &mut record.stages {
            stage.enter(if stage.started.is_some() { left } else { StageState::Aborted }, now);
            stage.reason = Some(reason.to_owned());
        }
        (record.state, record.reason, record.ended) = (state, Some(reason.to_owned()), Some(now));
        let tables = vec![StageTables::default(); record.stages.len()];
        self.dir.finish(&record, &tables)?;
        Ok(self.dir.record.clone())
    }

    /// Writes down what fio printed, and `courses`, the rates over time of its jobs where there are any, in their
    /// order. Gives the record without a verdict, and the tables, for [`Self::finish`]. `file` is the name that its
    /// JSON gets.
    ///
    /// # Errors
    /// When it is none of these jobs, or the archive cannot be written.
    pub fn add(
        &mut self,
        file: &str,
        output: &FioOutput,
        courses: &[Option<Course>],
    ) -> Result<(RunRecord, Vec<StageTables>), ArchiveError> {
        if output.jobs.len() != self.jobs.len() {
            return Err(ArchiveError::Unreadable {
                path: self.dir.path.clone(),
                problem: format!(
                    "fio printed {} jobs and {} were asked for",
                    output.jobs.len(),
                    self.jobs.len()
                ),
                remedy: "have fio run the jobs that the run was begun with",
            });
        }
        self.keep(file, output, courses)?;
        let workload = self.workload.clone();
        let ended = output.ended.filter(|at| *at <= Timestamp::now()).unwrap_or_else(Timestamp::now);
        let length = |job: &FioJob| job.facts.rampup_s + job.window_s();
        let mut first = 0;
        let mut places = Vec::new();
        for stage in &workload.stages {
            let jobs = first..first + stage.works.len();
            let own = output.jobs.get(jobs.clone()).unwrap_or_default();
            places.push((jobs.clone(), own.iter().map(length).fold(0.0, f64::max)));
            first = jobs.end;
        }
        let all_s: f64 = places.iter().map(|(_, length_s)| length_s).sum();
        // One group runs after the other, and the last one ended then.
        let submitted = self.dir.record.submitted.unwrap_or(Timestamp::MIN);
        let mut at = before(ended, all_s).max(submitted);
        let mut tables = Vec::with_capacity(places.len());
        for (stage, (jobs, length_s)) in places.into_iter().enumerate() {
            let own = output.jobs.get(jobs.clone()).unwrap_or_default();
            let planned = self.jobs.get(jobs.clone()).unwrap_or_default().to_vec();
            let works: Vec<Measured<'_>> =
                planned.iter().zip(own).map(|(plan, job)| measured(plan, job)).collect();
            let course = |job: usize| {
                let window_s = output.jobs.get(job)?.window_s();
                Some(courses.get(job)?.as_ref()?.steps_within(window_s))
            };
            let own_courses: Vec<Vec<Step>> = jobs.map(|job| course(job).unwrap_or_default()).collect();
            let end = after(at, length_s);
            tables.push(self.add_stage(stage, &workload, &works, &own_courses, (at, end))?);
            at = end;
        }
        let mut record = self.dir.record.clone();
        (record.state, record.ended) = (RunState::Finished, Some(at));
        Ok((record, tables))
    }

    /// Ends the run as `record`, which has its verdict.
    ///
    /// # Errors
    /// When the archive cannot be written.
    pub fn finish(mut self, record: &RunRecord, tables: &[StageTables]) -> Result<RunRecord, ArchiveError> {
        self.dir.finish(record, tables)?;
        Ok(self.dir.record.clone())
    }

    /// The JSON, and what it says of the jobs.
    fn keep(
        &mut self,
        file: &str,
        output: &FioOutput,
        courses: &[Option<Course>],
    ) -> Result<(), ArchiveError> {
        let directory = self.dir.path.join("source");
        fs::create_dir_all(&directory).map_err(ArchiveError::io("make directory", &directory))?;
        let name = safe_name(file);
        write_whole(&directory.join(&name), true, |out| out.write_all(output.text.as_bytes()))?;
        let facts = self.jobs.iter().zip(&output.jobs).enumerate().map(|(at, (plan, job))| {
            let mut facts = job.facts.clone();
            facts.stage.clone_from(&plan.facts.stage);
            facts.work.clone_from(&plan.facts.work);
            // fio repeats what it was given, which may count from the directory that it was in.
            if !plan.facts.target.is_empty() {
                facts.target.clone_from(&plan.facts.target);
            }
            facts.has_course = matches!(courses.get(at), Some(Some(_)));
            facts
        });
        let jobs: Vec<FioJobRecord> = facts.collect();
        let fio = self.dir.record.fio.get_or_insert_default();
        (fio.version, fio.file, fio.jobs) = (output.version.clone(), Some(name), jobs);
        self.dir.write_record(false)
    }

    fn add_stage(
        &mut self,
        index: usize,
        workload: &Workload,
        works: &[Measured<'_>],
        courses: &[Vec<Step>],
        (start, end): (Timestamp, Timestamp),
    ) -> Result<StageTables, ArchiveError> {
        let plan = workload.stages.get(index).ok_or_else(|| no_stage(index))?;
        if self.dir.record.stages.get(index).is_some_and(|stage| stage.started.is_none()) {
            self.dir.enter_stage(index, StageState::Running, start)?;
        }
        self.dir.set_load_started(index, start);
        for (at, (work, course)) in works.iter().zip(courses).enumerate() {
            self.add_course(index, at, work, course)?;
            let window = seconds(work.window_s);
            let snapshot = Snapshot {
                work: u16::try_from(at).unwrap_or(u16::MAX),
                phase: Phase::Window,
                start_ns: 0,
                end_ns: u64::try_from(window.as_nanos()).unwrap_or(u64::MAX),
                ops: work.ops.clone(),
            };
            self.dir.append_histograms(index, after(start, work.job.facts.rampup_s), &snapshot)?;
        }
        self.add_rows(index, works, courses.first().map(Vec::as_slice).unwrap_or_default(), start)?;
        let mut record = self.dir.record.stages.get(index).cloned().ok_or_else(|| no_stage(index))?;
        let results: Vec<(f64, Vec<OpSnapshot>)> =
            works.iter().map(|work| (work.window_s, work.ops.clone())).collect();
        record.set_results(plan, index, &results);
        record.forget_ages();
        let sides = works.iter().flat_map(|work| &work.sides);
        for (operation, side) in record.operations.iter_mut().zip(sides) {
            let Some(side) = side else { continue };
            let times: Latencies = side.times.latencies();
            (operation.response_ms, operation.service_ms) = (times.clone(), times);
            // fio's own rates are over its own time of that direction.
            operation.throughput_per_s = Some(side.iops);
            operation.bandwidth_bytes_per_s = Some(side.bytes_per_s);
        }
        record.enter(StageState::Completed, end);
        self.dir.end_stage(index, record)?;
        Ok(StageTables::of(works.iter().flat_map(|work| &work.ops)))
    }

    /// Lines of `intervals.csv`: one for each step of the course, or one for all of the measured time.
    fn add_course(
        &mut self,
        stage: usize,
        at: usize,
        work: &Measured<'_>,
        course: &[Step],
    ) -> Result<(), ArchiveError> {
        let ramp_s = work.job.facts.rampup_s;
        for (from_s, to_s, ops) in steps(work, course) {
            let line = |op| IntervalLine::of(DRIVER, Phase::Window, ramp_s + from_s, ramp_s + to_s, op);
            self.dir.append_work_interval(stage, at, ops.iter().map(line).collect())?;
        }
        Ok(())
    }

    /// Rows of the stage's timeline: of one work those of its course, of several one, because their steps are not
    /// the same.
    fn add_rows(
        &mut self,
        stage: usize,
        works: &[Measured<'_>],
        course: &[Step],
        start: Timestamp,
    ) -> Result<(), ArchiveError> {
        let [work] = works else {
            let window_s = works.iter().map(|work| work.window_s).fold(0.0, f64::max);
            let ramp_s = works.iter().map(|work| work.job.facts.rampup_s).fold(0.0, f64::max);
            let operations = works.iter().flat_map(|work| &work.ops).collect();
            let row = TimelineRow { ended: after(start, ramp_s + window_s), seconds: window_s, operations };
            return self.dir.append_interval(stage, &row);
        };
        for (from_s, to_s, ops) in steps(work, course) {
            let ended = after(start, work.job.facts.rampup_s + to_s);
            let row = TimelineRow { ended, seconds: to_s - from_s, operations: ops.iter().collect() };
            self.dir.append_interval(stage, &row)?;
        }
        Ok(())
    }
}

/// A length of a run, which is never longer than some days.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

fn after(at: Timestamp, by_s: f64) -> Timestamp {
    at.checked_add(seconds(by_s)).unwrap_or(at)
}

fn before(at: Timestamp, by_s: f64) -> Timestamp {
    at.checked_sub(seconds(by_s)).unwrap_or(at)
}

/// What a job came to, operation by operation as it was planned.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts and times in flight fit 53 bits"
)]
fn measured<'a>(plan: &FioJob, job: &'a FioJob) -> Measured<'a> {
    let window_s = job.window_s();
    let directions = [(plan.reads, &job.read), (plan.writes, &job.write)];
    let sides: Vec<Option<&Side>> =
        directions.into_iter().filter(|(share, _)| share.is_some()).map(|(_, side)| side.as_ref()).collect();
    let busy_s = |side: &Side| side.times.mean_ns.unwrap_or(0.0) * side.times.count as f64 / 1e9;
    let all_s: f64 = sides.iter().flatten().map(|side| busy_s(side)).sum();
    // What began before the measured time has its whole time in the mean: no more is in flight than was asked for.
    let room_s = window_s * f64::from(job.facts.depth.max(1));
    let part = if all_s > room_s { room_s / all_s } else { 1.0 };
    let most = sides.iter().flatten().map(|side| side.ios).max();
    let mut failed = job.failed;
    let op = |side: &Option<&Side>| {
        let Some(side) = side else { return OpSnapshot::default() };
        let own = if Some(side.ios) == most { std::mem::take(&mut failed) } else { 0 };
        OpSnapshot {
            ok: side.ios,
            bytes: side.bytes,
            failed: own,
            errors: (own > 0).then(|| (Outcome::failed("other"), own)).into_iter().collect(),
            service: side.times.distribution(),
            in_flight_ns: (busy_s(side) * part * 1e9) as u128,
            ..OpSnapshot::default()
        }
    };
    let ops = sides.iter().map(op).collect();
    Measured { job, sides, window_s, ops }
}

/// The counts of each step: begin and end in seconds of the measured time, and one entry for each operation. Without
/// a course the measured time is one step.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts and times in flight fit 53 bits"
)]
fn steps(work: &Measured<'_>, course: &[Step]) -> Vec<(f64, f64, Vec<OpSnapshot>)> {
    if course.is_empty() {
        return vec![(0.0, work.window_s, work.ops.clone())];
    }
    let reads = work.job.read.as_ref();
    let step = |step: &Step| {
        let ops = work.sides.iter().zip(&work.ops).map(|(side, whole)| {
            let Some(side) = side else { return OpSnapshot::default() };
            let is_read = reads.is_some_and(|reads| std::ptr::eq(reads, *side));
            let ok = if is_read { step.reads } else { step.writes };
            let share = (step.to_s - step.from_s) / work.window_s.max(f64::MIN_POSITIVE);
            OpSnapshot {
                ok,
                bytes: (ok as f64 * side.bytes as f64 / side.ios.max(1) as f64).round() as u64,
                in_flight_ns: (whole.in_flight_ns as f64 * share.clamp(0.0, 1.0)) as u128,
                ..OpSnapshot::default()
            }
        });
        (step.from_s, step.to_s, ops.collect())
    };
    course.iter().map(step).collect()
}
