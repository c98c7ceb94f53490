//! How each single value of a workload, stage, work, load or search is read and written, as native YAML has it; the tables
//! of [`crate::keys::attributes`] name them. Reading and writing stand side by side: what is written is read back.

use std::sync::Arc;
use std::time::Duration;

use cosmark_units::{
    Complaint, Plain, bytes_text, duration_text, parse_bool, parse_duration_as, parse_integer, parse_rate,
    parse_size, rate_text, shown,
};

use crate::assemble::{DIVISIONS, division_word};
use crate::diagnostics::suggest;
use crate::model::arrivals::{Parts, arrivals_text, parse_arrivals, parse_when_full, when_full_text};
use crate::model::search::{MOST_TRIALS, Search, parse_width};
use crate::model::{LossRule, OnDriverLoss, Stage, Work, Workload};
use crate::plan::drivers::DriversWanted;

/// How one value of a `T` is read and written.
#[derive(Debug)]
pub(crate) struct Value<T> {
    /// Reads it.
    pub(crate) set: fn(&mut T, &str) -> Result<(), Complaint>,
    /// What to write to get it back; `None` when there is nothing to write.
    pub(crate) get: fn(&T) -> Option<String>,
}

impl<T> Clone for Value<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Value<T> {}

/// Whose value it is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Access {
    /// No single value, or one that decides what the others mean: a reader has its own way.
    Own,
    Workload(Value<Workload>),
    Stage(Value<Stage>),
    Work(Value<Work>),
    Load(Value<Parts>),
    Search(Value<Search>),
}

// ---- the workload -----------------------------------------------------------------------------------------------

pub(crate) const DESCRIPTION: Value<Workload> = Value {
    set: |workload, text| {
        workload.description = Some(text.to_owned());
        Ok(())
    },
    get: |workload| workload.description.clone(),
};

pub(crate) const SEED: Value<Workload> = Value {
    set: |workload, text| {
        workload.seed = Some(parse_integer(text).ok_or_else(|| {
            let message = format!("the seed `{}` is not a whole number", shown(text));
            (message, "write a number from 0 to 18446744073709551615".to_owned())
        })?);
        Ok(())
    },
    get: |workload| workload.seed.map(|seed| seed.to_string()),
};

pub(crate) const DRIVERS: Value<Workload> = Value {
    set: |workload, text| {
        let wanted = DriversWanted::of_text(text)?;
        workload.drivers = DriversWanted { wait: workload.drivers.wait, ..wanted };
        Ok(())
    },
    get: |workload| (workload.drivers != DriversWanted::default()).then(|| workload.drivers.to_string()),
};

