// What a person chose on this machine: theme, time zone, whether single keys do something. Kept in the browser alone.
import { useEffect, useState } from "react";
import type { Theme } from "../charts/palette";
import { usePrinting } from "../components/printing";
import { setZone, type Zone } from "../format";
import { Store, useStore } from "./store";

export type ThemeChoice = "light" | "dark" | "system";

function kept<T extends string>(key: string, allowed: readonly T[], otherwise: T): T {
  try {
    const value = localStorage.getItem(key) as T | null;
    return value !== null && allowed.includes(value) ? value : otherwise;
  } catch {
    return otherwise;
  }
}

function keep(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Not kept: the choice holds until the page is left.
  }
}

const theme = new Store<ThemeChoice>(kept("cosmark-theme", ["light", "dark", "system"], "system"));
const zone = new Store<Zone>(kept("cosmark-zone", ["local", "utc"], "local"));
const keys = new Store<"on" | "off">(kept("cosmark-keys", ["on", "off"], "on"));
setZone(zone.get());

export function useThemeChoice(): [ThemeChoice, (choice: ThemeChoice) => void] {
  return [useStore(theme), (choice) => {
    keep("cosmark-theme", choice);
    theme.set(choice);
  }];
}

export function useZone(): [Zone, (choice: Zone) => void] {
  return [useStore(zone), (choice) => {
    keep("cosmark-zone", choice);
    setZone(choice);
    zone.set(choice);
  }];
}

export function useKeys(): ["on" | "off", (choice: "on" | "off") => void] {
  return [useStore(keys), (choice) => {
    keep("cosmark-keys", choice);
    keys.set(choice);
  }];
}

export const keysAreOn = () => keys.get() === "on";

/** The theme that shows, which the root element carries too; on paper the light one. */
export function useShownTheme(): Theme {
  const [choice] = useThemeChoice();
  const query = "(prefers-color-scheme: dark)";
  const [system, setSystem] = useState<Theme>(() => (matchMedia(query).matches ? "dark" : "light"));
  useEffect(() => {
    const list = matchMedia(query);
    const follow = () => setSystem(list.matches ? "dark" : "light");
    list.addEventListener("change", follow);
    return () => list.removeEventListener("change", follow);
  }, []);
  const chosen = choice === "system" ? system : choice;
  const shown = usePrinting() ? "light" : chosen;
  useEffect(() => {
    document.documentElement.dataset["theme"] = shown;
  }, [shown]);
  return shown;
}
