// One stage: headline, figures by operation, charts, parts, failures, and the machines that made the load.
import { useMemo, useState } from "react";
import { Chart } from "../charts/Chart";
import { ZoomContext } from "../charts/context";
import type { ChartModel } from "../charts/model";
import * as charts from "../charts/stage";
import type { GroupData, OperationData, StageData } from "../data/types";
import { exact, grouped, share, short, type Unit } from "../format";
import { conditions, figures, leading } from "./figures";
import { Consistency } from "./Consistency";
import { Events, Faults } from "./Faults";
import { Fill } from "./Fill";
import { Nodes } from "./Nodes";
import { OperationsTable, type FigureRow } from "./OperationsTable";
import { Spent } from "./Spent";

export function StageView({ stage, alone }: { stage: StageData; alone: boolean }) {
  const [range, setRange] = useState<[number, number] | null>(null);
  const zoom = useMemo(() => ({ range, set: setRange }), [range]);
  const names = charts.operationNames(stage.operations);
  const rows: FigureRow[] = stage.operations.map((one, at) => ({ label: names[at]!, totals: one }));
  return (
    <section id="stage" className="stage" role={alone ? undefined : "tabpanel"} aria-labelledby={alone ? "stage-title" : `tab-${stage.id}`}>
      <div className="stage-head">
        <h2 id="stage-title">{stage.name}</h2>
        <p className="soft">{conditions(stage, (s) => short(s, "s"))}</p>
      </div>
      {stage.reason && <p className="problem">This stage is <b>{stage.state}</b>: {stage.reason}</p>}
      {stage.operations.length === 0 ? (
        <p className="empty">{stage.state === "aborted" ? "This stage never began: an earlier one stopped the run." : "This stage has no results: it only waited, or it did not get as far as its load."}</p>
      ) : (
        <ZoomContext.Provider value={zoom}>
          <Headline stage={stage} names={names} />
          <h3>By operation, response time</h3>
          <OperationsTable label="Figures by operation" first="operation" rows={rows} />
          <Remarks stage={stage} names={names} />
          <Fill stage={stage} />
          <Spent stage={stage} />
          <Faults stage={stage} />
          <Consistency stage={stage} />
          <Charts stage={stage} names={names} />
          <Events stage={stage} />
          <Nodes stage={stage} />
          <Parts stage={stage} names={names} />
          <Failures stage={stage} names={names} />
          <Clients stage={stage} />
        </ZoomContext.Provider>
      )}
    </section>
  );
}

function Card(props: { label: string; value: string; title?: string; lines: (string | false | null)[]; bad?: boolean }) {
  return (
    <div className="card">
      <h3>{props.label}</h3>
      <p className="big" title={props.title}>{props.value}</p>
      {props.lines.filter(Boolean).map((line) => <p key={String(line)} className={props.bad ? "failed" : ""}>{line}</p>)}
    </div>
  );
}

/** Ten times lie beyond the median, or beyond the 99th percentile. */
const LEAST_FOR_MEDIAN = 20;
const LEAST_FOR_P99 = 1000;

/** What the large figure of response times is. */
function whatItIs(one: OperationData): string {
  const times = one.response_ms;
  if (times === null) return one.count > 0 ? "not measured" : "no operation succeeded";
  if (times.p50 !== null) return "median";
  // COSBench and fio do not say it, however many there were.
  return times.count < LEAST_FOR_MEDIAN ? "mean; too few for a median" : "mean; no median is known";
}

