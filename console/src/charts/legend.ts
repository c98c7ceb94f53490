// What a click on an entry of a legend does.

/** Nothing hidden. */
export const NONE: ReadonlySet<string> = new Set();

/** Click: only this one; again: all. With Shift or Ctrl: this one on or off. */
export function afterLegendClick(names: string[], hidden: ReadonlySet<string>, name: string, one: boolean): ReadonlySet<string> {
  if (one) {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    return next.size === names.length ? NONE : next;
  }
  const alone = !hidden.has(name) && hidden.size === names.length - 1;
  return alone ? NONE : new Set(names.filter((other) => other !== name));
}
