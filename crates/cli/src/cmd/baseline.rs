//! `cosmark baseline`: the run that others of the same workload are compared with; of a target, what its machines can do by
//! themselves.

use std::path::Path;

use cosmark_archive::{baselines, open_run, set_baseline, text_of_name};

use crate::args::BaselineArgs;
use crate::exit::{Exit, Outcome, Problem};
use crate::raw;
use crate::runs::find;

/// Runs the subcommand.
pub fn run(args: &BaselineArgs) -> Outcome {
    if let Some(file) = args.run.as_deref().map(Path::new).filter(|path| path.is_file()) {
        return raw::measure(args, file);
    }
    if args.measures_something() {
        return Err(Problem::usage(
            "these options measure the machines of a target: give its file, such as cosmark baseline target.yaml",
        ));
    }
    let Some(run) = &args.run else {
        let all = baselines(&args.archive)?;
        if all.is_empty() {
            println!("no baselines in {}; `cosmark baseline RUN` makes one", args.archive.display());
        }
        all.iter().for_each(|(name, directory)| println!("{name}: {directory}"));
        return Ok(Exit::Done);
    };
    if Path::new(run).extension().is_some_and(|end| end == "yaml" || end == "yml") {
        return Err(Problem::usage(format!(
            "there is no file {run}; give a target file, or a run as a directory or its number"
        )));
    }
    let path = find(run, &args.archive)?;
    let name = open_run(&path)?.record.name;
    let before = set_baseline(&path, &name, !args.remove)?;
    let directory = path.file_name().map(text_of_name).unwrap_or_default();
    match (args.remove, before) {
        (false, Some(before)) if before != directory => println!("{name}: {directory} (before: {before})"),
        (false, _) => println!("{name}: {directory}"),
        (true, Some(before)) if before == directory => println!("{name}: no baseline any more"),
        (true, _) => println!("{name}: {directory} was not the baseline"),
    }
    Ok(Exit::Done)
}
