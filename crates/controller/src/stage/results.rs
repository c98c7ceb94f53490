//! The end of a stage: its record in the archive.

use std::time::Duration;

use cosmark_archive::{ClientRecord, DriverResult, MissingRecord, StageRecord, StageState, StageTables};
use cosmark_metrics::{ConsistencyResult, ConsistencySums, FillResult, NodeResult, OpSnapshot};
use cosmark_workload::share::MissionShare;

use super::fill::FillCurve;
use super::full::Filling;
use super::peer::{Launch, Peer};
use super::{StageEnd, StageRun, consistency};
use crate::acceptance;
use crate::job::{EndClass, StopLevel, class_of};
use crate::observe::Observer;
use crate::tally::{DriverSums, Tally};
use crate::thresholds::Measured;

impl StageRun<'_, '_> {
    pub(super) fn close(mut self, observer: &mut dyn Observer, slept: bool) -> StageEnd {
        self.write_intervals(true);
        self.job.keep_nodes(self.index);
        let mut record: StageRecord = self
            .job
            .dir
            .record()
            .stages
            .get(self.index)
            .cloned()
            .unwrap_or_else(|| StageRecord::waiting(&self.stage, self.index, self.job.dir.now()));
        let cancelled = *self.job.stop.borrow() != StopLevel::Run || !slept;
        let mut tally = std::mem::replace(&mut self.tally, Tally::new(&self.stage, 0, false));
        let by_driver = tally.take_driver_windows();
        let (windows, batches) = tally.into_windows();
        let seconds: Vec<f64> = (0..windows.len()).map(|work| self.window_s(work)).collect();
        let ran = self.first_launch().is_some();
        let tables = if ran { StageTables::of(windows.iter().flatten()) } else { StageTables::default() };
        let (class, state, reason) = self.verdict(cancelled, &windows);
        let results: Vec<_> = seconds.into_iter().zip(windows).collect();
        if ran {
            record.set_results(&self.stage, self.index, &results);
            self.write_sizes(&results);
            self.add_examples(&mut record);
            self.add_drivers(&mut record, &by_driver);
            self.name_endpoints(&mut record);
            record.clients = self.client_records();
            (record.start_spread_ms, record.start_spread_error_ms) = self.start_spread_ms().unzip();
            record.missing = self.missing();
            let pauses = self.peers.iter().enumerate().map(|(at, peer)| peer.pauses(&self.name_of(at)));
            record.pauses = pauses.flatten().collect();
            record.nodes = self.nodes(&record);
            record.faults = self.faults(&record);
            let full = self.filling.take().map(Filling::result);
            let of = |curve: FillCurve| FillResult { full, ..curve.result(record.window_s.unwrap_or(0.0)) };
            record.fill = self.curve.take().map(of);
            record.consistency = self.probed.sums.take().map(|sums| ConsistencyResult {
                between_drivers: self.between_drivers(),
                not_recorded: self.probed.missed,
                ..consistency::result(&self.redacted(sums))
            });
            record.beside = std::mem::take(&mut self.beside).into_values().collect();
        }
        self.tell_last_look(state, observer);
        record.stopped_early = self.looks.stopped.take().filter(|_| state == StageState::Completed);
        record.reason.clone_from(&reason);
        record.enter(state, self.job.dir.now());
        if let Some(reason) = &reason {
            self.job.dir.log("ERROR", &record.id, reason);
        }
        self.job.dir.end_stage(self.index, record.clone());
        observer.stage_ends(&record);
        let measured = if ran { Measured::new(results, batches) } else { Measured::default() };
        StageEnd { class, reason: reason.unwrap_or_default(), tables, measured }
    }

    /// The distributions of classes of sizes, once for each window: in every slice they would make the log several times as long.
    fn write_sizes(&mut self, results: &[(f64, Vec<OpSnapshot>)]) {
        let Some(origin) = self.first_launch().map(Launch::origin) else { return };
        for (work, (seconds, ops)) in results.iter().enumerate() {
            let rampup = self.stage.works.get(work).map(|work| work.rampup).unwrap_or_default();
            let length = Duration::try_from_secs_f64(*seconds).unwrap_or_default();
            self.job.dir.append_size_histograms(self.index, work, (origin + rampup, length), ops);
        }
    }

    /// What the store's machines were busy with in the measured window.
    fn nodes(&self, record: &StageRecord) -> Vec<NodeResult> {
        let (Some(started), Some(window_s)) = (record.load_started, record.window_s) else {
            return Vec::new();
        };
        let rampup = self.stage.works.iter().map(|work| work.rampup).max().unwrap_or_default();
        let window = Duration::try_from_secs_f64(window_s).unwrap_or_default();
        match (started.checked_add(rampup), started.checked_add(rampup + window)) {
            (Ok(from), Ok(to)) => self.job.nodes_between(from, to),
            _ => Vec::new(),
        }
    }

