//! The one model that COSBench XML and native YAML are both read into: everything is resolved (inheritance of auth,
//! storage and config applied, defaults filled in, special works expanded, matrix unrolled), so that nobody downstream
//! asks where a value came from. Words and defaults: COSBench 0.4.2 user guide, sections "Workload configuration".

pub(crate) mod arrivals;
pub mod consistency;
pub mod dataset;
pub mod faults;
mod names;
pub mod nodes;
mod op_kind;
pub mod search;
pub mod selector;
pub mod target;
pub mod threshold;

use std::sync::Arc;
use std::time::Duration;

use crate::diagnostics::Span;
use crate::model::consistency::ConsistencySpec;
use crate::model::dataset::{DataSetUse, FillPass};
use crate::model::faults::FaultSpec;
pub use crate::model::names::ObjectNames;
use crate::model::nodes::NodeSpec;
pub use crate::model::op_kind::{Effect, OpKind, OperationRow};
use crate::model::search::Search;
use crate::model::selector::{IntSelector, SizeSelector};
use crate::model::threshold::Threshold;
use crate::plan::drivers::DriversWanted;

/// A whole run: stages, one after another.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Workload {
    /// Name as given; also part of the archive's directory name (with `/` and control characters replaced there).
    pub name: String,
    /// Free text.
    pub description: Option<String>,
    /// Script run before the first and after the last stage.
    pub trigger: Option<Trigger>,
    /// Seed of every random choice. `None` means: the run draws one and records it.
    pub seed: Option<u64>,
    /// What a lost driver means.
    pub loss: LossRule,
    /// How many drivers it wants, which, and how long it waits for them.
    pub drivers: DriversWanted,
    /// What the store acknowledged is read back at the end.
    pub durability: bool,
    /// What looks broken then is looked at again after so long; `None` = as `cosmark verify-data` does.
    pub settle: Option<Duration>,
    /// The machines of the store that are looked at meanwhile.
    pub nodes: Vec<NodeSpec>,
    /// Stages in order; never empty after a parse without errors.
    pub stages: Vec<Stage>,
}

/// What it means when nothing is heard of a driver any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossRule {
    /// What becomes of the stage.
    pub on_loss: OnDriverLoss,
    /// Silence after which a driver is lost; shorter ones change nothing.
    pub lost_after: Duration,
}

impl Default for LossRule {
    fn default() -> Self {
        Self { on_loss: OnDriverLoss::Fail, lost_after: Duration::from_secs(20) }
    }
}

/// What becomes of a stage when a driver is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDriverLoss {
    /// It is stopped, and so is the run.
    #[default]
    Fail,
    /// It goes on with the others; what is missing is named in the results.
    Continue,
}

impl OnDriverLoss {
    /// Both, with their words.
    pub const TABLE: &'static [(OnDriverLoss, &'static str)] =
        &[(OnDriverLoss::Fail, "fail"), (OnDriverLoss::Continue, "continue")];

    /// The word in a workload.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::TABLE.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// The one with this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::TABLE.iter().find(|row| row.1 == word).map(|row| row.0)
    }
}

/// One step of the workflow; its works run at the same time.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// Name as given; the stage's id is `s<k>-<name>`, k from 1 (see [`Stage::id`]).
    pub name: String,
    /// Pause after the stage.
    pub closure_delay: Duration,
    /// Script run around this stage.
    pub trigger: Option<Trigger>,
    /// What it has to reach.
    pub thresholds: Vec<Threshold>,
    /// The stage stands for trials of several loads.
    pub search: Option<Search>,
    /// What is made to fail while its load runs.
    pub faults: Vec<FaultSpec>,
    /// What is probed beside its load.
    pub consistency: Option<ConsistencySpec>,
    /// Works; empty only when the stage does nothing but wait ([`Stage::closure_delay`]).
    pub works: Vec<Work>,
    /// Where it stands in the source.
    pub span: Span,
}

impl Stage {
    /// COSBench's stage id: `s<k>-<name>` for the stage at 0-based `index`.
    #[must_use]
    pub fn id(&self, index: usize) -> String {
        format!("s{}-{}", index + 1, self.name)
    }

