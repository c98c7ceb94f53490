//! The tables of a study: published beside here, cells with their verdict, limits with their best rows.

mod found;

use std::collections::BTreeMap;

use cosmark_archive::Overall;

pub use found::{faults, knees};

use crate::claims::{as_level, as_printed, short, with_unit};
use crate::design::{Design, matches};
use crate::figures::axis_label;
use crate::formula::efficiency;
use crate::measured::Observation;
use crate::metric::is_bandwidth;
use crate::page::{Field, Look, Part};
use crate::published::Published;
use crate::select::{
    Found, MOST_FAILED_SHARE, Series, has_all_levels, one_sided, quantity, repetitions, series, why_none,
    without_repeats,
};
use crate::spec::{OneOrMore, Sla, Take, Where};
use crate::statistics::{interval_of_amount, interval_of_ratio, median};

/// A value over repetitions with its interval.
fn with_interval(metric: &str, values: &[f64]) -> String {
    said_with_interval(&|value| with_unit(metric, value), values)
}

fn said_with_interval(words: &dyn Fn(f64) -> String, values: &[f64]) -> String {
    let Some(middle) = median(values) else { return "-".to_owned() };
    match interval_of_amount(values) {
        Some(known) => format!("{} ({} to {})", words(middle), words(known.low), words(known.high)),
        None => words(middle),
    }
}

fn look_of(one: &Series) -> Look {
    if one.is_false() {
        Look::False
    } else if one.all.iter().any(|one| one.too_long.is_some()) {
        Look::Hollow
    } else {
        Look::Plain
    }
}

/// Every cell: what was measured, how surely, whether it can be believed. Cells that were not run say why.
#[must_use]
pub fn cells(design: &Design<'_>, all: &[Observation]) -> Part {
    let mut columns: Vec<String> = vec!["system".to_owned()];
    columns.extend(design.spec.factors.iter().map(|factor| factor.name.clone()));
    // What can be believed stands before the figures, so that it is seen wherever the page ends.
    let more =
        ["operation", "verdict", "op/s", "MB/s", "median ms", "p95 ms", "p99 ms", "failed", "runs", "why"];
    columns.extend(more.map(str::to_owned));
    let series = series(design, all);
    let shown = without_repeats(&series).into_iter();
    let mut rows: Vec<Vec<Field>> = shown.map(|one| cell_row(design, one)).collect();
    for refused in design.refused() {
        let common = refused.common();
        let mut row = vec![Field::new(design.spec.systems[refused.system].name.clone())];
        let level = |name: &String| common.get(name).cloned().unwrap_or_default();
        row.extend(design.spec.factors.iter().map(|factor| Field::new(level(&factor.name))));
        let words = format!("not run{}: {}", refused.how_many(), refused.why);
        row.push(Field::with(words, Look::NotRun));
        row.resize(columns.len(), Field::default());
        rows.push(row);
    }
    let caption = "Every cell, which is one system at one combination of levels: the median of its runs, in brackets the 95 % interval \
                   (of logarithms) where there are several. The verdict says whether the numbers can be believed: TRUE, TRUE WITH \
                   LIMITS that the last column names, NOT PROVEN where too little was measured to tell, FALSE where they are wrong. \
                   Hatched: FALSE, or its search found no load. Dashed: responses too long for the window. Points that were not \
                   run for the same reason are one row, with the levels that they share.";
    Part::Table { caption: caption.to_owned(), columns, rows }
}

/// How many points have which verdict, the worst of their runs, in a sentence; `None` before anything was measured.
#[must_use]
pub fn verdicts(design: &Design<'_>, all: &[Observation]) -> Option<String> {
    let series = series(design, all);
    let mut counts: BTreeMap<Overall, usize> = BTreeMap::new();
    for one in without_repeats(&series) {
        if let Some(worst) = one.all.iter().map(|one| one.verdict).max() {
            *counts.entry(worst).or_default() += 1;
        }
    }
    let points: usize = counts.values().sum();
    let said: Vec<String> =
        counts.iter().map(|(verdict, count)| format!("{count} {}", verdict.words())).collect();
    (points > 0).then(|| {
        format!(
            "Whether the numbers can be believed, of each operation of each point: {}, {points} in all. The table of every cell \
             says why.",
            said.join(", ")
        )
    })
}

