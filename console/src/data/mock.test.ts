import { expect, test } from "vitest";
// @ts-expect-error The scripted controller of the browser's tests is plain JavaScript.
import { startMock } from "../../e2e/mock.mjs";
import { operation, stage } from "./sample";

/** Fields that a value lacks; those that may be left out are undefined in the sample. */
function lacks(value: object, sample: object) {
  const needed = Object.entries(sample).filter(([, one]) => one !== undefined && one !== null).map(([name]) => name);
  return needed.filter((name) => !(name in value));
}

test("the scripted controller sends every list of the data that the pages read", async () => {
  const mock = await startMock({ autoStart: false });
  try {
    const run = [...mock.runs.values()].find((one) => one.summary.state === "finished");
    const stages: ReturnType<typeof stage>[] = mock.reportOf(run).stages;
    const main = stages.find((one) => one.operations.length > 0)!;
    expect(main.operations.length).toBeGreaterThan(0);
    const lists = (sample: object) => Object.fromEntries(Object.entries(sample).filter(([, one]) => Array.isArray(one)));
    for (const one of stages) expect(lacks(one, lists(stage()))).toEqual([]);
    for (const one of main.operations) expect(lacks(one, lists(operation()))).toEqual([]);
  } finally {
    await mock.stop();
  }
});
