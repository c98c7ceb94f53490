"""Are two sets of repetitions different? Runs of the same workload of one archive: the older half against the newer half.

    python examples/3_repetitions.py archive
"""

import sys
from collections import Counter

import cosmark

try:
    runs = [run for run in cosmark.runs(sys.argv[1] if len(sys.argv) > 1 else "archive") if run.state == "finished"]
except cosmark.CosmarkError as why:
    sys.exit(str(why))
if not runs:
    sys.exit("no run there is finished: make some with `cosmark run FILE`")
name, _ = Counter(run.name for run in runs).most_common(1)[0]
same = [run for run in runs if run.name == name]
half = max(1, len(same) // 2)
before, after = same[:half], same[half:] or same[:half]
print(f"{name}: {[run.id for run in before]} against {[run.id for run in after]}")
words = {True: "differs", False: "no difference shown", None: "cannot be said: two or more repetitions on each side"}
for row in cosmark.compare(before, after):
    print(f"{row['stage']} {row['operation']:8} {row['figure']:22} {row['change'] or 0:+.1%}  {words[row['differs']]}")
