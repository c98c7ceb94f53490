//! How the load client itself was doing: processors, run queue, pauses, network. Pure data and its sums; who samples it is
//! no matter here. What a system does not tell is `None`, never 0.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Latency;
use crate::is_nothing;
use crate::results::{ClientRecord, NicRecord};

/// A load thread is called saturated in a sample when it was busier than this (share of one processor).
pub const SATURATED_SHARE: f64 = 0.85;

/// A client that used up its quota of processor time in more than this share of the periods has not the processors that it
/// needs.
pub const STOPPED_SHARE: f64 = 0.5;

/// A thread that sleeps 1 ms and wakes this much later was paused.
const PAUSE_NS: u64 = 10_000_000;
/// What that thread sleeps: it notes a pause once for each such nap that the pause swallowed.
const NAP_NS: u64 = 1_000_000;

/// One look (about a second) at one driver. Amounts are those of the span, levels those of its end.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HealthSample {
    /// End of the span on the driver's run clock, ns.
    #[serde(skip_serializing_if = "is_nothing")]
    pub at_ns: u64,
    /// Length of the span, ns.
    #[serde(skip_serializing_if = "is_nothing")]
    pub span_ns: u64,
    /// Load threads.
    #[serde(skip_serializing_if = "is_nothing")]
    pub threads: Vec<ThreadHealth>,
    /// Processor time of the whole process, ns.
    #[serde(skip_serializing_if = "is_nothing")]
    pub process_cpu_ns: Option<u64>,
    /// Processors of the machine.
    #[serde(skip_serializing_if = "is_nothing")]
    pub machine: Option<MachineHealth>,
    /// Quota of processor time of the control groups that the process is in.
    #[serde(skip_serializing_if = "is_nothing")]
    pub quota: Option<QuotaHealth>,
    /// By how much a thread that sleeps 1 ms at a time woke late; a pause of 3 ms is noted as 3, 2 and 1 ms, once for each
    /// sleep that it swallowed.
    #[serde(skip_serializing_if = "is_nothing")]
    pub pause: Latency,
    /// TCP segments sent by the process's connections to stores.
    #[serde(skip_serializing_if = "is_nothing")]
    pub tcp_segments_out: Option<u64>,
    /// Segments sent again among them.
    #[serde(skip_serializing_if = "is_nothing")]
    pub tcp_segments_retransmitted: Option<u64>,
    /// Network interfaces that moved bytes, the loopback included.
    #[serde(skip_serializing_if = "is_nothing")]
    pub nics: Vec<NicHealth>,
    /// TCP sockets in use on this machine.
    #[serde(skip_serializing_if = "is_nothing")]
    pub sockets_in_use: Option<u64>,
    /// TCP sockets in TIME_WAIT on this machine.
    #[serde(skip_serializing_if = "is_nothing")]
    pub sockets_time_wait: Option<u64>,
    /// Time for which the machine was suspended, ns.
    #[serde(skip_serializing_if = "is_nothing")]
    pub suspended_ns: Option<u64>,
}

/// One load thread over a span.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadHealth {
    /// Its name, e.g. `load-0`.
    #[serde(skip_serializing_if = "is_nothing")]
    pub name: String,
    /// Processor time, ns; without what it waited awake for due times.
    #[serde(skip_serializing_if = "is_nothing")]
    pub cpu_ns: u64,
    /// Time for which it was ready to run and got no processor, ns.
    #[serde(skip_serializing_if = "is_nothing")]
    pub run_queue_wait_ns: Option<u64>,
}

/// All processors of the machine over a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineHealth {
    /// Processors.
    #[serde(skip_serializing_if = "is_nothing")]
    pub cpus: u32,
    /// Time that they were not idle, summed over processors, ns.
    #[serde(skip_serializing_if = "is_nothing")]
    pub busy_ns: u64,
    /// Time that a hypervisor took away, summed over processors, ns.
    #[serde(skip_serializing_if = "is_nothing")]
    pub steal_ns: Option<u64>,
}

