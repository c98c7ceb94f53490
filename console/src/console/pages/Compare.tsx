// Runs side by side: what differs, how surely, and how it looks. The address holds what was chosen, so a link shows the same.
import { useMemo, useState } from "react";
import { Link } from "wouter";
import { useQueries, useQuery } from "@tanstack/react-query";
import { Chart } from "../../charts/Chart";
import { PALETTES } from "../../charts/palette";
import { DataTable, type Column } from "../../components/DataTable";
import { copyText } from "../../components/files";
import type { RunSummary } from "../../data/api";
import type { CompareRow, CompareWithin, ComparePair, Comparison } from "../../data/service";
import type { ReportData } from "../../data/types";
import { exact, NO_VALUE, share, short, significant, type Unit } from "../../format";
import { measured } from "../../report/figures";
import { get, ofRun } from "../api";
import { runPage } from "../paths";
import { cdfs, differingFirst, FIGURES, labelOf, operationOf, operationsOf, ratio, scaling, sharedNotes, type Figure, type Side } from "../compare/models";
import { FaultsTable } from "../compare/FaultsTable";
import { useShownTheme } from "../prefs";
import { useAddress } from "../ui/address";
import { say } from "../ui/notices";
import { Answer, Empty, Failure, Loading } from "../ui/states";
import { VerdictMark } from "../ui/marks";
import { Moment } from "../ui/time";
import { useTitle } from "../ui/title";

const MOST = 12;

export default function Compare() {
  useTitle("Compare");
  const [address, setAddress] = useAddress();
  const ids = useMemo(() => [...new Set((address.get("runs") ?? "").split(",").filter(Boolean))].slice(0, MOST), [address]);
  const set = (next: string[]) => setAddress({ runs: next.join(","), stages: "" });
  return (
    <>
      <div className="page-head">
        <h1>Compare</h1>
        {ids.length > 1 && <button type="button" className="button" onClick={() => void copyText(location.href).then((done) => say(done ? "The link to this comparison is copied" : "The browser does not let this page copy", done ? "good" : "bad"))}>Copy the link</button>}
      </div>
      <Chooser ids={ids} onChange={set} />
      {ids.length === 0
        ? <section className="panel"><Empty title="Choose two runs or more."><p>The first is what the others are compared with. In the history, runs can be ticked and compared as well.</p></Empty></section>
        : <Sides ids={ids} />}
    </>
  );
}

function Chooser({ ids, onChange }: { ids: string[]; onChange(ids: string[]): void }) {
  const [search, setSearch] = useState("");
  const query = useQuery({
    queryKey: ["history", "choose", search],
    queryFn: ({ signal }) => get<RunSummary[]>(`runs?${new URLSearchParams({ limit: "30", ...(search ? { search } : {}) })}`, signal),
    placeholderData: (before) => before,
  });
  const offered = (query.data ?? []).filter((run) => !ids.includes(run.id) && run.started !== null);
  return (
    <section className="panel chooser" aria-label="Runs to compare">
      <ol className="chosen">
        {ids.map((id, at) => (
          <li key={id}>
            <span className="tag big">
              {at === 0 && <span className="soft">against </span>}<Link href={runPage(id)}>{id}</Link>
              {at > 0 && <button type="button" title="Compare the others with this one" aria-label={`Compare the others with ${id}`} onClick={() => onChange([id, ...ids.filter((one) => one !== id)])}>⇤</button>}
              <button type="button" aria-label={`Take ${id} out`} onClick={() => onChange(ids.filter((one) => one !== id))}>✕</button>
            </span>
          </li>
        ))}
      </ol>
      <div className="filters">
        <input type="search" aria-label="Search runs to add" placeholder="Search runs to add" value={search} onChange={(event) => setSearch(event.target.value)} />
        <select aria-label="Add a run" value="" disabled={ids.length >= MOST} onChange={(event) => event.target.value && onChange([...ids, event.target.value])}>
          <option value="">{query.isPending ? "Loading runs" : offered.length ? `Add one of ${offered.length}` : "No run fits"}</option>
          {offered.map((run) => <option key={run.id} value={run.id}>{run.id} {run.name}{run.baseline ? " (baseline)" : ""}{run.tags.length ? ` [${run.tags.join(", ")}]` : ""}</option>)}
        </select>
      </div>
    </section>
  );
}

