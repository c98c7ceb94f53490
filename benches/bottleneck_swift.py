"""Limits planted in the test bed of Swift: the bed is brought up as its knobs say, a limit is laid on its processes or on the
client, and a ladder of open and closed loops reads from it. The bed is taken down at the end."""

import json
import os
import subprocess
import threading
from pathlib import Path

from bottleneck_bed import GROUPS, PREFERRED, TICKS, Failed, Group, NotRun, Others, Run

ROOT = Path(__file__).resolve().parent.parent
BED = ROOT / "testbeds/swift"
OBJECTS = 64
# The lowest loads come by the clock: one worker alone already takes most of a proxy that has a quarter of a processor.
RATES = [10, 20, 30, 40, 55]
LOADS = [2, 4, 8, 12, 16, 24, 32]


class Uncounted(Group):
    """A group of the first version in the hierarchy cpu alone: it has a quota, and nobody counts what it uses."""

    def __init__(self, name):
        super().__init__(name)
        for directory in [one for one in self.directories if one.parent != GROUPS / "cpu"]:
            self.directories.remove(directory)
            directory.rmdir()
        if self.second:
            raise NotRun("control groups of version 2 count what every group uses")


class Member:
    """A process of the bed, as `Others` asks of it."""

    def __init__(self, pid):
        self.stat = Path(f"/proc/{pid}/stat")

    def is_over(self):
        return not self.stat.exists()

    def cpu_s(self):
        fields = self.stat.read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


class SwiftRun(Run):
    """A run of one plant on the bed."""

    is_up = False

    def bed(self, program, **knobs):
        done = subprocess.run(
            [*PREFERRED, BED / program], env={**os.environ, **knobs}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=280
        )
        if done.returncode:
            raise NotRun(f"testbeds/swift/{program}: {(done.stderr or done.stdout).strip()[-300:]}")

    def processes_of(self, word):
        """Those of the bed whose command line has this word."""
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                said = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if "run_server.py" in said and word in said:
                found.append(int(place.name))
        if not found:
            raise Failed(f"no process of the bed has {word} in its command line")
        return found

    def limit(self, group, word, processors):
        group.cpu(processors)
        for pid in self.processes_of(word):
            group.take(pid)

    def group(self, name):
        if not self.plant.get("uncounted"):
            return super().group(name)
        group = Uncounted(f"cosmark-bench-{name}-{os.getpid()}")
        self.groups.append(group)
        return group

    def workload(self, _port=None):
        size = self.plant.get("object_bytes", 4096)
        read = {"type": "read", "containers": "u(1,1)", "objects": f"u(1,{OBJECTS})", "sizes": f"c({size})B"}
        timed = {"rampup": "1s", "runtime": f"{self.step_s}s", "operations": [read]}
        rates = [
            {"name": f"rate{rate}", "works": [{"name": "main", "workers": 64, "rate": f"{rate}/s", **timed}]}
            for rate in self.plant.get("rates", RATES)
        ]
        loops = [
            {"name": f"read{load}", "works": [{"name": "main", "workers": load, **timed}]} for load in self.plant.get("loads", LOADS)
        ]
        return {
            "name": "bottleneck-swift",
            "auth": {
                "type": "swauth", "auth_url": "http://127.0.0.1:23080/auth/v1.0", "username": "test:tester", "password": "testing",
            },
            "storage": {"type": "swift", "timeout": "60s"},
            "defaults": {"container_prefix": "cosmark-bottleneck-"},
            "nodes": [{"name": "all in one", "role": "swift", "type": "local", "interval": "500ms", "daemons": "swift-"}],
            "stages": [
                {"name": "init", "works": [{"type": "init", "workers": 1, "containers": "r(1,1)"}]},
                {"name": "prepare", "works": [
                    {"type": "prepare", "workers": 2, "containers": "r(1,1)", "objects": f"r(1,{OBJECTS})", "sizes": f"c({size})B"},
                ]},
                *rates,
                *loops,
            ],
        }

    def said(self):
        self.is_up = True
        self.bed("up", SWIFT_DAEMONS="none", SWIFT_PROXY_WORKERS=str(self.plant.get("proxy_workers", 2)))
        if "proxy_cpu" in self.plant:
            self.limit(self.group("proxies"), "proxy-server.conf", self.plant["proxy_cpu"])
        if "object_cpu" in self.plant:
            self.limit(self.group("objects"), "object-server.conf", self.plant["object_cpu"])
        (self.directory / "run.yaml").write_text(json.dumps(self.workload()))  # JSON is YAML
        run = self.start("run", self.binary, "run", "run.yaml", "--archive", "archive", "-q")
        if "client_cpu" in self.plant:
            group = self.group("client")
            group.cpu(self.plant["client_cpu"])
            group.take(run.child.pid)
        others, shares = Others([run, *map(Member, self.processes_of("server.conf"))]), []
        watch = threading.Thread(target=self.watch, args=(run, others, shares), daemon=True)
        watch.start()
        run.wait_until(run.is_over, "the ladder does not end")
        watch.join()
        return self.answer(run), (shares[-1] if shares else 0.0)

    def end(self):
        # Before its groups: what is in them goes first.
        if self.is_up:
            subprocess.run([BED / "down"], stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
        super().end()
