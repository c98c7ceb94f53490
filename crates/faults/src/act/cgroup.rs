//! Limits of processor and disk for processes of this machine, by control groups of their own below or beside the one in which
//! they are. Version 1 and version 2, whichever holds the controller. Source: the kernel's
//! Documentation/admin-guide/cgroup-v1/blkio-controller.rst, Documentation/scheduler/sched-bwc.rst and
//! Documentation/admin-guide/cgroup-v2.rst; proc_pid_cgroup(5), proc_pid_mountinfo(5).

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use cosmark_archive::{Heal, LimitedGroup};
use cosmark_workload::model::faults::{FaultLimit, FaultProcesses};

use super::Hand;
use super::process::{Process, find, key, state_of};

/// How the directories of groups that are made here begin; nothing else is ever removed.
const PREFIX: &str = "cosmark-fault-";
/// Period of a quota of processor time, in microseconds: the kernel's own default.
const PERIOD_US: u64 = 100_000;
/// Processes that are born while others are moved are moved in the next pass.
const PASSES: usize = 3;
/// A group that is not empty after so many tries is not removed.
const TRIES: usize = 100;
const BETWEEN: Duration = Duration::from_millis(50);

/// Where a controller is, and how it is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hierarchy {
    mount: PathBuf,
    /// What of the hierarchy is mounted there.
    root: String,
    controller: &'static str,
    is_v2: bool,
}

/// One setting: file, what is written into it, and what then stands in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Setting {
    file: &'static str,
    text: String,
    /// A line with all of these words is there.
    shows: Vec<String>,
}

pub struct Cgroup {
    hierarchy: Hierarchy,
    who: FaultProcesses,
    processes: Vec<Process>,
    groups: Vec<LimitedGroup>,
    settings: Vec<Setting>,
}

impl Cgroup {
    pub fn of(who: &FaultProcesses, limit: &FaultLimit) -> Result<Self, String> {
        let controller = match limit {
            FaultLimit::Cpu(_) => ["cpu", "cpu"],
            FaultLimit::Read { .. } | FaultLimit::Write { .. } => ["blkio", "io"],
        };
        let mounts = fs::read_to_string("/proc/self/mountinfo")
            .map_err(|cause| format!("/proc/self/mountinfo: {cause}"))?;
        let hierarchy = hierarchy(&mounts, controller)?;
        let settings = settings(limit, hierarchy.is_v2)?;
        let processes = find(who)?;
        let mut backs: Vec<PathBuf> = Vec::new();
        for process in &processes {
            // One that ended meanwhile is in none.
            if let Some(group) = hierarchy.group_of(*process)? {
                backs.push(group);
            }
        }
        backs.sort();
        backs.dedup();
        if backs.is_empty() {
            return Err(format!("no process of {} runs any more", who.text()));
        }
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let name = |at: usize| format!("{PREFIX}{}-{now}-{at}", std::process::id());
        let made = |(at, back): (usize, PathBuf)| -> Result<LimitedGroup, String> {
            if is_made_here(&back) {
                return Err(format!(
                    "its processes are limited already, in {}; `cosmark faults heal`",
                    back.display()
                ));
            }
            Ok(LimitedGroup { made: hierarchy.above(&back).join(name(at)), back })
        };
        let groups = backs.into_iter().enumerate().map(made).collect::<Result<_, _>>()?;
        Ok(Self { hierarchy, who: who.clone(), processes, groups, settings })
    }

    fn make(&self, group: &LimitedGroup) -> Result<(), String> {
        if self.hierarchy.is_v2 {
            self.hierarchy.allow_below(&self.hierarchy.above(&group.back))?;
        }
        fs::create_dir(&group.made).map_err(|cause| {
            let made = group.made.display();
            format!("the control group {made} cannot be made ({cause}); that is root's right, or that of whom root gives it to")
        })?;
        self.settings.iter().try_for_each(|setting| {
            let file = group.made.join(setting.file);
            write(&file, &setting.text)
                .map_err(|cause| format!("{} into {}: {cause}", setting.text, file.display()))
        })
    }

