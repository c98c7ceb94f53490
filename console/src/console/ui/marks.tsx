// Small marks with a word each: colour never says it alone.
import type { RunSummary } from "../../data/api";

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

/** Progress of a run: whole stages that are over, and the part of the one that runs. */
export function progressOf(run: RunSummary): number | null {
  if (run.stages === 0) return null;
  return Math.min(1, (run.stages_done + (run.progress ?? 0)) / run.stages);
}

export function Progress({ value, label }: { value: number | null; label: string }) {
  const percent = value === null ? undefined : Math.round(value * 100);
  return (
    <span className="progress" role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={100} {...(percent === undefined ? {} : { "aria-valuenow": percent })}>
      <span style={{ width: `${percent ?? 0}%` }} />
    </span>
  );
}
