"""Tables: columns with names, whole in memory, that become a frame of pandas, Polars or Arrow when one is asked for."""

from __future__ import annotations

import csv
import html
import io
import operator
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union, overload

from .errors import CosmarkError
from .texts import harmless, plain

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

#: Rows that the text of a table shows.
_SHOWN = 60
#: Signs in a line of it.
_WIDTH = 160


def needs(package: str, extra: str) -> CosmarkError:
    """What to install where an optional package is missing."""
    return CosmarkError(f"this needs the package {package}; install it with: pip install 'cosmark[{extra}]'")


class Table(Sequence[Dict[str, Any]]):
    """Rows with named columns. ``table["column"]`` is a list, ``table[0]`` a row; what is not known is None, never 0."""

    def __init__(self, rows: Iterable[Mapping[str, Any]], columns: Optional[Sequence[str]] = None) -> None:
        kept = [dict(row) for row in rows]
        names: Dict[str, None] = dict.fromkeys(columns or ())
        if columns is None:
            for row in kept:
                names.update(dict.fromkeys(row))
        #: names of the columns
        self.columns: List[str] = list(names)
        self._rows = [{name: row.get(name) for name in self.columns} for row in kept]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return iter(self._rows)

    @overload
    def __getitem__(self, at: int) -> Dict[str, Any]: ...
    @overload
    def __getitem__(self, at: str) -> List[Any]: ...
    @overload
    def __getitem__(self, at: slice) -> "Table": ...

    def __getitem__(self, at: Union[int, str, slice]) -> Union[Dict[str, Any], List[Any], "Table"]:
        if isinstance(at, slice):
            return Table(self._rows[at], self.columns)
        if not isinstance(at, str):
            # Numbers of NumPy and pandas are numbers, too.
            return self._rows[operator.index(at)]
        if at not in self.columns:
            raise KeyError(f"there is no column {at}; there are {', '.join(self.columns)}")
        return [row[at] for row in self._rows]

    def where(self, **equal: Any) -> "Table":
        """The rows in which each named column has the given value: ``table.where(stage="main")``."""
        for name in equal:
            if name not in self.columns:
                raise KeyError(f"there is no column {name}; there are {', '.join(self.columns)}")
        return Table((row for row in self._rows if all(row[k] == v for k, v in equal.items())), self.columns)

    def select(self, *columns: str) -> "Table":
        """Only these columns."""
        for name in columns:
            self[name]
        return Table(self._rows, columns)

    def to_dicts(self) -> List[Dict[str, Any]]:
        """Each row as a dictionary."""
        return [dict(row) for row in self._rows]

    def to_dict(self) -> Dict[str, List[Any]]:
        """Each column as a list."""
        return {name: [row[name] for row in self._rows] for name in self.columns}

    def to_csv(self) -> str:
        """As RFC 4180; what is not known is empty. A text that a spreadsheet would run has an apostrophe before it."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([harmless(name) for name in self.columns])
        writer.writerows([harmless(row[name]) for name in self.columns] for row in self._rows)
        return out.getvalue()

    def to_pandas(self) -> "pandas.DataFrame":
        """As a frame of pandas."""
        try:
            import pandas
        except ImportError:
            raise needs("pandas", "pandas") from None
        return pandas.DataFrame(self.to_dict(), columns=self.columns)

    def to_polars(self) -> "polars.DataFrame":
        """As a frame of Polars."""
        try:
            import polars
        except ImportError:
            raise needs("polars", "polars") from None
        return polars.DataFrame(self.to_dict(), infer_schema_length=None, strict=False)

    def to_arrow(self) -> "pyarrow.Table":
        """As a table of Arrow."""
        try:
            import pyarrow
        except ImportError:
            raise needs("pyarrow", "arrow") from None
        return pyarrow.table({name: _array(pyarrow, values) for name, values in self.to_dict().items()})

    def _known(self) -> List[str]:
        """Columns in which any row that is shown has something."""
        return [name for name in self.columns if any(row[name] is not None for row in self._rows[:_SHOWN])]

    def _texts(self, names: Sequence[str]) -> List[List[str]]:
        return [[_text(row[name]) for name in names] for row in self._rows[:_SHOWN]]

    def __repr__(self) -> str:
        if not self._rows:
            first = [name for at, name in enumerate(self.columns) if len(", ".join(self.columns[: at + 1])) < _WIDTH]
            rest = f", .. {len(self.columns) - len(first)} more: see .columns" if len(first) < len(self.columns) else ""
            return f"no rows; columns: {', '.join(first)}{rest}" if self.columns else "no rows"
        names = self._known()
        rows = [[_text(name) for name in names], *self._texts(names)]
        widths = [max(len(row[at]) for row in rows) for at in range(len(names))]
        room, fits = _WIDTH, 0
        while fits < len(names) and (fits == 0 or widths[fits] + 2 <= room):
            room -= widths[fits] + 2
            fits += 1
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row[:fits], widths)) for row in rows]
        more = [f".. {len(self) - _SHOWN} more rows"] if len(self) > _SHOWN else []
        more += [f".. {len(self.columns) - fits} more columns: see .columns"] if fits < len(self.columns) else []
        return "\n".join(lines + more)

    def _repr_html_(self) -> str:
        if not self._rows:
            return f"<p>{html.escape(repr(self))}</p>"
        names = self._known()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        rows = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in self._texts(names))
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        more = f"<p>{len(self) - _SHOWN} more rows</p>" if len(self) > _SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _array(pyarrow: Any, values: List[Any]) -> Any:
    """A column of Arrow; one that holds values of several kinds is text, and one of numbers alone floats."""
    wrong = (pyarrow.ArrowException, OverflowError, TypeError)
    try:
        return pyarrow.array(values)
    except wrong:
        pass
    try:
        known = [value for value in values if value is not None]
        if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known):
            return pyarrow.array([None if value is None else float(value) for value in values])
    except wrong:
        pass
    return pyarrow.array([None if value is None else str(value) for value in values])


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    return plain(str(value)).replace("\n", " ")
