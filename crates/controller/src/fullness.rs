//! How full a store is, by what its machines say: as a whole where one of them knows that (Ceph's manager, `MinIO`),
//! otherwise all devices together that they name (Swift's recon, file systems). Copies and what others have stored are in
//! it. What several say of one store counts once; what they say of several is no figure.

use std::collections::{BTreeMap, BTreeSet};
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
    /// The names of the nodes that count; none = all.
    named: Vec<String>,
    /// From when on the time between figures is looked at: nobody has filled anything before.
    since_ns: u64,
    now: Option<Full>,
    longest: Duration,
}

/// The last figures of one machine.
#[derive(Debug)]
struct Heard {
    at_ns: u64,
    of: Of,
    /// When it was booted and how much memory it has, by which a machine is known that is read in two ways.
    machine: Option<(f64, f64)>,
    /// By the device; of the whole store by nothing.
    parts: BTreeMap<String, Part>,
}

/// Of what a machine says how full it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Of {
    Ceph,
    Minio,
    Swift,
    FileSystems,
    Other,
}

#[derive(Debug, Clone, Copy, Default)]
struct Part {
    capacity: f64,
    used: f64,
}

/// Machines are read once a minute at least: who says nothing of it for longer than that after another has, says it no more,
/// as a manager of Ceph that another one has relieved.
const SAYS_NO_MORE: Duration = Duration::from_secs(90);
/// So many of those that say it are named.
const MOST_NAMES: usize = 8;
/// Managers of one cluster say the same capacity, except for moments in which it grows.
const SAME_CAPACITY: f64 = 0.01;
/// One machine says when it was booted in whole seconds, in ways that round differently.
const BOOTED_WITHIN_S: f64 = 1.5;

impl Fullness {
    /// From now on these nodes count, or all where none is named.
    pub fn begin(&mut self, named: &[String], now_ns: u64) {
        (self.named, self.since_ns) = (named.to_vec(), now_ns);
        (self.now, self.longest) = (None, Duration::ZERO);
        self.renew();
    }

