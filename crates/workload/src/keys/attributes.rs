//! The tables of attributes (XML) and fields (YAML) of workload, stage, work, operation, target, pace, rate and search:
//! spelling, kind of value, default, one sentence, and for each single value how it is read and written
//! ([`values`]). From them come both readers and writers, `--set`, COSBench's config keys of works, what is said about a loss
//! in XML, the JSON Schema and the reference pages, as from [`crate::keys::KEYS`] for the keys of operations.
//!
//! A time says its unit everywhere but in COSBench's XML, whose attributes are whole seconds.

mod of_stages;

use crate::keys::ValueKind;
pub use crate::keys::attributes::of_stages::{CONSISTENCY, FAULT, FILL};
use crate::keys::values::{self, Access, Value};
use crate::model::arrivals::Parts;
use crate::model::search::Search;
use crate::model::{OpKind, Stage, Work, Workload};

/// One attribute or field; an empty spelling means that the format has none.
#[derive(Debug, Clone, Copy)]
pub struct AttributeRow {
    /// XML attribute.
    pub xml: &'static str,
    /// YAML field.
    pub yaml: &'static str,
    /// What a value looks like in YAML.
    pub value: ValueKind,
    /// Value that holds when it is not given.
    pub default: &'static str,
    /// One sentence.
    pub help: &'static str,
    /// Only normal works have a use for it: special ones make one pass over their range.
    pub(crate) normal_only: bool,
    /// How a single value is read and written; [`Access::Own`] where a reader has its own way.
    pub(crate) access: Access,
}

impl AttributeRow {
    const fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    const fn normal_only(mut self) -> Self {
        self.normal_only = true;
        self
    }

    /// Has to be given, so it is always written.
    pub(crate) fn is_required(&self) -> bool {
        self.default == "required"
    }
}

const fn row(
    (xml, yaml): (&'static str, &'static str),
    value: ValueKind,
    default: &'static str,
    help: &'static str,
) -> AttributeRow {
    AttributeRow { xml, yaml, value, default, help, normal_only: false, access: Access::Own }
}

const CONFIG: AttributeRow = row(
    ("config", ""),
    ValueKind::Text,
    "",
    "`key=value;key=value`, inherited by everything inside; the innermost wins.",
);
const DEFAULTS: AttributeRow = row(
    ("", "defaults"),
    ValueKind::Nested("keys"),
    "",
    "Operation keys that hold for everything inside; the innermost wins.",
);
const AUTH: AttributeRow = row(
    ("", "auth"),
    ValueKind::Nested("target"),
    "type none",
    "Where a session comes from: `type` and its keys. Replaces the outer one as a whole.",
);
const STORAGE: AttributeRow = row(
    ("", "storage"),
    ValueKind::Nested("target"),
    "type none",
    "What is measured: `type` and its keys. Replaces the outer one as a whole.",
);
const TRIGGER: AttributeRow = row(
    ("trigger", "trigger"),
    ValueKind::Nested("trigger"),
    "",
    "Script that drivers run around it; XML: `script.sh(arg1,arg2)`.",
);

/// The workload itself.
pub const WORKLOAD: &[AttributeRow] = &[
    row(("name", "name"), ValueKind::Text, "required", "Name of the workload and of its archive."),
    row(("description", "description"), ValueKind::Text, "", "Free text.")
        .access(Access::Workload(values::DESCRIPTION)),
    row(
        ("", "seed"),
        ValueKind::Integer,
        "drawn and recorded",
        "Seed of every random choice; the same seed gives the same requests, over any number of drivers and threads. Each worker has a stream of its own: with another number of workers the first ones choose as before, and share the work differently.",
    )
    .access(Access::Workload(values::SEED)),
    row(
        ("", "drivers"),
        ValueKind::Nested("drivers"),
        "all that are not drained",
        "How many drivers, or which, by labels or names: `3`, `zone=a`, `3,zone=a`, or `{count: 3, labels: zone=a, wait: 2m}`. The \
         run waits for them in the queue; after `wait` (2m) it ends with the reason.",
    )
    .access(Access::Workload(values::DRIVERS)),
    row(
        ("", "on_driver_loss"),
        ValueKind::Words(&["fail", "continue"]),
        "fail",
        "When a driver is lost: stop, or go on without it and say what is missing.",
    )
    .access(Access::Workload(values::ON_DRIVER_LOSS)),
    row(
        ("", "lost_after"),
        ValueKind::Duration,
        "20s",
        "A driver of which nothing is heard for this long is lost.",
    )
    .access(Access::Workload(values::LOST_AFTER)),
    row(
        ("", "check"),
        ValueKind::Words(&["durability"]),
        "",
        "`durability`: keep a ledger of what the store acknowledges, and read all of it back after the load, before stages that only \
         delete: what is lost, corrupt, stale or back is named.",
    )
    .access(Access::Workload(values::CHECK)),
    TRIGGER,
    CONFIG,
    AUTH,
    STORAGE,
    DEFAULTS,
    row(
        ("", "thresholds"),
        ValueKind::Nested("thresholds"),
        "",
        "What every stage with normal works has to reach, beside its own.",
    ),
    row(
        ("", "nodes"),
        ValueKind::Nested("nodes"),
        "",
        "The machines of the store, whose processors, disks and networks are looked at meanwhile: a list of `{name: proxy1, role: \
         proxy, type: ssh, host: me@proxy1}`. `cosmark adaptors` lists the types and their keys.",
    ),
    row(
        ("", "consistency"),
        ValueKind::Nested("consistency"),
        "",
        "What every stage with normal works probes beside its load that does not say it itself.",
    ),
    row(("", "stages"), ValueKind::Nested("stages"), "required", "The stages, run one after another."),
];