/** The numbers that are quoted; a rate never without its share of failures. */
function Headline({ stage, names }: { stage: StageData; names: string[] }) {
  const nameOf = (one: OperationData) => names[stage.operations.indexOf(one)] ?? one.name;
  const sums = figures(stage);
  const ended = sums.count + sums.failures;
  const lost = sums.uncounted.map(nameOf).join(", ");
  const failed = lost ? `${sums.uncounted.some((one) => one.count > 0) ? "nearly all" : "all"} failed of ${lost}, nobody counted how many` : sums.failedShare === null ? "nothing ended" : `${share(sums.failedShare)} failed (${grouped(sums.failures)} of ${grouped(ended)})`;
  const moved = stage.operations.filter((one) => (one.bandwidth_bytes_per_s ?? 0) > 0);
  return (
    <div className="cards">
      <Card label="Operations per second" value={short(sums.throughput, "per_s")} title={exact(sums.throughput, "per_s")} lines={[failed]} bad={sums.failures > 0 || lost !== ""} />
      {moved.length > 0 && (
        <Card
          label="Bandwidth"
          value={short(sums.bandwidth, "bytes_per_s")}
          title={exact(sums.bandwidth, "bytes_per_s")}
          lines={moved.length > 1 ? moved.slice(0, 3).map((one) => `${nameOf(one)} ${short(one.bandwidth_bytes_per_s, "bytes_per_s")}`) : ["of bodies, without headers"]}
        />
      )}
      {leading(stage, 2).map((one) => {
        const times = one.response_ms;
        return (
          <Card
            key={`${one.work} ${one.tag}`}
            label={`Response time, ${nameOf(one)}`}
            value={short(times?.p50 ?? times?.mean, "ms")}
            title={exact(times?.p50 ?? times?.mean, "ms")}
            lines={[
              whatItIs(one),
              times !== null && [["p95", times.p95], ["p99", times.p99], ["max", times.max]]
                .filter(([, value]) => value !== null)
                .map(([name, value]) => `${name}\u00a0${short(value as number, "ms")}`)
                .join(" · "),
            ]}
          />
        );
      })}
      <Card
        label="In flight"
        value={short(sums.inFlight, "count")}
        title={exact(sums.inFlight, "count")}
        lines={[`mean, of ${grouped(sums.workers)} worker${sums.workers === 1 ? "" : "s"}`, sums.intended !== null && `${grouped(sums.intended)} ${sums.intended === 1 ? "arrival was" : "arrivals were"} due`]}
      />
    </div>
  );
}

/** A remark about several arrivals, logins or requests as it stands for one. */
function ofOne(text: string): string {
  return text
    .replace(/^(\w+)s /, "$1 ")
    .replace(/^(\w+) were /, "$1 was ")
    .replace("was retries", "was a retry")
    .replace("their response time counts from when they were due", "its response time counts from when it was due")
    .replace("they are in no rate", "it is in no rate");
}

/** What the figures alone do not say. */
function Remarks({ stage, names }: { stage: StageData; names: string[] }) {
  const remarks: string[] = [];
  stage.operations.forEach((one, at) => {
    const of = (n: number) => (one.intended ? ` (${share(n / one.intended)} of those due)` : "");
    const say = (n: number, text: string) => n > 0 && remarks.push(`${names[at]}: ${grouped(n)} ${n === 1 ? ofOne(text) : text}`);
    say(one.missed, `arrivals were dropped because no worker was free${of(one.missed)}; the rate that was asked for was not offered.`);
    say(one.delayed, `arrivals had to wait for a free worker${of(one.delayed)}; their response time counts from when they were due.`);
    if (one.missed + one.delayed > 0 || one.intended !== null) {
      const age = one.unfinished_age_ms?.max;
      say(one.unfinished, `arrivals were not finished when the window ended${age ? `, the oldest ${short(age, "ms")} old` : ""}; they are in no rate and no percentile.`);
    }
    say(one.accepted_only, "writes were only accepted by the store, not yet complete.");
    say(one.renewals, "logins were made again.");
    say(one.retries, "requests were retries.");
  });
  const dashes = stage.operations.some(({ response_ms: times }) =>
    times !== null && ((times.p50 === null && times.count < LEAST_FOR_MEDIAN) || (times.p99 === null && times.count < LEAST_FOR_P99)));
  if (dashes) remarks.push("A dash: too few operations for that percentile, which needs ten beyond it (p99 needs 1000 operations).");
  const verified = stage.operations.reduce((sum, one) => sum + (one.sample === "read" ? one.checked : 0), 0);
  if (verified > 0) remarks.push(`${grouped(verified)} ${verified === 1 ? "body was" : "bodies were"} compared byte by byte with what was written.`);
  if (!remarks.length) return null;
  return <ul className="remarks">{remarks.map((one) => <li key={one}>{one}</li>)}</ul>;
}

