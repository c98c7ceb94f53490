// Whether the numbers can be believed: first the word and its reason, at the end all checks.
import { useMemo, useState } from "react";
import { DataTable, type Column } from "../components/DataTable";
import type { CheckData, RunFacts, VerdictData } from "../data/types";
import { NO_VALUE, significant } from "../format";

const WORDS: Record<string, { word: string; sign: string; means: string }> = {
  true: { word: "True", sign: "✓", means: "The numbers say what they seem to say." },
  true_with_limits: { word: "True with limits", sign: "!", means: "The numbers hold within the limits named here." },
  not_proven: { word: "Not proven", sign: "?", means: "Nothing here proves the numbers right." },
  false: { word: "False", sign: "✕", means: "Do not use these numbers as the store's." },
};

const STATUS: Record<string, { word: string; sign: string; rank: number }> = {
  fail: { word: "fail", sign: "✕", rank: 0 },
  warn: { word: "warning", sign: "!", rank: 1 },
  not_run: { word: "not run", sign: "?", rank: 2 },
  pass: { word: "pass", sign: "✓", rank: 3 },
};

export function VerdictBanner({ verdict, run }: { verdict: VerdictData; run: RunFacts }) {
  const { word, sign, means } = WORDS[verdict.overall] ?? { word: verdict.overall, sign: "?", means: "" };
  const counts = ["fail", "warn", "not_run", "pass"]
    .map((status) => ({ status, n: verdict.checks.filter((check) => check.status === status).length }))
    .filter(({ n }) => n > 0)
    .map(({ status, n }) => `${n} ${STATUS[status]!.word}`);
  return (
    <section className={`verdict ${verdict.overall}`} aria-labelledby="verdict">
      <span className="sign" aria-hidden="true">{sign}</span>
      <div>
        <h2 id="verdict"><span className="label">Can these numbers be believed?</span> {word}</h2>
        <p className="reason">{verdict.reason}</p>
        <p className="means">
          {means} {counts.length > 0 && <a href="#checks">All checks: {counts.join(", ")}</a>}
        </p>
        {run.state !== "finished" && (
          <p className="run-state">The run is <b>{run.state}</b>{run.reason ? `: ${run.reason}` : "."}</p>
        )}
      </div>
    </section>
  );
}

const number = (value: number | null) => (value === null ? NO_VALUE : significant(value, 4));

const COLUMNS: Column<CheckData>[] = [
  {
    head: "result",
    text: true,
    cell: (check) => {
      const { word, sign } = STATUS[check.status] ?? { word: check.status, sign: "?" };
      return <span className={`status ${check.status}`}><span aria-hidden="true">{sign}</span> {word}</span>;
    },
  },
  { head: "check", text: true, cell: (check) => <><span className="soft">{check.id}</span> {check.name}</> },
  { head: "stage", text: true, cell: (check) => check.stage ?? "the run" },
  { head: "value", cell: (check) => number(check.value) },
  { head: "limit", cell: (check) => number(check.limit) },
  { head: "what it means", text: true, cell: (check) => <span className="sentence">{check.message}</span> },
];

/** What passes or was not run, one row for each check, however many stages it was asked of. */
interface FoldedRow {
  check: CheckData;
  stages: string[];
}

/** Failures and warnings by themselves, the gravest first; the others folded by check. */
export function folded(checks: CheckData[]): { telling: CheckData[]; quiet: FoldedRow[] } {
  const rank = (check: CheckData) => STATUS[check.status]?.rank ?? 2;
  const telling = checks.filter((check) => rank(check) < 2).sort((a, b) => rank(a) - rank(b));
  const quiet = new Map<string, FoldedRow>();
  for (const check of checks.filter((one) => rank(one) >= 2)) {
    const key = `${check.status} ${check.id}`;
    const row = quiet.get(key) ?? { check, stages: [] };
    row.stages.push(check.stage ?? "the run");
    quiet.set(key, row);
  }
  return { telling, quiet: [...quiet.values()].sort((a, b) => rank(a.check) - rank(b.check)) };
}

/** Rows that are shown without being asked for. */
const MOST_TELLING = 25;

const QUIET: Column<FoldedRow>[] = [
  { head: "result", text: true, cell: ({ check }) => COLUMNS[0]!.cell(check) },
  { head: "check", text: true, cell: ({ check }) => COLUMNS[1]!.cell(check) },
  { head: "stages", text: true, cell: ({ stages }) => (stages.length > 2 ? `${stages.length} stages` : stages.join(", ")), exact: ({ stages }) => stages.join(", ") },
  { head: "what it means", text: true, cell: ({ check, stages }) => <span className="sentence">{stages.length > 1 && <span className="soft">{stages[0]}: </span>}{check.message}</span> },
];

export function Checks({ verdict }: { verdict: VerdictData }) {
  const [all, setAll] = useState(false);
  const { telling, quiet } = useMemo(() => folded(verdict.checks), [verdict.checks]);
  const one = (check: CheckData, at: number) => `${check.id}-${check.stage}-${at}`;
  const shown = all ? telling : telling.slice(0, MOST_TELLING);
  return (
    <section aria-labelledby="checks">
      <h2 id="checks">Checks of the verdict</h2>
      {verdict.checks.length === 0 && <p className="empty">This run was not judged, so no check was run.</p>}
      {shown.length > 0 && <DataTable label="Checks that warn or fail" columns={COLUMNS} rows={shown} keyOf={one} />}
      {telling.length > shown.length && <p><button type="button" className="button small" onClick={() => setAll(true)}>Show {telling.length - shown.length} more that warn or fail</button></p>}
      {quiet.length > 0 && (
        <details open={telling.length === 0 && verdict.checks.length <= MOST_TELLING}>
          <summary>{verdict.checks.length - telling.length} checks that pass or were not run</summary>
          <DataTable label="Checks that pass or were not run" columns={QUIET} rows={quiet} keyOf={(row) => `${row.check.status}-${row.check.id}`} />
        </details>
      )}
    </section>
  );
}
