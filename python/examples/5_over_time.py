"""A stage over time: throughput and p99 above each other, and the heat map of all response times. Needs Matplotlib, and a
run of Cosmark: COSBench keeps no percentiles over time.

    python examples/5_over_time.py archive
"""

import sys

from matplotlib.figure import Figure

import cosmark
from cosmark import plot

try:
    runs = [run for run in cosmark.runs(sys.argv[1] if len(sys.argv) > 1 else "archive") if not run.made_by]
except cosmark.CosmarkError as why:
    sys.exit(str(why))
stages = [(run, stage) for run in runs for stage in run.stages if stage.main and stage.load_started]
if not stages:
    sys.exit("no run there has a stage that made load: make one with `cosmark demo`")
run, stage = max(stages, key=lambda both: sum(one.count for one in both[1].main))
figure = Figure(figsize=(7, 5), layout="constrained")
above, below = figure.subplots(2, sharex=True)
plot.timeline(run, stage.id, metric="throughput_per_s", ax=above)
plot.timeline(run, stage.id, metric="response_p99_ms", ax=below)
figure.savefig("over-time.pdf")
plot.heatmap(run, stage.id, stage.main[0].id).savefig("heat-map.png", dpi=300)
print("over-time.pdf and heat-map.png written")
for row in run.series(stage.id, stage.main[0].id)[:5]:
    print(f"{row['start_s']:6.1f} s {row['phase']:8} {row['throughput_per_s']:10.1f} operations/s")
