//! `cosmark verify-data`: whether what a store acknowledged is still there.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cosmark_archive::{DurabilityRecord, Ledger, Run, RunRecord, RunState, add_durability, open_run};
use cosmark_driver::readback::Manner;
use cosmark_workload::Workload;

use crate::args::VerifyDataArgs;
use crate::cmd::clean::{removal, workload_of};
use crate::exit::{Exit, Outcome, Problem};
use crate::readback::{Wish, read_back, text};
use crate::runs::find;
use crate::signals;

/// Nothing says what the store acknowledged, and no run of another program ever will.
fn no_ledger(record: &RunRecord) -> Problem {
    let id = &record.id;
    Problem::usage(match &record.made_by {
        Some(maker) => format!("{id} is a run of {maker}, which does not note what was acknowledged"),
        None => format!(
            "{id} kept no ledger, so nobody knows what was acknowledged: run it with --ledger or `check: durability`"
        ),
    })
}

/// Runs the subcommand.
pub fn run(args: &VerifyDataArgs) -> Outcome {
    let directory = find(&args.run, &args.archive)?;
    let run = open_run(&directory)?;
    if run.record.state == RunState::Running {
        return Err(Problem::usage(format!(
            "{} still runs: `check: durability` in its workload reads back at its end",
            run.record.id
        )));
    }
    let ledger = Ledger::open(&directory)?.ok_or_else(|| no_ledger(&run.record))?;
    fits_what_was_removed(&run, args.removed)?;
    let workload = workload_of(&run, args.target.as_deref(), true)?;
    let in_doubt = !ledger.head.complete || is_cut(&run);
    if in_doubt && !args.quiet {
        eprintln!(
            "cosmark: the ledger of {} misses changes (a driver was lost, or the run was killed): what they may explain is undecided",
            run.record.id
        );
    }
    let manner = Manner {
        workers: usize::from(args.workers),
        rate_per_s: args.rate,
        settle: args.settle,
        listings: !args.no_listings,
        in_doubt,
        removed: args.removed,
    };
    let seed = args.seed.or(run.record.seed).unwrap_or(0);
    let wish = Wish { manner, sample: args.sample, seed, resume: args.resume };
    let record = read(&directory, &workload, &wish, args.quiet)?;
    if record.complete {
        let again = |record| cosmark_verdict::judged(&Run { path: directory.clone(), record }, None);
        add_durability(&directory, record.clone(), again)?;
    }
    if args.json {
        let text = serde_json::to_string_pretty(&record).unwrap_or_default();
        verbatim!("{text}");
    } else {
        println!("{} {}", run.record.id, run.record.name);
        text(&record).iter().for_each(|line| println!("{line}"));
    }
    Ok(match (record.broken(), record.complete) {
        (1.., _) => Exit::Broken,
        (0, false) => Exit::Cancelled,
        // Where all that was read may have been removed, nothing is known to be there.
        (0, true) if record.read() == record.undecided || record.unreadable > 0 => Exit::Target,
        (0, true) => Exit::Done,
    })
}

/// Whether what a run says of objects that were removed later is what the user says: without a removal nothing but a loss
/// explains what is missing.
fn fits_what_was_removed(run: &Run, is_said: bool) -> Result<(), Problem> {
    let id = &run.record.id;
    match removal(run) {
        Some(note) if !is_said => Err(Problem::usage(format!(
            "{id}: {} at {}: if it were read back now, these objects would be called lost; --removed reads back what is left, and \
             calls what is missing undecided",
            note.text, note.at
        ))),
        None if is_said => Err(Problem::usage(format!(
            "{id}: nothing of this run was removed by `cosmark clean`, so whatever is missing is lost: read it back without --removed"
        ))),
        _ => Ok(()),
    }
}

/// Reads until the end or until this program is asked to end.
fn read(
    directory: &Path,
    workload: &Workload,
    wish: &Wish,
    quiet: bool,
) -> Result<DurabilityRecord, Problem> {
    let stopped = Arc::new(AtomicBool::new(false));
    let runtime = crate::host::runtime()?;
    runtime.block_on(async {
        let (stop, asked) = (Arc::clone(&stopped), signals::first());
        let asked = tokio::spawn(async move {
            asked.await;
            stop.store(true, Ordering::Relaxed);
        });
        let mut tell = |text: &str| {
            if !quiet {
                eprintln!("{text}");
            }
        };
        let read = read_back(directory, workload, wish, &mut tell, &|| stopped.load(Ordering::Relaxed)).await;
        asked.abort();
        read
    })
}

/// Parts of what was done are not known.
fn is_cut(run: &Run) -> bool {
    run.record.state == RunState::Killed
        || run.record.stages.iter().any(|stage| stage.cut_s.is_some() || !stage.missing.is_empty())
}
