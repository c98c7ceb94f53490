//! Whether the client itself may be why a trial missed its thresholds: the amount by which they were missed is held against
//! the amount by which the client can have delayed what it measured.
//!
//! Two facts bound that. In a queue that serves in order, requests that are sent at most d late are answered at most d later
//! (departures are monotone and homogeneous in arrivals: Baccelli, Cohen, Olsder, Quadrat, Synchronization and Linearity,
//! 1992). And what a client that had no processor for a share w of the time adds to requests that were underway for T on
//! average is w T on average, so that at most w T / y of them were delayed by more than y (Markov's inequality).

use cosmark_archive::{ClientRecord, OperationResult, StageRecord};
use cosmark_metrics::{Latencies, SATURATED_SHARE, STOPPED_SHARE};

/// By how much a condition was missed.
#[derive(Debug, Clone, PartialEq)]
pub enum Excess {
    /// For limits that are longer by so many ms: the share of requests that is certainly too many beyond them.
    Beyond(Vec<(f64, f64)>),
    /// The mean is certainly too long by so many ms.
    Mean(f64),
    /// The slowest, or what was not done in time, is late by so many ms.
    Most(f64),
    /// This share is missing of a rate, or too many failed.
    Share(f64),
}

/// How the client itself was doing in a trial; what is not known is 0 or empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientState {
    /// The machine was suspended, ms.
    pub suspended_ms: f64,
    /// A load thread used, or would have used, a whole processor, or a quota stopped the client: in words.
    pub saturated: Option<&'static str>,
    /// Greatest share of the time in which it could not work, and what took it.
    pub lost: (f64, &'static str),
    /// Longest pause of a thread that does nothing, ms.
    pub longest_ms: Option<f64>,
    /// Its operations.
    pub operations: Vec<Delays>,
}

/// What the client may have added to one operation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Delays {
    /// Mean time from due to done, ms; what was not done counts with its age.
    pub underway_ms: f64,
    /// Mean time by which it was sent late although a worker was free, ms.
    pub lag_mean_ms: f64,
    /// At most these shares were sent later than so many ms; ends with 0 and the greatest lag. Empty in a closed loop.
    pub lags: Vec<(f64, f64)>,
}

/// What waits behind a request that was sent late is late too: so many times the share of those that were sent late.
const SPREADS: f64 = 10.0;
/// An answer is received in several steps: so many of the longest pauses may come together.
const WAKES: f64 = 4.0;
/// Less lost time than this is no trouble.
const LEAST_LOST: f64 = 0.003;
/// Waiting for a processor below this share is usual.
const USUAL_WAITS: f64 = 0.05;
/// More saturated seconds than this are trouble, as in V5 of the verdict.
const MOST_SATURATED: f64 = 0.05;
/// A trial that decides nothing is spoiled when more than this share was delayed by this part of the limit.
const BLURRED: (f64, f64) = (0.01, 0.25);

impl ClientState {
    /// Of the stage of a trial, the worst driver.
    pub fn of(record: &StageRecord) -> Self {
        let operations = record.operations.iter().map(Delays::of).collect();
        Self { operations, ..Self::of_drivers(&record.clients) }
    }

    /// How it was doing in this trial or another of the same load: the worst of both.
    #[must_use]
    pub fn or_worse(mut self, other: &Self) -> Self {
        self.suspended_ms = self.suspended_ms.max(other.suspended_ms);
        self.saturated = self.saturated.or(other.saturated);
        if other.lost.0 > self.lost.0 {
            self.lost = other.lost;
        }
        self.longest_ms = [self.longest_ms, other.longest_ms].into_iter().flatten().reduce(f64::max);
        self.operations.extend(other.operations.iter().cloned());
        self
    }

    fn of_drivers(clients: &[ClientRecord]) -> Self {
        let worst = |value: fn(&ClientRecord) -> Option<f64>| {
            clients.iter().filter_map(value).reduce(f64::max).unwrap_or(0.0)
        };
        let waits = worst(|c| c.run_queue_wait_share_max);
        // A thread that waits for a processor while it would have work for all of one never shows as busy.
        let wanted = worst(|c| Some(c.thread_busy_max? + c.run_queue_wait_share_max.unwrap_or(0.0)));
        let lost = [
            (worst(|c| c.paused_share), "the client's machine was paused"),
            (worst(|c| c.steal_share), "the hypervisor took the processors"),
            (if waits > USUAL_WAITS { waits } else { 0.0 }, "load threads waited for a processor"),
        ];
        Self {
            suspended_ms: worst(|c| c.suspended_ms),
            saturated: if worst(|c| c.quota_stopped_share) > STOPPED_SHARE {
                Some(
                    "the client had used up its quota of processor time (cpu.max, docker --cpus, limits.cpu)",
                )
            } else if worst(|c| c.thread_busy_over_85_share) > MOST_SATURATED || wanted > SATURATED_SHARE {
                Some("a load thread had work for a whole processor")
            } else {
                None
            },
            lost: lost.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default(),
            longest_ms: clients.iter().filter_map(|c| c.pause_max_ms).reduce(f64::max),
            operations: Vec::new(),
        }
    }

