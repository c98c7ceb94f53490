//! What the machines of a store can do by themselves, as an entry of the archive of its own: a run without stages, with
//! `baseline.json`.

use std::fs;
use std::path::{Path, PathBuf};

use cosmark_metrics::RawLimits;
use jiff::Timestamp;

use crate::directory::files::{read_bounded, run_directory, safe_name, write_whole};
use crate::directory::{Archive, leave_nothing};
use crate::{ArchiveError, HostRecord, RunRecord, RunState};

const FILE: &str = "baseline.json";
/// More is none of ours: a thousand machines of a hundred disks need about 100 MB.
const MOST_BYTES: u64 = 256 << 20;
/// Directories are called `w7-baseline-NAME`.
const NAMED: &str = "-baseline-";

impl Archive {
    /// Adds an entry for the machines of a target; gives its directory.
    ///
    /// # Errors
    /// When anything cannot be written.
    pub fn keep_raw_limits(
        &self,
        name: &str,
        limits: &RawLimits,
        host: HostRecord,
        (began, ended): (Timestamp, Timestamp),
    ) -> Result<PathBuf, ArchiveError> {
        let number = self.reserve()?;
        let path = self.root().join(format!("w{number}{NAMED}{}", safe_name(name)));
        fs::create_dir(&path).map_err(ArchiveError::io("make directory", &path))?;
        let written = write_whole(&path.join(FILE), true, |out| {
            serde_json::to_writer_pretty(out, limits).map_err(std::io::Error::from)
        });
        let record = RunRecord {
            description: Some("what the machines of the store can do by themselves".to_owned()),
            submitted: Some(began),
            started: Some(began),
            ended: Some(ended),
            host,
            ..RunRecord::named(format!("w{number}"), format!("baseline {name}"), RunState::Finished)
        };
        let written = written.and_then(|()| {
            write_whole(&path.join("run.json"), true, |out| {
                serde_json::to_writer_pretty(out, &record).map_err(std::io::Error::from)
            })
        });
        written.inspect_err(|_| leave_nothing(&path))?;
        Ok(path)
    }
}

/// What the entry in this directory says; `None` for one that is a run.
///
/// # Errors
/// When it cannot be read.
pub fn raw_limits(directory: &Path) -> Result<Option<RawLimits>, ArchiveError> {
    let file = directory.join(FILE);
    if !file.is_file() {
        return Ok(None);
    }
    let text = read_bounded(&file, MOST_BYTES)?;
    serde_json::from_str(&text).map(Some).map_err(|cause| ArchiveError::Damaged {
        path: file,
        line: u64::try_from(cause.line()).unwrap_or(0),
        problem: cause.to_string(),
        remedy: "measure it again with `cosmark baseline`",
    })
}

/// The newest entry of an archive for these machines: its directory and what it says. One that cannot be read is passed over.
#[must_use]
pub fn newest_raw_limits(root: &Path, machines: &str) -> Option<(String, RawLimits)> {
    let names = fs::read_dir(root).ok()?.filter_map(|entry| run_directory(&entry.ok()?));
    let mut names: Vec<(u64, String)> =
        names.filter(|(number, name)| name.starts_with(&format!("w{number}{NAMED}"))).collect();
    names.sort_unstable_by(|a, b| b.cmp(a));
    names.into_iter().find_map(|(_, name)| {
        let limits = raw_limits(&root.join(&name)).ok().flatten()?;
        (limits.machines == machines).then_some((name, limits))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn the_newest_entry_of_the_same_machines_is_found_and_damage_is_passed_over() {
        let root = tempfile::tempdir().unwrap();
        let archive = Archive::open(root.path()).unwrap();
        let keep = |machines: &str, taken: &str| {
            let limits = RawLimits { machines: machines.into(), taken: taken.into(), ..RawLimits::default() };
            let now = Timestamp::now();
            archive.keep_raw_limits("swift", &limits, HostRecord::default(), (now, now)).unwrap()
        };
        keep("a", "1");
        let second = keep("a", "2");
        keep("b", "3");
        let damaged = keep("a", "4");
        fs::write(damaged.join(FILE), "{").unwrap();
        let (name, limits) = newest_raw_limits(root.path(), "a").unwrap();
        assert_eq!((limits.taken.as_str(), root.path().join(name)), ("2", second.clone()));
        assert!(newest_raw_limits(root.path(), "c").is_none());
        assert!(raw_limits(&damaged).is_err() && raw_limits(root.path()).unwrap().is_none());
        // It is listed and opened as any run is.
        let run = crate::open_run(&second).unwrap().record;
        assert_eq!(
            (run.name.as_str(), run.state, run.stages.len()),
            ("baseline swift", RunState::Finished, 0)
        );
    }
}
