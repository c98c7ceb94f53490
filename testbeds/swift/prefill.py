"""Add rows without objects to the databases of a container, the same rows in every copy.

    python prefill.py SWIFT_CONF DEVICES ACCOUNT CONTAINER ROWS

DEVICES is the folder that holds a folder for each node, as in swift's ring: DEVICES/<node>/<device>. The names are those that
swift-bench gives: 128 random bits in hexadecimal digits, here of the container's name and the row's number.
"""

import contextlib
import hashlib
import os
import pathlib
import sqlite3
import sys
import time

import swift.common.utils

swift.common.utils.SWIFT_CONF_FILE = sys.argv[1]

from swift.common import constraints, storage_policy  # noqa: E402 (after the constant is set)

constraints.reload_constraints()
storage_policy.reload_storage_policies()

from swift.common.exceptions import LockTimeout  # noqa: E402
from swift.common.ring import Ring  # noqa: E402
from swift.common.utils import Timestamp, hash_path, storage_directory  # noqa: E402
from swift.container.backend import DATADIR, ContainerBroker  # noqa: E402

BATCH = 10_000
# Swift's own servers and daemons use the database at the same time.
PATIENCE_S = 180
# The same in every copy, so that replication finds nothing to do, and older than whatever is written later.
WRITTEN = Timestamp(1_000_000_000).internal


def row(container, number):
    name = hashlib.md5(f"{container}/{number}".encode()).hexdigest()
    return {
        "name": name,
        "created_at": WRITTEN,
        "size": 1,
        "content_type": "application/octet-stream",
        "etag": "d41d8cd98f00b204e9800998ecf8427e",
        "deleted": 0,
        "storage_policy_index": 0,
        "ctype_timestamp": WRITTEN,
        "meta_timestamp": WRITTEN,
    }


def patiently(action):
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return action()
        except (sqlite3.OperationalError, LockTimeout) as busy:
            if time.monotonic() > until:
                raise SystemExit(f"the database is in use for {PATIENCE_S} s: {busy}") from busy
            time.sleep(0.5)


def fill(path, account, container, rows):
    broker = ContainerBroker(str(path), account=account, container=container)
    there = patiently(broker.get_info)["object_count"]
    for first in range(there, rows, BATCH):
        batch = [row(container, number) for number in range(first, min(first + BATCH, rows))]
        # Asked again, it finds what it wrote and leaves it.
        patiently(lambda batch=batch: broker.merge_items(batch))
    there = patiently(broker.get_info)["object_count"]
    if there < rows:
        raise SystemExit(f"{path} has {there} rows instead of {rows}: objects were deleted from it; use another container")
    # Whoever comes next finds the rows on the device and not in the kernel's list of what is still to be written.
    with contextlib.closing(open(path, "rb")) as file:
        os.fsync(file.fileno())
    return there


def main():
    configuration, devices, account, container, rows = sys.argv[1:]
    ring = Ring(os.path.dirname(configuration), ring_name="container")
    part, nodes = ring.get_nodes(account, container)
    digest = hash_path(account, container)
    copies = 0
    for node in nodes:
        # The ring's devices are named by kind and number of their node: d1, c1.
        place = pathlib.Path(devices, node["device"][1:], node["device"])
        path = place / storage_directory(DATADIR, part, digest) / f"{digest}.db"
        if path.exists():
            fill(path, account, container, int(rows))
            copies += 1
    if not copies:
        raise SystemExit(f"no device below {devices} has a database of {container}")
    print(f"{container}: {rows} rows in {copies} of {len(nodes)} copies")
    return 0 if copies == len(nodes) else 2


if __name__ == "__main__":
    sys.exit(main())
