"""Every picture shows the figures of its run, and every example ends well."""

from __future__ import annotations

import os
import subprocess
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


def test_a_timeline_has_a_point_per_interval(archive: Path, tmp_path: Path) -> None:
    run = cosmark.open(archive / "w1")
    figure = plot.timeline(run, "main", metric="response_p50_ms")
    _saved(figure, tmp_path)
    assert len(figure.axes[0].get_lines()[0].get_xdata()) == len(run.series("main", "read"))
    with pytest.raises(CosmarkError, match="throughput_per_s"):
        plot.timeline(run, "main", metric="nonsense")


def test_a_knee_has_a_point_per_load(archive: Path, tmp_path: Path) -> None:
    run = cosmark.open(archive / "w2")
    figure = plot.knee(run, "response_ms.p90")
    _saved(figure, tmp_path)
    line = figure.axes[0].get_lines()[0]
    assert len(line.get_xdata()) == 3 and list(line.get_xdata())[0] == pytest.approx(100, rel=0.2)


def test_a_heat_map_holds_every_operation(archive: Path, tmp_path: Path) -> None:
    run = cosmark.open(archive / "w1")
    figure = plot.heatmap(run, "main", "read")
    _saved(figure, tmp_path)
    cells = figure.axes[0].collections[0].get_array()
    total = sum(10**cell for cell in cells.compressed() if cell == cell)
    assert total == pytest.approx(sum(run.series("main", "read")["count"]), rel=1e-6)


def test_sizes_and_bars_are_drawn_and_say_what_they_lack(archive: Path, tmp_path: Path) -> None:
    one, three, four = (cosmark.open(archive / name) for name in ("w1", "w3", "w4"))
    _saved(plot.sizes(one, "main", "write"), tmp_path)
    with pytest.raises(CosmarkError, match="one size"):
        plot.sizes(one, "main", "read")
    figure = plot.bars({"a": [one, three], "b": [three, four]})
    _saved(figure, tmp_path)
    assert figure.axes[0].patches[0].get_height() == 1.0


def test_violins_have_the_quantiles_of_their_histograms_by_operation_and_size(archive: Path, tmp_path: Path) -> None:
    run = cosmark.open(archive / "w1")
    sizes = run.operation("main", "write").histograms_by_size()
    classes = run.operation("main", "write").record["size_classes"]
    assert list(sizes) == [one["label"] for one in classes] and len(sizes) >= 3
    assert [len(one) for one in sizes.values()] == [one["count"] for one in classes]
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
def test_every_example_ends_well_and_says_something(example: Path, archive: Path, tmp_path: Path, python: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(cosmark.__file__).parent.parent)}
    done = subprocess.run(
        [python, str(example), str(archive)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 2, done.stdout
