"""Limits planted in a test bed: the bed is brought up as its knobs say, limits are laid on its processes or on the client, and a
ladder of open and closed loops by the real binary follows. The bed is taken down at the end."""

import json
import os
import subprocess
import threading
from pathlib import Path

from bottleneck_bed import GROUPS, PREFERRED, TICKS, Failed, Group, NotRun, Others, Run, device_of

ROOT = Path(__file__).resolve().parent.parent
OBJECTS = 64


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


class TestbedRun(Run):
    """A run of one plant on a bed. Each bed says its name, its knobs, its processes, and how a client reaches it."""

    bed_name = ""
    rates, loads = [], []
    is_up = False

    @property
    def bed_dir(self):
        base = os.environ.get("COSMARK_TESTBED_DIR") or Path.home() / ".cache/cosmark-testbeds"
        return Path(base).resolve() / self.bed_name

    def bed(self, program, *words, **knobs):
        done = subprocess.run(
            [*PREFERRED, ROOT / "testbeds" / self.bed_name / program, *words], env={**os.environ, **knobs}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=400,
        )
        if done.returncode:
            raise NotRun(f"testbeds/{self.bed_name}/{program}: {(done.stderr or done.stdout).strip()[-300:]}")

    def processes_of(self, *words):
        """Those of the bed whose command line has all these words. Its directory is in all of them."""
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                said = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(self.bed_dir) in said and all(word in said for word in words):
                found.append(int(place.name))
        if not found:
            raise Failed(f"no process of the bed has {' and '.join(words)} in its command line")
        return found

    def limit(self, name, word, processors=None, **device):
        """A group of its own for all processes that have this word, with the quota and the limits of its device."""
        group = self.group(name)
        if processors is not None:
            group.cpu(processors)
        if device:
            group.device(device_of(self.bed_dir), **device)
        for pid in self.processes_of(word):
            group.take(pid)

    def pin(self, word, processors):
        """All threads of the processes that have this word to these processors."""
        for pid in self.processes_of(word):
            for thread in Path(f"/proc/{pid}/task").iterdir():
                os.sched_setaffinity(int(thread.name), processors)

    def group(self, name):
        if not self.plant.get("uncounted"):
            return super().group(name)
        group = Uncounted(f"cosmark-bench-{name}-{os.getpid()}")
        self.groups.append(group)
        return group

    def bring_up(self):
        raise NotImplementedError

    def reach(self):
        """The keys of the workload that say how the store is reached."""
        raise NotImplementedError

    def workload(self, _port=None):
        size = self.plant.get("object_bytes", 4096)
        kind = self.plant.get("operation", "read")
        operation = {"type": kind, "containers": "u(1,1)", "objects": f"u(1,{OBJECTS})"}
        if kind != "read":
            operation["sizes"] = f"c({size})B"
        timed = {"rampup": "1s", "runtime": f"{self.step_s}s", "operations": [operation]}
        rates = [
            {"name": f"rate{rate}", "works": [{"name": "main", "workers": 64, "rate": f"{rate}/s", **timed}]}
            for rate in self.plant.get("rates", self.rates)
        ]
        loops = [
            {"name": f"{kind}{load}", "works": [{"name": "main", "workers": load, **timed}]} for load in self.plant.get("loads", self.loads)
        ]
        return {
            "name": f"bottleneck-{self.bed_name}",
            **self.reach(),
            "defaults": {"container_prefix": "cosmark-bottleneck-"},
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
        run, share = self.measured()
        return self.answer(run), share

    def measured(self):
        """The program of the ladder, which is over, and how much of the machine others took meanwhile."""
        self.is_up = True
        self.bring_up()
        (self.directory / "run.yaml").write_text(json.dumps(self.workload()))  # JSON is YAML
        run = self.start("run", self.binary, "run", "run.yaml", "--archive", "archive", "-q")
        if "client_cpu" in self.plant:
            group = self.group("client")
            group.cpu(self.plant["client_cpu"])
            group.take(run.child.pid)
        others, shares = Others([run, *map(Member, self.processes_of())]), []
        watch = threading.Thread(target=self.watch, args=(run, others, shares), daemon=True)
        watch.start()
        run.wait_until(run.is_over, "the ladder does not end")
        watch.join()
        return run, (shares[-1] if shares else 0.0)

    def end(self):
        # Before its groups: what is in them goes first.
        if self.is_up:
            down = ROOT / "testbeds" / self.bed_name / "down"
            subprocess.run([down], stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
        super().end()
