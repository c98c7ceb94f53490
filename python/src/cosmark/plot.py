"""Pictures for papers and notebooks: each function returns a figure of Matplotlib, which you change or save. Where a run is
wanted, what :func:`cosmark.open` takes for one is taken, too.

Colours are those of Okabe and Ito, which people with any colour vision tell apart; dashes and marks differ too, so that
lines survive shades of grey. ``cosmark plot`` draws the same without Python.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple

from .comparison import Side, _matched, _runs, figure_of
from .errors import CosmarkError
from .hlog import Histogram
from .results import Operation, Run, RunLike, Stage, _moment, _number, as_run, as_runs, check_time
from .statistics import mean_and_interval, reach
from .studies import Study
from .table import needs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
_MARKS = ("o", "s", "^", "D", "v", "P", "X")

#: Whiskers make an axis end at so many times the greatest value at most.
_LONGEST = 2.5
#: Columns of a heat map.
_MOST_COLUMNS = 240
#: Inches; one column of a paper.
COLUMN = (3.5, 2.5)


def _figure(ax: "Optional[Axes]", size: Tuple[float, float]) -> "Tuple[Figure, Axes]":
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise needs("matplotlib", "plot") from None
    if ax is not None:
        figure = ax.get_figure()
        assert figure is not None
        return figure, ax  # type: ignore[return-value]
    # Not through pyplot: nothing is kept alive, no window opens, and a machine without a screen draws the same.
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots()


def _log(axis: Any) -> None:
    """A log axis with plain numbers at 1, 2 and 5 of each decade, at the decades alone where the numbers of all would touch each
    other, or tenths between where it spans less than one."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    low, high = axis.get_view_interval()
    wide = low > 0 and high / low > 5
    decades = math.log10(high / low) if wide else 0.0
    # Inches of the axis, and of a number beside it: they are wider than high.
    box, is_flat = axis.axes.bbox, axis.axis_name == "x"
    length, room = (box.width if is_flat else box.height) / axis.axes.figure.dpi, 0.45 if is_flat else 0.16
    subs = (1, 2, 5) if decades < 1.0 or 3 * decades * room <= length else (1,)
    most = max(3, min(12, int(length / room)))
    axis.set_major_locator(LogLocator(subs=subs, numticks=most) if wide else MaxNLocator(5))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _look(at: int) -> Dict[str, Any]:
    return {"color": COLOURS[at % len(COLOURS)], "linestyle": _DASHES[at % len(_DASHES)]}


def _named(runs: Side) -> List[Run]:
    found = as_runs(runs)
    if not found:
        raise CosmarkError("no runs to draw")
    return found


def _plain(text: str) -> str:
    """A text that Matplotlib takes for no formula, which two dollars would make of it, and that a legend does not leave out, as
    one that begins with a low line."""
    shown = text.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


def _names(chosen: Sequence[Operation]) -> List[str]:
    """The names of these operations of one run; with stage, work and id where others of them are called the same."""
    names = []
    for one in chosen:
        same = [other for other in chosen if other.name == one.name and other is not one]
        beside = [other for other in same if other.stage is one.stage]
        parts = [one.stage.name] if len(beside) < len(same) else []
        parts += [one.work] if any(other.work != one.work for other in beside) else []
        parts += [one.id] if any(other.work == one.work for other in beside) else []
        names.append(" ".join([*parts, one.name]))
    return names


def _labelled(run: Run, several: bool, chosen: Sequence[Operation]) -> List[Tuple[str, Operation]]:
    return [(_plain(f"{run.id} {name}" if several else name), one) for name, one in zip(_names(chosen), chosen)]


def _chosen(run: Run, stage: Optional[str], operations: Optional[Sequence[str]]) -> List[Operation]:
    stages = run.stages if stage is None else [run.stage(stage)]
    # A text alone is one name, and not all that are a part of it.
    names = [operations] if isinstance(operations, str) else operations
    found = [one for s in stages for one in s.main if names is None or one.name in names]
    if not found:
        raise CosmarkError(f"{run.id} has no such operation: {', '.join(names or ('any',))} in {stage or 'any stage'}")
    return found


