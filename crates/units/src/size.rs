//! Sizes in bytes.

use std::fmt;

use crate::{Complaint, decimal_times, parse_integer, shown};

/// A unit of size. `KB` is 1000 bytes as in COSBench, `KiB` is 1024.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SizeUnit {
    /// Bytes.
    B,
    /// 1000 bytes.
    KB,
    /// 1000² bytes.
    MB,
    /// 1000³ bytes.
    GB,
    /// 1000⁴ bytes.
    TB,
    /// 1024 bytes.
    KiB,
    /// 1024² bytes.
    MiB,
    /// 1024³ bytes.
    GiB,
    /// 1024⁴ bytes.
    TiB,
}

impl SizeUnit {
    /// Every unit with its spelling and its bytes, longest spelling first so that a suffix match finds the right one.
    pub const TABLE: &'static [(SizeUnit, &'static str, u64)] = &[
        (SizeUnit::KiB, "KiB", 1 << 10),
        (SizeUnit::MiB, "MiB", 1 << 20),
        (SizeUnit::GiB, "GiB", 1 << 30),
        (SizeUnit::TiB, "TiB", 1 << 40),
        (SizeUnit::KB, "KB", 1_000),
        (SizeUnit::MB, "MB", 1_000_000),
        (SizeUnit::GB, "GB", 1_000_000_000),
        (SizeUnit::TB, "TB", 1_000_000_000_000),
        (SizeUnit::B, "B", 1),
    ];

    /// Bytes in one unit.
    #[must_use]
    pub fn bytes(self) -> u64 {
        Self::TABLE.iter().find(|row| row.0 == self).map_or(1, |row| row.2)
    }

    /// Spelling, e.g. `KiB`.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::TABLE.iter().find(|row| row.0 == self).map_or("B", |row| row.1)
    }

    /// The unit with this spelling.
    #[must_use]
    pub fn of_word(word: &str) -> Option<SizeUnit> {
        Self::TABLE.iter().find(|row| row.1 == word).map(|row| row.0)
    }

    /// What was probably meant by a word that is no unit.
    #[must_use]
    pub fn hint(word: &str) -> String {
        let with = |tail: &str| {
            let wanted = format!("{word}{tail}");
            Self::TABLE.iter().find(move |row| !word.is_empty() && row.1.eq_ignore_ascii_case(&wanted))
        };
        match (with(""), with("B")) {
            (Some(row), _) => format!("did you mean {}? units are case-sensitive", row.1),
            (None, Some(row)) => format!("did you mean {} (decimal) or {}iB (binary)?", row.1, &row.1[..1]),
            _ => "known units: B KB MB GB TB (decimal), KiB MiB GiB TiB (binary)".to_owned(),
        }
    }
}

impl fmt::Display for SizeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Reads a number of bytes: `5242880`, `0x500000`, `5MiB`, `1.5GiB`.
///
/// # Errors
/// What is wrong with it and how to write it.
pub fn parse_size(text: &str) -> Result<u64, Complaint> {
    let text = text.trim();
    if let Some(count) = parse_integer(text) {
        return Ok(count);
    }
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, word) = (&text[..at], text[at..].trim_start());
    let bad = |hint: String| (format!("`{}` is not a size", shown(text)), hint);
    if number.is_empty() || word.is_empty() {
        return Err(bad("write a number and a unit, such as 64KiB".to_owned()));
    }
    let unit = SizeUnit::of_word(word).ok_or_else(|| bad(SizeUnit::hint(word)))?;
    let bytes = decimal_times(number, unit.bytes())
        .ok_or_else(|| bad("write a whole number of bytes, such as 1536KiB".to_owned()))?;
    u64::try_from(bytes).map_err(|_| {
        let message = format!("the size `{}` is too large", shown(text));
        (message, format!("sizes end at {} bytes", u64::MAX))
    })
}

/// `64KiB`, `5MB` or `1000B`: the largest unit that divides `bytes`, binary before decimal.
#[must_use]
pub fn bytes_text(bytes: u64) -> String {
    let mut units: Vec<_> =
        SizeUnit::TABLE.iter().filter(|row| bytes > 0 && bytes.is_multiple_of(row.2)).collect();
    units.sort_by_key(|row| (bytes / row.2, row.1.len()));
    units.first().map_or_else(|| format!("{bytes}B"), |row| format!("{}{}", bytes / row.2, row.1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(bytes: u64, small in 0..2_000_000u64, unit in 0..9usize) {
            prop_assert_eq!(parse_size(&bytes_text(bytes)), Ok(bytes));
            let round = small * SizeUnit::TABLE[unit].2;
            prop_assert_eq!(parse_size(&bytes_text(round)), Ok(round));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,12}") {
            drop(parse_size(&text));
        }
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
            assert_eq!(parse_size(text), Ok(bytes));
        }
        assert_eq!((parse_size("0x10"), parse_size(" 1.5 KiB "), parse_size("7")), (Ok(16), Ok(1536), Ok(7)));
    }

    #[test]
    fn a_size_that_cannot_be_read_says_what_was_meant() {
        for (text, hint) in [
            ("64kb", "did you mean KB?"),
            ("5m", "MB (decimal) or MiB"),
            ("12 parsec", "known units"),
            ("", "a number and a unit"),
            ("1.5B", "whole number of bytes"),
            ("99999999999TiB", "sizes end"),
        ] {
            let complaint = parse_size(text).unwrap_err();
            assert!(complaint.1.contains(hint), "{text}: {complaint:?}");
        }
    }
}
