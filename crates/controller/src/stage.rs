//! One stage: waiting, booting, submitting, authing, launching, running, closing, and how it ended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cosmark_archive::{
    ClientRecord, DriverRecord, IntervalLine, OpBatch, StageRecord, StageState, StageTables, TimelineRow,
    Timestamp,
};
use cosmark_metrics::{ClientFacts, HealthSample, HealthSummary, OpSnapshot, SlicePlan, Snapshot};
use cosmark_wire::{DriverEvent, Failure, FailureClass, MissionReport, StageOrder};
use cosmark_workload::model::Stage;
use cosmark_workload::share::spread_stage;
use tokio::sync::mpsc;
use tokio::sync::watch;

use crate::judge;
use crate::observe::{Observer, Progress, SliceNews, StageNews};
use crate::run::{EndClass, RunJob, StopLevel, class_of};
use crate::tally::Tally;
use crate::thresholds::Measured;

/// A stage that is over.
pub struct StageEnd {
    pub class: EndClass,
    pub reason: String,
    pub tables: StageTables,
    /// What its thresholds are judged by.
    pub measured: Measured,
}

/// A stage on its way.
pub struct StageRun<'r, 'a> {
    job: &'r mut RunJob<'a>,
    stage: Arc<Stage>,
    index: usize,
    of: usize,
    tally: Tally,
    /// What every driver said at last.
    reports: Vec<(usize, MissionReport)>,
    failure: Option<Failure>,
    /// How each driver began.
    launches: Vec<Option<Launch>>,
    /// How each driver was doing.
    clients: Vec<Client>,
    /// Snapshots since the last progress.
    latest: OpSnapshot,
    lost_samples: u64,
    state: StageState,
}

#[derive(Clone)]
struct Launch {
    /// Start of the load on the driver's clock.
    start_ns: u64,
    /// The same moment, here.
    started: Instant,
    wall: Timestamp,
    /// Phases of each work on the driver's clock.
    plans: Vec<(usize, SlicePlan)>,
}

/// What is known about a driver itself.
#[derive(Default)]
struct Client {
    facts: ClientFacts,
    /// In the measured windows of its works.
    in_window: HealthSummary,
    /// All the time, for stages that are too short for a look inside a window.
    all: HealthSummary,
}

const TICK: Duration = Duration::from_secs(1);
/// Before that no slice is complete, and all rates would read 0.
const FIRST_NEWS: Duration = Duration::from_millis(1500);

impl<'r, 'a> StageRun<'r, 'a> {
    pub fn new(job: &'r mut RunJob<'a>, stage: Arc<Stage>, index: usize, of: usize) -> Self {
        let drivers = job.drivers.len();
        let tally = Tally::new(&stage, drivers);
        Self {
            job,
            tally,
            index,
            of,
            reports: Vec::new(),
            failure: None,
            launches: vec![None; drivers],
            clients: (0..drivers).map(|_| Client::default()).collect(),
            latest: OpSnapshot::default(),
            lost_samples: 0,
            state: StageState::Waiting,
            stage,
        }
    }

    /// Runs it to its end, its pause included.
    pub async fn run(mut self, observer: &mut dyn Observer) -> StageEnd {
        let planned = self.planned();
        observer.stage_begins(&StageNews { stage: &self.stage, index: self.index, of: self.of, planned });
        if !self.stage.works.is_empty() {
            self.enter(StageState::Booting);
            self.enter(StageState::Submitting);
            if let Some(events) = self.submit() {
                self.enter(StageState::Authing);
                self.listen(events, observer).await;
            }
            self.enter(StageState::Closing);
        }
        let paused = self.pause(observer).await;
        self.close(observer, paused)
    }

    fn enter(&mut self, state: StageState) {
        if self.state != state {
            self.state = state;
            self.job.dir.enter_stage(self.index, state);
        }
    }

