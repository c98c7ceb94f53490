//! The files of `/proc` of one machine at one moment, read into samples. What a kernel does not have is not there; a line that
//! cannot be read is left out, not the file. Sources: Linux kernel, Documentation/filesystems/proc.rst, admin-guide/iostats.rst,
//! accounting/psi.rst, scheduler/sched-stats.rst.

use std::collections::{BTreeMap, BTreeSet};

use cosmark_metrics::nodes::machines::BOOT;

use crate::quantity as q;
use crate::reading::Reading;
use crate::{groups, links};

/// The files that are read of every machine.
pub const FILES: &[&str] = &[
    "/proc/stat",
    "/proc/schedstat",
    "/proc/diskstats",
    "/proc/net/dev",
    "/proc/net/snmp",
    "/proc/net/netstat",
    "/proc/meminfo",
    "/proc/vmstat",
    "/proc/pressure/cpu",
    "/proc/pressure/io",
    "/proc/pressure/memory",
    BOOT_ID,
];

/// A number that the kernel draws when it starts, for nobody else. Source: random(4).
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Files by their path.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    /// Their texts.
    pub files: BTreeMap<String, String>,
    /// Clock ticks per second of the machine (`getconf CLK_TCK`); 100 nearly everywhere.
    pub ticks_per_s: f64,
    /// Names of threads by their number. They are in `stat`, which costs the kernel the most of all files of a thread: it is
    /// read now and then, and `schedstat`, which has nanoseconds besides, each time.
    pub names: ThreadNames,
}

/// In the names of zones of energy that are there by another way, too.
pub(crate) const READ_AGAIN: &str = "rapl-mmio";

/// Names of threads by process and thread.
pub type ThreadNames = BTreeMap<(String, String), String>;

impl Frame {
    /// All samples that are in it.
    #[must_use]
    pub fn read(&self, at_ns: u64) -> Reading {
        let mut reading = Reading { at_ns, samples: Vec::new() };
        let ticks_per_s = if self.ticks_per_s > 0.0 { self.ticks_per_s } else { 100.0 };
        for (path, text) in &self.files {
            match path.as_str() {
                "/proc/stat" => processors(text, ticks_per_s, &mut reading),
                "/proc/schedstat" => run_queues(text, &mut reading),
                "/proc/diskstats" => disks(text, &mut reading),
                "/proc/net/dev" => interfaces(text, &mut reading),
                "/proc/net/snmp" | "/proc/net/netstat" => tcp(text, &mut reading),
                "/proc/meminfo" => memory(text, &mut reading),
                "/proc/vmstat" => faults(text, &mut reading),
                "/proc/pressure/cpu" => pressure(text, &q::CPU_PRESSURE, None, &mut reading),
                "/proc/pressure/io" => pressure(text, &q::IO_PRESSURE, Some(&q::IO_STALL), &mut reading),
                "/proc/pressure/memory" => pressure(text, &q::MEMORY_PRESSURE, None, &mut reading),
                BOOT_ID => start(text, &mut reading),
                path => self.other(path, text, ticks_per_s, &mut reading),
            }
        }
        links::read(&self.files, &mut reading);
        reading
    }

    /// Adds what `grep '' FILE..` printed: each line with its file's path before it.
    pub fn add_line(&mut self, line: &str) {
        // Zones of energy and groups may have colons in their names. What stands in these files has no slash.
        let from = if line.starts_with("/sys/") { line.rfind('/').unwrap_or(0) } else { 0 };
        let Some(colon) = line[from..].find(':').map(|at| from + at) else { return };
        let (path, rest) = (&line[..colon], &line[colon + 1..]);
        let text = self.files.entry(path.to_owned()).or_default();
        text.push_str(rest);
        text.push('\n');
    }

    /// The names of threads whose `stat` files are in it.
    #[must_use]
    pub fn names_of_threads(&self) -> ThreadNames {
        let named = |(path, text): (&String, &String)| {
            let mut parts = path.strip_prefix("/proc/")?.strip_suffix("/stat")?.split('/');
            let (process, _task, thread) = (parts.next()?, parts.next()?, parts.next()?);
            Some(((process.to_owned(), thread.to_owned()), name_and_rest(text)?.0.to_owned()))
        };
        self.files.iter().filter_map(named).collect()
    }

