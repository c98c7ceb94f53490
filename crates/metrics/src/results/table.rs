//! Every figure of an operation, once. What shows, writes, compares or judges figures iterates these rows: the table on the
//! terminal, `run.json`, `intervals.csv`, REST, the report, the console (by types that are generated from them),
//! `compare`, thresholds, plots and exports. A new figure is a new row; [`Reading::Sums`] says how it is measured.

use super::{Amount, Better, Metric, Names, OperationResult, Reading, Statistic, Unit};

/// What most rows say: a response time, of which less is better.
const TIME: Metric = Metric {
    id: "",
    unit: Unit::Ms,
    better: Better::Less,
    title: "",
    help: "",
    reading: Reading::Field(|_| None),
    statistic: Statistic::Value,
    column: "",
    names: Names::NONE,
};

/// What counters have in common.
const COUNT: Metric = Metric { unit: Unit::Count("operation"), better: Better::Neither, ..TIME };

#[expect(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
fn failed_share(result: &OperationResult) -> Option<f64> {
    let ended = result.ok + result.failed;
    (ended > 0).then(|| result.failed as f64 / ended as f64)
}

/// The figures, in the order in which they are shown.
pub const METRICS: &[Metric] = &[
    Metric {
        id: "count",
        better: Better::More,
        title: "Operations",
        help: "Operations that succeeded",
        reading: Reading::Count(|op| op.ok, |result| result.ok),
        column: "Op-Count",
        names: Names {
            terminal: "ops",
            page: "operations",
            side_by_side: "operations",
            plot: "count",
            ..Names::NONE
        },
        ..COUNT
    },
    Metric {
        id: "failures",
        better: Better::Less,
        title: "Failures",
        help: "Operations that failed",
        reading: Reading::Count(|op| op.failed, |result| result.failed),
        names: Names { terminal: "failed", page: "failed", ..Names::NONE },
        ..COUNT
    },
    Metric {
        id: "throughput_per_s",
        unit: Unit::PerS,
        better: Better::More,
        title: "Throughput",
        help: "Operations that succeeded per second of the measured window",
        reading: Reading::Field(|result| result.throughput_per_s),
        statistic: Statistic::Rate(Amount::Operations),
        column: "Throughput",
        names: Names {
            terminal: "op/s",
            page: "op/s",
            side_by_side: "throughput",
            compare: "throughput",
            threshold: "throughput",
            plot: "throughput",
            export: "cosmark_throughput_per_second",
        },
    },
    Metric {
        id: "bandwidth_bytes_per_s",
        unit: Unit::BytesPerS,
        better: Better::More,
        title: "Bandwidth",
        help: "Body bytes of operations that succeeded per second of the measured window",
        reading: Reading::Field(|result| result.bandwidth_bytes_per_s),
        statistic: Statistic::Rate(Amount::Bytes),
        column: "Bandwidth",
        names: Names {
            terminal: "bandwidth",
            page: "bandwidth",
            side_by_side: "bandwidth",
            threshold: "bandwidth",
            plot: "bandwidth",
            export: "cosmark_bandwidth_bytes_per_second",
            ..Names::NONE
        },
    },
    Metric {
        id: "response_ms.mean",
        title: "Mean response time",
        help: "Mean time from the moment that an operation was due to its end",
        reading: Reading::Response(|times| times.mean),
        statistic: Statistic::Mean,
        column: "Avg-ResTime",
        names: Names {
            terminal: "mean",
            page: "mean",
            side_by_side: "mean",
            compare: "mean",
            threshold: "mean",
            plot: "response",
            ..Names::NONE
        },
        ..TIME
    },
    Metric {
        id: "response_ms.p50",
        title: "50 % response time",
        help: "50 % of the operations that succeeded took no longer",
        reading: Reading::Response(|times| times.p50),
        statistic: Statistic::Quantile(0.5),
        names: Names {
            terminal: "p50",
            page: "median",
            side_by_side: "median",
            compare: "p50",
            threshold: "p50",
            plot: "p50",
            ..Names::NONE
        },
        ..TIME
    },
    Metric {
        id: "response_ms.p60",
        title: "60 % response time",
        help: "60 % of the operations that succeeded took no longer",
        reading: Reading::Response(|times| times.p60),
        statistic: Statistic::Quantile(0.6),
        names: Names { threshold: "p60", ..Names::NONE },
        ..TIME
    },
    Metric {
        id: "response_ms.p80",
        title: "80 % response time",
        help: "80 % of the operations that succeeded took no longer",
        reading: Reading::Response(|times| times.p80),
        statistic: Statistic::Quantile(0.8),
        names: Names { threshold: "p80", ..Names::NONE },
        ..TIME
    },
    Metric {
        id: "response_ms.p90",
        title: "90 % response time",
        help: "90 % of the operations that succeeded took no longer",
        reading: Reading::Response(|times| times.p90),
        statistic: Statistic::Quantile(0.9),
        column: "90%-ResTime",
        names: Names { page: "p90", threshold: "p90", plot: "p90", ..Names::NONE },
        ..TIME
    },
    Metric {
        id: "response_ms.p95",
        title: "95 % response time",
        help: "95 % of the operations that succeeded took no longer",
        reading: Reading::Response(|times| times.p95),
        statistic: Statistic::Quantile(0.95),
        column: "95%-ResTime",
        names: Names {
            terminal: "p95",
            page: "p95",
            side_by_side: "p95",
            compare: "p95",
            threshold: "p95",
            plot: "p95",
            ..Names::NONE
        },
        ..TIME
    },
    Metric {
        id: "response_ms.p99",
        title: "99 % response time",
        help: "99 % of the operations that succeeded took no longer",
        reading: Reading::Response(|times| times.p99),
        statistic: Statistic::Quantile(0.99),
        column: "99%-ResTime",
        names: Names {
            terminal: "p99",
            page: "p99",
            side_by_side: "p99",
            compare: "p99",
            threshold: "p99",
            plot: "p99",
            ..Names::NONE
        },
        ..TIME
    },
    Metric {
        id: "response_ms.p99_9",
        title: "99.9 % response time",
        help: "99.9 % of the operations that succeeded took no longer",
        reading: Reading::Response(|times| times.p99_9),
        statistic: Statistic::Quantile(0.999),
        names: Names { page: "p99.9", side_by_side: "p99.9", threshold: "p99_9", ..Names::NONE },
        ..TIME
    },
    Metric {
        id: "response_ms.p99_99",
        title: "99.99 % response time",
        help: "99.99 % of the operations that succeeded took no longer",
        reading: Reading::Response(|times| times.p99_99),
        statistic: Statistic::Quantile(0.9999),
        names: Names { threshold: "p99_99", ..Names::NONE },
        ..TIME
    },
    Metric {
        id: "response_ms.max",
        title: "Greatest response time",
        help: "The longest of the operations that succeeded",
        reading: Reading::Response(|times| times.max),
        column: "100%-ResTime",
        names: Names {
            terminal: "max ms",
            page: "max",
            side_by_side: "max",
            threshold: "max",
            plot: "max",
            ..Names::NONE
        },
        ..TIME
    },
    Metric {
        id: "first_byte_ms.mean",
        title: "Mean time to first byte",
        help: "Mean time from sent to the first byte of the answer, or to the end where no answer has a body",
        reading: Reading::Field(|result| result.first_byte_ms.mean.or(result.service_ms.mean)),
        column: "Avg-ProcTime",
        names: Names { plot: "first-byte", ..Names::NONE },
        ..TIME
    },
    Metric {
        id: "wire_ms.mean",
        title: "Mean time on the wire",
        help: "Mean time from the moment a request left the client's host to the last byte of its answer there, by the system's stamps",
        reading: Reading::Field(|result| result.wire_ms.mean),
        names: Names { plot: "wire", threshold: "wire_mean", ..Names::NONE },
        ..TIME
    },
    Metric {
        id: "wire_ms.p50",
        title: "50 % time on the wire",
        help: "50 % of the operations that were stamped took no longer on the wire",
        reading: Reading::Field(|result| result.wire_ms.p50),
        names: Names { side_by_side: "wire median", threshold: "wire_p50", plot: "wire-p50", ..Names::NONE },
        ..TIME
    },
    Metric {
        id: "wire_ms.p95",
        title: "95 % time on the wire",
        help: "95 % of the operations that were stamped took no longer on the wire",
        reading: Reading::Field(|result| result.wire_ms.p95),
        names: Names { threshold: "wire_p95", plot: "wire-p95", ..Names::NONE },
        ..TIME
    },
    Metric {
        id: "wire_ms.p99",
        title: "99 % time on the wire",
        help: "99 % of the operations that were stamped took no longer on the wire",
        reading: Reading::Field(|result| result.wire_ms.p99),
        names: Names {
            page: "wire p99",
            side_by_side: "wire p99",
            compare: "wire_p99",
            threshold: "wire_p99",
            plot: "wire-p99",
            ..Names::NONE
        },
        ..TIME
    },
    Metric {
        id: "client_added_ms.mean",
        title: "Mean that the client added",
        help: "Mean of what the client added to each operation that was stamped: its service time, without the opening of connections, less its time on the wire",
        reading: Reading::Field(|result| result.client_added_ms.mean),
        names: Names { plot: "client-added", ..Names::NONE },
        ..TIME
    },
    Metric {
        id: "client_added_ms.p99",
        title: "What the client added at 99 %",
        help: "To 99 % of the operations that were stamped the client added no more",
        reading: Reading::Field(|result| result.client_added_ms.p99),
        names: Names {
            page: "client p99",
            side_by_side: "client added, p99",
            threshold: "client_added_p99",
            plot: "client-added-p99",
            ..Names::NONE
        },
        ..TIME
    },
    Metric {
        id: "error_rate",
        unit: Unit::Share,
        better: Better::Less,
        title: "Failed",
        help: "Failures of all operations that ended",
        reading: Reading::Field(failed_share),
        statistic: Statistic::Failures,
        names: Names { side_by_side: "failed", compare: "errors", threshold: "error_rate", ..Names::NONE },
        ..COUNT
    },
    Metric {
        id: "success_ratio",
        unit: Unit::Share,
        better: Better::More,
        title: "Success ratio",
        help: "Successes of all operations that ended",
        reading: Reading::Field(|result| result.success_ratio),
        statistic: Statistic::Successes,
        column: "Succ-Ratio",
        names: Names { plot: "success", export: "cosmark_success_ratio", ..Names::NONE },
    },
    Metric {
        id: "bytes",
        unit: Unit::Bytes,
        better: Better::More,
        title: "Transferred",
        help: "Body bytes of operations that succeeded",
        reading: Reading::Count(|op| op.bytes, |result| result.bytes),
        column: "Byte-Count",
        names: Names { plot: "bytes", export: "cosmark_bytes_total", ..Names::NONE },
        ..COUNT
    },
    Metric {
        id: "requests",
        unit: Unit::Count("request"),
        title: "Requests",
        help: "Requests on the wire",
        reading: Reading::Count(|op| op.requests, |result| result.requests),
        names: Names { export: "cosmark_requests_total", ..Names::NONE },
        ..COUNT
    },
    Metric {
        id: "retries",
        unit: Unit::Count("request"),
        title: "Retries",
        help: "Requests that repeated another one",
        reading: Reading::Count(|op| op.retries, |result| result.retries),
        names: Names { export: "cosmark_retries_total", ..Names::NONE },
        ..COUNT
    },
    Metric {
        id: "connections",
        unit: Unit::Count("connection"),
        title: "Connections",
        help: "Connections opened",
        reading: Reading::Count(|op| op.connections, |result| result.connections),
        names: Names { export: "cosmark_connections_total", ..Names::NONE },
        ..COUNT
    },
    Metric {
        id: "missed",
        unit: Unit::Count("arrival"),
        title: "Missed",
        help: "Arrivals of an open loop that were dropped because no worker was free",
        reading: Reading::Count(|op| op.missed, |result| result.missed),
        names: Names { export: "cosmark_missed_total", ..Names::NONE },
        ..COUNT
    },
    Metric {
        id: "delayed",
        unit: Unit::Count("arrival"),
        title: "Delayed",
        help: "Arrivals of an open loop that had to wait for a worker",
        reading: Reading::Count(|op| op.delayed, |result| result.delayed),
        names: Names { export: "cosmark_delayed_total", ..Names::NONE },
        ..COUNT
    },
    Metric {
        id: "in_flight_mean",
        title: "In flight",
        help: "Mean number of operations in flight",
        reading: Reading::Field(|result| result.in_flight_mean),
        names: Names { export: "cosmark_in_flight", ..Names::NONE },
        ..COUNT
    },
    Metric {
        id: "workers",
        unit: Unit::Count("worker"),
        title: "Workers",
        help: "Workers of the work, over all drivers",
        reading: Reading::Field(|result| Some(f64::from(result.workers))),
        names: Names { export: "cosmark_workers", ..Names::NONE },
        ..COUNT
    },
];
