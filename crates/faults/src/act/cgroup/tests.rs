//! Control groups: what is written of version 1 and 2, and a process of this machine that is limited and let go.

use std::process::{Child, Command, Stdio};
use std::time::Instant;

use cosmark_workload::model::faults::FaultProcess;

use super::*;

#[test]
fn a_controller_is_found_in_the_version_that_holds_it() {
    let v1 = "30 24 0:26 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
              31 24 0:27 /docker/x /sys/fs/cgroup/my\\040io rw - cgroup cgroup rw,blkio\n";
    let found = hierarchy(v1, ["cpu", "cpu"]).unwrap();
    assert_eq!(
        (found.mount.to_str(), found.root.as_str(), found.is_v2),
        (Some("/sys/fs/cgroup/cpu"), "/", false)
    );
    let found = hierarchy(v1, ["blkio", "io"]).unwrap();
    assert_eq!((found.mount.to_str(), found.root.as_str()), (Some("/sys/fs/cgroup/my io"), "/docker/x"));
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("cgroup.controllers"), "cpuset cpu io\n").unwrap();
    let v2 = format!("25 20 0:22 / {} rw - cgroup2 cgroup2 rw,nsdelegate\n", directory.path().display());
    let found = hierarchy(&v2, ["blkio", "io"]).unwrap();
    assert_eq!((found.controller, found.is_v2), ("io", true));
    assert!(hierarchy(&v2, ["pids", "pids"]).unwrap_err().contains("pids"));
    assert!(hierarchy("garbage - \n\n x - cgroup", ["cpu", "cpu"]).is_err());
    let text = "4:cpu,cpuacct:/a:b\n1:name=systemd:/\n0::/system.slice/x.service\n";
    assert_eq!(path_of(text, false, "cpu"), Some("/a:b"));
    assert_eq!(path_of(text, true, "cpu"), Some("/system.slice/x.service"));
    assert_eq!(path_of(text, false, "blkio"), None);
}

#[test]
fn limits_are_written_as_each_version_wants_them_and_read_back() {
    let v1 = settings(&FaultLimit::Cpu(20), false).unwrap();
    assert_eq!(v1.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), ["100000", "20000"]);
    let v2 = settings(&FaultLimit::Cpu(150), true).unwrap();
    assert_eq!((v2[0].file, v2[0].text.as_str()), ("cpu.max", "150000 100000"));
    assert!(v2[0].holds("150000 100000\n") && !v2[0].holds("max 100000\n"));
    let io = Setting { file: "io.max", text: String::new(), shows: vec!["8:0".into(), "rbps=1000".into()] };
    assert!(io.holds("8:16 rbps=max\n8:0 rbps=1000 wbps=max riops=max wiops=max\n"));
    assert!(!io.holds("8:16 rbps=1000 wbps=max\n8:0 rbps=max wbps=max\n"));
    let nowhere = settings(&FaultLimit::Read { bytes_per_s: 1, disk: "/proc".into() }, false);
    assert!(nowhere.unwrap_err().contains("no block device"));
}

/// The layout of version 2, without a kernel behind it.
#[test]
fn of_version_2_a_group_is_made_beside_theirs_and_controllers_are_turned_on_from_the_root() {
    let directory = tempfile::tempdir().unwrap();
    let mount = directory.path();
    let slice = mount.join("system.slice");
    let service = slice.join("store.service");
    fs::create_dir_all(&service).unwrap();
    fs::write(mount.join("cgroup.subtree_control"), "cpuset cpu\n").unwrap();
    fs::write(slice.join("cgroup.subtree_control"), "memory\n").unwrap();
    let hierarchy =
        Hierarchy { mount: mount.to_owned(), root: "/".to_owned(), controller: "cpu", is_v2: true };
    assert_eq!(hierarchy.above(&service), slice);
    assert_eq!(hierarchy.above(mount), mount);
    hierarchy.allow_below(&slice).unwrap();
    assert!(fs::read_to_string(slice.join("cgroup.subtree_control")).unwrap().starts_with("+cpu"));
    assert_eq!(fs::read_to_string(mount.join("cgroup.subtree_control")).unwrap(), "cpuset cpu\n");
    assert!(hierarchy.allow_below(&service).unwrap_err().contains("store.service"));
}

