//! `run.json`, schema 1: what a run was and what came out, for programs. The JSON Schema in
//! `docs/reference/run.schema.json` is generated from these types.

pub(crate) mod containers;
pub(crate) mod durability;
pub(crate) mod events;
pub(crate) mod fio;
pub(crate) mod gaps;
pub(crate) mod goals;
pub(crate) mod loops;
pub(crate) mod state;
pub(crate) mod verdict;

use cosmark_metrics::{
    BottleneckResult, ConsistencyResult, EfficiencyResult, FaultResult, FillResult, LoopKind, NodeResult,
    OpSnapshot, OperationResult,
};
use cosmark_workload::model::{Operation, Stage, Work, Workload};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::containers::ContainersRecord;
use crate::record::durability::DurabilityRecord;
use crate::record::events::EventRecord;
use crate::record::fio::FioRecord;
use crate::record::gaps::{BesideRecord, MissingRecord, PauseRecord};
use crate::record::loops::{DriversRecord, loop_of, loop_of_stage};
use crate::record::state::{RunState, StageState};
use crate::{ClientRecord, SearchRecord, ThresholdRecord, Verdict, csv::layout};

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// Format of this file.
    pub schema: u32,
    /// Version of Cosmark that wrote it.
    pub cosmark: String,
    /// The program that made the run, where that was another: `COSBench 0.4.2`. Never written by a run: a reader says it of
    /// tables of COSBench.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<String>,
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
    /// What the store's machines were busy with before the first stage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idle_nodes: Vec<NodeResult>,
    /// What limits the store: one entry for each load that was measured at several rates; empty without nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bottlenecks: Vec<BottleneckResult>,
    /// Directory of the entry of this archive that says what the machines can do by themselves; null where none was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_limits: Option<String>,
    /// What happened to it and when, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<EventRecord>,
    /// Each time that what the store acknowledged was read back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub durability: Vec<DurabilityRecord>,
    /// What fio measured, where fio made the load; null of all other runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fio: Option<FioRecord>,
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
    /// One sentence: why its load ended before its time although nothing was wrong; null where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_early: Option<String>,
    /// When it left `waiting`.
    pub started: Option<Timestamp>,
    /// When its load began, from where `intervals.csv` and `clients.csv` count; null when it did not, and in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_started: Option<Timestamp>,
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
    /// What the store's machines were busy with in its measured window; empty unless the workload or its target lists nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeResult>,
    /// Shares of what the machines can do by themselves; empty unless that was measured before the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub efficiency: Vec<EfficiencyResult>,
    /// What was made to fail while its load ran, and what that cost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultResult>,
    /// How soon what was written was seen beside its load; null unless the workload asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consistency: Option<ConsistencyResult>,
    /// How far a pass over a data set came, and its rate over the objects stored; null for other stages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<FillResult>,
    /// Results, work by work, in the order of the workload; empty when it never ran.
    #[serde(default)]
    pub operations: Vec<OperationResult>,
}

/// A state and when it was entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateChange {
    /// The state.
    pub state: StageState,
    /// When it was entered.
    pub at: Timestamp,
}

impl RunRecord {
    /// What the operation of a threshold is called in the results of its stage; `None` for all of a stage together.
    #[must_use]
    pub fn operation_of(&self, threshold: &ThresholdRecord) -> Option<String> {
        let operation = threshold.operation.as_deref()?;
        let stage = self.stages.iter().find(|stage| stage.id == threshold.stage);
        let own = stage.zip(threshold.work.as_deref()).map(|(stage, work)| stage.name_of(work, operation));
        Some(own.unwrap_or_else(|| operation.to_owned()))
    }

    /// A run that begins: state `running`, its stages waiting since `at`.
    #[must_use]
    pub fn begun(id: String, workload: &Workload, host: HostRecord, at: Timestamp) -> Self {
        let stages = (0..).zip(&workload.stages);
        Self {
            description: workload.description.clone(),
            seed: workload.seed,
            submitted: Some(at),
            host,
            stages: stages.map(|(k, stage)| StageRecord::waiting(stage, k, at)).collect(),
            ..Self::named(id, workload.name.clone(), RunState::Running)
        }
    }

    /// A run of which nothing but this is known.
    pub(crate) fn named(id: String, name: String, state: RunState) -> Self {
        Self {
            schema: crate::SCHEMA,
            cosmark: env!("CARGO_PKG_VERSION").to_owned(),
            made_by: None,
            id,
            name,
            description: None,
            state,
            reason: None,
            seed: None,
            submitted: None,
            started: None,
            ended: None,
            host: HostRecord::default(),
            process: None,
            stages: Vec::new(),
            verdict: Verdict::default(),
            thresholds: Vec::new(),
            searches: Vec::new(),
            drivers: None,
            idle_nodes: Vec::new(),
            bottlenecks: Vec::new(),
            raw_limits: None,
            events: Vec::new(),
            durability: Vec::new(),
            fio: None,
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
            stopped_early: None,
            started: None,
            ended: None,
            load_started: None,
            cut_s: None,
            window_s: None,
            history: vec![StateChange { state: StageState::Waiting, at }],
            load_loop: loop_of_stage(stage),
            clients: Vec::new(),
            start_spread_ms: None,
            start_spread_error_ms: None,
            missing: Vec::new(),
            pauses: Vec::new(),
            beside: Vec::new(),
            containers: ContainersRecord::default(),
            nodes: Vec::new(),
            efficiency: Vec::new(),
            faults: Vec::new(),
            consistency: None,
            fill: None,
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
                let mut record = result_of(work, operation, op, *window_s);
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
    /// What an operation of the stage is called: with the name of its work where names alone do not tell operations apart.
    #[must_use]
    pub fn name_of(&self, work: &str, operation: &str) -> String {
        let first = self.operations.first().map(|op| &op.work);
        let several_works = self.operations.iter().any(|op| Some(&op.work) != first);
        if operation != work && several_works { format!("{work} {operation}") } else { operation.to_owned() }
    }

    /// For results of a window that was cut off, or is not over: what is in flight at its end is not told with its age.
    pub fn forget_ages(&mut self) {
        for operation in &mut self.operations {
            (operation.age_at_start_s, operation.age_at_end_s) = (None, None);
        }
    }
}

/// Reads the merged sums of `operation` over a window of `window_s` seconds. `tag`, `error_examples`
/// and `drivers` are left for the caller, who alone knows them.
fn result_of(work: &Work, operation: &Operation, snapshot: &OpSnapshot, window_s: f64) -> OperationResult {
    let arrival = loop_of(work);
    let whole = OperationResult::of(snapshot, window_s);
    OperationResult {
        work: work.name.clone(),
        name: operation.name.clone(),
        op: work.word_of(operation).to_owned(),
        sample: operation.kind.sample_word().to_owned(),
        id: operation.id.clone(),
        workers: work.workers,
        arrival: Some(arrival),
        intended: whole.intended.filter(|_| arrival == LoopKind::Open),
        ..whole
    }
}
