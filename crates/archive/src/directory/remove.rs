//! Takes a run that is over out of the archive. Its number is not given again (`.meta`), and the rows of COSBench's index files stay.

use std::fs;
use std::path::Path;

use crate::directory::index::baselines;
use crate::directory::open::open_run;
use crate::{ArchiveError, RunState};

/// Deletes the directory of a run with everything in it.
///
/// # Errors
/// When it runs, is a baseline or was made by another program ([`ArchiveError::InUse`]); when it cannot be read or deleted. What was
/// begun is gone from the archive either way: the directory is renamed before anything in it is deleted.
pub fn remove_run(dir: &Path) -> Result<(), ArchiveError> {
    let in_use = |why: &str| ArchiveError::InUse { path: dir.to_owned(), why: why.to_owned() };
    let (Some(root), Some(name)) = (dir.parent(), dir.file_name()) else {
        return Err(in_use("it is no directory of an archive"));
    };
    let record = open_run(dir)?.record;
    if record.made_by.is_some() {
        return Err(in_use("another program made it; delete its directory by hand"));
    }
    if record.state == RunState::Running {
        return Err(in_use("it runs, or nobody has seen its end; end it first"));
    }
    let name = name.to_string_lossy();
    if baselines(root)?.values().any(|baseline| *baseline == name) {
        return Err(in_use("it is the baseline of its workload; choose another one, or none, first"));
    }
    let gone = root.join(format!(".deleted-{name}"));
    if gone.exists() {
        fs::remove_dir_all(&gone).map_err(ArchiveError::io("delete", &gone))?;
    }
    fs::rename(dir, &gone).map_err(ArchiveError::io("delete", dir))?;
    fs::remove_dir_all(&gone).map_err(ArchiveError::io("delete", &gone))
}
