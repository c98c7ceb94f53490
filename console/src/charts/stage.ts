// From a stage of the report's data to the models of its charts.
import type { ClientSeries, CountSeries, EventMark, LatencySeries, OperationData, PhaseSpan, StageData, TimeAxis } from "../data/types";
import type { ChartModel, HeatModel, Line, LineModel, Mark } from "./model";
import { operationColours } from "./palette";

/** What is drawn of an operation; one that runs has no more than that. */
export interface Course {
  work: string;
  name: string;
  op: string;
  sample: string;
  series: CountSeries | null;
}

/** What is drawn of a stage. */
export interface StageCourse {
  time: TimeAxis | null;
  phases: PhaseSpan[];
  events?: EventMark[];
  operations: Course[];
}

/** Middle of bin `at` of an axis whose bins were taken together `every` at a time. */
export function middle(axis: TimeAxis, at: number, every = 1): number {
  return tidy((from(axis, at, every) + to(axis, at, every)) / 2);
}

/** Length of that bin in seconds; the last may be shorter. */
export function width(axis: TimeAxis, at: number, every = 1): number {
  return Math.max(1e-9, to(axis, at, every) - from(axis, at, every));
}

function from(axis: TimeAxis, at: number, every: number): number {
  return at * every * axis.bin_s;
}

function to(axis: TimeAxis, at: number, every: number): number {
  return Math.min(axis.end_s, Math.min(axis.bins, (at + 1) * every) * axis.bin_s);
}

function tidy(value: number): number {
  return Number(value.toFixed(3));
}

export function points(axis: TimeAxis, values: (number | null)[], every = 1): [number, number | null][] {
  return values.map((value, at) => [middle(axis, at, every), value]);
}

/** A last bin shorter than this share of a bin has no rate worth drawing. */
const LEAST_SHARE = 0.25;

function stub(axis: TimeAxis, at: number, every = 1): boolean {
  return at > 0 && width(axis, at, every) < axis.bin_s * every * LEAST_SHARE;
}

export function rates(axis: TimeAxis, counts: number[], every = 1): [number, number | null][] {
  const rate = (count: number, at: number) => Number((count / width(axis, at, every)).toPrecision(6));
  return counts.map((count, at) => [middle(axis, at, every), stub(axis, at, every) ? null : rate(count, at)]);
}

/** Names that tell the operations of a stage apart. */
export function operationNames(operations: { work: string; name: string }[]): string[] {
  const works = new Set(operations.map((one) => one.work));
  const names = operations.map((one) => (works.size > 1 && one.work !== one.name ? `${one.work} ${one.name}` : one.name));
  return names.map((name, at) => (names.indexOf(name) === names.lastIndexOf(name) ? name : `${name} (${at + 1})`));
}

const PHASE_NAMES: Record<string, string> = { rampup: "ramp-up", rampdown: "ramp-down", drain: "drain" };

function phases(stage: { phases: PhaseSpan[] }): LineModel["phases"] {
  return stage.phases
    .filter((phase) => phase.phase !== "window" && phase.to_s > phase.from_s)
    .map((phase) => ({ name: PHASE_NAMES[phase.phase] ?? phase.phase, from: phase.from_s, to: phase.to_s }));
}

type Base = Pick<LineModel, "kind" | "x" | "phases" | "xEnd" | "marks">;

/** What happened, as lines across the charts over time; that a stage began and ended is its axis. */
export function marks(stage: { time: TimeAxis | null; events?: EventMark[] }): Mark[] {
  const end = stage.time?.end_s ?? 0;
  return (stage.events ?? [])
    .filter((one) => one.kind !== "stage" && one.kind !== "command" && one.at_s >= 0 && one.at_s <= end)
    .map((one) => ({ at: one.at_s, name: one.text, kind: one.kind }));
}

export function over(stage: { time: TimeAxis | null; phases: PhaseSpan[]; events?: EventMark[] }): Base {
  return { kind: "lines", x: "time", phases: phases(stage), marks: marks(stage), xEnd: stage.time?.end_s ?? 1 };
}

const NOTHING = "Nothing was recorded over time: the stage was too short, or the archive has no histogram of each interval.";

/** Eight colours tell eight operations apart; who has a colour second is dashed, who has it third dotted. */
function dashesOf(colours: number[]): Pick<Line, "dash">[] {
  const used = new Map<number, number>();
  return colours.map((colour) => {
    const before = used.get(colour) ?? 0;
    used.set(colour, before + 1);
    return before === 0 ? {} : { dash: before % 2 === 1 ? "dashed" : "dotted" };
  });
}

/** Lines of a chart at most: those of most operations. The others are in the tables. */
export const MOST_LINES = 24;

