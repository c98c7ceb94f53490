//! The lines of a picture: for each chosen level the points with their intervals, and the published points beside them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Subject, scale_of};
use crate::design::Design;
use crate::measured::Observation;
use crate::published::Published;
use crate::select::{Found, one_sided, quantity, repetitions};
use crate::spec::{Base, OneOrMore, Overlay, Quantity, Take, Where};
use crate::statistics::{interval_of_amount, median};

/// A line: its points with intervals.
pub struct Drawn {
    /// In the legend.
    pub name: String,
    /// Its levels, as conditions.
    pub cells: Where,
    /// Its figure.
    pub metric: String,
    /// A factor on its values.
    pub times: f64,
    /// Its points, in the order of the study.
    pub points: Vec<Dot>,
}

/// A point of a line.
pub struct Dot {
    /// Level of the horizontal axis.
    pub level: String,
    /// The median over repetitions.
    pub value: f64,
    /// Ends of the 95 % interval, where there are several.
    pub ends: Option<(f64, f64)>,
    /// A cell of it is FALSE.
    pub is_false: bool,
    /// Responses took too long for the window.
    pub is_too_long: bool,
}

impl Dot {
    /// A point from the values of repetitions.
    pub fn of(level: String, found: &[Found]) -> Option<Self> {
        let values: Vec<f64> = found.iter().map(|one| one.value).collect();
        let value = median(&values).filter(|value| value.is_finite())?;
        Some(Self {
            level,
            value,
            ends: interval_of_amount(&values).map(|known| (known.low, known.high)),
            is_false: found.iter().any(|one| one.is_false),
            is_too_long: found.iter().any(|one| one.is_too_long),
        })
    }
}

/// The chosen levels between the lines of a picture: a name and the cells of each.
pub fn groups(subject: &Subject<'_>) -> Vec<(String, Where)> {
    let figure = subject.figure;
    let mut keys: BTreeMap<Vec<(usize, String, String)>, ()> = BTreeMap::new();
    for one in subject.all.iter().filter(|one| !one.unreadable && one.is_in(&figure.cells)) {
        let levels = one.all_levels();
        let key = figure
            .lines
            .iter()
            .map(|factor| {
                let level = levels.get(factor).cloned().unwrap_or_default();
                (subject.design.rank(factor, &level), factor.clone(), level)
            })
            .collect();
        keys.insert(key, ());
    }
    let held = held_levels(subject);
    let mut found = Vec::new();
    for key in keys.into_keys() {
        let mut cells = figure.cells.clone();
        for (_, factor, level) in &key {
            cells.insert(factor.clone(), OneOrMore(vec![level.clone()]));
        }
        let telling = key.iter().filter(|(_, factor, _)| !held.iter().any(|(held, _)| held == factor));
        let names: Vec<String> =
            telling.map(|(_, factor, level)| label_of(subject.design, factor, level)).collect();
        let name = if names.is_empty() { "here".to_owned() } else { names.join(", ") };
        found.push((name, cells));
    }
    found
}

/// Of the factors between the lines those that have one level alone, with it, where others tell the lines apart.
fn held_levels(subject: &Subject<'_>) -> Vec<(String, String)> {
    let figure = subject.figure;
    let levels_of = |factor: &String| -> BTreeSet<String> {
        let own = subject.all.iter().filter(|one| !one.unreadable && one.is_in(&figure.cells));
        own.map(|one| one.all_levels().get(factor).cloned().unwrap_or_default()).collect()
    };
    let held: Vec<(String, String)> = figure
        .lines
        .iter()
        .filter_map(|factor| {
            let levels = levels_of(factor);
            let level = levels.first().filter(|level| levels.len() == 1 && !level.is_empty())?;
            Some((factor.clone(), level.clone()))
        })
        .collect();
    if held.len() < figure.lines.len() { held } else { Vec::new() }
}

/// The levels that all lines of a picture have in common, as words.
pub fn held(subject: &Subject<'_>) -> Option<String> {
    let held = held_levels(subject);
    let names: Vec<String> =
        held.iter().map(|(factor, level)| label_of(subject.design, factor, level)).collect();
    (!names.is_empty()).then(|| format!("all lines: {}", names.join(", ")))
}

/// A level for people: the label of a system, and of a bare number what it is a number of.
fn label_of(design: &Design<'_>, factor: &str, level: &str) -> String {
    let known = design.spec.factors.iter().find(|one| one.name == factor);
    match known.filter(|_| level.parse::<f64>().is_ok()) {
        Some(factor) => format!("{} {level}", factor.label.as_ref().unwrap_or(&factor.name)),
        None => level_of(design, factor, level),
    }
}

