// Light or dark: as the system says, or as the reader chose; light on paper.
import { useEffect, useState } from "react";
import type { Theme } from "../charts/palette";
import { usePrinting } from "../components/printing";

function system(): Theme {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** The theme, and how to turn it over. */
export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(system);
  const shown = usePrinting() ? "light" : theme;

  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const follow = () => setTheme(query.matches ? "dark" : "light");
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, []);

  useEffect(() => {
    document.documentElement.dataset["theme"] = shown;
  }, [shown]);

  return [shown, () => setTheme(theme === "dark" ? "light" : "dark")];
}
