import { describe, expect, test } from "vitest";
import type { Interval, IntervalRow } from "../../data/api";
import { common, heat, percentiles } from "./charts";
import { boundMs, CLASSES, quantile } from "./heat";
import { withLine, withStage } from "./run";
import { BINS, LiveStage, MOST_SERIES, OTHERS, TIMES } from "./series";

function row(more: Partial<IntervalRow> = {}): IntervalRow {
  return {
    work: "main", operation: "read", driver: null, endpoint: null, phase: "window", count: 10, failures: 1, missed: 2, bytes: 1000, in_flight: 4,
    response_ms: [2, 2, 3, 4, 5, 6, 7], errors: [["http_503", 1]], heat: [[40, 10]], ...more,
  };
}

function interval(at: number, rows: IntervalRow[] = [row()], length = 1): Interval {
  return { stage: "s1-main", start_s: at, end_s: at + length, rows };
}

const sum = (values: ArrayLike<number>) => Array.from(values).reduce((all, one) => all + one, 0);

describe("bins of a running stage", () => {
  test("hold every operation however often they were put together", () => {
    const stage = new LiveStage("s1-main");
    const n = BINS * 5 + 17;
    for (let at = 0; at < n; at += 1) stage.add(interval(at));
    const [read] = stage.operations();
    expect(stage.used).toBeLessThanOrEqual(BINS);
    expect(sum(read!.count)).toBe(n * 10);
    expect(sum(read!.failures)).toBe(n);
    expect(sum(read!.bytes)).toBe(n * 1000);
    expect(sum(read!.errors.get("http_503")!)).toBe(n);
    expect(sum(read!.heat)).toBe(n * 10);
    expect(read!.totals.window).toEqual({ count: n * 10, failures: n, missed: n * 2, bytes: n * 1000 });
    expect([stage.from[0], stage.endS, stage.windowS]).toEqual([0, n, n]);
    expect(read!.inFlight[0]).toBeCloseTo(4);
  });

  test("take no more memory for a long run than for a short one", () => {
    const stage = new LiveStage("s1-main");
    const bytes = () => [...stage.series.values()].reduce((all, one) => all + one.heat.byteLength + one.times.byteLength + one.count.byteLength * 5 + [...one.errors.values()].reduce((a, b) => a + b.byteLength, 0), 0);
    stage.add(interval(0));
    const first = bytes();
    for (let at = 1; at < 5000; at += 1) stage.add(interval(at, [row({ errors: [[`http_${at}`, 1]] })]));
    expect(bytes()).toBeLessThan(first + 14 * BINS * 8);
    expect(stage.operations()[0]!.errors.has(OTHERS)).toBe(true);
  });

  test("have quantiles between those of their parts, weighed by the classes", () => {
    const stage = new LiveStage("s1-main");
    const fast = row({ count: 900, response_ms: [1, 1, 1, 1, 1, 1, 1], heat: [[40, 900]] });
    const slow = row({ count: 100, response_ms: [100, 100, 100, 100, 100, 100, 100], heat: [[66, 100]] });
    for (let at = 0; at < BINS; at += 1) stage.add(interval(at, [at % 2 ? slow : fast]));
    stage.add(interval(BINS, [fast]));
    const [read] = stage.operations();
    expect(read!.time(0, TIMES.mean)).toBeCloseTo(10.9);
    expect(read!.time(0, TIMES.p50)).toBeCloseTo(1, 0);
    expect(read!.time(0, TIMES.p99)).toBeGreaterThan(70);
    expect(read!.time(0, TIMES.max)).toBe(100);
  });

  test("are filled once when a stream begins again from the first event", () => {
    const stage = new LiveStage("s1-main");
    for (const at of [0, 1, 2, 0, 1, 2, 3]) stage.add(interval(at));
    expect(stage.used).toBe(4);
    expect(sum(stage.operations()[0]!.count)).toBe(40);
  });

  test("show a silence as nothing done, but not the gap of a lost connection", () => {
    const stage = new LiveStage("s1-main");
    stage.add(interval(0));
    stage.add(interval(4));
    expect([stage.used, stage.from[1], stage.to[1], stage.operations()[0]!.count[1]]).toEqual([3, 1, 4, 0]);
    stage.add(interval(9), true);
    expect([stage.used, stage.from[3]]).toEqual([4, 9]);
  });

  test("put two phases of one interval together", () => {
    const stage = new LiveStage("s1-main");
    stage.add(interval(0, [row({ phase: "rampup", in_flight: 2 }), row({ in_flight: 4 })]));
    const [read] = stage.operations();
    expect([read!.count[0], read!.inFlight[0], read!.totals.window.count, read!.totals.all.count]).toEqual([20, 3, 10, 20]);
  });

  test("are of a bounded number of series, and those left out are named", () => {
    const stage = new LiveStage("s1-main");
    stage.add(interval(0, Array.from({ length: MOST_SERIES + 5 }, (_, at) => row({ driver: `d${at}` }))));
    expect(stage.series.size).toBe(MOST_SERIES);
    expect(stage.dropped.size).toBe(5);
  });
});

