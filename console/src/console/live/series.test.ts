import { describe, expect, test } from "vitest";
import type { Interval } from "../../data/api";
import type { CountSeries, OperationNews, PartNews, SeriesNews } from "../../data/types";
import { clients, common, heat, percentileBy, percentiles } from "./charts";
import { withLine, withStage } from "./run";
import { LiveStage } from "./series";

const NO_TOTALS = {
  count: 0, failures: 0, bytes: 0, partial_bytes: 0, throughput_per_s: null, bandwidth_bytes_per_s: null, response_ms: null, service_ms: null, first_byte_ms: null, wire_ms: null, client_added_ms: null,
};

function counts(count: number[], more: Partial<CountSeries> = {}): CountSeries {
  const none = count.map(() => 0);
  return { count, failures: none, bytes: count.map((n) => n * 100), missed: none, delayed: none, in_flight: count.map(() => 4), errors: {}, drivers: {}, ...more };
}

function operation(count: number[], more: Partial<OperationNews> = {}): OperationNews {
  return { ...NO_TOTALS, work: "main", name: "read", op: "read", sample: "read", missed: 0, series: counts(count), latency: [], heat: null, parts: [], ...more } as unknown as OperationNews;
}

function news(from: number, bins: number, operations: OperationNews[], more: Partial<SeriesNews> = {}): SeriesNews {
  return {
    stage: "s1-main", from, time: { bin_s: 1, bins, end_s: bins }, phases: [{ phase: "rampup", from_s: 0, to_s: 1 }, { phase: "window", from_s: 1, to_s: bins }],
    window_s: bins - 1, left_out: 0, operations, clients: [], node_charts: [], node_gaps: [], ...more,
  };
}

const latency = (from: number, every: number, p50: (number | null)[]) =>
  ({ from, kind: "response", every, count: p50.map(() => 1000), p50, p95: p50, p99: p50, max: p50 });

function interval(at: number, count: number): Interval {
  const row = { work: "main", operation: "read", endpoint: null, phase: "window", count, failures: 0, missed: 0, bytes: 0, in_flight: 1, response_ms: null, errors: [], heat: [] };
  return { stage: "s1-main", start_s: at, end_s: at + 1, rows: [{ ...row, driver: null }, { ...row, driver: "d1" }] };
}

describe("what happened while a stage runs", () => {
  test("stands on every chart over time, as far as time has come", () => {
    const stage = new LiveStage("s1-main");
    stage.add(news(0, 3, [operation([10, 20, 5])]));
    stage.events = [
      { at_s: 0, kind: "stage", text: "load begins" }, { at_s: 1.5, kind: "note", text: "fan swapped" }, { at_s: 9, kind: "note", text: "later" },
    ];
    for (const model of common(stage, "operation")) expect(model.marks).toEqual([{ at: 1.5, name: "fan swapped", kind: "note" }]);
  });
});

describe("bins of a running stage", () => {
  test("are put together from what was told, the last of them anew", () => {
    const stage = new LiveStage("s1-main");
    stage.add(news(0, 3, [operation([10, 20, 5], { latency: [latency(0, 1, [2, 3, 4])] })]));
    stage.add(news(2, 5, [operation([30, 40, 7], { series: counts([30, 40, 7], { errors: { http_503: [0, 1, 0] } }), latency: [latency(2, 1, [5, null, 6])] })]));
    const [read] = stage.operations;
    expect(read!.series.count).toEqual([10, 20, 30, 40, 7]);
    expect(read!.series.bytes).toEqual([1000, 2000, 3000, 4000, 700]);
    expect(read!.series.errors).toEqual({ http_503: [0, 0, 0, 1, 0] });
    expect(read!.latency[0]!.p99).toEqual([2, 3, 5, null, 6]);
    expect([stage.endS, stage.windowS]).toEqual([5, 4]);
  });

  test("of the machines that make the load are put together by driver, and drawn as the report draws them", () => {
    const series = (busy: (number | null)[]) => {
      const none = busy.map(() => null);
      return {
        thread_busy_max: busy, machine_busy: busy, run_queue_wait_max: none, steal: none, pause_max_ms: busy, tcp_retransmitted: none, rx_bytes_per_s: none, tx_bytes_per_s: none, sockets: none,
      };
    };
    const stage = new LiveStage("s1-main");
    stage.add(news(0, 2, [operation([1, 1])], { clients: [{ driver: "a", series: series([0.1, 0.2]) }] }));
    stage.add(news(1, 3, [operation([1, 1])], { clients: [{ driver: "a", series: series([0.3, 0.4]) }, { driver: "b", series: series([0.5, null]) }] }));
    expect(stage.clients.map((one) => one.series.machine_busy)).toEqual([[0.1, 0.3, 0.4], [null, 0.5, null]]);
    expect(clients(stage, "b").map((chart) => chart.id)).toEqual(["cpu-b", "pause-b"]);
    expect(clients(stage, null).map((chart) => chart.id)).toEqual(["cpu-a", "pause-a"]);
  });

  test("give way to coarser ones, of the counts or of the percentiles alone", () => {
    const stage = new LiveStage("s1-main");
    stage.add(news(0, 4, [operation([1, 2, 3, 4], { latency: [latency(0, 1, [1, 1, 1, 1])] })]));
    stage.add(news(3, 4, [operation([5], { latency: [latency(0, 2, [7, 8])] })]));
    expect(stage.operations[0]!.latency[0]).toMatchObject({ every: 2, p50: [7, 8] });
    expect(stage.operations[0]!.series.count).toEqual([1, 2, 3, 5]);
    stage.add(news(0, 2, [operation([3, 8], { latency: [latency(0, 1, [9, 9])] })], { time: { bin_s: 2, bins: 2, end_s: 4 } }));
    expect(stage.operations[0]!.series.count).toEqual([3, 8]);
    expect(stage.time).toEqual({ bin_s: 2, bins: 2, end_s: 4 });
  });

  test("without the beginning are not shown: it comes with the next connection", () => {
    const stage = new LiveStage("s1-main");
    stage.add(news(2, 3, [operation([1])]));
    expect([stage.time, stage.operations]).toEqual([null, []]);
  });

  test("keep the columns of a heat map when a lesser time comes in", () => {
    const stage = new LiveStage("s1-main");
    const map = { every: 1, first_row: 100, rows_per_decade: 16, rows: 3 };
    stage.add(news(0, 2, [operation([1, 1], { heat: { ...map, from: 0, cells: [0, 0, 7, 1, 2, 9] } })]));
    stage.add(news(1, 3, [operation([1, 1], { heat: { ...map, first_row: 98, rows: 5, from: 1, cells: [1, 4, 9, 2, 0, 1] } })]));
    expect(stage.operations[0]!.heat!.cells).toEqual([0, 2, 7, 1, 4, 9, 2, 0, 1]);
    const model = heat(stage, stage.operations[0]);
    expect(model.cells.reduce((all, cell) => all + cell[4], 0)).toBe(17);
  });

  test("have the last interval beside them, once", () => {
    const stage = new LiveStage("s1-main");
    expect([stage.interval(interval(0, 5)), stage.interval(interval(0, 5)), stage.interval(interval(1, 7))]).toEqual([true, false, true]);
    expect(stage.lastRows.map((row) => row.count)).toEqual([7]);
  });
});

