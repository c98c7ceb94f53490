//! `cosmark recover`: ends runs whose process was killed, from what they left.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cosmark_archive::{Archive, killed_runs, open_run};
use cosmark_controller::recover;
use cosmark_faults::{Agents, judge_cut};

use crate::args::RecoverArgs;
use crate::cmd::remote::agents_of;
use crate::cmd::run::print_results;
use crate::exit::{Exit, Outcome, Problem};
use crate::runs::{find_own, no_archive};
use crate::{faults, host};

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
    let asking = Asking::of(args)?;
    let mut exit = Exit::Done;
    for directory in wanted {
        if let Err(problem) = one(&directory, args.force, asking.as_ref()) {
            if args.runs.len() == 1 {
                return Err(problem);
            }
            eprintln!("cosmark: {problem}");
            exit = problem.exit();
        }
    }
    Ok(exit)
}

/// Agents that are asked what became of the faults of a run.
struct Asking {
    agents: Arc<dyn Agents>,
    /// Drives their connection.
    runtime: host::Runtime,
}

impl Asking {
    /// `None` where none are to be asked.
    fn of(args: &RecoverArgs) -> Result<Option<Self>, Problem> {
        let Some(url) = &args.nats else { return Ok(None) };
        let runtime = host::runtime()?;
        let agents = runtime.block_on(agents_of(url, &args.login, args.state_dir.as_deref()))?;
        Ok(Some(Self { agents, runtime }))
    }

    /// What they say goes into the timeline of the run.
    fn ask(&self, archive: &Path, run: &str) -> Result<(), Problem> {
        let (agents, archive, run) = (Arc::clone(&self.agents), archive.to_owned(), run.to_owned());
        // Their calls block.
        let asking =
            self.runtime.spawn_blocking(move || faults::ask_after_run(&archive, &run, agents.as_ref()));
        self.runtime.block_on(asking).map_err(std::io::Error::other)?
    }
}

fn killed(archive: &Path) -> Result<Vec<PathBuf>, Problem> {
    if !archive.is_dir() {
        return Err(no_archive(archive));
    }
    Ok(killed_runs(archive)?.into_iter().map(|(_, path)| path).collect())
}

fn one(directory: &Path, force: bool, asking: Option<&Asking>) -> Result<(), Problem> {
    // The directory that it is in is its archive; a link to it is no other run.
    let directory = directory.canonicalize().map_err(|cause| {
        Problem::usage(format!("cannot read {}: {cause}; give the directory of one run", directory.display()))
    })?;
    let root = directory.parent().unwrap_or(Path::new("/"));
    let archive = Archive::open(root)?;
    if let Some(asking) = asking {
        // What an agent cannot say keeps no run from being ended: its slot says that it is not known.
        if let Err(problem) = asking.ask(root, &open_run(&directory)?.record.id) {
            eprintln!("cosmark: {problem}");
        }
    }
    let Some(record) = recover(&archive, &directory, None, force, judge_cut)? else {
        println!("{}: the run is over and complete", directory.display());
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
