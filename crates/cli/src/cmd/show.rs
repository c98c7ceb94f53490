//! `cosmark show`: the results of a run again.

use std::path::{Path, PathBuf};

use cosmark_archive::{list, open_run};

use crate::args::ShowArgs;
use crate::cmd::run::print_results;
use crate::exit::{Exit, Outcome, Problem};

/// Runs the subcommand.
pub fn run(args: &ShowArgs) -> Outcome {
    let path = find(&args.run, &args.archive)?;
    let run = open_run(&path)?;
    if args.json {
        let text =
            serde_json::to_string_pretty(&run.record).map_err(|cause| Problem::ours(cause.to_string()))?;
        println!("{text}");
        return Ok(Exit::Done);
    }
    print_results(&run.record, &path);
    if let Some(reason) = &run.record.reason {
        println!("reason: {reason}");
    }
    Ok(Exit::Done)
}

/// A directory, or the run with this id or directory name in the archive.
pub fn find(run: &str, archive: &Path) -> Result<PathBuf, Problem> {
    let direct = PathBuf::from(run);
    if direct.join("run.json").is_file() {
        return Ok(direct);
    }
    let runs = list(archive).map_err(|error| Problem::usage(error.to_string()))?;
    let found = runs.into_iter().find(|found| {
        let name = found.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name == run || name.split_once('-').is_some_and(|(id, _)| id == run)
    });
    found.map(|found| found.path).ok_or_else(|| {
        let shown = archive.display();
        Problem::usage(format!(
            "no run {run} in {shown}; `cosmark list --archive {shown}` shows what is there"
        ))
    })
}
