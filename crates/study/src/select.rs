//! Picks values out of what was measured: of which cells, at which repetition, and what is taken of several.

use std::collections::{BTreeMap, BTreeSet};

use crate::design::{Design, Levels};
use crate::measured::{Observation, SUM};
use crate::metric::{KNEE, fault_figure};
use crate::spec::{Quantity, Sla, Take, Where};

/// What a quantity came to at one repetition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// The value, in the unit of the figure; of `arg_max` and `arg_best` the level as a number.
    pub value: f64,
    /// A cell that it comes from is FALSE.
    pub is_false: bool,
    /// Responses of a cell that it comes from were too long for the window.
    pub is_too_long: bool,
}

impl Found {
    fn of(value: f64, some: &[&Observation]) -> Self {
        let is_too_long = some.iter().any(|one| one.too_long.is_some());
        Self { value, is_false: some.iter().any(|one| one.is_false()), is_too_long }
    }
}

impl Observation {
    /// System, factors and operation; without one where the run cannot be read.
    #[must_use]
    pub fn all_levels(&self) -> Levels {
        #[cfg(test)]
        LOOKED_AT.with(|count| count.set(count.get() + 1));
        let mut levels = self.levels.clone();
        if !self.unreadable {
            levels.insert("op".to_owned(), self.op.clone());
        }
        levels
    }

    /// Whether it is among the chosen cells.
    #[must_use]
    pub fn is_in(&self, chosen: &Where) -> bool {
        chosen.iter().all(|(factor, some)| {
            let level = match factor.as_str() {
                "op" => Some(&self.op).filter(|_| !self.unreadable),
                _ => self.levels.get(factor),
            };
            level.is_none_or(|level| some.0.contains(level))
        })
    }

    /// True when its numbers cannot be believed.
    #[must_use]
    pub fn is_false(&self) -> bool {
        self.verdict == cosmark_archive::Overall::False
    }
}

fn geometric_mean(values: &[f64]) -> Option<f64> {
    // What did nothing has a value, too, and with it the mean of all is 0.
    if values.contains(&0.0) && values.iter().all(|value| value.is_finite() && *value >= 0.0) {
        return Some(0.0);
    }
    crate::statistics::interval_of_ratio(values).map(|(mean, _)| mean)
}

/// A level as a number: itself, or its place in the order of the study.
fn as_number(design: &Design<'_>, factor: &str, level: &str) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "numbers of levels")]
    level.parse().unwrap_or(design.rank(factor, level) as f64)
}

/// The limit that a quantity names.
fn limit<'a>(design: &'a Design<'_>, quantity: &Quantity) -> Option<&'a Sla> {
    let name = quantity.sla.as_ref()?;
    design.spec.slas.iter().find(|sla| sla.name == *name)
}

/// How many points of a quantity were measured in any repetition. One that lacks some of them, because only those whose
/// interval was too wide were run once more, or because one failed, is no repetition of the whole: the mean or the greatest of
/// the others would be of something else.
fn whole(all: &[Observation], wanted: &Quantity) -> usize {
    let measured =
        all.iter().filter(|one| one.is_in(&wanted.cells) && one.values.contains_key(&wanted.metric));
    let places: BTreeSet<(&Levels, &str)> = measured.map(|one| (&one.levels, one.op.as_str())).collect();
    places.len()
}

/// The value of a quantity at one repetition; `None` where nothing of it was measured, or not all of its points.
#[must_use]
pub fn quantity(
    design: &Design<'_>,
    all: &[Observation],
    wanted: &Quantity,
    repetition: u32,
) -> Option<Found> {
    let chosen: Vec<&Observation> = all
        .iter()
        .filter(|one| {
            one.repetition == repetition
                && one.is_in(&wanted.cells)
                && one.values.contains_key(&wanted.metric)
        })
        .collect();
    if chosen.len() < whole(all, wanted) {
        return None;
    }
    let value_of = |one: &Observation| one.values.get(&wanted.metric).copied().unwrap_or(f64::NAN);
    let Some(over) = wanted.over.as_ref().filter(|_| wanted.take != Take::Each) else {
        let values: Vec<f64> = chosen.iter().map(|one| value_of(one)).collect();
        return geometric_mean(&values).map(|value| Found::of(value, &chosen));
    };
    let limit = limit(design, wanted).map(|sla| sla.p95_ms);
    let mut levels: BTreeMap<(usize, String), Vec<&Observation>> = BTreeMap::new();
    for one in chosen {
        if let Some(level) = one.levels.get(over) {
            levels.entry((design.rank(over, level), level.clone())).or_default().push(one);
        }
    }
    let points: Vec<(String, Found)> = levels
        .into_iter()
        .filter(|(_, some)| keeps(some, limit))
        .filter_map(|((_, level), some)| {
            let values: Vec<f64> = some.iter().map(|one| value_of(one)).collect();
            Some((level, Found::of(geometric_mean(&values)?, &some)))
        })
        .collect();
    let greatest = || points.iter().max_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let (level, found) = match wanted.take {
        Take::Each | Take::First => points.first(),
        Take::Last => points.last(),
        Take::Min => points.iter().min_by(|a, b| a.1.value.total_cmp(&b.1.value)),
        Take::Max | Take::ArgMax | Take::Best | Take::ArgBest => greatest(),
    }?
    .clone();
    let value = match wanted.take {
        Take::ArgMax | Take::ArgBest => as_number(design, over, &level),
        _ => found.value,
    };
    Some(Found { value, ..found })
}

