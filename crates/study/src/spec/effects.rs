//! What a study may say of the effects of its factors, and the levels of a factor at a scale.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Factor, Level, Scale, Where, throughput};
use crate::selected::FactorAtScale;

/// A table of effects: what each factor does to a figure.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectTable {
    /// What.
    #[serde(default = "throughput")]
    pub metric: String,
    /// Which cells.
    #[serde(default, rename = "where")]
    pub cells: Where,
    /// How an effect is said.
    #[serde(default, rename = "as")]
    pub said: Said,
}

impl Default for EffectTable {
    fn default() -> Self {
        Self { metric: throughput(), cells: Where::new(), said: Said::default() }
    }
}

/// How an effect is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// By which factor the geometric mean of the figure changes.
    #[default]
    Ratio,
    /// By how much its mean changes: for figures that may be 0.
    Difference,
}

impl Factor {
    /// The names of its levels at a scale.
    pub fn levels_at<'f>(&'f self, scale: &Scale) -> impl Iterator<Item = &'f str> {
        let chosen = scale.levels.get(&self.name);
        let chosen: Option<BTreeSet<&str>> = chosen.map(|some| some.0.iter().map(String::as_str).collect());
        let is_chosen = move |level: &&str| chosen.as_ref().is_none_or(|some| some.contains(*level));
        self.levels.iter().map(Level::name).filter(is_chosen)
    }

    /// The factor with its levels at a scale.
    #[must_use]
    pub fn at_scale(&self, scale: &Scale) -> FactorAtScale {
        let levels = self.levels_at(scale).map(str::to_owned).collect();
        FactorAtScale { name: self.name.clone(), levels, within: self.within }
    }
}