/// What a point measured: its levels, its verdict, its figures.
fn cell_row(design: &Design<'_>, one: &Series) -> Vec<Field> {
    let level = |name: &str| one.levels.get(name).cloned().unwrap_or_default();
    let mut row: Vec<Field> = vec![Field::new(level("system"))];
    row.extend(design.spec.factors.iter().map(|factor| Field::new(level(&factor.name))));
    row.push(Field::new(level("op")));
    let worst = one.all.iter().max_by_key(|one| one.verdict);
    let verdict = worst.map_or(Overall::NotProven, |one| one.verdict);
    let word = if worst.is_some_and(|one| one.no_knee) { "no load found" } else { verdict.words() };
    row.push(Field::new(word));
    let rates = with_interval("throughput_per_s", &one.values("throughput_per_s"));
    row.push(Field::with(rates, look_of(one)));
    let bandwidth = one.values("bandwidth_bytes_per_s");
    row.push(Field::new(median(&bandwidth).map_or_else(|| "-".to_owned(), |bytes| short(bytes / 1e6))));
    for id in ["response_ms.p50", "response_ms.p95", "response_ms.p99"] {
        row.push(Field::new(median(&one.values(id)).map_or_else(|| "-".to_owned(), short)));
    }
    let failed = one.all.iter().map(|one| one.failed_share).fold(0.0, f64::max);
    let failed = if failed == 0.0 { "0".to_owned() } else { format!("{} %", short(failed * 100.0)) };
    row.push(Field::new(failed));
    row.push(Field::new(one.all.len().to_string()));
    let why = worst.and_then(|one| one.why.clone()).filter(|_| verdict != Overall::True);
    row.push(Field::new(why.unwrap_or_default()));
    row
}

