//! One workload from its first stage to its archive.

use std::sync::Arc;
use std::time::Duration;

use cosmark_archive::{
    ArchiveError, DurabilityRecord, GoalStatus, Run, RunDir, RunRecord, RunState, ScriptLevel, SearchRecord,
    StageRecord, StageState, StageTables, ThresholdRecord, note_full,
};
use cosmark_wire::TriggerOrder;
use cosmark_workload::model::{Stage, Trigger, Work, WorkKind, Workload};

use crate::job::{EndClass, RunJob, StopLevel};
use crate::observe::Observer;
use crate::stage::{StageRun, cannot_be_measured};
use crate::{read_back, search, thresholds};

/// A run that is over and archived.
#[derive(Debug)]
pub struct Ended {
    /// What `run.json` says.
    pub record: RunRecord,
    /// Where it is.
    pub path: std::path::PathBuf,
    /// How it ended.
    pub class: EndClass,
    /// Why the archive is not complete, if it is not.
    pub archive_trouble: Option<ArchiveError>,
    /// What `run.json` could not be told, for somebody who can wait.
    pub unwritten: Option<Unwritten>,
}

/// Where the disk is so full that no room can be reserved for the end of a run.
const NO_ROOM: &str = "the disk of the archive has no room for what this run comes to: free some while it goes on, or its results are \
                       lost when it ends";

/// Runs it to its end, whatever happens on the way.
pub async fn run_workload(mut job: RunJob<'_>, observer: &mut dyn Observer) -> Ended {
    let workload = job.workload;
    let mut progress = RunProgress {
        tables: Vec::new(),
        class: EndClass::Finished,
        reason: None,
        only_deletes: false,
        durability: None,
    };
    let mut goals = Goals::default();
    job.dir.reserve_for_nodes(&job.idle_nodes);
    if !job.dir.has_room() {
        job.dir.log("WARN", "controller", NO_ROOM);
        observer.note(NO_ROOM);
    }
    trigger(&mut job, workload.trigger.as_ref(), ScriptLevel::Workload, false, observer).await;
    let read_back_before = read_back::due_before(workload);
    if let Some(why) = cannot_be_measured(&mut job) {
        progress.enter(EndClass::Workload, || why);
    }
    for (planned, stage) in workload.stages.iter().enumerate() {
        job.planned_stage = planned;
        if read_back_before == Some(planned) {
            progress.read_back(&mut job, observer).await;
        }
        let index = progress.tables.len();
        if !progress.goes_on(&mut job, stage, observer) {
            job.dir.enter_stage(index, StageState::Aborted);
            progress.tables.push(StageTables::default());
            continue;
        }
        trigger(&mut job, stage.trigger.as_ref(), ScriptLevel::Stage(index), false, observer).await;
        match &stage.search {
            Some(search) => {
                let ended = search::run(&mut job, stage, search, index, observer).await;
                progress.tables.extend(ended.tables);
                progress.enter(ended.class, || ended.reason);
                goals.searches.push(ended.record);
            }
            None => {
                let of = job.dir.record().stages.len();
                let ended = StageRun::new(&mut job, Arc::new(stage.clone()), index, of).run(observer).await;
                progress.tables.push(ended.tables);
                progress.enter(ended.class, || format!("stage {}: {}", stage.id(index), ended.reason));
                let judged = thresholds::judge(stage, &stage.id(index), &ended.measured);
                let open = judged.iter().find(|one| one.status != GoalStatus::Pass);
                if let Some(open) = open {
                    let (id, word) = (stage.id(index), open.status.word());
                    progress.enter(EndClass::Missed, || format!("stage {id}: {} {word}", open.threshold));
                }
                goals.thresholds.extend(judged);
            }
        }
        trigger(&mut job, stage.trigger.as_ref(), ScriptLevel::Stage(index), true, observer).await;
    }
    if read_back_before == Some(workload.stages.len()) {
        progress.read_back(&mut job, observer).await;
    }
    trigger(&mut job, workload.trigger.as_ref(), ScriptLevel::Workload, true, observer).await;
    finish(job, progress, goals, observer).await
}

/// How the run has gone so far.
struct RunProgress {
    /// One entry per stage of the archive.
    tables: Vec<StageTables>,
    class: EndClass,
    reason: Option<String>,
    /// The user has ended it; what is left to do is to delete what was written.
    only_deletes: bool,
    /// What became of what the store acknowledged.
    durability: Option<DurabilityRecord>,
}

