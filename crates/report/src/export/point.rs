//! Metrics as values: names, labels, numbers and histograms. The names follow Prometheus's conventions (base units,
//! `_total` on counters).

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use cosmark_metrics::nodes::costs::COSTS;
use cosmark_metrics::results::{METRICS, Metric, Reading, Unit};
use hdrhistogram::Histogram;

/// What kind of metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointKind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts in buckets.
    Histogram,
}

/// A metric.
#[derive(Debug, PartialEq, Eq)]
pub struct PointName {
    /// Name in Prometheus.
    pub name: &'static str,
    /// What kind.
    pub kind: PointKind,
    /// Unit as OpenTelemetry writes it (UCUM).
    pub unit: Cow<'static, str>,
    /// What it says.
    pub help: &'static str,
}

/// Metrics that are no figures of the table: those with a label of their own, histograms, and facts about the run.
const OTHERS: [PointName; 8] = [
    PointName {
        name: "cosmark_bound_high",
        kind: PointKind::Gauge,
        unit: Cow::Borrowed("1"),
        help: "A client that adds nothing would have measured no more than this; absent where the figure does not hold. The name of the figure ends with its unit: response_ms.p99",
    },
    PointName {
        name: "cosmark_bound_low",
        kind: PointKind::Gauge,
        unit: Cow::Borrowed("1"),
        help: "A client that adds nothing would have measured no less than this; absent where the figure does not hold. The name of the figure ends with its unit: response_ms.p99",
    },
    PointName {
        name: "cosmark_node_busy_ratio",
        kind: PointKind::Gauge,
        unit: Cow::Borrowed("1"),
        help: "Share of the measured window in which a part of one of the store's machines was busy",
    },
    PointName {
        name: "cosmark_node_quantity",
        kind: PointKind::Gauge,
        unit: Cow::Borrowed("1"),
        help: "What one of the store's machines did in the measured window: per second of what is counted up, else the mean; the name of the quantity ends with its unit",
    },
    PointName {
        name: "cosmark_operations_total",
        kind: PointKind::Counter,
        unit: Cow::Borrowed("{operation}"),
        help: "Operations that ended, by outcome: ok, the kind of error, or failed where no kind is known",
    },
    PointName {
        name: "cosmark_response_seconds",
        kind: PointKind::Histogram,
        unit: Cow::Borrowed("s"),
        help: "Response time of operations that succeeded, from the moment each was due",
    },
    PointName {
        name: "cosmark_response_percentile_seconds",
        kind: PointKind::Gauge,
        unit: Cow::Borrowed("s"),
        help: "Percentiles of the response time as published; absent where the data do not support them",
    },
    PointName {
        name: "cosmark_run_info",
        kind: PointKind::Gauge,
        unit: Cow::Borrowed("1"),
        help: "1; its labels name the run",
    },
];

/// Lower and upper end of the interval of a figure.
pub const BOUNDS: [&str; 2] = ["cosmark_bound_low", "cosmark_bound_high"];

/// Every metric.
pub static NAMES: LazyLock<Vec<PointName>> =
    LazyLock::new(|| OTHERS.into_iter().chain(exported().chain(of_stages()).map(name_of)).collect());

/// The figures that are exported.
pub fn exported() -> impl Iterator<Item = &'static Metric> {
    METRICS.iter().filter(|metric| !metric.names.export.is_empty())
}

/// The figures of a whole stage.
fn of_stages() -> impl Iterator<Item = &'static Metric> {
    COSTS.iter().filter(|metric| !metric.names.export.is_empty())
}

fn name_of(metric: &'static Metric) -> PointName {
    let kind = match metric.reading {
        Reading::Count(..) => PointKind::Counter,
        _ => PointKind::Gauge,
    };
    let unit = match metric.unit {
        Unit::Count(what) => format!("{{{what}}}").into(),
        Unit::PerS => "{operation}/s".into(),
        Unit::Share => "1".into(),
        Unit::Ms => "s".into(),
        Unit::Bytes => "By".into(),
        Unit::BytesPerS => "By/s".into(),
    };
    PointName { name: metric.names.export, kind, unit, help: metric.help }
}

/// Upper edges of the buckets of histograms, in seconds; one more bucket holds what took longer.
pub const EDGES_S: [f64; 22] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2,
    0.3, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 100.0,
];

/// Labels of a point, ascending by name.
pub type Labels = Arc<[(&'static str, String)]>;

/// A value of a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Which metric.
    pub name: &'static PointName,
    /// Of what.
    pub labels: Labels,
    /// One more label, where a metric has it.
    pub extra: Option<(&'static str, String)>,
    /// How much.
    pub value: PointValue,
}

/// How much.
#[derive(Debug, Clone, PartialEq)]
pub enum PointValue {
    /// A number.
    Number(f64),
    /// Counts below [`EDGES_S`] and beyond, not summed up, and the sum of all times in seconds.
    Histogram(Box<([u64; EDGES_S.len() + 1], f64)>),
}

impl Point {
    /// A number; `None` when no metric is called so.
    #[must_use]
    pub fn number(name: &str, labels: &Labels, value: f64) -> Option<Self> {
        let name = NAMES.iter().find(|known| known.name == name)?;
        Some(Self { name, labels: Arc::clone(labels), extra: None, value: PointValue::Number(value) })
    }

    /// The value of a figure in base units; `None` where it is not exported.
    #[must_use]
    pub fn figure(metric: &Metric, labels: &Labels, value: f64) -> Option<Self> {
        Self::number(metric.names.export, labels, if metric.unit == Unit::Ms { value / 1e3 } else { value })
    }

    /// A number with one more label.
    #[must_use]
    pub fn with(name: &str, labels: &Labels, extra: (&'static str, String), value: f64) -> Option<Self> {
        Some(Self { extra: Some(extra), ..Self::number(name, labels, value)? })
    }

    /// The response times of a histogram of ns, whose exact sum is `sum_s`.
    #[must_use]
    pub fn times(labels: &Labels, histogram: &Histogram<u64>, sum_s: f64) -> Option<Self> {
        let point = Self::number("cosmark_response_seconds", labels, 0.0)?;
        Some(Self { value: PointValue::Histogram(Box::new((buckets(histogram), sum_s))), ..point })
    }

    /// All its labels.
    pub fn all_labels(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let labels = self.labels.iter().chain(&self.extra);
        labels.map(|(name, value)| (*name, value.as_str()))
    }
}

/// Counts in the buckets between [`EDGES_S`].
#[must_use]
pub fn buckets(histogram: &Histogram<u64>) -> [u64; EDGES_S.len() + 1] {
    let mut counts = [0; EDGES_S.len() + 1];
    for step in histogram.iter_recorded() {
        #[expect(clippy::cast_precision_loss, reason = "times below an hour in ns fit 53 bits")]
        let seconds = step.value_iterated_to() as f64 / 1e9;
        let at = EDGES_S.partition_point(|edge| *edge < seconds);
        if let Some(count) = counts.get_mut(at) {
            *count += step.count_since_last_iteration();
        }
    }
    counts
}
