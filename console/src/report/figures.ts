// Headline figures of a stage: sums over its operations, never means of percentiles.
import type { OperationData, StageData } from "../data/types";

export interface StageFigures {
  count: number;
  failures: number;
  /** Failures of all that ended, 0..1; null when nothing ended, or when not all failures were counted. */
  failedShare: number | null;
  /** Operations of which all or nearly all failed that ended, and how many did is not known. */
  uncounted: OperationData[];
  throughput: number | null;
  bandwidth: number | null;
  inFlight: number | null;
  workers: number;
  missed: number;
  delayed: number;
  unfinished: number;
  intended: number | null;
}

function total(operations: OperationData[], value: (one: OperationData) => number | null): number | null {
  const known = operations.map(value).filter((one): one is number => one !== null);
  return known.length ? known.reduce((sum, one) => sum + one, 0) : null;
}

/** The same of rates: without that of an operation that was done there is no sum. */
function sum(operations: OperationData[], rate: (one: OperationData) => number | null): number | null {
  return operations.some((one) => one.count > 0 && rate(one) === null) ? null : total(operations, rate);
}

/** COSBench has a share of successes, and a share of 0 says not of how many. */
export function hasUncountedFailures(one: { failures: number; success_ratio?: number | null }): boolean {
  return one.failures === 0 && one.success_ratio === 0;
}

export function figures(stage: StageData): StageFigures {
  const { operations } = stage;
  const count = total(operations, (one) => one.count) ?? 0;
  const failures = total(operations, (one) => one.failures) ?? 0;
  const uncounted = operations.filter(hasUncountedFailures);
  const workers = new Map(operations.map((one) => [one.work, one.workers]));
  return {
    count,
    failures,
    failedShare: uncounted.length === 0 && count + failures > 0 ? failures / (count + failures) : null,
    uncounted,
    throughput: sum(operations, (one) => one.throughput_per_s),
    bandwidth: sum(operations, (one) => one.bandwidth_bytes_per_s),
    inFlight: total(operations, (one) => one.in_flight_mean),
    workers: [...workers.values()].reduce((sum, one) => sum + one, 0),
    missed: total(operations, (one) => one.missed) ?? 0,
    delayed: total(operations, (one) => one.delayed) ?? 0,
    unfinished: total(operations, (one) => one.unfinished) ?? 0,
    intended: total(operations, (one) => one.intended),
  };
}

/** The operations that a reader asks for first: most operations first, at most `most`. */
export function leading(stage: StageData, most: number): OperationData[] {
  const size = (one: OperationData) => one.count + one.failures;
  const chosen = [...stage.operations].sort((a, b) => size(b) - size(a)).slice(0, most);
  return stage.operations.filter((one) => chosen.includes(one));
}

/** Stages that measure something; all of them where none does. */
export function measured(stages: StageData[]): StageData[] {
  const ran = stages.filter((stage) => stage.operations.length > 0);
  const main = ran.filter((stage) => !stage.setup);
  return main.length ? main : ran;
}

const ARRIVALS: Record<string, string> = {
  closed: "closed loop",
  paced: "paced loop",
  open: "open loop",
  mixed: "closed and open loops",
};

/** `8 workers · closed loop · 15 s window`. */
export function conditions(stage: StageData, seconds: (s: number) => string): string {
  const { workers } = figures(stage);
  return [
    workers > 0 && `${workers} worker${workers === 1 ? "" : "s"}`,
    stage.arrival && ARRIVALS[stage.arrival],
    stage.window_s !== null && `${seconds(stage.window_s)} measured`,
  ]
    .filter(Boolean)
    .join(" · ");
}

/** The stage that an address names (`#stage=s2-main`); one that somebody typed may hold a per cent sign that stands for none. */
export function stageIn(hash: string): string {
  const word = hash.replace(/^#stage=/, "");
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}
