// The numbers of one running stage in typed arrays of fixed size: memory does not grow with the time that a run takes. When
// all bins are full, each pair becomes one. Sums add up; a quantile of two parts lies between theirs and is placed there by
// the classes of response times, so nothing is averaged.
import type { Interval, IntervalRow } from "../../data/api";
import { CLASSES, quantile } from "./heat";

/** As many bins as the report has. */
export const BINS = 600;
/** Rows by driver and endpoint beyond this are not kept. */
export const MOST_SERIES = 160;
const MOST_LABELS = 12;
export const OTHERS = "others";

/** Places in `response_ms`. */
export const TIMES = { mean: 0, p50: 1, p90: 2, p95: 3, p99: 4, p999: 5, max: 6 } as const;
export type TimeName = keyof typeof TIMES;
const WIDTH = 7;
const QUANTILES: [number, number][] = [[1, 0.5], [2, 0.9], [3, 0.95], [4, 0.99], [5, 0.999]];

export const PHASES = ["rampup", "window", "rampdown", "drain"];

/** Two bounds of time that are the same. */
const EPSILON_S = 1e-6;

export interface Totals {
  count: number;
  failures: number;
  missed: number;
  bytes: number;
}

/** One operation, of all drivers or of one driver or endpoint. */
export class Series {
  readonly count = new Float64Array(BINS);
  readonly failures = new Float64Array(BINS);
  readonly missed = new Float64Array(BINS);
  readonly bytes = new Float64Array(BINS);
  readonly inFlight = new Float64Array(BINS);
  readonly times = new Float64Array(BINS * WIDTH).fill(Number.NaN);
  readonly heat = new Uint32Array(BINS * CLASSES);
  readonly errors = new Map<string, Float64Array>();
  /** Of the measured window alone, and of all of it. */
  readonly totals: Record<"window" | "all", Totals> = { window: nothing(), all: nothing() };
  readonly classes = { window: new Float64Array(CLASSES), all: new Float64Array(CLASSES) };
  private readonly spare = new Float64Array(CLASSES);

  constructor(
    readonly work: string,
    readonly operation: string,
    readonly driver: string | null,
    readonly endpoint: string | null,
  ) {}

  /** Adds a row to a bin; `share` is the row's part of the bin's time, for means over time. */
  add(bin: number, row: IntervalRow, share: number): void {
    this.mergeTimes(bin, row);
    this.count[bin]! += row.count;
    this.failures[bin]! += row.failures;
    this.missed[bin]! += row.missed;
    this.bytes[bin]! += row.bytes;
    this.inFlight[bin]! += row.in_flight * share;
    for (const [index, count] of row.heat) this.heat[bin * CLASSES + Math.min(CLASSES - 1, index)]! += count;
    for (const [label, count] of row.errors) {
      const known = this.errors.has(label) || this.errors.size < MOST_LABELS ? label : OTHERS;
      let counts = this.errors.get(known);
      if (!counts) this.errors.set(known, (counts = new Float64Array(BINS)));
      counts[bin]! += count;
    }
    for (const which of row.phase === "window" ? (["all", "window"] as const) : (["all"] as const)) {
      const totals = this.totals[which];
      totals.count += row.count;
      totals.failures += row.failures;
      totals.missed += row.missed;
      totals.bytes += row.bytes;
      for (const [index, count] of row.heat) this.classes[which][Math.min(CLASSES - 1, index)]! += count;
    }
  }

  time(bin: number, which: number): number {
    return this.times[bin * WIDTH + which]!;
  }

  /** Where a row comes to a bin that has times already (two phases in one interval). */
  private mergeTimes(bin: number, row: IntervalRow): void {
    if (!row.response_ms) return;
    const at = bin * WIDTH;
    if (this.count[bin] === 0 || Number.isNaN(this.times[at]!)) {
      row.response_ms.forEach((ms, i) => (this.times[at + i] = ms ?? Number.NaN));
      return;
    }
    this.spare.set(this.heat.subarray(bin * CLASSES, (bin + 1) * CLASSES));
    for (const [index, count] of row.heat) this.spare[Math.min(CLASSES - 1, index)]! += count;
    this.between(at, Array.from(this.times.subarray(at, at + WIDTH)), row.response_ms, this.count[bin]!, row.count);
  }

  /** Times of two parts become times of both; `spare` holds the classes of both. */
  private between(at: number, a: ArrayLike<number>, b: ArrayLike<number>, countA: number, countB: number): void {
    if (Number.isNaN(a[0]!) || Number.isNaN(b[0]!)) {
      const known = Number.isNaN(a[0]!) ? b : a;
      for (let i = 0; i < WIDTH; i += 1) this.times[at + i] = known[i]!;
      return;
    }
    this.times[at] = (a[0]! * countA + b[0]! * countB) / Math.max(1, countA + countB);
    for (const [which, q] of QUANTILES) {
      const [low, high] = [Math.min(a[which]!, b[which]!), Math.max(a[which]!, b[which]!)];
      const guess = quantile(this.spare, 0, q);
      this.times[at + which] = Number.isNaN(guess) ? high : Math.min(high, Math.max(low, guess));
    }
    this.times[at + 6] = Math.max(a[6]!, b[6]!);
  }

