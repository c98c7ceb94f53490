//! The controller, assembled: state, queue, drivers, interface; from its start to its end.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum_server::Handle;
use cosmark_archive::HostRecord;
use cosmark_cluster::nats::Bus;
use cosmark_controller::JudgesFaults;
use cosmark_driver::{Catalog, Permit};
use cosmark_workload::Environment;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::ServiceError;
use crate::api::types::{DriverInfo, SystemEvent};
use crate::api::{App, Shared, router, status_of};
use crate::auth::Access;
use crate::auth::keys::ClusterKey;
use crate::auth::secrets::Secrets;
use crate::auth::tokens::Tokens;
use crate::check::Reader;
use crate::drivers::nats::NatsPool;
use crate::drivers::{DriverPool, LocalPool};
use crate::http::places::Places;
use crate::http::serve::{Tls, listen, secure, serve};
use crate::queue::nodes::Stores;
use crate::queue::runner::{PlaysFaults, Runner};
use crate::queue::store::{FileStore, KvStore, Leader, Store};
use crate::queue::{End, RunQueue};
use crate::reach::reached_at;
use crate::state::StateDir;
use crate::studies::{Studies, StudiesSetup};

/// A status goes to those who watch at least this often.
const STATUS_EVERY: Duration = Duration::from_secs(10);
/// Drivers are looked at this often.
const DRIVERS_EVERY: Duration = Duration::from_secs(2);
/// A lease is asked for this often, and lasts so long.
const LEASE_EVERY: Duration = Duration::from_secs(2);
const LEASE: Duration = Duration::from_secs(6);
/// An answer about the lease that takes longer is none.
const LEASE_PATIENCE: Duration = Duration::from_secs(3);
/// Clients may end their requests for so long.
const LAST_REQUESTS: Duration = Duration::from_secs(5);
/// Runs may end for so long when the controller is to end.
const LAST_RUNS: Duration = Duration::from_secs(30);

/// How a controller is to be.
#[derive(Clone)]
pub struct Setup {
    /// Its name.
    pub name: String,
    /// Where it listens.
    pub listen: SocketAddr,
    /// How it is spoken to.
    pub tls: Tls,
    /// In the clear, also where other machines can reach it.
    pub insecure: bool,
    /// Its state directory.
    pub state: PathBuf,
    /// Where runs are archived.
    pub archive: PathBuf,
    /// Runs at the same time.
    pub concurrency: usize,
    /// What drivers speak.
    pub catalog: Catalog,
    /// Values of `${sys:..}`.
    pub environment: Environment,
    /// This machine.
    pub host: HostRecord,
    /// Shows a sentence to the operator.
    pub tell: Arc<dyn Fn(&str) + Send + Sync>,
    /// Names and public keys of the drivers that get work; none = all that join.
    pub admit: Vec<(String, String)>,
    /// COSBench's endpoints take programs of this machine without a login.
    pub anonymous_loopback: bool,
    /// Machines of stores, looked at while runs speak to these stores.
    pub stores: Arc<Stores>,
    /// Has the faults of runs played.
    pub faults: PlaysFaults,
    /// Judges the faults of runs that were cut off.
    pub judges: JudgesFaults,
    /// Where studies are, and whether they may be started from here.
    pub studies: StudiesSetup,
    /// The command that lets a driver of another machine join, as pages show it; without secrets and places on this machine.
    pub join: Option<String>,
}

/// The driver of a controller without NATS.
pub struct LocalSetup {
    /// Load threads.
    pub threads: usize,
    /// What workloads may reach on this machine.
    pub permit: Permit,
    /// Operations in flight may end for this long after the load.
    pub drain: Duration,
    /// Measure at the start, for about a second, what it could do at most; a run that begins meanwhile waits for that.
    pub measure_ceiling: bool,
    /// What others are told of it.
    pub about: DriverInfo,
}

