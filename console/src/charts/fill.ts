// The rate of a pass over a data set by the objects stored: the curve of Zmanda's study of 2012.
import type { FillData } from "../data/types";
import type { LineModel } from "./model";

/** Means of so many neighbouring stretches show where the rate goes. */
const AROUND = 4;

/** Each value as the mean of those around it, as many on either side. */
export function smooth(values: number[], around = AROUND): number[] {
  return values.map((_, at) => {
    const reach = Math.min(around, at, values.length - 1 - at);
    const some = values.slice(at - reach, at + reach + 1);
    return some.reduce((sum, value) => sum + value, 0) / some.length;
  });
}

/** The picture of a pass; null where nothing was done. */
export function fillChart(fill: FillData): LineModel | null {
  if (fill.curve.length < 2) return null;
  const rates = fill.curve.map((point) => point.per_s);
  const means = smooth(rates);
  const earlier = fill.before > 0 ? ` The first ${fill.before.toLocaleString("en")} were stored by earlier runs.` : "";
  return {
    kind: "lines", x: "objects", id: `fill-${fill.dataset.replace(/\W/g, "-")}`, title: `Rate over the objects stored: ${fill.dataset}`, unit: "per_s", mayLog: true,
    xEnd: Math.max(fill.done, fill.curve[fill.curve.length - 1]!.objects),
    lines: [
      { name: "rate", colour: 0, thin: true, points: fill.curve.map((point, at): [number, number] => [point.objects, rates[at]!]) },
      { name: "mean of neighbours", colour: 1, points: fill.curve.map((point, at): [number, number] => [point.objects, Number(means[at]!.toPrecision(6))]) },
    ],
    hint: `Successes per second by how many objects the data set had then. A rate that falls as it grows is the store's: its tables grow.${earlier}`,
  };
}

/** The rate by how full the store was; null where that was said less than twice. */
export function fullChart(fill: FillData): LineModel | null {
  if (fill.over_full.length < 2) return null;
  const rates = fill.over_full.map(([, rate]) => rate);
  const means = smooth(rates);
  const over = (values: number[]) => fill.over_full.map(([full], at): [number, number] => [full, Number(values[at]!.toPrecision(6))]);
  return {
    kind: "lines", x: "full", id: `full-${fill.dataset.replace(/\W/g, "-")}`, title: `Rate by how full the store was: ${fill.dataset}`, unit: "per_s", mayLog: true,
    xEnd: Math.ceil(fill.over_full[fill.over_full.length - 1]![0] * 20) / 20,
    lines: [
      { name: "rate", colour: 0, thin: true, points: over(rates) },
      { name: "mean of neighbours", colour: 1, points: over(means) },
    ],
    hint: "Successes per second by the share of the store's capacity that its machines said to be used then. These figures lag by some seconds.",
  };
}
