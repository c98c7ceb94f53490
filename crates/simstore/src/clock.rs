//! One monotonic clock for the whole server, counted from a common epoch whose wall time is known.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds since the start of the server, and what that start was in other clocks.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    epoch: Instant,
    epoch_wall: SystemTime,
    epoch_monotonic_ns: u64,
}

impl Clock {
    pub(crate) fn start() -> Clock {
        let epoch_monotonic_ns = monotonic_ns();
        Clock { epoch: Instant::now(), epoch_wall: SystemTime::now(), epoch_monotonic_ns }
    }

    /// Nanoseconds since the epoch.
    #[inline]
    pub fn now_ns(&self) -> u64 {
        // 584 years fit.
        self.epoch.elapsed().as_nanos() as u64
    }

    /// The epoch as an [`Instant`], to compare with clocks of the same process.
    pub fn epoch(&self) -> Instant {
        self.epoch
    }

    /// The epoch in wall time.
    pub fn epoch_wall(&self) -> SystemTime {
        self.epoch_wall
    }

    /// The epoch on the machine's CLOCK_MONOTONIC, ns, to compare with other processes of this machine;
    /// exact to a microsecond. 0 where there is no such clock.
    pub fn epoch_monotonic_ns(&self) -> u64 {
        self.epoch_monotonic_ns
    }

    /// Wall time of a moment of this clock, since 1970. Steps of the wall clock after the epoch do not count.
    pub(crate) fn unix(&self, at_ns: u64) -> Duration {
        self.epoch_wall.duration_since(UNIX_EPOCH).unwrap_or_default() + Duration::from_nanos(at_ns)
    }
}

#[cfg(unix)]
fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec.
    if unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) } != 0 {
        return 0;
    }
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(not(unix))]
fn monotonic_ns() -> u64 {
    0
}
