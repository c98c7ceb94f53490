//! The text that Prometheus exporters answer with, and which of their names are which of our quantities. Sources: Prometheus,
//! Exposition formats (text 0.0.4); OpenMetrics 1.0 (exemplars, `# EOF`, time stamps in seconds).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

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
}

/// Units that have no label of their own.
const CONTAINER: &str = "a container";
const CONTAINER_DEVICE: &str = "a container and a device";
const POD_LINK: &str = "a pod and its interface";
const PORT: &str = "a port of a switch";
const FIRST_BYTE: &str = "a kind of request and a time";
const DRIVE_CALL: &str = "a drive and a call";

const fn of(name: &'static str, unit: &'static str, quantity: &'static Quantity) -> Known {
    let (kind, only, per) = ("", None, None);
    Known { name, unit, kind, only, quantity, factor: 1.0, per, most: false, below: f64::INFINITY }
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
}

/// The names of Prometheus' `node_exporter` 1.x (its collectors cpu, schedstat, pressure, diskstats, netdev, netclass, meminfo,
/// vmstat, netstat, stat, rapl), of Ceph's manager (module prometheus) and its exporter, of `MinIO`'s metrics v3, of cAdvisor
/// (a kubelet's `/metrics/cadvisor`) and kube-state-metrics, and of `snmp_exporter` (module `if_mib`; RFC 2863). Several series
/// of one unit are added up.
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
    name.starts_with("minio_") && !name.ends_with("_await") && !name.ends_with("_micros")
}

/// All names that are known, each once.
#[must_use]
pub fn names() -> BTreeSet<&'static str> {
    KNOWN.iter().flat_map(|known| std::iter::once(known.name).chain(known.per)).collect()
}

/// The rows of each name: of hundreds of thousands of series few are known.
static ROWS: LazyLock<BTreeMap<&'static str, Vec<&'static Known>>> = LazyLock::new(|| {
    let mut rows: BTreeMap<_, Vec<_>> = BTreeMap::new();
    KNOWN.iter().for_each(|known| rows.entry(known.name).or_default().push(known));
    rows
});

/// A longer name of a unit is none.
const LONGEST_UNIT: usize = 200;

