// What a click on an entry of a legend does, and where entries stand in a picture that is saved.

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

/** An entry of a legend in a picture: its text, where it begins and in which row. */
export interface Entry {
  text: string;
  x: number;
  row: number;
}

/** Room at both sides, and of an entry beside its text, px. */
const MARGIN = 12;
const BESIDE = 50;

/** About as wide as a text of 12 px is: signs of scripts such as Chinese take twice as much. */
function widthOf(text: string): number {
  return [...text].reduce((sum, sign) => sum + (sign.codePointAt(0)! >= 0x1100 ? 13 : 7), 0);
}

/** Entries in as many rows as a picture of this width needs; a name that no row has room for is cut. */
export function legendRows(names: string[], width: number): Entry[] {
  let [x, row] = [MARGIN, 0];
  return names.map((name) => {
    const signs = [...name];
    const room = width - 2 * MARGIN - BESIDE;
    while (signs.length > 1 && widthOf(signs.join("")) > room) signs.pop();
    const text = signs.length < [...name].length ? `${signs.slice(0, -1).join("")}…` : name;
    const wanted = widthOf(text) + BESIDE;
    if (x > MARGIN && x + wanted > width - MARGIN) [x, row] = [MARGIN, row + 1];
    const entry = { text, x, row };
    x += wanted;
    return entry;
  });
}
