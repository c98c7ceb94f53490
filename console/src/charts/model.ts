// What a chart shows, apart from how it is drawn: from this come the drawing, the values under the pointer, the table, the
// CSV and the sentence for screen readers.
import { clock, exact, percentile, short, type Unit } from "../format";
import { timeAt } from "./consistency";
import { tableOf, type ValueTable } from "./csv";
import { heatColour, type Palette } from "./palette";
import type { Option } from "./echarts";

export interface Line {
  name: string;
  /** Index into the palette's categories. */
  colour: number;
  points: [number, number | null][];
  dash?: "solid" | "dashed" | "dotted";
  /** Lines of one stack are added up. */
  stack?: boolean;
  /** Drawn thin, as a background to the others. */
  thin?: boolean;
  /** Belongs to the line before it: no entry of its own in the legend. */
  continues?: boolean;
  /** Each value holds for its whole stretch: drawn as steps. */
  step?: boolean;
}

interface Common {
  id: string;
  title: string;
  /** What one reads here, one sentence. */
  hint: string;
  /** Instead of the chart, where there is nothing to draw. */
  empty?: string | undefined;
}

/** Something that happened. */
export interface Mark {
  at: number;
  name: string;
  kind: string;
}

export interface LineModel extends Common {
  kind: "lines";
  /** Seconds, place on the percentile axis, workers or operations in flight (by powers of two), operations per second, the number
   * of a run in their order, the place of a time since an acknowledgement, objects that are stored, or how full the store is. */
  x: "time" | "nines" | "workers" | "in-flight" | "rate" | "order" | "after" | "objects" | "full";
  /** What stands at the places of an axis of runs. */
  xNames?: string[];
  unit: Unit;
  log?: boolean | undefined;
  /** Offer a switch between linear and logarithmic. */
  mayLog?: boolean;
  lines: Line[];
  phases?: { name: string; from: number; to: number }[] | undefined;
  marks?: Mark[] | undefined;
  xEnd?: number;
}

export interface HeatModel extends Common {
  kind: "heat";
  /** From, to, lower and upper edge (log10 of ns), count. */
  cells: [number, number, number, number, number][];
  most: number;
  yFrom: number;
  yTo: number;
  xEnd: number;
  phases?: { name: string; from: number; to: number }[] | undefined;
  marks?: Mark[] | undefined;
}

export type ChartModel = LineModel | HeatModel;

export interface View {
  palette: Palette;
  hidden: ReadonlySet<string>;
  zoom: [number, number] | null;
  log: boolean;
  /** No pointer, larger text: for files. */
  still?: boolean;
  width: number;
}

/** From few to many ticks in each power of ten, for axes that are shorter than one. */
const FINER = [10, 5, 2, 1].map((step) => Array.from({ length: 90 / step }, (_, at) => (10 + at * step) / 10));

function ticksBetween(min: number, max: number, steps: number[]): number[] {
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(min)); power <= Math.log10(max); power += 1) {
    for (const step of steps) ticks.push(Number((step * 10 ** power).toPrecision(3)));
  }
  return ticks.filter((tick) => tick >= min && tick <= max);
}

/**
 * Ticks of a logarithmic axis that people know: 1, 2, 5 of every power of ten, or fewer where there are many. Fewer than three
 * numbers are no axis: a short one has finer ticks.
 */
export function logTicks(min: number, max: number, most = 7): number[] {
  if (!(min > 0) || !(max > min)) return [];
  let found: number[] = [];
  for (const steps of [[1, 2, 5], [1, 3], [1]]) {
    found = ticksBetween(min, max, steps);
    if (found.length <= most) break;
  }
  for (const steps of FINER) {
    if (found.length >= 3) break;
    const finer = ticksBetween(min, max, steps);
    if (finer.length <= most + 2) found = finer;
  }
  return found;
}