/// A quota of processor time over a span: the group that was stopped most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct QuotaHealth {
    /// Periods (100 ms each unless set otherwise) in which it had something to run.
    #[serde(skip_serializing_if = "is_nothing")]
    pub periods: u64,
    /// Periods among them in which it was stopped, because its quota was used up.
    #[serde(skip_serializing_if = "is_nothing")]
    pub stopped: u64,
}

/// Kinds of interfaces that stand for devices, as `DEVTYPE` in their `uevent` says it: their speed is that of these.
pub const STAND_FOR_DEVICES: [&str; 3] = ["bond", "vlan", "macvlan"];

/// Whether the speed that an interface says is one: that of a device, or of those that it stands for. The end of a pair in a
/// container says 10 Gbit/s whatever goes through it, a tunnel 10 Mbit/s (Linux kernel, drivers/net/veth.c and tun.c).
#[must_use]
pub fn has_a_speed(has_device: bool, uevent: &str) -> bool {
    let mut kinds = uevent.lines().filter_map(|line| line.strip_prefix("DEVTYPE="));
    has_device || kinds.any(|kind| STAND_FOR_DEVICES.contains(&kind))
}

/// One network interface over a span.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NicHealth {
    /// Its name, e.g. `eth0`.
    #[serde(skip_serializing_if = "is_nothing")]
    pub name: String,
    /// Bytes received.
    #[serde(skip_serializing_if = "is_nothing")]
    pub rx_bytes: u64,
    /// Bytes sent.
    #[serde(skip_serializing_if = "is_nothing")]
    pub tx_bytes: u64,
    /// Speed of the link, if it has one.
    #[serde(skip_serializing_if = "is_nothing")]
    pub speed_bits_per_s: Option<u64>,
}

/// Mergeable sums of [`HealthSample`]s of one driver.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HealthSummary {
    samples: u64,
    span_ns: u64,
    threads: BTreeMap<String, ThreadSums>,
    with_threads: u64,
    saturated: u64,
    process: Ratio,
    busy: Ratio,
    steal: Ratio,
    quota: QuotaHealth,
    cpus: Option<u32>,
    pause: Latency,
    suspended_ns: Option<u64>,
    segments_out: Option<u64>,
    segments_retransmitted: Option<u64>,
    nics: BTreeMap<String, NicPeak>,
    sockets_max: Option<u64>,
    time_wait_max: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct ThreadSums {
    cpu: Ratio,
    wait: Ratio,
}

/// A share: part of a whole, both in ns; nothing until something was added.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Ratio {
    part_ns: u64,
    whole_ns: u64,
}

/// Threads of a driver, and interfaces of its machine, that are told apart.
const MOST_PARTS: usize = 4096;

/// A shorter sample makes no peak of a link beside others: its bytes are read some milliseconds behind its clock, and
/// cards write them down by the second.
const SHORTEST_OF_PEAKS_NS: u64 = 500_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct NicPeak {
    rx_bytes_per_s: f64,
    tx_bytes_per_s: f64,
    speed_bits_per_s: Option<u64>,
}

impl Ratio {
    fn add(&mut self, part_ns: u64, whole_ns: u64) {
        self.part_ns = self.part_ns.saturating_add(part_ns);
        self.whole_ns = self.whole_ns.saturating_add(whole_ns);
    }

    /// How often the part holds the whole.
    fn times(self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
        (self.whole_ns > 0).then(|| self.part_ns as f64 / self.whole_ns as f64)
    }

    /// Of a whole that the part cannot exceed: the kernel counts in steps, and two counters are not read at one moment.
    fn share(self) -> Option<f64> {
        self.times().map(|times| times.min(1.0))
    }
}

/// Whether there is room for one of this name: a driver may give new names without end.
fn has_room<T>(parts: &BTreeMap<String, T>, name: &str) -> bool {
    parts.len() < MOST_PARTS || parts.contains_key(name)
}

/// Sum of two amounts of which either may be unknown; unknown only if both are.
fn plus(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.saturating_add(right)),
        (left, right) => left.or(right),
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds and milliseconds need no more than 53 bits")]
fn scaled(ns: u64, unit_ns: f64) -> f64 {
    ns as f64 / unit_ns
}

