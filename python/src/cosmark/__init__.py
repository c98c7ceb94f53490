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
from typing import List, Union

from . import cosbench
from .comparison import compare
from .errors import CosmarkError
from .files import is_run_directory
from .frames import Parquet
from .hlog import Histogram, HistogramLog
from .program import binary, run
from .results import Operation, Run, Stage, Verdict, find, number_of
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
    "run",
    "runs",
]
__version__ = "0.1.0"


def open(run: Union[str, int, "os.PathLike[str]"], archive: Union[str, "os.PathLike[str]", None] = None) -> Run:
    """Opens a run: a directory (``archive/w3-mixed``), the same without the name (``archive/w3``), a number or ``last``.

    Numbers and ``last`` are looked for in ``archive`` (default: ``archive`` in the working directory).
    """
    return Run(find(run, archive))


def runs(archive: Union[str, "os.PathLike[str]"] = "archive") -> List[Run]:
    """All runs of an archive that can be read, by number; of each that is damaged a warning says what is wrong.

    Runs of COSBench are read by the program: one warning says how many are left out where it is not there.
    """
    try:
        names = os.listdir(archive)
    except OSError as cause:
        raise CosmarkError(f"cannot read {archive}: {cause.strerror}") from None
    found: List[Run] = []
    unread: List[str] = []
    for name in sorted((name for name in names if number_of(name) is not None), key=lambda name: number_of(name) or 0):
        path = Path(archive) / name
        if not is_run_directory(path):
            continue
        if cosbench.is_at(path) and not _has_program():
            unread.append(name)
        elif cosbench.is_at(path) or (path / "run.json").is_file():
            try:
                found.append(Run(path))
            except CosmarkError as damage:
                warnings.warn(str(damage), stacklevel=2)
    if unread:
        count = "one run of COSBench is" if len(unread) == 1 else f"{len(unread)} runs of COSBench are"
        what = f"{count} left out: the program reads them, and there is none"
        warnings.warn(f"{what} ({', '.join(unread[:5])}{', ..' if len(unread) > 5 else ''})", stacklevel=2)
    return found


def _has_program() -> bool:
    try:
        return binary().is_file()
    except CosmarkError:
        return False
