//! Amounts for people: rounded, and never read back.

use crate::grouped;

/// `12.3 MB`: decimal, with three digits that count. The terminal, reports and sentences write bytes so, and the console
/// does the same (`console/src/format.cases.json`).
#[must_use]
pub fn rounded_bytes(bytes: f64) -> String {
    if !bytes.is_finite() {
        return format!("{bytes} B");
    }
    let units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let (mut value, mut at) = (bytes, 0);
    while value.abs() >= 999.5 && at + 1 < units.len() {
        value /= 1000.0;
        at += 1;
    }
    let unit = units.get(at).copied().unwrap_or_default();
    let number = if at == 0 { format!("{value:.0}") } else { significant(value) };
    format!("{number} {unit}")
}

/// `12.3 MB/s`, in the same way.
#[must_use]
pub fn rounded_speed(bytes_per_s: f64) -> String {
    format!("{}/s", rounded_bytes(bytes_per_s))
}

/// A share 0..1 in per cent: `24.9 %`. What is not quite nothing or all never looks as if it were: `< 0.001 %`, `> 99.999 %`. The
/// console does the same.
#[must_use]
pub fn rounded_share(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.001 {
        return "< 0.001 %".to_owned();
    }
    if percent < 100.0 && percent > 99.999 {
        return "> 99.999 %".to_owned();
    }
    let digits = match percent {
        p if p <= 0.0 || p >= 99.9995 => 0,
        p if (10.0..99.9).contains(&p) => 1,
        p if (1.0..99.0).contains(&p) => 2,
        _ => 3,
    };
    let text = format!("{percent:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

/// Three digits that count, all before the point, and no zeros behind it that say nothing.
fn significant(value: f64) -> String {
    if value.abs() >= 999.5 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "far below 2^64")]
        let whole = grouped(value.abs().round() as u64);
        return if value < 0.0 { format!("-{whole}") } else { whole };
    }
    let digits = if value.abs() >= 99.95 {
        0
    } else if value.abs() >= 9.995 {
        1
    } else {
        2
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_unit_in_which_three_digits_say_them() {
        // The whole table is tested where it is read, in the crate of the command line.
        let texts =
            [0.0, 999.4, 1000.0, 2_560_000.0, 123_456_789.0, 2.5e18, -1_234.0, -2.5e18].map(rounded_bytes);
        assert_eq!(texts, ["0 B", "999 B", "1 kB", "2.56 MB", "123 MB", "2 500 PB", "-1.23 kB", "-2 500 PB"]);
        assert_eq!(rounded_bytes(f64::INFINITY), "inf B");
        assert_eq!(rounded_speed(5e6), "5 MB/s");
    }

    #[test]
    fn a_share_that_is_not_quite_nothing_or_all_never_looks_as_if_it_were() {
        let texts = [0.0, 1e-9, 0.000_02, 0.0012, 0.249_12, 0.999_9, 0.999_999_9, 1.0].map(rounded_share);
        let wanted = ["0 %", "< 0.001 %", "0.002 %", "0.12 %", "24.9 %", "99.99 %", "> 99.999 %", "100 %"];
        assert_eq!(texts, wanted);
    }
}
