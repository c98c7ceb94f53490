//! A driver's machine on simulated time: its one load thread, what keeps that thread from running, and what the driver says
//! of itself, second by second.

use cosmark_metrics::{HealthSample, Latency, MachineHealth, NicHealth, QuotaHealth, ThreadHealth};
use cosmark_workload::choose::unit;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde::Deserialize;

use crate::store::exponential;

/// What is planted on one driver; the default is a healthy one on a machine that does nothing else.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DriverPlant {
    /// Processor time of one operation.
    pub cpu_us: f64,
    /// Short pauses that every machine has: how many a second, and how long in the mean.
    pub pauses_per_s: f64,
    pub pause_ms: f64,
    /// The process stands still (SIGSTOP).
    pub stopped: Vec<Stopped>,
    /// The process may use this share of a processor (a cgroup with a period of 100 ms).
    pub cpu_quota: Option<f64>,
    /// Other programs: the share of moments at which no processor is free, and how long one is waited for in the mean.
    pub rivals: Option<Rivals>,
    /// Its workers begin this late.
    pub late_s: f64,
    /// Nothing is heard of it from then on.
    pub lost_at_s: Option<f64>,
    /// Its wall clock is ahead.
    pub clock_ahead_ms: f64,
    /// How well that is known.
    pub clock_error_ms: f64,
    /// Its clock goes too fast.
    pub clock_fast_ppm: f64,
    /// The machine was suspended.
    pub suspended_ms: f64,
    /// Share of time that a hypervisor took.
    pub steal: f64,
    /// Share of the TCP segments that are sent again; each costs an operation 200 ms.
    pub resent: f64,
    /// Further away from the store than others, there and back.
    pub away_ms: f64,
    /// Speed of its link.
    pub link_bits_per_s: u64,
    /// Sockets in TIME_WAIT, of 28 000 ports.
    pub time_wait: u64,
    /// Share of the requests that its client sends twice inside one operation.
    pub retries: f64,
}

/// A time in which the process stands still.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stopped {
    pub at_s: f64,
    pub for_ms: f64,
    /// And again, so often.
    #[serde(default)]
    pub every_s: Option<f64>,
}

/// Programs beside it.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rivals {
    pub share: f64,
    pub wait_ms: f64,
}

impl Default for DriverPlant {
    fn default() -> Self {
        Self {
            cpu_us: 60.0,
            pauses_per_s: 0.5,
            pause_ms: 0.1,
            stopped: Vec::new(),
            cpu_quota: None,
            rivals: None,
            late_s: 0.0,
            lost_at_s: None,
            clock_ahead_ms: 0.0,
            clock_error_ms: 0.05,
            clock_fast_ppm: 0.5,
            suspended_ms: 0.0,
            steal: 0.0,
            resent: 0.0,
            away_ms: 0.0,
            link_bits_per_s: 10_000_000_000,
            time_wait: 4,
            retries: 0.0,
        }
    }
}

/// Period of a processor quota.
const PERIOD_S: f64 = 0.1;
/// Sleeps of 1 ms that fit into a second.
const NAPS_PER_S: u32 = 900;

#[derive(Debug, Clone, Copy, Default)]
struct Second {
    cpu_s: f64,
    waited_s: f64,
    received: u64,
    sent: u64,
    segments: u64,
    resent: u64,
}

/// The machine.
pub struct Machine {
    pub plant: DriverPlant,
    rng: Xoshiro256PlusPlus,
    /// When the load thread is free.
    free_s: f64,
    /// When the process did not run, in order; the quota adds to it.
    pauses: Vec<(f64, f64)>,
    at_pause: usize,
    /// Current period of the quota, and what of it is used.
    period: (u64, f64),
    throttled: Vec<(f64, f64)>,
    seconds: Vec<Second>,
}

