//! `cosmark faults` and `cosmark note`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

use super::NatsArgs;

/// Options of `cosmark faults`.
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark faults list                          faults in force that runs of ./archive made
  cosmark faults heal                          heals what runs that ended have left behind
  cosmark faults list --nats nats://host:4222  what the agents of a fleet hold, and what they allow

A run records each fault in .faults of its archive before making it, and deletes the record when it is \
                        healed. It heals its faults by itself, also after Ctrl-C; after `kill -9` or a crash the guardian \
                        of the fault does, a separate process that was started before the fault was made. If nothing could \
                        heal a fault (the guardian was killed as well, or the machine stopped), this command does, and so \
                        does the next `cosmark run` with the same archive. An agent (`cosmark node --faults`) has its \
                        records in its own directory, STATE/agents/NAME: give that as --archive on its machine. \
                        `cosmark faults list --nats URL` asks all agents of a NATS.")]
pub struct FaultsArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: FaultsCommand,
}

/// What to do.
#[derive(Subcommand)]
pub enum FaultsCommand {
    /// Show the faults in force; the exit code is 0 when there are none, and 4 when there are
    List {
        /// Archive of the runs, or the directory of an agent
        #[arg(long, value_name = "DIR", default_value = "archive")]
        archive: PathBuf,
        /// Show instead what the agents of this NATS hold, and what their operators allow
        #[arg(long, value_name = "URL", conflicts_with = "archive")]
        nats: Option<String>,
        /// Print them as JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        login: Box<NatsArgs>,
    },
    /// Heal what runs that ended have left in force
    Heal {
        /// Only of this run: its number (12 or w12)
        #[arg(value_name = "RUN")]
        run: Option<String>,
        /// Heal also what belongs to a run that seems to be alive, or was made on another machine
        #[arg(long)]
        force: bool,
        /// Archive of the runs, or the directory of an agent
        #[arg(long, value_name = "DIR", default_value = "archive")]
        archive: PathBuf,
    },
    /// Heal one fault should its run be killed or stand still; started by that run, with pipes to it
    #[command(hide = true)]
    Guard(GuardArgs),
}

/// What a run tells the guardian of a fault.
#[derive(ClapArgs)]
pub struct GuardArgs {
    /// File of the fault, in .faults of the archive
    #[arg(long, value_name = "FILE")]
    pub note: PathBuf,
    /// How long the fault is to last, in ms
    #[arg(long, value_name = "MS")]
    pub hold_ms: u64,
    /// How long it may last where its run lives, in ms
    #[arg(long, value_name = "MS")]
    pub longest_ms: u64,
}

/// Options of `cosmark note`.
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark note last \"disk sdb of storage2 replaced\"
  cosmark note w12 \"rebalance begun\" --archive /srv/cosmark

Report, console and plots mark it in the charts over time, at the moment when it was written.")]
pub struct NoteArgs {
    /// Run: a directory, its number (12 or w12), or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// What happened, in a sentence
    #[arg(value_name = "TEXT")]
    pub text: String,
    /// Archive to look for the run in
    #[arg(long, value_name = "DIR", default_value = "archive")]
    pub archive: PathBuf,
}