    /// How long the load lasts, where time ends every work.
    fn planned(&self) -> Option<Duration> {
        let works = &self.stage.works;
        let timed = works.iter().all(|work| !work.runtime.is_zero());
        let longest =
            works.iter().map(|work| work.rampup + work.runtime + work.rampdown).max().unwrap_or_default();
        timed.then_some(longest + self.stage.closure_delay)
    }

    /// Cuts the shares and hands them out.
    fn submit(&mut self) -> Option<mpsc::Receiver<(usize, DriverEvent)>> {
        let names: Vec<String> = self.job.drivers.iter().map(|driver| driver.name().to_owned()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let shares = match spread_stage(&self.stage, &names) {
            Ok(shares) => shares,
            Err(error) => {
                let failure = Failure {
                    work: error.work.clone(),
                    class: FailureClass::Workload,
                    text: error.to_string(),
                };
                self.failure = Some(failure);
                return None;
            }
        };
        let (sender, events) = mpsc::channel(256);
        for (number, driver) in self.job.drivers.iter_mut().enumerate() {
            let own: Vec<_> = shares.iter().filter(|share| share.driver == number).copied().collect();
            if own.is_empty() {
                continue;
            }
            let mut from_driver = driver.start(StageOrder {
                stage_index: self.index,
                stage: Arc::clone(&self.stage),
                shares: own,
                seed: self.job.workload.seed.unwrap_or(0),
                log_operations: self.job.operation_log.is_some(),
            });
            let sender = sender.clone();
            tokio::spawn(async move {
                while let Some(event) = from_driver.recv().await {
                    if sender.send((number, event)).await.is_err() {
                        return;
                    }
                }
            });
        }
        Some(events)
    }

    async fn listen(
        &mut self,
        mut events: mpsc::Receiver<(usize, DriverEvent)>,
        observer: &mut dyn Observer,
    ) {
        let mut tick = tokio::time::interval(TICK);
        let mut stop = self.job.stop.clone();
        let mut told = StopLevel::Run;
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    None => return,
                    Some((driver, event)) => self.take(driver, event, observer),
                },
                _ = tick.tick() => self.tell(observer),
                level = wanted(&mut stop, told) => {
                    told = level;
                    for driver in &self.job.drivers {
                        if level == StopLevel::Abort { driver.abort() } else { driver.finish() }
                    }
                }
            }
        }
    }

    fn take(&mut self, driver: usize, event: DriverEvent, observer: &mut dyn Observer) {
        match event {
            DriverEvent::Authed => self.enter(StageState::Launching),
            DriverEvent::Launched { now_ns, start_ns, plans } => {
                let ahead = Duration::from_nanos(start_ns.saturating_sub(now_ns));
                let (started, wall) = (Instant::now() + ahead, Timestamp::now() + ahead);
                if let Some(slot) = self.launches.get_mut(driver) {
                    *slot = Some(Launch { start_ns, started, wall, plans });
                }
                self.enter(StageState::Running);
            }
            DriverEvent::Facts(facts) => {
                if let Some(client) = self.clients.get_mut(driver) {
                    client.facts = facts;
                }
            }
            DriverEvent::Health(sample) => self.take_health(driver, &sample),
            DriverEvent::Snapshot(snapshot) => {
                if let Some(Some(launch)) = self.launches.get(driver) {
                    observer.slice(&SliceNews {
                        stage: &self.stage,
                        index: self.index,
                        driver: self.job.drivers.get(driver).map_or("", |driver| driver.name()),
                        load_started: launch.wall,
                        start_ns: launch.start_ns,
                        snapshot: &snapshot,
                    });
                }
                self.take_snapshot(driver, &snapshot);
            }
            DriverEvent::Samples { work, samples } => self.log_samples(driver, work, samples, observer),
            DriverEvent::SamplesLost { count } => {
                self.lost_samples += count;
                observer
                    .note(&format!("the operation log is too slow: {count} operations are missing in it"));
            }
            DriverEvent::Refused(failure) => {
                self.failure.get_or_insert(failure);
            }
            DriverEvent::Ended { missions, gave_up } => {
                self.reports.extend(missions.into_iter().map(|mission| (driver, mission)));
                if let Some(failure) = gave_up {
                    self.failure.get_or_insert(failure);
                }
            }
        }
    }

    /// The first driver's beginning, which everything that is not about one driver counts from.
    fn first_launch(&self) -> Option<&Launch> {
        self.launches.iter().flatten().next()
    }

    fn name_of(&self, driver: usize) -> String {
        self.job.drivers.get(driver).map_or_else(String::new, |driver| driver.name().to_owned())
    }

    fn take_health(&mut self, driver: usize, sample: &HealthSample) {
        let Some(Some(launch)) = self.launches.get(driver) else { return };
        let middle_ns = sample.at_ns.saturating_sub(sample.span_ns / 2);
        let in_window = launch.plans.iter().any(|(_, plan)| plan.is_due_in_window(middle_ns));
        let start_ns = launch.start_ns;
        let name = self.name_of(driver);
        self.job.dir.append_client(self.index, &name, start_ns, sample);
        if let Some(client) = self.clients.get_mut(driver) {
            client.all.add(sample);
            if in_window {
                client.in_window.add(sample);
            }
        }
    }

    fn take_snapshot(&mut self, driver: usize, snapshot: &Snapshot) {
        let Some(Some(launch)) = self.launches.get(driver).cloned() else { return };
        self.tally.add(driver, snapshot, launch.start_ns, &self.stage);
        snapshot.ops.iter().for_each(|op| self.latest.merge(op));
        if !snapshot.is_empty() {
            let since = Duration::from_nanos(snapshot.start_ns.saturating_sub(launch.start_ns));
            self.job.dir.append_histograms(self.index, launch.wall + since, snapshot);
        }
    }

    fn log_samples(
        &mut self,
        driver: usize,
        work: u16,
        samples: Vec<cosmark_metrics::Sample>,
        observer: &mut dyn Observer,
    ) {
        let (Some((log, epoch)), Some(Some(launch))) = (&self.job.operation_log, self.launches.get(driver))
        else {
            return;
        };
        let Some((_, plan)) = launch.plans.iter().find(|(index, _)| *index == usize::from(work)) else {
            return;
        };
        let name = self.job.drivers.get(driver).map_or("", |driver| driver.name());
        let started_ns = launch.wall.as_nanosecond() - epoch.as_nanosecond();
        let batch = OpBatch {
            driver: name.into(),
            stage: u16::try_from(self.index).unwrap_or(u16::MAX),
            work,
            clock_offset_ns: i64::try_from(started_ns - i128::from(launch.start_ns)).unwrap_or(0),
            plan: *plan,
            samples,
        };
        if log.sender().send(batch).is_err() && self.lost_samples == 0 {
            self.lost_samples += 1;
            observer.note("the operation log has stopped; the run goes on without it");
        }
    }

    /// Writes the rows of the timeline that are complete, and tells how it goes.
    fn tell(&mut self, observer: &mut dyn Observer) {
        let Some(launch) = self.first_launch() else { return };
        let elapsed = launch.started.elapsed();
        self.write_intervals(elapsed, false);
        if let Some(news) = self.job.dir.news() {
            observer.note(&news);
        }
        if elapsed < FIRST_NEWS {
            return;
        }
        let works = &self.stage.works;
        let length =
            works.iter().map(|work| work.rampup + work.runtime + work.rampdown).max().unwrap_or_default();
        let timed = works.iter().all(|work| !work.runtime.is_zero());
        let remaining = timed.then(|| length.saturating_sub(elapsed));
        let done = if timed {
            Some(elapsed.as_secs_f64() / length.as_secs_f64())
        } else {
            self.expected()
                .map(|expected| (self.tally.total_ok + self.tally.total_failed) as f64 / expected as f64)
        };
        let latest = std::mem::take(&mut self.latest);
        observer.progress(&Progress {
            stage: &self.stage,
            index: self.index,
            of: self.of,
            elapsed,
            remaining,
            done: done.map(|done| done.clamp(0.0, 1.0)),
            latest_s: TICK.as_secs_f64(),
            latest,
            total_ok: self.tally.total_ok,
            total_failed: self.tally.total_failed,
        });
    }

    /// Operations that the stage will make, where counts end every work.
    fn expected(&self) -> Option<u64> {
        self.stage.works.iter().try_fold(0_u64, |sum, work| {
            let own = match (work.total_ops, work.operations.first()) {
                (Some(total), _) => total,
                (None, Some(op)) if work.kind != cosmark_workload::model::WorkKind::Normal => {
                    let containers = op.containers.as_ref().map_or(1, |containers| containers.count());
                    containers.saturating_mul(op.objects.as_ref().map_or(1, |objects| objects.count().max(1)))
                }
                _ => return None,
            };
            Some(sum.saturating_add(own))
        })
    }

    fn write_intervals(&mut self, elapsed: Duration, all: bool) {
        let Some(launch) = self.first_launch().cloned() else { return };
        for interval in self.tally.take_work_intervals(elapsed, all) {
            let driver = self.name_of(interval.driver);
            let (start_s, end_s) = (interval.start.as_secs_f64(), interval.end.as_secs_f64());
            let line = |op| IntervalLine::of(&driver, interval.phase, start_s, end_s, op);
            let lines = interval.operations.iter().map(line).collect();
            self.job.dir.append_work_interval(self.index, usize::from(interval.work), lines);
        }
        for interval in self.tally.take_intervals(elapsed, all, &self.stage) {
            let row = TimelineRow {
                ended: launch.wall + interval.ended,
                seconds: interval.seconds,
                operations: interval.operations.iter().collect(),
            };
            self.job.dir.append_interval(self.index, &row);
        }
    }

    /// The pause after the stage; false when the user cut it short.
    async fn pause(&mut self, observer: &mut dyn Observer) -> bool {
        let delay = self.stage.closure_delay;
        let mut stop = self.job.stop.clone();
        if delay.is_zero() || *stop.borrow() != StopLevel::Run || self.failure.is_some() {
            return true;
        }
        self.enter(StageState::Sleeping);
        observer.note(&format!("waiting {delay:?} after stage {}", self.stage.id(self.index)));
        let slept = tokio::select! {
            () = tokio::time::sleep(delay) => true,
            _ = wanted(&mut stop, StopLevel::Run) => false,
        };
        slept
    }

    fn close(mut self, observer: &mut dyn Observer, slept: bool) -> StageEnd {
        let elapsed = self.first_launch().map_or(Duration::ZERO, |launch| launch.started.elapsed());
        self.write_intervals(elapsed, true);
        let mut record: StageRecord = self
            .job
            .dir
            .record()
            .stages
            .get(self.index)
            .cloned()
            .unwrap_or_else(|| StageRecord::waiting(&self.stage, self.index, Timestamp::now()));
        let cancelled = *self.job.stop.borrow() != StopLevel::Run || !slept;
        let mut tally = std::mem::replace(&mut self.tally, Tally::new(&self.stage, 0));
        let by_driver = tally.take_driver_windows();
        let (windows, batches) = tally.into_windows();
        let seconds: Vec<f64> = (0..windows.len()).map(|work| self.window_s(work)).collect();
        let ran = self.first_launch().is_some();
        let tables = if ran { StageTables::of(windows.iter().flatten()) } else { StageTables::default() };
        let (class, state, reason) = self.verdict(cancelled, &windows);
        let results: Vec<_> = seconds.into_iter().zip(windows).collect();
        if ran {
            record.set_results(&self.stage, self.index, &results);
            self.add_examples(&mut record);
            self.add_drivers(&mut record, &by_driver);
            self.name_endpoints(&mut record);
            record.clients = self.client_records();
        }
        record.reason.clone_from(&reason);
        record.enter(state, Timestamp::now());
        if let Some(reason) = &reason {
            self.job.dir.log("ERROR", &record.id, reason);
        }
        self.job.dir.end_stage(self.index, record.clone());
        observer.stage_ends(&record);
        let measured = if ran { Measured::new(results, batches) } else { Measured::default() };
        StageEnd { class, reason: reason.unwrap_or_default(), tables, measured }
    }

    fn verdict(
        &self,
        cancelled: bool,
        windows: &[Vec<OpSnapshot>],
    ) -> (EndClass, StageState, Option<String>) {
        if let Some(failure) = &self.failure {
            let text = (self.job.redact)(&failure.text);
            let reason =
                if failure.work.is_empty() { text } else { format!("work {}: {text}", failure.work) };
            let class = class_of(failure);
            let state = if class == EndClass::Failed { StageState::Failed } else { StageState::Terminated };
            return (class, state, Some(reason));
        }
        if cancelled {
            return (EndClass::Cancelled, StageState::Cancelled, Some("cancelled by the user".to_owned()));
        }
        match judge::failed(&self.stage, windows) {
            Some(reason) => (EndClass::Failed, StageState::Failed, Some(reason)),
            None => (EndClass::Finished, StageState::Completed, None),
        }
    }

    /// The longest window that a driver measured for this work.
    fn window_s(&self, work: usize) -> f64 {
        self.reports
            .iter()
            .filter(|(_, report)| report.work == work)
            .map(|(_, report)| report.window_s)
            .fold(0.0, f64::max)
    }

    /// How each driver was doing, of those that said so.
    fn client_records(&self) -> Vec<ClientRecord> {
        let told = |(_, client): &(usize, &Client)| !client.all.is_empty() || client.facts.load_threads > 0;
        let record = |(driver, client): (usize, &Client)| {
            let Client { facts, in_window, all } = client;
            let health = if in_window.is_empty() { all } else { in_window };
            ClientRecord::of(&self.name_of(driver), *facts, health.client())
        };
        self.clients.iter().enumerate().filter(told).map(record).collect()
    }

    fn add_drivers(&self, record: &mut StageRecord, by_driver: &[Vec<Vec<OpSnapshot>>]) {
        for (driver, works) in by_driver.iter().enumerate() {
            let name = self.name_of(driver);
            let ops = works.iter().enumerate().flat_map(|(work, ops)| ops.iter().map(move |op| (work, op)));
            for ((work, op), operation) in ops.zip(&mut record.operations) {
                let own = self.reports.iter().find(|(from, report)| *from == driver && report.work == work);
                if let Some((_, report)) = own {
                    operation.drivers.push(DriverRecord::of(&name, report.workers, op));
                }
            }
        }
    }

    fn name_endpoints(&self, record: &mut StageRecord) {
        let works = self.stage.works.iter().enumerate();
        let of_operation = works.flat_map(|(index, work)| work.operations.iter().map(move |_| index));
        for (operation, work) in record.operations.iter_mut().zip(of_operation) {
            let names = self.reports.iter().filter(|(_, report)| report.work == work);
            let Some((_, report)) = names.max_by_key(|(_, report)| report.endpoints.len()) else { continue };
            for (endpoint, name) in operation.endpoints.iter_mut().zip(&report.endpoints) {
                endpoint.endpoint.clone_from(name);
            }
        }
    }

    fn add_examples(&self, record: &mut StageRecord) {
        let mut first = 0;
        for (index, work) in self.stage.works.iter().enumerate() {
            for (_, report) in self.reports.iter().filter(|(_, report)| report.work == index) {
                for example in &report.examples {
                    let at = first + usize::from(example.op);
                    if let Some(operation) = record.operations.get_mut(at) {
                        let text = format!("{}: {}", example.label, (self.job.redact)(&example.text));
                        if !operation.error_examples.contains(&text) {
                            operation.error_examples.push(text);
                        }
                    }
                }
            }
            first += work.operations.len();
        }
    }
}

/// Waits until the user wants more than `told`.
async fn wanted(stop: &mut watch::Receiver<StopLevel>, told: StopLevel) -> StopLevel {
    match stop.wait_for(|level| *level > told).await {
        Ok(level) => *level,
        // Nobody can ask any more.
        Err(_) => std::future::pending().await,
    }
}
