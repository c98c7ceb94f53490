//! `cosmark report`: the HTML report of a run.

use std::path::Path;
use std::process::{Command, Stdio};

use cosmark_archive::ArchiveError;
use cosmark_report::{ReportError, html};
use cosmark_verdict::open_judged;

use crate::args::ReportArgs;
use crate::exit::{Exit, Outcome, Problem};
use crate::output;
use crate::runs::{find, say_what_is_lost};

/// Runs the subcommand.
pub fn run(args: &ReportArgs) -> Outcome {
    output::check(args.output.as_deref(), &[])?;
    let directory = find(&args.run, &args.archive)?;
    let run = open_judged(&directory)?;
    say_what_is_lost(&run);
    if args.output.is_some() && output::file(args.output.as_deref()).is_none() {
        let page = html::page_of(&run).map_err(problem)?;
        output::write_bytes(None, page.as_bytes())?;
        return Ok(Exit::Done);
    }
    let path = html::write_run(&run, args.output.as_deref()).map_err(elsewhere)?;
    println!("report: {}", path.display());
    if args.open {
        open(&path);
    }
    Ok(Exit::Done)
}

fn problem(error: ReportError) -> Problem {
    match error {
        ReportError::Archive(error) => error.into(),
        error => Problem::ours(error.to_string()),
    }
}

/// What keeps the report out of the run's own directory does not keep it from lying elsewhere.
fn elsewhere(error: ReportError) -> Problem {
    match error {
        ReportError::Archive(ArchiveError::Io { action: "write", path, source }) => Problem::ours(format!(
            "cannot write {}: {source}; name a file elsewhere with --output FILE",
            path.display()
        )),
        error => problem(error),
    }
}

/// Asks the desktop to show the file; where there is none, the path was printed.
fn open(path: &Path) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started = Command::new(opener)
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(cause) = started {
        eprintln!("cosmark: {opener} could not be started ({cause}); open the file in a browser yourself");
    }
}
