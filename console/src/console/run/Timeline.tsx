// The stages of a run, one after another: what is over, what runs and how far it is, what waits.
import type { RunSummary, StageNews } from "../../data/api";
import type { StageData } from "../../data/types";
import { clock, short } from "../../format";
import { useNow } from "../ui/time";

export const STAGE_ENDED = ["completed", "failed", "terminated", "aborted", "cancelled"];

/** How wide each stage is drawn: by its time. One whose time nobody knows gets a twentieth of what is known. */
export function widths(seconds: (number | null)[]): number[] {
  const known = seconds.filter((one): one is number => one !== null && one > 0);
  const all = known.reduce((sum, one) => sum + one, 0);
  return seconds.map((one) => (all === 0 ? 1 : one === null ? all / 20 : one));
}

/** Letters of a name that a narrow box shows. */
const BOX_LETTERS = 9;

/** Names as narrow boxes show them: where several begin alike, their ends tell them apart. */
export function boxNames(ids: string[]): string[] {
  const names = ids.map((id) => id.replace(/^s\d+-/, ""));
  return names.map((name) => {
    const alike = names.filter((one) => one !== name && one.slice(0, BOX_LETTERS - 1) === name.slice(0, BOX_LETTERS - 1));
    return name.length > BOX_LETTERS && alike.length > 0 ? `…${name.slice(1 - BOX_LETTERS)}` : name;
  });
}

interface Props {
  stages: StageNews[];
  data?: StageData[];
  run: RunSummary;
  shown?: string | null;
  onShow?(id: string): void;
}

export function Timeline({ stages, data, run, shown, onShow }: Props) {
  const now = useNow();
  const wide = widths(stages.map((stage) => stage.planned_s));
  const names = boxNames(stages.map((stage) => stage.id));
  // Many boxes are as narrow as a name; what they say stands under the pointer and in the tabs.
  const least = stages.length > 12 ? "3.6rem" : "5.2rem";
  return (
    <section className="timeline" aria-label="Stages">
      <ol>
        {stages.map((stage, at) => {
          const ended = STAGE_ENDED.includes(stage.state);
          const runs = stage.load_started !== null && !ended;
          const since = stage.load_started ? Math.max(0, (now - Date.parse(stage.load_started)) / 1000) : null;
          const own = run.stage === stage.id;
          const done = ended ? 1 : own && run.progress !== null ? run.progress : runs && stage.planned_s && since !== null ? Math.min(1, since / stage.planned_s) : 0;
          const left = runs ? (own && run.remaining_s !== null ? run.remaining_s : stage.planned_s && since !== null ? Math.max(0, stage.planned_s - since) : null) : null;
          const took = data?.[at]?.took_s ?? null;
          const note = ended ? (took === null ? stage.state : `${stage.state}, ${short(took, "s")}`)
            : runs ? (left === null ? `${stage.state}, ${clock(since ?? 0)}` : `${clock(Math.round(left))} left`)
            : stage.planned_s ? `${stage.state}, ${short(stage.planned_s, "s")}` : stage.state;
          return (
            <li key={stage.id} style={{ flexGrow: wide[at], minWidth: least }} className={`step ${stage.state}${runs ? " now" : ""}`}>
              <button type="button" aria-pressed={shown === stage.id} disabled={!onShow} onClick={() => onShow?.(stage.id)} title={stage.reason ?? `${stage.id}: ${note}`}>
                <span className="fill" style={{ width: `${done * 100}%` }} aria-hidden="true" />
                <span className="step-name">{names[at]}</span>
                <span className="step-note">{note}</span>
              </button>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
