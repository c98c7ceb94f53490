//! Machines that several nodes are: what one has once (a processor, a disk, a link, a thread of a daemon) counts once, whatever
//! number of nodes show it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use cosmark_archive::StageRecord;
use cosmark_capacity::ladder::{Ladder, Unit};
use cosmark_metrics::nodes::{machines, quantity as q};
use cosmark_metrics::{NodeResult, ResourceKind};

/// Which nodes of some stages are one machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct Machines {
    /// A node whose parts count, and another that is the same machine.
    pairs: Vec<(String, String)>,
    /// Of these, containers: each has links, daemons and groups of its own, whatever they are called there.
    apart: BTreeSet<(String, String)>,
    /// Of these, those that are read by one way: what has one name is one thing, and what has another is another.
    by_one_way: BTreeSet<(String, String)>,
    /// What machines do that are listed with several roles for one way, by the node whose parts count: `proxy+storage`.
    roles: BTreeMap<String, String>,
}

/// Names of two nodes that were found to be a pair in most of the stages: by chance two machines are as busy in one or another.
fn in_most(
    stages: &[&StageRecord],
    found: fn(&[NodeResult]) -> Vec<(usize, usize)>,
) -> BTreeSet<(String, String)> {
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for stage in stages {
        for (first, second) in found(&stage.nodes) {
            let names = (stage.nodes[first].name.as_str(), stage.nodes[second].name.as_str());
            *seen.entry(names).or_default() += 1;
        }
    }
    let often =
        seen.into_iter().filter(|((first, second), times)| times * 2 > stages.len() && first != second);
    often.map(|((first, second), _)| (first.to_owned(), second.to_owned())).collect()
}

/// What a machine has, whoever looks, and from whichever container.
fn is_of_the_kernel(kind: ResourceKind) -> bool {
    matches!(kind, ResourceKind::Machine | ResourceKind::Core | ResourceKind::Disk)
}

fn is_link(kind: ResourceKind) -> bool {
    matches!(kind, ResourceKind::NetworkReceive | ResourceKind::NetworkTransmit)
}

/// Pairs of nodes of which this holds in most stages.
fn those_that(
    stages: &[&StageRecord],
    pairs: &[(String, String)],
    holds: fn(&NodeResult, &NodeResult) -> bool,
) -> BTreeSet<(String, String)> {
    let holds_in = |stage: &StageRecord, pair: &(String, String)| {
        let place = |name: &String| stage.nodes.iter().position(|node| node.name == *name);
        let places = place(&pair.0).zip(place(&pair.1));
        places.is_some_and(|(one, other)| holds(&stage.nodes[one], &stage.nodes[other]))
    };
    let times = |pair: &(String, String)| stages.iter().filter(|stage| holds_in(stage, pair)).count();
    pairs.iter().filter(|pair| times(pair) * 2 > stages.len()).cloned().collect()
}

fn have_one_way(one: &NodeResult, other: &NodeResult) -> bool {
    one.source == other.source
}

/// Two looks at what is the same, all together, differ by less than this share of the time, and this part of how busy it was.
const WITHIN: f64 = 0.02;
const PART: f64 = 0.2;

/// Links, threads and groups that have the same names on both nodes are not the same.
fn are_apart(one: &NodeResult, other: &NodeResult) -> bool {
    let others: BTreeMap<(ResourceKind, &str), f64> =
        other.units.iter().map(|unit| ((unit.kind, unit.name.as_str()), unit.busy)).collect();
    let own = one.units.iter().filter(|unit| !is_of_the_kernel(unit.kind));
    let both = own.filter_map(|unit| {
        let other = others.get(&(unit.kind, unit.name.as_str()))?;
        Some((unit.busy, *other))
    });
    let sums = |(off, busy): (f64, f64), (own, other): (f64, f64)| {
        (off + (own - other).abs(), busy + own.max(other))
    };
    let (off, busy) = both.fold((0.0, 0.0), sums);
    off > WITHIN + PART * busy
}

