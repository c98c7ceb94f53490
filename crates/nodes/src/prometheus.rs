//! The text that Prometheus exporters answer with, and which of their names are which of our quantities. Sources: Prometheus,
//! Exposition formats (text 0.0.4); OpenMetrics 1.0 (exemplars, `# EOF`, time stamps in seconds).

pub mod filesystems;
mod older;
mod systems;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use crate::frame::{READ_AGAIN, device_of};
use crate::quantity::{self as q, Quantity};
use crate::reading::Reading;

/// One series at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name of the metric.
    pub name: String,
    /// Labels in the order given; the samples of a series share them.
    pub labels: Arc<[(String, String)]>,
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
                let shown = line.chars().filter(|sign| !sign.is_control()).take(SHOWN);
                read.first_unreadable.get_or_insert_with(|| (number, shown.collect()));
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
    let rest = line[end..].trim_start();
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inner) => labels(inner)?,
        None => (Vec::new(), rest),
    };
    // Behind ` # ` stands an exemplar.
    let rest = rest.split_once(" # ").map_or(rest, |(rest, _)| rest);
    let mut words = rest.split_ascii_whitespace();
    let value = value(words.next()?)?;
    let at_ms = match words.next() {
        Some(stamp) => Some(millis(stamp)?),
        None => None,
    };
    words.next().is_none().then(|| Series { name: name.to_owned(), labels: labels.into(), value, at_ms })
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
    /// The label that names the unit, or one of the ways below; empty for what a machine has once.
    unit: &'static str,
    /// What is said behind it: which kind of request; empty where there is one kind.
    kind: &'static str,
    /// Only series with one of these values of this label; all where there is none.
    only: Option<(&'static str, &'static [&'static str])>,
    quantity: &'static Quantity,
    /// What its numbers are multiplied by.
    factor: f64,
    /// The name of the numbers, of the same unit, that they are divided by.
    per: Option<&'static str>,
    /// Of several series of one unit the greatest counts, and not their sum.
    most: bool,
    /// What is not below this stands for "more than can be said".
    below: f64,
    /// Left out where there are numbers of this name: they say the same.
    unless: Option<&'static str>,
}

/// What a processor does that is not idle and waits for no disk: on Linux, the BSDs (`interrupt`, `spin`) and Solaris
/// (`kernel`).
const BUSY: &[&str] = &["user", "nice", "system", "irq", "softirq", "interrupt", "spin", "kernel"];
/// Of that, interrupts and what follows from these.
const INTERRUPTS: &[&str] = &["irq", "softirq", "interrupt"];

/// Units that have no label of their own.
const CONTAINER: &str = "a container";
const CONTAINER_DEVICE: &str = "a container and a device";
const POD_LINK: &str = "a pod and its interface";
const PORT: &str = "a port of a switch";
const FIRST_BYTE: &str = "a kind of request and a time";
const DRIVE_CALL: &str = "a drive and a call";
const SERVER_DRIVE: &str = "a server and a drive";
const SERVER_DRIVE_CALL: &str = "a server, a drive and a call";

const fn of(name: &'static str, unit: &'static str, quantity: &'static Quantity) -> Known {
    let (kind, only, per, unless) = ("", None, None, None);
    Known { name, unit, kind, only, quantity, factor: 1.0, per, most: false, below: f64::INFINITY, unless }
}

const fn kind(
    name: &'static str,
    unit: &'static str,
    kind: &'static str,
    quantity: &'static Quantity,
) -> Known {
    Known { kind, ..of(name, unit, quantity) }
}

const fn mode(modes: &'static [&'static str], quantity: &'static Quantity) -> Known {
    Known { only: Some(("mode", modes)), ..of("node_cpu_seconds_total", "cpu", quantity) }
}

impl Known {
    const fn times(self, factor: f64) -> Self {
        Self { factor, ..self }
    }

    const fn per(self, name: &'static str) -> Self {
        Self { per: Some(name), ..self }
    }

    const fn most(self) -> Self {
        Self { most: true, ..self }
    }

