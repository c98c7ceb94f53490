//! What a stage has to reach: `read.p95 <= 20 ms`, `error_rate <= 0.1 %`, `throughput >= 1000/s`, or a limit that grows with
//! the object, `p95 <= 200 ms + size / 1 MB/s`.

use cosmark_metrics::results::{METRICS, Metric, Unit};
use cosmark_units::{Complaint, Plain, SizeUnit, parse_duration_as, parse_rate, parse_size};

use crate::diagnostics::shown;
use crate::diagnostics::suggest;

/// Longest text of a threshold.
const MOST_BYTES: usize = 200;
/// Most thresholds of one stage.
pub(crate) const MOST_THRESHOLDS: usize = 100;

/// The figures that a threshold may name. Times may also be written with `_ms`: then a plain number is milliseconds.
pub(crate) fn figures() -> impl Iterator<Item = &'static Metric> + Clone {
    METRICS.iter().filter(|metric| !metric.names.threshold.is_empty())
}

fn find(word: &str) -> Option<&'static Metric> {
    let word = word.replace("99.9", "99_9");
    figures().find(|metric| metric.names.threshold == word)
}

/// What it is compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// ms, a share, per second or bytes per second, as the metric is.
    Value(f64),
    /// A time that grows with the size of the object.
    Size {
        /// For an object of no bytes, ms.
        base_ms: f64,
        /// How fast it has to move.
        bytes_per_s: f64,
    },
}

impl Limit {
    /// The limit for an object of this size.
    #[must_use]
    pub fn for_size(self, bytes: f64) -> f64 {
        match self {
            Self::Value(value) => value,
            Self::Size { base_ms, bytes_per_s } => base_ms + bytes / bytes_per_s * 1000.0,
        }
    }
}

/// One condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// As written.
    pub text: String,
    /// Name or type of the operation it is about; `None`: all of the stage.
    pub operation: Option<String>,
    /// What is compared.
    pub metric: &'static Metric,
    /// With what. An upper limit, but a lower one where more is better.
    pub limit: Limit,
}

impl Threshold {
    /// Reads one condition.
    ///
    /// # Errors
    /// What is wrong with it and how to write it.
    pub fn parse(text: &str) -> Result<Threshold, Complaint> {
        let text = text.trim();
        let example =
            || "write e.g. read.p95 <= 20 ms, error_rate <= 0.1 % or throughput >= 1000/s".to_owned();
        if text.len() > MOST_BYTES {
            return Err(("a threshold is too long".to_owned(), format!("at most {MOST_BYTES} bytes")));
        }
        let Some(at) = text.find(['<', '>']) else {
            return Err((format!("`{}` compares nothing", shown(text)), example()));
        };
        let (subject, rest) = text.split_at(at);
        let upper = rest.starts_with('<');
        let value = rest[1..].strip_prefix('=').unwrap_or(&rest[1..]).trim();
        let (operation, metric, in_ms) = subject_of(subject.trim())?;
        if upper == metric.more_is_better() {
            let (word, sign) = (metric.names.threshold, if upper { ">=" } else { "<=" });
            let hint = format!("write {word} {sign} {}", if value.is_empty() { ".." } else { value });
            return Err((
                format!("a limit of {word} is {}", if upper { "a lower one" } else { "an upper one" }),
                hint,
            ));
        }
        let limit = limit_of(metric, in_ms, value)?;
        Ok(Threshold { text: text.to_owned(), operation, metric, limit })
    }

    /// True when the condition is about this operation.
    #[must_use]
    pub fn is_about(&self, operation: &crate::model::Operation) -> bool {
        self.operation
            .as_ref()
            .is_none_or(|wanted| *wanted == operation.name || wanted == operation.kind.word())
    }
}

/// `read.p95_ms` to its operation, metric and whether plain numbers are ms.
fn subject_of(text: &str) -> Result<(Option<String>, &'static Metric, bool), Complaint> {
    // p99.9 has a dot of its own.
    let text = text.replace("p99.99", "p99_99").replace("p99.9", "p99_9");
    let (operation, word) = match text.rsplit_once('.') {
        Some((operation, word)) => (Some(operation.trim()), word.trim()),
        None => (None, text.as_str()),
    };
    let (plain, in_ms) = match word.strip_suffix("_ms") {
        Some(plain) => (plain, true),
        None => (word, false),
    };
    let metric = find(plain).filter(|metric| metric.is_time() || !in_ms).ok_or_else(|| {
        let hint = suggest::hint(plain, figures().map(|metric| metric.names.threshold));
        (format!("unknown metric `{}`", shown(word)), hint)
    })?;
    if operation == Some("") {
        return Err((format!("`{}` names no operation", shown(&text)), "write e.g. read.p95".to_owned()));
    }
    Ok((operation.map(str::to_owned), metric, in_ms))
}

