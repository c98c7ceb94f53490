//! `run.json`, schema 1: what a run was and what came out, for programs. The JSON Schema in
//! `docs/reference/run.schema.json` is generated from these types.

pub(crate) mod breakdown;
pub(crate) mod client;
pub(crate) mod containers;
pub(crate) mod gaps;
pub(crate) mod goals;
pub(crate) mod state;
pub(crate) mod verdict;

use std::collections::BTreeMap;

use cosmark_metrics::{LatencySummary, OpSnapshot, Summary};
use cosmark_workload::model::{Operation, Stage, Work, Workload};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::breakdown::DriversRecord;
use crate::record::containers::ContainersRecord;
use crate::record::gaps::{BesideRecord, MissingRecord, PauseRecord};
use crate::record::state::{RunState, StageState};
use crate::{
    ClientRecord, DriverRecord, EndpointRecord, LoopKind, SearchRecord, SizeClassRecord, ThresholdRecord,
    Verdict, csv::layout,
};

/// Number of the format that this version writes, and the latest that it reads.
pub const SCHEMA: u32 = 1;

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// Format of this file.
    pub schema: u32,
    /// Version of Cosmark that wrote it.
    pub cosmark: String,
    /// `w<N>`, unique in its archive.
    pub id: String,
    /// Name of the workload as given.
    pub name: String,
    /// Free text of the workload.
    pub description: Option<String>,
    /// How far it came.
    pub state: RunState,
    /// One sentence: why it failed, was terminated or cancelled.
    pub reason: Option<String>,
    /// Seed of every random choice.
    pub seed: Option<u64>,
    /// When it was submitted.
    pub submitted: Option<Timestamp>,
    /// When its first stage began.
    pub started: Option<Timestamp>,
    /// When it was over.
    pub ended: Option<Timestamp>,
    /// The machine that wrote this archive.
    #[serde(default)]
    pub host: HostRecord,
    /// The process that writes it; null when it is done.
    pub process: Option<ProcessRecord>,
    /// Stages in order.
    #[serde(default)]
    pub stages: Vec<StageRecord>,
    /// Whether the numbers can be believed.
    #[serde(default)]
    pub verdict: Verdict,
    /// Conditions of the workload and how they came out.
    #[serde(default)]
    pub thresholds: Vec<ThresholdRecord>,
    /// Searches for the highest load, in the order of the workload.
    #[serde(default)]
    pub searches: Vec<SearchRecord>,
    /// Which drivers it asked for and got; null where the machine itself made the load.
    #[serde(default)]
    pub drivers: Option<DriversRecord>,
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HostRecord {
    /// Its name.
    pub hostname: String,
    /// Processors that the process may use.
    pub cpus: u32,
    /// Kernel and release, e.g. `Linux 6.1.0`.
    pub kernel: String,
}

/// A process, told apart from a later one with the same id.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ProcessRecord {
    /// Process id.
    pub pid: u32,
    /// Name of the machine it runs on, as its kernel says; null where the system does not tell.
    pub hostname: Option<String>,
    /// Start in clock ticks since boot (field 22 of `/proc/<pid>/stat`); null where the system does not tell.
    pub started_ticks: Option<u64>,
    /// The boot it belongs to (`/proc/sys/kernel/random/boot_id`); null where the system does not tell.
    pub boot_id: Option<String>,
}

/// One stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageRecord {
    /// `s<k>-<name>`.
    pub id: String,
    /// Name as given.
    pub name: String,
    /// How far it came.
    pub state: StageState,
    /// One sentence: why it failed, was terminated or cancelled.
    pub reason: Option<String>,
    /// When it left `waiting`.
    pub started: Option<Timestamp>,
    /// When it was over, the pause after it included.
    pub ended: Option<Timestamp>,
    /// Its process was killed: seconds of its load that were put together again from what was on disk; null otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_s: Option<f64>,
    /// Seconds of the longest measured window of its works; null when nothing was measured.
    pub window_s: Option<f64>,
    /// Every state it went through.
    #[serde(default)]
    pub history: Vec<StateChange>,
    /// How its operations are started; null when it has none.
    #[serde(default, rename = "loop")]
    pub load_loop: Option<LoopKind>,
    /// How each driver was doing.
    #[serde(default)]
    pub clients: Vec<ClientRecord>,
    /// Milliseconds from when the first worker of any driver really began to when the last one of any driver did; null
    /// unless several drivers said so.
    #[serde(default)]
    pub start_spread_ms: Option<f64>,
    /// By how much `start_spread_ms` may be off: how well the clocks of the two drivers are known.
    #[serde(default)]
    pub start_spread_error_ms: Option<f64>,
    /// What drivers were to do and have not told: the results are without it.
    #[serde(default)]
    pub missing: Vec<MissingRecord>,
    /// When drivers made no load although they were to, because they did not know whether the run still lived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<PauseRecord>,
    /// Other runs that loaded its drivers or its stores at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<BesideRecord>,
    /// The containers that it was to make, as they were before it.
    #[serde(default, skip_serializing_if = "ContainersRecord::is_empty")]
    pub containers: ContainersRecord,
    /// Results, work by work, in the order of the workload; empty when it never ran.
    #[serde(default)]
    pub operations: Vec<OperationRecord>,
}

