//! A run over drivers on other machines. Every message about it is in one durable stream, in one order, and this
//! process knows only what it reads there. So a controller takes a run over by reading its stream from the first
//! message: the same events lead to the same decisions, and then it continues live.

mod clocks;
mod credible;
mod journal;
mod lessor;
mod nats_link;
mod offsets;
mod publisher;
mod router;
mod stops;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use cosmark_archive::{ArchiveError, BesideRecord, Timestamp};
use cosmark_controller::{
    ArchiveWriter, Ended, FaultsPlayed, NodesOfRun, Observer, RunJob, StopLevel, run_workload,
};
use cosmark_wire::message::{Control, Order, Registration, StageMessage, encode};
use cosmark_wire::{DriverLink, MESSAGE_VERSION, ProbeShare, RunClock, StageOrder, unix_ns};
use cosmark_workload::listed::names_of_stage;
use cosmark_workload::model::Workload;
use cosmark_workload::read_sizes::lengths_of_stage;
use cosmark_workload::share::spread_stage;
use cosmark_workload::to_yaml;
use thiserror::Error;
use tokio::sync::watch::Receiver;

use crate::nats::{Bus, LinkState, Registry, names};
use journal::Journal;
use lessor::{LeaseWords, Lessor};
use nats_link::NatsLink;
pub use offsets::Offsets;
use publisher::Publisher;
use router::Router;
use stops::Stops;
use tokio::time::Instant;

/// A NATS that is there and does not answer for so long will not.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(300);
/// How long the last words may take when NATS is away.
const LAST_WORDS: Duration = Duration::from_secs(10);
/// The same for a user who wants the end at once.
const LAST_WORDS_AT_ONCE: Duration = Duration::from_secs(1);
/// What a driver said of itself within this time still holds.
const STILL_TRUE: Duration = Duration::from_secs(5);
/// What seal, headers and subject add to an order, at most.
const ENVELOPE: usize = 1024;

/// A workload that is ready to be run over drivers on other machines.
pub struct RemoteJob<'a> {
    /// Id of the run on the bus ([`names::is_token`]); the same when the run is taken up.
    pub run: String,
    /// What to do: secrets fetched, seed set; the same when the run is taken up.
    pub workload: &'a Workload,
    /// Where it is written down: fresh from `Archive::begin`, or from `Archive::begin_again` when the run is taken up.
    pub dir: ArchiveWriter,
    /// NATS.
    pub bus: Bus,
    /// Who takes part. Of a run that is taken up the stream knows.
    pub drivers: Vec<Registration>,
    /// Keep every operation.
    pub operation_log: bool,
    /// Keep a ledger of what the store acknowledges, also where the workload does not ask for it.
    pub ledger: bool,
    /// Operations in flight may end for this long after the load; `None` = as each driver was told at its start.
    pub drain: Option<Duration>,
    /// Whether to go on.
    pub stop: Receiver<StopLevel>,
    /// Takes secrets out of a text before it is shown or kept.
    pub redact: &'a dyn Fn(&str) -> String,
    /// The store's machines, where they are looked at.
    pub nodes: Option<NodesOfRun>,
    /// Who plays the faults of its stages; `None` without any.
    pub faults: Option<Box<dyn FaultsPlayed>>,
}

