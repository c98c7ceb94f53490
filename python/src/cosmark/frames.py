"""Parquet files of a run, as frames: only what is asked for is read."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, List, Optional, Sequence

from .errors import CosmarkError
from .files import open_file
from .table import needs

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


#: What a Parquet file begins and ends with, and the least that lies between: its foot and the length of that.
_MAGIC = b"PAR1"
_LEAST_BYTES = 12


def _look_at_ends(path: Path) -> None:
    """A file that was cut short has no foot, whatever a library makes of it."""
    try:
        with open_file(path) as file:
            first = file.read(len(_MAGIC))
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - len(_MAGIC)))
            last = file.read(len(_MAGIC))
    except OSError as cause:
        raise CosmarkError(f"cannot read {path}: {cause.strerror}") from None
    if first != _MAGIC or last != _MAGIC or size < _LEAST_BYTES:
        said = "it was cut short" if first == _MAGIC or size < _LEAST_BYTES else "it is no Parquet file"
        raise CosmarkError(f"{path} is damaged: {said} ({size} bytes); restore it from a copy, or delete it")


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """What the libraries say about a file, with its name."""
    try:
        yield
    except CosmarkError:
        raise
    except (OSError, ValueError, KeyError, RuntimeError) as cause:
        raise _damaged(path, cause) from None
    except Exception as cause:
        # Of Arrow and Polars not all are among Python's own, and neither need be installed.
        if type(cause).__module__.split(".")[0] not in ("pyarrow", "polars"):
            raise
        raise _damaged(path, cause) from None


def _damaged(path: Path, cause: Exception) -> CosmarkError:
    said = (str(cause).strip() or type(cause).__name__).splitlines()[0]
    return CosmarkError(f"{path} cannot be read: {said}; restore it from a copy, or delete it")


class Parquet:
    """A Parquet file of a run; of one that was killed, the parts that it had closed."""

    def __init__(self, directory: Path, stem: str, missing: str) -> None:
        self._missing = missing
        whole = directory / f"{stem}.parquet"
        #: the files
        self.paths: List[Path] = [whole] if whole.is_file() else sorted(directory.glob(f"{stem}.part-*.parquet"))
        self._expected = whole

    def __bool__(self) -> bool:
        return bool(self.paths)

    def _there(self) -> List[Path]:
        if not self.paths:
            raise CosmarkError(f"{self._expected} is not there: {self._missing}")
        for path in self.paths:
            _look_at_ends(path)
        return self.paths

    def _arrow(self) -> Any:
        try:
            import pyarrow.parquet
        except ImportError:
            raise needs("pyarrow", "arrow") from None
        return pyarrow

    @property
    def metadata(self) -> "dict[str, str]":
        """What the file says of itself; ``cosmark.epoch_unix_ns`` is the moment that all times count from."""
        pyarrow = self._arrow()
        path = self._there()[0]
        with _damage_named(path):
            said = pyarrow.parquet.read_metadata(path).metadata or {}
        own = {key: value for key, value in said.items() if key.startswith(b"cosmark.")}
        return {key.decode(): value.decode("utf-8", "replace") for key, value in own.items()}

    @property
    def epoch(self) -> str:
        """The moment that all times of the log count from, RFC 3339."""
        return self.metadata.get("cosmark.epoch", "")

    def to_arrow(self, columns: Optional[Sequence[str]] = None, **equal: Any) -> "pyarrow.Table":
        """As a table of Arrow: these columns, and only rows in which each named column has the given value."""
        pyarrow = self._arrow()
        filters = [(name, "=", value) for name, value in equal.items()] or None
        self._check([*(columns or ()), *equal])
        tables = []
        for path in self._there():
            with _damage_named(path):
                own = None if columns is None else list(columns)
                tables.append(pyarrow.parquet.read_table(path, columns=own, filters=filters))
        with _damage_named(self._expected):
            return pyarrow.concat_tables(tables).unify_dictionaries()

    def _check(self, names: Sequence[str]) -> None:
        pyarrow = self._arrow()
        path = self._there()[0]
        with _damage_named(path):
            have = pyarrow.parquet.read_schema(path).names
        for name in names:
            if name not in have:
                raise CosmarkError(f"{self.paths[0]} has no column {name}; there are {', '.join(have)}")

    def to_pandas(self, columns: Optional[Sequence[str]] = None, **equal: Any) -> "pandas.DataFrame":
        """As a frame of pandas; arguments as of :meth:`to_arrow`."""
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise needs("pandas", "pandas") from None
        return self.to_arrow(columns, **equal).to_pandas()

    def to_polars(self, columns: Optional[Sequence[str]] = None, **equal: Any) -> "polars.DataFrame":
        """As a frame of Polars; arguments as of :meth:`to_arrow`."""
        frame = self.scan()
        try:
            import polars
        except ImportError:
            raise needs("polars", "polars") from None
        with _damage_named(self.paths[0]):
            have = list(polars.read_parquet_schema(self.paths[0]))
        for name in (*(columns or ()), *equal):
            if name not in have:
                raise CosmarkError(f"{self.paths[0]} has no column {name}; there are {', '.join(have)}")
        for name, value in equal.items():
            frame = frame.filter(polars.col(name) == value)
        with _damage_named(self._expected):
            return (frame if columns is None else frame.select(list(columns))).collect()

    def scan(self) -> "polars.LazyFrame":
        """As a lazy frame of Polars: queries read only what they need, however long the log."""
        try:
            import polars
        except ImportError:
            raise needs("polars", "polars") from None
        return polars.scan_parquet(self._there())

    def __repr__(self) -> str:
        return f"Parquet({', '.join(path.name for path in self.paths) or 'nothing'})"