    const fn only(self, label: &'static str, values: &'static [&'static str]) -> Self {
        Self { only: Some((label, values)), ..self }
    }

    const fn below(self, below: f64) -> Self {
        Self { below, ..self }
    }

    const fn unless(self, name: &'static str) -> Self {
        Self { unless: Some(name), ..self }
    }
}

/// The names of Prometheus' `node_exporter` since 0.16 (its collectors cpu, schedstat, pressure, diskstats, netdev,
/// netclass, meminfo, vmstat, netstat, stat, rapl), of Ceph's manager (module prometheus) and its exporter, of `MinIO`'s
/// metrics v3, of cAdvisor (a kubelet's `/metrics/cadvisor`) and kube-state-metrics, and of `snmp_exporter` (module
/// `if_mib`; RFC 2863). Several series of one unit are added up.
static KNOWN: &[Known] = &[
    mode(BUSY, &q::CPU_BUSY),
    mode(INTERRUPTS, &q::CPU_INTERRUPTS),
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
    kind("ceph_rgw_op_get_obj_lat_count", "instance_id", "get", &q::SERVER_REQUESTS),
    kind("ceph_rgw_op_get_obj_lat_sum", "instance_id", "get", &q::SERVER_REQUEST_TIME),
    kind("ceph_rgw_op_put_obj_lat_count", "instance_id", "put", &q::SERVER_REQUESTS),
    kind("ceph_rgw_op_put_obj_lat_sum", "instance_id", "put", &q::SERVER_REQUEST_TIME),
    kind("ceph_rgw_op_global_get_obj_lat_count", "instance_id", "get", &q::SERVER_REQUESTS),
    kind("ceph_rgw_op_global_get_obj_lat_sum", "instance_id", "get", &q::SERVER_REQUEST_TIME),
    kind("ceph_rgw_op_global_put_obj_lat_count", "instance_id", "put", &q::SERVER_REQUESTS),
    kind("ceph_rgw_op_global_put_obj_lat_sum", "instance_id", "put", &q::SERVER_REQUEST_TIME),
    of("ceph_rgw_qlen", "ceph_daemon", &q::SERVER_QUEUE),
    of("ceph_osd_recovery_ops", "ceph_daemon", &q::STORE_RECOVERIES),
    of("ceph_osd_recovery_bytes", "ceph_daemon", &q::STORE_RECOVERED_BYTES),
    of("ceph_osd_up", "", &q::STORE_DRIVES_ONLINE),
    of("ceph_cluster_total_bytes", "", &q::STORE_CAPACITY).most(),
    of("ceph_cluster_total_used_bytes", "", &q::STORE_USED).most(),
    // What was set apart and holds nothing is among it, as it is in what makes Ceph full.
    of("ceph_cluster_total_used_raw_bytes", "", &q::STORE_USED).most(),
    of("ceph_osd_stat_bytes", "ceph_daemon", &q::STORE_CAPACITY).most(),
    of("ceph_osd_stat_bytes_used", "ceph_daemon", &q::STORE_USED).most(),
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
    of("minio_cluster_health_capacity_raw_total_bytes", "", &q::STORE_CAPACITY).most(),
    of("minio_cluster_health_capacity_raw_free_bytes", "", &q::STORE_FREE).most(),
    of("minio_system_drive_total_bytes", "drive", &q::STORE_CAPACITY).most(),
    of("minio_system_drive_used_bytes", "drive", &q::STORE_USED).most(),
    of("minio_cluster_erasure_set_healing_drives_count", "set_id", &q::STORE_DRIVES_HEALING),
    of("minio_scanner_objects_scanned", "server", &q::STORE_SCANNED),
    kind("minio_api_requests_4xx_errors_total", "name", "4xx", &q::SERVER_ERRORS),
    kind("minio_api_requests_5xx_errors_total", "name", "5xx", &q::SERVER_ERRORS),
    kind("minio_api_requests_canceled_total", "name", "canceled", &q::SERVER_ERRORS),
    kind("minio_api_requests_rejected_auth_total", "", "rejected: auth", &q::SERVER_ERRORS),
    kind("minio_api_requests_rejected_header_total", "", "rejected: header", &q::SERVER_ERRORS),
    kind("minio_api_requests_rejected_timestamp_total", "", "rejected: time stamp", &q::SERVER_ERRORS),
    kind("minio_api_requests_rejected_invalid_total", "", "rejected: invalid", &q::SERVER_ERRORS),
    of("minio_api_requests_ttfb_seconds_distribution", FIRST_BYTE, &q::SERVER_WITHIN),
    of("minio_api_requests_traffic_received_bytes", "", &q::SERVER_RECEIVED),
    of("minio_api_requests_traffic_sent_bytes", "", &q::SERVER_SENT),
    of("minio_system_drive_reads_await", "drive", &q::STORE_DRIVE_READ).times(1e-3).most(),
    of("minio_system_drive_writes_await", "drive", &q::STORE_DRIVE_WRITE).times(1e-3).most(),
    of("minio_system_drive_perc_util", "drive", &q::STORE_DRIVE_BUSY).times(1e-2).most(),
    of("minio_system_drive_api_latency_micros", DRIVE_CALL, &q::STORE_DRIVE_CALL).times(1e-6).most(),
    of("container_cpu_usage_seconds_total", CONTAINER, &q::QUOTA_USED),
    of("container_cpu_cfs_periods_total", CONTAINER, &q::QUOTA_PERIODS),
    of("container_cpu_cfs_throttled_periods_total", CONTAINER, &q::QUOTA_STOPPED_PERIODS),
    of("container_cpu_cfs_throttled_seconds_total", CONTAINER, &q::QUOTA_THROTTLED),
    of("container_spec_cpu_quota", CONTAINER, &q::QUOTA_PROCESSORS).per("container_spec_cpu_period").most(),
    of("kube_pod_container_resource_limits", CONTAINER, &q::QUOTA_PROCESSORS)
        .only("resource", &["cpu"])
        .most(),
    of("container_memory_working_set_bytes", CONTAINER, &q::CONTAINER_MEMORY),
    of("container_spec_memory_limit_bytes", CONTAINER, &q::CONTAINER_MEMORY_LIMIT).most().below(NO_LIMIT),
    of("kube_pod_container_resource_limits", CONTAINER, &q::CONTAINER_MEMORY_LIMIT)
        .only("resource", &["memory"])
        .most(),
    of("container_oom_events_total", CONTAINER, &q::CONTAINER_OOM_KILLS),
    of("container_network_receive_bytes_total", POD_LINK, &q::NETWORK_RECEIVED),
    of("container_network_transmit_bytes_total", POD_LINK, &q::NETWORK_SENT),
    of("container_network_receive_packets_total", POD_LINK, &q::NETWORK_PACKETS_RECEIVED),
    of("container_network_transmit_packets_total", POD_LINK, &q::NETWORK_PACKETS_SENT),
    of("container_network_receive_packets_dropped_total", POD_LINK, &q::NETWORK_RECEIVE_DROPS),
    of("container_network_transmit_packets_dropped_total", POD_LINK, &q::NETWORK_SEND_DROPS),
    of("container_network_receive_errors_total", POD_LINK, &q::NETWORK_ERRORS),
    of("container_network_transmit_errors_total", POD_LINK, &q::NETWORK_ERRORS),
    of("container_fs_reads_total", CONTAINER_DEVICE, &q::CONTAINER_READS),
    of("container_fs_writes_total", CONTAINER_DEVICE, &q::CONTAINER_WRITES),
    of("container_fs_reads_bytes_total", CONTAINER_DEVICE, &q::CONTAINER_READ_BYTES),
    of("container_fs_writes_bytes_total", CONTAINER_DEVICE, &q::CONTAINER_WRITTEN_BYTES),
    of("machine_memory_bytes", "", &q::MEMORY_TOTAL).most(),
    of("ifHCInOctets", PORT, &q::NETWORK_RECEIVED),
    of("ifHCOutOctets", PORT, &q::NETWORK_SENT),
    of("ifHighSpeed", PORT, &q::NETWORK_SPEED).times(1e6 / 8.0).most(),
    of("ifSpeed", PORT, &q::NETWORK_SPEED).times(1.0 / 8.0).most().below(MOST_IF_SPEED),
    of("ifHCInUcastPkts", PORT, &q::NETWORK_PACKETS_RECEIVED),
    of("ifHCInMulticastPkts", PORT, &q::NETWORK_PACKETS_RECEIVED),
    of("ifHCInBroadcastPkts", PORT, &q::NETWORK_PACKETS_RECEIVED),
    of("ifHCOutUcastPkts", PORT, &q::NETWORK_PACKETS_SENT),
    of("ifHCOutMulticastPkts", PORT, &q::NETWORK_PACKETS_SENT),
    of("ifHCOutBroadcastPkts", PORT, &q::NETWORK_PACKETS_SENT),
    of("ifInDiscards", PORT, &q::NETWORK_RECEIVE_DROPS),
    of("ifOutDiscards", PORT, &q::NETWORK_SEND_DROPS),
    of("ifInErrors", PORT, &q::NETWORK_ERRORS),
    of("ifOutErrors", PORT, &q::NETWORK_ERRORS),
];

/// A group without a limit has one of nearly 2^63 bytes in the first version of the hierarchy.
const NO_LIMIT: f64 = 9e18;
/// Links that are faster than 32 bits can say have this speed (RFC 2863).
const MOST_IF_SPEED: f64 = 4_294_967_295.0;

/// Whether an exporter says nothing of this name where its number is 0: `MinIO` does so in its metrics v3. How long a request
/// took is not 0 where there was none.
#[must_use]
pub fn leaves_zeros_out(name: &str) -> bool {
    let is_a_time = ["_await", "_micros"].iter().any(|end| name.ends_with(end));
    name.starts_with("minio_") && !is_a_time && !older::tells_zeros(name)
}

/// All names that are known, each once.
#[must_use]
pub fn names() -> BTreeSet<&'static str> {
    let all = KNOWN.iter().chain(older::OLDER).chain(systems::SYSTEMS);
    all.flat_map(|known| std::iter::once(known.name).chain(known.per)).collect()
}