    /// Whether a zone is what the processors of one socket draw. Its parts (`intel-rapl:0:0`) are in it, it is in what
    /// the whole machine draws (`psys`), and it may be there once more, read another way (`intel-rapl-mmio:0`).
    fn is_package(&self, zone: &str) -> bool {
        let name = self.files.get(&format!("/sys/class/powercap/{zone}/name")).map_or("", |name| name.trim());
        zone.matches(':').count() == 1 && !zone.contains(READ_AGAIN) && name != "psys"
    }

    /// Files of threads, groups and interfaces: which ones are asked for depends on the machine.
    fn other(&self, path: &str, text: &str, ticks_per_s: f64, reading: &mut Reading) {
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            // A kernel without `schedstat` counts in ticks.
            ["", "proc", process, "task", thread, "stat"]
                if !self.files.contains_key(&format!("/proc/{process}/task/{thread}/schedstat")) =>
            {
                let Some((name, rest)) = name_and_rest(text) else { return };
                let row = fields(rest);
                let busy = (number(row.get(11)) + number(row.get(12))) / ticks_per_s;
                reading.add(&q::THREAD_BUSY, &format!("{name}/{thread}"), busy);
            }
            ["", "proc", process, "task", thread, "schedstat"] => {
                let Some(name) = self.names.get(&((*process).to_owned(), (*thread).to_owned())) else {
                    return;
                };
                let (row, unit) = (fields(text), format!("{name}/{thread}"));
                reading.add(&q::THREAD_BUSY, &unit, number(row.first()) / 1e9);
                reading.add(&q::THREAD_RUN_QUEUE, &unit, number(row.get(1)) / 1e9);
            }
            ["", "sys", "class", "net", interface, "speed"] => {
                reading.add(&q::NETWORK_SPEED, interface, number(Some(&text.trim())) * 1e6 / 8.0);
            }
            ["", "sys", "class", "powercap", zone, "energy_uj"] if self.is_package(zone) => {
                reading.add(&q::ENERGY, zone, number(Some(&text.trim())) / 1e6);
            }
            ["", "sys", "fs", "cgroup", ..] => groups::read(&self.files, path, text, reading),
            _ => {}
        }
    }
}

fn number(text: Option<&&str>) -> f64 {
    text.and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

fn fields(line: &str) -> Vec<&str> {
    line.split_ascii_whitespace().collect()
}

/// `cpu0 user nice system idle iowait irq softirq steal guest guest_nice`, in ticks; guests are counted in user already.
fn processors(text: &str, ticks_per_s: f64, reading: &mut Reading) {
    for line in text.lines() {
        let fields = fields(line);
        let Some(name) = fields.first() else { continue };
        let second = |place: usize| number(fields.get(place)) / ticks_per_s;
        if *name == "procs_running" {
            reading.add(&q::TASKS_RUNNABLE, "", number(fields.get(1)));
        }
        if *name == "btime" {
            reading.add(&q::BOOT_TIME, "", number(fields.get(1)));
        }
        let is_core =
            name.strip_prefix("cpu").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        if !is_core {
            continue;
        }
        let interrupts = second(6) + second(7);
        reading.add(&q::CPU_BUSY, name, second(1) + second(2) + second(3) + interrupts);
        reading.add(&q::CPU_IO_WAIT, name, second(5));
        reading.add(&q::CPU_INTERRUPTS, name, interrupts);
        reading.add(&q::CPU_STEAL, name, second(8));
    }
}

/// `0f5a8b4c-7a1e-4c0d-9b1f-2d3e4f5a6b7c`.
fn start(text: &str, reading: &mut Reading) {
    let number = text.trim();
    if number.len() == 36 && number.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') {
        reading.add(&q::MACHINE, &format!("{BOOT}{number}"), 1.0);
    }
}

