//! A stage: its rows, and how each single value is read and written.

use cosmark_units::duration_text;

use super::{AUTH, AttributeRow, CONFIG, DEFAULTS, STORAGE, TRIGGER, row};
use crate::keys::ValueKind;
use crate::keys::values::{Access, Value, parse_time, put};
use crate::model::Stage;

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
    .access(Access::Stage(CLOSURE_DELAY)),
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
        "What is made to fail while the load runs, healed again, and judged by what it costs. Types \
         `agent` and `none` also over NATS (`cosmark run --nats`) and through a controller; every other type only where one `cosmark \
         run` makes the load itself.",
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

const CLOSURE_DELAY: Value<Stage> = Value {
    set: |stage, text| put(&mut stage.closure_delay, parse_time(text)),
    get: |stage| Some(duration_text(stage.closure_delay)),
};
