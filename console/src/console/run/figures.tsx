// Figures of a running stage: of its last interval, and since its measured window began.
import { DataTable, type Column } from "../../components/DataTable";
import { exact, grouped, share, short } from "../../format";
import { namesOf } from "../live/charts";
import { quantile } from "../live/heat";
import { TIMES, type LiveStage, type Series } from "../live/series";

function Card(props: { label: string; value: string; title?: string | undefined; line: string; bad?: boolean }) {
  return (
    <div className="card">
      <h3>{props.label}</h3>
      <p className="big" title={props.title}>{props.value}</p>
      <p className={props.bad ? "failed" : ""}>{props.line}</p>
    </div>
  );
}

const ms = (value: number | undefined) => (value === undefined || Number.isNaN(value) ? null : value);

/** Always the same cards, so that nothing moves while the numbers do. */
export function Cards({ stage }: { stage: LiveStage }) {
  const all = stage.operations();
  const bin = stage.used - 1;
  const seconds = bin < 0 ? 1 : Math.max(1e-9, stage.to[bin]! - stage.from[bin]!);
  const last = (of: (one: Series) => ArrayLike<number>) => (bin < 0 ? 0 : all.reduce((sum, one) => sum + of(one)[bin]!, 0));
  const total = (key: "count" | "failures" | "missed") => all.reduce((sum, one) => sum + one.totals.all[key], 0);
  const lead = [...all].sort((a, b) => b.totals.all.count - a.totals.all.count)[0];
  const p50 = lead && bin >= 0 ? ms(lead.time(bin, TIMES.p50)) : null;
  const p99 = lead && bin >= 0 ? ms(lead.time(bin, TIMES.p99)) : null;
  const [count, failures] = [total("count"), total("failures")];
  const rate = last((one) => one.count) / seconds;
  const bytes = last((one) => one.bytes) / seconds;
  const inFlight = last((one) => one.inFlight);
  return (
    <div className="cards live-cards">
      <Card label="Operations per second" value={short(rate, "per_s")} title={exact(rate, "per_s")} line={`${grouped(count)} so far`} />
      <Card label="Bandwidth" value={short(bytes, "bytes_per_s")} title={exact(bytes, "bytes_per_s")} line="of bodies" />
      <Card label={`Median${lead ? `, ${lead.operation}` : ""}`} value={short(p50, "ms")} title={exact(p50, "ms")} line={`p99 ${short(p99, "ms")}`} />
      <Card label="Failed" value={short(failures, "count")} title={exact(failures, "count")} line={count + failures > 0 ? share(failures / (count + failures)) : "nothing ended yet"} bad={failures > 0} />
      <Card label="Missed" value={short(total("missed"), "count")} line={total("missed") > 0 ? "no worker was free" : "every arrival was taken"} bad={total("missed") > 0} />
      <Card label="In flight" value={short(inFlight, "count")} title={exact(inFlight, "count")} line="mean of the last interval" />
    </div>
  );
}

interface Row {
  label: string;
  one: Series;
}

const PARTS: [string, (row: Row) => string | null][] = [["driver", (row) => row.one.driver], ["endpoint", (row) => row.one.endpoint]];

/** Longer tables begin closed. */
const MOST_OPEN = 12;

/** Sums of the window so far (of all of it, before the window began), by operation, driver and endpoint. */
export function SoFar({ stage }: { stage: LiveStage; drawn: number }) {
  const which = stage.windowS > 0 ? "window" : "all";
  const seconds = which === "window" ? stage.windowS : Math.max(1e-9, stage.endS);
  const operations = stage.operations();
  const names = namesOf(operations);
  const columns = (first: string): Column<Row>[] => [
    { head: first, text: true, cell: (row) => row.label },
    { head: "operations", cell: (row) => grouped(row.one.totals[which].count) },
    {
      head: "failed",
      cell: ({ one }) => {
        const { count, failures } = one.totals[which];
        return <span className={failures > 0 ? "failed" : ""}>{count + failures > 0 ? share(failures / (count + failures)) : "–"}</span>;
      },
      exact: ({ one }) => grouped(one.totals[which].failures),
    },
    { head: "op/s", cell: ({ one }) => short(one.totals[which].count / seconds, "per_s"), exact: ({ one }) => exact(one.totals[which].count / seconds, "per_s") },
    { head: "bandwidth", cell: ({ one }) => short(one.totals[which].bytes / seconds || null, "bytes_per_s"), exact: ({ one }) => exact(one.totals[which].bytes / seconds, "bytes_per_s") },
    ...([["median", 0.5], ["p95", 0.95], ["p99", 0.99]] as const).map(([head, q]) => ({
      head: `${head} ≈`,
      title: "From classes of response times: within 10 %. The report has it exactly.",
      cell: ({ one }: Row) => short(ms(quantile(one.classes[which], 0, q)), "ms"),
    })),
    { head: "missed", cell: ({ one }) => grouped(one.totals[which].missed) },
  ];
  const rows = operations.map((one, at): Row => ({ label: names[at]!, one }));
  return (
    <>
      <h3>So far{which === "window" ? ", measured window" : ", before the measured window"}</h3>
      <DataTable label="Sums by operation" columns={columns("operation")} rows={rows} keyOf={(row) => row.label} />
      {PARTS.map(([word, of]) => {
        const parts = stage.parts(word as "driver" | "endpoint").map((one): Row => ({ label: `${one[word as "driver" | "endpoint"]}, ${one.operation}`, one }));
        if (parts.length === 0) return null;
        parts.sort((a, b) => (of(a) ?? "").localeCompare(of(b) ?? "", "en", { numeric: true }));
        return (
          <details key={word} className="parts" open={parts.length <= MOST_OPEN}>
            <summary><h3>By {word}</h3></summary>
            <DataTable label={`Sums by ${word}`} columns={columns(word)} rows={parts} keyOf={(row) => row.label} />
          </details>
        );
      })}
    </>
  );
}
