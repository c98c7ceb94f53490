//! `cosmark compare`: runs side by side.

use std::path::Path;

use cosmark_report::compare::{
    Comparison, FailOn, Loaded, Options, compare, junit, load_by, markdown, normalised, table,
};
use cosmark_verdict::open_judged;

use crate::args::{CompareArgs, CompareFormat};
use crate::exit::{Exit, Outcome, Problem};
use crate::out::verbatim;
use crate::runs::{find, say_what_is_lost};
use crate::screen::room;

/// More runs are a mistake.
const MOST_RUNS: usize = 200;

/// Runs the subcommand.
pub fn run(args: &CompareArgs) -> Outcome {
    let options = options(args)?;
    let mut sides = Vec::new();
    let mut count = 0;
    for side in &args.runs {
        let runs: Vec<&str> = side.split(',').map(str::trim).filter(|run| !run.is_empty()).collect();
        count += runs.len();
        if runs.is_empty() || count > MOST_RUNS {
            return Err(Problem::usage(format!("`{side}`: name 1 to {MOST_RUNS} runs, e.g. w3,w5,w7")));
        }
        let read = |run: &&str| -> Result<Loaded, Problem> {
            let path = find(run, &args.archive)?;
            let open = |path: &Path| open_judged(path).inspect(say_what_is_lost);
            Ok(load_by(run, &path, open)?)
        };
        let loaded: Result<Vec<Loaded>, Problem> = runs.iter().map(read).collect();
        sides.push(loaded?);
    }
    let comparison = compare(&sides, &options);
    if comparison.is_empty() {
        let notes = comparison.pairs.iter().flat_map(|pair| &pair.warnings);
        let why: String = notes.map(|note| format!("\n  {note}")).collect();
        return Err(Problem::usage(format!("nothing to compare:{why}")));
    }
    show(args, &comparison)?;
    for row in comparison.rows().filter(|row| row.fails) {
        eprintln!("cosmark: {} {} {} fails", row.stage, row.operation, row.metric.names.compare);
    }
    for condition in &comparison.untested {
        eprintln!("cosmark: not tested: {condition}");
    }
    Ok(match (comparison.fails(), comparison.untested.is_empty()) {
        (true, _) => Exit::Missed,
        (false, true) => Exit::Done,
        (false, false) => {
            eprintln!(
                "cosmark: a condition that could not be tested counts as failed; --allow-untested accepts it"
            );
            Exit::Untested
        }
    })
}

fn options(args: &CompareArgs) -> Result<Options, Problem> {
    let within = |name: &str, value: f64, low: f64, high: f64| {
        if value > low && value < high {
            Ok(value / 100.0)
        } else {
            Err(Problem::usage(format!("--{name} {value}: give a number above {low} and below {high}")))
        }
    };
    let fail_on: Result<Vec<FailOn>, String> = args.fail_on.iter().map(|text| FailOn::parse(text)).collect();
    Ok(Options {
        confidence: within("confidence", args.confidence, 50.0, 100.0)?,
        least: if args.least == 0.0 { 0.0 } else { within("least", args.least, 0.0, 100.0)? },
        effect: within("effect", args.effect, args.least, 1000.0)?,
        fail_on: fail_on.map_err(|text| Problem::usage(format!("--fail-on {text}")))?,
        allow_untested: args.allow_untested,
    })
}

fn show(args: &CompareArgs, comparison: &Comparison) -> Result<(), Problem> {
    let format = if args.json { CompareFormat::Json } else { args.format };
    match format {
        CompareFormat::Table => {
            print!("{}", table(comparison, room()));
            if args.normalised {
                print!("\n{}", normalised(comparison));
            }
        }
        CompareFormat::Markdown => verbatim(format_args!("{}", markdown(comparison))),
        CompareFormat::Json => {
            let text = serde_json::to_string_pretty(comparison)
                .map_err(|cause| Problem::ours(format!("cannot print the comparison: {cause}")))?;
            verbatim!("{text}");
        }
        CompareFormat::Junit => verbatim(format_args!("{}", junit(comparison, !args.fail_on.is_empty()))),
    }
    Ok(())
}
