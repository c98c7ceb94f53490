// Pages as they stand in the browser first, of what the controller has said.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createElement, type ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { afterEach, describe, expect, test } from "vitest";
import { Router } from "wouter";
import type { DriverInfo, RunSummary, StageNews, Status } from "../data/api";
import type { CountSeries, OperationNews, SeriesNews } from "../data/types";
import type { LiveRun } from "./live/run";
import { LiveStage } from "./live/series";
import { Home } from "./pages/Home";
import { Live } from "./run/Live";
import { SessionContext, type Session } from "./session";
import { EMPTY, system } from "./system";

const session = { mayOperate: true } as unknown as Session;

function page(content: ReactNode): string {
  const routed = createElement(Router, { ssrPath: "/", ssrSearch: "", children: content });
  const asking = createElement(QueryClientProvider, { client: new QueryClient() }, routed);
  return renderToStaticMarkup(createElement(SessionContext.Provider, { value: session }, asking)).replaceAll("\u00a0", " ");
}

afterEach(() => system.set(EMPTY));

describe("the home page", () => {
  const join = "cosmark driver --join nats://lab-7:4222 --trust K";
  const home = (drivers: DriverInfo[], drivers_alive: number, more: Partial<Status> = {}) => {
    const status = { now: "2026-01-05T08:00:10Z", concurrency: 1, drivers_alive, join, ...more } as Status;
    system.set({ ...EMPTY, status, drivers });
    return page(createElement(Home));
  };
  const driver = (state: DriverInfo["state"]) =>
    ({ name: "d1", labels: [], host: "d1", state, doing: [], load: 0.1, nics: [], adaptors: [], clock_offset_ns: 0, last_seen: "2026-01-05T08:00:00Z" }) as unknown as DriverInfo;
  const lines = (html: string) => html.split(`<code>${join}</code>`).length - 1;

  test("shows the line that brings a driver as long as none is there", () => {
    expect(lines(home([], 0))).toBe(2);
    expect(lines(home([driver("lost")], 0))).toBe(1);
    expect(lines(home([driver("idle")], 1))).toBe(0);
  });

  test("says of a controller that takes no drivers of other machines that it makes the load itself", () => {
    const html = home([], 0, { join: null });
    expect(html).toContain("makes its load itself");
    expect(html).not.toContain("cosmark driver");
  });
});

test("a page of a run that has lost a driver says what is missing, and not that every arrival was taken", () => {
  const none = [0, 0];
  const series = { count: [10, 20], failures: none, bytes: none, missed: none, delayed: none, in_flight: none, errors: {}, drivers: {} } as unknown as CountSeries;
  const operation = { work: "w", name: "read", op: "read", sample: "read", missed: 0, count: 30, failures: 0, bytes: 0, series, latency: [], heat: null, parts: [] } as unknown as OperationNews;
  const stage = new LiveStage("s1-main");
  stage.add({
    stage: "s1-main", from: 0, time: { bin_s: 1, bins: 2, end_s: 2 }, phases: [], window_s: 2, left_out: 0, operations: [operation], clients: [], node_charts: [], node_gaps: [],
  } as SeriesNews);
  const of = (id: string) => ({ id, index: Number(id[1]) - 1, state: "running", load_started: "2026-01-05T08:00:00Z", planned_s: 60, reason: null }) as StageNews;
  const live = { run: null, stages: [of("s1-main"), of("s2-later")], verdict: null, live: new Map([["s1-main", stage]]), drawn: 1 } as unknown as LiveRun;
  const html = (lost: RunSummary["lost"]) => page(createElement(Live, { live, run: { id: "w1", stage: "s1-main", stages: 2, lost } as unknown as RunSummary }));
  expect(html([])).toContain("every arrival was taken");
  const without = html([{ driver: "d2", from_s: 1, share: 0.5 }]);
  expect(without).toContain("and 50 % of the load, of driver d2, lost after 1 s");
  expect(without).not.toContain("every arrival was taken");
});
