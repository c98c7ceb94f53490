//! Opens any run with its verdict: one that COSBench made has none of its own and is judged.

use std::path::Path;

use cosmark_archive::cosbench::CosbenchRun;
use cosmark_archive::{ArchiveError, Run, open_run};

use crate::cosbench::judge_cosbench;

/// Opens the run in the directory `path`, of ours or of COSBench.
///
/// # Errors
/// As [`cosmark_archive::open_run`].
pub fn open_judged(path: &Path) -> Result<Run, ArchiveError> {
    let mut run = open_run(path)?;
    if run.record.made_by.is_some() {
        run.record.verdict = judge_cosbench(&CosbenchRun::open(path)?);
    }
    Ok(run)
}
