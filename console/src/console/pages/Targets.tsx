// The adaptors and logins of this binary with their keys, and a test of a target.
import { useMemo, useState } from "react";
import { Link } from "wouter";
import { DataTable, type Column } from "../../components/DataTable";
import { copyText } from "../../components/files";
import type { TargetTest } from "../../data/api";
import type { Adaptor, AdaptorKey } from "../../data/service";
import { short } from "../../format";
import { call, sentence } from "../api";
import { targetValue, type Target } from "../build/target";
import { TargetForm, useAdaptors } from "../build/TargetForm";
import { toYaml } from "../build/yaml";
import { useSession } from "../session";
import { useStore } from "../store";
import { change, draft } from "../submit/draft";
import { say } from "../ui/notices";
import { Answer, Empty } from "../ui/states";
import { useTitle } from "../ui/title";

/** What an adaptor can, as words; the controller says it as a list, a sentence or a map of flags. */
export function abilities(capability: Adaptor["capability"]): string[] {
  if (!capability) return [];
  if (typeof capability === "string") return capability.split(/,\s*/).filter(Boolean);
  if (Array.isArray(capability)) return capability;
  return Object.entries(capability).filter(([, can]) => can === true).map(([name]) => name.replaceAll("_", " "));
}

const KEYS: Column<AdaptorKey>[] = [
  {
    head: "key", text: true,
    cell: (key) => <><code>{key.name}</code>{key.secret && <span className="tag">secret</span>}{key.required && <span className="tag">required</span>}{(key.aliases?.length ?? 0) > 0 && <span className="soft"> also {key.aliases!.join(", ")}</span>}</>,
  },
  { head: "default", text: true, cell: (key) => (key.default === null || key.default === "" ? "–" : <code>{key.default}</code>) },
  { head: "value", text: true, cell: (key) => key.value ?? "–" },
  { head: "meaning", text: true, cell: (key) => <span className="sentence">{key.summary ?? key.help ?? ""}</span> },
];

export default function Targets({ kind, name }: { kind: string | null; name: string | null }) {
  useTitle(name ? `Target ${name}` : "Targets");
  const query = useAdaptors();
  return (
    <>
      <h1 className="page-title">Targets</h1>
      <TestTarget />
      <section className="panel reference" aria-labelledby="adaptors">
        <div className="panel-head"><h2 id="adaptors">Adaptors and logins</h2><span className="soft">of this controller's binary</span></div>
        <Answer query={query} what="The adaptors" lines={10}>
          {(all) => {
            const shown = all.find((one) => one.kind === kind && one.name === name) ?? all.find((one) => one.kind === "storage") ?? all[0];
            return (
              <div className="reference-body">
                <nav aria-label="Adaptors and logins">
                  {["storage", "auth"].map((one) => (
                    <div key={one}>
                      <h3>{one === "storage" ? "Storage" : "Login"}</h3>
                      <ul>
                        {all.filter((adaptor) => adaptor.kind === one).map((adaptor) => (
                          <li key={adaptor.name}><Link href={`/targets/${one}/${adaptor.name}`} aria-current={adaptor === shown ? "page" : undefined}>{adaptor.name}</Link></li>
                        ))}
                      </ul>
                    </div>
                  ))}
                </nav>
                {shown && <One adaptor={shown} />}
              </div>
            );
          }}
        </Answer>
      </section>
    </>
  );
}

function One({ adaptor }: { adaptor: Adaptor }) {
  const can = abilities(adaptor.capability);
  return (
    <article aria-labelledby="adaptor">
      <h3 id="adaptor" className="adaptor-name">{adaptor.name} <span className="id">{adaptor.kind === "auth" ? "login" : adaptor.kind}</span></h3>
      <p>{adaptor.summary}</p>
      {adaptor.aliases.length > 0 && <p className="soft">Also called {adaptor.aliases.join(", ")}.</p>}
      {can.length > 0 && <p className="abilities">{can.map((one) => <span key={one} className="tag">{one}</span>)}</p>}
      {adaptor.keys.length === 0 ? <Empty title="It has no keys." /> : <DataTable label={`Keys of ${adaptor.name}`} columns={KEYS} rows={adaptor.keys} keyOf={(key) => key.name} />}
    </article>
  );
}

function TestTarget() {
  const { mayOperate } = useSession();
  const { target } = useStore(draft);
  const setTarget = (next: Target) => change({ target: next });
  const [own, setOwn] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [result, setResult] = useState<(Omit<TargetTest, "ms"> & { ms: number | null }) | null>(null);
  const made = useMemo(() => toYaml(targetValue(target)), [target]);
  const text = own ?? made;
  const test = async () => {
    setBusy(true);
    setResult(null);
    try {
      setResult(await call<TargetTest>("POST", "targets/test", { target: text }));
    } catch (error) {
      setResult({ ok: false, ms: null, message: sentence(error), hint: null, driver: null });
    } finally {
      setBusy(false);
    }
  };
  return (
    <section className="panel" aria-labelledby="test">
      <div className="panel-head"><h2 id="test">Test a target</h2><span className="soft">a driver logs in and asks the store one cheap question</span></div>
      <div className="two wide-left">
        <div className="builder"><TargetForm none="choose one" target={target} onChange={(next) => { setTarget(next); setOwn(null); setResult(null); }} /></div>
        <div className="stack">
          <label className="field">
            <span>Target file</span>
            <textarea className="mono" rows={8} spellCheck={false} value={text} placeholder={"storage:\n  type: s3\n  endpoint: http://127.0.0.1:9000"} onChange={(event) => { setOwn(event.target.value); setResult(null); }} />
          </label>
          <div className="actions">
            <button type="button" className="button primary" disabled={!mayOperate || busy || text.trim() === ""} onClick={() => void test()}>{busy ? "Testing" : "Test this target"}</button>
            <button type="button" className="button" disabled={text.trim() === ""} onClick={() => { change({ options: { ...draft.get().options, target: text } }); say("The next submission uses this target"); }}>Use it for the next submission</button>
            <button type="button" className="button" disabled={text.trim() === ""} onClick={() => void copyText(text).then((done) => say(done ? "The target is copied" : "The browser does not let this page copy", done ? "good" : "bad"))}>Copy</button>
          </div>
          {!mayOperate && <p className="hint">Your token may only look; a test needs the role operate.</p>}
          <div role="status" className="test-result">
            {result && (
              <p className={result.ok ? "tested good" : "tested bad"}>
                <b>{result.ok ? "✓ It works" : "✕ It does not work"}</b>{result.driver !== null && ` from driver ${result.driver}`}{result.ms !== null && ` after ${short(result.ms, "ms")}`}. {result.message} {result.hint}
              </p>
            )}
          </div>
        </div>
      </div>
    </section>
  );
}
