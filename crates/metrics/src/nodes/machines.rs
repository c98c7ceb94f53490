//! Which nodes are one machine, listed twice or read by two ways, and which clients run on it: known by what only it is called,
//! else by when it was booted, its memory, and how busy all its processors were.

use std::collections::BTreeSet;

use super::quantity as q;
use crate::{ClientRecord, NodeResult, ResourceKind};

/// One machine says when it was booted in whole seconds, in ways that round differently.
const BOOTED_WITHIN_S: f64 = 1.5;
/// Two looks at the processors of one machine over one window differ by no more than this share, however rarely they
/// are renewed. Machines that were made together may be alike in everything else.
const BUSY_WITHIN: f64 = 0.15;

/// What one machine has in common with itself.
#[derive(Debug, Clone, Copy)]
struct Marks {
    booted_s: f64,
    memory_bytes: f64,
    busy: Option<f64>,
}

impl Marks {
    fn of_node(node: &NodeResult) -> Option<Self> {
        let of = |id: &str| node.quantities.iter().find(|one| one.quantity == id).map(|one| one.mean);
        let machine = node.units.iter().find(|unit| unit.kind == ResourceKind::Machine);
        Some(Self {
            booted_s: of(q::BOOT_TIME.id)?,
            memory_bytes: of(q::MEMORY_TOTAL.id)?,
            busy: machine.map(|unit| unit.busy),
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "bytes of a machine's memory fit 53 bits")]
    fn of_client(client: &ClientRecord) -> Option<Self> {
        Some(Self {
            booted_s: client.boot_time_s?,
            memory_bytes: client.memory_bytes? as f64,
            busy: client.machine_busy_share,
        })
    }

    fn fit(self, other: Self) -> bool {
        let busy = self.busy.zip(other.busy).map_or(0.0, |(own, other)| (own - other).abs());
        (self.booted_s - other.booted_s).abs() <= BOOTED_WITHIN_S
            && (self.memory_bytes - other.memory_bytes).abs() < 1.0
            && busy <= BUSY_WITHIN
    }
}

/// What [`q::MACHINE`] calls the start of a machine's kernel that is running, before its number.
pub const BOOT: &str = "boot ";
/// And the exporter or server that its figures come from.
pub const SOURCE: &str = "source ";

/// What a machine is called by [`q::MACHINE`].
struct Names<'a> {
    boots: BTreeSet<&'a str>,
    sources: BTreeSet<&'a str>,
}

impl<'a> Names<'a> {
    fn of(node: &'a NodeResult) -> Self {
        let all = node.quantities.iter().filter(|one| one.quantity == q::MACHINE.id);
        let all: Vec<&'a str> = all.map(|one| one.unit.as_str()).collect();
        let that_begin = |kind: &str| -> BTreeSet<&'a str> {
            all.iter().filter_map(|name: &&'a str| name.strip_prefix(kind)).collect()
        };
        Self { boots: that_begin(BOOT), sources: that_begin(SOURCE) }
    }

    /// Whether two nodes are one machine by these; `None` where they do not say.
    fn are_of_one(&self, other: &Self) -> Option<bool> {
        if !self.boots.is_empty() && !other.boots.is_empty() {
            return Some(!self.boots.is_disjoint(&other.boots));
        }
        // Another address may lead to the same machine.
        (!self.sources.is_disjoint(&other.sources)).then_some(true)
    }
}

/// What is known of whether two nodes are one machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Same,
    /// They are read by one way, are as machines that are one would be, and nothing says that they are.
    Perhaps,
    Others,
}

fn compared(nodes: &[NodeResult]) -> Vec<(usize, usize, Known)> {
    let marks: Vec<Option<Marks>> = nodes.iter().map(Marks::of_node).collect();
    let names: Vec<Names<'_>> = nodes.iter().map(Names::of).collect();
    let known = |first: usize, second: usize| {
        let fit = marks[first].zip(marks[second]).map(|(first, second)| first.fit(second));
        let has_one_way = nodes[first].source == nodes[second].source;
        match (names[first].are_of_one(&names[second]), fit) {
            (None, Some(true)) if has_one_way => Known::Perhaps,
            // A container may be shown memory and processors of its own.
            (Some(true), None | Some(true)) | (None, Some(true)) => Known::Same,
            _ => Known::Others,
        }
    };
    let pairs = (0..nodes.len()).flat_map(|second| (0..second).map(move |first| (first, second)));
    pairs.map(|(first, second)| (first, second, known(first, second))).collect()
}

fn pairs(nodes: &[NodeResult], wanted: Known) -> Vec<(usize, usize)> {
    let all = compared(nodes).into_iter().filter(|(.., known)| *known == wanted);
    all.map(|(first, second, _)| (first, second)).collect()
}

/// Places of two nodes that are one machine, the earlier first. Those that are read by one way only where the machine is called
/// by a name: machines that were made together may be alike in all else.
#[must_use]
pub fn same(nodes: &[NodeResult]) -> Vec<(usize, usize)> {
    pairs(nodes, Known::Same)
}

/// Places of two nodes that are read by one way and may be one machine: nothing tells them apart, and nothing says that they
/// are one.
#[must_use]
pub fn perhaps_same(nodes: &[NodeResult]) -> Vec<(usize, usize)> {
    pairs(nodes, Known::Perhaps)
}

