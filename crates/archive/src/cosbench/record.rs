//! A run that COSBench made as a record of ours, so that what reads records reads it. What its tables do not tell is null, or
//! 0 where a record has counts.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::parts;
use super::{CosbenchOperation, CosbenchRun, CosbenchStage, HistoryEntry, Variant};
use crate::{OperationResult, RunRecord, RunState, StageRecord, StageState, StateChange};

impl CosbenchRun {
    /// What its tables say as `run.json` would; its dates are those of this machine's zone, because the tables name none. The
    /// verdict is left for who judges it.
    #[must_use]
    pub fn record(&self) -> RunRecord {
        let mut record = self.record_in_list();
        for (stage, shares) in record.stages.iter_mut().zip(parts::by_driver(self)) {
            for (operation, of) in stage.operations.iter_mut().zip(shares) {
                operation.drivers = of;
            }
        }
        record
    }

    /// The same without what each driver did, for which a table of every driver is read.
    pub(crate) fn record_in_list(&self) -> RunRecord {
        let date =
            |of: fn(&HistoryEntry) -> Option<DateTime>| self.history.as_ref().and_then(of).and_then(moment);
        let state = self.state();
        RunRecord {
            made_by: Some(
                match self.variant {
                    Variant::Plain => "COSBench 0.4.2",
                    Variant::C4 => "COSBench 0.4.2.c4",
                    Variant::Old => "COSBench 0.3.3",
                }
                .to_owned(),
            ),
            reason: self.reason(state),
            submitted: date(|entry| entry.submitted),
            started: date(|entry| entry.started),
            ended: date(|entry| entry.stopped),
            stages: self.stages.iter().map(CosbenchStage::record).collect(),
            ..RunRecord::named(self.id.clone(), self.name.clone(), state)
        }
    }

    /// How it ended: its line of the history, or else its stages.
    fn state(&self) -> RunState {
        match self.history.as_ref().map(|entry| entry.state.as_str()) {
            Some("finished") => RunState::Finished,
            Some("failed") => RunState::Failed,
            Some("cancelled" | "aborted") => RunState::Cancelled,
            Some(_) => RunState::Terminated,
            None if self.stages.is_empty() => RunState::Terminated,
            None if self.stages.iter().all(|stage| stage.state == "completed") => RunState::Finished,
            // All were gone through, and some had more failures than they may.
            None if self
                .stages
                .iter()
                .all(|stage| ["completed", "failed"].contains(&stage.state.as_str())) =>
            {
                RunState::Failed
            }
            None if self.stages.iter().any(|stage| stage.state == "cancelled") => RunState::Cancelled,
            None => RunState::Terminated,
        }
    }

    fn reason(&self, state: RunState) -> Option<String> {
        let bad = self.stages.iter().find(|stage| state != RunState::Finished && stage.state != "completed");
        let why = bad
            .map(|bad| format!("stage {} is {}; COSBench does not say why in its tables", bad.id, bad.state));
        let cut = self.is_cut.then(|| {
            "its result table ends in the middle of a line, and what came behind is missing".to_owned()
        });
        let none = self.stages.is_empty().then(|| "its result table has no stage".to_owned());
        let parts: Vec<String> = cut.into_iter().chain(none).chain(why).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

impl CosbenchStage {
    fn record(&self) -> StageRecord {
        let entered = |wanted: StageState| {
            self.history.iter().find(|change| state_of(&change.state) == wanted).and_then(|c| moment(c.at))
        };
        let history = self.history.iter().filter_map(|change| {
            Some(StateChange { state: state_of(&change.state), at: moment(change.at)? })
        });
        let operations: Vec<OperationResult> =
            (1..).zip(&self.operations).map(|(number, one)| of_operation(one, &self.id, number)).collect();
        let state = state_of(&self.state);
        let began = self.history.iter().find(|change| state_of(&change.state) != StageState::Waiting);
        StageRecord {
            id: self.id.clone(),
            name: self.name.clone(),
            state,
            reason: None,
            stopped_early: None,
            started: began.filter(|_| state != StageState::Aborted).and_then(|change| moment(change.at)),
            load_started: entered(StageState::Running),
            ended: self.history.last().filter(|_| state.is_over()).and_then(|change| moment(change.at)),
            cut_s: None,
            window_s: operations.iter().map(|one| one.window_s).filter(|s| *s > 0.0).reduce(f64::max),
            history: history.collect(),
            load_loop: None,
            clients: Vec::new(),
            start_spread_ms: None,
            start_spread_error_ms: None,
            missing: Vec::new(),
            pauses: Vec::new(),
            beside: Vec::new(),
            containers: crate::ContainersRecord::default(),
            nodes: Vec::new(),
            efficiency: Vec::new(),
            faults: Vec::new(),
            consistency: None,
            fill: None,
            operations,
        }
    }
}

/// `number` is its 1-based place in its stage, as in the first column of `workloads.csv`.
fn of_operation(operation: &CosbenchOperation, stage: &str, number: usize) -> OperationResult {
    let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
    let mut result = operation.result();
    result.tag = format!("{stage}-{number}");
    result.failed = operation.failures().unwrap_or(0);
    result.throughput_per_s = finite(result.throughput_per_s);
    result.bandwidth_bytes_per_s = finite(result.bandwidth_bytes_per_s);
    #[expect(clippy::cast_precision_loss, reason = "a time for people")]
    let seconds = |rate: f64| operation.count as f64 / rate;
    // The time that its rate stands for: the tables have no other.
    result.window_s = result.throughput_per_s.filter(|rate| *rate > 0.0).map_or(0.0, seconds);
    let times = &mut result.response_ms;
    for time in
        [&mut times.p60, &mut times.p80, &mut times.p90, &mut times.p95, &mut times.p99, &mut times.max]
    {
        *time = finite(*time);
    }
    result.response_ms.withheld = Some("COSBench keeps upper edges of buckets of 10 ms".to_owned());
    result
}

impl CosbenchOperation {
    /// Failures as the success ratio tells them, which has four digits; `None` where it cannot tell.
    #[must_use]
    pub fn failures(&self) -> Option<u64> {
        super::figures::failures(self.count, self.success_ratio)
    }
}

/// COSBench's words are ours. One that it does not have is that of an end that nobody planned.
fn state_of(word: &str) -> StageState {
    serde_json::from_value(serde_json::Value::String(word.to_owned())).unwrap_or(StageState::Terminated)
}

/// Local time of this machine; `None` where the clock jumped over it.
fn moment(local: DateTime) -> Option<Timestamp> {
    local.to_zoned(TimeZone::system()).ok().map(|zoned| zoned.timestamp())
}
