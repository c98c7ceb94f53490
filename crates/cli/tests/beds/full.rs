//! Stores of the beds are filled a little further, by what they say themselves of how full they are.

use std::path::Path;
use std::process::Output;

use cosmark_archive::{DataSet, DataSetState, RunRecord};
use cosmark_metrics::FullResult;

use super::own_prefix;
use super::support::{repository, run, run_json, stderr};

/// At most so many objects of 1 MB: some seconds on every bed.
const MOST: u64 = 150;

/// A fill to `goal`, into containers of its own.
fn fill(directory: &Path, target: &str, prefix: &str, goal: f64) -> (Output, RunRecord) {
    let text = format!(
        "name: filling\nstages:\n  - name: fill\n    fill: {{dataset: bed, to: '{:.4} %', objects: {MOST}, containers: 'r(1,2)', \
         sizes: c(1)MB, workers: 4, interval: 1s, container_prefix: {prefix}}}\n",
        goal * 100.0
    );
    std::fs::write(directory.join("filling.yaml"), text).unwrap();
    let target = repository().join("testbeds").join(target);
    run_json(directory, &["run", "filling.yaml", "--target", target.to_str().unwrap(), "--no-report"])
}

fn full(record: &RunRecord) -> FullResult {
    record.stages[1].fill.as_ref().unwrap().full.clone().unwrap()
}

/// Containers are made before anybody asks how full the store is.
fn clean(directory: &Path, target: &str) {
    let target = repository().join("testbeds").join(target);
    let cleaned = run(directory, &["datasets", "clean", "bed", "--target", target.to_str().unwrap()]);
    assert!(cleaned.status.success(), "{}", stderr(&cleaned));
}

/// Fills a store further by `more` of its capacity; false where nobody says how full it is, which has to be said.
fn fills_a_little_further(target: &str, more: f64) -> bool {
    let directory = tempfile::tempdir().unwrap();
    let (path, prefix) = (directory.path(), own_prefix());
    // What is full already is not written to.
    let (output, record) = fill(path, target, &prefix, 0.000_001);
    if output.status.code() != Some(0) {
        let reason = record.reason.unwrap_or_default();
        assert!(reason.contains("nobody says how full the store is"), "{reason}: {}", stderr(&output));
        clean(path, target);
        return false;
    }
    let before = full(&record).before.unwrap();
    assert_eq!(record.stages[1].operations[0].ok, 0);
    let (output, record) = fill(path, target, &prefix, before + more);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let came_to = full(&record);
    assert!(came_to.reached && came_to.after.unwrap() >= came_to.goal, "{came_to:?}");
    let written = record.stages[1].operations[0].ok;
    assert!(written > 0, "{came_to:?}");
    let set = DataSet::find(&path.join("archive"), "bed").unwrap().unwrap();
    assert_eq!((set.state().unwrap(), Some(set.objects())), (DataSetState::Whole, came_to.objects));
    clean(path, target);
    true
}

#[test]
#[ignore = "needs testbeds/ceph/up"]
fn ceph_is_filled_a_little_further_by_what_its_manager_says() {
    assert!(fills_a_little_further("ceph/s3.yaml", 0.003), "its manager says how full it is");
}

#[test]
#[ignore = "needs testbeds/swift/up"]
fn swift_is_filled_a_little_further_where_its_devices_are_mounted_and_refused_where_they_are_directories() {
    let is_mounted = || {
        let url = "http://127.0.0.11:23110/recon/diskusage";
        let asked = std::process::Command::new("curl").args(["-sS", "-m", "5", url]).output().unwrap();
        let devices: serde_json::Value = serde_json::from_slice(&asked.stdout).unwrap();
        devices.as_array().unwrap().iter().any(|device| device["size"].is_u64())
    };
    assert_eq!(fills_a_little_further("swift/target.yaml", 0.003), is_mounted());
}
