// A running stage as the report would show it: its bins as the controller tells them, a part at a time. Nothing is computed here;
// what a chart shows while a run goes on is what it shows afterwards.
import type { Interval, IntervalRow } from "../../data/api";
import type { ClientNews, ClientSeries, CountSeries, EventMark, HeatMap, HeatNews, LatencyNews, LatencySeries, NodeChartData, NodeGap, OperationNews, PartNews, PhaseSpan, SeriesNews, TimeAxis } from "../../data/types";

/** One operation with all of its course that was told. */
export interface LiveOperation extends Omit<OperationNews, "latency" | "heat"> {
  latency: LatencySeries[];
  heat: HeatMap | null;
}

export class LiveStage {
  time: TimeAxis | null = null;
  phases: PhaseSpan[] = [];
  /** Seconds of the measured window that are over. */
  windowS: number | null = null;
  /** Drivers and endpoints without lines of their own. */
  leftOut = 0;
  operations: LiveOperation[] = [];
  /** The machines that make the load. */
  clients: ClientNews[] = [];
  /** The machines of the store, by role. */
  node_charts: NodeChartData[] = [];
  /** When they did not answer. */
  node_gaps: NodeGap[] = [];
  /** What happened, from the archive so far. */
  events: EventMark[] = [];
  /** Rows of the last interval, of all drivers and endpoints together. */
  lastRows: IntervalRow[] = [];
  lastS = 1;
  private lastEndS = 0;

  constructor(readonly id: string) {}

  get endS(): number {
    return this.time?.end_s ?? 0;
  }

  /** The figures of the last interval; false for one that was here before. */
  interval(interval: Interval): boolean {
    if (interval.end_s <= this.lastEndS) return false;
    this.lastEndS = interval.end_s;
    this.lastS = Math.max(1e-9, interval.end_s - interval.start_s);
    this.lastRows = interval.rows.filter((row) => row.driver === null && row.endpoint === null);
    return true;
  }

  /** Bins that changed, or all of them. */
  add(news: SeriesNews): void {
    if (news.from > 0 && this.time === null) return;
    this.time = news.time;
    this.phases = news.phases;
    this.windowS = news.window_s;
    this.leftOut = news.left_out;
    this.clients = news.clients.map((one) => {
      const before = news.from > 0 ? this.clients.find((known) => known.driver === one.driver) : undefined;
      return { driver: one.driver, series: machine(before?.series, one.series, news.from) };
    });
    this.node_gaps = news.node_gaps;
    this.node_charts = news.node_charts.map((one) => nodeChart(this.node_charts.find((known) => known.id === one.id), one));
    this.operations = news.operations.map((one, at) => {
      const before = news.from > 0 ? this.operations[at] : undefined;
      return {
        ...one,
        series: counts(before?.series, one.series, news.from),
        latency: one.latency.map((next) => times(before?.latency.find((known) => known.kind === next.kind), next)),
        heat: one.heat && heat(before?.heat ?? null, one.heat),
        parts: one.parts.map((next) => part(before?.parts.find((known) => known.by === next.by && known.label === next.label), next)),
      };
    });
  }
}

/** The first `from` values that were known, and what was told now. */
function joined<T>(before: T[] | null | undefined, from: number, told: T[], missing: T): T[] {
  const kept = (before ?? []).slice(0, from);
  while (kept.length < from) kept.push(missing);
  return kept.concat(told);
}

function machine(before: ClientSeries | undefined, told: ClientSeries, from: number): ClientSeries {
  const joinedAll = Object.entries(told).map(([key, values]) => [key, joined(before?.[key as keyof ClientSeries], from, values, null)]);
  return Object.fromEntries(joinedAll) as unknown as ClientSeries;
}

/** A chart whose lines became others is told from its beginning. */
function nodeChart(before: NodeChartData | undefined, told: NodeChartData): NodeChartData {
  const lines = told.lines.map((line, at) => ({ ...line, values: joined(before?.lines[at]?.values, told.from, line.values, null) }));
  return { ...told, from: 0, lines };
}

function counts(before: CountSeries | undefined, told: CountSeries, from: number): CountSeries {
  const some = (key: "failures" | "bytes" | "missed" | "delayed" | "in_flight") => told[key] && joined(before?.[key], from, told[key], 0);
  const named = (key: "errors" | "drivers") =>
    Object.fromEntries(Object.entries(told[key]).map(([name, values]) => [name, joined(before?.[key][name], from, values ?? [], 0)]));
  return {
    count: joined(before?.count, from, told.count, 0),
    failures: some("failures"), bytes: some("bytes"), missed: some("missed"), delayed: some("delayed"), in_flight: some("in_flight"),
    errors: named("errors"), drivers: named("drivers"),
  };
}

function times(before: LatencySeries | undefined, { from, ...told }: LatencyNews): LatencySeries {
  const values = (key: "p50" | "p95" | "p99" | "max") => joined(before?.[key], from, told[key], null);
  return { ...told, count: joined(before?.count, from, told.count, 0), p50: values("p50"), p95: values("p95"), p99: values("p99"), max: values("max") };
}

/** The columns before those that were told stay; rows count from the least time, which may have become another. */
function heat(before: HeatMap | null, { from, ...told }: HeatNews): HeatMap {
  const cells: number[] = [];
  if (before && from > 0) {
    const lower = before.first_row - told.first_row;
    for (let at = 0; at + 2 < before.cells.length && before.cells[at]! < from; at += 3) cells.push(before.cells[at]!, before.cells[at + 1]! + lower, before.cells[at + 2]!);
  }
  return { ...told, cells: cells.concat(told.cells) };
}

function part(before: PartNews | undefined, told: PartNews): PartNews {
  const { from } = told;
  return {
    ...told, from: 0,
    series_count: joined(before?.series_count, from, told.series_count, 0),
    series_bytes: joined(before?.series_bytes, from, told.series_bytes, 0),
    p99: joined(before?.p99, from, told.p99, null),
  };
}