def timeline(
    run: RunLike,
    stage: str,
    operations: Optional[Sequence[str]] = None,
    metric: str = "throughput_per_s",
    ax: "Optional[Axes]" = None,
) -> "Figure":
    """One figure of :meth:`Run.series` over time: a line per operation; ramps are shaded; lost drivers, pauses, faults and notes marked.

    ``metric`` is a column of it: ``throughput_per_s``, ``bandwidth_bytes_per_s``, ``failures``, .., or any percentile of
    any time: ``response_p99_9_ms``, ``service_p50_ms``, ``first_byte_p95_ms``.
    """
    figure, axes = _figure(ax, (7.0, 3.0))
    run = as_run(run)
    chosen = _chosen(run, stage, operations)
    is_known = False
    percentile = re.fullmatch(r"(response|service|first_byte)_p(\d\d?(?:_\d+)?)_ms", metric)
    for at, (name, one) in enumerate(_labelled(run, False, chosen)):
        if percentile:
            share = float(percentile.group(2).replace("_", ".")) / 100.0
            series = run._series(one, (share,), percentile.group(1))
        else:
            series = run._series(one)
        if not len(series):
            raise CosmarkError(f"{run.id} has no intervals of {one.name} in {one.stage.id}: nothing of it was recorded over time")
        if metric not in series.columns:
            raise CosmarkError(f"a series has no {metric}; there are {', '.join(series.columns)}")
        times = [(row["start_s"] + row["end_s"]) / 2.0 for row in series]
        values = [float("nan") if row[metric] is None else row[metric] for row in series]
        axes.plot(times, values, label=name, marker=_MARKS[at % len(_MARKS)], markersize=3, **_look(at))
        is_known = is_known or any(row[metric] is not None for row in series)
        if at == 0:
            for row in series:
                # COSBench does not tell ramps from the measured time.
                if row["phase"] not in (None, "window"):
                    axes.axvspan(row["start_s"], row["end_s"], color="#dddddd", linewidth=0)
    if run.made_by and not is_known:
        raise CosmarkError(f"{run.id} is a run of {run.made_by}, whose timeline of {stage} does not say {metric}")
    if not is_known:
        why = "fewer than ten times lie beyond it in each interval" if percentile else "no interval has it"
        axes.text(0.5, 0.5, f"nothing to draw: {why}", transform=axes.transAxes, ha="center", va="center", color="#555555")
    for pause in run.stage(stage).record.get("pauses") or []:
        from_s, to_s = _number(pause.get("from_s")), _number(pause.get("to_s"))
        if from_s is not None and to_s is not None:
            axes.axvspan(from_s, to_s, color="#D55E00", alpha=0.2, linewidth=0)
    for missing in run.stage(stage).record.get("missing") or []:
        from_s = _number(missing.get("from_s"))
        if from_s is not None:
            axes.axvline(from_s, color="#D55E00", linestyle=":")
    for at_s, text in _marks(run.stage(stage)):
        axes.axvline(at_s, color="#555555", linestyle=":", linewidth=0.8)
        axes.annotate(
            text, (at_s, 1.0), xycoords=("data", "axes fraction"), xytext=(2, -2), textcoords="offset points",
            rotation=90, va="top", fontsize="x-small", color="#555555",
        )
    axes.set(xlabel="time since the load began, s", ylabel=_title(metric))
    axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
    axes.legend(frameon=False)
    return figure


