// Runs that have ended: search, filters, tags, the baseline, and the way to compare them.
import { useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { DataTable, type Column } from "../../../components/DataTable";
import type { RunSummary } from "../../../data/api";
import { call, get, ofRun } from "../../api";
import { useSession } from "../../session";
import { useStore } from "../../store";
import { hasEnded, system } from "../../system";
import { Empty, Failure, Loading } from "../../ui/states";
import { StateMark, VerdictMark } from "../../ui/marks";
import { Moment, lasted } from "../../ui/time";
import { attempt } from "../../ui/notices";
import { useAddress } from "../../ui/address";

const PAGE = 50;
const STATES = ["finished", "failed", "terminated", "cancelled"];
const VERDICTS: [string, string][] = [["true", "true"], ["true_with_limits", "true with limits"], ["not_proven", "not proven"], ["false", "false"]];

const SETUP = ["init", "prepare", "mprepare", "cleanup", "dispose"];

/** Kinds of operations that measure; all of them where none does. */
export function measuredOf(operations: string[]): string[] {
  const main = operations.filter((one) => !SETUP.includes(one));
  return main.length ? main : operations;
}

function useLater<T>(value: T, ms: number): T {
  const [later, setLater] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLater(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return later;
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

  const query = useInfiniteQuery({
    queryKey: ["history", wanted, state, tag],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => {
      const params = new URLSearchParams({ limit: String(PAGE) });
      if (wanted) params.set("search", wanted);
      if (state) params.set("state", state);
      if (tag) params.set("tag", tag);
      if (pageParam) params.set("before", pageParam);
      return get<RunSummary[]>(`runs?${params}`, signal);
    },
    getNextPageParam: (last) => (last.length < PAGE ? undefined : last[last.length - 1]?.id),
    // The rows stay while the next answer is on its way.
    placeholderData: (before) => before,
  });

  const seen = useRef(history);
  useEffect(() => {
    if (seen.current === history) return;
    seen.current = history;
    void client.invalidateQueries({ queryKey: ["history"] });
  }, [history, client]);

  const all = (query.data?.pages.flat() ?? []).filter(hasEnded);
  const rows = all.filter((run) => (!verdict || run.verdict === verdict) && (!baseline || run.baseline));
  const filtered = Boolean(wanted || state || tag || verdict || baseline);
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
    { head: "run", text: true, cell: (run) => <Link href={`/runs/${run.id}`}>{run.id}</Link> },
    {
      head: "name", text: true,
      cell: (run) => (
        <span className="history-name">
          <Link href={`/runs/${run.id}`}>{run.name}</Link>
          {run.baseline && <span className="tag baseline" title="Others of this workload are compared with it">baseline</span>}
          {run.tags.map((one) => <button key={one} type="button" className="tag" title={`Show only runs with the tag ${one}`} onClick={() => setAddress({ tag: one })}>{one}</button>)}
        </span>
      ),
    },
    { head: "state", text: true, cell: (run) => <StateMark state={run.state} />, exact: (run) => run.reason ?? "" },
    { head: "verdict", text: true, cell: (run) => <VerdictMark verdict={run.verdict} reason={run.verdict_reason} /> },
    { head: "operations", text: true, cell: (run) => measuredOf(run.operations).join(", ") || "–", exact: (run) => run.operations.join(", ") },
    { head: "started", text: true, cell: (run) => <Moment at={run.started ?? run.submitted} /> },
    { head: "took", cell: (run) => lasted(run.started, run.ended, 0) },
    ...(mayOperate ? [{
      head: "again", text: true,
      cell: (run: RunSummary) => (
        <button
          type="button" className="button small" aria-label={`Resubmit ${run.id}`}
          onClick={() => void attempt(async () => go(`/runs/${(await call<{ id: string }>("POST", ofRun(run.id, "/resubmit"))).id}`), `${run.name} is in the queue again`)}
        >
          Resubmit
        </button>
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
        : query.isError && all.length === 0 ? <Failure error={query.error} what="The history" onRetry={() => void query.refetch()} />
        : rows.length === 0 ? (
          filtered
            ? <Empty title="No run fits these filters."><p><button type="button" className="button" onClick={() => { setSearch(""); setAddress({ search: "", state: "", tag: "", verdict: "", baseline: "" }); }}>Show all runs</button></p></Empty>
            : <Empty title="No run has ended yet."><p>What has ended is listed here, with its verdict. <Link href="/submit">Submit the first workload</Link></p></Empty>
        ) : (
          <DataTable label="Runs that have ended" columns={columns} rows={rows} keyOf={(run) => run.id} />
        )}
      {query.hasNextPage && (
        <p className="more"><button type="button" className="button" disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>Older runs</button></p>
      )}
    </section>
  );
}
