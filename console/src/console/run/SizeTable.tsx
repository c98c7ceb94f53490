// Figures by object size of a running stage: intervals do not carry them, the archive so far does.
import { useQuery } from "@tanstack/react-query";
import type { ReportData } from "../../data/types";
import { OperationsTable, type FigureRow } from "../../report/OperationsTable";
import { operationNames } from "../../charts/stage";
import { get, ofRun } from "../api";

const EVERY_MS = 30_000;
/** Until the archive is there. */
const FIRST_MS = 2000;

/** The report's data of the archive so far, now and then. */
export function useSoFar(id: string) {
  return useQuery({
    queryKey: ["data-so-far", id], queryFn: ({ signal }) => get<ReportData>(ofRun(id, "/data"), signal),
    refetchInterval: (query) => (query.state.data ? EVERY_MS : FIRST_MS), retry: false, staleTime: EVERY_MS, gcTime: 0,
  });
}

export function SizeTable({ id, stage }: { id: string; stage: string }) {
  const query = useSoFar(id);
  const found = query.data?.stages.find((one) => one.id === stage);
  if (!found) return null;
  const names = operationNames(found.operations);
  const rows: FigureRow[] = found.operations.flatMap((one, at) =>
    one.size_classes.map((part) => ({ label: `${names[at]}, ${part.label}`, totals: part, workers: part.workers })));
  if (rows.length === 0) return null;
  return (
    <>
      <h3>By object size, from the archive so far</h3>
      <OperationsTable label="By object size" first="size" rows={rows} />
    </>
  );
}
