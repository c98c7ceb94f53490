"""One planted limit: a store as a process of its own, a limit on it (or on the client), a ladder of loads by the real
binary, and what it said. Everything is on loopback or in a network namespace of its own, and is undone at the end."""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from fleet_bed import Process
from harness import REAL_TIME, Failed, NotRun, free_port

HERE = Path(__file__).resolve().parent
GROUPS = Path("/sys/fs/cgroup")
PERIOD_US = 50_000
LOADS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]
OBJECTS = 64
TICKS = os.sysconf("SC_CLK_TCK")
# Before whatever else runs on the machine, where that is allowed. Real-time tasks can be in no group with a quota.
PREFERRED = ["nice", "-n", "-19"] if os.geteuid() == 0 else []


class Group:
    """A control group of either version, with the limits that it is given."""

    def __init__(self, name):
        self.second = (GROUPS / "cgroup.controllers").exists()
        roots = [GROUPS] if self.second else [GROUPS / controller for controller in ("cpu", "cpuacct", "blkio")]
        if not all(os.access(root, os.W_OK) for root in roots):
            raise NotRun("no control groups to write to")
        if self.second:
            with contextlib.suppress(OSError):
                (GROUPS / "cgroup.subtree_control").write_text("+cpu +io")
        self.directories = [root / name for root in roots]
        for directory in self.directories:
            directory.mkdir()

    def write(self, name, text):
        for directory in self.directories:
            if (directory / name).exists():
                (directory / name).write_text(text)
                return
        raise NotRun(f"this kernel has no {name}")

    def cpu(self, processors):
        quota = int(processors * PERIOD_US)
        if self.second:
            return self.write("cpu.max", f"{quota} {PERIOD_US}")
        self.write("cpu.cfs_period_us", str(PERIOD_US))
        self.write("cpu.cfs_quota_us", str(quota))

    def device(self, device, **limits):
        """So many requests a second: `read_iops`, `write_iops`."""
        words = {"read_iops": "riops", "write_iops": "wiops"}
        if self.second:
            return self.write("io.max", " ".join([device, *(f"{words[name]}={per_s}" for name, per_s in limits.items())]))
        for name, per_s in limits.items():
            self.write(f"blkio.throttle.{name}_device", f"{device} {per_s}")

    def take(self, pid):
        for directory in self.directories:
            (directory / "cgroup.procs").write_text(str(pid))

    def end(self):
        for directory in self.directories:
            with contextlib.suppress(OSError):
                for pid in (directory / "cgroup.procs").read_text().split():
                    with contextlib.suppress(OSError):
                        (directory.parent / "cgroup.procs").write_text(pid)
                directory.rmdir()


class Others:
    """How much of this machine's processors others than the programs of the bench used, as a share of all."""

    def __init__(self, own):
        self.own = own
        self.before = (time.monotonic(), *self.read())

    def read(self):
        fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        busy = sum(fields) - fields[3] - fields[4]
        return busy / TICKS, sum(process.cpu_s() for process in self.own if not process.is_over())

    def share(self):
        now = (time.monotonic(), *self.read())
        elapsed, busy, own = (after - before for after, before in zip(now, self.before))
        return max(busy - own, 0.0) / elapsed / os.cpu_count()


def device_of(path):
    """The whole device that a directory is on, as control groups call it."""
    number = os.stat(path).st_dev
    place = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    if not place.exists():
        raise NotRun(f"{path} is on no block device")
    if (place / "partition").exists():
        place = place.parent
    return (place / "dev").read_text().strip()


