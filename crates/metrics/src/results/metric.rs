//! What a row of the table of figures says: the name and unit of a figure, where it is read, and where it is shown.

use std::fmt;

use super::{Latencies, OperationResult};
use crate::OpSnapshot;

/// A figure of an operation.
pub struct Metric {
    /// Its name in `run.json`, in tables and in REST; a dot leads into a distribution: `response_ms.p99`.
    pub id: &'static str,
    /// Unit of its values.
    pub unit: Unit,
    /// What a larger value means.
    pub better: Better,
    /// For people, without unit.
    pub title: &'static str,
    /// One sentence: what it says.
    pub help: &'static str,
    /// Where its value stands.
    pub reading: Reading,
    /// How surely it is known.
    pub statistic: Statistic,
    /// COSBench's column; empty where it has none.
    pub column: &'static str,
    /// What it is called in each place that shows figures.
    pub names: Names,
}

/// What a figure is called in each place that shows figures; an empty name = it is not shown there.
#[derive(Debug, Clone, Copy)]
pub struct Names {
    /// Column of the table on the terminal.
    pub terminal: &'static str,
    /// Column of the tables of the report and the console.
    pub page: &'static str,
    /// Line of the console's page that puts runs side by side.
    pub side_by_side: &'static str,
    /// `cosmark compare`, `--fail-on`, `GET compare`.
    pub compare: &'static str,
    /// `thresholds` of a workload.
    pub threshold: &'static str,
    /// `cosmark plot --metric`.
    pub plot: &'static str,
    /// Metric of Prometheus, OpenTelemetry and InfluxDB.
    pub export: &'static str,
}

impl Names {
    /// Shown nowhere.
    pub const NONE: Self =
        Self { terminal: "", page: "", side_by_side: "", compare: "", threshold: "", plot: "", export: "" };

    /// The same short name wherever people read figures, and one for other programs.
    #[must_use]
    pub const fn everywhere(name: &'static str, export: &'static str) -> Self {
        Self {
            terminal: name,
            page: name,
            side_by_side: name,
            compare: name,
            threshold: name,
            plot: name,
            export,
        }
    }
}

/// Unit of a figure's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A number of such things: `request`, `connection`.
    Count(&'static str),
    /// Of a whole, 0 to 1.
    Share,
    /// Milliseconds.
    Ms,
    /// Per second.
    PerS,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerS,
}

impl Unit {
    /// The word in files, in REST and in the console.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Count(_) => "count",
            Self::Share => "share",
            Self::Ms => "ms",
            Self::PerS => "per_s",
            Self::Bytes => "bytes",
            Self::BytesPerS => "bytes_per_s",
        }
    }
}

impl Unit {
    /// What stands behind a number in a sentence.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Count(_) | Self::Share => "",
            Self::Ms => " ms",
            Self::PerS => "/s",
            Self::Bytes => " bytes",
            Self::BytesPerS => " bytes/s",
        }
    }
}

/// What a larger value means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better, so that a limit is a lower one.
    More,
    /// Less is better.
    Less,
    /// Neither.
    Neither,
}

/// Where the value of a figure stands. What `run.json` had before it had a table has a field; everything else is measured
/// from the sums and stands in [`OperationResult::metrics`].
#[derive(Clone, Copy)]
pub enum Reading {
    /// A sum, and the field of the result that holds it.
    Count(fn(&OpSnapshot) -> u64, fn(&OperationResult) -> u64),
    /// A field of the result.
    Field(fn(&OperationResult) -> Option<f64>),
    /// Of the response times.
    Response(fn(&Latencies) -> Option<f64>),
    /// Measured from the merged sums over a window of so many seconds.
    Sums(fn(&OpSnapshot, f64) -> Option<f64>),
}

/// Which times of an operation a distribution is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Times {
    /// From due.
    Response,
    /// From sent.
    Service,
    /// From sent to the first byte.
    FirstByte,
}

impl Times {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Response, Self::Service, Self::FirstByte];

    /// The field of a result.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::Response => "response_ms",
            Self::Service => "service_ms",
            Self::FirstByte => "first_byte_ms",
        }
    }
}

/// How surely a figure is known: which interval is put around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// No interval is known: the value is all there is.
    Value,
    /// An amount per second: its intervals of time are resampled.
    Rate(Amount),
    /// A mean of response times: likewise.
    Mean,
    /// A quantile of response times, 0 to 1: by the ranks of independent operations.
    Quantile(f64),
    /// A share of failures: likewise.
    Failures,
    /// A share of successes: likewise.
    Successes,
}

/// What a rate counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Successes.
    Operations,
    /// Body bytes of successes.
    Bytes,
}

#[expect(clippy::cast_precision_loss, reason = "figures need no more than 53 bits")]
fn float(count: u64) -> f64 {
    count as f64
}

impl Metric {
    /// Its value in a result; `None` where the data do not support it.
    #[must_use]
    pub fn of(&self, result: &OperationResult) -> Option<f64> {
        match self.reading {
            Reading::Count(_, field) => Some(float(field(result))),
            Reading::Field(field) => field(result),
            Reading::Response(field) => field(&result.response_ms),
            Reading::Sums(_) => result.metrics.get(self.id).copied(),
        }
    }

    /// The same from merged sums over a window of `window_s` seconds.
    #[must_use]
    pub fn of_sums(&self, op: &OpSnapshot, window_s: f64) -> Option<f64> {
        match self.reading {
            Reading::Count(sum, _) => Some(float(sum(op))),
            Reading::Field(field) => field(&OperationResult::of(op, window_s)),
            Reading::Response(field) => field(&Latencies::of(op.response_or_service())),
            Reading::Sums(of) => of(op, window_s),
        }
    }

    /// Its value where it has no field of its own in a result.
    #[must_use]
    pub fn measured(&self, op: &OpSnapshot, window_s: f64) -> Option<f64> {
        match self.reading {
            Reading::Sums(of) => of(op, window_s).filter(|value| value.is_finite()),
            _ => None,
        }
    }

    /// True where it has no field of its own in a result.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        matches!(self.reading, Reading::Sums(_))
    }

    /// True for times.
    #[must_use]
    pub fn is_time(&self) -> bool {
        self.unit == Unit::Ms
    }

    /// True where more is better, so that a limit is a lower one.
    #[must_use]
    pub fn more_is_better(&self) -> bool {
        self.better == Better::More
    }
}

impl Metric {
    /// Where the interval of this figure, taken of other times, stands in `bounds`: `service_ms.p99` for the service time of
    /// the row `response_ms.p99`. `None` for a figure that is no time, or has no interval.
    #[must_use]
    pub fn bound_of(&self, times: Times) -> Option<String> {
        let (Reading::Response(_), Statistic::Mean | Statistic::Quantile(_)) = (self.reading, self.statistic)
        else {
            return None;
        };
        let (_, which) = self.id.split_once('.')?;
        Some(format!("{}.{which}", times.field()))
    }

    /// True where an interval is put around it.
    #[must_use]
    pub fn has_bound(&self) -> bool {
        self.statistic != Statistic::Value
    }
}

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Metric {}

impl fmt::Debug for Metric {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.id)
    }
}
