//! From the clock of the kernel's stamps (`CLOCK_REALTIME`) to the clock of samples. Both run at the same rate; their
//! difference changes only when somebody sets the machine's clock, and then stamps from before and after it cannot be
//! compared: what was under way has no times.

use std::cell::Cell;

use cosmark_adaptor_api::{OnWire, WireGap, clock};

/// Readings of both clocks that lie further apart than this are tried again.
const GOOD_ENOUGH_NS: u64 = 1_000;
/// Two differences that are further apart are two settings of the clock.
const SAME_SETTING_NS: u64 = 20_000;
/// By how much a stamp may be before what caused it, as clocks are read one after the other.
const TOLERANCE_NS: u64 = 20_000;

/// By how much the machine's clock is before the clock of samples, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offset(u64);

thread_local! {
    static LAST: Cell<Option<Offset>> = const { Cell::new(None) };
}

impl Offset {
    /// As it was when this thread last looked.
    pub(super) fn last() -> Self {
        LAST.get().unwrap_or_else(|| Self::now().0)
    }

    /// As it is now, and the time on the clock of samples.
    pub(super) fn now() -> (Self, u64) {
        let mut best = (Self(0), 0, u64::MAX);
        for _ in 0..4 {
            let before_ns = clock::now_ns();
            let machine_ns = machine_now_ns();
            let after_ns = clock::now_ns();
            let apart_ns = after_ns.saturating_sub(before_ns);
            if apart_ns < best.2 {
                let between_ns = before_ns + apart_ns / 2;
                best = (Self(machine_ns.wrapping_sub(between_ns)), after_ns, apart_ns);
            }
            if apart_ns <= GOOD_ENOUGH_NS {
                break;
            }
        }
        LAST.set(Some(best.0));
        (best.0, best.1)
    }

    fn is_same_setting(self, other: Self) -> bool {
        let apart = self.0.wrapping_sub(other.0).cast_signed();
        apart.unsigned_abs() <= SAME_SETTING_NS
    }

    /// What the machine's clock says at a moment of the clock of samples.
    #[cfg(test)]
    pub(super) fn stamp(self, at_ns: u64) -> u64 {
        at_ns.wrapping_add(self.0)
    }

    /// A stamp on the clock of samples; one of before this process is far in its future.
    fn convert(self, stamp_ns: u64) -> u64 {
        stamp_ns.wrapping_sub(self.0)
    }
}

/// Stamps of one exchange, `CLOCK_REALTIME`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Raw {
    pub(super) sent_ns: u64,
    pub(super) first_byte_ns: u64,
    pub(super) end_ns: u64,
}

/// The stamps on the clock of samples, of an exchange that lasted from `begin` to `end`: the offset and, on the clock of
/// samples, the time then.
///
/// # Errors
/// `Clock`, `Order`
pub(super) fn convert(raw: Raw, begin: (Offset, u64), end: (Offset, u64)) -> Result<OnWire, WireGap> {
    if !begin.0.is_same_setting(end.0) {
        return Err(WireGap::Clock);
    }
    let [sent_ns, first_byte_ns, end_ns] =
        [raw.sent_ns, raw.first_byte_ns, raw.end_ns].map(|stamp_ns| end.0.convert(stamp_ns));
    let order = [begin.1, sent_ns, first_byte_ns, end_ns, end.1];
    if order.windows(2).any(|two| two[1].saturating_add(TOLERANCE_NS) < two[0]) {
        return Err(WireGap::Order);
    }
    let sent_ns = sent_ns.clamp(begin.1, end.1);
    let end_ns = end_ns.clamp(sent_ns, end.1);
    Ok(OnWire { sent_ns, first_byte_ns: first_byte_ns.clamp(sent_ns, end_ns), end_ns })
}

/// The machine's clock, in ns since 1970.
#[cfg(target_os = "linux")]
fn machine_now_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    now.tv_sec.unsigned_abs().saturating_mul(1_000_000_000).saturating_add(now.tv_nsec.unsigned_abs())
}

#[cfg(not(target_os = "linux"))]
fn machine_now_ns() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    /// The machine's clock says 1 700 000 000 s when that of samples says 0.
    const THEN: u64 = 1_700_000_000 * S;

    fn raw(sent_ns: u64, first_byte_ns: u64, end_ns: u64) -> Raw {
        Raw { sent_ns: THEN + sent_ns, first_byte_ns: THEN + first_byte_ns, end_ns: THEN + end_ns }
    }

    #[test]
    fn stamps_come_to_the_clock_of_samples_and_stay_within_their_exchange() {
        let at = |ns| (Offset(THEN), ns);
        let wire = convert(raw(5 * S + 10, 5 * S + 700, 5 * S + 900), at(5 * S), at(6 * S)).unwrap();
        assert_eq!((wire.sent_ns, wire.first_byte_ns, wire.end_ns), (5 * S + 10, 5 * S + 700, 5 * S + 900));
        // Clocks are not read at the same moment: some microseconds beyond are none.
        let wire = convert(raw(5 * S - 9_000, 5 * S, 6 * S + 9_000), at(5 * S), at(6 * S)).unwrap();
        assert_eq!((wire.sent_ns, wire.end_ns), (5 * S, 6 * S));
    }

    #[test]
    fn a_clock_that_was_set_meanwhile_gives_no_times_in_whichever_direction() {
        for step in [-3600 * S.cast_signed(), -1_000_000, 1_000_000, 3600 * S.cast_signed()] {
            let after = Offset(THEN.wrapping_add_signed(step));
            let ends = [((Offset(THEN), S), (after, 2 * S)), ((after, S), (Offset(THEN), 2 * S))];
            for (begin, end) in ends {
                assert_eq!(convert(raw(S + 1, S + 2, S + 3), begin, end), Err(WireGap::Clock), "{step}");
            }
        }
        // What lies between two readings of clocks is no step.
        let (begin, end) = ((Offset(THEN), S), (Offset(THEN + 3_000), 2 * S));
        assert!(convert(raw(S + 9_000, S + 10_000, S + 11_000), begin, end).is_ok());
    }

    #[test]
    fn stamps_that_contradict_the_order_of_events_are_refused() {
        let (begin, end) = ((Offset(THEN), 5 * S), (Offset(THEN), 6 * S));
        let ms = 1_000_000;
        for wrong in [
            raw(5 * S - ms, 5 * S, 5 * S + 1),
            raw(5 * S + 2 * ms, 5 * S + ms, 5 * S + 3 * ms),
            raw(5 * S, 5 * S + 2 * ms, 5 * S + ms),
            raw(5 * S, 5 * S, 6 * S + ms),
            Raw { sent_ns: 7, first_byte_ns: 8, end_ns: 9 },
        ] {
            assert_eq!(convert(wrong, begin, end), Err(WireGap::Order), "{wrong:?}");
        }
    }

    #[test]
    fn the_offset_of_this_machine_is_read_alike_twice() {
        let ((one, before_ns), (two, after_ns)) = (Offset::now(), Offset::now());
        assert!(one.is_same_setting(two) && before_ns <= after_ns);
        assert_eq!(Offset::last(), two);
    }
}
