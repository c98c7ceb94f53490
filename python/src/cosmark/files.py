"""Files of archives, which anybody may have packed."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import BinaryIO


def open_file(path: Path) -> BinaryIO:
    """Opens a file to read. A pipe would be waited for, a device has no end: both are refused, also behind a link.

    Raises OSError as ``open`` does.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "no regular file", os.fspath(path))
    return path.open("rb")


def read_text(path: Path) -> str:
    """The text of a file, UTF-8; line ends are as they are on the disk, but for ``\\r\\n``.

    Raises OSError, and UnicodeDecodeError for what is no text.
    """
    with open_file(path) as file:
        return file.read().decode("utf-8").replace("\r\n", "\n")
