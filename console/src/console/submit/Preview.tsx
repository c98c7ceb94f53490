// What a workload would do: its stages, how long, how much; and what is known about its verdict before any load.
import { DataTable, type Column } from "../../components/DataTable";
import type { CheckResult, StagePreview } from "../../data/api";
import { bytes, exact, grouped, short } from "../../format";
import { Empty, Loading } from "../ui/states";

export interface Sums {
  seconds: number;
  /** Stages that counts end, whose time nobody knows before. */
  open: number;
  bytes: number;
  operations: number;
}

export function sumsOf(stages: StagePreview[]): Sums {
  const sum = (of: (one: StagePreview) => number | null) => stages.reduce((all, one) => all + (of(one) ?? 0), 0);
  return { seconds: sum((one) => one.seconds), open: stages.filter((one) => one.seconds === null).length, bytes: sum((one) => one.bytes_written), operations: sum((one) => one.operations) };
}

const COLUMNS: Column<StagePreview>[] = [
  { head: "stage", text: true, cell: (one) => one.name, exact: (one) => one.works.join(", ") },
  { head: "workers", cell: (one) => grouped(one.workers) },
  { head: "lasts", cell: (one) => (one.seconds === null ? "until done" : short(one.seconds, "s")), exact: (one) => exact(one.seconds, "s") },
  { head: "operations", cell: (one) => short(one.operations, "count") },
  { head: "writes", cell: (one) => short(one.bytes_written, "bytes"), exact: (one) => exact(one.bytes_written, "bytes") },
];

const MOST = 200;

export function Preview({ checked, fromForm }: { checked: { result: CheckResult | null; trouble: string | null; busy: boolean }; fromForm: boolean }) {
  const { result, trouble, busy } = checked;
  const errors = result?.mistakes.filter((one) => one.severity === "error").length ?? 0;
  const warnings = (result?.mistakes.length ?? 0) - errors;
  return (
    <>
      <div className="panel-head">
        <h2>Plan</h2>
        <span className="check-word" role="status">
          {busy ? <span className="soft">checking</span> : trouble ? <span className="trouble">not checked</span>
            : result === null ? null : result.ok ? <span className="status pass">✓ can be run{warnings > 0 && `, ${warnings} warning${warnings === 1 ? "" : "s"}`}</span>
            : <span className="status fail">✕ {errors} mistake{errors === 1 ? "" : "s"}</span>}
        </span>
      </div>
      {trouble && <p className="problem">{trouble}</p>}
      {result === null && !trouble && <Loading what="The preview" lines={5} />}
      {fromForm && result && result.mistakes.length > 0 && (
        <ul className="mistakes">{result.mistakes.map((one, at) => <li key={at} className={one.severity}><b>{one.severity}</b><span>{one.message}{one.hint && <span className="soft"> {one.hint}</span>}</span></li>)}</ul>
      )}
      {result && (result.stages.length === 0
        ? <Empty title="There are no stages to show yet.">{result.ok ? null : <p>They show when the mistakes are mended.</p>}</Empty>
        : <Stages stages={result.stages} />)}
      {result && result.preflight.length > 0 && (
        <>
          <h3>Before any load</h3>
          <ul className="remarks">{result.preflight.map((one) => <li key={one}>{one}</li>)}</ul>
        </>
      )}
    </>
  );
}

function Stages({ stages }: { stages: StagePreview[] }) {
  const sums = sumsOf(stages);
  return (
    <>
      <dl className="sums">
        <div><dt>stages</dt><dd>{stages.length}</dd></div>
        <div><dt>{sums.open > 0 ? "takes at least" : "takes"}</dt><dd title={sums.open > 0 ? `${sums.open} stages last until they are done` : undefined}>{short(sums.seconds, "s")}</dd></div>
        <div><dt>writes at least</dt><dd title={exact(sums.bytes, "bytes")}>{bytes(sums.bytes)}</dd></div>
      </dl>
      <DataTable label="Stages" columns={COLUMNS} rows={stages.slice(0, MOST)} keyOf={(one) => one.id} />
      {stages.length > MOST && <p className="hint">and {stages.length - MOST} more</p>}
    </>
  );
}
