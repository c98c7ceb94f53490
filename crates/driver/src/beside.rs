//! The prober beside the load of a stage, on a thread of its own: it probes the store of the stage's first work with that work's
//! login, under the same permit as the load, and ends with it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cosmark_adaptor_api::{Adaptor, Capability, Client, Error, ErrorKind, Marks, Session, clock};
use cosmark_consistency::{Beside, Control, Joined, Lines, Sharing, beside, most_recorded};
use cosmark_engine::{Flow, LoadPermit, Mission, Pulse, SessionCache};
use cosmark_metrics::{ConsistencySums, ProbeOperation};
use cosmark_wire::{DriverEvent, Failure, FailureClass, ProbeShare, StageOrder};
use cosmark_workload::leftovers::PROBE;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

use crate::ask::{class_of, failure};

/// A request of the prober is given up after this, whatever the storage's own limit is.
const PATIENCE: Duration = Duration::from_secs(10);
/// A prober that was told to end is dropped after this, a little later than it should have ended by itself.
const END_WITHIN: Duration = Duration::from_secs(8);
/// Its container is taken away within this time.
const REMOVE_WITHIN: Duration = Duration::from_secs(2);
/// A container whose listing lags behind cannot be taken away at once.
const REMOVE_AGAIN_AFTER: Duration = Duration::from_millis(400);

/// Requests in one event.
const MOST_IN_EVENT: usize = 2000;

/// The store that is probed.
struct Store {
    adaptor: Arc<dyn Adaptor>,
    sessions: Arc<SessionCache>,
    permit: Arc<LoadPermit>,
    /// It was made for this prober.
    is_own: bool,
    container: String,
}

/// One that is ready; dropped without being started it takes its container away.
pub struct Prober {
    store: Option<Store>,
    plan: Beside,
    flow: Arc<Flow>,
}

/// One at work.
pub struct Running {
    control: Arc<Control>,
    sums: Arc<Mutex<ConsistencySums>>,
    /// On the clock of [`clock::now_ns`]: when it is dropped.
    deadline_ns: Arc<AtomicU64>,
    thread: JoinHandle<()>,
    flow: Arc<Flow>,
    place: String,
}

impl Prober {
    /// Makes its container; `None` = nothing is to be probed, or the stage was stopped meanwhile.
    ///
    /// # Errors
    /// When the storage keeps nothing, or the container cannot be made.
    pub fn open(
        order: &StageOrder,
        mission: Option<&Mission>,
        flow: &Arc<Flow>,
    ) -> Result<Option<Self>, Failure> {
        let (Some(spec), Some(mission)) = (&order.stage.consistency, mission) else { return Ok(None) };
        let work = &mission.work.name;
        let refused = |text: String| failure(work, FailureClass::Workload, text);
        let capability = mission.adaptor.capability();
        let kind = &mission.work.storage.kind;
        if !capability.has(Capability::STORE) {
            let text = format!(
                "consistency: storage {kind} keeps nothing; probe a real store, or drop consistency:"
            );
            return Err(refused(text));
        }
        let tag = order.probes.map_or_else(|| tag(order), |share| share.tag_of(share.number));
        let is_own = spec.container.is_none();
        if is_own && !capability.has(Capability::CONTAINERS) {
            let text = format!(
                "consistency: storage {kind} makes no containers; name one with consistency: {{container: ..}}"
            );
            return Err(refused(text));
        }
        let container = spec.container.clone().unwrap_or_else(|| container_of(tag));
        let store = Store {
            adaptor: Arc::clone(&mission.adaptor),
            sessions: Arc::clone(&mission.sessions),
            permit: Arc::clone(flow.permit()),
            is_own,
            container: container.clone(),
        };
        if is_own {
            match store.make(flow) {
                None => return Ok(None),
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    let text = format!(
                        "consistency: container {container} cannot be made: {}; name an existing one with consistency: {{container: \
                         ..}}",
                        error.message()
                    );
                    return Err(failure(work, class_of(error.kind()), text));
                }
            }
        }
        let plan = Beside {
            share_per_million: spec.share_per_million,
            readers: spec.readers as usize,
            lists: spec.lists && capability.has(Capability::LIST),
            reach: spec.reach,
            patience: mission.adaptor.timeout().unwrap_or(PATIENCE).min(PATIENCE),
            container,
            prefix: prefix_of(tag),
            seed: order.seed ^ tag,
            ends_ns: None,
            records: order.probes.map_or(0, |share| most_recorded(share.of)),
            sharing: order.probes.and_then(|share| sharing(share, spec.container.as_deref())),
        };
        Ok(Some(Self { store: Some(store), plan, flow: Arc::clone(flow) }))
    }

    /// The container that it has made, for whoever comes after a kill.
    pub fn made(&self) -> Option<&str> {
        self.store.as_ref().filter(|store| store.is_own).map(|store| store.container.as_str())
    }

    /// Begins to probe; `ends_ns` is when the load ends by its plan, `origin_ns` the common instant of all drivers, both on the
    /// clock of [`clock::now_ns`]. `None` = the system gives no thread.
    pub fn start(mut self, ends_ns: Option<u64>, origin_ns: u64) -> Option<Running> {
        let store = self.store.take()?;
        let mut plan =
            Beside { ends_ns: ends_ns.filter(|ends_ns| *ends_ns != u64::MAX), ..self.plan.clone() };
        if let Some(sharing) = &mut plan.sharing {
            sharing.origin_ns = origin_ns;
        }
        let (control, sums) = (Arc::<Control>::default(), Arc::<Mutex<ConsistencySums>>::default());
        let deadline_ns = Arc::new(AtomicU64::new(u64::MAX));
        let place = format!("{}/{}", plan.container, plan.prefix);
        let inside = (Arc::clone(&control), Arc::clone(&sums), Arc::clone(&deadline_ns));
        let run = move || {
            let (control, sums, deadline_ns) = inside;
            store.probe(&plan, &control, &sums, &deadline_ns);
        };
        let thread = std::thread::Builder::new().name("beside".into()).spawn(run).ok()?;
        Some(Running { control, sums, deadline_ns, thread, flow: Arc::clone(&self.flow), place })
    }
}

