import { describe, expect, test } from "vitest";
import { operation, stage, times } from "../data/sample";
import { conditions, figures, leading, measured, stageIn } from "../report/figures";
import { toCsv } from "./csv";
import { afterLegendClick, legendRows, NONE } from "./legend";
import { axisText, byteInterval, logTicks, optionOf, sentenceOf, timeStep, valuesOf } from "./model";
import { heatColour, operationColours, PALETTES } from "./palette";
import * as charts from "./stage";

describe("the charts of a stage", () => {
  test("a rate is the count over the length of its bin, the last one shorter", () => {
    const model = charts.throughput(stage());
    expect(model.lines[0]!.points).toEqual([[1, 100], [3, 150], [4.25, 100]]);
    expect(model.phases).toEqual([{ name: "ramp-up", from: 0, to: 2 }]);
  });

  test("bins that were taken together stand in their common middle", () => {
    const one = operation();
    const model = charts.percentiles(stage([one]), one, one.latency[0]!);
    expect(model.lines.map((line) => line.name)).toEqual(["median", "95th percentile", "greatest"]);
    expect(model.lines[0]!.points).toEqual([[2, 2], [4.25, 2.5]]);
    expect(model.hint).toContain("One point per 4 s");
    expect(model.hint).toContain("99th");
  });

  test("failures of all operations are added up by class, the most frequent first", () => {
    const model = charts.errors(stage([operation(), operation({ name: "write" })]))!;
    expect(model.lines.map((line) => line.name)).toEqual(["http_503", "timeout"]);
    expect(model.lines[0]!.points.map(([, y]) => y)).toEqual([0, 5, 16]);
  });

  test("what an archive does not have is no chart", () => {
    const bare = operation({ series: { count: [1, 2, 3], failures: null, bytes: null, missed: null, delayed: null, in_flight: null, errors: {}, drivers: {} } });
    const old = stage([bare]);
    expect([charts.errors(old), charts.inFlight(old), charts.bandwidth(old), charts.schedule(old), charts.drivers(old)]).toEqual([null, null, null, null, null]);
    expect(charts.throughput(old).empty).toBeUndefined();
    expect(charts.throughput(stage([operation({ series: null })], { time: null })).empty).toMatch(/Nothing was recorded/);
  });

  test("the uncertain end of a distribution is a line of its own that joins the certain part", () => {
    const [sure, rest] = charts.distributions(stage()).lines;
    expect(sure!.points.at(-1)).toEqual([1, 4]);
    expect(rest).toMatchObject({ dash: "dotted", continues: true, points: [[1, 4], [2, 10], [2.9956, 18]] });
  });

  test("cells of a heat map keep their counts and lie within the stage", () => {
    const model = charts.heat(stage(), operation());
    expect(model.cells.map((cell) => cell[4])).toEqual([400, 100, 50]);
    expect(Math.max(...model.cells.map((cell) => cell[1]))).toBe(4.5);
    expect(model.cells.every((cell) => cell[2] >= model.yFrom && cell[3] <= model.yTo)).toBe(true);
  });

  test("operations of the same name are told apart", () => {
    const pair = [operation({ work: "a" }), operation({ work: "b" })];
    expect(charts.operationNames(pair)).toEqual(["a read", "b read"]);
    expect(charts.operationNames([operation(), operation()])).toEqual(["read (1)", "read (2)"]);
  });
});

describe("axes", () => {
  test("a logarithmic axis has round ticks and not too many", () => {
    expect(logTicks(0.9, 98)).toEqual([1, 2, 5, 10, 20, 50]);
    expect(logTicks(0.001, 900)).toEqual([0.001, 0.01, 0.1, 1, 10, 100]);
    expect(logTicks(0, 5)).toEqual([]);
  });

  test("a logarithmic axis that is shorter than a power of ten has ticks, too", () => {
    expect(logTicks(540, 990)).toEqual([600, 700, 800, 900]);
    expect(logTicks(2.05, 4.9)).toEqual([2.5, 3, 3.5, 4, 4.5]);
    expect(logTicks(1.08, 1.32)).toEqual([1.1, 1.2, 1.3]);
    for (let least = 1; least < 10; least *= 1.01) {
      for (const factor of [1.25, 1.5, 2, 3, 5, 9, 30]) {
        const ticks = logTicks(least, least * factor);
        expect(ticks.length >= (factor < 1.5 ? 2 : 3) && ticks.length <= 9, `${least} to ${least * factor}: ${ticks.join()}`).toBe(true);
      }
    }
  });

  test("bytes have ticks of whole kB and MB", () => {
    expect([byteInterval(0), byteInterval(3), byteInterval(19e6), byteInterval(700e3), byteInterval(1.4e9)]).toEqual([1, 1, 5e6, 200e3, 500e6]);
  });

  test("a rest of a bin has no rate", () => {
    const model = charts.throughput(stage([operation()], { time: { bin_s: 2, bins: 3, end_s: 4.04 } }));
    expect(model.lines[0]!.points[2]![1]).toBeNull();
  });
});

