//! Ends a run whose process is gone: what was on disk is judged and archived as for any other run.

use std::path::Path;

use cosmark_archive::{Archive, ArchiveError, GoalStatus, KilledRun, RunRecord, StageRecord};
use cosmark_workload::Workload;
use cosmark_workload::model::Stage;

use crate::thresholds::{self, Measured};

/// Ends the run in `dir` of `archive`, whose process is gone, and gives its record; `None` when it was over and everything of it is
/// there. May be killed itself and begun again. `reason` = why it was over, where the caller knows more than the archive does;
/// `is_gone` = the caller knows that nobody writes it.
///
/// # Errors
/// When somebody writes it, or may; when it cannot be read or written.
pub fn recover(
    archive: &Archive,
    dir: &Path,
    reason: Option<&str>,
    is_gone: bool,
) -> Result<Option<RunRecord>, ArchiveError> {
    let Some(mut killed) = archive.take_up_killed(dir, is_gone)? else { return Ok(None) };
    if !killed.was_over {
        if let Some(reason) = reason {
            killed.run.record.reason = Some(reason.to_owned());
        }
        killed.run.record = cosmark_verdict::judged(&killed.run, killed.workload.as_ref());
        killed.run.record.thresholds = undecided(&killed);
    }
    let record = killed.run.record.clone();
    killed.end(&record).map(Some)
}

/// Thresholds are judged by what was measured over time, which went with the process.
fn undecided(killed: &KilledRun) -> Vec<cosmark_archive::ThresholdRecord> {
    let stages = |workload: &Workload| -> Vec<_> {
        // A search puts stages of its own in, and the workload may not know all of them.
        let of = |(at, record): (usize, &StageRecord)| {
            let same = |stage: &&Stage| stage.name == record.name;
            let stages = &workload.stages;
            let stage = stages.get(at).filter(same).or_else(|| stages.iter().find(same))?;
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
