//! What the machines of a store can do without the store, and which share of it a result is.

use serde::{Deserialize, Serialize};

use super::OperationResult;

/// How a disk was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DiskPattern {
    /// Large blocks, one after the other, written.
    SequentialWrite,
    /// The same, read.
    SequentialRead,
    /// 4 KiB at places that are drawn, read.
    RandomRead,
    /// The same, written.
    RandomWrite,
}

impl DiskPattern {
    /// All, in the order in which they are measured.
    pub const ALL: [Self; 4] =
        [Self::SequentialWrite, Self::SequentialRead, Self::RandomRead, Self::RandomWrite];

    /// As files and tables say it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::SequentialWrite => "sequential_write",
            Self::SequentialRead => "sequential_read",
            Self::RandomRead => "random_read",
            Self::RandomWrite => "random_write",
        }
    }
}

/// One way of asking one disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RawDisk {
    /// The directory on it.
    pub directory: String,
    /// How it was asked.
    pub pattern: DiskPattern,
    /// Bytes of one request.
    pub block_bytes: u64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Requests per second.
    pub requests_per_s: f64,
    /// 99th percentile of a request's time in milliseconds; null where it is not known.
    pub p99_ms: Option<f64>,
    /// False: through the page cache, because the file system allows nothing else or nobody asked for it. Null where it
    /// is not known.
    pub direct: Option<bool>,
}

/// One direction of the way between the client and a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RawNetwork {
    /// True: from the client to the machine.
    pub to_node: bool,
    /// Payload bytes per second.
    pub bytes_per_s: f64,
    /// Segments sent again; null where it is not known.
    pub resent: Option<u64>,
    /// Within one machine: what it shows is a processor, no link.
    pub loopback: bool,
}

/// What one machine can do.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RawNode {
    /// Its name in the target.
    pub name: String,
    /// What it does for the store.
    pub role: String,
    /// Its disks.
    pub disks: Vec<RawDisk>,
    /// The network.
    pub networks: Vec<RawNetwork>,
    /// Bytes per second that one processor takes the SHA-256 of; null where it was not measured.
    pub sha256_bytes_per_s: Option<f64>,
    /// The same of MD5, which stores make ETags of.
    pub md5_bytes_per_s: Option<f64>,
    /// Bytes per second that one processor copies in memory; null where it was not measured.
    pub memory_bytes_per_s: Option<f64>,
    /// What was not measured, and why.
    pub not_measured: Vec<String>,
}

/// What the cluster itself says that it can do, below its gateways.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RawCluster {
    /// What was measured: `rados bench write`, `osd.3 bench`.
    pub what: String,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Requests per second.
    pub requests_per_s: Option<f64>,
}

/// What the machines of a store can do without it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RawLimits {
    /// Which machines: those of a run are the same when this is.
    pub machines: String,
    /// When, RFC 3339.
    pub taken: String,
    /// One entry for each machine.
    pub nodes: Vec<RawNode>,
    /// Of clusters that measure themselves.
    pub clusters: Vec<RawCluster>,
}

/// Which share of what its machines can do a store gives its users.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EfficiencyResult {
    /// `read` or `write`.
    pub direction: String,
    /// `disk_bytes`, `disk_requests` (objects below 64 KiB) or `network_bytes`.
    pub of: String,
    /// What users got per second.
    pub user_per_s: f64,
    /// What the machines can do per second.
    pub raw_per_s: f64,
    /// The one over the other.
    pub share: f64,
}

/// Smaller objects, and smaller requests of a disk, are limited by their number and not by bytes.
const SMALL_BYTES: u32 = 65_536;

/// Whether an operation moves its bytes in this direction between its client and the store, in one request or in parts,
/// from memory or from files.
fn is_of(op: &str, direction: &str) -> bool {
    match direction {
        "write" => ["write", "filewrite", "mwrite", "mfilewrite"].contains(&op),
        _ => op == direction,
    }
}

/// Requests per second of a disk; none where they were large ones, which say nothing of small ones.
fn small_requests(disk: &RawDisk) -> f64 {
    if disk.block_bytes < u64::from(SMALL_BYTES) { disk.requests_per_s } else { 0.0 }
}

impl RawLimits {
    /// The best of each pattern of all disks together. A disk that was measured several times counts once.
    fn disks(&self, pattern: DiskPattern, of: fn(&RawDisk) -> f64) -> f64 {
        let mut best: std::collections::BTreeMap<(&str, &str), f64> = std::collections::BTreeMap::new();
        for (node, disk) in self.nodes.iter().flat_map(|node| node.disks.iter().map(move |disk| (node, disk)))
        {
            if disk.pattern == pattern {
                let slot = best.entry((&node.name, &disk.directory)).or_insert(0.0);
                *slot = slot.max(of(disk));
            }
        }
        best.values().sum()
    }

    /// Every operation passes machines of each role: the narrowest role counts. Bytes per second from or to the client.
    fn network(&self, to_node: bool) -> f64 {
        let mut roles: std::collections::BTreeMap<&str, f64> = std::collections::BTreeMap::new();
        for node in &self.nodes {
            let own = node.networks.iter().filter(|one| one.to_node == to_node && !one.loopback);
            let best = own.map(|one| one.bytes_per_s).fold(0.0, f64::max);
            if best > 0.0 {
                *roles.entry(&node.role).or_insert(0.0) += best;
            }
        }
        roles.values().copied().reduce(f64::min).unwrap_or(0.0)
    }

