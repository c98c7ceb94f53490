//! One operation's record; everything published derives from it.

use crate::Outcome;

/// When one operation was on the wire, on the clock of the other times; `weight` 0 = it was not stamped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WireTimes {
    /// When its first request left the host.
    pub sent_ns: u64,
    /// When the first bytes of the answer to it had reached the host.
    pub first_byte_ns: u64,
    /// When the last byte of its last answer had.
    pub end_ns: u64,
    /// Time in which at least one of its requests was on its way or being answered.
    pub spent_ns: u64,
    /// How many operations this one stands for.
    pub weight: u32,
}

/// Times are nanoseconds of the driver's one monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sample {
    /// Index of the operation in its work.
    pub op: u16,
    /// Worker, 0-based, global over all drivers.
    pub worker: u32,
    /// Number of the container; 0 = none.
    pub container: u64,
    /// Number of the object; 0 = none.
    pub object: u64,
    /// When it should have been sent.
    pub due_ns: u64,
    /// When it was sent.
    pub sent_ns: u64,
    /// When the first byte of the answer came; 0 = never.
    pub first_byte_ns: u64,
    /// When it was over.
    pub end_ns: u64,
    /// Part of it that was spent opening a connection.
    pub connect_ns: u64,
    /// Part of that which TLS took.
    pub tls_ns: u64,
    /// When the system had taken the last byte of its last request; 0 = not known.
    pub request_sent_ns: u64,
    /// Of how many operations [`Sample::request_sent_ns`] tells; 0 = of none.
    pub stands_for: u32,
    /// Body bytes that count: of a success; of a failure they are partial.
    pub bytes: u64,
    /// Body bytes that it was to write; 0 = nothing is written, or not known before. Tells the size of failures.
    pub asked_bytes: u64,
    /// Which write it was, as its content says; 0 = nothing of Cosmark's own was written.
    pub version: u32,
    /// Number of the endpoint that served it, from 1; 0 = the target has only one.
    pub endpoint: u16,
    /// Status of the last answer; 0 = none.
    pub status: u16,
    /// How it ended.
    pub outcome: Outcome,
    /// Requests on the wire.
    pub requests: u32,
    /// Retries among them.
    pub retries: u32,
    /// Connections opened.
    pub connections: u32,
    /// The store took a write without having finished it (Swift's 202).
    pub accepted_only: bool,
    /// When it was on the wire, where the system says so.
    pub wire: WireTimes,
}

impl Sample {
    /// From due to the end.
    #[must_use]
    pub fn response_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.due_ns)
    }

    /// From sent to the end.
    #[must_use]
    pub fn service_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.sent_ns)
    }

    /// From sent to the first byte, if one came.
    #[must_use]
    pub fn time_to_first_byte_ns(&self) -> Option<u64> {
        (self.first_byte_ns != 0).then(|| self.first_byte_ns.saturating_sub(self.sent_ns))
    }
}