/** Distance of ticks for bytes: powers of 1000, with 1, 2, 5, 10, .. of them. */
export function byteInterval(max: number, parts = 4): number {
  if (!(max > 0)) return 1;
  const unit = 1000 ** Math.max(0, Math.floor(Math.log10(max / parts) / 3 + 1e-9));
  const wanted = max / parts / unit;
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((one) => one >= wanted) ?? 1000;
  return step * unit;
}

/** A share ends at all of it. What a scale does not have is said to be none: what is left out stays as it was in a live chart. */
function shareScale(most: number): Option {
  return most > 0.5 && most <= 1 ? { max: 1, interval: 0.25 } : { max: null, interval: null };
}

/** Text of axes, px: larger where the chart is, as on a screen on a wall. */
export function axisText(width: number): number {
  return width >= 1600 ? 16 : width >= 1000 ? 13 : 11;
}

function byteScale(max: number): Option {
  const interval = byteInterval(max);
  return { interval, max: Math.ceil(max / interval) * interval };
}

const NINES = [0, Math.log10(2), 1, 2, 3, 4, 5, 6, 7];

/** Swatch, name and value, as elements: names are text and never markup. */
function row(colour: string, name: string, value: string): HTMLElement {
  const line = document.createElement("div");
  line.className = "tip-row";
  const swatch = line.appendChild(document.createElement("span"));
  swatch.className = "swatch";
  swatch.style.background = colour;
  line.appendChild(document.createElement("span")).textContent = name;
  const number = line.appendChild(document.createElement("b"));
  number.textContent = value;
  return line;
}

function tip(head: string, rows: HTMLElement[]): HTMLElement {
  const box = document.createElement("div");
  box.className = "tip";
  const title = box.appendChild(document.createElement("div"));
  title.className = "tip-head";
  title.textContent = head;
  rows.forEach((one) => box.appendChild(one));
  return box;
}

function xText(model: LineModel, x: number): string {
  if (model.x === "order") return model.xNames?.[x] ?? "";
  if (model.x === "workers") return `${exact(x, "count")} worker${x === 1 ? "" : "s"}`;
  if (model.x === "in-flight") return `${exact(x, "count")} in flight`;
  if (model.x === "rate") return exact(x, "per_s");
  if (model.x === "objects") return `${exact(Math.round(x), "count")} objects stored`;
  if (model.x === "full") return `${exact(x, "share")} of the store used`;
  if (model.x === "after") return `${short(timeAt(x), "ms")} after the acknowledgement`;
  return model.x === "time" ? `${clock(x)} after the load began` : `${percentile(x)} took no longer`;
}

function axisStyle({ palette, width }: View) {
  return {
    axisLine: { lineStyle: { color: palette.grid } },
    axisTick: { lineStyle: { color: palette.grid } },
    splitLine: { lineStyle: { color: palette.grid } },
    axisLabel: { color: palette.soft, fontSize: axisText(width) },
  };
}

function tooltip(palette: Palette): Option {
  return {
    confine: true,
    backgroundColor: palette.surface,
    borderColor: palette.grid,
    textStyle: { color: palette.text, fontSize: 12 },
    transitionDuration: 0,
    extraCssText: "box-shadow: 0 4px 16px rgb(0 0 0 / 18%); border-radius: 6px;",
  };
}

function frame(view: View): Option {
  return {
    animation: false,
    backgroundColor: view.still ? view.palette.surface : "transparent",
    textStyle: { fontFamily: "system-ui, sans-serif", color: view.palette.text },
    grid: { left: 6, right: 18, top: 14, bottom: 4, outerBoundsMode: "same", outerBoundsContain: "axisLabel" },
  };
}

const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400];

/** Distance of ticks in seconds that people count by; undefined where the time is too short or too long for these. */
export function timeStep(span: number, parts: number): number | undefined {
  const least = span / parts;
  return least < 0.5 ? undefined : TIME_STEPS.find((step) => step >= least);
}

