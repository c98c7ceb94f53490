"""Exchange two paths in one step: python exchange.py PATH PATH

A device that "fails" must be there for one request and gone for the next. Two renames would leave a moment in which
a server can make the missing directory anew. Source: renameat2(2), RENAME_EXCHANGE.
"""

import ctypes
import os
import sys

AT_FDCWD, RENAME_EXCHANGE = -100, 2
libc = ctypes.CDLL(None, use_errno=True)
first, second = (os.fsencode(path) for path in sys.argv[1:])
if libc.renameat2(AT_FDCWD, first, AT_FDCWD, second, RENAME_EXCHANGE) != 0:
    sys.exit(f"cannot exchange {first!r} and {second!r}: {os.strerror(ctypes.get_errno())}")
