"""What somebody wrote into an archive is text: to a terminal, to a spreadsheet, and to who reads it again."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import cosmark
from cosmark import CosmarkError
from cosmark.table import Table

#: It turns a terminal red, sets its title, and turns the direction of the rest.
HOSTILE = "a\x1b[31mred\x1b]0;title\x07\u202eb\x9b2J\nc"


def _archive(directory: Path, name: str) -> Path:
    """A run with one operation of this name, and its intervals as the program writes them."""
    run = directory / "w1-x"
    run.mkdir()
    operation = {"name": name, "op": "read", "work": "main", "tag": f"{name}.read", "id": "op1", "count": 3}
    stage = {"id": "s1-main", "name": "main", "state": "completed", "operations": [operation]}
    record = {"schema": 1, "id": "w1", "name": name, "state": "finished", "stages": [stage]}
    (run / "run.json").write_text(json.dumps(record), "utf-8")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["stage", "tag", "phase", "start_s", "end_s", "count", "failures"])
    tag = f"{name}.read"
    written = f"'{tag}" if tag.lstrip("'").startswith(("=", "+", "-", "@")) else tag
    writer.writerow(["s1-main", written, "window", 0, 1, 3, 0])
    (run / "intervals.csv").write_bytes(out.getvalue().encode("utf-8"))
    return run


@pytest.mark.parametrize("name", ["=1+1", "@x", "-2+3x", "'=a", "plain", "'quoted'"])
def test_a_name_is_found_again_however_tables_have_to_spell_it(tmp_path: Path, name: str) -> None:
    run = cosmark.open(_archive(tmp_path, name))
    assert run.intervals["tag"] == [f"{name}.read"]
    assert [row["count"] for row in run.series("main", name, quantiles=())] == [3]


@pytest.mark.parametrize(
    ("cell", "written"),
    [("=1+1", "'=1+1"), ("@SUM(A1)", "'@SUM(A1)"), ("'=a", "''=a"), ("-5", "-5"), ("+1e3", "+1e3"), ("a=b", "a=b"), (-5, "-5")],
)
def test_no_text_of_a_table_is_a_formula_to_a_spreadsheet(cell: object, written: str) -> None:
    rows = list(csv.reader(io.StringIO(Table([{"=x": cell}]).to_csv())))
    assert rows == [["'=x"], [written]]


def test_nothing_that_is_printed_commands_a_terminal(tmp_path: Path) -> None:
    run = cosmark.open(_archive(tmp_path, HOSTILE))
    said = [repr(run), repr(run.stages[0]), repr(run.stages[0].operations[0]), repr(run.operations), str(run.verdict)]
    with pytest.raises(CosmarkError) as caught:
        run.operation("main", HOSTILE + "x")
    said.append(str(caught.value))
    said.append(repr(run.intervals))
    for text in said:
        assert all(sign.isprintable() or sign == "\n" for sign in text), text
    # A name does not break the rows of a table: names of columns, one row, and how many columns are left out.
    assert len(repr(run.operations).splitlines()) == 3, repr(run.operations)
    assert len(repr(run.intervals).splitlines()) == 2, repr(run.intervals)
