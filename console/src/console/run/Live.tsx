// A run while it goes: verdict as it forms, figures of the last interval and so far, and the charts.
import { useMemo, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { Chart } from "../../charts/Chart";
import { ZoomContext } from "../../charts/context";
import type { RunSummary, StageNews } from "../../data/api";
import type { ReportData } from "../../data/types";
import { NodeCharts } from "../../report/Nodes";
import { StageView } from "../../report/StageView";
import { get, ofRun } from "../api";
import { operationNames } from "../../charts/stage";
import { clients, common, heat, percentileBy, percentiles, type Split } from "../live/charts";
import type { LiveRun } from "../live/run";
import type { LiveStage } from "../live/series";
import { Empty } from "../ui/states";
import { Cards, SoFar } from "./figures";
import { SizeTable, useSoFar } from "./SizeTable";
import { STAGE_ENDED, Timeline } from "./Timeline";
import { Forming } from "./Forming";

const WINDOWS: [string, number | null][] = [["all", null], ["5 min", 300], ["1 min", 60]];

export function Live({ run, live }: { run: RunSummary; live: LiveRun }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const stages = allStages(live.stages, useSoFar(run.id).data);
  const started = stages.filter((stage) => stage.load_started !== null);
  const current = stages.find((stage) => stage.id === run.stage) ?? started[started.length - 1] ?? stages[0];
  const shown = stages.find((stage) => stage.id === chosen) ?? current;
  const stage = shown ? live.live.get(shown.id) : undefined;
  const over = shown !== undefined && STAGE_ENDED.includes(shown.state);
  return (
    <>
      <Timeline stages={stages} run={run} shown={shown?.id ?? null} onShow={(id) => setChosen(id === current?.id ? null : id)} />
      <Forming verdict={live.verdict} />
      {shown && over && chosen !== null
        ? <Past id={run.id} stage={shown.id} drawn={live.stages.length} />
        : shown && stage
          ? <LiveCharts key={shown.id} run={run} stage={stage} drawn={live.drawn} planned={shown.planned_s} name={shown.id} />
          : (
            <section className="panel live-panel">
              <Empty title={shown ? `Stage ${shown.id} is ${shown.state}.` : "The run is about to begin."}>
                <p>Figures come with its first interval.</p>
              </Empty>
            </section>
          )}
    </>
  );
}

/** Stages that were told of, and those that are still to come. */
export function allStages(told: StageNews[], data: ReportData | undefined): StageNews[] {
  const known = new Set(told.map((one) => one.id));
  const coming = (data?.stages ?? []).map((one, index): StageNews => ({ id: one.id, index, state: one.state, load_started: null, planned_s: null, reason: one.reason }));
  return [...told, ...coming.filter((one) => !known.has(one.id))].sort((a, b) => a.index - b.index);
}

/** A stage that is over while others go on: from the archive so far, as the report shows it. */
function Past({ id, stage, drawn }: { id: string; stage: string; drawn: number }) {
  const query = useQuery({ queryKey: ["data", id, stage, drawn], queryFn: ({ signal }) => get<ReportData>(ofRun(id, "/data"), signal), staleTime: Infinity });
  const found = query.data?.stages.find((one) => one.id === stage);
  if (found) return <div className="past"><StageView stage={found} alone /></div>;
  return <section className="panel live-panel"><Empty title={query.isPending ? "The archive is being read." : "The archive does not have this stage yet."} /></section>;
}

interface ChartsProps {
  run: RunSummary;
  stage: LiveStage;
  drawn: number;
  planned: number | null;
  name: string;
}

function LiveCharts({ run, stage, drawn, planned, name }: ChartsProps) {
  const [range, setRange] = useState<[number, number] | null>(null);
  const [lastS, setLastS] = useState<number | null>(null);
  const [split, setSplit] = useState<Split>("operation");
  const [chosen, setChosen] = useState(0);
  const { operations } = stage;
  const names = operationNames(operations);
  const operation = operations[Math.min(chosen, operations.length - 1)];
  const label = names[Math.min(chosen, names.length - 1)] ?? "operations";
  const splits = (["driver", "endpoint"] as const).filter((by) => operations.some((one) => one.parts.some((part) => part.by === by)));

  // A window that moves with the time, unless one was chosen by hand.
  const shown = range ?? (lastS !== null && stage.endS > lastS ? ([stage.endS - lastS, stage.endS] as [number, number]) : null);
  const zoom = useMemo(() => ({ range: shown, set: (next: [number, number] | null) => { setRange(next); if (next === null) setLastS(null); } }), [shown?.[0], shown?.[1]]);

  // Notes, lost drivers, faults: from the archive, which is read now and then.
  const happened = useSoFar(run.id).data?.stages.find((one) => one.id === name)?.events;
  const models = useMemo(() => {
    stage.events = happened ?? [];
    const all = common(stage, split);
    const [response, others] = percentiles(stage, operation);
    const times = split === "operation" ? response : percentileBy(stage, split, operation);
    return [all[0]!, times, all[1]!, heat(stage, operation), ...all.slice(2), ...others];
    // `drawn` says that the bins changed.
  }, [stage, drawn, split, operation, happened]);

  const [driver, setDriver] = useState<string | null>(null);
  const machine = useMemo(() => clients(stage, driver), [stage, drawn, driver]);

  // Another value whenever the bins changed.
  const course = useMemo(() => ({ time: stage.time, phases: stage.phases, node_charts: stage.node_charts, node_gaps: stage.node_gaps }), [stage, drawn]);

  return (
    <section className="panel live-panel" aria-label={`Stage ${name}, live`}>
      <h2 className="visually-hidden">Stage {name}, live</h2>
      <Cards stage={stage} lost={run.stage === name ? (run.lost ?? []) : []} />
      <div className="live-tools">
        <div role="group" aria-label="Operation" className="segments">
          {names.map((one, at) => <button key={one} type="button" aria-pressed={one === label} onClick={() => setChosen(at)}>{one}</button>)}
        </div>
        {splits.length > 0 && (
          <div role="group" aria-label="Lines by" className="segments">
            {(["operation", ...splits] as const).map((one) => <button key={one} type="button" aria-pressed={split === one} onClick={() => setSplit(one)}>by {one}</button>)}
          </div>
        )}
        <div role="group" aria-label="Time shown" className="segments">
          {WINDOWS.map(([text, seconds]) => (
            <button key={text} type="button" aria-pressed={range === null && lastS === seconds} onClick={() => { setRange(null); setLastS(seconds); }}>{text}</button>
          ))}
        </div>
        {planned !== null && <span className="soft">{Math.round(stage.endS)} of {Math.round(planned)} s</span>}
      </div>
      <ZoomContext.Provider value={zoom}>
        <div className="charts">{models.map((model) => <Chart key={model.id.replace(/^p99-.*/, "times-response")} model={model} live />)}</div>
        {machine.length > 0 && (
          <>
            <h3>Load client</h3>
            {stage.clients.length > 1 && (
              <label className="live-tools">Driver{" "}
                <select value={driver ?? stage.clients[0]!.driver} onChange={(event) => setDriver(event.target.value)}>
                  {stage.clients.map((one) => <option key={one.driver}>{one.driver}</option>)}
                </select>
              </label>
            )}
            <div className="charts">{machine.map((model) => <Chart key={model.id.replace(/-.*/, "")} model={model} live />)}</div>
          </>
        )}
        {course.node_charts.length > 0 && (
          <>
            <h3>Machines of the store</h3>
            <NodeCharts course={course} live />
          </>
        )}
      </ZoomContext.Provider>
      <SoFar stage={stage} drawn={drawn} />
      <SizeTable id={run.id} stage={name} />
      {stage.leftOut > 0 && <p className="hint">{stage.leftOut} drivers or endpoints are not drawn one by one: there are too many. The report has them all.</p>}
    </section>
  );
}
