"""Throughput and latency along a ladder of loads, as a picture of one column and as a table for LaTeX. Takes the run of
the archive that has most measured stages; needs Matplotlib.

    python examples/4_knee.py archive
"""

import sys

import cosmark
from cosmark import plot

try:
    runs = cosmark.runs(sys.argv[1] if len(sys.argv) > 1 else "archive")
except cosmark.CosmarkError as why:
    sys.exit(str(why))
if not runs:
    sys.exit("no run there: make one with `cosmark run workloads/ladder.yaml`")
run = max(runs, key=lambda run: sum(bool(stage.main) for stage in run.stages))
figure = plot.knee(run, "response_ms.mean")
figure.axes[0].set_title(run.name)
figure.savefig("knee.pdf")
print("knee.pdf written")
print(r"\begin{tabular}{lrr} load & operations/s & mean ms \\ \hline")
for stage in run.stages:
    for operation in stage.main:
        mean = operation.record["response_ms"]["mean"]
        rate = operation.throughput_per_s
        if mean is not None and rate is not None:
            print(rf"{stage.name} & {rate:.1f} & {mean:.3f} \\")
print(r"\end{tabular}")
