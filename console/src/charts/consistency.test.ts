import { describe, expect, it } from "vitest";
import type { ConsistencyData } from "../data/types";
import { consistencyChart, place, timeAt } from "./consistency";

const SEEN: ConsistencyData = {
  requests: 9, load_operations: 900, changes: 2, remarks: [],
  classes: [
    {
      title: "reads after an overwrite", from: null, looks: 30, stale: 3, changes: 2, missed_changes: 1, missed_at_most: 0.9, longest_stale_ms: 80,
      visible_after_ms: [null, null, null],
      points: [{ mean_ms: 0.4, looks: 10, share: 0.2, low: 0.02, high: 0.56 }, { mean_ms: 100, looks: 20, share: 0.05, low: 0, high: 0.25 }],
    },
    { title: "reads after an overwrite", from: "from other connections", looks: 20, stale: 3, changes: null, missed_changes: null, missed_at_most: null, longest_stale_ms: 80, visible_after_ms: [], points: [] },
  ],
};

describe("the chart of how soon writes are seen", () => {
  it("has a line and its interval for each class, and none for its parts", () => {
    const model = consistencyChart(SEEN);
    expect(model.lines.map((line) => line.name)).toEqual([
      "reads after an overwrite", "reads after an overwrite, upper end of 95 %", "reads after an overwrite, lower end of 95 %",
    ]);
    expect(model.lines[0]!.points).toEqual([[0.2, 0.2], [3, 0.05]]);
    expect(model.empty).toBeUndefined();
  });

  it("says so where nothing was looked at", () => {
    expect(consistencyChart({ ...SEEN, classes: [] }).empty).toBe("Nothing was looked at.");
  });

  it("has a place for each time, in their order, and finds the time again", () => {
    const times = [0, 0.5, 0.999, 1, 1.5, 10, 47, 60_000];
    const places = times.map(place);
    expect([...places].sort((a, b) => a - b)).toEqual(places);
    times.forEach((time) => expect(timeAt(place(time))).toBeCloseTo(time, 6));
  });
});
