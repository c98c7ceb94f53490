// Name, state, times, and what can be done.
import { useState, type FormEvent } from "react";
import { useLocation } from "wouter";
import type { RunSummary } from "../../data/api";
import { apiPath, call, ofRun } from "../api";
import { runPage } from "../paths";
import type { LiveRun } from "../live/run";
import { useSession } from "../session";
import { attempt } from "../ui/notices";
import { leftOf, Progress, progressOf, StateMark, VerdictMark } from "../ui/marks";
import { share } from "../../format";
import { Moment, lasted, useNow } from "../ui/time";
import { CancelButton } from "./actions";
import { NoteButton } from "./NoteButton";

interface Props {
  run: RunSummary;
  live: LiveRun | null;
  onRetry: (() => void) | undefined;
  onChanged(): void;
}

export function Header({ run, live, onRetry, onChanged }: Props) {
  const { mayOperate } = useSession();
  const [, go] = useLocation();
  const now = useNow();
  const ended = live === null;
  const waiting = live !== null && live.connection.phase === "waiting";
  return (
    <header className="run-head">
      <div className="run-title">
        <h1>{run.name} <span className="id">{run.id}</span></h1>
        <p className="soft run-when">
          <StateMark state={run.state} />
          {!ended && run.verdict && <VerdictMark verdict={run.verdict} reason={run.verdict_reason} />}
          <span>{run.started ? <>began <Moment at={run.started} /></> : <>submitted <Moment at={run.submitted} /></>}</span>
          {run.started && (!ended || run.ended !== null) && <span className="figure">{ended ? "took" : "for"} {lasted(run.started, run.ended, now)}</span>}
          {run.submitted_by && <span>by {run.submitted_by}</span>}
          {waiting && <span className="trouble-line">not live: connection lost <button type="button" className="button small" onClick={onRetry}>Try now</button></span>}
        </p>
        {!ended && run.started && progressOf(run, now) !== null && (
          <p className="run-progress"><Progress value={progressOf(run, now)} label={`Progress of ${run.name}`} /> <span className="figure soft">{share(Math.floor(progressOf(run, now)! * 1000) / 1000)}</span> <span className="figure soft">{leftOf(run, now)}</span></p>
        )}
        <Tags run={run} onChanged={onChanged} />
      </div>
      <div className="actions">
        <NoteButton run={run} onNoted={onChanged} />
        {!ended && <CancelButton run={run} />}
        {ended && mayOperate && (
          <>
            <button
              type="button" className="button" aria-pressed={run.baseline}
              title="Others of this workload are compared with the baseline"
              onClick={() => void attempt(() => call("PUT", ofRun(run.id, "/baseline"), { baseline: !run.baseline }), run.baseline ? "No longer the baseline" : "This run is the baseline now").then(onChanged)}
            >
              {run.baseline ? "★ Baseline" : "☆ Baseline"}
            </button>
            <button
              type="button" className="button"
              onClick={() => void attempt(async () => go(runPage((await call<{ id: string }>("POST", ofRun(run.id, "/resubmit"))).id)), `${run.name} is in the queue`)}
            >
              Resubmit
            </button>
            <button type="button" className="button" onClick={() => go(`/submit/editor?from=${encodeURIComponent(run.id)}`)}>Edit and submit</button>
          </>
        )}
        {ended && (
          <>
            <button type="button" className="button" onClick={() => go(`/compare?runs=${encodeURIComponent(run.id)}`)}>Compare</button>
            <a className="button" href={apiPath(ofRun(run.id, "/report"))} target="_blank" rel="noreferrer">Report</a>
            <a className="button" href={apiPath(ofRun(run.id, "/archive.tar.gz"))} download={`${run.id}.tar.gz`}>Download</a>
          </>
        )}
      </div>
    </header>
  );
}

function Tags({ run, onChanged }: { run: RunSummary; onChanged(): void }) {
  const { mayOperate } = useSession();
  const [open, setOpen] = useState(false);
  const [text, setText] = useState("");
  const change = (add: string[], remove: string[]) => attempt(() => call("PUT", ofRun(run.id, "/tags"), { add, remove })).then(onChanged);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const tag = text.trim();
    setOpen(false);
    setText("");
    if (tag) void change([tag], []);
  };
  if (!mayOperate && run.tags.length === 0) return null;
  return (
    <div className="tags" role="group" aria-label="Tags">
      {run.tags.map((tag) => (
        <span key={tag} className="tag">
          {tag}
          {mayOperate && <button type="button" aria-label={`Take the tag ${tag} off`} onClick={() => void change([], [tag])}>✕</button>}
        </span>
      ))}
      {mayOperate && (open ? (
        <form onSubmit={submit}>
          <input aria-label="New tag" value={text} autoFocus onChange={(event) => setText(event.target.value)} onBlur={() => text === "" && setOpen(false)} onKeyDown={(event) => event.key === "Escape" && setOpen(false)} />
        </form>
      ) : <button type="button" className="tag add" onClick={() => setOpen(true)}>+ tag</button>)}
    </div>
  );
}
