// Colours of the charts in both themes. Categories keep apart for people with any common colour blindness (hues after
// Okabe and Ito, jfly.uni-koeln.de/color); lines that mean different things differ in their dashes too.

export type Theme = "light" | "dark";

export interface Palette {
  text: string;
  soft: string;
  grid: string;
  surface: string;
  phase: string;
  categories: string[];
  /** Heat maps, few to many; brightness rises or falls all the way. */
  heat: [number, number, number][];
}

export const PALETTES: Record<Theme, Palette> = {
  light: {
    text: "#1b2430",
    soft: "#566273",
    grid: "#e4e8ee",
    surface: "#ffffff",
    phase: "rgba(90, 105, 125, 0.09)",
    categories: ["#0072b2", "#d55e00", "#00875f", "#b8528d", "#8a6a00", "#3a4fc4", "#2e9bd6", "#6b7480"],
    heat: [[222, 235, 247], [158, 202, 225], [66, 146, 198], [8, 81, 156], [6, 30, 70]],
  },
  dark: {
    text: "#e6ebf2",
    soft: "#a3afbf",
    grid: "#2b3542",
    surface: "#161c25",
    phase: "rgba(190, 205, 225, 0.08)",
    categories: ["#4ea8e8", "#ff9248", "#2cc79a", "#ec9fcb", "#e3c344", "#9fa8ff", "#9bd3f3", "#a5afbc"],
    heat: [[27, 52, 84], [30, 95, 140], [40, 155, 160], [150, 212, 110], [255, 244, 170]],
  },
};

/** Operations have the same colour everywhere: these kinds have their own, others take what is free. */
const KINDS = ["read", "write", "list", "delete", "head"];

/** Index into `categories` for each operation of a list. */
export function operationColours(operations: { op: string; sample: string }[]): number[] {
  const taken = new Set<number>();
  const result = operations.map(({ sample, op }) => {
    const own = KINDS.indexOf(KINDS.includes(op) ? op : sample);
    if (own < 0 || taken.has(own)) return -1;
    taken.add(own);
    return own;
  });
  let next = 0;
  return result.map((colour) => {
    if (colour >= 0) return colour;
    while (next < 8 && taken.has(next)) next += 1;
    if (next < 8) taken.add(next);
    // When none is free they go round.
    const free = next % 8;
    if (next >= 8) next += 1;
    return free;
  });
}

/** Colour of a share 0..1 of the heat ramp. */
export function heatColour(palette: Palette, share: number): string {
  const place = Math.min(1, Math.max(0, share)) * (palette.heat.length - 1);
  const at = Math.min(palette.heat.length - 2, Math.floor(place));
  const [low, high] = [palette.heat[at]!, palette.heat[at + 1]!];
  const mix = low.map((value, i) => Math.round(value + (high[i]! - value) * (place - at)));
  return `rgb(${mix.join(",")})`;
}
