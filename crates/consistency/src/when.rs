//! When a change is looked at: at drawn times, close behind the last miss that is known, and on and on while nothing is seen. Times
//! that stand still would meet a window only by where they stand: one of 4 s would be called 2 s long between looks at 2 s and 5 s.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use cosmark_stats::bootstrap::Random;

use crate::{Class, OFFSETS_MS, SHORT};

/// Looks behind the last miss of a class: one each up to so many times its time.
const CLOSER: [f64; 3] = [1.1, 1.5, 3.0];
/// Who waits for a change to be seen looks again after so many times the time that has passed.
const STEP: f64 = 1.03;
/// A change is seen when so many looks in a row see it.
const CALM: u32 = 8;
/// Waits for each class: one store shows some readers a change long before others.
const MOST_WAITS: u32 = 3;
/// Behind the last step is not looked, and this share before it is.
const LAST_MS: u64 = OFFSETS_MS[OFFSETS_MS.len() - 1];
const LAST_FROM: f64 = 0.9;

/// One look at the store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    pub(crate) class: Class,
    /// Which change was looked at: looks of one are not independent of each other.
    pub(crate) change: u64,
    /// From the acknowledgement to the begin of the request, ns.
    pub(crate) after_ns: u64,
    pub(crate) is_stale: bool,
    /// It was sent only because those before it had missed the change: how many of these miss it says nothing of how often
    /// a look does.
    pub(crate) is_further: bool,
}

/// What is known of a class.
#[derive(Default)]
struct Known {
    /// Time of the last miss.
    longest: Duration,
    waits: u32,
    /// Somebody waits.
    is_waited: bool,
}

/// Draws times and remembers what was missed.
pub(crate) struct When {
    random: RefCell<Random>,
    known: RefCell<BTreeMap<Class, Known>>,
}

impl When {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: RefCell::new(Random::new(seed)), known: RefCell::default() }
    }

    /// Times after an acknowledgement, in order: one in every `every`-th step of [`OFFSETS_MS`], drawn evenly over the logarithm, and
    /// those behind the last miss. Probes that are not long end with the steps of a second.
    pub(crate) fn offsets(&self, class: Class, every: usize, is_long: bool, left: Duration) -> Vec<Duration> {
        let steps = if is_long { OFFSETS_MS.len() } else { SHORT };
        let mut offsets: Vec<Duration> =
            (0..steps).step_by(every.max(1)).map(|at| self.in_step(at)).collect();
        let most = OFFSETS_MS.get(steps).copied().unwrap_or(LAST_MS);
        let longest = self.known.borrow().get(&class).map(|known| known.longest);
        if let Some(longest) = longest.filter(|longest| *longest <= Duration::from_millis(most)) {
            let draw = |to: &f64| longest.mul_f64(1.0 + (to - 1.0) * self.random.borrow_mut().unit());
            offsets.extend(CLOSER.iter().map(draw));
        }
        offsets.retain(|offset| *offset <= left.min(Duration::from_millis(LAST_MS)));
        offsets.sort_unstable();
        offsets
    }

    fn in_step(&self, at: usize) -> Duration {
        let ms = |at: usize| OFFSETS_MS.get(at).map(|ms| *ms as f64);
        let begin = ms(at).unwrap_or_default();
        let (begin, end) = ms(at + 1).map_or((begin * LAST_FROM, begin), |end| (begin, end));
        if begin <= 0.0 {
            return Duration::ZERO;
        }
        let drawn = begin * (end / begin).powf(self.random.borrow_mut().unit());
        Duration::from_secs_f64(drawn / 1e3)
    }

    pub(crate) fn note(&self, look: &Look) {
        if look.is_stale {
            let mut known = self.known.borrow_mut();
            let known = known.entry(look.class).or_default();
            known.longest = known.longest.max(Duration::from_nanos(look.after_ns));
        }
    }

    /// Whether a change whose looks came to this is to be looked at until it is seen. One of a class at a time is; other keys go on
    /// with their changes.
    pub(crate) fn wait(&self, class: Class, looks: &[Look]) -> Option<Wait> {
        let last_ns = looks.iter().map(|look| look.after_ns).max()?;
        let missed_ns = looks.iter().filter(|look| look.is_stale).map(|look| look.after_ns).max()?;
        let mut known = self.known.borrow_mut();
        let known = known.entry(class).or_default();
        if missed_ns.saturating_mul(2) <= last_ns || known.is_waited || known.waits >= MOST_WAITS {
            return None;
        }
        known.is_waited = true;
        Some(Wait { class, at: Duration::from_nanos(last_ns), calm: 0 })
    }

    /// The change was seen, or there is no more time.
    pub(crate) fn end(&self, wait: &Wait) {
        if let Some(known) = self.known.borrow_mut().get_mut(&wait.class) {
            known.is_waited = false;
            known.waits += 1;
        }
    }
}

