// Figures of operations or of their parts (sizes, endpoints, drivers), as the table of figures lists them.
import { DataTable, type Column } from "../components/DataTable";
import { boundOf, intervalOf, sides, valueOf, type Metric } from "../data/metric";
import { METRICS } from "../data/metrics";
import type { OperationResult } from "../data/results";
import type { GroupData } from "../data/types";
import { exact, grouped, short } from "../format";
import { hasUncountedFailures } from "./figures";
import { Failed } from "./Overview";

export interface FigureRow {
  label: string;
  totals: OperationResult | GroupData;
  workers?: number | null;
}

/** Columns that stand there whether or not some row has a value. */
const ALWAYS = new Set(["count", "failures", "throughput_per_s", "response_ms.mean", "response_ms.max"]);

/** A rate of no bytes is none. */
function value(metric: Metric, row: FigureRow): number | null {
  const found = valueOf(metric, row.totals);
  return metric.unit === "bytes_per_s" ? found || null : found;
}

function column(metric: Metric): Column<FigureRow> {
  const head = metric.page ?? "";
  if (metric.id === "failures") {
    return {
      head,
      cell: ({ totals }) => {
        if (hasUncountedFailures(totals)) return <Failed share={1} />;
        const ended = totals.count + totals.failures;
        return <Failed share={ended > 0 ? totals.failures / ended : null} />;
      },
      exact: ({ totals }) => hasUncountedFailures(totals) ? "nobody counted how many" : `${grouped(totals.failures)} of ${grouped(totals.count + totals.failures)}`,
    };
  }
  const withheld = (row: FigureRow) => (metric.id.startsWith("response_ms.") ? (row.totals.response_ms?.withheld ?? "no times") : "");
  return {
    head,
    title: metric.help,
    cell: (row) => {
      const found = value(metric, row);
      const text = metric.unit === "count" && found !== null && Number.isInteger(found) ? grouped(found) : short(found, metric.unit);
      const within = sides(metric, found, boundOf(metric, row.totals));
      return within === null ? text : <>{text}<br /><small className="soft">{within}</small></>;
    },
    exact: (row) => {
      const found = value(metric, row);
      if (found === null) return withheld(row);
      const bound = boundOf(metric, row.totals);
      return bound === null ? exact(found, metric.unit) : `${exact(found, metric.unit)}, ${intervalOf(metric, bound)}`;
    },
  };
}

export function OperationsTable(props: { label: string; first: string; rows: FigureRow[] }) {
  const { label, first, rows } = props;
  const anyWorkers = rows.some((row) => row.workers !== undefined && row.workers !== null);
  const shown = METRICS.filter((metric) => metric.page !== null && (ALWAYS.has(metric.id) || rows.some((row) => value(metric, row) !== null)));
  const columns: Column<FigureRow>[] = [
    { head: first, text: true, cell: (row) => row.label },
    ...(anyWorkers ? [{ head: "workers", cell: (row: FigureRow) => short(row.workers, "count") }] : []),
    ...shown.map(column),
  ];
  return <DataTable label={label} columns={columns} rows={rows} keyOf={(row, at) => `${row.label}-${at}`} />;
}
