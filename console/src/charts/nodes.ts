// The machines of the store: their charts over time as the data lists them, and the ladder that shows what limits the store.
import type { EventMark, LadderData, NodeChartData, NodeGap, PhaseSpan, TimeAxis } from "../data/types";
import type { Unit } from "../format";
import type { Line, LineModel } from "./model";
import { over, points } from "./stage";

/** What is drawn of the machines during a stage. */
export interface NodeCourse {
  time: TimeAxis | null;
  phases: PhaseSpan[];
  events?: EventMark[];
  node_charts: NodeChartData[];
  node_gaps: NodeGap[];
}

const DASHES = ["solid", "dashed", "dotted"] as const;

/** Stretches in which a machine of a role did not answer, as the charts over time show phases. */
function gaps(course: NodeCourse, role: string): NonNullable<LineModel["phases"]> {
  return course.node_gaps.filter((gap) => gap.role === role).map((gap) => ({ name: `${gap.node} did not answer`, from: gap.from_s, to: gap.to_s }));
}

/** The charts of the machines, role by role. */
export function nodeCharts(course: NodeCourse): { role: string; charts: LineModel[] }[] {
  const { time } = course;
  if (!time) return [];
  const roles = [...new Set(course.node_charts.map((one) => one.role))];
  const base = over(course);
  const model = (one: NodeChartData): LineModel => ({
    ...base, phases: [...(base.phases ?? []), ...gaps(course, one.role)], id: one.id, title: `${one.title}, ${one.role}`, unit: one.unit as Unit,
    hint: one.drawn < one.machines ? `${one.hint} The ${one.drawn} busiest of ${one.machines} machines.` : one.hint,
    lines: one.lines.map((line): Line => ({
      name: line.name, colour: line.colour % 8, dash: DASHES[Math.min(line.dash, DASHES.length - 1)]!, step: true,
      points: points(time, line.values),
    })),
  });
  return roles.map((role) => ({ role, charts: course.node_charts.filter((one) => one.role === role).map(model) }));
}

/** Candidates that are drawn; the table has the others. */
const MOST_DRAWN = 5;

/** Throughput by load, with the rates at which units of the store's machines have no time left. */
export function ladderCurve(ladder: LadderData): LineModel {
  const { steps } = ladder;
  const [first, last] = [steps[0]!, steps[steps.length - 1]!];
  const most = Math.max(...steps.map((step) => step.throughput_per_s));
  const seen = ladder.candidates.filter((one) => one.named || (one.ceiling_per_s !== null && one.ceiling_per_s < most * 3));
  const level = (name: string, y: number, more: Partial<Line>): Line => ({
    name, colour: 1, thin: true, points: [[first.in_flight, y], [last.in_flight, y]], ...more,
  });
  const ceilings = seen.slice(0, MOST_DRAWN).map((one, at) => level(
    `${one.name}: no time left`, one.ceiling_per_s ?? 0,
    one.named ? { colour: 1, thin: false, dash: "dashed" } : { colour: 2 + at, dash: "dotted" },
  ));
  // While nothing is full, a load of N gives N operations per service time.
  const unhindered = steps
    .map((step): [number, number] => [step.in_flight, (step.in_flight / first.service_ms) * 1000])
    .filter(([, y]) => y <= most * 1.5);
  return {
    kind: "lines", x: "in-flight", id: "ladder", title: "Throughput by load", unit: "per_s",
    hint: "Operations per second at each step, by the mean number under way. Level lines: the rates at which a part of the store's machines has no time left, predicted from the steps below 60 %.",
    lines: [
      { name: "measured", colour: 0, points: steps.map((step) => [step.in_flight, step.throughput_per_s]) },
      ...(unhindered.length > 1 ? [{ name: "if nothing were full", colour: 7, thin: true, dash: "dashed", points: unhindered } satisfies Line] : []),
      ...ceilings,
    ],
  };
}

/** How busy units were by throughput: a straight line while an operation costs the same at every load. */
export function ladderUse(ladder: LadderData): LineModel {
  const lines = ladder.candidates.slice(0, MOST_DRAWN + 1).map((one, at): Line => ({
    name: one.name, colour: one.named ? 1 : [0, 2, 3, 4, 5, 6][at % 6]!, dash: one.named ? "solid" : "dashed",
    points: ladder.steps
      .map((step, i): [number, number | null] => [step.throughput_per_s, one.busy[i] ?? null])
      .sort((a, b) => a[0] - b[0]),
  }));
  return {
    kind: "lines", x: "rate", id: "ladder-use", title: "How busy parts were, by throughput", unit: "share", lines,
    hint: "Share of the time. A straight line means that an operation costs the part the same at every load; where it reaches 100 %, the part has no time left.",
    empty: lines.length ? undefined : "No part can be named before throughput is level: go on with more load.",
  };
}
