//! A mergeable sum of samples.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::is_nothing;
use crate::{Latency, Outcome, PartSums, Sample, SizeClass, SizeClasses, TimeSums, WireSums};

/// Where in a run an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Phase {
    /// Before the measured window.
    Rampup,
    /// In the measured window: what the results are made of.
    Window,
    /// After the measured window, load still on.
    Rampdown,
    /// After the load was stopped: operations that were still in flight.
    Drain,
}

impl Phase {
    /// The word in files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Rampup => "rampup",
            Self::Window => "window",
            Self::Rampdown => "rampdown",
            Self::Drain => "drain",
        }
    }
}

/// How many different protocol codes one operation counts by name; the rest is counted as `other`.
const MOST_CODES: usize = 64;
/// The same of all drivers and slices together.
const MOST_CODES_OF_ALL: usize = 1024;

/// The sum of one operation's samples over some time, some workers, some drivers.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OpSnapshot {
    /// Successes.
    #[serde(skip_serializing_if = "is_nothing")]
    pub ok: u64,
    /// Failures.
    #[serde(skip_serializing_if = "is_nothing")]
    pub failed: u64,
    /// Body bytes of successes.
    #[serde(skip_serializing_if = "is_nothing")]
    pub bytes: u64,
    /// Body bytes of failures: what had arrived of a read, what the kernel had taken of a write.
    #[serde(skip_serializing_if = "is_nothing")]
    pub partial_bytes: u64,
    /// Successes that the store only accepted (Swift's 202).
    #[serde(skip_serializing_if = "is_nothing")]
    pub accepted_only: u64,
    /// Arrivals that were dropped for want of a free worker.
    #[serde(skip_serializing_if = "is_nothing")]
    pub missed: u64,
    /// Arrivals that had to wait for a free worker.
    #[serde(skip_serializing_if = "is_nothing")]
    pub delayed: u64,
    /// Requests on the wire.
    #[serde(skip_serializing_if = "is_nothing")]
    pub requests: u64,
    /// Retries among them.
    #[serde(skip_serializing_if = "is_nothing")]
    pub retries: u64,
    /// Connections opened.
    #[serde(skip_serializing_if = "is_nothing")]
    pub connections: u64,
    /// Logins made again because the store said 401.
    #[serde(skip_serializing_if = "is_nothing")]
    pub renewals: u64,
    /// Operations sent (or due) before the window's end that ended after it, or never.
    #[serde(skip_serializing_if = "is_nothing")]
    pub unfinished: u64,
    /// Arrivals that were due in the window (open loop), whatever became of them.
    #[serde(skip_serializing_if = "is_nothing")]
    pub intended: u64,
    /// Bodies that were compared with what they should be, successes and failures; listings that ended with all that must be in
    /// them.
    #[serde(skip_serializing_if = "is_nothing")]
    pub checked: u64,
    /// Time that operations spent in flight in this slice of time, whenever they ended: the integral of "in flight".
    #[serde(skip_serializing_if = "is_nothing")]
    pub in_flight_ns: u128,
    /// Time that what was in flight at the start of the window had been in flight by then: it is in the service times of
    /// what ended, and not in [`OpSnapshot::in_flight_ns`] of the window.
    #[serde(skip_serializing_if = "is_nothing")]
    pub age_at_start_ns: u128,
    /// Time that what was in flight at the end of the window (or was given up in it) had been in flight by then: it is in
    /// no service time.
    #[serde(skip_serializing_if = "is_nothing")]
    pub age_at_end_ns: u128,
    /// Workers that had done their share of a total within the window, while the time was not over. Kept with the first
    /// operation of their work.
    #[serde(skip_serializing_if = "is_nothing")]
    pub workers_done: u64,
    /// When they had, since the start of the window, all together.
    #[serde(skip_serializing_if = "is_nothing")]
    pub workers_done_at_ns: u128,
    /// Response times of successes; filled only where due and sent can differ (open loop, pacing).
    #[serde(skip_serializing_if = "is_nothing")]
    pub response: Latency,
    /// Service times of successes.
    #[serde(skip_serializing_if = "is_nothing")]
    pub service: Latency,
    /// Times to first byte of successes.
    #[serde(skip_serializing_if = "is_nothing")]
    pub first_byte: Latency,
    /// Service times of failures.
    #[serde(skip_serializing_if = "is_nothing")]
    pub failed_service: Latency,
    /// Times to open a connection, TLS included.
    #[serde(skip_serializing_if = "is_nothing")]
    pub connect: Latency,
    /// By how much arrivals were sent late though a worker was free.
    #[serde(skip_serializing_if = "is_nothing")]
    pub lag: Latency,
    /// Ages, at the end of the window, of what was due in it and had not finished.
    #[serde(skip_serializing_if = "is_nothing")]
    pub unfinished_age: Latency,
    /// Times on the wire of successes, where the system stamped them.
    #[serde(skip_serializing_if = "is_nothing")]
    pub wire: WireSums,
    /// What the times of successes went into.
    #[serde(skip_serializing_if = "is_nothing")]
    pub time: TimeSums,
    /// By size.
    #[serde(skip_serializing_if = "is_nothing")]
    pub sizes: SizeClasses,
    /// By endpoint, in the order of the target; empty unless it has several.
    #[serde(skip_serializing_if = "is_nothing")]
    pub endpoints: Vec<PartSums>,
    /// Failures by [`Outcome`].
    #[serde(skip_serializing_if = "is_nothing")]
    pub errors: BTreeMap<Outcome, u64>,
    /// Failures by the protocol's own code.
    #[serde(skip_serializing_if = "is_nothing")]
    pub codes: BTreeMap<String, u64>,
}

