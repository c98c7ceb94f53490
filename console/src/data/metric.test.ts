// A page reads the rows of the table of figures.
import { describe, expect, test } from "vitest";
import { boundOf, intervalOf, sides, valueOf, type Metric } from "./metric";
import { METRICS } from "./metrics";
import { operation, times } from "./sample";

const named = (id: string): Metric => METRICS.find((one) => one.id === id)!;
const missing: Metric = { id: "no_such_field", unit: "ms", more: false, title: "", help: "", page: "x", sideBySide: null };

describe("the value of a figure", () => {
  test("is found for every row that a page shows", () => {
    const full = operation({ response_ms: { ...times(2), p99_9: 15 } });
    expect(METRICS.filter((metric) => valueOf(metric, full) === null)).toEqual([]);
    expect(valueOf(named("response_ms.p95"), full)).toBe(6);
    expect(valueOf(named("error_rate"), full)).toBe(0.01);
  });
  test("is null where nothing was recorded, never 0", () => {
    const none = operation({ count: 0, failures: 0, throughput_per_s: null, response_ms: null });
    expect(["throughput_per_s", "response_ms.max", "error_rate"].map((id) => valueOf(named(id), none))).toEqual([null, null, null]);
  });
  test("comes from `metrics` where it has no field of its own", () => {
    expect(valueOf(missing, operation({ metrics: { no_such_field: 7 } }))).toBe(7);
    expect(valueOf(missing, operation())).toBeNull();
  });
});

describe("the bounds of a figure", () => {
  const median = named("response_ms.p50");
  const bound = { low: 9.5, high: 10.25, client: { below: 0.4, above: 0 }, sampling: { below: 0.1, above: 0.25 }, within: 0.05, cause: "pauses" as const, does_not_hold: null };
  test("stand behind its value", () => {
    const one = operation({ bounds: { "response_ms.p50": bound } });
    expect(boundOf(median, one)).toEqual(bound);
    expect(sides(median, 10, bound)).toBe("+250\u00a0\u00b5s \u2212500\u00a0\u00b5s");
    expect(intervalOf(median, bound)).toContain("widened most by: pauses");
  });
  test("are nothing where nobody knows them, and words where they are of no use", () => {
    expect(boundOf(median, operation())).toBeNull();
    expect(sides(median, 10, null)).toBeNull();
    const useless = { ...bound, low: null, does_not_hold: "no limit is known" };
    expect(sides(median, 10, useless)).toBe("does not hold");
    expect(intervalOf(median, useless)).toBe("does not hold: no limit is known");
  });
});
