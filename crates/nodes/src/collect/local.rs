//! The files of this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use cosmark_metrics::has_a_speed;
use cosmark_pipe::Printed;
use tokio::sync::mpsc::Sender;

use super::{News, kept, now_ns};
use crate::filesystems::Mounted;
use crate::frame::{FILES, Frame, ThreadNames};
use crate::quantity as q;
use crate::reading::Reading;
use crate::requests::Following;
use crate::{groups, links};

/// How often processes, threads and control groups that began since are looked for, in readings.
const LOOK_EVERY: u32 = 10;
/// What is looked for costs no more than one of so many parts of a processor: machines have thousands of processes and
/// groups.
const OF_A_PROCESSOR: u32 = 500;
/// A look that costs less makes no pause, whatever the kernel's clock of processor time is worth; none makes a longer
/// one.
const CHEAP: Duration = Duration::from_millis(20);
const LONGEST_REST: Duration = Duration::from_secs(300);
/// A thread that did nothing is read once in so many readings only: the daemons of a store have hundreds that never do anything.
const IDLE_EVERY: u32 = 5;
/// For so many readings after it last ran, a thread is read each time.
const ACTIVE_FOR: u32 = 10;

/// Reads this machine's files every `interval` until nobody listens.
/// With `requests` it follows those of the disks, too.
pub async fn collect(interval: Duration, mut reader: LocalReader, requests: bool, to: Sender<News>) {
    let mut due = tokio::time::interval(interval);
    due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    if requests {
        reader.follow_requests();
    }
    loop {
        due.tick().await;
        // The files of hundreds of threads take milliseconds, which nobody else on this thread is to wait for.
        let read = tokio::task::spawn_blocking(move || {
            let reading = reader.read();
            (reader, reading)
        });
        let Ok((back, reading)) = read.await else { return };
        reader = back;
        for news in [News::Reading(reading), News::Missing(reader.missing())] {
            if to.send(news).await.is_err() {
                return;
            }
        }
    }
}

/// Reads this machine, and knows which threads to look at.
#[derive(Debug)]
pub struct LocalReader {
    root: PathBuf,
    daemons: Vec<String>,
    groups: BTreeSet<String>,
    limited: Vec<String>,
    /// Where links say their speeds, of those that have one.
    speeds: Vec<String>,
    /// When it may be looked again for what began since.
    rests_until: Option<Instant>,
    threads: Vec<Thread>,
    names: ThreadNames,
    ticks_per_s: f64,
    readings: u32,
    queues: Queues,
    /// What is mounted and holds what the store stores.
    mounted: Mounted,
    /// Requests of the disks, or why they cannot be followed; `None` where nobody wants to know.
    requests: Option<Result<Following, String>>,
}

/// What `tc` says of the queues of links, where it is there and may say it.
#[derive(Debug, Default)]
struct Queues {
    /// What it printed last, by the names that they have among the files.
    texts: BTreeMap<String, String>,
    /// Why it says nothing any more, where it once did.
    missing: Option<String>,
    /// How often in a row it said nothing.
    failed: u32,
}

/// Where it is; who starts Cosmark need not have it in the PATH.
const TC: &[&str] = &["/usr/sbin/tc", "/sbin/tc", "/usr/bin/tc", "/bin/tc"];
/// One that says nothing so often in a row is not asked again.
const MOST_FAILED: u32 = 5;
/// It answers within milliseconds, unless the kernel's network is being changed.
const TC_PATIENCE: Duration = Duration::from_secs(1);
/// How often it is looked whether it has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(2);
/// Classes and filters of further links are left out once this time is over: readings wait for them.
const CLASSES_PATIENCE: Duration = Duration::from_secs(2);

/// A thread of a daemon.
#[derive(Debug)]
struct Thread {
    process: String,
    number: String,
    /// What its `schedstat` said last.
    last: String,
    /// The reading in which that was something new.
    ran_at: u32,
}

impl LocalReader {
    /// A reader of `/` that looks at the threads of these daemons.
    #[must_use]
    pub fn new(daemons: Vec<String>) -> Self {
        Self::below(Path::new("/"), daemons)
    }

