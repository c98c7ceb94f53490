//! Which cells of a picture have no figures.

use std::collections::{BTreeMap, BTreeSet};

use super::Subject;
use crate::design::{Levels, matches};
use crate::metric::bin_id;
use crate::spec::{FigureKind, Where};

/// As many are named.
const MOST_NAMED: usize = 4;

/// The points that a picture asks for.
#[derive(Default)]
struct Points {
    /// How many of them are run.
    planned: usize,
    /// Names of those that are run and have no figures.
    without: Vec<String>,
    /// Why the others are not run, by name.
    refused: BTreeMap<String, String>,
}

fn points(subject: &Subject<'_>) -> Points {
    let mut asked = asked(subject);
    asked.dedup();
    let (mut found, mut seen) = (Points::default(), BTreeSet::new());
    for (cells, metric) in &asked {
        let measured: BTreeSet<&Levels> = subject
            .all
            .iter()
            .filter(|one| !one.unreadable && one.is_in(cells) && one.values.contains_key(metric))
            .map(|one| &one.levels)
            .collect();
        for cell in &subject.design.cells {
            for point in &cell.points {
                let mut levels = cell.levels.clone();
                levels.extend(point.levels.clone());
                levels.insert("system".to_owned(), subject.design.spec.systems[cell.system].name.clone());
                if !matches(cells, &levels) {
                    continue;
                }
                let name = subject.design.named(&levels);
                if let Some(why) = &point.refused {
                    found.refused.entry(name).or_insert_with(|| why.clone());
                    continue;
                }
                found.planned += 1;
                if !measured.contains(&levels) && seen.insert(name.clone()) {
                    found.without.push(name);
                }
            }
        }
    }
    found
}

/// The cells of a picture that are run and of which nothing can be drawn, as words; `None` where all of them have figures.
pub fn words(subject: &Subject<'_>) -> Option<String> {
    let Points { planned, mut without, refused } = points(subject);
    if planned == 0 {
        let scale = &subject.design.choice.scale;
        let elsewhere = || format!("none of its cells was chosen or is part of the scale {scale}");
        return Some(
            refused.values().next().map_or_else(elsewhere, |why| format!("nothing of it is run: {why}")),
        );
    }
    let more = match without.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    without.truncate(MOST_NAMED);
    (!without.is_empty()).then(|| format!("no figures of {}{more}", without.join(", ")))
}

/// How many points of a picture are not run, as words; `None` where all are. Why stands among all cells.
pub fn not_run(subject: &Subject<'_>) -> Option<String> {
    match points(subject).refused.len() {
        0 => None,
        1 => Some("1 point is not run".to_owned()),
        many => Some(format!("{many} points are not run")),
    }
}

/// The cells and the figure of each part of a picture.
fn asked(subject: &Subject<'_>) -> Vec<(Where, String)> {
    let figure = subject.figure;
    if figure.kind == FigureKind::Formulas {
        let formulas =
            subject.design.spec.efficiencies.iter().filter(|one| figure.formulas.contains(&one.name));
        let parts = formulas.flat_map(|one| [Some(&one.of), one.plus.as_ref(), Some(&one.to)]);
        return parts.flatten().map(|one| (one.cells.clone(), one.metric.clone())).collect();
    }
    let metric = match figure.kind {
        // Percentiles that the data cannot support are not given.
        FigureKind::Percentiles => "response_ms.p50".to_owned(),
        FigureKind::Distances => bin_id(0),
        _ => figure.metric.clone(),
    };
    let mut all = vec![(figure.cells.clone(), metric)];
    if let Some(base) = &figure.to {
        let mut cells = figure.cells.clone();
        cells.extend(base.cells.clone());
        all.push((cells, base.metric.clone().unwrap_or_else(|| figure.metric.clone())));
    }
    for more in &figure.also {
        let mut cells = figure.cells.clone();
        cells.extend(more.cells.clone());
        all.push((cells, more.metric.clone().unwrap_or_else(|| figure.metric.clone())));
    }
    all
}