/// Why a run cannot be begun or taken up. Each is one sentence with its remedy.
#[derive(Debug, Error)]
pub enum RemoteError {
    /// No driver, a bad one, or a bad name.
    #[error("{0}")]
    Drivers(String),
    /// The stream has another workload under this id.
    #[error("run {0} is of another workload: give the file that it was begun with")]
    OtherWorkload(String),
    /// A message that NATS would not take.
    #[error(
        "the stage {stage} takes {bytes} bytes and NATS takes messages of {most} at most: raise max_payload in the \
         configuration of the nats-server, or make the stage smaller"
    )]
    TooLarge {
        /// Name of the stage.
        stage: String,
        /// What it takes on its way to a driver.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// The run is over.
    #[error("run {0} has ended; there is nothing to take up")]
    Over(String),
    /// Another process has taken the run up; the archive of this one is not complete.
    #[error("another controller has taken run {0} up; this one has let go of it")]
    TakenUp(String),
    /// NATS does not answer, or lost its data.
    #[error("{0}")]
    Bus(String),
    /// The operation log.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

/// Whether every stage fits into a message.
///
/// # Errors
/// [`RemoteError::TooLarge`]
pub fn check_size(bus: &Bus, workload: &Workload) -> Result<(), RemoteError> {
    let most = bus.most_bytes();
    for (index, stage) in workload.stages.iter().enumerate() {
        let order = StageOrder {
            step: u32::MAX,
            stage_index: usize::MAX,
            stage: Arc::new(stage.clone()),
            // At the worst one driver does all.
            shares: spread_stage(stage, &["all"]).unwrap_or_default(),
            seed: u64::MAX,
            log_operations: true,
            drain: Some(Duration::MAX),
            lengths: lengths_of_stage(workload, index),
            // As if all had been written: that says most.
            listings: names_of_stage(workload, index, &|_, _| Some(u64::MAX)),
            probes: Some(ProbeShare { tag: u64::MAX, number: u32::MAX, of: u32::MAX }),
        };
        let message = encode(&Order::Stage(StageMessage::of(&order)));
        let bytes = message.map_or(usize::MAX, |message| message.len().saturating_add(ENVELOPE));
        if bytes > most {
            return Err(RemoteError::TooLarge { stage: stage.name.clone(), bytes, most });
        }
    }
    Ok(())
}

/// Runs it to its end, from its beginning or from wherever another controller left it. The stream keeps the run until
/// [`Bus::purge_run`] is called.
///
/// # Errors
/// [`RemoteError`] when nothing was begun.
pub async fn run(job: RemoteJob<'_>, observer: &mut dyn Observer) -> Result<Ended, RemoteError> {
    let RemoteJob { run, workload, dir, bus, drivers, nodes, faults, .. } = job;
    let RemoteJob { operation_log, ledger, drain, stop, redact, .. } = job;
    if !names::is_token(&run) {
        return Err(RemoteError::Drivers(format!(
            "`{run}` cannot be the id of a run: letters, digits, - and _"
        )));
    }
    check_size(&bus, workload)?;
    let lost_after = workload.loss.lost_after;
    // Before anything else is said: whoever gets an order looks for it.
    let lessor = at_last(&bus, &stop, async || Lessor::start(&bus, &run, lost_after).await).await?;
    let history_ends =
        at_last(&bus, &stop, async || bus.last_sequence().await.map_err(RemoteError::Bus)).await?;
    let mut journal = at_last(&bus, &stop, async || Journal::read(&bus, &run, history_ends).await).await?;
    let publisher = Publisher::start(bus.clone(), run.clone());
    let workload_id = fingerprint(workload, redact);
    let (started, drivers, dir) = match journal.started.take() {
        Some(started) if started.workload != workload_id => return Err(RemoteError::OtherWorkload(run)),
        Some(started) => {
            observer.note(&format!("run {run} is taken up with {} drivers", started.drivers.len()));
            (started.unix_ns, started.drivers, dir.taken_up(started.unix_ns))
        }
        None => {
            check_drivers(&bus, &drivers)?;
            let unix_ns = unix_ns();
            write_down(&publisher, unix_ns, workload_id, &drivers);
            (unix_ns, drivers, dir)
        }
    };
    let clock = RunClock::default();
    let words = lessor.words();
    let router = at_last(&bus, &stop, async || {
        Router::start(&bus, &run, history_ends, &drivers, lost_after, publisher.clone(), words.clone()).await
    })
    .await?;
    let journal = Arc::new(journal);
    let links = drivers.iter().map(|driver| {
        let link =
            NatsLink::new(driver.clone(), clock, &bus, &router, publisher.clone(), Arc::clone(&journal));
        Box::new(link) as Box<dyn DriverLink>
    });
    let epoch = Timestamp::from_nanosecond(i128::from(started)).unwrap_or_default();
    let log = dir.keep_operations(workload, (operation_log, ledger), epoch)?.map(|log| (log, epoch));
    let wish = stop.clone();
    let stops = Stops::start(stop, &journal, publisher.clone(), lessor.words());
    let mut job = RunJob::new(workload, dir, links.collect(), stops.level(), redact);
    (job.operation_log, job.drain, job.clock) = (log, drain, clock);
    job.on_step(stops.step_teller());
    job.on_news(news_of(&bus, publisher.clone(), lessor.words()));
    job.on_beside(beside_of(router.registry(), run.clone(), &drivers));
    job.on_nodes(nodes);
    faults.into_iter().for_each(|faults| job.on_faults(faults));
    let ended = tokio::select! {
        ended = run_workload(job, observer) => ended,
        () = lessor.is_taken() => return Err(RemoteError::TakenUp(run)),
    };
    let patience = if *wish.borrow() == StopLevel::Abort { LAST_WORDS_AT_ONCE } else { LAST_WORDS };
    lessor.end(patience).await;
    for driver in &drivers {
        publisher.order(driver, &Order::Forget);
    }
    publisher.control(Control::Ended);
    let trouble = publisher.trouble();
    publisher.end(patience).await;
    for text in trouble.into_iter().chain(router.trouble()) {
        observer.note(&text);
    }
    Ok(ended)
}

/// Asks again while NATS is away or just back, within a bound; not for somebody who has ended it.
async fn at_last<T>(
    bus: &Bus,
    stop: &Receiver<StopLevel>,
    ask: impl AsyncFn() -> Result<T, RemoteError>,
) -> Result<T, RemoteError> {
    let mut until = Instant::now() + PATIENCE;
    loop {
        match ask().await {
            Err(RemoteError::Bus(_)) if Instant::now() < until && *stop.borrow() == StopLevel::Run => {
                tokio::time::sleep(PAUSE).await;
                // Whoever began this may end it; a server that is away may stay so for long.
                if !bus.is_connected() {
                    until = Instant::now() + PATIENCE;
                }
            }
            other => return other,
        }
    }
}

/// Drivers that are named in one message; a message has room for 1 MB.
const DRIVERS_A_MESSAGE: usize = 1000;

/// The beginning of a run, for a successor: of each driver what it takes to speak to it.
fn write_down(publisher: &Publisher, unix_ns: i64, workload: String, drivers: &[Registration]) {
    let what_counts = |driver: &Registration| Registration {
        nics: Vec::new(),
        adaptors: Vec::new(),
        reaches: None,
        runs: Vec::new(),
        trusts: Vec::new(),
        proof: Vec::new(),
        ..driver.clone()
    };
    let mut parts: Vec<Vec<Registration>> =
        drivers.chunks(DRIVERS_A_MESSAGE).map(|some| some.iter().map(what_counts).collect()).collect();
    let last = parts.pop().unwrap_or_default();
    for (part, drivers) in (0..).zip(parts) {
        publisher.control(Control::Drivers { part, drivers });
    }
    publisher.control(Control::Started { unix_ns, workload, drivers: last });
}

/// What drivers say that they do for other runs, where that is done by a driver of this one or to a store of this one.
fn beside_of(
    registry: Registry,
    run: String,
    drivers: &[Registration],
) -> Box<dyn Fn() -> Vec<BesideRecord>> {
    let own: Vec<String> = drivers.iter().map(|driver| driver.name.clone()).collect();
    Box::new(move || {
        let all: Vec<Registration> = registry
            .all()
            .into_iter()
            .filter(|one| one.heard.elapsed() < STILL_TRUE)
            .map(|one| one.registration)
            .collect();
        let doing = || all.iter().flat_map(|driver| driver.doing.iter().map(move |doing| (driver, doing)));
        let mine: BTreeSet<&str> = doing()
            .filter(|(_, doing)| doing.run == run)
            .flat_map(|(_, doing)| doing.stores.iter().map(String::as_str))
            .collect();
        let others = doing().filter(|(_, doing)| doing.run != run && doing.requests_per_s > 0.0);
        others
            .map(|(driver, doing)| BesideRecord {
                driver: driver.name.clone(),
                run: doing.run.clone(),
                requests_per_s: doing.requests_per_s,
                same_driver: own.contains(&driver.name),
                stores: doing.stores.iter().filter(|store| mine.contains(store.as_str())).cloned().collect(),
            })
            .filter(|beside| beside.same_driver || !beside.stores.is_empty())
            .collect()
    })
}

/// Says when NATS goes and comes, and what it refuses.
fn news_of(bus: &Bus, publisher: Publisher, lease: LeaseWords) -> Box<dyn FnMut() -> Option<String>> {
    let state = bus.state();
    let mut last = LinkState::Connected;
    Box::new(move || {
        let now = *state.borrow();
        if now == last {
            let refused = publisher.trouble().map(|trouble| format!("NATS: {trouble}"));
            return refused.or_else(|| lease.news().map(str::to_owned));
        }
        last = now;
        Some(match now {
            LinkState::Connected => "NATS is back".to_owned(),
            LinkState::Disconnected => "NATS is away; the drivers go on and tell later".to_owned(),
        })
    })
}

fn check_drivers(bus: &Bus, drivers: &[Registration]) -> Result<(), RemoteError> {
    if drivers.is_empty() {
        return Err(RemoteError::Drivers(
            "no driver has registered; start one with `cosmark driver --join nats://HOST:4222`".to_owned(),
        ));
    }
    for driver in drivers {
        let Registration { name, message_version, version, .. } = driver;
        if *message_version != MESSAGE_VERSION {
            return Err(RemoteError::Drivers(format!(
                "driver {name} (Cosmark {version}) speaks version {message_version} of the messages, this controller \
                 (Cosmark {}) version {MESSAGE_VERSION}: use the same Cosmark on both",
                env!("CARGO_PKG_VERSION")
            )));
        }
        if !names::is_token(name) {
            return Err(RemoteError::Drivers(format!("`{name}` cannot be the name of a driver")));
        }
        bus.can_order(driver).map_err(RemoteError::Drivers)?;
    }
    Ok(())
}

/// Tells workloads apart: FNV-1a (Fowler, Noll, Vo) over the canonical text. Without its secrets: who may
/// read the stream could try words until one fits.
fn fingerprint(workload: &Workload, redact: &dyn Fn(&str) -> String) -> String {
    // Which machines are looked at is each controller's own affair.
    let what_drivers_do = Workload { nodes: Vec::new(), ..workload.clone() };
    let hash = redact(&to_yaml(&what_drivers_do)).bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}