describe("charts of a running stage", () => {
  const part = (label: string, name: number[]): PartNews =>
    ({ ...NO_TOTALS, by: "driver", label, workers: null, from: 0, every: 2, series_count: name, series_bytes: name, p99: name.map((n) => (n > 0 ? n / 10 : null)) });
  const stage = new LiveStage("s1-main");
  stage.add(news(0, 4, [
    operation([10, 20, 30, 40], { latency: [latency(0, 1, [null, 2, 2, 2])], parts: [part("d1", [20, 40]), part("d2", [10, 30])] }),
    operation([1, 1, 1, 1], { name: "write", op: "write", sample: "write", parts: [part("d1", [2, 2]), part("d2", [0, 0])] }),
  ]));

  test("are those of the report", () => {
    const [throughput] = common(stage, "operation");
    expect(throughput!.lines.map((line) => [line.name, line.points])).toEqual([
      ["read", [[0.5, 10], [1.5, 20], [2.5, 30], [3.5, 40]]], ["write", [[0.5, 1], [1.5, 1], [2.5, 1], [3.5, 1]]],
    ]);
    expect(throughput!.phases).toEqual([{ name: "ramp-up", from: 0, to: 1 }]);
    expect(percentiles(stage, stage.operations[0])[0].lines[0]!.points).toEqual([[0.5, null], [1.5, 2], [2.5, 2], [3.5, 2]]);
  });

  test("show the stretch in which the part of a driver is missing, until it is back", () => {
    const gone = new LiveStage("s1-main");
    gone.add(news(0, 4, [operation([10, 20, 5, 5])], { phases: [{ phase: "window", from_s: 0, to_s: 4 }, { phase: "without driver d2", from_s: 2, to_s: 4 }] }));
    for (const model of common(gone, "operation")) expect(model.phases).toEqual([{ name: "without driver d2", from: 2, to: 4 }]);
    gone.add(news(4, 5, [operation([10])]));
    for (const model of common(gone, "operation")) expect(model.phases).toEqual([{ name: "ramp-up", from: 0, to: 1 }]);
  });

  test("have a line for each driver, of all operations together", () => {
    const [throughput, bandwidth] = common(stage, "driver");
    expect(throughput!.lines.map((line) => [line.name, line.points])).toEqual([["d1", [[1, 11], [3, 21]]], ["d2", [[1, 5], [3, 15]]]]);
    expect(bandwidth!.lines).toHaveLength(2);
    expect(percentileBy(stage, "driver", stage.operations[1]).lines.map((line) => line.points)).toEqual([[[1, 0.2], [3, 0.2]], [[1, null], [3, null]]]);
  });

  test("are always the same ones, so that nothing moves when the first failure comes", () => {
    const quiet = new LiveStage("s1-main");
    const ids = (one: LiveStage) => common(one, "operation").map((model) => model.id);
    expect(ids(quiet)).toEqual(ids(stage));
    expect(common(quiet, "operation").every((model) => model.empty)).toBe(true);
    const failing = new LiveStage("s1-main");
    failing.add(news(0, 1, [operation([1], { series: counts([1], { failures: [2], missed: [1], errors: { timeout: [2] } }) })]));
    expect(ids(failing)).toEqual(ids(stage));
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