impl HealthSummary {
    /// What `samples` say, all of them; whose they are is left to the caller.
    #[must_use]
    pub fn of(samples: &[HealthSample]) -> ClientRecord {
        let mut summary = Self::default();
        samples.iter().for_each(|sample| summary.add(sample));
        summary.client()
    }

    /// Adds one sample.
    pub fn add(&mut self, sample: &HealthSample) {
        // Exhaustive, so that a new field cannot be forgotten here.
        let HealthSample {
            at_ns: _,
            span_ns,
            threads,
            process_cpu_ns,
            machine,
            quota,
            pause,
            tcp_segments_out,
            tcp_segments_retransmitted,
            nics,
            sockets_in_use,
            sockets_time_wait,
            suspended_ns,
        } = sample;
        if *span_ns == 0 {
            return;
        }
        self.samples += 1;
        self.span_ns = self.span_ns.saturating_add(*span_ns);
        self.add_threads(threads, *span_ns);
        if let Some(cpu_ns) = process_cpu_ns {
            self.process.add(*cpu_ns, *span_ns);
        }
        if let Some(MachineHealth { cpus, busy_ns, steal_ns }) = machine {
            self.cpus = self.cpus.max(Some(*cpus));
            let whole_ns = span_ns.saturating_mul(u64::from(*cpus));
            self.busy.add(*busy_ns, whole_ns);
            if let Some(steal_ns) = steal_ns {
                self.steal.add(*steal_ns, whole_ns);
            }
        }
        self.quota = self.quota.and(quota.unwrap_or_default());
        self.pause.merge(pause);
        self.suspended_ns = plus(self.suspended_ns, *suspended_ns);
        self.segments_out = plus(self.segments_out, *tcp_segments_out);
        self.segments_retransmitted = plus(self.segments_retransmitted, *tcp_segments_retransmitted);
        let tells_peaks = *span_ns >= SHORTEST_OF_PEAKS_NS || self.nics.is_empty();
        for NicHealth { name, rx_bytes, tx_bytes, speed_bits_per_s } in nics.iter().filter(|_| tells_peaks) {
            let seconds = scaled(*span_ns, 1e9);
            let peak = NicPeak {
                rx_bytes_per_s: scaled(*rx_bytes, seconds),
                tx_bytes_per_s: scaled(*tx_bytes, seconds),
                speed_bits_per_s: *speed_bits_per_s,
            };
            if has_room(&self.nics, name) {
                self.nics.entry(name.clone()).or_default().rise_to(peak);
            }
        }
        self.sockets_max = self.sockets_max.max(*sockets_in_use);
        self.time_wait_max = self.time_wait_max.max(*sockets_time_wait);
    }

    fn add_threads(&mut self, threads: &[ThreadHealth], span_ns: u64) {
        let mut saturated = false;
        for ThreadHealth { name, cpu_ns, run_queue_wait_ns } in threads {
            if has_room(&self.threads, name) {
                let sums = self.threads.entry(name.clone()).or_default();
                sums.cpu.add(*cpu_ns, span_ns);
                if let Some(wait_ns) = run_queue_wait_ns {
                    sums.wait.add(*wait_ns, span_ns);
                }
            }
            let one = Ratio { part_ns: *cpu_ns, whole_ns: span_ns };
            saturated |= one.share().is_some_and(|share| share > SATURATED_SHARE);
        }
        self.with_threads += u64::from(!threads.is_empty());
        self.saturated += u64::from(saturated);
    }

