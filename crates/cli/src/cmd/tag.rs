//! `cosmark tag`: what a user calls a run.

use cosmark_archive::{change_tags, tags};

use crate::args::TagArgs;
use crate::exit::{Exit, Outcome, Problem};
use crate::runs::find;

/// Runs the subcommand.
pub fn run(args: &TagArgs) -> Outcome {
    let (mut add, mut remove) = (Vec::new(), Vec::new());
    let mut archive = args.archive.clone();
    let mut changes = args.changes.iter();
    while let Some(change) = changes.next() {
        // Behind a tag the command line takes an option for one more, because -TAG removes.
        if let Some(given) = change.strip_prefix("--archive=") {
            archive = given.into();
            continue;
        }
        if change == "--archive" {
            let given = changes.next();
            archive = given.ok_or_else(|| Problem::usage("--archive needs a DIR behind it"))?.into();
            continue;
        }
        match (change.strip_prefix('+'), change.strip_prefix('-')) {
            (Some(tag), _) => add.push(tag.to_owned()),
            (_, Some(tag)) if !tag.starts_with('-') => remove.push(tag.to_owned()),
            _ => {
                let text = format!(
                    "`{change}` is neither +TAG (add) nor -TAG (remove); other options go before the tags"
                );
                return Err(Problem::usage(text));
            }
        }
    }
    let path = find(&args.run, &archive)?;
    let now = if add.is_empty() && remove.is_empty() {
        tags(&path)?
    } else {
        change_tags(&path, &add, &remove).map_err(Problem::of_change)?
    };
    let now: Vec<String> = now.into_iter().collect();
    let shown = if now.is_empty() { "no tags".to_owned() } else { now.join(" ") };
    println!("{}: {shown}", path.display());
    Ok(Exit::Done)
}
