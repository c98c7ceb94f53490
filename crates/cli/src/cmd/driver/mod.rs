//! `cosmark driver`: makes load for controllers elsewhere.

mod mission;

use std::sync::Arc;
use std::time::Duration;

use cosmark_cluster::driver::{DriverError, Leave, RemoteOptions, Talk, serve};
use cosmark_cluster::nats::Bus;
use cosmark_driver::{Options, Origin, Permit};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::args::{DriverArgs, ReachArgs};
use crate::exit::{Exit, Outcome, Problem};
use crate::host::{self, is_directory};
use crate::registry::CATALOG;
use crate::{nats, signals};

/// Runs the subcommand.
pub fn run(args: &DriverArgs) -> Outcome {
    host::raise_open_files();
    let Some(url) = &args.join else { return mission::run(args) };
    let options = remote_options(args)?;
    host::runtime()?.block_on(join(url, args, options))?;
    Ok(Exit::Done)
}

/// Joins, once for each copy, and works until all have left. A copy that cannot begin or go on ends the others, too.
async fn join(url: &str, args: &DriverArgs, options: RemoteOptions) -> Result<(), Problem> {
    let (told, leave) = watch::channel(Leave::Stay);
    let levels = [
        (Leave::Politely, "leaving; operations in flight may end (Ctrl-C again: at once)"),
        (Leave::AtOnce, "leaving at once"),
    ];
    tokio::spawn(signals::three_times(told.clone(), levels));
    let mut drivers: JoinSet<Result<(), Problem>> = JoinSet::new();
    let mut begun = Ok(());
    for options in copies(&options, args.copies) {
        if *leave.borrow() != Leave::Stay {
            break;
        }
        // One after the other: the server and this thread have enough to do with one that begins.
        match nats::join(url, &args.login, &options.options.name).await {
            Ok(bus) => drop(drivers.spawn(drive(bus, options, args.copies > 1, leave.clone()))),
            Err(problem) => {
                begun = Err(problem);
                told.send_replace(Leave::AtOnce);
            }
        }
    }
    while let Some(ended) = drivers.join_next().await {
        let ended = ended.unwrap_or_else(|broken| Err(Problem::ours(format!("a driver broke: {broken}"))));
        if ended.is_err() && begun.is_ok() {
            begun = ended;
            told.send_replace(Leave::AtOnce);
        }
    }
    begun
}

/// The options of each copy: names with numbers, unless it is the only one.
fn copies(options: &RemoteOptions, count: u16) -> Vec<RemoteOptions> {
    let of = |number: u16| {
        let mut copy = options.clone();
        if count > 1 {
            copy.options.name = format!("{}-{number}", options.options.name);
            copy.options.beside = copy.options.threads * usize::from(count - 1);
        }
        copy
    };
    (1..=count).map(of).collect()
}

async fn drive(
    bus: Bus,
    options: RemoteOptions,
    is_one_of_many: bool,
    leave: watch::Receiver<Leave>,
) -> Result<(), Problem> {
    let of = if is_one_of_many { format!("{}: ", options.options.name) } else { String::new() };
    let talk: Talk = Arc::new(move |text: &str| eprintln!("cosmark: {of}{text}"));
    serve(bus, CATALOG, options, leave, talk).await.map_err(|error| problem(&error))
}

/// Why a driver or an agent cannot begin.
pub fn problem(error: &DriverError) -> Problem {
    match error {
        DriverError::Bus(cause) => nats::problem(cause),
        DriverError::Name(_) => Problem::usage(error.to_string()),
        DriverError::State { .. } => Problem::ours(error.to_string()),
    }
}

/// What the start options let workloads reach.
///
/// # Errors
/// When a directory is none.
pub fn permit(args: &ReachArgs, origin: Origin) -> Result<Permit, Problem> {
    for (flag, directory) in
        [("--files", &args.files), ("--plugins", &args.plugins), ("--scripts", &args.scripts)]
    {
        directory.iter().try_for_each(|directory| is_directory(flag, directory))?;
    }
    Ok(Permit {
        origin,
        files: args.files.clone(),
        plugins: args.plugins.clone(),
        scripts: args.scripts.clone(),
        source_address: args.source_address,
        ..Permit::outside()
    })
}

/// How this driver works, for orders and missions alike.
///
/// # Errors
/// When a directory is none, or there is no name.
pub fn options(args: &DriverArgs, origin: Origin) -> Result<Options, Problem> {
    let permit = permit(&args.reach, origin)?;
    let name = args.name.clone().unwrap_or_else(name_of_host);
    Ok(Options {
        name,
        threads: args
            .threads
            .map_or_else(|| (host::load_threads() / usize::from(args.copies)).max(1), usize::from),
        beside: 0,
        permit,
        drain: Duration::from_secs(args.drain),
    })
}

/// A name for what runs on this machine, if nobody gives one.
pub fn name_of_host() -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    host::hostname().chars().map(plain).take(64).collect()
}

/// # Errors
/// When a key to trust is none.
pub fn check_keys(keys: &[String]) -> Result<(), Problem> {
    let Some(wrong) = keys.iter().find(|key| !cosmark_cluster::nats::is_public_key(key)) else {
        return Ok(());
    };
    Err(Problem::usage(format!(
        "--trust {wrong}: this is not a controller's key (U and 55 letters and digits); a controller prints its key when it starts"
    )))
}

fn remote_options(args: &DriverArgs) -> Result<RemoteOptions, Problem> {
    let mut labels = Vec::new();
    for label in &args.labels {
        let Some((key, value)) = label.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(Problem::usage(format!("--labels {label}: write KEY=VALUE, such as zone=a")));
        };
        labels.push((key.to_owned(), value.to_owned()));
    }
    check_keys(&args.trust)?;
    Ok(RemoteOptions {
        options: options(args, Origin::Outside)?,
        labels,
        state: host::state_directory(args.state.as_deref())?,
        most_bytes: args.outbox << 20,
        host: host::hostname(),
        cores: u32::try_from(host::processors()).unwrap_or(0),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        measure_ceiling: !args.no_ceiling,
        trust: args.trust.clone(),
    })
}
