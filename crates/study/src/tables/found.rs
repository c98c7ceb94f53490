//! What searches found and what faults cost: a row for each cell, also for one whose search found nothing.

use super::{look_of, with_interval};
use crate::claims::short;
use crate::design::Design;
use crate::knee::UNSETTLED;
use crate::measured::Observation;
use crate::metric::{fault_figure, own_title};
use crate::page::{Field, Look, Part};
use crate::select::{Series, series};
use crate::statistics::median;

/// The names of a point's columns.
fn columns_of(design: &Design<'_>, more: &[&str]) -> Vec<String> {
    let factors = design.spec.factors.iter().map(|factor| factor.name.clone());
    let first = std::iter::once("system".to_owned()).chain(factors);
    first.chain(more.iter().map(|name| (*name).to_owned())).collect()
}

/// System and levels of a point.
fn levels_of(design: &Design<'_>, one: &Series) -> Vec<Field> {
    let factors = design.spec.factors.iter().map(|factor| factor.name.as_str());
    let names = std::iter::once("system").chain(factors);
    names.map(|name| Field::new(one.levels.get(name).cloned().unwrap_or_default())).collect()
}

/// What each search found: the load at its knee, the lowest that missed, and how the store answered there; `None`
/// without searches.
#[must_use]
pub fn knees(design: &Design<'_>, all: &[Observation]) -> Option<Part> {
    let mut rows = Vec::new();
    for one in series(design, all) {
        let known = |id: &str| one.values(id);
        if known("knee_trials").is_empty() {
            continue;
        }
        let of_rate = known("knee_per_s");
        let (loads, unit) =
            if of_rate.is_empty() { (known("knee_workers"), "workers") } else { (of_rate, "/s") };
        let look = look_of(&one);
        let mut row = levels_of(design, &one);
        row.push(Field::new(one.levels.get("op").cloned().unwrap_or_default()));
        let load = with_interval("knee_per_s", &loads);
        row.push(Field::with(if loads.is_empty() { load } else { format!("{load} {unit}") }, look));
        row.push(Field::new(missed(&one, loads.len())));
        for id in ["throughput_per_s", "response_ms.mean", "response_ms.p95", "knee_trials"] {
            // Trials are counted.
            let words = if id == "knee_trials" { |value: f64| format!("{value:.0}") } else { short };
            row.push(Field::new(median(&known(id)).map_or_else(|| "-".to_owned(), words)));
        }
        let found = one.all.iter().filter(|one| !one.no_knee && !one.unreadable).count();
        row.push(Field::new(format!("{found} of {}", one.all.len())));
        let why = one.all.iter().find(|one| one.no_knee).and_then(|one| one.why.clone());
        // A knee that is not settled says why, too.
        let open = || one.all.iter().find_map(|one| one.why.clone().filter(|why| why.starts_with(UNSETTLED)));
        // One that is FALSE for another reason says it among all cells.
        let is_false = look == Look::False && why.is_some();
        row.push(Field::with(
            why.or_else(open).unwrap_or_default(),
            if is_false { Look::False } else { Look::Plain },
        ));
        rows.push(row);
    }
    let more = [
        "operation",
        "load at the knee",
        "missed at",
        "op/s there",
        "mean ms there",
        "p95 ms there",
        "trials",
        "runs that found one",
        "remark",
    ];
    let caption = "The highest load that met the thresholds, the median of the runs that found one, in brackets the 95 % interval \
                   (of logarithms); the other figures are those of the trial at that load. Hatched: FALSE, or a run found none."
        .to_owned();
    (!rows.is_empty()).then(|| Part::Table { caption, columns: columns_of(design, &more), rows })
}

/// The lowest load above the knee that missed the thresholds, in as many of the `found` runs as have one.
fn missed(one: &Series, found: usize) -> String {
    let missed = one.values("knee_missed_at");
    match (median(&missed), median(&one.values("knee_highest"))) {
        (Some(load), _) if missed.len() < found => {
            format!("{} in {} of {found} runs", short(load), missed.len())
        }
        (Some(load), _) => short(load),
        (None, Some(highest)) => format!("none up to {}", short(highest)),
        (None, None) => "-".to_owned(),
    }
}

/// What faults cost at each point: a row for each figure; `None` without faults.
#[must_use]
pub fn faults(design: &Design<'_>, all: &[Observation]) -> Option<Part> {
    let mut rows = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for one in series(design, all) {
        let mut ids: Vec<&String> = one.all.iter().flat_map(|one| one.values.keys()).collect();
        // With the name of the fault: the shorter id is the same figure. All operations of a point have the same.
        ids.retain(|id| fault_figure(id).is_some_and(|(_, fault)| fault.is_some()));
        ids.sort_by_key(|id| order_of(id));
        ids.dedup();
        let mut point = one.levels.clone();
        point.remove("op");
        if ids.is_empty() || !seen.insert(point) {
            continue;
        }
        for id in ids {
            let values = one.values(id);
            let mut row = levels_of(design, &one);
            row.push(Field::new(own_title(id).unwrap_or_else(|| id.clone())));
            row.push(Field::with(with_interval(id, &values), look_of(&one)));
            row.push(Field::new(values.len().to_string()));
            rows.push(row);
        }
    }
    let caption = "What each fault cost: the median over runs of the mean of the slots that count, in brackets the 95 % interval over \
                   runs (of logarithms). A fault that was never there makes its cell one that cannot be read."
        .to_owned();
    let columns = columns_of(design, &["figure", "here", "runs"]);
    (!rows.is_empty()).then_some(Part::Table { caption, columns, rows })
}

/// By fault, then in the order in which figures of a slot are shown.
fn order_of(id: &str) -> (String, usize) {
    let Some((row, fault)) = fault_figure(id) else { return (String::new(), usize::MAX) };
    let place = cosmark_metrics::SLOT_FIGURES.iter().position(|one| one.figure == row.figure);
    (fault.unwrap_or_default().to_owned(), place.unwrap_or(usize::MAX))
}