/// `cpu0` and nine numbers; the eighth is the nanoseconds that tasks waited, of version 15 and later.
fn run_queues(text: &str, reading: &mut Reading) {
    for line in text.lines() {
        let fields = fields(line);
        if let Some(name) = fields.first().filter(|name| name.starts_with("cpu")) {
            reading.add(&q::CPU_RUN_QUEUE, name, number(fields.get(8)) / 1e9);
        }
    }
}

const SECTOR_BYTES: f64 = 512.0;

/// Whole devices only: what a partition does its device does too.
fn disks(text: &str, reading: &mut Reading) {
    let rows: Vec<Vec<&str>> = text.lines().map(fields).filter(|row| row.len() >= 14).collect();
    let names: BTreeSet<&str> = rows.iter().map(|row| row[2]).collect();
    for row in &rows {
        let name = row[2];
        if device_of(name).is_some_and(|device| names.contains(device))
            || row[3..14].iter().all(|n| *n == "0")
        {
            continue;
        }
        let of = |place: usize| number(row.get(place));
        reading.add(&q::DISK_READS, name, of(3));
        reading.add(&q::DISK_READ_BYTES, name, of(5) * SECTOR_BYTES);
        reading.add(&q::DISK_READ_TIME, name, of(6) / 1e3);
        reading.add(&q::DISK_WRITES, name, of(7));
        reading.add(&q::DISK_WRITTEN_BYTES, name, of(9) * SECTOR_BYTES);
        reading.add(&q::DISK_WRITE_TIME, name, of(10) / 1e3);
        reading.add(&q::DISK_BUSY, name, of(12) / 1e3);
        reading.add(&q::DISK_QUEUE, name, of(13) / 1e3);
        reading.add(&q::DISK_FLUSHES, name, of(18));
    }
}

/// The device of which a name would be a part: `sda` of `sda1`, `nvme0n1` of `nvme0n1p2`; `nvme0n` of `nvme0n1`, which is no
/// device. `None` for a name without a number behind.
pub(crate) fn device_of(name: &str) -> Option<&str> {
    let before = name.trim_end_matches(|sign: char| sign.is_ascii_digit());
    let ends_in_a_number = |device: &&str| device.ends_with(|last: char| last.is_ascii_digit());
    (before.len() < name.len()).then(|| before.strip_suffix('p').filter(ends_in_a_number).unwrap_or(before))
}

/// `eth0: bytes packets errs drop fifo frame compressed multicast bytes packets errs drop ..`.
fn interfaces(text: &str, reading: &mut Reading) {
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(':') else { continue };
        let (name, row) = (name.trim(), fields(rest));
        if row.len() < 12 || row.iter().all(|n| *n == "0") {
            continue;
        }
        let of = |place: usize| number(row.get(place));
        reading.add(&q::NETWORK_RECEIVED, name, of(0));
        reading.add(&q::NETWORK_PACKETS_RECEIVED, name, of(1));
        reading.add(&q::NETWORK_RECEIVE_DROPS, name, of(3));
        reading.add(&q::NETWORK_SENT, name, of(8));
        reading.add(&q::NETWORK_PACKETS_SENT, name, of(9));
        reading.add(&q::NETWORK_SEND_DROPS, name, of(11));
        reading.add(&q::NETWORK_ERRORS, name, of(2) + of(10));
    }
}

/// Pairs of lines with the same first word: names, then numbers.
fn tcp(text: &str, reading: &mut Reading) {
    let lines: Vec<Vec<&str>> = text.lines().map(fields).collect();
    for pair in lines.windows(2) {
        let [names, numbers] = pair else { continue };
        if names.first() != numbers.first() {
            continue;
        }
        for (name, value) in names.iter().zip(numbers).skip(1) {
            let quantity = match *name {
                "OutSegs" => &q::TCP_SENT,
                "RetransSegs" => &q::TCP_RESENT,
                "ListenOverflows" => &q::TCP_LISTEN_DROPS,
                _ => continue,
            };
            reading.add(quantity, "", number(Some(value)));
        }
    }
}

