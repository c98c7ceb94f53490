// The performance matrix: every stage of the history, any metric, with filters; as a table and over the runs.
import { useMemo } from "react";
import { Link } from "wouter";
import { useQuery } from "@tanstack/react-query";
import { Chart } from "../../charts/Chart";
import { toCsv } from "../../charts/csv";
import type { Line, LineModel } from "../../charts/model";
import { copyText, save } from "../../components/files";
import type { MatrixRow } from "../../data/service";
import { exact, moment, short } from "../../format";
import { get } from "../api";
import { runPage } from "../paths";
import { metricName, metricsOf, passes, rowOf, sorted, unitOf, valuesOf, type Filter, type Flat } from "../performance";
import { useZone } from "../prefs";
import { useAddress } from "../ui/address";
import { say } from "../ui/notices";
import { Answer, Empty } from "../ui/states";
import { VerdictMark } from "../ui/marks";
import { useTitle } from "../ui/title";

const FIRST = ["throughput_per_s", "bandwidth_bytes_per_s", "response_ms.p50", "response_ms.p99", "error_rate"];
/** More rows than this are in the CSV alone. */
const MOST_ROWS = 500;
const MOST_LINES = 16;

export default function Performance() {
  useTitle("Performance");
  const query = useQuery({ queryKey: ["matrix"], queryFn: ({ signal }) => get<MatrixRow[]>("matrix", signal), staleTime: 15_000 });
  return (
    <>
      <h1 className="page-title">Performance over the history</h1>
      <Answer query={query} what="The history" lines={12}>
        {(rows) => rows.length === 0
          ? <section className="panel"><Empty title="No run has results yet."><p>Every stage of every run that has ended is a row here. <Link href="/submit">Submit a workload</Link></p></Empty></section>
          : <Matrix rows={rows} />}
      </Answer>
    </>
  );
}

