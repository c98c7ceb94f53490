// A row of the table of figures (`metrics.ts`), and how a page reads it.
import type { Unit } from "../format";
import type { OperationResult } from "./results";
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
