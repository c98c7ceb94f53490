// What was made to fail while a stage ran, what that cost, and everything else that happened.
import { Chart } from "../charts/Chart";
import { faultChart } from "../charts/faults";
import { DataTable, type Column } from "../components/DataTable";
import type { EventMark, FaultData, FaultFigureData, StageData } from "../data/types";
import { clock, exact, short, type Unit } from "../format";

function value(figure: FaultFigureData, number: number | null): string {
  if (number === null) return "–";
  return figure.unit === "share" ? `${Number((number * 100).toPrecision(3))} %` : short(number, figure.unit as Unit);
}

function columns(fault: FaultData): Column<FaultFigureData>[] {
  return [
    { head: "figure", text: true, cell: (figure) => figure.title },
    { head: "mean", cell: (figure) => value(figure, figure.mean), exact: (figure) => (figure.mean === null ? (figure.reason ?? "") : exact(figure.mean, figure.unit as Unit)) },
    { head: "95 % interval", title: "Student, over the slots that have it", cell: (figure) => (figure.low === null || figure.high === null ? "–" : `${value(figure, figure.low)} to ${value(figure, figure.high)}`) },
    ...fault.slots.map((slot): Column<FaultFigureData> => ({
      head: `slot ${slot.number}`, cell: (figure) => value(figure, slot.values[fault.figures.indexOf(figure)] ?? null),
    })),
    { head: "why not", text: true, cell: (figure) => figure.reason ?? "" },
  ];
}

export function Faults({ stage }: { stage: StageData }) {
  if (!stage.faults.length) return null;
  return (
    <div className="faults">
      <h3>What the faults cost</h3>
      {stage.faults.map((fault) => (
        <div key={fault.id}>
          <div className="charts"><Chart model={faultChart(fault)} wide /></div>
          {fault.slots.filter((slot) => slot.void !== null).map((slot) => (
            <p key={slot.number} className="problem">Slot {slot.number} of <b>{fault.name}</b> is void: {slot.void}</p>
          ))}
          <DataTable label={`Figures of ${fault.name}`} columns={columns(fault)} rows={fault.figures} keyOf={(figure) => figure.title} />
          <ul className="remarks">
            {fault.slots.filter((slot) => slot.proof !== null).map((slot) => <li key={`p${slot.number}`}>slot {slot.number}: proved: {slot.proof}</li>)}
            {fault.quiet && <li>{fault.quiet}</li>}
            {fault.proxy && <li>{fault.proxy}</li>}
            {fault.remarks.map((one) => <li key={one}>{one}</li>)}
          </ul>
        </div>
      ))}
    </div>
  );
}

const EVENTS: Column<EventMark>[] = [
  { head: "when", cell: (event) => clock(event.at_s), exact: (event) => `${event.at_s} s after the load began` },
  { head: "what", text: true, cell: (event) => event.kind },
  { head: "", text: true, cell: (event) => event.text },
];

/** The timeline; that a stage began and ended alone is not worth a table. */
export function Events({ stage }: { stage: StageData }) {
  if (!stage.events.some((event) => event.kind !== "stage")) return null;
  return (
    <div className="events">
      <h3>What happened</h3>
      <DataTable label="What happened" columns={EVENTS} rows={stage.events} keyOf={(event, at) => `${at} ${event.at_s}`} />
    </div>
  );
}
