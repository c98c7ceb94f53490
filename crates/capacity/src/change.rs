//! Another store of the same parts: more machines of a role, or more of one kind of unit on the same machines.

use std::collections::{BTreeMap, BTreeSet};

use crate::ladder::{Kind, Unit};
use crate::model::{Cannot, Mix, Model, Stations};
use crate::number::real;

/// What is to be more or less than it was measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct More {
    /// Machines of each role that changes.
    pub nodes: BTreeMap<String, usize>,
    /// Units by their kind (`disk`, `cpu`, `network`, `quota`) or the name of a daemon, and the factor.
    pub units: Vec<(String, f64)>,
}

/// Machines of each role that was measured, by name.
#[must_use]
pub fn machines(units: &[Unit]) -> BTreeMap<&str, Vec<&str>> {
    let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for unit in units {
        let nodes = found.entry(&unit.role).or_default();
        if !nodes.contains(&unit.node.as_str()) {
            nodes.push(&unit.node);
        }
    }
    found
}

/// A process may be known by the first letters of its name only. Source: proc(5), `comm`.
const SHORTENED: usize = 15;

/// Whether `name` means this unit: its kind, its own name, or that of its daemon.
pub(crate) fn is_meant(unit: &Unit, name: &str) -> bool {
    match name {
        "disk" => unit.kind == Kind::Disk,
        "cpu" => matches!(unit.kind, Kind::Machine | Kind::Core),
        "quota" => unit.kind == Kind::CpuQuota,
        "network" => matches!(unit.kind, Kind::NetworkReceive | Kind::NetworkTransmit),
        daemon => {
            let own = unit.name.split('/').next().unwrap_or_default();
            let short: String = daemon.chars().take(SHORTENED).collect();
            unit.name == daemon || (unit.kind == Kind::Thread && !own.is_empty() && own == short)
        }
    }
}

/// What may be named of these units, with commas.
fn known(units: &[Unit]) -> String {
    let kinds = ["cpu", "disk", "network", "quota"];
    let kinds = kinds.into_iter().filter(|kind| units.iter().any(|unit| is_meant(unit, kind)));
    let daemons = units.iter().filter(|unit| unit.kind == Kind::Thread);
    let daemons: BTreeSet<&str> = daemons.filter_map(|unit| unit.name.split('/').next()).collect();
    kinds.chain(daemons).collect::<Vec<_>>().join(", ")
}

/// A part, the share of its demand, and which copy of its machine it belongs to.
type Placed = Vec<(usize, f64, usize)>;

/// More units are solved for a hundred models at once by no machine in a moment.
const MOST_PLACED: usize = 200_000;

/// Asked before they are placed: as many as somebody may ask for do not fit into memory.
const fn few(units: usize) -> Result<(), Cannot> {
    if units > MOST_PLACED { Err(Cannot::TooManyUnits(units)) } else { Ok(()) }
}

impl Stations {
    /// The changed store.
    ///
    /// # Errors
    /// For a role or unit that was not measured, and for numbers of them that are not whole.
    pub(crate) fn with(model: &Model, units: &[Unit], mix: &Mix, more: &More) -> Result<Self, Cannot> {
        let mut placed = with_nodes(model, units, mix, &more.nodes)?;
        let mut extra_delay_s = 0.0;
        for (name, factor) in &more.units {
            extra_delay_s += with_units(model, units, mix, &mut placed, name, *factor)?;
        }
        Ok(Self::at(model, units, mix, &placed, extra_delay_s))
    }
}

