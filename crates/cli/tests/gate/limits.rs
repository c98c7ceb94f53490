//! What stands for hardware that a machine has not (`testbeds/limits.sh`), tried on a bed of two processes and two devices.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::script;
use super::support::{skipped, skipped_part};

/// Its worker has a share of the processor, the other has not; `cut` kills its `up` when all limits are there.
const BED: &str = r#"HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../lib.sh"
. "$HERE/../limits.sh"
bed_init one-slow
LIMITS=SLOW LIMITS_CPU=SLOW_CPU LIMITS_SHARE='the worker'
SETTINGS=$BED_DIR/settings
settings_load() {
  local key value
  [[ -f $SETTINGS ]] || return 0
  while IFS='=' read -r key value; do printf -v "$key" %s "$value"; done <"$SETTINGS"
}
place() { echo "$BED_DIR/srv/$1"; }
bed_check_knobs() {
  limits_asked
  settings_load
  limits_choose
  limits_possible
}
bed_prepare() {
  local n image
  bed_check_knobs
  limits_settings >"$SETTINGS"
  limits_prepare 127.0.0.11 127.0.0.12
  mkdir -p "$BED_DIR/images" "$(place 1)" "$(place 2)"
  if [[ $SLOW_DISKS == one ]] || disks_are_limited; then
    disks_mount 900000000
    for n in 1 2; do
      image=$BED_DIR/images/$n.xfs
      [[ -e $image ]] || { truncate -s 320M "$image" && mkfs.xfs -q "$image"; }
      grep -qF " $(place $n) " /proc/mounts || mount -o loop "$image" "$(place $n)" || die "cannot mount $image"
      disk_limit "$(place $n)"
    done
  fi
  [[ ! -e $BED_DIR/cut ]] || kill -9 $$
}
bed_processes() { echo worker; echo other; }
bed_start() {
  [[ ! -e $BED_DIR/loosen ]] || device_limit "$(place 2)" 0 0
  process_start "$1" sleep 600
}
bed_port() { :; }
bed_check() { :; }
bed_endpoints() { :; }
bed_targets() { echo worker; }
bed_target() { [[ $1 == worker ]] && echo worker; }
limits_shares() { [[ $1 == worker ]]; }
bed_limits_proof() { limits_proof "$(place 1)" "$(place 2)"; }
bed_limits() { settings_load; limits_lines "$(place 1)"; }
bed_release() { place_unmount "$(place 1)"; place_unmount "$(place 2)"; disks_unmount; }
"#;

/// A bed of its own below a directory of its own, taken down when the test is over, however.
struct Bed(tempfile::TempDir);

