//! The value of an efficiency at a level of its factor.

use crate::design::Design;
use crate::measured::Observation;
use crate::select::{Found, quantity, repetitions};
use crate::spec::{Efficiency, OneOrMore, Quantity};

/// The value of a formula at a level, by repetition, and whether a cell of it is FALSE.
#[must_use]
pub fn efficiency(
    design: &Design<'_>,
    all: &[Observation],
    one: &Efficiency,
    level: &str,
) -> (Vec<f64>, bool) {
    let found: Vec<Found> = repetitions(all)
        .into_iter()
        .filter_map(|repetition| at(design, all, one, level, repetition))
        .collect();
    (found.iter().map(|one| one.value).collect(), found.iter().any(|one| one.is_false))
}

/// The same at one repetition; `None` where a part of it was not measured.
fn at(
    design: &Design<'_>,
    all: &[Observation],
    one: &Efficiency,
    level: &str,
    repetition: u32,
) -> Option<Found> {
    let part = |wanted: &Quantity| {
        let mut own = wanted.clone();
        own.cells.insert(one.over.clone(), OneOrMore(vec![level.to_owned()]));
        quantity(design, all, &own, repetition)
    };
    let (of, to) = (part(&one.of)?, part(&one.to).filter(|to| to.value > 0.0)?);
    let plus = one.plus.as_ref().map(part);
    let more = match plus {
        None => Found { value: 0.0, is_false: false, is_too_long: false },
        Some(more) => more?,
    };
    Some(Found {
        value: one.times * (of.value + more.value * one.plus_times) / to.value,
        is_false: of.is_false || more.is_false || to.is_false,
        is_too_long: of.is_too_long || more.is_too_long || to.is_too_long,
    })
}