fn limit_of(metric: &Metric, in_ms: bool, value: &str) -> Result<Limit, Complaint> {
    let bad = |hint: &str| {
        (format!("`{}` is no limit for {}", shown(value), metric.names.threshold), hint.to_owned())
    };
    let positive = |number: f64| (number > 0.0 && number.is_finite()).then_some(Limit::Value(number));
    match metric.unit {
        Unit::Share => {
            let hint = "write 0.1 % or 0.001";
            let (number, scale) = value.strip_suffix('%').map_or((value, 1.0), |number| (number, 100.0));
            let share = number.trim().parse::<f64>().map_err(|_| bad(hint))? / scale;
            if (0.0..1.0).contains(&share) { Ok(Limit::Value(share)) } else { Err(bad(hint)) }
        }
        Unit::PerS => parse_rate(value).ok().and_then(positive).ok_or_else(|| bad("write 1000/s")),
        Unit::BytesPerS => {
            bytes_per_s(value).and_then(positive).ok_or_else(|| bad("write 100 MB/s or 1 GiB/s"))
        }
        Unit::Count(_) => value.parse().ok().and_then(positive).ok_or_else(|| bad("write a number above 0")),
        Unit::Bytes => {
            let hint = "write a size with its unit, e.g. 64 KiB";
            #[expect(clippy::cast_precision_loss, reason = "a limit needs no more than 53 bits")]
            let bytes = parse_size(value).map_err(|_| bad(hint))? as f64;
            positive(bytes).ok_or_else(|| bad(hint))
        }
        Unit::Ms => {
            let hint = "write a time with its unit, e.g. 20 ms, or 200 ms + size / 1 MB/s";
            let (base, slope) = match value.split_once('+') {
                None => (value, None),
                Some((base, slope)) => (base, Some(slope)),
            };
            let base_ms = time_ms(base, in_ms).ok_or_else(|| bad(hint))?;
            let Some(slope) = slope else { return positive(base_ms).ok_or_else(|| bad(hint)) };
            let (size, speed) = slope.split_once('/').ok_or_else(|| bad(hint))?;
            let speed = bytes_per_s(speed).filter(|_| size.trim() == "size").ok_or_else(|| bad(hint))?;
            Ok(Limit::Size { base_ms, bytes_per_s: speed })
        }
    }
}

/// A plain number is a time only where the metric says which unit it is in.
fn time_ms(text: &str, in_ms: bool) -> Option<f64> {
    let text = text.trim();
    if let Ok(ms) = text.parse::<f64>() {
        return Some(ms).filter(|ms| in_ms && *ms >= 0.0 && ms.is_finite());
    }
    parse_duration_as(text, Plain::Refused).ok().map(|time| time.as_secs_f64() * 1000.0)
}

/// `1 MB/s`, `1.5 GiB/s`.
fn bytes_per_s(text: &str) -> Option<f64> {
    let amount = text.trim().strip_suffix("/s")?.trim();
    let unit = amount.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = amount.split_at(unit);
    let scale = SizeUnit::TABLE.iter().find(|row| row.1 == unit.trim())?.2;
    // One of the unit, so that its spelling is checked in one place.
    parse_size(&format!("1{}", unit.trim())).ok()?;
    #[expect(clippy::cast_precision_loss, reason = "units are exact in 53 bits")]
    let speed = number.trim().parse::<f64>().ok()? * scale as f64;
    (speed > 0.0 && speed.is_finite()).then_some(speed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_as_people_write_them() {
        let cases: &[(&str, Option<&str>, &str, Limit)] = &[
            ("read.p95_ms <= 20", Some("read"), "p95", Limit::Value(20.0)),
            ("p95_ms <= 20.", None, "p95", Limit::Value(20.0)),
            ("p99.9 < 1.5 s", None, "p99_9", Limit::Value(1500.0)),
            ("1-read.p99.9<=5ms", Some("1-read"), "p99_9", Limit::Value(5.0)),
            ("error_rate <= 0.1 %", None, "error_rate", Limit::Value(0.001)),
            ("write.error_rate <= 0", Some("write"), "error_rate", Limit::Value(0.0)),
            ("throughput >= 1000/s", None, "throughput", Limit::Value(1000.0)),
            ("throughput >= 600/m", None, "throughput", Limit::Value(10.0)),
            ("bandwidth >= 1.5 MB/s", None, "bandwidth", Limit::Value(1.5e6)),
            ("p95 <= 200 ms + size / 1 MB/s", None, "p95", Limit::Size { base_ms: 200.0, bytes_per_s: 1e6 }),
        ];
        for (text, operation, metric, limit) in cases {
            let found = Threshold::parse(text).unwrap();
            assert_eq!(
                (found.operation.as_deref(), found.metric.names.threshold, found.limit),
                (*operation, *metric, *limit),
                "{text}"
            );
        }
    }

    #[test]
    fn a_limit_that_grows_with_the_object_is_computed_with_its_units() {
        let limit = Threshold::parse("p95 <= 200 ms + size / 1 MB/s").unwrap().limit;
        assert_eq!(limit.for_size(10e6), 10_200.0);
        assert_eq!(limit.for_size(128e3), 328.0);
    }

    #[test]
    fn what_is_no_condition_is_refused_with_a_hint() {
        for text in [
            "",
            "p95",
            "p95 <=",
            "p95 <= 20",
            "p95 <= 20.",
            "p95 >= 20 ms",
            "p59 <= 20 ms",
            ".p95 <= 20 ms",
            "p95 <= 0 ms",
            "p95 <= -5 ms",
            "p95 <= 200 ms + 5 / 1 MB/s",
            "p95 <= 200 ms + size / 1 MB",
            "throughput_ms >= 5",
            "throughput >= 0/s",
            "throughput <= 5/s",
            "error_rate <= 120 %",
            "error_rate <= NaN",
            "bandwidth >= 5 parsec/s",
            "bandwidth >= \u{fc}/s",
        ] {
            let (message, hint) = Threshold::parse(text).unwrap_err();
            assert!(!message.is_empty() && !hint.is_empty(), "{text}");
        }
        assert!(Threshold::parse(&format!("p95 <= {} ms", "1".repeat(300))).is_err());
    }
}
