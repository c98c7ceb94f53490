//! Ends a run whose process is gone: what was on disk is judged and archived as for any other run.

use std::path::Path;

use cosmark_archive::{Archive, ArchiveError, GoalStatus, KilledRun, Run, RunRecord, StageRecord};
use cosmark_metrics::FaultResult;
use cosmark_workload::Workload;
use cosmark_workload::model::Stage;

use crate::thresholds::{self, Measured};

/// Judges what the faults of a stage cost from what is on disk of a run: of the stage at this place of its record.
pub type JudgesFaults = fn(&Run, &Stage, usize) -> Vec<FaultResult>;

/// Ends the run in `dir` of `archive`, whose process is gone, and gives its record; `None` when it was over and everything of it is
/// there. May be killed itself and begun again. `reason` = why it was over, where the caller knows more than the archive does;
/// `is_gone` = the caller knows that nobody writes it; `judges` says what its faults cost.
///
/// # Errors
/// When somebody writes it, or may; when it cannot be read or written.
pub fn recover(
    archive: &Archive,
    dir: &Path,
    reason: Option<&str>,
    is_gone: bool,
    judges: JudgesFaults,
) -> Result<Option<RunRecord>, ArchiveError> {
    let Some(mut killed) = archive.take_up_killed(dir, is_gone)? else { return Ok(None) };
    if !killed.was_over {
        if let Some(reason) = reason {
            killed.run.record.reason = Some(reason.to_owned());
        }
        judge_faults(&mut killed, judges);
        killed.run.record = cosmark_verdict::judged(&killed.run, killed.workload.as_ref());
        killed.run.record.thresholds = undecided(&killed);
    }
    let record = killed.run.record.clone();
    killed.end(&record).map(Some)
}

/// Slots that were over are judged as in any other run.
fn judge_faults(killed: &mut KilledRun, judges: JudgesFaults) {
    let Some(workload) = &killed.workload else { return };
    for at in 0..killed.run.record.stages.len() {
        let was_cut = |record: &&StageRecord| record.cut_s.is_some() && !record.faults.is_empty();
        let record = killed.run.record.stages.get(at).filter(was_cut);
        let stage = record.and_then(|record| stage_of(workload, record, at));
        let Some(faults) = stage.map(|stage| judges(&killed.run, stage, at)) else { continue };
        if let Some(record) = killed.run.record.stages.get_mut(at) {
            record.faults = faults;
        }
    }
}

/// A search puts stages of its own in, and the workload may not know all of them.
fn stage_of<'a>(workload: &'a Workload, record: &StageRecord, at: usize) -> Option<&'a Stage> {
    let same = |stage: &&Stage| stage.name == record.name;
    let stages = &workload.stages;
    stages.get(at).filter(same).or_else(|| stages.iter().find(same))
}

/// Thresholds are judged by what was measured over time, which went with the process.
fn undecided(killed: &KilledRun) -> Vec<cosmark_archive::ThresholdRecord> {
    let stages = |workload: &Workload| -> Vec<_> {
        let of = |(at, record): (usize, &StageRecord)| {
            let stage = stage_of(workload, record, at)?;
            Some(thresholds::judge(stage, &record.id, &Measured::default()))
        };
        killed.run.record.stages.iter().enumerate().filter_map(of).flatten().collect()
    };
    let mut found = killed.workload.as_ref().map(stages).unwrap_or_default();
    for threshold in &mut found {
        threshold.status = GoalStatus::NotDecided;
        threshold.message = "the run was cut before this could be judged".to_owned();
    }
    found
}