/// A state and when it was entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateChange {
    /// The state.
    pub state: StageState,
    /// When it was entered.
    pub at: Timestamp,
}

/// Results of one operation of one work over its measured window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationRecord {
    /// Name of the work.
    pub work: String,
    /// Name of the operation, e.g. `1-read`.
    pub name: String,
    /// What it does, e.g. `read`, `prepare`.
    pub op: String,
    /// What its samples are, e.g. `read`, `write` for `prepare`.
    pub sample: String,
    /// `op1`, `op2`, .. over the whole stage.
    #[serde(default)]
    pub id: String,
    /// Its tag in `histograms.hlog`, without the kind of time.
    #[serde(default)]
    pub tag: String,
    /// Workers of the work, over all drivers.
    pub workers: u32,
    /// How its operations are started.
    #[serde(default)]
    pub arrival: Option<LoopKind>,
    /// Length of the measured window in seconds.
    pub window_s: f64,
    /// Arrivals that were due in the window, whatever became of them; null without an open loop.
    #[serde(default)]
    pub intended: Option<u64>,
    /// Successes.
    pub count: u64,
    /// Failures.
    pub failures: u64,
    /// Arrivals of an open loop that were dropped for want of a free worker.
    pub missed: u64,
    /// Arrivals that had to wait for a free worker.
    #[serde(default)]
    pub delayed: u64,
    /// Operations that were due by the end of the window and had not finished then.
    #[serde(default)]
    pub unfinished: u64,
    /// Bodies that were compared with what they should be.
    #[serde(default)]
    pub checked: u64,
    /// Body bytes of successes.
    pub bytes: u64,
    /// Body bytes of failures: what had arrived of a read; what the driver's system had taken of a write, of which the store
    /// may have received less.
    #[serde(default)]
    pub partial_bytes: u64,
    /// Successes per second of the window; null without a window.
    pub throughput_per_s: Option<f64>,
    /// Body bytes of successes per second of the window; null without a window.
    pub bandwidth_bytes_per_s: Option<f64>,
    /// Successes of all that ended, 0 to 1; null when nothing ended.
    pub success_ratio: Option<f64>,
    /// Mean number of operations in flight over the window; null without a window.
    pub in_flight_mean: Option<f64>,
    /// Seconds that the operations in flight at the start of the window had been in flight by then, all together; null where
    /// it was not recorded. With `age_at_end_s` it makes Little's law exact: `in_flight_mean x window_s` is the sum of all
    /// service times, less this, and `age_at_end_s` more.
    #[serde(default)]
    pub age_at_start_s: Option<f64>,
    /// Seconds that the operations in flight at the end of the window had been in flight by then, all together; null where it
    /// was not recorded.
    #[serde(default)]
    pub age_at_end_s: Option<f64>,
    /// From the moment each operation was due.
    pub response_ms: LatencyRecord,
    /// From the moment each was sent.
    pub service_ms: LatencyRecord,
    /// From sent to the first byte of the answer.
    pub first_byte_ms: LatencyRecord,
    /// To open a connection.
    #[serde(default)]
    pub connect_ms: LatencyRecord,
    /// Service times of failures.
    #[serde(default)]
    pub failed_service_ms: LatencyRecord,
    /// By how much arrivals were sent late though a worker was free: the lateness of the client itself.
    #[serde(default)]
    pub lag_ms: LatencyRecord,
    /// Ages, at the end of the window, of what was due in it and had not finished.
    #[serde(default)]
    pub unfinished_age_ms: LatencyRecord,
    /// By size; empty unless sizes of several classes occurred.
    #[serde(default)]
    pub size_classes: Vec<SizeClassRecord>,
    /// By endpoint; empty unless the target has several.
    #[serde(default)]
    pub endpoints: Vec<EndpointRecord>,
    /// By driver; empty unless there are several.
    #[serde(default)]
    pub drivers: Vec<DriverRecord>,
    /// Failures by class, e.g. `http_503`, `timeout`.
    #[serde(default)]
    pub errors: BTreeMap<String, u64>,
    /// Failures by the protocol's own code, e.g. `SlowDown`.
    #[serde(default)]
    pub error_codes: BTreeMap<String, u64>,
    /// The first error texts, secrets removed.
    #[serde(default)]
    pub error_examples: Vec<String>,
    /// Requests on the wire.
    #[serde(default)]
    pub requests: u64,
    /// Retries among them.
    #[serde(default)]
    pub retries: u64,
    /// Connections opened.
    #[serde(default)]
    pub connections: u64,
    /// Logins made again because the store said 401.
    #[serde(default)]
    pub renewals: u64,
    /// Successes that the store only accepted (Swift's 202).
    #[serde(default)]
    pub accepted_only: u64,
}

