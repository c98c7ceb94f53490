// The report: verdict, headline, pictures, then everything else.
import { useEffect, useMemo, useState } from "react";
import { ThemeContext } from "../charts/context";
import type { ReportData, StageData } from "../data/types";
import { moment, short } from "../format";
import { Checks, VerdictBanner } from "./Verdict";
import { Configuration } from "./Configuration";
import { measured, stageIn } from "./figures";
import { Goals } from "./Goals";
import { Ladders } from "./Ladder";
import { Overview } from "./Overview";
import { RawShares } from "./RawShares";
import { StageView } from "./StageView";
import { StageTabs } from "./StageTabs";
import { useTheme } from "./theme";

/** The stage that the address names, else the first that measured something. */
function firstStage(stages: StageData[], hash: string): string {
  const wanted = stageIn(hash);
  const found = stages.find((stage) => stage.id === wanted) ?? measured(stages)[0] ?? stages[0];
  return found?.id ?? "";
}

export function App({ data }: { data: ReportData }) {
  const [theme, turn] = useTheme();
  const { run, stages } = data;
  const [shown, setShown] = useState(() => firstStage(stages, location.hash));
  const stage = stages.find((one) => one.id === shown);
  const main = useMemo(() => measured(stages), [stages]);

  useEffect(() => {
    document.title = `${run.id} ${run.name} · Cosmark report`;
    const follow = () => setShown(firstStage(stages, location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, [run, stages]);

  const choose = (id: string) => {
    setShown(id);
    history.replaceState(null, "", `#stage=${encodeURIComponent(id)}`);
  };

  return (
    <ThemeContext.Provider value={theme}>
      <a className="skip" href="#main">To the results</a>
      <header className="top">
        <div className="brand">Cosmark</div>
        <div className="title">
          <h1>{run.name} <span className="id">{run.id}</span></h1>
          <p>{run.description ?? ""}</p>
        </div>
        <p className="when">
          <span className={`state ${run.state}`}>{run.state}</span>
          {moment(run.started ?? run.submitted)}
          {run.started && run.ended && `, ${short((Date.parse(run.ended) - Date.parse(run.started)) / 1000, "s")}`}
          {run.hostname && ` on ${run.hostname}`}
        </p>
        <button type="button" className="theme" onClick={turn} aria-label={`Use the ${theme === "dark" ? "light" : "dark"} theme`}>
          {theme === "dark" ? "Light" : "Dark"}
        </button>
      </header>
      <main id="main">
        <VerdictBanner verdict={data.verdict} run={run} />
        <Goals thresholds={data.thresholds} searches={data.searches} />
        <Ladders ladders={data.ladders} />
        <RawShares shares={data.raw_shares} limits={data.raw_limits} />
        {main.length > 1 && <Overview stages={main} shown={shown} onShow={choose} />}
        {stages.length > 1 && <StageTabs stages={stages} shown={shown} onShow={choose} />}
        {stage ? <StageView key={stage.id} stage={stage} alone={stages.length === 1} /> : <p className="empty">This run has no stages.</p>}
        <Checks verdict={data.verdict} />
        <Configuration data={data} />
      </main>
      <footer>
        Made by Cosmark {data.made_by} from {run.directory}. Times count from the moment an operation was due, percentiles are
        read from merged histograms, and a percentile with fewer than ten operations beyond it is not shown.
      </footer>
    </ThemeContext.Provider>
  );
}
