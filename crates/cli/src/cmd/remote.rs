//! `cosmark run --nats`: a run over drivers on other machines, with the controller in this process.

use std::path::Path;
use std::time::Duration;

use cosmark_archive::RunDir;
use cosmark_bus::Bus;
use cosmark_controller::remote::{RemoteError, RemoteJob};
use cosmark_controller::{Ended, Keeper, Observer, StopLevel};
use cosmark_service::{ClusterKey, StateDir};
use cosmark_wire::MESSAGE_VERSION;
use cosmark_wire::message::Registration;
use cosmark_workload::Workload;
use tokio::sync::watch;

use crate::args::{ManyArgs, RunOptions};
use crate::client::state_directory;
use crate::exit::Problem;
use crate::nats;

/// NATS and the drivers that take part.
pub struct Remote {
    bus: Bus,
    drivers: Vec<Registration>,
}

/// A run that another process began.
pub struct Earlier {
    /// Its id on NATS.
    pub run: String,
    /// Its number in the archive.
    pub number: u64,
    /// Its seed.
    pub seed: Option<u64>,
}

/// The id on NATS of the run with this id in the archive.
#[must_use]
pub fn new_id(archive_id: &str) -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{archive_id}-{:x}", since.as_micros())
}

impl Earlier {
    /// Finds what it left in the archive.
    ///
    /// # Errors
    /// When there is nothing.
    pub fn find(run: &str, archive: &Path) -> Result<Self, Problem> {
        let nothing = || {
            let shown = archive.display();
            Problem::usage(format!("there is no unfinished run {run} in {shown}; give its --archive"))
        };
        let number: u64 = run
            .strip_prefix('w')
            .and_then(|rest| rest.split_once('-'))
            .and_then(|(number, _)| number.parse().ok())
            .ok_or_else(nothing)?;
        let found = cosmark_archive::list(archive)?.into_iter().find(|found| found.number == number);
        let record = found.and_then(|found| found.record).and_then(Result::ok).ok_or_else(nothing)?;
        Ok(Self { run: run.to_owned(), number, seed: record.seed })
    }
}

/// What drivers told of a run that is archived is forgotten within this time, or with its age.
const PURGE_PATIENCE: Duration = Duration::from_secs(3);
/// How long a connection may take to show who is there.
const LOOK: Duration = Duration::from_secs(10);

impl Remote {
    /// Connects and chooses the drivers.
    ///
    /// # Errors
    /// When NATS cannot be reached, or a driver that was asked for is not there.
    pub async fn connect(url: &str, many: &ManyArgs) -> Result<Self, Problem> {
        let state = StateDir::open(&state_directory(many.state_dir.as_deref())?)?;
        let identity = ClusterKey::open(&state)?.identity()?;
        let bus = nats::connect(url, &many.login, "run").await?;
        let bus = bus.as_controller(identity).await.map_err(|error| nats::problem(&error))?;
        let registry = bus.registry().await.map_err(|error| nats::problem(&error))?;
        let all: Vec<Registration> = registry
            .all()
            .into_iter()
            .filter(|present| present.heard.elapsed() < LOOK)
            .map(|present| present.registration)
            .collect();
        if many.take_over.is_some() {
            return Ok(Self { bus, drivers: Vec::new() });
        }
        let drivers = choose(all, &many.drivers)?;
        let drivers = if many.drivers.is_empty() { those_that_obey(&bus, drivers)? } else { drivers };
        Ok(Self { bus, drivers })
    }

    /// Runs a workload over them.
    ///
    /// # Errors
    /// When it cannot begin.
    #[expect(clippy::too_many_arguments, reason = "the parts of a run come from different places, once")]
    pub async fn run(
        self,
        run: String,
        workload: &Workload,
        dir: RunDir,
        options: &RunOptions,
        stop: watch::Receiver<StopLevel>,
        redact: &dyn Fn(&str) -> String,
        observer: &mut dyn Observer,
    ) -> Result<Ended, Problem> {
        let Self { bus, drivers } = self;
        let names: Vec<&str> = drivers.iter().map(|driver| driver.name.as_str()).collect();
        if !names.is_empty() {
            eprintln!("cosmark: run {run} on {} drivers: {}", names.len(), names.join(", "));
        }
        let job = RemoteJob {
            run: run.clone(),
            workload,
            dir: Keeper::new(dir),
            bus: bus.clone(),
            drivers,
            operation_log: options.oplog,
            drain: Some(Duration::from_secs(options.drain)),
            stop,
            redact,
        };
        let ended = cosmark_controller::remote::run(job, observer).await.map_err(|error| match error {
            RemoteError::Archive(error) => Problem::from(error),
            RemoteError::Bus(text) => Problem::ours(text),
            RemoteError::TakenUp(_) => Problem::ours(error.to_string()),
            other => Problem::usage(other.to_string()),
        })?;
        // The archive has it now.
        let purged = tokio::time::timeout(PURGE_PATIENCE, bus.purge_run(&run)).await;
        if let Some(cause) = purged.map_or_else(|_| Some("no answer".to_owned()), Result::err) {
            eprintln!("cosmark: NATS keeps what was said about run {run} ({cause})");
        }
        Ok(ended)
    }
}

/// Those that follow this controller; the others are told. Who was asked for by name is not left out in silence.
fn those_that_obey(bus: &Bus, drivers: Vec<Registration>) -> Result<Vec<Registration>, Problem> {
    let mut first = None;
    let mut follow = Vec::new();
    for driver in drivers {
        match bus.can_order(&driver) {
            Ok(()) => follow.push(driver),
            Err(why) => {
                eprintln!("cosmark: left out: {why}");
                first.get_or_insert(why);
            }
        }
    }
    match first {
        Some(why) if follow.is_empty() => Err(Problem::usage(why)),
        _ => Ok(follow),
    }
}

/// Those with these names or labels; all, if none are given. A driver of another version is told and left out unless it was
/// asked for by name.
fn choose(all: Vec<Registration>, wanted: &[String]) -> Result<Vec<Registration>, Problem> {
    let known: Vec<String> = all.iter().map(|driver| driver.name.clone()).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    let mut chosen: Vec<Registration> = Vec::new();
    for want in wanted {
        let label = want.split_once('=');
        let meant = |driver: &&Registration| {
            driver.name == *want
                || label.is_some_and(|(key, value)| driver.labels.iter().any(|(k, v)| k == key && v == value))
        };
        let found: Vec<_> = all.iter().filter(meant).cloned().collect();
        if found.is_empty() {
            return Err(Problem::usage(format!("no driver {want} has joined; there are: {known}")));
        }
        chosen.extend(
            found
                .into_iter()
                .filter(|one| !chosen.iter().any(|other| other.name == one.name))
                .collect::<Vec<_>>(),
        );
    }
    if !wanted.is_empty() {
        return Ok(chosen);
    }
    let (same, other): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|driver| driver.message_version == MESSAGE_VERSION);
    for driver in &other {
        eprintln!(
            "cosmark: driver {} (Cosmark {}) is left out: it speaks version {} of the messages, this is version \
             {MESSAGE_VERSION}",
            driver.name, driver.version, driver.message_version
        );
    }
    if same.is_empty() {
        let text = "no driver has joined; start one with `cosmark driver --join URL`";
        return Err(Problem::usage(text));
    }
    Ok(same)
}
