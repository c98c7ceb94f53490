//! A test bed whose processes may have so much memory together (`NAME_MEMORY` of `testbeds/lib.sh`), tried on a bed of one process.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::script;
use super::support::{skipped, skipped_part};

/// Its one process takes 200 MB when it is asked to.
const BED: &str = r#"HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../lib.sh"
bed_init one-eater
EAT='until [[ -e $0/eat ]]; do sleep 0.05; done; head -c 200000000 /dev/zero | tail -c 200000000 | wc -c >$0/eaten; sleep 600'
bed_prepare() { :; }
bed_processes() { echo eater; }
bed_start() { process_start "$1" bash -c "$EAT" "$BED_DIR"; }
bed_port() { :; }
bed_check() { :; }
bed_endpoints() { :; }
bed_targets() { echo eater; }
bed_target() { [[ $1 == eater ]] && echo eater; }
"#;

/// A bed of its own below a directory of its own, taken down when the test is over, however.
struct Bed(tempfile::TempDir);

impl Bed {
    fn new() -> Self {
        let bed = Self(tempfile::tempdir().unwrap());
        let folder = bed.path("one-eater");
        fs::create_dir(&folder).unwrap();
        fs::copy(script("../testbeds/lib.sh"), bed.path("lib.sh")).unwrap();
        fs::write(folder.join("bed.sh"), BED).unwrap();
        for verb in ["up", "down", "status", "faults"] {
            let text = format!(
                "#!/usr/bin/env bash\nset -euo pipefail\n. \"$(dirname \"${{BASH_SOURCE[0]}}\")/bed.sh\"\nbed_{verb} \"$@\"\n"
            );
            fs::write(folder.join(verb), text).unwrap();
            fs::set_permissions(folder.join(verb), fs::Permissions::from_mode(0o755)).unwrap();
        }
        bed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn data(&self, name: &str) -> PathBuf {
        self.path("data/one-eater").join(name)
    }

    /// Exit code, and what was said to whom.
    fn says(&self, words: &str, memory: &str) -> (Option<i32>, String) {
        let (verb, arguments) = words.split_once(' ').unwrap_or((words, ""));
        let mut command = Command::new(self.path("one-eater").join(verb));
        command.args(arguments.split_whitespace()).env("COSMARK_TESTBED_DIR", self.path("data"));
        answer(command.env("ONE_EATER_MEMORY", memory))
    }

    /// What the process has got of the memory that it wanted, in bytes.
    fn eaten(&self) -> u64 {
        fs::write(self.data("eat"), "").unwrap();
        let until = Instant::now() + Duration::from_secs(180);
        loop {
            match fs::read_to_string(self.data("eaten")).unwrap_or_default().trim().parse() {
                Ok(bytes) => break bytes,
                Err(_) => assert!(Instant::now() < until, "it neither got its memory nor was killed"),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        drop(self.says("down --wipe", ""));
    }
}

fn answer(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn a_bed_with_a_limit_of_memory_has_no_more_of_it_and_leaves_no_group() {
    let bed = Bed::new();
    let (code, said) = bed.says("up", "64M");
    if code != Some(0) && said.contains("lets nobody limit memory") {
        return skipped("no control group that limits memory may be made here");
    }
    assert_eq!(code, Some(0), "{said}");
    let record = fs::read_to_string(bed.data("run/memory")).unwrap();
    let mut words = record.split_whitespace();
    let (version, bytes, group) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
    assert_eq!(bytes, "67108864");
    let limit = if version == "1" { "memory.limit_in_bytes" } else { "memory.max" };
    assert_eq!(fs::read_to_string(Path::new(group).join(limit)).unwrap().trim(), "67108864");
    let (_, status) = bed.says("status", "");
    assert!(status.contains("one-eater: memory: at most 64 MiB for all processes"), "{status}");
    // Another limit is another bed; what is started again is under the same.
    for other in ["32M", ""] {
        let (code, said) = bed.says("up", other);
        assert!(code == Some(1) && said.contains("the bed is up with at most 64 MiB"), "{said}");
    }
    assert_eq!(bed.says("up", "64M").0, Some(0));
    for fault in ["faults kill eater", "faults restart eater"] {
        assert_eq!(bed.says(fault, "").0, Some(0));
    }
    let (_, status) = bed.says("status", "");
    assert!(!status.contains("outside it") && !status.contains(" 0 processes in it"), "{status}");
    assert_eq!(bed.eaten(), 0, "200 MB fit into 64 MiB");
    let (_, status) = bed.says("status", "");
    assert!(status.contains("were killed for want of it"), "{status}");
    let (code, said) = bed.says("down", "");
    assert!(code == Some(0) && !Path::new(group).exists(), "{said}");
    // Without a limit the same process has what it wants.
    fs::remove_file(bed.data("eat")).unwrap();
    fs::remove_file(bed.data("eaten")).unwrap();
    assert_eq!(bed.says("up", "").0, Some(0));
    let (_, status) = bed.says("status", "");
    assert!(!status.contains("memory: at most") && !bed.data("run/memory").exists(), "{status}");
    assert_eq!(bed.eaten(), 200_000_000);
}

#[test]
fn a_limit_that_is_none_or_cannot_be_kept_starts_no_bed() {
    let bed = Bed::new();
    for wrong in ["64", "0M", "-1M", "64MB", "1.5G", "9999999M", "$(reboot)M"] {
        let (code, said) = bed.says("up", wrong);
        assert!(code == Some(1) && said.contains("use a whole number and M or G"), "{wrong}: {said}");
    }
    // A machine that has no such groups: its mounts are taken away in a namespace of its own.
    let hide = "set -e; for place in $(awk '$3 ~ /^cgroup/ { print $2 }' /proc/mounts); do umount -l $place; done; exec one-eater/up";
    let mut command = Command::new("unshare");
    command.args(["-m", "bash", "-c", hide]).current_dir(bed.0.path());
    let (code, said) =
        answer(command.env("COSMARK_TESTBED_DIR", bed.path("data")).env("ONE_EATER_MEMORY", "64M"));
    if said.contains("unshare") || said.contains("umount") {
        return skipped_part("a machine without control groups", &said);
    }
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("this machine lets nobody limit memory here"), "{said}");
    assert!(!bed.data("run/eater.pid").exists() && !bed.data("run/memory").exists(), "{said}");
}
