//! Systems beside each other: of each point the ratio of throughput to the first system, paired by repetition, with intervals
//! that hold for all rows of the table together (Bonferroni).

use cosmark_stats::bootstrap::{deviation, mean};
use cosmark_stats::special::t_critical;

use crate::design::{Design, Levels};
use crate::measured::Observation;
use crate::select::{Series, is_said_already, series};

/// Fewer pairs say nothing about a difference.
const LEAST_PAIRS: usize = 3;

/// A point at which two systems were measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Levels and operation, without the system.
    pub levels: Levels,
    /// The system that is compared with.
    pub base: String,
    /// The other one.
    pub system: String,
    /// Its throughput over that of the first, geometric mean of pairs.
    pub ratio: f64,
    /// Where the ratio lies, for all rows together with 95 % confidence; `None` for fewer than three pairs.
    pub interval: Option<(f64, f64)>,
    /// Pairs.
    pub pairs: usize,
    /// A cell of it is FALSE.
    pub is_false: bool,
}

impl Difference {
    /// What may be said.
    #[must_use]
    pub fn words(&self) -> String {
        let Some((low, high)) = self.interval else {
            return format!("no difference shown: {} of {LEAST_PAIRS} pairs that are needed", self.pairs);
        };
        if self.is_false {
            return "no difference shown: a cell is FALSE".to_owned();
        }
        if low > 1.0 {
            format!("{} is faster", self.system)
        } else if high < 1.0 {
            format!("{} is faster", self.base)
        } else {
            "no difference shown".to_owned()
        }
    }

    /// The faster system, where a difference is shown.
    #[must_use]
    pub fn winner(&self) -> Option<&str> {
        let (low, high) = self.interval.filter(|_| !self.is_false)?;
        if low > 1.0 { Some(&self.system) } else { (high < 1.0).then_some(self.base.as_str()) }
    }
}

/// Every point at which the first system and another were measured.
#[must_use]
pub fn differences(design: &Design<'_>, all: &[Observation]) -> Vec<Difference> {
    let series = series(design, all);
    let system = |one: &Series| one.levels.get("system").cloned().unwrap_or_default();
    let without = |one: &Series| {
        let mut levels = one.levels.clone();
        levels.remove("system");
        levels
    };
    let Some(base) = design
        .spec
        .systems
        .iter()
        .find(|base| series.iter().any(|one| one.levels.contains_key("op") && system(one) == base.name))
    else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for first in series.iter().filter(|one| system(one) == base.name) {
        let same = |one: &&Series| system(one) != base.name && without(one) == without(first);
        for other in series.iter().filter(same).filter(|other| !is_said_already(other, &series)) {
            let logarithms = pairs(first, other);
            if logarithms.is_empty() {
                continue;
            }
            found.push((first, other, logarithms));
        }
    }
    let rows = found.len();
    found
        .into_iter()
        .map(|(first, other, logarithms)| {
            difference(without(first), (first, other), &logarithms, rows, &base.name, system(other))
        })
        .collect()
}

/// Logarithms of the ratios of the same repetitions.
fn pairs(first: &Series, other: &Series) -> Vec<f64> {
    let rate = |one: &Observation| one.values.get("throughput_per_s").copied().filter(|rate| *rate > 0.0);
    let of = |repetition: u32| other.all.iter().find(|one| one.repetition == repetition).and_then(rate);
    first.all.iter().filter_map(|one| Some((of(one.repetition)? / rate(one)?).ln())).collect()
}

fn difference(
    levels: Levels,
    (first, other): (&Series, &Series),
    logarithms: &[f64],
    rows: usize,
    base: &str,
    system: String,
) -> Difference {
    let pairs = logarithms.len();
    let center = mean(logarithms);
    #[expect(clippy::cast_precision_loss, reason = "numbers of rows and repetitions")]
    let (n, rows) = (pairs as f64, rows.max(1) as f64);
    let interval = (pairs >= LEAST_PAIRS).then(|| {
        let reach = t_critical(0.05 / rows, n - 1.0) * deviation(logarithms) / n.sqrt();
        ((center - reach).exp(), (center + reach).exp())
    });
    Difference {
        levels,
        base: base.to_owned(),
        system,
        ratio: center.exp(),
        interval,
        pairs,
        is_false: first.is_false() || other.is_false(),
    }
}
