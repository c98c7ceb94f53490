// Runs that have ended: search, filters, tags, the baseline, and the way to compare them.
import { useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { DataTable, type Column } from "../../../components/DataTable";
import type { RunSummary } from "../../../data/api";
import { call, get, ofRun } from "../../api";
import { runPage } from "../../paths";
import { useSession } from "../../session";
import { useStore } from "../../store";
import { hasEnded, system } from "../../system";
import { exact, moment, short } from "../../../format";
import { Confirm } from "../../ui/Dialog";
import { Empty, Failure, Loading } from "../../ui/states";
import { StateMark, VerdictMark } from "../../ui/marks";
import { lasted } from "../../ui/time";
import { useZone } from "../../prefs";
import { attempt } from "../../ui/notices";
import { useAddress } from "../../ui/address";

const PAGE = 50;
const STATES = ["finished", "failed", "terminated", "cancelled", "killed"];
const VERDICTS: [string, string][] = [["true", "true"], ["true_with_limits", "true with limits"], ["not_proven", "not proven"], ["false", "false"]];

const SETUP = ["init", "prepare", "mprepare", "cleanup", "dispose"];

/** Kinds of operations that measure; all of them where none does. */
export function measuredOf(operations: string[]): string[] {
  const main = operations.filter((one) => !SETUP.includes(one));
  return main.length ? main : operations;
}

/** COSBench's tables do not say how far beyond their last bucket a percentile lies. */
export function p99Of(run: RunSummary, write: typeof short): string {
  return `${run.p99_is_least ? ">\u00a0" : ""}${write(run.p99_ms, "ms")}`;
}

function useLater<T>(value: T, ms: number): T {
  const [later, setLater] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLater(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return later;
}

/** A moment without seconds and zone, which the foot of the page names. */
function Minute({ at }: { at: string | null }) {
  useZone();
  return at === null ? <>–</> : <time dateTime={at} className="moment">{moment(at).slice(0, 16)}</time>;
}

/** The moment at which a day begins or ends by the clock of the page; the controller takes days of UTC. */
export function edgeOf(day: string, zone: string, end: boolean): string {
  if (day === "" || zone === "utc") return day;
  const at = new Date(`${day}T${end ? "23:59:59.999" : "00:00:00"}`);
  return Number.isNaN(at.getTime()) ? day : at.toISOString();
}

/** Without what is not asked for. */
export function given(asked: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== ""));
}

/** A run that ends while pages are read moves the others on: each is shown once. */
function once(runs: RunSummary[]): RunSummary[] {
  const seen = new Set<string>();
  return runs.filter((run) => !seen.has(run.id) && seen.add(run.id));
}

