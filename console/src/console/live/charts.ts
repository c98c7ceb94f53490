// The charts of a running stage: those of the report, and lines of single drivers and endpoints.
import type { ChartModel, HeatModel, LineModel } from "../../charts/model";
import * as charts from "../../charts/stage";
import type { PartNews } from "../../data/types";
import type { LiveOperation, LiveStage } from "./series";

export type Split = "operation" | "driver" | "endpoint";

const NOTHING_YET = "Nothing measured yet.";

function empty(stage: LiveStage, id: string, title: string, unit: LineModel["unit"], text: string): LineModel {
  return {
    ...charts.over(stage), id, title, unit, lines: [], hint: "", empty: stage.time === null ? NOTHING_YET : text,
  };
}

/** Parts of all operations by name, added up. */
function byPart(stage: LiveStage, split: "driver" | "endpoint", hint: string, of: (part: PartNews) => number[]): Pick<LineModel, "lines" | "hint"> {
  const { time } = stage;
  if (!time) return { lines: [], hint };
  const all = stage.operations.flatMap((one) => one.parts.filter((part) => part.by === split));
  const every = all[0]?.every ?? 1;
  const groups = new Map<string, number[]>();
  for (const part of all) {
    const sum = groups.get(part.label) ?? [];
    of(part).forEach((value, at) => (sum[at] = (sum[at] ?? 0) + value));
    groups.set(part.label, sum);
  }
  return charts.apart([...groups].map(([name, values]) => ({ name, points: charts.rates(time, values, every) })), hint);
}

/** Shown for the whole of the live page, also while there is nothing: so that nothing moves when it comes. */
export function common(stage: LiveStage, split: Split): LineModel[] {
  const [throughput, bandwidth] = split === "operation"
    ? [charts.throughput(stage), charts.bandwidth(stage)]
    : [
        { ...charts.throughput(stage), title: `Throughput by ${split}`, ...byPart(stage, split, "Successful operations per second.", (part) => part.series_count) },
        { ...empty(stage, "bandwidth", `Bandwidth by ${split}`, "bytes_per_s", ""), ...byPart(stage, split, "Body bytes of successful operations per second.", (part) => part.series_bytes), empty: undefined },
      ];
  return [
    stage.time === null ? { ...throughput, empty: NOTHING_YET } : throughput,
    bandwidth ?? empty(stage, "bandwidth", "Bandwidth", "bytes_per_s", "No bytes of bodies so far."),
    charts.errors(stage) ?? empty(stage, "errors", "Failures over time", "per_s", "Nothing failed so far."),
    charts.schedule(stage) ?? empty(stage, "schedule", "Arrivals that found no free worker", "per_s", "No arrival was missed so far."),
    charts.inFlight(stage) ?? empty(stage, "in-flight", "In flight", "count", NOTHING_YET),
  ];
}

/** Percentiles of one operation over time: of its response time, and then of what else is known. */
export function percentiles(stage: LiveStage, operation: LiveOperation | undefined): [LineModel, LineModel[]] {
  const all = operation ? operation.latency.map((one) => charts.percentiles(stage, operation, one)) : [];
  const response = all.find((one) => one.id === "times-response");
  const name = operation?.name ?? "an operation";
  return [
    response ?? empty(stage, "times-response", `Response time of ${name} over time`, "ms", "No operation succeeded so far."),
    all.filter((one) => one !== response),
  ];
}

/** A percentile of each driver or endpoint. */
export function percentileBy(stage: LiveStage, split: "driver" | "endpoint", operation: LiveOperation | undefined): LineModel {
  const { time } = stage;
  const parts = operation?.parts.filter((part) => part.by === split) ?? [];
  const lines = time ? parts.map((part) => ({ name: part.label, points: charts.points(time, part.p99, part.every) })) : [];
  const known = lines.some((line) => line.points.some(([, y]) => y !== null));
  const length = time ? Number((time.bin_s * (parts[0]?.every ?? 1)).toFixed(2)) : 0;
  return {
    ...charts.over(stage), ...charts.apart(lines, `From the moment an operation was due to its end. One point per ${length} s.`),
    id: `p99-${split}`, unit: "ms", mayLog: true, title: `99th percentile of ${operation?.name ?? "an operation"} by ${split}`,
    empty: known ? undefined : "Too few operations for a 99th percentile so far.",
  };
}

/** How the machine of one driver does, or of the first. */
export function clients(stage: LiveStage, driver: string | null): ChartModel[] {
  const one = stage.clients.find((client) => client.driver === driver) ?? stage.clients[0];
  return one ? charts.clientCharts(stage, one) : [];
}

/** Response times of one operation over time as a heat map. */
export function heat(stage: LiveStage, operation: LiveOperation | undefined): HeatModel {
  const model = charts.heat(stage, operation ?? { name: "operations", heat: null });
  return model.cells.length ? model : { ...model, empty: NOTHING_YET };
}
