// How a study stands, as a mark with a word.
import type { StudyState, StudySummary } from "../../data/api";
import { Progress } from "../ui/marks";

const WORDS: Record<StudyState, [string, string]> = {
  running: ["processing", "running"],
  stopping: ["cancelled", "stopping"],
  complete: ["finished", "complete"],
  stopped: ["queuing", "stopped"],
  budget_spent: ["cancelled", "budget spent"],
  trouble: ["failed", "could not go on"],
  cut_off: ["terminated", "cut off"],
  unreadable: ["failed", "cannot be read"],
};

export function StudyMark({ state }: { state: StudyState }) {
  const [look, word] = WORDS[state];
  return <span className={`mark state-${look}`}><span className="dot" aria-hidden="true" />{word}</span>;
}

/** Runs over of those planned, as a bar and in words. */
export function HowFar({ study }: { study: StudySummary }) {
  const share = study.planned === 0 ? null : Math.min(1, study.done / study.planned);
  return <Progress value={share} label={`${study.done} of ${study.planned} runs of ${study.id} are over`} />;
}

export function isUnderWay(state: StudyState): boolean {
  return state === "running" || state === "stopping";
}