/// The rows of each name: of hundreds of thousands of series few are known.
static ROWS: LazyLock<BTreeMap<&'static str, Vec<&'static Known>>> = LazyLock::new(|| {
    let mut rows: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let all = KNOWN.iter().chain(older::OLDER).chain(systems::SYSTEMS);
    all.for_each(|known| rows.entry(known.name).or_default().push(known));
    rows
});

/// A longer name of a unit is none.
const LONGEST_UNIT: usize = 200;

/// What of an exposition is in the table of quantities. A series that stands there twice counts once.
#[must_use]
pub fn reading(series: &[Series], at_ns: u64) -> Reading {
    let known = |one: &&Series| one.value.is_finite() && one.value >= 0.0;
    let mut sums: BTreeMap<(&'static str, String), (&'static Known, f64, Option<u64>)> = BTreeMap::new();
    let (divisors, mut seen) = (divisors(series), BTreeSet::new());
    let disks = disks(series);
    let is_there = |name: &&str| series.iter().any(|one| one.name == **name);
    let todays: Vec<&str> = older::TODAYS.into_iter().filter(is_there).collect();
    for one in series.iter().filter(known) {
        let Some(rows) = ROWS.get(one.name.as_str()) else { continue };
        let mut labels: Vec<&(String, String)> = one.labels.iter().collect();
        labels.sort();
        if !seen.insert((one.name.as_str(), labels)) {
            continue;
        }
        for known in rows.iter().copied() {
            let fits = |(label, values): &(&str, &[&str])| {
                one.label(label).is_some_and(|value| values.contains(&value))
            };
            if known.only.as_ref().is_some_and(|only| !fits(only)) || one.value >= known.below {
                continue;
            }
            if known.unless.is_some_and(|name| todays.contains(&name)) {
                continue;
            }
            let Some(unit) = unit_of(known, one) else { continue };
            if known.name.starts_with(OF_DISKS) && device_of(&unit).is_some_and(|disk| disks.contains(disk)) {
                continue;
            }
            let divisor = match known.per {
                None => 1.0,
                Some(name) => match divisors.get(&(name, unit.clone())) {
                    Some(divisor) if *divisor > 0.0 => *divisor,
                    _ => continue,
                },
            };
            let value = one.value * known.factor / divisor;
            let sum = sums.entry((known.quantity.id, unit)).or_insert((known, 0.0, None));
            sum.1 = if known.most { sum.1.max(value) } else { sum.1 + value };
            // Of several times the newest one counts.
            sum.2 = sum.2.max(time_ns(one));
        }
    }
    let mut reading = Reading { at_ns, samples: Vec::new() };
    for ((_, unit), (known, value, at_ns)) in sums {
        reading.add_at(known.quantity, &unit, known.name, value, at_ns);
    }
    reading
}