/// A distribution of times in milliseconds; what the data cannot support is null, never 0.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LatencyRecord {
    /// How many times.
    #[serde(default)]
    pub count: u64,
    /// Exact mean.
    pub mean: Option<f64>,
    /// Least.
    pub min: Option<f64>,
    /// 50th percentile.
    pub p50: Option<f64>,
    /// 60th percentile.
    pub p60: Option<f64>,
    /// 80th percentile.
    pub p80: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p99_9: Option<f64>,
    /// 99.99th percentile.
    pub p99_99: Option<f64>,
    /// Greatest.
    pub max: Option<f64>,
    /// Why a percentile is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withheld: Option<String>,
}

impl RunRecord {
    /// A run that begins: state `running`, its stages waiting since `at`.
    #[must_use]
    pub fn begun(id: String, workload: &Workload, host: HostRecord, at: Timestamp) -> Self {
        Self {
            schema: SCHEMA,
            cosmark: env!("CARGO_PKG_VERSION").to_owned(),
            id,
            name: workload.name.clone(),
            description: workload.description.clone(),
            state: RunState::Running,
            reason: None,
            seed: workload.seed,
            submitted: Some(at),
            started: None,
            ended: None,
            host,
            process: None,
            stages: (0..)
                .zip(&workload.stages)
                .map(|(k, stage)| StageRecord::waiting(stage, k, at))
                .collect(),
            verdict: Verdict::default(),
            thresholds: Vec::new(),
            searches: Vec::new(),
            drivers: None,
        }
    }
}

impl StageRecord {
    /// The stage at 0-based `index`, waiting since `at`.
    #[must_use]
    pub fn waiting(stage: &Stage, index: usize, at: Timestamp) -> Self {
        Self {
            id: stage.id(index),
            name: stage.name.clone(),
            state: StageState::Waiting,
            reason: None,
            started: None,
            ended: None,
            cut_s: None,
            window_s: None,
            history: vec![StateChange { state: StageState::Waiting, at }],
            load_loop: LoopKind::of_stage(stage),
            clients: Vec::new(),
            start_spread_ms: None,
            start_spread_error_ms: None,
            missing: Vec::new(),
            pauses: Vec::new(),
            beside: Vec::new(),
            containers: ContainersRecord::default(),
            operations: Vec::new(),
        }
    }

    /// Enters a state: history, `started` and `ended` follow.
    pub fn enter(&mut self, state: StageState, at: Timestamp) {
        self.state = state;
        self.history.push(StateChange { state, at });
        if state != StageState::Aborted && self.started.is_none() {
            self.started = Some(at);
        }
        self.ended = state.is_over().then_some(at);
    }

    /// Sets the results: `work_results` has, for each work of `stage` in order, the seconds of its measured window and
    /// the merged sums of its operations in that window.
    pub fn set_results(&mut self, stage: &Stage, index: usize, work_results: &[(f64, Vec<OpSnapshot>)]) {
        let layout = layout::layout_of_stage(stage, index);
        self.operations.clear();
        for ((work, names), (window_s, ops)) in stage.works.iter().zip(&layout.works).zip(work_results) {
            for ((operation, name), op) in work.operations.iter().zip(&names.operations).zip(ops) {
                let mut record = OperationRecord::of(work, operation, op, *window_s);
                record.tag.clone_from(&name.tag);
                self.operations.push(record);
            }
        }
        self.window_s = work_results
            .iter()
            .map(|(window_s, _)| *window_s)
            .filter(|window_s| window_s.is_finite() && *window_s > 0.0)
            .reduce(f64::max);
    }
}

