"""NATS, one process of many drivers, and a controller, each watched from outside: /proc for time and memory, NATS' own
monitoring for messages, run.json for what the run came to."""

import contextlib
import json
import os
import subprocess
import time
import urllib.request
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

from harness import Failed, find, free_port

RATE = 10
STREAM = "COSMARK_RUNS"
TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE_S = 300


class Process:
    """A program and what it has used. Its thread of output is a file."""

    def __init__(self, command, directory, name, cores=None):
        self.log = directory / f"{name}.log"
        pin = ["taskset", "-c", ",".join(map(str, cores))] if cores is not None else []
        with open(self.log, "wb") as log:
            self.child = subprocess.Popen(
                [*pin, *map(str, command)], cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )

    def cpu_s(self):
        fields = Path(f"/proc/{self.child.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def mib(self):
        for line in Path(f"/proc/{self.child.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        return 0

    def said(self):
        return self.log.read_text(errors="replace")

    def is_over(self):
        return self.child.poll() is not None

    def wait_until(self, good, what):
        until = time.monotonic() + PATIENCE_S
        while not good():
            if self.is_over() or time.monotonic() > until:
                raise Failed(f"{what}: {self.said()[-800:]}")
            time.sleep(0.05)

    def end(self):
        """Politely, then not."""
        for signal in ("terminate", "kill"):
            if not self.is_over():
                getattr(self.child, signal)()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.child.wait(30)


class Bed:
    """A NATS server with a directory of its own; ends what it started."""

    def __init__(self, binary, controller, directory):
        self.binary, self.controller = binary.resolve(), controller.resolve()
        self.dir = directory / f"bed-{time.monotonic_ns()}"
        self.dir.mkdir()
        self.port, self.monitor = free_port(), free_port()
        self.processes = []
        self.nats = self.start(
            [find("nats-server"), "-a", "127.0.0.1", "-p", self.port, "-m", self.monitor, "-js", "-sd", self.dir / "js"], "nats"
        )
        self.nats.wait_until(lambda: self.ask("varz") is not None, "NATS does not come up")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.end()

    @property
    def url(self):
        return f"nats://127.0.0.1:{self.port}"

    def start(self, command, name, cores=None):
        process = Process(command, self.dir, name, cores)
        self.processes.append(process)
        return process

    def ask(self, page):
        with contextlib.suppress(OSError, ValueError):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.monitor}/{page}", timeout=10) as answer:
                return json.load(answer)
        return None

    def drivers(self, name, copies, cores=None):
        more = ["--copies", copies] if copies > 1 else []
        process = self.start(
            [self.binary, "driver", "--join", self.url, "--name", name, "--state", f"state-{name}", "--threads", 1, "--no-ceiling", *more],
            f"drivers-{name}", cores,
        )
        process.wait_until(lambda: process.said().count("is registered") == copies, "not all drivers register")
        return process

    def run(self, workload, name, *more):
        (self.dir / f"{name}.yaml").write_text(json.dumps(workload))  # JSON is YAML
        command = [self.controller, "run", f"{name}.yaml", "--nats", self.url, "--archive", f"archive-{name}", "-q", *more]
        return self.start(command, f"run-{name}")

    def directory_of(self, name):
        return next((self.dir / f"archive-{name}").glob("w*-*"), None)

    def stream(self):
        """State of the stream of runs, and the largest number of messages that wait for one who reads all of a run."""
        found = SimpleNamespace(last=0, bytes=0, waiting=0)
        page = self.ask("jsz?streams=true&consumers=true&config=true") or {}
        for account in page.get("account_details", []):
            for stream in account.get("stream_detail", []):
                if stream["name"] != STREAM:
                    continue
                found.last, found.bytes = stream["state"]["last_seq"], stream["state"]["bytes"]
                for consumer in stream.get("consumer_detail") or []:
                    if consumer["config"].get("filter_subject", "").endswith(".>"):
                        found.waiting = max(found.waiting, consumer["num_pending"])
        return found


def seconds_of(text):
    """Seconds since 1970 of an RFC 3339 time."""
    head, _, tail = text.rstrip("Z").partition(".")
    return datetime.fromisoformat(head + "+00:00").timestamp() + float(f"0.{tail or 0}")


def record_of(directory):
    return json.loads((directory / "run.json").read_text())


def told_up_to(directory):
    """End of the newest interval that the controller has written, seconds since the load began; None before the first."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open(directory / "intervals.csv", "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 4096))
            return float(file.read().decode().splitlines()[-1].split(",")[5])
    return None


def look(bed, drivers, run, name):
    stream, page = bed.stream(), bed.ask("varz") or {}
    directory = bed.directory_of(name)
    return SimpleNamespace(
        at=time.time(), controller=run.cpu_s(), controller_mib=run.mib(), nats=bed.nats.cpu_s(), nats_mib=bed.nats.mib(),
        drivers=drivers.cpu_s(), stream=stream, nats_in=page.get("in_msgs", 0), nats_out=page.get("out_msgs", 0),
        told=told_up_to(directory) if directory else None,
    )


def fleet_workload(drivers, seconds, kinds):
    operation = {"type": "read", "ratio": 1, "containers": "c(1)", "objects": "u(1,1000)"}
    work = {
        "name": "main", "workers": drivers, "total_ops": drivers * RATE * seconds, "pace": {"rate_per_worker": f"{RATE}/s"},
        "interval": "1s", "operations": [{**operation, "name": f"read{at}"} for at in range(kinds)],
    }
    return {"name": "fleet", "storage": {"type": "none"}, "stages": [{"name": "main", "works": [work]}]}


def cost(bed, copies, seconds, kinds, profile=None):
    """One run over so many drivers. Rates are those between 5 s after the load began and 2 s before it ended."""
    drivers = bed.drivers("d", copies)
    run = bed.run(fleet_workload(copies, seconds, kinds), "fleet")
    looks, perf = [], None
    until = time.monotonic() + seconds + PATIENCE_S
    while not run.is_over():
        if time.monotonic() > until:
            raise Failed(f"the run does not end: {run.said()[-800:]}")
        with contextlib.suppress(OSError):
            looks.append(look(bed, drivers, run, "fleet"))
        if profile and perf is None and looks[-1].told and looks[-1].told > 5:
            perf = bed.start([find("perf"), "record", "-g", "-o", profile, "-p", run.child.pid, "--", "sleep", seconds / 2], "perf")
        time.sleep(1)
    over = time.time()
    if run.child.returncode not in (0, 7):
        raise Failed(f"the run ended with {run.child.returncode}: {run.said()[-800:]}")
    stage = record_of(bed.directory_of("fleet"))["stages"][0]
    entered = {change["state"]: seconds_of(change["at"]) for change in stage["history"]}
    steady = [one for one in looks if entered["running"] + 5 <= one.at <= entered["closing"] - 2 and one.told]
    if len(steady) < 2:
        raise Failed("the load was too short to measure")
    first, last = steady[0], steady[-1]
    rate = lambda of: (of(last) - of(first)) / (last.at - first.at)
    operations = stage["operations"]
    return SimpleNamespace(
        drivers=copies,
        controller_cpu=rate(lambda one: one.controller), controller_mib=max(one.controller_mib for one in looks),
        nats_cpu=rate(lambda one: one.nats), nats_mib=max(one.nats_mib for one in looks), drivers_cpu=rate(lambda one: one.drivers),
        messages=rate(lambda one: one.stream.last), bytes=rate(lambda one: one.stream.bytes),
        nats_in=rate(lambda one: one.nats_in), nats_out=rate(lambda one: one.nats_out),
        backlog_at_end=last.stream.waiting, backlog_most=max(one.stream.waiting for one in steady),
        lag_s=last.at - entered["running"] - last.told,
        start_s=entered["running"] - entered["submitting"], end_s=over - entered["closing"],
        spread_ms=stage.get("start_spread_ms") or 0,
        clock_error_ms=max(client.get("clock_error_ms") or 0 for client in stage["clients"]),
        operations=sum(op["count"] for op in operations), failures=sum(op["failures"] for op in operations),
        ordered=copies * RATE * seconds,
    )


def null_workload(workers, seconds):
    operation = {"type": "read", "ratio": 1, "containers": "c(1)", "objects": "u(1,1000)"}
    work = {"name": "main", "workers": workers, "runtime": f"{seconds}s", "operations": [operation]}
    return {"name": "scaling", "storage": {"type": "none"}, "stages": [{"name": "main", "works": [work]}]}


def ratio(bed, cores, seconds, number):
    """Operations per second of one driver on the first core, and of one on each core, one run after the other."""
    found = []
    for used in (cores[:1], cores):
        name = f"s{number}x{len(used)}"
        drivers = [bed.drivers(f"{name}-{core}", 1, [core]) for core in used]
        run = bed.run(null_workload(8 * len(used), seconds), name)
        run.wait_until(run.is_over, "the run does not end")
        if run.child.returncode not in (0, 7):
            raise Failed(f"the run ended with {run.child.returncode}: {run.said()[-800:]}")
        found.append(sum(op["throughput_per_s"] for op in record_of(bed.directory_of(name))["stages"][0]["operations"]))
        for driver in drivers:
            driver.end()
    return found
