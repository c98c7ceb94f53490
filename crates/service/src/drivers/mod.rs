//! The driver pool. A controller without NATS has one driver in its own process; one with NATS has those that joined.

pub mod nats;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cosmark_archive::Timestamp;
use cosmark_cluster::driver::{Busy, measure_ceiling};
use cosmark_cluster::nats::Bus;
use cosmark_controller::{
    ArchiveWriter, Ended, FaultsPlayed, NodesOfRun, Observer, RunJob, StopLevel, run_workload,
};
use cosmark_driver::{Catalog, LocalDriver, Options, Permit, try_target};
use cosmark_workload::Workload;
use cosmark_workload::drivers::DriverThere;
use cosmark_workload::model::TargetSpec;
use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::ServiceError;
use crate::api::types::{DriverInfo, DriverState};
use crate::queue::store::Answer;

/// A run that is ready for its drivers.
pub struct PoolJob<'a> {
    /// Such as `w12`.
    pub id: &'a str,
    /// Who makes the load, by name; nobody for a run that is taken up again, which has its drivers.
    pub drivers: &'a [String],
    /// What to do; secrets are resolved, the seed is set.
    pub workload: &'a Workload,
    /// Where it is written down.
    pub dir: ArchiveWriter,
    /// Keep every operation.
    pub operation_log: bool,
    /// Whether to go on.
    pub stop: watch::Receiver<StopLevel>,
    /// Becomes true when this controller is to let go of the run, for itself or another to take up.
    pub abandon: watch::Receiver<bool>,
    /// Takes secrets out of texts.
    pub redact: &'a dyn Fn(&str) -> String,
    /// Who watches.
    pub observer: &'a mut dyn Observer,
    /// The store's machines, where they are looked at.
    pub nodes: Option<NodesOfRun>,
    /// Who plays its faults; `None` without any.
    pub faults: Option<Box<dyn FaultsPlayed>>,
}

/// Drivers, and a way to run a workload on them.
pub trait DriverPool: Send + Sync {
    /// All drivers that are known.
    fn drivers(&self) -> Vec<DriverInfo>;

    /// Those that are alive and not drained, and whether each could begin another run now.
    fn there(&self) -> Vec<DriverThere> {
        let alive = self
            .drivers()
            .into_iter()
            .filter(|one| matches!(one.state, DriverState::Idle | DriverState::Busy));
        alive.map(|one| DriverThere { name: one.name, labels: one.labels, is_free: true }).collect()
    }

    /// From now on these have this run, until it is released.
    fn reserve(&self, _id: &str, _drivers: &[String]) {}

    /// The run's drivers are free for another one.
    fn release(&self, _id: &str) {}

    /// Gives a driver no new work, or gives it work again; false when there is none of this name.
    ///
    /// # Errors
    /// One sentence.
    fn drain<'a>(&'a self, name: &'a str, drained: bool) -> Answer<'a, bool>;

    /// Reads again what another controller, or this one before its restart, was told about drivers.
    fn recall(&self) -> Answer<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Whether the drivers can be told all of this workload.
    ///
    /// # Errors
    /// [`ServiceError::TooLarge`]
    fn takes(&self, _workload: &Workload) -> Result<(), ServiceError> {
        Ok(())
    }

    /// What workloads may reach on the machines of drivers elsewhere, as far as all of those that are known say it; `None` =
    /// nothing can be said before they are asked.
    fn permit_elsewhere(&self) -> Option<Permit> {
        None
    }

    /// Forgets a driver that is lost; false when there is none of this name.
    ///
    /// # Errors
    /// One sentence, also for one that is alive.
    fn forget(&self, name: &str) -> Result<bool, String>;

    /// True when runs outlive the controller: one that ends lets go of them, and the next takes them up.
    fn continues(&self) -> bool {
        false
    }

    /// Where agents on the store's machines are (`cosmark node`); `None` = nowhere.
    fn agents(&self) -> Option<Bus> {
        None
    }

