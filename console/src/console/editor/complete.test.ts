import { describe, expect, test } from "vitest";
import { optionsAt, type Knowledge } from "./complete";
import { placeOf } from "./context";
import type { Schema } from "./schema";

/** The place of `|` in a text. */
function at(text: string) {
  const cursor = text.indexOf("|");
  return { text: text.replace("|", ""), cursor };
}

function place(marked: string) {
  const { text, cursor } = at(marked);
  return placeOf(text, cursor);
}

describe("the place of the cursor", () => {
  test.each([
    ["na|", [], null, "na"],
    ["name: mi|", [], "name", "mi"],
    ["stages:\n  - name: main\n    works:\n      - wor|", ["stages", "[]", "works", "[]"], null, "wor"],
    ["stages:\n- name: main\n  works:\n  - workers: 8\n    ra|", ["stages", "[]", "works", "[]"], null, "ra"],
    ["stages:\n  - name: a\n  - name: b\n    |", ["stages", "[]"], null, ""],
    ["stages:\n  - works:\n      - {type: init, wo|", ["stages", "[]", "works", "[]"], null, "wo"],
    ["stages:\n  - works:\n      - {type: in|", ["stages", "[]", "works", "[]"], "type", "in"],
    ["storage:\n  type: s3\n  secretkey: {en|", ["storage", "secretkey"], null, "en"],
    ["storage:\n  type: s3\n|", [], null, ""],
    ["defaults:\n  containers: r(1,4)\n\n  # a comment\n  si|", ["defaults"], null, "si"],
    ["stages:\n  - works:\n      - workers: ${{ matrix.w|", ["stages", "[]", "works", "[]"], "workers", "${{ matrix.w"],
  ] as const)("%j", (text, path, key, word) => {
    expect(place(text)).toMatchObject({ path, key, word });
  });

  test("knows the keys that are there already, and only those of its own map", () => {
    expect(place("stages:\n  - name: a\n    works: []\n    |\n    delay: 3s\n  - repeat: 2").siblings.sort()).toEqual(["delay", "name", "works"]);
    expect(place("- {type: init, workers: 1, |").siblings).toEqual(["type", "workers"]);
  });
});

const schema: Schema = {
  $defs: {
    stage: { type: "object", properties: { name: { type: "string" }, works: { type: "array", items: { $ref: "#/$defs/work" } } }, required: ["name"] },
    work: { properties: { type: { anyOf: [{ enum: ["normal", "init"] }, { type: "string" }] }, workers: { type: ["integer", "string"], description: "Concurrent clients." }, rate: { anyOf: [{ type: "string", examples: ["5000/s"] }, { type: "object", properties: { shape: { enum: ["poisson"] } } }] } } },
    target: { properties: { type: { type: "string" } } },
  },
  properties: { name: { type: "string" }, stages: { type: "array", items: { $ref: "#/$defs/stage" } }, storage: { $ref: "#/$defs/target" } },
};

const know: Knowledge = {
  schema,
  adaptors: [{ kind: "storage", name: "s3", aliases: [], summary: "S3", keys: [{ name: "endpoint", default: "", secret: false }, { name: "secretkey", default: null, secret: true }, { name: "signature", default: "v4", secret: false, value: "v4 | v2" }] }],
  secrets: ["prod"],
};

function labels(marked: string): string[] {
  const { text, cursor } = at(marked);
  return optionsAt(text, cursor, know).options.map((one) => one.label);
}

describe("completion", () => {
  test.each([
    ["|", ["name", "stages", "storage"]],
    ["name: a\n|", ["stages", "storage"]],
    ["stages:\n  - works:\n      - |", ["type", "workers", "rate"]],
    ["stages:\n  - works:\n      - type: |", ["normal", "init"]],
    ["stages:\n  - works:\n      - {workers: 1, |", ["type", "rate"]],
    ["stages:\n  - works:\n      - rate: {|", ["shape"]],
    ["stages:\n  - works:\n      - rate: {shape: |", ["poisson"]],
    ["stages:\n  - works:\n      - rate: |", ["5000/s"]],
    ["storage:\n  type: |", ["s3"]],
    ["storage:\n  type: s3\n  |", ["endpoint", "secretkey", "signature"]],
    ["storage:\n  type: s3\n  secretkey: |", ["{secret: prod}"]],
    ["storage: {type: s3, signature: |", ["v4", "v2"]],
  ] as const)("at %j", (text, expected) => {
    expect(labels(text)).toEqual(expected);
  });
});
