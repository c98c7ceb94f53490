//! What `testbeds/ceph/possible` says of a store that the Ceph of this machine has no more.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::script;

#[test]
fn a_filestore_is_refused_before_anything_begins_where_ceph_has_none() {
    let here = tempfile::tempdir().unwrap();
    let program = here.path().join("ceph-osd");
    fs::write(&program, "#!/bin/sh\necho \"ceph version $VERSION (0123) name (stable)\"\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", here.path().display(), std::env::var("PATH").unwrap());
    let possible = |store: &str, version: &str| {
        let mut command = Command::new(script("../testbeds/ceph/possible"));
        command.env("PATH", &path).env("COSMARK_TESTBED_DIR", here.path().join("data"));
        command.env_remove("CEPH_BED").env("CEPH_STORE", store).env("VERSION", version);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.code(), said)
    };
    for version in ["18.2.4", "18.0.0-1234-gabc", "20.1.0"] {
        let (code, said) = possible("filestore", version);
        assert!(code == Some(1) && said.contains(&format!("Ceph {version} has no FileStore")), "{said}");
        // What helps is said with it.
        assert!(said.contains("CEPH_STORE=xfs") && said.contains("Ceph 17 or earlier"), "{said}");
        assert!(!possible("xfs", version).1.contains("has no FileStore"));
    }
    // Whether root is needed is another matter, and a version that nobody can read is left to `up`.
    for version in ["17.2.7", "16.2.15", "Development"] {
        let (_, said) = possible("filestore", version);
        assert!(!said.contains("has no FileStore"), "{version}: {said}");
    }
    assert!(!here.path().join("data").exists(), "who looks makes nothing");
}
