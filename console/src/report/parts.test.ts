// What is on the page of a run, as text: parts that a wrong column or a missing name would spoil.
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { afterEach, expect, test, vi } from "vitest";
import { operation, stage } from "../data/sample";
import type { CheckData, NodeData, OperationData, ReportData, SearchData, ThresholdData, TimeSpent, VerdictData } from "../data/types";
import { App } from "./App";
import { Configuration } from "./Configuration";
import { figures } from "./figures";
import { Nodes } from "./Nodes";
import { sentence } from "./Spent";
import { StageView } from "./StageView";
import { Checks, folded } from "./Verdict";

function check(id: string, status: string, stageId: string | null): CheckData {
  return { id, name: `check ${id}`, stage: stageId, status, value: null, limit: null, message: `what ${id} says` } as CheckData;
}

test("what failed as a whole is not shown without failures where nobody counted them", () => {
  const lost = operation({ name: "delete", op: "delete", tag: "s1-main.delete", count: 0, failures: 0, success_ratio: 0, errors: {}, response_ms: null });
  const read = operation({ failures: 0, success_ratio: 1, errors: {} });
  const page = (operations: OperationData[]) => renderToStaticMarkup(createElement(StageView, { stage: stage(operations), alone: true }));
  const html = page([read, lost]);
  expect(html).toContain("all failed of delete, nobody counted how many");
  expect(html).not.toContain("(0 of 990)");
  expect(page([read])).toContain("(0 of 990)");
});

test("rates of which one is not known have no sum", () => {
  const unknown = operation({ name: "write", throughput_per_s: null, bandwidth_bytes_per_s: null });
  expect([figures(stage([operation(), unknown])).throughput, figures(stage([operation(), unknown])).bandwidth]).toEqual([null, null]);
  expect(figures(stage([operation(), { ...unknown, count: 0 }])).throughput).toBe(99);
});

test("a run of sixty stages has a page that can be read: what passes is folded by check", () => {
  const checks = Array.from({ length: 60 }, (_, at) => ["V1", "V2", "V3"].map((id) => check(id, id === "V3" ? "not_run" : "pass", `s${at}-main`))).flat();
  const { telling, quiet } = folded([...checks, check("V5", "warn", "s1-main"), check("V6", "fail", "s2-main")]);
  expect(telling.map((one) => one.id)).toEqual(["V6", "V5"]);
  expect(quiet.map((row) => [row.check.id, row.stages.length])).toEqual([["V3", 60], ["V1", 60], ["V2", 60]]);
  const html = renderToStaticMarkup(createElement(Checks, { verdict: { overall: "true", reason: "", checks } as unknown as VerdictData }));
  expect(html.match(/<tr>|<tr /g)!.length).toBeLessThan(8);
  expect(html).toContain("180 checks that pass or were not run");
  expect(html).not.toContain("not made");
});

test("of many checks that warn the first are shown, and how many more there are", () => {
  const checks = Array.from({ length: 90 }, (_, at) => check("V5", "warn", `s${at}-main`));
  const html = renderToStaticMarkup(createElement(Checks, { verdict: { overall: "not_proven", reason: "", checks } as unknown as VerdictData }));
  expect(html.match(/<tr>|<tr /g)!.length).toBe(26);
  expect(html).toContain("Show 65 more that warn or fail");
});

test("cards of a stage with several works say which work they speak of", () => {
  const two = stage([operation({ work: "swift", tag: "s1-main.read" }), operation({ work: "ceph", tag: "s1-main.read" })]);
  const html = renderToStaticMarkup(createElement(StageView, { stage: two, alone: true }));
  for (const text of ["Response time, swift read", "Response time, ceph read", "swift read 9.9", "ceph read 9.9"]) expect(html).toContain(text);
});

