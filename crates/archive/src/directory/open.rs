//! Opens a run, whoever left it: one of ours, one whose process was killed, one that still runs, one of COSBench's.

use std::path::Path;

use crate::cosbench::CosbenchRun;
use crate::directory::reader::{Run, read_record};
use crate::recover::rebuild;
use crate::{ArchiveError, RunState, StageRecord};

/// Reads the run in the directory `path`. Of one whose process was killed, what it had measured is put together from its files;
/// one that COSBench made is read from its tables, and its record says so (`made_by`). Nothing is written.
///
/// # Errors
/// When there is no run, its record is damaged, or a later Cosmark wrote it.
pub fn open_run(path: &Path) -> Result<Run, ArchiveError> {
    let record = match read_record(path) {
        Err(ArchiveError::NotARun { .. }) if path.is_dir() && CosbenchRun::is_at(path) => {
            CosbenchRun::open(path)?.record()
        }
        other => other?,
    };
    let mut run = Run { path: path.to_owned(), record };
    if run.record.state == RunState::Killed {
        drop(rebuild(&mut run));
    }
    Ok(run)
}

/// Reads the run in the directory `path` as far as it has come: the stage that goes on has what is on disk of it. Stages that have
/// not begun, or of which nothing is on disk, are left out.
///
/// # Errors
/// As [`open_run`].
pub fn open_so_far(path: &Path) -> Result<Run, ArchiveError> {
    let mut run = open_run(path)?;
    if run.record.state != RunState::Running {
        return Ok(run);
    }
    let mut rebuilt = Run { path: run.path.clone(), record: run.record.clone() };
    rebuild(&mut rebuilt);
    for (stage, found) in run.record.stages.iter_mut().zip(rebuilt.record.stages) {
        if !stage.state.is_over() && stage.operations.is_empty() {
            (stage.operations, stage.window_s) = (found.operations, found.window_s);
        }
    }
    let says = |stage: &&StageRecord| stage.state.is_over() || !stage.operations.is_empty();
    let begun = run.record.stages.iter().take_while(says).count();
    run.record.stages.truncate(begun);
    Ok(run)
}
