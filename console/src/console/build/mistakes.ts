// Which field of a form a mistake in the workload that it makes belongs to: by the key at its place, and the stage around it.
import type { Mistake } from "../../data/api";

/** Mistakes by `key` and by `stage/key`. */
export type FieldMistakes = ReadonlyMap<string, string>;

export function fieldMistakes(yaml: string, mistakes: Mistake[]): FieldMistakes {
  const lines = yaml.split("\n");
  const found = new Map<string, string>();
  for (const one of mistakes) {
    if (one.severity !== "error" || one.line < 1) continue;
    const line = lines[one.line - 1] ?? "";
    // The last key that begins at or before the place, else the first of the line.
    const keys = [...line.matchAll(/([a-z_]+):/g)];
    const key = (keys.filter((match) => match.index < Math.max(one.column, 1)).pop() ?? keys[0])?.[1];
    if (!key) continue;
    const text = one.hint ? `${one.message} ${one.hint}` : one.message;
    const stage = stageAt(lines, one.line - 1);
    if (stage !== null && !found.has(`${stage}/${key}`)) found.set(`${stage}/${key}`, text);
    if (!found.has(key)) found.set(key, text);
  }
  return found;
}

/** Name of the stage that a line is part of. */
function stageAt(lines: string[], at: number): string | null {
  const from = lines.findIndex((line) => /^stages:/.test(line));
  if (from < 0 || at <= from) return null;
  for (let index = at; index > from; index -= 1) {
    const match = /^ {0,2}- (?:\{)?name: ["']?([^"',}]+)/.exec(lines[index]!);
    if (match) return match[1]!.trim();
  }
  return null;
}

/** What is wrong with a field: the first mistake of one of its keys, in that stage where one is named. */
export function troubleOf(found: FieldMistakes, keys: string[], stage?: string): string | null {
  for (const key of keys) {
    const text = found.get(stage === undefined ? key : `${stage}/${key}`);
    if (text !== undefined) return text;
  }
  return null;
}