impl Drop for Prober {
    fn drop(&mut self) {
        if let Some(store) = self.store.take() {
            drop(store.remove(clock::now_ns() + REMOVE_WITHIN.as_nanos() as u64));
        }
    }
}

impl Running {
    /// What it hears of the load.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Ends it, and says what it saw: its sums, and the requests that were not said before.
    pub fn end(self) -> (ConsistencySums, Vec<DriverEvent>) {
        let is_at_once = self.flow.is_aborting();
        let within = if is_at_once { Duration::from_secs(3) } else { END_WITHIN };
        self.deadline_ns.store(clock::now_ns() + within.as_nanos() as u64, Ordering::Release);
        self.control.end(is_at_once);
        // It ends by its deadline; a call that blocks a thread is nothing that an adaptor does.
        let had_panicked = self.thread.join().is_err();
        let mut sums = std::mem::take(&mut *self.sums.lock().unwrap_or_else(PoisonError::into_inner));
        sums.load_operations = self.control.operations();
        if had_panicked {
            sums.left.push(self.place);
        }
        (sums, recorded(&self.control))
    }
}

/// What a prober has done and seen since this was asked for last, in events of a size that can be sent.
pub fn recorded(control: &Control) -> Vec<DriverEvent> {
    let (operations, mut missed) = control.take_recorded();
    let parts = operations.chunks(MOST_IN_EVENT).map(<[ProbeOperation]>::to_vec);
    let mut events: Vec<DriverEvent> = parts
        .map(|operations| DriverEvent::Probes { operations, missed: std::mem::take(&mut missed) })
        .collect();
    if missed > 0 {
        events.push(DriverEvent::Probes { operations: Vec::new(), missed });
    }
    events
}

fn container_of(tag: u64) -> String {
    format!("{PROBE}{tag:016x}")
}

fn prefix_of(tag: u64) -> String {
    format!("{PROBE}{tag:016x}/")
}

/// What is known of the other drivers' probes, in containers of their own or all in this one; `None` = there are none.
fn sharing(share: ProbeShare, container: Option<&str>) -> Option<Sharing> {
    let place = |number| {
        let tag = share.tag_of(number);
        (container.map_or_else(|| container_of(tag), str::to_owned), prefix_of(tag))
    };
    let places = || (0..share.of).map(place).collect();
    (share.of > 1).then(|| Sharing { tag: share.tag, number: share.number, places: places(), origin_ns: 0 })
}

