// The runs that are at work, each with how far it is.
import { Link } from "wouter";
import type { RunSummary } from "../../../data/api";
import { runPage } from "../../paths";
import { clock, share } from "../../../format";
import { CancelButton } from "../../run/actions";
import { Empty } from "../../ui/states";
import { leftOf, Progress, progressOf, VerdictMark } from "../../ui/marks";
import { lasted, useNow } from "../../ui/time";
import { JoinCommand } from "./Join";

export function Running({ runs, waiting, drivers }: { runs: RunSummary[]; waiting: number; drivers: number }) {
  const now = useNow();
  if (runs.length === 0) {
    if (drivers === 0) {
      return (
        <Empty title="Nothing runs, and no driver is there to run it."><JoinCommand /></Empty>
      );
    }
    return (
      <Empty title="Nothing runs.">
        {waiting > 0 ? <p>The next run of the queue begins in a moment.</p> : <p><Link href="/submit">Submit a workload</Link></p>}
      </Empty>
    );
  }
  return (
    <ul className="runs">
      {runs.map((run) => {
        const progress = progressOf(run, now);
        return (
          <li key={run.id} className="run-card">
            <div className="run-line">
              <Link href={runPage(run.id)} className="run-name">{run.name} <span className="id">{run.id}</span></Link>
              <VerdictMark verdict={run.verdict} reason={run.verdict_reason} forming />
              <CancelButton run={run} small />
            </div>
            <Progress value={progress} label={`Progress of ${run.name}`} />
            <p className="run-facts soft">
              <span>{run.stage ? `stage ${run.stage}, ${run.stages_done + 1} of ${run.stages}` : "about to begin"}</span>
              {progress !== null && <span>{share(progress)}</span>}
              {run.remaining_s !== null && run.stages > 1 && <span>{clock(Math.ceil(run.remaining_s))} left of this stage</span>}
              {leftOf(run, now) && <span>{leftOf(run, now)}</span>}
              <span>running for {lasted(run.started, null, now)}</span>
              {run.drivers.length > 0 && <span title={run.drivers.join(", ")}>{run.drivers.length} driver{run.drivers.length === 1 ? "" : "s"}</span>}
            </p>
          </li>
        );
      })}
    </ul>
  );
}