impl Bed {
    fn new() -> Self {
        let bed = Self(tempfile::tempdir().unwrap());
        let folder = bed.path("one-slow");
        fs::create_dir(&folder).unwrap();
        for shared in ["lib.sh", "limits.sh"] {
            fs::copy(script(&format!("../testbeds/{shared}")), bed.path(shared)).unwrap();
        }
        fs::write(folder.join("bed.sh"), BED).unwrap();
        for verb in ["up", "down", "status", "faults", "possible"] {
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
        self.path("data/one-slow").join(name)
    }

    /// Exit code, and what was said to whom.
    fn says(&self, words: &str, knobs: &[(&str, &str)]) -> (Option<i32>, String) {
        let (verb, arguments) = words.split_once(' ').unwrap_or((words, ""));
        let mut command = Command::new(self.path("one-slow").join(verb));
        command.args(arguments.split_whitespace()).env("COSMARK_TESTBED_DIR", self.path("data"));
        answer(command.envs(knobs.iter().copied()))
    }

    /// A script with the bed's own network, of which nothing is left when it is over.
    fn alone(&self, kind: &str, script: &str) -> (Option<i32>, String) {
        let mut command = Command::new("unshare");
        command.args([kind, "bash", "-c", script]).current_dir(self.0.path());
        answer(command.env("COSMARK_TESTBED_DIR", self.path("data")))
    }

    /// What the kernel limits that this bed has made: its devices' lines, and the groups of the bed.
    fn in_force(&self) -> (Vec<String>, Vec<PathBuf>) {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let place = self.0.path().display().to_string();
        let numbers: Vec<&str> = mounts
            .lines()
            .filter(|line| line.contains(&place))
            .filter_map(|line| line.split(' ').nth(2))
            .collect();
        let limits = ["write_iops", "write_bps", "read_iops", "read_bps"].map(|what| {
            let file = format!("/sys/fs/cgroup/blkio/blkio.throttle.{what}_device");
            fs::read_to_string(file).unwrap_or_default()
        });
        let is_of_bed = |line: &&str| line.split(' ').next().is_some_and(|number| numbers.contains(&number));
        let lines =
            limits.iter().flat_map(|text| text.lines().filter(is_of_bed).map(str::to_owned)).collect();
        let noted = fs::read_to_string(self.data("run/limits")).unwrap_or_default();
        let groups =
            noted.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect();
        (lines, groups)
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        drop(self.says("down --wipe", &[]));
    }
}

fn answer(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

/// Why this machine cannot do what a test asks for.
fn cannot(said: &str) -> bool {
    ["lets nobody", "cannot mount", "needs root", "mkfs.xfs", "skipped:", "shapes no loopback"]
        .iter()
        .any(|word| said.contains(word))
}

#[test]
fn one_slow_disk_below_all_devices_is_shared_by_them_and_goes_with_down() {
    let bed = Bed::new();
    let knobs = [("SLOW_DISKS", "one"), ("SLOW_DISK_RATE", "4M"), ("SLOW_DISK_IOPS", "300")];
    let (code, said) = bed.says("up", &knobs);
    if code != Some(0) && cannot(&said) {
        return skipped("no disk may be throttled here");
    }
    assert_eq!(code, Some(0), "{said}");
    let (_, status) = bed.says("status", &[]);
    assert!(status.contains("one-slow: emulated: one disk below the devices of all nodes"), "{status}");
    let words = "one-slow: emulated: a disk of 300 I/Os and 4.0M bytes a second for all nodes together";
    assert!(status.contains(words), "{status}");
    // Two devices at once have what one disk has: 8 MB at 4 MB/s.
    let began = Instant::now();
    let writers = ["1", "2"].map(|node| {
        let to = format!("of={}", bed.data(&format!("srv/{node}/file")).display());
        Command::new("dd")
            .args(["if=/dev/zero", &to, "bs=1M", "count=4", "conv=fsync", "status=none"])
            .spawn()
            .unwrap()
    });
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    assert!(began.elapsed() > Duration::from_secs(1), "{:?}", began.elapsed());
    let (limited, _) = bed.in_force();
    assert!(fs::metadata("/sys/fs/cgroup/blkio").is_err() || limited.len() == 4, "{limited:?}");
    // The disk is that of the data; the limits are those of this up.
    let (code, said) = bed.says("up", &[("SLOW_DISK_RATE", "9M")]);
    assert!(code == Some(1) && said.contains("the bed is up with SLOW_DISK_IOPS=300"), "{said}");
    assert_eq!(bed.says("down", &[]).0, Some(0));
    let (code, said) = bed.says("up", &[("SLOW_DISKS", "own")]);
    assert!(code == Some(1) && said.contains("this bed's data lie on SLOW_DISKS=one"), "{said}");
    let (code, said) = bed.says("up", &[]);
    assert_eq!(code, Some(0), "{said}");
    let (_, status) = bed.says("status", &[]);
    assert!(status.contains("one disk below") && !status.contains("a second for"), "{status}");
    assert_eq!(bed.in_force(), (vec![], vec![]));
}

#[test]
fn a_bed_whose_limits_are_gone_is_not_the_one_that_was_asked_for() {
    let bed = Bed::new();
    let (code, said) = bed.says("up", &[("SLOW_DISK_IOPS", "100")]);
    if code != Some(0) && cannot(&said) {
        return skipped("no disk may be throttled here");
    }
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(bed.says("status --quiet", &[]), (Some(0), String::new()));
    let (limited, _) = bed.in_force();
    if limited.is_empty() {
        return skipped("control groups of version 1 throttle no disk here");
    }
    for number in limited.iter().filter_map(|line| line.split(' ').next()) {
        for what in ["write_iops", "read_iops"] {
            let file = format!("/sys/fs/cgroup/blkio/blkio.throttle.{what}_device");
            fs::write(file, format!("{number} 0")).unwrap();
        }
    }
    assert_eq!(bed.says("status --quiet", &[]), (Some(1), String::new()));
    let (_, said) = bed.says("status", &[]);
    assert!(said.contains("the limit of disks that was asked for is not there any more"), "{said}");
    assert!(said.contains("2 of 2 up"), "{said}");
}

#[test]
fn what_a_slow_disk_has_not_written_yet_holds_up_no_down() {
    let bed = Bed::new();
    let (code, said) = bed.says("up", &[("SLOW_DISKS", "one"), ("SLOW_DISK_RATE", "2M")]);
    if code != Some(0) && cannot(&said) {
        return skipped("no disk may be throttled here");
    }
    assert_eq!(code, Some(0), "{said}");
    // In memory: at the rate of the disk it takes 100 s, longer than a down on a machine that is full.
    let to = format!("of={}", bed.data("srv/1/file").display());
    let written =
        Command::new("dd").args(["if=/dev/zero", &to, "bs=1M", "count=200", "status=none"]).status().unwrap();
    assert!(written.success());
    let began = Instant::now();
    let (code, said) = bed.says("down", &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}

#[test]
fn what_an_up_that_was_killed_has_limited_goes_with_down() {
    let bed = Bed::new();
    let knobs = [("SLOW_DISK_IOPS", "100"), ("SLOW_CPU", "20")];
    let (code, said) = bed.says("up", &knobs);
    if code != Some(0) && cannot(&said) {
        return skipped("no disk or processor may be limited here");
    }
    assert_eq!(code, Some(0), "{said}");
    let (_, status) = bed.says("status", &[]);
    assert!(status.contains("emulated: a disk of 100 I/Os a second for each node"), "{status}");
    let words = "emulated: 20 % of one processor for the worker together";
    assert!(status.contains(words) && status.contains("1 processes in it"), "{status}");
    // What is started again has the same share.
    for fault in ["faults kill worker", "faults restart worker"] {
        assert_eq!(bed.says(fault, &[]).0, Some(0));
    }
    assert!(bed.says("status", &[]).1.contains("1 processes in it"));
    assert_eq!(bed.says("down", &[]).0, Some(0));
    // A limit that somebody has taken away meanwhile is none.
    fs::write(bed.data("loosen"), "").unwrap();
    let (code, said) = bed.says("up", &knobs);
    assert!(code == Some(1) && said.contains("srv/2 has 0 0 (I/Os, bytes a second), not 100 0"), "{said}");
    fs::remove_file(bed.data("loosen")).unwrap();
    assert_eq!(bed.says("down", &[]).0, Some(0));
    fs::write(bed.data("cut"), "").unwrap();
    assert_eq!(bed.says("up", &knobs).0, None, "it was killed");
    let (limited, groups) = bed.in_force();
    assert!(!groups.is_empty() && groups.iter().all(|group| group.is_dir()), "{groups:?}");
    let devices: Vec<&str> = limited.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(bed.says("down", &[]).0, Some(0));
    assert!(groups.iter().all(|group| !group.exists()), "{groups:?}");
    assert!(!bed.data("run/limits").exists());
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(&bed.0.path().display().to_string()));
    let throttled =
        fs::read_to_string("/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device").unwrap_or_default();
    assert!(throttled.lines().all(|line| !devices.iter().any(|number| line == format!("{number} 100"))));
}

#[test]
fn a_link_is_that_of_the_front_to_the_nodes_and_never_in_the_way_of_anothers() {
    let bed = Bed::new();
    let script = "ip link set lo up || exit 90
        SLOW_LINK=100 one-slow/up || exit 91
        one-slow/status
        (exec 3<>/dev/tcp/127.0.0.11/9) 2>&-
        tc -s class show dev lo | awk '$3 ~ /^c05:[23][01]$/ { name = $3 } name != \"\" && $1 == \"Sent\" { print name, $4; name = \"\" }'
        SLOW_LINK=50 one-slow/up && exit 92
        kill -9 $(cut -d' ' -f1 data/one-slow/run/worker.pid data/one-slow/run/other.pid)
        for turn in $(seq 50); do one-slow/status --quiet; [ $? != 3 ] || break; sleep 0.1; done
        SLOW_LINK=70 one-slow/up || exit 93
        one-slow/status
        one-slow/down || exit 94
        tc qdisc show dev lo
        tc qdisc add dev lo root handle 77: pfifo || exit 95
        SLOW_LINK=70 one-slow/up && exit 96
        tc qdisc show dev lo
        tc qdisc del dev lo root && tc qdisc add dev lo root handle c05: htb default 1 || exit 97
        echo 'link 70 another-boot' >data/one-slow/run/limits
        SLOW_LINK=70 one-slow/up && exit 98
        echo 'link 70 another-boot' >data/one-slow/run/limits
        one-slow/down || exit 99
        tc qdisc show dev lo";
    let (code, said) = bed.alone("-n", script);
    if code == Some(90) || said.contains("unshare") || (code == Some(91) && cannot(&said)) {
        return skipped_part("links of a bed", &said);
    }
    assert_eq!(code, Some(0), "{said}");
    for rate in [100, 70] {
        let words =
            format!("emulated: a link of {rate} Mbit/s each way between 127.0.0.1 and all nodes together");
        assert!(said.contains(&words), "{said}");
    }
    // What begins a connection waits for nothing that is sent already; its refusal does, as all other packets.
    for packets in ["c05:20 1\n", "c05:21 0\n", "c05:30 0\n", "c05:31 1\n"] {
        assert!(said.contains(packets), "{packets}: {said}");
    }
    assert!(said.contains("the bed is up with SLOW_LINK=100 and 50 is asked for"), "{said}");
    assert!(said.contains("qdisc noqueue 0:") && said.contains("lo has a queue already"), "{said}");
    assert!(said.contains("qdisc pfifo 77:"), "what is another's stays: {said}");
    // A note of before this machine was started is of a link that is gone: what is there now is another bed's.
    assert!(said.contains("qdisc htb c05:"), "{said}");
}

#[test]
fn a_process_of_a_bed_has_no_child_of_the_shell_that_became_it() {
    let bed = Bed::new();
    // Whoever says what is noted goes on for a while when it has said it, as on a busy machine.
    let script = r#"set -euo pipefail
        . one-slow/bed.sh
        mkdir -p "$RUN_DIR" group
        printf '%s\n' "io 2 $PWD/group" "cpu 2 50 $PWD/group" >"$RUN_DIR/limits"
        eval "said_by_$(declare -f limits_noted)"
        limits_noted() { local code=0; said_by_limits_noted "$@" || code=$?; exec >&-; sleep 0.5; return $code; }
        (process_enter worker && exec ps -o args= --ppid "$BASHPID") || echo none
        grep -c . group/cgroup.procs
        rm "$RUN_DIR/limits""#;
    let mut command = Command::new("bash");
    command.args(["-c", script]).current_dir(bed.0.path()).env("COSMARK_TESTBED_DIR", bed.path("data"));
    let (code, said) = answer(&mut command);
    assert_eq!((code, said.as_str()), (Some(0), "none\n1\n"));
}

#[test]
fn a_bed_without_limits_is_begun_where_nothing_can_be_limited_and_one_with_them_is_not() {
    let bed = Bed::new();
    // No tc, and control groups that throttle nothing, as a kernel may have them.
    let script = "mkdir empty
        tool=$(PATH=$PATH:/usr/sbin:/sbin command -v tc) && { mount --bind /dev/null \"$tool\" || exit 90; }
        [ ! -d /sys/fs/cgroup/blkio ] || mount --bind empty /sys/fs/cgroup/blkio || exit 90
        SLOW_LINK=100 one-slow/possible || exit 98
        [ ! -e data ] || exit 99
        one-slow/up || exit 91
        one-slow/status || exit 92
        one-slow/down --wipe || exit 93
        [ ! -d /sys/fs/cgroup/blkio ] || { SLOW_DISK_RATE=5M one-slow/up && exit 94; }
        [ ! -e data/one-slow/images ] || exit 95
        SLOW_DISKS=one one-slow/up || exit 96
        one-slow/down --wipe || exit 97";
    let (code, said) = bed.alone("-m", script);
    if code == Some(90) || said.contains("unshare") || (code == Some(96) && cannot(&said)) {
        return skipped_part("a machine without tc and throttles", &said);
    }
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("2 of 2 up"), "{said}");
}

#[test]
fn what_a_machine_cannot_limit_is_said_before_anything_is_begun() {
    let bed = Bed::new();
    let wrong = [
        ("SLOW_DISK_IOPS", "-1", "whole number of I/Os"),
        ("SLOW_DISK_RATE", "5", "whole number and K, M or G"),
        ("SLOW_LINK", "1M", "whole number of Mbit/s"),
        ("SLOW_CPU", "4", "5 to 9999"),
        ("SLOW_CPU", "$(reboot)", "5 to 9999"),
        ("SLOW_DISKS", "two", "use own or one"),
    ];
    for (knob, value, why) in wrong {
        let (code, said) = bed.says("up", &[(knob, value)]);
        assert!(code == Some(1) && said.contains(why), "{knob}={value}: {said}");
    }
    // A machine that has no such groups: its mounts are taken away in a namespace of its own.
    let script =
        "for place in $(awk '$3 ~ /^cgroup/ { print $2 }' /proc/mounts); do umount -l $place || exit 90; done
        SLOW_CPU=20 one-slow/up && exit 91
        SLOW_DISK_RATE=5M one-slow/up && exit 92
        true";
    let (code, said) = bed.alone("-m", script);
    if code == Some(90) || said.contains("unshare") {
        return skipped_part("a machine without control groups", &said);
    }
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("lets nobody limit processors here")
            && said.contains("lets nobody throttle a disk here"),
        "{said}"
    );
    assert!(!bed.data("run/worker.pid").exists() && !bed.data("run/limits").exists());
    assert!(!Path::new(&bed.data("images")).exists());
}

/// Ceph's bed without its daemons: where the journal of a FileStore lies, and what becomes of one in memory.
const CEPH: &str = r#"set -euo pipefail
. "$1/bed.sh"
mkdir -p "$RUN_DIR" "$LOG_DIR"
settings_choose
{ printf '%s\n' "CEPH_STORE=$CEPH_STORE" "CEPH_JOURNAL=$CEPH_JOURNAL"; limits_settings; } >"$SETTINGS"
write_configuration
grep -E '^(osd_objectstore|osd_journal|journal_dio)' "$CONF"
bed_version
[[ $CEPH_JOURNAL == ram ]] || exit 0
for n in "${OSDS[@]}"; do mkdir -p "$(osd_dir "$n")"; done
journals_mount
for n in "${OSDS[@]}"; do journal_return "$n"; echo "entries of $n" >"$JOURNALS/osd.$n/journal"; : >"$(osd_dir "$n")/.complete"; done
for turn in 1 2; do
  bed_release
  ! grep -F " $JOURNALS " /proc/mounts
  journals_mount
  for n in "${OSDS[@]}"; do journal_return "$n"; cat "$JOURNALS/osd.$n/journal"; done
done
umount "$JOURNALS"
journals_mount
(journal_return 2) || echo "refused"
"#;

#[test]
fn whether_a_machine_can_be_a_variant_is_said_without_beginning_anything() {
    let place = tempfile::tempdir().unwrap();
    let possible = |bed: &str, knobs: &[(&str, &str)]| {
        let mut command = Command::new(script(&format!("../testbeds/{bed}/possible")));
        command.env("COSMARK_TESTBED_DIR", place.path().join("data"));
        answer(command.envs(knobs.iter().copied()))
    };
    assert_eq!(possible("swift", &[]).0, Some(0));
    assert_eq!(possible("ceph", &[("CEPH_STORE", "memstore")]).0, Some(0));
    for (bed, knob, value, why) in [
        ("swift", "SWIFT_FS", "ext4", "use dir or xfs"),
        ("swift", "SWIFT_DISKS", "one", "SWIFT_FS=xfs has"),
        ("swift", "SWIFT_MEMORY", "much", "use a whole number and M or G"),
        ("swift", "SWIFT_PROXY_CPU", "1", "5 to 9999"),
        ("ceph", "CEPH_JOURNAL", "ram", "a BlueStore has none"),
        ("ceph", "CEPH_DISK_RATE", "50M", "CEPH_STORE=xfs and filestore have"),
    ] {
        let (code, said) = possible(bed, &[(knob, value)]);
        assert!(code == Some(1) && said.contains(why), "{knob}={value}: {said}");
    }
    assert!(!place.path().join("data").exists());
}

#[test]
fn a_link_that_this_kernel_cannot_shape_is_said_before_anything_is_begun() {
    let place = tempfile::tempdir().unwrap();
    let root = Command::new("unshare").args(["-n", "true"]).status().is_ok_and(|status| status.success());
    if !root {
        return skipped_part("links that cannot be", "no network of its own here");
    }
    let tc = place.path().join("tc");
    let path = format!("{}:{}", place.path().display(), std::env::var("PATH").unwrap());
    for (what, code) in [("htb default", 1), ("u32 match", 1), ("nothing", 0)] {
        let text = format!("#!/bin/sh\ncase \"$*\" in *'{what}'*) exit 2 ;; esac\n");
        fs::write(&tc, text).unwrap();
        fs::set_permissions(&tc, fs::Permissions::from_mode(0o755)).unwrap();
        for (bed, knob) in [("swift", "SWIFT_LINK"), ("ceph", "CEPH_LINK")] {
            let mut command = Command::new(script(&format!("../testbeds/{bed}/possible")));
            command.env("COSMARK_TESTBED_DIR", place.path().join("data")).env("PATH", &path).env(knob, "100");
            let (ended, said) = answer(&mut command);
            assert_eq!(ended, Some(code), "{bed} without {what}: {said}");
            assert!(code == 0 || said.contains("shapes no loopback interface"), "{bed}: {said}");
        }
    }
    assert!(!place.path().join("data").exists());
}

#[test]
fn a_filestore_has_its_journal_where_it_was_asked_and_is_not_begun_without_one_that_was_lost() {
    let place = tempfile::tempdir().unwrap();
    let ceph = |bed: &str, store: &str, journal: &str| {
        let mut command = Command::new("unshare");
        command.args(["-m", "bash", "-c", CEPH, "ceph"]).arg(script("../testbeds/ceph"));
        command.env("COSMARK_TESTBED_DIR", place.path()).env("CEPH_BED", bed);
        answer(command.env("CEPH_STORE", store).env("CEPH_JOURNAL", journal))
    };
    let (code, said) = ceph("a", "filestore", "same");
    if said.contains("unshare") || said.contains("uuidgen") {
        return skipped("mounts of its own need root");
    }
    assert_eq!(code, Some(0), "{said}");
    let root = place.path().display();
    assert!(said.contains("osd_objectstore = filestore") && said.contains("journal_dio = true"), "{said}");
    assert!(said.contains(&format!("osd_journal = {root}/ceph-a/osd.$id/journal")), "{said}");
    assert!(said.contains("FileStore (CEPH_JOURNAL=same)"), "{said}");
    let (_, said) = ceph("b", "filestore", "separate");
    assert!(said.contains(&format!("osd_journal = {root}/ceph-b/journal/osd.$id/journal")), "{said}");
    // What lies on one store is not begun on another.
    for (bed, store, journal, why) in [
        ("a", "xfs", "", "this bed's data lie on CEPH_STORE=filestore"),
        ("b", "", "same", "this bed's data lie on CEPH_JOURNAL=separate"),
        ("c", "file", "ram", "a BlueStore has none"),
        ("c", "filestore", "tape", "use same, separate or ram"),
    ] {
        let (code, said) = ceph(bed, store, journal);
        assert!(code == Some(1) && said.contains(why), "{said}");
    }
    let (code, said) = ceph("d", "filestore", "ram");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("journal_dio = false") && said.contains("osd_journal_size = 100"), "{said}");
    for node in 0..4 {
        assert_eq!(said.matches(&format!("entries of {node}\n")).count(), 2, "{said}");
    }
    assert!(
        said.contains("the journal of osd.2 was in memory and is lost") && said.contains("refused"),
        "{said}"
    );
}
