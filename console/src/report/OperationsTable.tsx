// Figures of operations or of their parts: sizes, endpoints, drivers.
import { DataTable, type Column } from "../components/DataTable";
import type { LatencyData, Totals } from "../data/types";
import { exact, grouped, short } from "../format";
import { Failed } from "./Overview";

export interface FigureRow {
  label: string;
  totals: Totals;
  times: LatencyData | null;
  workers?: number | null;
}

const PERCENTILES = [
  ["mean", "mean"], ["median", "p50"], ["p90", "p90"], ["p95", "p95"], ["p99", "p99"], ["p99.9", "p99_9"], ["max", "max"],
] as const;

export function OperationsTable(props: { label: string; first: string; rows: FigureRow[] }) {
  const { label, first, rows } = props;
  const anyBytes = rows.some((row) => row.totals.bytes > 0);
  const anyWorkers = rows.some((row) => row.workers !== undefined && row.workers !== null);
  const times = PERCENTILES.filter(([, key]) => key === "mean" || key === "max" || rows.some((row) => row.times?.[key] !== null));
  const columns: Column<FigureRow>[] = [
    { head: first, text: true, cell: (row) => row.label },
    ...(anyWorkers ? [{ head: "workers", cell: (row: FigureRow) => short(row.workers, "count") }] : []),
    { head: "operations", title: "Successes", cell: (row) => grouped(row.totals.count) },
    {
      head: "failed",
      cell: (row) => {
        const ended = row.totals.count + row.totals.failures;
        return <Failed share={ended > 0 ? row.totals.failures / ended : null} />;
      },
      exact: (row) => `${grouped(row.totals.failures)} of ${grouped(row.totals.count + row.totals.failures)}`,
    },
    { head: "op/s", cell: (row) => short(row.totals.throughput_per_s, "per_s"), exact: (row) => exact(row.totals.throughput_per_s, "per_s") },
    ...(anyBytes
      ? [{
          head: "bandwidth",
          cell: (row: FigureRow) => short(row.totals.bandwidth_bytes_per_s || null, "bytes_per_s"),
          exact: (row: FigureRow) => exact(row.totals.bandwidth_bytes_per_s, "bytes_per_s"),
        }]
      : []),
    ...times.map(([head, key]) => ({
      head,
      cell: (row: FigureRow) => short(row.times?.[key], "ms"),
      exact: (row: FigureRow) => (row.times?.[key] == null ? (row.times?.withheld ?? "no times") : exact(row.times[key], "ms")),
    })),
  ];
  return <DataTable label={label} columns={columns} rows={rows} keyOf={(row, at) => `${row.label}-${at}`} />;
}