    /// Forgets what drivers told of a run: its archive is complete, and it is in no queue any more.
    fn clear<'a>(&'a self, _id: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Runs a workload to its end; `None` when it was let go. Blocks: it has a thread of its own.
    ///
    /// # Errors
    /// One sentence when it could not begin.
    fn run(&self, job: PoolJob<'_>) -> Result<Option<Ended>, String>;

    /// Lets a driver log in at a target and ask it one cheap question. Blocks for as long as the target's own patience, at
    /// most half a minute.
    fn try_target(&self, auth: &TargetSpec, storage: &TargetSpec) -> Tried;
}

/// What came of trying a target.
#[derive(Debug)]
pub struct Tried {
    /// The driver that tried it; `None` when none could.
    pub driver: Option<String>,
    /// How long it took, milliseconds.
    pub ms: f64,
    /// What went wrong, in one sentence with its remedy.
    pub outcome: Result<(), String>,
}

/// One driver inside this process.
pub struct LocalPool {
    catalog: Catalog,
    /// Load threads.
    threads: usize,
    /// What workloads may reach on this machine.
    permit: Permit,
    /// Operations in flight may end for this long.
    drain: Duration,
    about: DriverInfo,
    now: Arc<Mutex<Now>>,
    /// Held while the ceiling is measured: no run makes load then.
    measuring: Arc<Mutex<()>>,
}

#[derive(Default)]
struct Now {
    drained: bool,
    runs: Vec<String>,
    /// How busy this machine's processors were, and when that was asked last.
    busy: Busy,
    load: Option<f64>,
    asked: Option<Instant>,
    /// Operations per second of one load thread, once that is measured.
    ceiling_ops_per_s: Option<f64>,
}

/// The load of this machine is the mean over at least so long.
const LOAD_OVER: Duration = Duration::from_secs(1);

impl Now {
    fn load(&mut self) -> Option<f64> {
        if self.asked.is_none_or(|asked| asked.elapsed() >= LOAD_OVER) {
            self.asked = Some(Instant::now());
            self.load = self.busy.share();
        }
        self.load
    }
}

impl LocalPool {
    /// A driver that speaks what is in `catalog`; `about` is what others are told of it.
    #[must_use]
    pub fn new(catalog: Catalog, threads: usize, permit: Permit, drain: Duration, about: DriverInfo) -> Self {
        let (now, measuring) = (Arc::default(), Arc::default());
        Self { catalog, threads, permit, drain, about, now, measuring }
    }

    /// Measures what one load thread can do, as drivers that join do, on a thread of its own for about a second. A run that
    /// begins meanwhile waits for that.
    pub fn measure_ceiling(&self) {
        let (catalog, options) = (self.catalog, self.options());
        let (now, measuring) = (Arc::clone(&self.now), Arc::clone(&self.measuring));
        let measure = move || {
            let _alone = measuring.lock().unwrap_or_else(PoisonError::into_inner);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let Ok(runtime) = runtime else { return };
            let ceiling_ops_per_s = runtime.block_on(measure_ceiling(catalog, &options));
            now.lock().unwrap_or_else(PoisonError::into_inner).ceiling_ops_per_s = ceiling_ops_per_s;
        };
        // Without it the driver does the same work; only its ceiling is not known.
        drop(std::thread::Builder::new().name("ceiling".into()).spawn(measure));
    }

    fn options(&self) -> Options {
        Options {
            name: self.about.name.clone(),
            threads: self.threads,
            beside: 0,
            permit: self.permit.clone(),
            drain: self.drain,
        }
    }

    fn with_now<T>(&self, look: impl FnOnce(&mut Now) -> T) -> T {
        look(&mut self.now.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl DriverPool for LocalPool {
    fn drivers(&self) -> Vec<DriverInfo> {
        let (state, run, load, ceiling_ops_per_s) = self.with_now(|now| {
            let state = match (now.drained, now.runs.is_empty()) {
                (true, _) => DriverState::Drained,
                (false, true) => DriverState::Idle,
                (false, false) => DriverState::Busy,
            };
            (state, now.runs.first().cloned(), now.load(), now.ceiling_ops_per_s)
        });
        let last_seen = Timestamp::now().to_string();
        vec![DriverInfo { state, run, load, ceiling_ops_per_s, last_seen, ..self.about.clone() }]
    }

    fn release(&self, id: &str) {
        // One that panicked is still there.
        self.with_now(|now| now.runs.retain(|run| run != id));
    }

    fn drain<'a>(&'a self, name: &'a str, drained: bool) -> Answer<'a, bool> {
        let known = name == self.about.name;
        if known {
            self.with_now(|now| now.drained = drained);
        }
        Box::pin(std::future::ready(Ok(known)))
    }

    fn forget(&self, name: &str) -> Result<bool, String> {
        if name != self.about.name {
            return Ok(false);
        }
        Err(format!("the driver {name} lives in the controller itself; it cannot be forgotten"))
    }

    fn run(&self, job: PoolJob<'_>) -> Result<Option<Ended>, String> {
        let id = job.id.to_owned();
        self.with_now(|now| now.runs.push(id.clone()));
        drop(self.measuring.lock().unwrap_or_else(PoisonError::into_inner));
        let driver = LocalDriver::new(self.catalog, self.options());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let ended = runtime.map_err(|cause| format!("cannot start: {cause}")).and_then(|runtime| {
            let PoolJob { workload, dir, operation_log, stop, redact, observer, nodes, faults, .. } = job;
            let mut job = RunJob::new(workload, dir, vec![Box::new(driver)], stop, redact);
            let epoch = Timestamp::now();
            let log = job.dir.keep_operations(workload, (operation_log, false), epoch);
            job.operation_log = log.map_err(|error| error.to_string())?.map(|log| (log, epoch));
            job.on_nodes(nodes);
            faults.into_iter().for_each(|faults| job.on_faults(faults));
            Ok(Some(runtime.block_on(run_workload(job, observer))))
        });
        self.with_now(|now| now.runs.retain(|run| *run != id));
        ended
    }

    fn try_target(&self, auth: &TargetSpec, storage: &TargetSpec) -> Tried {
        let begun = Instant::now();
        let outcome = try_target(&self.catalog, &self.permit, auth, storage);
        Tried { driver: Some(self.about.name.clone()), ms: begun.elapsed().as_secs_f64() * 1e3, outcome }
    }
}
