//! A work with its load: their rows, and how each single value is read and written.

use std::sync::Arc;

use cosmark_units::{
    Plain, bytes_text, duration_text, parse_bool, parse_integer, parse_rate, parse_size, rate_text, shown,
};

use super::{AUTH, AttributeRow, CONFIG, DEFAULTS, STORAGE, row};
use crate::assemble::division_word;
use crate::keys::ValueKind;
use crate::keys::values::{Access, Value, parse_division, parse_share, parse_time, parse_whole, put};
use crate::model::Work;
use crate::model::arrivals::{Parts, arrivals_text, parse_arrivals, parse_when_full, when_full_text};

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
    .access(Access::Work(WORKERS)),
    row(("interval", "interval"), ValueKind::Duration, "5s", "Period of the timeline; XML: whole seconds.")
        .access(Access::Work(INTERVAL)),
    row(
        ("division", "division"),
        ValueKind::Words(&["none", "container", "object"]),
        "none",
        "How workers share the numbers: everyone sees all, or has containers or objects of its own. Forced for special works.",
    )
    .normal_only()
    .access(Access::Work(DIVISION)),
    row(
        ("runtime", "runtime"),
        ValueKind::Duration,
        "0 (no limit)",
        "Measured time, without ramps; XML: whole seconds.",
    )
    .normal_only()
    .access(Access::Work(RUNTIME)),
    row(("rampup", "rampup"), ValueKind::Duration, "0", "Load before the measured time; XML: whole seconds.")
        .normal_only()
        .access(Access::Work(RAMPUP)),
    row(
        ("rampdown", "rampdown"),
        ValueKind::Duration,
        "0",
        "Load after the measured time; XML: whole seconds.",
    )
    .normal_only()
    .access(Access::Work(RAMPDOWN)),
    row(
        ("afr", "acceptable_failure_ratio"),
        ValueKind::Share,
        "0.2, special works 0",
        "Share of failures up to which the stage counts as passed; XML: per million.",
    )
    .access(Access::Work(ACCEPTABLE_FAILURE_RATIO)),
    row(("totalOps", "total_ops"), ValueKind::Integer, "0 (no limit)", "Operations over all workers.")
        .normal_only()
        .access(Access::Work(TOTAL_OPS)),
    row(("totalBytes", "total_bytes"), ValueKind::Bytes, "0 (no limit)", "Bytes over all workers.")
        .normal_only()
        .access(Access::Work(TOTAL_BYTES)),
    row(
        ("driver", "driver"),
        ValueKind::Text,
        "",
        "Name of the driver that does the whole work, or a label `key=value` of those that share it.",
    )
    .access(Access::Work(DRIVER)),
    row(
        ("", "histogram"),
        ValueKind::Bool,
        "true",
        "Taken for COSBench's sake, no effect: the verdict needs the response times.",
    )
    .access(Access::Work(HISTOGRAM)),
    row(
        ("", "rate"),
        ValueKind::Nested("rate"),
        "",
        "Open loop: operations per second over all drivers, whatever the store does.",
    )
    .normal_only()
    .access(Access::Load(ARRIVALS)),
    row(("", "pace"), ValueKind::Nested("pace"), "", "Closed loop with a pause or a rate per worker.")
        .normal_only(),
    row(
        ("", "pass"),
        ValueKind::Text,
        "",
        "Which objects of a data set a special work goes over, and in which order: what Cosmark makes of `fill`.",
    )
    .access(Access::Work(PASS)),
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
        .access(Access::Load(THINK_TIME)),
    row(("", "rate_per_worker"), ValueKind::Rate, "", "At most this many operations per second and worker.")
        .normal_only()
        .access(Access::Load(RATE_PER_WORKER)),
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
    .access(Access::Load(WHEN_FULL)),
];

const WORKERS: Value<Work> = Value {
    set: |work, text| {
        let number = parse_integer(text).and_then(|n| u32::try_from(n).ok());
        put(
            &mut work.workers,
            number.ok_or_else(|| {
                // 0 is left to the check.
                let message = format!("workers is not a whole number: `{}`", shown(text));
                (message, format!("write a number from 1 to {}", u32::MAX))
            }),
        )
    },
    get: |work| Some(work.workers.to_string()),
};