/// `<workflow>`.
pub const WORKFLOW: &[AttributeRow] = &[CONFIG];

/// A stage (`<workstage>`).
pub const STAGE: &[AttributeRow] = &[
    row(
        ("name", "name"),
        ValueKind::Text,
        "required",
        "Name; may contain `${{ matrix.x }}` in YAML. No `;`.",
    ),
    row(
        ("closuredelay", "closure_delay"),
        ValueKind::Duration,
        "0",
        "Pause after the stage; XML: whole seconds.",
    )
    .access(Access::Stage(values::CLOSURE_DELAY)),
    row(("", "delay"), ValueKind::Duration, "", "A stage without works that only waits."),
    TRIGGER,
    CONFIG,
    AUTH,
    STORAGE,
    DEFAULTS,
    row(
        ("", "matrix"),
        ValueKind::Nested("matrix"),
        "",
        "Lists of values; the stage is repeated for every combination, with `${{ matrix.x }}` replaced.",
    ),
    row(
        ("", "repeat"),
        ValueKind::Count,
        "1",
        "How many times; the cells of a matrix in a drawn order each time.",
    ),
    row(("", "thresholds"), ValueKind::Nested("thresholds"), "", "What the stage has to reach."),
    row(
        ("", "search"),
        ValueKind::Nested("search"),
        "",
        "Look for the highest load that meets the thresholds: the stage stands for one trial.",
    ),
    row(
        ("", "faults"),
        ValueKind::Nested("faults"),
        "",
        "What is made to fail while the load runs, healed again, and judged by what it costs; `cosmark run` on one machine only.",
    ),
    row(
        ("", "consistency"),
        ValueKind::Nested("consistency"),
        "",
        "How soon readers see what was written, probed beside the load: `true`, `false`, or a map.",
    ),
    row(
        ("", "fill"),
        ValueKind::Nested("fill"),
        "",
        "Write a data set of this name, instead of works: it goes on where it was cut off, and is there for later runs.",
    ),
    row(("division", ""), ValueKind::Text, "", "Tolerated and ignored: belongs to the work."),
    row(("", "works"), ValueKind::Nested("works"), "required", "The works; they run at the same time."),
];