function Sides({ ids }: { ids: string[] }) {
  const [address, setAddress] = useAddress();
  const answers = useQueries({
    queries: ids.map((id) => ({ queryKey: ["data", id], queryFn: ({ signal }: { signal: AbortSignal }) => get<ReportData>(ofRun(id, "/data"), signal), staleTime: 60_000 })),
  });
  const wanted = (address.get("stages") ?? "").split(",");
  const loaded = answers.every((one) => one.data);
  const sides = useMemo(() => (loaded ? ids.map((id, at): Side => {
    const data = answers[at]!.data!;
    const main = measured(data.stages);
    return { id, name: data.run.name, data, stage: data.stages.find((one) => one.id === wanted[at]) ?? main[0] };
    // The answers are the same objects as long as the ids are.
  }) : []), [loaded, ids.join(), address.get("stages")]);
  const failed = answers.findIndex((one) => one.isError);
  if (failed >= 0) return <section className="panel"><Failure error={answers[failed]!.error} what={`Run ${ids[failed]}`} onRetry={() => void answers[failed]!.refetch()} /></section>;
  if (!loaded) return <section className="panel"><Loading what="The runs" lines={10} /></section>;

  const operations = operationsOf(sides);
  const operation = operations.find((one) => one === address.get("operation")) ?? operations[0];
  const chosen = sides.map((side) => side.stage?.id ?? "");
  return (
    <>
      {ids.length > 1 && <Tested ids={ids} />}
      <section className="panel" aria-labelledby="side-by-side">
        <div className="panel-head">
          <h2 id="side-by-side">Side by side</h2>
          {operations.length > 1 && (
            <div role="group" aria-label="Operation" className="segments">
              {operations.map((one) => <button key={one} type="button" aria-pressed={one === operation} onClick={() => setAddress({ operation: one })}>{one}</button>)}
            </div>
          )}
        </div>
        {operation === undefined ? <Empty title="None of these runs has results." /> : (
          <>
            <SideTable sides={sides} operation={operation} onStage={(at, id) => setAddress({ stages: chosen.map((one, i) => (i === at ? id : one)).join(",") })} />
            {sides.length > 1 && <Bars sides={sides} operation={operation} />}
            <div className="charts compare-charts">
              <Chart key={`cdf-${operation}-${ids.join()}`} model={cdfs(sides, operation)} heading="h3" />
              <Scaling sides={sides} />
            </div>
          </>
        )}
      </section>
    </>
  );
}

function Scaling({ sides }: { sides: Side[] }) {
  const model = scaling(sides);
  return model ? <Chart key={sides.map((side) => side.id).join()} model={model} heading="h3" /> : null;
}

function SideTable({ sides, operation, onStage }: { sides: Side[]; operation: string; onStage(at: number, id: string): void }) {
  const columns: Column<Figure>[] = [
    { head: "figure", text: true, cell: (figure) => figure.name },
    ...sides.map((side, at): Column<Figure> => ({
      head: labelOf(side),
      cell: (figure) => {
        const one = operationOf(side, operation);
        const value = one ? figure.of(one) : null;
        const first = operationOf(sides[0]!, operation);
        const change = at > 0 && first ? ratio(figure.of(first), value) : null;
        return <>{short(value, figure.unit)}{change !== null && <span className="soft change"> {signed(change)}</span>}</>;
      },
      exact: (figure) => { const one = operationOf(side, operation); return one ? exact(figure.of(one), figure.unit) : "this run has no such operation"; },
    })),
  ];
  return (
    <>
      <div className="side-heads">
        {sides.map((side, at) => (
          <div key={side.id} className="side-head">
            <b><Link href={runPage(side.id)}>{side.id}</Link> {side.name}</b>
            <VerdictMark verdict={side.data.verdict.overall} reason={side.data.verdict.reason} />
            <span className="soft"><Moment at={side.data.run.started} /></span>
            <select aria-label={`Stage of ${side.id}`} value={side.stage?.id ?? ""} onChange={(event) => onStage(at, event.target.value)}>
              {side.data.stages.filter((one) => one.operations.length > 0).map((one) => <option key={one.id} value={one.id}>{one.name}</option>)}
            </select>
          </div>
        ))}
      </div>
      <DataTable label={`Figures of ${operation}`} columns={columns} rows={FIGURES.filter((figure) => sides.some((side) => { const one = operationOf(side, operation); return one && figure.of(one) !== null; }))} keyOf={(figure) => figure.name} />
    </>
  );
}

