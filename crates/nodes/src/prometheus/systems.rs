//! Names of `node_exporter` on other systems than Linux: its collectors devstat (FreeBSD) and meminfo of the BSDs and
//! macOS. Its other collectors have the names that they have on Linux, and processors a few modes more
//! ([`super::BUSY`]). Source: `node_exporter`, `collector/devstat_freebsd.go`, `collector/memory_bsd.go`,
//! `collector/meminfo_darwin.go`.

use super::{Known, of};
use crate::quantity::{self as q, Quantity};

const fn disk(name: &'static str, kind: &'static [&'static str], quantity: &'static Quantity) -> Known {
    of(name, "device", quantity).only("type", kind)
}

/// These names.
pub(super) static SYSTEMS: &[Known] = &[
    of("node_devstat_busy_time_seconds_total", "device", &q::DISK_BUSY),
    disk("node_devstat_transfers_total", &["read"], &q::DISK_READS),
    disk("node_devstat_transfers_total", &["write"], &q::DISK_WRITES),
    disk("node_devstat_bytes_total", &["read"], &q::DISK_READ_BYTES),
    disk("node_devstat_bytes_total", &["write"], &q::DISK_WRITTEN_BYTES),
    disk("node_devstat_duration_seconds_total", &["read"], &q::DISK_READ_TIME),
    disk("node_devstat_duration_seconds_total", &["write"], &q::DISK_WRITE_TIME),
    of("node_memory_size_bytes", "", &q::MEMORY_TOTAL).most(),
    of("node_memory_total_bytes", "", &q::MEMORY_TOTAL).most(),
];
