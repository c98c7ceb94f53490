"""Two runs, or two sets of repetitions, side by side.

For tests that hold over all figures together, and for gates in CI, there is ``cosmark compare``; this is for looking.
"""

from __future__ import annotations

import warnings
from math import inf, isfinite
from statistics import fmean
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple, Union

from .errors import CosmarkError
from .results import Operation, Run, RunLike, _number, as_runs
from .statistics import check_confidence, difference, mean_and_interval
from .table import Table

Side = Union[RunLike, Sequence[RunLike]]
#: Stage, work where it tells operations of one name apart (else empty), operation, and the how manieth of that name.
_Key = Tuple[str, str, str, int]
#: So many operations that not all runs have are named.
_NAMED = 5

#: What is compared: name, and where it stands in ``run.json``.
FIGURES = (
    "throughput_per_s",
    "bandwidth_bytes_per_s",
    "success_ratio",
    "response_ms.mean",
    "response_ms.p50",
    "response_ms.p95",
    "response_ms.p99",
    "response_ms.p99_9",
)


def figure_of(operation: Operation, figure: str) -> Optional[float]:
    """A figure of ``run.json`` by its path: ``throughput_per_s``, ``response_ms.p99``, ``metrics.NAME``."""
    value: Any = operation.record
    for part in figure.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return _number(value)


def compare(before: Side, after: Side, figures: Sequence[str] = FIGURES, confidence: float = 0.95) -> Table:
    """One row per operation and figure: both sides, ``ratio`` and ``change`` (+0.05 = 5 % more), and whether they differ.

    A side is a run or several repetitions of it, or what :func:`cosmark.open` takes for them. ``differs`` is True, False
    or None (cannot be said):

    * with two or more repetitions on both sides: whether Welch's interval of the difference of means leaves out 0
      (``low`` and ``high`` are that interval), moved outwards by what the clients can have added or kept
      (:meth:`Operation.client_part`): that is no chance, and repetitions do not make it smaller;
    * with one run on each side: whether the error bounds that the runs published lie apart. Bounds know the sampling
      error and the client's own part, not how much a store differs from day to day: only repetitions show that.

    Stages and operations are matched by name; where a name is there several times, by that of the work too, and then by
    order. What not every run has is named in a warning.
    """
    check_confidence(confidence)
    # A text alone is one figure.
    figures = [figures] if isinstance(figures, str) else figures
    first, second = _runs(before), _runs(after)
    own, other = _matched([first, second])
    common = [key for key in own if key in other]
    if not common:
        raise CosmarkError(f"{first[0].id} and {second[0].id} have no stage with an operation of the same name")
    _check_figures(figures, [*own.values(), *other.values()])
    lacking = _lacking(own, other, len(first), "before") + _lacking(other, own, len(second), "after")
    if lacking:
        more = f", and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
        warnings.warn(f"not all runs have the same operations: {', '.join(lacking[:_NAMED])}{more}", stacklevel=2)
    rows: List[Dict[str, Any]] = []
    for key in common:
        for figure in figures:
            a = [value for one in own[key] if (value := figure_of(one, figure)) is not None]
            b = [value for one in other[key] if (value := figure_of(one, figure)) is not None]
            if a and b:
                differs, low, high = _decide(own[key], other[key], figure, a, b, confidence)
                mean_a, mean_b = mean_and_interval(a)[0], mean_and_interval(b)[0]
                ratio = mean_b / mean_a if mean_a else None
                which = {"stage": key[0], "work": own[key][0].work, "operation": key[2], "figure": figure}
                row: Dict[str, Any] = {**which, "before": mean_a, "after": mean_b}
                change = None if ratio is None else ratio - 1.0
                rows.append({**row, "ratio": ratio, "change": change, "differs": differs, "low": low, "high": high})
    names = ("stage", "work", "operation", "figure", "before", "after", "ratio", "change", "differs", "low", "high")
    return Table(rows, names)


def _lacking(
    own: Mapping[_Key, Sequence[Operation]], other: Mapping[_Key, Sequence[Operation]], runs: int, side: str
) -> List[str]:
    """What the other side does not have, which is left out, and what some runs of this side do not have."""
    said = []
    for key, found in own.items():
        which = " ".join(part for part in key[:3] if part) + (f" ({key[3]})" if key[3] > 1 else "")
        if key not in other:
            said.append(f"{which} is {side} only")
        elif len(found) < runs:
            said.append(f"{which} is in {len(found)} of {runs} runs {side}")
    return said