test("a quantile of one class lies in that class", () => {
  const counts = new Float64Array(CLASSES);
  counts[40] = 100;
  for (const q of [0.01, 0.5, 0.99]) {
    const ms = quantile(counts, 0, q);
    expect(ms).toBeLessThanOrEqual(boundMs(40) * 1.000001);
    expect(ms).toBeGreaterThan(boundMs(39));
  }
  expect(quantile(new Float64Array(CLASSES), 0, 0.5)).toBeNaN();
});

describe("charts of a running stage", () => {
  const stage = new LiveStage("s1-main");
  stage.add(interval(0, [row({ phase: "rampup" }), row({ operation: "write", phase: "rampup", response_ms: null, count: 0, heat: [] })]));
  stage.add(interval(1, [row(), row({ operation: "write" })], 2));

  test("show rates per second, and phases that are not the window", () => {
    const [throughput] = common(stage, 3, "operation");
    expect(throughput!.lines.map((line) => [line.name, line.points])).toEqual([["read", [[0.5, 10], [2, 5]]], ["write", [[0.5, 0], [2, 5]]]]);
    expect(throughput!.phases).toEqual([{ name: "ramp-up", from: 0, to: 1 }]);
  });

  test("break the line where nothing succeeded", () => {
    const [, write] = stage.operations();
    expect(percentiles(stage, 3, write, "write").lines[0]!.points).toEqual([[0.5, null], [2, 2]]);
  });

  test("are always the same ones, so that nothing moves when the first failure comes", () => {
    const quiet = new LiveStage("s1-main");
    const titles = (one: LiveStage) => common(one, 1, "operation").map((model) => model.id);
    const before = titles(quiet);
    quiet.add(interval(0));
    expect(titles(quiet)).toEqual(before);
  });

  test("a heat map has every operation in a cell", () => {
    const [read] = stage.operations();
    const model = heat(stage, 3, read, "read");
    expect(model.cells.reduce((all, cell) => all + cell[4], 0)).toBe(20);
    expect(model.cells[0]!.slice(0, 2)).toEqual([0, 1]);
  });
});

test("news of a stage do not forget when it began", () => {
  const first = { id: "s1-a", index: 0, state: "running", load_started: "2026-01-05T08:00:00Z", planned_s: 30, reason: null };
  const stages = withStage(withStage([], first), { ...first, state: "completed", load_started: null, planned_s: null });
  expect(stages).toEqual([{ ...first, state: "completed" }]);
});

test("a line of the log that comes twice stands there once, and old lines go", () => {
  const line = (n: number) => ({ at: `2026-01-05T08:00:${n}Z`, level: "INFO", from: "d1", text: `line ${n}` });
  let log = [line(1)];
  log = withLine(log, line(1));
  expect(log).toHaveLength(1);
  for (let n = 2; n < 900; n += 1) log = withLine(log, line(n));
  expect([log.length, log[log.length - 1]!.text]).toEqual([500, "line 899"]);
});
