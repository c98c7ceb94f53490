import { describe, expect, test } from "vitest";
import type { SearchData, TrialData } from "../data/types";
import { byLoad, kneeCurve, lawCurve } from "./goals";

const trial = (load: number, p95_ms: number | null, more: Partial<TrialData> = {}): TrialData => ({
  stage: `s${load}`, load, purpose: "step", throughput_per_s: load * 0.9, mean_ms: 1, p95_ms, error_ratio: 0, status: "met", reason: null, ...more,
});
const search = (trials: TrialData[], more: Partial<SearchData> = {}): SearchData => ({
  name: "main", over: "rate", thresholds: ["p95 <= 50 ms"], answer: "", best: 200, missed_at: 400, notes: [], trials, law: null, ...more,
});

describe("a search", () => {
  test("has one point per load, in order, and repeated trials are their mean", () => {
    const found = byLoad([trial(400, 90), trial(100, 10), trial(200, 20), trial(200, 30, { stage: "again" })]);
    expect(found.map((one) => [one.load, one.p95_ms])).toEqual([[100, 10], [200, 25], [400, 90]]);
  });

  test("shows its knee and its answer", () => {
    const model = kneeCurve(search([trial(400, 90), trial(100, 10), trial(200, null), trial(200, 30)]))!;
    expect(model.lines[0]!.points).toEqual([[90, 10], [180, 30], [360, 90]]);
    expect(model.lines[2]!.points).toEqual([[180, 0], [180, 90]]);
    expect(kneeCurve(search([trial(100, 10)]))).toBeNull();
    expect(kneeCurve(search([trial(100, 10), trial(200, 20)], { best: null }))!.lines).toHaveLength(2);
  });

  test("over workers shows its law beside what was measured", () => {
    const law = { parts: [], curve: [[1, 100], [8, 500]] as [number, number][], largest_residual: 0.02, points: 4 };
    const model = lawCurve(search([trial(8, 1), trial(1, 1)], { over: "workers", law }))!;
    expect(model.lines.map((line) => line.points)).toEqual([[[1, 0.9], [8, 7.2]], [[1, 100], [8, 500]]]);
    expect(lawCurve(search([trial(1, 1)], { law }))).toBeNull();
  });
});