/** Charts of the whole stage, then of one operation. */
function Charts({ stage, names }: { stage: StageData; names: string[] }) {
  const order = leading(stage, 1)[0];
  const [chosen, setChosen] = useState(Math.max(0, stage.operations.findIndex((one) => one === order)));
  const operation = stage.operations[chosen];
  const name = names[chosen] ?? "";
  const common = useMemo(
    () => [charts.throughput(stage), charts.bandwidth(stage), charts.distributions(stage), charts.errors(stage), charts.schedule(stage), charts.inFlight(stage), charts.drivers(stage)]
      .filter((one): one is NonNullable<typeof one> => one !== null),
    [stage],
  );
  const own = useMemo<ChartModel[]>(() => {
    if (!operation) return [];
    const named = { ...operation, name };
    const kinds = operation.latency.map((one) => charts.percentiles(stage, named, one));
    return [...kinds.slice(0, 1), charts.heat(stage, named), ...kinds.slice(1)];
  }, [stage, operation, name]);
  return (
    <>
      <h3>Over time and by percentile</h3>
      <div className="charts">{common.map((model) => <Chart key={model.id} model={model} />)}</div>
      <div className="choose">
        <h3>Times of one operation</h3>
        {stage.operations.length > 1 && (
          <div role="group" aria-label="Operation" className="segments">
            {names.map((name, at) => (
              <button key={name} type="button" aria-pressed={at === chosen} onClick={() => setChosen(at)}>{name}</button>
            ))}
          </div>
        )}
      </div>
      <div className="charts">{own.map((model) => <Chart key={model.id} model={model} />)}</div>
    </>
  );
}

const PARTS: [string, string, (one: OperationData) => GroupData[]][] = [
  ["By object size", "size", (one) => one.size_classes],
  ["By endpoint", "endpoint", (one) => one.endpoints],
  ["By driver", "driver", (one) => one.drivers],
];

function Parts({ stage, names }: { stage: StageData; names: string[] }) {
  return PARTS.map(([title, first, parts]) => {
    const rows: FigureRow[] = stage.operations.flatMap((one, at) =>
      parts(one).map((part) => ({ label: `${names[at]}, ${part.label}`, totals: part, workers: part.workers })),
    );
    if (!rows.length) return null;
    return (
      <div key={title}>
        <h3>{title}</h3>
        <OperationsTable label={title} first={first} rows={rows} />
      </div>
    );
  });
}

/** Failures by class and code, with the first texts. */
function Failures({ stage, names }: { stage: StageData; names: string[] }) {
  const rows = stage.operations.map((one, at) => ({ one, name: names[at]! })).filter(({ one }) => one.failures > 0);
  if (!rows.length) return null;
  const list = (counts: Record<string, number | undefined>) =>
    Object.entries(counts).sort((a, b) => (b[1] ?? 0) - (a[1] ?? 0)).map(([label, n]) => `${label} ${grouped(n ?? 0)}`).join(", ");
  return (
    <div className="failures">
      <h3>Failures</h3>
      {rows.map(({ one, name }) => (
        <div key={one.tag}>
          <p>
            <b>{name}</b>: {grouped(one.failures)} of {grouped(one.count + one.failures)} failed
            {" "}(<span className="failed">{share(one.failures / Math.max(1, one.count + one.failures))}</span>)
            {Object.keys(one.errors).length > 0 && <>: {list(one.errors)}</>}
            {Object.keys(one.error_codes).length > 0 && <>; the store said {list(one.error_codes)}</>}
            {one.failed_service_ms?.mean != null && <>; they took {short(one.failed_service_ms.mean, "ms")} on average</>}.
          </p>
          {one.error_examples.length > 0 && (
            <ul className="examples">{one.error_examples.slice(0, 5).map((text, at) => <li key={at}><code>{text}</code></li>)}</ul>
          )}
        </div>
      ))}
    </div>
  );
}

function Clients({ stage }: { stage: StageData }) {
  return stage.clients.map((client) => (
    <div key={client.driver} className="client">
      <h3>Load client {client.driver}</h3>
      <p className="hint">What the client itself was doing: a busy or paused client adds its own time to the store's.</p>
      <dl className="facts columns">
        {client.facts.filter((fact) => fact.value !== null).map((fact) => (
          <div key={fact.name}><dt>{fact.name}</dt><dd>{short(fact.value, fact.unit as Unit)}</dd></div>
        ))}
      </dl>
      <div className="charts">{charts.clientCharts(stage, client).map((model) => <Chart key={model.id} model={model} />)}</div>
    </div>
  ));
}
