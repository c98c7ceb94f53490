//! What machines can do by themselves, and the share of it that a store gives, as a person reads it.

use cosmark_archive::RunRecord;
use cosmark_metrics::{DiskPattern, RawLimits, RawNode};

use cosmark_workload::units::{bytes_text, signed_text};

use crate::fit;
use crate::units;

/// Nothing of it was measured.
#[must_use]
pub fn is_empty(node: &RawNode) -> bool {
    let processors = [node.sha256_bytes_per_s, node.md5_bytes_per_s, node.memory_bytes_per_s];
    node.disks.is_empty() && node.networks.is_empty() && processors.iter().all(Option::is_none)
}

/// One thing that was measured: of which machine, what, bytes and requests per second, and a remark.
struct Row {
    node: String,
    what: String,
    bytes_per_s: f64,
    requests_per_s: Option<f64>,
    p99_ms: Option<f64>,
    remark: &'static str,
}

fn words(pattern: DiskPattern) -> String {
    pattern.word().replace('_', " ")
}

fn rows(limits: &RawLimits) -> Vec<Row> {
    let mut rows = Vec::new();
    for node in &limits.nodes {
        let row = |what: String, bytes_per_s: f64| Row {
            node: node.name.clone(),
            what,
            bytes_per_s,
            requests_per_s: None,
            p99_ms: None,
            remark: "",
        };
        for disk in &node.disks {
            let block = bytes_text(disk.block_bytes);
            rows.push(Row {
                requests_per_s: Some(disk.requests_per_s),
                p99_ms: disk.p99_ms,
                remark: if disk.direct == Some(false) { "through the page cache" } else { "" },
                ..row(
                    format!("disk {}: {} of {block}", disk.directory, words(disk.pattern)),
                    disk.bytes_per_s,
                )
            });
        }
        for network in &node.networks {
            let way = if network.to_node { "network, to it" } else { "network, from it" };
            let remark = if network.loopback { "within one machine: no link" } else { "" };
            rows.push(Row { remark, ..row(way.to_owned(), network.bytes_per_s) });
        }
        let processors = [
            ("SHA-256, one processor", node.sha256_bytes_per_s),
            ("MD5, one processor", node.md5_bytes_per_s),
            ("memory, copied by one processor", node.memory_bytes_per_s),
        ];
        for (what, speed) in processors {
            rows.extend(speed.map(|speed| row(what.to_owned(), speed)));
        }
    }
    rows.extend(limits.clusters.iter().map(|cluster| Row {
        node: "cluster".to_owned(),
        what: cluster.what.clone(),
        bytes_per_s: cluster.bytes_per_s,
        requests_per_s: cluster.requests_per_s,
        p99_ms: None,
        remark: "",
    }));
    rows
}

/// All of it.
#[must_use]
pub fn text(limits: &RawLimits) -> String {
    let heads = ["node", "what", "speed", "requests/s", "p99 ms", ""];
    let cells = rows(limits).into_iter().map(|row| {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        vec![
            row.node,
            row.what,
            units::bandwidth(row.bytes_per_s),
            or_dash(row.requests_per_s.map(units::rate)),
            or_dash(row.p99_ms.map(units::ms)),
            row.remark.to_owned(),
        ]
    });
    let cells: Vec<Vec<String>> = cells.collect();
    let mut lines = vec![
        format!("what the machines can do by themselves, {}:", limits.taken),
        fit::plain(&heads, 2, &cells),
    ];
    for node in &limits.nodes {
        lines.extend(node.not_measured.iter().map(|why| format!("not measured: {}: {why}", node.name)));
    }
    lines.join("\n")
}

/// A machine that differs by more from what it could do before is said to have changed.
const CHANGED: f64 = 0.1;

/// What differs from an earlier entry, or that nothing does.
#[must_use]
pub fn drift(name: &str, before: &RawLimits, now: &RawLimits) -> Vec<String> {
    let (before, now) = (rows(before), rows(now));
    let pairs = now.iter().filter_map(|row| {
        let old = before.iter().find(|old| (&old.node, &old.what) == (&row.node, &row.what))?;
        Some((row, old.bytes_per_s, row.bytes_per_s / old.bytes_per_s - 1.0))
    });
    let pairs: Vec<(&Row, f64, f64)> = pairs.collect();
    let line = |(row, before, change): &(&Row, f64, f64)| {
        let (was, is) = (units::bandwidth(*before), units::bandwidth(row.bytes_per_s));
        let by = signed_text(change * 100.0, 0);
        format!("changed since {name}: {} {}: {was} -> {is} ({by} %)", row.node, row.what)
    };
    let changed: Vec<String> =
        pairs.iter().filter(|(_, _, change)| change.abs() > CHANGED).map(line).collect();
    match (changed.is_empty(), pairs.is_empty()) {
        (true, false) => vec![format!("since {name} nothing changed by more than {:.0} %", CHANGED * 100.0)],
        _ => changed,
    }
}

