//! What the report's page gets to see: the value that is put into `report.html` as JSON. The TypeScript types of the
//! page (`console/src/data/types.ts`) are generated from these by a test, `the_types_of_the_page_are_these`.
//!
//! Times of a stage are seconds since its load began. Series have one value per bin of the stage's time axis; `null`
//! stands for what is not known or what the data cannot support, never 0.

mod consistency;
mod faults;
mod fill;
mod goals;
mod machines;
mod time;

use std::collections::BTreeMap;
use std::ops::Deref;

use cosmark_metrics::{OperationResult, PartResult};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::Value;

pub use consistency::{ConsistencyClassData, ConsistencyData, ConsistencyPointData};
pub use faults::{EventMark, FaultData, FaultFigureData, FaultSlotData, FaultSlotPart};
pub use fill::{FillData, FillPointData};
pub use goals::{LawData, LawPart, SearchData, ThresholdData, TrialData};
pub use machines::{
    LadderData, LadderStep, LadderUnit, NodeChartData, NodeData, NodeGap, NodeLine, NodeUnit, RawShare,
};
pub use time::{ServerTimeData, TimePartData, TimeRow, TimeSpent};

/// Number of the format; page and data are made by the same binary, so this only tells saved pages apart.
pub const FORMAT: u32 = 1;

/// Everything that one report shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ReportData {
    /// [`FORMAT`].
    pub format: u32,
    /// Version of Cosmark that made the report.
    pub made_by: String,
    /// The run as a whole.
    pub run: RunFacts,
    /// Whether its numbers can be believed.
    pub verdict: VerdictData,
    /// Its stages in order.
    pub stages: Vec<StageData>,
    /// Thresholds of its stages, and how they came out.
    pub thresholds: Vec<ThresholdData>,
    /// Searches for the highest load.
    pub searches: Vec<SearchData>,
    /// What limits the store, for each load that was measured at several rates.
    pub ladders: Vec<LadderData>,
    /// Which share users got of what the machines can do by themselves, stage by stage.
    pub raw_shares: Vec<RawShare>,
    /// The entry of the archive that says what the machines can do; null where none was there.
    pub raw_limits: Option<String>,
    /// The workload as it was understood, native format, secrets removed; null when the archive lacks it.
    pub workload: Option<String>,
    /// What could not be shown and why, one sentence each.
    pub notes: Vec<String>,
}

/// Facts about a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RunFacts {
    /// `w<N>`.
    pub id: String,
    /// Name of the workload.
    pub name: String,
    /// Its text.
    pub description: Option<String>,
    /// How far it came: `finished`, `failed`, ..
    pub state: String,
    /// Why it did not finish.
    pub reason: Option<String>,
    /// Seed of every random choice, as text: it may exceed what a JSON number holds exactly.
    pub seed: Option<String>,
    /// RFC 3339.
    pub submitted: Option<String>,
    /// RFC 3339.
    pub started: Option<String>,
    /// RFC 3339.
    pub ended: Option<String>,
    /// Version of Cosmark that ran it.
    pub cosmark: String,
    /// The program that made the run, where that was another.
    pub made_by: Option<String>,
    /// Machine that wrote the archive.
    pub hostname: String,
    /// Its processors.
    pub cpus: u32,
    /// Its kernel.
    pub kernel: String,
    /// Which drivers it asked for and got, in words; null where the machine itself made the load.
    pub drivers: Option<String>,
    /// Name of the run's directory.
    pub directory: String,
}

/// The verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct VerdictData {
    /// `true`, `true_with_limits`, `not_proven` or `false`.
    pub overall: String,
    /// The sentence that decided it.
    pub reason: String,
    /// Check by check; empty when the run was not judged.
    pub checks: Vec<CheckData>,
}

/// One check of the verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CheckData {
    /// `V1` ..
    pub id: String,
    /// Its name, blanks for underscores.
    pub name: String,
    /// Stage it is about; null = the run.
    pub stage: Option<String>,
    /// `pass`, `warn`, `fail` or `not_run`.
    pub status: String,
    /// What was found.
    pub value: Option<f64>,
    /// What it was compared with.
    pub limit: Option<f64>,
    /// One sentence.
    pub message: String,
}

