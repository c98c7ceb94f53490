//! The files of this machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::mpsc::Sender;

use super::{News, kept, now_ns};
use crate::frame::{FILES, Frame};

/// How often processes that began since are looked for, in readings.
const LOOK_EVERY: u32 = 10;

/// Reads this machine's files every `interval` until nobody listens.
pub async fn collect(interval: Duration, daemons: Vec<String>, to: Sender<News>) {
    let mut due = tokio::time::interval(interval);
    due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut reader = LocalReader::new(daemons);
    loop {
        due.tick().await;
        // The files of hundreds of threads take milliseconds, which nobody else on this thread is to wait for.
        let read = tokio::task::spawn_blocking(move || {
            let reading = reader.read();
            (reader, reading)
        });
        let Ok((back, reading)) = read.await else { return };
        reader = back;
        if to.send(News::Reading(reading)).await.is_err() {
            return;
        }
    }
}

/// Reads this machine, and knows which threads to look at.
#[derive(Debug)]
pub struct LocalReader {
    root: PathBuf,
    daemons: Vec<String>,
    processes: Vec<String>,
    ticks_per_s: f64,
    readings: u32,
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
        Self { root: root.to_owned(), daemons, processes: Vec::new(), ticks_per_s: 100.0, readings: 0 }
    }

    /// What there is now.
    pub fn read(&mut self) -> crate::reading::Reading {
        if self.readings.is_multiple_of(LOOK_EVERY) {
            self.processes = self.find_processes();
        }
        self.readings = self.readings.wrapping_add(1);
        let mut files = BTreeMap::new();
        let at_ns = now_ns();
        for path in FILES {
            self.take(path, &mut files);
        }
        for interface in self.names_in("/sys/class/net") {
            self.take(&format!("/sys/class/net/{interface}/speed"), &mut files);
        }
        for zone in self.names_in("/sys/class/powercap") {
            self.take(&format!("/sys/class/powercap/{zone}/energy_uj"), &mut files);
        }
        for process in &self.processes {
            for thread in self.names_in(&format!("/proc/{process}/task")) {
                self.take(&format!("/proc/{process}/task/{thread}/stat"), &mut files);
                self.take(&format!("/proc/{process}/task/{thread}/schedstat"), &mut files);
            }
            if let Some(group) = self.group_of(process) {
                self.take(&format!("/sys/fs/cgroup{group}/cpu.stat"), &mut files);
                self.take(&format!("/sys/fs/cgroup{group}/cpu.max"), &mut files);
            }
        }
        Frame { files, ticks_per_s: self.ticks_per_s }.read(at_ns)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    fn take(&self, path: &str, files: &mut BTreeMap<String, String>) {
        if let Ok(text) = fs::read_to_string(self.at(path)) {
            files.insert(path.to_owned(), text);
        }
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn threads_and_quotas_of_named_daemons_are_looked_at_and_those_of_others_are_not() {
        let root = std::env::temp_dir().join(format!("cosmark-nodes-{}", std::process::id()));
        for (process, name, group) in [("7", "swift-proxy-ser", "/proxies/one"), ("8", "bash", "/others")] {
            put(&root, &format!("proc/{process}/comm"), &format!("{name}\n"));
            put(&root, &format!("proc/{process}/cgroup"), &format!("1:cpu:/x\n0::{group}\n"));
            let stat = format!("{process} ({name}) S 1 2 3 4 5 6 7 8 9 10 100 20 0 0");
            put(&root, &format!("proc/{process}/task/{process}/stat"), &stat);
            put(&root, &format!("proc/{process}/task/{process}/schedstat"), "5 2000000000 9");
            put(&root, &format!("sys/fs/cgroup{group}/cpu.max"), "50000 100000");
        }
        let reading = LocalReader::below(&root, vec!["swift-proxy-server".to_owned()]).read();
        let found: Vec<_> =
            reading.samples.iter().map(|s| (s.quantity.id, s.unit.as_str(), s.value)).collect();
        assert_eq!(
            found,
            [
                ("thread_run_queue_s", "swift-proxy-ser/7", 2.0),
                ("thread_busy_s", "swift-proxy-ser/7", 1.2),
                ("quota_processors", "proxies/one", 0.5),
            ]
        );
        fs::remove_dir_all(&root).unwrap();
    }
}
