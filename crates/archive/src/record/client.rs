//! What `run.json` says about the load client itself, and `clients.csv`: how each driver was doing, second by second.

use cosmark_metrics::{ClientFacts, ClientHealth, HealthSample, NicUse};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::csv::line::push_line;
use crate::csv::number::decimal;
use crate::csv::table::{Fields, Table};

/// One driver over the measured windows of a stage (over the whole stage where it measured none). What the system does
/// not tell is null, never 0.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
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
    /// What was seen of `driver`.
    #[must_use]
    pub fn of(driver: &str, facts: ClientFacts, health: ClientHealth) -> Self {
        let ClientFacts { load_threads, clock_resolution_ns, clock_cost_ns, ephemeral_ports, nofile_limit } =
            facts;
        let ClientHealth {
            seconds,
            cpus,
            thread_busy_max,
            thread_busy_over_85_share,
            run_queue_wait_share_max,
            process_cpu_share,
            machine_busy_share,
            steal_share,
            pause_beyond,
            pause_p99_9_ms,
            pause_max_ms,
            paused_share,
            suspended_ms,
            tcp_segments_out,
            tcp_retransmitted,
            nics,
            sockets_max,
            time_wait_max,
        } = health;
        Self {
            driver: driver.to_owned(),
            load_threads,
            seconds,
            cpus,
            thread_busy_max,
            thread_busy_over_85_share,
            run_queue_wait_share_max,
            process_cpu_share,
            machine_busy_share,
            steal_share,
            pause_beyond,
            pause_p99_9_ms,
            pause_max_ms,
            paused_share,
            suspended_ms,
            clock_resolution_ns,
            clock_cost_ns,
            clock_offset_ms: None,
            clock_error_ms: None,
            clock_offset_after_ms: None,
            clock_error_after_ms: None,
            clock_gained_ms: None,
            clock_strayed_ms: None,
            clock_drift_ppm: None,
            clock_drift_error_ppm: None,
            began_ms: None,
            all_began_ms: None,
            tcp_segments_out,
            tcp_retransmitted,
            nics: nics.into_iter().map(NicRecord::from).collect(),
            sockets_max,
            time_wait_max,
            ephemeral_ports,
            nofile_limit,
        }
    }
}

impl From<NicUse> for NicRecord {
    fn from(used: NicUse) -> Self {
        let NicUse { name, rx_bytes_per_s_max, tx_bytes_per_s_max, speed_bits_per_s } = used;
        Self { name, rx_bytes_per_s_max, tx_bytes_per_s_max, speed_bits_per_s }
    }
}

/// `clients.csv`. A load thread's line has its processor time and run queue, the line of `process` its processor time, the
/// line of `machine` the rest; what does not apply or is not told is empty.
pub(crate) const CLIENTS: Table = Table {
    file: "clients.csv",
    columns: &[
        "stage",
        "driver",
        "time_s",
        "span_s",
        "thread",
        "cpu_share",
        "run_queue_wait_share",
        "steal_share",
        "pause_max_ms",
        "tcp_segments_out",
        "tcp_retransmitted",
        "rx_bytes",
        "tx_bytes",
        "sockets",
        "time_wait",
    ],
    first: 15,
    figures: false,
};

/// Digits of times and of shares in it.
const TIME_DIGITS: usize = 3;
const SHARE_DIGITS: usize = 4;

/// A line of `clients.csv`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClientLine {
    /// Id of the stage.
    pub stage: String,
    /// Name of the driver.
    pub driver: String,
    /// End of the span, seconds since the stage's load began.
    pub time_s: f64,
    /// Length of the span in seconds.
    pub span_s: f64,
    /// Name of a load thread, `process` or `machine`.
    pub thread: String,
    /// Of a thread and the process: processor time / span (a process may exceed 1); of the machine: busy share of all
    /// processors.
    pub cpu_share: Option<f64>,
    /// Time ready to run without a processor / span.
    pub run_queue_wait_share: Option<f64>,
    /// Share of all processors that a hypervisor took away.
    pub steal_share: Option<f64>,
    /// Longest pause of a thread that sleeps 1 ms at a time.
    pub pause_max_ms: Option<f64>,
    /// TCP segments sent.
    pub tcp_segments_out: Option<u64>,
    /// TCP segments sent again.
    pub tcp_retransmitted: Option<u64>,
    /// Bytes received by all network interfaces but the loopback.
    pub rx_bytes: Option<u64>,
    /// Bytes sent by them.
    pub tx_bytes: Option<u64>,
    /// TCP sockets in use.
    pub sockets: Option<u64>,
    /// TCP sockets in TIME_WAIT.
    pub time_wait: Option<u64>,
}

