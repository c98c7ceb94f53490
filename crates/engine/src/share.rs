//! A share that runs: its load threads from their start to their end.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use cosmark_adaptor_api::clock;
use cosmark_metrics::SlicePlan;
use tokio::sync::mpsc;

use crate::flow::Flow;
use crate::memory;
use crate::mission::{EngineError, EngineEvent, ErrorExample, MissionTimes, Running, StageShare};
use crate::thread;

/// The load threads of a share.
#[derive(Debug, Clone)]
pub struct LoadThreads(Arc<Vec<ThreadFacts>>);

/// What a load thread says about itself.
#[derive(Debug, Default)]
struct ThreadFacts {
    /// The kernel's number of it; 0 = not started yet.
    id: AtomicI32,
    /// Time in which it was awake and only waited for a due time.
    idle_ns: Arc<AtomicU64>,
}

/// A load thread as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadThread {
    /// Its name.
    pub name: String,
    /// The kernel's number of it.
    pub id: i32,
    /// Processor time that it spent on waiting awake for due times: it would have been free for work.
    pub idle_ns: u64,
}

impl LoadThreads {
    /// Each of them; without those that have not begun yet.
    #[must_use]
    pub fn now(&self) -> Vec<LoadThread> {
        let all = self.0.iter().enumerate().map(|(number, facts)| LoadThread {
            name: thread_name(number),
            id: facts.id.load(Ordering::Relaxed),
            idle_ns: facts.idle_ns.load(Ordering::Relaxed),
        });
        all.filter(|thread| thread.id != 0).collect()
    }
}

/// A share that runs.
pub struct ShareHandle {
    load_threads: Arc<Vec<ThreadFacts>>,
    missions: Arc<Vec<Running>>,
    flow: Arc<Flow>,
    threads: Vec<JoinHandle<Result<(), EngineError>>>,
}

impl ShareHandle {
    /// To stop it.
    #[must_use]
    pub fn flow(&self) -> &Arc<Flow> {
        &self.flow
    }

    /// Phases of the mission at `at` (in the order given).
    #[must_use]
    pub fn plan(&self, at: usize) -> Option<SlicePlan> {
        self.missions.get(at).map(|running| running.plan)
    }

    /// To find its threads in `/proc/self/task`.
    #[must_use]
    pub fn load_threads(&self) -> LoadThreads {
        LoadThreads(Arc::clone(&self.load_threads))
    }

    /// True when all threads are done; [`ShareHandle::wait`] will not block then.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Waits for the threads; gives the times and error examples of each mission, in the order given. The event channel
    /// has to be read meanwhile.
    ///
    /// # Errors
    /// The first thread's error; the others were stopped then.
    pub fn wait(self) -> Result<Vec<(MissionTimes, Vec<ErrorExample>)>, EngineError> {
        let mut first_error = None;
        for thread in self.threads {
            let result = thread.join().unwrap_or_else(|_| {
                Err(EngineError::Start(std::io::Error::other(
                    "a load thread broke; this is a bug in Cosmark",
                )))
            });
            if let Err(error) = result {
                self.flow.abort();
                first_error.get_or_insert(error);
            }
        }
        match first_error {
            Some(error) => Err(error),
            None => Ok(self.missions.iter().map(|running| running.times_and_examples(&self.flow)).collect()),
        }
    }
}

/// Time between the call and the first operation: enough for the threads to build their workers and touch their memory.
fn lead(share: &StageShare) -> Duration {
    let workers: u64 = share.missions.iter().map(|mission| u64::from(mission.workers)).sum();
    Duration::from_millis(20) + Duration::from_micros(10 * workers)
}

fn thread_name(number: usize) -> String {
    format!("load-{number}")
}

/// Starts a share on its own threads. Sessions should be at hand by now: a login here is not measured, but delays the
/// workers of its thread. The receiver of `events` may fall behind, at most a bounded backlog is kept.
///
/// # Errors
/// [`EngineError`]; nothing runs then.
pub fn start(
    share: StageShare,
    events: mpsc::Sender<EngineEvent>,
    flow: Arc<Flow>,
) -> Result<ShareHandle, EngineError> {
    memory::keep_freed();
    let soonest_ns = clock::now_ns() + u64::try_from(lead(&share).as_nanos()).unwrap_or(0);
    let start_ns = share.start_ns.map_or(soonest_ns, |at_ns| at_ns.max(soonest_ns));
    let threads = share.threads.max(1);
    let StageShare { log_operations, drain, grace, may_wait_awake, .. } = share;
    let missions = share
        .missions
        .into_iter()
        .map(|mission| Running::new(mission, start_ns))
        .collect::<Result<Vec<_>, _>>()?;
    let missions = Arc::new(missions);
    let load_threads: Arc<Vec<ThreadFacts>> =
        Arc::new((0..threads).map(|_| ThreadFacts::default()).collect());
    let mut handles = Vec::with_capacity(threads);
    for number in 0..threads {
        let setup = thread::Setup {
            missions: Arc::clone(&missions),
            number,
            threads,
            log_operations,
            drain,
            grace,
            may_wait_awake,
            events: events.clone(),
            flow: Arc::clone(&flow),
            idle_ns: load_threads.get(number).map(|facts| Arc::clone(&facts.idle_ns)).unwrap_or_default(),
        };
        let all = Arc::clone(&load_threads);
        let spawned = std::thread::Builder::new().name(thread_name(number)).spawn(move || {
            if let Some(facts) = all.get(number) {
                // SAFETY: takes nothing and cannot fail (gettid(2)).
                facts.id.store(unsafe { libc::gettid() }, Ordering::Relaxed);
            }
            thread::run(setup)
        });
        match spawned {
            Ok(handle) => handles.push(handle),
            Err(error) => {
                flow.abort();
                return Err(error.into());
            }
        }
    }
    Ok(ShareHandle { load_threads, missions, flow, threads: handles })
}
