//! Numbers as people read them.

use std::time::Duration;

pub use cosmark_workload::units::{
    grouped, rounded_bytes as bytes, rounded_share, rounded_speed as bandwidth,
};

/// A load: as few digits as say it.
#[must_use]
pub fn plain(value: f64) -> String {
    format!("{value}")
}

/// `1 worker`, `1 234 workers`.
#[must_use]
pub fn count(number: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Operations per second with three digits that count, and all before the point. The console writes the same without the
/// zeros that make columns stand (`console/src/format.cases.json`).
#[must_use]
pub fn rate(per_s: f64) -> String {
    if per_s >= 99.95 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive and far below 2^64"
        )]
        let whole = per_s.round() as u64;
        grouped(whole)
    } else if per_s >= 9.995 {
        format!("{per_s:.1}")
    } else if per_s >= 0.9995 || per_s <= 0.0 {
        format!("{per_s:.2}")
    } else {
        slow_rate(per_s)
    }
}

/// One in some minutes is a rate, too. At least two digits stand behind the point.
fn slow_rate(per_s: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 2 and 12")]
    let digits = (2.0 - per_s.log10().floor()).clamp(2.0, 12.0) as usize;
    let text = format!("{per_s:.digits$}");
    let Some((whole, behind)) = text.split_once('.') else { return text };
    format!("{whole}.{:0<2}", behind.trim_end_matches('0'))
}

/// A share from 0 to 1: `62.5 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Milliseconds with three significant digits; where the console writes milliseconds, too, it writes the same.
#[must_use]
pub fn ms(value: f64) -> String {
    if value >= 99.95 {
        format!("{value:.0}")
    } else if value >= 9.995 {
        format!("{value:.1}")
    } else if value >= 0.1 || value == 0.0 {
        format!("{value:.2}")
    } else if value >= 0.001 {
        format!("{value:.3}")
    } else {
        format!("{value:.5}")
    }
}

/// `02:05` or `1:02:05`.
#[must_use]
pub fn clock(time: Duration) -> String {
    let s = time.as_secs();
    if s >= 3600 {
        format!("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
    } else {
        format!("{:02}:{:02}", s / 60, s % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_console_writes_them() {
        let table = include_str!("../../../console/src/format.cases.json");
        let table: serde_json::Value = serde_json::from_str(table).unwrap();
        // Columns have zeros behind the point, which the console leaves out.
        let bare = |text: String| {
            if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                text
            }
        };
        let write = |kind: &str, value: f64| match kind {
            "bytes" => bytes(value),
            "bytes_per_s" => bandwidth(value),
            "per_s" => bare(rate(value)),
            "ms" => format!("{} ms", bare(ms(value))),
            "share" => rounded_share(value),
            _ => grouped(value as u64),
        };
        for kind in ["bytes", "bytes_per_s", "per_s", "ms", "share", "count"] {
            let cases = table[kind].as_array().unwrap();
            assert!(cases.len() > 3);
            for case in cases {
                assert_eq!(
                    write(kind, case[0].as_f64().unwrap()),
                    case[1].as_str().unwrap(),
                    "{kind} {case}"
                );
            }
        }
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!(grouped(12), "12");
        assert_eq!((count(1, "worker"), count(1000, "worker")), ("1 worker".into(), "1 000 workers".into()));
        assert_eq!(
            (ms(0.0123), ms(1.234), ms(45.67), ms(1234.5)),
            ("0.012".into(), "1.23".into(), "45.7".into(), "1234".into())
        );
        assert_eq!((ms(0.0), ms(0.5)), ("0.00".into(), "0.50".into()));
        assert_eq!(clock(Duration::from_secs(3725)), "1:02:05");
        assert_eq!((rate(0.0), rate(0.05), rate(0.004)), ("0.00".into(), "0.05".into(), "0.004".into()));
        assert_eq!((rate(0.5), rate(0.0567), rate(f64::NAN)), ("0.50".into(), "0.0567".into(), "NaN".into()));
        assert_eq!((rate(1.5), rate(15.5), rate(12_345.6)), ("1.50".into(), "15.5".into(), "12 346".into()));
    }
}
