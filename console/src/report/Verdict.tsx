// Whether the numbers can be believed: first the word and its reason, at the end all checks.
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
  not_run: { word: "not made", sign: "?", rank: 2 },
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

export function Checks({ verdict }: { verdict: VerdictData }) {
  const rank = (check: CheckData) => STATUS[check.status]?.rank ?? 2;
  const rows = [...verdict.checks].sort((a, b) => rank(a) - rank(b));
  return (
    <section aria-labelledby="checks">
      <h2 id="checks">Checks of the verdict</h2>
      {rows.length === 0 ? (
        <p className="empty">This run was not judged, so no check was made.</p>
      ) : (
        <DataTable label="All checks" columns={COLUMNS} rows={rows} keyOf={(check, at) => `${check.id}-${check.stage}-${at}`} />
      )}
    </section>
  );
}
