// One study: its question and cost, its cells as a grid, its claims, its figures as they form.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { DataTable } from "../../components/DataTable";
import type { Study as StudyData, StudyGrid, StudyPart } from "../../data/api";
import { get, Refused } from "../api";
import { useZone } from "../prefs";
import { Choices, Grid } from "../study/Grid";
import { Head } from "../study/Head";
import { isUnderWay } from "../study/marks";
import { ofStudy } from "../study/paths";
import { Parts } from "../study/Results";
import { useAddress } from "../ui/address";
import { Answer, Empty, Failure, Loading } from "../ui/states";
import { useTitle } from "../ui/title";
import { NotFound } from "./NotFound";

const BUSY_MS = 2000;
const CALM_MS = 15_000;

export default function Study({ id }: { id: string }) {
  useZone();
  const study = useQuery({
    queryKey: ["study", id], queryFn: ({ signal }) => get<StudyData>(ofStudy(id), signal),
    // What is not read yet comes with the next answers.
    refetchInterval: ({ state }) => (state.data && (isUnderWay(state.data.summary.state) || state.data.unread > 0) ? BUSY_MS : CALM_MS),
  });
  useTitle(study.data?.summary.title ?? id);
  if (study.isError && !study.data) {
    if (study.error instanceof Refused && study.error.status === 404) return <NotFound what={`Study ${id}`} />;
    return <section className="panel"><Failure error={study.error} what={`Study ${id}`} onRetry={() => void study.refetch()} /></section>;
  }
  if (!study.data) return <section className="panel"><Loading what={`Study ${id}`} lines={8} /></section>;
  const gone = study.error instanceof Refused && study.error.status === 404;
  return (
    <>
      {gone && <p className="problem" role="alert">The directory of this study is not there any more: what is shown is what was last read.</p>}
      <Head study={study.data} onChanged={() => void study.refetch()} />
      {study.data.factors.length > 0 && <Body study={study.data} />}
    </>
  );
}

function Body({ study }: { study: StudyData }) {
  const { id, version } = study.summary;
  const [address] = useAddress();
  const [metric, operation] = [address.get("metric") ?? "", address.get("operation") ?? ""];
  const asked = new URLSearchParams({ ...(metric && { metric }), ...(operation && { operation }) });
  const grid = useQuery({
    queryKey: ["study-grid", id, String(asked), version, study.unread], queryFn: ({ signal }) => get<StudyGrid>(ofStudy(id, `/grid?${asked}`), signal),
    placeholderData: keepPreviousData, staleTime: 60_000,
  });
  const parts = useQuery({
    queryKey: ["study-figures", id, version, study.unread], queryFn: ({ signal }) => get<StudyPart[]>(ofStudy(id, "/figures"), signal),
    placeholderData: keepPreviousData, staleTime: 60_000,
  });
  return (
    <>
      <section className="panel" aria-labelledby="cells-head">
        <div className="panel-head"><h2 id="cells-head">Cells</h2><span className="soft">A click opens the run of a cell.</span></div>
        <Choices study={study} grid={grid.data} />
        <Answer query={grid} what="The cells" lines={6}>{(data) => <Grid study={study} grid={data} />}</Answer>
      </section>
      {study.claims.length > 0 && (
        <section className="panel" aria-labelledby="claims-head">
          <div className="panel-head"><h2 id="claims-head">Claims</h2><span className="soft">A claim agrees or disagrees only where the whole 95 % interval over at least 5 runs does.</span></div>
          <DataTable
            label="Table of claims" rows={study.claims} keyOf={(one) => one.id}
            columns={[
              { head: "id", text: true, cell: (one) => one.id },
              { head: "claim", text: true, cell: (one) => <span className="sentence">{one.says}</span> },
              { head: "finding", text: true, cell: (one) => <b className={`finding finding-${one.finding.replaceAll(" ", "-")}`}>{one.finding}</b> },
              { head: "why", text: true, cell: (one) => <span className="sentence soft">{one.why}</span> },
            ]}
          />
        </section>
      )}
      <section className="panel study-results" aria-labelledby="results-head">
        <div className="panel-head"><h2 id="results-head">Results so far</h2><span className="soft">The figures and tables of its report, as they form.</span></div>
        <Answer query={parts} what="The figures" lines={6}>
          {(data) => data.length === 0 ? <Empty title="Nothing was measured yet.">Figures come with the first cell that is over.</Empty> : <Parts parts={data} />}
        </Answer>
      </section>
      <section className="panel" aria-labelledby="about-head">
        <div className="panel-head"><h2 id="about-head">How it is run</h2></div>
        <ul className="remarks">{[...study.machine, ...study.shrunk].map((line) => <li key={line}>{line}</li>)}</ul>
      </section>
    </>
  );
}