    /// What users of a stage got, as shares of it. Empty where nothing was measured that they need.
    #[must_use]
    pub fn shares(&self, operations: &[OperationResult]) -> Vec<EfficiencyResult> {
        let mut found = Vec::new();
        for (direction, to_node) in [("read", false), ("write", true)] {
            let own = operations.iter().filter(|operation| is_of(&operation.op, direction));
            let (mut bytes, mut rate) = (0.0, 0.0);
            for operation in own {
                bytes += operation.bandwidth_bytes_per_s.unwrap_or(0.0);
                rate += operation.throughput_per_s.unwrap_or(0.0);
            }
            let (large, small) = match to_node {
                false => (DiskPattern::SequentialRead, DiskPattern::RandomRead),
                true => (DiskPattern::SequentialWrite, DiskPattern::RandomWrite),
            };
            let mut add = |of: &str, user_per_s: f64, raw_per_s: f64| {
                if user_per_s > 0.0 && raw_per_s > 0.0 {
                    found.push(EfficiencyResult {
                        direction: direction.to_owned(),
                        of: of.to_owned(),
                        user_per_s,
                        raw_per_s,
                        share: user_per_s / raw_per_s,
                    });
                }
            };
            if rate > 0.0 && bytes / rate < f64::from(SMALL_BYTES) {
                add("disk_requests", rate, self.disks(small, small_requests));
            } else {
                add("disk_bytes", bytes, self.disks(large, |disk| disk.bytes_per_s));
            }
            add("network_bytes", bytes, self.network(to_node));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(directory: &str, pattern: DiskPattern, bytes_per_s: f64, requests_per_s: f64) -> RawDisk {
        RawDisk {
            directory: directory.into(),
            pattern,
            block_bytes: 4096,
            bytes_per_s,
            requests_per_s,
            p99_ms: None,
            direct: Some(true),
        }
    }

    fn link(to_node: bool, bytes_per_s: f64, loopback: bool) -> RawNetwork {
        RawNetwork { to_node, bytes_per_s, resent: None, loopback }
    }

    fn operation(op: &str, rate: f64, bytes_each: f64) -> OperationResult {
        OperationResult {
            op: op.into(),
            throughput_per_s: Some(rate),
            bandwidth_bytes_per_s: Some(rate * bytes_each),
            ..OperationResult::default()
        }
    }

    fn limits() -> RawLimits {
        use DiskPattern::{RandomRead, SequentialRead, SequentialWrite};
        let storage = |name: &str| RawNode {
            name: name.into(),
            role: "storage".into(),
            disks: vec![
                disk("/a", SequentialRead, 200e6, 190.0),
                disk("/a", SequentialRead, 180e6, 170.0),
                disk("/a", SequentialWrite, 100e6, 95.0),
                disk("/b", SequentialRead, 100e6, 95.0),
                disk("/a", RandomRead, 4e6, 1000.0),
            ],
            networks: vec![link(false, 1e9, false), link(true, 1e9, false)],
            ..RawNode::default()
        };
        let proxy = RawNode {
            name: "p1".into(),
            role: "proxy".into(),
            networks: vec![link(false, 5e8, false), link(true, 9e9, true)],
            ..RawNode::default()
        };
        RawLimits { nodes: vec![storage("s1"), storage("s2"), proxy], ..RawLimits::default() }
    }

    #[test]
    fn users_get_a_share_of_all_disks_and_of_the_narrowest_role() {
        let shares = limits().shares(&[operation("read", 300.0, 1e6), operation("write", 50.0, 1e6)]);
        let said: Vec<(&str, &str, f64)> =
            shares.iter().map(|one| (one.direction.as_str(), one.of.as_str(), one.share)).collect();
        assert_eq!(
            said,
            [
                ("read", "disk_bytes", 0.5),
                ("read", "network_bytes", 0.6),
                ("write", "disk_bytes", 0.25),
                ("write", "network_bytes", 0.025)
            ]
        );
    }

    /// In parts, from files, and side by side; what is written to a disk of the client is no work of the store.
    #[test]
    fn all_writes_to_the_store_are_written() {
        let of = |operations: &[OperationResult]| -> Vec<(String, f64)> {
            limits().shares(operations).into_iter().map(|one| (one.of, one.user_per_s)).collect()
        };
        let bytes = |user: f64| [("disk_bytes".to_owned(), user), ("network_bytes".to_owned(), user)];
        for op in ["write", "filewrite", "mwrite", "mfilewrite"] {
            assert_eq!(of(&[operation(op, 50.0, 1e6)]), bytes(50e6), "{op}");
        }
        let all =
            [operation("write", 10.0, 1e6), operation("mwrite", 5.0, 8e6), operation("localwrite", 9.0, 1e6)];
        assert_eq!(of(&all), bytes(50e6));
        assert_eq!(of(&all[2..]), []);
    }

    #[test]
    fn small_objects_are_a_share_of_requests_and_nothing_measured_is_no_share() {
        let shares = limits().shares(&[operation("read", 500.0, 4096.0)]);
        assert_eq!((shares[0].of.as_str(), shares[0].share), ("disk_requests", 0.25));
        // As imported: random requests of 1 MiB, of which a disk does fewer.
        let mut large = limits();
        let disks = large.nodes.iter_mut().flat_map(|node| &mut node.disks);
        disks.for_each(|disk| disk.block_bytes = 1 << 20);
        let of = |limits: &RawLimits| -> Vec<String> {
            limits.shares(&[operation("read", 500.0, 4096.0)]).into_iter().map(|one| one.of).collect()
        };
        assert_eq!(of(&large), ["network_bytes"]);
        large.nodes[0].disks[4].block_bytes = 8192;
        assert_eq!(of(&large), ["disk_requests", "network_bytes"]);
        assert_eq!(RawLimits::default().shares(&[operation("read", 5.0, 1e6)]), []);
        assert_eq!(limits().shares(&[operation("delete", 5.0, 0.0)]), []);
    }
}
