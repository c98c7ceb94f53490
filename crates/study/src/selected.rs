//! Which combinations of levels a scale runs, where it runs a fraction of them.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::balanced::{Balanced, balanced, check as check_balanced};
use crate::regular::Regular;

/// A part of all combinations of levels, from which the effects of factors can be read.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fraction {
    /// Of factors with two levels a regular fraction: each generator halves the combinations and says of which other
    /// factors a factor's signs are the product, such as `d = a b c`, or `d = -a b c` for the other half.
    #[serde(default)]
    pub generators: Vec<String>,
    /// Of factors with any numbers of levels so many combinations: each level of each factor in the same number of
    /// them, and pairs of levels as evenly as the study's seed finds them, in the best case as in a Latin square.
    #[serde(default)]
    pub cells: Option<u32>,
    /// The factors of which `cells` takes a part; every other factor is combined with each. Without it all that are not
    /// within a run.
    #[serde(default)]
    pub factors: Vec<String>,
    /// Products of factors with two levels, such as `a b c`: cells of one sign are run one after the other, then those
    /// of the other. What changes between the two is in that interaction, and in no effect of a factor.
    #[serde(default)]
    pub blocks: Vec<String>,
}

/// A factor at a scale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactorAtScale {
    /// Its name.
    pub name: String,
    /// Its levels at this scale.
    pub levels: Vec<String>,
    /// They are stages of one run.
    pub within: bool,
}

/// The chosen combinations.
#[derive(Debug, Clone, PartialEq)]
pub struct Selected {
    /// Factors with two levels, the second of each, and what is taken of them.
    regular: Option<(Regular, Vec<String>)>,
    /// The factors of a balanced part and its rows.
    part: Option<(Vec<FactorAtScale>, Balanced)>,
}

/// Looks for mistakes in a fraction without choosing anything.
///
/// # Errors
/// What is wrong with it.
pub fn check(factors: &[FactorAtScale], fraction: &Fraction) -> Result<(), String> {
    if fraction.cells.is_some() && (!fraction.generators.is_empty() || !fraction.blocks.is_empty()) {
        return Err(
            "fraction: give either cells or generators and blocks, which take different parts".to_owned()
        );
    }
    let Some(cells) = fraction.cells else {
        if !fraction.factors.is_empty() {
            return Err("fraction: factors belongs to cells; generators name their own".to_owned());
        }
        if fraction.generators.is_empty() && fraction.blocks.is_empty() {
            return Err("fraction: give generators, blocks or cells".to_owned());
        }
        return of_two_levels(factors, fraction).map(drop);
    };
    let levels: Vec<usize> = parted(factors, fraction)?.iter().map(|factor| factor.levels.len()).collect();
    check_balanced(&levels, usize::try_from(cells).unwrap_or(usize::MAX))
}

/// The regular fraction of the factors with two levels, and the second level of each.
fn of_two_levels(factors: &[FactorAtScale], fraction: &Fraction) -> Result<(Regular, Vec<String>), String> {
    let two: Vec<&FactorAtScale> = factors.iter().filter(|factor| factor.levels.len() == 2).collect();
    let names = two.iter().map(|factor| factor.name.clone()).collect();
    let regular = Regular::new(names, &fraction.generators, &fraction.blocks)?;
    // What is within a run is run at once: a block is of whole runs.
    let inside = regular.factors_of_blocks();
    if let Some(factor) = two.iter().find(|factor| factor.within && inside.contains(&factor.name.as_str())) {
        return Err(format!("blocks: {} is within a run; blocks are of runs", factor.name));
    }
    let high = two.iter().map(|factor| factor.levels[1].clone()).collect();
    Ok((regular, high))
}

/// The factors of which a balanced part is taken.
fn parted(factors: &[FactorAtScale], fraction: &Fraction) -> Result<Vec<FactorAtScale>, String> {
    let mut seen = BTreeSet::new();
    for name in &fraction.factors {
        if !factors.iter().any(|factor| factor.name == *name) || !seen.insert(name) {
            return Err(format!("fraction: {name} is no factor, or stands there twice"));
        }
    }
    let is_meant = |factor: &&FactorAtScale| {
        if fraction.factors.is_empty() { !factor.within } else { fraction.factors.contains(&factor.name) }
    };
    // A factor with one level at this scale is not varied.
    let varied = factors.iter().filter(is_meant).filter(|factor| factor.levels.len() > 1);
    Ok(varied.cloned().collect())
}