/// Which share of what its machines can do a run got; empty where that is not known.
#[must_use]
pub fn shares_text(record: &RunRecord) -> String {
    let stages = record.stages.iter().filter(|stage| !stage.efficiency.is_empty());
    let rows: Vec<Vec<String>> = stages
        .flat_map(|stage| {
            stage.efficiency.iter().map(|one| {
                let (number, of): (fn(f64) -> String, &str) = match one.of.as_str() {
                    "disk_requests" => (units::rate, "disk requests"),
                    "disk_bytes" => (units::bandwidth, "disks"),
                    _ => (units::bandwidth, "network"),
                };
                vec![
                    stage.name.clone(),
                    one.direction.clone(),
                    of.to_owned(),
                    number(one.user_per_s),
                    number(one.raw_per_s),
                    format!("{:.1} %", one.share * 100.0),
                ]
            })
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let from = record.raw_limits.as_deref().unwrap_or("the baseline");
    let is_above = record.stages.iter().flat_map(|stage| &stage.efficiency).any(|one| one.share > 1.0);
    format!(
        "shares of what the machines can do by themselves ({from}); of copies only one counts:\n{}{}",
        fit::plain(&["stage", "direction", "of", "users get", "machines can", "share"], 3, &rows),
        if is_above { ABOVE } else { "" }
    )
}

/// What a share above 100 % says.
const ABOVE: &str = "\nmore than 100 %: what users got came out of memory or went into it, or the baseline is of fewer disks or \
                     links, or asked them for less at a time";

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use cosmark_archive::StageRecord;
    use cosmark_metrics::EfficiencyResult;
    use serde_json::json;

    fn limits(speed: f64) -> RawLimits {
        let node = RawNode {
            name: "s1".into(),
            sha256_bytes_per_s: Some(speed),
            md5_bytes_per_s: Some(5e8),
            not_measured: vec!["network: iperf3 is not there".into()],
            ..RawNode::default()
        };
        RawLimits { nodes: vec![node], ..RawLimits::default() }
    }

    #[test]
    fn a_share_of_more_than_everything_says_what_that_means() {
        let with = |share: f64| {
            let mut record: RunRecord = serde_json::from_value(json!({"schema": 1, "cosmark": "0", "id": "w1",
                "name": "n", "description": null, "state": "finished", "reason": null, "seed": 1, "submitted": null,
                "started": null, "ended": null, "process": null}))
            .unwrap();
            let mut stage: StageRecord =
                serde_json::from_value(json!({"id": "s1-main", "name": "main", "state": "completed"}))
                    .unwrap();
            stage.efficiency = vec![EfficiencyResult {
                direction: "read".into(),
                of: "disk_bytes".into(),
                user_per_s: share * 1e8,
                raw_per_s: 1e8,
                share,
            }];
            record.stages = vec![stage];
            shares_text(&record)
        };
        assert!(with(0.999).contains("99.9 %") && !with(1.0).contains("more than 100 %"), "{}", with(1.0));
        assert!(with(3.12).contains("312.0 %") && with(3.12).ends_with(ABOVE), "{}", with(3.12));
    }

    #[test]
    fn what_changed_is_said_and_what_is_missing_too() {
        assert_eq!(
            drift("w1", &limits(1e9), &limits(1.05e9)),
            ["since w1 nothing changed by more than 10 %"]
        );
        let changed = drift("w1", &limits(1e9), &limits(5e8));
        assert!(changed.len() == 1 && changed[0].contains("(-50 %)"), "{changed:?}");
        assert!(drift("w1", &RawLimits::default(), &limits(1e9)).is_empty());
        let said = text(&limits(1e9));
        assert!(said.contains("1 GB/s") && said.contains("not measured: s1: network"), "{said}");
        assert!(is_empty(&RawNode::default()) && !is_empty(&limits(1.0).nodes[0]));
    }
}
