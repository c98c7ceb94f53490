//! A thread that only sleeps, and by how much it woke late (the idea of jHiccup: what delays it delays everybody). There is one
//! per process, however many drivers and stages are at work in it.

use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cosmark_metrics::Latency;

/// What it sleeps.
const NAP: Duration = Duration::from_millis(1);
/// One pause counts at most as this many late wakings.
const MOST_MISSED_NAPS: u64 = 20_000;

/// The canary of this process, while somebody listens.
static SINGING: Mutex<Weak<Canary>> = Mutex::new(Weak::new());

type Listeners = Mutex<Vec<Weak<Mutex<Latency>>>>;

/// Lives while an [`Ear`] does.
struct Canary {
    listeners: Arc<Listeners>,
    /// Dropping it is what the thread waits for.
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Canary {
    fn start() -> std::io::Result<Arc<Self>> {
        let listeners: Arc<Listeners> = Arc::default();
        let (stop, stopped) = sync_channel(1);
        let heard_by = Arc::clone(&listeners);
        let thread =
            std::thread::Builder::new().name("canary".into()).spawn(move || sing(&stopped, &heard_by))?;
        Ok(Arc::new(Self { listeners, stop: Some(stop), thread: Some(thread) }))
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It holds nothing that a failure could break.
            drop(thread.join());
        }
    }
}

/// What one listener has heard since it asked last.
pub struct Ear {
    heard: Arc<Mutex<Latency>>,
    _canary: Arc<Canary>,
}

impl Ear {
    /// Listens to the canary of this process and starts it if nobody did. `None` when the system has no more threads.
    pub fn listen() -> Option<Self> {
        let mut singing = locked(&SINGING);
        let canary = match singing.upgrade() {
            Some(canary) => canary,
            None => {
                let canary = Canary::start().ok()?;
                *singing = Arc::downgrade(&canary);
                canary
            }
        };
        drop(singing);
        let heard = Arc::new(Mutex::new(Latency::preallocated()));
        let mut listeners = locked(&canary.listeners);
        listeners.retain(|one| one.strong_count() > 0);
        listeners.push(Arc::downgrade(&heard));
        drop(listeners);
        Some(Self { heard, _canary: canary })
    }

    /// By how much it woke late, each time since the last call.
    pub fn take(&self) -> Latency {
        let empty = Latency::preallocated();
        std::mem::replace(&mut *locked(&self.heard), empty)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sleeps and notes by how much it woke late. A pause that swallowed several naps counts once for each, the later ones
/// with what was left of it, as everybody who wanted to run during it would have been delayed.
fn sing(stopped: &Receiver<()>, listeners: &Listeners) {
    set_sharp_timer();
    let nap_ns = u64::try_from(NAP.as_nanos()).unwrap_or(u64::MAX);
    loop {
        let before = Instant::now();
        match stopped.try_recv() {
            Err(TryRecvError::Empty) => std::thread::sleep(NAP),
            _ => return,
        }
        let slept_ns = u64::try_from(before.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let late_ns = slept_ns.saturating_sub(nap_ns);
        for heard in locked(listeners).iter().filter_map(Weak::upgrade) {
            let mut pause = locked(&heard);
            pause.record(late_ns);
            for missed in 1..=(late_ns / nap_ns).min(MOST_MISSED_NAPS) {
                pause.record(late_ns - missed * nap_ns);
            }
        }
    }
}

/// Linux may wake a sleeper 50 us late to save power, unless it asks not to (`PR_SET_TIMERSLACK`, prctl(2)).
fn set_sharp_timer() {
    // SAFETY: takes numbers; of this thread only; if it fails the canary is a little deafer.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64, 0_u64, 0_u64, 0_u64) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_listeners_hear_one_canary_and_each_hears_what_came_since_it_asked() {
        // Listeners are served in the order in which they came: who came first has never heard less.
        let (patient, curious) = (Ear::listen().unwrap(), Ear::listen().unwrap());
        assert!(Arc::ptr_eq(&patient._canary, &curious._canary));
        let until = Instant::now() + Duration::from_secs(60);
        let (mut heard, mut calls) = (0, 0);
        while heard < 50 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
            (heard, calls) = (heard + curious.take().count(), calls + 1);
        }
        assert!(heard >= 50 && calls > 1, "{heard} in {calls} calls");
        let all = patient.take().count();
        assert!(all >= heard, "who asked often has heard no more than who asked once: {heard} {all}");
    }
}
