"""Runs of COSBench: the program ``cosmark`` reads their tables, and this module asks it what they say."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from .errors import CosmarkError
from .files import open_file


def is_at(path: Path) -> bool:
    """Whether a directory holds the result table of a run of COSBench, and no run of ours."""
    try:
        files = os.listdir(path)
    except OSError:
        return False
    return "run.json" not in files and any(
        re.match(r"w\d+-.*\.csv$", name) and _begins_as_results(path / name) for name in files
    )


def _begins_as_results(file: Path) -> bool:
    try:
        with open_file(file) as table:
            return table.read(9) == b"Stage,Op-"
    except OSError:
        return False


def record_text(path: Path) -> str:
    """What its ``run.json`` would be."""
    from .program import binary

    try:
        command = [str(binary()), "export", str(path), "--format", "json"]
        # UTF-8 in whatever locale this is.
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace")
    except (CosmarkError, OSError) as cause:
        raise CosmarkError(f"{path} is a run of COSBench, which the program reads: {cause}") from None
    if done.returncode != 0:
        raise CosmarkError(done.stderr.strip() or f"cosmark export of {path} ended with exit code {done.returncode}")
    return done.stdout
