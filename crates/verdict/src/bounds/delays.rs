//! What a client can have added to the time of an operation: for each cause, which share of the operations it can have made
//! longer by more than so much. No cause makes a time shorter.
//!
//! Pauses are those of a thread that only sleeps (jHiccup, G. Tene), less what nearly every nap is late by, the cost of waking. A moment
//! of a window lies in a pause with the probability that a nap of that thread does (PASTA: R. W. Wolff, Operations Research
//! 30, 1982); by Little's law what pauses take of a closed loop's time is spread over its operations.

use cosmark_metrics::results::Cause;
use cosmark_metrics::{ClientRecord, Latencies, SATURATED_SHARE};

use crate::evidence::{Evidence, OperationEvidence, Pacing};

/// How a delay is distributed.
#[derive(Debug, Clone, PartialEq)]
enum Law {
    /// At most this share is delayed by more than so many ms; by growing ms. Nothing is known below the first.
    Steps(Vec<(f64, f64)>),
    /// This share is, exponentially with this mean in ms, and none by more than the last.
    Exponential { share: f64, mean_ms: f64, most_ms: f64 },
    /// Nothing but the mean is known (Markov's inequality).
    Mean(f64),
}

/// One cause.
#[derive(Debug, Clone, PartialEq)]
struct Delay {
    cause: Cause,
    law: Law,
    /// So many times as many operations meet it.
    chances: f64,
    /// Where only one operation of each worker can meet it, the mean time of an operation in ms.
    one_each_ms: Option<f64>,
    /// Added to every delay, ms: what may come together.
    more_ms: f64,
    /// The mean delay, ms, where it was measured and does not have to be limited by the law.
    mean_ms: Option<f64>,
}

/// What the client can have added to one kind of times of one operation: driver by driver, with its share of the operations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Added {
    drivers: Vec<(f64, Vec<Delay>)>,
}

impl Law {
    fn share_beyond(&self, ms: f64) -> f64 {
        match self {
            Self::Steps(steps) => {
                let reached = steps.partition_point(|(from_ms, _)| *from_ms <= ms);
                reached.checked_sub(1).and_then(|at| steps.get(at)).map_or(1.0, |(_, share)| *share)
            }
            Self::Exponential { most_ms, .. } if ms >= *most_ms => 0.0,
            Self::Exponential { share, mean_ms, .. } => share * (-ms / mean_ms.max(1e-9)).exp(),
            Self::Mean(mean_ms) if *mean_ms <= 0.0 => 0.0,
            Self::Mean(mean_ms) => (mean_ms / ms.max(1e-9)).min(1.0),
        }
    }

    /// Where it is worth looking.
    fn places_ms(&self) -> Vec<f64> {
        match self {
            Self::Steps(steps) => steps.iter().map(|(ms, _)| *ms).collect(),
            Self::Exponential { most_ms, .. } if most_ms.is_finite() => vec![*most_ms],
            _ => Vec::new(),
        }
    }
}

impl Delay {
    fn new(cause: Cause, law: Law) -> Self {
        Self { cause, law, chances: 1.0, one_each_ms: None, more_ms: 0.0, mean_ms: None }
    }

    fn share_beyond(&self, ms: f64) -> f64 {
        let ms = ms - self.more_ms;
        if ms < 0.0 {
            return 1.0;
        }
        let met = self.chances * self.law.share_beyond(ms);
        let one_each = self.one_each_ms.filter(|_| ms > 0.0).map_or(f64::INFINITY, |time_ms| {
            // So many pauses of more than that there are per ms; each meets one operation of each worker.
            2.0 * self.chances * self.law.share_beyond(ms / 2.0) * time_ms / ms
        });
        met.min(one_each).min(1.0)
    }
}

