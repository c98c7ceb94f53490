// What was run, on what, and what this report cannot show.
import { useState } from "react";
import { copyText } from "../components/files";
import type { ReportData } from "../data/types";
import { moment } from "../format";

export function Configuration({ data }: { data: ReportData }) {
  const { run, workload, notes } = data;
  const [said, setSaid] = useState("");
  const facts: [string, string | null][] = [
    ["run", `${run.id} in ${run.directory}`],
    ["state", run.state],
    ["submitted", moment(run.submitted)],
    ["started", moment(run.started)],
    ["ended", moment(run.ended)],
    ["seed", run.seed],
    ["measured by", run.made_by ?? `Cosmark ${run.cosmark}`],
    ["drivers", run.drivers],
    ["machine", run.hostname],
    // 0 of runs that do not say it.
    ["processors", run.cpus > 0 ? String(run.cpus) : null],
    ["kernel", run.kernel],
  ];
  const copy = async () => {
    setSaid((await copyText(workload ?? "")) ? "Copied" : "The browser does not let this page copy");
    setTimeout(() => setSaid(""), 2500);
  };
  return (
    <section aria-labelledby="configuration">
      <h2 id="configuration">Configuration</h2>
      <div className="split">
        <dl className="facts">
          {facts.filter(([, value]) => value).map(([name, value]) => (
            <div key={name}><dt>{name}</dt><dd>{value}</dd></div>
          ))}
        </dl>
        {workload === null ? (
          <p className="empty">{run.made_by ? "COSBench's configuration may hold secrets and is not shown." : "The archive has no workload.yaml."}</p>
        ) : (
          <div className="workload">
            <div className="tools">
              <h3>workload.yaml, secrets removed</h3>
              <button type="button" onClick={() => void copy()}>Copy</button>
              <span role="status">{said}</span>
            </div>
            <pre tabIndex={0} role="region" aria-label="workload.yaml">{workload}</pre>
          </div>
        )}
      </div>
      {notes.length > 0 && (
        <>
          <h3>Not shown</h3>
          <ul className="notes">{notes.map((note) => <li key={note}>{note}</li>)}</ul>
        </>
      )}
    </section>
  );
}
