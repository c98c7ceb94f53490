//! The cells of a study and the order in which they are run. A cell is one run of the archive: a system, a level of each factor
//! that is not within a run, and a repetition. Its points are the measured stages in it.

mod names;

use std::collections::{BTreeMap, BTreeSet};

use cosmark_stats::bootstrap::Random;
use cosmark_workload::units::{parse_duration, parse_size};

use crate::index::Index;
use crate::selected::{FactorAtScale, Selected};
use crate::spec::{Factor, Scale, Spec, System, Text, Values, Where};
use crate::template::fill;

/// Levels by factor.
pub type Levels = BTreeMap<String, String>;

/// Workers may not be more than this share of the keys that they write.
const LEAST_KEYS_PER_WORKER: u64 = 2;

/// So many reasons are said why nothing is run.
const MOST_REASONS: usize = 3;

/// What is chosen of a study.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// Name of the scale.
    pub scale: String,
    /// With the published flaws.
    pub as_published: bool,
    /// Only these cells.
    pub only: Where,
    /// Decides the order.
    pub seed: u64,
    /// Drawn letters in the names of containers, so that studies on one store do not meet; may be empty.
    pub tag: String,
    /// Digests of the files that say where systems are, without their secrets, by system.
    pub targets: BTreeMap<String, String>,
}

/// A measured stage, or a job of fio.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Its levels of the factors within a run.
    pub levels: Levels,
    /// All values.
    pub values: Values,
    /// Name of its stage; empty for fio.
    pub stage: String,
    /// Why it is not run.
    pub refused: Option<String>,
}

/// A cell, however often it is run.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Its system and levels: `swift.A`.
    pub id: String,
    /// Number of its system.
    pub system: usize,
    /// Levels of the factors that are not within a run.
    pub levels: Levels,
    /// Its values, without those of points.
    pub values: Values,
    /// Its points.
    pub points: Vec<Point>,
}

/// Cells that are run one after the other on what is up at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Number of the repetition, from 1.
    pub repetition: u32,
    /// Number of the block of the fraction, from 0; 0 where it has none.
    pub part: usize,
    /// Number of a system that stands for all that are up: they share a bed and its variant.
    pub system: usize,
    /// Cells in their order.
    pub cells: Vec<usize>,
}

/// A study as it is to be run.
#[derive(Debug, Clone)]
pub struct Design<'a> {
    /// What it is of.
    pub spec: &'a Spec,
    /// What was chosen.
    pub choice: Choice,
    /// The scale.
    pub scale: &'a Scale,
    /// Which combinations the scale runs; `None` where it runs all.
    pub selected: Option<Selected>,
    /// Its cells.
    pub cells: Vec<Cell>,
    /// Where its levels are found.
    index: Index<'a>,
    /// What names of containers would begin with in several cells of a system.
    shared: BTreeSet<String>,
}

/// Rows of container databases that a cell finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    /// Beginning of the containers' names, which go on with 1, 2, ..
    pub prefix: String,
    /// How many containers.
    pub containers: u64,
    /// Rows in each.
    pub rows: u64,
}

/// A cell that is to be run.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// The design.
    pub design: &'a Design<'a>,
    /// The cell.
    pub cell: &'a Cell,
    /// Which repetition, from 1.
    pub repetition: u32,
    /// Name of its run, by which it is found in the archive.
    pub run: &'a str,
}

/// Points of a system that are not run for the same reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Number of the system.
    pub system: usize,
    /// Why.
    pub why: String,
    /// Levels of each, in the order of the study; never empty.
    pub points: Vec<Levels>,
}

impl Refused {
    /// The levels that all of its points have.
    #[must_use]
    pub fn common(&self) -> Levels {
        let mut levels = self.points.first().cloned().unwrap_or_default();
        levels.retain(|factor, level| self.points.iter().all(|one| one.get(factor) == Some(&*level)));
        levels
    }

    /// How many they are, as words behind others; nothing for a single one.
    #[must_use]
    pub fn how_many(&self) -> String {
        match self.points.len() {
            1 => String::new(),
            count => format!(", {count} points"),
        }
    }
}

impl Cell {
    /// True when one of its points is run.
    #[must_use]
    pub fn is_run(&self) -> bool {
        self.points.iter().any(|point| point.refused.is_none())
    }

    /// The name of its run.
    #[must_use]
    pub fn run_name(&self, study: &str, repetition: u32) -> String {
        format!("{study}.{}.r{repetition}", self.id)
    }
}

