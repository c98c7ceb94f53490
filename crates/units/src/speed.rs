//! Speeds of links: bits or bytes per second.

use crate::{Complaint, shown};

/// Fastest link, bytes per second.
pub const MAX_SPEED_BYTES_PER_S: f64 = 1e15;

/// Units, and bytes per second of one. Those of bits are read in small and capital letters alike, because `tc` writes them
/// small; of bytes `Mb/s` would be a guess.
const UNITS: &[(&str, f64)] = &[
    ("bit/s", 0.125),
    ("kbit/s", 125.0),
    ("Mbit/s", 125e3),
    ("Gbit/s", 125e6),
    ("Tbit/s", 125e9),
    ("B/s", 1.0),
    ("kB/s", 1e3),
    ("MB/s", 1e6),
    ("GB/s", 1e9),
    ("KiB/s", 1024.0),
    ("MiB/s", 1_048_576.0),
    ("GiB/s", 1_073_741_824.0),
];

/// Reads `40Mbit/s`, `1 Gbit/s`, `5MB/s` or `100 MiB/s`: bytes per second.
///
/// # Errors
/// What is wrong with it and how to write it.
pub fn parse_speed(text: &str) -> Result<f64, Complaint> {
    let text = text.trim();
    let complaint = || {
        let hint = "write a number and bit/s, kbit/s, Mbit/s, Gbit/s, MB/s or MiB/s, e.g. 40Mbit/s";
        (format!("`{}` is not the speed of a link", shown(text)), hint.to_owned())
    };
    let begins = text.find(|sign: char| !(sign.is_ascii_digit() || sign == '.')).ok_or_else(complaint)?;
    let (number, unit) = text.split_at(begins);
    let is_unit = |name: &str| match name.strip_suffix("bit/s") {
        Some(_) => name.eq_ignore_ascii_case(unit.trim()),
        None => name == unit.trim(),
    };
    let scale = UNITS.iter().find(|(name, _)| is_unit(name)).ok_or_else(complaint)?.1;
    let speed = number.parse::<f64>().map_err(|_| complaint())? * scale;
    if speed > 0.0 && speed <= MAX_SPEED_BYTES_PER_S {
        return Ok(speed);
    }
    Err((format!("the speed `{}` is out of range", shown(text)), "above 0 and up to 1000000 GB/s".to_owned()))
}

/// The units that a speed may have; the case of those of bits does not matter.
pub fn speed_units() -> impl Iterator<Item = &'static str> {
    UNITS.iter().map(|row| row.0)
}

/// The text that [`parse_speed`] reads back exactly.
#[must_use]
pub fn speed_text(bytes_per_s: f64) -> String {
    format!("{}bit/s", bytes_per_s * 8.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(speed in 1e-3..=MAX_SPEED_BYTES_PER_S) {
            prop_assert_eq!(parse_speed(&speed_text(speed)), Ok(speed));
        }
    }

    #[test]
    fn bits_and_bytes_of_both_kinds_are_read() {
        for (text, bytes_per_s) in [
            ("40Mbit/s", 5e6),
            ("40mbit/s", 5e6),
            ("1 Gbit/s", 1.25e8),
            ("2.5Gbit/s", 3.125e8),
            ("5MB/s", 5e6),
            ("1 MiB/s", 1_048_576.0),
            ("800bit/s", 100.0),
        ] {
            assert_eq!(parse_speed(text), Ok(bytes_per_s), "{text}");
        }
    }

    #[test]
    fn what_could_mean_two_things_or_none_is_refused() {
        for text in [
            "",
            "40",
            "fast",
            "40Mb/s",
            "40Mbit",
            "-1Mbit/s",
            "0Gbit/s",
            "1e99bit/s",
            ".Mbit/s",
            "9999999999GB/s",
        ] {
            assert!(parse_speed(text).is_err(), "{text}");
        }
    }
}