    /// How long its load lasts and what it waits after it, where time ends every work. A search is not counted: nobody knows how many
    /// trials it takes.
    #[must_use]
    pub fn planned(&self) -> Option<Duration> {
        let timed = self.works.iter().all(|work| !work.runtime.is_zero());
        let longest = self.works.iter().map(|work| work.rampup + work.runtime + work.rampdown).max();
        timed.then_some(longest.unwrap_or_default() + self.closure_delay)
    }

    /// Period of its timeline: the shortest of its works, and no less than sums can be told in.
    #[must_use]
    pub fn interval(&self) -> Duration {
        let shortest = self.works.iter().map(|work| work.interval).min();
        shortest.unwrap_or(Duration::from_secs(5)).max(FINEST_SLICE)
    }
}

/// Sums are told at most this coarse; longer intervals are sums of these.
const COARSEST_SLICE: Duration = Duration::from_secs(1);
/// And at most this fine.
const FINEST_SLICE: Duration = Duration::from_millis(100);
/// So many lengths of slices are tried: those of every interval of some minutes.
const MOST_SLICES: usize = 10_000;

/// The longest slice, of a tenth of a second to a second, of which an interval has a whole number: what lay in two intervals would
/// be counted in one of them.
#[must_use]
pub fn slice_of(interval: Duration) -> Duration {
    let (finest_ns, coarsest_ns) = (FINEST_SLICE.as_nanos(), COARSEST_SLICE.as_nanos());
    let interval_ns = interval.as_nanos().max(finest_ns);
    let mut numbers = (interval_ns.div_ceil(coarsest_ns)..=interval_ns / finest_ns).take(MOST_SLICES);
    let fitting = numbers.find(|number| interval_ns.is_multiple_of(*number));
    // An interval of odd nanoseconds has none.
    let slice_ns = fitting.map_or(interval_ns.min(coarsest_ns), |number| interval_ns / number);
    Duration::from_nanos(u64::try_from(slice_ns).unwrap_or(u64::MAX))
}

/// `script.sh(arg1,arg2)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    /// File name of the script, without a directory.
    pub script: String,
    /// Arguments, passed as arguments (never through a shell).
    pub args: Vec<String>,
}

/// What a work is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkKind {
    /// A mix of operations for a time or a count.
    Normal,
    /// Create containers.
    Init,
    /// Write every object once.
    Prepare,
    /// Delete every object once.
    Cleanup,
    /// Delete containers.
    Dispose,
}

/// How containers or objects are cut among workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Division {
    /// Every worker sees the whole range.
    #[default]
    None,
    /// Every worker has its own slice of the containers.
    Container,
    /// Every worker has its own slice of the objects.
    Object,
}

/// A group of workers that do the same thing to the same system.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// Name; special works default to their kind's word.
    pub name: String,
    /// What it is for.
    pub kind: WorkKind,
    /// Closed-loop clients, or the bound of an open loop's pool; over all drivers; > 0.
    pub workers: u32,
    /// Snapshot period of the stage's timeline; > 0.
    pub interval: Duration,
    /// Default cut for its operations.
    pub division: Division,
    /// Measured time, without ramps; zero = no limit in time.
    pub runtime: Duration,
    /// Load before the measured window.
    pub rampup: Duration,
    /// Load after the measured window.
    pub rampdown: Duration,
    /// Operations over all workers; `None` = no limit.
    pub total_ops: Option<u64>,
    /// Bytes over all workers; `None` = no limit.
    pub total_bytes: Option<u64>,
    /// Acceptable failures per million operations.
    pub afr_per_million: u32,
    /// Name of the driver that has to do the whole work, or a label `key=value`: the drivers that have it share the work.
    pub driver: Option<String>,
    /// How operations are started.
    pub load: Load,
    /// It writes or ages a data set: which objects, in which order. Special works only.
    pub pass: Option<Arc<FillPass>>,
    /// False where COSBench would keep no response times (`histogram=false`). No effect: the verdict needs them.
    pub histogram: bool,
    /// Where a session comes from.
    pub auth: TargetSpec,
    /// What is measured.
    pub storage: TargetSpec,
    /// The mix; special works have exactly one.
    pub operations: Vec<Operation>,
    /// Where it stands in the source.
    pub span: Span,
}

