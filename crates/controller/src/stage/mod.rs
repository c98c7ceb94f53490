//! One stage: waiting, booting, submitting, authing, launching, running, closing, and how it ended. Nothing here depends on
//! when an event arrives: a run that is taken up by another controller hears the same events again, faster, and comes to
//! the same results.

mod between;
mod clocks;
mod consistency;
mod endpoints;
mod faults;
mod fill;
mod full;
mod loss;
mod pause;
mod peer;
mod results;
mod rows;
mod settling;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cosmark_archive::{BesideRecord, EventKind, OpBatch, StageState, StageTables};
use cosmark_metrics::{OpSnapshot, Phase, Sample, Snapshot};
use cosmark_wire::{
    DriverEvent, EventSender, Failure, FailureClass, FromDriver, Launched, MissionReport, StageOrder,
};
use cosmark_workload::listed::names_of_stage;
use cosmark_workload::model::Stage;
use cosmark_workload::read_sizes::lengths_of_stage;
use cosmark_workload::share::{Candidate, MissionShare, spread_over};
use tokio::sync::mpsc;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::job::{EndClass, RunJob, StopLevel};
use crate::observe::{Observer, Progress, SliceNews, StageNews};
use crate::stage::fill::FillCurve;
use crate::tally::Tally;
use crate::thresholds::Measured;
use endpoints::EndpointNames;
use full::Filling;
pub use full::cannot_be_measured;
use loss::{ABORT_PATIENCE, finish_patience, until};
use peer::{DriverPhase, Launch, Peer};
use settling::Looks;

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
    step: u32,
    tally: Tally,
    /// The rate over the objects stored, of a pass over a data set.
    curve: Option<FillCurve>,
    /// How full the store is, of a pass that ends when it is full enough.
    filling: Option<Filling>,
    /// What every driver said at last.
    reports: Vec<(usize, MissionReport)>,
    failure: Option<Failure>,
    /// The drivers, in the order of the job.
    peers: Vec<Peer>,
    /// Slices that are not in the histogram log yet, all drivers together: start since the common instant, work, phase.
    slices: BTreeMap<(u64, u16, Phase), Snapshot>,
    /// End of the last slice since the common instant, ns.
    last_ns: u64,
    /// Snapshots since the last progress.
    latest: OpSnapshot,
    lost_samples: u64,
    state: StageState,
    /// Load of other runs, by driver and run.
    beside: BTreeMap<(String, String), BesideRecord>,
    endpoints: EndpointNames,
    looks: Looks,
    /// Its faults were begun.
    has_faults: bool,
    /// What the probers beside the load have seen.
    probed: between::Heard,
}

const TICK: Duration = Duration::from_secs(1);
/// Before that no slice is complete, and all rates would read 0.
const FIRST_NEWS: Duration = Duration::from_millis(1500);
/// Time for the word to begin to reach every driver.
const LEAD: Duration = Duration::from_millis(400);
/// And to be sealed for each of them and taken by NATS.
const LEAD_PER_DRIVER: Duration = Duration::from_micros(300);
/// And for each worker to be made.
const LEAD_PER_WORKER: Duration = Duration::from_micros(20);

impl<'r, 'a> StageRun<'r, 'a> {
    pub fn new(job: &'r mut RunJob<'a>, stage: Arc<Stage>, index: usize, of: usize) -> Self {
        let drivers = job.drivers.len();
        let tally = Tally::new(&stage, drivers, job.settle.is_some());
        Self {
            step: job.next_step(),
            job,
            tally,
            curve: FillCurve::of(&stage),
            filling: Filling::of(&stage),
            index,
            of,
            reports: Vec::new(),
            failure: None,
            peers: (0..drivers).map(|_| Peer::new()).collect(),
            slices: BTreeMap::new(),
            last_ns: 0,
            latest: OpSnapshot::default(),
            lost_samples: 0,
            state: StageState::Waiting,
            beside: BTreeMap::new(),
            endpoints: EndpointNames::default(),
            looks: Looks::default(),
            has_faults: false,
            probed: between::Heard::default(),
            stage,
        }
    }

