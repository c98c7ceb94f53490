//! The types of the web service: bodies of REST answers, data of server-sent events (WHATWG HTML, 9.2); the console's
//! types are generated from them. The numbers of a run are not defined here but in `run.json` (crate archive) and in
//! the report's data (crate report).

use cosmark_report::data::SeriesNews;
use cosmark_wire::message::Nic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod access;
mod doing;
mod lost;
mod note;
mod run;
mod study;
mod submission;

pub use access::{Login, SecretValue};
pub use doing::DriverDoing;
pub use lost::LostDriver;
pub use note::Note;
pub use run::RunSummary;
pub use study::{
    Study, StudyCell, StudyClaim, StudyFactor, StudyField, StudyGrid, StudyPart, StudyPoint, StudyRun,
    StudyRunState, StudyState, StudySummary,
};
pub use submission::Submission;

/// Version of this interface; its paths begin with `/api/v1`.
pub const API_VERSION: u32 = 1;

/// What a person or script may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum Role {
    /// Look at everything, change nothing.
    View,
    /// Submit, cancel, reorder, tag, keep secrets.
    Operate,
}

/// Who is logged in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SessionInfo {
    /// What they may do.
    pub role: Role,
    /// Name of the token they came with.
    pub token_name: String,
}

/// The controller at a glance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Status {
    /// Name of the controller that answers.
    pub controller: String,
    /// Version of Cosmark.
    pub version: String,
    /// [`API_VERSION`].
    pub api_version: u32,
    /// Name of the controller that leads.
    pub leader: String,
    /// Names of all controllers that were seen lately.
    pub controllers: Vec<String>,
    /// Whether NATS is connected.
    pub nats_connected: bool,
    /// Address of NATS, without credentials.
    pub nats: String,
    /// The controller's clock, RFC 3339.
    pub now: String,
    /// Drivers that are alive.
    pub drivers_alive: u32,
    /// Runs that wait.
    pub queued: u32,
    /// Ids of runs that are running.
    pub running: Vec<String>,
    /// Runs that may run at the same time.
    pub concurrency: u32,
    /// The command that lets a driver of another machine join, where drivers can.
    #[serde(default)]
    pub join: Option<String>,
}

/// How a driver is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum DriverState {
    /// Ready for work.
    Idle,
    /// At work.
    Busy,
    /// Alive, but not to be given new work.
    Drained,
    /// Too old or too new for this controller.
    Refused,
    /// Not heard of for longer than its lease.
    Lost,
}

/// A driver as the controller knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct DriverInfo {
    /// Its name, unique.
    pub name: String,
    /// Labels such as `zone` = `a`, sorted by key.
    pub labels: Vec<(String, String)>,
    /// Version of Cosmark.
    pub version: String,
    /// Version of the messages it speaks.
    pub message_version: u32,
    /// Host name.
    pub host: String,
    /// Processors it may use.
    pub cores: u32,
    /// Memory of the machine.
    #[cfg_attr(test, ts(type = "number"))]
    pub memory_bytes: u64,
    /// Network interfaces: name, addresses, speed.
    pub nics: Vec<NicInfo>,
    /// Storage types that it speaks.
    pub adaptors: Vec<String>,
    /// Operations per second of its null adaptor on one core, measured by itself at its start.
    pub ceiling_ops_per_s: Option<f64>,
    /// How it is doing.
    pub state: DriverState,
    /// Why it is refused or lost, one sentence.
    pub trouble: Option<String>,
    /// The run that it works on.
    pub run: Option<String>,
    /// What it is really doing, whoever ordered it.
    #[serde(default)]
    pub doing: Vec<DriverDoing>,
    /// Share of its processors that is busy, 0 to 1.
    pub load: Option<f64>,
    /// Its clock minus the controller's, and how far that may be off; nanoseconds.
    pub clock_offset_ns: Option<f64>,
    /// Half of the fastest probe's round trip, nanoseconds.
    pub clock_error_ns: Option<f64>,
    /// When it was last heard of, RFC 3339.
    pub last_seen: String,
    /// Orders and questions since its start that no controller which it trusts had signed.
    #[serde(default)]
    #[cfg_attr(test, ts(type = "number"))]
    pub forged: u64,
    /// Its public key; null for the driver in the controller's own process.
    #[serde(default)]
    pub key: Option<String>,
}

/// A network interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct NicInfo {
    /// Such as `eth0`.
    pub name: String,
    /// Its addresses.
    pub addresses: Vec<String>,
    /// Speed in bits per second, where the system tells.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub speed_bits_per_s: Option<u64>,
}