describe("what goes out of a chart", () => {
  test("the CSV has every value, and quotes what needs it", () => {
    const model = charts.throughput(stage([operation({ name: 'a "b", c' })]));
    expect(toCsv(valuesOf(model))).toBe('time_s,"a ""b"", c (per_s)"\r\n1,100\r\n3,150\r\n4.25,100\r\n');
    expect(valuesOf(charts.distributions(stage())).rows[1]).toEqual([90, 4, 4]);
  });

  test("a logarithmic axis leaves 0 out instead of drawing it somewhere", () => {
    const model = charts.throughput(stage([operation({ series: { ...operation().series!, count: [0, 300, 50] } })]));
    const view = { palette: PALETTES.light, hidden: NONE, zoom: null, log: true, width: 500 };
    const { series } = optionOf(model, view) as { series: { data: unknown[][] }[] };
    expect(series[0]!.data[0]).toEqual([1, null]);
  });

  test("a zoom becomes the range of the time axis, a hidden line is not drawn", () => {
    const model = charts.throughput(stage([operation(), operation({ name: "write", sample: "write", op: "write" })]));
    const view = { palette: PALETTES.dark, hidden: new Set(["read"]), zoom: [1, 3] as [number, number], log: false, width: 500 };
    const option = optionOf(model, view) as { series: { name: string }[]; xAxis: { min: number; max: number } };
    expect(option.series.map((one) => one.name)).toEqual(["write"]);
    expect([option.xAxis.min, option.xAxis.max]).toEqual([1, 3]);
  });

  test("the sentence says the range of every line", () => {
    expect(sentenceOf(charts.throughput(stage()))).toBe("Throughput: read from 100 to 150.");
  });
});

describe("legend and colours", () => {
  test("a click isolates, a second one shows all, with Shift one line goes on and off", () => {
    const names = ["a", "b", "c"];
    const alone = afterLegendClick(names, NONE, "b", false);
    expect([...alone].sort()).toEqual(["a", "c"]);
    expect(afterLegendClick(names, alone, "b", false)).toBe(NONE);
    expect([...afterLegendClick(names, alone, "c", true)]).toEqual(["a"]);
    expect(afterLegendClick(names, alone, "b", true)).toBe(NONE);
  });

  test("an operation has its colour in every stage", () => {
    const ops = (...kinds: string[]) => kinds.map((op) => ({ op, sample: op }));
    expect(operationColours(ops("read", "write"))).toEqual([0, 1]);
    expect(operationColours(ops("write"))).toEqual([1]);
    expect(operationColours(ops("read", "read", "mread"))).toEqual([0, 1, 2]);
  });

  test("brightness of the heat ramp goes one way, so that no colour is needed to read it", () => {
    for (const palette of Object.values(PALETTES)) {
      const light = Array.from({ length: 21 }, (_, at) => {
        const [r, g, b] = heatColour(palette, at / 20).match(/\d+/g)!.map(Number) as [number, number, number];
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      });
      const steps = light.slice(1).map((value, at) => Math.sign(value - light[at]!));
      expect(new Set(steps).size).toBe(1);
    }
  });
});

describe("headline figures", () => {
  test("counts add up, and the share of failures is of all that ended", () => {
    const sums = figures(stage([operation(), operation({ name: "write", count: 0, failures: 1000, throughput_per_s: 0 })]));
    expect(sums).toMatchObject({ count: 990, failures: 1010, failedShare: 0.505, throughput: 99, workers: 4 });
    expect(figures(stage([operation({ count: 0, failures: 0, throughput_per_s: null })]))).toMatchObject({ failedShare: null, throughput: null });
  });

  test("stages that only set up are no measurement, unless there is no other", () => {
    const setup = stage([operation({ op: "prepare" })], { id: "s0", setup: true });
    expect(measured([setup, stage()]).map((one) => one.id)).toEqual(["s1-main"]);
    expect(measured([setup])).toEqual([setup]);
    expect(leading(stage([operation({ count: 1, failures: 0 }), operation({ name: "write" })]), 1)[0]!.name).toBe("write");
    expect(conditions(stage([operation({ response_ms: times(1) })]), (s) => `${s} s`)).toBe("4 workers · closed loop · 10 s measured");
  });
});

test("ticks of time stand where people count: whole minutes, not 50 s", () => {
  expect([timeStep(260, 6), timeStep(60, 6), timeStep(3600, 8), timeStep(7, 6), timeStep(1, 6)]).toEqual([60, 10, 600, 2, undefined]);
});

