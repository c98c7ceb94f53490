// Whether the page is on its way to paper, where it is light and all of it is drawn.
import { useEffect, useState } from "react";
import { flushSync } from "react-dom";

/** True from before the browser prints until it has; what follows from it is drawn before the browser goes on. */
export function usePrinting(matters = true): boolean {
  const [printing, setPrinting] = useState(false);
  useEffect(() => {
    if (!matters) return;
    const before = () => flushSync(() => setPrinting(true));
    const after = () => setPrinting(false);
    addEventListener("beforeprint", before);
    addEventListener("afterprint", after);
    return () => {
      removeEventListener("beforeprint", before);
      removeEventListener("afterprint", after);
    };
  }, [matters]);
  return printing;
}
