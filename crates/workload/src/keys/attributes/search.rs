//! A search for the highest load: its rows, and how each single value is read and written.

use cosmark_units::{Complaint, duration_text, shown};

use super::{AttributeRow, row};
use crate::keys::ValueKind;
use crate::keys::values::{Access, Value, parse_time, parse_whole, put};
use crate::model::search::{MOST_TRIALS, Search, parse_width};

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
        .access(Access::Search(WIDTH)),
    row(
        ("", "extend"),
        ValueKind::Count,
        "3",
        "A trial that decides nothing is run again and the results are put together, up to so many; then the load is left open.",
    )
    .access(Access::Search(EXTEND)),
    row(
        ("", "confirm"),
        ValueKind::Integer,
        "3",
        "Fresh trials at both ends of the answer: those at the answer have to pass, those above it to miss.",
    )
    .access(Access::Search(CONFIRM)),
    row(("", "max_trials"), ValueKind::Count, "60", "No more trials.")
        .access(Access::Search(MAX_TRIALS)),
    row(("", "max_time"), ValueKind::Duration, "24h", "No trial begins later.")
        .access(Access::Search(MAX_TIME)),
];

const WIDTH: Value<Search> = Value {
    set: |search, text| put(&mut search.width, parse_width(text)),
    get: |search| Some(search.width.to_string()),
};

const EXTEND: Value<Search> = Value {
    set: |search, text| put(&mut search.extend, trials(text).map(|number| number.max(1))),
    get: |search| Some(search.extend.to_string()),
};

const CONFIRM: Value<Search> = Value {
    set: |search, text| put(&mut search.confirm, trials(text)),
    get: |search| Some(search.confirm.to_string()),
};

const MAX_TRIALS: Value<Search> = Value {
    set: |search, text| put(&mut search.max_trials, trials(text).map(|number| number.max(1))),
    get: |search| Some(search.max_trials.to_string()),
};

const MAX_TIME: Value<Search> = Value {
    set: |search, text| put(&mut search.max_time, parse_time(text)),
    get: |search| Some(duration_text(search.max_time)),
};

fn trials(text: &str) -> Result<u32, Complaint> {
    let number = u32::try_from(parse_whole(text)?).ok().filter(|number| *number <= MOST_TRIALS);
    number.ok_or_else(|| (format!("`{}` is too many", shown(text)), format!("at most {MOST_TRIALS}")))
}
