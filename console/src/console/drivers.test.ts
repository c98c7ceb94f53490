import { expect, test } from "vitest";
import type { DriverDoing } from "../data/api";
import { clockText, doingText } from "./pages/home/Drivers";

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
});
