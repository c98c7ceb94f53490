//! How the machines that made the load did: figures from `run.json`, courses from `clients.csv`.

use std::collections::{BTreeMap, HashMap};

use cosmark_archive::{ArchiveError, ClientLine, ClientRecord, Run};

use super::axis::Axis;
use super::model::{ClientData, ClientSeries, Fact};
use super::times::rounded;

/// A driver's course in one stage.
type Courses = BTreeMap<String, ClientSeries>;

/// Courses by stage; the whole is `None` when `clients.csv` is not there or empty.
pub fn courses(run: &Run, axes: &[Option<Axis>]) -> Result<Option<Vec<Courses>>, ArchiveError> {
    let stages: HashMap<&str, usize> =
        run.record.stages.iter().enumerate().map(|(at, stage)| (stage.id.as_str(), at)).collect();
    let mut all: Vec<BTreeMap<String, Course>> = axes.iter().map(|_| BTreeMap::new()).collect();
    let mut found = false;
    run.clients(|line| {
        found = true;
        let Some(at) = stages.get(line.stage.as_str()).copied() else { return };
        let (Some(Some(axis)), Some(drivers)) = (axes.get(at), all.get_mut(at)) else { return };
        // Before the load began nothing belongs on the axis.
        if line.time_s <= 0.0 || line.time_s - line.span_s > axis.time.end_s {
            return;
        }
        drivers.entry(line.driver.clone()).or_insert_with(|| Course::new(axis)).add(&line, axis);
    })?;
    let finished = all
        .into_iter()
        .map(|drivers| drivers.into_iter().map(|(driver, course)| (driver, course.finish())).collect())
        .collect();
    Ok(found.then_some(finished))
}

/// Sums and maxima on the way.
struct Course {
    series: ClientSeries,
    /// Seconds of the machine's lines per bin, by which shares are weighted.
    seconds: Vec<f64>,
    machine_busy_s: Vec<Option<f64>>,
    steal_s: Vec<Option<f64>>,
}

impl Course {
    fn new(axis: &Axis) -> Self {
        let none = || vec![None; axis.time.bins as usize];
        Self {
            series: ClientSeries {
                thread_busy_max: none(),
                machine_busy: none(),
                run_queue_wait_max: none(),
                steal: none(),
                pause_max_ms: none(),
                tcp_retransmitted: none(),
                rx_bytes_per_s: none(),
                tx_bytes_per_s: none(),
                sockets: none(),
            },
            seconds: vec![0.0; axis.time.bins as usize],
            machine_busy_s: none(),
            steal_s: none(),
        }
    }

    fn add(&mut self, line: &ClientLine, axis: &Axis) {
        let bin = axis.bin_of(line.time_s - line.span_s, line.span_s);
        let series = &mut self.series;
        match line.thread.as_str() {
            "process" => {}
            "machine" => {
                #[expect(clippy::cast_precision_loss, reason = "counts of one second")]
                let float = |value: Option<u64>| value.map(|value| value as f64);
                if let Some(seconds) = self.seconds.get_mut(bin) {
                    *seconds += line.span_s;
                }
                sum(&mut self.machine_busy_s, bin, line.cpu_share.map(|share| share * line.span_s));
                sum(&mut self.steal_s, bin, line.steal_share.map(|share| share * line.span_s));
                sum(&mut series.tcp_retransmitted, bin, float(line.tcp_retransmitted));
                sum(&mut series.rx_bytes_per_s, bin, float(line.rx_bytes));
                sum(&mut series.tx_bytes_per_s, bin, float(line.tx_bytes));
                greatest(&mut series.sockets, bin, float(line.sockets));
                greatest(&mut series.pause_max_ms, bin, line.pause_max_ms);
            }
            _ => {
                greatest(&mut series.thread_busy_max, bin, line.cpu_share);
                greatest(&mut series.run_queue_wait_max, bin, line.run_queue_wait_share);
            }
        }
    }

    fn finish(self) -> ClientSeries {
        let Self { mut series, seconds, machine_busy_s, steal_s } = self;
        let mean = |sums: &[Option<f64>]| {
            sums.iter().zip(&seconds).map(|(sum, s)| sum.filter(|_| *s > 0.0).map(|sum| sum / s)).collect()
        };
        series.machine_busy = mean(&machine_busy_s);
        series.steal = mean(&steal_s);
        series.rx_bytes_per_s = mean(&series.rx_bytes_per_s);
        series.tx_bytes_per_s = mean(&series.tx_bytes_per_s);
        let ClientSeries {
            thread_busy_max,
            machine_busy,
            run_queue_wait_max,
            steal,
            pause_max_ms,
            tcp_retransmitted: _,
            rx_bytes_per_s,
            tx_bytes_per_s,
            sockets: _,
        } = &mut series;
        for values in [
            thread_busy_max,
            machine_busy,
            run_queue_wait_max,
            steal,
            pause_max_ms,
            rx_bytes_per_s,
            tx_bytes_per_s,
        ] {
            values.iter_mut().flatten().for_each(|value| *value = rounded(*value, 4));
        }
        series
    }
}

fn sum(values: &mut [Option<f64>], bin: usize, amount: Option<f64>) {
    if let (Some(value), Some(amount)) = (values.get_mut(bin), amount) {
        *value = Some(value.unwrap_or(0.0) + amount);
    }
}

fn greatest(values: &mut [Option<f64>], bin: usize, candidate: Option<f64>) {
    if let (Some(value), Some(candidate)) = (values.get_mut(bin), candidate) {
        *value = Some(value.map_or(candidate, |value: f64| value.max(candidate)));
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
        ("busiest load thread", record.thread_busy_max, "share"),
        ("seconds with a thread above 85 %", record.thread_busy_over_85_share, "share"),
        ("longest wait for a processor", record.run_queue_wait_share_max, "share"),
        ("machine busy", record.machine_busy_share, "share"),
        ("taken by the hypervisor", record.steal_share, "share"),
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
