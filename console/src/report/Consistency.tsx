// How soon writes were seen beside the load of a stage.
import { Chart } from "../charts/Chart";
import { consistencyChart } from "../charts/consistency";
import { DataTable, type Column } from "../components/DataTable";
import type { ConsistencyClassData, StageData } from "../data/types";
import { exact, grouped, share, short } from "../format";

const COLUMNS: Column<ConsistencyClassData>[] = [
  { head: "looks", text: true, cell: (one) => (one.from === null ? one.title : `– ${one.from}`) },
  { head: "how many", cell: (one) => grouped(one.looks) },
  { head: "missed", cell: (one) => `${grouped(one.stale)} (${share(one.stale / Math.max(1, one.looks))})` },
  {
    head: "changes missed", title: "Changes that at least one look missed, of those that were looked at; the upper end of the 95 % interval",
    cell: (one) => (one.changes === null ? "" : `${grouped(one.missed_changes ?? 0)} of ${grouped(one.changes)} (at most ${share(one.missed_at_most ?? 1)})`),
  },
  {
    head: "last miss after", cell: (one) => (one.longest_stale_ms === null ? "–" : short(one.longest_stale_ms, "ms")),
    exact: (one) => exact(one.longest_stale_ms, "ms"),
  },
  ...["90 %", "99 %", "99.9 %"].map((name, at): Column<ConsistencyClassData> => ({
    head: `${name} visible after`, title: `From then on at most the rest of the changes is missed by a look, with 95 % confidence`,
    cell: (one) => (one.visible_after_ms.length === 0 ? "" : one.visible_after_ms[at] == null ? "not known" : short(one.visible_after_ms[at], "ms")),
  })),
];

export function Consistency({ stage }: { stage: StageData }) {
  const seen = stage.consistency;
  if (!seen) return null;
  return (
    <div className="consistency">
      <h3>How soon writes were seen</h3>
      <p className="soft">
        {grouped(seen.changes)} changes by a prober beside the load, {grouped(seen.requests)} requests beside {grouped(seen.load_operations)} operations
        ({share(seen.requests / Math.max(1, seen.load_operations))}); they are in no other figure.
      </p>
      <div className="charts"><Chart model={consistencyChart(seen)} wide /></div>
      {seen.classes.length > 0 && <DataTable label="How soon writes were seen" columns={COLUMNS} rows={seen.classes} keyOf={(one) => `${one.title} ${one.from}`} />}
      {seen.remarks.length > 0 && <ul className="remarks">{seen.remarks.map((one) => <li key={one}>{one}</li>)}</ul>}
    </div>
  );
}
