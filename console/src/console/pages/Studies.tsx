// All studies of this machine.
import { Link } from "wouter";
import { useQuery } from "@tanstack/react-query";
import { DataTable, type Column } from "../../components/DataTable";
import type { StudySummary } from "../../data/api";
import { clock } from "../../format";
import { get } from "../api";
import { HowFar, isUnderWay, StudyMark } from "../study/marks";
import { studyPath } from "../study/paths";
import { Answer, Empty } from "../ui/states";
import { Age } from "../ui/time";
import { useTitle } from "../ui/title";

const BUSY_MS = 3000;
const CALM_MS = 15_000;

const COLUMNS: Column<StudySummary>[] = [
  { head: "study", text: true, cell: (one) => <span className="study-name"><Link href={studyPath(one.id)}>{one.title}</Link><span className="soft"> {one.id}</span>{one.reason && <span className="trouble-line">{one.reason}</span>}</span> },
  { head: "state", text: true, cell: (one) => <StudyMark state={one.state} /> },
  { head: "runs", cell: (one) => (one.planned > 0 ? <span className="study-far"><HowFar study={one} />{one.done} of {one.planned}</span> : one.done) },
  { head: "failed", cell: (one) => (one.failed > 0 ? <span className="failed">{one.failed}</span> : 0) },
  { head: "time so far", cell: (one) => clock(Math.round(one.spent_s)) },
  { head: "time left", cell: (one) => (one.left_s === null ? "–" : one.done >= one.planned ? "none" : `about ${clock(Math.round(one.left_s))}`) },
  { head: "last change", cell: (one) => (one.changed ? <Age at={one.changed} /> : "–") },
];

export default function Studies() {
  useTitle("Studies");
  const query = useQuery({
    queryKey: ["studies"], queryFn: ({ signal }) => get<StudySummary[]>("studies", signal),
    refetchInterval: ({ state }) => (state.data?.some((one) => isUnderWay(one.state)) ? BUSY_MS : CALM_MS),
  });
  return (
    <>
      <h1 className="page-title">Studies</h1>
      <section className="panel" aria-label="Studies">
        <Answer query={query} what="The studies" lines={6}>
          {(all) => all.length === 0 ? (
            <Empty title="There is no study beside the results of this controller.">
              <p>Begin one in the same directory: <code>cosmark study slides --plan</code> shows what it would run, <code>cosmark study list</code> names all. The controller's <code>--studies</code> names another directory.</p>
            </Empty>
          ) : <DataTable label="Table of studies" columns={COLUMNS} rows={all} keyOf={(one) => one.id} />}
        </Answer>
      </section>
    </>
  );
}