/** The lines of a chart that can be told apart, and what is said of the others. */
function readable(lines: Line[], hint: string): { lines: Line[]; hint: string } {
  if (lines.length <= MOST_LINES) return { lines, hint };
  const size = (line: Line) => line.points.reduce((sum, [, y]) => sum + (y ?? 0), 0);
  const kept = new Set([...lines].sort((a, b) => size(b) - size(a)).slice(0, MOST_LINES));
  return { lines: lines.filter((line) => kept.has(line)), hint: `${hint} The ${MOST_LINES} largest of ${lines.length}; the table has all.` };
}

/** The same of lines whose looks mean nothing, such as those of drivers: each has one of its own. */
export function apart(lines: Omit<Line, "colour">[], hint: string): { lines: Line[]; hint: string } {
  const chosen = readable(lines.map((line) => ({ ...line, colour: 0 })), hint);
  const colours = chosen.lines.map((_, at) => at % 8);
  const dashes = dashesOf(colours);
  return { ...chosen, lines: chosen.lines.map((line, at) => ({ ...line, colour: colours[at]!, ...dashes[at] })) };
}

/** Operations whose distributions are drawn: those of most operations, until there are as many lines as can be read. */
function mostUsed(operations: OperationData[]): ReadonlySet<OperationData> {
  const drawn = new Set<OperationData>();
  let lines = 0;
  for (const one of [...operations].sort((a, b) => b.count - a.count)) {
    lines += one.distributions.filter(({ kind }) => kind !== "first_byte").length;
    if (lines > MOST_LINES) break;
    drawn.add(one);
  }
  return drawn;
}

function left(drawn: number, of: number): string {
  return drawn < of ? ` The ${drawn} of ${of} operations that there were most of; the table of figures has all.` : "";
}

/** Operations per second. */
export function throughput(stage: StageCourse): LineModel {
  const { time } = stage;
  const names = operationNames(stage.operations);
  const colours = operationColours(stage.operations);
  const dashes = dashesOf(colours);
  const lines: Line[] = [];
  stage.operations.forEach((operation, at) => {
    if (!time || !operation.series) return;
    lines.push({ name: names[at]!, colour: colours[at]!, ...dashes[at], points: rates(time, operation.series.count) });
  });
  return {
    ...over(stage), id: "throughput", title: "Throughput", unit: "per_s",
    ...readable(lines, "Successful operations per second."),
    empty: lines.length ? undefined : NOTHING,
  };
}

/** Body bytes per second; null where no operation moved any. */
export function bandwidth(stage: StageCourse): LineModel | null {
  const { time } = stage;
  const names = operationNames(stage.operations);
  const colours = operationColours(stage.operations);
  const dashes = dashesOf(colours);
  const lines: Line[] = [];
  stage.operations.forEach((operation, at) => {
    const bytes = operation.series?.bytes;
    if (!time || !bytes?.some((value) => value > 0)) return;
    lines.push({ name: names[at]!, colour: colours[at]!, ...dashes[at], points: rates(time, bytes) });
  });
  if (!lines.length) return null;
  return { ...over(stage), id: "bandwidth", title: "Bandwidth", unit: "bytes_per_s", ...readable(lines, "Body bytes of successful operations per second.") };
}

const KIND_NAMES: Record<string, string> = { response: "Response time", service: "Service time", first_byte: "Time to first byte" };

const KIND_HINTS: Record<string, string> = {
  response: "From the moment an operation was due to its end.",
  service: "From the moment an operation was sent to its end.",
  first_byte: "From the moment an operation was sent to the first byte of the answer.",
};

/** Percentiles of one operation over time. */
export function percentiles(stage: Pick<StageCourse, "time" | "phases" | "events">, operation: { name: string }, series: LatencySeries): LineModel {
  const { time } = stage;
  const length = time ? time.bin_s * series.every : 0;
  const line = (name: string, colour: number, values: (number | null)[], more: Partial<Line> = {}): Line => ({
    name, colour, points: time ? points(time, values, series.every) : [], ...more,
  });
  const lines = [
    line("median", 0, series.p50),
    line("95th percentile", 2, series.p95),
    line("99th percentile", 1, series.p99),
    line("greatest", 7, series.max, { thin: true, dash: "dotted" }),
  ].filter((one) => one.points.some(([, y]) => y !== null));
  const withheld = [["99th", series.p99], ["95th", series.p95]] as const;
  const missing = withheld.filter(([, values]) => values.every((value) => value === null)).map(([name]) => name);
  const why = missing.length ? ` Too few operations per point for the ${missing.reverse().join(" and ")} percentile.` : "";
  return {
    ...over(stage), id: `times-${series.kind}`, unit: "ms", lines, mayLog: true,
    title: `${KIND_NAMES[series.kind] ?? series.kind} of ${operation.name} over time`,
    hint: `${KIND_HINTS[series.kind] ?? ""} One point per ${Number(length.toFixed(2))} s.${why}`,
    empty: lines.length ? undefined : "No operation succeeded.",
  };
}

