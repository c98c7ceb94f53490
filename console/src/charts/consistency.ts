// How soon writes were seen: the share of looks that missed a change, over the time since its acknowledgement.
import type { ConsistencyClassData, ConsistencyData } from "../data/types";
import type { Line, LineModel } from "./model";

/** Where a time stands: all below 1 ms at 0, then 1 for 1 ms and one more for each power of ten. */
export function place(ms: number): number {
  return ms < 1 ? Math.max(0, ms) / 2 : 1 + Math.log10(ms);
}

/** The time at a place, ms. */
export function timeAt(at: number): number {
  return at < 1 ? at * 2 : 10 ** (at - 1);
}

function lines(one: ConsistencyClassData, colour: number): Line[] {
  const points = (of: (point: ConsistencyClassData["points"][number]) => number): [number, number][] =>
    one.points.map((point) => [Number(place(point.mean_ms).toFixed(4)), of(point)]);
  return [
    { name: one.title, colour, points: points((point) => point.share) },
    { name: `${one.title}, upper end of 95 %`, colour, thin: true, dash: "dotted", continues: true, points: points((point) => point.high) },
    { name: `${one.title}, lower end of 95 %`, colour, thin: true, dash: "dotted", continues: true, points: points((point) => point.low) },
  ];
}

/** The picture. */
export function consistencyChart(seen: ConsistencyData): LineModel {
  const whole = seen.classes.filter((one) => one.from === null);
  const all = whole.flatMap((one, at) => lines(one, at));
  const end = Math.max(2, ...all.flatMap((line) => line.points.map(([x]) => x)));
  return {
    kind: "lines", x: "after", id: "consistency", title: "Looks that missed a change, by time since its acknowledgement", unit: "share",
    lines: all, xEnd: Math.ceil(end),
    hint: "Share of looks that did not see what had been acknowledged so long before. Dotted: the 95 % interval (Clopper and Pearson); nothing seen in n looks leaves room for about 3/n.",
    empty: all.length ? undefined : "Nothing was looked at.",
  };
}