impl OpSnapshot {
    /// Empty, with the histograms of the hot path made.
    #[must_use]
    pub fn preallocated(paced: bool) -> Self {
        Self::made_of(paced, false, &mut Latency::preallocated)
    }

    /// The same from histograms that are at hand: `next` gives [`OpSnapshot::histograms`] of them, empty.
    #[must_use]
    pub fn made_of(paced: bool, stamped: bool, next: &mut dyn FnMut() -> Latency) -> Self {
        let mut only_if = |needed: bool| if needed { next() } else { Latency::default() };
        let (response, lag) = (only_if(paced), only_if(paced));
        let (times, added) = (only_if(stamped), only_if(stamped));
        let wire = WireSums { times, added, ..WireSums::default() };
        Self { response, lag, service: next(), first_byte: next(), wire, ..Self::default() }
    }

    /// Histograms that the hot path of one operation fills.
    #[must_use]
    pub fn histograms(paced: bool, stamped: bool) -> usize {
        2 + 2 * usize::from(paced) + 2 * usize::from(stamped)
    }

    /// Adds one sample; `paced` = due and sent can differ.
    #[inline]
    pub fn add(&mut self, sample: &Sample, paced: bool) {
        self.requests += u64::from(sample.requests);
        self.retries += u64::from(sample.retries);
        if sample.connections > 0 {
            self.connections += u64::from(sample.connections);
            self.connect.record(sample.connect_ns);
        }
        if sample.endpoint != 0 {
            self.endpoint_mut(sample.endpoint).add(sample, paced);
        }
        if !sample.outcome.is_ok() {
            self.failed += 1;
            if sample.asked_bytes != 0 {
                self.sizes.add_failure(SizeClass::of(sample.asked_bytes));
            }
            self.partial_bytes += sample.bytes;
            self.failed_service.record(sample.service_ns());
            *self.errors.entry(sample.outcome).or_default() += 1;
            return;
        }
        let class = SizeClass::of(sample.bytes);
        if self.sizes.is_news(class) {
            let mut sizes = std::mem::take(&mut self.sizes);
            sizes.meet(class, || self.successes());
            self.sizes = sizes;
        }
        if self.sizes.is_split() {
            self.sizes.part_mut(class).add(sample, paced);
        }
        self.ok += 1;
        self.bytes += sample.bytes;
        self.accepted_only += u64::from(sample.accepted_only);
        self.service.record(sample.service_ns());
        if paced {
            self.response.record(sample.response_ns());
        }
        if let Some(ns) = sample.time_to_first_byte_ns() {
            self.first_byte.record(ns);
        }
        if sample.wire.weight != 0 {
            self.wire.add(sample);
        }
        self.time.add(sample);
    }

    /// The sums of one endpoint, counted from 1.
    fn endpoint_mut(&mut self, endpoint: u16) -> &mut PartSums {
        let at = usize::from(endpoint).saturating_sub(1);
        if self.endpoints.len() <= at {
            self.endpoints.resize_with(at + 1, PartSums::default);
        }
        &mut self.endpoints[at]
    }

    /// Counts a protocol code; the number of different codes is bounded.
    pub fn add_code(&mut self, code: &str) {
        if let Some(count) = self.codes.get_mut(code) {
            *count += 1;
        } else {
            let code = if self.codes.len() < MOST_CODES { code } else { "other" };
            *self.codes.entry(code.to_owned()).or_default() += 1;
        }
    }

