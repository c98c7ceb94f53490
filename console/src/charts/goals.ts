// Charts of a search: where the response time turns up, and the scalability law.
import type { SearchData, TrialData } from "../data/types";
import type { Line, LineModel } from "./model";

function points(trials: TrialData[], x: (trial: TrialData) => number | null, y: (trial: TrialData) => number | null): [number, number | null][] {
  return trials
    .map((trial): [number | null, number | null] => [x(trial), y(trial)])
    .filter((point): point is [number, number] => point[0] !== null && point[1] !== null)
    .sort((a, b) => a[0] - b[0]);
}

/** One point per load: trials that were made again are put together as their mean. */
export function byLoad(trials: TrialData[]): TrialData[] {
  const loads = [...new Set(trials.map((trial) => trial.load))].sort((a, b) => a - b);
  const mean = (values: (number | null)[]) => {
    const known = values.filter((value): value is number => value !== null);
    return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
  };
  return loads.map((load) => {
    const same = trials.filter((trial) => trial.load === load);
    return {
      ...same[same.length - 1]!,
      throughput_per_s: mean(same.map((one) => one.throughput_per_s)),
      mean_ms: mean(same.map((one) => one.mean_ms)),
      p95_ms: mean(same.map((one) => one.p95_ms)),
    };
  });
}

/** The 95th percentile and the mean of the response time by throughput; null for fewer than two loads. */
export function kneeCurve(search: SearchData): LineModel | null {
  const loads = byLoad(search.trials);
  const rate = (trial: TrialData) => trial.throughput_per_s;
  const [p95, mean] = [points(loads, rate, (trial) => trial.p95_ms), points(loads, rate, (trial) => trial.mean_ms)];
  if (p95.length < 2 && mean.length < 2) return null;
  const best = search.trials.find((trial) => trial.load === search.best);
  const lines: Line[] = [{ name: "p95", colour: 0, points: p95 }, { name: "mean", colour: 2, thin: true, points: mean }];
  const high = Math.max(0, ...p95.map((point) => point[1] ?? 0));
  if (best?.throughput_per_s != null) {
    lines.push({ name: "the answer", colour: 1, dash: "dashed", points: [[best.throughput_per_s, 0], [best.throughput_per_s, high]] });
  }
  return {
    kind: "lines", x: "rate", id: `knee-${search.name}`, title: "Response time by throughput", unit: "ms", mayLog: true, lines,
    hint: "One point per load, by what it achieved. Where the curve turns up lies the knee: more load makes operations wait and does not make more of them.",
  };
}

/** Throughput by workers with the scalability law; null where the search has none. */
export function lawCurve(search: SearchData): LineModel | null {
  if (!search.law || search.over !== "workers") return null;
  return {
    kind: "lines", x: "workers", id: `law-${search.name}`, title: "Throughput by workers", unit: "per_s",
    lines: [
      { name: "measured", colour: 0, points: points(byLoad(search.trials), (trial) => trial.load, (trial) => trial.throughput_per_s) },
      { name: "scalability law", colour: 1, dash: "dashed", points: search.law.curve },
    ],
    hint: "The law has one rate of a single worker, a share that cannot be done side by side (contention), and a cost of agreeing (coherence), which makes throughput fall.",
  };
}