    /// The group that is made for what is in `back`.
    fn group_for(&self, back: &Path) -> Option<&LimitedGroup> {
        self.groups.iter().find(|group| group.back == back)
    }
}

impl Hand for Cgroup {
    fn plan(&self) -> Heal {
        Heal::Groups(self.groups.clone())
    }

    fn acts_on(&self) -> Vec<String> {
        self.processes.iter().map(|process| key(*process)).collect()
    }

    fn lasts(&self) -> bool {
        true
    }

    fn inject(&mut self, _begun: &mut dyn FnMut(Process)) -> Result<String, String> {
        self.groups.iter().try_for_each(|group| self.make(group))?;
        for _ in 0..PASSES {
            for process in find(&self.who)? {
                let Some(back) = self.hierarchy.group_of(process)? else { continue };
                if let Some(group) = self.group_for(&back) {
                    put(process.0, &group.made)?;
                }
            }
        }
        Ok(String::new())
    }

    fn landed(&mut self) -> Result<Option<String>, String> {
        let mut there = 0;
        for process in self.processes.iter().filter(|process| state_of(**process).is_some()) {
            match self.hierarchy.group_of(*process)? {
                Some(group) if self.groups.iter().any(|one| one.made == group) => there += 1,
                Some(_) => return Ok(None),
                None => {}
            }
        }
        if there == 0 {
            return Ok(None);
        }
        for (group, setting) in
            self.groups.iter().flat_map(|group| self.settings.iter().map(move |one| (group, one)))
        {
            let file = group.made.join(setting.file);
            let text = fs::read_to_string(&file).map_err(|cause| format!("{}: {cause}", file.display()))?;
            if !setting.holds(&text) {
                return Ok(None);
            }
        }
        let said: Vec<String> =
            self.settings.iter().map(|one| format!("{} {}", one.file, one.text)).collect();
        let version = if self.hierarchy.is_v2 { 2 } else { 1 };
        Ok(Some(format!(
            "{there} processes are in control groups of version {version} with {}",
            said.join(", ")
        )))
    }

    fn heal(&mut self) -> Result<String, String> {
        heal(&self.groups)
    }
}

impl Setting {
    fn holds(&self, text: &str) -> bool {
        text.lines().any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            self.shows.iter().all(|word| words.contains(&word.as_str()))
        })
    }
}

impl Hierarchy {
    /// The directory of a process's group; `None` when it is gone.
    fn group_of(&self, process: Process) -> Result<Option<PathBuf>, String> {
        if state_of(process).is_none() {
            return Ok(None);
        }
        let Ok(text) = fs::read_to_string(format!("/proc/{}/cgroup", process.0)) else { return Ok(None) };
        let Some(path) = path_of(&text, self.is_v2, self.controller) else {
            return Err(format!("process {} is in no control group of {}", process.0, self.controller));
        };
        let below = Path::new(path).strip_prefix(&self.root).map_err(|_| {
            format!(
                "the control group {path} of process {} is not to be seen from here (mounted is {})",
                process.0, self.root
            )
        })?;
        if below.components().any(|part| matches!(part, std::path::Component::ParentDir)) {
            return Err(format!(
                "the control group {path} of process {} lies outside of this container",
                process.0
            ));
        }
        Ok(Some(if below.as_os_str().is_empty() { self.mount.clone() } else { self.mount.join(below) }))
    }

    /// Where a group is made: of version 1 below theirs, so that limits from above still hold; of version 2 beside it, since
    /// a group has processes or groups with limits, and not both.
    fn above(&self, back: &Path) -> PathBuf {
        match back.parent() {
            Some(parent) if self.is_v2 && back != self.mount => parent.to_owned(),
            _ => back.to_owned(),
        }
    }