impl<'a> Design<'a> {
    /// All cells of a choice.
    ///
    /// # Errors
    /// A scale or a level that is not there, or a value that is missing.
    pub fn new(spec: &'a Spec, choice: Choice) -> Result<Self, String> {
        let scale = spec.scales.get(&choice.scale).ok_or_else(|| {
            let known: Vec<&str> = spec.scales.keys().map(String::as_str).collect();
            format!("the study {} has no scale {}; it has {}", spec.name, choice.scale, known.join(", "))
        })?;
        // Whatever is chosen of them by `only`: the same cells are in the fraction.
        let at_scale: Vec<FactorAtScale> = spec.factors.iter().map(|factor| factor.at_scale(scale)).collect();
        let of = |fraction| Selected::new(&at_scale, fraction, choice.seed);
        let selected = scale.fraction.as_ref().map(of).transpose()?;
        let index = Index::new(spec, scale);
        let mut design =
            Self { spec, choice, scale, selected, cells: Vec::new(), index, shared: BTreeSet::new() };
        design.check_only()?;
        // Whatever is chosen by `only`, names stay the same.
        let all = design.combinations(false, &Where::new(), &Levels::new());
        design.shared = names::shared(all.iter().map(|levels| design.words(levels)));
        let of = |within| design.combinations(within, &design.choice.only, &Levels::new());
        let outer = of(false);
        // Those of all runs, where none has a part of its own.
        let whole = design.selected.is_none().then(|| of(true));
        for (at, system) in spec.systems.iter().enumerate() {
            let of_system = Levels::from([("system".to_owned(), system.name.clone())]);
            if !matches(&design.choice.only, &of_system) || !matches(&scale.levels, &of_system) {
                continue;
            }
            for levels in &outer {
                let cell = design.cell(at, system, levels.clone(), whole.as_deref())?;
                if !cell.points.is_empty() {
                    design.cells.push(cell);
                }
            }
        }
        // Levels may have dots in their names: (0, 9.5) and (0.9, 5) would be one run.
        let mut names = BTreeSet::new();
        if let Some(cell) = design.cells.iter().find(|cell| !names.insert(cell.id.as_str())) {
            return Err(format!("two cells are called {}: give levels other names, without dots", cell.id));
        }
        if design.cells.is_empty() {
            return Err("no cell is left: --only and the scale have none in common".to_owned());
        }
        design.fraction_is_whole()?;
        Ok(design)
    }

    /// A fraction that lacks cells says something else of its effects than is said.
    fn fraction_is_whole(&self) -> Result<(), String> {
        if self.selected.is_none() {
            return Ok(());
        }
        let refused = |cell: &Cell| cell.points.iter().find_map(|point| point.refused.clone());
        match self.cells.iter().find_map(|cell| Some((cell, refused(cell)?))) {
            None => Ok(()),
            Some((cell, why)) => Err(format!(
                "the fraction has {}, which is not run ({why}): its effects could not be estimated; take another fraction, or \
                 levels that can all be run",
                cell.id
            )),
        }
    }

    /// Why no cell at all is run; `None` where one is.
    #[must_use]
    pub fn why_nothing_is_run(&self) -> Option<String> {
        if self.cells.iter().any(Cell::is_run) {
            return None;
        }
        let refused = self.refused();
        let reasons: BTreeSet<&str> = refused.iter().map(|one| one.why.as_str()).collect();
        let first: Vec<&str> = reasons.into_iter().take(MOST_REASONS).collect();
        Some(format!("every cell of this choice is left out ({}); --plan names each", first.join("; ")))
    }

    /// The number of the block in which the fraction has a cell, from 0.
    #[must_use]
    pub fn part(&self, cell: &Cell) -> usize {
        self.selected.as_ref().map_or(0, |selected| selected.block(&cell.levels))
    }

    fn check_only(&self) -> Result<(), String> {
        for (factor, levels) in &self.choice.only {
            let known: Vec<&str> = if factor == "system" {
                self.spec.systems.iter().map(|system| system.name.as_str()).collect()
            } else {
                let found = self.spec.factors.iter().find(|one| one.name == *factor);
                let found = found.ok_or_else(|| {
                    let names: Vec<&str> = self.spec.factors.iter().map(|one| one.name.as_str()).collect();
                    format!("--only {factor}=..: no factor; there are system, {}", names.join(", "))
                })?;
                found.levels.iter().map(crate::spec::Level::name).collect()
            };
            let names: BTreeSet<&str> = known.iter().copied().collect();
            if let Some(level) = levels.0.iter().find(|level| !names.contains(level.as_str())) {
                return Err(format!("--only {factor}={level}: its levels are {}", known.join(", ")));
            }
        }
        Ok(())
    }