    /// The same for files below another directory.
    #[must_use]
    pub fn below(root: &Path, daemons: Vec<String>) -> Self {
        Self {
            root: root.to_owned(),
            daemons,
            groups: BTreeSet::new(),
            limited: Vec::new(),
            speeds: Vec::new(),
            rests_until: None,
            threads: Vec::new(),
            names: ThreadNames::new(),
            ticks_per_s: 100.0,
            readings: 0,
            queues: Queues::default(),
            mounted: Mounted::default(),
            requests: None,
        }
    }

    /// The same, and the file systems that are mounted at these directories or below are the store's.
    #[must_use]
    pub fn with_filesystems(self, directories: Vec<String>) -> Self {
        Self { mounted: Mounted::at(directories), ..self }
    }

    /// Follows the requests of the disks from here on, by the kernel's tracing, unless it does or cannot; it needs root.
    pub fn follow_requests(&mut self) {
        self.requests.get_or_insert_with(Following::begin);
    }

    /// Follows them no longer: the kernel writes nothing down that nobody asks for.
    pub fn leave_requests(&mut self) {
        self.requests = None;
    }

    /// What of the machine says nothing, or nothing any more, in one sentence.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        let requests = match &self.requests {
            Some(Err(why)) => {
                Some(format!("requests of disks: {why}; it needs root and a kernel with tracing"))
            }
            _ => None,
        };
        let parts = [self.queues.missing.clone(), self.mounted.missing(), requests];
        let all: Vec<String> = parts.into_iter().flatten().collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// What there is now.
    pub fn read(&mut self) -> Reading {
        let is_rested = self.rests_until.is_none_or(|until| Instant::now() >= until);
        if self.readings.is_multiple_of(LOOK_EVERY) && is_rested {
            let before = processor_time();
            self.look();
            self.limited = groups::limited(&self.root);
            self.speeds = self.links_with_a_speed();
            self.rests_until = Some(Instant::now() + rest_after(processor_time().saturating_sub(before)));
        }
        let mut files = BTreeMap::new();
        let at_ns = now_ns();
        for path in FILES {
            self.take(path, &mut files);
        }
        for path in self.speeds.iter().chain(&self.limited) {
            self.take(path, &mut files);
        }
        for zone in self.names_in("/sys/class/powercap") {
            if self.take(&format!("/sys/class/powercap/{zone}/energy_uj"), &mut files) {
                self.take(&format!("/sys/class/powercap/{zone}/name"), &mut files);
            }
        }
        for group in &self.groups {
            self.take(&format!("/sys/fs/cgroup{group}/cpu.stat"), &mut files);
            self.take(&format!("/sys/fs/cgroup{group}/cpu.max"), &mut files);
        }
        self.take_threads(&mut files);
        self.take_queues(&mut files);
        self.readings = self.readings.wrapping_add(1);
        let mut frame =
            Frame { files, ticks_per_s: self.ticks_per_s, names: std::mem::take(&mut self.names) };
        frame.names.extend(frame.names_of_threads());
        let mut reading = frame.read(at_ns);
        self.add_requests(frame.files.get("/proc/diskstats").map_or("", String::as_str), &mut reading);
        self.names = frame.names;
        self.mounted.add_to(&self.root, &mut reading);
        reading
    }

    /// What the queues of links say: what they said last where it is not their turn.
    fn take_queues(&mut self, files: &mut BTreeMap<String, String>) {
        if self.queues.failed < MOST_FAILED && self.readings.is_multiple_of(links::EVERY) {
            let said = self.ask_queues();
            let queues = &mut self.queues;
            match said {
                Ok(()) => (queues.failed, queues.missing) = (0, None),
                // What never said anything is not missed; nor asked again, unless it was late: a machine may be busy.
                Err(unsaid) if queues.texts.is_empty() && queues.missing.is_none() => {
                    queues.failed = if unsaid.is_late { queues.failed + 1 } else { MOST_FAILED };
                }
                Err(Unsaid { why, .. }) => {
                    queues.texts.clear();
                    queues.failed += 1;
                    queues.missing = Some(format!("tc says nothing of the queues of links any more: {why}"));
                }
            }
        }
        files.extend(self.queues.texts.clone());
    }

    /// How far apart requests lie, by the names that disks have beside their numbers.
    #[expect(clippy::cast_precision_loss, reason = "counts of requests")]
    fn add_requests(&mut self, disks: &str, reading: &mut Reading) {
        let Some(Ok(following)) = &self.requests else { return };
        let found = match following.disks() {
            Ok(found) => found,
            Err(why) => {
                self.requests = Some(Err(why));
                return;
            }
        };
        let mut names = BTreeMap::new();
        for line in disks.lines() {
            let mut words = line.split_ascii_whitespace();
            if let (Some(major), Some(minor), Some(name)) = (words.next(), words.next(), words.next()) {
                names.insert(format!("{major},{minor}"), name);
            }
        }
        for (disk, distances) in found {
            let name = names.get(&disk).copied().unwrap_or(&disk);
            reading.add(&q::DISK_FOLLOWED, name, distances.distances as f64);
            reading.add(&q::DISK_FAR, name, distances.far as f64);
        }
    }

    fn ask_queues(&mut self) -> Result<(), Unsaid> {
        let program = TC.iter().map(|path| self.at(path)).find(|path| path.is_file());
        let program = program.ok_or_else(|| Unsaid::because("it is gone"))?;
        let text = said_by(&program, &["-s", "-j", "qdisc", "show"])?;
        let texts = &mut self.queues.texts;
        let until = Instant::now() + CLASSES_PATIENCE;
        let in_time = |_: &String| Instant::now() < until;
        if texts.is_empty() || self.readings.is_multiple_of(links::CLASSES_EVERY) {
            texts.clear();
            for interface in links::with_classes(&text).into_iter().take_while(in_time) {
                let Ok(classes) = said_by(&program, &["class", "show", "dev", &interface]) else { break };
                texts.insert(format!("{}{interface}", links::CLASSES), classes);
            }
            for interface in links::with_filters(&text).into_iter().take_while(in_time) {
                let asked = ["filter", "show", "dev", interface.as_str(), "ingress"];
                let Ok(filters) = said_by(&program, &asked) else { break };
                texts.insert(format!("{}{interface}", links::FILTERS), filters);
            }
        }
        let counted = links::with_classes(&text).into_iter().take(links::MOST_COUNTED);
        for interface in counted.take_while(in_time) {
            let asked = ["-s", "class", "show", "dev", interface.as_str()];
            let Ok(classes) = said_by(&program, &asked) else { break };
            texts.insert(format!("{}{interface}", links::COUNTED), classes);
        }
        texts.insert(links::QUEUES.to_owned(), text);
        Ok(())
    }

    /// The threads whose turn it is, and the names of those that have none yet.
    fn take_threads(&mut self, files: &mut BTreeMap<String, String>) {
        let now = self.readings;
        let mut threads = std::mem::take(&mut self.threads);
        for (turn, thread) in (0..).zip(&mut threads) {
            let active = now.wrapping_sub(thread.ran_at) < ACTIVE_FOR;
            if !active && turn % IDLE_EVERY != now % IDLE_EVERY {
                continue;
            }
            let file = |name: &str| format!("/proc/{}/task/{}/{name}", thread.process, thread.number);
            let counted = self.take(&file("schedstat"), files);
            if !counted || !self.names.contains_key(&(thread.process.clone(), thread.number.clone())) {
                self.take(&file("stat"), files);
            }
            if let Some(text) = files.get(&file("schedstat")).filter(|text| **text != thread.last) {
                thread.last.clone_from(text);
                thread.ran_at = now;
            }
        }
        self.threads = threads;
    }

    /// Looks for threads and groups of the daemons.
    fn look(&mut self) {
        let mut known: BTreeMap<(String, String), Thread> = std::mem::take(&mut self.threads)
            .into_iter()
            .map(|thread| ((thread.process.clone(), thread.number.clone()), thread))
            .collect();
        self.groups.clear();
        for process in self.find_processes() {
            self.groups.extend(self.group_of(&process));
            for number in self.names_in(&format!("/proc/{process}/task")) {
                let key = (process.clone(), number);
                let thread = known.remove(&key).unwrap_or_else(|| {
                    let (process, number) = key;
                    Thread { process, number, last: String::new(), ran_at: self.readings }
                });
                self.threads.push(thread);
            }
        }
        self.names.retain(|key, _| !known.contains_key(key));
    }

    /// A machine of containers has hundreds of links, of which few have one.
    fn links_with_a_speed(&self) -> Vec<String> {
        let places = self.names_in("/sys/class/net").into_iter().map(|link| format!("/sys/class/net/{link}"));
        let has_one = |place: &String| {
            let uevent = fs::read_to_string(self.at(&format!("{place}/uevent"))).unwrap_or_default();
            has_a_speed(self.at(&format!("{place}/device")).exists(), &uevent)
        };
        places.filter(has_one).map(|place| format!("{place}/speed")).collect()
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// True where there is such a file.
    fn take(&self, path: &str, files: &mut BTreeMap<String, String>) -> bool {
        let text = fs::read_to_string(self.at(path)).ok();
        text.map(|text| files.insert(path.to_owned(), text)).is_some()
    }

    fn names_in(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.at(directory)).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    fn find_processes(&self) -> Vec<String> {
        if self.daemons.is_empty() {
            return Vec::new();
        }
        let is_one = |process: &String| {
            let name = fs::read_to_string(self.at(&format!("/proc/{process}/comm"))).unwrap_or_default();
            self.daemons.iter().any(|daemon| name.trim_end().starts_with(kept(daemon)))
        };
        let is_process = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
        self.names_in("/proc").into_iter().filter(is_process).filter(is_one).collect()
    }

    /// The group of a process in the unified hierarchy (`0::/path`), where there is one.
    fn group_of(&self, process: &str) -> Option<String> {
        let text = fs::read_to_string(self.at(&format!("/proc/{process}/cgroup"))).ok()?;
        let group = text.lines().find_map(|line| line.strip_prefix("0::"))?;
        (group != "/" && !group.contains("..")).then(|| group.to_owned())
    }
}

