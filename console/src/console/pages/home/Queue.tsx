// The runs that wait, in their order. They are moved by dragging, by keys (Enter on the handle, arrows, Enter), or by the
// buttons up and down; what the controller says then is what shows.
import { useState } from "react";
import { Link } from "wouter";
import { Button, GridList, GridListItem, useDragAndDrop } from "react-aria-components";
import type { RunSummary } from "../../../data/api";
import { call, ofRun } from "../../api";
import { runPage } from "../../paths";
import { CancelButton } from "../../run/actions";
import { useSession } from "../../session";
import { attempt } from "../../ui/notices";
import { Empty } from "../../ui/states";
import { Age } from "../../ui/time";
import { movesFor, type Place } from "./order";

export function Queue({ runs }: { runs: RunSummary[] }) {
  const { mayOperate } = useSession();
  const [busy, setBusy] = useState(false);

  const move = async (id: string, place: Place) => {
    if (busy) return;
    setBusy(true);
    await attempt(async () => {
      for (const one of movesFor(runs, id, place)) await call<unknown>("PATCH", ofRun(one.id, "/queue"), one.move);
    });
    setBusy(false);
  };

  const { dragAndDropHooks } = useDragAndDrop({
    getItems: (keys) => [...keys].map((key) => ({ "text/plain": String(key) })),
    onReorder: (event) => {
      const [id] = event.keys;
      if (id !== undefined) void move(String(id), { side: event.target.dropPosition === "before" ? "before" : "after", of: String(event.target.key) });
    },
    isDisabled: !mayOperate,
  });

  if (runs.length === 0) {
    return <Empty title="Nothing waits."><p>Runs that are submitted while others run wait here and can be put in order.</p></Empty>;
  }
  return (
    <GridList aria-label="Waiting runs, in their order" className="queue" items={runs} dependencies={[runs, busy, mayOperate]} dragAndDropHooks={dragAndDropHooks} disallowEmptySelection={false} keyboardNavigationBehavior="tab">
      {(run) => {
        const at = runs.findIndex((one) => one.id === run.id);
        return (
          <GridListItem id={run.id} textValue={`${run.name} ${run.id}`} className="queue-item">
            {mayOperate && <Button slot="drag" className="handle" aria-label={`Move ${run.name} ${run.id}`}><span aria-hidden="true">⠿</span></Button>}
            <span className="place">{at + 1}</span>
            <span className="queue-name">
              <Link href={runPage(run.id)}>{run.name}</Link> <span className="id">{run.id}</span>
              {run.tags.map((tag) => <span key={tag} className="tag">{tag}</span>)}
            </span>
            <span className="soft queue-facts">
              {run.waits_for && <span>{run.waits_for}</span>}
              {run.priority !== 0 && <span>priority {run.priority}</span>}
              {run.submitted && <Age at={run.submitted} />}
            </span>
            {mayOperate && (
              <span className="queue-buttons">
                <button type="button" className="button small" disabled={at === 0 || busy} aria-label={`Move ${run.id} up`} onClick={() => void move(run.id, { side: "before", of: runs[at - 1]!.id })}>↑</button>
                <button type="button" className="button small" disabled={at === runs.length - 1 || busy} aria-label={`Move ${run.id} down`} onClick={() => void move(run.id, { side: "after", of: runs[at + 1]!.id })}>↓</button>
                <CancelButton run={run} small />
              </span>
            )}
          </GridListItem>
        );
      }}
    </GridList>
  );
}
