//! The text that Prometheus exporters answer with, and which of their names are which of our quantities. Sources: Prometheus,
//! Exposition formats (text 0.0.4); OpenMetrics 1.0 (exemplars, `# EOF`, time stamps in seconds).

use std::collections::{BTreeMap, BTreeSet};

use crate::quantity::{self as q, Quantity};
use crate::reading::Reading;

/// One series at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name of the metric.
    pub name: String,
    /// Labels in the order given.
    pub labels: Vec<(String, String)>,
    /// Its value.
    pub value: f64,
    /// When it was true, milliseconds since 1970, where the exporter says so.
    pub at_ms: Option<f64>,
}

impl Series {
    /// The value of a label.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|label| label.0 == name).map(|label| label.1.as_str())
    }
}

/// What was read, and what could not be.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Exposition {
    /// The series.
    pub series: Vec<Series>,
    /// How many lines are no series.
    pub unreadable: usize,
    /// The first of them: its number from 1 and how it begins.
    pub first_unreadable: Option<(usize, String)>,
}

/// More series are not kept: an exporter of a large cluster has some ten thousand.
const MOST_SERIES: usize = 200_000;
/// How much of an unreadable line is shown.
const SHOWN: usize = 60;

/// Reads an exposition. Lines that are no series are counted, whatever they are.
#[must_use]
pub fn parse(text: &str) -> Exposition {
    let mut read = Exposition::default();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match series(line).filter(|_| read.series.len() < MOST_SERIES) {
            Some(series) => read.series.push(series),
            None => {
                read.unreadable += 1;
                read.first_unreadable.get_or_insert_with(|| (number, line.chars().take(SHOWN).collect()));
            }
        }
    }
    read
}

fn series(line: &str) -> Option<Series> {
    let end = line.find(|c: char| c == '{' || c.is_ascii_whitespace())?;
    let name = &line[..end];
    let first = name.bytes().next()?;
    let of_a_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':';
    if first.is_ascii_digit() || !name.bytes().all(of_a_name) {
        return None;
    }
    let (labels, rest) = match line[end..].strip_prefix('{') {
        Some(inner) => labels(inner)?,
        None => (Vec::new(), &line[end..]),
    };
    // Behind ` # ` stands an exemplar.
    let rest = rest.split_once(" # ").map_or(rest, |(rest, _)| rest);
    let mut words = rest.split_ascii_whitespace();
    let value = value(words.next()?)?;
    let at_ms = match words.next() {
        Some(stamp) => Some(millis(stamp)?),
        None => None,
    };
    words.next().is_none().then(|| Series { name: name.to_owned(), labels, value, at_ms })
}

/// Whole milliseconds in the older format, seconds with a fraction in OpenMetrics: nobody lives in the year 30 000.
fn millis(stamp: &str) -> Option<f64> {
    let number: f64 = stamp.parse().ok()?;
    Some(if number < 1e11 { number * 1e3 } else { number })
}

fn value(word: &str) -> Option<f64> {
    match word {
        "+Inf" | "Inf" => Some(f64::INFINITY),
        "-Inf" => Some(f64::NEG_INFINITY),
        "NaN" | "Nan" => Some(f64::NAN),
        word if word.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) => {
            word.parse().ok()
        }
        _ => None,
    }
}

type Labels = Vec<(String, String)>;

/// `a="x",b="y"}` and what comes behind.
fn labels(mut text: &str) -> Option<(Labels, &str)> {
    let mut found = Vec::new();
    loop {
        text = text.trim_start();
        if let Some(rest) = text.strip_prefix('}') {
            return Some((found, rest));
        }
        let (name, rest) = text.split_once('=')?;
        let (value, rest) = quoted(rest.trim_start().strip_prefix('"')?)?;
        found.push((name.trim().to_owned(), value));
        let rest = rest.trim_start();
        text = match rest.strip_prefix(',') {
            Some(more) => more,
            None if rest.starts_with('}') => rest,
            None => return None,
        };
    }
}

fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            char => value.push(char),
        }
    }
    None
}

/// One of an exporter's names.
struct Known {
    name: &'static str,
    /// The label that names the unit; empty for what a machine has once.
    unit: &'static str,
    /// What is said behind it: which kind of request; empty where there is one kind.
    kind: &'static str,
    /// Only series with one of these values of this label; all where there is none.
    only: Option<(&'static str, &'static [&'static str])>,
    quantity: &'static Quantity,
}

const fn of(name: &'static str, unit: &'static str, quantity: &'static Quantity) -> Known {
    Known { name, unit, kind: "", only: None, quantity }
}

const fn kind(
    name: &'static str,
    unit: &'static str,
    kind: &'static str,
    quantity: &'static Quantity,
) -> Known {
    Known { name, unit, kind, only: None, quantity }
}

const fn mode(modes: &'static [&'static str], quantity: &'static Quantity) -> Known {
    Known { name: "node_cpu_seconds_total", unit: "cpu", kind: "", only: Some(("mode", modes)), quantity }
}

/// The names of Prometheus' `node_exporter` 1.x (its collectors cpu, schedstat, pressure, diskstats, netdev, netclass, meminfo,
/// vmstat, netstat, stat, rapl), of Ceph's manager (module prometheus) and its exporter, and of `MinIO`'s metrics v3. Several
/// series of one unit are added up.
static KNOWN: &[Known] = &[
    mode(&["user", "nice", "system", "irq", "softirq"], &q::CPU_BUSY),
    mode(&["irq", "softirq"], &q::CPU_INTERRUPTS),
    mode(&["iowait"], &q::CPU_IO_WAIT),
    mode(&["steal"], &q::CPU_STEAL),
    of("node_schedstat_waiting_seconds_total", "cpu", &q::CPU_RUN_QUEUE),
    of("node_procs_running", "", &q::TASKS_RUNNABLE),
    of("node_pressure_cpu_waiting_seconds_total", "", &q::CPU_PRESSURE),
    of("node_pressure_io_waiting_seconds_total", "", &q::IO_PRESSURE),
    of("node_pressure_io_stalled_seconds_total", "", &q::IO_STALL),
    of("node_pressure_memory_waiting_seconds_total", "", &q::MEMORY_PRESSURE),
    of("node_disk_io_time_seconds_total", "device", &q::DISK_BUSY),
    of("node_disk_io_time_weighted_seconds_total", "device", &q::DISK_QUEUE),
    of("node_disk_reads_completed_total", "device", &q::DISK_READS),
    of("node_disk_writes_completed_total", "device", &q::DISK_WRITES),
    of("node_disk_read_bytes_total", "device", &q::DISK_READ_BYTES),
    of("node_disk_written_bytes_total", "device", &q::DISK_WRITTEN_BYTES),
    of("node_disk_read_time_seconds_total", "device", &q::DISK_READ_TIME),
    of("node_disk_write_time_seconds_total", "device", &q::DISK_WRITE_TIME),
    of("node_disk_flush_requests_total", "device", &q::DISK_FLUSHES),
    of("node_network_receive_bytes_total", "device", &q::NETWORK_RECEIVED),
    of("node_network_transmit_bytes_total", "device", &q::NETWORK_SENT),
    of("node_network_speed_bytes", "device", &q::NETWORK_SPEED),
    of("node_network_receive_packets_total", "device", &q::NETWORK_PACKETS_RECEIVED),
    of("node_network_transmit_packets_total", "device", &q::NETWORK_PACKETS_SENT),
    of("node_network_receive_drop_total", "device", &q::NETWORK_RECEIVE_DROPS),
    of("node_network_transmit_drop_total", "device", &q::NETWORK_SEND_DROPS),
    of("node_network_receive_errs_total", "device", &q::NETWORK_ERRORS),
    of("node_network_transmit_errs_total", "device", &q::NETWORK_ERRORS),
    of("node_memory_MemTotal_bytes", "", &q::MEMORY_TOTAL),
    of("node_boot_time_seconds", "", &q::BOOT_TIME),
    of("node_memory_MemAvailable_bytes", "", &q::MEMORY_AVAILABLE),
    of("node_memory_Cached_bytes", "", &q::MEMORY_CACHE),
    of("node_memory_Dirty_bytes", "", &q::MEMORY_DIRTY),
    of("node_vmstat_pgmajfault", "", &q::MAJOR_FAULTS),
    of("node_netstat_Tcp_OutSegs", "", &q::TCP_SENT),
    of("node_netstat_Tcp_RetransSegs", "", &q::TCP_RESENT),
    of("node_netstat_TcpExt_ListenOverflows", "", &q::TCP_LISTEN_DROPS),
    of("node_rapl_package_joules_total", "index", &q::ENERGY),
    kind("ceph_osd_op_r_latency_count", "ceph_daemon", "read", &q::SERVER_REQUESTS),
    kind("ceph_osd_op_r_latency_sum", "ceph_daemon", "read", &q::SERVER_REQUEST_TIME),
    kind("ceph_osd_op_w_latency_count", "ceph_daemon", "write", &q::SERVER_REQUESTS),
    kind("ceph_osd_op_w_latency_sum", "ceph_daemon", "write", &q::SERVER_REQUEST_TIME),
    kind("ceph_rgw_get_initial_lat_count", "ceph_daemon", "get", &q::SERVER_REQUESTS),
    kind("ceph_rgw_get_initial_lat_sum", "ceph_daemon", "get", &q::SERVER_REQUEST_TIME),
    kind("ceph_rgw_put_initial_lat_count", "ceph_daemon", "put", &q::SERVER_REQUESTS),
    kind("ceph_rgw_put_initial_lat_sum", "ceph_daemon", "put", &q::SERVER_REQUEST_TIME),
    kind("ceph_rgw_op_global_get_obj_lat_count", "instance_id", "get", &q::SERVER_REQUESTS),
    kind("ceph_rgw_op_global_get_obj_lat_sum", "instance_id", "get", &q::SERVER_REQUEST_TIME),
    kind("ceph_rgw_op_global_put_obj_lat_count", "instance_id", "put", &q::SERVER_REQUESTS),
    kind("ceph_rgw_op_global_put_obj_lat_sum", "instance_id", "put", &q::SERVER_REQUEST_TIME),
    of("ceph_rgw_qlen", "ceph_daemon", &q::SERVER_QUEUE),
    of("ceph_osd_recovery_ops", "ceph_daemon", &q::STORE_RECOVERIES),
    of("ceph_osd_recovery_bytes", "ceph_daemon", &q::STORE_RECOVERED_BYTES),
    of("ceph_osd_up", "", &q::STORE_DRIVES_ONLINE),
    of("ceph_num_objects_degraded", "", &q::STORE_DEGRADED),
    of("ceph_num_objects_misplaced", "", &q::STORE_MISPLACED),
    of("ceph_pg_scrubbing", "", &q::STORE_SCRUBBING),
    of("minio_api_requests_total", "name", &q::SERVER_REQUESTS),
    kind("minio_api_requests_inflight_total", "", "in flight", &q::SERVER_QUEUE),
    kind("minio_api_requests_waiting_total", "", "waiting", &q::SERVER_QUEUE),
    kind("minio_system_drive_waiting_io", "drive", "waiting", &q::SERVER_QUEUE),
    of("minio_system_drive_availability_errors_total", "drive", &q::STORE_DRIVE_ERRORS),
    of("minio_cluster_health_drives_online_count", "", &q::STORE_DRIVES_ONLINE),
    of("minio_cluster_health_drives_offline_count", "", &q::STORE_DRIVES_OFFLINE),
    of("minio_cluster_erasure_set_healing_drives_count", "set_id", &q::STORE_DRIVES_HEALING),
    of("minio_scanner_objects_scanned", "server", &q::STORE_SCANNED),
];

/// Whether an exporter says nothing of this name where its number is 0: `MinIO` does so in its metrics v3.
#[must_use]
pub fn leaves_zeros_out(name: &str) -> bool {
    name.starts_with("minio_")
}

/// All names that are known, each once.
#[must_use]
pub fn names() -> BTreeSet<&'static str> {
    KNOWN.iter().map(|known| known.name).collect()
}

