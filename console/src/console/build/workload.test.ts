import { describe, expect, test } from "vitest";
import { withoutSecrets, submissionOf, draft } from "../submit/draft";
import { fieldMistakes, troubleOf } from "./mistakes";
import { firstKeys, formKeys } from "./target";
import { sumsOf } from "../submit/Preview";
import { list, MATRIX, matrixYaml, SIMPLE, simpleYaml, sizes } from "./workload";
import { scalar, toYaml } from "./yaml";

describe("values as YAML", () => {
  test.each([
    ["main", "main"], ["r(1,4)", '"r(1,4)"'], ["c(64KiB)", "c(64KiB)"], ["", '""'], ["true", '"true"'], ["12", '"12"'], ["4KiB", '"4KiB"'], ["a: b", '"a: b"'], ["- x", '"- x"'],
    ["http://127.0.0.1:9000", "http://127.0.0.1:9000"], ["{secret: x}", '"{secret: x}"'], ["a #b", '"a #b"'], ["say \"so\"", '"say \\"so\\""'], [12, "12"], [true, "true"], ["null", '"null"'], [" a", '" a"'],
  ])("%j is written %s", (value, text) => {
    expect(scalar(value)).toBe(text);
  });

  test("maps, lists and references", () => {
    expect(toYaml({ a: { b: 1, c: undefined, d: 2 }, list: [{ x: 1, y: [1, 2] }, { x: 2 }], secret: { secret: "prod" } })).toBe(
      "a:\n  b: 1\n  d: 2\nlist:\n  - x: 1\n    y: [1, 2]\n  - x: 2\nsecret: {secret: prod}\n",
    );
  });
});

describe("a workload from a form", () => {
  test("gives reads, writes and deletes numbers of their own and prepares what is read and deleted", () => {
    const mix = { ...SIMPLE.loads[0]!.mix, delete: 5 };
    const text = simpleYaml({ ...SIMPLE, loads: [{ ...SIMPLE.loads[0]!, mix }] });
    for (const part of ['objects: "u(1,100)"', 'objects: "u(101,200)"', 'objects: "u(201,300)"', 'objects: "r(1,100)"', 'objects: "r(201,300)"', 'objects: "r(1,300)"']) expect(text).toContain(part);
    expect(text).not.toContain("storage");
    // As much as is deleted is written again.
    expect(text).toContain('name: rewrite\n            ratio: 5\n            containers: "u(1,4)"\n            objects: "u(201,300)"');
    expect(text).toContain("name: write\n            ratio: 15\n");
  });

  test("has the target, secrets by name, thresholds and an open loop", () => {
    const text = simpleYaml({
      ...SIMPLE, threshold: "read.p95 <= 20 ms\n",
      target: { storage: { type: "s3", keys: { endpoint: { text: "http://s3.lab:9000", secret: false }, secretkey: { text: "prod", secret: true }, path_style_access: { text: "true", secret: false } } }, auth: { type: "none", keys: {} } },
      loads: [{ ...SIMPLE.loads[0]!, rate: "5000/s", totalOps: 1000, delayS: 3 }],
    });
    for (const part of ["storage:\n  type: s3\n  endpoint: http://s3.lab:9000\n  secretkey: {secret: prod}\n  path_style_access: true\n", "rate: 5000/s", "total_ops: 1000", "closure_delay: 3s", 'thresholds: ["read.p95 <= 20 ms"]']) expect(text.replace('"5000/s"', "5000/s").replace('"3s"', "3s")).toContain(part);
  });

  test("keeps stages apart that were given one name", () => {
    const text = simpleYaml({ ...SIMPLE, loads: [SIMPLE.loads[0]!, SIMPLE.loads[0]!] });
    expect(text).toContain("- name: main\n");
    expect(text).toContain("- name: main-2\n");
  });
});

