import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Router } from "wouter";
import type { DriverInfo, RunSummary, StageNews, Status } from "../data/api";
import { exact, short } from "../format";
import { p99Of } from "./pages/home/History";
import { movesFor } from "./pages/home/order";
import { after, EMPTY, inOrder } from "./system";
import { age, lasted } from "./ui/time";
import { joinHints } from "./pages/home/Join";
import { Running } from "./pages/home/Running";
import { SessionContext, type Session } from "./session";
import { missed } from "./run/figures";
import { boxNames, Timeline, widths } from "./run/Timeline";
import { leftOf, progressOf } from "./ui/marks";

export function run(id: string, more: Partial<RunSummary> = {}): RunSummary {
  return {
    id, name: "mixed", state: "queuing", reason: null, waits_for: null, class: null, lost: [], submitted: null, started: null, ended: null, priority: 0, position: 0, stage: null, stages_done: 0, stages: 5,
    progress: null, remaining_s: null, left_s: null, left_open: 0, target: null, throughput_per_s: null, p99_ms: null, p99_is_least: false, verdict: null, verdict_reason: null, operations: [], tags: [], baseline: false, submitted_by: null, drivers: [], ...more,
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
    for (const state of ["finished", "failed", "terminated", "cancelled", "killed"]) {
      const now = after(before, { event: "run", data: run("w1", { state, position: null }) }, 0);
      expect([now.active.map((one) => one.id), now.history]).toEqual([["w2"], 1]);
    }
  });

  test("its clock is kept apart from this one", () => {
    expect(after(EMPTY, { event: "status", data: status }, Date.parse("2026-01-05T08:00:00Z")).clockMs).toBe(10_000);
  });

  test("what runs stands before what waits", () => {
    expect(inOrder([run("w3", { position: 1 }), run("w10", { position: 0 }), run("w1", { position: null })]).map((one) => one.id)).toEqual(["w1", "w10", "w3"]);
  });
});

test("a percentile of which only the least is known is shown as more than that", () => {
  const shown = (p99_ms: number | null, p99_is_least: boolean) => [short, exact].map((write) => p99Of(run("w1", { p99_ms, p99_is_least }), write).replaceAll("\u00a0", " "));
  expect(shown(500_000, true).every((text) => text.startsWith("> 8 min 20 s"))).toBe(true);
  expect(shown(500_000, false).every((text) => text.startsWith("8 min 20 s"))).toBe(true);
  expect(shown(null, false)).toEqual(["–", "–"]);
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
  expect(lasted("2026-01-05T07:57:55Z", null, null)).toBe("–");
});

test("stages are drawn by their planned time, whatever their number", () => {
  const wide = widths([0.8, 96, 86_400, null]);
  const all = wide.reduce((sum, one) => sum + one, 0);
  expect(wide[0]! / all).toBeLessThan(0.001);
  expect(wide[2]! / wide[1]!).toBeCloseTo(900);
  expect(wide[3]! / all).toBeLessThan(0.06);
  expect(widths([null, null])).toEqual([1, 1]);
  const stages = [0.8, 96, 86_400].map((planned_s, at) => ({ id: `s${at}-x`, state: "waiting", planned_s, load_started: null, reason: null })) as unknown as StageNews[];
  const html = renderToStaticMarkup(createElement(Timeline, { stages, run: run("w1") }));
  expect([...html.matchAll(/flex-grow:([\d.]+)/g)].map((found) => Number(found[1]))).toEqual([0.8, 96, 86_400]);
});

test("names of stages that begin alike are told apart by their ends", () => {
  expect(boxNames(["s1-init", "s2-w(4)KB_r100_8", "s3-w(4)KB_r100_64"])).toEqual(["init", "…B_r100_8", "…_r100_64"]);
});

describe("progress", () => {
  const now = Date.parse("2026-01-05T08:01:36Z");
  const begun = { started: "2026-01-05T08:00:00Z", stages: 2, stages_done: 1, left_s: 86_304, left_open: 0 };
  test("counts planned seconds and not stages, with the clock time of the end", () => {
    expect(progressOf(run("w1", begun), now)).toBeCloseTo(96 / 86_400, 5);
    expect(leftOf(run("w1", begun), now)).toBe("23:58:24 left, until 2026-01-06 08:00:00 UTC");
  });
  afterEach(() => void vi.useRealTimers());
  test("stands so on the page of what runs", () => {
    vi.useFakeTimers({ now });
    const page = createElement(Running, { runs: [run("w1", { ...begun, stage: "s2-main" })], waiting: 0, drivers: 1 });
    const inSession = createElement(SessionContext.Provider, { value: { mayOperate: true } as unknown as Session }, page);
    const html = renderToStaticMarkup(createElement(Router, { ssrPath: "/", children: inSession })).replaceAll("\u00a0", " ");
    for (const text of ["23:58:24 left, until 2026-01-06 08:00:00 UTC", "0.111 %", "stage s2-main, 2 of 2", "running for 96 s"]) expect(html).toContain(text);
  });
  test("says that stages of unknown length come on top", () => {
    expect(leftOf(run("w1", { ...begun, left_s: 60, left_open: 1 }), now)).toBe("at least 60\u00a0s left, not before 2026-01-05 08:02:36 UTC");
  });
  test("goes by stages where none says how long it lasts", () => {
    expect(progressOf(run("w1", { ...begun, left_s: 0, left_open: 1, progress: 0.5 }), now)).toBe(0.75);
    expect(leftOf(run("w1", { ...begun, left_s: 0, left_open: 1 }), now)).toBeNull();
  });
});

test("the command that brings a driver is the controller's own, with what is to be known of it", () => {
  expect(joinHints("cosmark driver --join nats://127.0.0.1:4222 --nats-nkey-file driver.nkey --trust K")).toHaveLength(2);
  expect(joinHints("cosmark driver --join nats://lab-7:4222 --trust K")[0]).toContain("login of a driver");
});

describe("what was missed", () => {
  test("names the part of a lost driver, and says that every arrival was taken only where none is", () => {
    const lost = (driver: string, from_s: number, part: number) => ({ driver, from_s, share: part });
    expect(missed(0, [])).toBe("every arrival was taken");
    expect(missed(3, [])).toBe("no worker was free");
    expect(missed(0, [lost("d2", 12, 0.5)])).toMatch(/^and 50\s% of the load, of driver d2, lost after /);
    expect(missed(0, [lost("d2", 12, 0.5), lost("d3", 40, 0.25)])).toMatch(/^and 75\s% of the load, of 2 drivers, lost after /);
  });
});
