//! Which run a user means: a directory, a number, or a word.

use std::fs;
use std::path::{Path, PathBuf};

use cosmark_archive::baselines;
use cosmark_archive::cosbench::CosbenchRun;

use crate::exit::Problem;

/// The directory of the run that `run` names: a directory, `w12`, `12`, the name of a directory in `archive`, `last`,
/// `baseline` (where there is one), or `baseline:NAME` of the workload NAME.
///
/// # Errors
/// When there is none, with what to do.
pub fn find(run: &str, archive: &Path) -> Result<PathBuf, Problem> {
    let direct = PathBuf::from(run);
    if direct.join("run.json").is_file() || (direct.is_dir() && CosbenchRun::is_at(&direct)) {
        return Ok(direct);
    }
    if direct.components().count() > 1 && direct.exists() {
        return Err(Problem::usage(format!(
            "{run} is no run: it has no run.json, and no files of COSBench; give the directory of one run, such as \
             archive/w1-name, or its number"
        )));
    }
    let shown = archive.display();
    if run == "baseline" || run.starts_with("baseline:") {
        return baseline(run.strip_prefix("baseline:"), archive);
    }
    let runs = directories(archive)?;
    if run == "last" {
        let last = runs.into_iter().next_back().map(|(_, name)| archive.join(name));
        return last.ok_or_else(|| {
            Problem::usage(format!("no runs in {shown}; name an archive with --archive DIR"))
        });
    }
    let number = run.strip_prefix('w').unwrap_or(run).parse::<u64>().ok();
    let found = runs.into_iter().find(|(own, name)| name == run || number == Some(*own));
    found.map(|(_, name)| archive.join(name)).ok_or_else(|| {
        Problem::usage(format!(
            "no run {run} in {shown}; `cosmark list --archive {shown}` shows what is there"
        ))
    })
}

fn baseline(name: Option<&str>, archive: &Path) -> Result<PathBuf, Problem> {
    let all = baselines(archive)?;
    let found = match name {
        Some(name) => all.get(name),
        None if all.len() == 1 => all.values().next(),
        None => None,
    };
    found.map(|directory| archive.join(directory)).ok_or_else(|| {
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
        Problem::usage(format!(
            "cannot read {}: {cause}; name an archive with --archive DIR",
            archive.display()
        ))
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(archive).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = name.strip_prefix('w').and_then(|rest| rest.split_once('-')?.0.parse::<u64>().ok());
        if let Some(number) = number
            && entry.path().is_dir()
        {
            found.push((number, name));
        }
    }
    found.sort();
    Ok(found)
}
