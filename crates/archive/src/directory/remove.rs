//! Takes a run that is over out of the archive. Its number is not given again (`.meta`), and the rows of COSBench's index files stay.

use std::fs;
use std::path::Path;

use crate::directory::files::has_record;
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

/// What is in the directory of a run before its record is; beside these only hidden files.
const OF_A_BEGINNING: [&str; 9] = [
    "workload-config.xml",
    "workload.yaml",
    "source",
    "histograms.hlog",
    "clients.csv",
    "intervals.csv",
    "events.csv",
    "workload.log",
    "scripts.log",
];

/// Deletes the directory of a run that was cut off before its record was written, and so before it asked anything of a store:
/// such a run may begin as if it never had. False for every other directory, and where it cannot be deleted.
#[must_use]
pub fn remove_unbegun(dir: &Path) -> bool {
    let is_directory = fs::symlink_metadata(dir).is_ok_and(|meta| meta.is_dir());
    let Some(mut entries) = fs::read_dir(dir).ok().filter(|_| is_directory && !has_record(dir)) else {
        return false;
    };
    let is_of_a_beginning = |entry: std::io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with('.') || OF_A_BEGINNING.contains(&name.as_ref())
        })
    };
    entries.all(is_of_a_beginning) && fs::remove_dir_all(dir).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_run_has_before_its_record_makes_it_one_that_never_began() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("w1-x");
        let begun = || {
            fs::create_dir(&dir).unwrap();
            OF_A_BEGINNING.iter().for_each(|name| fs::write(dir.join(name), "").unwrap());
            fs::write(dir.join(".run.json.tmp-7-0"), "").unwrap();
        };
        begun();
        for more in ["run.json", "s1-main.csv", "w1-x.csv", "mine.txt"] {
            fs::write(dir.join(more), "").unwrap();
            assert!(!remove_unbegun(&dir) && dir.join(more).exists(), "{more}");
            fs::remove_file(dir.join(more)).unwrap();
        }
        assert!(remove_unbegun(&dir) && !dir.exists());
        assert!(!remove_unbegun(&dir), "nothing is there");
        begun();
        let link = home.path().join("w2-link");
        std::os::unix::fs::symlink(&dir, &link).unwrap();
        assert!(!remove_unbegun(&link) && dir.join("source").exists());
    }
}
