// The stages as tabs: arrow keys go from one to the next.
import { useEffect, useRef, type KeyboardEvent } from "react";
import type { StageData } from "../data/types";

export function StageTabs(props: { stages: StageData[]; shown: string; onShow(id: string): void }) {
  const { stages, shown, onShow } = props;
  const strip = useRef<HTMLDivElement>(null);
  // Of many stages the one that is shown may lie beyond the edge; the page itself stays where it is.
  useEffect(() => {
    const tab = document.getElementById(`tab-${shown}`);
    if (!strip.current || !tab) return;
    const [outer, own] = [strip.current.getBoundingClientRect(), tab.getBoundingClientRect()];
    if (own.left < outer.left || own.right > outer.right) strip.current.scrollLeft += own.left - outer.left - 24;
  }, [shown]);
  const keys = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const at = stages.findIndex((stage) => stage.id === shown);
    const next = event.key === "Home" ? 0 : event.key === "End" ? stages.length - 1 : step ? (at + step + stages.length) % stages.length : -1;
    const stage = stages[next];
    if (!stage) return;
    event.preventDefault();
    onShow(stage.id);
    document.getElementById(`tab-${stage.id}`)?.focus();
  };
  return (
    <div ref={strip} className="tabs" role="tablist" aria-label="Stages" onKeyDown={keys}>
      {stages.map((stage) => (
        <button
          key={stage.id}
          id={`tab-${stage.id}`}
          type="button"
          role="tab"
          aria-selected={stage.id === shown}
          aria-controls="stage"
          tabIndex={stage.id === shown ? 0 : -1}
          onClick={() => onShow(stage.id)}
          className={stage.setup ? "setup" : ""}
        >
          <span className={`dot ${stage.state}`} aria-hidden="true" />
          {stage.name}
          {stage.state !== "completed" && <span className="soft"> {stage.state}</span>}
        </button>
      ))}
    </div>
  );
}
