// All measured stages at a glance: one row each, with their error share, and two charts across them.
import { DataTable, type Column } from "../components/DataTable";
import type { StageData } from "../data/types";
import { exact, share, short } from "../format";
import { figures, leading } from "./figures";

interface Row {
  stage: StageData;
  throughput: number | null;
  most: number;
  p99: number | null;
  mostP99: number;
}

/** A bar behind a number, so that a column can be compared at a glance. */
function Bar({ value, most, text }: { value: number | null; most: number; text: string }) {
  return (
    <span className="bar">
      <span className="fill" style={{ width: `${value && most > 0 ? Math.max(1, (value / most) * 100) : 0}%` }} />
      <span>{text}</span>
    </span>
  );
}

export function Failed({ share: value }: { share: number | null }) {
  if (value === null) return <>–</>;
  return <span className={value > 0 ? "failed" : "none"}>{share(value)}</span>;
}

function lead(stage: StageData) {
  return leading(stage, 1)[0] ?? null;
}

export function Overview(props: { stages: StageData[]; shown: string; onShow(id: string): void }) {
  const { stages, shown, onShow } = props;
  const p99 = (stage: StageData) => lead(stage)?.response_ms?.p99 ?? null;
  const most = Math.max(0, ...stages.map((stage) => figures(stage).throughput ?? 0));
  const mostP99 = Math.max(0, ...stages.map((stage) => p99(stage) ?? 0));
  const rows: Row[] = stages.map((stage) => ({ stage, throughput: figures(stage).throughput, most, p99: p99(stage), mostP99 }));
  const response = (row: Row) => lead(row.stage)?.response_ms ?? null;
  const columns: Column<Row>[] = [
    {
      head: "stage",
      text: true,
      cell: ({ stage }) => (
        <a href={`#stage=${encodeURIComponent(stage.id)}`} onClick={(event) => { event.preventDefault(); onShow(stage.id); }}>{stage.name}</a>
      ),
    },
    { head: "workers", cell: ({ stage }) => short(figures(stage).workers, "count") },
    { head: "op/s", cell: (row) => <Bar value={row.throughput} most={row.most} text={short(row.throughput, "per_s")} />, exact: (row) => exact(row.throughput, "per_s") },
    { head: "failed", title: "Failures of all operations that ended", cell: ({ stage }) => <Failed share={figures(stage).failedShare} /> },
    { head: "bandwidth", cell: ({ stage }) => short(figures(stage).bandwidth || null, "bytes_per_s"), exact: ({ stage }) => exact(figures(stage).bandwidth, "bytes_per_s") },
    { head: "of", title: "The operation with the most operations: its times follow", text: true, cell: ({ stage }) => lead(stage)?.name ?? "–" },
    { head: "median", cell: (row) => short(response(row)?.p50, "ms"), exact: (row) => exact(response(row)?.p50, "ms") },
    { head: "p95", cell: (row) => short(response(row)?.p95, "ms"), exact: (row) => exact(response(row)?.p95, "ms") },
    { head: "p99", cell: (row) => <Bar value={row.p99} most={row.mostP99} text={short(row.p99, "ms")} />, exact: (row) => exact(row.p99, "ms") },
    { head: "max", cell: (row) => short(response(row)?.max, "ms"), exact: (row) => exact(response(row)?.max, "ms") },
  ];
  return (
    <section aria-labelledby="overview">
      <h2 id="overview">Measured stages</h2>
      <DataTable
        label="Figures by stage"
        columns={columns}
        rows={rows}
        keyOf={({ stage }) => stage.id}
        onRow={({ stage }) => onShow(stage.id)}
        selected={({ stage }) => stage.id === shown}
      />
    </section>
  );
}
