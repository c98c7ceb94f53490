"""All cells of a study as one table, what each factor level came to, and a picture of it. Takes the directory of a study
(`cosmark study slides` makes study-slides-quick); the picture needs Matplotlib.

    python examples/6_study.py study-slides-quick
"""

import sys

import cosmark
from cosmark import plot

try:
    study = cosmark.open_study(sys.argv[1] if len(sys.argv) > 1 else "study-slides-quick")
except cosmark.CosmarkError as why:
    sys.exit(str(why))
print(study, "-", study.question)
print("factors:", {name: levels for name, levels in study.factors.items() if len(levels) > 1})
operation = next((row["operation"] for row in study.cells if row["operation"]), None)
if operation is None:
    sys.exit("nothing of it is measured yet")
means = study.means("throughput_per_s", operation)
print(means)
for claim in study.claims:
    print(claim["id"], claim["finding"], "-", claim["says"])
# The factor with most levels goes along the axis, the next one becomes lines; of all others one level is drawn.
factors = sorted((name for name, levels in study.factors.items() if len(levels) > 1), key=lambda one: -len(study.factors[one]))
if factors:
    x, lines = factors[0], factors[1] if len(factors) > 1 else None
    where = {name: means[0][name] for name in factors[2:]}
    plot.study(study, x, lines=lines, operation=operation, where=where).savefig("study.pdf")
    print("study.pdf written")