describe("a matrix", () => {
  test("has one stage for each mix, with its axes, and one population for each size", () => {
    const text = matrixYaml({ ...MATRIX, workers: "1, 8 64", containers: "2,4", repeat: 3 });
    for (const part of ['size: ["4KiB", "64KiB", "1MiB"]', "workers: [1, 8, 64]", "containers: [2, 4]", "repeat: 3", "${{ matrix.workers }}", "${{ matrix.size }}-objects-", 'containers: "r(1,4)"']) expect(text).toContain(part);
  });

  test("lists and sizes are read as people write them", () => {
    expect(list(" 1, 8 64,")).toEqual([1, 8, 64]);
    expect([sizes("64KiB"), sizes("1-10 MiB"), sizes("h(1|2|3)KB")]).toEqual(["c(64KiB)", "u(1,10)MiB", "h(1|2|3)KB"]);
  });
});

test("what was typed as a secret is not written into the browser's storage", () => {
  const target = { storage: { type: "s3", keys: { secretkey: { text: "hush", secret: false }, endpoint: { text: "http://a", secret: false } } }, auth: { type: "x", keys: { password: { text: "hush", secret: false }, token: { text: "by-name", secret: true } } } };
  const text = JSON.stringify(withoutSecrets({ ...draft.get(), simple: { ...SIMPLE, target } }));
  expect(text).not.toContain("hush");
  expect(text).toContain("by-name");
  expect(text).toContain("http://a");
});

test("a submission has what was chosen and nothing that was left empty", () => {
  const options = { target: " ", tags: "a, b,", priority: 2, drivers: " 3,zone=a ", waitForDrivers: "", operationLog: true, seed: "7", settings: "x=1\n\n" };
  expect(submissionOf("name: a", null, options)).toEqual({ source: "name: a", file_name: null, target: null, settings: ["x=1"], priority: 2, tags: ["a", "b"], operation_log: true, drivers: "3,zone=a", wait_for_drivers: null, seed: 7 });
});

test("sums of stages say how many last until they are done", () => {
  const stage = { id: "s1", name: "a", works: [], workers: 1, seconds: 30, operations: null, bytes_written: 5 };
  expect(sumsOf([stage, { ...stage, seconds: null, operations: 9 }])).toEqual({ seconds: 30, open: 1, bytes: 10, operations: 9 });
});

describe("mistakes of the workload that a form makes", () => {
  const yaml = simpleYaml({ ...SIMPLE, size: "64XB", loads: [{ ...SIMPLE.loads[0]!, name: "warm" }, { ...SIMPLE.loads[0]!, name: "main", rate: "fast" }] });
  const at = (word: string, last = false) => {
    const lines = yaml.split("\n");
    const line = last ? lines.findLastIndex((one) => one.includes(word)) : lines.findIndex((one) => one.includes(word));
    return { severity: "error", message: `${word} is wrong.`, hint: null, line: line + 1, column: lines[line]!.indexOf(word) + 1, end_line: line + 1, end_column: 0 };
  };
  test("are shown at their fields, in the load where they are", () => {
    const found = fieldMistakes(yaml, [at("64XB"), at("fast")]);
    expect(troubleOf(found, ["sizes"])).toContain("64XB");
    expect(troubleOf(found, ["rate", "arrivals"], "main")).toContain("fast");
    expect(troubleOf(found, ["rate", "arrivals"], "warm")).toBeNull();
  });
  test("a warning or a mistake without a place is at no field", () => {
    expect(fieldMistakes(yaml, [{ ...at("64XB"), severity: "warning" }, { ...at("64XB"), line: 0 }]).size).toBe(0);
  });
});

test("keys that do nothing are in no form", () => {
  const key = (name: string, summary: string, more = {}) => ({ name, default: null, secret: false, summary, ...more });
  const s3 = { kind: "storage", name: "s3", aliases: [], summary: "", keys: [
    key("endpoint", "address of the store"), key("account", "OpenIO's own protocol, which is not spoken: use its S3 gateway"), key("logging", "accepted for COSBench's sake, no effect: never logged"), key("part_size", "size of parts"),
  ] };
  expect(formKeys(s3).map((one) => one.name)).toEqual(["endpoint", "part_size"]);
  expect(firstKeys(s3).map((one) => one.name)).toEqual(["endpoint"]);
});