test("where the time went is a bar for each operation and size, said in words too, and the store's own time stands beside it", () => {
  const part = (id: string, colour: number) => ({ id, title: id, help: `what ${id} is`, colour });
  const spent: TimeSpent = {
    parts: [part("wait", 0), part("send", 3), part("body", 5)],
    rows: [
      { operation: "read", size: null, count: 90, mean_ms: 20, ms: [15, null, 5], client_added_ms: 0.5 },
      { operation: "read", size: "4 KiB..16 KiB", count: 10, mean_ms: 40, ms: [0, 10, 30], client_added_ms: null },
    ],
    servers: [{ sample: "read", server: "Swift proxy", of: "whole request", source: "statsd", mean_ms: 7.5, requests_per_s: 91, measured_per_s: 90 }],
    remarks: ["The share of sending was seen of 9 of 90 operations, drawn by chance."],
  };
  expect(sentence(spent, spent.rows[1]!).replaceAll("\u00a0", " ")).toBe("read, 4 KiB..16 KiB: 40 ms on average: send 10 ms (25 %), body 30 ms (75 %)");
  const html = renderToStaticMarkup(createElement(StageView, { stage: stage([operation()], { spent }), alone: true }));
  expect(html.match(/spent-bar/g)!.length).toBe(2);
  expect(html).toContain("width:75%");
  expect(html).toContain("Swift proxy");
  expect(html).toContain("9 of 90 operations");
  expect(renderToStaticMarkup(createElement(StageView, { stage: stage(), alone: true }))).not.toContain("Where the time went");
});

test("machines of which nothing is known are counted and have no rows of dashes", () => {
  const node = (name: string, more: Partial<NodeData> = {}): NodeData =>
    ({ name, role: "storage", source: "proc", busiest: [], received_bytes_per_s: null, sent_bytes_per_s: null, remarks: [], ...more });
  const nodes = [node("dumb1"), node("talks", { received_bytes_per_s: 1e6 }), node("gone", { remarks: ["did not answer"] }), node("dumb2")];
  const html = (all: NodeData[]) => renderToStaticMarkup(createElement(Nodes, { stage: { ...stage([]), nodes: all } }));
  const some = html(nodes);
  expect(some).toContain("2 machines have no figures");
  for (const name of ["talks", "gone"]) expect(some).toContain(name);
  expect(some).not.toContain("dumb");
  expect(html([node("dumb1")])).toContain("One machine has no figures");
});

test("failures of which no kind is known end their sentence, and others say their kinds", () => {
  const html = (errors: Record<string, number>) =>
    renderToStaticMarkup(createElement(StageView, { stage: stage([operation({ failures: 5, errors })]), alone: true }));
  expect(html({})).not.toContain("): .");
  expect(html({ http_503: 5 })).toMatch(/\): [^.]*503/);
});

test("a median that nobody says is not one of too few, and unknown processors are not none", () => {
  const page = (count: number, p50: number | null) =>
    renderToStaticMarkup(createElement(StageView, { stage: stage([operation({ response_ms: { ...operation().response_ms!, count, p50 } })]), alone: true }));
  expect(page(48_940, null)).toContain("mean; no median is known");
  expect(page(48_940, null)).not.toContain("A dash: too few");
  expect(page(19, null)).toContain("mean; too few for a median");
  expect(page(19, null)).toContain("A dash: too few operations");
  expect(page(20, 2)).not.toContain("mean; ");
  const configuration = (cpus: number) =>
    renderToStaticMarkup(createElement(Configuration, { data: { run: { id: "w3", directory: "w3-x", state: "finished", cpus }, workload: null, notes: [] } as unknown as ReportData }));
  expect(configuration(8)).toContain("<dt>processors</dt><dd>8</dd>");
  expect(configuration(0)).not.toContain("processors");
});

