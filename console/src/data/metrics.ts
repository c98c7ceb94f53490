// Generated from crates/metrics/src/results/table.rs:
// UPDATE_TYPES=1 cargo test -p cosmark-metrics --lib types
import type { Metric } from "./metric";

/** The figures of an operation that a page shows, in this order. */
export const METRICS: readonly Metric[] = [
  {
    id: "count", unit: "count", more: true, title: "Operations", help: "Operations that succeeded",
    page: "operations", sideBySide: "operations",
  },
  {
    id: "failures", unit: "count", more: false, title: "Failures", help: "Operations that failed",
    page: "failed", sideBySide: null,
  },
  {
    id: "throughput_per_s", unit: "per_s", more: true, title: "Throughput", help: "Operations that succeeded per second of the measured window",
    page: "op/s", sideBySide: "throughput",
  },
  {
    id: "bandwidth_bytes_per_s", unit: "bytes_per_s", more: true, title: "Bandwidth", help: "Body bytes of operations that succeeded per second of the measured window",
    page: "bandwidth", sideBySide: "bandwidth",
  },
  {
    id: "response_ms.mean", unit: "ms", more: false, title: "Mean response time", help: "Mean time from the moment that an operation was due to its end",
    page: "mean", sideBySide: "mean",
  },
  {
    id: "response_ms.p50", unit: "ms", more: false, title: "50 % response time", help: "50 % of the operations that succeeded took no longer",
    page: "median", sideBySide: "median",
  },
  {
    id: "response_ms.p90", unit: "ms", more: false, title: "90 % response time", help: "90 % of the operations that succeeded took no longer",
    page: "p90", sideBySide: null,
  },
  {
    id: "response_ms.p95", unit: "ms", more: false, title: "95 % response time", help: "95 % of the operations that succeeded took no longer",
    page: "p95", sideBySide: "p95",
  },
  {
    id: "response_ms.p99", unit: "ms", more: false, title: "99 % response time", help: "99 % of the operations that succeeded took no longer",
    page: "p99", sideBySide: "p99",
  },
  {
    id: "response_ms.p99_9", unit: "ms", more: false, title: "99.9 % response time", help: "99.9 % of the operations that succeeded took no longer",
    page: "p99.9", sideBySide: "p99.9",
  },
  {
    id: "response_ms.max", unit: "ms", more: false, title: "Greatest response time", help: "The longest of the operations that succeeded",
    page: "max", sideBySide: "max",
  },
  {
    id: "wire_ms.p50", unit: "ms", more: false, title: "50 % time on the wire", help: "50 % of the operations that were stamped took no longer on the wire",
    page: null, sideBySide: "wire median",
  },
  {
    id: "wire_ms.p99", unit: "ms", more: false, title: "99 % time on the wire", help: "99 % of the operations that were stamped took no longer on the wire",
    page: "wire p99", sideBySide: "wire p99",
  },
  {
    id: "client_added_ms.p99", unit: "ms", more: false, title: "What the client added at 99 %", help: "To 99 % of the operations that were stamped the client added no more",
    page: "client p99", sideBySide: "client added, p99",
  },
  {
    id: "error_rate", unit: "share", more: false, title: "Failed", help: "Failures of all operations that ended",
    page: null, sideBySide: "failed",
  },
];