/// One stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct StageData {
    /// `s<k>-<name>`.
    pub id: String,
    /// Name as given.
    pub name: String,
    /// `completed`, `failed`, ..
    pub state: String,
    /// Why it did not complete.
    pub reason: Option<String>,
    /// RFC 3339.
    pub started: Option<String>,
    /// Seconds from start to end, pauses included.
    pub took_s: Option<f64>,
    /// Seconds of the longest measured window.
    pub window_s: Option<f64>,
    /// True for stages that only set up or clean up.
    pub setup: bool,
    /// `closed`, `paced`, `open` or `mixed`; null where the archive does not say.
    pub arrival: Option<String>,
    /// Axis of the series; null when nothing was recorded over time.
    pub time: Option<TimeAxis>,
    /// Phases of the load, in order.
    pub phases: Vec<PhaseSpan>,
    /// Its operations, in the order of the workload.
    pub operations: Vec<OperationData>,
    /// What response times went into; null where it is not known.
    pub spent: Option<TimeSpent>,
    /// What each load-making machine was like.
    pub clients: Vec<ClientData>,
    /// What each of the store's machines was busy with.
    pub nodes: Vec<NodeData>,
    /// What the stage cost all of them.
    pub node_costs: Vec<Fact>,
    /// What they were busy with over time, by role.
    pub node_charts: Vec<NodeChartData>,
    /// When machines of the store did not answer.
    pub node_gaps: Vec<NodeGap>,
    /// What happened while it ran.
    pub events: Vec<EventMark>,
    /// What was made to fail, and what that cost.
    pub faults: Vec<FaultData>,
    /// How soon writes were seen beside the load; null where that was not asked.
    pub consistency: Option<ConsistencyData>,
    /// How a pass over a data set went; null for other stages.
    pub fill: Option<FillData>,
}

/// A grid of bins of equal length from the start of the load; the last may be shorter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TimeAxis {
    /// Seconds per bin.
    pub bin_s: f64,
    /// Number of bins.
    pub bins: u32,
    /// End of the last bin in seconds.
    pub end_s: f64,
}

/// A phase of the load.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PhaseSpan {
    /// `rampup`, `window`, `rampdown` or `drain`.
    pub phase: String,
    /// Start in seconds.
    pub from_s: f64,
    /// End in seconds.
    pub to_s: f64,
}

/// Results of one operation over the measured window of its work, and its course.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct OperationData {
    /// As `run.json` has them.
    #[serde(flatten)]
    pub result: Shown<OperationResult>,
    /// Course of the counts; null when nothing was recorded over time.
    pub series: Option<CountSeries>,
    /// Course of the times, by kind.
    pub latency: Vec<LatencySeries>,
    /// Distributions over the window, by kind.
    pub distributions: Vec<Distribution>,
    /// Response times over time.
    pub heat: Option<HeatMap>,
    /// The same by size of the object, if there were several classes.
    pub size_classes: Vec<GroupData>,
    /// The same by endpoint, if there were several.
    pub endpoints: Vec<GroupData>,
    /// The same by driver, if there were several.
    pub drivers: Vec<GroupData>,
}

/// A part of an operation: a size class, an endpoint, a driver.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct GroupData {
    /// Its name.
    pub label: String,
    /// Workers, of a driver.
    pub workers: Option<u32>,
    /// As `run.json` has it.
    #[serde(flatten)]
    pub part: Shown<PartResult>,
    /// Successes per second of the operation's window.
    pub throughput_per_s: Option<f64>,
    /// Body bytes of successes per second of the operation's window.
    pub bandwidth_bytes_per_s: Option<f64>,
}

