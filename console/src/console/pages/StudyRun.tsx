// A run of a study: as the report shows it.
import { Link } from "wouter";
import { useQuery } from "@tanstack/react-query";
import type { ReportData } from "../../data/types";
import { get, Refused } from "../api";
import { Results } from "../run/Results";
import { ofStudy, studyPath } from "../study/paths";
import { Answer, Empty } from "../ui/states";
import { useTitle } from "../ui/title";

export default function StudyRun({ id, run }: { id: string; run: string }) {
  useTitle(run);
  const query = useQuery({ queryKey: ["study-run", id, run], queryFn: ({ signal }) => get<ReportData>(ofStudy(id, `/runs/${encodeURIComponent(run)}/data`), signal), staleTime: 60_000 });
  const none = query.isError && query.error instanceof Refused && query.error.status === 404;
  return (
    <div className="run-page">
      <section className="panel">
        <h1 className="study-run-name">{run}</h1>
        <p><Link href={studyPath(id)}>Back to the study {id}</Link></p>
      </section>
      {none
        ? <section className="panel"><Empty title="This run has no page of its own.">It is not over, or it is a job of fio, whose figures are in the grid of its study.</Empty></section>
        : <Answer query={query} what="The results" lines={10}>{(data) => <Results data={data} run={{ state: data.run.state, reason: data.run.reason }} />}</Answer>}
    </div>
  );
}