pub(crate) const ON_DRIVER_LOSS: Value<Workload> = Value {
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

pub(crate) const CHECK: Value<Workload> = Value {
    set: |workload, text| match text {
        "durability" => {
            workload.durability = true;
            Ok(())
        }
        _ => Err((format!("unknown check `{}`", shown(text)), "known: durability".to_owned())),
    },
    get: |workload| workload.durability.then(|| "durability".to_owned()),
};

/// Shorter silences are those of a busy machine.
const LEAST_LOST_AFTER: Duration = Duration::from_secs(3);

pub(crate) const LOST_AFTER: Value<Workload> = Value {
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

// ---- a stage ----------------------------------------------------------------------------------------------------

pub(crate) const CLOSURE_DELAY: Value<Stage> = Value {
    set: |stage, text| put(&mut stage.closure_delay, parse_time(text)),
    get: |stage| Some(duration_text(stage.closure_delay)),
};

// ---- a work -----------------------------------------------------------------------------------------------------

pub(crate) const WORKERS: Value<Work> = Value {
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

pub(crate) const INTERVAL: Value<Work> = Value {
    set: |work, text| put(&mut work.interval, parse_time(text)),
    get: |work| Some(duration_text(work.interval)),
};

pub(crate) const DIVISION: Value<Work> = Value {
    set: |work, text| {
        work.division = parse_division(text)?;
        work.operations.iter_mut().for_each(|operation| operation.division = work.division);
        Ok(())
    },
    get: |work| Some(division_word(work.division).to_owned()),
};

pub(crate) const RUNTIME: Value<Work> = Value {
    set: |work, text| put(&mut work.runtime, parse_time(text)),
    get: |work| Some(duration_text(work.runtime)),
};

pub(crate) const RAMPUP: Value<Work> = Value {
    set: |work, text| put(&mut work.rampup, parse_time(text)),
    get: |work| Some(duration_text(work.rampup)),
};

pub(crate) const RAMPDOWN: Value<Work> = Value {
    set: |work, text| put(&mut work.rampdown, parse_time(text)),
    get: |work| Some(duration_text(work.rampdown)),
};

pub(crate) const ACCEPTABLE_FAILURE_RATIO: Value<Work> = Value {
    set: |work, text| put(&mut work.afr_per_million, parse_share(text)),
    get: |work| Some((f64::from(work.afr_per_million) / 1e6).to_string()),
};

pub(crate) const TOTAL_OPS: Value<Work> = Value {
    set: |work, text| put(&mut work.total_ops, parse_whole(text).map(limit)),
    get: |work| work.total_ops.map(|total| total.to_string()),
};

pub(crate) const TOTAL_BYTES: Value<Work> = Value {
    set: |work, text| put(&mut work.total_bytes, parse_size(text).map(limit)),
    get: |work| work.total_bytes.map(bytes_text),
};

pub(crate) const DRIVER: Value<Work> = Value {
    set: |work, text| {
        let name = text.trim();
        work.driver = (!name.is_empty() && name != "none").then(|| name.to_owned());
        Ok(())
    },
    get: |work| work.driver.clone(),
};

pub(crate) const HISTOGRAM: Value<Work> = Value {
    set: |work, text| {
        let message = || format!("histogram is neither true nor false: `{}`", shown(text));
        put(
            &mut work.histogram,
            parse_bool(text).ok_or_else(|| (message(), "write true or false".to_owned())),
        )
    },
    get: |work| Some(work.histogram.to_string()),
};

pub(crate) const PASS: Value<Work> = Value {
    set: |work, text| {
        let read = text.parse().map_err(|problem| {
            let hint = "it is written by Cosmark: write a stage with fill: instead".to_owned();
            (format!("the pass over a data set cannot be read: {problem}"), hint)
        });
        put(&mut work.pass, read.map(|pass| Some(Arc::new(pass))))
    },
    get: |work| work.pass.as_ref().map(ToString::to_string),
};

// ---- its load ---------------------------------------------------------------------------------------------------

pub(crate) const RATE: Value<Parts> = Value {
    set: |parts, text| put(&mut parts.arrivals, parse_arrivals(text, Plain::Refused).map(Some)),
    get: |parts| parts.arrivals.as_ref().map(arrivals_text),
};

pub(crate) const WHEN_FULL: Value<Parts> = Value {
    set: |parts, text| put(&mut parts.when_full, parse_when_full(text).map(Some)),
    get: |parts| {
        parts.when_full.filter(|word| *word != Default::default()).map(|word| when_full_text(word).to_owned())
    },
};

pub(crate) const THINK_TIME: Value<Parts> = Value {
    set: |parts, text| put(&mut parts.think_time, parse_time(text).map(Some)),
    get: |parts| parts.think_time.map(duration_text),
};

pub(crate) const RATE_PER_WORKER: Value<Parts> = Value {
    set: |parts, text| put(&mut parts.rate_per_worker, parse_rate(text).map(Some)),
    get: |parts| parts.rate_per_worker.map(rate_text),
};

// ---- a search ---------------------------------------------------------------------------------------------------

pub(crate) const WIDTH: Value<Search> = Value {
    set: |search, text| put(&mut search.width, parse_width(text)),
    get: |search| Some(search.width.to_string()),
};

pub(crate) const EXTEND: Value<Search> = Value {
    set: |search, text| put(&mut search.extend, trials(text).map(|number| number.max(1))),
    get: |search| Some(search.extend.to_string()),
};

pub(crate) const CONFIRM: Value<Search> = Value {
    set: |search, text| put(&mut search.confirm, trials(text)),
    get: |search| Some(search.confirm.to_string()),
};

pub(crate) const MAX_TRIALS: Value<Search> = Value {
    set: |search, text| put(&mut search.max_trials, trials(text).map(|number| number.max(1))),
    get: |search| Some(search.max_trials.to_string()),
};

pub(crate) const MAX_TIME: Value<Search> = Value {
    set: |search, text| put(&mut search.max_time, parse_time(text)),
    get: |search| Some(duration_text(search.max_time)),
};

// ---- kinds of value ---------------------------------------------------------------------------------------------

fn put<T>(place: &mut T, read: Result<T, Complaint>) -> Result<(), Complaint> {
    *place = read?;
    Ok(())
}

/// A time that says its unit.
///
/// # Errors
/// What is wrong with it and how to write it.
pub(crate) fn parse_time(text: &str) -> Result<Duration, Complaint> {
    parse_duration_as(text, Plain::Refused)
}

/// 0 is no limit.
fn limit(number: u64) -> Option<u64> {
    (number > 0).then_some(number)
}

/// `none`, `container` or `object`.
pub(crate) fn parse_division(text: &str) -> Result<crate::model::Division, Complaint> {
    let word = text.trim();
    DIVISIONS.iter().find(|row| row.0 == word).map(|row| row.1).ok_or_else(|| {
        let hint = suggest::hint(word, DIVISIONS.iter().map(|row| row.0));
        (format!("unrecognized division strategy: {}", shown(word)), hint)
    })
}

/// A whole number.
pub(crate) fn parse_whole(text: &str) -> Result<u64, Complaint> {
    parse_integer(text).ok_or_else(|| {
        (
            format!("`{}` is not a whole number", shown(text)),
            "write decimal digits, without a sign".to_owned(),
        )
    })
}

/// A share of 1, in parts per million.
pub(crate) fn parse_share(text: &str) -> Result<u32, Complaint> {
    let share = text.trim().parse::<f64>().ok().filter(|s| (0.0..=1.0).contains(s));
    share.map(|s| (s * 1e6).round() as u32).ok_or_else(|| {
        let message = format!("`{}` is not a share from 0 to 1", shown(text));
        (message, "write 0.2 for 20 %".to_owned())
    })
}

fn trials(text: &str) -> Result<u32, Complaint> {
    let number = u32::try_from(parse_whole(text)?).ok().filter(|number| *number <= MOST_TRIALS);
    number.ok_or_else(|| (format!("`{}` is too many", shown(text)), format!("at most {MOST_TRIALS}")))
}