#[test]
fn nothing_but_a_group_that_was_made_here_is_ever_removed() {
    let directory = tempfile::tempdir().unwrap();
    let made = directory.path().join("somebody's");
    fs::create_dir(&made).unwrap();
    let group = |made: &Path| vec![LimitedGroup { made: made.to_owned(), back: directory.path().to_owned() }];
    assert!(heal(&group(&made)).unwrap_err().contains("left alone"));
    assert!(made.exists());
    assert_eq!(heal(&group(&directory.path().join(format!("{PREFIX}1")))), Ok(String::new()));
}

struct Busy(Child);

impl Busy {
    /// A process that computes for good.
    fn begin() -> Self {
        let command = Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn();
        Self(command.unwrap())
    }

    fn who(&self, file: &Path) -> FaultProcesses {
        fs::write(file, self.0.id().to_string()).unwrap();
        let file = file.to_string_lossy().into_owned();
        FaultProcesses { process: FaultProcess::PidFile(file), children: true }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Says so where this machine or this user has no control groups to write to.
fn skipped(why: &str) {
    use std::io::Write as _;
    let test = std::thread::current();
    drop(writeln!(std::io::stderr(), "SKIPPED test {}: {why}", test.name().unwrap_or("?")));
}

#[test]
fn a_process_is_limited_proved_to_be_and_put_back_to_where_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let busy = Busy::begin();
    let who = busy.who(&directory.path().join("pid"));
    let mut hand = match Cgroup::of(&who, &FaultLimit::Cpu(5)) {
        Ok(hand) => hand,
        Err(why) => return skipped(&why),
    };
    assert_eq!(hand.landed(), Ok(None), "before it is made");
    if let Err(why) = hand.inject(&mut |_| {}) {
        hand.heal().unwrap();
        return skipped(&why);
    }
    let proof = hand.landed().unwrap().unwrap();
    assert!(proof.starts_with("1 processes are in control groups"), "{proof}");
    let group = hand.groups[0].clone();
    // A second cosmark that comes by finds it limited already.
    let second = Cgroup::of(&who, &FaultLimit::Cpu(5)).err().unwrap();
    assert!(second.contains("limited already"), "{second}");
    let until = Instant::now() + Duration::from_secs(60);
    while !held_up(&group.made).contains("used up in") || held_up(&group.made).contains("used up in 0 of") {
        assert!(Instant::now() < until, "the quota was never used up: {}", held_up(&group.made));
        std::thread::sleep(Duration::from_millis(20));
    }
    let Heal::Groups(plan) = hand.plan() else { panic!("{:?}", hand.plan()) };
    let said = crate::act::heal(&Heal::Groups(plan)).unwrap();
    assert!(said.contains("used up in"), "{said}");
    assert!(!group.made.exists());
    let process = hand.processes[0];
    assert_eq!(hand.hierarchy.group_of(process).unwrap(), Some(group.back));
    assert_eq!(hand.landed(), Ok(None), "after it was healed");
    assert_eq!(hand.heal(), Ok(String::new()), "healing twice is no error");
}

#[test]
fn what_a_process_reads_from_a_disk_is_limited_proved_to_be_and_put_back() {
    let directory = tempfile::tempdir().unwrap();
    let busy = Busy::begin();
    let who = busy.who(&directory.path().join("pid"));
    let disk = directory.path().to_string_lossy().into_owned();
    let mut hand = match Cgroup::of(&who, &FaultLimit::Read { bytes_per_s: 2_000_000, disk }) {
        Ok(hand) => hand,
        Err(why) => return skipped(&why),
    };
    if let Err(why) = hand.inject(&mut |_| {}) {
        hand.heal().unwrap();
        return skipped(&why);
    }
    let proof = hand.landed().unwrap().unwrap();
    assert!(proof.contains(":") && proof.contains("2000000"), "{proof}");
    let group = hand.groups[0].clone();
    assert_eq!(hand.heal(), Ok(String::new()));
    assert!(!group.made.exists());
    assert_eq!(hand.hierarchy.group_of(hand.processes[0]).unwrap(), Some(group.back));
}
