//! More work on the same processors: two threads of one core, and all cores of one memory, slow each other down. By how much a
//! ladder of one store cannot tell; how much more of the time they would run side by side it can. But groups that a quota stops
//! run in bursts: two of them run side by side now and then, or always, whatever they use on average.
//!
//! Source: D. T. Marr et al., Hyper-Threading Technology Architecture and Microarchitecture (Intel Technology Journal 6, 2002):
//! two threads of a core together do up to 1.3 times what one does alone, so that each takes up to 1.6 times as long.

use super::{Planner, Range, Wanted};
use crate::change::is_meant;
use crate::ladder::Kind;
use crate::model::{Cost, Mix, Model, Observed};
use crate::number::real;

/// By how much dearer an operation is at most while another thread runs beside it.
const SIDE_BY_SIDE: f64 = 0.6;

/// The most that each unit was busy at any load.
pub(super) fn busiest(observed: &Observed) -> Vec<f64> {
    let of = |unit: usize| {
        let seen = observed.loads.iter().filter_map(|load| load.usage.get(unit)?.busy);
        seen.fold(0.0, f64::max)
    };
    (0..observed.units.len()).map(of).collect()
}

impl Range {
    /// With what may be as well, on that side of it: both errors are thought to be independent.
    pub(super) fn reaching(self, other: f64) -> Self {
        let Self { value, low, high } = self;
        let away = (other - value).abs();
        if other < value {
            Self { low: (value - (value - low).hypot(away)).max(0.0), ..self }
        } else if other > value {
            Self { high: value + (high - value).hypot(away), ..self }
        } else {
            self
        }
    }
}

impl Planner {
    /// Where more groups with quotas run on a machine, the share of its time that one processor may run beside another of them: of
    /// two processors all of it, of many hardly any.
    fn in_bursts(&self, node: &str, wanted: &Wanted) -> f64 {
        let here = || self.units.iter().filter(|unit| unit.node == node);
        let groups = |name: &str| {
            real(here().filter(|unit| unit.kind == Kind::CpuQuota && is_meant(unit, name)).count())
        };
        let added = wanted.more.units.iter().map(|(name, factor)| (factor - 1.0).max(0.0) * groups(name));
        let others = real(here().filter(|unit| unit.kind == Kind::Core).count()) - 1.0;
        if others > 0.0 { (added.sum::<f64>() / others).min(1.0) } else { 0.0 }
    }

    /// The same store, where processors of which there are no more than there were are slower the more they have to do at this
    /// rate than at any load that was measured, or may have at once. `None` where none of them has.
    pub(super) fn slowed(&self, mix: &Mix, wanted: &Wanted, rate_per_s: f64) -> Option<Model> {
        let dearer = |node: &str| {
            let machine = self.model.parts.iter().find(|part| {
                let unit = &self.units[part.unit];
                unit.kind == Kind::Machine && unit.node == node && !wanted.more.nodes.contains_key(&unit.role)
            })?;
            let busy = (machine.idle + rate_per_s * machine.demand_s(mix)).min(1.0);
            let more = (busy - self.busiest[machine.unit]).max(self.in_bursts(node, wanted));
            (more > 0.0).then_some(1.0 + SIDE_BY_SIDE * more)
        };
        let mut slowed = self.model.clone();
        let mut is_slower = false;
        for part in &mut slowed.parts {
            let unit = &self.units[part.unit];
            let is_cpu = matches!(unit.kind, Kind::Machine | Kind::Core | Kind::Thread | Kind::CpuQuota);
            let Some(times) = dearer(&unit.node).filter(|_| is_cpu) else { continue };
            let longer =
                |cost: &Cost| Cost { fixed_s: cost.fixed_s * times, per_byte_s: cost.per_byte_s * times };
            part.costs = part.costs.iter().map(longer).collect();
            is_slower = true;
        }
        is_slower.then_some(slowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_reaches_to_what_may_be_on_its_side_only_and_beyond_by_what_is_unsure_anyway() {
        let range = Range { value: 100.0, low: 97.0, high: 104.0 };
        assert_eq!(range.reaching(96.0), Range { value: 100.0, low: 95.0, high: 104.0 });
        assert_eq!(range.reaching(103.0), Range { value: 100.0, low: 97.0, high: 105.0 });
        assert_eq!(range.reaching(100.0), range);
        assert_eq!(range.reaching(-900.0).low, 0.0);
        assert!(range.reaching(f64::INFINITY).high.is_infinite());
    }
}
