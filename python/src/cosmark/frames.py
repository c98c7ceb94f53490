"""Parquet files of a run, as frames: only what is asked for is read."""

from __future__ import annotations

import functools
import operator
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


def _check_path(path: Path) -> None:
    """Arrow and Polars take paths as UTF-8 and say of another that the file is damaged, or not there."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("utf-8", "replace")
        said = "its path is not UTF-8, and Arrow and Polars open no such file; rename the directory, or copy it elsewhere"
        raise CosmarkError(f"cannot read {shown}: {said}") from None


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


def _names(columns: Optional[Sequence[str]]) -> Optional[List[str]]:
    """A text alone is one name, and not its signs."""
    return None if columns is None else [columns] if isinstance(columns, str) else list(columns)


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
            raise CosmarkError(f"{self._expected} is not there: {self._why_not()}")
        for path in self.paths:
            _check_path(path)
            _look_at_ends(path)
        return self.paths

    def _why_not(self) -> str:
        # A part that is not closed yet has no foot, and another name.
        if any(self._expected.parent.glob(f".{self._expected.stem}.part-*.parquet.tmp-*")):
            return "nothing of it was closed yet, or ever: of a run that goes on, open it again in a minute"
        return self._missing

    def _arrow(self) -> Any:
        try:
            import pyarrow.compute
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
        """As a table of Arrow: these columns, and only rows in which each named column has the given value (None: has none)."""
        pyarrow = self._arrow()
        wanted = _names(columns)
        schema = self._check([*(wanted or ()), *equal])
        for name, value in equal.items():
            self._check_value(schema, name, value)
        field = pyarrow.compute.field
        conditions = [field(name).is_null() if value is None else field(name) == value for name, value in equal.items()]
        filters = functools.reduce(operator.and_, conditions) if conditions else None
        tables = []
        for path in self._there():
            with _damage_named(path):
                tables.append(pyarrow.parquet.read_table(path, columns=wanted, filters=filters))
        with _damage_named(self._expected):
            return pyarrow.concat_tables(tables).unify_dictionaries()

    def _check(self, names: Sequence[str]) -> Any:
        """The schema, which has all these columns."""
        pyarrow = self._arrow()
        path = self._there()[0]
        with _damage_named(path):
            schema = pyarrow.parquet.read_schema(path)
        for name in names:
            if name not in schema.names:
                raise CosmarkError(f"{path} has no column {name}; there are {', '.join(schema.names)}")
        return schema

    def _check_value(self, schema: Any, name: str, value: Any) -> None:
        """A value that a column cannot have is a mistake of who asks, and no damage of the file."""
        pyarrow = self._arrow()
        kind = schema.field(name).type
        kind = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
        try:
            pyarrow.scalar(value, kind)
        except (TypeError, ValueError, OverflowError, pyarrow.ArrowException):
            raise CosmarkError(f"the column {name} holds {kind}, and never {value!r}") from None

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
        wanted = _names(columns)
        # Of a path Polars makes a pattern.
        with _damage_named(self.paths[0]), open_file(self.paths[0]) as file:
            schema = polars.read_parquet_schema(file)
        for name in (*(wanted or ()), *equal):
            if name not in schema:
                raise CosmarkError(f"{self.paths[0]} has no column {name}; there are {', '.join(schema)}")
        for name, value in equal.items():
            is_text = not (schema[name].is_numeric() or schema[name] == polars.Boolean)
            if value is not None and isinstance(value, str) != is_text:
                raise CosmarkError(f"the column {name} holds {schema[name]}, and never {value!r}")
            frame = frame.filter(polars.col(name).is_null() if value is None else polars.col(name) == value)
        with _damage_named(self._expected):
            return (frame if wanted is None else frame.select(wanted)).collect()

    def scan(self) -> "polars.LazyFrame":
        """As a lazy frame of Polars: queries read only what they need, however long the log."""
        try:
            import polars
        except ImportError:
            raise needs("polars", "polars") from None
        paths = self._there()
        with _damage_named(self._expected):
            # A run may be called ``w[1]*``, and is not all runs that this could stand for.
            return polars.scan_parquet(paths, glob=False)

    def __repr__(self) -> str:
        return f"Parquet({', '.join(path.name for path in self.paths) or 'nothing'})"