impl Selected {
    /// The chosen part of all combinations of these factors; `seed` decides where there is a choice.
    ///
    /// # Errors
    /// What is wrong with the fraction, or that no balanced part was found.
    pub fn new(factors: &[FactorAtScale], fraction: &Fraction, seed: u64) -> Result<Self, String> {
        check(factors, fraction)?;
        let Some(cells) = fraction.cells else {
            return Ok(Self { regular: Some(of_two_levels(factors, fraction)?), part: None });
        };
        let factors = parted(factors, fraction)?;
        let levels: Vec<usize> = factors.iter().map(|factor| factor.levels.len()).collect();
        let found = balanced(&levels, usize::try_from(cells).unwrap_or(usize::MAX), seed)?;
        Ok(Self { regular: None, part: Some((factors, found)) })
    }

    /// Whether a combination is among the chosen.
    #[must_use]
    pub fn has(&self, levels: &BTreeMap<String, String>) -> bool {
        if let Some((regular, _)) = &self.regular {
            return regular.has(self.signs(levels));
        }
        let Some((factors, found)) = &self.part else { return true };
        let number = |factor: &FactorAtScale| {
            let level = levels.get(&factor.name)?;
            factor.levels.iter().position(|one| one == level)
        };
        let row: Option<Vec<usize>> = factors.iter().map(number).collect();
        row.is_some_and(|row| found.rows.binary_search(&row).is_ok())
    }

    /// Whether levels of some factors, in two parts, can be those of a chosen combination, as far as they tell it.
    #[must_use]
    pub fn may_have(&self, parts: [&BTreeMap<String, String>; 2]) -> bool {
        let Some((regular, high)) = &self.regular else { return true };
        let (mut is_high, mut known) = (0_u32, 0_u32);
        for (at, (name, high)) in regular.names().iter().zip(high).enumerate() {
            if let Some(level) = parts.iter().find_map(|levels| levels.get(name)) {
                known |= 1_u32 << at;
                is_high |= u32::from(level == high) << at;
            }
        }
        regular.may_have(is_high, known)
    }

    /// Whether a factor's level follows from those of others.
    #[must_use]
    pub fn is_generated(&self, factor: &str) -> bool {
        self.regular.as_ref().is_some_and(|(regular, _)| regular.is_generated(factor))
    }

    /// The factors that are at their second level, a bit for each.
    fn signs(&self, levels: &BTreeMap<String, String>) -> u32 {
        let Some((regular, high)) = &self.regular else { return 0 };
        let is_high = |(name, high): (&String, &String)| levels.get(name) == Some(high);
        let bits = regular.names().iter().zip(high).enumerate();
        bits.filter(|(_, one)| is_high(*one)).map(|(at, _)| 1_u32 << at).sum()
    }

    /// The number of the block of a run, from 0.
    #[must_use]
    pub fn block(&self, levels: &BTreeMap<String, String>) -> usize {
        self.regular.as_ref().map_or(0, |(regular, _)| regular.block(self.signs(levels)))
    }

    /// Whether it is a regular fraction, in which effects are aliased wholly or not at all.
    #[must_use]
    pub fn has_words(&self) -> bool {
        self.regular.is_some()
    }

    /// How many blocks there are.
    #[must_use]
    pub fn count_of_blocks(&self) -> usize {
        self.regular.as_ref().map_or(1, |(regular, _)| regular.count_of_blocks())
    }

