import { describe, expect, test } from "vitest";
import { backoff, EventParser } from "./sse";

describe("events as they come over the wire", () => {
  test("are put together from pieces cut anywhere", () => {
    const text = "id: 1.7\nevent: run\ndata: {\"a\":1}\n\n: alive\n\nevent: log\r\ndata: one\r\ndata: two\r\n\r\n";
    for (let cut = 1; cut < 12; cut += 1) {
      const parser = new EventParser();
      const found = [];
      for (let at = 0; at < text.length; at += cut) found.push(...parser.push(text.slice(at, at + cut)));
      expect(found).toEqual([{ name: "run", data: '{"a":1}' }, { name: "log", data: "one\ntwo" }]);
      expect(parser.lastId).toBe("1.7");
    }
  });

  test("a comment is no event, and one that was cut off is not told", () => {
    const parser = new EventParser();
    expect(parser.push(": alive\n\n")).toEqual([]);
    expect(parser.push("event: run\ndata: {}\n")).toEqual([]);
  });

  test("an event that a cut connection left unfinished has no id, and is not glued to the next connection's", () => {
    const parser = new EventParser();
    parser.push("event: run\nid: 1.7\ndata: {}\n\n");
    expect(parser.push("event: run\nid: 1.8\ndata: {\"id\"")).toEqual([]);
    parser.begin();
    expect(parser.lastId).toBe("1.7");
    expect(parser.push("event: everything\nid: 1.8\ndata: {}\n\n")).toEqual([{ name: "everything", data: "{}" }]);
    expect(parser.lastId).toBe("1.8");
  });
});

test("attempts to come back grow rarer, up to a bound, and not all at once", () => {
  const waits = [1, 2, 3, 4, 5, 6, 7, 20].map((attempt) => backoff(attempt, 0.5));
  expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
  expect(backoff(3, 0)).toBeLessThan(backoff(3, 0.99));
});