/// What of an exposition is in the table of quantities. A series that stands there twice counts once.
#[must_use]
pub fn reading(series: &[Series], at_ns: u64) -> Reading {
    let known = |one: &&Series| one.value.is_finite() && one.value >= 0.0;
    let mut sums: BTreeMap<(&'static str, String), (&'static Known, f64)> = BTreeMap::new();
    let (divisors, mut seen) = (divisors(series), BTreeSet::new());
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
            let Some(unit) = unit_of(known, one) else { continue };
            let divisor = match known.per {
                None => 1.0,
                Some(name) => match divisors.get(&(name, unit.clone())) {
                    Some(divisor) if *divisor > 0.0 => *divisor,
                    _ => continue,
                },
            };
            let value = one.value * known.factor / divisor;
            let sum = sums.entry((known.quantity.id, unit)).or_insert((known, 0.0));
            sum.1 = if known.most { sum.1.max(value) } else { sum.1 + value };
        }
    }
    let mut reading = Reading { at_ns, samples: Vec::new() };
    for ((_, unit), (known, value)) in sums {
        reading.add_named(known.quantity, &unit, known.name, value);
    }
    reading
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
    let unit = match known.unit {
        "" => String::new(),
        "cpu" => format!("cpu{}", one.label("cpu").unwrap_or("?")),
        CONTAINER => container(one)?,
        CONTAINER_DEVICE => {
            format!("{} {}", container(one)?, label("device")?.trim_start_matches("/dev/"))
        }
        POD_LINK => {
            format!("{} {}", pod(one).or_else(|| label("name").map(str::to_owned))?, label("interface")?)
        }
        PORT => ["ifName", "ifDescr", "ifIndex"].into_iter().find_map(label)?.to_owned(),
        FIRST_BYTE => format!("{} {} s", label("name")?, label("le")?),
        DRIVE_CALL => format!("{} {}", label("drive")?, label("api")?.trim_start_matches("storage.")),
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

    fn found(text: &str) -> Vec<(&'static str, String, f64)> {
        let samples = reading(&parse(text).series, 9).samples;
        samples.into_iter().map(|one| (one.quantity.id, one.unit, one.value)).collect()
    }

    fn expect(text: &str, expected: &[(&str, &str, f64)]) {
        let found = found(text);
        let found: Vec<_> = found.iter().map(|(id, unit, value)| (*id, unit.as_str(), *value)).collect();
        assert_eq!(found, expected, "{text}");
    }

    /// By the sources of its metrics v3 (`cmd/metrics-v3-*.go`).
    #[test]
    fn minio_tells_what_failed_how_soon_it_answered_and_how_long_its_drives_took() {
        let drive = "drive=\"/d2\",drive_index=\"1\",pool_index=\"0\",server=\"h:9000\",set_index=\"0\"";
        expect(
            &format!(
                "minio_api_requests_4xx_errors_total{{name=\"GetObject\",server=\"h:9000\",type=\"s3\"}} 3\n\
                 minio_api_requests_5xx_errors_total{{name=\"GetObject\",server=\"h:9000\",type=\"s3\"}} 2\n\
                 minio_api_requests_errors_total{{name=\"GetObject\",server=\"h:9000\",type=\"s3\"}} 5\n\
                 minio_api_requests_rejected_auth_total{{server=\"h:9000\",type=\"s3\"}} 1\n\
                 minio_api_requests_ttfb_seconds_distribution{{le=\"0.05\",name=\"GetObject\",server=\"h:9000\",type=\"s3\"}} 90\n\
                 minio_api_requests_ttfb_seconds_distribution{{le=\"+Inf\",name=\"GetObject\",server=\"h:9000\",type=\"s3\"}} 99\n\
                 minio_api_requests_traffic_sent_bytes{{server=\"h:9000\",type=\"s3\"}} 4096\n\
                 minio_system_drive_reads_await{{{drive}}} 2.5\nminio_system_drive_perc_util{{{drive}}} 25\n\
                 minio_system_drive_api_latency_micros{{api=\"storage.ReadVersion\",{drive}}} 1500\n"
            ),
            &[
                ("server_errors", "GetObject 4xx", 3.0),
                ("server_errors", "GetObject 5xx", 2.0),
                ("server_errors", "rejected: auth", 1.0),
                ("server_first_bytes_within", "GetObject +Inf s", 99.0),
                ("server_first_bytes_within", "GetObject 0.05 s", 90.0),
                ("server_sent_bytes", "", 4096.0),
                ("store_drive_busy", "/d2", 0.25),
                ("store_drive_call_s", "/d2 ReadVersion", 0.0015),
                ("store_drive_read_s", "/d2", 0.0025),
            ],
        );
    }

    #[test]
    fn a_time_is_not_0_where_nothing_took_any() {
        let left_out = |name: &str| (KNOWN.iter().any(|known| known.name == name), leaves_zeros_out(name));
        assert_eq!(left_out("minio_api_requests_5xx_errors_total"), (true, true));
        assert_eq!(left_out("minio_system_drive_reads_await"), (true, false));
        assert_eq!(left_out("minio_system_drive_api_latency_micros"), (true, false));
        assert_eq!(left_out("container_oom_events_total"), (true, false));
    }

    #[test]
    fn a_container_has_its_quota_and_sums_of_pods_and_machines_are_left_out() {
        let of = |container: &str, id: &str| {
            format!(
                "container=\"{container}\",id=\"/kubepods/{id}\",image=\"ceph\",name=\"x\",namespace=\"rook\",pod=\"osd-0\""
            )
        };
        let (osd, sum, pause) = (of("osd", "a/b"), of("", "a"), of("POD", "a/c"));
        expect(
            &format!(
                "container_cpu_usage_seconds_total{{{osd},cpu=\"total\"}} 12.5 1700000000123\n\
                 container_cpu_usage_seconds_total{{{sum},cpu=\"total\"}} 13\n\
                 container_cpu_usage_seconds_total{{{pause},cpu=\"total\"}} 0.5\n\
                 container_cpu_usage_seconds_total{{container=\"\",id=\"/\",cpu=\"total\"}} 500\n\
                 container_cpu_cfs_periods_total{{{osd}}} 100\ncontainer_cpu_cfs_throttled_periods_total{{{osd}}} 90\n\
                 container_cpu_cfs_throttled_seconds_total{{{osd}}} 4\ncontainer_spec_cpu_quota{{{osd}}} 50000\n\
                 container_spec_cpu_period{{{osd}}} 100000\ncontainer_spec_memory_limit_bytes{{{osd}}} 4096\n\
                 container_spec_memory_limit_bytes{{{pause}}} 9.223372036854771712e+18\n\
                 container_memory_working_set_bytes{{{osd}}} 2048\ncontainer_network_receive_bytes_total{{{pause},interface=\"eth0\"}} 7\n\
                 container_fs_reads_bytes_total{{{osd},device=\"/dev/sdb\"}} 8\n\
                 kube_pod_container_resource_limits{{namespace=\"rook\",pod=\"osd-0\",container=\"osd\",resource=\"cpu\",unit=\"core\"}} 0.5\n"
            ),
            &[
                ("container_memory_bytes", "rook/osd-0/osd", 2048.0),
                ("container_memory_limit_bytes", "rook/osd-0/osd", 4096.0),
                ("container_read_bytes", "rook/osd-0/osd sdb", 8.0),
                ("network_received_bytes", "rook/osd-0 eth0", 7.0),
                ("quota_periods", "rook/osd-0/osd", 100.0),
                ("quota_processors", "rook/osd-0/osd", 0.5),
                ("quota_stopped_periods", "rook/osd-0/osd", 90.0),
                ("quota_throttled_s", "rook/osd-0/osd", 4.0),
                ("quota_used_s", "rook/osd-0/osd", 12.5),
            ],
        );
        // As cAdvisor says it without Kubernetes; a container without a quota has a period all the same.
        expect(
            "container_cpu_usage_seconds_total{cpu=\"cpu00\",id=\"/docker/1f\",image=\"minio\",name=\"minio1\"} 1\n\
             container_cpu_usage_seconds_total{cpu=\"cpu01\",id=\"/docker/1f\",image=\"minio\",name=\"minio1\"} 2\n\
             container_cpu_usage_seconds_total{cpu=\"cpu00\",id=\"/\"} 9\n\
             container_cpu_usage_seconds_total{cpu=\"cpu00\",id=\"/system.slice/ceph.service\"} 4\n\
             container_cpu_usage_seconds_total{cpu=\"total\",id=\"/kubepods.slice/kubepods-burstable.slice\"} 70\n\
             container_spec_cpu_period{id=\"/docker/1f\",name=\"minio1\"} 100000\n\
             container_spec_cpu_quota{id=\"/docker/2f\",name=\"minio2\"} 100000\n\
             container_spec_cpu_quota{id=\"/docker/3f\",name=\"minio3\"} 100000\n\
             container_spec_cpu_period{id=\"/docker/3f\",name=\"minio3\"} 0\n",
            &[("quota_used_s", "minio1", 3.0), ("quota_used_s", "system.slice/ceph.service", 4.0)],
        );
    }

    #[test]
    fn a_port_of_a_switch_has_its_name_its_speed_and_its_counters() {
        let port = "ifAlias=\"to storage1\",ifDescr=\"Ethernet1/7\",ifIndex=\"7\",ifName=\"Eth1/7\"";
        expect(
            &format!(
                "ifHCInOctets{{{port}}} 1000\nifHCOutOctets{{{port}}} 2000\nifHighSpeed{{{port}}} 10000\n\
                 ifSpeed{{{port}}} 4.294967295e+09\nifInDiscards{{{port}}} 3\nifOutErrors{{{port}}} 4\nifInErrors{{{port}}} 1\n\
                 ifSpeed{{ifDescr=\"vlan9\",ifIndex=\"9\",ifName=\"\"}} 8000\nifHighSpeed{{ifDescr=\"vlan9\",ifIndex=\"9\",ifName=\"\"}} 0\n\
                 ifHCOutUcastPkts{{ifIndex=\"12\"}} 5\nifHCOutBroadcastPkts{{ifIndex=\"12\"}} 6\nsysUpTime 77\n"
            ),
            &[
                ("network_errors", "Eth1/7", 5.0),
                ("network_receive_drops", "Eth1/7", 3.0),
                ("network_received_bytes", "Eth1/7", 1000.0),
                ("network_sent_bytes", "Eth1/7", 2000.0),
                ("network_sent_packets", "12", 11.0),
                ("network_speed_bytes_per_s", "Eth1/7", 1.25e9),
                ("network_speed_bytes_per_s", "vlan9", 1000.0),
            ],
        );
    }

    #[test]
    fn what_is_hostile_adds_nothing_to_what_is_there() {
        let long = "x".repeat(1 << 20);
        let mut text = format!(
            "ifHCInOctets{{ifName=\"e\",ifIndex=\"1\"}} 5\nifHCInOctets{{ifIndex=\"1\",ifName=\"e\"}} 5\n\
             ifHCInOctets{{ifName=\"n\"}} NaN\nifHCInOctets{{ifName=\"i\"}} +Inf\nifHCInOctets{{ifName=\"m\"}} -7\n\
             ifInErrors{{ifName=\"e\"}} 3\nifOutErrors{{ifName=\"e\"}} -3\nifHCInOctets{{ifName=\"{long}\"}} 5\n\
             ifHCInOctets{{ifName=\"a\\nb\"}} 5\nifHCInOctets{{ifName=\"\u{1b}[31m\"}} 5\nifHCInOctets 5\n"
        );
        expect(&text, &[("network_errors", "e", 3.0), ("network_received_bytes", "e", 5.0)]);
        (0..100_000).for_each(|at| text.push_str(&format!("made_up_{at}{{a=\"{at}\"}} 1\n")));
        (0..30_000).for_each(|at| text.push_str(&format!("ifHCOutOctets{{ifName=\"p{at}\"}} 1\n")));
        let many = found(&text);
        assert!(many.len() <= 20_000 && many.len() > 1_000, "{}", many.len());
    }

    #[test]
    fn all_names_are_ones_that_a_question_may_hold_as_they_stand() {
        assert!(
            names().iter().all(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
        );
    }
}