    /// What is taken, and what is aliased in it, a line each.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        if let Some((regular, _)) = &self.regular {
            return regular.lines();
        }
        let Some((factors, found)) = &self.part else { return Vec::new() };
        let names: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
        let all = factors.iter().fold(1_usize, |all, factor| all.saturating_mul(factor.levels.len()));
        let even = if found.is_orthogonal {
            "every pair of levels of two factors equally often (an orthogonal array)"
        } else {
            "pairs of levels of two factors as evenly as was found"
        };
        vec![
            format!(
                "{} of {all} combinations of {}: each level equally often, {even}",
                found.rows.len(),
                names.join(", ")
            ),
            "effects of factors alone: what two factors do together is in them".to_owned(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors() -> Vec<FactorAtScale> {
        let of = |(name, levels, within): &(&str, &[&str], bool)| FactorAtScale {
            name: (*name).to_owned(),
            levels: levels.iter().map(|level| (*level).to_owned()).collect(),
            within: *within,
        };
        let all: [(&str, &[&str], bool); 5] = [
            ("size", &["4KB", "1MB"], false),
            ("tls", &["off", "on"], false),
            ("keep", &["no", "yes"], true),
            ("copies", &["1", "2", "3"], false),
            ("one", &["x"], false),
        ];
        all.iter().map(of).collect()
    }

    fn of(text: serde_json::Value) -> Fraction {
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn a_generator_takes_of_factors_with_two_levels_and_leaves_the_others_alone() {
        let fraction = of(serde_json::json!({"generators": ["keep = size tls"]}));
        let found = Selected::new(&factors(), &fraction, 1).unwrap();
        let levels = |size: &str, tls: &str, keep: &str, copies: &str| -> BTreeMap<String, String> {
            let all = [("size", size), ("tls", tls), ("keep", keep), ("copies", copies), ("one", "x")];
            all.map(|(name, level)| (name.to_owned(), level.to_owned())).into()
        };
        for copies in ["1", "2", "3"] {
            assert!(found.has(&levels("4KB", "off", "yes", copies)));
            assert!(found.has(&levels("1MB", "on", "yes", copies)));
            assert!(!found.has(&levels("1MB", "on", "no", copies)));
            assert!(found.has(&levels("1MB", "off", "no", copies)));
        }
        assert!(found.lines()[0].contains("2^(3-1) of resolution III: 4 of 8"), "{:?}", found.lines());
        let blocks = Selected::new(&factors(), &of(serde_json::json!({"blocks": ["size tls"]})), 1).unwrap();
        let block = |size: &str, tls: &str| blocks.block(&levels(size, tls, "no", "1"));
        assert_eq!((blocks.count_of_blocks(), block("4KB", "off"), block("1MB", "on")), (2, 1, 1));
        assert_eq!((block("4KB", "on"), block("1MB", "off")), (0, 0));
    }

    #[test]
    fn a_balanced_part_is_of_the_factors_that_are_not_within_a_run_unless_others_are_named() {
        let found = Selected::new(&factors(), &of(serde_json::json!({"cells": 6})), 1).unwrap();
        assert!(
            found.lines()[0].starts_with("6 of 12 combinations of size, tls, copies"),
            "{:?}",
            found.lines()
        );
        let named = of(serde_json::json!({"cells": 6, "factors": ["keep", "copies"]}));
        let found = Selected::new(&factors(), &named, 1).unwrap();
        assert!(found.lines()[0].starts_with("6 of 6 combinations of keep, copies"), "{:?}", found.lines());
    }

    #[test]
    fn a_fraction_that_says_two_things_or_none_is_refused() {
        for (text, why) in [
            (serde_json::json!({}), "give generators, blocks or cells"),
            (
                serde_json::json!({"cells": 6, "generators": ["keep = size tls"]}),
                "either cells or generators",
            ),
            (serde_json::json!({"factors": ["size"], "blocks": ["size tls"]}), "belongs to cells"),
            (serde_json::json!({"cells": 6, "factors": ["colour"]}), "colour is no factor"),
            (serde_json::json!({"cells": 6, "factors": ["size", "size"]}), "stands there twice"),
            (serde_json::json!({"blocks": ["size keep"]}), "keep is within a run"),
            (serde_json::json!({"generators": ["copies = size tls"]}), "copies is no factor with two levels"),
            (serde_json::json!({"cells": 5}), "a multiple of 6"),
        ] {
            let found = check(&factors(), &of(text.clone()));
            assert!(found.as_ref().is_err_and(|said| said.contains(why)), "{text}: {found:?}");
        }
    }
}