function timeAxis(view: View, end: number): Option {
  const [min, max] = view.zoom ?? [0, end];
  const parts = Math.max(2, Math.min(8, Math.floor(view.width / 90)));
  const interval = timeStep(max - min, parts);
  return {
    type: "value",
    min,
    max,
    ...axisStyle(view),
    splitLine: { show: false },
    splitNumber: parts,
    interval: interval ?? null,
    axisLabel: { color: view.palette.soft, fontSize: axisText(view.width), hideOverlap: true, showMaxLabel: view.zoom === null && Number.isInteger(end / (interval ?? 5)), formatter: (value: number) => clock(value) },
  };
}

function phaseAreas(model: ChartModel, palette: Palette, end: number): Option {
  const areas = (model.phases ?? []).map((phase) => [
    // A name needs room.
    { name: phase.to - phase.from > end * 0.06 ? phase.name : "", xAxis: phase.from },
    { xAxis: phase.to },
  ]);
  return {
    silent: true,
    itemStyle: { color: palette.phase },
    label: { color: palette.soft, fontSize: 10, position: "insideTop", overflow: "truncate" },
    data: areas,
  };
}

/** Longer names of marks are said under the pointer only. */
const MARK_SIGNS = 14;

function markLines(model: ChartModel, view: View): Option {
  const { palette } = view;
  const end = model.xEnd ?? 1;
  const [from, to] = view.zoom ?? [0, end];
  let last = -Infinity;
  const data = [...(model.marks ?? [])].sort((a, b) => a.at - b.at).map((mark) => {
    // Names need room; a line alone does not.
    const named = mark.name.length <= MARK_SIGNS && mark.at - last > (to - from) * 0.12;
    if (named) last = mark.at;
    return { xAxis: mark.at, name: mark.name, label: { show: named, formatter: mark.name } };
  });
  return {
    symbol: "none",
    silent: view.still === true,
    animation: false,
    lineStyle: { color: palette.categories[1], width: 1, type: "dashed", opacity: 0.9 },
    label: { color: palette.soft, fontSize: 10, position: "end", distance: 1, rotate: 0 },
    emphasis: { label: { show: true, formatter: (one: { name: string }) => one.name } },
    data,
  };
}

function xAxis(model: LineModel, view: View, end: number): Option {
  const { palette } = view;
  const style = axisStyle(view);
  const label = { color: palette.soft, fontSize: axisText(view.width), hideOverlap: true };
  switch (model.x) {
    case "time":
      return timeAxis(view, end);
    case "rate":
      return { type: "value", min: 0, ...style, axisLabel: { ...label, formatter: (value: number) => short(value, "per_s") } };
    case "objects":
      return { type: "value", min: 0, max: end, ...style, axisLabel: { ...label, formatter: (value: number) => short(value, "count") } };
    case "full": {
      const least = Math.min(end, ...model.lines.flatMap((line) => line.points.map(([x]) => x)));
      return { type: "value", min: Math.floor(least * 20) / 20, max: end, ...style, axisLabel: { ...label, formatter: (value: number) => short(value, "share") } };
    }
    case "in-flight":
    case "workers": {
      const places = [...new Set(model.lines.flatMap((line) => line.points.map(([x]) => x)))].sort((a, b) => a - b);
      return { type: "log", logBase: 2, ...style, splitLine: { show: false }, axisTick: { customValues: places }, axisLabel: { ...label, customValues: places, formatter: (value: number) => short(value, "count") } };
    }
    case "order":
      return { type: "value", min: 0, max: Math.max(1, end), interval: 1, ...style, splitLine: { show: false }, axisLabel: { ...label, formatter: (value: number) => model.xNames?.[value] ?? "" } };
    case "after": {
      const places = [0, 1, 2, 3, 4, 5, 6].filter((x) => x <= end);
      return { type: "value", min: 0, max: end, ...style, axisTick: { customValues: places }, axisLabel: { ...label, customValues: places, formatter: (value: number) => (value < 1 ? "0" : short(timeAt(value), "ms")) } };
    }
    case "nines": {
      const places = NINES.filter((x) => x <= end);
      return { type: "value", min: 0, max: end, ...style, axisTick: { customValues: places }, axisLabel: { ...label, customValues: places, formatter: (value: number) => percentile(value) } };
    }
  }
}

