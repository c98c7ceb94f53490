//! Opens any run with its verdict: one that COSBench made, and one whose process was killed, have none of their own and are
//! judged.

use std::path::Path;

use cosmark_archive::cosbench::CosbenchRun;
use cosmark_archive::{ArchiveError, Run, RunState, open_run};

use crate::cosbench::judge_cosbench;
use crate::judge::judged;

/// Opens the run in the directory `path`, of ours or of COSBench.
///
/// # Errors
/// As [`cosmark_archive::open_run`].
pub fn open_judged(path: &Path) -> Result<Run, ArchiveError> {
    let mut run = open_run(path)?;
    if run.record.made_by.is_some() {
        run.record.verdict = judge_cosbench(&CosbenchRun::open(path)?);
    } else if run.record.state == RunState::Killed {
        run.record = judged(&run, None);
    }
    Ok(run)
}