impl From<&Nic> for NicInfo {
    fn from(nic: &Nic) -> Self {
        let Nic { name, addresses, speed_bits_per_s } = nic.clone();
        Self { name, addresses, speed_bits_per_s }
    }
}

/// A mistake in a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Mistake {
    /// `error` or `warning`.
    pub severity: String,
    /// One sentence.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
    /// Line, from 1; 0 when it has no place in the source.
    pub line: u32,
    /// Column in UTF-16 units, from 1.
    pub column: u32,
    /// End of the place, same units.
    pub end_line: u32,
    /// End of the place, same units.
    pub end_column: u32,
}

/// What a submission would do: the answer to a check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CheckResult {
    /// True if it would be accepted.
    pub ok: bool,
    /// Every mistake, at its place.
    pub mistakes: Vec<Mistake>,
    /// Name of the workload.
    pub name: Option<String>,
    /// Its stages, matrices expanded.
    pub stages: Vec<StagePreview>,
    /// Sentences of the verdict's checks that can be made before any load.
    pub preflight: Vec<String>,
}

/// A stage before it is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct StagePreview {
    /// Such as `s3-main`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Names of its works.
    pub works: Vec<String>,
    /// Workers of all its works.
    pub workers: u32,
    /// How long it lasts, seconds, where time ends it.
    pub seconds: Option<f64>,
    /// Operations it makes, where counts end it.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub operations: Option<u64>,
    /// Bytes that it writes, where that is known before.
    #[cfg_attr(test, ts(type = "number | null"))]
    pub bytes_written: Option<u64>,
}

/// What became of a submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Submitted {
    /// Id of the run, such as `w12`.
    pub id: String,
    /// Warnings.
    pub mistakes: Vec<Mistake>,
}

/// A move in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct QueueMove {
    /// New priority.
    #[serde(default)]
    pub priority: Option<i32>,
    /// Put it directly before this run, and give it that run's priority.
    #[serde(default)]
    pub before: Option<String>,
}

/// A file of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FileInfo {
    /// Path below the run's directory.
    pub name: String,
    /// Length.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
    /// One phrase on what is in it.
    pub what: String,
}

/// A refusal: the body of every answer with a status of 400 or more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Refusal {
    /// One sentence, with the remedy.
    pub error: String,
    /// The mistakes of a workload, if that is why.
    #[serde(default)]
    pub mistakes: Vec<Mistake>,
}

/// Data of the events of `/api/v1/events`. The event's name is the tag.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "event", content = "data")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum SystemEvent {
    /// All of it: the first event of a connection, and after a gap.
    Everything {
        /// The controller.
        status: Status,
        /// All drivers.
        drivers: Vec<DriverInfo>,
        /// Runs that wait or run, in their order.
        active: Vec<RunSummary>,
    },
    /// The controller changed, or ten seconds passed.
    Status(Status),
    /// A driver came, changed or went.
    Driver(DriverInfo),
    /// A driver was forgotten.
    DriverGone(String),
    /// A run changed; also when it has ended.
    Run(RunSummary),
}

/// Data of the events of `/api/v1/runs/ID/events`. The event's name is the tag. A connection first gets all rows of the
/// run so far (or from `Last-Event-ID` on), then what comes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "event", content = "data")]
#[cfg_attr(test, derive(ts_rs::TS))]
#[expect(clippy::large_enum_variant, reason = "each is made to be written at once, never kept")]
pub enum RunEvent {
    /// The run's summary: at the start, and when it changes.
    Run(RunSummary),
    /// A stage changed its state.
    Stage(StageNews),
    /// One interval of one stage, complete for every driver that is alive.
    Interval(Interval),
    /// Bins of the running stage that changed, as the report will show them; without a number, and whole for who comes new.
    Series(#[cfg_attr(test, ts(type = "SeriesNews"))] Series),
    /// A line of the run's log.
    Log(LogLine),
    /// The verdict as it forms: checks that can be made so far.
    Verdict(VerdictNews),
    /// It is over; the stream ends.
    End {
        /// State of the run.
        state: String,
    },
}

/// The course of a stage, in the report's own types.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Series(#[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")] pub SeriesNews);

/// A stage's state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct StageNews {
    /// Such as `s3-main`.
    pub id: String,
    /// Index from 0.
    pub index: u32,
    /// COSBench's words: `waiting`, `booting`, .. `completed`.
    pub state: String,
    /// Start of the load, RFC 3339.
    pub load_started: Option<String>,
    /// How long it should last, seconds.
    pub planned_s: Option<f64>,
    /// Why it failed.
    pub reason: Option<String>,
}

