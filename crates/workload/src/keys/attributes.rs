//! The tables of attributes (XML) and fields (YAML) of workload, stage, work, operation and target: spelling, type, default.
//! Readers, schema and reference pages derive from them, as they do from [`crate::keys::KEYS`] for config keys. A field of the
//! workload that is one value says in its row how it is read and written: the YAML reader and writer, `--set`, COSBench's
//! config keys and what is said about a loss in XML follow.

use std::time::Duration;

use cosmark_units::{Complaint, duration_text, parse_duration, parse_integer, shown};

use crate::keys::ValueKind;
use crate::model::{LossRule, OnDriverLoss, OpKind, Workload};
use crate::plan::drivers::DriversWanted;

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
    /// How the one value of a workload is read and written; `None` where a reader has its own way.
    pub(crate) access: Option<Access>,
}

/// A value of the workload as text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    /// Reads it.
    pub(crate) set: fn(&mut Workload, &str) -> Result<(), Complaint>,
    /// What to write to get it back; `None` when the default says the same.
    pub(crate) get: fn(&Workload) -> Option<String>,
}

impl AttributeRow {
    const fn access(
        mut self,
        set: fn(&mut Workload, &str) -> Result<(), Complaint>,
        get: fn(&Workload) -> Option<String>,
    ) -> Self {
        self.access = Some(Access { set, get });
        self
    }
}

const fn row(
    (xml, yaml): (&'static str, &'static str),
    value: ValueKind,
    default: &'static str,
    help: &'static str,
) -> AttributeRow {
    AttributeRow { xml, yaml, value, default, help, access: None }
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
    row(("description", "description"), ValueKind::Text, "", "Free text.").access(
        |workload, text| {
            workload.description = Some(text.to_owned());
            Ok(())
        },
        |workload| workload.description.clone(),
    ),
    row(
        ("", "seed"),
        ValueKind::Integer,
        "drawn and recorded",
        "Seed of every random choice; the same seed gives the same requests, over any number of drivers and threads. Each worker has a stream of its own: with another number of workers the first ones choose as before, and share the work differently.",
    )
    .access(
        |workload, text| {
            workload.seed = Some(seed(text)?);
            Ok(())
        },
        |workload| workload.seed.map(|seed| seed.to_string()),
    ),
    row(
        ("", "drivers"),
        ValueKind::Nested("drivers"),
        "all that are not drained",
        "How many drivers, or which, by labels or names: `3`, `zone=a`, `3,zone=a`, or `{count: 3, labels: zone=a, wait: 2m}`. The \
         run waits for them in the queue; after `wait` (2m) it ends with the reason.",
    )
    .access(
        |workload, text| {
            let wanted = DriversWanted::of_text(text)?;
            workload.drivers = DriversWanted { wait: workload.drivers.wait, ..wanted };
            Ok(())
        },
        |workload| (workload.drivers != DriversWanted::default()).then(|| workload.drivers.to_string()),
    ),
    row(
        ("", "on_driver_loss"),
        ValueKind::Words(&["fail", "continue"]),
        "fail",
        "When a driver is lost: stop, or go on without it and say what is missing.",
    )
    .access(
        |workload, text| {
            workload.loss.on_loss = on_loss(text)?;
            Ok(())
        },
        |workload| {
            let on_loss = workload.loss.on_loss;
            (on_loss != LossRule::default().on_loss).then(|| on_loss.word().to_owned())
        },
    ),
    row(
        ("", "lost_after"),
        ValueKind::Duration,
        "20s",
        "A driver of which nothing is heard for this long is lost.",
    )
    .access(
        |workload, text| {
            workload.loss.lost_after = lost_after(text)?;
            Ok(())
        },
        |workload| {
            let time = workload.loss.lost_after;
            (time != LossRule::default().lost_after).then(|| duration_text(time))
        },
    ),
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
    row(("", "stages"), ValueKind::Nested("stages"), "required", "The stages, run one after another."),
];