impl Machines {
    /// The node that is listed first stands for the machine, unless only the other one tells of daemons and quotas, which go with
    /// their processors.
    pub fn of(stages: &[&StageRecord], units: &[Unit]) -> Self {
        let of_daemons = |unit: &&Unit| matches!(unit.kind, ResourceKind::Thread | ResourceKind::CpuQuota);
        let with_daemons: BTreeSet<&str> =
            units.iter().filter(of_daemons).map(|unit| unit.node.as_str()).collect();
        let has_daemons = |node: &str| with_daemons.contains(node);
        let ordered = |(first, second): (String, String)| {
            if has_daemons(&second) && !has_daemons(&first) { (second, first) } else { (first, second) }
        };
        let pairs: Vec<(String, String)> = in_most(stages, machines::same).into_iter().map(ordered).collect();
        let apart = those_that(stages, &pairs, are_apart);
        let by_one_way = those_that(stages, &pairs, have_one_way);
        let mut found = Self { pairs, apart, by_one_way, roles: BTreeMap::new() };
        if !found.pairs.is_empty() {
            found.roles = found.roles_of(stages);
        }
        found
    }

    fn roles_of(&self, stages: &[&StageRecord]) -> BTreeMap<String, String> {
        let mut roles: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for node in stages.iter().flat_map(|stage| &stage.nodes) {
            let first = self.first(&node.name);
            let mut nodes = stages.iter().flat_map(|stage| &stage.nodes);
            let by_one_way = nodes.any(|one| one.name == first && one.source == node.source);
            let known = roles.entry(first.to_owned()).or_default();
            if by_one_way && !known.contains(&node.role.as_str()) {
                known.push(&node.role);
            }
        }
        roles.retain(|_, roles| roles.len() > 1);
        roles.into_iter().map(|(node, roles)| (node, roles.join("+"))).collect()
    }

    /// The node that stands for the machine that this one is.
    fn first<'a>(&'a self, node: &'a str) -> &'a str {
        let mut found = node;
        for _ in 0..self.pairs.len() {
            let before = self.pairs.iter().find(|(_, other)| other == found);
            let Some((one, _)) = before else { break };
            found = one;
        }
        found
    }

    /// What the machine of a node does.
    pub fn role_of<'a>(&'a self, node: &'a NodeResult) -> &'a str {
        self.roles.get(self.first(&node.name)).map_or(node.role.as_str(), String::as_str)
    }

    /// Units without those that another node of their machine shows, too: of processors and disks all of a kind, of links as well
    /// where they are read by another way, else those of one name; of daemons and groups those of one name.
    pub fn each_once(&self, mut units: Vec<Unit>) -> Vec<Unit> {
        if self.pairs.is_empty() {
            return units;
        }
        let kinds: BTreeSet<(&str, ResourceKind)> =
            units.iter().map(|unit| (unit.node.as_str(), unit.kind)).collect();
        let names: BTreeSet<(&str, ResourceKind, &str)> =
            units.iter().map(|unit| (unit.node.as_str(), unit.kind, unit.name.as_str())).collect();
        let is_there = |pair: &(String, String), unit: &Unit| {
            let node = pair.0.as_str();
            let has_kind = kinds.contains(&(node, unit.kind));
            if is_of_the_kernel(unit.kind) {
                return has_kind;
            }
            let has_it = names.contains(&(node, unit.kind, unit.name.as_str()))
                || (has_kind && is_link(unit.kind) && !self.by_one_way.contains(pair));
            has_it && !self.apart.contains(pair)
        };
        let is_twice =
            |unit: &Unit| self.pairs.iter().any(|pair| pair.1 == unit.node && is_there(pair, unit));
        let twice: BTreeSet<Unit> = units.iter().filter(|unit| is_twice(unit)).cloned().collect();
        units.retain(|unit| !twice.contains(unit));
        units
    }