/// What is said of a cell that was run and whose run cannot be read.
pub const UNREADABLE: &str = "a run of its cells cannot be read";

/// What is said of a cell whose search found no load that meets its thresholds.
pub const NO_KNEE: &str = "a search of its cells found no load";

/// Why [`quantity`] finds nothing in any repetition; `None` where each of its cells has a figure.
pub fn why_none(design: &Design<'_>, all: &[Observation], wanted: &Quantity) -> Option<&'static str> {
    let run: Vec<&Observation> = all.iter().filter(|one| one.is_in(&wanted.cells)).collect();
    if run.is_empty() {
        return Some("its cells were not run");
    }
    if !run.iter().any(|one| one.values.contains_key(&wanted.metric)) {
        if run.iter().any(|one| one.unreadable) {
            return Some(UNREADABLE);
        }
        if run.iter().any(|one| one.no_knee) {
            return Some(NO_KNEE);
        }
        if KNEE.iter().any(|(id, _)| *id == wanted.metric) {
            return Some("its cells have no search that has this figure");
        }
        if fault_figure(&wanted.metric).is_some() {
            return Some("its cells have no such fault, several, or the figure of it is not known");
        }
        return Some("its cells were run, but the figure is not known: too few operations");
    }
    let limit = limit(design, wanted)?.p95_ms;
    let over = wanted.over.as_ref().filter(|_| wanted.take != Take::Each)?;
    let mut levels: BTreeMap<&str, Vec<&Observation>> = BTreeMap::new();
    for one in run {
        levels.entry(one.levels.get(over).map_or("", String::as_str)).or_default().push(one);
    }
    let none = !levels.values().any(|some| keeps(some, Some(limit)));
    none.then_some("no row of its cells is known to keep the limit")
}

/// Points are named up to this many.
const MOST_NAMED: usize = 3;

/// Points of a ratio of which only one side was measured, as words; `None` where both sides are of the same points, apart from
/// the factors by which they are to differ, and where one has nothing. A greatest value is at a point of its own.
#[must_use]
pub fn one_sided(design: &Design<'_>, all: &[Observation], of: &Quantity, to: &Quantity) -> Option<String> {
    let is_of_given = |one: &Quantity| matches!(one.take, Take::Each | Take::First | Take::Last | Take::Min);
    if !is_of_given(of) || !is_of_given(to) {
        return None;
    }
    let named = of.cells.keys().chain(to.cells.keys());
    let mut apart: Vec<&String> = named.filter(|name| of.cells.get(*name) != to.cells.get(*name)).collect();
    if (of.take, &of.over) != (to.take, &to.over) {
        apart.extend(of.over.iter().chain(&to.over));
    }
    let side = |one: &Quantity| -> BTreeSet<Levels> {
        let mut points = points(design, all, one);
        points.iter_mut().for_each(|levels| levels.retain(|factor, _| !apart.contains(&factor)));
        points.into_iter().collect()
    };
    let (of, to) = (side(of), side(to));
    if of.is_empty() || to.is_empty() {
        return None;
    }
    let differ: Vec<String> = of.symmetric_difference(&to).map(|levels| design.named(levels)).collect();
    let more = match differ.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!differ.is_empty()).then(|| format!("{}{more}", differ[..differ.len().min(MOST_NAMED)].join(", ")))
}

