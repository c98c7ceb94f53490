//! The one clock of every sample: `CLOCK_MONOTONIC` in nanoseconds since the first reading in this process.

use std::sync::OnceLock;
use std::time::Instant;

static EPOCH: OnceLock<Instant> = OnceLock::new();

/// The instant that [`now_ns`] counts from.
pub fn epoch() -> Instant {
    *EPOCH.get_or_init(Instant::now)
}

/// Nanoseconds since [`epoch`]. Never 0 after the first call, so 0 can stand for "did not happen".
#[must_use]
pub fn now_ns() -> u64 {
    let elapsed = epoch().elapsed();
    (elapsed.as_secs() * 1_000_000_000 + u64::from(elapsed.subsec_nanos())).max(1)
}