    /// Has the groups of a directory limited by the controller: version 2 wants that said from the root on.
    fn allow_below(&self, directory: &Path) -> Result<(), String> {
        let above: Vec<&Path> =
            directory.ancestors().take_while(|one| one.starts_with(&self.mount)).collect();
        for one in above.into_iter().rev() {
            let file = one.join("cgroup.subtree_control");
            let now = fs::read_to_string(&file).map_err(|cause| format!("{}: {cause}", file.display()))?;
            if !now.split_whitespace().any(|word| word == self.controller) {
                write(&file, &format!("+{}", self.controller)).map_err(|cause| {
                    format!(
                        "controller {} cannot be turned on in {}: {cause}",
                        self.controller,
                        file.display()
                    )
                })?;
            }
        }
        Ok(())
    }
}

/// Where the controller is mounted; `names`: as version 1 and as version 2 call it.
fn hierarchy(mounts: &str, names: [&'static str; 2]) -> Result<Hierarchy, String> {
    let [v1, v2] = names;
    let rows = || {
        mounts.lines().filter_map(|line| {
            let (front, back) = line.split_once(" - ")?;
            let front: Vec<&str> = front.split(' ').collect();
            let mut back = back.split(' ');
            let (kind, options) = (back.next()?, back.nth(1)?);
            Some((kind, options, unescaped(front.get(3)?), unescaped(front.get(4)?)))
        })
    };
    if let Some((_, _, root, mount)) =
        rows().find(|row| row.0 == "cgroup" && row.1.split(',').any(|option| option == v1))
    {
        return Ok(Hierarchy { mount: mount.into(), root, controller: v1, is_v2: false });
    }
    let second = rows().find(|row| {
        let known = fs::read_to_string(Path::new(&row.3).join("cgroup.controllers")).unwrap_or_default();
        row.0 == "cgroup2" && known.split_whitespace().any(|word| word == v2)
    });
    let (_, _, root, mount) = second.ok_or_else(|| {
        format!("no control groups with the controller {v1} (version 1) or {v2} (version 2) are mounted on this machine")
    })?;
    Ok(Hierarchy { mount: mount.into(), root, controller: v2, is_v2: true })
}

/// mountinfo writes blanks as octal numbers.
fn unescaped(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
}

/// The path in `/proc/PID/cgroup`.
fn path_of<'a>(text: &'a str, is_v2: bool, controller: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let fits = if is_v2 {
            number == "0" && controllers.is_empty()
        } else {
            controllers.split(',').any(|one| one == controller)
        };
        fits.then_some(path)
    })
}

fn settings(limit: &FaultLimit, is_v2: bool) -> Result<Vec<Setting>, String> {
    let one = |file, text: String, shows: &[String]| Setting { file, text, shows: shows.to_vec() };
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let (file, sign, bytes_per_s, disk) = match limit {
        FaultLimit::Cpu(percent) => {
            let quota_us = (u64::from(*percent) * PERIOD_US / 100).to_string();
            let period_us = PERIOD_US.to_string();
            return Ok(if is_v2 {
                let text = format!("{quota_us} {period_us}");
                vec![one("cpu.max", text.clone(), &words(&text))]
            } else {
                vec![
                    one("cpu.cfs_period_us", period_us.clone(), &[period_us]),
                    one("cpu.cfs_quota_us", quota_us.clone(), &[quota_us]),
                ]
            });
        }
        FaultLimit::Read { bytes_per_s, disk } => {
            ("blkio.throttle.read_bps_device", "rbps", bytes_per_s, disk)
        }
        FaultLimit::Write { bytes_per_s, disk } => {
            ("blkio.throttle.write_bps_device", "wbps", bytes_per_s, disk)
        }
    };
    let device = device_of(disk)?;
    let text =
        if is_v2 { format!("{device} {sign}={bytes_per_s}") } else { format!("{device} {bytes_per_s}") };
    let shows = words(&text);
    Ok(vec![one(if is_v2 { "io.max" } else { file }, text, &shows)])
}