/// A work, in the order in which both formats are written.
pub const WORK: &[AttributeRow] = &[
    row(("name", "name"), ValueKind::Text, "required for normal works, else the type", "Name."),
    row(
        ("type", "type"),
        ValueKind::Words(&["normal", "init", "prepare", "mprepare", "cleanup", "dispose"]),
        "normal",
        "What it is for; XML also knows `delay`.",
    ),
    row(
        ("workers", "workers"),
        ValueKind::Count,
        "required",
        "Concurrent clients over all drivers; above 0.",
    )
    .access(Access::Work(values::WORKERS)),
    row(("interval", "interval"), ValueKind::Duration, "5s", "Period of the timeline; XML: whole seconds.")
        .access(Access::Work(values::INTERVAL)),
    row(
        ("division", "division"),
        ValueKind::Words(&["none", "container", "object"]),
        "none",
        "How workers share the numbers: everyone sees all, or has containers or objects of its own. Forced for special works.",
    )
    .normal_only()
    .access(Access::Work(values::DIVISION)),
    row(
        ("runtime", "runtime"),
        ValueKind::Duration,
        "0 (no limit)",
        "Measured time, without ramps; XML: whole seconds.",
    )
    .normal_only()
    .access(Access::Work(values::RUNTIME)),
    row(("rampup", "rampup"), ValueKind::Duration, "0", "Load before the measured time; XML: whole seconds.")
        .normal_only()
        .access(Access::Work(values::RAMPUP)),
    row(
        ("rampdown", "rampdown"),
        ValueKind::Duration,
        "0",
        "Load after the measured time; XML: whole seconds.",
    )
    .normal_only()
    .access(Access::Work(values::RAMPDOWN)),
    row(
        ("afr", "acceptable_failure_ratio"),
        ValueKind::Share,
        "0.2, special works 0",
        "Share of failures up to which the stage counts as passed; XML: per million.",
    )
    .access(Access::Work(values::ACCEPTABLE_FAILURE_RATIO)),
    row(("totalOps", "total_ops"), ValueKind::Integer, "0 (no limit)", "Operations over all workers.")
        .normal_only()
        .access(Access::Work(values::TOTAL_OPS)),
    row(("totalBytes", "total_bytes"), ValueKind::Bytes, "0 (no limit)", "Bytes over all workers.")
        .normal_only()
        .access(Access::Work(values::TOTAL_BYTES)),
    row(
        ("driver", "driver"),
        ValueKind::Text,
        "",
        "Name of the driver that does the whole work, or a label `key=value` of those that share it.",
    )
    .access(Access::Work(values::DRIVER)),
    row(("", "histogram"), ValueKind::Bool, "true", "false: no response-time histogram and no percentiles.")
        .access(Access::Work(values::HISTOGRAM)),
    row(
        ("", "rate"),
        ValueKind::Nested("rate"),
        "",
        "Open loop: operations per second over all drivers, whatever the store does.",
    )
    .normal_only()
    .access(Access::Load(values::RATE)),
    row(("", "pace"), ValueKind::Nested("pace"), "", "Closed loop with a pause or a rate per worker.")
        .normal_only(),
    row(
        ("", "pass"),
        ValueKind::Text,
        "",
        "Which objects of a data set a special work goes over, and in which order: what Cosmark makes of `fill`.",
    )
    .access(Access::Work(values::PASS)),
    row(("id", ""), ValueKind::Text, "", "Tolerated and ignored."),
    CONFIG,
    AUTH,
    STORAGE,
    DEFAULTS,
    row(("", "operations"), ValueKind::Nested("operations"), "required for normal works", "The mix.")
        .normal_only(),
];

/// `pace:` of a work.
pub const PACE: &[AttributeRow] = &[
    row(("", "think_time"), ValueKind::Duration, "", "Pause of a worker after each operation.")
        .normal_only()
        .access(Access::Load(values::THINK_TIME)),
    row(("", "rate_per_worker"), ValueKind::Rate, "", "At most this many operations per second and worker.")
        .normal_only()
        .access(Access::Load(values::RATE_PER_WORKER)),
];

/// `rate:` of a work as a map.
pub const RATE: &[AttributeRow] = &[
    row(
        ("", "shape"),
        ValueKind::Words(&["constant", "poisson", "ramp", "step", "recorded"]),
        "constant",
        "How arrivals follow each other; it decides which of the others are needed.",
    ),
    row(("", "rate"), ValueKind::Rate, "", "`constant`, `poisson`: the rate, or its mean."),
    row(("", "from"), ValueKind::Rate, "", "`ramp`: the rate at the beginning of the run, ramps included."),
    row(("", "to"), ValueKind::Rate, "", "`ramp`: the rate at its end."),
    row(
        ("", "steps"),
        ValueKind::Nested("steps"),
        "",
        "`step`: a list of `{rate: 100/s, for: 10s}`; the last one stays.",
    ),
    row(
        ("", "file"),
        ValueKind::Text,
        "",
        "`recorded`: file on the driver with one offset in seconds per line (what comes after a comma is left out); \
         `cosmark convert access.log` makes such files.",
    ),
    row(("", "time_warp"), ValueKind::Number, "1", "`recorded`: 2 is twice as fast."),
    row(
        ("", "when_full"),
        ValueKind::Words(&["wait", "drop"]),
        "wait",
        "An operation that finds no free worker waits, or is dropped and counted as missed.",
    )
    .normal_only()
    .access(Access::Load(values::WHEN_FULL)),
];

