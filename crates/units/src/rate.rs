//! Rates: operations per second.

use crate::{Complaint, shown};

/// Largest rate: beyond it no clock tells two operations apart.
pub const MAX_RATE_PER_S: f64 = 1e9;

/// Reads `5000/s`, `300/m`, `3600/h` or a plain number per second.
///
/// # Errors
/// What is wrong with it and how to write it.
pub fn parse_rate(text: &str) -> Result<f64, Complaint> {
    let text = text.trim();
    let complaint =
        || (format!("`{}` is not a rate", shown(text)), "write operations per time, e.g. 5000/s".to_owned());
    let (number, per) = text.split_once('/').unwrap_or((text, "s"));
    let seconds = match per.trim() {
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(complaint()),
    };
    let rate = number.trim().parse::<f64>().map_err(|_| complaint())? / seconds;
    if rate > 0.0 && rate <= MAX_RATE_PER_S {
        return Ok(rate);
    }
    Err((
        format!("the rate `{}` is out of range", shown(text)),
        format!("above 0/s and up to {MAX_RATE_PER_S}/s"),
    ))
}

/// The same where a rate may be 0, as one end of a ramp.
///
/// # Errors
/// As for [`parse_rate`].
pub fn parse_rate_or_zero(text: &str) -> Result<f64, Complaint> {
    let (number, per) = text.split_once('/').unwrap_or((text, "s"));
    let is_zero = number.trim().parse::<f64>().is_ok_and(|n| n == 0.0);
    if is_zero && matches!(per.trim(), "s" | "m" | "h") { Ok(0.0) } else { parse_rate(text) }
}

/// The text that [`parse_rate`] reads back exactly.
#[must_use]
pub fn rate_text(rate_per_s: f64) -> String {
    format!("{rate_per_s}/s")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(rate in 1e-9..=MAX_RATE_PER_S) {
            prop_assert_eq!(parse_rate(&rate_text(rate)), Ok(rate));
            prop_assert_eq!(parse_rate_or_zero(&rate_text(rate)), Ok(rate));
        }
    }

    #[test]
    fn rates_count_per_second_whatever_they_are_written_in() {
        assert_eq!(
            (parse_rate("300/m"), parse_rate("3600 / h"), parse_rate("7")),
            (Ok(5.0), Ok(1.0), Ok(7.0))
        );
        assert_eq!(parse_rate_or_zero("0/s"), Ok(0.0));
        assert!(parse_rate_or_zero("0/day").is_err() && parse_rate_or_zero("0/").is_err());
        for text in ["0", "-1/s", "2e9/s", "NaN", "5/day", ""] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
    }
}