/// A level as it stands where its factor is named: the label of a system.
pub fn level_of(design: &Design<'_>, factor: &str, level: &str) -> String {
    let system = design.spec.systems.iter().find(|system| factor == "system" && system.name == level);
    system.and_then(|system| system.label.clone()).unwrap_or_else(|| level.to_owned())
}

/// All lines of a picture over the levels of its factor, those that it names besides at the end.
pub fn lines(subject: &Subject<'_>) -> Vec<Drawn> {
    let figure = subject.figure;
    let mut found: Vec<Drawn> = groups(subject)
        .into_iter()
        .map(|(name, cells)| line(subject, name, cells, &figure.metric, figure.times))
        .collect();
    for more in &figure.also {
        let mut cells = figure.cells.clone();
        cells.extend(more.cells.clone());
        let metric = more.metric.as_ref().unwrap_or(&figure.metric);
        found.push(line(subject, more.name.clone(), cells, metric, more.times));
    }
    found.retain(|line| !line.points.is_empty());
    found
}

fn line(subject: &Subject<'_>, name: String, cells: Where, metric: &str, times: f64) -> Drawn {
    let levels = levels(subject.design, subject.all, &subject.figure.x, &cells);
    let point = |level: String| {
        let mut own = cells.clone();
        own.insert(subject.figure.x.clone(), OneOrMore(vec![level.clone()]));
        Dot::of(level, &values(subject, &own, metric, times))
    };
    let points = levels.into_iter().filter_map(point).collect();
    Drawn { name, cells, metric: metric.to_owned(), times, points }
}

/// The levels of a factor that were measured in some cells, in the order of the study.
pub fn levels(design: &Design<'_>, all: &[Observation], factor: &str, cells: &Where) -> Vec<String> {
    let mut levels: Vec<String> = all
        .iter()
        .filter(|one| one.is_in(cells))
        .filter_map(|one| one.all_levels().get(factor).cloned())
        .collect();
    levels.sort_by_key(|level| (design.rank(factor, level), level.clone()));
    levels.dedup();
    levels
}

/// What some cells came to in the unit of the picture, by repetition.
pub fn values(subject: &Subject<'_>, cells: &Where, metric: &str, times: f64) -> Vec<Found> {
    let figure = subject.figure;
    let wanted = Quantity {
        metric: metric.to_owned(),
        cells: cells.clone(),
        take: figure.take,
        over: figure.over.clone(),
        sla: None,
    };
    let below = figure.to.as_ref().map(|base| below(subject, base, &wanted));
    if below.as_ref().is_some_and(|below| one_sided(subject.design, subject.all, &wanted, below).is_some()) {
        return Vec::new();
    }
    let at = |repetition: u32| {
        let mut found = quantity(subject.design, subject.all, &wanted, repetition)?;
        match &below {
            None => found.value *= scale_of(metric),
            Some(below) => {
                let below = quantity(subject.design, subject.all, below, repetition)?;
                found.value = (below.value > 0.0).then(|| found.value / below.value)?;
                found.is_false |= below.is_false;
                found.is_too_long |= below.is_too_long;
            }
        }
        found.value *= times;
        Some(found)
    };
    repetitions(subject.all).into_iter().filter_map(at).collect()
}

/// By what a value is divided: the same cells, with some levels of others, or over a factor whatever their own level.
fn below(subject: &Subject<'_>, base: &Base, wanted: &Quantity) -> Quantity {
    let mut below = wanted.clone();
    if let Some(over) = &base.over {
        below.cells.remove(over);
        if let Some(levels) = subject.figure.cells.get(over) {
            below.cells.insert(over.clone(), levels.clone());
        }
        below.take = base.take;
        below.over = Some(over.clone());
    }
    below.cells.extend(base.cells.clone());
    if let Some(metric) = &base.metric {
        below.metric.clone_from(metric);
    }
    below
}

/// The published points of a line, and what they were multiplied by so that their peak is that of the line.
pub fn overlay(subject: &Subject<'_>, line: &Drawn) -> Option<(Vec<(String, f64)>, f64)> {
    let figure = subject.figure;
    let points = published(subject, line, &line.metric)?;
    let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let own = line.points.iter().map(|dot| dot.value).fold(0.0, f64::max);
    if points.is_empty() || most <= 0.0 {
        return None;
    }
    let scaled = if figure.published == Overlay::Peak { own / most } else { 1.0 };
    Some((points.into_iter().map(|(level, value)| (level, value * scaled)).collect(), scaled))
}

