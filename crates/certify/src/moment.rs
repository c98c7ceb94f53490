//! Moments as the answers and documents of stores have them, in whole seconds since 1970. The calendar is the proleptic
//! Gregorian one.

const DAY_S: u64 = 86_400;
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `2026-11-27T01:52:16Z`.
pub(crate) fn rfc3339(unix_s: u64) -> String {
    let (days, rest) = (unix_s / DAY_S, unix_s % DAY_S);
    // Years that begin in March put the leap day at the end, so that every month's start is linear in its number.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Reads `Fri, 27 Nov 2026 01:52:16 GMT`, the form of HTTP (RFC 9110, section 5.6.7).
pub(crate) fn of_http(date: &str) -> Option<u64> {
    let mut words = date.split_whitespace().skip(1);
    let day: u64 = words.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let name = words.next()?;
    let month = MONTHS.iter().position(|month| *month == name)? as u64 + 1;
    let year: u64 = words.next()?.parse().ok().filter(|year| (1970..10_000).contains(year))?;
    let clock: Option<Vec<u64>> = words.next()?.split(':').map(|part| part.parse().ok()).collect();
    let [hour, minute, second] = clock?[..] else { return None };
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(days_to(year, month, day)? * DAY_S + (hour * 60 + minute) * 60 + second)
}

/// Days from 1970 to the beginning of this one.
fn days_to(year: u64, month: u64, day: u64) -> Option<u64> {
    let (year, from_march) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let of_era = year % 400;
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    let days = (year / 400) * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    days.checked_sub(719_468)
}

/// Reads `2026-11-27T01:52:16.123Z`, the form of S3's documents; a fraction of a second is dropped.
pub(crate) fn of_rfc3339(date: &str) -> Option<u64> {
    let number = |from: usize, to: usize| {
        let digits = date.get(from..to)?;
        if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse::<u64>().ok() } else { None }
    };
    let signs = [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":")];
    if signs.iter().any(|(at, sign)| date.get(*at..*at + 1) != Some(*sign)) {
        return None;
    }
    let year = number(0, 4).filter(|year| (1970..10_000).contains(year))?;
    let month = number(5, 7).filter(|month| (1..=12).contains(month))?;
    let day = number(8, 10).filter(|day| (1..=31).contains(day))?;
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let rest = date.get(19..)?;
    let zone = rest
        .strip_prefix('.')
        .map_or(rest, |rest| rest.trim_start_matches(|sign: char| sign.is_ascii_digit()));
    if hour > 23 || minute > 59 || second > 60 || !["Z", "+00:00"].contains(&zone) {
        return None;
    }
    Some(days_to(year, month, day)? * DAY_S + (hour * 60 + minute) * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_around_leap_days_and_centuries_are_right() {
        for (unix_s, text, http) in [
            (0, "1970-01-01T00:00:00Z", "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_399, "2000-02-28T23:59:59Z", "Mon, 28 Feb 2000 23:59:59 GMT"),
            (951_782_400, "2000-02-29T00:00:00Z", "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_369_353_600, "2013-05-24T00:00:00Z", "Fri, 24 May 2013 00:00:00 GMT"),
            (1_735_689_599, "2024-12-31T23:59:59Z", "Tue, 31 Dec 2024 23:59:59 GMT"),
            (4_107_542_400, "2100-03-01T00:00:00Z", "Mon, 01 Mar 2100 00:00:00 GMT"),
        ] {
            assert_eq!((rfc3339(unix_s).as_str(), of_http(http)), (text, Some(unix_s)));
            for zone in ["Z", ".123Z", ".999999+00:00"] {
                assert_eq!(of_rfc3339(&text.replace('Z', zone)), Some(unix_s), "{text} {zone}");
            }
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "now",
            "Fri, 27 Nov 2026",
            "Fri, 27 Nov 2026 01:52 GMT",
            "Fri, 27 Nov 2026 25:00:00 GMT",
            "Fri, 0 Nov 2026 01:52:16 GMT",
            "Fri, 27 Non 2026 01:52:16 GMT",
            "Fri, 27 Nov 99999999999 01:52:16 GMT",
            "2026-11-27T01:52:16Z",
        ] {
            assert_eq!(of_http(text), None, "{text}");
        }
        for text in [
            "",
            "2026-11-27",
            "2026-11-27 01:52:16Z",
            "2026-11-27T01:52:16",
            "2026-11-27T01:52:16+01:00",
            "2026-13-27T01:52:16Z",
            "2026-11-27T24:52:16Z",
            "+026-11-27T01:52:16Z",
            "2026-11-\u{e9}7T01:52:16Z",
        ] {
            assert_eq!(of_rfc3339(text), None, "{text}");
        }
    }
}
