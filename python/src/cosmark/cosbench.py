"""Runs of COSBench: the program ``cosmark`` reads their tables, and this module asks it what they say."""

from __future__ import annotations

import math
import os
import re
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from .errors import CosmarkError
from .files import as_text, number_of, open_file

#: Columns of a series out of a timeline of COSBench, which has no percentiles.
COLUMNS = (
    "start_s", "end_s", "phase", "time", "count", "failures", "bytes", "throughput_per_s", "bandwidth_bytes_per_s",
    "response_mean_ms", "first_byte_mean_ms",
)
#: Its interval where a timeline has one row: its default.
_INTERVAL_S = 5.0
#: How the columns of a result table begin behind that of the stage.
_COMMON = b"Op-Name,Op-Type,Op-Count,Byte-Count,Avg-ResTime"
#: How tables begin that say nothing of single stages or of their operations: those of builds before 0.3.3.
_OLDER = (b"Op-Type,Op-Count,Byte-Count,Avg-ResTime", b"Stage,Op-Type,Op-Count,Byte-Count,Avg-ResTime")
#: They begin within so many bytes, behind the mark that some editors put before them.
_MOST_HEAD = 300
_MARK = b"\xef\xbb\xbf"
#: A directory of one run has a file per stage and driver, not more than this.
_MOST_FILES = 20_000
#: Why the program is asked.
_WHY = "is a run of COSBench, which the program reads"


def is_at(path: Path) -> bool:
    """Whether a directory holds the result table of a run of COSBench, and no run of ours."""
    return table_of(path) is not None


def table_of(path: Path) -> Optional[Path]:
    """The result table of a run of COSBench, as the program finds it; None where a run of ours is, or none."""
    files = _files_in(path)
    if "run.json" in files or len(files) > _MOST_FILES:
        return None
    named = sorted(name for name in files if name.endswith(".csv") and number_of(name) is not None)
    # A directory that was renamed still has it.
    named.sort(key=lambda name: name != f"{path.name}.csv")
    return next((path / name for name in named if _is_table(_head_of(path / name))), None)


def has_tables(path: Path) -> bool:
    """Whether there are any of stages or of a run: of one whose results are lost others may be left. What a run of ours
    has before its record is none of them."""
    return any(re.match(r"[sw][0-9]+-", name) and name.endswith(".csv") for name in _files_in(path))


def is_too_old(table: Path) -> bool:
    """Whether builds before 0.3.3 wrote it, whose tables nothing reads."""
    return _head_of(table).startswith(_OLDER)


def _files_in(path: Path) -> List[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []


def _head_of(file: Path) -> bytes:
    """The first line of a file, or as much of it as tells what it is; nothing of what is no file to read."""
    try:
        with open_file(file) as table:
            first = table.read(len(_MARK) + _MOST_HEAD)
    except OSError:
        return b""
    # Some editors put a mark before the first sign, and spreadsheets quotes around each cell.
    return (first[len(_MARK) :] if first.startswith(_MARK) else first).split(b"\n")[0].replace(b'"', b"")


def _is_table(head: bytes) -> bool:
    # Forks have columns of their own before the name of the operation.
    lead, common, _ = head.partition(_COMMON)
    is_known = bool(common) and lead.endswith(b",") and b"Stage" in lead[:-1].split(b",")
    return is_known or head.startswith(_OLDER)


def record_text(path: Path) -> str:
    """What its ``run.json`` would be, with its timelines where all of them can be read."""
    table = table_of(path)
    if table is not None and is_too_old(table):
        # In the words of the program, which need not be there for this.
        said = "a table of a COSBench before 0.3.3, which does not say what each stage did"
        to_do = "to measure it again, `cosmark run` takes the workload-config.xml beside it"
        raise CosmarkError(f"{table}: {said}; tables of 0.3.3 and later are read; {to_do}")
    try:
        return record_and_timelines(path)
    except CosmarkError:
        # A timeline that is damaged takes nothing from the results.
        return _answer(path, _WHY, "show", _argument(path), "--json")


def record_and_timelines(path: Path) -> str:
    """What its ``run.json`` would be, with its timelines."""
    return exported(path, _WHY)


def exported(path: Path, why: str) -> str:
    """The record of a run as the program reads it; ``why`` it is asked stands in the error where it cannot be."""
    return _answer(path, why, "export", _argument(path), "--format", "json")


def _argument(path: Path) -> Union[str, bytes]:
    """A directory for the program, which takes UTF-8 and finds what is none by the name that it shows."""
    shown = as_text(path.name).encode("utf-8")
    return str(path) if os.fsencode(path.name) == shown else os.path.join(os.fsencode(path.parent), shown)


def _answer(path: Path, why: str, question: str, *rest: Union[str, bytes]) -> str:
    from .program import binary

    try:
        command: List[Union[str, bytes]] = [str(binary()), question, *rest]
        # UTF-8 in whatever locale this is.
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace"
        )
    except (CosmarkError, OSError) as cause:
        raise CosmarkError(f"{path} {why}: {cause}") from None
    if done.returncode != 0:
        said = done.stderr.strip().removeprefix("cosmark: ")
        raise CosmarkError(said or f"cosmark {question} of {path} ended with exit code {done.returncode}")
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
    failed = count * (1.0 / ratio - 1.0)
    # Halves go up, as in the program.
    return math.floor(failed + 0.5) if failed < 1e308 else None


def _width_s(times: Sequence[str]) -> float:
    """Seconds between two rows: the middle one of all distances, so that midnight and a late row do not matter."""
    seconds = [second for time in times if (second := _second_of_day(time)) is not None]
    distances = sorted(after - before for before, after in zip(seconds, seconds[1:]) if after > before)
    return float(distances[len(distances) // 2]) if distances else _INTERVAL_S


def _second_of_day(time: str) -> Optional[int]:
    parts = time.split(":")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        return None
    hours, minutes, seconds = map(int, parts)
    return hours * 3600 + minutes * 60 + seconds if hours < 24 and minutes < 60 and seconds < 61 else None
