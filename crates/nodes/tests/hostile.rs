//! What machines, exporters, traces and other programs print, cut, doubled and mixed: it is read without a panic and in bounded
//! time, what comes of it are numbers, and what cannot be read is said in few words.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use cosmark_nodes::frame::Frame;
use cosmark_nodes::lbn::Trace;
use cosmark_nodes::prometheus::{parse, reading};
use cosmark_nodes::raw::import::{Imported, import};
use cosmark_nodes::reading::Reading;
use proptest::prelude::*;
use proptest::sample::select;

use self::changed::changed;

#[path = "../../workload/tests/hostile/changed.rs"]
mod changed;

/// What each source prints, once.
const PRINTED: &[&str] = &[
    "/proc/stat:cpu  9 9 9 9 9 9 9 9 0 0\n/proc/stat:cpu0 100 10 50 1000 70 5 15 30 40 0\n/proc/stat:btime 1700000000\n",
    "/proc/schedstat:cpu0 0 0 0 0 0 0 1 2 3\n/proc/diskstats: 8 0 sda 10 0 16 5 20 0 32 7 0 9 12 0 0 0 0 3 1\n\
     /proc/diskstats: 8 1 sda1 10 0 16 5 20 0 32 7 0 9 12\n/proc/net/dev: eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13\n",
    "/proc/net/snmp:Tcp: OutSegs RetransSegs\n/proc/net/snmp:Tcp: 100 3\n/proc/pressure/io:some avg10=0.00 total=123\n\
     /proc/pressure/io:full avg10=0.00 total=12\n/proc/7/task/8/stat:8 (a b) R 1 2 3 4 5 6 7 8 9 10 250 50 0 0\n",
    "/sys/fs/cgroup/a/io.max:8:16 rbps=2097152 wbps=max riops=max wiops=120\n/sys/fs/cgroup/a/io.stat:8:16 rbytes=1 wbytes=2 \
     rios=3 wios=4\n/sys/fs/cgroup/a/cpu.max:50000 100000\n/sys/fs/cgroup/a/cpu.stat:usage_usec 5\n",
    "tc-qdisc:[{\"kind\":\"htb\",\"dev\":\"eth0\",\"handle\":\"1:\",\"root\":true,\"drops\":3,\"options\":{\"default\":\"0x10\"}}]\n\
     tc-class eth0:class htb 1:10 root prio 0 rate 40Mbit ceil 40Mbit burst 15Kb\n",
    "# TYPE node_disk_io_time_seconds_total counter\nnode_disk_io_time_seconds_total{device=\"sda\"} 1.5 1700000000000\n\
     node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 12 # {trace_id=\"x\"} 1\nminio_api_requests_total{name=\"Get\\\"\\n\"} +Inf\n",
    "fio-77 [001] d..1. 12.345: block_rq_issue: 8,16 R 4096 () 2048 + 8 [fio]\n8,16 3 11 0.009 697 D W 223490 + 8 [x]\n\
     CPU:1 [LOST 77 EVENTS]\n",
    "{\"fio version\": \"fio-3.33\", \"jobs\": [{\"jobname\": \"j\", \"error\": 0, \"job options\": {\"rw\": \"write\"}, \"write\": \
     {\"io_bytes\": 1073741824, \"bw_bytes\": 536870912, \"iops\": 131072, \"runtime\": 2000, \"total_ios\": 262144}}]}",
    "{\"bytes_written\": 1073741824, \"elapsed_sec\": 10.0, \"bytes_per_sec\": 107374182.4, \"iops\": 25.6}",
    "{\"start\": {\"connecting_to\": {\"host\": \"h\"}}, \"end\": {\"sum_received\": {\"bits_per_second\": 8e9}}}",
];

/// What is put into it.
const PIECES: &[&str] = &[
    "-1",
    "1e308",
    "-inf",
    "NaN",
    "18446744073709551616",
    "0",
    "\"",
    "{",
    "}",
    "[",
    "]",
    "\\",
    ":",
    ",",
    "=",
    " ",
    "\n",
    "\0",
    "é",
    "\u{202e}",
    "\u{1b}[31m",
    "#",
    "+",
    "max",
    "(",
    ")",
    "|",
    "tc-qdisc:",
    "/proc/diskstats:",
];

