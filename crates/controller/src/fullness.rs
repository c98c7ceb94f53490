//! How full a store is, by what its machines say: as a whole where one of them knows that (Ceph's manager, `MinIO`), otherwise all
//! devices together that they name (Swift's recon). Copies and what others have stored are in it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use cosmark_metrics::nodes::quantity as q;
use cosmark_metrics::nodes::reading::{Found, NodeLook, NodeName, Reading};

/// How full it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Full {
    /// Used of the capacity, 0 to 1.
    pub share: f64,
    /// The same of the fullest device, and its name; `None` where devices are not known one by one.
    pub fullest: Option<(f64, String)>,
    /// When the oldest figure in it was read, nanoseconds since 1970.
    pub read_ns: u64,
    /// Since when `share` has been the same.
    pub same_since_ns: u64,
}

/// What was heard of it so far.
#[derive(Debug, Default)]
pub struct Fullness {
    nodes: BTreeMap<Arc<NodeName>, Heard>,
    /// Why machines that said something do not answer now.
    lost: BTreeMap<Arc<NodeName>, String>,
    now: Option<Full>,
    longest: Duration,
}

/// The last figures of one machine.
#[derive(Debug)]
struct Heard {
    at_ns: u64,
    /// By the device; of the whole store by nothing.
    parts: BTreeMap<String, Part>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Part {
    capacity: f64,
    used: f64,
}

impl Fullness {
    /// Takes what was seen of the machines, in order.
    pub fn hear(&mut self, looks: &[NodeLook]) {
        for look in looks {
            match &look.found {
                Found::Reading { reading, .. } => {
                    self.lost.remove(&look.node);
                    let parts = parts_of(reading);
                    if !parts.is_empty() {
                        self.nodes.insert(Arc::clone(&look.node), Heard { at_ns: reading.at_ns, parts });
                        self.renew();
                    }
                }
                Found::Lost { why, .. } => {
                    self.lost.insert(Arc::clone(&look.node), why.clone());
                }
            }
        }
    }

    /// How full the store is; `None` while no machine has said it.
    pub fn now(&self) -> Option<&Full> {
        self.now.as_ref()
    }

    /// The longest time between two figures that differ; zero while there were none.
    pub fn longest_between(&self) -> Duration {
        self.longest
    }

    /// Why machines that say how full the store is, or all of them where none does, do not answer now; empty where they do.
    pub fn trouble(&self) -> String {
        let counts =
            |node: &NodeName| self.nodes.is_empty() || self.nodes.keys().any(|known| **known == *node);
        let lost = self.lost.iter().filter(|(node, _)| counts(node));
        lost.map(|(node, why)| format!("node {}: {why}", node.name)).collect::<Vec<_>>().join("; ")
    }

    fn renew(&mut self) {
        let Some(mut full) = self.sum() else { return };
        if let Some(before) = &self.now {
            if before.share.total_cmp(&full.share).is_eq() {
                full.same_since_ns = before.same_since_ns;
            } else {
                let between = full.read_ns.saturating_sub(before.same_since_ns);
                self.longest = self.longest.max(Duration::from_nanos(between));
            }
        }
        self.now = Some(full);
    }

