//! `cosmark run --nats`: a run over drivers on other machines, with the controller in this process.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cosmark_archive::{DriversRecord, RunDir, Timestamp};
use cosmark_cluster::agent;
use cosmark_cluster::controller::{RemoteError, RemoteJob};
use cosmark_cluster::nats::{Bus, Registry};
use cosmark_controller::{ArchiveWriter, Ended, FaultsPlayed, Observer, StopLevel};
use cosmark_faults::{Agents, Proxies};
use cosmark_nodes::watch::Agent;
use cosmark_service::{ClusterKey, StateDir};
use cosmark_wire::MESSAGE_VERSION;
use cosmark_wire::message::Registration;
use cosmark_workload::Workload;
use cosmark_workload::drivers::{DriverThere, DriversWanted, Standing};
use cosmark_workload::units::parse_duration;
use tokio::sync::watch;

use crate::args::{ManyArgs, NatsArgs, RunOptions};
use crate::exit::Problem;
use crate::host::state_directory;
use crate::runs::Beside;
use crate::{faults, nats};

/// NATS and the drivers that take part.
pub struct Remote {
    bus: Bus,
    drivers: Vec<Registration>,
    wanted: DriversWanted,
    waited: Duration,
    /// The run was begun by another process.
    takes_over: bool,
}

/// The agents of a NATS, for who asks them after a run; its connection lives on the runtime of this call.
///
/// # Errors
/// When NATS cannot be reached, or the key of this controller not be read.
pub async fn agents_of(
    url: &str,
    login: &NatsArgs,
    state_dir: Option<&Path>,
) -> Result<Arc<dyn Agents>, Problem> {
    let state = StateDir::open(&state_directory(state_dir)?)?;
    let identity = ClusterKey::open(&state)?.identity()?;
    let bus = nats::connect(url, login, "recover").await?;
    let bus = bus.as_controller(identity).await.map_err(|error| nats::problem(&error))?;
    Ok(Arc::new(agent::OverNats::new(bus).map_err(std::io::Error::other)?))
}

/// Who plays the faults of a workload for a controller, over the NATS that its agents have joined, after what an earlier run
/// has left is healed. A run that was taken up goes on whatever is left: an agent makes no other fault until it has healed
/// that.
///
/// # Errors
/// A sentence.
pub fn by_agents(
    workload: &Workload,
    run: &str,
    bus: Option<Bus>,
    archive: &Path,
    taken_up: Option<Timestamp>,
) -> Result<Option<Box<dyn FaultsPlayed>>, String> {
    if workload.stages.iter().all(|stage| stage.faults.is_empty()) {
        return Ok(None);
    }
    let agents = bus.map(agent::OverNats::new).transpose()?.map(|agents| Arc::new(agents) as Arc<dyn Agents>);
    match faults::heal_left(archive, agents.as_deref()) {
        Err(problem) if taken_up.is_some() => eprintln!("cosmark: {problem}"),
        healed => healed.map_err(|problem| problem.to_string())?,
    }
    let played = faults::played(workload, run.to_owned(), Proxies::default(), agents, (archive, taken_up));
    played.map_err(|problem| problem.to_string())
}

/// What drivers told of a run that is archived is forgotten within this time, or with its age.
const PURGE_PATIENCE: Duration = Duration::from_secs(3);
/// How long a connection may take to show who is there.
const LOOK: Duration = Duration::from_secs(10);
/// Drivers that are waited for are looked for this often.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

impl Remote {
    /// The agents of this NATS (`cosmark node`), each as a machine to look at. Those that are left out are named.
    pub async fn agents(&self, run: &str, workload: &Workload) -> Vec<Agent> {
        let taken: Vec<String> = workload.nodes.iter().map(|node| node.name.clone()).collect();
        let (agents, troubles) = agent::agents(&self.bus, run, &taken).await;
        troubles.iter().for_each(|trouble| eprintln!("cosmark: {trouble}"));
        agents
    }

    /// Who plays the faults of a workload through the agents of this NATS, in the run of this id in the archive. Of a run
    /// that is taken up those are made that had not begun.
    ///
    /// # Errors
    /// When the archive cannot be opened, or the system refuses.
    pub fn faults(
        &self,
        workload: &Workload,
        run: String,
        archive: &Path,
    ) -> Result<Option<Box<dyn FaultsPlayed>>, Problem> {
        if workload.stages.iter().all(|stage| stage.faults.is_empty()) {
            return Ok(None);
        }
        if self.takes_over {
            eprintln!(
                "cosmark: slots of faults that may have begun before this run was taken over are void and not made again; those that \
                 had not begun are made"
            );
        }
        let taken_up = self.takes_over.then(Timestamp::now);
        faults::played(workload, run, Proxies::default(), Some(self.reaches_agents()?), (archive, taken_up))
    }

