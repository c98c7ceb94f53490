"""One timed run of a case of the bench of the verdict: a simulated store, the real binary, drivers over NATS where there
are several, and what is planted: quotas by cgroup, busy programs, SIGSTOP and SIGKILL by process id."""

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
import urllib.request
from pathlib import Path

from fleet_bed import Bed, Process
from harness import Failed, NotRun, free_port

CGROUPS = Path("/sys/fs/cgroup/cpu")
PERIOD_US = 100_000
LONG_MS = 5000
# What a script says in seconds, and how long things take in it.
SCRIPTED = {"from_s", "until_s", "at_s", "for_s", "over_s", "tau_s", "every_s", "lost_at_s"}
LONG = {"constant_ms", "delay_ms"}
PLANTED = {"stopped", "rivals", "cpu_quota", "lost_at_s"}


def scaled(value, factor, key=None):
    """The same on a shorter time: times of the script, and delays so long that they are times of the script."""
    if isinstance(value, dict):
        return {name: scaled(own, factor, name) for name, own in value.items()}
    if isinstance(value, list):
        return [scaled(own, factor, key) for own in value]
    if key in SCRIPTED or (key in LONG and value >= LONG_MS):
        return round(value * factor, 3)
    if key in ("runtime", "rampup") and isinstance(value, str):
        return f"{round(float(value.rstrip('s')) * factor * 1000)}ms"
    return value


def merged(base, more):
    """With the fields of `more` instead; null takes one away."""
    return {key: value for key, value in {**base, **(more or {})}.items() if value is not None}


def cannot(case):
    """Why a case cannot be made here; None when it can."""
    unknown = {key for driver in case.get("drivers", []) for key in driver} - PLANTED
    if "cpu_us" in unknown and any("cpu_quota" in driver for driver in case["drivers"]):
        unknown.discard("cpu_us")
    if unknown:
        return f"only the exact half can plant {', '.join(sorted(unknown))}"
    if "tls" in case.get("store", {}):
        return "`cosmark serve` has no TLS"
    if case.get("beside"):
        return "only the exact half can plant another run"
    if any("cpu_quota" in driver for driver in case.get("drivers", [])) and not os.access(CGROUPS, os.W_OK):
        return "no cgroups to write to"
    return None


class Canary(threading.Thread):
    """Sleeps 1 ms at a time and notes by how much it woke late."""

    def __init__(self):
        super().__init__(daemon=True)
        self.late_ms, self.over = [], False

    def run(self):
        while not self.over:
            before = time.monotonic()
            time.sleep(0.001)
            self.late_ms.append((time.monotonic() - before) * 1000 - 1)

    def p99_9_ms(self):
        self.over = True
        self.join()
        found = sorted(self.late_ms) or [0.0]
        return found[int(0.999 * (len(found) - 1))]


class Planted:
    """What is done to the processes that make the load; undone at the end."""

    def __init__(self, directory, processes, plants, factor):
        self.directory, self.processes = directory, processes
        self.busy, self.groups, self.timers = [], [], []
        for process, plant in zip(processes, plants):
            pid = process.child.pid
            if "cpu_quota" in plant:
                self.limit(pid, plant["cpu_quota"])
            for _ in range(2 * os.cpu_count() if "rivals" in plant else 0):
                self.busy.append(subprocess.Popen(["sh", "-c", "while :; do :; done"], stdin=subprocess.DEVNULL))
            for stopped in plant.get("stopped", []):
                self.stop(pid, scaled(stopped, factor), stopped["for_ms"] / 1000 * factor)
            if "lost_at_s" in plant:
                self.after(plant["lost_at_s"] * factor, process.child.kill)

    def limit(self, pid, quota):
        group = CGROUPS / f"cosmark-bench-{pid}"
        group.mkdir()
        self.groups.append(group)
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(int(quota * PERIOD_US)))
        (group / "cgroup.procs").write_text(str(pid))

    def after(self, seconds, act):
        timer = threading.Timer(seconds, act)
        timer.daemon = True
        self.timers.append(timer)
        timer.start()

    def stop(self, pid, stopped, for_s):
        def act():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                time.sleep(for_s)
                os.kill(pid, signal.SIGCONT)
                if stopped.get("every_s"):
                    self.after(max(stopped["every_s"] - for_s, 0.01), act)

        self.after(stopped["at_s"], act)

    def undo(self):
        for timer in self.timers:
            timer.cancel()
        for child in self.busy:
            child.kill()
            child.wait()
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.child.pid, signal.SIGCONT)
        for group in self.groups:
            with contextlib.suppress(OSError):
                for pid in (group / "cgroup.procs").read_text().split():
                    (CGROUPS / "cgroup.procs").write_text(pid)
                group.rmdir()


