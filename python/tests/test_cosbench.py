"""Runs of COSBench are read as the program reads them: archives of its versions, and what damage is told."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import warnings
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import pytest

import cosmark
from cosmark import CosmarkError, cosbench, plot

KEPT = Path(__file__).parents[2] / "crates" / "archive" / "tests" / "cosbench-runs"

# Heads of builds before 0.3.3: of one line per operation of all stages, and of lines of stages without names.
COLUMNS = (
    "Op-Count,Byte-Count,Avg-ResTime,60%-ResTime,80%-ResTime,90%-ResTime,95%-ResTime,99%-ResTime,100%-ResTime,"
    "Throughput,Bandwidth,Succ-Ratio"
)
OLDER = (("Op-Type", "read"), ("Stage,Op-Type", "s1,read"))


def _kept(home: Path, *names: str) -> Path:
    """An archive with these runs, which a test may damage."""
    home.mkdir()
    for name in names or ("w3-mock-full", "run-history.csv", "workloads.csv"):
        (shutil.copytree if (KEPT / name).is_dir() else shutil.copy)(KEPT / name, home / name)
    return home


def _program(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [os.environ["COSMARK_BIN"], *map(str, arguments)]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=300)


def _change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text, f"{file} has {old}"
    file.write_text(text.replace(old, new, 1))


def _refused(path: Path) -> str:
    with pytest.raises(CosmarkError) as error:
        cosmark.open(path)
    return str(error.value)


def _as_before_0_4(text: str) -> str:
    """A table as COSBench 0.3.3 writes it: without the mean time to about the first byte."""
    head = text.splitlines()[0].split(",")
    if "Avg-ProcTime" not in head:
        return text
    at = head.index("Avg-ProcTime")
    # A timeline has a column of each operation.
    end = next((n for n in range(at + 1, len(head)) if head[n]), len(head))
    cells = (line.split(",") for line in text.splitlines())
    return "".join(",".join(line[:at] + line[end:]) + "\n" for line in cells)


def _with_commas(text: str) -> str:
    """Numbers as a locale with decimal commas writes them, quoted as little as everything else."""

    def cell(text: str) -> str:
        digits = text.rstrip("%").replace(".", "", 1)
        return text.replace(".", ",") if digits.isdigit() else text

    return "".join(",".join(map(cell, line.split(","))) + "\n" for line in text.splitlines())


def _figures(run: cosmark.Run, without: Tuple[str, ...] = ()) -> List[Dict[str, Any]]:
    return [{key: value for key, value in row.items() if key not in without} for row in run.operations]


def _as_before_0_4_with_commas(text: str) -> str:
    return _with_commas(_as_before_0_4(text))


@pytest.mark.parametrize("written", [_as_before_0_4, _as_before_0_4_with_commas], ids=["points", "commas"])
def test_runs_of_0_3_3_have_all_but_the_time_that_it_does_not_measure(
    written: Callable[[str], str], tmp_path: Path
) -> None:
    new = cosmark.open("w3", KEPT)
    home = _kept(tmp_path / "archive")
    for file in home.rglob("*.csv"):
        file.write_text(written(file.read_text()))
    old = cosmark.open("w3", home)
    assert (old.made_by, new.made_by) == ("COSBench 0.3.3", "COSBench 0.4.2") and "of COSBench 0.3.3" in repr(old)
    assert _figures(old, ("first_byte_mean_ms",)) == _figures(new, ("first_byte_mean_ms",))
    assert set(old.operations["first_byte_mean_ms"]) == {None} != set(new.operations["first_byte_mean_ms"])
    assert old.operations.columns == new.operations.columns and old.operations["workers"][2] == 8
    for stage in old.stages:
        for one in stage.operations:
            series = old._series(one)
            expected = new._series(new.operation(stage.id, one.tag))
            assert series.columns == expected.columns
            assert list(series) == [{**row, "first_byte_mean_ms": None} for row in expected]
    assert plot.timeline(old, "main", metric="response_mean_ms").axes
    with pytest.raises(CosmarkError, match="COSBench 0.3.3, whose timeline of main does not say first_byte_mean_ms"):
        plot.timeline(old, "main", metric="first_byte_mean_ms")
    assert [row["change"] for row in cosmark.compare(new, old)] and len(cosmark.runs(home)) == 1


@pytest.mark.parametrize("head,row", OLDER, ids=["operations", "stages"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
def test_runs_before_0_3_3_are_refused_by_their_version_in_the_words_of_the_program(
    head: str, row: str, end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = _kept(tmp_path / "archive", "w3-mock-full")
    place = home / "w5-old"
    place.mkdir()
    mark = "\ufeff" if end == "\r\n" else ""
    lines = (f"{mark}{head},{COLUMNS}", f"{row},10,40,1.5,10,10,10,10,10,10,2,8,100%", "")
    (place / "w5-old.csv").write_bytes(end.join(lines).encode())
    said = _refused(place)
    assert "COSBench before 0.3.3" in said and "`cosmark run` takes the workload-config.xml" in said
    assert "\n" not in said and said.startswith(str(place / "w5-old.csv"))
    assert _program("show", place).stderr.strip() == f"cosmark: {said}"
    with pytest.raises(CosmarkError, match="before 0.3.3"):
        cosmark.open("last", home)
    with pytest.warns(UserWarning, match="before 0.3.3"):
        assert [run.id for run in cosmark.runs(home)] == ["w3"]
    # Nobody installs the program to be told that it cannot read it either.
    monkeypatch.setenv("COSMARK_BIN", str(tmp_path / "none"))
    assert _refused(place) == said
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert cosmark.runs(home) == []
    assert [str(one.message) for one in told][0] == said and "one run of COSBench is left out" in str(told[1].message)


def test_the_tables_of_c4_are_told_from_stages_and_its_drivers_are_parts(tmp_path: Path) -> None:
    home = _kept(tmp_path / "archive", "w3-mock-full", "w7-c4")
    run = cosmark.open("w7", home)
    assert (run.made_by, run.id, run.state) == ("COSBench 0.4.2.c4", "w7", "finished")
    read = run.stage("8KB, 4 workers").operation("read")
    assert (len(run.stages), read.count, read.failures, read.throughput_per_s) == (1, 120, 1, 12.5)
    # A percentile beyond all buckets and a rate over no time are numbers that nobody knows.
    assert run.operations[0]["response_p99_ms"] is None and read.bandwidth_bytes_per_s is None
    assert run.operations[0]["response_max_ms"] == 501220.0
    first = run.series("8KB, 4 workers", "read")[0]
    assert first["count"] > 0 and first["throughput_per_s"] is None
    # One driver has no part of its own; of two, what adds up to the results is theirs.
    assert len(run.parts) == 0
    place = home / "w3-mock-full"
    head = "Op-Type,Sample-Type,Op-Count,Byte-Count,Avg-ResTime,Avg-ProcTime,Throughput,Bandwidth,Succ-Ratio\n"
    task = "prepare,prepare,100,400000,1.5,N/A,12.25,100,100%\n"
    for driver in ("10.0.0.1:18088", "rack 2, node b"):
        (place / f"{driver}.csv").write_text(f"{head}init,init,0,0,N/A,N/A,0,0,N/A\n{task}")
    run = cosmark.open("w3", home)
    parts = run.parts.where(by="driver")
    assert run.made_by == "COSBench 0.4.2.c4" and parts["part"] == ["10.0.0.1:18088", "rack 2, node b"]
    assert parts["stage"] == ["s2-prepare"] * 2 and parts["count"] == [100, 100]
    assert parts["response_mean_ms"] == [1.5, 1.5] and parts["first_byte_mean_ms"] == [None, None]
    (place / "rack 2, node b.csv").write_text(f"{head}prepare,prepare,1\n")
    run = cosmark.open("w3", home)
    assert len(run.parts) == 0 and run.operation("prepare", "prepare-write").count == 200


#: A file, what of it becomes what, and what is said.
RESULTS = (
    ("48940,195760000,1.06", "48940,195760000,abc", "w3-mock-full.csv: line 4: `abc` is not a number"),
    ("48940,195760000,1.06", "48940,195760000,1,06", "w3-mock-full.csv: line 4: 18 cells instead of 17"),
    ("s3-main,read,", "main,read,", "line 4: `main` is not the id of a stage"),
    (
        "100%,completed,waiting @ 2026-11-21 18:53:50,booting @ 2026-11-21 18:53:58", "\n",
        "line 3: 16 cells instead of 17",
    ),
    ("48940,195760000", "48940,72057594037927937", "line 4: `72057594037927937` is not a count"),
)
TIMELINES = (
    ("11725,", "-1,", "s3-main.csv: line 4: `-1` is not a count"),
    ("100%,1,1,1", "100%,1,1", "s3-main.csv: line 4: 31 fields instead of 32"),
    ("Timestamp", "Time", "s3-main.csv: line 1: not the header of a timeline"),
)


def test_damaged_results_are_told_with_their_file_and_line(tmp_path: Path) -> None:
    home = _kept(tmp_path / "archive")
    table = home / "w3-mock-full" / "w3-mock-full.csv"
    whole = table.read_bytes()
    for old, new, expected in RESULTS:
        _change(table, old, new)
        said = _refused(table.parent)
        assert expected in said and "\n" not in said and not said.startswith("cosmark:"), said
        assert _program("show", table.parent).stderr.strip() == f"cosmark: {said}"
        with pytest.warns(UserWarning, match="w3-mock-full.csv: line"):
            assert cosmark.runs(home) == []
        table.write_bytes(whole)


def test_a_damaged_timeline_costs_no_result_and_is_told_by_whoever_asks_for_it(tmp_path: Path) -> None:
    home = _kept(tmp_path / "archive")
    expected = cosmark.open("w3", home)
    timeline = home / "w3-mock-full" / "s3-main.csv"
    whole = timeline.read_bytes()
    for old, new, said in TIMELINES:
        _change(timeline, old, new)
        run = cosmark.open("w3", home)
        assert _figures(run) == _figures(expected) and run.state == "finished" and len(cosmark.runs(home)) == 1
        for ask in (lambda: run.series("main", "read"), lambda: plot.timeline(run, "main")):
            with pytest.raises(CosmarkError) as error:
                ask()
            assert said in str(error.value) and "restore the file from a copy" in str(error.value)
        # Once it is restored it is read, without opening the run again.
        timeline.write_bytes(whole)
        assert list(run.series("main", "read")) == list(expected.series("main", "read"))
    # The histogram in buckets of 10 ms is drawn by the program, and not read here.
    (home / "w3-mock-full" / "w3-mock-full-rt-histogram.csv").write_text("ResTime,\n20~10,\n")
    assert _figures(cosmark.open("w3", home)) == _figures(expected)


def test_tables_that_were_cut_are_read_or_refused_as_by_the_program(tmp_path: Path) -> None:
    home = _kept(tmp_path / "archive")
    table = home / "w3-mock-full" / "w3-mock-full.csv"
    whole = table.read_bytes()
    ends = [at for at, byte in enumerate(whole) if byte == ord("\n")]
    counts = set()
    for length in (0, 3, 20, 60, ends[0], ends[0] + 1, ends[1] - 1, ends[3] + 40, ends[4], ends[4] + 1, ends[6] - 30):
        table.write_bytes(whole[:length])
        done = _program("show", table.parent, "--json")
        if done.returncode == 0:
            run = cosmark.open("w3", home)
            assert [stage.record for stage in run.stages] == json.loads(done.stdout)["stages"], length
            counts.add(len(run.operations))
            continue
        said = _refused(table.parent)
        is_lost = not cosbench.is_at(table.parent)
        lost = "nor a table of results of COSBench"
        assert said == done.stderr.strip()[len("cosmark: ") :] or (is_lost and lost in said), (length, said)
        assert is_lost == ("no files of COSBench" in done.stderr), length
    assert counts == {0, 1, 4, 6}
    # Of a timeline a last line without its end is left out.
    table.write_bytes(whole)
    timeline = home / "w3-mock-full" / "s3-main.csv"
    rows = len(cosmark.open("w3", home).series("main", "read"))
    timeline.write_bytes(timeline.read_bytes()[:-10])
    assert len(cosmark.open("w3", home).series("main", "read")) == rows - 1


def test_names_and_numbers_in_the_encoding_of_another_machine_are_read(tmp_path: Path) -> None:
    home = _kept(tmp_path / "archive")
    place = home / "w3-mock-full"
    table = place / "w3-mock-full.csv"
    expected = cosmark.open("w3", home)
    whole = table.read_bytes()
    table.write_bytes(whole.decode().replace("delete", "l\xf6schen").encode("latin-1"))
    (place / "workload-config.xml").write_bytes(b'<workload name="m\xe4in\x9b"/>')
    run = cosmark.open("w3", home)
    assert [one.name for one in run.stage("main").operations] == ["read", "write", "l\xf6schen", "list"]
    assert run.operation("main", "l\xf6schen").count == expected.operation("main", "delete").count
    # What commands a terminal is no part of a name, and bytes that are no text end nothing.
    for strange in (b"\x1b[31m", b"\x00", b"\x9b", b"\xff\xfe", b"\xe2\x80\xae"):
        table.write_bytes(whole.replace(b"s3-main,read,", b"s3-main,re" + strange + b"ad,"))
        name = cosmark.open("w3", home).stage("main").operations[0].name
        assert name.startswith("re") and name.endswith("ad"), (strange, name)
        assert not set(name) & set("\x1b\x00\x9b\u202e"), (strange, name)
    # The sign of a rate that the machine's locale could not write.
    table.write_bytes(whole.replace(b"4078.67", b"?"))
    assert cosmark.open("w3", home).operation("main", "read").throughput_per_s is None
    # What other machines put around the same figures.
    for change in (lambda text: text.replace("\n", "\r\n"), lambda text: f"\ufeff{text}", _with_commas):
        table.write_bytes(change(whole.decode()).encode())
        assert _figures(cosmark.open("w3", home)) == _figures(expected)


def test_what_is_not_there_is_not_known_and_a_lost_table_of_results_is_told(tmp_path: Path) -> None:
    home = _kept(tmp_path / "archive")
    place = home / "w3-mock-full"
    whole = cosmark.open("w3", home)
    for gone in ("s3-main.csv", "workload-config.xml", "w3-mock-full-rt-histogram.csv"):
        (place / gone).unlink()
    run = cosmark.open("w3", home)
    assert len(run.series("main", "read")) == 0 < len(run.series("two", "write"))
    assert _figures(run) == _figures(whole) and run.submitted == whole.submitted is not None
    with pytest.raises(CosmarkError, match="nothing of it was recorded over time"):
        plot.timeline(run, "main")
    for gone in ("run-history.csv", "workloads.csv"):
        (home / gone).unlink()
    run = cosmark.open("w3", home)
    assert (run.state, run.submitted, run.stage("main").started) == ("finished", None, whole.stage("main").started)
    assert _figures(run, ("workers",)) == _figures(whole, ("workers",))
    (place / "w3-mock-full.csv").unlink()
    (place / "w3-mock-full-rt-histogram.csv").write_text("ResTime,\n")
    # A table of its own is none of the runs of an archive.
    assert _refused(place).endswith("has no run.json, nor a table of results of COSBench")
    # What was cut off as it began is no run, and nothing that anybody lost.
    (home / "w4-begun").mkdir()
    (home / "w4-begun" / "clients.csv").write_text("driver\n")
    with pytest.warns(UserWarning) as told:
        assert cosmark.runs(home) == []
    assert len(told) == 1 and "w3-mock-full has no run.json" in str(told[0].message)
    # A record of ours beside it, readable or not, makes it none of COSBench's.
    shutil.copy(KEPT / "w3-mock-full" / "w3-mock-full.csv", place)
    assert cosbench.is_at(place)
    (place / "run.json").symlink_to("nowhere")
    assert not cosbench.is_at(place) and "run.json" in _refused(place)
    with pytest.warns(UserWarning, match="a link, or no regular file"):
        assert cosmark.runs(home) == []


def test_a_result_table_is_what_the_program_takes_for_one(tmp_path: Path) -> None:
    text = (KEPT / "w3-mock-full" / "w3-mock-full.csv").read_text()
    head, _, rest = text.partition("\n")
    heads: Dict[str, Optional[str]] = {
        "w1-plain/w1-plain.csv": head,
        "w2-mark/w2-mark.csv": f"\ufeff{head}",
        "w3-fork/w3-fork.csv": head.replace("Stage,", "Stage,Interval,Op-Id,"),
        "w4-renamed/w9-other.csv": head,
        "w5-lead/w5-lead.csv": head.replace("Stage,", "Driver-Name,Stage,"),
        "w6-short/w6-short.csv": "Stage,Op-Name",
        "w7-none/w7-none.csv": head.replace("Stage,", ""),
        "w8-space/w8-space.csv": head.replace("Stage,", " Stage,"),
        "w9-far/w9-far.csv": "x" * 300 + f",{head}",
        "w10-name/results.csv": head,
        "w11-digits/w\u0663-x.csv": head,
        "w12-large/w9007199254740992-x.csv": head,
        "w13-ending/w13-ending.csv.old": head,
        "w14-order/w14-order.csv": head.replace("Op-Type,Op-Count", "Op-Count,Op-Type"),
        "w15-older/w15-older.csv": f"Op-Type,{COLUMNS}",
        "w16-link/w16-link.csv": None,
        "w17-quoted/w17-quoted.csv": '"' + head.replace(",", '","') + '"',
    }
    for name, first in heads.items():
        file = tmp_path / name
        file.parent.mkdir()
        if first is None:
            file.symlink_to(tmp_path / "w1-plain" / "w1-plain.csv")
        else:
            file.write_text(f"{first}\n{rest}")
    listed = json.loads(_program("list", "--archive", tmp_path, "--json").stdout)
    runs = listed if isinstance(listed, list) else listed["runs"]
    program = {Path(one["path"]).name for one in runs if "neither run.json nor" not in str(one["error"])}
    places = {name.partition("/")[0] for name in heads}
    assert {place for place in places if cosbench.is_at(tmp_path / place)} == program
    found = ("1-plain", "2-mark", "3-fork", "4-renamed", "5-lead", "15-older", "17-quoted")
    assert program == {f"w{name}" for name in found}


def test_a_run_of_cosbench_that_never_made_load_is_not_the_last_one(tmp_path: Path) -> None:
    home = _kept(tmp_path / "archive", "w3-mock-full", "w2-delay-test")
    place = home / "w5-login"
    place.mkdir()
    head = (KEPT / "w3-mock-full" / "w3-mock-full.csv").read_text().partition("\n")[0]
    at = "@ 2026-11-21 18:53:50"
    states = f"terminated,waiting {at},booting {at},terminated {at}"
    (place / "w5-login.csv").write_text(f"{head}\ninit{',N/A' * 15},{states}\n")
    assert cosmark.open("w5", home).state == "terminated"
    assert cosmark.open("last", home).id == "w3" and cosmark.open("last-1", home).id == "w2"
    # One that cannot be read made load, as far as anybody knows.
    (place / "w5-login.csv").write_text(f"{head}\ninit\n")
    with pytest.raises(CosmarkError, match="w5-login.csv: line 2: 1 cells instead of 17"):
        cosmark.open("last", home)


def test_a_number_that_two_runs_have_opens_neither_of_them(tmp_path: Path) -> None:
    home = _kept(tmp_path / "archive", "w3-mock-full", "w2-delay-test")
    # A folder without a run takes nothing from one that has.
    (home / "w3-empty").mkdir()
    assert cosmark.open(3, home).name == "mock-full"
    # COSBench begins again at 1 where its .meta is gone.
    shutil.copytree(home / "w3-mock-full", home / "w3-again")
    for number in (3, "w3", "3", home / "w3"):
        with pytest.raises(CosmarkError, match="2 runs in .*: w3-again, w3-mock-full; give the name of one of these"):
            cosmark.open(number, home)
    assert cosmark.open("w3-mock-full", home).id == "w3" and cosmark.open("w2", home).id == "w2"


def test_a_directory_in_another_encoding_is_opened_by_its_number_and_as_it_is_shown(tmp_path: Path) -> None:
    home = _kept(tmp_path / "archive", "w3-mock-full")
    latin = os.fsencode(home) + b"/w3-pr\xfcfung"
    os.rename(os.fsencode(home / "w3-mock-full"), latin)
    for given in (3, "last", "w3-prüfung", home / "w3-prüfung"):
        run = cosmark.open(given, home)
        assert os.fsencode(run.path) == latin and run.id == "w3" and run.stages
    assert [run.id for run in cosmark.runs(home)] == ["w3"]


def test_failures_and_times_of_day_are_worked_out_as_by_the_program() -> None:
    row = {"count": 2, "success_ratio": 0.8}
    assert cosbench.series([{"time": "10:00:00", "operations": [row]}], 0)[0]["failures"] == 1, "a half goes up"
    for times, width_s in (
        (("9:59:57", "10:0:0"), 3.0), (("10:00:00", "10:00:99"), 5.0), (("24:00:00", "24:00:03"), 5.0),
        (("10:00:00", "10:00:0\u0663"), 5.0), (("10:00", "10:03"), 5.0), (("10:00:00:00", "10:00:03:00"), 5.0),
    ):
        timeline = [{"time": time, "operations": [row]} for time in times]
        assert cosbench.series(timeline, 0)[0]["end_s"] == width_s, times
