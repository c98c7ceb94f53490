// What faults cost the runs that are compared: a row for each kind of fault and figure, a column for each run.
import { DataTable, type Column } from "../../components/DataTable";
import type { FaultCell, FaultsBeside } from "../../data/service";
import { exact, short, type Unit } from "../../format";
import { faultRows, type FaultLine } from "./faults";

export function FaultsTable({ faults }: { faults: FaultsBeside }) {
  const columns: Column<FaultLine>[] = [
    { head: "fault", text: true, cell: (row) => row.fault },
    { head: "figure", text: true, cell: (row) => row.figure },
    ...faults.sides.map((side, at): Column<FaultLine> => ({
      head: side.side, cell: (row) => row.texts[at] ?? "–", exact: (row) => row.whys[at] ?? "",
    })),
  ];
  const rows = faultRows(faults, amount, (cell, unit) => (cell.mean === null ? (cell.reason ?? "") : exact(cell.mean, unit as Unit)));
  return (
    <div className="pair">
      <h3>What the faults cost</h3>
      <p className="hint">Means of the slots that count, with their 95 % intervals. Faults meet by their names or, where these differ, by what was done.</p>
      <DataTable label="What the faults cost" columns={columns} rows={rows} keyOf={(row, at) => `${at} ${row.figure}`} />
    </div>
  );
}

function amount(cell: FaultCell, unit: string): string {
  const one = (value: number) => (unit === "share" ? `${Number((value * 100).toPrecision(3))} %` : short(value, unit as Unit));
  if (cell.mean === null) return "–";
  return cell.low === null || cell.high === null || cell.high <= cell.low ? one(cell.mean) : `${one(cell.mean)} [${one(cell.low)}, ${one(cell.high)}]`;
}
