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
}