/// Major and minor number of the whole disk below a path.
fn device_of(path: &str) -> Result<String, String> {
    let meta = fs::metadata(path).map_err(|cause| format!("disk {path}: {cause}"))?;
    let number = if meta.file_type().is_block_device() { meta.rdev() } else { meta.dev() };
    let (major, minor) = (libc::major(number), libc::minor(number));
    let device = format!("{major}:{minor}");
    let about = PathBuf::from(format!("/sys/dev/block/{device}"));
    if !about.exists() {
        return Err(format!(
            "disk {path} lies on no block device that the kernel can limit (a tmpfs, an overlay, btrfs, NFS?): name the device"
        ));
    }
    if !about.join("partition").exists() {
        return Ok(device);
    }
    // Limits are those of whole disks.
    let whole = about.canonicalize().ok().and_then(|about| about.parent().map(|disk| disk.join("dev")));
    let number = whole.and_then(|file| fs::read_to_string(file).ok());
    number
        .map(|number| number.trim().to_owned())
        .ok_or_else(|| format!("disk {path}: its whole disk cannot be found"))
}

/// A file of the kernel's: no other is made where it is missing.
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    fs::OpenOptions::new().write(true).open(file)?.write_all(text.as_bytes())
}

/// Puts a process into a group; one that has ended meanwhile needs none.
fn put(number: u32, group: &Path) -> Result<(), String> {
    match write(&group.join("cgroup.procs"), &number.to_string()) {
        Err(cause) if cause.raw_os_error() != Some(libc::ESRCH) => {
            Err(format!("process {number} cannot be put into {}: {cause}", group.display()))
        }
        _ => Ok(()),
    }
}

fn is_made_here(group: &Path) -> bool {
    group.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
}

/// Puts the processes back to where they were and removes the groups; also when nothing was made.
///
/// # Errors
/// Which group is still there, and why.
pub fn heal(groups: &[LimitedGroup]) -> Result<String, String> {
    let said = groups.iter().map(heal_one).collect::<Result<Vec<_>, _>>()?;
    Ok(said.into_iter().filter(|said| !said.is_empty()).collect::<Vec<_>>().join("; "))
}

fn heal_one(group: &LimitedGroup) -> Result<String, String> {
    let made = &group.made;
    if !is_made_here(made) {
        return Err(format!("{} is no group that cosmark makes; it is left alone", made.display()));
    }
    let held_up = held_up(made);
    let mut last = String::new();
    for attempt in 0..TRIES {
        if attempt > 0 {
            std::thread::sleep(BETWEEN);
        }
        if !made.exists() {
            return Ok(held_up);
        }
        let inside = fs::read_to_string(made.join("cgroup.procs")).unwrap_or_default();
        let back = group.back.ancestors().find(|one| one.join("cgroup.procs").exists());
        let back = back.ok_or_else(|| format!("{} is gone, and all above it", group.back.display()))?;
        for number in inside.lines().filter_map(|line| line.trim().parse().ok()) {
            if let Err(why) = put(number, back) {
                last = why;
            }
        }
        match fs::remove_dir(made) {
            Ok(()) => return Ok(held_up),
            Err(cause) if last.is_empty() => last = cause.to_string(),
            Err(_) => {}
        }
    }
    Err(format!("{} cannot be removed: {last}", made.display()))
}

/// How often a quota of processor time was used up; empty where nothing is known.
fn held_up(made: &Path) -> String {
    let text = fs::read_to_string(made.join("cpu.stat")).unwrap_or_default();
    let count = |name: &str| {
        let mut rows = text.lines().filter_map(|line| line.split_once(' '));
        rows.find(|row| row.0 == name).and_then(|row| row.1.trim().parse::<u64>().ok())
    };
    match (count("nr_periods"), count("nr_throttled")) {
        (Some(periods), Some(throttled)) if periods > 0 => {
            format!("the quota of processor time was used up in {throttled} of {periods} periods of 100 ms")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