/// Runs a controller with its driver in this process, until `stop` is done.
///
/// # Errors
/// When it cannot start.
pub async fn run_local(
    setup: Setup,
    local: LocalSetup,
    stop: impl Future<Output = ()>,
) -> Result<(), ServiceError> {
    let state = Arc::new(StateDir::claim(&setup.state)?);
    let key = Arc::new(ClusterKey::open(&state)?);
    let store = Arc::new(FileStore::open(Arc::clone(&state), Arc::clone(&key))?);
    let LocalSetup { threads, permit, drain, measure_ceiling, about } = local;
    let pool = Arc::new(LocalPool::new(setup.catalog, threads, permit.clone(), drain, about));
    if measure_ceiling {
        pool.measure_ceiling();
    }
    let parts = Parts { state, key, store, pool, permit: Some(permit) };
    run(setup, parts, None, stop).await
}

/// Runs a controller whose drivers join over NATS, until `stop` is done. It leads, or stands by until it does. `public_url`
/// is where others reach it.
///
/// # Errors
/// When it cannot start.
pub async fn run_with_nats(
    setup: Setup,
    bus: Bus,
    public_url: Option<String>,
    stop: impl Future<Output = ()>,
) -> Result<(), ServiceError> {
    let state = Arc::new(StateDir::claim(&setup.state)?);
    let key = Arc::new(ClusterKey::open(&state)?);
    let bus =
        bus.as_controller(key.identity()?).await.map_err(|error| ServiceError::Bus(error.to_string()))?;
    let store = Arc::new(KvStore::open(bus.clone(), Arc::clone(&key), &setup.name).await?);
    let pool = Arc::new(NatsPool::watch(bus, setup.catalog, setup.admit.clone()).await?);
    let parts = Parts { state, key, store, pool, permit: None };
    run(setup, parts, Some(public_url), stop).await
}

/// What differs between a controller with and one without NATS.
struct Parts {
    state: Arc<StateDir>,
    key: Arc<ClusterKey>,
    store: Arc<dyn Store>,
    pool: Arc<dyn DriverPool>,
    /// Of the driver in this process; others decide for themselves.
    permit: Option<Permit>,
}

/// Runs a controller of these parts until `stop` is done. `shared` = there may be others; in it, where they reach this one.
async fn run(
    setup: Setup,
    parts: Parts,
    shared: Option<Option<String>>,
    stop: impl Future<Output = ()>,
) -> Result<(), ServiceError> {
    if !setup.listen.ip().is_loopback() && matches!(setup.tls, Tls::Off) && !setup.insecure {
        return Err(ServiceError::InTheClear { listen: setup.listen });
    }
    let Parts { state, key, store, pool, permit } = parts;
    let secured = secure(&setup.tls, &state, &names_of(&setup))?;
    let listener = listen(setup.listen)?;
    let address = listener.local_addr().map_err(ServiceError::Start)?;
    let secrets = Secrets::open(Arc::clone(&state))?;
    let reader = Reader::new(
        setup.catalog,
        setup.environment.clone(),
        secrets.clone(),
        permit,
        Arc::clone(&pool),
        setup.archive.clone(),
    );
    let (queue, completed) = queue_of(&setup, store, pool, Arc::new(reader));
    let (leader_sender, leader) = watch::channel(shared.is_some().then(Leader::nobody));
    // Not before it listens: a token that a start makes which fails would never be shown.
    let (tokens, first) = Tokens::open(&state)?;
    let access = Access::new(tokens, key, secured.is_some())
        .with_anonymous_loopback(setup.anonymous_loopback)
        .remembering(&state)?;
    let (name, epoch) = (setup.name.clone(), millis_since_1970());
    let app = Arc::new(App {
        name,
        queue: Arc::clone(&queue),
        access,
        secrets,
        studies: Studies::new(setup.studies.clone()),
        leader,
        epoch,
        join: setup.join.clone(),
    });
    let url = announce(&state, address, secured.is_some(), &setup.host.hostname)?;
    welcome(&setup, &url, secured.as_ref().map(|secured| secured.fingerprint.as_str()), first.as_deref());
    let leading = match shared {
        None => {
            queue.take_up().await?;
            None
        }
        Some(public) => {
            let certificate = secured.as_ref().map(|secured| secured.fingerprint.clone());
            let me = Leader { name: setup.name.clone(), url: public.unwrap_or(url), certificate };
            Some(tokio::spawn(lead_for_ever(Arc::clone(&queue), me, leader_sender, Arc::clone(&setup.tell))))
        }
    };
    let working = tokio::spawn(Arc::clone(&queue).work(completed));
    let telling = tokio::spawn(tell_for_ever(Arc::clone(&app)));
    let (handle, places) = (Handle::new(), Places::here(Arc::clone(&setup.tell)));
    let serving = tokio::spawn(serve(listener, secured, router(Arc::clone(&app)), handle.clone(), places));
    stop.await;
    if let Some(leading) = &leading {
        leading.abort();
    }
    wind_down(&setup, &queue, leading.is_some()).await;
    handle.graceful_shutdown(Some(LAST_REQUESTS));
    telling.abort();
    let served = serving.await;
    working.abort();
    state.remove("address")?;
    served.unwrap_or(Ok(()))
}