export function History() {
  const { history } = useStore(system);
  const { mayOperate } = useSession();
  const client = useQueryClient();
  const [, go] = useLocation();
  const [address, setAddress] = useAddress();
  const [search, setSearch] = useState(address.get("search") ?? "");
  const wanted = useLater(search, 250);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const state = address.get("state") ?? "";
  const tag = address.get("tag") ?? "";
  const verdict = address.get("verdict") ?? "";
  const baseline = address.get("baseline") === "1";

  useEffect(() => {
    if ((address.get("search") ?? "") !== wanted) setAddress({ search: wanted });
    // Only what was typed goes into the address.
  }, [wanted]);

  const [since, until] = [address.get("since") ?? "", address.get("until") ?? ""];
  const sort = address.get("sort") ?? "id";
  const down = address.get("down") !== "0";
  const [deleting, setDeleting] = useState<RunSummary | null>(null);

  const [zone] = useZone();
  // The controller filters and sorts: what fits is found wherever it is, not only among the rows that are shown.
  const asked = { search: wanted, state: state || "ended", tag, verdict, baseline: baseline ? "1" : "", since: edgeOf(since, zone, false), until: edgeOf(until, zone, true), sort, down: down ? "1" : "0" };
  const query = useInfiniteQuery({
    queryKey: ["history", asked],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) => get<RunSummary[]>(`runs?${new URLSearchParams({ ...given(asked), limit: String(PAGE), skip: String(pageParam) })}`, signal),
    getNextPageParam: (last, pages) => (last.length < PAGE ? undefined : pages.reduce((sum, page) => sum + page.length, 0)),
    // The rows stay while the next answer is on its way.
    placeholderData: (before) => before,
  });

  const seen = useRef(history);
  useEffect(() => {
    if (seen.current === history) return;
    seen.current = history;
    void client.invalidateQueries({ queryKey: ["history"] });
  }, [history, client]);

  const rows = once((query.data?.pages.flat() ?? []).filter(hasEnded));
  const filtered = Boolean(wanted || state || tag || verdict || baseline || since || until);
  const choose = (id: string, on: boolean) => {
    const next = new Set(chosen);
    if (on) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  const picked = [...chosen];

  const columns: Column<RunSummary>[] = [
    {
      head: "compare", text: true,
      cell: (run) => <input type="checkbox" aria-label={`Choose ${run.id} to compare`} checked={chosen.has(run.id)} onChange={(event) => choose(run.id, event.target.checked)} />,
    },
    { head: "run", text: true, sort: "id", cell: (run) => <Link href={runPage(run.id)}>{run.id}</Link> },
    {
      head: "name", text: true, sort: "name",
      cell: (run) => (
        <span className="history-name">
          <Link href={runPage(run.id)} title={measuredOf(run.operations).join(", ") || undefined}>{run.name}</Link>
          {run.baseline && <span className="tag baseline" title="Others of this workload are compared with it">baseline</span>}
          {run.tags.map((one) => <button key={one} type="button" className="tag" title={`Show only runs with the tag ${one}`} onClick={() => setAddress({ tag: one })}>{one}</button>)}
        </span>
      ),
    },
    { head: "target", text: true, sort: "target", cell: (run) => <span className="history-target" title={run.target ?? undefined}>{run.target ?? "–"}</span> },
    { head: "op/s", title: "Operations per second of the stage with the highest rate", sort: "throughput", cell: (run) => short(run.throughput_per_s, "per_s"), exact: (run) => exact(run.throughput_per_s, "per_s") },
    { head: "p99", title: "Response time of that stage's slowest operation", sort: "p99", cell: (run) => p99Of(run, short), exact: (run) => p99Of(run, exact) },
    { head: "state", text: true, sort: "state", cell: (run) => <StateMark state={run.state} />, exact: (run) => run.reason ?? "" },
    { head: "verdict", text: true, sort: "verdict", cell: (run) => <VerdictMark verdict={run.verdict} reason={run.verdict_reason} /> },
    { head: "started", text: true, sort: "started", cell: (run) => <Minute at={run.started ?? run.submitted} />, exact: (run) => moment(run.started ?? run.submitted) },
    { head: "took", sort: "took", cell: (run) => lasted(run.started, run.ended, null) },
    ...(mayOperate ? [{
      head: "action", text: true,
      cell: (run: RunSummary) => (
        <span className="row-actions">
          <button
            type="button" className="button small" aria-label={`Resubmit ${run.id}`}
            onClick={() => void attempt(async () => go(runPage((await call<{ id: string }>("POST", ofRun(run.id, "/resubmit"))).id)), `${run.name} is in the queue`)}
          >
            Resubmit
          </button>
          <button type="button" className="button small" aria-label={`Delete ${run.id}`} disabled={run.baseline} title={run.baseline ? "A baseline is not deleted" : "Delete this run and its files"} onClick={() => setDeleting(run)}>✕</button>
        </span>
      ),
    }] : []),
  ];

  return (
    <section className="panel history" aria-labelledby="history">
      <div className="panel-head">
        <h2 id="history">History</h2>
        <div className="filters">
          <input type="search" placeholder="Search names, ids, tags" aria-label="Search the history" value={search} onChange={(event) => setSearch(event.target.value)} />
          <select aria-label="State" value={state} onChange={(event) => setAddress({ state: event.target.value })}>
            <option value="">any state</option>
            {STATES.map((one) => <option key={one}>{one}</option>)}
          </select>
          <select aria-label="Verdict" value={verdict} onChange={(event) => setAddress({ verdict: event.target.value })}>
            <option value="">any verdict</option>
            {VERDICTS.map(([value, word]) => <option key={value} value={value}>{word}</option>)}
          </select>
          <label className="check">from <input type="date" aria-label="Began on this day or later" value={since} max={until || undefined} onChange={(event) => setAddress({ since: event.target.value })} /></label>
          <label className="check">to <input type="date" aria-label="Began on this day or before" value={until} min={since || undefined} onChange={(event) => setAddress({ until: event.target.value })} /></label>
          <label className="check"><input type="checkbox" checked={baseline} onChange={(event) => setAddress({ baseline: event.target.checked ? "1" : "" })} /> baselines</label>
          {tag && <button type="button" className="tag removable" onClick={() => setAddress({ tag: "" })} aria-label={`Show all tags, not only ${tag}`}>{tag} ✕</button>}
        </div>
        <button
          type="button" className="button" disabled={picked.length < 2}
          title={picked.length < 2 ? "Choose at least two runs" : undefined}
          onClick={() => go(`/compare?runs=${picked.map(encodeURIComponent).join(",")}`)}
        >
          Compare{picked.length > 0 && ` ${picked.length}`}
        </button>
      </div>
      {query.isPending ? <Loading what="The history" lines={6} />
        : query.isError && rows.length === 0 ? <Failure error={query.error} what="The history" onRetry={() => void query.refetch()} />
        : rows.length === 0 ? (
          filtered
            ? <Empty title="No run fits these filters."><p><button type="button" className="button" onClick={() => { setSearch(""); setAddress({ search: "", state: "", tag: "", verdict: "", baseline: "", since: "", until: "" }); }}>Show all runs</button></p></Empty>
            : <Empty title="No run has ended yet."><p>What has ended is listed here, with its verdict. <Link href="/submit">Submit the first workload</Link></p></Empty>
        ) : (
          <DataTable label="Runs that have ended" columns={columns} rows={rows} keyOf={(run) => run.id} sorting={{ by: sort, down, onSort: (by) => setAddress({ sort: by, down: by === sort && down ? "0" : "1" }) }} />
        )}
      <Confirm
        title={`Delete ${deleting?.id ?? "the run"}?`} open={deleting !== null} onClose={() => setDeleting(null)} action="Delete the run" keep="Keep it"
        onConfirm={async () => {
          if (!deleting) return;
          const { id } = deleting;
          await attempt(() => call("DELETE", ofRun(id)), `${id} is deleted`);
          choose(id, false);
          await client.invalidateQueries({ queryKey: ["history"] });
        }}
      >
        All its files are deleted from the archive, {deleting?.name} {deleting?.id} with its results, logs and report. This cannot be taken back.
      </Confirm>
      {query.hasNextPage && (
        <p className="more"><button type="button" className="button" disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>More runs</button></p>
      )}
    </section>
  );
}
