// The editor for workloads: YAML or XML, completion, and the controller's mistakes at their places.
import { useEffect, useRef } from "react";
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { xml } from "@codemirror/lang-xml";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, foldGutter, foldKeymap, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, Prec, type Text } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import type { Mistake } from "../../data/api";
import { completeYaml, type Knowledge } from "./complete";

export type Language = "yaml" | "xml";

export function languageOf(text: string): Language {
  return text.trimStart().startsWith("<") ? "xml" : "yaml";
}

const ELEMENTS = [
  { name: "workload", top: true, attributes: ["name", "description", "config"], children: ["auth", "storage", "workflow"] },
  { name: "auth", attributes: ["type", "config"] },
  { name: "storage", attributes: ["type", "config"] },
  { name: "workflow", attributes: ["config"], children: ["workstage"] },
  { name: "workstage", attributes: ["name", "closuredelay", "config"], children: ["auth", "storage", "work"] },
  { name: "work", attributes: ["name", "type", "workers", "interval", "division", "runtime", "rampup", "rampdown", "totalOps", "totalBytes", "afr", "driver", "config"], children: ["auth", "storage", "operation"] },
  { name: "operation", attributes: ["type", "ratio", "division", "config", "id"] },
];

function languageExtension(language: Language, know: () => Knowledge) {
  return language === "xml"
    ? [xml({ elements: ELEMENTS }), autocompletion()]
    : [yaml(), autocompletion({ override: [completeYaml(know)] })];
}

/** Offset of a line and a column, both from 1, kept inside the text. */
export function offsetOf(doc: Text, line: number, column: number): number {
  const at = doc.line(Math.min(Math.max(1, line), doc.lines));
  return Math.min(at.to, at.from + Math.max(0, column - 1));
}

export function diagnosticsOf(doc: Text, mistakes: Mistake[]): Diagnostic[] {
  return mistakes.filter((one) => one.line > 0).map((one) => {
    const from = offsetOf(doc, one.line, one.column);
    const to = Math.max(from, offsetOf(doc, one.end_line || one.line, one.end_column || one.column));
    return { from, to: to === from ? Math.min(doc.length, from + 1) : to, severity: one.severity === "error" ? "error" : "warning", message: one.hint ? `${one.message} ${one.hint}` : one.message };
  });
}

export default function Editor(props: { value: string; onChange(text: string): void; onCheck(): void; mistakes: Mistake[]; know: Knowledge; goTo: { line: number; column: number } | null }) {
  const { value, mistakes } = props;
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const language = useRef(new Compartment());
  const spoken = useRef<Language>(languageOf(value));
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    if (!box.current) return;
    const made = new EditorView({
      parent: box.current,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: [
          lineNumbers(), foldGutter(), history(), drawSelection(), indentOnInput(), bracketMatching(), closeBrackets(), highlightActiveLine(), lintGutter(),
          syntaxHighlighting(classHighlighter), EditorState.tabSize.of(2), EditorView.lineWrapping,
          language.current.of(languageExtension(spoken.current, () => latest.current.know)),
          Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => { latest.current.onCheck(); return true; } }])),
          keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...completionKeymap, ...lintKeymap, indentWithTab]),
          EditorView.contentAttributes.of({ "aria-label": "Workload; Escape, then Tab leaves the editor", spellcheck: "false", tabindex: "0" }),
          EditorView.updateListener.of((update) => { if (update.docChanged) latest.current.onChange(update.state.doc.toString()); }),
        ],
      }),
    });
    view.current = made;
    return () => {
      made.destroy();
      view.current = null;
    };
  }, []);

  useEffect(() => {
    const made = view.current;
    if (!made) return;
    if (made.state.doc.toString() !== value) made.dispatch({ changes: { from: 0, to: made.state.doc.length, insert: value } });
    const now = languageOf(value);
    if (now !== spoken.current) {
      spoken.current = now;
      made.dispatch({ effects: language.current.reconfigure(languageExtension(now, () => latest.current.know)) });
    }
  }, [value]);

  useEffect(() => {
    const made = view.current;
    if (made) made.dispatch(setDiagnostics(made.state, diagnosticsOf(made.state.doc, mistakes)));
  }, [mistakes]);

  useEffect(() => {
    const made = view.current;
    if (!made || !props.goTo) return;
    made.dispatch({ selection: { anchor: offsetOf(made.state.doc, props.goTo.line, props.goTo.column) }, scrollIntoView: true });
    made.focus();
  }, [props.goTo]);

  return <div className="editor" ref={box} />;
}
