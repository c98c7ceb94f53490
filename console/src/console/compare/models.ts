// From the data of several runs to charts that lay them over each other.
import type { Line, LineModel } from "../../charts/model";
import { operationNames } from "../../charts/stage";
import { valueOf } from "../../data/metric";
import { METRICS } from "../../data/metrics";
import type { CompareRow, Comparison } from "../../data/service";
import type { OperationData, ReportData, StageData } from "../../data/types";
import type { Unit } from "../../format";
import { figures, measured } from "../../report/figures";

/** A run with the stage that was chosen of it. */
export interface Side {
  id: string;
  name: string;
  data: ReportData;
  stage: StageData | undefined;
}

/** What the operations of a side are called: two works of its stage may have one of the same name. */
function namesOf(side: Side): string[] {
  return operationNames(side.stage?.operations ?? []);
}

/** Names of operations that at least one side has, first those that all have. */
export function operationsOf(sides: Side[]): string[] {
  const count = new Map<string, number>();
  for (const side of sides) for (const one of namesOf(side)) count.set(one, (count.get(one) ?? 0) + 1);
  return [...count].sort((a, b) => b[1] - a[1]).map(([name]) => name);
}

export function operationOf(side: Side, name: string): OperationData | undefined {
  return side.stage?.operations[namesOf(side).indexOf(name)];
}

export function labelOf(side: Side): string {
  return side.stage && measured(side.data.stages).length > 1 ? `${side.id} ${side.stage.name}` : side.id;
}

/** Response times of one operation, all sides on one percentile axis. */
export function cdfs(sides: Side[], operation: string): LineModel {
  const lines = sides.flatMap((side, at): Line[] => {
    const one = operationOf(side, operation)?.distributions.find((distribution) => distribution.kind === "response");
    if (!one) return [];
    const points = one.nines.map((x, i): [number, number] => [x, one.ms[i]!]);
    return [{ name: labelOf(side), colour: at % 8, points, dash: DASHES[Math.floor(at / 8) % 3]! }];
  });
  return {
    kind: "lines", x: "nines", id: "cdf", title: `Response time of ${operation} by percentile`, unit: "ms", log: true, mayLog: true, lines,
    hint: "How long the fastest share of operations took at most; lower is faster.", empty: lines.length ? undefined : "None of these runs has times of this operation.",
  };
}

const DASHES = ["solid", "dashed", "dotted"] as const;

/** Throughput of all measured stages against their workers; null where no run has two. */
export function scaling(sides: Side[]): LineModel | null {
  const lines = sides.map((side, at): Line => {
    const best = new Map<number, number>();
    for (const stage of measured(side.data.stages)) {
      const { workers, throughput } = figures(stage);
      if (workers > 0 && throughput !== null) best.set(workers, Math.max(best.get(workers) ?? 0, throughput));
    }
    return { name: side.id, colour: at % 8, points: [...best].sort((a, b) => a[0] - b[0]) };
  });
  if (!lines.some((line) => line.points.length > 1)) return null;
  return {
    kind: "lines", x: "workers", id: "scaling", title: "Throughput against workers", unit: "per_s", lines,
    hint: "Successful operations per second of each measured stage; of several with as many workers the best.",
  };
}

export interface Figure {
  name: string;
  unit: Unit;
  more: boolean;
  of(one: OperationData): number | null;
}

/** Figures side by side; `more`: more is better. A rate of no bytes is none. */
export const FIGURES: Figure[] = METRICS.flatMap((metric) =>
  metric.sideBySide === null
    ? []
    : [{ name: metric.sideBySide, unit: metric.unit, more: metric.more, of: (one) => (metric.unit === "bytes_per_s" ? valueOf(metric, one) || null : valueOf(metric, one)) }]);

/** Relative to the first side; null where one of them has no value. */
export function ratio(first: number | null, other: number | null): number | null {
  return first === null || other === null || first === 0 ? null : other / first;
}

/** Rows that differ first, the largest change at the top; then those that do not, in their order. */
export function differingFirst(rows: CompareRow[]): CompareRow[] {
  const differs = (row: CompareRow) => row.outcome === "better" || row.outcome === "worse";
  const size = (row: CompareRow) => (row.ratio === null || row.ratio <= 0 ? 0 : Math.abs(Math.log(row.ratio)));
  return [...rows.filter(differs).sort((a, b) => size(b) - size(a)), ...rows.filter((row) => !differs(row))];
}

/** Notes that each of several pairs has: they are said once. */
export function sharedNotes(comparison: Comparison): string[] {
  const [first, ...others] = comparison.pairs;
  return others.length === 0 ? [] : first!.warnings.filter((note) => others.every((pair) => pair.warnings.includes(note)));
}
