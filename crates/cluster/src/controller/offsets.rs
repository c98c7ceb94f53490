//! How far the clocks of all registered drivers are from this one, whether or not a run has them: what a table of drivers shows.
//! A run compares clocks by itself, and oftener.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cosmark_wire::{ClockFix, RunClock};
use futures_util::StreamExt;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};

use super::clocks;
use super::nats_link::Questions;
use crate::nats::{Bus, Registry, names};

/// So often it is looked who is to be asked.
const TURN: Duration = Duration::from_secs(2);
/// So often each is asked.
const EVERY: Duration = Duration::from_secs(10);
/// Of so many answers the fastest counts.
const ANSWERS: usize = 3;
/// They take no longer.
const PATIENCE: Duration = Duration::from_secs(1);
/// So many are asked side by side.
const AT_ONCE: usize = 16;
/// Who was not heard of for so long is not asked, and what was known of his clock is forgotten.
const SILENT: Duration = Duration::from_secs(10);

/// What was found, and when.
type Found = BTreeMap<String, (ClockFix, Instant)>;

/// The clocks of a registry's drivers, asked by a task of its own while this exists.
#[derive(Debug)]
pub struct Offsets {
    found: Arc<Mutex<Found>>,
    asking: JoinHandle<()>,
}

impl Drop for Offsets {
    fn drop(&mut self) {
        self.asking.abort();
    }
}

impl Offsets {
    /// Begins to ask. To be called where a runtime of tokio is.
    #[must_use]
    pub fn watch(bus: Bus, registry: Registry) -> Self {
        let found: Arc<Mutex<Found>> = Arc::default();
        let asking = tokio::spawn(ask_for_ever(bus, registry, Arc::clone(&found)));
        Self { found, asking }
    }

    /// One driver's clock minus this one; `None` = it has not answered.
    #[must_use]
    pub fn of(&self, driver: &str) -> Option<ClockFix> {
        lock(&self.found).get(driver).map(|(fix, _)| *fix)
    }
}

fn lock(found: &Mutex<Found>) -> MutexGuard<'_, Found> {
    found.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn ask_for_ever(bus: Bus, registry: Registry, found: Arc<Mutex<Found>>) {
    let mut tick = tokio::time::interval(TURN);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        if !bus.is_connected() {
            continue;
        }
        let all = registry.all();
        // A name is what somebody registered: one that is none would be a pattern of subjects.
        let named = all.iter().filter(|one| names::is_token(&one.registration.name));
        let asked = due(&mut lock(&found), named.map(|one| (one.registration.name.as_str(), one.heard)));
        let (bus, found) = (&bus, &found);
        futures_util::stream::iter(asked)
            .for_each_concurrent(AT_ONCE, |driver| async move {
                // By the wall clock as it is now: it may have been set since the last time.
                let questions = Questions::new(bus, RunClock::default(), &driver);
                let look = tokio::time::timeout(PATIENCE, clocks::look(&questions, ANSWERS)).await;
                if let Ok(look) = look {
                    lock(found).insert(driver, (look.fix, Instant::now()));
                }
            })
            .await;
    }
}

/// Who of these is to be asked now; each with when he was heard of. Who is silent is forgotten.
fn due<'a>(found: &mut Found, all: impl Iterator<Item = (&'a str, Instant)>) -> Vec<String> {
    let there: BTreeSet<&str> =
        all.filter(|(_, heard)| heard.elapsed() < SILENT).map(|(name, _)| name).collect();
    found.retain(|name, _| there.contains(name.as_str()));
    let is_due = |name: &&str| found.get(*name).is_none_or(|(_, at)| at.elapsed() >= EVERY);
    there.into_iter().filter(is_due).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_driver_is_asked_at_once_and_every_ten_seconds_until_it_is_silent() {
        let (mut found, began) = (Found::new(), Instant::now());
        let fix = ClockFix { wall_offset_ns: -2_000_000_000, error_ns: 100_000 };
        let ask = |found: &mut Found, heard: &[(&'static str, Instant)]| {
            let asked = due(found, heard.iter().copied());
            found.extend(asked.iter().map(|name| (name.clone(), (fix, Instant::now()))));
            asked
        };
        assert_eq!(ask(&mut found, &[("d1", began)]), ["d1"]);
        tokio::time::advance(Duration::from_secs(4)).await;
        let later = Instant::now();
        assert_eq!(ask(&mut found, &[("d1", later), ("d2", later)]), ["d2"], "the new one alone");
        tokio::time::advance(Duration::from_secs(6)).await;
        assert_eq!(ask(&mut found, &[("d1", Instant::now()), ("d2", later)]), ["d1"], "clocks drift");
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(ask(&mut found, &[("d1", Instant::now()), ("d2", later)]), Vec::<String>::new());
        assert_eq!(found.keys().collect::<Vec<_>>(), ["d1"], "d2 is silent for 11 s");
    }
}
