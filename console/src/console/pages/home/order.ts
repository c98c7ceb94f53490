// From "drop it there" to what the controller is asked: it knows only "directly before this run".
import type { QueueMove, RunSummary } from "../../../data/api";

export interface Place {
  side: "before" | "after";
  of: string;
}

function before(id: string, other: string): { id: string; move: QueueMove } {
  return { id, move: { priority: null, before: other } };
}

/** The moves to ask for, in this order; none where nothing changes. */
export function movesFor(runs: RunSummary[], id: string, place: Place): { id: string; move: QueueMove }[] {
  const others = runs.filter((run) => run.id !== id);
  const at = others.findIndex((run) => run.id === place.of);
  const from = runs.findIndex((run) => run.id === id);
  if (at < 0 || from < 0) return [];
  const to = place.side === "before" ? at : at + 1;
  if (to === from) return [];
  const behind = others[to];
  if (behind) return [before(id, behind.id)];
  // Behind all: before the last one, and then the last one before it.
  const last = others[others.length - 1]!;
  return [before(id, last.id), before(last.id, id)];
}
