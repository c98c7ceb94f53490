//! What each factor does to a figure: effects by least squares over the cells of a design, with intervals from its
//! repetitions, and with the effects that are aliased with each. Source: G. E. P. Box, J. S. Hunter and W. G. Hunter,
//! Statistics for Experimenters, chapters 5 and 6; NIST/SEMATECH e-Handbook of Statistical Methods, 5.3.3 and 5.4. Each
//! repetition is a block: what changes from one to the next is in no effect. Points of one run share what befell it: a
//! factor that is the same in all of a run has the error of runs, as in a split-plot design (5.5.5).

use std::collections::{BTreeMap, BTreeSet};

use cosmark_stats::bootstrap::mean;
use cosmark_stats::linear::{LEAST_PIVOT, inverse, products};
use cosmark_stats::special::t_critical;

use crate::claims::{short, with_unit};
use crate::design::{Design, Levels, matches};
use crate::figures::axis_label;
use crate::measured::Observation;
use crate::page::{Field, Look, Part};
use crate::spec::{EffectTable, Said};

/// Of more cells nobody reads effects.
const MOST_CELLS: usize = 4096;
/// Of more factors with two levels no pairs are looked at.
const MOST_PAIRED: usize = 12;
/// So many names of what is aliased with an effect are shown.
const MOST_ALIASES: usize = 4;
/// Signs that differ by less are the same; effects that are a smaller share of the values are rounding.
const ROUNDING: f64 = 1e-9;

/// An effect.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// System and operation; the system alone where a factor varies the operation.
    pub of: String,
    /// What is changed: `size: 4KB to 1MB`; of two factors `size x tls`.
    pub name: String,
    /// What is aliased with it, with signs.
    pub aliases: Vec<String>,
    /// By which factor, or by how much, it changes the figure.
    pub value: f64,
    /// Where that lies, for all rows of the table together with 95 % confidence; `None` with one repetition.
    pub interval: Option<(f64, f64)>,
    /// A cell of it is FALSE.
    pub is_false: bool,
}

/// The effects of a table, and why there are none for some systems and operations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// Row by row.
    pub effects: Vec<Effect>,
    /// System and operation, and why nothing is known.
    pub unknown: Vec<(String, String)>,
}

/// Every table of effects for which something was measured.
#[must_use]
pub fn tables(design: &Design<'_>, all: &[Observation]) -> Vec<Part> {
    let mut wanted = design.spec.effects.clone();
    let first = EffectTable::default();
    // Who takes a fraction wants its effects.
    if design.selected.is_some() && !wanted.iter().any(|one| one.metric == first.metric) {
        wanted.insert(0, first);
    }
    wanted.iter().filter_map(|table| part(table, effects(design, all, table))).collect()
}

/// The effects of a table.
#[must_use]
pub fn effects(design: &Design<'_>, all: &[Observation], table: &EffectTable) -> Found {
    let mut found = Found::default();
    let mut fits = Vec::new();
    for (at, system) in design.spec.systems.iter().enumerate() {
        let own =
            |one: &&Observation| one.levels.get("system") == Some(&system.name) && one.is_in(&table.cells);
        let seen: Vec<&Observation> = all.iter().filter(own).collect();
        for (of, op) in groups(&system.name, &seen) {
            let points = points(design, at, table, op);
            match fit(design, &points, &of_op(&seen, op, &table.metric), table.said) {
                Ok(fit) => fits.push((of, fit)),
                Err(why) => found.unknown.push((of, why)),
            }
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "numbers of rows")]
    let rows = fits.iter().map(|(_, fit)| fit.terms.len()).sum::<usize>().max(1) as f64;
    for (of, fit) in fits {
        found.effects.extend(fit.effects(&of, table.said, rows));
    }
    found
}

/// What is looked at together, by its name: all points of a system where each of them has one operation, which may be
/// what a factor varies; else each operation by itself.
fn groups<'a>(system: &str, seen: &[&'a Observation]) -> Vec<(String, Option<&'a str>)> {
    let mut of_point: BTreeMap<&Levels, BTreeSet<&str>> = BTreeMap::new();
    let mut ops: BTreeSet<&'a str> = BTreeSet::new();
    for one in seen.iter().filter(|one| !one.unreadable) {
        of_point.entry(&one.levels).or_default().insert(&one.op);
        ops.insert(&one.op);
    }
    let is_one_each = of_point.values().all(|own| own.len() < 2);
    if is_one_each && ops.len() > 1 {
        return vec![(system.to_owned(), None)];
    }
    ops.into_iter().map(|op| (format!("{system} {op}"), Some(op))).collect()
}

