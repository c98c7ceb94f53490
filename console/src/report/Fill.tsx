// How a pass over a data set went, over the objects stored.
import { Chart } from "../charts/Chart";
import { fillChart, fullChart } from "../charts/fill";
import type { StageData } from "../data/types";
import { grouped } from "../format";

export function Fill({ stage }: { stage: StageData }) {
  const fill = stage.fill;
  if (!fill) return null;
  const models = [fillChart(fill), fullChart(fill)].filter((model) => model !== null);
  const left = fill.objects - fill.done;
  return (
    <div className="fill">
      <h3>Data set {fill.dataset}</h3>
      <p className="soft">
        {grouped(fill.done)} of {grouped(fill.objects)} objects are done{fill.before > 0 && <>, {grouped(fill.before)} of them by earlier runs</>}
        {left > 0 ? <>; {grouped(left)} are left: the same command goes on.</> : "."}
      </p>
      {models.length > 0 && <div className="charts">{models.map((model) => <Chart key={model.id} model={model} wide />)}</div>}
    </div>
  );
}
