//! `cosmark note`: what a person says about a run, in its timeline.

use cosmark_archive::add_note;

use crate::args::NoteArgs;
use crate::exit::{Exit, Outcome, Problem};
use crate::runs::find_own;

/// Runs the subcommand.
pub fn run(args: &NoteArgs) -> Outcome {
    let path = find_own(&args.run, &args.archive)?;
    let is_there = add_note(&path, &args.text).map_err(Problem::of_change)?;
    let where_to = if is_there { "run.json and events.csv" } else { "the run takes it within a second" };
    println!("{}: noted ({where_to})", path.display());
    Ok(Exit::Done)
}