def _marks(stage: Stage) -> List[Tuple[float, str]]:
    """Steps of faults, notes and drivers that came back, with seconds since the load of a stage began, and a few words."""
    began = stage.load_started or stage.started
    if began is None:
        return []
    marks = []
    for event in stage.run.events:
        text, at = str(event.get("text") or ""), _moment(event.get("at"))
        is_own = event.get("kind") in ("note", "fault") or (event.get("kind") == "driver" and text.endswith("is back"))
        if at is None or not is_own:
            continue
        # What was said between stages belongs to no stage.
        within = at >= began and (stage.ended is None or at <= stage.ended)
        if event.get("stage") == stage.id or (event.get("stage") is None and within):
            line = text.partition("\n")[0]
            short = line if len(line) <= 40 else f"{line[:40].rstrip()} .."
            marks.append(((at - began).total_seconds(), _plain(short)))
    return [mark for mark in marks if mark[0] >= 0.0]


def _title(metric: str) -> str:
    known = {
        "throughput_per_s": "throughput, operations/s",
        "bandwidth_bytes_per_s": "bandwidth, bytes/s",
        "in_flight_mean": "in flight",
    }
    text = known.get(metric, metric.replace("_", " "))
    return f"{text[:-3]}, ms" if metric.endswith("_ms") else text


def cdf(
    runs: Side,
    stage: Optional[str] = None,
    operations: Optional[Sequence[str]] = None,
    time: str = "response",
    complementary: bool = False,
    ax: "Optional[Axes]" = None,
) -> "Figure":
    """Share of operations that took no longer, against time on a log axis; one step line per operation and run.

    ``complementary=True``: the share that took longer, on a log axis, which shows the tail. A line ends where fewer than
    ten operations lie beyond.
    """
    figure, axes = _figure(ax, COLUMN)
    found = _named(runs)
    several = len(found) > 1
    at, is_known = 0, False
    for run in found:
        for label, one in _labelled(run, several, _chosen(run, stage, operations)):
            histogram = one.histogram(time)
            if not histogram:
                continue
            is_known = True
            times, shares = histogram.cdf()
            count = len(histogram)
            if complementary:
                points = [(t, 1.0 - s) for t, s in zip(times, shares) if (1.0 - s) * count >= 10.0 - 1e-9]
            else:
                points = list(zip(times, shares))
            if not points:
                continue
            # From nothing to the first share, or from all down to it: one point alone is no line.
            points.insert(0, (times[0], 1.0 if complementary else 0.0))
            axes.step(
                [t for t, _ in points], [s for _, s in points], where="post",
                label=label, **_look(at),
            )
            at += 1
    if at == 0:
        lacking = "a tail needs more than ten times, which none of these operations has"
        raise CosmarkError(lacking if is_known else "none of these operations has times")
    axes.set_xscale("log")
    _log(axes.xaxis)
    axes.set_xlabel(f"{time.replace('_', ' ')} time, ms" if time != "first_byte" else "time to the first byte, ms")
    if complementary:
        axes.set_yscale("log")
        axes.set_ylabel("share that took longer")
    else:
        axes.set(ylabel="share that took no longer", ylim=(0, 1))
    axes.grid(True, which="major", color="#dddddd", linewidth=0.5)
    axes.legend(frameon=False, fontsize="small")
    return figure


def _in_flight(stage: Stage) -> Optional[float]:
    known = [value for one in stage.main if (value := figure_of(one, "in_flight_mean")) is not None]
    return sum(known) if known else None


#: A trial that a search makes again: ``main-w8-confirm1``, ``main-rate50-2``.
_AGAIN = re.compile(r"(.*-(?:w|rate)[\d.]+)-(?:(?:again|repeat|confirm)?\d+|above)")


def _first_trial(stage: Stage) -> str:
    """The name of the first trial of its load; of a stage that no search made again its own."""
    found = _AGAIN.fullmatch(stage.name)
    return found.group(1) if found else stage.name


def _group(stage: Stage) -> str:
    """The name of a stage of a matrix without the number of workers, at its end or as the value of an axis."""
    name = _first_trial(stage)
    for workers in {one.record.get("workers") for one in stage.main}:
        at_end, among_axes = rf"(.*[^\d_ .-])[_ .-]*{workers}", rf"(.+)-workers{workers}(-.+)"
        # The axis first: a size may be the same number as the workers.
        found = re.fullmatch(among_axes, name) or re.fullmatch(at_end, name)
        if found:
            return "".join(found.groups())
    return stage.name


