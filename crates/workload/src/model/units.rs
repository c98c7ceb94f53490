//! Durations, byte counts and numbers as people write them, and back.

use std::time::Duration;

use crate::diagnostics::shown;
use crate::model::selector::{SizeUnit, parse_bytes};

/// Longest time that a workload may ask for: a hundred years.
pub(crate) const MAX_DURATION: Duration = Duration::from_secs(100 * 366 * 86_400);

/// Longest suffix first, so that `ms` is not read as minutes of seconds. Nanoseconds in one unit.
const DURATION_UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// Reads `5s`, `2m`, `500ms`, `1h`, `1.5s` or a plain number of seconds.
///
/// # Errors
/// What is wrong with it and how to write it.
pub fn parse_duration(text: &str) -> Result<Duration, (String, String)> {
    let text = text.trim();
    let bad = || {
        let hint = "write a number and ns, us, ms, s, m, h or d, e.g. 30s; a plain number is seconds";
        (format!("`{}` is not a duration", shown(text)), hint.to_owned())
    };
    let digits = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = (text[..digits].trim(), &text[digits..]);
    let unit = if unit.is_empty() { "s" } else { unit };
    let scale = DURATION_UNITS.iter().find(|row| row.0 == unit).map(|row| row.1).ok_or_else(bad)?;
    let nanos = decimal_times(number, scale).ok_or_else(bad)?;
    let whole = u64::try_from(nanos / 1_000_000_000).unwrap_or(u64::MAX);
    let duration = Duration::new(whole, u32::try_from(nanos % 1_000_000_000).unwrap_or(0));
    if duration > MAX_DURATION {
        return Err((format!("`{}` is too long", shown(text)), "a hundred years is the most".to_owned()));
    }
    Ok(duration)
}

/// `digits[.digits]` times `scale`, exact; parts below one unit of the result are refused.
fn decimal_times(number: &str, scale: u64) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty()
        || whole.len() > 19
        || fraction.len() > 18
        || !all_digits(whole)
        || !all_digits(fraction)
    {
        return None;
    }
    let tens = 10u128.pow(u32::try_from(fraction.len()).ok()?);
    let scaled = (whole.parse::<u128>().ok()? * tens
        + if fraction.is_empty() { 0 } else { fraction.parse().ok()? })
        * u128::from(scale);
    (scaled % tens == 0).then_some(scaled / tens)
}

/// The shortest exact text that [`parse_duration`] reads back.
#[must_use]
pub fn duration_text(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    for (unit, scale) in DURATION_UNITS[..4].iter().rev() {
        if nanos.is_multiple_of(u128::from(*scale)) {
            return format!("{}{unit}", nanos / u128::from(*scale));
        }
    }
    format!("{nanos}ns")
}

/// Reads a byte count: `5242880`, `0x500000`, `5MiB`.
///
/// # Errors
/// What is wrong with it and how to write it.
pub(crate) fn parse_byte_count(text: &str) -> Result<u64, (String, String)> {
    let text = text.trim();
    if let Some(count) = parse_integer(text) {
        return Ok(count);
    }
    parse_bytes(text).map_err(|e| (e.message, e.hint))
}

/// A decimal or `0x` number.
pub(crate) fn parse_integer(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) if !hex.starts_with('+') => u64::from_str_radix(hex, 16).ok(),
        Some(_) => None,
        None if text.starts_with('+') => None,
        None => text.parse().ok(),
    }
}

/// `64KiB`, `5MB` or `1000B`: the largest unit that divides `bytes`, binary before decimal.
#[must_use]
pub fn bytes_text(bytes: u64) -> String {
    let mut units: Vec<_> =
        SizeUnit::TABLE.iter().filter(|row| bytes > 0 && bytes.is_multiple_of(row.2)).collect();
    units.sort_by_key(|row| (bytes / row.2, row.1.len()));
    units.first().map_or_else(|| format!("{bytes}B"), |row| format!("{}{}", bytes / row.2, row.1))
}

/// COSBench's booleans: true/yes/on, false/no/off, in any case.
pub(crate) fn parse_bool(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_exact_in_both_directions() {
        for (text, millis) in
            [("5s", 5000), ("2m", 120_000), ("500ms", 500), ("1h", 3_600_000), ("30", 30_000)]
        {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(parse_duration(" 1.5 s "), Ok(Duration::from_millis(1500)));
        for nanos in [0, 1, 999, 1_000, 1_500_000, 2_000_000_000, 90_000_000_001] {
            let duration = Duration::from_nanos(nanos);
            assert_eq!(parse_duration(&duration_text(duration)), Ok(duration));
        }
        assert_eq!(duration_text(Duration::from_millis(1500)), "1500ms");
    }

    #[test]
    fn nonsense_durations_are_refused_with_a_hint() {
        for text in
            ["", "s", "-5s", "5 parsec", "1e9", "0.0000000001s", "1h30m", "99999999999999999999s", "5\u{fc}"]
        {
            let (message, hint) = parse_duration(text).unwrap_err();
            assert!(!message.is_empty() && hint.contains("30s"), "{text}");
        }
        assert!(parse_duration("40000d").unwrap_err().0.contains("too long"));
    }

    #[test]
    fn byte_counts_take_the_largest_unit_that_is_exact() {
        for (bytes, text) in [
            (0, "0B"),
            (64 << 10, "64KiB"),
            (5_000_000, "5MB"),
            (1001, "1001B"),
            (5 << 20, "5MiB"),
            (1000, "1KB"),
        ] {
            assert_eq!(bytes_text(bytes), text);
            assert_eq!(parse_byte_count(text), Ok(bytes));
        }
        assert_eq!(parse_byte_count("0x10"), Ok(16));
        assert!(parse_byte_count("12 parsec").is_err());
    }
}
