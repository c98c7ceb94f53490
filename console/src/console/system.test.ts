import { describe, expect, test } from "vitest";
import type { DriverInfo, RunSummary, Status } from "../data/api";
import { movesFor } from "./pages/home/order";
import { after, EMPTY, inOrder } from "./system";
import { age, lasted } from "./ui/time";
import { widths } from "./run/Timeline";

export function run(id: string, more: Partial<RunSummary> = {}): RunSummary {
  return {
    id, name: "mixed", state: "queuing", reason: null, waits_for: null, class: null, lost: [], submitted: null, started: null, ended: null, priority: 0, position: 0, stage: null, stages_done: 0, stages: 5,
    progress: null, remaining_s: null, verdict: null, verdict_reason: null, operations: [], tags: [], baseline: false, submitted_by: null, drivers: [], ...more,
  };
}

const status = { now: "2026-01-05T08:00:10Z" } as Status;
const driver = (name: string, load: number | null = null) => ({ name, load }) as DriverInfo;

describe("what the controller says", () => {
  test("the first event replaces all, later ones change their part", () => {
    let now = after(EMPTY, { event: "everything", data: { status, drivers: [driver("d10"), driver("d2")], active: [run("w2", { position: 1 }), run("w1", { position: 0 })] } }, 0);
    expect(now.drivers.map((one) => one.name)).toEqual(["d2", "d10"]);
    expect(now.active.map((one) => one.id)).toEqual(["w1", "w2"]);
    now = after(now, { event: "driver", data: driver("d2", 0.5) }, 0);
    expect(now.drivers.map((one) => one.load)).toEqual([0.5, null]);
    now = after(now, { event: "driver_gone", data: "d10" }, 0);
    expect(now.drivers).toHaveLength(1);
  });

  test("a run that has ended leaves the active ones and the history is asked for", () => {
    const before = { ...EMPTY, active: [run("w1"), run("w2")] };
    const now = after(before, { event: "run", data: run("w1", { state: "finished", position: null }) }, 0);
    expect([now.active.map((one) => one.id), now.history]).toEqual([["w2"], 1]);
  });

  test("its clock is kept apart from this one", () => {
    expect(after(EMPTY, { event: "status", data: status }, Date.parse("2026-01-05T08:00:00Z")).clockMs).toBe(10_000);
  });

  test("what runs stands before what waits", () => {
    expect(inOrder([run("w3", { position: 1 }), run("w10", { position: 0 }), run("w1", { position: null })]).map((one) => one.id)).toEqual(["w1", "w10", "w3"]);
  });
});

describe("moves in the queue", () => {
  const runs = ["w1", "w2", "w3"].map((id, position) => run(id, { position }));
  test.each([
    ["w3", "before", "w1", ["w3 w1"]],
    ["w1", "after", "w2", ["w1 w3"]],
    ["w1", "before", "w3", ["w1 w3"]],
    ["w1", "after", "w3", ["w1 w3", "w3 w1"]],
    ["w2", "after", "w1", []],
    ["w2", "before", "w3", []],
    ["w2", "before", "w9", []],
  ] as const)("%s %s %s", (id, side, of, expected) => {
    expect(movesFor(runs, id, { side, of }).map((one) => `${one.id} ${one.move.before}`)).toEqual(expected);
  });
});

test("ages and times that passed", () => {
  const now = Date.parse("2026-01-05T08:00:00Z");
  expect(["2026-01-05T07:59:59Z", "2026-01-05T07:59:00Z", "2026-01-05T07:30:00Z", "2026-01-04T20:00:00Z"].map((at) => age(at, now))).toEqual(["now", "60 s ago", "30 min ago", "12 h ago"]);
  expect(lasted("2026-01-05T07:57:55Z", null, now)).toBe("2:05");
  expect(lasted(null, null, now)).toBe("–");
});

test("stages are drawn by their time, and none too thin to be read", () => {
  const wide = widths([1, 1000, null]);
  expect(Math.min(...wide)).toBeGreaterThanOrEqual(0.35);
  expect(wide[1]).toBeGreaterThan(wide[0]!);
});
