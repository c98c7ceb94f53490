// A row of the table of figures (`metrics.ts`), and how a page reads it.
import { short, type Unit } from "../format";
import type { Bound, OperationResult } from "./results";
import type { GroupData } from "./types";

export interface Metric {
  /** Its name in `run.json`; a dot leads into a distribution. */
  id: string;
  unit: Unit;
  /** More is better. */
  more: boolean;
  title: string;
  help: string;
  /** Head of its column in tables; null = it has none. */
  page: string | null;
  /** Its name where runs stand side by side; null = it does not. */
  sideBySide: string | null;
}

/** Its value for an operation or a part of one; null where it is not known. */
export function valueOf(metric: Metric, one: OperationResult | GroupData): number | null {
  if (metric.id === "error_rate") return one.count + one.failures > 0 ? one.failures / (one.count + one.failures) : null;
  const measured = "metrics" in one ? one.metrics?.[metric.id] : undefined;
  const below = (value: unknown, name: string): unknown => (typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined);
  const value = measured ?? metric.id.split(".").reduce(below, one as unknown);
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** Between which values a figure lies; null where nobody knows. */
export function boundOf(metric: Metric, one: OperationResult | GroupData): Bound | null {
  return ("bounds" in one ? one.bounds?.[metric.id] : undefined) ?? null;
}

/** `+0.2 ms −0.4 ms` behind a value; nothing for shares, whose interval is said on hover. */
export function sides(metric: Metric, value: number | null, bound: Bound | null): string | null {
  if (value === null || bound === null || metric.unit === "share") return null;
  if (bound.does_not_hold) return "does not hold";
  if (bound.low === null || bound.high === null) return null;
  return `+${short(Math.max(0, bound.high - value), metric.unit)} \u2212${short(Math.max(0, value - bound.low), metric.unit)}`;
}

/** The interval in words, with what widens it. */
export function intervalOf(metric: Metric, bound: Bound): string {
  if (bound.does_not_hold) return `does not hold: ${bound.does_not_hold}`;
  const cause = bound.cause === null ? "" : `; widened most by: ${bound.cause.replaceAll("_", " ")}`;
  return `between ${short(bound.low, metric.unit)} and ${short(bound.high, metric.unit)}${cause}`;
}
