//! `cosmark faults`: what runs have made to fail and not healed.

use std::io;
use std::path::Path;
use std::time::Duration;

use cosmark_archive::{Archive, Claim, FaultInForce, FaultNote};
use cosmark_faults::{Terms, detach, heal_left, watch};

use crate::args::{FaultsArgs, FaultsCommand, GuardArgs};
use crate::exit::{Exit, Outcome, Problem};

/// Runs the subcommand.
pub fn run(args: &FaultsArgs) -> Outcome {
    match &args.command {
        FaultsCommand::List { archive } => list(archive),
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

fn in_force(archive: &Path) -> Result<Vec<(FaultNote, FaultInForce)>, Problem> {
    if !archive.is_dir() {
        return Err(Problem::usage(format!(
            "there is no archive {}; name one with --archive DIR",
            archive.display()
        )));
    }
    Ok(Archive::open(archive)?.fault_journal().all()?)
}

fn list(archive: &Path) -> Outcome {
    let found = in_force(archive)?;
    if found.is_empty() {
        println!("no faults in force");
        return Ok(Exit::Done);
    }
    for (note, fault) in &found {
        let FaultInForce { run, stage, fault: name, what, since, .. } = fault;
        let maker = match (fault.was_made_here(), fault.has_its_maker()) {
            (false, _) => "made on another machine, or before this one was started",
            _ if matches!(note.claim(), Ok(Claim::Busy)) => "it is being healed",
            (true, true) => "its run heals it",
            (true, false) => "its run is gone",
        };
        println!("{run} {stage} {name}: {what}, since {since}; {maker}; healed by {}", fault.heal);
    }
    eprintln!(
        "cosmark: `cosmark faults heal --archive {}` heals what runs that are gone have left",
        archive.display()
    );
    Ok(Exit::StageFailed)
}

fn heal(archive: &Path, run: Option<&str>, force: bool) -> Outcome {
    let wanted = run.map(|run| format!("w{}", run.strip_prefix('w').unwrap_or(run)));
    let mut found = in_force(archive)?;
    found.retain(|(_, fault)| wanted.as_ref().is_none_or(|wanted| *wanted == fault.run));
    let (alive, left): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|(_, fault)| !force && (fault.has_its_maker() || !fault.was_made_here()));
    for (_, fault) in alive.iter().filter(|(_, fault)| !fault.was_made_here()) {
        eprintln!(
            "cosmark: {} {} was made on another machine, or before this one was started; it would be healed by {}: read that, and \
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
        println!("nothing to heal");
        return Ok(if alive.is_empty() { Exit::Done } else { Exit::StageFailed });
    }
    let (healed, failed) = heal_left(left, &mut |text| eprintln!("cosmark: {text}"));
    healed.iter().for_each(|text| println!("{text}"));
    failed.iter().for_each(|text| eprintln!("cosmark: {text}"));
    Ok(if failed.is_empty() && alive.is_empty() { Exit::Done } else { Exit::StageFailed })
}