/// Values of a figure by point and repetition, and whether one of them is FALSE.
struct Seen {
    values: BTreeMap<Levels, BTreeMap<u32, f64>>,
    is_false: bool,
}

/// What was measured of an operation, or of all.
fn of_op(seen: &[&Observation], op: Option<&str>, metric: &str) -> Seen {
    let mut found = Seen { values: BTreeMap::new(), is_false: false };
    for one in seen.iter().filter(|one| !one.unreadable && op.is_none_or(|op| one.op == op)) {
        // Also where it has no figure: the repetitions in which a search found a load are not the whole.
        found.is_false |= one.is_false();
        let Some(value) = one.values.get(metric) else { continue };
        found.values.entry(one.levels.clone()).or_default().insert(one.repetition, *value);
    }
    found
}

/// Points as they are planned, and the run of each by number.
#[derive(Default)]
struct Points {
    levels: Vec<Levels>,
    runs: Vec<usize>,
}

/// The points of a system that are meant.
fn points(design: &Design<'_>, system: usize, table: &EffectTable, op: Option<&str>) -> Points {
    let mut all = Points::default();
    for (run, cell) in design.cells.iter().enumerate().filter(|(_, cell)| cell.system == system) {
        for point in cell.points.iter().filter(|point| point.refused.is_none()) {
            let mut levels = cell.levels.clone();
            levels.extend(point.levels.clone());
            levels.insert("system".to_owned(), design.spec.systems[system].name.clone());
            let mut meant = levels.clone();
            meant.extend(op.map(|op| ("op".to_owned(), op.to_owned())));
            if matches(&table.cells, &meant) {
                all.levels.push(levels);
                all.runs.push(run);
            }
        }
    }
    all
}

/// A column of the model: what it is the effect of.
struct Term {
    name: String,
    aliases: Vec<String>,
    column: Vec<f64>,
}

/// A model that was fitted.
struct Fit {
    terms: Vec<Term>,
    /// Of each term.
    values: Vec<f64>,
    /// The standard error of each with its degrees of freedom; `None` with one repetition.
    errors: Option<Vec<(f64, f64)>>,
    /// What may be rounding alone.
    rounding: f64,
    is_false: bool,
}

/// Fits the effects of all factors that vary, or says why they are not known.
fn fit(design: &Design<'_>, planned: &Points, seen: &Seen, said: Said) -> Result<Fit, String> {
    let points = planned.levels.as_slice();
    if points.len() > MOST_CELLS {
        return Err(format!("{} cells are more than {MOST_CELLS}", points.len()));
    }
    let repetitions = whole_repetitions(points, seen)?;
    let value = |point: &Levels, repetition: u32| {
        let value = seen.values.get(point).and_then(|of| of.get(&repetition)).copied().unwrap_or(f64::NAN);
        if said == Said::Ratio { value.ln() } else { value }
    };
    let rows: Vec<Vec<f64>> = points
        .iter()
        .map(|point| repetitions.iter().map(|repetition| value(point, *repetition)).collect())
        .collect();
    if rows.iter().flatten().any(|value| !value.is_finite()) {
        return Err("a value is not above 0, and has no ratio: say `as: difference`".to_owned());
    }
    let terms = terms(design, points);
    if terms.is_empty() {
        return Err("no factor varies in its cells".to_owned());
    }
    let line = |at: usize| std::iter::once(1.0).chain(terms.iter().map(|term| term.column[at])).collect();
    let matrix: Vec<Vec<f64>> = (0..points.len()).map(line).collect();
    let Some(inverse) = inverse(&products(&matrix), LEAST_PIVOT) else {
        return Err("its effects cannot be estimated from these cells".to_owned());
    };
    let means: Vec<f64> = rows.iter().map(|row| mean(row)).collect();
    let sums: Vec<f64> = (0..=terms.len())
        .map(|column| matrix.iter().zip(&means).map(|(line, value)| line[column] * value).sum())
        .collect();
    let solved = |row: &Vec<f64>| row.iter().zip(&sums).map(|(one, sum)| one * sum).sum::<f64>();
    let values: Vec<f64> = inverse.iter().skip(1).map(solved).collect();
    let noise = Noise::of(&rows, &planned.runs);
    #[expect(clippy::cast_precision_loss, reason = "numbers of repetitions")]
    let times = repetitions.len() as f64;
    let error = |(at, term): (usize, &Term)| {
        let (variance, degrees) = noise.of_column(&term.column, &planned.runs)?;
        Some(((variance / times * inverse[at + 1][at + 1]).max(0.0).sqrt(), degrees))
    };
    let errors = terms.iter().enumerate().map(error).collect();
    // Sums of values that are all the same come to nearly nothing; a logarithm of nearly nothing is no scale.
    let least = if said == Said::Ratio { 1.0 } else { 0.0 };
    let rounding = ROUNDING * rows.iter().flatten().fold(least, |most, value| value.abs().max(most));
    Ok(Fit { terms, values, errors, rounding, is_false: seen.is_false })
}