/// Writes down where it listens, for the commands of this machine; gives where others reach it.
fn announce(
    state: &StateDir,
    address: SocketAddr,
    is_secured: bool,
    hostname: &str,
) -> Result<String, ServiceError> {
    let scheme = if is_secured { "https" } else { "http" };
    state.write("address", format!("{scheme}://{address}\n").as_bytes())?;
    Ok(format!("{scheme}://{}", reached_at(address, hostname)))
}

/// Names by which this machine may be called in its certificate.
fn names_of(setup: &Setup) -> Vec<String> {
    let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
    names.extend([setup.host.hostname.clone(), setup.listen.ip().to_string()]);
    names.dedup();
    names
}

/// The queue, and what its runs say when they end.
fn queue_of(
    setup: &Setup,
    store: Arc<dyn Store>,
    pool: Arc<dyn DriverPool>,
    reader: Arc<Reader>,
) -> (Arc<RunQueue>, mpsc::Receiver<End>) {
    let (archive, host, stores) = (setup.archive.clone(), setup.host.clone(), Arc::clone(&setup.stores));
    let (faults, judges) = (setup.faults, setup.judges);
    RunQueue::new(store, setup.concurrency, Arc::clone(&setup.tell), |queue: Weak<RunQueue>| Runner {
        reader,
        pool,
        archive,
        host,
        stores,
        faults,
        judges,
        changed: Arc::new(move |id| {
            if let Some(queue) = queue.upgrade() {
                queue.tell_run(id);
            }
        }),
    })
}

fn millis_since_1970() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or_default()
}

/// Ends what runs, or lets go of it where another controller takes it up; gives the lease back if it `leads`.
async fn wind_down(setup: &Setup, queue: &RunQueue, leads: bool) {
    if !queue.stop() {
        (setup.tell)(if queue.runner().pool.continues() {
            "ending: what runs goes on without this controller"
        } else {
            "ending: what runs is stopped and archived"
        });
        wait_for_runs(queue).await;
    }
    if leads && let Err(error) = queue.store().resign().await {
        (setup.tell)(&format!("the lease runs out by itself: {error}"));
    }
}

fn welcome(setup: &Setup, url: &str, fingerprint: Option<&str>, first: Option<&str>) {
    let tell = &setup.tell;
    tell(&format!("controller {} at {url}, archive in {}", setup.name, setup.archive.display()));
    if let Some(fingerprint) = fingerprint {
        tell(&format!("its certificate's SHA-256 is {fingerprint}"));
    }
    if let Some(token) = first {
        tell(&format!(
            "token of `admin`, shown this once: {token}\n  in the browser: open {url} and log in with it\n  in scripts: \
             Authorization: Bearer TOKEN, or COSMARK_TOKEN for `cosmark submit`; on this machine `cosmark submit` finds its own"
        ));
    }
}

