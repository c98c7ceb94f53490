import { expect, test } from "vitest";
import { operation, stage, times } from "../../data/sample";
import type { ReportData } from "../../data/types";
import { cdfs, operationOf, operationsOf, type Side } from "./models";

function side(id: string, one: ReturnType<typeof stage>): Side {
  return { id, name: id, data: { stages: [one] } as unknown as ReportData, stage: one };
}

test("operations of one name in two works are two, on every side", () => {
  const works = (factor: number) => stage([
    operation({ work: "small", response_ms: times(2 * factor) }),
    operation({ work: "large", response_ms: times(30 * factor), distributions: [{ kind: "response", count: 990, nines: [0, 1], ms: [30 * factor, 40 * factor], supported: 2 }] }),
  ]);
  const sides = [side("w1", works(1)), side("w2", works(2)), side("w3", stage())];
  expect(operationsOf(sides)).toEqual(["small read", "large read", "read"]);
  expect(sides.map((one) => operationOf(one, "large read")?.response_ms?.p50)).toEqual([30, 60, undefined]);
  expect(operationOf(sides[2]!, "read")?.response_ms?.p50).toBe(2);
  expect(operationOf({ ...sides[0]!, stage: undefined }, "read")).toBeUndefined();
  expect(cdfs(sides, "large read").lines.map((line) => [line.name, line.points[0]])).toEqual([["w1", [0, 30]], ["w2", [0, 60]]]);
});
