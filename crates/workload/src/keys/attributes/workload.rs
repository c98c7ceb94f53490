//! The workload itself: its rows, and how each single value is read and written.

use std::time::Duration;

use cosmark_units::{duration_text, parse_integer, shown};

use super::{AUTH, AttributeRow, CONFIG, DEFAULTS, STORAGE, TRIGGER, row};
use crate::keys::ValueKind;
use crate::keys::values::{Access, Value, parse_time};
use crate::model::{LossRule, OnDriverLoss, Workload};
use crate::plan::drivers::DriversWanted;

/// The workload itself.
pub const WORKLOAD: &[AttributeRow] = &[
    row(("name", "name"), ValueKind::Text, "required", "Name of the workload and of its archive."),
    row(("description", "description"), ValueKind::Text, "", "Free text.")
        .access(Access::Workload(DESCRIPTION)),
    row(
        ("", "seed"),
        ValueKind::Integer,
        "drawn and recorded",
        "Seed of every random choice; the same seed gives the same requests, over any number of drivers and threads. Each worker has a stream of its own: with another number of workers the first ones choose as before, and share the work differently.",
    )
    .access(Access::Workload(SEED)),
    row(
        ("", "drivers"),
        ValueKind::Nested("drivers"),
        "all that are not drained",
        "How many drivers, or which, by labels or names: `3`, `zone=a`, `3,zone=a`, or `{count: 3, labels: zone=a, wait: 2m}`. The \
         run waits for them in the queue; after `wait` (2m) it ends with the reason.",
    )
    .access(Access::Workload(DRIVERS)),
    row(
        ("", "on_driver_loss"),
        ValueKind::Words(&["fail", "continue"]),
        "fail",
        "When a driver is lost: stop, or go on without it and say what is missing.",
    )
    .access(Access::Workload(ON_DRIVER_LOSS)),
    row(
        ("", "lost_after"),
        ValueKind::Duration,
        "20s",
        "A driver of which nothing is heard for this long is lost.",
    )
    .access(Access::Workload(LOST_AFTER)),
    row(
        ("", "check"),
        ValueKind::Words(&["durability"]),
        "",
        "`durability`: keep a ledger of what the store acknowledges, and read all of it back after the load, before stages that only \
         delete: what is lost, corrupt, stale or back is named.",
    )
    .access(Access::Workload(CHECK)),
    row(
        ("", "settle"),
        ValueKind::Duration,
        "10s",
        "What looks broken at `check` is looked at again after so long, and ghosts of listings three times within six times that; \
         `0s`: not. Listings of a stage have six times as long from its beginning before they must hold what was prepared \
         (without it Swift's any time, those of other stores none). A day at most.",
    )
    .access(Access::Workload(SETTLE)),
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
         proxy, type: ssh, host: me@proxy1}`. `cosmark adaptors` lists the types and their keys; `links: {eth0: 40Mbit/s}` says \
         how fast an interface is.",
    ),
    row(
        ("", "consistency"),
        ValueKind::Nested("consistency"),
        "",
        "What every stage with normal works probes beside its load that does not say it itself.",
    ),
    row(("", "stages"), ValueKind::Nested("stages"), "required", "The stages, run one after another."),
];

/// Shorter silences are those of a busy machine.
const LEAST_LOST_AFTER: Duration = Duration::from_secs(3);

/// Nobody waits longer for a listing.
const MOST_SETTLE: Duration = Duration::from_secs(86_400);

const DESCRIPTION: Value<Workload> = Value {
    set: |workload, text| {
        workload.description = Some(text.to_owned());
        Ok(())
    },
    get: |workload| workload.description.clone(),
};

const SEED: Value<Workload> = Value {
    set: |workload, text| {
        workload.seed = Some(parse_integer(text).ok_or_else(|| {
            let message = format!("the seed `{}` is not a whole number", shown(text));
            (message, "write a number from 0 to 18446744073709551615".to_owned())
        })?);
        Ok(())
    },
    get: |workload| workload.seed.map(|seed| seed.to_string()),
};

const DRIVERS: Value<Workload> = Value {
    set: |workload, text| {
        let wanted = DriversWanted::of_text(text)?;
        workload.drivers = DriversWanted { wait: workload.drivers.wait, ..wanted };
        Ok(())
    },
    get: |workload| (workload.drivers != DriversWanted::default()).then(|| workload.drivers.to_string()),
};

const ON_DRIVER_LOSS: Value<Workload> = Value {
    set: |workload, text| {
        workload.loss.on_loss = OnDriverLoss::of_word(text).ok_or_else(|| {
            (format!("unknown on_driver_loss `{}`", shown(text)), "known: fail continue".to_owned())
        })?;
        Ok(())
    },
    get: |workload| {
        let on_loss = workload.loss.on_loss;
        (on_loss != LossRule::default().on_loss).then(|| on_loss.word().to_owned())
    },
};

const CHECK: Value<Workload> = Value {
    set: |workload, text| match text {
        "durability" => {
            workload.durability = true;
            Ok(())
        }
        _ => Err((format!("unknown check `{}`", shown(text)), "known: durability".to_owned())),
    },
    get: |workload| workload.durability.then(|| "durability".to_owned()),
};

const SETTLE: Value<Workload> = Value {
    set: |workload, text| {
        let time = parse_time(text)?;
        if time > MOST_SETTLE {
            return Err((
                format!("settle `{}` is longer than a day", shown(text)),
                "give at most 24h".to_owned(),
            ));
        }
        workload.settle = Some(time);
        Ok(())
    },
    get: |workload| workload.settle.map(duration_text),
};

const LOST_AFTER: Value<Workload> = Value {
    set: |workload, text| {
        let time = parse_time(text)?;
        if time < LEAST_LOST_AFTER {
            let message =
                format!("lost_after `{}` is shorter than the pauses of a busy machine", shown(text));
            return Err((message, format!("give at least {LEAST_LOST_AFTER:?}")));
        }
        workload.loss.lost_after = time;
        Ok(())
    },
    get: |workload| {
        let time = workload.loss.lost_after;
        (time != LossRule::default().lost_after).then(|| duration_text(time))
    },
};
