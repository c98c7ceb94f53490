// What is on the page of a run, as text: parts that a wrong column or a missing name would spoil.
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { operation, stage } from "../data/sample";
import type { CheckData, VerdictData } from "../data/types";
import { StageView } from "./StageView";
import { Checks, folded } from "./Verdict";

function check(id: string, status: string, stageId: string | null): CheckData {
  return { id, name: `check ${id}`, stage: stageId, status, value: null, limit: null, message: `what ${id} says` } as CheckData;
}

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
