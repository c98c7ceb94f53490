// From the bins of a running stage to the models of its charts: the same models as the report's.
import type { ChartModel, HeatModel, Line, LineModel } from "../../charts/model";
import { operationColours } from "../../charts/palette";
import { boundMs, CLASSES } from "./heat";
import { PHASES, TIMES, type LiveStage, type Series, type TimeName } from "./series";

export type Split = "operation" | "driver" | "endpoint";

/** More columns than this are put together in the heat map. */
const HEAT_COLUMNS = 150;
const PHASE_NAMES: Record<string, string> = { rampup: "ramp-up", rampdown: "ramp-down", drain: "drain" };
const NOTHING_YET = "Nothing measured yet.";

type Points = [number, number | null][];

/** Middle of a bin, seconds. */
function middle(stage: LiveStage, bin: number): number {
  return Number(((stage.from[bin]! + stage.to[bin]!) / 2).toFixed(3));
}

function points(stage: LiveStage, value: (bin: number) => number | null): Points {
  const all: Points = [];
  for (let bin = 0; bin < stage.used; bin += 1) {
    const y = value(bin);
    all.push([middle(stage, bin), y === null || Number.isNaN(y) ? null : y]);
  }
  return all;
}

function perSecond(stage: LiveStage, sums: ArrayLike<number>): Points {
  return points(stage, (bin) => Number((sums[bin]! / Math.max(1e-9, stage.to[bin]! - stage.from[bin]!)).toPrecision(6)));
}

function phases(stage: LiveStage): LineModel["phases"] {
  const spans: { name: string; from: number; to: number }[] = [];
  for (let bin = 0; bin < stage.used; bin += 1) {
    const name = PHASES[stage.phase[bin]!]!;
    if (name === "window") continue;
    const last = spans[spans.length - 1];
    const shown = PHASE_NAMES[name] ?? name;
    if (last && last.name === shown && Math.abs(last.to - stage.from[bin]!) < 1e-6) last.to = stage.to[bin]!;
    else spans.push({ name: shown, from: stage.from[bin]!, to: stage.to[bin]! });
  }
  return spans;
}

/** Names that tell series apart. */
export function namesOf(series: Series[]): string[] {
  const works = new Set(series.map((one) => one.work));
  return series.map((one) => (works.size > 1 && one.work !== one.operation ? `${one.work} ${one.operation}` : one.operation));
}

export function coloursOf(series: Series[]): number[] {
  return operationColours(series.map((one) => ({ op: one.operation.replace(/^\d+-/, ""), sample: one.operation })));
}

function base(stage: LiveStage, end: number): Pick<LineModel, "kind" | "x" | "phases" | "xEnd"> {
  return { kind: "lines", x: "time", phases: phases(stage), xEnd: Math.max(end, stage.endS, 1) };
}

/** One line for each operation, driver or endpoint, from a sum of its bins. */
function sums(stage: LiveStage, split: Split, of: (one: Series) => Float64Array): Line[] {
  if (split === "operation") {
    const all = stage.operations();
    const [names, colours] = [namesOf(all), coloursOf(all)];
    return all.map((one, at): Line => ({ name: names[at]!, colour: colours[at]!, points: perSecond(stage, of(one)) }));
  }
  const groups = new Map<string, Float64Array>();
  for (const one of stage.parts(split)) {
    const name = one[split]!;
    const sum = groups.get(name) ?? new Float64Array(stage.used);
    const values = of(one);
    for (let bin = 0; bin < stage.used; bin += 1) sum[bin]! += values[bin]!;
    groups.set(name, sum);
  }
  return [...groups].map(([name, sum], at): Line => ({ name, colour: at % 8, points: perSecond(stage, sum) }));
}

function some(lines: Line[]): boolean {
  return lines.some((line) => line.points.some(([, y]) => (y ?? 0) > 0));
}

/** Shown for the whole of the live page, also while there is nothing: so that nothing moves when it comes. */
export function common(stage: LiveStage, end: number, split: Split): LineModel[] {
  const axis = base(stage, end);
  const none = stage.used === 0 ? NOTHING_YET : undefined;
  const by = split === "operation" ? "" : ` by ${split}`;
  const lines = sums(stage, split, (one) => one.count);
  const bytes = sums(stage, split, (one) => one.bytes);
  const all = stage.operations();
  const [names, colours] = [namesOf(all), coloursOf(all)];
  const missed = all.map((one, at): Line => ({ name: names[at]!, colour: colours[at]!, points: perSecond(stage, one.missed) }));
  return [
    { ...axis, id: "throughput", title: `Throughput${by}`, unit: "per_s", lines, hint: "Successful operations per second.", empty: none },
    {
      ...axis, id: "bandwidth", title: `Bandwidth${by}`, unit: "bytes_per_s", lines: bytes.filter((line) => some([line])),
      hint: "Body bytes of successful operations per second.", empty: none ?? (some(bytes) ? undefined : "No bytes of bodies so far."),
    },
    errors(stage, end),
    {
      ...axis, id: "missed", title: "Missed", unit: "per_s", lines: missed, hint: "Arrivals per second that were dropped because no worker was free.",
      empty: none ?? (some(missed) ? undefined : "No arrival was missed so far."),
    },
    {
      ...axis, id: "in-flight", title: "In flight", unit: "count", hint: "Mean number of operations under way.", empty: none,
      lines: all.map((one, at): Line => ({ name: names[at]!, colour: colours[at]!, points: points(stage, (bin) => one.inFlight[bin]!) })),
    },
  ];
}

