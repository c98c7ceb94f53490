"""Results of Cosmark in Python.

    import cosmark
    r = cosmark.open("archive/w3")
    r.operations.to_pandas()
    r.quantile("main", "read", 0.999)

Reading needs the standard library alone. Frames need pandas, Polars or pyarrow, pictures Matplotlib; what is missing
is said with the line that installs it.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Dict, List, Optional, Union

from . import cosbench, plot
from .comparison import compare, figure_of
from .errors import CosmarkError
from .files import is_run_directory, number_of
from .frames import Parquet
from .hlog import Histogram, HistogramLog
from .program import binary, run
from .results import Operation, Run, Stage, Verdict, find
from .studies import Study, open_study
from .table import Table

__all__ = [
    "CosmarkError",
    "Histogram",
    "HistogramLog",
    "Operation",
    "Parquet",
    "Run",
    "Stage",
    "Study",
    "Table",
    "Verdict",
    "binary",
    "compare",
    "open",
    "open_study",
    "overview",
    "plot",
    "run",
    "runs",
]
__version__ = "0.1.0"


def open(run: Union[str, int, "os.PathLike[str]"], archive: Union[str, "os.PathLike[str]", None] = None) -> Run:
    """Opens a run: a directory (``archive/w3-mixed``), the same without the name (``archive/w3``), a number, ``last``
    or ``last-1`` (the one before).

    Numbers and ``last`` are looked for in ``archive`` (default: ``archive`` in the working directory).
    """
    return Run(find(run, archive))


def runs(archive: Union[str, "os.PathLike[str]"] = "archive", newest: Optional[int] = None) -> List[Run]:
    """All runs of an archive that can be read, by number; of each that is damaged a warning says what is wrong.

    ``newest=40`` reads no more than the 40 with the highest numbers. Runs of COSBench are read by the program: one warning
    says how many are left out where it is not there.
    """
    if newest is not None and newest < 0:
        raise CosmarkError(f"newest is how many runs are read: {newest} is none")
    try:
        names = os.listdir(archive)
    except OSError as cause:
        raise CosmarkError(f"cannot read {archive}: {cause.strerror}") from None
    found: List[Run] = []
    unread: List[str] = []
    named = sorted((name for name in names if number_of(name) is not None), key=lambda name: (number_of(name) or 0, name))
    own = [name for name in named if is_run_directory(Path(archive) / name)]
    for name in own if newest is None else own[max(len(own) - newest, 0) :]:
        path = Path(archive) / name
        table = cosbench.table_of(path)
        if table is not None and not cosbench.is_too_old(table) and not _has_program():
            unread.append(name)
        elif table is not None or os.path.lexists(path / "run.json") or cosbench.has_tables(path):
            try:
                found.append(Run(path))
            except CosmarkError as damage:
                warnings.warn(str(damage), stacklevel=2)
    if unread:
        count = "one run of COSBench is" if len(unread) == 1 else f"{len(unread)} runs of COSBench are"
        what = f"{count} left out: the program reads them, and there is none"
        warnings.warn(f"{what} ({', '.join(unread[:5])}{', ..' if len(unread) > 5 else ''})", stacklevel=2)
    return found


def overview(archive: Union[str, "os.PathLike[str]"] = "archive", newest: Optional[int] = None) -> Table:
    """One row per run of an archive, as ``cosmark list`` shows them, oldest first: state, verdict, and figures of the stage with
    the highest rate, without what prepares and cleans up; ``response_p99_ms`` is that of its slowest operation. ``failures`` are
    those of all stages, of what prepares and cleans up, too. ``newest`` as of :func:`runs`."""
    rows = []
    for one in runs(archive, newest):
        measured = [(stage.throughput_per_s, stage) for stage in one.stages if stage.throughput_per_s is not None]
        rate, stage = max(measured, key=lambda both: both[0] or 0.0) if measured else (None, None)
        slowest = [p99 for operation in (stage.main if stage else []) if (p99 := _p99(operation)) is not None]
        row: Dict[str, object] = {"id": one.id, "name": one.name, "state": one.state, "verdict": one.verdict.word}
        row["stage"] = stage.name if stage else None
        row["throughput_per_s"] = rate
        row["response_p99_ms"] = max(slowest) if slowest else None
        row["failures"] = sum(operation.failures for stage in one.stages for operation in stage.operations)
        rows.append({**row, "submitted": one.submitted, "started": one.started, "ended": one.ended})
    figures = ("stage", "throughput_per_s", "response_p99_ms", "failures")
    return Table(rows, ("id", "name", "state", "verdict", *figures, "submitted", "started", "ended"))


def _p99(operation: Operation) -> Optional[float]:
    return figure_of(operation, "response_ms.p99")


def _has_program() -> bool:
    try:
        return binary().is_file()
    except CosmarkError:
        return False
