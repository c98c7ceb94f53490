"""The program ``cosmark`` itself: where it is, and a run of it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Mapping, Optional, Sequence, Tuple, Union

from .errors import CosmarkError
from .results import Run, find

_OWN = Path(__file__).parent / "bin" / "cosmark"


def binary() -> Path:
    """The program: that of this package (wheels for one platform carry it), else ``COSMARK_BIN``, else that on the PATH."""
    if _OWN.is_file():
        return _OWN
    named = os.environ.get("COSMARK_BIN")
    if named:
        if not (os.path.isfile(named) and os.access(named, os.X_OK)):
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
    failed is opened, too, as long as it has an archive: look at ``state`` and ``reason``. A run that takes longer than
    ``timeout_s``, and one that Ctrl-C (in a notebook: Interrupt) ends, is ended as Ctrl-C ends it in a shell: it writes its results
    and cleans up, and the error names its archive.
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
            command += ["--set", f"{key}={_spelt(value)}"]
        ended, interrupted = "", False
        with _started([*command, *options]) as process:
            try:
                output, said = process.communicate(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                ended = f"the run took longer than {timeout_s} s and was ended"
                output, said = _end(process)
            except KeyboardInterrupt:
                ended, interrupted = "the run was ended by Ctrl-C", True
                # A second one would cut what is in flight: the program may have had the first from the terminal.
                output, said = _end(process, already_s=10.0 if _has_the_keys() else 0.0)
    where = next((line[9:] for line in output.splitlines() if line.startswith("archive: ")), None)
    if ended:
        left = f"; what it measured is in {where}" if where else f"; it left nothing in {archive}: {said.strip()}"
        raise (KeyboardInterrupt if interrupted else CosmarkError)(ended + left)
    if where is None:
        raise CosmarkError(f"cosmark run ended with exit code {process.returncode}: {said.strip()}")
    return Run(find(where))


def _spelt(value: object) -> str:
    """A value as workloads spell it: ``false``, and not ``False``."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _started(command: Sequence[str]) -> "subprocess.Popen[str]":
    try:
        # It names its archive, in whatever signs this system's names have.
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            encoding=sys.getfilesystemencoding(), errors=sys.getfilesystemencodeerrors(),
        )
    except OSError as cause:
        raise CosmarkError(f"{command[0]} cannot be started: {cause.strerror}") from None


def _end(process: "subprocess.Popen[str]", already_s: float = 0.0) -> Tuple[str, str]:
    """What the program prints when it is asked to end: once, so that it can finish its archive, then at once, then by force.

    It is asked after ``already_s`` seconds, where somebody else may have done so.
    """
    for asks, grace_s in ((False, already_s), (True, 60.0), (True, 10.0)):
        if asks:
            process.send_signal(signal.SIGINT)
        try:
            return process.communicate(timeout=grace_s)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            continue
    process.kill()
    return process.communicate()


def _has_the_keys() -> bool:
    """Whether Ctrl-C of a terminal goes to this process and its children; the kernel of a notebook gets its own alone."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