def _check_figures(figures: Sequence[str], operations: Sequence[Sequence[Operation]]) -> None:
    """A figure that no record has is a mistake; those that are always compared may be of a later version."""
    for figure in figures:
        if figure not in FIGURES and not any(_has(one, figure) for side in operations for one in side):
            raise CosmarkError(f"no operation of these runs has the figure {figure}; there are such as {', '.join(FIGURES)}")


def _has(operation: Operation, figure: str) -> bool:
    value: Any = operation.record
    for part in figure.split("."):
        if not isinstance(value, dict) or part not in value:
            return False
        value = value[part]
    return True


def _decide(
    first: Sequence[Operation],
    second: Sequence[Operation],
    figure: str,
    before: Sequence[float],
    after: Sequence[float],
    confidence: float,
) -> Tuple[Optional[bool], Optional[float], Optional[float]]:
    interval = difference(before, after, confidence)
    if interval is not None:
        (below_a, above_a), (below_b, above_b) = _client(first, figure), _client(second, figure)
        low, high = interval[0] - below_b - above_a, interval[1] + above_b + below_a
        ends = (low if isfinite(low) else None, high if isfinite(high) else None)
        return not low <= 0.0 <= high, ends[0], ends[1]
    if len(first) > 1 or len(second) > 1:
        return None, None, None
    a, b = first[0].bounds(figure), second[0].bounds(figure)
    if a is None or b is None:
        return None, None, None
    return a[1] < b[0] or b[1] < a[0], b[0] - a[1], b[1] - a[0]


def _client(side: Sequence[Operation], figure: str) -> Tuple[float, float]:
    """The mean of what the clients of all repetitions can have added and kept; infinite where nothing limits one."""
    parts = [one.client_part(figure) for one in side if figure_of(one, figure) is not None]
    below = [inf if part[0] is None else part[0] for part in parts]
    above = [inf if part[1] is None else part[1] for part in parts]
    return fmean(below), fmean(above)


def _runs(side: Side) -> List[Run]:
    runs = as_runs(side)
    if not runs:
        raise CosmarkError("a side of a comparison has no run")
    again = _again(runs)
    if again is not None:
        raise CosmarkError(f"{again} stands twice on one side: a run is no repetition of itself, give another one")
    return runs


def _again(runs: Sequence[Run]) -> Optional[str]:
    """The first run that was there before."""
    seen = set()
    for run in runs:
        place = run.path.resolve()
        if place in seen:
            return run.id
        seen.add(place)
    return None


def _matched(sides: Sequence[Sequence[Run]]) -> List[Dict[_Key, List[Operation]]]:
    """Operations of all repetitions of each side, so that one key is one operation on all of them."""
    by_work = _named_by_work([run for side in sides for run in side])
    return [_operations(side, by_work) for side in sides]


def _named_by_work(runs: Sequence[Run]) -> Set[Tuple[str, str]]:
    """Stages and names that a run has several of, where works have names: of COSBench's runs they have none."""
    several: Set[Tuple[str, str]] = set()
    nameless: Set[Tuple[str, str]] = set()
    for run in runs:
        seen: Set[Tuple[str, str]] = set()
        for stage in run.stages:
            for one in stage.main:
                name = (stage.name, one.name)
                if name in seen:
                    several.add(name)
                if not one.work:
                    nameless.add(name)
                seen.add(name)
    return several - nameless


def _operations(runs: Sequence[Run], by_work: Set[Tuple[str, str]]) -> Dict[_Key, List[Operation]]:
    """Operations of all repetitions by stage, work where that tells them apart, name and the how manieth of that."""
    found: Dict[_Key, List[Operation]] = {}
    for run in runs:
        seen: Dict[Tuple[str, str, str], int] = {}
        for stage in run.stages:
            for one in stage.main:
                work = one.work if (stage.name, one.name) in by_work else ""
                name = (stage.name, work, one.name)
                seen[name] = seen.get(name, 0) + 1
                found.setdefault((*name, seen[name]), []).append(one)
    return found