/// `search:` of a stage.
pub const SEARCH: &[AttributeRow] = &[
    row(
        ("", "over"),
        ValueKind::Words(&["rate", "workers"]),
        "required",
        "What is varied. With `rate` the work's `workers` bound the pool.",
    ),
    row(
        ("", "from"),
        ValueKind::Load,
        "",
        "Lowest load. It is doubled until a trial fails, then the gap is halved.",
    ),
    row(("", "to"), ValueKind::Load, "", "Highest load: no trial goes beyond it."),
    row(
        ("", "steps"),
        ValueKind::Nested("loads"),
        "",
        "All of these instead. The answer is the one with the highest throughput that meets the thresholds.",
    ),
    row(("", "width"), ValueKind::Percent, "5 %", "The gap at which the answer is settled.")
        .access(Access::Search(values::WIDTH)),
    row(
        ("", "extend"),
        ValueKind::Count,
        "3",
        "A trial that decides nothing is run again and the results are put together, up to so many; then the load is left open.",
    )
    .access(Access::Search(values::EXTEND)),
    row(
        ("", "confirm"),
        ValueKind::Integer,
        "3",
        "Fresh trials at both ends of the answer: those at the answer have to pass, those above it to miss.",
    )
    .access(Access::Search(values::CONFIRM)),
    row(("", "max_trials"), ValueKind::Count, "60", "No more trials.")
        .access(Access::Search(values::MAX_TRIALS)),
    row(("", "max_time"), ValueKind::Duration, "24h", "No trial begins later.")
        .access(Access::Search(values::MAX_TIME)),
];

/// An operation.
pub const OPERATION: &[AttributeRow] = &[
    row(("type", "type"), ValueKind::Words(OpKind::USUAL_WORDS), "required", "What it does."),
    row(
        ("ratio", "ratio"),
        ValueKind::Number,
        "100",
        "Share of the mix. XML: whole percents that sum to 100; YAML: any positive numbers; without any, all the same.",
    ),
    row(
        ("division", "division"),
        ValueKind::Words(&["none", "container", "object"]),
        "the work's",
        "See the work.",
    ),
    row(
        ("id", ""),
        ValueKind::Text,
        "",
        "Tolerated and ignored: operations of a stage are numbered op1, op2, ..",
    ),
    CONFIG,
];

/// `<auth>` and `<storage>`.
pub const TARGET: &[AttributeRow] = &[
    row(("type", "type"), ValueKind::Text, "required", "Name of the adaptor or auth, e.g. `s3`."),
    row(
        ("config", "config"),
        ValueKind::Nested("config"),
        "",
        "XML: its keys. YAML: keys that cannot stand beside `type`, such as one that is called `type` itself.",
    ),
];

/// The single values of a workload.
pub(crate) fn of_workload() -> impl Iterator<Item = (&'static AttributeRow, Value<Workload>)> {
    WORKLOAD
        .iter()
        .filter_map(|row| if let Access::Workload(value) = row.access { Some((row, value)) } else { None })
}

/// The single values of a stage.
pub(crate) fn of_stage() -> impl Iterator<Item = (&'static AttributeRow, Value<Stage>)> {
    STAGE
        .iter()
        .filter_map(|row| if let Access::Stage(value) = row.access { Some((row, value)) } else { None })
}

/// The single values of a work, but for its load.
pub(crate) fn of_work() -> impl Iterator<Item = (&'static AttributeRow, Value<Work>)> {
    WORK.iter().filter_map(|row| if let Access::Work(value) = row.access { Some((row, value)) } else { None })
}

/// The single values of a work's load, wherever YAML has them.
pub(crate) fn of_load() -> impl Iterator<Item = (&'static AttributeRow, Value<Parts>)> {
    let rows = WORK.iter().chain(RATE).chain(PACE);
    rows.filter_map(|row| if let Access::Load(value) = row.access { Some((row, value)) } else { None })
}

/// The single values of a search.
pub(crate) fn of_search() -> impl Iterator<Item = (&'static AttributeRow, Value<Search>)> {
    SEARCH
        .iter()
        .filter_map(|row| if let Access::Search(value) = row.access { Some((row, value)) } else { None })
}

/// Spellings in XML.
pub(crate) fn xml_names(rows: &[AttributeRow]) -> impl Iterator<Item = &'static str> + Clone {
    rows.iter().map(|row| row.xml).filter(|name| !name.is_empty())
}

/// Spellings in YAML.
pub(crate) fn yaml_names(rows: &[AttributeRow]) -> impl Iterator<Item = &'static str> + Clone {
    rows.iter().map(|row| row.yaml).filter(|name| !name.is_empty())
}
