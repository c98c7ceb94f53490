"""Runs of COSBench: the program ``cosmark`` reads their tables, and this module asks it what they say."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .errors import CosmarkError
from .files import open_file

#: Columns of a series out of a timeline of COSBench, which has no percentiles.
COLUMNS = (
    "start_s", "end_s", "phase", "time", "count", "failures", "bytes", "throughput_per_s", "bandwidth_bytes_per_s",
    "response_mean_ms", "first_byte_mean_ms",
)
#: Its interval where a timeline has one row: its default.
_INTERVAL_S = 5.0


def is_at(path: Path) -> bool:
    """Whether a directory holds the result table of a run of COSBench, and no run of ours."""
    try:
        files = os.listdir(path)
    except OSError:
        return False
    return "run.json" not in files and any(
        re.match(r"w\d+-.*\.csv$", name) and _begins_as_results(path / name) for name in files
    )


def _begins_as_results(file: Path) -> bool:
    try:
        with open_file(file) as table:
            first = table.read(300)
    except OSError:
        return False
    # Some editors put a mark before the first sign, and a fork has columns of its own before the name of the operation.
    head = (first[3:] if first.startswith(b"\xef\xbb\xbf") else first).split(b"\n")[0].strip().split(b",")
    return b"Stage" in head and b"Op-Name" in head


def record_text(path: Path) -> str:
    """What its ``run.json`` would be."""
    return exported(path, "is a run of COSBench, which the program reads")


def exported(path: Path, why: str) -> str:
    """The record of a run as the program reads it; ``why`` it is asked stands in the error where it cannot be."""
    from .program import binary

    try:
        command = [str(binary()), "export", str(path), "--format", "json"]
        # UTF-8 in whatever locale this is.
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace")
    except (CosmarkError, OSError) as cause:
        raise CosmarkError(f"{path} {why}: {cause}") from None
    if done.returncode != 0:
        raise CosmarkError(done.stderr.strip() or f"cosmark export of {path} ended with exit code {done.returncode}")
    return done.stdout


def series(timeline: Sequence[Mapping[str, Any]], at: int) -> List[Dict[str, Any]]:
    """What an operation, number ``at`` of its stage, did in each row of the timeline of the stage."""
    width_s = _width_s([str(row.get("time") or "") for row in timeline])
    rows: List[Dict[str, Any]] = []
    for number, entry in enumerate(timeline):
        operations: Sequence[Mapping[str, Any]] = entry.get("operations") or []
        one: Mapping[str, Any] = operations[at] if at < len(operations) else {}
        row: Dict[str, Any] = {"start_s": number * width_s, "end_s": (number + 1) * width_s, "phase": None}
        row["time"] = entry.get("time")
        figures = ("count", "bytes", "throughput_per_s", "bandwidth_bytes_per_s")
        row.update({name: _figure(one.get(name)) for name in figures})
        row["failures"] = _failures(row["count"], _figure(one.get("success_ratio")))
        row["response_mean_ms"], row["first_byte_mean_ms"] = (_figure(one.get(f"{name}_ms")) for name in ("response", "first_byte"))
        rows.append(row)
    return rows


def _figure(value: Any) -> Any:
    """What is no number, or one that no measurement gives (NaN, more than 1e308), is not known."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e308 else None


def _failures(count: Any, ratio: Any) -> Optional[int]:
    """Worked out from the share of successes, which has four digits; None where nothing succeeded of what ended."""
    if count == 0 and ratio is None:
        return 0
    if not isinstance(count, int) or not isinstance(ratio, (int, float)) or not 0.0 < ratio <= 1.0:
        return None
    ended = count / ratio
    return round(ended - count) if ended < 1e308 else None


def _width_s(times: Sequence[str]) -> float:
    """Seconds between two rows: the middle one of all distances, so that midnight and a late row do not matter."""
    seconds = [second for time in times if (second := _second_of_day(time)) is not None]
    distances = sorted(after - before for before, after in zip(seconds, seconds[1:]) if after > before)
    return float(distances[len(distances) // 2]) if distances else _INTERVAL_S


def _second_of_day(time: str) -> Optional[int]:
    found = re.fullmatch(r"(\d\d?):(\d\d):(\d\d)", time)
    return None if found is None else int(found.group(1)) * 3600 + int(found.group(2)) * 60 + int(found.group(3))
