"""Instructions per operation in the engine, counted by callgrind: exact where times are not."""

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import CLIENT_CORE, pinned

HERE = Path(__file__).resolve().parent
LIMIT_FILE = HERE / "instructions.limit"
TARGET = 1500
FEW, MANY = 50_000, 450_000
TRIES = 5
FOREVER = 1 << 62


def limit():
    """Instructions per operation beyond which the gate fails."""
    return int(LIMIT_FILE.read_text().split()[0])


def count(binary, operations):
    """Instructions of a whole run of the null adaptor, all threads."""
    read = {"type": "read", "containers": "u(1,32)", "objects": "u(1,100000)"}
    work = {"name": "main", "workers": 16, "total_ops": operations, "operations": [read]}
    load = {"name": "instructions", "storage": {"type": "none"}, "stages": [{"name": "main", "works": [work]}]}
    with tempfile.TemporaryDirectory(prefix="cosmark-bench-") as place:
        file = Path(place) / "workload.json"
        file.write_text(json.dumps(load))
        # Pinned and with priority: what ticks by the clock (the watch, snapshots) then adds little.
        command = [*pinned(CLIENT_CORE, ["valgrind"]), "--tool=callgrind", f"--callgrind-out-file={place}/out", binary, "run", file,
                   "--threads", "1", "--seed", "1", "--json", "-q", "--archive", Path(place) / "archive"]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300, check=True)
        run = json.loads(done.stdout)
        ended = sum(op["count"] for stage in run["stages"] for op in stage["operations"])
        if ended != operations:
            raise RuntimeError(f"{ended} operations ended, {operations} were asked for")
        return int(re.search(r"Collected\s*:\s*(\d+)", done.stderr)[1])


def per_operation(binary):
    """The difference of two runs, so that start and end cancel out, each the least of up to TRIES tries: what ticks by the clock
    adds the more the longer a run takes, and takes nothing away, so on a busy machine one try alone says too much."""
    few = many = None
    for attempt in range(TRIES):
        few = min(count(binary, FEW), few or FOREVER)
        many = min(count(binary, MANY), many or FOREVER)
        if attempt and (many - few) / (MANY - FEW) <= limit():
            break
    return (many - few) / (MANY - FEW)


def row(binary):
    """The line of benches/run."""
    from figures import judged, not_run

    figure = "null adaptor, instructions per operation"
    if not shutil.which("valgrind"):
        return not_run(figure, f"<= {TARGET}", "valgrind is not installed")
    value = per_operation(binary)
    return judged(figure, f"{value:.0f}", "", f"gate {limit()}", f"<= {TARGET}", value <= TARGET)
