//! The one clock of every sample: `CLOCK_MONOTONIC` in nanoseconds since the first reading in this process.

use std::sync::OnceLock;

static EPOCH_NS: OnceLock<u64> = OnceLock::new();

/// Nanoseconds since the first reading in this process. Never 0, so 0 can stand for "did not happen".
#[must_use]
pub fn now_ns() -> u64 {
    let now_ns = monotonic_ns();
    // The first reading may still be on its way in another thread: never below zero.
    now_ns.saturating_sub(*EPOCH_NS.get_or_init(|| now_ns)).max(1)
}

/// What the kernel's clock says (clock_gettime(2)). `Instant` reads the same clock and takes four times as many
/// instructions for the difference of two readings, which every operation would pay more than once.
fn monotonic_ns() -> u64 {
    let mut at = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live structure; the call writes there and nowhere else, and fails for no clock that
    // every system has.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut at) };
    // Both parts are positive, and nanoseconds since the machine's start fill 64 bits after 584 years.
    at.tv_sec.cast_unsigned() * 1_000_000_000 + at.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn readings_never_go_back_and_go_on_as_fast_as_an_instant_does() {
        let first_ns = now_ns();
        let readings: Vec<u64> = (0..1000).map(|_| now_ns()).collect();
        assert!(first_ns >= 1 && readings.is_sorted() && readings[0] >= first_ns);
        std::thread::sleep(Duration::from_millis(20));
        // Whatever the machine does between two lines, the inner stretch is no longer than the outer one.
        let inner_began = Instant::now();
        let inner_first_ns = now_ns();
        std::thread::sleep(Duration::from_millis(20));
        let inner_ns = now_ns() - inner_first_ns;
        assert!(inner_ns >= 20_000_000, "{inner_ns} ns pass while 20 ms are slept");
        assert!(u128::from(inner_ns) <= inner_began.elapsed().as_nanos());
    }
}