    /// What a store said may name what is nobody's business.
    fn redacted(&self, mut sums: ConsistencySums) -> ConsistencySums {
        sums.unanswered_why = sums.unanswered_why.map(|why| (self.job.redact)(&why));
        sums
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
        match acceptance::failed(&self.stage, windows) {
            Some(reason) => (EndClass::Failed, StageState::Failed, Some(reason)),
            None => (EndClass::Finished, StageState::Completed, None),
        }
    }

    /// The longest window that a driver measured for this work. Who was cut off says nothing at its end: its window is as long as
    /// it spoke of it.
    fn window_s(&self, work: usize) -> f64 {
        let own = self.reports.iter().filter(|(_, report)| report.work == work);
        let reported = own.map(|(_, report)| report.window_s);
        let rampup = self.stage.works.get(work).map(|work| work.rampup).unwrap_or_default();
        let until_ns = |peer: &Peer| peer.windows_ns.get(&u16::try_from(work).ok()?).copied();
        let cut = self.peers.iter().filter(|peer| peer.is_cut).filter_map(until_ns);
        let cut = cut.map(|ns| Duration::from_nanos(ns).saturating_sub(rampup).as_secs_f64());
        reported.chain(cut).fold(0.0, f64::max)
    }

    /// How each driver was doing, of those that said so.
    fn client_records(&self) -> Vec<ClientRecord> {
        let reported = self.peers.iter().enumerate().filter(|(_, peer)| peer.has_reported());
        reported.map(|(driver, peer)| peer.client_record(&self.name_of(driver))).collect()
    }

    /// Milliseconds from when the first worker of any driver really began to when the last one of any driver did, and by
    /// how much that may be off; `None` unless several drivers said so.
    #[expect(clippy::cast_precision_loss, reason = "milliseconds need no more than 53 bits")]
    fn start_spread_ms(&self) -> Option<(f64, f64)> {
        let reported =
            || self.peers.iter().enumerate().filter_map(|(at, peer)| Some((at, peer, peer.began()?)));
        let (first_at, first, first_began) = reported().min_by_key(|(_, _, began)| began.first_ns)?;
        let (last_at, last, last_began) = reported().max_by_key(|(_, _, began)| began.last_ns)?;
        // On one driver one clock says both.
        let error_ns = if first_at == last_at { 0 } else { first.clock_error_ns() + last.clock_error_ns() };
        let spread_ns = last_began.last_ns - first_began.first_ns;
        (reported().count() > 1).then(|| (spread_ns as f64 / 1e6, error_ns as f64 / 1e6))
    }

    /// What drivers were to do and have not told.
    pub(super) fn missing(&self) -> Vec<MissingRecord> {
        let works = &self.stage.works;
        let planned_s = works
            .iter()
            .all(|work| !work.runtime.is_zero())
            .then(|| works.iter().map(|work| work.rampup + work.runtime + work.rampdown).max())
            .flatten()
            .map(|length| length.as_secs_f64());
        let mut missing = Vec::new();
        for (driver, peer) in self.peers.iter().enumerate() {
            let Some(from_s) = peer.missing_from_s() else { continue };
            let names = |share: &&MissionShare| works.get(share.work).map(|work| work.name.clone());
            missing.push(MissingRecord {
                driver: self.name_of(driver),
                works: peer.shares.iter().filter_map(|share| names(&share)).collect(),
                workers: peer.shares.iter().map(|share| share.workers).sum(),
                from_s,
                to_s: planned_s,
            });
        }
        missing
    }

    fn add_drivers(&self, record: &mut StageRecord, by_driver: &[Vec<Vec<DriverSums>>]) {
        for (driver, works) in by_driver.iter().enumerate() {
            let name = self.name_of(driver);
            let ops = works.iter().enumerate().flat_map(|(work, ops)| ops.iter().map(move |op| (work, op)));
            for ((work, op), operation) in ops.zip(&mut record.operations) {
                let shares = self.peers.get(driver).map(|peer| peer.shares.as_slice()).unwrap_or_default();
                if let Some(share) = shares.iter().find(|share| share.work == work) {
                    operation.drivers.push(DriverResult::of(&name, share.workers, &op.snapshot()));
                }
            }
        }
    }

    fn name_endpoints(&self, record: &mut StageRecord) {
        let works = self.stage.works.iter().enumerate();
        let of_operation = works.flat_map(|(index, work)| work.operations.iter().map(move |_| index));
        for (operation, work) in record.operations.iter_mut().zip(of_operation) {
            let reports = self.reports.iter().filter(|(_, report)| report.work == work);
            let told = reports.map(|(_, report)| report.endpoints.as_slice());
            // Of a driver that named none when it began, what it said at its end.
            let known = Some(self.endpoints.of(work)).filter(|names| !names.is_empty());
            let Some(names) = known.or_else(|| told.max_by_key(|names| names.len())) else { continue };
            for (endpoint, name) in operation.endpoints.iter_mut().zip(names) {
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