def _ladders(run: Run) -> Dict[str, List[Stage]]:
    """The measured stages of a run by what else they vary than the load: a matrix has several, any other run one."""
    stages = [stage for stage in run.stages if stage.main]
    groups: Dict[str, List[Stage]] = {}
    for stage in stages:
        groups.setdefault(_group(stage), []).append(stage)
    loads = [{sum(one.record.get("workers") or 0 for one in stage.main) for stage in own} for own in groups.values()]
    return groups if any(len(own) > 1 for own in loads) else {"": stages}


def knee(
    runs: Side, figure: str = "response_ms.p95", ax: "Optional[Axes]" = None
) -> "Figure":
    """Latency against throughput: one point per load, joined in the order of load; where it turns up is the knee.

    Give the runs of a ladder (one stage per load), of a matrix (a line for all that it varies beside the workers) or of a
    search, whose trials of one load are one point, with its 95 % interval. Of a stage with several operations the
    throughput is their sum and the latency that of the slowest.
    """
    drawing, axes = _figure(ax, COLUMN)
    found = _named(runs)
    several = len(found) > 1
    lines: List[Tuple[str, List[Tuple[float, float, float, float, float]]]] = []
    for run in found:
        ladders = _ladders(run)
        for group, stages in ladders.items():
            points = _points(stages, figure)
            name = group if len(ladders) > 1 else "" if several else run.name
            if points:
                lines.append((_plain(" ".join(part for part in (run.id if several else "", name) if part)), points))
    if not lines:
        raise CosmarkError(f"no stage of these runs has a throughput and {figure}")
    for at, (label, points) in enumerate(lines):
        _, rates, times, below, above = zip(*points)
        axes.plot(rates, times, marker=_MARKS[at % len(_MARKS)], label=label, **_look(at))
        if any(below) or any(above):
            axes.errorbar(rates, times, yerr=(below, above), fmt="none", ecolor=COLOURS[at % len(COLOURS)], capsize=2)
    axes.set(xlabel="throughput, operations/s", ylabel=figure.replace("_ms.", " ") + ", ms")
    axes.set_xlim(0, 1.02 * axes.get_xlim()[1])
    axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
    if ax is None:
        _end(axes, max(time for _, points in lines for _, _, time, _, _ in points))
    axes.legend(frameon=False, fontsize="small")
    return drawing


def _points(stages: Sequence[Stage], figure: str) -> List[Tuple[float, float, float, float, float]]:
    """Operations in flight, throughput, latency and how far its interval goes below and above, of each load, ascending."""
    loads: Dict[str, List[Tuple[float, float, float]]] = {}
    for stage in stages:
        times = [value for one in stage.main if (value := figure_of(one, figure)) is not None]
        if times and stage.throughput_per_s:
            point = (_in_flight(stage) or 0.0, stage.throughput_per_s, max(times))
            loads.setdefault(_first_trial(stage), []).append(point)
    points = []
    for trials in loads.values():
        (in_flight, _), (rate, _), (time, interval) = (mean_and_interval(values) for values in zip(*trials))
        points.append((in_flight, rate, time, *reach(time, interval)))
    return sorted(points)