/// What the workload asked for beyond running.
#[derive(Default)]
struct Goals {
    thresholds: Vec<ThresholdRecord>,
    searches: Vec<SearchRecord>,
}

impl RunProgress {
    /// Whether `stage` is to be run after all that has happened.
    fn goes_on(&mut self, job: &mut RunJob<'_>, stage: &Stage, observer: &mut dyn Observer) -> bool {
        let level = *job.stop.borrow();
        if level != StopLevel::Run && self.class == EndClass::Finished {
            self.class = EndClass::Cancelled;
        }
        let begun = self.tables.iter().any(|tables| !tables.operations.is_empty());
        let cancelled = self.class == EndClass::Cancelled && job.tidies_up && begun;
        if cancelled && level == StopLevel::Finish && !self.only_deletes {
            observer.note("deleting what was written (Ctrl-C again: at once)");
            job.stop_only_at_once();
            self.only_deletes = true;
        }
        if self.only_deletes {
            let deletes = |work: &Work| matches!(work.kind, WorkKind::Cleanup | WorkKind::Dispose);
            return *job.stop.borrow() == StopLevel::Run && stage.works.iter().all(deletes);
        }
        level == StopLevel::Run
            && matches!(self.class, EndClass::Finished | EndClass::Failed | EndClass::Missed)
    }

    /// What the store acknowledged is read back, if it is time for that.
    async fn read_back(&mut self, job: &mut RunJob<'_>, observer: &mut dyn Observer) {
        self.durability = read_back::read_back(job, observer).await;
        let broken = self.durability.as_ref().filter(|record| record.broken() > 0);
        if let Some(words) = broken.map(DurabilityRecord::broken_words) {
            self.enter(EndClass::Missed, || format!("what the store acknowledged is not there: {words}"));
        }
    }

    /// A stage that failed weighs more than a goal that was missed; the first of each kind is told.
    fn enter(&mut self, class: EndClass, reason: impl FnOnce() -> String) {
        let graver = match class {
            _ if self.only_deletes => false,
            EndClass::Finished => false,
            EndClass::Missed => self.class == EndClass::Finished,
            _ => true,
        };
        if !graver {
            return;
        }
        if self.class == EndClass::Missed {
            self.reason = None;
        }
        self.class = class;
        self.reason.get_or_insert_with(reason);
    }
}

async fn finish(
    mut job: RunJob<'_>,
    progress: RunProgress,
    goals: Goals,
    observer: &mut dyn Observer,
) -> Ended {
    let RunProgress { tables, class, reason, only_deletes: _, durability } = progress;
    job.keep_nodes(tables.len());
    if let Some((log, _)) = job.operation_log.take() {
        let has_table = log.has_table();
        match log.finish() {
            Ok(_) if !has_table => {}
            Ok(rows) => observer.note(&format!("operation log: {rows} operations")),
            Err(error) => observer.note(&format!("the operation log is incomplete: {error}")),
        }
    }
    let mut record = job.dir.record().clone();
    record.state = match class {
        EndClass::Finished | EndClass::Missed => RunState::Finished,
        EndClass::Failed => RunState::Failed,
        EndClass::Cancelled => RunState::Cancelled,
        EndClass::Target | EndClass::Workload | EndClass::Internal => RunState::Terminated,
    };
    record.reason = match class {
        EndClass::Finished => None,
        EndClass::Cancelled => Some("cancelled by the user".to_owned()),
        _ => reason,
    };
    if leaves_something(job.workload, &record) {
        let id = &record.id;
        observer.note(&format!(
            "what it wrote may still be in the store: `cosmark clean {id} --dry-run` shows it, without --dry-run it goes"
        ));
    }
    record.ended = Some(job.dir.now());
    record.process = None;
    (record.thresholds, record.searches) = (goals.thresholds, goals.searches);
    for fill in record.stages.iter_mut().filter_map(|stage| stage.fill.as_mut()) {
        let name = fill.dataset.clone();
        match note_full(job.dir.path(), fill) {
            Ok(None) => {}
            Ok(Some(behind)) => observer.note(&format!(
                "data set {name}: {behind} objects lie behind the first that is missing, and later runs do not read them: the same \
                 command writes what is missing"
            )),
            Err(error) => {
                observer.note(&format!("how many objects the data set {name} has is not known: {error}"));
            }
        }
    }
    record.durability.extend(durability);
    let path = job.dir.path().to_owned();
    let run = Run { path: path.clone(), record };
    let mut record = cosmark_verdict::judged(&run, Some(job.workload));
    record.idle_nodes = std::mem::take(&mut job.idle_nodes);
    record.bottlenecks = cosmark_verdict::bottlenecks(&record);
    if let Some((directory, limits)) = job.raw_limits.take() {
        record.raw_limits = Some(directory);
        record.stages.iter_mut().for_each(|stage| stage.efficiency = limits.shares(&stage.operations));
    }
    job.dir.finish(&record, &tables);
    if !job.dir.says_its_end() {
        wait_for_room(&mut job, &record, &tables, observer).await;
    }
    let unwritten = !job.dir.says_its_end();
    let (dir, archive_trouble) = job.dir.into_parts();
    let unwritten = unwritten.then(|| Unwritten { dir, record: record.clone(), tables });
    Ended { path, record, class, archive_trouble, unwritten }
}