/// Published, here and their ratio, for each published number whose cell was run.
#[must_use]
pub fn beside(design: &Design<'_>, all: &[Observation], published: &[Published]) -> Option<Part> {
    let mut rows = Vec::new();
    let mut missing: BTreeMap<&str, u32> = BTreeMap::new();
    for one in published {
        // A number of one system is beside each system here where the study has no system of that name.
        for system in systems_of(design, one) {
            match of_published(design, all, one, &system) {
                Ok(found) => rows.push(beside_row(design, one, &system, &found)),
                Err(why) => *missing.entry(why).or_default() += 1,
            }
        }
    }
    let missing: String = missing
        .into_iter()
        .map(|(why, count)| {
            format!(" Of {count} further published numbers {}.", why.replace("its cells", "the cells"))
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let caption = format!(
        "Published numbers and those from here. The ratio of absolute rates compares machines, not systems: read shapes and \
         ratios between rows.{missing}"
    );
    let columns =
        ["cell", "figure", "published", "here", "here / published", "table"].map(str::to_owned).to_vec();
    Some(Part::Table { caption, columns, rows })
}

fn systems_of(design: &Design<'_>, one: &Published) -> Vec<String> {
    one.cells.get("system").map_or_else(
        || design.spec.systems.iter().map(|system| system.name.clone()).collect(),
        |systems| systems.0.clone(),
    )
}

/// What stands here for a published number, by repetition, or why nothing does.
fn of_published(
    design: &Design<'_>,
    all: &[Observation],
    one: &Published,
    system: &str,
) -> Result<Vec<Found>, &'static str> {
    let (of, below) = (one.quantity(system), one.below(system));
    if below.as_ref().is_some_and(|below| one_sided(design, all, &of, below).is_some()) {
        return Err("some of its cells were measured only on one side of the ratio");
    }
    let ratio = |repetition: u32| {
        let found = quantity(design, all, &of, repetition)?;
        let Some(below) = &below else { return Some(found) };
        let below = quantity(design, all, below, repetition).filter(|below| below.value > 0.0)?;
        Some(Found {
            value: found.value / below.value,
            is_false: found.is_false || below.is_false,
            is_too_long: found.is_too_long || below.is_too_long,
        })
    };
    let found: Vec<Found> = repetitions(all).into_iter().filter_map(ratio).collect();
    let sides = || std::iter::once(&of).chain(&below);
    if !found.is_empty() {
        let is_whole = sides().all(|side| has_all_levels(all, side));
        return if is_whole { Ok(found) } else { Err("not all of its cells were run") };
    }
    let nothing = sides().find_map(|side| why_none(design, all, side));
    Err(nothing.unwrap_or("no repetition has all of its cells"))
}

fn beside_row(design: &Design<'_>, one: &Published, system: &str, found: &[Found]) -> Vec<Field> {
    let values: Vec<f64> = found.iter().map(|one| one.value).collect();
    let look = if found.iter().any(|one| one.is_false) { Look::False } else { Look::Plain };
    let ratios: Vec<f64> = values.iter().map(|value| value / one.value).collect();
    let ratio = interval_of_ratio(&ratios).map_or_else(
        || "-".to_owned(),
        |(ratio, known)| {
            known.map_or_else(
                || short(ratio),
                |known| format!("{} ({} to {})", short(ratio), short(known.low), short(known.high)),
            )
        },
    );
    let words = |cells: &Where| {
        let words = |(factor, some): (&String, &OneOrMore)| (factor.clone(), some.0.join("+"));
        design.named(&cells.iter().map(words).collect())
    };
    let mut what = axis_label(&one.metric);
    if let Some(over) = &one.over {
        what = match one.take {
            Take::Max => format!("greatest {what} over {over}"),
            Take::ArgMax => format!("{over} of the greatest {what}"),
            _ => format!("{what} over {over}"),
        };
    }
    if !one.to.is_empty() {
        what = format!("{what}, ratio to {}", words(&one.to));
    }
    let is_level = one.take == Take::ArgMax && one.to.is_empty();
    let has_unit = one.take != Take::ArgMax && one.to.is_empty();
    let metric = if has_unit { one.metric.as_str() } else { "" };
    let here = if is_level { said_with_interval(&as_level, &values) } else { with_interval(metric, &values) };
    vec![
        Field::new(words(&one.quantity(system).cells)),
        Field::new(what),
        Field::new(if is_bandwidth(metric) { with_unit(metric, one.value) } else { as_printed(one.value) }),
        Field::with(here, look),
        Field::new(ratio),
        Field::new(one.table.clone()),
    ]
}

/// The tables of limits: response time and throughput over the load, the best row within the limit marked.
#[must_use]
pub fn slas(design: &Design<'_>, all: &[Observation]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut series = series(design, all);
    // The table of every cell has those whose run cannot be read.
    series.retain(|one| one.levels.contains_key("op"));
    for sla in &design.spec.slas {
        let own: Vec<&Series> = series.iter().filter(|one| matches(&sla.cells, &one.levels)).collect();
        let mut groups: BTreeMap<String, Vec<&Series>> = BTreeMap::new();
        for one in own {
            let mut rest = one.levels.clone();
            rest.remove(&sla.over);
            groups.entry(design.named(&rest)).or_default().push(one);
        }
        parts.extend(groups.into_iter().map(|(name, some)| sla_table(sla, &name, &some)));
    }
    parts
}

fn sla_table(sla: &Sla, name: &str, some: &[&Series]) -> Part {
    let p95 = |one: &Series| median(&one.values("response_ms.p95"));
    let rate = |one: &Series| median(&one.values("throughput_per_s"));
    let within = |one: &Series| {
        let failed = one.all.iter().map(|one| one.failed_share).fold(0.0, f64::max);
        if one.is_false() {
            return "not known: FALSE".to_owned();
        }
        if failed > MOST_FAILED_SHARE {
            return format!("no: {} % failed", short(failed * 100.0));
        }
        let word = |p95: f64| if p95 <= sla.p95_ms { "yes" } else { "no" };
        p95(one).map_or("not known: too few operations", word).to_owned()
    };
    let best = some
        .iter()
        .filter(|one| within(one) == "yes")
        .max_by(|a, b| rate(a).unwrap_or(0.0).total_cmp(&rate(b).unwrap_or(0.0)));
    let best_level = best.and_then(|one| one.levels.get(&sla.over).cloned());
    let rows = some
        .iter()
        .map(|one| {
            let level = one.levels.get(&sla.over).cloned().unwrap_or_default();
            let is_best = best_level.as_ref() == Some(&level);
            let look = if is_best { Look::Best } else { look_of(one) };
            vec![
                Field::with(level, look),
                Field::new(p95(one).map_or_else(|| "-".to_owned(), short)),
                Field::with(rate(one).map_or_else(|| "-".to_owned(), short), look),
                Field::new(within(one)),
            ]
        })
        .collect();
    let published =
        sla.published.as_ref().map(|level| format!(" Published best row: {level}.")).unwrap_or_default();
    let here = best_level
        .map_or_else(|| " No row here is within it.".to_owned(), |level| format!(" Best row here: {level}."));
    let note = sla.note.as_ref().map(|note| format!(" {note}")).unwrap_or_default();
    let columns = [sla.over.as_str(), "p95 (ms)", "op/s", "within the limit"].map(str::to_owned).to_vec();
    Part::Table {
        caption: format!("{name}: p95 <= {} ms ({}).{here}{published}{note}", short(sla.p95_ms), sla.name),
        columns,
        rows,
    }
}

/// A table of efficiencies: each formula at each level, with its geometric mean.
#[must_use]
pub fn efficiencies(design: &Design<'_>, all: &[Observation]) -> Option<Part> {
    let mut rows = Vec::new();
    for one in &design.spec.efficiencies {
        let factor = design.spec.factors.iter().find(|factor| factor.name == one.over)?;
        let (mut means, mut is_doubted) = (Vec::new(), false);
        for level in factor.levels.iter().map(crate::spec::Level::name) {
            let (values, is_false) = efficiency(design, all, one, level);
            let Some((mean, known)) = interval_of_ratio(&values) else { continue };
            means.push(mean);
            is_doubted |= is_false;
            let text = known.map_or_else(
                || short(mean),
                |known| format!("{} ({} to {})", short(mean), short(known.low), short(known.high)),
            );
            let look = if is_false { Look::False } else { Look::Plain };
            rows.push(vec![
                Field::new(one.name.clone()),
                Field::new(level),
                Field::with(text, look),
                Field::default(),
            ]);
        }
        if let Some((mean, _)) = interval_of_ratio(&means) {
            let published = one.published.map(as_printed).unwrap_or_default();
            let note = one.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
            let look = if is_doubted { Look::False } else { Look::Plain };
            rows.push(vec![
                Field::new(format!("{}{note}", one.name)),
                Field::new("geometric mean"),
                Field::with(short(mean), look),
                Field::new(published),
            ]);
        }
    }
    let columns = ["formula", "level", "here", "published"].map(str::to_owned).to_vec();
    let caption = "Efficiency: one value for each level; the mean over them only beside. A published value is of the levels that the \
                   formula's note names, or of all that were published, and not of those that were run here."
        .to_owned();
    (!rows.is_empty()).then_some(Part::Table { caption, columns, rows })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]
mod tests;
