//! What `testbeds/*/down --wipe` leaves: the sockets of another set of data, which lie where the target files look for them.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use super::script;

/// Takes the Ceph bed with its data in this directory down, and gives what it said. Nothing of it runs.
fn wiped(beds: &Path, variant: &str) -> String {
    let mut down = Command::new(script("../testbeds/ceph/down"));
    down.arg("--wipe").env("COSMARK_TESTBED_DIR", beds).env("CEPH_BED", variant);
    let output = down.output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn a_wipe_of_ceph_leaves_the_sockets_on_which_another_set_of_data_listens() {
    let beds = tempfile::tempdir().unwrap();
    let data = |of: &str| {
        let data = beds.path().join(of);
        fs::create_dir_all(data.join("osd.0")).unwrap();
        fs::write(data.join(".cosmark-testbed"), "").unwrap();
        data
    };
    let (usual, other) = (data("ceph"), data("ceph-other"));
    fs::create_dir(usual.join("sockets")).unwrap();
    let socket = usual.join("sockets/osd.0.asok");
    let listener = UnixListener::bind(&socket).unwrap();
    let said = wiped(beds.path(), "");
    assert!(said.contains("another set of data uses it"), "{said}");
    assert!(socket.exists() && !usual.join("osd.0").exists() && other.join("osd.0").exists(), "{said}");
    // The other set has none of its own, and nothing of the usual one goes with it.
    wiped(beds.path(), "other");
    assert!(socket.exists() && !other.exists());
    // A socket that a killed process has left is nobody's.
    drop(listener);
    let said = wiped(beds.path(), "");
    assert!(!usual.exists() && !said.contains("another set"), "{said}");
}