def heatmap(run: RunLike, stage: str, operation: str, time: str = "response", ax: "Optional[Axes]" = None) -> "Figure":
    """How many operations took how long when: time along, response time up (log), darker = more. Shows modes and stalls: where
    nothing ended is nothing drawn."""
    figure, axes = _figure(ax, (7.0, 3.0))
    run = as_run(run)
    one = run.operation(stage, operation)
    columns = run._by_interval(one, time)
    edges = [edge / 1e6 for _, _, histogram in columns for edge, _ in histogram.steps_ns()]
    if not edges:
        raise CosmarkError(f"{operation} of {stage} has no times")
    low, high = math.log10(max(min(edges), 1e-6)), math.log10(max(edges)) + 1e-9
    rows = 60
    high = max(high, low + 0.1)
    earliest = min(max(start, 0.0) for start, _, _ in columns)
    last = max(max(start, 0.0) + length for start, length, _ in columns)
    # As wide as an interval, all of them: one that nothing ended in has no line in the log.
    width = max(length for _, length, _ in columns) or last or 1.0
    # Intervals lie on a grid that begins with the load, though the first in which anything ended may be cut short by a ramp.
    first = width * math.floor(earliest / width + 0.01)
    width *= max(1.0, math.ceil((last - first) / width / _MOST_COLUMNS))
    many = max(1, math.ceil((last - first) / width - 1e-3))
    cells = [[0.0] * many for _ in range(rows)]
    for start, length, histogram in columns:
        # An interval that a ramp cut short, or that of another driver, lies in one column: its middle says in which.
        column = int((max(start, 0.0) + length / 2.0 - first) / width)
        for edge, count in histogram.steps_ns():
            row = int((math.log10(max(edge / 1e6, 1e-6)) - low) / (high - low) * rows)
            cells[min(max(row, 0), rows - 1)][min(column, many - 1)] += count
    shown = [[math.log10(cell) if cell else float("nan") for cell in row] for row in cells]
    x = [first + width * at for at in range(many)] + [max(last, first + width * (many - 0.999))]
    x[0] = max(x[0], earliest)
    y = [10 ** (low + (high - low) * at / rows) for at in range(rows + 1)]
    mesh = axes.pcolormesh(x, y, shown, cmap="cividis_r", shading="flat", rasterized=True)
    axes.set_yscale("log")
    _log(axes.yaxis)
    axes.set(xlabel="time since the load began, s", ylabel=f"{time.replace('_', ' ')} time, ms")
    bar = figure.colorbar(mesh, ax=axes)
    bar.set_label("operations")
    top = max(max((c for c in row if c == c), default=0.0) for row in shown)
    ticks = list(range(int(top) + 1))
    bar.set_ticks(ticks, labels=[f"{10**tick:g}" for tick in ticks])
    return figure


def sizes(run: RunLike, stage: str, operation: str, time: str = "response", ax: "Optional[Axes]" = None) -> "Figure":
    """Times by size of object: from p50 to p99 of each class, with the mean; needs objects of several sizes."""
    check_time(time)
    figure, axes = _figure(ax, COLUMN)
    classes = as_run(run).operation(stage, operation).record.get("size_classes") or []
    if not classes:
        raise CosmarkError(f"{operation} of {stage} has objects of one size class only")
    for at, one in enumerate(classes):
        times = one.get(f"{time}_ms") or {}
        known = [ms for name in ("p50", "p90", "p95", "p99") if (ms := _number(times.get(name))) is not None]
        if known:
            axes.plot([at, at], [known[0], known[-1]], color=COLOURS[0], linewidth=5, alpha=0.4, solid_capstyle="butt")
            axes.plot([at], [known[0]], marker="_", color=COLOURS[0], markersize=12, linestyle="")
        mean = _number(times.get("mean"))
        if mean is not None:
            axes.plot([at], [mean], marker="o", color=COLOURS[1], markersize=4, linestyle="")
    axes.set_xticks(range(len(classes)), [_plain(str(one.get("label"))) for one in classes], rotation=30, ha="right")
    axes.set_yscale("log")
    _log(axes.yaxis)
    axes.set_ylabel(f"{time.replace('_', ' ')} time, ms")
    axes.set_title("bar = p50 to p99, dot = mean", fontsize="small")
    return figure


