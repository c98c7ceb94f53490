// Small marks with a word each: colour never says it alone.
import type { RunSummary } from "../../data/api";
import { clock, moment } from "../../format";

const VERDICTS: Record<string, [string, string]> = {
  true: ["✓", "true"],
  true_with_limits: ["!", "true with limits"],
  not_proven: ["?", "not proven"],
  false: ["✕", "false"],
};

export function VerdictMark({ verdict, reason, forming }: { verdict: string | null; reason?: string | null; forming?: boolean }) {
  if (verdict === null) return <span className="soft">{forming ? "no verdict yet" : "–"}</span>;
  const [sign, word] = VERDICTS[verdict] ?? ["?", verdict];
  return <span className={`mark verdict-${verdict}`} title={reason ?? undefined}><span aria-hidden="true">{sign}</span> {word}</span>;
}

const STATES: Record<string, string> = { queuing: "waits", processing: "running" };

export function StateMark({ state }: { state: string }) {
  return <span className={`mark state-${state}`}><span className="dot" aria-hidden="true" />{STATES[state] ?? state}</span>;
}

/** Progress of a run by time: what has gone by of that and of what is left, as far as stages say how long they last. Where none
 * does: whole stages that are over, and the part of the one that runs. */
export function progressOf(run: RunSummary, now: number): number | null {
  const gone = run.started === null ? NaN : (now - Date.parse(run.started)) / 1000;
  if (run.left_s !== null && Number.isFinite(gone) && (run.left_s > 0 || run.left_open === 0)) {
    const all = Math.max(0, gone) + run.left_s;
    return all > 0 ? Math.max(0, gone) / all : 1;
  }
  if (run.stages === 0) return null;
  return Math.min(1, (run.stages_done + (run.progress ?? 0)) / run.stages);
}

/** What is left and when that is over by the clock: `23:58:20 left, until 2026-01-06 08:00:01 UTC`; with stages of unknown length it
 * is the least. */
export function leftOf(run: RunSummary, now: number): string | null {
  if (run.left_s === null || (run.left_s === 0 && run.left_open > 0)) return null;
  const end = moment(new Date(now + run.left_s * 1000).toISOString());
  const left = clock(Math.ceil(run.left_s));
  return run.left_open > 0 ? `at least ${left} left, not before ${end}` : `${left} left, until ${end}`;
}

export function Progress({ value, label }: { value: number | null; label: string }) {
  const percent = value === null ? undefined : Math.round(value * 100);
  return (
    <span className="progress" role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={100} {...(percent === undefined ? {} : { "aria-valuenow": percent })}>
      <span style={{ width: `${percent ?? 0}%` }} />
    </span>
  );
}
