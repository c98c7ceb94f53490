// One run: while it waits or runs, as it goes; after its end, as the report shows it.
import { useEffect, useMemo, useState } from "react";
import { Link } from "wouter";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { RunSummary } from "../../data/api";
import type { ReportData } from "../../data/types";
import { get, ofRun, Refused } from "../api";
import { RunFeed, type LiveRun } from "../live/run";
import { Live } from "../run/Live";
import { Header } from "../run/Header";
import { Papers } from "../run/Papers";
import { Results } from "../run/Results";
import { Timeline } from "../run/Timeline";
import { Store, useStore } from "../store";
import { hasEnded, system } from "../system";
import { Answer, Empty, Failure, Loading } from "../ui/states";
import { useTitle } from "../ui/title";
import { NotFound } from "./NotFound";

const NOTHING = new Store<LiveRun | null>(null);

export default function Run({ id }: { id: string }) {
  const client = useQueryClient();
  const summary = useQuery({ queryKey: ["run", id], queryFn: ({ signal }) => get<RunSummary>(ofRun(id), signal) });
  const active = summary.data !== undefined && !hasEnded(summary.data);
  const feed = useFeed(id, active);
  const live = useStore<LiveRun | null>((feed?.store ?? NOTHING) as Store<LiveRun | null>);
  const heard = useStore(system).active.find((one) => one.id === id);
  const run = live?.run ?? heard ?? summary.data;
  const over = live?.over === true || (live?.run != null && hasEnded(live.run));

  useTitle(run ? `${run.id} ${run.name}` : id);

  useEffect(() => {
    // The end is told by the stream; what stays is asked for anew.
    if (!over) return;
    void client.invalidateQueries({ queryKey: ["run", id] });
    void client.invalidateQueries({ queryKey: ["data", id] });
  }, [over, client, id]);

  if (summary.isError) {
    if (summary.error instanceof Refused && summary.error.status === 404) return <NotFound what={`Run ${id}`} />;
    return <section className="panel"><Failure error={summary.error} what={`Run ${id}`} onRetry={() => void summary.refetch()} /></section>;
  }
  if (!run || !summary.data) return <section className="panel"><Loading what={`Run ${id}`} lines={8} /></section>;
  const ended = hasEnded(summary.data);
  return (
    <div className="run-page">
      <Header run={ended ? summary.data : run} live={ended ? null : live} onRetry={feed?.retry} onChanged={() => void summary.refetch()} />
      {ended ? <Ended run={summary.data} /> : run.state === "queuing" && !live?.stages.some((stage) => stage.load_started)
        ? <Waiting run={run} />
        : live ? <Live run={run} live={live} /> : <Loading what="The run" lines={8} />}
      <Papers run={ended ? summary.data : run} lines={ended ? null : (live?.log ?? [])} />
    </div>
  );
}

function useFeed(id: string, active: boolean): RunFeed | null {
  const [feed, setFeed] = useState<RunFeed | null>(null);
  useEffect(() => {
    if (!active) return;
    const made = new RunFeed(id);
    setFeed(made);
    return () => {
      made.stop();
      setFeed(null);
    };
  }, [id, active]);
  return feed;
}

function Waiting({ run }: { run: RunSummary }) {
  const { active } = useStore(system);
  const before = active.filter((one) => one.position !== null && run.position !== null && one.position < run.position);
  return (
    <section className="panel">
      <Empty title={before.length === 0 ? "This run is the next one." : `This run waits behind ${before.length} other${before.length === 1 ? "" : "s"}.`}>
        {run.waits_for && <p role="status">It is {run.waits_for}.</p>}
        <p>It shows here what it does as soon as it begins. The order can be changed <Link href="/">in the queue</Link>.</p>
      </Empty>
    </section>
  );
}

function Ended({ run }: { run: RunSummary }) {
  const query = useQuery({ queryKey: ["data", run.id], queryFn: ({ signal }) => get<ReportData>(ofRun(run.id, "/data"), signal), staleTime: 60_000 });
  const none = query.isError && query.error instanceof Refused && query.error.status === 404;
  const stages = useMemo(() => query.data?.stages.map((stage, index) => ({
    id: stage.id, index, state: stage.state, load_started: stage.started, planned_s: stage.took_s, reason: stage.reason,
  })) ?? [], [query.data]);
  if (none) return <section className="panel"><Empty title="This run has no results.">{run.reason ?? "It ended before it began."}</Empty></section>;
  return (
    <Answer query={query} what="The results" lines={10}>
      {(data) => (
        <>
          {stages.length > 1 && <Timeline stages={stages} data={data.stages} run={run} onShow={(id) => { location.hash = `stage=${encodeURIComponent(id)}`; }} />}
          <Results data={data} run={run} />
        </>
      )}
    </Answer>
  );
}