impl ClientLine {
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, String> {
        Ok(Self {
            stage: fields.text(0),
            driver: fields.text(1),
            time_s: fields.number(2)?,
            span_s: fields.number(3)?,
            thread: fields.text(4),
            cpu_share: fields.number_if_any(5)?,
            run_queue_wait_share: fields.number_if_any(6)?,
            steal_share: fields.number_if_any(7)?,
            pause_max_ms: fields.number_if_any(8)?,
            tcp_segments_out: fields.count_if_any(9)?,
            tcp_retransmitted: fields.count_if_any(10)?,
            rx_bytes: fields.count_if_any(11)?,
            tx_bytes: fields.count_if_any(12)?,
            sockets: fields.count_if_any(13)?,
            time_wait: fields.count_if_any(14)?,
        })
    }

    /// The lines of one look at a driver; `start_ns` is when the stage's load began on the sample's clock.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "seconds and shares need no more than 53 bits")]
    pub fn of_sample(stage: &str, driver: &str, start_ns: u64, sample: &HealthSample) -> Vec<Self> {
        let span_ns = sample.span_ns as f64;
        let share = |ns: u64| (span_ns > 0.0).then(|| ns as f64 / span_ns);
        let blank = Self {
            stage: stage.to_owned(),
            driver: driver.to_owned(),
            time_s: (sample.at_ns as f64 - start_ns as f64) / 1e9,
            span_s: span_ns / 1e9,
            ..Self::default()
        };
        let threads = sample.threads.iter().map(|thread| Self {
            thread: thread.name.clone(),
            cpu_share: share(thread.cpu_ns),
            run_queue_wait_share: thread.run_queue_wait_ns.and_then(share),
            ..blank.clone()
        });
        let process = Self {
            thread: "process".to_owned(),
            cpu_share: sample.process_cpu_ns.and_then(share),
            ..blank.clone()
        };
        let of_all = |ns: u64, cpus: u32| share(ns).map(|share| share / f64::from(cpus.max(1)));
        let outside = || sample.nics.iter().filter(|nic| nic.name != "lo");
        let is_known = !sample.nics.is_empty();
        let machine = Self {
            thread: "machine".to_owned(),
            cpu_share: sample.machine.and_then(|machine| of_all(machine.busy_ns, machine.cpus)),
            steal_share: sample.machine.and_then(|machine| of_all(machine.steal_ns?, machine.cpus)),
            pause_max_ms: sample.pause.max_ns().map(|ns| ns as f64 / 1e6),
            tcp_segments_out: sample.tcp_segments_out,
            tcp_retransmitted: sample.tcp_segments_retransmitted,
            rx_bytes: is_known.then(|| outside().map(|nic| nic.rx_bytes).sum()),
            tx_bytes: is_known.then(|| outside().map(|nic| nic.tx_bytes).sum()),
            sockets: sample.sockets_in_use,
            time_wait: sample.sockets_time_wait,
            ..blank.clone()
        };
        threads.chain([process, machine]).collect()
    }

    /// As it is read again from the file.
    #[must_use]
    pub fn as_written(&self) -> Self {
        let read = |value: f64, digits| decimal(value, digits).parse().unwrap_or(value);
        let share = |value: Option<f64>| value.map(|value| read(value, SHARE_DIGITS));
        Self {
            time_s: read(self.time_s, TIME_DIGITS),
            span_s: read(self.span_s, TIME_DIGITS),
            cpu_share: share(self.cpu_share),
            run_queue_wait_share: share(self.run_queue_wait_share),
            steal_share: share(self.steal_share),
            pause_max_ms: self.pause_max_ms.map(|ms| read(ms, TIME_DIGITS)),
            ..self.clone()
        }
    }

    fn push(&self, out: &mut Vec<u8>) {
        let share = |value: Option<f64>| value.map_or_else(String::new, |value| decimal(value, SHARE_DIGITS));
        let count = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
        push_line(
            out,
            [
                self.stage.clone(),
                self.driver.clone(),
                decimal(self.time_s, TIME_DIGITS),
                decimal(self.span_s, TIME_DIGITS),
                self.thread.clone(),
                share(self.cpu_share),
                share(self.run_queue_wait_share),
                share(self.steal_share),
                self.pause_max_ms.map_or_else(String::new, |ms| decimal(ms, TIME_DIGITS)),
                count(self.tcp_segments_out),
                count(self.tcp_retransmitted),
                count(self.rx_bytes),
                count(self.tx_bytes),
                count(self.sockets),
                count(self.time_wait),
            ],
        );
    }
}

/// The lines of one sample as they are written; `start_ns` is when the stage's load began on the sample's clock.
pub(crate) fn client_lines(stage: &str, driver: &str, start_ns: u64, sample: &HealthSample) -> Vec<u8> {
    let lines = ClientLine::of_sample(stage, driver, start_ns, sample);
    let mut out = Vec::with_capacity(96 * lines.len());
    lines.iter().for_each(|line| line.push(&mut out));
    out
}
