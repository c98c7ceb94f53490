//! What the engine is to do, what comes out of it, and a mission with what its threads share.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cosmark_adaptor_api::{Adaptor, Capability, Error};
use cosmark_metrics::{Sample, SlicePlan, Snapshot};
use cosmark_workload::choose::ChooseError;
use cosmark_workload::model::{Effect, Load, Work, slice_of};
use thiserror::Error;

use crate::files::FileSet;
use crate::flow::{Flow, Health};
use crate::pace::ArrivalError;
use crate::session::SessionCache;

/// One driver's share of one work.
pub struct Mission {
    /// Index of the work in its stage.
    pub index: u16,
    /// The work.
    pub work: Arc<Work>,
    /// Number of this driver's first worker, 0-based over all drivers.
    pub first_worker: u32,
    /// Workers here.
    pub workers: u32,
    /// Seed of this work in this stage of this run.
    pub seed: u64,
    /// What is measured.
    pub adaptor: Arc<dyn Adaptor>,
    /// Where sessions come from.
    pub sessions: Arc<SessionCache>,
    /// Of each operation: what its answers can only be, where the workload tells. May be shorter than the operations are many.
    pub known: Vec<Option<Known>>,
}

/// What is known of an answer before it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// Of what an object is read or asked about: its length.
    Length {
        /// Bytes of the shortest.
        least: u64,
        /// Bytes of the longest.
        most: u64,
    },
    /// Of a listing.
    Names {
        /// It ends after so many names at least.
        least: u64,
        /// What is asked before may be answered by fewer: counted from the beginning of the load, and on the clock of
        /// [`cosmark_adaptor_api::clock::now_ns`] once that is set.
        from_ns: u64,
    },
}

/// A stage's missions on this driver.
pub struct StageShare {
    /// What to do, all at the same time.
    pub missions: Vec<Mission>,
    /// Load threads.
    pub threads: usize,
    /// Send every sample, not only snapshots.
    pub log_operations: bool,
    /// How long operations in flight may take to end after the load was stopped.
    pub drain: Duration,
    /// How long they may take after it was told to stop before its end; `None` = 5 s.
    pub grace: Option<Duration>,
    /// Load threads may wait awake for their due times: there is a processor for somebody else.
    pub may_wait_awake: bool,
    /// When the load is to begin on the clock of [`cosmark_adaptor_api::clock::now_ns`]; `None`, or a moment that is too near = as soon as the
    /// threads are ready.
    pub start_ns: Option<u64>,
}

/// The first failures of a mission, by text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorExample {
    /// Index of the operation in its work.
    pub op: u16,
    /// `http_503`, `timeout`, ..
    pub label: String,
    /// The sentence.
    pub text: String,
}

/// What comes out of a running share.
#[derive(Debug)]
pub enum EngineEvent {
    /// Sums of one work over one slice, of one thread.
    Snapshot(Snapshot),
    /// Samples of one work, in the order of their ends on one thread; only with [`StageShare::log_operations`].
    Samples {
        /// Index of the work in its stage.
        work: u16,
        /// The samples.
        samples: Vec<Sample>,
    },
    /// Samples that could not be handed over because the receiver was too slow for too long.
    SamplesLost {
        /// How many.
        count: u64,
    },
}

/// When things of a mission happen, on the clock of [`cosmark_adaptor_api::clock::now_ns`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissionTimes {
    /// Its phases and slices.
    pub plan: SlicePlan,
    /// When its last operation ended; the start if it had none.
    pub ended_ns: u64,
    /// What ended its load.
    pub end: LoadEnd,
    /// When its first and its last worker were really let go; `None` = none was.
    pub began: Option<Began>,
}

/// What ended the load of a mission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadEnd {
    /// Its time was over.
    Planned,
    /// Every worker had made its share of the totals, or its pass.
    Done,
    /// Somebody stopped it.
    Stopped {
        /// When, on the clock of [`cosmark_adaptor_api::clock::now_ns`].
        at_ns: u64,
    },
}

/// When the workers of a mission really began, on the clock of [`cosmark_adaptor_api::clock::now_ns`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Began {
    /// The first of them.
    pub first_ns: u64,
    /// The last.
    pub last_ns: u64,
}