    /// Runs it to its end, its pause included.
    pub async fn run(mut self, observer: &mut dyn Observer) -> StageEnd {
        let planned = self.stage.planned();
        observer.stage_begins(&StageNews { stage: &self.stage, index: self.index, of: self.of, planned });
        if !self.stage.works.is_empty() {
            self.enter(StageState::Booting);
            self.enter(StageState::Submitting);
            if self.knows_how_full(observer).await
                && let Some(events) = self.submit()
            {
                self.enter(StageState::Authing);
                self.listen(events, observer).await;
            }
            self.end_filling(observer).await;
            self.end_faults(observer).await;
            self.enter(StageState::Closing);
            self.compare_clocks_again().await;
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

    /// Cuts the shares among the drivers that are there.
    fn spread(&mut self) -> Result<Vec<MissionShare>, Failure> {
        let fail = |work: String, class, text| Failure { work, class, text };
        let step = self.step;
        let there: Vec<usize> = (0..self.job.drivers.len())
            .filter(|at| self.job.drivers.get_mut(*at).is_some_and(|driver| driver.is_there(step)))
            .collect();
        if there.is_empty() {
            let text = "no driver is there; start one with `cosmark driver --join`".to_owned();
            return Err(fail(String::new(), FailureClass::Driver, text));
        }
        let drivers = there.iter().filter_map(|at| self.job.drivers.get(*at));
        let candidates: Vec<_> =
            drivers.map(|driver| Candidate { name: driver.name(), labels: driver.labels() }).collect();
        let mut shares = spread_over(&self.stage, &candidates)
            .map_err(|error| fail(error.work.clone(), FailureClass::Workload, error.to_string()))?;
        for share in &mut shares {
            share.driver = there.get(share.driver).copied().unwrap_or(share.driver);
        }
        Ok(shares)
    }

    /// Hands the shares out.
    fn submit(&mut self) -> Option<mpsc::Receiver<FromDriver>> {
        let shares = match self.spread() {
            Ok(shares) => shares,
            Err(failure) => {
                // Found now, also where the run is taken up.
                self.job.dir.set_past(None);
                self.failure = Some(failure);
                return None;
            }
        };
        let lengths = lengths_of_stage(self.job.workload, self.job.planned_stage);
        let written = |stage, work| self.written(stage, work);
        let listings = names_of_stage(self.job.workload, self.job.planned_stage, &written);
        let probes = self.probe_shares(&shares);
        let (sender, events) = mpsc::channel(256);
        for (number, (driver, peer)) in self.job.drivers.iter_mut().zip(&mut self.peers).enumerate() {
            peer.shares = shares.iter().filter(|share| share.driver == number).copied().collect();
            if peer.shares.is_empty() {
                continue;
            }
            peer.phase = DriverPhase::Ordered;
            let order = StageOrder {
                step: self.step,
                stage_index: self.index,
                stage: Arc::clone(&self.stage),
                shares: peer.shares.clone(),
                seed: self.job.workload.seed.unwrap_or(0),
                log_operations: self.job.operation_log.is_some(),
                drain: self.job.drain,
                lengths: lengths.clone(),
                listings: listings.clone(),
                probes: probes.get(number).copied().flatten(),
            };
            driver.start(order, EventSender::new(number, sender.clone()));
        }
        Some(events)
    }

    /// How many operations of a special work of an earlier stage succeeded, both by their places in the workload, without those
    /// that the store only accepted; `None` where the record does not say it for certain.
    fn written(&self, stage: usize, work: usize) -> Option<u64> {
        let plan = self.job.workload.stages.get(stage)?;
        let record = self.job.dir.record();
        let mut done = record.stages.iter().take(self.index).filter(|done| done.name == plan.name);
        let only = done.next().filter(|_| done.next().is_none())?;
        let before: usize = plan.works.iter().take(work).map(|work| work.operations.len()).sum();
        let done = only.operations.get(before)?;
        Some(done.ok.saturating_sub(done.accepted_only))
    }

    async fn listen(&mut self, mut events: mpsc::Receiver<FromDriver>, observer: &mut dyn Observer) {
        let mut tick = tokio::time::interval(TICK);
        let mut stop = self.job.stop.clone();
        let mut requested = StopLevel::Run;
        // When who was told to stop has to have done so.
        let (finishing, mut patience) = (finish_patience(self.job.drain), None);
        while self.peers.iter().any(Peer::is_awaited) {
            tokio::select! {
                event = events.recv() => match event {
                    None => return self.fell_silent(),
                    Some(FromDriver { driver, past_unix_ns, event }) => {
                        self.job.dir.set_past(past_unix_ns);
                        self.take(driver, event, observer);
                    }
                },
                _ = tick.tick() => {
                    self.tell(observer);
                    if requested == StopLevel::Run && (self.is_settled(observer) || self.is_full_enough(observer)) {
                        self.stop_faults();
                        self.stop_all(false);
                        patience = Some(Instant::now() + finishing);
                    }
                }
                level = wanted(&mut stop, requested) => {
                    requested = level;
                    self.stop_faults();
                    self.stop_all(level == StopLevel::Abort);
                    let at_once = level == StopLevel::Abort;
                    patience = Some(Instant::now() + if at_once { ABORT_PATIENCE } else { finishing });
                }
                () = until(patience) => {
                    self.job.dir.set_past(None);
                    if requested == StopLevel::Abort {
                        self.go_without_the_silent(observer);
                    } else {
                        requested = StopLevel::Abort;
                        observer.note("not all drivers have stopped; what they have in flight is dropped");
                        self.stop_all(true);
                        patience = Some(Instant::now() + ABORT_PATIENCE);
                    }
                }
            }
        }
        self.fail_if_nobody_began();
        // Should one of them come back, its part is of no use any more.
        let lost = self.job.drivers.iter().zip(&self.peers).filter(|(_, peer)| peer.is_lost);
        lost.for_each(|(driver, _)| driver.abort(self.step));
    }

    /// Every driver let go of its end without a word.
    fn fell_silent(&mut self) {
        let text = "a driver ended without a word; this is a bug in Cosmark".to_owned();
        self.failure.get_or_insert(Failure { work: String::new(), class: FailureClass::Driver, text });
    }

    fn stop_all(&self, at_once: bool) {
        let peers = self.job.drivers.iter().zip(&self.peers);
        for (driver, _) in
            peers.filter(|(_, peer)| !matches!(peer.phase, DriverPhase::Idle | DriverPhase::Over))
        {
            if at_once { driver.abort(self.step) } else { driver.finish(self.step) }
        }
    }

    /// Something that the stage does not survive: the other drivers are stopped, too.
    fn fail(&mut self, failure: Failure) {
        if self.failure.is_none() {
            self.failure = Some(failure);
            let nothing_yet = self.peers.iter().all(|peer| peer.launch.is_none());
            self.stop_faults();
            self.stop_all(nothing_yet);
        }
    }

    fn take(&mut self, driver: usize, event: DriverEvent, observer: &mut dyn Observer) {
        let Some(peer) = self.peers.get_mut(driver) else { return };
        if peer.is_lost && !matches!(event, DriverEvent::Lost { .. } | DriverEvent::Probed) {
            peer.is_lost = false;
            let name = self.name_of(driver);
            observer.note(&format!("driver {name} is back"));
            self.job.dir.log("WARN", "Driver", &format!("driver {name} is back"));
            self.job.dir.event(EventKind::Driver, Some(self.index), &format!("driver {name} is back"));
        }
        let Some(peer) = self.peers.get_mut(driver) else { return };
        // Only these can be what the others waited for; every other event would cost a look at every driver.
        let may_be_the_last = matches!(
            event,
            DriverEvent::Authed
                | DriverEvent::Probed
                | DriverEvent::Refused(_)
                | DriverEvent::Ended { .. }
                | DriverEvent::Lost { .. }
        );
        match event {
            DriverEvent::Authed => self.note_authed(driver),
            DriverEvent::Probed => peer.rise_to(DriverPhase::Ready),
            DriverEvent::Launched(launched) => self.launch(driver, launched),
            DriverEvent::Facts(facts) => peer.set_facts(facts),
            DriverEvent::Health(sample) => {
                if let Some(origin_ns) = peer.add_health(&sample) {
                    let name = self.name_of(driver);
                    self.job.dir.append_client(self.index, &name, origin_ns, &sample);
                }
            }
            DriverEvent::Snapshot(snapshot) => self.take_snapshot(driver, &snapshot, observer),
            DriverEvent::Told { up_to_ns } => {
                if let Some(launch) = &peer.launch {
                    peer.watermark_ns = peer.watermark_ns.max(launch.since_ns(up_to_ns));
                }
            }
            DriverEvent::Samples { work, samples } => self.log_samples(driver, work, samples, observer),
            DriverEvent::SamplesLost { count } => {
                self.lost_samples += count;
                self.job.operation_log.iter().for_each(|(log, _)| log.sender().miss(count));
                observer
                    .note(&format!("the operation log is too slow: {count} operations are missing in it"));
            }
            DriverEvent::Refused(failure) => {
                peer.rise_to(DriverPhase::Over);
                self.fail(failure);
            }
            DriverEvent::Ended { missions, gave_up } => self.end(driver, missions, gave_up, observer),
            DriverEvent::Lost { silent_ms, late } => self.lose(driver, silent_ms, late, observer),
            DriverEvent::Paused { from_ns, to_ns, why } => {
                self.note_pause(driver, from_ns, to_ns, why, observer)
            }
            DriverEvent::Consistency(sums) => self.probed.sums.get_or_insert_default().merge(&sums),
            DriverEvent::Probes { operations, missed } => self.take_probes(driver, &operations, missed),
            DriverEvent::Triggered(_) => {}
        }
        if may_be_the_last {
            self.maybe_go();
        }
    }

    /// A driver is logged in: its clock is asked, and when it was the last one the stage goes on.
    fn note_authed(&mut self, driver: usize) {
        let (Some(peer), Some(link)) = (self.peers.get_mut(driver), self.job.drivers.get_mut(driver)) else {
            return;
        };
        peer.rise_to(DriverPhase::Authed);
        link.probe(self.step);
        let waiting = |peer: &Peer| peer.is_awaited() && peer.phase < DriverPhase::Authed;
        if !self.peers.iter().any(waiting) {
            self.enter(StageState::Launching);
        }
    }

    fn launch(&mut self, driver: usize, launched: Launched) {
        // Its load begins once, whatever it says: all that is told of it counts from then.
        if self.peers.get(driver).is_some_and(|peer| peer.launch.is_some()) {
            return;
        }
        self.job.dir.note_containers(self.index, &launched.containers);
        if let Some(peer) = self.peers.get_mut(driver) {
            peer.launch(launched);
        }
        if let Some(origin) = self.first_launch().map(Launch::origin) {
            self.job.dir.set_load_started(self.index, origin);
            self.begin_faults(origin);
        }
        self.enter(StageState::Running);
    }

    /// When the last driver is ready, all are told the same instant.
    fn maybe_go(&mut self) {
        let waiting = self.peers.iter().any(|peer| peer.is_awaited() && peer.phase < DriverPhase::Ready);
        let ready = self.peers.iter().any(|peer| peer.is_awaited() && peer.phase == DriverPhase::Ready);
        if waiting || !ready || self.failure.is_some() {
            return;
        }
        let workers: u32 = self.stage.works.iter().map(|work| work.workers).sum();
        let drivers = u32::try_from(self.peers.len()).unwrap_or(u32::MAX);
        let lead = LEAD + LEAD_PER_DRIVER.saturating_mul(drivers) + LEAD_PER_WORKER.saturating_mul(workers);
        let lead_ns = i64::try_from(lead.as_nanos()).unwrap_or(i64::MAX);
        let at_unix_ns = self.job.clock.now_ns().saturating_add(lead_ns);
        for (link, peer) in self.job.drivers.iter_mut().zip(&mut self.peers) {
            if peer.is_awaited() && peer.phase == DriverPhase::Ready {
                peer.phase = DriverPhase::Started;
                link.go(self.step, Some(at_unix_ns));
            }
        }
    }

    fn end(
        &mut self,
        driver: usize,
        missions: Vec<MissionReport>,
        gave_up: Option<Failure>,
        observer: &mut dyn Observer,
    ) {
        let Some(peer) = self.peers.get_mut(driver) else { return };
        peer.rise_to(DriverPhase::Over);
        peer.is_cut = false;
        missions.iter().for_each(|mission| peer.add_began(mission.began));
        match gave_up {
            Some(failure) if matches!(failure.class, FailureClass::Restarted | FailureClass::Stopped) => {
                peer.is_cut = true;
                self.cut(driver, &failure.text, observer);
            }
            Some(failure) => self.fail(failure),
            None => {}
        }
        self.reports.extend(missions.into_iter().map(|mission| (driver, mission)));
    }

    /// The first driver's beginning, which everything that is not about one driver counts from.
    fn first_launch(&self) -> Option<&Launch> {
        self.peers.iter().find_map(|peer| peer.launch.as_ref())
    }

    fn name_of(&self, driver: usize) -> String {
        self.job.drivers.get(driver).map_or_else(String::new, |driver| driver.name().to_owned())
    }

    fn take_snapshot(&mut self, driver: usize, snapshot: &Snapshot, observer: &mut dyn Observer) {
        let Some(launch) = self.peers.get(driver).and_then(|peer| peer.launch.as_ref()) else { return };
        if !self.tally.knows(snapshot) {
            return;
        }
        observer.slice(&SliceNews {
            stage: &self.stage,
            index: self.index,
            driver: self.job.drivers.get(driver).map_or("", |driver| driver.name()),
            load_started: launch.origin(),
            start_ns: launch.origin_ns,
            endpoints: launch.endpoints_of(snapshot.work),
            snapshot,
        });
        let (start_ns, end_ns) = (launch.since_ns(snapshot.start_ns), launch.since_ns(snapshot.end_ns));
        let snapshot = &*self.endpoints.renumber(snapshot, launch.endpoints_of(snapshot.work));
        self.tally.add(driver, snapshot, launch.origin_ns, &self.stage);
        if snapshot.phase == Phase::Window
            && let Some(peer) = self.peers.get_mut(driver)
        {
            let end = peer.windows_ns.entry(snapshot.work).or_default();
            *end = end_ns.max(*end);
        }
        if let Some(curve) = &mut self.curve {
            curve.add(start_ns, snapshot);
        }
        if let Some(filling) = &mut self.filling {
            filling.add(snapshot);
        }
        if let Some(faults) = &mut self.job.faults {
            faults.slice(start_ns, end_ns, snapshot);
        }
        self.last_ns = self.last_ns.max(end_ns);
        snapshot.ops.iter().for_each(|op| self.latest.merge(op));
        if !snapshot.is_empty() {
            let place = Snapshot { start_ns, end_ns, ops: Vec::new(), ..*snapshot };
            let key = (start_ns, snapshot.work, snapshot.phase);
            let slice = self.slices.entry(key).or_insert_with(|| Snapshot {
                ops: vec![OpSnapshot::default(); snapshot.ops.len()],
                ..place.clone()
            });
            slice.end_ns = slice.end_ns.max(end_ns);
            slice.ops.iter_mut().zip(&snapshot.ops).for_each(|(sum, op)| sum.merge(op));
        }
    }

    fn log_samples(&mut self, driver: usize, work: u16, samples: Vec<Sample>, observer: &mut dyn Observer) {
        let launch = self.peers.get(driver).and_then(|peer| peer.launch.as_ref());
        let (Some((log, epoch)), Some(launch)) = (&self.job.operation_log, launch) else { return };
        let Some((_, plan)) = launch.plans.iter().find(|(index, _)| *index == usize::from(work)) else {
            return;
        };
        let name = self.job.drivers.get(driver).map_or("", |driver| driver.name());
        let origin_ns = launch.origin().as_nanosecond() - epoch.as_nanosecond();
        let batch = OpBatch {
            driver: name.into(),
            stage: u16::try_from(self.index).unwrap_or(u16::MAX),
            work,
            clock_offset_ns: i64::try_from(origin_ns - i128::from(launch.origin_ns)).unwrap_or(0),
            clock_error_ns: launch.clock_error_ns(),
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
        self.write_intervals(false);
        self.show_open_intervals();
        self.look_beside(observer);
        self.job.keep_nodes(self.index);
        self.job.dir.take_notes(self.index);
        self.hear_faults(observer);
        let news = [self.job.dir.news(), self.job.news_of_the_link()];
        news.iter().flatten().for_each(|text| observer.note(text));
        let Some(launch) = self.first_launch() else { return };
        let elapsed =
            Duration::try_from(self.job.dir.now().duration_since(launch.origin())).unwrap_or_default();
        if elapsed < FIRST_NEWS {
            return;
        }
        let works = &self.stage.works;
        let length =
            works.iter().map(|work| work.rampup + work.runtime + work.rampdown).max().unwrap_or_default();
        let timed = works.iter().all(|work| !work.runtime.is_zero());
        let remaining = timed.then(|| length.saturating_sub(elapsed));
        let done = if let Some(filling) = &self.filling {
            filling.progress(&self.job.fullness)
        } else if timed {
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
            watermark: self.watermark(false),
            remaining,
            done: done.map(|done| done.clamp(0.0, 1.0)),
            latest_s: TICK.as_secs_f64(),
            latest,
            total_ok: self.tally.total_ok,
            total_failed: self.tally.total_failed,
            missing: self.missing(),
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

    /// All drivers that still count have told what ended up to here, since the common instant.
    fn watermark(&self, all: bool) -> Duration {
        let counted = self.peers.iter().filter(|peer| peer.is_awaited());
        let watermark = counted.map(|peer| peer.watermark_ns).min();
        Duration::from_nanos(if all { self.last_ns } else { watermark.unwrap_or(0) })
    }
}

/// Waits until the user wants more than `reached`.
async fn wanted(stop: &mut watch::Receiver<StopLevel>, reached: StopLevel) -> StopLevel {
    match stop.wait_for(|level| *level > reached).await {
        Ok(level) => *level,
        // Nobody can ask any more.
        Err(_) => std::future::pending().await,
    }
}
