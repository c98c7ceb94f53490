// The workload that a form makes, as YAML or XML, to look at and to take along.
import { useState } from "react";
import { useLocation } from "wouter";
import { useQuery } from "@tanstack/react-query";
import { copyText, save } from "../../components/files";
import type { Converted } from "../../data/api";
import { call, sentence } from "../api";
import { change } from "./draft";
import { say } from "../ui/notices";

export function Generated({ yaml, name }: { yaml: string; name: string }) {
  const [form, setForm] = useState<"yaml" | "xml">("yaml");
  const [, go] = useLocation();
  const xml = useQuery({
    queryKey: ["convert", yaml], queryFn: ({ signal }) => call<Converted>("POST", "convert", { source: yaml }, signal), enabled: form === "xml", staleTime: Infinity, retry: false,
  });
  const text = form === "yaml" ? yaml : (xml.data?.xml ?? (xml.isError ? sentence(xml.error) : xml.isSuccess ? "The XML format cannot say all of this workload." : "…"));
  const ready = form === "yaml" || Boolean(xml.data?.xml);
  return (
    <section className="panel">
      <div className="panel-head">
        <h2>The workload</h2>
        <div role="group" aria-label="Format" className="segments">
          {(["yaml", "xml"] as const).map((one) => <button key={one} type="button" aria-pressed={form === one} onClick={() => setForm(one)}>{one === "yaml" ? "YAML" : "COSBench XML"}</button>)}
        </div>
      </div>
      <pre className="generated" tabIndex={0} role="region" aria-label="The generated workload">{text}</pre>
      <div className="actions">
        <button type="button" className="button small" disabled={!ready} onClick={() => { change({ text, fileName: `${name}.${form}` }); go("/submit/editor"); }}>Open in the editor</button>
        <button type="button" className="button small" disabled={!ready} onClick={() => void copyText(text).then((done) => say(done ? "The workload is copied" : "The browser does not let this page copy", done ? "good" : "bad"))}>Copy</button>
        <button type="button" className="button small" disabled={!ready} onClick={() => save(`${name}.${form}`, new Blob([text], { type: "text/plain" }))}>Save</button>
      </div>
    </section>
  );
}