impl Began {
    /// One worker that begins.
    #[must_use]
    pub fn at(at_ns: u64) -> Self {
        Self { first_ns: at_ns, last_ns: at_ns }
    }

    /// Both together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self { first_ns: self.first_ns.min(other.first_ns), last_ns: self.last_ns.max(other.last_ns) }
    }
}

impl MissionTimes {
    /// Length of the measured window: as it was planned, whatever ended last in it. Only where totals ended the load it is
    /// over with the last operation, and where somebody stopped it, with that (or with what was then in flight): a rate is
    /// a count over the time in which it could have been more.
    #[must_use]
    pub fn window(&self) -> Duration {
        let end_ns = match self.end {
            LoadEnd::Planned => self.plan.window_end_ns,
            LoadEnd::Done => self.ended_ns,
            LoadEnd::Stopped { at_ns } => self.ended_ns.max(at_ns),
        };
        Duration::from_nanos(end_ns.min(self.plan.window_end_ns).saturating_sub(self.plan.window_start_ns))
    }
}

/// Why a share cannot start.
#[derive(Debug, Error)]
pub enum EngineError {
    /// The kernel refuses a thread, a timer or a descriptor.
    #[error("cannot start a load thread: {0}; check `ulimit -n` and `ulimit -u`")]
    Start(#[from] std::io::Error),
    /// A worker has nothing to choose from.
    #[error("work {work}: {cause}")]
    Choose {
        /// Name of the work.
        work: String,
        /// The reason.
        cause: ChooseError,
    },
    /// The directory of a file operation.
    #[error("work {work}: cannot use the files in {directory}: {cause}")]
    Files {
        /// Name of the work.
        work: String,
        /// As given.
        directory: String,
        /// The reason.
        cause: std::io::Error,
    },
    /// The arrivals of an open loop.
    #[error("work {work}: {cause}")]
    Arrivals {
        /// Name of the work.
        work: String,
        /// The reason.
        cause: ArrivalError,
    },
    /// The adaptor cannot serve the session.
    #[error("{0}")]
    Adaptor(Error),
}

/// Why a worker went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// Its time was over.
    Planned,
    /// It has nothing more to do.
    Done,
    /// It was stopped.
    Stopped,
}

/// A mission with what its threads share.
pub(crate) struct Running {
    pub mission: Mission,
    pub plan: SlicePlan,
    /// The files of each operation that sends files.
    pub files: Vec<Option<Arc<FileSet>>>,
    /// Time limit of one call; `u64::MAX` = none.
    pub limit_ns: u64,
    pub health: Health,
    /// Workers that are not done; the last one tidies up.
    pub active: AtomicU32,
    /// A worker was still at work when the time was over.
    lasted: AtomicBool,
    /// A worker stopped because somebody stopped it.
    was_stopped: AtomicBool,
    examples: Mutex<Vec<ErrorExample>>,
    example_count: AtomicU32,
    last_end_ns: AtomicU64,
    began: Mutex<Option<Began>>,
}

const MOST_EXAMPLES: u32 = 10;