    /// Adds the sums of other samples of the same driver. Order does not matter.
    pub fn merge(&mut self, other: &Self) {
        let Self {
            samples,
            span_ns,
            threads,
            with_threads,
            saturated,
            process,
            busy,
            steal,
            quota,
            cpus,
            pause,
            suspended_ns,
            segments_out,
            segments_retransmitted,
            nics,
            sockets_max,
            time_wait_max,
        } = other;
        self.samples += samples;
        self.span_ns += span_ns;
        for (name, ThreadSums { cpu, wait }) in threads {
            let sums = self.threads.entry(name.clone()).or_default();
            sums.cpu.add(cpu.part_ns, cpu.whole_ns);
            sums.wait.add(wait.part_ns, wait.whole_ns);
        }
        self.with_threads += with_threads;
        self.saturated += saturated;
        self.process.add(process.part_ns, process.whole_ns);
        self.busy.add(busy.part_ns, busy.whole_ns);
        self.steal.add(steal.part_ns, steal.whole_ns);
        self.quota = self.quota.and(*quota);
        self.cpus = self.cpus.max(*cpus);
        self.pause.merge(pause);
        self.suspended_ns = plus(self.suspended_ns, *suspended_ns);
        self.segments_out = plus(self.segments_out, *segments_out);
        self.segments_retransmitted = plus(self.segments_retransmitted, *segments_retransmitted);
        for (name, peak) in nics {
            self.nics.entry(name.clone()).or_default().rise_to(*peak);
        }
        self.sockets_max = self.sockets_max.max(*sockets_max);
        self.time_wait_max = self.time_wait_max.max(*time_wait_max);
    }

    /// True when nothing was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// What they say; whose they are is left to the caller.
    #[must_use]
    pub fn client(&self) -> ClientRecord {
        let greatest = |shares: &mut dyn Iterator<Item = f64>| shares.reduce(f64::max);
        #[expect(clippy::cast_precision_loss, reason = "a count of seconds")]
        let saturated = (self.with_threads > 0).then(|| self.saturated as f64 / self.with_threads as f64);
        ClientRecord {
            seconds: scaled(self.span_ns, 1e9),
            cpus: self.cpus,
            thread_busy_max: greatest(&mut self.threads.values().filter_map(|sums| sums.cpu.share())),
            thread_busy_over_85_share: saturated,
            run_queue_wait_share_max: greatest(
                &mut self.threads.values().filter_map(|sums| sums.wait.share()),
            ),
            process_cpu_share: self.process.times(),
            machine_busy_share: self.busy.share(),
            steal_share: self.steal.share(),
            quota_stopped_share: self.quota.stopped_share(),
            pause_beyond: beyond(&self.pause),
            pause_p99_9_ms: self.pause.quantile_ns(0.999).map(|ns| scaled(ns, 1e6)),
            pause_max_ms: self.pause.max_ns().map(|ns| scaled(ns, 1e6)),
            paused_share: self.paused_share(),
            suspended_ms: self.suspended_ns.map(|ns| scaled(ns, 1e6)),
            tcp_segments_out: self.segments_out,
            tcp_retransmitted: self.segments_retransmitted,
            nics: self
                .nics
                .iter()
                .map(|(name, peak)| NicRecord {
                    name: name.clone(),
                    rx_bytes_per_s_max: peak.rx_bytes_per_s,
                    tx_bytes_per_s_max: peak.tx_bytes_per_s,
                    speed_bits_per_s: peak.speed_bits_per_s,
                })
                .collect(),
            sockets_max: self.sockets_max,
            time_wait_max: self.time_wait_max,
            ..ClientRecord::default()
        }
    }
}

/// So many naps are late by the cost of waking at least.
const USUAL_SHARE: f64 = 0.999;

/// Which share of the times is longer than the least, than each of ten places in a power of ten, and than the greatest.
#[expect(clippy::cast_precision_loss, reason = "shares and times need no more than 53 bits")]
fn beyond(times: &Latency) -> Vec<(f64, f64)> {
    /// Places in a power of ten.
    const IN_TEN: i32 = 10;
    let (Some(least), Some(most)) = (times.min_ns(), times.max_ns()) else { return Vec::new() };
    let (least_ms, most_ms) = (scaled(least, 1e6), scaled(most, 1e6));
    let places = (-4 * IN_TEN..=6 * IN_TEN).map(|place| 10_f64.powf(f64::from(place) / f64::from(IN_TEN)));
    let inside = places.filter(|ms| *ms > least_ms && *ms < most_ms);
    let share = |ms: f64| {
        let longer: u64 = times.steps().filter(|(ns, _)| scaled(*ns, 1e6) > ms).map(|(_, count)| count).sum();
        (ms, longer as f64 / times.count().max(1) as f64)
    };
    // What nearly every nap is late by is the cost of waking; the rest of a pause after its last nap may be less.
    let usual_ms = times.quantile_ns(1.0 - USUAL_SHARE).map_or(least_ms, |ns| scaled(ns, 1e6));
    let mut places: Vec<f64> = inside.collect();
    places.push(usual_ms);
    places.sort_by(f64::total_cmp);
    let ends = |ms: f64, share: f64| std::iter::once((ms, share));
    ends(least_ms, 1.0).chain(places.into_iter().map(share)).chain(ends(most_ms, 0.0)).collect()
}

