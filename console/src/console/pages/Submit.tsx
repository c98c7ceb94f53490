// Submitting a workload: an editor, a form, a matrix; beside it what the workload would do.
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState, type DragEvent } from "react";
import { Link, useLocation } from "wouter";
import { useQuery } from "@tanstack/react-query";
import type { CheckResult, LibraryEntry, Mistake, SourceText, Submitted } from "../../data/api";
import { call, get, ofRun, Refused, sentence } from "../api";
import { runPage } from "../paths";
import { fieldMistakes } from "../build/mistakes";
import { MatrixForm } from "../build/MatrixForm";
import { SimpleForm } from "../build/SimpleForm";
import { useAdaptors, useSecrets } from "../build/TargetForm";
import { matrixYaml, simpleYaml } from "../build/workload";
import type { Schema } from "../editor/schema";
import { Generated } from "../submit/Generated";
import { OptionFields } from "../submit/OptionFields";
import { Preview } from "../submit/Preview";
import { useSession } from "../session";
import { useStore } from "../store";
import { change, draft, START, submissionOf } from "../submit/draft";
import { useAddress } from "../ui/address";
import { attempt, say } from "../ui/notices";
import { Loading } from "../ui/states";
import { useTitle } from "../ui/title";

const Editor = lazy(() => import("../editor/Editor"));

const WAYS: [string, string][] = [["editor", "Editor"], ["form", "Form"], ["matrix", "Matrix"]];
const CHECK_AFTER_MS = 700;
const LARGEST_FILE = 8 * 2 ** 20;

interface Checked {
  result: CheckResult | null;
  trouble: string | null;
  busy: boolean;
}

export default function Submit({ how }: { how: string }) {
  const now = useStore(draft);
  const [, go] = useLocation();
  const { mayOperate } = useSession();
  const [sending, setSending] = useState(false);
  useTitle("Submit");
  const way = WAYS.some(([one]) => one === how) ? how : "editor";
  const source = useMemo(() => (way === "form" ? simpleYaml(now.simple) : way === "matrix" ? matrixYaml(now.matrix) : now.text), [way, now.simple, now.matrix, now.text]);
  const fileName = way === "editor" ? now.fileName : null;
  const submission = useMemo(() => submissionOf(source, fileName, now.options), [source, fileName, now.options]);
  const [checked, check] = useCheck(JSON.stringify(submission));
  const mistakes = checked.result?.mistakes ?? NONE;
  const inFields = useMemo(() => fieldMistakes(source, mistakes), [source, mistakes]);

  const submit = async () => {
    setSending(true);
    try {
      const { id, mistakes: warnings } = await call<Submitted>("POST", "runs", submission);
      say(`${id} is in the queue${warnings.length ? `, with ${warnings.length} warnings` : ""}`);
      go(runPage(id));
    } catch (error) {
      check(error instanceof Refused && error.mistakes.length ? error.mistakes : undefined);
      say(sentence(error), "bad");
    } finally {
      setSending(false);
    }
  };

  return (
    <div className="submit">
      <div className="submit-head">
        <h1>Submit a workload</h1>
        <nav aria-label="Ways to write it" className="ways">
          {WAYS.map(([one, name]) => <Link key={one} href={`/submit/${one}`} aria-current={way === one ? "page" : undefined}>{name}</Link>)}
        </nav>
        <div className="actions submit-actions">
          <button type="button" className="button" onClick={() => check()} disabled={checked.busy}>Check</button>
          <button
            type="button" className="button primary" disabled={!mayOperate || sending || checked.result?.ok === false}
            title={mayOperate ? (checked.result?.ok === false ? "The workload has mistakes" : undefined) : "Your token may only look"} onClick={() => void submit()}
          >
            {sending ? "Submitting" : "Submit"}
          </button>
        </div>
      </div>
      <div className="submit-body">
        <div className="submit-left">
          {way === "form" && <section className="panel"><SimpleForm form={now.simple} mistakes={inFields} onChange={(simple) => change({ simple })} /></section>}
          {way === "matrix" && <section className="panel"><MatrixForm form={now.matrix} onChange={(matrix) => change({ matrix })} /></section>}
          {way === "editor" && <EditorPanel mistakes={mistakes} onCheck={() => check()} />}
        </div>
        <aside className="submit-right" aria-label="Plan and options">
          <section className="panel">
            <Preview checked={checked} fromForm={way !== "editor"} />
            {!mayOperate && <p className="hint">Your token may only look; to submit, log in with a token of the role operate.</p>}
          </section>
          <section className="panel"><OptionFields options={now.options} onChange={(options) => change({ options })} /></section>
          {way !== "editor" && <Generated yaml={source} name={way === "form" ? now.simple.name : now.matrix.name} />}
        </aside>
      </div>
    </div>
  );
}

const NONE: Mistake[] = [];