/// When a series was true, by its own word. Milliseconds beyond the latest are in the year 2255.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "within the range that is asked for"
)]
fn time_ns(one: &Series) -> Option<u64> {
    const LATEST_MS: f64 = 9e12;
    let at_ms = one.at_ms.filter(|at_ms| (0.0..=LATEST_MS).contains(at_ms))?;
    Some(at_ms.round() as u64 * 1_000_000)
}

/// How the names begin of what disks and, where somebody wants them, their partitions do: a disk has what its
/// partitions do.
const OF_DISKS: &str = "node_disk_";

/// The disks and partitions that there are.
fn disks(series: &[Series]) -> BTreeSet<&str> {
    series.iter().filter(|one| one.name.starts_with(OF_DISKS)).filter_map(|one| one.label("device")).collect()
}

/// What other numbers are divided by, by its name and unit.
fn divisors(series: &[Series]) -> BTreeMap<(&'static str, String), f64> {
    let mut found = BTreeMap::new();
    for known in KNOWN.iter().filter(|known| known.per.is_some()) {
        for one in series.iter().filter(|one| known.per == Some(one.name.as_str())) {
            if let (Some(name), Some(unit)) = (known.per, unit_of(known, one)) {
                found.insert((name, unit), one.value);
            }
        }
    }
    found
}

