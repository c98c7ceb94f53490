// Thresholds, and searches with their knee, their law and every trial.
import { useMemo } from "react";
import { Chart } from "../charts/Chart";
import { kneeCurve, lawCurve } from "../charts/goals";
import { DataTable, type Column } from "../components/DataTable";
import type { LawPart, SearchData, ThresholdData, TrialData } from "../data/types";
import { exact, share, short } from "../format";

const CLASSES: Record<string, string> = { met: "pass", missed: "fail" };

function outcome(status: string) {
  return <span className={`status ${CLASSES[status] ?? "warn"}`}>{status}</span>;
}

const THRESHOLDS: Column<ThresholdData>[] = [
  { head: "came out", text: true, cell: (one) => outcome(one.status) },
  { head: "stage", text: true, cell: (one) => one.stage },
  { head: "operation", text: true, cell: (one) => one.operation ?? "all together" },
  { head: "threshold", text: true, cell: (one) => one.threshold },
  { head: "found", text: true, cell: (one) => one.message },
];

function trials(over: string): Column<TrialData>[] {
  return [
    { head: "came out", text: true, cell: (one) => outcome(one.status) },
    { head: over === "rate" ? "asked for, op/s" : "workers", cell: (one) => short(one.load, "count") },
    { head: "for", text: true, cell: (one) => one.purpose },
    { head: "op/s", cell: (one) => short(one.throughput_per_s, "per_s"), exact: (one) => exact(one.throughput_per_s, "per_s") },
    { head: "mean", cell: (one) => short(one.mean_ms, "ms"), exact: (one) => exact(one.mean_ms, "ms") },
    { head: "p95", cell: (one) => short(one.p95_ms, "ms"), exact: (one) => exact(one.p95_ms, "ms") },
    { head: "failed", cell: (one) => (one.error_ratio === null ? "–" : share(one.error_ratio)) },
    { head: "why", text: true, cell: (one) => one.reason ?? "" },
  ];
}

const LAW: Column<LawPart>[] = [
  { head: "part", text: true, cell: (one) => one.name },
  { head: "value", cell: (one) => short(one.value, "none") },
  { head: "interval", cell: (one) => `${short(one.low, "none")} to ${short(one.high, "none")}` },
];

function Search({ search }: { search: SearchData }) {
  const models = useMemo(() => [kneeCurve(search), lawCurve(search)].filter((model) => model !== null), [search]);
  return (
    <div className="search">
      <p><b>{search.answer}</b></p>
      {search.notes.length > 0 && <ul className="remarks">{search.notes.map((note) => <li key={note}>{note}</li>)}</ul>}
      <div className="charts">{models.map((model) => <Chart key={model.id} model={model} heading="h3" />)}</div>
      <DataTable label={`Trials of ${search.name}`} columns={trials(search.over)} rows={search.trials} keyOf={(one) => one.stage} />
      {search.law && (
        <details>
          <summary>The scalability law, from {search.law.points} trials</summary>
          <DataTable label="Parts of the law" columns={LAW} rows={search.law.parts} keyOf={(one) => one.name} />
          <p>The trial farthest from it is {share(search.law.largest_residual)} away.</p>
        </details>
      )}
    </div>
  );
}

export function Goals({ thresholds, searches }: { thresholds: ThresholdData[]; searches: SearchData[] }) {
  if (!thresholds.length && !searches.length) return null;
  return (
    <section aria-labelledby="goals">
      <h2 id="goals">{searches.length ? "Highest load that is good enough" : "Thresholds"}</h2>
      {searches.map((one) => <Search key={one.name} search={one} />)}
      {thresholds.length > 0 && (
        <DataTable label="Thresholds" columns={THRESHOLDS} rows={thresholds} keyOf={(one) => `${one.stage} ${one.operation} ${one.threshold}`} />
      )}
    </section>
  );
}