    /// Adds another snapshot of the same operation. Order does not matter.
    pub fn merge(&mut self, other: &Self) {
        let Self {
            ok,
            failed,
            bytes,
            partial_bytes,
            accepted_only,
            missed,
            delayed,
            requests,
            retries,
            connections,
            renewals,
            unfinished,
            intended,
            checked,
            in_flight_ns,
            age_at_start_ns,
            age_at_end_ns,
            workers_done,
            workers_done_at_ns,
            response,
            service,
            first_byte,
            failed_service,
            connect,
            lag,
            unfinished_age,
            wire,
            time,
            sizes: _,
            endpoints,
            errors,
            codes,
        } = other;
        // The classes first: they are made from sums that have not been merged yet.
        self.merge_classes(other);
        self.ok += ok;
        self.failed += failed;
        self.bytes += bytes;
        self.partial_bytes += partial_bytes;
        self.accepted_only += accepted_only;
        self.missed += missed;
        self.delayed += delayed;
        self.requests += requests;
        self.retries += retries;
        self.connections += connections;
        self.renewals += renewals;
        self.unfinished += unfinished;
        self.intended += intended;
        self.checked += checked;
        self.in_flight_ns += in_flight_ns;
        self.age_at_start_ns += age_at_start_ns;
        self.age_at_end_ns += age_at_end_ns;
        self.workers_done += workers_done;
        self.workers_done_at_ns += workers_done_at_ns;
        self.response.merge(response);
        self.service.merge(service);
        self.first_byte.merge(first_byte);
        self.failed_service.merge(failed_service);
        self.connect.merge(connect);
        self.lag.merge(lag);
        self.unfinished_age.merge(unfinished_age);
        self.wire.merge(wire);
        self.time.merge(time);
        for (endpoint, sums) in (1..=u16::MAX).zip(endpoints) {
            self.endpoint_mut(endpoint).merge(sums);
        }
        self.merge_errors(errors, codes);
    }

    fn merge_errors(&mut self, errors: &BTreeMap<Outcome, u64>, codes: &BTreeMap<String, u64>) {
        for (outcome, count) in errors {
            *self.errors.entry(*outcome).or_default() += count;
        }
        for (code, count) in codes {
            let is_known = self.codes.len() < MOST_CODES_OF_ALL || self.codes.contains_key(code);
            let code: &str = if is_known { code } else { "other" };
            *self.codes.entry(code.to_owned()).or_default() += count;
        }
    }

    fn merge_classes(&mut self, other: &Self) {
        let mut classes = std::mem::take(&mut self.sizes);
        classes.merge(&other.sizes, || self.successes(), || other.successes());
        self.sizes = classes;
    }

    /// Adds the counts of another one and leaves its distributions.
    pub fn merge_counts(&mut self, other: &Self) {
        let nothing = Latency::default;
        let counts = Self {
            response: nothing(),
            service: nothing(),
            first_byte: nothing(),
            failed_service: nothing(),
            connect: nothing(),
            lag: nothing(),
            unfinished_age: nothing(),
            wire: WireSums::default(),
            time: TimeSums::default(),
            sizes: SizeClasses::default(),
            endpoints: Vec::new(),
            errors: other.errors.clone(),
            codes: other.codes.clone(),
            ..*other
        };
        self.merge(&counts);
    }

    /// The whole of the operation as one part.
    #[must_use]
    pub fn whole(&self) -> PartSums {
        PartSums { failed: self.failed, ..self.successes() }
    }

    fn successes(&self) -> PartSums {
        PartSums {
            ok: self.ok,
            failed: 0,
            bytes: self.bytes,
            connections: self.connections,
            response: self.response.clone(),
            service: self.service.clone(),
            first_byte: self.first_byte.clone(),
            // Why the rest was not stamped is told of the whole.
            wire: WireSums { unstamped: BTreeMap::new(), ..self.wire.clone() },
            time: self.time,
        }
    }

    /// All that ended: successes and failures.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.ok + self.failed
    }

    /// The distribution that counts from due: the service times where due and sent are the same.
    #[must_use]
    pub fn response_or_service(&self) -> &Latency {
        if self.response.count() > 0 { &self.response } else { &self.service }
    }
}

/// The sums of one work's operations over one slice of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Index of the work in its stage.
    pub work: u16,
    /// Where in the run.
    pub phase: Phase,
    /// Start of the slice on the driver's clock.
    pub start_ns: u64,
    /// End of the slice.
    pub end_ns: u64,
    /// One entry per operation of the work, in its order.
    pub ops: Vec<OpSnapshot>,
}

impl Snapshot {
    /// Adds another one of the same work; the slice grows to cover both.
    pub fn merge(&mut self, other: &Self) {
        let Self { work: _, phase: _, start_ns, end_ns, ops } = other;
        self.start_ns = self.start_ns.min(*start_ns);
        self.end_ns = self.end_ns.max(*end_ns);
        for (ours, theirs) in self.ops.iter_mut().zip(ops) {
            ours.merge(theirs);
        }
    }

    /// True when nothing ended, and nothing was missed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ops.iter().all(|op| {
            op.total() == 0 && op.missed == 0 && op.renewals == 0 && op.unfinished == 0 && op.intended == 0
        })
    }
}