    /// Takes what was seen of the machines, in order.
    pub fn hear(&mut self, looks: &[NodeLook]) {
        for look in looks {
            match &look.found {
                Found::Reading { reading, .. } => {
                    self.lost.remove(&look.node);
                    if let Some(heard) = Heard::of(&look.node, reading) {
                        self.nodes.insert(Arc::clone(&look.node), heard);
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
        let all = self.tellers().is_empty();
        let counts =
            |node: &NodeName| self.is_named(node) && (all || self.nodes.keys().any(|known| **known == *node));
        let lost = self.lost.iter().filter(|(node, _)| counts(node));
        lost.map(|(node, why)| format!("node {}: {why}", node.name)).collect::<Vec<_>>().join("; ")
    }

    /// Why what the machines say is no figure of one store; what to do stands behind it.
    pub fn conflict(&self) -> Option<String> {
        let mut firsts: BTreeMap<Of, &str> = BTreeMap::new();
        let tellers = self.tellers();
        tellers.iter().for_each(|(node, heard)| {
            firsts.entry(heard.of).or_insert(&node.name);
        });
        let knows_whole = tellers.iter().any(|(_, heard)| heard.parts.contains_key(""));
        // What file systems say counts for nothing beside who knows the whole.
        let mut all = firsts.iter().filter(|(of, _)| **of != Of::FileSystems || !knows_whole);
        let ((one, first), (other, second)) = all.next().zip(all.next())?;
        let which = match other {
            Of::FileSystems => "which may be the same or another part of it",
            _ => "which are two stores",
        };
        Some(format!(
            "node {first} says how full {} is and node {second} how full {} is, {which}; {}",
            one.word(),
            other.word(),
            name_them(first)
        ))
    }

    /// The same where several say it of whole stores that are not equally large. One may grow, and one of them know it
    /// before the others, so that this is nothing to end a load by.
    pub fn sizes_differ(&self) -> Option<String> {
        let whole = |(node, heard): &(&Arc<NodeName>, &Heard)| {
            let capacity = heard.parts.get("")?.capacity;
            Some((capacity, node.name.clone()))
        };
        let wholes: Vec<_> = self.live().iter().filter_map(whole).collect();
        let smallest = wholes.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
        let largest = wholes.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        (smallest.0 < largest.0 * (1.0 - SAME_CAPACITY)).then(|| {
            format!(
                "nodes {} and {} speak of two stores, of which the first has {:.1} % of the capacity of the other; {}",
                smallest.1,
                largest.1,
                smallest.0 / largest.0 * 100.0,
                name_them(&largest.1)
            )
        })
    }

    /// The names of the nodes that count; none = all.
    pub fn named(&self) -> &[String] {
        &self.named
    }

    fn is_named(&self, node: &NodeName) -> bool {
        self.named.is_empty() || self.named.contains(&node.name)
    }

    /// By whose word it goes now, in words.
    pub fn by(&self) -> String {
        let all = self.live();
        let knows_whole = |heard: &Heard| heard.parts.contains_key("");
        let is_part = !all.iter().any(|(_, heard)| knows_whole(heard));
        let counts = all.iter().filter(|(_, heard)| is_part || knows_whole(heard));
        let mut names: Vec<&str> = counts.map(|(node, _)| node.name.as_str()).collect();
        names.sort_unstable();
        let more = names.len().saturating_sub(MOST_NAMES);
        names.truncate(MOST_NAMES);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{rest}", names.join(", "))
    }

    /// Who says how full the store is, those first that say it now.
    fn tellers(&self) -> Vec<(&Arc<NodeName>, &Heard)> {
        let named = || self.nodes.iter().filter(|(node, _)| self.is_named(node));
        let newest_ns = newest(named().map(|(_, heard)| heard));
        let (away, mut all): (Vec<_>, Vec<_>) =
            named().partition(|(node, heard)| self.is_away(node, heard, newest_ns));
        all.extend(away);
        all
    }

    /// Whether it says it no more, when the last one to say it did so at `newest_ns`.
    fn is_away(&self, node: &Arc<NodeName>, heard: &Heard, newest_ns: u64) -> bool {
        let since = Duration::from_nanos(newest_ns.saturating_sub(heard.at_ns));
        self.lost.contains_key(node) || since > SAYS_NO_MORE
    }

    /// Those of them that say it now, where one of these knows the whole; else all.
    fn live(&self) -> Vec<(&Arc<NodeName>, &Heard)> {
        let mut all = self.tellers();
        let newest_ns = newest(all.iter().map(|(_, heard)| *heard));
        let is_here = |node: &Arc<NodeName>, heard: &Heard| !self.is_away(node, heard, newest_ns);
        if all.iter().any(|(node, heard)| heard.parts.contains_key("") && is_here(node, heard)) {
            all.retain(|(node, heard)| is_here(node, heard));
        }
        all
    }

    fn renew(&mut self) {
        let Some(mut full) = self.sum() else { return };
        if let Some(before) = &self.now {
            if before.share.total_cmp(&full.share).is_eq() {
                full.same_since_ns = before.same_since_ns;
            } else {
                let between = full.read_ns.saturating_sub(before.same_since_ns.max(self.since_ns));
                self.longest = self.longest.max(Duration::from_nanos(between));
            }
        }
        self.now = Some(full);
    }

    fn sum(&self) -> Option<Full> {
        let devices = self.devices();
        let share = |part: &Part| (part.used / part.capacity).clamp(0.0, 1.0);
        let fullest = devices.iter().map(|(_, name, part)| (share(part), (*name).to_owned()));
        let fullest = fullest.max_by(|a, b| a.0.total_cmp(&b.0));
        // Who has an older figure has a smaller one, while the store is being filled. Who answers no more has none.
        let live = self.live();
        let whole = live.iter().filter_map(|(_, heard)| Some((share(heard.parts.get("")?), heard.at_ns)));
        let whole = whole.max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (share, read_ns) = match whole {
            Some(whole) => whole,
            None => {
                let sum = devices.iter().fold(Part::default(), |sum, (_, _, part)| Part {
                    capacity: sum.capacity + part.capacity,
                    used: sum.used + part.used,
                });
                (share(&sum), devices.iter().map(|(at_ns, _, _)| *at_ns).min()?)
            }
        };
        Some(Full { share, fullest, read_ns, same_since_ns: read_ns })
    }

    /// The devices, each once: when it was heard of, its name, how full it is.
    fn devices(&self) -> Vec<(u64, &str, Part)> {
        let (tellers, mut daemons, mut all) = (self.tellers(), BTreeSet::new(), Vec::new());
        for (at, (node, heard)) in tellers.iter().enumerate() {
            let before = tellers.iter().take(at);
            let twins: Vec<_> = before.filter(|(other, own)| heard.is_twin(node, own, other)).collect();
            for (name, part) in heard.parts.iter().filter(|(name, _)| !name.is_empty()) {
                let is_again = match heard.of {
                    // Every manager names all of them, and their names are the cluster's.
                    Of::Ceph => !daemons.insert(name.as_str()),
                    _ => twins.iter().any(|(_, twin)| twin.parts.contains_key(name)),
                };
                if !is_again {
                    all.push((heard.at_ns, name.as_str(), *part));
                }
            }
        }
        all
    }
}

fn newest<'a>(all: impl Iterator<Item = &'a Heard>) -> u64 {
    all.map(|heard| heard.at_ns).max().unwrap_or(0)
}

fn name_them(node: &str) -> String {
    format!("name those that speak of the store that is filled, beside `to`: nodes: {node}")
}

impl Of {
    fn word(self) -> &'static str {
        match self {
            Self::Ceph => "Ceph",
            Self::Minio => "MinIO",
            Self::Swift => "Swift",
            Self::FileSystems => "a file system",
            Self::Other => "a store",
        }
    }

    /// By what the source calls the capacity, or by the way in which it is read.
    fn said_by(node: &NodeName, capacity: &str) -> Self {
        let names = [("ceph_", Self::Ceph), ("minio_", Self::Minio), ("node_filesystem_", Self::FileSystems)];
        let by_name = names.into_iter().find(|(begin, _)| capacity.starts_with(begin));
        by_name.map_or_else(
            || match node.source.as_str() {
                "recon" => Self::Swift,
                "local" | "ssh" | "agent" => Self::FileSystems,
                _ => Self::Other,
            },
            |(_, of)| of,
        )
    }
}

impl Heard {
    /// What a machine says of how full the store is; `None` where that is nothing.
    fn of(node: &NodeName, reading: &Reading) -> Option<Self> {
        let one =
            |quantity: &q::Quantity| reading.samples.iter().find(|sample| sample.quantity.id == quantity.id);
        let parts = parts_of(reading);
        let capacity = one(&q::STORE_CAPACITY).filter(|_| !parts.is_empty())?;
        let machine = one(&q::BOOT_TIME).zip(one(&q::MEMORY_TOTAL));
        let machine = machine.map(|(booted, memory)| (booted.value, memory.value));
        Some(Self { at_ns: reading.at_ns, of: Of::said_by(node, &capacity.name), machine, parts })
    }

    /// Whether it is the machine of another, read in another way: nobody names one twice for the same.
    fn is_twin(&self, node: &NodeName, other: &Self, of: &NodeName) -> bool {
        let is_same = |own: (f64, f64), other: (f64, f64)| {
            (own.0 - other.0).abs() <= BOOTED_WITHIN_S && (own.1 - other.1).abs() < 1.0
        };
        self.of == other.of
            && node.source != of.source
            && self.machine.zip(other.machine).is_some_and(|(own, other)| is_same(own, other))
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

    /// What a source that names its numbers in this way says of devices, or of the whole store: name, capacity, used.
    fn named_look(node: &str, source: &str, begin: &str, at_s: u64, parts: &[(&str, f64, f64)]) -> NodeLook {
        with(node, source, begin, Reading { at_ns: at_s * 1_000_000_000, samples: Vec::new() }, parts)
    }

    fn with(
        node: &str,
        source: &str,
        begin: &str,
        mut reading: Reading,
        parts: &[(&str, f64, f64)],
    ) -> NodeLook {
        for (unit, capacity, used) in parts {
            reading.add_named(&q::STORE_CAPACITY, unit, format!("{begin}total_bytes"), *capacity);
            reading.add_named(&q::STORE_USED, unit, format!("{begin}used_bytes"), *used);
        }
        let (name, role, source) = (node.to_owned(), String::new(), source.to_owned());
        let found = Found::Reading { reading: Arc::new(reading), age_ns: 0 };
        NodeLook { node: Arc::new(NodeName { name, role, source }), found }
    }

    fn ceph(node: &str, at_s: u64, parts: &[(&str, f64, f64)]) -> NodeLook {
        named_look(node, "prometheus", "ceph_", at_s, parts)
    }

    fn minio(node: &str, at_s: u64, parts: &[(&str, f64, f64)]) -> NodeLook {
        named_look(node, "prometheus", "minio_", at_s, parts)
    }

    fn swift(node: &str, at_s: u64, parts: &[(&str, f64, f64)]) -> NodeLook {
        named_look(node, "recon", "", at_s, parts)
    }

    /// A machine with file systems, known by when it was booted and its memory.
    fn machine(
        node: &str,
        source: &str,
        (booted_s, memory): (f64, f64),
        parts: &[(&str, f64, f64)],
    ) -> NodeLook {
        let begin = if source == "prometheus" { "node_filesystem_" } else { "" };
        let mut reading = Reading { at_ns: 1_000_000_000, samples: Vec::new() };
        reading.add(&q::BOOT_TIME, "", booted_s);
        reading.add(&q::MEMORY_TOTAL, "", memory);
        with(node, source, begin, reading, parts)
    }

    /// What a manager of Ceph says of something else.
    fn one_of(node: &str, at_s: u64) -> NodeLook {
        let mut reading = Reading { at_ns: at_s * 1_000_000_000, samples: Vec::new() };
        reading.add(&q::STORE_PENDING, "", 1.0);
        with(node, "prometheus", "ceph_", reading, &[])
    }

    fn heard(looks: &[NodeLook]) -> Fullness {
        let mut fullness = Fullness::default();
        fullness.hear(looks);
        fullness
    }

    fn share(fullness: &Fullness) -> f64 {
        fullness.now().map_or(f64::NAN, |full| full.share)
    }

    #[test]
    fn several_managers_of_one_cluster_count_once_and_one_that_answers_no_more_not_at_all() {
        let osds = |used: f64| [("osd.0", 50.0, used), ("osd.1", 50.0, 9.0), ("", 100.0, used + 9.0)];
        let mut fullness = heard(&[ceph("m1", 1, &osds(11.0)), ceph("m2", 2, &osds(21.0))]);
        assert_eq!((fullness.conflict(), fullness.sizes_differ()), (None, None));
        assert!((share(&fullness) - 0.3).abs() < 1e-12, "the newer figure: {fullness:?}");
        // The store was emptied after the second one had died.
        fullness.hear(&[silent("m2", 3), ceph("m1", 4, &osds(1.0))]);
        assert!((share(&fullness) - 0.1).abs() < 1e-12, "{fullness:?}");
        assert_eq!(fullness.now().map(|full| full.read_ns), Some(4_000_000_000));
        // Without what they say of the whole, each of its daemons counts once, by whoever answers.
        let parts = [("osd.0", 50.0, 10.0), ("osd.1", 50.0, 30.0)];
        let fullness =
            heard(&[ceph("m1", 1, &parts), ceph("m2", 1, &parts), ceph("m3", 1, &[("osd.2", 100.0, 0.0)])]);
        assert!((share(&fullness) - 0.2).abs() < 1e-12, "{fullness:?}");
        // One that another has relieved answers, and says nothing of it any more.
        let mut relieved = heard(&[ceph("m1", 1, &osds(41.0)), ceph("m2", 60, &osds(31.0))]);
        assert!((share(&relieved) - 0.5).abs() < 1e-12, "{relieved:?}");
        relieved.hear(&[one_of("m1", 91), ceph("m2", 92, &osds(11.0))]);
        assert_eq!((share(&relieved), relieved.by().as_str()), (0.2, "m2"), "{relieved:?}");
        assert_eq!(relieved.now().unwrap().fullest, Some((0.22, "osd.0".to_owned())));
        // Who was the only one has the last figure, which grows old.
        let mut alone = heard(&[ceph("m1", 1, &osds(11.0))]);
        alone.hear(&[silent("m1", 3)]);
        assert_eq!(alone.now().map(|full| full.read_ns), Some(1_000_000_000));
    }

    #[test]
    fn what_several_stores_say_is_no_figure_until_it_is_said_which_is_meant() {
        let whole = |capacity: f64| [("", capacity, capacity / 2.0)];
        let device = [("/srv/d1", 10.0, 1.0)];
        for (looks, words) in [
            (
                vec![ceph("m", 1, &whole(9.0)), minio("s", 1, &whole(9.0))],
                &["node m", "Ceph", "node s", "MinIO", "two stores"][..],
            ),
            (
                vec![ceph("m", 1, &device), swift("s", 1, &device)],
                &["Ceph", "Swift", "two stores", "nodes: m"],
            ),
            (vec![minio("m", 1, &whole(9.0)), swift("s", 1, &device)], &["MinIO", "Swift"]),
            (
                vec![swift("s", 1, &device), named_look("f", "ssh", "", 1, &device)],
                &["Swift", "node f", "a file system", "the same or another part"],
            ),
        ] {
            let mut fullness = heard(&looks);
            let why = fullness.conflict().unwrap();
            assert!(words.iter().all(|word| why.contains(word)), "{why}");
            for look in &looks {
                fullness.begin(std::slice::from_ref(&look.node.name), 0);
                assert_eq!(
                    (fullness.conflict(), fullness.now().is_some()),
                    (None, true),
                    "{}",
                    look.node.name
                );
            }
            fullness.begin(&["nobody".to_owned()], 0);
            assert_eq!((fullness.conflict(), fullness.now()), (None, None));
        }
        // Two clusters of one kind have other sizes; one that grows is none.
        let two = heard(&[ceph("a", 1, &whole(40.0)), ceph("b", 1, &whole(100.0))]);
        assert_eq!(two.conflict(), None);
        let why = two.sizes_differ().unwrap();
        assert!(why.contains("nodes a and b") && why.contains("40.0 %") && why.contains("nodes: b"), "{why}");
        assert_eq!(heard(&[ceph("a", 1, &whole(99.9)), ceph("b", 1, &whole(100.0))]).sizes_differ(), None);
        // What file systems say stands beside who knows the whole.
        let beside = heard(&[minio("m", 1, &whole(9.0)), named_look("f", "agent", "", 1, &device)]);
        assert_eq!((beside.conflict(), share(&beside)), (None, 0.5));
        assert_eq!(beside.now().unwrap().fullest, Some((0.1, "/srv/d1".to_owned())));
    }

    #[test]
    fn a_machine_that_is_read_in_two_ways_counts_once_and_machines_that_are_alike_each() {
        let parts = |used: f64| [("/srv/d1", 100.0, used), ("/srv/d2", 100.0, used)];
        let one = (1_700_000_000.0, 64e9);
        let twice = [
            machine("a", "ssh", one, &parts(50.0)),
            machine("b", "agent", (one.0 + 0.7, one.1), &parts(50.0)),
            machine("c", "ssh", (one.0 + 900.0, one.1), &parts(20.0)),
        ];
        assert!((share(&heard(&twice)) - 0.35).abs() < 1e-12);
        // Containers of one machine are read in one way, and are not the same.
        let containers = [machine("a", "ssh", one, &parts(50.0)), machine("b", "ssh", one, &parts(10.0))];
        assert!((share(&heard(&containers)) - 0.3).abs() < 1e-12);
        // Each way has its own directories.
        let others = [
            machine("a", "ssh", one, &parts(50.0)),
            machine("b", "prometheus", one, &[("/mnt", 100.0, 80.0)]),
        ];
        assert!((share(&heard(&others)) - 0.6).abs() < 1e-12);
    }

    #[test]
    fn those_by_whose_word_it_goes_are_named() {
        let devices = |count: u32| (0..count).map(|at| swift(&format!("s{at}"), 1, &[("d", 9.0, 1.0)]));
        assert_eq!(heard(&devices(3).collect::<Vec<_>>()).by(), "s0, s1, s2");
        assert!(heard(&devices(9).collect::<Vec<_>>()).by().ends_with("s6, s7 and 1 more"));
        let beside =
            heard(&[ceph("m", 1, &[("", 9.0, 1.0)]), named_look("f", "ssh", "", 1, &[("/d", 9.0, 1.0)])]);
        assert_eq!(beside.by(), "m");
    }

    #[test]
    fn the_time_before_a_fill_is_no_pace_of_the_figures() {
        let mut fullness = heard(&[look("a", 10, &[("", 10.0, 1.0)]), look("a", 600, &[("", 10.0, 1.0)])]);
        fullness.begin(&[], 605 * 1_000_000_000);
        assert_eq!((fullness.longest_between(), share(&fullness)), (Duration::ZERO, 0.1));
        fullness.hear(&[look("a", 610, &[("", 10.0, 2.0)]), look("a", 613, &[("", 10.0, 1.5)])]);
        assert_eq!(fullness.longest_between(), Duration::from_secs(5));
        assert!((share(&fullness) - 0.15).abs() < 1e-12, "deleting makes it less full");
    }
}
