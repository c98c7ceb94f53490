// What a study asks, what it has cost, and what can be done to it.
import { useState } from "react";
import { copyText } from "../../components/files";
import type { Study } from "../../data/api";
import { bytes, clock } from "../../format";
import { call } from "../api";
import { useSession } from "../session";
import { Confirm } from "../ui/Dialog";
import { attempt, say } from "../ui/notices";
import { lasted, Moment, useNow } from "../ui/time";
import { HowFar, isUnderWay, StudyMark } from "./marks";
import { ofStudy } from "./paths";

export function Head({ study, onChanged }: { study: Study; onChanged(): void }) {
  const { summary } = study;
  return (
    <section className="panel" aria-label="The study">
      <div className="run-head">
        <div className="run-title">
          <h1>{summary.title}</h1>
          <p className="run-when"><StudyMark state={summary.state} /><span className="soft">{summary.id}, scale {summary.scale || "–"}{summary.as_published ? ", as published" : ""}</span>{summary.begun && <span className="soft">begun <Moment at={summary.begun} /></span>}</p>
        </div>
        <Actions study={study} onChanged={onChanged} />
      </div>
      {summary.reason && <p className={summary.state === "trouble" || summary.state === "unreadable" ? "problem" : "note"} role="status">{summary.reason}</p>}
      {study.question && <p className="study-question">{study.question}</p>}
      {study.source && <p className="hint">Published numbers: {study.source}</p>}
      <Cost study={study} />
    </section>
  );
}

function Cost({ study: { summary, bytes: moved, unread } }: { study: Study }) {
  const now = useNow();
  const goes = isUnderWay(summary.state);
  const left = summary.left_s === null ? "–" : summary.done >= summary.planned ? "none" : `about ${clock(Math.round(summary.left_s))}`;
  return (
    <>
      <div className="cards study-cost">
        <div className="card"><h2 className="card-head">Runs that are over</h2><p className="big">{summary.done}<span className="soft"> of {summary.planned}</span></p><HowFar study={summary} /></div>
        <div className="card"><h2 className="card-head">Time of its runs so far</h2><p className="big">{clock(Math.round(summary.spent_s))}</p><p>{goes ? "" : "it does not run"}</p></div>
        <div className="card"><h2 className="card-head">Time left</h2><p className="big">{left}</p><p>estimated, corrected by what is over</p></div>
        <div className="card"><h2 className="card-head">Moved by its operations</h2><p className="big">{bytes(moved)}</p><p>{unread > 0 ? `without ${unread} runs that are being read` : "to and from the stores"}</p></div>
        <div className="card"><h2 className="card-head">Failed</h2><p className={summary.failed > 0 ? "big failed" : "big"}>{summary.failed}</p><p>{summary.failed > 0 ? "--retry runs them once more" : "of the runs that are over"}</p></div>
      </div>
      {summary.under_way && (
        <p className="note under-way">
          {goes ? "Running" : "Cut off"}: <b>{summary.under_way}</b>{goes && summary.under_way_since ? `, for ${lasted(summary.under_way_since, null, now)}` : ""}
          {!goes && ": it is run again from its beginning when the study goes on"}
        </p>
      )}
    </>
  );
}

function Actions({ study, onChanged }: { study: Study; onChanged(): void }) {
  const { mayOperate } = useSession();
  const [asks, setAsks] = useState<"stop" | "go" | null>(null);
  const [busy, setBusy] = useState(false);
  const { summary } = study;
  if (!mayOperate) return null;
  const goes = isUnderWay(summary.state);
  const command = study.command;
  const post = async (what: string, done: string) => {
    setBusy(true);
    await attempt(() => call("POST", ofStudy(summary.id, `/${what}`)), done);
    setBusy(false);
    onChanged();
  };
  return (
    <div className="actions">
      {goes && <button type="button" className="button danger-text" disabled={busy || summary.state === "stopping"} onClick={() => setAsks("stop")}>{summary.state === "stopping" ? "Stopping" : "Stop"}</button>}
      {!goes && summary.state !== "complete" && study.may_go_on && <button type="button" className="button primary" disabled={busy} onClick={() => setAsks("go")}>Go on</button>}
      {!goes && command && (
        <button type="button" className="button" title={command} onClick={() => void copyText(command).then((done) => say(done ? "The command that goes on is copied" : "The browser does not let this page copy", done ? "good" : "bad"))}>Copy the command</button>
      )}
      <Confirm
        title={`Stop ${summary.title}?`} open={asks === "stop"} onClose={() => setAsks(null)} action="Stop the study" keep="Let it run"
        onConfirm={() => post("stop", `${summary.id} is asked to stop`)}
      >
        The cell that runs ends and removes what it wrote; it is run again from its beginning when the study goes on. What is over stays.
      </Confirm>
      <Confirm
        title={`Go on with ${summary.title}?`} open={asks === "go"} onClose={() => setAsks(null)} action="Go on" keep="Not now"
        onConfirm={() => post("go-on", `${summary.id} goes on`)}
      >
        <p>The controller runs, on its own machine and as its own user:</p>
        <p className="command"><code>{command}</code></p>
      </Confirm>
    </div>
  );
}