def _outline(histogram: Histogram) -> Tuple[List[float], List[float]]:
    """Times in ms and how wide the shape is there, 1 where it is widest: the density of the logarithms, smoothed after Silverman
    (1986, 3.4), up to where fewer than ten operations lie beyond."""
    left, logs = len(histogram), []
    for edge, count in histogram.steps_ns():
        if left <= 10:
            break
        left -= count
        if edge > 0:
            logs.append((math.log10(edge / 1e6), count))
    total = sum(count for _, count in logs)
    mean = sum(log * count for log, count in logs) / total
    deviation = math.sqrt(sum((log - mean) ** 2 * count for log, count in logs) / total)
    low, high = histogram.quantile(0.25), histogram.quantile(0.75)
    spread = min(deviation, math.log10(high / low) / 1.34) if low and high else deviation
    smeared = min(max(0.9 * spread * total**-0.2, 0.008), 0.08)
    first, last = logs[0][0], logs[-1][0]
    if last - first < smeared:
        first, last = first - smeared, last + smeared
    at = [first + (last - first) * step / 160 for step in range(161)]
    near = [[(log, count) for log, count in logs if abs(log - one) < 5 * smeared] for one in at]
    width = [sum(c * math.exp(-0.5 * ((log - one) / smeared) ** 2) for log, c in own) for one, own in zip(at, near)]
    return [10**one for one in at], [one / (max(width) or 1.0) for one in width]


def _at(histogram: Histogram, share: float) -> float:
    value = histogram.quantile(share)
    return math.nan if value is None else value


def violin(
    runs: Side,
    stage: Optional[str] = None,
    operations: Optional[Sequence[str]] = None,
    by_size: bool = False,
    ax: "Optional[Axes]" = None,
) -> "Figure":
    """The shape of the response times on a log axis, one per operation and run, or with ``by_size`` per class of size.

    Dot: median; bar: the middle half; ticks: p95, p99 and p99.9, where ten operations lie beyond. Fewer than 100 operations
    have their median only.
    """
    figure, axes = _figure(ax, (7.0, 3.0))
    found = _named(runs)
    several = len(found) > 1
    shapes: List[Tuple[str, int, Histogram]] = []
    for at, run in enumerate(found):
        for label, one in _labelled(run, several, _chosen(run, stage, operations)):
            own = one.histograms_by_size() if by_size else {"": one.histogram()}
            for size, histogram in own.items():
                shapes.append((f"{label} {_plain(size)}" if size else label, at, histogram))
    shapes = [shape for shape in shapes if shape[2].supports(0.5)]
    if not shapes:
        raise CosmarkError("no operation has objects of several sizes" if by_size else "no operation has twenty times")
    for place, (_, look, histogram) in enumerate(shapes):
        colour = COLOURS[look % len(COLOURS)]
        if len(histogram) >= 100:
            times, widths = _outline(histogram)
            half = [0.42 * width for width in widths]
            left, right = [place - one for one in half], [place + one for one in half]
            axes.fill_betweenx(times, left, right, facecolor=colour, edgecolor=colour, alpha=0.35)
            axes.plot([place, place], [_at(histogram, 0.25), _at(histogram, 0.75)], color="black", linewidth=3)
            for share in (0.95, 0.99, 0.999):
                if histogram.supports(share):
                    axes.plot([place], [_at(histogram, share)], marker="_", color="black", markersize=9)
        axes.plot(
            [place], [_at(histogram, 0.5)], marker=_MARKS[look % len(_MARKS)], color="black",
            markerfacecolor="white", markersize=5,
        )
    axes.set_xticks(range(len(shapes)), [label for label, _, _ in shapes], rotation=30 if len(shapes) > 4 else 0)
    axes.set_yscale("log")
    _log(axes.yaxis)
    axes.set_ylabel("response time, ms")
    return figure


#: Parts of a response time in the order in which an operation goes through them, with how they look: dark and light in turns.
_PARTS = (
    ("wait", "#e8e8e8", "//"), ("connect", "#000000", ""), ("tls", "#f0c4de", "--"), ("send", "#00664b", "\\\\"),
    ("first_byte", "#f2b632", ""), ("body", "#0a5a94", "//"), ("several", "#a9dbf5", "||"), ("rest", "#a34400", "xx"),
)


