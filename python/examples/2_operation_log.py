"""Questions that no table answers, asked of the operation log: are slow operations a few workers', a few objects', or
moments in which all were slow? Needs a run with --oplog, and Polars.

    python examples/2_operation_log.py archive
"""

import sys

import polars as pl

import cosmark

try:
    runs = cosmark.runs(sys.argv[1] if len(sys.argv) > 1 else "archive")
except cosmark.CosmarkError as why:
    sys.exit(str(why))
run = next((run for run in reversed(runs) if not run.made_by and run.oplog()), None)
if run is None:
    sys.exit("no run there has an operation log: make one with `cosmark run FILE --oplog`")
ok = run.oplog().scan().filter((pl.col("phase") == "window") & (pl.col("outcome") == "ok"))
timed = ok.with_columns(ms=(pl.col("end_ns") - pl.col("due_ns")) / 1e6, second=pl.col("end_ns") // 1_000_000_000)
slow = timed.filter(pl.col("ms") > pl.col("ms").quantile(0.99).over("operation")).collect()
print(run.id, "has", slow.height, "operations beyond their p99")
# Of a few dozen operations the greatest is the p99, and none is beyond it.
for column in ("worker", "object", "second") if slow.height else ():
    share = slow[column].value_counts(sort=True).head(1)
    print(f"  the {column} with most of them has {share['count'][0] / slow.height:.1%}")
print(timed.group_by("operation").agg(pl.len(), pl.col("ms").median().alias("p50_ms")).collect())
