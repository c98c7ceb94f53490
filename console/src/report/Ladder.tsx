// What limits the store: the sentence, the curve that it is from, and what speaks for and against each part.
import { useMemo } from "react";
import { Chart } from "../charts/Chart";
import { ladderCurve, ladderUse } from "../charts/nodes";
import { DataTable, type Column } from "../components/DataTable";
import type { LadderData, LadderStep, LadderUnit } from "../data/types";
import { exact, share, short } from "../format";

function interval(one: LadderUnit): string {
  const { ceiling_low_per_s: low, ceiling_high_per_s: high } = one;
  return low === null || high === null || low === high ? "" : `${short(low, "per_s")} to ${short(high, "per_s")}`;
}

const CANDIDATES: Column<LadderUnit>[] = [
  { head: "part", text: true, cell: (one) => (one.named ? <b>{one.name}</b> : one.name) },
  { head: "costs per operation", cell: (one) => short(one.demand_ms, "ms"), exact: (one) => exact(one.demand_ms, "ms") },
  { head: "no time left at", title: "Operations per second, predicted from the steps below 60 % of the plateau; without an interval by what an operation costs where the part is full", cell: (one) => short(one.ceiling_per_s, "per_s"), exact: (one) => exact(one.ceiling_per_s, "per_s") },
  { head: "95 % interval", cell: interval },
  { head: "busiest", title: "Share of the time at the step where it was busiest", cell: (one) => share(Math.max(0, ...one.busy.map((busy) => busy ?? 0))) },
  { head: "against it", text: true, cell: (one) => one.against.join("; ") || "–" },
];

const STEPS: Column<LadderStep>[] = [
  { head: "step", text: true, cell: (step) => step.name },
  { head: "in flight", cell: (step) => short(step.in_flight, "count") },
  { head: "op/s", cell: (step) => short(step.throughput_per_s, "per_s"), exact: (step) => exact(step.throughput_per_s, "per_s") },
  { head: "service time", cell: (step) => short(step.service_ms, "ms"), exact: (step) => exact(step.service_ms, "ms") },
];

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}

export function Ladder({ ladder }: { ladder: LadderData }) {
  const models = useMemo(() => (ladder.steps.length > 1 ? [ladderCurve(ladder), ladderUse(ladder)] : []), [ladder]);
  return (
    <div className="ladder" data-answer={ladder.answer}>
      <p><b>{sentence(ladder.text)}</b></p>
      <ul className="remarks">
        {ladder.second && <li>{sentence(ladder.second)}</li>}
        {ladder.refute && <li>To refute: {ladder.refute}.</li>}
        {ladder.skewed.map((one) => <li key={one}>{sentence(one)}</li>)}
      </ul>
      <div className="charts">{models.map((model) => <Chart key={model.id} model={model} heading="h3" />)}</div>
      {ladder.candidates.length > 0 && (
        <DataTable label="Parts of the store's machines" columns={CANDIDATES} rows={ladder.candidates} keyOf={(one) => one.name} />
      )}
      <details>
        <summary>The {ladder.steps.length} steps</summary>
        <DataTable label="Steps" columns={STEPS} rows={ladder.steps} keyOf={(step) => step.stage} />
      </details>
    </div>
  );
}

export function Ladders({ ladders }: { ladders: LadderData[] }) {
  if (!ladders.length) return null;
  return (
    <section aria-labelledby="limit">
      <h2 id="limit">What limits the store</h2>
      {ladders.map((one, at) => <Ladder key={at} ladder={one} />)}
    </section>
  );
}
