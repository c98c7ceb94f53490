//! `cosmark export`: a run for other programs.

use std::io::{self, IsTerminal};
use std::path::Path;

use cosmark_report::export::{ExportError, Format};
use cosmark_verdict::open_judged;

use crate::args::ExportArgs;
use crate::exit::{Exit, Outcome, Problem};
use crate::output;
use crate::runs::{find, say_that_intervals_are_damaged, say_which_times_are_lost};

/// Runs the subcommand.
pub fn run(args: &ExportArgs) -> Outcome {
    let format = Format::named(&args.format).ok_or_else(|| {
        Problem::usage(format!("no format {}; `cosmark export --help` lists them", args.format))
    })?;
    output::check(args.output.as_deref(), &[])?;
    check_ending(args.output.as_deref(), format)?;
    let run = open_judged(&find(&args.run, &args.archive)?)?;
    if format.binary && output::file(args.output.as_deref()).is_none() && io::stdout().is_terminal() {
        return Err(Problem::usage(format!(
            "{} is not text; name a file with --output FILE.{}",
            format.name, format.ending
        )));
    }
    if format.reads_times() {
        say_which_times_are_lost(&run);
    }
    say_that_intervals_are_damaged(&run);
    output::write(args.output.as_deref(), |out| format.write(&run, out)).map_err(|error| match error {
        ExportError::Archive(error) => error.into(),
        ExportError::Output(_) => Problem::ours(error.to_string()),
        ExportError::Missing { .. } => Problem::usage(error.to_string()),
    })?;
    Ok(Exit::Done)
}

/// Refuses a file whose name says that it is of another format: what opens it by its name reads nonsense, or nothing.
fn check_ending(output: Option<&Path>, format: &Format) -> Result<(), Problem> {
    let Some(path) = output::file(output) else { return Ok(()) };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match format.belied_by(&name) {
        None => Ok(()),
        Some(ending) => Err(Problem::usage(format!(
            "{}: files of the format {} end with .{}, and .{ending} is another format; give another name, or another --format",
            path.display(),
            format.name,
            format.ending
        ))),
    }
}
