//! What `study.yaml` says, as values. The JSON Schema of the file is made from these types; their doc comments are its
//! descriptions.

mod check;
mod effects;
mod figure;
mod flaw;
mod read;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

pub use crate::scalar::{OneOrMore, Text, Values};
pub use crate::selected::Fraction;
pub use effects::{EffectTable, Said};
pub use figure::{Also, Base, Figure, FigureKind, Limit, Overlay};
pub use flaw::{Across, Flaw, Way, Weigh};
pub use read::read;

/// Which cells: for each factor (or `system`) the levels that are meant.
pub type Where = BTreeMap<String, OneOrMore>;

/// An experiment: what is varied, on which systems, how often, what was published, and what is claimed.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Short name: letters, digits and `-`.
    pub name: String,
    /// One line.
    pub title: String,
    /// Where the published numbers are from.
    #[serde(default)]
    pub source: Option<String>,
    /// What the study asks.
    pub question: String,
    /// The published set-up, as far as it is known.
    #[serde(default)]
    pub setup: Option<String>,
    /// What is compared.
    pub systems: Vec<System>,
    /// What is varied.
    pub factors: Vec<Factor>,
    /// Values that the workload refers to as `${{ name }}`.
    #[serde(default)]
    pub variables: Values,
    /// Bytes of one copy of a cell's data: the product of these variables.
    #[serde(default)]
    pub data_bytes: Vec<String>,
    /// Objects that a cell prepares: the product of these variables.
    #[serde(default)]
    pub objects: Vec<String>,
    /// Keys that a point writes: the product of these variables; 0 where it writes none. A point with fewer than two for each
    /// worker is not run: its writers would meet on one key.
    #[serde(default)]
    pub keys: Vec<String>,
    /// The variable that says how many workers a point has.
    #[serde(default)]
    pub workers: Option<String>,
    /// Objects that a cell prepares and deletes per second, for estimates before anything was measured.
    #[serde(default)]
    pub objects_per_s: Option<f64>,
    /// How much of it is run.
    pub scales: BTreeMap<String, Scale>,
    /// What `--as-published` changes: the published flaws put back.
    #[serde(default)]
    pub as_published: Option<AsPublished>,
    /// Cells that are not run, and why.
    #[serde(default)]
    pub skip: Vec<Skip>,
    /// Rows of container databases without their objects, which the bed writes before a cell.
    #[serde(default)]
    pub prefill: Option<Prefill>,
    /// What a cell does, as parts of a native workload.
    #[serde(default)]
    pub workload: Option<Template>,
    /// What a cell does, as a job of fio.
    #[serde(default)]
    pub fio: Option<FioTemplate>,
    /// Where numbers of `published.csv` belong.
    #[serde(default)]
    pub published: Vec<PublishedMap>,
    /// Limits of response times, and the best load within them.
    #[serde(default)]
    pub slas: Vec<Sla>,
    /// What is drawn.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Ratios of quantities over a factor, such as the share of a raw device that users get.
    #[serde(default)]
    pub efficiencies: Vec<Efficiency>,
    /// Tables of effects; of a scale with a fraction there is one of the throughput in any case.
    #[serde(default)]
    pub effects: Vec<EffectTable>,
    /// What the authors or readers concluded, as tests.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// What the original got wrong.
    #[serde(default)]
    pub flaws: Vec<Flaw>,
    /// What a reader of the report has to know.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A store, or a raw device, that the cells run on.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Short name.
    pub name: String,
    /// For people.
    #[serde(default)]
    pub label: Option<String>,
    /// Test bed that is started for it, such as `swift`; without one, `--system NAME=target.yaml` says where it is.
    #[serde(default)]
    pub bed: Option<String>,
    /// Target file of the bed.
    #[serde(default)]
    pub target: Option<String>,
    /// Environment of the bed's `up`: its variant.
    #[serde(default)]
    pub environment: Values,
    /// Keys of its target that are changed for it: `storage.payload`, `storage.policy`, `storage.pool`.
    #[serde(default)]
    pub settings: Values,
    /// How fio reaches it: `file` on the disk of this machine, or `rbd`.
    #[serde(default)]
    pub block: Option<Block>,
    /// A directory of the bed's data, such as `srv/1/c1`: the requests of the disk below it are followed while a cell runs,
    /// and how far apart they lie becomes `lbn_beyond_125000_share` and `lbn_beyond_2500000_share`.
    #[serde(default)]
    pub follow: Option<String>,
    /// A directory of the bed's data, such as `images`, in which the file of fio lies: with `block: file`, for a disk that the
    /// bed emulates.
    #[serde(default)]
    pub place: Option<String>,
    /// Copies of each object that it keeps.
    #[serde(default = "one")]
    pub copies: u32,
    /// Values of variables on this system.
    #[serde(default)]
    pub set: Values,
    /// What it has that claims may ask for, such as `shaped-link`.
    #[serde(default)]
    pub provides: Vec<String>,
    /// The system's name in the published tables, where it differs.
    #[serde(default)]
    pub published_as: Option<String>,
}

