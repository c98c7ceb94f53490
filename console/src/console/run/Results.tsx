// The results of a run that has ended: the report's own parts.
import { useEffect, useMemo, useState } from "react";
import type { RunSummary } from "../../data/api";
import type { ReportData } from "../../data/types";
import { Configuration } from "../../report/Configuration";
import { measured, stageIn } from "../../report/figures";
import { Goals } from "../../report/Goals";
import { Ladders } from "../../report/Ladder";
import { Overview } from "../../report/Overview";
import { RawShares } from "../../report/RawShares";
import { StageTabs } from "../../report/StageTabs";
import { StageView } from "../../report/StageView";
import { Checks, VerdictBanner } from "../../report/Verdict";

export function Results({ data, run }: { data: ReportData; run: Pick<RunSummary, "reason"> & { state: string } }) {
  const { stages } = data;
  const main = useMemo(() => measured(stages), [stages]);
  const named = () => stageIn(location.hash);
  const [wanted, setWanted] = useState(named);
  const stage = stages.find((one) => one.id === wanted || one.name === wanted) ?? main[0] ?? stages[0];

  useEffect(() => {
    const follow = () => setWanted(named());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);

  const choose = (id: string) => {
    setWanted(id);
    history.replaceState(null, "", `#stage=${encodeURIComponent(id)}`);
  };
  return (
    <>
      <VerdictBanner verdict={data.verdict} run={{ ...data.run, state: run.state, reason: run.reason ?? data.run.reason }} />
      <Goals thresholds={data.thresholds} searches={data.searches} />
      <Ladders ladders={data.ladders} />
      <RawShares shares={data.raw_shares} limits={data.raw_limits} />
      {main.length > 1 && <Overview stages={main} shown={stage?.id ?? ""} onShow={choose} />}
      {stages.length > 1 && stage && <StageTabs stages={stages} shown={stage.id} onShow={choose} />}
      {stage ? <StageView key={stage.id} stage={stage} alone={stages.length === 1} /> : <section><p className="empty">This run has no stages.</p></section>}
      <Checks verdict={data.verdict} />
      <Configuration data={data} />
    </>
  );
}
