//! Levels across a picture: a number, a published one, what cells came to, or a limit of response times.

use cosmark_report::plot::chart::{Mark, Series};

use super::{Subject, scale_of};
use crate::claims::short;
use crate::metric::RAW;
use crate::published::Published;
use crate::select::{Found, quantity, repetitions, why_none};
use crate::spec::{Limit, Quantity};
use crate::statistics::median;

/// The levels of a picture, and what is to be said of those that are not known.
pub fn series(subject: &Subject<'_>, drawn: &[Series]) -> (Vec<Series>, Vec<String>) {
    let x = drawn.iter().flat_map(|one| &one.points).map(|(x, _)| *x).find(|x| x.is_finite()).unwrap_or(1.0);
    let (mut found, mut without) = (Vec::new(), Vec::new());
    for limit in &subject.figure.limits {
        match level(subject, limit) {
            // An axis by decades has no place for it.
            Ok((level, _)) if subject.figure.log && level <= 0.0 => {
                without.push(format!("{} is 0, which an axis by decades does not have", limit.name));
            }
            Ok((level, is_false)) => {
                let doubt = if is_false { ", FALSE" } else { "" };
                let name = format!("{}: {}{doubt}", limit.name, short(level));
                found.push(Series::new(name, found.len(), Mark::Limit, vec![(x, level)]));
            }
            Err(why) => without.push(format!("{}: {why}", limit.name)),
        }
    }
    (found, without)
}

/// A level in the unit of the picture, and whether a cell that it comes from is FALSE.
fn level(subject: &Subject<'_>, limit: &Limit) -> Result<(f64, bool), &'static str> {
    let figure = subject.figure;
    // A ratio has no unit.
    let unit = if figure.to.is_some() { 1.0 } else { scale_of(&figure.metric) };
    if let Some(value) = limit.value {
        return Ok((value * limit.times * unit, false));
    }
    if let Some(cells) = &limit.published {
        // A ratio is no level of what it is a ratio of.
        let to = figure.to.as_ref().map(|base| base.cells.clone()).unwrap_or_default();
        let fits = |one: &&Published| one.metric == figure.metric && one.cells == *cells && one.to == to;
        let value = subject.published.iter().find(fits).ok_or("no such number was published")?.value;
        return Ok((value * limit.times * unit, false));
    }
    if let Some(of) = &limit.of {
        let (value, is_false) = measured(subject, of)?;
        return Ok((value * limit.times * scale_of(&of.metric), is_false));
    }
    let sla = subject.design.spec.slas.iter().find(|sla| limit.sla.as_ref() == Some(&sla.name));
    Ok((sla.ok_or("there is no such limit")?.p95_ms * limit.times, false))
}

fn measured(subject: &Subject<'_>, of: &Quantity) -> Result<(f64, bool), &'static str> {
    let (design, all) = (subject.design, subject.all);
    let found: Vec<Found> =
        repetitions(all).into_iter().filter_map(|repetition| quantity(design, all, of, repetition)).collect();
    let values: Vec<f64> = found.iter().map(|one| one.value).collect();
    let value = median(&values).filter(|value| value.is_finite());
    let is_raw = RAW.iter().any(|(id, _)| *id == of.metric);
    let was_run = all.iter().any(|one| one.is_in(&of.cells));
    let why = || match why_none(design, all, of) {
        Some(_) if is_raw && was_run => "no baseline of the machines was in the archive",
        why => why.unwrap_or("no repetition has all of its cells"),
    };
    Ok((value.ok_or_else(why)?, found.iter().any(|one| one.is_false)))
}