/// What of an exposition is in the table of quantities.
#[must_use]
pub fn reading(series: &[Series], at_ns: u64) -> Reading {
    let mut sums: BTreeMap<(&'static str, String), (&'static Known, f64)> = BTreeMap::new();
    for one in series {
        for known in KNOWN.iter().filter(|known| known.name == one.name) {
            let fits = |(label, values): &(&str, &[&str])| {
                one.label(label).is_some_and(|value| values.contains(&value))
            };
            if known.only.as_ref().is_some_and(|only| !fits(only)) || !one.value.is_finite() {
                continue;
            }
            let unit = match known.unit {
                "" => String::new(),
                "cpu" => format!("cpu{}", one.label("cpu").unwrap_or("?")),
                // Gateways have been called by the number of their instance since 16.2.11.
                label => one.label(label).or_else(|| one.label("instance_id")).unwrap_or("?").to_owned(),
            };
            let unit = match (unit.as_str(), known.kind) {
                (_, "") => unit,
                ("", kind) => kind.to_owned(),
                (of, kind) => format!("{of} {kind}"),
            };
            sums.entry((known.quantity.id, unit)).or_insert((known, 0.0)).1 += one.value;
        }
    }
    let mut reading = Reading { at_ns, samples: Vec::new() };
    for ((_, unit), (known, value)) in sums {
        reading.add_named(known.quantity, &unit, known.name, value);
    }
    reading
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn both_formats_are_read() {
        let text = "# HELP a b\n# TYPE a counter\na 1\nb{x=\"1\",y=\"a\\\"b\\\\c\\nd\",} 2.5e3 1700000000000\n\
                    c_bucket{le=\"+Inf\"} 7 # {trace=\"x\"} 0.5 1700000000.1\nd NaN\ne +Inf 1700000000.250\n# EOF\n";
        let read = parse(text);
        assert_eq!((read.series.len(), read.unreadable), (5, 0), "{read:?}");
        assert_eq!(read.series[1].label("y"), Some("a\"b\\c\nd"));
        assert_eq!(read.series[1].at_ms, Some(1.7e12));
        assert_eq!((read.series[2].value, read.series[2].at_ms), (7.0, None));
        assert_eq!(read.series[4].at_ms, Some(1_700_000_000_250.0));
        assert!(read.series[3].value.is_nan() && read.series[4].value.is_infinite());
    }

    #[test]
    fn what_is_no_series_is_counted_and_the_first_is_named() {
        let text = "ok 1\n{\"json\": true}\n<html>\na{x=\"1} 2\na{x=1} 2\na 1 2 3\na one\n9a 1\na{x=\"1\" y=\"2\"} 1\na\n";
        let read = parse(text);
        assert_eq!((read.series.len(), read.unreadable), (1, 9), "{read:?}");
        assert_eq!(read.first_unreadable, Some((2, "{\"json\": true}".to_owned())));
    }

    #[test]
    fn modes_of_a_processor_are_added_up_and_idle_ones_are_not() {
        let text = "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 100\nnode_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 7\n\
                    node_cpu_seconds_total{cpu=\"0\",mode=\"softirq\"} 2\nnode_cpu_seconds_total{cpu=\"0\",mode=\"iowait\"} 50\n\
                    node_disk_io_time_seconds_total{device=\"sda\"} 3\nnode_network_speed_bytes{device=\"lo\"} -1\n";
        let reading = reading(&parse(text).series, 9);
        let found: Vec<_> =
            reading.samples.iter().map(|s| (s.quantity.id, s.unit.as_str(), s.value)).collect();
        assert_eq!(
            found,
            [
                ("cpu_busy_s", "cpu0", 9.0),
                ("cpu_interrupts_s", "cpu0", 2.0),
                ("cpu_io_wait_s", "cpu0", 50.0),
                ("disk_busy_s", "sda", 3.0),
            ]
        );
    }

    #[test]
    fn whatever_is_written_is_read_again() {
        let values = ["", "a", "\"", "\\", "\n", ",}", "a=\"b\"", "  ", "é # x"];
        for value in values {
            let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let read = parse(&format!("m{{a=\"{escaped}\",b=\"{escaped}\"}} 1"));
            assert_eq!(read.series.first().and_then(|one| one.label("b")), Some(value), "{read:?}");
        }
    }

    #[test]
    fn a_store_tells_its_servers_own_time_by_daemon_and_kind() {
        let text = "ceph_osd_op_r_latency_sum{ceph_daemon=\"osd.3\"} 7.5\nceph_osd_op_w_latency_sum{ceph_daemon=\"osd.3\"} 2\n\
                    ceph_osd_up{ceph_daemon=\"osd.3\"} 1\nceph_osd_up{ceph_daemon=\"osd.4\"} 1\nceph_osd_up{ceph_daemon=\"osd.5\"} 0\n\
                    ceph_num_objects_degraded 12\nceph_pg_scrubbing{pool_id=\"1\"} 1\nceph_pg_scrubbing{pool_id=\"2\"} 2\n\
                    minio_api_requests_inflight_total{server=\"a\"} 4\n";
        let reading = reading(&parse(text).series, 9);
        let found: Vec<_> =
            reading.samples.iter().map(|s| (s.quantity.id, s.unit.as_str(), s.value)).collect();
        assert_eq!(
            found,
            [
                ("server_queue", "in flight", 4.0),
                ("server_request_s", "osd.3 read", 7.5),
                ("server_request_s", "osd.3 write", 2.0),
                ("store_drives_online", "", 2.0),
                ("store_objects_degraded", "", 12.0),
                ("store_scrubbing", "", 3.0),
            ]
        );
    }

    /// As a server of 2026-02 prints them, with a drive gone.
    #[test]
    fn minio_tells_its_drives_its_scanner_and_its_requests() {
        let text = "minio_api_requests_total{name=\"GetObject\",server=\"h:9000\",type=\"s3\"} 12\n\
                    minio_cluster_health_drives_count 4\nminio_cluster_health_drives_online_count 3\n\
                    minio_cluster_health_drives_offline_count 1\n\
                    minio_cluster_erasure_set_healing_drives_count{pool_id=\"0\",set_id=\"0\"} 1\n\
                    minio_system_drive_availability_errors_total{drive=\"/d2\",drive_index=\"1\",pool_index=\"0\",\
                    server=\"h:9000\",set_index=\"0\"} 7\n\
                    minio_scanner_objects_scanned{server=\"h:9000\"} 800\n";
        let reading = reading(&parse(text).series, 9);
        let found: Vec<_> =
            reading.samples.iter().map(|s| (s.quantity.id, s.unit.as_str(), s.value)).collect();
        assert_eq!(
            found,
            [
                ("server_requests", "GetObject", 12.0),
                ("store_drive_errors", "/d2", 7.0),
                ("store_drives_healing", "0", 1.0),
                ("store_drives_offline", "", 1.0),
                ("store_drives_online", "", 3.0),
                ("store_objects_scanned", "h:9000", 800.0),
            ]
        );
    }

    #[test]
    fn all_names_are_ones_that_a_question_may_hold_as_they_stand() {
        assert!(
            names().iter().all(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
        );
    }
}
