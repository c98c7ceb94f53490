//! UTC date texts as signatures need them, from whole seconds since 1970. The calendar is the proleptic Gregorian one.

/// Seconds since 1970 by this machine's clock; 0 for a clock before that. A signature needs no more, so the clock is
/// read that is exact to some milliseconds and costs a fifth.
#[cfg(target_os = "linux")]
pub(crate) fn unix_seconds() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec; this clock exists since Linux 2.6.32.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &raw mut now) };
    u64::try_from(now.tv_sec).unwrap_or(0)
}

/// Seconds since 1970 by this machine's clock; 0 for a clock before that.
#[cfg(not(target_os = "linux"))]
pub(crate) fn unix_seconds() -> u64 {
    use std::time::{SystemTime, UNIX_EPOCH};

    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A moment, split up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Civil {
    year: u64,
    month: u64,
    day: u64,
    weekday: usize,
    hour: u64,
    minute: u64,
    second: u64,
}

impl Civil {
    fn new(unix: u64) -> Self {
        let (days, rest) = (unix / 86_400, unix % 86_400);
        // Years that begin in March put the leap day at the end, so that every month's start is linear in its number.
        let shifted = days + 719_468;
        let (era, of_era) = (shifted / 146_097, shifted % 146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * of_year + 2) / 153;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        Self {
            year: era * 400 + year_of_era + u64::from(month <= 2),
            month,
            day: of_year - (153 * month_from_march + 2) / 5 + 1,
            weekday: usize::try_from((days + 4) % 7).unwrap_or(0),
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
        }
    }
}

/// `20130524T000000Z`: the basic form of ISO 8601. Its first 8 bytes are the day.
pub(crate) fn basic(unix: u64) -> [u8; 16] {
    let at = Civil::new(unix);
    let mut text = *b"YYYYMMDDTHHMMSSZ";
    digits(&mut text[0..4], at.year);
    digits(&mut text[4..6], at.month);
    digits(&mut text[6..8], at.day);
    digits(&mut text[9..11], at.hour);
    digits(&mut text[11..13], at.minute);
    digits(&mut text[13..15], at.second);
    text
}

/// `Fri, 24 May 2013 00:00:00 GMT`: the form of HTTP (RFC 9110, section 5.6.7).
pub(crate) fn http(unix: u64) -> [u8; 29] {
    const DAYS: [&[u8; 3]; 7] = [b"Sun", b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat"];
    const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let at = Civil::new(unix);
    let mut text = *b"WWW, DD MMM YYYY HH:MM:SS GMT";
    text[0..3].copy_from_slice(DAYS[at.weekday]);
    digits(&mut text[5..7], at.day);
    let month = usize::try_from(at.month - 1).unwrap_or(0) * 3;
    text[8..11].copy_from_slice(&MONTHS[month..month + 3]);
    digits(&mut text[12..16], at.year);
    digits(&mut text[17..19], at.hour);
    digits(&mut text[20..22], at.minute);
    digits(&mut text[23..25], at.second);
    text
}

fn digits(out: &mut [u8], mut value: u64) {
    for digit in out.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_around_leap_days_and_centuries_are_right() {
        let cases = [
            (0, "19700101T000000Z", "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_399, "20000228T235959Z", "Mon, 28 Feb 2000 23:59:59 GMT"),
            (951_782_400, "20000229T000000Z", "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_369_353_600, "20130524T000000Z", "Fri, 24 May 2013 00:00:00 GMT"),
            (1_735_689_599, "20241231T235959Z", "Tue, 31 Dec 2024 23:59:59 GMT"),
            (4_107_542_400, "21000301T000000Z", "Mon, 01 Mar 2100 00:00:00 GMT"),
        ];
        for (unix, expected_basic, expected_http) in cases {
            assert_eq!(std::str::from_utf8(&basic(unix)).unwrap(), expected_basic);
            assert_eq!(std::str::from_utf8(&http(unix)).unwrap(), expected_http);
        }
    }
}