/// The repetitions that have all points: one that lacks some would be of other cells.
fn whole_repetitions(points: &[Levels], seen: &Seen) -> Result<Vec<u32>, String> {
    let all: BTreeSet<u32> = seen.values.values().flat_map(|of| of.keys().copied()).collect();
    let has = |point: &&Levels, repetition: u32| {
        seen.values.get(*point).is_some_and(|of| of.contains_key(&repetition))
    };
    let count = |repetition: u32| points.iter().filter(|point| has(point, repetition)).count();
    let whole: Vec<u32> =
        all.iter().copied().filter(|repetition| count(*repetition) == points.len()).collect();
    if whole.is_empty() || points.is_empty() {
        let most = all.iter().map(|repetition| count(*repetition)).max().unwrap_or(0);
        return Err(format!(
            "no repetition has the figure in all {} cells, the best in {most}",
            points.len()
        ));
    }
    Ok(whole)
}

/// The variance of one value and its degrees of freedom, for what differs between runs and for what differs within
/// them.
struct Noise {
    between: Option<(f64, f64)>,
    within: Option<(f64, f64)>,
}

impl Noise {
    /// What is left of the values of points, by repetition, beside the means of points and of repetitions; and within
    /// runs beside what all points of a run share at a repetition.
    #[expect(clippy::cast_precision_loss, reason = "numbers of points and repetitions")]
    fn of(rows: &[Vec<f64>], runs: &[usize]) -> Self {
        let times = rows.first().map_or(0, Vec::len);
        let points_of = by_run(runs);
        let mean_at = |points: &[usize], at: usize| {
            points.iter().map(|point| rows[*point][at]).sum::<f64>() / points.len() as f64
        };
        let of_run = |points: &Vec<usize>| -> Vec<f64> { (0..times).map(|at| mean_at(points, at)).collect() };
        let runs: Vec<Vec<f64>> = points_of.iter().map(of_run).collect();
        let in_a_run = rows.len() as f64 / runs.len().max(1) as f64;
        // A mean of so many points varies as much less where points share nothing.
        let between = left_over(&runs).map(|(variance, degrees)| (variance * in_a_run, degrees));
        let degrees = rows.len().saturating_sub(runs.len()) * times.saturating_sub(1);
        let mut squares = 0.0;
        for (points, run) in points_of.iter().zip(&runs) {
            for row in points.iter().map(|point| &rows[*point]) {
                let shift = mean(row) - mean(run);
                squares += row.iter().zip(run).map(|(value, of)| (value - of - shift).powi(2)).sum::<f64>();
            }
        }
        let within = (degrees > 0).then(|| (squares / degrees as f64, degrees as f64));
        Self { between, within }
    }

    /// That of the effect with this column: of runs where it is the same in all of a run, of points where its mean is
    /// the same in every run. What is both has the greater of the two.
    fn of_column(&self, column: &[f64], runs: &[usize]) -> Option<(f64, f64)> {
        let points_of = by_run(runs);
        let own = |points: &[usize]| -> Vec<f64> { points.iter().map(|point| column[*point]).collect() };
        let means: Vec<f64> = points_of.iter().map(|points| mean(&own(points))).collect();
        let is_of_runs = points_of
            .iter()
            .zip(&means)
            .all(|(points, middle)| own(points).iter().all(|one| (one - middle).abs() < ROUNDING));
        if is_of_runs {
            return self.between;
        }
        if means.iter().all(|one| (one - means[0]).abs() < ROUNDING) {
            return self.within;
        }
        let (between, within) = (self.between?, self.within?);
        Some((between.0.max(within.0), between.1.min(within.1)))
    }
}

