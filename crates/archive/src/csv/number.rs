//! COSBench's numbers: `0.##`, `0.##%`, `N/A`; never a locale.

/// What a table shows for a value that there is not.
pub const NOT_AVAILABLE: &str = "N/A";

/// At most `digits` digits behind the point, without trailing zeros; halves go to the even digit, as in Java.
#[must_use]
pub fn decimal(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return NOT_AVAILABLE.to_owned();
    }
    let mut text = format!("{value:.digits$}");
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    if text == "-0" { "0".to_owned() } else { text }
}

/// Milliseconds, to the microsecond.
#[must_use]
pub fn ms(value: Option<f64>) -> String {
    value.map_or_else(|| NOT_AVAILABLE.to_owned(), |value| decimal(value, 3))
}

/// A rate; COSBench writes 0 where there is none. Two digits, but for rates so low that these would move them.
#[must_use]
pub fn rate(value: Option<f64>) -> String {
    const MOST_OFF: f64 = 0.002;
    let value = value.unwrap_or(0.0);
    let off = ((value * 100.0).round() / 100.0 - value).abs();
    decimal(value, if off > MOST_OFF * value.abs() { 6 } else { 2 })
}

/// A share 0..=1 in per cent.
#[must_use]
pub fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| NOT_AVAILABLE.to_owned(), |value| format!("{}%", decimal(value * 100.0, 2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_like_cosbench_wrote_them() {
        let cases: &[(String, &str)] = &[
            (decimal(4078.67, 2), "4078.67"),
            (decimal(2892500.0, 2), "2892500"),
            (decimal(615_383_281.937, 2), "615383281.94"),
            (decimal(3908.0, 2), "3908"),
            (decimal(2423.4, 2), "2423.4"),
            (decimal(0.125, 2), "0.12"),
            (decimal(-0.001, 2), "0"),
            (decimal(100.0, 0), "100"),
            (decimal(1e15, 2), "1000000000000000"),
            (decimal(f64::NAN, 2), "N/A"),
            (ms(Some(0.000_4)), "0"),
            (ms(Some(1.2345)), "1.234"),
            (ms(None), "N/A"),
            (rate(None), "0"),
            (rate(Some(25.166_667)), "25.17"),
            (rate(Some(0.1)), "0.1"),
            (rate(Some(1.0 / 6.0)), "0.166667"),
            (rate(Some(0.001)), "0.001"),
            (percent(Some(1.0)), "100%"),
            (percent(Some(0.999_61)), "99.96%"),
            (percent(Some(0.974)), "97.4%"),
            (percent(Some(0.0)), "0%"),
            (percent(None), "N/A"),
        ];
        for (got, expected) in cases {
            assert_eq!(got, expected);
        }
    }
}
