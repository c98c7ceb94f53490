// What belongs to a run beside its numbers: log, workload, files.
import { useEffect, useRef, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components";
import { DataTable, type Column } from "../../components/DataTable";
import { copyText } from "../../components/files";
import type { FileInfo, LogLine, RunSummary, SourceText } from "../../data/api";
import { bytes, exact, timeOfDay, zoneName } from "../../format";
import { get, ofRun } from "../api";
import { fileUrl } from "../live/run";
import { useZone } from "../prefs";
import { say } from "../ui/notices";
import { Answer, Empty } from "../ui/states";

const TAIL = 500;

export function Papers({ run, lines }: { run: RunSummary; lines: LogLine[] | null }) {
  return (
    <section className="panel papers" aria-label="Log, workload and files">
      <Tabs className="tabset" defaultSelectedKey="log">
        <TabList className="tablist" aria-label="Log, workload and files">
          <Tab id="log" className="tab">Log</Tab>
          <Tab id="source" className="tab">Workload</Tab>
          <Tab id="files" className="tab">Files</Tab>
        </TabList>
        <TabPanel id="log" className="tabpanel">{lines ? <Log lines={lines} live /> : <PastLog id={run.id} />}</TabPanel>
        <TabPanel id="source" className="tabpanel"><Source id={run.id} /></TabPanel>
        <TabPanel id="files" className="tabpanel"><Files id={run.id} /></TabPanel>
      </Tabs>
    </section>
  );
}

function PastLog({ id }: { id: string }) {
  const query = useQuery({ queryKey: ["log", id], queryFn: ({ signal }) => get<LogLine[]>(ofRun(id, `/log?tail=${TAIL}`), signal) });
  return <Answer query={query} what="The log">{(lines) => <Log lines={lines} live={false} />}</Answer>;
}

/** Stays at the end while lines come, unless somebody scrolled up to read. */
function Log({ lines, live }: { lines: LogLine[]; live: boolean }) {
  useZone();
  const [level, setLevel] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const shown = lines.filter((line) => level === "" || line.level === level || (level === "WARN" && line.level === "ERROR"));
  useEffect(() => {
    if (atEnd.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [shown.length]);
  return (
    <>
      <div className="filters log-tools">
        <select aria-label="Lines of the log" value={level} onChange={(event) => setLevel(event.target.value)}>
          <option value="">all lines</option>
          <option value="WARN">warnings and errors</option>
          <option value="ERROR">errors</option>
        </select>
        <span className="soft">{live ? "as they come; " : `the last ${TAIL} at most; `}times are {zoneName()}</span>
        <button type="button" className="button small" onClick={() => void copyText(shown.map((line) => `${line.at} ${line.level} ${line.from}: ${line.text}`).join("\n")).then((done) => say(done ? "The log is copied" : "The browser does not let this page copy", done ? "good" : "bad"))}>Copy</button>
      </div>
      <div
        className="log" ref={box} tabIndex={0} role="log" aria-label="Log" aria-live="off"
        onScroll={(event) => { const { scrollTop, scrollHeight, clientHeight } = event.currentTarget; atEnd.current = scrollHeight - scrollTop - clientHeight < 24; }}
      >
        {shown.length === 0 ? <p className="soft">{lines.length === 0 ? "No line so far." : "No such line."}</p> : shown.map((line, at) => (
          <p key={`${line.at}-${at}`} className={`log-line ${line.level.toLowerCase()}`}>
            <time dateTime={line.at} title={line.at}>{timeOfDay(line.at)}</time> <b>{line.level}</b> <span className="soft">{line.from}</span> <span>{line.text}</span>
          </p>
        ))}
      </div>
    </>
  );
}

function Source({ id }: { id: string }) {
  const [form, setForm] = useState<"source" | "yaml" | "xml">("source");
  const query = useQuery({ queryKey: ["source", id], queryFn: ({ signal }) => get<SourceText>(ofRun(id, "/source"), signal), staleTime: Infinity });
  return (
    <Answer query={query} what="The workload">
      {(sources) => {
        const forms = (["source", "yaml", "xml"] as const).filter((one) => sources[one]);
        const text = sources[form] ?? sources.source;
        return (
          <>
            <div className="filters">
              <div role="group" aria-label="Form" className="segments">
                {forms.map((one) => (
                  <button key={one} type="button" aria-pressed={form === one} onClick={() => setForm(one)}>
                    {one === "source" ? "as it was submitted" : one === "yaml" ? "native YAML" : "COSBench's XML"}
                  </button>
                ))}
              </div>
              <button type="button" className="button small" onClick={() => void copyText(text).then((done) => say(done ? "The workload is copied" : "The browser does not let this page copy", done ? "good" : "bad"))}>Copy</button>
              <span className="soft">secrets removed</span>
            </div>
            <pre tabIndex={0} role="region" aria-label="Workload">{text}</pre>
          </>
        );
      }}
    </Answer>
  );
}

function Files({ id }: { id: string }) {
  const query = useQuery({ queryKey: ["files", id], queryFn: ({ signal }) => get<FileInfo[]>(ofRun(id, "/files"), signal) });
  const columns: Column<FileInfo>[] = [
    { head: "file", text: true, cell: (file) => <a href={fileUrl(id, file.name)} download={file.name.split("/").pop()}>{file.name}</a> },
    { head: "size", cell: (file) => bytes(file.bytes), exact: (file) => exact(file.bytes, "bytes") },
    { head: "what is in it", text: true, cell: (file) => <span className="sentence">{file.what}</span> },
  ];
  return (
    <Answer query={query} what="The files">
      {(files) => files.length === 0
        ? <Empty title="There are no files yet.">They are made when the run begins.</Empty>
        : <DataTable label="Files of the run" columns={columns} rows={files} keyOf={(file) => file.name} />}
    </Answer>
  );
}
