"""Files of archives, which anybody may have packed."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import BinaryIO, Optional

#: No archive comes to so many runs, as the program has it.
_MOST_NUMBER = 1 << 53


def open_file(path: Path) -> BinaryIO:
    """Opens a file to read. A pipe would be waited for, a device has no end, a link leads anywhere: all are refused.

    Raises OSError as ``open`` does.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise OSError(errno.EINVAL, "a link, or no regular file", os.fspath(path))
    return path.open("rb")


def is_run_directory(path: Path) -> bool:
    """True for a directory that is no link: an archive from elsewhere could call any directory one of its runs."""
    return path.is_dir() and not path.is_symlink()


def number_of(directory: str) -> Optional[int]:
    """12 of ``w12-name``."""
    found = re.match(r"w([0-9]+)-", directory)
    number = int(found.group(1)) if found else _MOST_NUMBER
    return number if number < _MOST_NUMBER else None


def as_text(name: str) -> str:
    """The name of a file as it is shown: what is no UTF-8 is taken for ISO 8859-1, as by the program."""
    try:
        raw = os.fsencode(name)
    except UnicodeEncodeError:
        return name
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return re.sub("[\x80-\x9f]", "\ufffd", raw.decode("latin-1"))


def read_text(path: Path) -> str:
    """The text of a file, UTF-8; line ends are as they are on the disk, but for ``\\r\\n``.

    Raises OSError, and UnicodeDecodeError for what is no text.
    """
    with open_file(path) as file:
        return file.read().decode("utf-8").replace("\r\n", "\n")
