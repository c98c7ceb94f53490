//! The tables of attributes (XML) and fields (YAML) of workload, stage, work, operation, target, pace, rate and search:
//! spelling, kind of value, default, one sentence, and for each single value how it is read and written (side by side: what
//! is written is read back). From them come both readers and writers, `--set`, COSBench's config keys of works, what is said
//! about a loss in XML, the JSON Schema and the reference pages, as from [`crate::keys::KEYS`] for the keys of operations.
//!
//! A time says its unit everywhere but in COSBench's XML, whose attributes are whole seconds.

mod of_stages;
mod search;
mod stage;
mod work;
mod workload;

use crate::keys::ValueKind;
use crate::keys::values::{Access, Value};
use crate::model::arrivals::Parts;
use crate::model::search::Search;
use crate::model::{OpKind, Stage, Work, Workload};

pub use of_stages::{CONSISTENCY, FAULT, FILL};
pub use search::SEARCH;
pub use stage::STAGE;
pub(crate) use work::ARRIVALS;
pub use work::{PACE, RATE, WORK};
pub use workload::WORKLOAD;

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
    ValueKind::Nested("auth"),
    "type none",
    "Where a session comes from: `type` and its keys. Replaces the outer one as a whole.",
);
const STORAGE: AttributeRow = row(
    ("", "storage"),
    ValueKind::Nested("storage"),
    "type none",
    "What is measured: `type` and its keys. Replaces the outer one as a whole.",
);
const TRIGGER: AttributeRow = row(
    ("trigger", "trigger"),
    ValueKind::Nested("trigger"),
    "",
    "Script that drivers run around it; XML: `script.sh(arg1,arg2)`.",
);

/// `<workflow>`.
pub const WORKFLOW: &[AttributeRow] = &[CONFIG];

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
