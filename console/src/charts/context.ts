// What all charts of a page share.
import { createContext } from "react";
import type { Theme } from "./palette";

export const ThemeContext = createContext<Theme>("light");

/** The part of the time axis that all charts of a stage show; null = all of it. */
export interface Zoom {
  range: [number, number] | null;
  set(range: [number, number] | null): void;
}

export const ZoomContext = createContext<Zoom>({ range: null, set: () => {} });
