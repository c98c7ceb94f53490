// The performance matrix: rows of all stages of the history, flattened, filtered, sorted.
import type { MatrixRow } from "../data/service";
import type { Unit } from "../format";

export type Flat = Record<string, string | number | boolean | null>;

/** Nested figures get names with a dot, `response_ms.p99`; those of `metrics` have none. Lists become text. */
export function flatten(row: MatrixRow, prefix = ""): Flat {
  const flat: Flat = {};
  for (const [key, value] of Object.entries(row)) {
    const name = prefix + key;
    if (Array.isArray(value)) flat[name] = value.join(", ");
    else if (value !== null && typeof value === "object") Object.assign(flat, flatten(value as MatrixRow, key === "metrics" ? prefix : `${name}.`));
    else flat[name] = value as Flat[string];
  }
  return flat;
}

/** A row as the page has it: its failures as a share, and when it was. */
export function rowOf(row: MatrixRow): Flat {
  const flat = flatten(row);
  const [count, failures] = [flat["count"], flat["failures"]];
  if (flat["error_rate"] === undefined && typeof count === "number" && typeof failures === "number") {
    flat["error_rate"] = count + failures > 0 ? failures / (count + failures) : null;
  }
  delete flat["success_ratio"];
  flat["started"] ??= flat["submitted"] ?? null;
  return flat;
}

/** Figures about the row and not of it. */
const FACTS = new Set(["run", "name", "state", "started", "ended", "submitted", "verdict", "tags", "baseline", "stage", "stage_name", "stage_state", "work", "operation", "op", "sample", "host", "hostname", "cosmark", "driver", "reason", "workload", "withheld"]);

export function unitOf(metric: string): Unit {
  if (/bytes_per_s$/.test(metric)) return "bytes_per_s";
  if (/_per_s$/.test(metric)) return "per_s";
  if (/_ms(\.|$)/.test(metric)) return "ms";
  if (/(^|_)s$/.test(metric)) return "s";
  if (/bytes$/.test(metric)) return "bytes";
  if (/(rate|ratio|share)$/.test(metric)) return "share";
  return "count";
}

const NAMES: Record<string, string> = {
  throughput_per_s: "throughput", bandwidth_bytes_per_s: "bandwidth", error_rate: "failed", window_s: "window", count: "operations",
};

/** `response_ms.p99_9` is `response p99.9`. */
export function metricName(metric: string): string {
  return NAMES[metric] ?? metric.replace(/_ms\b/, "").replace(".", " ").replace(/p(\d+)_(\d+)/, "p$1.$2").replaceAll("_", " ");
}

/** Every figure that some row has, those that are asked for first in front. */
export function metricsOf(rows: Flat[]): string[] {
  const found = new Set<string>();
  for (const row of rows) for (const [key, value] of Object.entries(row)) if (typeof value === "number" && !FACTS.has(key)) found.add(key);
  const first = ["throughput_per_s", "bandwidth_bytes_per_s", "response_ms.mean", "response_ms.p50", "response_ms.p95", "response_ms.p99", "error_rate", "failures", "count", "workers"];
  return [...first.filter((one) => found.has(one)), ...[...found].filter((one) => !first.includes(one)).sort()];
}

export interface Filter {
  search: string;
  operation: string;
  state: string;
  verdict: string;
  workers: string;
  /** Also what prepares and cleans up. */
  setup?: boolean;
}

/** What prepares and cleans up. */
const SETUP = new Set(["init", "prepare", "mprepare", "cleanup", "dispose", "delay"]);

export function passes(row: Flat, filter: Filter): boolean {
  const text = `${row["run"]} ${row["name"]} ${row["stage_name"] ?? row["stage"]} ${row["work"]} ${row["tags"] ?? ""}`.toLowerCase();
  return (
    filter.search.toLowerCase().split(/\s+/).every((word) => text.includes(word)) &&
    (!filter.operation || row["operation"] === filter.operation) &&
    (!filter.state || row["state"] === filter.state) &&
    (!filter.verdict || row["verdict"] === filter.verdict) &&
    (filter.setup === true || filter.operation !== "" || !SETUP.has(String(row["op"] ?? row["operation"]))) &&
    (!filter.workers || String(row["workers"]) === filter.workers)
  );
}

/** Sorted by a column; rows without a value come last either way. */
export function sorted(rows: Flat[], by: string, down: boolean): Flat[] {
  const compare = (a: Flat[string] | undefined, b: Flat[string] | undefined) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  return [...rows].sort((one, other) => {
    const [a, b] = [one[by] ?? null, other[by] ?? null];
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    return down ? -compare(a, b) : compare(a, b);
  });
}

/** The different values of a column, in their order. */
export function valuesOf(rows: Flat[], column: string): string[] {
  const found = new Set(rows.map((row) => row[column]).filter((one) => one !== null && one !== undefined && one !== ""));
  return [...found].map(String).sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
}