impl StageRecord {
    /// For results of a window that was cut off, or is not over: what is in flight at its end is not told with its age.
    pub fn forget_ages(&mut self) {
        for operation in &mut self.operations {
            (operation.age_at_start_s, operation.age_at_end_s) = (None, None);
        }
    }
}

impl OperationRecord {
    /// Reads the merged sums of `operation` over a window of `window_s` seconds. `tag`, `error_examples`
    /// and `drivers` are left for the caller, who alone knows them.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a mean needs no more than 53 bits")]
    pub fn of(work: &Work, operation: &Operation, snapshot: &OpSnapshot, window_s: f64) -> Self {
        let summary = Summary::of(snapshot, window_s);
        let arrival = LoopKind::of(work);
        // Exhaustive, so that a new sum cannot be forgotten here.
        let OpSnapshot {
            ok,
            failed,
            bytes,
            partial_bytes,
            accepted_only,
            missed,
            delayed,
            unfinished,
            intended,
            checked,
            requests,
            retries,
            connections,
            renewals,
            in_flight_ns,
            age_at_start_ns,
            age_at_end_ns,
            response: _,
            service: _,
            first_byte: _,
            failed_service: _,
            connect: _,
            lag,
            unfinished_age,
            sizes: _,
            endpoints: _,
            errors,
            codes,
        } = snapshot;
        Self {
            work: work.name.clone(),
            name: operation.name.clone(),
            op: operation.kind.word().to_owned(),
            sample: operation.kind.sample_word().to_owned(),
            id: operation.id.clone(),
            tag: String::new(),
            workers: work.workers,
            arrival: Some(arrival),
            window_s: if window_s.is_finite() { window_s } else { 0.0 },
            intended: (arrival == LoopKind::Open).then_some(*intended),
            count: *ok,
            failures: *failed,
            missed: *missed,
            delayed: *delayed,
            unfinished: *unfinished,
            checked: *checked,
            bytes: *bytes,
            partial_bytes: *partial_bytes,
            throughput_per_s: summary.throughput_per_s,
            bandwidth_bytes_per_s: summary.bandwidth_bytes_per_s,
            success_ratio: summary.success_ratio,
            in_flight_mean: (window_s > 0.0).then(|| *in_flight_ns as f64 / 1e9 / window_s),
            age_at_start_s: Some(*age_at_start_ns as f64 / 1e9),
            age_at_end_s: Some(*age_at_end_ns as f64 / 1e9),
            response_ms: (&summary.response).into(),
            service_ms: (&summary.service).into(),
            first_byte_ms: (&summary.first_byte).into(),
            connect_ms: (&summary.connect).into(),
            failed_service_ms: (&summary.failed_service).into(),
            lag_ms: (&LatencySummary::of(lag)).into(),
            unfinished_age_ms: (&LatencySummary::of(unfinished_age)).into(),
            size_classes: breakdown::size_classes(snapshot),
            endpoints: breakdown::endpoints(snapshot),
            drivers: Vec::new(),
            errors: errors.iter().map(|(outcome, count)| (outcome.label(), *count)).collect(),
            error_codes: codes.clone(),
            error_examples: Vec::new(),
            requests: *requests,
            retries: *retries,
            connections: *connections,
            renewals: *renewals,
            accepted_only: *accepted_only,
        }
    }
}

impl From<&LatencyRecord> for LatencySummary {
    fn from(record: &LatencyRecord) -> Self {
        let LatencyRecord { count, mean, min, p50, p60, p80, p90, p95, p99, p99_9, p99_99, max, withheld } =
            record.clone();
        Self { count, mean, min, p50, p60, p80, p90, p95, p99, p99_9, p99_99, max, withheld }
    }
}

impl From<&LatencySummary> for LatencyRecord {
    fn from(summary: &LatencySummary) -> Self {
        let LatencySummary { count, mean, min, p50, p60, p80, p90, p95, p99, p99_9, p99_99, max, withheld } =
            summary.clone();
        Self { count, mean, min, p50, p60, p80, p90, p95, p99, p99_9, p99_99, max, withheld }
    }
}