/// Sums of one interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Interval {
    /// Such as `s3-main`.
    pub stage: String,
    /// Start of the interval since the stage's load began, seconds.
    pub start_s: f64,
    /// End of it.
    pub end_s: f64,
    /// One row per operation (all drivers together), then the same per driver and per endpoint where there are several.
    pub rows: Vec<IntervalRow>,
}

/// Sums of one operation in one interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct IntervalRow {
    /// Name of the work.
    pub work: String,
    /// Name of the operation.
    pub operation: String,
    /// The driver; none for all together.
    pub driver: Option<String>,
    /// The endpoint; none for all together.
    pub endpoint: Option<String>,
    /// `rampup`, `window`, `rampdown` or `drain`.
    pub phase: String,
    /// Successes.
    #[cfg_attr(test, ts(type = "number"))]
    pub count: u64,
    /// Failures.
    #[cfg_attr(test, ts(type = "number"))]
    pub failures: u64,
    /// Arrivals dropped for want of a free worker.
    #[cfg_attr(test, ts(type = "number"))]
    pub missed: u64,
    /// Body bytes of successes.
    #[cfg_attr(test, ts(type = "number"))]
    pub bytes: u64,
    /// Operations in flight, mean over the interval; of an endpoint those that succeeded.
    pub in_flight: f64,
    /// Response times in ms: mean, p50, p90, p95, p99, p99.9, max; none without successes.
    pub response_ms: Option<[f64; 7]>,
    /// Failures by label, such as `http_503`; not told of an endpoint.
    pub errors: Vec<(String, u64)>,
    /// Successes by response time, of all drivers and endpoints together: (index of the class, count); the bound of class `i` is `2^(i/4)` microseconds.
    pub heat: Vec<(u16, u64)>,
}

/// A line of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LogLine {
    /// RFC 3339.
    pub at: String,
    /// `INFO`, `WARN` or `ERROR`.
    pub level: String,
    /// Who says it: `controller`, a driver's name, a stage's id.
    pub from: String,
    /// The text, secrets removed.
    pub text: String,
}

/// A verdict, perhaps before its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct VerdictNews {
    /// `true`, `true_with_limits`, `not_proven` or `false`.
    pub overall: String,
    /// First reason.
    pub reason: Option<String>,
    /// Checks that warn or fail: id, stage, status, sentence.
    pub findings: Vec<(String, String, String, String)>,
}

/// Whether a driver is to be given work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Drain {
    /// True: no new work.
    pub drained: bool,
}

/// How a run is to end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Cancel {
    /// At once: operations in flight are dropped.
    #[serde(default)]
    pub abort: bool,
}

/// A change of tags.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TagChange {
    /// Words without blanks and commas.
    #[serde(default)]
    pub add: Vec<String>,
    /// Tags to take away.
    #[serde(default)]
    pub remove: Vec<String>,
}

/// Whether a run is the baseline of its workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Baseline {
    /// True: others are compared with it.
    pub baseline: bool,
}

/// The texts of a run's workload, secrets removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SourceText {
    /// Name of the file it came in.
    pub file_name: String,
    /// As it was given.
    pub source: String,
    /// As it was understood, native YAML.
    pub yaml: String,
    /// The same as COSBench XML.
    pub xml: Option<String>,
}

/// A target to be tried: YAML with `auth:` and `storage:`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TargetText {
    /// The YAML.
    pub target: String,
}

/// How a target answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TargetTest {
    /// True: it let us in and answered.
    pub ok: bool,
    /// How long that took, milliseconds.
    pub ms: f64,
    /// One sentence.
    pub message: String,
    /// What to do, where that is known.
    pub hint: Option<String>,
    /// The driver that tried it; none when none could.
    pub driver: Option<String>,
}

/// A workload or target that comes with Cosmark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LibraryEntry {
    /// `workload` or `target`.
    pub kind: String,
    /// Name of its file without ending.
    pub name: String,
    /// Its name inside.
    pub title: String,
    /// Its first sentence.
    pub summary: String,
    /// Path in the source tree.
    pub path: String,
    /// The text.
    pub source: String,
}

/// A workload to be converted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ConvertText {
    /// XML or YAML.
    pub source: String,
}

/// A workload in both formats; none where its mistakes are too many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Converted {
    /// COSBench XML.
    pub xml: Option<String>,
    /// Native YAML.
    pub yaml: Option<String>,
    /// Mistakes, and what the other format cannot say.
    pub mistakes: Vec<Mistake>,
}

#[cfg(test)]
mod tests;