function errors(stage: LiveStage, end: number): LineModel {
  const classes = new Map<string, Float64Array>();
  for (const one of stage.operations()) {
    for (const [label, counts] of one.errors) {
      const sum = classes.get(label) ?? new Float64Array(stage.used);
      for (let bin = 0; bin < stage.used; bin += 1) sum[bin]! += counts[bin]!;
      classes.set(label, sum);
    }
  }
  const colours = [1, 3, 4, 5, 0, 2, 6, 7];
  const lines = [...classes].map(([name, counts], at): Line => ({ name, colour: colours[at % 8]!, points: perSecond(stage, counts), stack: true }));
  return {
    ...base(stage, end), id: "errors", title: "Failures", unit: "per_s", lines, hint: "Failed operations per second by class, added up.",
    empty: stage.used === 0 ? NOTHING_YET : some(lines) ? undefined : "Nothing failed so far.",
  };
}

/** Percentiles of one operation over time. */
export function percentiles(stage: LiveStage, end: number, series: Series | undefined, name: string): LineModel {
  const line = (label: string, colour: number, which: TimeName, more: Partial<Line> = {}): Line => ({
    name: label, colour, points: series ? points(stage, (bin) => series.time(bin, TIMES[which])) : [], ...more,
  });
  const lines = [
    line("median", 0, "p50"), line("95th percentile", 2, "p95"), line("99th percentile", 1, "p99"),
    line("greatest", 7, "max", { thin: true, dash: "dotted" }),
  ];
  const known = lines.some((one) => one.points.some(([, y]) => y !== null));
  return {
    ...base(stage, end), id: "times-response", unit: "ms", lines, mayLog: true, title: `Response time of ${name}`,
    hint: "From the moment an operation was due to its end.", empty: known ? undefined : stage.used === 0 ? NOTHING_YET : "No operation succeeded so far.",
  };
}

/** A percentile of each driver or endpoint. */
export function percentileBy(stage: LiveStage, end: number, split: "driver" | "endpoint", operation: Series | undefined): LineModel {
  const parts = stage.parts(split).filter((one) => one.work === operation?.work && one.operation === operation.operation);
  const lines = parts.map((one, at): Line => ({ name: one[split]!, colour: at % 8, points: points(stage, (bin) => one.time(bin, TIMES.p99)) }));
  return {
    ...base(stage, end), id: `p99-${split}`, unit: "ms", lines, mayLog: true, title: `99th percentile of ${operation?.operation ?? "an operation"} by ${split}`,
    hint: "From the moment an operation was due to its end.", empty: some(lines) ? undefined : NOTHING_YET,
  };
}

/** Response times of one operation over time as a heat map. */
export function heat(stage: LiveStage, end: number, series: Series | undefined, name: string): HeatModel {
  const every = Math.max(1, Math.ceil(stage.used / HEAT_COLUMNS));
  const cells: HeatModel["cells"] = [];
  let [most, low, high] = [1, CLASSES, 0];
  const column = new Float64Array(CLASSES);
  for (let bin = 0; series && bin < stage.used; bin += every) {
    const last = Math.min(stage.used, bin + every);
    column.fill(0);
    for (let one = bin; one < last; one += 1) for (let i = 0; i < CLASSES; i += 1) column[i]! += series.heat[one * CLASSES + i]!;
    for (let i = 0; i < CLASSES; i += 1) {
      const count = column[i]!;
      if (count === 0) continue;
      most = Math.max(most, count);
      low = Math.min(low, i);
      high = Math.max(high, i);
      cells.push([stage.from[bin]!, stage.to[last - 1]!, edge(i - 1), edge(i), count]);
    }
  }
  return {
    kind: "heat", id: "heat", title: `Response times of ${name} as a heat map`,
    hint: "Each column is a moment; the stronger a cell, the more operations took that long (logarithmic).",
    cells, most, xEnd: Math.max(end, stage.endS, 1), phases: phases(stage),
    yFrom: Math.floor(edge(low - 1) * 4) / 4, yTo: Math.ceil(edge(high) * 4) / 4,
    empty: cells.length ? undefined : NOTHING_YET,
  };
}

/** Bound of a class on the axis: log10 of ns. */
function edge(index: number): number {
  return Math.log10(boundMs(index)) + 6;
}

export type { ChartModel };
