"""What the last run of an archive says: verdict, operations, any percentile, and how surely the rates are known.

    python examples/1_first_look.py archive
"""

import sys

import cosmark

try:
    run = cosmark.open("last", sys.argv[1] if len(sys.argv) > 1 else "archive")
except cosmark.CosmarkError as why:
    sys.exit(str(why))
print(run.id, run.state, "-", run.verdict)
columns = ("stage", "operation", "count", "failures", "throughput_per_s", "response_p50_ms", "response_p99_ms")
print(run.main.select(*columns))
for stage in run.stages:
    for operation in stage.main:
        # COSBench leaves no exact times, and no bounds.
        if not run.made_by:
            p999 = operation.quantile(0.999)
            print(stage.name, operation.name, "p99.9:", "too few operations" if p999 is None else f"{p999:.3f} ms")
        bounds = operation.bounds("throughput_per_s")
        if bounds:
            print(f"  an ideal client would have measured {bounds[0]:.1f} to {bounds[1]:.1f} operations/s")
for check in run.verdict.checks:
    if check["status"] in ("warn", "fail"):
        print(check["id"], check["status"], "-", check["message"])