describe("axes", () => {
  const view = (width: number) => ({ palette: PALETTES.light, hidden: NONE, zoom: null, log: false, width });
  const shares = (values: number[]) => ({
    kind: "lines", x: "time", id: "busy", title: "Busy", hint: "", unit: "share", xEnd: 3, lines: [{ name: "cpu", colour: 0, points: values.map((y, at): [number, number] => [at, y]) }],
  }) as const;
  test("of shares end at all of it, and only where nothing is above", () => {
    const most = (values: number[]) => (optionOf({ ...shares(values), lines: [{ name: "cpu", colour: 0, points: values.map((y, at): [number, number] => [at, y]) }] }, view(600)) as { yAxis: { max: number | null } }).yAxis.max;
    // Null, and not left out: a live chart would go on ending at 1, and cut what is above.
    expect([most([0.2, 1]), most([0.2, 0.97]), most([0.01, 0.02]), most([0.5, 3.2])]).toEqual([1, 1, null, null]);
  });
  test("have no step of minutes left where one looks at a second", () => {
    const step = (zoom: [number, number] | null) => (optionOf({ ...shares([0.2, 0.3]), xEnd: 600, lines: [] }, { ...view(600), zoom }) as { xAxis: { interval: number | null } }).xAxis.interval;
    expect([step(null), step([10, 11])]).toEqual([120, null]);
  });
  test("have larger text where the chart is large", () => {
    expect([axisText(390), axisText(1200), axisText(1800)]).toEqual([11, 13, 16]);
  });
  test("of a chart have the size of its width, and of bytes their ticks", () => {
    type Axes = { xAxis: { axisLabel: { fontSize: number } }; yAxis: { axisLabel: { fontSize: number }; interval?: number; max?: number } };
    const axes = (width: number) => optionOf({ ...shares([]), unit: "bytes_per_s", lines: [{ name: "read", colour: 0, points: [[0, 500 * 2 ** 20], [1, 19e6]] as [number, number][] }] }, view(width)) as unknown as Axes;
    for (const width of [390, 1200, 1800]) {
      const { xAxis, yAxis } = axes(width);
      expect([xAxis.axisLabel.fontSize, yAxis.axisLabel.fontSize]).toEqual([axisText(width), axisText(width)]);
      expect([yAxis.interval, yAxis.max]).toEqual([200e6, 600e6]);
    }
  });
});

test("more operations than colours are told apart by dashes, and more than can be told apart are not drawn", () => {
  const many = Array.from({ length: 50 }, (_, at) => operation({ name: `op${at}`, op: "custom", sample: "custom", tag: `t${at}` }));
  const model = charts.throughput(stage(many));
  expect(model.lines).toHaveLength(charts.MOST_LINES);
  expect(new Set(model.lines.map((line) => `${line.colour} ${line.dash ?? "solid"}`)).size).toBe(charts.MOST_LINES);
  expect(model.hint).toContain("of 50");
  const looks = (lines: { colour: number; dash?: string }[]) => new Set(lines.map((line) => `${line.colour} ${line.dash ?? "solid"}`)).size;
  const flight = charts.inFlight(stage(many))!;
  expect([flight.lines.length, looks(flight.lines)]).toEqual([charts.MOST_LINES, charts.MOST_LINES]);
  const counts = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`driver${at}`, [at, at, at]]));
  const drivers = charts.drivers(stage([operation({ series: { ...operation().series!, drivers: counts } })]))!;
  expect([drivers.lines.length, looks(drivers.lines)]).toEqual([charts.MOST_LINES, charts.MOST_LINES]);
  expect(drivers.hint).toContain("of 100");
  // Of percentiles those of most operations, each with its uncertain end.
  const busy = many.map((one, at) => ({ ...one, count: at }));
  const shown = charts.distributions(stage(busy));
  const certain = shown.lines.filter((line) => !line.continues);
  expect([certain.length, certain[0]!.name, certain.at(-1)!.name]).toEqual([charts.MOST_LINES, "op26", "op49"]);
  expect(shown.hint).toContain("24 of 50 operations");
  expect(charts.distributions(stage()).hint).not.toContain(" of 1 ");
});

test("a picture that is saved has all of its legend, in as many rows as it needs", () => {
  const names = [...Array.from({ length: 24 }, (_, at) => `work-${at} read of large objects`), "x".repeat(400), "読み取り"];
  const entries = legendRows(names, 960);
  expect(entries.map((one) => one.text).filter((text) => !names.includes(text))).toHaveLength(1);
  for (const [at, { text, x, row }] of entries.entries()) {
    expect(x + 26 + text.length * 7).toBeLessThanOrEqual(960);
    const next = entries[at + 1];
    if (next?.row === row) expect(next.x).toBeGreaterThanOrEqual(x + 26 + text.length * 7);
    else if (next) expect([next.row, next.x]).toEqual([row + 1, 12]);
  }
  expect(legendRows(["read", "write"], 960).map((one) => one.row)).toEqual([0, 0]);
});

test("an address with a per cent sign of its own names no stage and breaks no page", () => {
  expect(["#stage=s2-50%25%20reads", "#stage=s2-50%", "#100%", ""].map(stageIn)).toEqual(["s2-50% reads", "s2-50%", "#100%", ""]);
});
