// A page reads the rows of the table of figures.
import { describe, expect, test } from "vitest";
import { valueOf, type Metric } from "./metric";
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