/// Another one for each driver, stage and run.
fn tag(order: &StageOrder) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    let place = (order.stage_index as u64) << 32 | u64::from(std::process::id());
    let mixed = (now ^ place.rotate_left(17) ^ order.seed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ (mixed >> 29)
}

fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|cause| Error::new(ErrorKind::LocalIo, format!("cannot start: {cause}")))
}

impl Store {
    /// Runs a future of this store on this thread, while load may be made; `None` when it was over first.
    fn block_on<T>(
        &self,
        future: impl Future<Output = T>,
        is_over: impl Fn() -> bool,
    ) -> Result<Option<T>, Error> {
        let runtime = runtime()?;
        let pulse = Pulse::new(Arc::clone(&self.permit));
        let output =
            tokio::task::LocalSet::new().block_on(&runtime, pulse.ask_while_permitted(future, is_over));
        runtime.shutdown_background();
        Ok(output)
    }

    async fn client(&self) -> Result<Box<dyn Client>, Error> {
        let shared = self.sessions.get().await?;
        self.adaptor.client(&shared.session)
    }

    fn make(&self, flow: &Flow) -> Option<Result<(), Error>> {
        let making = async {
            let mut client = self.client().await?;
            let mut marks = Marks::default();
            let made =
                tokio::time::timeout(PATIENCE, client.create_container(&self.container, &mut marks)).await;
            made.unwrap_or_else(|_| {
                Err(Error::new(ErrorKind::Timeout, format!("no answer within {PATIENCE:?}")))
            })
        };
        match self.block_on(making, || flow.is_over()) {
            Ok(made) => made,
            Err(error) => Some(Err(error)),
        }
    }

    /// Takes the container away; says its name where that is not possible.
    fn remove(&self, deadline_ns: u64) -> Option<String> {
        if !self.is_own {
            return None;
        }
        let removing = async {
            let mut client = self.client().await.ok()?;
            loop {
                let mut marks = Marks::default();
                match client.delete_container(&self.container, &mut marks).await {
                    Ok(()) => return Some(()),
                    Err(error) if error.status() == Some(404) => return Some(()),
                    Err(_) => tokio::time::sleep(REMOVE_AGAIN_AFTER).await,
                }
            }
        };
        let removed = self.block_on(removing, || clock::now_ns() >= deadline_ns);
        (!matches!(removed, Ok(Some(Some(()))))).then(|| self.container.clone())
    }

    fn probe(
        &self,
        plan: &Beside,
        control: &Control,
        sums: &Mutex<ConsistencySums>,
        deadline_ns: &AtomicU64,
    ) {
        let is_late = || clock::now_ns() >= deadline_ns.load(Ordering::Acquire);
        let probed = self.block_on(beside(plan, control, self, sums), is_late);
        let why = match probed {
            Ok(Some(Ok(()))) => None,
            Ok(Some(Err(why))) => Some(why),
            Ok(None) => Some("the prober was dropped: its store did not let it end".to_owned()),
            Err(error) => Some(error.message().to_owned()),
        };
        let place = why.is_some().then(|| format!("{}/{}", plan.container, plan.prefix));
        let by_ns =
            (clock::now_ns() + REMOVE_WITHIN.as_nanos() as u64).min(deadline_ns.load(Ordering::Acquire));
        let container = self.remove(by_ns);
        let mut sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums.unanswered_why = sums.unanswered_why.take().or(why);
        sums.left.extend(place.into_iter().chain(container));
    }
}

impl Lines for Store {
    fn connect(&self) -> LocalBoxFuture<'_, Result<Joined, String>> {
        let connecting = async {
            let shared = self.sessions.get().await?;
            let client = self.adaptor.client(&shared.session)?;
            Ok(Joined { client, generation: shared.generation })
        };
        connecting
            .map(|joined: Result<Joined, Error>| joined.map_err(|error| error.message().to_owned()))
            .boxed_local()
    }

    fn renew(&self, seen: u64) -> LocalBoxFuture<'_, Option<(u64, Arc<Session>)>> {
        let renewing = async move {
            let (shared, _) = self.sessions.newer_than(seen).await.ok()?;
            Some((shared.generation, shared.session))
        };
        renewing.boxed_local()
    }
}
