//! Whole numbers and switches.

/// A decimal or `0x` number.
#[must_use]
pub fn parse_integer(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) if !hex.starts_with('+') => u64::from_str_radix(hex, 16).ok(),
        Some(_) => None,
        None if text.starts_with('+') => None,
        None => text.parse().ok(),
    }
}

/// The same with a sign.
#[must_use]
pub fn parse_signed(text: &str) -> Option<i64> {
    let text = text.trim();
    let Some(digits) = text.strip_prefix('-') else {
        return parse_integer(text.strip_prefix('+').unwrap_or(text)).and_then(|n| i64::try_from(n).ok());
    };
    parse_integer(digits).and_then(|number| 0i64.checked_sub_unsigned(number))
}

/// COSBench's booleans: true/yes/on, false/no/off, in any case.
#[must_use]
pub fn parse_bool(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// A change with its sign and so many decimals: `+1.5`, `-0.3`. One that is too small for these is `+0.0` on either
/// side.
#[must_use]
pub fn signed_text(value: f64, decimals: usize) -> String {
    let text = format!("{value:+.decimals$}");
    let is_none = value.is_finite() && !text.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    match text.strip_prefix('-') {
        Some(size) if is_none => format!("+{size}"),
        _ => text,
    }
}

/// Digits in groups of three: `1 234 567`.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_read_back_in_both_bases(number: u64, signed: i64) {
            prop_assert_eq!(parse_integer(&number.to_string()), Some(number));
            prop_assert_eq!(parse_integer(&format!("{number:#x}")), Some(number));
            prop_assert_eq!(parse_signed(&signed.to_string()), Some(signed));
        }
    }

    #[test]
    fn a_change_that_is_too_small_to_be_written_is_no_fall() {
        for (value, decimals, text) in [
            (0.0, 1, "+0.0"),
            (-0.0, 1, "+0.0"),
            (-0.04, 1, "+0.0"),
            (0.04, 1, "+0.0"),
            (-0.4, 0, "+0"),
            (-0.06, 1, "-0.1"),
            (-10.0, 1, "-10.0"),
            (12.5, 1, "+12.5"),
            (f64::INFINITY, 1, "+inf"),
            (f64::NEG_INFINITY, 1, "-inf"),
        ] {
            assert_eq!(signed_text(value, decimals), text, "{value}");
        }
    }

    #[test]
    fn digits_stand_in_groups_of_three() {
        let texts = [0, 999, 1000, 54_471, 1_234_567, u64::MAX].map(grouped);
        assert_eq!(texts, ["0", "999", "1 000", "54 471", "1 234 567", "18 446 744 073 709 551 615"]);
    }

    #[test]
    fn signs_stand_only_where_they_may() {
        assert_eq!((parse_integer("+5"), parse_integer("-5"), parse_integer("0x+5")), (None, None, None));
        assert_eq!(
            (parse_signed("+5"), parse_signed("-0x10"), parse_signed("--5")),
            (Some(5), Some(-16), None)
        );
        assert_eq!(parse_signed("9223372036854775808"), None);
        assert_eq!((parse_bool(" Yes"), parse_bool("OFF"), parse_bool("1")), (Some(true), Some(false), None));
    }
}
