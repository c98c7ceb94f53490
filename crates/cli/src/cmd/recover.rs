//! `cosmark recover`: ends runs whose process was killed, from what they left.

use std::path::{Path, PathBuf};

use cosmark_archive::{Archive, RunState};
use cosmark_controller::recover;

use crate::args::RecoverArgs;
use crate::cmd::run::print_results;
use crate::exit::{Exit, Outcome, Problem};
use crate::runs::{find_own, no_archive};

/// Runs the subcommand.
pub fn run(args: &RecoverArgs) -> Outcome {
    let wanted: Vec<PathBuf> = if args.runs.is_empty() {
        killed(&args.archive)?
    } else {
        args.runs.iter().map(|run| find_own(run, &args.archive)).collect::<Result<_, _>>()?
    };
    if wanted.is_empty() {
        println!("no run of {} was killed", args.archive.display());
    }
    let mut exit = Exit::Done;
    for directory in wanted {
        if let Err(problem) = one(&directory, args.force) {
            if args.runs.len() == 1 {
                return Err(problem);
            }
            eprintln!("cosmark: {problem}");
            exit = problem.exit();
        }
    }
    Ok(exit)
}

fn killed(archive: &Path) -> Result<Vec<PathBuf>, Problem> {
    if !archive.is_dir() {
        return Err(no_archive(archive));
    }
    let found = cosmark_archive::list(archive)?.into_iter();
    let killed =
        found.filter(|run| matches!(&run.record, Some(Ok(record)) if record.state == RunState::Killed));
    Ok(killed.map(|run| run.path).collect())
}

fn one(directory: &Path, force: bool) -> Result<(), Problem> {
    // The directory that it is in is its archive; a link to it is no other run.
    let directory = directory.canonicalize().map_err(|cause| {
        Problem::usage(format!("cannot read {}: {cause}; give the directory of one run", directory.display()))
    })?;
    let root = directory.parent().unwrap_or(Path::new("/"));
    let archive = Archive::open(root)?;
    let Some(record) = recover(&archive, &directory, None, force)? else {
        println!("{}: the run is over, and everything of it is there", directory.display());
        return Ok(());
    };
    print_results(&record, &directory);
    if let Some(reason) = &record.reason {
        println!("reason: {reason}");
    }
    if cosmark_report::html::page_is_built_in() {
        match cosmark_report::html::write(&directory, None) {
            Ok(path) => println!("report: {}", path.display()),
            Err(problem) => eprintln!("cosmark: no report.html: {problem}"),
        }
    }
    Ok(())
}
