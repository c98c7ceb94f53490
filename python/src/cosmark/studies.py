"""Studies: all cells of one as a table, with factors, figures and verdicts. The program reads them, as its report does."""

from __future__ import annotations

import html
import json
import os
import subprocess
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from .errors import CosmarkError
from .files import number_of
from .program import binary
from .results import Json, Run, _number, _object
from .statistics import mean_and_interval
from .table import Table

#: The program reads every run of the study; one that takes longer than this hangs.
_LONGEST_S = 900.0
#: From best to worst.
_VERDICTS = ("true", "true_with_limits", "not_proven", "false")
#: What stands before the figures of a row, behind the factors.
_ABOUT = ("operation", "repetition", "run", "verdict", "reason", "too_long", "is_readable")
#: Columns of the tables here; a factor of such a name is called ``<name>_level`` in them.
_TAKEN = frozenset({*_ABOUT, "mean", "low", "high", "repetitions", "cell", "stage", "refused"})


class Study:
    """A study, as far as it is; see :func:`cosmark.open_study`."""

    def __init__(self, path: Path, record: Json) -> None:
        #: its directory, which stays the same where the working directory changes
        self.path = path.absolute()
        #: what the program says of it, every field
        self.record = record
        self.name: str = str(record.get("study") or "")
        self.title: str = str(record.get("title") or "")
        self.question: str = str(record.get("question") or "")
        #: ``quick``, ``scaled`` or ``full``
        self.scale: str = str(record.get("scale") or "")
        #: ``running``, ``stopping``, ``complete``, ``stopped``, ``budget_spent``, ``trouble`` or ``cut_off``
        self.state: str = str(record.get("state") or "")
        self.reason: Optional[str] = record.get("reason")
        #: runs that are over, of those that are planned, and those that failed
        self.done, self.planned, self.failed = (int(record.get(key) or 0) for key in ("done", "planned", "failed"))
        self._numbers = {
            name for name, levels in self.factors.items() if levels and all(_is_number(level) for level in levels)
        }

    @property
    def factors(self) -> Dict[str, List[str]]:
        """What is varied, ``system`` first: the levels of each factor, in the order of the study. The names are those of columns."""
        return {_column(one.get("name")): [str(level) for level in one.get("levels") or []] for one in self._list("factors")}

    @property
    def figures(self) -> List[str]:
        """What was measured, by the ids of ``run.json``: ``throughput_per_s``, ``response_ms.p95``, ``knee_per_s``. One that is
        called as a factor is, such as ``workers``, has ``_measured`` behind it."""
        return sorted(self._figures())

    def _figures(self) -> Dict[str, str]:
        """The id of each figure, by the name of its column."""
        ids = {figure for one in self._list("observations") for figure in one.get("values") or {}}
        factors = self.factors
        return {f"{figure}_measured" if figure in factors else figure: figure for figure in ids}

    @property
    def cells(self) -> Table:
        """One row per point, operation and repetition: a column per factor, whose figures they are, and every figure.

        A factor whose levels are all whole numbers has numbers. ``verdict`` is that of the figures of the row: what is ``false``
        says something else than it seems to. Figures that a row does not have are None.
        """
        figures = self._figures()
        rows = []
        for one in self._list("observations"):
            row = self._levels(one.get("levels"))
            row.update({name: one.get(name) for name in _ABOUT})
            values = one.get("values") or {}
            row.update({name: _number(values.get(figure)) for name, figure in figures.items()})
            rows.append(row)
        return Table(rows, [*self.factors, *_ABOUT, *sorted(figures)])

    def means(self, figure: str, operation: Optional[str] = None, confidence: float = 0.95) -> Table:
        """One row per point and operation: ``mean`` of a figure over the repetitions, and its interval (``low``, ``high``; None
        of fewer than two), how many ``repetitions`` have it, and the worst ``verdict`` of them."""
        known = self.figures
        if figure not in known:
            raise CosmarkError(f"nothing of {self.name} has the figure {figure}; there are {', '.join(known) or 'none'}")
        groups: Dict[Tuple[Any, ...], List[Json]] = {}
        for row in self.cells:
            if row[figure] is not None and (operation is None or row["operation"] == operation):
                key = tuple(row[name] for name in (*self.factors, "operation"))
                groups.setdefault(key, []).append(row)
        if operation is not None and not groups:
            have = ", ".join(sorted({str(row["operation"]) for row in self.cells if row["operation"]})) or "none"
            raise CosmarkError(f"nothing of {self.name} did {operation}; there are {have}")
        names = (*self.factors, "operation", "mean", "low", "high", "repetitions", "verdict")
        order = {name: {str(level): at for at, level in enumerate(levels)} for name, levels in self.factors.items()}

        def place(key: Tuple[Any, ...]) -> List[Any]:
            own = [order[name].get(str(level), len(order[name])) for name, level in zip(self.factors, key)]
            return [*own, str(key[-1])]

        rows = []
        for key in sorted(groups, key=place):
            group = groups[key]
            mean, interval = mean_and_interval([row[figure] for row in group], confidence)
            low, high = interval or (None, None)
            rows.append(dict(zip(names, (*key, mean, low, high, len(group), _worst(row["verdict"] for row in group)))))
        return Table(rows, names)

    @property
    def points(self) -> Table:
        """Every point that is planned: its factors, its ``cell``, the ``stage`` that measures it, and why it is ``refused``."""
        names = ("cell", "stage", "refused")
        rows = [
            {**self._levels(one.get("levels")), **{name: one.get(name) for name in names}} for one in self._list("points")
        ]
        return Table(rows, [*self.factors, *names])

    @property
    def runs(self) -> Table:
        """One row per run of a cell: ``state`` is ``waiting``, ``running``, ``cut_off``, ``done`` or ``failed``."""
        names = ("name", "repetition", "state", "run", "took_s", "reason")
        rows = [
            {"cell": cell.get("id"), **{name: one.get(name) for name in names}}
            for cell in self._list("cells")
            for one in cell.get("runs") or []
        ]
        return Table(rows, ("cell", *names))

    @property
    def claims(self) -> Table:
        """What was concluded, as hypotheses: ``finding`` is agrees, disagrees, not shown, emulated or not testable here."""
        return Table(self._list("claims"), ("id", "says", "finding", "reason"))

    def run(self, run: str) -> Run:
        """A run of the study, by the column ``run`` of :attr:`cells`, its name (``mine.here.4KB.r1``) or its number (``w3``)."""
        for one in self.runs:
            place = str(one["run"] or "")
            is_place = number_of(place) is not None and os.sep not in place
            if is_place and run in (place, one["name"], place.split("-", 1)[0]):
                return Run(self.path / "archive" / place)
        raise CosmarkError(f"no run {run} of the study {self.name} is over; see the column run of .cells")

    def _levels(self, levels: Any) -> Json:
        given = {_column(name): level for name, level in levels.items()} if isinstance(levels, dict) else {}
        return {
            name: int(given[name]) if name in self._numbers and name in given else given.get(name) for name in self.factors
        }

    def _list(self, key: str) -> List[Json]:
        found = self.record.get(key)
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []

    def __repr__(self) -> str:
        return f"Study({self.name} {self.scale}, {self.state}, {self.done} of {self.planned} runs)"

    def _repr_html_(self) -> str:
        title, state = (html.escape(text) for text in (self.title or self.name, self.state))
        head = f"<p><b>{title}</b> {html.escape(self.scale)}, {state}, {self.done} of {self.planned} runs</p>"
        return f"{head}{self.claims._repr_html_() if self.claims else ''}"