    fn reaches_agents(&self) -> Result<Arc<dyn Agents>, Problem> {
        let agents = agent::OverNats::new(self.bus.clone()).map_err(std::io::Error::other)?;
        Ok(Arc::new(agents))
    }

    /// Heals what earlier runs of the archive that are gone have left in force; their agents are asked what became of theirs.
    ///
    /// # Errors
    /// As [`faults::heal_left`].
    pub async fn heal_left(&self, archive: &Path) -> Result<(), Problem> {
        let (agents, archive) = (self.reaches_agents()?, archive.to_owned());
        let healing = tokio::task::spawn_blocking(move || faults::heal_left(&archive, Some(agents.as_ref())));
        let healed: Result<(), Problem> = healing.await.map_err(std::io::Error::other)?;
        match healed {
            // Its load goes on.
            Err(problem) if self.takes_over => {
                eprintln!("cosmark: {problem}");
                Ok(())
            }
            healed => healed,
        }
    }

    /// Connects and waits for the drivers that the command or the workload asks for.
    ///
    /// # Errors
    /// When NATS cannot be reached, or drivers that were asked for do not come in time.
    pub async fn connect(url: &str, many: &ManyArgs, workload: &Workload) -> Result<Self, Problem> {
        let wanted = wanted(many, workload)?;
        let state = StateDir::open(&state_directory(many.state_dir.as_deref())?)?;
        let identity = ClusterKey::open(&state)?.identity()?;
        let bus = nats::connect(url, &many.login, "run").await?;
        let bus = bus.as_controller(identity).await.map_err(|error| nats::problem(&error))?;
        let registry = bus.registry().await.map_err(|error| nats::problem(&error))?;
        if many.take_over.is_some() {
            let (drivers, waited) = (Vec::new(), Duration::ZERO);
            return Ok(Self { bus, drivers, wanted, waited, takes_over: true });
        }
        agent::all_there(&bus, workload).await.map_err(Problem::usage)?;
        let begun = Instant::now();
        let mut short_since = None;
        let mut told = None;
        let mut left_out = BTreeMap::new();
        loop {
            let all = alive(&bus, &registry, &mut left_out);
            let there: Vec<DriverThere> = all.iter().map(there_of).collect();
            let standing = wanted.stand(&there);
            match &standing {
                Standing::Ready(names) => {
                    let drivers = all.into_iter().filter(|driver| names.contains(&driver.name)).collect();
                    return Ok(Self { bus, drivers, wanted, waited: begun.elapsed(), takes_over: false });
                }
                // A command that is typed is answered at once, where nothing says that it may wait.
                Standing::Short { there } => {
                    let waited = short_since.get_or_insert_with(Instant::now).elapsed();
                    if waited >= wanted.wait.unwrap_or_default() {
                        return Err(in_vain(&wanted, *there, &all, &left_out));
                    }
                }
                Standing::Busy { .. } => {
                    short_since = None;
                    if wanted.wait.is_some_and(|wait| begun.elapsed() >= wait) {
                        let text = wanted.waits_for(&standing).unwrap_or_default();
                        return Err(Problem::usage(format!(
                            "{text}: they did not become free in time; see `cosmark drivers`"
                        )));
                    }
                }
            }
            let text = wanted.waits_for(&standing);
            if text != told {
                eprintln!("cosmark: {}", text.as_deref().unwrap_or_default());
                told = text;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// What `run.json` says about the drivers; nothing for a run that is taken up, which has them already.
    #[must_use]
    pub fn record(&self) -> Option<DriversRecord> {
        let wanted = if self.wanted.is_any() { "all".to_owned() } else { self.wanted.to_string() };
        let got: Vec<String> = self.drivers.iter().map(|driver| driver.name.clone()).collect();
        let waited_ms = u64::try_from(self.waited.as_millis()).unwrap_or(u64::MAX);
        (!got.is_empty()).then_some(DriversRecord { wanted, waited_ms, got })
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
        Beside { nodes, faults }: Beside,
        options: &RunOptions,
        stop: watch::Receiver<StopLevel>,
        redact: &dyn Fn(&str) -> String,
        observer: &mut dyn Observer,
    ) -> Result<Ended, Problem> {
        let Self { bus, drivers, .. } = self;
        let names: Vec<&str> = drivers.iter().map(|driver| driver.name.as_str()).collect();
        if !names.is_empty() {
            let plural = if names.len() == 1 { "" } else { "s" };
            eprintln!("cosmark: run {run} on {} driver{plural}: {}", names.len(), names.join(", "));
        }
        let job = RemoteJob {
            nodes,
            faults,
            run: run.clone(),
            workload,
            dir: ArchiveWriter::new(dir),
            bus: bus.clone(),
            drivers,
            operation_log: options.oplog,
            ledger: options.ledger,
            drain: options.drain.map(Duration::from_secs),
            stop,
            redact,
        };
        let ended = cosmark_cluster::controller::run(job, observer).await.map_err(|error| match error {
            RemoteError::Archive(error) => Problem::from(error),
            RemoteError::Bus(text) => Problem::ours(text),
            RemoteError::TakenUp(_) => Problem::ours(error.to_string()),
            other => Problem::usage(other.to_string()),
        })?;
        // The archive has it now.
        let purged = tokio::time::timeout(PURGE_PATIENCE, bus.purge_run(&run)).await;
        if let Some(cause) = purged.map_or_else(|_| Some("no answer".to_owned()), Result::err) {
            eprintln!("cosmark: the messages of run {run} could not be removed from NATS ({cause})");
        }
        Ok(ended)
    }
}

/// What the command says comes before what the workload says.
fn wanted(many: &ManyArgs, workload: &Workload) -> Result<DriversWanted, Problem> {
    let wrong = |option: &str, (message, hint): (String, String)| {
        Problem::usage(format!("{option}: {message}; {hint}"))
    };
    let own = DriversWanted::of_text(many.drivers.as_deref().unwrap_or_default());
    let own = own.map_err(|complaint| wrong("--drivers", complaint))?;
    let wait = many.wait_for_drivers.as_deref().map(parse_duration).transpose();
    let wait = wait.map_err(|complaint| wrong("--wait-for-drivers", complaint))?;
    Ok(DriversWanted { wait, ..own }.or(&workload.drivers))
}

/// Those that were heard of lately. A driver of another version, or one that does not follow this controller, is told once and
/// left out.
fn alive(bus: &Bus, registry: &Registry, left_out: &mut BTreeMap<String, String>) -> Vec<Registration> {
    let lately = registry.all().into_iter().filter(|present| present.heard.elapsed() < LOOK);
    let mut fit = Vec::new();
    for driver in lately.map(|present| present.registration) {
        let why = if driver.message_version == MESSAGE_VERSION {
            bus.can_order(&driver).err()
        } else {
            Some(format!(
                "driver {} (Cosmark {}) speaks version {} of the messages, this is version {MESSAGE_VERSION}",
                driver.name, driver.version, driver.message_version
            ))
        };
        match why {
            None => fit.push(driver),
            Some(why) if left_out.get(&driver.name) == Some(&why) => {}
            Some(why) => {
                eprintln!("cosmark: left out: {why}");
                left_out.insert(driver.name.clone(), why);
            }
        }
    }
    fit
}

/// Whether another controller has given it a run, it says itself.
fn there_of(driver: &Registration) -> DriverThere {
    DriverThere { name: driver.name.clone(), labels: driver.labels.clone(), is_free: driver.runs.is_empty() }
}

fn in_vain(
    wanted: &DriversWanted,
    there: usize,
    all: &[Registration],
    left_out: &BTreeMap<String, String>,
) -> Problem {
    // Who was asked for by name is not left out in silence, nor is everybody.
    let asked = |name: &String| wanted.which.contains(name) || (wanted.is_any() && all.is_empty());
    if let Some((_, why)) = left_out.iter().find(|(name, _)| asked(name)) {
        return Problem::usage(why.clone());
    }
    if all.is_empty() && wanted.is_any() {
        return Problem::usage("no driver has joined; start one with `cosmark driver --join URL`");
    }
    let mut names: Vec<&str> = all.iter().map(|driver| driver.name.as_str()).collect();
    names.extend(left_out.keys().map(String::as_str));
    if names.len() > 20 {
        names.truncate(20);
        names.push("..");
    }
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let missing: Vec<String> = wanted.which.iter().filter(|one| !is_there(one, all)).cloned().collect();
    if !missing.is_empty() {
        return Problem::usage(format!("no driver {} has joined; there are: {known}", missing.join(", ")));
    }
    let asked = wanted.in_words();
    Problem::usage(format!(
        "the run wants {asked}, and {there} have joined: {known}; start more, or wait for them with --wait-for-drivers 2m"
    ))
}

fn is_there(one: &str, all: &[Registration]) -> bool {
    let wanted = DriversWanted { which: vec![one.to_owned()], ..DriversWanted::default() };
    all.iter().any(|driver| wanted.means(&there_of(driver)))
}