/// The machines of a role do what they did, each a part of it; the new ones are as those that are there. How unevenly these
/// share the work stays.
fn with_nodes(
    model: &Model,
    units: &[Unit],
    mix: &Mix,
    nodes: &BTreeMap<String, usize>,
) -> Result<Placed, Cannot> {
    let machines = machines(units);
    if let Some(unknown) = nodes.keys().find(|role| !machines.contains_key(role.as_str())) {
        let known: Vec<&str> = machines.keys().copied().collect();
        return Err(Cannot::NotMeasured(format!("role {unknown}"), known.join(", ")));
    }
    let mut placed = Placed::new();
    for (role, names) in &machines {
        let parts_of = |name: &str| {
            let own = |part: &usize| units[model.parts[*part].unit].node == name;
            (0..model.parts.len()).filter(own).collect::<Vec<usize>>()
        };
        let wanted = nodes.get(*role).copied().unwrap_or(names.len());
        if wanted == 0 {
            return Err(Cannot::NotWhole(format!("machines of role {role}")));
        }
        let parts: usize = names.iter().copied().map(|name| parts_of(name).len()).sum();
        few(placed.len().saturating_add(wanted.saturating_mul(parts) / names.len()))?;
        let mut here: Placed = Vec::new();
        for at in 0..wanted {
            let part = |part| (part, real(names.len()) / real(wanted), at / names.len());
            here.extend(parts_of(names[at % names.len()]).into_iter().map(part));
        }
        if wanted % names.len() != 0 {
            even_out(model, units, mix, &mut here, |unit| unit.role == *role);
        }
        placed.extend(here);
    }
    Ok(placed)
}

/// All of one kind together do what they did before, also where some were copied oftener than others.
fn even_out(model: &Model, units: &[Unit], mix: &Mix, placed: &mut Placed, whose: impl Fn(&Unit) -> bool) {
    let unit = |part: usize| &units[model.parts[part].unit];
    let kinds: std::collections::BTreeSet<Kind> = placed.iter().map(|one| unit(one.0).kind).collect();
    for kind in kinds {
        let of_kind = |part: usize| unit(part).kind == kind && whose(unit(part));
        let all = (0..model.parts.len()).filter(|part| of_kind(*part));
        let before: f64 = all.map(|part| model.parts[part].demand_s(mix)).sum();
        let mine = placed.iter_mut().filter(|one| of_kind(one.0));
        let mut mine: Vec<&mut (usize, f64, usize)> = mine.collect();
        let after: f64 = mine.iter().map(|one| model.parts[one.0].demand_s(mix) * one.1).sum();
        if after > 0.0 {
            mine.iter_mut().for_each(|one| one.1 *= before / after);
        }
    }
}

/// More units on each machine; gives the time that one operation alone does not gain by it.
fn with_units(
    model: &Model,
    units: &[Unit],
    mix: &Mix,
    placed: &mut Placed,
    name: &str,
    factor: f64,
) -> Result<f64, Cannot> {
    let unit = |part: usize| &units[model.parts[part].unit];
    let (meant, mut changed): (Placed, Placed) =
        placed.iter().copied().partition(|one| is_meant(unit(one.0), name));
    if meant.is_empty() {
        return Err(Cannot::NotMeasured(name.to_owned(), known(units)));
    }
    let mut extra_delay_s = 0.0;
    let mut counted: BTreeMap<(String, usize, Kind), Placed> = BTreeMap::new();
    for one in meant {
        let own = unit(one.0);
        match own.kind {
            // More of them: each operation still needs one, for as long as before.
            Kind::Thread | Kind::Disk | Kind::Core => {
                counted.entry((own.node.clone(), one.2, own.kind)).or_default().push(one);
            }
            Kind::Machine | Kind::CpuQuota => {
                extra_delay_s += model.parts[one.0].demand_s(mix) * one.1 * (1.0 - 1.0 / factor).max(0.0);
                changed.push((one.0, one.1 / factor, one.2));
            }
            // A faster one.
            Kind::NetworkReceive | Kind::NetworkTransmit | Kind::IoLimit => {
                changed.push((one.0, one.1 / factor, one.2));
            }
        }
    }
    for group in counted.into_values() {
        let wanted = real(group.len()) * factor;
        if (wanted - wanted.round()).abs() > 1e-6 || wanted < 0.5 {
            let kind = unit(group[0].0).kind.word();
            return Err(Cannot::NotWhole(format!("{name}: {} {kind}s of a machine", group.len())));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small whole number")]
        let wanted = wanted.round() as usize;
        few(changed.len().saturating_add(wanted))?;
        let before: f64 = group.iter().map(|one| model.parts[one.0].demand_s(mix) * one.1).sum();
        let mut new: Placed = (0..wanted).map(|at| group[at % group.len()]).collect();
        let after: f64 = new.iter().map(|one| model.parts[one.0].demand_s(mix) * one.1).sum();
        if after > 0.0 {
            new.iter_mut().for_each(|one| one.1 *= before / after);
        }
        changed.extend(new);
    }
    *placed = changed;
    Ok(extra_delay_s)
}
