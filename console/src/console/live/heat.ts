// Classes of response times as the controller sends them: the bound of class i is 2^(i/4) microseconds.

/** From 1 µs to 1 h. */
export const CLASSES = 128;

/** Upper bound of a class in ms; its lower bound is that of the class before. */
export function boundMs(index: number): number {
  return 2 ** (index / 4) / 1000;
}

/** The value in ms below which a share q of the counts lies; within a class its logarithm is spread evenly. */
export function quantile(counts: ArrayLike<number>, from: number, q: number): number {
  let total = 0;
  for (let i = 0; i < CLASSES; i += 1) total += counts[from + i]!;
  if (total === 0) return Number.NaN;
  let left = q * total;
  for (let i = 0; i < CLASSES; i += 1) {
    const count = counts[from + i]!;
    if (count > 0 && left <= count) return 2 ** ((i - 1 + left / count) / 4) / 1000;
    left -= count;
  }
  return boundMs(CLASSES - 1);
}