/// The points of each run.
fn by_run(runs: &[usize]) -> Vec<Vec<usize>> {
    let mut points_of: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (point, run) in runs.iter().enumerate() {
        points_of.entry(*run).or_default().push(point);
    }
    points_of.into_values().collect()
}

/// The variance of one value and its degrees of freedom: what is left beside the means of rows and of repetitions.
#[expect(clippy::cast_precision_loss, reason = "numbers of cells and repetitions")]
fn left_over(rows: &[Vec<f64>]) -> Option<(f64, f64)> {
    let (cells, times) = (rows.len(), rows.first().map_or(0, Vec::len));
    if cells < 2 || times < 2 {
        return None;
    }
    let means: Vec<f64> = rows.iter().map(|row| mean(row)).collect();
    let whole = mean(&means);
    let of_repetition: Vec<f64> =
        (0..times).map(|at| rows.iter().map(|row| row[at]).sum::<f64>() / cells as f64).collect();
    let left = rows.iter().zip(means).flat_map(|(row, own)| {
        row.iter().zip(&of_repetition).map(move |(value, block)| value - own - block + whole)
    });
    let squares: f64 = left.map(|left| left * left).sum();
    let degrees = ((cells - 1) * (times - 1)) as f64;
    Some((squares / degrees, degrees))
}

/// The columns of the model: each factor that varies; of factors with two levels also pairs, unless they are the same
/// column as one before, whose name they join.
fn terms(design: &Design<'_>, points: &[Levels]) -> Vec<Term> {
    let (mut terms, signs) = factor_terms(design, points);
    if design.selected.as_ref().is_some_and(|selected| !selected.has_words()) || signs.len() > MOST_PAIRED {
        return terms;
    }
    for a in 0..signs.len() {
        for b in a + 1..signs.len() {
            let name = format!("{} x {}", signs[a].0, signs[b].0);
            join(&mut terms, name, product(&[&signs[a].1, &signs[b].1]), true);
        }
    }
    for a in 0..signs.len() {
        for b in a + 1..signs.len() {
            for c in b + 1..signs.len() {
                let name = format!("{} x {} x {}", signs[a].0, signs[b].0, signs[c].0);
                join(&mut terms, name, product(&[&signs[a].1, &signs[b].1, &signs[c].1]), false);
            }
        }
    }
    if let Some(selected) = &design.selected {
        let block = |point: &Levels| selected.block(point);
        for word in 1..selected.count_of_blocks() {
            let sign = |point: &Levels| if (block(point) & word).count_ones() % 2 == 1 { -0.5 } else { 0.5 };
            join(&mut terms, "blocks".to_owned(), points.iter().map(sign).collect(), false);
        }
    }
    terms
}

/// The terms of single factors, and the signs of those with two levels.
fn factor_terms(design: &Design<'_>, points: &[Levels]) -> (Vec<Term>, Vec<(String, Vec<f64>)>) {
    let mut terms = Vec::new();
    let mut signs = Vec::new();
    for factor in &design.spec.factors {
        let is_there =
            |level: &&str| points.iter().any(|point| point.get(&factor.name).is_some_and(|one| one == level));
        let levels: Vec<&str> = factor.levels_at(design.scale).filter(is_there).collect();
        let Some((first, others)) = levels.split_first() else { continue };
        for other in others {
            // Between -1/2 and 1/2 lies the whole effect.
            let (below, above) = if others.len() == 1 { (-0.5, 0.5) } else { (0.0, 1.0) };
            let sign = |point: &Levels| {
                if point.get(&factor.name).is_some_and(|one| one == other) { above } else { below }
            };
            let column: Vec<f64> = points.iter().map(sign).collect();
            if others.len() == 1 {
                signs.push((factor.name.clone(), column.clone()));
            }
            let name = format!("{}: {first} to {other}", factor.name);
            terms.push(Term { name, aliases: Vec::new(), column });
        }
    }
    (terms, signs)
}

/// The product of signs, again between -1/2 and 1/2.
fn product(columns: &[&Vec<f64>]) -> Vec<f64> {
    let rows = columns.first().map_or(0, |column| column.len());
    (0..rows).map(|at| columns.iter().map(|column| 2.0 * column[at]).product::<f64>() / 2.0).collect()
}

