//! `clients.csv`: how each driver was doing, second by second.

use cosmark_metrics::HealthSample;

use crate::csv::line::push_line;
use crate::csv::number::decimal;
use crate::csv::table::{Fields, Table};
use crate::{ArchiveError, Run};

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
    /// Of a thread and the process: processor time / span (only a process may exceed 1, up to the number of processors); of
    /// the machine: busy share of all processors.
    pub cpu_share: Option<f64>,
    /// Time ready to run without a processor / span. The kernel writes a wait down when it is over: one that is longer than the
    /// span is more than 1.
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

    /// The lines of one look at a driver; `start_ns` is when the stage's load began on the sample's clock. The kernel counts
    /// in steps: a share of processor time that comes out above all of the time is all of it.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "seconds and shares need no more than 53 bits")]
    pub fn of_sample(stage: &str, driver: &str, start_ns: u64, sample: &HealthSample) -> Vec<Self> {
        let span_ns = sample.span_ns as f64;
        let times = |ns: u64| (span_ns > 0.0).then(|| ns as f64 / span_ns);
        let share = |ns: u64| times(ns).map(|times| times.min(1.0));
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
            run_queue_wait_share: thread.run_queue_wait_ns.and_then(times),
            ..blank.clone()
        });
        let most = sample.machine.map_or(f64::INFINITY, |machine| f64::from(machine.cpus.max(1)));
        let process = Self {
            thread: "process".to_owned(),
            cpu_share: sample.process_cpu_ns.and_then(times).map(|times| times.min(most)),
            ..blank.clone()
        };
        let of_all = |ns: u64, cpus: u32| times(ns).map(|times| (times / f64::from(cpus.max(1))).min(1.0));
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

impl Run {
    /// Calls `each` with every line of `clients.csv`, in the order in which they were written; false when the run has
    /// none. Memory does not grow with the file.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn clients(&self, mut each: impl FnMut(ClientLine)) -> Result<bool, ArchiveError> {
        CLIENTS.read(&self.path, |fields| {
            each(ClientLine::read(fields)?);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use cosmark_metrics::{MachineHealth, ThreadHealth};

    use super::*;

    #[test]
    fn no_processor_time_of_a_client_is_above_all_of_the_time() {
        let span_ns = 1_000_000_000;
        let more_ns = 1_140_000_000;
        let sample = HealthSample {
            span_ns,
            threads: vec![ThreadHealth {
                name: "load-0".to_owned(),
                cpu_ns: more_ns,
                run_queue_wait_ns: Some(more_ns),
            }],
            process_cpu_ns: Some(2 * more_ns),
            machine: Some(MachineHealth { cpus: 2, busy_ns: 2 * more_ns, steal_ns: Some(2 * more_ns) }),
            ..HealthSample::default()
        };
        let shares = |sample: &HealthSample| {
            let lines = ClientLine::of_sample("s1", "d1", 0, sample);
            lines
                .iter()
                .map(|line| (line.cpu_share, line.run_queue_wait_share, line.steal_share))
                .collect::<Vec<_>>()
        };
        let all = Some(1.0);
        // A process has all processors of its machine.
        // A wait that began before the span is whole: the sum of all spans is right.
        assert_eq!(shares(&sample), [(all, Some(1.14), None), (Some(2.0), None, None), (all, None, all)]);
        let usual = HealthSample { span_ns: 4 * span_ns, ..sample };
        assert_eq!(
            shares(&usual),
            [(Some(0.285), Some(0.285), None), (Some(0.57), None, None), (Some(0.285), None, Some(0.285))]
        );
    }
}
