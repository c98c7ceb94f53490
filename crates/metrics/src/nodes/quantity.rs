//! The table of quantities: each thing that is known of a machine, with its unit, and what it says of which resource
//! (B. Gregg's method: utilisation, saturation, errors).

/// What a quantity belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Resource {
    /// All processors of a machine.
    Machine,
    /// One logical processor.
    Core,
    /// One thread of a named daemon.
    Thread,
    /// A control group with a quota of processor time.
    CpuQuota,
    /// What a control group may do with a device: so many bytes or requests a second.
    IoLimit,
    /// One block device.
    Disk,
    /// One network interface.
    Network,
    /// The machine's memory.
    Memory,
    /// The machine's TCP.
    Tcp,
    /// One kind of request of one server of the store.
    Server,
    /// The store as a whole, or one daemon's part of it.
    Store,
}

/// What it says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Aspect {
    /// How much of it is used.
    Utilisation,
    /// How much work waits for it.
    Saturation,
    /// What went wrong.
    Errors,
    /// How much was done, or is there.
    Amount,
}

/// How its numbers are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reads {
    /// A sum since some start: only differences mean anything, and a smaller number means that it began anew.
    Counter,
    /// The value at that moment.
    Gauge,
}

/// One row.
#[derive(Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Name in archives, exports and charts, with its unit at the end.
    pub id: &'static str,
    /// What it belongs to.
    pub of: Resource,
    /// What it says.
    pub aspect: Aspect,
    /// How it is read.
    pub reads: Reads,
    /// One sentence for people.
    pub what: &'static str,
}

impl Quantity {
    /// What its numbers count, as the end of its name says it: `s`, `bytes`, `bytes/s`, `ms/kB`, or `1` for a number of things.
    #[must_use]
    pub fn measured_in(&self) -> &'static str {
        let ends = [
            ("_bytes_per_s", "bytes/s"),
            ("_ms_per_kb", "ms/kB"),
            ("_bytes", "bytes"),
            ("_j", "J"),
            ("_s", "s"),
        ];
        ends.into_iter().find(|(end, _)| self.id.ends_with(end)).map_or("1", |(_, measure)| measure)
    }
}

macro_rules! quantities {
    ($($name:ident: $of:ident $aspect:ident $reads:ident $id:literal $what:literal;)+) => {
        $(#[doc = $what] pub static $name: Quantity = Quantity {
            id: $id, of: Resource::$of, aspect: Aspect::$aspect, reads: Reads::$reads, what: $what,
        };)+
        /// All rows.
        pub static QUANTITIES: &[&Quantity] = &[$(&$name),+];
    };
}

