//! Units that are much busier than others like them, such as one hot disk of 36. The one place where this is decided:
//! the ladder, the terminal and the report read it from here.
//!
//! Only what takes part in the load is compared: a disk of the system beside those of the data, a second link for
//! administration, or a loop device that nothing uses have less to do because they are there for something else.

use std::collections::{BTreeMap, BTreeSet};

use super::costs::is_stacked;
use super::machines;
use crate::{ClientRecord, NodeResult, ResourceKind as Kind};

/// A unit this many times as busy as the mean of its peers is a sentence of its own.
pub const SKEWED: f64 = 1.5;
/// Below this share of the time nobody asks why a unit is busier than others.
const WORTH_A_WORD: f64 = 0.3;
/// A unit that the load keeps busy for a smaller share of the time does not take part in it.
const TAKES_PART: f64 = 0.02;
/// Fewer that take part have no mean to be compared with.
const LEAST_PEERS: usize = 3;
/// Of those that take part, at most one of so many is an exception; where more are busier, there are two sorts of them.
const EXCEPTION: usize = 3;

/// A unit, and how busy it was at one load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peer<'a> {
    /// Its machine.
    pub node: &'a str,
    /// What the machine does for the store.
    pub role: &'a str,
    /// What it is.
    pub kind: Kind,
    /// Its name there.
    pub name: &'a str,
    /// Share of the time in which it was busy, 0 to 1.
    pub busy: f64,
    /// The same without load; 0 where nobody looked.
    pub idle: f64,
}

/// A unit that is much busier than its peers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Skew {
    /// Its place among the units.
    pub unit: usize,
    /// How many peers take part in the load, with itself.
    pub peers: usize,
    /// Its utilisation over the peers' mean.
    pub times: f64,
}

impl Peer<'_> {
    /// How busy the load keeps it.
    fn own(&self) -> f64 {
        self.busy - self.idle
    }

    /// What its peers have in common with it beside kind and role; `None` where it has none. Threads differ by what they
    /// do, and quotas and limits of groups by what their groups do.
    fn alike(&self) -> Option<&str> {
        match self.kind {
            Kind::Thread | Kind::CpuQuota | Kind::IoLimit => None,
            Kind::Machine => Some(""),
            Kind::Core => Some(self.node),
            // Another interface of a machine leads to another network.
            Kind::NetworkReceive | Kind::NetworkTransmit => Some(self.name),
            Kind::Disk => Some(family(self.name)),
        }
    }
}

/// How the names of disks of one sort begin: `sd` of `sdb`, `nvme` of `nvme0n1`.
fn family(name: &str) -> &str {
    const LETTERED: [&str; 4] = ["sd", "vd", "xvd", "hd"];
    match LETTERED.into_iter().find(|family| name.starts_with(family)) {
        Some(family) => family,
        None => name.split(|sign: char| sign.is_ascii_digit()).next().unwrap_or(name),
    }
}

