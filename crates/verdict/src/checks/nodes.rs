//! What the store's own machines say for the checks: memory, disks, recovery and scrubbing, lost segments.

use std::collections::BTreeSet;

use cosmark_metrics::nodes::costs::read_by_disks;
use cosmark_metrics::nodes::machines::distinct;
use cosmark_metrics::{NodeResult, QuantityResult, ResourceKind};

use crate::evidence::Evidence;
use crate::numbers::{list, percent, plain};

/// A machine or disk that is busier than this without load does something of its own.
const BUSY_IDLE: f64 = 0.3;
/// Fewer readings are no look at an idle machine.
const LEAST_READINGS: u64 = 3;
/// Other copies that lack something of more partitions than this are being filled; a write that is under way while its partition
/// is compared is no such thing.
const LACKING: f64 = 0.1;
/// Fewer segments than this in a second are no traffic of a store under load.
const LEAST_SEGMENTS: f64 = 100.0;

/// Fewer packets than this in a second are no traffic of a link under load: what a switch sends by itself is dropped on any link.
const LEAST_PACKETS: f64 = 1000.0;
/// So few packets in a window are lost on a healthy one.
const LEAST_DROPPED: f64 = 10.0;

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
    let disks: f64 = machines().filter_map(read_by_disks).sum();
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
        found.extend(swifts_own(node));
        found.extend(grown(node, evidence));
        if let Some(errors) = sum(node, "store_drive_errors").filter(|errors| *errors > 0.0) {
            let errors = plain(errors);
            found.push(format!(
                "{errors} requests a second to drives failed or took too long ({})",
                node.name
            ));
        }
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

/// What the passes of Swift's replicator and auditor came to that ended in the window.
fn swifts_own(node: &NodeResult) -> Vec<String> {
    let mut found = Vec::new();
    let compared = sum(node, "store_partitions_compared").filter(|compared| *compared > 0.0);
    let sent = compared.map(|compared| sum(node, "store_partitions_sent").unwrap_or(0.0) / compared);
    if let Some(share) = sent.filter(|share| *share > LACKING) {
        let share = percent(share.min(1.0));
        found.push(format!("other copies lacked something of {share} of the partitions ({})", node.name));
    }
    if node.source == "recon" && sum(node, "store_objects_scanned").is_some() {
        found.push(format!("objects were audited ({})", node.name));
    }
    found
}

/// What there is more of than before the load; what was there before says nothing of this run.
fn grown(node: &NodeResult, evidence: &Evidence) -> Vec<String> {
    const GROWS: &[(&str, f64, &str)] = &[
        // A listing that is late now and then is every loaded store's.
        ("store_updates_pending", 10.0, "updates of listings became pending"),
        ("store_objects_quarantined", 1.0, "copies were found damaged"),
    ];
    let highest = |node: &NodeResult, quantity: &str| -> f64 {
        let own = node.quantities.iter().filter(|one| one.quantity == quantity);
        own.map(|one| one.highest).sum()
    };
    let before = evidence.idle_nodes.iter().find(|idle| idle.name == node.name && idle.readings > 0);
    let Some(before) = before else { return Vec::new() };
    let more = GROWS.iter().filter_map(|(quantity, least, what)| {
        let more = highest(node, quantity) - highest(before, quantity);
        (more >= *least).then(|| format!("{} {what} ({})", plain(more), node.name))
    });
    more.collect()
}

/// Whether the store's machines tell of recovery and of scrubbing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tells {
    /// Of neither.
    Nothing,
    /// Of recovery; why not of scrubbing.
    Recovery(&'static str),
    /// Of both.
    Both,
}

/// Figures that are 0 all the time are left out of a result, so something that is never 0 has to have been answered, or the
/// source is one that has the figure whenever it answers.
pub(super) fn tells(evidence: &Evidence) -> Tells {
    let asked =
        || evidence.nodes.iter().filter(|node| node.readings >= LEAST_READINGS && node.lost.is_none());
    // A store with drives online says of the others whether they are away or being healed, and what is scrubbed.
    if asked().any(|node| sum(node, "store_drives_online").is_some()) {
        return Tells::Both;
    }
    if asked().any(|node| node.source == "ceph" || tells_of_osds(node)) {
        return Tells::Recovery(
            "scrubbing is not in perf dump: add the manager's module prometheus as a node",
        );
    }
    if asked().any(|node| sum(node, "store_partitions_compared").is_some()) {
        return Tells::Recovery(
            "recon does not tell of audits that are short: look whether auditors run, and say sut_background: none",
        );
    }
    Tells::Nothing
}

/// An agent that may ask them tells what OSDs do under load, and of their recovery when there is any.
fn tells_of_osds(node: &NodeResult) -> bool {
    let of_osds = |one: &QuantityResult| one.quantity == "server_requests" && one.unit.starts_with("osd.");
    node.source == "agent" && node.quantities.iter().any(of_osds)
}

/// The greatest share of segments that a node sent again, and which.
pub(super) fn resent(evidence: &Evidence) -> Option<(f64, &str)> {
    let shares = evidence.nodes.iter().filter_map(|node| {
        let sent = sum(node, "tcp_segments_sent").filter(|sent| *sent >= LEAST_SEGMENTS)?;
        Some((sum(node, "tcp_segments_resent").unwrap_or(0.0) / sent, node.name.as_str()))
    });
    shares.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// The greatest share of packets that a link of a node dropped or found damaged, and which link.
pub(super) fn dropped_packets(evidence: &Evidence) -> Option<(f64, String)> {
    let of_link = |node: &NodeResult, link: &str, quantities: &[&str]| -> f64 {
        let own = |one: &&QuantityResult| one.unit == link && quantities.contains(&one.quantity.as_str());
        node.quantities.iter().filter(own).map(|one| one.mean).sum()
    };
    let mut worst: Option<(f64, String)> = None;
    for node in &evidence.nodes {
        let links: BTreeSet<&str> = node
            .quantities
            .iter()
            .filter(|one| one.quantity.starts_with("network_"))
            .map(|one| one.unit.as_str())
            .collect();
        for link in links {
            let packets = of_link(node, link, &["network_received_packets", "network_sent_packets"]);
            let lost = of_link(
                node,
                link,
                &[
                    "network_receive_drops",
                    "network_send_drops",
                    "network_queue_receive_drops",
                    "network_queue_send_drops",
                    "network_errors",
                ],
            );
            if packets < LEAST_PACKETS || lost * evidence.window_s < LEAST_DROPPED {
                continue;
            }
            let share = lost / packets;
            if worst.as_ref().is_none_or(|(most, _)| share > *most) {
                worst = Some((share, format!("{link} of {}", node.name)));
            }
        }
    }
    worst
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
