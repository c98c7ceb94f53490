// A small stage for tests, with every field of the data.
import type { Latencies } from "./results";
import type { OperationData, StageData } from "./types";

export function times(p50: number): Latencies {
  return { count: 1000, mean: p50, min: 1, p50, p60: p50, p80: p50 * 1.5, p90: p50 * 2, p95: p50 * 3, p99: p50 * 5, p99_9: null, p99_99: null, max: p50 * 9, withheld: "p99_9 and above need 10000 operations, there are 1000" };
}

export function operation(more: Partial<OperationData> = {}): OperationData {
  return {
    work: "main", name: "read", op: "read", sample: "read", tag: "s1-main.read", workers: 4, id: "op1", arrival: "closed",
    count: 990, failures: 10, bytes: 99_000, partial_bytes: 0, throughput_per_s: 99, bandwidth_bytes_per_s: 9900,
    response_ms: times(2), service_ms: times(2), first_byte_ms: times(1), wire_ms: times(1.9), client_added_ms: times(0.1),
    missed: 0, delayed: 0, unfinished: 0, intended: null, checked: 0, success_ratio: 0.99, in_flight_mean: 3.5, window_s: 10, age_at_start_s: null, age_at_end_s: null, workers_done_mean: null, metrics: undefined,
    failed_service_ms: null, connect_ms: null, lag_ms: null, unfinished_age_ms: null,
    errors: { http_503: 10 }, error_codes: {}, error_examples: [], requests: 1000, retries: 0, connections: 4, renewals: 0, accepted_only: 0,
    series: {
      count: [200, 300, 50], failures: [0, 5, 5], bytes: [20_000, 30_000, 5000], missed: [0, 0, 0], delayed: [0, 0, 0],
      in_flight: [3, 4, 2], errors: { http_503: [0, 5, 4], timeout: [0, 0, 1] }, drivers: {},
    },
    latency: [{ kind: "response", every: 2, count: [500, 50], p50: [2, 2.5], p95: [6, null], p99: [null, null], max: [18, 12] }],
    distributions: [{ kind: "response", count: 990, nines: [0, 1, 2, 2.9956], ms: [1, 4, 10, 18], supported: 2 }],
    heat: { every: 2, first_row: 96, rows_per_decade: 16, rows: 20, cells: [0, 0, 400, 0, 19, 100, 1, 5, 50] },
    size_classes: [], endpoints: [], drivers: [],
    ...more,
  };
}

export function stage(operations: OperationData[] = [operation()], more: Partial<StageData> = {}): StageData {
  return {
    id: "s1-main", name: "main", state: "completed", reason: null, started: null, took_s: 12, window_s: 10, setup: false, arrival: "closed",
    time: { bin_s: 2, bins: 3, end_s: 4.5 },
    phases: [{ phase: "rampup", from_s: 0, to_s: 2 }, { phase: "window", from_s: 2, to_s: 4.5 }],
    operations, spent: null, clients: [], nodes: [], node_costs: [], node_charts: [], node_gaps: [], events: [], faults: [], consistency: null, fill: null, ...more,
  };
}
