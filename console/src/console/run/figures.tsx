// Figures of a running stage: of its last interval, and since its measured window began.
import { operationNames } from "../../charts/stage";
import type { IntervalRow, LostDriver } from "../../data/api";
import { exact, grouped, share, short } from "../../format";
import { OperationsTable, type FigureRow } from "../../report/OperationsTable";
import type { LiveStage } from "../live/series";

function Card(props: { label: string; value: string; title?: string | undefined; line: string; bad?: boolean }) {
  return (
    <div className="card">
      <h3>{props.label}</h3>
      <p className="big" title={props.title}>{props.value}</p>
      <p className={props.bad ? "failed" : ""}>{props.line}</p>
    </div>
  );
}

/** Places in `response_ms` of an interval. */
const [P50, P99] = [1, 4];

/** What a driver that is lost would have done is missed, too, and counted nowhere. */
export function missed(count: number, lost: LostDriver[]): string {
  const [first] = lost;
  if (first) {
    const part = lost.reduce((sum, one) => sum + one.share, 0);
    const who = lost.length === 1 ? `driver ${first.driver}` : `${lost.length} drivers`;
    return `and ${share(part)} of the load, of ${who}, lost after ${short(Math.min(...lost.map((one) => one.from_s)), "s")}`;
  }
  return count > 0 ? "no worker was free" : "every arrival was taken";
}

/** Always the same cards, so that nothing moves while the numbers do. */
export function Cards({ stage, lost }: { stage: LiveStage; lost: LostDriver[] }) {
  const rows = stage.lastRows;
  const last = (key: "count" | "bytes" | "in_flight") => rows.reduce((sum, row) => sum + row[key], 0);
  const total = (key: "count" | "failures" | "missed") =>
    stage.operations.reduce((sum, one) => (one.series[key] ?? []).reduce((all, value) => all + value, sum), 0);
  // Of two phases in one interval that of which there is more.
  const lead = rows.reduce<IntervalRow | null>((most, row) => (most === null || row.count > most.count ? row : most), null);
  const [p50, p99] = [lead?.response_ms?.[P50] ?? null, lead?.response_ms?.[P99] ?? null];
  const [count, failures] = [total("count"), total("failures")];
  const rate = last("count") / stage.lastS;
  const bytes = last("bytes") / stage.lastS;
  const inFlight = last("in_flight");
  return (
    <div className="cards live-cards">
      <Card label="Operations per second" value={short(rate, "per_s")} title={exact(rate, "per_s")} line={`${grouped(count)} so far`} />
      <Card label="Bandwidth" value={short(bytes, "bytes_per_s")} title={exact(bytes, "bytes_per_s")} line="of bodies" />
      <Card label={`Median${lead ? `, ${lead.operation}` : ""}`} value={short(p50, "ms")} title={exact(p50, "ms")} line={`p99 ${short(p99, "ms")}`} />
      <Card label="Failed" value={short(failures, "count")} title={exact(failures, "count")} line={count + failures > 0 ? share(failures / (count + failures)) : "nothing ended yet"} bad={failures > 0} />
      <Card label="Missed" value={short(total("missed"), "count")} line={missed(total("missed"), lost)} bad={total("missed") > 0 || lost.length > 0} />
      <Card label="In flight" value={short(inFlight, "count")} title={exact(inFlight, "count")} line="mean of the last interval" />
    </div>
  );
}

/** Longer tables begin closed. */
const MOST_OPEN = 12;

/** Sums of the measured window so far, by operation, driver and endpoint: the figures of the report, as they stand. */
export function SoFar({ stage }: { stage: LiveStage; drawn: number }) {
  const names = operationNames(stage.operations);
  const rows = stage.operations.map((one, at): FigureRow => ({ label: names[at]!, totals: one }));
  return (
    <>
      <h3>So far, measured window</h3>
      {stage.windowS === null && <p className="hint">It has not begun: what ends in the ramp-up is in the charts alone.</p>}
      <OperationsTable label="Sums by operation" first="operation" rows={rows} />
      {(["driver", "endpoint"] as const).map((by) => {
        const parts = stage.operations.flatMap((one, at) => one.parts.filter((part) => part.by === by).map((part) => ({ part, name: names[at]! })));
        if (parts.length === 0) return null;
        parts.sort((a, b) => a.part.label.localeCompare(b.part.label, "en", { numeric: true }));
        return (
          <details key={by} className="parts" open={parts.length <= MOST_OPEN}>
            <summary><h3>By {by}</h3></summary>
            <OperationsTable label={`Sums by ${by}`} first={by} rows={parts.map(({ part, name }): FigureRow => ({ label: `${part.label}, ${name}`, totals: part }))} />
          </details>
        );
      })}
    </>
  );
}
