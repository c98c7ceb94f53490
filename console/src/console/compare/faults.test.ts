import { expect, test } from "vitest";
import type { FaultsBeside } from "../../data/service";
import { faultRows } from "./faults";

const BESIDE: FaultsBeside = {
  sides: [
    { side: "w1", level_per_s: 20.04, stretches: 12, false_dips: 1, false_dips_share_at_most: 0.345 },
    { side: "w2", level_per_s: null, stretches: 0, false_dips: 0, false_dips_share_at_most: null },
  ],
  faults: [
    {
      fault: "processes killed", names: ["node killed", "OSD killed"], slots: [3, 2], void: [0, 1],
      rows: [{ figure: "depth", title: "depth", unit: "share", cells: [{ mean: 0.5, low: 0.4, high: 0.6, slots: 3, reason: null }, null] }],
    },
    { fault: "own", names: [null, "own"], slots: [0, 1], void: [0, 0], rows: [] },
  ],
};

test("each fault has its slots and figures, a column for each run", () => {
  const rows = faultRows(BESIDE, (cell, unit) => `${cell.mean} ${unit}`, (cell) => `${cell.slots} slots`);
  expect(rows.map((row) => row.figure)).toEqual(["operations", "false dips", "slots that count", "depth", "slots that count"]);
  expect(rows[0]!.texts).toEqual(["20/s", "–"]);
  expect(rows[1]!.texts).toEqual(["1 of 12 (at most 35 %)", "–"]);
  expect(rows[2]!.texts).toEqual(["node killed: 3 of 3", "OSD killed: 2 of 3"]);
  expect(rows[3]!.texts).toEqual(["0.5 share", "–"]);
  expect(rows[3]!.whys).toEqual(["3 slots", "this run has no such fault"]);
  expect(rows[4]!.texts).toEqual(["–", "1 of 1"]);
});
