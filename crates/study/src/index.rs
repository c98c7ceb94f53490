//! What is asked of a study for each of its cells, found without going through its lists once more for each.

use std::collections::{BTreeMap, BTreeSet};

use crate::spec::{Scale, Spec, Values, Where};

/// Levels by factor, as sets.
type Sets<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// The place of a level among those of its factor, and what it sets.
type Known<'a> = (usize, Option<&'a Values>);

/// Levels, what is skipped and what is adjusted, of a study at a scale.
#[derive(Debug, Clone)]
pub struct Index<'a> {
    /// By factor and level; under `system` the systems.
    levels: BTreeMap<&'a str, BTreeMap<&'a str, Known<'a>>>,
    /// What is skipped, and why.
    skips: Vec<(Sets<'a>, &'a str)>,
    /// What is adjusted, and by which values.
    adjusts: Vec<(Sets<'a>, &'a Values)>,
}

impl<'a> Index<'a> {
    /// Goes through the lists.
    #[must_use]
    pub fn new(spec: &'a Spec, scale: &'a Scale) -> Self {
        let mut levels: BTreeMap<&'a str, BTreeMap<&'a str, Known<'a>>> = BTreeMap::new();
        for factor in &spec.factors {
            let own = levels.entry(factor.name.as_str()).or_default();
            for (at, level) in factor.levels.iter().enumerate() {
                own.entry(level.name()).or_insert((at, level.set()));
            }
        }
        let own = levels.entry("system").or_default();
        for (at, system) in spec.systems.iter().enumerate() {
            own.entry(system.name.as_str()).or_insert((at, None));
        }
        Self {
            levels,
            skips: spec.skip.iter().map(|skip| (sets(&skip.when), skip.why.as_str())).collect(),
            adjusts: scale.adjust.iter().map(|adjust| (sets(&adjust.when), &adjust.set)).collect(),
        }
    }

    /// The place of a level in the order of the study.
    #[must_use]
    pub fn rank(&self, factor: &str, level: &str) -> Option<usize> {
        self.levels.get(factor)?.get(level).map(|(at, _)| *at)
    }

    /// The values that a level sets.
    #[must_use]
    pub fn set(&self, factor: &str, level: &str) -> Option<&'a Values> {
        self.levels.get(factor)?.get(level)?.1
    }

    /// Why a point of these levels is not run, by what the study skips.
    #[must_use]
    pub fn why_skipped(&self, levels: &BTreeMap<String, String>) -> Option<&'a str> {
        self.skips.iter().find(|(sets, _)| are_in(sets, levels)).map(|(_, why)| *why)
    }

    /// The values that the scale adjusts for these levels, in the order of the study.
    pub fn adjusted(&self, levels: &BTreeMap<String, String>) -> impl Iterator<Item = &'a Values> {
        self.adjusts.iter().filter(|(sets, _)| are_in(sets, levels)).map(|(_, values)| *values)
    }
}

fn sets(chosen: &Where) -> Sets<'_> {
    let sets = chosen.iter();
    sets.map(|(factor, some)| (factor.as_str(), some.0.iter().map(String::as_str).collect())).collect()
}

/// Whether the cells that sets mean contain this one, as `crate::design::matches` says it of lists.
fn are_in(sets: &Sets<'_>, levels: &BTreeMap<String, String>) -> bool {
    sets.iter().all(|(factor, some)| levels.get(*factor).is_none_or(|level| some.contains(level.as_str())))
}
