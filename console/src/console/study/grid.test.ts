import { describe, expect, test } from "vitest";
import { PALETTES } from "../../charts/palette";
import type { StudyCell, StudyFactor, StudyGrid, StudyPoint } from "../../data/api";
import { coloursOf, nameOf, onlyRun, overOf, paintOf, placesOf, reasonsOf, shareOf, spanOf, tableOf, usualPlaces, valueAt } from "./grid";

const factor = (name: string, levels: string[], within = false): StudyFactor => ({ name, label: name, levels, within });
const FACTORS = [factor("system", ["swift", "ceph"]), factor("size", ["4KB", "1MB"]), factor("copies", ["3"]), factor("workers", ["1", "8", "64"], true)];
const point = (levels: number[], value: number | null = null): StudyPoint => ({ cell: 0, levels, refused: null, verdict: null, why: null, operation: null, value, low: null, high: null, repetitions: value === null ? 0 : 1 });
const run = (name: string, state: StudyCell["state"]) => ({ name, repetition: 1, state, took_s: null, reason: null });

/** Every combination, its value by its place; one that a study leaves out is missing. */
function grid(): StudyGrid {
  const points = [0, 1].flatMap((system) => [0, 1].flatMap((size) => [0, 1, 2].map((workers) => point([system, size, 0, workers], 100 * system + 10 * size + workers))));
  return { metric: "throughput_per_s", operation: "read", cells: [], points: points.filter((one) => one.levels.join("") !== "1102"), left_out: 0, version: "1" };
}

describe("factors of a study", () => {
  test("stand where they are read best: what varies within a run across, one level nowhere", () => {
    expect(usualPlaces(FACTORS)).toEqual(["rows", "rows", 0, "cols"]);
    expect(usualPlaces([factor("system", ["a", "b"])])).toEqual(["cols"]);
  });

  test("stand where the address says, and an address of another study changes nothing", () => {
    const said: Record<string, string> = { "f.system": "cols", "f.size": "1", "f.workers": "rows", "f.copies": "7" };
    expect(placesOf(FACTORS, (name) => said[name] ?? null)).toEqual(["cols", 1, 0, "rows"]);
    expect(placesOf(FACTORS, (name) => (name === "f.size" ? "2" : name === "f.system" ? "" : null))).toEqual(usualPlaces(FACTORS));
  });
});

describe("the table", () => {
  test("has each point once, at its row and column, and nothing where the study has none", () => {
    const table = tableOf(grid(), ["rows", "rows", 0, "cols"]);
    expect([table.rows.length, table.cols.length, table.points.length]).toEqual([4, 3, 11]);
    const values = table.rows.map((row) => table.cols.map((col) => table.at(row, col)?.value ?? null));
    expect(values).toEqual([[0, 1, 2], [10, 11, 12], [100, 101, 102], [110, 111, null]]);
  });

  test("shows one level alone where a factor stands at it", () => {
    const table = tableOf(grid(), ["rows", 1, 0, "cols"]);
    expect(table.rows.map((row) => table.cols.map((col) => table.at(row, col)?.value ?? null))).toEqual([[10, 11, 12], [110, 111, null]]);
  });

  test("of no rows or columns has one of each", () => {
    const table = tableOf(grid(), [0, 0, 0, 2]);
    expect(table.rows.map((row) => table.cols.map((col) => table.at(row, col)?.value))).toEqual([[2]]);
    expect(tableOf({ ...grid(), points: [] }, [0, 0, 0, 2]).rows).toEqual([]);
  });

  test("has no row and no column in which nothing is run, and says how many points that are", () => {
    const refuse = (point: StudyPoint): StudyPoint => {
      const [system, size, , workers] = point.levels;
      if (system === 1 && size === 0) return { ...point, refused: "too small" };
      return workers === 2 ? { ...point, refused: "too many" } : point;
    };
    const some = { ...grid(), points: grid().points.map(refuse) };
    const table = tableOf(some, ["rows", "rows", 0, "cols"]);
    expect(table.rows.map((row) => table.cols.map((col) => table.at(row, col)?.value ?? null))).toEqual([[0, 1], [10, 11], [110, 111]]);
    expect([table.points.length, table.hidden.length, reasonsOf(table.hidden)]).toEqual([6, 5, ["too small", "too many"]]);
    // One that is not run beside one that is stays.
    const beside = tableOf({ ...grid(), points: grid().points.map((point) => (point.value === 1 ? { ...point, refused: "once" } : point)) }, ["rows", "rows", 0, "cols"]);
    expect([beside.points.length, beside.hidden.length]).toEqual([11, 0]);
    const none = tableOf({ ...grid(), points: grid().points.map((point) => ({ ...point, refused: "no" })) }, ["rows", "rows", 0, "cols"]);
    expect([none.rows.length, none.cols.length, none.hidden.length]).toEqual([4, 3, 0]);
  });

  test("joins heads of the same levels", () => {
    const { rows } = tableOf(grid(), ["rows", "rows", 0, "cols"]);
    expect(rows.map((_, at) => [spanOf(rows, at, 0), spanOf(rows, at, 1)])).toEqual([[2, 1], [0, 1], [2, 1], [0, 1]]);
  });
});