fn one() -> u32 {
    1
}

/// How fio reaches a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// A file on the disk of this machine.
    File,
    /// An image of Ceph, through librbd.
    Rbd,
}

/// Something that is varied.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// Short name; the level's name is the value of the variable of this name.
    pub name: String,
    /// For people, with unit.
    #[serde(default)]
    pub label: Option<String>,
    /// Its levels.
    pub levels: Vec<Level>,
    /// Its levels are stages of one run, which share what was prepared; otherwise each level is a run of its own.
    #[serde(default)]
    pub within: bool,
    /// Its levels build on each other, such as writing, reading and deleting: the stages keep the order of the study instead of
    /// a drawn one.
    #[serde(default)]
    pub in_order: bool,
}

/// A level of a factor.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Level {
    /// Its name alone.
    Plain(Text),
    /// A name and values of variables.
    Full(FullLevel),
}

/// A level that sets variables.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FullLevel {
    /// Its name.
    pub name: Text,
    /// Values of variables in its cells.
    #[serde(default)]
    pub set: Values,
}

#[cfg(test)]
thread_local! {
    /// How often a level was asked for its name.
    pub static NAMED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl Level {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        #[cfg(test)]
        NAMED.with(|count| count.set(count.get() + 1));
        match self {
            Self::Plain(name) => &name.0,
            Self::Full(full) => &full.name.0,
        }
    }

    /// What it sets.
    #[must_use]
    pub fn set(&self) -> Option<&Values> {
        match self {
            Self::Plain(_) => None,
            Self::Full(full) => Some(&full.set),
        }
    }
}

/// How much of a study is run.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// Which levels, and under `system` which systems; of what is not named, all.
    #[serde(default)]
    pub levels: BTreeMap<String, OneOrMore>,
    /// A part of all combinations of these levels.
    #[serde(default)]
    pub fraction: Option<Fraction>,
    /// Values of variables.
    #[serde(default)]
    pub variables: Values,
    /// Values of variables in some of the cells.
    #[serde(default)]
    pub adjust: Vec<Adjust>,
    /// How often each cell.
    #[serde(default)]
    pub repetitions: Repetitions,
    /// What was made smaller and by which rule, one sentence each.
    #[serde(default)]
    pub shrunk: Vec<String>,
}

/// Values of variables in some of the cells.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Adjust {
    /// In which.
    pub when: Where,
    /// The values.
    pub set: Values,
}

/// How often each cell is run.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Repetitions {
    /// At least this often.
    pub least: u32,
    /// At most this often.
    #[serde(default)]
    pub most: Option<u32>,
    /// Beyond the least only until the 95 % interval of each throughput is within this many percent of its mean.
    #[serde(default)]
    pub within_percent: Option<f64>,
}

impl Default for Repetitions {
    fn default() -> Self {
        Self { least: 1, most: None, within_percent: None }
    }
}

/// The published flaws put back.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AsPublished {
    /// Values of variables, which win over all others.
    pub set: Values,
    /// What that brings back, one sentence each.
    pub brings_back: Vec<String>,
}

/// Cells that are not run.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Skip {
    /// Which.
    pub when: Where,
    /// Why.
    pub why: String,
}

/// Parts of a native workload with `${{ variable }}` in them.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// What stands above `stages:`, such as `defaults:`.
    #[serde(default)]
    pub head: String,
    /// Stages before the measured ones: a list.
    #[serde(default)]
    pub before: String,
    /// The stages of one point, once for each level of the factors that are within a run.
    pub point: String,
    /// Stages after them.
    #[serde(default)]
    pub after: String,
    /// Name of the stage of `point` that is measured.
    pub measured: String,
}

/// Containers with rows and without the objects of these rows, with `${{ variable }}` in each value. The bed's script
/// `prefill` makes them; a system without one cannot run a cell that wants rows.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prefill {
    /// Beginning of the containers' names, which go on with 1, 2, ..
    pub prefix: Text,
    /// How many containers.
    pub containers: Text,
    /// Rows in each; with 0 nothing is done.
    pub rows: Text,
}

/// A job of fio, with `${{ variable }}` in its values.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FioTemplate {
    /// fio's `rw`, such as `randwrite`.
    pub rw: Text,
    /// fio's `bs`: block size.
    pub bs: Text,
    /// Requests under way.
    pub iodepth: Text,
    /// Share of reads in percent, for mixed patterns.
    #[serde(default)]
    pub rwmixread: Option<Text>,
    /// Size of the file or image, which is filled before it is measured.
    pub size: Text,
    /// Load before the measured time.
    #[serde(default)]
    pub rampup: Option<Text>,
    /// Measured time.
    pub runtime: Text,
}