  /** Pairs of bins become one: bins 2i and 2i+1 go to i. `used` is even. */
  halve(used: number, spans: ArrayLike<number>): void {
    for (let to = 0; to < used / 2; to += 1) {
      const [a, b] = [2 * to, 2 * to + 1];
      for (let i = 0; i < CLASSES; i += 1) {
        this.spare[i] = this.heat[a * CLASSES + i]! + this.heat[b * CLASSES + i]!;
      }
      const timesA = Array.from(this.times.subarray(a * WIDTH, (a + 1) * WIDTH));
      const timesB = Array.from(this.times.subarray(b * WIDTH, (b + 1) * WIDTH));
      this.between(to * WIDTH, timesA, timesB, this.count[a]!, this.count[b]!);
      this.heat.set(this.spare, to * CLASSES);
      this.inFlight[to] = (this.inFlight[a]! * spans[a]! + this.inFlight[b]! * spans[b]!) / Math.max(EPSILON_S, spans[a]! + spans[b]!);
      for (const sums of [this.count, this.failures, this.missed, this.bytes, ...this.errors.values()]) sums[to] = sums[a]! + sums[b]!;
    }
    const left = used / 2;
    this.heat.fill(0, left * CLASSES);
    this.times.fill(Number.NaN, left * WIDTH);
    for (const sums of [this.count, this.failures, this.missed, this.bytes, this.inFlight, ...this.errors.values()]) sums.fill(0, left);
  }
}

function nothing(): Totals {
  return { count: 0, failures: 0, missed: 0, bytes: 0 };
}

/** All series of one stage on one axis of time. */
export class LiveStage {
  readonly from = new Float64Array(BINS);
  readonly to = new Float64Array(BINS);
  readonly phase = new Uint8Array(BINS);
  used = 0;
  /** Seconds of the measured window that are over. */
  windowS = 0;
  /** Series that were not kept because there were too many. */
  dropped = new Set<string>();
  readonly series = new Map<string, Series>();

  constructor(readonly id: string) {}

  get endS(): number {
    return this.used ? this.to[this.used - 1]! : 0;
  }

  /**
   * Adds an interval; one that was here before is left alone, so a stream may begin again. Time of which nothing was told
   * is time in which nothing ended, unless the connection was `torn`.
   */
  add(interval: Interval, torn = false): boolean {
    if (interval.end_s <= this.endS + EPSILON_S) return false;
    if (!torn && this.used > 0 && interval.start_s > this.endS + EPSILON_S) {
      const still = this.bin(this.endS, interval.start_s);
      this.phase[still] = this.phase[still - 1]!;
      if (PHASES[this.phase[still]!] === "window") this.windowS += interval.start_s - this.from[still]!;
    }
    const bin = this.bin(interval.start_s, interval.end_s);
    const phases = new Set(interval.rows.map((row) => row.phase));
    const named = phases.has("window") ? "window" : (interval.rows[0]?.phase ?? "window");
    this.phase[bin] = Math.max(0, PHASES.indexOf(named));
    if (named === "window") this.windowS += interval.end_s - interval.start_s;
    for (const row of interval.rows) this.seriesOf(row)?.add(bin, row, 1 / Math.max(1, phases.size));
    return true;
  }

  /** A new bin at the end. */
  private bin(from: number, to: number): number {
    if (this.used === BINS) this.halve();
    this.from[this.used] = from;
    this.to[this.used] = to;
    this.used += 1;
    return this.used - 1;
  }

  private seriesOf(row: IntervalRow): Series | undefined {
    const key = `${row.work}\0${row.operation}\0${row.driver ?? ""}\0${row.endpoint ?? ""}`;
    let series = this.series.get(key);
    if (!series) {
      if (this.series.size >= MOST_SERIES) {
        this.dropped.add(row.driver ?? row.endpoint ?? row.operation);
        return undefined;
      }
      series = new Series(row.work, row.operation, row.driver, row.endpoint);
      this.series.set(key, series);
    }
    return series;
  }

  private halve(): void {
    const spans = Float64Array.from(this.to, (to, i) => to - this.from[i]!);
    this.series.forEach((series) => series.halve(this.used, spans));
    for (let to = 0; to < this.used / 2; to += 1) {
      this.from[to] = this.from[2 * to]!;
      this.to[to] = this.to[2 * to + 1]!;
      this.phase[to] = this.phase[2 * to + 1]!;
    }
    this.used /= 2;
  }

  /** Those of all drivers and endpoints together. */
  operations(): Series[] {
    return [...this.series.values()].filter((one) => one.driver === null && one.endpoint === null);
  }

  /** Those of single drivers or endpoints. */
  parts(by: "driver" | "endpoint"): Series[] {
    return [...this.series.values()].filter((one) => one[by] !== null);
  }
}