/// Counts per bin.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CountSeries {
    /// Successes.
    pub count: Vec<u64>,
    /// Failures; null where the archive does not have them over time.
    pub failures: Option<Vec<u64>>,
    /// Body bytes of successes.
    pub bytes: Option<Vec<u64>>,
    /// Arrivals dropped.
    pub missed: Option<Vec<u64>>,
    /// Arrivals that waited.
    pub delayed: Option<Vec<u64>>,
    /// Mean number in flight.
    pub in_flight: Option<Vec<f64>>,
    /// Failures by class.
    pub errors: BTreeMap<String, Vec<u64>>,
    /// Successes by driver, if there were several.
    pub drivers: BTreeMap<String, Vec<u64>>,
}

/// Percentiles per bin, read from merged histograms.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LatencySeries {
    /// `response`, `service` or `first_byte`.
    pub kind: String,
    /// How many bins of the stage's axis make one of this series.
    pub every: u32,
    /// How many times lie in each bin.
    pub count: Vec<u64>,
    /// Median in ms.
    pub p50: Vec<Option<f64>>,
    /// 95th percentile in ms.
    pub p95: Vec<Option<f64>>,
    /// 99th percentile in ms.
    pub p99: Vec<Option<f64>>,
    /// Greatest in ms.
    pub max: Vec<Option<f64>>,
}

/// A distribution for a percentile axis, as HdrHistogram plots it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Distribution {
    /// `response`, `service` or `first_byte`.
    pub kind: String,
    /// How many times.
    pub count: u64,
    /// Place on the axis: log10(1 / (1 - quantile)); 1 is the 90th percentile, 2 the 99th. The last point is the greatest.
    pub nines: Vec<f64>,
    /// Time in ms at each place.
    pub ms: Vec<f64>,
    /// How many of the points have at least ten times beyond them; the others are uncertain.
    pub supported: u32,
}

/// How many operations had which response time when.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct HeatMap {
    /// How many bins of the stage's axis make one column.
    pub every: u32,
    /// Row r holds times from `10^((first_row + r) / rows_per_decade)` ns on.
    pub first_row: i32,
    /// Rows per factor of ten.
    pub rows_per_decade: u32,
    /// Number of rows.
    pub rows: u32,
    /// Filled cells, three numbers each: column, row, count.
    pub cells: Vec<u64>,
}

/// The course of a stage that runs, as far as it changed: bins from `from` on. What a client had before stays; what reaches
/// beyond `time` goes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SeriesNews {
    /// Id of the stage.
    pub stage: String,
    /// The first bin that is told; 0 = all are.
    pub from: u32,
    /// Axis of the series.
    pub time: TimeAxis,
    /// Phases of the load so far.
    pub phases: Vec<PhaseSpan>,
    /// Seconds of the measured window so far; null before it begins.
    pub window_s: Option<f64>,
    /// Drivers and endpoints that have no lines of their own because there are too many.
    pub left_out: u32,
    /// Its operations, in the order of the workload.
    pub operations: Vec<OperationNews>,
    /// The machines that make the load.
    pub clients: Vec<ClientNews>,
    /// The machines of the store, by role.
    pub node_charts: Vec<NodeChartData>,
    /// When they did not answer, all of them.
    pub node_gaps: Vec<NodeGap>,
}

/// A driver's machine while its stage runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ClientNews {
    /// Name of the driver.
    pub driver: String,
    /// The bins that are told.
    pub series: ClientSeries,
}

/// One operation of a stage that runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct OperationNews {
    /// Of the measured window so far, as `run.json` will have them.
    #[serde(flatten)]
    pub result: Shown<OperationResult>,
    /// Counts of the bins that are told.
    pub series: CountSeries,
    /// Times of the points that are told, by kind.
    pub latency: Vec<LatencyNews>,
    /// Columns of the heat map that are told.
    pub heat: Option<HeatNews>,
    /// The same by driver and endpoint, where there are several.
    pub parts: Vec<PartNews>,
}

/// Points of a series of times.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LatencyNews {
    /// Number of the first point.
    pub from: u32,
    /// The points.
    #[serde(flatten)]
    pub series: LatencySeries,
}