def time_spent(
    runs: Side,
    stage: Optional[str] = None,
    operations: Optional[Sequence[str]] = None,
    share: bool = False,
    ax: "Optional[Axes]" = None,
) -> "Figure":
    """What mean response times went into: a stacked bar per operation, class of size and run, in ms or as ``share``."""
    figure, axes = _figure(ax, (7.0, 3.0))
    found = _named(runs)
    several = len(found) > 1
    stacks: List[Tuple[str, Dict[str, Any]]] = []
    for run in found:
        for name, one in _labelled(run, several, _chosen(run, stage, operations)):
            parts = [(name, one.record)]
            parts += [(f"{name} {_plain(str(size.get('label')))}", size) for size in one.record.get("size_classes") or []]
            stacks += [(label, record["time"]) for label, record in parts if record.get("time")]
    if not stacks:
        who = "older versions, COSBench, fio and runs that were killed do not, nor one in which nothing succeeded"
        raise CosmarkError(f"these runs do not say what their response times went into; {who}")
    tops = [0.0] * len(stacks)
    for part, colour, hatch in _PARTS:
        heights = [_number(time.get(f"{part}_ms")) or 0.0 for _, time in stacks]
        if share:
            heights = [100.0 * ms / (_number(time.get("mean_ms")) or 1.0) for ms, (_, time) in zip(heights, stacks)]
        if any(height > 0 for height in heights):
            dark = colour in ("#000000", "#00664b", "#0a5a94", "#a34400")
            axes.bar(
                range(len(stacks)), heights, 0.74, bottom=tops, color=colour, hatch=hatch, linewidth=0.6,
                edgecolor="white" if dark else "black", label=part.replace("_", " "),
            )
            tops = [top + height for top, height in zip(tops, heights)]
    axes.set_xticks(range(len(stacks)), [label for label, _ in stacks], rotation=30 if len(stacks) > 4 else 0)
    axes.set_ylabel("share of the mean response time, %" if share else "mean response time, ms")
    axes.set_ylim(0, 100 if share else 1.08 * max(tops))
    axes.legend(frameon=False, fontsize="small", ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def bars(sides: "Dict[str, Side]", figure: str = "throughput_per_s", ax: "Optional[Axes]" = None) -> "Figure":
    """Bars per operation, the first side = 1.0; whiskers are 95 % intervals over repetitions (two or more of a side).

    ``sides`` is name to run or repetitions: ``{"swift": [r1, r2, r3], "ceph": [r4, r5, r6]}``; paths of runs do, too.
    """
    drawing, axes = _figure(ax, COLUMN)
    if not sides:
        raise CosmarkError("no sides to draw")
    names = list(sides)
    own = _matched([_runs(sides[name]) for name in names])
    # Operations are matched as compare() does: by name, and by work where a name is there several times.
    first = {key: values for key, found in own[0].items() if (values := _values(found, figure)) and any(values)}
    if not first:
        raise CosmarkError(f"{names[0]} has no {figure} other than 0")
    width = 0.8 / len(names)
    hatches = ("", "--", "||", "//", "..")
    highest = 1.0
    for at, (name, side) in enumerate(zip(names, own)):
        label: Optional[str] = _plain(name)
        for place, (key, before) in enumerate(first.items()):
            values = _values(side.get(key, ()), figure)
            if not values:
                continue
            base = mean_and_interval(before)[0]
            mean, interval = mean_and_interval(values)
            below, above = reach(mean, interval)
            highest = max(highest, mean / base)
            axes.bar(
                place + (at - (len(names) - 1) / 2.0) * width, mean / base, width * 0.94,
                yerr=None if interval is None else ((below / base,), (above / base,)), capsize=2,
                color=COLOURS[at % len(COLOURS)], edgecolor="black", linewidth=0.6, hatch=hatches[at % len(hatches)],
                label=label,
            )
            label = None
        if label is not None:
            raise CosmarkError(f"{name} has no {figure} of an operation that {names[0]} has")
    axes.set_xticks(range(len(first)), [_plain(name) for name in _names([own[0][key][0] for key in first])])
    axes.axhline(1.0, color="#555555", linewidth=0.6)
    if ax is None:
        _end(axes, highest)
    axes.set_ylabel(f"{figure.replace('_', ' ')}, {_plain(names[0])} = 1")
    axes.legend(frameon=False, fontsize="small")
    return drawing


def _end(axes: "Axes", highest: float) -> None:
    """Lets whiskers that are many times as long as all values leave the frame, as the program does: else there is nothing but them."""
    if highest > 0.0:
        axes.set_ylim(top=min(axes.get_ylim()[1], _LONGEST * highest))


def _values(repetitions: Sequence[Operation], figure: str) -> List[float]:
    return [value for one in repetitions if (value := figure_of(one, figure)) is not None]


def study(
    study: Study,
    x: str,
    figure: str = "throughput_per_s",
    lines: Optional[str] = None,
    operation: Optional[str] = None,
    where: Optional[Dict[str, Any]] = None,
    ax: "Optional[Axes]" = None,
) -> "Figure":
    """A figure over the levels of a factor, one line for each level of ``lines``; whiskers are 95 % intervals over repetitions.

    ``where`` names levels of other factors (``{"system": "swift"}``). Points whose verdict is FALSE are hollow.
    """
    for factor in (x, *([lines] if lines else []), *(where or {})):
        if factor not in study.factors:
            raise CosmarkError(f"{study.name} has no factor {factor}; there are {', '.join(study.factors)}")
    rows = study.means(figure, operation).where(**(where or {}))
    if not len(rows):
        raise CosmarkError(f"no cell of {study.name} has {figure} there")
    groups: Dict[Any, Dict[Any, Dict[str, Any]]] = {}
    for row in rows:
        points = groups.setdefault(row[lines] if lines else None, {})
        if row[x] in points:
            more = [name for name in (*study.factors, "operation") if row[name] != points[row[x]][name]]
            raise CosmarkError(f"{', '.join(more)} varies beside {x}: say which with where=, lines= or operation=")
        points[row[x]] = row
    levels = sorted({row[x] for row in rows}, key=lambda level: study.factors[x].index(str(level)))
    is_even = not all(isinstance(level, int) and level > 0 for level in levels)
    drawing, axes = _figure(ax, COLUMN)
    for at, (name, points) in enumerate(groups.items()):
        own = [points[level] for level in levels if level in points]
        places = [float(levels.index(row[x])) if is_even else float(row[x]) for row in own]
        spans = [reach(row["mean"], None if row["low"] is None else (row["low"], row["high"])) for row in own]
        below, above = [span[0] for span in spans], [span[1] for span in spans]
        label = None if name is None else _plain(str(name))
        means = [row["mean"] for row in own]
        axes.errorbar(places, means, yerr=(below, above), capsize=2, linewidth=1.0, label=label, **_look(at))
        for place, row in zip(places, own):
            hollow = row["verdict"] == "false"
            colour = COLOURS[at % len(COLOURS)]
            axes.plot(place, row["mean"], _MARKS[at % len(_MARKS)], color=colour, markersize=4, fillstyle="none" if hollow else "full")
    if is_even:
        axes.set_xticks(range(len(levels)), [_plain(str(level)) for level in levels])
    elif levels[-1] / levels[0] >= 10:
        axes.set_xscale("log")
        _log(axes.xaxis)
    axes.set_ylim(bottom=0)
    if ax is None:
        _end(axes, max(row["mean"] for row in rows))
    axes.set_xlabel(_plain(x))
    axes.set_ylabel(figure.replace("_", " "))
    if lines:
        axes.legend(frameon=False, fontsize="small", title=_plain(lines), title_fontsize="small")
    return drawing
