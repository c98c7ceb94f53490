import { describe, expect, test } from "vitest";
import { stage as stageOf, operation } from "../data/sample";
import type { ReportData } from "../data/types";
import type { CompareRow, Comparison } from "../data/service";
import { cdfs, differingFirst, operationsOf, ratio, scaling, sharedNotes, type Side } from "./compare/models";
import { abilities } from "./pages/Targets";
import { metricName, metricsOf, passes, rowOf, sorted, unitOf } from "./performance";

const NO_FILTER = { search: "", operation: "", state: "", verdict: "", workers: "" };

describe("the matrix over the history", () => {
  const rows = [
    { run: "w2", name: "mixed", submitted: "2026-01-02", stage: "main", operation: "read", workers: 8, count: 90, failures: 10, throughput_per_s: 10, response_ms: { p99: 5, withheld: null }, tags: ["nightly"] },
    { run: "w10", name: "big", submitted: "2026-01-03", stage: "main", operation: "write", workers: 16, count: 0, failures: 0, throughput_per_s: null, response_ms: { p99: null }, tags: [] },
  ].map(rowOf);

  test("has every figure, nested ones with a dot, and the share of failures", () => {
    expect(metricsOf(rows)).toEqual(["throughput_per_s", "response_ms.p99", "error_rate", "failures", "count", "workers"]);
    expect(rows.map((row) => row["error_rate"])).toEqual([0.1, null]);
    expect(rows[0]!["started"]).toBe("2026-01-02");
  });

  test("is sorted by numbers as numbers, and what has no value comes last either way", () => {
    expect([true, false].map((down) => sorted(rows, "throughput_per_s", down).map((row) => row["run"]))).toEqual([["w2", "w10"], ["w2", "w10"]]);
    expect(sorted(rows, "run", false).map((row) => row["run"])).toEqual(["w2", "w10"]);
  });

  test("is filtered by words and columns together", () => {
    expect(rows.filter((row) => passes(row, { ...NO_FILTER, search: "NIGHT mixed" }))).toHaveLength(1);
    expect(rows.filter((row) => passes(row, { ...NO_FILTER, workers: "16", operation: "read" }))).toHaveLength(0);
  });

  test("names and units are told by the name of a figure", () => {
    expect(["response_ms.p99_9", "throughput_per_s", "error_rate"].map(metricName)).toEqual(["response p99.9", "throughput", "failed"]);
    expect(["response_ms.p99_9", "throughput_per_s", "bandwidth_bytes_per_s", "error_rate", "bytes", "window_s", "count"].map(unitOf)).toEqual(["ms", "per_s", "bytes_per_s", "share", "bytes", "s", "count"]);
  });
});

describe("runs side by side", () => {
  const side = (id: string, workers: number[], names = ["read"]): Side => {
    const stages = workers.map((n) => stageOf(names.map((name) => operation({ name, workers: n, throughput_per_s: n * 10 })), { id: `s-${n}`, name: `w${n}` }));
    return { id, name: "mixed", data: { stages } as unknown as ReportData, stage: stages[0] };
  };

  test("their distributions lie on one axis", () => {
    const model = cdfs([side("w1", [1]), side("w2", [1])], "read");
    expect(model.lines.map((line) => [line.name, line.colour])).toEqual([["w1", 0], ["w2", 1]]);
    expect(cdfs([side("w1", [1])], "list").empty).toBeTruthy();
  });

  test("their throughput against workers needs more than one number of workers", () => {
    expect(scaling([side("w1", [4])])).toBeNull();
    expect(scaling([side("w1", [8, 1, 4])])!.lines[0]!.points).toEqual([[1, 10], [4, 40], [8, 80]]);
  });

  test("operations that all have come first", () => {
    expect(operationsOf([side("w1", [1], ["list", "read"]), side("w2", [1], ["read"])])).toEqual(["read", "list"]);
  });

  test("nothing is relative to nothing", () => {
    expect([ratio(0, 1), ratio(null, 1), ratio(2, 3)]).toEqual([null, null, 1.5]);
  });
});

test("what an adaptor can is read from a list, a sentence or flags", () => {
  expect([abilities(["store"]), abilities("store, list"), abilities({ store: true, bulk_delete: true, list: false }), abilities(null)]).toEqual([["store"], ["store", "list"], ["store", "bulk delete"], []]);
});

test("rows that differ come first, the largest change at the top", () => {
  const row = (metric: string, outcome: CompareRow["outcome"], change: number | null) => ({ metric, outcome, ratio: change }) as CompareRow;
  const rows = [row("a", "no_difference_shown", 1.5), row("b", "worse", 1.1), row("c", "better", 0.5), row("d", "not_tested", null)];
  expect(differingFirst(rows).map((one) => one.metric)).toEqual(["c", "b", "a", "d"]);
});

test("what is said of every pair is said once", () => {
  const pair = (b: string, warnings: string[]) => ({ a: "w1", b, rows: [], warnings });
  const comparison = { pairs: [pair("w2", ["hosts differ", "short"]), pair("w3", ["hosts differ"])] } as unknown as Comparison;
  expect(sharedNotes(comparison)).toEqual(["hosts differ"]);
  expect(sharedNotes({ ...comparison, pairs: comparison.pairs.slice(0, 1) })).toEqual([]);
});

test("what prepares and cleans up is in the history where it is asked for", () => {
  const rows = [{ run: "w1", op: "prepare", operation: "prepare" }, { run: "w1", op: "read", operation: "read" }].map(rowOf);
  const shown = (more: object) => rows.filter((row) => passes(row, { ...NO_FILTER, ...more })).map((row) => row["op"]);
  expect(shown({})).toEqual(["read"]);
  expect(shown({ setup: true })).toEqual(["prepare", "read"]);
  expect(shown({ operation: "prepare" })).toEqual(["prepare"]);
});

test("the history is in order of time, not of text", () => {
  const rows = ["2026-10-02T08:00:00Z", "2026-09-30T08:00:00Z", "2026-10-02T07:59:59.5Z"].map((submitted, at) => rowOf({ run: `w${at}`, submitted }));
  expect(sorted(rows, "started", false).map((row) => row["run"])).toEqual(["w1", "w2", "w0"]);
});