def _column(factor: Any) -> str:
    return f"{factor}_level" if factor in _TAKEN else str(factor)


def _is_number(level: str) -> bool:
    # ``04`` is a name: as a number it would be no level any more.
    return level.isascii() and level.isdigit() and len(level) < 16 and level == str(int(level))


def _worst(verdicts: Any) -> Optional[str]:
    known = [verdict for verdict in verdicts if verdict in _VERDICTS]
    return max(known, key=_VERDICTS.index) if known else None


def open_study(directory: Union[str, "os.PathLike[str]"]) -> Study:
    """Opens a study by its directory (``study-slides-quick``): cells, figures, verdicts, claims, as far as it is.

    The program ``cosmark`` reads it, so that every figure is the one of the study's report.
    """
    path = Path(directory)
    if not (path / "journal.jsonl").is_file():
        raise CosmarkError(f"{path} is no directory of a study: it has no journal.jsonl; give one such as study-NAME-SCALE")
    command: Sequence[str] = [str(binary()), "study", "status", f"--dir={path}", "--json"]
    try:
        # UTF-8 in whatever locale this is.
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace", timeout=_LONGEST_S
        )
    except OSError as cause:
        raise CosmarkError(f"{path} is a study, which the program reads: {cause}") from None
    except subprocess.TimeoutExpired:
        raise CosmarkError(f"{path} could not be read within {_LONGEST_S:.0f} s") from None
    if done.returncode != 0:
        raise CosmarkError(done.stderr.strip() or f"cosmark study status ended with exit code {done.returncode}")
    try:
        said = json.loads(done.stdout, object_pairs_hook=_object)
    except ValueError as cause:
        raise CosmarkError(f"what {command[0]} says of {path} is no JSON: {cause}; are program and package of one version?") from None
    record = said[0] if isinstance(said, list) and said and isinstance(said[0], dict) else {}
    if record.get("state") in (None, "unreadable"):
        raise CosmarkError(f"{path} cannot be read: {record.get('reason') or 'the program says nothing of it'}")
    return Study(path, record)
