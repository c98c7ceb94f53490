import { describe, expect, test } from "vitest";
import { bytes, clock, duration, exact, grouped, moment, percentile, setZone, share, short, significant, timeOfDay, zoneName } from "./format";
import cases from "./format.cases.json";

const plain = (text: string) => text.replace(/[\u2009\u00a0]/g, " ");

describe("numbers that people read", () => {
  test.each([
    [0, "0"], [1234.4, "1 234"], [0.012345, "0.0123"], [99.96, "100"], [12, "12"], [1e-9, "0.000000001"], [-1500, "−1 500"],
  ])("%s has three significant digits, and all before the point", (value, text) => {
    expect(plain(significant(value, 3))).toBe(text);
  });

  test.each([
    [0, "0 ms"], [0.0005, "500 ns"], [0.25, "250 µs"], [6.714, "6.71 ms"], [999.6, "1 s"], [1234, "1.23 s"],
    [125_000, "2 min 5 s"], [7_260_000, "2 h 1 min"],
  ])("%s ms is %s", (ms, text) => {
    expect(plain(duration(ms))).toBe(text);
  });

  test.each(cases.bytes as [number, string][])("%s bytes are %s, as in the terminal", (value, text) => {
    expect(plain(bytes(value))).toBe(text);
  });

  test("rates, times and counts are those of the terminal", () => {
    for (const [value, text] of cases.bytes_per_s as [number, string][]) expect(plain(short(value, "bytes_per_s"))).toBe(text);
    for (const [value, text] of cases.per_s as [number, string][]) expect(plain(short(value, "per_s"))).toBe(text);
    for (const [value, text] of cases.ms as [number, string][]) expect(plain(short(value, "ms"))).toBe(text);
    for (const [value, text] of cases.count as [number, string][]) expect(plain(short(value, "count"))).toBe(text);
  });

  test("a share that is not quite nothing or all never looks as if it were", () => {
    for (const [value, text] of cases.share as [number, string][]) expect(plain(share(value))).toBe(text);
  });

  test("what is missing is a dash and never 0", () => {
    for (const unit of ["per_s", "ms", "share", "bytes_per_s", "count"] as const) {
      expect(short(null, unit)).toBe("–");
      expect(exact(undefined, unit)).toBe("–");
      expect(short(Number.NaN, unit)).toBe("–");
    }
  });

  test("under the pointer stands the whole number", () => {
    expect(plain(exact(54_105_538, "bytes_per_s"))).toBe("54.1 MB/s (54 105 538 B/s)");
    expect(plain(exact(12_345.67, "per_s"))).toBe("12 345.7/s");
    expect([0.004, 0.0567, 0.25, 0].map((value) => plain(exact(value, "per_s")))).toEqual(["0.004/s", "0.0567/s", "0.25/s", "0.00/s"]);
    expect(plain(exact(1234, "ms"))).toBe("1.23 s (1 234 ms)");
    expect(plain(exact(1_234_567, "count"))).toBe("1 234 567");
  });

  test("places on the percentile axis are percentiles", () => {
    expect([0, Math.log10(2), 1, 2, 3, 4].map((nines) => plain(percentile(nines)))).toEqual([
      "0 %", "50 %", "90 %", "99 %", "99.9 %", "99.99 %",
    ]);
  });

  test("clocks and moments", () => {
    expect([0, 45, 125, 3725].map((s) => plain(clock(s)))).toEqual(["0 s", "45 s", "2:05", "1:02:05"]);
    expect(moment("2026-01-05T08:00:01.25Z")).toBe("2026-01-05 08:00:01 UTC");
    expect(moment(null)).toBe("–");
    expect(plain(grouped(1_000_000))).toBe("1 000 000");
  });
});

test("moments are of the zone that was chosen, and say so", () => {
  setZone("local");
  expect(moment("2026-01-05T08:00:01.25Z")).toMatch(/^2026-01-0[456] \d\d:\d0?\d?:\d\d \S+$/);
  expect(moment("soon")).toBe("soon");
  setZone("utc");
  expect([moment("2026-01-05T08:00:01.25Z"), timeOfDay("2026-01-05T08:00:01.25Z"), zoneName()]).toEqual(["2026-01-05 08:00:01 UTC", "08:00:01", "UTC"]);
});
