//! When `testbeds/ceph/up` says that the cluster serves.

use std::process::Command;

use super::script;

/// The proof of the bed, with what it asks of Ceph answered here; a wait looks once.
const PROOF: &str = r#"
set -euo pipefail
. "$BED"
wait_until() { local what=$2; shift 2; "$@" || die "$what"; }
ceph_ask() { echo '4 osds: 4 up (since 9s), 4 in (since 1h); epoch: e23'; }
ceph_do() { :; }
osds_are_up() { :; }
groups_are_clean() { :; }
groups_in_map() { echo '1.0 0,1,2'; }
groups_reported() { if [[ $CASE == "${used:-old}" ]]; then echo '1.0 0,1'; else echo '1.0 0,1,2'; fi; }
make_metrics() { :; }
make_gateway_users() { :; }
check_librados() { :; }
check_s3() { :; }
check_swift() { used=used; }
bed_check
"#;

#[test]
fn a_cluster_serves_only_where_its_groups_are_clean_by_the_map_of_now_and_stay_so_when_they_are_used() {
    let here = tempfile::tempdir().unwrap();
    let proof = |case: &str| {
        let mut command = Command::new("bash");
        command.args(["-c", PROOF]).env("BED", script("../testbeds/ceph/bed.sh")).env("CASE", case);
        command.env("COSMARK_TESTBED_DIR", here.path()).env_remove("CEPH_BED");
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.code(), said)
    };
    assert_eq!(proof("none"), (Some(0), String::new()));
    for (case, words) in [("old", "did not become clean"), ("used", "did not stay clean")] {
        let (code, said) = proof(case);
        assert!(code == Some(1) && said.contains(words), "{case}: {said}");
    }
}
