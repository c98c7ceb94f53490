//! Which of several endpoints the next request goes to.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::channel::Channel;
use super::client::S3Client;
use super::config::Config;

/// How a worker chooses among several endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DoorChoice {
    /// Each worker keeps to one; workers take them in turn.
    Sticky,
    /// Each request goes to the next one.
    RoundRobin,
    /// Each request goes to the one with the fewest requests of this driver in flight.
    LeastBusy,
}

impl DoorChoice {
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
    fn least(&self, from: usize) -> usize {
        let count = self.0.len().max(1);
        let load = |at: &usize| self.0.get(*at).map_or(0, |one| one.load(Ordering::Relaxed));
        (0..count).map(|step| (from + step) % count).min_by_key(load).unwrap_or(0)
    }
}

/// A request in flight; dropped when it is over or given up.
pub(super) struct Busy {
    config: Arc<Config>,
    at: usize,
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(count) = self.config.in_flight.0.get(self.at) {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl S3Client {
    /// Makes the chosen endpoint's connection the main one, for the request that comes now.
    pub(super) fn choose_door(&mut self) -> Option<Busy> {
        let count = self.config.doors.len();
        if count < 2 || self.config.door_choice == DoorChoice::Sticky {
            return None;
        }
        let next = (self.at + 1) % count;
        if self.config.door_choice == DoorChoice::RoundRobin {
            self.turn_to(next);
            return None;
        }
        let at = self.config.in_flight.least(next);
        self.turn_to(at);
        self.config.in_flight.0.get(at)?.fetch_add(1, Ordering::Relaxed);
        Some(Busy { config: Arc::clone(&self.config), at })
    }

    fn turn_to(&mut self, at: usize) {
        if at == self.at {
            return;
        }
        let (Some(door), Ok(keys)) = (self.config.doors.get(at).cloned(), self.config.keys(&self.session))
        else {
            return;
        };
        self.parked.resize_with(self.config.doors.len(), || None);
        let channel = self.parked[at].take().unwrap_or_else(|| Channel::new(&self.config, &door, &keys));
        self.parked[self.at] = Some(std::mem::replace(&mut self.main, channel));
        (self.at, self.door) = (at, door);
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