/// The published points of a line at the levels that it has, in the unit of the picture; a mean over several levels stands at
/// each of them. `None` where none are wanted.
pub fn published(subject: &Subject<'_>, line: &Drawn, metric: &str) -> Option<Vec<(String, f64)>> {
    let figure = subject.figure;
    if figure.published == Overlay::None {
        return None;
    }
    let own_base = figure.to.as_ref().filter(|base| is_own(base, &figure.x));
    let mut points: Vec<(String, f64)> = Vec::new();
    let none = Where::new();
    let others = figure.to.as_ref().filter(|base| !is_own(base, &figure.x)).map_or(&none, |base| &base.cells);
    for one in subject.published.iter().filter(|one| fits(subject, one, others, line, metric)) {
        let levels = one.cells.get(&figure.x).map(|some| some.0.as_slice()).unwrap_or_default();
        let scale = if figure.to.is_some() { 1.0 } else { scale_of(metric) };
        points.extend(levels.iter().map(|level| (level.clone(), one.value * scale * line.times)));
    }
    if points.is_empty() && !others.is_empty() {
        points = ratios_of_published(subject, others, line, metric);
    }
    points.sort_by_key(|(level, _)| subject.design.rank(&figure.x, level));
    if let Some(base) = own_base {
        let base = own_value(base, &figure.x, &points)?;
        points.iter_mut().for_each(|point| point.1 *= line.times / base);
    }
    points.retain(|(level, _)| line.points.iter().any(|dot| dot.level == *level));
    Some(points)
}

/// Whether a line is divided by a value of itself.
fn is_own(base: &Base, x: &str) -> bool {
    let of_itself = base.over.as_deref() == Some(x) || base.cells.contains_key(x);
    of_itself && base.metric.is_none() && base.cells.keys().all(|factor| factor == x)
}

/// The published value by which a published line is divided, without the line's factor.
fn own_value(base: &Base, x: &str, points: &[(String, f64)]) -> Option<f64> {
    let values = || points.iter().map(|point| point.1);
    let value = match (base.cells.get(x), base.take) {
        (Some(levels), _) => points.iter().find(|(level, _)| levels.0.contains(level)).map(|point| point.1),
        (None, Take::Max) => values().reduce(f64::max),
        (None, Take::Min) => values().reduce(f64::min),
        (None, Take::First) => values().next(),
        (None, Take::Last) => values().next_back(),
        (None, _) => None,
    };
    value.filter(|value| *value > 0.0)
}

/// Ratios of published numbers that are none themselves, where both sides were published.
fn ratios_of_published(
    subject: &Subject<'_>,
    others: &Where,
    line: &Drawn,
    metric: &str,
) -> Vec<(String, f64)> {
    let ratio = |one: &Published| {
        let mut cells = one.cells.clone();
        cells.extend(others.clone());
        if cells == one.cells {
            return None;
        }
        let is_base = |other: &&Published| {
            (&other.metric, other.take, &other.to, &other.cells) == (&one.metric, one.take, &one.to, &cells)
        };
        let below = subject.published.iter().find(is_base).filter(|below| below.value > 0.0)?;
        let [level] = one.cells.get(&subject.figure.x)?.0.as_slice() else { return None };
        Some((level.clone(), one.value / below.value * line.times))
    };
    let none = Where::new();
    subject.published.iter().filter(|one| fits(subject, one, &none, line, metric)).filter_map(ratio).collect()
}

/// Whether a published number, a ratio to the cells of `others` where there are some, belongs to a line.
fn fits(subject: &Subject<'_>, one: &Published, others: &Where, line: &Drawn, metric: &str) -> bool {
    let figure = subject.figure;
    let wanted_take = if figure.over.is_some() { figure.take } else { Take::Each };
    let at_cells = one.cells.iter().filter(|(factor, _)| **factor != figure.x).all(|(factor, some)| {
        let [level] = some.0.as_slice() else { return false };
        line.cells.get(factor).is_none_or(|own| own.0.contains(level))
    });
    // A mean over levels is no point of a line, and a ratio stands for each of its levels.
    let is_point = !others.is_empty() || one.cells.get(&figure.x).is_some_and(|some| some.0.len() == 1);
    one.metric == metric && one.take == wanted_take && one.to == *others && at_cells && is_point
}
