//! Durations.

use std::time::Duration;

use crate::{Complaint, decimal_times, shown};

/// Longest time that anybody may ask for: a hundred years.
pub const MAX_DURATION: Duration = Duration::from_secs(100 * 366 * 86_400);

/// Nanoseconds in one unit. The first four are those that [`duration_text`] writes.
const UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// What a number without a unit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plain {
    /// Seconds, as COSBench's stages and works have it.
    Seconds,
    /// Milliseconds, as COSBench's storages and auths have it.
    Milliseconds,
    /// Nothing: the unit has to be written, as everywhere in native YAML. `0` is nothing in every unit.
    Refused,
}

/// Reads `5s`, `2m`, `500ms`, `1h`, `1.5s` or a plain number of seconds: what is no value of a native workload.
///
/// # Errors
/// What is wrong with it and how to write it.
pub fn parse_duration(text: &str) -> Result<Duration, Complaint> {
    parse_duration_as(text, Plain::Seconds)
}

/// The same, where a number without a unit counts what `plain` says.
///
/// # Errors
/// What is wrong with it and how to write it.
pub fn parse_duration_as(text: &str, plain: Plain) -> Result<Duration, Complaint> {
    let text = text.trim();
    if plain == Plain::Refused && has_no_unit(text) {
        return Err((format!("`{}` says no unit", shown(text)), unit_hint(text)));
    }
    let (unit_of_plain, word) = match plain {
        Plain::Seconds => ("s", "; a plain number is seconds"),
        Plain::Milliseconds => ("ms", "; a plain number is milliseconds"),
        Plain::Refused => ("s", ""),
    };
    let bad = || {
        let hint = format!("write a number and ns, us, ms, s, m, h or d, e.g. 30s{word}");
        (format!("`{}` is not a duration", shown(text)), hint)
    };
    let (number, unit) = split(text);
    let unit = if unit.is_empty() { unit_of_plain } else { unit };
    let scale = UNITS.iter().find(|row| row.0 == unit).map(|row| row.1).ok_or_else(bad)?;
    let nanos = decimal_times(number, scale).ok_or_else(bad)?;
    let whole = u64::try_from(nanos / 1_000_000_000).unwrap_or(u64::MAX);
    let duration = Duration::new(whole, u32::try_from(nanos % 1_000_000_000).unwrap_or(0));
    if duration > MAX_DURATION {
        return Err((format!("`{}` is too long", shown(text)), "a hundred years is the most".to_owned()));
    }
    Ok(duration)
}

/// A duration that is a number above 0 and says no unit: in which it counts depends on who reads it.
#[must_use]
pub fn has_no_unit(text: &str) -> bool {
    let (number, unit) = split(text.trim());
    unit.is_empty() && decimal_times(number, 1_000_000_000).is_some_and(|nanos| nanos > 0)
}

/// What to write instead of a duration that [`has_no_unit`].
#[must_use]
pub fn unit_hint(text: &str) -> String {
    let number = shown(text.trim());
    format!(
        "write {number}s or {number}ms; only COSBench's XML leaves the unit out: seconds in stages and works, milliseconds in \
         storages and auths"
    )
}

/// The units that a time may have.
pub fn duration_units() -> impl Iterator<Item = &'static str> {
    UNITS.iter().map(|row| row.0)
}

fn split(text: &str) -> (&str, &str) {
    let digits = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    (text[..digits].trim(), &text[digits..])
}

/// The shortest exact text that [`parse_duration`] reads back.
#[must_use]
pub fn duration_text(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    for (unit, scale) in UNITS[..4].iter().rev() {
        if nanos.is_multiple_of(u128::from(*scale)) {
            return format!("{}{unit}", nanos / u128::from(*scale));
        }
    }
    format!("{nanos}ns")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(nanos in 0..=3_162_240_000_000_000_000u64) {
            let duration = Duration::from_nanos(nanos);
            for plain in [Plain::Seconds, Plain::Milliseconds, Plain::Refused] {
                prop_assert_eq!(parse_duration_as(&duration_text(duration), plain), Ok(duration));
            }
            prop_assert!(!has_no_unit(&duration_text(duration)));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,12}") {
            drop((parse_duration(&text), has_no_unit(&text)));
        }
    }

    #[test]
    fn durations_are_exact_in_both_directions() {
        for (text, millis) in [
            ("5s", 5000),
            ("2m", 120_000),
            ("2min", 120_000),
            ("500ms", 500),
            ("1h", 3_600_000),
            ("30", 30_000),
            (" 1.5 s ", 1500),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(parse_duration_as("30", Plain::Milliseconds), Ok(Duration::from_millis(30)));
        assert_eq!(parse_duration_as("0.5", Plain::Milliseconds), Ok(Duration::from_micros(500)));
        assert_eq!(duration_text(Duration::from_millis(1500)), "1500ms");
    }

    #[test]
    fn nonsense_durations_are_refused_with_a_hint() {
        for text in
            ["", "s", "-5s", "5 parsec", "1e9", "0.0000000001s", "1h30m", "999999999999999999999s", "5\u{fc}"]
        {
            let (message, hint) = parse_duration(text).unwrap_err();
            assert!(!message.is_empty() && hint.contains("30s"), "{text}");
        }
        assert!(parse_duration("40000d").unwrap_err().0.contains("too long"));
        assert!(parse_duration_as("x", Plain::Milliseconds).unwrap_err().1.contains("milliseconds"));
    }

    #[test]
    fn where_a_unit_has_to_be_written_a_number_alone_is_refused_with_the_remedy() {
        let (message, hint) = parse_duration_as(" 30 ", Plain::Refused).unwrap_err();
        assert!(message == "`30` says no unit" && hint.starts_with("write 30s or 30ms"), "{message}: {hint}");
        assert_eq!(parse_duration_as("0", Plain::Refused), Ok(Duration::ZERO));
        assert_eq!(parse_duration_as("30s", Plain::Refused), Ok(Duration::from_secs(30)));
        assert!(!parse_duration_as("soon", Plain::Refused).unwrap_err().1.contains("plain number"));
    }

    #[test]
    fn a_number_without_a_unit_is_known_and_nothing_is_nothing_in_every_unit() {
        assert!(has_no_unit("30") && has_no_unit(" 1.5 "));
        for text in ["0", "0.0", "30s", "30 ms", "", "x", "1h30"] {
            assert!(!has_no_unit(text), "{text}");
        }
    }
}
