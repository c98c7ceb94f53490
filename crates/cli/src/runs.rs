//! Which run a user means: a directory, a number, or a word; and what is known of one that goes on.

use std::fs;
use std::path::{Path, PathBuf};

use cosmark_archive::cosbench::CosbenchRun;
use cosmark_archive::{
    ArchiveError, Run, RunState, baselines, open_run, place_named, run_directory, run_numbered,
};
use cosmark_controller::{FaultsPlayed, NodesOfRun};

use crate::address::is_address;
use crate::exit::Problem;

/// The directory of the run that `run` names: a directory, one without the name of its run (`archive/w12`), `w12`, `12`, the
/// name of a directory in `archive`, `last`, `last-1` (the one before), `baseline` (where there is one), or `baseline:NAME`
/// of the workload NAME.
///
/// # Errors
/// When there is none, with what to do.
pub fn find(run: &str, archive: &Path) -> Result<PathBuf, Problem> {
    look_for(run, archive).map_err(|problem| {
        // It may have a secret in it, so it is not repeated.
        if is_address(run) { Problem::usage(NO_RUN) } else { problem }
    })
}

/// What an address is answered in the place of a run.
const NO_RUN: &str = "this is an address, not a run: give the number of a run, which `cosmark list` shows; `cosmark quick URL` \
                      measures a store by its address";

fn look_for(run: &str, archive: &Path) -> Result<PathBuf, Problem> {
    let given = Path::new(run);
    // What a name in another encoding is shown as names it.
    let direct = match (given.parent(), given.file_name().and_then(|name| name.to_str())) {
        (Some(parent), Some(name)) if parent.is_dir() => place_named(parent, name),
        _ => given.to_owned(),
    };
    if direct.join("run.json").is_file() || (direct.is_dir() && CosbenchRun::is_at(&direct)) {
        return Ok(direct);
    }
    if run == "baseline" || run.starts_with("baseline:") {
        return baseline(run.strip_prefix("baseline:"), archive);
    }
    if direct.components().count() > 1 {
        let parent = direct.parent().filter(|parent| parent.is_dir() && !direct.exists());
        let name = direct.file_name().and_then(|name| name.to_str()).filter(|name| number_of(name).is_some());
        return match parent.zip(name) {
            // `archive/w3` is what is called archive/w3-mixed there, whatever is called w3 here.
            Some((parent, name)) => called(name, &directories(parent)?, parent),
            None => Err(not_a_run(&direct)),
        };
    }
    let shown = archive.display();
    // A number is one of the archive, whatever is called so here.
    let is_path = direct.exists() && number_of(run).is_none() && back_of(run).is_none();
    let runs = directories(archive).map_err(|problem| if is_path { not_a_run(&direct) } else { problem })?;
    if let Some(back) = back_of(run) {
        return last(&runs, archive, back).ok_or_else(|| {
            Problem::usage(if runs.is_empty() {
                format!("no runs in {shown}; name another archive with --archive DIR")
            } else {
                format!(
                    "no run {run} in {shown}: fewer runs than that made load; `cosmark list --archive {shown}` shows what is there"
                )
            })
        });
    }
    called(run, &runs, archive).map_err(|problem| if is_path { not_a_run(&direct) } else { problem })
}

/// The directory of the run of this number, or of this name, among those of an archive. Of several runs with one number none is
/// meant: a copied archive may have brought another one.
fn called(run: &str, runs: &[(u64, String)], archive: &Path) -> Result<PathBuf, Problem> {
    if let Some((_, name)) = runs.iter().find(|(_, name)| name == run) {
        return Ok(place_named(archive, name));
    }
    let number = number_of(run);
    let mut found: Vec<&str> =
        runs.iter().filter(|(own, _)| number == Some(*own)).map(|(_, name)| name.as_str()).collect();
    let is_run = |name: &&str| {
        let directory = place_named(archive, name);
        directory.join("run.json").is_file() || CosbenchRun::is_at(&directory)
    };
    // A folder without a run takes nothing from one that has.
    if found.len() > 1 && found.iter().any(is_run) {
        found.retain(is_run);
    }
    let shown = archive.display();
    match found.as_slice() {
        [] => Err(Problem::usage(format!(
            "no run {run} in {shown}; `cosmark list --archive {shown}` shows what is there"
        ))),
        [name] => Ok(place_named(archive, name)),
        several => Err(Problem::usage(format!(
            "{} runs in {shown} have the number of {run}: {}; give the name of one of these directories",
            several.len(),
            several.join(", ").replace(char::is_control, "?")
        ))),
    }
}

/// How many runs before the last are meant: 0 of `last`, 2 of `last-2`.
fn back_of(run: &str) -> Option<usize> {
    match run.strip_prefix("last")? {
        "" => Some(0),
        rest => rest
            .strip_prefix('-')
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))?
            .parse()
            .ok(),
    }
}

