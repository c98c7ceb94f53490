//! How the machines that made the load did: figures from `run.json`, courses from `clients.csv`.

use cosmark_archive::{ClientLine, ClientRecord};

use super::axis::Axis;
use super::bins::{Bins, Sum};
use super::model::{ClientData, ClientSeries, Fact};
use super::times::rounded;

/// Sums and maxima of a driver's machine in a stretch of time.
#[derive(Debug, Clone, Default)]
pub struct ClientSums {
    /// Seconds of the machine's lines, by which shares and rates are weighted.
    seconds: f64,
    machine_busy_s: Option<f64>,
    steal_s: Option<f64>,
    tcp_retransmitted: Option<f64>,
    rx_bytes: Option<f64>,
    tx_bytes: Option<f64>,
    sockets: Option<f64>,
    pause_max_ms: Option<f64>,
    thread_busy_max: Option<f64>,
    run_queue_wait_max: Option<f64>,
}

/// Archives of older versions have shares above 1, where counters were read behind the clock.
fn bounded(share: Option<f64>) -> Option<f64> {
    share.map(|share| share.min(1.0))
}

impl ClientSums {
    /// Adds a line; those of the whole process are not shown.
    pub fn add(&mut self, line: &ClientLine) {
        #[expect(clippy::cast_precision_loss, reason = "counts of one second")]
        let float = |value: Option<u64>| value.map(|value| value as f64);
        let of_span = |share: Option<f64>| bounded(share).map(|share| share * line.span_s);
        match line.thread.as_str() {
            "process" => {}
            "machine" => self.merge(&Self {
                seconds: line.span_s,
                machine_busy_s: of_span(line.cpu_share),
                steal_s: of_span(line.steal_share),
                tcp_retransmitted: float(line.tcp_retransmitted),
                rx_bytes: float(line.rx_bytes),
                tx_bytes: float(line.tx_bytes),
                sockets: float(line.sockets),
                pause_max_ms: line.pause_max_ms,
                ..Self::default()
            }),
            _ => self.merge(&Self {
                thread_busy_max: bounded(line.cpu_share),
                run_queue_wait_max: bounded(line.run_queue_wait_share),
                ..Self::default()
            }),
        }
    }
}

impl Sum for ClientSums {
    fn merge(&mut self, other: &Self) {
        let Self {
            seconds,
            machine_busy_s,
            steal_s,
            tcp_retransmitted,
            rx_bytes,
            tx_bytes,
            sockets,
            pause_max_ms,
            thread_busy_max,
            run_queue_wait_max,
        } = other;
        self.seconds += seconds;
        for (sum, amount) in [
            (&mut self.machine_busy_s, machine_busy_s),
            (&mut self.steal_s, steal_s),
            (&mut self.tcp_retransmitted, tcp_retransmitted),
            (&mut self.rx_bytes, rx_bytes),
            (&mut self.tx_bytes, tx_bytes),
        ] {
            *sum = amount.map(|amount| sum.unwrap_or(0.0) + amount).or(*sum);
        }
        for (most, candidate) in [
            (&mut self.sockets, sockets),
            (&mut self.pause_max_ms, pause_max_ms),
            (&mut self.thread_busy_max, thread_busy_max),
            (&mut self.run_queue_wait_max, run_queue_wait_max),
        ] {
            *most = candidate.map(|value| most.map_or(value, |known| known.max(value))).or(*most);
        }
    }
}