class Run:
    """One run of a case. Everything that it starts it ends."""

    def __init__(self, binary, case, seed, factor, directory):
        self.binary, self.case, self.seed, self.factor, self.directory = binary.resolve(), case, seed, factor, directory
        self.processes, self.planted, self.bed = [], None, None

    def start(self, name, *command):
        process = Process(command, self.directory, name)
        self.processes.append(process)
        return process

    def workload(self, port, stages=None):
        storage = {
            "type": "s3", "endpoint": f"http://127.0.0.1:{port}", "accesskey": "a", "secretkey": "b",
            "path_style_access": True, "sut_background": "none", "sut_ram": "1MiB", "timeout": "120s",
        }
        fields = {"stages": stages} if stages else scaled(self.case["workload"], self.factor)
        return {"name": "bench", "seed": self.seed, "storage": merged(storage, self.case.get("storage")), **fields}

    def write(self, name, value):
        (self.directory / name).write_text(json.dumps(value))  # JSON is YAML
        return name

    def store(self):
        behaviour = {"store": {"mode": "null", "null_bytes": 65536}, "time_zero": "first_request"}
        behaviour = merged(behaviour, scaled(self.case.get("store", {}), self.factor))
        port = free_port()
        store = self.start("store", self.binary, "serve", "--listen", f"127.0.0.1:{port}", "--behaviour", self.write("store.yaml", behaviour))
        store.wait_until(lambda: str(port) in store.said(), "the store does not come up")
        if behaviour["store"].get("mode") == "full":
            self.fill(port)
            request = urllib.request.Request(f"http://127.0.0.1:{port}/_simstore/zero", method="POST")
            urllib.request.urlopen(request, timeout=10).close()
        return port

    def fill(self, port):
        """What an earlier run left: the container, and objects where the case says so."""
        works = [{"type": "init", "workers": 1, "containers": "r(1,1)"}]
        if self.case.get("filled"):
            objects, size = self.case["filled"]
            works.append({"type": "prepare", "workers": 8, "containers": "r(1,1)", "objects": f"r(1,{objects})", "sizes": f"c({size})B"})
        stages = [{"name": work["type"], "works": [work]} for work in works]
        fill = self.start("fill", self.binary, "run", self.write("fill.yaml", self.workload(port, stages)), "--archive", "archive-fill", "-q")
        fill.wait_until(fill.is_over, "the store is not filled")

    def verdict(self):
        plants = self.case.get("drivers", [{}])
        port = self.store()
        file = self.write("run.yaml", self.workload(port))
        command = [self.binary, "run", file, "--archive", "archive", "-q"]
        if len(plants) > 1:
            self.bed = Bed(self.binary, self.binary, self.directory)
            makers = [self.bed.drivers(f"d{number + 1}", 1) for number in range(len(plants))]
            command += ["--nats", self.bed.url]
        run = self.start("run", *command)
        self.wait_for_load(run)
        self.planted = Planted(self.directory, makers if self.bed else [run], plants, self.factor)
        run.wait_until(run.is_over, "the run does not end")
        record = next((self.directory / "archive").glob("w*-*/run.json"), None)
        if record is None:
            raise Failed(f"no run.json: {run.said()[-600:]}")
        return json.loads(record.read_text())["verdict"]

    def wait_for_load(self, run):
        """Until the first stage that measures runs: what is planted counts from there."""
        measuring = [any(work.get("type") is None for work in stage["works"]) for stage in self.case["workload"]["stages"]].index(True)
        until = time.monotonic() + 60
        while not run.is_over() and time.monotonic() < until:
            for record in (self.directory / "archive").glob("w*-*/run.json"):
                with contextlib.suppress(OSError, ValueError, IndexError):
                    if json.loads(record.read_text())["stages"][measuring].get("load_started"):
                        return
            time.sleep(0.05)

    def end(self):
        if self.planted:
            self.planted.undo()
        if self.bed:
            self.bed.__exit__()
        for process in reversed(self.processes):
            process.end()


def judged(binary, case, seed, factor, directory):
    """The verdict on one run, and what the harness' own canary says of the machine meanwhile, ms."""
    canary, run = Canary(), Run(binary, case, seed, factor, directory)
    canary.start()
    try:
        return run.verdict(), canary.p99_9_ms()
    finally:
        canary.over = True
        run.end()


__all__ = ["Failed", "NotRun", "cannot", "judged"]
