//! Small texts of HTTP: numbers, dates (RFC 9110, section 5.6.7), query strings, XML escapes.

use std::borrow::Cow;
use std::cell::RefCell;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Appends a number in decimal.
pub(crate) fn push_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Year, month, day of a day counted from 1970-01-01 (H. Hinnant, "chrono-compatible low-level date
/// algorithms", days to civil).
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(crate) fn http_date(unix_s: u64) -> String {
    let (year, month, day) = civil(unix_s / 86_400);
    let (of_day, weekday) = (unix_s % 86_400, DAYS[(unix_s / 86_400 % 7) as usize]);
    let month = MONTHS[(month - 1) as usize];
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{weekday}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT")
}

/// `1994-11-06T08:49:37.000Z`, as S3 has it.
pub(crate) fn iso_date(unix_ms: u64) -> String {
    let (unix_s, millis) = (unix_ms / 1000, unix_ms % 1000);
    let (year, month, day) = civil(unix_s / 86_400);
    let of_day = unix_s % 86_400;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Appends an HTTP date; the last one made is remembered, since most answers share their second.
pub(crate) fn push_http_date(out: &mut Vec<u8>, unix_s: u64) {
    thread_local! { static LAST: RefCell<[(u64, String); 2]> = const { RefCell::new([(u64::MAX, String::new()), (u64::MAX, String::new())]) } }
    LAST.with_borrow_mut(|last| {
        // Two places: one for now, one for the date of the objects.
        let place = (unix_s % 2) as usize;
        if last[place].0 != unix_s {
            last[place] = (unix_s, http_date(unix_s));
        }
        out.extend_from_slice(last[place].1.as_bytes());
    });
}

/// Decodes `%XX`; `None` if the result is not UTF-8.
pub(crate) fn decode(text: &str) -> Option<Cow<'_, str>> {
    percent_decode_str(text).decode_utf8().ok()
}

/// Decodes a query value, where `+` is a space.
fn decode_query(text: &str) -> Option<Cow<'_, str>> {
    if text.contains('+') {
        return percent_decode_str(&text.replace('+', " "))
            .decode_utf8()
            .ok()
            .map(|t| Cow::Owned(t.into_owned()));
    }
    decode(text)
}

/// What S3's `encoding-type=url` leaves alone.
const URL: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/').remove(b'*');

/// Encodes for a URL path or for `encoding-type=url`.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, URL).to_string()
}

/// The part of a target after the `?`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Query<'a>(pub(crate) &'a str);

impl<'a> Query<'a> {
    fn pairs(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
    }

    /// The decoded value of the first pair of this name; values that are not UTF-8 are as if absent.
    pub(crate) fn get(self, name: &str) -> Option<Cow<'a, str>> {
        self.pairs().find(|(n, _)| *n == name).and_then(|(_, value)| decode_query(value))
    }

    /// Whether there is a pair of this name.
    pub(crate) fn has(self, name: &str) -> bool {
        !self.0.is_empty() && self.pairs().any(|(n, _)| n == name)
    }

    /// A number; `Err` if the value is there and is none.
    pub(crate) fn number(self, name: &str) -> Result<Option<u64>, ()> {
        self.get(name).map(|value| value.parse().map_err(|_| ())).transpose()
    }
}

/// Escapes text for XML content.
pub(crate) fn xml(text: &str) -> Cow<'_, str> {
    quick_xml::escape::escape(text)
}

/// A byte range of RFC 9110 (section 14.1.2) applied to a body: `Ok(None)` if the field is none that is
/// understood (then the whole body is the answer), `Err` if it lies outside.
pub(crate) fn range(field: &str, length: u64) -> Result<Option<(u64, u64)>, ()> {
    let Some((from, to)) = field.strip_prefix("bytes=").and_then(|spec| spec.split_once('-')) else {
        return Ok(None);
    };
    let number = |text: &str| text.trim().parse::<u64>().ok();
    match (from.trim().is_empty(), to.trim().is_empty()) {
        (true, true) => Ok(None),
        (true, false) => match number(to) {
            None => Ok(None),
            Some(0) => Err(()),
            Some(_) if length == 0 => Err(()),
            Some(last) => Ok(Some((length - last.min(length), last.min(length)))),
        },
        (false, open) => {
            let (Some(from), Some(to)) = (number(from), if open { Some(u64::MAX) } else { number(to) })
            else {
                return Ok(None);
            };
            if to < from {
                return Ok(None);
            }
            if from >= length { Err(()) } else { Ok(Some((from, to.min(length - 1) - from + 1))) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right_at_leap_days_and_the_turn_of_centuries() {
        for (unix_s, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        ] {
            assert_eq!(http_date(unix_s), text);
            let mut out = Vec::new();
            push_http_date(&mut out, unix_s);
            assert_eq!(out, text.as_bytes());
        }
        assert_eq!(iso_date(784_111_777_042), "1994-11-06T08:49:37.042Z");
    }

    #[test]
    fn ranges_follow_the_standard() {
        for (field, length, expected) in [
            ("bytes=0-4", 10, Ok(Some((0, 5)))),
            ("bytes=5-", 10, Ok(Some((5, 5)))),
            ("bytes=5-99", 10, Ok(Some((5, 5)))),
            ("bytes=-3", 10, Ok(Some((7, 3)))),
            ("bytes=-30", 10, Ok(Some((0, 10)))),
            ("bytes=10-", 10, Err(())),
            ("bytes=-0", 10, Err(())),
            ("bytes=-5", 0, Err(())),
            ("bytes=5-4", 10, Ok(None)),
            ("bytes=-", 10, Ok(None)),
            ("lines=1-2", 10, Ok(None)),
            ("bytes=a-b", 10, Ok(None)),
            ("bytes=0-18446744073709551615", 10, Ok(Some((0, 10)))),
        ] {
            assert_eq!(range(field, length), expected, "{field}");
        }
    }

    #[test]
    fn queries_are_decoded_and_bad_numbers_are_told_from_absent_ones() {
        let query = Query("list-type=2&prefix=a%2Fb+c&uploads&n=x&bad=%ff");
        assert_eq!(query.get("prefix").as_deref(), Some("a/b c"));
        assert!(query.has("uploads") && !query.has("upload"));
        assert_eq!(
            (query.number("list-type"), query.number("n"), query.number("none")),
            (Ok(Some(2)), Err(()), Ok(None))
        );
        assert_eq!(query.get("bad"), None);
        let mut out = Vec::new();
        [0, 7, 10, u64::MAX].iter().for_each(|n| push_number(&mut out, *n));
        assert_eq!(out, b"071018446744073709551615");
    }
}
