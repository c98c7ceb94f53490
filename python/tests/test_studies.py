"""A study is read as its report reads it, and what is no study says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

import pytest

import cosmark
from cosmark import CosmarkError


def test_every_cell_of_a_study_is_a_row_with_the_figures_of_its_run(study: Path) -> None:
    opened = cosmark.open_study(study)
    assert (opened.state, opened.done, opened.planned, opened.failed) == ("complete", 4, 4, 0)
    assert opened.factors == {"system": ["here"], "size": ["4KB", "64KB"], "workers": ["1", "4"]}
    assert len(opened.cells) == 8 and opened.cells.columns[:3] == ["system", "size", "workers"]
    compared = 0
    for row in opened.cells:
        run = opened.run(row["run"])
        one = run.operation(f"main-{row['workers']}", "write")
        assert row["operation"] == "write" and row["verdict"] in ("true", "true_with_limits", "not_proven", "false"), row
        for figure in ("throughput_per_s", "response_ms.mean", "response_ms.p50"):
            value: Any = one.record
            for part in figure.split("."):
                value = value[part]
            assert row[figure] == pytest.approx(value, rel=1e-12), (row, figure)
            compared += 1
    assert compared == 24
    assert opened.run("w1").name == opened.runs[0]["name"] or opened.run("w1").id == "w1"
    means = opened.means("throughput_per_s", "write")
    assert len(means) == 4 and all(row["repetitions"] == 2 and row["low"] <= row["mean"] <= row["high"] for row in means)
    for row in means:
        rates = opened.cells.where(size=row["size"], workers=row["workers"])["throughput_per_s"]
        assert len(rates) == 2 and row["mean"] == pytest.approx(sum(rates) / 2, rel=1e-9), (row, rates)
    assert [one["id"] for one in opened.claims] == ["S1"]
    assert {point["stage"] for point in opened.points} == {"main-1", "main-4"}
    assert "small quick, complete, 4 of 4 runs" in repr(opened) and "S1" in opened._repr_html_()


def test_a_study_is_drawn_over_a_factor(study: Path) -> None:
    pytest.importorskip("matplotlib")
    from cosmark import plot

    opened = cosmark.open_study(study)
    axes = plot.study(opened, "workers", lines="size", operation="write").axes[0]
    assert axes.get_xlabel() == "workers" and len(axes.get_legend().get_texts()) == 2
    with pytest.raises(CosmarkError, match="size varies beside workers"):
        plot.study(opened, "workers")
    with pytest.raises(CosmarkError, match="no factor colour; there are system, size, workers"):
        plot.study(opened, "colour")


def _program(directory: Path, monkeypatch: pytest.MonkeyPatch, said: str, code: int = 0) -> Path:
    """A directory of a study, and a program that says this of it."""
    (directory / "said").write_text(said)
    program = directory / "program"
    program.write_text(f"#!/bin/sh\ncat {directory}/said\necho trouble >&2\nexit {code}\n")
    program.chmod(0o755)
    monkeypatch.setenv("COSMARK_BIN", str(program))
    (directory / "journal.jsonl").write_text("{}\n")
    return directory


def _record(observations: List[Dict[str, Any]]) -> str:
    levels = [{"name": "system", "levels": ["a"]}, {"name": "run", "levels": ["1", "2"]}]
    return json.dumps([{"study": "x", "state": "stopped", "factors": levels, "observations": observations}])


def test_a_name_of_ours_and_figures_that_are_not_there_hide_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"operation": "read", "repetition": 1, "run": "w1-x", "verdict": "true", "values": {"throughput_per_s": 5.0}}
    lost = {"operation": "", "repetition": 2, "run": "w2-x", "verdict": "false", "values": {}, "is_readable": False}
    both = [{**own, "levels": {"system": "a", "run": "1"}}, {**lost, "levels": {"system": "a", "run": "2"}}]
    opened = cosmark.open_study(_program(tmp_path, monkeypatch, _record(both)))
    assert opened.cells["run_level"] == [1, 2] and opened.cells["run"] == ["w1-x", "w2-x"]
    assert opened.cells["throughput_per_s"] == [5.0, None]
    means = opened.means("throughput_per_s")
    assert [(row["mean"], row["low"], row["verdict"]) for row in means] == [(5.0, None, "true")]
    with pytest.raises(CosmarkError, match="nothing of x has the figure speed; there are throughput_per_s"):
        opened.means("speed")
    with pytest.raises(CosmarkError, match="nothing of x did write; there are read"):
        opened.means("throughput_per_s", "write")
    with pytest.raises(CosmarkError, match="no run w9"):
        opened.run("w9")


def test_a_figure_that_is_called_as_a_factor_leaves_that_its_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    levels = [{"name": "system", "levels": ["a"]}, {"name": "workers", "levels": ["4", "8"]}]
    values = {"throughput_per_s": 2.0, "workers": 3.5}
    own = {"operation": "read", "repetition": 1, "verdict": "true", "values": values}
    rows = [{**own, "levels": {"system": "a", "workers": name}} for name in ("4", "8")]
    said = json.dumps([{"study": "x", "state": "complete", "factors": levels, "observations": rows}])
    opened = cosmark.open_study(_program(tmp_path, monkeypatch, said))
    assert opened.cells["workers"] == [4, 8] and opened.cells["workers_measured"] == [3.5, 3.5]
    assert opened.figures == ["throughput_per_s", "workers_measured"]
    assert [row["mean"] for row in opened.means("workers_measured").where(workers=8)] == [3.5]


def test_equal_values_and_levels_that_begin_with_a_0_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    from cosmark import plot

    names = ["04", "16"]
    levels = [{"name": "system", "levels": ["a"]}, {"name": "size", "levels": names}]
    own = {"operation": "read", "verdict": "true", "values": {"throughput_per_s": 0.1}}
    rows = [{**own, "repetition": at, "levels": {"system": "a", "size": name}} for name in names for at in (1, 2, 3)]
    said = json.dumps([{"study": "x", "state": "complete", "factors": levels, "observations": rows}])
    opened = cosmark.open_study(_program(tmp_path, monkeypatch, said))
    assert opened.cells["size"] == ["04"] * 3 + ["16"] * 3
    axes = plot.study(opened, "size").axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == names


def test_whiskers_of_few_runs_that_differ_much_leave_the_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    from cosmark import plot

    levels = [{"name": "system", "levels": ["a"]}, {"name": "size", "levels": ["4KB", "64KB"]}]
    rows = [
        {"operation": "read", "repetition": at, "verdict": "true", "levels": {"system": "a", "size": size},
         "values": {"throughput_per_s": rate}}
        for size in ("4KB", "64KB") for at, rate in ((1, 1.0), (2, 3.0))
    ]
    said = json.dumps([{"study": "x", "state": "complete", "factors": levels, "observations": rows}])
    opened = cosmark.open_study(_program(tmp_path, monkeypatch, said))
    assert opened.means("throughput_per_s")[0]["high"] > 1000.0
    axes = plot.study(opened, "size").axes[0]
    assert axes.get_ylim() == (0.0, 5.0)


def test_what_the_program_says_is_utf_8_in_any_locale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = json.dumps([{"study": "x", "state": "stopped", "title": "Größe, µs"}], ensure_ascii=False)
    place = _program(tmp_path, monkeypatch, "")
    (place / "said").write_text(said, "utf-8")
    code = "import sys, cosmark; print(ascii(cosmark.open_study(sys.argv[1]).title))"
    source = str(Path(cosmark.__file__).resolve().parent.parent)
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": source}
    command = [sys.executable, "-c", code, str(place)]
    shown = subprocess.run(command, env={**os.environ, **plain}, capture_output=True, text=True)
    assert shown.stdout.strip() == ascii("Größe, µs"), shown.stderr


def test_what_is_no_study_or_cannot_be_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CosmarkError, match="it has no journal.jsonl"):
        cosmark.open_study(tmp_path)
    place = _program(tmp_path, monkeypatch, "", code=2)
    with pytest.raises(CosmarkError, match="trouble"):
        cosmark.open_study(place)
    for said, why in (
        ("not json", "is no JSON"),
        ("[]", "the program says nothing of it"),
        ("[3]", "the program says nothing of it"),
        (json.dumps([{"state": "unreadable", "reason": "line 1 is none"}]), "line 1 is none"),
    ):
        with pytest.raises(CosmarkError, match=why):
            cosmark.open_study(_program(tmp_path, monkeypatch, said))
    # Places that lead elsewhere are no runs.
    record = {"study": "x", "state": "stopped", "cells": [{"id": "a", "runs": [{"name": "n", "run": "../w1-x"}]}]}
    opened = cosmark.open_study(_program(tmp_path, monkeypatch, json.dumps([record])))
    with pytest.raises(CosmarkError, match="no run n"):
        opened.run("n")
