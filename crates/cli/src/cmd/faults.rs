//! `cosmark faults`: what runs have made to fail and not healed.

#[cfg(feature = "fleet")]
mod agents;
#[cfg(not(feature = "fleet"))]
use crate::cmd::alone::agents;

use std::io;
use std::path::Path;
use std::time::Duration;

use cosmark_archive::{ArchiveError, Claim, FaultInForce, FaultJournal, FaultNote};
use cosmark_faults::{Terms, detach, heal_left, watch};
use serde_json::{Value, json};

use crate::args::{FaultsArgs, FaultsCommand, GuardArgs};
use crate::exit::{Exit, Outcome, Problem};
use crate::output;
use crate::runs::no_archive;

/// Runs the subcommand.
pub fn run(args: &FaultsArgs) -> Outcome {
    match &args.command {
        FaultsCommand::List { nats: Some(url), login, json, .. } => agents::list(url, login, *json),
        FaultsCommand::List { archive, json, .. } => list(archive, *json),
        FaultsCommand::Heal { run, force, archive } => heal(archive, run.as_deref(), *force),
        FaultsCommand::Guard(args) => guard(args),
    }
}

/// The guardian of a fault; nobody but the run that has started it reads what it says.
fn guard(args: &GuardArgs) -> Outcome {
    detach();
    let terms =
        Terms { hold: Duration::from_millis(args.hold_ms), longest: Duration::from_millis(args.longest_ms) };
    watch(&args.note, terms, io::stdin(), &mut io::stdout()).map_err(Problem::usage)?;
    Ok(Exit::Done)
}

/// Those that can be read, and why others cannot.
type InForce = (Vec<(FaultNote, FaultInForce)>, Vec<ArchiveError>);

fn in_force(archive: &Path) -> Result<InForce, Problem> {
    if !archive.is_dir() {
        return Err(no_archive(archive));
    }
    Ok(FaultJournal::of(archive).found()?)
}

/// How it ends: what cannot be read may be in force.
fn ended(exit: Exit, damaged: Vec<ArchiveError>) -> Outcome {
    let mut damaged = damaged.into_iter();
    let Some(first) = damaged.next() else { return Ok(exit) };
    damaged.for_each(|error| eprintln!("cosmark: {error}"));
    Err(first.into())
}

/// Who heals a fault, as a program asks for it: `run`, `being_healed`, `nobody` (its run is gone) or `not_of_here`.
fn healer(note: &FaultNote, fault: &FaultInForce) -> &'static str {
    match (fault.was_made_here(), fault.has_its_maker()) {
        (false, _) => "not_of_here",
        _ if matches!(note.claim(), Ok(Claim::Busy)) => "being_healed",
        (true, true) => "run",
        (true, false) => "nobody",
    }
}

fn list(archive: &Path, as_json: bool) -> Outcome {
    let (found, damaged) = in_force(archive)?;
    if as_json {
        let value = |(note, fault): &(FaultNote, FaultInForce)| {
            json!({
                "run": fault.run,
                "stage": fault.stage,
                "fault": fault.fault,
                "what": fault.what,
                "since": fault.since.to_string(),
                "healer": healer(note, fault),
                "heal": fault.heal.to_string(),
            })
        };
        let all: Vec<Value> = found.iter().map(value).collect();
        verbatim!("{}", output::json(&all)?);
        return ended(if found.is_empty() { Exit::Done } else { Exit::StageFailed }, damaged);
    }
    if found.is_empty() {
        if damaged.is_empty() {
            println!("no faults in force");
        }
        return ended(Exit::Done, damaged);
    }
    for (note, fault) in &found {
        let FaultInForce { run, stage, fault: name, what, since, .. } = fault;
        let maker = match healer(note, fault) {
            "not_of_here" => "made elsewhere, or before this machine was started",
            "being_healed" => "it is being healed",
            "run" => "its run heals it",
            _ => "its run is gone",
        };
        println!("{run} {stage} {name}: {what}, since {since}; {maker}; healed by {}", fault.heal);
    }
    eprintln!(
        "cosmark: `cosmark faults heal --archive {}` heals what runs that are gone have left",
        archive.display()
    );
    ended(Exit::StageFailed, damaged)
}

fn heal(archive: &Path, run: Option<&str>, force: bool) -> Outcome {
    let wanted = run.map(|run| format!("w{}", run.strip_prefix('w').unwrap_or(run)));
    let (mut found, damaged) = in_force(archive)?;
    found.retain(|(_, fault)| wanted.as_ref().is_none_or(|wanted| *wanted == fault.run));
    let (alive, left): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|(_, fault)| !force && (fault.has_its_maker() || !fault.was_made_here()));
    for (_, fault) in alive.iter().filter(|(_, fault)| !fault.was_made_here()) {
        eprintln!(
            "cosmark: {} {} was made elsewhere, or before this machine was started; it would be healed by {}: read that, and \
             give --force",
            fault.run, fault.fault, fault.heal
        );
    }
    for (_, fault) in alive.iter().filter(|(_, fault)| fault.was_made_here()) {
        eprintln!(
            "cosmark: {} {} is left to its run, which seems to be alive; stop that with Ctrl-C, or give --force",
            fault.run, fault.fault
        );
    }
    if left.is_empty() {
        if damaged.is_empty() {
            println!("nothing to heal");
        }
        return ended(if alive.is_empty() { Exit::Done } else { Exit::StageFailed }, damaged);
    }
    let (healed, failed) = heal_left(left, &mut |text| eprintln!("cosmark: {text}"));
    healed.iter().for_each(|text| println!("{text}"));
    failed.iter().for_each(|text| eprintln!("cosmark: {text}"));
    let exit = if failed.is_empty() && alive.is_empty() { Exit::Done } else { Exit::StageFailed };
    ended(exit, damaged)
}