/// The units that are much busier than the mean of those like them, in the order in which they were given.
#[must_use]
pub fn skewed(units: &[Peer<'_>]) -> Vec<Skew> {
    // What lies on other disks is as busy as these.
    let is_disk = |unit: &&Peer<'_>| unit.kind == Kind::Disk && !is_stacked(unit.name);
    let with_disks: BTreeSet<&str> = units.iter().filter(is_disk).map(|unit| unit.node).collect();
    let is_beside_disks =
        |unit: &Peer<'_>| unit.kind == Kind::Disk && is_stacked(unit.name) && with_disks.contains(unit.node);
    let mut groups: BTreeMap<(Kind, &str, &str), Vec<usize>> = BTreeMap::new();
    for (at, unit) in units.iter().enumerate() {
        if let Some(alike) = unit.alike()
            && unit.own() >= TAKES_PART
            && !is_beside_disks(unit)
        {
            groups.entry((unit.kind, unit.role, alike)).or_default().push(at);
        }
    }
    let mut found: Vec<Skew> = groups.values().flat_map(|group| exceptions(units, group)).collect();
    found.sort_by_key(|skew| skew.unit);
    found
}

#[expect(clippy::cast_precision_loss, reason = "a handful of units")]
fn exceptions(units: &[Peer<'_>], group: &[usize]) -> Vec<Skew> {
    let many = group.len() as f64;
    let busy = group.iter().map(|at| units[*at].busy).sum::<f64>() / many;
    let own = group.iter().map(|at| units[*at].own()).sum::<f64>() / many;
    let is_hot =
        |unit: &Peer<'_>| unit.busy >= WORTH_A_WORD && unit.busy > busy * SKEWED && unit.own() > own * SKEWED;
    let hot = group.iter().filter(|at| is_hot(&units[**at]));
    let hot: Vec<Skew> =
        hot.map(|at| Skew { unit: *at, peers: group.len(), times: units[*at].busy / busy }).collect();
    if group.len() < LEAST_PEERS || hot.len() * EXCEPTION > group.len() { Vec::new() } else { hot }
}

/// `disk sdb of storage1 (storage) is 4.2 times as busy as the mean of itself and the 35 like it: the load is not
/// spread`.
#[must_use]
pub fn sentence(unit: &Peer<'_>, skew: Skew) -> String {
    let place = format!("{} ({})", unit.node, unit.role);
    let (who, itself, it) = match unit.kind {
        Kind::Machine => (format!("the processors of {place} are"), "themselves", "them"),
        kind => (format!("{} {} of {place} is", kind.word(), unit.name), "itself", "it"),
    };
    format!(
        "{who} {:.1} times as busy as the mean of {itself} and the {} like {it}: the load is not spread",
        skew.times,
        skew.peers.saturating_sub(1)
    )
}

/// What is not spread over the machines of one stage: the machine, and the sentence. Without the processors of a machine
/// on which the client itself runs: it keeps some of them busy.
#[must_use]
pub fn of_stage<'a>(
    nodes: &'a [NodeResult],
    idle: &[NodeResult],
    clients: &[ClientRecord],
) -> Vec<(&'a str, String)> {
    let mut idles: BTreeMap<(&str, Kind, &str), f64> = BTreeMap::new();
    for node in idle {
        for unit in &node.units {
            idles.entry((node.name.as_str(), unit.kind, unit.name.as_str())).or_insert(unit.busy);
        }
    }
    let idle_of =
        |node: &NodeResult, kind: Kind, name: &str| idles.get(&(node.name.as_str(), kind, name)).copied();
    let of_node = |node: &'a NodeResult| {
        let is_shared = clients.iter().any(|client| machines::runs(node, client));
        let counts = move |kind: Kind| !is_shared || !matches!(kind, Kind::Machine | Kind::Core);
        node.units.iter().filter(move |unit| counts(unit.kind)).map(move |unit| Peer {
            node: node.name.as_str(),
            role: node.role.as_str(),
            kind: unit.kind,
            name: unit.name.as_str(),
            busy: unit.busy,
            idle: idle_of(node, unit.kind, &unit.name).unwrap_or(0.0),
        })
    };
    let units: Vec<Peer<'a>> = nodes.iter().flat_map(of_node).collect();
    let said = |skew: Skew| (units[skew.unit].node, sentence(&units[skew.unit], skew));
    skewed(&units).into_iter().map(said).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UnitResult;

    fn disk<'a>(node: &'a str, name: &'a str, busy: f64) -> Peer<'a> {
        Peer { node, role: "storage", kind: Kind::Disk, name, busy, idle: 0.0 }
    }

    fn hot(units: &[Peer<'_>]) -> Vec<usize> {
        skewed(units).iter().map(|skew| skew.unit).collect()
    }

    #[test]
    fn one_hot_disk_of_many_is_named_on_whichever_machine_it_is() {
        let names: Vec<String> = (b'a'..=b'l').map(|letter| format!("sd{}", char::from(letter))).collect();
        let mut units: Vec<Peer<'_>> = Vec::new();
        for node in ["s1", "s2", "s3"] {
            units.extend(names.iter().map(|name| disk(node, name, 0.15)));
        }
        assert!(hot(&units).is_empty());
        units[17].busy = 0.9;
        let found = skewed(&units);
        assert_eq!((found.len(), found[0].unit, found[0].peers), (1, 17, 36));
        assert!((found[0].times - 0.9 / ((35.0 * 0.15 + 0.9) / 36.0)).abs() < 1e-9);
        let said = sentence(&units[17], found[0]);
        assert_eq!(
            said,
            "disk sdf of s2 (storage) is 5.3 times as busy as the mean of itself and the 35 like it: the load is not spread"
        );
    }

    #[test]
    fn what_takes_no_part_in_the_load_is_no_peer() {
        // A disk of the system beside the one of the data, on one machine and on three.
        assert!(hot(&[disk("s1", "vda", 0.02), disk("s1", "vdb", 0.6)]).is_empty());
        let three = ["s1", "s2", "s3"].into_iter();
        let beside: Vec<Peer<'_>> =
            three.flat_map(|node| [disk(node, "vda", 0.03), disk(node, "vdb", 0.6)]).collect();
        assert!(hot(&beside).is_empty());
        // Two for the system, of another sort.
        let mirror = [disk("s1", "sda", 0.05), disk("s1", "sdb", 0.05), disk("s1", "nvme0n1", 0.6)];
        assert!(hot(&mirror).is_empty());
        // Busy with something else, loaded or not.
        let idle = |name| Peer { idle: 0.2, ..disk("s1", name, 0.21) };
        assert!(hot(&[idle("sda"), idle("sdb"), idle("sdc"), disk("s1", "sdd", 0.9)]).is_empty());
        let scrubbed = Peer { idle: 0.7, ..disk("s1", "sda", 0.75) };
        let others = ["sdb", "sdc", "sdd"].map(|name| disk("s1", name, 0.1));
        assert!(hot(&[scrubbed, others[0], others[1], others[2]]).is_empty());
        // Hardly busy.
        assert!(hot(&[disk("s1", "sda", 0.25), others[0], others[1], others[2]]).is_empty());
        assert_eq!(hot(&[disk("s1", "sda", 0.5), others[0], others[1], others[2]]), [0_usize]);
    }

    #[test]
    fn stacked_disks_other_links_and_groups_are_no_peers_of_each_other() {
        for name in ["dm-0", "md0", "loop3", "drbd0", "zram0", "zd16", "bcache0"] {
            let stacked: Vec<Peer<'_>> =
                ["sda", "sdb", "sdc"].map(|disk_name| disk("s1", disk_name, 0.03)).into();
            let stacked: Vec<Peer<'_>> = stacked.into_iter().chain([disk("s1", name, 0.9)]).collect();
            assert!(hot(&stacked).is_empty(), "{name}");
        }
        // Volumes of machines that show nothing else are compared.
        let volumes: Vec<Peer<'_>> =
            [("s1", 0.1), ("s2", 0.1), ("s3", 0.9)].map(|(node, busy)| disk(node, "dm-0", busy)).into();
        assert_eq!(hot(&volumes), [2_usize]);
        let of_kind = |kind: Kind, node, name, busy| Peer { kind, ..disk(node, name, busy) };
        for kind in [Kind::NetworkReceive, Kind::NetworkTransmit, Kind::CpuQuota, Kind::IoLimit, Kind::Thread]
        {
            let units: Vec<Peer<'_>> = [("a", 0.03), ("b", 0.04), ("c", 0.9)]
                .map(|(name, busy)| of_kind(kind, "s1", name, busy))
                .into();
            assert!(hot(&units).is_empty(), "{kind:?}");
        }
        let links: Vec<Peer<'_>> = [("s1", 0.1), ("s2", 0.1), ("s3", 0.8)]
            .map(|(node, busy)| of_kind(Kind::NetworkTransmit, node, "eth0", busy))
            .into();
        assert_eq!(hot(&links), [2_usize]);
        // Of two nobody knows which is usual.
        assert!(hot(&links[1..]).is_empty());
        let cores = |node, busy: [f64; 3]| {
            let names = ["cpu0", "cpu1", "cpu2"].into_iter().zip(busy);
            names.map(move |(name, busy)| of_kind(Kind::Core, node, name, busy))
        };
        let busier: Vec<Peer<'_>> = cores("s1", [0.9; 3]).chain(cores("s2", [0.2; 3])).collect();
        assert!(hot(&busier).is_empty());
        let one: Vec<Peer<'_>> = cores("s1", [0.9, 0.1, 0.1]).chain(cores("s2", [0.2; 3])).collect();
        assert_eq!(hot(&one), [0_usize]);
    }

    #[test]
    fn one_stage_has_a_sentence_of_its_own_and_the_clients_processors_are_no_part_of_it() {
        let node = |name: &str, source: &str, units: &[(Kind, &str, f64)]| NodeResult {
            name: name.to_owned(),
            role: "storage".to_owned(),
            source: source.to_owned(),
            units: units
                .iter()
                .map(|(kind, name, busy)| UnitResult {
                    kind: *kind,
                    name: (*name).to_owned(),
                    busy: *busy,
                    highest_busy: *busy,
                    waiting: None,
                })
                .collect(),
            ..NodeResult::default()
        };
        let machine = |name, source, busy, disk| {
            node(name, source, &[(Kind::Machine, "cpu", busy), (Kind::Disk, "sda", disk)])
        };
        let nodes = [
            machine("s1", "local", 0.9, 0.2),
            machine("s2", "ssh", 0.2, 0.2),
            machine("s3", "ssh", 0.2, 0.9),
        ];
        let of_clients = |clients: &[ClientRecord]| {
            let said = of_stage(&nodes, &[], clients);
            said.into_iter().map(|(node, text)| (node.to_owned(), text)).collect::<Vec<_>>()
        };
        let [machines, disks]: [(String, String); 2] =
            of_clients(&[]).try_into().unwrap_or_else(|said| panic!("{said:?}"));
        assert!(machines.0 == "s1" && machines.1.starts_with("the processors of s1 (storage) are 2.1 times"));
        assert!(
            disks.0 == "s3" && disks.1.contains("itself and the 2 like it: the load is not spread"),
            "{disks:?}"
        );
        assert_eq!(of_clients(&[ClientRecord::default()]), [disks]);
        // What was busy before the load is no part of it.
        let before = [machine("s3", "ssh", 0.0, 0.85)];
        assert_eq!(of_stage(&nodes, &before, &[ClientRecord::default()]), []);
    }
}
