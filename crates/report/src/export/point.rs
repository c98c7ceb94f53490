//! Metrics as values: names, labels, numbers and histograms. The names follow Prometheus's conventions (base units,
//! `_total` on counters).

use std::sync::Arc;

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
    pub unit: &'static str,
    /// What it says.
    pub help: &'static str,
}

/// Every metric.
pub const NAMES: &[PointName] = &[
    PointName {
        name: "cosmark_operations_total",
        kind: PointKind::Counter,
        unit: "{operation}",
        help: "Operations that ended, by outcome: ok, or the kind of error",
    },
    PointName {
        name: "cosmark_bytes_total",
        kind: PointKind::Counter,
        unit: "By",
        help: "Body bytes of operations that succeeded",
    },
    PointName {
        name: "cosmark_requests_total",
        kind: PointKind::Counter,
        unit: "{request}",
        help: "Requests on the wire",
    },
    PointName {
        name: "cosmark_retries_total",
        kind: PointKind::Counter,
        unit: "{request}",
        help: "Requests that repeated another one",
    },
    PointName {
        name: "cosmark_connections_total",
        kind: PointKind::Counter,
        unit: "{connection}",
        help: "Connections opened",
    },
    PointName {
        name: "cosmark_missed_total",
        kind: PointKind::Counter,
        unit: "{arrival}",
        help: "Arrivals of an open loop that were dropped because no worker was free",
    },
    PointName {
        name: "cosmark_delayed_total",
        kind: PointKind::Counter,
        unit: "{arrival}",
        help: "Arrivals of an open loop that had to wait for a worker",
    },
    PointName {
        name: "cosmark_response_seconds",
        kind: PointKind::Histogram,
        unit: "s",
        help: "Response time of operations that succeeded, from the moment each was due",
    },
    PointName {
        name: "cosmark_in_flight",
        kind: PointKind::Gauge,
        unit: "{operation}",
        help: "Mean number of operations in flight",
    },
    PointName {
        name: "cosmark_workers",
        kind: PointKind::Gauge,
        unit: "{worker}",
        help: "Workers of the work, over all drivers",
    },
    PointName {
        name: "cosmark_throughput_per_second",
        kind: PointKind::Gauge,
        unit: "{operation}/s",
        help: "Operations that succeeded per second of the measured window",
    },
    PointName {
        name: "cosmark_bandwidth_bytes_per_second",
        kind: PointKind::Gauge,
        unit: "By/s",
        help: "Body bytes of operations that succeeded per second of the measured window",
    },
    PointName {
        name: "cosmark_success_ratio",
        kind: PointKind::Gauge,
        unit: "1",
        help: "Successes of all operations that ended",
    },
    PointName {
        name: "cosmark_response_percentile_seconds",
        kind: PointKind::Gauge,
        unit: "s",
        help: "Percentiles of the response time as published; absent where the data do not support them",
    },
    PointName {
        name: "cosmark_run_info",
        kind: PointKind::Gauge,
        unit: "1",
        help: "1; its labels name the run",
    },
];

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