    /// The trouble that explains this, if one does.
    pub fn explains(&self, excess: &Excess) -> Option<String> {
        if let Some(whole) = self.unusable() {
            return Some(whole);
        }
        let lost = self.lost_share();
        let explained = match excess {
            Excess::Beyond(parts) => {
                parts.iter().all(|(margin_ms, share)| *share <= self.delayed(*margin_ms))
            }
            Excess::Mean(ms) => self.greatest(|of| SPREADS * of.lag_mean_ms + lost * of.underway_ms) >= *ms,
            Excess::Most(ms) => self.greatest(Delays::longest_lag_ms) + self.longest_received_ms() >= *ms,
            Excess::Share(share) => lost > 0.0 && *share <= SPREADS * lost,
        };
        explained.then(|| self.text())
    }

    /// The trouble that may be why nothing was decided about a limit of so many ms.
    pub fn blurs(&self, limit_ms: Option<f64>) -> Option<String> {
        let (share, part) = BLURRED;
        let blurred = limit_ms.map_or(self.lost_share() > 0.0, |limit| self.delayed(part * limit) > share);
        self.unusable().or_else(|| blurred.then(|| self.text()))
    }

    /// Trouble without a measure of what it did.
    pub fn unusable(&self) -> Option<String> {
        if self.suspended_ms > 0.0 {
            return Some(format!("the client's machine was suspended for {:.0} ms", self.suspended_ms));
        }
        self.saturated.map(str::to_owned)
    }

    fn lost_share(&self) -> f64 {
        if self.lost.0 > LEAST_LOST { self.lost.0 } else { 0.0 }
    }

    fn longest_received_ms(&self) -> f64 {
        if self.lost_share() > 0.0 { WAKES * self.longest_ms.unwrap_or(f64::INFINITY) } else { 0.0 }
    }

    fn greatest(&self, of: impl Fn(&Delays) -> f64) -> f64 {
        self.operations.iter().map(of).fold(0.0, f64::max)
    }

    /// The greatest share of requests that the client can have made longer by more than `ms`: one half of it before they
    /// were sent, the other while they were underway.
    fn delayed(&self, ms: f64) -> f64 {
        let half_ms = ms / 2.0;
        let received = if half_ms < self.longest_received_ms() { self.lost_share() } else { 0.0 };
        self.greatest(|of| {
            let received = if received > 0.0 { received * of.underway_ms / half_ms } else { 0.0 };
            SPREADS * of.sent_later(half_ms) + received
        })
        .min(1.0)
    }

    fn text(&self) -> String {
        let (lost, what) = self.lost;
        let lag_ms = self.greatest(Delays::longest_lag_ms);
        if self.lost_share() > 0.0 {
            format!("{what} ({:.1} % of the time)", lost * 100.0)
        } else {
            format!("the client sent requests late (by up to {lag_ms:.0} ms)")
        }
    }
}

impl Delays {
    #[expect(clippy::cast_precision_loss, reason = "counts need no more than 53 bits")]
    fn of(op: &OperationResult) -> Self {
        let (done, left) = (op.ok as f64, op.unfinished as f64);
        let mean = |times: &Latencies| times.mean.unwrap_or(0.0);
        let underway = done * mean(&op.response_ms) + left * mean(&op.unfinished_age_ms);
        let lag = &op.lag_ms;
        let levels = [
            (0.5, lag.p50),
            (0.4, lag.p60),
            (0.2, lag.p80),
            (0.1, lag.p90),
            (0.05, lag.p95),
            (0.01, lag.p99),
            (0.001, lag.p99_9),
            (0.0, lag.max),
        ];
        Self {
            underway_ms: underway / (done + left).max(1.0),
            lag_mean_ms: mean(lag),
            lags: levels.into_iter().filter_map(|(share, ms)| Some((share, ms?))).collect(),
        }
    }

    fn longest_lag_ms(&self) -> f64 {
        self.lags.iter().map(|(_, ms)| *ms).fold(0.0, f64::max)
    }

