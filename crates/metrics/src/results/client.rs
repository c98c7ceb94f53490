//! How the load client itself was doing over a stage: what `run.json` says of each driver and what the verdict looks at.

use serde::{Deserialize, Serialize};

/// What does not change while a stage runs.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientFacts {
    /// Load threads.
    pub load_threads: u32,
    /// Smallest step seen between two readings of the clock, ns.
    pub clock_resolution_ns: Option<u64>,
    /// Cost of reading the clock, ns.
    pub clock_cost_ns: Option<f64>,
    /// Local ports that connections may have.
    pub ephemeral_ports: Option<u64>,
    /// Files and sockets that the process may have open.
    pub nofile_limit: Option<u64>,
    /// The processors that it may run on, a bit for each, where these are not all of its machine.
    pub bound_to: Option<[u64; 4]>,
    /// When its machine was booted, seconds since 1970.
    pub boot_time_s: Option<f64>,
    /// Memory of its machine, bytes.
    pub memory_bytes: Option<u64>,
}

/// One driver over the measured windows of a stage (over the whole stage where it measured none). What the system does
/// not tell is null, never 0.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ClientRecord {
    /// Name of the driver.
    pub driver: String,
    /// Load threads.
    pub load_threads: u32,
    /// Seconds that were looked at.
    pub seconds: f64,
    /// Processors of its machine.
    pub cpus: Option<u32>,
    /// The numbers of those that it may run on; left out where it may run on all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_to: Option<Vec<u32>>,
    /// When its machine was booted, seconds since 1970: by this and its memory it is known as one of the store's.
    pub boot_time_s: Option<f64>,
    /// Memory of its machine, bytes.
    pub memory_bytes: Option<u64>,
    /// Busiest load thread: share of one processor, mean over the window.
    pub thread_busy_max: Option<f64>,
    /// Share of the seconds in which any load thread used more than 85 % of a processor.
    pub thread_busy_over_85_share: Option<f64>,
    /// Load thread that waited longest for a processor: share of the time, mean over the window.
    pub run_queue_wait_share_max: Option<f64>,
    /// Processor time of the process, in processors.
    pub process_cpu_share: Option<f64>,
    /// Share of all processors of the machine that was busy, with whatever.
    pub machine_busy_share: Option<f64>,
    /// Share of all processors that a hypervisor took away.
    pub steal_share: Option<f64>,
    /// Share of the periods (100 ms each unless set otherwise) in which a control group that the process is in was stopped,
    /// because its quota of processor time was used up; null without a quota.
    pub quota_stopped_share: Option<f64>,
    /// Pauses of a thread that sleeps 1 ms at a time: times in ms, and which share of its naps was late by more, from the least
    /// to the greatest that was seen. A pause of 3 ms is noted as 3, 2 and 1 ms.
    #[serde(default)]
    pub pause_beyond: Vec<(f64, f64)>,
    /// 99.9th percentile of these.
    pub pause_p99_9_ms: Option<f64>,
    /// Longest pause.
    pub pause_max_ms: Option<f64>,
    /// Share of the time that went into pauses of 10 ms or longer.
    #[serde(default)]
    pub paused_share: Option<f64>,
    /// Time for which the machine was suspended.
    pub suspended_ms: Option<f64>,
    /// Smallest step between two readings of the clock.
    pub clock_resolution_ns: Option<u64>,
    /// Cost of reading the clock.
    pub clock_cost_ns: Option<f64>,
    /// Its wall clock minus the controller's; null on the controller's machine. Times of the archive are corrected by it.
    pub clock_offset_ms: Option<f64>,
    /// By how much times of this driver may be off: half of the round trip of the fastest clock probe.
    pub clock_error_ms: Option<f64>,
    /// `clock_offset_ms` as it was after the stage.
    pub clock_offset_after_ms: Option<f64>,
    /// `clock_error_ms` as it was after the stage.
    pub clock_error_after_ms: Option<f64>,
    /// What the clock that its times count on gained on the controller's from before the stage to after it; negative = it
    /// lost. Nothing corrects this.
    pub clock_gained_ms: Option<f64>,
    /// The most that this clock was away from where the comparison before the stage put it, in any later one.
    pub clock_strayed_ms: Option<f64>,
    /// `clock_gained_ms` by the time in which it was gained, parts per million: rates of this driver are too low, and times
    /// too long, by as much.
    pub clock_drift_ppm: Option<f64>,
    /// By how much `clock_drift_ppm` may be off.
    pub clock_drift_error_ppm: Option<f64>,
    /// When its first worker really began: milliseconds after the common instant of all drivers.
    #[serde(default)]
    pub began_ms: Option<f64>,
    /// When its last worker did.
    #[serde(default)]
    pub all_began_ms: Option<f64>,
    /// TCP segments that its process's connections to stores sent (`TCP_INFO`); nothing of what others on the machine do.
    pub tcp_segments_out: Option<u64>,
    /// Segments sent again among them.
    pub tcp_retransmitted: Option<u64>,
    /// Network interfaces that moved bytes, the loopback included.
    pub nics: Vec<NicRecord>,
    /// Most TCP sockets in use on its machine.
    pub sockets_max: Option<u64>,
    /// Most TCP sockets in TIME_WAIT on its machine.
    pub time_wait_max: Option<u64>,
    /// Local ports that connections may have.
    pub ephemeral_ports: Option<u64>,
    /// Files and sockets that the process may have open.
    pub nofile_limit: Option<u64>,
}

/// The most that a network interface moved in a second.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NicRecord {
    /// Its name.
    pub name: String,
    /// Most bytes received per second.
    pub rx_bytes_per_s_max: f64,
    /// Most bytes sent per second.
    pub tx_bytes_per_s_max: f64,
    /// Speed of the link; null where it has none.
    pub speed_bits_per_s: Option<u64>,
}

impl ClientRecord {
    /// It ran on the machine of the controller: their clocks need no comparison.
    #[must_use]
    pub fn is_at_the_controller(&self) -> bool {
        self.clock_offset_ms.is_none()
    }

    /// The same with the name of its driver and what does not change while a stage runs.
    #[must_use]
    pub fn with(self, driver: &str, facts: ClientFacts) -> Self {
        let ClientFacts {
            load_threads,
            clock_resolution_ns,
            clock_cost_ns,
            ephemeral_ports,
            nofile_limit,
            bound_to,
            boot_time_s,
            memory_bytes,
        } = facts;
        let is_one = |bits: [u64; 4], number: u32| {
            bits.iter().zip(0..).any(|(word, at)| number / 64 == at && (word >> (number % 64)) & 1 == 1)
        };
        let bound_to = bound_to.map(|bits| (0..256).filter(|number| is_one(bits, *number)).collect());
        Self {
            driver: driver.to_owned(),
            load_threads,
            clock_resolution_ns,
            clock_cost_ns,
            ephemeral_ports,
            nofile_limit,
            bound_to,
            boot_time_s,
            memory_bytes,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_for_each_processor_becomes_its_number() {
        let with = |bound_to| {
            ClientRecord::default().with("d", ClientFacts { bound_to, ..ClientFacts::default() }).bound_to
        };
        assert_eq!(with(Some([0b101, 1 << 63, 0, 1])), Some(vec![0, 2, 127, 192]));
        assert_eq!(with(None), None);
    }
}