/// Where the numbers of a table of `published.csv` belong.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublishedMap {
    /// The table: the word behind `#` above it.
    pub table: String,
    /// The column of the values.
    pub column: String,
    /// What they are.
    #[serde(default = "throughput")]
    pub metric: String,
    /// Values here are the published ones times this.
    #[serde(default = "unit_factor")]
    pub times: f64,
    /// And this more: a gain of 25 % is the ratio 1.25, with `times: 0.01` and `plus: 1`.
    #[serde(default)]
    pub plus: f64,
    /// Which cells: levels that are the same in the whole table; of several levels the geometric mean is published.
    #[serde(default, rename = "where")]
    pub cells: Where,
    /// The published values are ratios to the same cells with these levels in place of theirs, such as `{system: swift}`.
    #[serde(default)]
    pub to: Where,
    /// Columns that say the level of a factor, by factor.
    #[serde(default)]
    pub keys: BTreeMap<String, String>,
    /// Only rows with these values in these columns.
    #[serde(default)]
    pub rows: Values,
    /// The published value is this of the values over `over`.
    #[serde(default)]
    pub take: Take,
    /// Factor that `take` goes over.
    #[serde(default)]
    pub over: Option<String>,
}

fn throughput() -> String {
    "throughput_per_s".to_owned()
}

fn unit_factor() -> f64 {
    1.0
}

/// What is taken of the values of several cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Take {
    /// Each as it is; of several the geometric mean.
    #[default]
    Each,
    /// The value at the first level of `over` that was run.
    First,
    /// The value at the last level of `over` that was run.
    Last,
    /// The greatest value over `over`.
    Max,
    /// The least value over `over`.
    Min,
    /// The level of `over` at which the value is greatest.
    ArgMax,
    /// The greatest value among cells that keep `sla`.
    Best,
    /// The level of `over` at which `best` is.
    ArgBest,
}

/// A limit of the 95th percentile of the response time.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sla {
    /// Short name.
    pub name: String,
    /// The limit in milliseconds.
    pub p95_ms: f64,
    /// Which cells it is for.
    #[serde(default, rename = "where")]
    pub cells: Where,
    /// Over which factor the best load is looked for.
    pub over: String,
    /// The published best level.
    #[serde(default)]
    pub published: Option<Text>,
    /// Where the limit is from.
    #[serde(default)]
    pub note: Option<String>,
}

/// What somebody concluded, and how it is tested.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Short id, such as `SL1`.
    pub id: String,
    /// The conclusion.
    pub says: String,
    /// All of these have to hold.
    #[serde(default)]
    pub test: Vec<Condition>,
    /// What the systems have to provide for it to be tested at all.
    #[serde(default)]
    pub needs: Vec<String>,
    /// It holds here only with a throttle or a shaped link that stands for hardware.
    #[serde(default)]
    pub emulated: bool,
    /// Why it cannot be tested on one machine; then there is no test.
    #[serde(default)]
    pub not_testable: Option<String>,
}

/// A comparison of two quantities.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// What is compared.
    pub of: Quantity,
    /// With what, as a ratio; without it the quantity itself is looked at.
    #[serde(default)]
    pub to: Option<Quantity>,
    /// The same of other cells, by which this is divided: whether a gain grows. It has no `least` and `most` of its own.
    #[serde(default)]
    pub than: Option<Box<Condition>>,
    /// A factor on the ratio, such as the copies of each byte.
    #[serde(default = "unit_factor")]
    pub times: f64,
    /// The least value that agrees.
    #[serde(default)]
    pub least: Option<f64>,
    /// The greatest value that agrees.
    #[serde(default)]
    pub most: Option<f64>,
}

/// A quantity read from cells.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// What.
    #[serde(default = "throughput")]
    pub metric: String,
    /// Which cells.
    #[serde(default, rename = "where")]
    pub cells: Where,
    /// What is taken of them.
    #[serde(default)]
    pub take: Take,
    /// Factor that `take` goes over.
    #[serde(default)]
    pub over: Option<String>,
    /// The limit for `best` and `arg_best`.
    #[serde(default)]
    pub sla: Option<String>,
}

/// A ratio of quantities over the levels of a factor: `times x (of + plus_times x plus) / to`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Efficiency {
    /// For people.
    pub name: String,
    /// What users get.
    pub of: Quantity,
    /// What is added to it.
    #[serde(default)]
    pub plus: Option<Quantity>,
    /// How often that counts.
    #[serde(default = "unit_factor")]
    pub plus_times: f64,
    /// What the device gives by itself.
    pub to: Quantity,
    /// A factor on the whole, such as the copies of each byte.
    #[serde(default = "unit_factor")]
    pub times: f64,
    /// One value for each level of this factor.
    pub over: String,
    /// The published value.
    #[serde(default)]
    pub published: Option<f64>,
    /// The formula in words.
    #[serde(default)]
    pub note: Option<String>,
}

/// The JSON Schema of `study.yaml`.
#[must_use]
pub fn json_schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Spec).to_value();
    if let Some(object) = schema.as_object_mut() {
        object.insert("title".to_owned(), "Cosmark study".into());
    }
    schema
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]
mod tests;
