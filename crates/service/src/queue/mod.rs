//! The run queue: what waits, what runs, in which order, and how it ends. Every change is stored before anybody hears
//! of it.

mod ended;
pub mod nodes;
mod places;
mod reorder;
mod room;
pub mod runner;
pub mod store;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cosmark_archive::{Archive, Timestamp};
use cosmark_controller::StopLevel;
use cosmark_workload::drivers::DriversWanted;
use cosmark_workload::units::parse_duration;
use tokio::sync::{Notify, mpsc, watch};

use crate::ServiceError;
use crate::api::types::{Mistake, RunSummary, Submission, SystemEvent};
use crate::live::{Feed, LiveRun};
use crate::queue::runner::{Orders, Outcome, Runner};
use crate::queue::store::{QueueEntry, Store};
use room::{Next, Waiting, wanted_of};
use tokio::time::Instant;

/// Runs that may wait; more are a mistake of a script.
const MOST_QUEUED: usize = 1000;
/// Ended runs whose events are kept for those who watched them.
const MOST_RECENT: usize = 8;
/// The queue looks by itself whether something may begin.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Runs that were let go of are looked after this often.
const LOOK_BEHIND_EVERY: Duration = Duration::from_secs(5);
/// Events for those who watch everything.
const MOST_SYSTEM_BYTES: usize = 4 << 20;

/// Why something was not done.
#[derive(Debug)]
pub enum Refused {
    /// There is no such run.
    Unknown(String),
    /// It was asked for wrongly.
    Wrong(String),
    /// It is not in a state for that.
    Conflict(String),
    /// The workload has mistakes.
    Mistakes(Vec<Mistake>),
    /// Too much at once.
    TooMany(String),
    /// Our fault, or this machine's.
    Internal(ServiceError),
}

impl From<ServiceError> for Refused {
    fn from(error: ServiceError) -> Self {
        Self::Internal(error)
    }
}

/// Id of a run and how it ended; `None` = it was let go.
pub type End = (String, Option<Outcome>);

/// The queue of a controller.
pub struct RunQueue {
    store: Arc<dyn Store>,
    runner: Runner,
    concurrency: usize,
    jobs: Mutex<Jobs>,
    wake: Notify,
    /// Events for those who watch everything.
    pub feed: Arc<Feed>,
    ended: mpsc::Sender<End>,
    /// One change of the queue at a time.
    changing: tokio::sync::Mutex<()>,
    tell: Arc<dyn Fn(&str) + Send + Sync>,
}

#[derive(Default)]
struct Jobs {
    leading: bool,
    stopping: bool,
    /// Threads that run something.
    threads: usize,
    /// Tells the runs of this time of leading to let go.
    abandon: watch::Sender<bool>,
    active: Vec<Job>,
    recent: Vec<Arc<LiveRun>>,
    /// Ended runs that were deleted since this controller began, and where they were: nobody else gets their numbers.
    taken_out: BTreeMap<String, PathBuf>,
    /// Runs that have ended, but are still in the store's queue, because that could not be written.
    unkept: Vec<QueueEntry>,
    /// Runs that were let go of and are not ended in this controller's archive.
    let_go: Vec<QueueEntry>,
    /// What kept a run from beginning the last time, so that it is told once.
    trouble: Option<String>,
}

struct Job {
    entry: QueueEntry,
    live: Arc<LiveRun>,
    /// There while it runs.
    stop: Option<watch::Sender<StopLevel>>,
    wanted: DriversWanted,
    waiting: Waiting,
    /// It was begun before this controller led.
    resumed: bool,
}

impl Job {
    fn of(entry: QueueEntry) -> Self {
        let live = LiveRun::new(summary_of(&entry));
        let (resumed, wanted) = (entry.started.is_some(), wanted_of(&entry));
        Self { entry, live, stop: None, wanted, waiting: Waiting::default(), resumed }
    }

    /// Later ones come later.
    fn place(&self) -> (bool, std::cmp::Reverse<i32>, i64, u64) {
        let entry = &self.entry;
        (self.stop.is_none(), std::cmp::Reverse(entry.priority), entry.order, entry.number)
    }
}