impl HealthSummary {
    /// Each note stands for one nap. Of every long pause one note lies in the first nap beyond [`PAUSE_NS`]: it stands for the
    /// shorter notes of that pause, too.
    #[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
    fn paused_share(&self) -> Option<f64> {
        if self.pause.count() == 0 || self.span_ns == 0 {
            return None;
        }
        let long = self.pause.steps().filter(|(ns, _)| *ns >= PAUSE_NS);
        let naps = long.map(|(ns, count)| {
            let last = ns < PAUSE_NS + NAP_NS;
            count * if last { PAUSE_NS / NAP_NS } else { 1 }
        });
        Some((naps.sum::<u64>() as f64 * NAP_NS as f64 / self.span_ns as f64).min(1.0))
    }
}

impl QuotaHealth {
    fn and(self, other: Self) -> Self {
        Self { periods: self.periods + other.periods, stopped: self.stopped + other.stopped }
    }

    /// `None` without a quota: then no periods are counted.
    fn stopped_share(self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "counts of periods")]
        (self.periods > 0).then(|| self.stopped.min(self.periods) as f64 / self.periods as f64)
    }
}

impl NicPeak {
    fn rise_to(&mut self, other: Self) {
        self.rx_bytes_per_s = self.rx_bytes_per_s.max(other.rx_bytes_per_s);
        self.tx_bytes_per_s = self.tx_bytes_per_s.max(other.tx_bytes_per_s);
        self.speed_bits_per_s = self.speed_bits_per_s.max(other.speed_bits_per_s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn sample(busy: [f64; 2], pause_ms: u64) -> HealthSample {
        let mut pause = Latency::default();
        (1..=pause_ms).for_each(|left_ms| pause.record(left_ms * 1_000_000));
        let thread = |number: usize| ThreadHealth {
            name: format!("load-{number}"),
            cpu_ns: (busy[number] * 1e9) as u64,
            run_queue_wait_ns: Some(SECOND_NS / 10 * number as u64),
        };
        HealthSample {
            span_ns: SECOND_NS,
            threads: vec![thread(0), thread(1)],
            machine: Some(MachineHealth { cpus: 4, busy_ns: 2 * SECOND_NS, steal_ns: Some(SECOND_NS / 25) }),
            quota: Some(QuotaHealth { periods: 10, stopped: pause_ms.min(10) }),
            pause,
            tcp_segments_out: Some(100),
            nics: vec![NicHealth {
                name: "eth0".into(),
                rx_bytes: 10,
                tx_bytes: pause_ms,
                speed_bits_per_s: None,
            }],
            sockets_in_use: Some(pause_ms),
            ..HealthSample::default()
        }
    }

    #[test]
    fn the_busiest_thread_and_the_longest_pause_are_what_counts() {
        let health = HealthSummary::of(&[sample([0.9, 0.5], 3), sample([0.3, 0.5], 40)]);
        assert_eq!(health.thread_busy_max.map(|share| (share * 100.0).round()), Some(60.0));
        assert_eq!(health.thread_busy_over_85_share, Some(0.5));
        assert_eq!(health.run_queue_wait_share_max, Some(0.1));
        assert_eq!(health.steal_share, Some(0.01));
        assert_eq!(health.machine_busy_share, Some(0.5));
        assert_eq!(health.quota_stopped_share, Some(0.65), "3 and 10 of 10 periods each");
        assert_eq!(health.pause_max_ms.map(f64::round), Some(40.0));
        // 40 ms of 2 s; the pause of 3 ms is not long.
        assert!(health.paused_share.is_some_and(|share| (share - 0.02).abs() < 1e-3), "{health:?}");
        let late =
            |ms: f64| health.pause_beyond.iter().rfind(|(place, _)| *place <= ms).map(|(_, share)| *share);
        // 3 notes of 1 to 3 ms and 40 of 1 to 40 ms.
        assert!(late(1.0).is_some_and(|share| share == 1.0) && late(41.0) == Some(0.0), "{health:?}");
        assert!(late(10.0).is_some_and(|share| (share - 30.0 / 43.0).abs() < 0.03), "{health:?}");
        assert_eq!((health.tcp_segments_out, health.sockets_max), (Some(200), Some(40)));
        assert_eq!((health.nics[0].rx_bytes_per_s_max, health.nics[0].tx_bytes_per_s_max), (10.0, 40.0));
        assert_eq!(health.seconds, 2.0);
    }

    #[test]
    fn no_share_of_a_client_is_above_all_of_the_time_and_its_process_has_several_processors() {
        let more_ns = SECOND_NS / 100 * 114;
        let mut busy = HealthSample { process_cpu_ns: Some(more_ns), ..sample([1.14, 0.5], 3) };
        busy.threads[1].run_queue_wait_ns = Some(more_ns);
        busy.machine = Some(MachineHealth { cpus: 2, busy_ns: 2 * more_ns, steal_ns: Some(2 * more_ns) });
        let health = HealthSummary::of(&[busy]);
        for share in [
            health.thread_busy_max,
            health.run_queue_wait_share_max,
            health.machine_busy_share,
            health.steal_share,
        ] {
            assert_eq!(share, Some(1.0), "{health:?}");
        }
        assert_eq!(health.process_cpu_share, Some(1.14));
    }

    #[test]
    fn the_rest_of_a_second_makes_no_peak_of_a_link() {
        let rest = |bytes: u64| {
            let mut rest = HealthSample { span_ns: SECOND_NS / 500, ..sample([0.1, 0.1], 1) };
            rest.nics[0].rx_bytes = bytes;
            rest
        };
        let most = |samples: &[HealthSample]| HealthSummary::of(samples).nics[0].rx_bytes_per_s_max;
        // 2 ms by the clock, and what came in 10.
        assert_eq!(most(&[sample([0.1, 0.1], 1), rest(1)]), 10.0);
        // Where there is nothing else, it says what it can.
        assert_eq!(most(&[rest(1)]), 500.0);
    }

    #[test]
    fn threads_with_new_names_without_end_are_not_all_told_apart() {
        let mut summary = HealthSummary::default();
        for round in 0..3 {
            let thread = |name| ThreadHealth { name, cpu_ns: 1, run_queue_wait_ns: Some(u64::MAX) };
            let threads = (0..3000).map(|n| thread(format!("{round}-{n}")));
            let nics = (0..3000).map(|n| NicHealth { name: format!("{round}-{n}"), ..NicHealth::default() });
            summary.add(&HealthSample {
                span_ns: u64::MAX,
                threads: threads.collect(),
                nics: nics.collect(),
                ..HealthSample::default()
            });
        }
        assert_eq!((summary.threads.len(), summary.nics.len()), (MOST_PARTS, MOST_PARTS));
    }

    #[test]
    fn what_the_system_does_not_tell_is_none_and_never_zero() {
        let silent = HealthSample { span_ns: SECOND_NS, ..HealthSample::default() };
        let health = HealthSummary::of(&[silent]);
        assert_eq!(health, ClientRecord { seconds: 1.0, ..ClientRecord::default() });
        assert_eq!(HealthSummary::of(&[]), ClientRecord::default());
    }

    #[test]
    fn merged_sums_are_those_of_all_samples() {
        let samples =
            [sample([0.9, 0.5], 3), sample([0.3, 0.5], 40), HealthSample::default(), sample([1.0, 0.1], 7)];
        let sum = |part: &[HealthSample]| {
            let mut summary = HealthSummary::default();
            part.iter().for_each(|sample| summary.add(sample));
            summary
        };
        let (mut left, mut right) = (sum(&samples[..1]), sum(&samples[1..]));
        let parts = (left.clone(), right.clone());
        left.merge(&parts.1);
        right.merge(&parts.0);
        assert_eq!(left, sum(&samples));
        assert_eq!(right, sum(&samples));
    }
}