test("a run that COSBench made says who made it, and why its configuration is not there", () => {
  const configuration = (made_by: string | null) =>
    renderToStaticMarkup(createElement(Configuration, { data: { run: { id: "w3", directory: "w3-x", state: "finished", cpus: 0, cosmark: "0.1.0", made_by }, workload: null, notes: [] } as unknown as ReportData }));
  expect(configuration("COSBench 0.4.2")).toContain("<dt>measured by</dt><dd>COSBench 0.4.2</dd>");
  expect(configuration("COSBench 0.4.2")).toContain("COSBench&#x27;s configuration may hold secrets and is not shown.");
  expect(configuration(null)).toContain("<dt>measured by</dt><dd>Cosmark 0.1.0</dd>");
  expect(configuration(null)).not.toContain("COSBench");
});

test("one arrival that waited is no plural", () => {
  const page = (delayed: number) => renderToStaticMarkup(createElement(StageView, { stage: stage([operation({ delayed, intended: 100 })]), alone: true })).replace(/[\u00a0\u202f]/g, " ");
  expect(page(1)).toContain("1 arrival had to wait for a free worker (1 % of those due); its response time counts from when it was due.");
  expect(page(2)).toContain("2 arrivals had to wait for a free worker (2 % of those due); their response time counts from when they were due.");
});

afterEach(() => vi.unstubAllGlobals());

test("the report has its thresholds, and its search with every trial, its answer and its law", () => {
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal("matchMedia", () => ({ matches: false }));
  const thresholds: ThresholdData[] = [{ stage: "s1-main", operation: "read", threshold: "p95 <= 20 ms", status: "missed", message: "it was 45 ms" }];
  const trial = (load: number, status: string) => ({ stage: `s1-main-w${load}`, load, purpose: "step", throughput_per_s: load * 100, mean_ms: 5, p95_ms: 10 + load, error_ratio: 0, status, reason: status === "met" ? null : "p95 is 26 ms" });
  const law = { parts: [{ name: "contention", value: 0.1, low: 0.09, high: 0.11 }], curve: [[1, 100], [16, 500]] as [number, number][], largest_residual: 0.02, points: 5 };
  const search: SearchData = { name: "main", over: "workers", thresholds: ["p95 <= 20 ms"], answer: "8 workers meet it.", best: 8, missed_at: 16, notes: ["what else to know"], trials: [trial(8, "met"), trial(16, "missed")], law };
  const data = (more: Partial<ReportData>) => ({
    run: { id: "w1", name: "n", state: "finished" }, verdict: { overall: "true", reason: "", checks: [] }, stages: [stage()],
    thresholds: [], searches: [], ladders: [], raw_shares: [], raw_limits: null, workload: null, notes: [], made_by: "0.1.0", ...more,
  }) as unknown as ReportData;
  const page = (more: Partial<ReportData>) => renderToStaticMarkup(createElement(App, { data: data(more) })).replace(/[\u00a0\u202f\u2009]/g, " ");
  const both = page({ thresholds, searches: [search] });
  for (const text of ["p95 &lt;= 20 ms", "it was 45 ms", "8 workers meet it.", "what else to know", "Trials of main", "p95 is 26 ms", "The scalability law, from 5 trials", "0.09 to 0.11"]) expect(both).toContain(text);
  // Where the curve turns up the answer stands, and the law lies beside what was measured.
  const names = ["p95", "mean", "the answer", "measured", "scalability law"];
  const charts = (html: string) => html.split("<figure ").slice(1).map((rest) => {
    const figure = rest.split("</figure>")[0]!;
    return { title: /chart-title">([^<]*)/.exec(figure)![1]!, lines: names.filter((name) => figure.includes(`>${name}<`)) };
  }).filter((chart) => chart.lines.length > 0);
  const knee = { title: "Response time by throughput", lines: ["p95", "mean", "the answer"] };
  const overWorkers = { title: "Throughput by workers", lines: ["measured", "scalability law"] };
  expect(charts(both)).toEqual([knee, overWorkers]);
  expect(charts(page({ searches: [{ ...search, over: "rate", law: null }] }))).toEqual([knee]);
  expect(page({ thresholds })).toContain("it was 45 ms");
  expect(page({})).not.toContain("id=\"goals\"");
});