/** Axes on which each point is a measurement of its own. */
const STEPPED: ReadonlySet<LineModel["x"]> = new Set(["workers", "in-flight", "rate", "after"]);

/** The option of a line chart. */
function lineOption(model: LineModel, view: View): Option {
  const { palette } = view;
  const shown = model.lines.filter((line) => !view.hidden.has(line.name));
  const log = view.log;
  const end = model.xEnd ?? Math.max(1e-9, ...model.lines.flatMap((line) => line.points.map(([x]) => x)));
  const values = shown.flatMap((line) => line.points.map(([, y]) => y)).filter((y): y is number => y !== null && y > 0);
  const [least, most] = [Math.min(...values) * 0.9, Math.max(...values) * 1.1];
  const ticks = log ? logTicks(least, most) : [];
  const few = Math.max(0, ...shown.map((line) => line.points.length)) <= 24;
  const series = shown.map((line, at) => ({
    type: "line",
    name: line.name,
    // A null breaks the line; a logarithm has no place for 0.
    data: line.points.map(([x, y]) => [x, log && (y ?? 0) <= 0 ? null : y]),
    color: palette.categories[line.colour % palette.categories.length],
    showSymbol: (STEPPED.has(model.x) || (few && model.x !== "nines")) && !line.thin && !line.step,
    symbol: "circle",
    symbolSize: 5,
    lineStyle: { width: line.thin ? 1 : 2, type: line.dash ?? "solid", opacity: line.thin ? 0.75 : 1 },
    ...(line.step ? { step: "middle" } : {}),
    ...(line.stack ? { stack: "all", areaStyle: { opacity: 0.45 }, step: "middle" } : {}),
    emphasis: { disabled: true },
    ...(at === 0 && model.phases?.length ? { markArea: phaseAreas(model, palette, end) } : {}),
    ...(at === 0 && model.marks?.length ? { markLine: markLines(model, view) } : {}),
  }));
  return {
    ...frame(view),
    xAxis: xAxis(model, view, end),
    yAxis: {
      type: log ? "log" : "value",
      ...axisStyle(view),
      splitNumber: 4,
      ...(log && values.length ? { min: least, max: most, axisTick: { customValues: ticks } } : { min: 0 }),
      ...(!log && model.unit === "bytes_per_s" && values.length ? byteScale(Math.max(...values)) : {}),
      ...(!log && model.unit === "share" && values.length ? shareScale(Math.max(...values)) : {}),
      axisLabel: {
        color: palette.soft,
        fontSize: axisText(view.width),
        hideOverlap: true,
        ...(ticks.length ? { customValues: ticks } : {}),
        formatter: (value: number) => short(value, model.unit),
      },
    },
    tooltip: view.still
      ? { show: false }
      : {
          ...tooltip(palette),
          trigger: "axis",
          axisPointer: { type: "line", snap: true, lineStyle: { color: palette.soft } },
          formatter: (params: { seriesName: string; color: string; value: [number, number | null] }[]) => {
            const first = params[0];
            if (!first) return "";
            const rows = params
              .filter((one) => one.value[1] !== null && one.value[1] !== undefined)
              .map((one) => row(one.color, one.seriesName, exact(one.value[1], model.unit)));
            return tip(xText(model, first.value[0]), rows);
          },
        },
    series,
  };
}