fn summary_of(entry: &QueueEntry) -> RunSummary {
    RunSummary {
        id: entry.id.clone(),
        name: entry.name.clone(),
        state: "queuing".to_owned(),
        reason: None,
        submitted: Some(entry.submitted.clone()),
        started: None,
        ended: None,
        priority: entry.priority,
        position: None,
        stage: None,
        stages_done: 0,
        stages: entry.stages,
        progress: None,
        remaining_s: None,
        left_s: None,
        left_open: 0,
        target: None,
        throughput_per_s: None,
        p99_ms: None,
        p99_is_least: false,
        verdict: None,
        verdict_reason: None,
        operations: entry.operations.clone(),
        tags: entry.submission.tags.clone(),
        baseline: false,
        submitted_by: Some(entry.submitted_by.clone()),
        drivers: Vec::new(),
        lost: Vec::new(),
        waits_for: None,
        class: None,
    }
}

impl RunQueue {
    /// A queue that does not lead yet. `tell` shows a sentence to the operator.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        concurrency: usize,
        tell: Arc<dyn Fn(&str) + Send + Sync>,
        runner: impl FnOnce(std::sync::Weak<Self>) -> Runner,
    ) -> (Arc<Self>, mpsc::Receiver<End>) {
        let (ended, completed) = mpsc::channel(64);
        let queue = Arc::new_cyclic(|own| Self {
            store,
            runner: runner(own.clone()),
            concurrency: concurrency.max(1),
            jobs: Mutex::default(),
            wake: Notify::new(),
            feed: Arc::new(Feed::new(MOST_SYSTEM_BYTES)),
            ended,
            changing: tokio::sync::Mutex::new(()),
            tell,
        });
        (queue, completed)
    }

    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        // Entries are changed whole.
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How runs are made.
    #[must_use]
    pub fn runner(&self) -> &Runner {
        &self.runner
    }

    /// Where it is kept.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Runs that may run at the same time.
    #[must_use]
    pub fn concurrency(&self) -> usize {
        self.concurrency
    }

    /// Takes up the queue: what waited waits on, what ran and cannot go on is archived as such.
    ///
    /// # Errors
    /// When the queue cannot be read.
    pub async fn take_up(&self) -> Result<(), ServiceError> {
        self.record_completed().await;
        self.runner.pool.recall().await?;
        let mut waiting = Vec::new();
        let continues = self.runner.pool.continues();
        let queued = self.store.queue().await?;
        queued.foreign_in_words().iter().for_each(|text| (self.tell)(text));
        for mut entry in queued.entries {
            if self.jobs().unkept.iter().any(|ended| ended.id == entry.id) {
                continue;
            }
            if entry.started.is_none() || continues {
                waiting.push(entry);
                continue;
            }
            let reason = "the controller ended in the middle of the run; what it had measured is here";
            match self.runner.close_cut_off(&entry, reason) {
                Ok(None) => {
                    entry.started = None;
                    self.store.put(entry.clone()).await?;
                    waiting.push(entry);
                }
                Ok(Some(outcome)) => {
                    (self.tell)(&format!("{} was cut off: {}", entry.id, outcome.reason.unwrap_or_default()));
                    self.store.end(entry).await?;
                }
                Err(text) => {
                    (self.tell)(&format!("{} was cut off and cannot be archived: {text}", entry.id));
                    self.store.end(entry).await?;
                }
            }
        }
        if !continues {
            self.recover_others(waiting.iter().map(|entry| entry.number).collect());
        }
        {
            let mut jobs = self.jobs();
            jobs.active = waiting.into_iter().map(Job::of).collect();
            jobs.leading = true;
            jobs.abandon = watch::Sender::new(false);
        }
        self.wake.notify_one();
        Ok(())
    }

    /// Ends what other processes, such as `cosmark run`, were killed over. In an archive whose runs other controllers may take up,
    /// that is for whoever says so.
    fn recover_others(&self, but: Vec<u64>) {
        let (runner, tell) = (self.runner.clone(), Arc::clone(&self.tell));
        let recovering = move || runner.recover_all(&but).iter().for_each(|text| tell(text));
        // Without a thread they stay as they are, and are read all the same.
        drop(std::thread::Builder::new().name("recovery".to_owned()).spawn(recovering));
    }

    /// Begins what may begin, and takes note of what has ended, for ever.
    pub async fn work(self: Arc<Self>, mut completed: mpsc::Receiver<End>) {
        let mut looked = Instant::now();
        loop {
            self.record_completed().await;
            if looked.elapsed() > LOOK_BEHIND_EVERY {
                self.end_what_was_let_go().await;
                looked = Instant::now();
            }
            while let Some(next) = self.next() {
                if !self.begin(next).await {
                    break;
                }
            }
            tokio::select! {
                () = self.wake.notified() => {}
                // Drivers come and become free without a word to this queue.
                () = tokio::time::sleep(LOOK_EVERY) => {}
                Some((id, outcome)) = completed.recv() => {
                    self.jobs().threads -= 1;
                    match outcome {
                        Some(outcome) => {
                            let _one_at_a_time = self.changing.lock().await;
                            self.complete(&id, outcome).await;
                        }
                        None => {
                            self.runner.pool.release(&id);
                            let mut jobs = self.jobs();
                            let gone = jobs.active.iter().position(|job| job.entry.id == id);
                            if let Some(job) = gone.map(|at| jobs.active.remove(at)) {
                                jobs.let_go.push(job.entry);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Begins a run; false when nothing can begin now.
    async fn begin(&self, next: Next) -> bool {
        let Next { id, drivers, refused } = next;
        let _one_at_a_time = self.changing.lock().await;
        let began = {
            let mut jobs = self.jobs();
            let abandon = jobs.abandon.subscribe();
            let Some(job) = jobs.active.iter_mut().find(|job| job.entry.id == id) else { return true };
            if !job.resumed {
                job.entry.drivers = drivers;
                job.entry.waited_ms = u64::try_from(job.waiting.waited().as_millis()).unwrap_or(u64::MAX);
            }
            job.waiting = Waiting::default();
            self.runner.pool.reserve(&id, &job.entry.drivers);
            let level = match job.entry.cancelled {
                Some(true) => StopLevel::Abort,
                Some(false) => StopLevel::Finish,
                None => StopLevel::Run,
            };
            let (stop, stopped) = watch::channel(level);
            job.stop = Some(stop);
            job.entry.started.get_or_insert_with(|| Timestamp::now().to_string());
            let (entry, live, resumed) = (job.entry.clone(), Arc::clone(&job.live), job.resumed);
            (entry, live, Orders { stop: stopped, abandon, resumed, refused })
        };
        let (entry, live, orders) = began;
        let resumed = orders.resumed;
        let (id, ended) = (entry.id.clone(), self.ended.clone());
        if let Err(error) = self.store.put(entry.clone()).await {
            if error.passes() {
                self.postpone(&id, resumed, &error);
                return false;
            }
            let reason = Some(format!("the queue could not be written: {error}"));
            self.complete(&id, Outcome { state: "terminated".into(), reason, class: None }).await;
            return true;
        }
        {
            let mut jobs = self.jobs();
            jobs.threads += 1;
            jobs.trouble = None;
        }
        live.change(|summary| {
            summary.state = "processing".to_owned();
            summary.started = entry.started.clone();
            summary.position = None;
            summary.waits_for = None;
            summary.drivers.clone_from(&entry.drivers);
        });
        self.tell_run(&id);
        self.tell_positions();
        let runner = self.runner.clone();
        let begun = std::thread::Builder::new().name(id.clone()).spawn(move || {
            let outcome = runner.run(&entry, &live, orders);
            // Only a service that is gone does not take note.
            drop(ended.blocking_send((entry.id, outcome)));
        });
        if let Err(cause) = begun {
            self.jobs().threads -= 1;
            let reason = Some(format!("cannot start a thread: {cause}"));
            self.complete(&id, Outcome { state: "terminated".into(), reason, class: None }).await;
        }
        true
    }

    fn entry(&self, id: &str) -> Option<(QueueEntry, Arc<LiveRun>)> {
        let jobs = self.jobs();
        let job = jobs.active.iter().find(|job| job.entry.id == id)?;
        Some((job.entry.clone(), Arc::clone(&job.live)))
    }

    /// A run that runs or has ended lately.
    #[must_use]
    pub fn live(&self, id: &str) -> Option<Arc<LiveRun>> {
        let jobs = self.jobs();
        let active = jobs.active.iter().map(|job| &job.live);
        active.chain(&jobs.recent).find(|live| live.id == id).map(Arc::clone)
    }

    /// Runs that run and wait, in their order.
    #[must_use]
    pub fn active(&self) -> Vec<RunSummary> {
        let jobs = self.jobs();
        let mut active: Vec<&Job> = jobs.active.iter().collect();
        active.sort_by_key(|job| job.place());
        let mut position = 0;
        let mut summaries = Vec::with_capacity(active.len());
        for job in active {
            let mut summary = job.live.summary();
            if job.stop.is_none() {
                summary.position = Some(position);
                summary.priority = job.entry.priority;
                position += 1;
            }
            summaries.push(summary);
        }
        summaries
    }

    /// A run that waits or runs.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<RunSummary> {
        self.active().into_iter().find(|summary| summary.id == id)
    }

    /// What was submitted for a run that waits or runs, or ended lately.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn submission(&self, id: &str) -> Result<Option<QueueEntry>, ServiceError> {
        match self.entry(id) {
            Some((entry, _)) => Ok(Some(entry)),
            None => self.store.ended(id).await,
        }
    }

    /// Tells those who watch everything how a run stands.
    pub fn tell_run(&self, id: &str) {
        if let Some(summary) = self.find(id) {
            self.feed.push("run", &summary);
        }
    }

    fn tell_positions(&self) {
        self.active().iter().filter(|one| one.position.is_some()).for_each(|one| self.feed.push("run", one));
    }

    /// Tells an event to those who watch everything.
    pub fn tell_all(&self, event: &SystemEvent) {
        match event {
            SystemEvent::Status(data) => self.feed.push("status", data),
            SystemEvent::Driver(data) => self.feed.push("driver", data),
            SystemEvent::DriverGone(data) => self.feed.push("driver_gone", data),
            SystemEvent::Run(data) => self.feed.push("run", data),
            SystemEvent::Everything { .. } => {}
        }
    }

    /// Puts a workload into the queue.
    ///
    /// # Errors
    /// Its mistakes, or that it cannot be kept.
    pub async fn submit(
        self: &Arc<Self>,
        submission: Submission,
        by: &str,
    ) -> Result<(String, Vec<Mistake>), Refused> {
        let one_at_a_time = self.changing.lock().await;
        if self.jobs().active.len() >= MOST_QUEUED {
            return Err(Refused::TooMany(format!(
                "{MOST_QUEUED} runs wait already; cancel some, or wait until they are done"
            )));
        }
        let queue = Arc::clone(self);
        let by = by.to_owned();
        let read = tokio::task::spawn_blocking(move || queue.prepare(submission, by));
        let (mut entry, mistakes) = read.await.map_err(|_| internal("a submission could not be read"))??;
        entry.number = self.store.number(entry.number).await?;
        entry.id = format!("w{}", entry.number);
        self.store.put(entry.clone()).await?;
        let id = entry.id.clone();
        self.jobs().active.push(Job::of(entry));
        self.tell_run(&id);
        self.wake.notify_one();
        drop(one_at_a_time);
        Ok((id, mistakes))
    }

    /// Reads a submission and takes a number from the archive. Blocks.
    fn prepare(&self, submission: Submission, by: String) -> Result<(QueueEntry, Vec<Mistake>), Refused> {
        let checked = self.runner.reader.read_new(&submission);
        let Some(workload) = checked.workload else { return Err(Refused::Mistakes(checked.mistakes)) };
        for tag in &submission.tags {
            let bad = |c: char| c.is_whitespace() || c.is_control() || c == ',';
            if tag.is_empty() || tag.chars().count() > cosmark_archive::LONGEST_TAG || tag.contains(bad) {
                return Err(Refused::Wrong(format!(
                    "{tag:?} is not a tag: a tag is a word without blanks and commas, up to 64 characters"
                )));
            }
        }
        self.runner.pool.takes(&workload)?;
        let wanted = asked_for(&submission)?.or(&workload.drivers);
        let number = Archive::open(&self.runner.archive)
            .and_then(|archive| archive.reserve())
            .map_err(ServiceError::from)?;
        let mut operations: Vec<String> = Vec::new();
        let works = workload.stages.iter().flat_map(|stage| &stage.works);
        for word in works.flat_map(|work| &work.operations).map(|op| op.kind.word()) {
            if !operations.iter().any(|known| known == word) {
                operations.push(word.to_owned());
            }
        }
        let drawn = crate::auth::keys::random::<8>().map(|bytes| u64::from_le_bytes(bytes) >> 11)?;
        let entry = QueueEntry {
            id: String::new(),
            number,
            submitted: Timestamp::now().to_string(),
            submitted_by: by,
            name: workload.name.clone(),
            stages: u32::try_from(workload.stages.len()).unwrap_or(u32::MAX),
            operations,
            priority: submission.priority,
            order: self.jobs().active.iter().map(|job| job.entry.order).max().unwrap_or(0).saturating_add(1),
            seed: submission.seed.or(workload.seed).unwrap_or(drawn),
            started: None,
            cancelled: None,
            wants: wanted.to_string(),
            wait_for_drivers_ms: wanted.wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            drivers: Vec::new(),
            waited_ms: 0,
            submission,
        };
        Ok((entry, checked.mistakes))
    }

    /// Asks a run to end: operations in flight may end, or not.
    ///
    /// # Errors
    /// When it neither waits nor runs.
    pub async fn cancel(&self, id: &str, abort: bool) -> Result<RunSummary, Refused> {
        let one_at_a_time = self.changing.lock().await;
        let (mut entry, _) = self.entry(id).ok_or_else(|| unknown(id))?;
        let abort = abort || entry.cancelled == Some(true);
        entry.cancelled = Some(abort);
        self.store.put(entry).await?;
        {
            let mut jobs = self.jobs();
            let job = jobs.active.iter_mut().find(|job| job.entry.id == id).ok_or_else(|| unknown(id))?;
            job.entry.cancelled = Some(abort);
            if let Some(stop) = &job.stop {
                stop.send_replace(if abort { StopLevel::Abort } else { StopLevel::Finish });
            }
        }
        self.wake.notify_one();
        drop(one_at_a_time);
        self.find(id).ok_or_else(|| unknown(id))
    }

    /// Leads no longer: lets go of what runs, and forgets what waits. True once nothing runs here.
    pub fn step_down(&self) -> bool {
        let mut jobs = self.jobs();
        jobs.leading = false;
        jobs.abandon.send_replace(true);
        jobs.active.retain(|job| job.stop.is_some());
        jobs.threads == 0
    }

    /// The controller is to end: nothing new begins; what runs is let go where another takes it up, and is stopped at once
    /// where nobody can. True once nothing runs.
    pub fn stop(&self) -> bool {
        if self.runner.pool.continues() {
            self.jobs().stopping = true;
            return self.step_down();
        }
        let mut jobs = self.jobs();
        jobs.stopping = true;
        jobs.active.iter().filter_map(|job| job.stop.as_ref()).for_each(|stop| {
            stop.send_replace(StopLevel::Abort);
        });
        jobs.threads == 0
    }

    /// Looks whether something may begin, for instance because a driver has come.
    pub fn look(&self) {
        self.wake.notify_one();
    }
}

/// What a submission says about drivers beside its workload.
fn asked_for(submission: &Submission) -> Result<DriversWanted, Refused> {
    let wrong = |(message, hint): (String, String)| Refused::Wrong(format!("drivers: {message}; {hint}"));
    let wanted = DriversWanted::of_text(submission.drivers.as_deref().unwrap_or_default()).map_err(wrong)?;
    let wait = submission.wait_for_drivers.as_deref().map(parse_duration).transpose().map_err(wrong)?;
    Ok(DriversWanted { wait, ..wanted })
}

fn internal(text: &str) -> Refused {
    Refused::Internal(ServiceError::Bus(format!("{text}; report this as a bug")))
}

fn unknown(id: &str) -> Refused {
    Refused::Unknown(format!("no run {id} waits or runs"))
}