/** Name of the uncertain end of a distribution; it goes with its line. */
export function tailName(name: string): string {
  return `${name}, fewer than 10 beyond`;
}

/** Response times of all operations on a percentile axis; service times too where they differ. */
export function distributions(stage: StageData): LineModel {
  const names = operationNames(stage.operations);
  const colours = operationColours(stage.operations);
  const lines: Line[] = [];
  const drawn = mostUsed(stage.operations);
  stage.operations.forEach((operation, at) => {
    if (!drawn.has(operation)) return;
    for (const one of operation.distributions) {
      if (one.kind === "first_byte") continue;
      const all: [number, number][] = one.nines.map((x, i) => [x, one.ms[i]!]);
      const name = one.kind === "service" ? `${names[at]}, service` : names[at]!;
      const dash = one.kind === "service" ? "dashed" : "solid";
      lines.push({ name, colour: colours[at]!, dash, points: all.slice(0, Math.max(1, one.supported)) });
      const rest = all.slice(Math.max(0, one.supported - 1));
      if (rest.length > 1) {
        lines.push({ name: tailName(name), colour: colours[at]!, dash: "dotted", thin: true, continues: true, points: rest });
      }
    }
  });
  return {
    kind: "lines", x: "nines", id: "distribution", title: "Response time by percentile", unit: "ms", log: true, mayLog: true, lines,
    hint: `How long the fastest share of operations took at most. Dotted: fewer than ten operations lie beyond, so chance decides.${left(drawn.size, stage.operations.length)}`,
    empty: lines.length ? undefined : "No operation succeeded in the measured window, or nobody measured its times.",
  };
}

/** Response times of one operation over time as a heat map. */
export function heat(stage: Pick<StageCourse, "time" | "phases" | "events">, operation: Pick<OperationData, "name" | "heat">): HeatModel {
  const { time } = stage;
  const map = operation.heat;
  const title = `Response times of ${operation.name} as a heat map`;
  const common = { kind: "heat" as const, id: "heat", title, hint: "Each column is a moment; the stronger a cell, the more operations took that long (logarithmic)." };
  if (!time || !map) return { ...common, cells: [], most: 1, yFrom: 0, yTo: 1, xEnd: 1, empty: NOTHING };
  const edge = (r: number) => (map.first_row + r) / map.rows_per_decade;
  const cells: HeatModel["cells"] = [];
  for (let i = 0; i + 2 < map.cells.length; i += 3) {
    const [column, r, count] = [map.cells[i]!, map.cells[i + 1]!, map.cells[i + 2]!];
    cells.push([tidy(from(time, column, map.every)), tidy(to(time, column, map.every)), edge(r), edge(r + 1), count]);
  }
  const most = cells.reduce((max, cell) => Math.max(max, cell[4]), 1);
  const [low, high] = [edge(0), edge(map.rows)];
  const wide = high - low > 0.8;
  return {
    ...common, cells, most, xEnd: time.end_s, phases: phases(stage), marks: marks(stage),
    yFrom: wide ? Math.floor(low * 4) / 4 : low - 0.1,
    yTo: wide ? Math.ceil(high * 4) / 4 : high + 0.1,
  };
}

/** Failures per second by class, all operations together; null where there were none, or none is known over time. */
export function errors(stage: StageCourse): LineModel | null {
  const { time } = stage;
  const failed = stage.operations.some((one) => one.series?.failures?.some((count) => count > 0));
  if (!time || !failed) return null;
  const classes = new Map<string, number[]>();
  for (const operation of stage.operations) {
    for (const [label, counts] of Object.entries(operation.series?.errors ?? {})) {
      const sum = classes.get(label) ?? new Array<number>(time.bins).fill(0);
      counts?.forEach((count, at) => (sum[at] = (sum[at] ?? 0) + count));
      classes.set(label, sum);
    }
  }
  const total = (counts: number[]) => counts.reduce((sum, count) => sum + count, 0);
  const sorted = [...classes.entries()].sort((a, b) => total(b[1]) - total(a[1]));
  const colours = [1, 3, 4, 5, 0, 2, 6, 7];
  const lines = sorted.map(([name, counts], at): Line => ({ name, colour: colours[at % 8]!, points: rates(time, counts), stack: true }));
  return {
    ...over(stage), id: "errors", title: "Failures over time", unit: "per_s", lines,
    hint: "Failed operations per second by class, added up.",
  };
}