/** The controller's own check, a moment after the last change. */
function useCheck(submission: string): [Checked, (mistakes?: Mistake[]) => void] {
  const [checked, setChecked] = useState<Checked>({ result: null, trouble: null, busy: false });
  const running = useRef<AbortController | null>(null);
  const run = useCallback(async () => {
    running.current?.abort();
    const abort = new AbortController();
    running.current = abort;
    setChecked((before) => ({ ...before, busy: true }));
    try {
      const result = await call<CheckResult>("POST", "check", JSON.parse(submission), abort.signal);
      setChecked({ result, trouble: null, busy: false });
    } catch (error) {
      if (abort.signal.aborted) return;
      // A workload that cannot be read at all is refused with its mistakes.
      const result = error instanceof Refused && error.mistakes.length ? { ok: false, mistakes: error.mistakes, name: null, stages: [], preflight: [] } : null;
      setChecked({ result, trouble: result ? null : sentence(error), busy: false });
    }
  }, [submission]);
  useEffect(() => {
    const timer = setTimeout(() => void run(), CHECK_AFTER_MS);
    return () => clearTimeout(timer);
  }, [run]);
  useEffect(() => () => running.current?.abort(), []);
  return [checked, (mistakes) => {
    if (mistakes) setChecked({ result: { ok: false, mistakes, name: null, stages: [], preflight: [] }, trouble: null, busy: false });
    else void run();
  }];
}

function EditorPanel({ mistakes, onCheck }: { mistakes: Mistake[]; onCheck(): void }) {
  const { text, fileName } = useStore(draft);
  const [address, setAddress] = useAddress();
  const [over, setOver] = useState(false);
  const [goTo, setGoTo] = useState<{ line: number; column: number } | null>(null);
  const library = useQuery({ queryKey: ["library"], queryFn: ({ signal }) => get<LibraryEntry[]>("library", signal), staleTime: Infinity });
  const schema = useQuery({ queryKey: ["schema"], queryFn: ({ signal }) => get<Schema>("schema", signal), staleTime: Infinity });
  const adaptors = useAdaptors().data;
  const secrets = useSecrets().data;
  const know = useMemo(() => ({ schema: schema.data ?? null, adaptors: adaptors ?? [], secrets: secrets ?? [] }), [schema.data, adaptors, secrets]);
  const from = address.get("from");
  const file = useRef<HTMLInputElement>(null);

  useEffect(() => {
    if (!from) return;
    // A run of the history as the beginning of a new one.
    void attempt(async () => {
      const { source, file_name } = await get<SourceText>(ofRun(from, "/source"));
      change({ text: source, fileName: file_name });
      setAddress({ from: "" });
    });
  }, [from, setAddress]);

  const open = async (one: File | undefined) => {
    if (!one) return;
    if (one.size > LARGEST_FILE) return say(`${one.name} is larger than 8 MiB: that is no workload`, "bad");
    change({ text: await one.text(), fileName: one.name });
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void open(event.dataTransfer.files[0]);
  };
  const workloads = (library.data ?? []).filter((one) => one.kind !== "target");
  return (
    <section
      className={`panel editor-panel${over ? " over" : ""}`} aria-label="Editor"
      onDragOver={(event) => { event.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)} onDrop={drop}
    >
      <div className="filters editor-tools">
        <select
          aria-label="Begin with a workload of the library" value=""
          onChange={(event) => {
            const one = workloads.find((entry) => entry.path === event.target.value);
            if (one) change({ text: one.source, fileName: one.path.split("/").pop() ?? null });
          }}
        >
          <option value="">From the library</option>
          {workloads.map((one) => <option key={one.path} value={one.path}>{one.name}: {one.title}</option>)}
        </select>
        <input ref={file} type="file" hidden accept=".yaml,.yml,.xml,text/*" onChange={(event) => { void open(event.target.files?.[0]); event.target.value = ""; }} />
        <button type="button" className="button" onClick={() => file.current?.click()}>Open a file</button>
        <button type="button" className="button" onClick={() => change({ text: START, fileName: null })}>New</button>
        <span className="soft">{fileName ?? "not from a file"}</span>
      </div>
      <Suspense fallback={<div className="editor"><Loading what="The editor" lines={12} /></div>}>
        <Editor value={text} onChange={(next) => change({ text: next })} onCheck={onCheck} mistakes={mistakes} know={know} goTo={goTo} />
      </Suspense>
      <Mistakes mistakes={mistakes} onGo={(line, column) => setGoTo({ line, column })} />
    </section>
  );
}

function Mistakes({ mistakes, onGo }: { mistakes: Mistake[]; onGo(line: number, column: number): void }) {
  return (
    <ul className="mistakes" aria-label="Mistakes" aria-live="polite">
      {mistakes.map((one, at) => (
        <li key={at} className={one.severity}>
          <b>{one.severity}</b>
          {one.line > 0 && <button type="button" onClick={() => onGo(one.line, one.column)}>line {one.line}</button>}
          <span>{one.message}{one.hint && <span className="soft"> {one.hint}</span>}</span>
        </li>
      ))}
    </ul>
  );
}
