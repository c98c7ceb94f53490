import { describe, expect, test } from "vitest";
import type { FillData } from "../data/types";
import { fillChart, fullChart, smooth } from "./fill";
import { valuesOf } from "./model";

const FILL: FillData = {
  dataset: "pebbles-1", objects: 1000, before: 200, done: 500,
  curve: [[250, 30], [350, 10], [450, 20]].map(([objects, per_s], at) => ({ objects: objects!, at_s: at + 1, per_s: per_s!, bytes_per_s: 0 })),
  over_full: [[0.31, 30], [0.42, 10], [0.57, 20]],
};

describe("the picture of a fill", () => {
  test("goes over the objects stored, those of earlier runs included", () => {
    const model = fillChart(FILL)!;
    expect(model.x).toBe("objects");
    expect(model.xEnd).toBe(500);
    expect(model.lines[0]!.points).toEqual([[250, 30], [350, 10], [450, 20]]);
    expect(model.lines[1]!.points).toEqual([[250, 30], [350, 20], [450, 20]]);
    expect(model.hint).toContain("first 200 were stored by earlier runs");
  });

  test("is not drawn where nothing was done", () => {
    expect(fillChart({ ...FILL, curve: FILL.curve.slice(0, 1) })).toBeNull();
  });

  test("goes over the share of the store that was used, too, where its machines said it", () => {
    const model = fullChart(FILL)!;
    expect(model.xEnd).toBeCloseTo(0.6);
    expect(model.lines[0]!.points).toEqual([[0.31, 30], [0.42, 10], [0.57, 20]]);
    expect(model.lines[1]!.points).toEqual([[0.31, 30], [0.42, 20], [0.57, 20]]);
    expect(valuesOf(model).head[0]).toBe("full");
    expect(fullChart({ ...FILL, over_full: [] })).toBeNull();
    expect(fullChart({ ...FILL, over_full: [[0.31, 30]] })).toBeNull();
  });

  test("means are as wide on both sides", () => {
    expect(smooth([1, 2, 3, 4, 100], 1)).toEqual([1, 2, 3, 107 / 3, 100]);
  });
});
