"""``python -m cosmark`` and the entry ``cosmark``: starts the program with the same arguments."""

from __future__ import annotations

import os
import sys

from .errors import CosmarkError
from .program import binary


def main() -> None:
    """Becomes the program."""
    try:
        program = str(binary())
    except CosmarkError as cause:
        sys.exit(f"cosmark: {cause}")
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
