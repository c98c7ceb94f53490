import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import type { DriverDoing, DriverInfo } from "../data/api";
import { clockText, Drivers, doingText } from "./pages/home/Drivers";
import { SessionContext, type Session } from "./session";

const doing = (more: Partial<DriverDoing>): DriverDoing =>
  ({ run: "w3", ordered: true, requests_per_s: 120, lease: "makes", lease_age_s: 0.4, stores: ["store:80"], ...more });

test("a driver's own work is its rate, and what nobody here ordered or what has no lease is said", () => {
  expect(doingText(doing({}))).toEqual({ what: "w3 120/s", unusual: [] });
  expect(doingText(doing({ run: "r8x", ordered: false })).unusual).toEqual(["not of this controller"]);
  expect(doingText(doing({ ordered: false, lease: "asks", lease_age_s: null })).unusual).toEqual(["not of this controller", "asks"]);
});

test("a clock that is behind has a minus, and one that was not compared is no clock that agrees", () => {
  const of = (clock_offset_ns: number | null) => clockText({ clock_offset_ns });
  expect([of(null), of(0), of(12_300), of(-2e9)]).toEqual(["–", "+0\u00a0ms", "+12.3\u00a0µs", "−2\u00a0s"]);
  const driver = {
    name: "d1", labels: [], host: "d1", state: "idle", trouble: null, run: null, doing: [], load: 0.125, ceiling_ops_per_s: null, cores: 4, memory_bytes: 1e9, nics: [],
    clock_offset_ns: -2e9, clock_error_ns: 41_000, version: "0.1.0", message_version: 1, adaptors: [], last_seen: "2026-01-05T08:00:00Z",
  } as unknown as DriverInfo;
  const session = { mayOperate: false } as unknown as Session;
  const html = renderToStaticMarkup(createElement(SessionContext.Provider, { value: session }, createElement(Drivers, { drivers: [driver] })));
  for (const text of ["−2\u00a0s", "± 41\u00a0µs", "12.5\u00a0%"]) expect(html).toContain(text);
});