/// Columns of a heat map.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct HeatNews {
    /// Number of the first column.
    pub from: u32,
    /// Its cells are those of these columns; the rest is that of the whole map.
    #[serde(flatten)]
    pub map: HeatMap,
}

/// What one driver or one endpoint did of an operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct PartNews {
    /// `driver` or `endpoint`.
    pub by: String,
    /// Its name, and counts and rates of the measured window so far.
    #[serde(flatten)]
    pub group: GroupData,
    /// Number of the first point.
    pub from: u32,
    /// How many bins of the stage's axis make a point.
    pub every: u32,
    /// Successes per point.
    pub series_count: Vec<u64>,
    /// Body bytes of successes per point.
    pub series_bytes: Vec<u64>,
    /// 99th percentile of the response time per point, in ms.
    pub p99: Vec<Option<f64>>,
}

/// What one driver's machine was like during a stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ClientData {
    /// Name of the driver.
    pub driver: String,
    /// Facts and figures, in the order in which they are shown.
    pub facts: Vec<Fact>,
    /// Course; null when the archive does not have it.
    pub series: Option<ClientSeries>,
}

/// A figure with its unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// Its value; null where the system does not tell.
    pub value: Option<f64>,
    /// `share`, `ms`, `ns`, `s`, `count`, `bytes_per_s` or `bits_per_s`.
    pub unit: String,
}

/// A driver's machine over time; bins as in the stage's axis.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ClientSeries {
    /// Busiest load thread, 0 to 1 of a processor.
    pub thread_busy_max: Vec<Option<f64>>,
    /// Whole machine, 0 to 1.
    pub machine_busy: Vec<Option<f64>>,
    /// Longest share of time that a load thread waited for a processor, 0 to 1.
    pub run_queue_wait_max: Vec<Option<f64>>,
    /// Share of time that the hypervisor took, 0 to 1.
    pub steal: Vec<Option<f64>>,
    /// Longest pause of the machine, in ms.
    pub pause_max_ms: Vec<Option<f64>>,
    /// Segments sent again.
    pub tcp_retransmitted: Vec<Option<f64>>,
    /// Bytes received per second.
    pub rx_bytes_per_s: Vec<Option<f64>>,
    /// Bytes sent per second.
    pub tx_bytes_per_s: Vec<Option<f64>>,
    /// Sockets in use.
    pub sockets: Vec<Option<f64>>,
}

/// What pages get as [`GroupData`].
const PARTS: [&str; 3] = ["size_classes", "endpoints", "drivers"];

/// Results as pages see them: null instead of a distribution in which nothing was recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown<T>(pub T);

impl<T> Deref for Shown<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Serialize> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields = serde_json::to_value(&self.0).and_then(serde_json::from_value);
        let mut fields: BTreeMap<String, Value> = fields.map_err(S::Error::custom)?;
        PARTS.iter().for_each(|name| drop(fields.remove(*name)));
        for value in fields.values_mut() {
            let Some(times) = value.as_object_mut().filter(|fields| fields.contains_key("p50")) else {
                continue;
            };
            if times["count"] == 0 && times["mean"].is_null() && times["max"].is_null() {
                *value = Value::Null;
            } else {
                times.entry("withheld").or_insert(Value::Null);
            }
        }
        fields.serialize(serializer)
    }
}

/// The page's name of a type of results, which `console/src/data/results.ts` declares. Its fields say where null may stand.
#[cfg(test)]
trait Declared {
    const NAME: &'static str;
}

#[cfg(test)]
impl Declared for OperationResult {
    const NAME: &'static str = "OperationResult";
}

#[cfg(test)]
impl Declared for PartResult {
    const NAME: &'static str = "PartResult";
}

#[cfg(test)]
impl<T: Declared> ts_rs::TS for Shown<T> {
    type WithoutGenerics = Self;
    type OptionInnerType = Self;

    fn name(_: &ts_rs::Config) -> String {
        T::NAME.to_owned()
    }

    fn inline(config: &ts_rs::Config) -> String {
        Self::name(config)
    }

    fn inline_flattened(config: &ts_rs::Config) -> String {
        Self::name(config)
    }
}