/// Some of what is printed, changed.
fn printed() -> impl Strategy<Value = String> {
    let some = prop::collection::vec(select(PRINTED), 1..4).prop_map(|parts| parts.concat());
    changed(some, PIECES, 60)
}

fn are_numbers(reading: &Reading) -> bool {
    reading.samples.len() <= 20_000
        && reading.samples.iter().all(|sample| sample.value.is_finite() && sample.value >= 0.0)
}

fn frame_of(text: &str) -> Frame {
    let mut frame = Frame { ticks_per_s: 100.0, ..Frame::default() };
    text.lines().for_each(|line| frame.add_line(line));
    frame.names = frame.names_of_threads();
    frame
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn files_of_a_machine_are_numbers_whatever_stands_in_them(text in printed()) {
        prop_assert!(are_numbers(&frame_of(&text).read(7)));
    }

    #[test]
    fn an_exposition_is_series_and_a_count_of_what_is_none(text in printed()) {
        let read = parse(&text);
        let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.trim().starts_with('#'));
        prop_assert_eq!(read.series.len() + read.unreadable, lines.count());
        prop_assert_eq!(read.first_unreadable.is_some(), read.unreadable > 0);
        let shown = read.first_unreadable.as_ref().map_or(0, |(_, shown)| shown.chars().count());
        prop_assert!(shown <= 60, "{} signs are shown", shown);
        prop_assert!(are_numbers(&reading(&read.series, 7)));
    }

    #[test]
    fn a_trace_has_a_distance_less_than_requests_at_most(text in printed()) {
        let mut trace = Trace::default();
        text.lines().for_each(|line| trace.add_line(line));
        for (disk, found) in trace.disks() {
            prop_assert!(found.distances < found.requests, "{}: {:?}", disk, found);
            prop_assert_eq!(found.by_log2.values().sum::<u64>(), found.distances);
            prop_assert!(found.far <= found.beyond_125000 && found.beyond_125000 <= found.distances);
        }
    }

    #[test]
    fn what_another_program_measured_is_possible_or_refused_with_a_reason(text in printed()) {
        let is_possible = |rate: f64| rate.is_finite() && rate > 0.0 && rate <= 1e12;
        match import(&text, "") {
            Ok(Imported::Disks(disks)) => prop_assert!(disks.iter().all(|disk| is_possible(disk.bytes_per_s))),
            Ok(Imported::Network(network)) => prop_assert!(is_possible(network.bytes_per_s)),
            Ok(Imported::Cluster(cluster)) => prop_assert!(is_possible(cluster.bytes_per_s)),
            Err(why) => prop_assert!(!why.is_empty()),
        }
    }
}

/// As many as a session's frame has room for: each was once compared with every other.
#[test]
fn a_hundred_thousand_disks_and_limits_are_read_in_a_moment() {
    let (mut disks, mut limits, mut counts) = (String::new(), String::new(), String::new());
    for number in 0..100_000 {
        writeln!(disks, "8 {number} disk-{number}x 1 2 3 4 5 6 7 8 9 10 11").unwrap();
        writeln!(limits, "8:{number} rbps=1").unwrap();
        writeln!(counts, "9:{number} rbytes=1").unwrap();
    }
    let files = BTreeMap::from([
        ("/proc/diskstats".to_owned(), disks),
        ("/sys/fs/cgroup/a/io.max".to_owned(), limits.clone()),
        ("/sys/fs/cgroup/a/io.stat".to_owned(), counts.clone()),
        ("/sys/fs/cgroup/blkio/b/blkio.throttle.read_bps_device".to_owned(), limits.replace("rbps=", "")),
        ("/sys/fs/cgroup/blkio/b/blkio.throttle.io_service_bytes".to_owned(), counts),
    ]);
    let began = Instant::now();
    let read = Frame { files, ticks_per_s: 100.0, ..Frame::default() }.read(7);
    assert!(are_numbers(&read) && !read.samples.is_empty());
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}
