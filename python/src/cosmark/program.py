"""The program ``cosmark`` itself: where it is, and a run of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Mapping, Optional, Sequence, Union

from .errors import CosmarkError
from .results import Run, find

_OWN = Path(__file__).parent / "bin" / "cosmark"


def binary() -> Path:
    """The program: that of this package (wheels for one platform carry it), else ``COSMARK_BIN``, else that on the PATH."""
    if _OWN.is_file():
        return _OWN
    named = os.environ.get("COSMARK_BIN")
    if named:
        if not os.access(named, os.X_OK):
            raise CosmarkError(f"COSMARK_BIN names {named}, which is no program")
        return Path(named)
    for directory in os.get_exec_path():
        found = shutil.which("cosmark", path=directory)
        # The entry that this package itself puts there starts this package.
        if found and not _is_script(found):
            return Path(found)
    raise CosmarkError("the program cosmark is not there: put it on the PATH, or name it in COSMARK_BIN")


def _is_script(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def run(
    workload: Union[str, "os.PathLike[str]"],
    archive: Union[str, "os.PathLike[str]"] = "archive",
    target: Union[str, "os.PathLike[str]", None] = None,
    fields: Optional[Mapping[str, object]] = None,
    options: Sequence[str] = (),
    timeout_s: Optional[float] = None,
) -> Run:
    """Runs a workload, a file or its text, with the program, and opens the result.

    ``fields`` changes fields of the workload (``{"main.workers": 16}``), ``options`` are given to ``cosmark run`` as they stand. A run that
    failed is opened, too, as long as it has an archive: look at ``state`` and ``reason``.
    """
    text = os.fspath(workload)
    with tempfile.TemporaryDirectory() as directory:
        if "\n" in text:
            file = Path(directory) / "workload.yaml"
            file.write_text(text, "utf-8")
        else:
            file = Path(text)
        command = [str(binary()), "run", str(file), "--archive", str(archive), "--quiet", "--no-report"]
        command += ["--target", os.fspath(target)] if target is not None else []
        for key, value in (fields or {}).items():
            command += ["--set", f"{key}={value}"]
        try:
            done = subprocess.run(
                [*command, *options], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s
            )
        except subprocess.TimeoutExpired:
            raise CosmarkError(f"the run took longer than {timeout_s} s and was ended") from None
    where = next((line[9:] for line in done.stdout.splitlines() if line.startswith("archive: ")), None)
    if where is None:
        raise CosmarkError(f"cosmark run ended with exit code {done.returncode}: {done.stderr.strip()}")
    return Run(find(where))