impl Delay {
    /// How many operations are delayed by so much: what lies between two places is counted at the longer one.
    fn masses(&self, places_ms: &[f64]) -> Vec<f64> {
        let mut left = 1.0_f64;
        let last = places_ms.len().saturating_sub(1);
        let mass = |(at, ms): (usize, &f64)| {
            let beyond = if at == last { 0.0 } else { self.share_beyond(*ms).min(left) };
            let mass = left - beyond;
            left = beyond;
            mass
        };
        places_ms.iter().enumerate().map(mass).collect()
    }

    /// The greatest mean, ms: the sum over all delays of the share that is longer.
    fn mean_ms(&self, places_ms: &[f64]) -> f64 {
        if let Some(mean_ms) = self.mean_ms {
            return mean_ms;
        }
        if let Law::Mean(mean_ms) = self.law {
            return self.chances * mean_ms;
        }
        let parts = places_ms.iter().zip(places_ms.iter().skip(1));
        let (mut sum, mut least) = (0.0, f64::INFINITY);
        for (from, to) in parts {
            if let Some(time_ms) = self.one_each_ms {
                // What is above this is taken from the workers' time, of which an operation is a part.
                least = least.min(sum + self.chances * self.law.share_beyond(*from) * time_ms);
            }
            sum += (to - from) * self.share_beyond(*from);
        }
        sum.min(least)
    }
}

/// The published shares of a distribution as steps.
fn steps_of(times: &Latencies) -> Vec<(f64, f64)> {
    let published = [
        (times.min, 1.0),
        (times.p50, 0.5),
        (times.p60, 0.4),
        (times.p80, 0.2),
        (times.p90, 0.1),
        (times.p95, 0.05),
        (times.p99, 0.01),
        (times.p99_9, 0.001),
        (times.p99_99, 0.0001),
        (times.max, 0.0),
    ];
    let known = published.into_iter().filter_map(|(ms, share)| Some((ms?, share)));
    in_order(known.collect())
}

/// By growing time; each step has at most the share of those before it.
fn in_order(mut steps: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    steps.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
    steps
}

/// Reads of this size take one look at the socket.
const BYTES_PER_LOOK: f64 = 65_536.0;
/// Pauses up to this are hidden by what the sockets hold while a body arrives.
const HIDDEN_MS: f64 = 1.0;
/// A second that has more load than this is taken for one that has this much.
const FULL: f64 = 0.97;
/// An operation that is sent late may hold up those that are in the store with it, so many of them at most.
const MOST_HELD_UP: f64 = 10.0;

/// Load threads wait at most so many times as often as a thread that does nothing, and longer where that is not enough.
const MOST_CHANCES: f64 = 10.0;
/// No delay is longer: an hour, ms.
const MOST_MS: f64 = 3.6e6;

/// What is known of an operation.
struct Operation {
    /// Mean service time, ms.
    time_ms: f64,
    /// How often the client must act for it after it was sent.
    looks: f64,
    /// Operations per second of one load thread.
    rate_per_s: f64,
    /// In flight on one load thread.
    in_flight: f64,
    is_open: bool,
}

impl Added {
    /// To the times from the moment of sending.
    #[must_use]
    pub fn after_sending(evidence: &Evidence, op: &OperationEvidence) -> Self {
        Self::stamped(op).unwrap_or_else(|| Self::by_health(evidence, op))
    }

    /// The same by the kernel's time stamps; `None` where there are none.
    #[must_use]
    pub fn stamped(op: &OperationEvidence) -> Option<Self> {
        let measured = op.client_share.as_ref().filter(|share| share.count > 0)?;
        let law = Law::Steps(steps_of(measured));
        let delay = Delay { mean_ms: measured.mean, ..Delay::new(Cause::Measured, law) };
        Some(Self { drivers: vec![(1.0, vec![delay])] })
    }

    /// The same by what each driver saw of its machine, whether or not there are stamps.
    #[must_use]
    pub fn by_health(evidence: &Evidence, op: &OperationEvidence) -> Self {
        let weights = weights(evidence, op);
        let drivers = evidence.clients.iter().zip(weights);
        Self {
            drivers: drivers.map(|(client, weight)| (weight, after(evidence, op, client, weight))).collect(),
        }
    }

