//! What the store's own machines say for the checks: memory, disks, recovery and scrubbing, lost segments.

use cosmark_metrics::nodes::machines::distinct;
use cosmark_metrics::{NodeResult, ResourceKind};

use crate::evidence::Evidence;
use crate::numbers::{list, percent, plain};

/// A machine or disk that is busier than this without load does something of its own.
const BUSY_IDLE: f64 = 0.3;
/// Fewer readings are no look at an idle machine.
const LEAST_READINGS: u64 = 3;
/// Fewer segments than this in a second are no traffic of a store under load.
const LEAST_SEGMENTS: f64 = 100.0;

/// The mean of a quantity of one node, all its units together; `None` where it does not tell.
fn sum(node: &NodeResult, quantity: &str) -> Option<f64> {
    let own = node.quantities.iter().filter(|one| one.quantity == quantity);
    own.map(|one| one.mean).reduce(|a, b| a + b)
}

/// Several nodes may be parts of one machine (its daemons beside its own figures), or ways to it: each machine tells
/// its memory once.
pub(super) fn memory_bytes(evidence: &Evidence) -> Option<f64> {
    let memory = |node: &NodeResult| sum(node, "memory_total_bytes");
    let all = distinct(&evidence.nodes, |node| memory(node).is_some()).into_iter().filter_map(memory);
    all.reduce(|a, b| a + b)
}

/// Of the bytes that were read, the share that came from disks, at most 1; `None` where a machine does not tell of its disks.
pub(super) fn share_from_disks(evidence: &Evidence) -> Option<f64> {
    let tell = |node: &NodeResult| node.units.iter().any(|unit| unit.kind == ResourceKind::Disk);
    let each = distinct(&evidence.nodes, tell);
    let machines = || each.iter().copied().filter(|node| sum(node, "memory_total_bytes").is_some());
    if machines().next().is_none()
        || !machines().all(tell)
        || machines().any(|node| node.readings < LEAST_READINGS)
    {
        return None;
    }
    let disks: f64 = machines().filter_map(|node| sum(node, "disk_read_bytes")).sum();
    let reads = evidence.operations.iter().filter(|op| op.kind == "read" && op.window_s > 0.0);
    #[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
    let bytes: f64 = reads.map(|op| op.bytes as f64 / op.window_s).sum();
    (bytes > 0.0).then(|| (disks / bytes).min(1.0))
}

/// What the store did beside the load, in words.
pub(super) fn background(evidence: &Evidence) -> Option<String> {
    const WORK: &[(&str, &str)] = &[
        ("store_objects_degraded", "copies are missing"),
        ("store_objects_misplaced", "copies lie elsewhere than they should"),
        ("store_recoveries", "objects a second were recovered"),
        ("store_scrubbing", "placement groups were scrubbed"),
        ("store_drives_offline", "drives were offline"),
        ("store_drives_healing", "drives were being healed"),
    ];
    let mut found = Vec::new();
    for node in &evidence.nodes {
        for (quantity, what) in WORK {
            if let Some(amount) = sum(node, quantity).filter(|amount| *amount >= 0.05) {
                found.push(format!("{} {what} ({})", plain(amount), node.name));
            }
        }
    }
    for node in evidence.idle_nodes.iter().filter(|node| node.readings >= LEAST_READINGS) {
        let own = |kind: ResourceKind| node.units.iter().filter(move |unit| unit.kind == kind);
        let busiest = own(ResourceKind::Disk)
            .chain(own(ResourceKind::Machine))
            .max_by(|a, b| a.busy.total_cmp(&b.busy));
        if let Some(unit) = busiest.filter(|unit| unit.busy > BUSY_IDLE) {
            let what = if unit.kind == ResourceKind::Disk {
                format!("disk {}", unit.name)
            } else {
                "processors".into()
            };
            found.push(format!("{what} of {}: {} busy before the load", node.name, percent(unit.busy)));
        }
    }
    (!found.is_empty()).then(|| list(&found))
}

/// A machine of the store tells whether anything is recovered or scrubbed: figures that are 0 all the time are left out of a
/// result, so a source of that kind has to have answered.
pub(super) fn tell_of_background(evidence: &Evidence) -> bool {
    let asks = |node: &&NodeResult| node.readings >= LEAST_READINGS && node.lost.is_none();
    // A store with drives online, which are never 0, says of the others whether they are away or being healed.
    let tells = |node: &NodeResult| {
        matches!(node.source.as_str(), "ceph" | "recon") || sum(node, "store_drives_online").is_some()
    };
    evidence.nodes.iter().filter(asks).any(tells)
}

/// The greatest share of segments that a node sent again, and which.
pub(super) fn resent(evidence: &Evidence) -> Option<(f64, &str)> {
    let shares = evidence.nodes.iter().filter_map(|node| {
        let sent = sum(node, "tcp_segments_sent").filter(|sent| *sent >= LEAST_SEGMENTS)?;
        Some((sum(node, "tcp_segments_resent").unwrap_or(0.0) / sent, node.name.as_str()))
    });
    shares.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// Connections that a node dropped because the queue of a listening socket was full, in words.
pub(super) fn dropped_connections(evidence: &Evidence) -> Option<String> {
    let drops = |node: &NodeResult| sum(node, "tcp_listen_drops").filter(|rate| *rate > 0.0);
    let (rate, node) = evidence
        .nodes
        .iter()
        .filter_map(|node| Some((drops(node)?, node)))
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!(
        "{} dropped {} connections a second because a listening queue was full",
        node.name,
        plain(rate)
    ))
}
