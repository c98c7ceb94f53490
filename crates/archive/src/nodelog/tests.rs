//! What was written of nodes is read again, whole or after a kill.

use std::sync::Arc;

use cosmark_metrics::nodes::quantity as q;
use cosmark_metrics::nodes::reading::{NodeName, Reading};

use super::*;
use crate::NodeLogReader;

fn looks(seconds: u64) -> Vec<NodeLook> {
    let named = |name: &str| {
        Arc::new(NodeName { name: name.to_owned(), role: "storage".to_owned(), source: "local".to_owned() })
    };
    let nodes = [named("a"), named("")];
    let mut looks = Vec::new();
    for second in 1..=seconds {
        for (at, node) in nodes.iter().enumerate() {
            let at_ns = second * 1_000_000_000 + at as u64;
            let mut reading = Reading { at_ns, samples: Vec::new() };
            reading.add(&q::CPU_BUSY, "cpu0", second as f64 * 0.25);
            reading.add_named(&q::DISK_READS, "sda", "node_disk_reads_completed_total", second as f64);
            reading.add(&q::MEMORY_AVAILABLE, "", 7e9);
            // It is renewed every other second, before the run began for the first time.
            let own_ns = Some((second - second % 2) * 1_000_000_000 + 7);
            reading.add_at(&q::QUOTA_USED, "n/p/osd", "container_cpu_usage_seconds_total", 3.0, own_ns);
            let found = Found::Reading { reading: Arc::new(reading), age_ns: second % 3 };
            looks.push(NodeLook { node: Arc::clone(node), found });
        }
    }
    let why = "it was \"switched off\"".to_owned();
    let found = Found::Lost { at_ns: (seconds + 1) * 1_000_000_000, why };
    looks.push(NodeLook { node: Arc::clone(&nodes[0]), found });
    looks
}

fn read(dir: &Path) -> Vec<NodeLook> {
    NodeLogReader::open(dir).unwrap().unwrap().map(Result::unwrap).collect()
}

#[test]
fn what_was_seen_is_read_again_look_by_look() {
    let dir = tempfile::tempdir().unwrap();
    // More rows than one batch of the reader has.
    let seen = looks(5000);
    let mut log = NodeLog::create(dir.path(), Timestamp::from_second(1).unwrap()).unwrap();
    for part in seen.chunks(1000) {
        log.add(part.to_vec());
    }
    log.finish().unwrap();
    assert_eq!(NodeLogReader::open(dir.path()).unwrap().unwrap().epoch(), Timestamp::from_second(1).unwrap());
    assert!(read(dir.path()) == seen);
    let files: Vec<_> =
        std::fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, ["nodes.parquet"]);
}

#[test]
fn parts_of_a_killed_run_are_read_and_other_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    assert!(NodeLogReader::open(dir.path()).unwrap().is_none());
    let log = NodeLog::create(dir.path(), Timestamp::UNIX_EPOCH).unwrap();
    log.finish().unwrap();
    let whole = dir.path().join("nodes.parquet");
    assert_eq!(read(dir.path()), []);
    let part = dir.path().join("nodes.part-00001.parquet");
    std::fs::rename(&whole, &part).unwrap();
    assert_eq!(read(dir.path()), []);
    std::fs::write(&part, "PAR1 nothing").unwrap();
    let refused = NodeLogReader::open(dir.path()).err().unwrap().to_string();
    assert!(refused.contains("nodes.part-00001.parquet"), "{refused}");
}

#[test]
fn a_disk_that_refuses_is_reported_at_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let gone = dir.path().join("gone");
    let mut log = NodeLog::create(&gone, Timestamp::UNIX_EPOCH).unwrap();
    log.add(looks(3));
    let refused = log.finish().unwrap_err();
    assert!(refused.to_string().starts_with("nodes.parquet is not complete: cannot write"), "{refused}");
    assert!(!refused.wants_room());
}

#[test]
fn the_page_for_users_names_every_column_and_its_type() {
    let page = include_str!("../../../../docs/reference/archive.md");
    let section = page.split("## nodes.parquet").nth(1).unwrap();
    for column in &COLUMNS {
        let row = format!("| `{}` | {} | ", column.name, column.value.word());
        assert!(section.contains(&row), "archive.md has no row {row}");
    }
}