fn memory(text: &str, reading: &mut Reading) {
    for line in text.lines() {
        let row = fields(line);
        let quantity = match row.first().copied() {
            Some("MemTotal:") => &q::MEMORY_TOTAL,
            Some("MemAvailable:") => &q::MEMORY_AVAILABLE,
            Some("Cached:") => &q::MEMORY_CACHE,
            Some("Dirty:") => &q::MEMORY_DIRTY,
            _ => continue,
        };
        reading.add(quantity, "", number(row.get(1)) * 1024.0);
    }
}

fn faults(text: &str, reading: &mut Reading) {
    let row = text.lines().map(fields).find(|row| row.first() == Some(&"pgmajfault"));
    if let Some(row) = row {
        reading.add(&q::MAJOR_FAULTS, "", number(row.get(1)));
    }
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=123`, microseconds; averages say nothing about a window of ours.
fn pressure(
    text: &str,
    some: &'static q::Quantity,
    full: Option<&'static q::Quantity>,
    reading: &mut Reading,
) {
    for line in text.lines() {
        let row = fields(line);
        let quantity = match row.first().copied() {
            Some("some") => Some(some),
            Some("full") => full,
            _ => None,
        };
        let total = row.iter().find_map(|field| field.strip_prefix("total="));
        if let (Some(quantity), Some(total)) = (quantity, total) {
            reading.add(quantity, "", number(Some(&total)) / 1e6);
        }
    }
}

/// The name of a thread is in brackets and may contain anything; the numbers are counted from behind the last one.
fn name_and_rest(stat: &str) -> Option<(&str, &str)> {
    let (before, rest) = stat.rsplit_once(')')?;
    Some((before.split_once('(')?.1, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, text: &str) -> Vec<(&'static str, String, f64)> {
        let files = BTreeMap::from([(path.to_owned(), text.to_owned())]);
        let reading = Frame { files, ticks_per_s: 100.0, ..Frame::default() }.read(0);
        reading.samples.into_iter().map(|sample| (sample.quantity.id, sample.unit, sample.value)).collect()
    }

    #[test]
    fn waiting_for_a_disk_is_idle_and_the_sum_of_all_processors_is_left_out() {
        let text = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 100 10 50 1000 70 5 15 30 40 0\ncpu12 1 0 0 0\nbtime 1700000000\nprocs_running 3\n";
        assert_eq!(
            read("/proc/stat", text),
            [
                ("cpu_busy_s", "cpu0".to_owned(), 1.8),
                ("cpu_io_wait_s", "cpu0".to_owned(), 0.7),
                ("cpu_interrupts_s", "cpu0".to_owned(), 0.2),
                ("cpu_steal_s", "cpu0".to_owned(), 0.3),
                ("boot_time_s", String::new(), 1.7e9),
                ("tasks_runnable", String::new(), 3.0),
            ]
        );
    }

    #[test]
    fn a_machine_is_called_by_the_start_of_its_kernel() {
        let number = "0f5a8b4c-7a1e-4c0d-9b1f-2d3e4f5a6b7c";
        let found = read(BOOT_ID, &format!("{number}\n"));
        assert_eq!(found, [("machine", format!("boot {number}"), 1.0)]);
        assert_eq!(read(BOOT_ID, "0f5a8b4c"), []);
        // As ssh sends it.
        let mut frame = Frame::default();
        frame.add_line(&format!("{BOOT_ID}:{number}"));
        assert_eq!(frame.read(0).samples.len(), 1);
    }

    #[test]
    fn partitions_and_devices_that_never_did_anything_are_left_out() {
        let text = " 8 0 sda 10 0 16 5 20 0 32 7 0 9 12 0 0 0 0 3 1\n 8 1 sda1 10 0 16 5 20 0 32 7 0 9 12\n \
                    259 0 nvme0n1 1 0 8 1 0 0 0 0 0 1 1\n 259 1 nvme0n1p1 1 0 8 1 0 0 0 0 0 1 1\n 7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n";
        let samples = read("/proc/diskstats", text);
        let units: std::collections::BTreeSet<&str> =
            samples.iter().map(|sample| sample.1.as_str()).collect();
        assert_eq!(units.into_iter().collect::<Vec<_>>(), ["nvme0n1", "sda"]);
        let of = |id: &str| {
            samples.iter().find(|sample| sample.0 == id && sample.1 == "sda").map(|sample| sample.2)
        };
        assert_eq!((of("disk_read_bytes"), of("disk_written_bytes")), (Some(8192.0), Some(16384.0)));
        assert_eq!(
            (of("disk_busy_s"), of("disk_queue_s"), of("disk_flushes")),
            (Some(0.009), Some(0.012), Some(3.0))
        );
    }

    #[test]
    fn only_packages_are_energy_and_each_counts_once() {
        let mut frame = Frame { ticks_per_s: 100.0, ..Frame::default() };
        for (zone, name) in [
            ("intel-rapl:0", "package-0"),
            ("intel-rapl:0:0", "core"),
            ("intel-rapl:1", "package-1"),
            ("intel-rapl:2", "psys"),
            ("intel-rapl-mmio:0", "package-0"),
        ] {
            frame.add_line(&format!("/sys/class/powercap/{zone}/energy_uj:5000000"));
            frame.add_line(&format!("/sys/class/powercap/{zone}/name:{name}"));
        }
        let units: Vec<String> = frame.read(0).samples.into_iter().map(|sample| sample.unit).collect();
        assert_eq!(units, ["intel-rapl:0", "intel-rapl:1"]);
    }

    #[test]
    fn a_colon_in_the_name_of_a_group_is_no_end_of_its_path() {
        let mut frame = Frame { ticks_per_s: 100.0, ..Frame::default() };
        let group = "/sys/fs/cgroup/kubepods.slice:cri-containerd:5f1e";
        for line in ["cpu.max:50000 100000", "io.max:8:16 rbps=max wbps=4096", "io.stat:8:16 wbytes=77"] {
            frame.add_line(&format!("{group}/{line}"));
        }
        frame.add_line("/proc/stat:cpu0 100 0 0 0 0 0 0 0 a/b:c");
        let samples = frame.read(0).samples;
        let found: Vec<_> =
            samples.iter().map(|one| (one.quantity.id, one.unit.as_str(), one.value)).collect();
        let name = "kubepods.slice:cri-containerd:5f1e";
        assert!(found.contains(&("quota_processors", name, 0.5)), "{found:?}");
        let written = format!("{name} 8:16 written bytes");
        assert!(found.contains(&("io_limit_used", written.as_str(), 77.0)), "{found:?}");
        assert!(found.contains(&("cpu_busy_s", "cpu0", 1.0)), "{found:?}");
    }

    #[test]
    fn a_thread_may_be_called_anything() {
        let text = "77 (a) b (c)) R 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0 1 0 99";
        assert_eq!(read("/proc/70/task/77/stat", text), [("thread_busy_s", "a) b (c)/77".to_owned(), 3.0)]);
        assert_eq!(read("/proc/70/task/77/stat", "77 (cut"), []);
    }

    #[test]
    fn threads_are_counted_in_nanoseconds_by_the_names_that_were_read_before() {
        let file = |name: &str, text: &str| (format!("/proc/7/task/8/{name}"), text.to_owned());
        let mut first = Frame {
            files: [
                file("stat", "8 (osd) R 1 2 3 4 5 6 7 8 9 10 250 50"),
                file("schedstat", "1500000000 2000000000 3"),
            ]
            .into(),
            ..Frame::default()
        };
        first.names = first.names_of_threads();
        let found = |frame: &Frame| -> Vec<(&'static str, String, f64)> {
            let samples = frame.read(0).samples.into_iter();
            samples.map(|sample| (sample.quantity.id, sample.unit, sample.value)).collect()
        };
        let thread = |id, value| (id, "osd/8".to_owned(), value);
        assert_eq!(found(&first), [thread("thread_busy_s", 1.5), thread("thread_run_queue_s", 2.0)]);
        let mut second =
            Frame { files: [file("schedstat", "1700000000 2100000000 4")].into(), ..Frame::default() };
        assert_eq!(found(&second), []);
        second.names = first.names;
        assert!(second.names_of_threads().is_empty());
        assert_eq!(found(&second), [thread("thread_busy_s", 1.7), thread("thread_run_queue_s", 2.1)]);
    }

    #[test]
    fn a_link_counts_its_packets_and_those_that_were_lost() {
        let text = "Inter-| Receive\n face |bytes\n  eth0: 1 20 3 4 0 0 0 0 5 60 7 8 0 0 0 0\n  eth1: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
        let found = read("/proc/net/dev", text);
        let found: Vec<_> = found.iter().map(|(id, unit, value)| (*id, unit.as_str(), *value)).collect();
        assert_eq!(
            found,
            [
                ("network_received_bytes", "eth0", 1.0),
                ("network_received_packets", "eth0", 20.0),
                ("network_receive_drops", "eth0", 4.0),
                ("network_sent_bytes", "eth0", 5.0),
                ("network_sent_packets", "eth0", 60.0),
                ("network_send_drops", "eth0", 8.0),
                ("network_errors", "eth0", 10.0),
            ]
        );
    }

    #[test]
    fn names_and_numbers_of_tcp_belong_together_by_their_place() {
        let text = "Tcp: RtoAlgorithm OutSegs RetransSegs\nTcp: 1 500 7\nUdp: In\nUdp: 3\n";
        assert_eq!(
            read("/proc/net/snmp", text),
            [("tcp_segments_sent", String::new(), 500.0), ("tcp_segments_resent", String::new(), 7.0)]
        );
    }

    #[test]
    fn a_quota_is_read_however_often_its_files_were_printed() {
        for lines in [
            "cpu/a/cpu.cfs_quota_us:50000\ncpu/a/cpu.cfs_period_us:100000\ncpuacct/a/cpuacct.usage:1500000000",
            "a/cpu.max:50000 100000\na/cpu.stat:usage_usec 1500000",
        ] {
            let mut frame = Frame::default();
            for line in lines.lines().chain(lines.lines()) {
                frame.add_line(&format!("{}/{line}", groups::ROOT));
            }
            let samples = frame.read(0).samples.into_iter();
            let mut found: Vec<_> = samples.map(|one| (one.quantity.id, one.unit, one.value)).collect();
            found.sort_by(|a, b| a.0.cmp(b.0));
            let expected = [("quota_processors", 0.5), ("quota_used_s", 1.5)];
            assert_eq!(found, expected.map(|(id, value)| (id, "a".to_owned(), value)), "{lines}");
        }
    }

    #[test]
    fn the_files_of_this_machine_are_read() {
        let files =
            FILES.iter().filter_map(|path| Some(((*path).to_owned(), std::fs::read_to_string(path).ok()?)));
        let reading = Frame { files: files.collect(), ticks_per_s: 100.0, ..Frame::default() }.read(5);
        for id in
            ["cpu_busy_s", "boot_time_s", "network_received_bytes", "memory_total_bytes", "tcp_segments_sent"]
        {
            assert!(reading.samples.iter().any(|sample| sample.quantity.id == id), "{id}");
        }
        assert_eq!(reading.at_ns, 5);
    }

    #[test]
    fn garbage_is_no_sample_and_no_panic() {
        for path in FILES.iter().copied().chain([
            "/proc/1/task/1/stat",
            "/sys/fs/cgroup/x/cpu.max",
            "/sys/class/net/e/speed",
        ]) {
            for text in [
                "",
                "\0\0",
                "cpu0",
                "cpu0 x y z",
                "some total=",
                "a: b c",
                "Tcp:\nTcp:",
                "1 2 3",
                ")",
                "-1",
                "max",
            ] {
                assert_eq!(read(path, text), [], "{path}: {text:?}");
            }
        }
    }
}
