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
from typing import List, Union

from .comparison import compare
from .errors import CosmarkError
from .frames import Parquet
from .hlog import Histogram, HistogramLog
from .program import binary, run
from .results import Operation, Run, Stage, Verdict, find, number_of
from .table import Table

__all__ = [
    "CosmarkError",
    "Histogram",
    "HistogramLog",
    "Operation",
    "Parquet",
    "Run",
    "Stage",
    "Table",
    "Verdict",
    "binary",
    "compare",
    "open",
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
    """All runs of an archive that can be read, by number; of each that is damaged a warning says what is wrong."""
    try:
        names = os.listdir(archive)
    except OSError as cause:
        raise CosmarkError(f"cannot read {archive}: {cause.strerror}") from None
    found = []
    for name in sorted((name for name in names if number_of(name) is not None), key=lambda name: number_of(name) or 0):
        if os.path.isfile(os.path.join(archive, name, "run.json")):
            try:
                found.append(Run(find(os.path.join(archive, name))))
            except CosmarkError as damage:
                warnings.warn(str(damage), stacklevel=2)
    return found