/// What this thread has used of processors; nothing where the kernel does not count it.
fn processor_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_ascii_whitespace().next();
    Duration::from_nanos(first.and_then(|ran_ns| ran_ns.parse().ok()).unwrap_or(0))
}

/// For how long nothing is looked for after a look that cost so much.
fn rest_after(cost: Duration) -> Duration {
    if cost <= CHEAP { Duration::ZERO } else { (cost * OF_A_PROCESSOR).min(LONGEST_REST) }
}

/// Why a program said nothing.
#[derive(Debug)]
struct Unsaid {
    why: String,
    /// Its time was up: it may answer when it is asked again.
    is_late: bool,
}

impl Unsaid {
    fn because(why: impl ToString) -> Self {
        Self { why: why.to_string(), is_late: false }
    }
}

/// What a program prints, which is ended when its time is up. Who has ended has said all, however late this is seen, and
/// whatever it left running.
fn said_by(program: &Path, options: &[&str]) -> Result<String, Unsaid> {
    let (mut printed, writer) = Printed::new(links::MOST_BYTES + 1).map_err(Unsaid::because)?;
    let mut child = Command::new(program)
        .args(options)
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(Stdio::null())
        .spawn()
        .map_err(Unsaid::because)?;
    let until = Instant::now() + TC_PATIENCE;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < until => printed.take_within(LOOK_AGAIN),
            _ => {
                let _ = child.kill();
                // One that hangs in the kernel ends when that lets it go.
                let _ = thread::Builder::new().name("tc".to_owned()).spawn(move || drop(child.wait()));
                let why = format!("no answer in {} s", TC_PATIENCE.as_secs());
                return Err(Unsaid { why, is_late: true });
            }
        }
    };
    let text = printed.of_ended(Duration::ZERO);
    if text.len() > links::MOST_BYTES {
        return Err(Unsaid::because("its answer has no end"));
    }
    if !status.success() {
        return Err(Unsaid::because(status));
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
