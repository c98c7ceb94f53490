//! Which nodes are one machine that is read by two ways, and which clients run on it: known by when it was booted, its
//! memory, and how busy all its processors were.

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

/// Places of two nodes that are one machine, the earlier first. Only those that are read by different ways: nobody
/// names a machine twice for the same.
#[must_use]
pub fn same(nodes: &[NodeResult]) -> Vec<(usize, usize)> {
    let marks: Vec<Option<Marks>> = nodes.iter().map(Marks::of_node).collect();
    let is_same = |first: usize, second: usize| {
        nodes[first].source != nodes[second].source
            && marks[first].zip(marks[second]).is_some_and(|(first, second)| first.fit(second))
    };
    let pairs = (0..nodes.len()).flat_map(|second| (0..second).map(move |first| (first, second)));
    pairs.filter(|(first, second)| is_same(*first, *second)).collect()
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