/// 12 of `w12` and of `12`.
fn number_of(run: &str) -> Option<u64> {
    run.strip_prefix('w').unwrap_or(run).parse().ok()
}

/// Why a path names no run.
fn not_a_run(given: &Path) -> Problem {
    let shown = given.display();
    Problem::usage(if given.is_dir() {
        format!(
            "{shown} is no run: it has no run.json, and no files of COSBench; give the directory of one run, such as \
             archive/w1-name, or its number; runs of another archive are found with --archive DIR"
        )
    } else if given.exists() {
        format!(
            "{shown} is a file and no run; give the directory of one run, such as archive/w1-name, or its number"
        )
    } else {
        format!("there is no {shown}; give the directory of one run, such as archive/w1-name, or its number")
    })
}

/// Says which times are missing in the archive of a run: what is drawn or judged of the others is not all of it.
pub fn say_what_is_lost(run: &Run) {
    if let Some(why) = run.lost_times() {
        eprintln!("cosmark: {}: {why}", run.record.id);
    }
}

/// The same where all times are given away: also of the few that are missing of a run of seconds.
pub fn say_which_times_are_lost(run: &Run) {
    if let Some(why) = run.lost_times_counted() {
        eprintln!("cosmark: {}: {why}", run.record.id);
    }
}

/// Says that the intervals of a run are damaged, which then count up to there.
pub fn say_that_intervals_are_damaged(run: &Run) {
    if let Err(why) = run.intervals(drop) {
        eprintln!("cosmark: {}: {why}; what stands behind that is missing", run.record.id);
    }
}

/// What who has not run anything yet is told.
#[must_use]
pub fn no_archive(archive: &Path) -> Problem {
    Problem::usage(format!(
        "there is no archive at {}: the first `cosmark demo`, `quick` or `run` makes one in this directory; name one that is \
         elsewhere with --archive DIR",
        archive.display()
    ))
}

/// The same where only a run of ours will do.
///
/// # Errors
/// As [`find`], and when the run is one that COSBench made.
pub fn find_own(run: &str, archive: &Path) -> Result<PathBuf, Problem> {
    let found = find(run, archive)?;
    if !CosbenchRun::made(&found) {
        return Ok(found);
    }
    Err(Problem::usage(format!(
        "{} is a run of COSBench, which cosmark only reads and never changes; name a run of Cosmark",
        found.display()
    )))
}

/// So many runs that never made load are passed over.
const MOST_PASSED_OVER: usize = 1000;

/// The newest run that made load, or the one that is so many before it: one whose login failed is not what somebody means who
/// asks for the last. Where there is none, the newest.
fn last(runs: &[(u64, String)], archive: &Path, back: usize) -> Option<PathBuf> {
    let newest = runs.last()?;
    let is_meant = |(_, name): &&(u64, String)| !never_began(&place_named(archive, name));
    let most = MOST_PASSED_OVER.saturating_add(back);
    let meant = runs.iter().rev().take(most).filter(is_meant).nth(back);
    let found = meant.or((back == 0).then_some(newest))?;
    if back == 0 && found != newest {
        eprintln!("cosmark: last is w{}: no run after it made load", found.0);
    }
    Some(place_named(archive, &found.1))
}

/// It is over, and none of its stages made load; or it was cut off before it had a record. One that is damaged made load, as far
/// as anybody knows.
fn never_began(directory: &Path) -> bool {
    let run = match open_run(directory) {
        Ok(run) => run,
        Err(error) => return matches!(error, ArchiveError::NotARun { .. }),
    };
    let is_over = matches!(run.record.state, RunState::Failed | RunState::Terminated | RunState::Cancelled);
    is_over
        && run.record.stages.iter().all(|stage| stage.load_started.is_none() && stage.operations.is_empty())
}

fn baseline(name: Option<&str>, archive: &Path) -> Result<PathBuf, Problem> {
    let all = baselines(archive)?;
    let found = match name {
        Some(name) => all.get(name),
        None if all.len() == 1 => all.values().next(),
        None => None,
    };
    found.map(|directory| place_named(archive, directory)).ok_or_else(|| {
        let names: Vec<&str> = all.keys().map(String::as_str).collect();
        Problem::usage(match (name, names.as_slice()) {
            (_, []) => "there is no baseline; `cosmark baseline RUN` makes one".to_owned(),
            (None, names) => {
                format!("several workloads have one; say baseline:NAME with NAME of {}", names.join(", "))
            }
            (Some(name), names) => format!("{name} has no baseline; there are ones of {}", names.join(", ")),
        })
    })
}

/// Number and name of each directory of a run, by number. Nothing in them is read, so that it is fast in a large archive.
fn directories(archive: &Path) -> Result<Vec<(u64, String)>, Problem> {
    let unreadable = |cause: std::io::Error| {
        if cause.kind() == std::io::ErrorKind::NotFound {
            return no_archive(archive);
        }
        Problem::usage(format!(
            "cannot read {}: {cause}; name an archive with --archive DIR",
            archive.display()
        ))
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(archive).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        found.extend(run_directory(&entry));
    }
    found.sort();
    Ok(found)
}