    /// At most this share was sent later than by `ms`.
    fn sent_later(&self, ms: f64) -> f64 {
        let within = self.lags.iter().filter(|(_, lag_ms)| *lag_ms <= ms).map(|(share, _)| *share);
        within.reduce(f64::min).unwrap_or(if self.lags.is_empty() { 0.0 } else { 1.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that had no processor for this share of the time, 40 ms at most, and sent at most 30 ms late.
    fn busy(lost: f64, underway_ms: f64) -> ClientState {
        let lags = vec![(0.5, 0.2), (0.1, 8.0), (0.01, 25.0), (0.0, 30.0)];
        ClientState {
            lost: (lost, "load threads waited for a processor"),
            longest_ms: Some(40.0),
            operations: vec![Delays { underway_ms, lag_mean_ms: 3.0, lags }],
            ..ClientState::default()
        }
    }

    #[test]
    fn a_client_that_waited_a_little_does_not_explain_times_far_beyond_the_limit() {
        // 90 % may take 100 ms; half of all take longer than 900 ms.
        let far = Excess::Beyond(vec![(0.0, 0.85), (100.0, 0.8), (400.0, 0.6), (800.0, 0.4)]);
        assert_eq!(busy(0.07, 700.0).explains(&far), None);
        assert_eq!(busy(0.4, 700.0).explains(&far), None, "four pauses of 40 ms are no 200 ms");
        // Twice the limit could be its own doing.
        let near = Excess::Beyond(vec![(0.0, 0.3), (25.0, 0.2), (50.0, 0.1), (100.0, 0.0)]);
        let why = busy(0.4, 120.0).explains(&near).unwrap();
        assert!(why.contains("40.0 % of the time"), "{why}");
        // And a client that was well explains nothing.
        assert_eq!(ClientState::default().explains(&near), None);
    }

    #[test]
    fn a_client_that_sends_late_explains_what_waits_behind_it() {
        let mut client = busy(0.0, 50.0);
        let late = Excess::Beyond(vec![(0.0, 0.05), (50.0, 0.01)]);
        assert!(client.explains(&late).is_some_and(|why| why.contains("up to 30 ms")));
        let more = Excess::Beyond(vec![(0.0, 0.9), (50.0, 0.5)]);
        assert_eq!(client.explains(&more), None);
        client.operations[0].lags = vec![(0.5, 40.0), (0.0, 900.0)];
        assert!(client.explains(&more).is_some());
    }

    #[test]
    fn work_that_is_left_or_a_mean_is_explained_by_as_much_as_was_lost() {
        let client = busy(0.1, 200.0);
        // 30 ms of lag and four pauses of 40 ms.
        assert!(client.explains(&Excess::Most(180.0)).is_some());
        assert_eq!(client.explains(&Excess::Most(220.0)), None);
        // Ten times 3 ms of lag and a tenth of 200 ms.
        assert!(client.explains(&Excess::Mean(45.0)).is_some());
        assert_eq!(client.explains(&Excess::Mean(60.0)), None);
        assert!(client.explains(&Excess::Share(0.5)).is_some());
        assert_eq!(busy(0.0, 200.0).explains(&Excess::Share(0.01)), None);
    }

    #[test]
    fn a_client_without_a_measure_of_its_trouble_explains_everything() {
        let all = Excess::Beyond(vec![(0.0, 0.9), (10_000.0, 0.9)]);
        let suspended = ClientState { suspended_ms: 900.0, ..ClientState::default() };
        let saturated = ClientState { saturated: Some("full"), ..ClientState::default() };
        assert!(suspended.explains(&all).is_some() && saturated.explains(&all).is_some());
        assert!(suspended.blurs(None).is_some() && saturated.blurs(Some(10.0)).is_some());
    }

    #[test]
    fn a_trial_that_decides_nothing_is_spoiled_by_delays_of_the_size_of_its_limit() {
        assert!(busy(0.1, 100.0).blurs(Some(100.0)).is_some());
        assert_eq!(busy(0.1, 100.0).blurs(Some(10_000.0)), None);
        assert_eq!(ClientState::default().blurs(Some(1.0)), None);
    }

    #[test]
    fn a_thread_that_waits_for_the_processor_that_it_needs_is_saturated() {
        let client = |busy, wait| ClientRecord {
            thread_busy_max: Some(busy),
            run_queue_wait_share_max: Some(wait),
            pause_max_ms: Some(12.0),
            ..ClientRecord::default()
        };
        let words = |client: ClientRecord| ClientState::of_drivers(&[client]).saturated.unwrap_or_default();
        assert!(words(client(0.45, 0.45)).contains("load thread"));
        let stopped = |share| ClientRecord { quota_stopped_share: Some(share), ..client(0.02, 0.0) };
        assert!(words(stopped(0.9)).contains("quota"), "{}", words(stopped(0.9)));
        assert_eq!(words(stopped(0.1)), "");
        let state = ClientState::of_drivers(&[client(0.2, 0.04)]);
        assert!(state.saturated.is_none() && state.lost.0 == 0.0, "below 5 % is usual: {state:?}");
        let state = ClientState::of_drivers(&[client(0.2, 0.04), client(0.2, 0.3)]);
        assert_eq!((state.lost.0, state.longest_ms), (0.3, Some(12.0)), "the worst driver");
    }
}
