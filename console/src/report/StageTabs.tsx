// The stages as tabs: arrow keys go from one to the next.
import type { KeyboardEvent } from "react";
import type { StageData } from "../data/types";

export function StageTabs(props: { stages: StageData[]; shown: string; onShow(id: string): void }) {
  const { stages, shown, onShow } = props;
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
    <div className="tabs" role="tablist" aria-label="Stages" onKeyDown={keys}>
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