    /// What a machine has is its own, whatever it does for the store; threads and quotas are of the daemons of one role, and so
    /// are links of containers.
    pub fn with_roles(&self, units: Vec<Unit>) -> Vec<Unit> {
        let in_container = |node: &str| self.apart.iter().any(|(one, other)| one == node || other == node);
        let is_whole =
            |unit: &Unit| is_of_the_kernel(unit.kind) || (is_link(unit.kind) && !in_container(&unit.node));
        let with_role = |unit: Unit| {
            let role = self.roles.get(self.first(&unit.node)).filter(|_| is_whole(&unit)).cloned();
            Unit { role: role.unwrap_or_else(|| unit.role.clone()), ..unit }
        };
        units.into_iter().map(with_role).collect()
    }

    /// The same ladder with one name for the nodes of a machine: threads of each are that machine's processor time.
    pub fn joined<'a>(&self, ladder: &'a Ladder) -> Cow<'a, Ladder> {
        if self.pairs.is_empty() {
            return Cow::Borrowed(ladder);
        }
        let units =
            ladder.units.iter().map(|unit| Unit { node: self.first(&unit.node).to_owned(), ..unit.clone() });
        Cow::Owned(Ladder { units: units.collect(), ..ladder.clone() })
    }

    /// The same where machines are to become more: all of one does all that it does.
    pub fn as_wholes(&self, mut units: Vec<Unit>) -> Vec<Unit> {
        if self.pairs.is_empty() {
            return units;
        }
        let role = |node: &str| units.iter().find(|unit| unit.node == node).map(|unit| unit.role.clone());
        let roles: BTreeMap<String, String> = units
            .iter()
            .filter_map(|unit| {
                let first = self.first(&unit.node);
                let role = self.roles.get(first).cloned().or_else(|| role(first));
                Some((unit.node.clone(), role?))
            })
            .collect();
        for unit in &mut units {
            if let Some(role) = roles.get(&unit.node) {
                unit.role.clone_from(role);
            }
            unit.node = self.first(&unit.node).to_owned();
        }
        units
    }

    /// What threads of the named daemons of a machine did, whichever of its nodes names them.
    pub fn daemons_busy(&self, stage: &StageRecord, node: &str) -> f64 {
        let (mut sum, mut known) = (0.0_f64, BTreeSet::new());
        let first = self.first(node);
        for node in stage.nodes.iter().filter(|one| self.first(&one.name) == first) {
            let figures = node.quantities.iter().filter(|one| one.quantity == q::DAEMONS_BUSY.id);
            let busy: f64 = figures.map(|one| one.mean).sum();
            let threads = node.units.iter().filter(|unit| unit.kind == ResourceKind::Thread);
            let threads: BTreeSet<&str> = threads.map(|unit| unit.name.as_str()).collect();
            let is_apart = self.apart.iter().any(|(one, other)| one == first && *other == node.name);
            let adds = is_apart || known.is_disjoint(&threads);
            sum = if adds { sum + busy } else { sum.max(busy) };
            known.extend(threads);
        }
        sum
    }
}

/// Nodes of which it is not known whether they are one machine: its parts would count twice.
pub(super) fn perhaps_twice(stages: &[&StageRecord]) -> Option<String> {
    const SHOWN: usize = 3;
    let all = in_most(stages, machines::perhaps_same);
    let mut names: Vec<String> =
        all.iter().take(SHOWN).map(|(first, second)| format!("{first} and {second}")).collect();
    if all.len() > SHOWN {
        names.push(format!("{} more pairs", all.len() - SHOWN));
    }
    (!all.is_empty()).then(|| {
        format!(
            "whether {} are one machine cannot be known (booted in the same second, as much memory, as busy): list one machine once, or \
             what it has counts twice",
            names.join(", ")
        )
    })
}