    fn sum(&self) -> Option<Full> {
        let devices =
            || self.nodes.values().flat_map(|heard| heard.parts.iter().map(move |part| (heard.at_ns, part)));
        let share = |part: &Part| (part.used / part.capacity).clamp(0.0, 1.0);
        let fullest = devices().filter(|(_, (name, _))| !name.is_empty());
        let fullest = fullest.map(|(_, (name, part))| (share(part), name.clone()));
        let fullest = fullest.max_by(|a, b| a.0.total_cmp(&b.0));
        // Who has an older figure has a smaller one, while the store is being filled.
        let whole = devices().filter(|(_, (name, _))| name.is_empty());
        let whole = whole.map(|(at_ns, (_, part))| (share(part), at_ns));
        let whole = whole.max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (share, read_ns) = match whole {
            Some(whole) => whole,
            None => {
                let sum = devices().fold(Part::default(), |sum, (_, (_, part))| Part {
                    capacity: sum.capacity + part.capacity,
                    used: sum.used + part.used,
                });
                (share(&sum), devices().map(|(at_ns, _)| at_ns).min()?)
            }
        };
        Some(Full { share, fullest, read_ns, same_since_ns: read_ns })
    }
}

/// The whole store and its devices, of which both the capacity and what is used, or free, are known.
fn parts_of(reading: &Reading) -> BTreeMap<String, Part> {
    let of = |id: &str, unit: &str| {
        let own = reading.samples.iter().find(|one| one.quantity.id == id && one.unit == unit);
        own.map(|one| one.value)
    };
    let rooms =
        reading.samples.iter().filter(|one| one.quantity.id == q::STORE_CAPACITY.id && one.value > 0.0);
    let part = |unit: &str, capacity: f64| {
        let free = || of(q::STORE_FREE.id, unit).map(|free| (capacity - free).max(0.0));
        of(q::STORE_USED.id, unit).or_else(free).map(|used| Part { capacity, used })
    };
    rooms.filter_map(|one| Some((one.unit.clone(), part(&one.unit, one.value)?))).collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::fullness::q::Quantity;

    /// What a machine says of the whole store, or of devices of it: name, capacity, used.
    pub fn look(node: &str, at_s: u64, parts: &[(&str, f64, f64)]) -> NodeLook {
        let mut reading = Reading { at_ns: at_s * 1_000_000_000, samples: Vec::new() };
        for (unit, capacity, used) in parts {
            reading.add(&q::STORE_CAPACITY, unit, *capacity);
            reading.add(&q::STORE_USED, unit, *used);
        }
        NodeLook { node: named(node), found: Found::Reading { reading: Arc::new(reading), age_ns: 0 } }
    }

    fn named(node: &str) -> Arc<NodeName> {
        let (role, source) = (String::new(), "prometheus".to_owned());
        Arc::new(NodeName { name: node.to_owned(), role, source })
    }

    /// A machine that does not answer.
    pub fn silent(node: &str, at_s: u64) -> NodeLook {
        let found = Found::Lost { at_ns: at_s * 1_000_000_000, why: "connection refused".to_owned() };
        NodeLook { node: named(node), found }
    }

    fn one(what: &'static Quantity, value: f64) -> NodeLook {
        let mut reading = Reading::default();
        reading.add(what, "", value);
        NodeLook { node: named("x"), found: Found::Reading { reading: Arc::new(reading), age_ns: 0 } }
    }

    #[test]
    fn devices_are_added_up_and_who_knows_the_whole_counts_alone() {
        let mut fullness = Fullness::default();
        fullness.hear(&[look("a", 1, &[("d1", 100.0, 90.0), ("d2", 100.0, 10.0)])]);
        fullness.hear(&[look("b", 3, &[("d1", 200.0, 20.0)])]);
        let full = fullness.now().unwrap();
        assert!((full.share - 0.3).abs() < 1e-12, "{full:?}");
        assert_eq!(full.fullest, Some((0.9, "d1".to_owned())));
        assert_eq!(full.read_ns, 1_000_000_000, "as old as its oldest part");
        fullness.hear(&[look("manager", 4, &[("", 1000.0, 500.0)])]);
        let full = fullness.now().unwrap();
        assert_eq!((full.share, full.read_ns), (0.5, 4_000_000_000));
        assert_eq!(full.fullest, Some((0.9, "d1".to_owned())));
    }

    #[test]
    fn what_says_no_capacity_or_no_use_says_nothing_of_how_full_the_store_is() {
        let mut fullness = Fullness::default();
        fullness.hear(&[one(&q::STORE_CAPACITY, 5.0), one(&q::STORE_USED, 5.0), one(&q::STORE_FREE, 5.0)]);
        fullness.hear(&[look("a", 1, &[("", 0.0, 0.0)]), silent("a", 2)]);
        assert_eq!(fullness.now(), None);
        assert_eq!(fullness.trouble(), "node a: connection refused");
        let mut reading = Reading { at_ns: 7, samples: Vec::new() };
        reading.add(&q::STORE_CAPACITY, "", 100.0);
        reading.add(&q::STORE_FREE, "", 25.0);
        let found = Found::Reading { reading: Arc::new(reading), age_ns: 0 };
        fullness.hear(&[NodeLook { node: named("b"), found }]);
        assert_eq!(fullness.now().map(|full| full.share), Some(0.75));
        assert_eq!(fullness.trouble(), "", "who is silent had nothing to say");
    }

    #[test]
    fn it_is_known_since_when_a_figure_is_the_same_and_how_rarely_it_changes() {
        let mut fullness = Fullness::default();
        for (at_s, used) in [(10, 1.0), (15, 1.0), (25, 2.0), (30, 2.0), (33, 3.0), (40, 3.0)] {
            fullness.hear(&[look("a", at_s, &[("", 10.0, used)])]);
        }
        let full = fullness.now().unwrap();
        assert_eq!((full.read_ns, full.same_since_ns), (40_000_000_000, 33_000_000_000));
        assert_eq!(fullness.longest_between(), Duration::from_secs(15));
    }
}