/// The points that have the figure in any repetition; of `first` and `last` those at that level alone.
fn points(design: &Design<'_>, all: &[Observation], wanted: &Quantity) -> Vec<Levels> {
    let measured =
        all.iter().filter(|one| one.is_in(&wanted.cells) && one.values.contains_key(&wanted.metric));
    let mut points: Vec<Levels> = measured.map(Observation::all_levels).collect();
    if let Some(over) = &wanted.over {
        let rank = |levels: &Levels| levels.get(over).map(|level| design.rank(over, level));
        let end = match wanted.take {
            Take::First => points.iter().filter_map(rank).min(),
            Take::Last => points.iter().filter_map(rank).max(),
            _ => return points,
        };
        points.retain(|levels| rank(levels) == end);
    }
    points
}

/// Whether each level that a quantity names was measured: a mean over some of them is another one.
#[must_use]
pub fn has_all_levels(all: &[Observation], wanted: &Quantity) -> bool {
    let measured: Vec<Levels> = all
        .iter()
        .filter(|one| one.is_in(&wanted.cells) && one.values.contains_key(&wanted.metric))
        .map(Observation::all_levels)
        .collect();
    wanted.cells.iter().all(|(factor, some)| {
        some.0.iter().all(|level| measured.iter().any(|levels| levels.get(factor) == Some(level)))
    })
}

/// Whether cells keep a limit: all of them, and next to nothing failed.
fn keeps(some: &[&Observation], limit_ms: Option<f64>) -> bool {
    let Some(limit) = limit_ms else { return true };
    some.iter().all(|one| {
        one.values.get("response_ms.p95").is_some_and(|p95| *p95 <= limit)
            && one.failed_share <= MOST_FAILED_SHARE
    })
}

/// Where more of the operations failed, a limit of response times is not kept.
pub const MOST_FAILED_SHARE: f64 = 0.01;

/// The repetitions of which something was measured.
#[must_use]
pub fn repetitions(all: &[Observation]) -> Vec<u32> {
    let numbers: BTreeSet<u32> = all.iter().map(|one| one.repetition).collect();
    numbers.into_iter().collect()
}

/// What a point measured over its repetitions.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// System, factors and operation.
    pub levels: Levels,
    /// Its observations, by repetition.
    pub all: Vec<Observation>,
}

impl Series {
    /// Values of a figure.
    #[must_use]
    pub fn values(&self, metric: &str) -> Vec<f64> {
        self.all.iter().filter_map(|one| one.values.get(metric).copied()).collect()
    }

    /// Its operation; `None` where its run cannot be read.
    #[must_use]
    pub fn op(&self) -> Option<&str> {
        self.levels.get("op").map(String::as_str)
    }

    /// Its levels but that of one factor.
    #[must_use]
    pub fn levels_without(&self, factor: &str) -> Levels {
        #[cfg(test)]
        LOOKED_AT.with(|count| count.set(count.get() + 1));
        let mut levels = self.levels.clone();
        levels.remove(factor);
        levels
    }

    /// True when one of them is FALSE.
    #[must_use]
    pub fn is_false(&self) -> bool {
        self.all.iter().any(Observation::is_false)
    }
}

/// Series without the sums of the operations of points that did but one: these say the same again.
#[must_use]
pub fn without_repeats(all: &[Series]) -> Vec<&Series> {
    let mut others: BTreeMap<Levels, usize> = BTreeMap::new();
    for one in all.iter().filter(|one| one.op().is_some_and(|op| op != SUM)) {
        *others.entry(one.levels_without("op")).or_default() += 1;
    }
    let repeats = |one: &Series| one.op() == Some(SUM) && others.get(&one.levels_without("op")) == Some(&1);
    all.iter().filter(|one| !repeats(one)).collect()
}

#[cfg(test)]
thread_local! {
    /// How often the levels of a series or an observation were copied.
    pub static LOOKED_AT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Observations by point and operation, in the order of the study.
#[must_use]
pub fn series(design: &Design<'_>, all: &[Observation]) -> Vec<Series> {
    let mut by: BTreeMap<(Vec<usize>, String, String), Series> = BTreeMap::new();
    for one in all {
        let mut ranks: Vec<usize> = design
            .spec
            .factors
            .iter()
            .map(|factor| one.levels.get(&factor.name).map_or(0, |level| design.rank(&factor.name, level)))
            .collect();
        ranks.push(design.rank("system", one.levels.get("system").map_or("", String::as_str)));
        let key = (ranks, one.op.clone(), format!("{:?}", one.levels));
        by.entry(key)
            .or_insert_with(|| Series { levels: one.all_levels(), all: Vec::new() })
            .all
            .push(one.clone());
    }
    by.into_values().collect()
}
