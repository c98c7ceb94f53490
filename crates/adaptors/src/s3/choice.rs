//! Choices among words that a storage's keys offer: which endpoint a request goes to, what becomes of versions.

use std::sync::atomic::{AtomicU32, Ordering};

/// How a worker chooses among several endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndpointChoice {
    /// Each worker keeps to one; workers take them in turn.
    Sticky,
    /// Each request goes to the next one.
    RoundRobin,
    /// Each request goes to the one with the fewest requests of this driver in flight.
    LeastBusy,
}

impl EndpointChoice {
    /// The words of the key `endpoint_choice`.
    pub(crate) const WORDS: &'static [&'static str] = &["sticky", "round-robin", "least-busy"];

    pub(crate) fn from_word(word: &str) -> Self {
        match word.to_ascii_lowercase().as_str() {
            "round-robin" => Self::RoundRobin,
            "least-busy" => Self::LeastBusy,
            _ => Self::Sticky,
        }
    }
}

/// Requests in flight at each endpoint, over all workers. Touched only where the choice goes by it.
#[derive(Debug, Default)]
pub(crate) struct InFlight(Vec<AtomicU32>);

impl InFlight {
    pub(crate) fn of(endpoints: usize) -> Self {
        Self((0..endpoints).map(|_| AtomicU32::new(0)).collect())
    }

    /// The least busy one; among equals the first from `from` on.
    pub(super) fn least(&self, from: usize) -> usize {
        let count = self.0.len().max(1);
        let load = |at: &usize| self.0.get(*at).map_or(0, |one| one.load(Ordering::Relaxed));
        (0..count).map(|step| (from + step) % count).min_by_key(load).unwrap_or(0)
    }

    /// One more at `at`; false where there is no such endpoint.
    pub(super) fn begin(&self, at: usize) -> bool {
        self.0.get(at).is_some_and(|count| {
            count.fetch_add(1, Ordering::Relaxed);
            true
        })
    }

    /// One less.
    pub(super) fn end(&self, at: usize) {
        if let Some(count) = self.0.get(at) {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// What `init` makes of a bucket's versioning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Versioning {
    /// Nothing is asked.
    Unchanged,
    Enabled,
    Suspended,
}

impl Versioning {
    pub(crate) const WORDS: &'static [&'static str] = &["unchanged", "enabled", "suspended"];

    pub(crate) fn from_word(word: &str) -> Self {
        match word.to_ascii_lowercase().as_str() {
            "enabled" => Self::Enabled,
            "suspended" => Self::Suspended,
            _ => Self::Unchanged,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_busy_one_is_taken_and_equals_in_turn() {
        let in_flight = InFlight::of(3);
        assert_eq!((in_flight.least(0), in_flight.least(2)), (0, 2));
        in_flight.0[0].store(2, Ordering::Relaxed);
        in_flight.0[1].store(1, Ordering::Relaxed);
        assert_eq!(in_flight.least(0), 2);
        in_flight.0[2].store(1, Ordering::Relaxed);
        assert_eq!((in_flight.least(0), in_flight.least(2)), (1, 2));
        assert_eq!(InFlight::default().least(5), 0);
    }
}