function Matrix({ rows }: { rows: MatrixRow[] }) {
  useZone();
  const [address, setAddress] = useAddress();
  const flat = useMemo(() => rows.map(rowOf), [rows]);
  const metrics = useMemo(() => metricsOf(flat), [flat]);
  const chosen = (address.get("metrics")?.split(",") ?? FIRST).filter((one) => metrics.includes(one));
  const sort = address.get("sort") ?? "started";
  const down = address.get("down") !== "0";
  const text = (key: string) => address.get(key) ?? "";
  const filter: Filter = { search: text("search"), operation: text("operation"), state: text("state"), verdict: text("verdict"), workers: text("workers"), setup: text("setup") === "1" };
  const shown = sorted(flat.filter((row) => passes(row, filter)), sort, down);
  const toggle = (metric: string) => setAddress({ metrics: (chosen.includes(metric) ? chosen.filter((one) => one !== metric) : metrics.filter((one) => chosen.includes(one) || one === metric)).join(",") || "none" });
  const select = (key: "operation" | "workers" | "state" | "verdict", column: string, label: string, any: string) => (
    <select aria-label={label} value={filter[key]} onChange={(event) => setAddress({ [key]: event.target.value })}>
      <option value="">{any}</option>
      {valuesOf(flat, column).map((one) => <option key={one} value={one}>{one.replaceAll("_", " ")}</option>)}
    </select>
  );
  const columns = ["run", "name", "stage", "operation", "workers"];
  const csv = () => toCsv({ head: [...columns, "started", ...metrics.filter((one) => one !== "workers")], rows: shown.map((row) => [...columns, "started", ...metrics.filter((one) => one !== "workers")].map((key) => { const value = row[key] ?? null; return typeof value === "boolean" ? String(value) : value; })) });
  const head = (key: string, name: string, left = false) => (
    <th key={key} scope="col" className={left ? "text" : ""} aria-sort={sort === key ? (down ? "descending" : "ascending") : undefined}>
      <button type="button" className="sort" onClick={() => setAddress({ sort: key, down: sort === key && down ? "0" : "1" })}>{name}<span aria-hidden="true">{sort === key ? (down ? " ↓" : " ↑") : ""}</span></button>
    </th>
  );
  const drawn = chosen.includes(text("draw")) ? text("draw") : chosen[0];
  return (
    <>
      <section className="panel" aria-label="Filters">
        <div className="filters">
          <input type="search" aria-label="Search runs, stages, tags" placeholder="Search runs, stages, tags" value={filter.search} onChange={(event) => setAddress({ search: event.target.value })} />
          {select("operation", "operation", "Operation", "any operation")}
          {select("workers", "workers", "Workers", "any workers")}
          {select("state", "state", "State", "any state")}
          {select("verdict", "verdict", "Verdict", "any verdict")}
          <label className="check"><input type="checkbox" checked={filter.setup === true} onChange={(event) => setAddress({ setup: event.target.checked ? "1" : "" })} /> init, prepare, cleanup</label>
          <span className="actions right">
            <button type="button" className="button" onClick={() => void copyText(location.href).then((done) => say(done ? "The link to this view is copied" : "The browser does not let this page copy", done ? "good" : "bad"))}>Copy the link</button>
            <button type="button" className="button" onClick={() => save("performance.csv", new Blob([csv()], { type: "text/csv" }))}>Save CSV</button>
          </span>
        </div>
        <details className="metrics">
          <summary>Metrics: {chosen.map(metricName).join(", ") || "none"}</summary>
          <div className="checks">
            {metrics.map((metric) => (
              <label key={metric} className="check"><input type="checkbox" checked={chosen.includes(metric)} onChange={() => toggle(metric)} /> {metricName(metric)}</label>
            ))}
          </div>
        </details>
      </section>
      {drawn && shown.length > 1 && (
        <section className="panel" aria-label="Over the runs">
          <h2 className="visually-hidden">Over the runs</h2>
          {chosen.length > 1 && (
            <div role="group" aria-label="Drawn metric" className="segments">
              {chosen.map((one) => <button key={one} type="button" aria-pressed={one === drawn} onClick={() => setAddress({ draw: one })}>{metricName(one)}</button>)}
            </div>
          )}
          <Chart key={drawn} model={trend(shown, drawn)} wide heading="h3" />
        </section>
      )}
      <section className="panel" aria-label="Stages of the history">
        <p className="soft" role="status">{shown.length} of {flat.length} rows{shown.length > MOST_ROWS && `, the first ${MOST_ROWS} are shown; the CSV has all`}</p>
        {shown.length === 0 ? <Empty title="No row fits these filters."><p><button type="button" className="button" onClick={() => setAddress({ search: "", operation: "", state: "", verdict: "", workers: "" })}>Show all</button></p></Empty> : (
          <div className="scroll" role="region" aria-label="Performance matrix" tabIndex={0}>
            <table>
              <thead><tr>{head("run", "run", true)}{head("name", "workload", true)}{head("stage", "stage", true)}{head("operation", "operation", true)}{head("workers", "workers")}{chosen.filter((one) => one !== "workers").map((one) => head(one, metricName(one)))}{head("verdict", "verdict", true)}{head("started", "started", true)}</tr></thead>
              <tbody>
                {shown.slice(0, MOST_ROWS).map((row, at) => (
                  <tr key={at}>
                    <td className="text"><Link href={`${runPage(String(row["run"]))}#stage=${encodeURIComponent(String(row["stage"] ?? ""))}`}>{row["run"]}</Link></td>
                    <td className="text">{row["name"]}</td>
                    <td className="text">{row["stage_name"] ?? row["stage"]}</td>
                    <td className="text">{row["operation"]}</td>
                    <td>{row["workers"]}</td>
                    {chosen.filter((one) => one !== "workers").map((one) => { const value = typeof row[one] === "number" ? row[one] : null; return <td key={one} title={exact(value, unitOf(one))}>{short(value, unitOf(one))}</td>; })}
                    <td className="text"><VerdictMark verdict={typeof row["verdict"] === "string" ? row["verdict"] : null} /></td>
                    <td className="text">{typeof row["started"] === "string" ? moment(row["started"]) : "–"}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </section>
    </>
  );
}

/** One metric over the runs: a line for each workload, stage and operation. */
function trend(rows: Flat[], metric: string): LineModel {
  const ordered = sorted(rows, "started", false);
  const runs = [...new Set(ordered.map((row) => String(row["run"])))];
  const lines = new Map<string, [number, number | null][]>();
  const [operations, stages] = [valuesOf(rows, "operation").length, valuesOf(rows, "stage").length];
  for (const row of ordered) {
    const name = [row["name"], stages > 1 ? (row["stage_name"] ?? row["stage"]) : null, operations > 1 ? row["operation"] : null].filter(Boolean).join(" ");
    const points = lines.get(name) ?? [];
    points.push([runs.indexOf(String(row["run"])), typeof row[metric] === "number" ? row[metric] : null]);
    lines.set(name, points);
  }
  const kept = [...lines].sort((a, b) => b[1].length - a[1].length).slice(0, MOST_LINES);
  const dashes = ["solid", "dashed", "dotted"] as const;
  return {
    kind: "lines", x: "order", xNames: runs, id: `trend-${metric.replace(/\W/g, "-")}`, title: `${metricName(metric)} over the runs`, unit: unitOf(metric), mayLog: true, xEnd: runs.length - 1,
    lines: kept.map(([name, points], at): Line => ({ name, colour: at % 8, points, dash: dashes[Math.floor(at / 8) % 3]! })),
    hint: lines.size > kept.length ? `Oldest to newest; ${kept.length} of ${lines.size} lines, narrow the filters to see others.` : "Oldest to newest.",
  };
}
