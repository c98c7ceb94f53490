// The charts of the store's machines, and the curve that shows what limits them.
import { expect, test } from "vitest";
import type { LadderData, LadderUnit, NodeChartData } from "../data/types";
import { ladderCurve, ladderUse, nodeCharts } from "./nodes";

const chart = (id: string, role: string, more: Partial<NodeChartData> = {}): NodeChartData => ({
  id, role, title: "Processors", hint: "Share.", unit: "share", machines: 1, drawn: 1, from: 0,
  lines: [{ name: "all", colour: 9, dash: 7, values: [0.1, null, 0.3] }], ...more,
});

test("machines are drawn by role, as steps, with a gap where nothing was seen and why", () => {
  const roles = nodeCharts({
    time: { bin_s: 2, bins: 3, end_s: 6 }, phases: [{ phase: "window", from_s: 0, to_s: 6 }],
    node_charts: [chart("processors-proxy", "proxy"), chart("processors-storage", "storage", { machines: 36, drawn: 8 }), chart("disks-storage", "storage")],
    node_gaps: [{ node: "p1", role: "proxy", from_s: 2, to_s: 4, why: "away" }],
  });
  expect(roles.map(({ role, charts }) => [role, charts.map((one) => one.id)])).toEqual([
    ["proxy", ["processors-proxy"]], ["storage", ["processors-storage", "disks-storage"]],
  ]);
  const [proxy, storage] = [roles[0]!.charts[0]!, roles[1]!.charts[0]!];
  expect(proxy.lines).toEqual([{ name: "all", colour: 1, dash: "dotted", step: true, points: [[1, 0.1], [3, null], [5, 0.3]] }]);
  expect(proxy.phases).toEqual([{ name: "p1 did not answer", from: 2, to: 4 }]);
  expect(storage.phases, "another role's").toEqual([]);
  expect(proxy.hint).toBe("Share.");
  expect(storage.hint).toContain("8 busiest of 36 machines");
  expect(nodeCharts({ time: null, phases: [], node_charts: [], node_gaps: [] })).toEqual([]);
});

const unit = (name: string, named: boolean, ceiling: number | null): LadderUnit => ({
  name, named, demand_ms: 1, ceiling_per_s: ceiling, ceiling_low_per_s: ceiling, ceiling_high_per_s: ceiling, busy: [0.5, null, 0.2], against: [],
});

const ladder: LadderData = {
  answer: "named", confidence: "high", text: "p1", second: null, refute: null, skewed: [], plateau_per_s: 1000,
  steps: [[1, 200, 5], [4, 800, 5], [16, 700, 22]].map(([n, x, r]) => ({ stage: `s${n}`, name: `${n}`, in_flight: n!, throughput_per_s: x!, service_ms: r! })),
  candidates: [unit("p1 processors cpu", true, 1000), unit("s1 disk sda", false, 2000), unit("s1 disk sdb", false, 9000), unit("s1 disk sdc", false, null)],
};

test("a curve has the steps, what they would be if nothing were full, and the ceilings near them", () => {
  const model = ladderCurve(ladder);
  expect(model.lines.map((line) => line.name)).toEqual(["measured", "if nothing were full", "p1 processors cpu: no time left", "s1 disk sda: no time left"]);
  expect(model.lines[0]!.points).toEqual([[1, 200], [4, 800], [16, 700]]);
  expect(model.lines[1]!.points, "cut off where it leaves the picture").toEqual([[1, 200], [4, 800]]);
  expect(model.lines[2]!.points).toEqual([[1, 1000], [16, 1000]]);
});

test("use is drawn by throughput, whatever the order of the steps", () => {
  const model = ladderUse(ladder);
  expect(model.lines[0]!.points).toEqual([[200, 0.5], [700, 0.2], [800, null]]);
  expect(ladderUse({ ...ladder, candidates: [] }).empty).toContain("more load");
});
