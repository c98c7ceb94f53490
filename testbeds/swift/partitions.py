"""Ask whether a device has its share of what is stored: python partitions.py RINGS DEVICES DEVICE

RINGS is the directory of the rings, DEVICES that of srv/NODE/DEVICE. Of each partition that the rings give to DEVICE, and
that holds something on another device, there has to be one here, too. Exit 0 when there is, 1 when some are missing; what
stands there is said.
"""

import re
import sys
from pathlib import Path

from swift.common.ring import RingData

# ring: the directory of its partitions on a device
KINDS = {
    "object": "objects",
    "object-1": "objects-1",
    "object-2": "objects-2",
    "container": "containers",
    "account": "accounts",
}


def filled(directory: Path) -> set[str]:
    """The partitions below a directory that hold a suffix, which an object or a database lies in."""

    def holds(partition: Path) -> bool:
        return any(re.fullmatch("[0-9a-f]{3}", entry.name) for entry in partition.iterdir())

    if not directory.is_dir():
        return set()
    return {entry.name for entry in directory.iterdir() if entry.name.isdigit() and entry.is_dir() and holds(entry)}


def main() -> None:
    rings, devices, device = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    here = devices / device[1:] / device
    asked, missing = 0, []
    for ring, place in KINDS.items():
        if ring == "object-2" and not (rings / "object-2.ring.gz").exists():  # the bed has no erasure-coded policy
            continue
        data = RingData.load(str(rings / f"{ring}.ring.gz"))
        number = next((dev["id"] for dev in data.devs if dev and dev["device"] == device), None)
        if number is None:  # the container databases may have devices of their own
            continue
        ours = {str(part) for row in data._replica2part2dev_id for part, dev in enumerate(row) if dev == number}
        others = [filled(directory / place) for directory in devices.glob("*/*") if directory != here]
        due = ours & set().union(*others)
        asked += len(due)
        missing += [f"{place}/{part}" for part in due - filled(here / place)]
    if missing:
        print(f"{len(missing)} of {asked} partitions are not on {device} yet, such as {min(missing)}")
        sys.exit(1)
    print(f"all {asked} partitions that {device} is to have and that hold something are on it")


main()