impl Running {
    pub fn new(mut mission: Mission, start_ns: u64) -> Result<Self, EngineError> {
        // What keeps nothing answers as it likes.
        if !mission.adaptor.capability().has(Capability::STORE) {
            mission.known.clear();
        }
        for known in mission.known.iter_mut().flatten() {
            if let Known::Names { from_ns, .. } = known {
                *from_ns = start_ns.saturating_add(*from_ns);
            }
        }
        let work = &mission.work;
        let mut files = Vec::with_capacity(work.operations.len());
        for operation in &work.operations {
            let reads_files = operation.kind.row().effect == Effect::WritesFiles;
            files.push(match (&operation.files, reads_files) {
                (Some(directory), true) => {
                    let set = FileSet::read(Path::new(directory)).map_err(|cause| EngineError::Files {
                        work: work.name.clone(),
                        directory: directory.clone(),
                        cause,
                    })?;
                    Some(Arc::new(set))
                }
                _ => None,
            });
        }
        Ok(Self {
            plan: slice_plan(work, start_ns),
            files,
            limit_ns: mission
                .adaptor
                .timeout()
                .map_or(u64::MAX, |limit| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX)),
            health: Health::default(),
            active: AtomicU32::new(mission.workers),
            lasted: AtomicBool::new(false),
            was_stopped: AtomicBool::new(false),
            examples: Mutex::default(),
            example_count: AtomicU32::new(0),
            last_end_ns: AtomicU64::new(start_ns),
            began: Mutex::default(),
            mission,
        })
    }

    /// Due and sent can differ.
    pub fn is_paced(&self) -> bool {
        self.mission.work.load != Load::Closed
    }

    /// Keeps the text of one of the first failures.
    pub fn note_failure(&self, op: u16, error: &Error) {
        if self.example_count.load(Ordering::Relaxed) >= MOST_EXAMPLES {
            return;
        }
        self.example_count.fetch_add(1, Ordering::Relaxed);
        let example = ErrorExample { op, label: error.kind().label(), text: error.to_string() };
        self.examples.lock().unwrap_or_else(PoisonError::into_inner).push(example);
    }

    /// Notes why a worker went.
    pub fn note_left(&self, why: Left) {
        match why {
            Left::Planned => self.lasted.store(true, Ordering::Relaxed),
            Left::Stopped => self.was_stopped.store(true, Ordering::Relaxed),
            Left::Done => {}
        }
    }

    /// What ended the load, once all workers are gone.
    fn end(&self, flow: &Flow) -> LoadEnd {
        let was_stopped = self.was_stopped.load(Ordering::Relaxed);
        if self.lasted.load(Ordering::Relaxed) {
            return LoadEnd::Planned;
        }
        flow.stopped_ns().filter(|_| was_stopped).map_or(LoadEnd::Done, |at_ns| LoadEnd::Stopped { at_ns })
    }

    /// When its things happened, and its first failures, once all workers are gone.
    pub fn times_and_examples(&self, flow: &Flow) -> (MissionTimes, Vec<ErrorExample>) {
        let ended_ns = self.last_end_ns.load(Ordering::Relaxed);
        let examples = self.examples.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let began = *self.began.lock().unwrap_or_else(PoisonError::into_inner);
        (MissionTimes { plan: self.plan, ended_ns, end: self.end(flow), began }, examples)
    }

    pub fn note_end(&self, end_ns: u64) {
        self.last_end_ns.fetch_max(end_ns, Ordering::Relaxed);
    }

    /// Adds a thread's workers, at its end.
    pub fn note_began(&self, of_thread: Option<Began>) {
        let mut began = self.began.lock().unwrap_or_else(PoisonError::into_inner);
        *began = match (*began, of_thread) {
            (Some(one), Some(other)) => Some(one.with(other)),
            (one, other) => one.or(other),
        };
    }
}

fn slice_plan(work: &Work, start_ns: u64) -> SlicePlan {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let slice_ns = ns(slice_of(work.interval));
    if work.runtime.is_zero() {
        return SlicePlan {
            start_ns,
            window_start_ns: start_ns,
            window_end_ns: u64::MAX,
            stop_ns: u64::MAX,
            slice_ns,
        };
    }
    let window_start_ns = start_ns.saturating_add(ns(work.rampup));
    let window_end_ns = window_start_ns.saturating_add(ns(work.runtime));
    let stop_ns = window_end_ns.saturating_add(ns(work.rampdown));
    SlicePlan { start_ns, window_start_ns, window_end_ns, stop_ns, slice_ns }
}

#[cfg(test)]
mod tests {
    use cosmark_workload::{Environment, Format, parse_what_is_there};

    use super::*;

    #[test]
    fn no_slice_of_a_work_lies_in_two_intervals() {
        for (interval, slice_ms) in [("5s", 1000), ("1500ms", 750), ("250ms", 250), ("10ms", 100)] {
            let text = format!(
                "name: x\nstorage: {{type: mock}}\nstages:\n  - name: main\n    works:\n      - {{name: w, workers: 1, runtime: 6s, \
                 interval: {interval}, operations: [{{type: read, containers: c(1), objects: c(1)}}]}}\n"
            );
            let (workload, mistakes) = parse_what_is_there(&text, Format::Yaml, &Environment::default());
            let workload = workload.unwrap_or_else(|| panic!("{mistakes:?}"));
            let plan = slice_plan(&workload.stages[0].works[0], 7);
            assert_eq!((plan.start_ns, plan.slice_ns), (7, slice_ms * 1_000_000), "{interval}");
        }
    }
}
