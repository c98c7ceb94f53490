//! Systems beside each other: of each point the ratio of throughput to the first system, paired by repetition, with intervals
//! that hold for all rows of the table together (Bonferroni).

use std::collections::{BTreeMap, BTreeSet};

use cosmark_stats::bootstrap::{deviation, mean};
use cosmark_stats::special::t_critical;

use crate::design::{Design, Levels};
use crate::measured::Observation;
use crate::select::{Series, series, without_repeats};

/// Fewer pairs say nothing about a difference.
const LEAST_PAIRS: usize = 3;

/// Rates that differ by a smaller share are the same: the rest is rounding.
const ROUNDING: f64 = 1e-9;

/// A point at which two systems were measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Levels and operation, without the system.
    pub levels: Levels,
    /// The system that is compared with.
    pub base: String,
    /// The other one.
    pub system: String,
    /// Its throughput over that of the first, geometric mean of pairs; no number where no pair has one.
    pub ratio: f64,
    /// Where the ratio lies, for all rows together with 95 % confidence; `None` for fewer than three pairs.
    pub interval: Option<(f64, f64)>,
    /// Pairs.
    pub pairs: usize,
    /// Repetitions in which one of them did nothing and the other did something: they have no ratio, and without them the one
    /// that failed would look better than it is.
    pub nothing: usize,
    /// A cell of it is FALSE.
    pub is_false: bool,
}

impl Difference {
    /// What may be said.
    #[must_use]
    pub fn words(&self) -> String {
        if self.interval.is_none() && self.nothing == 0 {
            return format!("no difference shown: {} of {LEAST_PAIRS} pairs that are needed", self.pairs);
        }
        if self.is_false {
            return "no difference shown: a cell is FALSE".to_owned();
        }
        if self.nothing > 0 {
            let runs = if self.nothing == 1 { "run" } else { "runs" };
            return format!("no difference shown: one of them did nothing in {} {runs}", self.nothing);
        }
        self.winner().map_or_else(|| "no difference shown".to_owned(), |name| format!("{name} is faster"))
    }

    /// The faster system, where a difference is shown.
    #[must_use]
    pub fn winner(&self) -> Option<&str> {
        let (low, high) = self.interval.filter(|_| !self.is_false && self.nothing == 0)?;
        if low > 1.0 + ROUNDING {
            return Some(&self.system);
        }
        (high < 1.0 - ROUNDING).then_some(self.base.as_str())
    }
}

/// The repetitions of which both systems have a rate.
#[derive(Debug, Default)]
struct Pairs {
    /// Logarithms of the ratios.
    logarithms: Vec<f64>,
    /// How much one operation more or less would move each of them.
    steps: Vec<f64>,
    /// Those in which only one of both did something.
    nothing: usize,
}

/// Every point at which the first system and another were measured.
#[must_use]
pub fn differences(design: &Design<'_>, all: &[Observation]) -> Vec<Difference> {
    let series = series(design, all);
    let system = |one: &Series| one.levels.get("system").cloned().unwrap_or_default();
    let measured: BTreeSet<String> = series.iter().filter(|one| one.op().is_some()).map(system).collect();
    let Some(base) = design.spec.systems.iter().find(|base| measured.contains(&base.name)) else {
        return Vec::new();
    };
    let mut others: BTreeMap<Levels, Vec<&Series>> = BTreeMap::new();
    for other in without_repeats(&series).into_iter().filter(|one| system(one) != base.name) {
        others.entry(other.levels_without("system")).or_default().push(other);
    }
    let mut found = Vec::new();
    for first in series.iter().filter(|one| system(one) == base.name) {
        let levels = first.levels_without("system");
        for other in others.get(&levels).into_iter().flatten() {
            let pairs = Pairs::of(first, other);
            if pairs.nothing > 0 || !pairs.logarithms.is_empty() {
                let is_false = first.is_false() || other.is_false();
                found.push((levels.clone(), system(other), pairs, is_false));
            }
        }
    }
    let rows = found.len();
    found
        .into_iter()
        .map(|(levels, system, pairs, is_false)| {
            let (base, interval) = (base.name.clone(), pairs.interval(rows));
            let ratio = pairs.ratio();
            let (nothing, pairs) = (pairs.nothing, pairs.logarithms.len());
            Difference { levels, base, system, ratio, interval, pairs, nothing, is_false }
        })
        .collect()
}

impl Pairs {
    fn of(first: &Series, other: &Series) -> Self {
        let rate = |one: &Observation| one.values.get("throughput_per_s").copied();
        let step = |one: &Observation| {
            one.values.get("count").copied().filter(|count| *count > 0.0).map_or(0.0, f64::recip)
        };
        let mut pairs = Self::default();
        for one in &first.all {
            let Some(two) = other.all.iter().find(|two| two.repetition == one.repetition) else { continue };
            let (Some(below), Some(above)) = (rate(one), rate(two)) else { continue };
            if below > 0.0 && above > 0.0 {
                pairs.logarithms.push((above / below).ln());
                pairs.steps.push(step(one) + step(two));
            } else if below > 0.0 || above > 0.0 {
                pairs.nothing += 1;
            }
        }
        pairs
    }

    /// The geometric mean.
    fn ratio(&self) -> f64 {
        if self.logarithms.is_empty() { f64::NAN } else { mean(&self.logarithms).exp() }
    }