function signed(factor: number): string {
  const percent = (factor - 1) * 100;
  return Math.abs(percent) < 0.05 ? "±0 %" : `${percent > 0 ? "+" : "−"}${significant(Math.abs(percent), 2)} %`;
}

/** Every figure as a share of the first side's: bars of one length are the same. */
function Bars({ sides, operation }: { sides: Side[]; operation: string }) {
  const theme = useShownTheme();
  const colours = PALETTES[theme].categories;
  const first = operationOf(sides[0]!, operation);
  if (!first) return null;
  const rows = FIGURES.filter((figure) => ["throughput", "median", "p95", "p99"].includes(figure.name) && figure.of(first) !== null);
  const most = Math.max(1, ...rows.flatMap((figure) => sides.map((side) => { const one = operationOf(side, operation); return one ? (ratio(figure.of(first), figure.of(one)) ?? 0) : 0; })));
  return (
    <figure className="bars">
      <figcaption><h3>Relative to {labelOf(sides[0]!)}</h3><p className="hint">The line marks the first run. For throughput longer is better, for times shorter is.</p></figcaption>
      {rows.map((figure) => (
        <div key={figure.name} className="bar-group">
          <span className="bar-name">{figure.name}</span>
          <div>
            {sides.map((side, at) => {
              const one = operationOf(side, operation);
              const value = one ? ratio(figure.of(first), figure.of(one)) : null;
              return (
                <div key={side.id} className="bar-row">
                  <span className="bar-side">{labelOf(side)}</span>
                  <span className="bar-track">
                    <span className="bar-fill" style={{ width: `${((value ?? 0) / most) * 100}%`, background: colours[at % 8] }} />
                    <span className="bar-one" style={{ left: `${(1 / most) * 100}%` }} />
                  </span>
                  <span className="bar-value">{value === null ? NO_VALUE : `× ${significant(value, 3)}`}</span>
                </div>
              );
            })}
          </div>
        </div>
      ))}
    </figure>
  );
}

const OUTCOMES: Record<CompareRow["outcome"], [string, string, string]> = {
  better: ["pass", "✓", "better"],
  worse: ["fail", "✕", "worse"],
  no_difference_shown: ["", "=", "no difference shown"],
  within_bounds: ["", "?", "within the bounds"],
  too_short: ["", "?", "too short to tell"],
  not_tested: ["", "–", "not tested"],
};

/** What the controller's comparison says: intervals that hold all together. */
function Tested({ ids }: { ids: string[] }) {
  const [address, setAddress] = useAddress();
  const threshold = address.get("threshold") ?? "";
  const query = useQuery({
    queryKey: ["compare", ids.join(), threshold],
    queryFn: ({ signal }) => get<Comparison>(`compare?${new URLSearchParams({ runs: ids.join(","), ...(threshold ? { threshold } : {}) })}`, signal),
    staleTime: 60_000, retry: false,
  });
  return (
    <section className="panel" aria-labelledby="tested">
      <div className="panel-head">
        <h2 id="tested">What differs</h2>
        <label className="check">least difference that matters
          <select value={threshold} onChange={(event) => setAddress({ threshold: event.target.value })}>
            {[["", "1 %"], ["2", "2 %"], ["5", "5 %"], ["10", "10 %"]].map(([value, name]) => <option key={value} value={value}>{name}</option>)}
          </select>
        </label>
      </div>
      <Answer query={query} what="The comparison" lines={8}>
        {(comparison) => (
          <>
            {comparison.sentence && <p className="compare-sentence">{comparison.sentence}.</p>}
            <p className="hint">Intervals hold with {share(comparison.confidence)} all together. Less than {share(comparison.least)} is not called a difference.</p>
            {comparison.pairs.map((pair) => <Pair key={`${pair.a} ${pair.b}`} pair={pair} shared={sharedNotes(comparison)} />)}
            <Notes notes={sharedNotes(comparison)} of="every pair" />
            {comparison.faults && <FaultsTable faults={comparison.faults} />}
          </>
        )}
      </Answer>
    </section>
  );
}

/** Notes behind the figures: how many, and on demand what they say. */
function Notes({ notes, of }: { notes: string[]; of: string }) {
  if (notes.length === 0) return null;
  return (
    <details className="compare-notes">
      <summary>{notes.length} note{notes.length === 1 ? "" : "s"} on {of}</summary>
      <ul className="remarks">{notes.map((one) => <li key={one}>{one}</li>)}</ul>
    </details>
  );
}