/// What a series is of; `None` where that has no name that can be shown, or is a part of something else.
fn unit_of(known: &Known, one: &Series) -> Option<String> {
    let label = |name: &str| one.label(name).filter(|value| !value.is_empty());
    // The same package has the same number there.
    if known.quantity.id == q::ENERGY.id && label("path").is_some_and(|path| path.contains(READ_AGAIN)) {
        return None;
    }
    let unit = match known.unit {
        "" => String::new(),
        "cpu" => format!("cpu{}", one.label("cpu").unwrap_or("?").trim_start_matches("cpu")),
        CONTAINER => container(one)?,
        CONTAINER_DEVICE => {
            format!("{} {}", container(one)?, label("device")?.trim_start_matches("/dev/"))
        }
        POD_LINK => {
            format!("{} {}", pod(one).or_else(|| label("name").map(str::to_owned))?, label("interface")?)
        }
        PORT => ["ifName", "ifDescr", "ifIndex"].into_iter().find_map(label)?.to_owned(),
        FIRST_BYTE => format!("{} {} s", label("name").or_else(|| label("api"))?, label("le")?),
        DRIVE_CALL => format!("{} {}", label("drive")?, label("api")?.trim_start_matches("storage.")),
        SERVER_DRIVE => drive_of_server(one)?,
        SERVER_DRIVE_CALL => {
            format!("{} {}", drive_of_server(one)?, label("api")?.trim_start_matches("storage."))
        }
        // Gateways have been called by the number of their instance since 16.2.11.
        name => one.label(name).or_else(|| one.label("instance_id")).unwrap_or("?").to_owned(),
    };
    let unit = match (unit.as_str(), known.kind) {
        (_, "") => unit,
        ("", kind) => kind.to_owned(),
        (of, kind) => format!("{of} {kind}"),
    };
    (unit.len() <= LONGEST_UNIT && !unit.contains(char::is_control)).then_some(unit)
}

/// `server:9000 /data1`: servers of a cluster have their drives at the same places.
fn drive_of_server(one: &Series) -> Option<String> {
    let label = |name: &str| one.label(name).filter(|value| !value.is_empty());
    let drive = label("drive").or_else(|| label("disk"))?;
    Some(label("server").map_or_else(|| drive.to_owned(), |server| format!("{server} {drive}")))
}

/// `namespace/pod`.
fn pod(one: &Series) -> Option<String> {
    let pod = one.label("pod").or_else(|| one.label("pod_name")).filter(|pod| !pod.is_empty())?;
    Some(match one.label("namespace").filter(|namespace| !namespace.is_empty()) {
        Some(namespace) => format!("{namespace}/{pod}"),
        None => pod.to_owned(),
    })
}

/// `namespace/pod/container` of Kubernetes, the name of another container, or the group of what is none. The sum of a pod, which
/// has a container without a name, and what only holds its network (`POD`), are left out, and so is the whole machine.
fn container(one: &Series) -> Option<String> {
    let named = one.label("container").or_else(|| one.label("container_name"));
    match (named, pod(one)) {
        (Some("" | "POD"), _) | (None, Some(_)) => None,
        (Some(name), Some(pod)) => Some(format!("{pod}/{name}")),
        (Some(name), None) => Some(name.to_owned()),
        (None, None) => {
            let name = one.label("name").filter(|name| !name.is_empty());
            // Those of Kubernetes above its containers are sums; a server of Prometheus has no labels that are empty.
            let group =
                one.label("id").map(|id| id.trim_matches('/')).filter(|id| !id.starts_with("kubepods"));
            name.or(group).filter(|name| !name.is_empty()).map(str::to_owned)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests;
