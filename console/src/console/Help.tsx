// Keys of the console, and their switch: single keys get in the way of speech input (WCAG 2.2, 2.1.4).
import { useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { keysAreOn, useKeys } from "./prefs";
import { PLACES } from "./Shell";
import { Dialog } from "./ui/Dialog";

/** True where a key is text or belongs to something else. */
function taken(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable], [role=dialog], [role=alertdialog], [role=menu], .plot, .cm-editor") !== null;
}

const AFTER_G_MS = 1500;

export function Help() {
  const [open, setOpen] = useState(false);
  const [keys, setKeys] = useKeys();
  const [, go] = useLocation();
  const pressedG = useRef(0);

  useEffect(() => {
    const down = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || taken(event.target) || !keysAreOn()) return;
      const place = Date.now() - pressedG.current < AFTER_G_MS ? PLACES.find((one) => one.key === event.key) : undefined;
      pressedG.current = event.key === "g" ? Date.now() : 0;
      if (place) go(place.path);
      else if (event.key === "?") setOpen(true);
      else if (event.key === "/") {
        const search = document.querySelector<HTMLInputElement>("input[type=search]");
        if (!search) return;
        search.focus();
      } else return;
      event.preventDefault();
    };
    const asked = () => setOpen(true);
    addEventListener("keydown", down);
    addEventListener("cosmark-help", asked);
    return () => {
      removeEventListener("keydown", down);
      removeEventListener("cosmark-help", asked);
    };
  }, [go]);

  return (
    <Dialog title="Keys" open={open} onClose={() => setOpen(false)}>
      <dl className="keys">
        {PLACES.map(({ key, name }) => (
          <div key={key}><dt><kbd>g</kbd> then <kbd>{key}</kbd></dt><dd>{name}</dd></div>
        ))}
        <div><dt><kbd>/</kbd></dt><dd>Search</dd></div>
        <div><dt><kbd>?</kbd></dt><dd>These keys</dd></div>
        <div><dt><kbd>←</kbd> <kbd>→</kbd></dt><dd>Values of a chart that has the focus</dd></div>
        <div><dt><kbd>+</kbd> <kbd>-</kbd> <kbd>0</kbd></dt><dd>Zoom all charts over time, and show all again</dd></div>
        <div><dt><kbd>Enter</kbd>, arrows</dt><dd>On the handle of a waiting run: move it in the queue</dd></div>
        <div><dt><kbd>Ctrl</kbd> <kbd>Enter</kbd></dt><dd>In the editor: check the workload</dd></div>
      </dl>
      <label className="check">
        <input type="checkbox" checked={keys === "on"} onChange={(event) => setKeys(event.target.checked ? "on" : "off")} /> Single keys do something
      </label>
      <div className="actions end"><button type="button" className="button" onClick={() => setOpen(false)}>Close</button></div>
    </Dialog>
  );
}