/// How operations are started.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Load {
    /// Each worker sends its next operation when the last is done.
    #[default]
    Closed,
    /// Closed loop with a pace: each worker has a due time every `1/rate` s (its own schedule), or a pause after each
    /// operation.
    Paced {
        /// Pause between the end of an operation and the next due time.
        think_time: Option<Duration>,
        /// Operations per second and worker.
        rate_per_worker: Option<f64>,
    },
    /// Arrivals by the clock, whatever the store does.
    Open {
        /// When operations are due.
        arrivals: Arrivals,
        /// What happens to an arrival that finds no free worker.
        when_full: WhenFull,
    },
}

/// When operations of an open loop are due; rates are over all drivers, per second.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrivals {
    /// Every `1/rate` s.
    Constant {
        /// Operations per second.
        rate_per_s: f64,
    },
    /// Exponential gaps.
    Poisson {
        /// Mean operations per second.
        rate_per_s: f64,
    },
    /// Rate moves linearly from `from_per_s` to `to_per_s` over the whole run of the work, ramps included.
    Ramp {
        /// At the start.
        from_per_s: f64,
        /// At the end.
        to_per_s: f64,
    },
    /// Rates that hold for a time each; the last one stays.
    Step {
        /// (operations per second, for how long).
        steps: Vec<(f64, Duration)>,
    },
    /// Due times read from a file on the driver, one offset in seconds per line; at most `rate_scale` times faster.
    Recorded {
        /// File on the driver.
        path: String,
        /// 2.0 = twice as fast.
        time_warp: f64,
    },
}

/// What happens to an arrival of an open loop that finds no free worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenFull {
    /// It waits; its response time grows from its due time on.
    #[default]
    Wait,
    /// It is dropped and counted as missed.
    Drop,
}

/// One `auth` or `storage` element.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetSpec {
    /// Adaptor or auth name as given, e.g. `s3`.
    pub kind: String,
    /// Keys in order; a repeated key: the last wins.
    pub config: Config,
    /// Where it stands in the source.
    pub span: Span,
}

/// A `k=v;k=v` list, or a YAML map.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    /// Entries in order of appearance.
    pub entries: Vec<ConfigEntry>,
}

/// One key of a [`Config`].
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigEntry {
    /// Key, trimmed, case kept.
    pub key: String,
    /// Value, trimmed, `${..}` already replaced. Native YAML secrets (`{env: NAME}`, `{file: PATH}`, `{secret: NAME}`) stay references
    /// until the run: see [`ConfigValue`].
    pub value: ConfigValue,
    /// Where the entry stands in the source.
    pub span: Span,
}

/// A value given in the file, or a reference to a place where a secret is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigValue {
    /// As written.
    Text(String),
    /// Name of an environment variable.
    Env(String),
    /// Path of a file whose content, without trailing newline, is the value.
    File(String),
    /// Name of a secret that the controller keeps.
    Secret(String),
}