const INTERVAL: Value<Work> = Value {
    set: |work, text| put(&mut work.interval, parse_time(text)),
    get: |work| Some(duration_text(work.interval)),
};

const DIVISION: Value<Work> = Value {
    set: |work, text| {
        work.division = parse_division(text)?;
        work.operations.iter_mut().for_each(|operation| operation.division = work.division);
        Ok(())
    },
    get: |work| Some(division_word(work.division).to_owned()),
};

const RUNTIME: Value<Work> = Value {
    set: |work, text| put(&mut work.runtime, parse_time(text)),
    get: |work| Some(duration_text(work.runtime)),
};

const RAMPUP: Value<Work> = Value {
    set: |work, text| put(&mut work.rampup, parse_time(text)),
    get: |work| Some(duration_text(work.rampup)),
};

const RAMPDOWN: Value<Work> = Value {
    set: |work, text| put(&mut work.rampdown, parse_time(text)),
    get: |work| Some(duration_text(work.rampdown)),
};

const ACCEPTABLE_FAILURE_RATIO: Value<Work> = Value {
    set: |work, text| put(&mut work.afr_per_million, parse_share(text)),
    get: |work| Some((f64::from(work.afr_per_million) / 1e6).to_string()),
};

const TOTAL_OPS: Value<Work> = Value {
    set: |work, text| put(&mut work.total_ops, parse_whole(text).map(limit)),
    get: |work| work.total_ops.map(|total| total.to_string()),
};

const TOTAL_BYTES: Value<Work> = Value {
    set: |work, text| put(&mut work.total_bytes, parse_size(text).map(limit)),
    get: |work| work.total_bytes.map(bytes_text),
};

const DRIVER: Value<Work> = Value {
    set: |work, text| {
        let name = text.trim();
        work.driver = (!name.is_empty() && name != "none").then(|| name.to_owned());
        Ok(())
    },
    get: |work| work.driver.clone(),
};

const HISTOGRAM: Value<Work> = Value {
    set: |work, text| {
        let message = || format!("histogram is neither true nor false: `{}`", shown(text));
        put(
            &mut work.histogram,
            parse_bool(text).ok_or_else(|| (message(), "write true or false".to_owned())),
        )
    },
    get: |work| Some(work.histogram.to_string()),
};

pub(crate) const ARRIVALS: Value<Parts> = Value {
    set: |parts, text| put(&mut parts.arrivals, parse_arrivals(text, Plain::Refused).map(Some)),
    get: |parts| parts.arrivals.as_ref().map(arrivals_text),
};

const WHEN_FULL: Value<Parts> = Value {
    set: |parts, text| put(&mut parts.when_full, parse_when_full(text).map(Some)),
    get: |parts| {
        parts.when_full.filter(|word| *word != Default::default()).map(|word| when_full_text(word).to_owned())
    },
};

const THINK_TIME: Value<Parts> = Value {
    set: |parts, text| put(&mut parts.think_time, parse_time(text).map(Some)),
    get: |parts| parts.think_time.map(duration_text),
};

const RATE_PER_WORKER: Value<Parts> = Value {
    set: |parts, text| put(&mut parts.rate_per_worker, parse_rate(text).map(Some)),
    get: |parts| parts.rate_per_worker.map(rate_text),
};

/// 0 is no limit.
fn limit(number: u64) -> Option<u64> {
    (number > 0).then_some(number)
}

const PASS: Value<Work> = Value {
    set: |work, text| {
        let read = text.parse().map_err(|problem| {
            let hint = "it is written by Cosmark: write a stage with fill: instead".to_owned();
            (format!("the pass over a data set cannot be read: {problem}"), hint)
        });
        put(&mut work.pass, read.map(|pass| Some(Arc::new(pass))))
    },
    get: |work| work.pass.as_ref().map(ToString::to_string),
};