/// The bins of `axis` from number `from` on. What begins after its end is not shown.
pub fn series(bins: &Bins<ClientSums>, axis: &Axis, from: u32) -> ClientSeries {
    let end_us = u64::from(axis.time.bins) * axis.bin_us;
    let mut sums = vec![ClientSums::default(); axis.time.bins.saturating_sub(from) as usize];
    for (span, value) in bins.iter().filter(|(span, _)| span.start_us < end_us) {
        let at = axis.bin(span).checked_sub(from);
        if let Some(sum) = at.and_then(|at| sums.get_mut(at as usize)) {
            sum.merge(value);
        }
    }
    let each = |of: fn(&ClientSums) -> Option<f64>| sums.iter().map(of).collect::<Vec<_>>();
    let shown = |of: fn(&ClientSums) -> Option<f64>| -> Vec<Option<f64>> {
        sums.iter().map(|sum| of(sum).map(|value| rounded(value, 4))).collect()
    };
    let mean = |of: fn(&ClientSums) -> Option<f64>| -> Vec<Option<f64>> {
        let known = |sum: &ClientSums| of(sum).filter(|_| sum.seconds > 0.0);
        sums.iter().map(|sum| known(sum).map(|value| rounded(value / sum.seconds, 4))).collect()
    };
    ClientSeries {
        thread_busy_max: shown(|sum| sum.thread_busy_max),
        machine_busy: mean(|sum| sum.machine_busy_s),
        run_queue_wait_max: shown(|sum| sum.run_queue_wait_max),
        steal: mean(|sum| sum.steal_s),
        pause_max_ms: shown(|sum| sum.pause_max_ms),
        tcp_retransmitted: each(|sum| sum.tcp_retransmitted),
        rx_bytes_per_s: mean(|sum| sum.rx_bytes),
        tx_bytes_per_s: mean(|sum| sum.tx_bytes),
        sockets: each(|sum| sum.sockets),
    }
}

/// What `run.json` says of a driver, with its course.
pub fn client(record: &ClientRecord, series: Option<ClientSeries>) -> ClientData {
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let float = |value: Option<u64>| value.map(|value| value as f64);
    let resent = record.tcp_retransmitted.zip(record.tcp_segments_out).filter(|(_, out)| *out > 0);
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    let resent = resent.map(|(again, out)| again as f64 / out as f64);
    let rows = [
        ("load threads", Some(f64::from(record.load_threads)), "count"),
        ("processors of its machine", record.cpus.map(f64::from), "count"),
        ("busiest load thread", bounded(record.thread_busy_max), "share"),
        ("seconds with a thread above 85 %", record.thread_busy_over_85_share, "share"),
        ("longest wait for a processor", bounded(record.run_queue_wait_share_max), "share"),
        ("machine busy", bounded(record.machine_busy_share), "share"),
        ("taken by the hypervisor", bounded(record.steal_share), "share"),
        ("periods in which its quota was used up", record.quota_stopped_share, "share"),
        ("pause of the machine, 99.9th percentile", record.pause_p99_9_ms, "ms"),
        ("longest pause of the machine", record.pause_max_ms, "ms"),
        ("suspended for", record.suspended_ms, "ms"),
        ("step of the clock", float(record.clock_resolution_ns), "ns"),
        ("cost of reading the clock", record.clock_cost_ns, "ns"),
        ("TCP segments sent again", resent, "share"),
        ("most sockets in use", float(record.sockets_max), "count"),
        ("most sockets in TIME_WAIT", float(record.time_wait_max), "count"),
        ("local ports for connections", float(record.ephemeral_ports), "count"),
        ("files and sockets allowed", float(record.nofile_limit), "count"),
    ];
    let mut facts: Vec<Fact> = rows
        .into_iter()
        .map(|(name, value, unit)| Fact { name: name.to_owned(), value, unit: unit.to_owned() })
        .collect();
    for nic in &record.nics {
        for (what, value, unit) in [
            ("most received", Some(nic.rx_bytes_per_s_max), "bytes_per_s"),
            ("most sent", Some(nic.tx_bytes_per_s_max), "bytes_per_s"),
            ("speed of the link", float(nic.speed_bits_per_s), "bits_per_s"),
        ] {
            facts.push(Fact { name: format!("{}: {what}", nic.name), value, unit: unit.to_owned() });
        }
    }
    ClientData { driver: record.driver.clone(), facts, series }
}