/// Looks again and again until a change is seen.
pub(crate) struct Wait {
    class: Class,
    at: Duration,
    /// Looks in a row that saw it.
    calm: u32,
}

impl Wait {
    /// When it is looked next, after the acknowledgement.
    pub(crate) fn next(&self) -> Option<Duration> {
        let next = self.at.mul_f64(STEP).max(self.at + Duration::from_millis(1));
        Some(next).filter(|next| self.calm < CALM && *next <= Duration::from_millis(LAST_MS))
    }

    /// What was seen then, or as late as the look began; nothing: there was no answer.
    pub(crate) fn saw(&mut self, at: Duration, look: Option<Look>) {
        self.at = look.map_or(at, |look| at.max(Duration::from_nanos(look.after_ns)));
        self.calm = if look.is_some_and(|look| look.is_stale) { 0 } else { self.calm + 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASS: Class = Class::ReadAfterOverwrite;
    const LONG: Duration = Duration::from_secs(70);

    fn look(after: Duration, window: Duration) -> Look {
        let (after_ns, is_stale) = (after.as_nanos() as u64, after < window);
        Look { class: CLASS, change: 0, after_ns, is_stale, is_further: false }
    }

    /// The last miss after so many changes of a store that shows none of them for this time, ms.
    fn longest_ms(window_ms: u64, seed: u64, changes: usize) -> f64 {
        let (when, window) = (When::new(seed), Duration::from_millis(window_ms));
        let mut longest = Duration::ZERO;
        for _ in 0..changes {
            let mut looks: Vec<Look> =
                when.offsets(CLASS, 1, false, LONG).into_iter().map(|at| look(at, window)).collect();
            if let Some(mut wait) = when.wait(CLASS, &looks) {
                while let Some(at) = wait.next() {
                    wait.saw(at, Some(look(at, window)));
                    looks.push(look(at, window));
                }
                when.end(&wait);
            }
            for look in looks.iter().filter(|look| look.is_stale) {
                when.note(look);
                longest = longest.max(Duration::from_nanos(look.after_ns));
            }
        }
        longest.as_secs_f64() * 1e3
    }

    #[test]
    fn the_last_miss_comes_close_to_the_end_of_a_window_wherever_it_is() {
        for seed in 0..50 {
            for window_ms in [30, 150, 700, 4_000, 9_000, 25_000] {
                let longest = longest_ms(window_ms, seed, 30);
                let window = window_ms as f64;
                assert!(longest < window && longest > window * 0.95, "{seed}: {longest} of {window}");
            }
            // Of a long one a single change says so.
            let longest = longest_ms(25_000, seed, 1);
            assert!(longest > 25_000.0 * 0.95, "{seed}: {longest}");
        }
    }

    #[test]
    fn looks_are_drawn_anew_within_their_steps_and_end_with_the_time_that_is_left() {
        let when = When::new(1);
        let (first, second) = (when.offsets(CLASS, 1, true, LONG), when.offsets(CLASS, 1, true, LONG));
        assert_eq!((first.len(), first.first()), (OFFSETS_MS.len(), Some(&Duration::ZERO)));
        assert!(first.iter().zip(&second).skip(1).all(|(a, b)| a != b), "{first:?} {second:?}");
        for (at, step_ms) in OFFSETS_MS.iter().enumerate().take(OFFSETS_MS.len() - 2) {
            let next = Duration::from_millis(OFFSETS_MS[at + 1]);
            assert!(first[at] >= Duration::from_millis(*step_ms) && first[at] < next, "{first:?}");
        }
        let last = first[first.len() - 1];
        assert!(last >= Duration::from_secs(54) && last <= Duration::from_secs(60), "{last:?}");
        let few = when.offsets(CLASS, 2, false, Duration::from_millis(100));
        assert!(few.len() < SHORT && few.iter().all(|at| *at <= Duration::from_millis(100)), "{few:?}");
    }

    #[test]
    fn nobody_waits_for_what_was_seen_and_only_one_for_what_was_not() {
        let when = When::new(1);
        let at = |ms: u64, is_stale| {
            let after_ns = ms * 1_000_000;
            Look { class: CLASS, change: 0, after_ns, is_stale, is_further: false }
        };
        assert!(when.wait(CLASS, &[at(0, false), at(900, false)]).is_none());
        assert!(when.wait(CLASS, &[at(10, true), at(900, false)]).is_none());
        let wait = when.wait(CLASS, &[at(10, true), at(900, true)]).unwrap();
        assert!(when.wait(CLASS, &[at(900, true)]).is_none());
        when.end(&wait);
        assert!(when.wait(CLASS, &[at(900, true)]).is_some());
    }
}
