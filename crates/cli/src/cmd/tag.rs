//! `cosmark tag`: what a user calls a run.

use cosmark_archive::{change_tags, tags};

use crate::args::TagArgs;
use crate::exit::{Exit, Outcome, Problem};
use crate::runs::find;

/// Runs the subcommand.
pub fn run(args: &TagArgs) -> Outcome {
    let (mut add, mut remove) = (Vec::new(), Vec::new());
    for change in &args.changes {
        match (change.strip_prefix('+'), change.strip_prefix('-')) {
            (Some(tag), _) => add.push(tag.to_owned()),
            (_, Some(tag)) if !tag.starts_with('-') => remove.push(tag.to_owned()),
            _ => {
                let text =
                    format!("`{change}` is neither +TAG (add) nor -TAG (remove); flags go before the run");
                return Err(Problem::usage(text));
            }
        }
    }
    let path = find(&args.run, &args.archive)?;
    let now = if args.changes.is_empty() {
        tags(&path)?
    } else {
        change_tags(&path, &add, &remove).map_err(|error| Problem::usage(error.to_string()))?
    };
    let now: Vec<String> = now.into_iter().collect();
    let shown = if now.is_empty() { "no tags".to_owned() } else { now.join(" ") };
    println!("{}: {shown}", path.display());
    Ok(Exit::Done)
}