/// The rows of the workload that are one value, with how they are read and written.
pub(crate) fn of_workload() -> impl Iterator<Item = (&'static AttributeRow, Access)> {
    WORKLOAD.iter().filter_map(|row| Some((row, row.access?)))
}

fn seed(text: &str) -> Result<u64, Complaint> {
    parse_integer(text).ok_or_else(|| {
        let message = format!("the seed `{}` is not a whole number", shown(text));
        (message, "write a number from 0 to 18446744073709551615".to_owned())
    })
}

/// Shorter silences are those of a busy machine.
const LEAST_LOST_AFTER: Duration = Duration::from_secs(3);

fn on_loss(text: &str) -> Result<OnDriverLoss, Complaint> {
    OnDriverLoss::of_word(text).ok_or_else(|| {
        (format!("unknown on_driver_loss `{}`", shown(text)), "known: fail continue".to_owned())
    })
}

fn lost_after(text: &str) -> Result<Duration, Complaint> {
    let time = parse_duration(text)?;
    if time < LEAST_LOST_AFTER {
        let message = format!("lost_after `{}` is shorter than the pauses of a busy machine", shown(text));
        return Err((message, format!("give at least {LEAST_LOST_AFTER:?}")));
    }
    Ok(time)
}

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
    ),
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
    row(("division", ""), ValueKind::Text, "", "Tolerated and ignored: belongs to the work."),
    row(("", "works"), ValueKind::Nested("works"), "required", "The works; they run at the same time."),
];

/// A work.
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
    ),
    row(("interval", "interval"), ValueKind::Duration, "5s", "Period of the timeline; XML: whole seconds."),
    row(
        ("division", "division"),
        ValueKind::Words(&["none", "container", "object"]),
        "none",
        "How workers share the numbers: everyone sees all, or has containers or objects of its own. Forced for special works.",
    ),
    row(
        ("runtime", "runtime"),
        ValueKind::Duration,
        "0 (no limit)",
        "Measured time, without ramps; XML: whole seconds.",
    ),
    row(("rampup", "rampup"), ValueKind::Duration, "0", "Load before the measured time; XML: whole seconds."),
    row(
        ("rampdown", "rampdown"),
        ValueKind::Duration,
        "0",
        "Load after the measured time; XML: whole seconds.",
    ),
    row(("totalOps", "total_ops"), ValueKind::Integer, "0 (no limit)", "Operations over all workers."),
    row(("totalBytes", "total_bytes"), ValueKind::Bytes, "0 (no limit)", "Bytes over all workers."),
    row(
        ("afr", "acceptable_failure_ratio"),
        ValueKind::Share,
        "0.2, special works 0",
        "Share of failures up to which the stage counts as passed; XML: per million.",
    ),
    row(
        ("driver", "driver"),
        ValueKind::Text,
        "",
        "Name of the driver that does the whole work, or a label `key=value` of those that share it.",
    ),
    row(("", "histogram"), ValueKind::Bool, "true", "false: no response-time histogram and no percentiles."),
    row(
        ("", "rate"),
        ValueKind::Nested("rate"),
        "",
        "Open loop: operations per second over all drivers, whatever the store does.",
    ),
    row(("", "pace"), ValueKind::Nested("pace"), "", "Closed loop with a pause or a rate per worker."),
    row(("id", ""), ValueKind::Text, "", "Tolerated and ignored."),
    CONFIG,
    AUTH,
    STORAGE,
    DEFAULTS,
    row(("", "operations"), ValueKind::Nested("operations"), "required for normal works", "The mix."),
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

/// Spellings in XML.
pub(crate) fn xml_names(rows: &[AttributeRow]) -> impl Iterator<Item = &'static str> + Clone {
    rows.iter().map(|row| row.xml).filter(|name| !name.is_empty())
}

/// Spellings in YAML.
pub(crate) fn yaml_names(rows: &[AttributeRow]) -> impl Iterator<Item = &'static str> + Clone {
    rows.iter().map(|row| row.yaml).filter(|name| !name.is_empty())
}