quantities! {
    CPU_BUSY: Core Utilisation Counter "cpu_busy_s" "Seconds in which the processor ran anything; waiting for a disk is idle.";
    CPU_STEAL: Core Saturation Counter "cpu_steal_s" "Seconds in which the hypervisor gave the processor to somebody else.";
    CPU_INTERRUPTS: Core Amount Counter "cpu_interrupts_s" "Seconds of them in interrupts and what follows from these.";
    CPU_IO_WAIT: Core Amount Counter "cpu_io_wait_s" "Idle seconds in which a task that last ran here waited for a disk.";
    CPU_RUN_QUEUE: Core Saturation Counter "cpu_run_queue_s" "Seconds that tasks were ready to run here and did not, all tasks together.";
    CPU_PRESSURE: Machine Saturation Counter "cpu_pressure_s" "Seconds in which some task waited for a processor (PSI some).";
    BOOT_TIME: Machine Amount Gauge "boot_time_s" "When the machine was booted, seconds since 1970.";
    MACHINE: Machine Amount Gauge "machine" "1; what only this machine is called: the number of its kernel's start, or the exporter that it is read from.";
    TASKS_RUNNABLE: Machine Saturation Gauge "tasks_runnable" "Tasks that run or are ready to.";
    IO_PRESSURE: Machine Saturation Counter "io_pressure_s" "Seconds in which some task waited for input or output (PSI some).";
    IO_STALL: Machine Saturation Counter "io_stall_s" "Seconds in which all tasks waited for input or output (PSI full).";
    MEMORY_PRESSURE: Memory Saturation Counter "memory_pressure_s" "Seconds in which some task waited for memory (PSI some).";
    THREAD_BUSY: Thread Utilisation Counter "thread_busy_s" "Seconds in which the thread ran.";
    THREAD_RUN_QUEUE: Thread Saturation Counter "thread_run_queue_s" "Seconds in which the thread was ready to run and did not.";
    DAEMONS_BUSY: Thread Amount Counter "daemons_busy_s" "Seconds in which threads of the named daemons ran, all together.";
    QUOTA_USED: CpuQuota Utilisation Counter "quota_used_s" "Seconds of processor time that the group used.";
    QUOTA_PROCESSORS: CpuQuota Amount Gauge "quota_processors" "Processors' worth of time that the group may use.";
    QUOTA_THROTTLED: CpuQuota Saturation Counter "quota_throttled_s" "Seconds in which the group was stopped because its quota was used up.";
    QUOTA_PERIODS: CpuQuota Amount Counter "quota_periods" "Periods of the quota in which the group ran.";
    QUOTA_STOPPED_PERIODS: CpuQuota Saturation Counter "quota_stopped_periods" "Of these, the ones in which it was stopped because the quota was used up.";
    IO_LIMIT_USED: IoLimit Utilisation Counter "io_limit_used" "Bytes or requests of a control group whose rate to a device is limited.";
    IO_LIMIT: IoLimit Amount Gauge "io_limit_per_s" "Bytes or requests a second that it may do.";
    GROUP_IO_PRESSURE: IoLimit Saturation Counter "group_io_pressure_s" "Seconds in which some task of the group waited for input or output (PSI some).";
    CONTAINER_READS: IoLimit Amount Counter "container_reads" "Reads of a container from a device.";
    CONTAINER_WRITES: IoLimit Amount Counter "container_writes" "Writes of a container to a device.";
    CONTAINER_READ_BYTES: IoLimit Amount Counter "container_read_bytes" "Bytes that a container read from a device.";
    CONTAINER_WRITTEN_BYTES: IoLimit Amount Counter "container_written_bytes" "Bytes that a container wrote to a device.";
    DISK_BUSY: Disk Utilisation Counter "disk_busy_s" "Seconds in which at least one request was under way; a device that serves many at once has room left at 100 %.";
    DISK_QUEUE: Disk Saturation Counter "disk_queue_s" "Seconds of all requests together; per second, the mean number under way.";
    DISK_READS: Disk Amount Counter "disk_reads" "Reads done.";
    DISK_WRITES: Disk Amount Counter "disk_writes" "Writes done.";
    DISK_READ_BYTES: Disk Amount Counter "disk_read_bytes" "Bytes read.";
    DISK_WRITTEN_BYTES: Disk Amount Counter "disk_written_bytes" "Bytes written.";
    DISK_READ_TIME: Disk Amount Counter "disk_read_s" "Seconds that reads took, all together.";
    DISK_WRITE_TIME: Disk Amount Counter "disk_write_s" "Seconds that writes took, all together.";
    DISK_FLUSHES: Disk Amount Counter "disk_flushes" "Flushes of the device's cache.";
    DISK_FOLLOWED: Disk Amount Counter "disk_followed_requests" "Requests whose distance from the one before is known, by the kernel's tracing.";
    DISK_FAR: Disk Amount Counter "disk_far_requests" "Of these, the ones that began more than 2.5 million blocks of 512 bytes from the end of the one before.";
    DEVICE_PUT_TIME: Disk Amount Gauge "device_put_ms_per_kb" "Mean milliseconds per kB in which an object server wrote to this device.";
    NETWORK_RECEIVED: Network Utilisation Counter "network_received_bytes" "Bytes received.";
    NETWORK_SENT: Network Utilisation Counter "network_sent_bytes" "Bytes sent.";
    NETWORK_SPEED: Network Amount Gauge "network_speed_bytes_per_s" "Speed of the link in each direction; not known of virtual ones.";
    NETWORK_PACKETS_RECEIVED: Network Amount Counter "network_received_packets" "Packets received.";
    NETWORK_PACKETS_SENT: Network Amount Counter "network_sent_packets" "Packets sent.";
    NETWORK_RECEIVE_DROPS: Network Saturation Counter "network_receive_drops" "Packets that came and were dropped.";
    NETWORK_SEND_DROPS: Network Saturation Counter "network_send_drops" "Packets that were to be sent and were dropped.";
    NETWORK_ERRORS: Network Errors Counter "network_errors" "Packets with errors, both directions.";
    SEND_LIMIT: Network Amount Gauge "network_send_limit_bytes_per_s" "What the queue of a shaped link lets through at most.";
    RECEIVE_LIMIT: Network Amount Gauge "network_receive_limit_bytes_per_s" "What a policer of the link lets in at most.";
    QUEUE_SEND_DROPS: Network Saturation Counter "network_queue_send_drops" "Packets that the link's queue dropped before they were sent.";
    QUEUE_RECEIVE_DROPS: Network Saturation Counter "network_queue_receive_drops" "Packets that came and were dropped by a policer or a filter of the queue.";
    QUEUE_HELD: Network Saturation Counter "network_queue_held" "Times that a queue held packets back because its rate was used up (overlimits).";
    QUEUE_REQUEUES: Network Amount Counter "network_queue_requeues" "Times that the link did not take a packet from its queue at once.";
    QUEUE_SENT: Network Amount Counter "network_queue_sent_bytes" "Bytes that the queue of a shaped link let through, as it counts them for its rate: with the headers of packets that the device makes of a larger one.";
    QUEUE_BYTES: Network Saturation Gauge "network_queue_bytes" "Bytes that wait in the link's queue.";
    MEMORY_TOTAL: Memory Amount Gauge "memory_total_bytes" "Memory of the machine.";
    MEMORY_AVAILABLE: Memory Amount Gauge "memory_available_bytes" "Memory that programs could still get.";
    MEMORY_CACHE: Memory Amount Gauge "memory_cache_bytes" "Memory that keeps what was read from disks or is to be written.";
    MEMORY_DIRTY: Memory Amount Gauge "memory_dirty_bytes" "Memory that waits to be written to disks.";
    CONTAINER_MEMORY: Memory Amount Gauge "container_memory_bytes" "Memory of a container that cannot be taken from it at once.";
    CONTAINER_MEMORY_LIMIT: Memory Amount Gauge "container_memory_limit_bytes" "Memory that a container may use.";
    CONTAINER_OOM_KILLS: Memory Errors Counter "container_oom_kills" "Processes of a container that were killed because its memory was used up.";
    MAJOR_FAULTS: Memory Saturation Counter "major_faults" "Page faults that needed a disk.";
    TCP_SENT: Tcp Amount Counter "tcp_segments_sent" "Segments sent.";
    TCP_RESENT: Tcp Errors Counter "tcp_segments_resent" "Segments sent again.";
    TCP_LISTEN_DROPS: Tcp Saturation Counter "tcp_listen_drops" "Connections that came while the queue of a listening socket was full.";
    ENERGY: Machine Amount Counter "energy_j" "Joules that a package of processors used (RAPL).";
    SERVER_REQUESTS: Server Amount Counter "server_requests" "Requests that a server of the store answered, by kind.";
    SERVER_REQUEST_TIME: Server Amount Counter "server_request_s" "Seconds that it took for them by its own clock, all together.";
    SERVER_QUEUE: Server Saturation Gauge "server_queue" "Requests that a server of the store has let in or keeps waiting.";
    SERVER_ERRORS: Server Errors Counter "server_errors" "Requests that a server of the store refused or failed, by kind.";
    SERVER_WITHIN: Server Amount Counter "server_first_bytes_within" "Requests whose answer began within so many seconds, by kind; those of shorter times are among them.";
    SERVER_RECEIVED: Server Amount Counter "server_received_bytes" "Bytes that a server of the store got from its clients.";
    SERVER_SENT: Server Amount Counter "server_sent_bytes" "Bytes that a server of the store sent to its clients.";
    SERVER_MOVED: Server Amount Counter "server_moved_bytes" "Bytes that requests of a kind sent or received as bodies, as a server of the store counts them.";
    SERVER_EVENTS: Server Amount Counter "server_events" "What a server of the store counts besides, by its name for it.";
    STORE_CAPACITY: Store Amount Gauge "store_capacity_bytes" "Bytes that the store, or a device of it, has room for, copies and all.";
    STORE_USED: Store Amount Gauge "store_used_bytes" "Bytes of them that are used, whoever uses them.";
    STORE_FREE: Store Amount Gauge "store_free_bytes" "Bytes of them that are free, where the store says this and not what is used.";
    STORE_DEGRADED: Store Errors Gauge "store_objects_degraded" "Copies of objects that are missing.";
    STORE_MISPLACED: Store Errors Gauge "store_objects_misplaced" "Copies of objects that lie elsewhere than they should.";
    STORE_PENDING: Store Errors Gauge "store_updates_pending" "Updates of listings that are still to be made.";
    STORE_QUARANTINED: Store Errors Gauge "store_objects_quarantined" "Copies that were found damaged and set aside.";
    STORE_RECOVERIES: Store Amount Counter "store_recoveries" "Objects that were made whole again.";
    STORE_RECOVERED_BYTES: Store Amount Counter "store_recovered_bytes" "Bytes that were moved to make objects whole again.";
    STORE_COMPARED: Store Amount Counter "store_partitions_compared" "Partitions that a replicator compared with their other copies, in passes that ended.";
    STORE_SENT: Store Amount Counter "store_partitions_sent" "Times that it had to send something of a partition to another copy.";
    STORE_SCRUBBING: Store Amount Gauge "store_scrubbing" "Placement groups whose content is being verified in the background.";
    STORE_DRIVES_ONLINE: Store Amount Gauge "store_drives_online" "Drives that the store can use.";
    STORE_DRIVES_OFFLINE: Store Errors Gauge "store_drives_offline" "Drives that the store cannot reach.";
    STORE_DRIVES_HEALING: Store Errors Gauge "store_drives_healing" "Drives that are being filled with what they lack.";
    STORE_DRIVE_ERRORS: Store Errors Counter "store_drive_errors" "Requests of the store to a drive that failed or took too long.";
    STORE_DRIVE_READ: Store Amount Gauge "store_drive_read_s" "Mean seconds of reads of a drive, as the store measures it over a time of its own.";
    STORE_DRIVE_WRITE: Store Amount Gauge "store_drive_write_s" "The same of writes.";
    STORE_DRIVE_BUSY: Store Amount Gauge "store_drive_busy" "Share of the time in which a drive had a request under way, as the store measures it.";
    STORE_DRIVE_CALL: Store Amount Gauge "store_drive_call_s" "Mean seconds of a call of the store to a drive in the last minute.";
    STORE_SCANNED: Store Amount Counter "store_objects_scanned" "Objects that the store looked at in the background.";
}

/// The row with this name.
#[must_use]
pub fn quantity(id: &str) -> Option<&'static Quantity> {
    QUANTITIES.iter().copied().find(|row| row.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_quantity_has_one_name_and_stands_in_the_reference() {
        let page = include_str!("../../../../docs/reference/nodes.md");
        for row in QUANTITIES {
            assert!(page.contains(&format!("`{}`", row.id)), "docs/reference/nodes.md has no `{}`", row.id);
            assert_eq!(QUANTITIES.iter().filter(|other| other.id == row.id).count(), 1, "{}", row.id);
            assert!(std::ptr::eq(quantity(row.id).unwrap_or(&CPU_BUSY), *row), "{}", row.id);
        }
    }
}