/// One line of the mix.
#[derive(Debug, Clone, PartialEq)]
pub struct Operation {
    /// `op1`, `op2`, .. over the whole stage, in document order.
    pub id: String,
    /// What it does.
    pub kind: OpKind,
    /// Share of the mix; the weights of a work sum to 100 in XML, to anything positive in YAML.
    pub weight: f64,
    /// Cut among workers.
    pub division: Division,
    /// Display name (Op-Name); COSBench's rules for two operations of one type are applied.
    pub name: String,
    /// Container numbers; `None` only for `list` without containers and for file operations.
    pub containers: Option<IntSelector>,
    /// Object numbers; `None` for container operations, list of a container, and file operations.
    pub objects: Option<IntSelector>,
    /// Object sizes; for write, prepare and multipart write.
    pub sizes: Option<SizeSelector>,
    /// The one container to use, by its whole name; the number is still chosen, but is no part of the name.
    pub container_name: Option<String>,
    /// Names: `<container_prefix><number><container_suffix>`.
    pub container_prefix: String,
    /// See [`Operation::container_prefix`].
    pub container_suffix: String,
    /// Names: `<object_prefix><number><object_suffix>`.
    pub object_prefix: String,
    /// See [`Operation::object_prefix`].
    pub object_suffix: String,
    /// How the number stands between them.
    pub object_names: ObjectNames,
    /// What is written.
    pub content: Content,
    /// True: the length is not announced (chunked transfer coding).
    pub chunked: bool,
    /// COSBench's hash guard in the last 40 bytes.
    pub hash_check: bool,
    /// Native: compare every byte read with what Cosmark wrote.
    pub verify: bool,
    /// `prepare`/`init`: create containers first; an `init` that does not does nothing.
    pub create_container: bool,
    /// `cleanup`/`dispose`: delete containers too; a `dispose` that does not does nothing.
    pub delete_container: bool,
    /// `cleanup`/`dispose`: empty a container that is to be deleted and is not empty, whoever wrote what is in it.
    pub empty_container: bool,
    /// File operations: the directory on the driver.
    pub files: Option<String>,
    /// File operations: how the next file is chosen (numbers 1..count of files).
    pub file_selection: FileSelection,
    /// `read`: read only a part.
    pub range: Option<RangeRead>,
    /// Multipart: size of a part in bytes.
    pub part_size_bytes: u64,
    /// Multipart: parts in flight per operation.
    pub part_concurrency: u32,
    /// `list`: keys asked for per page; `None` = the server's default.
    pub page_size: Option<u32>,
    /// `list`: only names that begin so; empty = all.
    pub list_prefix: String,
    /// `list`: names are folded at this after the prefix; empty = not.
    pub delimiter: String,
    /// `copy`: the copy's name is the object's with this behind it.
    pub copy_suffix: String,
    /// `bulkdelete`: objects per request, see [`Operation::batch_of`].
    pub batch: u32,
    /// The data set whose objects it works on.
    pub dataset: Option<DataSetUse>,
    /// The effective config text, COSBench style, for its CSV column Config-Info.
    pub config_text: String,
    /// Where it stands in the source.
    pub span: Span,
}

/// What a write sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Content {
    /// Incompressible, different in every 4 KiB block of every object.
    #[default]
    Random,
    /// All zero bytes.
    Zero,
}

/// How a file operation chooses its next file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FileSelection {
    /// In order, one counter for all workers.
    #[default]
    Sequential,
    /// Uniform.
    Uniform,
    /// In order, one counter per worker.
    Range,
}

/// A read of a part (`is_range_request=true;file_length=..;chunk_length=..`): a chunk of `chunk_length_bytes` at a
/// random offset of whole chunks below `object_length_bytes`; without a length the chunk starts at 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeRead {
    /// Length of the objects; `None` = not known.
    pub object_length_bytes: Option<u64>,
    /// Bytes per read.
    pub chunk_length_bytes: u64,
}

impl Operation {
    /// Numbers of the batch in which object `number` lies: whole batches, counted from 1.
    #[must_use]
    pub fn batch_of(&self, number: u64) -> std::ops::RangeInclusive<u64> {
        let batch = u64::from(self.batch.max(1));
        let first = number.saturating_sub(1) / batch * batch + 1;
        first..=first.saturating_add(batch - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_a_whole_number_of_slices() {
        let ms = Duration::from_millis;
        for (interval, slice) in [
            (ms(50), ms(100)),
            (ms(250), ms(250)),
            (ms(1000), ms(1000)),
            (ms(1500), ms(750)),
            (ms(1875), Duration::from_micros(937_500)),
            (ms(5000), ms(1000)),
            // Eleven parts leave a rest.
            (ms(10_100), Duration::from_micros(631_250)),
            (Duration::from_secs(86_400), ms(1000)),
            (Duration::from_nanos(1_000_000_007), ms(1000)),
        ] {
            assert_eq!(slice_of(interval), slice, "{interval:?}");
        }
        assert!(slice_of(Duration::MAX) <= ms(1000));
    }
}
