//! What a stage did in each second of its load, all its works and drivers together.

use std::collections::BTreeMap;

use cosmark_metrics::{Latency, OpSnapshot, Outcome, SparseLatency};

/// More seconds are not kept: a day and a bit.
const MOST_SECONDS: usize = 100_000;

/// Sums of each second since the load began.
#[derive(Debug, Default, Clone)]
pub struct Seconds {
    /// Successes.
    pub ok: Vec<f64>,
    /// Failures.
    pub failed: Vec<f64>,
    /// Body bytes of successes.
    pub bytes: Vec<f64>,
    /// Response times of successes; of a closed loop without pacing they are service times.
    response: Vec<SparseLatency>,
    /// Failures by class, of the seconds that have any.
    errors: BTreeMap<usize, BTreeMap<Outcome, f64>>,
}

impl Seconds {
    /// Adds what was done from `start_ns` to `end_ns` after the load began. What reaches over several seconds is split as if it
    /// had been even; its times go to the second of its middle.
    #[expect(clippy::cast_precision_loss, reason = "counts of a second")]
    pub fn add(&mut self, start_ns: u64, end_ns: u64, op: &OpSnapshot) {
        const SECOND: u64 = 1_000_000_000;
        let end_ns = end_ns.max(start_ns + 1);
        let length = (end_ns - start_ns) as f64;
        let (first, last) = (start_ns / SECOND, (end_ns - 1) / SECOND);
        if last >= MOST_SECONDS as u64 || last - first > 60 {
            return;
        }
        self.reach(usize::try_from(last).unwrap_or(0) + 1);
        for second in first..=last {
            let from = start_ns.max(second * SECOND);
            let to = end_ns.min((second + 1) * SECOND);
            let share = (to - from) as f64 / length;
            let at = usize::try_from(second).unwrap_or(usize::MAX);
            for (series, count) in
                [(&mut self.ok, op.ok), (&mut self.failed, op.failed), (&mut self.bytes, op.bytes)]
            {
                if let Some(sum) = series.get_mut(at) {
                    *sum += count as f64 * share;
                }
            }
            for (class, count) in &op.errors {
                *self.errors.entry(at).or_default().entry(*class).or_default() += *count as f64 * share;
            }
        }
        let middle = usize::try_from((start_ns / 2 + end_ns / 2) / SECOND).unwrap_or(usize::MAX);
        if let Some(times) = self.response.get_mut(middle) {
            // Without pacing the two are the same, and a snapshot has them once.
            times.add(op.response_or_service());
        }
    }

    fn reach(&mut self, seconds: usize) {
        if self.ok.len() < seconds {
            self.ok.resize(seconds, 0.0);
            self.failed.resize(seconds, 0.0);
            self.bytes.resize(seconds, 0.0);
            self.response.resize_with(seconds, SparseLatency::default);
        }
    }

    /// How many seconds there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ok.len()
    }

    /// Nothing was done yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ok.is_empty()
    }

    /// Forgets what came after `seconds`: the load had ended, and what was in flight did.
    pub fn cut(&mut self, seconds: usize) {
        self.ok.truncate(seconds);
        self.failed.truncate(seconds);
        self.bytes.truncate(seconds);
        self.response.truncate(seconds);
        drop(self.errors.split_off(&seconds));
    }

    /// Failures of the seconds `from..to` by class.
    #[must_use]
    pub fn errors(&self, from: usize, to: usize) -> BTreeMap<String, f64> {
        let mut sums: BTreeMap<String, f64> = BTreeMap::new();
        for (class, count) in self.errors.range(from..to.max(from)).flat_map(|(_, of)| of) {
            *sums.entry(class.label()).or_default() += *count;
        }
        sums
    }

    /// Response times of the seconds `from..to` together.
    #[must_use]
    pub fn times(&self, from: usize, to: usize) -> Latency {
        let mut all = Latency::default();
        let part = self.response.get(from..to.min(self.response.len())).unwrap_or_default();
        part.iter().for_each(|one| all.merge(&one.latency()));
        all
    }
}
