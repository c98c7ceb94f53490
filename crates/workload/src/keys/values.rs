//! What it means to read and write a single value of a workload, stage, work, load or search, as native YAML has it, and the
//! kinds of value that several of them have. Each value stands beside its row in [`crate::keys::attributes`].

use std::time::Duration;

use cosmark_units::{Complaint, Plain, parse_duration_as, parse_integer, shown};

use crate::assemble::DIVISIONS;
use crate::diagnostics::suggest;
use crate::model::arrivals::Parts;
use crate::model::search::Search;
use crate::model::{Stage, Work, Workload};

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

/// Puts what was read in its place.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn put<T>(place: &mut T, read: Result<T, Complaint>) -> Result<(), Complaint> {
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