class Run:
    """A run of one plant."""

    def __init__(self, binary, plant, step_s, directory):
        self.binary, self.plant, self.step_s, self.directory = Path(binary).resolve(), plant, step_s, directory
        self.processes, self.groups = [], []
        self.inside = []

    def start(self, name, *command):
        # The kernel gives real-time tasks 95 % of a processor at most: a store would never be full.
        first = REAL_TIME or PREFERRED if name == "run" and "client_cpu" not in self.plant else PREFERRED
        process = Process([*self.inside, *first, *command], self.directory, name)
        self.processes.append(process)
        return process

    def group(self, name):
        group = Group(f"cosmark-bench-{name}-{os.getpid()}")
        self.groups.append(group)
        return group

    def shape_link(self, rate):
        """A network namespace of its own, held by a program that does nothing, whose loopback is shaped."""
        holder = self.start("holder", "unshare", "-n", "sleep", "600")
        time.sleep(0.3)
        self.inside = ["nsenter", "-t", str(holder.child.pid), "-n"]
        for command in (["ip", "link", "set", "lo", "mtu", "1500", "up"], ["tc", "qdisc", "add", "dev", "lo", "root", "tbf", *rate.split()]):
            done = subprocess.run([*self.inside, *command], capture_output=True, text=True, timeout=20)
            if done.returncode:
                raise NotRun(f"{' '.join(command)}: {done.stderr.strip()}")

    def store(self):
        port = free_port()
        if "thread" in self.plant or "read_iops" in self.plant:
            command = [sys.executable, HERE / "bottleneck_store.py", "--port", port, "--rounds", self.plant.get("thread", 1)]
            if "read_iops" in self.plant:
                data = self.directory / "data"
                data.mkdir()
                command += ["--directory", data]
        else:
            (self.directory / "store.yaml").write_text(json.dumps(self.plant["store"]))
            command = [self.binary, "serve", "--listen", f"127.0.0.1:{port}", "--behaviour", self.directory / "store.yaml"]
        store = self.start("store", *command)
        store.wait_until(lambda: str(port) in store.said(), "the store does not come up")
        return store, port

    def workload(self, port):
        size = self.plant.get("object_bytes", 16384)
        work = {"containers": "r(1,1)", "objects": f"r(1,{OBJECTS})", "sizes": f"c({size})B", "workers": 4}
        read = {"type": "read", "containers": "u(1,1)", "objects": f"u(1,{OBJECTS})"}
        ladder = [
            {"name": f"read{load}", "works": [{"name": "main", "workers": load, "rampup": "1s", "runtime": f"{self.step_s}s", "operations": [read]}]}
            for load in self.plant.get("loads", LOADS)
        ]
        return {
            "name": "bottleneck",
            "storage": {
                "type": "s3", "endpoint": f"http://127.0.0.1:{port}", "accesskey": "a", "secretkey": "b", "path_style_access": True,
                "timeout": "60s", "sut_window": "short",
            },
            "nodes": [{"name": "store", "role": "storage", "type": "local", "interval": "500ms", "daemons": "plain-store"}],
            "stages": [
                {"name": "init", "works": [{"type": "init", "workers": 1, "containers": "r(1,1)"}]},
                {"name": "prepare", "works": [{"type": "prepare", **work}]},
                *ladder,
            ],
        }

    def said(self):
        """What the ladder said, and how much of the machine others took meanwhile."""
        if "link" in self.plant:
            self.shape_link(self.plant["link"])
        store, port = self.store()
        if "cpu" in self.plant:
            group = self.group("store")
            group.cpu(self.plant["cpu"])
            group.take(store.child.pid)
        if "read_iops" in self.plant:
            group = self.group("store")
            group.device(device_of(self.directory), read_iops=self.plant["read_iops"])
            group.take(store.child.pid)
        (self.directory / "run.yaml").write_text(json.dumps(self.workload(port)))
        run = self.start("run", self.binary, "run", "run.yaml", "--archive", "archive", "-q")
        if "client_cpu" in self.plant:
            group = self.group("client")
            group.cpu(self.plant["client_cpu"])
            group.take(run.child.pid)
        others, shares = Others([store, run]), []
        watch = threading.Thread(target=self.watch, args=(run, others, shares), daemon=True)
        watch.start()
        run.wait_until(run.is_over, "the ladder does not end")
        watch.join()
        return self.answer(run), (shares[-1] if shares else 0.0)

    def answer(self, run):
        record = next((self.directory / "archive").glob("w*-*/run.json"), None)
        if record is None:
            raise Failed(f"no run.json: {run.said()[-600:]}")
        found = json.loads(record.read_text()).get("bottlenecks", [])
        if len(found) != 1:
            raise Failed(f"{len(found)} answers: {run.said()[-600:]}")
        return found[0]

    def watch(self, run, others, shares):
        while not run.is_over():
            with contextlib.suppress(OSError, IndexError):
                shares.append(others.share())
            time.sleep(0.5)

    def end(self):
        for process in reversed(self.processes):
            process.end()
        for group in self.groups:
            group.end()


__all__ = ["Failed", "NotRun", "Run"]
