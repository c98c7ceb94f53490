// Light or dark: as the system says, or as the reader chose; light on paper.
import { useEffect, useState } from "react";
import { flushSync } from "react-dom";
import type { Theme } from "../charts/palette";

function system(): Theme {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** The theme, and how to turn it over. */
export function useTheme(): [Theme, () => void] {
  const [theme, setTheme] = useState<Theme>(system);
  const [printing, setPrinting] = useState(false);
  const shown = printing ? "light" : theme;

  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const follow = () => setTheme(query.matches ? "dark" : "light");
    const before = () => flushSync(() => setPrinting(true));
    const after = () => setPrinting(false);
    query.addEventListener("change", follow);
    addEventListener("beforeprint", before);
    addEventListener("afterprint", after);
    return () => {
      query.removeEventListener("change", follow);
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
    };
  }, []);

  useEffect(() => {
    document.documentElement.dataset["theme"] = shown;
  }, [shown]);

  return [shown, () => setTheme(theme === "dark" ? "light" : "dark")];
}
