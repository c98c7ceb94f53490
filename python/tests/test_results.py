"""What the package reads is what the program published, and what damage is told."""

from __future__ import annotations

import base64
import csv
import importlib.util
import itertools
import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import warnings
import zlib
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import cosmark
from cosmark import CosmarkError, cosbench, hlog, results
from cosmark.results import _Spans as Spans
from cosmark.table import Table

PUBLISHED = {
    "p50": 0.5, "p60": 0.6, "p80": 0.8, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999,
}


def test_every_published_percentile_is_what_the_merged_histograms_say(archive: Path) -> None:
    compared = 0
    for run in cosmark.runs(archive):
        for stage in run.stages:
            for one in stage.operations:
                for time in ("response", "service", "first_byte"):
                    times = one.record[f"{time}_ms"]
                    histogram = one.histogram(time)
                    assert len(histogram) == times["count"], (run, one, time)
                    for name, q in PUBLISHED.items():
                        assert one.quantile(q, time) == times[name], (run, one, time, name)
                        # Where ten times lie beyond it, however many a slow machine came to.
                        published = times["count"] * round((1.0 - q) * 10_000) >= 100_000
                        assert (times[name] is not None) == published, (run, one, time, name)
                        compared += published
                    if times["count"]:
                        assert histogram.max_ms == times["max"]
                        assert histogram.quantile(0.0) == times["min"]
                        assert histogram.mean_ms == pytest.approx(times["mean"], rel=1e-3)
    assert compared > 0


def test_waiting_for_a_worker_is_in_the_response_time_and_not_in_the_service_time(archive: Path) -> None:
    run = cosmark.open("w2", archive)
    response, service = (run.histogram("load450", "read", time) for time in ("response", "service"))
    assert len(response) == len(service) > 0
    assert response.quantile(0.9) > 1.5 * service.quantile(0.9)


def test_quantiles_are_those_of_the_operation_log(archive: Path) -> None:
    pytest.importorskip("pyarrow")
    run = cosmark.open(archive / "w1")
    rows = run.oplog().to_arrow(
        ["due_ns", "end_ns"], stage="s1-main", operation="read", phase="window", outcome="ok"
    ).to_pydict()
    times = sorted(end - due for due, end in zip(rows["due_ns"], rows["end_ns"]))
    assert len(times) == run.operation("main", "read").count > 0
    for q in (0.01, 0.1, 0.333, 0.5, 0.9, 0.97, 0.985):
        exact = times[max(1, math.ceil(q * len(times))) - 1] / 1e6
        known = run.histogram("main", "read").quantile(q)
        assert exact <= known <= exact * 1.001 + 1e-6
        # It is given where ten times lie beyond it: a slow machine has fewer of them.
        supported = len(times) * round((1.0 - q) * 1000) >= 10_000
        assert run.quantile("main", "read", q) == (known if supported else None), q


def test_a_quantile_that_the_data_cannot_support_is_none_unless_the_histogram_is_asked(archive: Path) -> None:
    run = cosmark.open(archive / "w1")
    assert run.quantile("main", "write", 0.9999) is None
    assert run.histogram("main", "write").quantile(0.9999) > 0
    for wrong in (99, -0.1, math.nan):
        for asked in (
            lambda q: run.histogram("main", "write").quantile(q),
            lambda q: run.quantile("main", "write", q),
            lambda q: run.series("main", "write", [q]),
            lambda q: cosmark.Histogram().quantile(q),
        ):
            # None would say that there were too few.
            with pytest.raises(CosmarkError, match="p99 is 0.99"):
                asked(wrong)
    ends = run.histogram("main", "write")
    assert 0 < ends.quantile(0) <= ends.quantile(1) == ends.max_ms and run.quantile("main", "write", 1) is None
    assert cosmark.Histogram().quantile(0) is cosmark.Histogram().quantile(1) is None
    names = run.series("main", "write", [0.07, 0.9999999, 1]).columns[-3:]
    assert names == ["response_p7_ms", "response_p99_99999_ms", "response_p100_ms"], "each has a column of its own"


def test_histograms_of_operations_and_runs_are_added_up_by_sum(archive: Path) -> None:
    run, other = cosmark.open(archive / "w1"), cosmark.open(archive / "w3")
    parts = [one.histogram() for each in (run, other) for one in each.stage("main").main]
    whole = sum(parts)
    times = sorted(edge for part in parts for edge, count in part.steps_ns() for _ in range(count))
    assert len(whole) == len(times) > len(parts[0])
    for q in (0.01, 0.5, 0.9, 0.999, 1.0):
        assert whole.quantile_ns(q) == times[max(1, math.ceil(q * len(times))) - 1]
    assert sum([parts[0]]) == parts[0] and sum([parts[0]]) is not parts[0]
    # What has no times has no resolution that could be another.
    coarse = cosmark.Histogram(7, 10)
    coarse._counts = {3: 2}
    assert len(coarse + cosmark.Histogram()) == len(cosmark.Histogram() + coarse) == 2
    with pytest.raises(CosmarkError, match="different resolutions"):
        coarse + parts[0]
    with pytest.raises(TypeError):
        1 + parts[0]


def test_sums_over_the_series_are_those_of_the_record(archive: Path) -> None:
    for name in ("w1", "w2", "w5"):
        run = cosmark.open(name, archive)
        for stage in run.stages:
            assert not stage.main or sum(one.count for one in stage.main) > 0, (name, stage)
            for one in stage.main:
                series = run.series(stage.id, one.id)
                window = series.where(phase="window")
                assert sum(window["count"]) == one.count
                assert sum(window["failures"]) == one.failures
                # A median is known exactly where ten times lie beyond it: on a slow machine lists come to no more.
                assert all((row["response_p50_ms"] is not None) == (row["count"] >= 20) for row in series), (name, one)
                # No time is lost or counted in another interval.
                binned = run._by_bin(one, "response", [(r["start_s"], r["end_s"], r["phase"]) for r in series])
                counts = {key: len(histogram) for key, histogram in binned.items()}
                for row in series:
                    key = (row["start_s"], row["end_s"], row["phase"])
                    assert counts.get(key, 0) == row["count"], (name, one, key)


def test_intervals_of_days_are_found_in_few_steps_and_those_of_drivers_that_end_apart_are_told_apart() -> None:
    many = [(5.0 * at, 5.0 * at + 5.0, "window") for at in range(60_000)]
    spans = Spans(reversed(many))
    began = time.process_time()
    assert [spans.around(start + 2.5) for start, _, _ in many] == many
    assert time.process_time() - began < 10, "each of them was compared with each"
    assert spans.around(-1.0) is None and spans.around(300_000.0) is None
    # One driver ended at 12.3 s: its middle lies in the interval of the other as well.
    short, long = (10.0, 12.3, "window"), (10.0, 15.0, "window")
    apart = Spans([long, short, (15.0, 20.0, "window")])
    assert [apart.around(at) for at in (11.15, 12.5, 12.3, 9.9)] == [short, long, long, None]
    # Nor does a gap between intervals belong to one of them.
    assert Spans([(0.0, 5.0, "window"), (9.0, 10.0, "window")]).around(7.0) is None


