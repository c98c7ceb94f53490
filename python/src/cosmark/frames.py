"""Parquet files of a run, as frames: only what is asked for is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, List, Optional, Sequence

from .errors import CosmarkError
from .table import needs

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


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
        said = pyarrow.parquet.read_metadata(self._there()[0]).metadata or {}
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
        read = pyarrow.parquet.read_table
        paths = self._there()
        tables = [read(path, columns=None if columns is None else list(columns), filters=filters) for path in paths]
        return pyarrow.concat_tables(tables).unify_dictionaries()

    def _check(self, names: Sequence[str]) -> None:
        pyarrow = self._arrow()
        have = pyarrow.parquet.read_schema(self._there()[0]).names
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
        for name, value in equal.items():
            frame = frame.filter(polars.col(name) == value)
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