/// Adds a column, or its name to the one that it is the same as; of one that does not vary there is no effect.
fn join(terms: &mut Vec<Term>, name: String, column: Vec<f64>, is_own: bool) {
    let same = |other: &[f64], sign: f64| {
        other.iter().zip(&column).all(|(one, own)| (one - sign * own).abs() < ROUNDING)
    };
    if column.iter().all(|one| (one - column[0]).abs() < ROUNDING) {
        return;
    }
    for (sign, word) in [(1.0, "+"), (-1.0, "-")] {
        if let Some(term) = terms.iter_mut().find(|term| same(&term.column, sign)) {
            // What differs between blocks may be more or less.
            let word = if name == "blocks" { "+-" } else { word };
            term.aliases.push(format!("{word} {name}"));
            return;
        }
    }
    if is_own {
        terms.push(Term { name, aliases: Vec::new(), column });
    }
}

impl Fit {
    /// Its effects with intervals that hold for so many rows together (Bonferroni).
    fn effects(self, of: &str, said: Said, rows: f64) -> Vec<Effect> {
        let back = |value: f64| if said == Said::Ratio { value.exp() } else { value };
        let reach = |at: usize| {
            let (error, degrees) = self.errors.as_ref()?.get(at)?;
            Some((t_critical(0.05 / rows, *degrees) * error).max(self.rounding))
        };
        let reaches: Vec<Option<f64>> = (0..self.terms.len()).map(reach).collect();
        let all = self.terms.into_iter().zip(self.values).zip(reaches);
        all.map(|((term, value), reach)| Effect {
            of: of.to_owned(),
            name: term.name,
            aliases: term.aliases,
            value: back(value),
            interval: reach.map(|reach| (back(value - reach), back(value + reach))),
            is_false: self.is_false,
        })
        .collect()
    }
}

impl Effect {
    /// What may be said of it.
    #[must_use]
    pub fn words(&self, said: Said) -> &'static str {
        let none = if said == Said::Ratio { 1.0 } else { 0.0 };
        match self.interval {
            None => "not shown: one repetition",
            Some(_) if self.is_false => "not shown: a cell is FALSE",
            Some((low, _)) if low > none => "more",
            Some((_, high)) if high < none => "less",
            Some(_) => "no effect shown",
        }
    }
}

fn part(table: &EffectTable, found: Found) -> Option<Part> {
    if found.effects.is_empty() && found.unknown.is_empty() {
        return None;
    }
    let is_ratio = table.said == Said::Ratio;
    let shown = |value: f64| if is_ratio { short(value) } else { with_unit(&table.metric, value) };
    let mut rows = Vec::new();
    for one in &found.effects {
        let text = one.interval.map_or_else(
            || shown(one.value),
            |(low, high)| format!("{} ({} to {})", shown(one.value), shown(low), shown(high)),
        );
        let look = if one.is_false { Look::False } else { Look::Plain };
        let mut aliases = one.aliases.iter().take(MOST_ALIASES).cloned().collect::<Vec<_>>().join(" ");
        if one.aliases.len() > MOST_ALIASES {
            aliases.push_str(&format!(" and {} more", one.aliases.len() - MOST_ALIASES));
        }
        let words = one.words(table.said);
        rows.push(vec![
            Field::new(one.of.clone()),
            Field::new(one.name.clone()),
            Field::with(text, look),
            Field::new(aliases),
            Field::new(words),
        ]);
    }
    for (of, why) in found.unknown {
        let what = Field::with(format!("not known: {why}"), Look::NotRun);
        rows.push(vec![Field::new(of), Field::new("all effects"), what, Field::default(), Field::default()]);
    }
    let how = if is_ratio { "by which factor it changes" } else { "by how much it changes" };
    let caption = format!(
        "Effects on: {}. Of each factor {how} from the first level to the other, over all levels of the others; the intervals hold for all \
         rows together with 95 % confidence. An effect stands for the sum of itself and of what is aliased with it.",
        axis_label(&table.metric)
    );
    let columns = ["of", "effect", if is_ratio { "ratio" } else { "difference" }, "aliased with", "finding"];
    Some(Part::Table { caption, columns: columns.map(str::to_owned).to_vec(), rows })
}
