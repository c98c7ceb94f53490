//! `cosmark show`: the results of a run again.

use std::path::Path;

use cosmark_archive::{RunState, baselines, text_of_name};
use cosmark_verdict::open_judged;

use crate::args::ShowArgs;
use crate::cmd::run::print_results;
use crate::exit::{Exit, Outcome, Problem};
use crate::runs::{find, say_what_is_lost};

/// Runs the subcommand.
pub fn run(args: &ShowArgs) -> Outcome {
    let path = find(&args.run, &args.archive)?;
    let run = open_judged(&path)?;
    if run.record.state == RunState::Killed {
        eprintln!(
            "cosmark: {} was killed; `cosmark recover` writes what it had measured into its archive",
            run.record.id
        );
    }
    say_what_is_lost(&run);
    if args.json {
        verbatim!("{}", crate::output::json(&run.record)?);
        return Ok(Exit::Done);
    }
    print_results(&run.record, &path);
    let times = crate::times::text(&run.record);
    if !times.is_empty() {
        println!("{times}");
    }
    if let Some(limits) = cosmark_archive::raw_limits(&path)? {
        println!("{}", crate::raw::text(&limits));
    }
    if is_baseline(&path, &run.record.name)? {
        println!("baseline of {}", run.record.name);
    }
    let tags = cosmark_archive::tags(&path)?;
    if !tags.is_empty() {
        println!("tags: {}", tags.into_iter().collect::<Vec<_>>().join(" "));
    }
    if let Some(reason) = &run.record.reason {
        println!("reason: {reason}");
    }
    Ok(Exit::Done)
}

/// True for the run that others of its workload are compared with.
fn is_baseline(path: &Path, name: &str) -> Result<bool, Problem> {
    let directory = path.file_name().map(text_of_name);
    let all = baselines(&path.join(".."))?;
    Ok(directory.is_some() && all.get(name) == directory.as_ref())
}
