//! Names that exporters had before: those of `node_exporter` up to 0.15, and `MinIO`'s metrics v2, which its servers
//! tell beside v3. Sources: `node_exporter`, `docs/example-16-compatibility-rules.yml`; `MinIO`,
//! `docs/metrics/prometheus/list.md`.

use super::{BUSY, FIRST_BYTE, INTERRUPTS, Known, SERVER_DRIVE, SERVER_DRIVE_CALL, kind, of};
use crate::quantity::{self as q, Quantity};

const TODAYS_CPU: &str = "node_cpu_seconds_total";
const TODAYS_REQUESTS: &str = "minio_api_requests_total";

/// Where one of these is there, the older names beside it say the same once more.
pub(super) const TODAYS: [&str; 2] = [TODAYS_CPU, TODAYS_REQUESTS];

const fn node(name: &'static str, unit: &'static str, quantity: &'static Quantity) -> Known {
    of(name, unit, quantity).unless(TODAYS_CPU)
}

const fn mode(modes: &'static [&'static str], quantity: &'static Quantity) -> Known {
    node("node_cpu", "cpu", quantity).only("mode", modes)
}

const fn minio(name: &'static str, unit: &'static str, quantity: &'static Quantity) -> Known {
    of(name, unit, quantity).unless(TODAYS_REQUESTS)
}

const fn requests(
    name: &'static str,
    unit: &'static str,
    which: &'static str,
    quantity: &'static Quantity,
) -> Known {
    kind(name, unit, which, quantity).unless(TODAYS_REQUESTS)
}

/// The older names.
pub(super) static OLDER: &[Known] = &[
    mode(BUSY, &q::CPU_BUSY),
    mode(INTERRUPTS, &q::CPU_INTERRUPTS),
    mode(&["iowait"], &q::CPU_IO_WAIT),
    mode(&["steal"], &q::CPU_STEAL),
    node("node_disk_io_time_ms", "device", &q::DISK_BUSY).times(1e-3),
    node("node_disk_io_time_weighted", "device", &q::DISK_QUEUE).times(1e-3),
    node("node_disk_reads_completed", "device", &q::DISK_READS),
    node("node_disk_writes_completed", "device", &q::DISK_WRITES),
    node("node_disk_bytes_read", "device", &q::DISK_READ_BYTES),
    node("node_disk_bytes_written", "device", &q::DISK_WRITTEN_BYTES),
    node("node_disk_read_time_ms", "device", &q::DISK_READ_TIME).times(1e-3),
    node("node_disk_write_time_ms", "device", &q::DISK_WRITE_TIME).times(1e-3),
    node("node_network_receive_bytes", "device", &q::NETWORK_RECEIVED),
    node("node_network_transmit_bytes", "device", &q::NETWORK_SENT),
    node("node_network_receive_packets", "device", &q::NETWORK_PACKETS_RECEIVED),
    node("node_network_transmit_packets", "device", &q::NETWORK_PACKETS_SENT),
    node("node_network_receive_drop", "device", &q::NETWORK_RECEIVE_DROPS),
    node("node_network_transmit_drop", "device", &q::NETWORK_SEND_DROPS),
    node("node_network_receive_errs", "device", &q::NETWORK_ERRORS),
    node("node_network_transmit_errs", "device", &q::NETWORK_ERRORS),
    node("node_memory_MemTotal", "", &q::MEMORY_TOTAL),
    node("node_memory_MemAvailable", "", &q::MEMORY_AVAILABLE),
    node("node_memory_Cached", "", &q::MEMORY_CACHE),
    node("node_memory_Dirty", "", &q::MEMORY_DIRTY),
    node("node_boot_time", "", &q::BOOT_TIME),
    minio("minio_s3_requests_total", "api", &q::SERVER_REQUESTS),
    requests("minio_s3_requests_inflight_total", "", "in flight", &q::SERVER_QUEUE),
    requests("minio_s3_requests_waiting_total", "", "waiting", &q::SERVER_QUEUE),
    requests("minio_s3_requests_4xx_errors_total", "api", "4xx", &q::SERVER_ERRORS),
    requests("minio_s3_requests_5xx_errors_total", "api", "5xx", &q::SERVER_ERRORS),
    requests("minio_s3_requests_canceled_total", "api", "canceled", &q::SERVER_ERRORS),
    requests("minio_s3_requests_rejected_auth_total", "", "rejected: auth", &q::SERVER_ERRORS),
    requests("minio_s3_requests_rejected_header_total", "", "rejected: header", &q::SERVER_ERRORS),
    requests("minio_s3_requests_rejected_timestamp_total", "", "rejected: time stamp", &q::SERVER_ERRORS),
    requests("minio_s3_requests_rejected_invalid_total", "", "rejected: invalid", &q::SERVER_ERRORS),
    minio("minio_s3_requests_ttfb_seconds_distribution", FIRST_BYTE, &q::SERVER_WITHIN),
    minio("minio_s3_traffic_received_bytes", "", &q::SERVER_RECEIVED),
    minio("minio_s3_traffic_sent_bytes", "", &q::SERVER_SENT),
    // Who tells how many are online tells what is healed, too: servers before 2024 do not, and have other names for
    // both.
    minio("minio_cluster_health_erasure_set_online_drives", "", &q::STORE_DRIVES_ONLINE),
    minio("minio_cluster_drive_offline_total", "", &q::STORE_DRIVES_OFFLINE).most(),
    minio("minio_cluster_disk_offline_total", "", &q::STORE_DRIVES_OFFLINE).most(),
    minio("minio_cluster_capacity_raw_total_bytes", "", &q::STORE_CAPACITY).most(),
    minio("minio_cluster_capacity_raw_free_bytes", "", &q::STORE_FREE).most(),
    minio("minio_cluster_health_erasure_set_healing_drives", "set", &q::STORE_DRIVES_HEALING),
    minio("minio_node_drive_total_bytes", SERVER_DRIVE, &q::STORE_CAPACITY).most(),
    minio("minio_node_drive_used_bytes", SERVER_DRIVE, &q::STORE_USED).most(),
    minio("minio_node_disk_total_bytes", SERVER_DRIVE, &q::STORE_CAPACITY).most(),
    minio("minio_node_disk_used_bytes", SERVER_DRIVE, &q::STORE_USED).most(),
    minio("minio_node_drive_errors_availability", SERVER_DRIVE, &q::STORE_DRIVE_ERRORS),
    requests("minio_node_drive_io_waiting", SERVER_DRIVE, "waiting", &q::SERVER_QUEUE),
    minio("minio_node_drive_latency_us", SERVER_DRIVE_CALL, &q::STORE_DRIVE_CALL).times(1e-6).most(),
    minio("minio_node_disk_latency_us", SERVER_DRIVE_CALL, &q::STORE_DRIVE_CALL).times(1e-6).most(),
    minio("minio_node_scanner_objects_scanned", "server", &q::STORE_SCANNED),
];

/// Whether `MinIO` tells a number of this name also where it is 0, as its metrics v2 do of all that is no kind of
/// request.
pub(super) fn tells_zeros(name: &str) -> bool {
    const BEGINS: [&str; 5] = [
        "minio_node_",
        "minio_cluster_capacity_",
        "minio_cluster_drive_",
        "minio_cluster_disk_",
        "minio_cluster_health_erasure_set_",
    ];
    BEGINS.iter().any(|begins| name.starts_with(begins))
}