/// A stage that was to delete what others wrote never began.
fn leaves_something(workload: &Workload, record: &RunRecord) -> bool {
    let deletes = |work: &Work| matches!(work.kind, WorkKind::Cleanup | WorkKind::Dispose);
    let begun = |stage: &StageRecord| stage.history.iter().any(|change| change.state == StageState::Running);
    let stages = || workload.stages.iter().zip(&record.stages);
    stages().any(|(_, stage)| begun(stage))
        && stages().any(|(plan, stage)| plan.works.iter().any(deletes) && !begun(stage))
}

/// How long the end of a run waits for room on the archive's disk.
const ROOM_PATIENCE: Duration = Duration::from_secs(20);
/// The same when the user wants it to end.
const SHORT_ROOM_PATIENCE: Duration = Duration::from_secs(2);

/// Tries again to write down how it ended, for a while.
async fn wait_for_room(
    job: &mut RunJob<'_>,
    record: &RunRecord,
    tables: &[StageTables],
    observer: &mut dyn Observer,
) {
    let patience = if *job.stop.borrow() == StopLevel::Run { ROOM_PATIENCE } else { SHORT_ROOM_PATIENCE };
    observer.note(&format!(
        "the end of the run cannot be written; it is tried again for {} s: free some space, or Ctrl-C",
        patience.as_secs()
    ));
    let until = tokio::time::Instant::now() + patience;
    let mut stop = job.stop.clone();
    stop.mark_unchanged();
    while tokio::time::Instant::now() < until && !job.dir.says_its_end() {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(500)) => {}
            Ok(()) = stop.changed() => return,
        }
        job.dir.finish(record, tables);
    }
}

/// The end of a run for which the archive had no room.
pub struct Unwritten {
    dir: RunDir,
    record: RunRecord,
    tables: Vec<StageTables>,
}

impl Unwritten {
    /// Tries again; true when everything is there.
    pub fn write(&mut self) -> bool {
        self.dir.finish(&self.record, &self.tables).is_ok()
    }
}

impl std::fmt::Debug for Unwritten {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the end of {}", self.record.id)
    }
}

/// A script that takes longer is not waited for.
const TRIGGER_PATIENCE: Duration = Duration::from_secs(90);

/// Runs a trigger on every driver; one that fails is told and does not stop the run.
async fn trigger(
    job: &mut RunJob<'_>,
    trigger: Option<&Trigger>,
    level: ScriptLevel,
    is_end: bool,
    observer: &mut dyn Observer,
) {
    let Some(trigger) = trigger else { return };
    let args = if is_end { vec!["-k".to_owned()] } else { trigger.args.clone() };
    let order = TriggerOrder { script: trigger.script.clone(), args };
    let step = job.next_step();
    let there = job.drivers.iter_mut().filter_map(|driver| driver.is_there(step).then_some(driver));
    let mut reports: Vec<_> = there.map(|driver| driver.trigger(step, order.clone())).collect();
    let mut stop = job.stop.clone();
    let until = tokio::time::Instant::now() + TRIGGER_PATIENCE;
    for report in &mut reports {
        let report = tokio::select! {
            report = tokio::time::timeout_at(until, report.recv()) => report.ok().flatten(),
            _ = stop.wait_for(|level| *level == StopLevel::Abort) => None,
        };
        let Some(report) = report else {
            observer.note(&format!("trigger {}: no report from a driver", order.script));
            continue;
        };
        let output = (job.redact)(&report.output);
        job.dir.script_output(level, &output);
        if let Some(error) = report.error {
            let text = (job.redact)(&error);
            observer.note(&text);
            job.dir.log("WARN", "Trigger", &text);
        }
    }
}