/// One node of each machine: the first that `tells` what is asked for, or the first.
#[must_use]
pub fn distinct(nodes: &[NodeResult], tells: impl Fn(&NodeResult) -> bool) -> Vec<&NodeResult> {
    let same = same(nodes);
    let mut taken: Vec<usize> = Vec::new();
    for at in 0..nodes.len() {
        match taken.iter_mut().find(|one| same.contains(&(**one, at))) {
            Some(one) if !tells(&nodes[*one]) && tells(&nodes[at]) => *one = at,
            Some(_) => {}
            None => taken.push(at),
        }
    }
    taken.into_iter().map(|at| &nodes[at]).collect()
}

/// The client runs on the machine of this node. A node of the type `local` is the machine of the controller.
#[must_use]
pub fn runs(node: &NodeResult, client: &ClientRecord) -> bool {
    let marks = Marks::of_node(node).zip(Marks::of_client(client));
    (node.source == "local" && client.is_at_the_controller())
        || marks.is_some_and(|(node, client)| node.fit(client))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{QuantityResult, UnitResult};

    fn node(source: &str, booted_s: f64, busy: f64) -> NodeResult {
        let of = |quantity: &str, mean: f64| QuantityResult {
            quantity: quantity.to_owned(),
            unit: String::new(),
            mean,
            highest: mean,
        };
        let machine = UnitResult {
            kind: ResourceKind::Machine,
            name: "cpu".to_owned(),
            busy,
            highest_busy: busy,
            waiting: None,
        };
        NodeResult {
            name: source.to_owned(),
            source: source.to_owned(),
            units: vec![machine],
            quantities: vec![of("boot_time_s", booted_s), of("memory_total_bytes", 8e9)],
            ..NodeResult::default()
        }
    }

    #[test]
    fn a_machine_that_is_read_by_two_ways_is_one_and_machines_that_are_alike_are_not() {
        let nodes = [
            node("local", 1e9, 0.5),
            node("ssh", 1e9 + 9.0, 0.5),
            node("prometheus", 1e9 + 1.0, 0.55),
            node("prometheus", 1e9, 0.9),
            node("local", 1e9, 0.5),
        ];
        assert_eq!(same(&nodes), [(0, 2), (2, 4)]);
        let sources = |tells: &str| -> Vec<(String, f64)> {
            let found = distinct(&nodes[..4], |node| node.source == tells);
            found.into_iter().map(|node| (node.source.clone(), node.units[0].busy)).collect()
        };
        let one = |source: &str, busy: f64| (source.to_owned(), busy);
        assert_eq!(sources("local"), [one("local", 0.5), one("ssh", 0.5), one("prometheus", 0.9)]);
        assert_eq!(sources("prometheus"), [one("prometheus", 0.55), one("ssh", 0.5), one("prometheus", 0.9)]);
        let mut other = nodes.clone();
        other[2].quantities[1].mean += 4096.0;
        assert_eq!(same(&other[..3]), [], "it has other memory");
        other[2].quantities.clear();
        assert_eq!(same(&other[..3]), [], "it does not say");
    }

    #[test]
    fn a_machine_that_is_listed_twice_for_one_way_is_one_where_its_name_says_so() {
        let called = |name: &str, busy: f64| {
            let mut found = node("ssh", 1e9, busy);
            let unit = name.to_owned();
            found.quantities.push(QuantityResult {
                quantity: "machine".to_owned(),
                unit,
                mean: 1.0,
                highest: 1.0,
            });
            found
        };
        let nodes = [called("boot a", 0.5), called("boot b", 0.5), called("boot a", 0.52)];
        assert_eq!((same(&nodes), perhaps_same(&nodes)), (vec![(0, 2)], vec![]));
        // A container that is shown processors of its own.
        let nodes = [called("boot a", 0.2), called("boot a", 0.7)];
        assert_eq!((same(&nodes), perhaps_same(&nodes)), (vec![], vec![]));
        // Without a name nobody knows; by one exporter it is the same, by another address perhaps.
        let nodes = [node("ssh", 1e9, 0.5), node("ssh", 1e9, 0.5)];
        assert_eq!((same(&nodes), perhaps_same(&nodes)), (vec![], vec![(0, 1)]));
        let nodes = [called("source 1", 0.5), called("source 1", 0.5), called("source 2", 0.5)];
        assert_eq!((same(&nodes), perhaps_same(&nodes)), (vec![(0, 1)], vec![(0, 2), (1, 2)]));
        // Two ways to one machine, of which another kernel says that it is none.
        let mut nodes = [called("boot a", 0.5), called("boot b", 0.5)];
        nodes[1].source = "agent".to_owned();
        assert_eq!(same(&nodes), []);
        nodes[1].quantities[2].unit = "boot a".to_owned();
        assert_eq!(same(&nodes), [(0, 1)]);
    }

    #[test]
    fn a_client_is_on_the_machine_that_says_what_the_clients_says() {
        let here = ClientRecord {
            boot_time_s: Some(1e9),
            memory_bytes: Some(8_000_000_000),
            machine_busy_share: Some(0.5),
            ..ClientRecord::default()
        };
        let elsewhere = ClientRecord { clock_offset_ms: Some(0.1), ..ClientRecord::default() };
        // A driver over NATS that is on the store's machine.
        let joined = ClientRecord { clock_offset_ms: Some(0.1), ..here.clone() };
        let (exporter, another) = (node("prometheus", 1e9, 0.5), node("prometheus", 2e9, 0.5));
        assert!(runs(&exporter, &here) && runs(&exporter, &joined) && !runs(&exporter, &elsewhere));
        assert!(!runs(&another, &here) && !runs(&another, &joined));
        let local = NodeResult { source: "local".to_owned(), ..NodeResult::default() };
        assert!(runs(&local, &ClientRecord::default()) && !runs(&local, &joined));
    }
}
