// A study's points as a table: which factors are its rows and columns, what each place holds, and its colour.
import { heatColour, type Palette } from "../../charts/palette";
import type { StudyCell, StudyFactor, StudyGrid, StudyPoint } from "../../data/api";

/** Where a factor stands: among the rows, among the columns, or at one of its levels alone (its number). */
export type Place = "rows" | "cols" | number;

/** Places as they are without a choice: what varies most within a run across, all others down. A factor of one level stands there. */
export function usualPlaces(factors: StudyFactor[]): Place[] {
  const varied = factors.flatMap((factor, at) => (factor.levels.length > 1 ? [at] : []));
  const across = varied.filter((at) => factors[at]!.within).pop() ?? varied[varied.length - 1];
  return factors.map((factor, at) => (factor.levels.length < 2 ? 0 : at === across ? "cols" : "rows"));
}

/** The places that an address says: `rows`, `cols`, or the number of a level; what is not known stands where it usually does. */
export function placesOf(factors: StudyFactor[], said: (name: string) => string | null): Place[] {
  return usualPlaces(factors).map((usual, at) => {
    const factor = factors[at]!;
    const word = said(`f.${factor.name}`);
    if (word === "rows" || word === "cols") return word;
    const level = word === null || word === "" ? NaN : Number(word);
    return Number.isInteger(level) && level >= 0 && level < factor.levels.length ? level : usual;
  });
}

/** A head of a row or column: the level of each factor that stands there. */
export interface Head {
  key: string;
  levels: number[];
}

export interface Table {
  /** Numbers of the factors among the rows. */
  rowFactors: number[];
  colFactors: number[];
  rows: Head[];
  cols: Head[];
  at(row: Head, col: Head): StudyPoint | null;
  /** Points that are shown. */
  points: StudyPoint[];
  /** Points of rows and columns that are left out, since nothing of them is run. */
  hidden: StudyPoint[];
}

function heads(points: StudyPoint[], factors: number[]): Head[] {
  const found = new Map<string, Head>();
  for (const point of points) {
    const levels = factors.map((factor) => point.levels[factor] ?? 0);
    const key = levels.join(".");
    if (!found.has(key)) found.set(key, { key, levels });
  }
  return [...found.values()].sort((a, b) => {
    const at = a.levels.findIndex((level, i) => level !== b.levels[i]);
    return at < 0 ? 0 : a.levels[at]! - b.levels[at]!;
  });
}

export function tableOf(grid: StudyGrid, places: Place[]): Table {
  const of = (place: Place) => places.flatMap((one, at) => (one === place ? [at] : []));
  const [rowFactors, colFactors] = [of("rows"), of("cols")];
  const all = grid.points.filter((point) => places.every((place, at) => typeof place !== "number" || point.levels[at] === place));
  const key = (point: StudyPoint, factors: number[]) => factors.map((factor) => point.levels[factor] ?? 0).join(".");
  const run = all.filter((point) => point.refused === null);
  // Where nothing at all is run, that is what there is to see.
  const seen = run.length > 0 ? run : all;
  const [rows, cols] = [heads(seen, rowFactors), heads(seen, colFactors)];
  const [rowKeys, colKeys] = [new Set(rows.map((row) => row.key)), new Set(cols.map((col) => col.key))];
  const isShown = (point: StudyPoint) => rowKeys.has(key(point, rowFactors)) && colKeys.has(key(point, colFactors));
  const points = all.filter(isShown);
  const by = new Map(points.map((point) => [`${key(point, rowFactors)}|${key(point, colFactors)}`, point]));
  return {
    rowFactors, colFactors, rows, cols, points, hidden: all.filter((point) => !isShown(point)),
    at: (row, col) => by.get(`${row.key}|${col.key}`) ?? null,
  };
}

/** Why points are not run, the reasons of most of them first. */
export function reasonsOf(points: StudyPoint[]): string[] {
  const counts = new Map<string, number>();
  for (const { refused } of points) if (refused !== null) counts.set(refused, (counts.get(refused) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([reason]) => reason);
}

/** How many heads that follow share their levels up to `depth` with this one; 0 where the one before it does: it stands for both. */
export function spanOf(all: Head[], at: number, depth: number): number {
  const same = (other: Head | undefined) => other !== undefined && other.levels.slice(0, depth + 1).join(".") === all[at]!.levels.slice(0, depth + 1).join(".");
  if (same(all[at - 1])) return 0;
  let span = 1;
  while (same(all[at + span])) span += 1;
  return span;
}

export interface Colours {
  low: number;
  high: number;
  /** Values lie so far apart that their logarithms are coloured. */
  log: boolean;
}

/** The range of the values that are shown; null where there is none. */
export function coloursOf(points: StudyPoint[]): Colours | null {
  const values = points.flatMap((point) => (point.value === null ? [] : [point.value]));
  if (values.length === 0) return null;
  const [low, high] = values.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
  return { low, high, log: low > 0 && high / low > 30 };
}

/** A value's place in the range, 0 to 1; the middle where all are the same. */
export function shareOf(value: number, { low, high, log }: Colours): number {
  if (high <= low) return 0.5;
  return log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
}

/** The value at a share of the range. */
export function valueAt(share: number, { low, high, log }: Colours): number {
  return log ? low * (high / low) ** share : low + (high - low) * share;
}

/** A colour, and black or white, whichever is read better on it (relative luminance, WCAG 2.2). */
export function paintOf(palette: Palette, share: number): { back: string; ink: string } {
  const back = heatColour(palette, share);
  const [r = 0, g = 0, b = 0] = (back.match(/\d+/g) ?? []).map((part) => {
    const value = Number(part) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return { back, ink: luminance > 0.179 ? "#000" : "#fff" };
}

const WORDS: Record<StudyCell["state"], [string, string]> = {
  waiting: ["·", "waits"],
  running: ["▸", "running"],
  done: ["", "done"],
  failed: ["✕", "failed"],
  cut_off: ["✂", "cut off"],
  not_run: ["–", "not run"],
};

/** A sign and a word for a state. */
export function stateWords(state: StudyCell["state"]): [string, string] {
  return WORDS[state];
}

/** Runs that are over, of all. */
export function overOf(cell: StudyCell): [number, number] {
  return [cell.runs.filter((run) => run.state === "done" || run.state === "failed").length, cell.runs.length];
}

/** The run that a click opens: the only one that is over. */
export function onlyRun(cell: StudyCell): string | null {
  const over = cell.runs.filter((run) => run.state === "done" || run.state === "failed");
  return over.length === 1 ? over[0]!.name : null;
}

/** What a point is called: its levels that vary. */
export function nameOf(point: StudyPoint, factors: StudyFactor[]): string {
  const parts = factors.flatMap((factor, at) => {
    if (factor.levels.length < 2) return [];
    const level = factor.levels[point.levels[at] ?? 0] ?? "";
    return [factor.name === "system" ? level : `${factor.name} ${level}`];
  });
  return parts.join(", ") || factors.map((factor) => factor.levels[0] ?? "").join(", ");
}
