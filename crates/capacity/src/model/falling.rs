//! Processor time of which an operation costs the less the more there are: the laws of [`Law`], each fitted to all loads, with
//! the bends that these do not refute. Source of the weights: M. Stone (1974), as for the ceilings.

use cosmark_stats::bootstrap::Random;
use cosmark_stats::special::t_critical;

use super::full::when_full;
use super::{Load, Observed, Row};
use crate::ladder::{Kind, Unit, Usage};
use crate::law::{KNOWN_TO, Law, REFUTED};
use crate::number::real;
use crate::regression::{Plane, of_classes};

/// Loads may lie this far from what a law says, in shares of the unit, as their root mean square and each by itself.
const EXPLAINED: (f64, f64) = (0.08, 0.16);

/// How an operation costs a unit less under load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Curve {
    law: Law,
    bend: f64,
    /// What the law says at the highest load.
    at_highest: f64,
    /// The least and the most operations under way at which it was seen.
    pub(crate) in_flight: (f64, f64),
}

impl Curve {
    /// As a law with this bend says it, where the highest load kept the unit so busy with so many under way.
    #[cfg(test)]
    pub(crate) fn by(law: Law, bend: f64, (busy, in_flight): (f64, f64)) -> Self {
        Self { law, bend, at_highest: law.at(bend, busy, in_flight), in_flight: (in_flight, in_flight) }
    }

    /// How many times what it costs at the highest load that was measured.
    pub(crate) fn times(&self, busy: f64, in_flight: f64) -> f64 {
        self.law.at(self.bend, busy, in_flight) / self.at_highest
    }
}

/// One law with the bends that the loads let be true, the best one first, and the plane through what each makes of them.
#[derive(Clone)]
struct ByLaw {
    law: Law,
    weight: f64,
    bends: Vec<(f64, Plane)>,
}

/// The laws of one unit.
#[derive(Clone)]
pub(super) struct Falling {
    laws: Vec<ByLaw>,
    /// At the highest load: how busy, and how many operations under way.
    highest: (f64, f64),
    in_flight: (f64, f64),
}

/// A plane, and the curve that its costs follow from there.
pub(super) struct Followed<'a> {
    pub plane: &'a Plane,
    /// At the highest load: how many times what the plane says.
    pub times: f64,
    pub curve: Curve,
}

/// How busy a unit is: one that is full but for what its quota hides is full.
pub(super) fn busy_of(unit: &Unit, usage: &Usage) -> Option<f64> {
    when_full(unit.kind, usage).or(usage.busy)
}

impl Falling {
    /// `None` of what is no processor time, where the loads are too few for a bend, and where no law explains them.
    pub fn of(observed: &Observed, unit: usize, columns: impl Fn(&Load) -> Vec<f64>) -> Option<Self> {
        let own = observed.units.get(unit)?;
        if !matches!(own.kind, Kind::Machine | Kind::Core | Kind::Thread | Kind::CpuQuota) {
            return None;
        }
        let seen = observed.loads.iter().filter_map(|load| {
            let busy = busy_of(own, load.usage.get(unit)?)?;
            Some((columns(load), busy, load.in_flight))
        });
        let seen: Vec<(Vec<f64>, f64, f64)> = seen.collect();
        let (first, last) = (seen.first()?, seen.last()?);
        let idle = observed.idle.get(unit).copied().flatten().map(|busy| (vec![0.0; first.0.len()], busy));
        // A cost of each column, what is busy anyway, and the bend.
        let taken = first.0.len() + 2;
        let known = seen.len() + usize::from(idle.is_some());
        let degrees = real(known.checked_sub(taken).filter(|left| *left > 0)?);
        let bent = |law: Law, bend: f64| {
            let counted = seen.iter().map(|(columns, busy, in_flight)| {
                let times = law.at(bend, *busy, *in_flight);
                (columns.iter().map(|one| one * times).collect(), *busy)
            });
            let rows: Vec<Row> = idle.clone().into_iter().chain(counted).collect();
            Some((bend, of_classes(&rows)?))
        };
        let fitted =
            |law: &Law| by_law(*law, law.bends().filter_map(|bend| bent(*law, bend)).collect(), degrees);
        let mut laws: Vec<ByLaw> = Law::ALL.iter().filter_map(fitted).collect();
        let most = laws.iter().map(|one| one.weight).fold(0.0, f64::max);
        laws.retain(|one| one.weight * REFUTED.powi(2) >= most);
        laws.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        // By rising load, as they are sorted.
        let (highest, in_flight) = ((last.1, last.2), (first.2, last.2));
        // What no bend explains better than none does not fall.
        let falls = laws.first().and_then(|law| law.bends.first()).is_some_and(|(bend, _)| *bend > 0.0);
        falls.then_some(Self { laws, highest, in_flight })
    }

    fn followed<'a>(&self, law: Law, (bend, plane): &'a (f64, Plane)) -> Followed<'a> {
        let times = law.at(*bend, self.highest.0, self.highest.1);
        Followed {
            plane,
            times,
            curve: Curve { law, bend: *bend, at_highest: times, in_flight: self.in_flight },
        }
    }

    /// The best law with its best bend.
    pub fn best(&self) -> Option<Followed<'_>> {
        let first = self.laws.first()?;
        Some(self.followed(first.law, first.bends.first()?))
    }

    /// With one law, drawn by how well it fits, and one of its bends.
    pub fn drawn(&self, random: &mut Random) -> Self {
        let mut left = random.unit() * self.laws.iter().map(|one| one.weight).sum::<f64>();
        let chosen = self.laws.iter().find(|one| {
            left -= one.weight;
            left < 0.0
        });
        let Some(chosen) = chosen.or(self.laws.first()) else { return self.clone() };
        let bends = vec![chosen.bends[random.below(chosen.bends.len())].clone()];
        Self { laws: vec![ByLaw { bends, ..chosen.clone() }], ..self.clone() }
    }
}

/// The bends that are as good as the best one while the sum of the squares grows by no more than its error lets it; `None` where
/// the best one does not lie near the loads.
fn by_law(law: Law, mut bends: Vec<(f64, Plane)>, degrees: f64) -> Option<ByLaw> {
    let squares = |plane: &Plane| plane.residuals.iter().map(|one| one.powi(2)).sum::<f64>();
    bends.sort_by(|a, b| squares(&a.1).total_cmp(&squares(&b.1)));
    let explains = |plane: &Plane| plane.deviation() <= EXPLAINED.0 && plane.farthest() <= EXPLAINED.1;
    let best = bends.first().filter(|best| explains(&best.1))?;
    let least = squares(&best.1);
    let variance = (least / degrees).max(KNOWN_TO.powi(2));
    let most = least + variance * t_critical(0.05, degrees).powi(2);
    bends.retain(|one| squares(&one.1) <= most);
    Some(ByLaw { law, weight: 1.0 / variance, bends })
}