    /// The levels of a factor at this scale.
    fn levels_of<'f>(&self, factor: &'f Factor, only: &Where) -> Vec<&'f str> {
        let chosen = only.get(&factor.name);
        let chosen: Option<BTreeSet<&str>> = chosen.map(|some| some.0.iter().map(String::as_str).collect());
        let is_chosen = |level: &&str| chosen.as_ref().is_none_or(|some| some.contains(*level));
        factor.levels_at(self.scale).filter(is_chosen).collect()
    }

    /// The combinations of levels of the factors that are within a run, or of those that are not, in the order of the study,
    /// that can be a part of the fraction together with those that are `given`: of all of them, there may be a million
    /// times as many.
    fn combinations(&self, within: bool, only: &Where, given: &Levels) -> Vec<Levels> {
        let factors: Vec<&Factor> =
            self.spec.factors.iter().filter(|factor| factor.within == within).collect();
        let is_generated =
            |factor: &Factor| self.selected.as_ref().is_some_and(|own| own.is_generated(&factor.name));
        let may_be = |levels: &Levels| self.selected.as_ref().is_none_or(|own| own.may_have([given, levels]));
        // What follows from others comes last, and leaves one level each time.
        let mut order: Vec<usize> = (0..factors.len()).collect();
        order.sort_by_key(|at| is_generated(factors[*at]));
        let mut all = vec![(vec![0; factors.len()], Levels::new())];
        for at in order {
            let (factor, before) = (factors[at], std::mem::take(&mut all));
            for (place, level) in self.levels_of(factor, only).into_iter().enumerate() {
                for (places, levels) in &before {
                    let (mut places, mut levels) = (places.clone(), levels.clone());
                    places[at] = place;
                    levels.insert(factor.name.clone(), level.to_owned());
                    if may_be(&levels) {
                        all.push((places, levels));
                    }
                }
            }
        }
        all.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        all.into_iter().map(|(_, levels)| levels).collect()
    }

    fn cell(
        &self,
        at: usize,
        system: &System,
        levels: Levels,
        inner: Option<&[Levels]>,
    ) -> Result<Cell, String> {
        let id = std::iter::once(system.name.as_str())
            .chain(self.spec.factors.iter().filter_map(|factor| levels.get(&factor.name)).map(String::as_str))
            .collect::<Vec<_>>()
            .join(".");
        let mut points = Vec::new();
        let own = inner.is_none().then(|| self.combinations(true, &self.choice.only, &levels));
        for more in inner.or(own.as_deref()).unwrap_or_default() {
            let mut all = levels.clone();
            all.extend(more.clone());
            if self.selected.as_ref().is_some_and(|selected| !selected.has(&all)) {
                continue;
            }
            points
                .push(self.point(system, &levels, more.clone()).map_err(|why| format!("cell {id}: {why}"))?);
        }
        let values = self.values(system, &levels);
        Ok(Cell { id, system: at, levels, values, points })
    }

    fn point(&self, system: &System, levels: &Levels, own: Levels) -> Result<Point, String> {
        let mut all = levels.clone();
        all.extend(own.clone());
        let values = self.values(system, &all);
        let measured = self.spec.workload.as_ref().map_or("", |template| template.measured.as_str());
        let stage = fill(measured, &values)?;
        all.insert("system".to_owned(), system.name.clone());
        let refused = match self.index.why_skipped(&all) {
            Some(why) => Some(why.to_owned()),
            None => self.too_few_keys(&values)?,
        };
        Ok(Point { levels: own, values, stage, refused })
    }

    /// Writers that would meet on one key.
    fn too_few_keys(&self, values: &Values) -> Result<Option<String>, String> {
        let Some(workers) = &self.spec.workers else { return Ok(None) };
        let (keys, workers) =
            (product(&self.spec.keys, values)?, product(std::slice::from_ref(workers), values)?);
        let too_few =
            !self.spec.keys.is_empty() && keys > 0 && keys < workers.saturating_mul(LEAST_KEYS_PER_WORKER);
        Ok(too_few.then(|| format!("{keys} keys for {workers} workers: writers would meet on one key")))
    }

    /// The values of a cell or point: those of the study, of the scale, of the system, of levels, of the scale for such cells,
    /// and of the published flaws; later ones win.
    fn values(&self, system: &System, levels: &Levels) -> Values {
        let mut values = self.spec.variables.clone();
        let study = &self.spec.name;
        values.insert("study".to_owned(), study.as_str().into());
        values.insert("prefix".to_owned(), Text(self.prefix(levels)));
        values.insert("system".to_owned(), system.name.as_str().into());
        values.extend(self.scale.variables.clone());
        values.extend(system.set.clone());
        for factor in &self.spec.factors {
            let Some(name) = levels.get(&factor.name) else { continue };
            values.insert(factor.name.clone(), name.as_str().into());
            values.extend(self.index.set(&factor.name, name).cloned().unwrap_or_default());
        }
        let mut all = levels.clone();
        all.insert("system".to_owned(), system.name.clone());
        for set in self.index.adjusted(&all) {
            values.extend(set.clone());
        }
        if self.choice.as_published {
            values.extend(self.spec.as_published.iter().flat_map(|variant| variant.set.clone()));
        }
        values
    }

    /// What names of containers begin with, the same for all points of a cell and for each system.
    fn prefix(&self, levels: &Levels) -> String {
        names::beginning(&self.words(levels), &self.shared, &self.choice.tag)
    }

    /// The study and the levels of a cell.
    fn words<'s>(&'s self, levels: &'s Levels) -> Vec<&'s str> {
        let outer = self.spec.factors.iter().filter(|factor| !factor.within);
        let levels = outer.filter_map(|factor| levels.get(&factor.name)).map(String::as_str);
        std::iter::once(self.spec.name.as_str()).chain(levels).collect()
    }

    /// Systems that are up together have the same.
    #[must_use]
    pub fn group(&self, system: usize) -> String {
        let system = &self.spec.systems[system];
        let knobs: Vec<String> =
            system.environment.iter().map(|(key, value)| format!("{key}={value}")).collect();
        system.bed.as_ref().map_or_else(String::new, |bed| format!("{bed} {}", knobs.join(" ")))
    }

    /// The order of a repetition: systems that are up together in blocks, and those of each block of the fraction; blocks in a
    /// drawn order, cells in each in a drawn order.
    #[must_use]
    pub fn blocks(&self, repetition: u32, wanted: &BTreeSet<usize>) -> Vec<Block> {
        let mut groups: BTreeMap<(usize, String), Vec<usize>> = BTreeMap::new();
        for (at, cell) in
            self.cells.iter().enumerate().filter(|(at, cell)| wanted.contains(at) && cell.is_run())
        {
            groups.entry((self.part(cell), self.group(cell.system))).or_default().push(at);
        }
        let mut random =
            Random::new(self.choice.seed ^ u64::from(repetition).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let of = |((part, _), cells): ((usize, String), Vec<usize>)| {
            let system = self.cells[*cells.first()?].system;
            Some(Block { repetition, part, system, cells })
        };
        let mut blocks: Vec<Block> = groups.into_iter().filter_map(of).collect();
        random.shuffle(&mut blocks);
        for block in &mut blocks {
            random.shuffle(&mut block.cells);
        }
        blocks
    }

    /// The workload of a cell as native YAML. Points are in an order that is drawn for the cell and repetition, unless levels
    /// build on each other.
    ///
    /// # Errors
    /// A value that is missing.
    pub fn workload(&self, cell: &Cell, repetition: u32) -> Result<String, String> {
        let template = self.spec.workload.as_ref().ok_or("this study runs fio, not workloads")?;
        let mut points: Vec<&Point> = cell.points.iter().filter(|point| point.refused.is_none()).collect();
        let text = cell
            .id
            .bytes()
            .fold(self.choice.seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        if !self.spec.factors.iter().any(|factor| factor.in_order) {
            Random::new(text ^ u64::from(repetition)).shuffle(&mut points);
        }
        let mut out = format!(
            "name: {}\n{}",
            cell.run_name(&self.spec.name, repetition),
            dedented(&fill(&template.head, &cell.values)?, "")
        );
        out.push_str("stages:\n");
        out.push_str(&dedented(&fill(&template.before, &cell.values)?, "  "));
        for point in points {
            out.push_str(&dedented(&fill(&template.point, &point.values)?, "  "));
        }
        out.push_str(&dedented(&fill(&template.after, &cell.values)?, "  "));
        Ok(out)
    }

    /// The rows that the bed writes before a cell; `None` where the study or the cell wants none.
    ///
    /// # Errors
    /// A value that is missing or is no whole number.
    pub fn prefilled(&self, cell: &Cell) -> Result<Option<Rows>, String> {
        let Some(prefill) = &self.spec.prefill else { return Ok(None) };
        let number = |what: &str, text: &Text| {
            let text = fill(&text.0, &cell.values)?;
            text.trim().parse::<u64>().map_err(|_| format!("{what} of prefill is no whole number: {text}"))
        };
        let prefix = fill(&prefill.prefix.0, &cell.values)?;
        let rows = Rows {
            prefix: prefix.trim().to_owned(),
            containers: number("containers", &prefill.containers)?,
            rows: number("rows", &prefill.rows)?,
        };
        Ok((rows.rows > 0 && rows.containers > 0).then_some(rows))
    }

    /// Points that are not run, those of a system and a reason together, in the order of the study.
    #[must_use]
    pub fn refused(&self) -> Vec<Refused> {
        let mut all: Vec<Refused> = Vec::new();
        let mut places: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        for cell in &self.cells {
            for point in &cell.points {
                let Some(why) = &point.refused else { continue };
                let mut levels = cell.levels.clone();
                levels.extend(point.levels.clone());
                let place = *places.entry((cell.system, why.as_str())).or_insert(all.len());
                if let Some(one) = all.get_mut(place) {
                    one.points.push(levels);
                } else {
                    all.push(Refused { system: cell.system, why: why.clone(), points: vec![levels] });
                }
            }
        }
        all
    }

    /// What was chosen of factors that are within a run, as `--only` says it, each level once and in the order of the study.
    #[must_use]
    pub fn only_within(&self) -> String {
        let inner = self.spec.factors.iter().filter(|factor| factor.within);
        let chosen = inner.filter_map(|factor| {
            let mut levels: Vec<&str> =
                self.choice.only.get(&factor.name)?.0.iter().map(String::as_str).collect();
            levels.sort_by_key(|level| (self.rank(&factor.name, level), *level));
            levels.dedup();
            Some(format!("{}={}", factor.name, levels.join(",")))
        });
        chosen.collect::<Vec<_>>().join(" ")
    }

    /// Whether a journal's text of such a choice is this one, in whatever order its levels were written.
    #[must_use]
    pub fn is_only_within(&self, before: &str) -> bool {
        fn sets(text: &str) -> BTreeMap<&str, BTreeSet<&str>> {
            let parts = text.split(' ').filter_map(|part| part.split_once('='));
            parts.map(|(factor, levels)| (factor, levels.split(',').collect())).collect()
        }
        let now = self.only_within();
        before == now || sets(before) == sets(&now) && before.contains('=')
    }

    /// Levels as words, in the order of the study: `swift read size=4KB`.
    #[must_use]
    pub fn named(&self, levels: &Levels) -> String {
        let place = |name: &str| self.spec.factors.iter().position(|one| one.name == name).unwrap_or(98);
        let mut parts: Vec<(usize, String)> = levels
            .iter()
            .map(|(factor, level)| match factor.as_str() {
                "system" => (0, level.clone()),
                "op" => (99, level.clone()),
                name => (1 + place(name), format!("{factor}={level}")),
            })
            .collect();
        parts.sort();
        parts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(" ")
    }

    /// Every value of a factor in the order of the study.
    #[must_use]
    pub fn rank(&self, factor: &str, level: &str) -> usize {
        self.index.rank(factor, level).unwrap_or(usize::MAX)
    }
}

/// Whether the cells that `chosen` means contain this one.
#[must_use]
pub fn matches(chosen: &Where, levels: &Levels) -> bool {
    chosen.iter().all(|(factor, some)| levels.get(factor).is_none_or(|level| some.0.contains(level)))
}

/// The product of variables that are whole numbers or sizes.
///
/// # Errors
/// A value that is missing or is no such number.
pub fn product(names: &[String], values: &Values) -> Result<u64, String> {
    let mut all = 1_u64;
    for name in names {
        let text = fill(&format!("${{{{ {name} }}}}"), values)?;
        let number = parse_size(text.trim()).map_err(|(what, remedy)| format!("{name}: {what}; {remedy}"))?;
        all = all.saturating_mul(number);
    }
    Ok(all)
}

/// Seconds that a variable says; 0 where there is none.
///
/// # Errors
/// A value that is no duration.
pub fn seconds(name: &str, values: &Values) -> Result<f64, String> {
    if !values.contains_key(name) {
        return Ok(0.0);
    }
    let text = fill(&format!("${{{{ {name} }}}}"), values)?;
    parse_duration(text.trim())
        .map(|time| time.as_secs_f64())
        .map_err(|(what, remedy)| format!("{name}: {what}; {remedy}"))
}

/// Lines without their common indentation and with another; nothing for a text without words.
fn dedented(text: &str, indent: &str) -> String {
    let depth = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let least = text.lines().filter(|line| !line.trim().is_empty()).map(depth).min().unwrap_or(0);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| format!("{indent}{}\n", &line[least..])).collect()
}
