//! `MinIO`: strict about S3, with erasure coding over four drives, and with metrics of its own.

use crate::faults::held;
use crate::support::{repository, stderr};
use crate::{chunked_and_hashed, five_stages, has, large_objects, nodes_of};

#[test]
#[ignore = "needs testbeds/minio/up"]
fn minio_runs_all_five_stages_with_parts_and_with_embedded_hashes() {
    for payload in ["unsigned", "streaming"] {
        five_stages("minio/target.yaml", &["--set", &format!("storage.payload={payload}")]);
    }
    large_objects("minio/target.yaml");
    chunked_and_hashed("minio/target.yaml");
}

#[test]
#[ignore = "needs testbeds/minio/up"]
fn minio_tells_its_requests_and_its_drives_beside_the_results() {
    let nodes = nodes_of("minio/target.yaml", [5, 20], |nodes| {
        let [machine, requests, drives] = nodes else { return false };
        let busy = machine.units.iter().any(|unit| unit.name.starts_with("minio"));
        busy && has(requests, "server_requests", "GetObject") && has(drives, "store_drives_online", "")
    });
    assert!(nodes.iter().all(|node| node.lost.is_none()), "{nodes:#?}");
    let online = nodes[2].quantities.iter().find(|one| one.quantity == "store_drives_online").unwrap();
    // These figures of the server are up to a minute old: a drive may have been gone then.
    assert!((3.0..=4.0).contains(&online.mean), "{online:?}");
    let gets = nodes[1].quantities.iter().find(|one| one.unit == "GetObject").unwrap();
    assert!(gets.mean > 0.0, "{gets:?}");
}

#[test]
#[ignore = "needs testbeds/minio/up"]
fn minio_keeps_all_that_it_acknowledged_while_one_of_its_drives_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let bed = repository().join("testbeds/minio");
    let fault = format!(
        "type: bed, bed: {}, verb: devfail, target: drive.2, hold: 5s, keep: 3s",
        bed.to_str().unwrap()
    );
    let (output, record) = held(directory.path(), &bed.join("target.yaml"), &fault, (14, 220));
    let slot = &record.stages[2].faults[0].slots[0];
    assert_eq!(slot.void, None, "{slot:?}; {}", stderr(&output));
    assert!(slot.proof.as_ref().is_some_and(|proof| proof.contains("cannot be read")), "{slot:?}");
    assert!(slot.landed_s.is_some() && slot.healed_s > slot.heal_s, "{slot:?}");
    let durability = &record.durability[0];
    assert_eq!((durability.broken(), durability.undecided), (0, 0), "{durability:?}");
    assert!(durability.right >= 40, "{durability:?}");
    // The drive is back in its place, for whoever is next.
    assert!(!bed_is_faulty(), "{}", stderr(&output));
}

/// Whether a fault is in force, or a drive is away in the eyes of the server.
fn bed_is_faulty() -> bool {
    let answers = |args: &[&str]| {
        let faults = repository().join("testbeds/minio/faults");
        std::process::Command::new(faults).args(args).output().unwrap()
    };
    !answers(&["list"]).stdout.is_empty() || answers(&["proof", "devfail", "drive.2"]).status.success()
}