function heatOption(model: HeatModel, view: View): Option {
  const { palette } = view;
  const scale = Math.log10(Math.max(2, model.most));
  const ticks = logTicks(10 ** model.yFrom, 10 ** model.yTo).map(Math.log10);
  const colour = (count: number) => heatColour(palette, Math.log10(count) / scale);
  type Api = { value(at: number): number; coord(point: [number, number]): [number, number] };
  type Params = { coordSys: { x: number; y: number; width: number; height: number } };
  return {
    ...frame(view),
    xAxis: timeAxis(view, model.xEnd),
    yAxis: {
      type: "value",
      min: model.yFrom,
      max: model.yTo,
      ...axisStyle(view),
      splitLine: { show: false },
      axisTick: { customValues: ticks },
      axisLabel: {
        color: palette.soft,
        fontSize: axisText(view.width),
        customValues: ticks,
        formatter: (value: number) => short(10 ** (value - 6), "ms"),
      },
    },
    tooltip: view.still
      ? { show: false }
      : {
          ...tooltip(palette),
          trigger: "item",
          formatter: ({ value }: { value: number[] }) =>
            tip(`${clock(value[0]!)} to ${clock(value[1]!)}`, [
              row(
                colour(value[4]!),
                `${short(10 ** (value[2]! - 6), "ms")} to ${short(10 ** (value[3]! - 6), "ms")}`,
                `${exact(value[4], "count")} operations`,
              ),
            ]),
        },
    series: [
      {
        type: "custom",
        clip: true,
        dimensions: ["from", "to", "low", "high", "count"],
        encode: { x: [0, 1], y: [2, 3], tooltip: [4] },
        data: model.cells,
        renderItem: (params: Params, api: Api) => {
          const [x, bottom] = api.coord([api.value(0), api.value(2)]);
          const [right, top] = api.coord([api.value(1), api.value(3)]);
          const area = params.coordSys;
          const left = Math.max(x, area.x);
          const width = Math.min(right, area.x + area.width) - left;
          if (width <= 0) return null;
          return {
            type: "rect",
            // Half a pixel over the edge, so that no seams show.
            shape: { x: left, y: top, width: width + 0.5, height: bottom - top + 0.5 },
            style: { fill: colour(api.value(4)) },
          };
        },
        markArea: phaseAreas(model, palette, model.xEnd),
        ...(model.marks?.length ? { markLine: markLines(model, view) } : {}),
      },
    ],
  };
}

/** What ECharts is to draw. */
export function optionOf(model: ChartModel, view: View): Option {
  return model.kind === "lines" ? lineOption(model, view) : heatOption(model, view);
}

/** All values of a chart. */
export function valuesOf(model: ChartModel): ValueTable {
  if (model.kind === "lines") {
    const first = { time: "time_s", nines: "percentile", workers: "workers", "in-flight": "in_flight", rate: "per_s", order: "run", after: "after_ms", objects: "objects", full: "full" }[model.x];
    const names = model.lines.map((line) => ({ ...line, name: model.unit === "none" ? line.name : `${line.name} (${model.unit})` }));
    const table = tableOf(first, names);
    if (model.x === "nines") {
      table.rows.forEach((one) => (one[0] = Number((100 - 100 / 10 ** Number(one[0])).toFixed(6))));
    }
    if (model.x === "after") table.rows.forEach((one) => (one[0] = Number(timeAt(Number(one[0])).toPrecision(4))));
    if (model.x === "order") table.rows.forEach((one) => (one[0] = model.xNames?.[Number(one[0])] ?? one[0]!));
    return table;
  }
  return {
    head: ["from_s", "to_s", "from_ms", "to_ms", "count"],
    rows: model.cells.map(([from, to, low, high, count]) => {
      const ms = (log: number) => Number((10 ** (log - 6)).toPrecision(4));
      return [from, to, ms(low), ms(high), count];
    }),
  };
}

/** One sentence for who cannot see the chart. */
export function sentenceOf(model: ChartModel): string {
  if (model.empty) return `${model.title}: ${model.empty}`;
  if (model.kind === "heat") {
    const total = model.cells.reduce((sum, cell) => sum + cell[4], 0);
    return `${model.title}: ${exact(total, "count")} operations between ${short(10 ** (model.yFrom - 6), "ms")} and ${short(10 ** (model.yTo - 6), "ms")}.`;
  }
  const parts = model.lines
    .filter((line) => !line.continues)
    .map((line) => {
      const values = line.points.map(([, y]) => y).filter((y): y is number => y !== null);
      if (values.length === 0) return `${line.name} has no values`;
      return `${line.name} from ${short(Math.min(...values), model.unit)} to ${short(Math.max(...values), model.unit)}`;
    });
  return `${model.title}: ${parts.join("; ")}.`;
}