impl Machine {
    pub fn new(plant: DriverPlant, seed: u64, length_s: f64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x00ca_11ed);
        let mut pauses = Vec::new();
        let mut at_s = exponential(&mut rng) / plant.pauses_per_s;
        while at_s < length_s {
            pauses.push((at_s, at_s + plant.pause_ms / 1000.0 * exponential(&mut rng)));
            at_s += exponential(&mut rng) / plant.pauses_per_s;
        }
        for stopped in &plant.stopped {
            let mut at_s = stopped.at_s;
            while at_s < length_s {
                pauses.push((at_s, at_s + stopped.for_ms / 1000.0));
                at_s += stopped.every_s.unwrap_or(f64::INFINITY);
            }
        }
        pauses.sort_by(|a, b| a.0.total_cmp(&b.0));
        let seconds = vec![Second::default(); length_s.ceil() as usize + 1];
        Self {
            plant,
            rng,
            free_s: 0.0,
            pauses,
            at_pause: 0,
            period: (0, 0.0),
            throttled: Vec::new(),
            seconds,
        }
    }

    /// The load thread has something to do that falls due at `at_s` and takes a part of an operation's processor time;
    /// gives when it has done it. Comes in the order of time.
    pub fn act(&mut self, at_s: f64, part: f64) -> f64 {
        let mut begins_s = self.running(at_s.max(self.free_s));
        if let Some(Rivals { share, wait_ms }) = self.plant.rivals
            && unit(&mut self.rng) < share
        {
            let waited_s = wait_ms / 1000.0 * exponential(&mut self.rng);
            self.second(begins_s).waited_s += waited_s;
            begins_s += waited_s;
        }
        let cpu_s = self.plant.cpu_us * 1e-6 * part;
        self.second(begins_s).cpu_s += cpu_s;
        let done_s = self.within_quota(begins_s, cpu_s);
        self.free_s = done_s;
        done_s
    }

    /// The next moment at which the process runs.
    fn running(&mut self, at_s: f64) -> f64 {
        while let Some((from_s, to_s)) = self.pauses.get(self.at_pause) {
            if at_s < *from_s {
                break;
            }
            if at_s < *to_s {
                return *to_s;
            }
            self.at_pause += 1;
        }
        at_s
    }

    /// Uses processor time; who has used up his share of a period waits for the next one.
    fn within_quota(&mut self, begins_s: f64, cpu_s: f64) -> f64 {
        let Some(quota) = self.plant.cpu_quota else { return begins_s + cpu_s };
        let (mut now_s, mut left_s) = (begins_s, cpu_s);
        loop {
            let period = (now_s / PERIOD_S).floor();
            if period as u64 != self.period.0 {
                self.period = (period as u64, 0.0);
            }
            let room_s = (quota * PERIOD_S - self.period.1).max(0.0);
            if left_s <= room_s {
                self.period.1 += left_s;
                return now_s + left_s;
            }
            left_s -= room_s;
            let next_s = (period + 1.0) * PERIOD_S;
            self.throttled.push((now_s + room_s, next_s));
            self.second(now_s).waited_s += next_s - now_s - room_s;
            self.period = (period as u64 + 1, 0.0);
            now_s = next_s;
        }
    }

    fn second(&mut self, at_s: f64) -> &mut Second {
        let last = self.seconds.len() - 1;
        &mut self.seconds[(at_s.max(0.0) as usize).min(last)]
    }

    /// Bytes went over its link.
    pub fn moved(&mut self, at_s: f64, received: u64, sent: u64) -> f64 {
        let lost = self.plant.resent;
        let segments = 2 + sent / 1448;
        let is_lost = lost > 0.0 && unit(&mut self.rng) < 1.0 - (1.0 - lost).powi(segments.min(50) as i32);
        let second = self.second(at_s);
        second.received += received;
        second.sent += sent;
        second.segments += segments;
        second.resent += u64::from(is_lost);
        if is_lost { 0.2 } else { 0.0 }
    }

    /// True for a request that its client repeats by itself.
    pub fn retries(&mut self) -> bool {
        self.plant.retries > 0.0 && unit(&mut self.rng) < self.plant.retries
    }

    /// What the driver says of itself about each second up to `until_s`; its clock said `origin_ns` at the start.
    pub fn health(&mut self, origin_ns: u64, until_s: f64) -> Vec<HealthSample> {
        let quiet = self.quiet_second();
        let mut all: Vec<(f64, f64)> = self.pauses.iter().chain(&self.throttled).copied().collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut pauses = all.into_iter().peekable();
        let stopped_in = |second: usize| {
            let own = self.throttled.iter().filter(|stop| stop.1 as usize == second).count() as u64;
            let periods = (1.0 / PERIOD_S).round() as u64;
            self.plant.cpu_quota.map(|_| QuotaHealth { periods, stopped: own.min(periods) })
        };
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        (0..until_s.ceil() as usize)
            .map(|at| {
                let own = self.seconds.get(at).copied().unwrap_or_default();
                let mut pause = quiet.clone();
                while let Some((from_s, to_s)) = pauses.next_if(|pause| pause.1 < (at + 1) as f64) {
                    // Once for each sleep that it swallowed.
                    let mut left_ns = ns(to_s - from_s);
                    while left_ns > 1_000_000 {
                        pause.record(left_ns);
                        left_ns -= 1_000_000;
                    }
                    pause.record(left_ns);
                }
                HealthSample {
                    at_ns: origin_ns + ns((at + 1) as f64),
                    span_ns: ns(1.0),
                    threads: vec![ThreadHealth {
                        name: "load-0".into(),
                        cpu_ns: ns(own.cpu_s.min(1.0)),
                        run_queue_wait_ns: Some(ns(own.waited_s.min(1.0))),
                    }],
                    process_cpu_ns: Some(ns(own.cpu_s)),
                    machine: Some(MachineHealth {
                        cpus: 2,
                        busy_ns: ns(own.cpu_s + own.waited_s),
                        steal_ns: Some(ns(2.0 * self.plant.steal)),
                    }),
                    quota: stopped_in(at),
                    pause,
                    tcp_segments_out: Some(own.segments),
                    tcp_segments_retransmitted: Some(own.resent),
                    nics: vec![NicHealth {
                        name: "eth0".into(),
                        rx_bytes: own.received + 60 * own.segments,
                        tx_bytes: own.sent + 60 * own.segments,
                        speed_bits_per_s: Some(self.plant.link_bits_per_s),
                    }],
                    sockets_in_use: Some(20),
                    sockets_time_wait: Some(self.plant.time_wait),
                    suspended_ns: Some(if at == 20 { ns(self.plant.suspended_ms / 1000.0) } else { 0 }),
                }
            })
            .collect()
    }

    /// What the thread that sleeps 1 ms at a time notes in a second without pauses.
    fn quiet_second(&mut self) -> Latency {
        let mut quiet = Latency::default();
        for _ in 0..NAPS_PER_S {
            let mut late_s = 0.000_055 + 0.000_02 * exponential(&mut self.rng);
            if let Some(Rivals { share, wait_ms }) = self.plant.rivals
                && unit(&mut self.rng) < share
            {
                late_s += wait_ms / 1000.0 * exponential(&mut self.rng);
            }
            quiet.record((late_s * 1e9) as u64);
        }
        quiet
    }
}
