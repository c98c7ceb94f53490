"""Every picture shows the figures of its run, and every example ends well."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

import cosmark
from cosmark import CosmarkError

pytest.importorskip("matplotlib")
from cosmark import plot  # noqa: E402

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


def _saved(figure, tmp_path: Path) -> None:
    for ending in ("png", "pdf", "svg"):
        file = tmp_path / f"picture.{ending}"
        figure.savefig(file)
        assert file.stat().st_size > 2000


def test_a_cdf_goes_up_to_all_and_a_tail_ends_where_ten_are_left(archive: Path, tmp_path: Path) -> None:
    run = cosmark.open(archive / "w1")
    figure = plot.cdf(run, "main")
    _saved(figure, tmp_path)
    lines = figure.axes[0].get_lines()
    assert [line.get_label() for line in lines] == ["read", "write"]
    assert all(line.get_ydata()[-1] == 1.0 for line in lines)
    tail = plot.cdf([run, cosmark.open(archive / "w3")], "main", ["read"], complementary=True)
    ends = [line.get_ydata()[-1] for line in tail.axes[0].get_lines()]
    counts = [cosmark.open(archive / name).operation("main", "read").count for name in ("w1", "w3")]
    assert all(10 <= round(end * count) < 60 for end, count in zip(ends, counts)), (ends, counts)


def test_a_tail_of_ten_times_is_none_and_is_said_to_be_none(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, few = cosmark.open(archive / "w1"), cosmark.Histogram()
    few._counts = {5000: 4, 5001: 6}
    with monkeypatch.context() as patched:
        patched.setattr(cosmark.Operation, "histogram", lambda *_: few)
        assert len(plot.cdf(run, "main").axes[0].get_lines()) == 2
        with pytest.raises(CosmarkError, match="a tail needs more than ten times"):
            plot.cdf(run, "main", complementary=True)
        # All times in one bucket are a line from nothing to all.
        few._counts, few._sums = {5000: 10}, None
        edge = few.quantile(1.0)
        assert plot.cdf(run, "main").axes[0].get_lines()[0].get_xydata().tolist() == [[edge, 0.0], [edge, 1.0]]
    # Nor is an empty frame left without a word.
    words = [[text.get_text() for text in plot.timeline(run, "main", metric=one).axes[0].texts] for one in ("response_p99_99_ms", "count")]
    assert words == [["nothing to draw: fewer than ten times lie beyond it in each interval"], []]
    for one in run.stage("main").operations:
        one.record.update(time=None, size_classes=[])
    with pytest.raises(CosmarkError, match="runs that were killed do not"):
        plot.time_spent(run, "main")


def test_pictures_take_what_open_takes(archive: Path) -> None:
    def labels(figure) -> list:
        return [line.get_label() for line in figure.axes[0].get_lines()]

    runs = [cosmark.open(archive / "w1"), cosmark.open(archive / "w3")]
    paths = [str(run.path) for run in runs]
    for draw in (plot.cdf, plot.violin, plot.time_spent):
        assert labels(draw(paths, "main")) == labels(draw(runs, "main")), draw
        assert labels(draw(archive / "w1", "main")) == labels(draw(runs[0], "main")), draw
    assert labels(plot.knee(archive / "w2")) == labels(plot.knee(cosmark.open(archive / "w2")))
    assert labels(plot.timeline(paths[0], "main")) == labels(plot.timeline(runs[0], "main"))
    assert plot.heatmap(paths[0], "main", "read").axes and plot.sizes(paths[0], "main", "write").axes
    beside = plot.bars({"one": paths[0], "other": [paths[1]]})
    assert labels(beside) == labels(plot.bars({"one": runs[0], "other": runs[1:]}))


def test_a_timeline_has_a_point_per_interval(archive: Path, tmp_path: Path) -> None:
    run = cosmark.open(archive / "w1")
    figure = plot.timeline(run, "main", metric="response_p50_ms")
    _saved(figure, tmp_path)
    assert len(figure.axes[0].get_lines()[0].get_xdata()) == len(run.series("main", "read"))
    with pytest.raises(CosmarkError, match="throughput_per_s"):
        plot.timeline(run, "main", metric="nonsense")


def test_a_knee_has_a_point_per_load(archive: Path, tmp_path: Path) -> None:
    run = cosmark.open(archive / "w2")
    for name in ("mean", "p90"):
        figures = [(stage.throughput_per_s, stage.main[0].record["response_ms"][name]) for stage in run.stages]
        # A p90 needs a hundred operations, and a machine that stood still for a second came to fewer.
        known = [(rate, ms) for rate, ms in figures if ms is not None]
        assert len(known) == sum(name == "mean" or stage.main[0].count >= 100 for stage in run.stages), figures
        if not known:
            continue
        figure = plot.knee(run, f"response_ms.{name}")
        _saved(figure, tmp_path)
        line = figure.axes[0].get_lines()[0]
        assert sorted(zip(line.get_xdata(), line.get_ydata())) == sorted(known)


def test_a_timeline_marks_what_happened_in_its_stage(archive: Path, tmp_path: Path) -> None:
    run = cosmark.open(archive / "w1")
    stage = run.stage("main")
    began = stage.load_started

    def event(after_s: float, kind: str, stage: object, text: str) -> dict:
        return {"at": (began + timedelta(seconds=after_s)).isoformat(), "kind": kind, "stage": stage, "text": text}

    run.record["events"] = [
        event(0.0, "stage", stage.id, "load begins"),
        event(0.5, "fault", stage.id, "disk: the device is gone"),
        event(1.0, "note", None, "fan of node 3 swapped"),
        event(1.2, "note", None, "moved $_ to $HOME"),
        event(1.5, "driver", stage.id, "driver d2 is back"),
        event(900.0, "note", None, "after the run"),
    ]
    run.stage("main").operations[0].name = "get $\\frac$"
    figure = plot.timeline(run, "main")
    # No formula: what stands between dollars would be one, or none that can be read.
    _saved(figure, tmp_path)
    shown = [text.get_text() for text in figure.axes[0].texts]
    moved = r"moved \$_ to \$HOME"
    assert shown == ["disk: the device is gone", "fan of node 3 swapped", moved, "driver d2 is back"]
    assert any(line.get_label() == r"get \$\frac\$" for line in figure.axes[0].get_lines())


def _lines(figure) -> dict:
    """Points of the lines that are in the legend, by label."""
    return {one.get_label(): len(one.get_xdata()) for one in figure.axes[0].get_lines() if one.get_label()[0] != "_"}


def test_a_knee_of_a_matrix_has_a_line_per_size_and_one_of_a_ladder_a_single_one(archive: Path, shapes: Path) -> None:
    matrix = cosmark.open(shapes / "w2")
    assert _lines(plot.knee(matrix, "response_ms.p50")) == {"main-size4KiB": 3, "main-size64KiB": 3}
    for stage in matrix.stages:
        stage.name = stage.name.removesuffix("KiB")
    assert _lines(plot.knee(matrix, "response_ms.p50")) == {"main-size4": 3, "main-size64": 3}, "4 workers, 4 KiB"
    for stage in matrix.stages:
        size, workers = stage.name.split("-")[2], stage.operations[0].record["workers"]
        stage.name = f"main-{size}-workers{workers}"
    assert sorted(_lines(plot.knee(matrix, "response_ms.p50")).values()) == [3, 3], "workers at the end"
    assert _lines(plot.knee(cosmark.open(archive / "w2"), "response_ms.mean")) == {"ladder": 3}


def test_trials_of_one_load_of_a_search_are_one_point_with_its_interval(archive: Path) -> None:
    run = cosmark.open(archive / "w2")
    for stage, name in zip(run.stages, ("main-rate100", "main-rate400", "main-rate400-confirm1")):
        stage.name = name
    figure = plot.knee(run, "response_ms.mean")
    assert _lines(figure) == {"ladder": 2}
    mean = sum(stage.throughput_per_s for stage in run.stages[1:]) / 2
    # In which order depends on what was in flight.
    drawn = sorted(figure.axes[0].get_lines()[0].get_xdata())
    assert drawn == pytest.approx(sorted([run.stages[0].throughput_per_s, mean]))
    assert figure.axes[0].collections, "an interval"


def test_operations_of_one_name_have_labels_and_bars_of_their_own(shapes: Path, tmp_path: Path) -> None:
    run = cosmark.open(shapes / "w1")
    again = tmp_path / "w7-works"
    shutil.copytree(shapes / "w1-works", again)
    both = ["small read", "large read"]
    assert list(_lines(plot.cdf(run, "main"))) == both
    assert list(_lines(plot.timeline(run, "main"))) == both
    assert [label.get_text() for label in plot.violin(run, "main").axes[0].get_xticklabels()] == both
    figure = plot.bars({"a": run, "b": [run, cosmark.open(again)]})
    _saved(figure, tmp_path)
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == both
    assert [bar.get_height() for bar in figure.axes[0].patches] == [1.0] * 4
    # What one side lacks is left out; a side that has nothing of it is said.
    other = cosmark.open(shapes / "w1")
    other.stages[0].operations.pop()
    assert len(plot.bars({"a": run, "b": other}).axes[0].patches) == 3
    with pytest.raises(CosmarkError, match="b has no throughput_per_s"):
        plot.bars({"a": run, "b": cosmark.open(shapes / "w2")})


def test_a_timeline_draws_any_percentile_of_any_time(archive: Path) -> None:
    run = cosmark.open(archive / "w1")
    for metric, time, share in (("response_p75_ms", "response", 0.75), ("service_p50_ms", "service", 0.5)):
        drawn = plot.timeline(run, "main", ["read"], metric).axes[0].get_lines()[0].get_ydata()
        series = run.series("main", "read", (share,), time)
        assert [None if y != y else y for y in drawn] == series[metric]
        # Each interval has it where ten times lie beyond.
        assert all((row[metric] is not None) == (row["count"] * (1.0 - share) >= 10.0) for row in series), metric
    assert plot.timeline(run, "main", metric="first_byte_p99_9_ms").axes
    with pytest.raises(CosmarkError):
        plot.timeline(run, "main", metric="response_p995_ms")


def test_a_heat_map_holds_every_operation(archive: Path, tmp_path: Path) -> None:
    run = cosmark.open(archive / "w1")
    figure = plot.heatmap(run, "main", "read")
    _saved(figure, tmp_path)
    cells = figure.axes[0].collections[0].get_array()
    total = sum(10**cell for cell in cells.compressed() if cell == cell)
    assert total == pytest.approx(sum(run.series("main", "read")["count"]), rel=1e-6)


def test_a_stall_is_a_gap_of_a_heat_map_and_a_second_driver_no_column_of_its_own(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = cosmark.open(archive / "w1")
    times = run.histogram("main", "read")
    # Nothing ended from 3 s to 7 s; the second driver's intervals begin 2 ms later, and the last is cut short.
    lines = [(start + late, 1.0, times) for start in (0.0, 1.0, 2.0, 7.0) for late in (-0.001, 0.002)] + [(8.0, 0.4, times)]
    monkeypatch.setattr(cosmark.Run, "_by_interval", lambda *_: lines)
    mesh = plot.heatmap(run, "main", "read").axes[0].collections[0]
    cells = mesh.get_array()
    filled = [bool((cells[:, at] == cells[:, at]).compressed().any()) for at in range(cells.shape[1])]
    assert filled == [True] * 3 + [False] * 4 + [True] * 2
    edges = [float(x) for x in mesh.get_coordinates()[0, :, 0]]
    assert edges == pytest.approx([0, 1, 2, 3, 4, 5, 6, 7, 8, 8.4], abs=0.01)
    assert sum(10**cell for cell in cells.compressed() if cell == cell) == pytest.approx(9 * len(times), rel=1e-6)


def test_a_heat_map_that_begins_with_a_short_interval_has_no_gaps(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = cosmark.open(archive / "w1")
    times = run.histogram("main", "read")
    # Nothing ended before the ramp did, in the middle of an interval; the clock is read a millisecond early or late.
    lines = [(2.5, 0.5, times), (2.999, 1.0, times), (4.001, 1.0, times), (4.999, 1.0, times)]
    monkeypatch.setattr(cosmark.Run, "_by_interval", lambda *_: lines)
    mesh = plot.heatmap(run, "main", "read").axes[0].collections[0]
    cells = mesh.get_array()
    assert [bool((cells[:, at] == cells[:, at]).compressed().any()) for at in range(cells.shape[1])] == [True] * 4
    edges = [float(x) for x in mesh.get_coordinates()[0, :, 0]]
    assert edges == pytest.approx([2.5, 3, 4, 5, 6], abs=0.01)


def test_numbers_beside_a_log_axis_do_not_touch_each_other() -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    for size in (plot.COLUMN, (7.0, 3.0), (2.2, 1.6)):
        for low, high in ((0.02, 700.0), (0.9, 1100.0), (1.0, 9.0), (3.0, 4.0), (0.001, 90000.0), (2.0, 160.0)):
            figure = Figure(figsize=size, layout="constrained")
            axes = figure.subplots()
            axes.plot([low, high], [low, high])
            axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
            plot._log(axes.xaxis)
            plot._log(axes.yaxis)
            FigureCanvasAgg(figure).draw()
            for axis in (axes.xaxis, axes.yaxis):
                places = zip(axis.get_ticklocs(), axis.get_ticklabels())
                shown = [label.get_window_extent() for at, label in places if low <= at <= high and label.get_text()]
                touching = [(one, other) for at, one in enumerate(shown) for other in shown[at + 1 :] if one.overlaps(other)]
                assert len(shown) >= 2 and not touching, (size, low, high, axis.axis_name)


def test_what_anybody_wrote_into_a_record_is_no_formula_and_no_broken_picture(archive: Path, tmp_path: Path) -> None:
    run = cosmark.open(archive / "w1")
    write = run.operation("main", "write")
    classes = [{"label": "$\\a_{$", "response_ms": {"p50": 1.0, "p99": "x", "mean": "y"}, "time": {"mean_ms": "x", "wait_ms": "a"}}]
    write.record["size_classes"] = classes
    write.stage.record["pauses"] = [{"from_s": "x", "to_s": 2.0}]
    write.stage.record["missing"] = [{"from_s": [1]}]
    _saved(plot.sizes(run, "main", "write"), tmp_path)
    _saved(plot.time_spent(run, "main", share=True), tmp_path)
    _saved(plot.timeline(run, "main"), tmp_path)


def test_a_timeline_of_cosbench_is_drawn_and_says_what_is_lacking(tmp_path: Path) -> None:
    home = tmp_path / "archive"
    shutil.copytree(Path(__file__).parents[2] / "crates" / "archive" / "tests" / "cosbench-runs", home)
    run = cosmark.open("w3", home)
    figure = plot.timeline(run, "main")
    _saved(figure, tmp_path)
    lines = figure.axes[0].get_lines()
    # Its operations have no names but what they do.
    assert [line.get_label() for line in lines] == ["read", "write", "delete", "list"]
    assert lines[0].get_ydata()[0] == 3246.05 and lines[0].get_xdata()[0] == 1.5
    assert not figure.axes[0].patches, "no ramp is told, and none is shaded"
    with pytest.raises(CosmarkError, match="a series has no response_p99_ms; there are .*response_mean_ms"):
        plot.timeline(run, "main", metric="response_p99_ms")
    with pytest.raises(CosmarkError, match="w3 is a run of COSBench.*leaves no histograms"):
        plot.cdf(run, "main")
    with pytest.raises(CosmarkError, match="operation  of stage .* is not there"):
        run.operation("main", "")


def test_a_kind_of_time_and_an_operation_that_are_not_there_are_said(archive: Path) -> None:
    run = cosmark.open(archive / "w1")
    for draw in (plot.heatmap, plot.sizes):
        with pytest.raises(CosmarkError, match="no times total; there are response, service, first_byte"):
            draw(run, "main", "write", "total")
    # A text alone is one name, and not all that are a part of it.
    assert list(_lines(plot.cdf(run, "main", "read"))) == ["read"]
    for wrong in ("bread", ["bread"]):
        with pytest.raises(CosmarkError, match="w1 has no such operation: bread in main"):
            plot.cdf(run, "main", wrong)


def test_sizes_and_bars_are_drawn_and_say_what_they_lack(archive: Path, tmp_path: Path) -> None:
    one, three, four = (cosmark.open(archive / name) for name in ("w1", "w3", "w4"))
    _saved(plot.sizes(one, "main", "write"), tmp_path)
    with pytest.raises(CosmarkError, match="one size"):
        plot.sizes(one, "main", "read")
    figure = plot.bars({"a": [one, three], "b": [three, four]})
    _saved(figure, tmp_path)
    assert figure.axes[0].patches[0].get_height() == 1.0


def test_names_that_would_be_formulas_or_hide_from_the_legend_are_shown(archive: Path, tmp_path: Path) -> None:
    copy = tmp_path / "w1-odd"
    shutil.copytree(archive / "w1-closed", copy)
    formula = r"a$\frac{$"
    record = json.loads((copy / "run.json").read_text())
    record["name"] = formula
    for one in record["stages"][0]["operations"]:
        one["name"] = "_hidden" if one["name"] == "read" else formula
    (copy / "run.json").write_text(json.dumps(record))
    run = cosmark.open(copy)
    for figure in (
        plot.bars({formula: run, "_b": run}), plot.bars({"_b": run, formula: run}), plot.timeline(run, "main"), plot.cdf(run),
        plot.knee(run, "response_ms.mean"), plot.violin(run), plot.time_spent(run),
    ):
        _saved(figure, tmp_path)
    for figure, expected in ((plot.bars({formula: run, "_b": run}), ["a\\$\\frac{\\$", " _b"]), (plot.cdf(run), [" _hidden", "a\\$\\frac{\\$"])):
        legend = figure.axes[0].get_legend()
        assert legend is not None and [text.get_text() for text in legend.get_texts()] == expected


def test_a_run_without_intervals_says_so_where_its_course_is_drawn(archive: Path, tmp_path: Path) -> None:
    copy = tmp_path / "w1-cut"
    shutil.copytree(archive / "w1-closed", copy)
    table = copy / "intervals.csv"
    table.write_text(table.read_text().splitlines()[0] + "\n")
    for metric in ("throughput_per_s", "response_p99_ms"):
        with pytest.raises(CosmarkError, match="no intervals of read"):
            plot.timeline(cosmark.open(copy), "main", metric=metric)


def test_violins_have_the_quantiles_of_their_histograms_by_operation_and_size(archive: Path, tmp_path: Path) -> None:
    run = cosmark.open(archive / "w1")
    sizes = run.operation("main", "write").histograms_by_size()
    classes = run.operation("main", "write").record["size_classes"]
    assert list(sizes) == [one["label"] for one in classes] and len(sizes) > 1
    assert [len(one) for one in sizes.values()] == [one["count"] for one in classes]
    assert sum(map(len, sizes.values())) == run.operation("main", "write").count
    assert run.operation("main", "read").histograms_by_size() == {}
    figure = plot.violin(run, "main")
    _saved(figure, tmp_path)
    low, high = figure.axes[0].get_ylim()
    assert low < run.quantile("main", "read", 0.5) < high
    by_size = plot.violin(run, "main", ["write"], by_size=True)
    labels = [label.get_text() for label in by_size.axes[0].get_xticklabels()]
    assert labels == [f"write {label}" for label, times in sizes.items() if times.supports(0.5)]
    with pytest.raises(CosmarkError, match="several sizes"):
        plot.violin(run, "main", ["read"], by_size=True)


def test_parts_of_a_time_add_up_to_its_mean(archive: Path, tmp_path: Path) -> None:
    run = cosmark.open(archive / "w5")
    figure = plot.time_spent(run)
    _saved(figure, tmp_path)
    tops: dict = {}
    for patch in figure.axes[0].patches:
        tops[round(patch.get_x(), 3)] = max(tops.get(round(patch.get_x(), 3), 0.0), patch.get_y() + patch.get_height())
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    top = [tops[place] for place in sorted(tops)][labels.index("read")]
    stage = next(one for one in run.stages if any(op.name == "read" for op in one.main))
    assert top == pytest.approx(run.operation(stage.name, "read").record["time"]["mean_ms"], rel=1e-6)
    share = plot.time_spent(run, share=True).axes[0]
    assert max(patch.get_y() + patch.get_height() for patch in share.patches) == pytest.approx(100.0)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_ends_well_and_says_something(
    example: Path, archive: Path, study: Path, tmp_path: Path, python: str
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(cosmark.__file__).parent.parent)}
    done = subprocess.run(
        [python, str(example), str(study if "study" in example.stem else archive)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 2, done.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_without_a_run_says_what_to_make(example: Path, tmp_path: Path, python: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(cosmark.__file__).parent.parent)}
    (tmp_path / "archive").mkdir()
    for there in ("archive", "nowhere"):
        command = [python, str(example), there]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) == 1 and done.stdout == "", done.stderr


@pytest.mark.parametrize("example", [one for one in EXAMPLES if "study" not in one.stem], ids=lambda path: path.stem)
def test_an_example_shows_runs_of_cosbench_or_says_what_to_make(example: Path, tmp_path: Path, python: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(cosmark.__file__).parent.parent)}
    shutil.copytree(Path(__file__).parents[2] / "crates" / "archive" / "tests" / "cosbench-runs", tmp_path / "archive")
    done = subprocess.run([python, str(example), "archive"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert "Traceback" not in done.stderr, done.stderr
    shows = example.stem[0] in "134"
    assert (done.returncode == 0, len(done.stdout.splitlines()) >= 2) == (shows, shows), (done.stdout, done.stderr)
    assert shows or "make one with" in done.stderr, done.stderr
