// Which share users got of what the store's machines can do by themselves, stage by stage.
import { DataTable, type Column } from "../components/DataTable";
import type { RawShare } from "../data/types";
import { exact, share, short, type Unit } from "../format";

const COLUMNS: Column<RawShare>[] = [
  { head: "stage", text: true, cell: (one) => one.name },
  { head: "direction", text: true, cell: (one) => one.direction },
  { head: "of", text: true, cell: (one) => one.of },
  {
    head: "share",
    cell: (one) => (
      <span className="bar">
        <span className="fill" style={{ width: `${Math.min(100, Math.max(1, one.share * 100))}%` }} />
        <span>{share(one.share)}</span>
      </span>
    ),
  },
  { head: "users get", cell: (one) => short(one.user_per_s, one.unit as Unit), exact: (one) => exact(one.user_per_s, one.unit as Unit) },
  { head: "machines can", cell: (one) => short(one.raw_per_s, one.unit as Unit), exact: (one) => exact(one.raw_per_s, one.unit as Unit) },
];

export function RawShares({ shares, limits }: { shares: RawShare[]; limits: string | null }) {
  if (!shares.length) return null;
  return (
    <section aria-labelledby="raw-shares">
      <h2 id="raw-shares">Share of what the machines can do</h2>
      <p className="hint">
        What users got, over what the disks and links of the store's machines did by themselves{limits ? ` (${limits})` : ""}. Of
        copies only one counts; what is read out of memory may exceed the disks.
      </p>
      <DataTable label="Shares of what the machines can do" columns={COLUMNS} rows={shares} keyOf={(one) => `${one.stage} ${one.direction} ${one.of}`} />
    </section>
  );
}