describe("colours", () => {
  test("go from the least to the most that is shown, by logarithms where that is far", () => {
    const near = coloursOf([point([0], 10), point([0], 30), point([0])])!;
    expect([near.log, shareOf(10, near), shareOf(20, near), shareOf(30, near), valueAt(0.5, near)]).toEqual([false, 0, 0.5, 1, 20]);
    const far = coloursOf([point([0], 1), point([0], 10_000)])!;
    expect(far.log && Math.abs(shareOf(100, far) - 0.5) < 1e-9 && Math.abs(valueAt(0.5, far) - 100) < 1e-6).toBe(true);
    expect(coloursOf([point([0])])).toBeNull();
    const same = coloursOf([point([0], 5), point([0], 5)])!;
    expect([shareOf(5, same), valueAt(0.5, same)]).toEqual([0.5, 5]);
  });

  test("can be told apart in grey, and their numbers be read, in both themes", () => {
    for (const palette of Object.values(PALETTES)) {
      const light = (share: number) => {
        const [r, g, b] = paintOf(palette, share).back.match(/\d+/g)!.map((part) => { const v = Number(part) / 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }) as [number, number, number];
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const steps = Array.from({ length: 21 }, (_, at) => light(at / 20));
      const rises = steps.slice(1).map((value, at) => Math.sign(value - steps[at]!));
      expect(new Set(rises).size).toBe(1);
      for (let at = 0; at <= 20; at += 1) {
        const ink = paintOf(palette, at / 20).ink === "#fff" ? 1 : 0;
        const [high, low] = ink > steps[at]! ? [ink, steps[at]!] : [steps[at]!, ink];
        expect((high + 0.05) / (low + 0.05)).toBeGreaterThanOrEqual(4.5);
      }
    }
  });
});

describe("a cell", () => {
  const cell = (...runs: StudyCell["runs"]): StudyCell => ({ id: "swift.4KB", state: "done", runs });
  test("opens its run where one is over, and asks which where there are more", () => {
    expect(onlyRun(cell(run("a.r1", "done"), run("a.r2", "waiting")))).toBe("a.r1");
    expect(onlyRun(cell(run("a.r1", "done"), run("a.r2", "failed")))).toBeNull();
    expect(onlyRun(cell(run("a.r1", "running")))).toBeNull();
    expect(overOf(cell(run("a.r1", "done"), run("a.r2", "failed"), run("a.r3", "running")))).toEqual([2, 3]);
  });

  test("is called by what varies", () => {
    expect(nameOf(point([1, 0, 0, 2]), FACTORS)).toBe("ceph, size 4KB, workers 64");
  });
});
