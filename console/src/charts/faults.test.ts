import { expect, test } from "vitest";
import type { FaultData, FaultSlotData } from "../data/types";
import { faultChart } from "./faults";
import { optionOf } from "./model";
import { PALETTES } from "./palette";
import { marks } from "./stage";

function slot(number: number, from_s: number, more: Partial<FaultSlotData> = {}): FaultSlotData {
  return {
    number, void: null, from_s, to_s: from_s + 4, proof: "seen", dip: true, course_from_s: from_s - 2, course_step_s: 1, course_per_s: [9, 9, 1, 5, 9, 9],
    parts: [{ part: "detection", from_s, to_s: from_s + 1 }, { part: "keep", from_s: from_s + 2, to_s: from_s + 4 }],
    marks: [{ at_s: from_s, kind: "fault", text: "made" }], values: [], ...more,
  };
}

const fault: FaultData = {
  id: "1", name: "killed", what: "kill node.2", kind: "bed", low_per_s: 8, high_per_s: 10, level_per_s: 9, slots: [slot(1, 30), slot(2, 60)], figures: [], quiet: null, proxy: null, remarks: [],
};

test("slots lie on top of each other, and the fault is at the same place in all", () => {
  const model = faultChart(fault);
  expect(model.lines.map((line) => line.name)).toEqual(["slot 1", "slot 2", "band, lower end", "band, upper end"]);
  expect(model.lines[0]!.points).toEqual(model.lines[1]!.points);
  expect(model.lines[0]!.points[2]).toEqual([2.5, 1]);
  expect(model.marks).toEqual([{ at: 2, name: "made", kind: "fault" }]);
  expect(model.phases).toEqual([{ name: "detection", from: 2, to: 3 }, { name: "kept", from: 4, to: 6 }]);
  expect(model.xEnd).toBe(6);
});

test("a fault that was never played is said so and draws nothing", () => {
  const none = { ...fault, slots: [slot(1, 0, { void: "the load ends before its slot would", course_per_s: [] })] };
  expect(faultChart(none).empty).toMatch(/No slot/);
});

test("what happened is marked on charts over time, and stages are not", () => {
  const events = [{ at_s: 1, kind: "note", text: "fan swapped" }, { at_s: 2, kind: "stage", text: "load begins" }, { at_s: 99, kind: "note", text: "late" }];
  expect(marks({ time: { bin_s: 1, bins: 5, end_s: 5 }, events })).toEqual([{ at: 1, name: "fan swapped", kind: "note" }]);
  const option = optionOf(faultChart(fault), { palette: PALETTES.light, hidden: new Set(), log: false, zoom: null, width: 600 });
  const series = option["series"] as { markLine?: { data: unknown[] } }[];
  expect(series[0]!.markLine!.data).toHaveLength(1);
});