function Pair({ pair, shared }: { pair: ComparePair; shared: string[] }) {
  const [all, setAll] = useState(false);
  const rows = differingFirst(all ? pair.rows : pair.rows.filter((row) => row.outcome !== "not_tested"));
  const reach = Math.max(0.02, ...pair.rows.flatMap((row) => [row.low, row.high, row.ratio]).filter((one): one is number => one !== null && Number.isFinite(one)).map((one) => Math.abs(Math.log(Math.max(1e-3, one)))));
  const value = (row: CompareRow, one: number | null) => short(one, unitOf(row));
  const columns: Column<CompareRow>[] = [
    { head: "stage", text: true, cell: (row) => row.stage },
    { head: "operation", text: true, cell: (row) => row.operation },
    { head: "figure", text: true, cell: (row) => row.metric },
    { head: pair.a, cell: (row) => value(row, row.a) + room(row.a, row.a_bounds, unitOf(row)), exact: () => BOUNDS },
    { head: pair.b, cell: (row) => value(row, row.b) + room(row.b, row.b_bounds, unitOf(row)), exact: () => BOUNDS },
    { head: "change", cell: (row) => (row.ratio === null ? NO_VALUE : signed(row.ratio)), exact: between },
    { head: "interval", text: true, cell: (row) => <Interval row={row} reach={reach} /> },
    {
      head: "result", text: true, exact: (row) => row.note ?? (row.detectable === null ? "" : `a difference of ${share(row.detectable)} would have been seen`),
      cell: (row) => { const [kind, sign, word] = OUTCOMES[row.outcome] ?? ["", "?", row.outcome]; return <span className={`status ${kind}`}><span aria-hidden="true">{sign}</span> {word}</span>; },
    },
  ];
  return (
    <div className="pair">
      <h3>{pair.b} against {pair.a}</h3>
      {rows.length === 0 ? <Empty title="Nothing of these two could be tested." /> : <DataTable label={`${pair.b} against ${pair.a}`} columns={columns} rows={rows} keyOf={(row) => `${row.stage} ${row.operation} ${row.metric}`} />}
      {pair.rows.length > rows.length && <button type="button" className="button small" onClick={() => setAll(true)}>Show {pair.rows.length - rows.length} that were not tested</button>}
      <Notes notes={pair.warnings.filter((one) => !shared.includes(one))} of={`${pair.b} against ${pair.a}`} />
    </div>
  );
}

const BOUNDS = "between + and - lies what a client that adds nothing would have measured";

function unitOf(row: CompareRow): Unit {
  return row.unit === "ms" || row.unit === "share" ? row.unit : "per_s";
}

/** How far above and below a value the truth may lie, in its unit; ? where nothing limits it. */
export function room(value: number | null, within: CompareWithin | null | undefined, unit: Unit): string {
  if (value === null || !within) return "";
  const side = (end: number | null) => (end === null ? "?" : short(Math.abs(end - value), unit));
  return ` +${side(within.high)} -${side(within.low)}`;
}

function between(row: CompareRow): string {
  if (row.low === null && row.high === null) return "";
  return `between ${row.low === null ? "?" : signed(row.low)} and ${row.high === null ? "?" : signed(row.high)}`;
}

/** The interval on a logarithmic line: the middle is "the same". */
function Interval({ row, reach }: { row: CompareRow; reach: number }) {
  if (row.ratio === null || (row.low === null && row.high === null)) return <>{NO_VALUE}</>;
  const at = (one: number) => 50 + (Math.log(Math.max(1e-3, one)) / reach) * 46;
  // An end that nothing limits lies at the edge.
  const [low, high, middle] = [row.low === null ? 0 : at(row.low), row.high === null ? 100 : at(row.high), at(row.ratio)];
  return (
    <svg className={`interval ${row.outcome}`} viewBox="0 0 100 12" preserveAspectRatio="none" role="img" aria-label={between(row)}>
      <line x1="50" x2="50" y1="0" y2="12" className="same" />
      <line x1={low} x2={high} y1="6" y2="6" className="span" />
      <line x1={middle} x2={middle} y1="2" y2="10" className="middle" />
    </svg>
  );
}