    /// To the times from the moment at which operations were due: the same, and what was sent late.
    #[must_use]
    pub fn after_due(evidence: &Evidence, op: &OperationEvidence) -> Self {
        let mut added = Self::after_sending(evidence, op);
        if let Some(lag) = op.lag.as_ref().filter(|lag| lag.count > 0) {
            let held_up = op.in_flight_mean.unwrap_or(0.0).clamp(0.0, MOST_HELD_UP - 1.0);
            let chances = 1.0 + held_up;
            let late = Delay { chances, ..Delay::new(Cause::Lag, Law::Steps(steps_of(lag))) };
            if added.drivers.is_empty() {
                added.drivers.push((1.0, Vec::new()));
            }
            added.drivers.iter_mut().for_each(|(_, delays)| delays.push(late.clone()));
        }
        added
    }

    /// Of these causes alone.
    #[must_use]
    pub fn only(&self, causes: &[Cause]) -> Self {
        let own =
            |delays: &[Delay]| delays.iter().filter(|delay| causes.contains(&delay.cause)).cloned().collect();
        Self { drivers: self.drivers.iter().map(|(weight, delays)| (*weight, own(delays))).collect() }
    }

    /// The causes that there are.
    #[must_use]
    pub fn causes(&self) -> Vec<Cause> {
        let mut causes: Vec<Cause> =
            self.drivers.iter().flat_map(|(_, delays)| delays.iter().map(|delay| delay.cause)).collect();
        causes.sort_unstable();
        causes.dedup();
        causes
    }

    /// How long a delay may be, ms, and the greatest share of the operations that was made longer by more, up to `most_ms`.
    /// Causes are independent of each other: the law of their sum is the convolution of theirs.
    #[must_use]
    pub fn curve(&self, most_ms: f64) -> Vec<(f64, f64)> {
        let places = self.places_ms(most_ms);
        let mut sums = vec![0.0; places.len()];
        for (weight, delays) in &self.drivers {
            let laws = delays.iter().map(|delay| delay.masses(&places));
            let law = laws.reduce(|sum, law| convolved(&sum, &law, &places));
            for (sum, mass) in sums.iter_mut().zip(law.unwrap_or_default()) {
                *sum += weight * mass;
            }
        }
        let mut left: f64 = sums.iter().sum();
        let curve = places.into_iter().zip(sums).map(|(ms, mass)| {
            left = (left - mass).max(0.0);
            (ms, left.min(1.0))
        });
        let mut curve: Vec<(f64, f64)> = curve.collect();
        // Of places between which nobody was delayed the first says all.
        curve.dedup_by(|next, last| (last.1 - next.1).abs() < 1e-9);
        curve
    }

    /// Where its share changes, ms: every step of a cause, and some places in each power of ten from a microsecond on.
    fn places_ms(&self, most_ms: f64) -> Vec<f64> {
        const IN_TEN: i32 = 10;
        let delays = || self.drivers.iter().flat_map(|(_, delays)| delays);
        let mut places: Vec<f64> = vec![0.0];
        places.extend(
            delays().flat_map(|delay| delay.law.places_ms().into_iter().map(|ms| ms + delay.more_ms)),
        );
        let grid = (-3 * IN_TEN..).map(|part| 10_f64.powf(f64::from(part) / f64::from(IN_TEN)));
        places.extend(grid.take_while(|ms| *ms < most_ms));
        places.retain(|ms| *ms < most_ms);
        places.push(most_ms);
        places.sort_by(f64::total_cmp);
        places.dedup();
        places
    }

    /// The greatest mean, ms.
    #[must_use]
    pub fn mean_ms(&self) -> f64 {
        let places = self.places_ms(MOST_MS);
        let of_driver = |delays: &[Delay]| delays.iter().map(|delay| delay.mean_ms(&places)).sum::<f64>();
        self.drivers.iter().map(|(weight, delays)| weight * of_driver(delays)).sum()
    }
}