/// What goes on beside the load of a run.
pub struct Beside {
    /// The store's machines, where they are looked at.
    pub nodes: Option<NodesOfRun>,
    /// Who plays its faults; `None` without any.
    pub faults: Option<Box<dyn FaultsPlayed>>,
}

/// A run that another process began.
pub struct Earlier {
    /// Its id on NATS.
    pub run: String,
    /// Its number in the archive.
    pub number: u64,
    /// Its seed.
    pub seed: Option<u64>,
    /// Its directory.
    pub path: PathBuf,
}

/// The id on NATS of the run with this id in the archive.
#[must_use]
pub fn new_id(archive_id: &str) -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{archive_id}-{:x}", since.as_micros())
}

impl Earlier {
    /// Finds what it left in the archive.
    ///
    /// # Errors
    /// When there is nothing.
    pub fn find(run: &str, archive: &Path) -> Result<Self, Problem> {
        let nothing = || {
            let shown = archive.display();
            Problem::usage(format!("there is no unfinished run {run} in {shown}; give its --archive"))
        };
        let number: u64 = run
            .strip_prefix('w')
            .and_then(|rest| rest.split_once('-'))
            .and_then(|(number, _)| number.parse().ok())
            .ok_or_else(nothing)?;
        let found = run_numbered(archive, number)?.ok_or_else(nothing)?;
        let record = found.record.and_then(Result::ok).ok_or_else(nothing)?;
        Ok(Self { run: run.to_owned(), number, seed: record.seed, path: found.path })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_two_runs_have_names_none_of_them() {
        let archive = tempfile::tempdir().unwrap();
        let make = |name: &str, is_run: bool| {
            fs::create_dir(archive.path().join(name)).unwrap();
            if is_run {
                fs::write(archive.path().join(name).join("run.json"), "{").unwrap();
            }
        };
        make("w3-aaa", true);
        make("w3-zzz", true);
        make("w4-empty", false);
        make("w4-run", true);
        let found = |run: &str| find(run, archive.path()).map(|path| path.file_name().unwrap().to_owned());
        let below = archive.path().join("w3");
        for run in ["w3", "3", below.to_str().unwrap()] {
            let problem = found(run).unwrap_err().to_string();
            assert!(problem.contains("w3-aaa, w3-zzz"), "{problem}");
        }
        for (run, name) in [("w3-zzz", "w3-zzz"), ("w3-aaa", "w3-aaa"), ("4", "w4-run"), ("last", "w4-run")] {
            assert_eq!(found(run).unwrap(), name, "{run}");
        }
    }

    #[test]
    fn a_directory_in_another_encoding_is_found_by_its_number_and_as_it_is_shown() {
        let archive = tempfile::tempdir().unwrap();
        let own = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"w13-pr\xfcfung");
        fs::create_dir(archive.path().join(own)).unwrap();
        fs::write(archive.path().join(own).join("run.json"), "{").unwrap();
        let shown = "w13-pr\u{fc}fung";
        let path = archive.path().join(shown);
        for run in ["w13", "13", "last", shown, path.to_str().unwrap()] {
            assert_eq!(find(run, archive.path()).unwrap(), archive.path().join(own), "{run}");
        }
    }

    #[test]
    fn a_run_before_the_last_is_counted_back_from_it() {
        let archive = tempfile::tempdir().unwrap();
        for name in ["w2-a", "w9-b", "w10-c", "w11-d"] {
            fs::create_dir(archive.path().join(name)).unwrap();
            fs::write(archive.path().join(name).join("run.json"), "{").unwrap();
        }
        // Cut off as it began: no run that anybody means.
        fs::create_dir_all(archive.path().join("w12-e/source")).unwrap();
        let found = |run: &str| find(run, archive.path()).map(|path| path.file_name().unwrap().to_owned());
        for (run, name) in [
            ("last", "w11-d"),
            ("last-0", "w11-d"),
            ("last-1", "w10-c"),
            ("last-2", "w9-b"),
            ("last-3", "w2-a"),
        ] {
            assert_eq!(found(run).unwrap(), name, "{run}");
        }
        for address in ["s3+http://k:hunter2@h", "k:hunter2@h:9000", "x/k:hunter2@h"] {
            let problem = found(address).unwrap_err().to_string();
            assert!(problem.contains("`cosmark quick URL`") && !problem.contains("hunter2"), "{problem}");
        }
        assert!(found("last-4").unwrap_err().to_string().contains("fewer runs than that made load"));
        for none in ["last-", "last--1", "last-x", "last-99999999999999999999999", "lastly"] {
            assert!(
                found(none).unwrap_err().to_string().starts_with(&format!("no run {none} in ")),
                "{none}"
            );
        }
    }
}
