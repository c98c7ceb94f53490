//! Processors that other programs fill beside the store's daemons and the client: what of a machine's time is theirs is no
//! part of what an operation costs. What grows in step with the operations is the store's own, whoever is seen to do it: the
//! kernel's threads, helpers that nobody named.

use crate::ladder::Kind;
use crate::model::{ClassLoad, Load, Model, Observed, is_near};
use crate::number::real;
use crate::regression::{Plane, of_classes};

/// A unit that is no busier than this holds nobody up much, whatever is not known of it.
pub(crate) const HARMLESS: f64 = 0.7;
/// Others that take less of a machine are part of how busy it is anyway.
pub const OTHERS: f64 = 0.05;
/// A machine that is busy with so much else, and more than half of the time that it is busy at all, says nothing of the store.
const ANYWAY: f64 = 0.3;
/// Of what is busy, the least that operations have to account for.
const OWN: f64 = 0.5;

/// What others took of one machine's processors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Others {
    /// The machine's place in the units.
    pub unit: usize,
    /// The most that they took at any load, as a share of all its processors.
    pub most: f64,
    /// The same on average over the higher half of the loads.
    pub at_high_loads: f64,
}

/// Of each load, what others took that does not grow with the operations; `None` where it is not known of every load.
fn taken(observed: &Observed, unit: usize) -> Option<Vec<f64>> {
    let seen = observed.loads.iter().map(|load| load.usage.get(unit)?.by_others);
    let seen: Vec<f64> = seen.collect::<Option<_>>()?;
    // Another program that begins while the load rises lies on no such line.
    let line = line(observed.loads.iter().zip(seen.iter().copied())).filter(|(_, line)| is_near(line));
    let own = |load: &Load| line.as_ref().map_or(0.0, |(columns, line)| line.work(&columns(load)));
    Some(observed.loads.iter().zip(&seen).map(|(load, busy)| (busy - own(load)).max(0.0)).collect())
}

type Columns = fn(&Load) -> Vec<f64>;

/// How busy something is by the rates of each kind of operation, or of all together where these do not tell the kinds apart.
fn line<'a>(seen: impl Iterator<Item = (&'a Load, f64)>) -> Option<(Columns, Plane)> {
    let seen: Vec<(&Load, f64)> = seen.collect();
    let each: Columns = |load| load.classes.iter().map(|class| class.rate_per_s).collect();
    let all: Columns = |load| vec![load.rate_per_s()];
    [each, all].into_iter().find_map(|columns| {
        let rows: Vec<(Vec<f64>, f64)> = seen.iter().map(|(load, busy)| (columns(load), *busy)).collect();
        Some((columns, of_classes(&rows)?))
    })
}

impl Observed {
    /// What others took of each machine, where it is more than [`OTHERS`].
    #[must_use]
    pub fn others(&self) -> Vec<Others> {
        let sorted = self.sorted();
        let machines = (0..sorted.units.len()).filter(|unit| sorted.units[*unit].kind == Kind::Machine);
        let of = |unit| {
            let taken = taken(&sorted, unit)?;
            let most = taken.iter().copied().fold(0.0, f64::max);
            let high = &taken[taken.len() / 2..];
            let at_high_loads = high.iter().sum::<f64>() / real(high.len().max(1));
            (most > OTHERS).then_some(Others { unit, most, at_high_loads })
        };
        machines.filter_map(of).collect()
    }

    /// As if the others had not been there. Which processor they were on is not known: single ones of such a machine are left
    /// out, and so is what the machine did while it was idle.
    pub(crate) fn without(&self, others: &[Others]) -> Self {
        let mut alone = self.clone();
        for one in others {
            let Some(taken) = taken(self, one.unit) else { continue };
            let node = self.units[one.unit].node.as_str();
            for (load, taken) in alone.loads.iter_mut().zip(taken) {
                for (unit, usage) in
                    self.units.iter().zip(&mut load.usage).filter(|(unit, _)| unit.node == node)
                {
                    match unit.kind {
                        Kind::Machine => usage.busy = usage.busy.map(|busy| (busy - taken).max(0.0)),
                        Kind::Core => usage.busy = None,
                        _ => {}
                    }
                }
            }
            for (unit, idle) in self.units.iter().zip(&mut alone.idle).filter(|(unit, _)| unit.node == node) {
                if matches!(unit.kind, Kind::Machine | Kind::Core) {
                    *idle = None;
                }
            }
        }
        alone
    }

    /// A machine that is full mostly with what is no operation, and by how much of its time: of such a one it is not known what
    /// the store could have of it.
    pub(crate) fn busy_anyway(&self) -> Option<(usize, f64)> {
        let classes = vec![ClassLoad::default(); self.classes.len()];
        let nothing = Load { classes, ..Load::default() };
        let machines = (0..self.units.len()).filter(|unit| self.units[*unit].kind == Kind::Machine);
        let of = |unit: usize| {
            let idle = self.idle.get(unit).copied().flatten();
            let first = idle.map(|busy| (&nothing, busy));
            let seen = self.loads.iter().filter_map(|load| Some((load, load.usage.get(unit)?.busy?)));
            let busy = self.loads.last()?.usage.get(unit)?.busy?;
            let (_, line) = line(first.into_iter().chain(seen))?;
            // What costs more at low loads lies on a line that begins high, too.
            let anyway = idle.or_else(|| is_near(&line).then_some(line.idle))?;
            let is_full_anyway = busy > HARMLESS && anyway > ANYWAY && anyway > busy * (1.0 - OWN);
            is_full_anyway.then_some((unit, anyway))
        };
        { machines }.find_map(of)
    }
}

impl Model {
    /// The same store, where others keep their part of the machines.
    pub(crate) fn beside(&self, others: &[Others]) -> Self {
        let mut crowded = self.clone();
        for part in &mut crowded.parts {
            if let Some(one) = others.iter().find(|one| one.unit == part.unit) {
                part.idle = (part.idle + one.at_high_loads).min(1.0);
            }
        }
        crowded
    }
}