/// The law of the sum of two delays at these places; what lies between two of them is shared out so that the mean stays.
fn convolved(one: &[f64], other: &[f64], places_ms: &[f64]) -> Vec<f64> {
    const NOTHING: f64 = 1e-12;
    let mut sum = vec![0.0; places_ms.len()];
    let last = places_ms.len().saturating_sub(1);
    for (ms, mass) in places_ms.iter().zip(one) {
        for (other_ms, other_mass) in places_ms.iter().zip(other) {
            let (both_ms, both) = (ms + other_ms, mass * other_mass);
            if both < NOTHING {
                continue;
            }
            let above = places_ms.partition_point(|place| *place < both_ms).min(last);
            let (from_ms, to_ms) = (places_ms[above.saturating_sub(1)], places_ms[above]);
            let part =
                if to_ms > from_ms { ((both_ms - from_ms) / (to_ms - from_ms)).clamp(0.0, 1.0) } else { 1.0 };
            sum[above] += both * part;
            sum[above.saturating_sub(1)] += both * (1.0 - part);
        }
    }
    sum
}

/// Which share of the operation each driver made.
#[expect(clippy::cast_precision_loss, reason = "a handful of drivers")]
fn weights(evidence: &Evidence, op: &OperationEvidence) -> Vec<f64> {
    let rate_of = |client: &ClientRecord| {
        op.drivers.iter().find(|driver| driver.driver == client.driver).map(|driver| driver.rate_per_s)
    };
    let rates: Option<Vec<f64>> = evidence.clients.iter().map(rate_of).collect();
    match rates.map(|rates| (rates.iter().sum::<f64>(), rates)) {
        Some((sum, rates)) if sum > 0.0 => rates.into_iter().map(|rate| rate / sum).collect(),
        _ => vec![1.0 / evidence.clients.len().max(1) as f64; evidence.clients.len()],
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts fit 53 bits")]
fn after(evidence: &Evidence, op: &OperationEvidence, client: &ClientRecord, weight: f64) -> Vec<Delay> {
    let threads = f64::from(client.load_threads.max(1));
    let ended = op.ended().max(1) as f64;
    let of_client = |all: f64| all * weight / threads;
    let reads = if op.kind == "read" { op.bytes as f64 / BYTES_PER_LOOK } else { 0.0 };
    let known = Operation {
        time_ms: op.service.mean.unwrap_or(0.0),
        looks: ((op.requests as f64).max(ended) + reads) / ended,
        // All operations of a work share its threads.
        rate_per_s: of_client(evidence.ended() as f64 / op.window_s.max(f64::MIN_POSITIVE)),
        in_flight: of_client(evidence.operations.iter().filter_map(|op| op.in_flight_mean).sum()),
        is_open: evidence.pacing_of(&op.work) == Some(Pacing::Open),
    };
    let mut delays = Vec::new();
    let pauses = pauses_of(client);
    let mean_pause_ms = pauses.as_ref().map_or(0.0, |steps| mean_of(steps));
    if let Some(steps) = &pauses {
        delays.push(paused(&known, steps));
    }
    delays.extend(waiting(&known, client, pauses, mean_pause_ms));
    delays.extend(busy(&known, client));
    delays
}

/// So many naps are late by the cost of waking at least; a little less, for what is late by just as much.
const USUAL_SHARE: f64 = 0.99;

/// The pauses of a driver as steps, less the cost of waking; `None` where nobody looked.
fn pauses_of(client: &ClientRecord) -> Option<Vec<(f64, f64)>> {
    let usual = client.pause_beyond.iter().rfind(|(_, share)| *share >= USUAL_SHARE);
    if let Some((usual_ms, _)) = usual.or(client.pause_beyond.first()) {
        let less = client.pause_beyond.iter().map(|(ms, share)| ((ms - usual_ms).max(0.0), *share));
        return Some(in_order(less.collect()));
    }
    let known = [(client.pause_p99_9_ms, 0.001), (client.pause_max_ms, 0.0)];
    let steps: Vec<_> = known.into_iter().filter_map(|(ms, share)| Some((ms?, share))).collect();
    (!steps.is_empty()).then(|| in_order(steps))
}

fn mean_of(steps: &[(f64, f64)]) -> f64 {
    let parts = steps.iter().zip(steps.iter().skip(1));
    parts.map(|((from, share), (to, _))| (to - from) * share).sum()
}

/// The machine paused: an operation meets it at each moment at which the client had to act for it.
fn paused(known: &Operation, steps: &[(f64, f64)]) -> Delay {
    let law = Law::Steps(steps.to_vec());
    // While a body arrives, pauses add up as far as the sockets do not hide them.
    let many = (known.looks - 1.0).max(0.0);
    let while_it_arrives = if many >= 1.0 { known.time_ms * law.share_beyond(HIDDEN_MS) } else { 0.0 };
    Delay {
        chances: known.looks.max(1.0),
        one_each_ms: (!known.is_open).then_some(known.time_ms),
        more_ms: while_it_arrives.min(many * mean_of(steps)),
        ..Delay::new(Cause::Pauses, law)
    }
}

/// Load threads waited for a processor, or the hypervisor took it. How much that is per operation is known on average; how it
/// is spread is taken from the pauses.
fn waiting(
    known: &Operation,
    client: &ClientRecord,
    pauses: Option<Vec<(f64, f64)>>,
    mean_pause_ms: f64,
) -> Option<Delay> {
    let share = client.run_queue_wait_share_max.unwrap_or(0.0) + client.steal_share.unwrap_or(0.0);
    let between_ms = 1000.0 / known.rate_per_s.max(1e-9);
    let residual_ms = client.pause_p99_9_ms.unwrap_or(f64::INFINITY);
    // The time that was waited, once for the operation that wakes the thread and for those that meet it waiting; and by
    // Little's law no more than that share of all time in flight.
    let mean_ms = (share * (between_ms + residual_ms)).min(share * known.time_ms);
    if mean_ms <= 0.0 || !mean_ms.is_finite() {
        return None;
    }
    let delay = match pauses {
        Some(steps) if mean_pause_ms > 0.0 => {
            // What is above the pauses that are counted already: more of them, and where they are not enough, longer ones.
            let chances = (mean_ms / mean_pause_ms - 1.0).clamp(0.0, MOST_CHANCES);
            if chances <= 0.0 {
                return None;
            }
            let met: Vec<_> = steps.iter().map(|(ms, share)| (*ms, (chances * share).min(1.0))).collect();
            let longer = ((mean_ms - mean_pause_ms) / mean_of(&met).max(1e-9)).max(1.0);
            let law = Law::Steps(steps.into_iter().map(|(ms, share)| (ms * longer, share)).collect());
            Delay { chances, ..Delay::new(Cause::RunQueue, law) }
        }
        _ => Delay::new(Cause::RunQueue, Law::Mean(mean_ms)),
    };
    Some(delay)
}

/// A load thread serves one operation after the other: the queue of a server of one (M/M/1), which is never longer than what
/// else is in flight on that thread.
fn busy(known: &Operation, client: &ClientRecord) -> Vec<Delay> {
    let Some(load) = client.thread_busy_max.filter(|load| *load > 0.0) else { return Vec::new() };
    let work_ms = 1000.0 * load / known.rate_per_s.max(1e-9);
    let most_ms =
        if known.is_open { f64::INFINITY } else { work_ms * 2.0 * (known.in_flight - 1.0).max(0.0) };
    let queue = |share: f64, load: f64| {
        let load = load.min(FULL);
        let law = Law::Exponential { share: share * load, mean_ms: work_ms / (1.0 - load), most_ms };
        Delay::new(Cause::BusyThreads, law)
    };
    let full = client.thread_busy_over_85_share.unwrap_or(0.0).clamp(0.0, 1.0);
    let mut delays = vec![queue(1.0, load)];
    if full > 0.0 && load < SATURATED_SHARE {
        delays.push(queue(full, FULL));
    }
    delays
}
