//! The barrier between login and load: a driver waits there until it is given a start time, or is stopped.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cosmark_wire::ClockFix;

/// When a load begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Start {
    /// On this driver's clock; `None` = at once.
    pub at_ns: Option<u64>,
    /// The same instant on the controller's clock.
    pub unix_ns: Option<i64>,
    /// How the clocks were compared.
    pub clock: Option<ClockFix>,
}

/// What came of the wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// Begin.
    Go(Start),
    /// The stage was stopped before it began.
    Stopped,
    /// Nobody said anything.
    Forgotten,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Closed,
    Open(Start),
    Stopped,
}

/// One stage's barrier.
#[derive(Debug)]
pub struct StartBarrier {
    state: Mutex<State>,
    changed: Condvar,
}

impl Default for StartBarrier {
    fn default() -> Self {
        Self { state: Mutex::new(State::Closed), changed: Condvar::new() }
    }
}

impl StartBarrier {
    /// Lets the load begin; the first word counts.
    pub fn open(&self, start: Start) {
        self.set(State::Open(start));
    }

    /// There will be no load.
    pub fn stop(&self) {
        self.set(State::Stopped);
    }

    fn set(&self, new: State) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Closed) {
            *state = new;
        }
        self.changed.notify_all();
    }

    /// Waits on the driver's own thread.
    pub fn wait(&self, patience: Duration) -> Waited {
        let until = Instant::now() + patience;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *state {
                State::Open(start) => return Waited::Go(start),
                State::Stopped => return Waited::Stopped,
                State::Closed => {}
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Waited::Forgotten;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
