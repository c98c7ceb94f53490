//! Numbers in the sentences of the checks. Thousands are set apart, as everywhere where people read.

pub(crate) use cosmark_workload::units::grouped;

/// A share as percent, with as many digits as it needs: `24.9 %`, `0.03 %`, `131 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value.abs() >= 99.95 {
        return format!("{} %", whole(value));
    }
    let digits = match value.abs() {
        v if v >= 1.0 || v == 0.0 => 1,
        v if v >= 0.1 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

/// A number with three digits or so, without an exponent: `0.012`, `4.2`, `118`, `47 000`.
#[must_use]
pub fn plain(value: f64) -> String {
    if value.abs() >= 100.0 {
        return whole(value);
    }
    let digits = match value.abs() {
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Without digits behind the point.
fn whole(value: f64) -> String {
    let text = format!("{value:.0}");
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    digits.parse::<u64>().map_or_else(|_| text.clone(), |number| format!("{sign}{}", grouped(number)))
}

/// Bytes for people, decimal.
pub(crate) fn bytes(value: f64) -> String {
    const UNITS: [(&str, f64); 5] = [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("bytes", 1.0)];
    let (unit, size) = UNITS.into_iter().find(|(_, size)| value >= *size).unwrap_or(("bytes", 1.0));
    format!("{} {unit}", plain(value / size))
}

/// `a`, `a and b`, `a, b and 3 more`.
pub(crate) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [one, other] => format!("{one} and {other}"),
        [one, other, rest @ ..] => format!("{one}, {other} and {} more", rest.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_they_need() {
        let cases = [(0.249, "24.9 %"), (0.0003, "0.03 %"), (1.31, "131 %"), (0.25, "25 %"), (0.0, "0 %")];
        for (share, text) in cases {
            assert_eq!(percent(share), text);
        }
        assert_eq!([plain(0.0123), plain(4.25), plain(118.4), plain(60.0)], ["0.012", "4.25", "118", "60"]);
        assert_eq!(
            [plain(999.6), plain(-47_000.4), plain(1_234_567.0), percent(-12.34)],
            ["1 000", "-47 000", "1 234 567", "-1 234 %"]
        );
        assert_eq!(plain(f64::INFINITY), "inf");
        assert_eq!([bytes(4e6), bytes(131_072.0), bytes(0.0)], ["4 MB", "131 kB", "0 bytes"]);
        assert_eq!(list(&["a".into(), "b".into(), "c".into(), "d".into()]), "a, b and 2 more");
    }
}
