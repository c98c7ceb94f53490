//! Faults on real systems: proved, healed, and nothing lost; and what a killed run leaves in force is healed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use cosmark_archive::RunRecord;

use crate::own_prefix;
use crate::support::{cosmark, repository, run, run_json, skipped, stderr, stdout};

/// The number of a process of a bed, as its status says it; `None` where it does not run.
fn runs(bed: &str, name: &str) -> Option<u32> {
    let output = Command::new(repository().join("testbeds").join(bed).join("status")).output().unwrap();
    let text = stdout(&output);
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(name))?;
    line.split_whitespace().last()?.parse().ok()
}

fn pid_of(bed: &str, name: &str) -> u32 {
    runs(bed, name).unwrap_or_else(|| panic!("{name} of {bed} is not up"))
}

fn state_of(pid: u32) -> char {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    text.rsplit_once(") ").unwrap().1.chars().next().unwrap()
}

const BROKEN: &str = "name: broken
check: durability
defaults: {containers: \"r(1,1)\", container_prefix: PREFIX, sizes: c(4)KiB}
stages:
  - {name: init, works: [{type: init, workers: 1}]}
  - {name: prepare, works: [{type: prepare, workers: 4, objects: \"r(1,40)\"}]}
  - name: main
    faults:
      - {name: gone, FAULT, at: 3 objects, repeats: 1}
    works:
      - name: main
        workers: 32
        TOTAL
        interval: 1s
        acceptable_failure_ratio: 1
        rate: {shape: constant, rate: 10/s, when_full: drop}
        operations:
          - {type: read, ratio: 50, objects: \"u(1,40)\"}
          - {type: write, ratio: 50, objects: \"u(41,99)\"}
  - {name: cleanup, works: [{type: cleanup, workers: 4, objects: \"r(1,99)\", acceptable_failure_ratio: 1}]}
  - {name: dispose, works: [{type: dispose, workers: 1, acceptable_failure_ratio: 1}]}
";

fn workload(directory: &Path, fault: &str, total: &str) {
    // What a bed does for a fault may be twenty commands, which take minutes on a machine that is full.
    let fault =
        if fault.starts_with("type: bed") { format!("{fault}, within: 20m") } else { fault.to_owned() };
    let text = BROKEN.replace("PREFIX", &own_prefix()).replace("FAULT", &fault).replace("TOTAL", total);
    std::fs::write(directory.join("broken.yaml"), text).unwrap();
}

/// A run of the workload, of whose load of 10 operations a second the fault needs so many; one that was over before the fault
/// was proved or its slot had ended, as on a machine that is full, is made once more with a longer one.
pub(crate) fn held(
    directory: &Path,
    target: &Path,
    fault: &str,
    (slot_s, operations): (u32, u32),
) -> (Output, RunRecord) {
    let made = |times: u32| {
        let fault = format!("{fault}, slot: {}s", slot_s * times);
        workload(directory, &fault, &format!("total_ops: {}", operations * times));
        let target = target.to_str().unwrap();
        run_json(
            directory,
            &["run", "broken.yaml", "--target", target, "--no-nodes", "--quiet", "--allow-faults"],
        )
    };
    let (output, record) = made(1);
    let slot = record.stages.get(2).and_then(|main| main.faults.first()?.slots.first());
    let void = slot.and_then(|slot| slot.void.as_deref()).unwrap_or_default();
    if void.starts_with("the load ended before") { made(5) } else { (output, record) }
}

#[test]
#[ignore = "needs testbeds/swift/up"]
fn swift_keeps_all_that_it_acknowledged_while_an_object_server_stands_still_and_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let pid = pid_of("swift", "node3.object-server");
    std::fs::write(path.join("server.pid"), pid.to_string()).unwrap();
    let fault = "type: signal, signal: STOP, pid_file: server.pid, children: true, hold: 5s, keep: 3s";
    let target = repository().join("testbeds/swift/target.yaml");
    let (output, record) = held(path, &target, fault, (12, 220));
    let slot = &record.stages[2].faults[0].slots[0];
    assert_eq!(slot.void, None, "{slot:?}; {}", stderr(&output));
    assert!(slot.proof.as_ref().is_some_and(|proof| proof.contains("stand still (state T)")), "{slot:?}");
    assert!(slot.landed_s.is_some() && slot.healed_s > slot.heal_s, "{slot:?}");
    assert_ne!(state_of(pid), 'T', "it goes on");
    let durability = &record.durability[0];
    assert_eq!((durability.broken(), durability.undecided), (0, 0), "{durability:?}");
    assert!(durability.right >= 40, "{durability:?}");
    assert_eq!(run(path, &["faults", "list"]).status.code(), Some(0));
}

/// Of the bed's data as its scripts find them.
fn data_of(bed: &str) -> PathBuf {
    let base = std::env::var_os("COSMARK_TESTBED_DIR").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/cosmark-testbeds");
    base.unwrap_or_else(home).join(bed)
}

#[test]
#[ignore = "needs testbeds/swift/up"]
fn swift_keeps_all_that_it_acknowledged_while_the_disk_of_an_object_server_is_slow() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let pid = pid_of("swift", "node3.object-server");
    std::fs::write(path.join("server.pid"), pid.to_string()).unwrap();
    let fault = format!(
        "type: cgroup, write: 50KB/s, disk: {}, pid_file: server.pid, children: true, hold: 8s, keep: 3s",
        data_of("swift").display()
    );
    let target = repository().join("testbeds/swift/target.yaml");
    let groups = || std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    let before = groups();
    let (output, record) = held(path, &target, &fault, (16, 260));
    let slot = &record.stages[2].faults[0].slots[0];
    // Root's right, a controller, and a disk that the kernel can limit.
    let why = slot.void.clone().unwrap_or_default();
    if ["no control groups", "that is root's right", "on no block device"].iter().any(|one| why.contains(one))
    {
        return skipped(&why);
    }
    assert_eq!(slot.void, None, "{slot:?}; {}", stderr(&output));
    assert!(
        slot.proof.as_ref().is_some_and(|proof| proof.contains("are in control groups of version")),
        "{slot:?}"
    );
    assert!(slot.landed_s.is_some() && slot.healed_s > slot.heal_s, "{slot:?}");
    assert_eq!(groups(), before, "it is back where it was");
    let durability = &record.durability[0];
    assert_eq!((durability.broken(), durability.undecided), (0, 0), "{durability:?}");
    assert!(durability.right >= 40, "{durability:?}");
}

/// What the faults script of a bed answers.
fn faults_of(bed: &str, args: &[&str]) -> std::process::Output {
    Command::new(repository().join("testbeds").join(bed).join("faults")).args(args).output().unwrap()
}

fn swift(args: &[&str]) -> std::process::Output {
    faults_of("swift", args)
}

fn ceph(args: &[&str]) -> std::process::Output {
    faults_of("ceph", args)
}

/// A dead disk, as its operator replaces it: another device, in the rings; and one that nobody replaces comes back.
#[test]
#[ignore = "needs testbeds/swift/up"]
fn swift_keeps_all_that_it_acknowledged_while_a_device_is_replaced_in_its_rings() {
    let directory = tempfile::tempdir().unwrap();
    let devices = || {
        let listed = std::fs::read_dir(data_of("swift").join("srv/4")).unwrap().flatten();
        let has_data = listed.filter(|entry| entry.path().is_dir());
        has_data.map(|entry| entry.file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    // One that an earlier test has replaced is filled first.
    let is_lost =
        || swift(&["lose", "node.4"]).status.success() || stdout(&swift(&["list"])).contains("node.4.lose");
    assert!(within(600, is_lost), "{:?}", swift(&["lose", "node.4"]));
    let (lost, proof, twice) = (devices(), swift(&["proof", "lose", "node.4"]), swift(&["lose", "node.3"]));
    let (healed, back) = (swift(&["healall"]), devices());
    let bed = repository().join("testbeds/swift");
    // Nobody waits for the new device: here the passes that fill it lie further apart than a run waits by itself. The next
    // test that wants to lose one does, above.
    let fault = format!(
        "type: bed, bed: {}, verb: lose, target: node.4, hold: 4s, keep: 3s, whole_within: 0s",
        bed.to_str().unwrap()
    );
    let (output, record) = held(directory.path(), &bed.join("target.yaml"), &fault, (14, 200));
    let (in_force, again) = (swift(&["list"]), swift(&["replace", "node.4"]));
    // Whatever this test says next, the bed is whole for the others.
    let all = swift(&["healall"]);
    assert!(lost.is_empty() && proof.status.success(), "{lost:?} {}", stderr(&proof));
    assert!(
        !twice.status.success() && stderr(&twice).contains("run: faults replace node.4"),
        "{}",
        stderr(&twice)
    );
    assert!(healed.status.success() && back.len() == 1, "{back:?} {}", stderr(&healed));
    let slot = &record.stages[2].faults[0].slots[0];
    assert_eq!(slot.void, None, "{slot:?}; {}", stderr(&output));
    assert!(slot.proof.as_ref().is_some_and(|proof| proof.contains("cannot be read")), "{slot:?}");
    assert!(slot.landed_s.is_some() && slot.healed_s > slot.heal_s, "{slot:?}");
    assert_eq!(stdout(&in_force), "");
    assert!(!again.status.success() && stderr(&again).contains("is not lost"), "{}", stderr(&again));
    assert!(all.status.success() && devices().len() == 1 && devices() != back, "{back:?} {:?}", devices());
    let durability = &record.durability[0];
    assert_eq!((durability.broken(), durability.undecided), (0, 0), "{durability:?}");
    assert!(durability.right >= 40, "{durability:?}");
}

/// Begins a run on a bed and waits until its fault is proved; whether it was.
fn begin(path: &Path, target: &Path) -> (Child, bool) {
    let args = [
        "run",
        "broken.yaml",
        "--target",
        target.to_str().unwrap(),
        "--no-nodes",
        "--quiet",
        "--allow-faults",
    ];
    let child = cosmark(path).args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let events = path.join("archive/w1-broken/events.csv");
    let proved = || std::fs::read_to_string(&events).is_ok_and(|text| text.contains("gone 1: it is there"));
    let is_proved = within(300, proved);
    (child, is_proved)
}

/// Whether it came true in so many seconds.
fn within(seconds: u64, done: impl Fn() -> bool) -> bool {
    let until = Instant::now() + Duration::from_secs(seconds);
    while !done() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    done()
}

/// The guardians of faults of this directory's archive.
fn guardians(path: &Path) -> Vec<libc::pid_t> {
    let journal = path.canonicalize().unwrap().join("archive/.faults/").to_string_lossy().into_owned();
    let is_one = |pid: &libc::pid_t| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.starts_with(b"cosmark-guard\0") && String::from_utf8_lossy(&line).contains(&journal)
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok()).filter(is_one).collect()
}

fn kill(pids: &[libc::pid_t], mut child: Child) {
    for pid in pids {
        // SAFETY: a signal to a process of a run that this test has started.
        unsafe { libc::kill(*pid, libc::SIGKILL) };
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

fn clean(path: &Path, target: &Path) {
    let cleaned = run(path, &["clean", "w1", "--target", target.to_str().unwrap()]);
    assert_eq!(cleaned.status.code(), Some(0), "{}", stderr(&cleaned));
}

#[test]
#[ignore = "needs testbeds/swift/up"]
fn swift_goes_on_by_the_guardian_when_the_run_that_stopped_an_object_server_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let pid = pid_of("swift", "node2.object-server");
    std::fs::write(path.join("server.pid"), pid.to_string()).unwrap();
    let fault =
        "type: signal, signal: STOP, pid_file: server.pid, children: true, hold: 500s, slot: 510s, keep: 3s";
    workload(path, fault, "runtime: 900s");
    let target = repository().join("testbeds/swift/target.yaml");
    let (child, was_proved) = begin(path, &target);
    let stood_still = state_of(pid) == 'T';
    kill(&[], child);
    let goes_on = within(180, || state_of(pid) != 'T');
    // Whatever this test says next, the bed is whole for the others.
    let healed = run(path, &["faults", "heal"]);
    assert!(was_proved && stood_still && goes_on, "{was_proved} {stood_still} {goes_on}");
    assert_eq!(healed.status.code(), Some(0), "{}", stderr(&healed));
    assert!(within(180, || guardians(path).is_empty()));
    let log = std::fs::read_to_string(path.join("archive/.faults/guardian.log")).unwrap();
    assert!(log.contains("healed by its guardian, because the run that made it is gone: SIGCONT"), "{log}");
    clean(path, &target);
}

#[test]
#[ignore = "needs testbeds/versitygw/up"]
fn versitygw_answers_again_by_the_guardian_or_when_that_is_killed_too_when_it_is_healed() {
    let bed = repository().join("testbeds/versitygw");
    let target = bed.join("target.yaml");
    let pid = pid_of("versitygw", "server");
    let fault = format!(
        "type: bed, bed: {}, verb: pause, target: server, hold: 500s, slot: 510s",
        bed.to_str().unwrap()
    );
    for kills_both in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        workload(path, &fault, "runtime: 900s");
        let (child, was_proved) = begin(path, &target);
        let stood_still = state_of(pid) == 'T';
        let guardians_were = guardians(path);
        kill(if kills_both { &guardians_were } else { &[] }, child);
        let goes_on = kills_both || within(180, || state_of(pid) != 'T');
        let healed = run(path, &["faults", "heal"]);
        // Whatever this test says next, the bed is whole for the others.
        assert_eq!(healed.status.code(), Some(0), "{}", stderr(&healed));
        assert!(was_proved && stood_still && goes_on, "{was_proved} {stood_still} {goes_on}");
        assert_eq!(guardians_were.len(), 1);
        let said = stdout(&healed);
        if kills_both {
            assert!(said.contains("faults pause server") && said.contains("is healed by"), "{said}");
        }
        assert_ne!(state_of(pid), 'T');
        assert!(within(180, || guardians(path).is_empty()));
        let again = run(path, &["faults", "heal"]);
        assert_eq!((again.status.code(), stdout(&again).as_str()), (Some(0), "nothing to heal\n"));
        // It answers, and what the run left in it goes.
        clean(path, &target);
    }
}

/// Packets to and from its port alone are dropped.
#[test]
#[ignore = "needs testbeds/versitygw/up"]
fn versitygw_keeps_all_that_it_acknowledged_while_the_packet_filter_cuts_it_off() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let tables = || Command::new("nft").args(["list", "tables"]).output();
    let Ok(before) = tables() else { return skipped("there is no nft") };
    let target = repository().join("testbeds/versitygw/target.yaml");
    let text = std::fs::read_to_string(&target).unwrap();
    let of = text.split("http://").nth(1).unwrap().split(['\n', '"', '/']).next().unwrap().trim();
    let fault = format!("type: network, of: '{of}', partition: true, hold: 3s, keep: 2s");
    let (output, record) = held(path, &target, &fault, (9, 160));
    let slot = &record.stages[2].faults[0].slots[0];
    assert_eq!(slot.void, None, "{slot:?}; {}", stderr(&output));
    assert!(slot.proof.as_ref().is_some_and(|proof| proof.contains("does not answer")), "{slot:?}");
    let durability = &record.durability[0];
    assert_eq!((durability.broken(), durability.undecided), (0, 0), "{durability:?}");
    assert!(durability.right >= 40, "{durability:?}");
    assert_eq!(stdout(&tables().unwrap()), stdout(&before));
}

#[test]
#[ignore = "needs testbeds/ceph/up"]
fn ceph_calls_no_osd_healed_that_ends_some_seconds_after_it_was_started() {
    let script = repository().join("testbeds/ceph/faults");
    let faults = |args: &[&str]| Command::new(&script).args(args).output().unwrap();
    // `status` asks the whole bed: on a busy machine that takes longer than what this test has time for.
    let recorded = || {
        let text = std::fs::read_to_string(data_of("ceph").join("run/osd.1.pid")).ok()?;
        text.split(' ').next()?.parse::<libc::pid_t>().ok()
    };
    let was = recorded();
    let killed = faults(&["kill", "osd.1"]);
    assert!(killed.status.success(), "{}", stderr(&killed));
    let restart = Command::new(&script)
        .args(["restart", "osd.1"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let again_on_record = || recorded().filter(|pid| Some(*pid) != was);
    let started = within(180, || again_on_record().is_some());
    let pid = again_on_record();
    // Before that the monitor may call it up: it has not noticed that it was away.
    std::thread::sleep(Duration::from_secs(3));
    if let Some(pid) = pid {
        // SAFETY: a signal to a daemon of the bed, which this test has started again.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
    let said = restart.wait_with_output().unwrap();
    let in_force = faults(&["list"]);
    let again = faults(&["restart", "osd.1"]);
    let left = faults(&["list"]);
    assert!(started, "{}", stderr(&said));
    assert_eq!(said.status.code(), Some(1), "{}", stderr(&said));
    assert!(stderr(&said).contains("osd.1 ended after it was started"), "{}", stderr(&said));
    assert!(stdout(&in_force).contains("osd.1.kill"), "{}", stdout(&in_force));
    assert!(again.status.success(), "{}", stderr(&again));
    assert_eq!(stdout(&left), "");
}

#[test]
#[ignore = "needs testbeds/ceph/up"]
fn ceph_keeps_all_that_it_acknowledged_while_an_osd_is_out_and_has_it_in_again() {
    let directory = tempfile::tempdir().unwrap();
    let bed = repository().join("testbeds/ceph");
    let fault =
        format!("type: bed, bed: {}, verb: out, target: osd.1, hold: 4s, keep: 3s", bed.to_str().unwrap());
    let (output, record) = held(directory.path(), &bed.join("s3.yaml"), &fault, (10, 160));
    let (in_force, still_there) = (ceph(&["list"]), ceph(&["proof", "out", "osd.1"]));
    // Whatever this test says next, the bed is whole for the others.
    let healed = ceph(&["healall"]);
    let slot = &record.stages[2].faults[0].slots[0];
    assert_eq!(slot.void, None, "{slot:?}; {}", stderr(&output));
    assert!(slot.proof.as_ref().is_some_and(|proof| proof.contains("map has osd.1 out")), "{slot:?}");
    assert!(slot.landed_s.is_some() && slot.healed_s > slot.heal_s, "{slot:?}");
    assert_eq!((stdout(&in_force).as_str(), still_there.status.code()), ("", Some(1)));
    assert!(healed.status.success(), "{}", stderr(&healed));
    let durability = &record.durability[0];
    assert_eq!((durability.broken(), durability.undecided), (0, 0), "{durability:?}");
    assert!(durability.right >= 40, "{durability:?}");
}

#[test]
#[ignore = "needs testbeds/ceph/up"]
fn ceph_has_a_full_osd_in_its_map_from_fill_to_heal_and_not_longer() {
    let before = ceph(&["proof", "fill", "osd.1"]);
    let filled = ceph(&["fill", "osd.1"]);
    let (proof, noticed) = (ceph(&["proof", "fill", "osd.1"]), ceph(&["noticed", "osd.1"]));
    let (in_force, twice) = (ceph(&["list"]), ceph(&["fill", "osd.1"]));
    let healed = ceph(&["heal", "osd.1"]);
    let (after, left) = (ceph(&["proof", "fill", "osd.1"]), ceph(&["list"]));
    // Whatever this test says next, the bed is whole for the others.
    let all = ceph(&["healall"]);
    assert_eq!(before.status.code(), Some(1), "{}", stdout(&before));
    assert!(filled.status.success(), "{}", stderr(&filled));
    assert!(stdout(&proof).contains("map calls osd.1 full"), "{}{}", stdout(&proof), stderr(&proof));
    assert_eq!(noticed.status.code(), Some(0), "{}", stderr(&noticed));
    assert_eq!(stdout(&in_force).trim(), "osd.1.fill");
    assert!(!twice.status.success() && stderr(&twice).contains("full already"), "{}", stderr(&twice));
    assert!(healed.status.success() && all.status.success(), "{}{}", stderr(&healed), stderr(&all));
    assert_eq!((after.status.code(), stdout(&left).as_str()), (Some(1), ""), "{}", stdout(&after));
}
