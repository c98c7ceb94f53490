"""Run one of Swift's servers or daemons with its swift.conf in another place than /etc/swift.

    python run_server.py SWIFT_CONF PROGRAM ARGS...

Swift takes the path of swift.conf from a constant, and reads constraints and storage policies from it at import.
"""

import contextlib
import os
import runpy
import sys

import swift.common.utils

swift.common.utils.SWIFT_CONF_FILE = sys.argv[1]

from swift.common import constraints, storage_policy  # noqa: E402 (after the constant is set)

constraints.reload_constraints()
storage_policy.reload_storage_policies()

sys.argv = sys.argv[2:]
# The name that the kernel knows the process by, as if the program had been started by itself.
with contextlib.suppress(OSError), open("/proc/self/comm", "w") as name:
    name.write(os.path.basename(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
