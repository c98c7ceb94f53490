//! The controller's clock during a run: wall-clock time that never steps.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds since 1970 by the machine's wall clock.
#[must_use]
pub fn unix_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Wall-clock time at its making, and what a monotonic clock says from then on: a wall clock that is set meanwhile changes
/// nothing.
#[derive(Debug, Clone, Copy)]
pub struct RunClock {
    epoch: Instant,
    unix_ns: i64,
}

impl Default for RunClock {
    fn default() -> Self {
        Self { epoch: Instant::now(), unix_ns: unix_ns() }
    }
}

impl RunClock {
    /// Nanoseconds since 1970.
    #[must_use]
    pub fn now_ns(&self) -> i64 {
        self.unix_ns.saturating_add(i64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(i64::MAX))
    }

    /// From now until that moment; zero when it is over.
    #[must_use]
    pub fn until(&self, unix_ns: i64) -> Duration {
        Duration::from_nanos(u64::try_from(unix_ns.saturating_sub(self.now_ns())).unwrap_or(0))
    }
}