/** Operations in flight; null where the archive does not have it. */
export function inFlight(stage: StageCourse): LineModel | null {
  const { time } = stage;
  const names = operationNames(stage.operations);
  const colours = operationColours(stage.operations);
  const dashes = dashesOf(colours);
  const lines: Line[] = [];
  stage.operations.forEach((operation, at) => {
    const values = operation.series?.in_flight;
    if (time && values) lines.push({ name: names[at]!, colour: colours[at]!, ...dashes[at], points: points(time, values.map((value, i) => (stub(time, i) ? null : value))) });
  });
  if (!lines.length) return null;
  return { ...over(stage), id: "in-flight", title: "In flight", unit: "count", ...readable(lines, "Mean number of operations under way.") };
}

/** Arrivals of an open loop that were dropped or had to wait; null where there were none. */
export function schedule(stage: StageCourse): LineModel | null {
  const { time } = stage;
  if (!time) return null;
  const sum = (key: "missed" | "delayed") => {
    const all = stage.operations.map((one) => one.series?.[key]).filter((one): one is number[] => Boolean(one));
    return Array.from({ length: time.bins }, (_, at) => all.reduce((total, one) => total + (one[at] ?? 0), 0));
  };
  const lines = ([["dropped", "missed", 1], ["had to wait", "delayed", 0]] as const)
    .map(([name, key, colour]): Line => ({ name, colour, points: rates(time, sum(key)) }))
    .filter((line) => line.points.some(([, y]) => (y ?? 0) > 0));
  if (!lines.length) return null;
  return { ...over(stage), id: "schedule", title: "Arrivals that found no free worker", unit: "per_s", lines, hint: "Per second: arrivals that were dropped, and arrivals that had to wait." };
}

/** Throughput of each driver; null with fewer than two. */
export function drivers(stage: StageCourse): LineModel | null {
  const { time } = stage;
  const sums = new Map<string, number[]>();
  for (const operation of stage.operations) {
    for (const [driver, counts] of Object.entries(operation.series?.drivers ?? {})) {
      const sum = sums.get(driver) ?? [];
      counts?.forEach((count, at) => (sum[at] = (sum[at] ?? 0) + count));
      sums.set(driver, sum);
    }
  }
  if (!time || sums.size < 2) return null;
  const lines = [...sums.entries()].map(([name, counts]) => ({ name, points: rates(time, counts) }));
  return { ...over(stage), id: "drivers", title: "Throughput by driver", unit: "per_s", ...apart(lines, "Successful operations of all kinds per second.") };
}

/** How the machine that made the load did. */
export function clientCharts(stage: { time: TimeAxis | null; phases: PhaseSpan[]; events?: EventMark[] }, client: { driver: string; series: ClientSeries | null }): ChartModel[] {
  const { time } = stage;
  const { series } = client;
  if (!time || !series) return [];
  const line = (name: string, colour: number, values: (number | null)[]): Line => ({ name, colour, points: points(time, values) });
  const known = (lines: Line[]) => lines.filter((one) => one.points.some(([, y]) => y !== null));
  const moved = (lines: Line[]) => (lines.some((one) => one.points.some(([, y]) => (y ?? 0) > 0)) ? lines : []);
  const charts: LineModel[] = [
    {
      ...over(stage), id: `cpu-${client.driver}`, title: `Processors of ${client.driver}`, unit: "share",
      hint: "Share of time: busiest load thread, whole machine, longest wait for a processor, time taken by the hypervisor.",
      lines: known([
        line("busiest load thread", 0, series.thread_busy_max),
        line("machine", 7, series.machine_busy),
        line("waiting for a processor", 1, series.run_queue_wait_max),
        line("stolen", 3, series.steal),
      ]),
    },
    {
      ...over(stage), id: `pause-${client.driver}`, title: `Longest pause of ${client.driver}`, unit: "ms",
      hint: "How much longer than asked a sleep of 1 ms took: what the machine itself adds to any time.",
      lines: known([line("longest pause", 1, series.pause_max_ms)]),
    },
    {
      ...over(stage), id: `net-${client.driver}`, title: `Network of ${client.driver}`, unit: "bytes_per_s",
      hint: "All interfaces of the machine but the loopback.",
      lines: moved(known([line("received", 0, series.rx_bytes_per_s), line("sent", 1, series.tx_bytes_per_s)])),
    },
    {
      ...over(stage), id: `tcp-${client.driver}`, title: `Segments sent again by ${client.driver}`, unit: "count",
      hint: "TCP segments that had to be repeated, per point.",
      lines: moved(known([line("sent again", 1, series.tcp_retransmitted)])),
    },
  ];
  return charts.filter((chart) => chart.lines.length > 0);
}
