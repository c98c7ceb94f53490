// The machines of the store: what they were busy with in the measured window, and over time.
import { useMemo } from "react";
import { Chart } from "../charts/Chart";
import { nodeCharts, type NodeCourse } from "../charts/nodes";
import { DataTable, type Column } from "../components/DataTable";
import type { Fact, NodeData, NodeUnit } from "../data/types";
import { exact, share, short, type Unit } from "../format";

/** Units that are listed of one machine: the busiest of each kind. */
const MOST_UNITS = 4;

function unit(one: NodeUnit): string {
  const queue = one.queue === null ? "" : `, queue ${short(one.queue, "count")}`;
  const waiting = one.waiting === null ? "" : `, waited for ${share(one.waiting)} of the time`;
  return `${one.kind}${one.name ? ` ${one.name}` : ""} ${share(one.busy)}${queue}${waiting}`;
}

const COLUMNS: Column<NodeData>[] = [
  { head: "machine", text: true, cell: (node) => node.name },
  { head: "role", text: true, cell: (node) => node.role },
  {
    head: "busiest parts", text: true, title: "Share of the measured window: the busiest of each kind",
    cell: (node) => node.busiest.length === 0 ? "–" : node.busiest.slice(0, MOST_UNITS).map((one) => <div key={one.kind + one.name}>{unit(one)}</div>),
  },
  { head: "received", cell: (node) => short(node.received_bytes_per_s, "bytes_per_s"), exact: (node) => exact(node.received_bytes_per_s, "bytes_per_s") },
  { head: "sent", cell: (node) => short(node.sent_bytes_per_s, "bytes_per_s"), exact: (node) => exact(node.sent_bytes_per_s, "bytes_per_s") },
  { head: "from", text: true, cell: (node) => node.source },
  { head: "remarks", text: true, cell: (node) => node.remarks.join("; ") || "–" },
];

/** A machine of which nothing is known, not even why: a row of dashes. */
export function saysNothing(node: NodeData): boolean {
  return node.busiest.length === 0 && node.received_bytes_per_s === null && node.sent_bytes_per_s === null && node.remarks.length === 0;
}

/** Their charts alone, also while a run goes on. */
export function NodeCharts({ course, live = false }: { course: NodeCourse; live?: boolean }) {
  const roles = useMemo(() => nodeCharts(course), [course]);
  return (
    <>
      {course.node_gaps.map((gap) => (
        <p key={`${gap.node} ${gap.from_s}`} className="problem">
          <b>{gap.node}</b> did not answer from {short(gap.from_s, "s")} to {short(gap.to_s, "s")} after the load began: {gap.why}
        </p>
      ))}
      {roles.map(({ role, charts }) => (
        <div key={role}>
          <h4>{role}</h4>
          <div className="charts">{charts.map((model) => <Chart key={model.id} model={model} live={live} heading="h4" />)}</div>
        </div>
      ))}
    </>
  );
}

export function Nodes({ stage }: { stage: NodeCourse & { nodes: NodeData[]; node_costs: Fact[] } }) {
  if (!stage.nodes.length && !stage.node_charts.length) return null;
  const shown = stage.nodes.filter((node) => !saysNothing(node));
  const silent = stage.nodes.length - shown.length;
  return (
    <div className="nodes">
      <h3>Machines of the store</h3>
      {silent > 0 && <p className="hint">{silent === 1 ? "One machine has" : `${silent} machines have`} no figures of this stage and no row.</p>}
      {shown.length > 0 && (
        <DataTable label="Machines of the store" columns={COLUMNS} rows={shown} keyOf={(node) => `${node.role} ${node.name}`} />
      )}
      {stage.node_costs.length > 0 && (
        <dl className="facts columns">
          {stage.node_costs.map((fact) => (
            <div key={fact.name}><dt>{fact.name}</dt><dd title={exact(fact.value, fact.unit as Unit)}>{short(fact.value, fact.unit as Unit)}</dd></div>
          ))}
        </dl>
      )}
      <NodeCharts course={stage} />
    </div>
  );
}