    /// Where the ratio lies, for so many rows together with 95 % confidence. Rates of few operations are often equal by chance:
    /// nothing is known better than to an operation.
    fn interval(&self, rows: usize) -> Option<(f64, f64)> {
        let pairs = self.logarithms.len();
        if pairs < LEAST_PAIRS {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "numbers of rows and repetitions")]
        let (n, rows) = (pairs as f64, rows.max(1) as f64);
        let center = mean(&self.logarithms);
        let reach = t_critical(0.05 / rows, n - 1.0) * deviation(&self.logarithms) / n.sqrt();
        let reach = reach.max(mean(&self.steps));
        Some(((center - reach).exp(), (center + reach).exp()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]
mod tests {
    use cosmark_archive::Overall;

    use super::*;
    use crate::design::Choice;
    use crate::select::LOOKED_AT;

    const TEXT: &str = "
name: t
title: t
question: q
systems: [{name: a}, {name: b}, {name: c}]
factors: [{name: n, levels: [LEVELS]}]
scales: {quick: {}}
workload: {point: '- name: p', measured: p}
";

    /// What is found of rates by system, level and repetition; `count` operations each.
    fn found(levels: usize, count: f64, rate: impl Fn(&str, usize, u32) -> Option<f64>) -> Vec<Difference> {
        let names: Vec<String> = (0..levels).map(|level| format!("l{level}")).collect();
        let (spec, mistakes) = crate::spec::read(&TEXT.replace("LEVELS", &names.join(", ")));
        let spec = spec.unwrap_or_else(|| panic!("{mistakes:#?}"));
        let choice = Choice { scale: "quick".into(), ..Choice::default() };
        let design = Design::new(&spec, choice).unwrap();
        let mut all = Vec::new();
        for system in ["a", "b", "c"] {
            for (at, level) in names.iter().enumerate() {
                for repetition in 1..=5 {
                    let Some(rate) = rate(system, at, repetition) else { continue };
                    let levels = [("system", system), ("n", level.as_str())];
                    let values = [("throughput_per_s", rate), ("count", count)];
                    all.push(Observation {
                        levels: levels.map(|(name, level)| (name.to_owned(), level.to_owned())).into(),
                        op: "read".to_owned(),
                        repetition,
                        values: values.map(|(name, value)| (name.to_owned(), value)).into(),
                        verdict: Overall::True,
                        ..Observation::default()
                    });
                }
            }
        }
        differences(&design, &all)
    }

    fn winners(found: &[Difference]) -> Vec<Option<&str>> {
        found.iter().map(Difference::winner).collect()
    }

    #[test]
    fn rates_that_never_vary_differ_by_more_than_rounding_and_one_operation() {
        // A sum in another order is another number, and no faster system.
        let rounded = found(1, 0.0, |system, _, _| Some(if system == "b" { 0.1 + 0.2 } else { 0.3 }));
        assert_eq!(winners(&rounded), [None, None]);
        let few = |faster: f64, count: f64| {
            found(1, count, move |system, _, _| Some(if system == "b" { faster } else { 10.0 }))
        };
        // 5 and 6 operations are the same but for chance, and 5000 and 6000 are not.
        assert_eq!(winners(&few(12.0, 5.0)), [None, None]);
        assert_eq!(winners(&few(12.0, 5000.0)), [Some("b"), None]);
        assert_eq!(winners(&few(8.0, 5000.0)), [Some("a"), None]);
    }

    #[test]
    fn a_run_that_did_nothing_is_not_left_out() {
        let stands = |system: &str, _: usize, repetition: u32| {
            let noise = 1.0 + f64::from(repetition) / 1000.0;
            Some(if system == "b" && repetition == 2 { 0.0 } else { 10.0 * noise * noise })
        };
        let twice = found(1, 1000.0, move |system, level, repetition| {
            stands(system, level, repetition).map(|rate| if system == "b" { 2.0 * rate } else { rate })
        });
        assert_eq!((twice[0].nothing, twice[0].pairs, twice[0].winner()), (1, 4, None), "{twice:?}");
        assert_eq!(twice[0].words(), "no difference shown: one of them did nothing in 1 run");
        // Nor is a system that never did anything: its row says so.
        let never = found(1, 1000.0, |system, _, _| Some(if system == "c" { 0.0 } else { 10.0 }));
        assert_eq!((never.len(), never[1].nothing, never[1].pairs), (2, 5, 0), "{never:?}");
        assert!(never[1].ratio.is_nan() && never[1].interval.is_none());
    }

    #[test]
    fn cells_that_a_system_lacks_are_compared_with_nothing_else() {
        let gaps = found(3, 1e6, |system, level, repetition| {
            let noise = 1.0 + f64::from(repetition) / 1e6;
            let is_there = system == "a" || (system == "b") == (level == 1);
            is_there.then_some(if system == "b" { 20.0 * noise } else { 10.0 })
        });
        let named: Vec<(&str, &str)> =
            gaps.iter().map(|one| (one.levels["n"].as_str(), one.system.as_str())).collect();
        assert_eq!(named, [("l0", "c"), ("l1", "b"), ("l2", "c")]);
        assert_eq!(winners(&gaps), [None, Some("b"), None]);
    }

    #[test]
    fn the_cells_of_a_study_are_looked_at_a_few_times_however_many_they_are() {
        let looked = |levels: usize| {
            let before = LOOKED_AT.with(std::cell::Cell::get);
            assert_eq!(found(levels, 1e6, |_, _, _| Some(10.0)).len(), 2 * levels);
            LOOKED_AT.with(std::cell::Cell::get) - before
        };
        let (few, many) = (looked(20), looked(200));
        assert!(many <= 11 * few, "{few} of 20 cells, {many} of 200");
    }
}