/// Asks for the lease every two seconds; takes the queue up when it is given, and lets go of it when it is lost.
async fn lead_for_ever(
    queue: Arc<RunQueue>,
    me: Leader,
    leader_sender: watch::Sender<Option<Leader>>,
    tell: Arc<dyn Fn(&str) + Send + Sync>,
) {
    let mut leads = false;
    let mut heard = Instant::now();
    let mut tick = tokio::time::interval(LEASE_EVERY);
    let mut trouble = String::new();
    loop {
        tick.tick().await;
        let asked = tokio::time::timeout(LEASE_PATIENCE, queue.store().lead(me.clone())).await;
        let leader = match asked {
            Ok(Ok(leader)) => {
                heard = Instant::now();
                leader
            }
            // Another has this name by now: it would take the lease for its own.
            Ok(Err(error))
                if leads && heard.elapsed() < LEASE && !matches!(error, ServiceError::NameTaken { .. }) =>
            {
                drop(error);
                continue;
            }
            Err(_) if leads && heard.elapsed() < LEASE => continue,
            Ok(Err(error)) => {
                let text = error.to_string();
                if text != trouble {
                    tell(&text);
                    trouble = text;
                }
                Leader::nobody()
            }
            Err(_) => Leader::nobody(),
        };
        let mine = leader.name == me.name;
        if mine && !leads {
            // What an earlier time of leading began here has to be let go first.
            if !queue.step_down() {
                continue;
            }
            match queue.take_up().await {
                Ok(()) => {
                    tell("this controller leads");
                    leads = true;
                }
                Err(error) => {
                    tell(&format!("the queue cannot be taken up: {error}"));
                    continue;
                }
            }
        } else if !mine && leads {
            leads = false;
            queue.step_down();
            tell("this controller leads no longer; what runs goes on");
        }
        if !mine && !leader.name.is_empty() && leader_sender.borrow().as_ref() != Some(&leader) {
            tell(&format!("{} leads, at {}; this controller stands by", leader.name, leader.url));
        }
        leader_sender.send_replace((!mine).then_some(leader));
    }
}

/// Tells those who watch everything how it stands: the status, and drivers that changed.
async fn tell_for_ever(app: Shared) {
    let mut known: Vec<DriverInfo> = Vec::new();
    let mut ticks: u64 = 0;
    let mut tick = tokio::time::interval(DRIVERS_EVERY);
    loop {
        tick.tick().await;
        if ticks.is_multiple_of(STATUS_EVERY.as_secs() / DRIVERS_EVERY.as_secs()) {
            app.queue.tell_all(&SystemEvent::Status(status_of(&app).await));
        }
        ticks += 1;
        let drivers = app.queue.runner().pool.drivers();
        for driver in &drivers {
            let same = |other: &&DriverInfo| {
                other.name == driver.name
                    && other.state == driver.state
                    && other.run == driver.run
                    && other.load == driver.load
                    && other.clock_offset_ns == driver.clock_offset_ns
                    && other.ceiling_ops_per_s == driver.ceiling_ops_per_s
            };
            if !known.iter().any(|other| same(&other)) {
                app.queue.tell_all(&SystemEvent::Driver(driver.clone()));
                app.queue.look();
            }
        }
        for gone in known.iter().filter(|old| !drivers.iter().any(|driver| driver.name == old.name)) {
            app.queue.tell_all(&SystemEvent::DriverGone(gone.name.clone()));
        }
        known = drivers;
    }
}

async fn wait_for_runs(queue: &RunQueue) {
    let until = tokio::time::Instant::now() + LAST_RUNS;
    while tokio::time::Instant::now() < until && !queue.stop() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_says_of_its_address_is_of_use_on_other_machines() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        let url = announce(&state, "0.0.0.0:19088".parse().unwrap(), true, "lab-7").unwrap();
        assert_eq!(url, "https://lab-7:19088");
        let here = state.read("address").unwrap().unwrap();
        assert_eq!(here, b"https://0.0.0.0:19088\n", "commands of this machine need no name of it");
        let url = announce(&state, "[::]:80".parse().unwrap(), false, "lab-7").unwrap();
        assert_eq!(url, "http://lab-7:80");
    }
}