def test_drivers_that_end_apart_share_the_rows_of_a_series(archive: Path, tmp_path: Path) -> None:
    # Of three runs of one workload that with most intervals: one that its machine stopped for a second has fewer.
    name = max(
        ("w1-closed", "w3-closed", "w4-closed"),
        key=lambda one: len(cosmark.open(archive / one).series("main", "read").where(phase="window")),
    )
    copy = tmp_path / name
    shutil.copytree(archive / name, copy)
    before = cosmark.open(copy).series("main", "read")
    window = before.where(phase="window")
    assert len(window) > 2
    assert all((row["response_p50_ms"] is not None) == (row["count"] >= 20) for row in before)
    with (copy / "intervals.csv").open(newline="") as file:
        reader = csv.DictReader(file)
        names, rows = list(reader.fieldnames or ()), list(reader)
    # A second driver does the same: one interval 2 ms later, and of the last no more than a part.
    late, last = window[1]["start_s"], window[-1]["start_s"]
    others = []
    for row in rows:
        start, end = float(row["start_s"]), float(row["end_s"])
        if row["phase"] == "window" and start == late:
            start, end = start + 0.002, end + 0.002
        elif row["phase"] == "window" and start == last:
            end = start + (end - start) / 4
        others.append({**row, "driver": "d2", "start_s": f"{start:.6f}", "end_s": f"{end:.6f}"})
    with (copy / "intervals.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows([*rows, *others])
    after = cosmark.open(copy).series("main", "read")
    assert len(after) == len(before) and after["phase"] == before["phase"]
    for one, both in zip(before, after):
        assert (both["start_s"], both["end_s"]) == pytest.approx((one["start_s"], one["end_s"]), abs=0.0021)
        assert both["count"] == 2 * one["count"] and both["response_p50_ms"] == one["response_p50_ms"]
        assert both["throughput_per_s"] == pytest.approx(both["count"] / (both["end_s"] - both["start_s"]))
        if one["in_flight_mean"] is not None:
            part = 1.25 if one["phase"] == "window" and one["start_s"] == last else 2.0
            assert both["in_flight_mean"] == pytest.approx(part * one["in_flight_mean"], rel=0.03)


def test_a_line_of_the_log_without_times_is_an_interval_without_percentiles() -> None:
    stage = SimpleNamespace(load_started=datetime.fromtimestamp(100, timezone.utc))
    log = SimpleNamespace(base_s=100.0, entries=lambda _: [hlog.Entry("t.response", 0.0, 1.0, hlog.Histogram())])
    run: Any = SimpleNamespace(_log=lambda: log)
    one: Any = SimpleNamespace(stage=stage, tag="t")
    key = (0.0, 1.0, "window")
    assert len(cosmark.Run._by_bin(run, one, "response", [key])[key]) == 0
    # Nor is a line of a millisecond lost whose times were rounded beyond its interval.
    key = (0.0, 0.0003, "window")
    log.entries = lambda _: [hlog.Entry("t.response", 0.0, 0.001, hlog.Histogram())]
    assert key in cosmark.Run._by_bin(run, one, "response", [key])


def test_tables_have_what_run_json_has(archive: Path) -> None:
    run = cosmark.open(archive / "w1-closed")
    record = json.loads((archive / "w1-closed" / "run.json").read_text())
    row = run.operations.where(operation="read")[0]
    own = record["stages"][0]["operations"][0]
    assert row["count"] == own["count"] and row["throughput_per_s"] == own["throughput_per_s"]
    assert row["response_p99_ms"] == own["response_ms"]["p99"]
    assert run.verdict.overall == record["verdict"]["overall"]
    assert len(run.verdict.checks) == len(record["verdict"]["checks"]) > 10
    assert run.state == "finished" and run.started < run.ended
    assert "stage" in run.events["kind"] and "completed" in run.events["text"]
    assert run.operations.to_csv().splitlines()[0].startswith("stage,stage_id,work,operation,")
    assert max(map(len, repr(run.operations).splitlines())) < 170 and "more columns" in repr(run.operations)
    assert "<table>" in run.operations._repr_html_()
    assert len(run.clients) > 0 and len(run.durability) == len(run.faults) == 0


def test_frames_of_every_library_hold_the_same(archive: Path) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    run = cosmark.open(archive / "w1")
    assert isinstance(run.operations.to_pandas(), pandas.DataFrame)
    assert isinstance(run.operations.to_polars(), polars.DataFrame)
    assert run.operations.to_arrow().num_rows == len(run.operations)
    for table in (run.intervals, run.clients, run.operations, run.verdict.checks, run.nodes):
        assert len(table.to_pandas()) == len(table.to_polars()) == table.to_arrow().num_rows == len(table)
    # Values of several kinds are text, numbers of several kinds numbers.
    for values, wanted in (
        ([1, "x", None], ["1", "x", None]), ([2**70, 1], [2.0**70, 1.0]), ([2**53 + 1, 1.5], [2.0**53, 1.5]),
        ([{"b": 1}, 3], ["{'b': 1}", "3"]), ([True, 2], ["True", "2"]), ([1, 2], [1, 2]),
    ):
        assert Table({"a": value} for value in values).to_arrow()["a"].to_pylist() == wanted
    log = run.oplog()
    total = log.to_arrow().num_rows
    assert total == len(log.to_pandas()) == len(log.to_polars()) == log.scan().collect().height > 0
    only = {"stage": "s1-main", "operation": "write", "phase": "window"}
    assert len(log.to_pandas(["end_ns"], **only)) == len(log.to_polars(["end_ns"], **only)) < total
    assert log.epoch.startswith("20")
    with pytest.raises(CosmarkError, match="no column nonsense"):
        log.to_arrow(["nonsense"])
    assert log.to_arrow("phase", **only).column_names == log.to_polars("phase", **only).columns == ["phase"]
    table = log.to_arrow()
    for name in table.column_names:
        values = table[name].to_pylist()
        # What is not known is found, too, and what is known by any value of its kind.
        for value in [None, *[known for known in values if known is not None][:1]]:
            count = sum(other is None if value is None else other == value for other in values)
            assert log.to_arrow(**{name: value}).num_rows == log.to_polars(**{name: value}).height == count, name
    for read in (log.to_arrow, log.to_pandas, log.to_polars):
        for name, value in (("worker", "x"), ("phase", 3)):
            with pytest.raises(CosmarkError, match=f"the column {name} holds .*, and never {value!r}"):
                read(**{name: value})


def test_frames_of_a_run_that_did_nothing_have_the_columns_of_others(archive: Path, tmp_path: Path) -> None:
    path = tmp_path / "w1-nothing"
    shutil.copytree(archive / "w1-closed", path)
    (path / "intervals.csv").write_text((path / "intervals.csv").read_text("utf-8").partition("\n")[0] + "\n", "utf-8")
    series, full = (cosmark.open(one).series("main", "read") for one in (path, archive / "w1-closed"))
    assert len(series) == 0 and series.columns == full.columns
    record = json.loads((path / "run.json").read_text("utf-8"))
    for stages in ([], [{**stage, "operations": []} for stage in record["stages"]]):
        (path / "run.json").write_text(json.dumps({**record, "stages": stages}), "utf-8")
        run, other = cosmark.open(path), cosmark.open(archive / "w1-closed")
        for empty, whole in ((run.operations, other.operations), (run.main, other.main)):
            assert len(empty) == 0 and empty.columns == whole.columns


def test_a_package_that_is_not_there_is_named_with_how_to_get_it(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pandas", "polars", "pyarrow", "pyarrow.compute", "pyarrow.parquet", "matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    run = cosmark.open(archive / "w1")
    assert run.histogram("main", "read").quantile(0.5) > 0 and len(run.series("main", "read")) > 0
    assert "read" in run.main.to_csv()
    log = run.oplog()
    for asked, extra in (
        (run.main.to_pandas, "pandas"), (run.main.to_polars, "polars"), (run.main.to_arrow, "arrow"),
        (log.to_pandas, "pandas"), (log.to_polars, "polars"), (log.scan, "polars"), (log.to_arrow, "arrow"),
        (lambda: log.epoch, "arrow"), (lambda: cosmark.plot.cdf(run, "main"), "plot"),
    ):
        with pytest.raises(CosmarkError, match=rf"pip install 'cosmark\[{extra}\]'"):
            asked()


def test_a_log_of_which_nothing_was_closed_yet_is_not_said_to_be_unwanted(archive: Path, tmp_path: Path) -> None:
    path = tmp_path / "w1-closed"
    shutil.copytree(archive / "w1-closed", path)
    (path / "operations.parquet").rename(path / ".operations.part-00001.parquet.tmp-17")
    log = cosmark.open(path).oplog()
    assert not log
    with pytest.raises(CosmarkError, match="nothing of it was closed yet"):
        log.to_arrow()


def test_what_is_not_there_is_said_with_what_is(archive: Path, tmp_path: Path) -> None:
    run = cosmark.open(archive / "w2")
    for wrong, what in (
        (lambda: run.stage("main"), "s1-load100"),
        (lambda: run.operation("load100", "write"), "main/read"),
        (lambda: run.histogram("load100", "read", "connect"), "first_byte"),
        (lambda: run.histogram("load100", "read", phase="main"), "rampup"),
        (lambda: run.series("load100", "read", time="respons"), "no times respons; there are response"),
        (lambda: cosmark.compare(run, run, "speed"), "has the figure speed; there are"),
        (lambda: run.oplog().to_arrow(), "--oplog"),
        (lambda: run.node_log().to_arrow(), "nodes:"),
        (lambda: cosmark.open("w99", archive), "w5-demo"),
        (lambda: cosmark.open("nothing/w3"), "cannot read nothing"),
        (lambda: cosmark.open(tmp_path), "no run.json"),
        (lambda: cosmark.open(Path(__file__)), "is a file, and a run is a directory: unpack"),
        (lambda: cosmark.open(archive), "it is an archive: open one of its runs .*w1-closed"),
    ):
        with pytest.raises(CosmarkError, match=what):
            wrong()
    assert cosmark.open(2, archive).id == cosmark.open("last", archive).id.replace("5", "2") == "w2"
    assert cosmark.open(archive / "w2-ladder" / "run.json").id == "w2"
    assert repr(run.thresholds) == "no rows" and repr(run.consistency).startswith("no rows; columns: stage, seen_by")
    assert "no rows" in run.trials._repr_html_()
    empty = repr(run.operations.where(operation="write"))
    assert len(empty) < 250 and re.fullmatch(r"no rows; columns: stage, .*, \.\. \d+ more: see \.columns", empty), empty
    many = len(run.operations.columns)
    assert int(empty.split(".. ")[1].split()[0]) + empty.split("columns: ")[1].count(", ") == many


def test_a_result_of_fio_is_opened_like_any_run(tmp_path: Path) -> None:
    from conftest import PATIENCE_S

    golden = Path(__file__).parents[2] / "crates" / "archive" / "tests" / "fio"
    subprocess.run(
        [os.environ["COSMARK_BIN"], "import", str(golden / "fio-3.33-mixed.json"), "--no-report", "--name", "mixed",
         "--iops-log", str(golden / "fio-3.33-mixed_iops.1.log"), "--archive", str(tmp_path / "archive")],
        check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE_S,
    )
    run = cosmark.open("last", tmp_path / "archive")
    assert (run.id, run.name, run.state, run.made_by) == ("w1", "mixed", "finished", None)
    read, write = run.stage("cell").main
    assert (read.count, write.count) == (420, 180)
    assert (read.throughput_per_s, write.throughput_per_s) == (139.953349, 59.980007)
    assert run.record["fio"]["version"] == "fio-3.33" and run.record["fio"]["jobs"][0]["target"] == "/dev/vdb"
    assert sum(run.intervals["count"]) == 600 and len(run.intervals) == 12
    assert abs(read.quantile(0.5) - 0.111104) < 0.0002
    assert len(cosmark.compare(run, run)) > 0


def test_runs_of_cosbench_are_opened_and_say_what_they_lack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "archive"
    shutil.copytree(Path(__file__).parents[2] / "crates" / "archive" / "tests" / "cosbench-runs", home)
    runs = cosmark.runs(home)
    assert [run.id for run in runs] == ["w2", "w3", "w7", "w23"]
    assert [[run.id for run in cosmark.runs(home, newest=most)] for most in (0, 2, 9)] == [[], ["w7", "w23"], [run.id for run in runs]]
    assert cosmark.overview(home, newest=1)["id"] == ["w23"]
    with pytest.raises(CosmarkError, match="newest is how many runs"):
        cosmark.runs(home, newest=-1)
    run = cosmark.open("w3", home)
    assert run.made_by and run.made_by.startswith("COSBench") and "of COSBench" in repr(run)
    assert run.state == "finished" and runs[0].state == "terminated"
    read = run.stage("main").main[0]
    assert read.count > 0 and read.throughput_per_s > 0 and len(run.operations) > 5
    assert "made_by" in run.record and len(cosmark.compare(run, run)) > 0
    # Its timeline, whose rows are 3 s apart.
    series = run.series("main", "read")
    assert series[0]["time"] == "18:54:12" and series[0]["count"] == 9741 and series[0]["response_mean_ms"] == 1.28
    assert (series[1]["start_s"], series[1]["end_s"], series[1]["failures"], series[1]["phase"]) == (3.0, 6.0, 0, None)
    assert sum(series["count"]) > 40_000 and "response_p99_ms" not in series.columns
    assert run.series("main", "list")[0]["count"] == 1594, "operations in their order"
    for stage in run.stages:
        assert all(len(run._series(one)) == len(run._series(stage.operations[0])) for one in stage.operations)
    for lacks in (
        lambda: read.quantile(0.99), lambda: run.intervals, lambda: run.oplog(), lambda: run.clients,
        lambda: run.node_log(),
    ):
        with pytest.raises(CosmarkError, match="w3 is a run of COSBench.*leaves no"):
            lacks()
    table = home / "w3-mock-full" / "w3-mock-full.csv"
    table.write_bytes(b"\xef\xbb\xbf" + table.read_bytes())
    assert cosmark.open("w3", home).stage("main").main[0].count == read.count, "an editor put a mark before it"
    rows = (line.partition(",") for line in table.read_text(encoding="utf-8-sig").splitlines())
    added = lambda first: "Interval,Op-Id" if first == "Stage" else "5,op1"
    table.write_text("".join(f"{first},{added(first)},{rest}\n" for first, _, rest in rows))
    assert cosmark.open("w3", home).stage("main").main[0].count == read.count, "a fork has columns of its own"
    whole = table.read_text()
    for damage in (whole + "s7-x\n", "Stage,Op-Name\nx"):
        table.write_text(damage)
        with pytest.warns(UserWarning, match="w3-mock-full"):
            assert len(cosmark.runs(home)) == 3
    table.write_text(whole)
    monkeypatch.setenv("COSMARK_BIN", str(tmp_path / "none"))
    with pytest.warns(UserWarning, match="4 runs of COSBench are left out"):
        assert cosmark.runs(home) == []
    with pytest.raises(CosmarkError, match="is a run of COSBench, which the program reads"):
        cosmark.open("w23", home)


def test_parts_of_results_add_up_to_their_operation_and_errors_to_its_failures(archive: Path, tmp_path: Path) -> None:
    run = cosmark.open(archive / "w1")
    sizes = run.parts.where(operation="write", by="size")
    write = run.operation("main", "write")
    assert len(sizes) > 1 and sum(sizes["count"]) == write.count and sum(sizes["bytes"]) == write.record["bytes"]
    assert abs(sum(sizes["throughput_per_s"]) / write.throughput_per_s - 1.0) < 1e-3
    assert sizes[0]["part"] in write.histograms_by_size() and sizes[0]["response_mean_ms"] > 0.0
    assert len(run.errors) == 0 and run.errors.columns == ["stage", "work", "operation", "error", "count"]
    copy = tmp_path / "w1-closed"
    shutil.copytree(archive / "w1-closed", copy)
    record = json.loads((copy / "run.json").read_text())
    read = record["stages"][0]["operations"][0]
    read["errors"] = {"http_503": 3, "timeout": 1}
    read["drivers"] = [{"driver": name, "workers": 2, "count": 5, "response_ms": {"p99": 1.5}} for name in ("a", "b")]
    read["endpoints"] = [{"endpoint": "h:1", "connections": 4, "count": 10, "response_ms": None}]
    read["window_s"] = 2.0
    (copy / "run.json").write_text(json.dumps(record))
    run = cosmark.open(copy)
    assert run.errors.where(operation=read["name"])["count"] == [3, 1] and run.errors["error"] == ["http_503", "timeout"]
    drivers, endpoints = run.parts.where(by="driver"), run.parts.where(by="endpoint")
    assert drivers["part"] == ["a", "b"] and drivers["throughput_per_s"] == [2.5, 2.5] and drivers[0]["response_p99_ms"] == 1.5
    assert (endpoints[0]["part"], endpoints[0]["connections"], endpoints[0]["response_p99_ms"]) == ("h:1", 4, None)
    read["drivers"] = [{"driver": "a", "response_ms": 7}]
    (copy / "run.json").write_text(json.dumps(record))
    with pytest.raises(CosmarkError, match="drivers.0..response_ms is no object"):
        cosmark.open(copy)


def test_what_a_timeline_of_cosbench_does_not_say_is_none() -> None:
    row = {"count": 90, "bytes": 900, "response_ms": 1.5, "first_byte_ms": None, "throughput_per_s": 18.0, "success_ratio": 0.9}
    nothing = {"count": 0, "bytes": 0, "success_ratio": None}
    timeline = [
        {"time": "23:59:52", "operations": [nothing, row]},
        {"time": "23:59:57", "operations": [nothing, {**row, "success_ratio": 0.0, "count": 0}]},
        {"time": "00:00:02", "operations": [nothing]},
        {"time": "noon", "operations": []},
    ]
    first, second = cosbench.series(timeline, 0), cosbench.series(timeline, 1)
    assert [one["failures"] for one in first] == [0, 0, 0, None]
    assert [one["failures"] for one in second] == [10, None, None, None], "all that ended failed, and how many is not said"
    assert [one["end_s"] for one in second] == [5.0, 10.0, 15.0, 20.0], "midnight is no step back"
    assert second[0]["throughput_per_s"] == 18.0 and second[2]["count"] is None
    assert set(second[0]) == set(cosbench.COLUMNS)
    # What anybody wrote into a record ends no program.
    for count, ratio in ((90, "0.9"), (90, float("nan")), (90, 1e-323), (10**400, 0.5), (90, 2.0), (90, -1), (90, True), (None, 0.5), (90, [])):
        wild = {**row, "count": count, "success_ratio": ratio, "response_ms": ratio if ratio == [] else "=1+1", "bytes": float("inf")}
        found = cosbench.series([{"time": "10:00:00", "operations": [wild]}], 0)[0]
        assert (found["failures"], found["response_mean_ms"], found["bytes"]) == (None, None, None), (count, ratio)
    assert cosbench.series([{"time": "10:00:00", "operations": [row]}], 0)[0]["end_s"] == 5.0 and cosbench.series([], 0) == []


def test_what_probers_did_is_a_table_and_empty_where_there_was_none(archive: Path, tmp_path: Path) -> None:
    assert len(cosmark.open(archive / "w1-closed").probes) == 0
    copy = tmp_path / "w1-closed"
    shutil.copytree(archive / "w1-closed", copy)
    (copy / "probes.csv").write_text(
        "stage,driver,key,writer,process,op,call_ns,return_ns,value,done,clock_error_ns\n"
        "s1-main,d1,0,,1,write,10,20,1,1,0\n"
        "s1-main,d2,2147483648,0,3,read,30,40,1,1,500\n"
    )
    probes = cosmark.open(copy).probes
    assert probes["op"] == ["write", "read"] and probes["writer"] == [None, 0]
    assert probes[1]["call_ns"] == 30 and probes[1]["clock_error_ns"] == 500
    (copy / "probes.csv").write_text("stage,key\n")
    with pytest.raises(CosmarkError, match="no column driver"):
        cosmark.open(copy).probes


def test_a_file_that_was_cut_is_read_up_to_there_and_damage_has_its_line(archive: Path, tmp_path: Path) -> None:
    copy = tmp_path / "w1-closed"
    shutil.copytree(archive / "w1-closed", copy)
    log = copy / "histograms.hlog"
    whole = log.read_bytes()
    before = len(cosmark.open(copy).histogram("main", "read"))
    # What a size of objects took over the whole window stands at the end, behind all intervals.
    log.write_bytes(whole[:-200])
    assert len(cosmark.open(copy).histogram("main", "read")) == before
    lines = whole.split(b"\n")
    # Cut between two lines it reads like that of a shorter run: no quantile of a part passes for one of the whole.
    log.write_bytes(b"".join(line + b"\n" for line in lines[: len(lines) // 3]))
    cut = cosmark.open(copy)
    said = f"histograms.hlog has [0-9]+ of {before} response times of read in the window of s1-main: it was cut"
    for read in (
        lambda: cut.histogram("main", "read"),
        lambda: cut.quantile("main", "read", 0.5),
        lambda: cut.histogram("main", "read", phase="rampup"),
        lambda: cut.series("main", "read"),
        lambda: cut._by_interval(cut.operation("main", "read"), "response"),
    ):
        with pytest.raises(CosmarkError, match=said):
            read()
    with pytest.raises(CosmarkError, match="response times of write in the window"):
        cut.operation("main", "write").histograms_by_size()
    assert cut.operations["response_p50_ms"] == cosmark.open(archive / "w1").operations["response_p50_ms"]
    assert sum(cut.series("main", "read", quantiles=()).where(phase="window")["count"]) == before
    at = next(at for at, line in enumerate(lines) if line.startswith(b"Tag=s1-main.read.response,"))
    for damage in (b"Tag=s1-main.read.response,x", lines[at][:-40], lines[at].replace(b"HI", b"AA", 1)[:60]):
        log.write_bytes(b"\n".join([*lines[:at], damage, *lines[at + 1 :]]))
        with pytest.raises(CosmarkError, match=f"line {at + 1}"):
            cosmark.open(copy).histogram("main", "read")
    for text in ("", "[]", '{"schema": 2}', '{"schema": 1.0}', '{"schema": true}', "{"):
        (copy / "run.json").write_text(text)
        with pytest.raises(CosmarkError, match="run.json"):
            cosmark.open(copy)


def test_a_record_of_another_form_is_refused_with_the_place_and_what_is_new_in_it_is_not(
    archive: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "w1-closed"
    shutil.copytree(archive / "w1-closed", copy)
    record = json.loads((copy / "run.json").read_text())

    def changed(*path: object, value: object) -> str:
        other = json.loads(json.dumps(record))
        inner = other
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        return json.dumps(other)

    for text, said in (
        (changed("stages", value={}), "stages is no list"),
        (changed("stages", 0, value=None), r"stages\[0\] is null"),
        (changed("stages", 0, "operations", value="none"), r"stages\[0\].operations is no list"),
        (changed("stages", 0, "operations", 1, "response_ms", value=3), r"operations\[1\].response_ms is no object"),
        (changed("stages", 0, "operations", 0, "count", value="many"), r"operations\[0\].count is no whole number"),
        (changed("stages", 0, "operations", 0, "bounds", value={"throughput_per_s": 1}), "bounds.throughput_per_s"),
        (changed("verdict", value="true"), "verdict is no object"),
        (changed("events", value=[1]), r"events\[0\] is no object"),
        (changed("stages", 0, "operations", 0, "workers", value="many"), r"operations\[0\].workers is no whole number"),
        (changed("started", value=12), "started is no text"),
        (changed("started", value="yesterday"), "no moment"),
        (changed("schema", value=2), "written in schema 2.* upgrade"),
        (changed("schema", value="1"), "no record of a run"),
        ("[" * 200_000, "nested deeper"),
    ):
        (copy / "run.json").write_text(text)
        with pytest.raises(CosmarkError, match=said):
            cosmark.open(copy).started
    (copy / "run.json").write_text(changed("stages", 0, "operations", 0, "of_tomorrow", value=[{"a": 1}]))
    assert cosmark.open(copy).operations["count"] == cosmark.open(archive / "w1").operations["count"]
    (copy / "run.json").write_text(changed("name", value="a\x1b]0;title\x07 \u202eb"))
    assert cosmark.open(copy).name == "a?]0;title? ?b"
    page = "<img src=x onerror=alert(1)>"
    hostile = json.loads(changed("state", value=page))
    hostile["id"] = hostile["stages"][0]["name"] = hostile["stages"][0]["operations"][0]["name"] = page
    hostile["verdict"] = {"overall": page}
    (copy / "run.json").write_text(json.dumps(hostile))
    assert "<img" not in cosmark.open(copy)._repr_html_().lower()
    for number in ("NaN", "1e999", "-Infinity", "1" + 400 * "0"):
        (copy / "run.json").write_text(changed("stages", 0, "operations", 0, "throughput_per_s", value=0).replace(
            '"throughput_per_s": 0,', f'"throughput_per_s": {number},', 1))
        damaged = cosmark.open(copy)
        assert damaged.stages[0].operations[0].throughput_per_s is None, number
        figures = cosmark.compare(damaged, damaged).where(figure="throughput_per_s")
        assert [row["operation"] for row in figures] == [one.name for one in damaged.stages[0].operations[1:]], number
    for pid in ([1], 1e300, "x"):
        (copy / "run.json").write_text(changed("state", value="running").replace('"pid": ', f'"pid": {json.dumps(pid)}, "was": ', 1))
        assert cosmark.open(copy).state == "killed", pid


@pytest.mark.parametrize("what", ["run.json", "intervals.csv", "histograms.hlog", "operations.part-1.parquet"])
def test_a_pipe_in_an_archive_is_not_waited_for(archive: Path, tmp_path: Path, what: str) -> None:
    copy = tmp_path / "w1-closed"
    shutil.copytree(archive / "w1-closed", copy)
    for name in (what, "operations.parquet"):
        (copy / name).unlink(missing_ok=True)
    os.mkfifo(copy / what)
    with pytest.raises(CosmarkError, match="no regular file|has no run.json"):
        run = cosmark.open(copy)
        run.series("main", "read")
        run.oplog().to_arrow()
    (tmp_path / "w2-pipe").mkdir()
    os.mkfifo(tmp_path / "w2-pipe" / "w2-pipe.csv")
    assert [run.id for run in cosmark.runs(tmp_path)] == ([] if what == "run.json" else ["w1"])


@pytest.mark.parametrize("what", ["run.json", "intervals.csv", "operations.parquet"])
def test_no_link_of_an_archive_is_followed(archive: Path, tmp_path: Path, what: str) -> None:
    copy = tmp_path / "w1-closed"
    shutil.copytree(archive / "w1-closed", copy)
    (copy / what).rename(tmp_path / "elsewhere")
    (copy / what).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CosmarkError, match="a link, or no regular file"):
        run = cosmark.open(copy)
        run.series("main", "read")
        run.oplog().to_arrow()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "w2-linked").symlink_to(archive / "w1-closed")
    assert cosmark.runs(tmp_path / "other") == []
    with pytest.raises(CosmarkError, match="no runs at all"):
        cosmark.open("last", tmp_path / "other")
    assert cosmark.open(tmp_path / "other" / "w2-linked").id == "w1", "whoever names a directory gets it"


def test_a_neighbour_that_is_nested_without_end_does_not_hide_the_last_run(archive: Path, tmp_path: Path) -> None:
    shutil.copytree(archive / "w1-closed", tmp_path / "w1-closed")
    (tmp_path / "w2-deep").mkdir()
    (tmp_path / "w2-deep" / "run.json").write_text("[" * 200_000)
    with pytest.raises(CosmarkError, match="nested deeper"):
        cosmark.open("last", tmp_path)


def test_tables_and_logs_that_are_damaged_are_named(archive: Path, tmp_path: Path) -> None:
    copy = tmp_path / "w1-closed"
    shutil.copytree(archive / "w1-closed", copy)
    table, log = copy / "intervals.csv", copy / "operations.parquet"
    lines = table.read_text().splitlines()
    for text, said in (
        (b"\xff\xfe" + bytes(100), "intervals.csv is no text"),
        (b"a,b\n1,2\n", "intervals.csv.*line 1: no column stage, tag"),
        ("\n".join([*lines[:3], lines[3][:30], *lines[4:], ""]).encode(), "intervals.csv.*line 4: .* is no number"),
        ("\n".join([lines[0], lines[1].replace(",window,", ",window,nan,").replace(",rampup,", ",rampup,nan,"), ""]).encode(),
         "intervals.csv.*line 2: start_s is no number"),
    ):
        table.write_bytes(text)
        with pytest.raises(CosmarkError, match=said):
            cosmark.open(copy).series("main", "read")
    table.write_text("")
    assert len(cosmark.open(copy).series("main", "read")) == 0, "a run that was killed before its first interval"
    whole = log.read_bytes()
    reads = []
    for library, read in (
        ("pyarrow", lambda: cosmark.open(copy).oplog().to_arrow()),
        ("pyarrow", lambda: cosmark.open(copy).oplog().epoch),
        ("polars", lambda: cosmark.open(copy).oplog().to_polars()),
    ):
        try:
            __import__(library)
            reads.append(read)
        except ImportError:
            pass
    middle = len(whole) // 2
    for damage in (b"", whole[:-100], whole[:4], b"nothing of the kind", whole[:middle] + bytes(200) + whole[middle + 200 :],
                   whole[:-500] + bytes(492) + whole[-8:]):
        log.write_bytes(damage)
        for read in reads:
            try:
                read()
            except CosmarkError as error:
                assert "operations.parquet" in str(error), error
    log.write_bytes(whole[:-100])
    for read in reads:
        with pytest.raises(CosmarkError, match="operations.parquet is damaged: it was cut short"):
            read()


def test_a_log_whose_path_is_not_utf8_is_not_said_to_be_damaged(archive: Path, tmp_path: Path) -> None:
    copy = tmp_path / os.fsdecode(b"d\xe9p")
    try:
        shutil.copytree(archive / "w1-closed", copy)
    except OSError:
        pytest.skip("this file system has no such names")
    run = cosmark.open(copy)
    assert len(run.operations) > 0 and run.quantile("main", "read", 0.5) is not None
    log = run.oplog()
    for library, read in (("pyarrow", log.to_arrow), ("polars", log.to_polars), ("polars", log.scan)):
        if importlib.util.find_spec(library) is not None:
            with pytest.raises(CosmarkError, match="its path is not UTF-8") as refused:
                read()
            assert "delete" not in str(refused.value)


def test_a_path_that_reads_as_a_pattern_is_that_of_one_run(archive: Path, tmp_path: Path) -> None:
    pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    for parent, name in (("load*", "w1-closed"), ("load1", "w1-closed"), ("load*", "w2-[a]?*{b,c}")):
        shutil.copytree(archive / "w1-closed", tmp_path / parent / name)
    total = cosmark.open(archive / "w1").oplog().to_arrow().num_rows
    for run in cosmark.runs(tmp_path / "load*"):
        log = run.oplog()
        assert log.to_arrow().num_rows == log.to_polars().height == log.scan().collect().height == total, run.path


def test_a_damaged_run_hides_no_other(archive: Path, tmp_path: Path) -> None:
    shutil.copytree(archive / "w1-closed", tmp_path / "w1-closed")
    (tmp_path / "w2-cut").mkdir()
    (tmp_path / "w2-cut" / "run.json").write_text("{")
    (tmp_path / "w3-empty").mkdir()
    with pytest.warns(UserWarning, match="w2-cut.run.json is no JSON"):
        assert [run.id for run in cosmark.runs(tmp_path)] == ["w1"]


def test_no_damage_makes_the_decoder_hang_or_take_memory(archive: Path) -> None:
    import random
    import struct

    line = next(
        line for line in (archive / "w1-closed" / "histograms.hlog").read_bytes().splitlines() if line.startswith(b"Tag=")
    )
    whole = base64.b64decode(line.split(b",")[4])
    assert len(hlog.decode(whole)) > 0
    draw = random.Random(1)
    for _ in range(2000):
        damaged = bytearray(whole if draw.random() < 0.5 else zlib.decompress(whole[8:]))
        is_plain = damaged[:4] != whole[:4]
        for _ in range(draw.randint(1, 4)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        cut = bytes(damaged[: draw.randrange(len(damaged))] if draw.random() < 0.25 else damaged)
        try:
            hlog.decode(whole[:8] + zlib.compress(cut) if is_plain else cut)
        except ValueError:
            pass
    with pytest.raises(ValueError, match="length"):
        hlog.decode(whole[:8] + zlib.compress(bytes(8 << 20)))

    def plain(digits: int, lowest: int, counts: bytes) -> bytes:
        head = struct.pack(">iiiiqqd", 0x1C849303, len(counts), 0, digits, lowest, 1 << 40, 1.0)
        return whole[:8] + zlib.compress(head + counts)

    # Seven times, behind 2^23 empty buckets of doubled width: the last begins at 2^(2^23).
    far = bytes([0xFF, 0xFF, 0xFF, 0x07, 14])
    for damage, said in (
        (plain(0, 1, far), "a time that no histogram has"),
        (plain(3, 1 << 62, bytes([14])), "a time that no histogram has"),
        (plain(3, 1, bytes([0xFE] + [0xFF] * 8)), "more times than"),
    ):
        with pytest.raises(ValueError, match=said):
            hlog.decode(damage)
    assert len(hlog.decode(plain(3, 1, bytes([14])))) == 7


def test_the_decoder_without_numpy_says_the_same(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numpy")
    paths = [run.path / "histograms.hlog" for run in cosmark.runs(archive)]
    fast = [list(hlog.HistogramLog(path).entries()) for path in paths]
    monkeypatch.setattr(hlog, "numpy", None)
    slow = [list(hlog.HistogramLog(path).entries()) for path in paths]
    assert fast == slow and sum(map(len, fast)) > 50


def test_sums_over_a_log_are_those_of_its_lines(archive: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    paths = [run.path / "histograms.hlog" for run in cosmark.runs(archive)]

    def by_lines(log: hlog.HistogramLog) -> "dict[str, hlog.Histogram]":
        sums: "dict[str, hlog.Histogram]" = {}
        for entry in log.entries():
            sums.setdefault(entry.tag, hlog.Histogram()).add(entry.histogram)
        return sums

    def encoded(lowest: int, payload: bytes) -> bytes:
        plain = hlog._HEAD.pack(hlog._PLAIN_COOKIE | 0x10, len(payload), 0, 3, lowest, 1 << 40, 1.0) + payload
        packed = zlib.compress(plain)
        return base64.b64encode((hlog._COMPRESSED_COOKIE | 0x10).to_bytes(4, "big") + len(packed).to_bytes(4, "big") + packed)

    def log_of(name: str, *histograms: bytes) -> hlog.HistogramLog:
        path = tmp_path / name
        path.write_bytes(b"".join(b"Tag=a.response,%d.0,1.0,1.0,%s\n" % (at, one) for at, one in enumerate(histograms)))
        return hlog.HistogramLog(path)

    # Counts of one byte, of eight, none, and of one again in a higher bucket.
    small, large = bytes([4, 2]), bytes([0x80] * 7 + [1])
    mixed = log_of("mixed", *(encoded(1, one) for one in (small, large, b"", bytes([9, 2]), small)))
    others = log_of("others", encoded(1, small), encoded(64, small))
    assert len(mixed.merged(["a.response"])["a.response"]) == 3 + 3 + 1 + (1 << 48)
    for _ in range(2):
        for log in (*map(hlog.HistogramLog, paths), mixed):
            assert log.merged(log.tags()) == by_lines(log)
        for sums in (by_lines, lambda log: log.merged(log.tags())):
            with pytest.raises(CosmarkError, match="different resolutions"):
                sums(others)
        monkeypatch.setattr(hlog, "numpy", None)


def test_large_counts_and_all_lengths_of_numbers_are_decoded_alike() -> None:
    pytest.importorskip("numpy")

    def encoded(number: int) -> bytes:
        value, out = (number << 1) ^ (number >> 63), bytearray()
        while value >= 0x80 and len(out) < 8:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        out.append(value & 0xFF)
        return bytes(out)

    for numbers in ([1, -5, 63, 64, 8191, -3, 1], [8192, 1048575], [1 << 40, -2, 7], [(1 << 62) + 5], [0, 0, 3, -1, 9]):
        payload = b"".join(map(encoded, numbers))
        expected, index = {}, 0
        for number in numbers:
            if number > 0:
                expected[index] = number
            index += -number if number < 0 else 1
        assert hlog._counts_of(payload) == expected
        fast = hlog._counts_by_numpy(payload)
        assert fast is None or fast == expected


def test_repetitions_differ_only_where_the_interval_leaves_out_zero(archive: Path) -> None:
    one, three, four = (cosmark.open(name, archive) for name in ("w1", "w3", "w4"))
    alone = cosmark.compare(one, three).where(figure="throughput_per_s")
    assert {row["operation"] for row in alone} == {"read", "write"}
    assert all(row["ratio"] == pytest.approx(row["after"] / row["before"]) for row in alone)
    both = cosmark.compare([one, three], [three, four]).where(figure="throughput_per_s")
    # An end is not known where nothing limits what a client did; one interval in twenty leaves out 0 by chance.
    for row in both:
        low = -math.inf if row["low"] is None else row["low"]
        high = math.inf if row["high"] is None else row["high"]
        assert low <= row["after"] - row["before"] <= high
        assert row["differs"] is not (low <= 0.0 <= high), row
    # A run that is counted twice would make any difference sure.
    with pytest.raises(CosmarkError, match="w3 stands twice on one side"):
        cosmark.compare([one, three, three], [four])
    assert all(row["differs"] is None for row in cosmark.compare([one, three], four))
    with pytest.raises(CosmarkError, match="no stage"):
        cosmark.compare(one, cosmark.open("w2", archive))
    for wrong in (95, 0, 1, math.nan):
        with pytest.raises(CosmarkError, match="95 % is 0.95"):
            cosmark.compare([one, three], [four], confidence=wrong)
    with pytest.raises(CosmarkError, match="no operation of these runs has the figure throughput; .*throughput_per_s"):
        cosmark.compare(one, three, ["response_ms.p50", "throughput"])


def test_a_comparison_takes_what_open_takes(archive: Path) -> None:
    one, three, four = (cosmark.open(name, archive) for name in ("w1", "w3", "w4"))
    expected = list(cosmark.compare(one, three))
    for before, after in ((one.path, three.path), (str(one.path), str(archive / "w3")), ([str(one.path)], (three,))):
        assert list(cosmark.compare(before, after)) == expected, (before, after)
    assert list(cosmark.compare([one, str(archive / "w3")], four.path)) == list(cosmark.compare([one, three], four))
    with pytest.raises(CosmarkError, match="w3 stands twice on one side"):
        cosmark.compare([three, str(archive / "w3")], four)
    with pytest.raises(CosmarkError, match="no run .*w99"):
        cosmark.compare(one, archive / "w99")


def test_what_only_one_side_of_a_comparison_has_is_named(archive: Path) -> None:
    one, three, demo = (cosmark.open(name, archive) for name in ("w1", "w3", "w5"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cosmark.compare(one, three)
    with pytest.warns(UserWarning, match="main list is after only, main head is after only"):
        both = cosmark.compare(one, demo)
    assert {row["operation"] for row in both} == {"read", "write"}
    with pytest.warns(UserWarning, match="main list is in 1 of 2 runs before, .*"):
        cosmark.compare([demo, one], demo)


def test_operations_of_one_name_are_compared_with_those_of_their_work(shapes: Path, tmp_path: Path) -> None:
    whole, less, swapped = (cosmark.open(shapes / "w1") for _ in range(3))
    for at, (run, works) in enumerate(((less, ["large"]), (swapped, ["large", "small"]))):
        run.path = tmp_path / f"w{at + 8}-works"
        by_work = {one.work: one for one in run.stages[0].operations}
        run.stages[0].operations = [by_work[work] for work in works]
    rate = {one.work: one.throughput_per_s for one in whole.stage("main").operations}
    with pytest.warns(UserWarning, match="main small read is before only$"):
        rows = cosmark.compare(whole, less, ["throughput_per_s"])
    assert [(row["work"], row["operation"], row["before"], row["after"]) for row in rows] == [
        ("large", "read", rate["large"], rate["large"])
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = cosmark.compare(whole, swapped, ["throughput_per_s"])
    assert {row["work"]: (row["before"], row["after"]) for row in rows} == {
        work: (value, value) for work, value in rate.items()
    }
    # Without names of works, as of COSBench's runs, their order is all that there is.
    for run in (whole, swapped):
        for one in run.stages[0].operations:
            one.work = ""
    rows = cosmark.compare(whole, swapped, ["throughput_per_s"])
    assert [(row["before"], row["after"]) for row in rows] == [
        (rate["small"], rate["large"]), (rate["large"], rate["small"])
    ]


def test_students_quantiles_are_those_of_the_tables() -> None:
    from cosmark.statistics import difference, mean_and_interval, reach, t_quantile

    # NIST/SEMATECH e-Handbook 1.3.6.7.2, two-sided 95 %.
    for freedom, expected in ((1, 12.706), (2, 4.303), (4, 2.776), (10, 2.228), (30, 2.042), (1000, 1.962)):
        assert t_quantile(0.95, freedom) == pytest.approx(expected, abs=6e-4)
    assert mean_and_interval([3.0]) == (3.0, None)
    # Student's would reach from -0.48 to 4.48: no rate and no time is below 0.
    mean, interval = mean_and_interval([1.0, 2.0, 3.0])
    assert mean == 2.0 and interval == pytest.approx((0.4571, 7.2233), rel=1e-3)
    assert reach(mean, interval) == pytest.approx((1.5429, 5.2233), rel=1e-3) and reach(mean, None) == (0.0, 0.0)
    _, interval = mean_and_interval([0.0, 10.0])
    assert interval is not None and interval[0] == 0.0 and interval[1] > 10.0
    # What stands beside a mean holds it: of equal values, whose logarithms are rounded, and of many that differ much.
    for values in ([0.1] * 3, [3e7] * 5, [0.0] * 2, [1.0] * 29 + [1e6]):
        mean, interval = mean_and_interval(values)
        assert interval is not None and interval[0] <= mean <= interval[1], values
    _, interval = mean_and_interval([1e-60, 1e60])
    assert interval is not None and interval[0] > 0.0 and math.isfinite(interval[1])
    assert difference([1.0, 1.0], [2.0, 2.0]) == (1.0, 1.0) and difference([1.0], [2.0, 3.0]) is None


def test_a_workload_is_run_from_python(tmp_path: Path) -> None:
    from conftest import CLOSED

    run = cosmark.run(CLOSED, archive=tmp_path, fields={"main.runtime": "1s", "main.workers": 2}, timeout_s=300)
    assert run.state == "finished" and run.operation("main", "read").record["workers"] == 2
    with pytest.raises(CosmarkError, match="exit code 2"):
        cosmark.run("name: wrong\nstages: 3\n", archive=tmp_path)


def test_fields_are_spelt_as_workloads_spell_them_and_what_is_no_program_is_said(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "Größe" / "w1-closed"
    shutil.copytree(archive / "w1-closed", place)
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{tmp_path}/given\necho "archive: {place}"\n', "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("COSMARK_BIN", str(program))
    run = cosmark.run("some.yaml", fields={"main.histogram": False, "workers": 2})
    assert run.path == place and run.id == "w1"
    given = (tmp_path / "given").read_text().splitlines()
    assert "main.histogram=false" in given and "workers=2" in given
    # In whatever locale this is.
    code = "import sys, cosmark; print(cosmark.run(sys.argv[1]).id)"
    source = str(Path(cosmark.__file__).resolve().parent.parent)
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": source}
    command = [sys.executable, "-c", code, "some.yaml"]
    shown = subprocess.run(command, env={**os.environ, **plain}, capture_output=True, text=True, timeout=300)
    assert shown.stdout.strip() == "w1", shown.stderr
    monkeypatch.setenv("COSMARK_BIN", str(tmp_path))
    with pytest.raises(CosmarkError, match="which is no program"):
        cosmark.run("some.yaml")
    program.write_bytes(b"\x7fELF no program of any machine")
    monkeypatch.setenv("COSMARK_BIN", str(program))
    with pytest.raises(CosmarkError, match="program cannot be started: "):
        cosmark.run("some.yaml")


def test_a_run_that_takes_too_long_or_is_interrupted_finishes_its_archive(tmp_path: Path, python: str) -> None:
    from conftest import CLOSED, PATIENCE_S

    def counted(directory: Path) -> bool:
        """Whether the run has counted something after its rampup."""
        files = list(directory.glob("w1-closed/intervals.csv"))
        return bool(files) and any(",window," in line for line in files[0].read_text().splitlines())

    # A machine that is busy may need longer until the load begins, or until there is an archive at all.
    for limit_s in (2, 10, 60, 200):
        late = tmp_path / f"late-{limit_s}"
        with pytest.raises(CosmarkError, match=f"took longer than {limit_s} s") as ended:
            cosmark.run(CLOSED, archive=late, fields={"main.runtime": "5m"}, timeout_s=limit_s)
        if counted(late):
            break
    assert re.search(" is in .*w1-closed", str(ended.value)), ended.value
    # As in a notebook, whose kernel alone gets the signal.
    interrupted = tmp_path / "interrupted"
    script = "import cosmark, sys; cosmark.run(sys.argv[1], archive=sys.argv[2], fields={'main.runtime': '5m'})"
    environment = {**os.environ, "PYTHONPATH": str(Path(cosmark.__file__).parent.parent)}
    with subprocess.Popen(
        [python, "-c", script, CLOSED, str(interrupted)],
        env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as kernel:
        until = time.monotonic() + PATIENCE_S
        while not counted(interrupted) and time.monotonic() < until and kernel.poll() is None:
            time.sleep(0.1)
        kernel.send_signal(signal.SIGINT)
        said = kernel.communicate(timeout=PATIENCE_S)[1]
    assert "ended by Ctrl-C; what it measured is in" in said and "w1-closed" in said, said
    for directory in (late, interrupted):
        run = cosmark.open("w1", directory)
        assert run.state == "cancelled" and run.operation("main", "read").count > 0, (run, run.reason)


def test_a_run_whose_process_is_gone_is_killed(archive: Path, tmp_path: Path) -> None:
    copy = tmp_path / "w1-closed"
    shutil.copytree(archive / "w1-closed", copy)
    record = json.loads((copy / "run.json").read_text())
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    own = {"hostname": socket.gethostname(), "boot_id": boot, "pid": os.getpid(), "started_ticks": 0}
    stat = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    for process, state in ((own, "killed"), ({**own, "started_ticks": int(stat[19])}, "running"), (None, "killed"),
                           ({**own, "hostname": "elsewhere"}, "running")):
        (copy / "run.json").write_text(json.dumps({**record, "state": "running", "process": process}))
        assert cosmark.open(copy).state == state, process


def test_the_share_within_a_time_counts_the_bucket_that_ends_there() -> None:
    moved = 0
    for first in range(0, 1 << 15, 1 << 11):
        histogram = hlog.Histogram()
        histogram._counts = {index: 1 for index in range(first, first + (1 << 11), 7)}
        edges = [edge for edge, _ in histogram.steps_ns()]
        # One edge in fifty is no longer itself on the way to ms and back.
        wrong = [edge for edge in edges if edge / 1e6 * 1e6 < edge]
        moved += len(wrong)
        for edge in (edges[0], *wrong, edges[-1]):
            assert histogram.share_within(edge / 1e6) == (edges.index(edge) + 1) / len(edges), edge
        for q in (0.01, 0.5, 0.95, 0.99, 1.0):
            assert (histogram.share_within(histogram.quantile(q) or 0.0) or 0.0) >= q
    assert moved > 10


def test_a_process_that_nobody_has_waited_for_is_gone_and_one_that_is_not_known_is_not() -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        stat = Path(f"/proc/{child.pid}/stat")
        process: "dict[str, Any]" = {"hostname": socket.gethostname(), "boot_id": boot, "pid": child.pid}
        process["started_ticks"] = int(stat.read_text().rpartition(")")[2].split()[19])
        assert not results._is_gone(process)
        # Of what is not known nothing follows, as for the program.
        for missing in ("started_ticks", "boot_id"):
            assert not results._is_gone({**process, "pid": 2**31, missing: None})
        child.kill()
        until = time.monotonic() + 60
        while stat.read_text().rpartition(")")[2].split()[0] != "Z" and time.monotonic() < until:
            time.sleep(0.01)
        assert results._is_gone(process)
    assert results._is_gone({**process, "pid": 2**31})


def test_a_killed_run_has_what_the_stage_that_ran_had_measured(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, copy = cosmark.open(archive / "w1"), tmp_path / "w1-closed"
    shutil.copytree(archive / "w1-closed", copy)
    record = json.loads((copy / "run.json").read_text())
    boot, stat = (Path(f"/proc/{name}").read_text() for name in ("sys/kernel/random/boot_id", "self/stat"))
    gone = {"hostname": socket.gethostname(), "boot_id": boot.strip(), "pid": os.getpid(), "started_ticks": 0}
    record.update(state="running", process=gone)
    record["stages"][0].update(state="running", ended=None, operations=[])
    (copy / "run.json").write_text(json.dumps(record))
    run = cosmark.open(copy)
    assert run.state == "killed" and run.stage("main").state == "terminated" and run.stage("main").reason.startswith("cut at")
    for one in whole.stage("main").main:
        cut = run.operation("main", one.name)
        assert (cut.count, cut.failures) == (one.count, one.failures) and one.count > 0
        assert cut.histogram() == one.histogram() and cut.quantile(0.5) == one.quantile(0.5)
        assert (cut.quantile(0.5) is not None) == (one.count >= 20)
        assert sum(run.series("main", one.name).where(phase="window")["count"]) == one.count
    # Without the program that is left out, and no figure is made up.
    monkeypatch.setenv("COSMARK_BIN", str(tmp_path / "nothing"))
    with pytest.warns(UserWarning, match="w1-closed was killed: .* is left out .*COSMARK_BIN names"):
        run = cosmark.open(copy)
    assert run.state == "killed" and len(run.operations) == 0
    # One that goes on says why it has none.
    record["process"] = {**gone, "started_ticks": int(stat.rpartition(")")[2].split()[19])}
    (copy / "run.json").write_text(json.dumps(record))
    with pytest.raises(CosmarkError, match="there are none yet: a run that goes on"):
        cosmark.open(copy).operation("main", "read")


def test_a_run_that_never_made_load_is_not_the_last_one(archive: Path, tmp_path: Path) -> None:
    shutil.copytree(archive / "w1-closed", tmp_path / "w1-closed")
    record = json.loads((tmp_path / "w1-closed" / "run.json").read_text())
    stage = {**record["stages"][0], "operations": [], "load_started": None}
    (tmp_path / "w2-login").mkdir()
    (tmp_path / "w2-login" / "run.json").write_text(
        json.dumps({**record, "id": "w2", "state": "terminated", "stages": [stage]})
    )
    assert cosmark.open("last", tmp_path).id == "w1" and cosmark.open("w2", tmp_path).state == "terminated"
    # Nor is one that was cut off before it had a record, as for the program; the one before the last counts alike.
    (tmp_path / "w3-cut").mkdir()
    shutil.copytree(archive / "w4-closed", tmp_path / "w4-closed")
    assert [cosmark.open(name, tmp_path).id for name in ("last", "last-0", "last-1")] == ["w4", "w4", "w1"]
    assert cosmark.open(tmp_path / "last-1").id == "w1"
    with pytest.raises(CosmarkError, match="no run last-2 in .*: fewer runs than that made load"):
        cosmark.open("last-2", tmp_path)
    shutil.rmtree(tmp_path / "w4-closed")
    assert cosmark.open("last", tmp_path).id == "w1"
    shutil.rmtree(tmp_path / "w3-cut")
    shutil.rmtree(tmp_path / "w1-closed")
    assert cosmark.open("last", tmp_path).id == "w2"


def test_a_run_that_names_its_archive_is_not_looked_for_in_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("old", "new"):
        for number in (1, 2):
            run = tmp_path / place / f"w{number}-{place}"
            run.mkdir(parents=True)
            record = {"schema": 1, "id": f"w{number}", "name": f"{place}{number}", "state": "finished"}
            stages = [{"id": "s1-main", "name": "main", "load_started": "2026-11-21T12:00:00Z"}]
            (run / "run.json").write_text(json.dumps({**record, "stages": stages}))
    monkeypatch.chdir(tmp_path)
    for given, name in (
        ("old/w1", "old1"), ("old/w1-old", "old1"), ("old/1", "old1"), ("old/last", "old2"), (tmp_path / "old" / "w2", "old2"),
        ("w1", "new1"), (2, "new2"), ("last", "new2"), ("last-1", "new1"), ("w1-new", "new1"),
    ):
        assert cosmark.open(given, archive="new").name == name, given
    with pytest.raises(CosmarkError, match="no run old/w3 in old"):
        cosmark.open("old/w3", archive="new")
    with pytest.raises(CosmarkError, match="is a file, and a run is a directory"):
        cosmark.open(__file__, archive="new")
    monkeypatch.chdir(tmp_path / "old")
    for given, name in (
        ("w1-old/run.json", "old1"), ("./w1-old", "old1"), ("./w1", "old1"), ("./last", "old2"), ("w1", "new1"), ("last", "new2"),
    ):
        assert cosmark.open(given, archive="../new").name == name, given
    monkeypatch.chdir(tmp_path / "old" / "w1-old")
    assert cosmark.open("run.json", archive="../../new").name == "old1"


def test_a_run_stays_the_same_where_the_working_directory_changes(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, own in (("here", "w1-closed"), ("there", "w3-closed")):
        shutil.copytree(archive / own, tmp_path / place / "archive" / "w1-closed")
    monkeypatch.chdir(tmp_path / "here")
    run, whole = cosmark.open("archive/w1"), cosmark.open(archive / "w1")
    monkeypatch.chdir(tmp_path / "there")
    assert run.intervals.to_dicts() == whole.intervals.to_dicts() and run.oplog()
    assert run.histogram("main", "read") == whole.histogram("main", "read")


def test_frames_have_the_bounds_that_were_published(archive: Path) -> None:
    # How many hold is the machine's; one that does is planted.
    planted = cosmark.open("w1", archive)
    planted.stages[0].operations[0].record["bounds"] = {
        "response_ms.p50": {"low": 1.5, "high": 2.5},
        "response_ms.p90": {"low": 3.5, "high": 4.5, "does_not_hold": "the client paused"},
    }
    row = planted.operations[0]
    assert (row["response_p50_low_ms"], row["response_p50_high_ms"]) == (1.5, 2.5)
    assert (row["response_p90_low_ms"], row["response_p90_high_ms"]) == (None, None)
    for run in cosmark.runs(archive):
        for row, one in zip(run.operations, (one for stage in run.stages for one in stage.operations)):
            for time in ("response", "service", "first_byte"):
                for name in ("mean", *PUBLISHED):
                    bound = (one.record.get("bounds") or {}).get(f"{time}_ms.{name}")
                    holds = bound and not bound.get("does_not_hold") and None not in (bound["low"], bound["high"])
                    wanted = (bound["low"], bound["high"]) if holds else (None, None)
                    assert (row[f"{time}_{name}_low_ms"], row[f"{time}_{name}_high_ms"]) == wanted, (run, one, time, name)


def test_what_clients_may_have_done_widens_the_interval_of_repetitions(archive: Path) -> None:
    run = cosmark.open("w1", archive)
    name = run.main[0]["operation"]
    number = itertools.count(100)

    def side(values, below, above=0.0):
        runs = []
        for value in values:
            one = cosmark.open("w1", archive)
            # A run of its own.
            one.path = archive / f"w{next(number)}-closed"
            for operation in (operation for stage in one.stages for operation in stage.main):
                operation.record["response_ms"]["p50"] = value
                operation.record["bounds"] = {"response_ms.p50": {"client": {"below": below, "above": above}}}
            runs.append(one)
        return runs

    def row(before, after):
        rows = [row for row in cosmark.compare(before, after, ["response_ms.p50"]) if row["operation"] == name]
        return rows[0]

    before = side([10.0, 10.1, 9.9], 0.0)
    assert row(before, side([12.0, 12.1, 11.9], 0.0))["differs"] is True
    assert row(before, side([12.0, 12.1, 11.9], 1.0))["differs"] is True
    open_ = row(before, side([12.0, 12.1, 11.9], 3.0))
    assert open_["differs"] is False and open_["low"] < 0 < open_["high"]
    without = row(before, side([12.0, 12.1, 11.9], None))
    assert without["differs"] is False and without["low"] is None
    assert row(side([10.0, 10.1, 9.9], None), side([12.0, 12.1, 11.9], 0.0))["differs"] is True


def test_parts_of_times_add_up_and_what_a_run_lacks_is_an_empty_table(archive: Path) -> None:
    parts = 0
    for run in cosmark.runs(archive):
        for row in run.time_parts:
            whole = sum(row[name] or 0.0 for name in run.time_parts.columns[5:])
            assert whole == pytest.approx(row["mean_ms"], rel=1e-3, abs=1e-3), row
            parts += 1
        assert len(run.consistency) == len(run.fio_jobs) == 0 and run.consistency.columns[0] == "stage"
        assert all(row["text"] for row in run.bottlenecks)
    assert parts >= 5


def test_looks_of_probers_and_jobs_of_fio_are_tables(tmp_path: Path, archive: Path) -> None:
    record = json.loads((cosmark.open("w1", archive).path / "run.json").read_text())
    looks = {"class": "read_after_create", "title": "reads", "looks": 25, "stale": 1, "missed_at_most": 0.2}
    other = {"classes": [{**looks, "looks": 3}]}
    record["stages"][0]["consistency"] = {"classes": [looks], "between_drivers": other}
    record["fio"] = {"jobs": [{"work": "hole", "depth": 8}]}
    place = tmp_path / "w1-x"
    place.mkdir()
    (place / "run.json").write_text(json.dumps(record))
    run = cosmark.open(place)
    assert run.consistency["seen_by"] == ["same_driver", "other_driver"] and run.consistency["looks"] == [25, 3]
    assert run.fio_jobs["depth"] == [8]
    record["stages"][0]["consistency"] = {"classes": [3]}
    (place / "run.json").write_text(json.dumps(record))
    with pytest.raises(CosmarkError, match="consistency.classes"):
        cosmark.open(place)


def test_an_overview_has_a_row_per_run_with_the_figures_of_its_fastest_stage(archive: Path, tmp_path: Path) -> None:
    table = cosmark.overview(archive)
    assert table["id"] == ["w1", "w2", "w3", "w4", "w5"] and set(table["state"]) == {"finished"}
    ladder = cosmark.open("w2", archive)
    fastest = max(ladder.stages, key=lambda stage: stage.throughput_per_s or 0.0)
    assert (table[1]["stage"], table[1]["throughput_per_s"]) == (fastest.name, fastest.throughput_per_s)
    demo = cosmark.open("w5", archive)
    p99 = [one.record["response_ms"]["p99"] for one in demo.stage("main").main]
    assert table[4]["response_p99_ms"] == max((value for value in p99 if value is not None), default=None)
    assert all(row["submitted"] <= row["ended"] for row in table)
    # What failed while a stage prepared or cleaned up has failed.
    record = json.loads((demo.path / "run.json").read_text())
    around = [one for stage in record["stages"] for one in stage["operations"] if one["op"] in ("init", "prepare", "cleanup")]
    around[0]["failures"] = 2
    (tmp_path / demo.path.name).mkdir()
    (tmp_path / demo.path.name / "run.json").write_text(json.dumps(record))
    assert cosmark.overview(tmp_path)["failures"] == [table[4]["failures"] + 2]


def test_pictures_are_there_as_the_guide_calls_them_and_load_matplotlib_only_when_drawn() -> None:
    # In a process of its own: here other tests have imported them.
    said = "import sys, cosmark; print(callable(cosmark.plot.study), 'matplotlib' in sys.modules)"
    source = str(Path(cosmark.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", said], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": source}, timeout=300
    )
    assert done.stdout.split() == ["True", "False"], done
